/*
 * contender_decide - what the replies of a flight mean, when the last of them is in.
 */
#include <assert.h>
#include <string.h>

#include "core/contender_moves.h"
#include "zklock.h"

static unsigned wait_behind(contender *c, const event *e) {
    if (c->is_try && c->staying > 0)
        return zkli_contender_fail(c, e, ZKL_BUSY);
    unsigned tell = c->told_position == c->position + 1 ? 0 : ZKLI_TELL_QUEUED;
    c->told_position = c->position + 1;
    if (c->verdict == ZKLI_VERDICT_FRONT)
        return tell | zkli_contender_front(c);
    return tell | zkli_contender_arm_once(c);
}

/* Our node is known; the listing is in. */
static unsigned decide_place(contender *c, const event *e, enum zkli_result result) {
    if (c->own_watch == ZKLI_NODE_DELETED || result == ZKLI_RESULT_NO_NODE)
        return zkli_contender_requeue(c, e);
    if (result == ZKLI_RESULT_LOST || result == ZKLI_RESULT_AGAIN) {
        if (c->state != ZKLI_LISTING)
            zkli_contender_move(c, ZKLI_LISTING);
        return zkli_contender_park(c, e);
    }
    if (result != ZKLI_RESULT_OK)
        return zkli_contender_fail_or_retry(c, e, result);
    if (c->verdict == ZKLI_VERDICT_ABSENT)
        return zkli_contender_requeue(c, e);
    unsigned actions;
    if (!zkli_contender_agrees(c, e, &actions))
        return actions;
    if (c->verdict == ZKLI_VERDICT_ADMITTED)
        return zkli_contender_admit(c, e);
    if (c->verdict == ZKLI_VERDICT_WATCH_NODE || c->verdict == ZKLI_VERDICT_FRONT)
        return wait_behind(c, e);
    assert(c->verdict == ZKLI_VERDICT_NEEDS_CZXID);
    zkli_contender_move(c, ZKLI_ORDERING);
    return zkli_contender_send(c, ZKLI_ASK_ORDER);
}

static unsigned decide_probing(contender *c, const event *e) {
    enum zkli_result result = zkli_contender_result_of(c, ZKLI_ASK_LIST);
    unsigned actions;
    if (result == ZKLI_RESULT_OK && !zkli_contender_agrees(c, e, &actions))
        return actions;
    if (result == ZKLI_RESULT_OK && c->staying > 0 && c->found[0] != '\0') {
        zkli_contender_move(c, ZKLI_ASKING);
        return zkli_contender_send(c, ZKLI_ASK_LET_GO);
    }
    if (result == ZKLI_RESULT_OK && c->staying > 0)
        return zkli_contender_fail(c, e, ZKL_BUSY);
    if (result != ZKLI_RESULT_OK && result != ZKLI_RESULT_NO_NODE)
        return zkli_contender_fail_or_retry(c, e, result);
    c->has_probed = true;
    return zkli_contender_begin(c, e);
}

/* A try writes nothing. So nobody behind an idle node would ever be seen: its owner is asked. */
static unsigned decide_asking(contender *c, const event *e) {
    return zkli_contender_fail(c, e, ZKL_BUSY);
}

static unsigned decide_parenting(contender *c, const event *e) {
    enum zkli_result result = zkli_contender_result_of(c, ZKLI_ASK_PARENT);
    if (result == ZKLI_RESULT_OK || result == ZKLI_RESULT_EXISTS) {
        c->parent_level--;
        if (c->parent_level == 1)
            return zkli_contender_enqueue(c, e);
        return zkli_contender_send(c, ZKLI_ASK_PARENT);
    }
    if (result == ZKLI_RESULT_NO_NODE && c->parent_level < c->depth) {
        c->parent_level++;
        return zkli_contender_send(c, ZKLI_ASK_PARENT);
    }
    if (result == ZKLI_RESULT_NO_NODE) /* of the topmost: what is above it is the chroot */
        return zkli_contender_fail(c, e, ZKL_NO_CHROOT);
    return zkli_contender_fail_or_retry(c, e, result);
}

