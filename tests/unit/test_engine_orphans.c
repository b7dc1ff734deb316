/*
 * Nodes of ours that nobody knows: a create whose connection broke is carried out by the server
 * after all that was asked for over the next connection, the search for its node among that.
 */
#include "unit/engine_bench.h"

#define T (T_MS * MS)

/* The next create is under way as its connection breaks; then there is another. */
static struct request lose_create(void) {
    struct request create = {0};
    size_t before = Bench.request_count;
    while (before > 0 && Bench.requests[before - 1].kind != CREATE)
        before--;
    REQUIRE(before > 0);
    create = Bench.requests[before - 1];
    cut_and_connect(before - 1);
    return create;
}

/* Only now does the server do it, and there is nobody to answer. */
static void carry_out(const struct request *create) {
    CHECK_INT(serve(create).reply.result, ZKLI_RESULT_OK);
}

/* The owner of the node that was created once more, while it has the lock. */
static struct owner *hold_after_a_lost_create(struct request *ret_create) {
    struct owner *owner = begin("a");
    *ret_create = lose_create();
    serve_all();
    REQUIRE_INT(owner->grants, 1);
    return owner;
}

static void ahead_of_ours_it_is_deleted_at_once(void) {
    bench_begin();
    release(hold("a"));
    serve_all();
    struct owner *owner = begin("a");
    struct request create = lose_create();
    const size_t creates = Bench.sent[CREATE];
    while (Bench.sent[CREATE] == creates)
        serve_next();
    carry_out(&create);
    pass(100 * MS);
    CHECK_INT(owner->grants, 1);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 1);
    release(owner);
    serve_all();
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

static void behind_ours_it_is_deleted_within_the_timeout(void) {
    struct request create;
    bench_begin();
    struct owner *owner = hold_after_a_lost_create(&create);
    carry_out(&create);
    release(owner);
    pass(T - 100 * MS);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 1);
    pass(200 * MS);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

