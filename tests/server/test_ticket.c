/*
 * Sessions that are ended from outside, by who has their ticket: at once where their process is
 * dead, and never another one.
 */
#include "support/client.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/told.h"

#define LIMIT_MS 10000

static void take(client *c, char *ticket) {
    REQUIRE_INT(zkl_session_ticket(c->session, ticket, ZKL_TICKET_SIZE), ZKL_OK);
    CHECK(strlen(ticket) < ZKL_TICKET_SIZE);
}

/* ---- A process that dies ---- */

/* This program again: HOSTS ROOT NAME. Holds, and hands its ticket over, until it is killed. */
static int hold_for_ever(char **arguments) {
    zkl_session *s = NULL;
    zkl_lock *l = NULL;
    char ticket[ZKL_TICKET_SIZE];
    const zkl_session_options options = ZKL_SESSION_OPTIONS(.root = arguments[1]);
    if (zkl_session_open(&s, arguments[0], &options) == ZKL_OK &&
        zkl_lock_open(&l, s, arguments[2], NULL) == ZKL_OK &&
        zkl_acquire(l, ZKL_FOREVER) == ZKL_OK &&
        zkl_session_ticket(s, ticket, sizeof(ticket)) == ZKL_OK &&
        write(STDOUT_FILENO, ticket, sizeof(ticket)) == (ssize_t)sizeof(ticket))
        for (;;)
            (void)pause();
    return 1;
}

/* With a T of 10 s, the next has the lock within a moment. */
static void the_locks_of_a_dead_process_are_free_at_once(void) {
    const char *name = fresh_name("dead");
    char ticket[ZKL_TICKET_SIZE];
    int ends[2], status = -1;

    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execl("/proc/self/exe", "holder", "--holder", server_hosts(), fixture_root(), name,
                    (char *)NULL);
        _exit(127);
    }
    REQUIRE(pid > 0);
    (void)close(ends[1]);
    REQUIRE(read(ends[0], ticket, sizeof(ticket)) == (ssize_t)sizeof(ticket));
    client *c = client_open(name, T_LONG);
    client_queue_up(c, 2);
    REQUIRE(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    const int64_t died_ms = clock_ms();
    CHECK_INT(zkl_session_end(server_hosts(), ticket, LIMIT_MS), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_OK);
    const int64_t took_ms = clock_ms() - died_ms;
    CHECK(took_ms < 2000);
    CHECK_INT(queue_length(name), 1);
    CHECK_INT(zkl_session_end(server_hosts(), ticket, LIMIT_MS), ZKL_CLOSED);
    CHECK(client_held(c));
    client_close(c);
    (void)close(ends[0]);
}

/* ---- One that lives: it must not be done, and is seen ---- */

static void a_live_owner_hears_of_the_end(void) {
    client *c = client_open(fresh_name("live"), T_NORMAL);
    char ticket[ZKL_TICKET_SIZE], next[ZKL_TICKET_SIZE];

    take(c, ticket);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_session_end(server_hosts(), ticket, LIMIT_MS), ZKL_OK);
    CHECK_INT(queue_length(c->name), 0);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK(!client_held(c));
    CHECK_INT(client_release(c), ZKL_LOST);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK); /* in a new session */
    take(c, next);
    CHECK(strcmp(ticket, next) != 0);
    CHECK_INT(zkl_session_end(server_hosts(), ticket, LIMIT_MS), ZKL_CLOSED);
    CHECK(client_held(c));
    client_close(c);
}

static void a_session_that_was_closed_is_over(void) {
    client *c = client_open(fresh_name("closed"), T_LONG);
    char ticket[ZKL_TICKET_SIZE];

    take(c, ticket);
    client_close(c);
    CHECK_INT(zkl_session_end(server_hosts(), ticket, LIMIT_MS), ZKL_CLOSED);
}

/* ---- Never another ---- */

/* Of the id, or of the password, one digit is another. With the password, the servers cut the
 * session's connection before they look at it, and the session goes on. */
