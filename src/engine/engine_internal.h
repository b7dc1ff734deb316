/*
 * engine_internal - what the engine's own files share, and its tests look at; see engine.h.
 *
 * The files stand here in the order in which they may call each other, the lowest first. engine.c
 * is their parent. The test package.structure finds a call that goes up.
 */
#ifndef ZKLI_ENGINE_ENGINE_INTERNAL_H
#define ZKLI_ENGINE_ENGINE_INTERNAL_H

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
    bool is_of_children;
    struct zkli_list watchers; /* zkli_watcher.link; empty: stale, until it fires */
    bool is_set;               /* the client library has it, until it fires */
    unsigned in_flight;        /* reads that set it */
    size_t length;
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
    struct zkli_list link;
    struct zkli_list fired;   /* in engine->fired, until the member is stepped */
    struct zkli_watch *watch; /* NULL: none */
    struct zkli_member *member;
    enum zkli_watched what;
    enum zkli_watch_type fired_type; /* while it is in engine->fired */
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
    struct zkli_engine *engine;
    struct zkli_dir *dir;
    struct zkli_group *group;  /* NULL: alone */
    size_t place;              /* in the group */
    struct zkli_list link;     /* in engine->members */
    struct zkli_list dir_link; /* in dir->members */
    struct zkli_work work;     /* the requests in unsent */
    struct zkli_list asker;    /* in the askers of a listing, sent or not */
    struct zkli_list noticed;  /* in engine->noticed */
    uint8_t unsent_count;
    uint16_t unsent[ZKLI_FLIGHT_MAX]; /* ZKLI_ASK_, in order, without LIST */
    struct zkli_watcher watchers[ZKLI_WATCHED_COUNT];
    enum {
        ZKLI_MARK_FRESH, /* its node is as it was made, for all we know */
        ZKLI_MARK_READ,  /* read it, then set it by its version: others may have marked it */
        ZKLI_MARK_SET
    } mark;
    int32_t own_version; /* of its node's data, as it knows them */
    struct zkli_ordering *ordering;
    struct zkli_timer retry;
    int64_t retry_wait_ns;
    int64_t blind_until_ns;      /* its hold is certain so long, while no watch on its node stands;
                                    ZKLI_NEVER: one does */
    struct zkli_timer blind_end; /* in engine->blind, while it holds */
    bool is_stale;               /* the watch on its node was set on an earlier connection */
    bool is_closed;              /* its node may not be read any more; it was watched before */
    int64_t begun_ns;            /* when the acquire began */
    int64_t known_ns;            /* since when its node is known */
    int64_t waited_ns;           /* from then on until it was granted */
    bool was_refused;            /* the log has it */
    bool is_bound;               /* its node goes with the hold */
    int64_t refused_czxid;       /* of its last node that no heartbeat could check, or 0 */
    int64_t asked_ns;            /* when a heartbeat last looked for its node, or it was made */
    size_t node_bytes, watch_bytes; /* of the budgets */
    struct zkli_thread thread;
    zkl_loss loss;     /* of a hold that is lost */
    uint64_t owner;    /* as its nodes' data say */
    const char *label; /* the handle's, as long as there is one to notify; NULL: the session's */
    zkli_notify_fn notify; /* NULL: no notices are handed out any more */
    void *notify_arg;
    uint8_t notice_count;
    uint8_t notices[ZKLI_NOTICES]; /* zkli_notice, not handed out yet, in order */
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
    struct zkli_member *spare; /* to delete an orphan when there is no memory */
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

static inline bool zkli_is_connected(const struct zkli_engine *e) {
    return e->state == ZKL_STATE_CONNECTED;
}

static inline bool zkli_engine_is_certain(const struct zkli_engine *e) {
    return zkli_lease_is_certain(&e->lease, e->now_ns);
}

/* A contender that queues now can be granted the lock when its place is known. */
static inline bool zkli_lease_is_fit(const struct zkli_engine *e) {
    return zkli_engine_is_certain(e) &&
           e->now_ns + zkli_lease_quickest_ns(&e->lease) < e->ample_until_ns;
}

