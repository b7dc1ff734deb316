/*
 * What became of a register that several processes read and wrote under a lock: the record of it,
 * and its judge. A history is lines of text, of which each process appends its own in one write, so
 * that those of a killed one are whole or missing:
 *
 *     i <op> <register> <token> <now>                     the lock is held; before the read
 *     w <op> <token> <read> <written> <held> <until>      held is true; before the write
 *     r <op> ok|refused|unsure <now> <held>               after it
 *     j <op> <register> <token> <now>                     as i, by a reader, which does not write
 *     q <op> <read> <read again>                          held is true before and after these
 *     k <process> <now>                                   the process is dead
 *     s <process> <now>  and  c <process> <now>           it is stopped; it goes on
 *     e <process> <now>                                   somebody else ends its session
 *     x <process> <until>                                 has done so; it knows it by then
 *     l <process> <now>                                   it was told that its hold is lost
 *
 * <op> is <process> * HISTORY_OPS + a number; <register> one letter; times are CLOCK_BOOTTIME in
 * ns, <until> the end of the lease as it was known then. Each write is of a value never used
 * before, the register begins as 0.
 */
#ifndef SUPPORT_HISTORY_H
#define SUPPORT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_OPS (1 << 20)

typedef struct history history;

typedef struct history_figures {
    size_t operations; /* begun */
    size_t readings;   /* by a reader, twice */
    size_t writes;     /* tried */
    size_t grants;     /* different tokens among these */
    size_t hand_offs;  /* of the grants, those after another process's */
    size_t ok, refused, unsure;
    size_t unsure_done; /* of the unsure ones, those that somebody has read */
    size_t late;        /* writes that landed, or may have, after the writer's lease */
    size_t lost;        /* writes that were OK and are not in the register's past */
    size_t by_stop;     /* of the lost ones, those whose late writer was stopped before its write */
} history_figures;

history *history_new(void);
void history_free(history *h);
/* One line, without its end. False: it makes no sense, here or at all. */
bool history_add(history *h, const char *line);

/*
 * Whether the register's past, back from the value it has in the end, is one chain in which each
 * write has read what the write before it wrote; with every OK write in it, no refused one, each
 * one once, in an order that agrees with the clock; tokens never less than the one before.
 *
 * What a reader has read once, it has read again.
 *
 * is_strict: a fence or a guard stands before the register, so there is nothing else. If not, OK
 * writes may be missing, where one of two writes that have read the same was late: the writer's
 * lease, of which it was certain before, was over when the write landed. Each loss has to have such
 * a write, and only such writes may have a lower token than the one before.
 *
 * False: no, and why has what was seen first.
 */
bool history_check(history *h, char reg, int64_t final, bool is_strict,
                   history_figures *ret_figures, char *why, size_t size);

/*
 * Whether no two processes held the register's lock at a time, unless both read, by what they said
 * about themselves: from an operation's begin, if the hold was certain later, to the last time that
 * it was. A hold that was there when somebody else ended the session may have gone on until it had
 * to be known.
 *
 * False: two did, and why says which.
 */
bool history_check_holds(const history *h, char reg, char *why, size_t size);

/*
 * The same of a semaphore, whose holders are noted as readers: whether never more than so many
 * processes held it at a time. *ret_most: so many did.
 */
bool history_check_permits(const history *h, char reg, size_t permits, size_t *ret_most, char *why,
                           size_t size);

/* How many times a process was told that its hold is lost. */
size_t history_losses_told(const history *h);

/* Times without a write that are looked at: */
typedef struct history_span {
    int64_t since_ns;          /* those that began then or later */
    int64_t from_ns, until_ns; /* and overlap this */
    int64_t end_ns;            /* what goes on after that is not counted */
} history_span;

/* The longest of these in which no write of any of these registers was OK. What was never followed
 * by another write goes on to the end. */
int64_t history_longest_gap_ns(const history *h, const char *registers, const history_span *span);

#endif
