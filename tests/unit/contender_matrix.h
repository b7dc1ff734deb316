/*
 * contender_matrix - every situation of a contender against every event, with each result,
 * connected or not, on a lease that is ample, short or over. A situation is a state with what may
 * be in flight in it. A table says what must come of an event. An event that the table does not
 * have must change nothing. The rules of the bench hold besides.
 *
 * Not here: the situations and the tables, which are the tests'.
 */
#ifndef UNIT_CONTENDER_MATRIX_H
#define UNIT_CONTENDER_MATRIX_H

#include "unit/contender_bench.h"

#define IN(situation) (UINT64_C(1) << (situation)) /* of a set */

/* ---- Events: a type and a variation ---- */

/* Replies vary by result, where OK is 0; listings that are OK by crowd; watches by what fired. */
#define V_CROWD RESULTS       /* + enum crowd */
#define V_OTHERS_NODE RESULTS /* of a read of our node */
#define V_ASKED (RESULTS + 1) /* the same: it is asked to let go */
#define V_TOUCHED RESULTS     /* of a read of the predecessor: it is marked */
#define V_BAD_VERSION RESULTS /* of what records the number */
#define V_CHANGED 0
#define V_DELETED 1
/* Listings of a semaphore, whose directory has changed since it was last read by the contender: */
#define V_STALE (V_CROWD + CROWDS) /* FIRST; and nobody has read it since. Others have the rest */
#define V_NO_DATA (V_STALE + 1)    /* FIRST */
#define V_OTHER_DATA (V_STALE + 2) /* FIRST; not a semaphore's data */
#define V_MORE (V_STALE + 3)       /* BEHIND_HEAD; two permits */
#define V_SHRUNK (V_STALE + 4)     /* BEHIND_TWO; one permit, and there were two */
#define VARIATIONS (V_STALE + 5)
_Static_assert(VARIATIONS <= 32, "sets of them have 32 bits");

/* Whether there is such an event, as far as that is so in all situations. */
bool matrix_has(enum zkli_contender_event_type type, unsigned v);
void matrix_feed(struct bench *b, enum zkli_contender_event_type type, unsigned v);

/* ---- The way to a situation ---- */

struct way {
    unsigned from; /* a situation; itself: from where begin() brings it */
    enum zkli_contender_event_type type;
    unsigned v;
    enum {
        PLAIN,
        DOUBTFUL,     /* the lease is short */
        DISCONNECTED, /* the event finds the connection gone; a new one is there afterwards */
        RECONNECTED   /* before the event */
    } how;
    enum zkli_contender_state state;
};

void matrix_go(struct bench *b, const struct way *ways,
               void (*begin)(struct bench *b, unsigned situation), unsigned situation);

/* ---- What must come of an event ---- */

#define ANY ~0u
#define OK BIT(ZKLI_RESULT_OK)
#define NO_NODE BIT(ZKLI_RESULT_NO_NODE)
#define EXISTS BIT(ZKLI_RESULT_EXISTS)
#define DENIED BIT(ZKLI_RESULT_DENIED)
#define NOMEM BIT(ZKLI_RESULT_NOMEM)
#define LATER (BIT(ZKLI_RESULT_LOST) | BIT(ZKLI_RESULT_AGAIN))
#define FAULT BIT(ZKLI_RESULT_ERROR)
#define ODD (EXISTS | NOMEM | FAULT)
#define TOUCHED BIT(V_TOUCHED)
#define LISTED_AS(crowd) BIT(V_CROWD + (crowd))

enum effect {
    PLAINLY,
    IF_CONNECTED,           /* else nothing */
    SENDING,                /* requests only if connected */
    IF_AMPLE_AND_CONNECTED, /* else nothing */
    IF_UNCERTAIN,           /* else nothing */
    ADMITTING,              /* held if the lease is ample, else admitted, with a watch to be set */
    ADMITTING_WATCHED,      /* the same, and the watch stands */
    HOLDING_ON,             /* the same, and nothing if not connected */
    HANDED_OFF,             /* the same if connected, else listed again */
    LISTING_AGAIN,          /* behind a barrier if not connected */
    LOOKING,                /* as said if connected, else listed again */
    REQUEUING,              /* as said if connected, else idle */
    PARKING                 /* with a retry if connected */
};

#define SAME ZKLI_CONTENDER_STATES

struct outcome {
    uint64_t situations;
    enum zkli_contender_event_type type; /* CONNECTED: RETRY, too, if that has no row */
    unsigned variations;
    enum zkli_contender_state state;
    unsigned actions; /* among them a mark of our node only if connected */
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
#define LISTS_BEHIND_BARRIER ON(ZKLI_LISTING, BARRIER_AND_LIST)
#define IS_HANDED_OFF ZKLI_HELD, ZKLI_DO_GRANT, 0, HANDED_OFF
#define LISTS_AGAIN ZKLI_LISTING, ZKLI_ASK_LIST, 0, LISTING_AGAIN
#define PARKS(state) (state), 0, 0, PARKING
#define FAILS(error) ZKLI_GONE, ZKLI_DO_FAIL | ZKLI_DO_FORGET, (error), PLAINLY
#define FAILS_AND_DELETES(error) ZKLI_LEAVING, ZKLI_DO_FAIL | ZKLI_ASK_DELETE, (error), PLAINLY
#define LOSES ZKLI_GONE, ZKLI_DO_LOSE | ZKLI_DO_FORGET, 0, PLAINLY
#define FORGETS ZKLI_GONE, ZKLI_DO_FORGET, 0, PLAINLY

/* The rows of a reply with an error, if that ends the contender, or parks it in this state. */
#define ENDS_IF_REFUSED(situations, type, state)                                                   \
    {(situations), (type), LATER, PARKS(state)},                                                   \
        {(situations), (type), DENIED, FAILS_AND_DELETES(ZKL_DENIED)},                             \
        {(situations), (type), NOMEM, FAILS_AND_DELETES(ZKL_NOMEM)}, {                             \
        (situations), (type), EXISTS | FAULT, FAILS_AND_DELETES(ZKL_SERVER)                        \
    }

/* ---- The comparison ---- */

struct matrix {
    unsigned first,
        end; /* the situations: this one, and up to the other; the bits begin at first */
    void (*bring)(struct bench *b, unsigned situation);
    /* Whether the event can meet the situation. */
    bool (*has)(unsigned situation, enum zkli_contender_event_type type, unsigned v,
                bool is_connected, enum lease lease);
    const struct outcome *outcomes;
    size_t outcome_count;
};

/* The states that the situations have, as bits. */
unsigned matrix_states(const struct matrix *matrix);
void matrix_check_events(const struct matrix *matrix);
/* Each row is of use: an event meets it. */
void matrix_check_rows(const struct matrix *matrix);

#endif
