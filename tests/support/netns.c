/*
 * See netns.h. Two things make the namespaces private: a network namespace of our own, in which
 * the bridge is, and a mount namespace of our own, in which the names are that "ip netns" gives to
 * those of the servers. Both are inherited by whatever we start.
 */
#include "support/netns.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES "/run/netns" /* where "ip netns" looks */

static const char Script[] = ZKLOCK_SOURCE_DIR "/tests/support/netns.sh";
static char Isolated[2]; /* the number of the server as the script takes it, or "" */

static void die(const char *what) {
    fprintf(stderr, "test network: %s: %s\n", what, errno ? strerror(errno) : "failed");
    if (errno == EPERM)
        fprintf(stderr, "test network: this test must be run as root, and where root may\n");
    exit(EXIT_FAILURE);
}

static void run_script(const char *command, const char *a, const char *b) {
    const char *const arguments[] = {Script, command, a, b, NULL};
    int status = -1;
    pid_t pid;

    errno = posix_spawn(&pid, Script, NULL, NULL, (char *const *)arguments, environ);
    if (errno != 0)
        die(Script);
    if (waitpid(pid, &status, 0) != pid)
        die("waitpid");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        die(command);
}

void netns_enter(void) {
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0)
        die("cannot make namespaces");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        die("making mounts private");
    if (mkdir(NAMES, 0755) != 0 && errno != EEXIST)
        die(NAMES);
    if (mount("zklock-test", NAMES, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") != 0)
        die(NAMES);
    run_script("up", NULL, NULL);
}

const char *netns_hosts(unsigned server) {
    static const char *const hosts[NETNS_SERVERS] = {"10.0.0.1:2181", "10.0.0.2:2181",
                                                     "10.0.0.3:2181"};

    assert(server < NETNS_SERVERS);
    return hosts[server];
}

void netns_isolate(unsigned server, netns_cut cut) {
    assert(Isolated[0] == '\0' && server < NETNS_SERVERS);
    Isolated[0] = (char)('1' + server);
    run_script("isolate", cut == NETNS_SILENT ? "silent" : "told", Isolated);
}

void netns_darken(unsigned server) {
    assert(Isolated[0] == '\0' && server < NETNS_SERVERS);
    Isolated[0] = (char)('1' + server);
    run_script("darken", Isolated, NULL);
}

void netns_heal(void) {
    if (Isolated[0] == '\0')
        return;
    run_script("heal", Isolated, NULL);
    Isolated[0] = '\0';
}
