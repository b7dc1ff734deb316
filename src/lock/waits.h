/*
 * waits - who waits for whom, and whether that goes in a circle: a graph of owners, whose edges are
 * waits. Every wait has to end before its waiter goes on, so each circle is a deadlock.
 */
#ifndef ZKLI_LOCK_WAITS_H
#define ZKLI_LOCK_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zkli_owner {
    uint64_t nonce, number;
};

struct zkli_wait {
    struct zkli_owner waiter, blocker;
    size_t what; /* the caller's */
};

bool zkli_owner_is(const struct zkli_owner *a, const struct zkli_owner *b);

/* Drops waits that are in no circle, but for those between two circles; the others keep their
 * order. Returns how many are left; SIZE_MAX: out of memory. */
size_t zkli_waits_trim(struct zkli_wait *waits, size_t count);
/*
 * Copies a shortest circle: the blocker of each wait is the next one's waiter, and the last one's
 * is the first one's. ret_circle has room for all waits. Returns its length, or 0 if there is none;
 * SIZE_MAX: out of memory.
 */
size_t zkli_waits_find(const struct zkli_wait *waits, size_t count, struct zkli_wait *ret_circle);
/* Drops every wait of and for an owner who is in this circle, and returns how many are left. */
size_t zkli_waits_drop(struct zkli_wait *waits, size_t count, const struct zkli_wait *circle,
                       size_t length);

#endif
