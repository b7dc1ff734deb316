/*
 * Acquires whose callers go on, over a client library that does as it is told: each is told once,
 * of what is so at that moment.
 */
#include "unit/fake_zoo.h"

#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine_internal.h"
#include "lock/lock.h"
#include "session/session_internal.h"
#include "support/actor.h"
#include "support/told.h"

/* ---- The thread of the callbacks, kept busy ---- */

static struct {
    zkl_lock *lock;
    sem_t is_there, may_go;
} Busy;

static void stay_there(zkl_err err, zkl_hold hold, void *arg) {
    (void)err;
    (void)arg;
    (void)zkl_release_hold(Busy.lock, hold);
    (void)sem_post(&Busy.is_there);
    (void)sem_wait(&Busy.may_go);
}

static void keep_busy(zkl_session *s) {
    REQUIRE(sem_init(&Busy.is_there, 0, 0) == 0 && sem_init(&Busy.may_go, 0, 0) == 0);
    Busy.lock = fake_lock(s, "busy");
    REQUIRE_INT(zkl_acquire_async(Busy.lock, ZKL_FOREVER, stay_there, NULL), ZKL_OK);
    REQUIRE(sem_wait(&Busy.is_there) == 0);
}

static void end_busy(void) {
    REQUIRE(sem_post(&Busy.may_go) == 0);
}

/* ---- A grant ---- */

static void a_grant_is_told_once_with_its_hold(void) {
    told t;
    char path[ZKLI_PATH_MAX];
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    told_begin(&t, l, ZKL_FOREVER);
    told_check(&t, ZKL_OK);
    CHECK(!pthread_equal(t.thread, pthread_self()));
    CHECK(zkl_hold_token(l, t.hold) > 0);
    CHECK_RANGE(zkl_hold_remaining_ms(l, t.hold), 1, zkl_session_timeout_ms(s));
    CHECK_INT(zkl_hold_path(l, t.hold, path, sizeof(path)), ZKL_OK);
    CHECK(strncmp(path, "/locks/a/_c_", strlen("/locks/a/_c_")) == 0);
    CHECK(!zkl_held(l)); /* by this thread */
    CHECK_INT(zkl_hold_of(l), 0);
    CHECK_INT(zkl_release(l), ZKL_NOT_HELD);
    CHECK_INT(zkl_release_hold(l, t.hold), ZKL_OK);
    CHECK(!zkl_hold_valid(l, t.hold));
    CHECK_INT(zkl_hold_token(l, t.hold), 0);
    CHECK_INT(zkl_hold_remaining_ms(l, t.hold), 0);
    CHECK_INT(zkl_hold_path(l, t.hold, path, sizeof(path)), ZKL_NOT_HELD);
    fake_end(s, l);
    told_check_once(&t);
}

static void a_node_names_no_thread(void) {
    told t;
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    told_begin(&t, l, ZKL_FOREVER);
    told_check(&t, ZKL_OK);
    const struct zkli_hold *hold = l->current;
    REQUIRE(hold != NULL);
    CHECK_INT(hold->thread, 0);
    CHECK_INT(hold->member->thread.id, 0);
    fake_end(s, l);
}

/* And with the calls of threads, in the order in which they came. */
static void those_that_wait_on_one_handle_are_served_in_turn(void) {
    told t[3];
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    actor *thread = actor_new();
    told_begin(&t[0], l, ZKL_FOREVER);
    told_check(&t[0], ZKL_OK);
    told_begin(&t[1], l, ZKL_FOREVER);
    actor_acquire(thread, l, ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(thread), SOON_MS);
    told_begin(&t[2], l, ZKL_FOREVER);
    CHECK(!told_is(&t[1]));
    CHECK_INT(zkl_release_hold(l, t[0].hold), ZKL_OK);
    told_check(&t[1], ZKL_OK);
    CHECK(actor_is_blocked(thread));
    CHECK_INT(zkl_release_hold(l, t[1].hold), ZKL_OK);
    CHECK_INT(actor_result(thread, SOON_MS), ZKL_OK);
    CHECK(!told_is(&t[2]));
    CHECK_INT(actor_release(thread, l), ZKL_OK);
    told_check(&t[2], ZKL_OK);
    CHECK_INT(zkl_release_hold(l, t[2].hold), ZKL_OK);
    for (size_t i = 0; i < COUNT(t); i++)
        told_check_once(&t[i]);
    actor_free(thread);
    fake_end(s, l);
}

/* ---- None ---- */

/* Another client's node, before all of ours. */
static void plant_first(void) {
    fake_plant("/locks");
    fake_plant("/locks/a");
    fake_plant("/locks/a/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-0000000000");
    (void)pthread_mutex_lock(&Fake.mutex);
    Fake.server.number = 1;
    (void)pthread_mutex_unlock(&Fake.mutex);
}

