/*
 * breaks - operators who end holds, or places in a queue, by the library's own call; and what must
 * come of that; see sim.h.
 */
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

/* ---- An operator ---- */

int breaks_draw(struct world *w) {
    int node = w->truth.nodes[world_below(w, (unsigned)w->truth.count)].name;
    const struct name *name = &w->names[node];
    return name->lock == NONE || name->kind == ZKLI_KIND_NONE ? NONE : node;
}

/* A contender; mostly one of those that came first. NONE: there is none. */
static int a_contender(struct world *w) {
    int found = NONE;
    for (int tries = 0; tries < 8 && w->truth.count > 0; tries++) {
        int node = breaks_draw(w);
        if (node == NONE)
            continue;
        if (found == NONE || w->names[node].place < w->names[found].place)
            found = node;
        if (world_chance(w, 40))
            break;
    }
    return found;
}

static void begin(struct world *w, struct client *c, int node) {
    char lock[2] = {(char)('a' + w->names[node].lock), '\0'};
    bool is_patient = world_chance(w, 70);
    int64_t timeout_ms = (is_patient ? 3 * w->timeout_ns : w->timeout_ns / 2) / MS;
    zkli_breaking_init(&c->breaking, &c->session, lock, strrchr(w->names[node].text, '/') + 1);
    TRACE(w, "client %d wants to end %s", (int)(c - w->list), w->names[node].text);
    c->is_breaking = true;
    c->is_break_refused = false;
    c->broken = node;
    w->names[node].is_to_end = w->names[node].client == NONE;
    w->figures->breaks++;
    zkli_session_lock(&c->session);
    zkli_breaking_begin(&c->breaking, timeout_ms);
    zkli_session_unlock(&c->session);
}

void breaks_begin(struct world *w, unsigned is_scene, unsigned client) {
    if (w->phase != PHASE_RUN)
        return;
    if (is_scene != 0) {
        w->disturbances += (int)client == w->keeper; /* for another lock, perhaps */
        client_pause(w, (int)client, w->timeout_ns * 3 / 2);
        return;
    }
    struct client *c = &w->list[world_below(w, (unsigned)w->clients)];
    int node = a_contender(w);
    if (node != NONE && c->is_open && !c->is_closing && !c->is_paused && !c->is_breaking)
        begin(w, c, node);
    world_at(w, w->now_ns + world_between(w, w->timeout_ns / 4, 3 * w->timeout_ns), EVENT_BREAK, 0,
             0);
}

/* ---- What it came to ---- */

static void note_result(struct world *w, int client, const struct name *node, zkl_err err) {
    const struct name *reader = &w->names[node->turned_into];
    bool is_gone = node->gone_zxid != 0 && (node->turned_into == 0 || reader->gone_zxid != 0);
    TRACE(w, "client %d: the end of %s says %s", client, node->text, zkl_errname(err));
    if (err == ZKL_TIMEOUT || err == ZKL_CLOSED || err == ZKL_EXPIRED || err == ZKL_DENIED) {
        w->figures->breaks_too_short += err == ZKL_TIMEOUT;
    } else if (err != ZKL_OK && err != ZKL_NOT_HELD) {
        world_violate(w, CHECK_BREAKS, "client %d cannot end %s: %s", client, node->text,
                      zkl_errname(err));
    } else if (!is_gone && !w->list[client].is_break_refused) { /* else its server may be late */
        world_violate(w, CHECK_BREAKS, "client %d is told that %s has ended", client, node->text);
    }
}

void breaks_look(struct world *w, int client) {
    struct client *c = &w->list[client];
    struct zkli_operation *operation = &c->breaking.operation;
    c->is_break_refused = c->is_break_refused || w->is_denying;
    if (!c->is_breaking || zkli_operation_is_running(operation))
        return;
    c->is_breaking = false;
    bool was_deleted = c->breaking.change.is_removal && operation->result == ZKL_OK &&
                       w->names[c->broken].client != NONE;
    w->figures->broken_by_deletion += was_deleted;
    w->figures->broken += operation->result == ZKL_OK && !was_deleted;
    note_result(w, client, &w->names[c->broken], operation->result);
    zkli_breaking_fini(&c->breaking);
}

/* ---- Marks ---- */

static bool is_mark(const struct world *w, int name, int data) {
    const struct text *text = &w->texts[data];
    struct zkli_node_data line;
    return w->names[name].lock != NONE &&
           zkli_node_data_parse(&line, text->bytes, (size_t)text->length) && line.is_broken;
}

void breaks_committed(struct world *w, const struct txn *txn) {
    struct name *node = &w->names[txn->name];
    if (node->broken_zxid == 0 && is_mark(w, txn->name, txn->data))
        node->broken_zxid = txn->zxid;
}

/* The mark is held up on its way, while its node's owner sends heartbeats that are committed before
 * it. When it goes on, the owner stops, so that it does not hear of it. */
void breaks_delay(struct world *w, int follower, const struct message *r) {
    bool is_first = r->kind == OP_MULTI && r->part_count == 1 && r->parts[0].type == ZKLI_OP_SET &&
                    r->parts[0].name != 0 && is_mark(w, r->parts[0].name, r->parts[0].data) &&
                    w->names[r->parts[0].name].broken_zxid == 0;
    if (!is_first || w->phase != PHASE_RUN || w->names[r->parts[0].name].client == NONE ||
        !fault_may_be(w) || link_is_stalled(w, follower, w->leader) || !world_chance(w, 40))
        return;
    int64_t endured_ns = w->sync_limit * w->tick_ns * 9 / 10, half_ns = w->timeout_ns / 2;
    int64_t ns = world_between(w, w->timeout_ns / 12, endured_ns < half_ns ? endured_ns : half_ns);
    int64_t early_ns = world_between(w, MS / 10, w->timeout_ns / 100);
    TRACE(w, "the mark is held up for %.3f s", (double)ns / 1e9);
    link_stall(w, follower, w->leader, true);
    fault_count(w);
    w->disturbances++;
    world_at(w, w->now_ns + ns, EVENT_HEAL, FAULT_TURNING_STALL, STALL_ENDS + (unsigned)follower);
    world_at(w, w->now_ns + ns - early_ns, EVENT_BREAK, true,
             (unsigned)w->names[r->parts[0].name].client);
}

/*
 * Its owner is told that the node has changed, and reads it; or it reads it behind the first
 * heartbeat after the grant, or after a mark of its own. The answer comes before that of a
 * heartbeat that is sent after the next one was acknowledged. (Where memory is short, the read is
 * refused again and again.)
 */
void breaks_check_hold(struct world *w, int client, struct handle *h, const struct zkli_hold *hold,
                       const struct name *node) {
    const struct client *c = &w->list[client];
    const struct zkli_engine *e = c->session.engine;
    bool is_told = node->broken_zxid != 0 && !zkli_member_is_turning(hold->member) &&
                   c->refused_percent == 0 && w->ports[c->port].answered_zxid >= node->broken_zxid;
    if (!is_told) {
        h->broken_ns = 0;
    } else if (h->broken_ns == 0 || h->broken_connection != e->connection) {
        h->broken_connection = e->connection;
        h->broken_ns = client_clock(c);
        h->broken_beats = 0;
    } else if (e->lease.touched_ns > h->broken_ns) {
        h->broken_ns = client_clock(c);
        if (++h->broken_beats > 2)
            world_violate(w, CHECK_BREAKS, "client %d holds %c by %s, which is marked", client,
                          'a' + h->name, node->text);
    }
}
