/*
 * bench_peers - one lock service under the workloads of bench/peers.sh: this library, Redis, etcd.
 *
 * usage: bench_peers SERVICE ADDRESS. For each line "WORKLOAD MS [HOLD_US]" of its input it runs
 * the workload for about so long and prints a figure: the median in microseconds, or grants a
 * second; "-" if the service has no such locks. bench/peers holds the services, and the drivers of
 * the libraries in other languages, which read and print the same.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peers/peer.h"

#define CLIENTS_MAX 8
#define CONTENDERS_MAX 101
#define TIMES_MAX 1000000
#define PATIENCE_MS 15
/* Time for a contender to queue before the holder lets go; most need less than a millisecond. */
#define SETTLE_US 10000
#define SETTLE_EACH_US 5000
#define NAME_BYTES 64

static const struct peer *const Peers[] = {&peer_zklock, &peer_redis, &peer_etcd};

static const struct peer *Peer;
static const char *Address;
static void *Clients[CLIENTS_MAX];

struct workload;
/* The figure of one run; negative: no such locks. */
typedef double run_fn(const struct workload *w, int64_t window_ns, int64_t hold_us);

struct workload {
    const char *name;
    enum peer_kind kind;
    run_fn *run;
    int contenders, clients;
    int patience_ms;
};

