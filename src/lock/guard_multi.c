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

zkl_err zkl_guarded_multi(zkl_lock *l, int count, const struct zoo_op *ops,
                          struct zoo_op_result *results) {
    if (count < 1 || ops == NULL)
        return ZKL_INVALID;
    struct zkli_ops *imported = zkli_ops_import(ops, (size_t)count);
    if (imported == NULL)
        return ZKL_NOMEM;
    struct multi multi = {.write = {.ops = imported->ops,
                                    .op_count = imported->count,
                                    .ops_error = imported->error,
                                    .on_answer = on_answer},
                          .ops = ops,
                          .results = results};
    zkl_err err = zkli_write_run(l, &multi.write);
    free(imported);
    return err;
}
