/*
 * change - a node's data are set to what follows from them: they are read, and set by their
 * version, until that succeeds.
 *
 * The set is the same however often it is made. So a reply that was lost costs another round.
 */
#ifndef ZKLI_LOCK_CHANGE_H
#define ZKLI_LOCK_CHANGE_H

#include "core/node_data.h"
#include "session/operation.h"
#include "session/session.h"

/* On its caller's stack, who fills in what is named first. */
struct zkli_change {
    struct zkl_session *session;
    const char *path;
    const char *what; /* is set there, for the log */
    /* Writes into .data what is to be there, and .length. False: .result is what it comes to. */
    bool (*compute)(struct zkli_change *change, const struct zkli_reply *reply);
    /* With the lock, before the caller wakes up; NULL: nothing. is_there: not, if no node is. */
    void (*done)(struct zkli_change *change, zkl_err result, bool is_there);
    /* Its own: */
    char data[ZKLI_NODE_DATA_MAX];
    size_t length;
    zkl_err result;
    struct zkli_op set;
    struct zkli_operation operation;
    struct zkli_query query;
};

/*
 * With the lock; waits. OK: it is set, or .result, or there is no node. UNREACHABLE: not until that
 * time, on the engine's clock; it may be set all the same.
 */
zkl_err zkli_change_run(struct zkli_change *change, int64_t until_ns);

/* ZKL_OK: there is a session, or another will come. */
zkl_err zkli_change_end_of_session(const struct zkli_engine *e);

#endif
