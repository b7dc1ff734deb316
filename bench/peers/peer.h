/*
 * What bench_peers asks of a lock service: clients, contenders of theirs, and acquire and release.
 * A service that fails ends the program. The workloads stand in bench_peers.c, once for all.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdbool.h>
#include <stdint.h>

/* How long a service keeps the lock of a client that fell silent. */
#define PEER_TIMEOUT_MS 10000
#define PEER_SEVERAL 4

enum peer_kind {
    PEER_MUTEX,
    PEER_READ,
    PEER_WRITE,
    PEER_SEMAPHORE, /* of four permits */
    PEER_SEVERAL_AT_ONCE,
    PEER_LINGERING, /* a mutex that its client gives up when another wants it */
};

struct peer {
    const char *name;
    void *(*open)(const char *address);
    void (*close)(void *client);
    /* NULL: the service has no locks of the kind. name is borrowed. */
    void *(*contend)(void *client, const char *name, enum peer_kind kind);
    void (*leave)(void *contender);
    /* Negative: waits for ever. False: not in time; NULL: there are no such waits. */
    bool (*acquire)(void *contender, int patience_ms);
    bool has_patience;
    /* is_awaited: returns when the service has confirmed it. */
    void (*release)(void *contender, bool is_awaited);
};

extern const struct peer peer_zklock, peer_redis, peer_etcd;

void peer_die(const char *what, const char *why);
void *peer_alloc(size_t size);
int64_t peer_now_ns(void);
void peer_sleep_us(int64_t us);

#endif
