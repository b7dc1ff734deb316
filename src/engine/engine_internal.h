/*
 * engine_internal - what the engine's own files share, and its tests look at; see engine.h.
 *
 * engine.c life, lease and heartbeat; members.c the contenders; directories.c where they stand;
 * requests.c slots, order of sending and replies; queries.c single requests; watches.c which paths
 * are watched, and for which members.
 */
#ifndef ZKLI_ENGINE_ENGINE_INTERNAL_H
#define ZKLI_ENGINE_ENGINE_INTERNAL_H

#include "core/lease.h"
#include "engine/engine.h"

/* The end of a session is one transaction that names all its nodes, and a reconnect sends all
 * watched paths in one packet; either must stay well below the server's 1 MiB of jute.maxbuffer.
 * 30,000 nodes on a session took three servers down, 15,000 watches made it loop for ever. Paths
 * count as zkli_path_bytes says. */
#define ZKLI_NODE_BYTES_MAX (400 * 1024)
#define ZKLI_WATCH_BYTES_MAX (400 * 1024)
/* How often a port is looked at that has no connection, or does not answer: it may have forgotten
 * to tell of a connection or its end, or to wait for answers. What it does tell is told sooner. */
#define ZKLI_LOOK_NS (1000 * ZKLI_NS_PER_MS)

/* A directory in which members stand; shared by them. */
struct zkli_dir {
    struct zkli_list link;    /* in its bucket */
    struct zkli_work work;    /* a listing */
    struct zkli_list askers;  /* members that want that listing */
    struct zkli_list members; /* the one that holds first */
    size_t member_count;
    unsigned depth;
    struct zkli_engine *engine;
    bool may_have_orphans;   /* the next listing is looked through for them */
    struct zkli_timer visit; /* to look for them once more; keeps the directory */
    size_t length;
    char path[];
};

struct zkli_watch {
    struct zkli_list link;     /* in its bucket */
    struct zkli_list watchers; /* zkli_watcher.link; empty: stale, until it fires */
    bool is_set;               /* the client library has it, until it fires */
    unsigned in_flight;        /* reads that set it */
    size_t length;
    char path[];
};

struct zkli_watcher {
    struct zkli_list link;
    struct zkli_watch *watch; /* NULL: none */
    struct zkli_member *member;
    bool is_own; /* of the member's node; else of its predecessor's */
};

/* A copy of a listing whose order is being read, node by node. */
struct zkli_ordering {
    size_t count, sent, answered;
    bool is_lost;
    struct zkli_sibling *siblings; /* name NULL: gone since */
    char names[];
};

struct zkli_member {
    struct zkli_contender core;
    struct zkli_engine *engine;
    struct zkli_dir *dir;
    struct zkli_list link;            /* in engine->members */
    struct zkli_list dir_link;        /* in dir->members */
    struct zkli_work work;            /* the requests in unsent */
    struct zkli_list asker;           /* in the askers of a listing, sent or not */
    struct zkli_list noticed;         /* in engine->noticed */
    unsigned unsent[ZKLI_FLIGHT_MAX]; /* ZKLI_ASK_, in order, without LIST */
    size_t unsent_count;
    struct zkli_watcher own, predecessor;
    struct zkli_ordering *ordering;
    struct zkli_timer retry;
    int64_t retry_wait_ns;
    bool was_refused;    /* the log has it */
    int64_t unfit_czxid; /* of the last node of its that heartbeats could not look for, or 0 */
    size_t node_bytes;   /* of the budgets */
    size_t watch_bytes;
    struct zkli_thread thread;
    char label[ZKLI_NODE_DATA_VALUE_MAX + 1];
    zkli_notify_fn notify; /* NULL: nobody is interested any more */
    void *notify_arg;
    enum zkli_notice notices[ZKLI_NOTICES]; /* not handed out yet, in order */
    size_t notice_count;
    bool is_gone;
};

enum zkli_slot_use {
    ZKLI_SLOT_FREE,
    ZKLI_SLOT_VOID, /* nobody waits for the reply any more */
    ZKLI_SLOT_MEMBER,
    ZKLI_SLOT_ORDER,
    ZKLI_SLOT_LIST,
    ZKLI_SLOT_QUERY,
    ZKLI_SLOT_BEAT
};

