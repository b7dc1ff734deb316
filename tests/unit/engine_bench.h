/*
 * An engine on a bench: a host whose clock stands until it is moved, ports that note what is asked
 * of them, and a server in a few lines, which answers when it is told to. The tests decide what is
 * answered, refused, cut, or lost, and when.
 */
#ifndef UNIT_ENGINE_BENCH_H
#define UNIT_ENGINE_BENCH_H

#include <assert.h>

#include "support/main.h"
#include "unit/tiny_server.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MS INT64_C(1000000)
#define T_MS 10000
#define PORTS_MAX 64
#define OWNERS_MAX 512

enum kind {
    CREATE, /* of a contender's node */
    PARENT, /* of a directory */
    LIST,
    GET,
    REMOVE,
    BARRIER,
    MULTI,
    KINDS
};

struct request {
    enum kind kind;
    unsigned slot;
    bool is_watched;
    enum zkli_create_mode mode;
    char path[ZKLI_PATH_MAX];
};

struct bench;

struct fake_port {
    struct zkli_port port;
    struct bench *bench;
    int64_t session_id;
    enum zkli_port_state state; /* for who looks; it follows what is told */
    bool is_opened, is_closed;
};

/* Whoever has a contender: what it was told. */
struct owner {
    struct zkli_member *member; /* NULL: forgotten */
    unsigned notices;           /* all of them, TOLD bits */
    int error;
    size_t grants;
};

struct bench {
    struct zkli_engine *engine;
    int64_t now_ns, next_ns; /* next: what settle said */
    bool has_no_ports;       /* out of memory for them */
    struct fake_port ports[PORTS_MAX];
    size_t port_count;
    unsigned refused; /* kinds that are not sent, as bits */
    size_t looks;
    int timeout_ms; /* as granted */
    struct request requests[ZKLI_SLOTS];
    size_t request_count;
    size_t sent[KINDS];
    struct tiny_server server;
    int64_t last_session;
    size_t events[ZKL_EVENT_REQUEUED + 1]; /* of the session */
    bool is_new_session;                   /* what the last of these said */
    size_t lines[ZKL_LOG_DEBUG + 1];       /* logged */
    char last_line[ZKLI_PATH_MAX + 256];
    struct owner owners[OWNERS_MAX];
    size_t owner_count;
};

static struct bench Bench; /* too large for a stack */

/* ---- The host ---- */

static inline int64_t host_now_ns(void *arg) {
    return ((struct bench *)arg)->now_ns;
}

static inline void host_random(void *arg, void *ret_bytes, size_t size) {
    static uint32_t last; /* uuids need to differ, and no more */
    (void)arg;
    memset(ret_bytes, 0, size);
    last++;
    memcpy(ret_bytes, &last, sizeof(last) < size ? sizeof(last) : size);
}

static inline void host_open_port(void *arg, struct zkli_port *port) {
    (void)arg;
    ZKLI_CONTAINER(port, struct fake_port, port)->is_opened = true;
}

static inline void host_close_port(void *arg, struct zkli_port *port) {
    (void)arg;
    ZKLI_CONTAINER(port, struct fake_port, port)->is_closed = true;
}

static inline void host_on_session_event(void *arg, zkl_event_type type, bool is_new_session) {
    struct bench *b = arg;
    b->events[type]++;
    b->is_new_session = is_new_session;
}

static inline void host_log(void *arg, zkl_log_level level, const char *text) {
    struct bench *b = arg;
    b->lines[level]++;
    (void)snprintf(b->last_line, sizeof(b->last_line), "%s", text);
}

/* ---- The port ---- */

static inline bool port_send(struct zkli_port *port, enum kind kind, unsigned slot,
                             const char *path, struct request **ret_request) {
    struct bench *b = ZKLI_CONTAINER(port, struct fake_port, port)->bench;
    if ((b->refused >> kind & 1) != 0)
        return false;
    REQUIRE(b->request_count < COUNT(b->requests));
    struct request *request = &b->requests[b->request_count++];
    *request = (struct request){.kind = kind, .slot = slot};
    (void)snprintf(request->path, sizeof(request->path), "%s", path);
    b->sent[kind]++;
    *ret_request = request;
    return true;
}

