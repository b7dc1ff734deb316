/*
 * A small world for contenders: one lock's directory on a server, some clients with a session each,
 * and contenders on them. Requests and replies are queued one by one in each direction; connections
 * break, replies are lost, a create that nobody waits for any more may be done late, and after a
 * reconnect reads may be old. Everything is drawn from one seed.
 *
 * Modelled as it is: replies and watch events of a connection come in the server's order; watches
 * are set again after a reconnect and fire in any order; no server lags behind what its client has
 * seen, or behind a write of its own client; a session ends only after the lease has become
 * uncertain; what a session wrote is done before a later write of the same session is.
 *
 * Here: what there is, and the server. The clients: contender_clients.h.
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

struct node {
    char name[ZKLI_CHILD_MAX + 1];
    struct zkli_sibling sibling; /* as parsed */
    int64_t czxid, rank;         /* rank: who is before whom; of a downgraded node, the writer's */
    int64_t owner, gone_at;      /* gone_at: when; 0: it exists */
    bool is_broken;              /* somebody deleted it with other tools */
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
    int own_aim, predecessor_aim; /* where the watchers point */
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

static inline uint64_t draw(struct world *w, uint64_t below) {
    w->random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = w->random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

static inline void break_rule(struct world *w, const char *rule) {
    if (w->broken == NULL)
        w->broken = rule;
}

static inline void trace(const struct world *w, const char *what, int who, int node) {
    if (w->is_traced)
        printf("    %-12s %2d  %s\n", what, who, node < 0 ? "" : w->nodes[node].name);
}

static inline struct message *push(struct world *w, struct queue *q, struct message m) {
    if (q->count == QUEUE_MAX) {
        break_rule(w, "more requests than the model has room for");
        q->count--;
    }
    struct message *slot = &q->messages[(q->first + q->count++) % QUEUE_MAX];
    *slot = m;
    return slot;
}

static inline struct message pop(struct queue *q) {
    struct message m = q->messages[q->first];
    q->first = (q->first + 1) % QUEUE_MAX;
    q->count--;
    return m;
}

static inline uint64_t bit_of(int node) {
    return UINT64_C(1) << node;
}

static inline int find_node(const struct world *w, const char *name) {
    for (size_t i = w->node_count; i > 0; i--)
        if (strcmp(w->nodes[i - 1].name, name) == 0)
            return (int)(i - 1);
    return NO_ONE;
}

static inline bool is_there(const struct world *w, int node) {
    return node >= 0 && (w->existing & bit_of(node)) != 0;
}

/* Whether the client's server knows of the node, and not yet of its end. */
static inline bool is_seen(const struct world *w, const struct client *client, int node) {
    if (client->view == UP_TO_DATE)
        return is_there(w, node);
    return node >= 0 && w->nodes[node].czxid <= client->view &&
           (w->nodes[node].gone_at == 0 || w->nodes[node].gone_at > client->view);
}

/* ---- The server ---- */

/* A server that lags behind tells later. */
static inline void fire(struct world *w, int node, bool is_deleted) {
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *client = &w->clients[i];
        struct message m = {.node = node, .is_deleted = is_deleted};
        bool is_told = (client->server_watches & bit_of(node)) != 0 && client->view == UP_TO_DATE;
        if (is_told) {
            push(w, &client->inbox, m);
            client->server_watches &= ~bit_of(node);
        } else if ((client->client_watches & bit_of(node)) != 0 && !is_deleted) {
            client->missed |= bit_of(node);
        }
    }
}

/* The client's server learns of all that has happened, in the order in which it happened. */
static inline void catch_up(struct world *w, struct client *client) {
    int64_t since = client->view;
    uint64_t watched = client->server_watches;
    client->view = UP_TO_DATE;
    while (since != UP_TO_DATE && watched != 0) {
        int next = __builtin_ctzll(watched);
        for (uint64_t nodes = watched; nodes != 0; nodes &= nodes - 1)
            if (w->nodes[__builtin_ctzll(nodes)].gone_at < w->nodes[next].gone_at)
                next = __builtin_ctzll(nodes); /* 0: of those that exist, a change at most */
        struct message m = {.node = next, .is_deleted = !is_there(w, next)};
        watched &= ~bit_of(next);
        if (!m.is_deleted && (client->missed & bit_of(next)) == 0)
            continue;
        push(w, &client->inbox, m);
        client->server_watches &= ~bit_of(next);
    }
}

static inline void delete_node(struct world *w, int node) {
    w->existing &= ~bit_of(node);
    w->nodes[node].gone_at = ++w->zxid;
    fire(w, node, true);
}

/* Some contender on the client has to know of the node, or to look for it. */
static inline void check_known(struct world *w, int node, int64_t owner) {
    for (size_t i = 0; i < PLAYERS; i++) {
        const struct player *player = &w->players[i];
        if (w->clients[player->client].session_id == owner && player->core.state != ZKLI_GONE &&
            zkli_contender_may_own(&player->core, w->nodes[node].name))
            return;
    }
    break_rule(w, "a node is left that nobody knows");
}

