/* many - see many.h. */
#include "sim/many.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 16
#define FAILURES_MAX 8

/* What a process tells at its end. */
struct outcome {
    struct figures figures;
    uint64_t failed;
    struct failure failures[FAILURES_MAX];
};

static void work(int pipe_end, uint64_t first, uint64_t count, uint64_t step, bool stop_at_first) {
    static struct outcome outcome;
    struct world *w = world_new();
    for (uint64_t i = 0; i < count; i += step) {
        if (schedule_run(w, first + i, false, &outcome.figures))
            continue;
        if (outcome.failed < FAILURES_MAX) {
            struct failure *failure = &outcome.failures[outcome.failed];
            failure->seed = first + i;
            failure->checker = w->checker;
            memcpy(failure->text, w->violation, sizeof(failure->text));
        }
        outcome.failed++;
        if (stop_at_first)
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

static int by_seed(const void *a, const void *b) {
    uint64_t x = ((const struct failure *)a)->seed, y = ((const struct failure *)b)->seed;
    return x < y ? -1 : x > y;
}

uint64_t many_run(uint64_t first, uint64_t count, bool stop_at_first, struct figures *ret_figures,
                  struct failure *ret_failures, size_t failures_max) {
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
            work(pair[1], first + i, count > i ? count - i : 0, processes, stop_at_first);
        }
        (void)close(pair[1]);
        ends[i] = pair[0];
    }
    static struct failure all[PROCESSES_MAX * FAILURES_MAX];
    size_t kept = 0;
    uint64_t failed = 0;
    for (size_t i = 0; i < processes; i++) {
        static struct outcome outcome;
        int status = 0;
        bool is_whole = read_outcome(ends[i], &outcome);
        if (waitpid(pids[i], &status, 0) != pids[i] || !is_whole || status != 0)
            abort(); /* it has said why */
        (void)close(ends[i]);
        figures_add(ret_figures, &outcome.figures);
        failed += outcome.failed;
        for (uint64_t k = 0; k < outcome.failed && k < FAILURES_MAX; k++)
            all[kept++] = outcome.failures[k];
    }
    qsort(all, kept, sizeof(all[0]), by_seed);
    for (size_t i = 0; i < kept && i < failures_max; i++)
        ret_failures[i] = all[i];
    return failed;
}
