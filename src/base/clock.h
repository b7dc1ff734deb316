/* clock - the clocks that deadlines and leases go by. */
#ifndef ZKLI_BASE_CLOCK_H
#define ZKLI_BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Goes on while the machine is suspended. */
int64_t zkli_boottime_ns(void);
/* Does not; conditions wait by it. */
int64_t zkli_monotonic_ns(void);
struct timespec zkli_timespec(int64_t ns);
/* Whose waits are by that clock. */
bool zkli_condition_init(pthread_cond_t *condition);

#endif
