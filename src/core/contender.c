/*
 * contender - see contender.h.
 *
 * The shape: an event is either the reply to a request or news. Replies are noted; when the last
 * one of a flight is in, decide_<state>() says what they mean. News act at once, or are noted when
 * a flight is out. So no decision is ever made on half a flight.
 */
#include "core/contender.h"

#include <assert.h>
#include <string.h>

#include "zklock.h"

typedef struct zkli_contender contender;
typedef struct zkli_contender_event event;

#define BIT(state) (1u << (state))
#define FROM_ANY_WAIT (BIT(ZKLI_LEAVING) | BIT(ZKLI_GONE) | BIT(ZKLI_IDLE))

static const struct {
    const char *name;
    unsigned next; /* states it may move to */
} states[ZKLI_CONTENDER_STATES] = {
    [ZKLI_IDLE] = {"idle", FROM_ANY_WAIT | BIT(ZKLI_PROBING) | BIT(ZKLI_ENQUEUING)},
    [ZKLI_PROBING] = {"probing", FROM_ANY_WAIT | BIT(ZKLI_ENQUEUING)},
    [ZKLI_PARENTING] = {"parenting", FROM_ANY_WAIT | BIT(ZKLI_ENQUEUING)},
    [ZKLI_ENQUEUING] = {"enqueuing", FROM_ANY_WAIT | BIT(ZKLI_PARENTING) | BIT(ZKLI_UNSURE) |
                                         BIT(ZKLI_SEARCHING) | BIT(ZKLI_LISTING) |
                                         BIT(ZKLI_ORDERING) | BIT(ZKLI_ARMING) |
                                         BIT(ZKLI_ADMITTED)},
    [ZKLI_UNSURE] = {"unsure", FROM_ANY_WAIT | BIT(ZKLI_SEARCHING)},
    [ZKLI_SEARCHING] = {"searching", FROM_ANY_WAIT | BIT(ZKLI_UNSURE) | BIT(ZKLI_ADOPTING) |
                                         BIT(ZKLI_ENQUEUING)},
    [ZKLI_ADOPTING] = {"adopting", FROM_ANY_WAIT | BIT(ZKLI_UNSURE) | BIT(ZKLI_ENQUEUING) |
                                       BIT(ZKLI_LISTING) | BIT(ZKLI_ORDERING) | BIT(ZKLI_ARMING) |
                                       BIT(ZKLI_ADMITTED)},
    [ZKLI_LISTING] = {"listing", FROM_ANY_WAIT | BIT(ZKLI_ENQUEUING) | BIT(ZKLI_ORDERING) |
                                     BIT(ZKLI_ARMING) | BIT(ZKLI_ADMITTED)},
    [ZKLI_ORDERING] = {"ordering", FROM_ANY_WAIT | BIT(ZKLI_ENQUEUING) | BIT(ZKLI_LISTING) |
                                       BIT(ZKLI_ARMING) | BIT(ZKLI_ADMITTED)},
    [ZKLI_ARMING] = {"arming", FROM_ANY_WAIT | BIT(ZKLI_ENQUEUING) | BIT(ZKLI_LISTING) |
                                   BIT(ZKLI_WAITING)},
    [ZKLI_WAITING] = {"waiting", FROM_ANY_WAIT | BIT(ZKLI_ENQUEUING) | BIT(ZKLI_LISTING) |
                                     BIT(ZKLI_ARMING) | BIT(ZKLI_ADMITTED)},
    [ZKLI_ADMITTED] = {"admitted", FROM_ANY_WAIT | BIT(ZKLI_ENQUEUING) | BIT(ZKLI_HELD)},
    [ZKLI_HELD] = {"held", BIT(ZKLI_LEAVING) | BIT(ZKLI_GONE)},
    [ZKLI_LEAVING] = {"leaving", BIT(ZKLI_GONE)},
    [ZKLI_GONE] = {"gone", 0},
};

const char *zkli_contender_state_name(enum zkli_contender_state state) {
    return states[state].name;
}

