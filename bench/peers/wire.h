/* A connection that asks and is answered, for the services whose protocols are text. */
#ifndef BENCH_PEER_WIRE_H
#define BENCH_PEER_WIRE_H

#include <stddef.h>

#define WIRE_BYTES 4096

struct wire {
    int fd;
    size_t length, taken; /* of what has come, and of that what was read */
    char in[WIRE_BYTES];
};

struct wire *wire_open(const char *address); /* HOST:PORT */
void wire_close(struct wire *wire);
void wire_send(struct wire *wire, const char *text, size_t length);
/* The next line, without its CRLF, until the next call. */
const char *wire_line(struct wire *wire);
/* So many bytes, NUL-terminated, until the next call. */
const char *wire_bytes(struct wire *wire, size_t count);

#endif
