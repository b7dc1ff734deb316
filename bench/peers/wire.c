#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"
#include "wire.h"

#define HOST_BYTES 64

struct wire *wire_open(const char *address) {
    struct wire *wire = peer_alloc(sizeof(*wire));
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[HOST_BYTES];
    (void)snprintf(host, sizeof(host), "%s", address);
    char *colon = strrchr(host, ':');
    if (colon == NULL)
        peer_die(address, "no port");
    *colon = '\0';
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
        peer_die(address, "no such address");
    wire->fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0);
    if (wire->fd < 0 || connect(wire->fd, found->ai_addr, found->ai_addrlen) != 0)
        peer_die(address, strerror(errno));
    (void)setsockopt(wire->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    freeaddrinfo(found);
    return wire;
}

void wire_close(struct wire *wire) {
    (void)close(wire->fd);
    free(wire);
}

void wire_send(struct wire *wire, const char *text, size_t length) {
    while (length > 0) {
        ssize_t sent = send(wire->fd, text, length, MSG_NOSIGNAL);
        if (sent < 0)
            peer_die("send", strerror(errno));
        text += sent;
        length -= (size_t)sent;
    }
}

/* What was read makes room. */
static void receive(struct wire *wire) {
    wire->length -= wire->taken;
    memmove(wire->in, wire->in + wire->taken, wire->length);
    wire->taken = 0;
    size_t room = sizeof(wire->in) - 1 - wire->length;
    ssize_t got = room == 0 ? 0 : recv(wire->fd, wire->in + wire->length, room, 0);
    if (got <= 0)
        peer_die("receive", got == 0 ? "the end, or too much" : strerror(errno));
    wire->length += (size_t)got;
}

const char *wire_line(struct wire *wire) {
    for (;;) {
        char *begin = wire->in + wire->taken;
        char *end = memchr(begin, '\n', wire->length - wire->taken);
        if (end != NULL) {
            wire->taken = (size_t)(end - wire->in) + 1;
            if (end > begin && end[-1] == '\r')
                end--;
            *end = '\0';
            return begin;
        }
        receive(wire);
    }
}

/* The byte after them is kept: it may belong to the next answer, which has not been asked for yet,
 * so there is none. */
const char *wire_bytes(struct wire *wire, size_t count) {
    while (wire->length - wire->taken < count)
        receive(wire);
    const char *begin = wire->in + wire->taken;
    wire->taken += count;
    wire->in[wire->taken] = '\0';
    return begin;
}
