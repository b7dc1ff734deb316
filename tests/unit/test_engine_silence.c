/*
 * A server that does not answer while a lock is held, to the nanosecond: when its connection is
 * dropped, when it is not, and when the port is to look for its socket.
 */
#include "unit/engine_bench.h"

#define T (T_MS * MS)
#define PATIENCE (T / 6)
#define PATIENCE_MAX (T / 3)
#define PERIOD (T / 16)

static const char Other[] = "/locks/a/_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-lock-0000000000";

/* A lock is held, and its heartbeats are answered at once. */
static struct owner *hold_steadily(void) {
    bench_begin();
    Bench.can_drop = true;
    struct owner *holder = hold("a");
    for (int i = 0; i < 20; i++) {
        advance(PERIOD);
        serve_all();
    }
    CHECK_INT(Bench.drops, 0);
    return holder;
}

static bool has_heartbeat(void) {
    return zkli_heartbeat_is_in_flight(Bench.engine);
}

/* Until the next heartbeat goes out, which is not answered. */
static void fall_silent(void) {
    while (!has_heartbeat())
        advance(MS);
}

/* The heartbeats from now on take so long; as many as it takes to forget the others. */
static void answer_slowly(int64_t ns) {
    for (int i = 0; i < 2 * ZKLI_LEASE_HEARTBEATS; i++) {
        fall_silent();
        advance(ns);
        serve_all();
    }
}

static void end(struct owner *holder) {
    if (Bench.engine->state == ZKL_STATE_SUSPENDED)
        bench_connect();
    come_to_rest();
    if (holder->member != NULL && zkli_member_is_held(holder->member))
        release(holder);
    come_to_rest();
    bench_end();
}

/* ---- When ---- */

static void a_connection_is_dropped_after_a_sixth_of_the_timeout(void) {
    struct owner *holder = hold_steadily();
    fall_silent();
    advance(PATIENCE - 1);
    CHECK_INT(Bench.drops, 0);
    advance(1);
    CHECK_INT(Bench.drops, 1);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
    CHECK(strstr(Bench.last_line, "not answered for 1666 ms") != NULL);
    end(holder);
}

static void where_heartbeats_take_long_it_is_waited_for_longer(void) {
    static const struct {
        int64_t takes_ns, patience_ns;
    } cases[] = {
        {T / 28, T / 6}, /* four times of it are less than a sixth of T */
        {T / 24, T / 6},
        {T / 24 + MS, T / 6 + 4 * MS},
        {T / 16, T / 4},
        {T / 12 - MS, PATIENCE_MAX - 4 * MS},
        {T / 12 + MS, PATIENCE_MAX},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct owner *holder = hold_steadily();
        answer_slowly(cases[i].takes_ns);
        CHECK_INT(Bench.drops, 0);
        fall_silent();
        const int64_t patience_ns = 4 * zkli_lease_slowest_ns(&Bench.engine->lease);
        CHECK_RANGE(patience_ns, 4 * cases[i].takes_ns, 4 * cases[i].takes_ns + 4 * MS);
        advance(cases[i].patience_ns - 1 - 2);
        CHECK_INT(Bench.drops, 0);
        advance(6);
        CHECK_INT(Bench.drops, 1);
        end(holder);
    }
}

static void an_answer_in_the_last_moment_is_one(void) {
    struct owner *holder = hold_steadily();
    for (int i = 0; i < 3; i++) {
        fall_silent();
        advance(PATIENCE - 1);
        serve_all();
        advance(PERIOD / 2);
        serve_all();
    }
    CHECK_INT(Bench.drops, 0);
    end(holder);
}

/* Its end has not been reported yet. */
static void a_connection_that_was_dropped_is_not_dropped_again(void) {
    bench_begin();
    Bench.can_drop = true;
    struct owner *holder = hold("a"); /* in a new session, for longer than the pause */
    serve_all();
    fall_silent();
    advance(PATIENCE);
    CHECK_INT(Bench.drops, 1);
    for (int i = 0; i < 60; i++)
        advance(T / 100);
    CHECK(zkli_member_is_held(holder->member));
    CHECK_INT(Bench.drops, 1);
    cut(0);
    end(holder);
}

