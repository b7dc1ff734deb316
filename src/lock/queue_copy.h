/* queue_copy - what zkl_inspect has read of a queue, for those who look for more in it. */
#ifndef ZKLI_LOCK_QUEUE_COPY_H
#define ZKLI_LOCK_QUEUE_COPY_H

#include "lock/lock.h"

struct zkli_entry {
    zkl_contender contender;
    struct zkli_sibling place;
    struct zkli_node_data data;
    bool is_there; /* else it left before it was read */
    bool is_ours;  /* its data say who it is, in our words */
    char node[ZKLI_CHILD_MAX + 1];
};

struct zkl_queue {
    size_t count;
    zkl_contender *contenders;  /* count of them, in order; their text stands in the entries */
    struct zkli_entry *entries; /* the same first, in the same order */
    size_t entry_count;
    size_t read_count; /* the first of them, before they are sorted again; the rest is not read */
    int permits;       /* 0: none recorded */
};

#endif
