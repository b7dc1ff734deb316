/*
 * An engine whose port keeps something to itself: connections that begin and end without a word,
 * for the port had no memory to tell of them.
 */
#include "unit/engine_bench.h"

#define PERIOD_NS (T_MS / 16 * MS)
#define OWN_LOOKS 2 /* it takes so many in a row to believe what nobody told */

static struct fake_port *port_now(void) {
    return ZKLI_CONTAINER(Bench.engine->port, struct fake_port, port);
}

/* The port is like that, and does not say so. */
static void become(enum zkli_port_state state) {
    port_now()->state = state;
}

/* Goes on until there was another look. */
static void pass_look(void) {
    size_t looks = Bench.looks;
    for (int i = 0; Bench.looks == looks; i++) {
        REQUIRE(i < 100);
        advance(20 * MS);
    }
}

/* A heartbeat is under way, and nobody answers. */
static void begin_silence(void) {
    do {
        serve_all();
        while (!zkli_heartbeat_is_in_flight(Bench.engine))
            advance(PERIOD_NS);
    } while (Bench.request_count > 1); /* with the first, a holder sets its watch */
}

static void lose_all(void) {
    for (size_t left = Bench.request_count; left > 0; left--) {
        struct request request = take(0);
        answer(&request, ZKLI_RESULT_LOST);
    }
}

/* ---- The beginning of a connection ---- */

static void a_connection_of_which_nothing_was_told_counts_at_the_second_look(void) {
    bench_start("/locks", false);
    struct owner *owner = begin("a");
    pass_look();
    CHECK(!zkli_engine_is_connected(Bench.engine));
    port_now()->session_id = ++Bench.last_session;
    become(ZKLI_PORT_CONNECTED);
    pass_look();
    CHECK(!zkli_engine_is_connected(Bench.engine));
    pass_look();
    CHECK(zkli_engine_is_connected(Bench.engine));
    come_to_rest();
    CHECK_INT(owner->grants, 1);
    cut(0);
    become(ZKLI_PORT_CONNECTED);
    pass_look();
    CHECK(
        !zkli_engine_is_connected(Bench.engine)); /* what was seen before the cut does not count */
    pass_look();
    CHECK(zkli_engine_is_connected(Bench.engine));
    CHECK_INT(Bench.events[ZKL_EVENT_RESUMED], 1);
    bench_end();
}

/* Nor does what was seen of the end of the last connection, or of the session before. */
static void a_look_before_the_news_is_none_after_them(void) {
    bench_begin();
    (void)hold("h");
    begin_silence();
    become(ZKLI_PORT_CONNECTING);
    pass_look();
    tell_state(ZKLI_PORT_CONNECTING);
    become(ZKLI_PORT_CONNECTED);
    pass_look();
    CHECK(!zkli_engine_is_connected(Bench.engine));
    expire();
    port_now()->session_id = ++Bench.last_session;
    become(ZKLI_PORT_CONNECTED);
    pass_look();
    CHECK(!zkli_engine_is_connected(Bench.engine));
    pass_look();
    CHECK(zkli_engine_is_connected(Bench.engine));
    bench_end();
}

static void the_end_of_a_session_of_which_nothing_was_told_counts_at_once(void) {
    bench_begin();
    struct owner *owner = hold("a");
    come_to_rest();
    begin_silence();
    become(ZKLI_PORT_EXPIRED);
    pass_look();
    CHECK((owner->notices & TOLD(LOST)) != 0);
    CHECK_INT(Bench.port_count, 2);
    CHECK(Bench.ports[0].is_closed);
    Bench.request_count = 0;
    bench_end();
}

/* ---- The end of a connection ---- */

