/*
 * The terminal at standard output, as a screen: its size, and a view that takes all of it. The
 * alternate screen leaves what the user had before as it was.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Of the terminal at this moment. 0 if standard output is none: lines have any length there. 80 if
 * it does not say. */
size_t cli_screen_columns(void);

/* 24 if it does not say. */
size_t cli_screen_lines(void);

/* Whether it is a terminal that takes the sequences below. */
bool cli_screen_can_draw(void);

/* Whether our process group is the one in the foreground of it. */
bool cli_screen_is_ours(void);

/* What has come of a write. */
typedef enum cli_screen_result {
    CLI_SCREEN_DONE,
    CLI_SCREEN_INTERRUPTED, /* something can be read from the other descriptor */
    CLI_SCREEN_GONE
} cli_screen_result;

/*
 * Takes the whole screen, draws text on it, gives it back. A terminal that takes nothing (Ctrl-S)
 * does not keep us: the first two end as soon as interrupt_fd can be read, the last one in a part
 * of a second. The text has whole lines; what is below them, and beyond the right edge, is not
 * shown.
 */
cli_screen_result cli_screen_enter(int interrupt_fd);
cli_screen_result cli_screen_draw(const char *text, int interrupt_fd);
void cli_screen_leave(void);

#endif
