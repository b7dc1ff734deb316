/* See engine_bench.h. */
#include "unit/engine_bench.h"

struct bench Bench; /* too large for a stack */

/* ---- The host ---- */

static int64_t host_now_ns(void *arg) {
    REQUIRE(arg == &Bench);
    return Bench.now_ns;
}

static void host_random(void *arg, void *ret_bytes, size_t size) {
    static uint32_t last; /* uuids need to differ, and no more */
    REQUIRE(arg == &Bench);
    memset(ret_bytes, 0, size);
    last += UINT32_C(0x9e3779b1);
    memcpy(ret_bytes, &last, sizeof(last) < size ? sizeof(last) : size);
}

static void host_open_port(void *arg, struct zkli_port *port) {
    REQUIRE(arg == &Bench);
    ZKLI_CONTAINER(port, struct fake_port, port)->is_opened = true;
}

static void host_close_port(void *arg, struct zkli_port *port) {
    REQUIRE(arg == &Bench);
    ZKLI_CONTAINER(port, struct fake_port, port)->is_closed = true;
}

static void host_prepare_port(void *arg, struct zkli_port *port) {
    REQUIRE(arg == &Bench);
    (void)port;
    Bench.prepared++;
}

static void host_on_session_event(void *arg, zkl_event_type type, bool is_new_session) {
    REQUIRE(arg == &Bench);
    Bench.events[type]++;
    Bench.is_new_session = is_new_session;
}

static void host_log(void *arg, zkl_log_level level, const char *text) {
    REQUIRE(arg == &Bench);
    Bench.lines[level]++;
    (void)snprintf(Bench.last_line, sizeof(Bench.last_line), "%s", text);
}

/* ---- The port ---- */

static bool note_request(struct request request, const char *path) {
    if ((Bench.refused >> request.kind & 1) != 0)
        return false;
    REQUIRE(Bench.request_count < COUNT(Bench.requests));
    (void)snprintf(request.path, sizeof(request.path), "%s", path);
    Bench.requests[Bench.request_count++] = request;
    Bench.sent[request.kind]++;
    return true;
}

static bool port_create(struct zkli_port *port, unsigned slot, const char *path, const char *data,
                        size_t length, enum zkli_create_mode mode) {
    enum kind kind = mode == ZKLI_EPHEMERAL_SEQUENTIAL ? CREATE : PARENT;
    struct request request = {.kind = kind, .slot = slot, .mode = mode, .length = length};
    (void)port;
    REQUIRE(length <= sizeof(request.data));
    memcpy(request.data, data, length);
    return note_request(request, path);
}

static bool port_list(struct zkli_port *port, unsigned slot, const char *path, bool is_watched) {
    (void)port;
    return note_request((struct request){.kind = LIST, .slot = slot, .is_watched = is_watched},
                        path);
}

static bool port_get(struct zkli_port *port, unsigned slot, const char *path, bool is_watched) {
    (void)port;
    return note_request((struct request){.kind = GET, .slot = slot, .is_watched = is_watched},
                        path);
}

static bool port_remove(struct zkli_port *port, unsigned slot, const char *path) {
    (void)port;
    return note_request((struct request){.kind = REMOVE, .slot = slot}, path);
}

static bool port_barrier(struct zkli_port *port, unsigned slot, const char *node) {
    (void)port;
    return note_request((struct request){.kind = BARRIER, .slot = slot}, node == NULL ? "" : node);
}

static bool port_sync(struct zkli_port *port, unsigned slot) {
    (void)port;
    return note_request((struct request){.kind = SYNC, .slot = slot}, "");
}

/* Goes by the path of its last operation. */
static bool port_multi(struct zkli_port *port, unsigned slot, const struct zkli_op *ops,
                       size_t count) {
    struct request request = {.kind = MULTI, .slot = slot, .op_count = count};
    (void)port;
    for (size_t i = 0; i < count && i < BENCH_OPS_MAX; i++) {
        struct bench_op *op = &request.ops[i];
        *op = (struct bench_op){.type = ops[i].type,
                                .flags = ops[i].flags,
                                .version = ops[i].version,
                                .has_our_acl = ops[i].has_our_acl};
        (void)snprintf(op->path, sizeof(op->path), "%s", ops[i].path);
        size_t length = (size_t)ops[i].length;
        if (length == 0 || length > sizeof(op->data))
            continue;
        memcpy(op->data, ops[i].data, length);
        op->length = length;
        if (request.length == 0) {
            memcpy(request.data, op->data, length);
            request.length = length;
        }
    }
    return note_request(request, ops[count - 1].path);
}

