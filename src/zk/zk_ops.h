/*
 * zk_ops - operations of a program that has the client library's header: taken over into our own
 * words, and their results given back in that library's.
 */
#ifndef ZKLI_ZK_ZK_OPS_H
#define ZKLI_ZK_ZK_OPS_H

#include "core/multi.h"

struct zoo_op; /* that library's; a caller that only passes them on needs no more */
struct zoo_op_result;

/* In one allocation with the access lists; paths, data and names are borrowed from the caller. */
struct zkli_ops {
    size_t count; /* with the first place, which is left for a guard's check */
    /* ZKL_OK: all are here. Else what is wrong with the one that would come next: ZKL_INVALID,
     * ZKL_UNSUPPORTED, ZKL_LIMIT. */
    zkl_err error;
    struct zkli_op ops[];
};

/* NULL: out of memory. To be freed. */
struct zkli_ops *zkli_ops_import(const struct zoo_op *ops, size_t count);
/* As zoo_multi writes results, into what the operations and results of the caller point to. */
void zkli_ops_export(const struct zkli_op_result *results, size_t count, const struct zoo_op *ops,
                     struct zoo_op_result *ret_results);

#endif
