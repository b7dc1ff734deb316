/* The file of a fence when it is not as it was left: damaged, cut, replaced, half written. */
#include "support/main.h"
#include "support/scratch.h"
#include "support/wait.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fence/fence.h"
#include "support/fence.h"

#define BYTES_MAX (1 << 18)

static void a_file_that_is_gone_or_not_a_fence_s_is_an_error(void) {
    const char *file = scratch_fresh("gone"), *link = scratch_fresh("link");
    char cell[ZKLI_FENCE_CELL];
    zkl_fence *f = (zkl_fence *)(void *)&cell;

    CHECK_INT(zkl_fence_open(&f, file, &ZKL_FENCE_OPTIONS(.must_exist = true)), ZKL_IO);
    CHECK(f == NULL);
    CHECK_INT(zkl_fence_open(&f, scratch_path("no-directory/file"), NULL), ZKL_IO);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    f = fence_open(file);
    CHECK_INT(zkl_fence_check(f, "x", 5), ZKL_OK);
    REQUIRE(symlink(file, link) == 0);
    CHECK_INT(open_and_close(link), ZKL_IO);
    REQUIRE(unlink(file) == 0);
    CHECK_INT(zkl_fence_check(f, "x", 5), ZKL_IO);
    CHECK_INT(zkl_fence_check(f, "x", 6), ZKL_IO);
    CHECK(access(file, F_OK) != 0);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    scratch_write(file, "", 0);
    CHECK_INT(open_and_close(file), ZKL_CORRUPT);
    scratch_write(file, "something else", 14);
    CHECK_INT(open_and_close(file), ZKL_CORRUPT);
    /* Larger than any name could make it, and read to its end. */
    zkli_fence_cell_format(cell, 0, 3 * (int64_t)ZKLI_FENCE_NAMES_MAX, "/zklock fence 1/");
    scratch_write(file, cell, sizeof(cell));
    REQUIRE(truncate(file, 3 * (off_t)ZKLI_FENCE_NAMES_MAX * ZKLI_FENCE_CELL) == 0);
    CHECK_INT(open_and_close(file), ZKL_CORRUPT);
}

/* Who comes by the other name would go on with the old file when this one is replaced. */
static void a_file_with_another_name_is_an_error(void) {
    const char *file = scratch_fresh("one"), *other = scratch_fresh("other");
    zkl_fence *f = fence_open(file);

    CHECK_INT(zkl_fence_check(f, "x", 5), ZKL_OK);
    REQUIRE(link(file, other) == 0);
    CHECK_INT(zkl_fence_check(f, "x", 6), ZKL_IO);
    CHECK_INT(open_and_close(other), ZKL_IO);
    REQUIRE(unlink(other) == 0);
    CHECK_INT(zkl_fence_check(f, "x", 6), ZKL_OK);
    CHECK_INT(zkl_fence_check(f, "x", 5), ZKL_STALE);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
}

static void an_old_copy_put_back_is_noticed_by_who_knows_better(void) {
    static char old[BYTES_MAX];
    const char *file = scratch_fresh("old");
    zkl_fence *f = fence_open(file);

    CHECK_INT(zkl_fence_check(f, "x", 5), ZKL_OK);
    size_t size = scratch_read(file, old, sizeof(old));
    CHECK_INT(zkl_fence_check(f, "x", 6), ZKL_OK);
    REQUIRE(unlink(file) == 0);
    scratch_write(file, old, size);
    CHECK_INT(zkl_fence_check(f, "x", 7), ZKL_CORRUPT);
    CHECK_INT(zkl_fence_check(f, "x", 5), ZKL_CORRUPT);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
}

struct sample {
    const char *file;
    size_t size;
    char bytes[BYTES_MAX];
};

/* A file with some history: "a" has come to 30, "b" to 20. */
static struct sample *sample_make(void) {
    static struct sample s;

