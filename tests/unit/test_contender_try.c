/*
 * What a try does, claim by claim: it finds out whether anybody is there before it writes.
 */
#include "unit/contender_bench.h"

static void to_probing(struct bench *b) {
    bench_init(b, true);
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), ZKLI_ASK_LIST);
}

static void a_try_that_finds_anybody_writes_nothing(void) {
    for (enum crowd crowd = FIRST; crowd < CROWDS; crowd++) {
        struct bench b;
        to_probing(&b);
        CHECK_ACTIONS(listed(&b, crowd), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
        CHECK_INT(b.c.error, ZKL_BUSY);
    }
}

/* T13 */
static void a_try_that_somebody_was_faster_than_takes_its_node_away(void) {
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

/* The new session knows nothing of who was there. */
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

/* Whoever has come meanwhile is found without a write. */
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
        } else { /* it was, and somebody has deleted the node */
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

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a try that finds anybody writes nothing", a_try_that_finds_anybody_writes_nothing},
        {"a try that somebody was faster than takes its node away",
         a_try_that_somebody_was_faster_than_takes_its_node_away},
        {"a try that is alone holds", a_try_that_is_alone_holds},
        {"a try whose session ended lists again before it creates",
         a_try_whose_session_ended_lists_again_before_it_creates},
        {"a try that has to begin anew lists again before it creates",
         a_try_that_has_to_begin_anew_lists_again_before_it_creates},
    };
    return TEST_MAIN(argc, argv, "contender_try", cases);
}
