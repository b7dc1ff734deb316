/* A node that may be kept while nobody holds by it: for how long, and how others make it go. */
#include "unit/contender_bench.h"

#define OTHER "ffffffff-4e5f-4061-8273-8495a6b7c8d9"
#define KEPT "ffffffff-4e5f-8061-8273-8495a6b7c8d9"

static void begin(struct bench *b) {
    bench_init(b, false);
    zkli_contender_keep(&b->c);
    CHECK(zkli_uuid_is_same(b->c.uuid, b->c.uuid) && b->c.uuid[ZKLI_TAG_LENGTH + 1] == '8');
}

/* Nobody but ours. */
static unsigned listed_alone(struct bench *b) {
    struct zkli_sibling own;
    REQUIRE(zkli_sibling_parse(&own, b->c.node));
    struct zkli_listing listing = {
        .siblings = &own, .count = 1, .czxid = b->directory.czxid, .version = b->directory.version};
    return say(b, (struct zkli_contender_event){.type = ZKLI_EV_LISTED, .listing = &listing});
}

static void to_kept(struct bench *b) {
    begin(b);
    CHECK(!zkli_contender_watches_children(&b->c));
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
    CHECK(zkli_contender_watches_children(&b->c) && !zkli_contender_may_idle(&b->c));
    char node[ZKLI_CHILD_MAX + 1];
    bench_name(b->c.uuid, OWN_NUMBER, node);
    say(b,
        (struct zkli_contender_event){
            .type = ZKLI_EV_CREATED, .node = node, .czxid = 1000 + OWN_NUMBER, .owner = SESSION});
    CHECK_ACTIONS(listed_alone(b), ZKLI_DO_GRANT);
    CHECK(!zkli_contender_watches_children(&b->c));
    CHECK(zkli_node_name_may_be_kept(b->c.node));
}

static void it_may_idle_until_somebody_comes(void) {
    struct bench b;
    to_kept(&b);
    CHECK(zkli_contender_may_idle(&b.c));
    CHECK_ACTIONS(news(&b, ZKLI_EV_DIRECTORY_EVENT), 0);
    CHECK(zkli_contender_may_idle(&b.c));
    CHECK_ACTIONS(news(&b, ZKLI_EV_CHILDREN_EVENT), ZKLI_TELL_WANTED);
    CHECK(!zkli_contender_may_idle(&b.c));
    CHECK_ACTIONS(news(&b, ZKLI_EV_CHILDREN_EVENT), 0); /* told once */
    CHECK_STATE(&b, "held");
}

static void it_may_not_idle_before_others(void) {
    struct bench b;
    begin(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    listed(&b, FIRST);
    CHECK_STATE(&b, "held");
    CHECK(!zkli_contender_may_idle(&b.c));
    to_held(&b); /* one that is not kept */
    CHECK(!zkli_contender_may_idle(&b.c));
    CHECK_ACTIONS(news(&b, ZKLI_EV_CHILDREN_EVENT), 0);
}

/* Of two permits, one may be taken away while it is idle. */
static void a_permit_may_idle_if_it_comes_first(void) {
    for (int is_first = 0; is_first <= 1; is_first++) {
        struct bench b;
        bench_semaphore(&b, 0, false);
        zkli_contender_keep(&b.c);
        bench_record(&b, 2, 2);
        b.permits = b.directory;
        CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
        reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
        CHECK_ACTIONS(is_first != 0 ? listed_alone(&b) : listed(&b, BEHIND_HEAD), ZKLI_DO_GRANT);
        CHECK_INT(zkli_contender_may_idle(&b.c), is_first);
    }
}

static void idle_its_node_is_watched(void) {
    struct bench b;
    to_kept(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_IDLE), ZKLI_ASK_OWN);
    CHECK_ACTIONS(news(&b, ZKLI_EV_IDLE), 0); /* it is under way */
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_IDLE), 0);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), ZKLI_ASK_OWN);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0); /* of something else */
    CHECK(zkli_contender_may_idle(&b.c));
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), ZKLI_ASK_OWN);
    CHECK_ACTIONS(say(&b, (struct zkli_contender_event){.type = ZKLI_EV_OWN_READ,
                                                        .owner = SESSION,
                                                        .is_asked = true}),
                  ZKLI_TELL_WANTED);
    CHECK(!zkli_contender_may_idle(&b.c));
    b.world.is_connected = false;
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_IDLE), 0);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), ZKLI_DO_LOSE | ZKLI_DO_FORGET);
    to_waiting(&b, BEHIND_HEAD);
    CHECK_ACTIONS(news(&b, ZKLI_EV_IDLE), 0);
}

static void a_node_that_is_not_kept_is_read_at_the_heartbeat_only(void) {
    struct bench b;
    to_held(&b);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN);
    CHECK_ACTIONS(say(&b, (struct zkli_contender_event){.type = ZKLI_EV_OWN_READ,
                                                        .owner = SESSION,
                                                        .is_asked = true}),
                  0);
}

