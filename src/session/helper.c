/*
 * helper - a passing thread for what may block: opening a port (names are resolved), closing one
 * (threads are joined), a new list of servers. And the rest of the engine's host.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "session/session.h"
#include "session/zk_client.h"

bool zkli_helper_is_idle(const struct zkl_session *s) {
    return !s->helper_runs && zkli_list_is_empty(&s->helper_jobs);
}

/* Without the lock. */
static void do_jobs(struct zkl_session *s, struct zkli_port *port, unsigned jobs,
                    const char *hosts) {
    if ((jobs & ZKLI_PORT_OPEN) != 0 && (jobs & ZKLI_PORT_CLOSE) == 0 && !port->ops->open(port)) {
        int error = errno;
        zkli_session_lock(s);
        zkli_engine_log(&s->engine, ZKL_LOG_WARN, "cannot start a connection (errno %d)", error);
        zkli_engine_on_open_failed(&s->engine, port);
        zkli_session_unlock(s);
        return;
    }
    if ((jobs & ZKLI_PORT_SET_HOSTS) != 0 && (jobs & ZKLI_PORT_CLOSE) == 0 && hosts != NULL)
        port->ops->set_hosts(port, hosts);
    if ((jobs & ZKLI_PORT_CLOSE) != 0)
        port->ops->close(port);
}

static void *run(void *arg) {
    struct zkl_session *s = arg;
    zkli_session_lock(s);
    struct zkli_list *link;
    while ((link = zkli_list_take_first(&s->helper_jobs)) != NULL) {
        struct zkli_port *port = ZKLI_CONTAINER(link, struct zkli_port, jobs_link);
        unsigned jobs = port->jobs;
        port->jobs = 0;
        char *hosts = (jobs & ZKLI_PORT_SET_HOSTS) != 0 ? strndup(s->hosts, strcspn(s->hosts, "/"))
                                                        : NULL;
        zkli_session_unlock(s);
        do_jobs(s, port, jobs, hosts);
        free(hosts);
        zkli_session_lock(s);
    }
    s->helper_runs = false;
    pthread_cond_broadcast(&s->changed);
    zkli_session_unlock_and_release(s);
    return NULL;
}

void zkli_helper_ask(struct zkl_session *s, struct zkli_port *port, unsigned jobs) {
    port->jobs |= jobs;
    if (!zkli_list_is_linked(&port->jobs_link))
        zkli_list_append(&s->helper_jobs, &port->jobs_link);
    if (s->helper_runs)
        return;
    zkli_session_reference(s);
    s->helper_runs = true;
    pthread_t thread;
    if (zkli_thread_start(&thread, run, s) == 0) {
        (void)pthread_detach(thread);
        return;
    }
    s->helper_runs = false; /* asked again by the next job, and by close */
    s->references--;
    zkli_engine_log(&s->engine, ZKL_LOG_ERROR, "cannot start a thread");
}

/* ---- The engine's host ---- */

static int64_t host_now_ns(void *arg) {
    (void)arg;
    return zkli_boottime_ns();
}

static void host_random(void *arg, void *ret_bytes, size_t size) {
    (void)arg;
    /* Up to 256 bytes come whole or, before the kernel's pool is ready, after a wait. */
    while (getrandom(ret_bytes, size, 0) != (ssize_t)size)
        ;
}

static void on_state(void *arg, struct zkli_port *port, enum zkli_port_state state) {
    struct zkl_session *s = arg;
    zkli_session_lock(s);
    zkli_engine_on_state(&s->engine, port, state);
    pthread_cond_broadcast(&s->changed);
    zkli_session_unlock(s);
}

static void on_reply(void *arg, struct zkli_port *port, unsigned slot,
                     const struct zkli_reply *reply) {
    struct zkl_session *s = arg;
    zkli_session_lock(s);
    zkli_engine_on_reply(&s->engine, port, slot, reply);
    if (s->engine.is_draining)
        pthread_cond_broadcast(&s->changed);
    zkli_session_unlock(s);
}

static void on_watch(void *arg, struct zkli_port *port, const char *path,
                     enum zkli_watch_type type) {
    struct zkl_session *s = arg;
    zkli_session_lock(s);
    zkli_engine_on_watch(&s->engine, port, path, type);
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

static void host_on_session_event(void *arg, zkl_event_type type) {
    struct zkl_session *s = arg;
    zkl_event event = {.size = sizeof(event), .type = type, .session = s};
    zkli_callback_post(s, s->on_event, s->arg, s, &event);
}

const struct zkli_host zkli_session_host = {
    host_now_ns,     host_random,           host_new_port, host_open_port,
    host_close_port, host_on_session_event, host_log,
};
