/* Loopback sockets for the fixture and the proxy. All descriptors are close-on-exec. */
#ifndef SUPPORT_NET_H
#define SUPPORT_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A socket bound to address, on a port of the kernel's choice, that refuses; or -1. */
int net_bind(const char *address, uint16_t *ret_port);
/* A listening, non-blocking socket at address, on a port of the kernel's choice; or -1. */
int net_listen(const char *address, uint16_t *ret_port);
/*
 * Connects to "a.b.c.d:port" or "name:port"; the descriptor blocks, in connecting, sending and
 * receiving for so long at most (0: without end). Or -1.
 */
int net_connect(const char *host, int timeout_ms);
/* No Nagle, no blocking: what both ends of a proxied connection need. */
bool net_make_quick(int fd);
/* Sends a word, reads the answer up to the end, NUL-terminated. False: none within the time. */
bool net_ask(const char *host, const char *word, char *buf, size_t size, int timeout_ms);
/* The number behind the key in the answer to a word; -1: no answer within the time, or no such key.
 * For one thread at a time. */
int64_t net_number(const char *host, const char *word, const char *key, int timeout_ms);

#endif
