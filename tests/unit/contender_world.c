/* See contender_world.h: first the server, then the clients and their contenders. */
#include "unit/contender_world.h"

#include <inttypes.h>

uint64_t world_draw(struct world *w, uint64_t below) {
    w->random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = w->random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

void world_break_rule(struct world *w, const char *rule) {
    if (w->broken == NULL)
        w->broken = rule;
}

void world_trace(const struct world *w, const char *what, int who, int node) {
    if (w->is_traced)
        printf("    %-12s %2d  %s\n", what, who, node < 0 ? "" : w->nodes[node].name);
}

static struct message *push(struct world *w, struct queue *q, struct message m) {
    if (q->count == QUEUE_MAX) {
        world_break_rule(w, "more requests than the model has room for");
        q->count--;
    }
    struct message *slot = &q->messages[(q->first + q->count++) % QUEUE_MAX];
    *slot = m;
    return slot;
}

static struct message pop(struct queue *q) {
    struct message m = q->messages[q->first];
    q->first = (q->first + 1) % QUEUE_MAX;
    q->count--;
    return m;
}

static int find_node(const struct world *w, const char *name) {
    for (size_t i = w->node_count; i > 0; i--)
        if (strcmp(w->nodes[i - 1].name, name) == 0)
            return (int)(i - 1);
    return NO_ONE;
}

bool world_is_there(const struct world *w, int node) {
    return node >= 0 && (w->existing & NODE_BIT(node)) != 0;
}

/* Whether the client's server knows of the node, and not yet of its end. */
static bool is_seen(const struct world *w, const struct client *client, int node) {
    if (client->view == UP_TO_DATE)
        return world_is_there(w, node);
    return node >= 0 && w->nodes[node].czxid <= client->view &&
           (w->nodes[node].gone_at == 0 || w->nodes[node].gone_at > client->view);
}

/* ---- The server ---- */

void world_fire(struct world *w, int node, bool is_deleted) {
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *client = &w->clients[i];
        struct message m = {.node = node, .is_deleted = is_deleted};
        bool is_told = (client->server_watches & NODE_BIT(node)) != 0 && client->view == UP_TO_DATE;
        if (is_told) {
            push(w, &client->inbox, m);
            client->server_watches &= ~NODE_BIT(node);
        } else if ((client->client_watches & NODE_BIT(node)) != 0 && !is_deleted) {
            client->missed |= NODE_BIT(node);
        }
    }
}

void world_catch_up(struct world *w, struct client *client) {
    int64_t since = client->view;
    uint64_t watched = client->server_watches;
    client->view = UP_TO_DATE;
    while (since != UP_TO_DATE && watched != 0) {
        int next = __builtin_ctzll(watched);
        for (uint64_t nodes = watched; nodes != 0; nodes &= nodes - 1)
            if (w->nodes[__builtin_ctzll(nodes)].gone_at < w->nodes[next].gone_at)
                next = __builtin_ctzll(nodes); /* 0: of those that exist, a change at most */
        struct message m = {.node = next, .is_deleted = !world_is_there(w, next)};
        watched &= ~NODE_BIT(next);
        if (!m.is_deleted && (client->missed & NODE_BIT(next)) == 0)
            continue;
        push(w, &client->inbox, m);
        client->server_watches &= ~NODE_BIT(next);
    }
}

void world_delete(struct world *w, int node) {
    w->existing &= ~NODE_BIT(node);
    w->nodes[node].gone_at = ++w->zxid;
    world_fire(w, node, true);
}

/* Some contender on the client has to know of the node, or to look for it. */
static void check_known(struct world *w, int node, int64_t owner) {
    for (size_t i = 0; i < PLAYERS; i++) {
        const struct player *player = &w->players[i];
        if (w->clients[player->client].session_id == owner && player->core.state != ZKLI_GONE &&
            zkli_contender_may_own(&player->core, w->nodes[node].name))
            return;
    }
    world_break_rule(w, "a node is left that no contender knows");
}

int64_t world_next_number(struct world *w) {
    if (w->counter < ZKLI_COUNTER_END)
        return w->counter++;
    return world_draw(w, 3) == 0 ? -ZKLI_COUNTER_END - 1 + (int64_t)world_draw(w, 3) : w->counter;
}

