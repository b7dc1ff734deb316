/*
 * A contender that is one of several: it is never granted alone, waits for the others' searches,
 * and begins anew with them. Single steps are in a table; below it, courses of events. What makes
 * several of them a group: test_engine_groups.c.
 */
#include "unit/contender_situations.h"

#define OTHER (EXISTS | FAULT)

/* ---- Situations ---- */

enum stage {
    FOUND,   /* searched, and there is a node */
    MISSING, /* searched, and there is none */
    CLEARING,
    CLEARING_PARKED, /* the delete was lost, and there is a new connection */
    ADMITTED,        /* its watch is out */
    READY,
    REFUSED,   /* the watch, and parked */
    PARKED,    /* and there is a new connection */
    ELSEWHERE, /* the watch is out since an earlier connection */
    WENT,      /* the watch is out, and the node has gone */
    STAGES
};

#define AT(stage) IN(stage)
#define SEARCHED (AT(FOUND) | AT(MISSING))
#define CLEARS (AT(CLEARING) | AT(CLEARING_PARKED))
#define READING (AT(ADMITTED) | AT(ELSEWHERE) | AT(WENT))
#define FIRST_ONES (READING | AT(READY) | AT(REFUSED) | AT(PARKED))

/* It joins late: before these it is as one that is alone. */
static void bring(struct bench *b, enum situation situation) {
    situation_bring(b, situation);
    zkli_contender_join(&b->c);
}

static void bring_to(struct bench *b, unsigned stage) {
    static const enum situation admitted[STAGES] = {
        [ADMITTED] = S_ADMITTED,        [READY] = S_ADMITTED_WATCHED,
        [REFUSED] = S_ADMITTED_REFUSED, [PARKED] = S_ADMITTED_PARKED,
        [WENT] = S_ADMITTED_WENT,       [ELSEWHERE] = S_ADMITTED_ELSEWHERE};
    if (stage >= ADMITTED) {
        bring(b, admitted[stage]);
        return;
    }
    bring(b, S_SEARCHING_PAST);
    listed(b, stage == MISSING ? OTHERS : BEHIND_HEAD);
    if (stage == CLEARING || stage == CLEARING_PARKED)
        news(b, ZKLI_EV_ANEW);
    if (stage != CLEARING_PARKED)
        return;
    b->world.is_connected = false;
    reply(b, ZKLI_EV_DELETED, ZKLI_RESULT_LOST);
    bench_reconnect(b);
}

/* ---- What must come of it ---- */

#define CLEARS_AWAY ZKLI_CLEARING, ZKLI_ASK_DELETE | ZKLI_TELL_REQUEUED, 0, SENDING
#define READS_OWN (AT(ADMITTED) | AT(ELSEWHERE))