static void check(const contender *c) {
    bool has_node = c->node[0] != '\0';
    (void)has_node; /* a build without assertions */
    assert(c->state != ZKLI_HELD || (has_node && (c->in_flight & ~(unsigned)ZKLI_OP_OWN) == 0));
    assert(c->state != ZKLI_WAITING || (has_node && c->own_is_watched && c->in_flight == 0));
    assert(c->state != ZKLI_ADMITTED || (has_node && c->in_flight == 0));
    assert(c->state != ZKLI_UNSURE || (!has_node && c->in_flight == 0));
    assert(!c->is_parked || c->in_flight == 0);
}

static void move(contender *c, enum zkli_contender_state to) {
    assert((states[c->state].next & BIT(to)) != 0);
    c->state = to;
    c->is_parked = false;
}

static void set_results(contender *c, unsigned ops, enum zkli_result result) {
    for (unsigned i = 0; i < ZKLI_OP_COUNT; i++)
        if ((ops & (1u << i)) != 0)
            c->results[i] = result;
}

/* Notes the requests as in flight; the caller returns them as actions. */
static unsigned send(contender *c, unsigned ops) {
    assert((c->in_flight & ops) == 0);
    c->in_flight |= ops;
    c->is_parked = false;
    return ops;
}

/* Nothing can be done now: go on at the next connection, or, connected, after a while. */
static unsigned park(contender *c, const event *e) {
    c->is_parked = true;
    return e->is_connected ? ZKLI_DO_RETRY : 0;
}

static enum zkli_result result_of(const contender *c, unsigned op) {
    unsigned i = 0;
    while ((1u << i) != op)
        i++;
    return c->results[i];
}

static void forget_node(contender *c) {
    c->node[0] = '\0';
    c->czxid = 0;
    c->owner = 0;
    c->own_is_watched = false;
    c->own_went = false;
    c->listed_on = 0;
}

static unsigned enqueue(contender *c) {
    move(c, ZKLI_ENQUEUING);
    set_results(c, ZKLI_OP_BARRIER, ZKLI_RESULT_LOST); /* an earlier search's proves nothing now */
    return send(c, ZKLI_OP_CREATE | ZKLI_OP_LIST);
}

static unsigned begin(contender *c) {
    if (!c->is_try)
        return enqueue(c);
    move(c, ZKLI_PROBING);
    return send(c, ZKLI_OP_LIST);
}

/* Our place is lost: take a new one, under a new name. */
static unsigned requeue(contender *c, const event *e) {
    forget_node(c);
    memcpy(c->uuid, e->fresh_uuid, sizeof(c->uuid));
    c->told_position = 0;
    if (!e->is_connected) {
        move(c, ZKLI_IDLE);
        return ZKLI_TELL_REQUEUED | park(c, e);
    }
    return ZKLI_TELL_REQUEUED | enqueue(c);
}

static unsigned forget(contender *c) {
    move(c, ZKLI_GONE);
    return ZKLI_DO_FORGET;
}

static unsigned search(contender *c) {
    c->found[0] = '\0';
    return send(c, ZKLI_OP_BARRIER | ZKLI_OP_LIST);
}

/* LEAVING, with nothing in flight that could still create or delete our node. */
static unsigned bury(contender *c) {
    return c->node[0] != '\0' ? send(c, ZKLI_OP_DELETE) : search(c);
}

/*
 * Leaves from any state. A node that we know is deleted; one that may come into being, by a create
 * in flight or lost, is waited for or searched.
 */
static unsigned leave(contender *c, const event *e) {
    bool may_exist = (c->in_flight & ZKLI_OP_CREATE) != 0 || c->state == ZKLI_UNSURE ||
                     c->state == ZKLI_SEARCHING;
    if (c->node[0] == '\0' && !may_exist)
        return forget(c);
    /* Replies to anything else are void from here on. */
    c->in_flight &= ZKLI_OP_CREATE |
                    (c->state == ZKLI_SEARCHING ? ZKLI_OP_BARRIER | ZKLI_OP_LIST : 0u);
    move(c, ZKLI_LEAVING);
    if (c->node[0] != '\0')
        return send(c, ZKLI_OP_DELETE);
    if (c->in_flight != 0)
        return 0; /* decided when the replies are in */
    if (!e->is_connected)
        return park(c, e);
    return bury(c);
}