struct zkli_slot {
    enum zkli_slot_use use;
    unsigned op;                /* MEMBER */
    size_t index;               /* ORDER */
    struct zkli_member *member; /* MEMBER, ORDER; BEAT: the one whose node it looks for, or NULL */
    struct zkli_list askers;    /* LIST */
    struct zkli_query *query;
    size_t bytes;             /* QUERY, and VOID that was one */
    struct zkli_watch *watch; /* MEMBER, reads that set a watch */
    unsigned next_free;
};

#define ZKLI_BUCKETS 1024

struct zkli_engine {
    const struct zkli_host *host;
    void *host_arg;
    /* Settings */
    const char *root;
    size_t chroot_length; /* bytes that the client library puts before each path */
    int asked_timeout_ms;
    int told_timeout_ms; /* the last one in the log that was not as asked */
    bool is_lazy;
    struct zkli_node_data who;
    char tag[ZKLI_TAG_LENGTH + 1]; /* in the uuids of this session */
    /* Life */
    zkl_state state;
    struct zkli_port *port; /* NULL between sessions */
    bool is_connected;
    bool is_draining;     /* about to close: nothing more is sent */
    uint64_t connection;  /* counts those that are known, or may have been: see the replies */
    int64_t connected_ns; /* when it began */
    int64_t session_id;
    int timeout_ms;
    int64_t begun_ns; /* when the connect of the present session was begun */
    int64_t now_ns;
    bool is_suspended; /* told so */
    bool has_no_containers;
    struct zkli_timer reopen;
    struct zkli_timer look;
    bool has_looked; /* and found a connection, or none, of which nothing was told */
    /* Lease */
    struct zkli_lease lease;
    struct zkli_timer beat, lease_end;
    int64_t ample_until_ns;      /* if no heartbeat is acknowledged before */
    bool was_certain, was_ample; /* at the last check */
    bool beat_in_flight;
    int64_t beat_sent_ns;
    struct zkli_timer stall; /* until heartbeats have not been answered for T */
    int beat_refusal; /* the code of the last answer, if that was a refusal; the log has it */
    /* Members */
    struct zkli_list members, noticed, work;
    struct zkli_member *spare; /* to bury a node that nobody knows, when there is no memory */
    struct zkli_list dirs[ZKLI_BUCKETS];
    char fresh_uuid[ZKLI_UUID_LENGTH + 1]; /* no contender has had it */
    size_t node_bytes;                     /* of all members' nodes */
    size_t watch_bytes;                    /* of the watches they may need */
    size_t stale_watch_bytes; /* of those that stand though nobody needs them any more */
    /* Requests */
    struct zkli_slot slots[ZKLI_SLOTS];
    unsigned free_slot; /* ZKLI_SLOTS: none */
    unsigned in_flight;
    struct zkli_list aside;        /* queries whose turn has come, and whose data wait for room */
    size_t data_in_flight;         /* bytes of queries' data */
    struct zkli_sibling *siblings; /* scratch for one listing */
    size_t siblings_max;
    const struct zkli_listing *listing; /* the one being delivered */
    struct zkli_timers timers;
    uint64_t
        news; /* counts what was handed out: who settles before a wait looks again if it grew */
    struct zkli_list watches[ZKLI_BUCKETS];
};

/* What a path takes in either: the servers' whole path, with its length in front. */
static inline size_t zkli_path_bytes(const struct zkli_engine *e, size_t length) {
    return 4 + e->chroot_length + length;
}

/* ---- Life (engine.c) ---- */

bool zkli_engine_is_certain(const struct zkli_engine *e);
/* Ends the holds if the lease has run out since the last check; grants if it has become ample. */
void zkli_engine_check_lease(struct zkli_engine *e);
/* The fresh uuid was used: makes another. */
void zkli_engine_refresh_uuid(struct zkli_engine *e);
size_t zkli_bucket_of(const char *path, size_t length);
void zkli_engine_on_beat(struct zkli_engine *e, struct zkli_member *witness,
                         const struct zkli_reply *reply);
/* A member was added: heartbeats may have to begin. */
void zkli_engine_want_beat(struct zkli_engine *e);
/* ---- Directories (directories.c) ---- */

/* The directory of a lock's name; made if no member stands in it. NULL: out of memory. */
struct zkli_dir *zkli_dir_get(struct zkli_engine *e, const char *name);
/* Frees it if no member stands in it any more. */
void zkli_dir_release(struct zkli_dir *dir);
/* What a node's path in this directory takes, sequence included. */
size_t zkli_dir_node_bytes(const struct zkli_dir *dir);
/* The member whose node has this path. NULL: none. */
struct zkli_member *zkli_member_at(struct zkli_engine *e, const char *path);
/* Which of the children are members' nodes that are being deleted: they are in nobody's way for
 * long, so that a try does not call the lock taken for them. */
