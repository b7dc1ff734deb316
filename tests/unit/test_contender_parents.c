/* The directories that a contender has to make: the lock's with its own node, those above alone. */
#include "unit/contender_bench.h"

/* What a server says of a create at this level, whose lowest levels are missing. */
static enum zkli_result create_parent(unsigned level, unsigned *missing) {
    if (level < *missing)
        return ZKLI_RESULT_NO_NODE;
    if (level > *missing)
        return ZKLI_RESULT_EXISTS;
    *missing = level - 1;
    return ZKLI_RESULT_OK;
}

/* Writes the levels asked for as digits. When one level is still missing, all vanish, so often. */
static void ask_for_parents(unsigned depth, unsigned missing, unsigned reaped, char ret_asked[64]) {
    struct bench b;
    bench_init(&b, false);
    zkli_contender_init(&b.c, ZKLI_KIND_MUTEX, b.c.uuid, false, depth);
    news(&b, ZKLI_EV_CONNECTED);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_NO_NODE);
    reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE);
    size_t count = 0;
    while ((b.c.in_flight & ZKLI_ASK_PARENT) != 0 && count < 63) {
        bool is_with_node = (b.c.in_flight & ZKLI_ASK_CREATE) != 0;
        ret_asked[count++] = (char)('0' + b.c.parent_level);
        reply(&b, ZKLI_EV_PARENT, create_parent(b.c.parent_level, &missing));
        if (missing == 1 && reaped > 0) {
            missing = depth;
            reaped--;
        }
        if (!is_with_node || missing == 0)
            continue;
        reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_NO_NODE);
        reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE);
    }
    ret_asked[count] = '\0';
    CHECK_INT(missing, 0);
    CHECK_INT(b.c.in_flight, CREATE_AND_LIST);
}

static void parents_are_created_from_the_lowest_missing_one(void) {
    static const char *const asked[] = {"1", "1", "121", "12321", "1234321"};
    for (unsigned depth = 1; depth < COUNT(asked); depth++)
        for (unsigned missing = 0; missing <= depth; missing++) {
            char levels[64];
            ask_for_parents(depth, missing, 0, levels); /* none: somebody was faster */
            CHECK_STRING(levels, asked[missing]);
        }
}

/* Above the only one there is the client's root, which is not ours to make. */
static void nothing_is_created_above_the_first_directory(void) {
    struct bench b;
    for (uint16_t depth = 1; depth <= DEPTH; depth++) {
        to_housing(&b);
        b.c.depth = depth;
        reply(&b, ZKLI_EV_PARENT, ZKLI_RESULT_NO_NODE);
        reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_NO_NODE);
        unsigned actions = reply(&b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE);
        for (unsigned level = 2; level <= depth; level++) {
            CHECK_ACTIONS(actions, ZKLI_ASK_PARENT);
            actions = reply(&b, ZKLI_EV_PARENT, ZKLI_RESULT_NO_NODE);
        }
        CHECK_ACTIONS(actions, ZKLI_DO_FAIL | ZKLI_DO_FORGET);
        CHECK_INT(b.c.error, ZKL_NO_CHROOT);
    }
}

/* T30 */
static void parents_that_vanish_on_the_way_are_created_again(void) {
    char levels[64];
    ask_for_parents(3, 3, 2, levels);
    CHECK_STRING(levels, "1232"
                         "1232"
                         "12321");
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"parents are created from the lowest missing one",
         parents_are_created_from_the_lowest_missing_one},
        {"nothing is created above the first directory",
         nothing_is_created_above_the_first_directory},
        {"parents that vanish on the way are created again",
         parents_that_vanish_on_the_way_are_created_again},
    };
    return TEST_MAIN(argc, argv, "contender_parents", cases);
}
