/*
 * queue - who is before whom among the children of a lock's directory, who is admitted, and whom
 * the others watch. Pure: works on one listing.
 *
 * Not here: how a listing is asked for, and when it may be believed (contender.h).
 */
#ifndef ZKLI_CORE_QUEUE_H
#define ZKLI_CORE_QUEUE_H

#include "core/node_name.h"

/*
 * The counter behind the sequence repeats 2147483647 and, pipelined, jumps to negative numbers
 * when it is spent. This far from it numbers are not trusted: a million creates is more than any
 * directory has in flight.
 */
#define ZKLI_COUNTER_END INT64_C(2147483647)
#define ZKLI_COUNTER_MARGIN (INT64_C(1) << 20)

struct zkli_sibling {
    const char *name; /* borrowed */
    enum zkli_kind kind;
    int64_t order; /* the sequence, or the czxid where the listing is ordered by czxid */
};

/* One directory's contenders, in any order, without the children that are none. */
struct zkli_listing {
    const struct zkli_sibling *siblings;
    size_t count;
    bool is_by_czxid; /* order holds czxids; else sequences */
};

enum zkli_verdict {
    ZKLI_ABSENT,      /* our node is not in the listing */
    ZKLI_FIRST,       /* nobody is before us */
    ZKLI_BEHIND,      /* wait for the predecessor */
    ZKLI_NEEDS_CZXID, /* the numbers cannot be trusted: order by czxid */
};

struct zkli_place {
    enum zkli_verdict verdict;
    size_t position;                        /* contenders before us */
    const struct zkli_sibling *predecessor; /* BEHIND: the one just before us, in the listing */
    bool is_by_sequence;                    /* the listing was ordered by trusted numbers */
};

/* Fills *ret_sibling from a child's name and returns true; false when it is no contender's. */
bool zkli_sibling_parse(struct zkli_sibling *ret_sibling, const char *child);

/* Whether any number in the listing is too near the counter's end to order by. */
bool zkli_listing_needs_czxid(const struct zkli_listing *listing);

/* Where an exclusive contender's node stands: every contender of any kind before it counts, and by
 * czxid a reader, too, that a writer before it has become. */
struct zkli_place zkli_queue_place(const struct zkli_listing *listing, const char *own);

/* Whether a comes before b: by order, then by name, so that every client agrees. */
bool zkli_sibling_is_before(const struct zkli_sibling *a, const struct zkli_sibling *b);

#endif
