/*
 * A node that is handed on from thread to thread of one handle, over a client library that does as
 * it is told: when it is, when it is not, and that nobody else is kept waiting for ever.
 */
#include "unit/fake_zoo.h"

#include "engine/engine_internal.h"
#include "lock/lock.h"
#include "session/session_internal.h"
#include "support/actor.h"

#define THREADS 4
#define TURNS 2

static struct {
    zkl_session *session;
    zkl_lock *lock;
    actor *threads[THREADS];
} Line;

/* The first holds, and the others wait in the order of their numbers. */
static void begin_as(zkl_lock_options options, int64_t timeout_ms) {
    options.local_handoffs = TURNS;
    Line.session = fake_session(HOSTS, NULL);
    REQUIRE_INT(zkl_lock_open(&Line.lock, Line.session, "a", &options), ZKL_OK);
    for (size_t i = 0; i < THREADS; i++)
        Line.threads[i] = actor_new();
    actor_acquire(Line.threads[0], Line.lock, ZKL_FOREVER);
    REQUIRE_INT(actor_result(Line.threads[0], SOON_MS), ZKL_OK);
    for (size_t i = 1; i < THREADS; i++) {
        actor_acquire(Line.threads[i], Line.lock, timeout_ms);
        WAIT_UNTIL(actor_is_blocked(Line.threads[i]), SOON_MS);
    }
}

static void begin(void) {
    begin_as(ZKL_LOCK_OPTIONS(.kind = ZKL_MUTEX), ZKL_FOREVER);
}

static void end(void) {
    CHECK_INT(zkl_lock_close(Line.lock), ZKL_OK);
    CHECK_INT(zkl_session_close(Line.session), ZKL_OK);
    for (size_t i = 0; i < THREADS; i++)
        actor_free(Line.threads[i]);
}

static int64_t token_of(size_t thread) {
    return actor_token(Line.threads[thread], Line.lock);
}

static zkl_err release(size_t thread) {
    return actor_release(Line.threads[thread], Line.lock);
}

static zkl_err granted(size_t thread) {
    return actor_result(Line.threads[thread], SOON_MS);
}

/* The hold of the thread goes to the next one by the same node, or by another. */
static void check_next(size_t thread, bool is_same_node) {
    const int64_t token = token_of(thread);
    const zkl_hold hold = actor_hold(Line.threads[thread], Line.lock);
    CHECK_INT(release(thread), ZKL_OK);
    CHECK_INT(granted(thread + 1), ZKL_OK);
    CHECK((token_of(thread + 1) == token) == is_same_node);
    CHECK(token_of(thread + 1) >= token);
    CHECK(!zkl_hold_valid(Line.lock, hold));
    CHECK(!actor_held(Line.threads[thread], Line.lock));
    CHECK(actor_held(Line.threads[thread + 1], Line.lock));
    CHECK_INT(release(thread), ZKL_NOT_HELD);
}

static void a_node_is_handed_on_as_often_as_was_asked_for(void) {
    begin();
    fake_keep(CREATE, true); /* and nothing is asked for */
    fake_keep(REMOVE, true);
    for (size_t i = 0; i < TURNS; i++)
        check_next(i, true);
    CHECK(!fake_has(REMOVE) && !fake_has(CREATE));
    fake_keep(REMOVE, false);
    fake_keep(CREATE, false);
    check_next(TURNS, false);
    CHECK_INT(release(TURNS + 1), ZKL_OK);
    end();
}

static void the_next_node_is_handed_on_as_often_again(void) {
    begin();
    for (size_t i = 0; i < TURNS; i++)
        check_next(i, true);
    actor_acquire(Line.threads[0], Line.lock, ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(Line.threads[0]), SOON_MS);
    check_next(TURNS, false);
    const int64_t token = token_of(THREADS - 1);
    CHECK_INT(release(THREADS - 1), ZKL_OK);
    CHECK_INT(granted(0), ZKL_OK);
    CHECK_INT(token_of(0), token);
    end();
}

/* Nobody waits in line, so the node goes. */
static void without_a_thread_that_waits_the_node_goes(void) {
    begin_as(ZKL_LOCK_OPTIONS(.kind = ZKL_MUTEX), 50);
    for (size_t i = 1; i < THREADS; i++)
        CHECK_INT(granted(i), ZKL_TIMEOUT);
    CHECK_INT(actor_release_wait(Line.threads[0], Line.lock, SOON_MS), ZKL_OK);
    CHECK_INT(fake_children("/locks/a"), 0);
    end();
}