/* Numbers as the server gives them: up to the counter's end, there again and again, and, to a
 * burst, negative ones. */
static inline int64_t next_number(struct world *w) {
    if (w->counter < ZKLI_COUNTER_END)
        return w->counter++;
    return draw(w, 3) == 0 ? -ZKLI_COUNTER_END - 1 + (int64_t)draw(w, 3) : w->counter;
}

/* NO_ONE: there is one with this name. */
static inline int add_node(struct world *w, const char *prefix, int64_t number, int64_t owner) {
    struct node *node = &w->nodes[w->node_count];
    int index = (int)w->node_count;
    (void)snprintf(node->name, sizeof(node->name), "%s%010" PRId64, prefix, number);
    int twin = find_node(w, node->name);
    if (is_there(w, twin))
        return NO_ONE;
    if (w->node_count == NODES_MAX - 1 || !zkli_sibling_parse(&node->sibling, node->name)) {
        break_rule(w, "more nodes than the model has room for");
        return NO_ONE;
    }
    node->czxid = node->rank = ++w->zxid;
    node->owner = owner;
    node->gone_at = 0;
    node->is_broken = false;
    w->existing |= bit_of(index);
    w->node_count++;
    return index;
}

static inline void do_create(struct world *w, struct message *m, int64_t session_id) {
    char prefix[ZKLI_PREFIX_LENGTH + 1];
    zkli_node_prefix_format(prefix, m->uuid);
    m->result = ZKLI_RESULT_NO_NODE;
    if (w->missing > 0)
        return;
    m->node = add_node(w, prefix, next_number(w), session_id);
    m->result = m->node < 0 ? ZKLI_RESULT_EXISTS : ZKLI_RESULT_OK;
    if (m->node >= 0)
        check_known(w, m->node, session_id);
}

static inline void end_limbo(struct world *w, struct client *client) {
    for (size_t i = 0; i < client->limbo_count; i++)
        do_create(w, &client->limbo[i], client->session_id);
    client->limbo_count = 0;
}

static inline void do_parent(struct world *w, struct message *m) {
    m->result = m->level < w->missing   ? ZKLI_RESULT_NO_NODE
                : m->level > w->missing ? ZKLI_RESULT_EXISTS
                                        : ZKLI_RESULT_OK;
    if (m->level == w->missing)
        w->missing--;
}

static inline void do_read(struct world *w, struct client *client, struct message *m) {
    m->result = is_seen(w, client, m->node) ? ZKLI_RESULT_OK : ZKLI_RESULT_NO_NODE;
    if (m->result == ZKLI_RESULT_OK && client->is_connected)
        client->server_watches |= bit_of(m->node);
}

static inline void do_list(struct world *w, const struct client *client, struct message *m) {
    m->listing = 0;
    for (size_t i = 0; i < w->node_count; i++)
        if (is_seen(w, client, (int)i))
            m->listing |= bit_of((int)i);
    if (w->missing > 0 && m->listing == 0 && m->op == ZKLI_ASK_LIST)
        m->result = ZKLI_RESULT_NO_NODE;
}

/* Turns a request into its reply. */
static inline void serve(struct world *w, struct client *client, struct message *m) {
    static const enum zkli_result faults[] = {ZKLI_RESULT_AGAIN, ZKLI_RESULT_AGAIN,
                                              ZKLI_RESULT_ERROR, ZKLI_RESULT_DENIED};
    if (w->has_faults && draw(w, 100) < 2) {
        m->result = faults[draw(w, m->op == ZKLI_ASK_BARRIER ? 2 : COUNT(faults))];
        return;
    }
    if ((m->op & (ZKLI_ASK_PARENT | ZKLI_ASK_CREATE | ZKLI_ASK_BARRIER | ZKLI_ASK_DELETE)) != 0) {
        end_limbo(w, client);
        catch_up(w, client);
    }
    m->result = ZKLI_RESULT_OK;
    if (m->op == ZKLI_ASK_PARENT) {
        do_parent(w, m);
    } else if (m->op == ZKLI_ASK_CREATE) {
        do_create(w, m, client->session_id);
    } else if (m->op == ZKLI_ASK_LIST || m->op == ZKLI_ASK_ORDER) {
        do_list(w, client, m);
    } else if (m->op == ZKLI_ASK_OWN || m->op == ZKLI_ASK_PREDECESSOR) {
        do_read(w, client, m);
    } else if (m->op == ZKLI_ASK_DELETE) {
        m->result = is_there(w, m->node) ? ZKLI_RESULT_OK : ZKLI_RESULT_NO_NODE;
        if (is_there(w, m->node))
            delete_node(w, m->node);
    }
    m->zxid = client->view < w->zxid ? client->view : w->zxid;
}

#endif
