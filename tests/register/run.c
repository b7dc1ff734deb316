/* See run.h. */
#include "register/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "register/verdict.h"
#include "register/worker.h"
#include "support/fixture.h"
#include "support/random.h"
#include "support/scratch.h"
#include "support/subset.h"

#define KINDS 6
#define SHORT_KINDS 3 /* the first, of which late writes are wanted */
#define WORKERS_A_KIND 3
#define SLOT_WORKERS (2 * WORKER_SLOTS)
#define GROUP_WORKERS 5
#define ONE_LOCK_WORKERS (KINDS * WORKERS_A_KIND)
#define WORKERS (ONE_LOCK_WORKERS + SLOT_WORKERS + GROUP_WORKERS)
/* Of the groups, too. */
#define REGISTERS (KINDS + SUBSET_LOCKS)
/* How long a writer that has stopped at its worst moment waits for another to write. */
#define OVERTAKEN_LEASES 10
#define OVERTAKEN_MIN 2
#define END_MS 20000

static const char Kinds[KINDS] = {KIND_LOCK, KIND_FENCE,  KIND_GUARD,
                                  KIND_LONG, KIND_LONG_2, KIND_LONG_3};

enum state {
    RUNNING,
    ASKED,  /* to stop itself at its next write */
    STOPPED /* since since_ns */
};

struct worker {
    char kind;
    pid_t pid; /* 0: none */
    int64_t process;
    proxy *proxy; /* NULL: it talks to the servers itself */
    enum state state;
    bool was_asked, is_early;
    int64_t since_ns, until_ns;
    off_t seen;              /* of the history, for who holds the lock next */
    int64_t value;           /* of the register, when it stopped, or when that could be read */
    int64_t silent_until_ns; /* 0: it is not */
};

static struct {
    const run_plan *plan;
    struct worker workers[WORKERS];
    raw *reader;
    char directory[200];
    int history, files[REGISTERS];
    int64_t processes;
    uint64_t random;
    bool is_ending;
    size_t overtaken[KINDS]; /* stopped before their write, until another had written */
    size_t kills, stops, asked, asks, early, cuts, silences, expiries, unexpected;
} Run;

/* ---- Small things ---- */

static uint64_t draw(uint64_t below) {
    return random_draw(&Run.random, below);
}

/* What a lease cannot last longer than. */
static int64_t lease_ns(void) {
    return Run.plan->session_ms * NS_PER_MS;
}

/* So many tenths of the lease. */
static int64_t lease_tenths(uint64_t from, uint64_t to) {
    return (int64_t)(from + draw(to - from)) * lease_ns() / 10;
}

static void note(char what, const struct worker *w, int64_t ns) {
    char line[100];
    const int length = snprintf(line, sizeof(line), "%c %" PRId64 " %" PRId64 "\n", what,
                                w->process, ns);

    REQUIRE(write(Run.history, line, (size_t)length) == length);
}

static char register_of(size_t i) {
    return i < KINDS ? Kinds[i] : worker_group_register(i - KINDS);
}

/* REGISTERS: there is none. */
static size_t register_index(char reg) {
    size_t i = 0;

    while (i < REGISTERS && register_of(i) != reg)
        i++;
    return i;
}

/* -1: nobody can tell now. */
static int64_t value_of(char kind) {
    if (kind == KIND_GUARD && Run.plan->breaker && !breaker_rests())
        return -1; /* asking would take its time */
    if (kind == KIND_GUARD)
        return worker_znode_read(&Run.reader, server_hosts(), fixture_root());
    const size_t i = register_index(kind);
    return i < REGISTERS ? worker_file_read(Run.files[i]) : -1; /* it has none, or ten */
}

/* ---- Workers ---- */

/* Signals for it wait until it has said what it does about them. */
static void spawn(struct worker *w) {
    posix_spawnattr_t attributes;
    sigset_t blocked;
    char kind[2] = {w->kind, '\0'}, process[24], timeout[24], parent[24];
    char *argv[] = {"/proc/self/exe",
                    "--worker",
                    kind,
                    process,
                    (char *)(w->proxy ? proxy_hosts(w->proxy) : server_hosts()),
                    (char *)server_hosts(),
                    (char *)fixture_root(),
                    Run.directory,
                    timeout,
                    parent,
                    NULL};

    w->process = ++Run.processes;
    w->state = RUNNING;
    (void)snprintf(process, sizeof(process), "%" PRId64, w->process);
    (void)snprintf(timeout, sizeof(timeout), "%d", Run.plan->session_ms);
    (void)snprintf(parent, sizeof(parent), "%ld", (long)getpid());
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGTERM);
    (void)sigaddset(&blocked, SIGUSR1);
    REQUIRE(posix_spawnattr_init(&attributes) == 0 &&
            posix_spawnattr_setsigmask(&attributes, &blocked) == 0 &&
            posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK) == 0);
    REQUIRE_INT(posix_spawn(&w->pid, argv[0], NULL, &attributes, argv, environ), 0);
    (void)posix_spawnattr_destroy(&attributes);
}

