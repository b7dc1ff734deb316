/*
 * A directory that was made for a contender, and in which none has stood: it is removed, once, when
 * no contender of ours is left that may stand in it. The servers would keep it.
 */
#include "unit/engine_bench.h"

/* What is asked for next is the removal of that; it is answered. */
static void serve_removal(const char *path) {
    struct request removal = serve_until(MULTI);
    REQUIRE_INT(removal.op_count, 1);
    CHECK_INT(removal.ops[0].type, ZKLI_OP_DELETE);
    CHECK_STRING(removal.ops[0].path, path);
    CHECK_INT(removal.ops[0].version, 0);
    CHECK(tiny_find(&Bench.server, path) != NULL);
    (void)tiny_remove(&Bench.server, path);
    answer(&removal, ZKLI_RESULT_OK);
}

static void check_none(void) {
    come_to_rest();
    CHECK_INT(Bench.sent[MULTI], 0);
    CHECK(zkli_list_is_empty(&Bench.engine->work));
}

/* Its directory is made; the create behind it, which is still to be answered, will be refused. */
static struct request await_refusal(const char *name) {
    struct owner *owner = begin(name);
    struct request create = serve_until(CREATE);
    serve_request(&create); /* there is no directory */
    create = serve_until(CREATE);
    CHECK(owner->member != NULL);
    return create;
}

static void begin_with_root(void) {
    bench_begin();
    (void)tiny_add(&Bench.server, "/locks", 0);
}

static void who_is_refused_removes_what_was_made(void) {
    begin_with_root();
    struct request create = await_refusal("a");
    answer(&create, ZKLI_RESULT_DENIED);
    serve_next(); /* the listing */
    CHECK_INT(Bench.owners[0].error, ZKL_DENIED);
    serve_removal("/locks/a");
    come_to_rest();
    CHECK_INT(Bench.sent[MULTI], 1);
    bench_end();
}

static void who_has_stood_in_it_does_not(void) {
    begin_with_root();
    struct owner *owner = hold("a");
    release(owner);
    check_none();
    bench_end();
}

/* Nor who finds it there. */
static void nor_who_has_not_made_it(void) {
    begin_with_root();
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    (void)begin("a");
    struct request create = serve_until(CREATE);
    answer(&create, ZKLI_RESULT_DENIED);
    serve_all();
    CHECK_INT(Bench.owners[0].error, ZKL_DENIED);
    check_none();
    bench_end();
}

/* Another client has made it, since its create found none; its number of permits can be read. */
static void nor_who_was_late_to_make_it(void) {
    begin_with_root();
    struct owner *owner = begin_lease("a", 1);
    struct request list = serve_until(LIST);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    set_node("/locks/a", "permits=1 max=1");
    answer(&list, ZKLI_RESULT_NO_NODE);
    struct request create = serve_until(CREATE);
    answer(&create, ZKLI_RESULT_DENIED);
    serve_all();
    CHECK_INT(owner->error, ZKL_DENIED);
    CHECK_INT(Bench.sent[PARENT], 1);
    check_none();
    bench_end();
}

/* It is in line for a listing that nobody waits for any more, and it is to be visited. */
static void nor_who_leaves_before_it_is_listed(void) {
    bench_begin();
    struct owner *owner = begin("a");
    cut_and_connect(0);
    serve_all();
    release(owner);
    serve_all();
    fill_window();
    abandon(begin("a"));
    CHECK(!zkli_list_is_empty(&Bench.engine->work));
    serve_all();
    CHECK_INT(Bench.sent[MULTI], 0);
    CHECK(tiny_find(&Bench.server, "/locks/a") != NULL);
    end_all();
}

/* Another one of ours is in line for it, and stands in it later, or is refused, too. */
static void the_last_one_does_it(void) {
    for (int stands = 0; stands < 2; stands++) {
        begin_with_root();
        struct request create = await_refusal("a");
        struct owner *other = begin("a");
        answer(&create, ZKLI_RESULT_DENIED);
        struct request second = serve_until(CREATE);
        CHECK_INT(Bench.owners[0].error, ZKL_DENIED);
        CHECK_INT(Bench.sent[MULTI], 0);
        if (stands == 1) {
            serve_request(&second);
            serve_all();
            CHECK_INT(other->grants, 1);
            release(other);
            check_none();
        } else {
            answer(&second, ZKLI_RESULT_DENIED);
            serve_removal("/locks/a");
            come_to_rest();
        }
        bench_end();
    }
}

