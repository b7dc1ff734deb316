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
    CHECK_ACTIONS(news(&b, ZKLI_EV_CHILDREN_EVENT), 0);
    CHECK(!zkli_contender_may_idle(&b.c));
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

/* The number was not known for the listing that set the watch. */
static void a_permit_may_idle_though_it_was_listed_twice(void) {
    struct bench b;
    bench_semaphore(&b, 1, false);
    zkli_contender_keep(&b.c);
    b.permits = b.directory;
    bench_record(&b, 1, 1);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed_alone(&b), DIRECTORY_AND_LIST);
    read_directory(&b);
    CHECK_ACTIONS(listed_alone(&b), ZKLI_DO_GRANT);
    CHECK(zkli_contender_may_idle(&b.c));
}

/* Who waits gives up the watch on the children, which would wake it for each that comes. */
static void who_had_to_wait_may_not_idle(void) {
    struct bench b;
    begin(&b);
    news(&b, ZKLI_EV_CONNECTED);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    listed(&b, BEHIND_HEAD);
    answer_all(&b, ZKLI_RESULT_OK);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), ZKLI_DO_GRANT);
    CHECK(!zkli_contender_may_idle(&b.c));
}

/* Those that share with it do not wait for it. */
static void a_reader_may_idle_behind_another(void) {
    struct bench b;
    begin(&b);
    b.c.kind = b.kind = b.others = ZKLI_KIND_READ;
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_DO_GRANT);
    CHECK(zkli_contender_may_idle(&b.c));
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

static void a_node_that_is_not_kept_is_not_asked_for(void) {
    struct bench b;
    to_held(&b);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), ZKLI_ASK_OWN);
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
    CHECK(!zkli_contender_may_idle(&b.c)); /* nobody holds by it yet */
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), BARRIER_AND_LIST);
    bench_lease(&b, AMPLE);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed_alone(&b), ZKLI_DO_GRANT);
    CHECK(!zkli_contender_may_idle(&b.c));
}

static void read_own(struct bench *b, bool is_asked) {
    CHECK_ACTIONS(fired(b, ZKLI_EV_OWN_EVENT, false), ZKLI_ASK_OWN);
    CHECK_ACTIONS(say(b, (struct zkli_contender_event){.type = ZKLI_EV_OWN_READ,
                                                       .owner = SESSION,
                                                       .is_asked = is_asked}),
                  0);
}

/* It comes first, and its lease is too short for a grant. Nothing tells it of the mark again. */
static void asked_before_the_grant_it_goes_with_its_hold(void) {
    for (int is_asked = 0; is_asked <= 1; is_asked++) {
        struct bench b;
        begin(&b);
        bench_lease(&b, SHORT);
        news(&b, ZKLI_EV_CONNECTED);
        reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
        CHECK_ACTIONS(listed_alone(&b), ZKLI_ASK_OWN);
        CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
        read_own(&b, is_asked != 0);
        bench_lease(&b, AMPLE);
        CHECK_ACTIONS(news(&b, ZKLI_EV_LEASE), ZKLI_DO_GRANT);
        CHECK_INT(zkli_contender_may_idle(&b.c), is_asked == 0);
    }
}

/* Nobody has asked for the node that it makes then. */
static void another_place_was_not_asked_for(void) {
    struct bench b;
    begin(&b);
    bench_lease(&b, SHORT);
    news(&b, ZKLI_EV_CONNECTED);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    listed_alone(&b);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    read_own(&b, true);
    bench_lease(&b, AMPLE);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), ZKLI_TELL_REQUEUED | CREATE_AND_LIST);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed_alone(&b), ZKLI_DO_GRANT);
    CHECK(zkli_contender_may_idle(&b.c));
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

static void another_place_of_one_that_is_not_kept_is_not_marked(void) {
    struct bench b;
    to_waiting(&b, BEHIND_HEAD);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), ZKLI_TELL_REQUEUED | CREATE_AND_LIST);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK(!zkli_node_name_may_be_kept(b.c.node));
}

