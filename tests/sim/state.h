/*
 * state - all that the simulation has: names, data and trees, what travels, servers, connections,
 * clients and their threads, events, the world; see sim.h.
 */
#ifndef SIM_STATE_H
#define SIM_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine_internal.h"
#include "lock/ask.h"
#include "lock/break.h"
#include "lock/lock.h"
#include "sim/figures.h"
#include "sim/name.h"

#define MS INT64_C(1000000)
#define SERVERS 3
#define CLIENTS_MAX 5
#define THREADS_MAX 3               /* of a client */
#define LOCKS_MAX 3                 /* different names */
#define HANDLES_MAX (2 * LOCKS_MAX) /* of a client's, two for a name */
#define SESSIONS_MAX 256
#define NAMES_MAX 4096
#define NODES_MAX 96
#define WATCHES_MAX 96 /* of a kind */
#define TEXTS_MAX 1024
#define CHILDREN_MAX 72
#define LOG_MAX (1 << 16)
#define WRITES_MAX 2048
#define PARTS_MAX 4 /* operations of a transaction, the check of its guard among them */
#define CONNS_MAX 256
#define MESSAGES_MAX 8192
#define PORTS_MAX 256
#define FAULTS_MAX 12
#define GIVEN_UP_MAX 8 /* contenders of a thread that are leaving */
#define PERMITS_MAX 3
#define NUMBERS_MAX 64 /* of permits that a directory has had, which are remembered */
#define SERVERS_EPOCH_MS INT64_C(1000000000000) /* by the servers' clocks, when it begins */
#define CLOCK_PPM 5000 /* a clock differs from real time by so many millionths at the most */
#define NONE (-1)

/* ---- Trees ---- */

struct znode {
    int name;
    int session; /* 0: not ephemeral */
    bool is_container;
    int32_t counter; /* of its children's creation */
    int touched_by;  /* the last entry of the log that changed the counter */
    int32_t version; /* of the data */
    /* The number of a text. Of a register or a mark (world_has_text): that of the write it has. */
    int data;
    int64_t czxid, mzxid;
    int64_t pzxid; /* of the last child created or deleted; not where the counter did not rise */
};

struct tree {
    int count;
    struct znode nodes[NODES_MAX];
    bool is_alive[SESSIONS_MAX];
};

/* ---- What travels ---- */

enum op {
    OP_CONNECT,
    OP_CREATE,
    OP_CREATE_SEQUENTIAL,
    OP_LIST,
    OP_GET,
    OP_EXISTS, /* of an attached port's; and no client of ours looks for nodes by it: mistakes do */
    OP_SYNC,
    OP_REMOVE,
    OP_MULTI,
    OP_BARRIER,
    OP_SET_WATCHES,
    OP_PING,
    OP_CLOSE
};

enum code {
    CODE_OK,
    CODE_NO_NODE,
    CODE_BAD_VERSION,
    CODE_EXISTS,
    CODE_NOT_EMPTY,
    CODE_EXPIRED,
    CODE_MOVED,
    CODE_THROTTLED,
    CODE_DENIED,
    CODE_CONNECTION_LOSS
};

/* What is watched: by a get its node's data, by a list the node's children. A node's end ends both
 * watches. */
enum watch_kind {
    WATCH_DATA,
    WATCH_CHILDREN,
    WATCH_KINDS
};

/* Watches of one kind: the names that are watched. */
struct watches {
    int count;
    int16_t names[WATCHES_MAX];
};

/* An operation of a transaction. In the log it has what was made of it. */
struct part {
    enum zkli_op_type type;
    bool is_ephemeral, is_sequential;
    int name, data;  /* in the log, of a sequential create: the name with the number */
    int32_t version; /* in the log, of a set: the new one */
    int32_t counter; /* in the log, of a create: its parent's */
};

/* One for all: requests, replies, what servers tell each other, what a client has to deliver. */
struct message {
    int next;     /* in its list; NONE: the last */
    int64_t at;   /* when it arrives */
    uint8_t kind; /* an op, or one of the enums below */
    uint8_t code;
    bool is_watched, is_container, is_done, is_reply, is_untold;
    int stands_at; /* the server whose thread has read it and stands still, + 1; 0: none */
    unsigned slot;
    int name, index, conn, session;
    int data;
    int32_t version;
    int part_count, refused; /* OP_MULTI: refused is the index of a part, or their number */
    struct part parts[PARTS_MAX];
    uint32_t conn_life;
    int64_t zxid, czxid;
    uint64_t touched[SESSIONS_MAX / 64];
    int count;
    /* Children; or what is watched: first index names by data watches, then by child watches. */
    int16_t list[WATCHES_MAX * WATCH_KINDS];
};
_Static_assert(CHILDREN_MAX <= WATCHES_MAX * WATCH_KINDS, "a list has room for them");

