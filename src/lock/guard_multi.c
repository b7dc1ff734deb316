/*
 * guard_multi - guarded writes of a program that has ZooKeeper's own header. Its operations come in
 * through zk_ops, and what they came to goes out there. guard.c knows our own words alone.
 */
#include <stdlib.h>

#include "lock/lock.h"
#include "zk/zk_ops.h"
#include "zklock_zookeeper.h"

_Static_assert(ZKL_GUARDED_OPS_MAX + 1 == ZKLI_TRANSACTION_OPS_MAX, "the header names the limit");

struct multi {
    struct zkli_write write;
    const struct zoo_op *ops; /* the caller's */
    struct zoo_op_result *results;
};

static void on_answer(struct zkli_write *w, const struct zkli_reply *reply) {
    const struct multi *multi = ZKLI_CONTAINER(w, struct multi, write);
    if (multi->results != NULL)
        zkli_ops_export(reply->op_results + 1, w->op_count - 1, multi->ops, multi->results);
}

static struct multi multi_of(struct zkli_ops *imported, const struct zoo_op *ops,
                             struct zoo_op_result *results) {
    return (struct multi){.write = {.ops = imported->ops,
                                    .op_count = imported->count,
                                    .ops_error = imported->error,
                                    .on_answer = on_answer},
                          .ops = ops,
                          .results = results};
}

/* NULL: under the calling thread's hold. */
static zkl_err guarded_multi(zkl_lock *l, const zkl_hold *hold, int count, const struct zoo_op *ops,
                             struct zoo_op_result *results) {
    if (count < 1 || ops == NULL)
        return ZKL_INVALID;
    struct zkli_ops *imported = zkli_ops_import(ops, (size_t)count);
    if (imported == NULL)
        return ZKL_NOMEM;
    struct multi multi = multi_of(imported, ops, results);
    multi.write.is_by_hold = hold != NULL;
    multi.write.hold = hold == NULL ? 0 : *hold;
    zkl_err err = zkli_write_run(l, &multi.write);
    free(imported);
    return err;
}

zkl_err zkl_guarded_multi(zkl_lock *l, int count, const struct zoo_op *ops,
                          struct zoo_op_result *results) {
    return guarded_multi(l, NULL, count, ops, results);
}

zkl_err zkl_guarded_multi_hold(zkl_lock *l, zkl_hold hold, int count, const struct zoo_op *ops,
                               struct zoo_op_result *results) {
    return guarded_multi(l, &hold, count, ops, results);
}

/* ---- Whose caller goes on ---- */

struct async_multi {
    struct zkli_async async;
    struct multi multi;
};

static zkl_err multi_begin(struct zkli_async *a) {
    return zkli_write_begin_async(a, &ZKLI_CONTAINER(a, struct async_multi, async)->multi.write);
}

zkl_err zkl_guarded_multi_async(zkl_lock *l, zkl_hold hold, int count, const struct zoo_op *ops,
                                struct zoo_op_result *results, zkl_done_fn done, void *arg) {
    zkl_err err;
    if (count < 1 || ops == NULL)
        return ZKL_INVALID;
    struct async_multi *m = zkli_async_new(sizeof(*m), l, done, arg, &err);
    if (m == NULL)
        return err;
    struct zkli_ops *imported = zkli_ops_import(ops, (size_t)count);
    if (imported == NULL) {
        zkli_async_drop(&m->async);
        return ZKL_NOMEM;
    }
    m->async.hold = hold;
    m->async.owned = imported;
    m->multi = multi_of(imported, ops, results);
    return zkli_async_start(&m->async, multi_begin);
}