static void another_session_is_left_alone(void) {
    static const size_t digits[] = {strlen("zkl1:"), strlen("zkl1:") + 15, strlen("zkl1:") + 17,
                                    strlen("zkl1:") + 17 + 31};
    client *c = client_open(fresh_name("other"), T_NORMAL);
    char ticket[ZKL_TICKET_SIZE], wrong[ZKL_TICKET_SIZE];

    take(c, ticket);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    for (size_t i = 0; i < COUNT(digits); i++) {
        memcpy(wrong, ticket, sizeof(wrong));
        wrong[digits[i]] = ticket[digits[i]] == '1' ? '2' : '1';
        CHECK_INT(zkl_session_end(server_hosts(), wrong, LIMIT_MS), ZKL_CLOSED);
        WAIT_UNTIL(client_is_connected(c), SOON_MS);
    }
    wait_out(T_NORMAL);
    CHECK(client_held(c));
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(c);
}

/* ---- Servers that do not answer ---- */

static void without_a_server_nothing_is_asked(void) {
    client *c = client_open_proxied(fresh_name("unreachable"), T_LONG);
    char ticket[ZKL_TICKET_SIZE];

    take(c, ticket);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    const int64_t begun_ms = clock_ms();
    CHECK_INT(zkl_session_end("127.0.0.1:1", ticket, 300), ZKL_UNREACHABLE);
    CHECK_RANGE(clock_ms() - begun_ms, 300, 5300);
    CHECK(client_held(c));
    client_close(c);
}

/* The request is lost, and nobody can be asked what became of it. The limit is for several visits:
 * a server that follows may not answer the first, while the session's owner comes back, too. */
static void an_end_that_is_not_confirmed_is_unsure(void) {
    client *c = client_open_proxied(fresh_name("unsure"), T_LONG);
    char ticket[ZKL_TICKET_SIZE];
    char hosts[128];

    take(c, ticket);
    (void)snprintf(hosts, sizeof(hosts), "%s", proxy_hosts(c->proxy));
    proxy_rule(c->proxy, PROXY_CUT_REQUEST, PROXY_END, NULL, 1, true);
    CHECK_INT(zkl_session_end(hosts, ticket, 5000), ZKL_UNSURE);
    CHECK(proxy_fired(c->proxy));
    proxy_refuse(c->proxy, false);
    CHECK_INT(zkl_session_end(hosts, ticket, LIMIT_MS), ZKL_OK);
    client_close(c);
}

/* The first request is lost, and the call asks again. */
static void a_request_that_is_lost_is_made_again(void) {
    client *c = client_open_proxied(fresh_name("again"), T_LONG);
    char ticket[ZKL_TICKET_SIZE];

    take(c, ticket);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    proxy_rule(c->proxy, PROXY_CUT_REQUEST, PROXY_END, NULL, 1, false);
    CHECK_INT(zkl_session_end(proxy_hosts(c->proxy), ticket, LIMIT_MS), ZKL_OK);
    CHECK(proxy_fired(c->proxy));
    CHECK_INT(queue_length(c->name), 0);
    client_close(c);
}

static void leave_first_unanswered(proxy *p) {
    proxy_set_fault(p, &(proxy_fault){.direction = PROXY_TO_CLIENT,
                                      .kind = PROXY_CONNECT,
                                      .nth = 1,
                                      .action = PROXY_SILENCE});
}

/* As a server that follows does where the session's own process comes to it at the same moment. */
static void a_request_to_be_let_in_that_is_not_answered_is_made_again(void) {
    client *c = client_open(fresh_name("unanswered"), T_LONG);
    char ticket[ZKL_TICKET_SIZE];
    proxy *p = proxy_new();

    take(c, ticket);
    leave_first_unanswered(p);
    CHECK_INT(zkl_session_end(proxy_hosts(p), ticket, LIMIT_MS), ZKL_OK);
    CHECK(proxy_struck_ns(p) > 0);
    proxy_close(p);
    client_close(c);
}

