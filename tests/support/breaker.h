/*
 * Faults in an ensemble of three, one after the other: each is made, lasts some seconds and is
 * undone, and when all servers serve again the next one is due. A script makes them while the
 * caller goes on with what it has to do.
 *
 * For the thread that runs the test, which it leaves if the script fails, or if the servers do not
 * serve again. What is broken then stays broken.
 */
#ifndef SUPPORT_BREAKER_H
#define SUPPORT_BREAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum breaker_role {
    BREAKER_LEADER,
    BREAKER_FOLLOWER,
    BREAKER_BUSIEST, /* the one with the most clients */
    BREAKER_ANY
} breaker_role;

typedef struct breaker_fault {
    const char *what; /* for the report */
    const char *kind; /* as the script calls it */
    breaker_role role;
    int min_ms, max_ms; /* how long it lasts once it is made */
} breaker_fault;

#define BREAKER_FAULTS_MAX 24

/*
 * The script, called with a number from 1 of one of server_hosts, in their order:
 *
 *     fault --dir DIRECTORY KIND NUMBER
 *     heal --dir DIRECTORY NUMBER
 */
typedef struct breaker_plan {
    const char *script, *directory;
    const breaker_fault *faults;
    size_t count;
    size_t first; /* so many of them, from the beginning, come before any other, and before again */
    int rest_ms;  /* between one and the next */
} breaker_plan;

/* One that was made. CLOCK_BOOTTIME. */
typedef struct breaker_stroke {
    size_t fault;
    int64_t from_ns;   /* just before it was made */
    int64_t healed_ns; /* it was undone */
    int64_t until_ns;  /* all served again; 0: not yet */
} breaker_stroke;

/* The plan stays where it is. */
void breaker_begin(const breaker_plan *plan, uint64_t seed);
/* Goes on with what is due. To be called all the time; takes a fraction of a second at most. */
void breaker_step(void);
/* If none is under way, begins the next one. */
void breaker_hurry(void);
/* Whether all servers serve, as far as this one has to do with it. */
bool breaker_rests(void);
/* Undoes what is broken, and waits until all serve. */
void breaker_end(void);
/* Those that are over, in their order; good until the next step. */
const breaker_stroke *breaker_strokes(size_t *ret_count);

#endif
