/* The judge of the register test: it accepts what may be and finds each thing that must not. */
#include "support/history.h"
#include "support/main.h"
#include "support/wait.h"

#include <stdio.h>
#include <string.h>

struct sample {
    const char *what, *lines; /* p:n stands for operation n of process p */
    int64_t final;
    const char *strict, *loose; /* what is objected to; NULL: nothing */
};

/* Replaces p:n by the number of the operation. */
static void expand(char *buf, size_t size, const char *line, size_t length) {
    size_t used = 0;

    for (size_t i = 0; i < length && used + 32 < size; i++) {
        if (i + 2 < length && line[i + 1] == ':') {
            used += (size_t)snprintf(buf + used, size - used, "%lld",
                                     (long long)(line[i] - '0') * HISTORY_OPS +
                                         (line[i + 2] - '0'));
            i += 2;
        } else {
            buf[used++] = line[i];
        }
    }
    buf[used] = '\0';
}

static history *history_of(const char *lines) {
    history *h = history_new();
    char line[200];

    REQUIRE(h != NULL);
    for (size_t length; *lines; lines += length + (lines[length] == '\n')) {
        length = strcspn(lines, "\n");
        expand(line, sizeof(line), lines, length);
        if (!history_add(h, line)) {
            test_note("not taken: %s", line);
            CU_FAIL("a line was not taken");
        }
    }
    return h;
}

static void check_sample(const struct sample *s, history_figures *ret_figures) {
    for (int strict = 0; strict < 2; strict++) {
        const char *expected = strict ? s->strict : s->loose;
        history *h = history_of(s->lines);
        history_figures figures;
        char why[200];
        const bool good = history_check(h, 'a', s->final, strict, &figures, why, sizeof(why));

        if (good != !expected || (expected && !strstr(why, expected))) {
            test_note("%s, %s: %s", s->what, strict ? "strict" : "loose", good ? "accepted" : why);
            CU_FAIL("not judged as it should be");
        }
        if (!strict && ret_figures)
            *ret_figures = figures;
        history_free(h);
    }
}

/* Two writes, one behind the other. */
#define TWO                                                                                        \
    "i 1:1 a\nw 1:1 10 0 101 1000 2000\nr 1:1 ok 1100 1\n"                                         \
    "i 2:1 a\nw 2:1 20 101 201 1200 2200\nr 2:1 ok 1300 1\n"