static inline bool zkli_session_is_lent(const struct zkli_engine *e) {
    return e->port != NULL && e->port->loans > 0;
}

static inline bool zkli_session_is_kept(const struct zkli_engine *e) {
    return e->keeps_session || e->bears_nodes || zkli_session_is_lent(e) || e->is_kept ||
           e->now_ns < e->late_until_ns;
}

/* Nothing would be lost with this session, and another may have a better lease. */
static inline bool zkli_is_to_be_replaced(const struct zkli_engine *e) {
    return e->standing == 0 && !zkli_session_is_kept(e) && !zkli_lease_is_fit(e);
}

static inline bool zkli_heartbeat_is_in_flight(const struct zkli_engine *e) {
    return e->slots[ZKLI_SLOT_HEARTBEAT].use == ZKLI_USE_HEARTBEAT;
}

static inline size_t zkli_bucket_of(const char *path, size_t length) {
    return (size_t)(zkli_path_hash(path, length) % ZKLI_BUCKETS);
}

/* What a path takes in either: the servers' whole path, with its length in front. */
static inline size_t zkli_path_bytes(const struct zkli_engine *e, size_t length) {
    return 4 + e->chroot_length + length;
}

/* ---- The host (host.c) ---- */

/* The fresh uuid was used: makes another. */
void zkli_engine_refresh_uuid(struct zkli_engine *e);
/* Another tag: nodes of an earlier session are not taken for nodes of this one. */
void zkli_engine_refresh_tag(struct zkli_engine *e);

/* ---- Slots (slots.c) ---- */

void zkli_slots_init(struct zkli_engine *e);
/* At the end of the line, unless it is in there. */
void zkli_line_join(struct zkli_engine *e, struct zkli_work *work);
/* There is a free one. */
unsigned zkli_slot_reserve(struct zkli_engine *e, enum zkli_slot_use use);
void zkli_slot_release(struct zkli_engine *e, unsigned number);
/* Replies to this use of this member's mean nothing any more. */
void zkli_slots_void(struct zkli_engine *e, enum zkli_slot_use use, const struct zkli_member *m);
/* The port is gone, and no reply will come. Adds the queries that were in flight to the list. */
void zkli_slots_reset(struct zkli_engine *e, struct zkli_list *ret_queries);

/* ---- Watches (watches.c) ---- */

void zkli_watches_init(struct zkli_engine *e);
/* Points the watcher at a path. False: out of memory. */
bool zkli_watcher_point_to(struct zkli_watcher *watcher, const char *path);
void zkli_watcher_drop(struct zkli_watcher *watcher);
/* A read that sets the watch was sent, and was answered. */
void zkli_watch_asked(struct zkli_watch *watch);
void zkli_watch_answered(struct zkli_engine *e, struct zkli_watch *watch, bool is_set);
/* The port is to forget every watch: it lives on. */
void zkli_watches_leave(struct zkli_port *port, struct zkli_engine *e);
/* The port is gone, and with it every watch. */
void zkli_watches_reset(struct zkli_engine *e);
/* A watch fired: its watchers are handed out by next_fired, unless they are dropped before. */
void zkli_watches_fire(struct zkli_engine *e, const char *path, enum zkli_watch_type type);
/* It is not known which one fired: all of them, as CHANGED. */
void zkli_watches_fire_all(struct zkli_engine *e);
/* NULL: there are no more. */
struct zkli_watcher *zkli_watches_next_fired(struct zkli_engine *e);

/* ---- Queries (queries.c) ---- */

void zkli_queries_init(struct zkli_engine *e);
/* The replies to these are lost. */
void zkli_queries_lost(struct zkli_engine *e, struct zkli_list *queries);
/* No session will come: every query is done, without a reply. */
void zkli_queries_end(struct zkli_engine *e);
/* Its turn has come: sends it. One with data is deferred, until there is room. */
void zkli_query_send(struct zkli_engine *e, struct zkli_query *query);
/* Sends the first of those that were deferred. False: there is none, or no room yet. */
bool zkli_queries_send_deferred(struct zkli_engine *e);
/* Tells the caller who waits; reply as in .done. */
void zkli_query_done(struct zkli_engine *e, struct zkli_query *query,
                     const struct zkli_reply *reply);