static void it_is_deleted_though_the_wait_was_given_up(void) {
    bench_begin();
    release(hold("a"));
    serve_all();
    struct owner *owner = begin("a");
    struct request create = lose_create();
    abandon(owner);
    serve_all();
    CHECK(owner->member == NULL);
    carry_out(&create);
    pass(T + 100 * MS);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

/* The server may have read it just before it was connected to again. */
static void it_is_deleted_after_an_outage_of_any_length(void) {
    struct request create;
    bench_begin();
    release(hold_after_a_lost_create(&create));
    serve_all();
    cut(0);
    pass(3 * T + T / 2);
    bench_connect();
    pass(T - 200 * MS);
    carry_out(&create);
    pass(100 * MS);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 1);
    pass(200 * MS);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

static void it_is_deleted_though_no_connection_lasts(void) {
    struct request create;
    bench_begin();
    release(hold_after_a_lost_create(&create));
    serve_all();
    carry_out(&create);
    for (int i = 0; i < 4; i++) {
        pass(T / 2);
        cut_and_connect(0);
    }
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

/* Any client can read a tag in the queue and make a node with it; and two tags may be the same. */
static void another_session_s_node_with_our_tag_is_left_alone(void) {
    bench_begin();
    struct owner *holder = hold("a");
    const char *path = plant_with_our_tag(0x2002);
    size_t gets = Bench.sent[GET];
    struct owner *waiter = begin("a");
    come_to_rest();
    CHECK(tiny_find(&Bench.server, path) != NULL);
    CHECK_INT(Bench.sent[REMOVE], 0);
    CHECK_INT(Bench.sent[GET] - gets, 4); /* of that node one, for the one listing that showed it */
    CHECK_INT(Bench.engine->node_bytes, 2 * zkli_path_bytes(Bench.engine, strlen(path_of(holder))));
    CHECK(strstr(Bench.last_line, "deleting") == NULL);
    release(holder);
    come_to_rest();
    CHECK_INT(waiter->grants, 1);
    release(waiter);
    come_to_rest();
    CHECK_INT(Bench.sent[REMOVE], 2);
    CHECK(tiny_find(&Bench.server, path) != NULL);
    CHECK(zkli_list_is_empty(&Bench.engine->members));
    bench_end();
}

/* Until the server has said whose the node is, it counts as another session's. */
static void a_try_behind_another_session_s_node_with_our_tag_is_busy(void) {
    struct owner *tries[2] = {NULL, NULL};
    bench_begin();
    release(hold("a"));
    come_to_rest();
    const char *path = plant_with_our_tag(0x2002);
    for (size_t i = 0; i < COUNT(tries); i++)
        CHECK_INT(enter_queue("a", true, &tries[i]), ZKL_OK);
    const size_t gets = Bench.sent[GET];
    for (size_t i = 0; i < COUNT(tries); i++) { /* the first finds the node, and has it read */
        struct request list = serve_until(LIST);
        serve_request(&list);
        CHECK_INT(Bench.sent[GET], gets + 1);
        CHECK_INT(tries[i]->error, ZKL_BUSY);
    }
    come_to_rest();
    CHECK(tiny_find(&Bench.server, path) != NULL);
    bench_end();
}

/* Serves what was asked before this. */
static struct request serve_until_asked(enum kind kind, const char *path) {
    while (Bench.request_count > 0 &&
           (Bench.requests[0].kind != kind || strcmp(Bench.requests[0].path, path) != 0))
        serve_next();
    REQUIRE(Bench.request_count > 0);
    return Bench.requests[0];
}

/* The read, and then the delete, under way as the connection breaks; or refused. */
static void what_is_lost_of_its_deletion_is_made_up_for(void) {
    static const enum kind kinds[] = {GET, REMOVE};
    for (size_t i = 0; i < 2 * COUNT(kinds); i++) {
        bench_begin();
        struct owner *holder = hold("a");
        const char *path = plant_with_our_tag(Bench.last_session);
        (void)begin("a");
        struct request request = serve_until_asked(kinds[i / 2], path);
        if (i % 2 == 0) {
            (void)take(0);
            answer(&request, ZKLI_RESULT_AGAIN);
        } else {
            cut_and_connect(0);
        }
        come_to_rest();
        CHECK(tiny_find(&Bench.server, path) == NULL);
        CHECK(zkli_member_is_held(holder->member));
        bench_end();
    }
}

/* A session that is not replaced when it has rested. */
static void begin_kept(void) {
    bench_start("/locks", true);
    bench_connect();
    serve_all();
}

/* Nobody looks for it any more; but whoever of ours stands behind it sees it. */
static void later_than_that_it_is_deleted_by_a_waiter_behind_it(void) {
    struct request create;
    begin_kept();
    release(hold_after_a_lost_create(&create));
    pass(2 * T);
    carry_out(&create);
    struct owner *owner = begin("a");
    pass(100 * MS);
    CHECK_INT(owner->grants, 1);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 1);
    release(owner);
    serve_all();
    bench_end();
}

/* An orphan that no member looks for any more, and another client's node behind it: its path. */
static const char *plant_orphan_and_another(void) {
    struct request create;
    begin_kept();
    release(hold_after_a_lost_create(&create));
    pass(2 * T);
    carry_out(&create);
    struct tiny_answer other = tiny_serve(
        &Bench.server, CREATE, "/locks/a/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-", 99, false);
    CHECK_INT(other.reply.result, ZKLI_RESULT_OK);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 2);
    return other.reply.path;
}

static void it_is_also_deleted_by_a_waiter_behind_another(void) {
    const char *other = plant_orphan_and_another();
    struct owner *owner = begin("a");
    pass(100 * MS);
    CHECK_INT(owner->grants, 0);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 2);
    delete_node(other);
    pass(100 * MS);
    CHECK_INT(owner->grants, 1);
    release(owner);
    serve_all();
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

static void it_is_deleted_by_a_try(void) {
    struct owner *owner = NULL;
    const char *other = plant_orphan_and_another();
    CHECK_INT(enter_queue("a", true, &owner), ZKL_OK);
    pass(100 * MS);
    CHECK_INT(owner->error, ZKL_BUSY);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 1);
    delete_node(other);
    CHECK_INT(enter_queue("a", true, &owner), ZKL_OK);
    pass(100 * MS);
    CHECK_INT(owner->grants, 1);
    bench_end();
}

static void once_deleted_it_does_not_keep_the_session(void) {
    bench_begin();
    release(hold("a"));
    serve_all();
    (void)plant_with_our_tag(zkli_engine_session_id(Bench.engine));
    release(hold("a"));
    come_to_rest();
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    pass(3 * T);
    CHECK_INT(Bench.port_count, 1);
    abandon(begin("a"));
    CHECK_INT(Bench.port_count, 2); /* one to take its place */
    connect_successor();
    bench_end();
}

