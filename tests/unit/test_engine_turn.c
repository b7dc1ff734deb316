/* A writer's hold that becomes a reader's: what is sent, and which news are its own doing. */
#include "unit/engine_bench.h"

static struct owner *Writer;

static void begin_writing(void) {
    bench_begin();
    Writer = begin_as("a", ZKLI_KIND_WRITE);
    serve_all();
    CHECK_INT(Writer->grants, 1);
}

static void turn(struct owner *owner) {
    zkli_engine_enter(Bench.engine);
    zkli_member_turn(owner->member);
    settle();
}

/* The server makes the transaction. Who watches the writer's node is told that it has changed. */
static void make_it(const struct request *request) {
    const struct node *writer = tiny_find(&Bench.server, request->ops[0].path);
    REQUIRE(writer != NULL);
    int64_t owner = writer->owner;
    bool is_watched = tiny_remove(&Bench.server, request->ops[0].path);
    (void)tiny_add(&Bench.server, request->ops[1].path, owner);
    if (is_watched)
        tell_watch(request->ops[0].path, ZKLI_WATCH_CHANGED);
}

static void end(void) {
    if (Writer->member != NULL && zkli_member_is_held(Writer->member))
        release(Writer);
    come_to_rest();
    bench_end();
}

static void check_reads(void) {
    CHECK((Writer->notices & TOLD(TURNED)) != 0);
    CHECK((Writer->notices & TOLD(LOST)) == 0);
    REQUIRE(Writer->member != NULL);
    CHECK(zkli_member_is_held(Writer->member));
    CHECK(strstr(path_of(Writer), "-__READ__") != NULL);
    CHECK(tiny_find(&Bench.server, path_of(Writer)) != NULL);
}

static void one_transaction_sets_creates_and_deletes(void) {
    char writer[ZKLI_PATH_MAX], expected[64];
    begin_writing();
    (void)snprintf(writer, sizeof(writer), "%s", path_of(Writer));
    const int64_t token = zkli_member_token(Writer->member);
    turn(Writer);
    CHECK(zkli_member_is_held(Writer->member));
    struct request request = serve_until(MULTI);
    CHECK_INT(request.op_count, 3);
    CHECK_INT(request.ops[0].type, ZKLI_OP_SET);
    CHECK_STRING(request.ops[0].path, writer);
    CHECK_INT(request.ops[0].version, -1);
    CHECK_INT(request.ops[1].type, ZKLI_OP_CREATE);
    CHECK_INT(request.ops[1].flags, ZKLI_CREATE_EPHEMERAL);
    CHECK(request.ops[1].has_our_acl);
    CHECK_INT(request.ops[2].type, ZKLI_OP_DELETE);
    CHECK_STRING(request.ops[2].path, writer);
    CHECK_INT(request.ops[2].version, -1);
    (void)snprintf(expected, sizeof(expected), "zklock1 t=%d tid=70 token=%lld", T_MS,
                   (long long)token);
    CHECK(request.length < sizeof(request.data));
    request.data[request.length] = '\0';
    CHECK_STRING(request.data, expected);
    make_it(&request);
    answer(&request, ZKLI_RESULT_OK);
    check_reads();
    CHECK_STRING(path_of(Writer), request.ops[1].path);
    CHECK_INT(zkli_member_token(Writer->member), token);
    CHECK_INT(zkli_member_error(Writer->member), ZKL_OK);
    end();
}

/* A node that may linger is watched for what it is asked. The event is its own doing. */
static void one_that_may_linger_hears_of_its_own_transaction(void) {
    const struct zkli_wish wish = {
        .name = "a", .kind = ZKLI_KIND_WRITE, .may_be_kept = true, .thread = {7, 70}};
    for (int is_late = 0; is_late < 2; is_late++) {
        bench_begin();
        Writer = begin_by(&wish);
        serve_all();
        advance(T_MS / 10 * MS);
        serve_all();
        CHECK_INT(Writer->member->core.own_watch, ZKLI_WATCHED);
        turn(Writer);
        struct request request = serve_until(MULTI);
        make_it(&request);
        if (is_late == 1)
            serve_all(); /* what the event brought about, before the answer */
        answer(&request, ZKLI_RESULT_OK);
        serve_all();
        check_reads();
        pass(T_MS / 2 * MS);
        check_reads();
        end();
    }
}

