/*
 * faults - what befalls servers, links, clients and their libraries, one at a time, and how it is
 * healed; see sim.h.
 */
#include "sim/sim.h"

#include <string.h>

/* Of the faults of a server that come while another is in force. */
#define SECOND_FAULT_PERCENT 25
/* The fault that is tried first. */
#define SILENT_FIRST_PERCENT 30

void operate(struct world *w, enum op op, int name) {
    struct message m = {.kind = (uint8_t)op, .name = name};
    quorum_write(w, NONE, NONE, &m);
}

void fault_heal_later(struct world *w, enum fault fault, int what, int64_t longest_ns) {
    world_at(w, w->now_ns + world_between(w, 1, longest_ns), EVENT_HEAL, fault, (unsigned)what);
}

static bool uproot(struct world *w, bool is_parent) {
    for (unsigned tries = 0; tries < 8 && w->truth.count > 0; tries++) {
        const struct znode *node = &w->truth.nodes[world_below(w, (unsigned)w->truth.count)];
        bool is_contender = w->names[node->name].lock != NONE;
        if (is_parent ? node->is_container : is_contender) {
            operate(w, OP_REMOVE, node->name);
            return true;
        }
    }
    return false;
}

/* The first three contenders of a lock; fewer: NONE. */
static void first_three(const struct world *w, int lock, int ret_names[3]) {
    ret_names[0] = ret_names[1] = ret_names[2] = NONE;
    for (int i = 0; i < w->truth.count; i++) {
        int name = w->truth.nodes[i].name;
        int place = w->names[name].lock == lock ? 0 : 3;
        while (place < 3 && ret_names[place] != NONE &&
               w->names[ret_names[place]].place < w->names[name].place)
            place++;
        for (; place < 3; place++) {
            int moved = ret_names[place];
            ret_names[place] = name;
            name = moved;
            if (name == NONE)
                break;
        }
    }
}

/* The first contender and the second, whose owner is not connected just then: it is told of the end
 * of both at once, in any order, when the third one may have been granted already. */
static bool uproot_two(struct world *w) {
    int names[3];
    first_three(w, (int)world_below(w, LOCKS_MAX), names);
    int client = names[2] == NONE ? NONE : w->names[names[1]].client;
    if (client == NONE || !w->list[client].is_open || w->list[client].port == NONE)
        return false;
    port_cut(w, w->list[client].port);
    operate(w, OP_REMOVE, names[0]);
    operate(w, OP_REMOVE, names[1]);
    return true;
}

static void silence(struct world *w, int client, int64_t longest_ns) {
    int only = world_chance(w, 50) ? NONE : (int)world_below(w, SERVERS);
    for (int s = 0; s < SERVERS; s++)
        if (only == NONE || only == s)
            w->list[client].is_silent[s] = true;
    fault_heal_later(w, FAULT_SILENCE, client, longest_ns);
}

static int a_follower(struct world *w) {
    int server = (int)world_below(w, SERVERS);
    return server == w->leader ? (server + 1) % SERVERS : server;
}

static unsigned faults_in_force(const struct world *w) {
    unsigned count = 0;
    for (int i = 0; i < SERVERS; i++) {
        count += w->servers[i].role == ROLE_DOWN;
        count += server_is_isolated(w, i);
        for (int j = 0; j < SERVERS; j++)
            count += link_is_stalled(w, i, j);
    }
    return count;
}

bool fault_may_be(struct world *w) {
    unsigned count = faults_in_force(w);
    return count == 0 || (count == 1 && world_chance(w, SECOND_FAULT_PERCENT));
}

