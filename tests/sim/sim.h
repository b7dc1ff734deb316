/*
 * sim - an ensemble of three ZooKeeper servers, their clients and the network between them, in one
 * thread, on virtual time, from one seed. The clients run the library's own core, session and lock
 * code; simulated are the client library (port.c), the servers (quorum.c, server.c), and the
 * session's threads (client.c). What the servers do is what ZooKeeper 3.8.0 was seen or read to do.
 *
 * Files: world.c time, randomness, names, trees, trace; quorum.c the log, election.c who leads;
 * server.c connections, requests, watches; port.c the client library; client.c processes with
 * their sessions; actor.c and writer.c threads that use locks; schedule.c one seed from its faults
 * to its end; checks.c what must hold at every step; report.c figures; many.c many seeds; main.c
 * the command.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lock/lock.h"
#include "session/engine.h"
#include "sim/figures.h"

#define MS INT64_C(1000000)
#define SERVERS 3
#define CLIENTS_MAX 5
#define THREADS_MAX 3 /* of a client */
#define LOCKS_MAX 2   /* different names */
#define SESSIONS_MAX 256
#define NAMES_MAX 4096
#define NODES_MAX 96
#define WATCHES_MAX 96
#define CHILDREN_MAX 72
#define LOG_MAX (1 << 16)
#define WRITES_MAX 2048
#define CONNS_MAX 256
#define MESSAGES_MAX 8192
#define PORTS_MAX 256
#define FAULTS_MAX 12
#define NONE (-1)

/* ---- Names and trees ---- */

struct name {
    char text[112];
    int parent;        /* of the root: NONE */
    int lock;          /* a child of which lock's directory; NONE */
    bool is_contender; /* a node that stands in a queue */
    int client;        /* who created it; NONE: a stranger */
    int64_t czxid;     /* of the node, when it was committed */
    int64_t gone_zxid; /* 0: not deleted */
    bool was_uprooted; /* by an operator */
    unsigned wakes;    /* waiting contenders that were told of its end */
    bool is_end_told;  /* by its watch, to who created it */
};

struct znode {
    int name;
    int session; /* 0: not ephemeral */
    bool is_container;
    int64_t czxid, mzxid;
    int32_t counter; /* of its children's creation */
    int touched_by;  /* the last entry of the log that changed the counter */
    int32_t version;
    int value; /* which write it has: its number */
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
    OP_EXISTS, /* no client of ours sends it, nor sync: mistakes do */
    OP_SYNC,
    OP_REMOVE,
    OP_GUARDED,
    OP_BARRIER,
    OP_SET_WATCHES,
    OP_PING,
    OP_CLOSE
};

enum code {
    CODE_OK,
    CODE_NO_NODE,
    CODE_NO_GUARD,
    CODE_BAD_VERSION,
    CODE_EXISTS,
    CODE_NOT_EMPTY,
    CODE_EXPIRED,
    CODE_MOVED,
    CODE_THROTTLED,
    CODE_DENIED,
    CODE_CONNECTION_LOSS
};

/* One for all: requests, replies, what servers tell each other, what a client has to deliver. */
struct message {
    int next;     /* in its list; NONE: the last */
    int64_t at;   /* when it arrives */
    uint8_t kind; /* an op, or one of the enums below */
    uint8_t code;
    bool is_watched, is_container, is_done, is_reply, is_untold;
    unsigned slot;
    int name, index, conn, session;
    int guard, value; /* OP_GUARDED */
    int32_t version;
    uint32_t conn_life;
    int64_t zxid, czxid;
    uint64_t touched[SESSIONS_MAX / 64];
    int count;
    int16_t list[CHILDREN_MAX > WATCHES_MAX ? CHILDREN_MAX : WATCHES_MAX];
};

struct list {
    int first, last;
};

enum to_client {
    TO_REPLY = 100,
    TO_EVENT_DELETED,
    TO_EVENT_CHANGED,
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
    DELIVER_WATCH
};

/* ---- Servers ---- */

enum txn_type {
    TXN_ERROR,
    TXN_CREATE,
    TXN_DELETE,
    TXN_SET,
    TXN_OPEN,
    TXN_CLOSE
};

struct txn {
    int64_t zxid;
    uint8_t type, code;
    bool is_container, by_operator;
    int name, session, server, conn; /* server NONE: no connection waits for it */
    int guard, value;                /* TXN_SET */
    uint32_t conn_life;
    int32_t counter;
};