static unsigned begin_later(contender *c, const event *e) {
    zkli_contender_move(c, ZKLI_IDLE);
    return zkli_contender_park(c, e);
}

/* There was no directory to create the node in. */
static unsigned decide_no_directory(contender *c, const event *e) {
    if (c->parent_level == 0) {
        if (c->kind == ZKLI_KIND_LEASE && c->permits == 0)
            return zkli_contender_fail(c, e, ZKL_MISMATCH); /* there is none to follow */
        c->parent_level = 1;
        return zkli_contender_enqueue(c, e);
    }
    enum zkli_result result = zkli_contender_result_of(c, ZKLI_ASK_PARENT);
    if (result == ZKLI_RESULT_OK || result == ZKLI_RESULT_EXISTS)
        return zkli_contender_enqueue(c, e); /* another program has deleted it */
    if (result == ZKLI_RESULT_NO_NODE && c->depth > 1) {
        zkli_contender_move(c, ZKLI_PARENTING);
        c->parent_level = 2;
        return zkli_contender_send(c, ZKLI_ASK_PARENT);
    }
    if (result == ZKLI_RESULT_NO_NODE)
        return zkli_contender_fail(c, e, ZKL_NO_CHROOT);
    if (result == ZKLI_RESULT_LOST || result == ZKLI_RESULT_AGAIN)
        return begin_later(c, e);
    return zkli_contender_fail_or_retry(c, e, result);
}

/* The transaction was refused because of another one of the several. */
static unsigned decide_undone(contender *c, const event *e) {
    if (zkli_contender_result_of(c, ZKLI_ASK_LIST) == ZKLI_RESULT_NO_NODE)
        return decide_no_directory(c, e);
    c->parent_level = 0;
    return zkli_contender_enqueue(c, e);
}

static unsigned decide_enqueuing(contender *c, const event *e) {
    enum zkli_result result = zkli_contender_result_of(c, ZKLI_ASK_CREATE);
    if (result == ZKLI_RESULT_OK)
        return decide_place(c, e, zkli_contender_result_of(c, ZKLI_ASK_LIST));
    if (result == ZKLI_RESULT_UNDONE)
        return decide_undone(c, e);
    if (result == ZKLI_RESULT_NO_NODE)
        return decide_no_directory(c, e);
    if (result == ZKLI_RESULT_EXISTS) { /* another program made a node with our uuid */
        zkli_contender_move(c, ZKLI_SEARCHING);
        return zkli_contender_search(c);
    }
    if (result == ZKLI_RESULT_AGAIN)
        return begin_later(c, e);
    if (result == ZKLI_RESULT_LOST) {
        zkli_contender_move(c, ZKLI_UNSURE);
        return zkli_contender_park(c, e);
    }
    return zkli_contender_fail_or_retry(c, e, result);
}

static bool search_succeeded(const contender *c) {
    enum zkli_result list = zkli_contender_result_of(c, ZKLI_ASK_LIST);
    return zkli_contender_result_of(c, ZKLI_ASK_BARRIER) == ZKLI_RESULT_OK &&
           (list == ZKLI_RESULT_OK || list == ZKLI_RESULT_NO_NODE);
}

static unsigned decide_searching(contender *c, const event *e) {
    if (!search_succeeded(c)) {
        if (zkli_contender_result_of(c, ZKLI_ASK_LIST) == ZKLI_RESULT_DENIED)
            return zkli_contender_fail(c, e, ZKL_DENIED);
        zkli_contender_move(c, ZKLI_UNSURE);
        return zkli_contender_park(c, e);
    }
    if (c->is_grouped) {
        zkli_contender_move(c, ZKLI_SEARCHED);
        return 0;
    }
    return c->found[0] == '\0' ? zkli_contender_begin_anew(c, e) : zkli_contender_adopt(c, e);
}

