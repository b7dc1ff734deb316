/*
 * When a directory is visited for nodes of ours that no member knows, when a visit is repeated, and
 * that none outlives its session.
 */
#include "unit/engine_bench.h"

#define T (T_MS * MS)

/* A create of this owner's is lost with its connection; there is another. Its directory. */
static struct zkli_dir *lose_create(struct owner **ret_owner) {
    *ret_owner = begin("a");
    struct zkli_dir *dir = (*ret_owner)->member->dir;
    size_t before = 0;
    while (Bench.requests[before].kind != CREATE)
        before++;
    cut_and_connect(before);
    return dir;
}

static bool is_under_way(const struct zkli_dir *dir) {
    return zkli_list_is_linked(&dir->visit.link);
}

/* A directory that is being visited: the barrier and the listing are in flight, and no more. */
static struct zkli_dir *begin_visit(struct owner **ret_owner, int timeout_ms) {
    bench_start("/locks", false);
    Bench.timeout_ms = timeout_ms;
    bench_connect();
    struct zkli_dir *dir = lose_create(ret_owner);
    while (!is_under_way(dir)) {
        REQUIRE(zkli_timer_is_set(&dir->visit.timer));
        serve_all();
        advance(Bench.next_ns - Bench.now_ns);
    }
    return dir;
}

static void answer_barrier_of_visit(enum zkli_result result) {
    struct request request = serve_until(BARRIER);
    while (request.path[0] != '\0') { /* a heartbeat names a node */
        serve_request(&request);
        request = serve_until(BARRIER);
    }
    answer(&request, result);
}

/* Nobody holds or waits any more, and something is still under way. */
static void heartbeats_go_on_during_a_visit(void) {
    struct owner *owner;
    struct zkli_dir *dir = begin_visit(&owner, T_MS);
    const size_t of_visit = Bench.request_count;
    release(owner);
    const size_t sent = Bench.sent[BARRIER];
    for (int i = 0; i < 4; i++) {
        while (Bench.request_count > of_visit) {
            struct request request = take(of_visit);
            serve_request(&request);
        }
        advance(T / 16);
    }
    CHECK(owner->member == NULL);
    CHECK(is_under_way(dir));
    CHECK_RANGE(Bench.sent[BARRIER] - sent, 3, 5);
    come_to_rest();
    bench_end();
}

