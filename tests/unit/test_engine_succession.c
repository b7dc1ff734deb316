/* A session that has rested, and another that takes its place. */
#include "unit/engine_bench.h"

#define T (T_MS * MS)

/* ---- It is replaced ---- */

static void after_a_rest_another_session_takes_its_place(void) {
    rest(3 * T);
    int64_t first = zkli_engine_session_id(Bench.engine);
    struct owner *owner = begin("a");
    CHECK_INT(Bench.port_count, 2);
    CHECK(successor_port()->is_opened);
    CHECK_INT(Bench.sent[CREATE], 0);
    check_untold();
    CHECK(zkli_engine_session_id(Bench.engine) == first);
    connect_successor();
    CHECK(zkli_engine_session_id(Bench.engine) != first);
    CHECK(Bench.ports[0].is_closed && !Bench.ports[1].is_closed);
    CHECK_INT(Bench.sent[CREATE], 1);
    serve_all();
    CHECK_INT(owner->grants, 1); /* the lease is that of a new session */
    CHECK((owner->notices & TOLD(REQUEUED)) == 0);
    check_untold();
    CHECK_INT(Bench.port_count, 2);
    bench_end();
}

static void all_that_have_come_go_on_in_it(void) {
    rest(3 * T);
    struct owner *first = begin("a"), *second = begin("b"), *third = begin("a");
    CHECK_INT(Bench.port_count, 2);
    abandon(third);
    CHECK(third->member == NULL);
    connect_successor();
    serve_all();
    CHECK(first->grants == 1 && second->grants == 1);
    bench_end();
}

/* The engine has not settled since. */
static struct owner *begin_unsettled(void) {
    const struct zkli_wish wish = {.name = "b", .kind = ZKLI_KIND_MUTEX};
    struct owner *owner = &Bench.owners[Bench.owner_count++];
    zkli_engine_enter(Bench.engine);
    REQUIRE_INT(zkli_members_add(&owner->member, Bench.engine, &wish, NULL), ZKL_OK);
    zkli_member_attach(owner->member, on_notice, owner);
    return owner;
}

static void without_a_connection_none_is_asked_for(void) {
    rest(3 * T);
    struct owner *owner = begin_unsettled();
    zkli_engine_on_state(Bench.engine, Bench.engine->port, ZKLI_PORT_CONNECTING);
    settle();
    CHECK_INT(Bench.port_count, 1);
    abandon(owner);
    bench_end();
}

/* Nothing waits for it any more, and it has the better lease. */
static void it_is_replaced_though_the_contender_has_left(void) {
    rest(3 * T);
    abandon(begin("a"));
    connect_successor();
    CHECK(Bench.ports[0].is_closed);
    CHECK(!zkli_timer_is_set(&Bench.engine->silence)); /* of the heartbeat that was under way */
    check_untold();
    CHECK_INT(hold("a")->grants, 1);
    CHECK_INT(Bench.port_count, 2);
    bench_end();
}

static void a_try_lists_before_another_session_is_opened(void) {
    for (int is_taken = 0; is_taken < 2; is_taken++) {
        struct owner *owner = NULL;
        rest(3 * T);
        (void)tiny_add(&Bench.server, "/locks", 0);
        (void)tiny_add(&Bench.server, "/locks/a", 0);
        if (is_taken)
            (void)tiny_add(&Bench.server,
                           "/locks/a/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-0000000000", 99);
        CHECK_INT(enter_queue("a", true, &owner), ZKL_OK);
        CHECK_INT(Bench.port_count, 1);
        serve_all();
        CHECK_INT(owner->error, is_taken ? ZKL_BUSY : ZKL_OK);
        CHECK_INT(Bench.port_count, is_taken ? 1 : 2);
        if (!is_taken) {
            size_t lists = Bench.sent[LIST];
            connect_successor();
            CHECK_INT(Bench.sent[CREATE], 1);
            CHECK_INT(Bench.sent[LIST], lists + 1); /* behind its create */
            serve_all();
            CHECK_INT(owner->grants, 1);
        }
        bench_end();
    }
}

