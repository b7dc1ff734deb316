/*
 * zk_port - the few things needed of ZooKeeper, as an interface: the client library is behind it
 * in production (zk_client.c), an ensemble in memory may be in a test.
 *
 * A port is one ZooKeeper session: opened once, expired or closed once. Requests are answered in
 * the order they were sent, on one thread, or never once the port is closed. Replies and news carry
 * slot numbers and the port itself, never pointers to what asked. What a request points to is
 * borrowed for the call that sends it.
 */
#ifndef ZKLI_ENGINE_ZK_PORT_H
#define ZKLI_ENGINE_ZK_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "core/multi.h"
#include "core/result.h"

/* At most so many requests in flight, besides the heartbeat, which stands behind them: a burst of
 * 10,000 delayed a heartbeat by 10 s. */
#define ZKLI_WINDOW 256
#define ZKLI_SLOT_HEARTBEAT ZKLI_WINDOW
#define ZKLI_SLOTS (ZKLI_WINDOW + 1)

/* At most so many bytes of data in flight for each millisecond of the session timeout T; but one
 * request with data is always sent. A heartbeat waits for what was sent before it: for T/60 at
 * most, where the servers commit 30 MB a second. Five servers on a network of 1 Gbit/s do, whose
 * leader sends each byte four times. Without the bound, 40 writers of 1 MB cost holds with T = 2 s.
 */
#define ZKLI_DATA_PER_MS (30000000 / 1000 / 60)

enum zkli_port_state {
    ZKLI_PORT_CONNECTED,  /* session id and timeout are known now */
    ZKLI_PORT_CONNECTING, /* the connection broke, or none was made yet */
    ZKLI_PORT_HEARD,      /* connected, but perhaps by the connection of before: this proves nothing
                              of the session */
    ZKLI_PORT_EXPIRED,    /* final */
    ZKLI_PORT_AUTH_FAILED, /* final */
    ZKLI_PORT_FAILED       /* final: it could not be made ready; another may be, after a while */
};

enum zkli_create_mode {
    ZKLI_EPHEMERAL_SEQUENTIAL,
    ZKLI_CONTAINER,
    ZKLI_PERSISTENT
};

enum zkli_watch_type {
    ZKLI_WATCH_DELETED,
    ZKLI_WATCH_CHANGED, /* its data */
    ZKLI_WATCH_CHILDREN /* one has come or gone */
};

/* Valid during the call that delivers it. */
struct zkli_reply {
    enum zkli_result result;
    unsigned request;                        /* the port's own number for the request */
    int code;                                /* the client library's, for the log */
    bool is_unimplemented;                   /* the server does not know the operation */
    const char *path;                        /* create: the path made */
    struct zkli_stat stat;                   /* create, get; list: the directory's */
    const struct zkli_op_result *op_results; /* multi: of each operation that was sent */
    size_t refused;        /* multi: index of the operation that was refused; or their number */
    char *const *children; /* list */
    size_t child_count;
    const char *data; /* get */
    size_t data_length;
};

struct zkli_port;

/* Where a port delivers, on a thread of its own: the receiver takes its own locks. */
struct zkli_port_receiver {
    void (*on_state)(void *arg, struct zkli_port *port, enum zkli_port_state state);
    void (*on_reply)(void *arg, struct zkli_port *port, unsigned slot,
                     const struct zkli_reply *reply);
    void (*on_watch)(void *arg, struct zkli_port *port, const char *path,
                     enum zkli_watch_type type); /* path NULL: it is not known which one fired */
};

/*
 * Requests never block and never deliver before they return; they are made only between CONNECTED
 * and the next final state, under the receiver's lock. False: not sent, no reply will come.
 */
struct zkli_port_ops {
    bool (*create)(struct zkli_port *port, unsigned slot, const char *path, const char *data,
                   size_t length, enum zkli_create_mode mode);
    /* With is_watched, a change after the reply is delivered by on_watch, once: to a list, a child
     * that comes or goes; to a get, other data; to both, the deletion. No watch is left if the node
     * is missing. */
    bool (*list)(struct zkli_port *port, unsigned slot, const char *path, bool is_watched);
    bool (*get)(struct zkli_port *port, unsigned slot, const char *path, bool is_watched);
    bool (*remove)(struct zkli_port *port, unsigned slot, const char *path);
    /* A write that changes nothing. OK: it was committed, and the node is there, if one is named;
     * no other answer says that anything was committed. A node has to be one that is ours. */
    bool (*barrier)(struct zkli_port *port, unsigned slot, const char *node);
    /* A request that goes to the leader and back, behind what was sent before. OK: by a server that
     * is the leader, or was. */
    bool (*sync)(struct zkli_port *port, unsigned slot);
    /* All of the operations, which zkli_multi_check has taken, or none. OK: committed. False also
     * where memory is short, or where the connection has gone and on_state is about to say so. */
    bool (*multi)(struct zkli_port *port, unsigned slot, const struct zkli_op *ops, size_t count);
    /* Of the session; only when there has been a connection. */
    int64_t (*session_id)(struct zkli_port *port);
    int (*timeout_ms)(struct zkli_port *port);

    /* Ends the connection, so that the client goes to another server: CONNECTING follows. False:
     * nothing was done, for there is no other server, or it is not known for certain which of the
     * process's sockets is the connection's. NULL: this one cannot. */
    bool (*drop)(struct zkli_port *port);
    /* Before drop can know the socket, prepare has to look for it: more than once on a connection,
     * each time when a request has been answered. NULL: no need. */
    bool (*wants_preparing)(struct zkli_port *port);

    /* These may block: on a thread without locks, one at a time for a port. */
    void (*prepare)(struct zkli_port *port);
    bool (*open)(struct zkli_port *port); /* false: could not start, close it */
    /* Without a chroot. False: not taken, try again. */
    bool (*set_hosts)(struct zkli_port *port, const char *hosts);
    void (*close)(struct zkli_port *port); /* ends the session, unless it is attached; frees the
                                              port; nothing is delivered after its return */
    /* At any time, and without a request: a watch that stands is forgotten. NULL: this one ends its
     * session when it is closed, and its watches with it. */
    void (*unwatch)(struct zkli_port *port, const char *path, bool is_of_children);
    /* As requests, but at any time: has a port go on that has stopped, and returns how it is. NULL:
     * this one neither stops nor fails to deliver its state. */
    enum zkli_port_state (*look)(struct zkli_port *port);
};

/* What the host has to do with the port in the background. */
enum {
    ZKLI_PORT_OPEN = 1u << 0,
    ZKLI_PORT_SET_HOSTS = 1u << 1,
    ZKLI_PORT_CLOSE = 1u << 2,
    ZKLI_PORT_PREPARE = 1u << 3
};

struct zkli_port {
    const struct zkli_port_ops *ops;
    struct zkli_list jobs_link; /* the host's */
    unsigned jobs;
    struct zkli_list lent_link; /* in the host's list, while the program has its handle */
    unsigned loans;
    bool is_close_owed; /* when it is back */
    char *new_hosts;    /* to be set, or NULL */
};

#endif