static void a_try_and_a_timeout_are_told(void) {
    told holder, other;
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a"), *m = fake_lock(s, "a");
    told_begin(&holder, l, ZKL_FOREVER);
    told_check(&holder, ZKL_OK);
    told_begin(&other, m, 0);
    told_check(&other, ZKL_BUSY);
    told_begin(&other, l, 0); /* the same handle's */
    told_check(&other, ZKL_BUSY);
    told_begin(&other, m, 20);
    told_check(&other, ZKL_TIMEOUT);
    told_begin(&other, l, 20);
    told_check(&other, ZKL_TIMEOUT);
    told_check_once(&other);
    CHECK_INT(zkl_lock_close(m), ZKL_OK);
    fake_end(s, l);
}

static void who_is_canceled_is_told(void) {
    told t[2];
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    plant_first();
    for (size_t i = 0; i < COUNT(t); i++)
        told_begin(&t[i], l, ZKL_FOREVER);
    CHECK_INT(zkl_cancel(l), ZKL_OK);
    for (size_t i = 0; i < COUNT(t); i++)
        told_check(&t[i], ZKL_CANCELED);
    fake_end(s, l);
    for (size_t i = 0; i < COUNT(t); i++)
        told_check_once(&t[i]);
}

static void what_is_not_begun_is_not_told(void) {
    told t = {.err = ZKL_OK};
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    CHECK_INT(zkl_acquire_async(NULL, 0, told_on_done, &t), ZKL_INVALID);
    CHECK_INT(zkl_acquire_async(l, 0, NULL, &t), ZKL_INVALID);
    CHECK_INT(zkl_acquire_async(l, -2, told_on_done, &t), ZKL_INVALID);
    s->process++; /* as in a child */
    CHECK_INT(zkl_acquire_async(l, 0, told_on_done, &t), ZKL_FORKED);
    CHECK_INT(zkl_hold_token(l, 1), 0);
    s->process--;
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK_INT(zkl_acquire_async(l, 0, told_on_done, &t), ZKL_CLOSED);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    CHECK_INT(atomic_load(&t.times), 0);
}

/* ---- Told late ---- */

/* 0: there is none. */
static zkl_hold hold_now(zkl_lock *l) {
    zkli_session_lock(l->session);
    const zkl_hold hold = l->current == NULL ? 0 : l->current->id;
    zkli_session_unlock(l->session);
    return hold;
}

static size_t nodes(void) {
    return fake_children("/locks/a");
}

/* It is another hold that is told of. */
static void a_grant_that_is_lost_before_it_is_told_is_waited_for_anew(void) {
    told t;
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    keep_busy(s);
    told_begin(&t, l, ZKL_FOREVER);
    WAIT_UNTIL(hold_now(l) != 0, SOON_MS);
    const zkl_hold first = hold_now(l);
    zkli_lock_enter(l);
    zkli_member_node_gone(l->current->member); /* as a guarded write may find it */
    zkli_session_unlock(s);
    WAIT_UNTIL(hold_now(l) != 0 && hold_now(l) != first, SOON_MS);
    CHECK(!told_is(&t));
    end_busy();
    told_check(&t, ZKL_OK);
    CHECK(t.hold != first);
    CHECK_INT(zkl_release_hold(l, t.hold), ZKL_OK);
    CHECK_INT(zkl_lock_close(Busy.lock), ZKL_OK);
    fake_end(s, l);
    told_check_once(&t);
}

static void a_grant_that_is_not_told_in_time_is_given_up(void) {
    told t;
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    keep_busy(s);
    told_begin(&t, l, 100);
    WAIT_UNTIL(nodes() == 1, SOON_MS);
    WAIT_UNTIL(nodes() == 0, SOON_MS);
    CHECK(!told_is(&t));
    end_busy();
    told_check(&t, ZKL_TIMEOUT);
    CHECK_INT(zkl_lock_close(Busy.lock), ZKL_OK);
    fake_end(s, l);
    told_check_once(&t);
}

/* By its number, which its event has told. */
static void a_grant_that_is_given_up_before_it_is_told_is_canceled(void) {
    told t;
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    keep_busy(s);
    told_begin(&t, l, ZKL_FOREVER);
    WAIT_UNTIL(hold_now(l) != 0, SOON_MS);
    CHECK_INT(zkl_release_hold(l, hold_now(l)), ZKL_OK);
    end_busy();
    told_check(&t, ZKL_CANCELED);
    CHECK_INT(zkl_lock_close(Busy.lock), ZKL_OK);
    fake_end(s, l);
    told_check_once(&t);
}

/* ---- Closing ---- */

static void check_closed(told *t) {
    told_check_once(t);
    CHECK_INT(t->err, ZKL_CLOSED);
    CHECK(pthread_equal(t->thread, pthread_self()));
}

