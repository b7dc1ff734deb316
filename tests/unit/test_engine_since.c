/* Who has waited for its hold writes into its node when that began: what is sent, and when. */
#include "unit/engine_bench.h"

#include <inttypes.h>

#define PERIOD (T_MS * MS / 16)

/* Behind another client's node, which goes after this time. */
static struct owner *held_after(int64_t ns) {
    struct owner *owner = wait_behind_another();
    pass(ns);
    delete_node(OTHER_NODE);
    while (owner->grants == 0)
        serve_next();
    return owner;
}

/* All is served up to its read, which sets no watch; and that, up to the set. The read that sets the
 * watch again has been sent behind it. */
static struct request read_and_take(struct owner *owner) {
    bool is_read = false;
    while (!is_read) {
        if (Bench.request_count == 0)
            advance(PERIOD);
        struct request next = take(0);
        serve_request(&next);
        is_read = next.kind == GET && !next.is_watched && strcmp(next.path, path_of(owner)) == 0;
    }
    struct request set = serve_until(MULTI);
    REQUIRE(Bench.request_count > 0);
    CHECK(Bench.requests[0].kind == GET && Bench.requests[0].is_watched);
    return set;
}

static struct request beat_and_take(struct owner *owner) {
    advance(PERIOD);
    return read_and_take(owner);
}

/* What the line says behind the time. */
static void check_set(const struct request *set, int32_t version, int64_t waited_ms,
                      const char *rest) {
    char expected[ZKLI_NODE_DATA_MAX + 1], data[ZKLI_NODE_DATA_MAX + 1];
    (void)snprintf(expected, sizeof(expected), "zklock1 since=%" PRId64 " %s",
                   TINY_CTIME_MS + waited_ms, rest);
    REQUIRE(set->length < sizeof(data));
    memcpy(data, set->data, set->length);
    data[set->length] = '\0';
    CHECK_STRING(data, expected);
    CHECK_INT(set->op_count, 1);
    CHECK_INT(set->ops[0].type, ZKLI_OP_SET);
    CHECK_INT(set->ops[0].version, version);
}

static void end(struct owner *owner) {
    release(owner);
    come_to_rest();
    bench_end();
}

static void it_costs_a_read_a_write_and_a_watch(void) {
    struct owner *owner = held_after(3000 * MS);
    CHECK_INT(Bench.sent[MULTI], 0);
    const size_t gets = Bench.sent[GET];
    struct request set = beat_and_take(owner);
    check_set(&set, 0, 3000, "t=10000 tid=70");
    CHECK_INT(Bench.sent[GET], gets + 2);
    serve_request(&set);
    serve_all();
    CHECK_INT(Bench.sent[GET], gets + 2);
    CHECK(tiny_find(&Bench.server, path_of(owner))->is_watched);
    pass(T_MS * MS);
    CHECK_INT(Bench.sent[MULTI], 1);
    CHECK_INT(Bench.sent[GET], gets + 2);
    end(owner);
}

/* A second is short. */
static void a_short_wait_costs_nothing(void) {
    struct owner *owner = held_after(990 * MS);
    const size_t gets = Bench.sent[GET];
    pass(T_MS * MS);
    CHECK_INT(Bench.sent[MULTI], 0);
    CHECK_INT(Bench.sent[GET], gets);
    end(owner);
}

static void a_short_hold_costs_nothing(void) {
    struct owner *owner = held_after(3000 * MS);
    const size_t gets = Bench.sent[GET];
    end(owner);
    CHECK_INT(Bench.sent[MULTI], 0);
    CHECK_INT(Bench.sent[GET], gets);
}

static void what_others_have_said_stays(void) {
    struct owner *owner = held_after(2000 * MS);
    set_node(path_of(owner), "zklock1 ask=1 t=10000 new=field tid=70");
    serve_all(); /* it sees again */
    struct request set = beat_and_take(owner);
    check_set(&set, 1, 2000, "ask=1 t=10000 new=field tid=70");
    set_node(path_of(owner), "zklock1 t=10000 new=field tid=70"); /* and once more, meanwhile */
    serve_request(&set);
    set = read_and_take(owner);
    check_set(&set, 2, 2000, "t=10000 new=field tid=70");
    serve_request(&set);
    serve_all();
    CHECK_INT(Bench.sent[MULTI], 2);
    end(owner);
}

/* It is over, or the data are none of ours. */
static void what_is_broken_or_foreign_is_let_be(void) {
    static const char *const lines[] = {"zklock1 break=1 t=10000", "192.0.2.7", ""};
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct owner *owner = held_after(2000 * MS);
        struct node *node = tiny_find(&Bench.server, path_of(owner));
        tiny_set(node, lines[i], strlen(lines[i])); /* the watch's word is under way */
        advance(PERIOD);
        serve_all();
        CHECK_INT(Bench.sent[MULTI], 0);
        pass(T_MS * MS);
        CHECK_INT(Bench.sent[MULTI], 0);
        if (owner->member != NULL)
            release(owner);
        come_to_rest();
        bench_end();
    }
}

/* It may have been written; then that is not repeated. */
static void what_was_lost_is_told_behind_a_read(void) {
    for (int is_done = 0; is_done < 2; is_done++) {
        struct owner *owner = held_after(2000 * MS);
        struct request set = beat_and_take(owner);
        if (is_done == 1)
            (void)serve(&set);
        tell_reply(set.slot, &(struct zkli_reply){.result = ZKLI_RESULT_LOST});
        cut_and_connect(0);
        if (is_done == 0) {
            set = read_and_take(owner);
            check_set(&set, 0, 2000, "t=10000 tid=70");
            serve_request(&set);
        }
        serve_all();
        pass(T_MS * MS);
        CHECK_INT(Bench.sent[MULTI], 2 - (size_t)is_done);
        end(owner);
    }
}

/* While its node stands, the wait of who goes on by it counts from when that was made. */
static void a_node_made_anew_counts_anew(void) {
    struct owner *owner = wait_behind_another();
    pass(5000 * MS);
    delete_node(path_of(owner)); /* by a third party */
    serve_all();
    pass(2000 * MS);
    delete_node(OTHER_NODE);
    while (owner->grants == 0)
        serve_next();
    struct request set = beat_and_take(owner);
    check_set(&set, 0, 2000, "t=10000 tid=70");
    serve_request(&set);
    serve_all();
    end(owner);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"it costs a read, a write and a watch", it_costs_a_read_a_write_and_a_watch},
        {"a short wait costs nothing", a_short_wait_costs_nothing},
        {"a short hold costs nothing", a_short_hold_costs_nothing},
        {"what others have said stays", what_others_have_said_stays},
        {"what is broken or foreign is let be", what_is_broken_or_foreign_is_let_be},
        {"what was lost is told behind a read", what_was_lost_is_told_behind_a_read},
        {"a node made anew counts anew", a_node_made_anew_counts_anew},
    };
    return TEST_MAIN(argc, argv, "engine_since", cases);
}
