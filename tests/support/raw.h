/*
 * A plain ZooKeeper client for tests: what an operator, another library or a bystander does to a
 * lock's nodes, and the means to end somebody's session. Synchronous; each call needs a server
 * that answers. Result codes are ZooKeeper's (0 is ZOK); zookeeper.h stays out of the tests.
 */
#ifndef SUPPORT_RAW_H
#define SUPPORT_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct raw raw;

/* The codes tests ask for; checked against zookeeper.h in raw.c. */
enum {
    RAW_OK = 0,
    RAW_NO_NODE = -101,
    RAW_NO_AUTH = -102,
    RAW_NODE_EXISTS = -110,
    RAW_NOT_EMPTY = -111,
    RAW_CONNECTION_LOSS = -4
};

enum {
    RAW_PERSISTENT = 0,
    RAW_EPHEMERAL = 1,
    RAW_SEQUENTIAL = 2,
    RAW_CONTAINER = 4
};

enum {
    RAW_PATH_MAX = 1024
};

typedef struct raw_stat {
    int64_t czxid, owner; /* owner: the session of an ephemeral node, else 0 */
    int version, cversion, children, data_len;
} raw_stat;

typedef struct raw_list {
    int code; /* RAW_OK, or why it is empty */
    size_t count;
    char **names; /* sorted by the number at the end, then by name */
} raw_list;

/* NULL: no session within 10 s. */
raw *raw_open(const char *hosts, int session_timeout_ms);
void raw_close(raw *r);
int64_t raw_session(raw *r);
/* Whether the session is over, or nobody can tell: then open another. */
bool raw_is_over(raw *r);

int raw_authenticate(raw *r, const char *scheme, const char *credentials);

/*
 * Creates a node, open to everybody. ret_path, of RAW_PATH_MAX bytes, gets its path with the
 * sequence number; may be NULL.
 */
int raw_create(raw *r, const char *path, const void *data, size_t len, int flags, char *ret_path);
/* A persistent node for every component of path that is missing. */
int raw_make_path(raw *r, const char *path);
/* Everybody may do what perms (ZooKeeper's bits: read 1, write 2, create 4, delete 8) says. On
 * return the leader judges writes by that, and the session's own server reads. */
int raw_restrict(raw *r, const char *path, int perms);
/* The scheme of the node's first ACL entry ("world", "digest"), "" when it cannot be read. */
void raw_acl_scheme(raw *r, const char *path, char *ret_scheme, size_t size);
int raw_delete(raw *r, const char *path);
/* With everything below it, however busy; RAW_OK also when it is not there. Not if it may not. */
int raw_delete_tree(raw *r, const char *path);
int raw_set(raw *r, const char *path, const void *data, size_t len);
/* *len: size of data, then how much there was. */
int raw_get(raw *r, const char *path, void *data, size_t *len, raw_stat *ret_stat);

/* false: not there (or not readable). ret_stat may be NULL. */
bool raw_stat_of(raw *r, const char *path, raw_stat *ret_stat);
bool raw_exists(raw *r, const char *path);
/* The children, none when there is no such node; free with raw_list_free. */
raw_list raw_children(raw *r, const char *path);
void raw_list_free(raw_list *list);
size_t raw_child_count(raw *r, const char *path);
/* How many children of path are ephemeral nodes of that session. */
size_t raw_owned_count(raw *r, const char *path, int64_t session);
/* "path/child" of the child at that place of raw_children; false: there are fewer. */
bool raw_child_path(raw *r, const char *path, size_t index, char *ret_path);

/*
 * Ends a session as its timeout would: takes it over with its id and password and closes it. The
 * owner hears of it at its next contact with a server. False: it could not be ended within 10 s.
 */
bool raw_expire(const char *hosts, int64_t session, const char password[16]);
/*
 * Creates an ephemeral node in a session, in the place of its owner, which has no connection and
 * gets none meanwhile. host: one server. path: with a number; at most RAW_PATH_MAX bytes.
 */
bool raw_create_in(const char *host, int64_t session, const char password[16], const char *path);

#endif