static inline bool port_create(struct zkli_port *port, unsigned slot, const char *path,
                               const char *data, size_t length, enum zkli_create_mode mode) {
    struct request *request;
    (void)data;
    (void)length;
    if (!port_send(port, mode == ZKLI_EPHEMERAL_SEQUENTIAL ? CREATE : PARENT, slot, path, &request))
        return false;
    request->mode = mode;
    return true;
}

static inline bool port_list(struct zkli_port *port, unsigned slot, const char *path) {
    struct request *request;
    return port_send(port, LIST, slot, path, &request);
}

static inline bool port_get(struct zkli_port *port, unsigned slot, const char *path,
                            bool is_watched) {
    struct request *request;
    if (!port_send(port, GET, slot, path, &request))
        return false;
    request->is_watched = is_watched;
    return true;
}

static inline bool port_remove(struct zkli_port *port, unsigned slot, const char *path) {
    struct request *request;
    return port_send(port, REMOVE, slot, path, &request);
}

static inline bool port_barrier(struct zkli_port *port, unsigned slot, const char *node) {
    struct request *request;
    return port_send(port, BARRIER, slot, node == NULL ? "" : node, &request);
}

/* Goes by the path of its last operation. */
static inline bool port_multi(struct zkli_port *port, unsigned slot, const struct zkli_op *ops,
                              size_t count) {
    struct request *request;
    return port_send(port, MULTI, slot, ops[count - 1].path, &request);
}

static inline int64_t port_session_id(struct zkli_port *port) {
    return ZKLI_CONTAINER(port, struct fake_port, port)->session_id;
}

static inline int port_timeout_ms(struct zkli_port *port) {
    const struct fake_port *fake = ZKLI_CONTAINER(port, struct fake_port, port);
    assert(fake->session_id != 0); /* there has been a connection */
    return fake->bench->timeout_ms;
}

static inline enum zkli_port_state port_look(struct zkli_port *port) {
    struct fake_port *fake = ZKLI_CONTAINER(port, struct fake_port, port);
    fake->bench->looks++;
    return fake->state;
}

static inline struct zkli_port *host_new_port(void *arg) {
    static const struct zkli_port_ops ops = {
        .create = port_create,
        .list = port_list,
        .get = port_get,
        .remove = port_remove,
        .barrier = port_barrier,
        .multi = port_multi,
        .session_id = port_session_id,
        .timeout_ms = port_timeout_ms,
        .look = port_look,
    };
    struct bench *b = arg;
    if (b->has_no_ports)
        return NULL;
    REQUIRE(b->port_count < PORTS_MAX);
    struct fake_port *port = &b->ports[b->port_count++];
    *port = (struct fake_port){.port = {.ops = &ops}, .bench = b, .state = ZKLI_PORT_CONNECTING};
    return &port->port;
}

/* ---- The engine's doors ---- */

static inline void settle(struct bench *b) {
    b->next_ns = zkli_engine_settle(b->engine);
}

static inline void advance(struct bench *b, int64_t ns) {
    b->now_ns += ns;
    zkli_engine_enter(b->engine);
    zkli_engine_tick(b->engine);
    settle(b);
}

static inline void tell_state(struct bench *b, struct zkli_port *port, enum zkli_port_state state) {
    ZKLI_CONTAINER(port, struct fake_port, port)->state = state;
    zkli_engine_enter(b->engine);
    zkli_engine_on_state(b->engine, port, state);
    settle(b);
}

static inline void tell_reply(struct bench *b, unsigned slot, const struct zkli_reply *reply) {
    zkli_engine_enter(b->engine);
    zkli_engine_on_reply(b->engine, b->engine->port, slot, reply);
    settle(b);
}

static inline void tell_watch(struct bench *b, const char *path, enum zkli_watch_type type) {
    zkli_engine_enter(b->engine);
    zkli_engine_on_watch(b->engine, b->engine->port, path, type);
    settle(b);
}

/* ---- The server ---- */

