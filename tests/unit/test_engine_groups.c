/*
 * Several contenders that are granted in one step, or not at all: what is sent for them, what its
 * replies mean, and the grant. Their single steps: test_contender_several.c; their ends:
 * test_engine_groups_end.c.
 */
#include "unit/engine_several.h"

/* ---- What is sent ---- */

static void check_create(const struct bench_op *op, size_t place, const char *uuid) {
    char path[ZKLI_PATH_MAX];
    struct zkli_node_data data;
    (void)snprintf(path, sizeof(path), "/locks/%s/_c_%s-lock-", Names[place], uuid);
    CHECK_INT(op->type, ZKLI_OP_CREATE);
    CHECK_STRING(op->path, path);
    CHECK_INT(op->flags, ZKLI_CREATE_EPHEMERAL | ZKLI_CREATE_SEQUENTIAL);
    CHECK(op->has_our_acl);
    REQUIRE(zkli_node_data_parse(&data, op->data, op->length));
    CHECK_STRING(data.attempt, uuid);
    CHECK_INT(data.thread, 70);
}

static void their_nodes_are_made_in_one_transaction(void) {
    begin_all();
    CHECK_INT(Bench.request_count, 1 + SEVERAL); /* and listings behind it */
    struct request multi = take(0);
    CHECK_INT(multi.kind, MULTI);
    REQUIRE_INT(multi.op_count, SEVERAL);
    for (size_t i = 0; i < SEVERAL; i++) {
        CHECK_INT(Bench.requests[i].kind, LIST);
        check_create(&multi.ops[i], i, Owners[i].member->core.uuid);
        CHECK_STRING(Owners[i].member->core.uuid, Owners[0].member->core.uuid);
    }
    CHECK(!zkli_uuid_is_same(Bench.engine->fresh_uuid, Owners[0].member->core.uuid));
    serve_request(&multi);
    CHECK_INT(nodes(), SEVERAL);
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK_INT(Owners[i].member->core.owner, zkli_engine_session_id(Bench.engine));
    serve_all();
    check_granted();
    CHECK_INT(Bench.sent[CREATE], 0);
    CHECK_INT(Bench.sent[MULTI], 1);
    end_all();
}

/* A semaphore's contender reads the directory's data behind its create. */
static void their_kinds_may_be_mixed(void) {
    static const struct zkli_wish wishes[SEVERAL] = {
        {.name = "a", .kind = ZKLI_KIND_LEASE, .permits = 2, .thread = {7, 70}},
        {.name = "b", .kind = ZKLI_KIND_READ, .thread = {7, 70}},
        {.name = "c", .kind = ZKLI_KIND_LEASE, .permits = 1, .thread = {7, 70}},
    };
    for (int has_directories = 0; has_directories < 2; has_directories++) {
        bench_begin();
        if (has_directories == 1) {
            plant_directories();
            set_node("/locks/a", "permits=2 max=2");
            set_node("/locks/c", "permits=1 max=1");
        }
        REQUIRE_INT(enter_all_by(wishes, SEVERAL, &Owners), ZKL_OK);
        serve_all();
        check_granted();
        CHECK_INT(Bench.sent[CREATE], 0);
        CHECK_INT(zkli_member_permits(Owners[0].member).count, 2);
        end_all();
    }
}

static void another_number_of_permits_fails_all(void) {
    static const struct zkli_wish wishes[2] = {
        {.name = "a", .kind = ZKLI_KIND_MUTEX, .thread = {7, 70}},
        {.name = "b", .kind = ZKLI_KIND_LEASE, .permits = 2, .thread = {7, 70}},
    };
    struct owner *owners = NULL;
    bench_begin();
    plant_directories();
    set_node("/locks/b", "permits=3 max=3");
    REQUIRE_INT(enter_all_by(wishes, 2, &owners), ZKL_OK);
    serve_all();
    CHECK_INT(owners[0].error, ZKL_MISMATCH);
    CHECK_INT(owners[1].error, ZKL_MISMATCH);
    CHECK_INT(nodes(), 0);
    end_all();
}

static void one_that_is_alone_names_no_attempt(void) {
    bench_begin();
    plant_directories();
    (void)begin("a");
    struct zkli_node_data data;
    struct request create = serve_until(CREATE);
    REQUIRE(zkli_node_data_parse(&data, create.data, create.length));
    CHECK_STRING(data.attempt, "");
    serve_request(&create);
    serve_all();
    end_all();
}

