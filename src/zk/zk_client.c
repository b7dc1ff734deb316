/*
 * zk_client - see zk_client.h. With zk_requests.c and zk_end.c the only file that calls the client
 * library: its calls, codes, states and threads are turned into the port's words here. Here are the
 * life of a port and what the library tells of the session. (zk_transaction fills in its
 * operations, and zk_ops reads those of a program.)
 *
 * The client delivers completions and watches one by one on a thread of its own, and authentication
 * on another. As context it is handed numbers (zk_table.h), so what comes for a closed port is
 * ignored. It writes results of transactions into memory of the port, which stays while it may do
 * so. A completion that never comes (the client drops some when it is closed) leaks nothing.
 */
#include "zk/zk_client_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zk/hosts.h"

/* The client looks up every server's name on each turn of its I/O loop, connected or not, so that
 * an outage of name resolution stops its pings and ends healthy sessions. Since 3.7.0 it can be
 * told to look only when it has no connection; absent from an older library this is NULL. */
/* NOLINTNEXTLINE(readability-redundant-declaration): older headers do not have it */
extern __attribute__((weak)) int zoo_set_servers_resolution_delay(zhandle_t *zh, int delay_ms);

/* ---- News ---- */

static void on_nudged(int code, const char *path, const void *data) {
    (void)code;
    (void)path;
    (void)data;
}

/* A request whose reply is ignored. If the connection was changed under requests in flight, that
 * reply does not fit theirs. Then they fail at once, and not after 2/3 of the timeout. */
void zkli_client_nudge(zhandle_t *handle) {
    (void)zoo_async(handle, "/", on_nudged, NULL); /* no harm if it is refused */
}

void zkli_client_deliver_state(struct zkli_client *client, enum zkli_port_state state) {
    client->config.receiver->on_state(client->config.arg, &client->port, state);
}

/* On the client's I/O thread. */
static void on_authenticated(int code, const void *data) {
    unsigned number;
    struct zkli_client *client = zkli_client_begin(data, &number);
    if (client == NULL)
        return;
    if (code == ZOK) {
        if (!atomic_exchange(&client->is_authenticated, true)) /* asked twice, if it took long */
            zkli_client_deliver_state(client, ZKLI_PORT_CONNECTED);
    } else if (code == ZAUTHFAILED) {
        zkli_client_deliver_state(client, ZKLI_PORT_AUTH_FAILED);
    } /* else the connection broke: asked again on the next */
    zkli_table_end(&client->place);
}

/* False: out of memory. */
static bool authenticate(struct zkli_client *client, zhandle_t *handle) {
    const char *auth = client->config.auth;
    int code = zoo_add_auth(handle, client->config.auth_scheme, auth, (int)strlen(auth),
                            on_authenticated, zkli_client_news_context(client));
    return code == ZOK || code == ZINVALIDSTATE; /* that: it has broken again, another follows */
}

static void on_connected(struct zkli_client *client, zhandle_t *handle) {
    if (atomic_load(&client->is_authenticated))
        zkli_client_deliver_state(client, ZKLI_PORT_CONNECTED);
    else if (!authenticate(client, handle))
        zkli_client_deliver_state(client, ZKLI_PORT_FAILED);
}

/* The watcher of a handle of ours; node watches have another, for they hear of session events,
 * too. */
void zkli_client_on_session_event(zhandle_t *handle, int type, int state, const char *path,
                                  void *context) {
    unsigned number;
    struct zkli_client *client = type == ZOO_SESSION_EVENT ? zkli_client_begin(context, &number)
                                                           : NULL;
    (void)path;
    if (client == NULL)
        return;
    atomic_store(&client->handle, handle); /* zookeeper_init may not have returned yet */
    zkli_search_forget(&client->search);
    atomic_store(&client->is_at_a_loss, false);
    if (atomic_exchange(&client->is_dropped, false))
        zkli_client_nudge(
            handle); /* at the end of its list of servers it would stand still for T/60 first */
    if (state == ZOO_CONNECTED_STATE)
        on_connected(client, handle);
    else if (state == ZOO_EXPIRED_SESSION_STATE)
        zkli_client_deliver_state(client, ZKLI_PORT_EXPIRED);
    else if (state == ZOO_AUTH_FAILED_STATE)
        zkli_client_deliver_state(client, ZKLI_PORT_AUTH_FAILED);
    else
        zkli_client_deliver_state(client, ZKLI_PORT_CONNECTING);
    zkli_table_end(&client->place);
}

