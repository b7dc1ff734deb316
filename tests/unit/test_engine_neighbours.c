/*
 * Members of one session in one directory: what one of them learns about another's node, and nodes
 * of the session that are being deleted.
 */
#include "unit/engine_bench.h"

/* The one that holds is not watched by itself yet: it was the first in the first listing. */
static struct owner *hold_unwatched(struct bench *b) {
    struct owner *holder = hold(b, "a");
    REQUIRE(holder->member->core.own_watch != ZKLI_WATCHED);
    return holder;
}

/* What a holder is told, noted in the moment in which another one is granted. */
struct order {
    struct owner *holder;
    unsigned before_grant;
};

static struct order Order;

static void on_waiter_notice(void *arg, struct zkli_member *member, enum zkli_notice notice) {
    if (notice == ZKLI_NOTICE_GRANTED)
        Order.before_grant = Order.holder->notices;
    on_notice(arg, member, notice);
}

static void delete_holders_node(struct bench *b, const struct owner *holder) {
    char path[ZKLI_PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s", path_of(holder));
    delete_node(b, path);
}

static void the_watch_of_the_next_one_ends_the_hold_before_it_is_granted(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *holder = hold_unwatched(b), *waiter = begin(b, "a");
    zkli_member_attach(waiter->member, on_waiter_notice, waiter);
    Order = (struct order){.holder = holder};
    serve_all(b);
    REQUIRE(holder->member->core.own_watch != ZKLI_WATCHED);
    delete_holders_node(b, holder);
    CHECK_INT(waiter->grants, 1);
    CHECK((holder->notices & TOLD(LOST)) != 0);
    CHECK((Order.before_grant & TOLD(LOST)) != 0);
    release(b, waiter);
    come_to_rest(b);
    bench_end(b);
}

static void a_listing_without_its_node_ends_a_hold(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *holder = hold_unwatched(b);
    delete_holders_node(b, holder); /* nobody watches it */
    CHECK((holder->notices & TOLD(LOST)) == 0);
    struct owner *next = begin(b, "a");
    zkli_member_attach(next->member, on_waiter_notice, next);
    Order = (struct order){.holder = holder};
    serve_all(b);
    CHECK_INT(next->grants, 1);
    CHECK((Order.before_grant & TOLD(LOST)) != 0);
    release(b, next);
    come_to_rest(b);
    bench_end(b);
}

static void a_read_that_does_not_find_its_node_ends_a_hold(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *holder = hold_unwatched(b), *waiter = begin(b, "a");
    serve_next(b); /* the create */
    serve_next(b); /* the listing; the watches are to be set */
    delete_holders_node(b, holder);
    CHECK((holder->notices & TOLD(LOST)) == 0);
    while ((holder->notices & TOLD(LOST)) == 0) {
        CHECK_INT(waiter->grants, 0);
        serve_next(b);
    }
    serve_all(b);
    CHECK_INT(waiter->grants, 1);
    release(b, waiter);
    come_to_rest(b);
    bench_end(b);
}

/* Near the counter's end, where the order is read node by node. */
static void a_read_of_the_order_that_does_not_find_its_node_ends_a_hold(void) {
    struct bench *b = &Bench;
    char path[ZKLI_PATH_MAX];
    bench_begin(b);
    b->server.number = 2147483000;
    struct owner *holder = hold(b, "a");
    (void)snprintf(path, sizeof(path), "%s", path_of(holder));
    struct owner *next = begin(b, "a");
    zkli_member_attach(next->member, on_waiter_notice, next);
    Order = (struct order){.holder = holder};
    while (b->request_count > 0 && b->requests[0].kind != GET)
        serve_next(b);
    REQUIRE(next->member->core.state == ZKLI_ORDERING);
    delete_node(b, path);
    CHECK((holder->notices & TOLD(LOST)) == 0);
    serve_all(b);
    CHECK_INT(next->grants, 1);
    CHECK((Order.before_grant & TOLD(LOST)) != 0);
    release(b, next);
    come_to_rest(b);
    bench_end(b);
}

/* The client library had no memory for the path of another event, so all watches count as fired. */
static void its_own_watch_may_go_with_the_news_of_its_end(void) {
    struct bench *b = &Bench;
    char path[ZKLI_PATH_MAX];
    bench_begin(b);
    struct owner *holder = hold(b, "a");
    (void)snprintf(path, sizeof(path), "%s", path_of(holder));
    advance(b, T_MS / 16 * MS);
    serve_all(b);
    REQUIRE(holder->member->core.own_watch == ZKLI_WATCHED);
    tell_watch(b, NULL, ZKLI_WATCH_CHANGED);
    delete_node(b, path);
    CHECK((holder->notices & TOLD(LOST)) != 0);
    come_to_rest(b);
    bench_end(b);
}

static void a_try_behind_nodes_of_ours_that_are_being_deleted_is_granted(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *given_up = begin(b, "a"), *next = NULL;
    abandon(b, given_up); /* its create is under way */
    REQUIRE(enter_queue(b, "a", true, &next) == ZKL_OK);
    serve_all(b);
    CHECK_INT(next->error, ZKL_OK);
    CHECK_INT(next->grants, 1);
    release(b, next);
    come_to_rest(b);
    bench_end(b);
}

/* Its node is behind one whose deletion the servers put off. */
static void a_try_waits_for_the_end_of_such_a_node_and_for_no_other(void) {
    struct bench *b = &Bench;
    for (int has_other = 0; has_other < 2; has_other++) {
        bench_begin(b);
        struct owner *holder = hold(b, "a"), *other = NULL, *next = NULL;
        release(b, holder);
        struct request deletion = serve_until(b, REMOVE);
        REQUIRE(!has_other || enter_queue(b, "a", false, &other) == ZKL_OK);
        serve_all(b);
        REQUIRE(enter_queue(b, "a", true, &next) == ZKL_OK);
        serve_all(b);
        CHECK_INT(next->error, has_other ? ZKL_BUSY : ZKL_OK);
        CHECK_INT(next->grants, 0);
        delete_node(b, deletion.path);
        answer(b, &deletion, ZKLI_RESULT_OK);
        serve_all(b);
        CHECK_INT(next->grants, has_other ? 0 : 1);
        release(b, has_other ? other : next);
        come_to_rest(b);
        bench_end(b);
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
    };
    return TEST_MAIN(argc, argv, "engine_neighbours", cases);
}
