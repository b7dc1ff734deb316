/*
 * What an engine sends and what it makes of the replies: refused requests, the window, replies that
 * nobody waits for any more, orderings, queries, and what is said in the log.
 */
#include "unit/engine_bench.h"

#define NEAR_THE_END INT64_C(2147483600)

/* ---- Requests that are not sent, or not done ---- */

/* Two in one queue: the first holds, releases, the second holds and releases; nothing is left. */
static void check_all_goes_well(struct owner *first, struct owner *second) {
    come_to_rest();
    REQUIRE(first->member != NULL && second->member != NULL);
    CHECK_INT(first->grants, 1);
    CHECK_INT(second->grants, 0);
    release(first);
    come_to_rest();
    CHECK(first->member == NULL);
    REQUIRE(second->member != NULL);
    CHECK_INT(second->grants, 1);
    release(second);
    come_to_rest();
    CHECK(second->member == NULL);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

static void what_is_not_sent_is_sent_later(void) {
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (int near = 0; near < 2; near++) {
            bench_begin();
            Bench.server.number = near == 0 ? 0 : NEAR_THE_END;
            Bench.refused = 1u << kind;
            struct owner *first = begin("a"), *second = begin("a");
            serve_all();
            advance(10 * MS);
            serve_all();
            Bench.refused = 0;
            check_all_goes_well(first, second);
        }
}

/* From the first refusal on for 20 ms, then twice as long, and so on to a second. */
static void what_is_refused_for_the_moment_is_asked_again_and_more_and_more_seldom(void) {
    int64_t waits[9] = {0};
    bench_begin();
    struct owner *owner = begin("a");
    for (size_t i = 0; i < COUNT(waits); i++) {
        answer_next(CREATE, ZKLI_RESULT_AGAIN);
        answer_next(LIST, ZKLI_RESULT_AGAIN);
        while (Bench.request_count == 0) {
            waits[i] += MS;
            advance(MS);
            while (Bench.request_count > 0 && Bench.requests[0].kind == BARRIER)
                serve_next();
        }
    }
    CHECK_INT(waits[0], ZKLI_RETRY_FIRST_NS);
    for (size_t i = 1; i < COUNT(waits); i++)
        CHECK(waits[i] == 2 * waits[i - 1] ||
              (waits[i] == ZKLI_RETRY_LAST_NS && waits[i - 1] >= ZKLI_RETRY_LAST_NS / 2));
    CHECK_INT(waits[COUNT(waits) - 1], ZKLI_RETRY_LAST_NS);
    cut_and_connect(0); /* and a new connection is a new beginning */
    come_to_rest();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* A server before 3.5.1. */
static void a_server_without_containers_is_given_plain_directories(void) {
    struct zkli_reply reply = {.result = ZKLI_RESULT_ERROR, .is_unimplemented = true};
    bench_begin();
    struct owner *owner = begin("a");
    struct request request = serve_until(PARENT);
    CHECK(request.mode == ZKLI_CONTAINER);
    tell_reply(request.slot, &reply);
    answer_next(CREATE, ZKLI_RESULT_NO_NODE);
    answer_next(LIST, ZKLI_RESULT_NO_NODE);
    CHECK_INT(Bench.request_count, 0);
    advance(ZKLI_RETRY_FIRST_NS);
    REQUIRE(Bench.request_count == 3);
    CHECK(Bench.requests[0].kind == PARENT && Bench.requests[0].mode == ZKLI_PERSISTENT);
    serve_all();
    CHECK_INT(owner->grants, 1);
    CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 0);
    bench_end();
}

/* Of 3.4: it does not know the request that makes a contender's node. */
static void a_server_that_is_too_old_is_told_of_once(void) {
    struct zkli_reply reply = {.result = ZKLI_RESULT_ERROR, .code = -6, .is_unimplemented = true};
    bench_begin();
    struct owner *owner = begin("a");
    struct request request = serve_until(CREATE);
    tell_reply(request.slot, &reply);
    CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1);
    CHECK(strstr(Bench.last_line, "older than ZooKeeper 3.5.3") != NULL);
    cut_and_connect(0); /* the server closes the connection */
    come_to_rest();
    CHECK_INT(owner->grants, 0);
    CHECK_INT(owner->error, ZKL_SERVER);
    CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1);
    bench_end();
}