/* Tries look first, and one of them has not been answered. */
static void creates_wait_for_each_other(void) {
    bench_begin();
    plant_directories();
    begin_several(true);
    for (size_t i = 0; i < SEVERAL; i++) {
        CHECK_INT(Bench.request_count, SEVERAL - i); /* those who wait have no listing out */
        CHECK_INT(in_flight(LIST), SEVERAL - i);
        serve_next();
    }
    CHECK_INT(Bench.requests[0].kind, MULTI);
    CHECK_INT(in_flight(LIST), SEVERAL);
    serve_all();
    check_granted();
    end_all();
}

/* Another contender's listing of the same directory comes, and goes, in the meantime. */
static void who_waits_to_create_does_not_keep_others_from_listing(void) {
    bench_begin();
    plant_directories();
    begin_several(true);
    struct request last = take(SEVERAL - 1);
    serve_all();
    CHECK_INT(Owners[0].member->core.state, ZKLI_ENQUEUING);
    struct owner *other = hold("a");
    CHECK_INT(Bench.sent[LIST], SEVERAL + 1);
    serve_request(&last);
    CHECK_INT(in_flight(MULTI), 1);
    serve_all(); /* it stands behind the other: a try */
    come_to_rest();
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK_INT(Owners[i].error, ZKL_BUSY);
    CHECK_INT(nodes(), 1);
    CHECK_INT(other->grants, 1);
    end_all();
}

static void a_try_at_one_that_is_taken_makes_no_node(void) {
    bench_begin();
    plant_directories();
    (void)tiny_add(&Bench.server,
                   "/locks/b/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-0000000000", 99);
    begin_several(true);
    serve_all();
    CHECK_INT(Bench.sent[MULTI], 0);
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK_INT(Owners[i].error, ZKL_BUSY);
    end_all();
}

static void without_a_connection_they_are_made_with_the_next(void) {
    bench_begin();
    plant_directories();
    cut(0);
    begin_several(false);
    CHECK_INT(Bench.request_count, 0);
    bench_connect();
    serve_all();
    check_granted();
    CHECK_INT(Bench.sent[MULTI], 1);
    end_all();
}

/* ---- What becomes of the transaction ---- */

static void a_missing_directory_is_made_and_all_are_tried_again(void) {
    begin_all();
    (void)tiny_remove(&Bench.server, "/locks/b");
    struct request first = take(0);
    struct tiny_answer served = serve(&first);
    CHECK_INT(served.reply.result, ZKLI_RESULT_NO_NODE);
    CHECK_INT(served.reply.refused, 1);
    tell_reply(first.slot, &served.reply);
    struct request second = await_multi();
    CHECK_INT(Bench.sent[PARENT], 1);
    CHECK(tiny_find(&Bench.server, "/locks/b") != NULL);
    REQUIRE_INT(second.op_count, SEVERAL);
    CHECK(strcmp(first.ops[0].path, second.ops[0].path) != 0); /* another attempt */
    serve_request(&second);
    serve_all();
    check_granted();
    CHECK_INT(Bench.sent[MULTI], 2);
    CHECK_INT(nodes(), SEVERAL);
    CHECK(((Owners[0].notices | Owners[1].notices) & TOLD(REQUEUED)) == 0);
    end_all();
}

static void where_nothing_is_there_all_directories_are_made(void) {
    bench_begin();
    begin_several(false);
    serve_all();
    check_granted();
    CHECK_INT(nodes(), SEVERAL);
    CHECK_INT(Bench.sent[CREATE], 0);
    end_all();
}

/* Else a wait that ends between them would leave directories that never had a node. */
static void directories_go_with_the_nodes_in_them(void) {
    static struct asked others[ZKLI_WINDOW];
    for (size_t room = 1; room <= SEVERAL + 1; room++) {
        bench_begin();
        (void)tiny_add(&Bench.server, "/locks", 0);
        begin_several(false);
        CHECK_INT(Bench.request_count, SEVERAL + 1); /* their answers make room for as many */
        for (size_t i = free_slots() + SEVERAL + 1 - room; i > 0; i--)
            ask(&others[i - 1], ZKLI_QUERY_GET);
        for (size_t i = 0; i < SEVERAL + 1; i++)
            serve_next();
        CHECK_INT(Bench.sent[PARENT], room > SEVERAL ? SEVERAL : 0);
        CHECK_INT(Bench.sent[MULTI], room > SEVERAL ? 2 : 1);
        CHECK_INT(free_slots(), room > SEVERAL ? 0 : room);
        serve_all();
        check_granted();
        CHECK_INT(Bench.sent[PARENT], SEVERAL);
        CHECK_INT(Bench.sent[MULTI], 2);
        end_all();
    }
}

