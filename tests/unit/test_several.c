/*
 * The calls for several locks at once, over a client library that does as it is told: all of them
 * or none, whatever happens to one of the handles. Holds that end early: test_several_late.c.
 */
#include "unit/callers.h"

/* ---- The calls ---- */

static void all_are_acquired_and_released(void) {
    begin_callers(NULL);
    CHECK_INT(caller_acquire(&First, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(caller_held(&First), SEVERAL);
    CHECK_INT(fake_served(MULTI), 1);
    CHECK_INT(fake_served(CREATE), 0);
    CHECK_INT(fake_nodes(), SEVERAL);
    const int64_t token = actor_token(First.thread, First.locks[0]);
    CHECK(token > 0);
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK_INT(actor_token(First.thread, First.locks[i]), token);
    CHECK_INT(caller_release(&First), ZKL_OK);
    CHECK_INT(caller_held(&First), 0);
    WAIT_UNTIL(fake_nodes() == 0, SOON_MS);
    CHECK_INT(caller_release(&First), ZKL_NOT_HELD);
    CHECK_INT(caller_acquire(&First, 0), ZKL_OK); /* a try */
    CHECK_INT(caller_held(&First), SEVERAL);
    end_released();
}

static void their_directories_are_made_if_they_are_not_there(void) {
    Session = fake_session(HOSTS, NULL);
    zkl_lock *both[] = {fake_lock(Session, "x"), fake_lock(Session, "y/z")};
    CHECK_INT(zkl_acquire_all(both, 2, SOON_MS), ZKL_OK);
    CHECK(zkl_held(both[0]) && zkl_held(both[1]));
    CHECK_INT(zkl_token(both[0]), zkl_token(both[1]));
    CHECK_INT(zkl_release_all(both, 2), ZKL_OK);
    CHECK_INT(zkl_lock_close(both[0]), ZKL_OK);
    fake_end(Session, both[1]);
}

static void what_makes_no_sense_is_refused(void) {
    begin_callers(NULL);
    zkl_session *other = NULL;
    zkl_lock *l = First.locks[0], *many[ZKL_ALL_MAX + 1];
    zkl_lock *same = fake_lock(Session, "a");
    REQUIRE_INT(zkl_session_open(&other, "i:2", NULL), ZKL_OK);
    zkl_lock *foreign = fake_lock(other, "z");
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = l;
    zkl_lock *const with_null[] = {l, NULL}, *const twice[] = {l, First.locks[1], l};
    zkl_lock *const by_one_name[] = {l, same}, *const of_two[] = {l, foreign};
    const struct {
        zkl_lock *const *locks;
        size_t count;
        int64_t timeout_ms;
        zkl_err expected;
    } cases[] = {
        {NULL, 1, 0, ZKL_INVALID},
        {&l, 0, 0, ZKL_INVALID},
        {&l, 1, -7, ZKL_INVALID},
        {many, ZKL_ALL_MAX + 1, 0, ZKL_LIMIT},
        {many, ZKL_ALL_MAX, 0, ZKL_INVALID}, /* all are one */
        {with_null, 2, 0, ZKL_INVALID},
        {twice, 3, ZKL_FOREVER, ZKL_INVALID},
        {by_one_name, 2, ZKL_FOREVER, ZKL_INVALID},
        {of_two, 2, ZKL_FOREVER, ZKL_INVALID},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        CHECK_INT(zkl_acquire_all(cases[i].locks, cases[i].count, cases[i].timeout_ms),
                  cases[i].expected);
        if (cases[i].timeout_ms != -7)
            CHECK_INT(zkl_release_all(cases[i].locks, cases[i].count), cases[i].expected);
        CHECK_INT(l->users, 1);
    }
    CHECK_INT(foreign->users + same->users, 2);
    CHECK_INT(fake_served(MULTI), 0);
    CHECK_INT(zkl_lock_close(same), ZKL_OK);
    fake_end(other, foreign);

    end_callers();
}

static void on_a_closed_session_both_calls_say_closed(void) {
    begin_callers(NULL);
    CHECK_INT(zkl_session_close(Session), ZKL_OK);
    CHECK_INT(caller_acquire(&First, ZKL_FOREVER), ZKL_CLOSED);
    CHECK_INT(caller_acquire(&First, 0), ZKL_CLOSED);
    CHECK_INT(caller_release(&First), ZKL_CLOSED);
    close_callers();
}

/* It could wait for a caller that waits for it. */
static void a_thread_that_holds_any_lock_of_the_session_is_refused(void) {
    begin_callers(NULL);
    zkl_lock *z = fake_lock(Session, "z");
    CHECK_INT(zkl_acquire(z, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(zkl_acquire_all(First.locks, SEVERAL, SOON_MS), ZKL_DEADLOCK);
    CHECK_INT(zkl_acquire_all(First.locks, SEVERAL, 0), ZKL_DEADLOCK);
    CHECK_INT(caller_acquire(&First, SOON_MS), ZKL_OK); /* another thread */
    CHECK_INT(caller_acquire(&First, SOON_MS), ZKL_DEADLOCK);
    CHECK_INT(caller_held(&First), SEVERAL);
    CHECK_INT(zkl_release(z), ZKL_OK);
    CHECK_INT(zkl_lock_close(z), ZKL_OK);
    end_released();
}

static void a_hold_that_was_lost_is_told_or_forgotten(void) {
    for (int is_recursive = 0; is_recursive < 2; is_recursive++) {
        begin_callers(&ZKL_LOCK_OPTIONS(.recursive = is_recursive == 1));
        CHECK_INT(caller_acquire(&First, SOON_MS), ZKL_OK);
        fake_state(ZOO_EXPIRED_SESSION_STATE);
        WAIT_UNTIL(caller_held(&First) == 0, SOON_MS);
        CHECK_INT(caller_acquire(&First, SOON_MS), is_recursive == 1 ? ZKL_LOST : ZKL_OK);
        CHECK_INT(caller_release(&First), is_recursive == 1 ? ZKL_LOST : ZKL_OK);
        if (is_recursive == 1)
            CHECK_INT(caller_acquire(&First, SOON_MS), ZKL_OK);
        CHECK_INT(caller_release(&First), is_recursive == 1 ? ZKL_OK : ZKL_NOT_HELD);
        end_callers();
    }
}

/* One was released before. */
static void a_release_gives_up_what_is_held(void) {
    begin_callers(NULL);
    CHECK_INT(caller_acquire(&First, SOON_MS), ZKL_OK);
    CHECK_INT(actor_release(First.thread, First.locks[1]), ZKL_OK);
    CHECK_INT(caller_release(&First), ZKL_NOT_HELD);
    CHECK_INT(caller_held(&First), 0);
    WAIT_UNTIL(fake_nodes() == 0, SOON_MS);
    end_callers();
}

/* ---- Tries and waits ---- */

static void a_try_is_busy_if_one_of_the_handles_is(void) {
    for (size_t i = 0; i < SEVERAL; i++) {
        begin_callers(NULL);
        actor_acquire(Second.thread, First.locks[i], SOON_MS);
        CHECK_INT(actor_result(Second.thread, SOON_MS), ZKL_OK);
        const size_t lists = fake_served(LIST);
        CHECK_INT(caller_acquire(&First, 0), ZKL_BUSY);
        CHECK_INT(fake_served(LIST), lists); /* without a question to the servers */
        CHECK_INT(caller_held(&First), 0);
        CHECK_INT(actor_release(Second.thread, First.locks[i]), ZKL_OK);
        CHECK_INT(caller_acquire(&First, 0), ZKL_OK);
        end_released();
    }
}

static void without_a_connection_a_try_is_unreachable(void) {
    begin_callers(NULL);
    fake_state(ZOO_CONNECTING_STATE);
    CHECK_INT(caller_acquire(&First, 0), ZKL_UNREACHABLE);
    CHECK_INT(caller_acquire(&First, 1), ZKL_TIMEOUT);
    fake_state(ZOO_CONNECTED_STATE);
    CHECK_INT(caller_acquire(&First, SOON_MS), ZKL_OK);
    end_released();
}

/* The others are free again. */
static void one_that_is_taken_keeps_all_until_the_time_is_over(void) {
    begin_callers(NULL);
    plant_in_b();
    CHECK_INT(caller_acquire(&First, 0), ZKL_BUSY);
    CHECK_INT(fake_served(MULTI), 0);
    CHECK_INT(caller_acquire(&First, 50), ZKL_TIMEOUT);
    CHECK_INT(caller_held(&First), 0);
    WAIT_UNTIL(fake_nodes() == 1, SOON_MS);
    CHECK_INT(zkl_acquire(First.locks[0], 0), ZKL_OK);
    CHECK_INT(zkl_release(First.locks[0]), ZKL_OK);
    end_callers();
}

/* In the process no node is made before each handle is free. */
static void who_waits_behind_a_thread_of_one_handle_has_no_node(void) {
    begin_callers(NULL);
    actor_acquire(Second.thread, First.locks[1], SOON_MS);
    CHECK_INT(actor_result(Second.thread, SOON_MS), ZKL_OK);
    caller_begin(&First, ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(First.thread), SOON_MS);
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK(!has_started(First.locks[i]));
    CHECK_INT(fake_nodes(), 1);
    CHECK_INT(zkl_acquire(First.locks[2], 0), ZKL_BUSY); /* it is behind them */
    CHECK_INT(actor_release(Second.thread, First.locks[1]), ZKL_OK);
    CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_OK);
    end_released();
}

/* Both threads want the same handles, named in opposite orders. */
static void threads_that_share_handles_take_turns(void) {
    begin_callers(NULL);
    CHECK_INT(caller_acquire(&First, SOON_MS), ZKL_OK);
    for (int i = 0; i < 10; i++) {
        struct caller *one = i % 2 == 0 ? &First : &Second, *next = i % 2 == 0 ? &Second : &First;
        caller_begin(next, ZKL_FOREVER);
        WAIT_UNTIL(actor_is_blocked(next->thread), SOON_MS);
        CHECK(!actor_is_done(next->thread));
        CHECK_INT(caller_release(one), ZKL_OK);
        CHECK_INT(actor_result(next->thread, SOON_MS), ZKL_OK);
        CHECK_INT(caller_held(next), SEVERAL);
    }
    end_released();
}

/* Alone, for one of the handles. */
static void a_thread_that_came_later_is_behind_them(void) {
    begin_callers(&ZKL_LOCK_OPTIONS(.local_handoffs = 5));
    actor *third = actor_new();
    CHECK_INT(caller_acquire(&First, SOON_MS), ZKL_OK);
    caller_begin(&Second, ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(Second.thread), SOON_MS);
    actor_acquire(third, First.locks[1], ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(third), SOON_MS);
    const int64_t token = actor_token(First.thread, First.locks[0]);
    CHECK_INT(caller_release(&First), ZKL_OK);
    CHECK_INT(actor_result(Second.thread, SOON_MS), ZKL_OK); /* by nodes of its own */
    CHECK(actor_token(Second.thread, First.locks[0]) > token);
    CHECK(!actor_is_done(third));
    const int64_t second = actor_token(Second.thread, First.locks[1]);
    CHECK_INT(caller_release(&Second), ZKL_OK);
    CHECK_INT(actor_result(third, SOON_MS), ZKL_OK);
    CHECK_INT(actor_token(third, First.locks[1]), second); /* which may be handed on to one */
    CHECK_INT(actor_release(third, First.locks[1]), ZKL_OK);
    actor_free(third);
    end_callers();
}

/* A node that stays while nobody holds by it is not taken into a group, and theirs do not stay. */
static void no_node_of_theirs_lingers(void) {
    begin_callers(&ZKL_LOCK_OPTIONS(.linger_ms = 100000));
    actor_acquire(First.thread, First.locks[1], SOON_MS);
    CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_OK);
    CHECK_INT(actor_release(First.thread, First.locks[1]), ZKL_OK);
    CHECK_INT(fake_nodes(), 1);
    CHECK_INT(caller_acquire(&First, SOON_MS), ZKL_OK);
    CHECK_INT(fake_nodes(), SEVERAL);
    CHECK_INT(actor_token(First.thread, First.locks[1]), actor_token(First.thread, First.locks[0]));
    end_released();
}

/* ---- The end of one ---- */

enum place {
    IN_LINE,  /* behind a thread of one handle */
    IN_QUEUE, /* behind another client */
    SENDING   /* their transaction is under way */
};

static void begin_to_wait(enum place place) {
    begin_callers(NULL);
    if (place == IN_LINE) {
        actor_acquire(Second.thread, First.locks[1], SOON_MS);
        CHECK_INT(actor_result(Second.thread, SOON_MS), ZKL_OK);
    } else if (place == IN_QUEUE) {
        plant_in_b();
    } else {
        fake_keep(MULTI, true);
    }
    caller_begin(&First, ZKL_FOREVER);
    if (place == IN_QUEUE)
        WAIT_UNTIL(fake_nodes() == 1 + SEVERAL, SOON_MS);
    else if (place == SENDING)
        WAIT_UNTIL(fake_has(MULTI), SOON_MS);
    WAIT_UNTIL(actor_is_blocked(First.thread), SOON_MS);
    CHECK(!actor_is_done(First.thread));
}

/* What was waited for is over; all that is left are others' nodes. */
static void end_of_wait(enum place place) {
    if (place == IN_LINE && First.locks[1] != NULL) /* else the hold went with the handle */
        CHECK_INT(actor_release(Second.thread, First.locks[1]), ZKL_OK);
    fake_keep(MULTI, false);
    WAIT_UNTIL(fake_nodes() == (place == IN_QUEUE ? 1 : 0), SOON_MS);
}

static void a_cancel_of_one_handle_ends_the_wait_for_all(void) {
    for (enum place place = IN_LINE; place <= SENDING; place++)
        for (size_t i = 0; i < SEVERAL; i++) {
            begin_to_wait(place);
            CHECK_INT(zkl_cancel(First.locks[i]), ZKL_OK);
            CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_CANCELED);
            CHECK_INT(caller_held(&First), 0);
            end_of_wait(place);
            if (place != IN_QUEUE)
                CHECK_INT(caller_acquire(&Second, 0),
                          ZKL_OK); /* nothing of it is left in any line */
            end_callers();
        }
}

static void a_cancel_ends_what_is_behind_them_too(void) {
    begin_to_wait(IN_QUEUE);
    actor *third = actor_new(), *fourth = actor_new();
    caller_begin(&Second, ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(Second.thread), SOON_MS);
    actor_acquire(third, First.locks[0], ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(third), SOON_MS);
    actor_acquire(fourth, First.locks[2], ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(fourth), SOON_MS);
    CHECK_INT(zkl_cancel(First.locks[0]), ZKL_OK);
    CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_CANCELED);
    CHECK_INT(actor_result(Second.thread, SOON_MS), ZKL_CANCELED);
    CHECK_INT(actor_result(third, SOON_MS), ZKL_CANCELED);
    CHECK_INT(actor_result(fourth, SOON_MS), ZKL_OK); /* its handle was not meant */
    CHECK_INT(actor_release(fourth, First.locks[2]), ZKL_OK);
    actor_free(third);
    actor_free(fourth);
    end_callers();
}

