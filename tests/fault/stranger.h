/*
 * A client in a process of its own, which can be stopped and killed: this very program, started
 * again. It does what it is told, a word at a time, and answers each with a line.
 *
 *   acquire  waits for its lock       -> "OK <token>", or another error and 0
 *   release                           -> an error's name
 *   idle     acquires and releases, and its node stays -> "idle <token>"; when it has been stopped
 *            for long, acquires again at once                   -> an error's name
 *   churn    acquires and releases until it is killed           -> "churning"
 *   watch    looks at its hold until it has been stopped for long -> "watching", and then what it
 *            sees first, and what becomes of what it writes all the same:
 *            "first <held> <token>, fence <error>, guard <error>"
 *
 * It ends when we do. For the thread of the tests.
 */
#ifndef FAULT_STRANGER_H
#define FAULT_STRANGER_H

#include <signal.h>
#include <sys/types.h>

#include "support/fixture.h"

enum {
    STRANGER_LINE_MAX = 256
};

/* What the lock protects: who is let in shows its token at the fence, and writes the znode under
 * the guard. */
typedef struct resource {
    const char *fence, *node; /* a file, a path */
} resource;

typedef struct stranger {
    pid_t pid;
    int to, from;
    char name[64]; /* of its lock */
    size_t used;
    char line[STRANGER_LINE_MAX]; /* what has come of the next one */
} stranger;

/* To be called first thing in main: does not return if this is the other process. */
void stranger_main(int argc, char **argv);

/* These leave the test if they fail. */
void stranger_start(stranger *s, const char *name, int timeout_ms, const resource *r);
void stranger_tell(stranger *s, const char *word);
/* Waits for the next line, NUL-terminated, without its end. */
void stranger_hear(stranger *s, char ret_line[STRANGER_LINE_MAX]);
void stranger_signal(const stranger *s, int number);
/* Kills it, if it is there, and waits for its end. */
void stranger_end(stranger *s);

#endif
