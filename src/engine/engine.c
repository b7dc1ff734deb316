/* engine - a session's life, its lease and its heartbeat; see engine.h. */
#include "engine/engine_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
size_t zkli_bucket_of(const char *path, size_t length) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * UINT64_C(1099511628211);
    return (size_t)((hash ^ (hash >> 32)) % ZKLI_BUCKETS);
}

void zkli_engine_refresh_uuid(struct zkli_engine *e) {
    uint8_t random[10];
    e->host->random(e->host_arg, random, sizeof(random));
    zkli_uuid_format(e->fresh_uuid, e->tag, random);
}

/* Nodes of an earlier session are not taken for this one's. */
static void take_new_tag(struct zkli_engine *e) {
    uint8_t random[6];
    e->host->random(e->host_arg, random, sizeof(random));
    zkli_tag_format(e->tag, random);
    zkli_engine_refresh_uuid(e);
}

void zkli_engine_log(struct zkli_engine *e, zkl_log_level level, const char *format, ...) {
    char text[ZKLI_PATH_MAX + 256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args); /* a longer line is cut */
    va_end(args);
    e->host->log(e->host_arg, level, text);
}

/* ---- Heartbeat and lease ---- */

bool zkli_engine_is_certain(const struct zkli_engine *e) {
    return zkli_lease_is_certain(&e->lease, e->now_ns);
}

void zkli_engine_check_lease(struct zkli_engine *e) {
    bool is_certain = zkli_engine_is_certain(e);
    bool is_ample = is_certain && e->now_ns < e->ample_until_ns;
    zkli_timer_set(&e->timers, &e->lease_end, is_certain ? e->lease.certain_until_ns : ZKLI_NEVER);
    if (is_certain == e->was_certain && is_ample == e->was_ample)
        return;
    e->was_certain = is_certain;
    e->was_ample = is_ample;
    zkli_members_step_all(e, ZKLI_EV_LEASE);
}

static void lease_changed(struct zkli_engine *e) {
    e->ample_until_ns = zkli_lease_ample_until(&e->lease, e->now_ns);
    zkli_engine_check_lease(e);
}

static void lease_ended(void *arg) {
    zkli_engine_check_lease(arg);
}

/* A look that is due is not put off: heartbeats that are refused come more often than looks. */
static void look_later(struct zkli_engine *e) {
    if (e->look.is_set)
        return;
    e->has_looked = false;
    zkli_timer_set(&e->timers, &e->look, e->now_ns + ZKLI_LOOK_NS);
}

/* A connection that nobody told of may have another timeout, a shorter one. Whoever asks before he
 * counts an answer has counted none of that connection yet. */
static void notice_timeout(struct zkli_engine *e) {
    if (e->session_id == 0)
        return;
    int timeout_ms = e->port->ops->timeout_ms(e->port);
    if (timeout_ms == e->timeout_ms)
        return;
    e->timeout_ms = timeout_ms;
    zkli_lease_shorten(&e->lease, timeout_ms * ZKLI_NS_PER_MS);
    lease_changed(e);
}

static void send_beat(void *arg) {
    struct zkli_engine *e = arg;
    if (e->beat_in_flight)
        look_later(e); /* no answer since it was sent: is the port awake? */
    if (!e->is_connected || e->is_draining || e->beat_in_flight)
        return;
    if (e->is_lazy && zkli_list_is_empty(&e->members)) {
        e->ample_until_ns = e->now_ns; /* until the next one is acknowledged */
        zkli_timer_clear(&e->timers, &e->stall);
        return;
    }
    struct zkli_slot *slot = &e->slots[ZKLI_SLOT_HEARTBEAT];
    assert(slot->use == ZKLI_SLOT_FREE); /* nothing else takes it */
    int64_t period_ns = zkli_lease_period_ns(e->lease.timeout_ns);
    zkli_timer_set(&e->timers, &e->beat, e->now_ns + period_ns);
    struct zkli_member *witness = zkli_members_witness(e);
    char node[ZKLI_PATH_MAX];
    bool fits = witness == NULL || zkli_member_path(witness, node, sizeof(node));
    assert(fits); /* ZKLI_PATH_MAX */
    (void)fits;   /* in a build without assertions */
    /* The clock is read before the request can leave. */
    e->beat_sent_ns = e->host->now_ns(e->host_arg);
    e->beat_in_flight = e->port->ops->barrier(e->port, ZKLI_SLOT_HEARTBEAT,
                                              witness != NULL ? node : NULL);
    if (e->beat_in_flight) {
        *slot = (struct zkli_slot){.use = ZKLI_SLOT_BEAT, .member = witness};
        e->in_flight++;
    } else {
        look_later(e); /* perhaps the session is over, and nobody has said so */
    }
    zkli_members_step_all(e, ZKLI_EV_HEARTBEAT);
}