bool fault_is_none(const struct world *w) {
    if (w->leader == NONE || !quorum_leads(w, w->leader))
        return false;
    bool is_amiss = faults_in_force(w) > 0 || w->is_throttling || w->is_denying ||
                    w->is_log_stalled || w->log_takes_ns > 0 || w->now_ns < w->late_until_ns;
    for (int i = 0; i < SERVERS; i++) {
        bool is_followed = i == w->leader || w->servers[w->leader].is_followed[i];
        is_amiss = is_amiss || !is_followed || w->servers[i].epoch != w->epoch ||
                   w->servers[i].lag_ns > 0 || w->servers[i].apply_at > w->now_ns + MS ||
                   w->servers[i].is_racing;
    }
    for (int i = 0; i < w->clients; i++) {
        const struct client *c = &w->list[i];
        is_amiss = is_amiss || c->doom != DOOM_NONE || c->refused_percent > 0 || c->is_forgetful ||
                   c->is_racing || c->is_told_late;
        for (int s = 0; s < SERVERS; s++)
            is_amiss = is_amiss || c->is_silent[s];
    }
    return !is_amiss;
}

void fault_count(struct world *w) {
    w->figures->double_faults += faults_in_force(w) > 1;
    w->figures->without_quorum += !quorum_is_possible(w);
}

static bool fault_of_server(struct world *w, enum fault fault) {
    if ((fault == FAULT_DEPOSED_LEADER && w->leader == NONE) || !fault_may_be(w))
        return false;
    int64_t t = w->timeout_ns;
    int server = fault == FAULT_DEPOSED_LEADER     ? w->leader
                 : fault == FAULT_CUT_OFF_FOLLOWER ? a_follower(w)
                                                   : (int)world_below(w, SERVERS);
    if (fault == FAULT_CRASHED_SERVER ? w->servers[server].role == ROLE_DOWN
                                      : server_is_isolated(w, server))
        return false;
    if (fault == FAULT_CRASHED_SERVER) {
        server_crash(w, server);
        fault_count(w);
        fault_heal_later(w, fault, server, 2 * t);
        return true;
    }
    server_isolate(w, server, true);
    fault_count(w);
    if (fault != FAULT_STALLED_SERVER && world_chance(w, 50)) {
        server_abandon(w, server);
        /* The others go on without it: clients that lose a reply there come back to this one. */
        for (int i = 0; i < w->clients; i++)
            if (world_chance(w, 50))
                world_at(w, w->now_ns + world_between(w, 0, w->sync_limit * w->tick_ns), EVENT_DOOM,
                         (unsigned)i, 0);
    }
    /* A stall is over before anybody gives up: everything under way arrives, late. */
    int64_t longest = fault == FAULT_STALLED_SERVER ? w->sync_limit * w->tick_ns * 9 / 10 : 3 * t;
    fault_heal_later(w, FAULT_CUT_OFF_FOLLOWER, server, longest);
    return true;
}

void fault_doom(struct world *w, unsigned client, unsigned unused) {
    (void)unused;
    w->disturbances++;
    if (w->phase == PHASE_RUN)
        w->list[client].doom = DOOM_REPLY;
}

static bool fault_of_lag(struct world *w) {
    int server = a_follower(w);
    w->servers[server].lag_ns = world_between(w, MS, w->timeout_ns);
    fault_heal_later(w, FAULT_LAGGING_FOLLOWER, server, 2 * w->timeout_ns);
    return true;
}

/* The client library has not enough of it. */
static bool fault_of_memory(struct world *w, enum fault fault, int client) {
    struct client *c = &w->list[client];
    if (!c->is_open)
        return false;
    if (fault == FAULT_REFUSAL) {
        c->refused_percent = world_chance(w, 50) ? 100 : 50;
        c->refuses_deletes = world_chance(w, 30);
        fault_heal_later(w, fault, client,
                         world_chance(w, 50) ? w->timeout_ns : w->timeout_ns / 20);
    } else {
        c->is_forgetful = true;
        if (c->port != NONE && world_chance(w, 70))
            port_cut(w, c->port);
    }
    return true;
}

static bool awaits_permit(const struct client *c) {
    if (!c->is_open)
        return false;
    const struct zkli_list *head = &c->session.engine->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next) {
        const struct zkli_contender *core = &ZKLI_CONTAINER(link, struct zkli_member, link)->core;
        if (core->kind == ZKLI_KIND_LEASE && !zkli_contender_holds(core) &&
            !zkli_contender_has_left(core))
            return true;
    }
    return false;
}

