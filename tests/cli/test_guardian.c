/*
 * The guardian of zklock run: what becomes of CMD's process group, and of the lock, when the runner
 * is killed or stopped.
 *
 *     cli_guardian [--kills N] [--stops N] [FILTER]
 *
 * By default a few of each; the long form prints how long it took until the next holder ran.
 */
#include "cli/members.h"
#include "cli/number.h"
#include "support/client.h"
#include "support/proxy.h"
#include "support/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the runners' sessions: far more than what a busy machine takes for a hand-off by the guardian,
 * so that a hand-off by the timeout looks different. */
#define T_S "10"
#define HANDED_OFF_MS 5000
/* A stopped runner's: the test waits for it. */
#define T_STOPPED_S "4"
#define T_STOPPED_MS 4000
/* Of a runner whose session must not end by itself. */
#define T_LONG_S "20"
#define DEFAULT_KILLS 4
#define DEFAULT_STOPS 1

static char Self[PATH_MAX];
static int Kills = DEFAULT_KILLS, Stops = DEFAULT_STOPS;

/* ---- The processes under a lock ---- */

/* Appears as a whole. */
static void publish(const char *path, const char *text) {
    char fresh[PATH_MAX];
    (void)snprintf(fresh, sizeof(fresh), "%s.new", path);
    scratch_write(fresh, text, strlen(text));
    (void)rename(fresh, path);
}

static int number_in(const char *text) {
    int number = 0;
    (void)cli_number_whole(text, INT_MAX, &number);
    return number;
}

static void deafen(void) {
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
}

/* Does not end by itself, and says that it runs. */
_Noreturn static void stay(int ready_fd) {
    deafen();
    (void)!write(ready_fd, "", 1);
    close(ready_fd);
    for (;;)
        (void)pause();
}

/* CMD: a child, a grandchild whose parent has died, and itself, all of them deaf. */
_Noreturn static void be_victim(const char *path) {
    char text[32], ready[3];
    int ends[2];
    if (pipe(ends) != 0)
        _exit(1);
    if (fork() == 0)
        stay(ends[1]);
    pid_t parent = fork();
    if (parent == 0) {
        if (fork() == 0)
            stay(ends[1]);
        _exit(0);
    }
    deafen();
    (void)waitpid(parent, NULL, 0);
    for (size_t i = 0; i < 2; i++)
        (void)!read(ends[0], &ready[i], 1);
    (void)snprintf(text, sizeof(text), "%d", (int)getpgrp());
    publish(path, text);
    for (;;)
        (void)pause();
}

/* CMD: dies of SIGTERM, and leaves a child in its group that does not. */
_Noreturn static void be_leaver(const char *path) {
    char text[32], ready;
    int ends[2];
    if (pipe(ends) != 0)
        _exit(1);
    pid_t child = fork();
    if (child == 0)
        stay(ends[1]);
    (void)!read(ends[0], &ready, 1);
    (void)snprintf(text, sizeof(text), "%d", (int)child);
    publish(path, text);
    for (;;)
        (void)pause();
}

/* The next holder's CMD: when it began, and whether the one before was still there. */
static int be_witness(const char *path, const char *victim) {
    char text[64];
    (void)snprintf(text, sizeof(text), "%" PRId64 " %d", clock_ms(),
                   cli_members_run(number_in(victim)));
    publish(path, text);
    return 0;
}

/* ---- The runners ---- */

static pid_t start(const char *hosts, const char *timeout_s, const char *name,
                   const char *const *command) {
    char *arguments[24] = {
        "zklock",    "--hosts",         (char *)hosts, "--root", (char *)fixture_root(),
        "--timeout", (char *)timeout_s, "run",         "-q",     (char *)name,
        "--"};
    posix_spawn_file_actions_t actions;
    size_t count = 11;
    pid_t pid = 0;
    for (size_t i = 0; command[i] != NULL; i++)
        arguments[count++] = (char *)command[i];
    REQUIRE_INT(posix_spawn_file_actions_init(&actions), 0);
    REQUIRE_INT(posix_spawn_file_actions_addopen(&actions, 2, scratch_path("stderr"),
                                                 O_WRONLY | O_CREAT | O_APPEND, 0600),
                0);
    REQUIRE_INT(posix_spawn(&pid, ZKLOCK_BUILD_DIR "/zklock", &actions, NULL, arguments, environ),
                0);
    (void)posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static int status_of(pid_t runner) {
    int status = 0;
    WAIT_UNTIL(waitpid(runner, &status, WNOHANG) == runner, 2 * SOON_MS);
    return status;
}

static void check_lost(pid_t runner) {
    int status = status_of(runner);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 75);
}

