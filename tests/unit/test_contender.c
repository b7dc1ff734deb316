/*
 * What a contender does, claim by claim: the courses of events that decide about safety. Single
 * steps: test_contender_matrix.c; pairs of replies: test_contender_flights.c.
 */
#include "unit/contender_bench.h"

/* ---- Hand-off ---- */

static void check_hand_off(enum crowd crowd, enum zkli_kind kind, bool by_czxid, bool reconnected) {
    struct bench b;
    to_enqueuing(&b);
    b.others = kind;
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    if (by_czxid)
        listed(&b, AT_THE_END);
    listed(&b, crowd);
    answer_all(&b, ZKLI_RESULT_OK);
    CHECK_STATE(&b, "waiting");
    if (reconnected)
        bench_reconnect(&b);
    unsigned actions = fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true);
    bool is_safe = kind != ZKLI_KIND_WRITE; /* which may leave a reader there */
    if (crowd == BEHIND_HEAD && is_safe && !by_czxid && !reconnected)
        CHECK_ACTIONS(actions, ZKLI_DO_GRANT);
    else
        CHECK_ACTIONS(actions, reconnected ? BARRIER_AND_LIST : ZKLI_ASK_LIST);
}

static void only_the_head_s_end_grants_and_only_where_nothing_else_can_be_lower(void) {
    for (enum zkli_kind kind = ZKLI_KIND_MUTEX; kind <= ZKLI_KIND_FOREIGN; kind++)
        for (unsigned i = 0; i < 8; i++)
            check_hand_off((i & 1) != 0 ? BEHIND_HEAD : BEHIND_TWO, kind, (i & 2) != 0,
                           (i & 4) != 0);
}

/* It has gone before it could be watched. */
static void a_head_that_is_missing_is_a_head_that_has_gone(void) {
    for (enum zkli_kind kind = ZKLI_KIND_MUTEX; kind <= ZKLI_KIND_FOREIGN; kind++)
        for (unsigned i = 0; i < 4; i++) {
            struct bench b;
            bool is_head = (i & 1) != 0, by_czxid = (i & 2) != 0;
            to_enqueuing(&b);
            b.others = kind;
            reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
            if (by_czxid)
                listed(&b, AT_THE_END);
            listed(&b, is_head ? BEHIND_HEAD : BEHIND_TWO);
            CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
            bool is_grant = is_head && kind != ZKLI_KIND_WRITE && !by_czxid;
            CHECK_ACTIONS(reply(&b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_NO_NODE),
                          is_grant ? ZKLI_DO_GRANT : ZKLI_ASK_LIST);
        }
}

/* Its beginning may be told late, or not at all; watches that are sent again fire in any order, and
 * the own node may have gone first. */
static void an_end_that_a_connection_nobody_told_of_brings_is_no_grant(void) {
    struct bench b;
    to_waiting(&b, BEHIND_HEAD);
    b.world.is_connected = false;
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), BARRIER_AND_LIST);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), 0);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, OTHERS), ZKLI_TELL_REQUEUED | CREATE_AND_LIST);
}

/* What was listed over the new connection is as good as it was over the old one. */
static void a_listing_after_a_reconnect_makes_the_head_s_end_a_grant_again(void) {
    struct bench b;
    to_waiting(&b, BEHIND_TWO);
    bench_reconnect(&b);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), BARRIER_AND_LIST);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    listed(&b, BEHIND_HEAD);
    answer_all(&b, ZKLI_RESULT_OK);
    CHECK_STATE(&b, "waiting");
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), ZKLI_DO_GRANT);
}

/* First in the queue, on a lease that is not ample. */
static void to_admitted(struct bench *b, enum lease lease) {
    to_waiting(b, BEHIND_HEAD);
    bench_lease(b, lease);
    CHECK_ACTIONS(fired(b, ZKLI_EV_PREDECESSOR_EVENT, true), 0);
    CHECK_STATE(b, "admitted");
    CHECK_ACTIONS(news(b, ZKLI_EV_LEASE), 0);
}

static void a_grant_waits_for_an_ample_lease_and_takes_it_at_once(void) {
    struct bench b;
    to_admitted(&b, UNCERTAIN);
    bench_lease(&b, SHORT); /* a hold that began on it might be lost with nothing amiss */
    CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), 0);
    bench_lease(&b, AMPLE);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), ZKLI_DO_GRANT);
    CHECK_STATE(&b, "held");
}

