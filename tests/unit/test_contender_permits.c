/*
 * A semaphore's contender: courses of events. The marks are in test_contender_marks.c.
 *
 * One permit, if nothing is said: who is FIRST is admitted, who is BEHIND_HEAD stands in front, and
 * who is BEHIND_TWO waits for its predecessor's mark.
 */
#include "unit/contender_bench.h"

#define LOOK (DIRECTORY_AND_LIST | ZKLI_ASK_OWN)
#define FAIL_AND_DELETE ((unsigned)ZKLI_DO_FAIL | ZKLI_ASK_DELETE)

static void to_fronting(struct bench *b) {
    to_read(b);
    CHECK_ACTIONS(listed(b, BEHIND_HEAD), LOOK | ZKLI_TELL_QUEUED);
    CHECK_STATE(b, "fronting");
}

static void to_front(struct bench *b) {
    to_fronting(b);
    reply(b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    read_directory(b);
    CHECK_ACTIONS(listed(b, BEHIND_HEAD), 0);
    CHECK_STATE(b, "front");
}

static void to_behind(struct bench *b) {
    to_read(b);
    listed(b, BEHIND_TWO);
    answer_all(b, ZKLI_RESULT_OK);
    CHECK_STATE(b, "waiting");
}

/* ---- The number ---- */

static void the_directory_is_read_if_nobody_has_read_it(void) {
    struct bench b;
    to_read(&b);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_GRANT | ZKLI_ASK_TOUCH);
}

static void what_was_read_for_others_saves_the_read(void) {
    struct bench b;
    bench_semaphore(&b, 1, false);
    b.permits = b.directory;
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_GRANT | ZKLI_ASK_TOUCH);
}

/* The data of this very listing count, and no other. */
static void a_listing_of_another_version_is_never_a_grant(void) {
    for (int is_recreated = 0; is_recreated < 2; is_recreated++) {
        struct bench b;
        bench_semaphore(&b, 0, false);
        b.permits = b.directory;
        news(&b, ZKLI_EV_CONNECTED);
        reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
        if (is_recreated == 1)
            b.directory.czxid++;
        else
            b.directory.version++;
        CHECK_ACTIONS(listed(&b, FIRST), DIRECTORY_AND_LIST);
        CHECK_STATE(&b, "listing");
        read_directory(&b);
        bench_record(&b, 1, 1); /* between the read and the listing */
        CHECK_ACTIONS(listed(&b, FIRST), DIRECTORY_AND_LIST);
        read_directory(&b);
        CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_GRANT | ZKLI_ASK_TOUCH);
    }
}

/* It was made between the read and the listing. */
static void a_directory_that_was_not_there_is_read_again(void) {
    struct bench b;
    to_created(&b, 0);
    reply(&b, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_NO_NODE);
    CHECK_ACTIONS(listed(&b, FIRST), DIRECTORY_AND_LIST);
}

/* Another contender may have read it since. */
static void data_that_are_younger_than_the_listing_do_not_count(void) {
    struct bench b;
    to_read(&b);
    b.permits.version++;
    b.permits.count = 3;
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), DIRECTORY_AND_LIST);
}

static void to_recording(struct bench *b) {
    to_created(b, 2);
    b->directory.state = ZKLI_PERMITS_NONE;
    read_directory(b);
    CHECK_ACTIONS(listed(b, FIRST), ZKLI_ASK_RECORD);
    CHECK_STATE(b, "recording");
}

static void a_number_that_was_recorded_is_read_before_it_counts(void) {
    static const enum zkli_result results[] = {ZKLI_RESULT_OK, ZKLI_RESULT_NO_NODE,
                                               ZKLI_RESULT_EXISTS, ZKLI_RESULT_BAD_VERSION};
    for (size_t i = 0; i < COUNT(results); i++) {
        struct bench b;
        to_recording(&b);
        CHECK_ACTIONS(reply(&b, ZKLI_EV_RECORDED, results[i]), DIRECTORY_AND_LIST);
        bench_record(&b, 2, 2);
        read_directory(&b);
        CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_DO_GRANT);
    }
}