static void kill_runner(pid_t runner) {
    REQUIRE_INT(kill(runner, SIGKILL), 0);
    CHECK(WIFSIGNALED(status_of(runner)));
}

static bool has_text(const char *path, char *text, size_t size) {
    text[0] = '\0';
    return access(path, R_OK) == 0 && scratch_read(path, text, size - 1) > 0;
}

/* Returns when it holds the lock, and all its processes are there. */
static pid_t start_victim(const char *hosts, const char *timeout_s, const char *name,
                          char ret_group[32]) {
    const char *path = scratch_fresh("victim");
    const char *const command[] = {Self, "--victim", path, NULL};
    memset(ret_group, 0, 32);
    pid_t runner = start(hosts, timeout_s, name, command);
    WAIT_UNTIL(has_text(path, ret_group, 32), SOON_MS);
    return runner;
}

static pid_t start_witness(const char *name, const char *group, const char *path) {
    const char *const command[] = {Self, "--witness", path, group, NULL};
    pid_t runner = start(server_hosts(), T_S, name, command);
    WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
    return runner;
}

/* When the next holder began; nothing of the one before runs then. */
static int64_t testify(pid_t witness, const char *path) {
    char text[64] = "";
    int64_t at_ms = 0;
    int others = -1;
    CHECK_INT(status_of(witness), 0);
    REQUIRE(has_text(path, text, sizeof(text)));
    REQUIRE_INT(sscanf(text, "%" SCNd64 " %d", &at_ms, &others), 2);
    CHECK_INT(others, 0);
    return at_ms;
}

/* ---- The guardian ---- */

/* The child of this process that is called so; 0: there is none. */
static pid_t guardian_of(pid_t runner) {
    pid_t found = 0;
    const struct dirent *entry;
    DIR *proc = opendir("/proc");
    REQUIRE(proc != NULL);
    while ((entry = readdir(proc)) != NULL) {
        char path[64], name[64];
        int pid, parent;
        (void)snprintf(path, sizeof(path), "/proc/%.20s/stat", entry->d_name);
        FILE *stat = fopen(path, "re");
        if (stat == NULL)
            continue; /* not a process, or gone since */
        if (fscanf(stat, "%d (%63[^)]) %*c %d", &pid, name, &parent) == 3 && parent == runner &&
            strcmp(name, "zklock-guardian") == 0)
            found = pid;
        (void)fclose(stat);
    }
    (void)closedir(proc);
    return found;
}

static size_t count_descriptors(pid_t pid, const char *target) {
    char path[64], link[96], to[PATH_MAX];
    size_t count = 0;
    const struct dirent *entry;
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    REQUIRE(directory != NULL);
    while ((entry = readdir(directory)) != NULL) {
        (void)snprintf(link, sizeof(link), "%s/%.20s", path, entry->d_name);
        ssize_t length = readlink(link, to, sizeof(to) - 1);
        if (length <= 0)
            continue;
        to[length] = '\0';
        count += strncmp(to, target, strlen(target)) == 0;
    }
    (void)closedir(directory);
    return count;
}

/* Who looks for the runner by its arguments does not find it. */
static void check_arguments(pid_t guardian) {
    char path[64], text[64] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)guardian);
    FILE *arguments = fopen(path, "re");
    REQUIRE(arguments != NULL);
    CHECK(fread(text, 1, sizeof(text) - 1, arguments) > 0);
    (void)fclose(arguments);
    CHECK_STRING(text, "zklock-guardian");
}

/* It has begun its watch. */
static bool is_ready(pid_t guardian) {
    return guardian != 0 && count_descriptors(guardian, "anon_inode:[timerfd]") == 1;
}