struct list {
    int first, last;
};

enum to_client {
    TO_REPLY = 100,
    TO_EVENT, /* index: its zkli_watch_type */
    TO_CONNECTED,
    TO_EXPIRED,
    TO_CLOSED,
    TO_PONG
};

enum between_servers {
    SERVER_PROPOSE = 120,
    SERVER_ACK,
    SERVER_COMMIT,
    SERVER_PING,
    SERVER_PONG,
    SERVER_REQUEST,
    SERVER_SYNCED,
    SERVER_VALIDATE,
    SERVER_VALIDATED
};

enum to_engine {
    DELIVER_STATE = 140,
    DELIVER_REPLY,
    DELIVER_UNHEARD,
    DELIVER_WATCH /* index: as above */
};

/* ---- Servers ---- */

enum txn_type {
    TXN_ERROR,
    TXN_CREATE,
    TXN_DELETE,
    TXN_SET, /* as a part of a TXN_MULTI */
    TXN_MULTI,
    TXN_OPEN,
    TXN_CLOSE
};

struct txn {
    int64_t zxid;
    uint8_t type, code;
    bool is_container, by_operator;
    int name, session, server, conn; /* server NONE: no connection waits for it */
    int data;
    uint32_t conn_life;
    int32_t counter;
    int part_count, refused; /* TXN_MULTI, or what was to be one; the guard comes first */
    struct part parts[PARTS_MAX];
};

struct tracked {
    bool is_known, is_closing;
    bool is_due;                    /* taken, to be ended: what is heard of it helps no more */
    bool is_heard_late;             /* and was heard of since */
    int owner;                      /* server */
    int64_t touched_ns, expires_ns; /* on the leader's clock */
};

enum role {
    ROLE_DOWN,
    ROLE_LOOKING,
    ROLE_FOLLOWING,
    ROLE_LEADING
};

struct server {
    enum role role;
    unsigned life; /* a new one with each role */
    uint32_t epoch;
    int logged, applied; /* entries of the log */
    int64_t apply_at, lag_ns;
    struct tree tree;
    uint64_t touched[SESSIONS_MAX / 64]; /* since the last answer to a ping */
    /* By session: the connection that waits for the leader's word (Learner.pendingRevalidations) */
    struct {
        int conn; /* NONE: none does */
        uint32_t life;
    } pending[SESSIONS_MAX];
    int64_t heard_ns; /* from the leader */
    unsigned answers; /* to its pings */
    bool is_racing;   /* it hears of many a heartbeat while it answers a ping */
    /* Leading */
    struct tracked sessions[SESSIONS_MAX];
    bool is_followed[SERVERS];
    int64_t answered_ns[SERVERS];
    int acked[SERVERS];
    int64_t pings_ns; /* when it pings next */
    int ppm;          /* its clock's error */
};

/* From one server to another: ordered, held for as long as a fault holds it. */
struct link {
    unsigned held_by; /* a bit for each server that is cut off, and one for a stall of this link */
    int64_t last_at;
    struct list list;
};

enum conn_state {
    CONN_FREE,
    CONN_FRESH,
    CONN_VALIDATING,
    CONN_OPEN
};

struct conn {
    enum conn_state state;
    uint32_t life;
    int client, port, server, session;
    bool is_left;   /* the client has closed its end */
    bool is_closed; /* the server has */
    /* The server's thread that has read the first request up stands still, since so many answers
     * to pings: it has looked for the map of what the server has heard, and put nothing into it. */
    bool is_standing;
    unsigned stood_answers;
    int64_t stands_until_ns;
    int64_t up_at, down_at;
    struct list up, down;
    struct list queue; /* requests that the server has not answered */
    struct watches watches[WATCH_KINDS];
};

/* ---- Clients ---- */

enum port_state {
    PORT_NEW,
    PORT_CONNECTING,
    PORT_HANDSHAKE,
    PORT_CONNECTED,
    PORT_OVER
};

