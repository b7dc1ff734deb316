/*
 * contender_world - a small world for contenders: one lock's directory on a server, some clients
 * with a session each, and contenders on them. Requests and replies are queued one by one in each
 * direction; connections break, replies are lost, a create whose reply was lost may be done late,
 * and after a reconnect reads may be old. Everything is drawn from one seed.
 *
 * Modelled as it is: replies and watch events of a connection come in the server's order; watches
 * are set again after a reconnect and fire in any order; no server lags behind what its client has
 * seen, or behind a write of its own client; a session ends only after the lease has become
 * uncertain; what a session wrote is done before a later write of the same session is.
 *
 * Nodes are bits and keep the time of their end, which tiny_server does not: a listing is one word,
 * and a server that lags behind is one comparison.
 */
#ifndef UNIT_CONTENDER_WORLD_H
#define UNIT_CONTENDER_WORLD_H

#include "unit/contender_bench.h"

#define NODES_MAX 64
#define CLIENTS 3
#define PLAYERS 5
#define QUEUE_MAX 64
#define WINDOW 20   /* in both directions of a client; what it is full for stays unsent */
#define NO_ONE (-1) /* no node */
#define LIMBO_MAX 8
#define UP_TO_DATE INT64_MAX
#define NODE_BIT(node) (UINT64_C(1) << (node))

struct node {
    char name[ZKLI_CHILD_MAX + 1];
    struct zkli_sibling sibling; /* as parsed */
    int64_t czxid, rank;    /* rank: the order of the queue; of a downgraded node, the writer's */
    int64_t owner, gone_at; /* gone_at: when; 0: it exists */
    bool is_broken;         /* deleted with other tools */
};

/* A request, its reply, or a watch event (op 0). */
struct message {
    unsigned op, serial;
    int player, node;
    unsigned generation, level;
    char uuid[ZKLI_UUID_LENGTH + 1];
    enum zkli_result result;
    uint64_t listing;
    int64_t zxid;
    bool is_deleted;
};

struct queue {
    size_t first, count;
    struct message messages[QUEUE_MAX];
};

struct client {
    bool is_connected, is_certain, is_ample;
    bool is_alive; /* its session, on the server */
    uint64_t connection;
    int64_t session_id;
    int64_t seen, view; /* zxids: of the last reply, and of its server, if that lags behind */
    struct queue requests, inbox;
    uint64_t server_watches, client_watches, missed; /* nodes; missed: changes without a watch */
    size_t limbo_count;
    struct message limbo[LIMBO_MAX]; /* creates whose reply was lost and that are done later */
};

struct player {
    struct zkli_contender core;
    int client, own; /* own: the node that core knows */
    unsigned generation, list_serial, unsent;
    bool has_retry, is_granted, is_failed, is_lost;
    char predecessor[ZKLI_CHILD_MAX + 1]; /* the name that it is to watch */
    int own_aim, predecessor_aim;         /* where the watchers point */
};

struct world {
    uint64_t seed, random;
    bool is_traced, has_faults, may_break, has_broken;
    bool lists_last; /* what is asked for at once is sent in order, but for listings */
    struct node nodes[NODES_MAX];
    size_t node_count;
    uint64_t existing; /* nodes */
    int64_t zxid, counter, last_token, last_session;
    unsigned missing, uuids; /* missing: lowest levels of the directory */
    struct client clients[CLIENTS];
    struct player players[PLAYERS];
    const char *broken; /* the first rule broken */
    size_t steps, grants, losses, expiries, adoptions, hand_offs, orderings;
};

/* ---- The world ---- */

uint64_t world_draw(struct world *w, uint64_t below);
/* Keeps the first. */
void world_break_rule(struct world *w, const char *rule);
void world_trace(const struct world *w, const char *what, int who, int node);

/* ---- The server ---- */

bool world_is_there(const struct world *w, int node);
/* A server that lags behind tells later. */
void world_fire(struct world *w, int node, bool is_deleted);
/* The client's server learns of all that has happened, in the order in which it happened. */
void world_catch_up(struct world *w, struct client *client);
void world_delete(struct world *w, int node);
/* Numbers as the server gives them: up to the counter's end, there again and again, and, to a
 * burst, negative ones. */
int64_t world_next_number(struct world *w);
/* NO_ONE: there is one with this name. */
int world_add(struct world *w, const char *prefix, int64_t number, int64_t owner);
/* The creates that were put off are done. */
void world_end_limbo(struct world *w, struct client *client);

/* ---- The clients ---- */

/* Holders whose node exists come before all others, so there is one at most. */
void world_check_holders(struct world *w);
void world_step(struct world *w, struct player *player, struct zkli_contender_event e);
void world_step_all(struct world *w, struct client *client, enum zkli_contender_event_type type);
/* A new contender in a player whose last one has gone. */
void world_begin_contender(struct world *w, struct player *player, bool is_try);
bool world_can_send(const struct world *w, const struct player *player);
/* The next of the player's requests. */
void world_send_next(struct world *w, struct player *player);
/* The next of the client's. */
void world_serve_next(struct world *w, struct client *client);
void world_deliver_next(struct world *w, struct client *client);
/* All that the client has to say and to hear. */
void world_flow(struct world *w, struct client *client);
/* The session is told before the requests fail, or, rarely, after. */
void world_cut(struct world *w, struct client *client, bool is_served);
/* Ample is more than certain. */
void world_set_lease(struct world *w, struct client *client, bool is_certain, bool is_ample);
/* The server ends the session; the client finds out later. */
void world_expire(struct world *w, struct client *client);
void world_begin_session(struct world *w, struct client *client);
void world_reconnect(struct world *w, struct client *client);

#endif