/* A server that answers pings and commits nothing looks like a good one. */
static void tell_of_stall(void *arg) {
    struct zkli_engine *e = arg;
    if (!e->is_connected) { /* that is told by its own event */
        zkli_timer_set(&e->timers, &e->stall, e->now_ns + e->timeout_ms * ZKLI_NS_PER_MS / 4);
        return;
    }
    zkli_engine_log(e, ZKL_LOG_WARN,
                    "connected, but no heartbeat has been committed for %d ms: holds are lost and "
                    "none is granted until the servers commit again",
                    e->timeout_ms);
}

/* From now on, unless a heartbeat is committed before. */
static void expect_beats(struct zkli_engine *e) {
    zkli_timer_set(&e->timers, &e->stall, e->now_ns + e->timeout_ms * ZKLI_NS_PER_MS);
}

/* On a new connection: what was not committed before it is not this one's fault. */
static void expect_beats_again(struct zkli_engine *e, bool is_new) {
    int64_t soon_ns = e->now_ns + e->timeout_ms * ZKLI_NS_PER_MS / 4;
    if (is_new)
        expect_beats(e);
    else if (e->stall.is_set && e->stall.at_ns < soon_ns)
        zkli_timer_set(&e->timers, &e->stall, soon_ns);
}

/* It proves nothing, whatever the reason. Servers that are asked too much say so, and are asked
 * again; a node that the heartbeat did not find, or may not look at, is not asked for again. */
static void on_refused_beat(struct zkli_engine *e, struct zkli_member *witness,
                            const struct zkli_reply *reply) {
    if (reply->code != e->beat_refusal)
        zkli_engine_log(e, ZKL_LOG_WARN,
                        "a heartbeat proves nothing: the server's answer is code %d", reply->code);
    e->beat_refusal = reply->code;
    if (witness == NULL || reply->result == ZKLI_RESULT_AGAIN)
        return;
    witness->unfit_czxid = witness->core.czxid;
    if (reply->result == ZKLI_RESULT_NO_NODE)
        zkli_member_node_gone(witness);
}

/*
 * The port tells of the end of a connection before it fails what was in flight, and of a new one
 * before it hands over what came by that. So an answer that comes while we think that we are not
 * connected is of a connection that was not told of; what that proves, nobody could tell, and it is
 * left out. And a heartbeat that is lost while we think that we are connected says that the end was
 * not told; or it is a server's own answer, so the port is looked at. A new connection of which
 * neither its own beginning nor the end of the one before it was told cannot be seen, unless it has
 * another timeout; with the same it does not matter to the lease (lease.h).
 */
void zkli_engine_on_beat(struct zkli_engine *e, struct zkli_member *witness,
                         const struct zkli_reply *reply) {
    e->beat_in_flight = false;
    notice_timeout(e);
    if (reply->result != ZKLI_RESULT_OK && reply->result != ZKLI_RESULT_LOST)
        on_refused_beat(e, witness, reply);
    if (reply->result == ZKLI_RESULT_LOST)
        look_later(e);
    else if (e->is_connected)
        zkli_timer_clear(&e->timers, &e->look);
    if (reply->result == ZKLI_RESULT_OK && e->is_connected) {
        e->beat_refusal = 0;
        zkli_lease_beat(&e->lease, e->beat_sent_ns, e->now_ns);
        expect_beats(e);
        lease_changed(e);
    }
    if (e->is_connected && !e->beat.is_set) /* it was due while this one was in flight */
        zkli_timer_set(&e->timers, &e->beat, e->now_ns);
}

void zkli_engine_want_beat(struct zkli_engine *e) {
    if (!e->is_lazy || !e->is_connected || e->beat.is_set)
        return;
    zkli_timer_set(&e->timers, &e->beat, e->now_ns);
    expect_beats(e);
}

/* ---- Life ---- */

static void open_session(struct zkli_engine *e) {
    e->begun_ns = e->now_ns;
    e->port = e->host->new_port(e->host_arg);
    if (e->port == NULL) {
        zkli_timer_set(&e->timers, &e->reopen, e->now_ns + ZKLI_RETRY_LAST_NS);
        return;
    }
    e->has_looked = false;
    look_later(e);
    e->host->open_port(e->host_arg, e->port);
}

static void look(void *arg);

static void reopen(void *arg) {
    open_session(arg);
}

