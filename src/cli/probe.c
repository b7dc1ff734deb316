/* probe - see probe.h. The formats: ServerCnxn and Commands of the servers, ConnectRequest of
 * ZooKeeper's jute file. */
#include "cli/probe.h"

#include "cli/clock.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cons has some 150 bytes for each connection; what is beyond is not counted. */
#define TEXT_MAX_BYTES (1 << 20)
#define PASSWORD_BYTES 16
#define OP_CLOSE (-11)

/* ---- Sockets with a deadline ---- */

static int left_ms(int64_t deadline_ms) {
    const int64_t left = deadline_ms - cli_clock_ms();
    return left < 0 ? 0 : (int)left;
}

static bool wait_for(int fd, short events, int64_t deadline_ms) {
    struct pollfd ready = {.fd = fd, .events = events};
    int count;
    do {
        count = poll(&ready, 1, left_ms(deadline_ms));
    } while (count < 0 && errno == EINTR);
    return count > 0;
}

/* -1: *ret_error is an errno, or 0 if the time is over. */
static int open_connection(const cli_address *address, int64_t deadline_ms, int *ret_error) {
    int fd = socket(address->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    *ret_error = errno;
    if (fd < 0)
        return -1;
    int error = connect(fd, (const struct sockaddr *)&address->address, address->length) == 0
                    ? 0
                    : errno;
    socklen_t size = sizeof(error);
    if (error == EINPROGRESS) {
        *ret_error = 0;
        if (!wait_for(fd, POLLOUT, deadline_ms) ||
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
            close(fd);
            return -1;
        }
    }
    *ret_error = error;
    if (error == 0)
        return fd;
    close(fd);
    return -1;
}

/* A request fits into a new connection's buffer, so it is sent whole or not at all. */
static bool send_all(int fd, const void *data, size_t length) {
    return send(fd, data, length, MSG_NOSIGNAL) == (ssize_t)length;
}

/* Reads size bytes at most, or until the end. Returns their number; *ret_is_end: it was the end. */
static size_t receive(int fd, void *buffer, size_t size, int64_t deadline_ms, bool *ret_is_end) {
    size_t length = 0;
    *ret_is_end = false;
    while (length < size && wait_for(fd, POLLIN, deadline_ms)) {
        ssize_t n = recv(fd, (char *)buffer + length, size - length, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        *ret_is_end = n <= 0;
        if (n <= 0)
            break;
        length += (size_t)n;
    }
    return length;
}

static int64_t answer_deadline_ms(int64_t deadline_ms) {
    const int64_t one = cli_clock_ms() + CLI_ANSWER_LIMIT_MS;
    return one < deadline_ms ? one : deadline_ms;
}

/* ---- Four-letter words ---- */

/* Into text, of TEXT_MAX_BYTES; *ret_port: ours, of the connection. */
static cli_answer ask(const cli_address *address, const char *word, int64_t deadline_ms, char *text,
                      int *ret_port, int *ret_error) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } own = {.v6 = {0}};
    socklen_t size = sizeof(own);
    bool is_end;
    const int64_t until_ms = answer_deadline_ms(deadline_ms);
    int fd = open_connection(address, until_ms, ret_error);
    if (fd < 0)
        return CLI_ANSWER_UNREACHABLE;
    *ret_port = 0;
    if (getsockname(fd, &own.any, &size) == 0)
        *ret_port = ntohs(own.any.sa_family == AF_INET6 ? own.v6.sin6_port : own.v4.sin_port);
    size_t length = 0;
    if (send_all(fd, word, strlen(word)))
        length = receive(fd, text, TEXT_MAX_BYTES - 1, until_ms, &is_end);
    else
        is_end = true;
    close(fd);
    text[length] = '\0';
    if (length == 0)
        return is_end ? CLI_ANSWER_CLOSED : CLI_ANSWER_SILENT;
    if (strstr(text, "not in the whitelist") != NULL)
        return CLI_ANSWER_REFUSED;
    if (strstr(text, "not currently serving requests") != NULL)
        return CLI_ANSWER_IDLE;
    return CLI_ANSWER_GIVEN;
}

