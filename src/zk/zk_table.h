/*
 * zk_table - what the client library is handed as context: numbers, for which this table says the
 * port, and which request of the port's.
 *
 * A completion or a watch may come when its port is closed already, if the library's handle lives
 * on. Its number then stands for a closed port, or for none, and it is ignored. A pointer would
 * stand for freed memory.
 */
#ifndef ZKLI_ZK_ZK_TABLE_H
#define ZKLI_ZK_ZK_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Bits of a request's number within its port: 25 or, where a pointer has 32 bits, 13. */
#define ZKLI_TABLE_BITS (UINTPTR_MAX > UINT_MAX ? 25 : 13)
#define ZKLI_TABLE_NUMBERS (1u << ZKLI_TABLE_BITS)

/* A port's, in the port. */
struct zkli_place {
    struct zkli_place *next; /* in its bucket */
    uintptr_t id;
    unsigned deliveries; /* under way */
    unsigned lent;       /* requests in flight whose results the library writes into the port */
    bool is_closed;
    void (*free)(struct zkli_place *place); /* NULL: not dropped */
};

/* With an id that no port in the table has or had. (Where a pointer has 32 bits, ids begin anew
 * after half a million ports.) */
void zkli_table_add(struct zkli_place *place);
/* number: below ZKLI_TABLE_NUMBERS. */
void *zkli_table_context(const struct zkli_place *place, unsigned number);
/* A delivery begins; NULL: the port is gone. Without ret_is_open a closed one is gone, too. The
 * place stays until the delivery is ended. */
struct zkli_place *zkli_table_begin(const void *context, unsigned *ret_number, bool *ret_is_open);
void zkli_table_end(struct zkli_place *place);
/* Before a request whose results are written into the port. It is given back in the delivery of its
 * reply, or at once if none will come. */
void zkli_table_lend(struct zkli_place *place);
void zkli_table_give_back(struct zkli_place *place);
/* From now on the port is closed to deliveries that begin. Returns when those under way have ended:
 * never to be called in one. */
void zkli_table_close(struct zkli_place *place);
/* After close: takes the place out of the table and has it freed, when all that was lent is back.
 * With is_over that is now: the handle is closed and its threads are gone. */
void zkli_table_drop(struct zkli_place *place, bool is_over,
                     void (*free_place)(struct zkli_place *place));

#endif