static void end_with(struct owner *owner) {
    come_to_rest();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

static void a_lost_create_is_looked_for_once_the_timeout_has_passed(void) {
    struct owner *owner;
    bench_begin();
    int64_t lost_ns = Bench.now_ns;
    struct zkli_dir *dir = lose_create(&owner);
    CHECK(zkli_timer_is_set(&dir->visit.timer));
    CHECK(dir->visit.timer.at_ns == lost_ns + T);
    for (int64_t left_ns = T - 1; left_ns > 0; left_ns -= 100 * MS) {
        advance(left_ns < 100 * MS ? left_ns : 100 * MS);
        serve_all();
        CHECK(!is_under_way(dir));
    }
    advance(lost_ns + T - Bench.now_ns);
    CHECK(is_under_way(dir) && !dir->visit.is_behind_barrier);
    CHECK(!zkli_timer_is_set(&dir->visit.timer)); /* the connection is as old as the timeout */
    end_with(owner);
}

/* A visit on a younger connection does not do: the server may still carry out the create. A lost
 * reply may be all that shows it. */
static void on_a_younger_connection_there_is_another_visit(void) {
    for (int is_told = 0; is_told <= 1; is_told++) {
        struct owner *owner;
        bench_begin();
        struct zkli_dir *dir = lose_create(&owner);
        serve_all();
        advance(T / 2);
        if (is_told != 0) {
            serve_all();
            cut_and_connect(0);
        } else {
            answer_next(BARRIER, ZKLI_RESULT_LOST);
        }
        int64_t connected_ns = Bench.now_ns;
        serve_all();
        while (!is_under_way(dir)) {
            serve_all();
            advance(100 * MS);
        }
        CHECK(zkli_timer_is_set(&dir->visit.timer) && dir->visit.timer.at_ns == connected_ns + T);
        end_with(owner);
    }
}

enum next {
    LATER,
    NEVER,
    SOON
};

/* It has seen the directory behind its barrier, or it may not see it, or it is made again soon. */
static void what_comes_after_a_visit_is_for_its_answers_to_say(void) {
    static const struct {
        enum zkli_result barrier, list;
        enum next next;
        bool is_logged;
    } cases[] = {
        {ZKLI_RESULT_OK, ZKLI_RESULT_OK, LATER, false},
        {ZKLI_RESULT_OK, ZKLI_RESULT_NO_NODE, LATER, false},
        {ZKLI_RESULT_OK, ZKLI_RESULT_DENIED, NEVER, true},
        {ZKLI_RESULT_OK, ZKLI_RESULT_ERROR, SOON, true},
        {ZKLI_RESULT_OK, ZKLI_RESULT_AGAIN, SOON, false},
        {ZKLI_RESULT_ERROR, ZKLI_RESULT_NO_NODE, SOON, false},
        {ZKLI_RESULT_ERROR, ZKLI_RESULT_DENIED, NEVER, true},
        {ZKLI_RESULT_LOST, ZKLI_RESULT_NO_NODE, SOON, false},
    };
    static const int timeouts_ms[] = {T_MS, 2000, 4001}; /* a quarter, or a second */
    for (size_t i = 0; i < COUNT(cases) * COUNT(timeouts_ms); i++) {
        struct owner *owner;
        int timeout_ms = timeouts_ms[i / COUNT(cases)];
        struct zkli_dir *dir = begin_visit(&owner, timeout_ms);
        const size_t lines = Bench.lines[ZKL_LOG_ERROR];
        answer_barrier_of_visit(cases[i % COUNT(cases)].barrier);
        struct request list = serve_until(LIST);
        struct tiny_answer served = serve(&list);
        if (cases[i % COUNT(cases)].list != ZKLI_RESULT_OK)
            served.reply = (struct zkli_reply){.result = cases[i % COUNT(cases)].list, .code = -1};
        const int64_t soon_ns = timeout_ms == 2000 ? 500 * MS : 1000 * MS;
        const int64_t age_ns = Bench.now_ns - dir->visit.lost_ns;
        CHECK(age_ns >= timeout_ms * MS && age_ns < 8 * timeout_ms * MS);
        tell_reply(list.slot, &served.reply);
        CHECK(!is_under_way(dir));
        const enum next next = cases[i % COUNT(cases)].next;
        CHECK(zkli_timer_is_set(&dir->visit.timer) == (next != NEVER));
        CHECK(next == NEVER ||
              dir->visit.timer.at_ns == Bench.now_ns + (next == SOON ? soon_ns : age_ns));
        CHECK_INT(Bench.lines[ZKL_LOG_ERROR] - lines, cases[i % COUNT(cases)].is_logged);
        end_with(owner);
    }
}

static void answer_visit(void) {
    answer_barrier_of_visit(ZKLI_RESULT_OK);
    struct request list = serve_until(LIST);
    serve_request(&list);
}

static void the_last_visit_is_that_after_eight_timeouts(void) {
    for (int is_last = 0; is_last < 2; is_last++) {
        struct owner *owner;
        struct zkli_dir *dir = begin_visit(&owner, T_MS);
        dir->visit.lost_ns = Bench.now_ns - 8 * T + 1 - is_last;
        answer_visit();
        CHECK(zkli_timer_is_set(&dir->visit.timer) == (is_last == 0));
        end_with(owner);
    }
}

/* Its listing is one like any other. */
static void a_visit_that_misses_a_hold_s_node_ends_the_hold(void) {
    struct owner *owner;
    (void)begin_visit(&owner, T_MS);
    CHECK_INT(owner->grants, 1);
    CHECK(tiny_remove(&Bench.server, path_of(owner))); /* and no watch tells */
    answer_visit();
    CHECK((owner->notices & TOLD(LOST)) != 0);
    end_with(owner);
}

/* The first is not answered before the next is due. */
static void there_is_one_visit_at_a_time(void) {
    struct owner *owner;
    bench_begin();
    struct zkli_dir *dir = lose_create(&owner);
    serve_all();
    advance(T / 2);
    serve_all();
    cut_and_connect(0);
    int64_t connected_ns = Bench.now_ns;
    while (!is_under_way(dir)) {
        serve_all();
        advance(100 * MS);
    }
    const size_t lists = Bench.sent[LIST];
    while (Bench.now_ns < connected_ns + T + T / 4) {
        while (Bench.request_count > 2) { /* but for those of the visit */
            struct request request = take(2);
            serve_request(&request);
        }
        advance(100 * MS);
    }
    CHECK_INT(Bench.sent[LIST], lists);
    CHECK(is_under_way(dir) && zkli_timer_is_set(&dir->visit.timer));
    end_with(owner);
}

static void a_session_that_rests_sends_heartbeats_for_it(void) {
    struct owner *owner;
    bench_begin();
    struct zkli_dir *dir = lose_create(&owner);
    serve_all();
    release(owner);
    while (!is_under_way(dir)) {
        serve_all();
        CHECK(zkli_timer_is_set(&dir->visit.timer));
        advance(100 * MS);
    }
    CHECK(zkli_heartbeat_is_in_flight(Bench.engine));
    end_with(owner);
}

/* The create comes late, or never. */
static void visits_follow_until_what_a_stalled_server_has_sent_can_come_no_more(void) {
    static const int late[] = {1, 2, 3, 5, 7};
    for (size_t i = 0; i < COUNT(late); i++) {
        struct owner *owner;
        bench_begin();
        struct zkli_dir *dir = lose_create(&owner);
        const int64_t lost_ns = Bench.now_ns;
        serve_all();
        release(owner);
        pass(late[i] * T + T / 2);
        CHECK(Bench.now_ns - lost_ns >= late[i] * T);
        REQUIRE(zkli_timer_is_set(&dir->visit.timer));
        const char *orphan = plant_with_our_tag(Bench.last_session);
        const size_t lists = Bench.sent[LIST];
        while (tiny_find(&Bench.server, orphan) != NULL && Bench.now_ns < lost_ns + 9 * T)
            pass(T / 10);
        CHECK(tiny_find(&Bench.server, orphan) == NULL);
        CHECK_INT(Bench.sent[LIST], lists + 1);
        CHECK(Bench.now_ns - lost_ns <= (2 * late[i] + 1) * T + T / 2);
        come_to_rest();
        bench_end();
    }
}

static void a_refusal_is_logged_with_the_first_visit_only(void) {
    struct owner *owner;
    struct zkli_dir *dir = begin_visit(&owner, T_MS);
    for (int i = 0; i < 3; i++) {
        answer_barrier_of_visit(ZKLI_RESULT_OK);
        answer_next(LIST, ZKLI_RESULT_ERROR);
        CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1);
        while (!is_under_way(dir)) {
            serve_all();
            advance(100 * MS);
        }
    }
    end_with(owner);
}