static void who_comes_again_is_told_that_it_was_over_before(void) {
    client *c = client_open(fresh_name("over"), T_LONG);
    char ticket[ZKL_TICKET_SIZE];
    proxy *p = proxy_new();

    take(c, ticket);
    CHECK_INT(zkl_session_end(server_hosts(), ticket, LIMIT_MS), ZKL_OK);
    leave_first_unanswered(p);
    CHECK_INT(zkl_session_end(proxy_hosts(p), ticket, LIMIT_MS), ZKL_CLOSED);
    CHECK(proxy_struck_ns(p) > 0);
    proxy_close(p);
    client_close(c);
}

/* It may let us in while the call gives up, and that asks for the end. */
static void a_server_that_does_not_let_us_in_leaves_us_unsure(void) {
    client *c = client_open(fresh_name("standing"), T_LONG);
    char ticket[ZKL_TICKET_SIZE];
    proxy *p = proxy_new();

    take(c, ticket);
    proxy_hold(p, PROXY_TO_CLIENT, true);
    CHECK_INT(zkl_session_end(proxy_hosts(p), ticket, 300), ZKL_UNSURE);
    proxy_close(p);
    client_close(c);
}

static void there_is_no_ticket_without_a_connection(void) {
    client *c = client_open_proxied(fresh_name("outage"), T_LONG);
    char ticket[ZKL_TICKET_SIZE] = "untouched";

    client_outage_begin(c);
    CHECK_INT(zkl_session_ticket(c->session, ticket, sizeof(ticket)), ZKL_UNREACHABLE);
    CHECK(strcmp(ticket, "untouched") == 0);
    client_outage_end(c);
    WAIT_UNTIL(client_is_connected(c), SOON_MS);
    take(c, ticket);
    client_close(c);
}

/* ---- A session that rests ---- */

/* Without a ticket another takes its place, see server.cost. */
static void a_session_with_a_ticket_is_kept_while_it_rests(void) {
    client *c = client_open(fresh_name("rest"), T_SHORT);
    char ticket[ZKL_TICKET_SIZE];

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_release(c), ZKL_OK);
    take(c, ticket);
    const int64_t id = zkl_session_id(c->session);
    wait_out(3 * T_SHORT);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_session_id(c->session), id);
    CHECK_INT(zkl_session_end(server_hosts(), ticket, LIMIT_MS), ZKL_OK);
    client_close(c);
}

/* A program's handle may have one, where the servers grant so much. */
static void a_timeout_beyond_an_hour_is_a_ticket_s_too(void) {
    client *c = client_open(fresh_name("long"), T_LONG);
    char ticket[ZKL_TICKET_SIZE];

    take(c, ticket);
    client_close(c);
    char *timeout = strrchr(ticket, ':') + 1;
    (void)snprintf(timeout, (size_t)(ticket + sizeof(ticket) - timeout), "7200000");
    CHECK_INT(zkl_session_end(server_hosts(), ticket, LIMIT_MS), ZKL_CLOSED);
}

/* ---- Wrong calls ---- */

