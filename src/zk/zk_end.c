/*
 * zk_end - see zk_end.h. With zk_client.c and zk_requests.c the only files that call the client
 * library.
 *
 * A client that comes with a session's id and password has that session. Its close is a request
 * like any other: it may be lost with the connection, and the library does not wait for its reply.
 * So the end is what a server says when one comes with the id once more: that there is none.
 *
 * A visit that is not answered does not wait for as long as the library would, which is 2/3 of the
 * session's timeout. A server that follows answers only the newer one of two connections that come
 * with an id at once (Learner.pendingRevalidations), and the other may be that of the session's own
 * process, which lives.
 */
#include "zk/zk_end.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zookeeper/zookeeper.h>

#include "base/clock.h"
#include "zk/hosts.h"
#include "zk/zk_log.h"

#define FIRST_PATIENCE_NS INT64_C(1000000000) /* and twice as much each time */

struct visit {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int state; /* of the session, as it was told */
    struct zkli_log log;
    atomic_int last_errno;
};

static void on_session_event(zhandle_t *handle, int type, int state, const char *path,
                             void *context) {
    struct visit *v = context;
    (void)handle;
    (void)path;
    if (type != ZOO_SESSION_EVENT)
        return;
    (void)pthread_mutex_lock(&v->mutex);
    v->state = state;
    (void)pthread_cond_signal(&v->changed);
    (void)pthread_mutex_unlock(&v->mutex);
}

static bool is_decided(int state) {
    return state == ZOO_CONNECTED_STATE || state == ZOO_EXPIRED_SESSION_STATE ||
           state == ZOO_AUTH_FAILED_STATE;
}

static int await_state(struct visit *v, int64_t until_ns) {
    const struct timespec until = zkli_timespec(until_ns);
    int code = 0;
    (void)pthread_mutex_lock(&v->mutex);
    while (!is_decided(v->state) && code == 0)
        code = pthread_cond_timedwait(&v->changed, &v->mutex, &until);
    int state = v->state;
    (void)pthread_mutex_unlock(&v->mutex);
    return state;
}

/* At the time of its close, though it has not been told: the answer may be on its way. */
static bool may_be_let_in(zhandle_t *handle) {
    int state = zoo_state(handle);
    return state == ZOO_CONNECTED_STATE || state == ZOO_ASSOCIATING_STATE;
}

/* Comes with the id, and asks for the end of what there is. The state that was found; 0: the client
 * library could not begin. *ret_may_ask: it may be let in while it is closed, or was. */
static int visit(struct visit *v, const char *hosts, const struct zkli_credentials *session,
                 int64_t until_ns, bool *ret_may_ask) {
    clientid_t id = {.client_id = session->id};
    memcpy(id.passwd, session->password, sizeof(id.passwd));
    v->state = ZOO_NOTCONNECTED_STATE;
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* for the library's threads */
    zhandle_t *handle = zookeeper_init2(hosts, on_session_event, session->timeout_ms, &id, v,
                                        ZOO_NO_LOG_CLIENTENV, v->log.callback);
    int error = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    explicit_bzero(&id, sizeof(id));
    errno = error;
    if (handle == NULL)
        return 0;
    int state = await_state(v, until_ns);
    *ret_may_ask = state == ZOO_CONNECTED_STATE || (!is_decided(state) && may_be_let_in(handle));
    (void)zookeeper_close(handle); /* if it is connected, with the request to end the session */
    return state;
}

static zkl_err end_with(struct visit *v, const char *hosts, const struct zkli_credentials *session,
                        int64_t until_ns) {
    bool was_let_in = false, has_asked = false; /* or may have */
    int64_t patience_ns = FIRST_PATIENCE_NS;
    for (;;) {
        int64_t now_ns = zkli_monotonic_ns(), patient_until_ns = now_ns + patience_ns;
        bool is_last = until_ns - now_ns < 3 * patience_ns, may_ask = false;
        int state = visit(v, hosts, session, is_last ? until_ns : patient_until_ns, &may_ask);
        if (state == ZOO_EXPIRED_SESSION_STATE)
            return was_let_in ? ZKL_OK : ZKL_CLOSED;
        was_let_in = was_let_in || state == ZOO_CONNECTED_STATE;
        has_asked = has_asked || may_ask;
        if (state == 0 && (errno == ENOMEM || errno == EMFILE || errno == ENFILE))
            return has_asked ? ZKL_UNSURE : ZKL_NOMEM;
        if (state == 0 || state == ZOO_AUTH_FAILED_STATE || zkli_monotonic_ns() >= until_ns)
            return has_asked ? ZKL_UNSURE : ZKL_UNREACHABLE;
        if (zkli_monotonic_ns() >= patient_until_ns)
            patience_ns *= 2;
    }
}

static void no_log(void *arg, zkl_log_level level, const char *text) {
    (void)arg;
    (void)level;
    (void)text;
}

zkl_err zkli_end_session(const char *hosts, const struct zkli_credentials *session,
                         int64_t until_ns) {
    struct visit v = {.log = {.line = no_log}};
    size_t servers;
    char *odd = zkli_hosts_make_odd(hosts, &servers);
    if (odd == NULL)
        return ZKL_NOMEM;
    if (pthread_mutex_init(&v.mutex, NULL) != 0 || !zkli_condition_init(&v.changed)) {
        free(odd);
        return ZKL_NOMEM;
    }
    v.log.last_errno = &v.last_errno;
    zkli_log_take(&v.log);
    zkl_err err = end_with(&v, odd, session, until_ns);
    zkli_log_give_back(&v.log);
    (void)pthread_cond_destroy(&v.changed);
    (void)pthread_mutex_destroy(&v.mutex);
    free(odd);
    return err;
}