struct port {
    struct zkli_port base;
    struct world *world;
    int client;
    enum port_state state;
    bool is_closed;
    bool is_attached;         /* it is the program's: connected before, and perhaps used after */
    bool is_armed, is_arming; /* its watch, by which the engine hears of the session */
    bool is_left_untidy;      /* an engine may have left nodes in its session */
    int conn;
    uint32_t conn_life;
    int session;
    /* Seen by the client library; delivered to the engine; delivered as a reply */
    int64_t last_zxid, told_zxid, answered_zxid;
    /* What its server had when the connection began; of the connection that the engine knows of */
    int64_t connected_zxid, begun_zxid;
    int64_t received_ns, sent_ns, attempted_ns, attempt_until_ns;
    int64_t stands_ns; /* so much later is the next thing delivered */
    int server;        /* the last one tried */
    int step;          /* to the next in its list */
    bool returns;      /* the next one is the same again, by another address */
    unsigned io_stamp;
    bool is_end_untold, is_untold; /* of the connection before; neither that nor this one */
    uint64_t untold_connection;    /* the one that the engine went by when it ended */
    struct list unsent, in_flight, deliveries;
    bool is_delivering;
    struct watches watches[WATCH_KINDS];
};

struct handle {
    struct client *client;
    struct zkl_lock *lock; /* NULL: not open */
    int name;              /* which lock */
    enum zkli_kind kind;
    int limit; /* a semaphore's: as many permits there were when it was admitted, or fewer */
    bool is_recursive;
    bool lingers;         /* its node may stay idle */
    int turns_max;        /* how often a node may be handed on */
    int64_t token;        /* the last hold's */
    int turns;            /* holds by that node, but for the first */
    int wanted_turns;     /* since it was told that it is wanted */
    int64_t idle_ns;      /* since when its node is idle, by the client's clock; 0: it is not */
    int64_t asked_ns;     /* since when it can know that it was asked to let go; or 0 */
    unsigned asked_beats; /* sent and acknowledged since, one after the other */
    zkl_hold wanted[THREADS_MAX + 1]; /* the last holds that WANTED was told for */
    unsigned wanted_count;
    zkl_hold awaited;        /* the last one that was looked at, whether it ought to be; */
    int64_t awaited_beat_ns; /* at this heartbeat; */
    unsigned awaited_beats;  /* and so many in a row since it ought to be */
    int64_t waited_ns;       /* when a wait by it last ended in vain */
    unsigned writes;         /* whose callers go on, and are not told yet */
    zkl_hold part;           /* a hold beside others, whose caller has not woken up; or 0 */
    zkl_hold seen;           /* the hold whose node this is */
    int node;
    zkl_hold lost[THREADS_MAX + 1];     /* the last holds that LOST was told for */
    zkl_hold released[THREADS_MAX + 1]; /* the last holds given up while they were good */
    unsigned lost_count, released_count;
    int64_t uncertain_since_ns; /* 0: it is not */
    int64_t known_ns; /* since when its node's end can be known, by the client's clock; or 0 */
    uint64_t known_connection;
    unsigned known_beats; /* sent and acknowledged since, one after the other */
    int64_t broken_ns;    /* as the last three, of a mark that ends its hold */
    uint64_t broken_connection;
    unsigned broken_beats;
    int64_t blind_until_ns; /* of its member, when it was last looked at */
};

/* What comes to nothing: a reply or a request, with its connection. */
enum doom {
    DOOM_NONE,
    DOOM_REPLY,
    DOOM_WRITE_REPLY,
    DOOM_REQUEST,
    DOOM_CREATE, /* the request to make a contender is carried out, but late */
    DOOM_TOUCH   /* the mark of one that is admitted to a semaphore: it is not sent */
};

enum actor_state {
    ACTOR_IDLE,
    ACTOR_WAITING,
    ACTOR_HOLDING,
    ACTOR_WRITING,
    ACTOR_TURNING, /* from a writer into a reader */
    ACTOR_LATE     /* lost its hold and has not released it */
};

/* A guarded write on its way. */
struct writing {
    struct zkli_write write;
    struct zkli_op ops[PARTS_MAX];
    bool is_answered; /* the servers have; and so */
    zkl_err answer;
    int number;
};

