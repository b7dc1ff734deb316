/* A node with our session's tag that no contender knows: whose it is, and what becomes of it. */
#include "unit/contender_bench.h"

static void to_orphan(struct bench *b) {
    bench_init(b, false);
    bench_orphan(b);
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), ZKLI_ASK_OWNER);
}

/* Whatever of the two is lost; whose it is does not change with the connection. */
static void an_orphan_is_read_until_it_is_known_and_then_deleted(void) {
    struct bench b;
    to_orphan(&b);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWNER_READ, ZKLI_RESULT_LOST), ZKLI_DO_RETRY);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), ZKLI_ASK_OWNER);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWNER_READ, ZKLI_RESULT_OK), ZKLI_ASK_DELETE);
    b.world.is_connected = false;
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_LOST), 0);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), ZKLI_ASK_DELETE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_NO_NODE), ZKLI_DO_FORGET);
}

static void an_orphan_that_is_nobody_s_is_left_alone(void) {
    struct bench b;
    to_orphan(&b);
    CHECK_ACTIONS(say(&b, (struct zkli_contender_event){.type = ZKLI_EV_OWNER_READ, .owner = 0}),
                  ZKLI_DO_FORGET);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"an orphan is read until it is known, and then deleted",
         an_orphan_is_read_until_it_is_known_and_then_deleted},
        {"an orphan that is nobody's is left alone", an_orphan_that_is_nobody_s_is_left_alone},
    };
    return TEST_MAIN(argc, argv, "contender_orphan", cases);
}
