/* The number of a semaphore's permits, and the waiters in front: what is sent, and what is kept. */
#include "unit/engine_bench.h"

#define DIRECTORY "/locks/a"

static void plant_directory(const char *data) {
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, DIRECTORY, 0);
    if (data != NULL)
        set_node(DIRECTORY, data);
}

static void begin_with(const char *data) {
    bench_begin();
    plant_directory(data);
}

/* Requests in flight of this kind at the directory. */
static size_t asked_of_directory(enum kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < Bench.request_count; i++)
        count += Bench.requests[i].kind == kind && strcmp(Bench.requests[i].path, DIRECTORY) == 0;
    return count;
}

static void check_data(const struct request *request, const char *expected) {
    CHECK_INT(request->length, strlen(expected));
    CHECK(memcmp(request->data, expected, strlen(expected)) == 0);
}

/* ---- The number ---- */

/* Serves all; the directories that are made, and the data of the lock's. */
static size_t serve_parents(const char *directory, const char *data) {
    size_t parents = 0;
    while (Bench.request_count > 0) {
        struct request request = take(0);
        if (request.kind == PARENT) {
            parents++;
            check_data(&request, strcmp(request.path, directory) == 0 ? data : "");
        }
        serve_request(&request);
    }
    return parents;
}

/* With the lock's directory, and for a semaphore. */
static void a_directory_is_made_with_the_number(void) {
    bench_begin();
    struct owner *owner = begin_lease("a", 3);
    CHECK_INT(serve_parents(DIRECTORY, "permits=3 max=3"), 3); /* that cannot be at first */
    CHECK_INT(Bench.sent[MULTI], 0);
    CHECK_INT(owner->grants, 1);
    owner = begin("b");
    CHECK_INT(serve_parents("/locks/b", ""), 1);
    CHECK_INT(owner->grants, 1);
    end_all();
}

static struct request begin_to_record(void) {
    begin_with("");
    set_node(DIRECTORY, "");
    (void)begin_lease("a", 2);
    struct request record = serve_until(MULTI);
    CHECK_INT(record.op_count, 2);
    CHECK_INT(record.ops[0].type, ZKLI_OP_CHECK);
    CHECK_STRING(record.ops[0].path, path_of(&Bench.owners[0]));
    CHECK_INT(record.ops[0].version, -1);
    CHECK_INT(record.ops[1].type, ZKLI_OP_SET);
    CHECK_STRING(record.ops[1].path, DIRECTORY);
    CHECK_INT(record.ops[1].version, 2); /* as it was read */
    check_data(&record, "permits=2 max=2");
    return record;
}

static void a_number_is_recorded_beside_the_own_node(void) {
    struct request record = begin_to_record();
    serve_request(&record);
    CHECK_INT(Bench.owners[0].grants, 0); /* it is read before it counts */
    serve_all();
    CHECK_INT(Bench.owners[0].grants, 1);
    CHECK_INT(zkli_member_permits(Bench.owners[0].member).count, 2);
    end_all();
}

static void another_s_number_is_read_instead(void) {
    struct request record = begin_to_record();
    set_node(DIRECTORY, "permits=2 max=5");
    serve_request(&record);
    serve_all();
    CHECK_INT(Bench.sent[MULTI], 1);
    CHECK_INT(Bench.owners[0].grants, 1);
    CHECK_INT(zkli_member_permits(Bench.owners[0].member).max, 5);
    end_all();
}

static void without_the_own_node_nothing_is_recorded(void) {
    struct request record = begin_to_record();
    delete_node(record.ops[0].path);
    serve_request(&record);
    CHECK_INT(tiny_find(&Bench.server, DIRECTORY)->length, 0);
    serve_all();
    CHECK((Bench.owners[0].notices & TOLD(REQUEUED)) != 0);
    CHECK_INT(Bench.owners[0].grants, 1);
    end_all();
}

static void a_record_that_cannot_be_sent_is_made_later(void) {
    begin_with("");
    struct owner *owner = begin_lease("a", 2);
    Bench.refused = 1u << MULTI;
    serve_all();
    CHECK_INT(owner->grants, 0);
    Bench.refused = 0;
    pass(100 * MS);
    CHECK_INT(owner->grants, 1);
    end_all();
}

static void a_refusal_to_record_is_logged(void) {
    struct request record = begin_to_record();
    answer(&record, ZKLI_RESULT_DENIED);
    CHECK_INT(Bench.owners[0].error, ZKL_DENIED);
    CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1);
    CHECK(strstr(Bench.last_line, DIRECTORY) != NULL);
    end_all();
}

/* ---- What was read ---- */