/* ---- Tries ---- */

static unsigned listed_two(struct bench *b, const char *first, const char *second) {
    char names[2][ZKLI_CHILD_MAX + 1];
    struct zkli_sibling siblings[2];
    bench_name(first, 3, names[0]);
    bench_name(second, 4, names[1]);
    for (size_t i = 0; i < 2; i++)
        REQUIRE(zkli_sibling_parse(&siblings[i], names[i]));
    struct zkli_listing listing = {.siblings = siblings, .count = 2};
    return say(b, (struct zkli_contender_event){.type = ZKLI_EV_LISTED, .listing = &listing});
}

static unsigned found_by_a_try(struct bench *b, const char *first, const char *second) {
    bench_init(b, true);
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), ZKLI_ASK_LIST);
    return listed_two(b, first, second);
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

/* What an earlier look has found, in another session, has gone since. */
static void a_try_asks_the_one_that_it_has_just_seen(void) {
    enum {
        NONE,
        NOT_KEPT,
        ANOTHER_KEPT
    };
    for (int seen = NONE; seen <= ANOTHER_KEPT; seen++) {
        struct bench b;
        const char *reader = "_c_" KEPT "-__READ__0000000001"; /* a longer name */
        struct zkli_sibling sibling;
        REQUIRE(zkli_sibling_parse(&sibling, reader));
        struct zkli_listing listing = {.siblings = &sibling, .count = 1};
        bench_init(&b, true);
        news(&b, ZKLI_EV_CONNECTED);
        CHECK_ACTIONS(
            say(&b, (struct zkli_contender_event){.type = ZKLI_EV_LISTED, .listing = &listing}),
            ZKLI_ASK_LET_GO);
        CHECK_STRING(b.c.found, reader);
        news(&b, ZKLI_EV_EXPIRED);
        bench_reconnect(&b);
        CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), ZKLI_ASK_LIST);
        char another[ZKLI_CHILD_MAX + 1];
        bench_name(KEPT, 3, another);
        if (seen == NONE) {
            CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE), CREATE_AND_LIST);
        } else if (seen == NOT_KEPT) {
            CHECK_ACTIONS(listed_two(&b, OTHER, KEPT), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
        } else {
            CHECK_ACTIONS(listed_two(&b, KEPT, OTHER), ZKLI_ASK_LET_GO);
            CHECK_STRING(b.c.found, another);
        }
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"it may idle until somebody comes", it_may_idle_until_somebody_comes},
        {"it may not idle before others", it_may_not_idle_before_others},
        {"a permit may idle if it comes first", a_permit_may_idle_if_it_comes_first},
        {"a permit may idle though it was listed twice",
         a_permit_may_idle_though_it_was_listed_twice},
        {"who had to wait may not idle", who_had_to_wait_may_not_idle},
        {"a reader may idle behind another", a_reader_may_idle_behind_another},
        {"idle, its node is watched", idle_its_node_is_watched},
        {"a node that is not kept is not asked for", a_node_that_is_not_kept_is_not_asked_for},
        {"a new connection makes it wanted", a_new_connection_makes_it_wanted},
        {"a watch of an earlier connection does not count",
         a_watch_of_an_earlier_connection_does_not_count},
        {"asked before the grant, it goes with its hold",
         asked_before_the_grant_it_goes_with_its_hold},
        {"another place was not asked for", another_place_was_not_asked_for},
        {"another place is marked, and not wanted yet", another_place_is_marked_and_not_wanted_yet},
        {"another place of one that is not kept is not marked",
         another_place_of_one_that_is_not_kept_is_not_marked},
        {"a try asks the first if that may be idle", a_try_asks_the_first_if_that_may_be_idle},
        {"a try that asks may end", a_try_that_asks_may_end},
        {"a try asks the one that it has just seen", a_try_asks_the_one_that_it_has_just_seen},
    };
    return TEST_MAIN(argc, argv, "contender_linger", cases);
}
