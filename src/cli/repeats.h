/*
 * Which lines of the ZooKeeper client are not worth printing again. While no server listens, it
 * logs the same few lines with each attempt, several times a second.
 */
#ifndef CLI_REPEATS_H
#define CLI_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line is printed again this long after it was printed last. */
#define CLI_REPEATS_PAUSE_MS 30000

/* Whether it is a line of the ZooKeeper client, and not of zklock's library. */
bool cli_repeats_is_client_line(const char *line);

/*
 * Whether a line is printed now. Lines that differ in the time and the thread in front of them are
 * the same one. *ret_held_back: how many of the same line were not printed since the last that was.
 * Other lines than the ZooKeeper client's are always printed. To be called on one thread at a time.
 */
bool cli_repeats_allow(const char *line, int64_t now_ms, size_t *ret_held_back);

#endif
