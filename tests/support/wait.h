/*
 * Assertions, and waiting for a condition with a deadline. There is no other way to wait in these
 * tests: a sleep is either too short on a loaded machine or too long on every other one.
 *
 * All of these are for the thread that runs the test; CUnit leaves a test with longjmp.
 */
#ifndef SUPPORT_WAIT_H
#define SUPPORT_WAIT_H

#include <CUnit/CUnit.h>
#include <stdbool.h>

#include "support/clock.h"

/* What a machine with both cores busy may take for anything that normally takes milliseconds. */
#define SOON_MS 10000

/* One millisecond. */
void wait_pause(void);

/* CHECK goes on after a failure, REQUIRE leaves the test. */
#define CHECK(condition)                                                                           \
    ((void)CU_assertImplementation((condition), __LINE__, #condition, __FILE__, "", CU_FALSE))
#define REQUIRE(condition)                                                                         \
    ((void)CU_assertImplementation((condition), __LINE__, #condition, __FILE__, "", CU_TRUE))

/* Compares two integers and prints them when they differ. */
#define CHECK_INT(actual, expected)                                                                \
    wait_check_int((long long)(actual), (long long)(expected), #actual " == " #expected, __FILE__, \
                   __LINE__, false)
#define REQUIRE_INT(actual, expected)                                                              \
    wait_check_int((long long)(actual), (long long)(expected), #actual " == " #expected, __FILE__, \
                   __LINE__, true)
/* low <= actual <= high, printed when not. */
#define CHECK_RANGE(actual, low, high)                                                             \
    wait_check_range((long long)(actual), (long long)(low), (long long)(high),                     \
                     #low " <= " #actual " <= " #high, __FILE__, __LINE__)

/* Compares two strings and prints them when they differ. */
#define CHECK_STRING(actual, expected)                                                             \
    wait_check_string((actual), (expected), #actual " is " #expected, __FILE__, __LINE__)

/* Polls until the condition holds; leaves the test if it does not within so many milliseconds. */
#define WAIT_UNTIL(condition, ms)                                                                  \
    do {                                                                                           \
        const int64_t wait_end_ = clock_ms() + (ms);                                               \
        bool wait_met_ = (condition);                                                              \
        while (!wait_met_ && clock_ms() < wait_end_) {                                             \
            wait_pause();                                                                          \
            wait_met_ = (condition);                                                               \
        }                                                                                          \
        (void)CU_assertImplementation(wait_met_, __LINE__, "WAIT_UNTIL(" #condition ", " #ms ")",  \
                                      __FILE__, "", CU_TRUE);                                      \
    } while (0)

/* Lets so much time pass, for what has to happen in it, or must not. */
void wait_out(int64_t ms);

/* The condition holds now and at every look for so many milliseconds. */
#define CHECK_STAYS(condition, ms)                                                                 \
    do {                                                                                           \
        const int64_t stay_end_ = clock_ms() + (ms);                                               \
        bool stays_ = (condition);                                                                 \
        while (stays_ && clock_ms() < stay_end_) {                                                 \
            wait_pause();                                                                          \
            stays_ = (condition);                                                                  \
        }                                                                                          \
        (void)CU_assertImplementation(stays_, __LINE__, "CHECK_STAYS(" #condition ", " #ms ")",    \
                                      __FILE__, "", CU_FALSE);                                     \
    } while (0)

void wait_check_int(long long actual, long long expected, const char *text, const char *file,
                    unsigned line, bool fatal);
void wait_check_string(const char *actual, const char *expected, const char *text, const char *file,
                       unsigned line);
void wait_check_range(long long actual, long long low, long long high, const char *text,
                      const char *file, unsigned line);

#endif
