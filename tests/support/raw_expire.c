/*
 * See raw.h. The owner, pushed off its connection, is back within milliseconds. A server (3.8.0)
 * that deals with its return and with ours at once may forget the owner's connection: it neither
 * closes it when the session ends nor answers on it any more, and the owner learns of its end
 * after 2T/3 only. So an owner in this process is kept from connecting meanwhile (so are proxies,
 * for that moment; an owner elsewhere is not), and our own connection, made on the wire because
 * the client library cannot wait, stays until the server closes it.
 */
#include "support/net.h"
#include "support/raw.h"
#include "support/wait.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    ATTEMPT_MS = 2000,
    PASSWORD = 16,
    REQUEST_MAX = 64 + RAW_PATH_MAX,
    ANSWER_MAX = 256 + RAW_PATH_MAX,
    OP_CREATE = 1,
    OP_CLOSE_SESSION = -11,
    PERMS_ALL = 31
};

typedef enum outcome {
    OVER,   /* the server knows of no such session */
    CLOSED, /* or about to be: ask once more */
    UNKNOWN
} outcome;

static atomic_int Barring; /* how many sessions are being ended */
static _Thread_local bool Is_ending;

/* Stands in front of libc's for the whole program. */
__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *address,
                                                   socklen_t size) {
    if (atomic_load(&Barring) > 0 && !Is_ending) {
        errno = ECONNREFUSED;
        return -1;
    }
    return (int)syscall(SYS_connect, fd, address, size);
}

static void bar(bool is_on) {
    Is_ending = is_on;
    (void)atomic_fetch_add(&Barring, is_on ? 1 : -1);
}

static unsigned char *put_int(unsigned char *at, int32_t number) {
    const uint32_t bytes = htonl((uint32_t)number);

    memcpy(at, &bytes, sizeof(bytes));
    return at + sizeof(bytes);
}

static unsigned char *put_long(unsigned char *at, int64_t number) {
    return put_int(put_int(at, (int32_t)((uint64_t)number >> 32)), (int32_t)number);
}

/* A frame begins with its length, which is known when it is whole. */
static bool send_frame(int fd, unsigned char *frame, const unsigned char *end) {
    const size_t size = (size_t)(end - frame);

    (void)put_int(frame, (int32_t)(size - sizeof(int32_t)));
    return send(fd, frame, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static bool send_connect(int fd, int64_t session, const char *password) {
    unsigned char frame[REQUEST_MAX], *at = frame + sizeof(int32_t);

    at = put_int(at, 0);  /* version of the protocol */
    at = put_long(at, 0); /* last zxid seen */
    at = put_int(at, SOON_MS);
    at = put_long(at, session);
    at = put_int(at, PASSWORD);
    memcpy(at, password, PASSWORD);
    return send_frame(fd, frame, at + PASSWORD);
}

static bool send_close(int fd) {
    unsigned char frame[REQUEST_MAX], *at = frame + sizeof(int32_t);

    at = put_int(at, 1); /* xid */
    return send_frame(fd, frame, put_int(at, OP_CLOSE_SESSION));
}

static unsigned char *put_text(unsigned char *at, const char *text) {
    const size_t size = strlen(text);

    at = put_int(at, (int32_t)size);
    memcpy(at, text, size);
    return at + size;
}

static bool send_create(int fd, const char *path) {
    unsigned char frame[REQUEST_MAX], *at = frame + sizeof(int32_t);

    at = put_int(at, 1); /* xid */
    at = put_text(put_int(at, OP_CREATE), path);
    at = put_int(at, 0); /* no data */
    at = put_int(put_int(at, 1), PERMS_ALL);
    at = put_text(put_text(at, "world"), "anyone");
    return send_frame(fd, frame, put_int(at, RAW_EPHEMERAL));
}

static bool receive(int fd, unsigned char *buf, size_t size) {
    return recv(fd, buf, size, MSG_WAITALL) == (ssize_t)size;
}

static int32_t int_at(const unsigned char *at) {
    uint32_t bytes;

    memcpy(&bytes, at, sizeof(bytes));
    return (int32_t)ntohl(bytes);
}

/* Length, version, timeout: 0 when the session is over. The rest does not matter. */
static bool receive_timeout(int fd, int32_t *ret) {
    unsigned char head[12], rest[ANSWER_MAX];

    if (!receive(fd, head, sizeof(head)))
        return false;
    int32_t left = int_at(head) - 8;
    *ret = int_at(head + 8);
    return left >= 0 && left <= (int32_t)sizeof(rest) && receive(fd, rest, (size_t)left);
}

/* Length, xid, zxid, error. The rest does not matter. */
static bool receive_ok(int fd) {
    unsigned char head[20];

    return receive(fd, head, sizeof(head)) && int_at(head + 16) == RAW_OK;
}

/* Until there is no more, because the server has closed the connection or does not answer. */
static void drain(int fd) {
    unsigned char buf[ANSWER_MAX];

    while (recv(fd, buf, sizeof(buf), 0) > 0)
        ;
}

static outcome end_at(const char *host, int64_t session, const char *password) {
    const int fd = net_connect(host, ATTEMPT_MS);
    outcome ret = UNKNOWN;
    int32_t timeout;

    if (fd < 0)
        return UNKNOWN;
    if (send_connect(fd, session, password) && receive_timeout(fd, &timeout)) {
        ret = timeout <= 0 ? OVER : CLOSED;
        if (ret == OVER || send_close(fd))
            drain(fd);
    }
    (void)close(fd);
    return ret;
}

static bool end_session(const char *hosts, int64_t session, const char *password) {
    const int64_t end = clock_ms() + SOON_MS;
    const char *at = hosts;

    while (clock_ms() < end) {
        const size_t len = strcspn(at, ",");
        char host[128];

        (void)snprintf(host, sizeof(host), "%.*s", (int)len, at);
        outcome o = end_at(host, session, password);
        if (o == OVER)
            return true;
        if (o == UNKNOWN)
            at = at[len] == ',' ? at + len + 1 : hosts;
        wait_pause();
    }
    return false;
}

bool raw_expire(const char *hosts, int64_t session, const char password[16]) {
    bar(true);
    bool is_over = end_session(hosts, session, password);
    bar(false);
    return is_over;
}

bool raw_create_in(const char *host, int64_t session, const char password[16], const char *path) {
    const int fd = net_connect(host, ATTEMPT_MS);
    int32_t timeout;

    if (fd < 0)
        return false;
    bool is_done = send_connect(fd, session, password) && receive_timeout(fd, &timeout) &&
                   timeout > 0 && send_create(fd, path) && receive_ok(fd);
    (void)close(fd);
    return is_done;
}
