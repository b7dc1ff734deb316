/*
 * zk_transaction - a transaction as the client library wants it: our operations in its words, and
 * the memory that it writes the results into.
 */
#ifndef ZKLI_ZK_ZK_TRANSACTION_H
#define ZKLI_ZK_ZK_TRANSACTION_H

#include <zookeeper/zookeeper.h>

#include "core/multi.h"

/* What the client library writes into when a transaction is answered. It is never the caller's
 * memory, for the caller may be gone by then. In one allocation with what the pointers point to;
 * free it. */
struct zkli_transaction {
    struct zkli_transaction *next; /* in a list of the port's */
    unsigned number;               /* of its request */
    size_t count;
    /* For the call that sends them; what they point to is the caller's. */
    zoo_op_t *ops;
    zoo_op_result_t *results;
    /* The same in our words, once they are read. */
    struct zkli_op_result *read_results;
    struct zkli_stat *read_stats;
};

/* Puts it into the place of its slot, as that of the request with this number. */
void zkli_transaction_put(struct zkli_transaction **place, struct zkli_transaction *t,
                          unsigned number);
/* Takes it out again, on any thread. NULL: the place has no transaction with this number. */
struct zkli_transaction *zkli_transaction_take(struct zkli_transaction **place, unsigned number);

/* ours: for the creates that have our ACL. NULL: out of memory. */
struct zkli_transaction *zkli_transaction_new(const struct zkli_op *ops, size_t count,
                                              const struct ACL_vector *ours);
/* When it was answered: reads the results. Returns which operation was refused; their number if it
 * was none of them. */
size_t zkli_transaction_read(struct zkli_transaction *t);
/* NULL: all of it is 0. */
struct zkli_stat zkli_stat_of(const struct Stat *stat);

#endif
