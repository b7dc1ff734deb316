/*
 * contender - the one door; see contender.h.
 *
 * An event is the reply to a request, or news. Replies are noted. When the last reply of a flight
 * is in, contender_decide.c says what they mean. News take effect at once, or are noted while a
 * flight is out. So no decision is made on half a flight.
 */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "core/contender_moves.h"

static void note_found(contender *c, const char *name) {
    memcpy(c->found, name, strlen(name) + 1);
}

/* While the writer's node is there, the transaction has not been made, whatever else is there. */
static void note_turned(contender *c, const struct zkli_listing *listing) {
    for (size_t i = 0; i < listing->count; i++) {
        const char *name = listing->siblings[i].name;
        bool is_writer = strcmp(name, c->node) == 0;
        if (is_writer || zkli_contender_has_reader(c, name))
            note_found(c, name);
        if (is_writer)
            return;
    }
}

static void note_predecessor(contender *c, const event *e, const struct zkli_sibling *predecessor) {
    bool is_another = predecessor == NULL || e->predecessor == NULL ||
                      strcmp(e->predecessor, predecessor->name) != 0;
    c->is_last_look = c->is_last_look && !is_another;
    if (predecessor == NULL)
        return;
    c->predecessor_kind = predecessor->kind;
    if (is_another)
        c->listed_predecessor = predecessor->name;
}

/* What the listing says: our place, or a node with our uuid, or, for a try, how many are there. */
static void note_listing(contender *c, const event *e) {
    const struct zkli_listing *listing = e->listing;
    if (c->kind == ZKLI_KIND_LEASE) {
        c->recorded = zkli_listing_permits(listing, e->permits);
        c->needs_permits = c->recorded.state == ZKLI_PERMITS_UNKNOWN;
    }
    if (c->state == ZKLI_PROBING) {
        bool is_recorded = c->recorded.state == ZKLI_PERMITS_RECORDED;
        int permits = is_recorded ? c->recorded.count : c->permits;
        c->staying = (unsigned)zkli_listing_staying(listing, c->kind, permits);
        const struct zkli_sibling *kept = zkli_listing_kept(listing, c->kind);
        note_found(c, kept == NULL ? "" : kept->name);
        return;
    }
    if (c->state == ZKLI_TURNING) {
        note_turned(c, listing);
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
            note_found(c, found->name);
        return;
    }
    struct zkli_admission place = zkli_admit(c->kind, listing, c->node, &c->recorded);
    c->verdict = place.verdict;
    c->position = (unsigned)place.position;
    c->staying = (unsigned)place.staying;
    c->is_hand_off = place.is_hand_off;
    c->may_have_followers = place.may_have_followers;
    c->listed_on = e->connection;
    if (zkli_contender_watches_children(c))
        c->children_watch = ZKLI_WATCHED;
    if (place.verdict == ZKLI_VERDICT_NEEDS_CZXID)
        return;
    note_predecessor(c, e, place.predecessor);
}

static void note_reply(contender *c, const event *e) {
    if (e->result != ZKLI_RESULT_OK)
        return;
    if (e->type == ZKLI_EV_CREATED) {
        memcpy(c->node, e->node, strlen(e->node) + 1);
        c->czxid = e->czxid;
        c->owner = e->owner;
    } else if (e->type == ZKLI_EV_OWN_READ) {
        if (!c->has_turned)
            c->czxid = e->czxid;
        c->owner = e->owner;
        if (c->own_watch == ZKLI_UNWATCHED)
            c->own_watch = ZKLI_WATCHED;
        if (!zkli_contender_holds(c)) /* who holds is told; nothing tells of a mark twice */
            c->is_wanted = e->is_asked;
    } else if (e->type == ZKLI_EV_PREDECESSOR_READ) {
        c->is_predecessor_touched = c->kind == ZKLI_KIND_LEASE && e->is_touched;
        if (c->predecessor_watch == ZKLI_UNWATCHED)
            c->predecessor_watch = ZKLI_WATCHED;
    } else if (e->type == ZKLI_EV_OWNER_READ) {
        c->owner = e->owner;
    } else if (e->type == ZKLI_EV_DIRECTORY_READ) {
        if (c->state == ZKLI_FRONTING)
            c->directory_watch = ZKLI_WATCHED;
    } else if (e->type == ZKLI_EV_LISTED) {
        note_listing(c, e);
    }
}

