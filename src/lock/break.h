/*
 * break - ends the hold of one contender, or its place in the queue, from outside: its node is
 * marked, which ends the hold at once, and is deleted when its holder must know of that.
 *
 * When that is. A holder is certain until T after the last heartbeat by which it knows of no mark,
 * less a margin; and it has sent that before the mark was committed (engine/sight.c). So its own
 * T, from the answer to the mark on. A mark that was there before, somebody else's, counts from the
 * answer to the read that shows it.
 */
#ifndef ZKLI_LOCK_BREAK_H
#define ZKLI_LOCK_BREAK_H

#include "core/node_name.h"
#include "engine/engine.h"
#include "lock/change.h"

struct zkli_breaking {
    struct zkli_query barrier; /* before the first look: the server may be late */
    int64_t session_id;        /* in which it was made: the next session's server may be late */
    struct zkli_change change; /* of the node; the same again and again */
    struct zkli_operation operation; /* the call */
    struct zkli_timer next_look;
    char path[ZKLI_PATH_MAX];
    char reader[ZKLI_PATH_MAX]; /* what a writer's node may become; "": nothing */
    bool was_there;
    /* Of the node at that path: */
    int64_t czxid;
    int64_t due_ns;  /* when it may be deleted; ZKLI_NEVER: it is not known to be marked */
    int64_t wait_ns; /* for the next look */
    int64_t timeout_ns;
};

/* node: a contender's, in the queue of that lock. */
void zkli_breaking_init(struct zkli_breaking *b, struct zkl_session *s, const char *name,
                        const char *node);
void zkli_breaking_fini(struct zkli_breaking *b);
/* With the lock: from now on .operation runs, until it is finished. */
void zkli_breaking_begin(struct zkli_breaking *b, int64_t timeout_ms);

#endif