static inline void fire(struct bench *b, struct node *node, enum zkli_watch_type type) {
    char path[NODE_PATH_MAX];
    bool is_watched = node->is_watched;
    node->is_watched = false;
    memcpy(path, node->path, sizeof(path));
    if (type == ZKLI_WATCH_DELETED)
        node->path[0] = '\0';
    if (is_watched)
        tell_watch(b, path, type);
}

static inline void delete_node(struct bench *b, const char *path) {
    struct node *node = find_node(&b->server, path);
    REQUIRE(node != NULL);
    fire(b, node, ZKLI_WATCH_DELETED);
}

/* What the server does; the reply is the caller's to deliver. */
static inline struct zkli_reply serve(struct bench *b, const struct request *request) {
    static char *children[CHILDREN_MAX];
    struct zkli_reply reply = {.result = ZKLI_RESULT_OK, .data = ""};
    struct node *node = find_node(&b->server, request->path);
    if (request->kind == CREATE || request->kind == PARENT) {
        reply.result = make_node(&b->server, request->path,
                                 request->kind == CREATE ? b->last_session : 0, &node);
    } else if (request->kind == LIST) {
        reply.result = list_children(&b->server, request->path, children, &reply.child_count);
        reply.children = children;
    } else if (request->path[0] != '\0' && node == NULL) { /* but for a barrier without a node */
        reply.result = ZKLI_RESULT_NO_NODE;
    } else if (request->kind == GET) {
        node->is_watched = node->is_watched || request->is_watched;
    }
    if (node != NULL) {
        reply.path = node->path;
        reply.stat = (struct zkli_stat){.czxid = node->czxid, .owner = node->owner};
    }
    return reply;
}

/* Takes the request out of those in flight. */
static inline struct request take(struct bench *b, size_t index) {
    REQUIRE(index < b->request_count);
    struct request request = b->requests[index];
    memmove(&b->requests[index], &b->requests[index + 1],
            (--b->request_count - index) * sizeof(request));
    return request;
}

/* Serves the oldest request and delivers its reply. */
static inline void serve_next(struct bench *b) {
    struct request request = take(b, 0);
    struct zkli_reply reply = serve(b, &request);
    if (request.kind == REMOVE && reply.result == ZKLI_RESULT_OK)
        delete_node(b, request.path);
    tell_reply(b, request.slot, &reply);
}

static inline void serve_all(struct bench *b) {
    while (b->request_count > 0)
        serve_next(b);
}

/* Serves those before the first of this kind, and takes that one. */
static inline struct request serve_until(struct bench *b, enum kind kind) {
    while (b->request_count > 0 && b->requests[0].kind != kind)
        serve_next(b);
    REQUIRE(b->request_count > 0);
    return take(b, 0);
}

static inline void answer(struct bench *b, const struct request *request, enum zkli_result result) {
    struct zkli_reply reply = {.result = result, .code = -1, .data = ""};
    tell_reply(b, request->slot, &reply);
}

/* Answers the first of this kind with that, and serves what was before. */
static inline void answer_next(struct bench *b, enum kind kind, enum zkli_result result) {
    struct request request = serve_until(b, kind);
    answer(b, &request, result);
}

/* ---- Connections and sessions ---- */

static inline void connect(struct bench *b) {
    struct fake_port *port = ZKLI_CONTAINER(b->engine->port, struct fake_port, port);
    if (port->session_id == 0)
        port->session_id = ++b->last_session;
    tell_state(b, &port->port, ZKLI_PORT_CONNECTED);
}

/* The connection breaks; the requests in flight are lost, the first few of them after they were
 * done. */
static inline void cut(struct bench *b, size_t done) {
    size_t in_flight = b->request_count;
    tell_state(b, b->engine->port, ZKLI_PORT_CONNECTING);
    for (size_t i = 0; i < in_flight; i++) {
        struct request request = take(b, 0);
        if (i < done && serve(b, &request).result == ZKLI_RESULT_OK && request.kind == REMOVE)
            find_node(&b->server, request.path)->path[0] = '\0';
        answer(b, &request, ZKLI_RESULT_LOST);
    }
}

static inline void expire(struct bench *b) {
    remove_nodes_of(&b->server, b->last_session);
    b->request_count = 0;
    tell_state(b, b->engine->port, ZKLI_PORT_EXPIRED);
}

