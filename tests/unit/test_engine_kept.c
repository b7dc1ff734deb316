/* A session that has rested is kept where no other is to be had in its place. */
#include "unit/engine_bench.h"

#define T (T_MS * MS)

static size_t syncs_of(int64_t ns) {
    size_t syncs = Bench.sent[SYNC];
    pass(ns);
    return Bench.sent[SYNC] - syncs;
}

/* Until a session is asked for, or none is any more. */
static int64_t time_until_asked(bool is_asked) {
    int64_t begun_ns = Bench.now_ns;
    while ((Bench.engine->succession.count > 0) != is_asked && Bench.now_ns - begun_ns < 21 * T)
        pass(T / 100);
    return Bench.now_ns - begun_ns;
}

/* After a rest, where a try, say, has ended and no session was to be had. */
static void begin_where_there_is_none(void) {
    bench_begin();
    pass(3 * T);
    abandon(begin("a"));
    CHECK_RANGE(time_until_asked(false), T / 2, T);
    CHECK_INT(Bench.port_count, 1 + ZKLI_SUCCESSORS_MAX);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
    CHECK(strstr(Bench.last_line, "it is kept") != NULL);
}

/* Its own lease would take longer to prove than a try lasts, each time. */
static void where_none_was_to_be_had_it_is_kept(void) {
    begin_where_there_is_none();
    CHECK_RANGE(syncs_of(3 * T), 18, 22);
    struct owner *owner = begin("a");
    serve_all();
    CHECK_INT(owner->grants, 1); /* a barrier is all it takes */
    release(owner);
    CHECK_RANGE(time_until_asked(true), 13 * T - T / 10, 17 * T + T / 3);
    CHECK_INT(Bench.port_count, 2 + ZKLI_SUCCESSORS_MAX);
    connect_successor(); /* there is one now */
    CHECK_INT(syncs_of(3 * T), 0);
    check_untold();
    bench_end();
}

static void where_there_is_still_none_it_goes_on_being_kept(void) {
    begin_where_there_is_none();
    for (int i = 0; i < 2; i++) {
        CHECK_RANGE(time_until_asked(true), 16 * T - T / 10, 20 * T + T / 3);
        CHECK_RANGE(time_until_asked(false), T / 2, T);
        CHECK_INT(Bench.port_count, 1 + (size_t)(i + 2) * ZKLI_SUCCESSORS_MAX);
    }
    CHECK_RANGE(syncs_of(3 * T), 18, 22);
    /* Another list of servers may have one. */
    zkli_engine_enter(Bench.engine);
    zkli_engine_hosts_changed(Bench.engine);
    settle();
    pass(T);
    CHECK_INT(syncs_of(3 * T), 0);
    bench_end();
}

/* Of many sessions that failed together. */
static void when_another_is_asked_for_again_differs(void) {
    int64_t first_ns = 21 * T, last_ns = 0;
    size_t between = 0;
    for (int i = 0; i < 40; i++) {
        begin_where_there_is_none();
        int64_t ns = Bench.engine->kept_until_ns - Bench.now_ns;
        first_ns = ns < first_ns ? ns : first_ns;
        last_ns = ns > last_ns ? ns : last_ns;
        between += ns > 17 * T && ns < 19 * T;
        bench_end();
    }
    CHECK_RANGE(between, 10, 30);
    CHECK_RANGE(first_ns, 16 * T - T / 100, 16 * T + T / 4);
    CHECK_RANGE(last_ns, 20 * T - T / 4, 20 * T);
}

static void it_is_asked_for_again_when_it_is_time(void) {
    begin_where_there_is_none();
    pass(15 * T);
    advance(Bench.engine->kept_until_ns - 1 - Bench.now_ns);
    CHECK_INT(Bench.engine->succession.count, 0);
    advance(1);
    CHECK_INT(Bench.engine->succession.count, 1);
    bench_end();
}

/* That is known, and said, since it was not to be had. */
static void nor_is_the_log_told_again(void) {
    begin_where_there_is_none();
    (void)time_until_asked(true);
    pass(T * 55 / 100);
    CHECK(Bench.engine->succession.count > 0);
    struct owner *owner = begin("a");
    serve_all();
    CHECK_INT(owner->grants, 1);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
    bench_end();
}

/* Who comes while that is looked for does not wait for it. */
static void a_contender_does_not_wait_where_it_is_kept(void) {
    begin_where_there_is_none();
    (void)time_until_asked(true);
    size_t creates = Bench.sent[CREATE];
    struct owner *owner = begin("a");
    CHECK_INT(Bench.sent[CREATE] - creates, 1);
    CHECK(Bench.engine->succession.count == 0);
    serve_all();
    CHECK_INT(owner->grants, 1);
    release(owner);
    serve_all();
    CHECK_RANGE(time_until_asked(true), 16 * T - T / 10, 20 * T + T / 3); /* not in each pause */
    connect_successor();
    check_untold();
    bench_end();
}

