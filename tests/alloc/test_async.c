/*
 * Calls whose callers go on, with each allocation of the library failing in turn: a caller is told
 * once, or the call itself says that there is no memory.
 */
#include "alloc/fail_each.h"

#include <zklock_zookeeper.h>
#include <zookeeper/zookeeper.h>

#include "support/target.h"
#include "support/told.h"

/* Whichever said it: the call, or what was told. */
static zkl_err outcome(told *t, zkl_lock *l, int64_t timeout_ms) {
    *t = (told){.lock = l};
    const zkl_err err = zkl_acquire_async(l, timeout_ms, told_on_done, t);

    if (err != ZKL_OK)
        return err;
    WAIT_UNTIL(told_is(t), SOON_MS);
    return t->err;
}

/* On a new session, whose thread of callbacks is started with the call. */
static void acquire_free(void) {
    told t;
    client *c = client_open("told", T_NORMAL);
    zkl_lock *l = lock_open(c->session, "told", NULL);

    arm();
    const zkl_err err = outcome(&t, l, SOON_MS);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    if (err == ZKL_OK)
        CHECK_INT(zkl_release_hold(l, t.hold), ZKL_OK);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    CHECK_INT(outcome(&t, l, SOON_MS), ZKL_OK);
    CHECK_INT(client_nodes(c), 1);
    lock_close(l);
    told_check_once(&t);
    client_close(c);
}

static void a_free_lock_is_told_of_or_there_is_no_memory(void) {
    fail_each(acquire_free);
}

static void acquire_in_vain(void) {
    told t;
    client *c = client_open("told", T_NORMAL);
    zkl_lock *l = lock_open(c->session, "told", NULL);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    const zkl_err err = outcome(&t, l, 50);
    failing_disarm();
    check_nomem_or(err, ZKL_TIMEOUT);
    CHECK(client_held(c));
    lock_close(l);
    WAIT_UNTIL(client_nodes(c) == 1, SOON_MS);
    client_close(c);
}

static void a_timeout_is_told_or_there_is_no_memory(void) {
    fail_each(acquire_in_vain);
}

static void close_while_waiting(void) {
    told t = {.err = ZKL_OK};
    client *c = client_open("told", T_NORMAL);
    zkl_lock *l = lock_open(c->session, "told", NULL);

    t.lock = l;
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    const zkl_err err = zkl_acquire_async(l, ZKL_FOREVER, told_on_done, &t);
    lock_close(l);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK_INT(atomic_load(&t.times), err == ZKL_OK);
    CHECK(err != ZKL_OK || t.err == ZKL_CLOSED || t.err == ZKL_NOMEM);
    WAIT_UNTIL(client_nodes(c) == 1, SOON_MS);
    client_close(c);
}

static void a_close_tells_with_or_without_memory(void) {
    fail_each(close_while_waiting);
}

/* ---- Under a hold ---- */

static zkl_err told_or(told *t, zkl_err begun) {
    if (begun == ZKL_OK) {
        WAIT_UNTIL(told_is(t), SOON_MS);
        told_check_once(t);
    }
    return begun == ZKL_OK ? t->err : begun;
}

static void release_held(void) {
    told t = {.err = ZKL_OK};
    client *c = client_open("told", T_NORMAL);
    zkl_lock *l = lock_open(c->session, "told", NULL);

    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    const zkl_hold hold = zkl_hold_of(l);
    t.lock = l;
    arm();
    const zkl_err err = told_or(&t, zkl_release_async(l, hold, SOON_MS, told_on_done, &t));
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK(zkl_held(l) == (err != ZKL_OK && !told_is(&t)));
    lock_close(l);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    client_close(c);
}

static void a_release_is_told_of_or_has_not_begun(void) {
    fail_each(release_held);
}

static void write_held(void) {
    told t = {.err = ZKL_OK};
    client *c = client_open("told", T_NORMAL);
    zkl_lock *l = lock_open(c->session, "told", NULL);
    const char *target = target_new();
    zoo_op_t op;
    zoo_op_result_t result;

    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    const zkl_hold hold = zkl_hold_of(l);
    t.lock = l;
    arm();
    const zkl_err err = told_or(
        &t, zkl_guarded_set_async(l, hold, target, "one", 3, 0, told_on_done, &t));
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK_INT(target_version(target), err == ZKL_OK);
    zoo_set_op_init(&op, target, "two", 3, err == ZKL_OK, NULL);
    t = (told){.lock = l};
    arm();
    const zkl_err second = told_or(
        &t, zkl_guarded_multi_async(l, hold, 1, &op, &result, told_on_done, &t));
    failing_disarm();
    check_nomem_or(second, ZKL_OK);
    CHECK_INT(target_version(target), (err == ZKL_OK) + (second == ZKL_OK));
    CHECK_INT(zkl_release(l), ZKL_OK);
    lock_close(l);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    client_close(c);
}

static void a_write_is_told_of_or_was_not_made(void) {
    fail_each(write_held);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a free lock is told of, or there is no memory",
         a_free_lock_is_told_of_or_there_is_no_memory},
        {"a timeout is told, or there is no memory", a_timeout_is_told_or_there_is_no_memory},
        {"a close tells, with or without memory", a_close_tells_with_or_without_memory},
        {"a release is told of, or has not begun", a_release_is_told_of_or_has_not_begun},
        {"a write is told of, or was not made", a_write_is_told_of_or_was_not_made},
    };
    return fail_each_main(argc, argv, "async", cases, COUNT(cases));
}
