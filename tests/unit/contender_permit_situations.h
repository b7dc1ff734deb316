/*
 * contender_permit_situations - the states of a semaphore's contender, each with what may be in
 * flight in it. What must come of events in them: test_contender_permit_matrix.c.
 *
 * One permit is recorded, and there were never more. So the contender that is FIRST is admitted,
 * the one BEHIND_HEAD stands in front, and the one BEHIND_TWO waits for its predecessor.
 */
#ifndef UNIT_CONTENDER_PERMIT_SITUATIONS_H
#define UNIT_CONTENDER_PERMIT_SITUATIONS_H

#include "unit/contender_matrix.h"

/* The listing is out alone, if nothing else is said. READ: the directory has been read, for the
 * first time. UNREAD: it was to be read, and the server had no time for that. */
enum permit_situation {
    P_IDLE,
    P_PROBING, /* the read is out, too */
    P_PROBING_READ,
    P_PROBING_UNREAD,
    P_PROBING_LISTED,    /* the read is out */
    P_PROBING_FOLLOWING, /* as READ; there are two permits, and it goes by that */
    P_ASKING,            /* a node that is kept: its owner, to let go */
    P_PARENTING,         /* what is above the directory is out */
    P_ENQUEUING,         /* all is out */
    P_ENQUEUING_READ,
    P_ENQUEUING_UNREAD,
    P_ENQUEUING_CACHED, /* read before by another contender */
    P_ENQUEUING_TRY,    /* it found the semaphore free */
    P_ENQUEUING_LOOSE,  /* there is no directory */
    P_FOLLOWING,        /* as READ, to go by the number that is recorded */
    P_FOLLOWING_LOOSE,  /* the same, and there is no directory */
    P_HOUSING,          /* all is out: the directory, too */
    P_HOUSING_READ,
    P_RECORDING,
    P_RECORDING_WENT,  /* and the node has gone */
    P_RECORDED,        /* it, or another contender has; and that was read again */
    P_SEARCHING_PAST,  /* the barrier */
    P_ADOPTING_READ,   /* and the node, too */
    P_ADOPTING_LISTED, /* in front; the read of the node is out */
    P_LISTING,         /* again, on the same connection */
    P_LISTING_PAST,    /* again, after a reconnect; the barrier has passed */
    P_LISTING_READING, /* the directory has changed: the read is out, too */
    P_LISTING_READ,
    P_LISTING_UNREAD,
    P_LISTING_UNREAD_PARKED,
    P_LISTING_PARKED,
    P_LISTING_LAST,         /* a last look: behind a mark, and the watches stand */
    P_LISTING_LAST_MARKED,  /* and the predecessor's fired */
    P_LISTING_LAST_CHANGED, /* and our own fired */
    P_ORDERING,
    P_ORDERING_FRONT, /* the watches in front stand */
    P_ORDERING_LAST,  /* a last look */
    P_FRONTING,       /* all three are out */
    P_FRONTING_OWN,   /* the directory and the listing are out */
    P_FRONTING_READ,
    P_FRONTING_UNREAD,
    P_FRONTING_OWN_LISTED,   /* the directory is out */
    P_FRONTING_CAME,         /* the same, and the children have changed since */
    P_FRONTING_READ_LISTED,  /* our node is out */
    P_FRONTING_CHANGED,      /* the directory has, since it was read */
    P_FRONTING_AGAIN,        /* the directory and the listing are out, and our watch stands */
    P_FRONTING_AGAIN_LISTED, /* the directory is out, and its watch stood before */
    P_FRONTING_OWN_CHANGED,  /* our watch fired */
    P_FRONTING_WENT,         /* the node has gone */
    P_FRONT,
    P_FRONT_ELSEWHERE, /* since an earlier connection */
    P_ARMING_OWN,      /* our watch is set, the predecessor's is out */
    P_ARMING_MOVED,    /* ours is out, and the predecessor's was set and has fired */
    P_ARMING_LAST,     /* as ARMING_OWN, behind a last look */
    P_ARMING_MARKED,   /* the same, and the predecessor's watch fired during that look */
    P_ARMING_ANEW,     /* the same, in another place than that look was made for */
    P_REARMING,        /* only ours is out */
    P_REARMING_MARKED, /* the same, behind a marked node that was looked at */
    P_WAITING,
    P_WAITING_MARKED, /* behind a marked node that was looked at */
    P_WAITING_MUTEX,  /* behind a mutex's */
    P_ADMITTED,       /* the read of our node and its mark are out */
    P_ADMITTED_ALONE, /* the read is out; nobody is behind, and no mark is owed */
    P_ADMITTED_TOUCHING,
    P_ADMITTED_TOUCHING_CHANGED,   /* and the watch fired */
    P_ADMITTED_UNREAD,             /* the mark is out, and the watch is to be set later */
    P_ADMITTED_TOUCHING_WENT,      /* the mark is out, and the node has gone */
    P_ADMITTED_WENT,               /* both are out, and the node has gone */
    P_ADMITTED_READING,            /* the read is out, and the mark is made */
    P_ADMITTED_READING_OWING,      /* the read is out, and the mark is to be made later */
    P_ADMITTED_READING_OWING_WENT, /* and the node has gone */
    P_ADMITTED_OWING,
    P_ADMITTED_WATCHED,
    P_ADMITTED_ELSEWHERE,          /* both are out since an earlier connection */
    P_ADMITTED_READING_ELSEWHERE,  /* the read is */
    P_ADMITTED_TOUCHING_ELSEWHERE, /* the mark is */
    P_ADMITTED_OWING_ELSEWHERE,    /* nothing is, and the connection is a new one */
    P_HELD,                        /* the mark is made */
    P_HELD_TOUCHING,
    P_HELD_WATCHED_TOUCHING,
    P_HELD_READING_TOUCHING, /* both are out */
    P_HELD_OWING,
    P_LEAVING_TOUCHING, /* the mark is out */
    PERMIT_SITUATIONS
};

/* Two tables: the way to a permit, and the contender that has one. */
#define PERMIT_WAYS P_ADMITTED /* so many situations */
_Static_assert(PERMIT_WAYS < 64 && PERMIT_SITUATIONS - PERMIT_WAYS <= 64,
               "sets of them have 64 bits");

void permit_situation_bring(struct bench *b, unsigned situation);

#endif
