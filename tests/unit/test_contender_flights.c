/*
 * A contender's flights of several requests: what follows is decided when all replies are in, here
 * for every combination of replies, and for watches that fire in between.
 */
#include "unit/contender_bench.h"

static bool is_listed_ok(unsigned list) {
    return list == ZKLI_RESULT_OK || list >= RESULTS;
}

static bool is_for_later(unsigned result) {
    return result == ZKLI_RESULT_LOST || result == ZKLI_RESULT_AGAIN;
}

struct expected {
    enum zkli_contender_state state;
    unsigned actions;
};

/* Our node is known, and this is the reply to the listing. */
static struct expected when_placed(unsigned list, bool own_is_watched) {
    unsigned arming = own_is_watched ? ZKLI_ASK_PREDECESSOR : OWN_AND_PREDECESSOR;
    if (is_for_later(list))
        return (struct expected){ZKLI_LISTING, ZKLI_DO_RETRY};
    if (!is_listed_ok(list) && list != ZKLI_RESULT_NO_NODE)
        return (struct expected){ZKLI_LEAVING, ZKLI_DO_FAIL | ZKLI_ASK_DELETE};
    if (list < RESULTS || list - RESULTS + FIRST == OTHERS)
        return (struct expected){ZKLI_ENQUEUING, CREATE_AND_LIST | ZKLI_TELL_REQUEUED};
    if (list - RESULTS + FIRST == FIRST || list - RESULTS + FIRST == TWICE)
        return (struct expected){ZKLI_HELD, ZKLI_DO_GRANT};
    if (list - RESULTS + FIRST == AT_THE_END)
        return (struct expected){ZKLI_ORDERING, ZKLI_ASK_ORDER};
    return (struct expected){ZKLI_ARMING, arming | ZKLI_TELL_QUEUED};
}

static void check_outcome(const struct bench *b, struct expected expected, unsigned first,
                          unsigned second) {
    bool is_right = b->c.state == expected.state && b->actions == expected.actions;
    if (!is_right)
        test_note("replies %u and %u: %s with 0x%x, not %s with 0x%x", first, second,
                  zkli_contender_state_name(b->c.state), b->actions,
                  zkli_contender_state_name(expected.state), expected.actions);
    CHECK(is_right);
}

/* ---- Flights ---- */

static struct expected when_enqueued(unsigned create, unsigned list) {
    switch ((enum zkli_result)create) {
    case ZKLI_RESULT_OK:
        return when_placed(list, false);
    case ZKLI_RESULT_NO_NODE:
        return (struct expected){ZKLI_ENQUEUING, PARENT_CREATE_AND_LIST};
    case ZKLI_RESULT_EXISTS:
        return (struct expected){ZKLI_SEARCHING, BARRIER_AND_LIST};
    case ZKLI_RESULT_LOST:
        return (struct expected){ZKLI_UNSURE, ZKLI_DO_RETRY};
    case ZKLI_RESULT_AGAIN:
        return (struct expected){ZKLI_IDLE, ZKLI_DO_RETRY};
    case ZKLI_RESULT_NOMEM: /* it was done; where, we could not note */
        return (struct expected){ZKLI_LEAVING, ZKLI_DO_FAIL | BARRIER_AND_LIST};
    case ZKLI_RESULT_DENIED:
    case ZKLI_RESULT_ERROR:
    case ZKLI_RESULT_BAD_VERSION:
    case ZKLI_RESULT_UNDONE:
        break;
    }
    return (struct expected){ZKLI_GONE, ZKLI_DO_FAIL | ZKLI_DO_FORGET};
}

static void create_and_list_are_judged_together(void) {
    for (unsigned create = 0; create < RESULTS; create++)
        for (unsigned list = 0; list < LIST_REPLIES; list++) {
            struct bench b;
            to_enqueuing(&b);
            CHECK_ACTIONS(reply(&b, ZKLI_EV_CREATED, (enum zkli_result)create), 0);
            CHECK_STATE(&b, "enqueuing");
            reply_list(&b, list);
            check_outcome(&b, when_enqueued(create, list), create, list);
        }
}

static struct expected when_housed(unsigned parent, unsigned create, unsigned list) {
    if (create != ZKLI_RESULT_NO_NODE)
        return when_enqueued(create, list);
    if (parent == ZKLI_RESULT_OK || parent == ZKLI_RESULT_EXISTS)
        return (struct expected){ZKLI_ENQUEUING, PARENT_CREATE_AND_LIST};
    if (parent == ZKLI_RESULT_NO_NODE)
        return (struct expected){ZKLI_PARENTING, ZKLI_ASK_PARENT};
    if (is_for_later(parent))
        return (struct expected){ZKLI_IDLE, ZKLI_DO_RETRY};
    return (struct expected){ZKLI_GONE, ZKLI_DO_FAIL | ZKLI_DO_FORGET};
}

