/*
 * Requests that are not sent yet, or whose member does not want the answer any more.
 */
#include "unit/engine_bench.h"

/* A member whose first flight waits for room in the window. */
static struct zkli_member *begin_in_line(void) {
    bench_begin();
    fill_window();
    struct zkli_member *m = begin("late")->member;
    REQUIRE_INT(m->unsent_count, 1);
    REQUIRE(zkli_list_is_linked(&m->asker) && zkli_list_is_linked(&m->work.link));
    return m;
}

static void what_is_not_sent_is_taken_back(void) {
    struct zkli_member *m = begin_in_line();
    CHECK_INT(zkli_requests_withdraw(m), ZKLI_ASK_CREATE | ZKLI_ASK_LIST);
    CHECK_INT(m->unsent_count, 0);
    CHECK(!zkli_list_is_linked(&m->asker) && !zkli_list_is_linked(&m->work.link));
    CHECK_INT(zkli_requests_withdraw(m), 0);
    m->unsent[m->unsent_count++] = ZKLI_ASK_PARENT;
    m->unsent[m->unsent_count++] = ZKLI_ASK_CREATE;
    CHECK_INT(zkli_requests_withdraw(m), ZKLI_ASK_PARENT | ZKLI_ASK_CREATE);
    bench_end();
}

/* To leave, it needs the search. */
static void a_search_is_not_taken_back(void) {
    struct zkli_member *m = begin_in_line();
    m->core.state = ZKLI_SEARCHING;
    CHECK_INT(zkli_requests_withdraw(m), 0);
    CHECK_INT(m->unsent_count, 1);
    CHECK(zkli_list_is_linked(&m->asker) && zkli_list_is_linked(&m->work.link));
    m->core.state = ZKLI_ENQUEUING;
    serve_all();
    CHECK(zkli_member_is_held(m));
    bench_end();
}

static void what_a_member_has_asked_for_is_forgotten_with_it(void) {
    struct zkli_member *m = begin_in_line();
    struct zkli_slot *slots = Bench.engine->slots;
    struct zkli_member *witness = Bench.owners[0].member;
    unsigned own = 0;
    slots[ZKLI_SLOT_HEARTBEAT].member = witness;
    while (slots[own].use != ZKLI_USE_MEMBER || slots[own].member != witness)
        own++;
    zkli_requests_forget(m);
    CHECK_INT(m->unsent_count, 0);
    CHECK(!zkli_list_is_linked(&m->asker) && !zkli_list_is_linked(&m->work.link));
    CHECK(slots[ZKLI_SLOT_HEARTBEAT].member == witness);
    CHECK(slots[own].use == ZKLI_USE_MEMBER);
    zkli_requests_forget(witness);
    CHECK(slots[ZKLI_SLOT_HEARTBEAT].member == NULL);
    CHECK(slots[own].use == ZKLI_USE_VOID);
    bench_end();
}

/* A session's end takes back what is in line, but for queries: those ask the next one. */
static void what_is_in_line_ends_with_the_session_but_for_queries(void) {
    struct zkli_member *m = begin_in_line();
    struct asked asked;
    ask(&asked, ZKLI_QUERY_LIST);
    const size_t creates = Bench.sent[CREATE];
    expire();
    CHECK_INT(m->unsent_count, 0);
    check_asked(&asked, 0, 0);
    bench_connect();
    CHECK(Bench.sent[CREATE] > creates);
    come_to_rest();
    check_asked(&asked, 1, 1);
    CHECK(zkli_member_is_held(m));
    bench_end();
}

/* A directory and the node in it are sent together or not at all. */
static void a_pair_needs_two_slots(void) {
    bench_begin();
    struct zkli_engine *e = Bench.engine;
    unsigned first = zkli_slot_reserve(e, ZKLI_USE_VOID);
    unsigned second = zkli_slot_reserve(e, ZKLI_USE_VOID);
    fill_window();
    struct zkli_member *m = begin("late")->member;
    struct zkli_work other = {.kind = ZKLI_WORK_DIR};
    for (unsigned slots = 0; slots < 3; slots++) {
        m->unsent[0] = ZKLI_ASK_PARENT;
        m->unsent[1] = ZKLI_ASK_CREATE;
        m->unsent_count = 2;
        CHECK_INT(zkli_requests_have_slots(e, &m->work), slots > 1);
        m->unsent_count = 1;
        CHECK_INT(zkli_requests_have_slots(e, &m->work), slots > 0);
        m->unsent[0] = ZKLI_ASK_CREATE;
        CHECK_INT(zkli_requests_have_slots(e, &m->work), slots > 0);
        m->unsent_count = 2;
        CHECK_INT(zkli_requests_have_slots(e, &m->work), slots > 0);
        CHECK_INT(zkli_requests_have_slots(e, &other), slots > 0);
        m->unsent_count = 1;
        if (slots < 2)
            zkli_slot_release(e, slots == 0 ? first : second);
    }
    settle();
    serve_all();
    CHECK(zkli_member_is_held(m));
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"what is not sent is taken back", what_is_not_sent_is_taken_back},
        {"a search is not taken back", a_search_is_not_taken_back},
        {"what a member has asked for is forgotten with it",
         what_a_member_has_asked_for_is_forgotten_with_it},
        {"what is in line ends with the session, but for queries",
         what_is_in_line_ends_with_the_session_but_for_queries},
        {"a pair needs two slots", a_pair_needs_two_slots},
    };
    return TEST_MAIN(argc, argv, "engine_flights", cases);
}
