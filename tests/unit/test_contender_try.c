/*
 * What a try does, claim by claim: it looks for other contenders before it writes.
 */
#include "unit/contender_bench.h"

static void to_probing(struct bench *b) {
    bench_init(b, true);
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), ZKLI_ASK_LIST);
}

static void a_try_that_finds_a_contender_writes_nothing(void) {
    for (enum crowd crowd = FIRST; crowd < CROWDS; crowd++) {
        struct bench b;
        to_probing(&b);
        CHECK_ACTIONS(listed(&b, crowd), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
        CHECK_INT(b.c.error, ZKL_BUSY);
    }
}

/* T13 */
static void a_try_that_a_contender_was_faster_than_takes_its_node_away(void) {
    struct bench b;
    to_probing(&b);
    CHECK_ACTIONS(listed(&b, NOBODY), CREATE_AND_LIST);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_DO_FAIL | ZKLI_ASK_DELETE);
    CHECK_INT(b.c.error, ZKL_BUSY);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), ZKLI_DO_FORGET);
}

static void a_try_that_is_alone_holds(void) {
    struct bench b;
    to_probing(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE), CREATE_AND_LIST);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_GRANT);
}

/* The new session knows nothing of the contenders before. */
static void a_try_whose_session_ended_lists_again_before_it_creates(void) {
    struct bench b;
    to_probing(&b);
    CHECK_ACTIONS(listed(&b, NOBODY), CREATE_AND_LIST);
    b.world.is_connected = false;
    news(&b, ZKLI_EV_EXPIRED);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), ZKLI_ASK_LIST);
    CHECK_STATE(&b, "probing");
}

/* A contender that has come meanwhile is found without a write. */
static void a_try_that_has_to_begin_anew_lists_again_before_it_creates(void) {
    for (unsigned way = 0; way < 3; way++) {
        struct bench b;
        to_probing(&b);
        listed(&b, NOBODY);
        if (way == 0) { /* the create is lost, and was not done */
            answer_all(&b, ZKLI_RESULT_LOST);
            CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), BARRIER_AND_LIST);
            reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
            CHECK_ACTIONS(listed(&b, OTHERS), ZKLI_ASK_LIST);
        } else { /* it was, and another program has deleted the node */
            reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
            bench_lease(&b, way == 1 ? AMPLE : UNCERTAIN);
            if (way == 2)
                CHECK_ACTIONS(listed(&b, FIRST), ZKLI_ASK_OWN);
            CHECK_ACTIONS(way == 1 ? listed(&b, OTHERS)
                                   : reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_NO_NODE),
                          ZKLI_ASK_LIST | ZKLI_TELL_REQUEUED);
        }
        CHECK_STATE(&b, "probing");
        CHECK_ACTIONS(listed(&b, OTHERS), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
        CHECK_INT(b.c.error, ZKL_BUSY);
    }
}

static void to_waiting_behind_its_own_session(struct bench *b) {
    to_probing(b);
    b->others_leave = true;
    CHECK_ACTIONS(listed(b, OTHERS), CREATE_AND_LIST);
    reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(b, BEHIND_HEAD), OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED);
}

/* Those nodes go without a release: no other client holds, and "busy" would be wrong. */
static void a_try_waits_for_nodes_that_its_session_is_deleting(void) {
    struct bench b;
    to_waiting_behind_its_own_session(&b);
    answer_all(&b, ZKLI_RESULT_OK);
    CHECK_STATE(&b, "waiting");
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), ZKLI_DO_GRANT);
}

static void a_try_that_loses_its_node_while_it_waits_lists_before_it_creates(void) {
    for (unsigned way = 0; way < 3; way++) {
        struct bench b;
        to_waiting_behind_its_own_session(&b);
        if (way == 0) { /* before the watch on it is set */
            reply(&b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK);
            reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_NO_NODE);
        } else { /* with a connection, and without */
            answer_all(&b, ZKLI_RESULT_OK);
            b.world.is_connected = way == 1;
            fired(&b, ZKLI_EV_OWN_EVENT, true);
        }
        CHECK((b.actions & ZKLI_TELL_REQUEUED) != 0);
        CHECK_STATE(&b, way == 2 ? "idle" : "probing");
        CHECK_INT(b.c.in_flight, way == 2 ? 0 : ZKLI_ASK_LIST);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a try that finds a contender writes nothing",
         a_try_that_finds_a_contender_writes_nothing},
        {"a try that a contender was faster than takes its node away",
         a_try_that_a_contender_was_faster_than_takes_its_node_away},
        {"a try that is alone holds", a_try_that_is_alone_holds},
        {"a try whose session ended lists again before it creates",
         a_try_whose_session_ended_lists_again_before_it_creates},
        {"a try that has to begin anew lists again before it creates",
         a_try_that_has_to_begin_anew_lists_again_before_it_creates},
        {"a try waits for nodes that its session is deleting",
         a_try_waits_for_nodes_that_its_session_is_deleting},
        {"a try that loses its node while it waits lists before it creates",
         a_try_that_loses_its_node_while_it_waits_lists_before_it_creates},
    };
    return TEST_MAIN(argc, argv, "contender_try", cases);
}
