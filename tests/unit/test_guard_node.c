/*
 * Writes under the node of another process's hold, over a client library whose answers the tests
 * give: what each answer comes to, and what is asked again.
 */
#include "unit/fake_zoo.h"

#include "lock/lock.h"
#include "support/actor.h"

#define NODE "/locks/a/_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-lock-0000000000"
#define OTHER "/locks/b/_c_7ba7b810-9dad-11d1-80b4-00c04fd430c8-lock-0000000000"
#define UNIMPLEMENTED (-6)
/* As LOOKS_MAX. */
#define LOOKS 64

static struct {
    zkl_session *session;
    zkl_lock *lock; /* of no meaning here */
    actor *actor;
} World;

static zkl_err set(void *arg) {
    static const char *const nodes[] = {NODE, OTHER};
    const int *version = arg;
    return zkl_guarded_set_by_node(World.session, &ZKL_GUARD(.nodes = nodes, .count = 2), "/data",
                                   "x", 1, *version, ZKL_FOREVER, NULL);
}

/* Two contenders, of which the call hears, and transactions that wait for the test. */
static void begin(void) {
    World.session = fake_session(HOSTS, NULL);
    World.lock = fake_lock(World.session, "z");
    World.actor = actor_new();
    fake_plant("/locks");
    fake_plant("/locks/a");
    fake_plant("/locks/b");
    fake_plant(NODE);
    fake_plant(OTHER);
    fake_keep(MULTI, true);
}

static void end(void) {
    fake_keep(MULTI, false);
    actor_free(World.actor);
    fake_end(World.session, World.lock);
}

static void begin_set(int *version) {
    actor_begin(World.actor, set, version);
}

static struct call take(void) {
    WAIT_UNTIL(fake_has(MULTI), SOON_MS);
    const struct call call = fake_take();
    REQUIRE_INT(call.kind, MULTI);
    REQUIRE_INT(call.op_count, 3);
    return call;
}

static void both_nodes_are_checked_with_the_versions_read(void) {
    int version = 7;
    begin();
    fake_set(OTHER, "zklock1 t=1000");
    fake_set(OTHER, "zklock1 ask=1 t=1000");
    begin_set(&version);
    const struct call call = take();
    CHECK_INT(call.ops[0].type, ZOO_CHECK_OP);
    CHECK_STRING(call.ops[0].check_op.path, NODE);
    CHECK_INT(call.ops[0].check_op.version, 0);
    CHECK_STRING(call.ops[1].check_op.path, OTHER);
    CHECK_INT(call.ops[1].check_op.version, 2);
    CHECK_INT(call.ops[2].type, ZOO_SETDATA_OP);
    CHECK_INT(call.ops[2].set_op.version, 7);
    fake_answer_multi(&call, -1, ZOK);
    CHECK_INT(actor_result(World.actor, SOON_MS), ZKL_OK);
    CHECK_INT(fake_served(GET), 2);
    end();
}

static void each_answer_comes_to_its_error(void) {
    static const struct {
        int refused, code;
        zkl_err err;
    } cases[] = {
        {0, ZNONODE, ZKL_LOST},
        {1, ZNONODE, ZKL_LOST},
        {0, ZNOAUTH, ZKL_DENIED},
        {1, UNIMPLEMENTED, ZKL_SERVER},
        {2, ZNONODE, ZKL_NO_NODE},
        {2, ZBADVERSION, ZKL_BAD_VERSION},
        {2, ZNODEEXISTS, ZKL_BAD_VERSION},
        {2, ZNOAUTH, ZKL_DENIED},
        {2, UNIMPLEMENTED, ZKL_SERVER},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int version = cases[i].code == ZNODEEXISTS ? ZKL_ABSENT : -1;
        begin();
        begin_set(&version);
        const struct call call = take();
        fake_answer_multi(&call, cases[i].refused, cases[i].code);
        CHECK_INT(actor_result(World.actor, SOON_MS), cases[i].err);
        CHECK_INT(fake_served(GET), 2);
        end();
    }
}

static void what_is_lost_is_unsure_and_what_was_put_off_is_sent_again(void) {
    int version = -1;
    begin();
    begin_set(&version);
    struct call call = take();
    call.done.plain(ZTHROTTLEDOP, call.data);
    call = take();
    call.done.plain(ZCONNECTIONLOSS, call.data);
    CHECK_INT(actor_result(World.actor, SOON_MS), ZKL_UNSURE);
    end();
}

static void reads_are_tried_again(void) {
    static const int codes[] = {ZCONNECTIONLOSS, ZTHROTTLEDOP};
    for (size_t i = 0; i < COUNT(codes); i++) {
        int version = -1;
        begin();
        fake_answer(GET, codes[i], 1);
        begin_set(&version);
        const struct call call = take();
        fake_answer_multi(&call, -1, ZOK);
        CHECK_INT(actor_result(World.actor, SOON_MS), ZKL_OK);
        CHECK_INT(fake_served(GET), 3);
        end();
    }
}

/* It is behind: the node was made a moment ago. */
static void a_node_that_the_server_does_not_know_yet_is_asked_of_the_leader(void) {
    int version = -1;
    begin();
    fake_answer(GET, ZNONODE, 1);
    begin_set(&version);
    const struct call call = take();
    fake_answer_multi(&call, -1, ZOK);
    CHECK_INT(actor_result(World.actor, SOON_MS), ZKL_OK);
    CHECK_INT(fake_served(GET), 3);
    fake_answer(GET, ZNONODE, 1);
    fake_answer(BARRIER, ZNONODE, 1);
    begin_set(&version);
    CHECK_INT(actor_result(World.actor, SOON_MS), ZKL_LOST);
    CHECK_INT(fake_served(GET), 4);
    end();
}

static void a_node_that_never_rests_is_given_up(void) {
    int version = -1;
    begin();
    begin_set(&version);
    for (int i = 0; i <= LOOKS; i++) {
        const struct call call = take();
        CHECK_INT(call.ops[0].check_op.version, i);
        fake_set(NODE, "zklock1 t=1000");
        fake_answer_multi(&call, 0, ZBADVERSION);
    }
    CHECK_INT(actor_result(World.actor, SOON_MS), ZKL_SERVER);
    end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"both nodes are checked, with the versions read",
         both_nodes_are_checked_with_the_versions_read},
        {"each answer comes to its error", each_answer_comes_to_its_error},
        {"what is lost is unsure, and what was put off is sent again",
         what_is_lost_is_unsure_and_what_was_put_off_is_sent_again},
        {"reads are tried again", reads_are_tried_again},
        {"a node that the server does not know yet is asked of the leader",
         a_node_that_the_server_does_not_know_yet_is_asked_of_the_leader},
        {"a node that never rests is given up", a_node_that_never_rests_is_given_up},
    };
    return TEST_MAIN(argc, argv, "guard_node", cases);
}
