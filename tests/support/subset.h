/*
 * Handles of ten locks, and two to four of these at once: what each process of a crowd takes. For
 * one thread.
 */
#ifndef SUPPORT_SUBSET_H
#define SUPPORT_SUBSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zklock.h>

#define SUBSET_LOCKS 10
#define SUBSET_MIN 2
#define SUBSET_MAX 4

typedef struct subset {
    /* Every third exclusive one is a mutex, the others are writers. */
    zkl_lock *exclusive[SUBSET_LOCKS], *shared[SUBSET_LOCKS];
    /* The chosen ones, in the order in which they are named. */
    size_t count;
    size_t chosen[SUBSET_MAX];
    bool is_reader[SUBSET_MAX];
    zkl_lock *locks[SUBSET_MAX];
} subset;

typedef enum subset_state {
    SUBSET_NONE, /* held */
    SUBSET_WHOLE,
    SUBSET_TORN /* some were held when another was not, or by another token */
} subset_state;

/* What name_of returns is copied. What was opened before a failure is left for subset_close. */
zkl_err subset_open(subset *s, zkl_session *session, const char *(*name_of)(size_t lock, void *arg),
                    zkl_event_fn on_event, void *arg);
void subset_close(subset *s);
/* Any of them, in any order; one in three by a reader's handle. */
void subset_choose(subset *s, uint64_t *random);
/* Of the calling thread. Nobody may end its holds one by one meanwhile. */
subset_state subset_look(const subset *s);

#endif
