/*
 * Whether a process group runs, for the guardian of zklock run: also where /proc does not show it.
 */
#include "cli/members.h"
#include "support/main.h"
#include "support/wait.h"

#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

/* Its first process is reaped by nobody. */
static void a_group_of_zombies_does_not_run(void) {
    int ends[2];
    char byte;
    REQUIRE_INT(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)setpgid(0, 0);
        close(ends[0]);
        (void)!write(ends[1], "", 1);
        (void)pause();
        _exit(0);
    }
    REQUIRE_INT(read(ends[0], &byte, 1), 1);
    CHECK(cli_members_run(child));
    REQUIRE_INT(kill(child, SIGKILL), 0);
    WAIT_UNTIL(!cli_members_run(child), SOON_MS);
    CHECK_INT(kill(-child, 0), 0); /* the zombie is still in it */
    CHECK_INT(waitpid(child, NULL, 0), child);
    CHECK(!cli_members_run(child));
    close(ends[0]);
    close(ends[1]);
}

/* ---- Where /proc does not show it ---- */

/* A process in the group; 0: in one of its own. */
static pid_t fork_member(pid_t group) {
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    (void)setpgid(pid, group);
    return pid;
}

enum {
    AS_CLAIMED = 0,
    NOT_POSSIBLE = 77
};

static int end_with(bool is_as_claimed) {
    return is_as_claimed ? AS_CLAIMED : 1;
}

static int end_member(pid_t member) {
    (void)kill(member, SIGKILL);
    (void)waitpid(member, NULL, 0);
    return end_with(!cli_members_run(member));
}

/* In a PID namespace of its own, with the /proc of the one around it. */
static int look_from_another_namespace(void) {
    pid_t member = fork_member(0);
    return cli_members_run(member) ? end_member(member) : 1;
}

/* A dead leader of a group, outside of the namespace. */
static pid_t Namesake;

/* It has the number of a group out there, of which /proc shows that it is dead. */
static int look_at_a_namesake(void) {
    const struct clone_args arguments = {
        .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&Namesake, .set_tid_size = 1};
    const long member = syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (member == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    if (member < 0 || setpgid((pid_t)member, 0) != 0)
        return NOT_POSSIBLE;
    return cli_members_run((pid_t)member) ? end_member((pid_t)member) : 1;
}

static int look_without_proc(void) {
    if (mount("none", "/proc", "tmpfs", 0, NULL) != 0)
        return NOT_POSSIBLE;
    return look_from_another_namespace();
}

/* The group 0 would see all that is hidden. */
static bool become_nobody(void) {
    return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
           setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

/* The one of the two that /proc shows is a zombie. */
static int look_with_hidden_processes(void) {
    pid_t hidden = fork_member(0), shown = fork();
    siginfo_t info;
    if (shown == 0) {
        if (setpgid(0, hidden) == 0 && become_nobody())
            (void)execl("/bin/true", "true", NULL); /* its user may not look at it before */
        _exit(1);
    }
    if (mount("proc", "/proc", "proc", 0, "hidepid=2") != 0 ||
        waitid(P_PID, (id_t)shown, &info, WEXITED | WNOWAIT) != 0 || info.si_status != 0 ||
        !become_nobody())
        return NOT_POSSIBLE;
    return end_with(cli_members_run(hidden));
}

/* Of a child that calls it. */
static int status_of_child(int (*call)(void)) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(call());
    REQUIRE_INT(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int (*Look)(void);

/* The first process of a PID namespace. The one that looks may be another user's. */
static int be_first(void) {
    return status_of_child(Look);
}

static int enter_namespaces(void) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return NOT_POSSIBLE;
    return status_of_child(be_first);
}

static void a_live_group_does_not_count_as_gone_where_proc_does_not_show_it(void) {
    static int (*const looks[])(void) = {look_from_another_namespace, look_at_a_namesake,
                                         look_without_proc, look_with_hidden_processes};
    Namesake = fork_member(0);
    (void)kill(Namesake, SIGKILL);
    for (size_t i = 0; i < COUNT(looks); i++) {
        Look = looks[i];
        int status = status_of_child(enter_namespaces);
        if (status == NOT_POSSIBLE)
            test_skip("no namespaces for us here");
        else
            CHECK_INT(status, AS_CLAIMED);
    }
    (void)waitpid(Namesake, NULL, 0);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a group of zombies does not run", a_group_of_zombies_does_not_run},
        {"a live group does not count as gone where /proc does not show it",
         a_live_group_does_not_count_as_gone_where_proc_does_not_show_it},
    };
    return TEST_MAIN(argc, argv, "members", cases);
}
