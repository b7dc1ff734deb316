/*
 * schedule - one seed: its settings, its faults, and its end, when all faults are healed, nobody
 * may be left waiting and nothing may be left on the servers; see sim.h.
 */
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

/* A healed ensemble elects, clients come back, and sessions that were lost are replaced. */
#define CALM_TIMEOUTS 3
#define ELECTION_NS (3000 * MS)
/* Everybody who waits is served, one after the other. */
#define DRAIN_TIMEOUTS 8
#define END_TIMEOUTS 3
/* No schedule needs as long; one that gets here hangs. */
#define RUN_TIMEOUTS 400
#define EVENTS_MAX 2000000
/* Of the faults of a server that come while another is in force. */
#define SECOND_FAULT_PERCENT 25
/* Added to the follower whose stall does not turn, but end. */
#define STALL_ENDS SERVERS

static void configure(struct world *w) {
    static const int ticks[] = {2, 2, 3, 4, 5, 5, 10};
    w->tick_ns = world_between(w, 100, 2000) * MS;
    w->timeout_ns = w->tick_ns * ticks[world_below(w, sizeof(ticks) / sizeof(ticks[0]))];
    w->sync_limit = (int)world_between(w, 2, 5);
    w->clients = (int)world_between(w, 3, CLIENTS_MAX);
    w->threads = (int)world_between(w, 1, THREADS_MAX);
    w->locks = (int)world_between(w, 1, LOCKS_MAX);
    w->counter_start = world_chance(w, 10) ? INT32_MAX - (int32_t)world_below(w, 12) : 0;
    w->operations_wanted = 50 + world_below(w, 30);
    w->faults_wanted = 3 + world_below(w, FAULTS_MAX - 3);
    w->hold_ns = w->timeout_ns / (2 + (int)world_below(w, 30));
    w->rest_ns = w->timeout_ns / (1 + (int)world_below(w, 30));
    for (unsigned i = 0; i < w->faults_wanted; i++)
        w->fault_at[i] = 1 + world_below(w, w->operations_wanted);
    w->dirs[0] = world_name(w, "/locks/a");
    w->dirs[1] = world_name(w, "/locks/b");
    w->registers[0] = world_name(w, "/a");
    w->registers[1] = world_name(w, "/b");
    w->nowhere = world_name(w, "/nowhere");
}

/* A third party's write. */
static void operate(struct world *w, enum op op, int name) {
    struct message m = {.kind = (uint8_t)op, .name = name};
    quorum_write(w, NONE, NONE, &m);
}

static void start(struct world *w) {
    configure(w);
    quorum_start(w);
    for (int i = 0; i < LOCKS_MAX; i++)
        operate(w, OP_CREATE, w->registers[i]);
    for (int i = 0; i < w->clients; i++) {
        struct client *c = &w->list[i];
        c->world = w;
        c->ppm = (int)world_between(w, -5000, 5000);
        c->offset_ns = world_between(w, 1, 1000000) * MS;
        world_at(w, world_between(w, 1, 300) * MS, EVENT_OPEN, (unsigned)i, 0);
    }
    if (world_chance(w, 30))
        world_at(w, world_between(w, 1, w->timeout_ns), EVENT_STRANGER, 0, 0);
}

void schedule_operation(struct world *w) {
    w->operations++;
    w->figures->operations++;
    if (w->phase != PHASE_RUN)
        return;
    for (unsigned i = 0; i < w->faults_wanted; i++)
        if (w->fault_at[i] == w->operations)
            world_at(w, w->now_ns + world_between(w, 0, w->timeout_ns / 2), EVENT_FAULT, i, 0);
    if (w->operations == w->operations_wanted)
        world_at(w, w->now_ns + world_between(w, 0, w->timeout_ns), EVENT_PHASE, PHASE_FREEZE, 0);
}

/* ---- Faults ---- */

