/*
 * The life of a session's engine: connections that break, sessions that end, at every step of what
 * is under way; heartbeats and the lease; closing; limits.
 */
#include "unit/engine_bench.h"

#define STEPS 40 /* replies that what is under way in the tests below takes; some are left */

/* ---- Whatever happens, and whenever ---- */

enum mishap {
    CUT_BEFORE, /* what was in flight is not done */
    CUT_HALF,
    CUT_AFTER,
    EXPIRED,
    AUTH_FAILED,
    DRAINED,
    SHUT,
    ALL_LEAVE,     /* whoever holds releases, the others give up */
    CUT_AND_LEAVE, /* when the connection is there again */
    LEAVE_AND_CUT,
    MISHAPS
};

/* One holds, one waits, one tries, one has gone before it was granted, one is alone. */
static void begin_several(void) {
    (void)begin("a");
    (void)begin("a");
    abandon(begin("b"));
    (void)begin("c/d/e");
    struct owner *owner;
    REQUIRE(enter_queue("a", true, &owner) == ZKL_OK);
}

static void leave_all(void) {
    for (size_t i = 0; i < Bench.owner_count; i++) {
        struct owner *owner = &Bench.owners[i];
        if (owner->member == NULL)
            continue;
        if (zkli_member_is_held(owner->member))
            release(owner);
        else
            abandon(owner);
    }
}

static void strike(enum mishap mishap) {
    size_t in_flight = Bench.request_count;
    if (mishap == ALL_LEAVE || mishap == LEAVE_AND_CUT)
        leave_all();
    switch (mishap) {
    case CUT_BEFORE:
    case CUT_HALF:
    case CUT_AFTER:
    case CUT_AND_LEAVE:
    case LEAVE_AND_CUT:
        cut_and_connect(mishap == CUT_BEFORE ? 0 : mishap == CUT_AFTER ? in_flight : in_flight / 2);
        break;
    case EXPIRED:
        expire();
        bench_connect();
        break;
    case AUTH_FAILED:
        tell_state(ZKLI_PORT_AUTH_FAILED);
        break;
    case DRAINED:
        drain();
        break;
    case SHUT:
        shut();
        break;
    case ALL_LEAVE:
    case MISHAPS:
        break;
    }
    if (mishap == CUT_AND_LEAVE)
        leave_all();
}

/* Nobody is left who has been told nothing; whoever has a node has one on the server, and there is
 * no other. */
static void check_everybody_knows(void) {
    size_t held = 0, nodes = 0;
    for (size_t i = 0; i < Bench.owner_count; i++) {
        struct owner *owner = &Bench.owners[i];
        CHECK(owner->grants > 0 || (owner->notices & TOLD(FAILED)) != 0 || owner->member != NULL);
        if (owner->member == NULL)
            continue;
        held += zkli_member_is_held(owner->member);
        nodes++;
        CHECK(tiny_find(&Bench.server, path_of(owner)) != NULL);
    }
    size_t in_a = tiny_children(&Bench.server, "/locks/a"),
           in_e = tiny_children(&Bench.server, "/locks/c/d/e");
    CHECK_INT(in_a + in_e, nodes);
    CHECK_INT(held, (in_a > 0) + (in_e > 0));
    CHECK_INT(tiny_children(&Bench.server, "/locks/b"), 0);
}

static void after_any_mishap_at_any_step_all_goes_on_or_has_ended(void) {
    for (enum mishap mishap = 0; mishap < MISHAPS; mishap++)
        for (int step = 0; step < STEPS; step++) {
            bench_begin();
            begin_several();
            for (int i = 0; i < step && Bench.request_count > 0; i++)
                serve_next();
            strike(mishap);
            size_t sent = Bench.request_count;
            if (mishap == DRAINED) {
                while (Bench.request_count > 0)
                    serve_next();
                CHECK(zkli_engine_is_drained(Bench.engine));
                CHECK(sent <= ZKLI_SLOTS);
            } else if (mishap == AUTH_FAILED || mishap == SHUT) {
                CHECK(Bench.engine->port == NULL);
                Bench.request_count = 0;
            } else {
                come_to_rest();
                check_everybody_knows();
            }
            if (mishap >= ALL_LEAVE)
                CHECK_INT(tiny_children(&Bench.server, "/locks/a") +
                              tiny_children(&Bench.server, "/locks/c/d/e"),
                          0);
            bench_end();
            for (size_t i = 0; i < Bench.owner_count; i++)
                CHECK(Bench.owners[i].grants > 0 || (Bench.owners[i].notices & TOLD(FAILED)) != 0);
        }
}

