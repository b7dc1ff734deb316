/*
 * A database for a server to start with, written by the test: directories whose counters of
 * children stand wherever the test wants them, as after two thousand million creates.
 */
#ifndef SUPPORT_SNAPSHOT_H
#define SUPPORT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct snapshot_node {
    const char *path; /* absolute; its parent is "/" or stands before it */
    int32_t counter;  /* the number that the next sequential child will get */
} snapshot_node;

/*
 * Writes version_dir/snapshot.<zxid>: the nodes, persistent, empty and open to everybody, and no
 * session. zxid: newer than all that the server has logged there, or it replays that on top.
 * False: the file cannot be written.
 */
bool snapshot_write(const char *version_dir, int64_t zxid, const snapshot_node *nodes,
                    size_t count);

#endif
