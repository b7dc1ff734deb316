/*
 * See scenario.h. Each scenario goes on to its end whatever the fault does: what the fault may
 * change is what a step allows for, and play_is_gentle says whether it may change anything.
 */
#include "scenario.h"

#include "scenario_attached.h"
#include "scenario_told.h"
#include "scenario_wanted.h"
#include "session/session.h"
#include "steps.h"
#include "support/target.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define HELD_BEATS 8 /* as many as the lease needs to be counted from heartbeats alone */
#define IDLE_PINGS 2 /* of a session that has nothing to lose */
#define WAIT_MS 1500 /* of the scenario that times out; by then it has long been waiting */

/* ---- how far it has come ---- */

/* Of each lock it reads its own node, and of one that before it. */
static bool is_armed(play *p) {
    return proxy_answered(p->proxy, PROXY_GET, p->name) >= 2 + p->more_count;
}

static bool is_armed_twice(play *p) {
    return proxy_answered(p->proxy, PROXY_GET, p->name) >= 2 * (2 + p->more_count);
}

static bool is_back(play *p) {
    return proxy_count(p->proxy, PROXY_WATCHES, NULL) >= 1 &&
           proxy_answered(p->proxy, PROXY_BARRIER, NULL) >= 2;
}

static bool has_pinged(play *p) {
    return proxy_answered(p->proxy, PROXY_PING, NULL) >= IDLE_PINGS;
}

static bool has_beaten(play *p) {
    return proxy_answered(p->proxy, PROXY_BARRIER, NULL) >= HELD_BEATS;
}

static bool is_deleted(play *p) {
    return proxy_answered(p->proxy, PROXY_DELETE, p->name) >= 1;
}

/* A semaphore's: in the order in which they come about. */
static bool has_watched(play *p) {
    return proxy_answered(p->proxy, PROXY_GET, p->name) >= 3;
}

static bool has_watched_again(play *p) {
    return proxy_answered(p->proxy, PROXY_GET, p->name) >= 4;
}

static bool has_listed_twice(play *p) {
    return proxy_answered(p->proxy, PROXY_LIST, p->name) >= 2;
}

static bool has_listed_thrice(play *p) {
    return proxy_answered(p->proxy, PROXY_LIST, p->name) >= 3;
}

static bool has_marked(play *p) {
    return proxy_answered(p->proxy, PROXY_MULTI, NULL) >= 1;
}

static bool is_in_call(play *p) {
    return actor_is_blocked(p->parts[PROTAGONIST].actor);
}

static bool is_unlinked(play *p) {
    return proxy_links(p->proxy) == 0;
}

/* ---- the scenarios ---- */

static bool run_free(play *p) {
    if (!step_takes(p))
        return false;
    play_frames_end(p);
    return step_end_held(p);
}

static bool run_held(play *p) {
    if (!step_takes(p) || !play_waiter_joins(p) ||
        !play_await_frame(p, has_beaten, "the heartbeats"))
        return false;
    play_frames_end(p);
    return step_end_held(p);
}

/* While nothing is held or waited for, the client library's pings keep the session. */
static bool run_idle(play *p) {
    return play_await_frame(p, has_pinged, "the pings") && run_free(p);
}

/* It has its watches when that is so. The fault is over before the lock is free. */
static bool waits_behind_the_holder(play *p, bool (*is_waiting)(play *)) {
    play_bid(p, PROTAGONIST, ZKL_FOREVER);
    if (!play_await_frame(p, is_waiting, "the watches"))
        return false;
    play_frames_end(p);
    if (!play_await_fault(p) || !play_await(p, step_has_one_node, play_in_time_ms(p), "one node") ||
        !play_waiter_joins(p) || !play_holder_leaves(p))
        return false;
    return play_await_grant(p) && step_end_held(p);
}

static bool run_contended(play *p) {
    return waits_behind_the_holder(p, is_armed);
}

/*
 * The lock becomes free in the middle of the fault, or at it. Who came before the waiter gets it
 * before the waiter, if the fault is one that costs no place.
 */
