/*
 * admission - who is before whom among the children of a lock's directory, which of them is
 * admitted, and which node another one watches. Pure: works on one listing.
 *
 * Not here: how a listing is asked for, and when it may be believed (contender.h).
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
    bool is_leaving; /* a node of our own session's that is being deleted */
};

/* One directory's contenders, in any order, without the children that are none. */
struct zkli_listing {
    const struct zkli_sibling *siblings;
    size_t count;
    bool is_by_czxid; /* order holds czxids; else sequences */
};

enum zkli_verdict {
    ZKLI_VERDICT_ABSENT,      /* our node is not in the listing */
    ZKLI_VERDICT_ADMITTED,    /* no contender is before us */
    ZKLI_VERDICT_WATCH_NODE,  /* wait for the one just before us */
    ZKLI_VERDICT_NEEDS_CZXID, /* the numbers cannot be trusted: order by czxid */
};

struct zkli_admission {
    enum zkli_verdict verdict;
    size_t position;                        /* contenders before us */
    size_t staying;                         /* those of them that are not leaving */
    const struct zkli_sibling *predecessor; /* WATCH_NODE: the one just before us */
    /* WATCH_NODE: when that one is deleted we are admitted, without another listing. It was the
     * first, numbers only grow, and the directory cannot go while we are in it. Not so near the
     * counter's end; nor behind a read or write name, whose owners may create nodes with old
     * numbers. */
    bool is_hand_off;
};

/* Fills *ret_sibling from a child's name and returns true; false when it is no contender's. */
bool zkli_sibling_parse(struct zkli_sibling *ret_sibling, const char *child);

/* How many are not leaving. */
size_t zkli_listing_staying(const struct zkli_listing *listing);
/* Whether any number in the listing is too near the counter's end to order by. */
bool zkli_listing_needs_czxid(const struct zkli_listing *listing);

/* Where an exclusive contender's node stands: every contender of any kind before it counts, and by
 * czxid a reader, too, that a writer before it has become. */
struct zkli_admission zkli_admit(const struct zkli_listing *listing, const char *own);

/* Whether a comes before b: by order, then by name, so that every client agrees. */
bool zkli_sibling_is_before(const struct zkli_sibling *a, const struct zkli_sibling *b);

#endif