/* Not when the lease has become ample: by the time of an answer it may not be so any more. */
static void who_was_first_looks_again_as_soon_as_it_is_connected(void) {
    struct bench b;
    to_admitted(&b, UNCERTAIN);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), BARRIER_AND_LIST);
    bench_lease(&b, SHORT);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, FIRST), 0);
    CHECK_STATE(&b, "admitted");
    bench_lease(&b, AMPLE);
    CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), ZKLI_DO_GRANT);
}

static void who_is_first_without_an_ample_lease_watches_its_node(void) {
    struct bench b;
    to_enqueuing(&b);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    bench_lease(&b, SHORT);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_ASK_OWN);
    bench_lease(&b, AMPLE); /* before the answer: somebody may have deleted it */
    CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), ZKLI_DO_GRANT);
}

static void a_node_that_went_while_the_lease_was_awaited_is_not_granted(void) {
    struct bench b;
    to_admitted(&b, SHORT);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), ZKLI_TELL_REQUEUED | CREATE_AND_LIST);
    to_admitted(&b, SHORT);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), ZKLI_ASK_OWN);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), 0); /* the read is out */
    bench_lease(&b, AMPLE);
    CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK),
                  ZKLI_TELL_REQUEUED | CREATE_AND_LIST);
}

/* T28 */
static void a_hundred_reconnects_cost_a_waiter_nothing_and_grant_nothing(void) {
    struct bench b;
    to_waiting(&b, BEHIND_HEAD);
    for (int i = 0; i < 100; i++) {
        b.world.is_connected = false;
        CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), 0);
        bench_reconnect(&b);
        CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), 0);
        CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), 0);
        CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
    }
    CHECK_STATE(&b, "waiting");
}

/* ---- Lost replies ---- */

/* T10, T11: however often the search is lost as well. */
static void after_a_lost_create_nothing_is_created_before_a_search_has_succeeded(void) {
    for (unsigned losses = 0; losses < 16; losses++) {
        struct bench b;
        to_searching(&b);
        for (unsigned bits = losses; bits != 0; bits >>= 2) {
            reply(&b, ZKLI_EV_BARRIER, (bits & 1) != 0 ? ZKLI_RESULT_LOST : ZKLI_RESULT_OK);
            reply(&b, ZKLI_EV_LISTED, (bits & 2) != 0 ? ZKLI_RESULT_LOST : ZKLI_RESULT_NO_NODE);
            if (b.c.state == ZKLI_ENQUEUING)
                break; /* both came through: there is none */
            CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), BARRIER_AND_LIST);
        }
        if (b.c.state == ZKLI_ENQUEUING)
            continue;
        reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
        CHECK_ACTIONS(listed(&b, OTHERS), CREATE_AND_LIST);
    }
}

/* T34: where numbers repeat, it would be the name of a node that others may still wait for. */
static void no_name_is_created_twice(void) {
    for (unsigned way = 0; way < 4; way++) {
        struct bench b;
        char uuid[ZKLI_UUID_LENGTH + 1];
        to_searching(&b);
        memcpy(uuid, b.c.uuid, sizeof(uuid));
        reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
        if (way == 0)
            listed(&b, OTHERS);
        else if (way == 1)
            reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE);
        else {
            listed(&b, BEHIND_HEAD);
            listed(&b, BEHIND_HEAD);
            if (way == 2)
                reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_NO_NODE);
            else
                say(&b, (struct zkli_contender_event){.type = ZKLI_EV_OWN_READ,
                                                      .owner = OTHER_SESSION});
        }
        CHECK_ACTIONS(b.actions, CREATE_AND_LIST);
        CHECK(strcmp(b.c.uuid, uuid) != 0);
    }
}

/* The node that the last search has found may have gone. */
static void each_search_looks_anew(void) {
    struct bench b;
    to_adopting(&b, FIRST);
    answer_all(&b, ZKLI_RESULT_LOST);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), BARRIER_AND_LIST);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, OTHERS), CREATE_AND_LIST);
    to_adopting(&b, FIRST);
    answer_all(&b, ZKLI_RESULT_LOST);
    CHECK_ACTIONS(give_up(&b), ZKLI_DO_FAIL | BARRIER_AND_LIST);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, OTHERS), ZKLI_DO_FORGET);
}