static void the_root_may_be_the_root_of_all(void) {
    bench_start("/", false);
    bench_connect();
    struct owner *owner = hold("a");
    CHECK(strncmp(path_of(owner), "/a/_c_", 6) == 0);
    char path[8];
    CHECK(!zkli_member_path(owner->member, path, sizeof(path)));
    bench_end();
}

/* ---- The window ---- */

static void no_more_is_in_flight_than_the_window_but_a_heartbeat(void) {
    bench_begin();
    (void)hold("h");
    begin_many("n", 300);
    CHECK_INT(Bench.request_count, ZKLI_WINDOW);
    advance(T_MS / 10 * MS);
    REQUIRE(Bench.request_count == ZKLI_WINDOW + 1);
    CHECK(Bench.requests[ZKLI_WINDOW].kind == BARRIER);
    CHECK_INT(Bench.requests[ZKLI_WINDOW].slot, ZKLI_SLOT_HEARTBEAT);
    come_to_rest();
    for (size_t i = 0; i < Bench.owner_count; i++)
        CHECK_INT(Bench.owners[i].grants, 1);
    bench_end();
}

/* Whoever asks for a listing that is in line, with a request in line behind it, gets the next. */
static void a_listing_is_sent_though_more_and_more_ask_for_it(void) {
    bench_begin();
    release(hold("a"));
    serve_all();
    begin_many("before", 140);
    struct owner *first = begin("a");
    for (int i = 0; i < 300 && first->grants == 0; i++) {
        (void)begin("a");
        serve_next();
        serve_next();
    }
    CHECK_INT(first->grants, 1);
    bench_end();
}

static bool is_unsent(const struct zkli_member *m, unsigned ask) {
    for (size_t i = 0; i < m->unsent_count; i++)
        if (m->unsent[i] == ask)
            return true;
    return false;
}

static void check_no_directory_is_sent_alone(void) {
    for (size_t i = 0; i < Bench.owner_count; i++) {
        const struct zkli_member *m = Bench.owners[i].member;
        bool is_parent_sent = m != NULL && (m->core.in_flight & ZKLI_ASK_PARENT) != 0 &&
                              !is_unsent(m, ZKLI_ASK_PARENT);
        CHECK(!is_parent_sent || !is_unsent(m, ZKLI_ASK_CREATE));
    }
}

/* T31: or a wait that ends meanwhile would leave it, and nobody would have stood in it. */
static void a_directory_is_sent_with_its_node_or_not_at_all(void) {
    bench_begin();
    (void)hold("root"); /* else the first directories are sent alone, and in vain */
    begin_many("n", 300);
    while (Bench.request_count > 0) {
        serve_next();
        check_no_directory_is_sent_alone();
    }
    for (size_t i = 0; i < Bench.owner_count; i++)
        CHECK_INT(Bench.owners[i].grants, 1);
    bench_end();
}

/* T15 */
static void what_was_not_sent_when_its_owner_left_is_never_sent(void) {
    bench_begin();
    fill_window();
    struct owner *owner = begin("a");
    abandon(owner);
    CHECK(owner->member == NULL && owner->error == ZKL_CANCELED);
    struct owner *first = begin("b"), *second = begin("b");
    zkli_engine_enter(Bench.engine); /* said twice before anybody has heard: the first counts */
    zkli_member_abandon(first->member, ZKL_TIMEOUT);
    zkli_member_abandon(first->member, ZKL_CANCELED);
    zkli_member_release(first->member);
    settle();
    CHECK_INT(first->error, ZKL_TIMEOUT);
    come_to_rest();
    CHECK(tiny_find(&Bench.server, "/locks/a") == NULL);
    CHECK_INT(second->grants, 1);
    bench_end();
}