static void a_number_that_could_not_be_recorded_now_is_tried_later(void) {
    struct bench b;
    to_recording(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_RECORDED, ZKLI_RESULT_NOMEM), ZKLI_DO_RETRY);
    to_recording(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_RECORDED, ZKLI_RESULT_AGAIN), ZKLI_DO_RETRY);
    CHECK_STATE(&b, "listing");
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), DIRECTORY_AND_LIST);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_ASK_RECORD); /* still none */
    b.world.is_connected = false;
    CHECK_ACTIONS(reply(&b, ZKLI_EV_RECORDED, ZKLI_RESULT_LOST), 0);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), DIRECTORY_AND_LIST | ZKLI_ASK_BARRIER);
}

static void a_number_that_may_not_be_recorded_ends_the_wait(void) {
    struct bench b;
    to_recording(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_RECORDED, ZKLI_RESULT_DENIED), FAIL_AND_DELETE);
    CHECK_INT(b.c.error, ZKL_DENIED);
    to_recording(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_RECORDED, ZKLI_RESULT_ERROR), FAIL_AND_DELETE);
    CHECK_INT(b.c.error, ZKL_SERVER);
}

/* Another number, other data, or none where one is to be followed. */
static void what_does_not_fit_is_a_mismatch(void) {
    static const struct {
        int permits;
        enum zkli_permits_state state;
    } cases[] = {
        {2, ZKLI_PERMITS_RECORDED},
        {1, ZKLI_PERMITS_OTHER},
        {0, ZKLI_PERMITS_OTHER},
        {0, ZKLI_PERMITS_NONE},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        to_created(&b, cases[i].permits);
        b.directory.state = cases[i].state;
        read_directory(&b);
        CHECK_ACTIONS(listed(&b, FIRST), FAIL_AND_DELETE);
        CHECK_INT(b.c.error, ZKL_MISMATCH);
        bench_semaphore(&b, cases[i].permits, true);
        b.directory.state = cases[i].state;
        CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), DIRECTORY_AND_LIST);
        read_directory(&b);
        CHECK_ACTIONS(listed(&b, NOBODY), ZKLI_DO_FAIL | ZKLI_DO_FORGET); /* it wrote nothing */
        CHECK_INT(b.c.error, ZKL_MISMATCH);
    }
}

static void without_a_directory_there_is_nothing_to_follow(void) {
    for (int permits = 0; permits < 2; permits++) {
        struct bench b;
        bench_semaphore(&b, permits, false);
        news(&b, ZKLI_EV_CONNECTED);
        reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_NO_NODE);
        reply(&b, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_NO_NODE);
        CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE),
                      permits == 0 ? (unsigned)ZKLI_DO_FAIL | ZKLI_DO_FORGET
                                   : PARENT_CREATE_AND_LIST | ZKLI_ASK_DIRECTORY);
        CHECK(permits == 1 || b.c.error == ZKL_MISMATCH);
    }
}

/* One that was known is not that of the directory which is made now. */
static void a_directory_that_is_made_is_read(void) {
    struct bench b;
    bench_semaphore(&b, 1, false);
    b.permits = b.directory;
    news(&b, ZKLI_EV_CONNECTED);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_NO_NODE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE),
                  PARENT_CREATE_AND_LIST | ZKLI_ASK_DIRECTORY);
}

/* Whoever waits goes by the number as it is; by other data it cannot. */
static void a_number_that_changes_later_is_no_mismatch(void) {
    struct bench b;
    to_created(&b, 1);
    read_directory(&b);
    listed(&b, BEHIND_HEAD);
    bench_record(&b, 2, 2);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_DO_GRANT);
    to_created(&b, 1);
    read_directory(&b);
    listed(&b, BEHIND_HEAD);
    b.directory.version++;
    b.directory.state = ZKLI_PERMITS_OTHER;
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), FAIL_AND_DELETE);
    CHECK_INT(b.c.error, ZKL_MISMATCH);
}

