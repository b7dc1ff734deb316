/* A table of escaped text for a terminal. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct cli_table cli_table;

/* Borrows titles, columns of them, until it is freed. NULL when out of memory. */
cli_table *cli_table_new(const char *const *titles, size_t columns);
void cli_table_free(cli_table *table);

/* How a column may give way where a line is too long. */
typedef struct cli_fit {
    size_t least; /* its text may be cut down to so many columns, or to its title; 0: it is not */
    bool may_go;  /* it is left out if that does not do */
} cli_fit;

/* One for each column, borrowed until the table is freed. Without it no cell is cut. */
void cli_table_fit(cli_table *table, const cli_fit *fits);

/*
 * Appends a cell, row by row from left to right; text is copied, escaped, and shown as "-" when
 * empty. Out of memory is remembered and told by cli_table_print.
 */
void cli_table_add(cli_table *table, const char *text);
__attribute__((format(printf, 2, 3))) void cli_table_addf(cli_table *table, const char *format,
                                                          ...);

/* Prints nothing when there are no rows. False: a cell was lost, nothing is printed. */
bool cli_table_print(const cli_table *table, FILE *out);

/* The same in lines of at most width columns; 0: of any length. */
bool cli_table_print_within(const cli_table *table, FILE *out, size_t width);

#endif
