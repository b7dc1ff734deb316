/*
 * timers - a heap of deadlines that lie in their owners' structs: setting one cannot fail.
 * Not here: a clock (the owner of the heap has it).
 */
#ifndef ZKLI_BASE_TIMERS_H
#define ZKLI_BASE_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZKLI_NEVER INT64_MAX

struct zkli_timer {
    int64_t at_ns;
    void (*fire)(struct zkli_timer *timer); /* called after it was taken out of the heap */
    struct zkli_timer *child, *sibling;     /* a pairing heap's links */
    struct zkli_timer *previous;            /* of the first of all itself; NULL: not in a heap */
};

struct zkli_timers {
    struct zkli_timer *root;
};

void zkli_timer_init(struct zkli_timer *timer, void (*fire)(struct zkli_timer *timer));
static inline bool zkli_timer_is_set(const struct zkli_timer *timer) {
    return timer->previous != NULL;
}
/* Sets or moves it; ZKLI_NEVER clears it. */
void zkli_timer_set(struct zkli_timers *timers, struct zkli_timer *timer, int64_t at_ns);
void zkli_timer_clear(struct zkli_timers *timers, struct zkli_timer *timer);
int64_t zkli_timers_next(const struct zkli_timers *timers);
/* Fires all that are due, in order. */
void zkli_timers_run(struct zkli_timers *timers, int64_t now_ns);

#endif