/* A node that is given up is gone before its session is closed: closing may take its time. */
static void not_before_what_is_left_of_it_is_gone(void) {
    bench_begin();
    struct owner *lost = hold("a");
    size_t creates = Bench.sent[CREATE];
    cut(0);
    advance(2 * T);
    CHECK((lost->notices & TOLD(LOST)) != 0);
    bench_connect();
    struct request remove = serve_until(REMOVE);
    struct owner *owner = begin("a");
    connect_successor();
    CHECK(!Bench.ports[0].is_closed);
    CHECK_INT(Bench.sent[CREATE], creates);
    serve_request(&remove);
    CHECK(Bench.ports[0].is_closed);
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* A reply is not thrown away. */
static void not_before_a_query_is_answered(void) {
    struct asked asked;
    rest(3 * T);
    struct owner *owner = begin("a");
    ask(&asked, ZKLI_QUERY_LIST);
    connect_successor();
    CHECK(!Bench.ports[0].is_closed);
    serve_all();
    check_asked(&asked, 1, 1);
    CHECK(Bench.ports[0].is_closed);
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* An outage ends with a session that is new, and the program is told of that. */
static void without_a_connection_it_ends_the_outage(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    cut(0);
    connect_successor();
    CHECK_INT(Bench.engine->state, ZKL_STATE_CONNECTED);
    CHECK_INT(Bench.events[ZKL_EVENT_RESUMED], 1);
    CHECK(Bench.is_new_session);
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

static void a_session_that_ends_meanwhile_is_followed_by_it(void) {
    for (int is_first = 0; is_first < 2; is_first++) {
        struct asked asked;
        rest(3 * T);
        struct owner *owner = begin("a");
        ask(&asked, ZKLI_QUERY_LIST); /* so that it is not ready to be replaced */
        struct fake_port *port = successor_port();
        if (is_first)
            connect_successor();
        Bench.request_count = 0;
        tell_state(ZKLI_PORT_EXPIRED);
        CHECK_INT(Bench.port_count, 2);
        CHECK(Bench.engine->port == &port->port && Bench.engine->succession.count == 0);
        if (!is_first)
            bench_connect();
        CHECK_INT(Bench.events[ZKL_EVENT_RESUMED], 1);
        serve_all();
        CHECK_INT(owner->grants, 1);
        bench_end();
    }
}

/* Nobody knows yet how long it will take. */
static void one_that_is_not_connected_is_not_late(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    advance(T * 3 / 8);
    Bench.request_count = 0;
    tell_state(ZKLI_PORT_EXPIRED);
    CHECK(Bench.engine->port == &Bench.ports[1].port);
    CHECK(Bench.engine->late_until_ns == 0);
    bench_connect();
    serve_all();
    CHECK(owner->member != NULL);
    bench_end();
}

/* ---- It is not ---- */

static void while_its_lease_is_fit_it_stays(void) {
    rest(T / 20);
    CHECK_INT(hold("a")->grants, 1);
    CHECK_INT(Bench.port_count, 1);
    bench_end();
}

static void with_a_contender_in_a_queue_it_stays(void) {
    bench_begin();
    struct owner *holder = hold("a");
    (void)begin("a");
    serve_all();
    cut(0);
    advance(2 * T);
    CHECK((holder->notices & TOLD(LOST)) != 0);
    bench_connect();
    (void)begin("b");
    pass(T / 2);
    CHECK_INT(Bench.port_count, 1);
    bench_end();
}

static void one_that_is_kept_stays_and_a_barrier_is_all_it_takes(void) {
    bench_start("/locks", true);
    bench_connect();
    pass(5 * T);
    size_t syncs = Bench.sent[SYNC];
    CHECK_INT(Bench.sent[BARRIER], 0);
    CHECK(!zkli_engine_is_certain(Bench.engine));
    pass(T);
    CHECK_RANGE(Bench.sent[SYNC] - syncs, 5, 8);
    struct owner *owner = begin("a");
    serve_all();
    CHECK_INT(owner->grants, 1);
    CHECK_INT(Bench.port_count, 1);
    CHECK_INT(Bench.sent[BARRIER], 1);
    bench_end();
}

/* The first proof of the session itself, a timeout after a lapse. */
static void check_goes_on_alone(struct owner *owner) {
    CHECK(Bench.engine->succession.count == 0);
    CHECK_INT(Bench.sent[CREATE], 1); /* it queues at once, */
    pass(T * 7 / 5);
    CHECK_INT(owner->grants, 0);
    pass(T / 5);
    CHECK_INT(owner->grants, 1); /* and is granted when the lease counts again */
    check_untold();
    bench_end();
}

static void where_no_other_is_to_be_had_it_stays(void) {
    static const enum zkli_port_state ends[] = {ZKLI_PORT_EXPIRED, ZKLI_PORT_AUTH_FAILED,
                                                ZKLI_PORT_FAILED};
    for (size_t i = 0; i < COUNT(ends); i++) {
        rest(3 * T);
        struct owner *owner = begin("a");
        tell_successor(ends[i]);
        CHECK(Bench.ports[1].is_closed);
        check_goes_on_alone(owner);
    }
    rest(3 * T);
    struct owner *owner = begin("a");
    zkli_engine_enter(Bench.engine);
    zkli_engine_on_open_failed(Bench.engine, &successor_port()->port);
    settle();
    CHECK(Bench.ports[1].is_closed);
    check_goes_on_alone(owner);
    rest(3 * T);
    Bench.has_no_ports = true;
    check_goes_on_alone(begin("a"));
}

/* A server that is asked may be silent. */
static void one_that_does_not_connect_is_asked_for_anew(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    tell_successor(ZKLI_PORT_CONNECTING);
    pass(T / 12);
    CHECK_INT(Bench.port_count, 3);
    pass(T / 16);
    CHECK_INT(Bench.port_count, 4);
    CHECK(!Bench.ports[1].is_closed && !Bench.ports[2].is_closed);
    connect_successor();
    CHECK(Bench.ports[1].is_closed && Bench.ports[2].is_closed && !Bench.ports[3].is_closed);
    serve_all();
    CHECK_INT(owner->grants, 1);
    CHECK_INT(Bench.port_count, 4);
    check_untold();
    bench_end();
}

static void the_first_that_connects_is_taken(void) {
    for (size_t first = 1; first < 4; first++) {
        rest(3 * T);
        struct owner *owner = begin("a");
        pass(T / 6);
        CHECK_INT(Bench.port_count, 4);
        connect_successor_at(&Bench.ports[first]);
        for (size_t i = 0; i < 4; i++)
            CHECK(Bench.ports[i].is_closed == (i != first));
        serve_all();
        CHECK_INT(owner->grants, 1);
        bench_end();
    }
}

static void one_that_fails_is_not_missed_while_there_is_another(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    pass(T / 8);
    CHECK_INT(Bench.port_count, 3);
    zkli_engine_enter(Bench.engine);
    zkli_engine_on_state(Bench.engine, &Bench.ports[1].port, ZKLI_PORT_FAILED);
    settle();
    CHECK(Bench.ports[1].is_closed);
    CHECK_INT(Bench.sent[CREATE], 0);
    connect_successor();
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* A session is refused where there are too many connections, say. */
static void where_none_connects_the_own_lease_will_do(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    pass(T * 5 / 8);
    CHECK_INT(Bench.sent[CREATE], 0);
    pass(T / 4);
    CHECK(Bench.sent[CREATE] > 0);
    CHECK(Bench.engine->succession.count == 0);
    CHECK_INT(owner->grants, 0);
    pass(T * 7 / 10); /* a first proof counts a timeout later, after a lapse */
    CHECK_INT(owner->grants, 1);
    check_untold();
    bench_end();
}

static void of_several_the_last_is_taken(void) {
    for (size_t first = 1; first <= 2; first++) {
        struct request remove;
        (void)begin_behind_a_delete(&remove);
        while (Bench.port_count < 3)
            pass(10 * MS);
        connect_successor_at(&Bench.ports[first]);
        connect_successor_at(&Bench.ports[3 - first]);
        serve_request(&remove);
        CHECK(Bench.engine->port == &Bench.ports[2].port);
        CHECK(Bench.ports[0].is_closed && Bench.ports[1].is_closed);
        serve_all();
        bench_end();
    }
}

/* In whatever order they were told, and stand in the list. */
static void of_those_that_are_left_the_last_is_taken(void) {
    struct request remove;
    (void)begin_behind_a_delete(&remove);
    while (Bench.port_count < 4)
        pass(10 * MS);
    zkli_engine_enter(Bench.engine);
    zkli_engine_on_state(Bench.engine, &Bench.ports[1].port, ZKLI_PORT_FAILED);
    settle();
    connect_successor_at(&Bench.ports[3]);
    connect_successor_at(&Bench.ports[2]);
    serve_request(&remove);
    CHECK(Bench.engine->port == &Bench.ports[3].port);
    serve_all();
    bench_end();
}

/* There is no memory for a second. */
static void one_that_cannot_be_made_is_not_missed_while_there_is_another(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    Bench.has_no_ports = true;
    pass(T / 8);
    CHECK_INT(Bench.engine->succession.count, 1);
    CHECK(!Bench.engine->is_kept);
    connect_successor();
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* Where there is one connection for each client, say. */
static void one_that_keeps_the_connection_from_this_one_is_given_up(void) {
    struct request remove;
    struct owner *owner = begin_behind_a_delete(&remove);
    connect_successor();
    answer(&remove, ZKLI_RESULT_LOST);
    cut(0);
    CHECK(Bench.ports[1].is_closed);
    CHECK_INT(Bench.port_count, 2);
    bench_connect();
    serve_all();
    CHECK_INT(Bench.port_count, 3);
    connect_successor();
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* The lease has not lapsed: a first proof is enough, if that is sooner. */
static void it_stays_if_its_own_lease_is_good_first(void) {
    rest(T * 3 / 10);
    struct owner *owner = begin("a");
    CHECK_INT(Bench.port_count, 2);
    pass(T / 2 + 100 * MS);
    CHECK_INT(owner->grants, 1);
    CHECK(Bench.ports[1].is_closed && !Bench.ports[0].is_closed);
    CHECK(!Bench.engine->is_kept);
    bench_end();
}

/* It took longer than that of another would have. */
static void it_is_kept_if_its_own_lease_is_good_before_another_is_to_be_had(void) {
    rest(T * 3 / 10);
    struct owner *owner = begin("a");
    advance(T / 5);
    for (int64_t begun_ns = Bench.now_ns; owner->grants == 0 && Bench.now_ns < begun_ns + T;)
        pass(10 * MS);
    CHECK_INT(owner->grants, 1);
    CHECK_RANGE(Bench.now_ns - Bench.engine->succession.begun_ns, T * 55 / 100, T * 95 / 100);
    CHECK(Bench.engine->is_kept);
    bench_end();
}

/* Before an answer has come to its first heartbeat: a lease that its heartbeats leave no time for.
 */
/* A round trip takes this long, and the lease is ample for half of one. */
static void rest_with_little_lease(void) {
    bench_begin();
    struct owner *owner = hold("a");
    for (int i = 0; i < 30; i++) {
        while (Bench.request_count == 0)
            advance(10 * MS);
        advance(T / 25);
        serve_all();
    }
    CHECK_RANGE(zkli_lease_quickest_ns(&Bench.engine->lease), T / 25, T / 25);
    release(owner);
    serve_all();
    Bench.engine->ample_until_ns = Bench.now_ns + T / 50;
    CHECK(zkli_engine_is_certain(Bench.engine));
}

static void a_lease_that_lasts_for_less_than_a_round_trip_is_not_fit(void) {
    rest_with_little_lease();
    (void)begin("b");
    CHECK_INT(Bench.port_count, 2);
    bench_end();
}

/* It was ample before, too. */
static void a_lease_that_is_longer_in_the_same_moment_is_enough(void) {
    rest_with_little_lease();
    struct owner *owner = begin_unsettled();
    Bench.engine->ample_until_ns = Bench.now_ns + T / 2;
    settle();
    CHECK_INT(owner->member->core.state, ZKLI_ENQUEUING);
    CHECK_INT(Bench.port_count, 1);
    come_to_rest();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

static void another_list_of_servers_asks_for_another(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    zkli_engine_enter(Bench.engine);
    zkli_engine_hosts_changed(Bench.engine);
    settle();
    CHECK(Bench.ports[1].is_closed);
    CHECK_INT(Bench.port_count, 3);
    connect_successor();
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

static void a_session_that_is_closed_closes_it(void) {
    for (int is_drained = 0; is_drained < 2; is_drained++) {
        rest(3 * T);
        struct owner *owner = begin("a");
        if (is_drained) {
            drain();
            connect_successor();
            CHECK(!Bench.ports[0].is_closed);
        }
        shut();
        CHECK_INT(owner->error, ZKL_CLOSED);
        CHECK(Bench.ports[1].is_closed);
        bench_end();
    }
}

static void rejected_credentials_end_both(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    tell_state(ZKLI_PORT_AUTH_FAILED);
    CHECK_INT(owner->error, ZKL_AUTH_FAILED);
    CHECK(Bench.ports[0].is_closed && Bench.ports[1].is_closed);
    bench_end();
}

/* ---- What is granted is kept ---- */

/* However long it has rested, the hold that begins then has a lease that heartbeats extend in time,
 * whether another session is to be had or not. */
static void a_hold_that_begins_after_a_rest_is_as_good_as_any(void) {
    for (int64_t rest_ns = 0; rest_ns < T; rest_ns += 125 * MS) {
        int64_t least_ns = T;
        bench_begin();
        struct owner *owner = hold("a");
        pass(3 * T);
        release(owner);
        serve_all();
        pass(rest_ns);
        owner = begin("a");
        for (int64_t passed = 0; passed < 3 * T; passed += 5 * MS) {
            serve_all();
            int64_t left_ns = Bench.engine->lease.certain_until_ns - Bench.now_ns;
            if (owner->grants == 1 && left_ns < least_ns)
                least_ns = left_ns;
            advance(5 * MS);
        }
        CHECK_INT(owner->grants, 1);
        CHECK(zkli_member_is_held(owner->member));
        CHECK_RANGE(least_ns, T * 23 / 100, T);
        release(owner);
        serve_all();
        bench_end();
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"after a rest another session takes its place",
         after_a_rest_another_session_takes_its_place},
        {"all that have come go on in it", all_that_have_come_go_on_in_it},
        {"without a connection none is asked for", without_a_connection_none_is_asked_for},
        {"it is replaced though the contender has left",
         it_is_replaced_though_the_contender_has_left},
        {"a try lists before another session is opened",
         a_try_lists_before_another_session_is_opened},
        {"not before what is left of it is gone", not_before_what_is_left_of_it_is_gone},
        {"not before a query is answered", not_before_a_query_is_answered},
        {"without a connection it ends the outage", without_a_connection_it_ends_the_outage},
        {"a session that ends meanwhile is followed by it",
         a_session_that_ends_meanwhile_is_followed_by_it},
        {"one that is not connected is not late", one_that_is_not_connected_is_not_late},
        {"while its lease is fit it stays", while_its_lease_is_fit_it_stays},
        {"with a contender in a queue it stays", with_a_contender_in_a_queue_it_stays},
        {"one that is kept stays, and a barrier is all it takes",
         one_that_is_kept_stays_and_a_barrier_is_all_it_takes},
        {"where no other is to be had it stays", where_no_other_is_to_be_had_it_stays},
        {"one that does not connect is asked for anew",
         one_that_does_not_connect_is_asked_for_anew},
        {"the first that connects is taken", the_first_that_connects_is_taken},
        {"one that fails is not missed while there is another",
         one_that_fails_is_not_missed_while_there_is_another},
        {"where none connects the own lease will do", where_none_connects_the_own_lease_will_do},
        {"of several the last is taken", of_several_the_last_is_taken},
        {"of those that are left the last is taken", of_those_that_are_left_the_last_is_taken},
        {"one that cannot be made is not missed while there is another",
         one_that_cannot_be_made_is_not_missed_while_there_is_another},
        {"one that keeps the connection from this one is given up",
         one_that_keeps_the_connection_from_this_one_is_given_up},
        {"it stays if its own lease is good first", it_stays_if_its_own_lease_is_good_first},
        {"it is kept if its own lease is good before another is to be had",
         it_is_kept_if_its_own_lease_is_good_before_another_is_to_be_had},
        {"a lease that lasts for less than a round trip is not fit",
         a_lease_that_lasts_for_less_than_a_round_trip_is_not_fit},
        {"a lease that is longer in the same moment is enough",
         a_lease_that_is_longer_in_the_same_moment_is_enough},
        {"another list of servers asks for another", another_list_of_servers_asks_for_another},
        {"a session that is closed closes it", a_session_that_is_closed_closes_it},
        {"rejected credentials end both", rejected_credentials_end_both},
        {"a hold that begins after a rest is as good as any",
         a_hold_that_begins_after_a_rest_is_as_good_as_any},
    };
    return TEST_MAIN(argc, argv, "engine_succession", cases);
}
