/* See contender_permit_situations.h. */
#include "unit/contender_permit_situations.h"

#define LISTING_OF(crowd) ZKLI_EV_LISTED, V_CROWD + (crowd)

static const struct way ways[PERMIT_SITUATIONS] = {
    [P_IDLE] = {P_IDLE, ZKLI_EV_HEARTBEAT, 0, PLAIN, ZKLI_IDLE},
    [P_PROBING] = {P_PROBING, ZKLI_EV_CONNECTED, 0, PLAIN, ZKLI_PROBING},
    [P_PROBING_READ] = {P_PROBING, ZKLI_EV_DIRECTORY_READ, 0, PLAIN, ZKLI_PROBING},
    [P_PROBING_UNREAD] = {P_PROBING, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_AGAIN, PLAIN,
                          ZKLI_PROBING},
    [P_PROBING_LISTED] = {P_PROBING, LISTING_OF(OTHERS), PLAIN, ZKLI_PROBING},
    [P_PROBING_FOLLOWING] = {P_PROBING_FOLLOWING, ZKLI_EV_DIRECTORY_READ, 0, PLAIN, ZKLI_PROBING},
    [P_ASKING] = {P_ASKING, ZKLI_EV_HEARTBEAT, 0, PLAIN, ZKLI_ASKING},
    [P_PARENTING] = {P_PARENTING, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE, PLAIN, ZKLI_PARENTING},
    [P_ENQUEUING] = {P_IDLE, ZKLI_EV_CONNECTED, 0, PLAIN, ZKLI_ENQUEUING},
    [P_ENQUEUING_READ] = {P_ENQUEUING_READ, ZKLI_EV_DIRECTORY_READ, 0, PLAIN, ZKLI_ENQUEUING},
    [P_ENQUEUING_UNREAD] = {P_ENQUEUING_UNREAD, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_AGAIN, PLAIN,
                            ZKLI_ENQUEUING},
    [P_ENQUEUING_CACHED] = {P_ENQUEUING_CACHED, ZKLI_EV_CREATED, 0, PLAIN, ZKLI_ENQUEUING},
    [P_ENQUEUING_TRY] = {P_ENQUEUING_TRY, ZKLI_EV_CREATED, 0, PLAIN, ZKLI_ENQUEUING},
    [P_ENQUEUING_LOOSE] = {P_ENQUEUING_LOOSE, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_NO_NODE, PLAIN,
                           ZKLI_ENQUEUING},
    [P_FOLLOWING] = {P_FOLLOWING, ZKLI_EV_DIRECTORY_READ, 0, PLAIN, ZKLI_ENQUEUING},
    [P_FOLLOWING_LOOSE] = {P_FOLLOWING_LOOSE, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_NO_NODE, PLAIN,
                           ZKLI_ENQUEUING},
    [P_HOUSING] = {P_ENQUEUING_LOOSE, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE, PLAIN, ZKLI_ENQUEUING},
    [P_HOUSING_READ] = {P_HOUSING_READ, ZKLI_EV_DIRECTORY_READ, 0, PLAIN, ZKLI_ENQUEUING},
    [P_RECORDING] = {P_ENQUEUING_READ, ZKLI_EV_LISTED, V_NO_DATA, PLAIN, ZKLI_RECORDING},
    [P_RECORDING_WENT] = {P_RECORDING, ZKLI_EV_OWN_EVENT, V_DELETED, PLAIN, ZKLI_RECORDING},
    [P_RECORDED] = {P_RECORDED, ZKLI_EV_DIRECTORY_READ, 0, PLAIN, ZKLI_LISTING},
    [P_SEARCHING_PAST] = {P_SEARCHING_PAST, ZKLI_EV_BARRIER, 0, PLAIN, ZKLI_SEARCHING},
    [P_ADOPTING_READ] = {P_ADOPTING_READ, ZKLI_EV_DIRECTORY_READ, 0, PLAIN, ZKLI_ADOPTING},
    [P_ADOPTING_LISTED] = {P_ADOPTING_LISTED, LISTING_OF(BEHIND_HEAD), PLAIN, ZKLI_ADOPTING},
    [P_LISTING] = {P_WAITING, ZKLI_EV_PREDECESSOR_EVENT, V_DELETED, PLAIN, ZKLI_LISTING},
    [P_LISTING_PAST] = {P_LISTING_PAST, ZKLI_EV_BARRIER, 0, PLAIN, ZKLI_LISTING},
    [P_LISTING_READING] = {P_LISTING, ZKLI_EV_LISTED, V_STALE, PLAIN, ZKLI_LISTING},
    [P_LISTING_READ] = {P_LISTING_READING, ZKLI_EV_DIRECTORY_READ, 0, PLAIN, ZKLI_LISTING},
    [P_LISTING_UNREAD] = {P_LISTING_READING, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_AGAIN, PLAIN,
                          ZKLI_LISTING},
    [P_LISTING_UNREAD_PARKED] = {P_LISTING_UNREAD, LISTING_OF(BEHIND_TWO), PLAIN, ZKLI_LISTING},
    [P_LISTING_PARKED] = {P_LISTING, ZKLI_EV_LISTED, ZKLI_RESULT_LOST, DISCONNECTED, ZKLI_LISTING},
    [P_LISTING_LAST] = {P_ARMING_OWN, ZKLI_EV_PREDECESSOR_READ, V_TOUCHED, PLAIN, ZKLI_LISTING},
    [P_LISTING_LAST_MARKED] = {P_LISTING_LAST, ZKLI_EV_PREDECESSOR_EVENT, V_CHANGED, PLAIN,
                               ZKLI_LISTING},
    [P_LISTING_LAST_CHANGED] = {P_LISTING_LAST, ZKLI_EV_OWN_EVENT, V_CHANGED, PLAIN, ZKLI_LISTING},
    [P_ORDERING] = {P_ENQUEUING_READ, LISTING_OF(AT_THE_END), PLAIN, ZKLI_ORDERING},
    [P_ORDERING_FRONT] = {P_FRONTING_READ, LISTING_OF(AT_THE_END), PLAIN, ZKLI_ORDERING},
    [P_ORDERING_LAST] = {P_LISTING_LAST, LISTING_OF(AT_THE_END), PLAIN, ZKLI_ORDERING},
    [P_FRONTING] = {P_ENQUEUING_READ, LISTING_OF(BEHIND_HEAD), PLAIN, ZKLI_FRONTING},
    [P_FRONTING_OWN] = {P_FRONTING, ZKLI_EV_OWN_READ, 0, PLAIN, ZKLI_FRONTING},
    [P_FRONTING_READ] = {P_FRONTING_OWN, ZKLI_EV_DIRECTORY_READ, 0, PLAIN, ZKLI_FRONTING},
    [P_FRONTING_UNREAD] = {P_FRONTING_OWN, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_AGAIN, PLAIN,
                           ZKLI_FRONTING},
    [P_FRONTING_OWN_LISTED] = {P_FRONTING_OWN, LISTING_OF(BEHIND_HEAD), PLAIN, ZKLI_FRONTING},
    [P_FRONTING_CAME] = {P_FRONTING_OWN_LISTED, ZKLI_EV_CHILDREN_EVENT, V_CHANGED, PLAIN,
                         ZKLI_FRONTING},
    [P_FRONTING_READ_LISTED] = {P_FRONTING_READ_LISTED, LISTING_OF(BEHIND_HEAD), PLAIN,
                                ZKLI_FRONTING},
    [P_FRONTING_CHANGED] = {P_FRONTING_READ, ZKLI_EV_DIRECTORY_EVENT, V_CHANGED, PLAIN,
                            ZKLI_FRONTING},
    [P_FRONTING_AGAIN] = {P_FRONT, ZKLI_EV_DIRECTORY_EVENT, V_CHANGED, PLAIN, ZKLI_FRONTING},
    [P_FRONTING_AGAIN_LISTED] = {P_FRONTING_AGAIN_LISTED, LISTING_OF(BEHIND_HEAD), PLAIN,
                                 ZKLI_FRONTING},
    [P_FRONTING_OWN_CHANGED] = {P_FRONTING_READ, ZKLI_EV_OWN_EVENT, V_CHANGED, PLAIN,
                                ZKLI_FRONTING},
    [P_FRONTING_WENT] = {P_FRONTING_READ, ZKLI_EV_OWN_EVENT, V_DELETED, PLAIN, ZKLI_FRONTING},
    [P_FRONT] = {P_FRONTING_READ, LISTING_OF(BEHIND_HEAD), PLAIN, ZKLI_FRONT},
    [P_FRONT_ELSEWHERE] = {P_FRONT, ZKLI_EV_HEARTBEAT, 0, RECONNECTED, ZKLI_FRONT},
    [P_ARMING_OWN] = {P_ARMING_OWN, ZKLI_EV_OWN_READ, 0, PLAIN, ZKLI_ARMING},
    [P_ARMING_MOVED] = {P_ARMING_MOVED, ZKLI_EV_PREDECESSOR_EVENT, V_CHANGED, PLAIN, ZKLI_ARMING},
    [P_ARMING_LAST] = {P_ARMING_LAST, ZKLI_EV_OWN_READ, 0, PLAIN, ZKLI_ARMING},
    [P_ARMING_MARKED] = {P_LISTING_LAST_MARKED, LISTING_OF(BEHIND_TWO), PLAIN, ZKLI_ARMING},
    [P_ARMING_ANEW] = {P_ARMING_ANEW, ZKLI_EV_OWN_READ, 0, PLAIN, ZKLI_ARMING},
    [P_REARMING] = {P_WAITING, ZKLI_EV_OWN_EVENT, V_CHANGED, PLAIN, ZKLI_ARMING},
    [P_REARMING_MARKED] = {P_WAITING_MARKED, ZKLI_EV_OWN_EVENT, V_CHANGED, PLAIN, ZKLI_ARMING},
    [P_WAITING] = {P_ARMING_OWN, ZKLI_EV_PREDECESSOR_READ, 0, PLAIN, ZKLI_WAITING},
    [P_WAITING_MARKED] = {P_LISTING_LAST, LISTING_OF(BEHIND_TWO), PLAIN, ZKLI_WAITING},
    [P_WAITING_MUTEX] = {P_WAITING_MUTEX, ZKLI_EV_PREDECESSOR_READ, 0, PLAIN, ZKLI_WAITING},
    [P_ADMITTED] = {P_ENQUEUING_READ, LISTING_OF(FIRST), DOUBTFUL, ZKLI_ADMITTED},
    [P_ADMITTED_ALONE] = {P_ENQUEUING_READ, LISTING_OF(ALONE), DOUBTFUL, ZKLI_ADMITTED},
    [P_ADMITTED_TOUCHING] = {P_ADMITTED, ZKLI_EV_OWN_READ, 0, DOUBTFUL, ZKLI_ADMITTED},
    [P_ADMITTED_TOUCHING_CHANGED] = {P_ADMITTED_TOUCHING, ZKLI_EV_OWN_EVENT, V_CHANGED, DOUBTFUL,
                                     ZKLI_ADMITTED},
    [P_ADMITTED_UNREAD] = {P_ADMITTED, ZKLI_EV_OWN_READ, ZKLI_RESULT_AGAIN, DOUBTFUL,
                           ZKLI_ADMITTED},
    [P_ADMITTED_TOUCHING_WENT] = {P_ADMITTED_TOUCHING, ZKLI_EV_OWN_EVENT, V_DELETED, DOUBTFUL,
                                  ZKLI_ADMITTED},
    [P_ADMITTED_WENT] = {P_ADMITTED, ZKLI_EV_OWN_EVENT, V_DELETED, DOUBTFUL, ZKLI_ADMITTED},
    [P_ADMITTED_READING] = {P_ADMITTED, ZKLI_EV_TOUCHED, 0, DOUBTFUL, ZKLI_ADMITTED},
    [P_ADMITTED_READING_OWING] = {P_ADMITTED, ZKLI_EV_TOUCHED, ZKLI_RESULT_AGAIN, DOUBTFUL,
                                  ZKLI_ADMITTED},
    [P_ADMITTED_READING_OWING_WENT] = {P_ADMITTED_READING_OWING, ZKLI_EV_OWN_EVENT, V_DELETED,
                                       DOUBTFUL, ZKLI_ADMITTED},
    [P_ADMITTED_OWING] = {P_ADMITTED_READING_OWING, ZKLI_EV_OWN_READ, 0, DOUBTFUL, ZKLI_ADMITTED},
    [P_ADMITTED_WATCHED] = {P_ADMITTED_READING, ZKLI_EV_OWN_READ, 0, DOUBTFUL, ZKLI_ADMITTED},
    [P_ADMITTED_ELSEWHERE] = {P_ADMITTED, ZKLI_EV_HEARTBEAT, 0, RECONNECTED, ZKLI_ADMITTED},
    [P_ADMITTED_READING_ELSEWHERE] = {P_ADMITTED_READING, ZKLI_EV_HEARTBEAT, 0, RECONNECTED,
                                      ZKLI_ADMITTED},
    [P_ADMITTED_TOUCHING_ELSEWHERE] = {P_ADMITTED_TOUCHING, ZKLI_EV_HEARTBEAT, 0, RECONNECTED,
                                       ZKLI_ADMITTED},
    [P_ADMITTED_OWING_ELSEWHERE] = {P_ADMITTED_OWING, ZKLI_EV_HEARTBEAT, 0, RECONNECTED,
                                    ZKLI_ADMITTED},
    [P_HELD] = {P_HELD_TOUCHING, ZKLI_EV_TOUCHED, 0, PLAIN, ZKLI_HELD},
    [P_HELD_TOUCHING] = {P_ENQUEUING_READ, LISTING_OF(FIRST), PLAIN, ZKLI_HELD},
    [P_HELD_WATCHED_TOUCHING] = {P_ADMITTED_TOUCHING, ZKLI_EV_LEASE, 0, PLAIN, ZKLI_HELD},
    [P_HELD_READING_TOUCHING] = {P_HELD_READING_TOUCHING, ZKLI_EV_CONNECTED, 0, PLAIN, ZKLI_HELD},
    [P_HELD_OWING] = {P_HELD_TOUCHING, ZKLI_EV_TOUCHED, ZKLI_RESULT_LOST, DISCONNECTED, ZKLI_HELD},
    [P_LEAVING_TOUCHING] = {P_HELD_TOUCHING, ZKLI_EV_RELEASE, 0, PLAIN, ZKLI_LEAVING},
};

