/* See actor.h. */
#include "support/actor.h"
#include "support/clock.h"
#include "support/wait.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The library's own calls end within 2 s of whatever ends them. */
#define HANG_MS 20000

struct actor {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    zkl_err (*call)(void *arg); /* NULL: idle */
    void *arg;
    zkl_err result;
    int64_t began_ns, done_ns;
    long tid;               /* of the thread, once it runs */
    atomic_bool is_in_call; /* written just before the call; nothing in between sleeps */
    bool stop;
    /* arguments of the call begun by actor_acquire */
    zkl_lock *lock;
    int64_t timeout_ms;
};

static void *run(void *context) {
    actor *a = context;

    (void)pthread_mutex_lock(&a->mutex);
    a->tid = syscall(SYS_gettid);
    for (;;) {
        while (!a->call && !a->stop)
            (void)pthread_cond_wait(&a->changed, &a->mutex);
        if (!a->call)
            break;
        (void)pthread_mutex_unlock(&a->mutex);
        atomic_store(&a->is_in_call, true);
        zkl_err result = a->call(a->arg);
        atomic_store(&a->is_in_call, false);
        (void)pthread_mutex_lock(&a->mutex);
        a->done_ns = clock_ns();
        a->result = result;
        a->call = NULL;
        (void)pthread_cond_broadcast(&a->changed);
    }
    (void)pthread_mutex_unlock(&a->mutex);
    return NULL;
}

actor *actor_new(void) {
    actor *a = calloc(1, sizeof(*a));

    if (!a || pthread_mutex_init(&a->mutex, NULL) != 0 ||
        pthread_cond_init(&a->changed, NULL) != 0 || pthread_create(&a->thread, NULL, run, a) != 0)
        abort();
    return a;
}

void actor_free(actor *a) {
    if (!a)
        return;
    if (actor_result(a, HANG_MS) == ACTOR_BUSY) {
        fprintf(stderr, "a call does not return\n");
        abort();
    }
    (void)pthread_mutex_lock(&a->mutex);
    a->stop = true;
    (void)pthread_cond_broadcast(&a->changed);
    (void)pthread_mutex_unlock(&a->mutex);
    (void)pthread_join(a->thread, NULL);
    (void)pthread_cond_destroy(&a->changed);
    (void)pthread_mutex_destroy(&a->mutex);
    free(a);
}

void actor_begin(actor *a, zkl_err (*call)(void *arg), void *arg) {
    (void)pthread_mutex_lock(&a->mutex);
    if (a->call)
        abort(); /* a test that does not wait for the call before */
    a->call = call;
    a->arg = arg;
    a->began_ns = clock_ns();
    (void)pthread_cond_broadcast(&a->changed);
    (void)pthread_mutex_unlock(&a->mutex);
}

bool actor_is_done(actor *a) {
    (void)pthread_mutex_lock(&a->mutex);
    bool done = !a->call;
    (void)pthread_mutex_unlock(&a->mutex);
    return done;
}

static void read_proc(long tid, const char *name, char *ret_line, int size) {
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/task/%ld/%s", tid, name);
    FILE *file = fopen(path, "re");
    if (!file || !fgets(ret_line, size, file))
        abort();
    (void)fclose(file);
}

/* By the state letter: behind the name, which is in parentheses and may hold anything. */
static bool is_asleep(long tid) {
    char line[256];

    read_proc(tid, "stat", line, sizeof(line));
    const char *end = strrchr(line, ')');
    return end && strncmp(end, ") S", 3) == 0;
}

/* glibc waits for a mutex by FUTEX_WAIT, and for all else by FUTEX_WAIT_BITSET. The line is the
 * system call that the thread sleeps in, with its arguments; or "running". */
static bool is_blocked(long tid) {
    char line[256];
    long number = 0;
    unsigned long address = 0;
    unsigned operation = 0;

    read_proc(tid, "syscall", line, sizeof(line));
    if (sscanf(line, "%ld %lx %x", &number, &address, &operation) != 3 || !is_asleep(tid))
        return false;
    return number != SYS_futex || (operation & (unsigned)FUTEX_CMD_MASK) != FUTEX_WAIT;
}

