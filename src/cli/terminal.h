/* Lends the terminal to CMD's process group, and takes it back. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct cli_terminal {
    int fd;          /* the controlling terminal; -1: none */
    pid_t own_group; /* our process group */
} cli_terminal;

/* Never fails: without a controlling terminal the calls below do nothing. SIGTTOU is blocked. */
void cli_terminal_open(cli_terminal *ret_terminal);
void cli_terminal_close(cli_terminal *terminal);

bool cli_terminal_exists(const cli_terminal *terminal);

/* Whether our group is the one in the foreground. */
bool cli_terminal_is_ours(const cli_terminal *terminal);

/* Whether we are part of a pipeline, whose other commands may want the terminal themselves. */
bool cli_terminal_in_pipeline(void);

/* From our group to group, if ours is in the foreground. Async-signal-safe. */
void cli_terminal_give(const cli_terminal *terminal, pid_t group);

/* Back from group. Returns whether group had it. */
bool cli_terminal_take(const cli_terminal *terminal, pid_t group);

#endif
