/*
 * contender_moves - the steps that the contender's decisions are made of. Each returns the actions
 * it asks for (contender.h). Only the files of the contender include this.
 */
#ifndef ZKLI_CORE_CONTENDER_MOVES_H
#define ZKLI_CORE_CONTENDER_MOVES_H

#include "core/contender.h"

/* Actions as the decisions are made of them: ZKLI_ASK_ bits, and these. */
enum {
    ZKLI_TELL_REQUEUED = 1u << 16,
    ZKLI_TELL_QUEUED = 1u << 17,
    ZKLI_DO_GRANT = 1u << 18,
    ZKLI_TELL_TURNED = 1u << 19,
    ZKLI_TELL_WANTED = 1u << 20,
    ZKLI_TELL_AWAITED = 1u << 21,
    ZKLI_DO_FAIL = 1u << 22,
    ZKLI_DO_LOSE = 1u << 23,
    ZKLI_DO_FORGET = 1u << 24,
    ZKLI_DO_RETRY = 1u << 25,
    ZKLI_DO_AWAIT_SESSION = 1u << 26
};
/* In flight beside the rest of a contender that is admitted: they decide nothing alone. */
#define ZKLI_ASKS_ASIDE                                                                            \
    ((unsigned)ZKLI_ASK_OWN | ZKLI_ASK_TOUCH | ZKLI_ASK_FOLLOWERS | ZKLI_ASK_SINCE)
/* Those of them that change our node, and so fire the watch on it. */
#define ZKLI_ASKS_MARK ((unsigned)ZKLI_ASK_TOUCH | ZKLI_ASK_SINCE)

typedef struct zkli_contender contender;
typedef struct zkli_contender_event event;

/* The one place where the state changes; an assertion holds it to the table of allowed moves. */
void zkli_contender_move(contender *c, enum zkli_contender_state to);
/* What must be true between two events. */
void zkli_contender_check(const contender *c);

/* Notes the requests as in flight; the caller returns them as actions. */
unsigned zkli_contender_send(contender *c, unsigned ops);
void zkli_contender_set_results(contender *c, unsigned ops, enum zkli_result result);
enum zkli_result zkli_contender_result_of(const contender *c, unsigned op);
/* Nothing can be done now: go on at the next connection, or, connected, after a while. */
unsigned zkli_contender_park(contender *c, const event *e);

/* A try lists first. A node is made when it may be. */
unsigned zkli_contender_begin(contender *c, const event *e);
unsigned zkli_contender_enqueue(contender *c, const event *e);
/* A try's list. */
unsigned zkli_contender_probe(contender *c, const event *e);
/* Takes the node that was found for ours, reads it, and lists. */
unsigned zkli_contender_adopt(contender *c, const event *e);
/* Deletes our node, or the one that was found, and begins anew. */
unsigned zkli_contender_clear(contender *c, const event *e);
/*
 * There is no node of ours: begin once more, under a new uuid. Numbers repeat at the counter's end.
 * So a create under the old uuid could get the very name of a node that was deleted. A waiter that
 * had seen that node before its own would then wait for us, while we wait for it.
 */
unsigned zkli_contender_begin_anew(contender *c, const event *e);
/* The same for a place that we had. */
unsigned zkli_contender_requeue(contender *c, const event *e);
void zkli_contender_forget_node(contender *c);
/* The fresh uuid is ours. */
void zkli_contender_take_uuid(contender *c, const event *e);
/* Another client may want what this one holds; told once. */
unsigned zkli_contender_wanted(contender *c);
/* Another client does; told once. */
unsigned zkli_contender_awaited(contender *c);
/* Barrier and list, to find a node with our uuid. */
unsigned zkli_contender_search(contender *c);
/* Lists; behind a barrier after a reconnect. The news that asks for the listing may have come from
 * another server, and the listing must not be older. */
unsigned zkli_contender_list_again(contender *c, const event *e);
unsigned zkli_contender_arm(contender *c);
/* The same, unless that was a look behind a mark, and the watches stand. */
unsigned zkli_contender_arm_once(contender *c);
/* The predecessor's node is gone. On the connection that listed it that may admit us. */
unsigned zkli_contender_follow(contender *c, const event *e);
/* Admitted by the queue; granted only on an ample lease, and one of several with the others. */
unsigned zkli_contender_admit(contender *c, const event *e);
/*
 * Marks our node, if that is owed. Who stands behind us may watch our node, and nothing else. It is
 * told in this way that we are admitted. Repeated until the server has confirmed, or the node is
 * gone, which tells as well.
 */
unsigned zkli_contender_touch(contender *c, const event *e);
/* One of several, with the others. */
unsigned zkli_contender_grant(contender *c, const event *e);
/* What an admitted one does when something has changed. */
unsigned zkli_contender_try_to_hold(contender *c, const event *e);

/*
 * A writer that holds becomes a reader. One transaction sets the writer's node, creates the
 * reader's under the same uuid and number, and deletes the writer's. The set tells those who
 * watch the writer's that there is news, before its end does.
 */
unsigned zkli_contender_turn(contender *c, const event *e);
/* After a reply that was lost: which of the two nodes is there? */
unsigned zkli_contender_turn_again(contender *c, const event *e);

/* Leaves from any state. A node that we know is deleted. A create in flight is waited for. After
 * one that was lost, the node is searched. */
unsigned zkli_contender_leave(contender *c, const event *e);
/* LEAVING, with nothing in flight that could still create or delete our node. */
unsigned zkli_contender_remove_node(contender *c);
unsigned zkli_contender_forget(contender *c);
unsigned zkli_contender_fail(contender *c, const event *e, int error);
/* For a reply that is no success, and that the state does not expect. */
unsigned zkli_contender_fail_or_retry(contender *c, const event *e, enum zkli_result result);

/* ---- A semaphore's (contender_permit.c) ---- */

/* Whether the number of permits lets the flight be decided, as it always does for other kinds. If
 * not, *ret_actions says what is done instead. */
bool zkli_contender_agrees(contender *c, const event *e, unsigned *ret_actions);
/* Nothing but the number of permits keeps us out: watches the directory and lists, unless that was
 * just done. */
unsigned zkli_contender_front(contender *c);
/* Something has changed there. */
unsigned zkli_contender_front_again(contender *c, const event *e);
unsigned zkli_contender_decide_touched(contender *c, const event *e);

/* contender_decide.c: the last reply of a flight is in. */
unsigned zkli_contender_decide(contender *c, const event *e);
/* The same in LEAVING, where each reply counts by itself. */
unsigned zkli_contender_decide_leaving(contender *c, const event *e);
/* And in TURNING, where the watch on the own node may be under way besides. */
unsigned zkli_contender_decide_turning(contender *c, const event *e);

#endif
