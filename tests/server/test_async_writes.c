/*
 * Releases and guarded writes whose callers go on, at a real server: many from one thread, in their
 * order, through connections that are lost.
 */
#include "support/client.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zklock_zookeeper.h>
#include <zookeeper/zookeeper.h>

#include "session/session.h"
#include "support/target.h"
#include "support/told.h"
#include "zk/zk_client_internal.h"

/* A hold of no thread's. */
static zkl_hold hold_of(client *c) {
    told t;

    told_begin(&t, c->lock, ZKL_FOREVER);
    told_check(&t, ZKL_OK);
    return t.hold;
}

static void write_begin_by(told *t, zkl_lock *l, zkl_hold hold, const char *path, const char *text,
                           int version) {
    *t = (told){.lock = l};
    REQUIRE_INT(zkl_guarded_set_async(l, hold, path, text, strlen(text), version, told_on_done, t),
                ZKL_OK);
}

static void write_begin(told *t, client *c, zkl_hold hold, const char *path, const char *text,
                        int version) {
    write_begin_by(t, c->lock, hold, path, text, version);
}

/* ---- Writes ---- */

#define MANY 500

/* Each with the version that the one before makes. */
static void many_writes_are_made_in_order(void) {
    static told t[MANY];
    client *c = client_open(fresh_name("order"), T_LONG);
    const char *target = target_new();
    const zkl_hold hold = hold_of(c);
    char text[16];

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof(text), "%d", i + 1);
        write_begin(&t[i], c, hold, target, text, i);
    }
    for (int i = 0; i < MANY; i++)
        told_check_done(&t[i], ZKL_OK, hold);
    (void)snprintf(text, sizeof(text), "%d", MANY);
    target_check(target, text, MANY);
    client_close(c);
    for (int i = 0; i < MANY; i++)
        told_check_once(&t[i]);
}

/* Cut at the nth request, or at its reply: the last is made, and is there then. Others are UNSURE
 * where the client library kept a later one for the next connection. */
static void a_lost_connection_changes_no_order(void) {
    enum {
        WRITES = 12
    };
    client *c = holder_new("broken", T_LONG);
    const char *target = target_new();
    zkl_lock *l = lock_open(c->session, fresh_name("broken-told"), NULL);
    told grant, t[WRITES];
    char text[16];

    told_begin(&grant, l, ZKL_FOREVER);
    told_check(&grant, ZKL_OK);
    for (int round = 0; round < 12; round++) {
        proxy_rule(c->proxy, round % 2 == 0 ? PROXY_CUT_REQUEST : PROXY_CUT_REPLY, PROXY_MULTI,
                   NULL, (size_t)(1 + round), false);
        for (int i = 0; i < WRITES; i++) {
            (void)snprintf(text, sizeof(text), "%d-%d", round, i);
            t[i] = (told){.lock = l};
            REQUIRE_INT(zkl_guarded_set_async(l, grant.hold, target, text, strlen(text), -1,
                                              told_on_done, &t[i]),
                        ZKL_OK);
        }
        told_check_done(&t[WRITES - 1], ZKL_OK, grant.hold);
        for (int i = 0; i < WRITES; i++) {
            WAIT_UNTIL(told_is(&t[i]), SOON_MS);
            CHECK(t[i].err == ZKL_OK || t[i].err == ZKL_UNSURE);
        }
        CHECK(proxy_fired(c->proxy));
        target_check(target, text, target_version(target));
        WAIT_UNTIL(client_is_connected(c), SOON_MS);
    }
    CHECK(zkl_hold_valid(l, grant.hold));
    lock_close(l);
    holder_check(c);
    client_close(c);
}

typedef struct later_write {
    zkl_hold hold;
    const char *path;
    told told;
} later_write;

static zkl_err write_later(void *arg) {
    later_write *later = arg;

    return zkl_guarded_set_async(later->told.lock, later->hold, later->path, "2", 1, -1,
                                 told_on_done, &later->told);
}