struct zkli_engine *zkli_engine_new(const struct zkli_engine_options *o) {
    struct zkli_engine *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return NULL;
    e->host = o->host;
    e->host_arg = o->host_arg;
    e->root = o->root;
    e->chroot_length = o->chroot_length;
    e->asked_timeout_ms = o->asked_timeout_ms;
    e->is_lazy = o->is_lazy;
    e->who = o->who;
    e->state = ZKL_STATE_CONNECTING;
    zkli_list_init(&e->members);
    zkli_list_init(&e->noticed);
    for (size_t i = 0; i < ZKLI_BUCKETS; i++)
        zkli_list_init(&e->dirs[i]);
    zkli_timer_init(&e->beat, send_beat, e);
    zkli_timer_init(&e->lease_end, lease_ended, e);
    zkli_timer_init(&e->stall, tell_of_stall, e);
    zkli_timer_init(&e->reopen, reopen, e);
    zkli_timer_init(&e->look, look, e);
    take_new_tag(e);
    zkli_watches_init(e);
    zkli_requests_init(e);
    return e;
}

void zkli_engine_free(struct zkli_engine *e) {
    zkli_watches_reset(e);
    free(e->siblings);
    free(e->spare);
    free(e);
}

bool zkli_engine_start(struct zkli_engine *e) {
    open_session(e);
    return e->port != NULL;
}

static void suspend(struct zkli_engine *e) {
    if (!e->is_connected)
        return;
    e->is_connected = false;
    e->is_suspended = true;
    e->state = ZKL_STATE_SUSPENDED;
    e->has_looked = false;
    look_later(e);
    zkli_timer_set(&e->timers, &e->beat, ZKLI_NEVER);
    e->host->on_session_event(e->host_arg, ZKL_EVENT_SUSPENDED, false);
}

/* Once, unless it changes again. */
static void tell_of_timeout(struct zkli_engine *e) {
    bool is_as_asked = e->asked_timeout_ms == 0 || e->timeout_ms == e->asked_timeout_ms;
    if (is_as_asked || e->timeout_ms == e->told_timeout_ms)
        return;
    e->told_timeout_ms = e->timeout_ms;
    zkli_engine_log(e, ZKL_LOG_INFO,
                    "the servers grant a session timeout of %d ms instead of %d ms", e->timeout_ms,
                    e->asked_timeout_ms);
}

static void on_connected(struct zkli_engine *e) {
    bool is_new = e->session_id == 0;
    suspend(e); /* the client may change servers without a word of the broken connection */
    e->is_connected = true;
    zkli_timer_clear(&e->timers, &e->look);
    e->state = ZKL_STATE_CONNECTED;
    e->connection++;
    e->connected_ns = e->now_ns;
    e->session_id = e->port->ops->session_id(e->port);
    e->timeout_ms = e->port->ops->timeout_ms(e->port);
    if (is_new)
        zkli_lease_begin(&e->lease, e->timeout_ms * ZKLI_NS_PER_MS, e->begun_ns);
    else
        zkli_lease_reconnect(&e->lease, e->timeout_ms * ZKLI_NS_PER_MS);
    zkli_engine_log(e, ZKL_LOG_INFO, "%s session 0x%llx, timeout %d ms",
                    is_new ? "opened" : "resumed", (unsigned long long)e->session_id,
                    e->timeout_ms);
    tell_of_timeout(e);
    lease_changed(e);
    expect_beats_again(e, is_new);
    send_beat(e);
    if (e->is_suspended)
        e->host->on_session_event(e->host_arg, ZKL_EVENT_RESUMED, is_new);
    e->is_suspended = false;
    zkli_members_step_all(e, ZKLI_EV_CONNECTED);
}

/* The session is over: its nodes, watches, requests and certainty with it. The port is the caller's
 * to have closed. */
static struct zkli_port *end_session(struct zkli_engine *e) {
    struct zkli_port *port = e->port;
    suspend(e);
    e->port = NULL;
    e->session_id = 0;
    e->beat_in_flight = false;
    zkli_timer_clear(&e->timers, &e->stall);
    zkli_requests_reset(e);
    zkli_watches_reset(e);
    zkli_lease_end(&e->lease);
    take_new_tag(e);
    e->was_certain = e->was_ample = false;
    zkli_timer_clear(&e->timers, &e->lease_end);
    zkli_members_step_all(e, ZKLI_EV_EXPIRED);
    zkli_members_forget_orphans(e);
    return port;
}

void zkli_engine_on_state(struct zkli_engine *e, struct zkli_port *port,
                          enum zkli_port_state state) {
    if (port != e->port)
        return;
    switch (state) {
    case ZKLI_PORT_CONNECTED:
        on_connected(e);
        break;
    case ZKLI_PORT_CONNECTING:
        suspend(e);
        break;
    case ZKLI_PORT_EXPIRED:
        zkli_engine_log(e, ZKL_LOG_WARN, "session 0x%llx has expired; opening another",
                        (unsigned long long)e->session_id);
        (void)end_session(e);
        e->state = ZKL_STATE_CONNECTING;
        open_session(e); /* first: closing may take its time */
        e->host->close_port(e->host_arg, port);
        break;
    case ZKLI_PORT_FAILED:
        zkli_engine_log(e, ZKL_LOG_WARN, "a session could not be made ready: out of memory");
        zkli_engine_on_open_failed(e, port);
        break;
    case ZKLI_PORT_AUTH_FAILED:
        zkli_engine_log(e, ZKL_LOG_ERROR, "the server rejects the credentials");
        e->state = ZKL_STATE_AUTH_FAILED;
        zkli_members_abandon_all(e, ZKL_AUTH_FAILED);
        (void)end_session(e);
        e->host->close_port(e->host_arg, port);
        zkli_queries_end(e);
        e->state = ZKL_STATE_AUTH_FAILED;
        break;
    }
}

