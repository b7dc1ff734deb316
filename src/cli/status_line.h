/* The line at the bottom of a terminal that is written over as things change. */
#ifndef CLI_STATUS_LINE_H
#define CLI_STATUS_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether standard error is a terminal that can go back in its line. */
bool cli_status_line_is_possible(void);

/* Whether our process group has that terminal now: a job in the background leaves it alone. */
bool cli_status_line_has_terminal(void);

/* Of standard error's terminal; 80 if it does not say. */
size_t cli_status_line_columns(void);

/*
 * The three texts, escaped, as one line of fewer columns than these, so that the terminal does not
 * begin another: where there is no room for all, the middle is cut first. False: no memory.
 */
bool cli_status_line_make(char *ret_line, size_t size, const char *const texts[3], size_t columns);

/* Writes a line over the one that is there, or erases it: "". */
void cli_status_line_draw(const char *line);

#endif
