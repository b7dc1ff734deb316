/*
 * Nodes of ours that nobody knows: a create whose connection broke is carried out by the server
 * after all that was asked for over the next connection, the search for its node among that.
 */
#include "unit/engine_bench.h"

#define T (T_MS * MS)

/* The next create is under way as its connection breaks; then there is another. */
static struct request lose_create(struct bench *b) {
    struct request create = {0};
    size_t before = b->request_count;
    while (before > 0 && b->requests[before - 1].kind != CREATE)
        before--;
    REQUIRE(before > 0);
    create = b->requests[before - 1];
    cut(b, before - 1);
    connect(b);
    return create;
}

/* Only now does the server do it, and there is nobody to answer. */
static void carry_out(struct bench *b, const struct request *create) {
    CHECK_INT(serve(b, create).result, ZKLI_RESULT_OK);
}

/* The owner of the node that was created once more, while it has the lock. */
static struct owner *hold_after_a_lost_create(struct bench *b, struct request *ret_create) {
    struct owner *owner = begin(b, "a");
    *ret_create = lose_create(b);
    serve_all(b);
    REQUIRE_INT(owner->grants, 1);
    return owner;
}

static void pass(struct bench *b, int64_t ns) {
    for (int64_t passed = 0; passed < ns; passed += 100 * MS) {
        serve_all(b);
        advance(b, 100 * MS);
    }
    serve_all(b);
}

static void ahead_of_ours_it_is_buried_at_once(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    release(b, hold(b, "a"));
    serve_all(b);
    struct owner *owner = begin(b, "a");
    struct request create = lose_create(b);
    const size_t creates = b->sent[CREATE];
    while (b->sent[CREATE] == creates)
        serve_next(b);
    carry_out(b, &create);
    pass(b, 100 * MS);
    CHECK_INT(owner->grants, 1);
    CHECK_INT(count_children(&b->server, "/locks/a"), 1);
    release(b, owner);
    serve_all(b);
    CHECK_INT(count_children(&b->server, "/locks/a"), 0);
    bench_end(b);
}

static void behind_ours_it_is_buried_within_the_timeout(void) {
    struct bench *b = &Bench;
    struct request create;
    bench_begin(b);
    struct owner *owner = hold_after_a_lost_create(b, &create);
    carry_out(b, &create);
    release(b, owner);
    pass(b, T - 100 * MS);
    CHECK_INT(count_children(&b->server, "/locks/a"), 1);
    pass(b, 200 * MS);
    CHECK_INT(count_children(&b->server, "/locks/a"), 0);
    bench_end(b);
}

static void it_is_buried_though_the_wait_was_given_up(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    release(b, hold(b, "a"));
    serve_all(b);
    struct owner *owner = begin(b, "a");
    struct request create = lose_create(b);
    abandon(b, owner);
    serve_all(b);
    CHECK(owner->member == NULL);
    carry_out(b, &create);
    pass(b, T + 100 * MS);
    CHECK_INT(count_children(&b->server, "/locks/a"), 0);
    bench_end(b);
}

/* The server may have read it just before it was connected to again. */
static void it_is_buried_after_an_outage_of_any_length(void) {
    struct bench *b = &Bench;
    struct request create;
    bench_begin(b);
    release(b, hold_after_a_lost_create(b, &create));
    serve_all(b);
    cut(b, 0);
    pass(b, 3 * T + T / 2);
    connect(b);
    pass(b, T - 200 * MS);
    carry_out(b, &create);
    pass(b, 100 * MS);
    CHECK_INT(count_children(&b->server, "/locks/a"), 1);
    pass(b, 200 * MS);
    CHECK_INT(count_children(&b->server, "/locks/a"), 0);
    bench_end(b);
}

static void it_is_buried_though_no_connection_lasts(void) {
    struct bench *b = &Bench;
    struct request create;
    bench_begin(b);
    release(b, hold_after_a_lost_create(b, &create));
    serve_all(b);
    carry_out(b, &create);
    for (int i = 0; i < 4; i++) {
        pass(b, T / 2);
        cut(b, 0);
        connect(b);
    }
    CHECK_INT(count_children(&b->server, "/locks/a"), 0);
    bench_end(b);
}

