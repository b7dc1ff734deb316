/* What threads that wait behind others of their process are told of their places. */
#include "unit/fake_zoo.h"

#include "support/actor.h"
#include "support/events.h"

#define OTHER "/locks/a/_c_00000000-0000-0000-0000-000000000000-lock-0000000000"

static size_t position_of(events *e, size_t nth) {
    zkl_event event = {.position = SIZE_MAX};
    (void)events_get(e, ZKL_EVENT_QUEUED, nth, &event, NULL);
    return event.position;
}

static zkl_lock *lock_behind_another(zkl_session *s, events *e) {
    zkl_lock *l = NULL;
    fake_plant("/locks");
    fake_plant("/locks/a");
    fake_plant(OTHER);
    REQUIRE_INT(zkl_lock_open(&l, s, "a", &ZKL_LOCK_OPTIONS(.on_event = events_on, .arg = e)),
                ZKL_OK);
    return l;
}

static void end(zkl_session *s, zkl_lock *l, actor **actors, size_t count, events *e) {
    fake_end(s, l);
    for (size_t i = 0; i < count; i++)
        actor_free(actors[i]);
    events_free(e);
}

static void who_waits_behind_a_thread_that_holds_is_told(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    events *e = events_new();
    actor *waiters[2] = {actor_new(), actor_new()};
    zkl_lock *l = NULL;
    REQUIRE_INT(
        zkl_lock_open(&l, s, "a", &ZKL_LOCK_OPTIONS(.on_event = events_on, .arg = e, .owner = 1)),
        ZKL_OK);
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    for (size_t i = 0; i < COUNT(waiters); i++) {
        actor_acquire(waiters[i], l, ZKL_FOREVER);
        WAIT_UNTIL(events_count(e, ZKL_EVENT_QUEUED) == i + 1, SOON_MS);
        CHECK_INT(position_of(e, i), i + 1);
    }
    CHECK_INT(zkl_acquire(l, 0), ZKL_DEADLOCK); /* no wait, no word of one */
    CHECK_INT(zkl_release(l), ZKL_OK);
    for (size_t i = 0; i < COUNT(waiters); i++) {
        CHECK_INT(actor_result(waiters[i], SOON_MS), ZKL_OK);
        CHECK_INT(actor_release(waiters[i], l), ZKL_OK);
    }
    CHECK_INT(events_count(e, ZKL_EVENT_QUEUED), 2);
    end(s, l, waiters, COUNT(waiters), e);
}

/* The first of them is told by the servers, and once. */
static void who_waits_behind_a_thread_that_waits_is_told_of_all_before(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    events *e = events_new();
    actor *waiters[2] = {actor_new(), actor_new()};
    zkl_lock *l = lock_behind_another(s, e);
    for (size_t i = 0; i < COUNT(waiters); i++) {
        actor_acquire(waiters[i], l, ZKL_FOREVER);
        WAIT_UNTIL(events_count(e, ZKL_EVENT_QUEUED) == i + 1, SOON_MS);
        CHECK_INT(position_of(e, i), i + 1);
    }
    end(s, l, waiters, COUNT(waiters), e);
}

/* Who came while that was not known. */
static void all_in_line_are_told_when_the_servers_have_spoken(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    events *e = events_new();
    actor *waiters[2] = {actor_new(), actor_new()};
    zkl_lock *l = lock_behind_another(s, e);
    fake_keep(LIST, true);
    actor_acquire(waiters[0], l, ZKL_FOREVER);
    WAIT_UNTIL(fake_has(LIST), SOON_MS);
    actor_acquire(waiters[1], l, ZKL_FOREVER);
    WAIT_UNTIL(events_count(e, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    CHECK_INT(position_of(e, 0), 1); /* at least */
    fake_keep(LIST, false);
    WAIT_UNTIL(events_count(e, ZKL_EVENT_QUEUED) == 3, SOON_MS);
    CHECK_INT(position_of(e, 1), 1);
    CHECK_INT(position_of(e, 2), 2);
    end(s, l, waiters, COUNT(waiters), e);
}

static void who_is_granted_at_once_is_told_of_no_wait(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    events *e = events_new();
    zkl_lock *l = NULL;
    REQUIRE_INT(
        zkl_lock_open(&l, s, "a",
                      &ZKL_LOCK_OPTIONS(.on_event = events_on, .arg = e, .linger_ms = 5000)),
        ZKL_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
        CHECK_INT(zkl_release(l), ZKL_OK);
    }
    WAIT_UNTIL(events_count(e, ZKL_EVENT_HELD) == 3, SOON_MS);
    CHECK_INT(events_count(e, ZKL_EVENT_QUEUED), 0);
    end(s, l, NULL, 0, e);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"who waits behind a thread that holds is told",
         who_waits_behind_a_thread_that_holds_is_told},
        {"who waits behind a thread that waits is told of all before",
         who_waits_behind_a_thread_that_waits_is_told_of_all_before},
        {"all in line are told when the servers have spoken",
         all_in_line_are_told_when_the_servers_have_spoken},
        {"who is granted at once is told of no wait", who_is_granted_at_once_is_told_of_no_wait},
    };
    return TEST_MAIN(argc, argv, "local_line", cases);
}