/* As where the server takes away the writer's node first. That it may not be read says nothing. */
static void a_heartbeat_that_is_refused_meanwhile_is_no_loss(void) {
    const struct zkli_wish wish = {
        .name = "a", .kind = ZKLI_KIND_WRITE, .may_be_kept = true, .thread = {7, 70}};
    bench_begin();
    Writer = begin_by(&wish);
    serve_all();
    pass(T_MS / 10 * MS);
    CHECK_INT(Writer->member->core.own_watch, ZKLI_WATCHED);
    while (!zkli_heartbeat_is_in_flight(Bench.engine))
        advance(MS);
    turn(Writer);
    const struct request beat = serve_until(BARRIER);
    answer(&beat, ZKLI_RESULT_DENIED);
    struct request request = serve_until(MULTI);
    make_it(&request);
    answer(&request, ZKLI_RESULT_OK);
    serve_all();
    check_reads();
    end();
}

/* The watch on the writer's node, the listings of others, a write that finds its guard gone: all
 * may see the transaction before its answer comes. */
static void what_its_own_transaction_has_done_is_no_loss(void) {
    for (int is_watched = 0; is_watched < 2; is_watched++) {
        begin_writing();
        if (is_watched == 1)
            pass(T_MS * MS / 8); /* the watch is set behind a heartbeat */
        turn(Writer);
        struct request request = serve_until(MULTI);
        make_it(&request);
        tell_watch(request.ops[0].path, ZKLI_WATCH_DELETED);
        zkli_engine_enter(Bench.engine);
        zkli_member_node_gone(Writer->member);
        settle();
        struct owner *other = begin_as("a", ZKLI_KIND_READ);
        serve_all();
        CHECK_INT(other->grants, 1);
        CHECK((Writer->notices & (TOLD(LOST) | TOLD(TURNED))) == 0);
        answer(&request, ZKLI_RESULT_OK);
        check_reads();
        pass(T_MS * MS / 8);
        delete_node(path_of(Writer)); /* its watch is set by then */
        CHECK((Writer->notices & TOLD(LOST)) != 0);
        release(other);
        end();
    }
}

static void a_listing_without_either_node_ends_the_hold(void) {
    begin_writing();
    turn(Writer);
    struct request request = serve_until(MULTI);
    delete_node(path_of(Writer));
    CHECK((Writer->notices & TOLD(LOST)) == 0);
    struct owner *other = begin_as("a", ZKLI_KIND_READ);
    serve_all();
    CHECK((Writer->notices & TOLD(LOST)) != 0);
    CHECK((Writer->notices & TOLD(TURNED)) == 0);
    answer(&request, ZKLI_RESULT_NO_NODE); /* nobody waits for it */
    CHECK_INT(other->grants, 1);
    release(other);
    end();
}

/* Whether it was made, or not, or made and the reader's node deleted since. */
static void a_lost_answer_is_looked_for(void) {
    enum {
        NOT_MADE,
        MADE,
        ALL_GONE
    };
    for (int what = NOT_MADE; what <= ALL_GONE; what++) {
        begin_writing();
        turn(Writer);
        struct request request = serve_until(MULTI);
        if (what != NOT_MADE)
            make_it(&request);
        if (what == ALL_GONE)
            (void)tiny_remove(&Bench.server, request.ops[1].path);
        tell_reply(request.slot, &(struct zkli_reply){.result = ZKLI_RESULT_LOST});
        cut_and_connect(0);
        if (what == NOT_MADE) {
            request = serve_until(MULTI); /* sent again, behind the listing */
            make_it(&request);
            answer(&request, ZKLI_RESULT_OK);
        }
        serve_all();
        if (what == ALL_GONE)
            CHECK((Writer->notices & TOLD(LOST)) != 0);
        else
            check_reads();
        end();
    }
}

static void a_release_meanwhile_leaves_neither_node(void) {
    for (int is_made = 0; is_made < 2; is_made++) {
        begin_writing();
        turn(Writer);
        struct request request = serve_until(MULTI);
        if (is_made == 1)
            make_it(&request);
        release(Writer);
        struct request remove = serve_until(REMOVE);
        CHECK_STRING(remove.path, request.ops[0].path); /* the writer's first */
        serve_request(&remove);
        remove = serve_until(REMOVE);
        CHECK_STRING(remove.path, request.ops[1].path);
        serve_request(&remove);
        answer(&request, ZKLI_RESULT_OK); /* nobody waits for it */
        CHECK(Writer->member == NULL);
        CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
        CHECK((Writer->notices & (TOLD(LOST) | TOLD(TURNED))) == 0);
        end();
    }
}

/* Serves all that is asked for until the transaction is; it is taken. */
static struct request await_transaction(void) {
    for (int i = 0; i < 300; i++) {
        while (Bench.request_count > 0) {
            struct request request = take(0);
            if (request.kind == MULTI)
                return request;
            serve_request(&request);
        }
        advance(5 * MS);
    }
    REQUIRE(false);
    return (struct request){.kind = MULTI};
}

