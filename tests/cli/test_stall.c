/* What zklock run says, without -v, of servers that answer and commit nothing. */
#include "support/client.h"
#include "support/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define THROTTLED (-127)

static const char *start_waiter(const char *hosts, const char *name, pid_t *ret_pid) {
    const char *path = scratch_fresh("stderr");
    /* It ends by itself if the test fails, and then keeps nothing of ours open. */
    char *const arguments[] = {
        "zklock",     "--hosts", (char *)hosts, "--root", (char *)fixture_root(),
        "--timeout",  "2",       "run",         "-w",     "30",
        (char *)name, "--",      "true",        NULL};
    posix_spawn_file_actions_t actions;

    REQUIRE_INT(posix_spawn_file_actions_init(&actions), 0);
    REQUIRE_INT(posix_spawn_file_actions_addopen(&actions, 2, path, O_WRONLY | O_CREAT, 0600), 0);
    REQUIRE_INT(posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0), 0);
    REQUIRE_INT(
        posix_spawn(ret_pid, ZKLOCK_BUILD_DIR "/zklock", &actions, NULL, arguments, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    return path;
}

/* Has the next heartbeat refused, if one was since the last call. Whether the waiter has told. */
static bool refuse_next_and_see(proxy *p, const char *path) {
    char text[4096] = "";

    if (proxy_fired(p))
        proxy_fail(p, PROXY_BARRIER, NULL, 1, THROTTLED);
    (void)scratch_read(path, text, sizeof(text) - 1);
    return strstr(text, "zklock: warning: connected, but no heartbeat") != NULL;
}

static void servers_that_commit_nothing_are_told_of(void) {
    const char *name = fresh_name("stall");
    char holder[RAW_PATH_MAX];
    proxy *p = proxy_new();
    int status = 0;
    pid_t pid;

    plant_contender(name, CURATOR, holder);
    /* From the first on: who has waited for the session timeout sends syncs, which are answered. */
    proxy_fail(p, PROXY_BARRIER, NULL, 1, THROTTLED);
    const char *path = start_waiter(proxy_hosts(p), name, &pid);
    WAIT_UNTIL(refuse_next_and_see(p, path), SOON_MS);
    uproot(holder); /* heartbeats are answered again */
    WAIT_UNTIL(waitpid(pid, &status, WNOHANG) == pid, SOON_MS);
    CHECK_INT(status, 0);
    proxy_close(p);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"servers that commit nothing are told of", servers_that_commit_nothing_are_told_of},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "stall", cases);
}