/* ---- A try ---- */

static void a_try_counts_who_is_there_against_the_number(void) {
    struct bench b;
    bench_semaphore(&b, 0, true);
    news(&b, ZKLI_EV_CONNECTED);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, OTHERS), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
    CHECK_INT(b.c.error, ZKL_BUSY);
    bench_semaphore(&b, 0, true);
    bench_record(&b, 2, 2);
    news(&b, ZKLI_EV_CONNECTED);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, OTHERS), CREATE_AND_LIST);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_DO_GRANT);
    CHECK_INT(b.c.position, 1);
}

/* Where none is recorded, by the number it would record. */
static void a_try_without_a_number_goes_by_its_own(void) {
    struct bench b;
    bench_semaphore(&b, 1, true);
    b.directory.state = ZKLI_PERMITS_NONE;
    news(&b, ZKLI_EV_CONNECTED);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, OTHERS), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
    bench_semaphore(&b, 2, true);
    b.directory.state = ZKLI_PERMITS_NONE;
    news(&b, ZKLI_EV_CONNECTED);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, OTHERS), CREATE_AND_LIST);
}

static void a_try_that_comes_second_gives_up_unless_others_leave(void) {
    for (int others_leave = 0; others_leave < 2; others_leave++) {
        struct bench b;
        bench_semaphore(&b, 0, true);
        b.others_leave = others_leave == 1;
        news(&b, ZKLI_EV_CONNECTED);
        read_directory(&b);
        listed(&b, NOBODY);
        reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
        CHECK_ACTIONS(listed(&b, BEHIND_HEAD),
                      others_leave == 1 ? LOOK | ZKLI_TELL_QUEUED : FAIL_AND_DELETE);
    }
}

static void a_try_reads_again_what_is_of_another_listing(void) {
    struct bench b;
    bench_semaphore(&b, 0, true);
    news(&b, ZKLI_EV_CONNECTED);
    read_directory(&b);
    bench_record(&b, 1, 1);
    CHECK_ACTIONS(listed(&b, NOBODY), DIRECTORY_AND_LIST);
    CHECK_STATE(&b, "probing");
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, NOBODY), CREATE_AND_LIST);
}

/* ---- In front ---- */

static void more_permits_admit_and_fewer_do_not(void) {
    struct bench b;
    to_front(&b);
    bench_record(&b, 2, 2);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_DIRECTORY_EVENT, false), DIRECTORY_AND_LIST);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_DO_GRANT);

    to_read(&b);
    bench_record(&b, 2, 2);
    listed(&b, BEHIND_TWO); /* of a newer version */
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_TWO), LOOK | ZKLI_TELL_QUEUED);
    bench_record(&b, 1, 2); /* nobody before it may know that there were two */
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_TWO), 0);
    CHECK_STATE(&b, "front");
    CHECK_ACTIONS(fired(&b, ZKLI_EV_CHILDREN_EVENT, false), DIRECTORY_AND_LIST);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_TELL_QUEUED);
    CHECK_STATE(&b, "front");
}

static void between_the_number_and_the_largest_one_it_watches_the_directory(void) {
    struct bench b;
    to_read(&b);
    bench_record(&b, 1, 2);
    listed(&b, BEHIND_TWO);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_TWO), LOOK | ZKLI_TELL_QUEUED);
}

