/*
 * attach - a session by a handle that the program has; and ours, lent to the program. What differs
 * in its life is in the engine, what differs in its port in zk_attached.c.
 */
#include "base/options.h"
#include "session/session_internal.h"
#include "zk/hosts.h"
#include "zk/zk_client.h"
#include "zklock_zookeeper.h"

#include <string.h>

/* ---- A handle of the program's ---- */

static bool is_chroot(const char *text) {
    size_t length = strlen(text);
    return length == 0 || (text[0] == '/' && length <= ZKLI_CHROOT_MAX);
}

static zkl_err check_options(const zkl_session_options *o) {
    if (o->session_timeout_ms != 0 || o->auth != NULL || o->auth_scheme != NULL || o->made_ms < 0 ||
        o->made_ms > zkli_boottime_ns() / ZKLI_NS_PER_MS ||
        (o->chroot != NULL && !is_chroot(o->chroot)))
        return ZKL_INVALID;
    return zkli_session_check_options(o);
}

zkl_err zkl_session_attach(zkl_session **ret_session, struct _zhandle *zh,
                           const zkl_session_options *opts) {
    zkl_session_options o;
    if (ret_session == NULL)
        return ZKL_INVALID;
    *ret_session = NULL;
    if (zh == NULL || !zkli_options_copy(&o, sizeof(o), opts))
        return ZKL_INVALID;
    zkl_err err = check_options(&o);
    if (err != ZKL_OK)
        return err;
    struct zkl_session *s = zkli_session_new(NULL, zh, &o);
    if (s == NULL || !zkli_session_start(s))
        return ZKL_NOMEM;
    *ret_session = s;
    return ZKL_OK;
}

/* ---- A handle of ours ---- */

static struct _zhandle *lend(struct zkl_session *s) {
    struct zkli_port *port = zkli_engine_port(s->engine);
    struct _zhandle *zh = zkli_engine_session_id(s->engine) == 0 ||
                                  zkli_engine_end_error(s->engine) != ZKL_OK
                              ? NULL
                              : zkli_client_handle(port);
    if (zh == NULL)
        return NULL;
    if (port->loans++ == 0)
        zkli_list_append(&s->lent, &port->lent_link);
    atomic_store(&s->has_lent, true);
    zkli_engine_lend(s->engine); /* its answer tells which thread may never wait */
    return zh;
}

struct _zhandle *zkl_session_zhandle(zkl_session *s) {
    if (s == NULL || !zkli_session_begin(s))
        return NULL;
    zkli_session_lock(s);
    struct _zhandle *zh = lend(s);
    zkli_session_unlock_and_release(s);
    return zh;
}

static struct zkli_port *find_lent(struct zkl_session *s, const struct _zhandle *zh) {
    for (struct zkli_list *link = s->lent.next; link != &s->lent; link = link->next) {
        struct zkli_port *port = ZKLI_CONTAINER(link, struct zkli_port, lent_link);
        if (zkli_client_handle(port) == zh)
            return port;
    }
    return NULL;
}

static void take_back(struct zkl_session *s, struct zkli_port *port) {
    if (--port->loans > 0)
        return;
    zkli_list_remove(&port->lent_link);
    if (port->is_close_owed)
        zkli_helper_ask(s, port, ZKLI_PORT_CLOSE);
}

zkl_err zkl_session_zhandle_return(zkl_session *s, struct _zhandle *zh) {
    if (s == NULL)
        return ZKL_INVALID;
    if (!zkli_session_begin(s))
        return ZKL_FORKED;
    zkli_session_lock(s);
    struct zkli_port *port = zh == NULL ? NULL : find_lent(s, zh);
    if (port != NULL)
        take_back(s, port);
    zkli_session_unlock_and_release(s);
    return port == NULL ? ZKL_INVALID : ZKL_OK;
}
