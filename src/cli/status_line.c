/* status_line - see status_line.h. */
#include "cli/status_line.h"

#include "cli/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_DEFAULT 80
#define DRAWN_BYTES 2048

bool cli_status_line_is_possible(void) {
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal != NULL && *terminal != '\0' &&
           strcmp(terminal, "dumb") != 0;
}

bool cli_status_line_has_terminal(void) {
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

size_t cli_status_line_columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return COLUMNS_DEFAULT;
    return size.ws_col;
}

bool cli_status_line_make(char *ret_line, size_t size, const char *const texts[3], size_t columns) {
    static const size_t order[3] = {1, 0, 2}; /* of giving way */
    const bool utf8 = cli_locale_is_utf8();
    const size_t room = columns == 0 ? 0 : columns - 1;
    size_t widths[3];
    for (size_t i = 0; i < 3; i++)
        widths[i] = cli_escaped_columns(texts[i], utf8);
    for (size_t i = 0; i < 3; i++) {
        const size_t all = widths[0] + widths[1] + widths[2], excess = all > room ? all - room : 0;
        size_t *width = &widths[order[i]];
        *width = *width > excess ? *width - excess : 0;
    }
    ret_line[0] = '\0'; /* which it writes only behind text */
    FILE *out = fmemopen(ret_line, size, "w");
    if (out == NULL)
        return false;
    for (size_t i = 0; i < 3; i++)
        (void)cli_escape_cut(out, texts[i], utf8, widths[i]);
    return fclose(out) == 0; /* fails for a line that does not fit, too */
}

void cli_status_line_draw(const char *line) {
    char drawn[DRAWN_BYTES];
    int length = snprintf(drawn, sizeof(drawn), "\r%s\033[K", line);
    if (length > 0 && (size_t)length < sizeof(drawn) && cli_status_line_has_terminal())
        (void)!write(STDERR_FILENO, drawn, (size_t)length); /* the next one comes soon */
}
