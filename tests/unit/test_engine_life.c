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
static void begin_several(struct bench *b) {
    (void)begin(b, "a");
    (void)begin(b, "a");
    abandon(b, begin(b, "b"));
    (void)begin(b, "c/d/e");
    struct owner *owner;
    REQUIRE(enter_queue(b, "a", true, &owner) == ZKL_OK);
}

static void leave_all(struct bench *b) {
    for (size_t i = 0; i < b->owner_count; i++) {
        struct owner *owner = &b->owners[i];
        if (owner->member == NULL)
            continue;
        if (zkli_member_is_held(owner->member))
            release(b, owner);
        else
            abandon(b, owner);
    }
}

static void strike(struct bench *b, enum mishap mishap) {
    size_t in_flight = b->request_count;
    if (mishap == ALL_LEAVE || mishap == LEAVE_AND_CUT)
        leave_all(b);
    switch (mishap) {
    case CUT_BEFORE:
    case CUT_HALF:
    case CUT_AFTER:
    case CUT_AND_LEAVE:
    case LEAVE_AND_CUT:
        cut(b, mishap == CUT_BEFORE ? 0 : mishap == CUT_AFTER ? in_flight : in_flight / 2);
        connect(b);
        break;
    case EXPIRED:
        expire(b);
        connect(b);
        break;
    case AUTH_FAILED:
        tell_state(b, b->engine->port, ZKLI_PORT_AUTH_FAILED);
        break;
    case DRAINED:
        zkli_engine_enter(b->engine);
        zkli_engine_drain(b->engine);
        settle(b);
        break;
    case SHUT:
        zkli_engine_enter(b->engine);
        zkli_engine_shut(b->engine);
        settle(b);
        break;
    case ALL_LEAVE:
    case MISHAPS:
        break;
    }
    if (mishap == CUT_AND_LEAVE)
        leave_all(b);
}

/* Nobody is left who has been told nothing; whoever has a node has one on the server, and there is
 * no other. */
static void check_everybody_knows(struct bench *b) {
    size_t held = 0, nodes = 0;
    for (size_t i = 0; i < b->owner_count; i++) {
        struct owner *owner = &b->owners[i];
        CHECK(owner->grants > 0 || (owner->notices & TOLD(FAILED)) != 0 || owner->member != NULL);
        if (owner->member == NULL)
            continue;
        held += zkli_member_is_held(owner->member);
        nodes++;
        CHECK(find_node(&b->server, path_of(owner)) != NULL);
    }
    size_t in_a = count_children(&b->server, "/locks/a"),
           in_e = count_children(&b->server, "/locks/c/d/e");
    CHECK_INT(in_a + in_e, nodes);
    CHECK_INT(held, (in_a > 0) + (in_e > 0));
    CHECK_INT(count_children(&b->server, "/locks/b"), 0);
}

static void after_any_mishap_at_any_step_all_goes_on_or_has_ended(void) {
    struct bench *b = &Bench;
    for (enum mishap mishap = 0; mishap < MISHAPS; mishap++)
        for (int step = 0; step < STEPS; step++) {
            bench_begin(b);
            begin_several(b);
            for (int i = 0; i < step && b->request_count > 0; i++)
                serve_next(b);
            strike(b, mishap);
            size_t sent = b->request_count;
            if (mishap == DRAINED) {
                while (b->request_count > 0)
                    serve_next(b);
                CHECK(zkli_engine_is_drained(b->engine));
                CHECK(sent <= ZKLI_SLOTS);
            } else if (mishap == AUTH_FAILED || mishap == SHUT) {
                CHECK(b->engine->port == NULL);
                b->request_count = 0;
            } else {
                come_to_rest(b);
                check_everybody_knows(b);
            }
            if (mishap >= ALL_LEAVE)
                CHECK_INT(count_children(&b->server, "/locks/a") +
                              count_children(&b->server, "/locks/c/d/e"),
                          0);
            bench_end(b);
            for (size_t i = 0; i < b->owner_count; i++)
                CHECK(b->owners[i].grants > 0 || (b->owners[i].notices & TOLD(FAILED)) != 0);
        }
}