/* A first proof takes 0.3 T. Where all servers are slow, it must not be cut short. */
static void the_next_one_is_dropped_half_of_the_timeout_later_at_the_earliest(void) {
    struct owner *holder = hold_steadily();
    fall_silent();
    advance(PATIENCE);
    CHECK_INT(Bench.drops, 1);
    const int64_t dropped_ns = Bench.now_ns;
    cut_and_connect(0);
    CHECK(has_heartbeat());
    while (Bench.drops == 1 && Bench.now_ns < dropped_ns + T)
        advance(MS);
    CHECK_RANGE(Bench.now_ns - dropped_ns, T / 2, T / 2 + PERIOD + MS);
    CHECK_INT(Bench.drops, 2);
    end(holder);
}

/* To the nanosecond: the heartbeat of the next connection is silent for T/6 just then. */
static void half_of_the_timeout_later_the_next_one_may_be_dropped(void) {
    struct owner *holder = hold_steadily();
    fall_silent();
    advance(PATIENCE);
    CHECK_INT(Bench.drops, 1);
    cut(0);
    advance(T / 2 - PATIENCE);
    bench_connect();
    CHECK(has_heartbeat());
    advance(PATIENCE - 1);
    CHECK_INT(Bench.drops, 1);
    advance(1);
    CHECK_INT(Bench.drops, 2);
    end(holder);
}

static void a_hold_that_survives_has_another_server_before_its_lease_ends(void) {
    struct owner *holder = hold_steadily();
    fall_silent();
    advance(PATIENCE);
    cut_and_connect(0);
    for (int i = 0; i < 200; i++) {
        serve_all();
        advance(T / 100);
        CHECK(zkli_engine_is_certain(Bench.engine));
    }
    CHECK(holder->member != NULL && zkli_member_is_held(holder->member));
    CHECK((holder->notices & TOLD(LOST)) == 0);
    end(holder);
}

/* ---- When not ---- */

static void without_a_hold_nothing_is_dropped(void) {
    bench_begin();
    Bench.can_drop = true;
    struct owner *holder = hold("a"), *waiter = begin("a");
    serve_all();
    release(holder);
    serve_until(REMOVE); /* is not answered, and with it nothing else */
    Bench.request_count = 0;
    while (!has_heartbeat())
        advance(MS);
    for (int i = 0; i < 40; i++)
        advance(T / 100);
    CHECK_INT(Bench.drops, 0);
    CHECK(waiter->grants == 0);
    cut(0);
    end(waiter);
}

/* A server that commits nothing may still tell of what was committed before. */
static void a_hold_that_begins_in_the_silence_is_one(void) {
    bench_begin();
    Bench.can_drop = true;
    tiny_add(&Bench.server, Other, 99);
    Bench.server.number = 1;
    struct owner *waiter = begin("a");
    serve_all();
    fall_silent();
    advance(PATIENCE); /* nothing is held yet */
    CHECK_INT(Bench.drops, 0);
    delete_node(Other);
    CHECK_INT(waiter->grants, 1);
    advance(PERIOD);
    CHECK_INT(Bench.drops, 1);
    cut(0);
    end(waiter);
}

/* What was asked for before the heartbeat is answered first. */
static void a_server_that_answers_something_is_not_silent(void) {
    static struct asked asked[3];
    struct owner *holder = hold_steadily();
    for (size_t i = 0; i < COUNT(asked); i++)
        ask(&asked[i], ZKLI_QUERY_LIST);
    fall_silent();
    for (size_t i = 0; i < COUNT(asked); i++) {
        advance(PATIENCE / 2);
        serve_next();
        CHECK_INT(Bench.drops, 0);
    }
    advance(PATIENCE - 1);
    CHECK_INT(Bench.drops, 0);
    advance(1);
    CHECK_INT(Bench.drops, 1);
    cut(0);
    end(holder);
}

/* A link of 2 MB a second needs so long for what is before the heartbeat. */
static void data_before_a_heartbeat_give_it_more_time(void) {
    static const size_t bytes[] = {0, 1999, 100000, 900000, 900000 * 4};
    for (size_t i = 0; i < COUNT(bytes); i++) {
        static struct asked asked;
        struct owner *holder = hold_steadily();
        if (bytes[i] > 0)
            ask_write(&asked, "/data", bytes[i]);
        fall_silent();
        int64_t patience_ns = PATIENCE + (int64_t)(bytes[i] / 2000) * MS;
        patience_ns = patience_ns > PATIENCE_MAX ? PATIENCE_MAX : patience_ns;
        advance(patience_ns - 1);
        CHECK_INT(Bench.drops, 0);
        advance(1);
        CHECK_INT(Bench.drops, 1);
        cut(0);
        end(holder);
    }
}

