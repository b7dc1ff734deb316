/*
 * guard - guarded writes: transactions that the servers refuse unless the lock's node is there.
 *
 * The node's name has a uuid of its own. So while that node exists, our hold does. The leader looks
 * in the moment in which it puts the write in its place among all writes. So an OK is true even if
 * our lease ran out while it was under way: the write came before the end of the hold.
 *
 * A reply that was lost with its connection leaves open what has happened. Then a set is sent again
 * while the hold lasts. Its answer tells what is true, for two reasons:
 *
 * - The first attempt cannot come after the second, which is a write and so a barrier. The leader
 *   refuses what another server forwards for a session that has moved here (SESSIONMOVED). Before
 *   this server let us in, it closed the session's old connection, whose requests stand in the same
 *   queue as ours. What a leader had proposed when it was deposed is committed before the next
 *   leader's first write, or never. There is one exception: a thread of the server has read a
 *   request, and does not queue it for the whole time of a reconnect. A version protects from that,
 *   unless the node is deleted and made again.
 * - While the hold's node exists, nobody else writes under this guard (but by its node: W6), and
 *   the writes of the hold come in the order of their calls, below. So without a version, the same
 *   data written twice are the same data. With a version, the second attempt may find another
 *   version; it has found the guard then. The node is read behind it on the same connection. The
 *   first attempt was committed if the node has the next version and our data. Otherwise nothing
 *   tells what was done.
 *
 * Several writes of a hold may be under way. Those that one connection carries are made in the
 * order in which they were sent. One that has to be sent again is disturbed. Later ones that are
 * not sent wait for it; those that were sent are lost with the same connection, and are disturbed,
 * too. So what is sent again is sent alone, and in order. But the client library may be connected
 * again before the first loss is told here. A later write, sent then, goes by the new connection.
 * So what is lost waits until all that were sent behind it have answers. If one of these was made,
 * what is lost is not sent again. A set is not sent again either if several operations of the hold
 * have been sent behind it: it could undo one of them and not the others.
 *
 * All this holds if every program that writes to the node does so under the guard. One that does
 * not may have written in between. With a version that shows, and is UNSURE.
 */
#include "lock/lock.h"

#include <assert.h>
#include <string.h>

_Static_assert(ZKL_GUARDED_SET_MAX < ZKLI_TRANSACTION_MAX, "the header names the limit");

/* So often a write is sent again whose reply was lost. A server with a smaller jute.maxbuffer than
 * most cuts the connection at the request itself, each time, and no heartbeat would pass. */
#define RESENDS_MAX 3
/* The port cannot send now: the connection has gone, and the session is about to hear of it; or
 * memory is short. So many tries, so far apart, tell the one from the other. */
#define REFUSALS_MAX 10
#define REFUSAL_WAIT_NS (20 * ZKLI_NS_PER_MS)

/* Of one that is a set. */
static const struct zkli_op *set_of(const struct zkli_write *w) {
    return &w->ops[1];
}

static struct zkli_hold *hold_of(const struct zkli_write *w) {
    return zkli_lock_find_good_hold(w->lock, w->hold);
}

static struct zkli_write *write_of(struct zkli_list *link) {
    return ZKLI_CONTAINER(link, struct zkli_write, link);
}

/* ---- In order ---- */

/* By its hold's node, which is another when a writer has become a reader; its path is as long. */
static void note_guard(struct zkli_write *w, const struct zkli_member *m) {
    bool fits = zkli_member_path(m, w->guard, sizeof(w->guard));
    assert(fits);
    (void)fits; /* in a build without assertions */
}

static bool is_first_disturbed(const struct zkli_write *w) {
    struct zkl_lock *l = w->lock;
    for (struct zkli_list *link = l->writes.next; link != &w->link; link = link->next)
        if (write_of(link)->hold == w->hold && write_of(link)->is_disturbed)
            return false;
    return w->is_disturbed;
}

