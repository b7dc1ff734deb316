/*
 * Queries with data: how many bytes are in flight, which waits for which, and what passes by.
 */
#include "unit/engine_bench.h"

#define BYTES_MAX ((size_t)T_MS * ZKLI_DATA_PER_MS)
#define WRITES 40

struct asked {
    struct zkli_query query;
    struct zkli_op op;
    char path[32];
    size_t bytes;
    size_t done, replies;
};

static struct asked Asked[WRITES];

static void on_done(struct zkli_query *query, const struct zkli_reply *reply) {
    struct asked *asked = ZKLI_CONTAINER(query, struct asked, query);
    asked->done++;
    asked->replies += reply != NULL;
}

static void ask(struct bench *b, size_t number, size_t bytes) {
    struct asked *asked = &Asked[number];
    *asked = (struct asked){.query = {.done = on_done, .bytes = bytes}};
    (void)snprintf(asked->path, sizeof(asked->path), "/write-%zu", number);
    asked->op = (struct zkli_op){.type = ZKLI_OP_SET, .path = asked->path, .version = -1};
    asked->query.kind = ZKLI_QUERY_MULTI;
    asked->query.ops = &asked->op;
    asked->query.op_count = 1;
    zkli_engine_enter(b->engine);
    zkli_query_ask(b->engine, &asked->query);
    settle(b);
}

/* So many, of so many bytes each. */
static void ask_all(struct bench *b, size_t count, size_t bytes) {
    for (size_t i = 0; i < count; i++)
        ask(b, i, bytes);
}

static void check_done(size_t number, size_t done, size_t replies) {
    CHECK_INT(Asked[number].done, done);
    CHECK_INT(Asked[number].replies, replies);
}

static void check_all_done_once(size_t count) {
    for (size_t i = 0; i < count; i++)
        check_done(i, 1, 1);
}

static size_t in_flight(const struct bench *b, enum kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < b->request_count; i++)
        count += b->requests[i].kind == kind;
    return count;
}

static void answer_write(struct bench *b) {
    answer_next(b, MULTI, ZKLI_RESULT_OK);
}

/* A third of the limit each, so that three fit. */
static void no_more_data_is_in_flight_than_the_timeout_allows(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    ask_all(b, WRITES, BYTES_MAX / 3);
    for (size_t left = WRITES; left > 0; left--) {
        CHECK_INT(in_flight(b, MULTI), left < 3 ? left : 3);
        CHECK(b->engine->data_in_flight <= BYTES_MAX);
        answer_write(b);
    }
    check_all_done_once(WRITES);
    bench_end(b);
}

/* A session whose server grants less has less in flight. */
static void a_shorter_timeout_allows_less(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    cut(b, 0);
    b->timeout_ms = T_MS / 2;
    connect(b);
    serve_all(b);
    ask_all(b, 4, BYTES_MAX / 4);
    CHECK_INT(in_flight(b, MULTI), 2);
    cut(b, 0);
    b->timeout_ms = T_MS; /* which this server alone knows */
    connect(b);
    serve_all(b);
    ask_all(b, 4, BYTES_MAX / 4);
    CHECK_INT(in_flight(b, MULTI), 2);
    come_to_rest(b);
    bench_end(b);
}

/* One at a time is never held up, however long: a writer alone loses nothing by the bound. */
static void one_write_is_always_sent_at_once(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    for (int i = 0; i < 5; i++) {
        ask(b, 0, 2 * BYTES_MAX);
        CHECK_INT(in_flight(b, MULTI), 1);
        answer_write(b);
        check_done(0, 1, 1);
    }
    ask(b, 0, 2 * BYTES_MAX);
    ask(b, 1, 1);
    CHECK_INT(in_flight(b, MULTI), 1);
    answer_write(b);
    CHECK_INT(in_flight(b, MULTI), 1);
    serve_all(b);
    bench_end(b);
}

/* Also one that would fit beside what is in flight waits for its turn. */
static void writes_are_sent_in_the_order_in_which_they_were_asked_for(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    for (size_t i = 0; i < WRITES; i++)
        ask(b, i, i % 3 == 0 ? BYTES_MAX / 2 : i % 3 == 1 ? BYTES_MAX : 100);
    for (size_t i = 0; i < WRITES; i++) {
        struct request request = serve_until(b, MULTI);
        CHECK_STRING(request.path, Asked[i].path);
        answer(b, &request, ZKLI_RESULT_OK);
    }
    check_all_done_once(WRITES);
    bench_end(b);
}

