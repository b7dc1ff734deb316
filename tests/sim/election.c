/*
 * election - pings, the end of a leader or of a follower, and who leads next; see sim.h.
 */
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

static void schedule(struct world *w, int server, enum event_kind kind, int64_t local_ns) {
    const struct server *s = &w->servers[server];
    world_at(w, clock_real(local_ns, s->ppm, 0), kind, (unsigned)server, s->life);
}

int64_t server_clock(const struct world *w, int server) {
    return clock_local(w->now_ns, w->servers[server].ppm, 0);
}

/* ---- The end of a role ---- */

static void drop_links(struct world *w, int server) {
    for (int other = 0; other < SERVERS; other++) {
        list_clear(w, &w->links[server][other].list);
        list_clear(w, &w->links[other][server].list);
        if (w->links[server][other].held_by == 0) /* else it cannot be told */
            w->servers[other].is_followed[server] = false;
    }
}

static void end_role(struct world *w, int server, enum role role) {
    struct server *s = &w->servers[server];
    if (w->leader == server)
        w->leader = NONE;
    s->role = role;
    s->life++;
    s->lag_ns = 0;
    drop_links(w, server);
    memset(s->is_followed, 0, sizeof(s->is_followed));
    memset(s->touched, 0, sizeof(s->touched));
    for (int i = 0; i < SESSIONS_MAX; i++)
        s->pending[i].conn = NONE;
    server_close_conns(w, server, 0);
    /* A follower notices at once that its leader has hung up, if it can be told. */
    for (int other = 0; other < SERVERS; other++)
        if (other != server && w->servers[other].role == ROLE_FOLLOWING && w->leader == NONE &&
            quorum_can_talk(w, server, other))
            server_look(w, other);
}

void server_look(struct world *w, int server) {
    if (!server_is_serving(w, server))
        return;
    TRACE(w, "server %d looks for a leader", server);
    end_role(w, server, ROLE_LOOKING);
    world_at(w, w->now_ns + world_between(w, 50, 1500) * MS, EVENT_ELECT, 0, 0);
}

void server_crash(struct world *w, int server) {
    if (w->servers[server].role == ROLE_DOWN)
        return;
    TRACE(w, "server %d crashes", server);
    end_role(w, server, ROLE_DOWN);
    for (int other = 0; other < SERVERS; other++)
        if (other != server && w->servers[other].role == ROLE_FOLLOWING && w->leader == NONE &&
            w->links[server][other].held_by == 0)
            server_look(w, other);
}

/* The others lose their connections to it, while it notices nothing. */
void server_abandon(struct world *w, int server) {
    for (int other = 0; other < SERVERS; other++) {
        if (other == server)
            continue;
        if (w->servers[other].role == ROLE_LEADING)
            w->servers[other].is_followed[server] = false;
        else if (w->leader == server)
            server_look(w, other);
    }
    if (w->leader == server) /* they agree at once: it has some time left in which it is deposed */
        world_at(w, w->now_ns + world_between(w, 10, 100) * MS, EVENT_ELECT, 0, 0);
}

/* What was under way when the last fault lets go arrives late, in order. */
static void link_hold(struct world *w, int from, int to, unsigned fault, bool is_held) {
    struct link *link = &w->links[from][to];
    unsigned before = link->held_by;
    link->held_by = is_held ? before | fault : before & ~fault;
    if (before != 0 && link->held_by == 0)
        quorum_link(w, (unsigned)from, (unsigned)to);
}

void link_stall(struct world *w, int from, int to, bool is_stalled) {
    link_hold(w, from, to, 1u << SERVERS, is_stalled);
}

bool link_is_stalled(const struct world *w, int from, int to) {
    return (w->links[from][to].held_by >> SERVERS & 1) != 0;
}

bool server_is_isolated(const struct world *w, int server) {
    return (w->links[server][(server + 1) % SERVERS].held_by >> server & 1) != 0;
}