void peer_die(const char *what, const char *why) {
    (void)fprintf(stderr, "bench_peers: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

void *peer_alloc(size_t size) {
    void *memory = calloc(1, size);
    if (memory == NULL)
        peer_die("memory", strerror(ENOMEM));
    return memory;
}

int64_t peer_now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void peer_sleep_us(int64_t us) {
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    if (us > 0)
        (void)nanosleep(&time, NULL);
}

/* ---- Times ---- */

static double Times[TIMES_MAX];
static size_t TimesCount;

/* Under the lock that is measured, if more than one thread does. */
static void note_time(int64_t ns) {
    if (TimesCount < TIMES_MAX)
        Times[TimesCount++] = (double)ns / 1000;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_time(void) {
    if (TimesCount == 0)
        peer_die("times", "there are none");
    qsort(Times, TimesCount, sizeof(Times[0]), compare);
    return Times[TimesCount / 2];
}

/* ---- Contenders ---- */

struct contender {
    void *lock;
    pthread_t thread;
    const struct workload *workload;
    int64_t hold_us;
};

/* Contenders of one run share a name and no other run does. NULL: no such locks. */
static void *contend(const struct workload *w, int index, unsigned run) {
    void **client = &Clients[index % w->clients];
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof(name), "bench/%s-%s-%u", Peer->name, w->name, run);
    if (*client == NULL)
        *client = Peer->open(Address);
    return Peer->contend(*client, name, w->kind);
}

static unsigned next_run(void) {
    static unsigned run;
    return ++run;
}

/* False: no such locks. */
static bool contend_all(const struct workload *w, struct contender *contenders, int64_t hold_us) {
    unsigned run = next_run();
    for (int i = 0; i < w->contenders; i++) {
        contenders[i] = (struct contender){.workload = w, .hold_us = hold_us};
        contenders[i].lock = contend(w, i, run);
        if (contenders[i].lock == NULL)
            return false;
    }
    return true;
}

static void start(struct contender *c, void *(*run)(void *)) {
    int error = pthread_create(&c->thread, NULL, run, c);
    if (error != 0)
        peer_die("thread", strerror(error));
}

/* ---- Free: acquire and release, by one client alone ---- */

static double run_free(const struct workload *w, int64_t window_ns, int64_t hold_us) {
    (void)hold_us;
    void *lock = contend(w, 0, next_run());
    if (lock == NULL)
        return -1;
    for (int64_t begun = peer_now_ns(), now = begun, end = begun + window_ns; now < end;) {
        (void)Peer->acquire(lock, -1);
        Peer->release(lock, true);
        int64_t done = peer_now_ns();
        note_time(done - now);
        now = done;
    }
    Peer->leave(lock);
    return median_time();
}

/* ---- Hand-off: from a holder's release to the return of the next one's acquire ---- */

/* The lock guards it. */
static int64_t ReleasedAt;

static void release_timed(void *lock) {
    ReleasedAt = peer_now_ns();
    Peer->release(lock, false);
}

static void *wait_once(void *arg) {
    struct contender *c = arg;
    (void)Peer->acquire(c->lock, -1);
    note_time(peer_now_ns() - ReleasedAt);
    release_timed(c->lock);
    return NULL;
}

/* The first contender holds until all others wait; then the lock goes through their queue. */
static double run_hand_off(const struct workload *w, int64_t window_ns, int64_t hold_us) {
    static struct contender contenders[CONTENDERS_MAX];
    int waiters = w->contenders - 1;
    if (!contend_all(w, contenders, hold_us))
        return -1;
    for (int64_t end = peer_now_ns() + window_ns; peer_now_ns() < end;) {
        (void)Peer->acquire(contenders[0].lock, -1);
        for (int i = 1; i <= waiters; i++)
            start(&contenders[i], wait_once);
        peer_sleep_us(waiters == 1 ? SETTLE_US : SETTLE_EACH_US * waiters);
        release_timed(contenders[0].lock);
        for (int i = 1; i <= waiters; i++)
            (void)pthread_join(contenders[i].thread, NULL);
    }
    for (int i = 0; i <= waiters; i++)
        Peer->leave(contenders[i].lock);
    return median_time();
}

/* ---- Turns: all want the lock all the time ---- */

static atomic_bool IsOver;
static atomic_uint Grants;

/* Who has waited in vain tries again at once. */
static void *take_turns(void *arg) {
    struct contender *c = arg;
    while (!atomic_load(&IsOver)) {
        if (!Peer->acquire(c->lock, c->workload->patience_ms))
            continue;
        (void)atomic_fetch_add(&Grants, 1);
        peer_sleep_us(c->hold_us);
        Peer->release(c->lock, false);
    }
    return NULL;
}

/* What is counted begins after a quarter of the window, when the queue is as it stays. */
static double run_turns(const struct workload *w, int64_t window_ns, int64_t hold_us) {
    static struct contender contenders[CONTENDERS_MAX];
    if (w->patience_ms >= 0 && !Peer->has_patience)
        return -1;
    if (!contend_all(w, contenders, hold_us))
        return -1;
    atomic_store(&IsOver, false);
    for (int i = 0; i < w->contenders; i++)
        start(&contenders[i], take_turns);
    peer_sleep_us(window_ns / 1000 / 4);
    unsigned before = atomic_load(&Grants);
    int64_t begun = peer_now_ns();
    peer_sleep_us(window_ns / 1000);
    unsigned grants = atomic_load(&Grants) - before;
    int64_t taken = peer_now_ns() - begun;
    atomic_store(&IsOver, true);
    for (int i = 0; i < w->contenders; i++)
        (void)pthread_join(contenders[i].thread, NULL);
    for (int i = 0; i < w->contenders; i++)
        Peer->leave(contenders[i].lock);
    return (double)grants * 1e9 / (double)taken;
}

/* ---- The command line ---- */

static const struct workload Workloads[] = {
    {"free", PEER_MUTEX, run_free, 1, 1, -1},
    {"lingering", PEER_LINGERING, run_free, 1, 1, -1},
    {"read", PEER_READ, run_free, 1, 1, -1},
    {"write", PEER_WRITE, run_free, 1, 1, -1},
    {"semaphore", PEER_SEMAPHORE, run_free, 1, 1, -1},
    {"several", PEER_SEVERAL_AT_ONCE, run_free, 1, 1, -1},
    {"hand-off", PEER_MUTEX, run_hand_off, 2, 2, -1},
    {"hand-off-100", PEER_MUTEX, run_hand_off, 101, 4, -1},
    {"turns", PEER_MUTEX, run_turns, 8, 8, -1},
    {"patient", PEER_MUTEX, run_turns, 24, 4, -1},
    {"impatient", PEER_MUTEX, run_turns, 24, 4, PATIENCE_MS},
};

static const struct workload *find_workload(const char *name) {
    for (size_t i = 0; i < sizeof(Workloads) / sizeof(Workloads[0]); i++)
        if (strcmp(Workloads[i].name, name) == 0)
            return &Workloads[i];
    peer_die(name, "no such workload");
    return NULL;
}

static void answer(char *line) {
    char *rest = NULL;
    const char *name = strtok_r(line, " \n", &rest);
    if (name == NULL)
        return;
    const struct workload *w = find_workload(name);
    char *end = rest;
    int64_t window_ms = strtoll(rest, &end, 10);
    if (end == rest || window_ms <= 0)
        peer_die(name, "for how long?");
    int64_t hold_us = strtoll(end, NULL, 10);
    TimesCount = 0;
    double figure = w->run(w, window_ms * 1000000, hold_us);
    if (figure < 0)
        (void)puts("-");
    else
        (void)printf("%.2f\n", figure);
    (void)fflush(stdout);
}

int main(int argc, char **argv) {
    char line[256];
    for (size_t i = 0; argc == 3 && i < sizeof(Peers) / sizeof(Peers[0]); i++)
        if (strcmp(Peers[i]->name, argv[1]) == 0)
            Peer = Peers[i];
    if (Peer == NULL) {
        (void)fputs("usage: bench_peers zklock|redis|etcd ADDRESS\n", stderr);
        return 64;
    }
    Address = argv[2];
    while (fgets(line, sizeof(line), stdin) != NULL)
        answer(line);
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (Clients[i] != NULL)
            Peer->close(Clients[i]);
    return EXIT_SUCCESS;
}
