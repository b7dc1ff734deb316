/*
 * zk_client_internal - what zk_client.c and zk_requests.c share: the port as it is behind
 * zk_port.h, and the numbers that the client library is handed as context.
 */
#ifndef ZKLI_ZK_ZK_CLIENT_INTERNAL_H
#define ZKLI_ZK_ZK_CLIENT_INTERNAL_H

#include <stdatomic.h>

#include <zookeeper/zookeeper.h>

#include "zk/zk_client.h"
#include "zk/zk_log.h"
#include "zk/zk_socket.h"
#include "zk/zk_table.h"
#include "zk/zk_transaction.h"

/*
 * The number of a request is its slot, with the last bits of a count. Each request of the slot
 * counts, and each one that the client library refuses counts twice. Where memory is short, that
 * library may refuse a request and still complete it, when the connection breaks. Such a stale
 * completion never has the number that its slot has then.
 */
#define ZKLI_SLOT_BITS 9
enum {
    ZKLI_SLOT_NEWS = ZKLI_SLOTS, /* what was no request: the session's news, and the nodes' */
    ZKLI_SLOT_PROBE,             /* a request of our own, to find the connection's socket; or to
                                    set an attached port's watch */
    ZKLI_CLIENT_SLOTS
};
_Static_assert(ZKLI_CLIENT_SLOTS <= 1 << ZKLI_SLOT_BITS, "there is a number for each");

struct zkli_client {
    struct zkli_port port;
    struct zkli_place place;
    struct zkli_client_config config;
    char *hosts;
    _Atomic(zhandle_t *) handle;
    atomic_bool is_authenticated;
    struct zkli_log log;
    /* Of an attached port: whether its watch stands, or is being set */
    atomic_bool is_armed, is_arming;
    /* To drop the connection */
    struct zkli_search search;
    atomic_size_t servers;    /* when they were last looked up */
    atomic_bool is_dropped;   /* and its end is not told yet */
    atomic_bool is_at_a_loss; /* it was to be dropped and could not be; the log has it */
    /* By slots */
    atomic_uint requests[ZKLI_CLIENT_SLOTS]; /* the count in their numbers */
    /* What the client library writes into, while it is lent */
    struct zkli_transaction *transactions[ZKLI_SLOTS]; /* set by put and take alone */
    zoo_op_result_t checks[ZKLI_SLOTS];                /* of a barrier */
    struct zkli_transaction *refused; /* a list: they may be completed all the same */
};

static inline struct zkli_client *zkli_client_of(struct zkli_port *port) {
    return ZKLI_CONTAINER(port, struct zkli_client, port);
}

/* ---- What is common to handles of ours and of the program's (zk_client.c) ---- */

/* NULL: out of memory. hosts is copied, if there are any. */
struct zkli_client *zkli_client_new_with(const struct zkli_port_ops *ops,
                                         const struct zkli_client_config *config);
void zkli_client_free(struct zkli_place *place);
int64_t zkli_client_session_id(struct zkli_port *port);
int zkli_client_timeout_ms(struct zkli_port *port);
void zkli_client_deliver_state(struct zkli_client *client, enum zkli_port_state state);
/* A watcher that knows session events only. */
void zkli_client_on_session_event(zhandle_t *handle, int type, int state, const char *path,
                                  void *context);
/* Has the library look at its connection. */
void zkli_client_nudge(zhandle_t *handle);

/* ---- Numbers (zk_requests.c) ---- */

/* A request in this slot begins: its context. */
void *zkli_client_context(struct zkli_client *client, unsigned slot);
/* For what comes again and again: always the same. */
void *zkli_client_news_context(struct zkli_client *client);
/* A delivery begins, which zkli_table_end ends. NULL: its port is closed, or its slot has a newer
 * request. */
struct zkli_client *zkli_client_begin(const void *context, unsigned *ret_number);
/* Whether this is no server's answer. */
bool zkli_client_is_lost(int code);
/* Whether it says that the session is over. */
bool zkli_client_is_end(int code);

/* ---- Requests (zk_requests.c): as in zk_port.h ---- */

void zkli_request_unwatch(struct zkli_port *port, const char *path, bool is_of_children);
bool zkli_request_create(struct zkli_port *port, unsigned slot, const char *path, const char *data,
                         size_t length, enum zkli_create_mode mode);
bool zkli_request_list(struct zkli_port *port, unsigned slot, const char *path, bool is_watched);
bool zkli_request_get(struct zkli_port *port, unsigned slot, const char *path, bool is_watched);
bool zkli_request_remove(struct zkli_port *port, unsigned slot, const char *path);
bool zkli_request_barrier(struct zkli_port *port, unsigned slot, const char *node);
bool zkli_request_sync(struct zkli_port *port, unsigned slot);
bool zkli_request_multi(struct zkli_port *port, unsigned slot, const struct zkli_op *ops,
                        size_t count);

#endif
