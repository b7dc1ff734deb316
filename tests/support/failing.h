/*
 * Allocations that fail on command. The tests in tests/alloc are linked with copies of our library
 * and of the ZooKeeper client in which each call that allocates is one of these (the target
 * zklock_failing in tests/CMakeLists.txt); nothing else in the program is touched.
 *
 * A call that allocates is one that may be refused for want of memory or of another resource of the
 * process: besides malloc and its like those that start a thread, make a condition or a timer, ask
 * for random bytes, or look up a name. On whichever thread it happens, it counts.
 */
#ifndef SUPPORT_FAILING_H
#define SUPPORT_FAILING_H

#include <stdbool.h>
#include <stddef.h>

typedef enum failing_part {
    FAILING_NONE,
    FAILING_OWN,   /* our library */
    FAILING_CLIENT /* the ZooKeeper client */
} failing_part;

/* From now on counts the part's calls that allocate, and fails the nth (from 1), if is_lasting all
 * from there. With 0 none fails. */
void failing_arm(failing_part part, size_t nth, bool is_lasting);
/* None is counted and none fails from now on. */
void failing_disarm(void);
/* How many were counted, and how many of them failed, since failing_arm. */
size_t failing_asked(void);
size_t failing_failed(void);
/* Where the first of those was called from; NULL: none was. */
const void *failing_caller(void);

/* How many blocks of memory the part has that it has not freed. */
size_t failing_live(failing_part part);
/* Whose code that is. */
failing_part failing_part_of(const void *address);

#endif
