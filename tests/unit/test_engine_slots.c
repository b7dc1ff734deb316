/*
 * The slots of requests in flight: each is given back once, whatever becomes of what it was for.
 * And queries that are taken back.
 */
#include "unit/engine_bench.h"

static struct asked Asked[ZKLI_WINDOW + 1];

/* A query in each slot, and one more in line. */
static void fill_with_queries(void) {
    bench_begin();
    for (size_t i = 0; i < COUNT(Asked); i++)
        ask(&Asked[i], ZKLI_QUERY_GET);
    REQUIRE(Bench.engine->free_slot == ZKLI_SLOTS);
}

static void the_answer_of_a_query_that_is_forgotten_reaches_no_other(void) {
    static const size_t forgotten[] = {0, 1, ZKLI_WINDOW - 1, ZKLI_WINDOW};
    fill_with_queries();
    for (size_t i = 0; i < COUNT(forgotten); i++)
        zkli_query_forget(Bench.engine, &Asked[forgotten[i]].query);
    CHECK(Bench.engine->free_slot == ZKLI_SLOTS); /* their answers are still to come */
    serve_all();
    for (size_t i = 0, k = 0; i < COUNT(Asked); i++) {
        bool is_forgotten = k < COUNT(forgotten) && forgotten[k] == i;
        check_asked(&Asked[i], is_forgotten ? 0 : 1, is_forgotten ? 0 : 1);
        k += is_forgotten;
    }
    CHECK_INT(free_slots(), ZKLI_WINDOW);
    bench_end();
}

static void a_query_in_line_can_be_taken_back_and_one_that_is_sent_cannot(void) {
    fill_with_queries();
    CHECK(!zkli_query_withdraw(&Asked[0].query));
    CHECK(Asked[0].query.is_sent && !Asked[ZKLI_WINDOW].query.is_sent);
    CHECK(zkli_query_withdraw(&Asked[ZKLI_WINDOW].query));
    CHECK(!zkli_query_withdraw(&Asked[ZKLI_WINDOW].query));
    serve_all();
    check_asked(&Asked[0], 1, 1);
    check_asked(&Asked[ZKLI_WINDOW], 0, 0);
    bench_end();
}

static void a_query_s_read_sets_no_watch(void) {
    bench_begin();
    struct asked asked;
    ask(&asked, ZKLI_QUERY_LIST);
    struct request request = serve_until(LIST);
    CHECK(!request.is_watched);
    serve_request(&request);
    ask(&asked, ZKLI_QUERY_GET);
    request = serve_until(GET);
    CHECK(!request.is_watched);
    serve_request(&request);
    check_asked(&asked, 1, 1);
    ask(&asked, ZKLI_QUERY_GET); /* once more: it is not sent until its turn has come */
    serve_all();
    check_asked(&asked, 1, 1);
    bench_end();
}

static void a_session_s_end_gives_all_slots_back(void) {
    fill_with_queries();
    expire();
    CHECK_INT(free_slots(), ZKLI_WINDOW);
    CHECK_INT(Bench.engine->in_flight, 0);
    for (size_t i = 0; i < ZKLI_WINDOW; i++)
        check_asked(&Asked[i], 1, 0); /* lost */
    check_asked(&Asked[ZKLI_WINDOW], 0, 0);
    bench_connect();
    serve_all();
    check_asked(&Asked[ZKLI_WINDOW], 1, 1); /* was in line: asks the next session */
    begin_many("m", ZKLI_WINDOW);
    come_to_rest();
    for (size_t i = 0; i < Bench.owner_count; i++)
        CHECK_INT(Bench.owners[i].grants, 1);
    bench_end();
}

/* In whichever slot its request is. */
static void the_answers_of_a_member_that_is_gone_reach_no_other(void) {
    bench_begin();
    struct zkli_slot *slots = Bench.engine->slots;
    fill_window();
    struct zkli_member *first = slots[0].member, *last = slots[ZKLI_WINDOW - 1].member;
    slots[0].use = slots[ZKLI_WINDOW - 1].use = ZKLI_USE_MEMBER;
    slots[0].member = slots[ZKLI_WINDOW - 1].member = first == NULL ? last : first;
    struct zkli_member *both = slots[0].member;
    slots[1].use = ZKLI_USE_ORDER;
    slots[1].member = both;
    zkli_slots_void(Bench.engine, ZKLI_USE_MEMBER, both);
    CHECK_INT(slots[0].use, ZKLI_USE_VOID);
    CHECK_INT(slots[ZKLI_WINDOW - 1].use, ZKLI_USE_VOID);
    CHECK_INT(slots[1].use, ZKLI_USE_ORDER);
    slots[1].use = ZKLI_USE_VOID;
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the answer of a query that is forgotten reaches no other",
         the_answer_of_a_query_that_is_forgotten_reaches_no_other},
        {"a query in line can be taken back, and one that is sent cannot",
         a_query_in_line_can_be_taken_back_and_one_that_is_sent_cannot},
        {"a query's read sets no watch", a_query_s_read_sets_no_watch},
        {"a session's end gives all slots back", a_session_s_end_gives_all_slots_back},
        {"the answers of a member that is gone reach no other",
         the_answers_of_a_member_that_is_gone_reach_no_other},
    };
    return TEST_MAIN(argc, argv, "engine_slots", cases);
}
