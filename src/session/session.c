/*
 * session - opening and closing a session, and the calls about it; see session.h. The parent of the
 * layer's other files: it starts and ends the threads, and hands the engine its host.
 */
#include "session/session_internal.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/options.h"
#include "base/process.h"
#include "zk/hosts.h"
#include "zk/zk_client.h"

#define TIMEOUT_MIN_MS 100
#define TIMEOUT_DEFAULT_MS 10000
/* An attached session waits for nothing else. */
#define ATTACHED_DRAIN_WAIT_MS (ZKLI_DRAIN_WAIT_MS + ZKLI_CLOSE_WAIT_MS)
#define ROOT_DEFAULT "/locks"
#define ROOT_MAX 255

static bool is_in_range(int value) {
    return value == 0 || (value >= TIMEOUT_MIN_MS && value <= ZKLI_TIMEOUT_MAX_MS);
}

zkl_err zkli_session_check_options(const zkl_session_options *o) {
    if (!is_in_range(o->session_timeout_ms) || o->connect_timeout_ms < 0 ||
        o->connect_timeout_ms > ZKLI_TIMEOUT_MAX_MS)
        return ZKL_INVALID;
    if (o->root != NULL && (strlen(o->root) > ROOT_MAX || !zkli_root_is_valid(o->root)))
        return ZKL_INVALID;
    if ((o->auth_scheme == NULL) != (o->auth == NULL) ||
        (o->auth_scheme != NULL && o->auth_scheme[0] == '\0'))
        return ZKL_INVALID;
    if (o->acl != ZKL_ACL_OPEN && o->acl != ZKL_ACL_CREATOR)
        return ZKL_INVALID;
    for (size_t i = 0; i < sizeof(o->reserved); i++)
        if (o->reserved[i] != 0)
            return ZKL_INVALID;
    return o->tls != NULL ? ZKL_UNSUPPORTED : ZKL_OK;
}

static bool copy_string(char **ret_copy, const char *text) {
    *ret_copy = NULL;
    if (text == NULL)
        return true;
    *ret_copy = strdup(text);
    return *ret_copy != NULL;
}

/* With a thread's number it tells owners apart. 0: this process has none yet. */
static _Atomic(uint64_t) Nonce;
static pthread_once_t Once = PTHREAD_ONCE_INIT;
static bool ForgetsNonce;

/* In the child of a fork: its threads have numbers that its parent's have, too. */
static void forget_nonce(void) {
    atomic_store(&Nonce, 0);
}

static void begin_forgetting(void) {
    ForgetsNonce = pthread_atfork(NULL, NULL, forget_nonce) == 0;
}

/* The same for all sessions of the process. 0: out of memory. */
static uint64_t process_nonce(struct zkl_session *s) {
    uint64_t made, none = 0;
    if (pthread_once(&Once, begin_forgetting) != 0 || !ForgetsNonce)
        return 0;
    zkli_session_host.random(s, &made, sizeof(made));
    (void)atomic_compare_exchange_strong(&Nonce, &none, made | 1);
    return atomic_load(&Nonce);
}

static void describe_self(struct zkli_node_data *who, const char *label) {
    char host[256];
    if (gethostname(host, sizeof(host)) != 0)
        host[0] = '\0';
    host[sizeof(host) - 1] = '\0';
    zkli_node_data_cut(who->host, host);
    zkli_node_data_cut(who->program, program_invocation_short_name);
    zkli_node_data_cut(who->label, label == NULL ? "" : label);
    who->pid = getpid();
}

static bool copy_options(struct zkl_session *s, const char *hosts, struct _zhandle *attached,
                         const zkl_session_options *o) {
    bool has_default = attached == NULL && o->session_timeout_ms == 0;
    s->session_timeout_ms = has_default ? TIMEOUT_DEFAULT_MS : o->session_timeout_ms;
    s->connect_timeout_ms = o->connect_timeout_ms > 0 ? o->connect_timeout_ms : TIMEOUT_DEFAULT_MS;
    s->is_creator_acl = o->acl == ZKL_ACL_CREATOR;
    s->log = o->log;
    s->arg = o->arg;
    s->attached = attached;
    return copy_string(&s->hosts, hosts) &&
           copy_string(&s->root, o->root == NULL ? ROOT_DEFAULT : o->root) &&
           copy_string(&s->auth_scheme, o->auth_scheme) && copy_string(&s->auth, o->auth);
}