static void a_close_of_one_handle_ends_the_wait_for_all(void) {
    for (enum place place = IN_LINE; place <= SENDING; place++)
        for (size_t i = 0; i < SEVERAL; i++) {
            begin_to_wait(place);
            CHECK_INT(zkl_lock_close(First.locks[i]), ZKL_OK);
            CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_CLOSED);
            First.locks[i] = NULL;
            end_of_wait(place);
            for (size_t j = 0; j < SEVERAL; j++)
                if (j != i)
                    CHECK_INT(zkl_acquire(First.locks[j], 0),
                              place == IN_QUEUE && j == 1 ? ZKL_BUSY : ZKL_OK);
            end_callers();
        }
}

/* Two that wait for the same handles. */
static void a_close_ends_what_is_behind_them_too(void) {
    for (size_t i = 0; i < SEVERAL; i++) {
        begin_to_wait(IN_QUEUE);
        caller_begin(&Second, ZKL_FOREVER);
        WAIT_UNTIL(actor_is_blocked(Second.thread), SOON_MS);
        CHECK_INT(zkl_lock_close(First.locks[i]), ZKL_OK);
        CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_CLOSED);
        CHECK_INT(actor_result(Second.thread, SOON_MS), ZKL_CLOSED);
        First.locks[i] = NULL;
        end_callers();
    }
}