/* The create has been sent, the listing has not. */
static void who_leaves_between_create_and_listing_deletes_what_was_created(void) {
    bench_begin();
    fill_window();
    struct owner *owner = begin("a");
    while (strstr(Bench.requests[Bench.request_count - 1].path, "/locks/a/") == NULL)
        serve_next();
    CHECK(Bench.requests[Bench.request_count - 1].kind == CREATE);
    abandon(owner);
    CHECK((owner->notices & TOLD(FAILED)) != 0);
    come_to_rest();
    CHECK(owner->member == NULL);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

/* ---- Replies that nobody waits for ---- */

static void a_reply_to_nothing_changes_nothing(void) {
    struct zkli_reply reply = {.result = ZKLI_RESULT_OK};
    bench_begin();
    struct owner *owner = begin("a");
    struct zkli_port *before = Bench.engine->port;
    tell_reply(200, &reply); /* a slot that is free */
    expire();
    bench_connect();
    zkli_engine_enter(Bench.engine);
    for (unsigned slot = 0; slot < ZKLI_SLOTS; slot++)
        zkli_engine_on_reply(Bench.engine, before, slot, &reply); /* of the session before */
    zkli_engine_on_watch(Bench.engine, before, "/locks/a", ZKLI_WATCH_DELETED);
    zkli_engine_on_state(Bench.engine, before, ZKLI_PORT_EXPIRED);
    zkli_engine_on_open_failed(Bench.engine, before);
    settle();
    tell_watch("/locks/nobody/knows", ZKLI_WATCH_DELETED);
    come_to_rest();
    CHECK_INT(owner->grants, 1);
    CHECK_INT(Bench.port_count, 2);
    bench_end();
}

/* Reads in flight when their owner leaves; whatever they come to, it is not said to be its node's
 * or its predecessor's, which it does not have any more. */
static void a_late_refusal_is_logged_with_the_directory(void) {
    for (int is_predecessor = 0; is_predecessor < 2; is_predecessor++) {
        bench_begin();
        struct owner *owner = hold("a");
        if (is_predecessor == 0) {
            advance(T_MS / 10 * MS); /* the watch on its own node */
            release(owner);
        } else {
            owner = begin("a");
            answer_next(GET, ZKLI_RESULT_OK);
            abandon(owner);
        }
        answer_next(GET, ZKLI_RESULT_DENIED);
        CHECK(strstr(Bench.last_line, "/locks/a (code") != NULL);
        come_to_rest();
        CHECK(owner->member == NULL);
        bench_end();
    }
}

static void a_refusal_is_logged_once_with_what_was_read(void) {
    bench_begin();
    struct owner *first = hold("a"), *second = begin("a"), *third = begin("a");
    advance(T_MS / 10 * MS);
    (void)first;
    answer_next(GET, ZKLI_RESULT_DENIED); /* some node's */
    CHECK(strstr(Bench.last_line, "/locks/a/_c_") != NULL);
    answer_next(GET, ZKLI_RESULT_ERROR);
    come_to_rest();
    CHECK(second->error == ZKL_DENIED || second->error == ZKL_SERVER || second->grants == 0);
    size_t lines = Bench.lines[ZKL_LOG_ERROR];
    abandon(third);
    for (int i = 0; i < 3 && third->member != NULL;
         i++) { /* the delete is refused again and again */
        answer_next(REMOVE, ZKLI_RESULT_DENIED);
        advance(ZKLI_RETRY_LAST_NS);
    }
    CHECK(Bench.lines[ZKL_LOG_ERROR] <= lines + 1);
    come_to_rest();
    bench_end();
}

static void a_listing_that_is_refused_fails_the_acquire(void) {
    static const struct {
        enum zkli_result result;
        int error;
    } cases[] = {{ZKLI_RESULT_DENIED, ZKL_DENIED}, {ZKLI_RESULT_ERROR, ZKL_SERVER}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        bench_begin();
        hold("a");
        struct owner *owner = begin("a");
        answer_next(LIST, cases[i].result);
        CHECK_INT(owner->error, cases[i].error);
        CHECK(strstr(Bench.last_line, "refuses to list /locks/a") != NULL);
        come_to_rest();
        CHECK(owner->member == NULL);
        CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 1);
        bench_end();
    }
}