/* ---- The situations that begin with themselves ---- */

/* A try lists a node that is kept, which takes the only permit. */
static void ask(struct bench *b) {
    static const struct zkli_sibling kept = {
        "_c_ffffffff-4e5f-8061-8273-8495a6b7c8d9-lease-0000000001", ZKLI_KIND_LEASE, 1, false};
    const struct zkli_listing listing = {.siblings = &kept,
                                         .count = 1,
                                         .czxid = b->directory.czxid,
                                         .version = b->directory.version};
    permit_situation_bring(b, P_PROBING_READ);
    CHECK_ACTIONS(
        say(b, (struct zkli_contender_event){.type = ZKLI_EV_LISTED, .listing = &listing}),
        ZKLI_ASK_LET_GO);
}

/* Up to the listing that shows the place. */
static void create(struct bench *b) {
    permit_situation_bring(b, P_ENQUEUING);
    reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
}

static void place(struct bench *b, enum crowd crowd) {
    create(b);
    reply(b, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_OK);
    listed(b, crowd);
}

static void search(struct bench *b) {
    permit_situation_bring(b, P_ENQUEUING);
    b->world.is_connected = false;
    answer_all(b, ZKLI_RESULT_LOST);
    bench_reconnect(b);
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), BARRIER_AND_LIST);
}

