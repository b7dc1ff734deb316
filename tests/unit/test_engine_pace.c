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

/* Every sixteenth of the timeout, while there is a member. */
static void heartbeats_are_sent_for_members_only(void) {
    bench_begin();
    (void)heartbeats_in(T / 8); /* one may have been due */
    CHECK_INT(heartbeats_in(T), 0);
    struct owner *holder = begin("a"); /* granted when heartbeats have proven enough */
    (void)heartbeats_in(2 * T);
    CHECK_INT(holder->grants, 1);
    CHECK_RANGE(heartbeats_in(T), 15, 17);
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
    CHECK_RANGE(heartbeats_in(T), 15, 18); /* a new connection is in a hurry */
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

/* What it was sent early for is not to be had, and there is no sense in asking again at once. */
static void after_a_refusal_there_is_no_hurry(void) {
    bench_begin();
    hold("a");
    cut_and_connect(0);
    answer_next(BARRIER, ZKLI_RESULT_OK);
    serve_all();
    advance(0); /* the second one, in a hurry */
    struct request second = serve_until(BARRIER);
    const size_t sent = Bench.sent[BARRIER];
    answer(&second, ZKLI_RESULT_ERROR);
    advance(T / 20);
    CHECK_INT(Bench.sent[BARRIER], sent);
    advance(T / 80);
    CHECK_INT(Bench.sent[BARRIER], sent + 1);
    serve_all();
    bench_end();
}

static void a_shorter_timeout_is_that_of_the_lease_from_then_on(void) {
    bench_begin();
    hold("a");
    Bench.timeout_ms = T_MS * 4 / 5;
    cut_and_connect(0);
    CHECK(Bench.engine->lease.timeout_ns == T * 4 / 5);
    serve_all();
    Bench.timeout_ms = T_MS / 8; /* of a connection that was not reported */
    const size_t looks = Bench.looks;
    for (const int64_t end_ns = Bench.now_ns + T; Bench.looks == looks && Bench.now_ns < end_ns;)
        advance(10 * MS);
    CHECK(Bench.engine->lease.timeout_ns == T / 8);
    CHECK(Bench.engine->ample_until_ns <= Bench.now_ns);
    serve_all();
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

/* The first one of a silence is no reason to look: the port is looked at a second after the second
 * was due. */
static void silence_begins_with_the_second_heartbeat(void) {
    bench_begin();
    hold("a");
    const int64_t sent_ns = Bench.engine->heartbeat.at_ns;
    advance(sent_ns - Bench.now_ns);
    CHECK(zkli_heartbeat_is_in_flight(Bench.engine));
    CHECK(!zkli_timer_is_set(&Bench.engine->look));
    const int64_t second_ns = Bench.engine->heartbeat.at_ns;
    advance(second_ns - 1 - Bench.now_ns);
    CHECK(!zkli_timer_is_set(&Bench.engine->look));
    advance(1);
    CHECK(zkli_timer_is_set(&Bench.engine->look) &&
          Bench.engine->look.at_ns == second_ns + ZKLI_LOOK_NS);
    CHECK_INT(Bench.looks, 0);
    serve_all();
    CHECK(!zkli_timer_is_set(&Bench.engine->look)); /* it was answered */
    bench_end();
}

/* Neither a connection that was just told, nor one that a look found to be as it should be. */
static void a_good_connection_is_not_looked_at(void) {
    bench_start("/locks", false);
    CHECK(zkli_timer_is_set(&Bench.engine->look));
    bench_connect();
    CHECK(!zkli_timer_is_set(&Bench.engine->look));
    serve_all();
    zkli_engine_enter(Bench.engine);
    zkli_look_later(Bench.engine);
    settle();
    for (int i = 0; i < 40; i++) {
        serve_all();
        advance(50 * MS);
    }
    zkli_timer_clear(&Bench.engine->timers, &Bench.engine->look);
    zkli_timer_set(&Bench.engine->timers, &Bench.engine->look, Bench.now_ns);
    serve_all();
    const size_t looks = Bench.looks;
    advance(0);
    CHECK_INT(Bench.looks, looks + 1);
    CHECK(!zkli_timer_is_set(&Bench.engine->look));
    serve_all();
    bench_end();
}

/* A new session's lease is certain at once: who waits for it need not wait for a heartbeat. */
static void a_new_session_grants_before_its_first_heartbeat_is_answered(void) {
    bench_start("/locks", false);
    struct owner *owner = begin("a");
    bench_connect();
    size_t kept = 0;
    while (Bench.request_count > kept)
        if (Bench.requests[kept].slot == ZKLI_SLOT_HEARTBEAT) {
            kept++;
        } else {
            struct request request = take(kept);
            serve_request(&request);
        }
    CHECK_INT(kept, 1);
    CHECK_INT(owner->grants, 1);
    serve_all();
    bench_end();
}

/* After a lapse: who stands first is granted the lock by the answer that proves enough. */
static void the_answer_that_proves_enough_grants(void) {
    bench_begin();
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    struct tiny_answer other = tiny_serve(
        &Bench.server, CREATE, "/locks/a/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-", 99, false);
    struct owner *owner = begin("a");
    serve_all();
    CHECK_INT(owner->grants, 0);
    cut(0);
    advance(T);
    bench_connect();
    delete_node(other.reply.path);
    for (int i = 0; i < 600 && owner->grants == 0; i++) {
        while (Bench.request_count > 0 && owner->grants == 0) {
            struct request request = take(0);
            bool is_heartbeat = request.slot == ZKLI_SLOT_HEARTBEAT;
            const uint64_t news = zkli_engine_news(Bench.engine);
            bool was_ample = Bench.engine->lease_grade == ZKLI_LEASE_AMPLE;
            serve_request(&request);
            bool is_ample = Bench.now_ns < Bench.engine->ample_until_ns &&
                            zkli_engine_is_certain(Bench.engine);
            if (is_heartbeat && !was_ample && is_ample)
                CHECK(owner->grants == 1 && zkli_engine_news(Bench.engine) > news);
        }
        if (owner->grants == 0)
            advance(50 * MS);
    }
    CHECK_INT(owner->grants, 1);
    serve_all();
    bench_end();
}

/* ---- What is not committed ---- */

/* Nothing has been committed since: another connection has nothing to add. */
static void what_was_said_is_not_said_again_on_the_next_connection(void) {
    bench_begin();
    (void)hold("h");
    advance(T);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
    cut_and_connect(0);
    advance(T / 2);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
    serve_all();
    bench_end();
}

/* Members that come while one is in flight put nothing off. */
static void those_who_come_put_off_no_word_of_it(void) {
    for (int is_lazy = 0; is_lazy < 2; is_lazy++) {
        bench_start("/locks", is_lazy == 1);
        bench_connect();
        serve_all();
        struct owner *holder = begin("a");
        for (int i = 0; i < 100; i++) {
            serve_all();
            advance(50 * MS);
        }
        CHECK_INT(holder->grants, 1);
        while (!zkli_heartbeat_is_in_flight(Bench.engine))
            advance(10 * MS);
        const int64_t due_ns = Bench.engine->stall.at_ns;
        for (int i = 0; i < 40 && Bench.now_ns < due_ns; i++) {
            begin("b");
            CHECK(Bench.engine->stall.at_ns == due_ns);
            advance(T / 50);
        }
        serve_all();
        bench_end();
    }
}

/* A heartbeat that is lost with its connection is not due before the next one. */
static void without_a_connection_none_is_due(void) {
    bench_begin();
    hold("a");
    while (!zkli_heartbeat_is_in_flight(Bench.engine))
        advance(10 * MS);
    cut(0);
    CHECK(!zkli_timer_is_set(&Bench.engine->heartbeat));
    CHECK(!zkli_heartbeat_is_in_flight(Bench.engine));
    begin("b");
    CHECK(!zkli_timer_is_set(&Bench.engine->heartbeat));
    advance(T / 8);
    bench_connect();
    come_to_rest();
    bench_end();
}

/* It would be told at this time, had the connection not broken. */
static void a_connection_that_is_back_soon_puts_nothing_off(void) {
    bench_begin();
    (void)hold("h");
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
    (void)hold("h");
    advance(T * 3 / 4);
    expire();
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1); /* that it has expired */
    bench_connect();
    (void)begin("a");
    advance(T - 1);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
    advance(1);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 2);
    serve_all();
    bench_end();
}