static const struct outcome outcomes[] = {
    /* It was looked for; the others say how it goes on. */
    {SEARCHED, ZKLI_EV_EXPIRED, ANY, BECOMES(ZKLI_IDLE, 0)},
    {AT(FOUND), ZKLI_EV_ADOPT, ANY, BECOMES(ZKLI_ADOPTING, OWN_AND_LIST)},
    {AT(FOUND), ZKLI_EV_ANEW, ANY, ZKLI_CLEARING, ZKLI_ASK_DELETE, 0, SENDING}, /* no place yet */
    {AT(MISSING), ZKLI_EV_ANEW, ANY, BEGINS_ANEW},
    {SEARCHED, ZKLI_EV_ABANDON, ANY, ZKLI_LEAVING, ZKLI_DO_FAIL | BARRIER_AND_LIST, ZKL_CANCELED,
     SENDING},
    {SEARCHED, ZKLI_EV_RELEASE, ANY, ZKLI_LEAVING, BARRIER_AND_LIST, 0, SENDING},

    /* Its node goes before another is made. */
    {AT(CLEARING_PARKED), ZKLI_EV_CONNECTED, ANY, ON(ZKLI_CLEARING, ZKLI_ASK_DELETE)},
    {AT(CLEARING), ZKLI_EV_DELETED, OK | NO_NODE, BEGINS_ANEW},
    {AT(CLEARING), ZKLI_EV_DELETED, LATER, PARKS(ZKLI_CLEARING)},
    {AT(CLEARING), ZKLI_EV_DELETED, DENIED, FAILS_AND_DELETES(ZKL_DENIED)},
    {AT(CLEARING), ZKLI_EV_DELETED, NOMEM, FAILS_AND_DELETES(ZKL_NOMEM)},
    {AT(CLEARING), ZKLI_EV_DELETED, OTHER, FAILS_AND_DELETES(ZKL_SERVER)},
    {CLEARS, ZKLI_EV_EXPIRED, ANY, BECOMES(ZKLI_IDLE, 0)}, /* it was told before */
    {FIRST_ONES, ZKLI_EV_EXPIRED, ANY, BECOMES(ZKLI_IDLE, ZKLI_TELL_REQUEUED)},
    {CLEARS | FIRST_ONES, ZKLI_EV_ABANDON, ANY, FAILS_AND_DELETES(ZKL_CANCELED)},
    {CLEARS | FIRST_ONES, ZKLI_EV_RELEASE, ANY, BECOMES(ZKLI_LEAVING, ZKLI_ASK_DELETE)},

    /* First, and not granted, however good the lease is. */
    {FIRST_ONES, ZKLI_EV_ANEW, ANY, CLEARS_AWAY},
    {AT(READY), ZKLI_EV_GRANT, ANY, BECOMES(ZKLI_HELD, ZKLI_DO_GRANT)},
    {AT(ADMITTED), ZKLI_EV_OWN_READ, OK, BECOMES(ZKLI_ADMITTED, 0)},
    {AT(ELSEWHERE), ZKLI_EV_OWN_READ, OK, LISTS_BEHIND_BARRIER},
    {READS_OWN, ZKLI_EV_OWN_READ, NO_NODE, REQUEUES},
    {READS_OWN, ZKLI_EV_OWN_READ, LATER, PARKS(ZKLI_ADMITTED)},
    {READS_OWN, ZKLI_EV_OWN_READ, DENIED, FAILS_AND_DELETES(ZKL_DENIED)},
    {READS_OWN, ZKLI_EV_OWN_READ, NOMEM, FAILS_AND_DELETES(ZKL_NOMEM)},
    {READS_OWN, ZKLI_EV_OWN_READ, OTHER, FAILS_AND_DELETES(ZKL_SERVER)},
    {AT(WENT), ZKLI_EV_OWN_READ, ANY, REQUEUES},
    {AT(REFUSED), ZKLI_EV_LEASE, ANY, ON(ZKLI_ADMITTED, ZKLI_ASK_OWN)},
    {AT(REFUSED), ZKLI_EV_CONNECTED, ANY, ON(ZKLI_ADMITTED, ZKLI_ASK_OWN)},
    {AT(PARKED), ZKLI_EV_LEASE, ANY, LISTS_BEHIND_BARRIER},
    {AT(PARKED), ZKLI_EV_CONNECTED, ANY, LISTS_BEHIND_BARRIER},
    {FIRST_ONES & ~READING, ZKLI_EV_OWN_EVENT, BIT(V_DELETED), REQUEUES},
    {AT(READY) | AT(REFUSED), ZKLI_EV_OWN_EVENT, BIT(V_CHANGED), ON(ZKLI_ADMITTED, ZKLI_ASK_OWN)},
    {AT(PARKED), ZKLI_EV_OWN_EVENT, BIT(V_CHANGED), LISTS_BEHIND_BARRIER},
};

/* What the group says, it says at certain moments only. */
static bool has(unsigned stage, enum zkli_contender_event_type type, unsigned v, bool is_connected,
                enum lease lease) {
    if (type == ZKLI_EV_GRANT)
        return v == 0 && stage == READY && is_connected && lease == AMPLE;
    if (type == ZKLI_EV_ADOPT)
        return v == 0 && stage == FOUND && is_connected;
    if (type == ZKLI_EV_ANEW)
        return v == 0 && (AT(stage) & CLEARS) == 0;
    return matrix_has(type, v);
}

static const struct matrix matrix = {.end = STAGES,
                                     .bring = bring_to,
                                     .has = has,
                                     .outcomes = outcomes,
                                     .outcome_count = COUNT(outcomes)};

static void every_event_at_every_stage_has_the_outcome_of_the_table(void) {
    matrix_check_events(&matrix);
}

static void every_row_of_the_table_is_met(void) {
    matrix_check_rows(&matrix);
}

/* ---- First, and not alone ---- */

