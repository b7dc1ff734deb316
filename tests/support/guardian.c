/* See guardian.h. The guardian waits until the pipe from the program breaks. */
#include "support/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what) {
    fprintf(stderr, "guardian: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* A descriptor that stayed open here would keep a connection of the program's open. And the driver
 * waits until no process has its pipes. */
static void close_others(int pipe_end) {
    const int null = open("/dev/null", O_RDWR);

    for (int fd = 0; fd <= 2; fd++)
        (void)dup2(null, fd);
    (void)close_range(3, (unsigned)pipe_end - 1, 0);
    (void)close_range((unsigned)pipe_end + 1, ~0u, 0);
}

/* Runs in the guardian; never returns. */
static void guard(int pipe_end, void (*clean_up)(void)) {
    char byte;

    close_others(pipe_end);
    (void)setsid();
    while (read(pipe_end, &byte, 1) < 0 && errno == EINTR)
        continue;
    clean_up();
    _exit(0);
}

void guardian_start(void (*clean_up)(void)) {
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        die("pipe");
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        if (fork() == 0) {
            (void)close(ends[1]);
            guard(ends[0], clean_up);
        }
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
    (void)close(ends[0]); /* the other end stays open as long as the program lives */
}
