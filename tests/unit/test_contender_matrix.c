/*
 * Every state of a contender against every event, with each result, connected or not, the lease
 * ample, short or over. What must come of it is written in a table; where the table says nothing,
 * the event must change nothing. The rules of the bench hold besides.
 */
#include "unit/contender_situations.h"

#define ANY 0xffffu
#define OK BIT(ZKLI_RESULT_OK)
#define NO_NODE BIT(ZKLI_RESULT_NO_NODE)
#define EXISTS BIT(ZKLI_RESULT_EXISTS)
#define DENIED BIT(ZKLI_RESULT_DENIED)
#define NOMEM BIT(ZKLI_RESULT_NOMEM)
#define LATER (BIT(ZKLI_RESULT_LOST) | BIT(ZKLI_RESULT_AGAIN))
#define FAULT BIT(ZKLI_RESULT_ERROR)
#define ODD (EXISTS | NOMEM | FAULT)
#define LISTED_AS(crowd) BIT(V_CROWD + (crowd))
#define WITH_US                                                                                    \
    (LISTED_AS(FIRST) | LISTED_AS(BEHIND_HEAD) | LISTED_AS(BEHIND_TWO) | LISTED_AS(AT_THE_END))
#define WITHOUT_US (LISTED_AS(NOBODY) | LISTED_AS(OTHERS))

/* ---- What must come of it ---- */

enum effect {
    PLAINLY,
    IF_CONNECTED,           /* else nothing */
    SENDING,                /* if connected */
    IF_AMPLE_AND_CONNECTED, /* else nothing */
    IF_UNCERTAIN,           /* else nothing */
    ADMITTING,              /* held if the lease is ample, else admitted, with a watch to be set */
    ADMITTING_WATCHED,      /* the same, and the watch stands */
    HANDED_OFF,             /* the same if connected, else listed again */
    LISTING_AGAIN,          /* behind a barrier if not connected */
    REQUEUING,              /* as said if connected, else idle */
    PARKING,                /* with a retry if connected */
    SEARCHING_OR_PARKING    /* as said if connected, else parked */
};

#define SAME ZKLI_CONTENDER_STATES

struct outcome {
    uint64_t situations;
    enum zkli_contender_event_type type;
    unsigned variations;
    enum zkli_contender_state state;
    unsigned actions;
    int error;
    enum effect effect;
};

/* The last part of a row. */
#define BECOMES(state, actions) (state), (actions), 0, PLAINLY
#define ON(state, actions) (state), (actions), 0, IF_CONNECTED
#define ENQUEUES ZKLI_ENQUEUING, CREATE_AND_LIST, 0, PLAINLY
#define BEGINS_ANEW ZKLI_ENQUEUING, CREATE_AND_LIST, 0, REQUEUING
#define REQUEUES ZKLI_ENQUEUING, CREATE_AND_LIST | ZKLI_TELL_REQUEUED, 0, REQUEUING
#define ADMITS ZKLI_HELD, ZKLI_DO_GRANT, 0, ADMITTING
#define ADMITS_WATCHED ZKLI_HELD, ZKLI_DO_GRANT, 0, ADMITTING_WATCHED
#define GRANTS_IF_AMPLE ZKLI_HELD, ZKLI_DO_GRANT, 0, IF_AMPLE_AND_CONNECTED
#define ADMITTED_LISTS ON(ZKLI_LISTING, BARRIER_AND_LIST)
#define IS_HANDED_OFF ZKLI_HELD, ZKLI_DO_GRANT, 0, HANDED_OFF
#define LISTS_AGAIN ZKLI_LISTING, ZKLI_ASK_LIST, 0, LISTING_AGAIN
#define PARKS(state) (state), 0, 0, PARKING
#define FAILS(error) ZKLI_GONE, ZKLI_DO_FAIL | ZKLI_DO_FORGET, (error), PLAINLY
#define FAILS_AND_DELETES(error) ZKLI_LEAVING, ZKLI_DO_FAIL | ZKLI_ASK_DELETE, (error), PLAINLY
#define TURNS_TO(error) ZKLI_HELD, ZKLI_TELL_TURNED, (error), PLAINLY
#define LOSES ZKLI_GONE, ZKLI_DO_LOSE | ZKLI_DO_FORGET, 0, PLAINLY
#define FORGETS ZKLI_GONE, ZKLI_DO_FORGET, 0, PLAINLY

