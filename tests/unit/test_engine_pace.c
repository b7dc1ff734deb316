/*
 * To the nanosecond: when heartbeats are missed, when the engine looks at a port, and what a lazy
 * session does without.
 */
#include "unit/engine_bench.h"

#define T (T_MS * MS)

/* ---- Looks ---- */

static void a_port_without_a_connection_is_looked_at_each_second(void) {
    bench_begin();
    struct owner *holder = hold("a");
    cut(0);
    for (size_t looks = Bench.looks, i = 1; i < 5; i++) {
        advance(ZKLI_LOOK_NS - 1);
        CHECK_INT(Bench.looks, looks + i - 1);
        advance(1);
        CHECK_INT(Bench.looks, looks + i);
    }
    bench_connect();
    serve_all();
    const size_t looks = Bench.looks;
    for (int i = 0; i < 40; i++) { /* heartbeats are answered: nothing to look at */
        advance(100 * MS);
        serve_all();
    }
    CHECK_INT(Bench.looks, looks);
    CHECK(holder->member != NULL);
    release(holder);
    come_to_rest();
    bench_end();
}

/* ---- Heartbeats ---- */

static size_t heartbeats_in(int64_t ns) {
    const size_t before = Bench.sent[BARRIER];
    for (int64_t passed = 0; passed < ns; passed += 10 * MS) {
        advance(10 * MS);
        serve_all();
    }
    return Bench.sent[BARRIER] - before;
}

/* Every sixteenth of the timeout, with or without a hold. */
static void heartbeats_go_on_by_themselves(void) {
    bench_begin();
    CHECK_RANGE(heartbeats_in(T), 15, 17);
    hold("a");
    CHECK_RANGE(heartbeats_in(T), 15, 17);
    bench_end();
}

/* A lazy session sends them while there is a member. */
static void a_lazy_session_sends_them_for_members_only(void) {
    bench_start("/locks", true);
    bench_connect();
    serve_all();
    (void)heartbeats_in(2 * T); /* the first ones of a connection */
    CHECK_INT(heartbeats_in(T), 0);
    struct owner *holder = begin("a"); /* granted when heartbeats have proven enough */
    CHECK_RANGE(heartbeats_in(T), 14, 17);
    CHECK_INT(holder->grants, 1);
    struct owner *second = begin("b"); /* no more for two */
    CHECK_RANGE(heartbeats_in(T), 15, 17);
    release(second);
    release(holder);
    (void)heartbeats_in(2 * T);
    CHECK_INT(heartbeats_in(T), 0);
    cut(0);
    begin("c"); /* asks for them without a connection: nothing can be sent */
    CHECK_INT(heartbeats_in(T), 0);
    bench_connect();
    CHECK_RANGE(heartbeats_in(T), 15, 17);
    bench_end();
}

static void without_a_connection_no_heartbeat_is_sent(void) {
    bench_begin();
    hold("a");
    const size_t sent = Bench.sent[BARRIER];
    cut(0);
    for (int i = 0; i < 100; i++)
        advance(T / 100);
    CHECK_INT(Bench.sent[BARRIER], sent);
    bench_connect();
    come_to_rest();
    bench_end();
}

/* Its answer says nothing of when a heartbeat was sent. */
static void no_other_request_is_a_heartbeat(void) {
    bench_begin();
    hold("a");
    const struct zkli_lease *lease = &Bench.engine->lease;
    const size_t heartbeats = lease->heartbeat_count;
    struct asked asked[3];
    ask(&asked[0], ZKLI_QUERY_BARRIER);
    ask(&asked[1], ZKLI_QUERY_LIST);
    ask_write(&asked[2], "/locks/a", 1);
    struct owner *waiter = begin("a");
    serve_all();
    for (size_t i = 0; i < COUNT(asked); i++)
        CHECK_INT(asked[i].done, 1);
    CHECK_INT(lease->heartbeat_count, heartbeats);
    abandon(waiter);
    come_to_rest();
    bench_end();
}