int world_add(struct world *w, const char *prefix, int64_t number, int64_t owner) {
    struct node *node = &w->nodes[w->node_count];
    int index = (int)w->node_count;
    (void)snprintf(node->name, sizeof(node->name), "%s%010" PRId64, prefix, number);
    int twin = find_node(w, node->name);
    if (world_is_there(w, twin))
        return NO_ONE;
    if (w->node_count == NODES_MAX - 1 || !zkli_sibling_parse(&node->sibling, node->name)) {
        world_break_rule(w, "more nodes than the model has room for");
        return NO_ONE;
    }
    node->czxid = node->rank = ++w->zxid;
    node->owner = owner;
    node->gone_at = 0;
    node->is_broken = false;
    w->existing |= NODE_BIT(index);
    w->node_count++;
    return index;
}

static void do_create(struct world *w, struct message *m, int64_t session_id) {
    char prefix[ZKLI_PREFIX_MAX + 1];
    zkli_node_prefix_format(prefix, ZKLI_KIND_MUTEX, m->uuid);
    m->result = ZKLI_RESULT_NO_NODE;
    if (w->missing > 0)
        return;
    m->node = world_add(w, prefix, world_next_number(w), session_id);
    m->result = m->node < 0 ? ZKLI_RESULT_EXISTS : ZKLI_RESULT_OK;
    if (m->node >= 0)
        check_known(w, m->node, session_id);
}

void world_end_limbo(struct world *w, struct client *client) {
    for (size_t i = 0; i < client->limbo_count; i++)
        do_create(w, &client->limbo[i], client->session_id);
    client->limbo_count = 0;
}

static void do_parent(struct world *w, struct message *m) {
    m->result = m->level < w->missing   ? ZKLI_RESULT_NO_NODE
                : m->level > w->missing ? ZKLI_RESULT_EXISTS
                                        : ZKLI_RESULT_OK;
    if (m->level == w->missing)
        w->missing--;
}

static void do_read(struct world *w, struct client *client, struct message *m) {
    m->result = is_seen(w, client, m->node) ? ZKLI_RESULT_OK : ZKLI_RESULT_NO_NODE;
    if (m->result == ZKLI_RESULT_OK && client->is_connected)
        client->server_watches |= NODE_BIT(m->node);
}

static void do_list(struct world *w, const struct client *client, struct message *m) {
    m->listing = 0;
    for (size_t i = 0; i < w->node_count; i++)
        if (is_seen(w, client, (int)i))
            m->listing |= NODE_BIT((int)i);
    if (w->missing > 0 && m->listing == 0 && m->op == ZKLI_ASK_LIST)
        m->result = ZKLI_RESULT_NO_NODE;
}

/* Turns a request into its reply. */
static void serve(struct world *w, struct client *client, struct message *m) {
    static const enum zkli_result faults[] = {ZKLI_RESULT_AGAIN, ZKLI_RESULT_AGAIN,
                                              ZKLI_RESULT_ERROR, ZKLI_RESULT_DENIED};
    if (w->has_faults && world_draw(w, 100) < 2) {
        m->result = faults[world_draw(w, m->op == ZKLI_ASK_BARRIER ? 2 : COUNT(faults))];
        return;
    }
    if ((m->op & (ZKLI_ASK_PARENT | ZKLI_ASK_CREATE | ZKLI_ASK_BARRIER | ZKLI_ASK_DELETE)) != 0) {
        world_end_limbo(w, client);
        world_catch_up(w, client);
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
        m->result = world_is_there(w, m->node) ? ZKLI_RESULT_OK : ZKLI_RESULT_NO_NODE;
        if (world_is_there(w, m->node))
            world_delete(w, m->node);
    }
    m->zxid = client->view < w->zxid ? client->view : w->zxid;
}

/* ---- Contenders ---- */

static void fresh_uuid(struct world *w, char ret_uuid[ZKLI_UUID_LENGTH + 1]) {
    uint8_t random[10] = {0};
    random[8] = (uint8_t)(w->uuids >> 8);
    random[9] = (uint8_t)w->uuids;
    zkli_uuid_format(ret_uuid, "12345678-9abc", random);
}

/* What a grant must be. */
static void check_grant(struct world *w, const struct player *player,
                        const struct zkli_contender_event *e) {
    const struct node *own = &w->nodes[player->own];
    w->grants++;
    if (player->is_granted || player->is_failed)
        world_break_rule(w, "granted twice, or after a failure");
    if (!e->is_ample)
        world_break_rule(w, "granted on a short lease");
    if (own->gone_at != 0 && !own->is_broken)
        world_break_rule(w, "granted without a node");
    if (e->type == ZKLI_EV_PREDECESSOR_EVENT) {
        w->hand_offs++;
        if (own->gone_at != 0 && own->gone_at < w->nodes[player->predecessor_aim].gone_at)
            world_break_rule(w, "granted though its own node had gone before");
    }
    if (!w->has_broken && own->czxid <= w->last_token)
        world_break_rule(w, "a token that does not grow");
    w->last_token = own->czxid;
}

