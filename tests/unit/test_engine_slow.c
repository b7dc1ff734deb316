/* Another session that comes late, and servers that are slow: whether it is taken, another one is
 * asked for, or the own one is kept. */
#include "unit/engine_bench.h"

#define T (T_MS * MS)

/* Each request is answered when it has been under way for so long. */
static void pass_slowly(int64_t ns, int64_t took_ns) {
    int64_t end_ns = Bench.now_ns + ns, sent_ns = Bench.now_ns;
    while (Bench.now_ns < end_ns) {
        if (Bench.request_count == 0)
            sent_ns = Bench.now_ns;
        advance(10 * MS);
        if (Bench.request_count > 0 && Bench.now_ns - sent_ns >= took_ns) {
            sent_ns = Bench.now_ns;
            serve_next();
        }
    }
}

/* It is too late for a hold when it comes, and so would another be that was asked for now. */
static void where_all_is_slow_it_is_waited_for(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    advance(T * 3 / 8);
    CHECK(!successor_port()->is_closed);
    connect_successor();
    for (int i = 0; i < 2; i++) {
        advance(T / 8);
        CHECK_INT(Bench.port_count, 2);
        CHECK(!Bench.ports[0].is_closed && !Bench.ports[1].is_closed);
    }
    CHECK_INT(Bench.sent[CREATE], 0);
    serve_all(); /* what was sent long ago */
    CHECK_INT(Bench.port_count, 2);
    advance(MS);
    advance(T / 6); /* no hold could begin where that takes so long */
    serve_all();
    CHECK_INT(Bench.port_count, 2);
    pass(50 * MS); /* and now */
    CHECK_INT(Bench.port_count, 3);
    CHECK(!Bench.ports[0].is_closed && Bench.ports[1].is_closed);
    connect_successor();
    serve_all();
    CHECK_INT(owner->grants, 1);
    CHECK(Bench.ports[0].is_closed);
    check_untold();
    bench_end();
}

/* It would be as late again. */
static void where_another_is_as_late_it_is_taken(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    advance(T * 3 / 8);
    connect_successor();
    pass(50 * MS);
    CHECK_INT(Bench.port_count, 3);
    pass(T * 3 / 8);
    CHECK_INT(Bench.sent[CREATE], 0);
    const size_t asked = Bench.port_count;
    connect_successor_at(&Bench.ports[2]);
    pass(50 * MS);
    CHECK_INT(Bench.port_count, asked);
    CHECK(Bench.sent[CREATE] > 0);
    pass(T * 5 / 8); /* a first proof */
    CHECK_INT(owner->grants, 1);
    CHECK_INT(Bench.port_count, asked);
    check_untold();
    bench_end();
}

/* A first proof would end when the lease has lapsed. */
static void where_another_is_too_late_for_a_proof_this_one_is_kept(void) {
    static const struct {
        int64_t age_ns;
        bool is_kept;
    } cases[] = {{T * 45 / 100, false}, {T * 47 / 100, true}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        rest(3 * T);
        struct owner *owner = begin("a");
        advance(T * 3 / 8);
        connect_successor();
        pass(50 * MS);
        pass(cases[i].age_ns);
        connect_successor_at(&Bench.ports[2]);
        pass(50 * MS);
        CHECK_INT(Bench.engine->is_kept, cases[i].is_kept);
        CHECK_INT(Bench.ports[2].is_closed, cases[i].is_kept);
        pass(2 * T);
        CHECK_INT(owner->grants, 1);
        bench_end();
    }
}

/* What a late one has taken says nothing of those after the next rest. */
static void after_another_rest_a_late_one_is_the_first_again(void) {
    rest(3 * T);
    for (size_t i = 0; i < 2; i++) {
        struct owner *owner = begin("a");
        advance(T * 3 / 8);
        size_t asked = Bench.port_count;
        connect_successor();
        pass(50 * MS);
        CHECK_INT(Bench.port_count, asked + 1);
        connect_successor();
        serve_all();
        CHECK_INT(owner->grants, 1);
        release(owner);
        pass(3 * T);
    }
    bench_end();
}