/* What a reply of this type answers. */
static unsigned op_of(const contender *c, enum zkli_contender_event_type type) {
    static const unsigned ops[ZKLI_EVENT_TYPES] = {
        [ZKLI_EV_PARENT] = ZKLI_ASK_PARENT,
        [ZKLI_EV_CREATED] = ZKLI_ASK_CREATE,
        [ZKLI_EV_BARRIER] = ZKLI_ASK_BARRIER,
        [ZKLI_EV_LISTED] = ZKLI_ASK_LIST,
        [ZKLI_EV_OWN_READ] = ZKLI_ASK_OWN,
        [ZKLI_EV_PREDECESSOR_READ] = ZKLI_ASK_PREDECESSOR,
        [ZKLI_EV_DELETED] = ZKLI_ASK_DELETE,
        [ZKLI_EV_OWNER_READ] = ZKLI_ASK_OWNER,
        [ZKLI_EV_TURNED] = ZKLI_ASK_TURN,
        [ZKLI_EV_DIRECTORY_READ] = ZKLI_ASK_DIRECTORY,
        [ZKLI_EV_RECORDED] = ZKLI_ASK_RECORD,
        [ZKLI_EV_TOUCHED] = ZKLI_ASK_TOUCH,
        [ZKLI_EV_ASKED_TO_LET_GO] = ZKLI_ASK_LET_GO,
        [ZKLI_EV_FOLLOWERS] = ZKLI_ASK_FOLLOWERS,
        [ZKLI_EV_SINCE_TOLD] = ZKLI_ASK_SINCE,
    };
    bool is_by_czxid = type == ZKLI_EV_LISTED && (c->in_flight & ZKLI_ASK_ORDER) != 0;
    return is_by_czxid ? ZKLI_ASK_ORDER : ops[type];
}

/* The read that sets the watch on our node; if it was not set, the next heartbeat tries. A reader's
 * node that was found after a lost reply could be one that another client has made up. */
static unsigned decide_held(contender *c, const event *e) {
    bool is_over = e->result == ZKLI_RESULT_NO_NODE ||
                   (e->result == ZKLI_RESULT_OK && c->owner != e->session_id);
    if (is_over)
        return ZKLI_DO_LOSE | zkli_contender_forget(c);
    if (e->result != ZKLI_RESULT_OK && c->own_watch == ZKLI_WATCHED)
        c->own_watch = ZKLI_UNWATCHED; /* our write, sent before, may have fired it */
    return e->is_asked ? zkli_contender_awaited(c) : 0;
}

/* Sets the watch on the own node, if it is not set. */
static unsigned watch_own(contender *c, const event *e) {
    bool is_due = e->is_connected && c->own_watch != ZKLI_WATCHED &&
                  (c->in_flight & ZKLI_ASK_OWN) == 0;
    return is_due ? zkli_contender_send(c, ZKLI_ASK_OWN) : 0;
}

/* Looks whether anybody waits for its end, unless that is known, or a watch would tell. */
static unsigned look_behind(contender *c, const event *e) {
    bool is_due = c->state == ZKLI_HELD && c->tells_awaited && !c->is_awaited && e->is_connected &&
                  c->children_watch != ZKLI_WATCHED && (c->in_flight & ZKLI_ASK_FOLLOWERS) == 0;
    return is_due ? zkli_contender_send(c, ZKLI_ASK_FOLLOWERS) : 0;
}

/* What had no answer, or one in the middle of a turn, is asked again at the next heartbeat. A node
 * that may be kept may be idle if nobody is behind it. */
