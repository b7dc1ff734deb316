/* The lease of those who have waited for long: kept by syncs, and made certain by a barrier. */
#include "unit/engine_bench.h"

#define T (T_MS * MS)

static void in_the_first_t_of_a_wait_the_lease_is_that_of_a_holder(void) {
    struct owner *owner = wait_behind_another();
    size_t barriers = Bench.sent[BARRIER];
    pass(T - 200 * MS);
    CHECK_RANGE(Bench.sent[BARRIER] - barriers, 14, 16);
    CHECK_INT(Bench.sent[SYNC], 0);
    barriers = Bench.sent[BARRIER];
    delete_node(OTHER_NODE);
    CHECK_INT(owner->grants, 1); /* the news is the grant */
    CHECK_INT(Bench.sent[BARRIER], barriers);
    release(owner);
    serve_all();
    bench_end();
}

static void then_there_are_syncs_and_no_writes(void) {
    struct owner *owner = wait_behind_another();
    pass(T + T / 16);
    const size_t barriers = Bench.sent[BARRIER], syncs = Bench.sent[SYNC];
    pass(10 * T);
    CHECK_INT(Bench.sent[BARRIER], barriers);
    CHECK_RANGE(Bench.sent[SYNC] - syncs, 60, 70); /* two each 0.295 T and a little */
    CHECK(!zkli_engine_is_certain(Bench.engine));
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 0);
    abandon(owner);
    serve_all();
    bench_end();
}

/* A hold that begins with what barriers have proved before: the next barrier is not long in coming,
 * as the next sync would be. */
static void a_hold_that_begins_then_begins_with_a_barrier(void) {
    struct owner *owner = wait_behind_another();
    while (Bench.sent[SYNC] == 0)
        pass(10 * MS);
    const size_t barriers = Bench.sent[BARRIER];
    delete_node(OTHER_NODE);
    CHECK_INT(owner->grants, 1);
    CHECK_INT(Bench.sent[BARRIER], barriers + 1);
    release(owner);
    serve_all();
    bench_end();
}

/* At any moment between two pairs. */
static void one_barrier_makes_the_lease_ample(void) {
    for (int64_t ns = 0; ns < T / 3; ns += 20 * MS) {
        struct owner *owner = wait_behind_another();
        pass(4 * T + ns);
        const size_t barriers = Bench.sent[BARRIER];
        delete_node(OTHER_NODE);
        CHECK_INT(owner->grants, 0);
        serve_all(); /* a sync may be in flight, too */
        CHECK_INT(Bench.sent[BARRIER], barriers + 1);
        CHECK_INT(owner->grants, 1);
        pass(3 * T);
        CHECK(zkli_member_is_held(owner->member));
        release(owner);
        serve_all();
        bench_end();
    }
}

/* What a barrier cannot make good: no answer to syncs for long. The lease lapses. */
static void behind_a_stall_it_takes_a_timeout_and_a_first_proof(void) {
    struct owner *owner = wait_behind_another();
    pass(4 * T);
    advance(T); /* a sync is not answered */
    serve_all();
    delete_node(OTHER_NODE);
    pass(T);
    CHECK_INT(owner->grants, 0);
    pass(T * 6 / 10);
    CHECK_INT(owner->grants, 1);
    bench_end();
}

static void who_comes_to_those_who_wait_brings_barriers(void) {
    struct owner *waiter = wait_behind_another();
    pass(4 * T);
    size_t barriers = Bench.sent[BARRIER], syncs = Bench.sent[SYNC];
    struct owner *owner = begin("b");
    CHECK_INT(Bench.sent[BARRIER], barriers + 1);
    serve_all();
    CHECK_INT(owner->grants, 1);
    pass(T);
    CHECK_RANGE(Bench.sent[BARRIER] - barriers, 15, 18);
    CHECK_INT(Bench.sent[SYNC], syncs);
    release(owner);
    pass(T);
    CHECK_RANGE(Bench.sent[SYNC] - syncs, 5, 8);
    abandon(waiter);
    serve_all();
    bench_end();
}

static void await_request(void) {
    const int64_t end_ns = Bench.now_ns + T;
    while (Bench.request_count == 0 && Bench.now_ns < end_ns)
        advance(10 * MS);
    REQUIRE_INT(Bench.request_count, 1);
}

