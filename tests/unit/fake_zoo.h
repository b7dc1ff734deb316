/*
 * The client library's calls, in the program itself and so in the place of the library's own. One
 * thread for each handle does what that library's two would: it says that the session is connected,
 * and answers requests in order, from a tiny server or as a test has ordered. Or, by hand, nothing
 * happens but what the test does.
 */
#ifndef UNIT_FAKE_ZOO_H
#define UNIT_FAKE_ZOO_H

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <zookeeper/zookeeper.h>

#include "support/main.h"
#include "unit/tiny_server.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CALLS_MAX 512
#define FOREVER_AND_EVER (-1)
#define FAKE_OPS_MAX 8

/* The library looks names up as the client library would; here none is asked for. Each host has one
 * address. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret_info) {
    static struct sockaddr_in address = {.sin_family = AF_INET};
    static struct addrinfo info = {.ai_family = AF_INET,
                                   .ai_addr = (struct sockaddr *)&address,
                                   .ai_addrlen = sizeof(address)};
    (void)name;
    (void)service;
    (void)hints;
    *ret_info = &info;
    return 0;
}

void freeaddrinfo(struct addrinfo *info) {
    (void)info;
}

enum kind {
    CREATE, /* of a contender's node */
    PARENT, /* of a directory */
    LIST,
    GET,
    REMOVE,
    BARRIER, /* a delete that names a version, or a transaction that only checks */
    MULTI,   /* any other transaction */
    AUTH,
    KINDS
};

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
        strings_completion_t list;
        data_completion_t get;
        void_completion_t plain;
    } done;
    const void *data;
    /* MULTI */
    int op_count;
    zoo_op_t ops[FAKE_OPS_MAX];
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

static struct {
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
    bool is_close_kept;     /* zookeeper_close waits */
    char hosts[256];        /* as set last */
    void (*at_state)(void); /* called when the state is asked for; or NULL */
    struct tiny_server server;
    zhandle_t *handle; /* the newest */
    size_t inits, closes;
    int64_t last_session;
} Fake = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- What tests order ---- */

static inline void fake_reset(void) {
    (void)pthread_mutex_lock(&Fake.mutex);
    memset(Fake.orders, 0, sizeof(Fake.orders));
    memset(&Fake.server, 0, sizeof(Fake.server));
    Fake.is_by_hand = false;
    Fake.first_state = ZOO_CONNECTED_STATE;
    Fake.is_untold = false;
    Fake.init_error = Fake.set_hosts_code = 0;
    Fake.inits = Fake.closes = 0;
    Fake.is_close_kept = false;
    Fake.hosts[0] = '\0';
    Fake.at_state = NULL;
    (void)pthread_mutex_unlock(&Fake.mutex);
}

static inline void fake_answer(enum kind kind, int code, int times) {
    (void)pthread_mutex_lock(&Fake.mutex);
    Fake.orders[kind].code = code;
    Fake.orders[kind].times = times;
    (void)pthread_mutex_unlock(&Fake.mutex);
}

static inline void fake_refuse(enum kind kind, int code) {
    (void)pthread_mutex_lock(&Fake.mutex);
    Fake.orders[kind].refusal = code;
    (void)pthread_mutex_unlock(&Fake.mutex);
}

/* Requests of this kind, and those behind them, are not answered while they are kept. */
static inline void fake_keep(enum kind kind, bool is_kept) {
    (void)pthread_mutex_lock(&Fake.mutex);
    Fake.orders[kind].is_kept = is_kept;
    (void)pthread_cond_broadcast(&Fake.changed);
    (void)pthread_mutex_unlock(&Fake.mutex);
}

static inline void fake_keep_close(bool is_kept) {
    (void)pthread_mutex_lock(&Fake.mutex);
    Fake.is_close_kept = is_kept;
    (void)pthread_cond_broadcast(&Fake.changed);
    (void)pthread_mutex_unlock(&Fake.mutex);
}

static inline void fake_fail_init(int error) {
    (void)pthread_mutex_lock(&Fake.mutex);
    Fake.init_error = error;
    (void)pthread_mutex_unlock(&Fake.mutex);
}

/* How often a connection was begun. */
static inline size_t fake_inits(void) {
    (void)pthread_mutex_lock(&Fake.mutex);
    size_t inits = Fake.inits;
    (void)pthread_mutex_unlock(&Fake.mutex);
    return inits;
}

static inline size_t fake_closes(void) {
    (void)pthread_mutex_lock(&Fake.mutex);
    size_t closes = Fake.closes;
    (void)pthread_mutex_unlock(&Fake.mutex);
    return closes;
}