static void worker_ended(struct worker *w, int status) {
    w->pid = 0;
    if (Run.is_ending && status == 0)
        return;
    test_note("worker %" PRId64 " ended by itself: status %x", w->process, (unsigned)status);
    Run.unexpected++;
}

static void look_after(struct worker *w) {
    int status;
    const pid_t pid = w->pid ? waitpid(w->pid, &status, WNOHANG | WUNTRACED) : 0;

    if (pid == 0)
        return;
    if (!WIFSTOPPED(status)) {
        worker_ended(w, status);
        return;
    }
    w->since_ns = clock_ns();
    note('s', w, w->since_ns);
    w->was_asked = w->state == ASKED && w->kind != KIND_GROUP;
    w->value = value_of(w->kind);
    w->is_early = draw(2);
    w->seen = lseek(Run.history, 0, SEEK_END);
    w->until_ns = w->since_ns + lease_tenths(12, 30);
    w->state = STOPPED;
    Run.stops++;
    Run.asked += w->was_asked;
}

/* Whether another holds the lock since this one has stopped, and is about to read. */
static bool is_succeeded(struct worker *w) {
    char lines[4096], *at = lines;
    const ssize_t got = pread(Run.history, lines, sizeof(lines) - 1, w->seen);
    bool is_found = false;

    lines[got > 0 ? got : 0] = '\0';
    for (char *line_end; !is_found && (line_end = strchr(at, '\n')); at = line_end + 1) {
        int64_t op;
        char kind;

        is_found = sscanf(at, "i %" SCNd64 " %c", &op, &kind) == 2 && kind == w->kind;
    }
    w->seen += at - lines;
    return is_found;
}

/*
 * A writer that was asked goes on when another has written: then its write is too late for sure. Or
 * it goes on early: when another is about to read, so that its write may come between that one's
 * read and write.
 */
static void wake_if_due(struct worker *w, int64_t now) {
    if (w->state != STOPPED)
        return;
    int64_t value = value_of(w->kind);
    bool is_overtaken = w->value >= 0 && value >= 0 && value != w->value;
    if (w->value < 0)
        w->value = value;
    bool is_due = now >= w->until_ns;
    if (w->was_asked && w->is_early && now < w->since_ns + OVERTAKEN_LEASES * lease_ns())
        is_due = is_succeeded(w);
    else if (w->was_asked && now < w->since_ns + OVERTAKEN_LEASES * lease_ns())
        is_due = is_due && is_overtaken;
    if (!is_due)
        return;
    if (w->was_asked && is_overtaken)
        Run.overtaken[register_index(w->kind)]++;
    Run.early += w->was_asked && w->is_early && !is_overtaken;
    note('c', w, clock_ns());
    w->state = RUNNING;
    REQUIRE_INT(kill(w->pid, SIGCONT), 0);
}

static void end_silence_if_due(struct worker *w, int64_t now) {
    if (w->silent_until_ns == 0 || now < w->silent_until_ns)
        return;
    proxy_hold(w->proxy, PROXY_BOTH, false);
    /* A rule that has not fired is replaced by one that never will. */
    proxy_rule(w->proxy, PROXY_CUT_REPLY, PROXY_MULTI, "?", 1, false);
    proxy_refuse(w->proxy, false);
    w->silent_until_ns = 0;
}

/* ---- Faults ---- */

static void kill_worker(struct worker *w) {
    int status;

    REQUIRE_INT(kill(w->pid, SIGKILL), 0);
    REQUIRE_INT(waitpid(w->pid, &status, 0), w->pid);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
        worker_ended(w, status);
        return;
    }
    /* One that was stopped has done nothing since. */
    note('k', w, w->state == STOPPED ? w->since_ns : clock_ns());
    Run.kills++;
    spawn(w);
}

static void stop_worker(struct worker *w) {
    if (w->state == RUNNING)
        REQUIRE_INT(kill(w->pid, SIGSTOP), 0);
}

