/*
 * A semaphore's contender that looks: which answers and which watches count. Where it waits:
 * test_contender_permits.c.
 */
#include "unit/contender_bench.h"

static void to_fronting(struct bench *b) {
    to_created(b, 1);
    read_directory(b);
    CHECK_ACTIONS(listed(b, BEHIND_HEAD), DIRECTORY_AND_LIST | ZKLI_ASK_OWN | ZKLI_TELL_QUEUED);
    CHECK_STATE(b, "fronting");
}

/* The directory's read, which is then made without a watch, for the number alone. */
static void a_look_counts_by_its_own_watches(void) {
    struct bench b;
    to_fronting(&b);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    reply(&b, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_AGAIN);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_DO_RETRY);
    bench_record(&b, 1, 1);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), ZKLI_ASK_LIST);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), DIRECTORY_AND_LIST);
    CHECK(!zkli_contender_watches_directory(&b.c));
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), DIRECTORY_AND_LIST);
    CHECK_STATE(&b, "fronting");
}

/* Whatever is said of the directory. */
static void the_end_of_its_node_is_known_by_its_own_read(void) {
    for (enum zkli_result directory = 0; directory < RESULTS; directory++) {
        struct bench b;
        to_fronting(&b);
        reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_NO_NODE);
        reply(&b, ZKLI_EV_DIRECTORY_READ, directory);
        CHECK_ACTIONS(listed(&b, OTHERS), ZKLI_TELL_REQUEUED | CREATE_AND_LIST);
    }
}

/* Its data went, and another contender is faster to record a number. */
static void who_has_agreed_once_goes_by_any_number(void) {
    struct bench b;
    to_fronting(&b);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    b.directory.version++;
    b.directory.state = ZKLI_PERMITS_NONE;
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_ASK_RECORD);
    bench_record(&b, 2, 2);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_RECORDED, ZKLI_RESULT_BAD_VERSION), DIRECTORY_AND_LIST);
    read_directory(&b);
    CHECK_ACTIONS(listed(&b, BEHIND_HEAD), ZKLI_DO_GRANT);
}

/* The first of two permits is another's, whose node may stay idle. */
static void a_try_takes_what_is_free_and_asks_nobody(void) {
    const char *kept = "_c_ffffffff-4e5f-8061-8273-8495a6b7c8d9-lease-0000000001";
    struct zkli_sibling sibling;
    struct bench b;
    bench_semaphore(&b, 2, true);
    bench_record(&b, 2, 2);
    b.permits = b.directory;
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), ZKLI_ASK_LIST);
    REQUIRE(zkli_sibling_parse(&sibling, kept));
    struct zkli_listing listing = {.siblings = &sibling,
                                   .count = 1,
                                   .czxid = b.directory.czxid,
                                   .version = b.directory.version};
    CHECK_ACTIONS(
        say(&b, (struct zkli_contender_event){.type = ZKLI_EV_LISTED, .listing = &listing}),
        CREATE_AND_LIST);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a look counts by its own watches", a_look_counts_by_its_own_watches},
        {"the end of its node is known by its own read",
         the_end_of_its_node_is_known_by_its_own_read},
        {"who has agreed once goes by any number", who_has_agreed_once_goes_by_any_number},
        {"a try takes what is free, and asks nobody", a_try_takes_what_is_free_and_asks_nobody},
    };
    return TEST_MAIN(argc, argv, "contender_looks", cases);
}
