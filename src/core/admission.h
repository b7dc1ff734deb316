/*
 * admission - the order of the contenders in a lock's directory, which of them are admitted, and
 * what the others watch. Pure: works on one listing.
 *
 * Not here: how a listing is asked for, and how long it can be relied on (contender.h).
 */
#ifndef ZKLI_CORE_ADMISSION_H
#define ZKLI_CORE_ADMISSION_H

#include "core/node_name.h"
#include "core/permits.h"

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
    /* The directory, as it was when it was listed. */
    int64_t czxid;
    int32_t version; /* of its data */
};

enum zkli_verdict {
    ZKLI_VERDICT_ABSENT,     /* our node is not in the listing */
    ZKLI_VERDICT_ADMITTED,   /* no contender is before us that keeps us out */
    ZKLI_VERDICT_WATCH_NODE, /* wait for the nearest one before us that does */
    ZKLI_VERDICT_FRONT,      /* a semaphore's: wait for the end of any one, or for more permits */
    ZKLI_VERDICT_NEEDS_PERMITS, /* a semaphore's: their number is not known for this listing */
    ZKLI_VERDICT_NEEDS_CZXID    /* the numbers cannot be trusted: order by czxid */
};

struct zkli_admission {
    enum zkli_verdict verdict;
    size_t position; /* contenders before us */
    size_t staying;  /* so many that are not leaving have to end before we are admitted */
    /* Contenders behind us. By czxid there may be others, that came after the listing, which is
     * without the nodes that have gone since: we may be admitted by their end alone. */
    bool may_have_followers;
    const struct zkli_sibling *predecessor; /* WATCH_NODE */
    /* WATCH_NODE: the deletion of that node admits us, without another listing. No other one keeps
     * us out, numbers only grow, and a directory that has our node is not deleted. It is false near
     * the counter's end. It is false behind a writer for whoever waits for readers, too: with the
     * writer's end one may take its place. (Its watchers are told of a change before that. But on a
     * new connection they hear of the end alone, and that connection may not have been told.) */
    bool is_hand_off;
};

/* Whether a contender of the first kind is kept out by any one of the second before it: a reader by
 * all but readers, a semaphore's by all but its like, any other by all. */
bool zkli_kind_waits_for(enum zkli_kind kind, enum zkli_kind other);

/* Fills *ret_sibling from a child's name and returns true; false when it is no contender's. */
bool zkli_sibling_parse(struct zkli_sibling *ret_sibling, const char *child);

/* These, if they are those of the directory as it was listed; else UNKNOWN. */
struct zkli_permits zkli_listing_permits(const struct zkli_listing *listing,
                                         const struct zkli_permits *permits);
/* As .staying, for a newcomer of this kind; a semaphore's, with so many permits. */
size_t zkli_listing_staying(const struct zkli_listing *listing, enum zkli_kind kind, int permits);
/* The first that keeps out a newcomer of this kind, if its node may be kept while it is idle. NULL:
 * it is another's, or there is none. */
const struct zkli_sibling *zkli_listing_kept(const struct zkli_listing *listing,
                                             enum zkli_kind kind);
/* Whether anybody waits for the end of who holds by its own node: one behind it that it keeps out.
 * Whoever is before it has gone, and a server may not know that yet. permits: of a semaphore; else
 * 0. Where it has become smaller, one that holds behind it counts, too, for it cannot be told from
 * one that waits. Where numbers cannot be trusted, no other of a semaphore's counts. */
bool zkli_listing_awaits(const struct zkli_listing *listing, enum zkli_kind kind,
                         const char *own_name, int permits);
/* Whether any number in the listing is too near the counter's end to order by. */
bool zkli_listing_needs_czxid(const struct zkli_listing *listing);

/*
 * Where our node of this kind stands, and what follows. Contenders are before it, and, by czxid,
 * each reader that was a writer before it.
 *
 * permits: of a semaphore, by zkli_listing_permits; else NULL. With n of them, the first n are
 * admitted, and each tells the next one behind. Whoever has n to max before it may have nobody
 * before it who will tell: the number may have shrunk. So it watches the directory. All behind it
 * have somebody before them who will.
 */
struct zkli_admission zkli_admit(enum zkli_kind kind, const struct zkli_listing *listing,
                                 const char *own, const struct zkli_permits *permits);

/* Whether a comes before b: by order, then by name, so that every client agrees. */
bool zkli_sibling_is_before(const struct zkli_sibling *a, const struct zkli_sibling *b);

#endif
