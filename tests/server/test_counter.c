/*
 * Past the counter (T34): the number that the server appends to a contender's name is a directory's
 * count of creates in 32 bits. At 2147483647 it stays there when creates come one by one, and goes
 * on at -2147483648 when they come faster than they are carried out. Elsewhere that makes several
 * holders at once, or none.
 *
 * No test can count up to there, so the server starts with directories whose counters are nearly
 * spent. That each test is really past the end shows in the names it finds.
 */
#include "support/client.h"
#include "support/scratch.h"

#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEARLY_SPENT 2147483640
#define LAST "2147483647"
#define CONTENDERS 100
#define SESSIONS_MAX 10
/* A hundred hand-offs, each with a list and a read for everybody in it. */
#define SERVED_MS (6 * SOON_MS)

/* Directories forged for the tests, by the names of their locks. */
static const char *const Names[] = {"server", "serial",  "pipelined", "sessions", "processes",
                                    "storm",  "cut-off", "lost",      "deleted",  "look"};
#define NAMES (sizeof(Names) / sizeof(Names[0]))

/* ---- A crowd of contenders, which looks after itself ---- */

typedef struct contender {
    struct crowd *crowd;
    client *client;
    int64_t timeout_ms;
} contender;

typedef struct crowd {
    const char *name;
    size_t sessions;
    client *owners[SESSIONS_MAX]; /* of the sessions */
    contender contenders[CONTENDERS];
    char gate[RAW_PATH_MAX]; /* a Curator's node, before all of ours */
    /* Written in the lock. */
    atomic_int inside, overlaps, unheld;
    atomic_size_t granted;
    int64_t tokens[CONTENDERS]; /* in the order of the grants */
} crowd;

static zkl_err visit(void *arg) {
    const contender *c = arg;
    crowd *all = c->crowd;
    const zkl_err err = zkl_acquire(c->client->lock, c->timeout_ms);

    if (err != ZKL_OK)
        return err;
    if (atomic_fetch_add(&all->inside, 1) != 0)
        (void)atomic_fetch_add(&all->overlaps, 1);
    size_t turn = atomic_fetch_add(&all->granted, 1);
    all->tokens[turn] = zkl_token(c->client->lock);
    wait_pause(); /* time for another one to come in */
    if (!zkl_held(c->client->lock))
        (void)atomic_fetch_add(&all->unheld, 1);
    (void)atomic_fetch_sub(&all->inside, 1);
    return zkl_release(c->client->lock);
}

static crowd *crowd_new(const char *name, size_t sessions,
                        client *(*open_owner)(const char *name, int timeout_ms)) {
    crowd *all = calloc(1, sizeof(*all));

    REQUIRE(all != NULL);
    all->name = name;
    all->sessions = sessions;
    plant_contender(name, CURATOR, all->gate);
    for (size_t i = 0; i < sessions; i++)
        all->owners[i] = open_owner(name, T_LONG);
    for (size_t i = 0; i < CONTENDERS; i++) {
        client *owner = all->owners[i * sessions / CONTENDERS];

        all->contenders[i] = (contender){all, client_open_on(owner, name), ZKL_FOREVER};
    }
    return all;
}

static void crowd_free(crowd *all) {
    for (size_t i = 0; i < CONTENDERS; i++)
        client_close(all->contenders[i].client);
    for (size_t i = 0; i < all->sessions; i++)
        client_close(all->owners[i]);
    free(all);
}

/* The frozen server finds all their creates at once when it goes on. */
static void begin_at_once(crowd *all, size_t from, size_t to) {
    server_freeze();
    for (size_t i = from; i < to; i++)
        actor_begin(all->contenders[i].client->actor, visit, &all->contenders[i]);
    for (size_t i = from; i < to; i++)
        WAIT_UNTIL(actor_is_blocked(all->contenders[i].client->actor), SOON_MS);
    server_thaw();
}

/* ---- Names and places ---- */

/* How many nodes in the queue have the last number, and how many a negative one. */
static void count_names(const char *name, size_t *ret_last, size_t *ret_negative) {
    raw_list list = raw_children(fixture_raw(), lock_dir(name));

    *ret_last = *ret_negative = 0;
    for (size_t i = 0; i < list.count; i++) {
        *ret_last += strstr(list.names[i], "-lock-" LAST) != NULL;
        *ret_negative += strstr(list.names[i], "-lock--") != NULL;
    }
    raw_list_free(&list);
}

