/*
 * What a member is given, tells, waits for and counts for, beyond what its contender decides.
 */
#include "unit/engine_bench.h"

/* ---- Notices ---- */

static struct {
    enum zkli_notice notices[16];
    size_t count;
} Told;

static void note_notice(void *arg, struct zkli_member *member, enum zkli_notice notice) {
    REQUIRE(Told.count < COUNT(Told.notices));
    Told.notices[Told.count++] = notice;
    on_notice(arg, member, notice);
}

static struct owner *begin_noted(const char *name) {
    struct owner *owner = begin(name);
    zkli_member_attach(owner->member, note_notice, owner);
    Told.count = 0;
    return owner;
}

/* Its reply is in, and nobody is told yet. */
static void receive_next_list(void) {
    struct request list = serve_until(LIST);
    struct tiny_answer served = serve(&list);
    zkli_engine_enter(Bench.engine);
    zkli_engine_on_reply(Bench.engine, Bench.engine->port, list.slot, &served.reply);
}

/* What is not told yet is told as it is when it is told. */
static void a_place_that_is_lost_before_it_is_told_is_told_as_lost(void) {
    bench_begin();
    struct owner *holder = hold("a");
    struct owner *waiter = begin_noted("a");
    receive_next_list();
    CHECK_INT(waiter->member->notice_count, 1);
    CHECK_INT(waiter->member->notices[0], ZKLI_NOTICE_QUEUED);
    zkli_engine_on_state(Bench.engine, Bench.engine->port, ZKLI_PORT_EXPIRED);
    settle();
    CHECK_INT(Told.count, 1);
    CHECK_INT(Told.notices[0], ZKLI_NOTICE_REQUEUED);
    CHECK((holder->notices & TOLD(LOST)) != 0);
    Bench.request_count = 0;
    tiny_end_session(&Bench.server, Bench.last_session);
    bench_connect();
    come_to_rest();
    CHECK_INT(Told.count, 2);
    CHECK_INT(Told.notices[1], ZKLI_NOTICE_GRANTED);
    bench_end();
}

static void a_member_that_is_gone_hears_of_nothing_more(void) {
    bench_begin();
    struct owner *holder = hold("a");
    zkli_member_attach(holder->member, note_notice, holder);
    Told.count = 0;
    release(holder);
    struct request removal = serve_until(REMOVE);
    struct tiny_answer served = serve(&removal);
    zkli_engine_enter(Bench.engine);
    zkli_engine_on_reply(Bench.engine, Bench.engine->port, removal.slot, &served.reply);
    zkli_engine_on_state(Bench.engine, Bench.engine->port, ZKLI_PORT_CONNECTING);
    zkli_engine_on_state(Bench.engine, Bench.engine->port, ZKLI_PORT_CONNECTED);
    settle();
    CHECK_INT(Told.count, 1);
    CHECK_INT(Told.notices[0], ZKLI_NOTICE_GONE);
    serve_all();
    bench_end();
}

static void a_place_that_is_given_up_before_it_is_told_is_told_first(void) {
    bench_begin();
    struct owner *holder = hold("a");
    struct owner *waiter = begin_noted("a");
    receive_next_list();
    zkli_member_abandon(waiter->member, ZKL_CANCELED);
    settle();
    CHECK_INT(Told.count, 2);
    CHECK_INT(Told.notices[0], ZKLI_NOTICE_QUEUED);
    CHECK_INT(Told.notices[1], ZKLI_NOTICE_FAILED);
    serve_all();
    release(holder);
    come_to_rest();
    bench_end();
}

/* As who is granted it, and wants it no more, or wants to read. */
static void turn_and_idle_when_granted(void *arg, struct zkli_member *member,
                                       enum zkli_notice notice) {
    note_notice(arg, member, notice);
    if (notice != ZKLI_NOTICE_GRANTED)
        return;
    zkli_member_turn(member);
    zkli_member_idle(member);
}