/* What it has to tell may just be on its way to us: a connection, or its end, counts when it was
 * there at the look before. The requests in flight stay there: the port will answer them, even if
 * it has answered none and told nothing so far. */
static void look(void *arg) {
    struct zkli_engine *e = arg;
    if (e->port == NULL || e->port->ops->look == NULL)
        return;
    enum zkli_port_state state = e->port->ops->look(e->port);
    bool is_final = state != ZKLI_PORT_CONNECTED && state != ZKLI_PORT_CONNECTING;
    bool is_other = (state == ZKLI_PORT_CONNECTED) != e->is_connected;
    bool is_news = is_final || (is_other && e->has_looked);
    notice_timeout(e);
    if (!e->is_connected || e->beat_in_flight || is_other) {
        look_later(e);
        e->has_looked = is_other;
    }
    if (is_news)
        zkli_engine_on_state(e, e->port, state);
}

void zkli_engine_on_open_failed(struct zkli_engine *e, struct zkli_port *port) {
    if (port != e->port)
        return;
    e->port = NULL;
    e->host->close_port(e->host_arg, port);
    zkli_timer_set(&e->timers, &e->reopen, e->now_ns + ZKLI_RETRY_LAST_NS);
}

void zkli_engine_drain(struct zkli_engine *e) {
    e->is_draining = true;
    zkli_members_abandon_all(e, ZKL_CLOSED);
}

bool zkli_engine_is_drained(const struct zkli_engine *e) {
    return e->in_flight == 0;
}

void zkli_engine_shut(struct zkli_engine *e) {
    if (e->state == ZKL_STATE_CLOSED)
        return;
    zkli_members_abandon_all(e, ZKL_CLOSED);
    zkli_timer_clear(&e->timers, &e->reopen);
    zkli_timer_clear(&e->timers, &e->beat);
    e->is_connected = false; /* the end of the connection is no news to anybody */
    struct zkli_port *port = end_session(e);
    if (port != NULL)
        e->host->close_port(e->host_arg, port);
    zkli_queries_end(e);
    e->state = ZKL_STATE_CLOSED;
}

void zkli_engine_enter(struct zkli_engine *e) {
    e->now_ns = e->host->now_ns(e->host_arg);
    zkli_engine_check_lease(e);
    zkli_members_hand_out(e); /* so that no call finds a hold that is over */
}

int64_t zkli_engine_settle(struct zkli_engine *e) {
    do {
        zkli_members_hand_out(e);
        zkli_requests_pump(e);
    } while (!zkli_list_is_empty(&e->noticed));
    return zkli_timers_next(&e->timers);
}

void zkli_engine_tick(struct zkli_engine *e) {
    zkli_timers_run(&e->timers, e->now_ns);
}

/* ---- What it says of itself ---- */

zkl_state zkli_engine_state(const struct zkli_engine *e) {
    return e->state;
}

bool zkli_engine_is_connected(const struct zkli_engine *e) {
    return e->is_connected;
}

bool zkli_engine_is_draining(const struct zkli_engine *e) {
    return e->is_draining;
}

int64_t zkli_engine_session_id(const struct zkli_engine *e) {
    return e->session_id;
}

int zkli_engine_timeout_ms(const struct zkli_engine *e) {
    return e->timeout_ms;
}

size_t zkli_engine_chroot_length(const struct zkli_engine *e) {
    return e->chroot_length;
}

struct zkli_port *zkli_engine_port(const struct zkli_engine *e) {
    return e->port;
}

int64_t zkli_engine_now_ns(const struct zkli_engine *e) {
    return e->now_ns;
}

int64_t zkli_engine_certain_until_ns(const struct zkli_engine *e) {
    return e->lease.certain_until_ns;
}

uint64_t zkli_engine_news(const struct zkli_engine *e) {
    return e->news;
}

void zkli_engine_set_timer(struct zkli_engine *e, struct zkli_timer *timer, int64_t at_ns) {
    zkli_timer_set(&e->timers, timer, at_ns);
}

void zkli_engine_clear_timer(struct zkli_engine *e, struct zkli_timer *timer) {
    zkli_timer_clear(&e->timers, timer);
}
