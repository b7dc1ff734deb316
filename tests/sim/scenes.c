/*
 * scenes - faults in several acts, of servers and of one client that holds a lock through them, so
 * timed that something rare happens to its heartbeats; see sim.h.
 */
#include "sim/sim.h"

/* From one that is proven to its witness. */
#define STEADY_BEATS 6

enum act {
    ACT_MISS_A_PING,  /* late pings: the client stands still from one ping to behind the next */
    ACT_BE_A_WITNESS, /* ... and then until its heartbeat goes out just before a late one */
    ACT_HIDE_A_PING,  /* ... which comes, and whose answer does not */
    ACT_RACE,         /* lost touch: the client stands still from one ping to before the next */
    ACT_STOP,         /* ... and then for a while */
    ACT_PART,         /* nobody hears of it any more */
    ACT_PART_HOLDING, /* told late: as soon as it holds something */
    ACTS
};

static void act_at(struct world *w, int64_t at, int client, enum act act) {
    unsigned stamp = w->list[client].stamp & 0xffffff;
    world_at(w, at, EVENT_SCENE, (unsigned)client, act + ACTS * stamp);
}

/* A client that holds a lock, through a server in one of two roles; NONE: there is none. */
static int a_holder_at(struct world *w, enum role role, enum role other) {
    unsigned first = world_below(w, (unsigned)w->clients);
    for (unsigned n = 0; n < (unsigned)w->clients; n++) {
        int i = (int)((first + n) % (unsigned)w->clients);
        const struct client *c = &w->list[i];
        if (!c->is_open || c->is_paused || c->port == NONE ||
            w->ports[c->port].state != PORT_CONNECTED)
            continue;
        enum role at = w->servers[w->ports[c->port].server].role;
        for (int k = 0; k < w->threads && (at == role || at == other); k++)
            if (c->actors[k].state == ACTOR_HOLDING)
                return i;
    }
    return NONE;
}

static int a_holder_at_a_follower(struct world *w) {
    return a_holder_at(w, ROLE_FOLLOWING, ROLE_FOLLOWING);
}

static void keep_holding(struct world *w, int client) {
    for (int k = 0; k < w->threads; k++)
        if (w->list[client].actors[k].until_ns < w->now_ns + 2 * w->timeout_ns)
            w->list[client].actors[k].until_ns = w->now_ns + 2 * w->timeout_ns;
}

/* ---- A stall that turns round ---- */

static void turn_later(struct world *w, int follower, int64_t ns) {
    world_at(w, w->now_ns + ns, EVENT_HEAL, FAULT_TURNING_STALL, (unsigned)follower);
    world_at(w, w->now_ns + w->sync_limit * w->tick_ns * 95 / 100, EVENT_HEAL, FAULT_TURNING_STALL,
             STALL_ENDS + (unsigned)follower);
}

/*
 * What a leader sends to a follower stalls, while a client there is late with its heartbeat; then
 * that comes, and what the follower sends stalls: the leader commits the heartbeat, and never hears
 * what the follower had to tell before. The hold lasts until it is seen who is right.
 */
bool scene_turning_stall(struct world *w) {
    int client = w->leader == NONE || !fault_may_be(w) ? NONE : a_holder_at_a_follower(w);
    if (client == NONE)
        return false;
    int follower = w->ports[w->list[client].port].server;
    if (link_is_stalled(w, follower, w->leader) || link_is_stalled(w, w->leader, follower))
        return false;
    int64_t late_ns = world_between(w, w->timeout_ns / 5, w->timeout_ns / 3);
    keep_holding(w, client);
    link_stall(w, w->leader, follower, true);
    fault_count(w);
    client_pause(w, client, late_ns);
    turn_later(w, follower, late_ns + world_between(w, 5 * MS, w->tick_ns / 4));
    return true;
}

void scene_turn(struct world *w, int follower) {
    if (w->leader == NONE || w->leader == follower || !link_is_stalled(w, w->leader, follower))
        return;
    link_stall(w, follower, w->leader, true);
    link_stall(w, w->leader, follower, false);
}

void scene_end_stall(struct world *w, int follower) {
    for (int other = 0; other < SERVERS; other++) {
        link_stall(w, follower, other, false);
        link_stall(w, other, follower, false);
    }
}

/* ---- Late pings, lost touches ---- */

/* It gets no heartbeat through between the next two pings of the leader. */
static bool miss_next_ping(struct world *w, enum act act) {
    int client = w->leader == NONE || !fault_may_be(w) ? NONE : a_holder_at_a_follower(w);
    if (client == NONE)
        return false;
    keep_holding(w, client);
    act_at(w, w->servers[w->leader].pings_ns + world_between(w, 1, 4) * MS, client, act);
    return true;
}

/*
 * A ping tells of a client's last heartbeat. The client's next one comes right behind the next
 * ping, so that only the third ping can tell of it. That one is as late as may be, and the client
 * sends what is meant to be the witness at about the same time. The third ping is held up until
 * another heartbeat is with the leader; its answer never comes.
 */
