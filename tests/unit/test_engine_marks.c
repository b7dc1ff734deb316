/* The mark of a semaphore's node whose contender is admitted: what is sent, and what is kept. */
#include "unit/engine_bench.h"

static struct owner *Next, *Last; /* who is admitted by the first one's end; who waits behind it */

/* The first one's node goes, and the next one's mark is taken, which is the first of all. */
static struct request begin_marking(void) {
    bench_begin();
    struct owner *first = begin_lease("a", 1);
    serve_all();
    Next = begin_lease("a", 1);
    serve_all();
    Last = begin_lease("a", 1);
    serve_all();
    CHECK_INT(first->grants, 1);
    CHECK_INT(Next->member->core.state, ZKLI_FRONT);
    CHECK_INT(Last->member->core.state, ZKLI_WAITING);
    CHECK_INT(Bench.sent[MULTI], 0);
    release(first);
    while (Next->grants == 0)
        serve_next();
    CHECK_INT(Bench.sent[MULTI], 1); /* at once */
    return serve_until(MULTI);
}

static void end(void) {
    if (Next->member != NULL)
        release(Next);
    come_to_rest();
    CHECK_INT(Last->grants, 1);
    release(Last);
    come_to_rest();
    bench_end();
}

static void check_mark(const struct request *mark, int32_t version, const char *expected) {
    char data[ZKLI_NODE_DATA_MAX + 1];
    CHECK_INT(mark->op_count, 1);
    CHECK_INT(mark->ops[0].type, ZKLI_OP_SET);
    CHECK_STRING(mark->ops[0].path, path_of(Next));
    CHECK_INT(mark->ops[0].version, version);
    REQUIRE(mark->length < sizeof(data));
    memcpy(data, mark->data, mark->length);
    data[mark->length] = '\0';
    CHECK_STRING(data, expected);
}

/* The read of the next one's node is served; what follows it is taken. */
static struct request read_and_take(void) {
    struct request get = serve_until(GET);
    CHECK_STRING(get.path, path_of(Next));
    CHECK(!get.is_watched);
    serve_request(&get);
    return serve_until(MULTI);
}

#define MARKED "zklock1 touched=1 t=10000 tid=70"

/* As it was made, for all we know; and who waits behind it is told. */
static void the_first_mark_is_made_without_a_read(void) {
    struct request mark = begin_marking();
    check_mark(&mark, 0, MARKED);
    CHECK_INT(Bench.sent[MULTI], 1);
    const size_t gets = Bench.sent[GET];
    serve_request(&mark);
    serve_all();
    CHECK(Bench.sent[GET] > gets);
    CHECK_INT(Last->member->core.state, ZKLI_FRONT);
    CHECK(Last->member->watchers[ZKLI_WATCHED_PREDECESSOR].watch == NULL); /* three are enough */
    CHECK_INT(Bench.sent[MULTI], 1);
    pass(T_MS * MS);
    CHECK_INT(Bench.sent[MULTI], 1);
    end();
}

/* It was made before the node was watched. That its contender is asked to let go is no mark. */
static void a_mark_that_is_there_already_costs_one_more_listing(void) {
    static const struct {
        const char *data;
        size_t lists;
    } cases[] = {{"zklock1 touched=1 t=10000", 2}, {"zklock1 ask=1 t=10000", 1}, {"touched=1", 1}};
    static const char before[] =
        "/locks/a/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lease-0000000001";
    for (size_t i = 0; i < COUNT(cases); i++) {
        bench_begin();
        (void)tiny_add(&Bench.server, "/locks", 0);
        (void)tiny_add(&Bench.server, "/locks/a", 0);
        set_node("/locks/a", "permits=1 max=1");
        (void)tiny_add(&Bench.server,
                       "/locks/a/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lease-0000000000", 99);
        (void)tiny_add(&Bench.server, before, 99);
        set_node(before, cases[i].data);
        Bench.server.number = 2;
        struct owner *owner = begin_lease("a", 1);
        serve_all();
        CHECK_INT(owner->member->core.state, ZKLI_WAITING);
        CHECK_INT(Bench.sent[LIST], cases[i].lists);
        abandon(owner);
        come_to_rest();
        bench_end();
    }
}

/* What others have said of the node stays. */
static void of_another_version_every_field_is_kept(void) {
    struct request mark = begin_marking();
    set_node(path_of(Next), "zklock1 ask=1 break=1 t=10000 new=field tid=70");
    serve_request(&mark); /* by version 0 */
    mark = read_and_take();
    check_mark(&mark, 1, "zklock1 touched=1 ask=1 break=1 t=10000 new=field tid=70");
    set_node(path_of(Next), "zklock1 ask=1 t=10000 tid=70"); /* and once more, meanwhile */
    serve_request(&mark);
    mark = read_and_take();
    check_mark(&mark, 2, "zklock1 touched=1 ask=1 t=10000 tid=70");
    serve_request(&mark);
    serve_all();
    CHECK_INT(Last->member->core.state, ZKLI_FRONT);
    CHECK_INT(Bench.sent[MULTI], 3);
    end();
}

/* Its read comes when the end of the connection has been told. */
static void without_a_connection_nothing_is_marked(void) {
    struct request mark = begin_marking();
    answer(&mark, ZKLI_RESULT_BAD_VERSION);
    struct request get = serve_until(GET);
    CHECK(!get.is_watched);
    serve_all();
    const size_t marks = Bench.sent[MULTI];
    tell_state(ZKLI_PORT_CONNECTING);
    serve_request(&get);
    CHECK_INT(Bench.sent[MULTI], marks);
    bench_connect();
    serve_all();
    CHECK_INT(Bench.sent[MULTI], marks + 1);
    CHECK_INT(Last->member->core.state, ZKLI_FRONT);
    end();
}