    s.file = scratch_fresh("sample");
    zkl_fence *f = fence_open(s.file);
    CHECK_INT(zkl_fence_check(f, "a", 10), ZKL_OK);
    CHECK_INT(zkl_fence_check(f, "b", 20), ZKL_OK);
    CHECK_INT(zkl_fence_check(f, "a", 30), ZKL_OK);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    s.size = scratch_read(s.file, s.bytes, sizeof(s.bytes));
    return &s;
}

/* Whether lower tokens are refused, by an error or because of what is remembered. */
static bool is_tight(const struct sample *s, size_t *opened) {
    zkl_fence *f = NULL;
    zkl_err err = zkl_fence_open(&f, s->file, NULL);
    bool tight = err == ZKL_CORRUPT;

    if (err == ZKL_OK) {
        tight = zkl_fence_check(f, "a", 29) == ZKL_STALE &&
                zkl_fence_check(f, "b", 19) == ZKL_STALE;
        (*opened)++;
    }
    (void)zkl_fence_close(f);
    return tight;
}

static void no_flipped_byte_lets_a_lower_token_in(void) {
    static const char masks[] = {1, 32, (char)128, (char)255};
    /* With 7 each place of a cell is flipped, in one cell or another. */
    const size_t step = getenv("ZKLOCK_TEST_EVERY_BYTE") == NULL ? 7 : 1;
    struct sample *s = sample_make();
    const int fd = open(s->file, O_WRONLY | O_CLOEXEC);
    size_t opened = 0, loose = 0, tried = 0;

    REQUIRE(fd >= 0);
    for (size_t at = 0; at < s->size; at++) {
        const bool is_written = at < 4 * (size_t)ZKLI_FENCE_CELL;
        const char was = s->bytes[at];
        char now;

        /* Beyond what is written a part of the bytes, and one value each, will do. */
        if (!is_written && at % step != 0)
            continue;
        for (size_t i = 0; i <= sizeof(masks); i++) {
            if (!is_written && i != at % sizeof(masks))
                continue;
            now = i < sizeof(masks) ? (char)(was ^ masks[i]) : (char)0;
            REQUIRE(pwrite(fd, &now, 1, (off_t)at) == 1);
            loose += !is_tight(s, &opened);
            tried++;
        }
        REQUIRE(pwrite(fd, &was, 1, (off_t)at) == 1);
    }
    (void)close(fd);
    CHECK_INT(loose, 0);
    /* One copy of two is enough, so damage in what is written is survived. */
    CHECK(opened > 4 * (size_t)ZKLI_FENCE_CELL);
    test_note("%zu bytes, %zu changes, %zu survived", s->size, tried, opened);
}

static void no_cut_lets_a_lower_token_in(void) {
    struct sample *s = sample_make();
    size_t opened = 0;

    REQUIRE(truncate(s->file, (off_t)s->size + 1) == 0);
    CHECK(is_tight(s, &opened));
    for (size_t size = s->size; size-- > 0;) {
        REQUIRE(truncate(s->file, (off_t)size) == 0);
        CHECK(is_tight(s, &opened));
    }
    CHECK_INT(opened, 0);
}

/* Both copies of a record gone is more than a write cut short can do. */
static void a_damaged_record_is_an_error_wherever_it_stands(void) {
    for (size_t cell = 0; cell < 4; cell++)
        for (int zero = 0; zero < 2; zero++) {
            struct sample *s = sample_make();
            char *at = s->bytes + cell * ZKLI_FENCE_CELL;
            size_t opened = 0;

            if (zero && cell == 3)
                continue; /* the last one, not written: nobody can tell */
            at[3] = at[3 + ZKLI_FENCE_COPY] = '!';
            if (zero)
                memset(at, 0, ZKLI_FENCE_CELL);
            scratch_write(s->file, s->bytes, s->size);
            CHECK(is_tight(s, &opened));
            CHECK_INT(opened, 0);
        }
}

