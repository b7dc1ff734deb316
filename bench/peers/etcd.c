/*
 * etcd, for bench_peers: its own lock service, by the JSON gateway. The server queues a contender
 * by the revision at which its key was created, and answers when the ones before it have gone. The
 * key is made of the lease, so each contender has one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "wire.h"

/* No keep-alives: a run is much shorter. */
#define LEASE_S 60
#define NAME_BYTES 64
#define KEY_BYTES 256
#define REQUEST_BYTES 1024

struct contender {
    struct wire *wire;
    char name[NAME_BYTES * 2]; /* in Base64, as the gateway wants it */
    char key[KEY_BYTES];       /* the same */
    char lease[NAME_BYTES];
};

static void *client_open(const char *address) {
    return (void *)address;
}

static void client_close(void *client) {
    (void)client;
}

/* Names have a multiple of three bytes: blanks fill them. */
static void to_base64(char *to, const char *text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0, length = strlen(text); i < length; i += 3) {
        uint32_t bits = 0;
        for (size_t j = i; j < i + 3; j++)
            bits = bits << 8 | (uint32_t)(unsigned char)(j < length ? text[j] : ' ');
        for (int shift = 18; shift >= 0; shift -= 6)
            *to++ = digits[bits >> shift & 63];
    }
    *to = '\0';
}

/* The answer's body, until the next request. */
static const char *ask(struct contender *c, const char *path, const char *body) {
    char request[REQUEST_BYTES];
    int length = snprintf(request, sizeof(request),
                          "POST %s HTTP/1.1\r\nHost: etcd\r\nContent-Length: %zu\r\n\r\n%s", path,
                          strlen(body), body);
    wire_send(c->wire, request, (size_t)length);
    bool is_good = strstr(wire_line(c->wire), " 200 ") != NULL;
    size_t size = 0;
    for (const char *line = wire_line(c->wire); *line != '\0'; line = wire_line(c->wire))
        if (strncasecmp(line, "Content-Length: ", 16) == 0)
            size = strtoul(line + 16, NULL, 10);
    const char *answer = wire_bytes(c->wire, size);
    if (!is_good)
        peer_die(path, answer);
    return answer;
}

/* The value of a string in an answer. */
static void copy_field(char *to, size_t size, const char *answer, const char *field) {
    const char *begin = strstr(answer, field);
    if (begin == NULL)
        peer_die(field, answer);
    begin += strlen(field);
    (void)snprintf(to, size, "%.*s", (int)strcspn(begin, "\""), begin);
}

static void *contend(void *client, const char *name, enum peer_kind kind) {
    if (kind != PEER_MUTEX)
        return NULL;
    struct contender *c = peer_alloc(sizeof(*c));
    char body[REQUEST_BYTES];
    c->wire = wire_open(client);
    to_base64(c->name, name);
    (void)snprintf(body, sizeof(body), "{\"TTL\":\"%d\"}", LEASE_S);
    copy_field(c->lease, sizeof(c->lease), ask(c, "/v3/lease/grant", body), "\"ID\":\"");
    return c;
}

static void leave(void *contender) {
    struct contender *c = contender;
    char body[REQUEST_BYTES];
    (void)snprintf(body, sizeof(body), "{\"ID\":\"%s\"}", c->lease);
    (void)ask(c, "/v3/lease/revoke", body);
    wire_close(c->wire);
    free(c);
}

static bool acquire(void *contender, int patience_ms) {
    struct contender *c = contender;
    char body[REQUEST_BYTES];
    (void)patience_ms;
    (void)snprintf(body, sizeof(body), "{\"name\":\"%s\",\"lease\":\"%s\"}", c->name, c->lease);
    copy_field(c->key, sizeof(c->key), ask(c, "/v3/lock/lock", body), "\"key\":\"");
    return true;
}

static void release(void *contender, bool is_awaited) {
    struct contender *c = contender;
    char body[REQUEST_BYTES];
    (void)is_awaited;
    (void)snprintf(body, sizeof(body), "{\"key\":\"%s\"}", c->key);
    (void)ask(c, "/v3/lock/unlock", body);
}

const struct peer peer_etcd = {
    .name = "etcd",
    .open = client_open,
    .close = client_close,
    .contend = contend,
    .leave = leave,
    .acquire = acquire,
    .has_patience = false,
    .release = release,
};
