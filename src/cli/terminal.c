/* The terminal's foreground process group. */
#include "cli/terminal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void cli_terminal_open(cli_terminal *ret_terminal) {
    ret_terminal->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    ret_terminal->own_group = getpgrp();
}

void cli_terminal_close(cli_terminal *terminal) {
    if (terminal->fd >= 0) {
        close(terminal->fd);
        terminal->fd = -1;
    }
}

bool cli_terminal_exists(const cli_terminal *terminal) {
    return terminal->fd >= 0;
}

bool cli_terminal_is_ours(const cli_terminal *terminal) {
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == terminal->own_group;
}

bool cli_terminal_in_pipeline(void) {
    const int ends[] = {STDIN_FILENO, STDOUT_FILENO};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct stat status;
        if (fstat(ends[i], &status) == 0 &&
            (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) {
            return true;
        }
    }
    return false;
}

void cli_terminal_give(const cli_terminal *terminal, pid_t group) {
    if (cli_terminal_is_ours(terminal)) {
        (void)tcsetpgrp(terminal->fd, group); /* fails when the terminal hung up: nothing to lend */
    }
}

bool cli_terminal_take(const cli_terminal *terminal, pid_t group) {
    if (terminal->fd < 0 || tcgetpgrp(terminal->fd) != group) {
        return false;
    }
    (void)tcsetpgrp(terminal->fd, terminal->own_group); /* as above */
    return true;
}
