/* See party.h. */
#include "support/party.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UUID_LENGTH 36

static party *finish(party *p, const char *hosts, int timeout_ms) {
    p->session = session_open(hosts, timeout_ms, NULL);
    p->actor = actor_new();
    return p;
}

static party *new_party(void) {
    party *p = calloc(1, sizeof(*p));

    if (!p)
        abort();
    return p;
}

party *party_open(int timeout_ms) {
    return finish(new_party(), server_hosts(), timeout_ms);
}

party *party_open_proxied(int timeout_ms) {
    party *p = new_party();

    p->proxy = proxy_new();
    return finish(p, proxy_hosts(p->proxy), timeout_ms);
}

void party_add(party *p, const char *name, zkl_kind kind, int permits) {
    const size_t i = p->count++;

    (void)snprintf(p->names[i], sizeof(p->names[i]), "%s", name);
    p->events[i] = events_new();
    REQUIRE_INT(zkl_lock_open(&p->locks[i], p->session, name,
                              &ZKL_LOCK_OPTIONS(.kind = kind, .permits = permits,
                                                .on_event = events_on, .arg = p->events[i])),
                ZKL_OK);
}

void party_add_mutexes(party *p, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        party_add(p, names[i], ZKL_MUTEX, 0);
}

void party_close(party *p) {
    for (size_t i = 0; i < p->count; i++)
        lock_close(p->locks[i]);
    session_close(p->session);
    actor_free(p->actor);
    for (size_t i = 0; i < p->count; i++)
        events_free(p->events[i]);
    proxy_close(p->proxy);
    free(p);
}

static zkl_err acquire(void *arg) {
    const party *p = arg;

    return zkl_acquire_all(p->locks, p->count, p->timeout_ms);
}

static zkl_err release(void *arg) {
    const party *p = arg;

    return zkl_release_all(p->locks, p->count);
}

void party_begin(party *p, int64_t timeout_ms) {
    p->timeout_ms = timeout_ms;
    actor_begin(p->actor, acquire, p);
}

zkl_err party_result(party *p) {
    return actor_result(p->actor, SOON_MS);
}

zkl_err party_acquire(party *p, int64_t timeout_ms) {
    party_begin(p, timeout_ms);
    return party_result(p);
}

zkl_err party_release(party *p) {
    actor_begin(p->actor, release, p);
    return actor_result(p->actor, SOON_MS);
}

size_t party_held(party *p) {
    size_t held = 0;

    for (size_t i = 0; i < p->count; i++)
        held += actor_held(p->actor, p->locks[i]);
    return held;
}

void party_queue_up(party *p, size_t position) {
    party_begin(p, ZKL_FOREVER);
    for (size_t i = 0; i < p->count; i++)
        WAIT_UNTIL(queue_length(p->names[i]) == position, SOON_MS);
}

void party_queue_up_behind(party *p, size_t taken) {
    const size_t told = events_count(p->events[taken], ZKL_EVENT_QUEUED);

    party_begin(p, ZKL_FOREVER);
    WAIT_UNTIL(party_nodes(p) == p->count, SOON_MS);
    WAIT_UNTIL(events_count(p->events[taken], ZKL_EVENT_QUEUED) > told, SOON_MS);
}

size_t party_nodes(party *p) {
    size_t nodes = 0;

    for (size_t i = 0; i < p->count; i++)
        nodes += queue_owned(p->names[i], zkl_session_id(p->session));
    return nodes;
}

void party_node(party *p, size_t i, char *ret_path) {
    const char *dir = lock_dir(p->names[i]);
    raw_list list = raw_children(fixture_raw(), dir);
    size_t found = 0;

    for (size_t k = 0; k < list.count; k++) {
        char path[RAW_PATH_MAX];
        raw_stat stat;

        (void)snprintf(path, sizeof(path), "%s/%s", dir, list.names[k]);
        if (!raw_stat_of(fixture_raw(), path, &stat) || stat.owner != zkl_session_id(p->session))
            continue;
        (void)snprintf(ret_path, RAW_PATH_MAX, "%s", path);
        found++;
    }
    raw_list_free(&list);
    REQUIRE_INT(found, 1);
}

size_t party_told(party *p, zkl_event_type type) {
    size_t told = 0;

    for (size_t i = 0; i < p->count; i++)
        told += events_count(p->events[i], type);
    return told;
}

/* All nodes bear the same uuid, the attempt's. */
static void check_attempt(char attempt[UUID_LENGTH + 1], const char *path) {
    const char *uuid = strstr(path, "/_c_");

    REQUIRE(uuid != NULL && strlen(uuid) > UUID_LENGTH + 4);
    if (attempt[0] == '\0')
        memcpy(attempt, uuid + 4, UUID_LENGTH);
    CHECK(strncmp(attempt, uuid + 4, UUID_LENGTH) == 0);
}

int64_t party_check_holds(party *p) {
    const int64_t token = actor_token(p->actor, p->locks[0]);
    char attempt[UUID_LENGTH + 1] = "";

    CHECK_INT(party_held(p), p->count);
    for (size_t i = 0; i < p->count; i++) {
        char own[RAW_PATH_MAX] = "", first[RAW_PATH_MAX] = "";
        raw_stat stat = {0};

        actor_node_path(p->actor, p->locks[i], own, sizeof(own));
        CHECK(raw_child_path(fixture_raw(), lock_dir(p->names[i]), 0, first));
        CHECK_STRING(own, first);
        check_attempt(attempt, own);
        CHECK(raw_stat_of(fixture_raw(), first, &stat));
        CHECK_INT(stat.czxid, token);
        CHECK_INT(stat.owner, zkl_session_id(p->session));
        CHECK_INT(actor_token(p->actor, p->locks[i]), token);
        CHECK_INT(queue_owned(p->names[i], stat.owner), 1);
    }
    CHECK(token > 0);
    return token;
}

void party_check_deserted(party *p) {
    for (size_t i = 0; i < p->count; i++)
        WAIT_UNTIL(queue_length(p->names[i]) == 0, SOON_MS);
}

zkl_err all_acquire(void *call) {
    const all_call *c = call;

    return zkl_acquire_all(c->locks, c->count, c->timeout_ms);
}

zkl_err all_release(void *call) {
    const all_call *c = call;

    return zkl_release_all(c->locks, c->count);
}