static unsigned fail(contender *c, const event *e, int error) {
    c->error = error;
    return ZKLI_DO_FAIL | leave(c, e);
}

/* What a reply means that is neither success nor one of the state's own answers. */
static unsigned refuse(contender *c, const event *e, enum zkli_result result) {
    switch (result) {
    case ZKLI_RESULT_LOST:
    case ZKLI_RESULT_AGAIN:
        return park(c, e);
    case ZKLI_RESULT_DENIED:
        return fail(c, e, ZKL_DENIED);
    case ZKLI_RESULT_NOMEM:
        return fail(c, e, ZKL_NOMEM);
    case ZKLI_RESULT_OK:
    case ZKLI_RESULT_NO_NODE:
    case ZKLI_RESULT_EXISTS:
    case ZKLI_RESULT_ERROR:
        break;
    }
    return fail(c, e, ZKL_SERVER);
}

/* Admitted by the queue; granted only while the lease is certain. */
static unsigned admit(contender *c, const event *e) {
    if (c->state != ZKLI_ADMITTED)
        move(c, ZKLI_ADMITTED);
    if (!e->is_certain)
        return 0;
    move(c, ZKLI_HELD);
    return ZKLI_DO_GRANT;
}

/* A listing that follows a reconnect goes behind a barrier: it must not be older than the news
 * that asks for it, which may have come from another server. */
static unsigned list_again(contender *c, const event *e) {
    if (c->state != ZKLI_LISTING)
        move(c, ZKLI_LISTING);
    bool is_fresh = c->listed_on == e->connection;
    set_results(c, ZKLI_OP_BARRIER, is_fresh ? ZKLI_RESULT_OK : ZKLI_RESULT_LOST);
    return send(c, ZKLI_OP_LIST | (is_fresh ? 0 : ZKLI_OP_BARRIER));
}

static unsigned arm(contender *c) {
    move(c, ZKLI_ARMING);
    c->predecessor_changed = false;
    return send(c, ZKLI_OP_PREDECESSOR | (c->own_is_watched ? 0 : ZKLI_OP_OWN));
}

static unsigned wait_behind(contender *c, const event *e) {
    if (c->is_try)
        return fail(c, e, ZKL_BUSY);
    unsigned tell = c->told_position == c->position + 1 ? 0 : ZKLI_TELL_QUEUED;
    c->told_position = c->position + 1;
    return tell | arm(c);
}

/* Our node is known; the listing is in. */
static unsigned decide_place(contender *c, const event *e, enum zkli_result result) {
    if (c->own_went || result == ZKLI_RESULT_NO_NODE)
        return requeue(c, e);
    if (result == ZKLI_RESULT_LOST || result == ZKLI_RESULT_AGAIN) {
        if (c->state != ZKLI_LISTING)
            move(c, ZKLI_LISTING);
        return park(c, e);
    }
    if (result != ZKLI_RESULT_OK)
        return refuse(c, e, result);
    switch (c->verdict) {
    case ZKLI_FIRST:
        return admit(c, e);
    case ZKLI_BEHIND:
        return wait_behind(c, e);
    case ZKLI_NEEDS_CZXID:
        move(c, ZKLI_ORDERING);
        return send(c, ZKLI_OP_ORDER);
    case ZKLI_ABSENT:
        break;
    }
    return requeue(c, e);
}

static unsigned decide_probing(contender *c, const event *e) {
    enum zkli_result result = result_of(c, ZKLI_OP_LIST);
    if (result == ZKLI_RESULT_OK && c->position > 0)
        return fail(c, e, ZKL_BUSY);
    if (result == ZKLI_RESULT_OK || result == ZKLI_RESULT_NO_NODE)
        return enqueue(c);
    return refuse(c, e, result);
}

