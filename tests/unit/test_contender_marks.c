/*
 * A semaphore's contender: the mark of a node whose contender is admitted, for whoever watches it.
 *
 * One permit, if nothing is said: who is FIRST is admitted, and who is BEHIND_TWO waits for its
 * predecessor's mark.
 */
#include "unit/contender_bench.h"

static void to_arming(struct bench *b) {
    to_read(b);
    CHECK_ACTIONS(listed(b, BEHIND_TWO), OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED);
    CHECK_STATE(b, "arming");
    reply(b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
}

/* The listing that follows a mark is out. */
static void to_last_look(struct bench *b) {
    to_arming(b);
    b->are_touched = true;
    CHECK_ACTIONS(reply(b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK), ZKLI_ASK_LIST);
    CHECK_STATE(b, "listing");
}

static void to_behind(struct bench *b) {
    to_arming(b);
    CHECK_ACTIONS(reply(b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK), 0);
    CHECK_STATE(b, "waiting");
}

/* The mark is out. */
static void to_marking(struct bench *b) {
    to_read(b);
    CHECK_ACTIONS(listed(b, FIRST), ZKLI_DO_GRANT | ZKLI_ASK_TOUCH);
    CHECK_STATE(b, "held");
}

/* The same on a short lease; the read of the own node is out, too. */
static void to_admitted(struct bench *b) {
    to_read(b);
    bench_lease(b, SHORT);
    CHECK_ACTIONS(listed(b, FIRST), ZKLI_ASK_OWN | ZKLI_ASK_TOUCH);
    CHECK_STATE(b, "admitted");
}

/* ---- Behind ---- */

static void a_mark_at_the_first_read_costs_one_more_listing(void) {
    struct bench b;
    to_last_look(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_TWO), 0); /* the watches stand */
    CHECK_STATE(&b, "waiting");
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, false), ZKLI_ASK_LIST);
    CHECK_ACTIONS(listed(&b, BEHIND_TWO), ZKLI_ASK_PREDECESSOR);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK), ZKLI_ASK_LIST);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), DIRECTORY_AND_LIST | ZKLI_TELL_QUEUED);
    CHECK_STATE(&b, "fronting");
}

/* It is looked at again when its own node's watch can be set. */
static void a_mark_is_not_looked_into_while_the_own_node_is_not_watched(void) {
    struct bench b;
    to_read(&b);
    listed(&b, BEHIND_TWO);
    b.are_touched = true;
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_AGAIN);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK), ZKLI_DO_RETRY);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), ZKLI_ASK_LIST);
    CHECK_ACTIONS(listed(&b, BEHIND_TWO), OWN_AND_PREDECESSOR);
}

static void a_mark_is_no_news_to_other_kinds(void) {
    struct bench b;
    to_waiting(&b, BEHIND_TWO);
    b.are_touched = true;
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, false), ZKLI_ASK_PREDECESSOR);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK), 0);
}

static void an_event_during_the_last_look_arms_anew(void) {
    struct bench b;
    to_last_look(&b);
    fired(&b, ZKLI_EV_PREDECESSOR_EVENT, false);
    CHECK_ACTIONS(listed(&b, BEHIND_TWO), ZKLI_ASK_PREDECESSOR);
    /* Between that listing and this read nothing was watched. */
    CHECK_ACTIONS(reply(&b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK), ZKLI_ASK_LIST);
    to_last_look(&b);
    fired(&b, ZKLI_EV_OWN_EVENT, false);
    CHECK_ACTIONS(listed(&b, BEHIND_TWO), OWN_AND_PREDECESSOR);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK), 0); /* its watch stood */
    CHECK_STATE(&b, "waiting");
}

static void another_predecessor_is_read_as_the_first_was(void) {
    struct bench b;
    to_last_look(&b);
    const struct zkli_sibling siblings[] = {
        {"_c_ffffffff-4e5f-4061-8273-8495a6b7c8d9-lease-0000000001", ZKLI_KIND_LEASE, 1, false},
        {"_c_ffffffff-4e5f-4061-8273-8495a6b7c8d9-lease-0000000004", ZKLI_KIND_LEASE, 4, false},
        {b.c.node, ZKLI_KIND_LEASE, OWN_NUMBER, false},
    };
    const struct zkli_listing listing = {.siblings = siblings,
                                         .count = COUNT(siblings),
                                         .czxid = b.directory.czxid,
                                         .version = b.directory.version};
    CHECK_ACTIONS(
        say(&b, (struct zkli_contender_event){.type = ZKLI_EV_LISTED, .listing = &listing}),
        ZKLI_ASK_PREDECESSOR);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK), ZKLI_ASK_LIST);
}

static void by_czxid_the_last_look_goes_on(void) {
    struct bench b;
    to_last_look(&b);
    CHECK_ACTIONS(listed(&b, AT_THE_END), ZKLI_ASK_ORDER);
    CHECK_ACTIONS(listed(&b, BEHIND_TWO), 0);
    CHECK_STATE(&b, "waiting");
}

/* Its end may admit us, or one behind us; and so may its mark. */
static void whatever_becomes_of_the_predecessor_is_listed(void) {
    for (int is_deleted = 0; is_deleted < 2; is_deleted++) {
        struct bench b;
        to_behind(&b);
        CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, is_deleted == 1), ZKLI_ASK_LIST);
        to_read(&b);
        b.others = ZKLI_KIND_MUTEX; /* it keeps us out alone, whatever the number */
        CHECK_ACTIONS(listed(&b, BEHIND_HEAD), OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED);
        answer_all(&b, ZKLI_RESULT_OK);
        CHECK_STATE(&b, "waiting");
        CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, is_deleted == 1), ZKLI_ASK_LIST);
    }
}