/* What was set last. */
static inline bool fake_hosts_are(const char *hosts) {
    (void)pthread_mutex_lock(&Fake.mutex);
    bool are = strcmp(Fake.hosts, hosts) == 0;
    (void)pthread_mutex_unlock(&Fake.mutex);
    return are;
}

/* Whether one is there, unanswered. */
static inline bool fake_has(enum kind kind) {
    bool is_there = false;
    (void)pthread_mutex_lock(&Fake.mutex);
    for (size_t i = 0; Fake.handle != NULL && i < Fake.handle->call_count; i++)
        is_there = is_there || Fake.handle->calls[i].kind == kind;
    (void)pthread_mutex_unlock(&Fake.mutex);
    return is_there;
}

static inline size_t fake_children(const char *path) {
    (void)pthread_mutex_lock(&Fake.mutex);
    size_t count = count_children(&Fake.server, path);
    (void)pthread_mutex_unlock(&Fake.mutex);
    return count;
}

static inline void fake_plant(const char *path) {
    (void)pthread_mutex_lock(&Fake.mutex);
    (void)add_node(&Fake.server, path, 99);
    (void)pthread_mutex_unlock(&Fake.mutex);
}

/* Tells of the session, on the caller's thread. */
static inline void fake_state(int state) {
    if (state == ZOO_EXPIRED_SESSION_STATE) {
        (void)pthread_mutex_lock(&Fake.mutex);
        remove_nodes_of(&Fake.server, Fake.handle->id.client_id);
        Fake.handle->call_count = 0;
        (void)pthread_mutex_unlock(&Fake.mutex);
    }
    Fake.handle->watcher(Fake.handle, ZOO_SESSION_EVENT, state, "", Fake.handle->context);
}

/* By hand: takes the oldest request. */
static inline struct call fake_take(void) {
    (void)pthread_mutex_lock(&Fake.mutex);
    struct call call = {.kind = KINDS};
    if (Fake.handle->call_count > 0) {
        call = Fake.handle->calls[0];
        memmove(&Fake.handle->calls[0], &Fake.handle->calls[1],
                --Fake.handle->call_count * sizeof(call));
    }
    (void)pthread_mutex_unlock(&Fake.mutex);
    return call;
}

/* By hand: the answer to a transaction, written as the client library does. The operation of this
 * number is refused; -1: none is. */
