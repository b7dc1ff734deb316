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
    "i 1:1 a 10 900\nw 1:1 10 0 101 1000 2000\nr 1:1 ok 1100 1\n"                                  \
    "i 2:1 a 20 900\nw 2:1 20 101 201 1200 2200\nr 2:1 ok 1300 1\n"

static void what_may_be_is_accepted(void) {
    static const struct sample samples[] = {
        {"nothing", "", 0, NULL, NULL},
        {"two", TWO, 201, NULL, NULL},
        {"the same token again",
         TWO "i 2:2 a 20 900\nw 2:2 20 201 202 1400 2400\nr 2:2 ok 1500 1\n", 202, NULL, NULL},
        {"readers",
         TWO "j 3:1 a 30 1400\nq 3:1 201 201\nr 3:1 ok 1500 1\n"
             "j 2:2 a 20 1400\nq 2:2 201 201\nr 2:2 ok 1500 1\n"
             "j 3:2 a 30 1600\nr 3:2 refused 1700 0\n",
         201, NULL, NULL},
        {"a register beside it", TWO "i 3:1 b 5 900\nw 3:1 5 0 301 1 2\nr 3:1 ok 3 1\n", 201, NULL,
         NULL},
        {"one refused at its write",
         TWO "i 1:2 a 10 900\nw 1:2 10 101 102 1 2\nr 1:2 refused 3 0\n", 201, NULL, NULL},
        {"one refused before it", TWO "i 1:2 a 30 900\nr 1:2 refused 3 0\n", 201, NULL, NULL},
        {"one that died before its write", TWO "i 1:2 a 30 900\nk 1 5000\n", 201, NULL, NULL},
        {"one unsure that was not done",
         TWO "i 1:2 a 30 900\nw 1:2 30 201 102 1 2\nr 1:2 unsure 3 0\n", 201, NULL, NULL},
        {"one unsure that was", TWO "i 1:2 a 30 900\nw 1:2 30 201 102 1 2\nr 1:2 unsure 3 0\n", 102,
         NULL, NULL},
        {"one that died after it", TWO "i 1:2 a 30 900\nw 1:2 30 201 102 1 2\nk 1 5\n", 102, NULL,
         NULL},
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        check_sample(&samples[i], NULL);
}

static void a_broken_past_is_refused(void) {
    static const struct sample samples[] = {
        {"a value from nowhere", TWO, 999, "nobody wrote 999", "nobody wrote 999"},
        {"the end forgotten", TWO, 101, "was OK, and is lost", "without a late write"},
        {"all forgotten", TWO, 0, "is not in the past", "without a late write"},
        {"a refused write that was done",
         TWO "i 1:2 a 30 900\nw 1:2 30 201 102 1 2\nr 1:2 refused 3 0\n", 102, "it was refused",
         "it was refused"},
        {"a refused write that was read",
         TWO "i 1:2 a 30 900\nw 1:2 30 201 102 1 2\nr 1:2 refused 3 0\n"
             "i 2:2 a 40 900\nw 2:2 40 102 202 1 2\nr 2:2 ok 3 1\n",
         202, "it was refused", "it was refused"},
        {"a write that was read and undone",
         TWO "i 1:2 a 30 900\nw 1:2 30 201 102 1 2\nk 1 5\n"
             "i 2:2 a 40 900\nw 2:2 40 102 202 1 2\nk 2 5\n"
             "i 3:2 a 50 900\nw 3:2 50 201 302 1 2\nr 3:2 ok 3 1\n",
         302, "102 was read, and is not in the past", NULL},
        {"a value written twice", TWO "i 1:2 a 30 900\nw 1:2 30 201 101 1 2\nr 1:2 ok 3 1\n", 101,
         "101 was written twice", "101 was written twice"},
        {"a circle",
         "i 1:1 a 10 900\nw 1:1 10 201 101 1 2\nr 1:1 ok 3 1\ni 2:1 a 10 900\nw 2:1 10 101 201 1 "
         "2\n"
         "r 2:1 ok 3 1\n",
         201, "its own past", "its own past"},
        {"a circle beside the chain",
         TWO "i 1:2 a 30 900\nw 1:2 30 202 102 1 2\nr 1:2 ok 3 1\ni 2:2 a 30 900\nw 2:2 30 102 202 "
             "1 2\n"
             "r 2:2 ok 3 1\n",
         201, "not in the past", "its own past"},
        {"a value that changes under a reader",
         TWO "j 3:1 a 30 1400\nq 3:1 201 101\nr 3:1 ok 1500 1\n", 201, "read 201 and then 101",
         "read 201 and then 101"},
        {"a value that a reader has from nowhere",
         TWO "j 3:1 a 30 1400\nq 3:1 999 999\nr 3:1 ok 1500 1\n", 201, "999 was read",
         "999 was read"},
        {"a lower token", TWO "i 1:2 a 19 900\nw 1:2 19 201 102 1 2\nr 1:2 ok 3 1\n", 102,
         "token 19 after 20", "token 19 after 20"},
        {"a write before one that had ended",
         "i 2:1 a 10 900\nw 2:1 10 101 201 1 2\nr 2:1 ok 3 1\n"
         "i 1:1 a 10 900\nw 1:1 10 0 101 1 2\nr 1:1 ok 3 1\n",
         201, "began after one behind it", NULL},
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        check_sample(&samples[i], NULL);
}

/* 1:1 has read 0, and so has 2:1, which has held the lock since. */
#define HELD_BY_1 "i 1:1 a 10 900\nw 1:1 10 0 101 1000 2000\n"
#define THEN_2 "i 2:1 a 20 900\nw 2:1 20 0 201 2500 3500\nr 2:1 ok 2600 1\n"

static void a_loss_has_to_have_a_late_write(void) {
    static const struct sample samples[] = {
        {"both in time", HELD_BY_1 THEN_2 "r 1:1 ok 3000 1\n", 201, "is lost",
         "without a late write"},
        {"both in time, and the other way round", HELD_BY_1 THEN_2 "r 1:1 ok 3000 1\n", 101,
         "is lost", "without a late write"},
        {"two in time and one late",
         HELD_BY_1 THEN_2
         "i 3:1 a 25 900\nw 3:1 25 0 301 2500 3500\nr 3:1 ok 2600 1\nr 1:1 ok 3000 0\n",
         101, "is lost", "were in time"},
        {"the late one came last", HELD_BY_1 THEN_2 "r 1:1 ok 3000 0\n", 101, "is lost", NULL},
        {"the late one was overwritten", HELD_BY_1 "r 1:1 ok 2400 0\n" THEN_2, 201, "is lost",
         NULL},
        {"a late write that takes nothing away is no excuse",
         HELD_BY_1 "r 1:1 ok 2400 0\ni 2:1 a 20 900\nw 2:1 20 101 201 1 2\nr 2:1 ok 3 1\n"
                   "i 3:1 a 30 900\nw 3:1 30 101 301 1 2\nr 3:1 ok 3 1\n",
         301, "is lost", "without a late write"},
        {"a dead one was alive after its lease", HELD_BY_1 THEN_2 "k 1 3000\n", 101, "is lost",
         NULL},
        {"a dead one was dead before its end", HELD_BY_1 THEN_2 "k 1 1900\n", 101, "is lost",
         "without a late write"},
        {"one that was told nothing and has not died", HELD_BY_1 THEN_2, 101, "is lost",
         "without a late write"},
        {"a late one with a lower token",
         HELD_BY_1 THEN_2 "i 3:1 a 30 900\nw 3:1 30 201 301 1 2\nr 3:1 ok 3 1\nr 1:1 ok 3000 0\n",
         101, "is not in the past", NULL},
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        check_sample(&samples[i], NULL);
}

static void losses_are_counted_with_their_cause(void) {
    static const struct sample stopped = {
        "stopped",
        HELD_BY_1 "s 1 1500\n" THEN_2
                  "i 2:2 a 20 900\nw 2:2 20 201 202 2700 3700\nr 2:2 ok 2800 1\n"
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
        "y 1 2",
        "i 1",
        "i x a 1 9",
        "i 5 a 1 9 b",
        "i 1 a 1 9",
        "w 2 1 0 1 1 1",
        "w 1 2 0 1 1 1",
        "w 1 1 0 1 1",
        "w 1 0 0 1 1 1",
        "w 1 1 0 0 1 1",
        "w 1 1 0 1 1 1 1",
        "r 2 ok 1 1",
        "r 1 ok 1",
        "r 1 ok 1 1 1",
        "r 1 fine 1 1",
        "w 3 1 0 1 1 1", /* a reader */
        "q 1 0 0",
        "q 3 0",
        "q 3 0 0 0",
        "q 4 0 0",
        "j 3 a 1 9",
        "r 3 ok 1 1",
        "k 1",
        "k 1 2 3",
        "s a 1",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        history *h = history_of("i 1 a 1 9\nj 3 a 1 9");

        if (history_add(h, bad[i])) {
            test_note("taken: %s", bad[i]);
            CU_FAIL("a line was taken");
        }
        history_free(h);
    }
}

/* The first is certain of its hold at 1000 and, if it says so after its write, at 1100. */
#define FIRST(held) "i 1:1 a 10 900\nw 1:1 10 0 101 1000 2000\nr 1:1 ok 1100 " held "\n"
#define SECOND(begun) "i 2:1 a 20 " begun "\nw 2:1 20 101 201 1200 2200\nr 2:1 ok 1300 1\n"

#define READER(op, token, begun, ended)                                                            \
    "j " op " a " token " " begun "\nq " op " 101 101\nr " op " ok " ended " 1\n"

static void two_holders_at_a_time_are_found(void) {
    static const struct {
        const char *lines;
        bool is_good;
    } samples[] = {
        {"", true},
        {FIRST("1") SECOND("1101"), true},
        {FIRST("1") SECOND("1100"), false},
        {SECOND("1100") FIRST("1"), false},
        {FIRST("0") SECOND("1100"), true}, /* it did not hold any more when it looked */
        {FIRST("0") SECOND("1000"), false},
        {"i 1:1 a 10 900\nw 1:1 10 0 101 1000 2000\n" SECOND("1001"), true}, /* it died */
        {"i 1:1 a 10 900\nw 1:1 10 0 101 1000 2000\n" SECOND("999"), false},
        /* The one between them was short. */
        {FIRST("1") "i 3:1 a 15 950\nr 3:1 refused 960 0\n" SECOND("1101"), true},
        {"i 1:1 a 10 900\nw 1:1 10 0 101 1000 2000\nr 1:1 ok 1500 1\n"
         "i 3:1 b 15 910\nw 3:1 15 0 301 920 2000\nr 3:1 ok 930 1\n" SECOND("1501"),
         true},
        /* The first of a hold's operations, and the last of the other's. */
        {FIRST("1") "i 1:2 a 10 1110\nw 1:2 10 101 102 1120 2000\nr 1:2 ok 1130 1\n" SECOND("1125"),
         false},
        {FIRST("1") "i 2:2 a 20 1050\nw 2:2 20 101 202 1200 2200\nr 2:2 ok 1300 1\n" SECOND("1400"),
         false},
        /* No write, but a hold. */
        {FIRST("1") "i 3:1 a 15 1050\nr 3:1 refused 1060 1\n" SECOND("1200"), false},
        {FIRST("1") "i 3:1 a 15 1150\nr 3:1 refused 1160 1\n" SECOND("1155"), false},
        /* Readers hold together, and with nobody else; a writer may become one. */
        {READER("2:1", "20", "1100", "1300") READER("3:1", "30", "1200", "1400"), true},
        {FIRST("1") READER("2:1", "20", "1101", "1300"), true},
        {FIRST("1") READER("2:1", "20", "1100", "1300"), false},
        {FIRST("1") READER("1:2", "10", "1110", "1400") READER("2:1", "20", "1120", "1300"), true},
        {FIRST("1") READER("1:2", "10", "1110", "1400") SECOND("1399"), false},
        {FIRST("1") READER("1:2", "10", "1110", "1400") SECOND("1401"), true},
        {READER("1:1", "10", "900", "1400") READER("3:1", "15", "950", "1000") SECOND("1399"),
         false},
        {READER("1:1", "10", "900", "1000") READER("3:1", "15", "950", "1400") SECOND("1399"),
         false},
        /* Two with one token. */
        {FIRST("1") "i 3:1 a 10 1500\nw 3:1 10 101 301 1600 2200\n", false},
        {"e 1 800\n" FIRST("1") SECOND("1050"), true},
        {"e 1 -14999998900\n" FIRST("1") SECOND("1050"), true},
        {"e 1 -14999998901\n" FIRST("1") SECOND("1050"), false}, /* too long ago */
        {"e 1 800\nx 1 1100\n" FIRST("1") SECOND("1050"), true},
        {"e 1 800\nx 1 1099\n" FIRST("1") SECOND("1050"), false}, /* of the next session */
        {"e 1 800\nx 2 1099\n" FIRST("1") SECOND("1050"), true},
        {"e 1 800\nx 1 1000\ne 1 1090\nx 1 2000\n" FIRST("1") SECOND("1050"), true},
        {"e 1 1101\n" FIRST("1") SECOND("1050"), false}, /* after it had said so */
        {"e 2 800\n" FIRST("1") SECOND("1050"), false},
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        history *h = history_of(samples[i].lines);
        char why[200] = "";

        if (history_check_holds(h, 'a', why, sizeof(why)) != samples[i].is_good) {
            test_note("%zu: %s", i, why);
            CU_FAIL("not judged as it should be");
        }
        CHECK((why[0] == '\0') == samples[i].is_good);
        history_free(h);
    }
}

static void gaps_hand_offs_and_losses_are_counted(void) {
    history *h = history_of(FIRST("1") SECOND(
        "1200") "l 1 1250\n"
                "i 3:1 b 5 1400\nw 3:1 5 0 301 1500 1600\nr 3:1 ok 1900 1\n"
                "i 2:2 a 20 1900\nw 2:2 20 201 202 2000 2200\nr 2:2 refused 2100 1\n"
                "i 2:3 a 30 2300\nw 2:3 30 201 203 2300 2400\nr 2:3 ok 2400 1\n");
    static const struct {
        const char *registers;
        history_span span;
        int64_t longest;
    } gaps[] = {
        {"ab", {0, 0, 1100, 9000}, 0},
        {"ab", {0, 1150, 1160, 9000}, 200},
        {"ab", {0, 1150, 1301, 9000}, 600},
        {"ab", {0, 0, 2400, 9000}, 600},
        {"ab", {0, 1900, 2400, 9000}, 500},
        {"a", {0, 0, 2400, 9000}, 1100},
        {"b", {0, 0, 1900, 9000}, 0},
        /* Of what began in time, */
        {"ab", {1300, 1150, 1301, 9000}, 600},
        {"ab", {1301, 1150, 2400, 9000}, 500},
        {"ab", {2401, 1150, 9000, 9000}, 0},
        /* up to the end. */
        {"ab", {0, 1150, 1301, 1700}, 400},
        {"ab", {0, 1800, 1850, 1700}, 0},
        /* Nobody writes any more. */
        {"ab", {0, 0, 9000, 9000}, 6600},
        {"b", {0, 5000, 9000, 9000}, 7100},
    };
    history_figures f;
    char why[200];

    CHECK(history_check(h, 'a', 203, true, &f, why, sizeof(why)));
    CHECK_INT(f.grants, 3);
    CHECK_INT(f.hand_offs, 1);
    CHECK_INT(history_losses_told(h), 1);
    /* 1100, 1300, 1900, 2400 */
    for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++)
        CHECK_INT(history_longest_gap_ns(h, gaps[i].registers, &gaps[i].span), gaps[i].longest);
    history_free(h);
}

static void more_holders_than_permits_are_found(void) {
    static const struct {
        const char *lines;
        size_t most;
    } samples[] = {
        {"", 0},
        {READER("1:1", "10", "900", "1000"), 1},
        {READER("1:1", "10", "900", "1000") READER("2:1", "20", "1000", "1100"), 2},
        {READER("1:1", "10", "900", "1000") READER("2:1", "20", "1001", "1100"), 1},
        {READER("3:1", "30", "950", "990") READER("1:1", "10", "900", "1000")
             READER("2:1", "20", "920", "960"),
         3},
        {READER("1:1", "10", "900", "1000") READER("1:2", "10", "1001", "1100")
             READER("2:1", "20", "950", "1050"),
         2},
        /* It died, or did not hold any more when it looked. */
        {READER("1:1", "10", "900", "1000") "j 2:1 a 20 950\n", 1},
        {READER("1:1", "10", "900", "1000") "j 2:1 a 20 950\nr 2:1 refused 960 0\n", 1},
        /* Somebody has ended its session. */
        {"e 1 800\n" READER("1:1", "10", "900", "1000") READER("2:1", "20", "950", "1100"), 1},
    };

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        for (size_t permits = 0; permits <= 3; permits++) {
            history *h = history_of(samples[i].lines);
            char why[200] = "";
            size_t most = 99;
            const bool is_good = history_check_permits(h, 'a', permits, &most, why, sizeof(why));

            CHECK_INT(most, samples[i].most);
            CHECK(is_good == (most <= permits) && (why[0] == '\0') == is_good);
            history_free(h);
        }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"what may be is accepted", what_may_be_is_accepted},
        {"a broken past is refused", a_broken_past_is_refused},
        {"a loss has to have a late write", a_loss_has_to_have_a_late_write},
        {"losses are counted, with their cause", losses_are_counted_with_their_cause},
        {"two holders at a time are found", two_holders_at_a_time_are_found},
        {"more holders than permits are found", more_holders_than_permits_are_found},
        {"gaps, hand-offs and losses are counted", gaps_hand_offs_and_losses_are_counted},
        {"a line that makes no sense is not taken", a_line_that_makes_no_sense_is_not_taken},
    };
    return TEST_MAIN(argc, argv, "history", cases);
}