/* If the node was made, the directory was there, whatever is said of that. */
static void a_directory_matters_only_if_there_is_no_node_in_it(void) {
    for (unsigned parent = 0; parent < RESULTS; parent++)
        for (unsigned create = 0; create < RESULTS; create++)
            for (unsigned list = 0; list < LIST_REPLIES; list++) {
                struct bench b;
                to_housing(&b);
                CHECK_ACTIONS(reply(&b, ZKLI_EV_PARENT, (enum zkli_result)parent), 0);
                CHECK_ACTIONS(reply(&b, ZKLI_EV_CREATED, (enum zkli_result)create), 0);
                reply_list(&b, list);
                check_outcome(&b, when_housed(parent, create, list), create, list);
            }
}

static void reply_search(struct bench *b, unsigned barrier, unsigned list, bool is_list_first) {
    if (is_list_first)
        CHECK_ACTIONS(reply_list(b, list), 0);
    unsigned actions = reply(b, ZKLI_EV_BARRIER, (enum zkli_result)barrier);
    if (is_list_first)
        return;
    CHECK_ACTIONS(actions, 0);
    reply_list(b, list);
}

static bool is_found(unsigned list) {
    return list >= RESULTS && list - RESULTS + FIRST != OTHERS;
}

/* T10, T11: only a listing behind a barrier can say that there is no node. */
static void a_search_needs_both_barrier_and_list(void) {
    for (unsigned barrier = 0; barrier < RESULTS; barrier++)
        for (unsigned list = 0; list < LIST_REPLIES; list++)
            for (int order = 0; order < 2; order++) {
                struct bench b;
                struct expected expected = {ZKLI_UNSURE, ZKLI_DO_RETRY};
                bool is_over = is_listed_ok(list) || list == ZKLI_RESULT_NO_NODE;
                if (list == ZKLI_RESULT_DENIED)
                    expected = (struct expected){ZKLI_LEAVING, ZKLI_DO_FAIL | BARRIER_AND_LIST};
                else if (barrier == ZKLI_RESULT_OK && is_found(list))
                    expected = (struct expected){ZKLI_ADOPTING, OWN_AND_LIST};
                else if (barrier == ZKLI_RESULT_OK && is_over)
                    expected = (struct expected){ZKLI_ENQUEUING, CREATE_AND_LIST};
                to_searching(&b);
                reply_search(&b, barrier, list, order == 1);
                check_outcome(&b, expected, barrier, list);
            }
}

static void to_leave_nothing_needs_both_as_well(void) {
    for (unsigned barrier = 0; barrier < RESULTS; barrier++)
        for (unsigned list = 0; list < LIST_REPLIES; list++)
            for (int order = 0; order < 2; order++) {
                struct bench b;
                struct expected expected = {ZKLI_LEAVING, ZKLI_DO_RETRY};
                bool is_over = is_listed_ok(list) || list == ZKLI_RESULT_NO_NODE;
                if (barrier == ZKLI_RESULT_OK && is_found(list))
                    expected = (struct expected){ZKLI_LEAVING, ZKLI_ASK_DELETE};
                else if (barrier == ZKLI_RESULT_OK && is_over)
                    expected = (struct expected){ZKLI_GONE, ZKLI_DO_FORGET};
                to_searching(&b);
                CHECK_ACTIONS(give_up(&b), ZKLI_DO_FAIL);
                reply_search(&b, barrier, list, order == 1);
                check_outcome(&b, expected, barrier, list);
            }
}

static struct expected when_adopted(unsigned own, unsigned list) {
    if (own == ZKLI_RESULT_OK)
        return when_placed(list, true);
    if (own == ZKLI_RESULT_NO_NODE)
        return (struct expected){ZKLI_ENQUEUING, CREATE_AND_LIST};
    if (is_for_later(own))
        return (struct expected){ZKLI_UNSURE, ZKLI_DO_RETRY};
    return (struct expected){ZKLI_LEAVING, ZKLI_DO_FAIL | ZKLI_ASK_DELETE};
}

static void a_node_that_was_found_is_read_and_listed(void) {
    for (unsigned own = 0; own < RESULTS; own++)
        for (unsigned list = 0; list < LIST_REPLIES; list++)
            for (int order = 0; order < 2; order++) {
                struct bench b;
                to_adopting(&b, BEHIND_HEAD);
                if (order == 0)
                    CHECK_ACTIONS(reply_list(&b, list), 0);
                unsigned actions = reply(&b, ZKLI_EV_OWN_READ, (enum zkli_result)own);
                if (order == 1) {
                    CHECK_ACTIONS(actions, 0);
                    reply_list(&b, list);
                }
                check_outcome(&b, when_adopted(own, list), own, list);
            }
}

static void a_listing_after_a_reconnect_needs_its_barrier(void) {
    for (unsigned barrier = 0; barrier < RESULTS; barrier++)
        for (unsigned list = 0; list < LIST_REPLIES; list++) {
            struct bench b;
            struct expected expected = {ZKLI_LISTING, ZKLI_DO_RETRY};
            if (barrier == ZKLI_RESULT_OK)
                expected = when_placed(list, true);
            if (expected.state == ZKLI_ARMING && list - RESULTS + FIRST == BEHIND_TWO)
                expected.actions &= ~(unsigned)ZKLI_TELL_QUEUED; /* it is told already */
            to_waiting(&b, BEHIND_TWO);
            bench_reconnect(&b);
            CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), BARRIER_AND_LIST);
            CHECK_ACTIONS(reply(&b, ZKLI_EV_BARRIER, (enum zkli_result)barrier), 0);
            reply_list(&b, list);
            check_outcome(&b, expected, barrier, list);
            if (barrier != ZKLI_RESULT_OK) /* the listing that came alone counts for nothing */
                CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), BARRIER_AND_LIST);
        }
}