void fault_last_touches(struct world *w) {
    for (int i = 0; i < w->clients; i++) {
        struct client *c = &w->list[i];
        if (c->doom == DOOM_NONE && awaits_permit(c) && world_chance(w, 50))
            c->doom = DOOM_TOUCH;
    }
}

/* What a lease rests on. */
static bool fault_of_heartbeats(struct world *w, enum fault fault, int client) {
    struct client *c = &w->list[client];
    bool has_scene = world_chance(w, 70);
    if (fault == FAULT_TOLD_LATE) {
        c->is_told_late = c->is_open;
        client_close(w, client, true); /* and another process begins */
        return c->is_told_late;
    }
    if (fault == FAULT_LATE_PINGS) {
        if (!has_scene || !scene_late_pings(w))
            w->late_until_ns = w->now_ns + world_between(w, 0, 3 * w->timeout_ns);
    } else if (!has_scene || !scene_lost_touch(w)) {
        int server = a_follower(w);
        w->servers[server].is_racing = true;
        fault_heal_later(w, fault, server, 2 * w->timeout_ns);
    }
    return true;
}

static bool fault_of_log(struct world *w) {
    if (w->is_log_stalled || w->log_takes_ns > 0)
        return false;
    if (world_chance(w, 70) && scene_stalled_log(w))
        return true;
    w->is_log_stalled = true;
    fault_heal_later(w, FAULT_STALLED_LOG, 0, w->timeout_ns);
    return true;
}

/* All servers refuse some of what they are asked. */
static bool fault_of_answers(struct world *w, enum fault fault) {
    w->has_refused = true;
    if (fault == FAULT_THROTTLE)
        w->is_throttling = true;
    else
        w->is_denying = true;
    fault_heal_later(w, fault, 0, fault == FAULT_THROTTLE ? w->timeout_ns : 3 * w->timeout_ns);
    return true;
}

static bool inject(struct world *w, enum fault fault, int client) {
    struct client *c = &w->list[client];
    int64_t t = w->timeout_ns;
    switch (fault) {
    case FAULT_DISCONNECT:
        if (c->is_open && c->port != NONE)
            port_cut(w, c->port);
        return c->is_open;
    case FAULT_LOST_REPLY:
        c->doom = world_chance(w, 70) ? DOOM_WRITE_REPLY : DOOM_REPLY;
        return true;
    case FAULT_LOST_REQUEST:
        c->doom = world_chance(w, 60) ? DOOM_REQUEST : DOOM_CREATE;
        return true;
    case FAULT_EXPIRY:
        for (int s = 0; s < SERVERS; s++)
            c->is_silent[s] = true;
        world_at(w, w->now_ns + 2 * t + world_between(w, 0, t), EVENT_HEAL, FAULT_SILENCE,
                 (unsigned)client);
        return true;
    case FAULT_SILENCE:
        silence(w, client, 2 * t);
        return true;
    case FAULT_CUT_OFF_FOLLOWER:
    case FAULT_DEPOSED_LEADER:
    case FAULT_STALLED_SERVER:
    case FAULT_CRASHED_SERVER:
        return fault_of_server(w, fault);
    case FAULT_TURNING_STALL:
        return scene_turning_stall(w);
    case FAULT_STALLED_LOG:
        return fault_of_log(w);
    case FAULT_SILENT_SERVER:
        return scene_silent_server(w);
    case FAULT_LAGGING_FOLLOWER:
        return fault_of_lag(w);
    case FAULT_PAUSE:
        client_pause(w, client, world_between(w, MS, 3 * t));
        return true;
    case FAULT_OPERATOR:
        return (world_chance(w, 50) && uproot_two(w)) || uproot(w, false);
    case FAULT_PARENT_REAPED:
        return uproot(w, true);
    case FAULT_CANCEL:
        handle_cancel(w, client);
        return true;
    case FAULT_LOCK_CLOSE:
        actor_close_lock(w, client);
        return true;
    case FAULT_CLOSE:
    case FAULT_KILL:
        client_close(w, client, fault == FAULT_KILL);
        return true;
    case FAULT_THROTTLE:
    case FAULT_DENIAL:
        return fault_of_answers(w, fault);
    case FAULT_REFUSAL:
    case FAULT_FORGOTTEN_STATE:
        return fault_of_memory(w, fault, client);
    case FAULT_LATE_PINGS:
    case FAULT_LOST_TOUCH:
    case FAULT_TOLD_LATE:
        return fault_of_heartbeats(w, fault, client);
    case FAULT_KINDS:
        break;
    }
    return false;
}