static unsigned decide_followers(contender *c, const event *e) {
    if (c->state != ZKLI_HELD || e->result != ZKLI_RESULT_OK)
        return 0;
    c->children_watch = ZKLI_WATCHED;
    c->may_have_followers = e->listing->count > 1;
    struct zkli_permits now = zkli_listing_permits(e->listing, e->permits);
    bool is_known = now.state == ZKLI_PERMITS_RECORDED; /* else the number may have changed */
    bool is_awaited = zkli_listing_awaits(e->listing, c->kind, c->node,
                                          is_known ? now.count : INT_MAX);
    return is_awaited ? zkli_contender_awaited(c) : 0;
}

/* Behind the mark for those who wait: each is a read, and a set by what was read. */
static unsigned tell_since(contender *c, const event *e) {
    bool is_due = c->owes_since && !c->owes_touch && e->is_connected &&
                  c->own_watch == ZKLI_WATCHED &&
                  (c->in_flight & (ZKLI_ASKS_MARK | ZKLI_ASK_OWN)) == 0;
    return is_due ? zkli_contender_send(c, ZKLI_ASK_SINCE) : 0;
}

/* The set fires the watch. The read that sets it again is sent at once: the answers come together.
 * If it waited for the first one, the hold would be blind for a round trip. Where that takes long,
 * it would be lost. */
static unsigned on_since_sent(contender *c, const event *e) {
    bool is_due = e->is_connected &&
                  (c->in_flight & (ZKLI_ASK_SINCE | ZKLI_ASK_OWN)) == ZKLI_ASK_SINCE;
    return is_due ? zkli_contender_send(c, ZKLI_ASK_OWN) : 0;
}

/* What the servers refuse is let be. */
static unsigned decide_since(contender *c, const event *e) {
    if (e->result == ZKLI_RESULT_NO_NODE)
        return ZKLI_DO_LOSE | zkli_contender_forget(c);
    c->owes_since = e->result == ZKLI_RESULT_LOST || e->result == ZKLI_RESULT_AGAIN ||
                    e->result == ZKLI_RESULT_NOMEM;
    return watch_own(c, e);
}

static unsigned decide_reply(contender *c, unsigned op, const event *e) {
    zkli_contender_set_results(c, op, e->result);
    if (op == ZKLI_ASK_FOLLOWERS)
        return decide_followers(c, e);
    note_reply(c, e);
    if (c->state == ZKLI_LEAVING)
        return zkli_contender_decide_leaving(c, e);
    if (c->state == ZKLI_TURNING)
        return zkli_contender_decide_turning(c, e);
    if (op == ZKLI_ASK_TOUCH)
        return zkli_contender_decide_touched(c, e);
    if (op == ZKLI_ASK_SINCE)
        return decide_since(c, e);
    if (c->state == ZKLI_HELD)
        return decide_held(c, e);
    bool is_last = (c->in_flight & ~(unsigned)ZKLI_ASK_TOUCH) == 0; /* that decides nothing else */
    return is_last ? zkli_contender_decide(c, e) : 0;
}

/* Who waits by a node that is marked as broken takes it for deleted. */
static unsigned on_reply(contender *c, const event *e) {
    unsigned op = op_of(c, e->type);
    if ((c->in_flight & op) == 0)
        return 0; /* void: we have left since */
    c->in_flight &= ~op;
    if (!e->is_broken)
        return decide_reply(c, op, e);
    if (zkli_contender_holds(c))
        return ZKLI_DO_LOSE | zkli_contender_leave(c, e);
    event gone = *e;
    gone.result = ZKLI_RESULT_NO_NODE;
    c->is_broken = true;
    return decide_reply(c, op, &gone);
}

