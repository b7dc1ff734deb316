/*
 * admission - the order of the contenders in a lock's directory, which of them are admitted, and
 * what the others watch. Pure: works on one listing.
 *
 * Not here: how a listing is asked for, and how long it can be relied on (contender.h).
 */
#ifndef ZKLI_CORE_ADMISSION_H
#define ZKLI_CORE_ADMISSION_H

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
    int64_t order;   /* the sequence, or the czxid where the listing is ordered by czxid */
    bool is_leaving; /* our own session is deleting this node */
};

/* The contenders of one directory, in any order. Its other children are left out. */
struct zkli_listing {
    const struct zkli_sibling *siblings;
    size_t count;
    bool is_by_czxid; /* order holds czxids; else sequences */
};

/* What a lock admits: contenders of this kind, so many at a time. A mutex admits one. */
struct zkli_terms {
    enum zkli_kind kind;
    size_t permits;
};

enum zkli_verdict {
    ZKLI_VERDICT_ABSENT,         /* our node is not in the listing */
    ZKLI_VERDICT_ADMITTED,       /* fewer contenders than there are permits are before us */
    ZKLI_VERDICT_WATCH_NODE,     /* wait for the contender just before us */
    ZKLI_VERDICT_WATCH_CHILDREN, /* wait for any of those before us: each of them may leave first */
    ZKLI_VERDICT_NEEDS_CZXID     /* the numbers cannot be trusted: order by czxid */
};

struct zkli_admission {
    enum zkli_verdict verdict;
    size_t position;                        /* contenders before us */
    size_t staying;                         /* those of them that are not leaving */
    const struct zkli_sibling *predecessor; /* WATCH_NODE: the one just before us */
    /* WATCH_NODE: the deletion of that node admits us, without another listing. It was the first,
     * numbers only grow, and a directory that has our node is not deleted. It is false near the
     * counter's end, and behind the kinds whose owners may create nodes with old numbers. */
    bool is_hand_off;
};

/* Fills *ret_sibling from a child's name and returns true; false when it is no contender's. */
bool zkli_sibling_parse(struct zkli_sibling *ret_sibling, const char *child);

/* How many are not leaving. */
size_t zkli_listing_staying(const struct zkli_listing *listing);
/* Whether any number in the listing is too near the counter's end to order by. */
bool zkli_listing_needs_czxid(const struct zkli_listing *listing);

/* Where our node stands, and what follows. Contenders of every kind count that are before it, and,
 * by czxid, each reader that was a writer before it. */
struct zkli_admission zkli_admit(const struct zkli_terms *terms, const struct zkli_listing *listing,
                                 const char *own);

/* Whether a comes before b: by order, then by name, so that every client agrees. */
bool zkli_sibling_is_before(const struct zkli_sibling *a, const struct zkli_sibling *b);

#endif
