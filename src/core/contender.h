/*
 * contender - one acquisition: the state machine that takes a place in a lock's queue, waits for
 * it to become the first, holds, and leaves without a trace. Pure: events in, actions out; time,
 * randomness and every reply arrive in the event, and memory is the caller's.
 *
 *   idle -> probing -> enqueuing -> listing -> arming -> waiting -> admitted -> held -> leaving
 *                      |  ^    \-> unsure -> searching -> adopting             ^  |  -> gone
 *                      parenting                      claiming -> leaving   turning
 *
 * A semaphore's: recording, and fronting -> front in place of arming -> waiting.
 * One of several that are acquired at once: searched between searching and adopting; clearing, when
 * all of them begin anew. Of any: clearing, when its node is marked.
 *
 * Not here: requests in flight, retries' timing, watches shared by path (session/).
 */
#ifndef ZKLI_CORE_CONTENDER_H
#define ZKLI_CORE_CONTENDER_H

#include "core/admission.h"
#include "core/result.h"

enum zkli_contender_state {
    ZKLI_IDLE,      /* no node; begins when the session is connected */
    ZKLI_PROBING,   /* a try: list before anything is written */
    ZKLI_PARENTING, /* create the directories above the lock's, from the lowest missing one */
    ZKLI_ENQUEUING, /* create and list in one flight, behind the lock's directory if need be */
    ZKLI_UNSURE,    /* the create's reply was lost; search when connected */
    ZKLI_SEARCHING, /* barrier and list in one flight: is there a node with our uuid? */
    ZKLI_SEARCHED,  /* one of several: it was looked for; the others' searches may go on */
    ZKLI_ADOPTING,  /* read the node found, whose is it, and list */
    ZKLI_LISTING,   /* our node is known, its place is not */
    ZKLI_ORDERING,  /* as listing, by czxid, near the counter's end */
    ZKLI_ARMING,    /* set the watches: own node, then predecessor */
    ZKLI_WAITING,   /* both watches are set */
    ZKLI_RECORDING, /* a semaphore's: write the number of permits into the directory without data */
    ZKLI_FRONTING,  /* a semaphore's: set the watches on own node, data and children, and list */
    ZKLI_FRONT,     /* all three are set, and nothing has changed since that listing */
    ZKLI_ASKING,    /* a try: ask the holder of a node that may be idle to let go */
    ZKLI_ADMITTED,  /* its turn has come; the lease is too short to begin on, or it is one of
                       several, and not all are admitted; watch the own node */
    ZKLI_CLEARING,  /* delete our node, and then begin anew: it is marked; or, of several, with the
                       others */
    ZKLI_HELD,
    ZKLI_TURNING,  /* held, by a writer that becomes a reader */
    ZKLI_CLAIMING, /* a node that bears our session's tag: read whose it is */
    ZKLI_LEAVING,  /* delete our node, if there is one, until the server has confirmed */
    ZKLI_GONE,
    ZKLI_CONTENDER_STATES
};

/* The requests a contender can have in flight, as bits. */
enum {
    ZKLI_ASK_PARENT = 1u << 0,
    ZKLI_ASK_CREATE = 1u << 1,
    ZKLI_ASK_BARRIER = 1u << 2,
    ZKLI_ASK_LIST = 1u << 3,  /* answered by LISTED with a listing by sequence */
    ZKLI_ASK_ORDER = 1u << 4, /* read every sibling's czxid; answered by LISTED, by czxid */
    ZKLI_ASK_OWN = 1u << 5,   /* read our node and watch it */
    ZKLI_ASK_PREDECESSOR = 1u << 6,
    ZKLI_ASK_DELETE = 1u << 7,
    ZKLI_ASK_OWNER = 1u << 8, /* read whose it is, without a watch */
    ZKLI_ASK_TURN = 1u << 9,  /* a reader's node in place of the writer's, in one transaction */
    ZKLI_ASK_DIRECTORY = 1u << 10, /* read the directory's data */
    ZKLI_ASK_RECORD = 1u << 11,    /* set the directory's data, while our node is there */
    ZKLI_ASK_TOUCH = 1u << 12,     /* mark our node, for whoever watches it */
    ZKLI_ASK_LET_GO = 1u << 13,    /* mark the node in .found, for its owner */
    ZKLI_ASK_FOLLOWERS = 1u << 14, /* list the children and watch them: does anybody wait for us? */
    ZKLI_ASK_SINCE = 1u << 15      /* write into our node when it was granted, for who looks */
};
#define ZKLI_ASK_COUNT 16
#define ZKLI_ASKS ((1u << ZKLI_ASK_COUNT) - 1)

