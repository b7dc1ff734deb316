/* Fences as the tests open them. */
#ifndef SUPPORT_FENCE_H
#define SUPPORT_FENCE_H

#include <zklock.h>

#include "support/wait.h"

static inline zkl_fence *fence_open(const char *file) {
    zkl_fence *f = NULL;

    REQUIRE_INT(zkl_fence_open(&f, file, NULL), ZKL_OK);
    return f;
}

/* Opens the file, which must be readable, and shows it one token. */
static inline zkl_err check_anew(const char *file, const char *name, int64_t token) {
    zkl_fence *f = fence_open(file);
    const zkl_err err = zkl_fence_check(f, name, token);

    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    return err;
}

static inline zkl_err open_and_close(const char *file) {
    zkl_fence *f = NULL;
    const zkl_err err = zkl_fence_open(&f, file, NULL);

    (void)zkl_fence_close(f);
    return err;
}

#endif