static void what_is_no_ticket_is_invalid(void) {
    static const char *const wrong[] = {
        "",
        "zkl1:",
        "zkl2:0123456789abcdef:0123456789abcdef0123456789abcdef:1000",
        "zkl1:0000000000000000:0123456789abcdef0123456789abcdef:1000",
        "zkl1:0123456789ABCDEF:0123456789abcdef0123456789abcdef:1000",
        "zkl1:0123456789abcdef:0123456789abcdef0123456789abcde:1000",
        "zkl1:0123456789abcdef:0123456789abcdef0123456789abcdef0:1000",
        "zkl1:0123456789abcdef:0123456789abcdef0123456789abcdef:",
        "zkl1:0123456789abcdef:0123456789abcdef0123456789abcdef",
        "zkl1:0123456789abcdef:0123456789abcdef0123456789abcdef:0",
        "zkl1:0123456789abcdef:0123456789abcdef0123456789abcdef:-1",
        "zkl1:0123456789abcdef:0123456789abcdef0123456789abcdef:1073741824",
        "zkl1:0123456789abcdef:0123456789abcdef0123456789abcdef:99999999999999999999",
        "zkl1:0123456789abcdef:0123456789abcdef0123456789abcdef:1000 ",
        "zkl1:0123456789abcdef 0123456789abcdef0123456789abcdef:1000",
    };
    client *c = client_open(fresh_name("wrong"), T_LONG);
    char ticket[ZKL_TICKET_SIZE];

    for (size_t i = 0; i < COUNT(wrong); i++)
        CHECK_INT(zkl_session_end(server_hosts(), wrong[i], LIMIT_MS), ZKL_INVALID);
    take(c, ticket);
    CHECK_INT(zkl_session_end(NULL, ticket, LIMIT_MS), ZKL_INVALID);
    CHECK_INT(zkl_session_end("", ticket, LIMIT_MS), ZKL_INVALID);
    CHECK_INT(zkl_session_end(server_hosts(), NULL, LIMIT_MS), ZKL_INVALID);
    CHECK_INT(zkl_session_end(server_hosts(), ticket, 0), ZKL_INVALID);
    CHECK_INT(zkl_session_end(server_hosts(), ticket, -1), ZKL_INVALID);
    CHECK_INT(zkl_session_end(server_hosts(), ticket, 3600001), ZKL_INVALID);
    CHECK_INT(zkl_session_ticket(NULL, ticket, sizeof(ticket)), ZKL_INVALID);
    CHECK_INT(zkl_session_ticket(c->session, NULL, sizeof(ticket)), ZKL_INVALID);
    CHECK_INT(zkl_session_ticket(c->session, ticket, ZKL_TICKET_SIZE - 1), ZKL_INVALID);
    client_close(c);
}

static zkl_err ErrInCallback;

static void end_in_callback(zkl_err err, zkl_hold hold, void *arg) {
    (void)err;
    (void)hold;
    ErrInCallback = zkl_session_end(server_hosts(), arg, LIMIT_MS);
}

static void calls_know_where_they_are(void) {
    client *c = client_open(fresh_name("where"), T_LONG);
    char ticket[ZKL_TICKET_SIZE];
    int status = -1;

    take(c, ticket);
    REQUIRE_INT(zkl_acquire_async(c->lock, ZKL_FOREVER, end_in_callback, ticket), ZKL_OK);
    client_close_lock(c); /* it has been called then */
    CHECK_INT(ErrInCallback, ZKL_IN_CALLBACK);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(zkl_session_ticket(c->session, ticket, sizeof(ticket)) != ZKL_FORKED);
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    client_close(c);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the locks of a dead process are free at once",
         the_locks_of_a_dead_process_are_free_at_once},
        {"a live owner hears of the end", a_live_owner_hears_of_the_end},
        {"a session that was closed is over", a_session_that_was_closed_is_over},
        {"another session is left alone", another_session_is_left_alone},
        {"without a server nothing is asked", without_a_server_nothing_is_asked},
        {"an end that is not confirmed is UNSURE", an_end_that_is_not_confirmed_is_unsure},
        {"a request that is lost is made again", a_request_that_is_lost_is_made_again},
        {"a request to be let in that is not answered is made again",
         a_request_to_be_let_in_that_is_not_answered_is_made_again},
        {"who comes again is told that it was over before",
         who_comes_again_is_told_that_it_was_over_before},
        {"a server that does not let us in leaves us unsure",
         a_server_that_does_not_let_us_in_leaves_us_unsure},
        {"there is no ticket without a connection", there_is_no_ticket_without_a_connection},
        {"a session with a ticket is kept while it rests",
         a_session_with_a_ticket_is_kept_while_it_rests},
        {"a timeout beyond an hour is a ticket's, too", a_timeout_beyond_an_hour_is_a_ticket_s_too},
        {"what is no ticket is INVALID", what_is_no_ticket_is_invalid},
        {"calls know where they are", calls_know_where_they_are},
    };
    if (argc == 5 && strcmp(argv[1], "--holder") == 0)
        return hold_for_ever(argv + 2);
    fixture_start(NULL);
    test_after_each(fixture_recover);
    return TEST_MAIN(argc, argv, "ticket", cases);
}