#define PLACING (IN(S_ENQUEUING_CREATED) | IN(S_LISTING) | IN(S_LISTING_PAST) | IN(S_ORDERING))
#define WAITING (IN(S_WAITING_HEAD) | IN(S_WAITING_SECOND))
#define ADMITTED_READING (IN(S_ADMITTED) | IN(S_ADMITTED_ELSEWHERE) | IN(S_ADMITTED_WENT))
#define ADMITTED                                                                                   \
    (ADMITTED_READING | IN(S_ADMITTED_WATCHED) | IN(S_ADMITTED_REFUSED) | IN(S_ADMITTED_PARKED))
#define TURNS                                                                                      \
    (IN(S_TURNING) | IN(S_TURNING_READING) | IN(S_TURNING_PARKED) | IN(S_TURNING_SEARCH) |         \
     IN(S_TURNING_PAST))
#define HOLDING (IN(S_HELD) | IN(S_HELD_READING) | IN(S_HELD_WATCHED) | IN(S_WRITING) | TURNS)
#define GOING                                                                                      \
    (IN(S_LEAVING) | IN(S_LEAVING_PARKED) | IN(S_LEAVING_CREATE) | IN(S_LEAVING_UNSURE) |          \
     IN(S_LEAVING_SEARCH) | IN(S_LEAVING_PAST) | IN(S_LEAVING_TURNED) | IN(S_LEAVING_READER) |     \
     IN(S_ORPHAN) | IN(S_ORPHAN_READING) | IN(S_ORPHAN_OURS))
#define DELETING (IN(S_LEAVING) | IN(S_LEAVING_READER) | IN(S_ORPHAN_OURS))
/* Waiters without a node, and with one. */
#define NOTHING_YET                                                                                \
    (IN(S_IDLE) | IN(S_PROBING) | IN(S_PROBING_PARKED) | IN(S_PARENTING) | IN(S_PARENTING_TOP) |   \
     IN(S_PARENTING_PARKED) | IN(S_ENQUEUING_LOOSE) | IN(S_ENQUEUING_REFUSED) |                    \
     IN(S_HOUSING_REAPED) | IN(S_HOUSING_HOMELESS))
#define CREATING (IN(S_ENQUEUING) | IN(S_HOUSING) | IN(S_HOUSING_PARENT))
#define SEARCHES (IN(S_SEARCHING) | IN(S_SEARCHING_PAST))
/* There may be a node, and nothing is in flight that tells. */
#define DOUBTING (IN(S_UNSURE) | IN(S_ENQUEUING_LOST) | IN(S_ENQUEUING_TWIN))
#define WITHOUT_NODE (NOTHING_YET | CREATING | DOUBTING | SEARCHES)
#define QUEUED                                                                                     \
    (PLACING | WAITING | IN(S_ADOPTING) | IN(S_ADOPTING_LISTED) | IN(S_LISTING_BARRIER) |          \
     IN(S_LISTING_PARKED) | IN(S_ARMING) | IN(S_ARMING_OWN) | IN(S_REARMING) | ADMITTED)