static size_t reads_of(struct owner *owner) {
    size_t reads = asked_of_directory(GET);
    serve_all();
    CHECK_INT(owner->grants, 1);
    return reads;
}

static void what_one_has_read_another_need_not_read(void) {
    begin_with("permits=9 max=9");
    CHECK_INT(reads_of(begin_lease("a", 9)), 1);
    CHECK_INT(reads_of(begin_lease("a", 9)), 0);
    end_all();
}

static struct owner *begin_recorded(const char *name, int64_t session_id) {
    const struct node *directory = tiny_find(&Bench.server, DIRECTORY);
    return begin_by(
        &(struct zkli_wish){.name = name,
                            .kind = ZKLI_KIND_LEASE,
                            .recorded = zkli_permits_parse(directory->data, directory->length,
                                                           directory->czxid, directory->version),
                            .session_id = session_id});
}

/* A handle has kept it; the directory's own record has gone with its last contender. */
static void what_this_session_has_read_counts_later(void) {
    begin_with("permits=9 max=9");
    const int64_t session_id = zkli_engine_session_id(Bench.engine);
    CHECK_INT(reads_of(begin_recorded("a", session_id)), 0);
    end_all();
    begin_with("permits=9 max=9");
    CHECK_INT(reads_of(begin_recorded("a", session_id + 1)), 1);
    CHECK_INT(reads_of(begin_recorded("a", session_id + 1)), 0); /* by the read of the first */
    end_all();
}

/* Only who waits in front watches the directory. */
static void the_number_is_read_without_a_watch(void) {
    begin_with("permits=9 max=9");
    (void)begin_lease("a", 9);
    struct request read = serve_until(GET);
    CHECK_STRING(read.path, DIRECTORY);
    CHECK(!read.is_watched);
    serve_request(&read);
    serve_all();
    end_all();
}

/* A handle may have kept an older one. */
static void what_is_known_is_not_replaced(void) {
    begin_with("permits=9 max=9");
    CHECK_INT(reads_of(begin_lease("a", 9)), 1);
    const struct zkli_wish wish = {.name = "a",
                                   .kind = ZKLI_KIND_LEASE,
                                   .recorded = zkli_permits_parse("permits=3 max=3", 15, 1, 0),
                                   .session_id = zkli_engine_session_id(Bench.engine)};
    const size_t reads = Bench.sent[GET];
    struct owner *owner = begin_by(&wish);
    serve_all();
    CHECK_INT(owner->grants, 1);
    CHECK_INT(Bench.sent[GET], reads);
    end_all();
}

static void what_is_not_of_the_listing_any_more_is_read(void) {
    begin_with("permits=9 max=9");
    struct owner *owner = begin_recorded("a", zkli_engine_session_id(Bench.engine));
    set_node(DIRECTORY, "permits=8 max=9");
    struct request list = serve_until(LIST);
    CHECK(!list.is_watched);
    serve_request(&list);
    CHECK_INT(owner->grants, 0);
    CHECK_INT(asked_of_directory(GET), 1);
    serve_all();
    CHECK_INT(owner->grants, 1);
    CHECK_INT(zkli_member_permits(owner->member).count, 8);
    end_all();
}

static void a_read_in_vain_replaces_nothing(void) {
    begin_with("permits=9 max=9");
    struct owner *owner = begin_recorded("a", Bench.last_session);
    set_node(DIRECTORY, "permits=8 max=9");
    answer_next(GET, ZKLI_RESULT_AGAIN);
    CHECK_INT(zkli_member_permits(owner->member).count, 9);
    come_to_rest();
    CHECK_INT(zkli_member_permits(owner->member).count, 8);
    end_all();
}

static void the_end_of_the_session_forgets_it(void) {
    begin_with("permits=1 max=1");
    (void)reads_of(begin_lease("a", 1));
    struct owner *waiter = begin_lease("a", 1);
    serve_all();
    expire();
    CHECK_INT(zkli_member_permits(waiter->member).state, ZKLI_PERMITS_UNKNOWN);
    bench_connect();
    CHECK_INT(reads_of(waiter), 1);
    end_all();
}

static void it_is_forgotten_in_whichever_bucket_the_directory_is(void) {
    static const size_t buckets[] = {0, 1, ZKLI_BUCKETS - 1};
    begin_with("permits=1 max=1");
    for (size_t i = 0; i < COUNT(buckets); i++) {
        char name[BENCH_NAME_SIZE];
        name_in_bucket(buckets[i], 0, 1, name);
        struct owner *owner = begin_recorded(name, Bench.last_session);
        CHECK_INT(zkli_member_permits(owner->member).state, ZKLI_PERMITS_RECORDED);
    }
    expire();
    for (size_t i = 0; i < COUNT(buckets); i++)
        CHECK_INT(zkli_member_permits(Bench.owners[i].member).state, ZKLI_PERMITS_UNKNOWN);
    end_all();
}

