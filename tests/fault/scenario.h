/* What a session can go through, with a fault at any of its frames. */
#ifndef FAULT_SCENARIO_H
#define FAULT_SCENARIO_H

#include "play.h"

enum {
    SCENARIOS = 40
};

extern const scenario Scenarios[SCENARIOS];

#endif
