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

/* cli_message if the verbosity is above 0. */
__attribute__((format(printf, 1, 2))) void cli_message_detail(const char *format, ...);
/* 0 [the default]; 1: what we do, and the library; 2: also what the ZooKeeper client logs. */
void cli_message_verbosity(int verbosity);

/*
 * One line at the bottom of the terminal, written over as it changes. Other lines go above it. For
 * where there can be one (cli/status_line.h), once cli_message_start was called. Where there is no
 * room for all, the middle is cut.
 */
void cli_message_live(const char *before, const char *middle, const char *after);

/* Takes the line away, and waits until it is gone, but not longer than a second. After that others
 * may write on the terminal. */
void cli_message_live_end(void);

/* Starts the writing thread; false when there can be none. */
bool cli_message_start(void);

/* Waits until what is queued has been written, but not longer than a second. */
void cli_message_finish(void);

/* A zkl_log_fn: prints the line if the verbosity asks for it, and keeps the last error for
 * cli_message_error. Of the ZooKeeper client's lines it holds back what cli/repeats.h says. It
 * always prints that the servers commit nothing. */
void cli_message_log(zkl_log_level level, const char *text, void *arg);

/* The last error that the library logged, "" if none; cut to fit. */
void cli_message_last_error(char *ret_text, size_t size);

/* That the library does not take this name or prefix of names. */
void cli_message_bad_name(const char *subcommand, const char *name);

/* "zklock: <what>: <the error's text>", and the last error the library logged, if it said one. */
void cli_message_error(const char *what, zkl_err err);

#endif