/* The session's mutex stops the thread that would tell of the lost connection. Meanwhile the client
 * library is connected again, and a write waits for the mutex before that thread does. */
static void what_goes_by_the_next_connection_is_not_undone(void) {
    client *c = holder_new("overtaken", T_LONG);
    zkl_lock *l = lock_open(c->session, fresh_name("overtaken-told"), NULL);
    actor *a = actor_new();
    told grant, first = {.lock = l};
    later_write later = {.path = target_new(), .told = {.lock = l}};

    told_begin(&grant, l, ZKL_FOREVER);
    told_check(&grant, ZKL_OK);
    later.hold = grant.hold;
    proxy_forget(c->proxy);
    proxy_rule(c->proxy, PROXY_HOLD_REQUEST, PROXY_MULTI, NULL, 1, false);
    write_begin_by(&first, l, grant.hold, later.path, "1", -1);
    WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
    zkli_session_lock(c->session);
    zhandle_t *handle = zkli_client_of(zkli_engine_port(c->session->engine))->handle;
    actor_begin(a, write_later, &later);
    WAIT_UNTIL(actor_sleeps(a), SOON_MS);
    proxy_drop(c->proxy);
    proxy_hold(c->proxy, PROXY_TO_SERVER, false);
    WAIT_UNTIL(proxy_connects(c->proxy) > 0 && zoo_state(handle) == ZOO_CONNECTED_STATE, SOON_MS);
    zkli_session_unlock(c->session);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    told_check_done(&later.told, ZKL_OK, grant.hold);
    WAIT_UNTIL(told_is(&first), SOON_MS);
    CHECK(first.err == ZKL_UNSURE || first.err == ZKL_OK);
    target_check(later.path, "2", target_version(later.path));
    actor_free(a);
    lock_close(l);
    client_close(c);
}

static void writes_after_the_hold_change_nothing(void) {
    told t[3];
    client *c = client_open(fresh_name("late"), T_LONG);
    const char *target = target_new();
    const zkl_hold hold = hold_of(c);
    char path[RAW_PATH_MAX];

    CHECK_INT(zkl_hold_path(c->lock, hold, path, sizeof(path)), ZKL_OK);
    uproot(path);
    for (size_t i = 0; i < COUNT(t); i++) {
        t[i] = (told){.lock = c->lock};
        const zkl_err err = zkl_guarded_set_async(c->lock, hold, target, "late", 4, -1,
                                                  told_on_done, &t[i]);
        if (err == ZKL_OK)
            told_check_done(&t[i], ZKL_LOST, hold);
        else
            CHECK_INT(err, ZKL_LOST);
    }
    target_check(target, "zero", 0);
    client_close(c);
}

static void several_operations_are_told_of_as_one(void) {
    told t = {.err = ZKL_OK};
    client *c = client_open(fresh_name("several"), T_LONG);
    const char *target = target_new();
    const zkl_hold hold = hold_of(c);
    char path[RAW_PATH_MAX], made[RAW_PATH_MAX] = "";
    zoo_op_t ops[2];
    zoo_op_result_t results[2] = {{0}};

    t.lock = c->lock;
    (void)snprintf(path, sizeof(path), "%s/made-", target);
    zoo_set_op_init(&ops[0], target, "one", 3, 0, NULL);
    zoo_create_op_init(&ops[1], path, "new", 3, &ZOO_OPEN_ACL_UNSAFE, ZOO_SEQUENCE, made,
                       sizeof(made));
    REQUIRE_INT(zkl_guarded_multi_async(c->lock, hold, 2, ops, results, told_on_done, &t), ZKL_OK);
    told_check_done(&t, ZKL_OK, hold);
    CHECK_INT(results[1].err, ZOK);
    CHECK(strncmp(made, path, strlen(path)) == 0 && strlen(made) == strlen(path) + 10);
    target_check(target, "one", 1);
    CHECK_INT(zkl_guarded_multi_hold(c->lock, hold, 2, ops, results), ZKL_BAD_VERSION);
    CHECK_INT(results[0].err, ZBADVERSION);
    CHECK_INT(zkl_guarded_multi_hold(c->lock, hold + 1, 2, ops, results), ZKL_NOT_HELD);
    target_check(target, "one", 1);
    client_close(c);
}

