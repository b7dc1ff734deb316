/*
 * life - how sessions begin and end, and how one takes the place of another; connections; what the
 * port says of its state.
 */
#include "base/probe.h"
#include "engine/engine_internal.h"

#include <assert.h>
#include <stdlib.h>

/* The one place where a session's state changes. */
static void move(struct zkli_engine *e, zkl_state to) {
    assert(e->state != ZKL_STATE_CLOSED);
    assert(to != ZKL_STATE_CONNECTED || e->state == ZKL_STATE_CONNECTING ||
           e->state == ZKL_STATE_SUSPENDED);
    assert(to != ZKL_STATE_SUSPENDED || e->state == ZKL_STATE_CONNECTED);
    e->state = to;
}

static void suspend(struct zkli_engine *e) {
    if (!zkli_is_connected(e))
        return;
    move(e, ZKL_STATE_SUSPENDED);
    e->has_looked = false;
    zkli_look_later(e);
    zkli_heartbeat_suspend(e);
    e->host->on_session_event(e->host_arg, ZKL_EVENT_SUSPENDED, false);
}

/* Once, unless it changes again. */
static void log_timeout(struct zkli_engine *e) {
    bool is_as_asked = e->asked_timeout_ms == 0 || e->timeout_ms == e->asked_timeout_ms;
    if (is_as_asked || e->timeout_ms == e->logged_timeout_ms)
        return;
    e->logged_timeout_ms = e->timeout_ms;
    zkli_engine_log(e, ZKL_LOG_INFO,
                    "the servers grant a session timeout of %d ms instead of %d ms", e->timeout_ms,
                    e->asked_timeout_ms);
}

/* The port is connected. */
static void begin_connection(struct zkli_engine *e, enum zkli_beginning beginning,
                             const char *how) {
    bool is_new = beginning == ZKLI_BEGINS_SESSION;
    e->connection++;
    e->counts.connections++;
    e->counts.sessions += is_new;
    e->connected_ns = e->now_ns;
    e->session_id = e->port->ops->session_id(e->port);
    e->timeout_ms = e->port->ops->timeout_ms(e->port);
    if (is_new || e->timeout_ms > e->longest_timeout_ms)
        e->longest_timeout_ms = e->timeout_ms;
    ZKLI_PROBE2(connection, e->session_id, is_new);
    zkli_engine_log(e, ZKL_LOG_INFO, "%s session 0x%llx, timeout %d ms", how,
                    (unsigned long long)e->session_id, e->timeout_ms);
    log_timeout(e);
    zkli_heartbeat_begin(e, beginning);
}

static void connect(struct zkli_engine *e, enum zkli_beginning beginning) {
    bool is_new = beginning == ZKLI_BEGINS_SESSION;
    bool is_first = e->connection == 0;
    suspend(e); /* the client may change servers without a word of the broken connection */
    move(e, ZKL_STATE_CONNECTED);
    zkli_timer_clear(&e->timers, &e->look);
    begin_connection(e, beginning, is_new ? "opened" : "resumed");
    if (!is_first)
        e->host->on_session_event(e->host_arg, ZKL_EVENT_RESUMED, is_new);
    zkli_members_step_all(e, ZKLI_EV_CONNECTED);
}

static void on_connected(struct zkli_engine *e) {
    connect(e, e->session_id == 0 ? ZKLI_BEGINS_SESSION : ZKLI_BEGINS_CONNECTION);
}

static void on_heard(struct zkli_engine *e) {
    connect(e, e->session_id == 0 ? ZKLI_BEGINS_SESSION : ZKLI_BEGINS_PERHAPS);
}

/* The session is over, with its nodes, watches and requests. Nothing is certain any more. The
 * caller has the port closed. */
static struct zkli_port *end_session(struct zkli_engine *e) {
    struct zkli_port *port = e->port;
    struct zkli_list queries;
    zkli_list_init(&queries);
    e->port = NULL;
    e->session_id = 0;
    zkli_requests_reset(e, &queries);
    zkli_queries_lost(e, &queries);
    if (port != NULL && port->ops->unwatch != NULL)
        zkli_watches_leave(port, e);
    zkli_watches_reset(e);
    zkli_heartbeat_end(e);
    e->bears_nodes = false;
    zkli_engine_refresh_tag(e);
    zkli_members_step_all(e, ZKLI_EV_EXPIRED);
    zkli_orphans_forget(e);
    zkli_dirs_forget_permits(e);
    return port;
}

/* ---- A session in place of this one ---- */