static unsigned resume(contender *c, const event *e) {
    if (c->state == ZKLI_ADMITTED) {
        unsigned actions = zkli_contender_try_to_hold(c, e);
        return actions | zkli_contender_touch(c, e);
    }
    if (c->state == ZKLI_HELD) {
        /* What was watched before may have fired with the connection. */
        unsigned wanted = e->type == ZKLI_EV_CONNECTED ? zkli_contender_wanted(c) : 0;
        if (e->type == ZKLI_EV_CONNECTED)
            c->children_watch = ZKLI_UNWATCHED;
        return wanted | zkli_contender_touch(c, e);
    }
    if (c->state == ZKLI_TURNING)
        return zkli_contender_turn_again(c, e);
    if (!zkli_contender_is_parked(c) || !e->is_connected)
        return 0;
    if (c->state == ZKLI_IDLE)
        return zkli_contender_begin(c, e);
    if (c->state == ZKLI_PROBING)
        return zkli_contender_probe(c, e);
    if (c->state == ZKLI_PARENTING)
        return zkli_contender_send(c, ZKLI_ASK_PARENT);
    if (c->state == ZKLI_CLAIMING)
        return zkli_contender_send(c, ZKLI_ASK_OWNER);
    if (c->state == ZKLI_LEAVING || c->state == ZKLI_CLEARING)
        return zkli_contender_remove_node(c);
    if (c->state == ZKLI_UNSURE) {
        zkli_contender_move(c, ZKLI_SEARCHING);
        return zkli_contender_search(c);
    }
    assert(c->state == ZKLI_LISTING); /* the other states do not park */
    return zkli_contender_list_again(c, e);
}

static unsigned on_expired(contender *c, const event *e) {
    c->in_flight = 0;
    if (zkli_contender_holds(c))
        return ZKLI_DO_LOSE | zkli_contender_forget(c);
    if (zkli_contender_has_left(c))
        return zkli_contender_forget(c);
    bool had_place = c->node[0] != '\0' && c->state != ZKLI_CLEARING; /* else it was told */
    if (c->state != ZKLI_IDLE) /* else it waits for another session, to make its node there */
        c->has_probed = false;
    zkli_contender_forget_node(c);
    zkli_contender_take_uuid(c, e);
    c->told_position = 0;
    zkli_contender_move(c, ZKLI_IDLE);
    return had_place ? ZKLI_TELL_REQUEUED : 0;
}

static unsigned on_own_event(contender *c, const event *e) {
    if (c->node[0] == '\0')
        return 0; /* of a node that is not ours any more */
    if (e->is_deleted) {
        c->own_watch = ZKLI_NODE_DELETED;
        c->owes_touch = false; /* its end tells as well */
    } else if (c->own_watch == ZKLI_WATCHED) {
        c->own_watch = ZKLI_UNWATCHED;
    }
    if (zkli_contender_holds(c) && e->is_deleted)
        return ZKLI_DO_LOSE | zkli_contender_forget(c);
    if (c->state == ZKLI_HELD) /* by a mark; our own is read later */
        return (c->in_flight & ZKLI_ASKS_MARK) != 0 ? 0 : watch_own(c, e);
    bool rests = zkli_contender_rests(c) || (c->state == ZKLI_ADMITTED && c->in_flight == 0);
    if (!rests)
        return 0; /* decided when the flight is in */
    if (e->is_deleted)
        return zkli_contender_requeue(c, e);
    if (c->state == ZKLI_ADMITTED)
        return zkli_contender_try_to_hold(c, e);
    if (c->state == ZKLI_FRONT)
        return zkli_contender_front_again(c, e);
    zkli_contender_move(c, ZKLI_ARMING); /* the predecessor's watch stands */
    return zkli_contender_send(c, ZKLI_ASK_OWN);
}

static unsigned on_predecessor_event(contender *c, const event *e) {
    c->predecessor_watch = ZKLI_NODE_CHANGED; /* of use while arming */
    c->is_last_look = false;                  /* until the watch stands, it may be marked again */
    if (c->state != ZKLI_WAITING)
        return 0;
    if (!e->is_deleted && c->kind != ZKLI_KIND_LEASE)
        return zkli_contender_arm(c);
    /* After a reconnect watches fire in any order. And without a connection that we know of, it is
     * the news of one that was not told. */
    return zkli_contender_follow(c, e);
}

/* Each of its like that comes or goes is an event. */
static bool is_shared(const contender *c) {
    return c->kind == ZKLI_KIND_READ || c->kind == ZKLI_KIND_LEASE;
}