struct tracked {
    bool is_known, is_closing;
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
    int64_t heard_ns;                    /* from the leader */
    /* Leading */
    struct tracked sessions[SESSIONS_MAX];
    bool is_followed[SERVERS];
    int64_t answered_ns[SERVERS];
    int acked[SERVERS];
    int ppm; /* its clock's error */
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
    int64_t up_at, down_at;
    struct list up, down;
    struct list queue; /* requests that the server has not answered */
    int watch_count;
    int watches[WATCHES_MAX];
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
    int conn;
    uint32_t conn_life;
    int session;
    /* Seen by the client library; delivered to the engine; delivered as a reply */
    int64_t last_zxid, told_zxid, answered_zxid;
    int64_t received_ns, sent_ns, attempt_until_ns;
    int server; /* the last one tried */
    unsigned io_stamp;
    bool is_end_untold, is_untold; /* of the connection before; neither that nor this one */
    uint64_t untold_connection;    /* the one that the engine went by when it ended */
    struct list unsent, in_flight, deliveries;
    bool is_delivering;
    int watch_count;
    int watches[WATCHES_MAX];
};

struct handle {
    struct client *client;
    struct zkl_lock *lock; /* NULL: not open */
    int name;              /* which lock */
    bool is_recursive;
    zkl_hold seen; /* the hold whose node this is */
    int node;
    zkl_hold lost[THREADS_MAX + 1];     /* the last holds that LOST was told for */
    zkl_hold released[THREADS_MAX + 1]; /* the last holds given up while they were good */
    unsigned lost_count, released_count;
    int64_t uncertain_since_ns; /* 0: it is not */
    int64_t known_ns; /* since when its node's end can be known, by the client's clock; or 0 */
    uint64_t known_connection;
    unsigned known_beats; /* sent and acknowledged since, one after the other */
};

enum actor_state {
    ACTOR_IDLE,
    ACTOR_WAITING,
    ACTOR_HOLDING,
    ACTOR_WRITING,
    ACTOR_LATE /* lost its hold and has not released it */
};

struct actor {
    enum actor_state state;
    int handle;
    unsigned stamp;
    bool is_waking;
    struct zkli_request request;
    struct zkl_lock *lock;
    unsigned attempt;    /* a number for each acquire */
    int64_t deadline_ns; /* on the client's clock; 0: none */
    zkl_hold hold;
    unsigned levels;  /* of it: acquired, and not given up by itself or another thread */
    int64_t until_ns; /* holds so long */
    struct zkli_write write;
    int writing; /* the number of the write */
};

/* A guarded write, as its caller and as the servers see it. */
struct written {
    int lock, node; /* of the hold */
    bool is_versioned, is_answered;
    zkl_err result;
    unsigned commits;
};

struct client {
    struct zkl_session session; /* with the engine */
    struct world *world;
    bool is_open, is_paused, is_closing, is_dead;
    unsigned pause;   /* a number for each */
    bool was_certain; /* the lease, when the session was entered */
    unsigned stamp;   /* a new one with each process */
    int port;         /* the newest; NONE */
    int64_t tick_ns;  /* when the timer goes off, real time */
    unsigned tick_stamp;
    uint64_t seen_news;
    int ppm;
    int64_t offset_ns, wakes_ns, woke_ns;
    bool is_silent[SERVERS]; /* nothing passes between it and that server */
    int doomed; /* the next reply of this kind (1 a write's, 2 any) is lost with its connection; 3:
                   the next request; 4: the next create is carried out after its connection */
    bool is_forgetful;        /* of the next state, its client library tells nothing */
    unsigned refused_percent; /* of what it sends, by its own client library: memory is short */
    struct handle handles[LOCKS_MAX];
    struct actor actors[THREADS_MAX];
};

/* ---- The world ---- */

