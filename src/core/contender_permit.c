/*
 * contender_permit - what only a semaphore's contender does: it goes by the number of permits in
 * the directory's data, waits in front for any end, and tells the next one when it is admitted.
 */
#include <assert.h>

#include "core/contender_moves.h"
#include "zklock.h"

/* ---- The number ---- */

/* The number may be changed while we wait; what was asked for counts at the first look. */
static bool is_another(const contender *c) {
    const struct zkli_permits *recorded = &c->recorded;
    if (recorded->state == ZKLI_PERMITS_NONE)
        return c->permits == 0;
    if (recorded->state == ZKLI_PERMITS_RECORDED)
        return !c->has_agreed && c->permits != 0 && c->permits != recorded->count;
    return recorded->state == ZKLI_PERMITS_OTHER;
}

static unsigned read_again(contender *c, const event *e) {
    enum zkli_result result = zkli_contender_result_of(c, ZKLI_ASK_DIRECTORY);
    if (result == ZKLI_RESULT_OK || result == ZKLI_RESULT_NO_NODE)
        return c->state == ZKLI_PROBING ? zkli_contender_probe(c, e)
                                        : zkli_contender_list_again(c, e);
    if (c->state != ZKLI_PROBING && c->state != ZKLI_LISTING)
        zkli_contender_move(c, ZKLI_LISTING); /* goes on there, if it does */
    return zkli_contender_fail_or_retry(c, e, result);
}

bool zkli_contender_agrees(contender *c, const event *e, unsigned *ret_actions) {
    if (c->kind != ZKLI_KIND_LEASE)
        return true;
    if (is_another(c)) {
        *ret_actions = zkli_contender_fail(c, e, ZKL_MISMATCH);
        return false;
    }
    if (c->recorded.state == ZKLI_PERMITS_UNKNOWN) {
        *ret_actions = read_again(c, e);
        return false;
    }
    c->has_agreed = c->has_agreed || c->recorded.state == ZKLI_PERMITS_RECORDED;
    if (c->recorded.state == ZKLI_PERMITS_RECORDED || c->state == ZKLI_PROBING)
        return true;
    zkli_contender_move(c, ZKLI_RECORDING);
    *ret_actions = zkli_contender_send(c, ZKLI_ASK_RECORD);
    return false;
}

/* ---- In front ---- */

static unsigned look(contender *c) {
    zkli_contender_move(c, ZKLI_FRONTING);
    c->directory_watch = c->children_watch = ZKLI_UNWATCHED;
    bool is_watched = c->own_watch == ZKLI_WATCHED;
    return zkli_contender_send(c, ZKLI_ASK_DIRECTORY | ZKLI_ASK_LIST |
                                      (is_watched ? 0 : ZKLI_ASK_OWN));
}

unsigned zkli_contender_front(contender *c) {
    bool is_watched = c->own_watch == ZKLI_WATCHED && c->directory_watch == ZKLI_WATCHED &&
                      c->children_watch == ZKLI_WATCHED;
    if (!is_watched)
        return look(c);
    zkli_contender_move(c, ZKLI_FRONT);
    return 0;
}

unsigned zkli_contender_front_again(contender *c, const event *e) {
    bool is_fresh = e->is_connected && c->listed_on == e->connection;
    return is_fresh ? look(c) : zkli_contender_list_again(c, e);
}

/* ---- The mark ---- */

static unsigned go_on_admitted(contender *c, const event *e) {
    if (c->in_flight != 0)
        return 0; /* decided when the read of our node is in */
    if (c->own_watch == ZKLI_NODE_DELETED)
        return zkli_contender_requeue(c, e);
    return zkli_contender_try_to_hold(c, e);
}

unsigned zkli_contender_decide_touched(contender *c, const event *e) {
    bool is_gone = e->result == ZKLI_RESULT_NO_NODE;
    if (is_gone)
        c->own_watch = ZKLI_NODE_DELETED;
    c->owes_touch = c->owes_touch && e->result != ZKLI_RESULT_OK && !is_gone;
    if (c->state == ZKLI_HELD && is_gone)
        return ZKLI_DO_LOSE | zkli_contender_forget(c);
    unsigned actions = c->state == ZKLI_ADMITTED ? go_on_admitted(c, e) : 0;
    return actions | (c->owes_touch && e->is_connected ? ZKLI_DO_RETRY : 0);
}