static void any_event_is_looked_at_again(void) {
    static const struct {
        enum zkli_contender_event_type type;
        bool is_deleted;
        unsigned actions;
    } events[] = {
        {ZKLI_EV_DIRECTORY_EVENT, false, DIRECTORY_AND_LIST},
        {ZKLI_EV_DIRECTORY_EVENT, true, DIRECTORY_AND_LIST},
        {ZKLI_EV_CHILDREN_EVENT, false, DIRECTORY_AND_LIST},
        {ZKLI_EV_CHILDREN_EVENT, true, DIRECTORY_AND_LIST},
        {ZKLI_EV_OWN_EVENT, false, LOOK},
    };
    for (size_t i = 0; i < COUNT(events); i++) {
        struct bench b;
        to_front(&b);
        CHECK_ACTIONS(fired(&b, events[i].type, events[i].is_deleted), events[i].actions);
        CHECK_STATE(&b, "fronting");
        reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
        read_directory(&b);
        CHECK_ACTIONS(listed(&b, BEHIND_HEAD), 0);
        CHECK_STATE(&b, "front");
        /* And on another connection, where the news may be of another server, behind a barrier. */
        bench_reconnect(&b);
        CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), 0);
        CHECK_ACTIONS(fired(&b, events[i].type, events[i].is_deleted), BARRIER_AND_LIST);
        reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
        CHECK_STATE(&b, "listing");
        to_front(&b);
        b.world.is_connected = false;
        CHECK_ACTIONS(fired(&b, events[i].type, events[i].is_deleted), BARRIER_AND_LIST);
    }
}

/* A watch that fires between the replies is set again before it rests. */
static void what_fires_meanwhile_is_watched_again(void) {
    static const struct {
        enum zkli_contender_event_type type;
        unsigned actions;
    } events[] = {
        {ZKLI_EV_DIRECTORY_EVENT, DIRECTORY_AND_LIST},
        {ZKLI_EV_OWN_EVENT, LOOK},
    };
    struct bench b;
    for (size_t i = 0; i < COUNT(events); i++) {
        to_fronting(&b);
        reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
        read_directory(&b);
        CHECK_ACTIONS(fired(&b, events[i].type, false), 0);
        CHECK_ACTIONS(listed(&b, BEHIND_HEAD), events[i].actions);
        CHECK_STATE(&b, "fronting");
    }
    /* By the data of a later listing, which came first. */
    to_fronting(&b);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    listed(&b, BEHIND_HEAD);
    fired(&b, ZKLI_EV_CHILDREN_EVENT, false);
    CHECK_ACTIONS(read_directory(&b), DIRECTORY_AND_LIST);
}

static void the_end_of_its_node_costs_the_place_in_front(void) {
    struct bench b;
    to_front(&b);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), CREATE_AND_LIST | ZKLI_TELL_REQUEUED);
    to_fronting(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_NO_NODE), 0);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), CREATE_AND_LIST | ZKLI_TELL_REQUEUED);
    to_fronting(&b);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    fired(&b, ZKLI_EV_OWN_EVENT, true);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), CREATE_AND_LIST | ZKLI_TELL_REQUEUED);
}

static void a_look_whose_parts_were_lost_is_made_behind_a_barrier(void) {
    struct bench b;
    to_fronting(&b);
    b.world.is_connected = false;
    answer_all(&b, ZKLI_RESULT_LOST);
    CHECK_STATE(&b, "listing");
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), BARRIER_AND_LIST);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), LOOK);
}

/* The own node's read, or the listing. */
static void a_look_that_is_refused_is_made_later_or_ends_the_wait(void) {
    static const struct {
        enum zkli_result result;
        unsigned actions;
        int error;
    } cases[] = {
        {ZKLI_RESULT_AGAIN, ZKLI_DO_RETRY, 0},
        {ZKLI_RESULT_DENIED, FAIL_AND_DELETE, ZKL_DENIED},
        {ZKLI_RESULT_NOMEM, FAIL_AND_DELETE, ZKL_NOMEM},
        {ZKLI_RESULT_ERROR, FAIL_AND_DELETE, ZKL_SERVER},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        to_fronting(&b);
        reply(&b, ZKLI_EV_OWN_READ, cases[i].result);
        read_directory(&b);
        CHECK_ACTIONS(listed(&b, BEHIND_HEAD), cases[i].actions);
        CHECK_INT(b.c.error, cases[i].error);
        to_fronting(&b);
        reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
        read_directory(&b);
        CHECK_ACTIONS(reply(&b, ZKLI_EV_LISTED, cases[i].result), cases[i].actions);
        CHECK_INT(b.c.error, cases[i].error);
    }
}