static void a_refusal_of_one_is_all_of_theirs(void) {
    for (size_t place = 0; place < SEVERAL; place++) {
        begin_all();
        struct request multi = serve_until(MULTI);
        refuse(&multi, place, ZKLI_RESULT_DENIED);
        serve_all();
        check_failed(ZKL_DENIED);
        CHECK_INT(Bench.sent[MULTI], 1);
        CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1); /* of the one */
        end_all();
    }
    begin_all();
    struct request multi = serve_until(MULTI);
    refuse(&multi, SEVERAL, ZKLI_RESULT_ERROR); /* of the whole */
    serve_all();
    check_failed(ZKL_SERVER);
    end_all();
}

static void what_is_refused_for_the_moment_is_tried_again(void) {
    begin_all();
    answer_next(MULTI, ZKLI_RESULT_AGAIN);
    serve_all();
    CHECK_INT(Bench.sent[MULTI], 1);
    CHECK(are(ZKLI_IDLE));
    pass(ZKLI_RETRY_FIRST_NS);
    check_granted();
    CHECK_INT(Bench.sent[MULTI], 2);
    CHECK_INT(nodes(), SEVERAL);
    end_all();
}

/* It was done, and there was no memory to read the reply. */
static void without_memory_for_the_reply_nothing_stays(void) {
    begin_all();
    struct request multi = serve_until(MULTI);
    (void)serve(&multi);
    CHECK_INT(nodes(), SEVERAL);
    answer(&multi, ZKLI_RESULT_NOMEM);
    serve_all();
    check_failed(ZKL_NOMEM);
    end_all();
}

/* ---- A lost reply ---- */

static void after_a_lost_reply_all_are_looked_for_and_adopted(void) {
    begin_all();
    cut(1);
    CHECK_INT(nodes(), SEVERAL);
    CHECK(are(ZKLI_UNSURE));
    bench_connect();
    CHECK(are(ZKLI_SEARCHING));
    const size_t lists = Bench.sent[LIST], gets = Bench.sent[GET];
    while (in_flight(LIST) > 1)
        serve_next();
    CHECK_INT(Owners[0].member->core.state, ZKLI_SEARCHED);
    CHECK_INT(Bench.sent[GET], gets); /* not before all are found */
    serve_all();
    check_granted();
    CHECK_INT(Bench.sent[LIST], lists + SEVERAL);
    CHECK_INT(Bench.sent[GET], gets + SEVERAL); /* each by its own read */
    CHECK_INT(Bench.sent[MULTI], 1);
    CHECK_INT(Bench.sent[REMOVE], 0);
    end_all();
}

static void what_was_not_done_is_done_then(void) {
    begin_all();
    char lost[ZKLI_UUID_LENGTH + 1];
    memcpy(lost, Owners[0].member->core.uuid, sizeof(lost));
    cut_and_connect(0);
    CHECK_INT(nodes(), 0);
    serve_all();
    check_granted();
    CHECK_INT(Bench.sent[MULTI], 2);
    CHECK_INT(Bench.sent[REMOVE], 0);
    CHECK(!zkli_uuid_is_same(Owners[0].member->core.uuid, lost)); /* it may come late */
    end_all();
}

