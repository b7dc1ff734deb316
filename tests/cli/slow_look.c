/*
 * Preloaded into zklock: its first look at the terminal tells what was true when it began, and
 * returns when zklock's group has the terminal. So a process looks that loses the processor between
 * its look and what it does then.
 */
#include <poll.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TRIES_MAX 10000

static pid_t Loaded; /* not the child that becomes CMD */
static bool HasLooked;

__attribute__((constructor)) static void remember(void) {
    Loaded = getpid();
}

static pid_t look(int fd) {
    pid_t group;
    return ioctl(fd, TIOCGPGRP, &group) == 0 ? group : -1;
}

pid_t tcgetpgrp(int fd) {
    static const char said[] = "looked\n";
    const pid_t seen = look(fd);
    if (HasLooked || getpid() != Loaded)
        return seen;
    HasLooked = true;
    (void)!write(STDERR_FILENO, said, sizeof(said) - 1);
    for (int i = 0; i < TRIES_MAX && look(fd) != getpgrp(); i++)
        (void)poll(NULL, 0, 1);
    return seen;
}
