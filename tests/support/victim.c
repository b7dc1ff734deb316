/* See victim.h. The report is a file in memory, open in the child as its descriptor 3. */
#include "support/victim.h"
#include "support/wait.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_FD 3
#define FRAMES_MAX 64
#define ARGS_MAX 8

struct victim {
    pid_t pid;
    int report, output, status;
    int64_t started_ms;
    bool has_ended, was_killed;
};

/* ---- In the child ---- */

static uintptr_t Base; /* where the program is loaded */

static uintptr_t place_of(const void *address) {
    return address ? (uintptr_t)address - Base : 0;
}

static victim_report report_so_far(void) {
    return (victim_report){
        .asked = failing_asked(), .failed = failing_failed(), .caller = place_of(failing_caller())};
}

static void on_crash(int number) {
    static atomic_flag is_reported = ATOMIC_FLAG_INIT;
    victim_report report = report_so_far();
    void *frames[FRAMES_MAX];
    const int count = backtrace(frames, FRAMES_MAX);

    while (atomic_flag_test_and_set(&is_reported))
        (void)pause(); /* another thread has crashed, too, and ends us in a moment */
    report.signal = number;
    for (int i = 0; i < count && report.part == FAILING_NONE; i++) {
        report.part = failing_part_of(frames[i]);
        report.place = place_of(frames[i]);
    }
    if (pwrite(REPORT_FD, &report, sizeof(report), 0) < 0)
        _exit(127);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void victim_begin(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    struct sigaction action = {.sa_handler = on_crash};
    const struct rlimit no_core = {0, 0};
    void *frame;
    Dl_info info;

    if (dladdr(__builtin_return_address(0), &info) == 0)
        abort();
    Base = (uintptr_t)info.dli_fbase;
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)backtrace(&frame, 1); /* now it has loaded what it needs */
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        (void)sigaction(numbers[i], &action, NULL);
}

void victim_report_failures(void) {
    const victim_report report = report_so_far();

    if (pwrite(REPORT_FD, &report, sizeof(report), 0) != sizeof(report))
        abort();
}

/* ---- In the parent ---- */

victim *victim_start(const char *const *arguments) {
    char *argv[ARGS_MAX] = {(char *)(uintptr_t) "victim"};
    posix_spawn_file_actions_t actions;
    victim *v = calloc(1, sizeof(*v));

    for (size_t i = 0; i + 2 < ARGS_MAX && arguments[i]; i++)
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    if (!v || posix_spawn_file_actions_init(&actions) != 0)
        abort();
    v->report = memfd_create("report", MFD_CLOEXEC);
    v->output = memfd_create("output", MFD_CLOEXEC);
    v->started_ms = clock_ms();
    if (v->report < 0 || v->output < 0 ||
        posix_spawn_file_actions_adddup2(&actions, v->output, STDOUT_FILENO) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, v->output, STDERR_FILENO) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, v->report, REPORT_FD) != 0)
        abort();
    int error = posix_spawn(&v->pid, "/proc/self/exe", &actions, NULL, argv, environ);
    if (error) {
        fprintf(stderr, "victim: %s\n", strerror(error));
        abort();
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return v;
}

bool victim_has_ended(victim *v, int64_t limit_ms) {
    if (!v->has_ended)
        v->has_ended = waitpid(v->pid, &v->status, WNOHANG) == v->pid;
    if (!v->has_ended && !v->was_killed && clock_ms() - v->started_ms > limit_ms) {
        v->was_killed = true;
        (void)kill(v->pid, SIGKILL);
    }
    return v->has_ended;
}

int victim_end(victim *v, victim_report *ret_report, char *output, size_t size) {
    const off_t length = lseek(v->output, 0, SEEK_END);
    const off_t from = length > (off_t)size - 1 ? length - (off_t)size + 1 : 0;
    const ssize_t got = pread(v->output, output, size - 1, from);
    int status = WIFEXITED(v->status) ? WEXITSTATUS(v->status) : -1;

    output[got > 0 ? got : 0] = '\0';
    memset(ret_report, 0, sizeof(*ret_report));
    if (pread(v->report, ret_report, sizeof(*ret_report), 0) < 0)
        abort();
    if (v->was_killed)
        status = -2;
    (void)close(v->report);
    (void)close(v->output);
    free(v);
    return status;
}

void victim_name(uintptr_t place, char *buf, size_t size) {
    char command[128];

    /* A return address may be the first of the next function. */
    (void)snprintf(command, sizeof(command), "addr2line -f -e /proc/%ld/exe 0x%llx", (long)getpid(),
                   (unsigned long long)place - 1);
    FILE *answer = popen(command, "re");
    if (!answer || !fgets(buf, (int)size, answer))
        (void)snprintf(buf, size, "?");
    if (answer)
        (void)pclose(answer);
    buf[strcspn(buf, ".\n")] = '\0';
}
