/*
 * Holds of several locks at once, one of which is over before the thread that waits for them has
 * run: it never had any, and all are tried again, or none.
 */
#include "unit/callers.h"

/* ---- Holds that are over before their thread has run ---- */

/* With the session's mutex: the thread cannot run until it is given back. Their nodes are first,
 * and what the reads of them say is told here; those that are under way find nobody. */
static void begin_ready(int64_t timeout_ms) {
    begin_callers(NULL);
    fake_keep(GET, true);
    caller_begin(&First, timeout_ms);
    WAIT_UNTIL(fake_nodes() == SEVERAL && fake_has(GET), SOON_MS);
    WAIT_UNTIL(actor_is_blocked(First.thread), SOON_MS);
    zkli_session_lock(Session);
    for (size_t i = 0; i < SEVERAL; i++) {
        struct zkli_member *m = First.locks[i]->member;
        while (m->core.state != ZKLI_ADMITTED || !zkli_lease_is_ample(Session->engine)) {
            zkli_session_unlock(Session);
            wait_pause();
            zkli_session_lock(Session);
        }
    }
    for (size_t i = 0; i < SEVERAL; i++) {
        struct zkli_contender_event event = {
            .type = ZKLI_EV_OWN_READ, .czxid = 1, .owner = Session->engine->session_id};
        CHECK(First.locks[i]->current == NULL);
        zkli_member_step(First.locks[i]->member, &event);
    }
}

static void begin_granted(int64_t timeout_ms) {
    begin_ready(timeout_ms);
    zkli_session_settle(Session);
    for (size_t i = 0; i < SEVERAL; i++)
        REQUIRE(First.locks[i]->current != NULL && First.locks[i]->current->acquire != NULL);
}

static void end_granted(void) {
    zkli_session_settle(Session);
    zkli_session_unlock(Session);
    fake_keep(GET, false);
}

static void one_that_is_lost_has_all_tried_again(void) {
    for (size_t i = 0; i < SEVERAL; i++) {
        begin_granted(ZKL_FOREVER);
        zkli_member_node_gone(First.locks[i]->current->member);
        zkli_session_settle(Session);
        for (size_t j = 0; j < SEVERAL; j++) {
            CHECK(First.locks[j]->current == NULL);
            CHECK(First.locks[j]->member != NULL); /* another contender */
        }
        end_granted();
        CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_OK);
        CHECK_INT(caller_held(&First), SEVERAL);
        CHECK_INT(fake_served(MULTI), 2);
        CHECK(actor_token(First.thread, First.locks[0]) > 1);
        for (size_t j = 1; j < SEVERAL; j++)
            CHECK_INT(actor_token(First.thread, First.locks[j]),
                      actor_token(First.thread, First.locks[0]));
        CHECK_INT(caller_release(&First), ZKL_OK);
        end_callers();
    }
}

/* The first of them have heard of the grant, and the last have not. */
static void one_that_is_lost_in_the_same_step_has_all_tried_again(void) {
    for (size_t i = 0; i < SEVERAL; i++) {
        begin_ready(ZKL_FOREVER);
        zkli_groups_go_on(Session->engine);
        zkli_member_node_gone(First.locks[i]->member);
        end_granted();
        CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_OK);
        CHECK_INT(caller_held(&First), SEVERAL);
        CHECK_INT(fake_served(MULTI), 2);
        for (size_t j = 1; j < SEVERAL; j++)
            CHECK_INT(actor_token(First.thread, First.locks[j]),
                      actor_token(First.thread, First.locks[0]));
        CHECK_INT(caller_release(&First), ZKL_OK);
        end_callers();
    }
}

static void all_that_are_lost_are_tried_again_in_the_next_session(void) {
    begin_granted(ZKL_FOREVER);
    const size_t inits = fake_inits();
    (void)pthread_mutex_lock(&Fake.mutex); /* as fake_state does, but that would wait for us */
    tiny_end_session(&Fake.server, Fake.handle->id.client_id);
    Fake.handle->call_count = 0;
    (void)pthread_mutex_unlock(&Fake.mutex);
    zkli_engine_on_state(Session->engine, zkli_engine_port(Session->engine), ZKLI_PORT_EXPIRED);
    zkli_session_settle(Session);
    end_granted();
    CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_OK);
    CHECK(fake_inits() > inits);
    CHECK_INT(caller_held(&First), SEVERAL);
    end_released();
}