/* Whichever it is. The nodes of the others go before any is made. */
static void if_one_is_missing_all_are_made_anew(void) {
    for (size_t place = 0; place < SEVERAL; place++) {
        begin_all();
        struct request multi = take(0);
        struct tiny_answer served = serve(&multi);
        (void)tiny_remove(&Bench.server, served.reply.op_results[place].path);
        answer(&multi, ZKLI_RESULT_LOST);
        cut_and_connect(0);
        while (Bench.request_count > 0 && in_flight(REMOVE) == 0)
            serve_next();
        CHECK_INT(in_flight(REMOVE), SEVERAL - 1);
        CHECK_INT(Owners[place].member->core.state, ZKLI_ENQUEUING);
        serve_next();
        CHECK_INT(Bench.sent[MULTI], 1); /* one is still there */
        multi = serve_until(MULTI);
        CHECK_INT(nodes(), 0);
        REQUIRE_INT(multi.op_count, SEVERAL);
        serve_request(&multi);
        serve_all();
        check_granted();
        CHECK_INT(nodes(), SEVERAL);
        CHECK_INT(Bench.sent[MULTI], 2);
        end_all();
    }
}

/* Any client can make up a name: the read says whose it is. */
static void a_stranger_s_node_is_not_adopted(void) {
    begin_all();
    struct request multi = take(0);
    struct tiny_answer served = serve(&multi);
    char stranger[NODE_PATH_MAX];
    (void)snprintf(stranger, sizeof(stranger), "%s", served.reply.op_results[1].path);
    tiny_find(&Bench.server, stranger)->owner = 99;
    answer(&multi, ZKLI_RESULT_LOST);
    cut_and_connect(0);
    serve_all();
    CHECK_INT(grants(), 0); /* it stands before the new one */
    CHECK(tiny_find(&Bench.server, stranger) != NULL);
    CHECK_INT(nodes(), SEVERAL + 1);
    CHECK_INT(Bench.sent[REMOVE], SEVERAL - 1);
    delete_node(stranger);
    serve_all();
    check_granted();
    end_all();
}

static void a_second_cut_while_they_are_read_is_looked_into_again(void) {
    begin_all();
    cut_and_connect(1);
    while (in_flight(GET) == 0)
        serve_next();
    cut_and_connect(0);
    serve_all();
    check_granted();
    CHECK_INT(Bench.sent[MULTI], 1);
    CHECK_INT(Bench.sent[REMOVE], 0);
    end_all();
}

static void a_transaction_that_cannot_be_sent_is_sent_later(void) {
    bench_begin();
    plant_directories();
    Bench.refused = 1u << MULTI;
    begin_several(false);
    CHECK_INT(Bench.sent[MULTI], 0);
    serve_all();
    CHECK(are(ZKLI_UNSURE)); /* as with any request that may be lost */
    CHECK_INT(Bench.engine->in_flight, 0);
    Bench.refused = 0;
    pass(100 * MS);
    check_granted();
    CHECK_INT(Bench.sent[MULTI], 1);
    CHECK_INT(nodes(), SEVERAL);
    end_all();
}

/* ---- The grant ---- */

/* In the first T of the wait nothing needs to be asked then. Later a heartbeat does, for syncs have
 * kept the lease. */
static void none_is_granted_before_all_are_first(void) {
    for (size_t is_long = 0; is_long < 2; is_long++) {
        begin_behind_another();
        CHECK_INT(grants(), 0);
        CHECK_INT(Owners[0].member->core.state, ZKLI_WAITING);
        CHECK_INT(Owners[1].member->core.state, ZKLI_ADMITTED);
        CHECK_INT(Owners[2].member->core.state, ZKLI_ADMITTED);
        pass((is_long == 1 ? 3 * T_MS : T_MS / 2) * MS);
        const size_t barriers = Bench.sent[BARRIER];
        pass((is_long == 1 ? T_MS : 0) * MS);
        CHECK_INT(Bench.sent[BARRIER], barriers);
        CHECK_INT(grants(), 0);
        delete_node(OTHER_NODE);
        CHECK_INT(Bench.sent[BARRIER], barriers + is_long);
        CHECK_INT(grants(), is_long == 1 ? 0 : SEVERAL);
        serve_all();
        check_granted();
        end_all();
    }
}

/* However long it takes: a hold may begin with its answer. */
static void while_their_nodes_are_made_each_heartbeat_is_a_barrier(void) {
    begin_all();
    struct request creates = await_multi();
    pass(3 * T_MS * MS);
    CHECK_INT(Bench.sent[SYNC], 0);
    serve_request(&creates);
    serve_all();
    check_granted();
    end_all();
}