/* ---- The session ---- */

int64_t zkli_client_session_id(struct zkli_port *port) {
    return zoo_client_id(atomic_load(&zkli_client_of(port)->handle))->client_id;
}

int zkli_client_timeout_ms(struct zkli_port *port) {
    return zoo_recv_timeout(atomic_load(&zkli_client_of(port)->handle));
}

zhandle_t *zkli_client_handle(struct zkli_port *port) {
    return atomic_load(&zkli_client_of(port)->handle);
}

void zkli_client_credentials(struct zkli_port *port, int64_t *ret_id, char ret_password[16]) {
    const clientid_t *id = zoo_client_id(atomic_load(&zkli_client_of(port)->handle));
    *ret_id = id->client_id;
    memcpy(ret_password, id->passwd, 16);
}

/* ---- Dropping the connection ---- */

static bool find_peer(struct zkli_client *client, struct sockaddr_storage *ret_peer) {
    zhandle_t *handle = atomic_load(&client->handle);
    socklen_t size = sizeof(*ret_peer);
    memset(ret_peer, 0, sizeof(*ret_peer));
    return handle != NULL &&
           zookeeper_get_connected_host(handle, (struct sockaddr *)ret_peer, &size) != NULL;
}

static void on_probed(int code, const struct Stat *stat, const void *data) {
    unsigned number;
    struct zkli_client *client = zkli_client_begin(data, &number);
    (void)stat;
    if (client == NULL)
        return;
    zkli_search_end_probe(&client->search, !zkli_client_is_lost(code));
    zkli_table_end(&client->place);
}

/* A read of a node that is never made, whose name alone is as long as it takes. */
static void send_probe(struct zkli_client *client) {
    char path[1 + ZKLI_PROBE_BYTES + 1];
    path[0] = '/';
    memset(path + 1, '-', ZKLI_PROBE_BYTES);
    path[1 + ZKLI_PROBE_BYTES] = '\0';
    int code = zoo_aexists(atomic_load(&client->handle), path, 0, on_probed,
                           zkli_client_context(client, ZKLI_SLOT_PROBE));
    if (code != ZOK)
        zkli_search_end_probe(&client->search, false);
}

static bool client_wants_preparing(struct zkli_port *port) {
    struct zkli_client *client = zkli_client_of(port);
    return atomic_load(&client->servers) > 1 && zkli_search_is_wanted(&client->search);
}

static void client_prepare(struct zkli_port *port) {
    struct zkli_client *client = zkli_client_of(port);
    struct sockaddr_storage peer;
    if (find_peer(client, &peer) && zkli_search_begin(&client->search, &peer) == ZKLI_SEARCH_PROBES)
        send_probe(client);
}

static bool client_drop(struct zkli_port *port) {
    struct zkli_client *client = zkli_client_of(port);
    struct sockaddr_storage peer;
    if (atomic_load(&client->servers) < 2 || !find_peer(client, &peer))
        return false;
    atomic_store(&client->is_dropped, true); /* before the end can be told */
    if (zkli_search_shut(&client->search, &peer))
        return true;
    atomic_store(&client->is_dropped, false);
    if (!atomic_exchange(&client->is_at_a_loss, true))
        client->config.log(
            client->config.arg, ZKL_LOG_WARN,
            "a lock is held, and its server does not answer; but which socket is the "
            "connection's is not known, so it is kept until the client library "
            "notices");
    return false;
}

/* ---- Life ---- */

static bool client_open(struct zkli_port *port) {
    struct zkli_client *client = zkli_client_of(port);
    size_t servers = 0;
    char *hosts = zkli_hosts_make_odd(client->hosts, &servers);
    atomic_store(&client->servers, servers);
    zhandle_t *handle = hosts == NULL ? NULL
                                      : zookeeper_init2(hosts, zkli_client_on_session_event,
                                                        client->config.timeout_ms, NULL,
                                                        zkli_client_news_context(client),
                                                        ZOO_NO_LOG_CLIENTENV, client->log.callback);
    int error = errno;
    free(hosts);
    errno = error; /* what the caller tells */
    if (handle == NULL)
        return false;
    if (zoo_set_servers_resolution_delay != NULL)
        (void)zoo_set_servers_resolution_delay(handle, -1); /* refuses bad arguments only */
    atomic_store(&client->handle, handle);
    return true;
}

