/*
 * contender_decide - what the replies of a flight mean, when the last of them is in.
 */
#include <string.h>

#include "core/contender_moves.h"
#include "zklock.h"

static unsigned wait_behind(contender *c, const event *e) {
    if (c->is_try)
        return zkli_contender_fail(c, e, ZKL_BUSY);
    unsigned tell = c->told_position == c->position + 1 ? 0 : ZKLI_TELL_QUEUED;
    c->told_position = c->position + 1;
    return tell | zkli_contender_arm(c);
}

/* Our node is known; the listing is in. */
static unsigned decide_place(contender *c, const event *e, enum zkli_result result) {
    if (c->own_went || result == ZKLI_RESULT_NO_NODE)
        return zkli_contender_requeue(c, e);
    if (result == ZKLI_RESULT_LOST || result == ZKLI_RESULT_AGAIN) {
        if (c->state != ZKLI_LISTING)
            zkli_contender_move(c, ZKLI_LISTING);
        return zkli_contender_park(c, e);
    }
    if (result != ZKLI_RESULT_OK)
        return zkli_contender_refuse(c, e, result);
    switch (c->verdict) {
    case ZKLI_FIRST:
        return zkli_contender_admit(c, e);
    case ZKLI_BEHIND:
        return wait_behind(c, e);
    case ZKLI_NEEDS_CZXID:
        zkli_contender_move(c, ZKLI_ORDERING);
        return zkli_contender_send(c, ZKLI_OP_ORDER);
    case ZKLI_ABSENT:
        break;
    }
    return zkli_contender_requeue(c, e);
}

static unsigned decide_probing(contender *c, const event *e) {
    enum zkli_result result = zkli_contender_result_of(c, ZKLI_OP_LIST);
    if (result == ZKLI_RESULT_OK && c->position > 0)
        return zkli_contender_fail(c, e, ZKL_BUSY);
    if (result == ZKLI_RESULT_OK || result == ZKLI_RESULT_NO_NODE)
        return zkli_contender_enqueue(c);
    return zkli_contender_refuse(c, e, result);
}

static unsigned decide_parenting(contender *c, const event *e) {
    enum zkli_result result = zkli_contender_result_of(c, ZKLI_OP_PARENT);
    if (result == ZKLI_RESULT_OK || result == ZKLI_RESULT_EXISTS) {
        c->parent_level--;
        if (c->parent_level == 0)
            return zkli_contender_enqueue(c);
        return zkli_contender_send(c, ZKLI_OP_PARENT);
    }
    if (result == ZKLI_RESULT_NO_NODE && c->parent_level < c->depth) {
        c->parent_level++;
        return zkli_contender_send(c, ZKLI_OP_PARENT);
    }
    return zkli_contender_refuse(c, e, result);
}

static unsigned decide_enqueuing(contender *c, const event *e) {
    switch (zkli_contender_result_of(c, ZKLI_OP_CREATE)) {
    case ZKLI_RESULT_OK:
        return decide_place(c, e, zkli_contender_result_of(c, ZKLI_OP_LIST));
    case ZKLI_RESULT_NO_NODE:
        zkli_contender_move(c, ZKLI_PARENTING);
        c->parent_level = 1;
        return zkli_contender_send(c, ZKLI_OP_PARENT);
    case ZKLI_RESULT_EXISTS: /* at the counter's end, behind a node of the same uuid */
        zkli_contender_move(c, ZKLI_SEARCHING);
        return zkli_contender_search(c);
    case ZKLI_RESULT_LOST:
        zkli_contender_move(c, ZKLI_UNSURE);
        return zkli_contender_park(c, e);
    case ZKLI_RESULT_AGAIN:
        zkli_contender_move(c, ZKLI_IDLE);
        return zkli_contender_park(c, e);
    case ZKLI_RESULT_DENIED:
    case ZKLI_RESULT_NOMEM:
    case ZKLI_RESULT_ERROR:
        break;
    }
    return zkli_contender_refuse(c, e, zkli_contender_result_of(c, ZKLI_OP_CREATE));
}

static bool search_succeeded(const contender *c) {
    enum zkli_result list = zkli_contender_result_of(c, ZKLI_OP_LIST);
    return zkli_contender_result_of(c, ZKLI_OP_BARRIER) == ZKLI_RESULT_OK &&
           (list == ZKLI_RESULT_OK || list == ZKLI_RESULT_NO_NODE);
}

static unsigned decide_searching(contender *c, const event *e) {
    if (!search_succeeded(c)) {
        if (zkli_contender_result_of(c, ZKLI_OP_LIST) == ZKLI_RESULT_DENIED)
            return zkli_contender_fail(c, e, ZKL_DENIED);
        zkli_contender_move(c, ZKLI_UNSURE);
        return zkli_contender_park(c, e);
    }
    if (c->found[0] == '\0')
        return zkli_contender_begin_anew(c, e);
    zkli_contender_move(c, ZKLI_ADOPTING);
    memcpy(c->node, c->found, sizeof(c->node));
    return zkli_contender_send(c, ZKLI_OP_OWN | ZKLI_OP_LIST);
}