static bool run_hand_off(play *p) {
    play_bid(p, PROTAGONIST, ZKL_FOREVER);
    if (!play_await_frame(p, is_armed, "the watches") ||
        (step_has_one_node(p) && !play_waiter_joins(p)) || !play_holder_leaves(p) ||
        !play_await_grant(p))
        return false;
    play_frames_end(p);
    return step_end_held(p);
}

static bool tries(play *p, zkl_err expected, zkl_err *ret_err) {
    part *me = &p->parts[PROTAGONIST];

    play_bid(p, PROTAGONIST, 0);
    *ret_err = play_result(p, PROTAGONIST, LIMIT_MS);
    if (*ret_err != expected && (*ret_err != ZKL_UNREACHABLE || p->mode == FAULT_NONE))
        return play_fail(p, "the try says %s", zkl_errname(*ret_err));
    if (actor_took_ms(me->actor) > p->timeout_ms / 3 + SLACK_MS)
        return play_fail(p, "the try took %lld ms", (long long)actor_took_ms(me->actor));
    play_frames_end(p);
    return true;
}

static bool run_try_free(play *p) {
    zkl_err err;

    if (!tries(p, ZKL_OK, &err))
        return false;
    if (err == ZKL_OK)
        return play_check_ours(p) && step_end_held(p);
    return play_await_fault(p) &&
           play_await(p, step_has_no_node, play_in_time_ms(p),
                      "no node of a try without an answer") &&
           step_comes_again(p);
}

static bool run_try_taken(play *p) {
    zkl_err err;

    return tries(p, ZKL_BUSY, &err) && step_end_waiting(p);
}

static bool run_timeout(play *p) {
    part *me = &p->parts[PROTAGONIST];

    play_bid(p, PROTAGONIST, WAIT_MS);
    if (!play_await_frame(p, is_armed, "the watches") || !play_waiter_joins(p))
        return false;
    zkl_err err = play_result(p, PROTAGONIST, WAIT_MS + SLACK_MS);
    if (err != ZKL_TIMEOUT)
        return play_fail(p, "after its time the acquire %s",
                         err == ACTOR_BUSY ? "goes on" : zkl_errname(err));
    if (actor_took_ms(me->actor) < WAIT_MS || actor_took_ms(me->actor) > WAIT_MS + SLACK_MS)
        return play_fail(p, "timed out after %lld ms", (long long)actor_took_ms(me->actor));
    if (!play_await_frame(p, is_deleted, "the delete"))
        return false;
    play_frames_end(p);
    return step_end_waiting(p);
}

static bool run_cancel(play *p) {
    play_bid(p, PROTAGONIST, ZKL_FOREVER);
    if (!play_await_frame(p, is_armed, "the watches") ||
        !play_await(p, is_in_call, LIMIT_MS, "the call") || !play_waiter_joins(p))
        return false;
    if (zkl_cancel(p->parts[PROTAGONIST].lock) != ZKL_OK)
        return play_fail(p, "no cancel");
    zkl_err err = play_result(p, PROTAGONIST, SLACK_MS);
    if (err != ZKL_CANCELED)
        return play_fail(p, "the canceled acquire %s",
                         err == ACTOR_BUSY ? "goes on" : zkl_errname(err));
    if (!play_await_frame(p, is_deleted, "the delete"))
        return false;
    play_frames_end(p);
    return step_end_waiting(p);
}

static bool release(play *p, bool waits) {
    if (!step_takes(p) || !play_waiter_joins(p) || !step_releases(p, waits) ||
        !play_await_frame(p, is_deleted, "the delete"))
        return false;
    play_frames_end(p);
    return play_waiter_is_served(p) && play_await_fault(p) && step_comes_again(p);
}

static bool run_release(play *p) {
    return release(p, false);
}

static bool run_release_wait(play *p) {
    return release(p, true);
}

