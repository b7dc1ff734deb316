/*
 * What the layer above asks a member before it passes it on: whether its place may be left to
 * another wait, whether its hold may be handed on, and for how many permits. Threads that do it:
 * test_places.c, test_hand_on.c.
 */
#include "unit/engine_bench.h"

static void turn(struct owner *owner) {
    zkli_engine_enter(Bench.engine);
    zkli_member_turn(owner->member);
    settle();
}

/* ---- Places ---- */

static void who_waits_in_a_queue_may_be_left(void) {
    struct owner *owner = wait_behind_another();
    CHECK(zkli_member_is_waiting(owner->member));
    CHECK(zkli_member_may_be_left(owner->member));
    tell_state(ZKLI_PORT_CONNECTING);
    CHECK(!zkli_member_may_be_left(owner->member));
    bench_connect();
    serve_all();
    CHECK(zkli_member_may_be_left(owner->member));
    end_all();
}

static void who_is_about_to_stand_in_it_may_be_left_too(void) {
    bench_begin();
    plant_other();
    struct owner *owner = NULL;
    REQUIRE_INT(enter_queue("a", true, &owner), ZKL_OK);
    CHECK_INT(owner->member->core.state, ZKLI_PROBING);
    CHECK(!zkli_member_may_be_left(owner->member));
    abandon(owner);
    owner = begin("a");
    CHECK_INT(owner->member->core.state, ZKLI_ENQUEUING);
    CHECK(zkli_member_may_be_left(owner->member));
    CHECK(zkli_members_witness(Bench.engine) == NULL); /* it has no node */
    end_all();
}

/* Before its owner is told. */
static void who_is_gone_may_be_given_up_again(void) {
    bench_begin();
    zkli_engine_enter(Bench.engine);
    struct zkli_member *m = NULL;
    struct owner owner = {.member = NULL};
    const struct zkli_wish wish = {.name = "a", .kind = ZKLI_KIND_MUTEX};
    REQUIRE_INT(zkli_member_new(&m, Bench.engine, &wish, on_notice, &owner), ZKL_OK);
    zkli_member_abandon(m, ZKL_TIMEOUT);
    CHECK_INT(m->core.state, ZKLI_GONE);
    zkli_member_abandon(m, ZKL_CANCELED);
    zkli_member_release(m);
    settle();
    CHECK_INT(owner.notices, TOLD(FAILED) | TOLD(GONE));
    CHECK_INT(owner.error, ZKL_TIMEOUT);
    CHECK_INT(zkli_engine_now_ns(Bench.engine), Bench.now_ns);
    end_all();
}

static void who_holds_or_is_gone_does_not_wait(void) {
    bench_begin();
    struct owner *owner = hold("a");
    CHECK(!zkli_member_is_waiting(owner->member));
    CHECK(!zkli_member_may_be_left(owner->member));
    release(owner);
    REQUIRE(owner->member != NULL); /* its node is being deleted */
    CHECK(!zkli_member_is_waiting(owner->member));
    CHECK(!zkli_member_may_be_left(owner->member));
    end_all();
}

/* Its turn has come, and the lease is short. */
static void who_is_admitted_may_not_be_left(void) {
    struct owner *owner = wait_behind_another();
    for (int i = 0; i < T_MS / 10 && zkli_lease_is_ample(Bench.engine); i++)
        advance(10 * MS);
    delete_node(OTHER_NODE);
    CHECK_INT(owner->member->core.state, ZKLI_ADMITTED);
    CHECK(zkli_member_is_waiting(owner->member));
    CHECK(!zkli_member_may_be_left(owner->member));
    end_all();
}

static void who_parts_sharers_may_not_be_left(void) {
    bench_begin();
    struct owner *reader = begin_as("a", ZKLI_KIND_READ);
    serve_all();
    CHECK_INT(reader->grants, 1);
    struct owner *writer = begin_as("a", ZKLI_KIND_WRITE);
    serve_all();
    struct owner *second = begin_as("a", ZKLI_KIND_READ);
    serve_all();
    CHECK(zkli_member_is_waiting(writer->member) && !zkli_member_may_be_left(writer->member));
    CHECK(zkli_member_may_be_left(second->member));
    end_all();
}

/* The other half is for those that calls wait by. */
static void where_the_session_is_half_full_nobody_may_be_left(void) {
    struct owner *owner = wait_behind_another();
    struct zkli_engine *e = Bench.engine;
    const size_t node_bytes = e->node_bytes, watch_bytes = e->watch_bytes;
    const size_t stale = ZKLI_WATCH_BYTES_MAX / 2 - watch_bytes;
    e->node_bytes = ZKLI_NODE_BYTES_MAX / 2;
    CHECK(zkli_member_may_be_left(owner->member));
    e->node_bytes++;
    CHECK(!zkli_member_may_be_left(owner->member));
    e->node_bytes = node_bytes;
    e->watch_bytes += stale;
    CHECK(zkli_member_may_be_left(owner->member));
    e->watch_bytes++;
    CHECK(!zkli_member_may_be_left(owner->member));
    e->watch_bytes = watch_bytes;
    e->stale_watch_bytes = stale;
    CHECK(zkli_member_may_be_left(owner->member));
    e->stale_watch_bytes++;
    CHECK(!zkli_member_may_be_left(owner->member));
    e->stale_watch_bytes = 0;
    end_all();
}

static void a_place_is_known_when_it_was_listed(void) {
    bench_begin();
    plant_other();
    struct owner *owner = begin("a");
    CHECK(!zkli_member_has_position(owner->member));
    serve_all();
    CHECK(zkli_member_has_position(owner->member));
    CHECK_INT(zkli_member_position(owner->member), 1);
    CHECK(zkli_member_owner(owner->member) == owner);
    end_all();
}

