/*
 * program - a program with a handle of ZooKeeper's client library, which it attaches to zklock or
 * not: its global watcher, a watch of its own, and what both were told.
 */
#ifndef SUPPORT_PROGRAM_H
#define SUPPORT_PROGRAM_H

#include <stdatomic.h>

#include <zklock_zookeeper.h>
#include <zookeeper/zookeeper.h>

#include "support/fixture.h"

typedef struct program {
    zhandle_t *zh;
    int64_t made_ms; /* on CLOCK_BOOTTIME, before the handle was made */
    int timeout_ms;
    atomic_int state;   /* the last that its global watcher was told */
    atomic_int events;  /* and how many */
    atomic_int changes; /* that program_on_node was told */
} program;

/* Without a handle. */
program program_new(int timeout_ms);
/* With one, which is not connected yet. It stands where it is: the handle points to it. */
void program_begin(program *p, const char *hosts);
/* With one that is connected to the server of the tests. */
void program_connect(program *p);
void program_end(program *p);
/* A watch on a node, with the program as its context. */
void program_on_node(zhandle_t *zh, int type, int state, const char *path, void *context);
/* Whether the server answers it. */
bool program_is_answered(program *p);
bool program_is_connected(program *p);
/* Ends its session, as the session's timeout would. */
void program_expire(program *p);
/* Leaves the test if it fails. knows_when: it says when the handle was made. e may be NULL. */
zkl_session *program_attach(const program *p, bool knows_when, events *e);

#endif