#define ZKLI_FLIGHT_MAX 4

/* What the contender knows of the watch on a node. */
enum zkli_node_watch {
    ZKLI_UNWATCHED, /* not set, or it fired and is to be set again */
    ZKLI_WATCHED,
    ZKLI_NODE_CHANGED, /* the predecessor's: it fired while the other watch was being set */
    ZKLI_NODE_DELETED  /* our own node's: the node is gone */
};

/* What a contender's owner is told. */
enum zkli_notice {
    ZKLI_NOTICE_REQUEUED, /* the place in the queue was lost */
    ZKLI_NOTICE_QUEUED,   /* .position has changed */
    ZKLI_NOTICE_GRANTED,  /* the acquisition succeeded */
    ZKLI_NOTICE_TURNED,   /* the hold is a reader's; or still a writer's, if there is an .error */
    ZKLI_NOTICE_WANTED,   /* another client may want the hold: its node is not to stay idle */
    ZKLI_NOTICE_AWAITED,  /* another client waits for the hold's end, or has asked for it */
    ZKLI_NOTICE_FAILED,   /* the acquisition failed: .error; the node may still be leaving */
    ZKLI_NOTICE_LOST,     /* the hold is over without a release */
    ZKLI_NOTICE_GONE,     /* nothing is left on the server: free it; late replies are void */
    ZKLI_NOTICES
};

/*
 * What a step asks for, to be carried out before the next event. The flight is sent in its order,
 * which the server keeps on one connection: a list sees the create before it, and our node's watch
 * is set before the predecessor's.
 */
struct zkli_actions {
    unsigned flight[ZKLI_FLIGHT_MAX]; /* a ZKLI_ASK_ each */
    size_t flight_count;
    enum zkli_notice notices[ZKLI_NOTICES]; /* in the order in which they came about */
    size_t notice_count;
    bool is_retried;     /* send RETRY after a while */
    bool awaits_session; /* it goes on with LEASE, or in another session */
    /* The listing in this event names another node to watch, before the flight is sent. NULL: the
     * predecessor is as it was. Borrowed from the listing. */
    const char *predecessor;
};

enum zkli_contender_event_type {
    ZKLI_EV_CONNECTED, /* a new connection, also of a new session; once at the start if connected */
    ZKLI_EV_EXPIRED,   /* the session is over, all requests with it */
    ZKLI_EV_RETRY,
    ZKLI_EV_PARENT,  /* replies: .result */
    ZKLI_EV_CREATED, /* .node, .czxid */
    ZKLI_EV_BARRIER,
    ZKLI_EV_LISTED,   /* .listing */
    ZKLI_EV_OWN_READ, /* .czxid, .owner */
    ZKLI_EV_PREDECESSOR_READ,
    ZKLI_EV_DELETED,
    ZKLI_EV_OWNER_READ, /* .owner */
    ZKLI_EV_TURNED,
    ZKLI_EV_DIRECTORY_READ, /* .permits is what was read */
    ZKLI_EV_RECORDED,
    ZKLI_EV_TOUCHED,
    ZKLI_EV_ASKED_TO_LET_GO,
    ZKLI_EV_FOLLOWERS,  /* .listing */
    ZKLI_EV_SINCE_SENT, /* that was read, and is being set; what is sent now comes behind it */
    ZKLI_EV_SINCE_TOLD,
    ZKLI_EV_OWN_EVENT, /* a watch fired: .is_deleted, or else changed */
    ZKLI_EV_PREDECESSOR_EVENT,
    ZKLI_EV_DIRECTORY_EVENT, /* its data */
    ZKLI_EV_CHILDREN_EVENT,
    ZKLI_EV_LEASE,     /* .is_certain or .is_ample may have changed */
    ZKLI_EV_HEARTBEAT, /* the time for what need not be done at once */
    ZKLI_EV_TURN,      /* a writer that holds is to become a reader */
    ZKLI_EV_IDLE,      /* nobody holds by it for the moment */
    ZKLI_EV_GRANT,     /* one of several: all are ready */
    ZKLI_EV_ADOPT,     /* one of several, SEARCHED: every one of them has its node, or found it */
    ZKLI_EV_ANEW,      /* one of several, SEARCHED or with a node: not every one has. What is in
                          flight is void */
    ZKLI_EV_RELEASE,   /* the holder is done */
    ZKLI_EV_ABANDON,   /* the waiter is done: .error says why */
    ZKLI_EVENT_TYPES
};