static unsigned decide_parenting(contender *c, const event *e) {
    enum zkli_result result = result_of(c, ZKLI_OP_PARENT);
    if (result == ZKLI_RESULT_OK || result == ZKLI_RESULT_EXISTS) {
        c->parent_level--;
        if (c->parent_level == 0)
            return enqueue(c);
        return send(c, ZKLI_OP_PARENT);
    }
    if (result == ZKLI_RESULT_NO_NODE && c->parent_level < c->depth) {
        c->parent_level++;
        return send(c, ZKLI_OP_PARENT);
    }
    return refuse(c, e, result);
}

static unsigned decide_enqueuing(contender *c, const event *e) {
    switch (result_of(c, ZKLI_OP_CREATE)) {
    case ZKLI_RESULT_OK:
        return decide_place(c, e, result_of(c, ZKLI_OP_LIST));
    case ZKLI_RESULT_NO_NODE:
        move(c, ZKLI_PARENTING);
        c->parent_level = 1;
        return send(c, ZKLI_OP_PARENT);
    case ZKLI_RESULT_EXISTS: /* at the counter's end, behind a node of the same uuid */
        move(c, ZKLI_SEARCHING);
        return search(c);
    case ZKLI_RESULT_LOST:
        move(c, ZKLI_UNSURE);
        return park(c, e);
    case ZKLI_RESULT_AGAIN:
        move(c, ZKLI_IDLE);
        return park(c, e);
    case ZKLI_RESULT_DENIED:
    case ZKLI_RESULT_NOMEM:
    case ZKLI_RESULT_ERROR:
        break;
    }
    return refuse(c, e, result_of(c, ZKLI_OP_CREATE));
}

static bool search_succeeded(const contender *c) {
    enum zkli_result list = result_of(c, ZKLI_OP_LIST);
    return result_of(c, ZKLI_OP_BARRIER) == ZKLI_RESULT_OK &&
           (list == ZKLI_RESULT_OK || list == ZKLI_RESULT_NO_NODE);
}

static unsigned decide_searching(contender *c, const event *e) {
    if (!search_succeeded(c)) {
        if (result_of(c, ZKLI_OP_LIST) == ZKLI_RESULT_DENIED)
            return fail(c, e, ZKL_DENIED);
        move(c, ZKLI_UNSURE);
        return park(c, e);
    }
    if (c->found[0] == '\0')
        return enqueue(c);
    move(c, ZKLI_ADOPTING);
    memcpy(c->node, c->found, sizeof(c->node));
    return send(c, ZKLI_OP_OWN | ZKLI_OP_LIST);
}

static unsigned decide_adopting(contender *c, const event *e) {
    switch (result_of(c, ZKLI_OP_OWN)) {
    case ZKLI_RESULT_OK:
        if (c->owner == e->session_id)
            return decide_place(c, e, result_of(c, ZKLI_OP_LIST));
        break; /* a dying session's: not ours to be granted on */
    case ZKLI_RESULT_NO_NODE:
        break;
    case ZKLI_RESULT_LOST:
    case ZKLI_RESULT_AGAIN:
        forget_node(c);
        move(c, ZKLI_UNSURE);
        return park(c, e);
    case ZKLI_RESULT_EXISTS:
    case ZKLI_RESULT_DENIED:
    case ZKLI_RESULT_NOMEM:
    case ZKLI_RESULT_ERROR:
        return refuse(c, e, result_of(c, ZKLI_OP_OWN));
    }
    forget_node(c);
    return enqueue(c);
}

static unsigned decide_listing(contender *c, const event *e) {
    enum zkli_result barrier = result_of(c, ZKLI_OP_BARRIER);
    if (!c->own_went && (barrier == ZKLI_RESULT_LOST || barrier == ZKLI_RESULT_AGAIN))
        return park(c, e);
    return decide_place(c, e, result_of(c, ZKLI_OP_LIST));
}