static void an_end_of_which_nothing_was_told_counts_at_the_second_look(void) {
    bench_begin();
    struct owner *holder = hold("a"), *waiter = begin("a");
    come_to_rest();
    begin_silence();
    become(ZKLI_PORT_CONNECTING);
    for (int i = 1; i < OWN_LOOKS; i++) {
        pass_look();
        CHECK(zkli_engine_is_connected(Bench.engine));
    }
    int64_t end_ns = Bench.engine->lease.certain_until_ns;
    pass_look();
    CHECK(!zkli_engine_is_connected(Bench.engine) && zkli_heartbeat_is_in_flight(Bench.engine));
    CHECK_INT(Bench.engine->state, ZKL_STATE_SUSPENDED);
    CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], 1);
    CHECK_INT(Bench.engine->lease.certain_until_ns, end_ns);
    (void)begin("b");
    CHECK_INT(Bench.request_count, 1); /* nothing is sent any more */
    tell_state(ZKLI_PORT_CONNECTING);
    CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], 1); /* once is enough */
    lose_all();
    CHECK_INT(Bench.request_count, 0);
    uint64_t connection = Bench.engine->connection;
    bench_connect();
    CHECK_INT(Bench.engine->connection, connection + 1);
    CHECK_INT(Bench.events[ZKL_EVENT_RESUMED], 1);
    CHECK(zkli_member_is_held(holder->member));
    release(holder);
    come_to_rest();
    CHECK_INT(waiter->grants, 1);
    bench_end();
}

/* The client may send it on a connection of which nothing is told, or not yet. Whatever that has
 * proved, it is not said how long ago it began; and it may have a shorter timeout. */
static void a_heartbeat_that_an_unknown_connection_answers_proves_nothing(void) {
    bench_begin();
    (void)hold("h");
    begin_silence();
    int64_t last_ns = Bench.engine->lease.touched_ns, end_ns = Bench.engine->lease.certain_until_ns;
    size_t beats = Bench.engine->lease.heartbeat_count;
    become(ZKLI_PORT_CONNECTING);
    for (int i = 0; i < OWN_LOOKS; i++)
        pass_look();
    CHECK(!zkli_engine_is_connected(Bench.engine));
    become(ZKLI_PORT_CONNECTED);
    serve_all();
    CHECK_INT(Bench.engine->lease.touched_ns, last_ns);
    CHECK_INT(Bench.engine->lease.certain_until_ns, end_ns);
    CHECK_INT(Bench.engine->lease.heartbeat_count, beats);
    CHECK(!zkli_engine_is_connected(Bench.engine) && !zkli_heartbeat_is_in_flight(Bench.engine));
    CHECK_INT(Bench.request_count, 0);
    for (int i = 0; i < OWN_LOOKS; i++)
        pass_look();
    CHECK(zkli_engine_is_connected(Bench.engine) && zkli_heartbeat_is_in_flight(Bench.engine));
    CHECK_INT(Bench.engine->lease.certain_until_ns,
              last_ns + T_MS * MS - zkli_lease_margin_ns(T_MS * MS));
    CHECK_INT(Bench.engine->lease.heartbeat_count, 0);
    bench_end();
}

static void an_end_that_was_seen_once_is_forgotten(void) {
    bench_begin();
    (void)hold("h");
    for (int i = 0; i < 3; i++) {
        begin_silence();
        become(ZKLI_PORT_CONNECTING);
        pass_look();
        if (i == 0) {
            become(ZKLI_PORT_CONNECTED);
            pass_look();
            become(ZKLI_PORT_CONNECTING);
            pass_look();
        }
        CHECK(zkli_engine_is_connected(Bench.engine));
        if (i < 2) {
            serve_next();
        } else {
            bench_connect(); /* told, and its heartbeat is the one that was under way */
            become(ZKLI_PORT_CONNECTING);
            pass_look();
        }
        CHECK(zkli_engine_is_connected(Bench.engine));
        CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], i < 2 ? 0 : 1);
    }
    pass_look();
    CHECK(!zkli_engine_is_connected(Bench.engine));
    CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], 2);
    bench_end();
}

