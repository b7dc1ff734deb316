/* What several contenders at once cost the servers while they wait, and while they hold. */
#include "unit/engine_several.h"

#define T (T_MS * MS)

static void pass_heartbeat(void) {
    while (!zkli_heartbeat_is_in_flight(Bench.engine))
        advance(10 * MS);
}

/* They wait for T, all but one admitted, or only this one. */
static void begin_patient(size_t free_one, char paths[SEVERAL][NODE_PATH_MAX]) {
    begin_behind_two(free_one, paths);
    pass(T);
    CHECK_INT(Owners[free_one].member->core.state, ZKLI_ADMITTED);
    CHECK_INT(grants(), 0);
}

static void who_is_admitted_waits_for_the_others_by_syncs(void) {
    for (size_t free_one = 0; free_one < SEVERAL; free_one++) {
        char paths[SEVERAL][NODE_PATH_MAX];
        begin_patient(free_one, paths);
        pass(T / 2);
        CHECK_INT(Bench.engine->pace, ZKLI_PACE_SYNCS);
        for (size_t i = 0; i < SEVERAL; i++)
            if (i != free_one)
                delete_node(paths[i]);
        come_to_rest();
        check_granted();
        pass(2 * T);
        CHECK_INT(Bench.engine->pace, ZKLI_PACE_BARRIERS);
        end_all();
    }
}

/* Its turn may have come: a watch that fires on another connection does not tell. */
static void while_one_lists_again_barriers_go_on(void) {
    char paths[SEVERAL][NODE_PATH_MAX];
    begin_patient(0, paths);
    cut_and_connect(0);
    pass(T);
    CHECK_INT(Bench.engine->pace, ZKLI_PACE_SYNCS);
    serve_all();
    delete_node(paths[1]);
    CHECK_INT(Owners[1].member->core.state, ZKLI_LISTING);
    pass_heartbeat();
    CHECK_INT(Bench.engine->pace, ZKLI_PACE_BARRIERS);
    end_all();
}

/* Where the lease is not ample, though barriers prove it. */
static void who_are_admitted_among_barriers_ask_for_none_besides(void) {
    bench_start("/locks", true);
    bench_connect();
    serve_all();
    cut(0);
    advance(2 * T);
    bench_connect(); /* a first proof takes a timeout */
    plant_directories();
    plant_other();
    begin_several(false);
    serve_all();
    CHECK_INT(Bench.engine->pace, ZKLI_PACE_BARRIERS);
    CHECK(!zkli_heartbeat_is_in_flight(Bench.engine));
    const size_t barriers = Bench.sent[BARRIER];
    delete_node(OTHER_NODE);
    serve_all();
    CHECK(are(ZKLI_ADMITTED));
    CHECK_INT(Bench.sent[BARRIER], barriers);
    pass(2 * T);
    check_granted();
    end_all();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"who is admitted waits for the others by syncs",
         who_is_admitted_waits_for_the_others_by_syncs},
        {"while one lists again barriers go on", while_one_lists_again_barriers_go_on},
        {"who are admitted among barriers ask for none besides",
         who_are_admitted_among_barriers_ask_for_none_besides},
    };
    return TEST_MAIN(argc, argv, "engine_groups_pace", cases);
}