static unsigned decide_arming(contender *c, const event *e) {
    enum zkli_result own = c->own_is_watched ? ZKLI_RESULT_OK : result_of(c, ZKLI_OP_OWN);
    enum zkli_result predecessor = result_of(c, ZKLI_OP_PREDECESSOR);
    if (c->own_went || own == ZKLI_RESULT_NO_NODE)
        return requeue(c, e);
    enum zkli_result worst = own == ZKLI_RESULT_OK ? predecessor : own;
    if (worst == ZKLI_RESULT_NO_NODE || (worst == ZKLI_RESULT_OK && c->predecessor_changed))
        return list_again(c, e);
    if (worst == ZKLI_RESULT_OK && !c->own_is_watched) /* it fired while the other was being set */
        return send(c, ZKLI_OP_OWN);
    if (worst == ZKLI_RESULT_OK) {
        move(c, ZKLI_WAITING);
        return 0;
    }
    if (worst == ZKLI_RESULT_LOST || worst == ZKLI_RESULT_AGAIN)
        move(c, ZKLI_LISTING);
    return refuse(c, e, worst);
}

/* LEAVING: a reply that was waited for is in. */
static unsigned decide_leaving(contender *c, const event *e) {
    switch (e->type) {
    case ZKLI_EV_CREATED:
        if (e->result == ZKLI_RESULT_OK)
            return send(c, ZKLI_OP_DELETE);
        if (e->result == ZKLI_RESULT_LOST)
            return park(c, e);
        return e->result == ZKLI_RESULT_EXISTS ? bury(c) : forget(c);
    case ZKLI_EV_LISTED: /* the end of a search */
        if (!search_succeeded(c))
            return park(c, e);
        if (c->found[0] == '\0')
            return forget(c);
        memcpy(c->node, c->found, sizeof(c->node));
        return send(c, ZKLI_OP_DELETE);
    case ZKLI_EV_DELETED:
        if (e->result == ZKLI_RESULT_OK || e->result == ZKLI_RESULT_NO_NODE)
            return forget(c);
        return park(c, e);
    default: /* a search's barrier: its listing follows */
        return 0;
    }
}

static unsigned decide(contender *c, const event *e) {
    switch (c->state) {
    case ZKLI_PROBING:
        return decide_probing(c, e);
    case ZKLI_PARENTING:
        return decide_parenting(c, e);
    case ZKLI_ENQUEUING:
        return decide_enqueuing(c, e);
    case ZKLI_SEARCHING:
        return decide_searching(c, e);
    case ZKLI_ADOPTING:
        return decide_adopting(c, e);
    case ZKLI_LISTING:
        return decide_listing(c, e);
    case ZKLI_ORDERING:
        return decide_place(c, e, result_of(c, ZKLI_OP_ORDER));
    case ZKLI_ARMING:
        return decide_arming(c, e);
    case ZKLI_IDLE:
    case ZKLI_UNSURE:
    case ZKLI_WAITING:
    case ZKLI_ADMITTED:
    case ZKLI_HELD:
    case ZKLI_LEAVING:
    case ZKLI_GONE:
        break;
    }
    return 0;
}

/* What the listing says of us: our place, or who has our uuid, or whether anybody is there. */
static void note_listing(contender *c, const event *e) {
    const struct zkli_listing *listing = e->listing;
    if (c->state == ZKLI_PROBING) {
        c->position = listing->count;
        return;
    }
    if (c->node[0] == '\0') {
        const struct zkli_sibling *found = NULL;
        for (size_t i = 0; i < listing->count; i++) {
            const struct zkli_sibling *other = &listing->siblings[i];
            if (zkli_node_name_has_uuid(other->name, c->uuid) &&
                (found == NULL || zkli_sibling_is_before(other, found)))
                found = other;
        }
        if (found != NULL)
            memcpy(c->found, found->name, strlen(found->name) + 1);
        return;
    }
    struct zkli_place place = zkli_queue_place(listing, c->node);
    c->verdict = place.verdict;
    c->position = place.position;
    c->is_by_sequence = place.is_by_sequence;
    c->listed_on = e->connection;
    if (place.verdict == ZKLI_BEHIND) {
        memcpy(c->predecessor, place.predecessor->name, strlen(place.predecessor->name) + 1);
        c->predecessor_kind = place.predecessor->kind;
    }
}