/* Any client can make up a name. */
static void a_stranger_s_node_with_the_reader_s_name_is_not_taken_for_ours(void) {
    begin_writing();
    turn(Writer);
    struct request first = serve_until(MULTI);
    (void)tiny_add(&Bench.server, first.ops[1].path, 99);
    tell_reply(first.slot, &(struct zkli_reply){.result = ZKLI_RESULT_LOST});
    cut_and_connect(0);
    struct request second = await_transaction();
    answer(&second, ZKLI_RESULT_EXISTS);
    CHECK(strstr(path_of(Writer), "-__WRIT__") != NULL);
    CHECK_INT(zkli_member_error(Writer->member), ZKL_SERVER);
    release(Writer);
    serve_all();
    CHECK(tiny_find(&Bench.server, first.ops[0].path) == NULL);
    CHECK(tiny_find(&Bench.server, first.ops[1].path) != NULL);
    end();
}

/* Behind a lost answer, where only that one is there: its read says whose it is. */
static void a_hold_by_a_stranger_s_node_is_lost(void) {
    begin_writing();
    turn(Writer);
    struct request request = serve_until(MULTI);
    (void)tiny_remove(&Bench.server, request.ops[0].path);
    (void)tiny_add(&Bench.server, request.ops[1].path, 99);
    tell_reply(request.slot, &(struct zkli_reply){.result = ZKLI_RESULT_LOST});
    cut_and_connect(0);
    pass(T_MS * MS / 4);
    CHECK((Writer->notices & TOLD(LOST)) != 0);
    CHECK(tiny_find(&Bench.server, request.ops[1].path) != NULL);
    end();
}

/* A waiter of this session is woken by it, and the holder must know it before. */
static void the_end_of_the_reader_s_node_ends_the_hold_before_another_is_granted(void) {
    begin_writing();
    struct owner *next = begin_as("a", ZKLI_KIND_WRITE);
    serve_all();
    pass(T_MS * MS / 4);
    turn(Writer);
    struct request request = serve_until(MULTI);
    make_it(&request);
    tell_reply(request.slot, &(struct zkli_reply){.result = ZKLI_RESULT_LOST});
    cut_and_connect(0);
    tell_watch(request.ops[0].path, ZKLI_WATCH_DELETED); /* what is found behind a reconnect */
    for (int i = 0; i < 40 && Bench.request_count > 0; i++) {
        struct request one = take(0);
        if (one.kind == BARRIER && one.slot != ZKLI_SLOT_HEARTBEAT && i < 3)
            answer(&one, ZKLI_RESULT_AGAIN);
        else
            serve_request(&one);
    }
    CHECK_INT(Writer->member->core.state, ZKLI_TURNING);
    CHECK_INT(next->member->core.state, ZKLI_WAITING);
    delete_node(request.ops[1].path);
    CHECK((Writer->notices & TOLD(LOST)) != 0);
    serve_all(); /* its own watch is of the connection before */
    CHECK_INT(next->grants, 1);
    release(next);
    end();
}

/* The second transaction is refused; then the first, which was lost, is carried out. */
static void a_late_one_behind_a_refusal_leaves_no_node(void) {
    begin_writing();
    turn(Writer);
    struct request first = serve_until(MULTI);
    tell_reply(first.slot, &(struct zkli_reply){.result = ZKLI_RESULT_LOST});
    cut_and_connect(0);
    struct request second = await_transaction();
    answer(&second, ZKLI_RESULT_ERROR);
    make_it(&first);
    pass(3 * T_MS * MS);
    CHECK((Writer->notices & TOLD(LOST)) != 0);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    end();
}

/* The reply says which version the set has made of the writer's node. */
static void answer_made(const struct request *request, int32_t version) {
    const struct zkli_stat set = {.version = version};
    const struct zkli_op_result results[3] = {{.stat = &set}};
    make_it(request);
    tell_reply(request->slot, &(struct zkli_reply){.data = "", .op_results = results});
    serve_all();
    check_reads();
}

/* It went with the writer's node. */
static void an_unread_mark_is_told_when_it_is_a_reader_s(void) {
    const struct zkli_wish wish = {
        .name = "a", .kind = ZKLI_KIND_WRITE, .tells_awaited = true, .thread = {7, 70}};
    for (int32_t marks = 0; marks <= 2; marks++) {
        bench_begin();
        Writer = begin_by(&wish);
        serve_all();
        turn(Writer);
        const struct request request = serve_until(MULTI);
        answer_made(&request, 1 + marks);
        CHECK_INT((Writer->notices & TOLD(AWAITED)) != 0, marks > 0);
        end();
    }
}

