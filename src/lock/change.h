/*
 * change - a node's data are set to what follows from them, or the node is deleted: they are read,
 * and it is done by their version, until that succeeds.
 *
 * That is the same however often it is done. So a reply that was lost costs another round.
 */
#ifndef ZKLI_LOCK_CHANGE_H
#define ZKLI_LOCK_CHANGE_H

#include "core/node_data.h"
#include "session/operation.h"
#include "session/session.h"

/* Its caller fills in what is named first; the rest is 0. */
struct zkli_change {
    struct zkl_session *session;
    const char *path;
    const char *what; /* is set there, for the log */
    /* Writes into .data what is to be there, and .length; or .is_removal: the node is to be
     * deleted. False: .result is what it comes to. */
    bool (*compute)(struct zkli_change *change, const struct zkli_reply *reply);
    /* With the lock, before a caller who waits wakes up; NULL: nothing. is_there: not, if no node
     * is. */
    void (*done)(struct zkli_change *change, zkl_err result, bool is_there);
    /* Its own: */
    char data[ZKLI_NODE_DATA_MAX];
    size_t length;
    bool is_removal;
    bool is_waited_for;
    zkl_err result;
    struct zkli_op op;
    struct zkli_operation operation; /* if it is waited for */
    struct zkli_query query;
};

/*
 * With the lock; waits. OK: it is set, or .result, or there is no node. UNREACHABLE: not until that
 * time, on the engine's clock; it may be set all the same.
 */
zkl_err zkli_change_run(struct zkli_change *change, int64_t until_ns);
/* Its two halves: from the first on, .operation runs. */
void zkli_change_start(struct zkli_change *change, int64_t until_ns);
zkl_err zkli_change_wait(struct zkli_change *change);
/*
 * With the lock: the same, and done is all that tells. It may be begun again when that was called.
 * If it rests until then, the end of all sessions ends it, as if it were under way.
 */
void zkli_change_begin(struct zkli_change *change);
void zkli_change_rest(struct zkli_change *change);
void zkli_change_forget(struct zkli_change *change);

#endif