/* The next visit is due already, or only long after: the sooner of the two counts. */
static void a_repeated_visit_comes_at_the_sooner_of_two_times(void) {
    for (unsigned way = 0; way < 2; way++) {
        struct owner *owner;
        struct zkli_dir *dir = begin_visit(&owner, T_MS);
        const int64_t due_ns = Bench.now_ns + (way == 0 ? 300 : 5000) * MS;
        zkli_timer_set(&Bench.engine->timers, &dir->visit.timer, due_ns);
        answer_barrier_of_visit(ZKLI_RESULT_OK);
        answer_next(LIST, ZKLI_RESULT_AGAIN);
        CHECK(dir->visit.timer.at_ns == (way == 0 ? due_ns : Bench.now_ns + 1000 * MS));
        end_with(owner);
    }
}

/* Ours that no member has, while a member's node is gone and its watch has not fired: as many nodes
 * as members. A try's listing does not see it, a visit's does. */
static void a_visit_finds_what_the_count_overlooks(void) {
    struct owner *owner;
    struct zkli_dir *dir = begin_visit(&owner, T_MS);
    struct request barrier = serve_until(BARRIER);
    serve_request(&barrier);
    const char *orphan = plant_with_our_tag(Bench.last_session);
    (void)tiny_remove(&Bench.server, path_of(owner));
    release(owner);
    REQUIRE(owner->member != NULL);
    const size_t reads = Bench.sent[GET];
    struct owner *try = NULL;
    REQUIRE(enter_queue("a", true, &try) == ZKL_OK);
    struct request lists[2] = {{0}};
    size_t count = 0;
    for (size_t i = 0; i < Bench.request_count;)
        if (Bench.requests[i].kind == LIST && count < 2)
            lists[count++] = take(i);
        else
            i++;
    REQUIRE_INT(count, 2);
    serve_request(&lists[1]);
    CHECK_INT(Bench.sent[GET], reads + 1);
    CHECK(is_under_way(dir));
    serve_request(&lists[0]);
    CHECK(!is_under_way(dir));
    CHECK_INT(Bench.sent[GET], reads + 1);
    come_to_rest();
    CHECK(tiny_find(&Bench.server, orphan) == NULL);
    bench_end();
}

