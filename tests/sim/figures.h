/* figures - what is counted, what can be done to a schedule, and who looks at it; see sim.h. */
#ifndef SIM_FIGURES_H
#define SIM_FIGURES_H

#include <stdint.h>
#include <stdio.h>

enum fault {
    FAULT_DISCONNECT,
    FAULT_LOST_REPLY,
    FAULT_LOST_REQUEST,
    FAULT_EXPIRY,
    FAULT_SILENCE,
    FAULT_CUT_OFF_FOLLOWER,
    FAULT_DEPOSED_LEADER,
    FAULT_STALLED_SERVER,
    FAULT_TURNING_STALL,
    FAULT_STALLED_LOG,
    FAULT_SILENT_SERVER,
    FAULT_CRASHED_SERVER,
    FAULT_LAGGING_FOLLOWER,
    FAULT_PAUSE,
    FAULT_OPERATOR,
    FAULT_PARENT_REAPED,
    FAULT_CANCEL,
    FAULT_CLOSE,
    FAULT_LOCK_CLOSE,
    FAULT_KILL,
    FAULT_THROTTLE,
    FAULT_DENIAL,
    FAULT_REFUSAL,
    FAULT_FORGOTTEN_STATE,
    FAULT_LATE_PINGS,
    FAULT_LOST_TOUCH,
    FAULT_TOLD_LATE,
    FAULT_KINDS
};

/* Who found the violation. */
enum checker {
    CHECK_EXCLUSION, /* at most one certain holder */
    CHECK_BACKING,   /* a certain holder's node is there, and its session's */
    CHECK_LEASE,     /* who is certain has been heard of by the leader, less than T ago */
    CHECK_TOKENS,    /* tokens grow from node to node */
    CHECK_PERMITS,   /* at most as many hold a semaphore as it has permits */
    CHECK_LINGER,    /* an idle node is in nobody's way */
    CHECK_WANTED,    /* a holder is told that others wait, once, and for a reason */
    CHECK_SINCE,     /* a node says since when it holds, if that is long after it was made */
    CHECK_OWNERS,    /* what an owner has given up goes before what it wants next */
    CHECK_TOGETHER,  /* several at once are granted together, by nodes of one transaction */
    CHECK_TURNS,     /* a node is handed on in its process as often as was asked for, at most */
    CHECK_ORDER,     /* grants in the queue's order, and only on nodes not known to be gone */
    CHECK_GHOSTS,    /* after quiet, a node for each contender that has one, and no other */
    CHECK_WATCHES,   /* after quiet, no watch on what is not there */
    CHECK_WAKES,     /* one waiter wakes per release */
    CHECK_DEADLINES, /* every waiter is told by its deadline */
    CHECK_LIVENESS,  /* every waiter is served when all is well again */
    CHECK_ADMISSION, /* after quiet, who waits is kept out by somebody */
    CHECK_LOSS,      /* a hold ends by release or with LOST, in time, and for a reason */
    CHECK_KEPT,      /* a hold outlasts a silent server, and a log that stalls for a while */
    CHECK_DELETES,   /* nobody deletes another's node that is not marked */
    CHECK_BREAKS,    /* a mark ends the hold; an operator is told what is so */
    CHECK_ASKS,      /* who asks for a hold is told what is so; no mark is lost */
    CHECK_ATTACHED,  /* a close leaves nothing in the session of a handle that lives on */
    CHECK_WRITES, /* guarded writes: in the order of the holds, and what their callers are told */
    CHECKERS
};

/* Over many schedules. */
struct figures {
    uint64_t schedules, operations, events, virtual_ms;
    uint64_t faults[FAULT_KINDS];
    uint64_t guarded, guarded_unsure, guarded_lost, guarded_unsent, guarded_again;
    uint64_t several, several_refused, told_writes;
    uint64_t places_left, places_taken;  /* of waits that ended; by the next acquire */
    uint64_t together, together_granted; /* acquires of several locks at once */
    uint64_t told, untold;               /* whose callers go on; granted, and not told in time */
    uint64_t grants, hand_offs, handed_on, nested, shared, idle, lingered, wanted, asked, tried,
        permits, touches, said_since, resizes, mismatches, turns, losses, requeues, timeouts, busy,
        cancels, closes, unreachable, late;
    uint64_t breaks, broken, broken_by_deletion, breaks_too_short, asks, asks_heard, buried;
    uint64_t again, again_refused, again_lost, given_up, given_up_early, given_up_before,
        unreleased;
    uint64_t refused, forgotten, looks, double_faults, without_quorum, elections, expiries, moves,
        writes, lost_replies, late_creates, late_pings, lost_touches, told_late, watches_resent,
        past_counter, ended_heard, syncs, proofs_by_syncs, successions, drops, older_words, kept,
        attached, attached_again, attached_over, left_untidy, unheard;
};

extern const char *const fault_names[FAULT_KINDS];
extern const char *const checker_names[CHECKERS];

void figures_add(struct figures *to, const struct figures *from);
void figures_print(const struct figures *figures, FILE *out);

#endif