/* ---- The mark ---- */

static void a_mark_is_made_only_for_those_behind(void) {
    struct bench b;
    to_read(&b);
    bench_record(&b, 2, 2);
    listed(&b, BEHIND_HEAD);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_DO_GRANT); /* nobody is */
}

static void a_mark_is_repeated_until_it_is_confirmed(void) {
    struct bench b;
    to_marking(&b);
    b.world.is_connected = false;
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_LOST), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), 0);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), ZKLI_ASK_TOUCH);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), 0); /* it is on its way */
    static const enum zkli_result refusals[] = {
        ZKLI_RESULT_AGAIN, ZKLI_RESULT_LOST,  ZKLI_RESULT_DENIED,
        ZKLI_RESULT_NOMEM, ZKLI_RESULT_ERROR,
    };
    for (size_t i = 0; i < COUNT(refusals); i++) {
        CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, refusals[i]), ZKLI_DO_RETRY);
        CHECK_STATE(&b, "held");
        CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), ZKLI_ASK_TOUCH);
    }
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_OK), 0);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN);
}

/* Before the hold, what is owed is decided by the listing of the new connection. */
static void a_mark_is_decided_anew_behind_a_reconnect(void) {
    struct bench b;
    to_admitted(&b);
    b.world.is_connected = false;
    answer_all(&b, ZKLI_RESULT_LOST);
    CHECK_STATE(&b, "admitted");
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), BARRIER_AND_LIST);
    CHECK_STATE(&b, "listing");
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_ASK_OWN | ZKLI_ASK_TOUCH);
}

static void a_mark_that_is_refused_before_the_hold_is_tried_again(void) {
    struct bench b;
    to_admitted(&b);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_AGAIN), ZKLI_DO_RETRY);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), ZKLI_ASK_TOUCH);
    bench_lease(&b, AMPLE);
    CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), ZKLI_DO_GRANT); /* beside it */
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_OK), 0);
}

static void a_mark_on_no_node_is_the_end_of_the_place(void) {
    struct bench b;
    to_marking(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_NO_NODE), ZKLI_DO_LOSE | ZKLI_DO_FORGET);
    to_admitted(&b);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_NO_NODE),
                  CREATE_AND_LIST | ZKLI_TELL_REQUEUED);
    to_admitted(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_NO_NODE), 0); /* the read is out */
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK),
                  CREATE_AND_LIST | ZKLI_TELL_REQUEUED);
}

/* The mark is a change of the node, and the watch says so before the mark's reply comes. */
static void the_watch_that_a_mark_has_fired_is_set_again(void) {
    struct bench b;
    to_admitted(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_OK), ZKLI_ASK_OWN);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    bench_lease(&b, AMPLE);
    CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), ZKLI_DO_GRANT);
}

static void a_node_that_goes_behind_its_mark_is_replaced_at_once(void) {
    struct bench b;
    to_admitted(&b);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_OK), CREATE_AND_LIST | ZKLI_TELL_REQUEUED);
}

/* Its node is gone; it queues again when nothing of the old place is in flight. */
static void a_mark_in_flight_keeps_the_place(void) {
    struct bench b;
    to_admitted(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_NO_NODE), 0);
    CHECK_STATE(&b, "admitted");
    CHECK((reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_NO_NODE) & ZKLI_TELL_REQUEUED) != 0);
    CHECK_STATE(&b, "enqueuing");
}

/* The connection has changed without a word. Listed at once, it could be decided before the mark is
 * answered, for which a read and a set may be needed. */
static void a_mark_in_flight_is_waited_for_before_a_listing(void) {
    struct bench b;
    to_admitted(&b);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), 0);
    CHECK_STATE(&b, "admitted");
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_LOST), BARRIER_AND_LIST);
    CHECK_STATE(&b, "listing");
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a mark in flight keeps the place", a_mark_in_flight_keeps_the_place},
        {"a mark in flight is waited for before a listing",
         a_mark_in_flight_is_waited_for_before_a_listing},
        {"a mark at the first read costs one more listing",
         a_mark_at_the_first_read_costs_one_more_listing},
        {"a mark is not looked into while the own node is not watched",
         a_mark_is_not_looked_into_while_the_own_node_is_not_watched},
        {"a mark is no news to other kinds", a_mark_is_no_news_to_other_kinds},
        {"an event during the last look arms anew", an_event_during_the_last_look_arms_anew},
        {"another predecessor is read as the first was",
         another_predecessor_is_read_as_the_first_was},
        {"by czxid the last look goes on", by_czxid_the_last_look_goes_on},
        {"whatever becomes of the predecessor is listed",
         whatever_becomes_of_the_predecessor_is_listed},
        {"a mark is made only for those behind", a_mark_is_made_only_for_those_behind},
        {"a mark is repeated until it is confirmed", a_mark_is_repeated_until_it_is_confirmed},
        {"a mark is decided anew behind a reconnect", a_mark_is_decided_anew_behind_a_reconnect},
        {"a mark that is refused before the hold is tried again",
         a_mark_that_is_refused_before_the_hold_is_tried_again},
        {"a mark on no node is the end of the place", a_mark_on_no_node_is_the_end_of_the_place},
        {"the watch that a mark has fired is set again",
         the_watch_that_a_mark_has_fired_is_set_again},
        {"a node that goes behind its mark is replaced at once",
         a_node_that_goes_behind_its_mark_is_replaced_at_once},
    };
    return TEST_MAIN(argc, argv, "contender_marks", cases);
}
