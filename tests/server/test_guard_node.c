/*
 * Writes of a process that works under another one's hold: the servers take them while the nodes
 * that it names are there, and the nodes are those of the hold. And reads that are no older than
 * the call.
 */
#include "support/target.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SEVERAL = 3
};

/* A process that does not hold: a session through a proxy, and a thread. */
typedef struct worker {
    proxy *proxy;
    events *events;
    zkl_session *session;
    actor *actor;
} worker;

static worker worker_open(void) {
    worker w = {.proxy = proxy_new(), .events = events_new(), .actor = actor_new()};

    w.session = session_open(proxy_hosts(w.proxy), T_LONG, w.events);
    return w;
}

static void worker_close(worker *w) {
    if (w->session != NULL)
        session_close(w->session);
    actor_free(w->actor);
    proxy_close(w->proxy);
    events_free(w->events);
}

/* The path of its node, as its holder would pass it on. */
static const char *node_of(client *c) {
    static char paths[8][RAW_PATH_MAX];
    static size_t next;
    char *path = paths[next++ % 8];

    client_node(c, path);
    return path;
}

static zkl_err set_with(zkl_session *s, const char *node, int64_t token, const char *path,
                        const char *text, int version) {
    return zkl_guarded_set_by_node(s, &ZKL_GUARD(.nodes = &node, .count = 1, .token = token), path,
                                   text, strlen(text), version, SOON_MS, NULL);
}

static zkl_err set(const worker *w, const char *node, const char *path, const char *text) {
    return set_with(w->session, node, 0, path, text, -1);
}

typedef struct set_call {
    const worker *worker;
    const char *node, *path, *text;
    int version;
    int64_t timeout_ms;
} set_call;

static zkl_err set_run(void *arg) {
    const set_call *c = arg;

    return zkl_guarded_set_by_node(c->worker->session, &ZKL_GUARD(.nodes = &c->node, .count = 1),
                                   c->path, c->text, strlen(c->text), c->version, c->timeout_ms,
                                   NULL);
}

/* ---- While the hold lasts ---- */

static void a_write_under_the_node_arrives(void) {
    client *c = holder_new("arrives", T_LONG);
    worker w = worker_open();
    const char *node = node_of(c), *path = target_new();
    const int64_t token = client_token(c);
    int version = -7;

    CHECK_INT(set(&w, node, path, "one"), ZKL_OK);
    target_check(path, "one", 1);
    CHECK_INT(zkl_guarded_set_by_node(w.session,
                                      &ZKL_GUARD(.nodes = &node, .count = 1, .token = token), path,
                                      "two", 3, 1, SOON_MS, &version),
              ZKL_OK);
    CHECK_INT(version, 2);
    CHECK_INT(set_with(w.session, node, token, path, "three", 1), ZKL_BAD_VERSION);
    CHECK_INT(set_with(w.session, node, token, path, "", 2), ZKL_OK);
    target_check(path, "", 3);
    CHECK_INT(set(&w, node, lock_dir("nothing"), "x"), ZKL_NO_NODE);
    holder_check(c);
    client_close(c);
    worker_close(&w);
}

static void a_write_is_two_requests(void) {
    client *c = holder_new("cost", T_LONG);
    worker w = worker_open();
    const char *node = node_of(c), *path = target_new();

    CHECK_INT(set(&w, node, path, "one"), ZKL_OK);
    proxy_forget(w.proxy);
    CHECK_INT(set(&w, node, path, "two"), ZKL_OK);
    CHECK_INT(proxy_count(w.proxy, PROXY_ANY, NULL), 2);
    CHECK_INT(proxy_count(w.proxy, PROXY_GET, node), 1);
    CHECK_INT(proxy_count(w.proxy, PROXY_MULTI, NULL), 1);
    client_close(c);
    worker_close(&w);
}