/* A heartbeat that is in flight is not late, and there is one at a time. */
static void who_comes_while_a_sync_is_in_flight_waits_for_its_answer(void) {
    (void)wait_behind_another();
    pass(4 * T);
    await_request();
    const size_t barriers = Bench.sent[BARRIER];
    struct owner *owner = begin("b");
    CHECK_INT(Bench.sent[BARRIER], barriers);
    CHECK(!zkli_timer_is_set(&Bench.engine->look));
    serve_all();
    CHECK_INT(Bench.sent[BARRIER], barriers + 1);
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* The next one has to be answered by the new server. */
static void a_pair_is_of_one_connection(void) {
    (void)wait_behind_another();
    pass(4 * T);
    for (size_t answered = 0; answered < 2; answered++) {
        await_request();
        if (answered == 1)
            serve_next();
        CHECK_INT(Bench.request_count, 1);
        cut_and_connect(0);
        await_request();
        serve_next();
        CHECK_INT(Bench.request_count, 1);
        serve_next();
        CHECK_INT(Bench.request_count, 0);
    }
    serve_all();
    bench_end();
}

/* Who waits has time. */
static void syncs_of_a_new_connection_are_in_no_hurry(void) {
    (void)wait_behind_another();
    pass(4 * T);
    cut_and_connect(0);
    const size_t syncs = Bench.sent[SYNC];
    pass(T);
    CHECK_RANGE(Bench.sent[SYNC] - syncs, 6, 8);
    bench_end();
}

/* The leader may take the session to be on another server, and answers syncs all the same. */
static void on_a_connection_that_follows_another_there_are_a_few_barriers(void) {
    (void)wait_behind_another();
    pass(4 * T);
    cut_and_connect(0);
    serve_all();
    const int64_t begun_ns = Bench.now_ns;
    for (int64_t due_ns = T; due_ns < 20 * T; due_ns = 2 * (Bench.now_ns - begun_ns)) {
        const size_t barriers = Bench.sent[BARRIER];
        while (Bench.sent[BARRIER] == barriers && Bench.now_ns - begun_ns < 40 * T)
            pass(10 * MS);
        CHECK_RANGE(Bench.now_ns - begun_ns, due_ns - 10 * MS, due_ns + T / 3); /* the next pair */
    }
    bench_end();
}

/* It is not asked again and again what is refused. */
static void a_barrier_among_syncs_that_is_refused_is_not_sent_again_soon(void) {
    (void)wait_behind_another();
    pass(4 * T);
    cut_and_connect(0);
    const size_t barriers = Bench.sent[BARRIER];
    for (const int64_t end_ns = Bench.now_ns + 2 * T;
         Bench.sent[BARRIER] == barriers && Bench.now_ns < end_ns;) {
        serve_all();
        advance(10 * MS);
    }
    REQUIRE_INT(Bench.sent[BARRIER], barriers + 1);
    answer_next(BARRIER, ZKLI_RESULT_DENIED);
    pass(T - T / 3);
    CHECK_INT(Bench.sent[BARRIER], barriers + 1);
    bench_end();
}

static void who_comes_then_does_not_wait_for_the_first_of_them(void) {
    bench_start("/locks", true);
    bench_connect();
    pass(5 * T);
    cut_and_connect(0);
    CHECK_INT(Bench.request_count, 0);
    const size_t barriers = Bench.sent[BARRIER];
    (void)begin("a");
    CHECK_INT(Bench.sent[BARRIER], barriers + 1);
    serve_all();
    bench_end();
}

static void a_new_session_is_asked_at_once(void) {
    bench_start("/locks", true);
    bench_connect();
    pass(5 * T);
    expire();
    const size_t syncs = Bench.sent[SYNC];
    bench_connect();
    CHECK_INT(Bench.sent[SYNC], syncs + 1);
    serve_all();
    bench_end();
}

/* A thousand sessions that lose their server do not all ask the next one at once. */
static void a_new_connection_is_not_asked_at_once(void) {
    int64_t first_ns = T, last_ns = 0;
    size_t between = 0;
    for (int i = 0; i < 40; i++) {
        (void)wait_behind_another();
        pass(4 * T);
        cut_and_connect(0);
        CHECK_INT(Bench.request_count, 0);
        int64_t begun_ns = Bench.now_ns;
        while (Bench.request_count == 0 && Bench.now_ns < begun_ns + T)
            advance(10 * MS);
        CHECK(Bench.requests[0].kind == SYNC);
        int64_t after_ns = Bench.now_ns - begun_ns;
        first_ns = after_ns < first_ns ? after_ns : first_ns;
        last_ns = after_ns > last_ns ? after_ns : last_ns;
        between += after_ns > T / 32 && after_ns < T * 3 / 32;
        serve_all();
        bench_end();
    }
    CHECK_RANGE(first_ns, 0, T / 50);
    CHECK_RANGE(between, 10, 30);
    CHECK_RANGE(last_ns, T / 9 + 20 * MS, T / 8 + 10 * MS);
}

static void a_sync_that_is_refused_is_sent_again_after_a_while(void) {
    static const enum zkli_result results[] = {ZKLI_RESULT_AGAIN, ZKLI_RESULT_ERROR,
                                               ZKLI_RESULT_LOST};
    for (size_t i = 0; i < COUNT(results); i++) {
        struct owner *owner = wait_behind_another();
        pass(4 * T);
        while (Bench.request_count == 0)
            advance(10 * MS);
        answer_next(SYNC, results[i]);
        CHECK_INT(Bench.request_count, 0);
        size_t syncs = Bench.sent[SYNC];
        advance(T / 20);
        CHECK_INT(Bench.sent[SYNC], syncs);
        advance(T / 50);
        CHECK_INT(Bench.sent[SYNC], syncs + 1);
        serve_all();
        pass(T);
        delete_node(OTHER_NODE);
        serve_all();
        CHECK_INT(owner->grants, results[i] != ZKLI_RESULT_LOST);
        bench_end();
    }
}

/* Perhaps there has been another connection since, to another leader. */
static void after_a_sync_that_is_lost_it_takes_another_proof(void) {
    struct owner *owner = wait_behind_another();
    pass(4 * T);
    await_request();
    answer_next(SYNC, ZKLI_RESULT_LOST);
    CHECK(Bench.engine->lease.heard_until_ns <= Bench.now_ns);
    delete_node(OTHER_NODE);
    pass(T);
    CHECK_INT(owner->grants, 0);
    pass(T * 6 / 10);
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* The only sign of a new connection may be its timeout. */
static void after_another_timeout_it_takes_another_proof(void) {
    for (int tenths = 9; tenths <= 11; tenths++) {
        struct owner *owner = wait_behind_another();
        pass(4 * T);
        await_request();
        Bench.timeout_ms = T_MS * tenths / 10;
        answer_next(SYNC, ZKLI_RESULT_OK);
        CHECK((Bench.engine->lease.heard_until_ns <= Bench.now_ns) == (tenths != 10));
        delete_node(OTHER_NODE);
        serve_all();
        CHECK_INT(owner->grants, tenths == 10);
        bench_end();
    }
}

/* What syncs and a barrier have made certain lasts until another proof is due. But a doubt leaves
 * no time for that. */
static void an_answer_that_is_lost_soon_after_makes_the_lease_less(void) {
    struct owner *owner = wait_behind_another();
    pass(4 * T);
    struct owner *other = begin("b");
    serve_all();
    CHECK_INT(other->grants, 1);
    CHECK_INT(Bench.engine->lease_grade, ZKLI_LEASE_AMPLE);
    advance(T / 16);
    answer_next(BARRIER, ZKLI_RESULT_LOST);
    CHECK_INT(Bench.engine->lease_grade, ZKLI_LEASE_CERTAIN);
    CHECK(zkli_member_is_held(other->member));
    CHECK_INT(owner->grants, 0);
    serve_all();
    bench_end();
}

/* The next connection is told. */
static void an_answer_that_is_lost_with_the_connection_is_no_doubt(void) {
    (void)wait_behind_another();
    pass(4 * T);
    await_request();
    const int64_t heard_until_ns = Bench.engine->lease.heard_until_ns;
    cut(0);
    CHECK(Bench.engine->lease.heard_until_ns == heard_until_ns);
    bench_end();
}

/* What barriers have proved is true of any connection. */
static void where_there_are_barriers_only_it_does_not(void) {
    struct owner *owner = wait_behind_another();
    pass(T / 2);
    const size_t heartbeats = Bench.engine->lease.heartbeat_count;
    await_request();
    answer_next(BARRIER, ZKLI_RESULT_LOST);
    CHECK_INT(Bench.engine->lease.heartbeat_count, heartbeats);
    delete_node(OTHER_NODE);
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* The session may have been taken for due before the barrier, and before the new connection. */
static void after_a_lapse_the_time_begins_again_with_it(void) {
    (void)wait_behind_another();
    pass(4 * T);
    advance(T); /* a sync is not answered: a lapse */
    serve_all();
    pass(T * 3 / 4);                  /* there is a proof, which does not count yet */
    struct owner *other = begin("b"); /* brings barriers, and leaves */
    serve_all();
    abandon(other);
    serve_all();
    for (const int64_t end_ns = Bench.now_ns + T;
         (Bench.request_count == 0 || Bench.requests[0].kind != SYNC) && Bench.now_ns < end_ns;) {
        serve_all();
        advance(10 * MS);
    }
    CHECK(!zkli_engine_is_certain(Bench.engine));
    answer_next(SYNC, ZKLI_RESULT_LOST);
    CHECK(Bench.engine->lease.heard_until_ns > Bench.now_ns); /* by the barriers */
    CHECK(Bench.engine->lease.counts_from_ns == Bench.now_ns + T);
    serve_all();
    bench_end();
}

/* How many in T, each of which takes so long. */
static size_t syncs_that_take(int64_t ns) {
    (void)wait_behind_another();
    pass(T + T / 4);
    const int64_t end_ns = Bench.now_ns + T;
    const size_t syncs = Bench.sent[SYNC];
    while (Bench.now_ns < end_ns) {
        bool is_sent = Bench.request_count > 0;
        advance(is_sent ? ns : MS);
        if (is_sent)
            serve_next();
    }
    size_t count = Bench.sent[SYNC] - syncs;
    serve_all();
    bench_end();
    return count;
}

static void syncs_that_take_long_come_one_by_one(void) {
    CHECK_RANGE(syncs_that_take(T / 400), 6, 8);
    CHECK_RANGE(syncs_that_take(T / 400 + 1), 15, 17);
    CHECK_RANGE(syncs_that_take(T / 20), 15, 17);
}

static void a_sync_that_is_refused_says_nothing_of_a_node(void) {
    struct owner *owner = wait_behind_another();
    pass(4 * T);
    await_request();
    answer_next(SYNC, ZKLI_RESULT_ERROR);
    delete_node(OTHER_NODE);
    struct request barrier = serve_until(BARRIER);
    CHECK_STRING(barrier.path, path_of(owner));
    serve_request(&barrier);
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"in the first T of a wait the lease is that of a holder",
         in_the_first_t_of_a_wait_the_lease_is_that_of_a_holder},
        {"then there are syncs, and no writes", then_there_are_syncs_and_no_writes},
        {"a hold that begins then begins with a barrier",
         a_hold_that_begins_then_begins_with_a_barrier},
        {"one barrier makes the lease ample", one_barrier_makes_the_lease_ample},
        {"behind a stall it takes a timeout and a first proof",
         behind_a_stall_it_takes_a_timeout_and_a_first_proof},
        {"who comes to those who wait brings barriers",
         who_comes_to_those_who_wait_brings_barriers},
        {"who comes while a sync is in flight waits for its answer",
         who_comes_while_a_sync_is_in_flight_waits_for_its_answer},
        {"a pair is of one connection", a_pair_is_of_one_connection},
        {"syncs of a new connection are in no hurry", syncs_of_a_new_connection_are_in_no_hurry},
        {"on a connection that follows another there are a few barriers",
         on_a_connection_that_follows_another_there_are_a_few_barriers},
        {"a barrier among syncs that is refused is not sent again soon",
         a_barrier_among_syncs_that_is_refused_is_not_sent_again_soon},
        {"a new session is asked at once", a_new_session_is_asked_at_once},
        {"a new connection is not asked at once", a_new_connection_is_not_asked_at_once},
        {"who comes then does not wait for the first of them",
         who_comes_then_does_not_wait_for_the_first_of_them},
        {"a sync that is refused is sent again after a while",
         a_sync_that_is_refused_is_sent_again_after_a_while},
        {"after a sync that is lost it takes another proof",
         after_a_sync_that_is_lost_it_takes_another_proof},
        {"after another timeout it takes another proof",
         after_another_timeout_it_takes_another_proof},
        {"an answer that is lost soon after makes the lease less",
         an_answer_that_is_lost_soon_after_makes_the_lease_less},
        {"an answer that is lost with the connection is no doubt",
         an_answer_that_is_lost_with_the_connection_is_no_doubt},
        {"where there are barriers only it does not", where_there_are_barriers_only_it_does_not},
        {"after a lapse the time begins again with it",
         after_a_lapse_the_time_begins_again_with_it},
        {"syncs that take long come one by one", syncs_that_take_long_come_one_by_one},
        {"a sync that is refused says nothing of a node",
         a_sync_that_is_refused_says_nothing_of_a_node},
    };
    return TEST_MAIN(argc, argv, "engine_syncs", cases);
}
