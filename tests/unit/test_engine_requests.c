/*
 * What an engine sends and what it makes of the replies: refused requests, the window, replies that
 * nobody waits for any more, orderings, queries, and what is said in the log.
 */
#include "unit/engine_bench.h"

#define NEAR_THE_END INT64_C(2147483600)

/* ---- Requests that are not sent, or not done ---- */

/* Two in one queue: the first holds, releases, the second holds and releases; nothing is left. */
static void check_all_goes_well(struct bench *b, struct owner *first, struct owner *second) {
    come_to_rest(b);
    REQUIRE(first->member != NULL && second->member != NULL);
    CHECK_INT(first->grants, 1);
    CHECK_INT(second->grants, 0);
    release(b, first);
    come_to_rest(b);
    CHECK(first->member == NULL);
    REQUIRE(second->member != NULL);
    CHECK_INT(second->grants, 1);
    release(b, second);
    come_to_rest(b);
    CHECK(second->member == NULL);
    CHECK_INT(count_children(&b->server, "/locks/a"), 0);
    bench_end(b);
}

static void what_is_not_sent_is_sent_later(void) {
    struct bench *b = &Bench;
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (int near = 0; near < 2; near++) {
            bench_begin(b);
            b->server.number = near == 0 ? 0 : NEAR_THE_END;
            b->refused = 1u << kind;
            struct owner *first = begin(b, "a"), *second = begin(b, "a");
            serve_all(b);
            advance(b, 10 * MS);
            serve_all(b);
            b->refused = 0;
            check_all_goes_well(b, first, second);
        }
}

/* From the first refusal on for 20 ms, then twice as long, and so on to a second. */
static void what_is_refused_for_the_moment_is_asked_again_and_more_and_more_seldom(void) {
    struct bench *b = &Bench;
    int64_t waits[9] = {0};
    bench_begin(b);
    struct owner *owner = begin(b, "a");
    for (size_t i = 0; i < COUNT(waits); i++) {
        answer_next(b, CREATE, ZKLI_RESULT_AGAIN);
        answer_next(b, LIST, ZKLI_RESULT_AGAIN);
        while (b->request_count == 0) {
            waits[i] += MS;
            advance(b, MS);
            while (b->request_count > 0 && b->requests[0].kind == BARRIER)
                serve_next(b);
        }
    }
    CHECK_INT(waits[0], ZKLI_RETRY_FIRST_NS);
    for (size_t i = 1; i < COUNT(waits); i++)
        CHECK(waits[i] == 2 * waits[i - 1] ||
              (waits[i] == ZKLI_RETRY_LAST_NS && waits[i - 1] >= ZKLI_RETRY_LAST_NS / 2));
    CHECK_INT(waits[COUNT(waits) - 1], ZKLI_RETRY_LAST_NS);
    cut(b, 0);
    connect(b); /* and a new connection is a new beginning */
    come_to_rest(b);
    CHECK_INT(owner->grants, 1);
    bench_end(b);
}

/* A server before 3.5.1. */
static void a_server_without_containers_is_given_plain_directories(void) {
    struct bench *b = &Bench;
    struct zkli_reply reply = {.result = ZKLI_RESULT_ERROR, .is_unimplemented = true};
    bench_begin(b);
    struct owner *owner = begin(b, "a");
    struct request request = serve_until(b, PARENT);
    CHECK(request.mode == ZKLI_CONTAINER);
    tell_reply(b, request.slot, &reply);
    answer_next(b, CREATE, ZKLI_RESULT_NO_NODE);
    answer_next(b, LIST, ZKLI_RESULT_NO_NODE);
    CHECK_INT(b->request_count, 0);
    advance(b, ZKLI_RETRY_FIRST_NS);
    REQUIRE(b->request_count == 3);
    CHECK(b->requests[0].kind == PARENT && b->requests[0].mode == ZKLI_PERSISTENT);
    serve_all(b);
    CHECK_INT(owner->grants, 1);
    CHECK_INT(b->lines[ZKL_LOG_ERROR], 0);
    bench_end(b);
}

/* Of 3.4: it does not know the request that makes a contender's node. */
static void a_server_that_is_too_old_is_told_of_once(void) {
    struct bench *b = &Bench;
    struct zkli_reply reply = {.result = ZKLI_RESULT_ERROR, .code = -6, .is_unimplemented = true};
    bench_begin(b);
    struct owner *owner = begin(b, "a");
    struct request request = serve_until(b, CREATE);
    tell_reply(b, request.slot, &reply);
    CHECK_INT(b->lines[ZKL_LOG_ERROR], 1);
    CHECK(strstr(b->last_line, "older than ZooKeeper 3.5.3") != NULL);
    cut(b, 0); /* the server closes the connection */
    connect(b);
    come_to_rest(b);
    CHECK_INT(owner->grants, 0);
    CHECK_INT(owner->error, ZKL_SERVER);
    CHECK_INT(b->lines[ZKL_LOG_ERROR], 1);
    bench_end(b);
}