static int64_t port_session_id(struct zkli_port *port) {
    int64_t session_id = ZKLI_CONTAINER(port, struct fake_port, port)->session_id;
    REQUIRE(session_id != 0); /* there has been a connection */
    return session_id;
}

static int port_timeout_ms(struct zkli_port *port) {
    (void)port_session_id(port);
    return Bench.timeout_ms;
}

static enum zkli_port_state port_look(struct zkli_port *port) {
    Bench.looks++;
    return ZKLI_CONTAINER(port, struct fake_port, port)->state;
}

static bool port_drop(struct zkli_port *port) {
    (void)port;
    Bench.drops++;
    return Bench.can_drop;
}

static bool port_wants_preparing(struct zkli_port *port) {
    (void)port;
    return Bench.wants_preparing;
}

static struct zkli_port *host_new_port(void *arg) {
    static const struct zkli_port_ops ops = {
        .create = port_create,
        .list = port_list,
        .get = port_get,
        .remove = port_remove,
        .barrier = port_barrier,
        .sync = port_sync,
        .multi = port_multi,
        .session_id = port_session_id,
        .timeout_ms = port_timeout_ms,
        .look = port_look,
        .drop = port_drop,
        .wants_preparing = port_wants_preparing,
    };
    REQUIRE(arg == &Bench);
    if (Bench.has_no_ports)
        return NULL;
    REQUIRE(Bench.port_count < PORTS_MAX);
    struct fake_port *port = &Bench.ports[Bench.port_count++];
    *port = (struct fake_port){.port = {.ops = &ops}, .state = ZKLI_PORT_CONNECTING};
    return &port->port;
}

/* ---- The engine's doors ---- */

void settle(void) {
    Bench.next_ns = zkli_engine_settle(Bench.engine);
}

void advance(int64_t ns) {
    Bench.now_ns += ns;
    zkli_engine_enter(Bench.engine);
    zkli_engine_tick(Bench.engine);
    settle();
}

void drain(void) {
    zkli_engine_enter(Bench.engine);
    zkli_engine_drain(Bench.engine);
    settle();
}

void shut(void) {
    zkli_engine_enter(Bench.engine);
    zkli_engine_shut(Bench.engine);
    settle();
}

void tell_state(enum zkli_port_state state) {
    struct zkli_port *port = Bench.engine->port;
    ZKLI_CONTAINER(port, struct fake_port, port)->state = state;
    zkli_engine_enter(Bench.engine);
    zkli_engine_on_state(Bench.engine, port, state);
    settle();
}

void tell_reply(unsigned slot, const struct zkli_reply *reply) {
    zkli_engine_enter(Bench.engine);
    zkli_engine_on_reply(Bench.engine, Bench.engine->port, slot, reply);
    settle();
}

void tell_watch(const char *path, enum zkli_watch_type type) {
    zkli_engine_enter(Bench.engine);
    zkli_engine_on_watch(Bench.engine, Bench.engine->port, path, type);
    settle();
}

/* ---- The server ---- */

static void tell_directory(const char *path) {
    char directory[NODE_PATH_MAX];
    if (!tiny_takes_list_watch(&Bench.server, path))
        return;
    (void)snprintf(directory, sizeof(directory), "%s", path);
    *strrchr(directory, '/') = '\0';
    tell_watch(directory, ZKLI_WATCH_CHILDREN);
}

void delete_node(const char *path) {
    char deleted[NODE_PATH_MAX]; /* the path may be the node's own */
    (void)snprintf(deleted, sizeof(deleted), "%s", path);
    if (tiny_remove(&Bench.server, path))
        tell_watch(deleted, ZKLI_WATCH_DELETED);
    tell_directory(deleted);
}