/* The value behind "key", at the beginning of a line; NULL: there is none. */
static const char *find_value(const char *text, const char *key) {
    const size_t length = strlen(key);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0)
            return line + length;
    }
    return NULL;
}

static void copy_word(char *ret_text, size_t size, const char *from, const char *end) {
    size_t length = from == NULL ? 0 : strcspn(from, end);
    if (length >= size)
        length = size - 1;
    if (length > 0)
        memcpy(ret_text, from, length);
    ret_text[length] = '\0';
}

/* A number of a configuration; -1: there is none, or it is no int. */
static int find_number(const char *text, const char *key) {
    const char *value = find_value(text, key);
    char *end;
    if (value == NULL)
        return -1;
    errno = 0;
    const long number = strtol(value, &end, 10);
    return end == value || errno != 0 || number < 0 || number > INT_MAX ? -1 : (int)number;
}

static int64_t find_zxid(const char *text) {
    const char *value = find_value(text, "Zxid: 0x");
    return value == NULL ? -1 : (int64_t)strtoull(value, NULL, 16);
}

static size_t count_members(const char *text) {
    size_t count = 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const size_t length = strcspn(line, "\n");
        count += strncmp(line, "server.", 7) == 0 &&
                 memmem(line, length, ":observer", strlen(":observer")) == NULL;
    }
    return count;
}

/* Each line has "/ADDRESS:PORT[". The line with our port has the address by which the server knows
 * us. */
static size_t count_own(const char *text, int port) {
    char mark[16], own[128];
    size_t count = 0;
    (void)snprintf(mark, sizeof(mark), ":%d[", port);
    const char *end = strstr(text, mark), *begin = end;
    while (begin != NULL && begin > text && *begin != '/')
        begin--;
    if (begin == NULL || *begin != '/')
        return 0;
    (void)snprintf(own, sizeof(own), "%.*s", (int)(end - begin) + 1, begin); /* with the colon */
    for (const char *at = text; (at = strstr(at, own)) != NULL; at++)
        count++;
    return count == 0 ? 0 : count - 1;
}

/* ---- Sessions ---- */

static char *put_int(char *out, int32_t value) {
    const uint32_t big = htobe32((uint32_t)value);
    memcpy(out, &big, sizeof(big));
    return out + sizeof(big);
}

static int32_t get_int(const char *from) {
    uint32_t big;
    memcpy(&big, from, sizeof(big));
    return (int32_t)be32toh(big);
}

static bool ask_for_session(int fd, int timeout_ms) {
    char request[64] = {0};
    char *out = put_int(request, 4 + 8 + 4 + 8 + 4 + PASSWORD_BYTES + 1);
    out = put_int(out, 0) + 8; /* the protocol's version; no zxid was seen */
    out = put_int(out, timeout_ms) + 8;
    out = put_int(out, PASSWORD_BYTES) + PASSWORD_BYTES;
    return send_all(fd, request, (size_t)(out + 1 - request)); /* not read-only */
}

/* The servers end the session, and answer when that is committed. */
static void end_session(int fd, int64_t deadline_ms) {
    char request[12], answer[64];
    bool is_end;
    (void)put_int(put_int(put_int(request, 8), 1), OP_CLOSE);
    if (send_all(fd, request, sizeof(request)))
        (void)receive(fd, answer, sizeof(answer), deadline_ms, &is_end); /* it expires if not */
}

/* A ConnectResponse: its length, the protocol's version 0, and the timeout. Before 3.4 it ends
 * without the byte that says whether the server is read-only. */
static bool is_connect_response(const char *answer) {
    const int32_t length = get_int(answer), whole = 4 + 4 + 8 + 4 + PASSWORD_BYTES;
    return (length == whole || length == whole + 1) && get_int(answer + 4) == 0;
}

