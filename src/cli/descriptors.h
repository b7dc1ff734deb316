/*
 * Which descriptors the caller gave us, so that CMD gets those and none of ours. Close-on-exec on
 * each of ours would not do: the ZooKeeper client opens its socket without it.
 */
#ifndef CLI_DESCRIPTORS_H
#define CLI_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_descriptors {
    int *open; /* ascending */
    size_t count;
    unsigned limit; /* where a search by hand ends */
} cli_descriptors;

/*
 * Records what is open; to be called before anything is opened. Standard descriptors that are
 * closed are then opened on /dev/null, lest a connection become standard error: CMD sees them
 * closed all the same. False with errno: out of memory or descriptors.
 */
bool cli_descriptors_record(cli_descriptors *ret_descriptors);
void cli_descriptors_free(cli_descriptors *descriptors);

/*
 * Closes everything that was not recorded, except keep (-1: none). For the child between fork and
 * exec: async-signal-safe.
 */
void cli_descriptors_close_others(const cli_descriptors *descriptors, int keep);

/* Closes everything, except keep. */
void cli_descriptors_close_all_but(int keep);

#endif
