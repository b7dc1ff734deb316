/* What a heartbeat looks for, and what an answer to it is worth. */
#include "unit/engine_bench.h"

/* The heartbeat that is due, taken from what is in flight; everything before it is served. */
static struct request next_beat(void) {
    for (int i = 0; i < 10; i++) {
        serve_all();
        advance(T_MS / 50 * MS);
        if (Bench.request_count > 0 && Bench.requests[0].kind == BARRIER)
            break;
    }
    return serve_until(BARRIER);
}

/* Only a transaction that succeeds is surely in the servers' logs, and it needs a node of ours. */
static void a_heartbeat_looks_for_a_node_of_ours(void) {
    bench_begin();
    struct owner *first = begin("a");
    struct request beat = serve_until(BARRIER);
    CHECK_STRING(beat.path, "");
    serve_request(&beat);
    serve_all();
    CHECK_INT(first->grants, 1);
    struct owner *second = begin("a");
    serve_all();
    beat = next_beat();
    CHECK_STRING(beat.path, path_of(first));
    serve_request(&beat);
    Bench.refused = 1u << REMOVE; /* it is leaving for a while */
    release(first);
    beat = next_beat();
    CHECK_STRING(beat.path, path_of(second));
    Bench.refused = 0;
    serve_request(&beat);
    bench_end();
}

/* The watch on a node that was first in the first listing is set with a heartbeat. */
static void begin_watched(void) {
    struct request beat = next_beat();
    serve_request(&beat);
    serve_all();
}

/* Whatever has become of their watches. */
static void the_nodes_are_looked_for_in_turn(void) {
    bench_begin();
    struct owner *first = hold("a"), *second = hold("b");
    begin_watched();
    REQUIRE(second->member->core.own_watch == ZKLI_WATCHED);
    (void)tiny_remove(&Bench.server, path_of(second)); /* and no watch tells */
    for (int i = 0; i < 2; i++) {
        struct request beat = next_beat();
        serve_request(&beat);
    }
    CHECK((second->notices & TOLD(LOST)) != 0);
    CHECK(zkli_member_is_held(first->member));
    bench_end();
}

static void check_next_beat(struct owner *owner) {
    struct request beat = next_beat();
    CHECK_STRING(beat.path, path_of(owner));
    serve_request(&beat);
    serve_all();
}

static void a_new_node_waits_for_its_turn(void) {
    bench_begin();
    struct owner *first = hold("a"), *second = hold("b");
    begin_watched();
    check_next_beat(second);
    struct owner *third = hold("c");
    check_next_beat(first);
    check_next_beat(second);
    check_next_beat(third);
    end_all();
}

static void a_sync_looks_for_no_node(void) {
    struct owner *owner = wait_behind_another();
    pass(2 * T_MS * MS);
    REQUIRE(Bench.engine->pace == ZKLI_PACE_SYNCS);
    const int64_t asked_ns = owner->member->asked_ns;
    const size_t syncs = Bench.sent[SYNC];
    pass(T_MS * MS);
    CHECK(Bench.sent[SYNC] > syncs);
    CHECK_INT(owner->member->asked_ns, asked_ns);
    end_all();
}

static void refuse_beats(enum zkli_result result, int code, int times) {
    for (int i = 0; i < times; i++) {
        struct request beat = next_beat();
        struct zkli_reply reply = {.result = result, .code = code, .data = ""};
        tell_reply(beat.slot, &reply);
    }
}

