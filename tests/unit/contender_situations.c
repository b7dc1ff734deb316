/* See contender_situations.h. */
#include "unit/contender_situations.h"

bool situation_has(enum situation situation, enum zkli_contender_event_type type, unsigned v) {
    switch (type) {
    case ZKLI_EV_LISTED:
        return (v > 0 && v < RESULTS) || (v >= V_CROWD && v < V_CROWD + TWICE) ||
               (v == V_CROWD + TURNED && situation == S_TURNING_PAST);
    case ZKLI_EV_OWN_READ:
        return v < RESULTS || (v == V_OTHERS_NODE &&
                               (situation == S_ADOPTING_LISTED || situation == S_HELD_READING));
    case ZKLI_EV_OWNER_READ:
        return v < RESULTS || v == V_OTHERS_NODE;
    case ZKLI_EV_PARENT:
    case ZKLI_EV_CREATED:
    case ZKLI_EV_BARRIER:
    case ZKLI_EV_PREDECESSOR_READ:
    case ZKLI_EV_DELETED:
    case ZKLI_EV_TURNED:
    case ZKLI_EV_DIRECTORY_READ:
    case ZKLI_EV_RECORDED:
    case ZKLI_EV_TOUCHED:
    case ZKLI_EV_ASKED_TO_LET_GO:
        return v < RESULTS;
    case ZKLI_EV_OWN_EVENT:
    case ZKLI_EV_PREDECESSOR_EVENT:
    case ZKLI_EV_DIRECTORY_EVENT:
    case ZKLI_EV_CHILDREN_EVENT:
        return v <= V_DELETED;
    case ZKLI_EV_GRANT: /* to one of several: test_contender_several.c */
    case ZKLI_EV_ADOPT:
    case ZKLI_EV_ANEW:
        return false;
    case ZKLI_EV_CONNECTED:
    case ZKLI_EV_EXPIRED:
    case ZKLI_EV_RETRY:
    case ZKLI_EV_LEASE:
    case ZKLI_EV_HEARTBEAT:
    case ZKLI_EV_TURN:
    case ZKLI_EV_IDLE:
    case ZKLI_EV_RELEASE:
    case ZKLI_EV_ABANDON:
    case ZKLI_EVENT_TYPES:
        break;
    }
    return v == 0;
}

void situation_feed(struct bench *b, enum zkli_contender_event_type type, unsigned v) {
    if (type == ZKLI_EV_LISTED && v >= V_CROWD)
        listed(b, (enum crowd)(v - V_CROWD));
    else if ((type == ZKLI_EV_OWN_READ || type == ZKLI_EV_OWNER_READ) && v == V_OTHERS_NODE)
        say(b, (struct zkli_contender_event){.type = type, .owner = OTHER_SESSION});
    else if (type == ZKLI_EV_OWN_EVENT || type == ZKLI_EV_PREDECESSOR_EVENT)
        fired(b, type, v == V_DELETED);
    else if (type == ZKLI_EV_ABANDON)
        give_up(b);
    else
        reply(b, type, (enum zkli_result)v);
}

/* ---- The way to each situation ---- */

