/*
 * schedule - one seed: its settings, and its end, when all faults are healed, nobody may be left
 * waiting and nothing may be left on the servers; see sim.h.
 */
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

/* A healed ensemble notices who leads nobody, and elects; clients come back, and sessions that were
 * lost are replaced. */
#define CALM_TIMEOUTS 3
#define ELECTION_NS (3000 * MS)
/* Everybody who waits is served, one after the other. */
#define DRAIN_TIMEOUTS 8
#define END_TIMEOUTS 3
/* No schedule needs as long; one that gets here hangs. */
#define RUN_TIMEOUTS 400
#define EVENTS_MAX 2000000
/* Of the schedules in which the clocks of all servers differ from those of all clients by 1 %. */
#define SKEWED_PERCENT 25
/* Of those whose pings are late all the time. */
#define LATE_PERCENT 25
/* Of those whose leaders take their time to end the sessions that are due. */
#define SLOW_END_PERCENT 60
/* Of those whose clients know the sockets of their connections. */
#define SOCKETS_PERCENT 80
/* Of those with locks of several kinds. In the others there are mutexes only. */
#define MIXED_PERCENT 80
/* Of the locks there that are semaphores, for most; and of these, of those that change. */
#define SEMAPHORE_PERCENT 50
#define RESIZED_PERCENT 50
/* Of those with more than one lock: in which several are acquired at once, now and then. */
#define TOGETHER_PERCENT 60
/* Of those in which an operator ends holds, now and then. */
#define BREAKING_PERCENT 50
/* Of schedules; and in those, of clients. */
#define ATTACHING_PERCENT 50
#define ATTACHED_PERCENT 50
/* Of those near the counter's end: where a semaphore is among the locks, and elsewhere. */
#define COUNTED_END_PERCENT 30
#define END_PERCENT 10

static void configure(struct world *w) {
    static const int ticks[] = {2, 2, 3, 4, 5, 5, 10};
    w->tick_ns = world_between(w, 100, 2000) * MS;
    w->timeout_ns = w->tick_ns * ticks[world_below(w, sizeof(ticks) / sizeof(ticks[0]))];
    w->sync_limit = (int)world_between(w, 2, 5);
    w->clients = (int)world_between(w, 3, CLIENTS_MAX);
    w->threads = (int)world_between(w, 1, THREADS_MAX);
    w->locks = (int)world_between(w, 1, LOCKS_MAX);
    bool counts = false;
    w->handles = w->locks * (world_chance(w, MIXED_PERCENT) ? 2 : 1);
    for (int i = 0; i < w->locks; i++)
        if (w->handles > w->locks && world_chance(w, SEMAPHORE_PERCENT)) {
            w->permits[i] = 1 + (int)world_below(w, PERMITS_MAX);
            counts = true;
        }
    w->together_percent = w->locks > 1 && world_chance(w, TOGETHER_PERCENT) ? world_below(w, 80)
                                                                            : 0;
    w->counter_start = world_chance(w, counts ? COUNTED_END_PERCENT : END_PERCENT)
                           ? INT32_MAX - (int32_t)world_below(w, 12)
                           : 0;
    w->skew = !world_chance(w, SKEWED_PERCENT) ? 0 : world_chance(w, 50) ? 1 : -1;
    w->is_late = world_chance(w, LATE_PERCENT);
    w->is_latest = world_chance(w, 50);
    w->is_ending_slowly = world_chance(w, SLOW_END_PERCENT);
    w->knows_sockets = world_chance(w, SOCKETS_PERCENT);
    w->operations_wanted = 50 + world_below(w, 30);
    w->faults_wanted = 3 + world_below(w, FAULTS_MAX - 3);
    w->hold_ns = w->timeout_ns / (2 + (int)world_below(w, 30));
    w->rest_ns = w->timeout_ns / (1 + (int)world_below(w, 30));
    for (unsigned i = 0; i < w->faults_wanted; i++)
        w->fault_at[i] = 1 + world_below(w, w->operations_wanted);
    for (int i = 0; i < LOCKS_MAX; i++) {
        char path[16];
        (void)snprintf(path, sizeof(path), "/locks/%c", 'a' + i);
        w->dirs[i] = world_name(w, path);
        w->registers[i] = world_name(w, path + strlen("/locks"));
        (void)snprintf(path, sizeof(path), "/%c/mark", 'a' + i);
        w->marks[i] = world_name(w, path);
    }
    w->nowhere = world_name(w, "/nowhere");
}

