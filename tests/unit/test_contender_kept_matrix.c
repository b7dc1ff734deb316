/*
 * Every state of a semaphore's contender whose node may be kept, from its admission, against every
 * event; and in which of them the node may stay while nobody holds by it. See contender_matrix.h.
 * Courses of events, and the other kinds: test_contender_linger.c.
 */
#include "unit/contender_matrix.h"

/* One permit is recorded, if nothing else is said. The watch on the children stands since a listing
 * that showed nobody else. */
enum situation {
    K_ADMITTED, /* the read of our node is out */
    K_ADMITTED_WATCHED,
    K_ADMITTED_CAME, /* the same, and the children have changed since */
    K_HELD,
    K_HELD_READING,   /* idle: the read of our node is out */
    K_HELD_WATCHED,   /* idle */
    K_HELD_REREADING, /* its watch fired; the read that may tell why is out */
    K_HELD_WANTED,    /* it was told */
    K_HELD_WANTED_READING,
    K_HELD_CAME,       /* somebody had come before it was granted; unknown is who */
    K_HELD_TOUCHING,   /* one stood behind it, and the mark is out */
    K_HELD_SECOND,     /* of two permits; it is not first */
    K_HELD_FROM_FRONT, /* it waited in front, and then was alone */
    K_HELD_FROM_QUEUE, /* it waited further behind, and then was alone */
    K_LEAVING,
    SITUATIONS
};

#define LISTING_OF(crowd) ZKLI_EV_LISTED, V_CROWD + (crowd)

static const struct way ways[SITUATIONS] = {
    [K_ADMITTED] = {K_ADMITTED, LISTING_OF(ALONE), DOUBTFUL, ZKLI_ADMITTED},
    [K_ADMITTED_WATCHED] = {K_ADMITTED, ZKLI_EV_OWN_READ, 0, DOUBTFUL, ZKLI_ADMITTED},
    [K_ADMITTED_CAME] = {K_ADMITTED_WATCHED, ZKLI_EV_CHILDREN_EVENT, 0, DOUBTFUL, ZKLI_ADMITTED},
    [K_HELD] = {K_HELD, LISTING_OF(ALONE), PLAIN, ZKLI_HELD},
    [K_HELD_READING] = {K_HELD, ZKLI_EV_IDLE, 0, PLAIN, ZKLI_HELD},
    [K_HELD_WATCHED] = {K_HELD_READING, ZKLI_EV_OWN_READ, 0, PLAIN, ZKLI_HELD},
    [K_HELD_REREADING] = {K_HELD_WATCHED, ZKLI_EV_OWN_EVENT, V_CHANGED, PLAIN, ZKLI_HELD},
    [K_HELD_WANTED] = {K_HELD, ZKLI_EV_CHILDREN_EVENT, 0, PLAIN, ZKLI_HELD},
    [K_HELD_WANTED_READING] = {K_HELD_WANTED, ZKLI_EV_HEARTBEAT, 0, PLAIN, ZKLI_HELD},
    [K_HELD_CAME] = {K_ADMITTED_CAME, ZKLI_EV_LEASE, 0, PLAIN, ZKLI_HELD},
    [K_HELD_TOUCHING] = {K_HELD_TOUCHING, LISTING_OF(FIRST), PLAIN, ZKLI_HELD},
    [K_HELD_SECOND] = {K_HELD_SECOND, LISTING_OF(BEHIND_HEAD), PLAIN, ZKLI_HELD},
    [K_HELD_FROM_FRONT] = {K_HELD_FROM_FRONT, LISTING_OF(ALONE), PLAIN, ZKLI_HELD},
    [K_HELD_FROM_QUEUE] = {K_HELD_FROM_QUEUE, LISTING_OF(ALONE), PLAIN, ZKLI_HELD},
    [K_LEAVING] = {K_HELD, ZKLI_EV_RELEASE, 0, PLAIN, ZKLI_LEAVING},
};