static void a_missing_node_is_created_under_the_guard(void) {
    client *c = holder_new("creates", T_LONG);
    worker w = worker_open();
    const char *node = node_of(c), *path = target_new();
    char made[RAW_PATH_MAX], below[RAW_PATH_MAX + 8];
    int version = -7;

    (void)snprintf(made, sizeof(made), "%s-made", path);
    (void)snprintf(below, sizeof(below), "%s/x/y", made);
    CHECK_INT(zkl_guarded_set_by_node(w.session, &ZKL_GUARD(.nodes = &node, .count = 1), made,
                                      "new", 3, ZKL_ABSENT, SOON_MS, &version),
              ZKL_OK);
    CHECK_INT(version, 0);
    target_check(made, "new", 0);
    CHECK_INT(set_with(w.session, node, 0, made, "again", ZKL_ABSENT), ZKL_BAD_VERSION);
    CHECK_INT(set_with(w.session, node, 0, below, "x", ZKL_ABSENT), ZKL_NO_NODE);
    uproot(node);
    REQUIRE_INT(raw_delete(fixture_raw(), made), RAW_OK);
    CHECK_INT(set_with(w.session, node, 0, made, "late", ZKL_ABSENT), ZKL_LOST);
    CHECK(!raw_exists(fixture_raw(), made));
    client_close(c);
    worker_close(&w);
}

/* As a holder's heartbeat that says since when it holds, or an ask. */
static void a_node_that_changes_on_the_way_is_read_again(void) {
    client *c = holder_new("changes", T_LONG);
    worker w = worker_open();
    const char *node = node_of(c), *path = target_new();
    set_call call = {&w, node, path, "x", -1, SOON_MS};
    char data[512];
    size_t len = sizeof(data);

    REQUIRE_INT(raw_get(fixture_raw(), node, data, &len, NULL), RAW_OK);
    proxy_rule(w.proxy, PROXY_HOLD_REQUEST, PROXY_MULTI, NULL, 1, false);
    actor_begin(w.actor, set_run, &call);
    WAIT_UNTIL(proxy_fired(w.proxy), SOON_MS);
    REQUIRE_INT(raw_set(fixture_raw(), node, data, len), RAW_OK);
    proxy_hold(w.proxy, PROXY_TO_SERVER, false);
    CHECK_INT(actor_result(w.actor, SOON_MS), ZKL_OK);
    CHECK_INT(proxy_count(w.proxy, PROXY_GET, node), 2);
    target_check(path, "x", 1);
    client_close(c);
    worker_close(&w);
}

static void every_kind_of_hold_has_a_node_that_guards(void) {
    static const zkl_kind kinds[] = {ZKL_MUTEX, ZKL_WRITE, ZKL_READ, ZKL_SEMAPHORE};
    worker w = worker_open();

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        client *c = client_open_as(fresh_name("kind"), kinds[i]);
        const char *path = target_new();

        REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
        const char *node = node_of(c);
        CHECK_INT(set(&w, node, path, "x"), ZKL_OK);
        REQUIRE_INT(client_release_wait(c), ZKL_OK);
        CHECK_INT(set(&w, node, path, "late"), ZKL_LOST);
        target_check(path, "x", 1);
        client_close(c);
    }
    worker_close(&w);
}

/* ---- After the hold ---- */

static void no_write_passes_when_the_node_has_gone(void) {
    worker w = worker_open();
    const char *path = target_new();

    for (int i = 0; i < 20; i++) {
        client *c = holder_new("gone", T_LONG);
        const char *node = node_of(c);

        if (i % 2 == 0)
            uproot(node);
        else
            REQUIRE_INT(client_release_wait(c), ZKL_OK);
        CHECK_INT(set_with(w.session, node, 0, path, "late", i % 4 < 2 ? -1 : 0), ZKL_LOST);
        client_close(c);
    }
    target_check(path, "zero", 0);
    worker_close(&w);
}

