/* Nodes that stay while nobody holds by them: what tells that they are wanted, and what is asked of
 * the owner of another's. */
#include "unit/engine_bench.h"

#define KEPT_NODE "/locks/a/_c_f47ac10b-58cc-8372-a567-0e02b2c3d479-lock-0000000000"

/* One whose node may stay while nobody holds by it. */
static struct owner *begin_lingering(const char *name) {
    const struct zkli_wish wish = {
        .name = name, .kind = ZKLI_KIND_MUTEX, .may_be_kept = true, .thread = {7, 70}};
    return begin_by(&wish);
}

static struct owner *begin_kept_and_held(void) {
    bench_begin();
    struct owner *owner = begin_lingering("a");
    const struct request list = serve_until(LIST);
    CHECK(list.is_watched);
    serve_request(&list);
    serve_all();
    CHECK_INT(owner->grants, 1);
    CHECK(zkli_node_name_may_be_kept(owner->member->core.node));
    return owner;
}

static void end(struct owner *owner) {
    if (owner != NULL && owner->member != NULL)
        release(owner);
    come_to_rest();
    bench_end();
}

static void idle(struct owner *owner) {
    zkli_engine_enter(Bench.engine);
    zkli_member_idle(owner->member);
    settle();
}

static void who_comes_makes_it_wanted(void) {
    struct owner *owner = begin_kept_and_held();
    const struct zkli_member *m = owner->member;
    CHECK(zkli_member_may_idle(m));
    CHECK_INT(m->watches, 2);
    CHECK(m->watchers[ZKLI_WATCHED_CHILDREN].watch != NULL);
    tell_watch("/locks/a", ZKLI_WATCH_CHANGED); /* of the data, which nobody watches */
    CHECK_INT(owner->notices & TOLD(WANTED), 0);
    tell_watch("/locks/a", ZKLI_WATCH_CHILDREN);
    CHECK((owner->notices & TOLD(WANTED)) != 0);
    CHECK(zkli_member_is_held(m) && !zkli_member_may_idle(m));
    end(owner);
}

/* Events of its node are its own doing then; that of the children is not. */
static void who_comes_while_it_turns_makes_it_wanted(void) {
    const struct zkli_wish wish = {
        .name = "a", .kind = ZKLI_KIND_WRITE, .may_be_kept = true, .thread = {7, 70}};
    bench_begin();
    struct owner *owner = begin_by(&wish);
    serve_all();
    CHECK_INT(owner->grants, 1);
    zkli_engine_enter(Bench.engine);
    zkli_member_turn(owner->member);
    settle();
    CHECK(zkli_member_is_turning(owner->member));
    tell_watch("/locks/a", ZKLI_WATCH_CHILDREN);
    CHECK((owner->notices & TOLD(WANTED)) != 0);
    answer_next(MULTI, ZKLI_RESULT_DENIED);
    end(owner);
}

static void without_a_connection_or_a_lease_it_may_not_idle(void) {
    struct owner *owner = begin_kept_and_held();
    tell_state(ZKLI_PORT_CONNECTING);
    CHECK(zkli_member_is_held(owner->member) && !zkli_member_may_idle(owner->member));
    bench_connect();
    CHECK((owner->notices & TOLD(WANTED)) != 0);
    CHECK(!zkli_member_may_idle(owner->member));
    end(owner);
}

/* It is nobody's, and its node is watched, so that its owner can be asked. */
static void idle_it_belongs_to_no_thread(void) {
    struct owner *owner = begin_kept_and_held();
    CHECK(zkli_engine_held_by(Bench.engine, "a", 7) == owner->member);
    const size_t reads = Bench.sent[GET];
    idle(owner);
    CHECK_INT(Bench.sent[GET], reads + 1);
    CHECK(zkli_engine_held_by(Bench.engine, "a", 7) == NULL);
    serve_all();
    for (int is_asked = 0; is_asked <= 1; is_asked++) {
        tell_watch(path_of(owner), ZKLI_WATCH_CHANGED);
        struct request read = serve_until(GET);
        CHECK(read.is_watched);
        const char *data = is_asked != 0 ? "zklock1 ask=1 pid=1" : "zklock1 ask=0 pid=1";
        struct zkli_reply reply = {
            .data = data, .data_length = strlen(data), .stat = {.owner = Bench.engine->session_id}};
        tell_reply(read.slot, &reply);
        CHECK(((owner->notices & TOLD(WANTED)) != 0) == (is_asked != 0));
    }
    end(owner);
}