/* What its owner says counts where it can, and else changes nothing. */
static void a_waiter_releases_nothing_and_a_holder_abandons_nothing(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *holder = hold(b, "a"), *waiter = begin(b, "a");
    serve_all(b);
    abandon(b, holder);
    release(b, waiter);
    come_to_rest(b);
    CHECK(holder->notices == TOLD(GRANTED) && zkli_member_is_held(holder->member));
    CHECK((waiter->notices & TOLD(FAILED)) == 0 && !zkli_member_is_held(waiter->member));
    release(b, holder);
    release(b, holder);
    abandon(b, holder);
    zkli_engine_enter(b->engine);
    struct request request = serve_until(b, REMOVE);
    struct zkli_reply reply = {.result = ZKLI_RESULT_OK};
    zkli_engine_on_reply(b->engine, b->engine->port, request.slot, &reply);
    CHECK(!zkli_member_is_held(holder->member)); /* gone, and its owner has not heard yet */
    zkli_member_release(holder->member);
    settle(b);
    CHECK(holder->member == NULL && holder->error == 0);
    bench_end(b);
}

/* Its reads do not keep it from being deleted. */
static void a_hold_that_is_lost_while_nothing_can_be_sent_is_buried(void) {
    struct bench *b = &Bench;
    char name[32];
    bench_begin(b);
    struct owner *owner = hold(b, "a");
    for (int i = 0; b->engine->free_slot != ZKLI_SLOTS; i++) {
        (void)snprintf(name, sizeof(name), "w%d", i);
        (void)begin(b, name);
    }
    advance(b, T_MS / 10 * MS); /* the watch on its node waits for its turn */
    advance(b, T_MS * MS);
    CHECK((owner->notices & TOLD(LOST)) != 0);
    come_to_rest(b);
    CHECK(owner->member == NULL);
    CHECK_INT(count_children(&b->server, "/locks/a"), 0);
    bench_end(b);
}

/* Two connections in a row without a word of the end of the first: the client changed servers. */
static void a_connection_that_follows_another_is_a_new_one(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    uint64_t connection = b->engine->connection;
    connect(b);
    CHECK_INT(b->engine->connection, connection + 1);
    CHECK_INT(b->events[ZKL_EVENT_SUSPENDED], 1);
    CHECK_INT(b->events[ZKL_EVENT_RESUMED], 1);
    bench_end(b);
}

static void who_resumes_is_told_whether_the_session_is_another(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    for (size_t i = 1; i <= 4; i++) {
        bool is_expired = i % 2 == 0;
        cut(b, 0);
        CHECK(!b->is_new_session);
        if (is_expired)
            expire(b);
        connect(b);
        CHECK_INT(b->events[ZKL_EVENT_RESUMED], i);
        CHECK(b->is_new_session == is_expired);
    }
    expire(b); /* without a word of the broken connection */
    CHECK(!b->is_new_session);
    connect(b);
    CHECK(b->is_new_session);
    connect(b);
    CHECK_INT(b->events[ZKL_EVENT_RESUMED], 6);
    CHECK(!b->is_new_session);
    bench_end(b);
}

static void there_are_no_contenders_without_a_session_to_come(void) {
    struct bench *b = &Bench;
    struct owner *owner;
    bench_begin(b);
    tell_state(b, b->engine->port, ZKLI_PORT_AUTH_FAILED);
    CHECK_INT(enter_queue(b, "a", false, &owner), ZKL_AUTH_FAILED);
    bench_end(b);
    bench_begin(b);
    strike(b, SHUT);
    CHECK_INT(enter_queue(b, "a", false, &owner), ZKL_CLOSED);
    bench_end(b); /* once more */
}

/* ---- Opening ---- */

static void a_port_that_could_not_be_opened_is_replaced_after_a_while(void) {
    struct bench *b = &Bench;
    bench_start(b, "/locks", false);
    struct owner *owner = begin(b, "a");
    zkli_engine_enter(b->engine);
    zkli_engine_on_open_failed(b->engine, b->engine->port);
    settle(b);
    CHECK(b->ports[0].is_closed && b->engine->port == NULL);
    CHECK(b->next_ns <= b->now_ns + ZKLI_RETRY_LAST_NS);
    advance(b, ZKLI_RETRY_LAST_NS - 1);
    CHECK_INT(b->port_count, 1);
    advance(b, 1);
    CHECK_INT(b->port_count, 2);
    connect(b);
    come_to_rest(b);
    CHECK_INT(owner->grants, 1);
    bench_end(b);
}

