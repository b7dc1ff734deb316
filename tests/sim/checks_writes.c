/*
 * checks_writes - what must hold of guarded writes: they are made under the hold that guards them,
 * in the order of the holds, and their callers are told what has happened; see sim.h.
 */
#include "sim/sim.h"

/* Of one hold: what is sent again must not undo what came after it. A later one whose answer is
 * lost may have been made, and is sent again behind it. What is sent once comes in the order of the
 * calls. */
static void check_order(struct world *w, int number) {
    const struct written *written = &w->writes[number];
    for (int i = number + 1; i <= w->write_count; i++) {
        const struct written *later = &w->writes[i];
        if (later->hold != written->hold || later->commits == 0)
            continue;
        if ((written->commits == 0 && written->sends == 1) || later->is_several ||
            (later->is_answered && later->result == ZKL_OK))
            world_violate(w, CHECK_WRITES, "write %d is made after write %d of the same hold",
                          number, i);
    }
}

/* A thread that was granted a hold and has not given it up looks. */
int checks_node_of(struct world *w, const struct actor *a) {
    const struct zkli_hold *hold = zkli_lock_find_good_hold(a->lock, a->hold);
    char path[ZKLI_PATH_MAX];
    bool has_node = hold != NULL && zkli_member_path(hold->member, path, sizeof(path));
    return has_node ? world_name(w, path) : 0;
}

/* The set of the register, under the guard that comes first. */
void checks_write_committed(struct world *w, const struct txn *txn, int guard_name) {
    struct written *written = &w->writes[txn->data];
    const struct name *guard = &w->names[guard_name];
    w->figures->guarded_again += written->commits > 0;
    check_order(w, txn->data);
    written->commits++;
    w->last_write[written->lock] = txn->data;
    int reader = w->names[written->node].turned_into;
    if (tree_find(&w->truth, written->node) == NULL &&
        (reader == 0 || tree_find(&w->truth, reader) == NULL))
        world_violate(w, CHECK_WRITES, "write %d is made without the node of its hold", txn->data);
    bool is_shared = checks_is_shared(guard->kind);
    struct latest *last = &w->last_written[written->lock];
    if (guard->place < (is_shared ? last->exclusive : last->any))
        world_violate(w, CHECK_WRITES, "write %d under %s comes after a later holder's", txn->data,
                      guard->text);
    checks_note_latest(last, guard->place, is_shared);
    if ((written->is_versioned || written->is_several) && written->commits > 1)
        world_violate(w, CHECK_WRITES, "write %d is made twice", txn->data);
    if (written->is_answered && written->result != ZKL_OK && written->result != ZKL_UNSURE)
        world_violate(w, CHECK_WRITES, "write %d is made after its caller was told %s", txn->data,
                      zkl_errname(written->result));
}

/* Of a write that is not made again: what the servers have answered is what its caller is told. But
 * if they did not find a guard that has become a reader's, or is about to, it is to be sent again.
 * Then that reply may be lost, or the hold may end before. */
static void check_answer(struct world *w, const struct writing *writing, zkl_err result) {
    const struct written *written = &w->writes[writing->number];
    bool is_answer = result == ZKL_OK || result == ZKL_NO_NODE || result == ZKL_BAD_VERSION ||
                     result == ZKL_SERVER;
    bool is_of_old_guard = writing->answer == ZKL_LOST &&
                           (w->names[written->node].turned_into != 0 || writing->write.is_waiting);
    bool is_answered = writing->is_answered && writing->write.lost == 0 && !is_of_old_guard;
    if (!written->is_several)
        return;
    if (is_answered ? result != writing->answer : is_answer)
        world_violate(w, CHECK_WRITES, "write %d was answered %s, and its caller is told %s",
                      writing->number, is_answered ? zkl_errname(writing->answer) : "by nobody",
                      zkl_errname(result));
}

/* It is said to be made: then it is what is there, unless something came later. */
static void check_last(struct world *w, int number) {
    const struct written *written = &w->writes[number];
    int last = w->last_write[written->lock];
    if (last < number && w->writes[last].hold == written->hold)
        world_violate(w, CHECK_WRITES, "write %d is OK, and write %d is there instead", number,
                      last);
}

void checks_written(struct world *w, const struct writing *writing, zkl_err result) {
    int number = writing->number;
    struct written *written = &w->writes[number];
    TRACE(w, "write %d says %s", number, zkl_errname(result));
    written->is_answered = true;
    written->result = result;
    w->figures->guarded += result == ZKL_OK;
    w->figures->guarded_unsure += result == ZKL_UNSURE;
    w->figures->guarded_lost += result == ZKL_LOST;
    w->figures->guarded_unsent += result == ZKL_NOMEM;
    w->figures->several += written->is_several && result == ZKL_OK;
    w->figures->several_refused += written->is_several && writing->is_answered && result != ZKL_OK;
    check_answer(w, writing, result);
    if (result == ZKL_OK)
        check_last(w, number);
    if (result == ZKL_OK && written->commits == 0)
        world_violate(w, CHECK_WRITES, "write %d is OK and was not made", number);
    if (result != ZKL_OK && result != ZKL_UNSURE && written->commits > 0)
        world_violate(w, CHECK_WRITES, "write %d was made, and its caller is told %s", number,
                      zkl_errname(result));
}