static const struct outcome outcomes[] = {
    {IN(S_IDLE), ZKLI_EV_CONNECTED, ANY, ON(ZKLI_ENQUEUING, CREATE_AND_LIST)},
    {IN(S_IDLE), ZKLI_EV_LEASE, ANY, ON(ZKLI_ENQUEUING, CREATE_AND_LIST)},
    {IN(S_PROBING_PARKED), ZKLI_EV_CONNECTED, ANY, ON(ZKLI_PROBING, ZKLI_ASK_LIST)},
    {IN(S_PARENTING_PARKED), ZKLI_EV_CONNECTED, ANY, ON(ZKLI_PARENTING, ZKLI_ASK_PARENT)},
    {IN(S_UNSURE), ZKLI_EV_CONNECTED, ANY, ON(ZKLI_SEARCHING, BARRIER_AND_LIST)},
    {IN(S_LISTING_PARKED), ZKLI_EV_CONNECTED, ANY, ON(ZKLI_LISTING, BARRIER_AND_LIST)},
    {IN(S_LEAVING_PARKED), ZKLI_EV_CONNECTED, ANY, ON(ZKLI_LEAVING, ZKLI_ASK_DELETE)},
    {IN(S_LEAVING_UNSURE), ZKLI_EV_CONNECTED, ANY, ON(ZKLI_LEAVING, BARRIER_AND_LIST)},
    {IN(S_ORPHAN), ZKLI_EV_CONNECTED, ANY, ON(ZKLI_CLAIMING, ZKLI_ASK_OWNER)},

    /* The end of the session ends holds and what was to be deleted; waiters begin anew. */
    {WITHOUT_NODE, ZKLI_EV_EXPIRED, ANY, BECOMES(ZKLI_IDLE, 0)},
    {QUEUED, ZKLI_EV_EXPIRED, ANY, BECOMES(ZKLI_IDLE, ZKLI_TELL_REQUEUED)},
    {HOLDING, ZKLI_EV_EXPIRED, ANY, LOSES},
    {GOING, ZKLI_EV_EXPIRED, ANY, FORGETS},

    /* Parents, the lowest missing one first. */
    {IN(S_PARENTING), ZKLI_EV_PARENT, OK | EXISTS, BECOMES(ZKLI_ENQUEUING, PARENT_CREATE_AND_LIST)},
    {IN(S_PARENTING), ZKLI_EV_PARENT, NO_NODE, BECOMES(ZKLI_PARENTING, ZKLI_ASK_PARENT)},
    {IN(S_PARENTING_TOP), ZKLI_EV_PARENT, OK | EXISTS, BECOMES(ZKLI_PARENTING, ZKLI_ASK_PARENT)},
    {IN(S_PARENTING_TOP), ZKLI_EV_PARENT, NO_NODE, FAILS(ZKL_NO_CHROOT)},
    {IN(S_PARENTING) | IN(S_PARENTING_TOP), ZKLI_EV_PARENT, LATER, PARKS(ZKLI_PARENTING)},
    {IN(S_PARENTING) | IN(S_PARENTING_TOP), ZKLI_EV_PARENT, DENIED, FAILS(ZKL_DENIED)},
    {IN(S_PARENTING) | IN(S_PARENTING_TOP), ZKLI_EV_PARENT, NOMEM, FAILS(ZKL_NOMEM)},
    {IN(S_PARENTING) | IN(S_PARENTING_TOP), ZKLI_EV_PARENT, FAULT, FAILS(ZKL_SERVER)},

    /* A try: anybody there, and nothing is written. */
    {IN(S_PROBING), ZKLI_EV_LISTED, LISTED_AS(NOBODY) | NO_NODE, ENQUEUES},
    {IN(S_PROBING), ZKLI_EV_LISTED, WITH_US | LISTED_AS(OTHERS), FAILS(ZKL_BUSY)},
    {IN(S_PROBING), ZKLI_EV_LISTED, LATER, PARKS(ZKLI_PROBING)},
    {IN(S_PROBING), ZKLI_EV_LISTED, DENIED, FAILS(ZKL_DENIED)},
    {IN(S_PROBING), ZKLI_EV_LISTED, NOMEM, FAILS(ZKL_NOMEM)},
    {IN(S_PROBING), ZKLI_EV_LISTED, EXISTS | FAULT, FAILS(ZKL_SERVER)},

    /* The listing that shows our place. */
    {IN(S_ENQUEUING_CREATED) | IN(S_ORDERING), ZKLI_EV_LISTED, LISTED_AS(FIRST), ADMITS},
    {IN(S_LISTING) | IN(S_LISTING_PAST), ZKLI_EV_LISTED, LISTED_AS(FIRST), ADMITS_WATCHED},
    {PLACING, ZKLI_EV_LISTED, WITHOUT_US | NO_NODE, REQUEUES},
    {PLACING & ~IN(S_ORDERING), ZKLI_EV_LISTED, LISTED_AS(AT_THE_END),
     BECOMES(ZKLI_ORDERING, ZKLI_ASK_ORDER)},
    {IN(S_ORDERING), ZKLI_EV_LISTED, LISTED_AS(AT_THE_END), ADMITS},
    {IN(S_ENQUEUING_CREATED) | IN(S_ORDERING), ZKLI_EV_LISTED,
     LISTED_AS(BEHIND_HEAD) | LISTED_AS(BEHIND_TWO),
     BECOMES(ZKLI_ARMING, OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED)},
    {IN(S_LISTING) | IN(S_LISTING_PAST), ZKLI_EV_LISTED, LISTED_AS(BEHIND_HEAD),
     BECOMES(ZKLI_ARMING, ZKLI_ASK_PREDECESSOR | ZKLI_TELL_QUEUED)}, /* our own watch stands */
    {IN(S_LISTING) | IN(S_LISTING_PAST), ZKLI_EV_LISTED, LISTED_AS(BEHIND_TWO),
     BECOMES(ZKLI_ARMING, ZKLI_ASK_PREDECESSOR)}, /* and the position is known */
    {PLACING, ZKLI_EV_LISTED, LATER, PARKS(ZKLI_LISTING)},
    {PLACING, ZKLI_EV_LISTED, DENIED, FAILS_AND_DELETES(ZKL_DENIED)},
    {PLACING, ZKLI_EV_LISTED, NOMEM, FAILS_AND_DELETES(ZKL_NOMEM)},
    {PLACING, ZKLI_EV_LISTED, EXISTS | FAULT, FAILS_AND_DELETES(ZKL_SERVER)},

    /* A lost create: nothing is created before a barrier and a listing. */
    {IN(S_ENQUEUING_LOST), ZKLI_EV_LISTED, ANY, PARKS(ZKLI_UNSURE)},
    {IN(S_ENQUEUING_TWIN), ZKLI_EV_LISTED, ANY, BECOMES(ZKLI_SEARCHING, BARRIER_AND_LIST)},
    {IN(S_ENQUEUING_LOOSE) | IN(S_HOUSING_REAPED), ZKLI_EV_LISTED, ANY,
     BECOMES(ZKLI_ENQUEUING, PARENT_CREATE_AND_LIST)},
    {IN(S_HOUSING_HOMELESS), ZKLI_EV_LISTED, ANY, BECOMES(ZKLI_PARENTING, ZKLI_ASK_PARENT)},
    {IN(S_ENQUEUING_REFUSED), ZKLI_EV_LISTED, ANY, FAILS(ZKL_SERVER)},
    {IN(S_SEARCHING_PAST), ZKLI_EV_LISTED, WITH_US, BECOMES(ZKLI_ADOPTING, OWN_AND_LIST)},
    {IN(S_SEARCHING_PAST), ZKLI_EV_LISTED, WITHOUT_US | NO_NODE, BEGINS_ANEW},
    {IN(S_SEARCHING_PAST), ZKLI_EV_LISTED, LATER | ODD, PARKS(ZKLI_UNSURE)},
    {IN(S_SEARCHING_PAST), ZKLI_EV_LISTED, DENIED, ZKLI_LEAVING, ZKLI_DO_FAIL | BARRIER_AND_LIST,
     ZKL_DENIED, SEARCHING_OR_PARKING},
    {IN(S_ADOPTING_LISTED), ZKLI_EV_OWN_READ, OK,
     BECOMES(ZKLI_ARMING, ZKLI_ASK_PREDECESSOR | ZKLI_TELL_QUEUED)},
    {IN(S_ADOPTING_LISTED), ZKLI_EV_OWN_READ, BIT(V_OTHERS_NODE) | NO_NODE, BEGINS_ANEW},
    {IN(S_ADOPTING_LISTED), ZKLI_EV_OWN_READ, LATER, PARKS(ZKLI_UNSURE)},
    {IN(S_ADOPTING_LISTED), ZKLI_EV_OWN_READ, DENIED, FAILS_AND_DELETES(ZKL_DENIED)},
    {IN(S_ADOPTING_LISTED), ZKLI_EV_OWN_READ, NOMEM, FAILS_AND_DELETES(ZKL_NOMEM)},
    {IN(S_ADOPTING_LISTED), ZKLI_EV_OWN_READ, EXISTS | FAULT, FAILS_AND_DELETES(ZKL_SERVER)},

    /* The watches. */
    {IN(S_ARMING_OWN), ZKLI_EV_PREDECESSOR_READ, OK, BECOMES(ZKLI_WAITING, 0)},
    {IN(S_ARMING_OWN), ZKLI_EV_PREDECESSOR_READ, NO_NODE, IS_HANDED_OFF},
    {IN(S_ARMING_OWN), ZKLI_EV_PREDECESSOR_READ, LATER, PARKS(ZKLI_LISTING)},
    {IN(S_ARMING_OWN), ZKLI_EV_PREDECESSOR_READ, DENIED, FAILS_AND_DELETES(ZKL_DENIED)},
    {IN(S_ARMING_OWN), ZKLI_EV_PREDECESSOR_READ, NOMEM, FAILS_AND_DELETES(ZKL_NOMEM)},
    {IN(S_ARMING_OWN), ZKLI_EV_PREDECESSOR_READ, EXISTS | FAULT, FAILS_AND_DELETES(ZKL_SERVER)},
    {IN(S_REARMING), ZKLI_EV_OWN_READ, OK, BECOMES(ZKLI_WAITING, 0)},
    {IN(S_REARMING), ZKLI_EV_OWN_READ, NO_NODE, REQUEUES},
    {IN(S_REARMING), ZKLI_EV_OWN_READ, LATER, PARKS(ZKLI_LISTING)},
    {IN(S_REARMING), ZKLI_EV_OWN_READ, DENIED, FAILS_AND_DELETES(ZKL_DENIED)},
    {IN(S_REARMING), ZKLI_EV_OWN_READ, NOMEM, FAILS_AND_DELETES(ZKL_NOMEM)},
    {IN(S_REARMING), ZKLI_EV_OWN_READ, EXISTS | FAULT, FAILS_AND_DELETES(ZKL_SERVER)},
    {WAITING, ZKLI_EV_OWN_EVENT, BIT(V_DELETED), REQUEUES},
    {WAITING, ZKLI_EV_OWN_EVENT, BIT(V_CHANGED), BECOMES(ZKLI_ARMING, ZKLI_ASK_OWN)},
    {WAITING, ZKLI_EV_PREDECESSOR_EVENT, BIT(V_CHANGED),
     BECOMES(ZKLI_ARMING, ZKLI_ASK_PREDECESSOR)},
    {IN(S_WAITING_HEAD), ZKLI_EV_PREDECESSOR_EVENT, BIT(V_DELETED), IS_HANDED_OFF},
    {IN(S_WAITING_SECOND), ZKLI_EV_PREDECESSOR_EVENT, BIT(V_DELETED), LISTS_AGAIN},

    /* First, and the lease is too short. */
    {IN(S_ADMITTED), ZKLI_EV_OWN_READ, OK, GRANTS_IF_AMPLE},
    {IN(S_ADMITTED_ELSEWHERE), ZKLI_EV_OWN_READ, OK, ADMITTED_LISTS},
    {IN(S_ADMITTED) | IN(S_ADMITTED_ELSEWHERE), ZKLI_EV_OWN_READ, NO_NODE, REQUEUES},
    {IN(S_ADMITTED) | IN(S_ADMITTED_ELSEWHERE), ZKLI_EV_OWN_READ, LATER, PARKS(ZKLI_ADMITTED)},
    {IN(S_ADMITTED) | IN(S_ADMITTED_ELSEWHERE), ZKLI_EV_OWN_READ, DENIED,
     FAILS_AND_DELETES(ZKL_DENIED)},
    {IN(S_ADMITTED) | IN(S_ADMITTED_ELSEWHERE), ZKLI_EV_OWN_READ, NOMEM,
     FAILS_AND_DELETES(ZKL_NOMEM)},
    {IN(S_ADMITTED) | IN(S_ADMITTED_ELSEWHERE), ZKLI_EV_OWN_READ, EXISTS | FAULT,
     FAILS_AND_DELETES(ZKL_SERVER)},
    {IN(S_ADMITTED_WENT), ZKLI_EV_OWN_READ, ANY, REQUEUES},
    {IN(S_ADMITTED_WATCHED), ZKLI_EV_LEASE, ANY, GRANTS_IF_AMPLE},
    {IN(S_ADMITTED_WATCHED), ZKLI_EV_CONNECTED, ANY, GRANTS_IF_AMPLE},
    {IN(S_ADMITTED_REFUSED), ZKLI_EV_LEASE, ANY, ON(ZKLI_ADMITTED, ZKLI_ASK_OWN)},
    {IN(S_ADMITTED_REFUSED), ZKLI_EV_CONNECTED, ANY, ON(ZKLI_ADMITTED, ZKLI_ASK_OWN)},
    {IN(S_ADMITTED_PARKED), ZKLI_EV_LEASE, ANY, ADMITTED_LISTS},
    {IN(S_ADMITTED_PARKED), ZKLI_EV_CONNECTED, ANY, ADMITTED_LISTS},
    {ADMITTED & ~ADMITTED_READING, ZKLI_EV_OWN_EVENT, BIT(V_DELETED), REQUEUES},
    {IN(S_ADMITTED_WATCHED) | IN(S_ADMITTED_REFUSED), ZKLI_EV_OWN_EVENT, BIT(V_CHANGED),
     ON(ZKLI_ADMITTED, ZKLI_ASK_OWN)},
    {IN(S_ADMITTED_PARKED), ZKLI_EV_OWN_EVENT, BIT(V_CHANGED), ADMITTED_LISTS},

    /* Holding. */
    {HOLDING, ZKLI_EV_LEASE, ANY, ZKLI_LEAVING, ZKLI_DO_LOSE | ZKLI_ASK_DELETE, 0, IF_UNCERTAIN},
    {HOLDING, ZKLI_EV_OWN_EVENT, BIT(V_DELETED), LOSES},
    {IN(S_HELD) | IN(S_WRITING), ZKLI_EV_HEARTBEAT, ANY, BECOMES(ZKLI_HELD, ZKLI_ASK_OWN)},
    {IN(S_HELD) | IN(S_WRITING), ZKLI_EV_IDLE, ANY, ON(ZKLI_HELD, ZKLI_ASK_OWN)},
    {IN(S_HELD_READING), ZKLI_EV_OWN_READ, NO_NODE | BIT(V_OTHERS_NODE), LOSES},

    /* A writer's hold becomes a reader's. */
    {IN(S_WRITING), ZKLI_EV_TURN, ANY, ZKLI_TURNING, ZKLI_ASK_TURN, 0, SENDING},
    {IN(S_TURNING) | IN(S_TURNING_READING), ZKLI_EV_TURNED, OK, TURNS_TO(ZKL_OK)},
    {IN(S_TURNING) | IN(S_TURNING_READING), ZKLI_EV_TURNED, DENIED, TURNS_TO(ZKL_DENIED)},
    {IN(S_TURNING) | IN(S_TURNING_READING), ZKLI_EV_TURNED, EXISTS | FAULT, TURNS_TO(ZKL_SERVER)},
    {IN(S_TURNING) | IN(S_TURNING_READING), ZKLI_EV_TURNED, NO_NODE,
     ON(ZKLI_TURNING, BARRIER_AND_LIST)},
    {IN(S_TURNING) | IN(S_TURNING_READING), ZKLI_EV_TURNED, LATER | NOMEM, PARKS(ZKLI_TURNING)},
    {IN(S_TURNING_PARKED), ZKLI_EV_CONNECTED, ANY, ON(ZKLI_TURNING, BARRIER_AND_LIST)},
    {IN(S_TURNING_PARKED), ZKLI_EV_HEARTBEAT, ANY, ON(ZKLI_TURNING, BARRIER_AND_LIST)},
    {IN(S_TURNING_PAST), ZKLI_EV_LISTED, WITH_US, BECOMES(ZKLI_TURNING, ZKLI_ASK_TURN)},
    {IN(S_TURNING_PAST), ZKLI_EV_LISTED, LISTED_AS(TURNED), TURNS_TO(ZKL_OK)},
    {IN(S_TURNING_PAST), ZKLI_EV_LISTED, WITHOUT_US | NO_NODE, LOSES},
    {IN(S_TURNING_PAST), ZKLI_EV_LISTED, LATER | EXISTS | NOMEM, PARKS(ZKLI_TURNING)},
    {IN(S_TURNING_PAST), ZKLI_EV_LISTED, DENIED | FAULT,
     BECOMES(ZKLI_LEAVING, ZKLI_DO_LOSE | ZKLI_ASK_DELETE)},

    /* Good-bye. */
    {NOTHING_YET, ZKLI_EV_ABANDON, ANY, FAILS(ZKL_CANCELED)},
    {NOTHING_YET, ZKLI_EV_RELEASE, ANY, FORGETS},
    {CREATING | SEARCHES, ZKLI_EV_ABANDON, ANY, ZKLI_LEAVING, ZKLI_DO_FAIL, ZKL_CANCELED, PLAINLY},
    {CREATING | SEARCHES, ZKLI_EV_RELEASE, ANY, BECOMES(ZKLI_LEAVING, 0)},
    {DOUBTING, ZKLI_EV_ABANDON, ANY, ZKLI_LEAVING, ZKLI_DO_FAIL | BARRIER_AND_LIST, ZKL_CANCELED,
     SEARCHING_OR_PARKING},
    {DOUBTING, ZKLI_EV_RELEASE, ANY, ZKLI_LEAVING, BARRIER_AND_LIST, 0, SEARCHING_OR_PARKING},
    {QUEUED | HOLDING, ZKLI_EV_ABANDON, ANY, FAILS_AND_DELETES(ZKL_CANCELED)},
    {QUEUED | HOLDING, ZKLI_EV_RELEASE, ANY, BECOMES(ZKLI_LEAVING, ZKLI_ASK_DELETE)},

    /* Leaving, until the server has confirmed. */
    {IN(S_ORPHAN_READING), ZKLI_EV_OWNER_READ, OK, BECOMES(ZKLI_LEAVING, ZKLI_ASK_DELETE)},
    {IN(S_ORPHAN_READING), ZKLI_EV_OWNER_READ, BIT(V_OTHERS_NODE) | NO_NODE | DENIED, FORGETS},
    {IN(S_ORPHAN_READING), ZKLI_EV_OWNER_READ, LATER | ODD, PARKS(ZKLI_CLAIMING)},
    {DELETING, ZKLI_EV_DELETED, OK | NO_NODE, FORGETS},
    {IN(S_LEAVING_TURNED), ZKLI_EV_DELETED, OK | NO_NODE, BECOMES(ZKLI_LEAVING, ZKLI_ASK_DELETE)},
    {DELETING | IN(S_LEAVING_TURNED), ZKLI_EV_DELETED, LATER | DENIED | ODD, PARKS(ZKLI_LEAVING)},
    {IN(S_LEAVING_CREATE), ZKLI_EV_CREATED, OK, BECOMES(ZKLI_LEAVING, ZKLI_ASK_DELETE)},
    {IN(S_LEAVING_CREATE), ZKLI_EV_CREATED, EXISTS | NOMEM,
     BECOMES(ZKLI_LEAVING, BARRIER_AND_LIST)},
    {IN(S_LEAVING_CREATE), ZKLI_EV_CREATED, BIT(ZKLI_RESULT_LOST), PARKS(ZKLI_LEAVING)},
    {IN(S_LEAVING_CREATE), ZKLI_EV_CREATED, NO_NODE | DENIED | BIT(ZKLI_RESULT_AGAIN) | FAULT,
     FORGETS},
    {IN(S_LEAVING_PAST), ZKLI_EV_LISTED, WITH_US, BECOMES(ZKLI_LEAVING, ZKLI_ASK_DELETE)},
    {IN(S_LEAVING_PAST), ZKLI_EV_LISTED, WITHOUT_US | NO_NODE, FORGETS},
    {IN(S_LEAVING_PAST), ZKLI_EV_LISTED, LATER | DENIED | ODD, PARKS(ZKLI_LEAVING)},
};