/* The watch has told of the mark, and the read of the node is on its way when the turn begins. Its
 * answer is not looked at there. */
static void a_mark_that_is_read_meanwhile_is_told(void) {
    const struct zkli_wish wish = {
        .name = "a", .kind = ZKLI_KIND_WRITE, .tells_awaited = true, .thread = {7, 70}};
    bench_begin();
    Writer = begin_by(&wish);
    serve_all();
    pass(T_MS / 4 * MS);
    CHECK_INT(Writer->member->core.own_watch, ZKLI_WATCHED);
    struct node *node = tiny_find(&Bench.server, path_of(Writer));
    tiny_set(node, "zklock1 ask=1", 13);
    tell_watch(path_of(Writer), ZKLI_WATCH_CHANGED);
    turn(Writer);
    const struct request request = serve_until(MULTI); /* and the read before it */
    CHECK((Writer->notices & TOLD(AWAITED)) == 0);
    answer_made(&request, node->version + 1);
    CHECK((Writer->notices & TOLD(AWAITED)) != 0);
    end();
}

/* By its heartbeat: only what came later is news. It is known, for a hold inside. */
static void a_mark_that_was_read_is_not_told_again(void) {
    const struct zkli_wish wish = {.name = "a", .kind = ZKLI_KIND_WRITE, .thread = {7, 70}};
    bench_begin();
    Writer = begin_by(&wish);
    serve_all();
    tiny_set(tiny_find(&Bench.server, path_of(Writer)), "zklock1 ask=1", 13);
    pass(T_MS / 4 * MS);
    CHECK_INT(Writer->member->core.own_watch, ZKLI_WATCHED);
    CHECK(zkli_member_is_awaited(Writer->member));
    zkli_member_tell_awaited(Writer->member);
    turn(Writer);
    const struct request request = serve_until(MULTI);
    answer_made(&request, 2);
    CHECK((Writer->notices & TOLD(AWAITED)) == 0);
    end();
}

static void each_refusal_is_logged(void) {
    begin_writing();
    for (size_t i = 1; i <= 2; i++) {
        turn(Writer);
        struct request request = serve_until(MULTI);
        answer(&request, ZKLI_RESULT_DENIED);
        CHECK_INT(zkli_member_error(Writer->member), ZKL_DENIED);
        CHECK_INT(Bench.lines[ZKL_LOG_ERROR], i);
    }
    end();
}

static void a_port_that_refuses_is_asked_again(void) {
    begin_writing();
    Bench.refused = 1u << MULTI;
    turn(Writer);
    CHECK_INT(Bench.sent[MULTI], 0);
    Bench.refused = 0;
    for (int i = 0; i < 100 && Bench.sent[MULTI] == 0; i++)
        pass(T_MS * MS / 100);
    CHECK((Writer->notices & TOLD(LOST)) == 0);
    end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"one transaction sets, creates and deletes", one_transaction_sets_creates_and_deletes},
        {"one that may linger hears of its own transaction",
         one_that_may_linger_hears_of_its_own_transaction},
        {"a heartbeat that is refused meanwhile is no loss",
         a_heartbeat_that_is_refused_meanwhile_is_no_loss},
        {"what its own transaction has done is no loss",
         what_its_own_transaction_has_done_is_no_loss},
        {"a listing without either node ends the hold",
         a_listing_without_either_node_ends_the_hold},
        {"a lost answer is looked for", a_lost_answer_is_looked_for},
        {"a release meanwhile leaves neither node", a_release_meanwhile_leaves_neither_node},
        {"a stranger's node with the reader's name is not taken for ours",
         a_stranger_s_node_with_the_reader_s_name_is_not_taken_for_ours},
        {"a hold by a stranger's node is lost", a_hold_by_a_stranger_s_node_is_lost},
        {"the end of the reader's node ends the hold before another is granted",
         the_end_of_the_reader_s_node_ends_the_hold_before_another_is_granted},
        {"a late one behind a refusal leaves no node", a_late_one_behind_a_refusal_leaves_no_node},
        {"an unread mark is told when it is a reader's",
         an_unread_mark_is_told_when_it_is_a_reader_s},
        {"a mark that is read meanwhile is told", a_mark_that_is_read_meanwhile_is_told},
        {"a mark that was read is not told again", a_mark_that_was_read_is_not_told_again},
        {"each refusal is logged", each_refusal_is_logged},
        {"a port that refuses is asked again", a_port_that_refuses_is_asked_again},
    };
    return TEST_MAIN(argc, argv, "engine_turn", cases);
}