/* Whole records that nobody can have written there. */
static void a_record_out_of_place_is_an_error(void) {
    static const struct {
        uint32_t at, index;
        int64_t token;
        const char *first, *second; /* the names in the two copies */
    } places[] = {
        {4, 5, 40, "a", "a"}, /* another's place */
        {4, 4, 30, "a", "a"}, /* not higher than what is there */
        {4, 4, 15, "b", "b"},
        {4, 4, 40, "a", "b"}, /* two records in one */
        {5, 5, 40, "a", "a"},
        {0, 0, 32, "a", "a"},                               /* not where they begin; no header */
        {0, 0, 31, "/zklock fence 1/", "/zklock fence 1/"}, /* another size */
    };

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct sample *s = sample_make();
        char *at = s->bytes + (size_t)places[i].at * ZKLI_FENCE_CELL, second[ZKLI_FENCE_CELL];

        zkli_fence_cell_format(at, places[i].index, places[i].token, places[i].first);
        zkli_fence_cell_format(second, places[i].index, places[i].token, places[i].second);
        memcpy(at + ZKLI_FENCE_COPY, second, ZKLI_FENCE_COPY);
        scratch_write(s->file, s->bytes, s->size);
        CHECK_INT(open_and_close(s->file), ZKL_CORRUPT);
    }
}

static void a_file_cut_off_under_an_open_fence_is_an_error(void) {
    struct sample *s = sample_make();
    zkl_fence *f = fence_open(s->file);

    REQUIRE(truncate(s->file, (off_t)s->size - 1) == 0);
    CHECK_INT(zkl_fence_check(f, "a", 30), ZKL_CORRUPT);
    CHECK_INT(zkl_fence_check(f, "a", 40), ZKL_CORRUPT);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
}

static void a_relative_path_stays_where_it_was_opened(void) {
    const int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    zkl_fence *f = NULL;

    REQUIRE(before >= 0 && chdir(scratch_directory()) == 0);
    CHECK_INT(zkl_fence_open(&f, "relative", NULL), ZKL_OK);
    REQUIRE(fchdir(before) == 0);
    (void)close(before);
    CHECK_INT(zkl_fence_check(f, "x", 5), ZKL_OK);
    CHECK_INT(check_anew(scratch_path("relative"), "x", 4), ZKL_STALE);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
}

static void a_record_that_was_half_written_is_ignored_and_overwritten(void) {
    for (size_t size = 0; size <= ZKLI_FENCE_CELL; size += 7) {
        struct sample *s = sample_make();
        char cell[ZKLI_FENCE_CELL];

        zkli_fence_cell_format(cell, 4, 40, "a");
        memcpy(s->bytes + 4 * (size_t)ZKLI_FENCE_CELL, cell, size);
        scratch_write(s->file, s->bytes, s->size);
        CHECK_INT(check_anew(s->file, "a", 29), ZKL_STALE);
        CHECK_INT(check_anew(s->file, "a", 39), size < ZKLI_FENCE_COPY ? ZKL_OK : ZKL_STALE);
        CHECK_INT(check_anew(s->file, "a", 50), ZKL_OK);
        CHECK_INT(check_anew(s->file, "a", 49), ZKL_STALE);
        CHECK_INT(check_anew(s->file, "b", 20), ZKL_OK);
        (void)unlink(s->file);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a file that is gone or not a fence's is an error",
         a_file_that_is_gone_or_not_a_fence_s_is_an_error},
        {"a file with another name is an error", a_file_with_another_name_is_an_error},
        {"an old copy put back is noticed by who knows better",
         an_old_copy_put_back_is_noticed_by_who_knows_better},
        {"no flipped byte lets a lower token in", no_flipped_byte_lets_a_lower_token_in},
        {"no cut lets a lower token in", no_cut_lets_a_lower_token_in},
        {"a damaged record is an error, wherever it stands",
         a_damaged_record_is_an_error_wherever_it_stands},
        {"a record out of place is an error", a_record_out_of_place_is_an_error},
        {"a file cut off under an open fence is an error",
         a_file_cut_off_under_an_open_fence_is_an_error},
        {"a relative path stays where it was opened", a_relative_path_stays_where_it_was_opened},
        {"a record that was half written is ignored and overwritten",
         a_record_that_was_half_written_is_ignored_and_overwritten},
    };
    return TEST_MAIN(argc, argv, "fence_file", cases);
}
