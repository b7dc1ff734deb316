/* clock - see clock.h. */
#include "base/clock.h"

#include "base/time.h"

static int64_t read_ns(clockid_t clock) {
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return now.tv_sec * ZKLI_NS_PER_S + now.tv_nsec;
}

int64_t zkli_boottime_ns(void) {
    return read_ns(CLOCK_BOOTTIME);
}

int64_t zkli_monotonic_ns(void) {
    return read_ns(CLOCK_MONOTONIC);
}

struct timespec zkli_timespec(int64_t ns) {
    return (struct timespec){ns / ZKLI_NS_PER_S, ns % ZKLI_NS_PER_S};
}

bool zkli_condition_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool is_made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                   pthread_cond_init(condition, &attributes) == 0;
    (void)pthread_condattr_destroy(&attributes);
    return is_made;
}
