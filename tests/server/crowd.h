/*
 * One process of a crowd. Again and again it takes some of ten locks at once, and looks which other
 * process has them, too. What each one holds stands in memory that all share: no server is asked
 * about it. It is a program of its own, since nothing of the library survives a fork.
 */
#ifndef SERVER_CROWD_H
#define SERVER_CROWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/subset.h"
#include "support/wait.h"

#define CROWD_PROCESSES 16
/* Within so much each has its turn, but for a deadlock. The dead and the stopped keep others
 * waiting for a session's time or two, and those that wait behind these, too. */
#define CROWD_TURN_MS (3 * SOON_MS)

struct crowd_process {
    _Atomic int64_t session; /* its latest */
    atomic_size_t grants, given_up, lost;
    _Atomic int64_t longest_ms; /* that it waited for its turn */
};

/* In a file that all have mapped. */
struct crowd {
    size_t rounds;   /* of each process; 0: until the end */
    int session_ms;  /* timeout of the processes' sessions */
    int hold_max_ms; /* at most, of a hold */
    atomic_bool is_end;
    atomic_size_t overlaps, torn; /* seen */
    atomic_size_t together_max;   /* processes that held something at a time */
    struct crowd_process processes[CROWD_PROCESSES];
    /* Of each lock, by process: the end of the lease as it was at the grant, in ns of
     * CLOCK_BOOTTIME. Negative for a reader's hold; 0: none. */
    _Atomic int64_t claims[SUBSET_LOCKS][CROWD_PROCESSES];
};

/* argv: program, "--worker", number, hosts, root, prefix of the locks' names, path of the file, pid
 * of the parent. */
int crowd_worker_main(int argc, char **argv);
struct crowd *crowd_map(const char *path);
/* Static, good for the next 63 calls. */
const char *crowd_lock(const char *prefix, size_t lock);
/* The process holds a lock for sure. */
bool crowd_has_claim(const struct crowd *c, size_t process);
void crowd_drop_claims(struct crowd *c, size_t process);

#endif