static void the_root_may_be_the_root_of_all(void) {
    struct bench *b = &Bench;
    bench_start(b, "/", false);
    connect(b);
    struct owner *owner = hold(b, "a");
    CHECK(strncmp(path_of(owner), "/a/_c_", 6) == 0);
    char path[8];
    CHECK(!zkli_member_path(owner->member, path, sizeof(path)));
    bench_end(b);
}

/* ---- The window ---- */

static void no_more_is_in_flight_than_the_window_but_a_heartbeat(void) {
    struct bench *b = &Bench;
    char name[32];
    bench_begin(b);
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        (void)begin(b, name);
    }
    CHECK_INT(b->request_count, ZKLI_WINDOW);
    advance(b, T_MS / 10 * MS);
    REQUIRE(b->request_count == ZKLI_WINDOW + 1);
    CHECK(b->requests[ZKLI_WINDOW].kind == BARRIER);
    CHECK_INT(b->requests[ZKLI_WINDOW].slot, ZKLI_SLOT_HEARTBEAT);
    come_to_rest(b);
    for (size_t i = 0; i < b->owner_count; i++)
        CHECK_INT(b->owners[i].grants, 1);
    bench_end(b);
}

/* Whoever asks for a listing that is in line, with a request in line behind it, gets the next. */
static void a_listing_is_sent_though_more_and_more_ask_for_it(void) {
    struct bench *b = &Bench;
    char name[32];
    bench_begin(b);
    release(b, hold(b, "a"));
    serve_all(b);
    for (int i = 0; i < 140; i++) {
        (void)snprintf(name, sizeof(name), "before%d", i);
        (void)begin(b, name);
    }
    struct owner *first = begin(b, "a");
    for (int i = 0; i < 300 && first->grants == 0; i++) {
        (void)begin(b, "a");
        serve_next(b);
        serve_next(b);
    }
    CHECK_INT(first->grants, 1);
    bench_end(b);
}

static bool is_unsent(const struct zkli_member *m, unsigned ask) {
    for (size_t i = 0; i < m->unsent_count; i++)
        if (m->unsent[i] == ask)
            return true;
    return false;
}

static void check_no_directory_is_sent_alone(const struct bench *b) {
    for (size_t i = 0; i < b->owner_count; i++) {
        const struct zkli_member *m = b->owners[i].member;
        bool is_parent_sent = m != NULL && (m->core.in_flight & ZKLI_ASK_PARENT) != 0 &&
                              !is_unsent(m, ZKLI_ASK_PARENT);
        CHECK(!is_parent_sent || !is_unsent(m, ZKLI_ASK_CREATE));
    }
}

/* T31: or a wait that ends meanwhile would leave it, and nobody would have stood in it. */
static void a_directory_is_sent_with_its_node_or_not_at_all(void) {
    struct bench *b = &Bench;
    char name[32];
    bench_begin(b);
    (void)hold(b, "root"); /* else the first directories are sent alone, and in vain */
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        (void)begin(b, name);
    }
    while (b->request_count > 0) {
        serve_next(b);
        check_no_directory_is_sent_alone(b);
    }
    for (size_t i = 0; i < b->owner_count; i++)
        CHECK_INT(b->owners[i].grants, 1);
    bench_end(b);
}

/* Fills the window with requests that are not answered. */
static void fill_window(struct bench *b) {
    char name[32];
    for (int i = 0; b->engine->free_slot != ZKLI_SLOTS; i++) {
        (void)snprintf(name, sizeof(name), "w%d", i);
        (void)begin(b, name);
    }
}

/* T15 */
static void what_was_not_sent_when_its_owner_left_is_never_sent(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    fill_window(b);
    struct owner *owner = begin(b, "a");
    abandon(b, owner);
    CHECK(owner->member == NULL && owner->error == ZKL_CANCELED);
    struct owner *first = begin(b, "b"), *second = begin(b, "b");
    zkli_engine_enter(b->engine); /* said twice before anybody has heard: the first counts */
    zkli_member_abandon(first->member, ZKL_TIMEOUT);
    zkli_member_abandon(first->member, ZKL_CANCELED);
    zkli_member_release(first->member);
    settle(b);
    CHECK_INT(first->error, ZKL_TIMEOUT);
    come_to_rest(b);
    CHECK(find_node(&b->server, "/locks/a") == NULL);
    CHECK_INT(second->grants, 1);
    bench_end(b);
}