/* While one is not answered, no other is sent: one that waits in line tells as much. */
static void one_heartbeat_is_in_flight_at_a_time(void) {
    bench_begin();
    hold("a");
    while (Bench.request_count == 0)
        advance(10 * MS);
    const size_t sent = Bench.sent[BARRIER];
    advance(T / 4);
    CHECK_INT(Bench.sent[BARRIER], sent);
    serve_all();
    advance(1);
    CHECK_INT(Bench.sent[BARRIER], sent + 1); /* the next was due */
    serve_all();
    bench_end();
}

/* ---- What is not committed ---- */

/* It would be told at this time, had the connection not broken. */
static void a_connection_that_is_back_soon_puts_nothing_off(void) {
    bench_begin();
    cut(0);
    advance(T / 8);
    bench_connect();
    advance(T - T / 8 - 1);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 0);
    advance(1);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
    serve_all();
    bench_end();
}

static void a_new_session_has_its_own_time(void) {
    bench_begin();
    advance(T * 3 / 4);
    expire();
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1); /* that it has expired */
    bench_connect();
    advance(T - 1);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
    advance(1);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 2);
    serve_all();
    bench_end();
}

static void refuse_heartbeat(int code) {
    while (Bench.request_count == 0)
        advance(10 * MS);
    struct request request = serve_until(BARRIER);
    struct zkli_reply reply = {.result = ZKLI_RESULT_ERROR, .code = code, .data = ""};
    tell_reply(request.slot, &reply);
}

static void a_refusal_is_said_when_it_is_another_or_comes_back(void) {
    static const struct {
        int code;
        size_t lines;
    } cases[] = {{-5, 1}, {-5, 1}, {-6, 2}, {-5, 3}, {-5, 3}};
    bench_begin();
    for (size_t i = 0; i < COUNT(cases); i++) {
        refuse_heartbeat(cases[i].code);
        CHECK_INT(Bench.lines[ZKL_LOG_WARN], cases[i].lines);
    }
    while (Bench.request_count == 0)
        advance(10 * MS);
    serve_all(); /* one that proves something */
    refuse_heartbeat(-5);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 4);
    serve_all();
    bench_end();
}

/* ---- The end ---- */

/* Whatever was under way: nothing wakes the engine any more. */
static void after_its_end_it_has_no_appointments(void) {
    for (unsigned way = 0; way < 5; way++) {
        bench_begin();
        if (way > 0)
            hold("a");
        if (way == 2)
            cut(0);
        if (way == 3)
            advance(T / 8); /* a heartbeat is in flight */
        if (way == 4) {     /* no port can be had */
            Bench.has_no_ports = true;
            expire();
        }
        CHECK(Bench.next_ns != ZKLI_NEVER);
        shut();
        CHECK(Bench.next_ns == ZKLI_NEVER);
        CHECK(zkli_engine_certain_until_ns(Bench.engine) == 0);
        bench_end();
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a port without a connection is looked at each second",
         a_port_without_a_connection_is_looked_at_each_second},
        {"heartbeats go on by themselves", heartbeats_go_on_by_themselves},
        {"a lazy session sends them for members only", a_lazy_session_sends_them_for_members_only},
        {"without a connection no heartbeat is sent", without_a_connection_no_heartbeat_is_sent},
        {"no other request is a heartbeat", no_other_request_is_a_heartbeat},
        {"one heartbeat is in flight at a time", one_heartbeat_is_in_flight_at_a_time},
        {"a connection that is back soon puts nothing off",
         a_connection_that_is_back_soon_puts_nothing_off},
        {"a new session has its own time", a_new_session_has_its_own_time},
        {"a refusal is said when it is another, or comes back",
         a_refusal_is_said_when_it_is_another_or_comes_back},
        {"after its end it has no appointments", after_its_end_it_has_no_appointments},
    };
    return TEST_MAIN(argc, argv, "engine_pace", cases);
}
