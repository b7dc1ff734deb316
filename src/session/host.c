/*
 * host - what the engine asks of its surroundings: time, random bytes, a port, a line of log. And
 * what the client library tells, which becomes events of the engine here.
 */
#include "session/session_internal.h"

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

#include "zk/zk_client.h"

static int64_t host_now_ns(void *arg) {
    (void)arg;
    return zkli_boottime_ns();
}

/* Uuids must differ, they need not be secret: where the kernel refuses, clock and address do. */
static void mix(struct zkl_session *s, unsigned char *bytes, size_t size) {
    uint64_t state = (uint64_t)zkli_boottime_ns() ^ (uint64_t)(uintptr_t)s ^
                     ((uint64_t)getpid() << 32) ^ ++s->mixed;
    for (size_t i = 0; i < size; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (unsigned char)(state >> 56);
    }
}

static void host_random(void *arg, void *ret_bytes, size_t size) {
    ssize_t got;
    do
        got = getrandom(ret_bytes, size, 0); /* up to 256 bytes come whole */
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)size)
        mix(arg, ret_bytes, size);
}

/* The client library's thread runs the program's completions, too, if the handle is the program's,
 * or was lent. */
static void begin_delivery(struct zkl_session *s) {
    zkli_session_lock(s);
    if (s->attached != NULL || atomic_load(&s->has_lent))
        zkli_thread_delivers();
}

static void on_state(void *arg, struct zkli_port *port, enum zkli_port_state state) {
    struct zkl_session *s = arg;
    begin_delivery(s);
    zkli_engine_on_state(s->engine, port, state);
    pthread_cond_broadcast(&s->changed);
    zkli_session_unlock(s);
}

static void on_reply(void *arg, struct zkli_port *port, unsigned slot,
                     const struct zkli_reply *reply) {
    struct zkl_session *s = arg;
    begin_delivery(s);
    if (zkli_client_awaits(port, slot, reply))
        zkli_engine_on_reply(s->engine, port, slot, reply);
    if (zkli_engine_is_draining(s->engine))
        pthread_cond_broadcast(&s->changed);
    zkli_session_unlock(s);
}

static void on_watch(void *arg, struct zkli_port *port, const char *path,
                     enum zkli_watch_type type) {
    struct zkl_session *s = arg;
    begin_delivery(s);
    zkli_engine_on_watch(s->engine, port, path, type);
    zkli_session_unlock(s);
}

static void host_log(void *arg, zkl_log_level level, const char *text) {
    struct zkl_session *s = arg;
    (void)pthread_mutex_lock(&s->log_mutex);
    if (s->log != NULL)
        s->log(level, text, s->arg);
    (void)pthread_mutex_unlock(&s->log_mutex);
}

void zkli_session_end_log(struct zkl_session *s) {
    (void)pthread_mutex_lock(&s->log_mutex);
    s->log = NULL;
    (void)pthread_mutex_unlock(&s->log_mutex);
}

static struct zkli_port *host_new_port(void *arg) {
    static const struct zkli_port_receiver receiver = {on_state, on_reply, on_watch};
    struct zkl_session *s = arg;
    struct zkli_client_config config = {
        .hosts = s->hosts,
        .timeout_ms = s->session_timeout_ms,
        .auth_scheme = s->auth_scheme,
        .auth = s->auth,
        .is_creator_acl = s->is_creator_acl,
        .receiver = &receiver,
        .last_errno = &s->client_errno,
        .log = host_log,
        .arg = s,
    };
    return s->attached == NULL ? zkli_client_new(&config)
                               : zkli_client_attach(&config, s->attached);
}

static void host_open_port(void *arg, struct zkli_port *port) {
    zkli_helper_ask(arg, port, ZKLI_PORT_OPEN);
}

static void host_close_port(void *arg, struct zkli_port *port) {
    if (port->loans > 0)
        port->is_close_owed = true;
    else
        zkli_helper_ask(arg, port, ZKLI_PORT_CLOSE);
}

static void host_prepare_port(void *arg, struct zkli_port *port) {
    zkli_helper_ask(arg, port, ZKLI_PORT_PREPARE);
}

static void host_on_session_event(void *arg, zkl_event_type type, bool is_new_session) {
    struct zkl_session *s = arg;
    zkl_event event = {
        .size = sizeof(event), .type = type, .session = s, .is_new_session = is_new_session};
    zkli_callback_post(s, &s->own_events, &event);
}

const struct zkli_host zkli_session_host = {
    .now_ns = host_now_ns,
    .random = host_random,
    .new_port = host_new_port,
    .open_port = host_open_port,
    .close_port = host_close_port,
    .prepare_port = host_prepare_port,
    .on_session_event = host_on_session_event,
    .log = host_log,
};
