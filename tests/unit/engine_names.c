/* Of engine_bench.h: names of locks by the bucket of their directory. */
#include "unit/engine_bench.h"

void name_in_bucket(size_t bucket, unsigned from, unsigned step, char ret_name[BENCH_NAME_SIZE]) {
    for (unsigned i = from;; i += step) {
        char path[BENCH_NAME_SIZE + 8];
        (void)snprintf(ret_name, BENCH_NAME_SIZE, "n%u", i);
        (void)snprintf(path, sizeof(path), "/locks/%s", ret_name);
        if (zkli_bucket_of(path, strlen(path)) == bucket)
            return;
    }
}