/* The create has been sent, the listing has not. */
static void who_leaves_between_create_and_listing_deletes_what_was_created(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    fill_window(b);
    struct owner *owner = begin(b, "a");
    while (strstr(b->requests[b->request_count - 1].path, "/locks/a/") == NULL)
        serve_next(b);
    CHECK(b->requests[b->request_count - 1].kind == CREATE);
    abandon(b, owner);
    CHECK((owner->notices & TOLD(FAILED)) != 0);
    come_to_rest(b);
    CHECK(owner->member == NULL);
    CHECK_INT(count_children(&b->server, "/locks/a"), 0);
    bench_end(b);
}

/* ---- Replies that nobody waits for ---- */

static void a_reply_to_nothing_changes_nothing(void) {
    struct bench *b = &Bench;
    struct zkli_reply reply = {.result = ZKLI_RESULT_OK};
    bench_begin(b);
    struct owner *owner = begin(b, "a");
    struct zkli_port *before = b->engine->port;
    tell_reply(b, 200, &reply); /* a slot that is free */
    expire(b);
    connect(b);
    zkli_engine_enter(b->engine);
    for (unsigned slot = 0; slot < ZKLI_SLOTS; slot++)
        zkli_engine_on_reply(b->engine, before, slot, &reply); /* of the session before */
    zkli_engine_on_watch(b->engine, before, "/locks/a", ZKLI_WATCH_DELETED);
    zkli_engine_on_state(b->engine, before, ZKLI_PORT_EXPIRED);
    zkli_engine_on_open_failed(b->engine, before);
    settle(b);
    tell_watch(b, "/locks/nobody/knows", ZKLI_WATCH_DELETED);
    come_to_rest(b);
    CHECK_INT(owner->grants, 1);
    CHECK_INT(b->port_count, 2);
    bench_end(b);
}

/* Reads in flight when their owner leaves; whatever they come to, it is not said to be its node's
 * or its predecessor's, which it does not have any more. */
static void a_late_refusal_is_logged_with_the_directory(void) {
    struct bench *b = &Bench;
    for (int is_predecessor = 0; is_predecessor < 2; is_predecessor++) {
        bench_begin(b);
        struct owner *owner = hold(b, "a");
        if (is_predecessor == 0) {
            advance(b, T_MS / 10 * MS); /* the watch on its own node */
            release(b, owner);
        } else {
            owner = begin(b, "a");
            answer_next(b, GET, ZKLI_RESULT_OK);
            abandon(b, owner);
        }
        answer_next(b, GET, ZKLI_RESULT_DENIED);
        CHECK(strstr(b->last_line, "/locks/a (code") != NULL);
        come_to_rest(b);
        CHECK(owner->member == NULL);
        bench_end(b);
    }
}

static void a_refusal_is_logged_once_with_what_was_read(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *first = hold(b, "a"), *second = begin(b, "a"), *third = begin(b, "a");
    advance(b, T_MS / 10 * MS);
    (void)first;
    answer_next(b, GET, ZKLI_RESULT_DENIED); /* some node's */
    CHECK(strstr(b->last_line, "/locks/a/_c_") != NULL);
    answer_next(b, GET, ZKLI_RESULT_ERROR);
    come_to_rest(b);
    CHECK(second->error == ZKL_DENIED || second->error == ZKL_SERVER || second->grants == 0);
    size_t lines = b->lines[ZKL_LOG_ERROR];
    abandon(b, third);
    for (int i = 0; i < 3 && third->member != NULL;
         i++) { /* the delete is refused again and again */
        answer_next(b, REMOVE, ZKLI_RESULT_DENIED);
        advance(b, ZKLI_RETRY_LAST_NS);
    }
    CHECK(b->lines[ZKL_LOG_ERROR] <= lines + 1);
    come_to_rest(b);
    bench_end(b);
}

static void a_listing_that_is_refused_fails_the_acquire(void) {
    struct bench *b = &Bench;
    static const struct {
        enum zkli_result result;
        int error;
    } cases[] = {{ZKLI_RESULT_DENIED, ZKL_DENIED}, {ZKLI_RESULT_ERROR, ZKL_SERVER}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        bench_begin(b);
        hold(b, "a");
        struct owner *owner = begin(b, "a");
        answer_next(b, LIST, cases[i].result);
        CHECK_INT(owner->error, cases[i].error);
        CHECK(strstr(b->last_line, "refuses to list /locks/a") != NULL);
        come_to_rest(b);
        CHECK(owner->member == NULL);
        CHECK_INT(count_children(&b->server, "/locks/a"), 1);
        bench_end(b);
    }
}

