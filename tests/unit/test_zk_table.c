/* Numbers for ports and their requests: what they stand for, and when no more. */
#include "zk/zk_table.h"

#include "support/actor.h"
#include "support/main.h"
#include "support/wait.h"

#define PLACES 300

static unsigned Freed;

static void count_freed(struct zkli_place *place) {
    (void)place;
    Freed++;
}

static void drop(struct zkli_place *place) {
    zkli_table_close(place);
    zkli_table_drop(place, true, count_freed);
}

static void a_number_stands_for_its_port_and_request(void) {
    static struct zkli_place places[PLACES];
    const unsigned slots[] = {0, 1, ZKLI_TABLE_NUMBERS - 1};
    Freed = 0;
    for (size_t i = 0; i < PLACES; i++)
        zkli_table_add(&places[i]);
    for (size_t i = 0; i < PLACES; i++) {
        for (size_t k = 0; k < sizeof(slots) / sizeof(slots[0]); k++) {
            unsigned slot = 4711;
            bool is_open = false;
            const void *context = zkli_table_context(&places[i], slots[k]);
            REQUIRE(context != NULL);
            REQUIRE(zkli_table_begin(context, &slot, &is_open) == &places[i]);
            CHECK(slot == slots[k] && is_open);
            zkli_table_end(&places[i]);
        }
    }
    for (size_t i = 0; i < PLACES; i++) { /* from anywhere in their buckets */
        const size_t index = i * 7 % PLACES;
        const void *context = zkli_table_context(&places[index], 0);
        unsigned slot;
        bool is_open;
        drop(&places[index]);
        CHECK(zkli_table_begin(context, &slot, &is_open) == NULL);
    }
    CHECK_INT(Freed, PLACES);
}

static void a_number_is_not_given_again(void) {
    struct zkli_place place;
    unsigned slot;
    zkli_table_add(&place);
    const void *old = zkli_table_context(&place, 0);
    drop(&place);
    zkli_table_add(&place);
    CHECK(zkli_table_context(&place, 0) != old);
    CHECK(zkli_table_begin(old, &slot, NULL) == NULL);
    CHECK(zkli_table_begin(NULL, &slot, NULL) == NULL);
    drop(&place);
}

static void a_closed_port_is_gone_but_for_what_was_lent(void) {
    struct zkli_place place;
    unsigned slot;
    bool is_open = true;
    zkli_table_add(&place);
    const void *context = zkli_table_context(&place, 5);
    zkli_table_close(&place);
    CHECK(zkli_table_begin(context, &slot, NULL) == NULL);
    REQUIRE(zkli_table_begin(context, &slot, &is_open) == &place);
    CHECK(!is_open && slot == 5);
    zkli_table_end(&place);
    Freed = 0;
    zkli_table_drop(&place, false, count_freed);
    CHECK_INT(Freed, 1);
}

static void what_is_lent_is_there_until_it_is_back(void) {
    struct zkli_place place;
    unsigned slot;
    bool is_open;
    Freed = 0;
    zkli_table_add(&place);
    const void *context = zkli_table_context(&place, 5);
    for (int i = 0; i < 3; i++)
        zkli_table_lend(&place);
    zkli_table_give_back(&place); /* not sent */
    zkli_table_close(&place);
    zkli_table_drop(&place, false, count_freed);
    CHECK_INT(Freed, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(Freed, 0);
        REQUIRE(zkli_table_begin(context, &slot, &is_open) == &place);
        CHECK(!is_open);
        zkli_table_give_back(&place);
        CHECK_INT(Freed, 0);
        zkli_table_end(&place);
    }
    CHECK_INT(Freed, 1);
    CHECK(zkli_table_begin(context, &slot, &is_open) == NULL);
    zkli_table_add(&place); /* but for a handle that is closed */
    zkli_table_lend(&place);
    drop(&place);
    CHECK_INT(Freed, 2);
}

static zkl_err close_place(void *arg) {
    zkli_table_close(arg);
    return ZKL_OK;
}

static void close_waits_for_deliveries_under_way(void) {
    struct zkli_place place;
    unsigned slot;
    actor *closer = actor_new();
    zkli_table_add(&place);
    const void *context = zkli_table_context(&place, 5);
    REQUIRE(zkli_table_begin(context, &slot, NULL) == &place);
    REQUIRE(zkli_table_begin(context, &slot, NULL) == &place);
    actor_begin(closer, close_place, &place);
    WAIT_UNTIL(actor_is_blocked(closer), SOON_MS);
    CHECK(zkli_table_begin(context, &slot, NULL) == NULL);
    zkli_table_end(&place);
    WAIT_UNTIL(actor_is_blocked(closer), SOON_MS);
    CHECK(!actor_is_done(closer));
    zkli_table_end(&place);
    CHECK_INT(actor_result(closer, SOON_MS), ZKL_OK);
    zkli_table_drop(&place, false, count_freed);
    actor_free(closer);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a number stands for its port and request", a_number_stands_for_its_port_and_request},
        {"a number is not given again", a_number_is_not_given_again},
        {"a closed port is gone, but for what was lent",
         a_closed_port_is_gone_but_for_what_was_lent},
        {"what is lent is there until it is back", what_is_lent_is_there_until_it_is_back},
        {"close waits for deliveries under way", close_waits_for_deliveries_under_way},
    };
    return TEST_MAIN(argc, argv, "zk_table", cases);
}
