/*
 * T27: the time of day may be set back or forth while somebody waits or holds. This program's own
 * clock functions stand before the C library's, which is how the day is changed without rights.
 */
#include "support/client.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define DAY_S INT64_C(86400)
#define TIMEOUT_MS 1000
#define SLACK_MS 500

static atomic_int_fast64_t Shift_s; /* of the time of day */

static void *next_symbol(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret) {
    static int (*_Atomic next)(clockid_t, struct timespec *);
    int (*fn)(clockid_t, struct timespec *) = atomic_load(&next);
    int result;

    if (!fn) {
        void *symbol = next_symbol("clock_gettime");

        memcpy(&fn, &symbol, sizeof(fn));
        atomic_store(&next, fn);
    }
    result = fn(clock, ret);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        ret->tv_sec += atomic_load(&Shift_s);
    return result;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict ret,
                                                        void *restrict zone) {
    struct timespec now;

    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *ret = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *ret) {
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}

static void set_day(int64_t days) {
    atomic_store(&Shift_s, days * DAY_S);
}

static void ours_are_the_clocks_that_are_asked(void) {
    const time_t before = time(NULL);

    set_day(2);
    CHECK_RANGE(time(NULL) - before, 2 * DAY_S, 2 * DAY_S + 10);
    set_day(0);
}

static void a_deadline_is_where_it_was(void) {
    static const int64_t days[] = {1, -1, 365, -365};
    const char *name = fresh_name("deadline");
    client *c = client_open(name, T_LONG);
    char holder[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++) {
        client_begin(c, TIMEOUT_MS);
        WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
        set_day(days[i]);
        CHECK_INT(client_result(c), ZKL_TIMEOUT);
        CHECK_RANGE(actor_took_ms(c->actor), TIMEOUT_MS - 1, TIMEOUT_MS + SLACK_MS);
        set_day(0);
        WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    }
    client_close(c);
    uproot(holder);
}

/* Nor is one that has already passed by the new time. */
static void a_hold_is_neither_lost_nor_longer(void) {
    static const int64_t days[] = {1, -2, 3, -4};
    client *c = client_open_proxied(fresh_name("hold"), T_NORMAL);
    int64_t silent_ns;
    zkl_hold hold;

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    hold = actor_hold(c->actor, c->lock);
    for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++) {
        set_day(days[i]);
        CHECK_STAYS(zkl_hold_valid(c->lock, hold), T_NORMAL / 4);
    }
    CHECK_INT(client_told(c, ZKL_EVENT_LOST) + client_told(c, ZKL_EVENT_SUSPENDED), 0);
    client_silence(c, true);
    silent_ns = clock_ns();
    set_day(-5);
    WAIT_UNTIL(!zkl_hold_valid(c->lock, hold), SOON_MS);
    CHECK_RANGE((clock_ns() - silent_ns) / NS_PER_MS, 0, T_NORMAL);
    set_day(0);
    client_silence(c, false);
    client_close(c);
}

static const test_case Cases[] = {
    {"the time of day is what this program says", ours_are_the_clocks_that_are_asked},
    {"a new time of day moves no deadline (T27)", a_deadline_is_where_it_was},
    {"a new time of day ends no hold and extends none (T27)", a_hold_is_neither_lost_nor_longer},
};

static void reset_day(void) {
    set_day(0);
    fixture_recover();
}

int main(int argc, char **argv) {
    fixture_start(NULL);
    test_after_each(reset_day);
    return TEST_MAIN(argc, argv, "wall_clock", Cases);
}