static unsigned decide_adopting(contender *c, const event *e) {
    enum zkli_result result = zkli_contender_result_of(c, ZKLI_ASK_OWN);
    if (result == ZKLI_RESULT_OK && c->owner == e->session_id)
        return decide_place(c, e, zkli_contender_result_of(c, ZKLI_ASK_LIST));
    if (c->is_broken)
        return zkli_contender_clear(c, e);
    /* A node of an earlier session of ours ends with that: a hold by it would be lost. */
    if (result == ZKLI_RESULT_OK || result == ZKLI_RESULT_NO_NODE)
        return zkli_contender_begin_anew(c, e);
    if (result == ZKLI_RESULT_LOST || result == ZKLI_RESULT_AGAIN) {
        zkli_contender_forget_node(c);
        zkli_contender_move(c, ZKLI_UNSURE);
        return zkli_contender_park(c, e);
    }
    return zkli_contender_fail_or_retry(c, e, result);
}

static unsigned decide_listing(contender *c, const event *e) {
    if (c->own_watch != ZKLI_NODE_DELETED &&
        zkli_contender_result_of(c, ZKLI_ASK_BARRIER) != ZKLI_RESULT_OK) {
        c->listed_on = 0; /* the next listing goes behind a barrier, too */
        return zkli_contender_park(c, e);
    }
    return decide_place(c, e, zkli_contender_result_of(c, ZKLI_ASK_LIST));
}

static unsigned decide_ordering(contender *c, const event *e) {
    return decide_place(c, e, zkli_contender_result_of(c, ZKLI_ASK_ORDER));
}

static unsigned decide_arming(contender *c, const event *e) {
    bool is_watched = c->own_watch == ZKLI_WATCHED;
    enum zkli_result own = is_watched ? ZKLI_RESULT_OK : zkli_contender_result_of(c, ZKLI_ASK_OWN);
    enum zkli_result predecessor = zkli_contender_result_of(c, ZKLI_ASK_PREDECESSOR);
    if (c->own_watch == ZKLI_NODE_DELETED || own == ZKLI_RESULT_NO_NODE)
        return zkli_contender_requeue(c, e);
    enum zkli_result worst = own == ZKLI_RESULT_OK ? predecessor : own;
    bool is_changed = c->predecessor_watch == ZKLI_NODE_CHANGED;
    if (worst == ZKLI_RESULT_NO_NODE)
        return zkli_contender_follow(c, e);
    if (worst == ZKLI_RESULT_OK && is_changed)
        return zkli_contender_list_again(c, e);
    if (worst == ZKLI_RESULT_OK && !is_watched) /* it fired while the other was being set */
        return zkli_contender_send(c, ZKLI_ASK_OWN);
    if (worst == ZKLI_RESULT_OK && c->is_predecessor_touched && !c->is_last_look) {
        c->is_last_look = true; /* the mark may be younger than the listing */
        return zkli_contender_list_again(c, e);
    }
    if (worst == ZKLI_RESULT_OK) {
        zkli_contender_move(c, ZKLI_WAITING);
        return 0;
    }
    zkli_contender_move(c, ZKLI_LISTING); /* goes on there, if it does */
    return zkli_contender_fail_or_retry(c, e, worst);
}

static unsigned decide_fronting(contender *c, const event *e) {
    bool is_watched = c->own_watch == ZKLI_WATCHED;
    enum zkli_result own = is_watched ? ZKLI_RESULT_OK : zkli_contender_result_of(c, ZKLI_ASK_OWN);
    enum zkli_result directory = zkli_contender_result_of(c, ZKLI_ASK_DIRECTORY);
    if (own != ZKLI_RESULT_OK)
        return decide_place(c, e, own);
    if (directory == ZKLI_RESULT_OK || directory == ZKLI_RESULT_NO_NODE)
        return decide_place(c, e, zkli_contender_result_of(c, ZKLI_ASK_LIST));
    /* Without the watch on the directory it would look at once, and again. */
    zkli_contender_move(c, ZKLI_LISTING);
    return zkli_contender_fail_or_retry(c, e, directory);
}

