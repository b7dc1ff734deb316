/*
 * zklock_zookeeper.h - what programs that use ZooKeeper's own header want of zklock besides.
 *
 * It does not include <zookeeper/zookeeper.h>, and the types of the functions below are that
 * header's: zoo_op_t and zoo_op_result_t are these structs. Include it, fill them with its
 * zoo_set_op_init and so on, and link with the client library for these.
 */
#ifndef ZKLOCK_ZOOKEEPER_H
#define ZKLOCK_ZOOKEEPER_H

#include "zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

struct zoo_op;
struct zoo_op_result;

/* Operations in one transaction: it holds up every other write of the ensemble while it is looked
 * at. */
#define ZKL_GUARDED_OPS_MAX 64

/*
 * Does several operations at once, or none of them, if the calling thread's hold exists: as
 * zkl_guarded_set, for what zoo_multi does. ops: count of them, made by zoo_create_op_init,
 * zoo_delete_op_init, zoo_set_op_init or zoo_check_op_init; borrowed for the call, as are the
 * buffers they point to. Containers and nodes with a time to live cannot be created in this way:
 * ZooKeeper's client library misreads the answer. results: count of them, or NULL; written as
 * zoo_multi does when the servers have answered (ZKL_OK, ZKL_NO_NODE, ZKL_BAD_VERSION, ZKL_DENIED,
 * ZKL_SERVER, and ZKL_LOST if it was they who said so), else left as they are. A reply that is lost
 * with its connection is ZKL_UNSURE: nothing is done a second time.
 * **Returns:** as zkl_guarded_set, and what the first refused operation came to:
 * ZKL_NO_NODE, ZKL_BAD_VERSION, ZKL_DENIED; ZKL_SERVER: anything else, see results.
 * ZKL_LIMIT: more than ZKL_GUARDED_OPS_MAX operations, or too many bytes.
 * ZKL_UNSUPPORTED: an operation that is none of the four.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_guarded_multi(zkl_lock *l, int count, const struct zoo_op *ops,
                                               struct zoo_op_result *results);

#ifdef __cplusplus
}
#endif

#endif /* ZKLOCK_ZOOKEEPER_H */
