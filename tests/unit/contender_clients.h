/*
 * The clients of the small world (contender_world.h): their contenders and what each step of one
 * must not break, the way of requests and replies, connections and sessions.
 */
#ifndef UNIT_CONTENDER_CLIENTS_H
#define UNIT_CONTENDER_CLIENTS_H

#include "unit/contender_world.h"

/* ---- Contenders ---- */

static inline void fresh_uuid(struct world *w, char ret_uuid[ZKLI_UUID_LENGTH + 1]) {
    uint8_t random[10] = {0};
    random[8] = (uint8_t)(w->uuids >> 8);
    random[9] = (uint8_t)w->uuids;
    zkli_uuid_format(ret_uuid, "12345678-9abc", random);
}

/* What a grant must be. */
static inline void check_grant(struct world *w, const struct player *player,
                               const struct zkli_contender_event *e) {
    const struct node *own = &w->nodes[player->own];
    w->grants++;
    if (player->is_granted || player->is_failed)
        break_rule(w, "granted twice, or after a failure");
    if (!e->is_ample)
        break_rule(w, "granted on a short lease");
    if (own->gone_at != 0 && !own->is_broken)
        break_rule(w, "granted without a node");
    if (e->type == ZKLI_EV_PREDECESSOR_EVENT) {
        w->hand_offs++;
        if (own->gone_at != 0 && own->gone_at < w->nodes[player->predecessor_aim].gone_at)
            break_rule(w, "granted though its own node had gone before");
    }
    if (!w->has_broken && own->czxid <= w->last_token)
        break_rule(w, "a token that does not grow");
    w->last_token = own->czxid;
}

/* Holders whose node exists come before everybody, so there is one at most. */
static inline void check_holders(struct world *w) {
    for (size_t i = 0; i < PLAYERS; i++) {
        const struct player *player = &w->players[i];
        if (player->core.state != ZKLI_HELD)
            continue;
        if (!w->clients[player->client].is_certain)
            break_rule(w, "held without certainty");
        if (!is_there(w, player->own)) {
            if (!w->nodes[player->own].is_broken)
                break_rule(w, "held without a node");
            continue;
        }
        for (uint64_t others = w->existing; others != 0; others &= others - 1)
            if (w->nodes[__builtin_ctzll(others)].rank < w->nodes[player->own].rank)
                break_rule(w, "held though somebody is before it");
    }
}

static inline void check_notices(struct world *w, struct player *player, unsigned actions,
                                 const struct zkli_contender_event *e) {
    if ((actions & ZKLI_DO_GRANT) != 0)
        check_grant(w, player, e);
    if ((actions & ZKLI_DO_FAIL) != 0 && (player->is_failed || player->is_granted))
        break_rule(w, "failed twice, or after a grant");
    if ((actions & ZKLI_DO_LOSE) != 0 && (player->is_lost || !player->is_granted))
        break_rule(w, "lost twice, or without a grant");
    player->is_granted = player->is_granted || (actions & ZKLI_DO_GRANT) != 0;
    player->is_failed = player->is_failed || (actions & ZKLI_DO_FAIL) != 0;
    player->is_lost = player->is_lost || (actions & ZKLI_DO_LOSE) != 0;
    w->losses += (actions & ZKLI_DO_LOSE) != 0;
    w->orderings += (actions & ZKLI_ASK_ORDER) != 0;
}

/* No node stays behind, neither the one it knew nor one with its uuid. */
static inline void check_left(struct world *w, const struct zkli_contender *was,
                              const struct player *player) {
    if (player->core.state != ZKLI_GONE && strcmp(was->node, player->core.node) == 0 &&
        strcmp(was->uuid, player->core.uuid) == 0)
        return;
    for (uint64_t nodes = w->existing; nodes != 0; nodes &= nodes - 1) {
        int node = __builtin_ctzll(nodes);
        const char *name = w->nodes[node].name;
        if (strcmp(name, was->node) == 0 || zkli_node_name_has_uuid(name, was->uuid))
            check_known(w, node, w->nodes[node].owner);
    }
}