static void a_refused_heartbeat_proves_nothing_and_is_told_once(void) {
    static const enum zkli_result results[] = {ZKLI_RESULT_DENIED, ZKLI_RESULT_ERROR,
                                               ZKLI_RESULT_AGAIN, ZKLI_RESULT_EXISTS};
    for (size_t i = 0; i < COUNT(results); i++) {
        bench_begin();
        struct owner *owner = hold("a");
        int64_t end_ns = Bench.engine->lease.certain_until_ns;
        refuse_beats(results[i], -102, 3);
        CHECK_INT(Bench.engine->lease.certain_until_ns, end_ns);
        CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
        CHECK(strstr(Bench.last_line, "-102") != NULL);
        refuse_beats(results[i], -6, 1);
        CHECK_INT(Bench.lines[ZKL_LOG_WARN], 2);
        struct request beat = next_beat();
        serve_request(&beat);
        refuse_beats(results[i], -6, 1); /* again, after one that was not */
        CHECK_INT(Bench.lines[ZKL_LOG_WARN], 3);
        advance(end_ns - Bench.now_ns);
        CHECK((owner->notices & TOLD(LOST)) != 0);
        bench_end();
    }
}

/* The permission may have gone, and others may have it still. */
static void a_node_that_may_not_be_looked_at_is_not_asked_for_again(void) {
    bench_begin();
    struct owner *first = hold("a"), *second = hold("b");
    refuse_beats(ZKLI_RESULT_DENIED, -102, 1);
    struct request beat = next_beat();
    CHECK_STRING(beat.path, path_of(second));
    struct zkli_reply refusal = {.result = ZKLI_RESULT_DENIED, .code = -102, .data = ""};
    tell_reply(beat.slot, &refusal);
    beat = next_beat();
    CHECK_STRING(beat.path, "");
    serve_request(&beat);
    for (int i = 0; i < 30; i++) {
        beat = next_beat();
        CHECK_STRING(beat.path, "");
        serve_request(&beat);
    }
    CHECK(zkli_member_is_held(first->member) && zkli_member_is_held(second->member));
    struct owner *third = hold("c"); /* a node that nobody has refused */
    beat = next_beat();
    CHECK_STRING(beat.path, path_of(third));
    serve_request(&beat);
    bench_end();
}

/* Nothing tells of its end then, but a read. */
static void a_hold_whose_node_may_not_be_looked_at_asks_whether_it_is_there(void) {
    bench_begin();
    struct owner *owner = hold("a");
    begin_watched();
    REQUIRE(owner->member->core.own_watch == ZKLI_WATCHED);
    refuse_beats(ZKLI_RESULT_DENIED, -102, 1);
    answer_next(GET, ZKLI_RESULT_DENIED); /* asked at once, in case that it is marked */
    struct request beat = next_beat();
    answer_next(GET, ZKLI_RESULT_DENIED);
    serve_request(&beat);
    CHECK(zkli_member_is_held(owner->member));
    (void)tiny_remove(&Bench.server, path_of(owner));
    beat = next_beat();
    serve_request(&beat);
    serve_all();
    CHECK((owner->notices & TOLD(LOST)) != 0);
    bench_end();
}

static void a_wait_whose_node_may_not_be_looked_at_is_denied(void) {
    bench_begin();
    struct owner *holder = hold("a"), *waiter = begin("a");
    serve_all();
    begin_watched(); /* it looks for the holder's node */
    refuse_beats(ZKLI_RESULT_DENIED, -102, 1);
    answer_next(GET, ZKLI_RESULT_DENIED);
    CHECK_INT(waiter->error, ZKL_DENIED);
    CHECK(zkli_member_is_held(holder->member));
    end_all();
}

static void a_node_of_a_busy_server_is_asked_for_again(void) {
    bench_begin();
    struct owner *owner = hold("a");
    refuse_beats(ZKLI_RESULT_AGAIN, -127, 1);
    struct request beat = next_beat();
    CHECK_STRING(beat.path, path_of(owner));
    serve_request(&beat);
    bench_end();
}

/* Whatever has become of the watch: the server has looked. */
static void a_node_that_a_heartbeat_misses_is_gone(void) {
    bench_begin();
    struct owner *holder = hold("a"), *waiter = begin("a");
    serve_all();
    (void)tiny_remove(&Bench.server, path_of(holder)); /* and no watch tells */
    struct request beat = next_beat();
    serve_request(&beat);
    CHECK((holder->notices & TOLD(LOST)) != 0);
    (void)tiny_remove(&Bench.server, path_of(waiter));
    beat = next_beat();
    serve_request(&beat);
    CHECK((waiter->notices & TOLD(REQUEUED)) != 0);
    come_to_rest();
    CHECK_INT(waiter->grants, 1);
    beat = next_beat(); /* it has another node since */
    CHECK_STRING(beat.path, path_of(waiter));
    serve_request(&beat);
    bench_end();
}