bool scene_late_pings(struct world *w) {
    return miss_next_ping(w, ACT_MISS_A_PING);
}

/*
 * A ping tells of a client's last heartbeat. The client's next one comes right before the next
 * ping, and the follower loses it. The client is late again with the one after that. Soon nobody
 * hears of the client any more.
 */
bool scene_lost_touch(struct world *w) {
    return miss_next_ping(w, ACT_RACE);
}

/* Stands still from behind one ping to about the next; returns until when. */
static int64_t sleep_to_next_ping(struct world *w, int client, int64_t behind_ns) {
    int64_t wakes_ns = w->leader == NONE ? 0 : w->servers[w->leader].pings_ns + behind_ns;
    if (wakes_ns <= w->now_ns)
        return w->now_ns;
    client_pause(w, client, wakes_ns - w->now_ns);
    return wakes_ns;
}

static void race(struct world *w, int client) {
    w->list[client].is_racing = true;
    (void)sleep_to_next_ping(w, client, -world_between(w, 1, 8) * MS);
}

static void miss_a_ping(struct world *w, int client) {
    int64_t t = w->timeout_ns;
    int64_t wakes_ns = sleep_to_next_ping(w, client, MS + world_between(w, 0, t / 100));
    w->is_latest = true;
    w->late_until_ns = w->now_ns + 2 * t;
    w->list[client].scene_ns = wakes_ns + t / 4 + world_between(w, 0, t / 24);
    act_at(w, wakes_ns + t / 16 + world_between(w, 6, 10) * MS, client, ACT_BE_A_WITNESS);
}

static void be_a_witness(struct world *w, int client) {
    int64_t wakes_ns = w->list[client].scene_ns;
    if (wakes_ns <= w->now_ns)
        return;
    client_pause(w, client, wakes_ns - w->now_ns);
    act_at(w, wakes_ns + world_between(w, 5, 7) * MS, client, ACT_HIDE_A_PING);
}

static void hide_a_ping(struct world *w, int client) {
    int follower = w->ports[w->list[client].port].server;
    if (w->leader == NONE || w->leader == follower || !fault_may_be(w))
        return;
    keep_holding(w, client);
    link_stall(w, w->leader, follower, true);
    fault_count(w);
    turn_later(w, follower, w->timeout_ns / 16 + 10 * MS);
}

void scene_touch_lost(struct world *w, int client) {
    struct client *c = &w->list[client];
    if (!c->is_racing)
        return;
    c->is_racing = false;
    c->scene_ns = w->tick_ns / 2 + world_between(w, 0, w->timeout_ns / 6);
    act_at(w, w->now_ns + world_between(w, 2, 6) * MS, client, ACT_STOP);
}

static void stop(struct world *w, int client) {
    int64_t ns = w->list[client].scene_ns;
    client_pause(w, client, ns);
    act_at(w, w->now_ns + ns + world_between(w, w->timeout_ns / 10, w->timeout_ns / 4), client,
           ACT_PART);
}

/* Its server goes down with all that it has not told; and no other hears from it. */
static void part(struct world *w, int client) {
    struct client *c = &w->list[client];
    keep_holding(w, client);
    for (int s = 0; s < SERVERS; s++)
        c->is_silent[s] = true;
    world_at(w, w->now_ns + 2 * w->timeout_ns, EVENT_HEAL, FAULT_SILENCE, (unsigned)client);
    int server = w->ports[c->port].server;
    if (w->ports[c->port].state != PORT_CONNECTED || server == w->leader || !fault_may_be(w))
        return;
    server_crash(w, server);
    fault_count(w);
    fault_heal_later(w, FAULT_CRASHED_SERVER, server, 2 * w->timeout_ns);
}

/* ---- A session that is told of late ---- */

void scene_told_late(struct world *w, int client) {
    struct client *c = &w->list[client];
    c->is_told_late = false;
    w->figures->told_late++;
    c->scene_ns = w->now_ns + w->tick_ns / 2;
    act_at(w, w->now_ns + world_between(w, 3 * MS, w->tick_ns / 2), client, ACT_PART_HOLDING);
}

static void part_holding(struct world *w, int client) {
    const struct client *c = &w->list[client];
    bool is_holding = false;
    for (int k = 0; k < w->threads; k++)
        is_holding = is_holding || c->actors[k].state == ACTOR_HOLDING;
    if (is_holding)
        part(w, client);
    else if (w->now_ns < c->scene_ns)
        act_at(w, w->now_ns + w->tick_ns / 20, client, ACT_PART_HOLDING);
}

/* ---- Holds that have to last ---- */

/* While all is well but for this, a hold is not to be lost for so long. */
static void must_keep(struct world *w, int client, int64_t ns) {
    if (w->list[client].handle != NONE)
        return; /* its connection is not the library's to drop */
    keep_holding(w, client);
    w->keeper = client;
    w->keeper_disturbances = w->disturbances + 1; /* this one */
    w->keeper_until_ns = w->now_ns + ns;
    w->keeper_may_lose = false;
    w->figures->kept++;
}

