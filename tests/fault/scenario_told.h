/* Scenarios of calls whose callers go on, for scenario.c. */
#ifndef FAULT_SCENARIO_TOLD_H
#define FAULT_SCENARIO_TOLD_H

#include "play.h"

/* Three guarded writes under way at once, under the protagonist's hold. */
bool run_told_writes(play *p);
/* A release whose caller goes on, and is told when the node is gone. */
bool run_told_release(play *p);

#endif