static void answer_missed(const struct request *beat) {
    struct zkli_reply missed = {.result = ZKLI_RESULT_NO_NODE, .code = -101, .data = ""};
    tell_reply(beat->slot, &missed);
}

/* It has taken another place, is granted, and its node is what the next heartbeat looks for. */
static void check_is_asked_for(struct owner *owner) {
    come_to_rest();
    CHECK_INT(owner->grants, 1);
    struct request beat = next_beat();
    CHECK_STRING(beat.path, path_of(owner));
    serve_request(&beat);
}

/* The watch has told of the end, and a new place is being taken. */
static void a_miss_that_is_told_late_is_not_the_next_nodes(void) {
    bench_begin();
    struct owner *holder = hold("a"), *waiter = begin("a");
    serve_all();
    refuse_beats(ZKLI_RESULT_DENIED, -102, 1); /* the holder's node */
    struct request beat = next_beat();
    CHECK_STRING(beat.path, path_of(waiter));
    delete_node(beat.path);
    answer_missed(&beat);
    release(holder);
    check_is_asked_for(waiter);
    bench_end();
}

/* The listing that is under way will not show the node. */
static void nor_is_one_that_is_told_in_a_flight(void) {
    bench_begin();
    struct owner *first = hold("a"); /* makes the directory */
    release(first);
    serve_all();
    struct owner *owner = begin("a");
    serve_next(); /* its create */
    struct request list = take(0), beat = next_beat();
    CHECK_STRING(beat.path, path_of(owner));
    (void)tiny_remove(&Bench.server, beat.path);
    answer_missed(&beat);
    serve_request(&list);
    check_is_asked_for(owner);
    bench_end();
}

static void an_answer_finds_its_member_gone(void) {
    static const enum zkli_result results[] = {ZKLI_RESULT_OK, ZKLI_RESULT_DENIED,
                                               ZKLI_RESULT_NO_NODE, ZKLI_RESULT_LOST};
    for (size_t i = 0; i < COUNT(results); i++) {
        bench_begin();
        struct owner *owner = hold("a");
        struct request beat = next_beat();
        release(owner);
        serve_all();
        CHECK(owner->member == NULL);
        CHECK(Bench.engine->slots[beat.slot].member == NULL);
        answer(&beat, results[i]);
        come_to_rest();
        bench_end();
    }
}

/* ---- What is told ---- */

static void that_nothing_is_committed_is_told_once(void) {
    bench_begin();
    for (size_t told = 1; told <= 2; told++) {
        (void)begin("h");
        serve_all();
        advance(T_MS * MS - 1);
        CHECK_INT(Bench.lines[ZKL_LOG_WARN], told - 1);
        advance(1);
        CHECK_INT(Bench.lines[ZKL_LOG_WARN], told);
        CHECK(strstr(Bench.last_line, "no heartbeat has been committed for 10000 ms") != NULL);
        advance(3 * T_MS * MS);
        CHECK_INT(Bench.lines[ZKL_LOG_WARN], told);
        serve_all();
    }
    bench_end();
}

static void without_a_connection_it_is_told_later(void) {
    for (int sixteenths = 15; sixteenths <= 32;
         sixteenths += 17) { /* before it was due, and after */
        bench_begin();
        (void)hold("h");
        cut(0);
        advance(T_MS * MS / 16 * sixteenths);
        CHECK_INT(Bench.lines[ZKL_LOG_WARN], 0);
        bench_connect();
        advance(T_MS * MS / 4 - 1);
        CHECK_INT(Bench.lines[ZKL_LOG_WARN], 0);
        advance(1);
        CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
        serve_all();
        bench_end();
    }
}