static void adopt(struct bench *b) {
    permit_situation_bring(b, P_SEARCHING_PAST);
    CHECK_ACTIONS(listed(b, BEHIND_HEAD), OWN_AND_LIST | ZKLI_ASK_DIRECTORY);
}

/* Before there is a node. */
static void begin_without_node(struct bench *b, enum permit_situation situation) {
    bool is_try = situation == P_PROBING || situation == P_PROBING_FOLLOWING ||
                  situation == P_ENQUEUING_TRY;
    bool follows = situation == P_PROBING_FOLLOWING || situation == P_FOLLOWING ||
                   situation == P_FOLLOWING_LOOSE;
    bench_semaphore(b, follows ? 0 : 1, is_try);
    if (follows)
        news(b, ZKLI_EV_CONNECTED);
    if (situation == P_PROBING_FOLLOWING)
        bench_record(b, 2, 2);
    if (situation == P_FOLLOWING)
        reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    if (situation == P_ASKING)
        ask(b);
    if (situation == P_ENQUEUING_CACHED || situation == P_ENQUEUING_TRY)
        b->permits = b->directory;
    if (situation == P_ENQUEUING_CACHED)
        CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
    if (situation == P_ENQUEUING_TRY) {
        CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), ZKLI_ASK_LIST);
        CHECK_ACTIONS(listed(b, NOBODY), CREATE_AND_LIST);
    }
    if (situation == P_ENQUEUING_LOOSE)
        permit_situation_bring(b, P_ENQUEUING);
    if (situation == P_ENQUEUING_LOOSE || situation == P_FOLLOWING_LOOSE)
        reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_NO_NODE);
    if (situation == P_PARENTING || situation == P_HOUSING_READ) {
        bool has_parent = situation == P_HOUSING_READ;
        permit_situation_bring(b, P_HOUSING);
        reply(b, ZKLI_EV_PARENT, has_parent ? ZKLI_RESULT_OK : ZKLI_RESULT_NO_NODE);
        reply(b, ZKLI_EV_CREATED, has_parent ? ZKLI_RESULT_OK : ZKLI_RESULT_NO_NODE);
    }
    if (situation == P_PARENTING)
        reply(b, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_NO_NODE);
    if (situation == P_SEARCHING_PAST)
        search(b);
}