/* Without memory for a session event, the client says nothing of it. Without memory to copy the
 * list of servers, its I/O thread sleeps for a time that was never set; a request wakes it. */
static enum zkli_port_state client_look(struct zkli_port *port) {
    struct zkli_client *client = zkli_client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    int state = handle == NULL ? ZOO_NOTCONNECTED_STATE : zoo_state(handle);
    if (state == ZOO_EXPIRED_SESSION_STATE)
        return ZKLI_PORT_EXPIRED;
    if (state == ZOO_AUTH_FAILED_STATE)
        return ZKLI_PORT_AUTH_FAILED;
    if (handle != NULL)
        zkli_client_nudge(handle);
    if (state == ZOO_CONNECTED_STATE && atomic_load(&client->is_authenticated))
        return ZKLI_PORT_CONNECTED;
    if (state == ZOO_CONNECTED_STATE && !authenticate(client, handle))
        return ZKLI_PORT_FAILED;
    return ZKLI_PORT_CONNECTING;
}

/* Of a list that it refused, the client may have kept nothing at all. */
static bool client_set_hosts(struct zkli_port *port, const char *hosts) {
    struct zkli_client *client = zkli_client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    if (handle == NULL)
        return true;
    size_t servers = 0;
    char *odd = zkli_hosts_make_odd(hosts, &servers);
    bool is_taken = odd != NULL && zoo_set_servers(handle, odd) == ZOK;
    free(odd);
    if (is_taken)
        atomic_store(&client->servers, servers);
    zkli_client_nudge(handle);
    return is_taken;
}

void zkli_client_free(struct zkli_place *place) {
    struct zkli_client *client = ZKLI_CONTAINER(place, struct zkli_client, place);
    for (unsigned i = 0; i < ZKLI_SLOTS; i++)
        free(client->transactions[i]); /* its completion never came */
    while (client->refused != NULL) {
        struct zkli_transaction *t = client->refused;
        client->refused = t->next;
        free(t);
    }
    zkli_search_fini(&client->search);
    free(client->hosts);
    free(client);
}

static void client_close(struct zkli_port *port) {
    struct zkli_client *client = zkli_client_of(port);
    zhandle_t *handle = atomic_load(&client->handle);
    zkli_table_close(&client->place);
    if (handle != NULL)
        (void)zookeeper_close(handle); /* whatever it says, the handle is gone */
    zkli_log_give_back(&client->log);
    zkli_table_drop(&client->place, true, zkli_client_free);
}

struct zkli_client *zkli_client_new_with(const struct zkli_port_ops *ops,
                                         const struct zkli_client_config *config) {
    struct zkli_client *client = calloc(1, sizeof(*client));
    if (client == NULL)
        return NULL;
    client->hosts = config->hosts == NULL ? NULL : strdup(config->hosts);
    if (client->hosts == NULL && config->hosts != NULL) {
        free(client);
        return NULL;
    }
    zkli_search_init(&client->search);
    client->port.ops = ops;
    client->config = *config;
    atomic_init(&client->is_authenticated, config->auth_scheme == NULL);
    client->log = (struct zkli_log){
        .line = config->log, .arg = config->arg, .last_errno = config->last_errno};
    zkli_table_add(&client->place);
    return client;
}

struct zkli_port *zkli_client_new(const struct zkli_client_config *config) {
    static const struct zkli_port_ops ops = {
        .create = zkli_request_create,
        .list = zkli_request_list,
        .get = zkli_request_get,
        .remove = zkli_request_remove,
        .barrier = zkli_request_barrier,
        .sync = zkli_request_sync,
        .multi = zkli_request_multi,
        .session_id = zkli_client_session_id,
        .timeout_ms = zkli_client_timeout_ms,
        .open = client_open,
        .set_hosts = client_set_hosts,
        .close = client_close,
        .look = client_look,
        .drop = client_drop,
        .wants_preparing = client_wants_preparing,
        .prepare = client_prepare,
    };
    struct zkli_client *client = zkli_client_new_with(&ops, config);
    if (client == NULL)
        return NULL;
    zkli_log_take(&client->log);
    return &client->port;
}
