/*
 * contender_situations - a contender's states, each with what may be in flight in it. What must
 * come of events in them: test_contender_matrix.c. A semaphore's: contender_permit_situations.h.
 * Among readers and writers: test_contender_shared_matrix.c.
 */
#ifndef UNIT_CONTENDER_SITUATIONS_H
#define UNIT_CONTENDER_SITUATIONS_H

#include "unit/contender_matrix.h"

enum situation {
    S_IDLE,
    S_PROBING,
    S_PROBING_PARKED,
    S_PARENTING,     /* what is above the lock's directory */
    S_PARENTING_TOP, /* below the root of all */
    S_PARENTING_PARKED,
    S_ENQUEUING,
    S_ENQUEUING_CREATED, /* the listing is out, here and in the next four */
    S_ENQUEUING_LOST,    /* the create's reply */
    S_ENQUEUING_TWIN,    /* there is a node of this very name */
    S_ENQUEUING_LOOSE,   /* there is no directory */
    S_ENQUEUING_REFUSED,
    S_HOUSING,          /* as enqueuing, behind the directory */
    S_HOUSING_PARENT,   /* which is there now */
    S_HOUSING_REAPED,   /* and not any more; the listing is out, here and in the next */
    S_HOUSING_HOMELESS, /* there was nothing to make it in */
    S_UNSURE,
    S_SEARCHING,
    S_SEARCHING_PAST, /* the barrier; the listing is out */
    S_ADOPTING,
    S_ADOPTING_LISTED, /* as second; the read is out */
    S_LISTING,         /* again, on the same connection */
    S_LISTING_BARRIER, /* again, after a reconnect */
    S_LISTING_PAST,    /* the barrier */
    S_LISTING_PARKED,
    S_ORDERING,
    S_ARMING,
    S_ARMING_OWN, /* our watch is set, the predecessor's is out */
    S_REARMING,   /* only ours is out */
    S_WAITING_HEAD,
    S_WAITING_SECOND,
    S_ADMITTED, /* its watch is out */
    S_ADMITTED_WATCHED,
    S_ADMITTED_REFUSED,   /* the watch, and parked */
    S_ADMITTED_PARKED,    /* and there is a new connection */
    S_ADMITTED_ELSEWHERE, /* the watch is out since an earlier connection */
    S_ADMITTED_WENT,      /* the watch is out, and the node has gone */
    S_HELD,
    S_HELD_READING,
    S_HELD_WATCHED,
    S_WRITING, /* held, by a writer */
    S_TURNING,
    S_TURNING_READING, /* the read of its node is out, too */
    S_TURNING_PARKED,
    S_TURNING_SEARCH,
    S_TURNING_PAST, /* the barrier */
    S_LEAVING,
    S_LEAVING_PARKED,
    S_LEAVING_PARENT, /* that of what is above the directory is out */
    S_LEAVING_CREATE, /* the create is out */
    S_LEAVING_UNSURE, /* parked */
    S_LEAVING_SEARCH,
    S_LEAVING_PAST,   /* the barrier */
    S_LEAVING_TURNED, /* the writer's node; a reader's may be there */
    S_LEAVING_READER, /* that */
    S_ORPHAN,
    S_ORPHAN_READING, /* whose it is */
    S_ORPHAN_OURS,
    SITUATIONS
};

_Static_assert(SITUATIONS <= 64, "sets of them have 64 bits");

/* Of a mutex; of a writer and a reader, among mutexes. Those of a turn are always a writer's. */
void situation_bring(struct bench *b, unsigned situation);
void situation_bring_writer(struct bench *b, unsigned situation);
void situation_bring_reader(struct bench *b, unsigned situation);

#endif
