/*
 * Several contenders at once, one of which loses its node, fails, or is not let in: whatever
 * becomes of one becomes of all.
 */
#include "unit/engine_several.h"

/* ---- One that loses its node ---- */

static void if_one_loses_its_node_all_are_made_anew(void) {
    for (size_t place = 0; place < SEVERAL; place++) {
        begin_behind_another();
        char uuid[ZKLI_UUID_LENGTH + 1];
        memcpy(uuid, Owners[0].member->core.uuid, sizeof(uuid));
        delete_node(path_of(&Owners[place]));
        CHECK_INT(in_flight(REMOVE), SEVERAL - 1);
        CHECK_INT(in_flight(MULTI), 0);
        CHECK(zkli_members_witness(Bench.engine) == NULL); /* no node that a heartbeat may check */
        if (place != 0)                                    /* the one that waited */
            CHECK(Owners[0].member->watchers[ZKLI_WATCHED_PREDECESSOR].watch == NULL);
        for (size_t i = 1; i < SEVERAL; i++) {
            CHECK_INT(Bench.sent[MULTI], 1); /* first the others' nodes go, all of them */
            struct request remove = serve_until(REMOVE);
            serve_request(&remove);
        }
        CHECK_INT(nodes(), 1);
        CHECK_INT(in_flight(MULTI), 1);
        CHECK_INT(Bench.sent[MULTI], 2); /* in one */
        serve_all();
        for (size_t i = 0; i < SEVERAL; i++) {
            CHECK((Owners[i].notices & TOLD(REQUEUED)) != 0);
            CHECK(!zkli_uuid_is_same(Owners[i].member->core.uuid, uuid));
        }
        CHECK_INT(nodes(), 1 + SEVERAL);
        delete_node(OTHER_NODE);
        serve_all();
        check_granted();
        CHECK_INT(Bench.sent[MULTI], 2);
        end_all();
    }
}

/* Listings and reads that are under way then mean nothing any more. */
static void what_is_under_way_is_void_then(void) {
    begin_all();
    serve_next(); /* the transaction; the listings are out */
    struct request lists[SEVERAL];
    for (size_t i = 0; i < SEVERAL; i++)
        lists[i] = take(0);
    serve_request(&lists[0]);
    serve_all(); /* the first is first, and watched */
    CHECK_INT(Owners[0].member->core.state, ZKLI_ADMITTED);
    delete_node(path_of(&Owners[0]));
    CHECK_INT(in_flight(REMOVE), 2);
    serve_request(&lists[1]); /* the others' nodes are in there */
    serve_request(&lists[2]);
    CHECK_INT(in_flight(GET), 0);
    CHECK_INT(grants(), 0);
    serve_all();
    check_granted();
    CHECK_INT(Bench.sent[MULTI], 2);
    CHECK_INT(nodes(), SEVERAL);
    end_all();
}

static void what_was_not_sent_by_then_is_never_sent(void) {
    begin_behind_another();
    fill_window();
    set_node(path_of(&Owners[0]), "changed"); /* it would be watched again */
    const struct zkli_member *waiter = Owners[0].member;
    CHECK(waiter->unsent_count == 1 && waiter->unsent[0] == ZKLI_ASK_OWN);
    delete_node(path_of(&Owners[1]));
    CHECK(waiter->unsent_count == 1 && waiter->unsent[0] == ZKLI_ASK_DELETE);
    serve_all();
    CHECK_INT(Bench.sent[MULTI], 2);
    end_all();
}

static void a_delete_that_is_lost_is_sent_again(void) {
    begin_behind_another();
    delete_node(path_of(&Owners[1]));
    CHECK_INT(in_flight(REMOVE), 2);
    cut(0);
    CHECK_INT(Owners[0].member->core.state, ZKLI_CLEARING);
    bench_connect();
    CHECK_INT(in_flight(REMOVE), 2);
    CHECK_INT(Bench.sent[MULTI], 1);
    serve_all();
    CHECK_INT(Bench.sent[MULTI], 2);
    CHECK_INT(nodes(), 1 + SEVERAL);
    delete_node(OTHER_NODE);
    serve_all();
    check_granted();
    end_all();
}

/* ---- The end of one ---- */

