/* ticket - what it takes to end a session, as a line of text; and its use, by another process. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/session_internal.h"
#include "zk/zk_client.h"
#include "zk/zk_end.h"

#define PREFIX "zkl1:"
#define PASSWORD_BYTES 16
/* Of a program's handle, which may have asked for more than we do. The client library computes with
 * twice as much. */
#define LONGEST_MS (INT_MAX / 2)
/* The prefix, an id, a password, a timeout of ten digits, two colons, and the NUL. */
_Static_assert(sizeof(PREFIX) - 1 + 16 + 1 + 2 * PASSWORD_BYTES + 1 + 10 + 1 <= ZKL_TICKET_SIZE,
               "a ticket has room");

/* ---- As text ---- */

static void print_ticket(char ret_text[ZKL_TICKET_SIZE], const struct zkli_credentials *c) {
    char password[2 * PASSWORD_BYTES + 1];
    for (size_t i = 0; i < PASSWORD_BYTES; i++)
        (void)snprintf(password + 2 * i, 3, "%02x", (unsigned char)c->password[i]);
    (void)snprintf(ret_text, ZKL_TICKET_SIZE, PREFIX "%016" PRIx64 ":%s:%d", (uint64_t)c->id,
                   password, c->timeout_ms);
    explicit_bzero(password, sizeof(password));
}

/* Exactly so many hexadecimal digits, in lower case. */
static bool read_hex(const char **at, size_t digits, uint64_t *ret_value) {
    static const char known[] = "0123456789abcdef";
    *ret_value = 0;
    for (size_t i = 0; i < digits; i++, (*at)++) {
        const char *digit = **at == '\0' ? NULL : strchr(known, **at);
        if (digit == NULL)
            return false;
        *ret_value = *ret_value << 4 | (uint64_t)(digit - known);
    }
    return true;
}

static bool read_colon(const char **at) {
    return *(*at)++ == ':';
}

static bool read_timeout(const char *at, int *ret_ms) {
    char *end;
    long ms = strtol(at, &end, 10);
    *ret_ms = (int)ms;
    return *at >= '1' && *at <= '9' && *end == '\0' && ms <= LONGEST_MS;
}

static bool read_ticket(const char *text, struct zkli_credentials *ret) {
    uint64_t value;
    if (strncmp(text, PREFIX, strlen(PREFIX)) != 0)
        return false;
    text += strlen(PREFIX);
    if (!read_hex(&text, 16, &value) || value == 0 || !read_colon(&text))
        return false;
    ret->id = (int64_t)value;
    for (size_t i = 0; i < PASSWORD_BYTES; i++) {
        if (!read_hex(&text, 2, &value))
            return false;
        ret->password[i] = (char)value;
    }
    return read_colon(&text) && read_timeout(text, &ret->timeout_ms);
}

/* ---- Calls ---- */

static zkl_err take_ticket(struct zkl_session *s, struct zkli_credentials *ret) {
    zkl_err err = zkli_engine_end_error(s->engine);
    if (err != ZKL_OK)
        return err == ZKL_EXPIRED ? err : ZKL_CLOSED;
    if (!zkli_engine_is_connected(s->engine))
        return ZKL_UNREACHABLE;
    zkli_engine_keep_session(s->engine);
    zkli_client_credentials(zkli_engine_port(s->engine), &ret->id, ret->password);
    ret->timeout_ms = zkli_engine_timeout_ms(s->engine);
    return ZKL_OK;
}

zkl_err zkl_session_ticket(zkl_session *s, char *buf, size_t size) {
    struct zkli_credentials credentials;
    if (s == NULL || buf == NULL || size < ZKL_TICKET_SIZE)
        return ZKL_INVALID;
    if (!zkli_session_begin(s))
        return ZKL_FORKED;
    zkli_session_lock(s);
    zkl_err err = take_ticket(s, &credentials);
    zkli_session_unlock_and_release(s);
    if (err != ZKL_OK)
        return err;
    print_ticket(buf, &credentials);
    explicit_bzero(&credentials, sizeof(credentials));
    return ZKL_OK;
}

static zkl_err end_at(const char *hosts, const struct zkli_credentials *credentials,
                      int timeout_ms) {
    int state;
    char *complete = NULL;
    zkl_err err = zkli_session_complete_hosts(&complete, hosts);
    if (err == ZKL_OK) {
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        err = zkli_end_session(complete, credentials,
                               zkli_monotonic_ns() + timeout_ms * ZKLI_NS_PER_MS);
        (void)pthread_setcancelstate(state, NULL);
    }
    free(complete);
    return err;
}

zkl_err zkl_session_end(const char *hosts, const char *ticket, int timeout_ms) {
    struct zkli_credentials credentials;
    if (hosts == NULL || ticket == NULL || timeout_ms < 1 || timeout_ms > ZKLI_TIMEOUT_MAX_MS ||
        !read_ticket(ticket, &credentials))
        return ZKL_INVALID;
    zkl_err err = zkli_in_callback() ? ZKL_IN_CALLBACK : end_at(hosts, &credentials, timeout_ms);
    explicit_bzero(&credentials, sizeof(credentials));
    return err;
}