/* They stand before those that came later. */
static void they_keep_their_places_in_line(void) {
    begin_granted(ZKL_FOREVER);
    struct zkli_acquire later = {.lock = First.locks[1]};
    zkli_list_append(&First.locks[1]->acquires, &later.link); /* a thread that is not to wake */
    zkli_member_node_gone(First.locks[2]->current->member);
    zkli_session_settle(Session);
    CHECK(First.locks[1]->acquires.next != &later.link);
    zkli_list_remove(&later.link);
    end_granted();
    CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_OK);
    CHECK_INT(caller_release(&First), ZKL_OK);
    end_callers();
}

static void when_their_time_is_over_they_are_not_tried_again(void) {
    begin_granted(SOON_MS);
    First.locks[0]->current->acquire->all->parts[0].until_ns = zkli_engine_now_ns(Session->engine);
    zkli_member_node_gone(First.locks[1]->current->member);
    end_granted();
    CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_TIMEOUT);
    CHECK_INT(caller_held(&First), 0);
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK(!has_started(First.locks[i]));
    CHECK_INT(caller_acquire(&Second, SOON_MS), ZKL_OK);
    CHECK_INT(caller_release(&Second), ZKL_OK);
    end_callers();
}

/* By another thread, which knows the hold from an event. */
static void one_that_is_released_ends_all(void) {
    for (size_t i = 0; i < SEVERAL; i++) {
        begin_granted(ZKL_FOREVER);
        zkl_lock *l = First.locks[i];
        CHECK_INT(zkli_lock_release(l, zkli_lock_find_hold(l, l->current->id), NULL), ZKL_OK);
        zkli_session_settle(Session);
        for (size_t j = 0; j < SEVERAL; j++)
            CHECK(First.locks[j]->current == NULL && First.locks[j]->member == NULL);
        end_granted();
        CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_CANCELED);
        CHECK_INT(caller_held(&First), 0);
        WAIT_UNTIL(fake_nodes() == 0, SOON_MS);
        CHECK_INT(caller_release(&First), ZKL_NOT_HELD);
        CHECK_INT(caller_acquire(&Second, 0), ZKL_OK);
        CHECK_INT(caller_release(&Second), ZKL_OK);
        end_callers();
    }
}

static void whoever_releases_it_may_wait_for_its_node(void) {
    struct zkli_release release;
    begin_granted(ZKL_FOREVER);
    zkl_lock *l = First.locks[0];
    zkli_release_init(&release, l, ZKL_FOREVER);
    CHECK_INT(zkli_lock_release(l, l->current, &release), ZKL_OK);
    CHECK(zkli_operation_is_running(&release.operation));
    end_granted();
    CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_CANCELED);
    zkli_session_lock(Session);
    CHECK_INT(zkli_operation_wait(&release.operation), ZKL_OK);
    zkli_session_unlock(Session);
    zkli_operation_fini(&release.operation);
    WAIT_UNTIL(fake_nodes() == 0, SOON_MS);
    end_callers();
}

/* Afterwards each is a hold like any other. */
static void once_the_thread_has_run_each_hold_is_its_own(void) {
    begin_callers(NULL);
    CHECK_INT(caller_acquire(&First, SOON_MS), ZKL_OK);
    const zkl_hold hold = actor_hold(First.thread, First.locks[0]);
    CHECK_INT(zkl_release_hold(First.locks[0], hold), ZKL_OK);
    CHECK_INT(caller_held(&First), SEVERAL - 1);
    CHECK(actor_held(First.thread, First.locks[1]) && actor_held(First.thread, First.locks[2]));
    WAIT_UNTIL(fake_nodes() == SEVERAL - 1, SOON_MS);
    fake_state(ZOO_EXPIRED_SESSION_STATE);
    WAIT_UNTIL(caller_held(&First) == 0, SOON_MS);
    CHECK_INT(caller_release(&First), ZKL_LOST); /* before NOT_HELD */
    end_callers();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"one that is lost has all tried again", one_that_is_lost_has_all_tried_again},
        {"one that is lost in the same step has all tried again",
         one_that_is_lost_in_the_same_step_has_all_tried_again},
        {"all that are lost are tried again in the next session",
         all_that_are_lost_are_tried_again_in_the_next_session},
        {"they keep their places in line", they_keep_their_places_in_line},
        {"when their time is over they are not tried again",
         when_their_time_is_over_they_are_not_tried_again},
        {"one that is released ends all", one_that_is_released_ends_all},
        {"whoever releases it may wait for its node", whoever_releases_it_may_wait_for_its_node},
        {"once the thread has run each hold is its own",
         once_the_thread_has_run_each_hold_is_its_own},
    };
    return TEST_MAIN(argc, argv, "several_late", cases);
}
