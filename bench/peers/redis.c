/*
 * Redis, for bench_peers: SET NX PX with a value of one's own, and a script that deletes the key if
 * it still has that value, which is what Redis's documentation says of a lock on one server. There
 * is no queue: who waits asks again and again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "wire.h"

/* Between two questions of who waits. */
#define POLL_US 1000
#define NAME_BYTES 64
#define REQUEST_BYTES 512

static const char Release[] =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";

/* A connection each, because a connection answers one after the other. */
struct contender {
    struct wire *wire;
    char name[NAME_BYTES];
    char value[NAME_BYTES];
};

/* A client is no more than the address; its contenders have the connections. */
static void *client_open(const char *address) {
    return (void *)address;
}

static void client_close(void *client) {
    (void)client;
}

static void *contend(void *client, const char *name, enum peer_kind kind) {
    if (kind != PEER_MUTEX)
        return NULL;
    struct contender *c = peer_alloc(sizeof(*c));
    c->wire = wire_open(client);
    (void)snprintf(c->name, sizeof(c->name), "%s", name);
    (void)snprintf(c->value, sizeof(c->value), "%p", (void *)c);
    return c;
}

static void leave(void *contender) {
    struct contender *c = contender;
    wire_close(c->wire);
    free(c);
}

/* True: +OK or :1; false: nil. */
static bool ask(struct contender *c, const char *request) {
    wire_send(c->wire, request, strlen(request));
    const char *answer = wire_line(c->wire);
    if (strcmp(answer, "+OK") != 0 && strcmp(answer, ":1") != 0 && strcmp(answer, "$-1") != 0)
        peer_die("redis", answer);
    return answer[0] != '$';
}

static bool acquire(void *contender, int patience_ms) {
    struct contender *c = contender;
    char request[REQUEST_BYTES];
    (void)patience_ms;
    (void)snprintf(request, sizeof(request), "SET %s %s NX PX %d\r\n", c->name, c->value,
                   PEER_TIMEOUT_MS);
    while (!ask(c, request))
        peer_sleep_us(POLL_US);
    return true;
}

static void release(void *contender, bool is_awaited) {
    struct contender *c = contender;
    char request[REQUEST_BYTES];
    (void)is_awaited;
    (void)snprintf(request, sizeof(request), "EVAL \"%s\" 1 %s %s\r\n", Release, c->name, c->value);
    if (!ask(c, request))
        peer_die("release", "not held any more");
}

const struct peer peer_redis = {
    .name = "redis",
    .open = client_open,
    .close = client_close,
    .contend = contend,
    .leave = leave,
    .acquire = acquire,
    .has_patience = false,
    .release = release,
};
