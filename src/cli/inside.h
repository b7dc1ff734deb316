/*
 * The run around this process: a command that run has started finds in its environment which locks
 * it works under, and by which nodes. It may have outlived that run.
 */
#ifndef CLI_INSIDE_H
#define CLI_INSIDE_H

#include "cli/options.h"

#include <stdbool.h>
#include <zklock.h>

typedef struct cli_inside_guard {
    zkl_guard guard;
    const char *nodes[ZKL_ALL_MAX];
    char *lines; /* of them; to be freed, whatever was returned */
} cli_inside_guard;

/* The path of the node by which a run around us, below the same root, has or had the lock; it ends
 * with its line. NULL: there is no such run. */
const char *cli_inside_node(const cli_options *options, const char *name);

/* Whether that path is this child's. */
bool cli_inside_is(const char *path, const char *child);

/*
 * What guards a write of ours: all nodes by which the run around us holds, and their token. False,
 * with one line on standard error: there is no such run, or it cannot be told.
 */
bool cli_inside_guard_by(cli_inside_guard *ret_guard);

/* The token of the run around us, whatever lock it is for. False as above. */
bool cli_inside_token(int64_t *ret_token);

/* The only lock of the run around us, or of_lock, if that is one of them. The caller's to free;
 * NULL as above. */
char *cli_inside_lock(const char *of_lock);

#endif