static struct request begin_try_before(const char *node) {
    struct owner *owner = NULL;
    bench_begin();
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    (void)tiny_add(&Bench.server, node, 99);
    REQUIRE(enter_queue("a", true, &owner) == ZKL_OK);
    struct request read = serve_until(GET);
    CHECK_STRING(read.path, node);
    CHECK(!read.is_watched);
    CHECK_INT(Bench.engine->standing, 0); /* it has no node, and makes none */
    return read;
}

static void reply_with(const struct request *read, const char *data, int32_t version) {
    struct zkli_reply reply = {
        .data = data, .data_length = strlen(data), .stat = {.owner = 99, .version = version}};
    tell_reply(read->slot, &reply);
}

static void check_busy(void) {
    const struct owner *owner = &Bench.owners[0];
    CHECK((owner->notices & TOLD(FAILED)) != 0);
    CHECK_INT(owner->error, ZKL_BUSY);
    end(NULL);
}

/* Its line keeps what else it says; a set that comes too late is made anew. */
static void a_try_marks_the_node_of_another(void) {
    struct request read = begin_try_before(KEPT_NODE);
    reply_with(&read, "zklock1 later=7 pid=3 host=h", 4);
    struct request set = serve_until(MULTI);
    CHECK_INT(set.op_count, 1);
    CHECK_INT(set.ops[0].type, ZKLI_OP_SET);
    CHECK_INT(set.ops[0].version, 4);
    CHECK_STRING(set.ops[0].path, KEPT_NODE);
    set.data[set.length] = '\0';
    CHECK_STRING(set.data, "zklock1 ask=1 later=7 pid=3 host=h");
    answer(&set, ZKLI_RESULT_BAD_VERSION);
    read = serve_until(GET);
    reply_with(&read, "zklock1 since=5", 6);
    set = serve_until(MULTI);
    CHECK_INT(set.ops[0].version, 6);
    answer(&set, ZKLI_RESULT_OK);
    check_busy();
}

static void a_node_that_says_nothing_of_ours_is_left_alone(void) {
    struct request read = begin_try_before(KEPT_NODE);
    const size_t sets = Bench.sent[MULTI];
    reply_with(&read, "of another library", 4);
    CHECK_INT(Bench.sent[MULTI], sets);
    check_busy();
}

/* Each write would wake its owner, and whoever waits behind. */
static void a_node_whose_owner_is_asked_is_not_asked_again(void) {
    struct request read = begin_try_before(KEPT_NODE);
    const size_t sets = Bench.sent[MULTI];
    reply_with(&read, "zklock1 ask=1 pid=3 host=h", 5);
    CHECK_INT(Bench.sent[MULTI], sets);
    check_busy();
}

static void a_mark_that_cannot_be_made_is_not_made(void) {
    for (enum zkli_result result = ZKLI_RESULT_NO_NODE; result < ZKLI_RESULT_BAD_VERSION;
         result++) {
        struct request read = begin_try_before(KEPT_NODE);
        answer(&read, result);
        check_busy();
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"who comes makes it wanted", who_comes_makes_it_wanted},
        {"who comes while it turns makes it wanted", who_comes_while_it_turns_makes_it_wanted},
        {"without a connection or a lease it may not idle",
         without_a_connection_or_a_lease_it_may_not_idle},
        {"idle, it belongs to no thread", idle_it_belongs_to_no_thread},
        {"a try marks the node of another", a_try_marks_the_node_of_another},
        {"a node that says nothing of ours is left alone",
         a_node_that_says_nothing_of_ours_is_left_alone},
        {"a node whose owner is asked is not asked again",
         a_node_whose_owner_is_asked_is_not_asked_again},
        {"a mark that cannot be made is not made", a_mark_that_cannot_be_made_is_not_made},
    };
    return TEST_MAIN(argc, argv, "engine_linger", cases);
}
