/*
 * The run around this process: a command that run has started finds in its environment which locks
 * it works under, and by which nodes. It may have outlived that run.
 */
#ifndef CLI_INSIDE_H
#define CLI_INSIDE_H

#include "cli/options.h"

#include <stdbool.h>

/* The path of the node by which a run around us, below the same root, has or had the lock; it ends
 * with its line. NULL: there is no such run. */
const char *cli_inside_node(const cli_options *options, const char *name);

/* Whether that path is this child's. */
bool cli_inside_is(const char *path, const char *child);

#endif