static void if_one_is_abandoned_all_fail(void) {
    for (size_t place = 0; place < SEVERAL; place++)
        for (int are_going = 0; are_going < 2; are_going++) {
            begin_behind_another();
            if (are_going == 1)
                delete_node(path_of(&Owners[0])); /* their nodes are going */
            abandon(&Owners[place]);
            for (size_t i = 0; i < SEVERAL; i++) {
                CHECK((Owners[i].notices & TOLD(FAILED)) != 0);
                CHECK_INT(Owners[i].error, ZKL_CANCELED);
            }
            delete_node(OTHER_NODE);
            serve_all();
            check_failed(ZKL_CANCELED);
            CHECK_INT(Bench.sent[MULTI], 1);
            end_all();
        }
}

/* Whether it was done, or refused, or is lost and was done. */
static void abandoned_with_the_transaction_under_way_they_leave_nothing(void) {
    enum {
        DONE,
        REFUSED,
        LOST
    };
    for (int what = DONE; what <= LOST; what++) {
        begin_all();
        abandon(&Owners[2]);
        for (size_t i = 0; i < SEVERAL; i++)
            CHECK_INT(Owners[i].error, ZKL_CANCELED);
        if (what == REFUSED) {
            struct request multi = serve_until(MULTI);
            refuse(&multi, 0, ZKLI_RESULT_NO_NODE);
        } else if (what == LOST) {
            cut_and_connect(1);
        }
        serve_all();
        check_failed(ZKL_CANCELED);
        CHECK_INT(Bench.sent[REMOVE], what == REFUSED ? 0 : SEVERAL);
        end_all();
    }
}

static void abandoned_before_it_is_sent_it_is_never_sent(void) {
    bench_begin();
    plant_directories();
    begin_several(true);
    serve_next(); /* the first waits for the others to look */
    abandon(&Owners[1]);
    serve_all();
    check_failed(ZKL_CANCELED);
    CHECK_INT(Bench.sent[MULTI], 0);
    end_all();
}

static void the_error_is_that_of_the_first_that_failed(void) {
    begin_behind_another();
    zkli_engine_enter(Bench.engine);
    zkli_member_abandon(Owners[1].member, ZKL_TIMEOUT);
    zkli_member_abandon(Owners[1].member, ZKL_CANCELED);
    settle();
    delete_node(OTHER_NODE);
    serve_all();
    check_failed(ZKL_TIMEOUT);
    end_all();
}

static void where_two_fail_in_one_step_the_others_fail_as_the_first(void) {
    begin_behind_another();
    zkli_engine_enter(Bench.engine);
    zkli_member_abandon(Owners[0].member, ZKL_TIMEOUT);
    zkli_member_abandon(Owners[1].member, ZKL_CANCELED);
    settle();
    CHECK_INT(Owners[0].error, ZKL_TIMEOUT);
    CHECK_INT(Owners[1].error, ZKL_CANCELED);
    CHECK_INT(Owners[2].error, ZKL_TIMEOUT);
    delete_node(OTHER_NODE);
    end_all();
}

static void abandon_first(void *arg, struct zkli_member *member, enum zkli_notice notice) {
    (void)arg, (void)member;
    if (notice == ZKLI_NOTICE_FAILED)
        zkli_member_abandon(Owners[0].member, ZKL_CANCELED);
}

/* Without nodes they are gone at once. */
static void where_two_are_gone_in_one_step_the_others_fail_as_the_first(void) {
    bench_begin();
    plant_directories();
    begin_several(true);
    zkli_engine_enter(Bench.engine);
    zkli_member_abandon(Owners[0].member, ZKL_TIMEOUT);
    zkli_member_abandon(Owners[1].member, ZKL_CANCELED);
    settle();
    CHECK(Owners[0].member == NULL && Owners[1].member == NULL);
    CHECK_INT(Owners[2].error, ZKL_TIMEOUT);
    end_all();
}

/* A lock's owner hears of the end of one wait, and ends another. The first of several is gone then,
 * before the others are asked, and the last has just come to its create. */
static void one_may_end_while_notices_are_handed_out(void) {
    struct zkli_member *other = NULL;
    const struct zkli_wish wish = {.name = "z", .kind = ZKLI_KIND_MUTEX};
    bench_begin();
    plant_directories();
    begin_several(true);
    struct request last = take(SEVERAL - 1);
    serve_all();
    struct tiny_answer served = serve(&last);
    zkli_engine_enter(Bench.engine);
    REQUIRE_INT(zkli_member_new(&other, Bench.engine, &wish, abandon_first, NULL), ZKL_OK);
    zkli_member_abandon(other, ZKL_CANCELED);
    zkli_engine_on_reply(Bench.engine, Bench.engine->port, last.slot, &served.reply);
    settle();
    serve_all();
    check_failed(ZKL_CANCELED);
    CHECK_INT(Bench.sent[MULTI], 0);
    end_all();
}