/* Whether its last heartbeats were on time, so that the next will prove as much as the last. */
static bool beats_steadily(const struct zkli_lease *lease) {
    const size_t last = lease->heartbeat_count - 1;
    return lease->heartbeat_count > STEADY_BEATS &&
           lease->heartbeats[last].sent_ns - lease->heartbeats[last - STEADY_BEATS].sent_ns <=
               (STEADY_BEATS + 1) * zkli_lease_period_ns(lease->timeout_ns);
}

/* Holds that are blind, behind a mark of their own, may have less than the lease. */
static bool all_are_certain_for(const struct client *c, int64_t ns) {
    const struct zkli_list *members = &c->session.engine->members;
    for (const struct zkli_list *link = members->next; link != members; link = link->next) {
        const struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, link);
        if (zkli_contender_holds(&m->core) &&
            zkli_member_certain_until_ns(m) - client_clock(c) < ns)
            return false;
    }
    return true;
}

/* A client that holds, and knows that it is connected, with as much of the lease as there is in
 * good order; NONE: there is none. */
static int a_steady_holder(struct world *w) {
    int client = fault_is_none(w) && w->timeout_ns >= 2000 * MS
                     ? a_holder_at(w, ROLE_FOLLOWING, ROLE_LEADING)
                     : NONE;
    if (client == NONE)
        return NONE;
    const struct client *c = &w->list[client];
    const struct zkli_engine *e = c->session.engine;
    bool is_steady = beats_steadily(&e->lease) && zkli_engine_is_connected(e) &&
                     e->lease.certain_until_ns - client_clock(c) >= w->timeout_ns / 2 &&
                     all_are_certain_for(c, w->timeout_ns / 2) &&
                     client_clock(c) >= e->no_drop_until_ns;
    return is_steady ? client : NONE;
}

/* It serves others, or nobody knows that it does not. */
bool scene_silent_server(struct world *w) {
    int client = w->knows_sockets ? a_steady_holder(w) : NONE;
    if (client == NONE)
        return false;
    w->list[client].is_silent[w->ports[w->list[client].port].server] = true;
    fault_heal_later(w, FAULT_SILENCE, client, 2 * w->timeout_ns);
    must_keep(w, client, 2 * w->timeout_ns);
    return true;
}

/* Clients that take that for silence must not lose what they hold: a log that stands still for a
 * while, or one that for a while is slower than they will wait for. */
bool scene_stalled_log(struct world *w) {
    int client = a_steady_holder(w);
    if (client == NONE)
        return false;
    int64_t t = w->timeout_ns;
    bool is_slow = w->knows_sockets && world_chance(w, 50);
    w->is_log_stalled = !is_slow;
    w->log_takes_ns = is_slow ? world_between(w, t * 17 / 100, t / 5) : 0;
    int64_t lasts_ns = is_slow ? world_between(w, t / 2, t * 3 / 5)
                               : world_between(w, t / 10, t * 2 / 5);
    world_at(w, w->now_ns + lasts_ns, EVENT_HEAL, FAULT_STALLED_LOG, 0);
    must_keep(w, client, 2 * t);
    w->keeper_may_lose = is_slow; /* three slow heartbeats in a row may prove too little */
    return true;
}

/* The writer's node, or the reader's that it has become. */
static bool is_any_broken(const struct world *w, int client, int lock) {
    for (int i = 0; i < w->name_count; i++)
        if (w->names[i].lock == lock && w->names[i].client == client &&
            w->names[i].broken_zxid != 0)
            return true;
    return false;
}

/* Nothing else has happened, and the library could have kept it. */
void scene_check_kept(struct world *w, int client, const struct handle *h, zkl_hold hold) {
    if (h->part == hold || client != w->keeper || w->disturbances != w->keeper_disturbances ||
        w->now_ns > w->keeper_until_ns || w->list[client].is_closing || w->phase != PHASE_RUN ||
        w->keeper_may_lose || w->names[h->node].gone_zxid != 0 || is_any_broken(w, client, h->name))
        return;
    world_violate(w, CHECK_KEPT,
                  "client %d has lost %c, and only its server was silent, or the log", client,
                  'a' + h->name);
}

void scene_act(struct world *w, unsigned client, unsigned number) {
    const struct client *c = &w->list[client];
    if (w->phase != PHASE_RUN || !c->is_open || c->port == NONE ||
        (c->stamp & 0xffffff) != number / ACTS)
        return;
    static void (*const acts[ACTS])(struct world * w, int client) = {
        [ACT_MISS_A_PING] = miss_a_ping,
        [ACT_BE_A_WITNESS] = be_a_witness,
        [ACT_HIDE_A_PING] = hide_a_ping,
        [ACT_RACE] = race,
        [ACT_STOP] = stop,
        [ACT_PART] = part,
        [ACT_PART_HOLDING] = part_holding,
    };
    w->disturbances++;
    acts[number % ACTS](w, (int)client);
}