void server_isolate(struct world *w, int server, bool is_isolated) {
    for (int other = 0; other < SERVERS; other++) {
        if (other == server)
            continue;
        link_hold(w, server, other, 1u << server, is_isolated);
        link_hold(w, other, server, 1u << server, is_isolated);
    }
    TRACE(w, "server %d is %s", server, is_isolated ? "isolated" : "reached again");
}

/* ---- Ticks ---- */

/* By how much the next ping will be late. */
static int64_t lateness(struct world *w) {
    int64_t most_ns = w->timeout_ns / 24;
    if (!w->is_late && w->now_ns >= w->late_until_ns)
        return 0;
    w->figures->late_pings++;
    return w->is_latest ? most_ns : world_between(w, 0, most_ns);
}

static void ping_later(struct world *w, int server) {
    struct server *s = &w->servers[server];
    int64_t local_ns = server_clock(w, server) + w->tick_ns / 2 + lateness(w);
    s->pings_ns = clock_real(local_ns, s->ppm, 0);
    schedule(w, server, EVENT_LEADER, local_ns);
}

void quorum_leader(struct world *w, unsigned server, unsigned life) {
    struct server *s = &w->servers[server];
    if (s->life != life)
        return;
    unsigned followers = 0;
    for (int f = 0; f < SERVERS; f++) {
        if (!s->is_followed[f])
            continue;
        if (w->now_ns - s->answered_ns[f] > w->sync_limit * w->tick_ns) {
            TRACE(w, "leader %u gives follower %d up", server, f);
            s->is_followed[f] = false;
            list_clear(w, &w->links[server][f].list);
            continue;
        }
        followers++;
        quorum_ping(w, (int)server, f);
    }
    if (followers == 0) {
        server_look(w, (int)server);
        return;
    }
    ping_later(w, (int)server);
}

void quorum_follower(struct world *w, unsigned server, unsigned life) {
    struct server *s = &w->servers[server];
    if (s->life != life)
        return;
    int64_t until_ns = s->heard_ns + w->sync_limit * w->tick_ns;
    if (w->now_ns >= until_ns)
        server_look(w, (int)server);
    else
        world_at(w, until_ns, EVENT_FOLLOWER, server, life);
}

/* Since 3.5 the leader takes all sessions that are due, and then ends them one by one
 * (SessionTrackerImpl.run). */
void quorum_end_due(struct world *w, unsigned server, unsigned session) {
    struct tracked *t = &w->servers[server].sessions[session];
    if (w->servers[server].role != ROLE_LEADING || !t->is_due || t->is_closing)
        return;
    TRACE(w, "leader %u ends session %u", server, session);
    w->figures->ended_heard += t->is_heard_late;
    if (!quorum_leads(w, (int)server)) {
        t->is_closing = true;
        return;
    }
    w->figures->expiries++;
    struct message close = {.kind = OP_CLOSE, .session = (int)session};
    quorum_write(w, NONE, NONE, &close);
}

void quorum_expiry(struct world *w, unsigned server, unsigned life) {
    struct server *s = &w->servers[server];
    if (s->life != life)
        return;
    int64_t local_ns = server_clock(w, (int)server);
    for (int i = 1; i <= w->session_count; i++) {
        struct tracked *t = &s->sessions[i];
        if (!t->is_known || t->is_closing || t->is_due || t->expires_ns > local_ns)
            continue;
        t->is_due = true;
        t->is_heard_late = false;
        if (w->is_ending_slowly)
            world_at(w, w->now_ns + world_between(w, 0, w->timeout_ns * 9 / 10), EVENT_END_DUE,
                     server, (unsigned)i);
        else
            quorum_end_due(w, server, (unsigned)i);
    }
    schedule(w, (int)server, EVENT_EXPIRY, (local_ns / w->tick_ns + 1) * w->tick_ns);
}

/* ---- Elections ---- */