static bool run_close(play *p) {
    if (!step_takes(p) || !play_waiter_joins(p))
        return false;
    if (play_is_gentle(p) && step_is_told_of_the_loss(p))
        return play_fail(p, "lost before it was closed");
    p->given_up_ns = clock_ns();
    if (zkl_session_close(p->session) != ZKL_OK)
        return play_fail(p, "no close");
    p->session = NULL;
    int64_t took_ms = (clock_ns() - p->given_up_ns) / NS_PER_MS;
    if (took_ms > 2000 + SLACK_MS)
        return play_fail(p, "the close took %lld ms", (long long)took_ms);
    if (!play_await_frame(p, is_unlinked, "the end of the connection"))
        return false;
    play_frames_end(p);
    if (p->mode != FAULT_NONE && !play_has_struck(p)) {
        p->is_missed = true;
        return false;
    }
    play_bid(p, PROTAGONIST, 0);
    if (play_result(p, PROTAGONIST, LIMIT_MS) != ZKL_CLOSED)
        return play_fail(p, "a lock of a closed session is not closed");
    return play_waiter_is_served(p);
}

/*
 * The session ends behind the protagonist's back. It is kept out meanwhile: else it may come back
 * once more before its session is over, or not, and the frames would not be the same each time.
 */
static bool expires(play *p) {
    const int64_t end_ms = clock_ms() + LIMIT_MS;
    char password[16];
    int64_t id = 0;

    while (zkli_session_credentials(p->session, &id, password), id == 0 && clock_ms() < end_ms)
        (void)poll(NULL, 0, 10);
    proxy_refuse(p->proxy, true);
    proxy_drop(p->proxy);
    bool is_expired = raw_expire(server_hosts(), id, password);
    proxy_refuse(p->proxy, false);
    return is_expired || play_fail(p, "the session could not be ended");
}

/* OK is written, LOST is not, UNSURE is either. */
static bool check_written(play *p, const char *path, zkl_err said) {
    char data[8] = "";
    size_t size = sizeof(data) - 1;

    if (raw_get(p->crew->raw, path, data, &size, NULL) != RAW_OK)
        return play_fail(p, "what was written cannot be read");
    bool is_new = strcmp(data, "new") == 0;
    if (said == (is_new ? ZKL_LOST : ZKL_OK) || (said == ZKL_UNSURE && play_is_gentle(p)))
        return play_fail(p, "the write says %s, and the data is %s", zkl_errname(said), data);
    return said == ZKL_OK || said == ZKL_LOST || said == ZKL_UNSURE ||
           play_fail(p, "the write says %s", zkl_errname(said));
}

static bool run_guarded(play *p) {
    part *me = &p->parts[PROTAGONIST];
    char path[RAW_PATH_MAX];
    guarded_call write = {.path = path, .data = "new", .len = 3, .version = 0};

    (void)snprintf(path, sizeof(path), "%s/data-of-%s", fixture_root(), p->name);
    if (raw_create(p->crew->raw, path, "old", 3, RAW_PERSISTENT, NULL) != RAW_OK)
        return play_fail(p, "no node to write to");
    if (!step_takes(p))
        return false;
    write.lock = me->lock;
    actor_begin(me->actor, guarded_run, &write);
    zkl_err said = play_result(p, PROTAGONIST, play_in_time_ms(p));
    if (said == ACTOR_BUSY) {
        (void)play_result(p, PROTAGONIST, 2 * LIMIT_MS); /* it uses our variables */
        return play_fail(p, "the write took too long");
    }
    play_frames_end(p);
    return play_await_fault(p) && check_written(p, path, said) && step_end_held(p);
}

static zkl_err downgrade(void *lock) {
    return zkl_downgrade(lock);
}

/* A writer waits behind it, and goes on waiting. */
static bool run_downgrade(play *p) {
    part *me = &p->parts[PROTAGONIST];

    if (!step_takes(p) || !play_waiter_joins(p))
        return false;
    actor_begin(me->actor, downgrade, me->lock);
    zkl_err said = play_result(p, PROTAGONIST, play_in_time_ms(p));
    if (said == ACTOR_BUSY)
        return play_fail(p, "the downgrade took too long");
    if (said != ZKL_OK && (said != ZKL_LOST || play_is_gentle(p)))
        return play_fail(p, "the downgrade says %s", zkl_errname(said));
    play_frames_end(p);
    return step_end_held(p);
}

/* Back on a new connection, with its watches, and then granted. */
static bool run_return_waiting(play *p) {
    play_bid(p, PROTAGONIST, ZKL_FOREVER);
    if (!play_await_frame(p, is_armed, "the watches"))
        return false;
    proxy_drop(p->proxy);
    if (!play_await_frame(p, is_back, "the watches on the new connection") ||
        (step_has_one_node(p) && !play_waiter_joins(p)) || !play_holder_leaves(p) ||
        !play_await_grant(p))
        return false;
    play_frames_end(p);
    return step_end_held(p);
}

