/* Until when a hold is certain whose node is not watched: it may be marked as broken. */
#include "unit/engine_bench.h"

#define NO_READS (1u << GET)
#define LINE "zklock1 t=10000"

static struct owner *Owner;

/* Heartbeats come back, and no read is sent. */
static void hold_blind(void) {
    bench_begin();
    Bench.refused = NO_READS;
    Owner = hold("a");
}

static void hold_watched(void) {
    bench_begin();
    Owner = hold("a");
    pass(T_MS * MS / 4);
    REQUIRE(Owner->member->core.own_watch == ZKLI_WATCHED);
}

static int64_t certain_until_ns(void) {
    return zkli_member_certain_until_ns(Owner->member);
}

/* It is told at this time, though the lease goes on. */
static void check_ends_at(int64_t end_ns) {
    pass(end_ns - Bench.now_ns - 10 * MS);
    CHECK(zkli_member_is_held(Owner->member));
    CHECK_INT(certain_until_ns(), end_ns);
    CHECK(Bench.engine->lease.certain_until_ns > end_ns);
    advance(end_ns - 1 - Bench.now_ns);
    CHECK_INT(Owner->notices & TOLD(LOST), 0);
    CHECK(Bench.next_ns == end_ns);
    advance(1);
    CHECK((Owner->notices & TOLD(LOST)) != 0);
}

static void end(void) {
    Bench.refused = 0;
    if (Owner->member != NULL && zkli_member_is_held(Owner->member))
        release(Owner);
    come_to_rest();
    bench_end();
}

static void a_hold_that_cannot_look_ends_with_its_first_lease(void) {
    hold_blind();
    const int64_t end_ns = Bench.engine->lease.certain_until_ns;
    CHECK_INT(certain_until_ns(), end_ns);
    check_ends_at(end_ns);
    end();
}

static void one_that_has_looked_goes_on(void) {
    hold_watched();
    CHECK_INT(certain_until_ns(), Bench.engine->lease.certain_until_ns);
    Bench.refused = NO_READS;
    pass(3 * T_MS * MS);
    CHECK(zkli_member_is_held(Owner->member));
    end();
}

/* What has changed is not known before it is read. */
static void a_change_counts_until_it_is_read(void) {
    hold_watched();
    Bench.refused = NO_READS;
    const int64_t end_ns = Bench.engine->lease.certain_until_ns;
    set_node(path_of(Owner), LINE);
    CHECK_INT(certain_until_ns(), end_ns);
    pass(T_MS * MS / 4);
    CHECK_INT(certain_until_ns(), end_ns);
    check_ends_at(end_ns);
    end();
    hold_watched();
    set_node(path_of(Owner), LINE);
    pass(T_MS * MS / 4);
    CHECK_INT(certain_until_ns(), Bench.engine->lease.certain_until_ns);
    pass(3 * T_MS * MS);
    CHECK(zkli_member_is_held(Owner->member));
    end();
}

