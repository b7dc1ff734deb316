/*
 * What a contender forgets with its node, with its session and with a search, and what would come
 * of it if it did not.
 */
#include "unit/contender_bench.h"

/* The place was told as lost when the node went. */
static void a_place_is_told_as_lost_once(void) {
    struct bench b;
    to_waiting(&b, BEHIND_HEAD);
    b.world.is_connected = false;
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), ZKLI_TELL_REQUEUED);
    CHECK_ACTIONS(news(&b, ZKLI_EV_EXPIRED), 0);
}

/* A verdict on the node before says nothing of the new one, whose listing came first. */
static void a_listing_without_the_new_node_is_no_verdict_on_it(void) {
    struct bench b;
    to_enqueuing(&b);
    bench_lease(&b, SHORT);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    listed(&b, FIRST);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    CHECK_STATE(&b, "admitted");
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), CREATE_AND_LIST | ZKLI_TELL_REQUEUED);
    bench_lease(&b, AMPLE);
    CHECK_ACTIONS(listed(&b, NOBODY), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK), CREATE_AND_LIST | ZKLI_TELL_REQUEUED);
}

/* That of the search came before the node was known. */
static void a_listing_for_a_search_is_none_of_the_place(void) {
    for (uint64_t connection = 1; connection <= 2; connection++) {
        struct bench b;
        to_unsure(&b);
        b.world.is_connected = true;
        b.world.connection = connection;
        CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), BARRIER_AND_LIST);
        reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
        CHECK_ACTIONS(listed(&b, FIRST), OWN_AND_LIST);
        reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
        CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_LOST), ZKLI_DO_RETRY);
        CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), BARRIER_AND_LIST);
        /* Nor is one whose barrier was lost. */
        reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_LOST);
        CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_RETRY);
        CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), BARRIER_AND_LIST);
    }
}

/* Not even that it was lost. */
static void a_barrier_before_the_session_says_nothing_of_a_listing_in_it(void) {
    struct bench b;
    to_searching(&b);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_ERROR);
    listed(&b, NOBODY);
    CHECK_STATE(&b, "unsure");
    b.world.is_connected = false;
    news(&b, ZKLI_EV_EXPIRED);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    listed(&b, BEHIND_TWO);
    answer_all(&b, ZKLI_RESULT_OK);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), ZKLI_ASK_LIST);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_GRANT);
}

static unsigned find(struct bench *b, const char *node) {
    const struct zkli_sibling sibling = {node, ZKLI_KIND_MUTEX, OWN_NUMBER, false};
    const struct zkli_listing listing = {.siblings = &sibling, .count = 1};
    reply(b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    return say(b, (struct zkli_contender_event){.type = ZKLI_EV_LISTED, .listing = &listing});
}

/* Names have the length of their numbers. */
static void a_node_that_is_found_has_all_of_its_name_and_no_more(void) {
    struct bench b;
    char longer[ZKLI_CHILD_MAX + 1], shorter[ZKLI_CHILD_MAX + 1];
    to_searching(&b);
    bench_name(b.c.uuid, OWN_NUMBER, shorter);
    bench_name(b.c.uuid, INT64_C(77777777777), longer);
    CHECK_ACTIONS(find(&b, longer), OWN_AND_LIST);
    CHECK_STRING(b.c.node, longer);
    answer_all(&b, ZKLI_RESULT_LOST);
    CHECK_STATE(&b, "unsure");
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), BARRIER_AND_LIST);
    CHECK_ACTIONS(find(&b, shorter), OWN_AND_LIST);
    CHECK_STRING(b.c.node, shorter);
}

static void create(struct bench *b, const char *node) {
    say(b,
        (struct zkli_contender_event){
            .type = ZKLI_EV_CREATED, .node = node, .czxid = 1000 + OWN_NUMBER, .owner = SESSION});
    CHECK_STRING(b->c.node, node);
}

static void another_node_has_all_of_its_name_and_no_more(void) {
    struct bench b;
    char name[ZKLI_CHILD_MAX + 1];
    to_enqueuing(&b);
    bench_name(b.c.uuid, INT64_C(77777777777), name);
    create(&b, name);
    CHECK_ACTIONS(listed(&b, OTHERS), CREATE_AND_LIST | ZKLI_TELL_REQUEUED);
    bench_name(b.c.uuid, OWN_NUMBER, name);
    create(&b, name);
}

/* Behind this one. */
static unsigned list_behind(struct bench *b, const char *other) {
    struct zkli_sibling siblings[2];
    REQUIRE(zkli_sibling_parse(&siblings[0], other));
    REQUIRE(zkli_sibling_parse(&siblings[1], b->c.node));
    const struct zkli_listing listing = {.siblings = siblings, .count = 2};
    return say(b, (struct zkli_contender_event){.type = ZKLI_EV_LISTED, .listing = &listing});
}

static void another_predecessor_has_all_of_its_name_and_no_more(void) {
    static const char writer[] = "_c_ffffffff-4e5f-4061-8273-8495a6b7c8d9-__WRIT__0000000003";
    static const char mutex[] = "_c_ffffffff-4e5f-4061-8273-8495a6b7c8d9-lock-0000000002";
    struct bench b;
    to_enqueuing(&b);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(list_behind(&b, writer), OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED);
    CHECK_STRING(b.predecessor, writer);
    answer_all(&b, ZKLI_RESULT_OK);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), ZKLI_ASK_LIST);
    CHECK_ACTIONS(list_behind(&b, mutex), ZKLI_ASK_PREDECESSOR);
    CHECK_STRING(b.predecessor, mutex);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a place is told as lost once", a_place_is_told_as_lost_once},
        {"a listing without the new node is no verdict on it",
         a_listing_without_the_new_node_is_no_verdict_on_it},
        {"a listing for a search is none of the place",
         a_listing_for_a_search_is_none_of_the_place},
        {"a barrier before the session says nothing of a listing in it",
         a_barrier_before_the_session_says_nothing_of_a_listing_in_it},
        {"a node that is found has all of its name and no more",
         a_node_that_is_found_has_all_of_its_name_and_no_more},
        {"another node has all of its name and no more",
         another_node_has_all_of_its_name_and_no_more},
        {"another predecessor has all of its name and no more",
         another_predecessor_has_all_of_its_name_and_no_more},
    };
    return TEST_MAIN(argc, argv, "contender_forget", cases);
}