static void follow(struct world *w, int server) {
    struct server *s = &w->servers[server];
    struct server *l = &w->servers[w->leader];
    s->role = ROLE_FOLLOWING;
    s->life++;
    s->epoch = w->epoch;
    s->logged = w->log_count;
    s->applied = w->committed;
    s->tree = w->truth;
    s->apply_at = s->heard_ns = w->now_ns;
    list_clear(w, &w->links[server][w->leader].list); /* a new connection */
    list_clear(w, &w->links[w->leader][server].list);
    l->is_followed[server] = true;
    l->answered_ns[server] = w->now_ns;
    l->acked[server] = w->log_count;
    world_at(w, w->now_ns + w->sync_limit * w->tick_ns, EVENT_FOLLOWER, (unsigned)server, s->life);
    TRACE(w, "server %d follows %d", server, w->leader);
}

static void lead(struct world *w, int server) {
    struct server *s = &w->servers[server];
    assert(s->logged >= w->committed);
    w->log_count = s->logged; /* what only others have is no more */
    for (int i = 0; i < SERVERS; i++)
        if (w->servers[i].logged > w->log_count)
            w->servers[i].logged = w->log_count;
    quorum_commit(w, w->log_count);
    w->prepared = w->truth;
    w->leader = server;
    w->epoch++;
    w->low = 0;
    s->role = ROLE_LEADING;
    s->life++;
    s->epoch = w->epoch;
    s->applied = w->committed;
    s->tree = w->truth;
    s->apply_at = w->now_ns;
    memset(s->is_followed, 0, sizeof(s->is_followed));
    memset(s->acked, 0, sizeof(s->acked));
    int64_t local_ns = server_clock(w, server);
    for (int i = 1; i <= w->session_count; i++) { /* every session's clock starts anew */
        s->sessions[i] = (struct tracked){.is_known = w->truth.is_alive[i], .owner = NONE};
        quorum_track(w, server, i);
    }
    ping_later(w, server);
    schedule(w, server, EVENT_EXPIRY, (local_ns / w->tick_ns + 1) * w->tick_ns);
    w->figures->elections++;
    TRACE(w, "server %d leads epoch %u", server, w->epoch);
}

/* Whether anybody who looks for a leader finds the present one. One that nobody finds is deposed
 * when two others agree, and does not know it. */
static bool is_leader_found(const struct world *w) {
    for (int i = 0; i < SERVERS && w->leader != NONE; i++)
        if (w->servers[i].role == ROLE_LOOKING && quorum_can_talk(w, i, w->leader))
            return true;
    return false;
}

void quorum_elect(struct world *w) {
    int best = NONE, voters = 0;
    if (!is_leader_found(w)) {
        for (int i = 0; i < SERVERS; i++) {
            unsigned peers = 0;
            for (int j = 0; j < SERVERS; j++)
                peers += j != i && w->servers[j].role == ROLE_LOOKING && quorum_can_talk(w, i, j);
            if (w->servers[i].role != ROLE_LOOKING || peers == 0)
                continue;
            voters++;
            if (best == NONE || w->servers[i].logged > w->servers[best].logged)
                best = i;
        }
        if (voters > 1)
            lead(w, best);
    }
    bool is_anyone_left = false;
    for (int i = 0; i < SERVERS; i++) {
        if (w->servers[i].role != ROLE_LOOKING)
            continue;
        if (w->leader != NONE && quorum_leads(w, w->leader) && quorum_can_talk(w, i, w->leader))
            follow(w, i);
        else
            is_anyone_left = true;
    }
    if (w->leader != NONE)
        quorum_acked(w, w->leader);
    if (is_anyone_left)
        world_at(w, w->now_ns + 300 * MS, EVENT_ELECT, 0, 0);
}

void quorum_start(struct world *w) {
    for (int i = 0; i < SERVERS; i++) {
        for (int k = 0; k < SESSIONS_MAX; k++)
            w->servers[i].pending[k].conn = NONE;
        w->servers[i].role = ROLE_LOOKING;
        w->servers[i].ppm = w->skew != 0 ? -w->skew * CLOCK_PPM
                                         : (int)world_between(w, -CLOCK_PPM, CLOCK_PPM);
    }
    quorum_elect(w);
}