struct actor {
    enum actor_state state;
    int handle;
    unsigned stamp;
    bool is_waking;
    bool is_told; /* the acquire's caller goes on; and so the hold is no thread's */
    struct zkli_acquire acquire;
    struct zkli_completion completion;
    zkl_err told;
    struct zkl_lock *lock;
    struct zkli_several *all; /* several at once; NULL: only that lock */
    struct other {            /* the other locks of such a hold; lock NULL: no more */
        int handle;
        struct zkl_lock *lock;
        zkl_hold hold;
    } others[LOCKS_MAX - 1];
    bool is_impatient;   /* it has waited in vain, and tries the same again */
    unsigned attempt;    /* a number for each acquire */
    int64_t deadline_ns; /* on the client's clock; 0: none */
    struct tried {       /* a try that asks the servers: how things stood when it began */
        int64_t zxid;    /* its server has come as far; 0: there was no connection */
        int conn;
        uint32_t conn_life;
        unsigned disturbances;
    } tried;
    /* When its acquire began: contenders of its that were leaving. */
    char given_up[GIVEN_UP_MAX][ZKLI_UUID_LENGTH + 1];
    unsigned given_up_count;
    bool is_hasty; /* its node was asked for when the client library had not told all */
    zkl_hold hold;
    unsigned levels;  /* of it: acquired, and not given up by itself or another thread */
    int64_t until_ns; /* holds so long */
    bool has_turned;  /* the hold is a reader's, and was a writer's */
    struct zkli_downgrade downgrade;
    struct writing writing;
};

/* A guarded write, as its caller and as the servers see it. */
struct written {
    int lock, node; /* of the hold */
    size_t size;
    zkl_hold hold;
    bool is_several;
    bool is_versioned, is_answered;
    zkl_err result;
    unsigned sends, commits;
};

struct client {
    struct zkl_session session; /* with the engine */
    struct world *world;
    bool is_open, is_paused, is_closing, is_dead;
    unsigned pause;   /* a number for each */
    bool was_certain; /* the lease, when the session was entered */
    unsigned stamp;   /* a new one with each process */
    int port;         /* the engine's, or its last; NONE */
    int handle;       /* the port that it is attached to, or will be; NONE */
    int64_t born_ns;  /* what the program says of that, by the client's clock */
    int64_t tick_ns;  /* when the timer goes off, real time */
    unsigned tick_stamp;
    uint64_t seen_news;
    struct zkli_list told; /* the line of completions, none of which is told before the next one */
    bool is_telling;
    unsigned untold_writes; /* whose callers go on */
    int ppm;
    int64_t offset_ns, wakes_ns, woke_ns;
    bool is_silent[SERVERS];  /* nothing passes between it and that server */
    enum doom doom;           /* of the next one that is such */
    bool is_forgetful;        /* of the next state, its client library tells nothing */
    bool is_racing;           /* its next heartbeat comes while the server answers a ping */
    bool is_told_late;        /* of its next session; until that is told */
    int64_t scene_ns;         /* what the next act of a scene goes by */
    unsigned refused_percent; /* of what it sends, by its own client library: memory is short */
    bool refuses_deletes;     /* of these only */
    struct handle handles[HANDLES_MAX];
    struct actor actors[THREADS_MAX];
    struct zkli_breaking breaking;      /* an operator's, in this process */
    bool is_breaking, is_break_refused; /* and perhaps refused the barrier before its reads */
    int broken;                         /* the node */
    struct zkli_asking asking;          /* another's */
    bool is_asking, asked_is_known;     /* its server had heard of the node when it began */
    int asked;
    int64_t asked_czxid;
};

/* ---- The world ---- */

enum event_kind {
    EVENT_UP,
    EVENT_DOWN,
    EVENT_LATE,
    EVENT_LINK,
    EVENT_LOGGED,
    EVENT_APPLY,
    EVENT_LEADER,
    EVENT_FOLLOWER,
    EVENT_EXPIRY,
    EVENT_END_DUE,
    EVENT_ELECT,
    EVENT_HEAL,
    EVENT_IO,
    EVENT_DELIVER,
    EVENT_OPEN_PORT,
    EVENT_CLOSE_PORT,
    EVENT_TICK,
    EVENT_WAKE,
    EVENT_SHUT,
    EVENT_OPEN,
    EVENT_LEAVE,
    EVENT_ACTOR,
    EVENT_DEADLINE,
    EVENT_TELL,
    EVENT_FAULT,
    EVENT_DOOM,
    EVENT_SCENE,
    EVENT_STRANGER,
    EVENT_RESIZE,
    EVENT_BREAK,
    EVENT_ASK,
    EVENT_PHASE,
    EVENT_DRAINED,
    EVENT_KINDS
};