static void a_hold_that_is_lost_before_it_is_told_is_told_as_both_and_does_nothing(void) {
    bench_begin();
    release(hold("a"));
    serve_all();
    struct owner *owner = begin_as("a", ZKLI_KIND_WRITE);
    zkli_member_attach(owner->member, turn_and_idle_when_granted, owner);
    Told.count = 0;
    receive_next_list();
    zkli_engine_on_state(Bench.engine, Bench.engine->port, ZKLI_PORT_EXPIRED);
    settle();
    CHECK_INT(Told.count, 3);
    CHECK_INT(Told.notices[0], ZKLI_NOTICE_GRANTED);
    CHECK_INT(Told.notices[1], ZKLI_NOTICE_LOST);
    CHECK_INT(Told.notices[2], ZKLI_NOTICE_GONE);
    Bench.request_count = 0;
    bench_end();
}

static void give_up_when_requeued(void *arg, struct zkli_member *member, enum zkli_notice notice) {
    note_notice(arg, member, notice);
    if (notice == ZKLI_NOTICE_REQUEUED)
        zkli_member_abandon(member, ZKL_CANCELED);
}

/* Without a session there is nothing to delete: it is gone at once. */
static void who_gives_up_when_told_is_told_of_that_too(void) {
    bench_begin();
    (void)hold("a");
    struct owner *waiter = begin_noted("a");
    zkli_member_attach(waiter->member, give_up_when_requeued, waiter);
    serve_all();
    Told.count = 0;
    expire();
    CHECK_INT(Told.count, 3);
    CHECK_INT(Told.notices[0], ZKLI_NOTICE_REQUEUED);
    CHECK_INT(Told.notices[1], ZKLI_NOTICE_FAILED);
    CHECK_INT(Told.notices[2], ZKLI_NOTICE_GONE);
    bench_end();
}

static void a_member_s_node_bears_its_label(void) {
    bench_begin();
    struct owner *owner = begin_by(
        &(struct zkli_wish){.name = "a", .kind = ZKLI_KIND_MUTEX, .label = "a label of its own"});
    struct request create = serve_until(CREATE);
    struct zkli_node_data data;
    REQUIRE(zkli_node_data_parse(&data, create.data, create.length));
    CHECK_STRING(data.label, "a label of its own");
    serve_request(&create);
    serve_all();
    release(owner);
    come_to_rest();
    bench_end();
}

static void a_member_knows_its_token_and_its_place(void) {
    bench_begin();
    struct owner *holder = hold("a"), *second = begin("a"), *third = begin("a");
    serve_all();
    CHECK_INT(zkli_member_token(holder->member), tiny_find(&Bench.server, path_of(holder))->czxid);
    CHECK_INT(zkli_member_position(second->member), 1);
    CHECK_INT(zkli_member_position(third->member), 2);
    abandon(second);
    abandon(third);
    come_to_rest();
    bench_end();
}

/* ---- What it is given ---- */

static bool has_uuid_of_its_own(const struct owner *owner) {
    for (size_t i = 0; i < Bench.owner_count; i++) {
        const struct owner *other = &Bench.owners[i];
        if (other != owner && other->member != NULL &&
            strcmp(other->member->core.uuid, owner->member->core.uuid) == 0)
            return false;
    }
    return strcmp(owner->member->core.uuid, Bench.engine->fresh_uuid) != 0;
}

static void each_place_has_a_uuid_of_its_own(void) {
    bench_begin();
    struct owner *first = hold("a"), *second = begin("a");
    serve_all();
    CHECK(has_uuid_of_its_own(first) && has_uuid_of_its_own(second));
    char uuid[ZKLI_UUID_LENGTH + 1];
    memcpy(uuid, second->member->core.uuid, sizeof(uuid));
    delete_node(path_of(second));
    CHECK((second->notices & TOLD(REQUEUED)) != 0);
    CHECK(strcmp(second->member->core.uuid, uuid) != 0);
    CHECK(has_uuid_of_its_own(second));
    /* An event that brings about no new place uses none up. */
    memcpy(uuid, Bench.engine->fresh_uuid, sizeof(uuid));
    serve_all();
    CHECK_STRING(Bench.engine->fresh_uuid, uuid);
    abandon(second);
    come_to_rest();
    bench_end();
}

