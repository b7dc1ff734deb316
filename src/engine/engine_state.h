/*
 * engine_state - what the engine keeps of a session: its members, their directories and watches,
 * the requests under way. Its own files and its tests look at it; see engine.h. Not here: what its
 * files do for each other (engine_internal.h).
 */
#ifndef ZKLI_ENGINE_ENGINE_STATE_H
#define ZKLI_ENGINE_ENGINE_STATE_H

#include "base/path.h"
#include "core/lease.h"
#include "engine/engine.h"

/* The end of a session is one transaction that names all its nodes. A reconnect sends all watched
 * paths in one packet. Both must stay well below the server's 1 MiB of jute.maxbuffer: 30,000 nodes
 * on a session took three servers down, and with 15,000 watches it reconnected for ever. Paths
 * count as zkli_path_bytes says. */
#define ZKLI_NODE_BYTES_MAX (400 * 1024)
#define ZKLI_WATCH_BYTES_MAX (400 * 1024)
/* How often a port is looked at that has no connection, or does not answer. It may have failed to
 * report a connection or its end, or to wait for answers. */
#define ZKLI_LOOK_NS (1000 * ZKLI_NS_PER_MS)
#define ZKLI_SHORT_WAIT_NS (1000 * ZKLI_NS_PER_MS) /* until then a hold began with its node */

/* A look at a directory, for nodes of ours that no member knows: a barrier, then a listing. */
struct zkli_visit {
    struct zkli_timer timer; /* the next one; keeps the directory */
    struct zkli_list link;   /* in engine->visits, while it is under way */
    struct zkli_query barrier, listing;
    int64_t lost_ns;        /* when the reply to a create was lost, the last time */
    bool is_behind_barrier; /* the barrier was committed */
    bool was_refused;       /* the log has it */
};

/* A directory in which members stand; shared by them. */
struct zkli_dir {
    struct zkli_list link;    /* in its bucket */
    struct zkli_work work;    /* a listing, or the removal of what was made */
    struct zkli_list askers;  /* members that want that listing */
    struct zkli_list members; /* those that hold first */
    size_t member_count;
    unsigned depth;
    unsigned made_level; /* of the lowest directory that a member has made and none has stood in, as
                            parent_level; 0: there is none */
    struct zkli_engine *engine;
    struct zkli_visit visit;
    struct zkli_permits permits; /* a semaphore's, as last read; UNKNOWN: not in this session */
    size_t length;
    char path[];
};

/* A node's data and its children are watched apart; both watches tell of its end. */
struct zkli_watch {
    struct zkli_list link; /* in its bucket */
    struct zkli_list
        watchers;       /* zkli_watcher.link; but those that it fired for: in engine->fired */
    unsigned count;     /* of all its watchers; 0: stale, until it fires */
    uint16_t in_flight; /* reads that set it: not more than there are slots */
    uint16_t length;    /* ZKLI_PATH_MAX at most */
    bool is_of_children;
    bool is_set; /* the client library has it, until it fires */
    char path[];
};

/* What a member watches. */
enum zkli_watched {
    ZKLI_WATCHED_OWN, /* its node */
    ZKLI_WATCHED_PREDECESSOR,
    ZKLI_WATCHED_DIRECTORY, /* the data */
    ZKLI_WATCHED_CHILDREN,
    ZKLI_WATCHED_COUNT
};

struct zkli_watcher {
    struct zkli_list link;      /* in watch->watchers; fired, and not handed out: engine->fired */
    struct zkli_watch *watch;   /* NULL: none */
    enum zkli_watched what : 8; /* its place among its member's */
    enum zkli_watch_type fired_type : 8;
};

/* A copy of a listing whose order is being read, node by node. */
struct zkli_ordering {
    size_t count, sent, answered;
    bool is_lost;
    int64_t czxid; /* of the listing */
    int32_t version;
    struct zkli_sibling *siblings; /* name NULL: gone since */
    char names[];
};

/* Members that are granted in one step, or not at all. It goes when they are granted, or with the
 * last of them. */
struct zkli_group {
    struct zkli_list changed; /* in engine->changed_groups */
    struct zkli_engine *engine;
    size_t count;                  /* of the members when it was begun */
    int error;                     /* of the first that left, or 0 */
    bool is_sent;                  /* the transaction that makes their nodes is under way */
    struct zkli_member *members[]; /* NULL: gone */
};