static void a_close_tells_before_it_returns(void) {
    for (int is_session = 0; is_session < 2; is_session++) {
        told t[2];
        zkl_session *s = fake_session(HOSTS, NULL);
        zkl_lock *l = fake_lock(s, "a");
        plant_first();
        keep_busy(s); /* so that nobody else tells */
        for (size_t i = 0; i < COUNT(t); i++)
            told_begin(&t[i], l, ZKL_FOREVER);
        if (is_session == 0) {
            CHECK_INT(zkl_lock_close(l), ZKL_OK);
            for (size_t i = 0; i < COUNT(t); i++)
                check_closed(&t[i]);
            end_busy();
            CHECK_INT(zkl_lock_close(Busy.lock), ZKL_OK);
            CHECK_INT(zkl_session_close(s), ZKL_OK);
        } else {
            end_busy();
            CHECK_INT(zkl_session_close(s), ZKL_OK);
            for (size_t i = 0; i < COUNT(t); i++) {
                told_check_once(&t[i]);
                CHECK_INT(t[i].err, ZKL_CLOSED);
            }
            CHECK_INT(zkl_lock_close(l), ZKL_OK);
            CHECK_INT(zkl_lock_close(Busy.lock), ZKL_OK);
        }
    }
}

static struct {
    pthread_t closer;
    atomic_uint begun, ended;
} Pair;

/* Of two, one is called by the close, and goes on until the other is called, which takes long. */
static void take_long(zkl_err err, zkl_hold hold, void *arg) {
    (void)err;
    (void)hold;
    (void)arg;
    (void)atomic_fetch_add(&Pair.begun, 1);
    if (pthread_equal(pthread_self(), Pair.closer))
        for (int i = 0; i < SOON_MS && atomic_load(&Pair.begun) < 2; i++)
            wait_pause();
    else
        wait_out(200);
    (void)atomic_fetch_add(&Pair.ended, 1);
}

static void a_close_waits_for_what_is_called_meanwhile(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    plant_first();
    Pair.closer = pthread_self();
    for (size_t i = 0; i < 2; i++)
        REQUIRE_INT(zkl_acquire_async(l, ZKL_FOREVER, take_long, NULL), ZKL_OK);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    CHECK_INT(atomic_load(&Pair.ended), 2);
    WAIT_UNTIL(atomic_load(&Pair.ended) == 2, SOON_MS);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
}

static told Inner;
static atomic_bool HasClosed;

/* What is called in it is told in it. */
static void close_inside(zkl_err err, zkl_hold hold, void *arg) {
    zkl_lock *l = arg;
    (void)err;
    (void)hold;
    if (zkl_acquire(l, 0) != ZKL_IN_CALLBACK || zkl_lock_close(l) != ZKL_OK)
        return;
    atomic_store(&HasClosed,
                 atomic_load(&Inner.times) == 1 && pthread_equal(Inner.thread, pthread_self()));
}

static void a_lock_may_be_closed_in_what_it_calls(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    atomic_store(&HasClosed, false);
    keep_busy(s);
    REQUIRE_INT(zkl_acquire_async(l, ZKL_FOREVER, close_inside, l), ZKL_OK);
    told_begin(&Inner, l, ZKL_FOREVER);
    end_busy();
    WAIT_UNTIL(atomic_load(&HasClosed), SOON_MS);
    CHECK_INT(Inner.err, ZKL_CLOSED);
    told_check_once(&Inner);
    CHECK_INT(zkl_lock_close(Busy.lock), ZKL_OK);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
}

/* ---- Writes ---- */

static void any_thread_writes_under_a_hold_by_its_number(void) {
    told t;
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    told_begin(&t, l, ZKL_FOREVER);
    told_check(&t, ZKL_OK);
    CHECK_INT(zkl_guarded_set(l, "/data", "x", 1, -1), ZKL_NOT_HELD);
    CHECK_INT(zkl_guarded_set_hold(l, t.hold, "/data", "new", 3, -1), ZKL_OK);
    CHECK_INT(fake_served(MULTI), 1);
    CHECK_INT(zkl_release_hold(l, t.hold), ZKL_OK);
    CHECK_INT(zkl_guarded_set_hold(l, t.hold, "/data", "old", 3, -1), ZKL_NOT_HELD);
    CHECK_INT(fake_served(MULTI), 1);
    CHECK_INT(zkl_guarded_set_hold(l, t.hold, NULL, "old", 3, -1), ZKL_INVALID);
    fake_end(s, l);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a grant is told once, with its hold", a_grant_is_told_once_with_its_hold},
        {"a node names no thread", a_node_names_no_thread},
        {"those that wait on one handle are served in turn",
         those_that_wait_on_one_handle_are_served_in_turn},
        {"a try and a timeout are told", a_try_and_a_timeout_are_told},
        {"who is canceled is told", who_is_canceled_is_told},
        {"what is not begun is not told", what_is_not_begun_is_not_told},
        {"a grant that is lost before it is told is waited for anew",
         a_grant_that_is_lost_before_it_is_told_is_waited_for_anew},
        {"a grant that is not told in time is given up",
         a_grant_that_is_not_told_in_time_is_given_up},
        {"a grant that is given up before it is told is canceled",
         a_grant_that_is_given_up_before_it_is_told_is_canceled},
        {"a close tells before it returns", a_close_tells_before_it_returns},
        {"a close waits for what is called meanwhile", a_close_waits_for_what_is_called_meanwhile},
        {"a lock may be closed in what it calls", a_lock_may_be_closed_in_what_it_calls},
        {"any thread writes under a hold by its number",
         any_thread_writes_under_a_hold_by_its_number},
    };
    return TEST_MAIN(argc, argv, "async", cases);
}