/* Whatever has come meanwhile. */
static void a_new_connection_makes_it_wanted(void) {
    struct bench b;
    to_kept(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), 0);
    CHECK(zkli_contender_may_idle(&b.c));
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), ZKLI_TELL_WANTED);
    CHECK(!zkli_contender_may_idle(&b.c));
}

/* Its listing was another connection's when the lease became ample. */
static void a_watch_of_an_earlier_connection_does_not_count(void) {
    struct bench b;
    begin(&b);
    bench_lease(&b, SHORT);
    news(&b, ZKLI_EV_CONNECTED);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed_alone(&b), ZKLI_ASK_OWN);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), BARRIER_AND_LIST);
    bench_lease(&b, AMPLE);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed_alone(&b), ZKLI_DO_GRANT);
    CHECK(!zkli_contender_may_idle(&b.c));
}

static void another_place_is_marked_and_not_wanted_yet(void) {
    struct bench b;
    to_kept(&b);
    news(&b, ZKLI_EV_CHILDREN_EVENT);
    CHECK(b.c.is_wanted);
    begin(&b);
    news(&b, ZKLI_EV_CONNECTED);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    listed(&b, OTHERS); /* an operator has deleted it */
    CHECK_STATE(&b, "enqueuing");
    CHECK(b.c.uuid[ZKLI_TAG_LENGTH + 1] == '8');
    news(&b, ZKLI_EV_EXPIRED);
    CHECK_STATE(&b, "idle");
    CHECK(b.c.uuid[ZKLI_TAG_LENGTH + 1] == '8');
    CHECK(!b.c.is_wanted);
}

/* ---- Tries ---- */

static unsigned found_by_a_try(struct bench *b, const char *first, const char *second) {
    char names[2][ZKLI_CHILD_MAX + 1];
    struct zkli_sibling siblings[2];
    bench_name(first, 3, names[0]);
    bench_name(second, 4, names[1]);
    for (size_t i = 0; i < 2; i++)
        REQUIRE(zkli_sibling_parse(&siblings[i], names[i]));
    struct zkli_listing listing = {.siblings = siblings, .count = 2};
    bench_init(b, true);
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), ZKLI_ASK_LIST);
    return say(b, (struct zkli_contender_event){.type = ZKLI_EV_LISTED, .listing = &listing});
}

static void a_try_asks_the_first_if_that_may_be_idle(void) {
    struct bench b;
    for (enum zkli_result result = 0; result < RESULTS; result++) {
        CHECK_ACTIONS(found_by_a_try(&b, KEPT, OTHER), ZKLI_ASK_LET_GO);
        CHECK_STATE(&b, "asking");
        CHECK(strncmp(b.c.found, "_c_" KEPT, 3 + ZKLI_UUID_LENGTH) == 0);
        CHECK_ACTIONS(reply(&b, ZKLI_EV_ASKED_TO_LET_GO, result), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
        CHECK_INT(b.c.error, ZKL_BUSY);
    }
    CHECK_ACTIONS(found_by_a_try(&b, OTHER, KEPT), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
    CHECK_INT(b.c.error, ZKL_BUSY);
}

static void a_try_that_asks_may_end(void) {
    struct bench b;
    found_by_a_try(&b, KEPT, OTHER);
    CHECK_ACTIONS(give_up(&b), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
    CHECK_INT(b.c.error, ZKL_CANCELED);
    found_by_a_try(&b, KEPT, OTHER);
    CHECK_ACTIONS(news(&b, ZKLI_EV_EXPIRED), 0);
    CHECK_STATE(&b, "idle");
    found_by_a_try(&b, KEPT, OTHER);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), 0);
    CHECK_STATE(&b, "asking");
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"it may idle until somebody comes", it_may_idle_until_somebody_comes},
        {"it may not idle before others", it_may_not_idle_before_others},
        {"a permit may idle if it comes first", a_permit_may_idle_if_it_comes_first},
        {"idle, its node is watched", idle_its_node_is_watched},
        {"a node that is not kept is read at the heartbeat only",
         a_node_that_is_not_kept_is_read_at_the_heartbeat_only},
        {"a new connection makes it wanted", a_new_connection_makes_it_wanted},
        {"a watch of an earlier connection does not count",
         a_watch_of_an_earlier_connection_does_not_count},
        {"another place is marked, and not wanted yet", another_place_is_marked_and_not_wanted_yet},
        {"a try asks the first if that may be idle", a_try_asks_the_first_if_that_may_be_idle},
        {"a try that asks may end", a_try_that_asks_may_end},
    };
    return TEST_MAIN(argc, argv, "contender_linger", cases);
}