static pid_t ready_guardian_of(pid_t runner) {
    WAIT_UNTIL(is_ready(guardian_of(runner)), SOON_MS);
    return guardian_of(runner);
}

/* ---- Cases ---- */

static int compare(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void tell(const char *what, int64_t *values_ms, size_t count) {
    qsort(values_ms, count, sizeof(*values_ms), compare);
    test_note("%zu %s: median %" PRId64 ", 99th percentile %" PRId64 ", longest %" PRId64 " ms",
              count, what, values_ms[count / 2], values_ms[count * 99 / 100], values_ms[count - 1]);
}

static void repeat(int count, int64_t (*one)(void), const char *what) {
    int64_t *took_ms = calloc((size_t)count, sizeof(*took_ms));
    REQUIRE(took_ms != NULL);
    for (int i = 0; i < count; i++)
        took_ms[i] = one();
    tell(what, took_ms, (size_t)count);
    free(took_ms);
}

static int64_t kill_one(void) {
    char group[32];
    const char *name = fresh_name("killed"), *path = scratch_fresh("witness");
    pid_t runner = start_victim(server_hosts(), T_S, name, group);
    pid_t witness = start_witness(name, group, path);
    int64_t killed_ms = clock_ms();
    kill_runner(runner);
    int64_t took_ms = testify(witness, path) - killed_ms;
    CHECK_RANGE(took_ms, 0, HANDED_OFF_MS);
    return took_ms;
}

static void a_killed_runner_s_group_is_gone_and_the_next_holder_follows_at_once(void) {
    repeat(Kills, kill_one, "runners killed, until the next holder's CMD ran");
}

/* Nothing proves the session after the stop, so it can end T later. (The hold is certain for T/24
 * less; a busy machine may see late that the group has gone.) */
static int64_t stop_one(void) {
    char group[32];
    const char *name = fresh_name("stopped"), *path = scratch_fresh("witness");
    pid_t runner = start_victim(server_hosts(), T_STOPPED_S, name, group);
    pid_t witness = start_witness(name, group, path);
    int64_t stopped_ms = clock_ms();
    REQUIRE_INT(kill(runner, SIGSTOP), 0);
    WAIT_UNTIL(!cli_members_run(number_in(group)), SOON_MS);
    int64_t took_ms = clock_ms() - stopped_ms;
    CHECK_RANGE(took_ms, T_STOPPED_MS / 3, T_STOPPED_MS);
    CHECK_RANGE(testify(witness, path) - stopped_ms, took_ms, SOON_MS);
    REQUIRE_INT(kill(runner, SIGCONT), 0);
    check_lost(runner);
    return took_ms;
}

static void a_stopped_runner_s_group_is_gone_before_its_hold_ends(void) {
    repeat(Stops, stop_one,
           "runners stopped (T is " T_STOPPED_S " s), until their groups were gone");
}

static void a_killed_waiter_leaves_no_place_in_the_queue(void) {
    char holder[RAW_PATH_MAX];
    const char *name = fresh_name("queue");
    const char *const command[] = {"true", NULL};
    plant_contender(name, CURATOR, holder);
    pid_t runner = start(server_hosts(), T_S, name, command);
    WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
    kill_runner(runner);
    WAIT_UNTIL(queue_length(name) == 1, HANDED_OFF_MS);
    uproot(holder);
}

/* Its first session is over on the servers: it is the second that has to be ended. */
static void a_session_that_was_opened_again_is_ended_too(void) {
    char holder[RAW_PATH_MAX];
    const char *name = fresh_name("again");
    const char *const command[] = {"true", NULL};
    proxy *p = proxy_new();
    plant_contender(name, CURATOR, holder);
    pid_t runner = start(proxy_hosts(p), T_STOPPED_S, name, command);
    WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
    proxy_refuse(p, true);
    proxy_drop(p);
    WAIT_UNTIL(queue_length(name) == 1, 2 * SOON_MS);
    proxy_refuse(p, false);
    WAIT_UNTIL(queue_length(name) == 2, 2 * SOON_MS);
    kill_runner(runner);
    WAIT_UNTIL(queue_length(name) == 1, T_STOPPED_MS / 2);
    uproot(holder);
    proxy_close(p);
}

/* A terminal that is closed, a service that is stopped, and `pkill zklock` reach the runner, too,
 * which forwards what it gets: nothing is left for the guardian to do. */
static void no_signal_but_sigkill_ends_the_guardian(void) {
    static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE};
    char group[32];
    const char *name = fresh_name("signals"), *path = scratch_fresh("witness");
    pid_t runner = start_victim(server_hosts(), T_S, name, group);
    pid_t guardian = ready_guardian_of(runner);
    CHECK_INT(getsid(guardian), guardian); /* it has no terminal to lose */
    check_arguments(guardian);
    for (size_t i = 0; i < COUNT(signals); i++)
        CHECK_INT(kill(guardian, signals[i]), 0);
    pid_t witness = start_witness(name, group, path);
    int64_t killed_ms = clock_ms();
    kill_runner(runner);
    CHECK_RANGE(testify(witness, path) - killed_ms, 0, HANDED_OFF_MS);
}