static void a_session_that_is_closed_drops_nothing(void) {
    struct owner *holder = hold_steadily();
    fall_silent();
    drain();
    advance(PATIENCE);
    advance(PERIOD);
    CHECK_INT(Bench.drops, 0);
    release(holder);
    bench_end();
}

static void without_a_connection_there_is_nothing_to_drop(void) {
    struct owner *holder = hold_steadily();
    fall_silent();
    cut(0);
    advance(PATIENCE);
    advance(PERIOD);
    CHECK_INT(Bench.drops, 0);
    end(holder);
}

/* As where the socket is not known, or there is one server only. It may be known later. */
static void a_connection_that_cannot_be_dropped_is_tried_again(void) {
    struct owner *holder = hold_steadily();
    Bench.can_drop = false;
    fall_silent();
    advance(PATIENCE);
    CHECK_INT(Bench.drops, 1);
    advance(PERIOD - 1);
    CHECK_INT(Bench.drops, 1);
    advance(1);
    CHECK_INT(Bench.drops, 2);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 0);
    Bench.can_drop = true;
    advance(PERIOD);
    CHECK_INT(Bench.drops, 3);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 1);
    end(holder);
}

static void when_the_silence_ends_nothing_is_dropped_any_more(void) {
    struct owner *holder = hold_steadily();
    Bench.can_drop = false;
    fall_silent();
    advance(PATIENCE);
    CHECK_INT(Bench.drops, 1);
    serve_all();
    for (int i = 0; i < 200; i++) {
        advance(T / 100);
        serve_all();
    }
    CHECK_INT(Bench.drops, 1);
    end(holder);
}

/* ---- The socket ---- */

static void the_port_is_prepared_behind_answers_as_long_as_it_wants(void) {
    bench_begin();
    Bench.wants_preparing = true;
    struct owner *holder = hold("a");
    const size_t at_first = Bench.prepared;
    CHECK(at_first >= 1);
    for (size_t i = 1; i <= 3; i++) {
        fall_silent();
        CHECK_INT(Bench.prepared, at_first + i - 1);
        serve_all();
        CHECK_INT(Bench.prepared, at_first + i);
    }
    Bench.wants_preparing = false;
    answer_slowly(MS);
    CHECK_INT(Bench.prepared, at_first + 3);
    Bench.wants_preparing = true;
    fall_silent();
    cut(0); /* a lost heartbeat is no answer */
    CHECK_INT(Bench.prepared, at_first + 3);
    end(holder);
}

static void an_answer_that_proves_no_connection_prepares_nothing(void) {
    bench_begin();
    Bench.wants_preparing = true;
    struct owner *holder = hold("a");
    serve_all();
    fall_silent();
    const size_t prepared = Bench.prepared;
    answer_next(BARRIER, ZKLI_RESULT_LOST); /* the end of a connection was not reported, say */
    CHECK_INT(Bench.prepared, prepared);
    fall_silent();
    const struct request heartbeat = serve_until(BARRIER);
    tell_state(ZKLI_PORT_CONNECTING);
    serve_request(&heartbeat);
    CHECK_INT(Bench.prepared, prepared);
    end(holder);
}

static void a_port_that_cannot_look_for_its_socket_goes_without(void) {
    struct owner *holder = hold_steadily();
    struct zkli_port *port = Bench.engine->port;
    const struct zkli_port_ops *all = port->ops;
    struct zkli_port_ops some = *all;
    some.drop = NULL;
    some.wants_preparing = NULL;
    port->ops = &some;
    fall_silent();
    advance(PATIENCE);
    serve_all();
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 0);
    CHECK(zkli_member_is_held(holder->member));
    port->ops = all;
    end(holder);
}

