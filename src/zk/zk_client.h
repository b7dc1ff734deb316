/* zk_client - the port (zk_port.h) over ZooKeeper's own C client library. */
#ifndef ZKLI_ZK_CLIENT_H
#define ZKLI_ZK_CLIENT_H

#include <stdatomic.h>

#include "engine/zk_port.h"
#include "zklock.h"

struct _zhandle; /* the client library's zhandle_t */

/* hosts is copied; auth_scheme and auth are borrowed until the port is closed. */
struct zkli_client_config {
    const char *hosts;
    int timeout_ms;
    const char *auth_scheme; /* NULL: none */
    const char *auth;
    bool is_creator_acl;
    const struct zkli_port_receiver *receiver;
    atomic_int *last_errno; /* of what the client library could not do */
    void (*log)(void *arg, zkl_log_level level, const char *text); /* any thread */
    void *arg;                                                     /* of the receiver and of log */
};

/* NULL: out of memory. */
struct zkli_port *zkli_client_new(const struct zkli_client_config *config);
/* The same over a handle that the program has, which outlives the port. Nothing of config is of use
 * that is for opening a session. */
struct zkli_port *zkli_client_attach(const struct zkli_client_config *config,
                                     struct _zhandle *handle);
/* With the lock held under which requests are sent: whether the slot still waits for this reply.
 * False: the client library had refused the request, and has completed it all the same. */
bool zkli_client_awaits(struct zkli_port *port, unsigned slot, const struct zkli_reply *reply);
/* NULL: it is not open yet. */
struct _zhandle *zkli_client_handle(struct zkli_port *port);
/* Of a connected port: what it takes to resume the session elsewhere. */
void zkli_client_credentials(struct zkli_port *port, int64_t *ret_id, char ret_password[16]);

#endif
