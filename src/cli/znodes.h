/*
 * Single requests about znodes, in a session's lent handle: for what the public header has no call,
 * because no lock needs it. Each waits until a deadline at most.
 */
#ifndef CLI_ZNODES_H
#define CLI_ZNODES_H

#include "cli/interrupt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zklock.h>

typedef enum cli_znode_result {
    CLI_ZNODE_OK,
    CLI_ZNODE_NONE, /* no such node, or no parent */
    CLI_ZNODE_EXISTS,
    CLI_ZNODE_NOT_EMPTY,
    CLI_ZNODE_DENIED,
    CLI_ZNODE_UNSUPPORTED,
    CLI_ZNODE_SILENT,  /* no answer in time, or the connection broke: done or not */
    CLI_ZNODE_STOPPED, /* a signal came */
    CLI_ZNODE_FAILED
} cli_znode_result;

typedef enum cli_znode_kind {
    CLI_ZNODE_PERSISTENT,
    CLI_ZNODE_CONTAINER,
    CLI_ZNODE_SEQUENTIAL /* and ephemeral */
} cli_znode_kind;

typedef struct cli_znodes cli_znodes;

/* An answer. Of a list: the names, and how many children were ever created in the node. That is the
 * number of the next one. */
typedef struct cli_znode {
    cli_znode_result result;
    bool is_ephemeral;
    int64_t created;
    size_t count;
    char **names;
    char *path; /* of a create: the node's */
} cli_znode;

typedef struct cli_znode_call cli_znode_call;

/* Borrows both. NULL: out of memory, or the session has no handle at the moment. Until
 * cli_znodes_limit nothing is waited for. */
cli_znodes *cli_znodes_open(zkl_session *session, cli_interrupt *interrupt);
/* Gives the handle back; to be called before the session is closed. */
void cli_znodes_return(cli_znodes *znodes);
/* To be called when the session is closed; all calls are freed. NULL is accepted. */
void cli_znodes_free(cli_znodes *znodes);

/* From now on nothing waits for longer than until then, or, if has_interrupt, than a signal. */
void cli_znodes_limit(cli_znodes *znodes, int64_t deadline_ms, bool has_interrupt);

/* Sends, and returns at once; NULL: out of memory. Paths begin with a '/', behind the chroot. */
cli_znode_call *cli_znode_list(cli_znodes *znodes, const char *path);
cli_znode_call *cli_znode_create(cli_znodes *znodes, const char *path, cli_znode_kind kind);
cli_znode_call *cli_znode_delete(cli_znodes *znodes, const char *path);

/* The answer, borrowed until cli_znode_end; never NULL, also for a NULL. */
const cli_znode *cli_znode_wait(cli_znodes *znodes, cli_znode_call *call);
/* Frees the call, once it is answered. */
void cli_znode_end(cli_znodes *znodes, cli_znode_call *call);

#endif