void zkli_dir_mark_leaving(const struct zkli_dir *dir, struct zkli_sibling *siblings, size_t count);
/* By a listing of the directory: ends the hold whose node is not there. Replies come in order,
 * so a listing that does not show a node that is known is later than its end. */
void zkli_dir_end_hold(struct zkli_dir *dir, const struct zkli_listing *listing);
/* The reply to a create in this directory was lost with its connection. */
void zkli_members_lost_create(struct zkli_dir *dir);
/* The session is over, and so are all nodes of it that nobody knows. */
void zkli_members_forget_orphans(struct zkli_engine *e);
/* By what is listed, whether there are nodes of ours that no member knows: replies come in order,
 * so that whoever has a node in the listing knows its name, or has lost the reply. */
void zkli_members_were_listed(struct zkli_dir *dir, const struct zkli_listing *listing);
/* Reads nodes in the listing that bear our tag and that no member knows, if there may be any, and
 * buries those of the session. */
void zkli_members_find_orphans(struct zkli_engine *e, struct zkli_dir *dir,
                               const struct zkli_listing *listing);

/* ---- Members (members.c) ---- */

/* In this memory, or NULL. */
struct zkli_member *zkli_member_init(struct zkli_member *m, struct zkli_engine *e,
                                     struct zkli_dir *dir);
/* What it needs of the budgets of nodes and of watches. */
void zkli_member_set_budget(struct zkli_member *m, size_t node_bytes, size_t watch_bytes);
/* Tells a new one that there is a connection, if there is. */
void zkli_member_connect(struct zkli_member *m);
/* A member whose node a heartbeat may look for: it is known, and nobody has asked to delete it.
 * NULL: none. */
struct zkli_member *zkli_members_witness(struct zkli_engine *e);
/* An event for the contender, with what every event carries filled in here. */
void zkli_member_step(struct zkli_member *m, struct zkli_contender_event *event);
void zkli_members_step_all(struct zkli_engine *e, enum zkli_contender_event_type type);
void zkli_members_abandon_all(struct zkli_engine *e, zkl_err error);
void zkli_members_hand_out(struct zkli_engine *e);
/* ---- Requests (requests.c) ---- */

void zkli_requests_init(struct zkli_engine *e);
/* Asks for a member's flight. */
void zkli_requests_ask(struct zkli_member *m, const struct zkli_actions *actions);
/* Takes back what is not sent yet, and listings; returns the ZKLI_ASK_ bits: no reply to these will
 * come. */
unsigned zkli_requests_take_back(struct zkli_member *m);
/* The member goes: replies to it are void. */
void zkli_requests_forget(struct zkli_member *m);
void zkli_requests_pump(struct zkli_engine *e);
/* The port is gone: forget what was in flight and to be sent on it. */
void zkli_requests_reset(struct zkli_engine *e);
void zkli_requests_stand_in_line(struct zkli_engine *e, struct zkli_work *work);
/* There is one. */
unsigned zkli_slot_take(struct zkli_engine *e, enum zkli_slot_use use);
void zkli_slot_give_back(struct zkli_engine *e, unsigned number);

/* ---- Queries (queries.c) ---- */

/* No session will come: every query is done, without a reply. */
void zkli_queries_end(struct zkli_engine *e);
/* Its turn has come: sends it, or has it step aside. */
void zkli_query_send(struct zkli_engine *e, struct zkli_query *query);
/* Sends the first of those that stepped aside. False: there is none, or no room yet. */
bool zkli_queries_send_aside(struct zkli_engine *e);
/* Tells whoever waits; reply as in .done. */
void zkli_query_done(struct zkli_engine *e, struct zkli_query *query,
                     const struct zkli_reply *reply);

/* ---- Watches (watches.c) ---- */

void zkli_watches_init(struct zkli_engine *e);
/* Points the watcher at a path. False: out of memory. */
bool zkli_watcher_point_to(struct zkli_watcher *watcher, const char *path);
void zkli_watcher_drop(struct zkli_watcher *watcher);
/* A read that sets the watch was sent, and was answered. */
void zkli_watch_asked(struct zkli_watch *watch);
void zkli_watch_answered(struct zkli_engine *e, struct zkli_watch *watch, bool is_set);
/* The port is gone, and with it every watch. */
void zkli_watches_reset(struct zkli_engine *e);

#endif