static void without_memory_for_a_port_there_is_one_later(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *owner = hold(b, "a"), *waiter = begin(b, "a");
    serve_all(b);
    b->has_no_ports = true;
    expire(b);
    CHECK((owner->notices & TOLD(LOST)) != 0);
    CHECK(b->engine->port == NULL);
    advance(b, ZKLI_RETRY_LAST_NS);
    CHECK(b->engine->port == NULL);
    b->has_no_ports = false;
    advance(b, ZKLI_RETRY_LAST_NS);
    REQUIRE(b->engine->port != NULL);
    connect(b);
    come_to_rest(b);
    CHECK_INT(waiter->grants, 1);
    bench_end(b);
}

/* ---- Heartbeats and the lease ---- */

static void heartbeats_keep_a_hold_and_silence_ends_it(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *owner = hold(b, "a");
    for (int i = 0; i < 50; i++) {
        advance(b, T_MS / 10 * MS);
        serve_all(b);
    }
    CHECK(zkli_member_is_held(owner->member));
    size_t beats = b->sent[BARRIER];
    int64_t end_ns = b->engine->lease.certain_until_ns;
    advance(b, end_ns - b->now_ns - 1);
    CHECK(zkli_member_is_held(owner->member));
    CHECK_INT(b->sent[BARRIER], beats + 1); /* one at a time, whatever time passes */
    advance(b, 1);
    CHECK((owner->notices & TOLD(LOST)) != 0);
    come_to_rest(b);
    CHECK(owner->member == NULL);
    CHECK_INT(count_children(&b->server, "/locks/a"), 0);
    bench_end(b);
}

/* The leader's clock starts when it creates the session, which may be long before we are told. */
static void the_lease_of_a_new_session_counts_from_when_its_connect_was_begun(void) {
    struct bench *b = &Bench;
    bench_start(b, "/locks", false);
    for (int i = 1; i <= 3; i++) {
        int64_t end_ns = b->now_ns + T_MS * MS - zkli_lease_margin_ns(T_MS * MS);
        advance(b, i * T_MS / 20 * MS);
        connect(b);
        CHECK(b->engine->lease.certain_until_ns == end_ns);
        struct owner *owner = hold(b, "a");
        advance(b, end_ns - b->now_ns - 1); /* no heartbeat is answered any more */
        CHECK(zkli_member_is_held(owner->member));
        advance(b, 1);
        CHECK((owner->notices & TOLD(LOST)) != 0);
        expire(b); /* and another one is begun */
    }
    bench_end(b);
}

/* What is left after an outage may end before heartbeats have proved more. */
static void a_hold_begins_when_its_lease_will_last(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *first = hold(b, "a"), *waiter = begin(b, "a");
    serve_all(b);
    cut(b, 0);
    advance(b, T_MS / 2 * MS);
    connect(b);
    struct owner *late = begin(b, "b");
    release(b, first);
    serve_all(b);
    CHECK(zkli_engine_is_certain(b->engine));
    CHECK(waiter->grants == 0 && late->grants == 0);
    for (int i = 0; i < 60; i++) {
        if (i == 8) /* half of the timeout has passed */
            CHECK(waiter->grants == 1 && late->grants == 1);
        advance(b, T_MS / 16 * MS);
        serve_all(b);
    }
    CHECK(zkli_member_is_held(waiter->member) && zkli_member_is_held(late->member));
    bench_end(b);
}

/* What is under way is answered this much later, and what follows from that is not yet. */
static void answer_later(struct bench *b, int64_t ns) {
    size_t count = b->request_count;
    advance(b, ns);
    for (; count > 0; count--)
        serve_next(b);
    advance(b, 0);
}