/* What its owner says counts where it can, and else changes nothing. */
static void a_waiter_releases_nothing_and_a_holder_abandons_nothing(void) {
    bench_begin();
    struct owner *holder = hold("a"), *waiter = begin("a");
    serve_all();
    abandon(holder);
    release(waiter);
    come_to_rest();
    CHECK(holder->notices == TOLD(GRANTED) && zkli_member_is_held(holder->member));
    CHECK((waiter->notices & TOLD(FAILED)) == 0 && !zkli_member_is_held(waiter->member));
    release(holder);
    release(holder);
    abandon(holder);
    zkli_engine_enter(Bench.engine);
    struct request request = serve_until(REMOVE);
    struct zkli_reply reply = {.result = ZKLI_RESULT_OK};
    zkli_engine_on_reply(Bench.engine, Bench.engine->port, request.slot, &reply);
    CHECK(!zkli_member_is_held(holder->member)); /* gone, and its owner has not heard yet */
    zkli_member_release(holder->member);
    settle();
    CHECK(holder->member == NULL && holder->error == 0);
    bench_end();
}

/* Its reads do not keep it from being deleted. */
static void a_hold_that_is_lost_while_nothing_can_be_sent_is_deleted(void) {
    bench_begin();
    struct owner *owner = hold("a");
    fill_window();
    advance(T_MS / 10 * MS); /* the watch on its node waits for its turn */
    advance(T_MS * MS);
    CHECK((owner->notices & TOLD(LOST)) != 0);
    come_to_rest();
    CHECK(owner->member == NULL);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

/* Two connections in a row without a word of the end of the first: the client changed servers. */
static void a_connection_that_follows_another_is_a_new_one(void) {
    bench_begin();
    uint64_t connection = Bench.engine->connection;
    bench_connect();
    CHECK_INT(Bench.engine->connection, connection + 1);
    CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], 1);
    CHECK_INT(Bench.events[ZKL_EVENT_RESUMED], 1);
    bench_end();
}

static void who_resumes_is_told_whether_the_session_is_another(void) {
    bench_begin();
    for (size_t i = 1; i <= 4; i++) {
        bool is_expired = i % 2 == 0;
        cut(0);
        CHECK(!Bench.is_new_session);
        if (is_expired)
            expire();
        bench_connect();
        CHECK_INT(Bench.events[ZKL_EVENT_RESUMED], i);
        CHECK(Bench.is_new_session == is_expired);
    }
    expire(); /* without a word of the broken connection */
    CHECK(!Bench.is_new_session);
    bench_connect();
    CHECK(Bench.is_new_session);
    bench_connect();
    CHECK_INT(Bench.events[ZKL_EVENT_RESUMED], 6);
    CHECK(!Bench.is_new_session);
    bench_end();
}

static void there_are_no_contenders_without_a_session_to_come(void) {
    struct owner *owner;
    bench_begin();
    tell_state(ZKLI_PORT_AUTH_FAILED);
    CHECK_INT(enter_queue("a", false, &owner), ZKL_AUTH_FAILED);
    bench_end();
    bench_begin();
    strike(SHUT);
    CHECK_INT(enter_queue("a", false, &owner), ZKL_CLOSED);
    bench_end(); /* once more */
}

/* ---- Opening ---- */

