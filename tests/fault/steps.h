/*
 * Steps that several scenarios are made of. Each returns false when the case is over, as those of
 * play.h do.
 */
#ifndef FAULT_STEPS_H
#define FAULT_STEPS_H

#include "play.h"

/* What there is of the protagonist's. */
bool step_has_one_node(play *p);
bool step_has_no_node(play *p);
bool step_is_told_of_the_loss(play *p);

/* The protagonist acquires what is free; releases, and perhaps waits until its node is gone. */
bool step_takes(play *p);
bool step_releases(play *p, bool waits);

/* The protagonist has the lock, or has given up waiting behind the holder and leaves nothing. Goes
 * on to the end of the scenario. */
bool step_end_held(play *p);
bool step_end_waiting(play *p);
/* The handle is as good as new, and nothing but its own node is there while it holds. */
bool step_comes_again(play *p);

#endif
