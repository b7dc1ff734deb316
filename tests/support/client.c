/* See client.h. */
#include "support/client.h"

#include <stdio.h>
#include <stdlib.h>

static client *new_client(const char *name) {
    client *c = calloc(1, sizeof(*c));

    if (!c)
        abort();
    (void)snprintf(c->name, sizeof(c->name), "%s", name);
    c->events = events_new();
    return c;
}

static client *finish(client *c) {
    c->owns_session = true;
    c->lock = lock_open(c->session, c->name, c->events);
    c->actor = actor_new();
    return c;
}

client *client_open_at(const char *hosts, const char *name, int timeout_ms) {
    client *c = new_client(name);

    c->session = session_open(hosts, timeout_ms, c->events);
    return finish(c);
}

client *client_open(const char *name, int timeout_ms) {
    return client_open_at(server_hosts(), name, timeout_ms);
}

client *client_open_proxied(const char *name, int timeout_ms) {
    client *c = new_client(name);

    c->proxy = proxy_new();
    c->session = session_open(proxy_hosts(c->proxy), timeout_ms, c->events);
    return finish(c);
}

client *client_open_on(client *c, const char *name) {
    client *other = new_client(name);

    other->session = c->session;
    other->lock = lock_open(c->session, name, other->events);
    other->actor = actor_new();
    return other;
}

static void reopen(client *c, zkl_lock_options options) {
    client_close_lock(c);
    options.on_event = events_on;
    options.arg = c->events;
    REQUIRE_INT(zkl_lock_open(&c->lock, c->session, c->name, &options), ZKL_OK);
}

void client_be(client *c, zkl_kind kind) {
    reopen(c, ZKL_LOCK_OPTIONS(.kind = kind));
}

void client_be_lingering(client *c, zkl_kind kind, int linger_ms) {
    reopen(c, ZKL_LOCK_OPTIONS(.kind = kind, .permits = kind == ZKL_SEMAPHORE,
                               .linger_ms = linger_ms));
}

void client_be_handing_on(client *c, int turns) {
    reopen(c, ZKL_LOCK_OPTIONS(.local_handoffs = turns));
}

void client_be_wanting(client *c, zkl_kind kind, int linger_ms) {
    reopen(c, ZKL_LOCK_OPTIONS(.kind = kind, .permits = kind == ZKL_SEMAPHORE,
                               .linger_ms = linger_ms, .want_wanted = true));
}

void client_be_permit(client *c, int permits) {
    reopen(c, ZKL_LOCK_OPTIONS(.kind = ZKL_SEMAPHORE, .permits = permits));
}

client *client_open_as(const char *name, zkl_kind kind) {
    client *c = client_open_proxied(name, T_NORMAL);

    if (kind == ZKL_SEMAPHORE)
        client_be_permit(c, 1);
    else
        client_be(c, kind);
    return c;
}

void client_close_lock(client *c) {
    lock_close(c->lock);
    c->lock = NULL;
}

int64_t client_become_idle(client *c) {
    proxy_forget(c->proxy);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    const int64_t token = client_token(c);
    CHECK_INT(client_release(c), ZKL_OK);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, c->name) >= 1, SOON_MS);
    CHECK_INT(queue_length(c->name), 1);
    return token;
}

void client_close(client *c) {
    if (c->lock)
        client_close_lock(c);
    if (c->session && c->owns_session)
        session_close(c->session);
    actor_free(c->actor);
    events_free(c->events);
    proxy_close(c->proxy);
    free(c);
}

void client_begin(client *c, int64_t timeout_ms) {
    actor_acquire(c->actor, c->lock, timeout_ms);
}

zkl_err client_result(client *c) {
    return actor_result(c->actor, SOON_MS);
}

zkl_err client_acquire(client *c, int64_t timeout_ms) {
    client_begin(c, timeout_ms);
    return client_result(c);
}

void client_queue_up(client *c, size_t count) {
    client_begin(c, ZKL_FOREVER);
    WAIT_UNTIL(queue_length(c->name) == count, SOON_MS);
}

bool client_is_done(client *c) {
    return actor_is_done(c->actor);
}

zkl_err client_release(client *c) {
    return actor_release(c->actor, c->lock);
}

zkl_err client_release_wait(client *c) {
    return actor_release_wait(c->actor, c->lock, SOON_MS);
}

bool client_held(client *c) {
    return actor_held(c->actor, c->lock);
}

int64_t client_token(client *c) {
    return actor_token(c->actor, c->lock);
}

size_t client_told(client *c, zkl_event_type type) {
    return events_count(c->events, type);
}

size_t client_nodes(client *c) {
    return queue_owned(c->name, zkl_session_id(c->session));
}

void client_node(client *c, char *ret_path) {
    raw_list list = raw_children(fixture_raw(), lock_dir(c->name));
    size_t found = 0;

    for (size_t i = 0; i < list.count; i++) {
        char path[RAW_PATH_MAX];
        raw_stat stat;

        (void)snprintf(path, sizeof(path), "%s/%s", lock_dir(c->name), list.names[i]);
        if (!raw_stat_of(fixture_raw(), path, &stat) || stat.owner != zkl_session_id(c->session))
            continue;
        (void)snprintf(ret_path, RAW_PATH_MAX, "%s", path);
        found++;
    }
    raw_list_free(&list);
    REQUIRE_INT(found, 1);
}

bool client_is_connected(client *c) {
    return zkl_session_state(c->session) == ZKL_STATE_CONNECTED;
}

void client_flap(client *c) {
    const size_t told = client_told(c, ZKL_EVENT_RESUMED);

    proxy_drop(c->proxy);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_RESUMED) > told && client_is_connected(c), SOON_MS);
}

void client_outage_begin(client *c) {
    proxy_refuse(c->proxy, true);
    proxy_drop(c->proxy);
    WAIT_UNTIL(!client_is_connected(c), SOON_MS);
}

void client_outage_end(client *c) {
    proxy_refuse(c->proxy, false);
    WAIT_UNTIL(client_is_connected(c), SOON_MS);
}

void client_silence(client *c, bool on) {
    proxy_hold(c->proxy, PROXY_BOTH, on);
}