static unsigned decide_recording(contender *c, const event *e) {
    enum zkli_result result = zkli_contender_result_of(c, ZKLI_ASK_RECORD);
    bool is_over = result == ZKLI_RESULT_DENIED || result == ZKLI_RESULT_ERROR;
    if (is_over)
        return zkli_contender_fail_or_retry(c, e, result);
    c->needs_permits = true;
    zkli_contender_move(c, ZKLI_LISTING);
    if (result == ZKLI_RESULT_LOST || result == ZKLI_RESULT_AGAIN || result == ZKLI_RESULT_NOMEM)
        return zkli_contender_park(c, e);
    return zkli_contender_list_again(c, e); /* done, by us or by another; or our node is gone */
}

static unsigned decide_admitted(contender *c, const event *e) {
    enum zkli_result own = zkli_contender_result_of(c, ZKLI_ASK_OWN);
    if (own == ZKLI_RESULT_NO_NODE)
        c->own_watch = ZKLI_NODE_DELETED;
    if (c->own_watch == ZKLI_NODE_DELETED) /* with a mark in flight it is left when that is in */
        return c->in_flight == 0 ? zkli_contender_requeue(c, e) : 0;
    return own == ZKLI_RESULT_OK ? zkli_contender_try_to_hold(c, e)
                                 : zkli_contender_fail_or_retry(c, e, own);
}

static unsigned decide_clearing(contender *c, const event *e) {
    enum zkli_result result = zkli_contender_result_of(c, ZKLI_ASK_DELETE);
    bool is_gone = result == ZKLI_RESULT_OK || result == ZKLI_RESULT_NO_NODE;
    return is_gone ? zkli_contender_begin_anew(c, e) : zkli_contender_fail_or_retry(c, e, result);
}

/* A tag has 48 bits. Any client can read it in the queue and make a node that bears it. */
static unsigned decide_claiming(contender *c, const event *e) {
    enum zkli_result result = zkli_contender_result_of(c, ZKLI_ASK_OWNER);
    if (result == ZKLI_RESULT_OK && c->owner == e->session_id)
        return zkli_contender_leave(c, e);
    /* A node that we may not read is not ours: the ACLs of our nodes let us. */
    bool is_over = result == ZKLI_RESULT_OK || result == ZKLI_RESULT_NO_NODE ||
                   result == ZKLI_RESULT_DENIED;
    return is_over ? zkli_contender_forget(c) : zkli_contender_park(c, e);
}

static unsigned decide_created_leaving(contender *c, const event *e) {
    if (e->result == ZKLI_RESULT_OK)
        return zkli_contender_send(c, ZKLI_ASK_DELETE);
    /* What was refused before was no search for this node. */
    zkli_contender_set_results(c, ZKLI_ASK_BARRIER | ZKLI_ASK_LIST, ZKLI_RESULT_OK);
    if (e->result == ZKLI_RESULT_LOST)
        return zkli_contender_park(c, e);
    if (e->result == ZKLI_RESULT_EXISTS || e->result == ZKLI_RESULT_NOMEM)
        return zkli_contender_remove_node(c);
    return zkli_contender_forget(c); /* it was not done */
}

static void take_readers_place(contender *c) {
    char reader[ZKLI_OWN_CHILD_MAX + 1];
    zkli_contender_reader(reader, c);
    memcpy(c->node, reader, sizeof(c->node));
    c->has_reader = false;
}

/* The writer's node went first: without it the transaction, which may come late, does nothing. */
static unsigned leave_reader(contender *c) {
    take_readers_place(c);
    return zkli_contender_send(c, ZKLI_ASK_DELETE);
}

unsigned zkli_contender_decide_leaving(contender *c, const event *e) {
    if (e->type == ZKLI_EV_CREATED)
        return decide_created_leaving(c, e);
    if (e->type == ZKLI_EV_DELETED) {
        bool is_gone = e->result == ZKLI_RESULT_OK || e->result == ZKLI_RESULT_NO_NODE;
        if (!is_gone)
            return zkli_contender_park(c, e);
        return c->has_reader ? leave_reader(c) : zkli_contender_forget(c);
    }
    if (e->type == ZKLI_EV_PARENT)
        return zkli_contender_forget(c); /* the directory is known, for whom it may concern */
    if (c->in_flight != 0)
        return 0; /* half of a search */
    if (!search_succeeded(c))
        return zkli_contender_park(c, e);
    if (c->found[0] == '\0')
        return zkli_contender_forget(c);
    memcpy(c->node, c->found, sizeof(c->node));
    return zkli_contender_send(c, ZKLI_ASK_DELETE);
}