/* ---- Sight (sight.c) ---- */

/* Whether the watch on its node would tell of a mark. While a writer becomes a reader it would not:
 * its own transaction fires it. */
bool zkli_sight_is_clear(const struct zkli_member *m);
/* After each step: whether it has become blind, or sees again. */
void zkli_sight_note(struct zkli_member *m);
/* There is another connection, or there may be. */
void zkli_sights_doubt(struct zkli_engine *e);
/* Whether it holds, and has so little time to look that it does not wait for a heartbeat. */
bool zkli_sight_is_short(const struct zkli_member *m);
/* Its node is closed to us since it was watched. zkl_break deletes none whose ACL has been changed.
 */
void zkli_sight_close(struct zkli_member *m);
/* Whether a hold that begins blind would have less time than others. */
bool zkli_sight_is_needed(const struct zkli_member *m);

/* ---- Directories (directories.c) ---- */

/* The directory of a lock's name; made if no member stands in it. NULL: out of memory. */
struct zkli_dir *zkli_dir_get(struct zkli_engine *e, const char *name);
/* Those of another session may be of another ensemble's data. */
void zkli_dirs_forget_permits(struct zkli_engine *e);
/* Frees it if no member stands in it any more, and no visit is due. */
void zkli_dir_release(struct zkli_dir *dir);
/* What the path of a node takes whose name has this length. */
size_t zkli_dir_node_bytes(const struct zkli_dir *dir, size_t length);
void zkli_dir_child_path(char ret_path[ZKLI_PATH_MAX], const struct zkli_dir *dir,
                         const char *child);
/* Level 1: the directory itself, 2: its parent, and so on. */
void zkli_dir_ancestor_path(char ret_path[ZKLI_PATH_MAX], const struct zkli_dir *dir,
                            unsigned level);
/* The member whose hold has ended with the node of this path. NULL: none. */
struct zkli_member *zkli_dir_holder_by(struct zkli_engine *e, const char *path);
/* The holder after this one, or the first after NULL. NULL: there are no more. */
struct zkli_member *zkli_dir_next_holder(const struct zkli_dir *dir, const struct zkli_member *m);
/* Finds the contenders among the children; they stand in e->siblings. False: out of memory. */
bool zkli_listing_parse(struct zkli_listing *ret_listing, struct zkli_engine *e,
                        const struct zkli_reply *reply);
bool zkli_listing_has(const struct zkli_listing *listing, const char *child);
/* Which of the children are members' nodes that are being deleted. They will be gone soon, and a
 * try does not call the lock taken for them. */
void zkli_dir_mark_leaving(const struct zkli_dir *dir, struct zkli_sibling *siblings, size_t count);

/* ---- Requests (requests.c) ---- */

/* Asks for a member's flight. */
void zkli_requests_ask(struct zkli_member *m, const struct zkli_actions *actions);
/* Takes back what is not sent yet, and listings. Returns the ZKLI_ASK_ bits: no reply to these will
 * come. */
unsigned zkli_requests_withdraw(struct zkli_member *m);
/* The reply to a member's mark; *result is its result. True: *result is what the contender is told.
 * False: the mark goes on. It is set by version, and what others have written into the node
 * meanwhile stays. */
bool zkli_requests_note_mark(struct zkli_member *m, unsigned ask, const struct zkli_reply *reply,
                             enum zkli_result *result);
/* The member goes: replies to it are void. */
void zkli_requests_forget(struct zkli_member *m);
/* The port is gone: forgets what was in flight and to be sent on it. Queries: as in slots_reset. */
void zkli_requests_reset(struct zkli_engine *e, struct zkli_list *ret_queries);
/* Whether there are slots for the next request of this one. */
bool zkli_requests_have_slots(const struct zkli_engine *e, struct zkli_work *work);
/* What its create consists of. */
struct zkli_create {
    char path[ZKLI_PATH_MAX]; /* without the number */
    char data[ZKLI_NODE_DATA_MAX];
    size_t length; /* of the data */
};
void zkli_requests_format_create(struct zkli_create *ret_create, const struct zkli_member *m);
/* Whether its next request is a create that is sent with those of its group, or the directory's
 * before that. */