/* ---- In front ---- */

/* The first holds; the others are in front, for there have been four permits. */
static void begin_front(size_t waiters) {
    begin_with("permits=1 max=4");
    for (size_t i = 0; i <= waiters; i++) {
        (void)begin_lease("a", 0);
        serve_all();
        CHECK_INT(Bench.owners[i].member->core.state, i == 0 ? ZKLI_HELD : ZKLI_FRONT);
    }
}

static bool are_watched(void) {
    for (size_t i = 0; i < Bench.request_count; i++)
        if (!Bench.requests[i].is_watched)
            return false;
    return true;
}

/* But for the first: its listing is sent behind its own read alone. */
static void waiters_in_front_share_a_watched_listing(void) {
    begin_front(3);
    const size_t lists = Bench.sent[LIST];
    tell_watch(DIRECTORY, ZKLI_WATCH_CHILDREN);
    CHECK_INT(Bench.sent[LIST], lists + 2);
    CHECK_INT(asked_of_directory(GET), 3);
    CHECK(are_watched());
    const struct zkli_watch *watch = Bench.owners[1].member->watchers[ZKLI_WATCHED_CHILDREN].watch;
    CHECK(watch == Bench.owners[2].member->watchers[ZKLI_WATCHED_CHILDREN].watch);
    CHECK(!watch->is_set && watch->in_flight == 2);
    serve_all();
    CHECK(watch->is_set && watch->in_flight == 0);
    CHECK_INT(Bench.sent[LIST], lists + 2);
    for (size_t i = 1; i <= 3; i++)
        CHECK_INT(Bench.owners[i].member->core.state, ZKLI_FRONT);
    end_all();
}

/* One that asks for it beside them does without its own, even if it was the first to ask. */
static void a_newcomer_has_part_in_a_watched_listing(void) {
    begin_front(2);
    const struct zkli_wish wish = {.name = "a", .kind = ZKLI_KIND_LEASE};
    struct owner *newcomer = &Bench.owners[Bench.owner_count++];
    const size_t lists = Bench.sent[LIST];
    char first[ZKLI_PATH_MAX];
    (void)snprintf(first, sizeof(first), "%s", path_of(&Bench.owners[1]));
    zkli_engine_enter(Bench.engine);
    zkli_engine_on_watch(Bench.engine, Bench.engine->port, first, ZKLI_WATCH_CHANGED);
    REQUIRE(zkli_member_new(&newcomer->member, Bench.engine, &wish, on_notice, newcomer) == ZKL_OK);
    zkli_engine_on_watch(Bench.engine, Bench.engine->port, DIRECTORY, ZKLI_WATCH_CHILDREN);
    settle();
    CHECK_INT(Bench.sent[LIST], lists + 2);
    struct request list = take(Bench.request_count - 1);
    CHECK(list.kind == LIST && list.is_watched);
    serve_all();
    CHECK_INT(newcomer->member->core.state, ZKLI_ENQUEUING);
    serve_request(&list);
    CHECK_INT(newcomer->member->core.state, ZKLI_FRONTING);
    serve_all();
    end_all();
}

/* It will be told by the node before it. */
static void a_listing_for_one_behind_sets_no_watch(void) {
    begin_with("permits=1 max=1");
    for (size_t i = 0; i < 4; i++) {
        (void)begin_lease("a", 0);
        serve_all();
    }
    CHECK_INT(Bench.owners[3].member->core.state, ZKLI_WAITING);
    tell_watch(path_of(&Bench.owners[2]), ZKLI_WATCH_CHANGED);
    struct request list = serve_until(LIST);
    CHECK(!list.is_watched);
    serve_request(&list);
    serve_all();
    end_all();
}

static void the_end_of_a_hold_admits_the_next_in_front(void) {
    begin_front(2);
    release(&Bench.owners[0]);
    serve_all();
    CHECK_INT(Bench.owners[1].grants, 1);
    CHECK_INT(Bench.owners[2].grants, 0);
    CHECK_INT(Bench.owners[2].member->core.state, ZKLI_FRONT);
    const struct zkli_watcher *watchers = Bench.owners[1].member->watchers;
    CHECK(watchers[ZKLI_WATCHED_DIRECTORY].watch == NULL);
    CHECK(watchers[ZKLI_WATCHED_CHILDREN].watch == NULL);
    end_all();
}

