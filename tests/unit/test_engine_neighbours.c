/*
 * Members of one session in one directory: what one of them learns about another's node, and nodes
 * of the session that are being deleted.
 */
#include "unit/engine_bench.h"

static struct owner *Holder;
static unsigned ToldBeforeGrant; /* the holder, when the other one was granted */

static void on_waiter_notice(void *arg, struct zkli_member *member, enum zkli_notice notice) {
    if (notice == ZKLI_NOTICE_GRANTED)
        ToldBeforeGrant = Holder->notices;
    on_notice(arg, member, notice);
}

/* It was first in the first listing, and does not watch its node yet. */
static void begin_with_holder(void) {
    bench_begin();
    Holder = hold("a");
    REQUIRE(Holder->member->core.own_watch != ZKLI_WATCHED);
}

static struct owner *begin_behind_holder(void) {
    struct owner *waiter = begin("a");
    zkli_member_attach(waiter->member, on_waiter_notice, waiter);
    return waiter;
}

static void delete_holders_node(void) {
    delete_node(path_of(Holder));
}

static void end_with(struct owner *owner) {
    release(owner);
    come_to_rest();
    bench_end();
}

/* Granted, and the holder had heard before that its hold is lost. */
static void check_granted_after_loss(struct owner *waiter) {
    CHECK_INT(waiter->grants, 1);
    CHECK((ToldBeforeGrant & TOLD(LOST)) != 0);
    end_with(waiter);
}

static void the_watch_of_the_next_one_ends_the_hold_before_it_is_granted(void) {
    begin_with_holder();
    struct owner *waiter = begin_behind_holder();
    serve_all();
    REQUIRE(Holder->member->core.own_watch != ZKLI_WATCHED);
    delete_holders_node();
    check_granted_after_loss(waiter);
}

static void a_listing_without_its_node_ends_a_hold(void) {
    begin_with_holder();
    delete_holders_node(); /* no member watches it */
    CHECK((Holder->notices & TOLD(LOST)) == 0);
    struct owner *next = begin_behind_holder();
    serve_all();
    check_granted_after_loss(next);
}

static void a_read_that_does_not_find_its_node_ends_a_hold(void) {
    begin_with_holder();
    struct owner *waiter = begin("a");
    serve_next(); /* the create */
    serve_next(); /* the listing; the watches are to be set */
    delete_holders_node();
    CHECK((Holder->notices & TOLD(LOST)) == 0);
    while ((Holder->notices & TOLD(LOST)) == 0) {
        CHECK_INT(waiter->grants, 0);
        serve_next();
    }
    serve_all();
    CHECK_INT(waiter->grants, 1);
    end_with(waiter);
}

/* Near the counter's end, where the order is read node by node. */
static void a_read_of_the_order_that_does_not_find_its_node_ends_a_hold(void) {
    bench_begin();
    Bench.server.number = 2147483000;
    Holder = hold("a");
    struct owner *next = begin_behind_holder();
    while (Bench.request_count > 0 && Bench.requests[0].kind != GET)
        serve_next();
    REQUIRE(next->member->core.state == ZKLI_ORDERING);
    delete_holders_node();
    CHECK((Holder->notices & TOLD(LOST)) == 0);
    serve_all();
    check_granted_after_loss(next);
}

/* The client library had no memory for the path of another event, so all watches count as fired. */
static void its_own_watch_may_go_with_the_news_of_its_end(void) {
    begin_with_holder();
    advance(T_MS / 16 * MS);
    serve_all();
    REQUIRE(Holder->member->core.own_watch == ZKLI_WATCHED);
    tell_watch(NULL, ZKLI_WATCH_CHANGED);
    delete_holders_node();
    CHECK((Holder->notices & TOLD(LOST)) != 0);
    come_to_rest();
    bench_end();
}

static void a_try_behind_nodes_of_ours_that_are_being_deleted_is_granted(void) {
    bench_begin();
    struct owner *given_up = begin("a"), *next = NULL;
    abandon(given_up); /* its create is under way */
    REQUIRE(enter_queue("a", true, &next) == ZKL_OK);
    serve_all();
    CHECK_INT(next->error, ZKL_OK);
    CHECK_INT(next->grants, 1);
    end_with(next);
}

/* Its node is behind one whose deletion the servers put off. */
static void a_try_waits_for_the_end_of_such_a_node_and_for_no_other(void) {
    for (int has_other = 0; has_other < 2; has_other++) {
        bench_begin();
        struct owner *holder = hold("a"), *other = NULL, *next = NULL;
        release(holder);
        struct request deletion = serve_until(REMOVE);
        REQUIRE(!has_other || enter_queue("a", false, &other) == ZKL_OK);
        serve_all();
        REQUIRE(enter_queue("a", true, &next) == ZKL_OK);
        serve_all();
        CHECK_INT(next->error, has_other ? ZKL_BUSY : ZKL_OK);
        CHECK_INT(next->grants, 0);
        serve_request(&deletion);
        serve_all();
        CHECK_INT(next->grants, has_other ? 0 : 1);
        end_with(has_other ? other : next);
    }
}

/* ---- What one has given up, and what it wants next ---- */

/* The deletion is not sent, or lost, or its answer is. Who looks for deadlocks relies on this: that
 * nobody holds what it has given up, while it waits for something else. */
static void what_is_given_up_goes_before_what_is_wanted_next(void) {
    for (int kind = 0; kind < 3; kind++) {
        char path[ZKLI_PATH_MAX];
        bench_begin();
        struct owner *first = hold("a");
        (void)snprintf(path, sizeof(path), "%s", path_of(first));
        if (kind == 0)
            cut(0);
        release(first);
        struct owner *next = begin("b");
        if (kind > 0)
            cut(kind == 2);
        bench_connect();
        CHECK_INT(tiny_find(&Bench.server, path) == NULL, kind == 2);
        const struct request create = serve_until(CREATE);
        CHECK(tiny_find(&Bench.server, path) == NULL);
        serve_request(&create);
        serve_all();
        CHECK_INT(next->grants, 1);
        end_with(next);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the watch of the next one ends the hold before that is granted",
         the_watch_of_the_next_one_ends_the_hold_before_it_is_granted},
        {"a listing without its node ends a hold", a_listing_without_its_node_ends_a_hold},
        {"a read that does not find its node ends a hold",
         a_read_that_does_not_find_its_node_ends_a_hold},
        {"a read of the order that does not find its node ends a hold",
         a_read_of_the_order_that_does_not_find_its_node_ends_a_hold},
        {"its own watch may go with the news of its end",
         its_own_watch_may_go_with_the_news_of_its_end},
        {"a try behind nodes of ours that are being deleted is granted",
         a_try_behind_nodes_of_ours_that_are_being_deleted_is_granted},
        {"a try waits for the end of such a node, and for no other",
         a_try_waits_for_the_end_of_such_a_node_and_for_no_other},
        {"what is given up goes before what is wanted next",
         what_is_given_up_goes_before_what_is_wanted_next},
    };
    return TEST_MAIN(argc, argv, "engine_neighbours", cases);
}
