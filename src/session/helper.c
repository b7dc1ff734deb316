/*
 * helper - a passing thread for what may block: opening a port (names are resolved), closing one
 * (threads are joined), a new list of servers. And the rest of the engine's host.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "session/session.h"
#include "zk/zk_client.h"

#define RETRY_NS (100 * ZKLI_NS_PER_MS)

bool zkli_helper_is_idle(const struct zkl_session *s) {
    return !s->helper_runs && zkli_list_is_empty(&s->helper_jobs);
}

/* Out of memory, or the names cannot be looked up just now. */
static void set_hosts_later(struct zkl_session *s, struct zkli_port *port, char *hosts) {
    zkli_session_lock(s);
    if (port == zkli_engine_port(s->engine) && port->new_hosts == NULL) {
        zkli_engine_log(s->engine, ZKL_LOG_WARN, "the new list of servers is refused; again soon");
        port->new_hosts = hosts;
        hosts = NULL;
        zkli_engine_set_timer(s->engine, &s->hosts_retry,
                              zkli_engine_now_ns(s->engine) + ZKLI_RETRY_LAST_NS);
    }
    zkli_session_unlock(s);
    free(hosts); /* if there is a newer list, or another session */
}

static void set_hosts_again(void *arg) {
    struct zkl_session *s = arg;
    struct zkli_port *port = zkli_engine_port(s->engine);
    if (port != NULL && port->new_hosts != NULL)
        zkli_helper_ask(s, port, ZKLI_PORT_SET_HOSTS);
}

/* Without the lock. hosts is taken over. */
static void do_jobs(struct zkl_session *s, struct zkli_port *port, unsigned jobs, char *hosts) {
    if ((jobs & ZKLI_PORT_OPEN) != 0 && (jobs & ZKLI_PORT_CLOSE) == 0 && !port->ops->open(port)) {
        int error = errno;
        zkli_session_lock(s);
        s->open_error = error;
        pthread_cond_broadcast(&s->changed);
        zkli_engine_log(s->engine, ZKL_LOG_WARN, "cannot start a connection (errno %d)", error);
        zkli_engine_on_open_failed(s->engine, port);
        zkli_session_unlock(s);
        free(hosts);
        return;
    }
    if (hosts != NULL && (jobs & ZKLI_PORT_CLOSE) == 0 && !port->ops->set_hosts(port, hosts))
        set_hosts_later(s, port, hosts);
    else
        free(hosts);
    if ((jobs & ZKLI_PORT_CLOSE) != 0)
        port->ops->close(port);
}

/* With the lock held, which it releases for each job. */
static void run_jobs(struct zkl_session *s) {
    struct zkli_list *link;
    while ((link = zkli_list_take_first(&s->helper_jobs)) != NULL) {
        struct zkli_port *port = ZKLI_CONTAINER(link, struct zkli_port, jobs_link);
        unsigned jobs = port->jobs;
        port->jobs = 0;
        char *hosts = port->new_hosts;
        port->new_hosts = NULL;
        zkli_session_unlock(s);
        do_jobs(s, port, jobs, hosts);
        zkli_session_lock(s);
    }
}

static void *run(void *arg) {
    struct zkl_session *s = arg;
    zkli_session_lock(s);
    run_jobs(s);
    s->helper_runs = false;
    pthread_cond_broadcast(&s->changed);
    zkli_session_unlock_and_release(s);
    return NULL;
}

static void start(void *arg) {
    struct zkl_session *s = arg;
    pthread_t thread;
    if (s->helper_runs || zkli_list_is_empty(&s->helper_jobs))
        return;
    if (zkli_thread_start(&thread, run, s) == 0) {
        (void)pthread_detach(thread);
        zkli_session_reference(s);
        s->helper_runs = true;
        return;
    }
    s->open_error = ENOMEM; /* the thread that opens the session does not wait for another try */
    zkli_engine_log(s->engine, ZKL_LOG_ERROR, "cannot start a thread; trying again");
    zkli_engine_set_timer(s->engine, &s->helper_retry, zkli_engine_now_ns(s->engine) + RETRY_NS);
}

void zkli_helper_init(struct zkl_session *s) {
    zkli_list_init(&s->helper_jobs);
    zkli_timer_init(&s->helper_retry, start, s);
    zkli_timer_init(&s->hosts_retry, set_hosts_again, s);
}

bool zkli_helper_is_stuck(const struct zkl_session *s) {
    return !s->helper_runs && !zkli_list_is_empty(&s->helper_jobs);
}

void zkli_helper_finish(struct zkl_session *s) {
    zkli_engine_clear_timer(s->engine, &s->helper_retry);
    run_jobs(s);
}

void zkli_helper_ask(struct zkl_session *s, struct zkli_port *port, unsigned jobs) {
    port->jobs |= jobs;
    if (!zkli_list_is_linked(&port->jobs_link))
        zkli_list_append(&s->helper_jobs, &port->jobs_link);
    start(s);
}

/* ---- The engine's host ---- */

static int64_t host_now_ns(void *arg) {
    (void)arg;
    return zkli_boottime_ns();
}

/* Uuids must differ, they need not be secret: where the kernel refuses, clock and address do. */
static void mix(struct zkl_session *s, unsigned char *bytes, size_t size) {
    uint64_t state = (uint64_t)zkli_boottime_ns() ^ (uint64_t)(uintptr_t)s ^
                     ((uint64_t)s->pid << 32) ^ ++s->mixed;
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

static void on_state(void *arg, struct zkli_port *port, enum zkli_port_state state) {
    struct zkl_session *s = arg;
    zkli_session_lock(s);
    zkli_engine_on_state(s->engine, port, state);
    pthread_cond_broadcast(&s->changed);
    zkli_session_unlock(s);
}

static void on_reply(void *arg, struct zkli_port *port, unsigned slot,
                     const struct zkli_reply *reply) {
    struct zkl_session *s = arg;
    zkli_session_lock(s);
    if (zkli_client_awaits(port, slot, reply))
        zkli_engine_on_reply(s->engine, port, slot, reply);
    if (zkli_engine_is_draining(s->engine))
        pthread_cond_broadcast(&s->changed);
    zkli_session_unlock(s);
}

static void on_watch(void *arg, struct zkli_port *port, const char *path,
                     enum zkli_watch_type type) {
    struct zkl_session *s = arg;
    zkli_session_lock(s);
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
    return zkli_client_new(&config);
}

static void host_open_port(void *arg, struct zkli_port *port) {
    zkli_helper_ask(arg, port, ZKLI_PORT_OPEN);
}

static void host_close_port(void *arg, struct zkli_port *port) {
    zkli_helper_ask(arg, port, ZKLI_PORT_CLOSE);
}

static void host_on_session_event(void *arg, zkl_event_type type, bool is_new_session) {
    struct zkl_session *s = arg;
    zkl_event event = {
        .size = sizeof(event), .type = type, .session = s, .is_new_session = is_new_session};
    zkli_callback_post(s, &s->own_events, &event);
}

const struct zkli_host zkli_session_host = {
    host_now_ns,     host_random,           host_new_port, host_open_port,
    host_close_port, host_on_session_event, host_log,
};