/* It was read while the hold lasted; another has held and written since. */
static void a_write_that_arrives_after_the_hold_changes_nothing(void) {
    client *c = holder_new("late", T_LONG), *next = client_open(c->name, T_LONG);
    worker w = worker_open();
    const char *node = node_of(c), *path = target_new();
    set_call call = {&w, node, path, "late", -1, SOON_MS};

    proxy_rule(w.proxy, PROXY_HOLD_REQUEST, PROXY_MULTI, NULL, 1, false);
    actor_begin(w.actor, set_run, &call);
    WAIT_UNTIL(proxy_fired(w.proxy), SOON_MS);
    REQUIRE_INT(client_release_wait(c), ZKL_OK);
    REQUIRE_INT(client_acquire(next, SOON_MS), ZKL_OK);
    CHECK_INT(guarded_set(next, path, "next", 0), ZKL_OK);
    proxy_hold(w.proxy, PROXY_TO_SERVER, false);
    CHECK_INT(actor_result(w.actor, SOON_MS), ZKL_LOST);
    target_check(path, "next", 1);
    client_close(next);
    client_close(c);
    worker_close(&w);
}

/* The mark of zkl_break, by hand: the holder's library would delete the node soon. */
static void mark(const char *node) {
    static const char line[] = "zklock1 break=1 t=30000";

    REQUIRE_INT(raw_set(fixture_raw(), node, line, sizeof(line) - 1), RAW_OK);
}

static void a_hold_that_is_broken_guards_nothing(void) {
    worker w = worker_open();
    const char *name = fresh_name("broken"), *path = target_new();
    char node[RAW_PATH_MAX];
    const set_call call = {&w, node, path, "late", -1, SOON_MS};

    plant_contender(name, CURATOR, node); /* whose owner does nothing about the mark */
    CHECK_INT(set(&w, node, path, "early"), ZKL_OK);
    proxy_rule(w.proxy, PROXY_HOLD_REQUEST, PROXY_MULTI, NULL, 1, false);
    actor_begin(w.actor, set_run, (void *)&call);
    WAIT_UNTIL(proxy_fired(w.proxy), SOON_MS);
    mark(node);
    proxy_hold(w.proxy, PROXY_TO_SERVER, false);
    CHECK_INT(actor_result(w.actor, SOON_MS), ZKL_LOST);
    CHECK_INT(set(&w, node, path, "later"), ZKL_LOST);
    target_check(path, "early", 1);
    uproot(node);
    worker_close(&w);
}

/* Of the same name, in a directory that was made anew; and the token that is meant. */
static void a_node_made_again_by_hand_has_another_token(void) {
    client *c = holder_new("again", T_LONG);
    worker w = worker_open();
    const char *node = node_of(c), *path = target_new();
    const int64_t token = client_token(c);

    CHECK_INT(set_with(w.session, node, token, path, "one", -1), ZKL_OK);
    CHECK_INT(set_with(w.session, node, token + 1, path, "x", -1), ZKL_LOST);
    client_close(c);
    REQUIRE_INT(raw_make_path(fixture_raw(), node), RAW_OK);
    CHECK_INT(set_with(w.session, node, token, path, "late", -1), ZKL_LOST);
    target_check(path, "one", 1);
    CHECK_INT(set_with(w.session, node, 0, path, "unnoticed", -1), ZKL_OK);
    uproot(node);
    worker_close(&w);
}

static zkl_err downgrade_run(void *lock) {
    return zkl_downgrade(lock);
}

static void a_reader_that_was_a_writer_has_its_token(void) {
    client *c = client_open_as(fresh_name("turned"), ZKL_WRITE);
    worker w = worker_open();
    const char *path = target_new();

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    const char *writer = node_of(c);
    const int64_t token = client_token(c);
    actor_begin(c->actor, downgrade_run, c->lock);
    REQUIRE_INT(actor_result(c->actor, SOON_MS), ZKL_OK);
    CHECK_INT(set_with(w.session, writer, token, path, "late", -1), ZKL_LOST);
    CHECK_INT(set_with(w.session, node_of(c), token, path, "x", -1), ZKL_OK);
    target_check(path, "x", 1);
    client_close(c);
    worker_close(&w);
}

