/* guard_set - guarded writes of one znode: the calls. They stand on guard.c. */
#include "lock/lock.h"

#include <string.h>

zkl_err zkli_write_run(struct zkl_lock *l, struct zkli_write *w) {
    zkl_err err = zkli_lock_begin_blocking(l);
    if (err != ZKL_OK)
        return err;
    zkli_lock_enter(l);
    err = zkli_write_begin(l, w);
    if (err == ZKL_OK) {
        err = zkli_operation_wait(&w->operation);
        zkli_operation_fini(&w->operation);
    }
    zkli_lock_leave(l);
    return err;
}

static bool is_valid(const char *path, const void *data, size_t len, int version) {
    return path != NULL && (data != NULL || len == 0) && len <= ZKL_GUARDED_SET_MAX &&
           version >= -1;
}

static struct zkli_op set_op(const char *path, const void *data, size_t len, int version) {
    return (struct zkli_op){.type = ZKLI_OP_SET,
                            .path = path,
                            .data = len > 0 ? data : "",
                            .length = (int32_t)len,
                            .version = version};
}

/* NULL: under the calling thread's hold. */
static zkl_err guarded_set(zkl_lock *l, const zkl_hold *hold, const char *path, const void *data,
                           size_t len, int version) {
    if (!is_valid(path, data, len, version))
        return ZKL_INVALID;
    struct zkli_op ops[] = {[1] = set_op(path, data, len, version)};
    struct zkli_write w = {.ops = ops,
                           .op_count = 2,
                           .is_set = true,
                           .is_by_hold = hold != NULL,
                           .hold = hold == NULL ? 0 : *hold};
    return zkli_write_run(l, &w);
}

zkl_err zkl_guarded_set(zkl_lock *l, const char *path, const void *data, size_t len, int version) {
    return guarded_set(l, NULL, path, data, len, version);
}

zkl_err zkl_guarded_set_hold(zkl_lock *l, zkl_hold hold, const char *path, const void *data,
                             size_t len, int version) {
    return guarded_set(l, &hold, path, data, len, version);
}

/* ---- Whose caller goes on ---- */

zkl_err zkli_write_begin_async(struct zkli_async *a, struct zkli_write *w) {
    w->is_by_hold = true;
    w->hold = a->hold;
    zkl_err err = zkli_write_begin(a->lock, w);
    if (err == ZKL_OK)
        zkli_async_follow(a, &w->operation);
    return err;
}

struct async_set {
    struct zkli_async async;
    struct zkli_write write;
    struct zkli_op ops[2];
    char bytes[]; /* of the data, and of the path */
};

static zkl_err set_begin(struct zkli_async *a) {
    return zkli_write_begin_async(a, &ZKLI_CONTAINER(a, struct async_set, async)->write);
}

zkl_err zkl_guarded_set_async(zkl_lock *l, zkl_hold hold, const char *path, const void *data,
                              size_t len, int version, zkl_done_fn done, void *arg) {
    zkl_err err;
    if (!is_valid(path, data, len, version))
        return ZKL_INVALID;
    size_t path_size = strlen(path) + 1;
    struct async_set *set = zkli_async_new(sizeof(*set) + len + path_size, l, done, arg, &err);
    if (set == NULL)
        return err;
    if (len > 0)
        memcpy(set->bytes, data, len);
    memcpy(set->bytes + len, path, path_size);
    set->ops[1] = set_op(set->bytes + len, set->bytes, len, version);
    set->write = (struct zkli_write){.ops = set->ops, .op_count = 2, .is_set = true};
    set->async.hold = hold;
    return zkli_async_start(&set->async, set_begin);
}
