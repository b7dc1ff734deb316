/*
 * Runs this test program again as a child, which may crash or hang without harm to us, and finds
 * out what became of it.
 */
#ifndef SUPPORT_VICTIM_H
#define SUPPORT_VICTIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/failing.h"

/* What a child leaves behind. Places are relative to where the program is loaded. */
typedef struct victim_report {
    size_t asked, failed;
    uintptr_t caller;  /* of the first allocation that failed; 0: none */
    int signal;        /* that ended it, or 0 */
    failing_part part; /* whose code was running then */
    uintptr_t place;   /* where in that */
} victim_report;

typedef struct victim victim;

/* Starts this program with these arguments, ended by NULL; the first is "--victim". */
victim *victim_start(const char *const *arguments);
/* Whether it has ended; one that has run for longer than limit_ms is killed. */
bool victim_has_ended(victim *v, int64_t limit_ms);
/* After that: its exit status, -1 for one that crashed, -2 for one that was killed. Frees it;
 * output, of that size, gets the end of what it printed. */
int victim_end(victim *v, victim_report *ret_report, char *output, size_t size);
/* The name of the function at a place of a report, without what compilers append. */
void victim_name(uintptr_t place, char *buf, size_t size);

/* In the child, first thing: from now on a crash is reported. */
void victim_begin(void);
/* In the child, in the end: reports how many allocations failed. */
void victim_report_failures(void);

#endif