/* ---- Permits ---- */

static void a_wait_goes_on_for_the_same_number_unless_another_is_recorded(void) {
    static const struct {
        int asked, wanted;
        const char *recorded;
        bool agrees;
    } cases[] = {
        {2, 2, "permits=2 max=2", true},
        {2, 3, "permits=2 max=2", false},
        {2, 0, "permits=2 max=2", false},
        {2, 2, "permits=1 max=2", false},
        {0, 0, "permits=1 max=1", true},
        {0, 1, "permits=1 max=1", false},
        {1, 1, "", true},
        {1, 1, "permits=1 max=1", true},
        {1, 1, "permits=2 max=2", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bench_begin();
        struct owner *owner = begin_lease("a", cases[i].asked);
        owner->member->dir->permits = zkli_permits_parse(cases[i].recorded,
                                                         strlen(cases[i].recorded), 7, 3);
        CHECK(zkli_member_agrees(owner->member, cases[i].wanted) == cases[i].agrees);
        if (zkli_member_agrees(owner->member, cases[i].wanted) != cases[i].agrees)
            test_note("case %zu", i);
        end_all();
    }
}

/* ---- Holds ---- */

static void a_hold_may_be_handed_on_while_it_could_begin(void) {
    struct owner *waiter = wait_behind_another();
    CHECK(!zkli_member_may_be_handed_on(waiter->member));
    delete_node(OTHER_NODE);
    serve_all();
    CHECK_INT(waiter->grants, 1);
    CHECK(zkli_member_may_be_handed_on(waiter->member));
    tell_state(ZKLI_PORT_CONNECTING);
    CHECK(!zkli_member_may_be_handed_on(waiter->member));
    bench_connect();
    CHECK(!zkli_member_may_be_handed_on(waiter->member)); /* its node is read again first */
    serve_all();
    CHECK(zkli_member_may_be_handed_on(waiter->member));
    for (int i = 0; i < T_MS / 10 && zkli_lease_is_ample(Bench.engine); i++)
        advance(10 * MS);
    REQUIRE(zkli_engine_is_certain(Bench.engine));
    CHECK(zkli_member_is_held(waiter->member));
    CHECK(!zkli_member_may_be_handed_on(waiter->member));
    end_all();
}

static void a_hold_that_is_handed_on_is_another_thread_s(void) {
    bench_begin();
    struct owner *owner = begin_by(
        &(struct zkli_wish){.name = "a", .kind = ZKLI_KIND_MUTEX, .thread = {7, 70}});
    serve_all();
    CHECK(zkli_engine_held_by(Bench.engine, "a", 7) == owner->member);
    zkli_member_hand_on(owner->member, (struct zkli_thread){8, 80});
    CHECK(zkli_engine_held_by(Bench.engine, "a", 7) == NULL);
    CHECK(zkli_engine_held_by(Bench.engine, "a", 8) == owner->member);
    zkli_engine_enter(Bench.engine);
    zkli_member_idle(owner->member);
    settle();
    CHECK_INT(owner->member->thread.number, 0); /* nobody's */
    end_all();
}

/* A reader that was a writer keeps the writer's token, and other readers may hold beside it. */
static void a_hold_that_has_turned_is_not_handed_on(void) {
    bench_begin();
    struct owner *reader = begin_as("b", ZKLI_KIND_READ);
    struct owner *owner = begin_as("a", ZKLI_KIND_WRITE);
    serve_all();
    CHECK(!zkli_member_is_or_was_writer(reader->member));
    CHECK_INT(zkli_member_kind(owner->member), ZKLI_KIND_WRITE);
    CHECK(zkli_member_is_or_was_writer(owner->member));
    CHECK(!zkli_member_is_turning(owner->member));
    turn(owner);
    CHECK(zkli_member_is_turning(owner->member));
    CHECK(!zkli_member_may_be_handed_on(owner->member));
    CHECK(zkli_members_witness(Bench.engine) == reader->member); /* its own node may be gone */
    struct request request = serve_until(MULTI);
    answer(&request, ZKLI_RESULT_OK);
    CHECK(!zkli_member_is_turning(owner->member));
    CHECK_INT(zkli_member_kind(owner->member), ZKLI_KIND_READ);
    CHECK(zkli_member_is_or_was_writer(owner->member));
    CHECK(zkli_member_is_held(owner->member));
    CHECK(!zkli_member_may_be_handed_on(owner->member));
    CHECK(zkli_member_may_be_handed_on(reader->member));
    end_all();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"who waits in a queue may be left", who_waits_in_a_queue_may_be_left},
        {"who is about to stand in it may be left, too",
         who_is_about_to_stand_in_it_may_be_left_too},
        {"who is gone may be given up again", who_is_gone_may_be_given_up_again},
        {"who holds, or is gone, does not wait", who_holds_or_is_gone_does_not_wait},
        {"who is admitted may not be left", who_is_admitted_may_not_be_left},
        {"who parts sharers may not be left", who_parts_sharers_may_not_be_left},
        {"where the session is half full nobody may be left",
         where_the_session_is_half_full_nobody_may_be_left},
        {"a place is known when it was listed", a_place_is_known_when_it_was_listed},
        {"a wait goes on for the same number, unless another is recorded",
         a_wait_goes_on_for_the_same_number_unless_another_is_recorded},
        {"a hold may be handed on while it could begin",
         a_hold_may_be_handed_on_while_it_could_begin},
        {"a hold that is handed on is another thread's",
         a_hold_that_is_handed_on_is_another_thread_s},
        {"a hold that has turned is not handed on", a_hold_that_has_turned_is_not_handed_on},
    };
    return TEST_MAIN(argc, argv, "engine_places", cases);
}