/* Back on a new connection, not knowing whether its node was created; it was. */
static bool run_return_unsure(play *p) {
    proxy_rule(p->proxy, PROXY_CUT_REPLY, PROXY_CREATE, p->name, 1, false);
    return run_free(p);
}

static bool run_expiry(play *p) {
    play_bid(p, PROTAGONIST, ZKL_FOREVER);
    if (!play_await_frame(p, is_armed, "the watches") || !expires(p) ||
        !play_await_frame(p, is_armed_twice, "the watches of the new session") ||
        !play_await(p, step_has_one_node, play_in_time_ms(p) + LIMIT_MS,
                    "one node, of a new session") ||
        !play_holder_leaves(p) || !play_await_grant(p))
        return false;
    play_frames_end(p);
    return step_end_held(p);
}

/* An operator deletes one of its nodes: all are made anew. */
static bool run_anew(play *p) {
    char path[RAW_PATH_MAX];

    play_bid(p, PROTAGONIST, ZKL_FOREVER);
    if (!play_await_frame(p, is_armed, "the watches"))
        return false;
    if (raw_child_path(p->crew->raw, p->more_dirs[MORE - 1], 0, path))
        (void)raw_delete(p->crew->raw, path); /* it may have gone */
    if (!play_await_frame(p, is_armed_twice, "the watches of the new nodes") ||
        !play_await(p, step_has_one_node, play_in_time_ms(p) + LIMIT_MS, "one node, a new one") ||
        !play_waiter_joins(p) || !play_holder_leaves(p) || !play_await_grant(p))
        return false;
    play_frames_end(p);
    return step_end_held(p);
}

/* Two readers hold. When the nearer one leaves, the other is still in the way. */
static bool run_behind_readers(play *p) {
    play_bid(p, PROTAGONIST, ZKL_FOREVER);
    if (!play_await_frame(p, is_armed, "the watches") || !play_forerunner_leaves(p))
        return false;
    atomic_store(&p->holders_max, 1);
    if (!play_await_frame(p, has_watched, "the watch on the other") ||
        (step_has_one_node(p) && !play_waiter_joins(p)) || !play_holder_leaves(p) ||
        !play_await_grant(p))
        return false;
    play_frames_end(p);
    return step_end_held(p);
}

/* ---- of a node that stays when its hold is given up ---- */

static bool has_watched_its_own(play *p) {
    return proxy_answered(p->proxy, PROXY_GET, p->name) >= 1;
}

static bool becomes_idle(play *p) {
    return step_takes(p) && step_releases(p, false) &&
           play_await_frame(p, has_watched_its_own, "the watch on the node that stays");
}

/* Held again by the node that has stayed; later its time is over. */
static bool run_again(play *p) {
    const part *me = &p->parts[PROTAGONIST];

    if (!becomes_idle(p))
        return false;
    const int64_t token = atomic_load(&me->token);
    if (!step_takes(p))
        return false;
    if (p->mode == FAULT_NONE && atomic_load(&me->token) != token)
        return play_fail(p, "held again by another node");
    if (play_has_struck(p))
        return step_end_held(p);
    if (!step_releases(p, false) || !play_await_frame(p, is_deleted, "the delete"))
        return false;
    play_frames_end(p);
    return play_await_fault(p) &&
           play_await(p, step_has_no_node, play_in_time_ms(p), "no node after its time") &&
           step_comes_again(p);
}

/* What stays now would stay for longer than anybody waits. */
static bool closes_its_lock(play *p) {
    zkl_lock *l = p->parts[PROTAGONIST].lock;

    p->parts[PROTAGONIST].lock = NULL;
    return zkl_lock_close(l) == ZKL_OK || play_fail(p, "the lock is not closed");
}

/* Another gets it. The next acquire stands behind that one. */
static bool run_wanted(play *p) {
    return becomes_idle(p) && play_holder_comes(p, LIMIT_MS) &&
           waits_behind_the_holder(p, has_watched) && closes_its_lock(p);
}