/* Of a quarter of T on, which is as long as the servers then have. */
static void a_process_that_stood_still_blames_no_server(void) {
    bench_begin();
    (void)hold("h");
    zkli_engine_late(Bench.engine, T_MS * MS / 4 - 1);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 0);
    Bench.now_ns += 3 * T_MS * MS;
    zkli_engine_enter(Bench.engine);
    zkli_engine_late(Bench.engine, 2 * T_MS * MS);
    CHECK_STRING(Bench.last_line, "this process stood still for 20000 ms");
    advance(T_MS * MS / 4 - 1);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
    advance(1);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 2);
    CHECK(strstr(Bench.last_line, "no heartbeat has been committed") != NULL);
    serve_all();
    bench_end();
}

/* A busy machine makes a process late, and a short T has short quarters. */
static void less_than_a_second_is_not_worth_a_word(void) {
    bench_begin();
    Bench.engine->timeout_ms = 1000;
    zkli_engine_late(Bench.engine, 1000 * MS - 1);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 0);
    zkli_engine_late(Bench.engine, 1000 * MS);
    CHECK_STRING(Bench.last_line, "this process stood still for 1000 ms");
    bench_end();
}

static void a_session_that_rests_does_not_miss_heartbeats(void) {
    bench_begin();
    advance(T_MS * MS / 16);
    advance(3 * T_MS * MS);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 0);
    struct owner *owner = begin("a");
    advance(T_MS * MS);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
    abandon(owner);
    come_to_rest();
    bench_end();
}

static void another_timeout_than_asked_for_is_told_once(void) {
    bench_start("/locks", false);
    Bench.engine->asked_timeout_ms = 3 * T_MS;
    bench_connect();
    CHECK_INT(Bench.lines[ZKL_LOG_INFO], 2); /* and that it is open */
    CHECK(strstr(Bench.last_line, "10000 ms instead of 30000 ms") != NULL);
    serve_all();
    cut_and_connect(0);
    serve_all();
    CHECK_INT(Bench.lines[ZKL_LOG_INFO], 3); /* that it is resumed */
    bench_end();
}

static const test_case Cases[] = {
    {"that nothing is committed is told once", that_nothing_is_committed_is_told_once},
    {"without a connection it is told later", without_a_connection_it_is_told_later},
    {"a session that rests does not miss heartbeats",
     a_session_that_rests_does_not_miss_heartbeats},
    {"a process that stood still blames no server", a_process_that_stood_still_blames_no_server},
    {"less than a second is not worth a word", less_than_a_second_is_not_worth_a_word},
    {"another timeout than asked for is told once", another_timeout_than_asked_for_is_told_once},
    {"a heartbeat looks for a node of ours", a_heartbeat_looks_for_a_node_of_ours},
    {"the nodes are looked for in turn", the_nodes_are_looked_for_in_turn},
    {"a new node waits for its turn", a_new_node_waits_for_its_turn},
    {"a sync looks for no node", a_sync_looks_for_no_node},
    {"a hold whose node may not be looked at asks whether it is there",
     a_hold_whose_node_may_not_be_looked_at_asks_whether_it_is_there},
    {"a wait whose node may not be looked at is denied",
     a_wait_whose_node_may_not_be_looked_at_is_denied},
    {"a refused heartbeat proves nothing, and is told once",
     a_refused_heartbeat_proves_nothing_and_is_told_once},
    {"a node that may not be looked at is not asked for again",
     a_node_that_may_not_be_looked_at_is_not_asked_for_again},
    {"a node of a busy server is asked for again", a_node_of_a_busy_server_is_asked_for_again},
    {"a node that a heartbeat misses is gone", a_node_that_a_heartbeat_misses_is_gone},
    {"a miss that is told late is not the next node's",
     a_miss_that_is_told_late_is_not_the_next_nodes},
    {"nor is one that is told in a flight", nor_is_one_that_is_told_in_a_flight},
    {"an answer finds its member gone", an_answer_finds_its_member_gone},
};

int main(int argc, char **argv) {
    return TEST_MAIN(argc, argv, "engine_beats", Cases);
}