/* A node that bears our session's tag, of that owner. Static. */
static const char *plant_with_our_tag(struct bench *b, int64_t owner) {
    static char path[ZKLI_PATH_MAX];
    (void)snprintf(path, sizeof(path), "/locks/a/_c_%.13s-0000-0000-000000000000-lock-0000000900",
                   b->engine->tag);
    (void)add_node(&b->server, path, owner);
    return path;
}

/* Any client can read a tag in the queue and make a node with it; and two tags may be the same. */
static void another_session_s_node_with_our_tag_is_left_alone(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *holder = hold(b, "a");
    const char *path = plant_with_our_tag(b, 0x2002);
    size_t gets = b->sent[GET];
    struct owner *waiter = begin(b, "a");
    come_to_rest(b);
    CHECK(find_node(&b->server, path) != NULL);
    CHECK_INT(b->sent[REMOVE], 0);
    CHECK_INT(b->sent[GET] - gets, 4); /* of that node one, for the one listing that showed it */
    CHECK_INT(b->engine->node_bytes, 2 * zkli_path_bytes(b->engine, strlen(path_of(holder))));
    CHECK(strstr(b->last_line, "burying") == NULL);
    release(b, holder);
    come_to_rest(b);
    CHECK_INT(waiter->grants, 1);
    release(b, waiter);
    come_to_rest(b);
    CHECK_INT(b->sent[REMOVE], 2);
    CHECK(find_node(&b->server, path) != NULL);
    CHECK(zkli_list_is_empty(&b->engine->members));
    bench_end(b);
}

/* Until the server has said whose the node is, it counts as another session's. */
static void a_try_behind_another_session_s_node_with_our_tag_is_busy(void) {
    struct bench *b = &Bench;
    struct owner *tries[2] = {NULL, NULL};
    bench_begin(b);
    release(b, hold(b, "a"));
    come_to_rest(b);
    const char *path = plant_with_our_tag(b, 0x2002);
    for (size_t i = 0; i < COUNT(tries); i++)
        CHECK_INT(enter_queue(b, "a", true, &tries[i]), ZKL_OK);
    const size_t gets = b->sent[GET];
    for (size_t i = 0; i < COUNT(tries); i++) { /* the first finds the node, and has it read */
        struct request list = serve_until(b, LIST);
        struct zkli_reply reply = serve(b, &list);
        tell_reply(b, list.slot, &reply);
        CHECK_INT(b->sent[GET], gets + 1);
        CHECK_INT(tries[i]->error, ZKL_BUSY);
    }
    come_to_rest(b);
    CHECK(find_node(&b->server, path) != NULL);
    bench_end(b);
}

/* Serves what was asked before this. */
static struct request serve_until_asked(struct bench *b, enum kind kind, const char *path) {
    while (b->request_count > 0 &&
           (b->requests[0].kind != kind || strcmp(b->requests[0].path, path) != 0))
        serve_next(b);
    REQUIRE(b->request_count > 0);
    return b->requests[0];
}

/* The read, and then the delete, under way as the connection breaks; or refused. */
static void what_is_lost_of_a_burial_is_made_up_for(void) {
    static const enum kind kinds[] = {GET, REMOVE};
    for (size_t i = 0; i < 2 * COUNT(kinds); i++) {
        struct bench *b = &Bench;
        bench_begin(b);
        struct owner *holder = hold(b, "a");
        const char *path = plant_with_our_tag(b, b->last_session);
        (void)begin(b, "a");
        struct request request = serve_until_asked(b, kinds[i / 2], path);
        if (i % 2 == 0) {
            (void)take(b, 0);
            answer(b, &request, ZKLI_RESULT_AGAIN);
        } else {
            cut(b, 0);
            connect(b);
        }
        come_to_rest(b);
        CHECK(find_node(&b->server, path) == NULL);
        CHECK(zkli_member_is_held(holder->member));
        bench_end(b);
    }
}

