/*
 * engine - one session's life without threads: connections and their ends, heartbeats and the
 * lease, the members (contenders with their requests, watches and timers), the graveyard, limits.
 *
 * Deterministic: time, randomness and ports come from the host, and every function runs to its end
 * under the host's lock. Nothing is called back in the middle of a step: zkli_engine_settle hands
 * out the members' notices.
 *
 * Here is what the layers above know of it; what its own files share is in engine_state.h and
 * engine_internal.h. Not here: threads, locks, callbacks of the user (session/).
 */
#ifndef ZKLI_ENGINE_ENGINE_H
#define ZKLI_ENGINE_ENGINE_H

#include "base/list.h"
#include "base/thread.h"
#include "base/time.h"
#include "base/timers.h"
#include "core/contender.h"
#include "core/node_data.h"
#include "engine/zk_port.h"
#include "zklock.h"

/* Root (255), '/', name (255), '/', child (128). */
#define ZKLI_PATH_MAX 1024
/* Waits between tries of what the server refused for the moment: doubled from the first to the
 * last, so that an overloaded server is not hit at full speed. */
#define ZKLI_RETRY_FIRST_NS (20 * ZKLI_NS_PER_MS)
#define ZKLI_RETRY_LAST_NS (1000 * ZKLI_NS_PER_MS)

struct zkli_engine;
struct zkli_member;

/* What the engine needs of the world around it. */
struct zkli_host {
    int64_t (*now_ns)(void *arg);                            /* CLOCK_BOOTTIME */
    void (*random)(void *arg, void *ret_bytes, size_t size); /* cannot fail */
    struct zkli_port *(*new_port)(void *arg);                /* NULL: out of memory */
    void (*open_port)(void *arg, struct zkli_port *port);    /* in the background */
    void (*close_port)(void *arg, struct zkli_port *port);   /* in the background */
    void (*prepare_port)(void *arg, struct zkli_port *port); /* in the background */
    /* is_new_session: RESUMED, with another session than before. */
    void (*on_session_event)(void *arg, zkl_event_type type, bool is_new_session);
    void (*log)(void *arg, zkl_log_level level, const char *text);
};

struct zkli_engine_options {
    const struct zkli_host *host;
    void *host_arg;
    const char *root;     /* borrowed */
    size_t chroot_length; /* bytes that the client library puts before each path */
    int asked_timeout_ms; /* of the servers, who may grant another; 0: not known */
    bool keeps_session;   /* it is not replaced by another while nothing is held or waited for */
    bool is_attached;     /* it is the program's, with its port: no other session follows it */
    int64_t born_ns;      /* attached: the session was not created before */
    struct zkli_node_data who;
};

/* ---- Life ---- */

/* NULL: out of memory. */
struct zkli_engine *zkli_engine_new(const struct zkli_engine_options *options);
/* After shut, when every member is gone. */
void zkli_engine_free(struct zkli_engine *e);
/* Begins the first connection. False: out of memory. */
bool zkli_engine_start(struct zkli_engine *e);
/* Before shut: waiters fail with CLOSED, and no more is sent. A connection that is closed with
 * replies unread is reset, and the server then never reads the request to end the session. So close
 * waits, for a while, until is_drained. (The client library also loses the memory of completions
 * that it has not delivered when it is closed.) An attached session goes on without us. So there
 * holds end at once, and it is drained when no node of ours is left. */
void zkli_engine_drain(struct zkli_engine *e);
bool zkli_engine_is_drained(const struct zkli_engine *e);
/* Before shut: whether nodes may be left in an attached session that lives on. */
bool zkli_engine_leaves_nodes(const struct zkli_engine *e);
/* Ends everything: waiters fail with CLOSED, holds end, the port is handed to close_port. */
void zkli_engine_shut(struct zkli_engine *e);

/* Every entry from outside begins with this and ends with settle. It hands out what has changed by
 * time alone: above all, the end of holds. */
void zkli_engine_enter(struct zkli_engine *e);
/* Sends what can be sent and hands out notices until there is nothing to do. Returns when to call
 * zkli_engine_tick next. */
int64_t zkli_engine_settle(struct zkli_engine *e);
void zkli_engine_tick(struct zkli_engine *e);

void zkli_engine_on_state(struct zkli_engine *e, struct zkli_port *port,
                          enum zkli_port_state state);
void zkli_engine_on_open_failed(struct zkli_engine *e, struct zkli_port *port);
/* From the port: the reply to what was sent in this slot, and a watch that fired. */
void zkli_engine_on_reply(struct zkli_engine *e, struct zkli_port *port, unsigned number,
                          const struct zkli_reply *reply);
void zkli_engine_on_watch(struct zkli_engine *e, struct zkli_port *port, const char *path,
                          enum zkli_watch_type type);