static unsigned on_directory_event(contender *c, const event *e) {
    if (e->type == ZKLI_EV_CHILDREN_EVENT)
        c->children_watch = ZKLI_UNWATCHED;
    else
        c->directory_watch = ZKLI_UNWATCHED;
    if (e->type == ZKLI_EV_CHILDREN_EVENT && zkli_contender_holds(c))
        return zkli_contender_wanted(c) | (is_shared(c) ? 0 : look_behind(c, e));
    return c->state == ZKLI_FRONT ? zkli_contender_front_again(c, e) : 0;
}

static unsigned on_lease(contender *c, const event *e) {
    if (c->state == ZKLI_IDLE)
        return resume(c, e);
    if (c->state == ZKLI_ADMITTED)
        return zkli_contender_try_to_hold(c, e);
    if (zkli_contender_holds(c) && !e->is_certain)
        return ZKLI_DO_LOSE | zkli_contender_leave(c, e);
    return 0;
}

static unsigned on_heartbeat(contender *c, const event *e) {
    if (c->state == ZKLI_TURNING) /* nothing else would tell of its node's end meanwhile */
        return zkli_contender_turn_again(c, e);
    if (c->state != ZKLI_HELD)
        return 0;
    return watch_own(c, e) | look_behind(c, e) | tell_since(c, e);
}

static unsigned on_idle(contender *c, const event *e) {
    return c->state == ZKLI_HELD ? watch_own(c, e) : 0;
}

static unsigned on_turn(contender *c, const event *e) {
    bool may_turn = c->state == ZKLI_HELD && c->kind == ZKLI_KIND_WRITE;
    return may_turn ? zkli_contender_turn(c, e) : 0;
}

static unsigned on_grant(contender *c, const event *e) {
    return zkli_contender_grant(c, e);
}

static unsigned on_leave(contender *c, const event *e) {
    if (zkli_contender_has_left(c))
        return 0;
    c->in_flight &= ~e->unsent;
    if ((e->unsent & ZKLI_ASK_CREATE) != 0)
        zkli_contender_set_results(c, ZKLI_ASK_CREATE, ZKLI_RESULT_NO_NODE);
    return e->type == ZKLI_EV_RELEASE ? zkli_contender_leave(c, e)
                                      : zkli_contender_fail(c, e, e->error);
}

/* By event type; none is missing. */
static unsigned (*const handlers[ZKLI_EVENT_TYPES])(contender *c, const event *e) = {
    [ZKLI_EV_CONNECTED] = resume,
    [ZKLI_EV_EXPIRED] = on_expired,
    [ZKLI_EV_RETRY] = resume,
    [ZKLI_EV_PARENT] = on_reply,
    [ZKLI_EV_CREATED] = on_reply,
    [ZKLI_EV_BARRIER] = on_reply,
    [ZKLI_EV_LISTED] = on_reply,
    [ZKLI_EV_OWN_READ] = on_reply,
    [ZKLI_EV_PREDECESSOR_READ] = on_reply,
    [ZKLI_EV_DELETED] = on_reply,
    [ZKLI_EV_OWNER_READ] = on_reply,
    [ZKLI_EV_TURNED] = on_reply,
    [ZKLI_EV_DIRECTORY_READ] = on_reply,
    [ZKLI_EV_RECORDED] = on_reply,
    [ZKLI_EV_TOUCHED] = on_reply,
    [ZKLI_EV_ASKED_TO_LET_GO] = on_reply,
    [ZKLI_EV_FOLLOWERS] = on_reply,
    [ZKLI_EV_SINCE_SENT] = on_since_sent,
    [ZKLI_EV_SINCE_TOLD] = on_reply,
    [ZKLI_EV_OWN_EVENT] = on_own_event,
    [ZKLI_EV_PREDECESSOR_EVENT] = on_predecessor_event,
    [ZKLI_EV_DIRECTORY_EVENT] = on_directory_event,
    [ZKLI_EV_CHILDREN_EVENT] = on_directory_event,
    [ZKLI_EV_LEASE] = on_lease,
    [ZKLI_EV_HEARTBEAT] = on_heartbeat,
    [ZKLI_EV_TURN] = on_turn,
    [ZKLI_EV_IDLE] = on_idle,
    [ZKLI_EV_GRANT] = on_grant,
    [ZKLI_EV_ADOPT] = zkli_contender_adopt,
    [ZKLI_EV_ANEW] = zkli_contender_clear,
    [ZKLI_EV_RELEASE] = on_leave,
    [ZKLI_EV_ABANDON] = on_leave,
};

