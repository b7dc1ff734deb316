/* CLOCK_BOOTTIME in milliseconds. */
#include "cli/clock.h"

#include <time.h>

int64_t cli_clock_ms(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_BOOTTIME, &now) != 0)
        return 0; /* Linux has had it since 2.6.39; there is no other way to fail */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