static void of_several_nodes_all_must_exist(void) {
    client *holders[SEVERAL];
    const char *nodes[SEVERAL], *path = target_new();
    worker w = worker_open();
    const zkl_guard guard = ZKL_GUARD(.nodes = nodes, .count = SEVERAL);

    for (size_t i = 0; i < SEVERAL; i++) {
        holders[i] = holder_new("several", T_LONG);
        nodes[i] = node_of(holders[i]);
    }
    CHECK_INT(zkl_guarded_set_by_node(w.session, &guard, path, "x", 1, 0, SOON_MS, NULL), ZKL_OK);
    for (size_t i = 0; i < SEVERAL; i++) {
        REQUIRE_INT(client_release_wait(holders[i]), ZKL_OK);
        CHECK_INT(zkl_guarded_set_by_node(w.session, &guard, path, "y", 1, -1, SOON_MS, NULL),
                  ZKL_LOST);
        REQUIRE_INT(client_acquire(holders[i], SOON_MS), ZKL_OK);
        nodes[i] = node_of(holders[i]);
    }
    CHECK_INT(zkl_guarded_set_by_node(w.session, &guard, path, "z", 1, 1, SOON_MS, NULL), ZKL_OK);
    for (size_t i = 0; i < SEVERAL; i++)
        client_close(holders[i]);
    worker_close(&w);
}

/* ---- When connections break ---- */

static void a_lost_reply_is_unsure_and_nothing_is_sent_twice(void) {
    client *c = holder_new("lost", T_LONG);
    worker w = worker_open();
    const char *node = node_of(c), *path = target_new();

    proxy_rule(w.proxy, PROXY_CUT_REPLY, PROXY_MULTI, NULL, 1, false);
    CHECK_INT(set(&w, node, path, "done"), ZKL_UNSURE);
    target_check(path, "done", 1);
    proxy_rule(w.proxy, PROXY_CUT_REQUEST, PROXY_MULTI, NULL, 1, false);
    CHECK_INT(set(&w, node, path, "not done"), ZKL_UNSURE);
    proxy_rule(w.proxy, PROXY_CUT_REPLY, PROXY_GET, node, 1, false);
    CHECK_INT(set(&w, node, path, "after"), ZKL_OK); /* it had not written yet */
    target_check(path, "after", 2);
    client_close(c);
    worker_close(&w);
}

static void what_cannot_be_sent_in_time_was_not_written(void) {
    client *c = holder_new("silent", T_LONG);
    worker w = worker_open();
    const char *path = target_new();
    set_call call = {&w, node_of(c), path, "late", -1, 200};

    proxy_hold(w.proxy, PROXY_BOTH, true);
    CHECK_INT(set_run(&call), ZKL_UNREACHABLE); /* at the read */
    proxy_hold(w.proxy, PROXY_BOTH, false);
    target_check(path, "zero", 0);
    proxy_rule(w.proxy, PROXY_HOLD_REPLY, PROXY_MULTI, NULL, 1, false);
    CHECK_INT(set_run(&call), ZKL_UNSURE);
    proxy_hold(w.proxy, PROXY_BOTH, false);
    target_check(path, "late", 1);
    client_close(c);
    worker_close(&w);
}

static void a_close_ends_a_write_that_is_under_way(void) {
    client *c = holder_new("closed", T_LONG);

    for (int sent = 0; sent < 2; sent++) {
        worker w = worker_open();
        set_call call = {&w, node_of(c), target_new(), "x", -1, ZKL_FOREVER};

        proxy_rule(w.proxy, PROXY_HOLD_REQUEST, sent ? PROXY_MULTI : PROXY_GET, NULL, 1, false);
        actor_begin(w.actor, set_run, &call);
        WAIT_UNTIL(proxy_fired(w.proxy), SOON_MS);
        session_close(w.session);
        w.session = NULL;
        CHECK_INT(actor_result(w.actor, SOON_MS), sent ? ZKL_UNSURE : ZKL_CLOSED);
        proxy_hold(w.proxy, PROXY_BOTH, false);
        worker_close(&w);
    }
    client_close(c);
}

/* ---- What is refused ---- */

