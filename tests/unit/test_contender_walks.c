/*
 * Random walks of several contenders through a small world (contender_world.h): whatever is lost,
 * cut, expired, delayed, broken or changed, at most one holds, and every node is accounted for. In
 * the end every contender has had the lock or been told why not, and no node is left.
 *
 * In the environment, ZKLOCK_TEST_SEED=n runs the walk of that seed alone and prints its course;
 * ZKLOCK_TEST_WALKS=n makes so many walks.
 */
#include "unit/contender_world.h"

#include <inttypes.h>
#include <stdlib.h>

#define WALKS 100000
#define TIME_MS 4000 /* a build that is slow for a purpose makes fewer walks; if they are WALKS */
#define STEPS 60     /* random moves in a walk, before the faults end */
#define ROUNDS 400   /* after that; far more than the worst takes */

static struct world World; /* too large for a stack */

/* ---- Moves: each does something if there is something to do it to ---- */

static struct client *any_client(struct world *w) {
    return &w->clients[world_draw(w, CLIENTS)];
}

/* The next player, from a random one on, for whom this is true; or NULL. */
static struct player *any_player(struct world *w,
                                 bool (*is_meant)(const struct world *, const struct player *)) {
    size_t first = world_draw(w, PLAYERS);
    for (size_t i = 0; i < PLAYERS; i++) {
        struct player *player = &w->players[(first + i) % PLAYERS];
        if (is_meant(w, player))
            return player;
    }
    return NULL;
}

static bool is_gone(const struct world *w, const struct player *player) {
    (void)w;
    return player->core.state == ZKLI_GONE;
}

static bool is_waiting(const struct world *w, const struct player *player) {
    (void)w;
    return !zkli_contender_has_left(&player->core) && player->core.state != ZKLI_HELD;
}

static bool is_holding(const struct world *w, const struct player *player) {
    (void)w;
    return player->core.state == ZKLI_HELD;
}

static bool has_retry(const struct world *w, const struct player *player) {
    (void)w;
    return player->has_retry;
}

static void move_send(struct world *w) {
    struct player *player = any_player(w, world_can_send);
    if (player != NULL)
        world_send_next(w, player);
}

static void move_serve(struct world *w) {
    struct client *client = any_client(w);
    if (client->requests.count > 0)
        world_serve_next(w, client);
}

static void move_deliver(struct world *w) {
    struct client *client = any_client(w);
    if (client->inbox.count > 0)
        world_deliver_next(w, client);
}

/* All that one client has to say and to hear, so that walks get somewhere. */
static void move_flow(struct world *w) {
    world_flow(w, any_client(w));
}

static void move_begin(struct world *w) {
    struct player *player = any_player(w, is_gone);
    if (player != NULL)
        world_begin_contender(w, player, world_draw(w, 4) == 0);
}

/* What the owner says takes back what is not sent yet, but for a search, which is needed. */
static void say_goodbye(struct world *w, struct player *player,
                        enum zkli_contender_event_type type) {
    struct zkli_contender_event e = {.type = type, .error = ZKL_CANCELED};
    world_trace(w, "good-bye", (int)(player - w->players), player->own);
    if (player->core.state != ZKLI_SEARCHING) {
        e.unsent = player->unsent;
        player->unsent = 0;
        player->list_serial++;
    }
    world_step(w, player, e);
}

static void move_abandon(struct world *w) {
    struct player *player = any_player(w, is_waiting);
    if (player != NULL)
        say_goodbye(w, player, ZKLI_EV_ABANDON);
}

static void move_release(struct world *w) {
    struct player *player = any_player(w, is_holding);
    if (player != NULL)
        say_goodbye(w, player, ZKLI_EV_RELEASE);
}

static void move_retry(struct world *w) {
    struct player *player = any_player(w, has_retry);
    if (player == NULL)
        return;
    player->has_retry = false;
    world_step(w, player, (struct zkli_contender_event){.type = ZKLI_EV_RETRY});
}

static void move_heartbeat(struct world *w) {
    struct client *client = any_client(w);
    if (client->is_connected)
        world_step_all(w, client, ZKLI_EV_HEARTBEAT);
}

static void move_cut(struct world *w) {
    struct client *client = any_client(w);
    if (client->is_connected)
        world_cut(w, client, true);
}

static void move_reconnect(struct world *w) {
    struct client *client = any_client(w);
    if (!client->is_connected)
        world_reconnect(w, client);
}

static void move_uncertain(struct world *w) {
    world_set_lease(w, any_client(w), false, false);
}

static void move_certain(struct world *w) {
    struct client *client = any_client(w);
    if (client->is_connected && client->is_alive)
        world_set_lease(w, client, true, world_draw(w, 4) != 0);
}