static int by_value(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The czxids of those who stand in the queue, ascending. */
static size_t read_queue(const char *name, int64_t *ret_czxids, size_t max) {
    raw_list list = raw_children(fixture_raw(), lock_dir(name));
    size_t count = 0;

    for (size_t i = 0; i < list.count && count < max; i++) {
        char path[RAW_PATH_MAX];
        raw_stat stat;

        (void)snprintf(path, sizeof(path), "%s/%s", lock_dir(name), list.names[i]);
        if (raw_stat_of(fixture_raw(), path, &stat))
            ret_czxids[count++] = stat.czxid;
    }
    raw_list_free(&list);
    qsort(ret_czxids, count, sizeof(ret_czxids[0]), by_value);
    return count;
}

static void check_results(crowd *all) {
    for (size_t i = 0; i < CONTENDERS; i++)
        CHECK_INT(actor_result(all->contenders[i].client->actor, SERVED_MS), ZKL_OK);
}

/* One at a time, each after all who were created before it, and nothing is left. */
static void check_history(const crowd *all, size_t granted) {
    CHECK_INT(atomic_load(&all->granted), granted);
    CHECK_INT(atomic_load(&all->overlaps), 0);
    CHECK_INT(atomic_load(&all->unheld), 0);
    for (size_t i = 1; i < granted; i++)
        CHECK(all->tokens[i] > all->tokens[i - 1]);
    WAIT_UNTIL(queue_length(all->name) == 0, SOON_MS);
}

/* Everybody stands in the queue behind the gate. Opens it, and looks after them till the end. */
static void serve_all(crowd *all) {
    int64_t czxids[CONTENDERS + 1];

    REQUIRE_INT(read_queue(all->name, czxids, CONTENDERS + 1), CONTENDERS + 1);
    CHECK_INT(atomic_load(&all->granted), 0);
    uproot(all->gate);
    check_results(all);
    check_history(all, CONTENDERS);
    for (size_t i = 0; i < CONTENDERS; i++)
        CHECK_INT(all->tokens[i], czxids[i + 1]);
}

/* ---- What the server does ---- */

static void the_server_repeats_its_last_number(void) {
    char path[RAW_PATH_MAX];
    size_t last, negative;

    for (int i = 0; i < 12; i++) {
        char prefix[64];

        (void)snprintf(prefix, sizeof(prefix), "_c_%08d-9dad-11d1-80b4-00c04fd430c8-lock-", i);
        plant_contender("server", prefix, path);
    }
    count_names("server", &last, &negative);
    CHECK_INT(last, 12 - 7);
    CHECK_INT(negative, 0);
    CHECK(strstr(path, LAST) != NULL);
    /* With the same prefix that is the same name. */
    (void)snprintf(path, sizeof(path), "%s/_c_00000011-9dad-11d1-80b4-00c04fd430c8-lock-",
                   lock_dir("server"));
    CHECK_INT(raw_create(fixture_raw(), path, "", 0, RAW_EPHEMERAL | RAW_SEQUENTIAL, NULL),
              RAW_NODE_EXISTS);
}

/* ---- A hundred ---- */

static void a_hundred_one_by_one(void) {
    crowd *all = crowd_new("serial", SESSIONS_MAX, client_open);
    size_t last, negative;

    for (size_t i = 0; i < CONTENDERS; i++) {
        actor_begin(all->contenders[i].client->actor, visit, &all->contenders[i]);
        WAIT_UNTIL(queue_length("serial") == i + 2, SOON_MS);
    }
    count_names("serial", &last, &negative);
    CHECK_INT(last, CONTENDERS + 1 - 7);
    CHECK_INT(negative, 0);
    serve_all(all);
    crowd_free(all);
}

static void a_hundred_at_once(const char *name, size_t sessions) {
    crowd *all = crowd_new(name, sessions, client_open);
    size_t last, negative;

    begin_at_once(all, 0, CONTENDERS);
    WAIT_UNTIL(queue_length(name) == CONTENDERS + 1, SERVED_MS);
    count_names(name, &last, &negative);
    test_note("%zu names with %s, %zu negative ones", last, LAST, negative);
    CHECK(negative > 0);
    serve_all(all);
    crowd_free(all);
}

static void a_hundred_at_once_on_one_session(void) {
    a_hundred_at_once("pipelined", 1);
}

static void a_hundred_at_once_on_ten_sessions(void) {
    a_hundred_at_once("sessions", SESSIONS_MAX);
}

/* ---- Processes ---- */

#define PROCESSES 20
#define KILLED 7

/* In the lock: $1 is there while somebody is, $2 gets the tokens, and $3 is killed in it. */
static const char Script[] =
    "mkdir \"$1\" || echo overlap >>\"$2\"; echo \"$ZKLOCK_TOKEN\" >>\"$2\";"
    "rmdir \"$1\"; if [ \"$3\" ]; then kill -KILL $PPID; kill -STOP $$; fi";

static pid_t start_process(const char *inside, const char *tokens, bool is_killed) {
    char *const arguments[] = {ZKLOCK_BUILD_DIR "/zklock",
                               "--hosts",
                               (char *)server_hosts(),
                               "--root",
                               (char *)fixture_root(),
                               "--timeout",
                               "4",
                               "run",
                               "-w",
                               "60",
                               "processes",
                               "--",
                               "sh",
                               "-c",
                               (char *)Script,
                               "sh",
                               (char *)inside,
                               (char *)tokens,
                               is_killed ? "killed" : "",
                               NULL};
    pid_t pid;

    REQUIRE_INT(posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ), 0);
    return pid;
}