/* The lease is ample for less long than an answer takes. */
static void where_answers_are_slow_a_hold_begins_all_the_same(void) {
    static const int64_t round_trips[] = {T_MS * 130 / 1000, T_MS * 90 / 1000, T_MS * 105 / 1000};
    struct bench *b = &Bench;
    for (size_t before = 20; before < 20 + COUNT(round_trips); before++) {
        size_t steps = 0;
        bench_begin(b);
        for (; steps < before; steps++)
            answer_later(b, round_trips[steps % COUNT(round_trips)] * MS);
        struct owner *owner = begin(b, "a");
        for (; owner->grants == 0 && steps < before + 9; steps++) /* T and a little */
            answer_later(b, round_trips[steps % COUNT(round_trips)] * MS);
        CHECK_INT(owner->grants, 1);
        for (; steps < before + 40; steps++)
            answer_later(b, round_trips[steps % COUNT(round_trips)] * MS);
        CHECK(zkli_member_is_held(owner->member));
        bench_end(b);
    }
}

/* When the reply is late, the next one follows at once. */
static void a_heartbeat_that_was_due_while_another_was_under_way_follows_it(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    advance(b, T_MS / 10 * MS);
    CHECK_INT(b->request_count, 1);
    advance(b, T_MS / 10 * MS);
    CHECK_INT(b->request_count, 1);
    size_t beats = b->sent[BARRIER];
    serve_next(b);
    advance(b, 0);
    CHECK_INT(b->sent[BARRIER], beats + 1);
    cut(b, 0);
    advance(b, T_MS / 10 * MS);
    CHECK_INT(b->sent[BARRIER], beats + 1);
    bench_end(b);
}

/* One that was refused, or that the server did not do, proves nothing. */
static void a_heartbeat_that_was_not_done_proves_nothing(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    int64_t end_ns = b->engine->lease.certain_until_ns;
    for (int i = 0; i < 10; i++) {
        b->refused = i % 2 == 0 ? 1u << BARRIER : 0;
        advance(b, T_MS / 10 * MS);
        if (b->request_count > 0)
            answer_next(b, BARRIER, ZKLI_RESULT_AGAIN);
    }
    CHECK_INT(b->engine->lease.certain_until_ns, end_ns);
    CHECK(!zkli_engine_is_certain(b->engine));
    b->refused = 0;
    come_to_rest(b);
    CHECK(zkli_engine_is_certain(b->engine));
    bench_end(b);
}

static void lazy_heartbeats_are_for_those_who_hold_or_wait(void) {
    struct bench *b = &Bench;
    bench_start(b, "/locks", true);
    connect(b);
    come_to_rest(b);
    CHECK_INT(b->sent[BARRIER], 0);
    CHECK(!zkli_engine_is_certain(b->engine));
    struct owner *owner = begin(b, "a"), *other = begin(b, "b");
    come_to_rest(b);
    CHECK(b->sent[BARRIER] > 10);
    CHECK(owner->grants == 1 && other->grants == 1);
    release(b, owner);
    release(b, other);
    come_to_rest(b);
    size_t beats = b->sent[BARRIER];
    come_to_rest(b);
    CHECK_INT(b->sent[BARRIER], beats);
    cut(b, 0);
    owner = begin(b, "a"); /* begins to beat when there is a connection */
    CHECK_INT(b->sent[BARRIER], beats);
    connect(b);
    CHECK(b->sent[BARRIER] > beats);
    bench_end(b);
}

/* ---- Closing ---- */

static void nothing_is_sent_while_the_session_is_being_closed(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *owner = hold(b, "a"), *waiter = begin(b, "a");
    strike(b, DRAINED);
    CHECK_INT(waiter->error, ZKL_CLOSED);
    CHECK(zkli_member_is_held(owner->member));
    CHECK(!zkli_engine_is_drained(b->engine));
    size_t in_flight = b->request_count;
    advance(b, T_MS / 5 * MS);
    CHECK_INT(b->request_count, in_flight);
    serve_all(b); /* the create is done, and the end of the session will undo it */
    CHECK_INT(b->sent[REMOVE], 0);
    CHECK(zkli_engine_is_drained(b->engine));
    bench_end(b);
}

/* ---- Names and watches that share a bucket ---- */