static void move_expire(struct world *w) {
    struct client *client = any_client(w);
    if (client->is_alive && !client->is_certain)
        world_expire(w, client);
}

static void move_settle(struct world *w) {
    struct client *client = any_client(w);
    world_end_limbo(w, client);
    world_catch_up(w, client);
}

/* ---- Others ---- */

/* A node that exists: one of ours, or another library's. */
static int any_node(struct world *w, bool is_ours) {
    size_t first = world_draw(w, NODES_MAX);
    for (size_t i = 0; i < NODES_MAX; i++) {
        int node = (int)((first + i) % NODES_MAX);
        if (world_is_there(w, node) && (w->nodes[node].owner != 0) == is_ours)
            return node;
    }
    return NO_ONE;
}

static void move_others_enter(struct world *w) {
    static const char *const ends[] = {"lock-", "__WRIT__", "__READ__", "lease-"};
    char prefix[64];
    (void)snprintf(prefix, sizeof(prefix), "_c_%08x-aaaa-bbbb-cccc-0123456789ab-%s", w->uuids++,
                   ends[world_draw(w, COUNT(ends))]);
    w->missing = 0;
    world_trace(w, "enters", 0, world_add(w, prefix, world_next_number(w), 0));
}

static void move_others_leave(struct world *w) {
    int node = any_node(w, false);
    if (node != NO_ONE)
        world_delete(w, node);
}

/* A writer becomes a reader, in one transaction: a new node with the old number. Not with one that
 * may repeat: then nobody can tell who is before whom. */
static void move_others_downgrade(struct world *w) {
    int writer = any_node(w, false);
    if (writer == NO_ONE || w->nodes[writer].sibling.kind != ZKLI_KIND_WRITE ||
        w->nodes[writer].sibling.order < 0 || w->nodes[writer].sibling.order >= ZKLI_COUNTER_END)
        return;
    char prefix[64];
    (void)snprintf(prefix, sizeof(prefix), "_c_%08x-aaaa-bbbb-cccc-0123456789ab-__READ__",
                   w->uuids++);
    int reader = world_add(w, prefix, w->nodes[writer].sibling.order, 0);
    world_trace(w, "downgrades", 0, writer);
    if (reader == NO_ONE)
        return;
    if (w->counter < ZKLI_COUNTER_END)
        w->counter++;
    w->nodes[reader].rank = w->nodes[writer].rank;
    world_delete(w, writer);
}

static void move_touch(struct world *w) {
    int node = any_node(w, true);
    world_trace(w, "touched", 0, node);
    if (node != NO_ONE)
        world_fire(w, node, false);
}

static bool is_known(const struct world *w, int node) {
    for (size_t i = 0; i < PLAYERS; i++)
        if (node == NO_ONE || w->players[i].own == node)
            return true;
    return false;
}

/* One of ours, by choice one that its contender does not know of. */
static void move_break(struct world *w) {
    int node = w->may_break ? any_node(w, true) : NO_ONE;
    for (unsigned tries = (unsigned)world_draw(w, 8); tries > 0 && is_known(w, node); tries--)
        node = any_node(w, true);
    if (node == NO_ONE)
        return;
    world_trace(w, "broken", 0, node);
    w->has_broken = w->nodes[node].is_broken = true;
    world_delete(w, node);
}

/* The empty directory is removed, and perhaps its parent with it; numbers start anew. */
static void move_reap(struct world *w) {
    if (w->existing != 0)
        return;
    w->missing = 1 + (unsigned)world_draw(w, 2);
    w->counter = 0;
}

/* ---- A walk ---- */

static const struct {
    unsigned weight;
    void (*move)(struct world *w);
} moves[] = {
    {18, move_send},        {16, move_serve},       {16, move_deliver},
    {8, move_flow},         {6, move_begin},        {3, move_abandon},
    {4, move_release},      {4, move_retry},        {2, move_heartbeat},
    {3, move_cut},          {6, move_reconnect},    {4, move_uncertain},
    {4, move_certain},      {2, move_expire},       {2, move_settle},
    {2, move_others_enter}, {3, move_others_leave}, {2, move_others_downgrade},
    {1, move_touch},        {4, move_break},        {1, move_reap},
};