struct zkli_member {
    struct zkli_contender core;
    struct zkli_dir *dir;        /* and by that the engine */
    struct zkli_group *group;    /* NULL: alone */
    struct zkli_list link;       /* in engine->members */
    struct zkli_list dir_link;   /* in dir->members */
    struct zkli_work work;       /* the requests in unsent */
    struct zkli_list asker;      /* in the askers of a listing, sent or not */
    struct zkli_list owner_link; /* in engine->unsettled or ->held_back */
    struct zkli_list noticed;    /* in engine->noticed */
    struct zkli_watcher watchers[ZKLI_WATCHED_COUNT];
    uint16_t unsent[ZKLI_FLIGHT_MAX]; /* ZKLI_ASK_, in order, without LIST */
    uint8_t unsent_count;
    uint8_t place;     /* in the group */
    bool is_stale;     /* the watch on its node was set on an earlier connection */
    bool is_closed;    /* its node may not be read any more; it was watched before */
    bool was_refused;  /* the log has it */
    bool is_deleted;   /* its node: that was asked for once */
    bool is_bound;     /* its node goes with the hold */
    zkl_loss loss : 8; /* of a hold that is lost */
    uint8_t notice_count;
    uint8_t notices[ZKLI_NOTICES]; /* zkli_notice, not handed out yet, in order */
    enum {
        ZKLI_MARK_FRESH, /* its node is as it was made, for all we know */
        ZKLI_MARK_READ,  /* read it, then set it by its version: others may have marked it */
        ZKLI_MARK_SET
    } mark : 8;
    uint8_t watches;     /* of such paths */
    int32_t own_version; /* of its node's data, as it knows them */
    struct zkli_ordering *ordering;
    struct zkli_timer retry;
    int64_t blind_until_ns;      /* its hold is certain so long, while no watch on its node stands;
                                    ZKLI_NEVER: one does */
    struct zkli_timer blind_end; /* in engine->blind, while it holds */
    int64_t begun_ns;            /* when the acquire began */
    int64_t known_ns;            /* since when its node is known */
    int64_t waited_ns;           /* from then on until it was granted */
    int64_t refused_czxid;       /* of its last node that no heartbeat could check, or 0 */
    int64_t asked_ns;            /* when a heartbeat last looked for its node, or it was made */
    uint32_t retry_wait_ns;      /* ZKLI_RETRY_LAST_NS at most */
    unsigned node_bytes;         /* of the budgets, one path */
    struct zkli_thread thread;
    uint64_t owner;    /* as its nodes' data say */
    const char *label; /* the handle's, as long as there is one to notify; NULL: the session's */
    zkli_notify_fn notify; /* NULL: no notices are handed out any more */
    void *notify_arg;
};

enum zkli_slot_use {
    ZKLI_USE_FREE,
    ZKLI_USE_VOID, /* the reply is awaited, and means nothing any more */
    ZKLI_USE_MEMBER,
    ZKLI_USE_ORDER,
    ZKLI_USE_LIST,
    ZKLI_USE_GROUP,
    ZKLI_USE_QUERY,
    ZKLI_USE_HEARTBEAT
};

struct zkli_slot {
    enum zkli_slot_use use;
    unsigned ask;               /* MEMBER */
    size_t index;               /* ORDER */
    struct zkli_member *member; /* MEMBER, ORDER; HEARTBEAT: whose node it checks, or NULL */
    struct zkli_list askers;    /* LIST */
    struct zkli_group *group;   /* GROUP */
    struct zkli_query *query;
    size_t bytes;             /* QUERY, and VOID that was one */
    struct zkli_watch *watch; /* MEMBER, reads that set a watch */
    unsigned next_free;
};

/* How much certain time the lease has left. */
enum zkli_lease_grade {
    ZKLI_LEASE_UNCERTAIN, /* none */
    ZKLI_LEASE_CERTAIN,   /* enough to go on with a hold */
    ZKLI_LEASE_AMPLE      /* enough to begin one */
};

enum zkli_pace {
    ZKLI_PACE_REST,    /* no heartbeats */
    ZKLI_PACE_SYNCS,   /* a pair of them a little more often than each third of T */
    ZKLI_PACE_BARRIERS /* one each T/16 */
};

#define ZKLI_BUCKETS 1024

#define ZKLI_SUCCESSORS_MAX 4

/* Sessions that are being opened, each to take the place of this one: the first that comes does. */
struct zkli_succession {
    struct zkli_successor {
        struct zkli_port *port;
        int64_t begun_ns; /* when its connect was */
        int64_t took_ns;  /* until it was connected */
        bool is_connected;
    } list[ZKLI_SUCCESSORS_MAX]; /* in any order */
    size_t count;
    int64_t begun_ns;     /* when the first of all was asked for */
    int64_t asked_ns;     /* and the last */
    size_t asks;          /* how many in a row, those that failed, too */
    int64_t last_took_ns; /* of one that came late, and was closed for another */
    bool were_slow;       /* servers: another was asked for because of that */
};