/* Through all of it, with others of ours behind it, and with the search that finds the orphan. */
static void a_hold_is_not_an_orphan(void) {
    struct request create;
    struct owner *waiters[3];
    bench_begin();
    struct owner *owner = hold_after_a_lost_create(&create);
    const char *path = path_of(owner);
    for (size_t i = 0; i < COUNT(waiters); i++) {
        waiters[i] = begin("a");
        pass(T / 4);
    }
    carry_out(&create);
    cut_and_connect(0);
    pass(2 * T);
    CHECK(zkli_member_is_held(owner->member) && tiny_find(&Bench.server, path) != NULL);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 1 + COUNT(waiters));
    release(owner);
    for (size_t i = 0; i < COUNT(waiters); i++) {
        pass(100 * MS);
        CHECK_INT(waiters[i]->grants, 1);
        release(waiters[i]);
    }
    serve_all();
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

/* Who may not list cannot look, and a session that is otherwise silent looks like any other. */
static void a_visit_ends_when_it_is_refused_and_is_made_without_heartbeats(void) {
    struct request create;
    for (int is_denied = 0; is_denied < 2; is_denied++) {
        bench_start("/locks", true);
        bench_connect();
        serve_all();
        release(hold_after_a_lost_create(&create));
        serve_all();
        Bench.sent[LIST] = 0;
        while (Bench.sent[LIST] == 0) {
            serve_all();
            advance(100 * MS);
        }
        CHECK(zkli_timer_is_set(&Bench.engine->heartbeat) ||
              zkli_heartbeat_is_in_flight(Bench.engine));
        if (is_denied)
            answer_next(LIST, ZKLI_RESULT_DENIED);
        serve_all();
        CHECK(zkli_list_is_empty(&Bench.engine->members));
        CHECK_INT(Bench.lines[ZKL_LOG_ERROR], is_denied);
        for (size_t i = 0; i < ZKLI_BUCKETS; i++) /* nothing is left of the directory either */
            CHECK(!is_denied || zkli_list_is_empty(&Bench.engine->dirs[i]));
        bench_end();
    }
}

/* Other than heartbeats. */
static size_t requests_in(int64_t ns) {
    const size_t writes = Bench.sent[CREATE] + Bench.sent[PARENT] + Bench.sent[REMOVE];
    const size_t reads = Bench.sent[LIST] + Bench.sent[GET];
    pass(ns);
    CHECK_INT(Bench.sent[CREATE] + Bench.sent[PARENT] + Bench.sent[REMOVE], writes);
    return Bench.sent[LIST] + Bench.sent[GET] - reads;
}

/* The client library sends the barrier, and has no memory for the listing. Each visit asks for its
 * own barrier, however many of them the server leaves without an answer. */
static void a_visit_whose_listing_is_not_sent_is_made_again(void) {
    struct request create;
    bench_begin();
    release(hold_after_a_lost_create(&create));
    pass(T - 200 * MS);
    carry_out(&create);
    Bench.refused = 1u << LIST;
    const size_t barriers = Bench.sent[BARRIER];
    while (Bench.sent[BARRIER] < barriers + 4) {
        size_t unanswered = Bench.request_count;
        advance(50 * MS);
        REQUIRE(unanswered <= 8);
    }
    Bench.refused = 0;
    advance(1000 * MS);
    expire();
    bench_connect();
    come_to_rest();
    bench_end();
}

static void it_costs_four_listings_for_each_directory(void) {
    struct owner *owners[10];
    bench_begin();
    for (size_t i = 0; i < COUNT(owners); i++)
        owners[i] = begin(i % 2 == 0 ? "a" : "b");
    cut_and_connect(0);
    serve_all();
    for (size_t i = 0; i < COUNT(owners); i++) {
        serve_all();
        release(owners[i]);
    }
    serve_all();
    CHECK_INT(requests_in(T + 100 * MS), 2);
    CHECK_INT(requests_in(T), 2);
    CHECK_INT(requests_in(2 * T), 2);
    CHECK_INT(requests_in(3 * T), 0);
    CHECK_INT(requests_in(T + 500 * MS), 2);
    CHECK_INT(requests_in(20 * T), 0);
    for (size_t i = 0; i < ZKLI_BUCKETS; i++)
        CHECK(zkli_list_is_empty(&Bench.engine->dirs[i]));
    bench_end();
}