static void begin_walk(struct world *w, uint64_t seed) {
    static const int64_t counters[] = {0,
                                       0,
                                       0,
                                       ZKLI_COUNTER_END - ZKLI_COUNTER_MARGIN - 2,
                                       ZKLI_COUNTER_END - 3,
                                       ZKLI_COUNTER_END};
    w->seed = w->random = seed;
    w->node_count = 0;
    w->existing = 0;
    w->zxid = w->last_token = 0;
    w->uuids = 0;
    w->has_broken = false;
    w->broken = NULL;
    w->counter = counters[world_draw(w, COUNT(counters))];
    w->missing = (unsigned)world_draw(w, 3);
    w->has_faults = world_draw(w, 2) == 0;
    w->may_break = world_draw(w, 4) == 0;
    w->lists_last = world_draw(w, 2) == 0;
    for (size_t i = 0; i < PLAYERS; i++)
        w->players[i].core.state = ZKLI_GONE;
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *client = &w->clients[i];
        client->is_connected = client->is_certain = client->is_ample = true;
        client->connection = 1;
        client->requests.count = client->inbox.count = client->limbo_count = 0;
        client->server_watches = 0;
        world_begin_session(w, client);
    }
    for (size_t i = 0; i < PLAYERS; i++) {
        struct player *player = &w->players[i];
        player->client = (int)(i % CLIENTS);
        player->generation++;
        player->unsent = 0;
        player->has_retry = false;
        if (i < 3)
            world_begin_contender(w, player, false);
    }
}

static void wander(struct world *w) {
    unsigned sum = 0;
    for (size_t i = 0; i < COUNT(moves); i++)
        sum += moves[i].weight;
    for (size_t i = 0; i < STEPS && w->node_count < NODES_MAX - 20 && w->broken == NULL; i++) {
        uint64_t dice = world_draw(w, sum);
        size_t move = 0;
        for (; dice >= moves[move].weight; move++)
            dice -= moves[move].weight;
        moves[move].move(w);
        world_check_holders(w);
    }
}

/* Whether anything happened when everybody said and heard all there is. */
static bool flow(struct world *w) {
    size_t before = w->steps;
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *client = &w->clients[i];
        if (!client->is_connected)
            world_reconnect(w, client);
        world_set_lease(w, client, true, true);
        world_end_limbo(w, client);
        world_catch_up(w, client);
    }
    for (size_t i = 0; i < PLAYERS; i++)
        move_retry(w);
    for (size_t i = 0; i < CLIENTS; i++)
        world_flow(w, &w->clients[i]);
    world_check_holders(w);
    return w->steps != before;
}

/* No more faults: each waiter comes to hold, releases, and all is as it was before. */
static void come_to_an_end(struct world *w) {
    world_trace(w, "the end", 0, NO_ONE);
    w->has_faults = false;
    for (int node = any_node(w, false); node != NO_ONE; node = any_node(w, false))
        world_delete(w, node);
    for (unsigned round = 0; w->broken == NULL; round++) {
        if (round == ROUNDS)
            world_break_rule(w, "it goes on and on");
        if (flow(w))
            continue;
        if (any_player(w, is_holding) != NULL)
            move_release(w);
        else
            break;
    }
    for (size_t i = 0; i < PLAYERS; i++)
        if (w->players[i].core.state != ZKLI_GONE)
            world_break_rule(w, "a contender waits for ever");
    if (w->existing != 0)
        world_break_rule(w, "a node is left in the end");
}

static bool walk(struct world *w, uint64_t seed) {
    begin_walk(w, seed);
    wander(w);
    if (w->broken == NULL)
        come_to_an_end(w);
    if (w->broken != NULL)
        test_note("seed %" PRIu64 ": %s", seed, w->broken);
    return w->broken == NULL;
}

static void of_any_contenders_one_holds_at_most_and_no_node_is_left(void) {
    const char *only = getenv("ZKLOCK_TEST_SEED");
    if (only != NULL) {
        World.is_traced = true;
        CHECK(walk(&World, strtoull(only, NULL, 10)));
        return;
    }
    const char *campaign = getenv("ZKLOCK_TEST_WALKS");
    const size_t wanted = campaign == NULL ? WALKS : strtoull(campaign, NULL, 10);
    const int64_t end_ms = campaign == NULL ? clock_ms() + TIME_MS : INT64_MAX;
    size_t failed = 0, walks = 0;
    for (; walks < wanted && failed < 5; walks++) {
        if (walks % 256 == 0 && clock_ms() > end_ms)
            break;
        failed += !walk(&World, walks + 1);
    }
    test_note(
        "%zu walks, %zu steps, %zu grants of which %zu at once, %zu lost, %zu sessions ended, "
        "%zu nodes adopted, %zu times by czxid",
        walks, World.steps, World.grants, World.hand_offs, World.losses, World.expiries,
        World.adoptions, World.orderings);
    CHECK_INT(failed, 0);
    /* Or the walks went nowhere. */
    CHECK(walks > WALKS / 20 && World.grants > walks && World.hand_offs > walks / 10);
    CHECK(World.losses > walks / 50 && World.expiries > walks / 10);
    CHECK(World.adoptions > walks / 20 && World.orderings > walks / 2);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"of any contenders one holds at most, and no node is left",
         of_any_contenders_one_holds_at_most_and_no_node_is_left},
    };
    return TEST_MAIN(argc, argv, "contender_walks", cases);
}
