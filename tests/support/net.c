/* See net.h. */
#include "support/net.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int net_bind(const char *address, uint16_t *ret_port) {
    struct sockaddr_in where = {.sin_family = AF_INET};
    socklen_t size = sizeof(where);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    (void)inet_pton(AF_INET, address, &where.sin_addr);
    if (bind(fd, (struct sockaddr *)&where, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&where, &size) != 0) {
        (void)close(fd);
        return -1;
    }
    *ret_port = ntohs(where.sin_port);
    return fd;
}

int net_listen(const char *address, uint16_t *ret_port) {
    const int fd = net_bind(address, ret_port);

    if (fd >= 0 && listen(fd, 128) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool limit_waits(int fd, int timeout_ms) {
    const struct timeval limit = {.tv_sec = timeout_ms / 1000,
                                  .tv_usec = (timeout_ms % 1000) * 1000};

    return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0;
}

int net_connect(const char *host, int timeout_ms) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const char *colon = strrchr(host, ':');
    char name[128];
    int fd = -1;

    if (!colon || (size_t)(colon - host) >= sizeof(name))
        return -1;
    (void)snprintf(name, sizeof(name), "%.*s", (int)(colon - host), host);
    if (getaddrinfo(name, colon + 1, &hints, &found) != 0)
        return -1;
    for (const struct addrinfo *i = found; i && fd < 0; i = i->ai_next) {
        fd = socket(i->ai_family, i->ai_socktype | SOCK_CLOEXEC, i->ai_protocol);
        if (fd >= 0 &&
            (!limit_waits(fd, timeout_ms) || connect(fd, i->ai_addr, i->ai_addrlen) != 0)) {
            (void)close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

bool net_make_quick(int fd) {
    const int on = 1;
    const int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0;
}

bool net_ask(const char *host, const char *word, char *buf, size_t size, int timeout_ms) {
    const int fd = net_connect(host, timeout_ms);
    size_t used = 0;
    ssize_t got = 1;

    if (fd < 0)
        return false;
    if (send(fd, word, strlen(word), MSG_NOSIGNAL) == (ssize_t)strlen(word)) {
        while (got > 0 && used + 1 < size) {
            got = recv(fd, buf + used, size - 1 - used, 0);
            used += got > 0 ? (size_t)got : 0;
        }
    }
    buf[used] = '\0';
    (void)close(fd);
    return used > 0;
}

int64_t net_number(const char *host, const char *word, const char *key, int timeout_ms) {
    static char answer[1 << 16];
    const char *at;

    if (!net_ask(host, word, answer, sizeof(answer), timeout_ms) || !(at = strstr(answer, key)))
        return -1;
    at += strlen(key);
    at += strspn(at, " \t:");
    return strtoll(at, NULL, 0);
}