static void a_heartbeat_that_is_lost_has_the_connection_looked_at(void) {
    bench_begin();
    struct owner *owner = hold("a");
    come_to_rest();
    become(ZKLI_PORT_CONNECTING);
    for (size_t looks = Bench.looks; Bench.looks < looks + OWN_LOOKS;) {
        CHECK_INT(Bench.engine->state, ZKL_STATE_CONNECTED);
        advance(20 * MS);
        lose_all();
    }
    CHECK_INT(Bench.engine->state, ZKL_STATE_SUSPENDED);
    CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], 1);
    size_t beats = Bench.sent[BARRIER];
    advance(100 * MS);
    CHECK_INT(Bench.sent[BARRIER], beats); /* none before there is a connection */
    become(ZKLI_PORT_CONNECTED);
    for (int i = 0; i < OWN_LOOKS; i++)
        pass_look();
    CHECK(zkli_engine_is_connected(Bench.engine) && zkli_member_is_held(owner->member));
    CHECK_INT(Bench.sent[BARRIER], beats + 1);
    bench_end();
}

/* As for one that the port refuses. */
static void so_has_one_that_is_not_sent(void) {
    bench_begin();
    (void)hold("h");
    come_to_rest();
    Bench.refused = 1u << BARRIER;
    become(ZKLI_PORT_CONNECTING);
    for (int i = 0; i < OWN_LOOKS; i++)
        pass_look();
    CHECK_INT(Bench.engine->state, ZKL_STATE_SUSPENDED);
    Bench.refused = 0;
    bench_end();
}

/* Neither the end of a connection nor the next one was told, but a reply was lost: watches may have
 * been sent again, which come in any order, and the predecessor's end need not be the grant. */
static void behind_a_lost_reply_the_predecessors_end_is_no_grant(void) {
    bench_begin();
    struct owner *first = hold("a");
    struct owner *second = begin("a");
    come_to_rest();
    begin_silence();
    CHECK_INT(second->member->core.state, ZKLI_WAITING);
    const char *own = path_of(second);
    (void)tiny_remove(&Bench.server, own); /* an operator; its watch fires in a moment */
    answer_next(BARRIER, ZKLI_RESULT_LOST);
    delete_node(path_of(first));
    CHECK_INT(second->grants, 0);
    tell_watch(own, ZKLI_WATCH_DELETED);
    come_to_rest();
    CHECK_INT(second->grants, 1);
    CHECK((second->notices & TOLD(REQUEUED)) != 0);
    bench_end();
}

/* A server may answer so, by a connection with which nothing is amiss. It is no proof of a new one,
 * on which more would be certain. */
static void a_heartbeat_that_is_lost_on_a_good_connection_changes_no_lease(void) {
    bench_begin();
    (void)hold("h");
    begin_silence();
    int64_t end_ns = Bench.engine->lease.certain_until_ns;
    answer_next(BARRIER, ZKLI_RESULT_LOST);
    for (int i = 0; i < OWN_LOOKS + 1; i++)
        pass_look();
    CHECK_INT(Bench.engine->lease.certain_until_ns, end_ns);
    CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], 0);
    come_to_rest();
    CHECK(Bench.engine->lease.certain_until_ns > end_ns);
    bench_end();
}

/* ---- Both ---- */