static void check_tokens(const char *path, size_t expected) {
    FILE *file = fopen(path, "re");
    char line[64];
    long long last = 0;
    size_t count = 0;

    REQUIRE(file != NULL);
    for (; fgets(line, sizeof(line), file); count++) {
        CHECK(strtoll(line, NULL, 10) > last); /* 0: somebody else was inside */
        last = strtoll(line, NULL, 10);
    }
    (void)fclose(file);
    CHECK_INT(count, expected);
}

/* Each by its own zklock run, which gives up by itself if the test fails; one is killed while it
 * holds, and the next waits for its session. */
static void processes_take_their_turns(void) {
    char inside[300], tokens[300], gate[RAW_PATH_MAX];
    pid_t processes[PROCESSES];
    size_t last, negative;

    (void)snprintf(inside, sizeof(inside), "%s", scratch_path("inside"));
    (void)snprintf(tokens, sizeof(tokens), "%s", scratch_path("tokens"));
    plant_contender("processes", CURATOR, gate);
    for (size_t i = 0; i < PROCESSES; i++) {
        processes[i] = start_process(inside, tokens, i == KILLED);
        WAIT_UNTIL(queue_length("processes") == i + 2, SOON_MS);
    }
    count_names("processes", &last, &negative);
    CHECK_INT(last, PROCESSES + 1 - 7);
    uproot(gate);
    for (size_t i = 0; i < PROCESSES; i++) {
        int status = -1;

        WAIT_UNTIL(waitpid(processes[i], &status, WNOHANG) == processes[i], SERVED_MS);
        if (i == KILLED)
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        else
            CHECK_INT(status, 0);
    }
    check_tokens(tokens, PROCESSES);
    WAIT_UNTIL(queue_length("processes") == 0, SOON_MS);
    CHECK(unlink(tokens) == 0);
    CHECK(access(inside, F_OK) != 0);
}

/* ---- A hundred, and whatever else happens ---- */

#define HALF (CONTENDERS / 2)
#define STAY 8 /* of ten: one only tries, one has no time */

static void set_patience(crowd *all) {
    for (size_t i = 0; i < CONTENDERS; i++) {
        if (i % 10 == 3)
            all->contenders[i].timeout_ms = 0;
        if (i % 10 == 7)
            all->contenders[i].timeout_ms = 1500;
    }
}

/* They know of their nodes: who does not has no place to lose yet, and is not told of its loss. */
static void await_queued(const crowd *all, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        WAIT_UNTIL(client_told(all->contenders[i].client, ZKL_EVENT_QUEUED) > 0 ||
                       client_is_done(all->contenders[i].client),
                   SERVED_MS);
}

/* Half of them, a Curator's client, the other half; then those who try or have no time leave. */
static void line_up(crowd *all, char *ret_foreigner) {
    set_patience(all);
    begin_at_once(all, 0, HALF);
    await_queued(all, 0, HALF);
    plant_contender(all->name, "_c_7ba7b810-9dad-11d1-80b4-00c04fd430c8-lock-", ret_foreigner);
    begin_at_once(all, HALF, CONTENDERS);
    await_queued(all, HALF, CONTENDERS);
    for (size_t i = 0; i < CONTENDERS; i++) {
        if (all->contenders[i].timeout_ms != ZKL_FOREVER)
            CHECK_INT(client_result(all->contenders[i].client),
                      all->contenders[i].timeout_ms == 0 ? ZKL_BUSY : ZKL_TIMEOUT);
    }
    WAIT_UNTIL(queue_length(all->name) == CONTENDERS * STAY / 10 + 2, SERVED_MS);
}

/*
 * All of that session's contenders wait; they take new places. A client that comes back just when
 * its session ends may be let in and then not be answered, until 2/3 of its timeout have passed.
 */