struct zkli_engine {
    const struct zkli_host *host;
    void *host_arg;
    /* Settings */
    const char *root;
    size_t chroot_length; /* bytes that the client library puts before each path */
    int asked_timeout_ms;
    int logged_timeout_ms; /* the last one that was not as asked */
    bool keeps_session;    /* any that there is */
    bool is_attached;      /* to the program's session, which is neither ended nor replaced */
    int64_t born_ns;       /* of that: it was not created before */
    bool left_nodes;       /* in that, when it was over for us and not for the servers */
    struct zkli_node_data who;
    char tag[ZKLI_TAG_LENGTH + 1]; /* in the uuids of this session */
    /* Life */
    zkl_state state;
    struct zkli_port *port; /* NULL between sessions */
    bool is_draining;       /* about to close: nothing more is sent */
    uint64_t connection;    /* counts those that are known, or may have been: see the replies */
    int64_t connected_ns;   /* when it began */
    int64_t session_id;
    int timeout_ms;
    int longest_timeout_ms; /* of those that this session was granted: its nodes say it */
    int64_t begun_ns;       /* when the connect of the present session was begun */
    int64_t now_ns;
    bool has_no_containers;
    struct zkli_succession succession;
    bool is_successor_wanted; /* a member waits for it */
    bool bears_nodes;         /* of the program's, which would go with it */
    bool is_kept;             /* for no other was to be had in its place, in time */
    int64_t kept_until_ns;    /* then another is asked for again, when nobody waits for it */
    int64_t late_until_ns;    /* it was taken though late: until then it proves what it can */
    struct zkli_timer reopen;
    struct zkli_timer look;
    bool has_looked; /* and found a connection, or the end of one, that was not reported */
    /* Lease */
    struct zkli_lease lease;
    struct zkli_timer heartbeat;
    int64_t ample_until_ns;             /* if no heartbeat is acknowledged before */
    enum zkli_lease_grade lease_grade;  /* at the last check */
    enum zkli_pace pace;                /* of the last heartbeat; what it was when one was due */
    enum zkli_heartbeat heartbeat_kind; /* the last one's */
    int64_t heartbeat_sent_ns;
    int64_t barrier_sent_ns;   /* when the last one that was a barrier was sent */
    bool is_second_due;        /* the last sync was the first of its pair */
    bool is_heartbeat_wanted;  /* without waiting until it is due */
    struct zkli_timer stall;   /* until heartbeats have not been answered for T */
    struct zkli_timer silence; /* until the one in flight has waited for too long */
    int64_t answered_ns;       /* when the last answer came, to anything */
    int64_t no_drop_until_ns;  /* a connection has been dropped */
    int heartbeat_refusal; /* the code of the last answer, if that was a refusal; the log has it */
    /* Members */
    struct zkli_list members;
    size_t standing;          /* members with a node, or about to have one */
    struct zkli_list noticed; /* members with notices to hand out */
    struct zkli_list changed_groups;
    struct zkli_list unsettled; /* members that may leave a node behind, which has an owner */
    struct zkli_list held_back; /* those of the same owners that are to begin after that */
    bool has_settled;           /* one of the former has */
    struct zkli_member *spare;  /* to delete an orphan when there is no memory */
    struct zkli_list dirs[ZKLI_BUCKETS];
    struct zkli_list visits;               /* under way */
    char fresh_uuid[ZKLI_UUID_LENGTH + 1]; /* no contender has had it */
    size_t node_bytes;                     /* of all members' nodes */
    size_t watch_bytes;                    /* of the watches they may need */
    size_t stale_watch_bytes;              /* of those that stand, and no member needs any more */
    /* Requests */
    struct zkli_list work; /* the line of those who have requests to send */
    struct zkli_slot slots[ZKLI_SLOTS];
    unsigned free_slot; /* ZKLI_SLOTS: none */
    unsigned in_flight;
    struct zkli_list later; /* queries that are to be asked again after a while */
    struct zkli_timer later_end;
    struct zkli_list resting;
    struct zkli_list deferred;     /* queries whose turn has come, and whose data wait for room */
    size_t data_in_flight;         /* bytes of queries' data */
    struct zkli_sibling *siblings; /* scratch for one listing */
    size_t siblings_max;
    const struct zkli_listing *listing; /* the one being delivered */
    struct zkli_timers timers;
    struct zkli_timers blind; /* ends of holds, looked at whenever the engine is entered */
    uint64_t news;            /* counts what was handed out */
    struct zkli_engine_counts counts;
    struct zkli_list watches[ZKLI_BUCKETS];
    struct zkli_list fired; /* watchers of watches that fired */
};

#endif