static void a_search_that_finds_two_nodes_takes_the_lower(void) {
    for (int order = 0; order < 2; order++) {
        struct bench b;
        char lower[ZKLI_CHILD_MAX + 1];
        to_searching(&b);
        b.is_twin_last = order == 1;
        bench_name(b.c.uuid, OWN_NUMBER, lower);
        reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
        CHECK_ACTIONS(listed(&b, TWICE), OWN_AND_LIST);
        CHECK_STRING(b.c.node, lower);
        /* To leave is to delete the lower one first, too. */
        to_searching(&b);
        b.is_twin_last = order == 1;
        bench_name(b.c.uuid, OWN_NUMBER, lower);
        give_up(&b);
        reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
        CHECK_ACTIONS(listed(&b, TWICE), ZKLI_ASK_DELETE);
        CHECK_STRING(b.c.node, lower);
    }
}

/* T12 */
static void a_node_of_another_session_is_never_adopted(void) {
    for (unsigned list = 0; list < LIST_REPLIES; list++) {
        struct bench b;
        to_adopting(&b, FIRST);
        reply_list(&b, list);
        CHECK_ACTIONS(say(&b, (struct zkli_contender_event){.type = ZKLI_EV_OWN_READ,
                                                            .czxid = 1,
                                                            .owner = OTHER_SESSION}),
                      CREATE_AND_LIST);
        CHECK_STRING(b.c.node, "");
        reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
        CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_GRANT);
        CHECK(b.c.owner == SESSION && b.c.czxid == 1000 + OWN_NUMBER);
    }
}

/* The read has set a watch on that node; when it fires, it is not our new node that has gone. */
static void the_end_of_a_node_that_was_not_adopted_is_not_the_end_of_ours(void) {
    struct bench b;
    to_adopting(&b, FIRST);
    listed(&b, FIRST);
    say(&b, (struct zkli_contender_event){.type = ZKLI_EV_OWN_READ, .owner = OTHER_SESSION});
    CHECK_STATE(&b, "enqueuing");
    fired(&b, ZKLI_EV_OWN_EVENT, true);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_GRANT);
}

static void a_node_that_was_adopted_has_its_own_token(void) {
    struct bench b;
    to_adopting(&b, FIRST);
    listed(&b, FIRST);
    CHECK_ACTIONS(
        say(&b,
            (struct zkli_contender_event){.type = ZKLI_EV_OWN_READ, .czxid = 77, .owner = SESSION}),
        ZKLI_DO_GRANT);
    CHECK(b.c.czxid == 77);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0); /* it is watched already */
}

/* ---- Places ---- */

static void a_position_is_told_once_and_again_when_it_changes(void) {
    struct bench b;
    to_enqueuing(&b);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, BEHIND_TWO), OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED);
    CHECK_INT(b.c.position, 2);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_NO_NODE), ZKLI_ASK_LIST);
    CHECK_ACTIONS(listed(&b, BEHIND_TWO), ZKLI_ASK_PREDECESSOR);
    reply(&b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_NO_NODE);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_ASK_PREDECESSOR | ZKLI_TELL_QUEUED);
    CHECK_INT(b.c.position, 1);
    fired(&b, ZKLI_EV_OWN_EVENT, true);
    reply(&b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED);
}

static void what_the_server_refused_for_the_moment_is_asked_again(void) {
    struct bench b;
    to_enqueuing(&b);
    answer_all(&b, ZKLI_RESULT_AGAIN);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), CREATE_AND_LIST);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_AGAIN), ZKLI_DO_RETRY);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), BARRIER_AND_LIST); /* nothing is known of this one */
    answer_all(&b, ZKLI_RESULT_AGAIN);
    news(&b, ZKLI_EV_RETRY);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED);
    answer_all(&b, ZKLI_RESULT_AGAIN);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), ZKLI_ASK_LIST);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_AGAIN), ZKLI_DO_RETRY);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), ZKLI_ASK_LIST);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_GRANT);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RELEASE), ZKLI_ASK_DELETE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_AGAIN), ZKLI_DO_RETRY);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), ZKLI_ASK_DELETE);
    to_housing(&b);
    answer_all(&b, ZKLI_RESULT_AGAIN);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), PARENT_CREATE_AND_LIST);
}

