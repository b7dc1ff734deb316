/* See fake_zoo.h. */
#include "unit/fake_zoo.h"

#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>

struct fake Fake = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
char Stale;

static void lock_fake(void) {
    (void)pthread_mutex_lock(&Fake.mutex);
}

static void unlock_fake(void) {
    (void)pthread_mutex_unlock(&Fake.mutex);
}

/* So that the thread looks again. */
static void unlock_changed_fake(void) {
    (void)pthread_cond_broadcast(&Fake.changed);
    unlock_fake();
}

/* ---- What tests order ---- */

void fake_reset(void) {
    lock_fake();
    memset(Fake.orders, 0, sizeof(Fake.orders));
    memset(&Fake.server, 0, sizeof(Fake.server));
    memset(Fake.served, 0, sizeof(Fake.served));
    memset(Fake.refused, 0, sizeof(Fake.refused));
    Fake.is_by_hand = false;
    Fake.first_state = ZOO_CONNECTED_STATE;
    Fake.is_untold = false;
    Fake.init_error = Fake.set_hosts_code = 0;
    Fake.inits = Fake.closes = 0;
    Fake.is_close_kept = false;
    Fake.hosts[0] = '\0';
    Fake.at_state = Fake.at_nudge = NULL;
    memset(&Fake.peer, 0, sizeof(Fake.peer));
    Fake.peer_fd = -1;
    unlock_fake();
}

void fake_peer(const struct sockaddr_in *peer, int fd) {
    lock_fake();
    Fake.peer = *peer;
    Fake.peer_fd = fd;
    unlock_fake();
}

void fake_answer(enum kind kind, int code, int times) {
    lock_fake();
    Fake.orders[kind].code = code;
    Fake.orders[kind].times = times;
    unlock_fake();
}

void fake_refuse(enum kind kind, int code) {
    lock_fake();
    Fake.orders[kind].refusal = code;
    unlock_fake();
}

void fake_keep(enum kind kind, bool is_kept) {
    lock_fake();
    Fake.orders[kind].is_kept = is_kept;
    unlock_changed_fake();
}

void fake_keep_close(bool is_kept) {
    lock_fake();
    Fake.is_close_kept = is_kept;
    unlock_changed_fake();
}

void fake_fail_init(int error) {
    lock_fake();
    Fake.init_error = error;
    unlock_fake();
}

size_t fake_inits(void) {
    lock_fake();
    size_t inits = Fake.inits;
    unlock_fake();
    return inits;
}

size_t fake_closes(void) {
    lock_fake();
    size_t closes = Fake.closes;
    unlock_fake();
    return closes;
}

bool fake_hosts_are(const char *hosts) {
    lock_fake();
    bool are = strcmp(Fake.hosts, hosts) == 0;
    unlock_fake();
    return are;
}

bool fake_has(enum kind kind) {
    bool is_there = false;
    lock_fake();
    for (size_t i = 0; Fake.handle != NULL && i < Fake.handle->call_count; i++)
        is_there = is_there || Fake.handle->calls[i].kind == kind;
    unlock_fake();
    return is_there;
}

size_t fake_children(const char *path) {
    lock_fake();
    size_t count = tiny_children(&Fake.server, path);
    unlock_fake();
    return count;
}

void fake_plant(const char *path) {
    lock_fake();
    (void)tiny_add(&Fake.server, path, 99);
    unlock_fake();
}

void fake_set(const char *path, const char *text) {
    lock_fake();
    struct node *node = tiny_find(&Fake.server, path);
    REQUIRE(node != NULL);
    tiny_set(node, text, strlen(text));
    unlock_fake();
}

bool fake_has_data(const char *path, const char *text) {
    lock_fake();
    const struct node *node = tiny_find(&Fake.server, path);
    REQUIRE(node != NULL);
    bool has = node->length == strlen(text) && memcmp(node->data, text, node->length) == 0;
    unlock_fake();
    return has;
}

size_t fake_served(enum kind kind) {
    lock_fake();
    size_t count = Fake.served[kind];
    unlock_fake();
    return count;
}

size_t fake_refused(enum kind kind) {
    lock_fake();
    size_t count = Fake.refused[kind];
    unlock_fake();
    return count;
}

void fake_state(int state) {
    if (state == ZOO_EXPIRED_SESSION_STATE) {
        lock_fake();
        tiny_end_session(&Fake.server, Fake.handle->id.client_id);
        Fake.handle->call_count = 0;
        unlock_fake();
    }
    Fake.handle->watcher(Fake.handle, ZOO_SESSION_EVENT, state, "", Fake.handle->context);
}