/* ---- The comparison ---- */

/* The row for this event, if there is one; two would be a contradiction. */
static const struct outcome *row_of(enum situation situation, enum zkli_contender_event_type type,
                                    unsigned v) {
    const struct outcome *row = NULL;
    if (type == ZKLI_EV_RETRY)
        type = ZKLI_EV_CONNECTED;
    for (size_t i = 0; i < COUNT(outcomes); i++)
        if ((outcomes[i].situations & IN(situation)) != 0 && outcomes[i].type == type &&
            (outcomes[i].variations & BIT(v)) != 0) {
            CHECK(row == NULL);
            row = &outcomes[i];
        }
    return row;
}

/* The row, as it reads with or without a connection, and with this lease. */
static struct outcome resolve(const struct outcome *row, const struct bench *b) {
    static const struct outcome nothing = {.state = SAME};
    bool is_connected = b->world.is_connected, is_ample = b->world.is_ample;
    struct outcome expected = row == NULL ? nothing : *row;
    switch (expected.effect) {
    case PLAINLY:
        return expected;
    case IF_CONNECTED:
        return is_connected ? expected : nothing;
    case SENDING:
        if (!is_connected)
            expected.actions = 0;
        return expected;
    case IF_AMPLE_AND_CONNECTED:
        return is_ample && is_connected ? expected : nothing;
    case IF_UNCERTAIN:
        return b->world.is_certain ? nothing : expected;
    case ADMITTING:
        if (!is_ample)
            expected.state = ZKLI_ADMITTED, expected.actions = is_connected ? ZKLI_ASK_OWN : 0;
        return expected;
    case ADMITTING_WATCHED:
        if (!is_ample)
            expected.state = ZKLI_ADMITTED, expected.actions = 0;
        return expected;
    case HANDED_OFF:
        if (!is_connected)
            expected.state = ZKLI_LISTING, expected.actions = BARRIER_AND_LIST;
        else if (!is_ample)
            expected.state = ZKLI_ADMITTED, expected.actions = 0;
        return expected;
    case LISTING_AGAIN:
        if (!is_connected)
            expected.actions = BARRIER_AND_LIST;
        return expected;
    case REQUEUING:
        if (!is_connected)
            expected.state = ZKLI_IDLE, expected.actions &= ZKLI_TELL_REQUEUED;
        return expected;
    case PARKING:
        expected.actions |= is_connected ? ZKLI_DO_RETRY : 0u;
        return expected;
    case SEARCHING_OR_PARKING:
        if (!is_connected)
            expected.actions &= ~BARRIER_AND_LIST;
        return expected;
    }
    return nothing;
}