static void expire_waiters(crowd *all, size_t session) {
    const size_t each = CONTENDERS / SESSIONS_MAX;
    zkl_session *s = all->owners[session]->session;
    const int64_t id = zkl_session_id(s);

    session_expire(s);
    WAIT_UNTIL(zkl_session_id(s) != 0 && zkl_session_id(s) != id, SERVED_MS);
    for (size_t i = session * each; i < (session + 1) * each; i++)
        WAIT_UNTIL(client_is_done(all->contenders[i].client) ||
                       client_told(all->contenders[i].client, ZKL_EVENT_REQUEUED) == 1,
                   SERVED_MS);
    WAIT_UNTIL(queue_length(all->name) == CONTENDERS * STAY / 10 + 2, SERVED_MS);
}

/* Nobody is let in before it serves: a connection that ZooKeeper takes while it starts may get no
 * answer for as long as the client waits for one. */
static void restart_server(crowd *all) {
    for (size_t i = 0; i < all->sessions; i++)
        client_outage_begin(all->owners[i]);
    server_kill();
    server_revive();
    for (size_t i = 0; i < all->sessions; i++)
        client_outage_end(all->owners[i]);
}

static void a_hundred_in_a_storm(void) {
    const size_t staying = CONTENDERS * STAY / 10;
    crowd *all = crowd_new("storm", SESSIONS_MAX, client_open_proxied);
    char foreigner[RAW_PATH_MAX];
    size_t last, negative;

    line_up(all, foreigner);
    expire_waiters(all, 8); /* behind the foreigner */
    count_names(all->name, &last, &negative);
    CHECK(last > 1 && negative > 0);
    CHECK_INT(atomic_load(&all->granted), 0);
    uproot(all->gate);
    WAIT_UNTIL(atomic_load(&all->granted) >= 10, SERVED_MS);
    restart_server(all);
    WAIT_UNTIL(atomic_load(&all->granted) >= staying / 2, SERVED_MS);
    CHECK_STAYS(atomic_load(&all->granted) == staying / 2, 200);
    uproot(foreigner);
    for (size_t i = 0; i < CONTENDERS; i++)
        if (all->contenders[i].timeout_ms == ZKL_FOREVER)
            CHECK_INT(actor_result(all->contenders[i].client->actor, SERVED_MS), ZKL_OK);
    check_history(all, staying);
    crowd_free(all);
}

/* ---- A few ---- */

/* A holder that is cut off: its session ends, and the one created next is granted, not before. */
static void a_holder_that_is_cut_off_is_followed_in_order(void) {
    client *holder = client_open_proxied("cut-off", T_SHORT);
    client *waiters[12];

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    zkl_hold hold = actor_hold(holder->actor, holder->lock);
    int64_t token = client_token(holder);
    for (size_t i = 0; i < 12; i++) {
        waiters[i] = client_open("cut-off", T_LONG);
        client_queue_up(waiters[i], i + 2);
    }
    client_silence(holder, true);
    for (size_t i = 0; i < 12; i++) {
        CHECK_INT(client_result(waiters[i]), ZKL_OK);
        CHECK(!zkl_hold_valid(holder->lock, hold));
        CHECK(client_token(waiters[i]) > token);
        token = client_token(waiters[i]);
        for (size_t j = i + 1; j < 12; j++)
            CHECK(!client_is_done(waiters[j]));
        CHECK_INT(client_release(waiters[i]), ZKL_OK);
    }
    client_silence(holder, false);
    for (size_t i = 0; i < 12; i++)
        client_close(waiters[i]);
    client_close(holder);
}

/* Nodes that spend the rest of the counter, of a contender that holds. */
static client *spend(const char *name) {
    client *c = client_open(name, T_LONG);

    for (int i = 0; i < 9; i++) {
        if (i > 0)
            REQUIRE_INT(client_release_wait(c), ZKL_OK);
        REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    }
    return c;
}

/* The node is found by its uuid, for its number says nothing. */
static void a_lost_reply_ends_in_one_node(void) {
    client *holder = spend("lost"), *c = client_open_proxied("lost", T_LONG);
    char path[RAW_PATH_MAX], now[RAW_PATH_MAX] = "";

    proxy_rule(c->proxy, PROXY_CUT_REPLY, PROXY_CREATE, "lost", 1, false);
    client_queue_up(c, 2);
    WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
    client_node(c, path);
    CHECK(strstr(path, LAST) != NULL);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    CHECK_INT(queue_length("lost"), 2);
    CHECK_INT(client_release(holder), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_OK);
    actor_node_path(c->actor, c->lock, now, sizeof(now));
    CHECK_STRING(now, path);
    CHECK_INT(client_told(c, ZKL_EVENT_REQUEUED), 0);
    client_close(c);
    client_close(holder);
}