static void note_reply(contender *c, const event *e) {
    if (e->result != ZKLI_RESULT_OK)
        return;
    if (e->type == ZKLI_EV_CREATED) {
        memcpy(c->node, e->node, strlen(e->node) + 1);
        c->czxid = e->czxid;
        c->owner = e->owner;
    } else if (e->type == ZKLI_EV_OWN_READ) {
        c->czxid = e->czxid;
        c->owner = e->owner;
        c->own_is_watched = true;
    } else if (e->type == ZKLI_EV_LISTED) {
        note_listing(c, e);
    }
}

static unsigned on_reply(contender *c, const event *e, unsigned op) {
    if ((c->in_flight & op) == 0)
        return 0; /* void: we have left since */
    c->in_flight &= ~op;
    set_results(c, op, e->result);
    note_reply(c, e);
    if (c->state == ZKLI_LEAVING)
        return decide_leaving(c, e);
    if (c->state == ZKLI_HELD) /* the watch on our node; if it was not set, the next heartbeat tries */
        return e->result == ZKLI_RESULT_NO_NODE ? ZKLI_DO_LOSE | forget(c) : 0;
    return c->in_flight == 0 ? decide(c, e) : 0;
}

static unsigned resume(contender *c, const event *e) {
    if (!c->is_parked || !e->is_connected)
        return 0;
    switch (c->state) {
    case ZKLI_IDLE:
        return begin(c);
    case ZKLI_PROBING:
        return send(c, ZKLI_OP_LIST);
    case ZKLI_PARENTING:
        return send(c, ZKLI_OP_PARENT);
    case ZKLI_UNSURE:
        move(c, ZKLI_SEARCHING);
        return search(c);
    case ZKLI_LEAVING:
        return bury(c);
    default:
        assert(c->state == ZKLI_LISTING);
        return list_again(c, e);
    }
}

static unsigned on_expired(contender *c, const event *e) {
    c->in_flight = 0;
    if (c->state == ZKLI_HELD)
        return ZKLI_DO_LOSE | forget(c);
    if (c->state == ZKLI_LEAVING)
        return forget(c);
    bool had_place = c->node[0] != '\0';
    forget_node(c);
    memcpy(c->uuid, e->fresh_uuid, sizeof(c->uuid));
    c->told_position = 0;
    if (c->state != ZKLI_IDLE)
        move(c, ZKLI_IDLE);
    c->is_parked = true;
    return had_place ? ZKLI_TELL_REQUEUED : 0;
}

static unsigned on_own_event(contender *c, const event *e) {
    c->own_is_watched = false;
    switch (c->state) {
    case ZKLI_WAITING:
        if (e->is_deleted)
            return requeue(c, e);
        move(c, ZKLI_ARMING); /* the predecessor's watch stands */
        c->predecessor_changed = false;
        return send(c, ZKLI_OP_OWN);
    case ZKLI_ADMITTED:
        return e->is_deleted ? requeue(c, e) : 0;
    case ZKLI_HELD:
        return e->is_deleted ? ZKLI_DO_LOSE | forget(c) : 0;
    default:
        c->own_went = c->own_went || e->is_deleted;
        return 0;
    }
}

/*
 * The predecessor was the head when we listed: its deletion is the grant, for numbers only grow and
 * the directory cannot go while we are in it. Not so after a reconnect, when watches fire in any
 * order; nor near the counter's end; nor behind a read or write name, whose owners may create nodes
 * with old numbers.
 */
static bool is_hand_off(const contender *c, const event *e) {
    return e->is_deleted && c->position == 1 && c->is_by_sequence &&
           c->listed_on == e->connection && c->predecessor_kind != ZKLI_KIND_READ &&
           c->predecessor_kind != ZKLI_KIND_WRITE;
}