/* Nothing steps them before the connection. */
static void so_have_places_that_are_asked_for_without_a_connection(void) {
    bench_begin();
    cut(0);
    struct owner *first = begin("a"), *second = begin("b");
    CHECK(has_uuid_of_its_own(first) && has_uuid_of_its_own(second));
    bench_connect();
    come_to_rest();
    CHECK(first->grants == 1 && second->grants == 1);
    bench_end();
}

static void it_has_its_thread_and_a_label(void) {
    static const char *const labels[] = {NULL, "own"};
    bench_begin();
    (void)snprintf(Bench.engine->who.label, sizeof(Bench.engine->who.label), "session's");
    for (size_t i = 0; i < COUNT(labels); i++) {
        struct zkli_member *m = NULL;
        struct owner *owner = &Bench.owners[Bench.owner_count++];
        zkli_engine_enter(Bench.engine);
        const struct zkli_wish wish = {
            .name = "a", .kind = ZKLI_KIND_MUTEX, .label = labels[i], .thread = {31, 32}};
        REQUIRE_INT(zkli_member_new(&m, Bench.engine, &wish, on_notice, owner), ZKL_OK);
        owner->member = m;
        settle();
        CHECK_INT(m->thread.number, ((struct zkli_thread){31, 32}).number);
        CHECK_INT(m->thread.id, ((struct zkli_thread){31, 32}).id);
        struct zkli_node_data data;
        const struct request *create = &Bench.requests[Bench.request_count - 1];
        while (create->kind != CREATE)
            create--;
        REQUIRE(zkli_node_data_parse(&data, create->data, create->length));
        CHECK_STRING(data.label, labels[i] == NULL ? "session's" : labels[i]);
    }
    serve_all();
    bench_end();
}

/* ---- Retries ---- */

static int64_t retry_after_ns(const struct owner *owner) {
    return owner->member->retry.at_ns - Bench.now_ns;
}

/* Each wait is twice the one before, from 20 ms to a second. */
static void waits_between_tries_grow_to_a_second(void) {
    static const int64_t waits_ms[] = {20, 40, 80, 160, 320, 640, 1000, 1000};
    bench_begin();
    struct owner *owner = begin("a");
    for (size_t i = 0; i < COUNT(waits_ms); i++) {
        answer_next(CREATE, ZKLI_RESULT_AGAIN);
        answer_next(LIST, ZKLI_RESULT_AGAIN);
        CHECK_INT(retry_after_ns(owner), waits_ms[i] * MS);
        advance(retry_after_ns(owner));
    }
    serve_all();
    bench_end();
}

/* A new connection, a place with its watches and a hold: then the servers answer. */
static void waits_begin_anew_when_the_servers_answer(void) {
    for (unsigned way = 0; way < 3; way++) {
        bench_begin();
        struct owner *holder = way == 1 ? hold("a") : NULL;
        struct owner *owner = begin("a");
        for (int i = 0; i < 3; i++) {
            answer_next(CREATE, ZKLI_RESULT_AGAIN);
            answer_next(LIST, ZKLI_RESULT_AGAIN);
            if (i < 2 || way > 0)
                advance(retry_after_ns(owner));
        }
        CHECK_INT(owner->member->retry_wait_ns, 80 * MS);
        if (way == 0)
            cut_and_connect(0);
        else
            serve_all();
        CHECK_INT(owner->member->retry_wait_ns, 0);
        if (holder != NULL)
            abandon(owner);
        come_to_rest();
        bench_end();
    }
}

/* ---- Budgets ---- */