/* The directory lives as long as the visit does. */
static void a_visit_outlives_the_last_member(void) {
    struct owner *owner;
    struct zkli_dir *dir = begin_visit(&owner, T_MS);
    struct request barrier = serve_until(BARRIER), list = serve_until(LIST);
    release(owner);
    serve_all();
    CHECK(owner->member == NULL);
    CHECK(is_under_way(dir) && dir->member_count == 0);
    serve_request(&barrier);
    const char *orphan = plant_with_our_tag(Bench.last_session);
    serve_request(&list);
    serve_all();
    CHECK(tiny_find(&Bench.server, orphan) == NULL);
    bench_end();
}

/* In whichever bucket the directory is, and whether a visit is expected or under way. */
static void what_a_session_expected_ends_with_it(void) {
    static const size_t buckets[] = {0, 1, ZKLI_BUCKETS - 1};
    for (size_t i = 0; i < COUNT(buckets); i++) {
        char name[BENCH_NAME_SIZE];
        bench_begin();
        name_in_bucket(buckets[i], 0, 1, name);
        struct owner *owner = begin(name);
        struct zkli_dir *dir = owner->member->dir;
        zkli_orphans_expect(dir);
        CHECK(zkli_timer_is_set(&dir->visit.timer));
        expire();
        CHECK(!zkli_timer_is_set(&dir->visit.timer));
        bench_connect();
        come_to_rest();
        CHECK_INT(owner->grants, 1);
        bench_end();

        struct owner *visitor;
        dir = begin_visit(&visitor, T_MS);
        struct owner *waiter = begin("a"); /* keeps the directory */
        expire();
        CHECK(!is_under_way(dir) && !zkli_timer_is_set(&dir->visit.timer));
        bench_connect();
        serve_all();
        zkli_orphans_expect(dir);
        for (int64_t passed = 0; passed < 10 * T; passed += 100 * MS) {
            advance(100 * MS);
            serve_all();
        }
        CHECK(!is_under_way(dir) && !zkli_timer_is_set(&dir->visit.timer));
        CHECK((visitor->notices & TOLD(LOST)) != 0);
        CHECK_INT(waiter->grants, 1);
        bench_end();
    }
}

/* Whatever is in flight or in line of it. */
static void a_visit_that_is_in_line_ends_with_the_session(void) {
    struct owner *owner;
    bench_begin();
    struct zkli_dir *dir = lose_create(&owner);
    while (Bench.now_ns + 100 * MS < dir->visit.timer.at_ns) {
        serve_all();
        advance(100 * MS);
    }
    serve_all();
    fill_window();
    advance(dir->visit.timer.at_ns - Bench.now_ns);
    CHECK(is_under_way(dir));
    CHECK(zkli_list_is_linked(&dir->visit.barrier.work.link));
    expire();
    CHECK((owner->notices & TOLD(LOST)) != 0);
    CHECK(zkli_list_is_empty(&Bench.engine->visits));
    CHECK(zkli_list_is_empty(&Bench.engine->work));
    end_all();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"heartbeats go on during a visit", heartbeats_go_on_during_a_visit},
        {"a lost create is looked for once the timeout has passed",
         a_lost_create_is_looked_for_once_the_timeout_has_passed},
        {"on a younger connection there is another visit",
         on_a_younger_connection_there_is_another_visit},
        {"what comes after a visit is for its answers to say",
         what_comes_after_a_visit_is_for_its_answers_to_say},
        {"the last visit is that after eight timeouts",
         the_last_visit_is_that_after_eight_timeouts},
        {"a visit that misses a hold's node ends the hold",
         a_visit_that_misses_a_hold_s_node_ends_the_hold},
        {"there is one visit at a time", there_is_one_visit_at_a_time},
        {"a session that rests sends heartbeats for it",
         a_session_that_rests_sends_heartbeats_for_it},
        {"visits follow until what a stalled server has sent can come no more",
         visits_follow_until_what_a_stalled_server_has_sent_can_come_no_more},
        {"a refusal is logged with the first visit only",
         a_refusal_is_logged_with_the_first_visit_only},
        {"a repeated visit comes at the sooner of two times",
         a_repeated_visit_comes_at_the_sooner_of_two_times},
        {"a visit finds what the count overlooks", a_visit_finds_what_the_count_overlooks},
        {"a visit outlives the last member", a_visit_outlives_the_last_member},
        {"a visit that is in line ends with the session",
         a_visit_that_is_in_line_ends_with_the_session},
        {"what a session expected ends with it", what_a_session_expected_ends_with_it},
    };
    return TEST_MAIN(argc, argv, "engine_visits", cases);
}