static void data_that_are_none_of_ours_are_replaced(void) {
    struct request mark = begin_marking();
    set_node(path_of(Next), "192.0.2.7");
    serve_request(&mark);
    mark = read_and_take();
    check_mark(&mark, 1, MARKED);
    serve_request(&mark);
    serve_all();
    CHECK_INT(Last->member->core.state, ZKLI_FRONT);
    end();
}

/* It may have been made, and by it the version is another. */
static void a_mark_that_was_lost_is_made_behind_a_read(void) {
    for (int is_made = 0; is_made < 2; is_made++) {
        struct request mark = begin_marking();
        if (is_made == 1)
            (void)serve(&mark);
        tell_reply(mark.slot, &(struct zkli_reply){.result = ZKLI_RESULT_LOST});
        cut_and_connect(0);
        for (int i = 0; i < 20 && Bench.sent[MULTI] == 1; i++) {
            while (Bench.request_count > 0 && Bench.requests[0].kind != MULTI)
                serve_next();
            if (Bench.request_count == 0)
                advance(10 * MS);
        }
        mark = serve_until(MULTI);
        check_mark(&mark, is_made, MARKED);
        serve_request(&mark);
        come_to_rest();
        CHECK_INT(Bench.sent[MULTI], 2);
        end();
    }
}

/* In whatever it is on its way. */
static void who_leaves_meanwhile_marks_nothing(void) {
    for (int step = 0; step < 3; step++) {
        struct request mark = begin_marking();
        struct request one = mark;
        if (step > 0) {
            set_node(path_of(Next), "zklock1 t=10000");
            serve_request(&mark);
            one = serve_until(GET);
        }
        if (step > 1) {
            serve_request(&one);
            one = serve_until(MULTI);
        }
        const size_t multis = Bench.sent[MULTI], gets = Bench.sent[GET];
        release(Next);
        answer(&one, step == 1 ? ZKLI_RESULT_OK : ZKLI_RESULT_BAD_VERSION);
        CHECK_INT(Bench.sent[GET], gets);
        CHECK_INT(Bench.sent[MULTI], multis);
        serve_all();
        CHECK_INT(Bench.sent[MULTI], multis);
        CHECK(Next->member == NULL);
        CHECK((Next->notices & TOLD(LOST)) == 0);
        end();
    }
}

/* The node has gone, which the mark finds first. */
static void a_mark_without_a_node_ends_the_hold(void) {
    for (int is_read = 0; is_read < 2; is_read++) {
        struct request mark = begin_marking();
        if (is_read == 1) {
            set_node(path_of(Next), "zklock1 t=10000");
            serve_request(&mark);
            mark = serve_until(GET);
        }
        (void)tiny_remove(&Bench.server, path_of(Next));
        serve_request(&mark);
        CHECK((Next->notices & TOLD(LOST)) != 0);
        tell_watch(mark.path, ZKLI_WATCH_DELETED);
        end();
    }
}

/* At first, and behind the read. */
static void a_mark_that_cannot_be_sent_is_made_later(void) {
    struct request mark = begin_marking();
    set_node(path_of(Next), "zklock1 t=10000");
    Bench.refused = 1u << GET;
    serve_request(&mark);
    serve_all();
    CHECK_INT(Bench.sent[MULTI], 1);
    Bench.refused = 1u << MULTI;
    pass(100 * MS);
    CHECK_INT(Bench.sent[MULTI], 1);
    CHECK_INT(Next->member->core.state, ZKLI_HELD);
    const size_t free_before = free_slots();
    pass(1000 * MS);
    CHECK_INT(free_slots(), free_before); /* those that were not sent have none */
    Bench.refused = 0;
    pass(2000 * MS);
    CHECK_INT(Bench.sent[MULTI], 2);
    CHECK_INT(Last->member->core.state, ZKLI_FRONT);
    end();
}

static void a_mark_that_is_refused_is_tried_again_and_logged_once(void) {
    struct request mark = begin_marking();
    answer(&mark, ZKLI_RESULT_DENIED);
    CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1);
    for (int i = 0; i < 2; i++) {
        while (Bench.request_count == 0)
            advance(10 * MS);
        mark = read_and_take();
        answer(&mark, ZKLI_RESULT_DENIED);
    }
    CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1);
    CHECK_INT(Next->member->core.state, ZKLI_HELD);
    end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the first mark is made without a read", the_first_mark_is_made_without_a_read},
        {"a mark that is there already costs one more listing",
         a_mark_that_is_there_already_costs_one_more_listing},
        {"of another version every field is kept", of_another_version_every_field_is_kept},
        {"without a connection nothing is marked", without_a_connection_nothing_is_marked},
        {"data that are none of ours are replaced", data_that_are_none_of_ours_are_replaced},
        {"a mark that was lost is made behind a read", a_mark_that_was_lost_is_made_behind_a_read},
        {"who leaves meanwhile marks nothing", who_leaves_meanwhile_marks_nothing},
        {"a mark without a node ends the hold", a_mark_without_a_node_ends_the_hold},
        {"a mark that cannot be sent is made later", a_mark_that_cannot_be_sent_is_made_later},
        {"a mark that is refused is tried again and logged once",
         a_mark_that_is_refused_is_tried_again_and_logged_once},
    };
    return TEST_MAIN(argc, argv, "engine_marks", cases);
}
