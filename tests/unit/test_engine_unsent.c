/*
 * Requests that the port does not send, listings that no member waits for any more, and what a
 * request brings along.
 */
#include "unit/engine_bench.h"

/* ---- What the port does not send ---- */

/* Its slot is free again, and it is asked for later. */
static void what_is_not_sent_keeps_no_slot(void) {
    static const enum kind kinds[] = {CREATE, PARENT, LIST, GET, REMOVE};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        bench_begin();
        struct owner *first = kinds[i] == REMOVE ? hold("a") : NULL;
        Bench.refused = 1u << kinds[i];
        if (first != NULL)
            release(first);
        struct owner *owner = begin("a");
        for (int k = 0; k < 3; k++) {
            serve_all();
            advance(ZKLI_RETRY_LAST_NS);
        }
        serve_all();
        CHECK_INT(free_slots(), ZKLI_WINDOW);
        CHECK_INT(Bench.engine->in_flight, 0);
        CHECK_INT(owner->grants, kinds[i] == GET); /* it holds before it is watched */
        Bench.refused = 0;
        come_to_rest();
        CHECK_INT(owner->grants, 1);
        CHECK(first == NULL || first->member == NULL);
        bench_end();
    }
}

/* None of an ordering's reads: it is dropped, and the queue listed again. */
static void an_ordering_of_which_no_read_is_sent_is_dropped(void) {
    bench_begin();
    Bench.server.number = ZKLI_COUNTER_END - 10;
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    (void)tiny_add(&Bench.server, "/locks/a/x-lock-2147483630", 0x2002);
    struct owner *owner = begin("a");
    struct request list = serve_until(LIST);
    Bench.refused = 1u << GET;
    serve_request(&list);
    CHECK(owner->member->ordering == NULL);
    CHECK_INT(owner->member->unsent_count, 0);
    CHECK_INT(free_slots(), ZKLI_WINDOW);
    Bench.refused = 0;
    delete_node("/locks/a/x-lock-2147483630");
    come_to_rest();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* Its session ends while its reads are out. The next one has an ordering of its own. */
static void an_ordering_ends_with_its_session(void) {
    bench_begin();
    Bench.server.number = ZKLI_COUNTER_END - 10;
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    (void)tiny_add(&Bench.server, "/locks/a/x-lock-2147483630", 0x2002);
    struct owner *owner = begin("a");
    for (int i = 0; i < 3; i++) {
        struct request read = serve_until(GET);
        CHECK(read.path[0] != '\0' && owner->member->ordering != NULL);
        expire();
        bench_connect();
    }
    delete_node("/locks/a/x-lock-2147483630");
    come_to_rest();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

static size_t listings_of(const char *path) {
    size_t count = 0;
    for (size_t i = 0; i < Bench.request_count; i++)
        count += Bench.requests[i].kind == LIST && strcmp(Bench.requests[i].path, path) == 0;
    return count;
}

static void a_listing_that_no_member_waits_for_is_not_sent(void) {
    bench_begin();
    struct owner *keeper = hold("late"); /* of the directory */
    fill_window();
    struct owner *late = begin("late");
    abandon(late);
    CHECK(late->member == NULL);
    while (free_slots() == 0)
        serve_next();
    CHECK_INT(listings_of("/locks/late"), 0);
    serve_all();
    CHECK(zkli_member_is_held(keeper->member));
    bench_end();
}

/* ---- What a request brings along ---- */

static void a_node_without_an_owner_names_none(void) {
    bench_begin();
    Bench.engine->who.owner_nonce = 4711;
    (void)begin_by(&(struct zkli_wish){.name = "a", .kind = ZKLI_KIND_MUTEX, .thread = {7, 70}});
    struct request create = serve_until(CREATE);
    struct zkli_node_data read;
    CHECK(zkli_node_data_parse(&read, create.data, create.length));
    CHECK_INT(read.thread, 70);
    CHECK(read.owner_nonce == 0 && read.owner_thread == 0);
    CHECK(memmem(create.data, create.length, "owner", strlen("owner")) == NULL);
    serve_request(&create);
    end_all();
}

static void a_node_names_its_owner_and_a_directory_nothing(void) {
    static const char *const parts[] = {"its-host", "its-program", "77", "its-label"};
    char data[ZKLI_NODE_DATA_MAX + 1];
    bench_begin();
    struct zkli_node_data *who = &Bench.engine->who;
    (void)snprintf(who->host, sizeof(who->host), "%s", parts[0]);
    (void)snprintf(who->program, sizeof(who->program), "%s", parts[1]);
    who->pid = 77;
    who->owner_nonce = 4711;
    (void)snprintf(who->label, sizeof(who->label), "%s", parts[3]);
    struct owner *owner = begin("a");
    struct request create = serve_until(CREATE), parent = {0};
    answer(&create, ZKLI_RESULT_NO_NODE); /* no directory: it is made */
    (void)memcpy(data, create.data, create.length);
    data[create.length] = '\0';
    for (size_t i = 0; i < COUNT(parts); i++)
        CHECK(strstr(data, parts[i]) != NULL);
    struct zkli_node_data read;
    CHECK(zkli_node_data_parse(&read, create.data, create.length));
    CHECK_INT(read.thread, 70); /* of all owners, with the number 7 */
    CHECK(read.owner_nonce == 4711 && read.owner_thread == 7);
    CHECK_INT(read.timeout_ms, T_MS);
    CHECK(read.token == 0 && read.attempt[0] == '\0');
    parent = serve_until(PARENT);
    CHECK_INT(parent.length, 0);
    serve_request(&parent);
    come_to_rest();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* An orphan's node is read without a watch: nothing waits for it. */
static void whose_a_node_is_is_read_without_a_watch(void) {
    bench_begin();
    hold("a");
    const char *orphan = plant_with_our_tag(0x2002);
    struct owner *waiter = begin("a");
    size_t reads = 0;
    while (Bench.request_count > 0) {
        struct request request = take(0);
        if (request.kind == GET && strcmp(request.path, orphan) == 0) {
            reads++;
            CHECK(!request.is_watched);
        }
        serve_request(&request);
    }
    CHECK_INT(reads, 1);
    abandon(waiter);
    come_to_rest();
    CHECK(tiny_find(&Bench.server, orphan) != NULL); /* another session's */
    bench_end();
}

/* A query that is asked once more is not sent before it is. */
static void a_query_that_is_asked_again_is_not_sent_yet(void) {
    struct asked asked;
    bench_begin();
    ask(&asked, ZKLI_QUERY_GET);
    CHECK(asked.query.is_sent);
    serve_all();
    cut(0);
    zkli_query_ask(Bench.engine, &asked.query);
    CHECK(!asked.query.is_sent);
    bench_connect();
    CHECK(asked.query.is_sent);
    serve_all();
    check_asked(&asked, 2, 2);
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"what is not sent keeps no slot", what_is_not_sent_keeps_no_slot},
        {"an ordering of which no read is sent is dropped",
         an_ordering_of_which_no_read_is_sent_is_dropped},
        {"an ordering ends with its session", an_ordering_ends_with_its_session},
        {"a listing that no member waits for is not sent",
         a_listing_that_no_member_waits_for_is_not_sent},
        {"a node without an owner names none", a_node_without_an_owner_names_none},
        {"a node names its owner, and a directory nothing",
         a_node_names_its_owner_and_a_directory_nothing},
        {"whose a node is is read without a watch", whose_a_node_is_is_read_without_a_watch},
        {"a query that is asked again is not sent yet",
         a_query_that_is_asked_again_is_not_sent_yet},
    };
    return TEST_MAIN(argc, argv, "engine_unsent", cases);
}