bool zkli_requests_await_group(const struct zkli_member *m);
/* That was sent, or was taken back. */
void zkli_requests_skip_create(struct zkli_member *m);
/* Sends the member's next request. False: this one could not be sent, and that is its answer. */
bool zkli_requests_send_next(struct zkli_member *m, unsigned *ret_ask,
                             enum zkli_result *ret_result);
/* Sends the directory's listing. False: it could not be sent; these members asked for it. */
bool zkli_requests_send_listing(struct zkli_dir *dir, struct zkli_list *ret_askers);
/* Whether the last member has left without a node, and has made a directory for it; and the removal
 * of that, which is asked for once. The directory's record goes, too. */
bool zkli_requests_may_tidy(const struct zkli_dir *dir);
void zkli_requests_tidy(struct zkli_dir *dir);
/* The answer to one read. True: it was the last one. */
bool zkli_ordering_note(struct zkli_ordering *ordering, size_t index, enum zkli_result result,
                        int64_t czxid);
/* By czxid, without the nodes that have gone; it lies in the ordering. */
struct zkli_listing zkli_ordering_listing(struct zkli_ordering *ordering);
void zkli_ordering_free(struct zkli_ordering *ordering);

/* ---- Members (members.c) ---- */

/* In this memory, or NULL. */
struct zkli_member *zkli_member_init(struct zkli_member *m, struct zkli_engine *e,
                                     struct zkli_dir *dir);
/* As zkli_member_new, in a session that is not over. One of a group is not connected yet. */
zkl_err zkli_members_add(struct zkli_member **ret_member, struct zkli_engine *e,
                         const struct zkli_wish *wish, struct zkli_group *group);
/* What it needs of the budgets of nodes and of watches. */
void zkli_member_set_budget(struct zkli_member *m, size_t node_bytes, size_t watch_bytes);
/* Tells a new one that there is a connection, if there is. */
void zkli_member_connect(struct zkli_member *m);
/* A member whose node a heartbeat may check: it is known, and no release has asked to delete it.
 * NULL: none. */
struct zkli_member *zkli_members_witness(struct zkli_engine *e);
/* One of its members has moved, or it is over. */
void zkli_group_note_change(struct zkli_group *group);
/* Begins anew with its group: replies to what is under way mean nothing any more. */
void zkli_member_begin_anew(struct zkli_member *m);
/* Whether a hold may begin on the lease as it is now. */
bool zkli_lease_is_ample(const struct zkli_engine *e);
/* An event for the contender, with what every event carries filled in here. */
void zkli_member_step(struct zkli_member *m, struct zkli_contender_event *event);
void zkli_members_step_all(struct zkli_engine *e, enum zkli_contender_event_type type);
void zkli_members_abandon_all(struct zkli_engine *e, zkl_err error);
/* A watch or a read says that no node has this path: ends the hold that a member has by it. (A
 * member that waits hears of its node's end by its own watch.) */
void zkli_members_end_hold(struct zkli_engine *e, const char *path);
/* It may not be looked at any more: nothing tells of its end but a read. */
void zkli_member_unwatch(struct zkli_member *m);
/* The same, by a listing of the directory. Replies come in order, so a listing that does not show a
 * node that is known is later than that node's end. */
void zkli_members_were_listed(struct zkli_dir *dir, const struct zkli_listing *listing);
void zkli_members_hand_out(struct zkli_engine *e);

/* Whether a lock is held by one of them. */
bool zkli_members_hold(const struct zkli_engine *e);

/* ---- A silent server (silence.c) ---- */

