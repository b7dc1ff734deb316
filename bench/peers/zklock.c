/* This library, for bench_peers: a client is a session, a contender a handle. */
#include <stdio.h>
#include <stdlib.h>

#include <zklock.h>

#include "peer.h"

#define PERMITS 4
#define LINGER_MS 1000
#define NAME_BYTES 64

struct contender {
    zkl_lock *locks[PEER_SEVERAL];
    size_t count;
};

static void must(zkl_err err, const char *what) {
    if (err != ZKL_OK)
        peer_die(what, zkl_strerror(err));
}

static void *client_open(const char *address) {
    zkl_session *session;
    must(zkl_session_open(&session, address,
                          &ZKL_SESSION_OPTIONS(.session_timeout_ms = PEER_TIMEOUT_MS)),
         address);
    return session;
}

static void client_close(void *client) {
    must(zkl_session_close(client), "close");
}

static zkl_lock_options options_of(enum peer_kind kind) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS(.kind = ZKL_MUTEX);
    if (kind == PEER_READ)
        options.kind = ZKL_READ;
    if (kind == PEER_WRITE)
        options.kind = ZKL_WRITE;
    if (kind == PEER_SEMAPHORE) {
        options.kind = ZKL_SEMAPHORE;
        options.permits = PERMITS;
    }
    if (kind == PEER_LINGERING)
        options.linger_ms = LINGER_MS;
    return options;
}

static void *contend(void *client, const char *name, enum peer_kind kind) {
    struct contender *c = peer_alloc(sizeof(*c));
    zkl_lock_options options = options_of(kind);
    c->count = kind == PEER_SEVERAL_AT_ONCE ? PEER_SEVERAL : 1;
    for (size_t i = 0; i < c->count; i++) {
        char own[NAME_BYTES];
        (void)snprintf(own, sizeof(own), "%s-%zu", name, i);
        must(zkl_lock_open(&c->locks[i], client, own, &options), own);
    }
    return c;
}

static void leave(void *contender) {
    struct contender *c = contender;
    for (size_t i = 0; i < c->count; i++)
        must(zkl_lock_close(c->locks[i]), "close");
    free(c);
}

static bool acquire(void *contender, int patience_ms) {
    struct contender *c = contender;
    int64_t timeout_ms = patience_ms < 0 ? ZKL_FOREVER : patience_ms;
    zkl_err err = c->count == 1 ? zkl_acquire(c->locks[0], timeout_ms)
                                : zkl_acquire_all(c->locks, c->count, timeout_ms);
    if (err == ZKL_TIMEOUT && patience_ms >= 0)
        return false;
    must(err, "acquire");
    return true;
}

/* A session's requests are served in their order: when the last is confirmed, all are. */
static void release(void *contender, bool is_awaited) {
    struct contender *c = contender;
    size_t last = c->count - 1;
    for (size_t i = 0; i < last; i++)
        must(zkl_release(c->locks[i]), "release");
    must(is_awaited ? zkl_release_wait(c->locks[last], ZKL_FOREVER) : zkl_release(c->locks[last]),
         "release");
}

const struct peer peer_zklock = {
    .name = "zklock",
    .open = client_open,
    .close = client_close,
    .contend = contend,
    .leave = leave,
    .acquire = acquire,
    .has_patience = true,
    .release = release,
};