static void a_guardian_holds_nothing_open_and_ends_with_its_runner(void) {
    char group[32];
    const char *name = fresh_name("clean");
    pid_t runner = start_victim(server_hosts(), T_S, name, group);
    pid_t guardian = ready_guardian_of(runner);
    CHECK_INT(count_descriptors(guardian, ""), 5);
    CHECK_INT(count_descriptors(guardian, "/dev/null"), 3);
    CHECK_INT(count_descriptors(guardian, "pipe:"), 1);
    CHECK_INT(count_descriptors(guardian, "anon_inode:[timerfd]"), 1);
    REQUIRE_INT(kill(-number_in(group), SIGKILL), 0);
    int status = status_of(runner);
    CHECK_INT(WEXITSTATUS(status), 128 + SIGKILL);
    CHECK_INT(kill(guardian, 0), -1);
    CHECK_INT(queue_length(name), 0);
}

/* The runner goes on: it has its own eye on the hold. */
static void a_runner_survives_its_guardian(void) {
    char group[32];
    const char *name = fresh_name("alone");
    pid_t runner = start_victim(server_hosts(), T_S, name, group);
    REQUIRE_INT(kill(ready_guardian_of(runner), SIGKILL), 0);
    REQUIRE_INT(kill(-number_in(group), SIGKILL), 0);
    CHECK_INT(WEXITSTATUS(status_of(runner)), 128 + SIGKILL);
    CHECK_INT(queue_length(name), 0);
}

/* No server has confirmed that the hold is over, so the guardian stays and sees to it. */
static void a_session_whose_end_is_not_confirmed_is_ended_by_the_guardian(void) {
    char group[32];
    const char *name = fresh_name("unsure");
    proxy *p = proxy_new();
    pid_t runner = start_victim(proxy_hosts(p), T_LONG_S, name, group);
    proxy_refuse(p, true);
    proxy_drop(p);
    int64_t cut_ms = clock_ms();
    REQUIRE_INT(kill(-number_in(group), SIGKILL), 0);
    CHECK_INT(WEXITSTATUS(status_of(runner)), 128 + SIGKILL);
    CHECK_INT(queue_length(name), 1);
    proxy_refuse(p, false);
    WAIT_UNTIL(queue_length(name) == 0, 2 * SOON_MS);
    CHECK_RANGE(clock_ms() - cut_ms, 0, SOON_MS);
    proxy_close(p);
}

/* A process with this number, which leads a group; 0 with errno: the number is in use. */
static pid_t fork_as(pid_t number) {
    const struct clone_args arguments = {
        .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1};
    long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (pid == 0) {
        (void)setpgid(0, 0);
        for (;;)
            (void)pause();
    }
    return pid < 0 ? 0 : (pid_t)pid;
}

/* Not one that is dead, reaped or not. */
static bool process_runs(pid_t pid) {
    char path[64], state = 'X';
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *stat = fopen(path, "re");
    if (stat != NULL) {
        (void)!fscanf(stat, "%*d (%*[^)]) %c", &state);
        (void)fclose(stat);
    }
    return state != 'Z' && state != 'X';
}