/* ---- Orderings: every sibling's czxid is read ---- */

static void near_the_counter_s_end_the_order_is_that_of_creation(void) {
    bench_begin();
    Bench.server.number = NEAR_THE_END;
    struct owner *first = begin("a");
    serve_all();
    Bench.server.number = 3; /* so that numbers say the contrary */
    struct owner *second = begin("a"), *third = begin("a");
    come_to_rest();
    abandon(third);
    check_all_goes_well(first, second);
}

/* Whatever one of the reads comes to, and when. */
static void an_ordering_survives_what_happens_to_its_reads(void) {
    static const enum zkli_result results[] = {ZKLI_RESULT_NO_NODE, ZKLI_RESULT_LOST,
                                               ZKLI_RESULT_AGAIN, ZKLI_RESULT_DENIED};
    for (size_t i = 0; i < COUNT(results); i++)
        for (int which = 0; which < 3; which++) {
            bench_begin();
            hold("a");
            Bench.server.number = NEAR_THE_END;
            struct owner *second = begin("a");
            serve_all();
            struct owner *third = begin("a");
            for (int skip = 0; skip < which; skip++) {
                struct request request = serve_until(GET);
                serve_request(&request);
            }
            size_t lists = Bench.sent[LIST];
            answer_next(GET, results[i]);
            come_to_rest();
            /* Who has gone is out of the queue; of the others more must be known. */
            bool is_own = (third->notices & TOLD(REQUEUED)) != 0;
            CHECK((Bench.sent[LIST] > lists) == (is_own || results[i] != ZKLI_RESULT_NO_NODE));
            CHECK(second->member != NULL && third->member != NULL);
            CHECK_INT(second->grants + third->grants, 0);
            bench_end();
        }
}

static void who_leaves_during_an_ordering_is_told_nothing_more(void) {
    for (int way = 0; way < 3; way++) {
        bench_begin();
        hold("a");
        Bench.server.number = NEAR_THE_END;
        if (way == 2)
            fill_window();
        struct owner *owner = begin("a");
        if (way < 2)
            Bench.requests[Bench.request_count] = serve_until(GET), Bench.request_count++;
        for (int i = 0; way == 2 && i < 700 && owner->member->ordering == NULL; i++)
            serve_next();
        CHECK(owner->member->ordering != NULL);
        if (way == 1)
            cut(0);
        abandon(owner);
        CHECK(owner->member->ordering == NULL);
        if (way == 1)
            bench_connect();
        come_to_rest();
        CHECK(owner->member == NULL);
        bench_end();
    }
}

/* ---- Orphans ---- */

/* A node of ours that no contender knows; the tag says whose it is. */
static void what_nobody_of_ours_knows_is_deleted_and_what_others_have_is_not(void) {
    bench_begin();
    struct owner *holder = hold("a");
    const char *path = plant_with_our_tag(Bench.last_session);
    (void)tiny_add(&Bench.server,
                   "/locks/a/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-0000000901", 1);
    struct owner *waiter = begin("a"), *other = begin("a");
    cut_and_connect(1); /* a create that was done, without a reply */
    come_to_rest();
    CHECK(tiny_find(&Bench.server, path) == NULL);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 4);
    CHECK(waiter->member != NULL && other->member != NULL && holder->member != NULL);
    CHECK(strstr(Bench.last_line, "deleting") != NULL);
    bench_end();
}

