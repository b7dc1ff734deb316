/*
 * A session of the program's: when a hold begins in it, that no other follows it, and what is left
 * in it when the engine goes.
 */
#include "unit/engine_bench.h"

#define UNKNOWN (INT64_MIN / 2)

static size_t Unwatched;
static char LastUnwatched[ZKLI_PATH_MAX];

static void on_unwatch(struct zkli_port *port, const char *path, bool is_of_children) {
    CHECK(port == &Bench.ports[1].port);
    CHECK(!is_of_children);
    (void)snprintf(LastUnwatched, sizeof(LastUnwatched), "%s", path);
    Unwatched++;
}

/* An engine of the same host, and its port. */
static void begin_attached(int64_t born_ns) {
    static struct zkli_port_ops ops;
    bench_start("/locks", false);
    const struct zkli_host *host = Bench.engine->host;
    shut();
    zkli_engine_free(Bench.engine);
    Bench.engine = zkli_engine_new(&(struct zkli_engine_options){.host = host,
                                                                 .host_arg = &Bench,
                                                                 .root = "/locks",
                                                                 .is_attached = true,
                                                                 .born_ns = born_ns});
    REQUIRE(Bench.engine != NULL);
    zkli_engine_enter(Bench.engine);
    REQUIRE(zkli_engine_start(Bench.engine));
    settle();
    ops = *Bench.ports[1].port.ops;
    ops.unwatch = on_unwatch;
    ops.drop = NULL;
    Bench.ports[1].port.ops = &ops;
    Unwatched = 0;
    bench_connect();
}

static int64_t now(void) {
    return 1000 * T_MS * MS; /* where the bench's clock begins */
}

/* ---- The first hold ---- */

static void of_a_young_session_the_creation_makes_a_hold_certain(void) {
    begin_attached(now() - T_MS * MS / 8);
    serve_all();
    struct owner *owner = begin("a");
    serve_all();
    CHECK_INT(owner->grants, 1);
    const int64_t least_ns = now() + T_MS * MS - T_MS * MS / 8 - zkli_lease_margin_ns(T_MS * MS);
    CHECK(Bench.engine->lease.certain_until_ns == least_ns);
    release(owner);
    serve_all();
    bench_end();
}

/* The servers may have been about to end it: it takes a proof, and T after that. */
static void of_any_other_a_proof_does_and_a_timeout(void) {
    begin_attached(UNKNOWN);
    serve_all();
    struct owner *owner = begin("a");
    pass(T_MS * MS);
    CHECK_INT(owner->grants, 0);
    CHECK(!zkli_engine_is_certain(Bench.engine));
    pass(6 * T_MS * MS / 10);
    CHECK_INT(owner->grants, 1);
    release(owner);
    serve_all();
    pass(10 * T_MS * MS); /* it is kept, and so is its lease */
    CHECK_INT(Bench.port_count, 2);
    owner = begin("a");
    serve_all();
    CHECK_INT(owner->grants, 1);
    release(owner);
    serve_all();
    bench_end();
}

/* The watch by which the port hears has fired, and stands again: on the same connection, perhaps.
 * What another one would prove must not count. */
static void to_hear_again_proves_nothing(void) {
    begin_attached(now());
    struct owner *owner = hold("a");
    pass(T_MS * MS / 16); /* a heartbeat that is not proved yet */
    const int64_t certain_ns = Bench.engine->lease.certain_until_ns;
    CHECK(Bench.engine->lease.touched_ns > now());
    const uint64_t connection = Bench.engine->connection;
    tell_state(ZKLI_PORT_CONNECTING);
    tell_state(ZKLI_PORT_HEARD);
    CHECK(Bench.engine->lease.certain_until_ns == certain_ns);
    CHECK_INT(Bench.engine->lease.heartbeat_count, 0);
    CHECK(Bench.engine->connection == connection + 1);
    CHECK(!zkli_sight_is_clear(owner->member));
    CHECK_INT(zkli_engine_state(Bench.engine), ZKL_STATE_CONNECTED);
    CHECK_INT(Bench.events[ZKL_EVENT_RESUMED], 1);
    pass(3 * T_MS * MS);
    CHECK(zkli_member_is_held(owner->member));
    tell_state(ZKLI_PORT_CONNECTING);
    tell_state(ZKLI_PORT_CONNECTED); /* that is another one */
    CHECK(Bench.engine->lease.certain_until_ns ==
          Bench.engine->lease.touched_ns + T_MS * MS - zkli_lease_margin_ns(T_MS * MS));
    pass(3 * T_MS * MS);
    release(owner);
    serve_all();
    bench_end();
}