static bool lacks_late_writes(size_t kind) {
    return Run.plan->stops > 0 && !worker_is_long(Kinds[kind]) &&
           Run.overtaken[kind] < OVERTAKEN_MIN;
}

/* Has one of each kind in turn stop itself at the worst moment; towards the end only of those kinds
 * of which late writes are wanted still. One of a group stops for some time only. */
static void stop_before_write(bool is_end) {
    size_t kind = Run.asks++ % (SHORT_KINDS + 1), number;

    for (size_t i = 0; is_end && i <= SHORT_KINDS && !lacks_late_writes(kind); i++)
        kind = (kind + 1) % (SHORT_KINDS + 1);
    if (kind < SHORT_KINDS)
        number = kind + KINDS * draw(WORKERS_A_KIND);
    else
        number = WORKERS - 1 - draw(GROUP_WORKERS);
    struct worker *w = &Run.workers[number];
    if (w->pid == 0 || w->state != RUNNING)
        return;
    w->state = ASKED;
    REQUIRE_INT(kill(w->pid, SIGUSR1), 0);
}

/* A guarded write whose reply is lost, and sometimes nobody to ask until the lease is over. */
static void cut_reply(struct worker *w) {
    const bool for_long = draw(2);

    proxy_rule(w->proxy, PROXY_CUT_REPLY, PROXY_MULTI, NULL, 1, for_long);
    if (for_long)
        w->silent_until_ns = clock_ns() + lease_tenths(20, 40);
}

static void cut_worker(struct worker *w) {
    if (!w->proxy)
        return;
    Run.cuts++;
    if (w->kind == KIND_GUARD && w->silent_until_ns == 0 && draw(2))
        cut_reply(w);
    else
        proxy_drop(w->proxy);
}

static void silence_worker(struct worker *w) {
    if (!w->proxy || w->silent_until_ns != 0)
        return;
    proxy_hold(w->proxy, PROXY_BOTH, true);
    w->silent_until_ns = clock_ns() + lease_tenths(15, 30);
    Run.silences++;
}