/* A read is under way at any moment. Whether all that were asked for have ended meanwhile. */
static bool end_among_reads(int64_t ns) {
    static struct asked asked[1000];
    int64_t end_ns = Bench.now_ns + ns;
    ask(&asked[0], ZKLI_QUERY_LIST);
    connect_successor();
    for (size_t i = 1; Bench.engine->succession.count > 0 && i < COUNT(asked); i++) {
        if (Bench.now_ns >= end_ns)
            return false;
        advance(T / 200);
        ask(&asked[i], ZKLI_QUERY_LIST);
        while (Bench.request_count > 1)
            serve_next();
    }
    return true;
}

static void at_rest_none_is_waited_for_without_end(void) {
    begin_where_there_is_none();
    (void)time_until_asked(true);
    const int64_t asked_ns = Bench.engine->succession.begun_ns;
    struct asked asked;
    ask(&asked, ZKLI_QUERY_LIST);
    connect_successor();
    advance(asked_ns + T / 2 - 1 - Bench.now_ns);
    CHECK(Bench.engine->succession.count > 0);
    advance(1);
    CHECK_INT(Bench.engine->succession.count, 0);
    serve_all();
    CHECK_INT(Bench.port_count, 2 + ZKLI_SUCCESSORS_MAX);
    bench_end();
}

static void nor_by_a_contender(void) {
    bench_begin();
    pass(3 * T);
    struct owner *owner = begin("a");
    CHECK(end_among_reads(T * 8 / 5)); /* its own lease will do */
    CHECK(Bench.engine->is_kept);      /* it took longer than that of another would have */
    serve_all();
    CHECK_INT(owner->grants, 1);
    CHECK_INT(Bench.port_count, 2);
    bench_end();
}