/* So its listing, if it must be repeated, goes behind a barrier. */
static void a_new_place_has_not_been_listed_whatever_was_before(void) {
    struct bench b;
    to_waiting(&b, BEHIND_TWO);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), CREATE_AND_LIST | ZKLI_TELL_REQUEUED);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_AGAIN), ZKLI_DO_RETRY);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), BARRIER_AND_LIST);
}

/* T34 */
static void by_czxid_the_end_of_the_head_is_a_reason_to_list_not_to_hold(void) {
    struct bench b;
    to_placed(&b, AT_THE_END);
    CHECK_ACTIONS(b.actions, ZKLI_ASK_ORDER);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED);
    answer_all(&b, ZKLI_RESULT_OK);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), ZKLI_ASK_LIST);
    CHECK_ACTIONS(listed(&b, AT_THE_END), ZKLI_ASK_ORDER);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_GRANT);
}

static void a_new_session_s_place_has_a_new_name(void) {
    for (unsigned way = 0; way < 3; way++) {
        struct bench b;
        if (way == 0)
            to_unsure(&b);
        else if (way == 1)
            to_waiting(&b, BEHIND_HEAD);
        else
            to_enqueuing(&b);
        char uuid[ZKLI_UUID_LENGTH + 1];
        memcpy(uuid, b.c.uuid, sizeof(uuid));
        CHECK_ACTIONS(news(&b, ZKLI_EV_EXPIRED), way == 1 ? ZKLI_TELL_REQUEUED : 0);
        CHECK(strcmp(b.c.uuid, uuid) != 0);
        answer_all(&b, ZKLI_RESULT_LOST);
        bench_reconnect(&b);
        CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
        reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
        CHECK_ACTIONS(listed(&b, BEHIND_HEAD), OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED);
    }
}

/* ---- Holding and leaving ---- */

static void a_holder_s_node_is_watched_from_the_next_heartbeat_on(void) {
    struct bench b;
    to_held(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0); /* on its way */
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_LOST), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), ZKLI_ASK_OWN);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_NO_NODE), ZKLI_DO_LOSE | ZKLI_DO_FORGET);
}

/* T20 */
static void a_hold_that_is_not_certain_is_lost_and_never_comes_back(void) {
    struct bench b;
    to_held(&b);
    bench_lease(&b, SHORT);
    CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), 0);
    bench_lease(&b, UNCERTAIN);
    CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), ZKLI_DO_LOSE | ZKLI_ASK_DELETE);
    bench_lease(&b, AMPLE);
    CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), ZKLI_DO_FORGET);
}

/* T15: the replies to what was in flight come all the same. */
static void replies_after_leaving_are_void(void) {
    for (int way = 0; way < 4; way++)
        for (unsigned result = 0; result < RESULTS; result++) {
            struct bench b;
            if (way == 0)
                to_placed(&b, BEHIND_HEAD);
            else if (way == 1)
                to_adopting(&b, BEHIND_HEAD);
            else if (way == 2)
                to_placed(&b, AT_THE_END);
            else
                to_held(&b);
            if (way == 3)
                news(&b, ZKLI_EV_HEARTBEAT);
            unsigned flight = b.c.in_flight;
            CHECK_ACTIONS(give_up(&b), ZKLI_DO_FAIL | ZKLI_ASK_DELETE);
            for (unsigned i = 0; i < ZKLI_ASK_COUNT; i++)
                if ((flight & BIT(i)) != 0)
                    CHECK_ACTIONS(reply(&b, reply_to(BIT(i)), (enum zkli_result)result), 0);
            fired(&b, ZKLI_EV_OWN_EVENT, true);
            CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), ZKLI_DO_FORGET);
        }
}

static unsigned abandon_unsent(struct bench *b, unsigned unsent) {
    return say(b, (struct zkli_contender_event){
                      .type = ZKLI_EV_ABANDON, .error = ZKL_TIMEOUT, .unsent = unsent});
}

