/*
 * engine_bench - an engine on a bench: a host whose clock stands until it is moved, ports that note
 * what is asked of them, and a tiny server, which answers when it is told to. The tests decide what
 * is answered, refused, cut, or lost, and when. There is one bench in a program.
 */
#ifndef UNIT_ENGINE_BENCH_H
#define UNIT_ENGINE_BENCH_H

#include <stdio.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"
#include "unit/tiny_server.h"

#define MS INT64_C(1000000)
#define T_MS 10000
#define PORTS_MAX 64
#define OWNERS_MAX 512

#define BENCH_OPS_MAX 3

struct request {
    enum kind kind;
    unsigned slot;
    bool is_watched;
    enum zkli_create_mode mode;
    size_t length; /* of the data */
    char data[ZKLI_NODE_DATA_MAX];
    char path[ZKLI_PATH_MAX]; /* MULTI: of the last operation */
    /* MULTI: the first few. Their own paths and data; data: that of the first that has any. */
    size_t op_count;
    struct bench_op {
        enum zkli_op_type type;
        int32_t flags, version;
        bool has_our_acl;
        char path[ZKLI_PATH_MAX];
        size_t length; /* of the data */
        char data[ZKLI_NODE_DATA_MAX];
    } ops[BENCH_OPS_MAX];
};

struct fake_port {
    struct zkli_port port;
    int64_t session_id;
    enum zkli_port_state state; /* that a look finds; it follows what is told */
    bool is_opened, is_closed;
};

/* The owner of a contender: what it was told. */
struct owner {
    struct zkli_member *member; /* NULL: forgotten */
    unsigned notices;           /* all of them, TOLD bits */
    int error;
    size_t grants;
    char path[ZKLI_PATH_MAX]; /* path_of, when it was last asked for */
};

#define TOLD(notice) (1u << ZKLI_NOTICE_##notice)

extern struct bench {
    struct zkli_engine *engine;
    int64_t now_ns, next_ns; /* next: what settle said */
    bool has_no_ports;       /* out of memory for them */
    struct fake_port ports[PORTS_MAX];
    size_t port_count;
    unsigned refused; /* kinds that are not sent, as bits */
    size_t looks;
    bool can_drop; /* the port, its connection */
    size_t drops;  /* asked for, granted or not */
    bool wants_preparing;
    size_t prepared;
    int timeout_ms; /* as granted */
    struct request requests[ZKLI_SLOTS];
    size_t request_count;
    size_t sent[KINDS];
    struct tiny_server server;
    int64_t last_session;
    size_t events[ZKL_EVENT_REQUEUED + 1]; /* of the session */
    bool is_new_session;                   /* what the last of these said */
    size_t lines[ZKL_LOG_DEBUG + 1];       /* logged */
    char last_line[ZKLI_PATH_MAX + 256];
    struct owner owners[OWNERS_MAX];
    size_t owner_count;
} Bench;

/* ---- The bench ---- */

void bench_start(const char *root, bool keeps_session);
/* With a session, and no contender on it. */
void bench_begin(void);
/* Ends the session; every owner must have been told, and have no member left. */
void bench_end(void);

/* ---- The engine's doors ---- */

void settle(void);
void advance(int64_t ns);
void drain(void);
void shut(void);
void tell_state(enum zkli_port_state state);
void tell_reply(unsigned slot, const struct zkli_reply *reply);
void tell_watch(const char *path, enum zkli_watch_type type);

/* ---- The server ---- */

/* By another client; the watch on it fires. */
void delete_node(const char *path);
void set_node(const char *path, const char *text);
/* Whether it is a transaction of sets, and of checks besides; or of creates alone. All operations
 * are known. */