void world_check_holders(struct world *w) {
    for (size_t i = 0; i < PLAYERS; i++) {
        const struct player *player = &w->players[i];
        if (player->core.state != ZKLI_HELD)
            continue;
        if (!w->clients[player->client].is_certain)
            world_break_rule(w, "held without certainty");
        if (!world_is_there(w, player->own)) {
            if (!w->nodes[player->own].is_broken)
                world_break_rule(w, "held without a node");
            continue;
        }
        for (uint64_t others = w->existing; others != 0; others &= others - 1)
            if (w->nodes[__builtin_ctzll(others)].rank < w->nodes[player->own].rank)
                world_break_rule(w, "held though another node is before it");
    }
}

static void check_notices(struct world *w, struct player *player, unsigned actions,
                          const struct zkli_contender_event *e) {
    if ((actions & ZKLI_DO_GRANT) != 0)
        check_grant(w, player, e);
    if ((actions & ZKLI_DO_FAIL) != 0 && (player->is_failed || player->is_granted))
        world_break_rule(w, "failed twice, or after a grant");
    if ((actions & ZKLI_DO_LOSE) != 0 && (player->is_lost || !player->is_granted))
        world_break_rule(w, "lost twice, or without a grant");
    player->is_granted = player->is_granted || (actions & ZKLI_DO_GRANT) != 0;
    player->is_failed = player->is_failed || (actions & ZKLI_DO_FAIL) != 0;
    player->is_lost = player->is_lost || (actions & ZKLI_DO_LOSE) != 0;
    w->losses += (actions & ZKLI_DO_LOSE) != 0;
    w->orderings += (actions & ZKLI_ASK_ORDER) != 0;
}

