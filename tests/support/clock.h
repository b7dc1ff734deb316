/* The clock of the tests: CLOCK_BOOTTIME, the one the lease of a hold is read on. */
#ifndef SUPPORT_CLOCK_H
#define SUPPORT_CLOCK_H

#include <stdint.h>

#define NS_PER_MS INT64_C(1000000)

int64_t clock_ns(void);
int64_t clock_ms(void);

#endif
