/* Several contenders at once where memory is short, and where a call fails before its nodes. */
#include "unit/engine_several.h"

/* The client library had no memory for another lock's path. What was listed before counts no more,
 * and the one that is admitted hears of nothing else. Its node is watched by then, or not yet. */
static void a_reply_lost_without_a_word_of_the_connection_keeps_none_waiting(void) {
    for (size_t variant = 0; variant < 2 * SEVERAL; variant++) {
        char paths[SEVERAL][NODE_PATH_MAX];
        const size_t free_one = variant / 2;
        const bool is_watched = variant % 2 == 0;
        begin_behind_two(free_one, paths);
        const struct zkli_contender *admitted = &Owners[free_one].member->core;
        if (is_watched)
            serve_all();
        (void)begin("other");
        struct request create = serve_until(CREATE);
        CHECK_INT(admitted->state, ZKLI_ADMITTED);
        CHECK_INT(admitted->in_flight, is_watched ? 0 : ZKLI_ASK_OWN);
        (void)serve(&create);
        answer(&create, ZKLI_RESULT_LOST);
        serve_all();
        for (size_t i = 0; i < SEVERAL; i++) {
            if (i == free_one)
                continue;
            CHECK_INT(grants(), 0);
            delete_node(paths[i]);
            serve_all();
        }
        check_granted();
        end_all();
    }
}

/* The connection that its read was under way on is gone, and so is its node. */
static void what_an_earlier_search_has_found_counts_no_more(void) {
    begin_all();
    cut_and_connect(1);
    while (in_flight(GET) == 0)
        serve_next();
    (void)tiny_remove(&Bench.server, path_of(&Owners[1]));
    const size_t gets = Bench.sent[GET];
    cut_and_connect(0);
    while (in_flight(REMOVE) == 0)
        serve_next();
    CHECK_INT(Bench.sent[GET], gets); /* nothing is there to be read */
    serve_all();
    check_granted();
    CHECK_INT(nodes(), SEVERAL);
    CHECK_INT(Bench.sent[MULTI], 2);
    end_all();
}

/* Nodes that are going do not count, and neither do the members that delete them. A try has no node
 * of its own. */
static void an_orphan_is_seen_beside_nodes_that_are_going(void) {
    for (int is_try = 0; is_try < 2; is_try++) {
        struct owner *other = NULL;
        begin_behind_another();
        delete_node(path_of(&Owners[1]));
        CHECK_INT(Owners[0].member->core.state, ZKLI_CLEARING);
        REQUIRE_INT(Bench.request_count, 2);
        struct request removes[] = {take(0), take(0)};
        const char *orphan = plant_with_our_tag(zkli_engine_session_id(Bench.engine));
        REQUIRE_INT(enter_queue("a", is_try != 0, &other), ZKL_OK);
        struct request list = serve_until(LIST);
        serve_request(&list);
        size_t claims = 0;
        for (size_t i = 0; i < Bench.request_count; i++)
            claims += Bench.requests[i].kind == GET && strcmp(Bench.requests[i].path, orphan) == 0;
        CHECK_INT(claims, 1);
        for (size_t i = 0; i < COUNT(removes); i++)
            serve_request(&removes[i]);
        serve_all();
        CHECK(tiny_find(&Bench.server, orphan) == NULL);
        delete_node(OTHER_NODE);
        serve_all();
        CHECK_INT(other->grants, 1 - is_try);
        CHECK_INT(other->error, is_try ? ZKL_BUSY : ZKL_OK);
        if (!is_try)
            release(other);
        serve_all();
        check_granted();
        end_all();
    }
}

static void a_try_is_not_kept_out_by_a_node_that_is_going(void) {
    begin_behind_another();
    delete_node(path_of(&Owners[1]));
    REQUIRE_INT(Bench.request_count, 2);
    struct request removes[] = {take(0), take(0)};
    struct owner *trier;
    REQUIRE_INT(enter_queue(Names[2], true, &trier), ZKL_OK);
    serve_all();
    CHECK(trier->member != NULL && trier->grants == 0);
    for (size_t i = 0; i < COUNT(removes); i++)
        serve_request(&removes[i]);
    serve_all();
    CHECK_INT(trier->grants, 1);
    release(trier);
    delete_node(OTHER_NODE);
    serve_all();
    check_granted();
    end_all();
}

static void a_node_whose_path_is_not_known_is_looked_for(void) {
    for (size_t place = 0; place < SEVERAL; place++) {
        begin_all();
        struct request multi = serve_until(MULTI);
        struct tiny_answer served = serve(&multi);
        struct zkli_op_result results[SEVERAL];
        memcpy(results, served.reply.op_results, sizeof(results));
        results[place].path = NULL;
        served.reply.op_results = results;
        tell_reply(multi.slot, &served.reply);
        come_to_rest(); /* it is tried again after a while */
        check_granted();
        CHECK_INT(nodes(), SEVERAL);
        CHECK_INT(Bench.sent[MULTI], 1);
        end_all();
    }
}

/* It would never go: the servers keep a container that never had a child. */
static void a_call_that_fails_makes_no_directory(void) {
    const struct zkli_wish wishes[] = {
        {.name = Names[0], .kind = ZKLI_KIND_MUTEX, .thread = {7, 70}},
        {.name = Names[1],
         .kind = ZKLI_KIND_LEASE,
         .thread = {7, 70}}, /* there is none to follow */
    };
    struct owner *owners;
    bench_begin();
    (void)tiny_add(&Bench.server, "/locks", 0);
    REQUIRE_INT(enter_all_by(wishes, 2, &owners), ZKL_OK);
    serve_all();
    CHECK_INT(owners[0].error, ZKL_MISMATCH);
    CHECK_INT(owners[1].error, ZKL_MISMATCH);
    CHECK(tiny_find(&Bench.server, "/locks/a") == NULL);
    CHECK_INT(Bench.sent[PARENT], 0);
    end_all();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a reply lost without a word of the connection keeps none waiting",
         a_reply_lost_without_a_word_of_the_connection_keeps_none_waiting},
        {"what an earlier search has found counts no more",
         what_an_earlier_search_has_found_counts_no_more},
        {"an orphan is seen beside nodes that are going",
         an_orphan_is_seen_beside_nodes_that_are_going},
        {"a try is not kept out by a node that is going",
         a_try_is_not_kept_out_by_a_node_that_is_going},
        {"a node whose path is not known is looked for",
         a_node_whose_path_is_not_known_is_looked_for},
        {"a call that fails makes no directory", a_call_that_fails_makes_no_directory},
    };
    return TEST_MAIN(argc, argv, "engine_groups_lost", cases);
}