struct event {
    int64_t at;
    uint32_t order;
    uint16_t kind, a;
    uint32_t b;
};

enum phase {
    PHASE_RUN,
    PHASE_FREEZE, /* no faults any more, and nobody takes or gives up anything */
    PHASE_DRAIN,  /* who holds gives up; who waits is served */
    PHASE_CLOSE,  /* sessions are closed, and what is left expires */
    PHASE_OVER
};

struct world {
    uint64_t seed, random;
    bool is_traced;
    int64_t now_ns;
    /* Settings of the schedule */
    int64_t tick_ns, timeout_ns;
    int sync_limit, clients, threads, locks, handles;
    int permits[LOCKS_MAX];    /* of a semaphore, in the beginning; 0: it is none */
    unsigned together_percent; /* of the acquires, of several locks at once */
    int32_t counter_start;
    unsigned operations_wanted, operations, faults_wanted, faults_done;
    enum phase phase;
    bool is_throttling, is_denying;
    bool has_refused;          /* either has been */
    bool is_log_stalled;       /* followers log, and acknowledge nothing */
    int64_t log_takes_ns;      /* or each entry so much later; 0: at once */
    unsigned attached_percent; /* of clients, to their program's handle */
    int keeper; /* the holds of this client have to last, unless anything else happens */
    unsigned disturbances, keeper_disturbances;
    int64_t keeper_until_ns;
    bool keeper_may_lose;     /* unless it leaves its server: without that it may be lost, too */
    int skew;                 /* leaders' clocks are slow and clients' fast (1), or so (-1), or 0 */
    bool is_late, is_latest;  /* pings, all the time; each by as much as may be */
    int64_t late_until_ns;    /* or so long */
    bool knows_sockets;       /* clients can drop a connection whose server is silent */
    bool is_ending_slowly;    /* leaders take some time to end the sessions that are due */
    int64_t hold_ns, rest_ns; /* how long actors hold, and rest, at most */
    unsigned fault_at[FAULTS_MAX]; /* operations */
    int64_t phase_until_ns;
    /* Events */
    struct event *heap;
    size_t heap_count, heap_max;
    uint32_t order;
    /* Servers */
    struct name *names;
    int name_count, nowhere; /* never there: a barrier deletes it that looks for no node */
    int16_t name_table[NAMES_MAX * 2];
    struct text *texts;
    int text_count;
    int16_t text_table[TEXTS_MAX * 2];
    struct txn *log; /* from index 1 */
    int log_count, committed;
    int leader; /* of the present epoch; NONE */
    uint32_t epoch, low;
    struct tree truth, prepared; /* what is committed; with what is proposed */
    struct server servers[SERVERS];
    struct link links[SERVERS][SERVERS];
    int session_count;
    int session_client[SESSIONS_MAX];
    bool session_lost[SESSIONS_MAX]; /* the last heartbeat, by the server: not the next one, too */
    int dirs[LOCKS_MAX];
    int registers[LOCKS_MAX], marks[LOCKS_MAX]; /* the znodes that a lock protects */
    struct written writes[WRITES_MAX];          /* from 1 */
    int write_count;
    int last_write[LOCKS_MAX]; /* that was made */
    /* Messages */
    struct message *messages;
    int free_message, messages_used;
    struct conn conns[CONNS_MAX];
    int conns_used; /* the highest in use, plus one */
    struct port ports[PORTS_MAX];
    int port_count;
    struct client list[CLIENTS_MAX];
    /* Checks */
    struct numbers {
        struct number {
            int64_t zxid; /* since when */
            int permits;  /* 0: none, or no directory */
        } list[NUMBERS_MAX];
        int count;
    } numbers[LOCKS_MAX];
    struct permit_holder { /* who is certain to hold one */
        int client, lock, limit;
        int64_t place;
    } permit_holders[CLIENTS_MAX * HANDLES_MAX];
    int permit_holder_count;
    struct latest {
        int64_t any, exclusive; /* czxid: of any contender; of one that excludes its like */
    } last_token[LOCKS_MAX], last_written[LOCKS_MAX];
    struct figures *figures;
    bool is_violated;
    enum checker checker;
    char violation[512];
};

#endif