static void who_has_lost_its_node_watches_no_directory(void) {
    begin_front(1);
    delete_node(path_of(&Bench.owners[1]));
    for (enum zkli_watched what = 0; what < ZKLI_WATCHED_COUNT; what++)
        CHECK(Bench.owners[1].member->watchers[what].watch == NULL);
    end_all();
}

static void more_permits_admit_those_in_front(void) {
    begin_front(2);
    set_node(DIRECTORY, "permits=2 max=4");
    serve_all();
    CHECK_INT(Bench.owners[1].grants, 1);
    CHECK_INT(Bench.owners[2].grants, 0);
    set_node(DIRECTORY, "permits=3 max=4");
    serve_all();
    CHECK_INT(Bench.owners[2].grants, 1);
    end_all();
}

static void a_look_that_cannot_be_sent_is_made_later(void) {
    for (enum kind kind = LIST; kind <= GET; kind++) {
        begin_front(1);
        Bench.refused = 1u << kind;
        set_node(DIRECTORY, "permits=2 max=4");
        serve_all();
        CHECK_INT(Bench.owners[1].grants, 0);
        Bench.refused = 0;
        pass(200 * MS);
        CHECK_INT(Bench.owners[1].grants, 1);
        end_all();
    }
}

/* ---- Budgets ---- */

/* Its own node, and of the directory the data and the children: none longer than its node. */
static void a_waiter_counts_three_watches(void) {
    begin_front(1);
    const size_t bytes = zkli_dir_node_bytes(Bench.owners[0].member->dir,
                                             zkli_node_name_length(ZKLI_KIND_LEASE));
    CHECK_INT(Bench.owners[0].member->watches, 1); /* it holds */
    CHECK_INT(Bench.owners[1].member->watches, 3);
    CHECK_INT(Bench.owners[1].member->node_bytes, bytes);
    abandon(&Bench.owners[1]);
    CHECK_INT(Bench.engine->watch_bytes, bytes);
    end_all();
}

static void the_limit_is_that_of_three_watches(void) {
    bench_begin();
    const size_t length = strlen(DIRECTORY) + 1 + zkli_node_name_length(ZKLI_KIND_LEASE);
    const size_t bytes = zkli_path_bytes(Bench.engine, length);
    const struct zkli_wish wish = {.name = "a", .kind = ZKLI_KIND_LEASE, .permits = 1};
    struct owner *owner = NULL;
    Bench.engine->stale_watch_bytes = ZKLI_WATCH_BYTES_MAX - 3 * bytes + 1;
    CHECK_INT(enter_by(&wish, &owner), ZKL_LIMIT);
    Bench.engine->stale_watch_bytes--;
    CHECK_INT(enter_by(&wish, &owner), ZKL_OK);
    Bench.engine->stale_watch_bytes = 0;
    serve_all();
    end_all();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a directory is made with the number", a_directory_is_made_with_the_number},
        {"the number is read without a watch", the_number_is_read_without_a_watch},
        {"what is known is not replaced", what_is_known_is_not_replaced},
        {"a number is recorded beside the own node", a_number_is_recorded_beside_the_own_node},
        {"another's number is read instead", another_s_number_is_read_instead},
        {"without the own node nothing is recorded", without_the_own_node_nothing_is_recorded},
        {"a record that cannot be sent is made later", a_record_that_cannot_be_sent_is_made_later},
        {"a refusal to record is logged", a_refusal_to_record_is_logged},
        {"what one has read another need not read", what_one_has_read_another_need_not_read},
        {"what this session has read counts later", what_this_session_has_read_counts_later},
        {"what is not of the listing any more is read",
         what_is_not_of_the_listing_any_more_is_read},
        {"a read in vain replaces nothing", a_read_in_vain_replaces_nothing},
        {"the end of the session forgets it", the_end_of_the_session_forgets_it},
        {"it is forgotten in whichever bucket the directory is",
         it_is_forgotten_in_whichever_bucket_the_directory_is},
        {"waiters in front share a watched listing", waiters_in_front_share_a_watched_listing},
        {"a newcomer has part in a watched listing", a_newcomer_has_part_in_a_watched_listing},
        {"a listing for one behind sets no watch", a_listing_for_one_behind_sets_no_watch},
        {"the end of a hold admits the next in front", the_end_of_a_hold_admits_the_next_in_front},
        {"who has lost its node watches no directory", who_has_lost_its_node_watches_no_directory},
        {"more permits admit those in front", more_permits_admit_those_in_front},
        {"a look that cannot be sent is made later", a_look_that_cannot_be_sent_is_made_later},
        {"a waiter counts three watches", a_waiter_counts_three_watches},
        {"the limit is that of three watches", the_limit_is_that_of_three_watches},
    };
    return TEST_MAIN(argc, argv, "engine_permits", cases);
}