static bool is_as_expected(enum situation situation, enum zkli_contender_event_type type,
                           unsigned v, bool is_connected, enum lease lease) {
    struct bench b;
    situation_bring(&b, situation);
    enum zkli_contender_state before = b.c.state;
    b.world.is_connected = is_connected;
    bench_lease(&b, lease);
    struct outcome expected = resolve(row_of(situation, type, v), &b);
    enum zkli_contender_state state = expected.state == SAME ? before : expected.state;
    situation_feed(&b, type, v);
    if (b.c.state == state && b.actions == expected.actions &&
        (expected.error == 0 || b.c.error == expected.error))
        return true;
    test_note("situation %d (%s), event %d.%u%s, lease %d: %s, actions 0x%x, error %d; "
              "not %s, 0x%x, %d",
              situation, zkli_contender_state_name(before), type, v,
              is_connected ? "" : ", not connected", lease, zkli_contender_state_name(b.c.state),
              b.actions, b.c.error, zkli_contender_state_name(state), expected.actions,
              expected.error);
    return false;
}

static void every_situation_can_be_reached(void) {
    unsigned states = 0;
    for (enum situation situation = 0; situation < SITUATIONS; situation++) {
        struct bench b;
        situation_bring(&b, situation);
        states |= BIT(b.c.state);
    }
    const unsigned others = BIT(ZKLI_RECORDING) | BIT(ZKLI_FRONTING) | BIT(ZKLI_FRONT) |
                            BIT(ZKLI_ASKING) | BIT(ZKLI_SEARCHED) | BIT(ZKLI_CLEARING);
    /* a semaphore's, before a node that is kept, of several */
    CHECK_INT(states, (BIT(ZKLI_GONE) - 1) & ~others); /* all but those and the last */
}