static void heal_later(struct world *w, enum fault fault, int what, int64_t longest_ns) {
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

static void silence(struct world *w, int client, int64_t longest_ns) {
    int only = world_chance(w, 50) ? NONE : (int)world_below(w, SERVERS);
    for (int s = 0; s < SERVERS; s++)
        if (only == NONE || only == s)
            w->list[client].is_silent[s] = true;
    heal_later(w, FAULT_SILENCE, client, longest_ns);
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

/* Mostly one at a time; with a second one there may be no quorum for a while. */
static bool may_fail(struct world *w) {
    unsigned count = faults_in_force(w);
    return count == 0 || (count == 1 && world_chance(w, SECOND_FAULT_PERCENT));
}

static void count_fault_of_server(struct world *w) {
    w->figures->double_faults += faults_in_force(w) > 1;
    w->figures->without_quorum += !quorum_is_possible(w);
}

/* A client that holds a lock, through a follower; NONE: there is none. */
static int a_holder_at_a_follower(const struct world *w) {
    for (int i = 0; i < w->clients; i++) {
        const struct client *c = &w->list[i];
        bool is_at_follower = c->is_open && !c->is_paused && c->port != NONE &&
                              w->ports[c->port].state == PORT_CONNECTED &&
                              w->servers[w->ports[c->port].server].role == ROLE_FOLLOWING;
        for (int k = 0; k < w->threads && is_at_follower; k++)
            if (c->actors[k].state == ACTOR_HOLDING)
                return i;
    }
    return NONE;
}

/*
 * What a leader sends to a follower stalls, while a client there is late with its heartbeat; then
 * that comes, and what the follower sends stalls: the leader commits the heartbeat, and never hears
 * what the follower had to tell before. The hold lasts until it is seen who is right.
 */
static bool stall_and_turn(struct world *w) {
    int client = w->leader == NONE || !may_fail(w) ? NONE : a_holder_at_a_follower(w);
    if (client == NONE)
        return false;
    int follower = w->ports[w->list[client].port].server;
    if (link_is_stalled(w, follower, w->leader) || link_is_stalled(w, w->leader, follower))
        return false;
    int64_t late_ns = world_between(w, w->timeout_ns / 5, w->timeout_ns / 3);
    for (int k = 0; k < w->threads; k++)
        w->list[client].actors[k].until_ns += 2 * w->timeout_ns;
    link_stall(w, w->leader, follower, true);
    count_fault_of_server(w);
    client_pause(w, client, late_ns);
    world_at(w, w->now_ns + late_ns + world_between(w, 5 * MS, w->tick_ns / 4), EVENT_HEAL,
             FAULT_TURNING_STALL, (unsigned)follower);
    world_at(w, w->now_ns + w->sync_limit * w->tick_ns * 95 / 100, EVENT_HEAL, FAULT_TURNING_STALL,
             STALL_ENDS + (unsigned)follower);
    return true;
}

static void turn(struct world *w, int follower) {
    if (w->leader == NONE || w->leader == follower || !link_is_stalled(w, w->leader, follower))
        return;
    link_stall(w, follower, w->leader, true);
    link_stall(w, w->leader, follower, false);
}

static void end_stall(struct world *w, int follower) {
    for (int other = 0; other < SERVERS; other++) {
        link_stall(w, follower, other, false);
        link_stall(w, other, follower, false);
    }
}

static bool fault_of_server(struct world *w, enum fault fault) {
    if ((fault == FAULT_DEPOSED_LEADER && w->leader == NONE) || !may_fail(w))
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
        count_fault_of_server(w);
        heal_later(w, fault, server, 2 * t);
        return true;
    }
    server_isolate(w, server, true);
    count_fault_of_server(w);
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
    heal_later(w, FAULT_CUT_OFF_FOLLOWER, server, longest);
    return true;
}

static void doom(struct world *w, unsigned client, unsigned unused) {
    (void)unused;
    if (w->phase == PHASE_RUN)
        w->list[client].doomed = 2;
}

/* The client library has not enough of it. */
static bool fault_of_memory(struct world *w, enum fault fault, int client) {
    struct client *c = &w->list[client];
    if (!c->is_open)
        return false;
    if (fault == FAULT_REFUSAL) {
        c->refused_percent = world_chance(w, 50) ? 100 : 50;
        heal_later(w, fault, client, world_chance(w, 50) ? w->timeout_ns : w->timeout_ns / 20);
    } else {
        c->is_forgetful = true;
        if (c->port != NONE && world_chance(w, 70))
            port_cut(w, c->port);
    }
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
        c->doomed = world_chance(w, 70) ? 1 : 2;
        return true;
    case FAULT_LOST_REQUEST:
        c->doomed = world_chance(w, 60) ? 3 : 4;
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
        return stall_and_turn(w);
    case FAULT_LAGGING_FOLLOWER: {
        int server = a_follower(w);
        w->servers[server].lag_ns = world_between(w, MS, t);
        heal_later(w, fault, server, 2 * t);
        return true;
    }
    case FAULT_PAUSE:
        client_pause(w, client, world_between(w, MS, 3 * t));
        return true;
    case FAULT_OPERATOR:
        return uproot(w, false);
    case FAULT_PARENT_REAPED:
        return uproot(w, true);
    case FAULT_CANCEL:
        actor_cancel(w, client);
        return true;
    case FAULT_CLOSE:
        client_close(w, client, false);
        return true;
    case FAULT_LOCK_CLOSE:
        actor_close_lock(w, client);
        return true;
    case FAULT_KILL:
        client_close(w, client, true);
        return true;
    case FAULT_THROTTLE:
        w->is_throttling = true;
        heal_later(w, fault, 0, t);
        return true;
    case FAULT_DENIAL:
        w->is_denying = true;
        heal_later(w, fault, 0, 3 * t);
        return true;
    case FAULT_REFUSAL:
    case FAULT_FORGOTTEN_STATE:
        return fault_of_memory(w, fault, client);
    case FAULT_KINDS:
        break;
    }
    return false;
}