static void a_port_that_could_not_be_opened_is_replaced_after_a_while(void) {
    bench_start("/locks", false);
    struct owner *owner = begin("a");
    zkli_engine_enter(Bench.engine);
    zkli_engine_on_open_failed(Bench.engine, Bench.engine->port);
    settle();
    CHECK(Bench.ports[0].is_closed && Bench.engine->port == NULL);
    CHECK(Bench.next_ns <= Bench.now_ns + ZKLI_RETRY_LAST_NS);
    advance(ZKLI_RETRY_LAST_NS - 1);
    CHECK_INT(Bench.port_count, 1);
    advance(1);
    CHECK_INT(Bench.port_count, 2);
    bench_connect();
    come_to_rest();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

static void without_memory_for_a_port_there_is_one_later(void) {
    bench_begin();
    struct owner *owner = hold("a"), *waiter = begin("a");
    serve_all();
    Bench.has_no_ports = true;
    expire();
    CHECK((owner->notices & TOLD(LOST)) != 0);
    CHECK(Bench.engine->port == NULL);
    advance(ZKLI_RETRY_LAST_NS);
    CHECK(Bench.engine->port == NULL);
    Bench.has_no_ports = false;
    advance(ZKLI_RETRY_LAST_NS);
    REQUIRE(Bench.engine->port != NULL);
    bench_connect();
    come_to_rest();
    CHECK_INT(waiter->grants, 1);
    bench_end();
}

/* ---- Heartbeats and the lease ---- */

static void heartbeats_keep_a_hold_and_silence_ends_it(void) {
    bench_begin();
    struct owner *owner = hold("a");
    for (int i = 0; i < 50; i++) {
        advance(T_MS / 10 * MS);
        serve_all();
    }
    CHECK(zkli_member_is_held(owner->member));
    size_t beats = Bench.sent[BARRIER];
    int64_t end_ns = Bench.engine->lease.certain_until_ns;
    advance(end_ns - Bench.now_ns - 1);
    CHECK(zkli_member_is_held(owner->member));
    CHECK_INT(Bench.sent[BARRIER], beats + 1); /* one at a time, whatever time passes */
    advance(1);
    CHECK((owner->notices & TOLD(LOST)) != 0);
    come_to_rest();
    CHECK(owner->member == NULL);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

/* The leader's clock starts when it creates the session, which may be long before we are told. */
static void the_lease_of_a_new_session_counts_from_when_its_connect_was_begun(void) {
    bench_start("/locks", false);
    for (int i = 1; i <= 3; i++) {
        int64_t end_ns = Bench.now_ns + T_MS * MS - zkli_lease_margin_ns(T_MS * MS);
        advance(i * T_MS / 20 * MS);
        bench_connect();
        CHECK(Bench.engine->lease.certain_until_ns == end_ns);
        struct owner *owner = hold("a");
        advance(end_ns - Bench.now_ns - 1); /* no heartbeat is answered any more */
        CHECK(zkli_member_is_held(owner->member));
        advance(1);
        CHECK((owner->notices & TOLD(LOST)) != 0);
        expire(); /* and another one is begun */
    }
    bench_end();
}

/* What is left after an outage may end before heartbeats have proved more. */
static void a_hold_begins_when_its_lease_will_last(void) {
    bench_begin();
    struct owner *first = hold("a"), *waiter = begin("a");
    serve_all();
    cut(0);
    advance(T_MS / 2 * MS);
    bench_connect();
    struct owner *late = begin("b");
    release(first);
    serve_all();
    CHECK(zkli_engine_is_certain(Bench.engine));
    CHECK(waiter->grants == 0 && late->grants == 0);
    for (int i = 0; i < 60; i++) {
        if (i == 8) /* half of the timeout has passed */
            CHECK(waiter->grants == 1 && late->grants == 1);
        advance(T_MS / 16 * MS);
        serve_all();
    }
    CHECK(zkli_member_is_held(waiter->member) && zkli_member_is_held(late->member));
    bench_end();
}

/* What is under way is answered this much later, and what follows from that is not yet. */
static void answer_later(int64_t ns) {
    size_t count = Bench.request_count;
    advance(ns);
    for (; count > 0; count--)
        serve_next();
    advance(0);
}

/* The lease is ample for less long than an answer takes. */
static void where_answers_are_slow_a_hold_begins_all_the_same(void) {
    static const int64_t round_trips[] = {T_MS * 130 / 1000, T_MS * 90 / 1000, T_MS * 105 / 1000};
    for (size_t before = 20; before < 20 + COUNT(round_trips); before++) {
        size_t steps = 0;
        bench_begin();
        (void)hold("h");
        for (; steps < before; steps++)
            answer_later(round_trips[steps % COUNT(round_trips)] * MS);
        struct owner *owner = begin("a");
        for (; owner->grants == 0 && steps < before + 9; steps++) /* T and a little */
            answer_later(round_trips[steps % COUNT(round_trips)] * MS);
        CHECK_INT(owner->grants, 1);
        for (; steps < before + 40; steps++)
            answer_later(round_trips[steps % COUNT(round_trips)] * MS);
        CHECK(zkli_member_is_held(owner->member));
        bench_end();
    }
}

/* When the reply is late, the next one follows at once. */
static void a_heartbeat_that_was_due_while_another_was_under_way_follows_it(void) {
    bench_begin();
    (void)hold("h");
    advance(T_MS / 10 * MS); /* its watch is set, too */
    serve_all();
    advance(T_MS / 10 * MS);
    CHECK_INT(Bench.request_count, 1);
    advance(T_MS / 10 * MS);
    CHECK_INT(Bench.request_count, 1);
    size_t beats = Bench.sent[BARRIER];
    serve_next();
    advance(0);
    CHECK_INT(Bench.sent[BARRIER], beats + 1);
    cut(0);
    advance(T_MS / 10 * MS);
    CHECK_INT(Bench.sent[BARRIER], beats + 1);
    bench_end();
}

/* One that was refused, or that the server did not do, proves nothing. */
static void a_heartbeat_that_was_not_done_proves_nothing(void) {
    bench_begin();
    static const char other[] = "/locks/a/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-0000000000";
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    (void)tiny_add(&Bench.server, other, 99);
    Bench.server.number = 1;
    struct owner *waiter = begin("a");
    serve_all();
    int64_t end_ns = Bench.engine->lease.certain_until_ns;
    for (int i = 0; i < 9; i++) {
        Bench.refused = i % 2 == 0 ? 1u << BARRIER : 0;
        advance(T_MS / 10 * MS);
        if (Bench.request_count > 0)
            answer_next(BARRIER, ZKLI_RESULT_AGAIN);
    }
    advance(T_MS / 10 * MS);
    CHECK_INT(Bench.engine->lease.certain_until_ns, end_ns);
    CHECK(!zkli_engine_is_certain(Bench.engine));
    Bench.refused = 0;
    delete_node(other);
    come_to_rest();
    CHECK(zkli_engine_is_certain(Bench.engine));
    CHECK_INT(waiter->grants, 1);
    bench_end();
}

static void heartbeats_are_for_those_who_hold_or_wait(void) {
    bench_start("/locks", false);
    bench_connect();
    come_to_rest();
    CHECK_INT(Bench.sent[BARRIER], 0);
    CHECK(!zkli_engine_is_certain(Bench.engine));
    struct owner *owner = begin("a"), *other = begin("b");
    come_to_rest();
    CHECK(Bench.sent[BARRIER] > 10);
    CHECK(owner->grants == 1 && other->grants == 1);
    release(owner);
    release(other);
    come_to_rest();
    size_t beats = Bench.sent[BARRIER];
    come_to_rest();
    CHECK_INT(Bench.sent[BARRIER], beats);
    cut(0);
    owner = begin("a"); /* begins to beat when there is a connection */
    CHECK_INT(Bench.sent[BARRIER], beats);
    bench_connect();
    CHECK(Bench.sent[BARRIER] > beats);
    bench_end();
}

/* ---- Closing ---- */

static void nothing_is_sent_while_the_session_is_being_closed(void) {
    bench_begin();
    struct owner *owner = hold("a"), *waiter = begin("a");
    strike(DRAINED);
    CHECK_INT(waiter->error, ZKL_CLOSED);
    CHECK(zkli_member_is_held(owner->member));
    CHECK(!zkli_engine_is_drained(Bench.engine));
    size_t in_flight = Bench.request_count;
    advance(T_MS / 5 * MS);
    CHECK_INT(Bench.request_count, in_flight);
    serve_all(); /* the create is done, and the end of the session will undo it */
    CHECK_INT(Bench.sent[REMOVE], 0);
    CHECK(zkli_engine_is_drained(Bench.engine));
    bench_end();
}

/* ---- Names and watches that share a bucket ---- */

static void locks_whose_names_share_a_bucket_are_two(void) {
    static const char one[] = "n100", path[] = "/locks/n100";
    for (unsigned step = 3; step < 9; step++) {
        char other[BENCH_NAME_SIZE];
        bench_begin();
        name_in_bucket(zkli_bucket_of(path, strlen(path)), 101, step, other);
        struct owner *first = begin(one), *second = begin(other);
        struct owner *third = begin(one), *fourth = begin(other);
        come_to_rest();
        CHECK(first->grants == 1 && second->grants == 1);
        CHECK(third->grants == 0 && fourth->grants == 0);
        release(second);
        come_to_rest();
        CHECK(third->grants == 0 && fourth->grants == 1);
        bench_end();
    }
}

/* The watches of many nodes share buckets by themselves. */
static void among_many_watches_each_tells_its_own(void) {
    bench_begin();
    for (int i = 0; i < 100; i++)
        (void)begin("a");
    come_to_rest();
    CHECK_INT(Bench.owners[0].grants, 1);
    for (size_t i = 0; i < 100; i++) {
        struct owner *owner = &Bench.owners[i];
        REQUIRE(owner->member != NULL);
        CHECK_INT(owner->grants, 1);
        if (i < 99)
            CHECK_INT(Bench.owners[i + 1].grants, 0);
        release(owner);
        serve_all();
    }
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

/* T26, T43: their watches stand as one until it fires, and are counted as long. */
static void waits_that_were_given_up_leave_one_watch(void) {
    bench_begin();
    struct owner *holder = hold("a");
    size_t bytes = zkli_path_bytes(Bench.engine, strlen(path_of(holder)));
    for (int i = 0; i < 50; i++) {
        struct owner *waiter = begin("a");
        serve_all();
        abandon(waiter);
        serve_all();
        CHECK(waiter->member == NULL);
    }
    CHECK_INT(Bench.engine->stale_watch_bytes, bytes);
    release(holder);
    serve_all();
    CHECK_INT(Bench.engine->stale_watch_bytes, 0);
    holder = hold("a");
    abandon(begin("a"));
    serve_all();
    struct owner *waiter = begin("a");
    answer_next(LIST, ZKLI_RESULT_LOST);
    abandon(waiter);
    (void)begin("a");
    (void)serve_until(GET); /* never answered */
    expire();
    CHECK_INT(Bench.engine->stale_watch_bytes, 0); /* watches end with their session */
    bench_connect();
    come_to_rest();
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"after any mishap at any step all goes on, or has ended",
         after_any_mishap_at_any_step_all_goes_on_or_has_ended},
        {"a waiter releases nothing, and a holder abandons nothing",
         a_waiter_releases_nothing_and_a_holder_abandons_nothing},
        {"a hold that is lost while nothing can be sent is deleted",
         a_hold_that_is_lost_while_nothing_can_be_sent_is_deleted},
        {"a connection that follows another is a new one",
         a_connection_that_follows_another_is_a_new_one},
        {"who resumes is told whether the session is another",
         who_resumes_is_told_whether_the_session_is_another},
        {"there are no contenders without a session to come",
         there_are_no_contenders_without_a_session_to_come},
        {"a port that could not be opened is replaced after a while",
         a_port_that_could_not_be_opened_is_replaced_after_a_while},
        {"without memory for a port there is one later",
         without_memory_for_a_port_there_is_one_later},
        {"heartbeats keep a hold, and silence ends it", heartbeats_keep_a_hold_and_silence_ends_it},
        {"the lease of a new session counts from when its connect was begun",
         the_lease_of_a_new_session_counts_from_when_its_connect_was_begun},
        {"a hold begins when its lease will last", a_hold_begins_when_its_lease_will_last},
        {"where answers are slow a hold begins all the same",
         where_answers_are_slow_a_hold_begins_all_the_same},
        {"a heartbeat that was due while another was under way follows it",
         a_heartbeat_that_was_due_while_another_was_under_way_follows_it},
        {"a heartbeat that was not done proves nothing",
         a_heartbeat_that_was_not_done_proves_nothing},
        {"heartbeats are for those who hold or wait", heartbeats_are_for_those_who_hold_or_wait},
        {"nothing is sent while the session is being closed",
         nothing_is_sent_while_the_session_is_being_closed},
        {"locks whose names share a bucket are two", locks_whose_names_share_a_bucket_are_two},
        {"among many watches each tells its own", among_many_watches_each_tells_its_own},
        {"waits that were given up leave one watch", waits_that_were_given_up_leave_one_watch},
    };
    return TEST_MAIN(argc, argv, "engine_life", cases);
}