void zkli_silence_init(struct zkli_engine *e);
/* A heartbeat was sent. */
void zkli_silence_listen(struct zkli_engine *e);
/* It was answered, or is lost. */
void zkli_silence_broken(struct zkli_engine *e, bool is_answered);
/* There is no connection any more. */
void zkli_silence_end(struct zkli_engine *e);

/* ---- Groups (groups.c) ---- */

/* Grants those that are ready, and frees those that are over. One that has lost a node begins
 * anew. */
void zkli_groups_go_on(struct zkli_engine *e);
/* All are; they are granted as soon as the lease is ample. */
bool zkli_group_is_admitted(const struct zkli_group *group);
/* Whether every member's create is to be sent now; if need be, behind that of its directory. */
bool zkli_group_is_gathered(const struct zkli_group *group);
/* Sends them; the directories' are sent. False: that could not be done, and *ret_result is the
 * answer. */
bool zkli_group_send(struct zkli_group *group, enum zkli_result *ret_result);
/* What the reply to the transaction means for the member in this place. */
struct zkli_reply zkli_group_reply_for(const struct zkli_group *group, size_t place,
                                       const struct zkli_reply *reply);

/* ---- Heartbeats and the lease (heartbeat.c) ---- */

void zkli_heartbeat_init(struct zkli_engine *e);
/* What begins with a connection. */
enum zkli_beginning {
    ZKLI_BEGINS_SESSION,
    ZKLI_BEGINS_CONNECTION, /* of the same session, which the servers have resumed */
    ZKLI_BEGINS_PERHAPS     /* or it is the connection of before */
};

/* There is a connection: the first heartbeat. */
void zkli_heartbeat_begin(struct zkli_engine *e, enum zkli_beginning beginning);
/* There is no connection any more. */
void zkli_heartbeat_suspend(struct zkli_engine *e);
/* The session is over. */
void zkli_heartbeat_end(struct zkli_engine *e);
/* A member is about to be added, or a visit has begun. */
void zkli_heartbeat_want(struct zkli_engine *e);
/* Sends one at once, if one is wanted and the pace would have it later. */
void zkli_heartbeat_hasten(struct zkli_engine *e);
/* m: whose node it checked, or NULL. */
void zkli_heartbeat_answered(struct zkli_engine *e, struct zkli_member *m,
                             const struct zkli_reply *reply);
/* A connection that was not reported may have another timeout, a shorter one. Called before an
 * answer is counted, so that none of that connection was counted yet. */
void zkli_heartbeat_note_timeout(struct zkli_engine *e);
/* An answer was lost, and perhaps a connection with it. */
void zkli_heartbeat_doubt(struct zkli_engine *e);
/* Ends the holds if the lease has run out since the last check; grants if it has become ample. */
void zkli_lease_check(struct zkli_engine *e);
/* A look that is due is not put off: heartbeats that are refused come more often than looks. */
void zkli_look_later(struct zkli_engine *e);

/* ---- Orphans (orphans.c) ---- */

/* The reply to a create in this directory was lost with its connection. */
void zkli_orphans_expect(struct zkli_dir *dir);
/* Looks through the listing if it may show orphans, and has members delete those of the session. */
void zkli_orphans_find(struct zkli_dir *dir, const struct zkli_listing *listing);
/* The session is over, and so are all nodes of it. */
void zkli_orphans_forget(struct zkli_engine *e);

/* ---- Succession (succession.c) ---- */

/* Opens a session to take this one's place, if a member waits for that; or goes without. Whether
 * one is to take that place now. */
bool zkli_succession_is_due(struct zkli_engine *e);
/* The best of them, which becomes the session; the others are closed. Without a port: there was
 * none. The next session is not kept, unless it is late. */
struct zkli_successor zkli_succession_take(struct zkli_engine *e);
/* All are closed. Contenders go on here, if they may. */
void zkli_succession_end(struct zkli_engine *e);
/* One of their ports is in this state. */
void zkli_succession_note_state(struct zkli_engine *e, const struct zkli_port *port,
                                enum zkli_port_state state);

/* ---- Life (life.c) ---- */

/* Lets another session take this one's place, if it is time. */
void zkli_life_go_on(struct zkli_engine *e);

#endif
