/*
 * run --cgroup where the kernel has no cgroup.kill: all of the cgroup is killed all the same. The
 * rest of it is in tests/cli/test_cgroup.sh.
 */
#include "cli/cgroup.h"
#include "support/main.h"
#include "support/wait.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 3

/* Says that it runs, and goes on. Who reads what a failed test has printed must not wait for it. */
_Noreturn static void stay(int ready_fd) {
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    (void)setsid();
    (void)!write(ready_fd, "", 1);
    for (;;)
        (void)pause();
}

/* One process in the cgroup, a child of it in a session of its own, and one in a cgroup below. */
_Noreturn static void populate(const cli_cgroup *cgroup, const char *below, int ready_fd) {
    static cli_cgroup inner;
    if (cli_cgroup_join(cgroup) != 0)
        _exit(1);
    if (fork() == 0)
        stay(ready_fd);
    (void)snprintf(inner.procs, sizeof(inner.procs), "%.4000s/cgroup.procs", below);
    if (fork() == 0) {
        if (cli_cgroup_join(&inner) != 0)
            _exit(1);
        stay(ready_fd);
    }
    stay(ready_fd);
}

static bool is_empty_after_a_kill(const cli_cgroup *cgroup) {
    cli_cgroup_kill(cgroup);
    return !cli_cgroup_runs(cgroup);
}

static void without_cgroup_kill_all_of_it_is_killed(void) {
    static cli_cgroup cgroup;
    char below[PATH_MAX], byte;
    int ends[2], status = 0;
    if (!cli_cgroup_make(&cgroup, "a/b c")) {
        test_skip("no cgroup can be made here");
        return;
    }
    CHECK(strstr(cgroup.path, "/zklock-a_b_c-") != NULL);
    CHECK(cli_cgroup_try(&cgroup));
    CHECK(!cli_cgroup_runs(&cgroup));
    (void)snprintf(below, sizeof(below), "%.4000s/below", cgroup.path);
    REQUIRE_INT(mkdir(below, 0755), 0);
    REQUIRE_INT(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0)
        populate(&cgroup, below, ends[1]);
    close(ends[1]);
    for (int i = 0; i < PROCESSES; i++)
        REQUIRE_INT(read(ends[0], &byte, 1), 1);
    CHECK(cli_cgroup_runs(&cgroup));
    CHECK(!cli_cgroup_remove(&cgroup));
    cgroup.has_kill = false;
    WAIT_UNTIL(is_empty_after_a_kill(&cgroup), SOON_MS);
    CHECK_INT(read(ends[0], &byte, 1), 0); /* none has its end of the pipe any more */
    close(ends[0]);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK(cli_cgroup_remove(&cgroup));
    CHECK(!cli_cgroup_runs(&cgroup)); /* it is gone */
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"without cgroup.kill all of a cgroup is killed", without_cgroup_kill_all_of_it_is_killed},
    };
    return TEST_MAIN(argc, argv, "cgroup_old", cases);
}
