/*
 * An attached session whose connection breaks, is changed by its program, or is not there; and
 * where somebody makes the node by which the library hears of the session.
 */
#include "support/client.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "support/program.h"
#include "support/told.h"

#define SESSION_PATH "/zklock-barrier-of-no-node/session"

static int64_t cpu_ms(void) {
    struct rusage used;

    (void)getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * INT64_C(1000) +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

/* ---- Connections ---- */

static void a_hold_and_a_place_outlast_a_connection(void) {
    program p = program_new(T_NORMAL);
    events *e = events_new();
    proxy *between = proxy_new();
    const char *held = fresh_name("held"), *queue = fresh_name("queue");
    client *before = client_open(queue, T_NORMAL);

    program_begin(&p, proxy_hosts(between));
    zkl_session *s = program_attach(&p, true, e);
    zkl_lock *l = lock_open(s, held, NULL), *waits = lock_open(s, queue, NULL);
    told wait = {0};
    REQUIRE_INT(client_acquire(before, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    told_begin(&wait, waits, ZKL_FOREVER);
    WAIT_UNTIL(proxy_answered(between, PROXY_GET, queue) == 2,
               SOON_MS); /* so its create was, too */
    proxy_drop(between);
    WAIT_UNTIL(events_count(e, ZKL_EVENT_RESUMED) == 1, SOON_MS);
    CHECK_INT(events_count(e, ZKL_EVENT_SUSPENDED), 1);
    CHECK(zkl_held(l));
    CHECK_INT(queue_length(queue), 2);
    CHECK_INT(client_release(before), ZKL_OK);
    told_check(&wait, ZKL_OK);
    CHECK(zkl_held(l));
    lock_close(l);
    lock_close(waits);
    session_close(s);
    client_close(before);
    program_end(&p);
    proxy_close(between);
    events_free(e);
}

/* As an own session does: for T, less a margin, since the last heartbeat that counts. */
static void without_a_connection_a_hold_is_lost_in_time(void) {
    program p = program_new(T_SHORT);
    events *e = events_new();
    proxy *between = proxy_new();
    const char *name = fresh_name("cut");

    program_begin(&p, proxy_hosts(between));
    zkl_session *s = program_attach(&p, true, NULL);
    zkl_lock *l = lock_open(s, name, e);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    proxy_refuse(between, true);
    proxy_drop(between);
    const int64_t cut_ms = clock_ms();
    WAIT_UNTIL(events_count(e, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK(clock_ms() - cut_ms <= T_SHORT);
    CHECK(!zkl_held(l));
    proxy_refuse(between, false);
    lock_close(l);
    (void)zkl_session_close(s); /* its session may be over, or not be there yet */
    program_end(&p);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    proxy_close(between);
    events_free(e);
}

static void a_program_may_change_its_servers(void) {
    program p = program_new(T_NORMAL);
    events *e = events_new();
    proxy *one = proxy_new(), *other = proxy_open(server_hosts(), "127.0.0.2");

    REQUIRE(other != NULL);
    program_begin(&p, proxy_hosts(one));
    zkl_session *s = program_attach(&p, true, e);
    zkl_lock *l = lock_open(s, fresh_name("servers"), NULL);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(zoo_set_servers(p.zh, proxy_hosts(other)), ZOK);
    WAIT_UNTIL(proxy_links(other) == 1, SOON_MS);
    WAIT_UNTIL(events_count(e, ZKL_EVENT_RESUMED) >= 1, SOON_MS);
    CHECK(zkl_held(l));
    CHECK_INT(zkl_release(l), ZKL_OK);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    lock_close(l);
    const zkl_err err = zkl_session_close(s); /* a create may have been lost on the way */
    CHECK(err == ZKL_OK || err == ZKL_UNREACHABLE);
    program_end(&p);
    proxy_close(one);
    proxy_close(other);
    events_free(e);
}

/* ---- No connection ---- */

/* The client library waits between its tries to connect, and is left to do so. */
static void a_handle_without_a_server_is_left_alone(void) {
    program p = program_new(T_NORMAL);

    program_begin(&p, server_nowhere());
    zkl_session *s = program_attach(&p, true, NULL);
    const int64_t before_ms = cpu_ms();
    wait_out(2000);
    const int64_t used_ms = cpu_ms() - before_ms;
    test_note("%lld ms of processor time in 2 s without a server", (long long)used_ms);
    CHECK(used_ms < 500);
    session_close(s);
    program_end(&p);
}

static void a_wait_that_never_left_leaves_nothing(void) {
    program p = program_new(T_NORMAL);

    program_begin(&p, server_nowhere());
    zkl_session *s = program_attach(&p, true, NULL);
    zkl_lock *l = lock_open(s, fresh_name("never"), NULL);
    told wait = {0};
    told_begin(&wait, l, ZKL_FOREVER);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    told_check(&wait, ZKL_CLOSED);
    lock_close(l);
    program_end(&p);
}

static void a_close_may_come_at_once(void) {
    program p = program_new(T_NORMAL);

    program_connect(&p);
    for (int i = 0; i < 100; i++)
        CHECK_INT(zkl_session_close(program_attach(&p, true, NULL)), ZKL_OK);
    CHECK(program_is_answered(&p));
    program_end(&p);
}

/* ---- The node that is never made ---- */

static void who_makes_that_node_costs_no_hold(void) {
    program p = program_new(T_NORMAL);
    events *e = events_new();
    proxy *between = proxy_new();

    program_begin(&p, proxy_hosts(between));
    zkl_session *s = program_attach(&p, true, e);
    zkl_lock *l = lock_open(s, fresh_name("made"), NULL);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(raw_make_path(fixture_raw(), SESSION_PATH), RAW_OK);
    WAIT_UNTIL(events_count(e, ZKL_EVENT_RESUMED) == 1, SOON_MS); /* it is watched again */
    REQUIRE_INT(raw_delete(fixture_raw(), SESSION_PATH), RAW_OK);
    WAIT_UNTIL(events_count(e, ZKL_EVENT_RESUMED) == 2, SOON_MS);
    REQUIRE_INT(raw_delete(fixture_raw(), "/zklock-barrier-of-no-node"), RAW_OK);
    CHECK(zkl_held(l));
    proxy_drop(between); /* it hears of that */
    WAIT_UNTIL(events_count(e, ZKL_EVENT_RESUMED) == 3, SOON_MS);
    CHECK_INT(events_count(e, ZKL_EVENT_SUSPENDED), 3);
    CHECK(zkl_held(l));
    lock_close(l);
    session_close(s);
    program_end(&p);
    proxy_close(between);
    events_free(e);
}

/* ---- Chroots and ACLs ---- */

static void a_handle_may_have_a_chroot_and_credentials(void) {
    program p = program_new(T_NORMAL);
    char hosts[256], node[RAW_PATH_MAX], path[RAW_PATH_MAX + 64], scheme[16] = "";
    const char *chroot = lock_dir("chroot");
    zkl_session *s = NULL;

    REQUIRE_INT(raw_make_path(fixture_raw(), chroot), RAW_OK);
    (void)snprintf(hosts, sizeof(hosts), "%s%s", server_hosts(), chroot);
    program_begin(&p, hosts);
    WAIT_UNTIL(program_is_connected(&p), SOON_MS);
    REQUIRE_INT(zoo_add_auth(p.zh, "digest", "u:p", 3, NULL, NULL), ZOK);
    const zkl_session_options o = ZKL_SESSION_OPTIONS(.chroot = chroot, .made_ms = p.made_ms,
                                                      .acl = ZKL_ACL_CREATOR);
    REQUIRE_INT(zkl_session_attach(&s, p.zh, &o), ZKL_OK);
    zkl_lock *l = lock_open(s, "below", NULL);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_node_path(l, node, sizeof(node)), ZKL_OK);
    (void)snprintf(path, sizeof(path), "%s%s", chroot, node);
    raw_acl_scheme(fixture_raw(), path, scheme, sizeof(scheme));
    CHECK_STRING(scheme, ""); /* it may not be read */
    /* Nor be deleted in the end, but so. */
    CHECK_INT(raw_authenticate(fixture_raw(), "digest", "u:p"), RAW_OK);
    lock_close(l);
    session_close(s);
    program_end(&p);
}

/* ---- A handle that is lent ---- */

typedef struct inside {
    zkl_lock *lock;
    atomic_int acquired; /* what the call said there; -1: nothing yet */
} inside;

static void on_looked(int code, const struct Stat *stat, const void *data) {
    inside *in = (inside *)(uintptr_t)data;

    (void)code;
    (void)stat;
    atomic_store(&in->acquired, (int)zkl_acquire(in->lock, ZKL_FOREVER));
}

static void its_thread_never_blocks(void) {
    client *c = client_open(fresh_name("lent"), T_NORMAL);
    inside in = {.lock = c->lock, .acquired = -1};

    zhandle_t *zh = zkl_session_zhandle(c->session);
    REQUIRE(zh != NULL);
    REQUIRE_INT(zoo_aexists(zh, "/", 0, on_looked, &in), ZOK);
    WAIT_UNTIL(atomic_load(&in.acquired) != -1, SOON_MS);
    CHECK_INT(atomic_load(&in.acquired), ZKL_IN_CALLBACK);
    CHECK_INT(zkl_session_zhandle_return(c->session, zh), ZKL_OK);
    client_close_lock(c);
    CHECK_INT(zkl_session_close(c->session), ZKL_OK);
    c->session = NULL;
    client_close(c);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a hold and a place outlast a connection", a_hold_and_a_place_outlast_a_connection},
        {"without a connection a hold is lost in time",
         without_a_connection_a_hold_is_lost_in_time},
        {"a program may change its servers", a_program_may_change_its_servers},
        {"a handle without a server is left alone", a_handle_without_a_server_is_left_alone},
        {"a wait that never left leaves nothing", a_wait_that_never_left_leaves_nothing},
        {"a close may come at once", a_close_may_come_at_once},
        {"who makes that node costs no hold", who_makes_that_node_costs_no_hold},
        {"a handle may have a chroot and credentials", a_handle_may_have_a_chroot_and_credentials},
        {"its thread never blocks", its_thread_never_blocks},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "attach_faults", cases);
}
