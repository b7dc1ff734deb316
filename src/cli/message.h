/*
 * What the command has to say on standard error: lines that begin with "zklock: ".
 *
 * Standard error may block for ever (a stopped terminal, a full pipe), and neither the watch over
 * the hold nor a thread of the library may wait for it. Once cli_message_start was called, lines
 * are queued and a thread of their own writes them; before, they are written at once.
 */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <zklock.h>

__attribute__((format(printf, 1, 2))) void cli_message(const char *format, ...);

/* cli_message if cli_message_verbose was set. */
__attribute__((format(printf, 1, 2))) void cli_message_detail(const char *format, ...);
void cli_message_verbose(bool verbose);

/* Starts the writing thread; false when there can be none. */
bool cli_message_start(void);

/* Waits until what is queued has been written, but not longer than a second. */
void cli_message_finish(void);

/* A zkl_log_fn: prints the line if verbose, and keeps the last error for cli_message_error. Of the
 * ZooKeeper client's lines it holds back what cli/repeats.h says. That the servers commit nothing,
 * it prints in any case. */
void cli_message_log(zkl_log_level level, const char *text, void *arg);

/* The last error that the library logged, "" if none; cut to fit. */
void cli_message_last_error(char *ret_text, size_t size);

/* That the library does not take this name or prefix of names. */
void cli_message_bad_name(const char *subcommand, const char *name);

/* "zklock: <what>: <the error's text>", and the last error the library logged, if it said one. */
void cli_message_error(const char *what, zkl_err err);

#endif