static void nor_does_one_that_has_waiters_only_lose_it(void) {
    bench_begin();
    plant_other();
    (void)begin("a");
    serve_all();
    advance(T * 3 / 4);
    expire();
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
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
    (void)hold("h");
    advance(T / 10); /* its watch is set, too */
    serve_all();
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
        CHECK(Bench.engine->lease.certain_until_ns == 0);
        bench_end();
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a port without a connection is looked at each second",
         a_port_without_a_connection_is_looked_at_each_second},
        {"heartbeats are sent for members only", heartbeats_are_sent_for_members_only},
        {"without a connection no heartbeat is sent", without_a_connection_no_heartbeat_is_sent},
        {"after a refusal there is no hurry", after_a_refusal_there_is_no_hurry},
        {"a shorter timeout is that of the lease from then on",
         a_shorter_timeout_is_that_of_the_lease_from_then_on},
        {"no other request is a heartbeat", no_other_request_is_a_heartbeat},
        {"one heartbeat is in flight at a time", one_heartbeat_is_in_flight_at_a_time},
        {"silence begins with the second heartbeat", silence_begins_with_the_second_heartbeat},
        {"a good connection is not looked at", a_good_connection_is_not_looked_at},
        {"a new session grants before its first heartbeat is answered",
         a_new_session_grants_before_its_first_heartbeat_is_answered},
        {"the answer that proves enough grants", the_answer_that_proves_enough_grants},
        {"what was said is not said again on the next connection",
         what_was_said_is_not_said_again_on_the_next_connection},
        {"those who come put off no word of it", those_who_come_put_off_no_word_of_it},
        {"without a connection none is due", without_a_connection_none_is_due},
        {"a connection that is back soon puts nothing off",
         a_connection_that_is_back_soon_puts_nothing_off},
        {"a new session has its own time", a_new_session_has_its_own_time},
        {"nor does one that has waiters only lose it", nor_does_one_that_has_waiters_only_lose_it},
        {"a refusal is said when it is another, or comes back",
         a_refusal_is_said_when_it_is_another_or_comes_back},
        {"after its end it has no appointments", after_its_end_it_has_no_appointments},
    };
    return TEST_MAIN(argc, argv, "engine_pace", cases);
}