/* What nobody told of is seen by it. */
static void a_shorter_timeout_holds_from_the_next_answer_on(void) {
    static const int timeouts_ms[] = {T_MS / 4, T_MS * 2, T_MS};
    static const enum zkli_result results[] = {ZKLI_RESULT_OK, ZKLI_RESULT_AGAIN, ZKLI_RESULT_LOST};
    for (size_t i = 0; i < COUNT(timeouts_ms) * COUNT(results); i++) {
        int timeout_ms = timeouts_ms[i / COUNT(results)];
        enum zkli_result result = results[i % COUNT(results)];
        bool is_shorter = timeout_ms < T_MS;
        int64_t shorter_ns = (is_shorter ? timeout_ms : T_MS) * MS;
        bench_begin();
        (void)hold("h");
        come_to_rest();
        begin_silence();
        int64_t last_ns = Bench.engine->lease.touched_ns,
                end_ns = Bench.engine->lease.certain_until_ns;
        size_t beats = Bench.engine->lease.heartbeat_count;
        uint64_t connection = Bench.engine->connection;
        Bench.timeout_ms = timeout_ms;
        advance(1 * MS);
        answer_next(BARRIER, result);
        CHECK_INT(Bench.engine->connection, connection + (result == ZKLI_RESULT_LOST));
        CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], 0);
        CHECK_INT(Bench.engine->timeout_ms, timeout_ms);
        CHECK_INT(Bench.engine->lease.timeout_ns, shorter_ns);
        if (is_shorter) {
            CHECK_INT(Bench.engine->lease.certain_until_ns,
                      last_ns + shorter_ns - zkli_lease_margin_ns(shorter_ns));
            CHECK_INT(Bench.engine->lease.heartbeat_count, result == ZKLI_RESULT_OK ? 1 : 0);
        } else if (result == ZKLI_RESULT_OK) {
            CHECK(Bench.engine->lease.certain_until_ns > end_ns);
            CHECK(Bench.engine->lease.heartbeat_count > 1);
        } else {
            CHECK_INT(Bench.engine->lease.heartbeat_count, beats);
        }
        struct owner *owner = begin("a");
        come_to_rest();
        CHECK_INT(owner->grants, 1);
        bench_end();
    }
}

/* And where nothing is answered, from the next look on: the hold is over in time. */
static void a_shorter_timeout_is_looked_for_in_silence(void) {
    bench_begin();
    struct owner *owner = hold("a");
    come_to_rest();
    begin_silence();
    int64_t last_ns = Bench.engine->lease.touched_ns;
    Bench.timeout_ms = T_MS / 4;
    pass_look();
    CHECK_INT(Bench.engine->lease.certain_until_ns,
              last_ns + T_MS / 4 * MS - zkli_lease_margin_ns(T_MS / 4 * MS));
    advance(T_MS / 4 * MS);
    CHECK((owner->notices & TOLD(LOST)) != 0);
    Bench.request_count = 0;
    bench_end();
}

/* ---- When it looks ---- */

static void heartbeats_that_are_refused_do_not_put_off_the_look(void) {
    bench_begin();
    (void)hold("h");
    Bench.refused = 1u << BARRIER;
    become(ZKLI_PORT_EXPIRED);
    for (int i = 0; i < 4 && Bench.port_count < 2; i++)
        advance(PERIOD_NS);
    CHECK_INT(Bench.port_count, 2);
    Bench.refused = 0;
    bench_end();
}

/* Each asks for a heartbeat, though one is under way. */
static void nor_do_those_who_come_to_a_session_that_rested(void) {
    bench_begin();
    (void)begin("a");
    advance(0);
    CHECK(zkli_heartbeat_is_in_flight(Bench.engine));
    become(ZKLI_PORT_EXPIRED);
    for (int i = 0; i < 4 && Bench.port_count < 2; i++) {
        advance(PERIOD_NS);
        (void)begin("a");
    }
    CHECK_INT(Bench.port_count, 2);
    Bench.request_count = 0;
    bench_end();
}

static void a_port_that_answers_is_not_looked_at(void) {
    bench_begin();
    (void)hold("a");
    come_to_rest();
    CHECK_INT(Bench.looks, 0);
    bench_end();
}

/* A session that rests sends no heartbeat, so the answer is all that shows it. */
static void an_answer_to_a_session_that_rests_ends_the_look(void) {
    struct asked asked;
    rest(T_MS * MS);
    CHECK_INT(Bench.engine->pace, ZKLI_PACE_REST);
    ask(&asked, ZKLI_QUERY_LIST);
    CHECK(zkli_timer_is_set(&Bench.engine->look));
    serve_all();
    check_asked(&asked, 1, 1);
    CHECK(!zkli_timer_is_set(&Bench.engine->look));
    bench_end();
}

