/* See crowd.h. */
#include "server/crowd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <zklock.h>

#include "support/clock.h"
#include "support/main.h"
#include "support/random.h"

struct worker {
    size_t number;
    const char *prefix;
    uint64_t random;
    struct crowd *crowd;
    struct crowd_process *own;
    zkl_session *session;
    subset locks;
};

__attribute__((noreturn)) static void die(const struct worker *w, const char *what,
                                          const char *why) {
    fprintf(stderr, "process %zu of the crowd: %s: %s\n", w->number, what, why);
    _exit(3);
}

struct crowd *crowd_map(const char *path) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = MAP_FAILED;

    if (fd >= 0)
        at = mmap(NULL, sizeof(struct crowd), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    return at == MAP_FAILED ? NULL : at;
}

const char *crowd_lock(const char *prefix, size_t lock) {
    static char names[64][80];
    static size_t next;
    char *name = names[next++ % COUNT(names)];

    (void)snprintf(name, sizeof(names[0]), "%s-%zu", prefix, lock);
    return name;
}

/* ---- Claims ---- */

static bool is_certain(int64_t claim) {
    return (claim < 0 ? -claim : claim) > clock_ns();
}

bool crowd_has_claim(const struct crowd *c, size_t process) {
    bool has = false;

    for (size_t i = 0; i < SUBSET_LOCKS && !has; i++)
        has = is_certain(atomic_load(&c->claims[i][process]));
    return has;
}

void crowd_drop_claims(struct crowd *c, size_t process) {
    for (size_t i = 0; i < SUBSET_LOCKS; i++)
        atomic_store(&c->claims[i][process], 0);
}

static size_t together(const struct crowd *c) {
    size_t count = 0;

    for (size_t i = 0; i < CROWD_PROCESSES; i++)
        count += crowd_has_claim(c, i);
    return count;
}

/* Who claims a lock drops the claim before it gives it back. So one whose lease is not over after
 * it was read was a hold when it was, and if this process holds after that, it did so beside. */
static void look_at_others(struct worker *w, size_t i) {
    const size_t lock = w->locks.chosen[i];

    for (size_t k = 0; k < CROWD_PROCESSES; k++) {
        const int64_t its = atomic_load(&w->crowd->claims[lock][k]);
        const bool may_be = k == w->number || (its < 0 && w->locks.is_reader[i]);

        if (may_be || !is_certain(its) || !zkl_held(w->locks.locks[i]))
            continue;
        if (atomic_fetch_add(&w->crowd->overlaps, 1) == 0)
            fprintf(stderr, "process %zu %s lock %zu beside process %zu, which %s it\n", w->number,
                    w->locks.is_reader[i] ? "reads" : "has", lock, k, its < 0 ? "reads" : "has");
    }
}

static void raise_to(atomic_size_t *most, size_t value) {
    size_t now = atomic_load(most);

    while (now < value && !atomic_compare_exchange_weak(most, &now, value))
        continue;
}

/* First all claims, then the looks: of two that hold at a time the later one sees the other. */
static void claim_all(struct worker *w) {
    for (size_t i = 0; i < w->locks.count; i++) {
        const int64_t now = clock_ns();
        const int64_t until = now + zkl_remaining_ms(w->locks.locks[i]) * NS_PER_MS;

        atomic_store(&w->crowd->claims[w->locks.chosen[i]][w->number],
                     w->locks.is_reader[i] ? -until : until);
    }
    for (size_t i = 0; i < w->locks.count; i++)
        look_at_others(w, i);
    raise_to(&w->crowd->together_max, together(w->crowd));
}

static void expect(struct worker *w, bool is_so, const char *what) {
    if (!is_so && atomic_fetch_add(&w->crowd->torn, 1) == 0)
        fprintf(stderr, "process %zu: %s\n", w->number, what);
}

/* ---- Rounds ---- */

static void hold(struct worker *w) {
    expect(w, subset_look(&w->locks) != SUBSET_TORN, "a part is held");
    claim_all(w);
    (void)poll(NULL, 0, (int)random_draw(&w->random, (uint64_t)w->crowd->hold_max_ms + 1));
    expect(w, subset_look(&w->locks) != SUBSET_TORN, "a part is held later");
    crowd_drop_claims(w->crowd, w->number);
    const zkl_err err = zkl_release_all(w->locks.locks, w->locks.count);
    if (err == ZKL_LOST)
        atomic_fetch_add(&w->own->lost, 1);
    else if (err != ZKL_OK)
        die(w, "release", zkl_strerror(err));
}

/* Most wait for their turn; some try, or give up soon. */
static int64_t choose_timeout(struct worker *w) {
    const uint64_t dice = random_draw(&w->random, 10);

    return dice == 0 ? 0 : dice == 1 ? 10 : CROWD_TURN_MS;
}

static void play_round(struct worker *w) {
    const int64_t timeout_ms = choose_timeout(w), began_ms = clock_ms();

    subset_choose(&w->locks, &w->random);
    const zkl_err err = zkl_acquire_all(w->locks.locks, w->locks.count, timeout_ms);
    const int64_t took_ms = clock_ms() - began_ms;
    if (err == ZKL_OK)
        hold(w);
    else if (timeout_ms == CROWD_TURN_MS || zkl_errclass(err) != ZKL_CLASS_RETRY)
        die(w, "acquire", zkl_strerror(err));
    expect(w, subset_look(&w->locks) == SUBSET_NONE, "something is held in the end");
    atomic_store(&w->own->session, zkl_session_id(w->session));
    if (took_ms > atomic_load(&w->own->longest_ms))
        atomic_store(&w->own->longest_ms, took_ms);
    atomic_fetch_add(err == ZKL_OK ? &w->own->grants : &w->own->given_up, 1);
}

static bool is_over(const struct worker *w) {
    const size_t played = atomic_load(&w->own->grants) + atomic_load(&w->own->given_up);

    return atomic_load(&w->crowd->is_end) || (w->crowd->rounds > 0 && played >= w->crowd->rounds);
}

static const char *name_of(size_t lock, void *arg) {
    const struct worker *w = arg;

    return crowd_lock(w->prefix, lock);
}

int crowd_worker_main(int argc, char **argv) {
    struct worker w = {.number = 0};

    if (argc != 8)
        die(&w, "--worker", "wrong arguments");
    w.number = strtoul(argv[2], NULL, 10);
    w.prefix = argv[5];
    w.crowd = crowd_map(argv[6]);
    if (!w.crowd || w.number >= CROWD_PROCESSES)
        die(&w, argv[6], strerror(errno));
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != strtol(argv[7], NULL, 10))
        return EXIT_FAILURE;
    w.own = &w.crowd->processes[w.number];
    w.random = (uint64_t)clock_ns() * 2654435761U + w.number + 1;
    zkl_err err = zkl_session_open(
        &w.session, argv[3],
        &ZKL_SESSION_OPTIONS(.session_timeout_ms = w.crowd->session_ms, .root = argv[4]));
    if (err == ZKL_OK)
        err = subset_open(&w.locks, w.session, name_of, NULL, &w);
    if (err != ZKL_OK)
        die(&w, "session", zkl_strerror(err));
    while (!is_over(&w))
        play_round(&w);
    subset_close(&w.locks);
    err = zkl_session_close(w.session);
    if (err != ZKL_OK)
        die(&w, "close", zkl_strerror(err));
    return 0;
}