struct zkli_contender_event {
    enum zkli_contender_event_type type;
    /* Always: */
    bool is_connected;
    bool is_certain;        /* the lease, at this moment */
    bool is_ample;          /* certain, and for long enough to begin a hold on */
    bool must_look_first;   /* its node has to be read before it begins to hold */
    bool is_to_be_replaced; /* the session, by another: no node is made in this one */
    bool is_held_back;   /* its owner has left a node that goes first: none is made before that */
    bool has_waited;     /* its node is older than a hold that began at once would make it */
    uint64_t connection; /* number of the present connection, also across sessions */
    int64_t session_id;
    const char *fresh_uuid; /* used for a new place: then .uuid of the contender equals it */
    const struct zkli_permits *permits; /* as last read of the directory, by any contender */
    const char *predecessor; /* the last one that the actions named, while it is watched, or about
                                to be; NULL: none */
    /* By type: */
    enum zkli_result result;
    const char *node; /* the child's name, without its directory */
    int64_t czxid;
    int64_t owner; /* ephemeralOwner */
    const struct zkli_listing *listing;
    bool is_deleted;
    bool is_touched; /* PREDECESSOR_READ: it is marked as admitted */
    bool is_asked;   /* OWN_READ: to let go; TURNED: so was the writer, unread */
    bool is_broken;  /* OWN_READ: the node is marked: its hold is over, or its place */
    int error;       /* a zkl_err */
    unsigned unsent; /* RELEASE, ABANDON: requests taken back: no reply will come */
};

/* A process may have thousands of these: a byte for an enum, a bit for a truth. */
struct zkli_contender {
    enum zkli_contender_state state : 8;
    enum zkli_kind kind : 8;
    enum zkli_node_watch own_watch : 8;
    enum zkli_node_watch predecessor_watch : 8; /* ARMING, WAITING */
    enum zkli_node_watch directory_watch : 8;   /* a semaphore's: FRONTING, FRONT */
    /* Likewise; and of a node that may be kept: set by the listing that granted it; and of a hold
     * that tells. */
    enum zkli_node_watch children_watch : 8;
    enum zkli_verdict verdict : 8;       /* of the last listing */
    enum zkli_kind predecessor_kind : 8; /* likewise: WATCH_NODE */
    bool is_try : 1;
    bool is_grouped : 1;  /* one of several that are, or were, acquired at once */
    bool has_probed : 1;  /* a try: it found no other contender */
    bool has_reader : 1;  /* a reader's node may have taken the place of ours: TURNING, and LEAVING
                         from there */
    bool has_turned : 1;  /* a reader that was a writer */
    bool is_hand_off : 1; /* the predecessor's end admits us, on the connection that listed it */
    bool may_have_followers : 1;
    bool is_broken : 1;     /* its node is marked, and counts as deleted; it is to be deleted */
    bool may_be_kept : 1;   /* its node may stay while nobody holds by it */
    bool is_wanted : 1;     /* so it may not any more */
    bool tells_awaited : 1; /* AWAITED is told, once for its node; known in any case */
    bool is_awaited : 1;
    bool owes_since : 1; /* it holds, and its node's age does not say since when */
    /* A semaphore's: */
    bool has_agreed : 1;    /* the permits were recorded when it first looked */
    bool needs_permits : 1; /* what was known of the directory is not of the last listing */
    bool owes_touch : 1;    /* admitted, with others behind; not confirmed yet */
    bool is_predecessor_touched : 1;
    bool is_last_look : 1;        /* it is; once listed since, that is as good as unmarked */
    int permits;                  /* as asked for; 0: as recorded */
    struct zkli_permits recorded; /* of its directory; UNKNOWN: none for this listing */
    uint16_t depth;               /* components of the directory's path */
    uint16_t parent_level;        /* which one is created: 1 the directory, 2 its parent; 0 none */
    unsigned in_flight;           /* ZKLI_ASK_ bits */
    int error;
    uint8_t results[ZKLI_ASK_COUNT]; /* of the flight, by bit number: a zkli_result each */
    unsigned told_position;          /* + 1; 0: not told */
    int64_t czxid; /* our node's, its token; of a reader that was a writer, the writer's */
    int64_t owner;
    /* What the last listing said: */
    uint64_t listed_on; /* the connection it came over; 0: not listed yet */
    unsigned position;  /* contenders before us */
    unsigned staying;   /* those that keep us out, and are no leaving nodes of our session */
    char uuid[ZKLI_UUID_LENGTH + 1];
    char node[ZKLI_OWN_CHILD_MAX + 1];  /* our node, "" while there is none that we know */
    char found[ZKLI_OWN_CHILD_MAX + 1]; /* a node with our uuid; of a try, one that may be asked to
                                           let go; "" if none */
    const char *listed_predecessor;     /* during a step: for its actions */
};

