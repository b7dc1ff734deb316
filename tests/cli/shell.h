/* Runs the command as a shell would, for tests in C. */
#ifndef CLI_SHELL_H
#define CLI_SHELL_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "support/fixture.h"

#define OUTPUT_MAX 65536

static char Output[OUTPUT_MAX];

/* First thing in main: a server, and where the command finds it. */
static void shell_start(void) {
    const char *path = getenv("PATH");
    char searched[4096];
    (void)snprintf(searched, sizeof(searched), "%s:%s", ZKLOCK_BUILD_DIR, path ? path : "/bin");
    setenv("PATH", searched, 1);
    setenv("LC_ALL", "C", 1);
    fixture_start(NULL);
    setenv("ZKLOCK_HOSTS", server_hosts(), 1);
}

/* Runs a shell line ; its output to Output. The exit status. */
static int shell(const char *line) {
    FILE *pipe = popen(line, "r");
    REQUIRE(pipe != NULL);
    size_t length = fread(Output, 1, OUTPUT_MAX - 1, pipe);
    Output[length] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *command(const char *rest) {
    static char line[1024];
    (void)snprintf(line, sizeof(line), "zklock --root %s %s 2>&1", fixture_root(), rest);
    return line;
}

#endif