static const struct {
    enum situation from; /* itself: from the beginning */
    enum zkli_contender_event_type type;
    unsigned v;
    enum {
        PLAIN,
        DOUBTFUL,     /* the lease is short */
        DISCONNECTED, /* the event finds the connection gone; a new one is there afterwards */
        RECONNECTED   /* before the event */
    } how;
    enum zkli_contender_state state;
} ways[SITUATIONS] = {
    [S_IDLE] = {S_IDLE, ZKLI_EV_HEARTBEAT, 0, PLAIN, ZKLI_IDLE},
    [S_PROBING] = {S_PROBING, ZKLI_EV_CONNECTED, 0, PLAIN, ZKLI_PROBING},
    [S_PROBING_PARKED] = {S_PROBING, ZKLI_EV_LISTED, ZKLI_RESULT_AGAIN, PLAIN, ZKLI_PROBING},
    [S_PARENTING] = {S_HOUSING_HOMELESS, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE, PLAIN,
                     ZKLI_PARENTING},
    [S_PARENTING_TOP] = {S_PARENTING, ZKLI_EV_PARENT, ZKLI_RESULT_NO_NODE, PLAIN, ZKLI_PARENTING},
    [S_PARENTING_PARKED] = {S_PARENTING, ZKLI_EV_PARENT, ZKLI_RESULT_LOST, DISCONNECTED,
                            ZKLI_PARENTING},
    [S_ENQUEUING] = {S_IDLE, ZKLI_EV_CONNECTED, 0, PLAIN, ZKLI_ENQUEUING},
    [S_ENQUEUING_CREATED] = {S_ENQUEUING, ZKLI_EV_CREATED, 0, PLAIN, ZKLI_ENQUEUING},
    [S_ENQUEUING_LOST] = {S_ENQUEUING, ZKLI_EV_CREATED, ZKLI_RESULT_LOST, PLAIN, ZKLI_ENQUEUING},
    [S_ENQUEUING_TWIN] = {S_ENQUEUING, ZKLI_EV_CREATED, ZKLI_RESULT_EXISTS, PLAIN, ZKLI_ENQUEUING},
    [S_ENQUEUING_LOOSE] = {S_ENQUEUING, ZKLI_EV_CREATED, ZKLI_RESULT_NO_NODE, PLAIN,
                           ZKLI_ENQUEUING},
    [S_ENQUEUING_REFUSED] = {S_ENQUEUING, ZKLI_EV_CREATED, ZKLI_RESULT_ERROR, PLAIN,
                             ZKLI_ENQUEUING},
    [S_HOUSING] = {S_ENQUEUING_LOOSE, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE, PLAIN, ZKLI_ENQUEUING},
    [S_HOUSING_PARENT] = {S_HOUSING, ZKLI_EV_PARENT, 0, PLAIN, ZKLI_ENQUEUING},
    [S_HOUSING_REAPED] = {S_HOUSING_PARENT, ZKLI_EV_CREATED, ZKLI_RESULT_NO_NODE, PLAIN,
                          ZKLI_ENQUEUING},
    [S_HOUSING_HOMELESS] = {S_HOUSING_HOMELESS, ZKLI_EV_CREATED, ZKLI_RESULT_NO_NODE, PLAIN,
                            ZKLI_ENQUEUING},
    [S_UNSURE] = {S_SEARCHING_PAST, ZKLI_EV_LISTED, ZKLI_RESULT_LOST, DISCONNECTED, ZKLI_UNSURE},
    [S_SEARCHING] = {S_SEARCHING, ZKLI_EV_CONNECTED, 0, PLAIN, ZKLI_SEARCHING},
    [S_SEARCHING_PAST] = {S_SEARCHING, ZKLI_EV_BARRIER, 0, PLAIN, ZKLI_SEARCHING},
    [S_ADOPTING] = {S_SEARCHING_PAST, ZKLI_EV_LISTED, V_CROWD + BEHIND_HEAD, PLAIN, ZKLI_ADOPTING},
    [S_ADOPTING_LISTED] = {S_ADOPTING, ZKLI_EV_LISTED, V_CROWD + BEHIND_HEAD, PLAIN, ZKLI_ADOPTING},
    [S_LISTING] = {S_WAITING_SECOND, ZKLI_EV_PREDECESSOR_EVENT, V_DELETED, PLAIN, ZKLI_LISTING},
    [S_LISTING_BARRIER] = {S_WAITING_SECOND, ZKLI_EV_PREDECESSOR_EVENT, V_DELETED, RECONNECTED,
                           ZKLI_LISTING},
    [S_LISTING_PAST] = {S_LISTING_BARRIER, ZKLI_EV_BARRIER, 0, PLAIN, ZKLI_LISTING},
    [S_LISTING_PARKED] = {S_LISTING, ZKLI_EV_LISTED, ZKLI_RESULT_LOST, DISCONNECTED, ZKLI_LISTING},
    [S_ORDERING] = {S_ENQUEUING_CREATED, ZKLI_EV_LISTED, V_CROWD + AT_THE_END, PLAIN,
                    ZKLI_ORDERING},
    [S_ARMING] = {S_ENQUEUING_CREATED, ZKLI_EV_LISTED, V_CROWD + BEHIND_HEAD, PLAIN, ZKLI_ARMING},
    [S_ARMING_OWN] = {S_ARMING, ZKLI_EV_OWN_READ, 0, PLAIN, ZKLI_ARMING},
    [S_REARMING] = {S_WAITING_HEAD, ZKLI_EV_OWN_EVENT, V_CHANGED, PLAIN, ZKLI_ARMING},
    [S_WAITING_HEAD] = {S_ARMING_OWN, ZKLI_EV_PREDECESSOR_READ, 0, PLAIN, ZKLI_WAITING},
    [S_WAITING_SECOND] = {S_WAITING_SECOND, ZKLI_EV_PREDECESSOR_READ, 0, PLAIN, ZKLI_WAITING},
    [S_ADMITTED] = {S_ENQUEUING_CREATED, ZKLI_EV_LISTED, V_CROWD + FIRST, DOUBTFUL, ZKLI_ADMITTED},
    [S_ADMITTED_WATCHED] = {S_ADMITTED, ZKLI_EV_OWN_READ, 0, DOUBTFUL, ZKLI_ADMITTED},
    [S_ADMITTED_REFUSED] = {S_ADMITTED, ZKLI_EV_OWN_READ, ZKLI_RESULT_AGAIN, DOUBTFUL,
                            ZKLI_ADMITTED},
    [S_ADMITTED_PARKED] = {S_ADMITTED, ZKLI_EV_OWN_READ, ZKLI_RESULT_LOST, DISCONNECTED,
                           ZKLI_ADMITTED},
    [S_ADMITTED_ELSEWHERE] = {S_ADMITTED, ZKLI_EV_HEARTBEAT, 0, RECONNECTED, ZKLI_ADMITTED},
    [S_ADMITTED_WENT] = {S_ADMITTED, ZKLI_EV_OWN_EVENT, V_DELETED, DOUBTFUL, ZKLI_ADMITTED},
    [S_HELD] = {S_ENQUEUING_CREATED, ZKLI_EV_LISTED, V_CROWD + FIRST, PLAIN, ZKLI_HELD},
    [S_HELD_READING] = {S_HELD, ZKLI_EV_HEARTBEAT, 0, PLAIN, ZKLI_HELD},
    [S_HELD_WATCHED] = {S_HELD_READING, ZKLI_EV_OWN_READ, 0, PLAIN, ZKLI_HELD},
    [S_WRITING] = {S_WRITING, ZKLI_EV_LEASE, 0, PLAIN, ZKLI_HELD},
    [S_TURNING] = {S_WRITING, ZKLI_EV_TURN, 0, PLAIN, ZKLI_TURNING},
    [S_TURNING_READING] = {S_TURNING_READING, ZKLI_EV_TURN, 0, PLAIN, ZKLI_TURNING},
    [S_TURNING_PARKED] = {S_TURNING, ZKLI_EV_TURNED, ZKLI_RESULT_LOST, DISCONNECTED, ZKLI_TURNING},
    [S_TURNING_SEARCH] = {S_TURNING, ZKLI_EV_TURNED, ZKLI_RESULT_NO_NODE, PLAIN, ZKLI_TURNING},
    [S_TURNING_PAST] = {S_TURNING_SEARCH, ZKLI_EV_BARRIER, 0, PLAIN, ZKLI_TURNING},
    [S_LEAVING] = {S_HELD, ZKLI_EV_RELEASE, 0, PLAIN, ZKLI_LEAVING},
    [S_LEAVING_PARKED] = {S_LEAVING, ZKLI_EV_DELETED, ZKLI_RESULT_LOST, DISCONNECTED, ZKLI_LEAVING},
    [S_LEAVING_CREATE] = {S_ENQUEUING, ZKLI_EV_ABANDON, 0, PLAIN, ZKLI_LEAVING},
    [S_LEAVING_UNSURE] = {S_LEAVING_CREATE, ZKLI_EV_CREATED, ZKLI_RESULT_LOST, DISCONNECTED,
                          ZKLI_LEAVING},
    [S_LEAVING_SEARCH] = {S_SEARCHING, ZKLI_EV_ABANDON, 0, PLAIN, ZKLI_LEAVING},
    [S_LEAVING_PAST] = {S_LEAVING_SEARCH, ZKLI_EV_BARRIER, 0, PLAIN, ZKLI_LEAVING},
    [S_LEAVING_TURNED] = {S_TURNING, ZKLI_EV_RELEASE, 0, PLAIN, ZKLI_LEAVING},
    [S_LEAVING_READER] = {S_LEAVING_TURNED, ZKLI_EV_DELETED, 0, PLAIN, ZKLI_LEAVING},
    [S_ORPHAN] = {S_ORPHAN, ZKLI_EV_LEASE, 0, PLAIN, ZKLI_CLAIMING},
    [S_ORPHAN_READING] = {S_ORPHAN, ZKLI_EV_CONNECTED, 0, PLAIN, ZKLI_CLAIMING},
    [S_ORPHAN_OURS] = {S_ORPHAN_READING, ZKLI_EV_OWNER_READ, 0, PLAIN, ZKLI_LEAVING},
};

