/*
 * The guardian of run: a process of its own, which goes on where this one cannot. When this process
 * does not say in time that CMD may run on (it is stopped, or hangs), the guardian kills CMD's
 * process group before the hold stops being certain. When this process has died, the guardian kills
 * the group at once, waits until it is gone and ends the session, so that the next holder follows
 * without waiting for the session's timeout.
 *
 * While this process lives and renews, the guardian does nothing. It has none of CMD's descriptors
 * and is in a session of its own, without a terminal.
 */
#ifndef CLI_GUARDIAN_H
#define CLI_GUARDIAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <zklock.h>

typedef struct cli_guardian cli_guardian;

/*
 * Forks it, once. To be called before any thread is started, with the signals taken: it inherits
 * their mask. NULL with errno. hosts: where it ends the session. What is returned lives as long as
 * the process.
 */
cli_guardian *cli_guardian_start(const char *hosts);

/* From now on the session in question is the present one of s. Where no ticket can be had, it is as
 * it was. From any thread. */
void cli_guardian_know_session(cli_guardian *guardian, zkl_session *s);

/* Until when CMD may run, on cli_clock_ms. Before there is a CMD, too. */
void cli_guardian_renew(cli_guardian *guardian, int64_t until_ms);

/* In the child before its exec: the calling process leads the group to end. Async-signal-safe. */
void cli_guardian_join(const cli_guardian *guardian);

/* Whether it has ended CMD's group, because this process did not renew in time. */
bool cli_guardian_has_killed(const cli_guardian *guardian);

/* The group is no concern of the guardian's any more. To be called before its leader is reaped, or
 * when nothing is left of it: the number may be another's after that. */
void cli_guardian_let_go(cli_guardian *guardian);

/* The session is over: the guardian ends. Without this call it takes the end of this process for a
 * death, and ends the session. NULL is accepted. */
void cli_guardian_end(const cli_guardian *guardian);

#endif