static void expiry_and_goodbye_leave_nothing(void) {
    static void (*const ways[])(struct bench *) = {to_recording, to_fronting, to_front};
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct bench b;
        ways[i](&b);
        CHECK_ACTIONS(news(&b, ZKLI_EV_EXPIRED), ZKLI_TELL_REQUEUED);
        CHECK_STATE(&b, "idle");
        ways[i](&b);
        CHECK_ACTIONS(give_up(&b), FAIL_AND_DELETE);
        CHECK_ACTIONS(read_directory(&b), 0);
        CHECK_ACTIONS(listed(&b, FIRST), 0);
        CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), ZKLI_DO_FORGET);
        ways[i](&b);
        CHECK_ACTIONS(news(&b, ZKLI_EV_RELEASE), ZKLI_ASK_DELETE);
    }
}

/* Of a look that was made before. */
static void events_of_the_directory_mean_nothing_elsewhere(void) {
    static void (*const ways[])(struct bench *) = {to_enqueuing, to_recording, to_behind, to_held,
                                                   to_unsure};
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct bench b;
        ways[i](&b);
        enum zkli_contender_state before = b.c.state;
        CHECK_ACTIONS(fired(&b, ZKLI_EV_DIRECTORY_EVENT, false), 0);
        CHECK_ACTIONS(fired(&b, ZKLI_EV_CHILDREN_EVENT, true), 0);
        CHECK_INT(b.c.state, before);
    }
}

/* Where the numbers end, the order is read between the look and the rest. */
static void by_czxid_it_rests_on_the_watches_of_the_look(void) {
    struct bench b;
    to_fronting(&b);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, AT_THE_END), ZKLI_ASK_ORDER);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), 0);
    CHECK_STATE(&b, "front");
}

/* ---- Reads of the directory that are refused ---- */

/* Each with the read in flight, and the listing behind it. */
static void to_reading_new(struct bench *b) {
    to_created(b, 0);
}

static void to_reading_again(struct bench *b) {
    to_read(b);
    bench_record(b, 1, 1);
    CHECK_ACTIONS(listed(b, FIRST), DIRECTORY_AND_LIST);
}

static void to_reading_found(struct bench *b) {
    bench_semaphore(b, 0, false);
    news(b, ZKLI_EV_CONNECTED);
    b->world.is_connected = false;
    answer_all(b, ZKLI_RESULT_LOST);
    bench_reconnect(b);
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), BARRIER_AND_LIST);
    reply(b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(b, FIRST), LOOK);
    CHECK_STATE(b, "adopting");
    reply(b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
}

static void to_reading_in_front(struct bench *b) {
    to_fronting(b);
    reply(b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
}

static void a_directory_that_cannot_be_read_now_is_read_later(void) {
    static void (*const ways[])(struct bench *) = {to_reading_new, to_reading_again,
                                                   to_reading_found, to_reading_in_front};
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct bench b;
        ways[i](&b);
        bool is_known = ways[i] == to_reading_in_front;
        reply(&b, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_AGAIN);
        CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_DO_RETRY);
        CHECK_STATE(&b, "listing");
        CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), is_known ? ZKLI_ASK_LIST : DIRECTORY_AND_LIST);
    }
}