static void a_waiter_s_syncs_prepare_nothing(void) {
    bench_begin();
    struct owner *holder = hold("a");
    release(holder);
    come_to_rest();
    tiny_add(&Bench.server, Other, 99);
    struct owner *waiter = begin("a");
    connect_successor();
    for (int i = 0; i < 120; i++) {
        advance(T / 100);
        serve_all();
    }
    CHECK_INT(Bench.engine->pace, ZKLI_PACE_SYNCS);
    Bench.wants_preparing = true;
    const size_t prepared = Bench.prepared;
    for (int i = 0; i < 100; i++) {
        advance(T / 100);
        serve_all();
    }
    CHECK(Bench.sent[SYNC] > 4);
    CHECK_INT(Bench.prepared, prepared);
    abandon(waiter);
    end(waiter);
}

/* ---- Another list of servers ---- */

/* The client library has closed the connection, and says nothing of it. */
static void a_connection_that_a_new_list_has_ended_is_ended_at_once(void) {
    struct owner *holder = hold_steadily();
    struct zkli_port *port = Bench.engine->port;
    zkli_engine_enter(Bench.engine);
    zkli_engine_hosts_taken(Bench.engine, port);
    settle();
    CHECK_INT(Bench.engine->state, ZKL_STATE_CONNECTED);
    CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], 0);
    ZKLI_CONTAINER(port, struct fake_port, port)->state = ZKLI_PORT_CONNECTING;
    zkli_engine_enter(Bench.engine);
    zkli_engine_hosts_taken(Bench.engine, port);
    settle();
    CHECK_INT(Bench.engine->state, ZKL_STATE_SUSPENDED);
    CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], 1);
    cut_and_connect(0);
    serve_all();
    CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], 1);
    CHECK_INT(Bench.events[ZKL_EVENT_RESUMED], 1);
    CHECK((holder->notices & TOLD(LOST)) == 0);
    end(holder);
}

static void a_port_of_an_earlier_session_says_nothing_of_this_one(void) {
    struct owner *holder = hold_steadily();
    struct zkli_port other = {.ops = Bench.engine->port->ops};
    zkli_engine_enter(Bench.engine);
    zkli_engine_hosts_taken(Bench.engine, &other);
    settle();
    CHECK_INT(Bench.engine->state, ZKL_STATE_CONNECTED);
    end(holder);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a connection is dropped after a sixth of the timeout",
         a_connection_is_dropped_after_a_sixth_of_the_timeout},
        {"where heartbeats take long, it is waited for longer",
         where_heartbeats_take_long_it_is_waited_for_longer},
        {"an answer in the last moment is one", an_answer_in_the_last_moment_is_one},
        {"a connection that was dropped is not dropped again",
         a_connection_that_was_dropped_is_not_dropped_again},
        {"the next one is dropped half of the timeout later at the earliest",
         the_next_one_is_dropped_half_of_the_timeout_later_at_the_earliest},
        {"half of the timeout later the next one may be dropped",
         half_of_the_timeout_later_the_next_one_may_be_dropped},
        {"a hold that survives has another server before its lease ends",
         a_hold_that_survives_has_another_server_before_its_lease_ends},
        {"without a hold nothing is dropped", without_a_hold_nothing_is_dropped},
        {"a hold that begins in the silence is one", a_hold_that_begins_in_the_silence_is_one},
        {"a server that answers something is not silent",
         a_server_that_answers_something_is_not_silent},
        {"data before a heartbeat give it more time", data_before_a_heartbeat_give_it_more_time},
        {"a session that is closed drops nothing", a_session_that_is_closed_drops_nothing},
        {"without a connection there is nothing to drop",
         without_a_connection_there_is_nothing_to_drop},
        {"a connection that cannot be dropped is tried again",
         a_connection_that_cannot_be_dropped_is_tried_again},
        {"when the silence ends, nothing is dropped any more",
         when_the_silence_ends_nothing_is_dropped_any_more},
        {"the port is prepared behind answers as long as it wants",
         the_port_is_prepared_behind_answers_as_long_as_it_wants},
        {"an answer that proves no connection prepares nothing",
         an_answer_that_proves_no_connection_prepares_nothing},
        {"a port that cannot look for its socket goes without",
         a_port_that_cannot_look_for_its_socket_goes_without},
        {"a waiter's syncs prepare nothing", a_waiter_s_syncs_prepare_nothing},
        {"a connection that a new list has ended is ended at once",
         a_connection_that_a_new_list_has_ended_is_ended_at_once},
        {"a port of an earlier session says nothing of this one",
         a_port_of_an_earlier_session_says_nothing_of_this_one},
    };
    return TEST_MAIN(argc, argv, "engine_silence", cases);
}