struct call fake_take(void) {
    lock_fake();
    struct call call = {.kind = KINDS};
    if (Fake.handle->call_count > 0) {
        call = Fake.handle->calls[0];
        memmove(&Fake.handle->calls[0], &Fake.handle->calls[1],
                --Fake.handle->call_count * sizeof(call));
    }
    unlock_fake();
    return call;
}

void fake_answer_multi(const struct call *call, int refused, int code) {
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

void fake_complete(const struct call *call, int code, const struct zkli_reply *reply) {
    struct String_vector list = {(int32_t)reply->child_count, (char **)reply->children};
    struct Stat stat = {.czxid = reply->stat.czxid,
                        .ephemeralOwner = reply->stat.owner,
                        .version = reply->stat.version,
                        .dataLength = reply->stat.data_length};
    const char *data = reply->data_length == 0 ? "" : reply->data;
    if (code == ZOK && reply->result != ZKLI_RESULT_OK)
        code = reply->result == ZKLI_RESULT_EXISTS ? ZNODEEXISTS : ZNONODE;
    if (call->kind == CREATE)
        call->done.create(code, reply->path, &stat, call->data);
    else if (call->kind == PARENT || call->kind == SYNC)
        call->done.parent(code, reply->path, call->data);
    else if (call->kind == LIST)
        call->done.list(code, code == ZOK ? &list : NULL, code == ZOK ? &stat : NULL, call->data);
    else if (call->kind == GET)
        call->done.get(code, data, code == ZOK ? (int)reply->data_length : -1,
                       code == ZOK ? &stat : NULL, call->data);
    else if (call->kind == EXISTS)
        call->done.stat(code, NULL, call->data);
    else
        call->done.plain(code, call->data);
}

/* A set alone. The code is that of the transaction, and of its operation. */
static int serve_set(const struct call *call) {
    struct node *node = tiny_find(&Fake.server, call->set_path);
    int code = node == NULL                                                   ? ZNONODE
               : call->set_version >= 0 && call->set_version != node->version ? ZBADVERSION
                                                                              : ZOK;
    if (code == ZOK)
        tiny_set(node, call->set_data, (size_t)call->set_length);
    return code;
}

static bool is_of_creates(const struct call *call) {
    for (int i = 0; i < call->op_count; i++)
        if (call->ops[i].type != ZOO_CREATE_OP)
            return false;
    return call->kind == MULTI && call->op_count > 0;
}

/* All, or none. The paths stand where those of the nodes are to be. */
static int serve_creates(const struct call *call, int64_t session) {
    int refused = -1;
    for (int i = call->op_count - 1; i >= 0; i--)
        if (!tiny_has_parent(&Fake.server, call->results[i].value))
            refused = i;
    const int64_t zxid = Fake.server.zxid;
    for (int i = 0; i < call->op_count; i++) {
        zoo_op_result_t *result = &call->results[i];
        result->err = refused < 0 || i < refused ? ZOK
                      : i == refused             ? ZNONODE
                                                 : ZRUNTIMEINCONSISTENCY;
        Fake.server.zxid = zxid; /* one for all */
        if (refused >= 0)
            result->value = NULL;
        else
            (void)snprintf(
                result->value, (size_t)result->valuelen, "%s",
                tiny_serve(&Fake.server, CREATE, result->value, session, false).reply.path);
    }
    return refused < 0 ? ZOK : ZNONODE;
}

/* What the server says, unless this code is ordered instead. Called with the mutex held, which it
 * releases for the completion. */
static void carry_out(zhandle_t *handle, const struct call *call, int code) {
    struct tiny_answer served = {.reply = {.path = ""}};
    char path[NODE_PATH_MAX], data[ZKLI_NODE_DATA_MAX];
    Fake.served[call->kind]++;
    if (call->set_path[0] != '\0') {
        code = code == ZOK ? serve_set(call) : code;
        call->results[0].err = code;
    } else if (is_of_creates(call)) {
        code = code == ZOK ? serve_creates(call, handle->id.client_id) : code;
    } else if (code == ZOK)
        served = tiny_serve(&Fake.server, call->kind, call->path, handle->id.client_id,
                            call->watcher != NULL);
    if (call->watcher != NULL) {
        handle->node_watcher = call->watcher;
        handle->node_context = call->context;
    }
    (void)snprintf(path, sizeof(path), "%s", served.reply.path);
    served.reply.path = path;
    memcpy(data, served.reply.data_length == 0 ? "" : served.reply.data, served.reply.data_length);
    served.reply.data = data;
    unlock_fake();
    if (served.fires)
        handle->node_watcher(handle, ZOO_DELETED_EVENT, ZOO_CONNECTED_STATE, call->path,
                             handle->node_context);
    fake_complete(call, code, &served.reply);
    lock_fake();
}

static void *fake_run(void *arg) {
    zhandle_t *handle = arg;
    if (Fake.first_state != 0 && !Fake.is_untold)
        handle->watcher(handle, ZOO_SESSION_EVENT, Fake.first_state, "", handle->context);
    lock_fake();
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
        carry_out(handle, &call, code);
    }
    unlock_fake();
    return NULL;
}

