/*
 * Processes read and write registers, each time under a lock or several at once. They are killed,
 * stopped for longer than their session lasts, cut off, and have their sessions ended; and the
 * servers may be broken, too. In the end, whatever was done:
 *
 * a register protected by the lock alone has lost a write only to a writer that was late; behind a
 * fence, or by guarded writes, it has lost none; no two processes held a lock at a time; and no
 * node is left.
 */
#ifndef REGISTER_RUN_H
#define REGISTER_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/breaker.h"

typedef struct run_plan {
    long kills, stops; /* of processes; at least */
    long seconds;      /* at least; twice as many, and then some, end the test as failed */
    uint64_t seed;
    int session_ms;     /* timeout of the processes' sessions */
    int fault_every_ms; /* a fault of a process; and up to three times as much */
    bool has_proxies;   /* in which connections are cut; else the processes know all servers */
    const breaker_plan *breaker; /* NULL: the servers are left alone */
    size_t strokes;              /* of it; at least */
} run_plan;

/* Takes --kills, --stops, --seconds and --seed into the plan. False: there is something else. */
bool run_parse(int argc, char **argv, run_plan *plan);
/* In a test, after fixture_start. Once in a process. The plan stays where it is. */
void run_register(const run_plan *plan);

#endif