enum event_kind {
    EVENT_UP,
    EVENT_DOWN,
    EVENT_LATE,
    EVENT_LINK,
    EVENT_APPLY,
    EVENT_LEADER,
    EVENT_FOLLOWER,
    EVENT_EXPIRY,
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
    EVENT_ACTOR,
    EVENT_DEADLINE,
    EVENT_FAULT,
    EVENT_DOOM,
    EVENT_STRANGER,
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
    int sync_limit, clients, threads, locks;
    int32_t counter_start;
    unsigned operations_wanted, operations, faults_wanted, faults_done;
    enum phase phase;
    bool is_throttling, is_denying;
    int64_t hold_ns, rest_ns;      /* how long actors hold, and rest, at most */
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
    struct txn *log; /* from index 1 */
    int log_count, committed;
    int leader; /* of the present epoch; NONE */
    uint32_t epoch, low;
    struct tree truth, prepared; /* what is committed; with what is proposed */
    struct server servers[SERVERS];
    struct link links[SERVERS][SERVERS];
    int session_count, session_client[SESSIONS_MAX];
    int dirs[LOCKS_MAX], registers[LOCKS_MAX]; /* the znode that a lock protects */
    struct written writes[WRITES_MAX];         /* from 1 */
    int write_count;
    /* Messages */
    struct message *messages;
    int free_message, messages_used;
    struct conn conns[CONNS_MAX];
    int conns_used; /* the highest in use, plus one */
    struct port ports[PORTS_MAX];
    int port_count;
    struct client list[CLIENTS_MAX];
    /* Checks */
    int64_t last_token[LOCKS_MAX], last_written[LOCKS_MAX];
    struct figures *figures;
    bool is_violated;
    enum checker checker;
    char violation[512];
};

/* The thread that is calling the library now. */
extern uint64_t sim_thread;
/* ---- world.c ---- */

struct world *world_new(void);
void world_free(struct world *w);
void world_reset(struct world *w, uint64_t seed);
uint64_t world_random(struct world *w);
/* From 0 to n - 1. */
unsigned world_below(struct world *w, unsigned n);
int64_t world_between(struct world *w, int64_t low, int64_t high);
bool world_chance(struct world *w, unsigned percent);
void world_at(struct world *w, int64_t at, enum event_kind kind, unsigned a, unsigned b);
bool world_next(struct world *w, struct event *ret);
/* The simulation prints what happens, if the seed is being replayed. */
#define TRACE(w, ...)                                                                              \
    do {                                                                                           \
        if ((w)->is_traced)                                                                        \
            world_trace((w), __VA_ARGS__);                                                         \
    } while (0)
__attribute__((format(printf, 2, 3))) void world_trace(const struct world *w, const char *format,
                                                       ...);
/* The first one counts; the schedule ends. */
__attribute__((format(printf, 3, 4))) void world_violate(struct world *w, enum checker checker,
                                                         const char *format, ...);
/* The number of a path, new if it must be. */
int world_name(struct world *w, const char *path);
struct znode *tree_find(struct tree *tree, int name);
void tree_apply(struct world *w, struct tree *tree, const struct txn *txn, int index);
int message_new(struct world *w, int kind);
void message_free(struct world *w, int message);
void list_init(struct list *list);
void list_push(struct world *w, struct list *list, int message);
int list_pop(struct world *w, struct list *list);
void list_clear(struct world *w, struct list *list);
/* Clocks that run too fast or slow by so many millionths. */
int64_t clock_local(int64_t now_ns, int ppm, int64_t offset_ns);
int64_t clock_real(int64_t local_ns, int ppm, int64_t offset_ns);

/* ---- quorum.c ---- */

/* Whether it is the leader of the present epoch; a deposed one only thinks so. */
bool quorum_leads(const struct world *w, int server);
bool quorum_can_talk(const struct world *w, int a, int b);
/* Whether any two can agree on anything. */
bool quorum_is_possible(const struct world *w);
void quorum_commit(struct world *w, int index);
/* Commits what a quorum has logged. */
void quorum_acked(struct world *w, int leader);
void quorum_ping(struct world *w, int leader, int follower);
void quorum_link(struct world *w, unsigned from, unsigned to);
void quorum_apply(struct world *w, unsigned server_and_life, unsigned index);
/* A write, from a connection of that server (NONE: from nowhere). Nothing comes of it if nobody
 * leads. request is kept by the caller. */
void quorum_write(struct world *w, int server, int conn, const struct message *request);
void quorum_validate(struct world *w, int server, int conn, int session);
/* The leader has heard of a session. */
void quorum_track(struct world *w, int leader, int session);
void quorum_touch(struct world *w, int server, int session);
bool server_is_serving(const struct world *w, int server);

/* ---- election.c ---- */

void quorum_start(struct world *w);
void quorum_leader(struct world *w, unsigned server, unsigned life);
void quorum_follower(struct world *w, unsigned server, unsigned life);
void quorum_expiry(struct world *w, unsigned server, unsigned life);
void quorum_elect(struct world *w);
void server_isolate(struct world *w, int server, bool is_isolated);
bool server_is_isolated(const struct world *w, int server);
/* One link, one way. */
void link_stall(struct world *w, int from, int to, bool is_stalled);
bool link_is_stalled(const struct world *w, int from, int to);
void server_abandon(struct world *w, int server);
void server_crash(struct world *w, int server);
void server_look(struct world *w, int server);
int64_t server_clock(const struct world *w, int server);

