/* Clients of a semaphore, and the number of permits that its directory has. */
#ifndef SUPPORT_PERMITS_H
#define SUPPORT_PERMITS_H

#include "support/client.h"

/* The name of another program's permit, before its number. */
#define LEASE "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-lease-"

/* Through a proxy; permits: as it expects, or 0. */
client *permit_open(const char *name, int permits);
/* Begins an acquire and waits until it stands in the queue, as number count, and rests there: in
 * front, with so many lists, or behind somebody, whom it watches. */
void permit_wait_in_front(client *c, size_t count);
void permit_wait_behind(client *c, size_t count);

enum {
    PERMITS_TEXT = 64
};

/* Any text as the directory's data; what they are, in PERMITS_TEXT bytes; and whether that is this.
 */
void permits_record(const char *name, const char *text);
void permits_read(const char *name, char *ret_text);
void permits_check(const char *name, const char *expected);
/* Whether the data of that node say that it was admitted. */
bool permit_is_marked(const char *path);

#endif
