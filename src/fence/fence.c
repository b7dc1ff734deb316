/* The public calls on fences. One mutex guards a fence; with a file, the file's lock is inside. */
#include "fence/fence.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/process.h"
#include "base/thread.h"
#include "core/node_name.h"

struct zkl_fence {
    pthread_mutex_t mutex;   /* held between begin and end */
    _Atomic(uint64_t) owner; /* the thread that is there; 0: none */
    uint64_t process;        /* that has opened it */
    bool has_file;
    struct zkli_fence_file file;
    struct zkli_fence_marks marks;
};

static bool is_forked(const struct zkl_fence *f) {
    return f->process != zkli_process_number();
}

/* ---- Open, close ---- */

static zkl_err open_file(struct zkl_fence *f, const char *path, bool must_exist) {
    zkl_err err = zkli_fence_file_open(&f->file, path, must_exist);

    f->has_file = true;
    if (err != ZKL_OK)
        return err;
    err = zkli_fence_file_lock(&f->file);
    if (err != ZKL_OK)
        return err;
    err = zkli_fence_file_refresh(&f->file, &f->marks);
    zkli_fence_file_unlock(&f->file);
    return err;
}

static void free_fence(struct zkl_fence *f) {
    if (f->has_file)
        zkli_fence_file_close(&f->file);
    zkli_fence_marks_free(&f->marks);
    (void)pthread_mutex_destroy(&f->mutex);
    free(f);
}

/* A thread that is canceled with the fence's locks would keep all others out for good, and reading,
 * writing and syncing a file are points of cancellation. */
static int refuse_cancel(void) {
    int state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state;
}

static void allow_cancel(int state) {
    (void)pthread_setcancelstate(state, NULL);
}

static zkl_err fence_open(zkl_fence **ret_fence, const char *file, const zkl_fence_options *opts) {
    static const uint8_t zeros[sizeof(opts->reserved)];
    zkl_fence_options o;
    zkl_err err;

    if (ret_fence == NULL)
        return ZKL_INVALID;
    *ret_fence = NULL;
    if ((file != NULL && *file == '\0') || !zkli_options_copy(&o, sizeof(o), opts) ||
        memcmp(o.reserved, zeros, sizeof(zeros)) != 0)
        return ZKL_INVALID;
    struct zkl_fence *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return ZKL_NOMEM;
    if (pthread_mutex_init(&f->mutex, NULL) != 0) {
        free(f);
        return ZKL_NOMEM;
    }
    f->process = zkli_process_number();
    if (file != NULL) {
        err = open_file(f, file, o.must_exist);
        if (err != ZKL_OK) {
            free_fence(f);
            return err;
        }
    }
    *ret_fence = f;
    return ZKL_OK;
}

zkl_err zkl_fence_open(zkl_fence **ret_fence, const char *file, const zkl_fence_options *opts) {
    const int state = refuse_cancel();
    const zkl_err err = fence_open(ret_fence, file, opts);

    allow_cancel(state);
    return err;
}

zkl_err zkl_fence_close(zkl_fence *f) {
    if (f == NULL)
        return ZKL_OK;
    if (is_forked(f))
        return ZKL_FORKED;
    int state = refuse_cancel();
    free_fence(f);
    allow_cancel(state);
    return ZKL_OK;
}

/* ---- Check ---- */

static zkl_err let_in(struct zkl_fence *f, const char *name, int64_t token) {
    const int64_t highest = zkli_fence_marks_token(&f->marks, name);
    struct zkli_fence_mark *mark;
    zkl_err err = ZKL_OK;

    if (token < highest)
        return ZKL_STALE;
    if (token == highest)
        return f->has_file ? zkli_fence_file_prove(&f->file) : ZKL_OK;
    /* First the memory, which can be missing, then the disk. */
    err = zkli_fence_marks_get(&f->marks, name, &mark);
    if (err == ZKL_OK && f->has_file)
        err = zkli_fence_file_append(&f->file, &f->marks, name, token);
    if (err == ZKL_OK)
        mark->token = token;
    return err;
}

static void leave(struct zkl_fence *f) {
    atomic_store(&f->owner, 0);
    if (f->has_file)
        zkli_fence_file_unlock(&f->file);
    (void)pthread_mutex_unlock(&f->mutex);
}

static zkl_err begin(zkl_fence *f, const char *name, int64_t token) {
    zkl_err err = ZKL_OK;

    if (f == NULL || name == NULL || token <= 0 || !zkli_lock_name_is_valid(name))
        return ZKL_INVALID;
    if (is_forked(f))
        return ZKL_FORKED;
    if (atomic_load(&f->owner) == zkli_thread_number())
        return ZKL_DEADLOCK;
    (void)pthread_mutex_lock(&f->mutex); /* fails for an owner only */
    atomic_store(&f->owner, zkli_thread_number());
    if (f->has_file)
        err = zkli_fence_file_lock(&f->file);
    if (err == ZKL_OK && f->has_file)
        err = zkli_fence_file_refresh(&f->file, &f->marks);
    if (err == ZKL_OK)
        err = let_in(f, name, token);
    if (err != ZKL_OK)
        leave(f);
    return err;
}

zkl_err zkl_fence_begin(zkl_fence *f, const char *name, int64_t token) {
    const int state = refuse_cancel();
    const zkl_err err = begin(f, name, token);

    allow_cancel(state);
    return err;
}

zkl_err zkl_fence_end(zkl_fence *f) {
    if (f == NULL)
        return ZKL_INVALID;
    if (is_forked(f))
        return ZKL_FORKED;
    if (atomic_load(&f->owner) != zkli_thread_number())
        return ZKL_NOT_HELD;
    int state = refuse_cancel();
    leave(f);
    allow_cancel(state);
    return ZKL_OK;
}

zkl_err zkl_fence_check(zkl_fence *f, const char *name, int64_t token) {
    const int state = refuse_cancel();
    const zkl_err err = begin(f, name, token);

    if (err == ZKL_OK)
        leave(f);
    allow_cancel(state);
    return err;
}
