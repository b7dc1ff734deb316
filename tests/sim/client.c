/*
 * client - a process with a session: the library's engine and locks, with the mutex, the threads
 * and the callbacks of src/session replaced by the simulation's turns; see sim.h.
 */
#include "session/session_internal.h" /* how a call waits, and how long a close does */
#include "sim/sim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"

#define MICROSECOND INT64_C(1000)

static struct client *client_of(const struct zkl_session *s) {
    return (struct client *)(uintptr_t)s; /* its first member */
}

static int number_of(const struct client *c) {
    return (int)(c - c->world->list);
}

int64_t client_clock(const struct client *c) {
    return clock_local(c->world->now_ns, c->ppm, c->offset_ns);
}

/* ---- What session.h promises to the lock layer, and monitor.c to operation.c ---- */

void zkli_session_lock(struct zkl_session *s) {
    struct client *c = client_of(s);
    c->was_certain = zkli_lease_is_certain(&s->engine->lease, client_clock(c));
    zkli_engine_enter(s->engine);
}

static void arm_tick(struct client *c, int64_t local_ns) {
    struct world *w = c->world;
    if (local_ns == ZKLI_NEVER)
        return;
    int64_t at = clock_real(local_ns, c->ppm, c->offset_ns);
    if (c->tick_ns != 0 && c->tick_ns <= at && c->tick_ns > w->now_ns)
        return;
    c->tick_ns = at;
    world_at(w, at + world_between(w, 1, 200) * MICROSECOND, EVENT_TICK, (unsigned)number_of(c),
             ++c->tick_stamp);
}

static unsigned number_of_port(struct zkli_port *port) {
    return (unsigned)port_number(ZKLI_CONTAINER(port, struct port, base));
}

static void note_port(struct client *c) {
    const struct zkli_engine *e = c->session.engine;
    if (e->port == NULL)
        return;
    int port = (int)number_of_port(e->port);
    bool is_other = c->port != NONE && port != c->port;
    c->world->figures->successions += is_other && zkli_engine_is_connected(e) &&
                                      c->world->ports[c->port].state == PORT_CONNECTED;
    c->port = port;
}

void zkli_session_settle(struct zkl_session *s) {
    struct client *c = client_of(s);
    arm_tick(c, zkli_engine_settle(s->engine));
    note_port(c);
}

void zkli_session_unlock(struct zkl_session *s) {
    struct client *c = client_of(s);
    zkli_session_settle(s);
    breaks_look(c->world, number_of(c));
    asks_look(c->world, number_of(c));
    actors_look(c->world, number_of(c));
}

void zkli_session_wait(struct zkl_session *s, pthread_cond_t *condition) {
    (void)s;
    (void)condition;
    assert(false && "nothing waits in the simulation");
}

bool zkli_condition_init(pthread_cond_t *condition) {
    return pthread_cond_init(condition, NULL) == 0;
}

bool zkli_session_begin(struct zkl_session *s) {
    s->references++;
    return true;
}

void zkli_session_reference(struct zkl_session *s) {
    s->references++;
}

void zkli_session_unlock_and_release(struct zkl_session *s) {
    s->references--;
    zkli_session_unlock(s);
}

bool zkli_session_is_forked(const struct zkl_session *s) {
    (void)s;
    return false;
}

uint64_t zkli_thread_number(void) {
    return sim_thread;
}

int64_t zkli_thread_id(void) {
    return (int64_t)sim_thread;
}

struct zkli_thread zkli_thread_self(void) {
    return (struct zkli_thread){sim_thread, (int64_t)sim_thread};
}

bool zkli_in_callback(void) {
    return false;
}

bool zkli_callbacks_start(struct zkl_session *s) {
    (void)s;
    return true;
}

/* Told at once: a callback that is late changes nothing for anybody else. */
struct zkli_events {
    unsigned references;
    zkl_event_fn fn;
    void *arg;
};

struct zkli_events *zkli_events_new(zkl_event_fn fn, void *arg, const void *owner,
                                    const struct zkli_events_owner *of) {
    (void)owner;
    (void)of; /* an event is told at once */
    struct zkli_events *events = malloc(sizeof(*events));
    if (events != NULL)
        *events = (struct zkli_events){1, fn, arg};
    return events;
}