/* From now on the session is not replaced by another while it rests. */
void zkli_engine_keep_session(struct zkli_engine *e);
/* The program is about to have the port's handle: a heartbeat goes before all that it asks for. */
void zkli_engine_lend(struct zkli_engine *e);
/* What new ports are opened with is not what it was. */
void zkli_engine_hosts_changed(struct zkli_engine *e);
/* The port has a new list of servers, and may have left the one it was connected to. */
void zkli_engine_hosts_taken(struct zkli_engine *e, struct zkli_port *port);
/* Whoever ticks comes so long after the time that settle has named. */
void zkli_engine_late(struct zkli_engine *e, int64_t late_ns);
void zkli_engine_log(struct zkli_engine *e, zkl_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- What it says of itself ---- */

zkl_state zkli_engine_state(const struct zkli_engine *e);
/* Why no session will come any more: CLOSED (also when about to close), AUTH_FAILED, EXPIRED.
 * ZKL_OK: it goes on. */
zkl_err zkli_engine_end_error(const struct zkli_engine *e);
bool zkli_engine_is_connected(const struct zkli_engine *e);
/* About to close. */
bool zkli_engine_is_draining(const struct zkli_engine *e);
int64_t zkli_engine_session_id(const struct zkli_engine *e); /* 0: none */
/* T as granted; 0 before the first session. */
int zkli_engine_timeout_ms(const struct zkli_engine *e);
size_t zkli_engine_chroot_length(const struct zkli_engine *e);
/* NULL between sessions. */
struct zkli_port *zkli_engine_port(const struct zkli_engine *e);
/* The time when it was entered. */
int64_t zkli_engine_now_ns(const struct zkli_engine *e);
/* Counts what was handed out. A thread that settles before it waits looks again if this grew. */
uint64_t zkli_engine_news(const struct zkli_engine *e);

/* What has happened since the engine began. */
struct zkli_engine_counts {
    uint64_t sessions, connections;
    uint64_t heartbeats, late_heartbeats; /* sent; and answered after a period, or lost */
    int64_t least_certain_ns;             /* when a heartbeat was committed, with something held */
};

const struct zkli_engine_counts *zkli_engine_counts(const struct zkli_engine *e);
/* At this moment. */
struct zkli_engine_load {
    size_t requests, bytes; /* in flight; of queries' data */
    size_t holding, waiting;
};

struct zkli_engine_load zkli_engine_load(const struct zkli_engine *e);
/* Whether contenders of the session stand in queues, or are about to. */
bool zkli_engine_has_contenders(const struct zkli_engine *e);

/* Timers of the layers above, on the engine's clock. */
void zkli_engine_set_timer(struct zkli_engine *e, struct zkli_timer *timer, int64_t at_ns);
void zkli_engine_clear_timer(struct zkli_engine *e, struct zkli_timer *timer);

/* ---- Members: contenders in a lock's queue ---- */

typedef void (*zkli_notify_fn)(void *arg, struct zkli_member *member, enum zkli_notice notice);

/* What a new contender is to be. */
struct zkli_wish {
    const char *name; /* of the lock: <root>/<name> is its directory */
    enum zkli_kind kind;
    const char *label; /* copied and cut; NULL: the session's */
    bool is_try;
    bool may_be_kept;   /* its node, while nobody holds by it */
    bool tells_awaited; /* AWAITED, when another client waits for the hold */
    struct zkli_thread thread;
    uint64_t owner; /* what the node's data say of it; 0: nothing */
    /* Of a semaphore: */
    int permits;                  /* 0: as recorded */
    struct zkli_permits recorded; /* as this session last read them */
    int64_t session_id;           /* that one */
};

/* A new contender, or an error: LIMIT, NOMEM, CLOSED, AUTH_FAILED, EXPIRED. */
zkl_err zkli_member_new(struct zkli_member **ret_member, struct zkli_engine *e,
                        const struct zkli_wish *wish, zkli_notify_fn notify, void *arg);
/*
 * Several new contenders that are granted in one step, or not at all: if one fails, all do. NULL:
 * out of memory.
 */
struct zkli_group *zkli_group_new(struct zkli_engine *e, size_t count);
/* As zkli_member_new, of one of them. */
zkl_err zkli_group_add(struct zkli_group *group, struct zkli_member **ret_member,
                       const struct zkli_wish *wish, zkli_notify_fn notify, void *arg);
/* All of them are there. From now on the group is the engine's. */
void zkli_group_begin(struct zkli_group *group);
/* Not all of them could be added: nothing was sent, and nobody is told. */
void zkli_group_drop(struct zkli_group *group);
/* Whether the thread with this number holds any lock. */
bool zkli_engine_thread_holds(const struct zkli_engine *e, uint64_t thread_number);
/* That by which the thread with this number holds the lock of this name; NULL: there is none. */
struct zkli_member *zkli_engine_held_by(struct zkli_engine *e, const char *name,
                                        uint64_t thread_number);
/* The wait is over, for this reason: FAILED follows if nothing else has been told. */
void zkli_member_abandon(struct zkli_member *m, zkl_err error);
/* The hold is given up; GONE follows when the server has confirmed. */
void zkli_member_release(struct zkli_member *m);
/* A writer's hold is to become a reader's: TURNED follows, or LOST. */
void zkli_member_turn(struct zkli_member *m);
bool zkli_member_is_held(const struct zkli_member *m);
/* Whether it is not known at this moment which node it holds by. */
bool zkli_member_is_turning(const struct zkli_member *m);
enum zkli_kind zkli_member_kind(const struct zkli_member *m);
bool zkli_member_is_or_was_writer(const struct zkli_member *m);
/* What was last read of its directory's data. */
struct zkli_permits zkli_member_permits(const struct zkli_member *m);
/* Its node goes with the hold: something may be done later that is to count for this hold alone. */
void zkli_member_bind(struct zkli_member *m);
/* Whether another thread may go on holding by it, as if it had just been granted. */
bool zkli_member_may_be_handed_on(const struct zkli_member *m);
/* Whether its node may stay while nobody holds by it. Then WANTED says when it may not any
 * more, and it may be handed on until then. */
bool zkli_member_may_idle(const struct zkli_member *m);
void zkli_member_idle(struct zkli_member *m);
/* From now on AWAITED is told; whether it was, of its node. */
void zkli_member_tell_awaited(struct zkli_member *m);
bool zkli_member_is_awaited(const struct zkli_member *m);
/* Whether it is neither granted nor given up, nor about to be. */
bool zkli_member_is_waiting(const struct zkli_member *m);
/* Whether it stands in the queue, or is about to, behind others as far as it knows. And whether
 * nobody else could go if it went, and the session is not half full. */
bool zkli_member_may_be_left(const struct zkli_member *m);
/* From now on this number of permits is what it asks for. */
void zkli_member_expect(struct zkli_member *m, int permits);
/* Whether an acquire that asks for this number of permits may go on from there: as far as is known,
 * it would not be told that another is recorded. */
bool zkli_member_agrees(const struct zkli_member *m, int permits);
/* Whether it has told its position. */
bool zkli_member_has_position(const struct zkli_member *m);
void zkli_member_hand_on(struct zkli_member *m, struct zkli_thread thread);
/* Why its hold was lost. */
zkl_loss zkli_member_loss(const struct zkli_member *m);
/* Whom its notices are for. */
void *zkli_member_owner(const struct zkli_member *m);
/* The server has said that the node is not there: as if its watch had fired. */
void zkli_member_node_gone(struct zkli_member *m);
/* Where notices go from now on. NULL: they are dropped. */
void zkli_member_attach(struct zkli_member *m, zkli_notify_fn notify, void *arg);
/* Writes the path of its node. False: too small. */
bool zkli_member_path(const struct zkli_member *m, char *ret_path, size_t size);
int64_t zkli_member_token(const struct zkli_member *m);
/* Until when its hold is certain. */
int64_t zkli_member_certain_until_ns(const struct zkli_member *m);
/* How many contenders are before it, as far as it was told. */
size_t zkli_member_position(const struct zkli_member *m);
/* Why it failed, or did not become a reader; ZKL_OK: it did. */
zkl_err zkli_member_error(const struct zkli_member *m);

/* ---- Queries ---- */

/* A member, directory or query that has requests to send: in engine->work, first come first served.
 * (A query with data may have to wait for room when its turn comes.) */
struct zkli_work {
    struct zkli_list link;
    enum {
        ZKLI_WORK_MEMBER,
        ZKLI_WORK_DIR,
        ZKLI_WORK_QUERY
    } kind;
};

enum zkli_query_kind {
    ZKLI_QUERY_GET,
    ZKLI_QUERY_LIST,
    ZKLI_QUERY_MULTI,
    ZKLI_QUERY_BARRIER
};

/* A single request for a caller who waits for it: a read, a transaction, or a barrier. */
struct zkli_query {
    struct zkli_work work;
    enum zkli_query_kind kind;
    const char *path;          /* GET, LIST */
    const struct zkli_op *ops; /* MULTI */
    size_t op_count;
    size_t bytes; /* of data, which are counted; 0: few */
    bool is_sent;
    /* Called once with the reply, or with NULL: if it is_sent, its reply is lost; else it could
     * not be sent, or no session will come. */
    void (*done)(struct zkli_query *query, const struct zkli_reply *reply);
};

void zkli_query_ask(struct zkli_engine *e, struct zkli_query *query);
/* The same after a while: it was not sent, or refused for the moment. */
void zkli_query_ask_later(struct zkli_engine *e, struct zkli_query *query);
/* It is not asked before it is asked for again; the end of all sessions ends it all the same. */
void zkli_query_rest(struct zkli_engine *e, struct zkli_query *query);
/* Takes it out of the line. False: it is not there, and may be under way. */
bool zkli_query_withdraw(struct zkli_query *query);
/* The same, and the reply to one that is under way is void. */
void zkli_query_forget(struct zkli_engine *e, struct zkli_query *query);

#endif