/* Given up while that is on its way, and not before. */
static void what_was_made_above_is_removed_when_its_reply_is_in(void) {
    for (int is_made = 0; is_made < 2; is_made++) {
        begin_with_root();
        struct owner *owner = begin("a/b/c");
        struct request parent = {.kind = KINDS};
        do {
            parent = serve_until(PARENT);
            if (strcmp(parent.path, "/locks/a/b") == 0)
                break;
            serve_request(&parent);
        } while (true);
        serve_request(&parent); /* nothing to make it in */
        parent = serve_until(PARENT);
        CHECK_STRING(parent.path, "/locks/a");
        abandon(owner);
        CHECK_INT(owner->error, ZKL_CANCELED);
        CHECK(owner->member != NULL);
        if (is_made == 1) {
            serve_request(&parent);
            CHECK(owner->member == NULL);
            serve_removal("/locks/a");
        } else {
            answer(&parent, ZKLI_RESULT_EXISTS);
            check_none();
        }
        bench_end();
    }
}

/* They are before it in the line. */
static void be_refused_behind_others(void) {
    struct request create = await_refusal("a");
    serve_all(); /* its listing, too */
    fill_window();
    begin_many("behind", 10);
    answer(&create, ZKLI_RESULT_DENIED);
    CHECK_INT(Bench.owners[0].error, ZKL_DENIED);
}

static void it_waits_for_its_turn(void) {
    begin_with_root();
    be_refused_behind_others();
    CHECK_INT(Bench.sent[MULTI], 0);
    while (Bench.sent[MULTI] == 0)
        serve_next();
    serve_removal("/locks/a");
    serve_all();
    for (size_t i = 1; i < Bench.owner_count; i++)
        CHECK_INT(Bench.owners[i].grants, 1);
    bench_end();
}

/* And not for the visits that look for a late node: that finds no directory then. */
static void it_waits_for_a_connection(void) {
    begin_with_root();
    struct request create = await_refusal("a");
    cut(0);
    answer(&create, ZKLI_RESULT_LOST); /* it was not done */
    abandon(&Bench.owners[0]);
    bench_connect();
    const int64_t connected_ns = Bench.now_ns;
    while (Bench.sent[MULTI] == 0) /* when it is known that there is no node */
        if (Bench.request_count > 0)
            serve_next();
        else
            advance(10 * MS);
    CHECK(Bench.now_ns - connected_ns < T_MS * MS / 2);
    serve_removal("/locks/a");
    come_to_rest();
    CHECK_INT(Bench.sent[MULTI], 1);
    bench_end();
}

/* It is not for the next session to know of. */
static void a_session_that_ends_forgets_it(void) {
    begin_with_root();
    be_refused_behind_others();
    expire();
    bench_connect();
    serve_all();
    CHECK_INT(Bench.sent[MULTI], 0);
    bench_end();
}

static void what_cannot_be_sent_is_left(void) {
    begin_with_root();
    struct request create = await_refusal("a");
    Bench.refused = 1u << MULTI;
    answer(&create, ZKLI_RESULT_DENIED);
    serve_all();
    Bench.refused = 0;
    check_none();
    CHECK_INT(free_slots(), ZKLI_WINDOW);
    CHECK(tiny_find(&Bench.server, "/locks/a") != NULL);
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"who is refused removes what was made", who_is_refused_removes_what_was_made},
        {"who has stood in it does not", who_has_stood_in_it_does_not},
        {"nor who has not made it", nor_who_has_not_made_it},
        {"nor who was late to make it", nor_who_was_late_to_make_it},
        {"nor who leaves before it is listed", nor_who_leaves_before_it_is_listed},
        {"the last one does it", the_last_one_does_it},
        {"what was made above is removed when its reply is in",
         what_was_made_above_is_removed_when_its_reply_is_in},
        {"it waits for its turn", it_waits_for_its_turn},
        {"it waits for a connection", it_waits_for_a_connection},
        {"a session that ends forgets it", a_session_that_ends_forgets_it},
        {"what cannot be sent is left", what_cannot_be_sent_is_left},
    };
    return TEST_MAIN(argc, argv, "engine_tidy", cases);
}
