/* A scenario whose protagonist's session is its program's: attached, left, and attached again. */
#ifndef FAULT_SCENARIO_ATTACHED_H
#define FAULT_SCENARIO_ATTACHED_H

#include "play.h"

bool enter_attached(play *p);
bool run_attached(play *p);
/* At the end of all: after the session. */
void leave_attached(play *p);

#define SCENARIO_ATTACHED                                                                          \
    {                                                                                              \
        .name = "attached", .run = run_attached, .enter = enter_attached, .leave = leave_attached, \
        .beats = 1                                                                                 \
    }

#endif
