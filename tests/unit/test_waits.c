/* Circles of waits, against a plain search over all ways. */
#include "lock/waits.h"

#include <string.h>

#include "support/main.h"
#include "support/random.h"
#include "support/wait.h"

enum {
    OWNERS_MAX = 7,
    WAITS_MAX = 14
};

static struct zkli_owner owner(size_t number) {
    return (struct zkli_owner){1 + number % 2, 1 + number / 2}; /* of two processes */
}

static struct zkli_wait wait_of(size_t from, size_t to, size_t what) {
    return (struct zkli_wait){owner(from), owner(to), what};
}

static bool is_circle(const struct zkli_wait *waits, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!zkli_owner_is(&waits[i].blocker, &waits[(i + 1) % length].waiter))
            return false;
    return length > 0;
}

/* ---- Known graphs ---- */

static void nobody_waits(void) {
    struct zkli_wait none[1];
    CHECK_INT(zkli_waits_trim(none, 0), 0);
    CHECK_INT(zkli_waits_find(none, 0, none), 0);
}

static void a_line_has_no_circle(void) {
    struct zkli_wait waits[5], circle[5];
    for (size_t i = 0; i < COUNT(waits); i++)
        waits[i] = wait_of(i + 1, i, i);
    CHECK_INT(zkli_waits_find(waits, COUNT(waits), circle), 0);
    CHECK_INT(zkli_waits_trim(waits, COUNT(waits)), 0);
}

static void who_waits_behind_a_circle_is_not_in_it(void) {
    struct zkli_wait waits[] = {wait_of(4, 3, 0), wait_of(0, 1, 1), wait_of(3, 0, 2),
                                wait_of(1, 2, 3), wait_of(2, 0, 4), wait_of(2, 5, 5)};
    struct zkli_wait circle[COUNT(waits)];
    const size_t count = zkli_waits_trim(waits, COUNT(waits));
    CHECK_INT(count, 3);
    CHECK_INT(waits[0].what, 1); /* in their order */
    CHECK_INT(waits[1].what, 3);
    CHECK_INT(waits[2].what, 4);
    CHECK_INT(zkli_waits_find(waits, count, circle), 3);
    CHECK(is_circle(circle, 3));
}

static void who_waits_for_himself_is_a_circle(void) {
    struct zkli_wait waits[] = {wait_of(0, 1, 0), wait_of(1, 1, 1), wait_of(1, 0, 2)};
    struct zkli_wait circle[COUNT(waits)];
    CHECK_INT(zkli_waits_trim(waits, COUNT(waits)), 3);
    CHECK_INT(zkli_waits_find(waits, COUNT(waits), circle), 1);
    CHECK_INT(circle[0].what, 1);
}

static void circles_are_found_one_after_the_other(void) {
    struct zkli_wait waits[] = {wait_of(0, 1, 0), wait_of(2, 3, 1), wait_of(1, 0, 2),
                                wait_of(3, 4, 3), wait_of(1, 2, 4), wait_of(4, 2, 5)};
    struct zkli_wait circle[COUNT(waits)];
    size_t count = zkli_waits_trim(waits, COUNT(waits));
    CHECK_INT(count, 6); /* with the one between the two */
    CHECK_INT(zkli_waits_find(waits, count, circle), 2);
    count = zkli_waits_drop(waits, count, circle, 2);
    CHECK_INT(count, 3);
    CHECK_INT(zkli_waits_find(waits, count, circle), 3);
    CHECK(is_circle(circle, 3));
    CHECK_INT(zkli_waits_drop(waits, count, circle, 3), 0);
}

/* ---- All small graphs, at random ---- */

/* Through each owner, by the lengths of all ways. 0: there is none. */
static size_t shortest(const struct zkli_wait *waits, size_t count) {
    size_t way[OWNERS_MAX][OWNERS_MAX], best = 0;
    memset(way, 0, sizeof(way));
    for (size_t i = 0; i < OWNERS_MAX; i++)
        for (size_t k = 0; k < OWNERS_MAX; k++)
            for (size_t w = 0; w < count; w++) {
                const struct zkli_owner from = owner(i), to = owner(k);
                if (zkli_owner_is(&waits[w].waiter, &from) && zkli_owner_is(&waits[w].blocker, &to))
                    way[i][k] = 1;
            }
    for (size_t by = 0; by < OWNERS_MAX; by++)
        for (size_t i = 0; i < OWNERS_MAX; i++)
            for (size_t k = 0; k < OWNERS_MAX; k++) {
                const size_t length = way[i][by] + way[by][k];
                if (way[i][by] > 0 && way[by][k] > 0 && (way[i][k] == 0 || length < way[i][k]))
                    way[i][k] = length;
            }
    for (size_t i = 0; i < OWNERS_MAX; i++)
        if (way[i][i] > 0 && (best == 0 || way[i][i] < best))
            best = way[i][i];
    return best;
}

static void small_graphs_agree_with_a_plain_search(void) {
    uint64_t state = 4711;
    struct zkli_wait waits[WAITS_MAX], trimmed[WAITS_MAX], circle[WAITS_MAX];
    for (int round = 0; round < 20000; round++) {
        const size_t count = 1 + random_draw(&state, WAITS_MAX);
        const size_t owners = 2 + random_draw(&state, OWNERS_MAX - 1);
        for (size_t i = 0; i < count; i++)
            waits[i] = wait_of(random_draw(&state, owners), random_draw(&state, owners), i);
        memcpy(trimmed, waits, sizeof(waits));
        const size_t expected = shortest(waits, count);
        const size_t kept = zkli_waits_trim(trimmed, count);
        CHECK(kept <= count);
        CHECK_INT(shortest(trimmed, kept), expected);
        CHECK_INT(kept > 0, expected > 0);
        const size_t length = zkli_waits_find(trimmed, kept, circle);
        CHECK_INT(length, expected);
        CHECK(expected == 0 || is_circle(circle, length));
        const size_t left = zkli_waits_drop(trimmed, kept, circle, length);
        CHECK(left + length <= kept);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"nobody waits", nobody_waits},
        {"a line has no circle", a_line_has_no_circle},
        {"who waits behind a circle is not in it", who_waits_behind_a_circle_is_not_in_it},
        {"who waits for himself is a circle", who_waits_for_himself_is_a_circle},
        {"circles are found one after the other", circles_are_found_one_after_the_other},
        {"small graphs agree with a plain search", small_graphs_agree_with_a_plain_search},
    };
    return TEST_MAIN(argc, argv, "waits", cases);
}
