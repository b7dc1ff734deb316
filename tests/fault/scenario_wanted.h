/* Scenarios of holders that are told that others wait, or asked to let go, for scenario.c. */
#ifndef FAULT_SCENARIO_WANTED_H
#define FAULT_SCENARIO_WANTED_H

#include "play.h"

/* The protagonist holds, and a waiter comes when it has looked whether there is one. */
bool run_told_wanted(play *p);
/* The protagonist asks the holder. */
bool run_ask(play *p);

#endif
