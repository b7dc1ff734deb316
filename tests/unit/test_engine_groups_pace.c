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

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"who is admitted waits for the others by syncs",
         who_is_admitted_waits_for_the_others_by_syncs},
        {"while one lists again barriers go on", while_one_lists_again_barriers_go_on},
    };
    return TEST_MAIN(argc, argv, "engine_groups_pace", cases);
}
