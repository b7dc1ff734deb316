/*
 * What is said of a run of the register test, by its history in the directory, and printed. For the
 * thread that runs the test, which fails where the history is not one that may be.
 */
#ifndef REGISTER_VERDICT_H
#define REGISTER_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "support/breaker.h"
#include "support/history.h"

/* To be freed. */
history *verdict_read(const char *directory);
/* Of one register, whose value in the end is final. has_stops: so some writes were too late. */
void verdict_of(history *h, const char *directory, char kind, const char *name, int64_t final,
                bool has_stops);
/* Of the registers of the groups, whose files these are. */
void verdict_of_groups(history *h, const char *directory, const int *files);
/* Of the slots. */
void verdict_of_slots(const history *h, const char *directory);
/* Of all together, in one line. */
void verdict_figures(history *h);
/* How often each fault was made, and how long nobody could write then, and how long nobody to one
 * register. */
void verdict_strokes(history *h, const breaker_plan *plan);

#endif