static void a_mark_ends_the_hold_and_deletes_the_node(void) {
    hold_watched();
    char path[ZKLI_PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s", path_of(Owner));
    zkli_member_attach(Owner->member, on_notice, Owner);
    set_node(path, LINE " break=1");
    struct request read = serve_until(GET); /* at once */
    serve_request(&read);
    CHECK((Owner->notices & TOLD(LOST)) != 0);
    CHECK_INT(zkli_member_loss(Owner->member), ZKL_LOSS_BROKEN);
    CHECK(strstr(Bench.last_line, "zkl_break") != NULL);
    serve_all();
    CHECK(tiny_find(&Bench.server, path) == NULL);
    end();
}

/* Its transaction, for the caller to make. */
static struct request turn_begin(void) {
    zkli_engine_enter(Bench.engine);
    zkli_member_turn(Owner->member);
    settle();
    return serve_until(MULTI);
}

static void turn_end(const struct request *turn) {
    (void)tiny_remove(&Bench.server, turn->ops[0].path);
    (void)tiny_add(&Bench.server, turn->ops[1].path, Bench.last_session);
    answer(turn, ZKLI_RESULT_OK);
    CHECK_INT(Owner->member->core.state, ZKLI_HELD);
}

static void turn_it(void) {
    struct request turn = turn_begin();
    turn_end(&turn);
}

/* Its own transaction's news are not told from others. */
static void a_turn_is_blind(void) {
    bench_begin();
    Owner = begin_as("a", ZKLI_KIND_WRITE);
    pass(T_MS * MS / 4);
    REQUIRE(Owner->member->core.own_watch == ZKLI_WATCHED);
    const int64_t end_ns = Bench.engine->lease.certain_until_ns;
    Bench.refused = NO_READS;
    turn_it();
    CHECK_INT(certain_until_ns(), end_ns);
    pass(T_MS * MS / 4);
    CHECK_INT(certain_until_ns(), end_ns);
    check_ends_at(end_ns);
    end();
}

/* The client library does not say whether the watches were set again. */
static void a_new_connection_is_blind_until_the_node_is_read(void) {
    hold_watched();
    Bench.refused = NO_READS;
    cut_and_connect(0);
    const int64_t end_ns = certain_until_ns();
    CHECK(end_ns != ZKLI_NEVER && end_ns <= Bench.engine->lease.certain_until_ns);
    pass(T_MS * MS / 2);
    CHECK_INT(certain_until_ns(), end_ns);
    check_ends_at(end_ns);
    end();
    hold_watched();
    cut_and_connect(0);
    pass(3 * T_MS * MS);
    CHECK(zkli_member_is_held(Owner->member));
    end();
}

/* A node that is closed costs no hold. The reader's is another one, and may be marked. */
static void a_closed_writer_that_turns_is_blind(void) {
    bench_begin();
    Owner = begin_as("a", ZKLI_KIND_WRITE);
    pass(T_MS * MS / 4);
    REQUIRE(Owner->member->core.own_watch == ZKLI_WATCHED);
    Bench.refused = NO_READS;
    zkli_engine_enter(Bench.engine);
    zkli_member_unwatch(Owner->member);
    settle();
    pass(3 * T_MS * MS);
    CHECK(zkli_member_is_held(Owner->member));
    turn_it();
    const int64_t end_ns = certain_until_ns();
    pass(T_MS * MS / 4);
    check_ends_at(end_ns);
    end();
}

/* The connection that it was lost with may have taken the watch along. */
static void after_a_reply_that_was_lost_it_is_blind(void) {
    hold_watched();
    Bench.refused = NO_READS;
    while (Bench.request_count == 0)
        advance(10 * MS);
    struct request beat = serve_until(BARRIER);
    const int64_t end_ns = certain_until_ns();
    answer(&beat, ZKLI_RESULT_LOST);
    check_ends_at(end_ns);
    end();
}

static void pass_with_heartbeats_alone(int64_t ns) {
    for (const int64_t end_ns = Bench.now_ns + ns; Bench.now_ns < end_ns; advance(10 * MS))
        while (Bench.request_count > 0 && Bench.requests[0].kind == BARRIER)
            serve_next();
}

/* Else it looks with the next heartbeat, which an outage of T/2 leaves time for. */
static void a_turn_that_took_half_of_the_time_looks_at_once(void) {
    for (int is_late = 0; is_late <= 1; is_late++) {
        bench_begin();
        Owner = begin_as("a", ZKLI_KIND_WRITE);
        pass(T_MS * MS / 4);
        struct request turn = turn_begin();
        const int64_t left_ns = certain_until_ns() - Bench.now_ns;
        pass_with_heartbeats_alone(left_ns - T_MS * MS / 2 - (is_late ? 0 : 50) * MS);
        turn_end(&turn);
        const size_t count = Bench.request_count;
        bool looks = count > 0 && Bench.requests[count - 1].kind == GET;
        CHECK_INT(looks, is_late);
        end();
    }
}

/* Its watch may not have been set again, and its node be marked. */
static void a_waiter_looks_again_on_another_connection(void) {
    Owner = wait_behind_another();
    pass(T_MS * MS / 4);
    REQUIRE(Owner->member->core.own_watch == ZKLI_WATCHED);
    Bench.refused = NO_READS;
    cut_and_connect(0);
    delete_node(OTHER_NODE);
    pass(T_MS * MS / 4);
    CHECK_INT(Owner->grants, 0);
    Bench.refused = 0;
    pass(T_MS * MS / 4);
    CHECK_INT(Owner->grants, 1);
    end();
}

/* It would be another hold, with what is left of this one. */
static void it_is_not_handed_on_with_less_than_the_lease(void) {
    hold_blind();
    CHECK(zkli_member_may_be_handed_on(Owner->member));
    const int64_t end_ns = certain_until_ns();
    while (Bench.engine->lease.certain_until_ns == end_ns) {
        CHECK(zkli_member_may_be_handed_on(Owner->member));
        pass(10 * MS);
    }
    CHECK(zkli_member_is_held(Owner->member));
    CHECK(!zkli_member_may_be_handed_on(Owner->member));
    Bench.refused = 0;
    pass(T_MS * MS / 8); /* it looks */
    CHECK(zkli_member_may_be_handed_on(Owner->member));
    end();
}

/* Heartbeats that were answered since the node was made say nothing of a mark. */
static void a_grant_that_comes_late_looks_first(void) {
    bench_begin();
    release(hold("a")); /* the directory is there */
    serve_all();
    Owner = begin("a");
    struct request listing = serve_until(LIST);
    const int64_t end_ns = Bench.engine->lease.certain_until_ns;
    while (Bench.engine->lease.certain_until_ns == end_ns) {
        advance(10 * MS);
        while (Bench.request_count > 0 && Bench.requests[0].kind == BARRIER)
            serve_next();
    }
    serve_request(&listing);
    CHECK_INT(Owner->grants, 0);
    struct request read = serve_until(GET);
    CHECK_STRING(read.path, path_of(Owner));
    serve_request(&read);
    CHECK_INT(Owner->grants, 1);
    CHECK_INT(certain_until_ns(), Bench.engine->lease.certain_until_ns);
    end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a hold that cannot look ends with its first lease",
         a_hold_that_cannot_look_ends_with_its_first_lease},
        {"one that has looked goes on", one_that_has_looked_goes_on},
        {"a change counts until it is read", a_change_counts_until_it_is_read},
        {"a mark ends the hold and deletes the node", a_mark_ends_the_hold_and_deletes_the_node},
        {"a turn is blind", a_turn_is_blind},
        {"a new connection is blind until the node is read",
         a_new_connection_is_blind_until_the_node_is_read},
        {"a closed writer that turns is blind", a_closed_writer_that_turns_is_blind},
        {"after a reply that was lost it is blind", after_a_reply_that_was_lost_it_is_blind},
        {"a turn that took half of the time looks at once",
         a_turn_that_took_half_of_the_time_looks_at_once},
        {"a waiter looks again on another connection", a_waiter_looks_again_on_another_connection},
        {"it is not handed on with less than the lease",
         it_is_not_handed_on_with_less_than_the_lease},
        {"a grant that comes late looks first", a_grant_that_comes_late_looks_first},
    };
    return TEST_MAIN(argc, argv, "engine_blind", cases);
}
