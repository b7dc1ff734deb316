/*
 * zklock_zookeeper.h - more of zklock, for programs that use ZooKeeper's own header.
 *
 * This header does not include <zookeeper/zookeeper.h>, which declares the types of the functions
 * below. Its zoo_op_t and zoo_op_result_t are the structs zoo_op and zoo_op_result. Include it, and
 * fill them with its zoo_set_op_init and so on. Link with the client library for these functions.
 */
#ifndef ZKLOCK_ZOOKEEPER_H
#define ZKLOCK_ZOOKEEPER_H

#include "zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

struct zoo_op;
struct zoo_op_result;

/* The most operations in one transaction. It holds up every other write of the ensemble while the
 * leader looks at it. */
#define ZKL_GUARDED_OPS_MAX 64

/*
 * Does several operations at once, or none of them, if the calling thread's hold exists. It is to
 * zoo_multi what zkl_guarded_set is to zoo_set.
 *
 * There are count operations in ops. They are made by zoo_create_op_init, zoo_delete_op_init,
 * zoo_set_op_init or zoo_check_op_init. They and the buffers they point to are borrowed for the
 * call. Containers and nodes with a time to live cannot be created in this way: ZooKeeper's client
 * library misreads the answer.
 *
 * The results are count of them, or NULL. They are written as zoo_multi does when the servers have
 * answered, and else left as they are. The servers have answered on ZKL_OK, ZKL_NO_NODE,
 * ZKL_BAD_VERSION, ZKL_DENIED and ZKL_SERVER, and on ZKL_LOST if that is what they said.
 *
 * A reply that is lost with its connection is ZKL_UNSURE: nothing is done a second time. A session
 * in which ephemeral nodes were created is kept while it rests, see keep_session.
 * **Returns:** as zkl_guarded_set.
 * ZKL_NO_NODE, ZKL_BAD_VERSION, ZKL_DENIED: what the first refused operation came to.
 * ZKL_SERVER: the first refused operation came to anything else, see results.
 * ZKL_LIMIT: more than ZKL_GUARDED_OPS_MAX operations, or too many bytes.
 * ZKL_UNSUPPORTED: an operation that is none of the four.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_guarded_multi(zkl_lock *l, int count, const struct zoo_op *ops,
                                               struct zoo_op_result *results);
/* The same for a given hold. It blocks. */
ZKL_API ZKL_MUST_USE zkl_err zkl_guarded_multi_hold(zkl_lock *l, zkl_hold hold, int count,
                                                    const struct zoo_op *ops,
                                                    struct zoo_op_result *results);
/*
 * The same, which returns at once: as zkl_guarded_set_async is to zkl_guarded_set. The operations,
 * what they point to, and the results are borrowed until done is called.
 * **Returns:** as zkl_guarded_set_async; ZKL_UNSUPPORTED.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_guarded_multi_async(zkl_lock *l, zkl_hold hold, int count,
                                                     const struct zoo_op *ops,
                                                     struct zoo_op_result *results,
                                                     zkl_done_fn done, void *arg);

#ifdef __cplusplus
}
#endif

#endif /* ZKLOCK_ZOOKEEPER_H */