void zkli_events_release(struct zkli_events *events) {
    if (events != NULL && --events->references == 0)
        free(events);
}

void zkli_events_post(struct zkl_session *s, struct zkli_events *events, const zkl_event *event) {
    s->posted++;
    events->fn(event, events->arg);
}

/* ---- The engine's host ---- */

static int64_t host_now_ns(void *arg) {
    return client_clock(arg);
}

static void host_random(void *arg, void *ret_bytes, size_t size) {
    struct client *c = arg;
    unsigned char *bytes = ret_bytes;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)world_random(c->world);
}

static struct zkli_port *host_new_port(void *arg) {
    struct client *c = arg;
    return c->handle != NONE ? &c->world->ports[c->handle].base
                             : port_new(c->world, number_of(c), false);
}

static void host_open_port(void *arg, struct zkli_port *port) {
    struct client *c = arg;
    struct world *w = c->world;
    world_at(w, w->now_ns + world_between(w, 100, 3000) * MICROSECOND, EVENT_OPEN_PORT,
             number_of_port(port), 0);
}

static void host_close_port(void *arg, struct zkli_port *port) {
    struct client *c = arg;
    struct world *w = c->world;
    if (c->handle != NONE) {
        port_detach(w, &w->ports[c->handle]);
        return;
    }
    world_at(w, w->now_ns + world_between(w, 100, 3000) * MICROSECOND, EVENT_CLOSE_PORT,
             number_of_port(port), 0);
}

static void host_on_session_event(void *arg, zkl_event_type type, bool is_new_session) {
    (void)arg;
    (void)type;
    (void)is_new_session;
}

static void host_log(void *arg, zkl_log_level level, const char *text) {
    struct client *c = arg;
    (void)level;
    TRACE(c->world, "client %d logs: %s", number_of(c), text);
}

static const struct zkli_host host = {
    .now_ns = host_now_ns,
    .random = host_random,
    .new_port = host_new_port,
    .open_port = host_open_port,
    .close_port = host_close_port,
    .on_session_event = host_on_session_event,
    .log = host_log,
};

static void shut_if_drained(struct client *c) {
    if (c->is_closing && zkli_engine_is_drained(c->session.engine))
        world_at(c->world, c->world->now_ns, EVENT_SHUT, (unsigned)number_of(c), c->stamp);
}

static void on_state(void *arg, struct zkli_port *port, enum zkli_port_state state) {
    struct client *c = arg;
    if (!c->is_open)
        return;
    zkli_session_lock(&c->session);
    zkli_engine_on_state(c->session.engine, port, state);
    zkli_session_unlock(&c->session);
    shut_if_drained(c);
    if (c->handle != NONE && state == ZKLI_PORT_EXPIRED) /* the program attaches another */
        world_at(c->world, c->world->now_ns + world_between(c->world, 1, 500) * MS, EVENT_LEAVE,
                 (unsigned)number_of(c), c->stamp);
}

/* Where commits are slow, what is answered between heartbeats tells that the server is not silent:
 * its connection is kept, and the hold may be lost. Not when it has dropped one: on the next it
 * reads its node, and does not drop that before T/2. */
static void note_answer_between(const struct client *c, unsigned slot) {
    struct world *w = c->world;
    w->disturbances += number_of(c) == w->keeper && w->log_takes_ns > 0 && w->keeper_may_lose &&
                       slot != ZKLI_SLOT_HEARTBEAT;
}

/* A single barrier has made certain what only syncs had proved. */
static void note_reply(struct client *c, struct zkli_port *port, unsigned slot,
                       const struct zkli_reply *reply) {
    struct zkli_engine *e = c->session.engine;
    const struct zkli_lease before = e->lease;
    zkli_engine_on_reply(e, port, slot, reply);
    c->world->figures->proofs_by_syncs += before.certain_until_ns <= e->now_ns &&
                                          before.heard_until_ns > e->now_ns &&
                                          zkli_engine_is_certain(e);
}

static void on_reply(void *arg, struct zkli_port *port, unsigned slot,
                     const struct zkli_reply *reply) {
    struct client *c = arg;
    if (!c->is_open)
        return;
    zkli_session_lock(&c->session);
    note_answer_between(c, slot);
    note_reply(c, port, slot, reply);
    zkli_session_unlock(&c->session);
    shut_if_drained(c);
}