static struct zkli_engine *new_engine(struct zkl_session *s, const zkl_session_options *o) {
    struct zkli_engine_options options = {
        .host = &zkli_session_host,
        .host_arg = s,
        .root = s->root,
        .chroot_length = o->chroot != NULL     ? strlen(o->chroot)
                         : s->attached != NULL ? ZKLI_CHROOT_MAX
                                               : zkli_hosts_chroot_length(s->hosts),
        .asked_timeout_ms = s->attached != NULL ? 0 : s->session_timeout_ms,
        .keeps_session = o->keep_session,
        .is_attached = s->attached != NULL,
        .born_ns = o->made_ms > 0 ? o->made_ms * ZKLI_NS_PER_MS : INT64_MIN / 2,
    };
    describe_self(&options.who, o->label);
    options.who.owner_nonce = process_nonce(s);
    if (options.who.owner_nonce == 0)
        return NULL;
    return zkli_engine_new(&options);
}

/* Everything but threads and connection. */
struct zkl_session *zkli_session_new(const char *hosts, struct _zhandle *attached,
                                     const zkl_session_options *o) {
    struct zkl_session *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->callbacks_fd = o->manual_dispatch ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (!copy_options(s, hosts, attached, o) || (o->manual_dispatch && s->callbacks_fd < 0))
        goto fail_alloc;
    s->process = zkli_process_number();
    atomic_init(&s->references, 1);
    zkli_helper_init(s);
    zkli_list_init(&s->callbacks);
    zkli_list_init(&s->places);
    zkli_list_init(&s->lent);
    zkli_callback_init(&s->own_events, o->on_event, o->arg, s);
    if (pthread_mutex_init(&s->mutex, NULL) != 0)
        goto fail_alloc;
    if (pthread_mutex_init(&s->log_mutex, NULL) != 0)
        goto fail_mutex;
    if (!zkli_condition_init(&s->changed))
        goto fail_log_mutex;
    if (!zkli_condition_init(&s->callbacks_changed))
        goto fail_changed;
    s->engine = new_engine(s, o);
    if (s->engine == NULL)
        goto fail_callbacks_changed;
    return s;

fail_callbacks_changed:
    (void)pthread_cond_destroy(&s->callbacks_changed);
fail_changed:
    (void)pthread_cond_destroy(&s->changed);
fail_log_mutex:
    (void)pthread_mutex_destroy(&s->log_mutex);
fail_mutex:
    (void)pthread_mutex_destroy(&s->mutex);
fail_alloc:
    zkli_session_free_memory(s);
    return NULL;
}

/* The program may close its handle when this has returned, or free what it has asked for by ours.
 * So it waits for what is to be done with it: with the program's, nothing that takes time. */
static void leave_handle(struct zkl_session *s) {
    while (!zkli_helper_is_idle(s))
        if (zkli_helper_is_stuck(s))
            zkli_helper_finish(s);
        else
            zkli_session_wait(s, &s->changed);
}

/* Ends the session, waiting so long for the server; the caller's reference goes with it. False: of
 * an attached one nodes may be left. */
static bool session_end(struct zkl_session *s, int drain_ms, int close_ms) {
    int state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    zkli_session_lock(s);
    zkli_engine_drain(s->engine);
    int64_t until_ns = zkli_monotonic_ns() + drain_ms * ZKLI_NS_PER_MS;
    while (!zkli_engine_is_drained(s->engine) && zkli_session_wait_until(s, &s->changed, until_ns))
        ;
    zkli_session_settle(s); /* what was given up is forgotten */
    bool is_clean = !zkli_engine_leaves_nodes(s->engine);
    zkli_engine_shut(s->engine);
    if (s->attached != NULL || atomic_load(&s->has_lent))
        leave_handle(s);
    until_ns = zkli_monotonic_ns() + close_ms * ZKLI_NS_PER_MS;
    while (!zkli_helper_is_idle(s) && zkli_session_wait_until(s, &s->changed, until_ns))
        ;
    zkli_session_unlock(s);
    zkli_timer_thread_stop(s);
    zkli_callbacks_stop(s);
    zkli_session_lock(s);
    zkli_session_end_log(s);
    zkli_session_unlock_and_release(s);
    (void)pthread_setcancelstate(state, NULL);
    return is_clean;
}