/* ---- The library's calls ---- */

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

zhandle_t *zookeeper_init2(const char *host, watcher_fn fn, int recv_timeout,
                           const clientid_t *clientid, void *context, int flags,
                           log_callback_fn log_callback) {
    (void)host;
    (void)clientid;
    (void)flags;
    lock_fake();
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
    unlock_fake();
    errno = error;
    return handle;
}

int zookeeper_close(zhandle_t *zh) {
    lock_fake();
    while (Fake.is_close_kept)
        (void)pthread_cond_wait(&Fake.changed, &Fake.mutex);
    zh->stops = true;
    bool is_by_hand = Fake.is_by_hand;
    unlock_changed_fake();
    if (!is_by_hand)
        (void)pthread_join(zh->thread, NULL);
    lock_fake();
    tiny_end_session(&Fake.server, zh->id.client_id);
    Fake.closes++;
    if (Fake.handle == zh)
        Fake.handle = NULL;
    unlock_fake();
    free(zh);
    return ZOK;
}

static int fake_call(zhandle_t *zh, const struct call *call, const char *path) {
    lock_fake();
    int code = Fake.orders[call->kind].refusal;
    Fake.refused[call->kind] += code != ZOK;
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
    unlock_fake();
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

int zoo_awget_children2(zhandle_t *zh, const char *path, watcher_fn watcher, void *watcherCtx,
                        strings_stat_completion_t completion, const void *data) {
    struct call call = {.kind = LIST,
                        .watcher = watcher,
                        .context = watcherCtx,
                        .done.list = completion,
                        .data = data};
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
            (void)snprintf(results[i].value, (size_t)results[i].valuelen, "%s",
                           ops[i].create_op.path);
        } else if (ops[i].type == ZOO_SETDATA_OP) {
            results[i].stat = ops[i].set_op.stat;
        }
    }
    if (count == 1 && ops[0].type == ZOO_SETDATA_OP) {
        (void)snprintf(call.set_path, sizeof(call.set_path), "%s", ops[0].set_op.path);
        call.set_version = ops[0].set_op.version;
        call.set_length = ops[0].set_op.datalen;
        REQUIRE(call.set_length <= (int)sizeof(call.set_data));
        if (call.set_length > 0)
            memcpy(call.set_data, ops[0].set_op.data, (size_t)call.set_length);
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
    struct call call = {.kind = SYNC, .done.parent = completion, .data = data};
    if (data != NULL)
        return fake_call(zh, &call, path);
    if (Fake.at_nudge != NULL)
        Fake.at_nudge();
    completion(ZOK, path, data); /* nobody waits for it */
    return ZOK;
}

/* It comes to the server, which is there to acknowledge bytes, and the answer is that there is no
 * such node. */
int zoo_aexists(zhandle_t *zh, const char *path, int watch, stat_completion_t completion,
                const void *data) {
    struct call call = {.kind = EXISTS, .done.stat = completion, .data = data};
    (void)watch;
    lock_fake();
    int fd = Fake.peer_fd;
    unlock_fake();
    if (fd >= 0)
        (void)send(fd, path, strlen(path), MSG_NOSIGNAL);
    return fake_call(zh, &call, "");
}

struct sockaddr *zookeeper_get_connected_host(zhandle_t *zh, struct sockaddr *addr,
                                              socklen_t *addr_len) {
    (void)zh;
    lock_fake();
    bool is_there = Fake.peer.sin_family != 0;
    REQUIRE(*addr_len >= sizeof(Fake.peer));
    memcpy(addr, &Fake.peer, sizeof(Fake.peer));
    *addr_len = sizeof(Fake.peer);
    unlock_fake();
    return is_there ? addr : NULL;
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
    lock_fake();
    (void)snprintf(Fake.hosts, sizeof(Fake.hosts), "%s", hosts);
    int code = Fake.set_hosts_code;
    unlock_fake();
    return code;
}

/* ---- Sessions and locks ---- */

zkl_session *fake_session(const char *hosts, const zkl_session_options *options) {
    zkl_session *s = NULL;
    fake_reset();
    zkl_err err = zkl_session_open(&s, hosts, options);
    REQUIRE(err == ZKL_OK && s != NULL);
    return s;
}

zkl_lock *fake_lock(zkl_session *s, const char *name) {
    zkl_lock *l = NULL;
    REQUIRE(zkl_lock_open(&l, s, name, NULL) == ZKL_OK);
    return l;
}

void fake_end(zkl_session *s, zkl_lock *l) {
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
}