static unsigned on_predecessor_event(contender *c, const event *e) {
    if (c->state == ZKLI_ARMING)
        c->predecessor_changed = true;
    if (c->state != ZKLI_WAITING)
        return 0;
    if (!e->is_deleted)
        return arm(c);
    return is_hand_off(c, e) ? admit(c, e) : list_again(c, e);
}

static unsigned on_lease(contender *c, const event *e) {
    if (c->state == ZKLI_ADMITTED)
        return admit(c, e);
    if (c->state == ZKLI_HELD && !e->is_certain)
        return ZKLI_DO_LOSE | leave(c, e);
    return 0;
}

static unsigned on_heartbeat(contender *c) {
    if (c->state != ZKLI_HELD || c->own_is_watched || c->in_flight != 0)
        return 0;
    return send(c, ZKLI_OP_OWN);
}

static unsigned on_goodbye(contender *c, const event *e) {
    if (c->state == ZKLI_LEAVING || c->state == ZKLI_GONE)
        return 0;
    c->in_flight &= ~e->unsent;
    return e->type == ZKLI_EV_RELEASE ? leave(c, e) : fail(c, e, e->error);
}

static unsigned dispatch(contender *c, const event *e) {
    switch (e->type) {
    case ZKLI_EV_CONNECTED:
    case ZKLI_EV_RETRY:
        return resume(c, e);
    case ZKLI_EV_EXPIRED:
        return on_expired(c, e);
    case ZKLI_EV_PARENT:
        return on_reply(c, e, ZKLI_OP_PARENT);
    case ZKLI_EV_CREATED:
        return on_reply(c, e, ZKLI_OP_CREATE);
    case ZKLI_EV_BARRIER:
        return on_reply(c, e, ZKLI_OP_BARRIER);
    case ZKLI_EV_LISTED:
        return on_reply(c, e, c->in_flight & ZKLI_OP_ORDER ? ZKLI_OP_ORDER : ZKLI_OP_LIST);
    case ZKLI_EV_OWN_READ:
        return on_reply(c, e, ZKLI_OP_OWN);
    case ZKLI_EV_PREDECESSOR_READ:
        return on_reply(c, e, ZKLI_OP_PREDECESSOR);
    case ZKLI_EV_DELETED:
        return on_reply(c, e, ZKLI_OP_DELETE);
    case ZKLI_EV_OWN_EVENT:
        return on_own_event(c, e);
    case ZKLI_EV_PREDECESSOR_EVENT:
        return on_predecessor_event(c, e);
    case ZKLI_EV_LEASE:
        return on_lease(c, e);
    case ZKLI_EV_HEARTBEAT:
        return on_heartbeat(c);
    case ZKLI_EV_RELEASE:
    case ZKLI_EV_ABANDON:
        return on_goodbye(c, e);
    }
    return 0;
}

unsigned zkli_contender_step(contender *c, const event *e) {
    assert(c->state != ZKLI_GONE);
    unsigned actions = dispatch(c, e);
    check(c);
    return actions;
}

void zkli_contender_init(contender *c, const char *uuid, bool is_try, unsigned depth) {
    memset(c, 0, sizeof(*c));
    c->state = ZKLI_IDLE;
    c->is_parked = true;
    c->is_try = is_try;
    c->depth = depth;
    memcpy(c->uuid, uuid, sizeof(c->uuid));
}

void zkli_contender_init_orphan(contender *c, const char *node, unsigned depth) {
    memset(c, 0, sizeof(*c));
    c->state = ZKLI_LEAVING;
    c->is_parked = true;
    c->depth = depth;
    memcpy(c->node, node, strlen(node) + 1);
}

bool zkli_contender_may_own(const contender *c, const char *child) {
    if (c->node[0] != '\0')
        return strcmp(c->node, child) == 0;
    return zkli_node_name_has_uuid(child, c->uuid);
}