/* Nobody looks for it any more; but whoever of ours stands behind it sees it. */
static void later_than_that_it_is_buried_by_who_stands_behind_it(void) {
    struct bench *b = &Bench;
    struct request create;
    bench_begin(b);
    release(b, hold_after_a_lost_create(b, &create));
    pass(b, 2 * T);
    carry_out(b, &create);
    struct owner *owner = begin(b, "a");
    pass(b, 100 * MS);
    CHECK_INT(owner->grants, 1);
    CHECK_INT(count_children(&b->server, "/locks/a"), 1);
    release(b, owner);
    serve_all(b);
    bench_end(b);
}

/* An orphan, which nobody looks for any more, and somebody else's node behind it. */
static struct node *plant_orphan_and_another(struct bench *b) {
    struct request create;
    struct node *other = NULL;
    bench_begin(b);
    release(b, hold_after_a_lost_create(b, &create));
    pass(b, 2 * T);
    carry_out(b, &create);
    CHECK_INT(
        make_node(&b->server, "/locks/a/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-", 99, &other),
        ZKLI_RESULT_OK);
    CHECK_INT(count_children(&b->server, "/locks/a"), 2);
    return other;
}

static void it_is_also_buried_by_who_stands_behind_somebody_else(void) {
    struct bench *b = &Bench;
    struct node *other = plant_orphan_and_another(b);
    struct owner *owner = begin(b, "a");
    pass(b, 100 * MS);
    CHECK_INT(owner->grants, 0);
    CHECK_INT(count_children(&b->server, "/locks/a"), 2);
    delete_node(b, other->path);
    pass(b, 100 * MS);
    CHECK_INT(owner->grants, 1);
    release(b, owner);
    serve_all(b);
    CHECK_INT(count_children(&b->server, "/locks/a"), 0);
    bench_end(b);
}

static void it_is_buried_by_a_try(void) {
    struct bench *b = &Bench;
    struct owner *owner = NULL;
    struct node *other = plant_orphan_and_another(b);
    CHECK_INT(enter_queue(b, "a", true, &owner), ZKL_OK);
    pass(b, 100 * MS);
    CHECK_INT(owner->error, ZKL_BUSY);
    CHECK_INT(count_children(&b->server, "/locks/a"), 1);
    delete_node(b, other->path);
    CHECK_INT(enter_queue(b, "a", true, &owner), ZKL_OK);
    pass(b, 100 * MS);
    CHECK_INT(owner->grants, 1);
    bench_end(b);
}

/* Through all of it, with others of ours behind it, and with the search that finds the orphan. */
static void a_hold_is_not_an_orphan(void) {
    struct bench *b = &Bench;
    struct request create;
    struct owner *waiters[3];
    bench_begin(b);
    struct owner *owner = hold_after_a_lost_create(b, &create);
    char path[ZKLI_PATH_MAX];
    memcpy(path, path_of(owner), sizeof(path));
    for (size_t i = 0; i < COUNT(waiters); i++) {
        waiters[i] = begin(b, "a");
        pass(b, T / 4);
    }
    carry_out(b, &create);
    cut(b, 0);
    connect(b);
    pass(b, 2 * T);
    CHECK(zkli_member_is_held(owner->member) && find_node(&b->server, path) != NULL);
    CHECK_INT(count_children(&b->server, "/locks/a"), 1 + COUNT(waiters));
    release(b, owner);
    for (size_t i = 0; i < COUNT(waiters); i++) {
        pass(b, 100 * MS);
        CHECK_INT(waiters[i]->grants, 1);
        release(b, waiters[i]);
    }
    serve_all(b);
    CHECK_INT(count_children(&b->server, "/locks/a"), 0);
    bench_end(b);
}

/* Who may not list cannot look, and a session that is otherwise silent looks like any other. */
static void a_visit_ends_when_it_is_refused_and_is_made_without_heartbeats(void) {
    struct bench *b = &Bench;
    struct request create;
    bench_start(b, "/locks", true);
    connect(b);
    serve_all(b);
    for (int is_denied = 0; is_denied < 2; is_denied++) {
        release(b, hold_after_a_lost_create(b, &create));
        serve_all(b);
        b->sent[LIST] = 0;
        while (b->sent[LIST] == 0) {
            serve_all(b);
            advance(b, 100 * MS);
        }
        CHECK(b->engine->heartbeat.is_set || zkli_heartbeat_is_in_flight(b->engine));
        if (is_denied)
            answer_next(b, LIST, ZKLI_RESULT_DENIED);
        serve_all(b);
        CHECK(zkli_list_is_empty(&b->engine->members));
        CHECK_INT(b->lines[ZKL_LOG_ERROR], is_denied);
    }
    bench_end(b);
}