/* ---- The end of the session, and of the engine ---- */

static void the_next_session_makes_them_anew(void) {
    begin_all();
    expire();
    CHECK(are(ZKLI_IDLE));
    bench_connect();
    CHECK_INT(in_flight(MULTI), 1);
    serve_all();
    check_granted();
    end_all();
    begin_behind_another();
    expire();
    CHECK_INT(nodes(), 1);
    bench_connect();
    serve_all();
    CHECK_INT(nodes(), 1 + SEVERAL);
    CHECK((Owners[2].notices & TOLD(REQUEUED)) != 0);
    delete_node(OTHER_NODE);
    serve_all();
    check_granted();
    end_all();
}

/* While they search, and while they clear away. */
static void a_session_may_end_at_any_time(void) {
    begin_all();
    cut_and_connect(1);
    while (in_flight(LIST) > 1)
        serve_next();
    expire();
    CHECK(are(ZKLI_IDLE));
    bench_connect();
    serve_all();
    check_granted();
    end_all();
    begin_behind_another();
    delete_node(path_of(&Owners[1]));
    expire();
    CHECK(are(ZKLI_IDLE));
    delete_node(OTHER_NODE);
    bench_connect();
    serve_all();
    check_granted();
    end_all();
}

static void an_engine_that_closes_ends_them(void) {
    begin_all();
    drain();
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK_INT(Owners[i].error, ZKL_CLOSED);
    struct request multi = serve_until(MULTI);
    serve_request(&multi);
    serve_all();
    CHECK_INT(Bench.sent[REMOVE], 0); /* the session's end takes the nodes along */
    CHECK(zkli_engine_is_drained(Bench.engine));
    shut();
    CHECK_INT(grants(), 0);
    bench_end();
    begin_all();
    shut(); /* with the transaction under way */
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK_INT(Owners[i].error, ZKL_CLOSED);
    bench_end();
    begin_all();
    expire();
    abandon(&Owners[0]); /* between two sessions */
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK_INT(Owners[i].error, ZKL_CANCELED);
    bench_end();
    begin_behind_another();
    shut();
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK_INT(Owners[i].error, ZKL_CLOSED);
    CHECK_INT(grants(), 0);
    struct owner *owners = NULL;
    CHECK_INT(enter_all(Names, SEVERAL, false, &owners), ZKL_CLOSED);
    bench_end();
}

/* ---- The beginning ---- */

/* The first two are within the limit. */
static void a_group_beyond_the_limit_is_refused_as_a_whole(void) {
    bench_begin();
    plant_directories();
    struct owner *one = hold("a");
    const size_t each = Bench.engine->node_bytes;
    release(one);
    serve_all();
    const size_t room = 2 * each + each / 2, sent = Bench.sent[LIST] + Bench.sent[MULTI];
    Bench.engine->node_bytes += ZKLI_NODE_BYTES_MAX - room; /* as if there were some */
    struct owner *none = NULL;
    CHECK_INT(enter_all(Names, SEVERAL, false, &none), ZKL_LIMIT);
    CHECK(none == NULL);
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK_INT(Bench.owners[Bench.owner_count + i].notices, 0); /* nobody is told */
    CHECK_INT(Bench.request_count, 0);
    CHECK_INT(Bench.sent[LIST] + Bench.sent[MULTI], sent);
    CHECK_INT(Bench.engine->node_bytes, ZKLI_NODE_BYTES_MAX - room);
    CHECK_INT(Bench.engine->standing, 0);
    CHECK(zkli_list_is_empty(&Bench.engine->members));
    REQUIRE_INT(enter_all(Names, 2, false, &none), ZKL_OK);
    serve_all();
    CHECK_INT(none[0].grants + none[1].grants, 2);
    Bench.engine->node_bytes -= ZKLI_NODE_BYTES_MAX - room;
    end_all();
}

/* None was added, or all were. */
static void a_group_may_be_dropped_before_it_is_begun(void) {
    bench_begin();
    plant_directories();
    for (size_t count = 0; count <= SEVERAL; count++) {
        struct owner owners[SEVERAL] = {{.member = NULL}};
        zkli_engine_enter(Bench.engine);
        struct zkli_group *group = zkli_group_new(Bench.engine, SEVERAL);
        REQUIRE(group != NULL);
        for (size_t i = 0; i < count; i++) {
            const struct zkli_wish wish = {.name = Names[i], .kind = ZKLI_KIND_MUTEX};
            REQUIRE_INT(zkli_group_add(group, &owners[i].member, &wish, on_notice, &owners[i]),
                        ZKL_OK);
        }
        zkli_group_drop(group);
        CHECK(!zkli_list_is_empty(&Bench.engine->changed_groups)); /* it goes with the step */
        settle();
        for (size_t i = 0; i < count; i++)
            CHECK_INT(owners[i].notices, 0);
        CHECK(zkli_list_is_empty(&Bench.engine->members));
        CHECK(zkli_list_is_empty(&Bench.engine->changed_groups));
    }
    CHECK_INT(Bench.request_count, 0);
    end_all();
}