void set_node(const char *path, const char *text) {
    struct node *node = tiny_find(&Bench.server, path);
    REQUIRE(node != NULL);
    tiny_set(node, text, strlen(text));
    bool is_watched = node->is_watched;
    node->is_watched = false;
    if (is_watched)
        tell_watch(path, ZKLI_WATCH_CHANGED);
}

static int64_t session_served(void) { /* not one that was to take its place, and was not taken */
    return Bench.engine->session_id != 0 ? Bench.engine->session_id : Bench.last_session;
}

struct tiny_answer serve(const struct request *request) {
    if (has_only(request, ZKLI_OP_SET) || has_only(request, ZKLI_OP_CREATE))
        return serve_transaction(request);
    struct tiny_answer served = tiny_serve(&Bench.server, request->kind, request->path,
                                           session_served(), request->is_watched);
    bool is_made = served.reply.result == ZKLI_RESULT_OK &&
                   (request->kind == CREATE || request->kind == PARENT);
    struct node *made = is_made ? tiny_find(&Bench.server, served.reply.path) : NULL;
    if (made != NULL) {
        tiny_set(made, request->data, request->length);
        made->version = 0;
    }
    return served;
}

/* What the requests' watchers are told before the reply. */
static void tell_watchers(const struct request *request, const struct tiny_answer *served) {
    if (served->fires)
        tell_watch(request->path, ZKLI_WATCH_DELETED);
    if (served->reply.result != ZKLI_RESULT_OK)
        return;
    if (request->kind == CREATE || request->kind == REMOVE)
        tell_directory(request->path);
    for (size_t i = 0; has_only(request, ZKLI_OP_CREATE) && i < request->op_count; i++)
        tell_directory(request->ops[i].path);
    for (size_t i = 0; has_only(request, ZKLI_OP_SET) && i < request->op_count; i++) {
        struct node *node = tiny_find(&Bench.server, request->ops[i].path);
        if (request->ops[i].type != ZKLI_OP_SET || !node->is_watched)
            continue;
        node->is_watched = false;
        tell_watch(request->ops[i].path, ZKLI_WATCH_CHANGED);
    }
}

void serve_request(const struct request *request) {
    struct tiny_answer served = serve(request);
    tell_watchers(request, &served);
    tell_reply(request->slot, &served.reply);
}

struct request take(size_t index) {
    REQUIRE(index < Bench.request_count);
    struct request request = Bench.requests[index];
    memmove(&Bench.requests[index], &Bench.requests[index + 1],
            (--Bench.request_count - index) * sizeof(request));
    return request;
}

void serve_next(void) {
    struct request request = take(0);
    serve_request(&request);
}

void serve_all(void) {
    while (Bench.request_count > 0)
        serve_next();
}

struct request serve_until(enum kind kind) {
    while (Bench.request_count > 0 && Bench.requests[0].kind != kind)
        serve_next();
    return take(0);
}

void answer(const struct request *request, enum zkli_result result) {
    struct zkli_reply reply = {.result = result, .code = -1, .data = ""};
    tell_reply(request->slot, &reply);
}

void answer_next(enum kind kind, enum zkli_result result) {
    struct request request = serve_until(kind);
    answer(&request, result);
}

void pass(int64_t ns) {
    for (int64_t passed = 0; passed < ns; passed += 10 * MS) {
        serve_all();
        advance(10 * MS);
    }
    serve_all();
}

void come_to_rest(void) {
    for (int i = 0; i < 200; i++) {
        serve_all();
        advance(100 * MS);
    }
    serve_all();
}

void end_all(void) {
    for (size_t i = 0; i < Bench.owner_count; i++)
        if (Bench.owners[i].member != NULL && zkli_member_is_held(Bench.owners[i].member))
            release(&Bench.owners[i]);
    for (size_t i = 0; i < Bench.owner_count; i++)
        if (Bench.owners[i].member != NULL)
            abandon(&Bench.owners[i]);
    come_to_rest();
    CHECK(zkli_list_is_empty(&Bench.engine->changed_groups));
    bench_end();
}