static void an_ample_lease_grants_none_alone(void) {
    struct bench b;
    bring(&b, S_ENQUEUING_CREATED); /* first in the first listing */
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_ASK_OWN);
    CHECK_STATE(&b, "admitted");
    bring(&b, S_LISTING); /* in a later one, and the watch stands */
    CHECK_ACTIONS(listed(&b, FIRST), 0);
    CHECK_STATE(&b, "admitted");
    bring(&b, S_ORDERING);
    CHECK_ACTIONS(listed(&b, AT_THE_END), ZKLI_ASK_OWN);
    CHECK_STATE(&b, "admitted");
    bring(&b, S_WAITING_HEAD); /* by the end of the one before it */
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), 0);
    CHECK_STATE(&b, "admitted");
}

static void a_grant_with_the_others_is_a_hold_like_any_other(void) {
    struct bench b;
    bring_to(&b, READY);
    bench_lease(&b, AMPLE);
    CHECK_ACTIONS(news(&b, ZKLI_EV_GRANT), ZKLI_DO_GRANT);
    CHECK_STATE(&b, "held");
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), ZKLI_DO_LOSE | ZKLI_DO_FORGET);
}

static bool is_ready(const struct bench *b) {
    return zkli_contender_is_ready(&b->c, b->world.connection);
}

static void it_is_ready_when_nothing_but_the_others_keeps_it(void) {
    struct bench b;
    for (enum stage stage = 0; stage < STAGES; stage++) {
        bring_to(&b, stage);
        CHECK(is_ready(&b) == (stage == READY));
    }
    bring_to(&b, READY);
    bench_reconnect(&b); /* it was listed on another connection */
    CHECK(!is_ready(&b));
    bring_to(&b, READY);
    bench_lease(&b, AMPLE);
    news(&b, ZKLI_EV_GRANT);
    CHECK(!is_ready(&b)); /* it holds */
    bring(&b, S_WAITING_HEAD);
    CHECK(!is_ready(&b)); /* it waits */
}

/* The watch has fired, and is being set again. */
static void it_is_not_ready_while_its_node_is_read_again(void) {
    struct bench b;
    bring_to(&b, READY);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), ZKLI_ASK_OWN);
    CHECK(!is_ready(&b));
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    CHECK(is_ready(&b));
}

static void a_mark_that_is_under_way_does_not_keep_it(void) {
    struct bench b;
    to_created(&b, 1);
    zkli_contender_join(&b.c);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_ASK_TOUCH | ZKLI_ASK_OWN);
    CHECK(!is_ready(&b));
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    CHECK_STATE(&b, "admitted");
    CHECK(is_ready(&b));
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_OK), 0);
    CHECK(is_ready(&b));
    CHECK_ACTIONS(news(&b, ZKLI_EV_GRANT), ZKLI_DO_GRANT);
}

/* ---- Searches ---- */

static void a_search_ends_in_a_wait_for_the_others(void) {
    static const struct {
        enum crowd crowd;
        bool is_found;
    } cases[] = {{NOBODY, false}, {FIRST, true},      {BEHIND_HEAD, true}, {BEHIND_TWO, true},
                 {OTHERS, false}, {AT_THE_END, true}, {TWICE, true}};
    struct bench b;
    for (size_t i = 0; i < COUNT(cases); i++) {
        bring(&b, S_SEARCHING_PAST);
        CHECK_ACTIONS(listed(&b, cases[i].crowd), 0);
        CHECK_STATE(&b, "searched");
        CHECK((b.c.found[0] != '\0') == cases[i].is_found);
        CHECK(zkli_contender_is_unsure(&b.c));
        CHECK(!zkli_contender_is_parked(&b.c));
    }
    bring(&b, S_SEARCHING_PAST);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE), 0);
    CHECK_STATE(&b, "searched"); /* without a directory there is no node */
    CHECK_STRING(b.c.found, "");
}

static void a_search_that_fails_is_made_again(void) {
    struct bench b;
    bring(&b, S_SEARCHING_PAST);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_AGAIN), ZKLI_DO_RETRY);
    CHECK_STATE(&b, "unsure");
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), BARRIER_AND_LIST);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, FIRST), 0);
    CHECK_STATE(&b, "searched");
}

