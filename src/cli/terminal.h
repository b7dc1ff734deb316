/* Lends the terminal to CMD's process group, and takes it back. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct cli_terminal {
    int fd;          /* the controlling terminal; -1: none */
    pid_t own_group; /* our process group */
} cli_terminal;

/*
 * Never fails. If there is no controlling terminal, or it is not wanted, the calls below find none
 * and do nothing. To be called with SIGTTOU blocked.
 */
void cli_terminal_open(cli_terminal *ret_terminal, bool wanted);

void cli_terminal_close(cli_terminal *terminal);

bool cli_terminal_exists(const cli_terminal *terminal);

/* Whether this group is the one in the foreground. */
bool cli_terminal_has(const cli_terminal *terminal, pid_t group);

/* Whether we are part of a pipeline, whose other commands may want the terminal themselves. */
bool cli_terminal_in_pipeline(void);

/* From our group to group, if ours is in the foreground. Async-signal-safe. */
void cli_terminal_give(const cli_terminal *terminal, pid_t group);

typedef enum cli_terminal_answer {
    CLI_TERMINAL_LENT,
    CLI_TERMINAL_CONTINUED, /* our group was stopped, and has been continued: ask again */
    CLI_TERMINAL_REFUSED    /* our group is orphaned, so no shell could continue it */
} cli_terminal_answer;

/*
 * From our group to group. If ours is in the background, the kernel stops it with SIGTTOU, as it
 * stops a program that reads the terminal. Takes a SIGCONT that is pending.
 */
cli_terminal_answer cli_terminal_ask(const cli_terminal *terminal, pid_t group);

/* Back from group. Returns whether group had it. */
bool cli_terminal_take(const cli_terminal *terminal, pid_t group);

#endif