static void on_watch(void *arg, struct zkli_port *port, const char *path,
                     enum zkli_watch_type type) {
    struct client *c = arg;
    if (!c->is_open)
        return;
    zkli_session_lock(&c->session);
    zkli_engine_on_watch(c->session.engine, port, path, type);
    zkli_session_unlock(&c->session);
}

const struct zkli_port_receiver *client_receiver(void) {
    static const struct zkli_port_receiver receiver = {on_state, on_reply, on_watch};
    return &receiver;
}

/* ---- Life ---- */

/* The program closes it, or has closed it. */
static void leave_handle(struct world *w, struct client *c) {
    if (c->handle != NONE)
        world_at(w, w->now_ns, EVENT_CLOSE_PORT, (unsigned)c->handle, 0);
    c->handle = NONE;
}

/* The program connects its handle, and attaches it later. Or it has one already. */
static void prepare_handle(struct world *w, struct client *c) {
    w->figures->attached++;
    bool has_one = c->handle != NONE && w->ports[c->handle].state != PORT_OVER;
    w->figures->attached_again += has_one;
    if (!has_one) {
        c->handle = (int)number_of_port(port_new(w, number_of(c), true));
        world_at(w, w->now_ns, EVENT_OPEN_PORT, (unsigned)c->handle, 0);
        c->born_ns = world_chance(w, 50) ? client_clock(c) : INT64_MIN / 2;
    }
    int64_t until_ns = world_chance(w, 50) ? w->timeout_ns / 8 : 2 * w->timeout_ns;
    world_at(w, w->now_ns + world_between(w, 0, until_ns), EVENT_OPEN, (unsigned)number_of(c), 1);
}

/* has_handle: the time has come to attach it. */
void client_open(struct world *w, unsigned client, unsigned has_handle) {
    struct client *c = &w->list[client];
    if (c->is_open || w->phase != PHASE_RUN)
        return;
    c->world = w;
    if (has_handle == 0 && world_chance(w, w->attached_percent)) {
        prepare_handle(w, c);
        return;
    }
    if (has_handle == 0)
        leave_handle(w, c);
    struct zkl_session *s = &c->session;
    c->is_open = true;
    c->is_closing = c->is_dead = false;
    c->port = NONE;
    c->refused_percent = 0;
    c->is_forgetful = false;
    c->tick_ns = 0;
    c->stamp++;
    zkli_list_init(&c->told);
    zkli_list_init(&c->session.places);
    c->is_telling = false;
    static char hosts[] = "simulated:1", root[] = "/locks";
    s->hosts = hosts;
    s->root = root;
    s->references = 1;
    s->process = zkli_process_number();
    s->engine = zkli_engine_new(&(struct zkli_engine_options){.host = &host,
                                                              .host_arg = c,
                                                              .root = root,
                                                              .keeps_session = world_chance(w, 20),
                                                              .is_attached = c->handle != NONE,
                                                              .born_ns = c->born_ns,
                                                              .who.owner_nonce = client + 1});
    assert(s->engine != NULL);
    TRACE(w, "client %u begins", client);
    zkli_session_lock(s);
    bool is_started = zkli_engine_start(s->engine);
    assert(is_started);
    (void)is_started;
    zkli_session_unlock(s);
    actors_start(w, (int)client);
}

void client_tick(struct world *w, unsigned client, unsigned stamp) {
    struct client *c = &w->list[client];
    if (!c->is_open || c->tick_stamp != stamp)
        return;
    if (c->is_paused) {
        world_at(w, c->wakes_ns + world_between(w, 0, 2000) * MICROSECOND, EVENT_TICK, client,
                 stamp);
        return;
    }
    c->tick_ns = 0;
    zkli_session_lock(&c->session);
    zkli_engine_tick(c->session.engine);
    zkli_session_unlock(&c->session);
}

void client_pause(struct world *w, int client, int64_t ns) {
    struct client *c = &w->list[client];
    if (c->is_paused || !c->is_open)
        return;
    TRACE(w, "client %d is stopped for %.3f s", client, (double)ns / 1e9);
    c->is_paused = true;
    c->wakes_ns = w->now_ns + ns;
    world_at(w, c->wakes_ns, EVENT_WAKE, (unsigned)client, ++c->pause);
}