/* Whether one of its hold that was sent behind it has no answer yet. */
static bool is_before_sent(const struct zkli_write *w) {
    struct zkl_lock *l = w->lock;
    for (struct zkli_list *link = w->link.next; link != &l->writes; link = link->next) {
        const struct zkli_write *later = write_of(link);
        if (later->hold == w->hold && later->query.is_sent && !later->is_waiting)
            return true;
    }
    return false;
}

/* It is sent, or waits until it may be. */
static void ask_to_write(struct zkli_write *w, const struct zkli_hold *hold) {
    w->is_waiting = zkli_member_is_turning(hold->member) ||
                    (hold->disturbed > 0 && (!is_first_disturbed(w) || is_before_sent(w)));
    if (w->is_waiting)
        return;
    note_guard(w, hold->member);
    w->query.kind = ZKLI_QUERY_MULTI;
    w->query.ops = w->ops;
    w->query.op_count = w->op_count;
    w->query.bytes = w->bytes;
    zkli_query_ask(w->lock->session->engine, &w->query);
}

static void ask_waiting(struct zkl_lock *l) {
    for (struct zkli_list *link = l->writes.next; link != &l->writes; link = link->next) {
        struct zkli_write *w = write_of(link);
        const struct zkli_hold *hold = w->is_waiting ? hold_of(w) : NULL;
        if (hold != NULL)
            ask_to_write(w, hold);
    }
}

/* False: it is sent, or about to be sent again. (When a session ends, what was sent stands in a
 * line, too.) */
static bool take_back(struct zkli_write *w) {
    return !w->query.is_sent && zkli_query_withdraw(&w->query);
}

static void disturb(struct zkli_write *w, struct zkli_hold *hold) {
    struct zkl_lock *l = w->lock;
    if (!w->is_disturbed)
        hold->disturbed++;
    w->is_disturbed = true;
    for (struct zkli_list *link = w->link.next; link != &l->writes; link = link->next)
        if (write_of(link)->hold == w->hold && take_back(write_of(link)))
            write_of(link)->is_waiting = true;
}

static void finish(struct zkli_write *w, zkl_err result) {
    struct zkl_lock *l = w->lock;
    struct zkli_hold *hold = hold_of(w);
    bool are_disturbed = hold != NULL && hold->disturbed > 0;
    zkli_list_remove(&w->link);
    zkli_engine_clear_timer(l->session->engine, &w->retry);
    zkli_operation_finish(&w->operation, result);
    if (are_disturbed && w->is_disturbed)
        hold->disturbed--;
    if (are_disturbed)
        ask_waiting(l);
}

/* The last attempt wrote nothing. What those before it did is not known. */
static void finish_undone(struct zkli_write *w, zkl_err result) {
    finish(w, w->lost > 0 ? ZKL_UNSURE : result);
}

/* This one, or one before it that has waited for its answer. */
static void ask_again(struct zkli_write *w, struct zkli_hold *hold) {
    disturb(w, hold);
    w->is_waiting = true;
    ask_waiting(w->lock);
}

/* It was made. Those before it that are lost could undo it, if they were sent again. */
static void end_overtaken(const struct zkli_write *w) {
    struct zkli_list *link = w->lock->writes.next;
    while (link != &w->link) {
        struct zkli_write *earlier = write_of(link);
        link = link->next;
        if (earlier->hold == w->hold && earlier->lost > 0 && earlier->is_waiting)
            finish(earlier, ZKL_UNSURE);
    }
}

/* ---- Answers ---- */

static void ask_to_read(struct zkli_write *w) {
    w->query.kind = ZKLI_QUERY_GET;
    w->query.path = set_of(w)->path;
    w->query.bytes = ZKLI_TRANSACTION_MAX; /* the node may have more than we have written */
    zkli_query_ask(w->lock->session->engine, &w->query);
}

static void retry(struct zkli_timer *timer) {
    struct zkli_write *w = ZKLI_CONTAINER(timer, struct zkli_write, retry);
    ask_to_write(w, hold_of(w)); /* the hold's end would have ended it */
}

/* It is sent again only while its hold goes on: the end of that ends a write that waits for it, and
 * nothing else would, when the session is closed. */
