/*
 * Fifty processes take a thousand locks as fast as they can, with sessions that come and go, while
 * the servers are broken now and then: nobody is granted what another holds, and what processes
 * and servers have is the same in the middle and in the end as after a tenth of the time; what a
 * process has allocated, but for two KiB.
 *
 * The longer form: soak_soak --seconds 1800 --rest 55
 */
#include <inttypes.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "soak/worker.h"
#include "support/breaker.h"
#include "support/ensemble.h"
#include "support/fixture.h"
#include "support/netns.h"
#include "support/scratch.h"

/* initLimit: see server.partition. Empty directories of locks go after so long, also those that a
 * contender has made and then has not stood in, which by default never go. */
#define REAP_MS "5000"
#define SERVER_OPTIONS                                                                             \
    "--prop", "initLimit=4", "--prop", "cnxTimeout=500", "--prop",                                 \
        "fastleader.maxNotificationInterval=400", "--prop",                                        \
        "znode.container.checkIntervalMs=" REAP_MS, "--prop",                                      \
        "znode.container.maxNeverUsedIntervalMs=" REAP_MS

#define PAUSE_MS (6 * SOON_MS) /* a worker waits for its session, or for a lock */
#define END_MS (6 * SOON_MS)
#define STALL_MS (2 * SOON_MS) /* nobody is granted anything; no fault takes that long */
#define HEAP_GROWTH ((size_t)2048 * SOAK_WORKERS)
#define EACH 1000, 4000
#define STROKE_S 10 /* a fault and what comes of it, at most, mostly */

static const breaker_fault Faults[] = {
    {"the leader killed", "kill", BREAKER_LEADER, EACH},
    {"clients cut off from their server", "clients", BREAKER_BUSIEST, EACH},
    {"the leader cut off from the others", "isolate", BREAKER_LEADER, EACH},
    {"a follower frozen", "freeze", BREAKER_FOLLOWER, EACH},
    {"replies to clients lost", "replies", BREAKER_BUSIEST, EACH},
    {"a follower killed", "kill", BREAKER_FOLLOWER, EACH},
    {"all restarted one by one", "restart", BREAKER_ANY, 0, 0},
};

static breaker_plan Servers = {
    .script = ZKLOCK_SOURCE_DIR "/tests/support/ensemble.sh",
    .faults = Faults,
    .count = sizeof(Faults) / sizeof(Faults[0]),
    .rest_ms = 12000,
};

static long Seconds = 40;

/* The last part of the time goes on until there were so many. */
static size_t strokes_min(void) {
    return (size_t)((Seconds + Servers.rest_ms / 1000) / (Servers.rest_ms / 1000 + STROKE_S));
}

/* What all have, in a pause. */
typedef struct sample {
    size_t heap_bytes, resident_kib, resident_kib_max, descriptors, threads;
    int64_t watches, ephemerals, nodes;
    size_t grants;
} sample;

static struct {
    struct soak_shared *shared;
    char path[200];
    pid_t pids[SOAK_WORKERS];
    /* The longest time without a grant. */
    size_t grants; /* at since_ns, and now */
    int64_t since_ns, longest_from_ns, longest_ns;
} Soak;

/* ---- Processes ---- */

static void spawn(size_t number) {
    char text[24], parent[24];
    char *argv[] = {"/proc/self/exe",       "--worker", text,   (char *)server_hosts(),
                    (char *)fixture_root(), Soak.path,  parent, NULL};

    (void)snprintf(text, sizeof(text), "%zu", number);
    (void)snprintf(parent, sizeof(parent), "%ld", (long)getpid());
    REQUIRE_INT(posix_spawn(&Soak.pids[number], argv[0], NULL, NULL, argv, environ), 0);
}

static void begin(void) {
    static const struct soak_shared none;

    (void)snprintf(Soak.path, sizeof(Soak.path), "%s", scratch_path("shared"));
    /* One arena, and nothing kept per thread: else malloc has an arena for each of the most threads
     * that there ever were at a time, as when a session expires and the next one is there before
     * the old one has gone, and counts what threads keep as in use. */
    REQUIRE_INT(setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0", 1),
                0);
    scratch_write(Soak.path, (const char *)&none, sizeof(none));
    Soak.shared = soak_map(Soak.path);
    REQUIRE(Soak.shared != NULL);
    for (size_t i = 0; i < SOAK_WORKERS; i++)
        spawn(i);
    breaker_begin(&Servers, (uint64_t)clock_ns());
}

static void check_alive(void) {
    for (size_t i = 0; i < SOAK_WORKERS; i++)
        REQUIRE_INT(waitpid(Soak.pids[i], NULL, WNOHANG), 0);
}