static void a_directory_that_may_not_be_read_ends_the_wait(void) {
    static void (*const ways[])(struct bench *) = {to_reading_new, to_reading_again,
                                                   to_reading_found, to_reading_in_front};
    static const struct {
        enum zkli_result result;
        int error;
    } cases[] = {
        {ZKLI_RESULT_DENIED, ZKL_DENIED},
        {ZKLI_RESULT_NOMEM, ZKL_NOMEM},
        {ZKLI_RESULT_ERROR, ZKL_SERVER},
    };
    for (size_t i = 0; i < COUNT(ways); i++)
        for (size_t j = 0; j < COUNT(cases); j++) {
            struct bench b;
            ways[i](&b);
            reply(&b, ZKLI_EV_DIRECTORY_READ, cases[j].result);
            CHECK_ACTIONS(listed(&b, BEHIND_HEAD), FAIL_AND_DELETE);
            CHECK_INT(b.c.error, cases[j].error);
            bench_semaphore(&b, 0, true);
            news(&b, ZKLI_EV_CONNECTED);
            reply(&b, ZKLI_EV_DIRECTORY_READ, cases[j].result);
            CHECK_ACTIONS(listed(&b, NOBODY), ZKLI_DO_FAIL | ZKLI_DO_FORGET);
            CHECK_INT(b.c.error, cases[j].error);
        }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the directory is read if nobody has read it",
         the_directory_is_read_if_nobody_has_read_it},
        {"what was read for others saves the read", what_was_read_for_others_saves_the_read},
        {"a listing of another version is never a grant",
         a_listing_of_another_version_is_never_a_grant},
        {"a directory that was not there is read again",
         a_directory_that_was_not_there_is_read_again},
        {"data that are younger than the listing do not count",
         data_that_are_younger_than_the_listing_do_not_count},
        {"a number that was recorded is read before it counts",
         a_number_that_was_recorded_is_read_before_it_counts},
        {"a number that could not be recorded now is tried later",
         a_number_that_could_not_be_recorded_now_is_tried_later},
        {"a number that may not be recorded ends the wait",
         a_number_that_may_not_be_recorded_ends_the_wait},
        {"what does not fit is a mismatch", what_does_not_fit_is_a_mismatch},
        {"without a directory there is nothing to follow",
         without_a_directory_there_is_nothing_to_follow},
        {"a directory that is made is read", a_directory_that_is_made_is_read},
        {"a number that changes later is no mismatch", a_number_that_changes_later_is_no_mismatch},
        {"a try counts who is there against the number",
         a_try_counts_who_is_there_against_the_number},
        {"a try without a number goes by its own", a_try_without_a_number_goes_by_its_own},
        {"a try that comes second gives up unless others leave",
         a_try_that_comes_second_gives_up_unless_others_leave},
        {"a try reads again what is of another listing",
         a_try_reads_again_what_is_of_another_listing},
        {"more permits admit and fewer do not", more_permits_admit_and_fewer_do_not},
        {"between the number and the largest one it watches the directory",
         between_the_number_and_the_largest_one_it_watches_the_directory},
        {"any event is looked at again", any_event_is_looked_at_again},
        {"what fires meanwhile is watched again", what_fires_meanwhile_is_watched_again},
        {"the end of its node costs the place in front",
         the_end_of_its_node_costs_the_place_in_front},
        {"a look whose parts were lost is made behind a barrier",
         a_look_whose_parts_were_lost_is_made_behind_a_barrier},
        {"a look that is refused is made later or ends the wait",
         a_look_that_is_refused_is_made_later_or_ends_the_wait},
        {"expiry and goodbye leave nothing", expiry_and_goodbye_leave_nothing},
        {"events of the directory mean nothing elsewhere",
         events_of_the_directory_mean_nothing_elsewhere},
        {"by czxid it rests on the watches of the look",
         by_czxid_it_rests_on_the_watches_of_the_look},
        {"a directory that cannot be read now is read later",
         a_directory_that_cannot_be_read_now_is_read_later},
        {"a directory that may not be read ends the wait",
         a_directory_that_may_not_be_read_ends_the_wait},
    };
    return TEST_MAIN(argc, argv, "contender_permits", cases);
}
