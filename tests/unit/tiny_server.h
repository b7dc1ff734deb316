/*
 * tiny_server - a ZooKeeper in memory, in a few lines: nodes with their numbers and owners, what a
 * request does to them and is answered, and watches that fire once. Two faces stand before it: a
 * port (engine_bench.h) and the client library's calls (fake_zoo.h). When a request is served, and
 * who hears of the answer and of a watch, is theirs.
 */
#ifndef UNIT_TINY_SERVER_H
#define UNIT_TINY_SERVER_H

#include "engine/engine_internal.h"

#define NODES_MAX 1024
/* When each node was made, by its clock. */
#define TINY_CTIME_MS INT64_C(1700000000000)
/* A path as asked for, and a number. */
#define NODE_PATH_MAX (ZKLI_PATH_MAX + 24)

/* Requests, in the order in which both faces count them. */
enum kind {
    CREATE, /* of a contender's node */
    PARENT, /* of a directory */
    LIST,
    GET,
    REMOVE,
    BARRIER, /* a transaction that only checks, or a delete that names a version */
    MULTI,   /* any other transaction */
    SYNC,
    EXISTS, /* a look for the connection's socket */
    AUTH,
    KINDS
};

struct node {
    char path[NODE_PATH_MAX]; /* "": a hole */
    int64_t czxid, owner;
    bool is_watched, is_list_watched; /* by a get; by a list */
    int32_t version;                  /* of the data */
    size_t length;
    char data[ZKLI_NODE_DATA_MAX];
};

struct tiny_server {
    struct node nodes[NODES_MAX];
    size_t node_count;
    int64_t zxid, number;
};

struct tiny_answer {
    struct zkli_reply reply; /* until the next request */
    bool fires;              /* the watch on the node that was removed */
};

/* NULL: there is none. */
struct node *tiny_find(struct tiny_server *s, const char *path);
struct node *tiny_add(struct tiny_server *s, const char *path, int64_t owner);
/* Whether a watch was on it. The node must exist. */
bool tiny_remove(struct tiny_server *s, const char *path);
/* Data of the next version; a node is made with none, of version 0. */
void tiny_set(struct node *node, const char *data, size_t length);
/* Whether a watch is on the children of the directory that this node is in; it is taken off. */
bool tiny_takes_list_watch(struct tiny_server *s, const char *path);
/* Whether there is a directory to make it in. */
bool tiny_has_parent(struct tiny_server *s, const char *path);
size_t tiny_children(const struct tiny_server *s, const char *directory);
/* Carries out one request of this session. */
struct tiny_answer tiny_serve(struct tiny_server *s, enum kind kind, const char *path,
                              int64_t session, bool is_watched);
void tiny_end_session(struct tiny_server *s, int64_t session);

#endif
