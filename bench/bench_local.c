/*
 * bench_local - what holds cost that need no server: by a node that lingers, and from thread to
 * thread; and what a node that lingers costs another client.
 *
 * bench_local [-n ROUNDS], with ZKLOCK_HOSTS. Rounds of a plain hand-off between two sessions
 * alternate with rounds in which a lingering node is wanted, so that whatever else the machine does
 * falls on both. A report, not a test; exit status 1: a figure is beyond what was asked.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <zklock.h>

#define ROUNDS_MAX 100000
#define ROUNDS 500
/* Asked: microseconds, and times a plain hand-off. */
#define LINGER_US_MAX 1.0
#define LOCAL_US_MAX 20.0
#define WANTED_RATIO_MAX 2.5

struct times {
    double us[ROUNDS_MAX];
    size_t count;
};

static struct times Lingering, Local, Plain, Wanted, Ratio; /* Ratio: of paired rounds */
static const char *Hosts;

static void check(zkl_err err, const char *what) {
    if (err == ZKL_OK)
        return;
    (void)fprintf(stderr, "bench_local: %s: %s\n", what, zkl_strerror(err));
    exit(EXIT_FAILURE);
}

static double now_us(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void note(struct times *times, double us) {
    times->us[times->count++] = us;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(struct times *times) {
    qsort(times->us, times->count, sizeof(times->us[0]), compare);
    return times->us[times->count / 2];
}

static zkl_session *open_session(void) {
    zkl_session *s;
    check(zkl_session_open(&s, Hosts, &ZKL_SESSION_OPTIONS(.session_timeout_ms = 10000)),
          "zkl_session_open");
    return s;
}

static zkl_lock *open_lock(zkl_session *s, const char *name, int linger_ms, int handoffs) {
    zkl_lock *l;
    check(zkl_lock_open(&l, s, name,
                        &ZKL_LOCK_OPTIONS(.linger_ms = linger_ms, .local_handoffs = handoffs)),
          "zkl_lock_open");
    return l;
}

/* ---- By a node that lingers ---- */

static void measure_lingering(size_t rounds) {
    zkl_session *s = open_session();
    zkl_lock *l = open_lock(s, "bench/linger", 60000, 0);
    check(zkl_acquire(l, ZKL_FOREVER), "zkl_acquire");
    check(zkl_release(l), "zkl_release");
    for (size_t i = 0; i < rounds; i++) {
        const double begun = now_us();
        check(zkl_acquire(l, ZKL_FOREVER), "zkl_acquire");
        check(zkl_release(l), "zkl_release");
        note(&Lingering, now_us() - begun);
    }
    check(zkl_lock_close(l), "zkl_lock_close");
    check(zkl_session_close(s), "zkl_session_close");
}

/* ---- A thread that waits, of this process ---- */

struct waiter {
    zkl_lock *lock;
    pthread_t thread;
    pthread_barrier_t begin, end;
    double granted;
    bool is_over;
};

static void *wait_for_it(void *arg) {
    struct waiter *w = arg;
    for (;;) {
        (void)pthread_barrier_wait(&w->begin);
        if (w->is_over)
            return NULL;
        check(zkl_acquire(w->lock, ZKL_FOREVER), "zkl_acquire, waiting");
        w->granted = now_us();
        check(zkl_release_wait(w->lock, ZKL_FOREVER), "zkl_release_wait");
        (void)pthread_barrier_wait(&w->end);
    }
}

static void waiter_start(struct waiter *w, zkl_lock *lock) {
    *w = (struct waiter){.lock = lock};
    if (pthread_barrier_init(&w->begin, NULL, 2) != 0 ||
        pthread_barrier_init(&w->end, NULL, 2) != 0 ||
        pthread_create(&w->thread, NULL, wait_for_it, w) != 0)
        exit(EXIT_FAILURE);
}

static void waiter_stop(struct waiter *w) {
    w->is_over = true;
    (void)pthread_barrier_wait(&w->begin);
    (void)pthread_join(w->thread, NULL);
}

static bool is_queued(zkl_session *s, const char *name, size_t count) {
    zkl_queue *queue;
    check(zkl_inspect(s, name, &queue), "zkl_inspect");
    const bool is = zkl_queue_count(queue) >= count;
    zkl_queue_free(queue);
    return is;
}

static void pause_us(long us) {
    const struct timespec wait = {0, us * 1000};
    (void)nanosleep(&wait, NULL);
}

/* From the release in one thread to the return in the other, which had time to fall asleep. */
static void measure_local(size_t rounds) {
    zkl_session *s = open_session();
    zkl_lock *l = open_lock(s, "bench/local", 0, 1000000);
    struct waiter w;
    waiter_start(&w, l);
    for (size_t i = 0; i < rounds; i++) {
        check(zkl_acquire(l, ZKL_FOREVER), "zkl_acquire");
        (void)pthread_barrier_wait(&w.begin);
        pause_us(1000);
        const double begun = now_us();
        check(zkl_release(l), "zkl_release");
        (void)pthread_barrier_wait(&w.end);
        note(&Local, w.granted - begun);
    }
    waiter_stop(&w);
    check(zkl_lock_close(l), "zkl_lock_close");
    check(zkl_session_close(s), "zkl_session_close");
}

/* ---- A node that another client wants ---- */

static void measure_wanted(size_t rounds) {
    zkl_session *here = open_session(), *there = open_session();
    zkl_lock *plain = open_lock(here, "bench/plain", 0, 0);
    zkl_lock *lingering = open_lock(here, "bench/wanted", 60000, 0);
    struct waiter at_plain, at_wanted;
    waiter_start(&at_plain, open_lock(there, "bench/plain", 0, 0));
    waiter_start(&at_wanted, open_lock(there, "bench/wanted", 0, 0));
    for (size_t i = 0; i < rounds; i++) {
        check(zkl_acquire(plain, ZKL_FOREVER), "zkl_acquire");
        (void)pthread_barrier_wait(&at_plain.begin);
        while (!is_queued(here, "bench/plain", 2))
            continue;
        pause_us(2000); /* its watches */
        double begun = now_us();
        check(zkl_release(plain), "zkl_release");
        (void)pthread_barrier_wait(&at_plain.end);
        note(&Plain, at_plain.granted - begun);

        check(zkl_acquire(lingering, ZKL_FOREVER), "zkl_acquire");
        check(zkl_release(lingering), "zkl_release");
        pause_us(2000);
        begun = now_us();
        (void)pthread_barrier_wait(&at_wanted.begin);
        (void)pthread_barrier_wait(&at_wanted.end);
        note(&Wanted, at_wanted.granted - begun);
        note(&Ratio, Wanted.us[i] / Plain.us[i]);
    }
    waiter_stop(&at_plain);
    waiter_stop(&at_wanted);
    check(zkl_session_close(here), "zkl_session_close");
    check(zkl_session_close(there), "zkl_session_close");
}

int main(int argc, char **argv) {
    const char *rounds_text = argc == 3 && argv[1][0] == '-' && argv[1][1] == 'n' ? argv[2] : NULL;
    const size_t rounds = rounds_text == NULL ? ROUNDS : strtoul(rounds_text, NULL, 10);
    Hosts = getenv("ZKLOCK_HOSTS");
    if (Hosts == NULL || rounds == 0 || rounds > ROUNDS_MAX || (argc != 1 && rounds_text == NULL)) {
        (void)fputs("usage: ZKLOCK_HOSTS=HOST:PORT bench_local [-n ROUNDS]\n", stderr);
        return 64;
    }
    measure_lingering(rounds);
    measure_local(rounds);
    measure_wanted(rounds);
    const double lingering = median(&Lingering), local = median(&Local), ratio = median(&Ratio);
    printf("acquire and release by a lingering node, median: %.2f us\n", lingering);
    printf("hand-over to another thread, median: %.1f us\n", local);
    printf("hand-off to another session, median: %.0f us\n", median(&Plain));
    printf("lingering node that is wanted, median: %.0f us\n", median(&Wanted));
    printf("wanted against hand-off, median of paired rounds: %.2f times\n", ratio);
    return lingering > LINGER_US_MAX || local > LOCAL_US_MAX || ratio > WANTED_RATIO_MAX;
}