static void every_event_in_every_situation_has_the_outcome_of_the_table(void) {
    size_t tried = 0, wrong = 0;
    for (enum situation situation = 0; situation < SITUATIONS; situation++)
        for (unsigned type = 0; type < ZKLI_EVENT_TYPES; type++)
            for (unsigned v = 0; v < VARIATIONS; v++)
                for (unsigned world = 0; world < 6; world++) {
                    enum zkli_contender_event_type of = (enum zkli_contender_event_type)type;
                    if (!situation_has(situation, of, v))
                        continue;
                    tried++;
                    wrong += !is_as_expected(situation, of, v, world % 2 != 0,
                                             (enum lease)(world / 2));
                }
    test_note("%zu combinations", tried);
    CHECK_INT(wrong, 0);
}

/* A row that no event meets says nothing. */
static void every_row_of_the_table_is_met(void) {
    for (size_t i = 0; i < COUNT(outcomes); i++) {
        size_t met = 0;
        for (enum situation situation = 0; situation < SITUATIONS; situation++)
            for (unsigned v = 0; v < VARIATIONS; v++)
                met += situation_has(situation, outcomes[i].type, v) &&
                       row_of(situation, outcomes[i].type, v) == &outcomes[i];
        if (met == 0)
            test_note("row %zu", i);
        CHECK(met > 0);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"every situation can be reached", every_situation_can_be_reached},
        {"every event in every situation has the outcome of the table",
         every_event_in_every_situation_has_the_outcome_of_the_table},
        {"every row of the table is met", every_row_of_the_table_is_met},
    };
    return TEST_MAIN(argc, argv, "contender_matrix", cases);
}
