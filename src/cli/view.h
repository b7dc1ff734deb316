/* What ls or show has read at one moment, to be printed at any width. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "cli/options.h"
#include "cli/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <zklock.h>

#define CLI_VIEW_HEADING_BYTES 64

typedef struct cli_view {
    char heading[CLI_VIEW_HEADING_BYTES]; /* a line above the table; "": none */
    cli_table *table;                     /* NULL: none */
    char *text;                           /* whole lines, in place of the table; NULL: none */
    const char *note;                     /* what an empty table means */
    zkl_err err;                          /* of what is missing, though the rest is there */
} cli_view;

/*
 * Reads what the options ask for. is_told: what cannot be read beside the rest is said on standard
 * error. On an error the view is empty. Either way the caller frees it.
 */
typedef zkl_err (*cli_view_fn)(cli_view *ret_view, zkl_session *session, const cli_options *options,
                               bool is_told);

void cli_view_free(cli_view *view);

/* In lines of at most so many columns; 0: of any length. False: out of memory. */
bool cli_view_print(const cli_view *view, FILE *out, size_t columns);

/* The same for one of many: if there is nothing to print, it says so. */
bool cli_view_print_watched(const cli_view *view, FILE *out, size_t columns);

/* Between two looks of --watch. */
int64_t cli_watch_interval_ms(const cli_options *options);

/* Opens a session, looks once and prints that on standard output. The exit status. */
int cli_view_once(const cli_options *options, cli_view_fn look);

#endif