/* The same; the node has been read once more, to see that its owner is asked to let go. */
static bool run_tried(play *p) {
    return becomes_idle(p) && play_holder_comes(p, 0) &&
           waits_behind_the_holder(p, has_watched_again) && closes_its_lock(p);
}

/* ---- of a semaphore ---- */

/* One permit. It stands in front, where it watches the directory. */
static bool run_front(play *p) {
    play_bid(p, PROTAGONIST, ZKL_FOREVER);
    if (!play_await_frame(p, has_listed_twice, "the watches on the directory") ||
        !play_holder_leaves(p) || !play_await_grant(p))
        return false;
    play_frames_end(p);
    return step_end_held(p);
}

/* One permit. Whom it watches is admitted, and marks its node; so it comes to the front. */
static bool run_behind(play *p) {
    play_bid(p, PROTAGONIST, ZKL_FOREVER);
    if (!play_await_frame(p, has_watched, "the watches") || !play_holder_leaves(p) ||
        !play_await_frame(p, has_listed_thrice, "the watches on the directory") ||
        !play_forerunner_leaves(p) || !play_await_grant(p))
        return false;
    play_frames_end(p);
    return step_end_held(p);
}

/*
 * Two permits, both out. The waiter watches the protagonist, which marks its node when it is
 * admitted. Without the mark the waiter would not see the permit that the holder gives up then.
 */
static bool run_mark(play *p) {
    play_bid(p, PROTAGONIST, ZKL_FOREVER);
    if (!play_await_frame(p, has_listed_twice, "the watches on the directory") ||
        (step_has_one_node(p) && !play_waiter_joins(p)) ||
        (p->has_waiter && !play_await_frame(p, has_listed_thrice, "the look at the waiter")) ||
        !play_forerunner_leaves(p) || !play_await_grant(p) ||
        (p->has_waiter && !play_await_frame(p, has_marked, "the mark")))
        return false;
    play_frames_end(p);
    return play_holder_leaves(p) && (!p->has_waiter || play_waiter_is_served(p)) &&
           step_end_held(p);
}

static zkl_err resize(void *lock) {
    return zkl_set_permits(lock, 2);
}

/* One permit, and then the holder makes a second one. */
static bool run_resized(play *p) {
    part *holder = &p->parts[HOLDER];

    play_bid(p, PROTAGONIST, ZKL_FOREVER);
    if (!play_await_frame(p, has_listed_twice, "the watches on the directory"))
        return false;
    atomic_store(&p->holders_max, 2);
    actor_begin(holder->actor, resize, holder->lock);
    zkl_err said = play_result(p, HOLDER, play_in_time_ms(p));
    if (said != ZKL_OK)
        return play_fail(p, "the holder's resize says %s", zkl_errname(said));
    if (!play_await_grant(p))
        return false;
    play_frames_end(p);
    return step_end_held(p) && play_holder_leaves(p);
}

/* It holds the only permit, and makes a second one, for the waiter. */
static bool run_resize(play *p) {
    part *me = &p->parts[PROTAGONIST];

    if (!step_takes(p) || !play_waiter_joins(p))
        return false;
    atomic_store(&p->holders_max, 2);
    actor_begin(me->actor, resize, me->lock);
    zkl_err said = play_result(p, PROTAGONIST, play_in_time_ms(p));
    if (said != ZKL_OK)
        return play_fail(p, "the resize %s",
                         said == ACTOR_BUSY ? "took too long" : zkl_errname(said));
    play_frames_end(p);
    p->given_up_ns = clock_ns();
    return play_waiter_is_served(p) && step_end_held(p);
}