/* Heartbeats would show it, and one was lost. */
static void an_answer_to_a_holder_s_session_does_not(void) {
    struct asked asked;
    bench_begin();
    (void)hold("h");
    begin_silence();
    lose_all();
    CHECK(zkli_timer_is_set(&Bench.engine->look));
    ask(&asked, ZKLI_QUERY_LIST);
    Bench.refused = 1u << BARRIER;
    while (asked.done == 0)
        serve_next();
    CHECK(zkli_timer_is_set(&Bench.engine->look));
    Bench.refused = 0;
    bench_end();
}

/* It was on its way when the connection broke. */
static void nor_does_one_that_comes_late(void) {
    struct asked asked;
    rest(T_MS * MS);
    ask(&asked, ZKLI_QUERY_LIST);
    struct request list = serve_until(LIST);
    tell_state(ZKLI_PORT_CONNECTING);
    CHECK(zkli_timer_is_set(&Bench.engine->look));
    serve_request(&list);
    CHECK(zkli_timer_is_set(&Bench.engine->look));
    bench_connect();
    bench_end();
}

/* It tells all of its state itself. */
static void nor_is_a_port_that_cannot_be(void) {
    bench_begin();
    struct zkli_port_ops ops = *Bench.engine->port->ops;
    ops.look = NULL;
    Bench.engine->port->ops = &ops;
    (void)hold("a");
    begin_silence();
    become(ZKLI_PORT_CONNECTING);
    for (int i = 0; i < 4; i++)
        advance(ZKLI_LOOK_NS);
    zkli_engine_hosts_taken(Bench.engine, Bench.engine->port);
    settle();
    CHECK(zkli_engine_is_connected(Bench.engine));
    tell_state(ZKLI_PORT_CONNECTING);
    CHECK(!zkli_engine_is_connected(Bench.engine));
    lose_all();
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a connection of which nothing was told counts at the second look",
         a_connection_of_which_nothing_was_told_counts_at_the_second_look},
        {"a look before the news is none after them", a_look_before_the_news_is_none_after_them},
        {"the end of a session of which nothing was told counts at once",
         the_end_of_a_session_of_which_nothing_was_told_counts_at_once},
        {"the end of a connection of which nothing was told counts at the second look",
         an_end_of_which_nothing_was_told_counts_at_the_second_look},
        {"a heartbeat that an unknown connection answers proves nothing",
         a_heartbeat_that_an_unknown_connection_answers_proves_nothing},
        {"an end that was seen once is forgotten", an_end_that_was_seen_once_is_forgotten},
        {"a heartbeat that is lost has the connection looked at",
         a_heartbeat_that_is_lost_has_the_connection_looked_at},
        {"so has one that is not sent", so_has_one_that_is_not_sent},
        {"behind a lost reply the predecessor's end is no grant",
         behind_a_lost_reply_the_predecessors_end_is_no_grant},
        {"a heartbeat that is lost on a good connection changes no lease",
         a_heartbeat_that_is_lost_on_a_good_connection_changes_no_lease},
        {"a shorter timeout holds from the next answer on",
         a_shorter_timeout_holds_from_the_next_answer_on},
        {"a shorter timeout is looked for in silence", a_shorter_timeout_is_looked_for_in_silence},
        {"heartbeats that are refused do not put off the look",
         heartbeats_that_are_refused_do_not_put_off_the_look},
        {"nor do those who come to a session that rested",
         nor_do_those_who_come_to_a_session_that_rested},
        {"a port that answers is not looked at", a_port_that_answers_is_not_looked_at},
        {"nor is a port that cannot be", nor_is_a_port_that_cannot_be},
        {"an answer to a session that rests ends the look",
         an_answer_to_a_session_that_rests_ends_the_look},
        {"an answer to a holder's session does not", an_answer_to_a_holder_s_session_does_not},
        {"nor does one that comes late", nor_does_one_that_comes_late},
    };
    return TEST_MAIN(argc, argv, "engine_look", cases);
}
