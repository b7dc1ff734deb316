/*
 * A fence with each of its allocations failing in turn: what it could not remember it has not let
 * in, and what it has let in it remembers.
 */
#include "alloc/fail_each.h"
#include "support/fence.h"
#include "support/scratch.h"

enum {
    NAMES = 12 /* more than the marks begin with */
};

/* Shows that token for every name, with what is armed. */
static void show(zkl_fence *f, int64_t token, zkl_err ret_errs[NAMES]) {
    char name[2] = "a";

    for (size_t i = 0; i < NAMES; i++, name[0]++) {
        ret_errs[i] = zkl_fence_check(f, name, token);
        check_nomem_or(ret_errs[i], ZKL_OK);
    }
}

/* What was let in is remembered, and what was not is let in now. */
static void check_shown(zkl_fence *f, int64_t token, const zkl_err errs[NAMES]) {
    char name[2] = "a";

    for (size_t i = 0; i < NAMES; i++, name[0]++) {
        if (errs[i] == ZKL_OK)
            CHECK_INT(zkl_fence_check(f, name, token - 1), ZKL_STALE);
        CHECK_INT(zkl_fence_check(f, name, token), ZKL_OK);
    }
}

static void open_a_fence(void) {
    const char *file = scratch_path("open");
    zkl_err errs[NAMES], err;
    zkl_fence *f = fence_open(file);

    show(f, 5, errs);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    f = NULL;
    arm();
    err = zkl_fence_open(&f, file, NULL);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK((err == ZKL_OK) == (f != NULL));
    if (err != ZKL_OK)
        f = fence_open(file);
    check_shown(f, 5, errs);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    REQUIRE(unlink(file) == 0);
}

static void a_fence_opens_or_has_no_memory(void) {
    fail_each(open_a_fence);
}

static void use_memory(void) {
    zkl_fence *f = fence_open(NULL);
    zkl_err errs[NAMES];

    arm();
    show(f, 5, errs);
    failing_disarm();
    check_shown(f, 5, errs);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
}

static void in_memory_a_token_is_let_in_or_there_is_no_memory(void) {
    fail_each(use_memory);
}

static void use_a_file(void) {
    const char *file = scratch_path("use");
    zkl_fence *f = fence_open(file);
    zkl_err errs[NAMES];

    arm();
    show(f, 5, errs);
    failing_disarm();
    check_shown(f, 5, errs);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    REQUIRE(unlink(file) == 0);
}

static void in_a_file_a_token_is_let_in_or_there_is_no_memory(void) {
    fail_each(use_a_file);
}

/* Another writes so much that the file is replaced, or just a bit. */
static void read_after_another(int64_t last) {
    const char *file = scratch_path("read");
    zkl_fence *f = fence_open(file), *other = fence_open(file);
    zkl_err errs[NAMES], err;

    for (int64_t token = 5; token <= last; token++)
        show(other, token, errs);
    arm();
    err = zkl_fence_check(f, "a", last - 1);
    failing_disarm();
    check_nomem_or(err, ZKL_STALE);
    CHECK_INT(zkl_fence_check(f, "a", last - 1), ZKL_STALE);
    check_shown(f, last, errs);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    CHECK_INT(zkl_fence_close(other), ZKL_OK);
    REQUIRE(unlink(file) == 0);
}

static void read_what_was_appended(void) {
    read_after_another(5);
}

static void read_what_was_replaced(void) {
    read_after_another(9);
}

static void what_another_has_written_is_read_or_there_is_no_memory(void) {
    fail_each(read_what_was_appended);
    fail_each(read_what_was_replaced);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a fence opens or has no memory", a_fence_opens_or_has_no_memory},
        {"in memory a token is let in, or there is no memory",
         in_memory_a_token_is_let_in_or_there_is_no_memory},
        {"in a file a token is let in, or there is no memory",
         in_a_file_a_token_is_let_in_or_there_is_no_memory},
        {"what another has written is read, or there is no memory",
         what_another_has_written_is_read_or_there_is_no_memory},
    };

    return TEST_MAIN(argc, argv, "fence", cases);
}
