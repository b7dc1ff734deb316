/*
 * fake_zoo - the client library's calls, in the program itself and so in place of the library's
 * own. One thread for each handle does what that library's two would. It says that the session is
 * connected, and answers requests in order, from a tiny server or as a test has ordered. Or, by
 * hand, nothing happens but what the test does.
 */
#ifndef UNIT_FAKE_ZOO_H
#define UNIT_FAKE_ZOO_H

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "support/main.h"
#include "support/wait.h"
#include "unit/tiny_server.h"

#define CALLS_MAX 512
#define FOREVER_AND_EVER (-1)
#define FAKE_OPS_MAX 8

struct call {
    enum kind kind;
    char path[ZKLI_PATH_MAX];
    int mode;
    const struct ACL_vector *acl;
    watcher_fn watcher;
    void *context;
    union {
        string_stat_completion_t create;
        string_completion_t parent;
        strings_stat_completion_t list;
        data_completion_t get;
        stat_completion_t stat;
        void_completion_t plain;
    } done;
    const void *data;
    /* MULTI */
    int op_count;
    zoo_op_t ops[FAKE_OPS_MAX];
    /* One that is nothing but a set. */
    char set_path[ZKLI_PATH_MAX];
    int set_version, set_length;
    char set_data[ZKLI_NODE_DATA_MAX];
    zoo_op_result_t *results; /* to be written into when it is answered */
};

struct _zhandle {
    watcher_fn watcher, node_watcher;
    void *context, *node_context;
    log_callback_fn log;
    clientid_t id;
    int timeout_ms;
    pthread_t thread;
    bool stops;
    struct call calls[CALLS_MAX];
    size_t call_count;
};

extern struct fake {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_by_hand;
    int first_state; /* told by the thread; 0: none */
    bool is_untold;  /* no: it has no memory to tell it */
    int init_error;  /* errno of init; 0: it succeeds */
    struct {
        int code; /* instead of what the server says */
        int times;
        int refusal; /* what the call itself returns */
        bool is_kept;
    } orders[KINDS];
    int set_hosts_code;
    bool is_close_kept;      /* zookeeper_close waits */
    char hosts[256];         /* as set last */
    struct sockaddr_in peer; /* where the connection goes; a family of 0: there is none */
    int peer_fd;             /* its socket, over which long reads are sent; -1: none */
    void (*at_nudge)(void);  /* called for a request that nobody waits for; or NULL */
    void (*at_state)(void);  /* called when the state is asked for; or NULL */
    struct tiny_server server;
    size_t served[KINDS], refused[KINDS];
    zhandle_t *handle; /* the newest */
    size_t inits, closes;
    int64_t last_session;
} Fake;

/* ---- What tests order ---- */

void fake_reset(void);
void fake_answer(enum kind kind, int code, int times);
void fake_refuse(enum kind kind, int code);
/* Requests of this kind, and those behind them, are not answered while they are kept. */
void fake_keep(enum kind kind, bool is_kept);
void fake_keep_close(bool is_kept);
void fake_fail_init(int error);
/* Whether one is there, unanswered. */
bool fake_has(enum kind kind);
/* How often a connection was begun, and ended. */
size_t fake_inits(void);
size_t fake_closes(void);
/* What was set last. */
bool fake_hosts_are(const char *hosts);
size_t fake_children(const char *path);
/* A node of another session. */
void fake_plant(const char *path);
/* Data for it, of the next version. */
void fake_set(const char *path, const char *text);
bool fake_has_data(const char *path, const char *text);
/* How many requests of this kind the server has had. */
size_t fake_served(enum kind kind);
/* And how many calls were refused. */
size_t fake_refused(enum kind kind);
/* Where the connection goes, by which socket. */
void fake_peer(const struct sockaddr_in *peer, int fd);
/* Tells of the session, on the caller's thread. */
void fake_state(int state);

/* ---- By hand ---- */

/* Takes the oldest request. */
struct call fake_take(void);
/* Calls its completion with what the server says, or, if that is a refusal, with this code. */
void fake_complete(const struct call *call, int code, const struct zkli_reply *reply);
/* The answer to a transaction, written as the client library does. The operation of this number is
 * refused; -1: none is. */
void fake_answer_multi(const struct call *call, int refused, int code);

/* ---- Sessions and locks on it, whose connection is there at once ---- */

#define HOSTS "h:1"
/* What a program may have left in a variable. */
#define STALE(type) ((type *)(void *)&Stale)
extern char Stale;

/* Resets the fake and opens a session on it. NULL: with defaults. */
zkl_session *fake_session(const char *hosts, const zkl_session_options *options);
zkl_lock *fake_lock(zkl_session *s, const char *name);
/* Closes both. */
void fake_end(zkl_session *s, zkl_lock *l);

#endif
