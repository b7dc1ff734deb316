/* A scenario in which another process's session is ended, by its ticket. */
#ifndef FAULT_SCENARIO_END_H
#define FAULT_SCENARIO_END_H

#include "play.h"

bool run_end(play *p);

#define SCENARIO_END                                                                               \
    { .name = "end of a session", .run = run_end, .beats = 1 }

#endif