static void begin_session(struct zkli_engine *e, const struct zkli_successor *successor) {
    e->begun_ns = successor->begun_ns;
    e->port = successor->port;
}

/* A session that is connected stays so, and the program is not told. */
static void succeed(struct zkli_engine *e) {
    bool was_connected = zkli_is_connected(e);
    struct zkli_successor next = zkli_succession_take(e);
    struct zkli_port *last = end_session(e);
    begin_session(e, &next);
    if (was_connected) {
        begin_connection(e, ZKLI_BEGINS_SESSION, "in place of one whose lease had run out, opened");
        zkli_members_step_all(e, ZKLI_EV_CONNECTED);
    } else {
        on_connected(e);
    }
    e->host->close_port(e->host_arg, last);
}

void zkli_life_go_on(struct zkli_engine *e) {
    if (zkli_succession_is_due(e))
        succeed(e);
}

/* ---- Sessions ---- */

static void open_session(struct zkli_engine *e) {
    struct zkli_successor next = zkli_succession_take(e);
    if (next.port != NULL) {
        begin_session(e, &next);
        if (next.is_connected)
            on_connected(e);
        return; /* if not, a look is due: suspend has seen to it */
    }
    e->begun_ns = e->is_attached ? e->born_ns : e->now_ns;
    e->port = e->host->new_port(e->host_arg);
    if (e->port == NULL) {
        zkli_timer_set(&e->timers, &e->reopen, e->now_ns + ZKLI_RETRY_LAST_NS);
        return;
    }
    e->has_looked = false;
    zkli_look_later(e);
    e->host->open_port(e->host_arg, e->port);
}

static void reopen(struct zkli_timer *timer) {
    open_session(ZKLI_CONTAINER(timer, struct zkli_engine, reopen));
}

/* No other session follows. */
static void end_all(struct zkli_engine *e, zkl_state state, zkl_err error) {
    suspend(e);
    move(e, state);
    zkli_succession_end(e);
    e->left_nodes = error == ZKL_AUTH_FAILED && zkli_engine_leaves_nodes(e);
    zkli_members_abandon_all(e, error);
    struct zkli_port *port = end_session(e);
    e->host->close_port(e->host_arg, port);
    zkli_queries_end(e);
}

static void expire(struct zkli_engine *e) {
    if (e->is_attached) {
        zkli_engine_log(e, ZKL_LOG_ERROR, "the attached session 0x%llx has expired",
                        (unsigned long long)e->session_id);
        end_all(e, ZKL_STATE_EXPIRED, ZKL_EXPIRED);
        return;
    }
    zkli_engine_log(e, ZKL_LOG_WARN, "session 0x%llx has expired; opening another",
                    (unsigned long long)e->session_id);
    suspend(e);
    move(e, ZKL_STATE_CONNECTING);
    struct zkli_port *port = end_session(e);
    open_session(e); /* first: closing may take its time */
    e->host->close_port(e->host_arg, port);
}

void zkli_engine_on_state(struct zkli_engine *e, struct zkli_port *port,
                          enum zkli_port_state state) {
    if (port != e->port) {
        zkli_succession_note_state(e, port, state);
        return;
    }
    switch (state) {
    case ZKLI_PORT_CONNECTED:
        on_connected(e);
        break;
    case ZKLI_PORT_CONNECTING:
        suspend(e);
        break;
    case ZKLI_PORT_HEARD:
        on_heard(e);
        break;
    case ZKLI_PORT_EXPIRED:
        expire(e);
        break;
    case ZKLI_PORT_FAILED:
        zkli_engine_log(e, ZKL_LOG_WARN, "a session could not be made ready: out of memory");
        zkli_engine_on_open_failed(e, port);
        break;
    case ZKLI_PORT_AUTH_FAILED:
        zkli_engine_log(e, ZKL_LOG_ERROR, "the server rejects the credentials");
        end_all(e, ZKL_STATE_AUTH_FAILED, ZKL_AUTH_FAILED);
        break;
    }
}

/* The port's report may just be on its way to us. So a connection, or its end, counts when it was
 * there at the look before. The requests in flight stay: the port will answer them, even if it has
 * answered none and reported nothing so far. */
