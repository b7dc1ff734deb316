/* screen - see screen.h. */
#include "cli/screen.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_USUAL 80
#define LINES_USUAL 24
/* No more than a terminal or a pipe takes when poll says that it takes something. */
#define CHUNK_BYTES 256
#define LEAVE_LIMIT_MS 200

/* The alternate screen, lines that do not wrap, no cursor; and back. */
static const char Enter[] = "\033[?1049h\033[?7l\033[?25l";
static const char Leave[] = "\033[?25h\033[?7h\033[?1049l";

static struct winsize size_of_terminal(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        size = (struct winsize){0};
    size.ws_col = size.ws_col == 0 ? COLUMNS_USUAL : size.ws_col;
    size.ws_row = size.ws_row == 0 ? LINES_USUAL : size.ws_row;
    return size;
}

size_t cli_screen_columns(void) {
    return isatty(STDOUT_FILENO) == 0 ? 0 : size_of_terminal().ws_col;
}

size_t cli_screen_lines(void) {
    return size_of_terminal().ws_row;
}

bool cli_screen_can_draw(void) {
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) != 0 && term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
}

bool cli_screen_is_ours(void) {
    return tcgetpgrp(STDOUT_FILENO) == getpgrp();
}

/* Waits until the terminal takes something. interrupt_fd: -1 for none. */
static cli_screen_result await_room(int interrupt_fd, int timeout_ms) {
    struct pollfd fds[] = {{.fd = interrupt_fd, .events = POLLIN},
                           {.fd = STDOUT_FILENO, .events = POLLOUT}};
    int n = poll(fds, 2, timeout_ms);
    if (n < 0 && errno == EINTR)
        return await_room(interrupt_fd, timeout_ms);
    if (n <= 0 || (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
        return CLI_SCREEN_GONE;
    return fds[0].revents != 0 ? CLI_SCREEN_INTERRUPTED : CLI_SCREEN_DONE;
}

static cli_screen_result put(const char *text, size_t length, int interrupt_fd, int timeout_ms) {
    while (length > 0) {
        cli_screen_result result = await_room(interrupt_fd, timeout_ms);
        if (result != CLI_SCREEN_DONE)
            return result;
        ssize_t n = write(STDOUT_FILENO, text, length < CHUNK_BYTES ? length : CHUNK_BYTES);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return CLI_SCREEN_GONE;
        text += n < 0 ? 0 : n;
        length -= n < 0 ? 0 : (size_t)n;
    }
    return CLI_SCREEN_DONE;
}

cli_screen_result cli_screen_enter(int interrupt_fd) {
    return put(Enter, sizeof(Enter) - 1, interrupt_fd, -1);
}

void cli_screen_leave(void) {
    (void)put(Leave, sizeof(Leave) - 1, -1,
              LEAVE_LIMIT_MS); /* what cannot be told stays as it is */
}

/* From the upper left corner; the rest of each line is cleared, and what is below the last. */
cli_screen_result cli_screen_draw(const char *text, int interrupt_fd) {
    char *frame = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&frame, &size);
    if (out == NULL)
        return CLI_SCREEN_DONE; /* the next one may succeed */
    fputs("\033[H", out);
    size_t left = cli_screen_lines();
    for (; left > 0 && *text != '\0'; left--) {
        size_t length = strcspn(text, "\n");
        fputs("\033[K", out); /* before the text: behind it, it could clear the last column */
        fwrite(text, 1, length, out);
        text += length + (text[length] == '\n' ? 1 : 0);
        fputs(left > 1 && *text != '\0' ? "\r\n" : "", out);
    }
    fputs(left > 0 ? "\r\n\033[J" : "", out);
    cli_screen_result result = CLI_SCREEN_DONE;
    bool has_failed = ferror(out) != 0;
    if (fclose(out) == 0 && !has_failed)
        result = put(frame, size, interrupt_fd, -1);
    free(frame);
    return result;
}