static inline void carry_out(struct player *player, unsigned actions) {
    player->unsent |= actions & ZKLI_ASKS;
    if ((actions & (ZKLI_ASK_LIST | ZKLI_ASK_ORDER)) != 0)
        player->list_serial++; /* an earlier listing is not for us any more */
    if ((actions & ZKLI_DO_RETRY) != 0)
        player->has_retry = true;
    if (player->core.state == ZKLI_HELD || has_left(&player->core))
        player->predecessor_aim = NO_ONE;
    if (has_left(&player->core))
        player->own_aim = NO_ONE;
    if (player->core.state != ZKLI_GONE)
        return;
    player->unsent = 0;
    player->has_retry = false;
    player->generation++; /* late replies are void */
}

static inline void step(struct world *w, struct player *player, struct zkli_contender_event e) {
    const struct client *client = &w->clients[player->client];
    struct zkli_contender was = player->core;
    char uuid[ZKLI_UUID_LENGTH + 1];
    if (was.state == ZKLI_GONE)
        return;
    fresh_uuid(w, uuid);
    e.fresh_uuid = uuid;
    e.is_connected = client->is_connected;
    e.is_certain = client->is_certain;
    e.is_ample = client->is_ample;
    e.connection = client->connection;
    e.session_id = client->session_id;
    unsigned actions = step_as_set(&player->core, &e);
    w->steps++;
    if (w->is_traced)
        printf("  %d: event %d.%d%s: %s -> %s, 0x%x\n", (int)(player - w->players), e.type,
               e.result, e.is_deleted ? " deleted" : "", zkli_contender_state_name(was.state),
               zkli_contender_state_name(player->core.state), actions);
    if (strcmp(player->core.uuid, uuid) == 0)
        w->uuids++;
    if (strcmp(was.node, player->core.node) != 0)
        player->own = find_node(w, player->core.node);
    w->adoptions += player->core.state == ZKLI_ADOPTING && was.state != ZKLI_ADOPTING;
    const char *rule = rule_broken(&was, &player->core, &e, actions);
    if (rule != NULL)
        break_rule(w, rule);
    check_notices(w, player, actions, &e);
    check_left(w, &was, player);
    carry_out(player, actions);
    if ((actions & ZKLI_DO_GRANT) != 0)
        check_holders(w);
}

static inline void step_all(struct world *w, struct client *client,
                            enum zkli_contender_event_type type) {
    for (size_t i = 0; i < PLAYERS; i++)
        if (&w->clients[w->players[i].client] == client)
            step(w, &w->players[i], (struct zkli_contender_event){.type = type});
}

/* A new contender in a player whose last one has gone. */
static inline void begin_contender(struct world *w, struct player *player, bool is_try) {
    char uuid[ZKLI_UUID_LENGTH + 1];
    fresh_uuid(w, uuid);
    w->uuids++;
    zkli_contender_init(&player->core, uuid, is_try, 2);
    player->own = player->own_aim = player->predecessor_aim = NO_ONE;
    player->is_granted = player->is_failed = player->is_lost = false;
    if (w->clients[player->client].is_connected)
        step(w, player, (struct zkli_contender_event){.type = ZKLI_EV_CONNECTED});
}

/* ---- Between contenders and server ---- */

/* Sends the next of the player's requests. */
static inline void send_next(struct world *w, struct player *player) {
    struct client *client = &w->clients[player->client];
    unsigned ready = player->unsent;
    if (w->lists_last && ready != ZKLI_ASK_LIST)
        ready &= ~(unsigned)ZKLI_ASK_LIST;
    unsigned op = ready & (~ready + 1);
    struct message m = {.op = op,
                        .player = (int)(player - w->players),
                        .generation = player->generation,
                        .serial = player->list_serial,
                        .node = player->own,
                        .level = player->core.parent_level};
    memcpy(m.uuid, player->core.uuid, sizeof(m.uuid));
    if (op == ZKLI_ASK_PREDECESSOR)
        m.node = player->predecessor_aim = find_node(w, player->core.predecessor);
    if (op == ZKLI_ASK_OWN)
        player->own_aim = m.node;
    player->unsent &= ~op;
    push(w, &client->requests, m);
}

