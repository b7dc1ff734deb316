/*
 * Queries with data: how many bytes are in flight, which waits for which, and what passes by.
 */
#include "unit/engine_bench.h"

#define BYTES_MAX ((size_t)T_MS * ZKLI_DATA_PER_MS)
#define WRITES 40

static struct asked Asked[WRITES];

static void write_data(size_t number, size_t bytes) {
    char path[32];
    (void)snprintf(path, sizeof(path), "/write-%zu", number);
    ask_write(&Asked[number], path, bytes);
}

/* So many, of so many bytes each. */
static void write_all(size_t count, size_t bytes) {
    for (size_t i = 0; i < count; i++)
        write_data(i, bytes);
}

static void check_done(size_t number, size_t done, size_t replies) {
    check_asked(&Asked[number], done, replies);
}

static void check_all_done_once(size_t count) {
    for (size_t i = 0; i < count; i++)
        check_done(i, 1, 1);
}

static size_t in_flight(enum kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < Bench.request_count; i++)
        count += Bench.requests[i].kind == kind;
    return count;
}

static void answer_write(void) {
    answer_next(MULTI, ZKLI_RESULT_OK);
}

/* A third of the limit each, so that three fit. */
static void no_more_data_is_in_flight_than_the_timeout_allows(void) {
    bench_begin();
    write_all(WRITES, BYTES_MAX / 3);
    for (size_t left = WRITES; left > 0; left--) {
        CHECK_INT(in_flight(MULTI), left < 3 ? left : 3);
        CHECK(Bench.engine->data_in_flight <= BYTES_MAX);
        answer_write();
    }
    check_all_done_once(WRITES);
    bench_end();
}

/* A session whose server grants less has less in flight. */
static void a_shorter_timeout_allows_less(void) {
    bench_begin();
    cut(0);
    Bench.timeout_ms = T_MS / 2;
    bench_connect();
    serve_all();
    write_all(4, BYTES_MAX / 4);
    CHECK_INT(in_flight(MULTI), 2);
    cut(0);
    Bench.timeout_ms = T_MS; /* which this server alone knows */
    bench_connect();
    serve_all();
    write_all(4, BYTES_MAX / 4);
    CHECK_INT(in_flight(MULTI), 2);
    come_to_rest();
    bench_end();
}

/* One at a time is never held up, however long: a writer alone loses nothing by the bound. */
static void one_write_is_always_sent_at_once(void) {
    bench_begin();
    for (int i = 0; i < 5; i++) {
        write_data(0, 2 * BYTES_MAX);
        CHECK_INT(in_flight(MULTI), 1);
        answer_write();
        check_done(0, 1, 1);
    }
    write_data(0, 2 * BYTES_MAX);
    write_data(1, 1);
    CHECK_INT(in_flight(MULTI), 1);
    answer_write();
    CHECK_INT(in_flight(MULTI), 1);
    serve_all();
    bench_end();
}

/* Also one that would fit beside what is in flight waits for its turn. */
static void writes_are_sent_in_the_order_in_which_they_were_asked_for(void) {
    bench_begin();
    for (size_t i = 0; i < WRITES; i++)
        write_data(i, i % 3 == 0 ? BYTES_MAX / 2 : i % 3 == 1 ? BYTES_MAX : 100);
    for (size_t i = 0; i < WRITES; i++) {
        struct request request = serve_until(MULTI);
        CHECK_STRING(request.path, Asked[i].path);
        answer(&request, ZKLI_RESULT_OK);
    }
    check_all_done_once(WRITES);
    bench_end();
}

/* Listings, acquires and heartbeats. */
static void what_has_no_data_passes_by(void) {
    bench_begin();
    struct owner *holder = hold("a");
    write_all(10, BYTES_MAX);
    ask(&Asked[WRITES - 1], ZKLI_QUERY_LIST);
    release(holder);
    struct owner *other = begin("b");
    advance(T_MS / 10 * MS);
    CHECK_INT(in_flight(MULTI), 1);
    struct request write = serve_until(MULTI);
    serve_all();
    CHECK_INT(in_flight(MULTI), 0);
    check_done(WRITES - 1, 1, 1);
    CHECK(holder->member == NULL);
    CHECK_INT(other->grants, 1);
    CHECK(zkli_engine_is_certain(Bench.engine));
    answer(&write, ZKLI_RESULT_OK);
    CHECK_INT(in_flight(MULTI), 1);
    serve_all();
    check_all_done_once(10);
    bench_end();
}