static void a_close_of_the_session_ends_the_wait(void) {
    for (enum place place = IN_LINE; place <= SENDING; place++) {
        begin_to_wait(place);
        struct caller *const both[] = {&First, &Second};
        if (place != IN_LINE) {
            caller_begin(&Second, ZKL_FOREVER); /* behind them */
            WAIT_UNTIL(actor_is_blocked(Second.thread), SOON_MS);
        }
        if (place == SENDING)
            fake_keep(MULTI, false);
        if (place != SENDING) {
            CHECK_INT(zkl_session_close(Session), ZKL_OK);
            for (size_t i = 0; i < (place == IN_LINE ? 1 : 2); i++)
                CHECK_INT(actor_result(both[i]->thread, SOON_MS), ZKL_CLOSED);
            close_callers();
            continue;
        }
        CHECK_INT(actor_result(First.thread, SOON_MS), ZKL_OK);
        CHECK_INT(zkl_session_close(Session), ZKL_OK);
        CHECK_INT(actor_result(Second.thread, SOON_MS), ZKL_CLOSED);
        CHECK_INT(caller_held(&First), 0);
        close_callers();
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"all are acquired and released", all_are_acquired_and_released},
        {"their directories are made if they are not there",
         their_directories_are_made_if_they_are_not_there},
        {"what makes no sense is refused", what_makes_no_sense_is_refused},
        {"on a closed session both calls say closed", on_a_closed_session_both_calls_say_closed},
        {"a thread that holds any lock of the session is refused",
         a_thread_that_holds_any_lock_of_the_session_is_refused},
        {"a hold that was lost is told or forgotten", a_hold_that_was_lost_is_told_or_forgotten},
        {"a release gives up what is held", a_release_gives_up_what_is_held},
        {"a try is busy if one of the handles is", a_try_is_busy_if_one_of_the_handles_is},
        {"without a connection a try is unreachable", without_a_connection_a_try_is_unreachable},
        {"one that is taken keeps all until the time is over",
         one_that_is_taken_keeps_all_until_the_time_is_over},
        {"who waits behind a thread of one handle has no node",
         who_waits_behind_a_thread_of_one_handle_has_no_node},
        {"threads that share handles take turns", threads_that_share_handles_take_turns},
        {"a thread that came later is behind them", a_thread_that_came_later_is_behind_them},
        {"no node of theirs lingers", no_node_of_theirs_lingers},
        {"a cancel of one handle ends the wait for all",
         a_cancel_of_one_handle_ends_the_wait_for_all},
        {"a cancel ends what is behind them, too", a_cancel_ends_what_is_behind_them_too},
        {"a close of one handle ends the wait for all",
         a_close_of_one_handle_ends_the_wait_for_all},
        {"a close ends what is behind them, too", a_close_ends_what_is_behind_them_too},
        {"a close of the session ends the wait", a_close_of_the_session_ends_the_wait},
    };
    return TEST_MAIN(argc, argv, "several", cases);
}