static void what_was_found_is_adopted_with_the_others(void) {
    struct bench b;
    bring_to(&b, FOUND);
    CHECK_STRING(b.c.node, ""); /* it is not ours before its read says so */
    CHECK_ACTIONS(news(&b, ZKLI_EV_ADOPT), OWN_AND_LIST);
    CHECK_STRING(b.c.node, b.c.found);
    CHECK_ACTIONS(listed(&b, FIRST), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    CHECK_STATE(&b, "admitted");
    CHECK(is_ready(&b));
    CHECK_INT(b.c.czxid, 1000 + OWN_NUMBER);
}

/* ---- Anew ---- */

/* Those whose node is known, and that neither hold nor leave. */
static bool stands(const struct bench *b) {
    return b->c.node[0] != '\0' && !zkli_contender_holds(&b->c) && !zkli_contender_has_left(&b->c);
}

static void wherever_it_stands_its_node_goes_first(void) {
    size_t stood = 0;
    for (enum situation situation = 0; situation < SITUATIONS; situation++)
        for (int is_connected = 0; is_connected < 2; is_connected++) {
            struct bench b;
            bring(&b, situation);
            if (!stands(&b))
                continue;
            stood++;
            char node[ZKLI_CHILD_MAX + 1], uuid[ZKLI_UUID_LENGTH + 1];
            memcpy(node, b.c.node, sizeof(node));
            memcpy(uuid, b.c.uuid, sizeof(uuid));
            b.world.is_connected = is_connected == 1;
            CHECK_ACTIONS(news(&b, ZKLI_EV_ANEW),
                          ZKLI_TELL_REQUEUED | (is_connected == 1 ? ZKLI_ASK_DELETE : 0));
            CHECK_STATE(&b, "clearing");
            CHECK_STRING(b.c.node, node);
            if (is_connected == 0) {
                bench_reconnect(&b);
                CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), ZKLI_ASK_DELETE);
            }
            CHECK_INT(b.c.in_flight, ZKLI_ASK_DELETE); /* all else is void */
            CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), CREATE_AND_LIST);
            CHECK_STATE(&b, "enqueuing");
            CHECK(!zkli_uuid_is_same(b.c.uuid, uuid));
            CHECK_STRING(b.c.node, "");
        }
    CHECK_INT(stood, 2 * 19);
}

static void what_was_found_goes_before_another_is_made(void) {
    struct bench b;
    bring_to(&b, FOUND);
    char found[ZKLI_CHILD_MAX + 1];
    memcpy(found, b.c.found, sizeof(found));
    CHECK_ACTIONS(news(&b, ZKLI_EV_ANEW), ZKLI_ASK_DELETE);
    CHECK_STRING(b.c.node, found);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_AGAIN), ZKLI_DO_RETRY);
    CHECK_STATE(&b, "clearing");
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), ZKLI_ASK_DELETE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_NO_NODE), CREATE_AND_LIST);
    CHECK(!zkli_node_name_has_uuid(found, b.c.uuid));
}

static void without_a_connection_it_begins_anew_with_the_next(void) {
    struct bench b;
    bring_to(&b, CLEARING);
    b.world.is_connected = false;
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_LOST), 0);
    CHECK_STATE(&b, "clearing");
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), ZKLI_ASK_DELETE);
    b.world.is_connected = false;
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), 0);
    CHECK_STATE(&b, "idle");
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
}

/* A try looks again: others may have come while its nodes were gone. */
static void a_try_that_begins_anew_looks_first(void) {
    struct bench b;
    bring(&b, S_PROBING);
    CHECK_ACTIONS(listed(&b, NOBODY), CREATE_AND_LIST);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    listed(&b, FIRST);
    CHECK_ACTIONS(news(&b, ZKLI_EV_ANEW), ZKLI_ASK_DELETE | ZKLI_TELL_REQUEUED);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), ZKLI_ASK_LIST);
    CHECK_STATE(&b, "probing");
    CHECK_ACTIONS(listed(&b, OTHERS), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
    CHECK_INT(b.c.error, ZKL_BUSY);
}

static void who_leaves_while_its_node_goes_has_it_deleted(void) {
    struct bench b;
    bring_to(&b, CLEARING);
    CHECK_ACTIONS(give_up(&b), ZKLI_DO_FAIL | ZKLI_ASK_DELETE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_NO_NODE), ZKLI_DO_FORGET);
    bring_to(&b, FOUND);
    CHECK_ACTIONS(give_up(&b), ZKLI_DO_FAIL | BARRIER_AND_LIST);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_ASK_DELETE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), ZKLI_DO_FORGET);
}

/* ---- A create that was not done because of another's ---- */