void rest(int64_t ns) {
    bench_begin();
    pass(ns);
    CHECK_INT(Bench.sent[BARRIER] + Bench.sent[SYNC], 0);
}

/* ---- Connections and sessions ---- */

void bench_connect(void) {
    struct fake_port *port = ZKLI_CONTAINER(Bench.engine->port, struct fake_port, port);
    if (port->session_id == 0)
        port->session_id = ++Bench.last_session;
    tell_state(ZKLI_PORT_CONNECTED);
}

struct fake_port *successor_port(void) {
    struct fake_port *last = NULL;
    for (size_t i = 0; i < Bench.engine->succession.count; i++) {
        struct zkli_port *port = Bench.engine->succession.list[i].port;
        struct fake_port *one = ZKLI_CONTAINER(port, struct fake_port, port);
        if (last == NULL || one > last)
            last = one;
    }
    REQUIRE(last != NULL);
    return last;
}

static void tell_port(struct fake_port *port, enum zkli_port_state state) {
    port->state = state;
    zkli_engine_enter(Bench.engine);
    zkli_engine_on_state(Bench.engine, &port->port, state);
    settle();
}

void tell_successor(enum zkli_port_state state) {
    tell_port(successor_port(), state);
}

void connect_successor_at(struct fake_port *port) {
    size_t in_flight = Bench.request_count;
    port->session_id = ++Bench.last_session;
    tell_port(port, ZKLI_PORT_CONNECTED);
    if (Bench.engine->port != &port->port)
        return;
    for (size_t i = in_flight; i-- > 0;)
        if (Bench.requests[i].slot == ZKLI_SLOT_HEARTBEAT)
            (void)take(i);
}

void connect_successor(void) {
    connect_successor_at(successor_port());
}

void cut(size_t done) {
    size_t in_flight = Bench.request_count;
    tell_state(ZKLI_PORT_CONNECTING);
    for (size_t i = 0; i < in_flight; i++) {
        struct request request = take(0);
        if (i < done)
            (void)serve(&request);
        answer(&request, ZKLI_RESULT_LOST);
    }
}

void cut_and_connect(size_t done) {
    cut(done);
    bench_connect();
}

void expire(void) {
    tiny_end_session(&Bench.server, session_served());
    Bench.request_count = 0;
    tell_state(ZKLI_PORT_EXPIRED);
}

void check_untold(void) {
    CHECK_INT(Bench.engine->state, ZKL_STATE_CONNECTED);
    CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED] + Bench.events[ZKL_EVENT_RESUMED], 0);
}

/* ---- The bench ---- */

void bench_start(const char *root, bool keeps_session) {
    static const struct zkli_host host = {
        .now_ns = host_now_ns,
        .random = host_random,
        .new_port = host_new_port,
        .open_port = host_open_port,
        .close_port = host_close_port,
        .prepare_port = host_prepare_port,
        .on_session_event = host_on_session_event,
        .log = host_log,
    };
    memset(&Bench, 0, sizeof(Bench));
    Bench.now_ns = 1000 * T_MS * MS;
    Bench.timeout_ms = T_MS;
    Bench.engine = zkli_engine_new(&(struct zkli_engine_options){
        .host = &host, .host_arg = &Bench, .root = root, .keeps_session = keeps_session});
    REQUIRE(Bench.engine != NULL);
    zkli_engine_enter(Bench.engine);
    REQUIRE(zkli_engine_start(Bench.engine));
    settle();
}

void bench_begin(void) {
    bench_start("/locks", false);
    bench_connect();
    serve_all();
}

void bench_end(void) {
    shut();
    for (size_t i = 0; i < Bench.owner_count; i++)
        CHECK(Bench.owners[i].member == NULL);
    for (size_t i = 0; i < Bench.port_count; i++)
        CHECK(Bench.ports[i].is_closed);
    CHECK_INT(Bench.engine->node_bytes, 0);
    CHECK_INT(Bench.engine->watch_bytes, 0);
    CHECK_INT(Bench.engine->in_flight, 0);
    CHECK_INT(Bench.engine->data_in_flight, 0);
    zkli_engine_free(Bench.engine);
}