/* Behind the one in front. */
static void begin_behind(struct bench *b, enum permit_situation situation) {
    if (situation == P_ARMING_OWN || situation == P_ARMING_MOVED)
        place(b, BEHIND_TWO);
    if (situation == P_ARMING_MOVED)
        reply(b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK);
    if (situation == P_ARMING_LAST) {
        permit_situation_bring(b, P_LISTING_LAST_CHANGED);
        CHECK_ACTIONS(listed(b, BEHIND_TWO), OWN_AND_PREDECESSOR);
    }
    if (situation == P_ARMING_ANEW) {
        permit_situation_bring(b, P_WAITING_MARKED);
        CHECK_ACTIONS(fired(b, ZKLI_EV_OWN_EVENT, true), CREATE_AND_LIST | ZKLI_TELL_REQUEUED);
        reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
        CHECK_ACTIONS(listed(b, BEHIND_TWO), OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED);
    }
    if (situation == P_WAITING_MUTEX) {
        permit_situation_bring(b, P_ENQUEUING_READ);
        b->others = ZKLI_KIND_MUTEX;
        listed(b, BEHIND_HEAD);
        reply(b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    }
}

static void begin(struct bench *b, unsigned situation) {
    begin_without_node(b, (enum permit_situation)situation);
    begin_behind(b, (enum permit_situation)situation);
    if (situation == P_ENQUEUING_READ || situation == P_ENQUEUING_UNREAD)
        create(b);
    if (situation == P_RECORDED) {
        permit_situation_bring(b, P_RECORDING);
        bench_record(b, 1, 1);
        reply(b, ZKLI_EV_RECORDED, ZKLI_RESULT_OK);
    }
    if (situation == P_ADOPTING_READ || situation == P_ADOPTING_LISTED) {
        adopt(b);
        reply(b, situation == P_ADOPTING_READ ? ZKLI_EV_OWN_READ : ZKLI_EV_DIRECTORY_READ,
              ZKLI_RESULT_OK);
    }
    if (situation == P_LISTING_PAST) {
        permit_situation_bring(b, P_WAITING);
        bench_reconnect(b);
        CHECK_ACTIONS(fired(b, ZKLI_EV_PREDECESSOR_EVENT, true), BARRIER_AND_LIST);
    }
    if (situation == P_FRONTING_READ_LISTED) {
        permit_situation_bring(b, P_FRONTING);
        reply(b, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_OK);
    }
    if (situation == P_FRONTING_AGAIN_LISTED) {
        permit_situation_bring(b, P_FRONT);
        fired(b, ZKLI_EV_OWN_EVENT, false);
        reply(b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    }
    if (situation == P_HELD_READING_TOUCHING) {
        permit_situation_bring(b, P_HELD_OWING);
        news(b, ZKLI_EV_HEARTBEAT);
    }
}

void permit_situation_bring(struct bench *b, unsigned situation) {
    matrix_go(b, ways, begin, situation);
}