static inline void serve_next(struct world *w, struct client *client) {
    struct message m = pop(&client->requests);
    serve(w, client, &m);
    trace(w, "served", m.player, m.node);
    push(w, &client->inbox, m);
}

static inline void deliver_listing(struct world *w, struct player *player,
                                   const struct message *m) {
    struct zkli_sibling siblings[NODES_MAX];
    struct zkli_listing listing = {siblings, 0, m->op == ZKLI_ASK_ORDER};
    size_t first = draw(w, NODES_MAX); /* in no order */
    for (size_t i = 0; i < w->node_count; i++) {
        size_t node = (i + first) % w->node_count;
        if ((m->listing >> node & 1) == 0)
            continue;
        siblings[listing.count] = w->nodes[node].sibling;
        siblings[listing.count].name = w->nodes[node].name;
        if (listing.is_by_czxid)
            siblings[listing.count].order = w->nodes[node].czxid;
        listing.count++;
    }
    step(w, player,
         (struct zkli_contender_event){
             .type = ZKLI_EV_LISTED, .result = m->result, .listing = &listing});
}

static inline void deliver_reply(struct world *w, const struct message *m) {
    struct player *player = &w->players[m->player];
    bool is_listing = m->op == ZKLI_ASK_LIST || m->op == ZKLI_ASK_ORDER;
    if (m->generation != player->generation || (is_listing && m->serial != player->list_serial))
        return;
    if (is_listing) {
        deliver_listing(w, player, m);
        return;
    }
    struct zkli_contender_event e = {.type = bench_reply_to(m->op), .result = m->result};
    if (m->node >= 0) {
        e.node = w->nodes[m->node].name;
        e.czxid = w->nodes[m->node].czxid;
        e.owner = w->nodes[m->node].owner;
    }
    step(w, player, e);
}

static inline void deliver_watch(struct world *w, struct client *client, const struct message *m) {
    client->client_watches &= ~bit_of(m->node);
    client->missed &= ~bit_of(m->node);
    size_t first = draw(w, PLAYERS);
    for (size_t i = 0; i < PLAYERS; i++) {
        struct player *player = &w->players[(i + first) % PLAYERS];
        bool is_own = player->own_aim == m->node,
             is_predecessor = player->predecessor_aim == m->node;
        struct zkli_contender_event e = {.type = ZKLI_EV_OWN_EVENT, .is_deleted = m->is_deleted};
        if (&w->clients[player->client] != client)
            continue;
        if (is_own)
            step(w, player, e);
        e.type = ZKLI_EV_PREDECESSOR_EVENT;
        if (is_predecessor)
            step(w, player, e);
    }
}

static inline void deliver_next(struct world *w, struct client *client) {
    struct message m = pop(&client->inbox);
    trace(w, m.op == 0 ? "watch" : "delivered", m.player, m.node);
    if (m.op == 0) {
        deliver_watch(w, client, &m);
        return;
    }
    client->seen = m.zxid > client->seen ? m.zxid : client->seen;
    bool is_read = m.op == ZKLI_ASK_OWN || m.op == ZKLI_ASK_PREDECESSOR;
    if (is_read && m.result == ZKLI_RESULT_OK)
        client->client_watches |= bit_of(m.node);
    deliver_reply(w, &m);
}

/* ---- Connections and sessions ---- */

/* The requests in flight are lost. Of those not served yet the first few are served all the same;
 * of the others, creates may be done later. */
