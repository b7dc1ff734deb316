/*
 * One of the processes of the soak: takes one of many locks, now and then with a new session, as
 * fast as it can, and looks whether anybody else has it. A program of its own, since nothing of the
 * library survives a fork.
 */
#ifndef SOAK_WORKER_H
#define SOAK_WORKER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SOAK_LOCKS 1000
#define SOAK_WORKERS 50
/* A session is given up after so many operations, on average. */
#define SOAK_SESSION_OPERATIONS 200

enum soak_phase {
    SOAK_RUN,
    SOAK_PAUSE, /* all holds are given back, nobody waits, and each one measures itself */
    SOAK_END
};

struct soak_worker {
    atomic_int pauses; /* it stands still, and has done so in so many pauses */
    atomic_size_t grants, unserved, losses, sessions;
    /* Another was granted, or had been granted later, while this one held. */
    atomic_size_t double_grants;
    /* In the last pause. */
    size_t heap_bytes, resident_kib, descriptors, threads;
};

/* In a file that all have mapped. */
struct soak_shared {
    atomic_int phase, pause; /* pause: the number of the latest one */
    struct soak_worker workers[SOAK_WORKERS];
    _Atomic int64_t tokens[SOAK_LOCKS]; /* the highest that a lock has granted */
};

/* argv: program, "--worker", number, hosts, root, path of the file, pid of the parent. */
int soak_worker_main(int argc, char **argv);
struct soak_shared *soak_map(const char *path);

#endif