static void a_create_that_was_not_sent_leaves_nothing_to_delete(void) {
    struct bench b;
    to_enqueuing(&b);
    CHECK_ACTIONS(abandon_unsent(&b, CREATE_AND_LIST), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
    CHECK_INT(b.c.error, ZKL_TIMEOUT);
    to_enqueuing(&b);
    CHECK_ACTIONS(abandon_unsent(&b, ZKLI_ASK_LIST), ZKLI_DO_FAIL);
    CHECK_STATE(&b, "leaving");
    CHECK_ACTIONS(reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK), ZKLI_ASK_DELETE);
    to_placed(&b, BEHIND_HEAD);
    CHECK_ACTIONS(abandon_unsent(&b, ZKLI_ASK_PREDECESSOR), ZKLI_DO_FAIL | ZKLI_ASK_DELETE);
}

/* T10 (b): who gives up while the reply is lost still looks for the node, and deletes it. */
static void who_leaves_unsure_searches_and_deletes(void) {
    struct bench b;
    to_unsure(&b);
    CHECK_ACTIONS(give_up(&b), ZKLI_DO_FAIL);
    for (int losses = 0; losses < 3; losses++) {
        bench_reconnect(&b);
        CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), BARRIER_AND_LIST);
        answer_all(&b, ZKLI_RESULT_LOST);
    }
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), BARRIER_AND_LIST);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_ASK_DELETE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_NO_NODE), ZKLI_DO_FORGET);
}

/* T10 (b), T15: one reply of the flight is in, and says that there may be a node. */
static void who_gives_up_between_a_doubtful_create_and_its_listing_searches(void) {
    static const enum zkli_result doubtful[] = {ZKLI_RESULT_LOST, ZKLI_RESULT_EXISTS,
                                                ZKLI_RESULT_NOMEM};
    for (size_t i = 0; i < COUNT(doubtful); i++) {
        struct bench b;
        to_enqueuing(&b);
        reply(&b, ZKLI_EV_CREATED, doubtful[i]);
        CHECK_ACTIONS(abandon_unsent(&b, ZKLI_ASK_LIST), ZKLI_DO_FAIL | BARRIER_AND_LIST);
        if (b.c.state == ZKLI_GONE)
            continue;
        reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
        CHECK_ACTIONS(listed(&b, FIRST), ZKLI_ASK_DELETE);
    }
}

/* What an earlier create came to is no reason to look for a node of this one. */
static void who_gives_up_before_another_create_was_sent_searches_for_nothing(void) {
    struct bench b;
    to_searching(&b);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, NOBODY), CREATE_AND_LIST);
    CHECK_ACTIONS(abandon_unsent(&b, CREATE_AND_LIST), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
}

/* While it is, a node that nobody knows may still turn up. */
static void a_contender_is_unsure_while_a_node_of_its_own_may_be_unknown(void) {
    struct bench b;
    to_enqueuing(&b);
    CHECK(!zkli_contender_is_unsure(&b.c)); /* its reply will tell */
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_LOST);
    CHECK(zkli_contender_is_unsure(&b.c));
    reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_LOST);
    CHECK(zkli_contender_is_unsure(&b.c));
    news(&b, ZKLI_EV_RETRY);
    CHECK(zkli_contender_is_unsure(&b.c));
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    listed(&b, FIRST);
    CHECK(!zkli_contender_is_unsure(&b.c)); /* found */
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_NO_NODE);
    listed(&b, NOBODY);
    CHECK_STATE(&b, "enqueuing");
    CHECK(!zkli_contender_is_unsure(&b.c)); /* of the new create nothing is lost */
    to_unsure(&b);
    give_up(&b);
    CHECK(zkli_contender_is_unsure(&b.c));
    to_held(&b);
    CHECK(!zkli_contender_is_unsure(&b.c));
    news(&b, ZKLI_EV_RELEASE);
    CHECK(!zkli_contender_is_unsure(&b.c));
    bench_init(&b, false);
    CHECK(!zkli_contender_is_unsure(&b.c));
}

/* ---- Names ---- */

static void each_state_has_a_name_of_its_own(void) {
    for (enum zkli_contender_state i = 0; i < ZKLI_CONTENDER_STATES; i++) {
        const char *name = zkli_contender_state_name(i);
        REQUIRE(name != NULL);
        CHECK(strlen(name) > 3);
        for (enum zkli_contender_state k = 0; k < i; k++)
            CHECK(strcmp(name, zkli_contender_state_name(k)) != 0);
    }
}