/* The end of CMD is no news to the runner any more. */
static bool has_heard(pid_t runner, pid_t command) {
    char path[64], line[128];
    unsigned long long pending = ~0ULL;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)runner);
    FILE *status = fopen(path, "re");
    REQUIRE(status != NULL);
    while (fgets(line, sizeof(line), status) != NULL)
        if (sscanf(line, "ShdPnd: %llx", &pending) == 1)
            break;
    (void)fclose(status);
    return !process_runs(command) && (pending & (1ULL << (SIGCHLD - 1))) == 0;
}

/* In the stage after SIGTERM the guardian has still to end what is left of the group. That may be
 * gone by itself before the guardian's time comes, and the number another group's. */
static void a_group_with_the_number_of_the_one_that_has_gone_is_left_alone(void) {
    char text[32] = "";
    const char *name = fresh_name("number"), *path = scratch_fresh("leaver");
    const char *const command[] = {Self, "--leaver", path, NULL};
    proxy *p = proxy_new();
    REQUIRE_INT(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* we reap what the leader leaves */
    pid_t runner = start(proxy_hosts(p), T_STOPPED_S, name, command);
    WAIT_UNTIL(has_text(path, text, sizeof(text)), SOON_MS);
    pid_t child = number_in(text), group = getpgid(child);
    proxy_refuse(p, true);
    proxy_drop(p);
    WAIT_UNTIL(has_heard(runner, group), SOON_MS);
    int64_t stopped_ms = clock_ms();
    REQUIRE_INT(kill(runner, SIGSTOP), 0);
    REQUIRE_INT(kill(child, SIGKILL), 0);
    REQUIRE_INT(waitpid(child, NULL, 0), child);
    pid_t other = fork_as(group);
    if (other != 0) {
        WAIT_UNTIL(!process_runs(other) || clock_ms() - stopped_ms > T_STOPPED_MS, SOON_MS);
        CHECK(process_runs(other));
        (void)kill(other, SIGKILL); /* dead or not, it is ours */
        (void)waitpid(other, NULL, 0);
    } else if (errno == EEXIST) {
        test_note("the number of the group stays in use");
    } else {
        test_skip("no process can be given a number here");
    }
    REQUIRE_INT(kill(runner, SIGCONT), 0);
    check_lost(runner);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
    proxy_close(p);
}

/* Takes options from the front. */
static void take_options(int *argc, char **argv) {
    while (*argc > 2 && strncmp(argv[1], "--", 2) == 0) {
        int count = number_in(argv[2]);
        *(strcmp(argv[1], "--kills") == 0 ? &Kills : &Stops) = count > 0 ? count : 1;
        memmove(argv + 1, argv + 3, (size_t)(*argc - 2) * sizeof(*argv));
        *argc -= 2;
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a killed runner's group is gone, and the next holder follows at once",
         a_killed_runner_s_group_is_gone_and_the_next_holder_follows_at_once},
        {"a stopped runner's group is gone before its hold ends",
         a_stopped_runner_s_group_is_gone_before_its_hold_ends},
        {"a killed waiter leaves no place in the queue",
         a_killed_waiter_leaves_no_place_in_the_queue},
        {"a session that was opened again is ended, too",
         a_session_that_was_opened_again_is_ended_too},
        {"no signal but SIGKILL ends the guardian", no_signal_but_sigkill_ends_the_guardian},
        {"a guardian holds nothing open and ends with its runner",
         a_guardian_holds_nothing_open_and_ends_with_its_runner},
        {"a runner survives its guardian", a_runner_survives_its_guardian},
        {"a session whose end is not confirmed is ended by the guardian",
         a_session_whose_end_is_not_confirmed_is_ended_by_the_guardian},
        {"a group with the number of the one that has gone is left alone",
         a_group_with_the_number_of_the_one_that_has_gone_is_left_alone},
    };
    if (argc == 3 && strcmp(argv[1], "--victim") == 0)
        be_victim(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--leaver") == 0)
        be_leaver(argv[2]);
    if (argc == 4 && strcmp(argv[1], "--witness") == 0)
        return be_witness(argv[2], argv[3]);
    if (readlink("/proc/self/exe", Self, sizeof(Self) - 1) <= 0)
        return 1;
    take_options(&argc, argv);
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "guardian", cases);
}
