/*
 * The run around this process: a command that run has started finds in its environment which locks
 * it works under, and by which nodes. It may have outlived that run.
 */
#ifndef CLI_INSIDE_H
#define CLI_INSIDE_H

#include <zklock.h>

/* The path of the node by which a run around us has, or had, the lock; it ends with its line. NULL:
 * there is no such run. */
const char *cli_inside_node(const char *name);

/* The contender with that node; NULL: it is not in the queue. */
const zkl_contender *cli_inside_find(const zkl_queue *queue, const char *path);

#endif