/* Listings, acquires and heartbeats. */
static void what_has_no_data_passes_by(void) {
    struct bench *b = &Bench;
    struct asked *list = &Asked[WRITES - 1];
    bench_begin(b);
    struct owner *holder = hold(b, "a");
    ask_all(b, 10, BYTES_MAX);
    *list = (struct asked){.query = {.kind = ZKLI_QUERY_LIST, .path = "/locks/a", .done = on_done}};
    zkli_engine_enter(b->engine);
    zkli_query_ask(b->engine, &list->query);
    settle(b);
    release(b, holder);
    struct owner *other = begin(b, "b");
    advance(b, T_MS / 10 * MS);
    CHECK_INT(in_flight(b, MULTI), 1);
    struct request write = serve_until(b, MULTI);
    serve_all(b);
    CHECK_INT(in_flight(b, MULTI), 0);
    check_done(WRITES - 1, 1, 1);
    CHECK(holder->member == NULL);
    CHECK_INT(other->grants, 1);
    CHECK(zkli_engine_is_certain(b->engine));
    answer(b, &write, ZKLI_RESULT_OK);
    CHECK_INT(in_flight(b, MULTI), 1);
    serve_all(b);
    check_all_done_once(10);
    bench_end(b);
}

/* What stands aside has had its turn: acquires that come again and again do not starve it. */
static void a_write_that_waited_takes_the_next_slot(void) {
    struct bench *b = &Bench;
    char name[32];
    bench_begin(b);
    ask(b, 0, BYTES_MAX);
    ask(b, 1, 1);
    ask(b, 2, 1);
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        (void)begin(b, name);
    }
    CHECK_INT(b->request_count, ZKLI_WINDOW);
    answer_write(b);
    CHECK_INT(b->request_count, ZKLI_WINDOW);
    CHECK_INT(in_flight(b, MULTI), 1); /* there is room for the third, and no slot */
    come_to_rest(b);
    check_all_done_once(3);
    bench_end(b);
}

/* Nobody waits for the reply any more, and the server reads the data all the same. */
static void a_forgotten_write_counts_until_it_is_answered(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    ask_all(b, 4, BYTES_MAX);
    zkli_query_forget(b->engine, &Asked[0].query);
    zkli_query_forget(b->engine, &Asked[2].query);
    ask(b, 4, 1);
    CHECK_INT(in_flight(b, MULTI), 1);
    serve_all(b);
    check_done(0, 0, 0);
    check_done(1, 1, 1);
    check_done(2, 0, 0);
    check_done(3, 1, 1);
    check_done(4, 1, 1);
    bench_end(b);
}

/* Not sent, it counts for nothing, and the next goes on. */
static void a_write_that_is_refused_makes_room(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    ask_all(b, 3, BYTES_MAX);
    b->refused = 1u << MULTI;
    answer_write(b);
    check_done(0, 1, 1);
    check_done(1, 1, 0);
    check_done(2, 1, 0);
    CHECK_INT(b->engine->data_in_flight, 0);
    b->refused = 0;
    ask(b, 0, 1);
    serve_all(b);
    check_done(0, 1, 1);
    bench_end(b);
}

/* Of those in flight the replies are lost; the others ask the next connection, or session. */
static void after_an_outage_what_waited_is_sent_in_order(void) {
    struct bench *b = &Bench;
    for (int is_over = 0; is_over < 2; is_over++) {
        bench_begin(b);
        ask_all(b, 6, BYTES_MAX / 2);
        if (is_over == 0)
            cut(b, 0);
        else
            expire(b);
        CHECK_INT(b->engine->data_in_flight, 0);
        check_done(0, 1, 0);
        check_done(1, 1, 0);
        check_done(2, 0, 0);
        connect(b);
        CHECK_INT(in_flight(b, MULTI), 2);
        for (size_t i = 2; i < 6; i++) {
            struct request request = serve_until(b, MULTI);
            CHECK_STRING(request.path, Asked[i].path);
            answer(b, &request, ZKLI_RESULT_OK);
            check_done(i, 1, 1);
        }
        bench_end(b);
    }
}

static void without_a_session_to_come_every_write_is_done(void) {
    struct bench *b = &Bench;
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        bench_begin(b);
        ask_all(b, 4, BYTES_MAX);
        if (is_closed == 0) {
            tell_state(b, b->engine->port, ZKLI_PORT_AUTH_FAILED);
        } else {
            zkli_engine_enter(b->engine);
            zkli_engine_drain(b->engine);
            settle(b);
            serve_all(b);
            CHECK(zkli_engine_is_drained(b->engine));
            CHECK_INT(b->sent[MULTI], 1); /* the first, before the drain */
            zkli_engine_shut(b->engine);
            settle(b);
        }
        check_done(0, 1, is_closed == 0 ? 0 : 1);
        for (size_t i = 1; i < 4; i++)
            check_done(i, 1, 0);
        bench_end(b);
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