/* ---- A writer that becomes a reader ---- */

static unsigned end_turn(contender *c, int error) {
    c->error = error;
    c->has_reader = false;
    c->own_watch = ZKLI_UNWATCHED; /* meanwhile it may have fired */
    if (c->tells_awaited)
        c->children_watch = ZKLI_UNWATCHED; /* likewise */
    zkli_contender_move(c, ZKLI_HELD);
    return ZKLI_TELL_TURNED;
}

static unsigned become_reader(contender *c) {
    take_readers_place(c);
    c->kind = ZKLI_KIND_READ;
    c->has_turned = true;
    return end_turn(c, ZKL_OK);
}

static unsigned decide_turned(contender *c, const event *e) {
    if (e->result == ZKLI_RESULT_OK)
        return become_reader(c) | (e->is_asked ? zkli_contender_awaited(c) : 0);
    if (e->result == ZKLI_RESULT_NO_NODE) /* perhaps one that was lost has been carried out since */
        return zkli_contender_turn_again(c, e);
    if (e->result == ZKLI_RESULT_DENIED)
        return end_turn(c, ZKL_DENIED);
    if (e->result == ZKLI_RESULT_EXISTS || e->result == ZKLI_RESULT_ERROR)
        return end_turn(c, ZKL_SERVER);
    return e->is_connected ? ZKLI_DO_RETRY : 0;
}

static unsigned decide_turn_searched(contender *c, const event *e) {
    enum zkli_result list = zkli_contender_result_of(c, ZKLI_ASK_LIST);
    if (list == ZKLI_RESULT_DENIED || list == ZKLI_RESULT_ERROR)
        return ZKLI_DO_LOSE | zkli_contender_leave(c, e); /* it cannot be known */
    if (!search_succeeded(c))
        return e->is_connected ? ZKLI_DO_RETRY : 0;
    if (c->found[0] == '\0')
        return ZKLI_DO_LOSE | zkli_contender_forget(c);
    if (zkli_contender_has_reader(c, c->found))
        return become_reader(c);
    return zkli_contender_send(c, ZKLI_ASK_TURN);
}

unsigned zkli_contender_decide_turning(contender *c, const event *e) {
    if (e->type == ZKLI_EV_OWN_READ || (c->in_flight & ~ZKLI_ASKS_ASIDE) != 0)
        return 0;
    return e->type == ZKLI_EV_TURNED ? decide_turned(c, e) : decide_turn_searched(c, e);
}

unsigned zkli_contender_decide(contender *c, const event *e) {
    /* The other states have no flights that are decided here. */
    static unsigned (*const deciders[ZKLI_CONTENDER_STATES])(contender * c, const event *e) = {
        [ZKLI_PROBING] = decide_probing,     [ZKLI_PARENTING] = decide_parenting,
        [ZKLI_ENQUEUING] = decide_enqueuing, [ZKLI_SEARCHING] = decide_searching,
        [ZKLI_ADOPTING] = decide_adopting,   [ZKLI_LISTING] = decide_listing,
        [ZKLI_ORDERING] = decide_ordering,   [ZKLI_ARMING] = decide_arming,
        [ZKLI_ADMITTED] = decide_admitted,   [ZKLI_CLAIMING] = decide_claiming,
        [ZKLI_FRONTING] = decide_fronting,   [ZKLI_RECORDING] = decide_recording,
        [ZKLI_ASKING] = decide_asking,       [ZKLI_CLEARING] = decide_clearing,
    };
    assert(deciders[c->state] != NULL);
    return deciders[c->state](c, e);
}