static inline void bench_start(struct bench *b, const char *root, bool is_lazy) {
    static const struct zkli_host host = {
        .now_ns = host_now_ns,
        .random = host_random,
        .new_port = host_new_port,
        .open_port = host_open_port,
        .close_port = host_close_port,
        .on_session_event = host_on_session_event,
        .log = host_log,
    };
    memset(b, 0, sizeof(*b));
    b->now_ns = 1000 * T_MS * MS;
    b->timeout_ms = T_MS;
    b->engine = zkli_engine_new(&(struct zkli_engine_options){
        .host = &host, .host_arg = b, .root = root, .is_lazy = is_lazy});
    REQUIRE(b->engine != NULL);
    zkli_engine_enter(b->engine);
    REQUIRE(zkli_engine_start(b->engine));
    settle(b);
}

/* With a session, and nobody on it. */
static inline void bench_begin(struct bench *b) {
    bench_start(b, "/locks", false);
    connect(b);
    serve_all(b);
}

/* Ends the session; everybody must have been told, and forgotten. */
static inline void bench_end(struct bench *b) {
    zkli_engine_enter(b->engine);
    zkli_engine_shut(b->engine);
    settle(b);
    for (size_t i = 0; i < b->owner_count; i++)
        CHECK(b->owners[i].member == NULL);
    for (size_t i = 0; i < b->port_count; i++)
        CHECK(b->ports[i].is_closed);
    CHECK_INT(b->engine->node_bytes, 0);
    CHECK_INT(b->engine->watch_bytes, 0);
    CHECK_INT(b->engine->in_flight, 0);
    CHECK_INT(b->engine->data_in_flight, 0);
    zkli_engine_free(b->engine);
}

/* ---- Contenders ---- */

#define TOLD(notice) (1u << ZKLI_NOTICE_##notice)

static inline void on_notice(void *arg, struct zkli_member *member, enum zkli_notice notice) {
    struct owner *owner = arg;
    owner->notices |= 1u << notice;
    owner->grants += notice == ZKLI_NOTICE_GRANTED;
    if (notice == ZKLI_NOTICE_FAILED)
        owner->error = (int)zkli_member_error(member);
    if (notice == ZKLI_NOTICE_GONE)
        owner->member = NULL;
}

static inline zkl_err enter_queue(struct bench *b, const char *name, bool is_try,
                                  struct owner **ret_owner) {
    REQUIRE(b->owner_count < OWNERS_MAX);
    struct owner *owner = &b->owners[b->owner_count];
    *owner = (struct owner){.member = NULL};
    zkli_engine_enter(b->engine);
    zkl_err err = zkli_member_new(&owner->member, b->engine, name, NULL, is_try,
                                  (struct zkli_thread){7, 7}, on_notice, owner);
    settle(b);
    if (err != ZKL_OK)
        return err;
    b->owner_count++;
    *ret_owner = owner;
    return ZKL_OK;
}

static inline struct owner *begin(struct bench *b, const char *name) {
    struct owner *owner = NULL;
    REQUIRE(enter_queue(b, name, false, &owner) == ZKL_OK);
    return owner;
}

static inline struct owner *hold(struct bench *b, const char *name) {
    struct owner *owner = begin(b, name);
    serve_all(b);
    REQUIRE(owner->grants == 1 && zkli_member_is_held(owner->member));
    return owner;
}

static inline void release(struct bench *b, struct owner *owner) {
    zkli_engine_enter(b->engine);
    zkli_member_release(owner->member);
    settle(b);
}

static inline void abandon(struct bench *b, struct owner *owner) {
    zkli_engine_enter(b->engine);
    zkli_member_abandon(owner->member, ZKL_CANCELED);
    settle(b);
}

static inline const char *path_of(const struct owner *owner) {
    static char path[ZKLI_PATH_MAX];
    REQUIRE(zkli_member_path(owner->member, path, sizeof(path)));
    return path;
}

/* Until nothing is under way and nothing is to be tried again. */
static inline void come_to_rest(struct bench *b) {
    for (int i = 0; i < 200; i++) {
        serve_all(b);
        advance(b, 100 * MS);
    }
    serve_all(b);
}

#endif