/* Opens a session, and ends it. */
static cli_answer try_session(const cli_probe *p, int timeout_ms, int *ret_granted_ms) {
    char answer[4 + 4 + 4 + 8];
    int error;
    bool is_end;
    const int64_t until_ms = answer_deadline_ms(p->deadline_ms);
    int fd = open_connection(p->address, until_ms, &error);
    if (fd < 0)
        return CLI_ANSWER_UNREACHABLE;
    cli_answer result = CLI_ANSWER_CLOSED;
    if (ask_for_session(fd, timeout_ms)) {
        const size_t length = receive(fd, answer, sizeof(answer), until_ms, &is_end);
        *ret_granted_ms = length == sizeof(answer) ? get_int(answer + 8) : 0;
        if (length == sizeof(answer) && !is_connect_response(answer)) {
            result = CLI_ANSWER_STRANGE;
        } else if (length == sizeof(answer) && *ret_granted_ms > 0) {
            end_session(fd, until_ms);
            result = CLI_ANSWER_GIVEN;
        } else if (length < sizeof(answer) && !is_end) {
            result = CLI_ANSWER_SILENT;
        }
    }
    close(fd);
    return result;
}

/* ---- All of it ---- */

static void read_srvr(cli_probe *p, const char *text) {
    const char *version = find_value(text, "Zookeeper version: ");
    copy_word(p->version, sizeof(p->version), version, "-, \n");
    copy_word(p->mode, sizeof(p->mode), find_value(text, "Mode: "), "\n");
    p->zxid = find_zxid(text);
}

static void probe(cli_probe *p, char *text) {
    int port, error = 0;
    p->srvr = ask(p->address, "srvr", p->deadline_ms, text, &port, &p->error);
    if (p->srvr == CLI_ANSWER_GIVEN && find_value(text, "Zxid: ") == NULL)
        p->srvr = CLI_ANSWER_STRANGE;
    const bool is_of_no_use = p->srvr == CLI_ANSWER_CLOSED || p->srvr == CLI_ANSWER_STRANGE;
    if (p->srvr == CLI_ANSWER_GIVEN)
        read_srvr(p, text);
    else if (p->srvr != CLI_ANSWER_REFUSED && !is_of_no_use)
        return;
    p->session = try_session(p, 1, &p->session_min_ms);
    if (p->session != CLI_ANSWER_GIVEN && is_of_no_use)
        return;
    if (is_of_no_use) /* something between that lets sessions pass */
        p->srvr = CLI_ANSWER_REFUSED;
    if (p->session == CLI_ANSWER_GIVEN)
        p->session = try_session(p, INT_MAX, &p->session_max_ms);
    p->conf = ask(p->address, "conf", p->deadline_ms, text, &port, &error);
    if (p->conf == CLI_ANSWER_GIVEN) {
        p->tick_ms = find_number(text, "tickTime=");
        p->connections_max = find_number(text, "maxClientCnxns=");
        p->members = count_members(text);
    }
    p->cons = ask(p->address, "cons", p->deadline_ms, text, &port, &error);
    if (p->cons == CLI_ANSWER_GIVEN)
        p->connections = count_own(text, port);
}

static void *probe_main(void *arg) {
    char *text = malloc(TEXT_MAX_BYTES);
    if (text == NULL)
        return NULL;
    probe((cli_probe *)arg, text);
    free(text);
    return arg;
}

bool cli_probe_all(cli_probe *probes, const cli_servers *servers) {
    pthread_t threads[CLI_ADDRESSES_MAX];
    const int64_t deadline_ms = cli_clock_ms() + CLI_PROBE_LIMIT_MS;
    size_t started = 0;
    for (; started < servers->address_count; started++) {
        probes[started] = (cli_probe){.address = &servers->addresses[started],
                                      .deadline_ms = deadline_ms,
                                      .zxid = -1,
                                      .tick_ms = -1,
                                      .connections_max = -1};
        if (pthread_create(&threads[started], NULL, probe_main, &probes[started]) != 0)
            break;
    }
    bool is_done = started == servers->address_count;
    for (size_t i = 0; i < started; i++) {
        void *had_memory;
        pthread_join(threads[i], &had_memory);
        is_done = is_done && had_memory != NULL;
    }
    return is_done;
}

int64_t cli_probe_zxid(const cli_address *address, int64_t deadline_ms) {
    int port, error;
    char *text = malloc(TEXT_MAX_BYTES);
    if (text == NULL)
        return -1;
    cli_answer answer = ask(address, "srvr", deadline_ms, text, &port, &error);
    int64_t zxid = answer == CLI_ANSWER_GIVEN ? find_zxid(text) : -1;
    free(text);
    return zxid;
}
