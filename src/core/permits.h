/*
 * permits - how many may hold a semaphore together, as the data of its directory say:
 *
 *     permits=3 max=5
 *
 * max is the largest number that this directory has had: a waiter with fewer than that before it
 * may have been passed over by one who had more permits in view (admission.h).
 *
 * Not here: who is admitted by the number (admission.h), when it is read and written (contender.h).
 */
#ifndef ZKLI_CORE_PERMITS_H
#define ZKLI_CORE_PERMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than the longest text has. */
#define ZKLI_PERMITS_TEXT_MAX 40

enum zkli_permits_state {
    ZKLI_PERMITS_UNKNOWN,  /* not read, or of other data than are asked about */
    ZKLI_PERMITS_NONE,     /* no data */
    ZKLI_PERMITS_OTHER,    /* other data: another program's, or of a later format */
    ZKLI_PERMITS_RECORDED, /* .count and .max */
};

/* Data of one version of one directory never change: they may be kept for as long as one likes. */
struct zkli_permits {
    int64_t czxid;   /* the directory's */
    int32_t version; /* of its data */
    enum zkli_permits_state state;
    int count, max; /* 1 <= count <= max */
};

/* Writes the text, without a NUL, and returns its length. */
size_t zkli_permits_format(char ret_text[ZKLI_PERMITS_TEXT_MAX], int count, int max);
/* Reads any bytes. */
struct zkli_permits zkli_permits_parse(const char *bytes, size_t length, int64_t czxid,
                                       int32_t version);

#endif