/* The node whose reply was lost is deleted before it is found. With the same uuid the next would
 * have its very name, and who watched the one would take it for the other. */
static void a_lost_node_that_is_deleted_is_made_anew(void) {
    client *holder = spend("deleted"), *c = client_open_proxied("deleted", T_LONG);
    char path[RAW_PATH_MAX] = "", now[RAW_PATH_MAX] = "";
    raw_stat before, stat = {0};

    proxy_rule(c->proxy, PROXY_CUT_REPLY, PROXY_CREATE, "deleted", 1, true);
    client_queue_up(c, 2);
    WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
    client_node(c, path);
    REQUIRE(raw_stat_of(fixture_raw(), path, &before));
    uproot(path);
    proxy_refuse(c->proxy, false);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    CHECK_INT(client_nodes(c), 1);
    CHECK(!client_is_done(c));
    CHECK_INT(client_release(holder), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_OK);
    actor_node_path(c->actor, c->lock, now, sizeof(now));
    CHECK(strcmp(now, path) != 0);
    CHECK(raw_stat_of(fixture_raw(), now, &stat));
    CHECK(stat.owner == zkl_session_id(c->session) && stat.czxid > before.czxid);
    CHECK_INT(client_token(c), stat.czxid);
    client_close(c);
    client_close(holder);
}

static void who_looks_sees_the_order_of_creation(void) {
    client *holder = spend("look"), *waiters[5];
    zkl_queue *queue = NULL;

    for (size_t i = 0; i < 5; i++) {
        waiters[i] = client_open("look", T_LONG);
        client_queue_up(waiters[i], i + 2);
    }
    REQUIRE_INT(zkl_inspect(holder->session, "look", &queue), ZKL_OK);
    REQUIRE_INT(zkl_queue_count(queue), 6);
    CHECK(zkl_queue_at(queue, 0)->is_holder);
    CHECK_INT(zkl_queue_at(queue, 0)->token, client_token(holder));
    for (size_t i = 0; i < 5; i++) {
        CHECK(!zkl_queue_at(queue, i + 1)->is_holder);
        CHECK(strstr(zkl_queue_at(queue, i + 1)->node, LAST) != NULL);
        CHECK(zkl_queue_at(queue, i + 1)->session_id == zkl_session_id(waiters[i]->session));
    }
    zkl_queue_free(queue);
    client_close(holder);
    for (size_t i = 0; i < 5; i++) {
        CHECK_INT(client_result(waiters[i]), ZKL_OK);
        CHECK_INT(client_release(waiters[i]), ZKL_OK);
        client_close(waiters[i]);
    }
}

static const test_case Cases[] = {
    {"the server repeats its last number", the_server_repeats_its_last_number},
    {"a hundred who come one by one are served one at a time, in order (T34)",
     a_hundred_one_by_one},
    {"a hundred who come at once on one session are served one at a time, in order (T34)",
     a_hundred_at_once_on_one_session},
    {"a hundred who come at once on ten sessions are served one at a time, in order (T34)",
     a_hundred_at_once_on_ten_sessions},
    {"processes take their turns in order, though one is killed in it (T34)",
     processes_take_their_turns},
    {"timeouts, tries, a foreigner, an expiry and a restart change nothing in that (T34)",
     a_hundred_in_a_storm},
    {"a holder that is cut off lets go before the next is granted, in order (T34)",
     a_holder_that_is_cut_off_is_followed_in_order},
    {"a lost create reply ends in one node (T10, T34)", a_lost_reply_ends_in_one_node},
    {"a node deleted before it was found is made anew (T10, T34)",
     a_lost_node_that_is_deleted_is_made_anew},
    {"who looks at the queue sees it in the order of creation (T34)",
     who_looks_sees_the_order_of_creation},
};

/* The root, and the directories under it. */
static void forge(void) {
    snapshot_node nodes[NAMES + 1] = {{fixture_root(), 0}};

    for (size_t i = 0; i < NAMES; i++)
        nodes[i + 1] = (snapshot_node){lock_dir(Names[i]), NEARLY_SPENT};
    server_forge(nodes, NAMES + 1);
}

int main(int argc, char **argv) {
    /* Nobody forges the database of somebody else's server. */
    (void)unsetenv("ZKLOCK_HOSTS");
    fixture_start(NULL);
    forge();
    return TEST_MAIN(argc, argv, "counter", Cases);
}