static void a_release_that_waits_has_nothing_to_wait_for(void) {
    begin();
    fake_keep(REMOVE, true);
    CHECK_INT(actor_release_wait(Line.threads[0], Line.lock, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(granted(1), ZKL_OK);
    CHECK_INT(fake_children("/locks/a"), 1);
    fake_keep(REMOVE, false);
    end();
}

/* Its holder could not be told of the end of its session. */
static void without_a_connection_no_node_is_handed_on(void) {
    begin();
    const int64_t token = token_of(0);
    fake_state(ZOO_CONNECTING_STATE);
    CHECK_INT(release(0), ZKL_OK);
    CHECK_STAYS(!actor_is_done(Line.threads[1]), 50);
    fake_state(ZOO_CONNECTED_STATE);
    CHECK_INT(granted(1), ZKL_OK);
    CHECK(token_of(1) > token);
    end();
}

static int64_t lease_left_ns(void) {
    zkli_session_lock(Line.session);
    const struct zkli_engine *e = Line.session->engine;
    int64_t left_ns = e->ample_until_ns - zkli_engine_now_ns(e);
    zkli_session_unlock(Line.session);
    return left_ns;
}

/* As no grant begins on one. */
static void on_a_lease_that_is_too_short_no_node_is_handed_on(void) {
    begin();
    const int64_t token = token_of(0);
    fake_keep(BARRIER, true); /* heartbeats are not answered */
    WAIT_UNTIL(lease_left_ns() < 0, 2 * SOON_MS);
    CHECK(actor_held(Line.threads[0], Line.lock));
    CHECK_INT(release(0), ZKL_OK);
    fake_keep(BARRIER, false);
    CHECK_INT(granted(1), ZKL_OK);
    CHECK(token_of(1) > token);
    end();
}

static zkl_err write_guarded(void *lock) {
    return zkl_guarded_set(lock, "/data", "x", 1, -1);
}

/* It could come after the next holder's. */
static void behind_a_write_that_is_under_way_no_node_is_handed_on(void) {
    begin();
    const int64_t token = token_of(0);
    const zkl_hold hold = actor_hold(Line.threads[0], Line.lock);
    fake_keep(MULTI, true);
    actor_begin(Line.threads[0], write_guarded, Line.lock);
    WAIT_UNTIL(fake_has(MULTI), SOON_MS);
    CHECK_INT(zkl_release_hold(Line.lock, hold), ZKL_OK);
    CHECK_STAYS(!actor_is_done(Line.threads[1]), 50);
    fake_keep(MULTI, false);
    CHECK_INT(granted(0), ZKL_OK); /* the write */
    CHECK_INT(granted(1), ZKL_OK);
    CHECK(token_of(1) > token);
    end();
}

/* Nobody knows what becomes of it. While the node is there, a server may still carry it out. */
static void behind_a_write_that_was_lost_no_node_is_handed_on(void) {
    begin();
    const int64_t token = token_of(0);
    fake_answer(MULTI, ZCONNECTIONLOSS, FOREVER_AND_EVER);
    actor_begin(Line.threads[0], write_guarded, Line.lock);
    CHECK_INT(granted(0), ZKL_UNSURE);
    CHECK_INT(release(0), ZKL_OK);
    CHECK_INT(granted(1), ZKL_OK);
    CHECK(token_of(1) > token);
    end();
}

/* The first thread writes, and reads inside. By what it reads. */
static zkl_lock *begin_reading_inside(void) {
    zkl_lock *inner = NULL;
    begin_as(ZKL_LOCK_OPTIONS(.kind = ZKL_WRITE), ZKL_FOREVER);
    REQUIRE_INT(zkl_lock_open(&inner, Line.session, "a", &ZKL_LOCK_OPTIONS(.kind = ZKL_READ)),
                ZKL_OK);
    actor_acquire(Line.threads[0], inner, 0);
    CHECK_INT(granted(0), ZKL_OK);
    return inner;
}

static void behind_a_write_of_a_reader_inside_no_node_is_handed_on(void) {
    zkl_lock *inner = begin_reading_inside();
    const int64_t token = token_of(0);
    const zkl_hold hold = actor_hold(Line.threads[0], Line.lock);
    const zkl_hold inside = actor_hold(Line.threads[0], inner);
    fake_keep(MULTI, true);
    actor_begin(Line.threads[0], write_guarded, inner);
    WAIT_UNTIL(fake_has(MULTI), SOON_MS);
    CHECK_INT(zkl_release_hold(inner, inside), ZKL_OK);
    CHECK_INT(zkl_release_hold(Line.lock, hold), ZKL_OK);
    CHECK_STAYS(!actor_is_done(Line.threads[1]), 50);
    fake_keep(MULTI, false);
    CHECK_INT(granted(0), ZKL_OK); /* the write */
    CHECK_INT(granted(1), ZKL_OK);
    CHECK(token_of(1) > token);
    CHECK_INT(zkl_lock_close(inner), ZKL_OK);
    end();
}

static zkl_err downgrade(void *lock) {
    return zkl_downgrade(lock);
}

static void what_has_become_a_reader_s_is_not_handed_on_to_a_writer(void) {
    begin_as(ZKL_LOCK_OPTIONS(.kind = ZKL_WRITE), ZKL_FOREVER);
    fake_keep(GET, true); /* the fake does not make the reader's node */
    const int64_t token = token_of(0);
    actor_begin(Line.threads[0], downgrade, Line.lock);
    CHECK_INT(granted(0), ZKL_OK);
    CHECK_INT(release(0), ZKL_OK);
    fake_keep(GET, false);
    CHECK_INT(granted(1), ZKL_OK);
    CHECK(token_of(1) > token);
    end();
}

/* While another hold stands on the node: it becomes that one's. */
static void a_node_with_a_reader_inside_is_not_handed_on(void) {
    zkl_lock *inner = begin_reading_inside();
    const int64_t token = token_of(0);
    fake_keep(MULTI, true);
    CHECK_INT(release(0), ZKL_OK);
    CHECK_STAYS(!actor_is_done(Line.threads[1]), 50);
    CHECK(actor_held(Line.threads[0], inner));
    CHECK_INT(actor_token(Line.threads[0], inner), token);
    CHECK_INT(actor_release(Line.threads[0], inner), ZKL_OK);
    fake_keep(MULTI, false);
    CHECK_INT(granted(1), ZKL_OK);
    CHECK(token_of(1) > token);
    CHECK_INT(zkl_lock_close(inner), ZKL_OK);
    end();
}

/* The node says who holds it, to threads of this process. */
static void the_holder_is_the_thread_that_has_it(void) {
    begin();
    zkl_lock *other = fake_lock(Line.session, "a");
    check_next(0, true);
    actor_acquire(Line.threads[1], other, ZKL_FOREVER);
    CHECK_INT(granted(1), ZKL_DEADLOCK);
    actor_acquire(Line.threads[0], other, 30); /* it waits behind, as any other */
    CHECK_INT(granted(0), ZKL_TIMEOUT);
    CHECK_INT(zkl_lock_close(other), ZKL_OK);
    end();
}

static void a_loss_is_the_last_holder_s(void) {
    begin();
    check_next(0, true);
    fake_state(ZOO_EXPIRED_SESSION_STATE);
    CHECK_INT(granted(2), ZKL_OK); /* by a node of the next session */
    CHECK_INT(release(1), ZKL_LOST);
    CHECK_INT(release(0), ZKL_NOT_HELD);
    CHECK(actor_held(Line.threads[2], Line.lock));
    end();
}

static void recursive_holds_are_handed_on_with_their_last_level(void) {
    begin_as(ZKL_LOCK_OPTIONS(.recursive = true), ZKL_FOREVER);
    const int64_t token = token_of(0);
    actor_acquire(Line.threads[0], Line.lock, 0);
    CHECK_INT(granted(0), ZKL_OK);
    CHECK_INT(release(0), ZKL_OK);
    CHECK(actor_held(Line.threads[0], Line.lock));
    CHECK_STAYS(!actor_is_done(Line.threads[1]), 20);
    CHECK_INT(release(0), ZKL_OK);
    CHECK_INT(granted(1), ZKL_OK);
    CHECK_INT(token_of(1), token);
    CHECK_INT(release(1), ZKL_OK); /* it has one level */
    CHECK_INT(granted(2), ZKL_OK);
    end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a node is handed on as often as was asked for",
         a_node_is_handed_on_as_often_as_was_asked_for},
        {"the next node is handed on as often again", the_next_node_is_handed_on_as_often_again},
        {"without a thread that waits the node goes", without_a_thread_that_waits_the_node_goes},
        {"a release that waits has nothing to wait for",
         a_release_that_waits_has_nothing_to_wait_for},
        {"without a connection no node is handed on", without_a_connection_no_node_is_handed_on},
        {"on a lease that is too short no node is handed on",
         on_a_lease_that_is_too_short_no_node_is_handed_on},
        {"behind a write that is under way no node is handed on",
         behind_a_write_that_is_under_way_no_node_is_handed_on},
        {"behind a write that was lost no node is handed on",
         behind_a_write_that_was_lost_no_node_is_handed_on},
        {"behind a write of a reader inside no node is handed on",
         behind_a_write_of_a_reader_inside_no_node_is_handed_on},
        {"what has become a reader's is not handed on to a writer",
         what_has_become_a_reader_s_is_not_handed_on_to_a_writer},
        {"a node with a reader inside is not handed on",
         a_node_with_a_reader_inside_is_not_handed_on},
        {"the holder is the thread that has it", the_holder_is_the_thread_that_has_it},
        {"a loss is the last holder's", a_loss_is_the_last_holder_s},
        {"recursive holds are handed on with their last level",
         recursive_holds_are_handed_on_with_their_last_level},
    };
    return TEST_MAIN(argc, argv, "hand_on", cases);
}
