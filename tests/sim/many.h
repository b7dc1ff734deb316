/* many - schedules by the thousand, on as many processes as there are processors; see sim.h. */
#ifndef SIM_MANY_H
#define SIM_MANY_H

#include "sim/sim.h"

struct failure {
    uint64_t count; /* of schedules that this checker has failed */
    uint64_t seed;  /* the first of them */
    char text[512];
};

/*
 * Runs count seeds from first on. until: a process stops at a failure by one of these checkers;
 * NULL: never. ret_failures: what each checker has found. Returns how many schedules failed. Aborts
 * if a process ends otherwise than by itself.
 */
uint64_t many_run(uint64_t first, uint64_t count, const bool until[CHECKERS],
                  struct figures *ret_figures, struct failure ret_failures[CHECKERS]);

#endif