static void on_refused(struct zkli_write *w) {
    struct zkli_engine *e = w->lock->session->engine;
    struct zkli_hold *hold = hold_of(w);
    w->refusals++;
    if (!zkli_engine_is_connected(e) || hold == NULL) {
        finish_undone(w, zkli_engine_is_draining(e) ? ZKL_CLOSED : ZKL_LOST);
    } else if (w->refusals > REFUSALS_MAX) {
        finish_undone(w, ZKL_NOMEM);
    } else {
        disturb(w, hold);
        zkli_engine_set_timer(e, &w->retry, zkli_engine_now_ns(e) + REFUSAL_WAIT_NS);
    }
}

/* Whether several operations of its hold have been sent behind it. */
static bool is_before_several(const struct zkli_write *w) {
    struct zkl_lock *l = w->lock;
    for (struct zkli_list *link = w->link.next; link != &l->writes; link = link->next) {
        const struct zkli_write *later = write_of(link);
        if (later->hold == w->hold && !later->is_set && later->query.is_sent)
            return true;
    }
    return false;
}

/* A server that sits on it may carry it out later, while the node is there. */
static void on_lost(struct zkli_write *w) {
    struct zkli_hold *hold = hold_of(w);
    w->lost++;
    if (hold != NULL)
        zkli_member_bind(hold->member);
    if (hold != NULL && w->is_set && w->lost <= RESENDS_MAX && !is_before_several(w))
        ask_again(w, hold); /* sent when there is a connection, unless the hold ends first */
    else
        finish(w, ZKL_UNSURE);
}

/* Whether the hold may be by another node than that which was looked for. */
static bool may_have_turned(const struct zkli_write *w, const struct zkli_hold *hold) {
    char path[ZKLI_PATH_MAX];
    return zkli_member_is_turning(hold->member) ||
           (zkli_member_path(hold->member, path, sizeof(path)) && strcmp(path, w->guard) != 0);
}

static void on_guard_gone(struct zkli_write *w) {
    struct zkli_hold *hold = hold_of(w);
    if (hold != NULL && may_have_turned(w, hold)) {
        ask_again(w, hold); /* once: a hold turns once */
        return;
    }
    finish_undone(w, ZKL_LOST);
    if (hold != NULL)
        zkli_member_node_gone(hold->member);
}

static void on_written(struct zkli_write *w, const struct zkli_reply *reply) {
    struct zkli_engine *e = w->lock->session->engine;
    bool is_bad_version = reply->result == ZKLI_RESULT_BAD_VERSION;
    if (w->on_answer != NULL)
        w->on_answer(w, reply);
    if (reply->result == ZKLI_RESULT_OK) {
        end_overtaken(w);
        finish(w, ZKL_OK);
    } else if (reply->result == ZKLI_RESULT_NO_NODE && reply->refused == 0) {
        on_guard_gone(w);
    } else if (is_bad_version && w->lost > 0) {
        ask_to_read(w);
    } else if (is_bad_version) {
        finish(w, ZKL_BAD_VERSION);
    } else if (reply->result == ZKLI_RESULT_NO_NODE) {
        finish(w, ZKL_NO_NODE); /* whatever was written before, it is not there now */
    } else {
        zkli_engine_log(e, ZKL_LOG_ERROR, "the server refuses a guarded write to %s (code %d)",
                        w->is_set ? set_of(w)->path : "several nodes", reply->code);
        finish_undone(w, reply->result == ZKLI_RESULT_DENIED ? ZKL_DENIED : ZKL_SERVER);
    }
}

/* The second attempt found another version: the first attempt's, or another program's? */
static void on_read(struct zkli_write *w, const struct zkli_reply *reply) {
    const struct zkli_op *set = set_of(w);
    uint32_t version = (uint32_t)reply->stat.version;
    if (reply->result != ZKLI_RESULT_OK || version != (uint32_t)set->version + 1)
        finish(w, ZKL_UNSURE);
    else if (reply->data_length == (size_t)set->length &&
             memcmp(reply->data, set->data, reply->data_length) == 0)
        finish(w, ZKL_OK);
    else
        finish(w, ZKL_BAD_VERSION); /* the step from our version to this one was not ours */
}

