/*
 * What main() of a test program does: runs a table of tests under CUnit, prints each claim, its
 * outcome and the time it took, and returns non-zero when one failed.
 */
#ifndef SUPPORT_MAIN_H
#define SUPPORT_MAIN_H

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct test_case {
    const char *claim; /* what is true if the test passes */
    void (*run)(void);
} test_case;

/*
 * Runs all cases, or those whose claim contains argv[1]. Returns what main is to return. A skip is
 * printed and counted; with ZKLOCK_FORBID_SKIP in the environment it is a failure, and where
 * all were skipped the result is 77, which ctest takes for a skip.
 */
int test_main(int argc, char **argv, const char *suite, const test_case *cases, size_t count);

#define TEST_MAIN(argc, argv, suite, cases) test_main(argc, argv, suite, cases, COUNT(cases))

/* fn runs after each test, also one that failed: what it did must not fail the next. */
void test_after_each(void (*fn)(void));

/* Counts the running test as skipped; the test then returns by itself. */
void test_skip(const char *why);

/* Prints one indented line below the running test: a figure that it saw. */
__attribute__((format(printf, 1, 2))) void test_note(const char *format, ...);

#endif
