/* See verdict.h. */
#include "register/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "register/worker.h"
#include "support/clock.h"
#include "support/main.h"
#include "support/subset.h"
#include "support/wait.h"

#define READINGS_MIN 20 /* behind the guard */
#define WRITES_MIN 50   /* of each kind; fewer, and the test has shown nothing */
/* Who holds for long writes on without a server. */
static const char Short[] = {KIND_LOCK, KIND_FENCE, KIND_GUARD, '\0'};

static struct { size_t grants, hand_offs, writes, double_grants, lost; } Sum;

/* A history that was not accepted is kept, to be looked at. */
static void keep_history(const char *directory) {
    const char *kept = ZKLOCK_BUILD_DIR "/register-history";
    char block[1 << 16];
    FILE *from = fopen(worker_history_path(directory), "re"), *to = fopen(kept, "we");

    for (size_t got; from && to && (got = fread(block, 1, sizeof(block), from)) > 0;)
        (void)fwrite(block, 1, got, to);
    if (from)
        (void)fclose(from);
    if (to)
        (void)fclose(to);
    test_note("the history is in %s", kept);
}

history *verdict_read(const char *directory) {
    FILE *file = fopen(worker_history_path(directory), "re");
    history *h = history_new();
    char line[200];

    REQUIRE(file && h);
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        if (!history_add(h, line)) {
            test_note("not taken: %s", line);
            CU_FAIL("a line of the history makes no sense");
        }
    }
    (void)fclose(file);
    return h;
}

static history_figures judge(history *h, const char *directory, char reg, const char *name,
                             int64_t final, bool is_strict) {
    history_figures f;
    char why[2][200];
    const bool may_be = history_check(h, reg, final, is_strict, &f, why[0], sizeof(why[0]));
    const bool is_exclusive = history_check_holds(h, reg, why[1], sizeof(why[1]));

    if (!may_be)
        test_note("(%c) %s: %s", reg, name, why[0]);
    if (!is_exclusive)
        test_note("(%c) %s: %s", reg, name, why[1]);
    if (!may_be || !is_exclusive) {
        CU_FAIL("the register's history is not one that may be");
        keep_history(directory);
    }
    Sum.grants += f.grants;
    Sum.hand_offs += f.hand_offs;
    Sum.writes += f.ok;
    Sum.lost += is_strict ? f.lost : 0;
    Sum.double_grants += !is_exclusive;
    return f;
}

void verdict_of(history *h, const char *directory, char kind, const char *name, int64_t final,
                bool has_stops) {
    const bool is_strict = kind != KIND_LOCK && !worker_is_long(kind);
    const history_figures f = judge(h, directory, kind, name, final, is_strict);

    test_note("(%c) %s: %zu grants, %zu operations, %zu read twice, %zu writes: %zu ok, "
              "%zu refused, %zu unsure (%zu of them done); "
              "%zu late; %zu lost, %zu of them to a writer that was stopped",
              kind, name, f.grants, f.operations, f.readings, f.writes, f.ok, f.refused, f.unsure,
              f.unsure_done, f.late, f.lost, f.by_stop);
    CHECK(f.ok >= WRITES_MIN);
    CHECK(kind != KIND_GUARD || f.readings >= READINGS_MIN);
    if (has_stops && is_strict)
        CHECK(f.refused > 0);
    else if (has_stops && kind == KIND_LOCK)
        CHECK(f.by_stop > 0);
}

void verdict_of_groups(history *h, const char *directory, const int *files) {
    size_t grants = 0, readings = 0, ok = 0, refused = 0, least = SIZE_MAX;

    for (size_t i = 0; i < SUBSET_LOCKS; i++) {
        const history_figures f = judge(h, directory, worker_group_register(i), "groups",
                                        worker_file_read(files[i]), true);

        grants += f.grants;
        readings += f.readings;
        ok += f.ok;
        refused += f.refused;
        least = f.ok < least ? f.ok : least;
    }
    test_note("(%c) groups, of %d registers together: %zu grants, %zu read twice, writes: %zu ok, "
              "%zu to the one with the fewest, %zu refused",
              KIND_GROUP, SUBSET_LOCKS, grants, readings, ok, least, refused);
    CHECK(least >= WRITES_MIN / 2);
    CHECK(readings >= READINGS_MIN);
}