static bool is_exhausted(int error) {
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

static void tell_why_not(struct zkl_session *s) {
    char text[128];
    int error = atomic_load(&s->client_errno);
    const char *why = "no server answers";
    if (error == ECONNREFUSED)
        why = "the servers refuse connections";
    else if (s->open_error != 0)
        why = "the servers' names cannot be looked up";
    else if (error != 0)
        why = strerror_r(error, text, sizeof(text));
    zkli_engine_log(s->engine, ZKL_LOG_ERROR, "no session within %d ms: %s", s->connect_timeout_ms,
                    why);
}

bool zkli_session_start(struct zkl_session *s) {
    if (!zkli_timer_thread_start(s)) {
        zkli_session_free(s);
        return false;
    }
    zkli_session_lock(s);
    bool is_started = (s->own_events.fn == NULL || zkli_callbacks_start(s)) &&
                      zkli_engine_start(s->engine);
    zkli_session_unlock(s);
    if (!is_started)
        (void)session_end(s, 0, 0);
    return is_started;
}

static zkl_err await_connection(struct zkl_session *s) {
    int64_t until_ns = zkli_monotonic_ns() + s->connect_timeout_ms * ZKLI_NS_PER_MS;
    bool in_time = true;
    zkli_session_lock(s);
    while (in_time && zkli_engine_state(s->engine) == ZKL_STATE_CONNECTING &&
           !is_exhausted(s->open_error))
        in_time = zkli_session_wait_until(s, &s->changed, until_ns);
    zkl_state state = zkli_engine_state(s->engine);
    bool has_no_room = is_exhausted(s->open_error);
    if (!has_no_room && state == ZKL_STATE_CONNECTING)
        tell_why_not(s);
    zkli_session_unlock(s);
    if (has_no_room)
        return ZKL_NOMEM;
    if (state == ZKL_STATE_AUTH_FAILED)
        return ZKL_AUTH_FAILED;
    return state == ZKL_STATE_CONNECTING ? ZKL_UNREACHABLE : ZKL_OK; /* or suspended since */
}

static zkl_err open_at(zkl_session **ret_session, const char *hosts, const zkl_session_options *o) {
    struct zkl_session *s = zkli_session_new(hosts, NULL, o);
    if (s == NULL || !zkli_session_start(s))
        return ZKL_NOMEM;
    zkl_err err = await_connection(s);
    if (err != ZKL_OK)
        (void)session_end(s, 0, 0); /* the caller has waited long enough */
    else
        *ret_session = s;
    return err;
}

zkl_err zkli_session_complete_hosts(char **ret_hosts, const char *hosts) {
    char *complete = zkli_hosts_complete(hosts);
    if (complete == NULL)
        return ZKL_NOMEM;
    if (!zkli_hosts_are_valid(complete)) {
        free(complete);
        return ZKL_INVALID;
    }
    *ret_hosts = complete;
    return ZKL_OK;
}

zkl_err zkl_session_open(zkl_session **ret_session, const char *hosts,
                         const zkl_session_options *opts) {
    zkl_session_options o;
    if (ret_session == NULL)
        return ZKL_INVALID;
    *ret_session = NULL;
    if (hosts == NULL || !zkli_options_copy(&o, sizeof(o), opts))
        return ZKL_INVALID;
    bool lacks_auth = o.acl == ZKL_ACL_CREATOR && o.auth == NULL;
    if (lacks_auth || o.chroot != NULL || o.made_ms != 0)
        return ZKL_INVALID;
    zkl_err err = zkli_session_check_options(&o);
    if (err != ZKL_OK)
        return err;
    if (zkli_in_callback())
        return ZKL_IN_CALLBACK;
    char *complete = NULL;
    err = zkli_session_complete_hosts(&complete, hosts);
    if (err == ZKL_OK)
        err = open_at(ret_session, complete, &o);
    free(complete);
    return err;
}

/* False: a handle is lent. From now on none is. */
static bool begin_end(struct zkl_session *s) {
    zkli_session_lock(s);
    bool is_lent = !zkli_list_is_empty(&s->lent);
    if (!is_lent)
        zkli_engine_drain(s->engine);
    zkli_session_unlock(s);
    return !is_lent;
}

zkl_err zkl_session_close(zkl_session *s) {
    if (s == NULL)
        return ZKL_OK;
    if (zkli_session_is_forked(s))
        return ZKL_FORKED;
    if (zkli_in_callback())
        return ZKL_IN_CALLBACK;
    if (!begin_end(s))
        return ZKL_INVALID;
    bool is_attached = s->attached != NULL;
    bool is_clean = session_end(s, is_attached ? ATTACHED_DRAIN_WAIT_MS : ZKLI_DRAIN_WAIT_MS,
                                ZKLI_CLOSE_WAIT_MS);
    return is_clean ? ZKL_OK : ZKL_UNREACHABLE;
}

/* ---- Callbacks on the program's thread ---- */

int zkl_session_fd(zkl_session *s) {
    return s == NULL || zkli_session_is_forked(s) ? -1 : s->callbacks_fd;
}

int zkl_session_dispatch(zkl_session *s, int max) {
    if (s == NULL || !zkli_session_begin(s))
        return 0;
    zkli_session_lock(s);
    int told = s->callbacks_fd < 0 ? 0 : zkli_callbacks_dispatch(s, max);
    zkli_session_unlock_and_release(s);
    return told;
}

/* ---- What it says of itself ---- */

zkl_state zkl_session_state(zkl_session *s) {
    if (s == NULL || !zkli_session_begin(s))
        return ZKL_STATE_CLOSED;
    zkli_session_lock(s);
    zkl_state state = zkli_engine_state(s->engine);
    zkli_session_unlock_and_release(s);
    return state;
}

int64_t zkl_session_id(zkl_session *s) {
    if (s == NULL || !zkli_session_begin(s))
        return 0;
    zkli_session_lock(s);
    int64_t id = zkli_engine_session_id(s->engine);
    zkli_session_unlock_and_release(s);
    return id;
}

int zkl_session_timeout_ms(zkl_session *s) {
    if (s == NULL || !zkli_session_begin(s))
        return 0;
    zkli_session_lock(s);
    int timeout_ms = zkli_engine_timeout_ms(s->engine);
    zkli_session_unlock_and_release(s);
    return timeout_ms;
}

void zkli_session_credentials(struct zkl_session *s, int64_t *ret_id, char ret_password[16]) {
    *ret_id = 0;
    memset(ret_password, 0, 16);
    zkli_session_lock(s);
    if (zkli_engine_is_connected(s->engine))
        zkli_client_credentials(zkli_engine_port(s->engine), ret_id, ret_password);
    zkli_session_unlock(s);
}

/* The new servers with the old chroot. NULL: out of memory. */
static char *join_chroot(const char *hosts, const char *old) {
    const char *chroot = strchr(old, '/');
    size_t length = strcspn(hosts, "/");
    size_t chroot_length = chroot == NULL ? 0 : strlen(chroot);
    char *joined = malloc(length + chroot_length + 1);
    if (joined == NULL)
        return NULL;
    memcpy(joined, hosts, length);
    if (chroot_length > 0)
        memcpy(joined + length, chroot, chroot_length);
    joined[length + chroot_length] = '\0';
    return joined;
}

/* For the next session, and for the present one in the background. False: out of memory. */
static bool take_hosts(struct zkl_session *s, const char *hosts) {
    char *joined = join_chroot(hosts, s->hosts);
    char *servers = joined == NULL ? NULL : strndup(hosts, strcspn(hosts, "/"));
    if (servers == NULL) {
        free(joined);
        return false;
    }
    free(s->hosts);
    s->hosts = joined;
    zkli_engine_hosts_changed(s->engine);
    struct zkli_port *port = zkli_engine_port(s->engine);
    if (port == NULL) {
        free(servers);
        return true;
    }
    free(port->new_hosts);
    port->new_hosts = servers;
    zkli_helper_ask(s, port, ZKLI_PORT_SET_HOSTS);
    return true;
}

zkl_err zkl_session_set_hosts(zkl_session *s, const char *hosts) {
    if (s == NULL || hosts == NULL)
        return ZKL_INVALID;
    char *complete = NULL;
    zkl_err err = zkli_session_complete_hosts(&complete, hosts);
    if (err != ZKL_OK)
        return err;
    if (!zkli_session_begin(s)) {
        free(complete);
        return ZKL_FORKED;
    }
    zkli_session_lock(s);
    zkl_state state = zkli_engine_state(s->engine);
    if (s->attached != NULL)
        err = ZKL_UNSUPPORTED;
    else if (state == ZKL_STATE_CLOSED || state == ZKL_STATE_AUTH_FAILED)
        err = ZKL_CLOSED;
    else if (!take_hosts(s, complete))
        err = ZKL_NOMEM;
    zkli_session_unlock_and_release(s);
    free(complete);
    return err;
}
