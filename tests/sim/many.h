/* many - schedules by the thousand, on as many processes as there are processors; see sim.h. */
#ifndef SIM_MANY_H
#define SIM_MANY_H

#include "sim/sim.h"

struct failure {
    uint64_t seed;
    enum checker checker;
    char text[512];
};

/*
 * Runs count seeds from first on. Stops early when one has failed in each process, if
 * stop_at_first. ret_failures, of failures_max, gets the first failures found, by seed; returns how
 * many failed in all. Aborts if a process ends otherwise than by itself.
 */
uint64_t many_run(uint64_t first, uint64_t count, bool stop_at_first, struct figures *ret_figures,
                  struct failure *ret_failures, size_t failures_max);

#endif