/* ---- Its end ---- */

static void no_other_follows_it(void) {
    begin_attached(now());
    struct owner *holder = hold("a"), *waiter = begin("a");
    struct asked asked;
    serve_all();
    cut(0);
    ask(&asked, ZKLI_QUERY_LIST);
    expire();
    CHECK_INT(zkli_engine_state(Bench.engine), ZKL_STATE_EXPIRED);
    CHECK_INT(zkli_engine_end_error(Bench.engine), ZKL_EXPIRED);
    CHECK((holder->notices & TOLD(LOST)) != 0);
    CHECK_INT(waiter->error, ZKL_EXPIRED);
    check_asked(&asked, 1, 0);
    CHECK(Bench.ports[1].is_closed);
    CHECK_INT(Bench.port_count, 2);
    struct owner *late;
    CHECK_INT(enter_queue("a", false, &late), ZKL_EXPIRED);
    advance(10 * T_MS * MS);
    CHECK_INT(Bench.port_count, 2);
    CHECK(!zkli_engine_leaves_nodes(Bench.engine));
    bench_end();
}

/* ---- What is left in it ---- */

static void it_is_left_without_a_node_and_without_a_watch(void) {
    begin_attached(now());
    (void)hold("b");
    plant_other();
    struct owner *waiter = begin("a");
    serve_all();
    CHECK_INT(waiter->member->core.state, ZKLI_WAITING);
    struct owner *holder = &Bench.owners[0];
    drain();
    CHECK((holder->notices & TOLD(LOST)) != 0);
    CHECK_INT(waiter->error, ZKL_CLOSED);
    CHECK_INT(zkli_engine_end_error(Bench.engine), ZKL_CLOSED);
    CHECK(!zkli_engine_is_drained(Bench.engine));
    CHECK(zkli_engine_leaves_nodes(Bench.engine));
    struct owner *late;
    CHECK_INT(enter_queue("c", false, &late), ZKL_CLOSED);
    serve_all();
    CHECK(zkli_engine_is_drained(Bench.engine));
    CHECK(!zkli_engine_leaves_nodes(Bench.engine));
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 1); /* another's */
    CHECK_INT(tiny_children(&Bench.server, "/locks/b"), 0);
    CHECK_INT(Unwatched, 0);
    bench_end();
    CHECK_INT(Unwatched, 1); /* those on our nodes have fired */
    CHECK_STRING(LastUnwatched, OTHER_NODE);
}

static void it_is_known_where_a_node_may_be_left(void) {
    begin_attached(now());
    (void)hold("a");
    tell_state(ZKLI_PORT_CONNECTING);
    drain();
    CHECK(zkli_engine_leaves_nodes(Bench.engine)); /* its delete could not be sent */
    bench_end();

    begin_attached(now());
    struct owner *owner = begin("a");
    answer_next(PARENT, ZKLI_RESULT_OK);
    answer_next(CREATE, ZKLI_RESULT_LOST); /* it may be carried out yet */
    serve_all();
    abandon(owner);
    serve_all();
    CHECK(owner->member == NULL);
    CHECK(zkli_engine_leaves_nodes(Bench.engine));
    bench_end();

    begin_attached(now());
    (void)hold("a");
    tell_state(ZKLI_PORT_AUTH_FAILED); /* for us it is over, and not for the servers */
    CHECK(zkli_engine_leaves_nodes(Bench.engine));
    bench_end();

    begin_attached(now());
    release(hold("a"));
    tell_state(ZKLI_PORT_AUTH_FAILED); /* its delete is under way */
    CHECK(zkli_engine_leaves_nodes(Bench.engine));
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"of a young session the creation makes a hold certain",
         of_a_young_session_the_creation_makes_a_hold_certain},
        {"of any other a proof does, and a timeout", of_any_other_a_proof_does_and_a_timeout},
        {"to hear again proves nothing", to_hear_again_proves_nothing},
        {"no other follows it", no_other_follows_it},
        {"it is left without a node and without a watch",
         it_is_left_without_a_node_and_without_a_watch},
        {"it is known where a node may be left", it_is_known_where_a_node_may_be_left},
    };
    return TEST_MAIN(argc, argv, "engine_attached", cases);
}
