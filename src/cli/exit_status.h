/*
 * The exit statuses of the command, and which of them an error of the library becomes. The numbers
 * are part of the interface, see zklock(1). From 64 on they are those of sysexits.h, from 126 on
 * those of a shell.
 */
#ifndef CLI_EXIT_STATUS_H
#define CLI_EXIT_STATUS_H

#include <stdbool.h>
#include <zklock.h>

enum {
    CLI_EXIT_OK = 0,
    CLI_EXIT_NOT_ACQUIRED = 1, /* run: unless -E says otherwise */
    CLI_EXIT_DEADLOCK = 1,     /* deadlocks: there is one */
    CLI_EXIT_NOT_HELD = 1,     /* held, ask, break */
    CLI_EXIT_OTHER_NODE = 1,   /* set, get: there is no such node, or it has another version */
    CLI_EXIT_WRONG = 1,        /* doctor: it has found something */
    CLI_EXIT_USAGE = 64,
    CLI_EXIT_NO_SERVER = 69,
    CLI_EXIT_INTERNAL = 70,
    CLI_EXIT_UNSURE = 74,
    CLI_EXIT_LOST = 75,
    CLI_EXIT_DENIED = 77,
    CLI_EXIT_CONFIG = 78,
    CLI_EXIT_NOT_EXECUTABLE = 126,
    CLI_EXIT_NOT_FOUND = 127,
    CLI_EXIT_SIGNAL_BASE = 128
};

/* ls, deadlocks: what could be read is printed, also beside what could not. */
bool cli_exit_has_output(int status);

/* Never CLI_EXIT_OK for an error; TIMEOUT and BUSY become CLI_EXIT_NOT_ACQUIRED. */
int cli_exit_status_of(zkl_err err);

#endif