/* Somebody ends its session before its time, against which the lock alone can do nothing. */
static void expire_worker(struct worker *w) {
    struct worker_session session;

    if (w->kind == KIND_LOCK || worker_is_long(w->kind) || (Run.plan->breaker && !breaker_rests()))
        return;
    int fd = open(worker_session_path(Run.directory, w->process), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return; /* it has not held yet */
    if (pread(fd, &session, sizeof(session), 0) == sizeof(session)) {
        note('e', w, clock_ns());
        if (raw_expire(server_hosts(), session.id, session.password)) {
            note('x', w, clock_ns() + lease_ns());
            Run.expiries++;
        }
    }
    (void)close(fd);
}

static bool is_about_to_be_late(const struct worker *w) {
    return w->state == ASKED || (w->state == STOPPED && w->was_asked);
}

static void fault(void) {
    struct worker *w = &Run.workers[draw(WORKERS)];
    const bool enough = (long)Run.kills >= Run.plan->kills && (long)Run.stops < Run.plan->stops;
    const bool is_end = (long)Run.kills >= Run.plan->kills && (long)Run.stops >= Run.plan->stops;
    const uint64_t what = draw(20);

    if (w->pid == 0)
        return;
    if (what < 5 && is_end) {
        stop_before_write(true);
    } else if (what < 10 && !enough) {
        /* A late write is worth more than one more that never was. */
        if (!is_about_to_be_late(w) || draw(8) == 0)
            kill_worker(w);
    } else if (what < 11 || (enough && what < 5)) {
        stop_worker(w);
    } else if (what < 14) {
        stop_before_write(is_end);
    } else if (what < 17) {
        cut_worker(w);
    } else if (what < 18) {
        silence_worker(w);
    } else {
        expire_worker(w);
    }
}

/* ---- The run ---- */

static char kind_of(size_t worker) {
    if (worker < ONE_LOCK_WORKERS)
        return Kinds[worker % KINDS];
    return worker < ONE_LOCK_WORKERS + SLOT_WORKERS ? KIND_SLOT : KIND_GROUP;
}

static void begin(void) {
    char text[WORKER_VALUE_SIZE + 1];

    Run.random = Run.plan->seed ? Run.plan->seed : 1;
    (void)snprintf(Run.directory, sizeof(Run.directory), "%s", scratch_directory());
    scratch_write(worker_history_path(Run.directory), "", 0);
    Run.history = open(worker_history_path(Run.directory), O_RDWR | O_APPEND | O_CLOEXEC);
    REQUIRE(Run.history >= 0);
    worker_value_format(text, 0);
    REQUIRE_INT(raw_create(fixture_raw(), worker_znode(fixture_root()), text, WORKER_VALUE_SIZE,
                           RAW_PERSISTENT, NULL),
                RAW_OK);
    REQUIRE_INT(
        raw_create(fixture_raw(), worker_barrier(fixture_root()), "", 0, RAW_PERSISTENT, NULL),
        RAW_OK);
    Run.reader = raw_open(server_hosts(), WORKER_READER_MS);
    for (size_t i = 0; i < REGISTERS; i++) {
        const char *path = worker_register_path(Run.directory, register_of(i));

        scratch_write(path, text, WORKER_VALUE_SIZE);
        Run.files[i] = open(path, O_RDONLY | O_CLOEXEC);
        REQUIRE(Run.files[i] >= 0);
    }
    for (size_t i = 0; i < WORKERS; i++) {
        Run.workers[i].kind = kind_of(i);
        Run.workers[i].proxy = Run.plan->has_proxies ? proxy_new() : NULL;
        spawn(&Run.workers[i]);
    }
    if (Run.plan->breaker)
        breaker_begin(Run.plan->breaker, Run.random);
}

/* What was asked for; with stops also of each kind a few writes that were surely too late. */
static bool has_enough(void) {
    bool is_enough = (long)Run.kills >= Run.plan->kills && (long)Run.stops >= Run.plan->stops;
    size_t strokes = 0;

    for (size_t i = 0; i < KINDS; i++)
        is_enough = is_enough && !lacks_late_writes(i);
    if (Run.plan->breaker)
        (void)breaker_strokes(&strokes);
    return is_enough && strokes >= Run.plan->strokes;
}

static void rest(void) {
    (void)poll(NULL, 0, 5);
}

/* What is due, other than faults. */
static void go_on(void) {
    for (size_t i = 0; i < WORKERS; i++) {
        look_after(&Run.workers[i]);
        wake_if_due(&Run.workers[i], clock_ns());
        end_silence_if_due(&Run.workers[i], clock_ns());
    }
}

static void run(void) {
    const int64_t start = clock_ms();
    /* A machine that has other things to do may take twice as long, and then some. */
    const int64_t end_max = start + 2000 * Run.plan->seconds + 2000 * Run.plan->kills +
                            5000 * Run.plan->stops;
    int64_t next_fault = start + 2 * Run.plan->session_ms, now = start;

    while (now < end_max && Run.unexpected == 0 &&
           (now < start + 1000 * Run.plan->seconds || !has_enough())) {
        rest();
        now = clock_ms();
        go_on();
        if (now >= next_fault) {
            fault();
            next_fault = now + Run.plan->fault_every_ms +
                         (int64_t)draw(2 * (uint64_t)Run.plan->fault_every_ms);
        }
        if (Run.plan->breaker)
            breaker_step();
    }
    test_note("%.1f s of faults%s", (double)(now - start) / 1000,
              has_enough() ? "" : ", and not enough of them");
}

/* Whether each lock has been granted since the history had that length. */
static bool all_are_granted(off_t *at, bool granted[REGISTERS]) {
    char lines[1 << 16];
    const ssize_t got = pread(Run.history, lines, sizeof(lines) - 1, *at);
    size_t count = 0;
    char *line = lines;

    lines[got > 0 ? got : 0] = '\0';
    for (char *line_end; (line_end = strchr(line, '\n')); line = line_end + 1) {
        int64_t op;
        char kind;

        if (sscanf(line, "i %" SCNd64 " %c", &op, &kind) == 2)
            granted[register_index(kind)] = true;
    }
    *at += line - lines;
    for (size_t i = 0; i < REGISTERS; i++)
        count += granted[i];
    return count == REGISTERS;
}

/* Without any more faults every lock is granted again: as soon as the dead have lost theirs, and
 * the stopped have gone on. */
static void check_life(void) {
    off_t at = lseek(Run.history, 0, SEEK_END);
    bool granted[REGISTERS] = {false};

    WAIT_UNTIL((go_on(), all_are_granted(&at, granted)),
               (OVERTAKEN_LEASES + 5) * Run.plan->session_ms + SOON_MS);
}

/* All go on, and come to their end. */
static void end(void) {
    size_t left = WORKERS;

    if (Run.plan->breaker)
        breaker_end();
    check_life();
    int64_t deadline = clock_ms() + END_MS;
    Run.is_ending = true;
    for (size_t i = 0; i < WORKERS; i++) {
        end_silence_if_due(&Run.workers[i], INT64_MAX);
        if (Run.workers[i].pid != 0)
            REQUIRE_INT(kill(Run.workers[i].pid, SIGTERM), 0);
    }
    while (left > 0 && clock_ms() < deadline) {
        rest();
        left = 0;
        for (size_t i = 0; i < WORKERS; i++) {
            look_after(&Run.workers[i]);
            wake_if_due(&Run.workers[i], INT64_MAX);
            left += Run.workers[i].pid != 0;
        }
    }
    CHECK_INT(left, 0);
    for (size_t i = 0; i < WORKERS; i++) {
        if (Run.workers[i].pid != 0)
            kill_worker(&Run.workers[i]);
        if (Run.workers[i].proxy)
            proxy_close(Run.workers[i].proxy);
    }
}

/* A listing that failed is not an empty one. */
static bool is_empty(raw *r, const char *directory) {
    const bool is = raw_child_count(r, directory) == 0;

    return is && raw_set(r, worker_barrier(fixture_root()), "", 0) == RAW_OK;
}

/* Nodes of those that were killed stay for as long as their sessions. */
static void check_nothing_is_left(void) {
    raw *r = raw_open(server_hosts(), WORKER_READER_MS);

    REQUIRE(r != NULL);
    for (size_t i = 0; i < REGISTERS; i++)
        WAIT_UNTIL(is_empty(r, lock_dir(worker_lock(register_of(i)))),
                   2 * Run.plan->session_ms + SOON_MS);
    WAIT_UNTIL(is_empty(r, lock_dir(worker_lock(KIND_SLOT))), 2 * Run.plan->session_ms + SOON_MS);
    raw_close(r);
}

/* ---- The verdict ---- */

static void judge(history *h, char kind, const char *name) {
    int64_t final;

    /* The reader may have to find a server first. */
    WAIT_UNTIL((final = value_of(kind)) >= 0, 2 * SOON_MS);
    verdict_of(h, Run.directory, kind, name, final, Run.plan->stops > 0);
}

static void report(void) {
    size_t overtaken = 0;

    for (size_t i = 0; i < KINDS; i++)
        overtaken += Run.overtaken[i];
    test_note("%zu kills, %zu stops (%zu before a write, %zu of these until another had "
              "written, %zu until another was to read), %zu cuts, "
              "%zu silences and %zu ends of a session; %" PRId64 " processes, seed %" PRIu64,
              Run.kills, Run.stops, Run.asked, overtaken, Run.early, Run.cuts, Run.silences,
              Run.expiries, Run.processes, Run.plan->seed);
}

void run_register(const run_plan *plan) {
    static const char *const names[KINDS] = {
        "lock alone", "fence", "guarded writes", "lock alone, long holds", "the same", "the same"};

    Run.plan = plan;
    begin();
    run();
    end();
    report();
    CHECK(Run.unexpected == 0);
    CHECK(has_enough());
    check_nothing_is_left();
    history *h = verdict_read(Run.directory);
    for (size_t i = 0; i < KINDS; i++)
        judge(h, Kinds[i], names[i]);
    verdict_of_groups(h, Run.directory, &Run.files[KINDS]);
    verdict_of_slots(h, Run.directory);
    verdict_figures(h);
    if (plan->breaker)
        verdict_strokes(h, plan->breaker);
    history_free(h);
    raw_close(Run.reader);
    uproot_at_last(worker_znode(fixture_root()));
    uproot_at_last(worker_barrier(fixture_root()));
}

/* ---- The command line ---- */

bool run_parse(int argc, char **argv, run_plan *plan) {
    plan->seed = (uint64_t)clock_ns();
    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;
        const long value = i + 1 < argc ? strtol(argv[i + 1], &end, 10) : -1;

        if (value < 0 || *end)
            return false;
        if (strcmp(argv[i], "--kills") == 0)
            plan->kills = value;
        else if (strcmp(argv[i], "--stops") == 0)
            plan->stops = value;
        else if (strcmp(argv[i], "--seconds") == 0)
            plan->seconds = value;
        else if (strcmp(argv[i], "--seed") == 0)
            plan->seed = (uint64_t)value;
        else
            return false;
    }
    return true;
}
