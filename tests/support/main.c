/* See main.h; and the assertions of wait.h that have something to print. */
#include "support/main.h"
#include "support/wait.h"

#include <CUnit/Basic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED 77

static size_t Skipped;
static int64_t StartedMs;
static void (*AfterEach)(void);

void test_after_each(void (*fn)(void)) {
    AfterEach = fn;
}

static void setup(void) {
    StartedMs = clock_ms();
}

static void teardown(void) {
    if (AfterEach)
        AfterEach();
    printf("[%.2f s] ", (double)(clock_ms() - StartedMs) / 1000);
}

void test_skip(const char *why) {
    Skipped++;
    printf("skipped (%s) ", why);
    if (getenv("ZKLOCK_FORBID_SKIP"))
        CU_FAIL("a skip, and ZKLOCK_FORBID_SKIP is set");
}

void test_note(const char *format, ...) {
    va_list args;

    va_start(args, format);
    printf("\n      ");
    (void)vprintf(format, args);
    printf(" ");
    (void)fflush(stdout); /* for whoever reads it after the program was killed */
    va_end(args);
}

void wait_check_int(long long actual, long long expected, const char *text, const char *file,
                    unsigned line, bool fatal) {
    if (actual != expected)
        test_note("%s:%u: is %lld, not %lld", file, line, actual, expected);
    (void)CU_assertImplementation(actual == expected, line, text, file, "",
                                  fatal ? CU_TRUE : CU_FALSE);
}

void wait_check_string(const char *actual, const char *expected, const char *text, const char *file,
                       unsigned line) {
    const bool same = strcmp(actual, expected) == 0;

    if (!same)
        test_note("%s:%u: is \"%s\", not \"%s\"", file, line, actual, expected);
    (void)CU_assertImplementation(same, line, text, file, "", CU_FALSE);
}

void wait_check_range(long long actual, long long low, long long high, const char *text,
                      const char *file, unsigned line) {
    const bool inside = low <= actual && actual <= high;

    if (!inside)
        test_note("%s:%u: is %lld, not %lld to %lld", file, line, actual, low, high);
    (void)CU_assertImplementation(inside, line, text, file, "", CU_FALSE);
}

static bool add_cases(CU_pSuite suite, const char *wanted, const test_case *cases, size_t count) {
    size_t added = 0;

    for (size_t i = 0; i < count; i++) {
        if (wanted && !strstr(cases[i].claim, wanted))
            continue;
        if (!CU_add_test(suite, cases[i].claim, cases[i].run))
            return false;
        added++;
    }
    return added > 0;
}

int test_main(int argc, char **argv, const char *suite_name, const test_case *cases, size_t count) {
    int result = EXIT_FAILURE;

    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* on failure lines only come later */
    if (CU_initialize_registry() != CUE_SUCCESS)
        return EXIT_FAILURE;
    CU_pSuite suite = CU_add_suite_with_setup_and_teardown(suite_name, NULL, NULL, setup, teardown);
    if (!suite || !add_cases(suite, argc > 1 ? argv[1] : NULL, cases, count)) {
        fprintf(stderr, "%s: no such test\n", suite_name);
        goto fail_registry;
    }
    CU_basic_set_mode(CU_BRM_VERBOSE);
    if (CU_basic_run_tests() == CUE_SUCCESS && CU_get_number_of_failures() == 0)
        result = Skipped == CU_get_number_of_tests_run() ? SKIPPED : EXIT_SUCCESS;
    printf("%s: %u tests, %u failed, %zu skipped\n", suite_name, CU_get_number_of_tests_run(),
           CU_get_number_of_tests_failed(), Skipped);
fail_registry:
    CU_cleanup_registry();
    return result;
}
