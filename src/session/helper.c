/*
 * helper - a passing thread for what may block: opening a port (names are resolved), closing one
 * (threads are joined), a new list of servers, the search for a port's socket.
 */
#include "session/session_internal.h"

#include <errno.h>
#include <stdlib.h>

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

static void set_hosts_again(struct zkli_timer *timer) {
    struct zkl_session *s = ZKLI_CONTAINER(timer, struct zkl_session, hosts_retry);
    struct zkli_port *port = zkli_engine_port(s->engine);
    if (port != NULL && port->new_hosts != NULL)
        zkli_helper_ask(s, port, ZKLI_PORT_SET_HOSTS);
}

/* Without the lock. hosts is taken over. */
static void set_hosts(struct zkl_session *s, struct zkli_port *port, char *hosts) {
    if (!port->ops->set_hosts(port, hosts)) {
        set_hosts_later(s, port, hosts);
        return;
    }
    free(hosts);
    zkli_session_lock(s);
    zkli_engine_hosts_taken(s->engine, port);
    zkli_session_unlock(s);
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
    if ((jobs & ZKLI_PORT_CLOSE) != 0) {
        free(hosts);
        port->ops->close(port);
        return;
    }
    if (hosts != NULL)
        set_hosts(s, port, hosts);
    if ((jobs & ZKLI_PORT_PREPARE) != 0)
        port->ops->prepare(port);
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

static void start(struct zkl_session *s) {
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

static void start_again(struct zkli_timer *timer) {
    start(ZKLI_CONTAINER(timer, struct zkl_session, helper_retry));
}

void zkli_helper_init(struct zkl_session *s) {
    zkli_list_init(&s->helper_jobs);
    zkli_timer_init(&s->helper_retry, start_again);
    zkli_timer_init(&s->hosts_retry, set_hosts_again);
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