static bool has_ended(size_t number) {
    int status;
    const pid_t pid = Soak.pids[number];

    if (pid == 0 || waitpid(pid, &status, WNOHANG) != pid)
        return pid == 0;
    Soak.pids[number] = 0;
    CHECK_INT(status, 0);
    return true;
}

static void end(void) {
    breaker_end();
    atomic_store(&Soak.shared->phase, SOAK_END);
    for (size_t i = 0; i < SOAK_WORKERS; i++)
        WAIT_UNTIL(has_ended(i), END_MS);
}

/* ---- Samples ---- */

/* -1: a server does not answer, as one that follows another leader only now. */
static int64_t watches(void) {
    int64_t sum = 0;

    for (unsigned i = 0; i < ENSEMBLE_SERVERS; i++) {
        const int64_t count = ensemble_number(i, "wchs", "Total watches");

        if (count < 0)
            return -1;
        sum += count;
    }
    return sum;
}

static bool all_stand(int pause) {
    size_t standing = 0;

    for (size_t i = 0; i < SOAK_WORKERS; i++)
        standing += atomic_load(&Soak.shared->workers[i].pauses) == pause;
    return standing == SOAK_WORKERS;
}

static size_t grants(void) {
    size_t sum = 0;

    for (size_t i = 0; i < SOAK_WORKERS; i++)
        sum += atomic_load(&Soak.shared->workers[i].grants);
    return sum;
}

/* Returns for how long nobody has been granted anything. */
static int64_t look_for_grants(void) {
    const int64_t now_ns = clock_ns(), gap_ns = now_ns - Soak.since_ns;
    const size_t count = grants();

    if (gap_ns > Soak.longest_ns) {
        Soak.longest_ns = gap_ns;
        Soak.longest_from_ns = Soak.since_ns;
    }
    if (count != Soak.grants) {
        Soak.grants = count;
        Soak.since_ns = now_ns;
    }
    return gap_ns;
}

/*
 * After a leader was cut off for a moment, servers 3.8.0 may follow it for ever and commit nothing,
 * for it has taken the followers' acknowledgements of a proposal for those of its own office
 * (ZOOKEEPER-4685). It is over when one of them follows anew, as after another fault.
 */
static void await_rest(int pause) {
    const int64_t end_max = clock_ms() + 2 * PAUSE_MS;
    int64_t whole_ns = clock_ns(); /* since when no server is broken */

    while (!all_stand(pause)) {
        const int64_t gap_ns = look_for_grants();

        REQUIRE(clock_ms() < end_max);
        check_alive();
        if (!breaker_rests()) {
            breaker_step();
            whole_ns = clock_ns();
        } else if (gap_ns > STALL_MS * NS_PER_MS && clock_ns() - whole_ns > STALL_MS * NS_PER_MS) {
            breaker_hurry();
        }
        (void)poll(NULL, 0, 5);
    }
    breaker_end();
}

/* Between two faults. */
static sample pause_and_measure(const char *when) {
    const int pause = atomic_load(&Soak.shared->pause) + 1;
    sample s = {0};

    breaker_end();
    atomic_store(&Soak.shared->pause, pause);
    atomic_store(&Soak.shared->phase, SOAK_PAUSE);
    await_rest(pause);
    for (size_t i = 0; i < SOAK_WORKERS; i++) {
        const struct soak_worker *w = &Soak.shared->workers[i];

        s.heap_bytes += w->heap_bytes;
        s.resident_kib += w->resident_kib;
        if (w->resident_kib > s.resident_kib_max)
            s.resident_kib_max = w->resident_kib;
        s.descriptors += w->descriptors;
        s.threads += w->threads;
    }
    s.grants = grants();
    /* Releases are done later, and nodes of an earlier session end with it. */
    WAIT_UNTIL((s.ephemerals = ensemble_number(0, "mntr", "zk_ephemerals_count")) == 0, PAUSE_MS);
    WAIT_UNTIL((s.watches = watches()) == 0, SOON_MS);
    WAIT_UNTIL((s.nodes = ensemble_number(0, "mntr", "zk_znode_count")) > 0, SOON_MS);
    test_note("%-6s %6zu grants; of %d processes: %zu bytes of heap in use, %zu KiB resident, "
              "%zu KiB at most, %zu descriptors, %zu threads; on the servers: "
              "%" PRId64 " nodes, %" PRId64 " of them ephemeral, %" PRId64 " watches",
              when, s.grants, SOAK_WORKERS, s.heap_bytes, s.resident_kib, s.resident_kib_max,
              s.descriptors, s.threads, s.nodes, s.ephemerals, s.watches);
    atomic_store(&Soak.shared->phase, SOAK_RUN);
    return s;
}

static size_t strokes(void) {
    size_t count;

    (void)breaker_strokes(&count);
    return count;
}