bool has_only(const struct request *request, enum zkli_op_type type);
/* What the server does with such a one. */
struct tiny_answer serve_transaction(const struct request *request);
/* What the server does; the reply is the caller's to deliver. */
struct tiny_answer serve(const struct request *request);
/* The same, and delivers what the server says. */
void serve_request(const struct request *request);
/* Takes the request out of those in flight. */
struct request take(size_t index);
/* The oldest. */
void serve_next(void);
void serve_all(void);
/* Serves those before the first of this kind, and takes that one. */
struct request serve_until(enum kind kind);
void answer(const struct request *request, enum zkli_result result);
/* Answers the first of this kind with that, and serves what was before. */
void answer_next(enum kind kind, enum zkli_result result);
/* All is served at once for so long, in steps of 10 ms. */
void pass(int64_t ns);
/* Until nothing is under way and nothing is to be tried again. */
void come_to_rest(void);
/* All owners give up, and nothing goes on; ends the bench. */
void end_all(void);
/* Begins with a session that has been connected, and has had nothing to do for so long. */
void rest(int64_t ns);

/* ---- Connections and sessions ---- */

void bench_connect(void);
/* Of the session that is to take this one's place, the last that was asked for: its port, which has
 * to be there. */
struct fake_port *successor_port(void);
void tell_successor(enum zkli_port_state state);
/* The same for a connection. If it takes the place of the present session, heartbeats of that one
 * are not answered any more. */
void connect_successor(void);
void connect_successor_at(struct fake_port *port);
/* The connection breaks; the requests in flight are lost, the first few of them after they were
 * done. */
void cut(size_t done);
/* The same, and there is another. */
void cut_and_connect(size_t done);
void expire(void);
/* The session is connected, and always was as far as the program was told. */
void check_untold(void);

/* ---- Contenders ---- */

void on_notice(void *arg, struct zkli_member *member, enum zkli_notice notice);
zkl_err enter_by(const struct zkli_wish *wish, struct owner **ret_owner);
zkl_err enter_queue(const char *name, bool is_try, struct owner **ret_owner);
struct owner *begin(const char *name); /* a mutex */
struct owner *begin_as(const char *name, enum zkli_kind kind);
struct owner *begin_by(const struct zkli_wish *wish);
/* A semaphore's, which asks for so many permits; 0: for those that are recorded. */
struct owner *begin_lease(const char *name, int permits);
/* Another client's node, the first of its directory. */
#define OTHER_NODE "/locks/a/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-0000000000"
void plant_other(void);
/* Begins the bench; the owner waits behind that node, since just now. */
struct owner *wait_behind_another(void);
/* Begins with the delete of a hold that was lost, which is the caller's to serve, and a contender
 * that waits for another session. */
struct owner *begin_behind_a_delete(struct request *ret_remove);
/* So many, each in a queue of its own; the names begin like this. */
void begin_many(const char *prefix, int count);
/* Slots that are free. */
size_t free_slots(void);
/* As many as it takes to fill the window; their requests are not answered. */
void fill_window(void);
struct owner *hold(const char *name);
void release(struct owner *owner);
void abandon(struct owner *owner);
/* Mutexes of these names, at once; the owners stand in their order. Else there are none. */
zkl_err enter_all(const char *const *names, size_t count, bool is_try, struct owner **ret_owners);
/* The first of the names n<from>, n<from + step>, ... whose directory is in this bucket. */
#define BENCH_NAME_SIZE 16
void name_in_bucket(size_t bucket, unsigned from, unsigned step, char ret_name[BENCH_NAME_SIZE]);
/* Of its node; valid until the next call for this owner. */
const char *path_of(struct owner *owner);
/* A node in /locks/a that bears our session's tag, and has this owner: its path. Static. */
const char *plant_with_our_tag(int64_t owner);

/* ---- Queries ---- */

struct asked {
    struct zkli_query query;
    struct zkli_op op;
    char path[32];
    size_t done, replies;
};

/* About /locks/a. */
void ask(struct asked *asked, enum zkli_query_kind kind);
/* The same, after the shortest wait. */
void ask_later(struct asked *asked, enum zkli_query_kind kind);
void ask_write(struct asked *asked, const char *path, size_t bytes);
void ask_create(struct asked *asked, const char *path, int32_t flags);
void check_asked(const struct asked *asked, size_t done, size_t replies);

#endif