static void a_group_of_one_is_acquired_like_any_other(void) {
    bench_begin();
    REQUIRE_INT(enter_all(Names, 1, false, &Owners), ZKL_OK);
    serve_all();
    CHECK_INT(Owners[0].grants, 1);
    CHECK_INT(Bench.sent[CREATE], 0);
    end_all();
}

/* Both name the same queues, in opposite orders. */
static void two_groups_do_not_wait_in_a_circle(void) {
    static const char *const backwards[SEVERAL] = {"c", "b", "a"};
    struct owner *others = NULL;
    begin_all();
    REQUIRE_INT(enter_all(backwards, SEVERAL, false, &others), ZKL_OK);
    serve_all();
    check_granted();
    CHECK_INT(others[0].grants + others[1].grants + others[2].grants, 0);
    for (size_t i = 0; i < SEVERAL; i++) {
        CHECK_INT(others[2].grants, 0);
        release(&Owners[i]);
        serve_all();
    }
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK_INT(others[i].grants, 1);
    end_all();
}

static void a_thread_holds_when_any_of_its_members_does(void) {
    begin_behind_another();
    CHECK(!zkli_engine_thread_holds(Bench.engine, 7)); /* it waits */
    struct owner *other = begin_by(
        &(struct zkli_wish){.name = "z", .kind = ZKLI_KIND_MUTEX, .thread = {8, 80}});
    serve_all();
    CHECK_INT(other->grants, 1);
    CHECK(zkli_engine_thread_holds(Bench.engine, 8));
    CHECK(!zkli_engine_thread_holds(Bench.engine, 7));
    delete_node(OTHER_NODE);
    serve_all();
    CHECK(zkli_engine_thread_holds(Bench.engine, 7));
    release(other);
    CHECK(!zkli_engine_thread_holds(Bench.engine, 8)); /* its node is still there */
    for (size_t i = 0; i < SEVERAL; i++) {
        CHECK(zkli_engine_thread_holds(Bench.engine, 7));
        release(&Owners[i]);
    }
    CHECK(!zkli_engine_thread_holds(Bench.engine, 7));
    end_all();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"if one loses its node all are made anew", if_one_loses_its_node_all_are_made_anew},
        {"what is under way is void then", what_is_under_way_is_void_then},
        {"what was not sent by then is never sent", what_was_not_sent_by_then_is_never_sent},
        {"a delete that is lost is sent again", a_delete_that_is_lost_is_sent_again},
        {"if one is abandoned all fail", if_one_is_abandoned_all_fail},
        {"abandoned with the transaction under way they leave nothing",
         abandoned_with_the_transaction_under_way_they_leave_nothing},
        {"abandoned before it is sent it is never sent",
         abandoned_before_it_is_sent_it_is_never_sent},
        {"the error is that of the first that failed", the_error_is_that_of_the_first_that_failed},
        {"where two fail in one step the others fail as the first",
         where_two_fail_in_one_step_the_others_fail_as_the_first},
        {"where two are gone in one step the others fail as the first",
         where_two_are_gone_in_one_step_the_others_fail_as_the_first},
        {"one may end while notices are handed out", one_may_end_while_notices_are_handed_out},
        {"the next session makes them anew", the_next_session_makes_them_anew},
        {"a session may end at any time", a_session_may_end_at_any_time},
        {"an engine that closes ends them", an_engine_that_closes_ends_them},
        {"a group beyond the limit is refused as a whole",
         a_group_beyond_the_limit_is_refused_as_a_whole},
        {"a group may be dropped before it is begun", a_group_may_be_dropped_before_it_is_begun},
        {"a group of one is acquired like any other", a_group_of_one_is_acquired_like_any_other},
        {"two groups do not wait in a circle", two_groups_do_not_wait_in_a_circle},
        {"a thread holds when any of its members does",
         a_thread_holds_when_any_of_its_members_does},
    };
    return TEST_MAIN(argc, argv, "engine_groups_end", cases);
}
