/* Scenarios of holders that are told that others wait, asked to let go, or broken; scenario.c. */
#ifndef FAULT_SCENARIO_WANTED_H
#define FAULT_SCENARIO_WANTED_H

#include "play.h"

/* The protagonist holds, and a waiter comes when it has looked whether there is one. */
bool run_told_wanted(play *p);
/* The protagonist asks the holder. */
bool run_ask(play *p);
/* The protagonist ends the holder's hold; or its own is ended. */
bool run_break(play *p);
bool run_broken(play *p);

#endif