static void wrong_calls_are_refused_before_anything_is_sent(void) {
    static char big[ZKL_GUARDED_SET_MAX + 1];
    client *c = holder_new("invalid", T_LONG);
    worker w = worker_open();
    const char *node = node_of(c), *path = target_new(), *many[ZKL_ALL_MAX + 1];
    const char *no_contenders[] = {"/x", "", "relative", lock_dir("x/no-contender"), NULL, path};
    const zkl_guard guard = ZKL_GUARD(.nodes = &node, .count = 1);
    zkl_guard wrong[] = {ZKL_GUARD(.count = 1),
                         ZKL_GUARD(.nodes = &node),
                         ZKL_GUARD(.nodes = &node, .count = 1, .token = -1),
                         ZKL_GUARD(.nodes = &node, .count = 1, .unguarded = true),
                         ZKL_GUARD(.token = 1, .unguarded = true),
                         ZKL_GUARD(.nodes = many, .count = ZKL_ALL_MAX + 1),
                         {.nodes = &node, .count = 1},
                         ZKL_GUARD(.nodes = &node, .count = 1, .reserved = {1})};

    for (size_t i = 0; i <= ZKL_ALL_MAX; i++)
        many[i] = node;
    proxy_forget(w.proxy);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CHECK_INT(zkl_guarded_set_by_node(w.session, &wrong[i], path, "x", 1, -1, SOON_MS, NULL),
                  ZKL_INVALID);
    for (size_t i = 0; i < sizeof(no_contenders) / sizeof(no_contenders[0]); i++)
        CHECK_INT(set(&w, no_contenders[i], path, "x"), ZKL_INVALID);
    CHECK_INT(set_with(NULL, node, 0, path, "x", -1), ZKL_INVALID);
    CHECK_INT(set_with(w.session, node, 0, path, "x", -3), ZKL_INVALID);
    CHECK_INT(set(&w, node, "/x/", "x"), ZKL_INVALID);
    CHECK_INT(zkl_guarded_set_by_node(w.session, NULL, path, "x", 1, -1, SOON_MS, NULL),
              ZKL_INVALID);
    CHECK_INT(zkl_guarded_set_by_node(w.session, &guard, NULL, "x", 1, -1, SOON_MS, NULL),
              ZKL_INVALID);
    CHECK_INT(zkl_guarded_set_by_node(w.session, &guard, path, NULL, 1, -1, SOON_MS, NULL),
              ZKL_INVALID);
    CHECK_INT(zkl_guarded_set_by_node(w.session, &guard, path, "x", 1, -1, -2, NULL), ZKL_INVALID);
    CHECK_INT(zkl_guarded_set_by_node(w.session, &guard, path, big, sizeof(big), -1, SOON_MS, NULL),
              ZKL_INVALID);
    CHECK_INT(proxy_count(w.proxy, PROXY_ANY, NULL), 0);
    CHECK_INT(zkl_guarded_set_by_node(w.session, &guard, path, big, ZKL_GUARDED_SET_MAX, 0, SOON_MS,
                                      NULL),
              ZKL_OK); /* as much as the header promises */
    client_close(c);
    worker_close(&w);
}

static void a_refusal_of_the_server_is_told_with_the_log(void) {
    client *c = holder_new("denied", T_LONG);
    worker w = worker_open();
    const char *node = node_of(c), *path = target_new();

    REQUIRE_INT(raw_restrict(fixture_raw(), path, 1 | 16), RAW_OK);
    CHECK_INT(set(&w, node, path, "x"), ZKL_DENIED);
    CHECK(events_logged(w.events, path));
    REQUIRE_INT(raw_restrict(fixture_raw(), path, 31), RAW_OK);
    proxy_fail(w.proxy, PROXY_MULTI, NULL, 1, -6); /* ZUNIMPLEMENTED */
    CHECK_INT(set(&w, node, path, "x"), ZKL_SERVER);
    REQUIRE_INT(raw_restrict(fixture_raw(), node, 2 | 16), RAW_OK);
    CHECK_INT(set(&w, node, path, "x"), ZKL_DENIED); /* nor is the hold known */
    CHECK(events_logged(w.events, node));
    REQUIRE_INT(raw_restrict(fixture_raw(), node, 31), RAW_OK);
    CHECK_INT(set(&w, node, path, "x"), ZKL_OK);
    target_check(path, "x", 1);
    client_close(c);
    worker_close(&w);
}