/* The server has frozen: it is told before the close returns, and what it answers is nobody's. */
static void a_close_tells_of_what_is_under_way(void) {
    told t;
    client *c = client_open_proxied(fresh_name("close"), T_LONG);
    const char *target = target_new();
    const zkl_hold hold = hold_of(c);

    proxy_hold(c->proxy, PROXY_TO_CLIENT, true);
    write_begin(&t, c, hold, target, "made", -1);
    WAIT_UNTIL(target_version(target) == 1, SOON_MS);
    CHECK(!told_is(&t));
    client_close_lock(c);
    told_check_once(&t);
    CHECK_INT(t.err, ZKL_UNSURE);
    proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    client_close(c);
    told_check_once(&t);
}

/* ---- Releases ---- */

static void release_begin(told *t, zkl_lock *l, zkl_hold hold, int64_t timeout_ms) {
    *t = (told){.lock = l};
    REQUIRE_INT(zkl_release_async(l, hold, timeout_ms, told_on_done, t), ZKL_OK);
}

static void a_release_is_told_when_the_node_is_gone(void) {
    told t;
    client *c = client_open_proxied(fresh_name("gone"), T_LONG);
    const zkl_hold hold = hold_of(c);

    proxy_hold(c->proxy, PROXY_TO_SERVER, true);
    release_begin(&t, c->lock, hold, ZKL_FOREVER);
    CHECK(!zkl_hold_valid(c->lock, hold));
    CHECK_INT(queue_length(c->name), 1);
    CHECK(!told_is(&t));
    proxy_hold(c->proxy, PROXY_TO_SERVER, false);
    told_check_done(&t, ZKL_OK, hold);
    CHECK_INT(queue_length(c->name), 0);
    CHECK_INT(zkl_release_async(c->lock, hold, 0, told_on_done, &t), ZKL_NOT_HELD);
    client_close(c);
    told_check_once(&t);
}

static void a_release_without_the_server_s_word_says_timeout(void) {
    told t;
    client *c = client_open_proxied(fresh_name("timeout"), T_LONG);
    const zkl_hold hold = hold_of(c);

    proxy_hold(c->proxy, PROXY_TO_SERVER, true);
    release_begin(&t, c->lock, hold, 50);
    told_check_done(&t, ZKL_TIMEOUT, hold);
    proxy_hold(c->proxy, PROXY_TO_SERVER, false);
    WAIT_UNTIL(queue_length(c->name) == 0, SOON_MS);
    client_close(c);
    told_check_once(&t);
}

static void a_lost_hold_is_said_at_once(void) {
    told t = {.err = ZKL_OK};
    client *c = client_open(fresh_name("lost"), T_LONG);
    const zkl_hold hold = hold_of(c);
    char path[RAW_PATH_MAX];

    CHECK_INT(zkl_hold_path(c->lock, hold, path, sizeof(path)), ZKL_OK);
    uproot(path);
    WAIT_UNTIL(!zkl_hold_valid(c->lock, hold), SOON_MS);
    CHECK_INT(zkl_release_async(c->lock, hold, 0, told_on_done, &t), ZKL_LOST);
    CHECK_INT(zkl_release_async(c->lock, hold, 0, told_on_done, &t), ZKL_NOT_HELD);
    client_close(c);
    CHECK_INT(atomic_load(&t.times), 0);
}