static void look(struct zkli_timer *timer) {
    struct zkli_engine *e = ZKLI_CONTAINER(timer, struct zkli_engine, look);
    if (e->port == NULL || e->port->ops->look == NULL)
        return;
    enum zkli_port_state state = e->port->ops->look(e->port);
    bool is_there = state == ZKLI_PORT_CONNECTED || state == ZKLI_PORT_HEARD;
    bool is_final = !is_there && state != ZKLI_PORT_CONNECTING;
    bool is_other = is_there != zkli_is_connected(e);
    bool is_news = is_final || (is_other && e->has_looked);
    zkli_heartbeat_note_timeout(e);
    if (!zkli_is_connected(e) || e->in_flight > 0 || is_other) {
        zkli_look_later(e);
        e->has_looked = is_other;
    }
    if (is_news)
        zkli_engine_on_state(e, e->port, state);
}

/* The client library closes the connection to a server that is not in the new list, and does not
 * tell (update_addrs in its zookeeper.c). If there is another connection already, its beginning is
 * told, and the end with it. */
void zkli_engine_hosts_taken(struct zkli_engine *e, struct zkli_port *port) {
    if (port != e->port || port->ops->look == NULL)
        return;
    if (port->ops->look(port) == ZKLI_PORT_CONNECTING)
        suspend(e);
}

void zkli_engine_on_open_failed(struct zkli_engine *e, struct zkli_port *port) {
    if (port != e->port) {
        zkli_succession_note_state(e, port, ZKLI_PORT_FAILED);
        return;
    }
    e->port = NULL;
    e->host->close_port(e->host_arg, port);
    zkli_timer_set(&e->timers, &e->reopen, e->now_ns + ZKLI_RETRY_LAST_NS);
}

void zkli_engine_drain(struct zkli_engine *e) {
    e->is_draining = true;
    zkli_members_abandon_all(e, ZKL_CLOSED);
    if (!e->is_attached)
        return; /* the session takes the nodes of holds with it */
    zkli_heartbeat_end(e);
    zkli_members_step_all(e, ZKLI_EV_LEASE);
}

bool zkli_engine_is_drained(const struct zkli_engine *e) {
    bool is_clear = !e->is_attached || zkli_list_is_empty(&e->members);
    return e->in_flight == 0 && is_clear;
}

/* A directory without members is kept for a visit: a node may appear there late. */
bool zkli_engine_leaves_nodes(const struct zkli_engine *e) {
    bool lives_on = e->is_attached && e->port != NULL;
    bool has_more = !zkli_list_is_empty(&e->members);
    for (size_t i = 0; i < ZKLI_BUCKETS; i++)
        has_more = has_more || !zkli_list_is_empty(&e->dirs[i]);
    return e->left_nodes || (lives_on && has_more);
}

void zkli_engine_shut(struct zkli_engine *e) {
    if (e->state == ZKL_STATE_CLOSED)
        return;
    zkli_members_abandon_all(e, ZKL_CLOSED);
    zkli_succession_end(e);
    zkli_timer_clear(&e->timers, &e->reopen);
    zkli_timer_clear(&e->timers, &e->look);
    move(e, ZKL_STATE_CLOSED); /* without the event SUSPENDED: this end was asked for */
    struct zkli_port *port = end_session(e);
    if (port != NULL)
        e->host->close_port(e->host_arg, port);
    zkli_queries_end(e);
}

/* ---- The engine ---- */

struct zkli_engine *zkli_engine_new(const struct zkli_engine_options *o) {
    struct zkli_engine *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return NULL;
    e->host = o->host;
    e->host_arg = o->host_arg;
    e->root = o->root;
    e->chroot_length = o->chroot_length;
    e->asked_timeout_ms = o->asked_timeout_ms;
    e->keeps_session = o->keeps_session || o->is_attached;
    e->is_attached = o->is_attached;
    e->born_ns = o->born_ns;
    e->who = o->who;
    e->state = ZKL_STATE_CONNECTING;
    e->counts.least_certain_ns = INT64_MAX;
    zkli_list_init(&e->members);
    zkli_list_init(&e->noticed);
    zkli_list_init(&e->changed_groups);
    zkli_list_init(&e->unsettled);
    zkli_list_init(&e->held_back);
    zkli_list_init(&e->visits);
    for (size_t i = 0; i < ZKLI_BUCKETS; i++)
        zkli_list_init(&e->dirs[i]);
    zkli_timer_init(&e->reopen, reopen);
    zkli_timer_init(&e->look, look);
    zkli_engine_refresh_tag(e);
    zkli_heartbeat_init(e);
    zkli_watches_init(e);
    zkli_queries_init(e);
    zkli_slots_init(e);
    return e;
}

void zkli_engine_free(struct zkli_engine *e) {
    free(e->siblings);
    free(e->spare);
    free(e);
}

bool zkli_engine_start(struct zkli_engine *e) {
    open_session(e);
    return e->port != NULL;
}