void verdict_of_slots(const history *h, const char *directory) {
    char why[200];
    size_t most;

    if (!history_check_permits(h, KIND_SLOT, WORKER_SLOTS, &most, why, sizeof(why))) {
        test_note("(%c) slots: %s", KIND_SLOT, why);
        CU_FAIL("more processes had a slot than there are slots");
        keep_history(directory);
    }
    test_note("(%c) %d slots: at most %zu processes had one at a time", KIND_SLOT, WORKER_SLOTS,
              most);
    CHECK_INT(most, WORKER_SLOTS); /* fewer, and the test has shown nothing */
}

void verdict_figures(history *h) {
    test_note("in all: %zu grants, %zu hand-offs, %zu writes, %zu losses of a hold told; registers "
              "with two holders at a time: %zu; updates lost behind fence and guard: %zu",
              Sum.grants, Sum.hand_offs, Sum.writes, history_losses_told(h), Sum.double_grants,
              Sum.lost);
}

/* ---- What the faults of the servers cost ---- */

static int compare(const void *a, const void *b) {
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* What goes on over several faults counts for the first, up to the second. */
static int64_t gap_of(history *h, const char *registers, const breaker_stroke *strokes, size_t at,
                      size_t count) {
    const breaker_stroke *s = &strokes[at];
    const history_span span = {
        .since_ns = at > 0 ? s[-1].until_ns : 0,
        .from_ns = s->from_ns,
        .until_ns = s->until_ns,
        .end_ns = at + 1 < count ? s[1].from_ns : s->until_ns,
    };

    return history_longest_gap_ns(h, registers, &span);
}

/* Of the one that had to do without for longest. */
static int64_t gap_of_one(history *h, const breaker_stroke *strokes, size_t at, size_t count) {
    int64_t longest = 0;

    for (const char *kind = Short; *kind; kind++) {
        const char one[] = {*kind, '\0'};
        const int64_t gap_ns = gap_of(h, one, strokes, at, count);

        if (gap_ns > longest)
            longest = gap_ns;
    }
    return longest;
}

static void report_fault(history *h, const breaker_plan *plan, size_t fault,
                         const breaker_stroke *strokes, size_t count) {
    int64_t *gaps = malloc((count + 1) * sizeof(*gaps)), recovery = 0, of_one = 0;
    size_t done = 0, begun = 0;

    REQUIRE(gaps != NULL);
    gaps[0] = 0;
    for (size_t i = 0; i < count; i++) {
        const breaker_stroke *s = &strokes[i];
        int64_t one;

        if (s->fault != fault)
            continue;
        done++;
        gaps[begun] = gap_of(h, Short, strokes, i, count);
        begun += gaps[begun] > 0;
        one = gap_of_one(h, strokes, i, count);
        if (one > of_one)
            of_one = one;
        if (s->until_ns - s->healed_ns > recovery)
            recovery = s->until_ns - s->healed_ns;
    }
    qsort(gaps, begun, sizeof(*gaps), compare);
    if (done > 0)
        test_note("%-42s %3zu times; no write for %5lld ms at most, %5lld in the median; of one "
                  "register for %5lld ms at most; all served %5lld ms after its end at most",
                  plan->faults[fault].what, done,
                  (long long)(gaps[begun ? begun - 1 : 0] / NS_PER_MS),
                  (long long)(gaps[begun / 2] / NS_PER_MS), (long long)(of_one / NS_PER_MS),
                  (long long)(recovery / NS_PER_MS));
    free(gaps);
}

void verdict_strokes(history *h, const breaker_plan *plan) {
    size_t count;

    const breaker_stroke *strokes = breaker_strokes(&count);
    for (size_t i = 0; i < plan->count; i++)
        report_fault(h, plan, i, strokes, count);
    test_note("%zu faults of servers", count);
}