static void start(struct world *w) {
    configure(w);
    quorum_start(w);
    w->attached_percent = world_chance(w, ATTACHING_PERCENT) ? ATTACHED_PERCENT : 0;
    for (int i = 0; i < LOCKS_MAX; i++)
        operate(w, OP_CREATE, w->registers[i]);
    for (int i = 0; i < w->clients; i++) {
        struct client *c = &w->list[i];
        c->world = w;
        c->handle = NONE;
        c->ppm = w->skew != 0 ? w->skew * CLOCK_PPM : (int)world_between(w, -CLOCK_PPM, CLOCK_PPM);
        c->offset_ns = world_between(w, 1, 1000000) * MS;
        world_at(w, world_between(w, 1, 300) * MS, EVENT_OPEN, (unsigned)i, 0);
    }
    if (world_chance(w, 30))
        world_at(w, world_between(w, 1, w->timeout_ns), EVENT_STRANGER, 0, 0);
    if (world_chance(w, BREAKING_PERCENT))
        world_at(w, world_between(w, 1, w->timeout_ns), EVENT_BREAK, 0, 0);
    if (asks_are_made(w))
        world_at(w, world_between(w, 1, w->timeout_ns), EVENT_ASK, 0, 0);
    for (int i = 0; i < w->locks; i++)
        if (w->permits[i] > 0 && world_chance(w, RESIZED_PERCENT))
            world_at(w, world_between(w, 1, w->timeout_ns), EVENT_RESIZE, (unsigned)i, 0);
}

void schedule_operation(struct world *w) {
    w->operations++;
    w->figures->operations++;
    if (w->phase != PHASE_RUN)
        return;
    for (unsigned i = 0; i < w->faults_wanted; i++)
        if (w->fault_at[i] == w->operations)
            world_at(w, w->now_ns + world_between(w, 0, w->timeout_ns / 2), EVENT_FAULT, i, 0);
    if (w->operations != w->operations_wanted)
        return;
    fault_last_touches(w);
    world_at(w, w->now_ns + world_between(w, 0, w->timeout_ns), EVENT_PHASE, PHASE_FREEZE, 0);
}

/* ---- A contender of another library's ---- */

/* What it puts before its number. It may bear the tag of a client's session, which any client can
 * read in the queue. The node is another's all the same. */
static int stranger_prefix(struct world *w) {
    const struct client *c = &w->list[world_below(w, (unsigned)w->clients)];
    char prefix[64];
    bool bears_tag = world_chance(w, 50) && c->is_open;
    (void)snprintf(prefix, sizeof(prefix), "/locks/a/_c_%s-11d1-80b4-00c04fd430c8-lock-",
                   bears_tag ? c->session.engine->tag : "6ba7b810-9dad");
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
    int64_t lasts_ns = CALM_TIMEOUTS * w->timeout_ns + w->sync_limit * w->tick_ns + ELECTION_NS;
    switch (phase) {
    case PHASE_RUN:
        break;
    case PHASE_FREEZE:
        fault_heal_all(w);
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
    [EVENT_LOGGED] = quorum_logged,
    [EVENT_APPLY] = quorum_apply,
    [EVENT_LEADER] = quorum_leader,
    [EVENT_FOLLOWER] = quorum_follower,
    [EVENT_EXPIRY] = quorum_expiry,
    [EVENT_END_DUE] = quorum_end_due,
    [EVENT_ELECT] = elect,
    [EVENT_HEAL] = fault_heal,
    [EVENT_IO] = port_io,
    [EVENT_DELIVER] = port_deliver,
    [EVENT_OPEN_PORT] = port_begin,
    [EVENT_CLOSE_PORT] = port_close,
    [EVENT_TICK] = client_tick,
    [EVENT_WAKE] = client_wake,
    [EVENT_SHUT] = client_shut,
    [EVENT_OPEN] = client_open,
    [EVENT_LEAVE] = client_leave,
    [EVENT_ACTOR] = actor_act,
    [EVENT_DEADLINE] = actor_deadline,
    [EVENT_TELL] = told_next,
    [EVENT_FAULT] = fault_strike,
    [EVENT_DOOM] = fault_doom,
    [EVENT_SCENE] = scene_act,
    [EVENT_STRANGER] = stranger,
    [EVENT_RESIZE] = permits_resize,
    [EVENT_BREAK] = breaks_begin,
    [EVENT_ASK] = asks_begin,
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
