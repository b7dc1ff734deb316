/* time - units. Times are signed 64-bit nanoseconds of one clock; which one, the caller knows. */
#ifndef ZKLI_BASE_TIME_H
#define ZKLI_BASE_TIME_H

#include <stdint.h>

#define ZKLI_NS_PER_US INT64_C(1000)
#define ZKLI_NS_PER_MS INT64_C(1000000)
#define ZKLI_NS_PER_S INT64_C(1000000000)

#endif