/* What fires while the watches are being set: before the first reply, or between the two. */
enum firing {
    NONE,
    OWN_CHANGED,
    OWN_DELETED,
    PREDECESSOR_CHANGED,
    PREDECESSOR_DELETED,
    FIRINGS
};

static void fire(struct bench *b, enum firing firing) {
    if (firing == OWN_CHANGED || firing == OWN_DELETED)
        CHECK_ACTIONS(fired(b, ZKLI_EV_OWN_EVENT, firing == OWN_DELETED), 0);
    else if (firing != NONE)
        CHECK_ACTIONS(fired(b, ZKLI_EV_PREDECESSOR_EVENT, firing == PREDECESSOR_DELETED), 0);
}

static struct expected when_armed(unsigned own, unsigned predecessor, enum firing firing,
                                  bool is_between) {
    if (own == ZKLI_RESULT_NO_NODE || firing == OWN_DELETED)
        return (struct expected){ZKLI_ENQUEUING, CREATE_AND_LIST | ZKLI_TELL_REQUEUED};
    unsigned worst = own == ZKLI_RESULT_OK ? predecessor : own;
    bool has_moved = firing == PREDECESSOR_CHANGED || firing == PREDECESSOR_DELETED;
    if (is_for_later(worst))
        return (struct expected){ZKLI_LISTING, ZKLI_DO_RETRY};
    if (worst == ZKLI_RESULT_NO_NODE) /* its end, as if the watch had fired */
        return (struct expected){ZKLI_HELD, ZKLI_DO_GRANT};
    if (worst == ZKLI_RESULT_OK && has_moved)
        return (struct expected){ZKLI_LISTING, ZKLI_ASK_LIST};
    if (worst != ZKLI_RESULT_OK)
        return (struct expected){ZKLI_LEAVING, ZKLI_DO_FAIL | ZKLI_ASK_DELETE};
    if (firing == OWN_CHANGED && is_between) /* the watch that was set has fired */
        return (struct expected){ZKLI_ARMING, ZKLI_ASK_OWN};
    return (struct expected){ZKLI_WAITING, 0};
}

static void watches_that_fire_while_they_are_set_are_not_missed(void) {
    for (unsigned own = 0; own < RESULTS; own++)
        for (unsigned predecessor = 0; predecessor < RESULTS; predecessor++)
            for (unsigned firing = 0; firing < 2 * FIRINGS; firing++) {
                struct bench b;
                bool is_between = firing >= FIRINGS;
                to_placed(&b, BEHIND_HEAD);
                if (!is_between)
                    fire(&b, (enum firing)firing);
                CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, (enum zkli_result)own), 0);
                if (is_between)
                    fire(&b, (enum firing)(firing - FIRINGS));
                reply(&b, ZKLI_EV_PREDECESSOR_READ, (enum zkli_result)predecessor);
                check_outcome(
                    &b, when_armed(own, predecessor, (enum firing)(firing % FIRINGS), is_between),
                    own, predecessor);
            }
}

static void a_node_that_went_is_never_granted_whatever_the_listing_says(void) {
    for (unsigned list = 0; list < LIST_REPLIES; list++)
        for (int way = 0; way < 4; way++) {
            struct bench b;
            if (way == 0) {
                to_enqueuing(&b);
                reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
            } else if (way == 1) {
                to_adopting(&b, FIRST);
                reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
            } else if (way == 2) {
                to_placed(&b, AT_THE_END);
            } else {
                to_waiting(&b, BEHIND_TWO);
                bench_reconnect(&b);
                fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true);
                reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_LOST);
            }
            CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), 0);
            CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), 0); /* brings nothing back */
            CHECK_ACTIONS(reply_list(&b, list), CREATE_AND_LIST | ZKLI_TELL_REQUEUED);
            reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
            CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_GRANT); /* the new one may be */
        }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"create and list are judged together", create_and_list_are_judged_together},
        {"a directory matters only if there is no node in it",
         a_directory_matters_only_if_there_is_no_node_in_it},
        {"a search needs both barrier and list", a_search_needs_both_barrier_and_list},
        {"to leave nothing needs both as well", to_leave_nothing_needs_both_as_well},
        {"a node that was found is read and listed", a_node_that_was_found_is_read_and_listed},
        {"a listing after a reconnect needs its barrier",
         a_listing_after_a_reconnect_needs_its_barrier},
        {"watches that fire while they are set are not missed",
         watches_that_fire_while_they_are_set_are_not_missed},
        {"a node that went is never granted, whatever the listing says",
         a_node_that_went_is_never_granted_whatever_the_listing_says},
    };
    return TEST_MAIN(argc, argv, "contender_flights", cases);
}
