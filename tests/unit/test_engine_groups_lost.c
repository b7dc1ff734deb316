/* Several contenders at once where memory is short, and where a call fails before its nodes. */
#include "unit/engine_several.h"

/* Another client's nodes are first in two queues, and the third is free: one is admitted. */
static void begin_behind_two(char paths[2][NODE_PATH_MAX]) {
    bench_begin();
    plant_directories();
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(paths[i], NODE_PATH_MAX, "/locks/%s/_c_%s-lock-0000000000", Names[i],
                       "f47ac10b-58cc-4372-a567-0e02b2c3d479");
        (void)tiny_add(&Bench.server, paths[i], 99);
    }
    Bench.server.number = 1;
    begin_several(false);
    serve_all();
    CHECK_INT(Owners[2].member->core.state, ZKLI_ADMITTED);
}

/* The client library had no memory for another lock's path. What was listed before counts no more,
 * and the one that is admitted hears of nothing else. */
static void a_reply_lost_without_a_word_of_the_connection_keeps_none_waiting(void) {
    char paths[2][NODE_PATH_MAX];
    begin_behind_two(paths);
    (void)begin("other");
    struct request create = serve_until(CREATE);
    (void)serve(&create);
    answer(&create, ZKLI_RESULT_LOST);
    serve_all();
    for (size_t i = 0; i < 2; i++) {
        CHECK_INT(grants(), 0);
        delete_node(paths[i]);
        serve_all();
    }
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
        {"a node whose path is not known is looked for",
         a_node_whose_path_is_not_known_is_looked_for},
        {"a call that fails makes no directory", a_call_that_fails_makes_no_directory},
    };
    return TEST_MAIN(argc, argv, "engine_groups_lost", cases);
}