/* What is deferred has had its turn: acquires that come again and again do not starve it. */
static void a_write_that_waited_takes_the_next_slot(void) {
    bench_begin();
    (void)hold("h");
    write_data(0, BYTES_MAX);
    write_data(1, 1);
    write_data(2, 1);
    begin_many("n", 300);
    CHECK_INT(Bench.request_count, ZKLI_WINDOW);
    answer_write();
    CHECK_INT(Bench.request_count, ZKLI_WINDOW);
    CHECK_INT(in_flight(MULTI), 1); /* there is room for the third, and no slot */
    come_to_rest();
    check_all_done_once(3);
    bench_end();
}

/* Nobody waits for the reply any more, and the server reads the data all the same. */
static void a_forgotten_write_counts_until_it_is_answered(void) {
    bench_begin();
    write_all(4, BYTES_MAX);
    zkli_query_forget(Bench.engine, &Asked[0].query);
    zkli_query_forget(Bench.engine, &Asked[2].query);
    write_data(4, 1);
    CHECK_INT(in_flight(MULTI), 1);
    serve_all();
    check_done(0, 0, 0);
    check_done(1, 1, 1);
    check_done(2, 0, 0);
    check_done(3, 1, 1);
    check_done(4, 1, 1);
    bench_end();
}

/* Not sent, it counts for nothing, and the next goes on. */
static void a_write_that_is_refused_makes_room(void) {
    bench_begin();
    write_all(3, BYTES_MAX);
    Bench.refused = 1u << MULTI;
    answer_write();
    check_done(0, 1, 1);
    check_done(1, 1, 0);
    check_done(2, 1, 0);
    CHECK_INT(Bench.engine->data_in_flight, 0);
    Bench.refused = 0;
    write_data(0, 1);
    serve_all();
    check_done(0, 1, 1);
    bench_end();
}

/* Of those in flight the replies are lost; the others ask the next connection, or session. */
static void after_an_outage_what_waited_is_sent_in_order(void) {
    for (int is_over = 0; is_over < 2; is_over++) {
        bench_begin();
        write_all(6, BYTES_MAX / 2);
        if (is_over == 0)
            cut(0);
        else
            expire();
        CHECK_INT(Bench.engine->data_in_flight, 0);
        check_done(0, 1, 0);
        check_done(1, 1, 0);
        check_done(2, 0, 0);
        bench_connect();
        CHECK_INT(in_flight(MULTI), 2);
        for (size_t i = 2; i < 6; i++) {
            struct request request = serve_until(MULTI);
            CHECK_STRING(request.path, Asked[i].path);
            answer(&request, ZKLI_RESULT_OK);
            check_done(i, 1, 1);
        }
        bench_end();
    }
}

static void without_a_session_to_come_every_write_is_done(void) {
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        bench_begin();
        write_all(4, BYTES_MAX);
        if (is_closed == 0) {
            tell_state(ZKLI_PORT_AUTH_FAILED);
        } else {
            drain();
            serve_all();
            CHECK(zkli_engine_is_drained(Bench.engine));
            CHECK_INT(Bench.sent[MULTI], 1); /* the first, before the drain */
            shut();
        }
        check_done(0, 1, is_closed == 0 ? 0 : 1);
        for (size_t i = 1; i < 4; i++)
            check_done(i, 1, 0);
        bench_end();
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"no more data is in flight than the timeout allows",
         no_more_data_is_in_flight_than_the_timeout_allows},
        {"a shorter timeout allows less", a_shorter_timeout_allows_less},
        {"one write is always sent at once", one_write_is_always_sent_at_once},
        {"writes are sent in the order in which they were asked for",
         writes_are_sent_in_the_order_in_which_they_were_asked_for},
        {"what has no data passes by", what_has_no_data_passes_by},
        {"a write that waited takes the next slot", a_write_that_waited_takes_the_next_slot},
        {"a forgotten write counts until it is answered",
         a_forgotten_write_counts_until_it_is_answered},
        {"a write that is refused makes room", a_write_that_is_refused_makes_room},
        {"after an outage what waited is sent in order",
         after_an_outage_what_waited_is_sent_in_order},
        {"without a session to come every write is done",
         without_a_session_to_come_every_write_is_done},
    };
    return TEST_MAIN(argc, argv, "engine_data", cases);
}