static void a_session_s_end_is_the_end_of_its_orphans(void) {
    struct request create;
    bench_begin();
    char tag[ZKLI_TAG_LENGTH + 1];
    release(hold_after_a_lost_create(&create));
    serve_all();
    memcpy(tag, Bench.engine->tag, sizeof(tag));
    expire();
    bench_connect();
    CHECK(strcmp(tag, Bench.engine->tag) != 0); /* what is left of it is not looked for */
    CHECK_INT(requests_in(3 * T), 0);
    for (size_t i = 0; i < ZKLI_BUCKETS; i++)
        CHECK(zkli_list_is_empty(&Bench.engine->dirs[i]));
    bench_end();
}

/* A member's node that is gone, though its reply was lost, does not hide an orphan: no visit is due
 * any more that would find it. */
static void a_node_that_is_leaving_hides_none(void) {
    for (int is_first = 0; is_first < 2; is_first++) {
        struct request create;
        struct owner *waiter, *holder;
        begin_kept();
        release(hold_after_a_lost_create(&create));
        pass(3 * T);
        if (is_first) {
            waiter = begin("a");
            answer_next(CREATE, ZKLI_RESULT_AGAIN);
            serve_all();
            holder = hold("a");
        } else {
            holder = hold("a");
            waiter = begin("a");
            answer_next(CREATE, ZKLI_RESULT_AGAIN);
            serve_all();
        }
        carry_out(&create);
        advance(20 * MS);
        struct request again = serve_until(CREATE);
        release(holder);
        serve_request(&again);
        cut_and_connect(Bench.request_count); /* all is done, and the replies are lost */
        pass(3 * T);
        CHECK_INT(waiter->grants, 1);
        CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 1);
        bench_end();
    }
}

/* Neither the end of a connection nor the next one was told. What was asked for on the first may be
 * carried out on the second, until that is as old as T. */
static void a_reply_that_is_lost_begins_a_connection_for_visits(void) {
    struct request create;
    begin_kept();
    (void)hold("h"); /* so that no lease depends on syncs */
    release(hold_after_a_lost_create(&create));
    serve_all();
    pass(T - 1000 * MS);
    size_t lists = Bench.sent[LIST];
    struct owner *owner = begin("a"); /* not answered yet */
    while (Bench.sent[LIST] < lists + 2)
        advance(50 * MS); /* the visit is under way, behind it */
    size_t i = 0;
    while (Bench.requests[i].kind != CREATE)
        i++;
    create = Bench.requests[i];
    while (Bench.request_count > 0) {
        struct request request = take(0);
        answer(&request, ZKLI_RESULT_LOST);
    }
    pass(3000 * MS);
    CHECK_INT(owner->grants, 1);
    release(owner);
    serve_all();
    CHECK(owner->member == NULL);
    carry_out(&create);
    pass(2 * T);
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a node that is leaving hides none", a_node_that_is_leaving_hides_none},
        {"a reply that is lost begins a connection for visits",
         a_reply_that_is_lost_begins_a_connection_for_visits},
        {"ahead of ours it is deleted at once", ahead_of_ours_it_is_deleted_at_once},
        {"behind ours it is deleted within the timeout",
         behind_ours_it_is_deleted_within_the_timeout},
        {"it is deleted though the wait was given up", it_is_deleted_though_the_wait_was_given_up},
        {"it is deleted after an outage of any length",
         it_is_deleted_after_an_outage_of_any_length},
        {"it is deleted though no connection lasts", it_is_deleted_though_no_connection_lasts},
        {"another session's node with our tag is left alone",
         another_session_s_node_with_our_tag_is_left_alone},
        {"a try behind another session's node with our tag is busy",
         a_try_behind_another_session_s_node_with_our_tag_is_busy},
        {"what is lost of its deletion is made up for",
         what_is_lost_of_its_deletion_is_made_up_for},
        {"later than that it is deleted by a waiter behind it",
         later_than_that_it_is_deleted_by_a_waiter_behind_it},
        {"it is also deleted by a waiter behind another",
         it_is_also_deleted_by_a_waiter_behind_another},
        {"it is deleted by a try", it_is_deleted_by_a_try},
        {"once deleted, it does not keep the session", once_deleted_it_does_not_keep_the_session},
        {"a hold is not an orphan", a_hold_is_not_an_orphan},
        {"a visit ends when it is refused, and is made without heartbeats",
         a_visit_ends_when_it_is_refused_and_is_made_without_heartbeats},
        {"a visit whose listing is not sent is made again",
         a_visit_whose_listing_is_not_sent_is_made_again},
        {"it costs four listings for each directory", it_costs_four_listings_for_each_directory},
        {"a session's end is the end of its orphans", a_session_s_end_is_the_end_of_its_orphans},
    };
    return TEST_MAIN(argc, argv, "engine_orphans", cases);
}