/* depth: components of the lock directory's path below the client's root, at least 1. */
void zkli_contender_init(struct zkli_contender *c, enum zkli_kind kind, const char *uuid,
                         bool is_try, unsigned depth);
/* A node that no contender knows, with our session's tag: to be deleted if the session owns it,
 * else left alone, for any client can make up a name. Starts in CLAIMING; send CONNECTED. */
void zkli_contender_init_orphan(struct zkli_contender *c, const char *node);

/* The one door. */
struct zkli_actions zkli_contender_step(struct zkli_contender *c,
                                        const struct zkli_contender_event *event);

/* Whether nothing is in flight though the state needs a reply: the contender goes on at CONNECTED
 * or RETRY, or when it leaves. */
bool zkli_contender_is_parked(const struct zkli_contender *c);
/* Whether there may be a node of this contender's that it does not know. */
bool zkli_contender_is_unsure(const struct zkli_contender *c);
/* Whether it leaves, and may leave a node behind whose delete is not under way: not yet, or not any
 * more. No longer, if the servers have refused to say, or to delete. */
bool zkli_contender_is_unsettled(const struct zkli_contender *c);
/* Whether its reads of the directory are to set a watch, and its listings. */
static inline bool zkli_contender_watches_directory(const struct zkli_contender *c) {
    return c->state == ZKLI_FRONTING;
}
static inline bool zkli_contender_watches_children(const struct zkli_contender *c) {
    return c->state == ZKLI_FRONTING || (c->state == ZKLI_ENQUEUING && c->may_be_kept);
}
/*
 * One of several that are acquired at once (engine/groups.c). Their nodes are made in one
 * transaction, under one uuid. If one node is lost, all are made anew: each is deleted, and the
 * next transaction is sent when all have gone. (If one alone were made anew, behind others, two
 * callers could wait for each other.) Before CONNECTED.
 */
void zkli_contender_join(struct zkli_contender *c);
/* Its create is about to be sent under this uuid, which the others' creates have, too. */
void zkli_contender_share_uuid(struct zkli_contender *c, const char *uuid);
/* Whether it could be granted, but for the others and the lease. */
bool zkli_contender_is_ready(const struct zkli_contender *c, uint64_t connection);
/* Its node may stay while nobody holds by it. Before CONNECTED. */
void zkli_contender_keep(struct zkli_contender *c);
/*
 * From now on the owner is told when another client waits for the hold. Nobody writes anything
 * for that: who holds has a watch on the children of the directory. The watch is set at
 * the first heartbeat, so that a short hold costs nothing; and again when it has fired. Whoever
 * shares the lock sets it at heartbeats only: each arrival of its like fires it.
 */
static inline void zkli_contender_tell_awaited(struct zkli_contender *c) {
    c->tells_awaited = true;
}
/* The watch on its node may not stand any more. Who holds sets it again at the next heartbeat. */
static inline void zkli_contender_distrust_watch(struct zkli_contender *c) {
    if (c->state == ZKLI_HELD && c->own_watch == ZKLI_WATCHED)
        c->own_watch = ZKLI_UNWATCHED;
}
/* Whether that is so now: nobody stood behind it when it was listed, and the watch on the children
 * that was set then would have told of anybody since. */
bool zkli_contender_may_idle(const struct zkli_contender *c);

/* Whether the one before shares the lock with its like, and this one does not: others like that,
 * behind it, may wait for it alone. */
bool zkli_contender_parts_sharers(const struct zkli_contender *c);

const char *zkli_contender_state_name(enum zkli_contender_state state);

/* Whether it waits for others to go, and has nothing to ask. */
bool zkli_contender_rests(const struct zkli_contender *c);
/* Whether a call holds by it. */
bool zkli_contender_holds(const struct zkli_contender *c);
/* Whether no call waits for it or holds by it any more. */
bool zkli_contender_has_left(const struct zkli_contender *c);
/* The name of the node that takes the place of this writer's, if .has_reader. */
void zkli_contender_reader(char ret_child[ZKLI_OWN_CHILD_MAX + 1], const struct zkli_contender *c);
/* Whether that is so, and it is this child. */
bool zkli_contender_has_reader(const struct zkli_contender *c, const char *child);
/* Whether a node with this name may be this contender's: known as such, or created by an attempt
 * whose reply it does not have. */
bool zkli_contender_may_own(const struct zkli_contender *c, const char *child);

#endif
