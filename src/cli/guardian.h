/*
 * The guardian of run: a process of its own, which goes on where this one cannot. This process may
 * be stopped, or hang, and so not say in time that CMD may run on. Then the guardian kills CMD's
 * process group before the hold stops being certain. When this process has died, the guardian
 * kills the group at once, waits until it is gone and ends the session. So the next holder need not
 * wait for the session's timeout. With --on-lost=term the guardian sends one SIGTERM in place of
 * SIGKILL, with --on-lost=ignore it sends nothing. It ends no session while the group runs.
 *
 * While this process lives and renews, the guardian does nothing. It has none of CMD's descriptors
 * and is in a session of its own, without a terminal.
 */
#ifndef CLI_GUARDIAN_H
#define CLI_GUARDIAN_H

#include "cli/cgroup.h"
#include "cli/on_lost.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <zklock.h>

typedef struct cli_guardian cli_guardian;

typedef struct cli_guardian_orders {
    const char *hosts; /* where it ends the session */
    cli_on_lost on_lost;
    const cli_cgroup *cgroup; /* CMD's, or NULL: it counts as the group, and is removed */
} cli_guardian_orders;

/*
 * Forks it, once. To be called before any thread is started, with the signals taken: it inherits
 * their mask. NULL with errno. What is returned lives as long as the process.
 */
cli_guardian *cli_guardian_start(const cli_guardian_orders *orders);

/* From now on the session in question is the present one of s. Where no ticket can be had, it is as
 * it was. From any thread. */
void cli_guardian_know_session(cli_guardian *guardian, zkl_session *s);

/* Until when CMD may run, on cli_clock_ms. Before there is a CMD, too. */
void cli_guardian_renew(cli_guardian *guardian, int64_t until_ms);

/* In the child before its exec: the calling process leads the group to end. False if its time is
 * over, and the guardian would kill it: it must not begin, and the guardian counts as having acted.
 * Async-signal-safe. */
bool cli_guardian_join(const cli_guardian *guardian);

/* CMD's group was sent SIGTERM for the hold: the guardian has no second one to send. */
void cli_guardian_heed_term(cli_guardian *guardian);

/* Whether it has sent CMD's group its signal, because this process did not renew in time. */
bool cli_guardian_has_acted(const cli_guardian *guardian);

/* The group is no concern of the guardian's any more. To be called before its leader is reaped: the
 * number may be another's after that. */
void cli_guardian_let_go(cli_guardian *guardian);

/* The session is over: the guardian ends. Without this call it takes the end of this process for a
 * death, and ends the session. NULL is accepted. */
void cli_guardian_end(const cli_guardian *guardian);

#endif