static void on_answer(struct zkli_query *query, const struct zkli_reply *reply) {
    struct zkli_write *w = ZKLI_CONTAINER(query, struct zkli_write, query);
    if (reply == NULL && query->is_sent)
        on_lost(w);
    else if (reply == NULL)
        on_refused(w);
    else if (query->kind == ZKLI_QUERY_MULTI)
        on_written(w, reply);
    else
        on_read(w, reply);
}

/* ---- A hold's writes ---- */

bool zkli_lock_has_writes(const struct zkl_lock *l, zkl_hold hold) {
    for (struct zkli_list *link = l->writes.next; link != &l->writes; link = link->next)
        if (write_of(link)->hold == hold)
            return true;
    return false;
}

/* Those that look for its old node have to be sent again, before later ones. */
void zkli_lock_resume_writes(struct zkl_lock *l) {
    for (struct zkli_list *link = l->writes.next; link != &l->writes; link = link->next) {
        struct zkli_write *w = write_of(link);
        struct zkli_hold *hold = w->is_waiting ? NULL : hold_of(w);
        if (hold == NULL || !may_have_turned(w, hold))
            continue;
        if (take_back(w))
            w->is_waiting = true;
        else
            disturb(w, hold);
    }
    ask_waiting(l);
}

void zkli_lock_end_writes(struct zkl_lock *l, zkl_hold hold, zkl_err error) {
    bool is_closed = zkli_lock_is_closed(l);
    struct zkli_list *link = l->writes.next;
    while (link != &l->writes) {
        struct zkli_write *w = write_of(link);
        link = link->next;
        if (w->hold == hold && (take_back(w) || zkli_timer_is_set(&w->retry) || w->is_waiting))
            finish_undone(w, is_closed ? ZKL_CLOSED : error);
    }
}

void zkli_lock_abandon_writes(struct zkl_lock *l) {
    struct zkli_list *link = l->writes.next;
    while (link != &l->writes) {
        struct zkli_write *w = write_of(link);
        link = link->next;
        if (w->operation.completion == NULL)
            continue;
        zkli_query_forget(l->session->engine, &w->query);
        finish(w, ZKL_UNSURE);
    }
}

/* ---- Calls ---- */

/* With the lock held: whether the write may be sent under its hold, or the calling thread's. */
static zkl_err check_hold(struct zkl_lock *l, struct zkli_write *w) {
    if (zkli_lock_is_closed(l))
        return ZKL_CLOSED;
    const struct zkli_hold *hold = w->is_by_hold ? zkli_lock_find_hold(l, w->hold)
                                                 : zkli_lock_hold_of(l, zkli_thread_number());
    if (hold == NULL)
        return ZKL_NOT_HELD;
    if (hold->member == NULL)
        return ZKL_LOST;
    w->lock = l;
    w->hold = hold->id;
    note_guard(w, hold->member);
    w->ops[0] = (struct zkli_op){.type = ZKLI_OP_CHECK, .path = w->guard, .version = -1};
    zkl_err err = zkli_multi_check(w->ops, w->op_count,
                                   zkli_engine_chroot_length(l->session->engine), &w->bytes);
    return err == ZKL_OK ? w->ops_error : err;
}

/* A write waits for the servers, or for the end of the hold. */
static void no_deadline(struct zkli_timer *timer) {
    (void)timer;
}

zkl_err zkli_write_begin(struct zkl_lock *l, struct zkli_write *w) {
    zkl_err err = check_hold(l, w);
    if (err != ZKL_OK)
        return err;
    zkli_operation_init(&w->operation, l->session, no_deadline);
    zkli_operation_begin(&w->operation, ZKLI_NEVER);
    w->query.done = on_answer;
    zkli_timer_init(&w->retry, retry);
    zkli_list_append(&l->writes, &w->link);
    ask_to_write(w, hold_of(w));
    return ZKL_OK;
}