/* ---- Contenders ---- */

void on_notice(void *arg, struct zkli_member *member, enum zkli_notice notice) {
    struct owner *owner = arg;
    owner->notices |= 1u << notice;
    owner->grants += notice == ZKLI_NOTICE_GRANTED;
    if (notice == ZKLI_NOTICE_FAILED)
        owner->error = (int)zkli_member_error(member);
    if (notice == ZKLI_NOTICE_GONE)
        owner->member = NULL;
}

zkl_err enter_by(const struct zkli_wish *wish, struct owner **ret_owner) {
    REQUIRE(Bench.owner_count < OWNERS_MAX);
    struct owner *owner = &Bench.owners[Bench.owner_count];
    *owner = (struct owner){.member = NULL};
    zkli_engine_enter(Bench.engine);
    zkl_err err = zkli_member_new(&owner->member, Bench.engine, wish, on_notice, owner);
    settle();
    if (err != ZKL_OK)
        return err;
    Bench.owner_count++;
    *ret_owner = owner;
    return ZKL_OK;
}

zkl_err enter_queue(const char *name, bool is_try, struct owner **ret_owner) {
    const struct zkli_wish wish = {
        .name = name, .kind = ZKLI_KIND_MUTEX, .is_try = is_try, .thread = {7, 70}, .owner = 7};
    return enter_by(&wish, ret_owner);
}

struct owner *begin_by(const struct zkli_wish *wish) {
    struct owner *owner = NULL;
    REQUIRE(enter_by(wish, &owner) == ZKL_OK);
    return owner;
}

struct owner *begin_as(const char *name, enum zkli_kind kind) {
    return begin_by(&(struct zkli_wish){.name = name, .kind = kind, .thread = {7, 70}, .owner = 7});
}

struct owner *begin_lease(const char *name, int permits) {
    return begin_by(&(struct zkli_wish){
        .name = name, .kind = ZKLI_KIND_LEASE, .permits = permits, .thread = {7, 70}, .owner = 7});
}

struct owner *begin(const char *name) {
    return begin_as(name, ZKLI_KIND_MUTEX);
}

static void begin_numbered(const char *prefix, int number) {
    char name[32];
    (void)snprintf(name, sizeof(name), "%s%d", prefix, number);
    (void)begin(name);
}

void begin_many(const char *prefix, int count) {
    for (int i = 0; i < count; i++)
        begin_numbered(prefix, i);
}

size_t free_slots(void) {
    size_t count = 0;
    for (unsigned i = Bench.engine->free_slot; i != ZKLI_SLOTS;
         i = Bench.engine->slots[i].next_free)
        count++;
    return count;
}

void fill_window(void) {
    for (int i = 0; Bench.engine->free_slot != ZKLI_SLOTS; i++)
        begin_numbered("w", i);
}

struct owner *hold(const char *name) {
    struct owner *owner = begin(name);
    serve_all();
    REQUIRE(owner->grants == 1 && zkli_member_is_held(owner->member));
    return owner;
}

void plant_other(void) {
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    (void)tiny_add(&Bench.server, OTHER_NODE, 99);
    Bench.server.number = 1;
}

struct owner *wait_behind_another(void) {
    bench_begin();
    plant_other();
    struct owner *owner = begin("a");
    serve_all();
    CHECK_INT(owner->member->core.state, ZKLI_WAITING);
    return owner;
}

struct owner *begin_behind_a_delete(struct request *ret_remove) {
    bench_begin();
    (void)hold("a");
    cut(0);
    advance(2 * T_MS * MS);
    bench_connect();
    *ret_remove = serve_until(REMOVE);
    return begin("a");
}

void release(struct owner *owner) {
    zkli_engine_enter(Bench.engine);
    zkli_member_release(owner->member);
    settle();
}

void abandon(struct owner *owner) {
    zkli_engine_enter(Bench.engine);
    zkli_member_abandon(owner->member, ZKL_CANCELED);
    settle();
}

const char *path_of(struct owner *owner) {
    REQUIRE(zkli_member_path(owner->member, owner->path, sizeof(owner->path)));
    return owner->path;
}