static void to_undone(struct bench *b) {
    bring(b, S_ENQUEUING);
    CHECK_ACTIONS(reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_UNDONE), 0);
    CHECK(!zkli_contender_is_unsure(&b->c)); /* there is no node */
}

static void a_create_that_was_undone_is_made_again(void) {
    struct bench b;
    to_undone(&b);
    CHECK_ACTIONS(listed(&b, NOBODY), CREATE_AND_LIST);
    CHECK_STATE(&b, "enqueuing");
    to_undone(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE), PARENT_CREATE_AND_LIST);
    CHECK_INT(b.c.parent_level, 1);
    to_undone(&b);
    CHECK_ACTIONS(give_up(&b), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
}

static void to_undone_behind_the_directory(struct bench *b, enum zkli_result parent) {
    bring(b, S_HOUSING);
    reply(b, ZKLI_EV_PARENT, parent);
    reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_UNDONE);
}

static void a_directory_is_made_if_it_is_not_there(void) {
    struct bench b;
    to_undone_behind_the_directory(&b, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, NOBODY), CREATE_AND_LIST);
    CHECK_INT(b.c.parent_level, 0);
    to_undone_behind_the_directory(&b, ZKLI_RESULT_OK); /* it went again */
    CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE), PARENT_CREATE_AND_LIST);
    to_undone_behind_the_directory(&b, ZKLI_RESULT_NO_NODE); /* what is above it is missing */
    CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE), ZKLI_ASK_PARENT);
    CHECK_STATE(&b, "parenting");
    to_undone_behind_the_directory(&b, ZKLI_RESULT_DENIED);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
    CHECK_INT(b.c.error, ZKL_DENIED);
}

/* One that leaves waits for the create: a write that was undone leaves nothing. */
static void who_leaves_has_nothing_left_by_a_create_that_was_undone(void) {
    struct bench b;
    bring(&b, S_LEAVING_CREATE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_UNDONE), ZKLI_DO_FORGET);
}

/* The engine names an attempt before its creates are sent. */
static void an_attempt_s_uuid_is_its_own(void) {
    struct bench b;
    char uuid[ZKLI_UUID_LENGTH + 1];
    bring(&b, S_ENQUEUING);
    memcpy(uuid, b.fresh_uuid, sizeof(uuid));
    CHECK(!zkli_uuid_is_same(b.c.uuid, uuid));
    zkli_contender_share_uuid(&b.c, uuid);
    CHECK(zkli_uuid_is_same(b.c.uuid, uuid));
    char name[ZKLI_CHILD_MAX + 1];
    bench_name(uuid, OWN_NUMBER, name);
    CHECK(zkli_contender_may_own(&b.c, name));
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"every event at every stage has the outcome of the table",
         every_event_at_every_stage_has_the_outcome_of_the_table},
        {"every row of the table is met", every_row_of_the_table_is_met},
        {"an ample lease grants none alone", an_ample_lease_grants_none_alone},
        {"a grant with the others is a hold like any other",
         a_grant_with_the_others_is_a_hold_like_any_other},
        {"it is ready when nothing but the others keeps it",
         it_is_ready_when_nothing_but_the_others_keeps_it},
        {"it is not ready while its node is read again",
         it_is_not_ready_while_its_node_is_read_again},
        {"a mark that is under way does not keep it", a_mark_that_is_under_way_does_not_keep_it},
        {"a search ends in a wait for the others", a_search_ends_in_a_wait_for_the_others},
        {"a search that fails is made again", a_search_that_fails_is_made_again},
        {"what was found is adopted with the others", what_was_found_is_adopted_with_the_others},
        {"wherever it stands, its node goes first", wherever_it_stands_its_node_goes_first},
        {"what was found goes before another is made", what_was_found_goes_before_another_is_made},
        {"without a connection it begins anew with the next",
         without_a_connection_it_begins_anew_with_the_next},
        {"a try that begins anew looks first", a_try_that_begins_anew_looks_first},
        {"who leaves while its node goes has it deleted",
         who_leaves_while_its_node_goes_has_it_deleted},
        {"a create that was undone is made again", a_create_that_was_undone_is_made_again},
        {"a directory is made if it is not there", a_directory_is_made_if_it_is_not_there},
        {"who leaves has nothing left by a create that was undone",
         who_leaves_has_nothing_left_by_a_create_that_was_undone},
        {"an attempt's uuid is its own", an_attempt_s_uuid_is_its_own},
    };
    return TEST_MAIN(argc, argv, "contender_several", cases);
}