/* ---- Orderings: every sibling's czxid is read ---- */

static void near_the_counter_s_end_the_order_is_that_of_creation(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    b->server.number = NEAR_THE_END;
    struct owner *first = begin(b, "a");
    serve_all(b);
    b->server.number = 3; /* so that numbers say the contrary */
    struct owner *second = begin(b, "a"), *third = begin(b, "a");
    come_to_rest(b);
    abandon(b, third);
    check_all_goes_well(b, first, second);
}

/* Whatever one of the reads comes to, and when. */
static void an_ordering_survives_what_happens_to_its_reads(void) {
    struct bench *b = &Bench;
    static const enum zkli_result results[] = {ZKLI_RESULT_NO_NODE, ZKLI_RESULT_LOST,
                                               ZKLI_RESULT_AGAIN, ZKLI_RESULT_DENIED};
    for (size_t i = 0; i < COUNT(results); i++)
        for (int which = 0; which < 3; which++) {
            bench_begin(b);
            hold(b, "a");
            b->server.number = NEAR_THE_END;
            struct owner *second = begin(b, "a");
            serve_all(b);
            struct owner *third = begin(b, "a");
            for (int skip = 0; skip < which; skip++) {
                struct request request = serve_until(b, GET);
                struct zkli_reply reply = serve(b, &request);
                tell_reply(b, request.slot, &reply);
            }
            size_t lists = b->sent[LIST];
            answer_next(b, GET, results[i]);
            come_to_rest(b);
            /* Who has gone is out of the queue; of the others more must be known. */
            bool is_own = (third->notices & TOLD(REQUEUED)) != 0;
            CHECK((b->sent[LIST] > lists) == (is_own || results[i] != ZKLI_RESULT_NO_NODE));
            CHECK(second->member != NULL && third->member != NULL);
            CHECK_INT(second->grants + third->grants, 0);
            bench_end(b);
        }
}

static void who_leaves_during_an_ordering_is_told_nothing_more(void) {
    struct bench *b = &Bench;
    for (int way = 0; way < 3; way++) {
        bench_begin(b);
        hold(b, "a");
        b->server.number = NEAR_THE_END;
        if (way == 2)
            fill_window(b);
        struct owner *owner = begin(b, "a");
        if (way < 2)
            b->requests[b->request_count] = serve_until(b, GET), b->request_count++;
        for (int i = 0; way == 2 && i < 700 && owner->member->ordering == NULL; i++)
            serve_next(b);
        CHECK(owner->member->ordering != NULL);
        if (way == 1)
            cut(b, 0);
        abandon(b, owner);
        CHECK(owner->member->ordering == NULL);
        if (way == 1)
            connect(b);
        come_to_rest(b);
        CHECK(owner->member == NULL);
        bench_end(b);
    }
}

/* ---- Orphans ---- */

/* A node of ours that no contender knows; the tag says whose it is. */
static void what_nobody_of_ours_knows_is_buried_and_what_others_have_is_not(void) {
    struct bench *b = &Bench;
    char path[ZKLI_PATH_MAX];
    bench_begin(b);
    struct owner *holder = hold(b, "a");
    (void)snprintf(path, sizeof(path), "/locks/a/_c_%.13s-0000-0000-000000000000-lock-0000000900",
                   b->engine->tag);
    (void)add_node(&b->server, path, b->last_session);
    (void)add_node(&b->server, "/locks/a/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-0000000901",
                   1);
    struct owner *waiter = begin(b, "a"), *other = begin(b, "a");
    cut(b, 1); /* a create that was done, without a reply */
    connect(b);
    come_to_rest(b);
    CHECK(find_node(&b->server, path) == NULL);
    CHECK_INT(count_children(&b->server, "/locks/a"), 4);
    CHECK(waiter->member != NULL && other->member != NULL && holder->member != NULL);
    CHECK(strstr(b->last_line, "burying") != NULL);
    bench_end(b);
}

/* ---- Queries ---- */

struct asked {
    struct zkli_query query;
    size_t done, replies;
};

static void on_done(struct zkli_query *query, const struct zkli_reply *reply) {
    struct asked *asked = ZKLI_CONTAINER(query, struct asked, query);
    asked->done++;
    asked->replies += reply != NULL;
}

static void ask(struct bench *b, struct asked *asked, enum zkli_query_kind kind) {
    *asked = (struct asked){.query = {.kind = kind, .path = "/locks/a", .done = on_done}};
    zkli_engine_enter(b->engine);
    zkli_query_ask(b->engine, &asked->query);
    settle(b);
}