/* No node stays behind, neither the one it knew nor one with its uuid. */
static void check_left(struct world *w, const struct zkli_contender *was,
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

static void carry_out(struct player *player, unsigned actions) {
    player->unsent |= actions & ZKLI_ASKS;
    if ((actions & (ZKLI_ASK_LIST | ZKLI_ASK_ORDER)) != 0)
        player->list_serial++; /* an earlier listing is not for us any more */
    if ((actions & ZKLI_DO_RETRY) != 0)
        player->has_retry = true;
    if (player->core.state == ZKLI_HELD || zkli_contender_has_left(&player->core))
        player->predecessor_aim = NO_ONE;
    if (zkli_contender_has_left(&player->core))
        player->own_aim = NO_ONE;
    if (player->core.state != ZKLI_GONE)
        return;
    player->unsent = 0;
    player->has_retry = false;
    player->generation++; /* late replies are void */
}

void world_step(struct world *w, struct player *player, struct zkli_contender_event e) {
    const struct client *client = &w->clients[player->client];
    struct zkli_contender was = player->core;
    char uuid[ZKLI_UUID_LENGTH + 1];
    if (was.state == ZKLI_GONE)
        return;
    fresh_uuid(w, uuid);
    const struct zkli_permits unknown = {.state = ZKLI_PERMITS_UNKNOWN};
    e.fresh_uuid = uuid;
    e.permits = &unknown;
    e.is_connected = client->is_connected;
    e.is_certain = client->is_certain;
    e.is_ample = client->is_ample;
    e.connection = client->connection;
    e.session_id = client->session_id;
    unsigned actions = step_as_set(&player->core, &e, player->predecessor);
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
        world_break_rule(w, rule);
    check_notices(w, player, actions, &e);
    check_left(w, &was, player);
    carry_out(player, actions);
    if ((actions & ZKLI_DO_GRANT) != 0)
        world_check_holders(w);
}

void world_step_all(struct world *w, struct client *client, enum zkli_contender_event_type type) {
    for (size_t i = 0; i < PLAYERS; i++)
        if (&w->clients[w->players[i].client] == client)
            world_step(w, &w->players[i], (struct zkli_contender_event){.type = type});
}

void world_begin_contender(struct world *w, struct player *player, bool is_try) {
    char uuid[ZKLI_UUID_LENGTH + 1];
    fresh_uuid(w, uuid);
    w->uuids++;
    zkli_contender_init(&player->core, ZKLI_KIND_MUTEX, uuid, is_try, 2);
    player->own = player->own_aim = player->predecessor_aim = NO_ONE;
    player->is_granted = player->is_failed = player->is_lost = false;
    if (w->clients[player->client].is_connected)
        world_step(w, player, (struct zkli_contender_event){.type = ZKLI_EV_CONNECTED});
}

/* ---- Between contenders and server ---- */

bool world_can_send(const struct world *w, const struct player *player) {
    const struct client *client = &w->clients[player->client];
    return player->unsent != 0 && client->is_connected &&
           client->requests.count + client->inbox.count < WINDOW;
}

void world_send_next(struct world *w, struct player *player) {
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
        m.node = player->predecessor_aim = find_node(w, player->predecessor);
    if (op == ZKLI_ASK_OWN)
        player->own_aim = m.node;
    player->unsent &= ~op;
    push(w, &client->requests, m);
}

void world_serve_next(struct world *w, struct client *client) {
    struct message m = pop(&client->requests);
    serve(w, client, &m);
    world_trace(w, "served", m.player, m.node);
    push(w, &client->inbox, m);
}

/* As the engine marks them: the nodes that contenders of the same session are deleting. */
static bool is_leaving(const struct world *w, const struct player *of, size_t node) {
    for (size_t i = 0; i < PLAYERS; i++)
        if (w->players[i].client == of->client && w->players[i].own == (int)node &&
            w->players[i].core.state == ZKLI_LEAVING)
            return true;
    return false;
}

static void deliver_listing(struct world *w, struct player *player, const struct message *m) {
    struct zkli_sibling siblings[NODES_MAX];
    struct zkli_listing listing = {
        .siblings = siblings, .count = 0, .is_by_czxid = m->op == ZKLI_ASK_ORDER};
    size_t first = world_draw(w, NODES_MAX); /* in no order */
    for (size_t i = 0; i < w->node_count; i++) {
        size_t node = (i + first) % w->node_count;
        if ((m->listing >> node & 1) == 0)
            continue;
        siblings[listing.count] = w->nodes[node].sibling;
        siblings[listing.count].name = w->nodes[node].name;
        siblings[listing.count].is_leaving = is_leaving(w, player, node);
        if (listing.is_by_czxid)
            siblings[listing.count].order = w->nodes[node].czxid;
        listing.count++;
    }
    world_step(w, player,
               (struct zkli_contender_event){
                   .type = ZKLI_EV_LISTED, .result = m->result, .listing = &listing});
}

static void deliver_reply(struct world *w, const struct message *m) {
    struct player *player = &w->players[m->player];
    bool is_listing = m->op == ZKLI_ASK_LIST || m->op == ZKLI_ASK_ORDER;
    if (m->generation != player->generation || (is_listing && m->serial != player->list_serial))
        return;
    if (is_listing) {
        deliver_listing(w, player, m);
        return;
    }
    struct zkli_contender_event e = {.type = reply_to(m->op), .result = m->result};
    if (m->node >= 0) {
        e.node = w->nodes[m->node].name;
        e.czxid = w->nodes[m->node].czxid;
        e.owner = w->nodes[m->node].owner;
    }
    world_step(w, player, e);
}

static void deliver_watch(struct world *w, struct client *client, const struct message *m) {
    client->client_watches &= ~NODE_BIT(m->node);
    client->missed &= ~NODE_BIT(m->node);
    size_t first = world_draw(w, PLAYERS);
    for (size_t i = 0; i < PLAYERS; i++) {
        struct player *player = &w->players[(i + first) % PLAYERS];
        bool is_own = player->own_aim == m->node,
             is_predecessor = player->predecessor_aim == m->node;
        struct zkli_contender_event e = {.type = ZKLI_EV_OWN_EVENT, .is_deleted = m->is_deleted};
        if (&w->clients[player->client] != client)
            continue;
        if (is_own)
            world_step(w, player, e);
        e.type = ZKLI_EV_PREDECESSOR_EVENT;
        if (is_predecessor)
            world_step(w, player, e);
    }
}

void world_deliver_next(struct world *w, struct client *client) {
    struct message m = pop(&client->inbox);
    world_trace(w, m.op == 0 ? "watch" : "delivered", m.player, m.node);
    if (m.op == 0) {
        deliver_watch(w, client, &m);
        return;
    }
    client->seen = m.zxid > client->seen ? m.zxid : client->seen;
    bool is_read = m.op == ZKLI_ASK_OWN || m.op == ZKLI_ASK_PREDECESSOR;
    if (is_read && m.result == ZKLI_RESULT_OK)
        client->client_watches |= NODE_BIT(m.node);
    deliver_reply(w, &m);
}

void world_flow(struct world *w, struct client *client) {
    for (size_t i = 0; i < PLAYERS; i++)
        while (&w->clients[w->players[i].client] == client && world_can_send(w, &w->players[i]))
            world_send_next(w, &w->players[i]);
    while (client->requests.count > 0)
        world_serve_next(w, client);
    while (client->inbox.count > 0)
        world_deliver_next(w, client);
}

/* ---- Connections and sessions ---- */

/* The requests in flight are lost. Of those not served yet the first few are served all the same;
 * of the others, creates may be done later. */
static void lose_requests(struct world *w, struct client *client, bool is_served) {
    struct queue inbox = client->inbox, requests = client->requests;
    client->inbox.count = client->requests.count = 0;
    size_t served = is_served ? world_draw(w, requests.count + 1) : 0;
    bool is_late = is_served && world_draw(w, 2) == 0;
    while (inbox.count + requests.count > 0) {
        bool was_served = inbox.count > 0;
        struct message m = pop(was_served ? &inbox : &requests);
        if (m.op == 0) {
            client->missed |= m.is_deleted ? 0 : NODE_BIT(m.node);
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

void world_cut(struct world *w, struct client *client, bool is_served) {
    bool is_told_late = client->is_connected && world_draw(w, 4) == 0;
    world_trace(w, "cut", (int)(client - w->clients), NO_ONE);
    client->server_watches = 0;
    client->is_connected = is_told_late;
    lose_requests(w, client, is_served);
    client->server_watches = 0;
    client->is_connected = false;
}

void world_set_lease(struct world *w, struct client *client, bool is_certain, bool is_ample) {
    if (client->is_certain == is_certain && client->is_ample == is_ample)
        return;
    world_trace(w,
                is_ample     ? "ample"
                : is_certain ? "certain"
                             : "uncertain",
                (int)(client - w->clients), NO_ONE);
    client->is_certain = is_certain;
    client->is_ample = is_ample;
    world_step_all(w, client, ZKLI_EV_LEASE);
}

void world_expire(struct world *w, struct client *client) {
    world_trace(w, "expire", (int)(client - w->clients), NO_ONE);
    w->expiries++;
    world_cut(w, client, false);
    client->limbo_count = 0;
    client->is_alive = false;
    for (uint64_t nodes = w->existing; nodes != 0; nodes &= nodes - 1) {
        int node = __builtin_ctzll(nodes);
        if (w->nodes[node].owner == client->session_id)
            world_delete(w, node);
    }
}

/* The client sends its watches again; those of nodes that have gone or changed fire, in any order
 * and before any reply. */
static void set_watches_again(struct world *w, struct client *client) {
    size_t first = world_draw(w, NODES_MAX);
    for (size_t i = 0; i < NODES_MAX; i++) {
        int node = (int)((i + first) % NODES_MAX);
        struct message m = {.node = node, .is_deleted = !is_seen(w, client, node)};
        if ((client->client_watches & NODE_BIT(node)) == 0)
            continue;
        if (m.is_deleted || (client->missed & NODE_BIT(node)) != 0)
            push(w, &client->inbox, m);
        else
            client->server_watches |= NODE_BIT(node);
    }
}

void world_begin_session(struct world *w, struct client *client) {
    client->session_id = ++w->last_session;
    client->is_alive = true;
    client->client_watches = client->missed = 0;
    client->view = UP_TO_DATE; /* the creation of a session is a write */
    client->seen = w->zxid;
}

void world_reconnect(struct world *w, struct client *client) {
    world_trace(w, "reconnect", (int)(client - w->clients), NO_ONE);
    client->view = UP_TO_DATE;
    if (world_draw(w, 2) == 0)
        client->view = client->seen +
                       (int64_t)world_draw(w, (uint64_t)(w->zxid - client->seen) + 1);
    if (!client->is_alive) {
        for (size_t i = 0; i < PLAYERS; i++)
            if (&w->clients[w->players[i].client] == client) {
                w->players[i].unsent = 0;
                w->players[i].own_aim = w->players[i].predecessor_aim = NO_ONE;
            }
        client->is_certain = client->is_ample = false;
        world_step_all(w, client, ZKLI_EV_EXPIRED);
        world_begin_session(w, client);
    }
    client->is_connected = true;
    client->connection++;
    set_watches_again(w, client);
    if (client->client_watches == 0)
        world_set_lease(w, client, true, true); /* as a new session does */
    world_step_all(w, client, ZKLI_EV_CONNECTED);
}