static void run_for(int64_t ms, size_t least) {
    const int64_t end_ms = clock_ms() + ms;

    Soak.since_ns = clock_ns();
    for (const int64_t end_max = end_ms + PAUSE_MS;
         clock_ms() < end_ms || (strokes() < least && clock_ms() < end_max);) {
        (void)poll(NULL, 0, 5);
        check_alive();
        (void)look_for_grants();
        breaker_step();
    }
}

/* ---- The test ---- */

static void report_strokes(void) {
    size_t count, done[BREAKER_FAULTS_MAX] = {0};
    const char *last = "none of them";
    const breaker_stroke *all = breaker_strokes(&count);

    for (size_t i = 0; i < count; i++) {
        done[all[i].fault]++;
        if (all[i].from_ns <= Soak.longest_from_ns + NS_PER_MS * 1000)
            last = Faults[all[i].fault].what;
    }
    for (size_t i = 0; i < Servers.count; i++)
        test_note("%s: %zu times", Faults[i].what, done[i]);
    test_note("the longest time without a grant: %" PRId64 " ms, after %s",
              Soak.longest_ns / NS_PER_MS, last);
    CHECK(count >= strokes_min());
}

static void report_workers(void) {
    size_t unserved = 0, losses = 0, sessions = 0, double_grants = 0;

    for (size_t i = 0; i < SOAK_WORKERS; i++) {
        const struct soak_worker *w = &Soak.shared->workers[i];

        unserved += atomic_load(&w->unserved);
        losses += atomic_load(&w->losses);
        sessions += atomic_load(&w->sessions);
        double_grants += atomic_load(&w->double_grants);
    }
    test_note("%zu grants, %zu acquires in vain, %zu holds lost, %zu sessions; %zu double grants",
              grants(), unserved, losses, sessions, double_grants);
    CHECK_INT(double_grants, 0);
    /* As many as there should be, or half of that. */
    CHECK(sessions > SOAK_WORKERS + (grants() + unserved) / (2 * SOAK_SESSION_OPERATIONS));
}

static void what_all_have_stays_what_it_is(void) {
    const int64_t nodes = ensemble_number(0, "mntr", "zk_znode_count");
    int64_t left;

    REQUIRE(nodes > 0);
    begin();
    run_for(Seconds * 100, 0);
    sample early = pause_and_measure("start");
    run_for(Seconds * 450, 0);
    sample middle = pause_and_measure("middle");
    run_for(Seconds * 450, strokes_min());
    sample late = pause_and_measure("end");
    end();
    report_workers();
    report_strokes();
    CHECK_RANGE(middle.heap_bytes, 0, early.heap_bytes + HEAP_GROWTH);
    CHECK_RANGE(late.heap_bytes, 0, early.heap_bytes + HEAP_GROWTH);
    CHECK_RANGE(middle.resident_kib, 0, early.resident_kib + early.resident_kib / 5);
    CHECK_RANGE(late.resident_kib, 0, early.resident_kib + early.resident_kib / 5);
    CHECK_INT(middle.descriptors, early.descriptors);
    CHECK_INT(late.descriptors, early.descriptors);
    CHECK_INT(middle.threads, early.threads);
    CHECK_INT(late.threads, early.threads);
    CHECK_RANGE(middle.nodes, 0, nodes + SOAK_LOCKS + 1); /* the root */
    CHECK_RANGE(late.nodes, 0, nodes + SOAK_LOCKS + 1);
    CHECK(late.grants > middle.grants && middle.grants > early.grants);
    /* And all of it goes. */
    WAIT_UNTIL(
        (left = ensemble_number(0, "mntr", "zk_znode_count"), left >= 0 && left <= nodes + 1),
        3 * SOON_MS);
}

static bool parse(int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
        char *last = NULL;
        const long value = i + 1 < argc ? strtol(argv[i + 1], &last, 10) : -1;

        if (value <= 0 || value > 1000000 || *last)
            return false;
        if (strcmp(argv[i], "--seconds") == 0)
            Seconds = value;
        else if (strcmp(argv[i], "--rest") == 0)
            Servers.rest_ms = (int)value * 1000;
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    static const char *const options[] = {NETNS_OPTIONS, SERVER_OPTIONS, NULL};
    static const test_case cases[] = {
        {"what processes and servers have stays what it is", what_all_have_stays_what_it_is},
    };

    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return soak_worker_main(argc, argv);
    if (!parse(argc, argv)) {
        fprintf(stderr, "usage: %s [--seconds N] [--rest SECONDS]\n", argv[0]);
        return 64;
    }
    fixture_start_in_netns(options);
    Servers.directory = server_directory();
    return TEST_MAIN(1, argv, "soak", cases);
}