/* The listing is out that decides. */
static void begin(struct bench *b, unsigned situation) {
    bench_semaphore(b, 0, false);
    zkli_contender_keep(&b->c);
    if (situation == K_HELD_SECOND)
        bench_record(b, 2, 2);
    b->permits = b->directory;
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
    reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    if (situation == K_HELD_FROM_FRONT) {
        listed(b, BEHIND_HEAD);
        CHECK_STATE(b, "fronting");
        reply(b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
        read_directory(b);
    }
    if (situation == K_HELD_FROM_QUEUE) {
        listed(b, BEHIND_TWO);
        reply(b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
        reply(b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK);
        CHECK_ACTIONS(fired(b, ZKLI_EV_PREDECESSOR_EVENT, true), ZKLI_ASK_LIST);
    }
}

static void bring(struct bench *b, unsigned situation) {
    matrix_go(b, ways, begin, situation);
}

/* Our own watch is set, or its read is out. */
#define ADMITTED_WATCHED (IN(K_ADMITTED_WATCHED) | IN(K_ADMITTED_CAME))
#define ADMITTED (IN(K_ADMITTED) | ADMITTED_WATCHED)
#define READING (IN(K_HELD_READING) | IN(K_HELD_REREADING) | IN(K_HELD_WANTED_READING))
#define WATCHED                                                                                    \
    (IN(K_HELD_WATCHED) | IN(K_HELD_CAME) | IN(K_HELD_FROM_FRONT) | IN(K_HELD_FROM_QUEUE))
#define UNWATCHED (IN(K_HELD) | IN(K_HELD_WANTED) | IN(K_HELD_TOUCHING) | IN(K_HELD_SECOND))
#define HOLDING (READING | WATCHED | UNWATCHED)
#define WANTED (IN(K_HELD_WANTED) | IN(K_HELD_WANTED_READING))
/* In these the node may stay. */
#define IDLING                                                                                     \
    (IN(K_HELD) | IN(K_HELD_READING) | IN(K_HELD_WATCHED) | IN(K_HELD_REREADING) |                 \
     IN(K_HELD_FROM_FRONT))
#define REFUSED (DENIED | LATER | ODD) /* and not gone */

static const struct outcome outcomes[] = {
    {ADMITTED, ZKLI_EV_EXPIRED, ANY, BECOMES(ZKLI_IDLE, ZKLI_TELL_REQUEUED)},
    {HOLDING, ZKLI_EV_EXPIRED, ANY, LOSES},
    {IN(K_LEAVING), ZKLI_EV_EXPIRED, ANY, FORGETS},

    /* Before it is granted nobody is told that it is wanted. */
    {IN(K_ADMITTED), ZKLI_EV_OWN_READ, OK, GRANTS_IF_AMPLE},
    {IN(K_ADMITTED), ZKLI_EV_OWN_READ, NO_NODE, REQUEUES},
    ENDS_IF_REFUSED(IN(K_ADMITTED), ZKLI_EV_OWN_READ, ZKLI_ADMITTED),
    {ADMITTED_WATCHED, ZKLI_EV_LEASE, ANY, GRANTS_IF_AMPLE},
    {ADMITTED_WATCHED, ZKLI_EV_CONNECTED, ANY, GRANTS_IF_AMPLE},
    {ADMITTED_WATCHED, ZKLI_EV_OWN_EVENT, BIT(V_DELETED), REQUEUES},
    {ADMITTED_WATCHED, ZKLI_EV_OWN_EVENT, BIT(V_CHANGED), ON(ZKLI_ADMITTED, ZKLI_ASK_OWN)},

    /* Wanted, by whom it does not matter: told once. Only a new connection says so, no retry. */
    {HOLDING & ~WANTED, ZKLI_EV_CHILDREN_EVENT, ANY, BECOMES(ZKLI_HELD, ZKLI_TELL_WANTED)},
    {HOLDING & ~WANTED, ZKLI_EV_CONNECTED, ANY, BECOMES(ZKLI_HELD, ZKLI_TELL_WANTED)},
    {HOLDING & ~WANTED, ZKLI_EV_RETRY, ANY, BECOMES(SAME, 0)},
    {READING & ~WANTED, ZKLI_EV_OWN_READ, BIT(V_ASKED), BECOMES(ZKLI_HELD, ZKLI_TELL_WANTED)},

    /* Its watch tells that it is asked to let go, or gone. */
    {(WATCHED | UNWATCHED) & ~IN(K_HELD_TOUCHING), ZKLI_EV_OWN_EVENT, BIT(V_CHANGED),
     ON(ZKLI_HELD, ZKLI_ASK_OWN)}, /* its own mark is read at the next heartbeat */
    {HOLDING, ZKLI_EV_OWN_EVENT, BIT(V_DELETED), LOSES},
    {READING, ZKLI_EV_OWN_READ, NO_NODE | BIT(V_OTHERS_NODE), LOSES},
    {UNWATCHED, ZKLI_EV_IDLE, ANY, ON(ZKLI_HELD, ZKLI_ASK_OWN)},
    {UNWATCHED, ZKLI_EV_HEARTBEAT, ANY, ON(ZKLI_HELD, ZKLI_ASK_OWN)},

    {HOLDING, ZKLI_EV_LEASE, ANY, ZKLI_LEAVING, ZKLI_DO_LOSE | ZKLI_ASK_DELETE, 0, IF_UNCERTAIN},
    {IN(K_HELD_TOUCHING), ZKLI_EV_TOUCHED, NO_NODE, LOSES},
    {IN(K_HELD_TOUCHING), ZKLI_EV_TOUCHED, REFUSED, PARKS(ZKLI_HELD)},

    /* Good-bye. */
    {ADMITTED | HOLDING, ZKLI_EV_ABANDON, ANY, FAILS_AND_DELETES(ZKL_CANCELED)},
    {ADMITTED | HOLDING, ZKLI_EV_RELEASE, ANY, BECOMES(ZKLI_LEAVING, ZKLI_ASK_DELETE)},
    {IN(K_LEAVING), ZKLI_EV_DELETED, OK | NO_NODE, FORGETS},
    {IN(K_LEAVING), ZKLI_EV_DELETED, REFUSED, PARKS(ZKLI_LEAVING)},
};

static bool has(unsigned situation, enum zkli_contender_event_type type, unsigned v,
                bool is_connected, enum lease lease) {
    (void)is_connected, (void)lease;
    if (type == ZKLI_EV_OWN_READ && (v == V_OTHERS_NODE || v == V_ASKED))
        return (READING & IN(situation)) != 0;
    return matrix_has(type, v);
}

static const struct matrix matrix = {.end = SITUATIONS,
                                     .bring = bring,
                                     .has = has,
                                     .outcomes = outcomes,
                                     .outcome_count = COUNT(outcomes)};

static void every_event_has_the_outcome_of_the_table(void) {
    matrix_check_events(&matrix);
}

static void every_row_of_the_table_is_met(void) {
    matrix_check_rows(&matrix);
}

static void its_node_may_stay_while_nobody_else_is_there(void) {
    for (unsigned situation = 0; situation < SITUATIONS; situation++) {
        struct bench b;
        bring(&b, situation);
        bool may_idle = zkli_contender_may_idle(&b.c);
        if (may_idle != ((IDLING & IN(situation)) != 0))
            test_note("situation %u", situation);
        CHECK(may_idle == ((IDLING & IN(situation)) != 0));
    }
}

/* Whatever happens while it may stay: if that is wanted, it may not, and else it still may. */
static void it_may_not_stay_once_it_is_wanted(void) {
    for (unsigned situation = 0; situation < SITUATIONS; situation++)
        for (unsigned type = 0; type < ZKLI_EVENT_TYPES; type++)
            for (unsigned v = 0; v < VARIATIONS; v++) {
                enum zkli_contender_event_type of = (enum zkli_contender_event_type)type;
                struct bench b;
                if ((IDLING & IN(situation)) == 0 || !has(situation, of, v, true, AMPLE))
                    continue;
                bring(&b, situation);
                matrix_feed(&b, of, v);
                bool may_stay = b.c.state == ZKLI_HELD && b.actions != ZKLI_TELL_WANTED;
                CHECK(zkli_contender_may_idle(&b.c) == may_stay);
            }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"every event has the outcome of the table", every_event_has_the_outcome_of_the_table},
        {"every row of the table is met", every_row_of_the_table_is_met},
        {"its node may stay while nobody else is there",
         its_node_may_stay_while_nobody_else_is_there},
        {"it may not stay once it is wanted", it_may_not_stay_once_it_is_wanted},
    };
    return TEST_MAIN(argc, argv, "contender_kept_matrix", cases);
}