static void a_member_counts_for_what_it_needs(void) {
    bench_begin();
    struct zkli_engine *e = Bench.engine;
    struct owner *owner = begin("a");
    const size_t each = e->node_bytes;
    CHECK(each > 0);
    CHECK_INT(e->watch_bytes, 2 * each); /* its own node's and the predecessor's */
    serve_all();
    CHECK_INT(e->watch_bytes, each); /* it holds */
    advance(T_MS / 10 * MS);
    serve_all();
    CHECK(owner->member->watchers[ZKLI_WATCHED_OWN].watch != NULL);
    release(owner);
    CHECK_INT(e->node_bytes, each);
    CHECK_INT(e->watch_bytes, 0); /* it leaves */
    serve_all();
    CHECK_INT(e->node_bytes, 0);
    bench_end();
}

static void the_last_byte_within_a_limit_counts(void) {
    for (unsigned way = 0; way < 4; way++) {
        char expected[64];
        bench_begin();
        struct zkli_engine *e = Bench.engine;
        const size_t each = 4 + strlen("/locks/a/") + ZKLI_CHILD_MAX;
        struct owner *owner = begin("a");
        const size_t bytes = e->node_bytes;
        CHECK(bytes > 0 && bytes <= each);
        size_t *counted = way < 2 ? &e->node_bytes : &e->stale_watch_bytes;
        const size_t room = way < 2 ? ZKLI_NODE_BYTES_MAX - 2 * bytes
                                    : ZKLI_WATCH_BYTES_MAX - 4 * bytes;
        *counted += room + way % 2;
        struct owner *second = NULL;
        CHECK_INT(enter_queue("a", false, &second), way % 2 == 0 ? ZKL_OK : ZKL_LIMIT);
        if (way % 2 == 1) {
            (void)snprintf(expected, sizeof(expected), "reached: %zu bytes of node", e->node_bytes);
            CHECK(strstr(Bench.last_line, expected) != NULL);
            (void)snprintf(expected, sizeof(expected), "%zu bytes of watched",
                           e->watch_bytes + e->stale_watch_bytes);
            CHECK(strstr(Bench.last_line, expected) != NULL);
        }
        *counted -= room + way % 2;
        abandon(owner);
        come_to_rest();
        bench_end();
    }
}

/* ---- Who vouches for a heartbeat ---- */

static void only_a_node_of_ours_that_stays_is_a_witness(void) {
    bench_begin();
    CHECK(zkli_members_witness(Bench.engine) == NULL);
    struct owner *owner = begin("a");
    CHECK(zkli_members_witness(Bench.engine) == NULL); /* nothing is there yet */
    serve_all();
    CHECK(zkli_members_witness(Bench.engine) == owner->member);
    release(owner);
    CHECK(zkli_members_witness(Bench.engine) == NULL); /* it is going */
    serve_all();
    (void)plant_with_our_tag(Bench.last_session);
    struct owner *second = begin("a");
    serve_until(LIST); /* is not answered */
    CHECK(zkli_members_witness(Bench.engine) == second->member);
    cut_and_connect(0);
    come_to_rest();
    bench_end();
}

static void a_writer_that_turns_is_none(void) {
    bench_begin();
    struct owner *owner = begin_as("a", ZKLI_KIND_WRITE);
    serve_all();
    CHECK(zkli_members_witness(Bench.engine) == owner->member);
    zkli_engine_enter(Bench.engine);
    zkli_member_turn(owner->member);
    settle();
    CHECK(zkli_members_witness(Bench.engine) == NULL); /* its node goes when that is done */
    serve_all();
    CHECK(zkli_members_witness(Bench.engine) == owner->member);
    release(owner);
    serve_all();
    bench_end();
}

/* Its last one could not be looked at. */
static void nor_is_one_whose_node_is_to_be_made_anew(void) {
    bench_begin();
    struct owner *holder = hold("a"), *waiter = begin("a");
    serve_all();
    waiter->member->refused_czxid = zkli_member_token(waiter->member);
    delete_node(path_of(waiter));
    CHECK_INT(waiter->member->core.state, ZKLI_ENQUEUING);
    CHECK(zkli_members_witness(Bench.engine) == holder->member);
    delete_node(path_of(holder));
    CHECK(holder->member == NULL);
    CHECK(zkli_members_witness(Bench.engine) == NULL);
    serve_all();
    release(waiter);
    serve_all();
    bench_end();
}