/* Each at once, and the first of all never comes. */
static void those_that_fail_are_counted(void) {
    bench_begin();
    pass(3 * T);
    struct owner *owner = begin("a");
    for (int i = 0; i < 100 && Bench.engine->succession.count > 0; i++) {
        pass(T / 100);
        while (Bench.engine->succession.count > 1)
            tell_successor(ZKLI_PORT_FAILED);
    }
    CHECK_INT(Bench.port_count, 1 + ZKLI_SUCCESSORS_MAX);
    CHECK(Bench.engine->is_kept);
    CHECK(Bench.sent[CREATE] > 0);
    pass(T);
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* A guarded write creates a node under a hold, which then ends. */
static void create_under_a_hold(int32_t flags) {
    static struct asked asked;
    bench_begin();
    struct owner *owner = hold("a");
    ask_create(&asked, "/node", flags);
    serve_all();
    release(owner);
    serve_all();
    pass(T / 8);
}

/* It goes with the session. */
static void with_a_node_of_the_program_s_it_is_kept(void) {
    static const int32_t flags[] = {ZKLI_CREATE_EPHEMERAL,
                                    ZKLI_CREATE_EPHEMERAL | ZKLI_CREATE_SEQUENTIAL};
    for (size_t i = 0; i < COUNT(flags); i++) {
        create_under_a_hold(flags[i]);
        CHECK_RANGE(syncs_of(3 * T), 18, 22);
        struct owner *owner = begin("a");
        serve_all();
        CHECK_INT(owner->grants, 1);
        CHECK_INT(Bench.port_count, 1);
        release(owner);
        serve_all();
        expire(); /* and it with the session */
        bench_connect();
        CHECK_INT(syncs_of(3 * T), 0);
        bench_end();
    }
}

static void ignore(struct zkli_query *query, const struct zkli_reply *reply) {
    (void)query, (void)reply;
}

static void wherever_in_a_transaction_it_is_made(void) {
    const struct zkli_op ops[] = {
        {.type = ZKLI_OP_CHECK, .path = "/locks/a", .version = -1},
        {.type = ZKLI_OP_CREATE, .path = "/node", .flags = ZKLI_CREATE_EPHEMERAL},
    };
    struct zkli_query query = {
        .kind = ZKLI_QUERY_MULTI, .ops = ops, .op_count = COUNT(ops), .done = ignore};
    bench_begin();
    struct owner *owner = hold("a");
    zkli_engine_enter(Bench.engine);
    zkli_query_ask(Bench.engine, &query);
    settle();
    answer_next(MULTI, ZKLI_RESULT_OK);
    release(owner);
    serve_all();
    pass(T / 8);
    CHECK_RANGE(syncs_of(3 * T), 18, 22);
    bench_end();
}

/* Nor is another asked for now and then. */
static void though_it_is_kept_for_want_of_another_too(void) {
    static struct asked asked;
    begin_where_there_is_none();
    pass(3 * T);
    struct owner *owner = hold("a");
    ask_create(&asked, "/node", ZKLI_CREATE_EPHEMERAL);
    serve_all();
    release(owner);
    serve_all();
    CHECK(time_until_asked(true) >= 21 * T);
    bench_end();
}

static void keep(void) {
    zkli_engine_enter(Bench.engine);
    zkli_engine_keep_session(Bench.engine);
    settle();
}

/* It has taken a ticket, for instance, which would end nothing. */
static void once_the_program_keeps_it_no_other_is_asked_for(void) {
    begin_where_there_is_none();
    pass(3 * T);
    keep();
    CHECK(time_until_asked(true) >= 21 * T);
    bench_end();
}

static void nor_is_one_taken_that_was_asked_for(void) {
    begin_where_there_is_none();
    (void)time_until_asked(true);
    keep();
    CHECK_INT(Bench.engine->succession.count, 0);
    CHECK(time_until_asked(true) >= 21 * T);
    bench_end();
}

/* As zkl_session_zhandle does, and zkl_session_zhandle_return. */
static void lend(void) {
    zkli_engine_enter(Bench.engine);
    Bench.engine->port->loans++;
    zkli_engine_lend(Bench.engine);
    settle();
}

static void take_back(void) {
    zkli_engine_enter(Bench.engine);
    Bench.engine->port->loans--;
    settle();
}

static void while_the_program_has_its_handle_no_other_is_asked_for(void) {
    begin_where_there_is_none();
    pass(3 * T);
    lend();
    CHECK(time_until_asked(true) >= 21 * T);
    take_back();
    CHECK(time_until_asked(true) < T / 2);
    bench_end();
}

static void nor_is_one_taken_until_the_handle_is_back(void) {
    begin_where_there_is_none();
    (void)time_until_asked(true);
    lend();
    CHECK_INT(Bench.engine->succession.count, 0);
    CHECK(time_until_asked(true) >= 21 * T);
    bench_end();
}

static void with_its_handle_lent_twice_it_is_kept_until_both_are_back(void) {
    bench_begin();
    lend();
    lend();
    for (size_t ports = 1; ports <= 2; ports++) {
        take_back();
        pass(3 * T);
        struct owner *owner = begin("a");
        CHECK_INT(Bench.port_count, ports);
        if (ports == 2)
            connect_successor();
        serve_all();
        CHECK_INT(owner->grants, 1);
        release(owner);
        serve_all();
    }
    bench_end();
}

static void with_one_that_stays_it_is_not(void) {
    create_under_a_hold(ZKLI_CREATE_SEQUENTIAL);
    CHECK_INT(syncs_of(3 * T), 0);
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"where none was to be had it is kept", where_none_was_to_be_had_it_is_kept},
        {"where there is still none it goes on being kept",
         where_there_is_still_none_it_goes_on_being_kept},
        {"a contender does not wait where it is kept", a_contender_does_not_wait_where_it_is_kept},
        {"when another is asked for again differs", when_another_is_asked_for_again_differs},
        {"it is asked for again when it is time", it_is_asked_for_again_when_it_is_time},
        {"nor is the log told again", nor_is_the_log_told_again},
        {"those that fail are counted", those_that_fail_are_counted},
        {"at rest none is waited for without end", at_rest_none_is_waited_for_without_end},
        {"nor by a contender", nor_by_a_contender},
        {"with a node of the program's it is kept", with_a_node_of_the_program_s_it_is_kept},
        {"wherever in a transaction it is made", wherever_in_a_transaction_it_is_made},
        {"though it is kept for want of another, too", though_it_is_kept_for_want_of_another_too},
        {"once the program keeps it no other is asked for",
         once_the_program_keeps_it_no_other_is_asked_for},
        {"nor is one taken that was asked for", nor_is_one_taken_that_was_asked_for},
        {"while the program has its handle no other is asked for",
         while_the_program_has_its_handle_no_other_is_asked_for},
        {"nor is one taken until the handle is back", nor_is_one_taken_until_the_handle_is_back},
        {"with its handle lent twice it is kept until both are back",
         with_its_handle_lent_twice_it_is_kept_until_both_are_back},
        {"with one that stays it is not", with_one_that_stays_it_is_not},
    };
    return TEST_MAIN(argc, argv, "engine_kept", cases);
}