static void without_a_guard_it_is_said_so(void) {
    worker w = worker_open();
    const char *path = target_new();
    const zkl_guard none = ZKL_GUARD(.unguarded = true);

    CHECK_INT(zkl_guarded_set_by_node(w.session, &none, path, "x", 1, -1, SOON_MS, NULL), ZKL_OK);
    target_check(path, "x", 1);
    worker_close(&w);
}

typedef struct inside {
    _Atomic(zkl_err) set, read;
} inside;

static void call_inside(const zkl_event *event, void *arg) {
    inside *in = arg;
    size_t len;

    if (event->type != ZKL_EVENT_HELD)
        return;
    in->read = zkl_read_node(event->session, "/x", NULL, 0, &len, NULL, SOON_MS);
    in->set = set_with(event->session, "/" CURATOR "0000000000", 0, "/x", "x", -1);
}

static void callbacks_and_children_neither_write_nor_read(void) {
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    inside in = {.set = ACTOR_BUSY, .read = ACTOR_BUSY};
    zkl_lock *l = NULL;
    size_t len;
    int status = 0;

    REQUIRE_INT(zkl_lock_open(&l, s, fresh_name("inside"),
                              &ZKL_LOCK_OPTIONS(.on_event = call_inside, .arg = &in)),
                ZKL_OK);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    WAIT_UNTIL(in.set != ACTOR_BUSY, SOON_MS);
    CHECK_INT(in.set, ZKL_IN_CALLBACK);
    CHECK_INT(in.read, ZKL_IN_CALLBACK);
    pid_t pid = fork();
    if (pid == 0) {
        bool is_read = zkl_read_node(s, "/x", NULL, 0, &len, NULL, SOON_MS) != ZKL_FORKED;
        _exit(is_read ? 0 : (int)set_with(s, "/" CURATOR "0000000000", 0, "/x", "x", -1));
    }
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == ZKL_FORKED);
    lock_close(l);
    session_close(s);
}

/* ---- Reads ---- */

static void a_read_is_no_older_than_the_call(void) {
    worker w = worker_open();
    const char *path = target_new();
    char data[8] = "";
    size_t len = 0;
    int version = -7;

    proxy_forget(w.proxy);
    CHECK_INT(zkl_read_node(w.session, path, data, sizeof(data), &len, &version, SOON_MS), ZKL_OK);
    CHECK_STRING(data, "zero");
    CHECK_INT(len, 4);
    CHECK_INT(version, 0);
    CHECK_INT(proxy_count(w.proxy, PROXY_BARRIER, NULL), 1);
    CHECK_INT(proxy_count(w.proxy, PROXY_GET, path), 1);
    /* The barrier of before says nothing of another connection's server. */
    proxy_forget(w.proxy);
    proxy_rule(w.proxy, PROXY_CUT_REPLY, PROXY_GET, path, 1, false);
    CHECK_INT(zkl_read_node(w.session, path, NULL, 0, &len, NULL, SOON_MS), ZKL_OK);
    CHECK_INT(proxy_count(w.proxy, PROXY_BARRIER, NULL), 2);
    worker_close(&w);
}

static void longer_data_are_cut_and_their_length_is_told(void) {
    worker w = worker_open();
    const char *path = target_new();
    static char big[ZKL_GUARDED_SET_MAX], read[ZKL_GUARDED_SET_MAX];
    char first[4] = "???";
    size_t len = 0;

    memset(big, 'b', sizeof(big));
    big[0] = 'a';
    big[sizeof(big) - 1] = 'c';
    REQUIRE_INT(raw_set(fixture_raw(), path, big, sizeof(big)), RAW_OK);
    CHECK_INT(zkl_read_node(w.session, path, first, 2, &len, NULL, SOON_MS), ZKL_OK);
    CHECK_INT(len, sizeof(big));
    CHECK_STRING(first, "ab?");
    CHECK_INT(zkl_read_node(w.session, path, read, sizeof(read), &len, NULL, SOON_MS), ZKL_OK);
    CHECK(memcmp(big, read, sizeof(big)) == 0);
    worker_close(&w);
}