/* Requests in the order in which they are sent: the listing last. */
static void set_flight(struct zkli_actions *actions, unsigned bits) {
    unsigned first = bits & ZKLI_ASKS & ~(unsigned)ZKLI_ASK_LIST;
    for (; first != 0; first &= first - 1) {
        assert(actions->flight_count < ZKLI_FLIGHT_MAX);
        actions->flight[actions->flight_count++] = first & (~first + 1);
    }
    if ((bits & ZKLI_ASK_LIST) != 0) {
        assert(actions->flight_count < ZKLI_FLIGHT_MAX);
        actions->flight[actions->flight_count++] = ZKLI_ASK_LIST;
    }
}

/* A step brings about some of these, and always in this order. */
static void set_notices(struct zkli_actions *actions, unsigned bits) {
    static const unsigned notices[ZKLI_NOTICES] = {
        [ZKLI_NOTICE_REQUEUED] = ZKLI_TELL_REQUEUED, [ZKLI_NOTICE_QUEUED] = ZKLI_TELL_QUEUED,
        [ZKLI_NOTICE_GRANTED] = ZKLI_DO_GRANT,       [ZKLI_NOTICE_TURNED] = ZKLI_TELL_TURNED,
        [ZKLI_NOTICE_WANTED] = ZKLI_TELL_WANTED,     [ZKLI_NOTICE_AWAITED] = ZKLI_TELL_AWAITED,
        [ZKLI_NOTICE_FAILED] = ZKLI_DO_FAIL,         [ZKLI_NOTICE_LOST] = ZKLI_DO_LOSE,
        [ZKLI_NOTICE_GONE] = ZKLI_DO_FORGET,
    };
    for (enum zkli_notice notice = 0; notice < ZKLI_NOTICES; notice++)
        if ((bits & notices[notice]) != 0)
            actions->notices[actions->notice_count++] = notice;
}

struct zkli_actions zkli_contender_step(contender *c, const event *e) {
    assert(c->state != ZKLI_GONE);
    assert(handlers[e->type] != NULL);
    unsigned bits = handlers[e->type](c, e);
    zkli_contender_check(c);
    struct zkli_actions actions = {
        .is_retried = (bits & ZKLI_DO_RETRY) != 0,
        .awaits_session = (bits & ZKLI_DO_AWAIT_SESSION) != 0,
        .predecessor = c->listed_predecessor,
    };
    c->listed_predecessor = NULL;
    set_flight(&actions, bits);
    set_notices(&actions, bits);
    return actions;
}

void zkli_contender_init(contender *c, enum zkli_kind kind, const char *uuid, bool is_try,
                         unsigned depth) {
    memset(c, 0, sizeof(*c));
    c->state = ZKLI_IDLE;
    c->kind = kind;
    c->is_try = is_try;
    c->depth = (uint16_t)depth;
    memcpy(c->uuid, uuid, sizeof(c->uuid));
}

void zkli_contender_init_orphan(contender *c, const char *node) {
    memset(c, 0, sizeof(*c));
    c->state = ZKLI_CLAIMING;
    memcpy(c->node, node, strlen(node) + 1);
}

bool zkli_contender_may_own(const contender *c, const char *child) {
    if (c->node[0] != '\0')
        return strcmp(c->node, child) == 0 || zkli_contender_has_reader(c, child);
    return zkli_node_name_has_uuid(child, c->uuid);
}