const scenario Scenarios[SCENARIOS] = {
    {.name = "acquire free", .run = run_free, .has_no_directory = true, .beats = 1},
    {.name = "acquire contended", .run = run_contended, .is_taken = true, .beats = 1},
    {.name = "hand-off", .run = run_hand_off, .is_taken = true, .beats = 1},
    {.name = "read behind write",
     .run = run_hand_off,
     .kinds = {[PROTAGONIST] = ZKL_READ, [HOLDER] = ZKL_WRITE, [WAITER] = ZKL_WRITE},
     .is_taken = true,
     .beats = 1},
    {.name = "write behind read",
     .run = run_hand_off,
     .kinds = {[PROTAGONIST] = ZKL_WRITE, [HOLDER] = ZKL_READ, [WAITER] = ZKL_WRITE},
     .is_taken = true,
     .beats = 1},
    {.name = "write behind readers",
     .run = run_behind_readers,
     .kinds = {[PROTAGONIST] = ZKL_WRITE,
               [HOLDER] = ZKL_READ,
               [FORERUNNER] = ZKL_READ,
               [WAITER] = ZKL_WRITE},
     .is_taken = true,
     .has_forerunner = true,
     .beats = 1},
    {.name = "hold", .run = run_held, .beats = HELD_BEATS},
    {.name = "rest", .run = run_idle, .beats = 1, .pings = IDLE_PINGS},
    {.name = "try, free", .run = run_try_free, .beats = 1},
    {.name = "try, taken", .run = run_try_taken, .is_taken = true, .beats = 1},
    {.name = "timeout", .run = run_timeout, .is_taken = true, .beats = 1},
    {.name = "cancel", .run = run_cancel, .is_taken = true, .beats = 1},
    {.name = "release", .run = run_release, .beats = 1},
    {.name = "release_wait", .run = run_release_wait, .beats = 1},
    {.name = "release, told", .run = run_told_release, .beats = 1},
    {.name = "close", .run = run_close, .is_close = true, .beats = 1},
    {.name = "guarded write", .run = run_guarded, .beats = 1},
    {.name = "guarded writes, told", .run = run_told_writes, .beats = 1},
    {.name = "downgrade",
     .run = run_downgrade,
     .kinds = {[PROTAGONIST] = ZKL_WRITE, [WAITER] = ZKL_WRITE},
     .beats = 1},
    {.name = "linger, again", .run = run_again, .linger_ms = 2000, .beats = 1},
    {.name = "linger, wanted", .run = run_wanted, .linger_ms = 2 * LIMIT_MS, .beats = 1},
    {.name = "linger, tried", .run = run_tried, .linger_ms = 2 * LIMIT_MS, .beats = 1},
    {.name = "wanted", .run = run_told_wanted, .wants_to_know = true, .beats = 2},
    {.name = "ask", .run = run_ask, .is_taken = true, .beats = 1},
    {.name = "break", .run = run_break, .is_taken = true, .beats = 1},
    {.name = "broken", .run = run_broken, .loses_its_hold = true, .beats = 1},
    SCENARIO_ATTACHED,
    {.name = "return, waiting", .run = run_return_waiting, .is_taken = true, .beats = 3},
    {.name = "return, unsure", .run = run_return_unsure, .beats = 3},
    {.name = "expiry", .run = run_expiry, .is_taken = true, .loses_its_place = true, .beats = 2},
    {.name = "permit, free", .run = run_free, .permits = 1, .has_no_directory = true, .beats = 1},
    {.name = "permit, front", .run = run_front, .permits = 1, .is_taken = true, .beats = 1},
    {.name = "permit, behind",
     .run = run_behind,
     .permits = 1,
     .is_taken = true,
     .has_forerunner = true,
     .beats = 1},
    {.name = "permit, mark",
     .run = run_mark,
     .permits = 2,
     .is_taken = true,
     .has_forerunner = true,
     .beats = 1},
    {.name = "permit, resized",
     .run = run_resized,
     .permits = 1,
     .is_taken = true,
     .is_resized = true,
     .beats = 1},
    {.name = "set_permits", .run = run_resize, .permits = 1, .beats = 1},
    {.name = "acquire_all free",
     .run = run_free,
     .takes_several = true,
     .has_no_directory = true,
     .beats = 1},
    {.name = "acquire_all contended",
     .run = run_contended,
     .takes_several = true,
     .is_taken = true,
     .beats = 1},
    {.name = "acquire_all hand-off",
     .run = run_hand_off,
     .takes_several = true,
     .is_taken = true,
     .beats = 1},
    {.name = "acquire_all anew",
     .run = run_anew,
     .takes_several = true,
     .is_taken = true,
     .loses_its_place = true,
     .beats = 1},
};