static void what_cannot_be_read_is_told(void) {
    worker w = worker_open();
    const char *path = target_new();
    static char longest[2 * ZKL_GUARDED_SET_MAX];
    size_t len = 4711;

    CHECK_INT(zkl_read_node(w.session, lock_dir("nothing"), NULL, 0, &len, NULL, SOON_MS),
              ZKL_NO_NODE);
    REQUIRE_INT(raw_restrict(fixture_raw(), path, 2 | 16), RAW_OK);
    CHECK_INT(zkl_read_node(w.session, path, NULL, 0, &len, NULL, SOON_MS), ZKL_DENIED);
    CHECK(events_logged(w.events, path));
    proxy_hold(w.proxy, PROXY_BOTH, true);
    CHECK_INT(zkl_read_node(w.session, path, NULL, 0, &len, NULL, 100), ZKL_UNREACHABLE);
    proxy_hold(w.proxy, PROXY_BOTH, false);
    memset(longest, 'x', sizeof(longest) - 1);
    longest[0] = '/';
    CHECK_INT(zkl_read_node(w.session, longest, NULL, 0, &len, NULL, SOON_MS), ZKL_LIMIT);
    CHECK_INT(zkl_read_node(w.session, "x", NULL, 0, &len, NULL, SOON_MS), ZKL_INVALID);
    CHECK_INT(zkl_read_node(w.session, NULL, NULL, 0, &len, NULL, SOON_MS), ZKL_INVALID);
    CHECK_INT(zkl_read_node(w.session, path, NULL, 1, &len, NULL, SOON_MS), ZKL_INVALID);
    CHECK_INT(zkl_read_node(w.session, path, NULL, 0, NULL, NULL, SOON_MS), ZKL_INVALID);
    CHECK_INT(zkl_read_node(w.session, path, NULL, 0, &len, NULL, -2), ZKL_INVALID);
    CHECK_INT(zkl_read_node(NULL, path, NULL, 0, &len, NULL, SOON_MS), ZKL_INVALID);
    CHECK_INT(len, 4711);
    worker_close(&w);
}

static const test_case Cases[] = {
    {"a write under the node arrives", a_write_under_the_node_arrives},
    {"a write is two requests", a_write_is_two_requests},
    {"a missing node is created under the guard", a_missing_node_is_created_under_the_guard},
    {"a node that changes on the way is read again", a_node_that_changes_on_the_way_is_read_again},
    {"every kind of hold has a node that guards", every_kind_of_hold_has_a_node_that_guards},
    {"no write passes when the node has gone", no_write_passes_when_the_node_has_gone},
    {"a write that arrives after the hold changes nothing",
     a_write_that_arrives_after_the_hold_changes_nothing},
    {"a hold that is broken guards nothing", a_hold_that_is_broken_guards_nothing},
    {"a node made again by hand has another token", a_node_made_again_by_hand_has_another_token},
    {"a reader that was a writer has its token", a_reader_that_was_a_writer_has_its_token},
    {"of several nodes all must exist", of_several_nodes_all_must_exist},
    {"a lost reply is unsure, and nothing is sent twice",
     a_lost_reply_is_unsure_and_nothing_is_sent_twice},
    {"what cannot be sent in time was not written", what_cannot_be_sent_in_time_was_not_written},
    {"a close ends a write that is under way", a_close_ends_a_write_that_is_under_way},
    {"wrong calls are refused before anything is sent",
     wrong_calls_are_refused_before_anything_is_sent},
    {"a refusal of the server is told, with a line of log",
     a_refusal_of_the_server_is_told_with_the_log},
    {"without a guard it is said so", without_a_guard_it_is_said_so},
    {"callbacks and forked children neither write nor read",
     callbacks_and_children_neither_write_nor_read},
    {"a read is no older than the call", a_read_is_no_older_than_the_call},
    {"longer data are cut, and their length is told", longer_data_are_cut_and_their_length_is_told},
    {"what cannot be read is told", what_cannot_be_read_is_told},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "guard_node", Cases);
}