/* ---- Queries ---- */

static void a_query_is_done_once_with_a_reply_or_without(void) {
    struct asked list, get, lost, unsent, forgotten, late;
    bench_begin();
    ask(&list, ZKLI_QUERY_LIST);
    ask(&get, ZKLI_QUERY_GET);
    serve_all();
    check_asked(&list, 1, 1);
    check_asked(&get, 1, 1);
    ask(&lost, ZKLI_QUERY_GET);
    answer_next(GET, ZKLI_RESULT_LOST);
    check_asked(&lost, 1, 0);
    Bench.refused = 1u << LIST;
    ask(&unsent, ZKLI_QUERY_LIST);
    check_asked(&unsent, 1, 0);
    Bench.refused = 0;
    ask(&list, ZKLI_QUERY_GET);
    ask(&forgotten, ZKLI_QUERY_GET);
    zkli_query_forget(Bench.engine, &forgotten.query);
    serve_all();
    check_asked(&forgotten, 0, 0);
    check_asked(&list, 1, 1);
    ask(&late, ZKLI_QUERY_LIST);
    expire();
    check_asked(&late, 1, 0);
    bench_end();
}

/* What is not sent yet asks the next session; if there is none, it is done. */
static void a_query_waits_for_a_session_until_there_will_be_none(void) {
    struct asked one, two, three;
    bench_begin();
    hold("a");
    cut(0);
    ask(&one, ZKLI_QUERY_LIST);
    (void)begin("b");
    expire();
    check_asked(&one, 0, 0);
    bench_connect();
    come_to_rest();
    check_asked(&one, 1, 1);
    fill_window();
    ask(&two, ZKLI_QUERY_LIST);
    (void)begin("b");
    ask(&three, ZKLI_QUERY_GET);
    tell_state(ZKLI_PORT_AUTH_FAILED);
    check_asked(&two, 1, 0);
    check_asked(&three, 1, 0);
    bench_end();
}

/* All that were put off go out with the first of them. */
static void a_query_that_is_put_off_is_sent_after_the_shortest_wait(void) {
    struct asked first, second;
    bench_begin();
    ask_later(&first, ZKLI_QUERY_LIST);
    CHECK(!first.query.is_sent);
    advance(ZKLI_RETRY_FIRST_NS / 2);
    ask_later(&second, ZKLI_QUERY_GET);
    advance(ZKLI_RETRY_FIRST_NS / 2 - 1);
    CHECK_INT(Bench.sent[LIST] + Bench.sent[GET], 0);
    advance(1);
    CHECK(Bench.sent[LIST] == 1 && Bench.sent[GET] == 1);
    CHECK(first.query.is_sent && second.query.is_sent);
    serve_all();
    check_asked(&first, 1, 1);
    check_asked(&second, 1, 1);
    ask_later(&first, ZKLI_QUERY_GET);
    advance(ZKLI_RETRY_FIRST_NS - 1);
    CHECK_INT(Bench.sent[GET], 1);
    advance(1);
    CHECK_INT(Bench.sent[GET], 2);
    serve_all();
    ask_later(&second, ZKLI_QUERY_GET);
    shut();
    check_asked(&second, 1, 0);
    CHECK(!zkli_timer_is_set(&Bench.engine->later_end));
    bench_end();
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
        {"what nobody of ours knows is deleted, and what others have is not",
         what_nobody_of_ours_knows_is_deleted_and_what_others_have_is_not},
        {"a query that is put off is sent after the shortest wait",
         a_query_that_is_put_off_is_sent_after_the_shortest_wait},
        {"a query is done once, with a reply or without",
         a_query_is_done_once_with_a_reply_or_without},
        {"a query waits for a session until there will be none",
         a_query_waits_for_a_session_until_there_will_be_none},
    };
    return TEST_MAIN(argc, argv, "engine_requests", cases);
}
