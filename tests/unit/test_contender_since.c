/* Who has waited for its hold writes into its node when that began, at the first heartbeat. */
#include "unit/contender_bench.h"

/* Held, by a wait of the length that counts; the watch on its node stands. */
static void to_held_late(struct bench *b) {
    to_waiting(b, BEHIND_HEAD);
    b->world.has_waited = true;
    CHECK_ACTIONS(fired(b, ZKLI_EV_PREDECESSOR_EVENT, true), ZKLI_DO_GRANT);
    CHECK_STATE(b, "held");
}

static void to_telling(struct bench *b) {
    to_held_late(b);
    CHECK_ACTIONS(news(b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_SINCE);
}

/* It was read, and is being set. */
static void to_setting(struct bench *b) {
    to_telling(b);
    CHECK_ACTIONS(news(b, ZKLI_EV_SINCE_SENT), ZKLI_ASK_OWN);
}

static void it_is_told_once(void) {
    struct bench b;
    to_setting(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);         /* on its way */
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), 0); /* by itself */
    CHECK_ACTIONS(reply(&b, ZKLI_EV_SINCE_TOLD, ZKLI_RESULT_OK), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    CHECK_INT(b.c.own_watch, ZKLI_WATCHED);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
    CHECK_STATE(&b, "held");
}

static void without_a_connection_nothing_is_asked(void) {
    struct bench b;
    to_held_late(&b);
    b.world.is_connected = false;
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
    to_telling(&b);
    b.world.is_connected = false;
    CHECK_ACTIONS(news(&b, ZKLI_EV_SINCE_SENT), 0);
}

/* Also when the read behind the set brings nothing. */
static void the_watch_is_set_again_in_any_case(void) {
    struct bench b;
    to_setting(&b);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_LOST), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_SINCE_TOLD, ZKLI_RESULT_OK), ZKLI_ASK_OWN);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    CHECK_INT(b.c.own_watch, ZKLI_WATCHED);
}

/* A server that does not tell who may not read the node of what becomes of it. */
static void where_the_read_is_refused_the_watch_does_not_count(void) {
    struct bench b;
    to_setting(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_SINCE_TOLD, ZKLI_RESULT_OK), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_DENIED), 0);
    CHECK_INT(b.c.own_watch, ZKLI_UNWATCHED);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN);
}

/* By the read that the write begins with. */
static void a_mark_that_was_there_before_ends_the_hold(void) {
    struct bench b;
    to_telling(&b);
    CHECK_ACTIONS(
        say(&b, (struct zkli_contender_event){.type = ZKLI_EV_SINCE_TOLD, .is_broken = true}),
        ZKLI_DO_LOSE | ZKLI_ASK_DELETE);
}

/* A hold that is blind waits until it sees. */
static void it_waits_for_the_watch(void) {
    struct bench b;
    to_held_late(&b);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), ZKLI_ASK_OWN);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_LOST), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_SINCE);
}

static void who_has_hardly_waited_tells_nothing(void) {
    struct bench b;
    to_waiting(&b, BEHIND_HEAD);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), ZKLI_DO_GRANT);
    b.world.has_waited = true; /* time goes on while it holds */
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
}

static void readers_and_writers_tell_nothing(void) {
    static const enum zkli_kind kinds[] = {ZKLI_KIND_READ, ZKLI_KIND_WRITE};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct bench b;
        bench_init_as(&b, kinds[i], false);
        b.world.has_waited = true;
        news(&b, ZKLI_EV_CONNECTED);
        reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
        CHECK_ACTIONS(listed(&b, ALONE), ZKLI_DO_GRANT);
        CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN);
        CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
        CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
    }
}

static void what_was_lost_is_told_again(void) {
    static const enum zkli_result results[] = {ZKLI_RESULT_LOST, ZKLI_RESULT_AGAIN,
                                               ZKLI_RESULT_NOMEM};
    for (size_t i = 0; i < COUNT(results); i++) {
        struct bench b;
        to_telling(&b);
        CHECK_ACTIONS(reply(&b, ZKLI_EV_SINCE_TOLD, results[i]), 0);
        CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_SINCE);
    }
}

static void what_is_refused_is_let_be(void) {
    static const enum zkli_result results[] = {ZKLI_RESULT_DENIED, ZKLI_RESULT_ERROR};
    for (size_t i = 0; i < COUNT(results); i++) {
        struct bench b;
        to_telling(&b);
        CHECK_ACTIONS(reply(&b, ZKLI_EV_SINCE_TOLD, results[i]), 0);
        CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
        CHECK_STATE(&b, "held");
    }
}

static void a_node_that_is_gone_is_a_hold_that_is_lost(void) {
    struct bench b;
    to_telling(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_SINCE_TOLD, ZKLI_RESULT_NO_NODE),
                  ZKLI_DO_LOSE | ZKLI_DO_FORGET);
}

static void a_mark_meanwhile_is_read(void) {
    struct bench b;
    to_telling(&b);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), 0); /* by zkl_break, before the set */
    CHECK_ACTIONS(reply(&b, ZKLI_EV_SINCE_TOLD, ZKLI_RESULT_OK), ZKLI_ASK_OWN);
    CHECK_ACTIONS(say(&b, (struct zkli_contender_event){.type = ZKLI_EV_OWN_READ,
                                                        .owner = SESSION,
                                                        .is_broken = true}),
                  ZKLI_DO_LOSE | ZKLI_ASK_DELETE);
}

static void a_release_does_not_wait_for_it(void) {
    struct bench b;
    to_telling(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RELEASE), ZKLI_ASK_DELETE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_SINCE_TOLD, ZKLI_RESULT_OK), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), ZKLI_DO_FORGET);
}

/* Each is a read, and then a set. The mark for those who wait goes first. */
static void a_semaphore_s_mark_goes_first(void) {
    struct bench b;
    to_read(&b);
    b.world.has_waited = true;
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_GRANT | ZKLI_ASK_TOUCH);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_LOST), ZKLI_DO_RETRY);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0); /* it is owed yet */
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), ZKLI_ASK_TOUCH);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TOUCHED, ZKLI_RESULT_OK), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_SINCE);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"it is told once", it_is_told_once},
        {"without a connection nothing is asked", without_a_connection_nothing_is_asked},
        {"the watch is set again in any case", the_watch_is_set_again_in_any_case},
        {"it waits for the watch", it_waits_for_the_watch},
        {"where the read is refused the watch does not count",
         where_the_read_is_refused_the_watch_does_not_count},
        {"a mark that was there before ends the hold", a_mark_that_was_there_before_ends_the_hold},
        {"who has hardly waited tells nothing", who_has_hardly_waited_tells_nothing},
        {"readers and writers tell nothing", readers_and_writers_tell_nothing},
        {"what was lost is told again", what_was_lost_is_told_again},
        {"what is refused is let be", what_is_refused_is_let_be},
        {"a node that is gone is a hold that is lost", a_node_that_is_gone_is_a_hold_that_is_lost},
        {"a mark meanwhile is read", a_mark_meanwhile_is_read},
        {"a release does not wait for it", a_release_does_not_wait_for_it},
        {"a semaphore's mark goes first", a_semaphore_s_mark_goes_first},
    };
    return TEST_MAIN(argc, argv, "contender_since", cases);
}
