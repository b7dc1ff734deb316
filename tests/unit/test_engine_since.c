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

/* All is served up to its read, which sets no watch; and that, up to the set. The read that sets
 * the watch again has been sent behind it. */
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

static size_t blind_holds(void) {
    size_t count = 0;
    for (size_t i = 0; i < Bench.owner_count; i++)
        count += Bench.owners[i].member->blind_until_ns != ZKLI_NEVER;
    return count;
}

/* Each request takes the same time, in the order in which they were sent. Returns how many holds
 * were blind at a time, at the most. */
static size_t pass_slowly(int64_t ns, int64_t latency_ns) {
    static int64_t sent_ns[2 * ZKLI_SLOTS];
    size_t noted = 0, most = 0;
    for (int64_t end_ns = Bench.now_ns + ns; Bench.now_ns < end_ns; advance(10 * MS)) {
        for (;;) {
            for (; noted < Bench.request_count; noted++)
                sent_ns[noted] = Bench.now_ns;
            if (noted == 0 || Bench.now_ns - sent_ns[0] < latency_ns)
                break;
            memmove(sent_ns, sent_ns + 1, --noted * sizeof(sent_ns[0]));
            serve_next();
        }
        most = blind_holds() > most ? blind_holds() : most;
    }
    return most;
}

/* Who is granted more locks at once than requests are sent at a time: none is lost by it. */
static void hundreds_of_holds_are_not_blind_by_it(void) {
    enum {
        HOLDS = 300
    };
    bench_start("/locks", true);
    bench_connect();
    (void)tiny_add(&Bench.server, "/locks", 0);
    for (int i = 0; i < HOLDS; i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "/locks/m%03d", i);
        (void)tiny_add(&Bench.server, path, 0);
        (void)snprintf(path, sizeof(path), "/locks/m%03d/%s", i, strrchr(OTHER_NODE, '/') + 1);
        (void)tiny_add(&Bench.server, path, 99);
    }
    Bench.server.number = 1;
    for (int i = 0; i < HOLDS; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "m%03d", i);
        (void)begin(name);
    }
    pass(3000 * MS);
    for (int i = 0; i < HOLDS; i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "/locks/m%03d/%s", i, strrchr(OTHER_NODE, '/') + 1);
        delete_node(path);
    }
    CHECK_INT(pass_slowly(4 * T_MS * MS, 200 * MS), 0);
    size_t held = 0, told = 0;
    for (size_t i = 0; i < HOLDS; i++) {
        held += zkli_member_is_held(Bench.owners[i].member);
        told += tiny_find(&Bench.server, path_of(&Bench.owners[i]))->version > 0;
    }
    CHECK_INT(held, HOLDS);
    CHECK_INT(told, HOLDS);
    end_all();
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
        {"hundreds of holds are not blind by it", hundreds_of_holds_are_not_blind_by_it},
        {"a node made anew counts anew", a_node_made_anew_counts_anew},
    };
    return TEST_MAIN(argc, argv, "engine_since", cases);
}