static void a_node_may_be_a_contender_s_by_name_or_while_unknown_by_uuid(void) {
    struct bench b;
    char node[ZKLI_CHILD_MAX + 1], twin[ZKLI_CHILD_MAX + 1];
    to_enqueuing(&b);
    bench_name(b.c.uuid, OWN_NUMBER, node);
    bench_name(b.c.uuid, OWN_NUMBER + 1, twin);
    CHECK(zkli_contender_may_own(&b.c, node) && zkli_contender_may_own(&b.c, twin));
    CHECK(!zkli_contender_may_own(&b.c, "_c_other-lock-0000000001"));
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK(zkli_contender_may_own(&b.c, node) && !zkli_contender_may_own(&b.c, twin));
    zkli_contender_init_orphan(&b.c, twin);
    CHECK(zkli_contender_may_own(&b.c, twin) && !zkli_contender_may_own(&b.c, node));
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"only the head's end grants, and only where nothing else can be lower",
         only_the_head_s_end_grants_and_only_where_nothing_else_can_be_lower},
        {"a head that is missing is a head that has gone",
         a_head_that_is_missing_is_a_head_that_has_gone},
        {"an end that a connection nobody told of brings is no grant",
         an_end_that_a_connection_nobody_told_of_brings_is_no_grant},
        {"a listing after a reconnect makes the head's end a grant again",
         a_listing_after_a_reconnect_makes_the_head_s_end_a_grant_again},
        {"a grant waits for an ample lease, and takes it at once",
         a_grant_waits_for_an_ample_lease_and_takes_it_at_once},
        {"who was first looks again as soon as it is connected",
         who_was_first_looks_again_as_soon_as_it_is_connected},
        {"who is first without an ample lease watches its node",
         who_is_first_without_an_ample_lease_watches_its_node},
        {"a node that went while the lease was awaited is not granted",
         a_node_that_went_while_the_lease_was_awaited_is_not_granted},
        {"a hundred reconnects cost a waiter nothing and grant nothing",
         a_hundred_reconnects_cost_a_waiter_nothing_and_grant_nothing},
        {"after a lost create nothing is created before a search has succeeded",
         after_a_lost_create_nothing_is_created_before_a_search_has_succeeded},
        {"no name is created twice", no_name_is_created_twice},
        {"each search looks anew", each_search_looks_anew},
        {"a search that finds two nodes takes the lower",
         a_search_that_finds_two_nodes_takes_the_lower},
        {"a node of another session is never adopted", a_node_of_another_session_is_never_adopted},
        {"the end of a node that was not adopted is not the end of ours",
         the_end_of_a_node_that_was_not_adopted_is_not_the_end_of_ours},
        {"a node that was adopted has its own token", a_node_that_was_adopted_has_its_own_token},
        {"a position is told once, and again when it changes",
         a_position_is_told_once_and_again_when_it_changes},
        {"what the server refused for the moment is asked again",
         what_the_server_refused_for_the_moment_is_asked_again},
        {"a new place has not been listed, whatever was before",
         a_new_place_has_not_been_listed_whatever_was_before},
        {"by czxid the end of the head is a reason to list, not to hold",
         by_czxid_the_end_of_the_head_is_a_reason_to_list_not_to_hold},
        {"a new session's place has a new name", a_new_session_s_place_has_a_new_name},
        {"a holder's node is watched from the next heartbeat on",
         a_holder_s_node_is_watched_from_the_next_heartbeat_on},
        {"a hold that is not certain is lost and never comes back",
         a_hold_that_is_not_certain_is_lost_and_never_comes_back},
        {"replies after leaving are void", replies_after_leaving_are_void},
        {"a create that was not sent leaves nothing to delete",
         a_create_that_was_not_sent_leaves_nothing_to_delete},
        {"who leaves unsure searches and deletes", who_leaves_unsure_searches_and_deletes},
        {"who gives up between a doubtful create and its listing searches",
         who_gives_up_between_a_doubtful_create_and_its_listing_searches},
        {"who gives up before another create was sent searches for nothing",
         who_gives_up_before_another_create_was_sent_searches_for_nothing},
        {"a contender is unsure while a node of its own may be unknown",
         a_contender_is_unsure_while_a_node_of_its_own_may_be_unknown},
        {"each state has a name of its own", each_state_has_a_name_of_its_own},
        {"a node may be a contender's by name or, while unknown, by uuid",
         a_node_may_be_a_contender_s_by_name_or_while_unknown_by_uuid},
    };
    return TEST_MAIN(argc, argv, "contender", cases);
}
