/*
 * zk_transaction - a guarded write as the client library wants it: what may be asked for, how long
 * it is on the wire, and the memory that the client library writes into.
 */
#ifndef ZKLI_ZK_TRANSACTION_H
#define ZKLI_ZK_TRANSACTION_H

#include <zookeeper/zookeeper.h>

#include "engine/zk_port.h"
#include "zklock.h"

/* What the client library writes into when a transaction is answered: never the caller's memory,
 * for he may be gone by then. In one allocation with what the pointers point to; free it. */
struct zkli_transaction {
    size_t count; /* with the guard's check, which comes first */
    zoo_op_t *ops;
    zoo_op_result_t *results;
    struct Stat *stats;
};

/* NULL: out of memory. */
struct zkli_transaction *zkli_transaction_new(const struct zkli_guarded *write);
/* Gives the caller's operations their results. */
void zkli_transaction_copy_results(const struct zkli_transaction *t,
                                   const struct zkli_guarded *write);

#endif