static unsigned decide_adopting(contender *c, const event *e) {
    switch (zkli_contender_result_of(c, ZKLI_OP_OWN)) {
    case ZKLI_RESULT_OK:
        if (c->owner == e->session_id)
            return decide_place(c, e, zkli_contender_result_of(c, ZKLI_OP_LIST));
        break; /* a dying session's: not ours to be granted on */
    case ZKLI_RESULT_NO_NODE:
        break;
    case ZKLI_RESULT_LOST:
    case ZKLI_RESULT_AGAIN:
        zkli_contender_forget_node(c);
        zkli_contender_move(c, ZKLI_UNSURE);
        return zkli_contender_park(c, e);
    case ZKLI_RESULT_EXISTS:
    case ZKLI_RESULT_DENIED:
    case ZKLI_RESULT_NOMEM:
    case ZKLI_RESULT_ERROR:
        return zkli_contender_refuse(c, e, zkli_contender_result_of(c, ZKLI_OP_OWN));
    }
    return zkli_contender_begin_anew(c, e);
}

static unsigned decide_listing(contender *c, const event *e) {
    if (!c->own_went && zkli_contender_result_of(c, ZKLI_OP_BARRIER) != ZKLI_RESULT_OK) {
        c->listed_on = 0; /* the next listing goes behind a barrier, too */
        return zkli_contender_park(c, e);
    }
    return decide_place(c, e, zkli_contender_result_of(c, ZKLI_OP_LIST));
}

static unsigned decide_arming(contender *c, const event *e) {
    enum zkli_result own = c->own_is_watched ? ZKLI_RESULT_OK
                                             : zkli_contender_result_of(c, ZKLI_OP_OWN);
    enum zkli_result predecessor = zkli_contender_result_of(c, ZKLI_OP_PREDECESSOR);
    if (c->own_went || own == ZKLI_RESULT_NO_NODE)
        return zkli_contender_requeue(c, e);
    enum zkli_result worst = own == ZKLI_RESULT_OK ? predecessor : own;
    if (worst == ZKLI_RESULT_NO_NODE || (worst == ZKLI_RESULT_OK && c->predecessor_changed))
        return zkli_contender_list_again(c, e);
    if (worst == ZKLI_RESULT_OK && !c->own_is_watched) /* it fired while the other was being set */
        return zkli_contender_send(c, ZKLI_OP_OWN);
    if (worst == ZKLI_RESULT_OK) {
        zkli_contender_move(c, ZKLI_WAITING);
        return 0;
    }
    if (worst == ZKLI_RESULT_LOST || worst == ZKLI_RESULT_AGAIN)
        zkli_contender_move(c, ZKLI_LISTING);
    return zkli_contender_refuse(c, e, worst);
}

static unsigned decide_created_leaving(contender *c, const event *e) {
    switch (e->result) {
    case ZKLI_RESULT_OK:
        return zkli_contender_send(c, ZKLI_OP_DELETE);
    case ZKLI_RESULT_LOST:
        return zkli_contender_park(c, e);
    case ZKLI_RESULT_EXISTS:
    case ZKLI_RESULT_NOMEM:
        return zkli_contender_bury(c);
    case ZKLI_RESULT_NO_NODE:
    case ZKLI_RESULT_DENIED:
    case ZKLI_RESULT_AGAIN:
    case ZKLI_RESULT_ERROR:
        break;
    }
    return zkli_contender_forget(c);
}

unsigned zkli_contender_decide_leaving(contender *c, const event *e) {
    if (e->type == ZKLI_EV_CREATED)
        return decide_created_leaving(c, e);
    if (e->type == ZKLI_EV_DELETED) {
        bool is_gone = e->result == ZKLI_RESULT_OK || e->result == ZKLI_RESULT_NO_NODE;
        return is_gone ? zkli_contender_forget(c) : zkli_contender_park(c, e);
    }
    if (c->in_flight != 0)
        return 0; /* half of a search */
    if (!search_succeeded(c))
        return zkli_contender_park(c, e);
    if (c->found[0] == '\0')
        return zkli_contender_forget(c);
    memcpy(c->node, c->found, sizeof(c->node));
    return zkli_contender_send(c, ZKLI_OP_DELETE);
}

unsigned zkli_contender_decide(contender *c, const event *e) {
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
        return decide_place(c, e, zkli_contender_result_of(c, ZKLI_OP_ORDER));
    case ZKLI_ARMING:
        return decide_arming(c, e);
    case ZKLI_IDLE:
    case ZKLI_UNSURE:
    case ZKLI_WAITING:
    case ZKLI_ADMITTED:
    case ZKLI_HELD:
    case ZKLI_LEAVING:
    case ZKLI_GONE:
    case ZKLI_CONTENDER_STATES:
        break;
    }
    return 0;
}