static inline void lose_requests(struct world *w, struct client *client, bool is_served) {
    struct queue inbox = client->inbox, requests = client->requests;
    client->inbox.count = client->requests.count = 0;
    size_t served = is_served ? draw(w, requests.count + 1) : 0;
    bool is_late = is_served && draw(w, 2) == 0;
    while (inbox.count + requests.count > 0) {
        bool was_served = inbox.count > 0;
        struct message m = pop(was_served ? &inbox : &requests);
        if (m.op == 0) {
            client->missed |= m.is_deleted ? 0 : bit_of(m.node);
            continue;
        }
        if (!was_served && served > 0) {
            served--;
            serve(w, client, &m);
        } else if (!was_served && is_late && m.op == ZKLI_ASK_CREATE &&
                   client->limbo_count < LIMBO_MAX) {
            client->limbo[client->limbo_count++] = m;
        }
        m.result = ZKLI_RESULT_LOST;
        m.node = NO_ONE;
        deliver_reply(w, &m);
    }
}

/* The session is told before the requests fail, or, rarely, after. */
static inline void cut(struct world *w, struct client *client, bool is_served) {
    bool is_told_late = client->is_connected && draw(w, 4) == 0;
    trace(w, "cut", (int)(client - w->clients), NO_ONE);
    client->server_watches = 0;
    client->is_connected = is_told_late;
    lose_requests(w, client, is_served);
    client->server_watches = 0;
    client->is_connected = false;
}

/* Ample is more than certain. */
static inline void set_lease(struct world *w, struct client *client, bool is_certain,
                             bool is_ample) {
    if (client->is_certain == is_certain && client->is_ample == is_ample)
        return;
    trace(w,
          is_ample     ? "ample"
          : is_certain ? "certain"
                       : "uncertain",
          (int)(client - w->clients), NO_ONE);
    client->is_certain = is_certain;
    client->is_ample = is_ample;
    step_all(w, client, ZKLI_EV_LEASE);
}

/* The server ends the session; the client finds out later. */
static inline void expire(struct world *w, struct client *client) {
    trace(w, "expire", (int)(client - w->clients), NO_ONE);
    w->expiries++;
    cut(w, client, false);
    client->limbo_count = 0;
    client->is_alive = false;
    for (uint64_t nodes = w->existing; nodes != 0; nodes &= nodes - 1) {
        int node = __builtin_ctzll(nodes);
        if (w->nodes[node].owner == client->session_id)
            delete_node(w, node);
    }
}

/* The client sends its watches again; those of nodes that have gone or changed fire, in any order
 * and before any reply. */
static inline void set_watches_again(struct world *w, struct client *client) {
    size_t first = draw(w, NODES_MAX);
    for (size_t i = 0; i < NODES_MAX; i++) {
        int node = (int)((i + first) % NODES_MAX);
        struct message m = {.node = node, .is_deleted = !is_seen(w, client, node)};
        if ((client->client_watches & bit_of(node)) == 0)
            continue;
        if (m.is_deleted || (client->missed & bit_of(node)) != 0)
            push(w, &client->inbox, m);
        else
            client->server_watches |= bit_of(node);
    }
}

static inline void begin_session(struct world *w, struct client *client) {
    client->session_id = ++w->last_session;
    client->is_alive = true;
    client->client_watches = client->missed = 0;
    client->view = UP_TO_DATE; /* the creation of a session is a write */
    client->seen = w->zxid;
}

static inline void reconnect(struct world *w, struct client *client) {
    trace(w, "reconnect", (int)(client - w->clients), NO_ONE);
    client->view = UP_TO_DATE;
    if (draw(w, 2) == 0)
        client->view = client->seen + (int64_t)draw(w, (uint64_t)(w->zxid - client->seen) + 1);
    if (!client->is_alive) {
        for (size_t i = 0; i < PLAYERS; i++)
            if (&w->clients[w->players[i].client] == client) {
                w->players[i].unsent = 0;
                w->players[i].own_aim = w->players[i].predecessor_aim = NO_ONE;
            }
        client->is_certain = client->is_ample = false;
        step_all(w, client, ZKLI_EV_EXPIRED);
        begin_session(w, client);
    }
    client->is_connected = true;
    client->connection++;
    set_watches_again(w, client);
    if (client->client_watches == 0)
        set_lease(w, client, true, true); /* as a new session does */
    step_all(w, client, ZKLI_EV_CONNECTED);
}

#endif