static bool is_done_or(bool (*is_true)(long tid), actor *a) {
    return actor_is_done(a) ||
           (atomic_load(&a->is_in_call) && is_true(a->tid) && atomic_load(&a->is_in_call));
}

bool actor_sleeps(actor *a) {
    return is_done_or(is_asleep, a);
}

bool actor_is_blocked(actor *a) {
    return is_done_or(is_blocked, a);
}

zkl_err actor_result(actor *a, int64_t wait_ms) {
    const int64_t end = clock_ms() + wait_ms;

    while (!actor_is_done(a) && clock_ms() < end)
        wait_pause();
    return actor_is_done(a) ? a->result : ACTOR_BUSY;
}

int64_t actor_took_ms(actor *a) {
    return (a->done_ns - a->began_ns) / NS_PER_MS;
}

int64_t actor_done_ns(actor *a) {
    return a->done_ns;
}

static zkl_err call_acquire(void *arg) {
    const actor *a = arg;

    return zkl_acquire(a->lock, a->timeout_ms);
}

void actor_acquire(actor *a, zkl_lock *l, int64_t timeout_ms) {
    a->lock = l;
    a->timeout_ms = timeout_ms;
    actor_begin(a, call_acquire, a);
}

/* ---- calls that are waited for ---- */

typedef struct question {
    zkl_lock *lock;
    int64_t number; /* in: timeout_ms; out: token or hold */
    bool truth;
    char *buf;
    size_t size;
} question;

static zkl_err ask(actor *a, zkl_err (*call)(void *arg), question *q) {
    actor_begin(a, call, q);
    zkl_err result = actor_result(a, HANG_MS);
    if (result == ACTOR_BUSY) {
        fprintf(stderr, "a call does not return\n");
        abort(); /* it goes on using our stack */
    }
    return result;
}

static zkl_err call_release(void *arg) {
    return zkl_release(((question *)arg)->lock);
}

static zkl_err call_release_wait(void *arg) {
    const question *q = arg;

    return zkl_release_wait(q->lock, q->number);
}

static zkl_err call_held(void *arg) {
    question *q = arg;

    q->truth = zkl_held(q->lock);
    return ZKL_OK;
}

static zkl_err call_token(void *arg) {
    question *q = arg;

    q->number = zkl_token(q->lock);
    return ZKL_OK;
}

static zkl_err call_hold(void *arg) {
    question *q = arg;

    q->number = (int64_t)zkl_hold_of(q->lock);
    return ZKL_OK;
}

static zkl_err call_node_path(void *arg) {
    question *q = arg;

    return zkl_node_path(q->lock, q->buf, q->size);
}

zkl_err actor_release(actor *a, zkl_lock *l) {
    question q = {.lock = l};

    return ask(a, call_release, &q);
}

zkl_err actor_release_wait(actor *a, zkl_lock *l, int64_t timeout_ms) {
    question q = {.lock = l, .number = timeout_ms};

    return ask(a, call_release_wait, &q);
}

bool actor_held(actor *a, zkl_lock *l) {
    question q = {.lock = l};

    (void)ask(a, call_held, &q); /* always OK */
    return q.truth;
}

int64_t actor_token(actor *a, zkl_lock *l) {
    question q = {.lock = l};

    (void)ask(a, call_token, &q); /* always OK */
    return q.number;
}

zkl_hold actor_hold(actor *a, zkl_lock *l) {
    question q = {.lock = l};

    (void)ask(a, call_hold, &q); /* always OK */
    return (zkl_hold)q.number;
}

void actor_node_path(actor *a, zkl_lock *l, char *buf, size_t size) {
    question q = {.lock = l, .buf = buf, .size = size};

    if (ask(a, call_node_path, &q) != ZKL_OK)
        buf[0] = '\0';
}