/* One of two levels, and a node that lingers: the servers are asked nothing. */
static void where_nothing_is_waited_for_it_is_told_at_once(void) {
    told t;
    client *c = client_open_proxied(fresh_name("levels"), T_LONG);
    zkl_lock *l = NULL;

    REQUIRE_INT(zkl_lock_open(&l, c->session, c->name,
                              &ZKL_LOCK_OPTIONS(.recursive = true, .linger_ms = 5000)),
                ZKL_OK);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    const zkl_hold hold = zkl_hold_of(l);
    WAIT_UNTIL(proxy_count(c->proxy, PROXY_GET, c->name) == 1, SOON_MS);
    proxy_hold(c->proxy, PROXY_TO_SERVER, true);
    for (int i = 0; i < 2; i++) {
        release_begin(&t, l, hold, ZKL_FOREVER);
        told_check_done(&t, ZKL_OK, hold);
        CHECK_INT(zkl_held(l), i == 0);
    }
    proxy_hold(c->proxy, PROXY_TO_SERVER, false);
    CHECK_INT(queue_length(c->name), 1);
    lock_close(l);
    client_close(c);
}

static void a_close_tells_of_a_release(void) {
    told t[2];
    client *c = client_open_proxied(fresh_name("closing"), T_LONG);
    zkl_lock *other = lock_open(c->session, fresh_name("other"), NULL);
    told grant;

    told_begin(&grant, other, ZKL_FOREVER);
    told_check(&grant, ZKL_OK);
    const zkl_hold hold = hold_of(c);
    proxy_hold(c->proxy, PROXY_TO_CLIENT, true);
    release_begin(&t[0], c->lock, hold, ZKL_FOREVER);
    release_begin(&t[1], other, grant.hold, ZKL_FOREVER);
    client_close_lock(c);
    told_check_once(&t[0]);
    CHECK_INT(t[0].err, ZKL_CLOSED);
    CHECK(!told_is(&t[1]));
    client_close(c); /* with its session */
    told_check_once(&t[1]);
    CHECK_INT(t[1].err, ZKL_CLOSED);
    lock_close(other);
}

static void a_forked_child_begins_nothing(void) {
    told t = {.err = ZKL_OK};
    client *c = client_open(fresh_name("fork"), T_LONG);
    const zkl_hold hold = hold_of(c);
    const char *target = target_new();
    int status = -1;

    const pid_t pid = fork();
    if (pid == 0)
        _exit(zkl_release_async(c->lock, hold, 0, told_on_done, &t) != ZKL_FORKED ||
              zkl_guarded_set_async(c->lock, hold, target, "x", 1, -1, told_on_done, &t) !=
                  ZKL_FORKED);
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    CHECK(zkl_hold_valid(c->lock, hold));
    target_check(target, "zero", 0);
    client_close(c);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"many writes are made in order", many_writes_are_made_in_order},
        {"a lost connection changes no order", a_lost_connection_changes_no_order},
        {"what goes by the next connection is not undone",
         what_goes_by_the_next_connection_is_not_undone},
        {"writes after the hold change nothing", writes_after_the_hold_change_nothing},
        {"several operations are told of as one", several_operations_are_told_of_as_one},
        {"a close tells of what is under way", a_close_tells_of_what_is_under_way},
        {"a release is told when the node is gone", a_release_is_told_when_the_node_is_gone},
        {"a release without the server's word says TIMEOUT",
         a_release_without_the_server_s_word_says_timeout},
        {"a lost hold is said at once", a_lost_hold_is_said_at_once},
        {"where nothing is waited for it is told at once",
         where_nothing_is_waited_for_it_is_told_at_once},
        {"a close tells of a release", a_close_tells_of_a_release},
        {"a forked child begins nothing (T46)", a_forked_child_begins_nothing},
    };
    fixture_start(NULL);
    test_after_each(fixture_recover);
    return TEST_MAIN(argc, argv, "async_writes", cases);
}