/* ---- server.c ---- */

/* The client's end: NONE if nobody listens. */
int conn_open(struct world *w, int client, int port, int server);
void conn_send(struct world *w, int conn, int message);
/* The client closes its end; with is_reset what it sent and has not arrived never will. */
void conn_leave(struct world *w, int conn, bool is_reset);
/* What a server had read and not yet queued when it closed the connection. */
void server_late(struct world *w, unsigned server, unsigned message);
void conn_up(struct world *w, unsigned conn, unsigned life);
void conn_down(struct world *w, unsigned conn, unsigned life);
/* The link between a client and a server carries again. */
void conn_resume(struct world *w, int client);
void server_close_conns(struct world *w, int server, int session);
void server_applied(struct world *w, int server, const struct txn *txn, const struct tree *before);
void server_validated(struct world *w, int server, int conn, uint32_t life, bool is_valid);
void server_synced(struct world *w, int server, int conn, uint32_t life, int index);

/* ---- port.c ---- */

struct zkli_port *port_new(struct world *w, int client);
void port_begin(struct world *w, unsigned port, unsigned unused);
void port_io(struct world *w, unsigned port, unsigned stamp);
void port_receive(struct world *w, int port, int message);
void port_deliver(struct world *w, unsigned port, unsigned unused);
/* After a pause. */
void port_wake(struct world *w, int port);
void port_close(struct world *w, unsigned port, unsigned unused);
void port_cut(struct world *w, int port);
int64_t port_session_id(int session);

/* ---- client.c ---- */

void client_open(struct world *w, unsigned client, unsigned unused);
void client_tick(struct world *w, unsigned client, unsigned stamp);
void client_pause(struct world *w, int client, int64_t ns);
void client_wake(struct world *w, unsigned client, unsigned pause);
/* The session is closed and the process ends; if killed, nothing of that reaches the server. */
void client_close(struct world *w, int client, bool is_killed);
void client_shut(struct world *w, unsigned client, unsigned stamp);
bool client_has_members(const struct world *w, int client);
int64_t client_clock(const struct client *c);
const struct zkli_port_receiver *client_receiver(void);

/* ---- actor.c ---- */

/* The threads of a client begin to use its locks. */
void actors_start(struct world *w, int client);
/* The session is shut: every wait has failed. */
void actors_end(struct world *w, int client);
void actor_act(struct world *w, unsigned actor, unsigned stamp);
void actor_deadline(struct world *w, unsigned actor, unsigned attempt);
/* A guarded write of the lock's register, by a thread that holds or thinks so (writer.c). */
void actor_write(struct world *w, unsigned actor);
/* The next look at the hold; the next acquire. */
void actor_look_again(struct world *w, unsigned actor);
void actor_rest(struct world *w, unsigned actor);
/* Whether it is done. */
bool actor_has_written(struct world *w, unsigned actor);
/* Something happened in this client's session. */
void actors_look(struct world *w, int client);
bool actors_are_idle(const struct world *w, int client);
void actor_cancel(struct world *w, int client);
void actor_close_lock(struct world *w, int client);

/* ---- checks.c ---- */

/* The node of the handle's hold; 0 if it has none. */
int checks_node(struct world *w, struct handle *h);
/* A guarded write has an outcome. */
void checks_written(struct world *w, int number, zkl_err result);
/* After every event. */
void checks_step(struct world *w);
void checks_event(struct world *w, struct handle *handle, const zkl_event *event);
/* A release says OK. */
void checks_released(struct handle *h, zkl_hold hold);
void checks_hold(struct world *w, int client, const struct actor *a);
void checks_committed(struct world *w, const struct txn *txn, const struct tree *before);
void checks_watch_told(struct world *w, int client, int name, bool is_deleted);
void checks_frozen(struct world *w);
void checks_drained(struct world *w);
void checks_end(struct world *w);

/* ---- schedule.c ---- */

/* An actor has begun something; faults come with the operations. */
void schedule_operation(struct world *w);
/* Runs one seed; false: violated. */
bool schedule_run(struct world *w, uint64_t seed, bool is_traced, struct figures *figures);

#endif