/* Those that are first must be watched, too. */
static void none_is_granted_before_all_are_watched(void) {
    begin_all();
    while (in_flight(GET) < SEVERAL)
        serve_next();
    CHECK(are(ZKLI_ADMITTED));
    while (in_flight(GET) > 1)
        serve_next();
    CHECK_INT(grants(), 0);
    struct request last = serve_until(GET);
    serve_request(&last);
    check_granted();
    end_all();
}

/* Heartbeats are not answered, until it is their turn; all else is. */
static void none_is_granted_on_a_short_lease(void) {
    begin_behind_another();
    for (int i = 0; i < T_MS / 10 && zkli_lease_is_ample(Bench.engine); i++)
        advance(10 * MS);
    REQUIRE(!zkli_lease_is_ample(Bench.engine) && zkli_engine_is_certain(Bench.engine));
    delete_node(OTHER_NODE);
    CHECK(are(ZKLI_ADMITTED));
    CHECK_INT(grants(), 0);
    pass(T_MS * MS / 8);
    check_granted();
    end_all();
}

/* A reply that comes when the end of its connection has been told. */
static void none_is_granted_without_a_connection(void) {
    begin_all();
    while (in_flight(GET) < SEVERAL)
        serve_next();
    while (in_flight(GET) > 1)
        serve_next();
    struct request last = serve_until(GET);
    tell_state(ZKLI_PORT_CONNECTING);
    serve_request(&last);
    CHECK(zkli_lease_is_ample(Bench.engine));
    CHECK_INT(grants(), 0);
    Bench.request_count = 0;
    bench_connect();
    CHECK_INT(grants(), 0); /* each is listed again */
    serve_all();
    check_granted();
    end_all();
}

/* Each is looked for in its queue again. */
static void another_connection_has_all_listed_again(void) {
    begin_behind_another();
    cut_and_connect(0);
    delete_node(OTHER_NODE);
    CHECK_INT(grants(), 0);
    const size_t lists = in_flight(LIST);
    CHECK(lists > 0);
    serve_all();
    check_granted();
    end_all();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"their nodes are made in one transaction", their_nodes_are_made_in_one_transaction},
        {"their kinds may be mixed", their_kinds_may_be_mixed},
        {"another number of permits fails all", another_number_of_permits_fails_all},
        {"one that is alone names no attempt", one_that_is_alone_names_no_attempt},
        {"creates wait for each other", creates_wait_for_each_other},
        {"who waits to create does not keep others from listing",
         who_waits_to_create_does_not_keep_others_from_listing},
        {"a try at one that is taken makes no node", a_try_at_one_that_is_taken_makes_no_node},
        {"without a connection they are made with the next",
         without_a_connection_they_are_made_with_the_next},
        {"a missing directory is made, and all are tried again",
         a_missing_directory_is_made_and_all_are_tried_again},
        {"where nothing is there all directories are made",
         where_nothing_is_there_all_directories_are_made},
        {"directories go with the nodes in them", directories_go_with_the_nodes_in_them},
        {"a refusal of one is all of theirs", a_refusal_of_one_is_all_of_theirs},
        {"what is refused for the moment is tried again",
         what_is_refused_for_the_moment_is_tried_again},
        {"without memory for the reply nothing stays", without_memory_for_the_reply_nothing_stays},
        {"after a lost reply all are looked for and adopted",
         after_a_lost_reply_all_are_looked_for_and_adopted},
        {"what was not done is done then", what_was_not_done_is_done_then},
        {"if one is missing all are made anew", if_one_is_missing_all_are_made_anew},
        {"a stranger's node is not adopted", a_stranger_s_node_is_not_adopted},
        {"a second cut while they are read is looked into again",
         a_second_cut_while_they_are_read_is_looked_into_again},
        {"a transaction that cannot be sent is sent later",
         a_transaction_that_cannot_be_sent_is_sent_later},
        {"none is granted before all are first", none_is_granted_before_all_are_first},
        {"while their nodes are made, each heartbeat is a barrier",
         while_their_nodes_are_made_each_heartbeat_is_a_barrier},
        {"none is granted before all are watched", none_is_granted_before_all_are_watched},
        {"none is granted on a short lease", none_is_granted_on_a_short_lease},
        {"none is granted without a connection", none_is_granted_without_a_connection},
        {"another connection has all listed again", another_connection_has_all_listed_again},
    };
    return TEST_MAIN(argc, argv, "engine_groups", cases);
}