static void fault(struct world *w, unsigned a, unsigned b) {
    (void)a;
    (void)b;
    if (w->phase != PHASE_RUN)
        return;
    for (unsigned tries = 0; tries < 20; tries++) {
        enum fault kind = (enum fault)world_below(w, FAULT_KINDS);
        int client = (int)world_below(w, (unsigned)w->clients);
        if (!inject(w, kind, client))
            continue;
        TRACE(w, "fault: %s, client %d", fault_names[kind], client);
        w->figures->faults[kind]++;
        w->faults_done++;
        return;
    }
    world_at(w, w->now_ns + w->tick_ns, EVENT_FAULT, 0, 0); /* none is possible now */
}

static void heal(struct world *w, unsigned kind, unsigned number) {
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
            turn(w, what);
        else
            end_stall(w, what - STALL_ENDS);
    } else if (kind == FAULT_LAGGING_FOLLOWER) {
        w->servers[what].lag_ns = 0;
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

static void heal_all(struct world *w) {
    for (int i = 0; i < SERVERS; i++) {
        heal(w, FAULT_CRASHED_SERVER, (unsigned)i);
        heal(w, FAULT_LAGGING_FOLLOWER, (unsigned)i);
        heal(w, FAULT_CUT_OFF_FOLLOWER, (unsigned)i);
        heal(w, FAULT_TURNING_STALL, STALL_ENDS + (unsigned)i);
    }
    heal(w, FAULT_THROTTLE, 0);
    heal(w, FAULT_DENIAL, 0);
    for (int i = 0; i < w->clients; i++) {
        heal(w, FAULT_SILENCE, (unsigned)i);
        heal(w, FAULT_REFUSAL, (unsigned)i);
        w->list[i].doomed = 0;
        w->list[i].is_forgetful = false;
    }
}

/* ---- A contender of another library's ---- */

/* What it puts before its number. It may bear the tag of a client's session, which any client can
 * read in the queue. The node is another's all the same. */
static int stranger_prefix(struct world *w) {
    const struct client *c = &w->list[world_below(w, (unsigned)w->clients)];
    char prefix[64];
    bool bears_tag = world_chance(w, 50) && c->is_open;
    (void)snprintf(prefix, sizeof(prefix), "/locks/a/_c_%s-11d1-80b4-00c04fd430c8-lock-",
                   bears_tag ? c->session.engine.tag : "6ba7b810-9dad");
    return world_name(w, prefix);
}

static void stranger(struct world *w, unsigned unused, unsigned node) {
    (void)unused;
    if (node != 0) { /* until it is gone */
        if (w->names[node].gone_zxid == 0 && w->phase < PHASE_CLOSE) {
            operate(w, OP_REMOVE, (int)node);
            world_at(w, w->now_ns + w->timeout_ns / 4, EVENT_STRANGER, 0, node);
        }
        return;
    }
    if (w->phase != PHASE_RUN)
        return;
    struct message m = {
        .kind = OP_CREATE_SEQUENTIAL,
        .name = stranger_prefix(w),
    };
    int before = w->log_count;
    quorum_write(w, NONE, NONE, &m);
    if (w->log_count > before && w->log[w->log_count].type == TXN_CREATE)
        world_at(w, w->now_ns + world_between(w, MS, w->timeout_ns), EVENT_STRANGER, 0,
                 (unsigned)w->log[w->log_count].name);
    else
        world_at(w, w->now_ns + w->timeout_ns, EVENT_STRANGER, 0, 0);
}

/* ---- Phases ---- */

static void enter_phase(struct world *w, unsigned number, unsigned unused) {
    enum phase phase = (enum phase)number;
    (void)unused;
    if (phase == PHASE_FREEZE && w->faults_done < w->faults_wanted) {
        world_at(w, w->now_ns + w->tick_ns, EVENT_PHASE, PHASE_FREEZE, 0);
        return;
    }
    w->phase = phase;
    TRACE(w, "phase %d", (int)phase);
    int64_t lasts_ns = CALM_TIMEOUTS * w->timeout_ns + ELECTION_NS;
    switch (phase) {
    case PHASE_RUN:
        break;
    case PHASE_FREEZE:
        heal_all(w);
        for (int i = 0; i < w->clients; i++)
            if (w->list[i].is_paused && w->list[i].wakes_ns + lasts_ns > w->phase_until_ns)
                w->phase_until_ns = w->list[i].wakes_ns + lasts_ns;
        if (w->phase_until_ns < w->now_ns + lasts_ns)
            w->phase_until_ns = w->now_ns + lasts_ns;
        world_at(w, w->phase_until_ns, EVENT_PHASE, PHASE_DRAIN, 0);
        break;
    case PHASE_DRAIN:
        checks_frozen(w);
        w->phase_until_ns = w->now_ns + DRAIN_TIMEOUTS * w->timeout_ns;
        world_at(w, w->now_ns, EVENT_DRAINED, 0, 0);
        break;
    case PHASE_CLOSE:
        checks_drained(w);
        for (int i = 0; i < w->clients; i++)
            client_close(w, i, world_chance(w, 30));
        w->phase_until_ns = w->now_ns + END_TIMEOUTS * w->timeout_ns;
        world_at(w, w->now_ns, EVENT_DRAINED, 0, 0);
        break;
    case PHASE_OVER:
        checks_end(w);
        break;
    }
}

/* Goes on as soon as there is nothing left to wait for, and at the end of the phase's time. */
static void look_whether_drained(struct world *w, unsigned a, unsigned b) {
    (void)a;
    (void)b;
    bool is_drained = true;
    if (w->phase == PHASE_DRAIN)
        for (int i = 0; i < w->clients; i++)
            is_drained = is_drained && (!w->list[i].is_open ||
                                        (actors_are_idle(w, i) && !client_has_members(w, i)));
    else
        for (int i = 0; i < w->truth.count; i++)
            is_drained = is_drained && w->names[w->truth.nodes[i].name].lock == NONE;
    if (is_drained || w->now_ns >= w->phase_until_ns)
        world_at(w, w->now_ns, EVENT_PHASE, w->phase == PHASE_DRAIN ? PHASE_CLOSE : PHASE_OVER, 0);
    else
        world_at(w, w->now_ns + w->timeout_ns / 8, EVENT_DRAINED, 0, 0);
}

static void elect(struct world *w, unsigned a, unsigned b) {
    (void)a;
    (void)b;
    quorum_elect(w);
}

static void (*const handlers[EVENT_KINDS])(struct world *w, unsigned a, unsigned b) = {
    [EVENT_UP] = conn_up,
    [EVENT_DOWN] = conn_down,
    [EVENT_LATE] = server_late,
    [EVENT_LINK] = quorum_link,
    [EVENT_APPLY] = quorum_apply,
    [EVENT_LEADER] = quorum_leader,
    [EVENT_FOLLOWER] = quorum_follower,
    [EVENT_EXPIRY] = quorum_expiry,
    [EVENT_ELECT] = elect,
    [EVENT_HEAL] = heal,
    [EVENT_IO] = port_io,
    [EVENT_DELIVER] = port_deliver,
    [EVENT_OPEN_PORT] = port_begin,
    [EVENT_CLOSE_PORT] = port_close,
    [EVENT_TICK] = client_tick,
    [EVENT_WAKE] = client_wake,
    [EVENT_SHUT] = client_shut,
    [EVENT_OPEN] = client_open,
    [EVENT_ACTOR] = actor_act,
    [EVENT_DEADLINE] = actor_deadline,
    [EVENT_FAULT] = fault,
    [EVENT_DOOM] = doom,
    [EVENT_STRANGER] = stranger,
    [EVENT_PHASE] = enter_phase,
    [EVENT_DRAINED] = look_whether_drained,
};

/* After a violation: what is still open is closed, so that nothing leaks. */
static void abandon(struct world *w) {
    w->phase = PHASE_OVER;
    for (int i = 0; i < w->clients; i++) {
        struct client *c = &w->list[i];
        if (c->is_open) {
            c->is_closing = false;
            client_close(w, i, true);
        }
    }
}

bool schedule_run(struct world *w, uint64_t seed, bool is_traced, struct figures *figures) {
    struct event e;
    world_reset(w, seed);
    w->is_traced = is_traced;
    w->figures = figures;
    start(w);
    while (!w->is_violated && w->phase != PHASE_OVER && world_next(w, &e)) {
        w->now_ns = e.at;
        handlers[e.kind](w, e.a, e.b);
        checks_step(w);
        figures->events++;
        if (w->now_ns > RUN_TIMEOUTS * w->timeout_ns || w->order > EVENTS_MAX)
            world_violate(w, CHECK_LIVENESS, "%u operations, then nothing more happens",
                          w->operations);
    }
    abandon(w);
    figures->schedules++;
    figures->virtual_ms += (uint64_t)(w->now_ns / MS);
    return !w->is_violated;
}
