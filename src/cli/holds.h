/*
 * The locks that run takes: one, or several in one step (--all). CMD works under all of them, so
 * the first hold that ends is the one that counts. The holds belong to the calling thread.
 */
#ifndef CLI_HOLDS_H
#define CLI_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zklock.h>

/* A name of 255 bytes and " and 63 more". */
#define CLI_HOLDS_TITLE_BYTES 288

typedef struct cli_holds {
    size_t count;
    char *const *names;                /* borrowed */
    char title[CLI_HOLDS_TITLE_BYTES]; /* for messages about all of them: "NAME and 2 more" */
    zkl_lock *locks[ZKL_ALL_MAX];      /* NULL where none is open */
} cli_holds;

/*
 * Opens the locks by these names, at most ZKL_ALL_MAX. On failure *ret_name is the name that
 * failed. Close follows in either case.
 */
zkl_err cli_holds_open(cli_holds *holds, zkl_session *session, char *const *names, size_t count,
                       const zkl_lock_options *options, const char **ret_name);
void cli_holds_close(const cli_holds *holds);

/* All or none; as zkl_acquire. A zkl_cancel of one of the locks cancels it. */
zkl_err cli_holds_acquire(const cli_holds *holds, int64_t timeout_ms);

/* Gives up what is held, without a wait. */
void cli_holds_give_up(const cli_holds *holds);

/* Gives up what is held and waits until the servers have confirmed it; as zkl_release_wait. */
zkl_err cli_holds_release(const cli_holds *holds, int64_t timeout_ms);

/* Whether all are held at this moment, and how long that stays certain. */
bool cli_holds_are_held(const cli_holds *holds);
int64_t cli_holds_remaining_ms(const cli_holds *holds);

/* The lock that is lost while others are still held, the first of several; NULL: there is none. */
const char *cli_holds_lost_one(const cli_holds *holds);

/* The names, one to a line, for the caller to free. NULL: out of memory. */
char *cli_holds_names(const cli_holds *holds);

/* The paths of the nodes likewise; if verbose, says them. On failure *ret_name is the lock that
 * failed. */
zkl_err cli_holds_nodes(const cli_holds *holds, char **ret_paths, const char **ret_name);

#endif