/* Other than heartbeats. */
static size_t requests_in(struct bench *b, int64_t ns) {
    const size_t writes = b->sent[CREATE] + b->sent[PARENT] + b->sent[REMOVE];
    const size_t reads = b->sent[LIST] + b->sent[GET];
    pass(b, ns);
    CHECK_INT(b->sent[CREATE] + b->sent[PARENT] + b->sent[REMOVE], writes);
    return b->sent[LIST] + b->sent[GET] - reads;
}

static void it_costs_one_listing_for_each_directory(void) {
    struct bench *b = &Bench;
    struct owner *owners[10];
    bench_begin(b);
    for (size_t i = 0; i < COUNT(owners); i++)
        owners[i] = begin(b, i % 2 == 0 ? "a" : "b");
    cut(b, 0);
    connect(b);
    serve_all(b);
    for (size_t i = 0; i < COUNT(owners); i++) {
        serve_all(b);
        release(b, owners[i]);
    }
    serve_all(b);
    CHECK_INT(requests_in(b, T + 100 * MS), 2);
    CHECK_INT(requests_in(b, 3 * T), 0);
    for (size_t i = 0; i < ZKLI_BUCKETS; i++)
        CHECK(zkli_list_is_empty(&b->engine->dirs[i]));
    bench_end(b);
}

static void a_session_s_end_is_the_end_of_its_orphans(void) {
    struct bench *b = &Bench;
    struct request create;
    bench_begin(b);
    char tag[ZKLI_TAG_LENGTH + 1];
    release(b, hold_after_a_lost_create(b, &create));
    serve_all(b);
    memcpy(tag, b->engine->tag, sizeof(tag));
    expire(b);
    connect(b);
    CHECK(strcmp(tag, b->engine->tag) != 0); /* what is left of it is not looked for */
    CHECK_INT(requests_in(b, 3 * T), 0);
    for (size_t i = 0; i < ZKLI_BUCKETS; i++)
        CHECK(zkli_list_is_empty(&b->engine->dirs[i]));
    bench_end(b);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"ahead of ours it is buried at once", ahead_of_ours_it_is_buried_at_once},
        {"behind ours it is buried within the timeout",
         behind_ours_it_is_buried_within_the_timeout},
        {"it is buried though the wait was given up", it_is_buried_though_the_wait_was_given_up},
        {"it is buried after an outage of any length", it_is_buried_after_an_outage_of_any_length},
        {"it is buried though no connection lasts", it_is_buried_though_no_connection_lasts},
        {"another session's node with our tag is left alone",
         another_session_s_node_with_our_tag_is_left_alone},
        {"a try behind another session's node with our tag is busy",
         a_try_behind_another_session_s_node_with_our_tag_is_busy},
        {"what is lost of a burial is made up for", what_is_lost_of_a_burial_is_made_up_for},
        {"later than that it is buried by who stands behind it",
         later_than_that_it_is_buried_by_who_stands_behind_it},
        {"it is also buried by who stands behind somebody else",
         it_is_also_buried_by_who_stands_behind_somebody_else},
        {"it is buried by a try", it_is_buried_by_a_try},
        {"a hold is not an orphan", a_hold_is_not_an_orphan},
        {"a visit ends when it is refused, and is made without heartbeats",
         a_visit_ends_when_it_is_refused_and_is_made_without_heartbeats},
        {"it costs one listing for each directory", it_costs_one_listing_for_each_directory},
        {"a session's end is the end of its orphans", a_session_s_end_is_the_end_of_its_orphans},
    };
    return TEST_MAIN(argc, argv, "engine_orphans", cases);
}
