/*
 * Many schedules of the simulation (sim.h). ZKLOCK_SIM_SEEDS says how many; scripts/sim.sh replays
 * one that fails, and runs the longer campaigns.
 */
#include "sim/many.h"

#include <CUnit/Basic.h>
#include <inttypes.h>
#include <stdlib.h>

#include "support/main.h"

/* Eight of ten have locks of several kinds (schedule.c). The others have mutexes only. */
#define SEEDS 75000
/* So rare are some faults that fewer schedules need not show all. */
#define ENOUGH 1000

static struct figures figures;

static uint64_t seeds_wanted(void) {
    const char *text = getenv("ZKLOCK_SIM_SEEDS");
    uint64_t seeds = text == NULL ? 0 : strtoull(text, NULL, 10);
    return seeds == 0 ? SEEDS : seeds;
}

static void print_trace(uint64_t seed) {
    struct figures ignored = {0};
    struct world *w = world_new();
    printf("\nseed %" PRIu64 ":\n", seed);
    (void)schedule_run(w, seed, true, &ignored);
    world_free(w);
}

static void no_schedule_fails(void) {
    struct failure failures[CHECKERS];
    uint64_t failed = many_run(1, seeds_wanted(), NULL, &figures, failures);
    for (int i = 0; i < CHECKERS; i++) {
        if (failures[i].count == 0)
            continue;
        print_trace(failures[i].seed);
        test_note("%s: %s, first in: scripts/sim.sh seed %" PRIu64, checker_names[i],
                  failures[i].text, failures[i].seed);
    }
    CU_ASSERT_EQUAL(failed, 0);
    test_note("%" PRIu64 " schedules:", figures.schedules);
    printf("\n");
    figures_print(&figures, stdout);
}

static void the_simulation_is_not_idle(void) {
    const struct figures *f = &figures;
    CU_ASSERT_TRUE(f->operations >= 50 * f->schedules);
    CU_ASSERT_TRUE(f->grants >= 10 * f->schedules);
    CU_ASSERT_TRUE(f->hand_offs >= f->schedules);
    if (f->schedules < ENOUGH)
        return;
    for (int i = 0; i < FAULT_KINDS; i++)
        CU_ASSERT_TRUE(f->faults[i] >= f->schedules / 20);
    CU_ASSERT_TRUE(f->handed_on >= f->schedules / 20);
    CU_ASSERT_TRUE(f->nested >= f->schedules / 20);
    CU_ASSERT_TRUE(f->shared >= f->schedules / 20);
    CU_ASSERT_TRUE(f->idle >= f->schedules / 5);
    CU_ASSERT_TRUE(f->lingered >= f->schedules / 20);
    CU_ASSERT_TRUE(f->wanted >= f->schedules / 5);
    CU_ASSERT_TRUE(f->asked >= f->schedules / 5);
    CU_ASSERT_TRUE(f->tried >= f->schedules / 20);
    CU_ASSERT_TRUE(f->asks_heard >= f->schedules / 5);
    CU_ASSERT_TRUE(f->buried >= f->schedules / 50);
    CU_ASSERT_TRUE(f->places_taken >= f->schedules / 2);
    CU_ASSERT_TRUE(f->together_granted >= f->schedules);
    CU_ASSERT_TRUE(f->permits >= f->schedules);
    CU_ASSERT_TRUE(f->touches >= f->schedules / 2);
    CU_ASSERT_TRUE(f->resizes >= f->schedules / 5);
    CU_ASSERT_TRUE(f->mismatches >= f->schedules / 20);
    CU_ASSERT_TRUE(f->turns >= f->schedules / 20);
    CU_ASSERT_TRUE(f->losses >= f->schedules / 20);
    CU_ASSERT_TRUE(f->late >= f->schedules / 20);
    CU_ASSERT_TRUE(f->expiries >= f->schedules / 20);
    CU_ASSERT_TRUE(f->requeues >= f->schedules / 20);
    CU_ASSERT_TRUE(f->refused >= f->schedules);
    CU_ASSERT_TRUE(f->again >= f->schedules);
    CU_ASSERT_TRUE(f->again_refused >= f->schedules);
    CU_ASSERT_TRUE(f->again_lost >= f->schedules / 200);
    CU_ASSERT_TRUE(f->given_up >= f->schedules / 5);
    CU_ASSERT_TRUE(f->given_up_early >= f->schedules / 500);
    CU_ASSERT_TRUE(f->given_up_before >= f->schedules / 5);
    CU_ASSERT_TRUE(f->unreleased >= f->schedules / 200);
    CU_ASSERT_TRUE(f->forgotten >= f->schedules / 10);
    CU_ASSERT_TRUE(f->looks >= f->schedules);
    CU_ASSERT_TRUE(f->guarded_unsent >= f->schedules / 500);
    CU_ASSERT_TRUE(f->several >= f->schedules / 2);
    CU_ASSERT_TRUE(f->told_writes >= f->schedules);
    CU_ASSERT_TRUE(f->several_refused >= f->schedules / 20);
    CU_ASSERT_TRUE(f->double_faults >= f->schedules / 20);
    CU_ASSERT_TRUE(f->without_quorum >= f->schedules / 40);
    CU_ASSERT_TRUE(f->elections >= f->schedules);
    CU_ASSERT_TRUE(f->watches_resent >= f->schedules / 20);
    CU_ASSERT_TRUE(f->past_counter >= f->schedules / 20);
    CU_ASSERT_TRUE(f->lost_replies >= f->schedules / 20);
    CU_ASSERT_TRUE(f->late_creates >= f->schedules / 20);
    CU_ASSERT_TRUE(f->late_pings >= 10 * f->schedules);
    CU_ASSERT_TRUE(f->lost_touches >= f->schedules / 20);
    CU_ASSERT_TRUE(f->told_late >= f->schedules / 20);
    CU_ASSERT_TRUE(f->ended_heard >= f->schedules / 40);
}

/* The same seed, the same schedule: what was found can be looked at. */
static void a_seed_is_repeated_exactly(void) {
    struct figures once = {0}, again = {0};
    struct world *w = world_new();
    for (uint64_t seed = 1; seed <= 20; seed++) {
        CU_ASSERT_TRUE(schedule_run(w, seed, false, &once));
        CU_ASSERT_TRUE(schedule_run(w, seed, false, &again));
        CU_ASSERT_EQUAL(once.events, again.events);
        CU_ASSERT_EQUAL(once.writes, again.writes);
        CU_ASSERT_EQUAL(once.virtual_ms, again.virtual_ms);
    }
    world_free(w);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"no schedule makes two holders, a ghost, a lost wake-up, a hang or a loss untold",
         no_schedule_fails},
        {"faults, grants, hand-offs and losses of every kind have happened",
         the_simulation_is_not_idle},
        {"a seed is repeated exactly", a_seed_is_repeated_exactly},
    };
    return TEST_MAIN(argc, argv, "sim_schedules", cases);
}