static inline void fake_answer_multi(const struct call *call, int refused, int code) {
    for (int i = 0; i < call->op_count; i++) {
        const zoo_op_t *op = &call->ops[i];
        zoo_op_result_t *result = &call->results[i];
        result->err = refused < 0 || i < refused ? ZOK
                      : i == refused             ? code
                                                 : ZRUNTIMEINCONSISTENCY;
        if (op->type == ZOO_CREATE_OP && refused < 0)
            (void)snprintf(result->value, (size_t)result->valuelen, "%s", "/made-0000000007");
        else
            result->value = NULL;
        if (op->type == ZOO_SETDATA_OP && refused < 0)
            *result->stat = (struct Stat){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
        else
            result->stat = NULL;
    }
    call->done.plain(code, call->data);
}

/* ---- The thread ---- */

static inline int fake_code(enum zkli_result result) {
    return result == ZKLI_RESULT_OK ? ZOK : result == ZKLI_RESULT_EXISTS ? ZNODEEXISTS : ZNONODE;
}

/* Called with the mutex held, which it releases for the completion. */
static inline void fake_complete(zhandle_t *handle, const struct call *call, int code) {
    static char *children[CHILDREN_MAX];
    struct String_vector list = {0, children};
    struct node *node = find_node(&Fake.server, call->path);
    if (code == ZOK && (call->kind == CREATE || call->kind == PARENT))
        code = fake_code(make_node(&Fake.server, call->path,
                                   call->kind == CREATE ? handle->id.client_id : 0, &node));
    size_t count = 0;
    if (code == ZOK && call->kind == LIST)
        code = fake_code(list_children(&Fake.server, call->path, children, &count));
    list.count = (int32_t)count;
    bool needs_node = call->kind == GET || call->kind == REMOVE || call->kind == BARRIER;
    if (code == ZOK && needs_node && node == NULL)
        code = ZNONODE;
    char path[NODE_PATH_MAX] = "";
    struct Stat stat = {0};
    if (node != NULL) {
        memcpy(path, node->path, sizeof(path));
        stat.czxid = node->czxid;
        stat.ephemeralOwner = node->owner;
    }
    if (code == ZOK && call->kind == GET && call->watcher != NULL) {
        node->is_watched = true;
        handle->node_watcher = call->watcher;
        handle->node_context = call->context;
    }
    bool fires = code == ZOK && call->kind == REMOVE && node->is_watched;
    if (code == ZOK && call->kind == REMOVE)
        node->path[0] = '\0';
    (void)pthread_mutex_unlock(&Fake.mutex);
    if (fires)
        handle->node_watcher(handle, ZOO_DELETED_EVENT, ZOO_CONNECTED_STATE, path,
                             handle->node_context);
    if (call->kind == CREATE)
        call->done.create(code, path, &stat, call->data);
    else if (call->kind == PARENT)
        call->done.parent(code, path, call->data);
    else if (call->kind == LIST)
        call->done.list(code, code == ZOK ? &list : NULL, call->data);
    else if (call->kind == GET)
        call->done.get(code, "", code == ZOK ? 0 : -1, code == ZOK ? &stat : NULL, call->data);
    else
        call->done.plain(code, call->data);
    (void)pthread_mutex_lock(&Fake.mutex);
}

static inline void *fake_run(void *arg) {
    zhandle_t *handle = arg;
    if (Fake.first_state != 0 && !Fake.is_untold)
        handle->watcher(handle, ZOO_SESSION_EVENT, Fake.first_state, "", handle->context);
    (void)pthread_mutex_lock(&Fake.mutex);
    while (!handle->stops) {
        if (handle->call_count == 0 || Fake.orders[handle->calls[0].kind].is_kept) {
            (void)pthread_cond_wait(&Fake.changed, &Fake.mutex);
            continue;
        }
        struct call call = handle->calls[0];
        memmove(&handle->calls[0], &handle->calls[1], --handle->call_count * sizeof(call));
        int code = Fake.orders[call.kind].times != 0 ? Fake.orders[call.kind].code : ZOK;
        if (Fake.orders[call.kind].times > 0)
            Fake.orders[call.kind].times--;
        fake_complete(handle, &call, code);
    }
    (void)pthread_mutex_unlock(&Fake.mutex);
    return NULL;
}

/* ---- The library's calls ---- */

zhandle_t *zookeeper_init2(const char *host, watcher_fn fn, int recv_timeout,
                           const clientid_t *clientid, void *context, int flags,
                           log_callback_fn log_callback) {
    (void)host;
    (void)clientid;
    (void)flags;
    (void)pthread_mutex_lock(&Fake.mutex);
    Fake.inits++;
    int error = Fake.init_error;
    zhandle_t *handle = error == 0 ? calloc(1, sizeof(*handle)) : NULL;
    if (handle != NULL) {
        handle->watcher = fn;
        handle->context = context;
        handle->log = log_callback;
        handle->timeout_ms = recv_timeout;
        handle->id.client_id = ++Fake.last_session;
        memcpy(handle->id.passwd, "0123456789abcdef", sizeof(handle->id.passwd));
        Fake.handle = handle;
        if (!Fake.is_by_hand)
            (void)pthread_create(&handle->thread, NULL, fake_run, handle);
    }
    (void)pthread_mutex_unlock(&Fake.mutex);
    errno = error;
    return handle;
}

int zookeeper_close(zhandle_t *zh) {
    (void)pthread_mutex_lock(&Fake.mutex);
    while (Fake.is_close_kept)
        (void)pthread_cond_wait(&Fake.changed, &Fake.mutex);
    zh->stops = true;
    bool is_by_hand = Fake.is_by_hand;
    (void)pthread_cond_broadcast(&Fake.changed);
    (void)pthread_mutex_unlock(&Fake.mutex);
    if (!is_by_hand)
        (void)pthread_join(zh->thread, NULL);
    (void)pthread_mutex_lock(&Fake.mutex);
    remove_nodes_of(&Fake.server, zh->id.client_id);
    Fake.closes++;
    if (Fake.handle == zh)
        Fake.handle = NULL;
    (void)pthread_mutex_unlock(&Fake.mutex);
    free(zh);
    return ZOK;
}

static inline int fake_call(zhandle_t *zh, const struct call *call, const char *path) {
    (void)pthread_mutex_lock(&Fake.mutex);
    int code = Fake.orders[call->kind].refusal;
    /* Out of memory, when the completion was in line already. */
    bool is_in_line = code == ZOK || code == ZMARSHALLINGERROR;
    if (is_in_line && zh->call_count == CALLS_MAX) {
        code = ZMARSHALLINGERROR;
        is_in_line = false;
    }
    if (is_in_line) {
        struct call *slot = &zh->calls[zh->call_count++];
        *slot = *call;
        (void)snprintf(slot->path, sizeof(slot->path), "%s", path);
        (void)pthread_cond_broadcast(&Fake.changed);
    }
    (void)pthread_mutex_unlock(&Fake.mutex);
    return code;
}

int zoo_acreate2(zhandle_t *zh, const char *path, const char *value, int valuelen,
                 const struct ACL_vector *acl, int mode, string_stat_completion_t completion,
                 const void *data) {
    struct call call = {
        .kind = CREATE, .acl = acl, .mode = mode, .done.create = completion, .data = data};
    (void)value;
    (void)valuelen;
    return fake_call(zh, &call, path);
}

int zoo_acreate(zhandle_t *zh, const char *path, const char *value, int valuelen,
                const struct ACL_vector *acl, int mode, string_completion_t completion,
                const void *data) {
    struct call call = {
        .kind = PARENT, .acl = acl, .mode = mode, .done.parent = completion, .data = data};
    (void)value;
    (void)valuelen;
    return fake_call(zh, &call, path);
}

int zoo_aget_children(zhandle_t *zh, const char *path, int watch, strings_completion_t completion,
                      const void *data) {
    struct call call = {.kind = LIST, .done.list = completion, .data = data};
    (void)watch;
    return fake_call(zh, &call, path);
}

int zoo_awget(zhandle_t *zh, const char *path, watcher_fn watcher, void *watcherCtx,
              data_completion_t completion, const void *data) {
    struct call call = {.kind = GET,
                        .watcher = watcher,
                        .context = watcherCtx,
                        .done.get = completion,
                        .data = data};
    return fake_call(zh, &call, path);
}

int zoo_adelete(zhandle_t *zh, const char *path, int version, void_completion_t completion,
                const void *data) {
    struct call call = {
        .kind = version == -1 ? REMOVE : BARRIER, .done.plain = completion, .data = data};
    return fake_call(zh, &call, path);
}

int zoo_amulti(zhandle_t *zh, int count, const zoo_op_t *ops, zoo_op_result_t *results,
               void_completion_t completion, const void *data) {
    bool is_barrier = count == 1 && ops[0].type == ZOO_CHECK_OP;
    struct call call = {.kind = is_barrier ? BARRIER : MULTI,
                        .done.plain = completion,
                        .data = data,
                        .op_count = count,
                        .results = results};
    REQUIRE(count <= FAKE_OPS_MAX);
    for (int i = 0; i < count; i++) { /* they are there to be written into */
        call.ops[i] = ops[i];
        results[i] = (zoo_op_result_t){.err = ZOK};
        if (ops[i].type == ZOO_CREATE_OP) {
            results[i].value = ops[i].create_op.buf;
            results[i].valuelen = ops[i].create_op.buflen;
        } else if (ops[i].type == ZOO_SETDATA_OP) {
            results[i].stat = ops[i].set_op.stat;
        }
    }
    return fake_call(zh, &call, is_barrier ? ops[0].check_op.path : "");
}

int zoo_add_auth(zhandle_t *zh, const char *scheme, const char *cert, int certLen,
                 void_completion_t completion, const void *data) {
    struct call call = {.kind = AUTH, .done.plain = completion, .data = data};
    (void)cert;
    (void)certLen;
    return fake_call(zh, &call, scheme);
}

int zoo_async(zhandle_t *zh, const char *path, string_completion_t completion, const void *data) {
    (void)zh;
    completion(ZOK, path, data);
    return ZOK;
}

const clientid_t *zoo_client_id(zhandle_t *zh) {
    return &zh->id;
}

int zoo_state(zhandle_t *zh) {
    (void)zh;
    if (Fake.at_state != NULL)
        Fake.at_state();
    return Fake.first_state != 0 ? Fake.first_state : ZOO_CONNECTING_STATE;
}

int zoo_recv_timeout(zhandle_t *zh) {
    return zh->timeout_ms;
}

int zoo_set_servers_resolution_delay(zhandle_t *zh, int delay_ms) {
    (void)zh;
    (void)delay_ms;
    return ZOK;
}

int zoo_set_servers(zhandle_t *zh, const char *hosts) {
    (void)zh;
    (void)pthread_mutex_lock(&Fake.mutex);
    (void)snprintf(Fake.hosts, sizeof(Fake.hosts), "%s", hosts);
    int code = Fake.set_hosts_code;
    (void)pthread_mutex_unlock(&Fake.mutex);
    return code;
}

#endif
