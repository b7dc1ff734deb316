/* See worker.h. */
#include "soak/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <zklock.h>

#include "support/fixture.h"

#define SESSION_MS 4000
#define WAIT_SHORT_MS 50
#define WAIT_LONG_MS 2000
#define HOLD_MAX_MS 5
#define THREADS 4
#define HELPER_MS 5000
/* Every other time one of these few is taken, so that there is somebody to wait for. */
#define HOT_LOCKS 20

struct worker {
    long number;
    const char *hosts, *root;
    uint64_t random;
    struct soak_shared *shared;
    struct soak_worker *own;
    zkl_session *session;
};

__attribute__((noreturn)) static void die(const struct worker *w, const char *what,
                                          const char *why) {
    fprintf(stderr, "soak worker %ld: %s: %s\n", w->number, what, why);
    _exit(3);
}

struct soak_shared *soak_map(const char *path) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = MAP_FAILED;

    if (fd >= 0)
        at = mmap(NULL, sizeof(struct soak_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    return at == MAP_FAILED ? NULL : at;
}

static uint64_t draw(struct worker *w, uint64_t below) {
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random % below;
}

/* ---- One operation ---- */

/* While this one holds, no higher token than its own has been granted. */
static void check_token(struct worker *w, zkl_lock *l, size_t lock, int64_t token) {
    const int64_t highest = atomic_load(&w->shared->tokens[lock]);

    if (highest > token && zkl_held(l))
        atomic_fetch_add(&w->own->double_grants, 1);
}

static void raise_token(struct worker *w, size_t lock, int64_t token) {
    int64_t highest = atomic_load(&w->shared->tokens[lock]);

    while (highest < token &&
           !atomic_compare_exchange_weak(&w->shared->tokens[lock], &highest, token))
        continue;
}

static void hold(struct worker *w, zkl_lock *l, size_t lock) {
    const int64_t token = zkl_token(l);

    atomic_fetch_add(&w->own->grants, 1);
    if (token > 0) {
        check_token(w, l, lock, token);
        raise_token(w, lock, token);
        if (draw(w, 4) == 0)
            (void)poll(NULL, 0, (int)draw(w, HOLD_MAX_MS + 1));
        check_token(w, l, lock, token);
    }
    if (zkl_release(l) == ZKL_LOST)
        atomic_fetch_add(&w->own->losses, 1);
}

static int choose_timeout(struct worker *w) {
    const uint64_t kind = draw(w, 5);

    return kind == 0 ? 0 : kind == 1 ? WAIT_SHORT_MS : WAIT_LONG_MS;
}

/* Whether it was granted. */
static bool take(struct worker *w, size_t lock, int timeout_ms) {
    zkl_lock *l = NULL;
    char name[32];

    (void)snprintf(name, sizeof(name), "soak-%zu", lock);
    zkl_err err = zkl_lock_open(&l, w->session, name, NULL);
    if (err != ZKL_OK)
        die(w, "lock", zkl_strerror(err));
    err = zkl_acquire(l, timeout_ms);
    if (err == ZKL_OK)
        hold(w, l, lock);
    else if (zkl_errclass(err) == ZKL_CLASS_RETRY)
        atomic_fetch_add(&w->own->unserved, 1);
    else
        die(w, "acquire", zkl_strerror(err));
    zkl_err closed = zkl_lock_close(l);
    if (closed != ZKL_OK)
        die(w, "close", zkl_strerror(closed));
    return err == ZKL_OK;
}

static void operate(struct worker *w) {
    const size_t lock = draw(w, draw(w, 2) ? SOAK_LOCKS : HOT_LOCKS);

    (void)take(w, lock, choose_timeout(w));
}

/* ---- Sessions, pauses, the end ---- */

static int phase(const struct worker *w) {
    return atomic_load(&w->shared->phase);
}

static void open_session(struct worker *w) {
    zkl_err err;

    do
        err = zkl_session_open(
            &w->session, w->hosts,
            &ZKL_SESSION_OPTIONS(.session_timeout_ms = SESSION_MS, .root = w->root));
    while (err == ZKL_UNREACHABLE && phase(w) != SOAK_END);
    if (err == ZKL_UNREACHABLE)
        _exit(0);
    if (err != ZKL_OK)
        die(w, "session", zkl_strerror(err));
    atomic_fetch_add(&w->own->sessions, 1);
}

static void close_session(struct worker *w) {
    const zkl_err err = zkl_session_close(w->session);

    if (err != ZKL_OK)
        die(w, "close", zkl_strerror(err));
    w->session = NULL;
}

/*
 * Connected, and nothing of what it has asked for is unanswered: requests are answered in their
 * order. Where servers are connected and commit nothing, what waits was given up long ago. And a
 * session that has just been cut off has a socket less, or one more.
 */
static void come_to_rest(struct worker *w) {
    while (!take(w, (size_t)w->number, WAIT_LONG_MS))
        if (phase(w) == SOAK_END)
            return;
    while (zkl_session_state(w->session) != ZKL_STATE_CONNECTED)
        wait_pause();
}

/* Without what malloc keeps for later. */
static size_t heap_in_use(void) {
    const struct mallinfo2 all = mallinfo2();

    return all.uordblks + all.hblkhd;
}

/*
 * The program's own threads are one, the timer, and two of the client library's. One more is at
 * work for a moment where a session was replaced, or where a socket is looked for, with memory and
 * a descriptor of its own. It may begin at any time: what was measured counts if it was there
 * neither before nor after. One that stays is measured.
 */
static void measure(struct soak_worker *own) {
    const int64_t end_ns = clock_ns() + HELPER_MS * NS_PER_MS;
    size_t before;

    do {
        while ((before = process_threads()) > THREADS && clock_ns() < end_ns)
            wait_pause();
        own->heap_bytes = heap_in_use();
        (void)malloc_trim(0); /* what it keeps for later is no leak */
        own->resident_kib = process_resident_kib();
        own->descriptors = process_descriptors();
        own->threads = process_threads();
    } while ((before > THREADS || own->threads > THREADS) && clock_ns() < end_ns);
}

static void pause_here(struct worker *w) {
    const int pause = atomic_load(&w->shared->pause);

    come_to_rest(w);
    measure(w->own);
    atomic_store(&w->own->pauses, pause);
    while (phase(w) == SOAK_PAUSE && atomic_load(&w->shared->pause) == pause)
        wait_pause();
}

int soak_worker_main(int argc, char **argv) {
    struct worker w = {.number = -1};

    if (argc != 7)
        die(&w, "--worker", "wrong arguments");
    w.number = strtol(argv[2], NULL, 10);
    w.hosts = argv[3];
    w.root = argv[4];
    w.shared = soak_map(argv[5]);
    if (!w.shared || w.number < 0 || w.number >= SOAK_WORKERS)
        die(&w, argv[5], strerror(errno));
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != strtol(argv[6], NULL, 10))
        return EXIT_FAILURE;
    w.own = &w.shared->workers[w.number];
    w.random = (uint64_t)clock_ns() * 2654435761U + (uint64_t)w.number + 1;
    open_session(&w);
    while (phase(&w) != SOAK_END) {
        if (phase(&w) == SOAK_PAUSE) {
            pause_here(&w);
            continue;
        }
        operate(&w);
        if (draw(&w, SOAK_SESSION_OPERATIONS) == 0) {
            close_session(&w);
            open_session(&w);
        }
    }
    close_session(&w);
    return 0;
}
