/* many - see many.h. */
#include "sim/many.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 16

/* What a process tells at its end. */
struct outcome {
    struct figures figures;
    struct failure failures[CHECKERS];
};

static void note_failure(struct failure *failure, uint64_t count, uint64_t seed, const char *text) {
    if (failure->count == 0 || seed < failure->seed) {
        failure->seed = seed;
        memcpy(failure->text, text, sizeof(failure->text));
    }
    failure->count += count;
}

static uint64_t seed_under_way;

/* An assertion says where the library stopped; this says in which schedule. */
static void say_seed(int signo) {
    (void)fprintf(stderr, "simulate: schedule %" PRIu64 " ended in signal %d\n", seed_under_way,
                  signo);
    (void)signal(signo, SIG_DFL);
    (void)raise(signo);
}

static void work(int pipe_end, uint64_t first, uint64_t count, uint64_t step, const bool *until) {
    static struct outcome outcome;
    struct world *w = world_new();
    (void)signal(SIGABRT, say_seed);
    (void)signal(SIGSEGV, say_seed);
    for (uint64_t i = 0; i < count; i += step) {
        seed_under_way = first + i;
        if (schedule_run(w, first + i, false, &outcome.figures))
            continue;
        note_failure(&outcome.failures[w->checker], 1, first + i, w->violation);
        if (until != NULL && until[w->checker])
            break;
    }
    world_free(w);
    const char *at = (const char *)&outcome;
    for (size_t left = sizeof(outcome); left > 0;) {
        ssize_t written = write(pipe_end, at, left);
        if (written <= 0)
            _exit(EXIT_FAILURE);
        at += written;
        left -= (size_t)written;
    }
    _exit(EXIT_SUCCESS);
}

static bool read_outcome(int pipe_end, struct outcome *ret) {
    char *at = (char *)ret;
    size_t left = sizeof(*ret);
    while (left > 0) {
        ssize_t got = read(pipe_end, at, left);
        if (got <= 0)
            return false;
        at += got;
        left -= (size_t)got;
    }
    return true;
}

uint64_t many_run(uint64_t first, uint64_t count, const bool until[CHECKERS],
                  struct figures *ret_figures, struct failure ret_failures[CHECKERS]) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t processes = processors < 1               ? 1
                       : processors > PROCESSES_MAX ? PROCESSES_MAX
                                                    : (size_t)processors;
    int ends[PROCESSES_MAX];
    pid_t pids[PROCESSES_MAX];
    (void)fflush(NULL); /* or the children would print it again */
    for (size_t i = 0; i < processes; i++) {
        int pair[2];
        if (pipe(pair) != 0 || (pids[i] = fork()) < 0)
            abort();
        if (pids[i] == 0) {
            (void)close(pair[0]);
            work(pair[1], first + i, count > i ? count - i : 0, processes, until);
        }
        (void)close(pair[1]);
        ends[i] = pair[0];
    }
    uint64_t failed = 0;
    memset(ret_failures, 0, CHECKERS * sizeof(*ret_failures));
    for (size_t i = 0; i < processes; i++) {
        static struct outcome outcome;
        int status = 0;
        bool is_whole = read_outcome(ends[i], &outcome);
        if (waitpid(pids[i], &status, 0) != pids[i] || !is_whole || status != 0)
            abort(); /* it has said why */
        (void)close(ends[i]);
        figures_add(ret_figures, &outcome.figures);
        for (size_t k = 0; k < CHECKERS; k++) {
            const struct failure *f = &outcome.failures[k];
            failed += f->count;
            if (f->count > 0)
                note_failure(&ret_failures[k], f->count, f->seed, f->text);
        }
    }
    return failed;
}
