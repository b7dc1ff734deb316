/* See clock.h and wait.h. The only place of the tests that sleeps. */
#include "support/clock.h"
#include "support/wait.h"

#include <time.h>

int64_t clock_ns(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now); /* cannot fail on a kernel that has the clock */
    return (int64_t)now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}

int64_t clock_ms(void) {
    return clock_ns() / NS_PER_MS;
}

void wait_pause(void) {
    const struct timespec pause = {.tv_nsec = NS_PER_MS};

    (void)nanosleep(&pause, NULL); /* a signal that ends it early does no harm: callers poll */
}

void wait_out(int64_t ms) {
    const int64_t end_ms = clock_ms() + ms;

    while (clock_ms() < end_ms)
        wait_pause();
}
