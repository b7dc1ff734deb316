/* The command line, taken apart and checked; knows nothing of what the subcommands do. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/on_lost.h"
#include "cli/subcommands.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zklock.h>

#define CLI_COUNT_DEFAULT 200

/* Where a setting comes from. */
typedef struct cli_origin {
    const char *where; /* an option, a variable or a file; NULL: it is the default */
    int line;          /* of the file, else 0 */
} cli_origin;

typedef enum cli_sort {
    CLI_SORT_NAME,
    CLI_SORT_DEPTH,
    CLI_SORT_WAIT
} cli_sort;

/* Strings are borrowed: from argv, the environment and cli/settings.h. */
typedef struct cli_options {
    cli_subcommand subcommand;
    bool is_help;
    bool is_version;
    int verbosity; /* how often -v was given */
    bool is_json;
    bool is_names;          /* ls: nothing but names */
    bool is_prometheus;     /* ls: Prometheus' text format */
    cli_sort sort;          /* ls */
    bool is_watch;          /* ls, show: again and again */
    int64_t interval_ms;    /* of that; 0: none was given */
    bool is_long;           /* show: all columns */
    const char *hosts;      /* never empty or NULL for a subcommand that needs servers */
    const char *root;       /* NULL: the library's */
    const char *auth;       /* SCHEME:CREDENTIALS; NULL: see auth_file */
    const char *label;      /* NULL: none */
    const char *auth_file;  /* NULL: none */
    int session_timeout_ms; /* 0: the library's */
    int64_t wait_ms;        /* run, break: ZKL_FOREVER, 0 (a try), or a limit */
    bool is_shared;         /* run: a reader */
    bool is_exclusive;      /* run: -x, and no -s behind it */
    bool is_all;            /* run: several locks */
    bool is_quiet;          /* run: it is not said for whom it waits */
    bool has_cgroup;        /* run: CMD gets one of its own */
    bool shows_command;     /* run: CMD and its arguments stand for a label */
    int permits;            /* run: of a semaphore; 0: it is none */
    const char *ticket;     /* run: the file for the session's ticket, or NULL */
    const char *metrics;    /* run: the file for its metrics, or NULL */
    int64_t grace_ms;       /* run: -1: a part of the session timeout */
    cli_on_lost on_lost;    /* run: what becomes of CMD without its hold */
    int conflict_status;    /* run: exit status when the lock was not acquired */
    bool is_yes;            /* break: without a question */
    int if_version;         /* set: the version that the node must have; -1: any */
    bool creates;           /* set: a node that is missing */
    bool is_unguarded;      /* set: under no hold */
    bool prints_version;    /* get: in place of the data */
    const char *of_lock;    /* fence: one of several, or NULL */
    const char *name;       /* the lock; ls, deadlocks: the prefix or NULL; end, fence: the file;
                               set, get: the path; not of run */
    const char *node;       /* break: the contender's, or NULL; set: the file, or NULL */
    char *const *names;     /* run: the locks, no two of them equal */
    size_t name_count;      /* run: of them, 1 to ZKL_ALL_MAX */
    int count;              /* bench: of rounds */
    cli_origin hosts_from, root_from, timeout_from, auth_from;
    char **command; /* run, fence: CMD and its arguments, ends with NULL; fence: or NULL */
} cli_options;

/*
 * Fills *ret_options from the command line. Moves options before operands in argv, up to "--".
 * False: something is wrong and one line on standard error says what.
 */
bool cli_options_parse(cli_options *ret_options, int argc, char **argv);

/* run: what kind of lock is asked for. */
zkl_kind cli_options_kind(const cli_options *options);

/* Whether there are servers, where the subcommand needs them, once all settings are known. False:
 * one line says how to name them. */
bool cli_options_have_servers(const cli_options *options);

#endif