/* ---- What its owner asks for ---- */

static void one_that_is_bound_is_not_handed_on(void) {
    bench_begin();
    struct owner *owner = hold("a");
    CHECK(zkli_member_may_be_handed_on(owner->member));
    zkli_member_bind(owner->member);
    CHECK(!zkli_member_may_be_handed_on(owner->member));
    release(owner);
    serve_all();
    bench_end();
}

static void it_goes_by_the_number_of_permits_that_is_expected_last(void) {
    bench_begin();
    struct owner *owner = begin_lease("a", 2);
    CHECK(zkli_member_agrees(owner->member, 2) && !zkli_member_agrees(owner->member, 3));
    zkli_member_expect(owner->member, 3);
    CHECK(zkli_member_agrees(owner->member, 3) && !zkli_member_agrees(owner->member, 2));
    come_to_rest();
    CHECK_INT(owner->grants, 1);
    CHECK_INT(zkli_member_permits(owner->member).count, 3);
    release(owner);
    come_to_rest();
    bench_end();
}

/* ---- The lease ---- */

/* Its end is a time at which the engine wakes by itself. */
static void the_end_of_the_lease_is_an_appointment(void) {
    bench_begin();
    struct owner *holder = hold("a");
    cut(0);
    CHECK_INT(Bench.next_ns, Bench.now_ns + ZKLI_LOOK_NS);
    const int64_t end_ns = zkli_member_certain_until_ns(holder->member);
    while (Bench.next_ns < end_ns) {
        CHECK(zkli_member_is_held(holder->member));
        advance(Bench.next_ns - Bench.now_ns);
    }
    CHECK(Bench.next_ns == end_ns);
    advance(end_ns - 1 - Bench.now_ns);
    CHECK(zkli_member_is_held(holder->member));
    advance(1);
    CHECK((holder->notices & TOLD(LOST)) != 0);
    bench_connect();
    come_to_rest();
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a place that is lost before it is told is told as lost",
         a_place_that_is_lost_before_it_is_told_is_told_as_lost},
        {"a member that is gone hears of nothing more",
         a_member_that_is_gone_hears_of_nothing_more},
        {"a place that is given up before it is told is told first",
         a_place_that_is_given_up_before_it_is_told_is_told_first},
        {"a hold that is lost before it is told is told as both, and does nothing",
         a_hold_that_is_lost_before_it_is_told_is_told_as_both_and_does_nothing},
        {"who gives up when told is told of that, too", who_gives_up_when_told_is_told_of_that_too},
        {"a member's node bears its label", a_member_s_node_bears_its_label},
        {"a member knows its token and its place", a_member_knows_its_token_and_its_place},
        {"each place has a uuid of its own", each_place_has_a_uuid_of_its_own},
        {"so have places that are asked for without a connection",
         so_have_places_that_are_asked_for_without_a_connection},
        {"it has its thread, and a label", it_has_its_thread_and_a_label},
        {"waits between tries grow to a second", waits_between_tries_grow_to_a_second},
        {"waits begin anew when the servers answer", waits_begin_anew_when_the_servers_answer},
        {"a member counts for what it needs", a_member_counts_for_what_it_needs},
        {"the last byte within a limit counts", the_last_byte_within_a_limit_counts},
        {"only a node of ours that stays is a witness",
         only_a_node_of_ours_that_stays_is_a_witness},
        {"a writer that turns is none", a_writer_that_turns_is_none},
        {"nor is one whose node is to be made anew", nor_is_one_whose_node_is_to_be_made_anew},
        {"one that is bound is not handed on", one_that_is_bound_is_not_handed_on},
        {"it goes by the number of permits that is expected last",
         it_goes_by_the_number_of_permits_that_is_expected_last},
        {"the end of the lease is an appointment", the_end_of_the_lease_is_an_appointment},
    };
    return TEST_MAIN(argc, argv, "engine_members", cases);
}