static void begin(struct bench *b, enum situation situation) {
    bench_init(b, situation == S_PROBING);
    if (situation == S_HOUSING_HOMELESS) {
        to_housing(b);
        reply(b, ZKLI_EV_PARENT, ZKLI_RESULT_NO_NODE);
    }
    if (situation == S_SEARCHING) {
        to_unsure(b);
        bench_reconnect(b);
    }
    if (situation == S_WAITING_SECOND) {
        to_placed(b, BEHIND_TWO);
        reply(b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    }
    if (situation == S_WRITING || situation == S_TURNING_READING)
        to_writing(b);
    if (situation == S_TURNING_READING)
        news(b, ZKLI_EV_HEARTBEAT);
    if (situation == S_ORPHAN)
        bench_orphan(b);
}

void situation_bring(struct bench *b, enum situation situation) {
    if (ways[situation].from == situation)
        begin(b, situation);
    else
        situation_bring(b, ways[situation].from);
    bench_lease(b, ways[situation].how == DOUBTFUL ? SHORT : AMPLE);
    b->world.is_connected = ways[situation].how != DISCONNECTED;
    if (ways[situation].how == RECONNECTED)
        bench_reconnect(b);
    situation_feed(b, ways[situation].type, ways[situation].v);
    if (ways[situation].how == DISCONNECTED)
        bench_reconnect(b);
    if (b->c.state != ways[situation].state)
        test_note("situation %d", situation);
    CHECK(b->c.state == ways[situation].state);
}
