/* The command line, taken apart and checked; knows nothing of what the subcommands do. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zklock.h>

typedef enum cli_subcommand {
    CLI_NONE = 0, /* only with is_help or is_version */
    CLI_RUN,
    CLI_LS,
    CLI_SHOW,
    CLI_HELD,
    CLI_ASK,
    CLI_BREAK,
    CLI_END,
    CLI_DEADLOCKS
} cli_subcommand;

/* Strings are borrowed from argv and the environment. */
typedef struct cli_options {
    cli_subcommand subcommand;
    bool is_help;
    bool is_version;
    bool is_verbose;
    bool is_json;
    const char *hosts;      /* --hosts or ZKLOCK_HOSTS; never empty or NULL for a subcommand */
    const char *root;       /* NULL: the library's */
    const char *label;      /* NULL: none */
    const char *auth_file;  /* NULL: none */
    int session_timeout_ms; /* 0: the library's */
    int64_t wait_ms;        /* run, break: ZKL_FOREVER, 0 (a try), or a limit */
    bool is_shared;         /* run: a reader */
    bool is_all;            /* run: several locks */
    bool is_quiet;          /* run: it is not said for whom it waits */
    bool shows_command;     /* run: CMD and its arguments stand for a label */
    int permits;            /* run: of a semaphore; 0: it is none */
    const char *ticket;     /* run: the file for the session's ticket, or NULL */
    int64_t grace_ms;       /* run: -1: a part of the session timeout */
    int conflict_status;    /* run: exit status when the lock was not acquired */
    bool is_yes;            /* break: without a question */
    const char *name;       /* the lock; ls, deadlocks: the prefix or NULL; end: the file; not of
                               run */
    const char *node;       /* break: the contender's, or NULL */
    char *const *names;     /* run: the locks, no two of them equal */
    size_t name_count;      /* run: of them, 1 to ZKL_ALL_MAX */
    char **command;         /* run: CMD and its arguments, ends with NULL */
} cli_options;

/*
 * Fills *ret_options from the command line and the environment. Moves options before operands in
 * argv, up to "--". False: something is wrong and one line on standard error says what.
 */
bool cli_options_parse(cli_options *ret_options, int argc, char **argv);

/* run: what kind of lock is asked for. */
zkl_kind cli_options_kind(const cli_options *options);

/* As it is typed; "" for CLI_NONE. */
const char *cli_subcommand_name(cli_subcommand subcommand);

#endif