static void check_asked(const struct asked *asked, size_t done, size_t replies) {
    CHECK_INT(asked->done, done);
    CHECK_INT(asked->replies, replies);
}

static void a_query_is_done_once_with_a_reply_or_without(void) {
    struct bench *b = &Bench;
    struct asked list, get, lost, unsent, forgotten, late;
    bench_begin(b);
    ask(b, &list, ZKLI_QUERY_LIST);
    ask(b, &get, ZKLI_QUERY_GET);
    serve_all(b);
    check_asked(&list, 1, 1);
    check_asked(&get, 1, 1);
    ask(b, &lost, ZKLI_QUERY_GET);
    answer_next(b, GET, ZKLI_RESULT_LOST);
    check_asked(&lost, 1, 0);
    b->refused = 1u << LIST;
    ask(b, &unsent, ZKLI_QUERY_LIST);
    check_asked(&unsent, 1, 0);
    b->refused = 0;
    ask(b, &list, ZKLI_QUERY_GET);
    ask(b, &forgotten, ZKLI_QUERY_GET);
    zkli_query_forget(b->engine, &forgotten.query);
    serve_all(b);
    check_asked(&forgotten, 0, 0);
    check_asked(&list, 1, 1);
    ask(b, &late, ZKLI_QUERY_LIST);
    expire(b);
    check_asked(&late, 1, 0);
    bench_end(b);
}

/* What is not sent yet asks the next session; if there is none, it is done. */
static void a_query_waits_for_a_session_until_there_will_be_none(void) {
    struct bench *b = &Bench;
    struct asked one, two, three;
    bench_begin(b);
    hold(b, "a");
    cut(b, 0);
    ask(b, &one, ZKLI_QUERY_LIST);
    (void)begin(b, "b");
    expire(b);
    check_asked(&one, 0, 0);
    connect(b);
    come_to_rest(b);
    check_asked(&one, 1, 1);
    fill_window(b);
    ask(b, &two, ZKLI_QUERY_LIST);
    (void)begin(b, "b");
    ask(b, &three, ZKLI_QUERY_GET);
    tell_state(b, b->engine->port, ZKLI_PORT_AUTH_FAILED);
    check_asked(&two, 1, 0);
    check_asked(&three, 1, 0);
    bench_end(b);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"what is not sent is sent later", what_is_not_sent_is_sent_later},
        {"what is refused for the moment is asked again, and more and more seldom",
         what_is_refused_for_the_moment_is_asked_again_and_more_and_more_seldom},
        {"a server that is too old is told of once", a_server_that_is_too_old_is_told_of_once},
        {"a server without containers is given plain directories",
         a_server_without_containers_is_given_plain_directories},
        {"the root may be the root of all", the_root_may_be_the_root_of_all},
        {"no more is in flight than the window, but a heartbeat",
         no_more_is_in_flight_than_the_window_but_a_heartbeat},
        {"a listing is sent though more and more ask for it",
         a_listing_is_sent_though_more_and_more_ask_for_it},
        {"a directory is sent with its node, or not at all",
         a_directory_is_sent_with_its_node_or_not_at_all},
        {"what was not sent when its owner left is never sent",
         what_was_not_sent_when_its_owner_left_is_never_sent},
        {"who leaves between create and listing deletes what was created",
         who_leaves_between_create_and_listing_deletes_what_was_created},
        {"a reply to nothing changes nothing", a_reply_to_nothing_changes_nothing},
        {"a late refusal is logged with the directory",
         a_late_refusal_is_logged_with_the_directory},
        {"a refusal is logged once, with what was read",
         a_refusal_is_logged_once_with_what_was_read},
        {"a listing that is refused fails the acquire",
         a_listing_that_is_refused_fails_the_acquire},
        {"near the counter's end the order is that of creation",
         near_the_counter_s_end_the_order_is_that_of_creation},
        {"an ordering survives what happens to its reads",
         an_ordering_survives_what_happens_to_its_reads},
        {"who leaves during an ordering is told nothing more",
         who_leaves_during_an_ordering_is_told_nothing_more},
        {"what nobody of ours knows is buried, and what others have is not",
         what_nobody_of_ours_knows_is_buried_and_what_others_have_is_not},
        {"a query is done once, with a reply or without",
         a_query_is_done_once_with_a_reply_or_without},
        {"a query waits for a session until there will be none",
         a_query_waits_for_a_session_until_there_will_be_none},
    };
    return TEST_MAIN(argc, argv, "engine_requests", cases);
}