static void what_may_be_is_accepted(void) {
    static const struct sample samples[] = {
        {"nothing", "", 0, NULL, NULL},
        {"two", TWO, 201, NULL, NULL},
        {"the same token again", TWO "i 2:2 a\nw 2:2 20 201 202 1400 2400\nr 2:2 ok 1500 1\n", 202,
         NULL, NULL},
        {"a register beside it", TWO "i 3:1 b\nw 3:1 5 0 301 1 2\nr 3:1 ok 3 1\n", 201, NULL, NULL},
        {"one refused at its write", TWO "i 1:2 a\nw 1:2 10 101 102 1 2\nr 1:2 refused 3 0\n", 201,
         NULL, NULL},
        {"one refused before it", TWO "i 1:2 a\nr 1:2 refused 3 0\n", 201, NULL, NULL},
        {"one that died before its write", TWO "i 1:2 a\nk 1 5000\n", 201, NULL, NULL},
        {"one unsure that was not done", TWO "i 1:2 a\nw 1:2 30 201 102 1 2\nr 1:2 unsure 3 0\n",
         201, NULL, NULL},
        {"one unsure that was", TWO "i 1:2 a\nw 1:2 30 201 102 1 2\nr 1:2 unsure 3 0\n", 102, NULL,
         NULL},
        {"one that died after it", TWO "i 1:2 a\nw 1:2 30 201 102 1 2\nk 1 5\n", 102, NULL, NULL},
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        check_sample(&samples[i], NULL);
}

static void a_broken_past_is_refused(void) {
    static const struct sample samples[] = {
        {"a value from nowhere", TWO, 999, "nobody wrote 999", "nobody wrote 999"},
        {"the end forgotten", TWO, 101, "was OK, and is lost", "without a late write"},
        {"all forgotten", TWO, 0, "is not in the past", "without a late write"},
        {"a refused write that was done", TWO "i 1:2 a\nw 1:2 30 201 102 1 2\nr 1:2 refused 3 0\n",
         102, "it was refused", "it was refused"},
        {"a refused write that was read",
         TWO "i 1:2 a\nw 1:2 30 201 102 1 2\nr 1:2 refused 3 0\n"
             "i 2:2 a\nw 2:2 40 102 202 1 2\nr 2:2 ok 3 1\n",
         202, "it was refused", "it was refused"},
        {"a write that was read and undone",
         TWO "i 1:2 a\nw 1:2 30 201 102 1 2\nk 1 5\n"
             "i 2:2 a\nw 2:2 40 102 202 1 2\nk 2 5\n"
             "i 3:2 a\nw 3:2 50 201 302 1 2\nr 3:2 ok 3 1\n",
         302, "102 was read, and is not in the past", NULL},
        {"a value written twice", TWO "i 1:2 a\nw 1:2 30 201 101 1 2\nr 1:2 ok 3 1\n", 101,
         "101 was written twice", "101 was written twice"},
        {"a circle",
         "i 1:1 a\nw 1:1 10 201 101 1 2\nr 1:1 ok 3 1\ni 2:1 a\nw 2:1 10 101 201 1 2\n"
         "r 2:1 ok 3 1\n",
         201, "its own past", "its own past"},
        {"a circle beside the chain",
         TWO "i 1:2 a\nw 1:2 30 202 102 1 2\nr 1:2 ok 3 1\ni 2:2 a\nw 2:2 30 102 202 1 2\n"
             "r 2:2 ok 3 1\n",
         201, "not in the past", "its own past"},
        {"a lower token", TWO "i 1:2 a\nw 1:2 19 201 102 1 2\nr 1:2 ok 3 1\n", 102,
         "token 19 after 20", "token 19 after 20"},
        {"a write before one that had ended",
         "i 2:1 a\nw 2:1 10 101 201 1 2\nr 2:1 ok 3 1\n"
         "i 1:1 a\nw 1:1 10 0 101 1 2\nr 1:1 ok 3 1\n",
         201, "began after one behind it", NULL},
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        check_sample(&samples[i], NULL);
}

/* 1:1 has read 0, and so has 2:1, which has held the lock since. */
#define HELD_BY_1 "i 1:1 a\nw 1:1 10 0 101 1000 2000\n"
#define THEN_2 "i 2:1 a\nw 2:1 20 0 201 2500 3500\nr 2:1 ok 2600 1\n"

static void a_loss_has_to_have_a_late_write(void) {
    static const struct sample samples[] = {
        {"both in time", HELD_BY_1 THEN_2 "r 1:1 ok 3000 1\n", 201, "is lost",
         "without a late write"},
        {"both in time, and the other way round", HELD_BY_1 THEN_2 "r 1:1 ok 3000 1\n", 101,
         "is lost", "without a late write"},
        {"two in time and one late",
         HELD_BY_1 THEN_2 "i 3:1 a\nw 3:1 25 0 301 2500 3500\nr 3:1 ok 2600 1\nr 1:1 ok 3000 0\n",
         101, "is lost", "were in time"},
        {"the late one came last", HELD_BY_1 THEN_2 "r 1:1 ok 3000 0\n", 101, "is lost", NULL},
        {"the late one was overwritten", HELD_BY_1 "r 1:1 ok 2400 0\n" THEN_2, 201, "is lost",
         NULL},
        {"a late write that takes nothing away is no excuse",
         HELD_BY_1 "r 1:1 ok 2400 0\ni 2:1 a\nw 2:1 20 101 201 1 2\nr 2:1 ok 3 1\n"
                   "i 3:1 a\nw 3:1 30 101 301 1 2\nr 3:1 ok 3 1\n",
         301, "is lost", "without a late write"},
        {"a dead one was alive after its lease", HELD_BY_1 THEN_2 "k 1 3000\n", 101, "is lost",
         NULL},
        {"a dead one was dead before its end", HELD_BY_1 THEN_2 "k 1 1900\n", 101, "is lost",
         "without a late write"},
        {"one that was told nothing and has not died", HELD_BY_1 THEN_2, 101, "is lost",
         "without a late write"},
        {"a late one with a lower token",
         HELD_BY_1 THEN_2 "i 3:1 a\nw 3:1 30 201 301 1 2\nr 3:1 ok 3 1\nr 1:1 ok 3000 0\n", 101,
         "is not in the past", NULL},
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        check_sample(&samples[i], NULL);
}

static void losses_are_counted_with_their_cause(void) {
    static const struct sample stopped = {
        "stopped",
        HELD_BY_1 "s 1 1500\n" THEN_2 "i 2:2 a\nw 2:2 20 201 202 2700 3700\nr 2:2 ok 2800 1\n"
                  "c 1 2900\nr 1:1 ok 3000 0\n",
        101, "is not in the past", NULL};
    static const struct sample slow = {
        "slow", "s 1 100\nc 1 900\n" HELD_BY_1 THEN_2 "r 1:1 ok 3000 0\ns 1 3500\nc 1 4000\n", 101,
        "is lost", NULL};
    history_figures f;

    check_sample(&stopped, &f);
    CHECK(f.operations == 3 && f.grants == 2 && f.writes == 3 && f.ok == 3 && f.lost == 2 &&
          f.by_stop == 2);
    CHECK_INT(f.late, 1);
    check_sample(&slow, &f);
    CHECK(f.lost == 1 && f.by_stop == 0);
}

static void a_line_that_makes_no_sense_is_not_taken(void) {
    static const char *const bad[] = {
        "",
        "x 1 2",
        "i 1",
        "i x a",
        "i 5 a b",
        "i 1 a",
        "w 2 1 0 1 1 1",
        "w 1 1 0 1 1",
        "w 1 0 0 1 1 1",
        "w 1 1 0 0 1 1",
        "w 1 1 0 1 1 1 1",
        "r 2 ok 1 1",
        "r 1 ok 1",
        "r 1 ok 1 1 1",
        "r 1 fine 1 1",
        "k 1",
        "k 1 2 3",
        "s a 1",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        history *h = history_of("i 1 a");

        if (history_add(h, bad[i])) {
            test_note("taken: %s", bad[i]);
            CU_FAIL("a line was taken");
        }
        history_free(h);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"what may be is accepted", what_may_be_is_accepted},
        {"a broken past is refused", a_broken_past_is_refused},
        {"a loss has to have a late write", a_loss_has_to_have_a_late_write},
        {"losses are counted, with their cause", losses_are_counted_with_their_cause},
        {"a line that makes no sense is not taken", a_line_that_makes_no_sense_is_not_taken},
    };
    return TEST_MAIN(argc, argv, "history", cases);
}