void client_wake(struct world *w, unsigned client, unsigned pause) {
    struct client *c = &w->list[client];
    if (!c->is_paused || c->pause != pause)
        return;
    TRACE(w, "client %u goes on", client);
    c->is_paused = false;
    c->woke_ns = w->now_ns;
    for (int i = 0; i < w->port_count; i++)
        if (w->ports[i].client == (int)client)
            port_wake(w, i);
    actors_look(w, (int)client);
}

void client_close(struct world *w, int client, bool is_killed) {
    struct client *c = &w->list[client];
    if (!c->is_open || c->is_closing || (c->is_paused && !is_killed))
        return;
    TRACE(w, "client %d %s", client, is_killed ? "is killed" : "closes its session");
    c->is_closing = true;
    if (is_killed) {
        c->is_dead = true;
        for (int i = 0; i < w->port_count; i++)
            if (w->ports[i].client == client)
                port_close(w, (unsigned)i, 0);
        client_shut(w, (unsigned)client, c->stamp);
        return;
    }
    zkli_session_lock(&c->session);
    zkli_engine_drain(c->session.engine);
    zkli_session_unlock(&c->session);
    int64_t wait_ms = ZKLI_DRAIN_WAIT_MS + (c->handle != NONE ? ZKLI_CLOSE_WAIT_MS : 0);
    world_at(w, w->now_ns + wait_ms * MS, EVENT_SHUT, (unsigned)client, c->stamp);
    shut_if_drained(c);
}

void client_leave(struct world *w, unsigned client, unsigned stamp) {
    struct client *c = &w->list[client];
    if (!c->is_open || c->stamp != stamp)
        return;
    w->figures->attached_over++;
    if (c->is_paused)
        world_at(w, c->wakes_ns + MS, EVENT_LEAVE, client, stamp);
    else
        client_close(w, (int)client, false);
}

/* It has been shut. */
static void check_left(struct world *w, int client, bool is_untidy) {
    const struct port *p = &w->ports[w->list[client].handle];
    w->figures->left_untidy += is_untidy;
    if (p->is_left_untidy)
        return;
    for (int i = 0; i < w->truth.count; i++) {
        const struct znode *node = &w->truth.nodes[i];
        if (p->state != PORT_OVER && p->session != 0 && node->session == p->session &&
            w->names[node->name].lock != NONE)
            world_violate(w, CHECK_ATTACHED, "client %d leaves %s in its program's session", client,
                          w->names[node->name].text);
    }
}

void client_shut(struct world *w, unsigned client, unsigned stamp) {
    struct client *c = &w->list[client];
    if (!c->is_open || c->stamp != stamp)
        return;
    if (c->is_paused && !c->is_dead) {
        world_at(w, c->wakes_ns + MS, EVENT_SHUT, client, stamp);
        return;
    }
    zkli_session_lock(&c->session);
    bool is_untidy = zkli_engine_leaves_nodes(c->session.engine);
    if (c->handle != NONE) /* before it is left: watches may be set yet */
        w->ports[c->handle].is_left_untidy |= is_untidy;
    zkli_engine_shut(c->session.engine);
    zkli_session_unlock(&c->session);
    if (c->handle != NONE && !c->is_dead)
        check_left(w, (int)client, is_untidy);
    told_end(c);
    actors_end(w, (int)client);
    if (client_has_members(w, (int)client) || c->session.references != 1)
        world_violate(w, CHECK_LIVENESS, "client %u has something left after its session's end",
                      client);
    zkli_engine_free(c->session.engine);
    c->is_open = false;
    if (c->is_dead)
        c->is_paused = false;
    if (c->is_dead || is_untidy || world_chance(w, 50)) /* the nodes go with its session */
        leave_handle(w, c);
    world_at(w, w->now_ns + world_between(w, 1, 2000) * MS, EVENT_OPEN, client, 0);
}

bool client_has_members(const struct world *w, int client) {
    const struct zkli_engine *e = w->list[client].session.engine;
    return !zkli_list_is_empty(&e->members) || !zkli_list_is_empty(&e->noticed);
}