/* Two names whose directories meet in a bucket. */
static void find_names_of_a_bucket(char ret_one[16], char ret_other[16], int step) {
    char path[32];
    int length = snprintf(path, sizeof(path), "/locks/n%d", 100);
    size_t bucket = zkli_bucket_of(path, (size_t)length);
    (void)snprintf(ret_one, 16, "n%d", 100);
    for (int i = 101;; i += step) {
        length = snprintf(path, sizeof(path), "/locks/n%d", i);
        if (zkli_bucket_of(path, (size_t)length) != bucket)
            continue;
        (void)snprintf(ret_other, 16, "n%d", i);
        return;
    }
}

static void locks_whose_names_share_a_bucket_are_two(void) {
    struct bench *b = &Bench;
    for (int length = 3; length < 9; length++) {
        char one[16], other[16];
        bench_begin(b);
        find_names_of_a_bucket(one, other, length);
        struct owner *first = begin(b, one), *second = begin(b, other);
        struct owner *third = begin(b, one), *fourth = begin(b, other);
        come_to_rest(b);
        CHECK(first->grants == 1 && second->grants == 1);
        CHECK(third->grants == 0 && fourth->grants == 0);
        release(b, second);
        come_to_rest(b);
        CHECK(third->grants == 0 && fourth->grants == 1);
        bench_end(b);
    }
}

/* The watches of many nodes share buckets by themselves. */
static void among_many_watches_each_tells_its_own(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    for (int i = 0; i < 100; i++)
        (void)begin(b, "a");
    come_to_rest(b);
    CHECK_INT(b->owners[0].grants, 1);
    for (size_t i = 0; i < 100; i++) {
        struct owner *owner = &b->owners[i];
        REQUIRE(owner->member != NULL);
        CHECK_INT(owner->grants, 1);
        if (i < 99)
            CHECK_INT(b->owners[i + 1].grants, 0);
        release(b, owner);
        serve_all(b);
    }
    CHECK_INT(count_children(&b->server, "/locks/a"), 0);
    bench_end(b);
}

/* T26, T43: their watches stand as one until it fires, and are counted as long. */
static void waits_that_were_given_up_leave_one_watch(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *holder = hold(b, "a");
    size_t bytes = zkli_path_bytes(b->engine, strlen(path_of(holder)));
    for (int i = 0; i < 50; i++) {
        struct owner *waiter = begin(b, "a");
        serve_all(b);
        abandon(b, waiter);
        serve_all(b);
        CHECK(waiter->member == NULL);
    }
    CHECK_INT(b->engine->stale_watch_bytes, bytes);
    release(b, holder);
    serve_all(b);
    CHECK_INT(b->engine->stale_watch_bytes, 0);
    holder = hold(b, "a");
    abandon(b, begin(b, "a"));
    serve_all(b);
    struct owner *waiter = begin(b, "a");
    answer_next(b, LIST, ZKLI_RESULT_LOST);
    abandon(b, waiter);
    (void)begin(b, "a");
    (void)serve_until(b, GET); /* never answered */
    expire(b);
    CHECK_INT(b->engine->stale_watch_bytes, 0); /* watches end with their session */
    connect(b);
    come_to_rest(b);
    bench_end(b);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"after any mishap at any step all goes on, or has ended",
         after_any_mishap_at_any_step_all_goes_on_or_has_ended},
        {"a waiter releases nothing, and a holder abandons nothing",
         a_waiter_releases_nothing_and_a_holder_abandons_nothing},
        {"a hold that is lost while nothing can be sent is buried",
         a_hold_that_is_lost_while_nothing_can_be_sent_is_buried},
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
        {"lazy heartbeats are for those who hold or wait",
         lazy_heartbeats_are_for_those_who_hold_or_wait},
        {"nothing is sent while the session is being closed",
         nothing_is_sent_while_the_session_is_being_closed},
        {"locks whose names share a bucket are two", locks_whose_names_share_a_bucket_are_two},
        {"among many watches each tells its own", among_many_watches_each_tells_its_own},
        {"waits that were given up leave one watch", waits_that_were_given_up_leave_one_watch},
    };
    return TEST_MAIN(argc, argv, "engine_life", cases);
}