void fault_strike(struct world *w, unsigned unused, unsigned unused_too) {
    (void)unused;
    (void)unused_too;
    if (w->phase != PHASE_RUN)
        return;
    for (unsigned tries = 0; tries < 20; tries++) {
        /* It is possible only where all is well, which is seldom so. */
        enum fault kind = tries == 0 && world_chance(w, SILENT_FIRST_PERCENT)
                              ? FAULT_SILENT_SERVER
                              : (enum fault)world_below(w, FAULT_KINDS);
        int client = (int)world_below(w, (unsigned)w->clients);
        if (!inject(w, kind, client))
            continue;
        TRACE(w, "fault: %s, client %d", fault_names[kind], client);
        w->figures->faults[kind]++;
        w->faults_done++;
        w->disturbances++;
        return;
    }
    world_at(w, w->now_ns + w->tick_ns, EVENT_FAULT, 0, 0); /* none is possible now */
}

void fault_heal(struct world *w, unsigned kind, unsigned number) {
    int what = (int)number;
    if (kind == FAULT_SILENCE) {
        memset(w->list[what].is_silent, 0, sizeof(w->list[what].is_silent));
        conn_resume(w, what);
    } else if (kind == FAULT_CRASHED_SERVER) {
        if (w->servers[what].role == ROLE_DOWN) {
            w->servers[what].role = ROLE_LOOKING;
            world_at(w, w->now_ns + world_between(w, 50, 1000) * MS, EVENT_ELECT, 0, 0);
        }
    } else if (kind == FAULT_TURNING_STALL) {
        if (number < STALL_ENDS)
            scene_turn(w, what);
        else
            scene_end_stall(w, what - STALL_ENDS);
    } else if (kind == FAULT_STALLED_LOG) {
        if (w->is_log_stalled)
            quorum_end_stall(w);
        w->log_takes_ns = 0;
    } else if (kind == FAULT_LAGGING_FOLLOWER) {
        w->servers[what].lag_ns = 0;
    } else if (kind == FAULT_LOST_TOUCH) {
        w->servers[what].is_racing = false;
    } else if (kind == FAULT_THROTTLE) {
        w->is_throttling = false;
    } else if (kind == FAULT_DENIAL) {
        w->is_denying = false;
    } else if (kind == FAULT_REFUSAL) {
        w->list[what].refused_percent = 0;
    } else {
        server_isolate(w, what, false);
    }
}

void fault_heal_all(struct world *w) {
    for (int i = 0; i < SERVERS; i++) {
        fault_heal(w, FAULT_CRASHED_SERVER, (unsigned)i);
        fault_heal(w, FAULT_LAGGING_FOLLOWER, (unsigned)i);
        fault_heal(w, FAULT_CUT_OFF_FOLLOWER, (unsigned)i);
        fault_heal(w, FAULT_TURNING_STALL, STALL_ENDS + (unsigned)i);
        fault_heal(w, FAULT_LOST_TOUCH, (unsigned)i);
    }
    fault_heal(w, FAULT_THROTTLE, 0);
    fault_heal(w, FAULT_DENIAL, 0);
    fault_heal(w, FAULT_STALLED_LOG, 0);
    w->late_until_ns = 0;
    for (int i = 0; i < w->clients; i++) {
        fault_heal(w, FAULT_SILENCE, (unsigned)i);
        fault_heal(w, FAULT_REFUSAL, (unsigned)i);
        w->list[i].doom = DOOM_NONE;
        w->list[i].is_forgetful = false;
        w->list[i].is_racing = w->list[i].is_told_late = false;
    }
}
