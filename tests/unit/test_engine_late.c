/*
 * Events of an earlier session's port, watch events without a path, and what a read of the
 * predecessor says at once of a neighbour's hold.
 */
#include "unit/engine_bench.h"

static void an_earlier_port_s_events_are_nothing(void) {
    bench_begin();
    hold("a");
    struct zkli_port *earlier = zkli_engine_port(Bench.engine);
    expire();
    bench_connect();
    serve_all();
    struct owner *holder = hold("a");
    struct owner *waiter = begin("b");
    zkli_engine_enter(Bench.engine);
    zkli_engine_on_watch(Bench.engine, earlier, path_of(holder), ZKLI_WATCH_DELETED);
    zkli_engine_on_watch(Bench.engine, earlier, NULL, ZKLI_WATCH_CHANGED);
    struct zkli_reply reply = {.result = ZKLI_RESULT_DENIED, .data = ""};
    zkli_engine_on_reply(Bench.engine, earlier, Bench.requests[0].slot, &reply);
    zkli_engine_on_state(Bench.engine, earlier, ZKLI_PORT_EXPIRED);
    zkli_engine_on_open_failed(Bench.engine, earlier);
    settle();
    CHECK(zkli_member_is_held(holder->member));
    CHECK(zkli_engine_is_connected(Bench.engine));
    CHECK_INT(waiter->error, 0);
    serve_all();
    CHECK_INT(waiter->grants, 1);
    bench_end();
}

/* The watch was another session's node's that was deleted, and the event lost its path. */
static void after_an_event_without_a_path_all_that_is_watched_is_read_again(void) {
    for (enum zkli_watch_type type = ZKLI_WATCH_DELETED; type <= ZKLI_WATCH_CHANGED; type++) {
        static const char head[] = "/locks/b/x-lock-0000000000";
        bench_begin();
        struct owner *holder = hold("a");
        (void)tiny_add(&Bench.server, "/locks/b", 0);
        (void)tiny_add(&Bench.server, head, 0x2002);
        struct owner *waiter = begin("b");
        advance(T_MS / 10 * MS); /* the holder's watch is set */
        serve_all();
        (void)tiny_remove(&Bench.server, head);
        tell_watch(NULL, type);
        CHECK(zkli_member_is_held(holder->member));
        serve_all();
        CHECK_INT(waiter->grants, 1);
        CHECK(zkli_member_is_held(holder->member));
        bench_end();
    }
}

/* Before any listing says so, and before the one behind it is granted. */
static void a_predecessor_that_is_missing_ends_its_hold_at_once(void) {
    for (unsigned way = 0; way < 2; way++) {
        bench_begin();
        struct owner *holder = hold("a"), *waiter = begin("a");
        struct request read = serve_until(GET);
        if (strcmp(read.path, path_of(holder)) != 0) {
            serve_request(&read);
            read = serve_until(GET);
        }
        answer(&read, way == 0 ? ZKLI_RESULT_NO_NODE : ZKLI_RESULT_AGAIN);
        CHECK(((holder->notices & TOLD(LOST)) != 0) == (way == 0));
        if (way == 0)
            (void)tiny_remove(&Bench.server, read.path);
        come_to_rest();
        CHECK_INT(waiter->grants, way == 0);
        bench_end();
    }
}

/* Its own node, which is missing, is no other member's. */
static void a_waiter_s_own_missing_node_ends_no_hold(void) {
    bench_begin();
    struct owner *holder = hold("a"), *waiter = begin("a");
    struct request read = serve_until(GET);
    while (strcmp(read.path, path_of(waiter)) != 0) {
        serve_request(&read);
        read = serve_until(GET);
    }
    (void)tiny_remove(&Bench.server, read.path);
    answer(&read, ZKLI_RESULT_NO_NODE);
    CHECK_INT(holder->notices & TOLD(LOST), 0);
    come_to_rest();
    CHECK((waiter->notices & TOLD(REQUEUED)) != 0);
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"an earlier port's events are nothing", an_earlier_port_s_events_are_nothing},
        {"after an event without a path all that is watched is read again",
         after_an_event_without_a_path_all_that_is_watched_is_read_again},
        {"a predecessor that is missing ends its hold at once",
         a_predecessor_that_is_missing_ends_its_hold_at_once},
        {"a waiter's own missing node ends no hold", a_waiter_s_own_missing_node_ends_no_hold},
    };
    return TEST_MAIN(argc, argv, "engine_late", cases);
}