/* In steps, so that a heartbeat goes out when it is due. */
static void advance_unanswered(int64_t ns) {
    for (int64_t end_ns = Bench.now_ns + ns; Bench.now_ns < end_ns;)
        advance(10 * MS);
}

/* Each comes after so long, which is late; another is asked for behind each but the last. */
static void check_last_is_taken(const int64_t *took_ns, size_t count) {
    rest(3 * T);
    struct owner *owner = begin("a");
    for (size_t i = 0; i < count; i++) {
        CHECK_INT(Bench.port_count, i + 2);
        CHECK_INT(Bench.sent[CREATE], 0);
        advance_unanswered(took_ns[i]);
        connect_successor();
        pass(50 * MS);
    }
    CHECK_INT(Bench.port_count, count + 1);
    CHECK(Bench.sent[CREATE] > 0);
    pass(T * 5 / 8);
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* Now slow and now quick. */
static void where_servers_go_on_being_slow_the_third_is_taken(void) {
    static const int64_t took_ns[] = {T * 3 / 8, T * 3 / 8, T * 3 / 8};
    check_last_is_taken(took_ns, COUNT(took_ns));
}

/* Two have come late, and servers were slow then. */
static void where_servers_were_slow_another_is_asked_for(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    for (size_t i = 1; i <= 2; i++) {
        advance(T * 3 / 8);
        connect_successor();
        pass(50 * MS);
        CHECK_INT(Bench.port_count, i + 2);
        CHECK_INT(Bench.sent[CREATE], 0);
    }
    connect_successor();
    serve_all();
    CHECK_INT(owner->grants, 1);
    CHECK_INT(Bench.port_count, 4);
    check_untold();
    bench_end();
}

static void one_that_has_waited_for_long_is_replaced_before_it_is_used(void) {
    struct request remove;
    struct owner *owner = begin_behind_a_delete(&remove);
    connect_successor();
    pass(T * 10 / 16);
    CHECK_INT(Bench.port_count, 2);
    serve_request(&remove);
    CHECK_INT(Bench.port_count, 3);
    CHECK(!Bench.ports[0].is_closed && Bench.ports[1].is_closed);
    connect_successor();
    CHECK(Bench.ports[0].is_closed);
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

static void one_that_comes_late_ends_an_outage(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    cut(0);
    advance(3 * T);
    connect_successor();
    CHECK(Bench.ports[0].is_closed);
    CHECK_INT(Bench.port_count, 2);
    pass(T * 17 / 10); /* its lease has lapsed, too */
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* One that is begun late is no better. */
static void the_first_session_is_replaced_if_it_was_made_late(void) {
    bench_start("/locks", false);
    advance(T / 2);
    struct owner *owner = begin("a");
    bench_connect();
    CHECK_INT(Bench.port_count, 2);
    connect_successor();
    CHECK(Bench.ports[0].is_closed);
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

static void in_an_outage_it_is_waited_for(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    cut(0);
    advance(3 * T);
    CHECK_INT(Bench.port_count, 2);
    bench_connect();
    CHECK_INT(Bench.port_count, 3); /* that one would be late */
    CHECK(!Bench.ports[1].is_closed);
    connect_successor();
    serve_all();
    CHECK_INT(Bench.port_count, 3);
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* Heartbeats take a twelfth of the timeout: another session takes twice as long in any case. */
static void where_all_is_as_slow_no_second_is_asked_for(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    advance(T / 12);
    serve_all();
    for (int i = 0; i < 7; i++) {
        advance(T / 100);
        CHECK_INT(Bench.port_count, 2);
    }
    connect_successor();
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* ---- How slow is slow ---- */

/* A heartbeat that takes a ninth of the timeout at the most; and another session that has taken
 * twice as long as that. */
static void another_is_asked_for_beside_it_if_heartbeats_are_quick(void) {
    static const struct {
        int64_t first_ns, second_ns;
        bool is_quick;
    } cases[] = {{0, T * 5 / 100, true},
                 {0, T * 7 / 100, false},
                 {T / 9, T / 9, true},
                 {T / 9 + 1, T / 9 + 1, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        rest(3 * T);
        (void)begin("a");
        advance(cases[i].first_ns);
        serve_all();
        while (Bench.request_count == 0)
            advance(Bench.next_ns - Bench.now_ns);
        CHECK_INT(Bench.port_count, 2);
        advance(cases[i].second_ns);
        CHECK_INT(Bench.port_count, 2);
        serve_all();
        CHECK_INT(Bench.port_count, cases[i].is_quick ? 3 : 2);
        bench_end();
    }
}

/* What is left of its lease is half of a timeout and four round trips, or it is not. */
static void one_that_is_late_has_time_for_a_proof_or_has_not(void) {
    static const struct {
        int64_t age_ns;
        bool is_taken;
    } cases[] = {{T * 32 / 100, true}, {T * 35 / 100, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        rest(3 * T);
        (void)begin("a");
        pass_slowly(T * 29 / 100, T * 3 / 100);
        connect_successor_at(&Bench.ports[1]);
        struct fake_port *second = successor_port();
        CHECK(second != &Bench.ports[1] && Bench.ports[1].is_closed);
        pass_slowly(cases[i].age_ns, T * 3 / 100);
        connect_successor_at(second);
        CHECK_INT(Bench.engine->port == &second->port, cases[i].is_taken);
        CHECK_INT(Bench.engine->is_kept, !cases[i].is_taken);
        bench_end();
    }
}

/* Asked for when the other one has come, late; it comes after so long. True: a third is. */
static bool asks_for_a_third(int64_t second_ns) {
    rest(3 * T);
    (void)begin("a");
    pass(T * 60 / 100);
    connect_successor_at(&Bench.ports[1]);
    struct fake_port *second = successor_port();
    pass(second_ns);
    size_t asked = Bench.port_count;
    connect_successor_at(second);
    bool is_asked = Bench.engine->port != &second->port;
    CHECK_INT(Bench.port_count, asked + is_asked);
    bench_end();
    return is_asked;
}

static void one_that_came_twice_as_soon_makes_a_third_worth_asking_for(void) {
    CHECK(asks_for_a_third(T * 30 / 100));
    CHECK(!asks_for_a_third(T * 31 / 100));
}

/* That it is connected may be told twice. */
static void what_it_took_to_come_is_what_it_took_the_first_time(void) {
    struct request remove;
    (void)begin_behind_a_delete(&remove);
    struct fake_port *first = &Bench.ports[1];
    pass(T * 10 / 100);
    connect_successor_at(first);
    int64_t session_id = first->session_id;
    pass(T * 50 / 100);
    connect_successor_at(first); /* told again */
    first->session_id = session_id;
    serve_request(&remove);
    CHECK(first->is_closed);
    struct fake_port *second = successor_port();
    pass(T * 30 / 100);
    connect_successor_at(second);
    CHECK(Bench.engine->port == &second->port);
    serve_all();
    bench_end();
}

/* They were slow, too, when it took less; that is known. */
static void that_they_were_slow_counts_once(void) {
    static const int64_t took_ns[] = {T * 60 / 100, T * 60 / 100, T * 295 / 1000, T * 295 / 1000};
    check_last_is_taken(took_ns, COUNT(took_ns));
}

static void but_again_after_the_next_rest(void) {
    rest(3 * T);
    for (size_t i = 0; i < 2; i++) {
        struct owner *owner = begin("a");
        size_t asked = Bench.port_count;
        for (size_t late = 1; late <= 2; late++) {
            advance(T * 3 / 8);
            connect_successor();
            pass(50 * MS);
            CHECK_INT(Bench.port_count, asked + late);
        }
        connect_successor();
        serve_all();
        CHECK_INT(owner->grants, 1);
        release(owner);
        pass(3 * T);
    }
    bench_end();
}

static void where_heartbeats_are_not_answered_another_is_asked_for_after_a_timeout(void) {
    rest(3 * T);
    const int64_t begun_ns = Bench.now_ns;
    (void)begin("a");
    advance(T * 3 / 8);
    connect_successor(); /* late */
    advance(begun_ns + T - 1 - Bench.now_ns);
    CHECK_INT(Bench.port_count, 2);
    advance(1);
    CHECK_INT(Bench.port_count, 3);
    bench_end();
}

/* The fourth is taken when it is a timeout old, and its own lease has lapsed. */
static void where_they_are_not_answered_for_long_the_fourth_is_taken(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    for (size_t asked = 1; asked <= ZKLI_SUCCESSORS_MAX; asked++) {
        CHECK_INT(Bench.port_count, asked + 1);
        CHECK_INT(Bench.sent[CREATE], 0);
        advance(T * 3 / 8);
        connect_successor(); /* late */
        advance(T * 5 / 8);
    }
    CHECK_INT(Bench.port_count, ZKLI_SUCCESSORS_MAX + 1);
    CHECK(Bench.engine->port == &Bench.ports[ZKLI_SUCCESSORS_MAX].port);
    CHECK(!zkli_engine_is_certain(Bench.engine));
    CHECK(Bench.sent[CREATE] > 0); /* at once */
    pass(T * 17 / 10);
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* What another was taken in spite of is nothing to the one after it. */
static void one_that_was_taken_late_says_nothing_of_the_next(void) {
    rest(3 * T);
    struct owner *owner = begin("a");
    cut(0);
    advance(T * 3 / 8);
    connect_successor();
    CHECK(Bench.engine->late_until_ns > Bench.now_ns);
    expire();
    CHECK_INT(Bench.engine->late_until_ns, 0);
    bench_connect();
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* As many as at first. */
static void once_they_are_answered_again_it_is_asked_for_as_at_first(void) {
    rest(3 * T);
    (void)begin("a");
    advance(4 * T);
    for (int i = 0; i < 3; i++)
        advance(T);
    CHECK_INT(Bench.engine->succession.count, 1);
    const size_t asked = Bench.port_count;
    pass(2 * T);
    CHECK_INT(Bench.port_count, asked + ZKLI_SUCCESSORS_MAX - 1);
    CHECK(Bench.engine->is_kept);
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"where all is slow it is waited for", where_all_is_slow_it_is_waited_for},
        {"where another is as late it is taken", where_another_is_as_late_it_is_taken},
        {"where another is too late for a proof this one is kept",
         where_another_is_too_late_for_a_proof_this_one_is_kept},
        {"after another rest a late one is the first again",
         after_another_rest_a_late_one_is_the_first_again},
        {"where servers go on being slow the third is taken",
         where_servers_go_on_being_slow_the_third_is_taken},
        {"where servers were slow another is asked for",
         where_servers_were_slow_another_is_asked_for},
        {"one that has waited for long is replaced before it is used",
         one_that_has_waited_for_long_is_replaced_before_it_is_used},
        {"one that comes late ends an outage", one_that_comes_late_ends_an_outage},
        {"the first session is replaced if it was made late",
         the_first_session_is_replaced_if_it_was_made_late},
        {"in an outage it is waited for", in_an_outage_it_is_waited_for},
        {"where all is as slow no second is asked for",
         where_all_is_as_slow_no_second_is_asked_for},
        {"another is asked for beside it if heartbeats are quick",
         another_is_asked_for_beside_it_if_heartbeats_are_quick},
        {"one that is late has time for a proof, or has not",
         one_that_is_late_has_time_for_a_proof_or_has_not},
        {"one that came twice as soon makes a third worth asking for",
         one_that_came_twice_as_soon_makes_a_third_worth_asking_for},
        {"what it took to come is what it took the first time",
         what_it_took_to_come_is_what_it_took_the_first_time},
        {"that they were slow counts once", that_they_were_slow_counts_once},
        {"but again after the next rest", but_again_after_the_next_rest},
        {"where heartbeats are not answered another is asked for after a timeout",
         where_heartbeats_are_not_answered_another_is_asked_for_after_a_timeout},
        {"where they are not answered for long the fourth is taken",
         where_they_are_not_answered_for_long_the_fourth_is_taken},
        {"one that was taken late says nothing of the next",
         one_that_was_taken_late_says_nothing_of_the_next},
        {"once they are answered again it is asked for as at first",
         once_they_are_answered_again_it_is_asked_for_as_at_first},
    };
    return TEST_MAIN(argc, argv, "engine_slow", cases);
}
