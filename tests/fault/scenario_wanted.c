/* See scenario_wanted.h. */
#include "scenario_wanted.h"

#include <string.h>

#include "steps.h"

static bool has_looked(play *p) {
    return proxy_answered(p->proxy, PROXY_LIST, p->name) >= 2;
}

static bool is_told_or_over(play *p) {
    return events_count(p->events, ZKL_EVENT_WANTED) > 0 || !play_is_valid(p, PROTAGONIST);
}

bool run_told_wanted(play *p) {
    if (!step_takes(p) || !play_await_frame(p, has_looked, "the look at the queue") ||
        !play_waiter_joins(p) ||
        !play_await(p, is_told_or_over, play_in_time_ms(p), "that the hold is wanted"))
        return false;
    play_frames_end(p);
    return step_end_held(p);
}

static zkl_err ask(void *arg) {
    const play *p = arg;
    return zkl_ask(p->session, p->name);
}

static bool has_mark(play *p, const char *mark) {
    char path[RAW_PATH_MAX], data[1024] = "";
    size_t size = sizeof(data) - 1;
    return raw_child_path(p->crew->raw, p->dir, 0, path) &&
           raw_get(p->crew->raw, path, data, &size, NULL) == RAW_OK && strstr(data, mark) != NULL;
}

/* For those who look have lost their connection, too, where the server is what fails. */
static bool is_marked(play *p) {
    return has_mark(p, " ask=1");
}

bool run_ask(play *p) {
    actor_begin(p->parts[PROTAGONIST].actor, ask, p);
    const zkl_err said = play_result(p, PROTAGONIST, LIMIT_MS);
    const bool is_cut_short = play_has_struck(p) && said == ZKL_UNREACHABLE; /* while it looked */
    if (said != ZKL_OK && !is_cut_short && (play_is_gentle(p) || said != ZKL_NOT_HELD))
        return play_fail(p, "asking says %s", said == ACTOR_BUSY ? "nothing" : zkl_errname(said));
    if (said == ZKL_OK && !play_await(p, is_marked, play_in_time_ms(p), "the holder's mark"))
        return false;
    play_frames_end(p);
    return play_await_fault(p) && play_holder_leaves(p) && step_comes_again(p);
}

/* ---- A hold that is ended from outside ---- */

static bool is_taken(play *p) {
    return raw_child_count(p->crew->raw, p->dir) == 1;
}

/* Of the only node that stands in the queue. */
static zkl_err end_hold_by(zkl_session *session, const play *p) {
    char path[RAW_PATH_MAX];
    if (!raw_child_path(p->crew->raw, p->dir, 0, path))
        return ZKL_NOT_HELD;
    return zkl_break(session, p->name, strrchr(path, '/') + 1, LIMIT_MS);
}

static zkl_err end_the_holders(void *arg) {
    const play *p = arg;
    return end_hold_by(p->session, p);
}

static bool is_ending(play *p) {
    return has_mark(p, " break=1") || !play_is_valid(p, HOLDER);
}

/* Whatever happens on the way, it is done when it says so, and the holder knows. How often it looks
 * until then depends on the holder's next heartbeat: these are no frames of the scenario. */
bool run_break(play *p) {
    if (!play_await(p, is_taken, play_in_time_ms(p), "the holder's node"))
        return false;
    actor_begin(p->parts[PROTAGONIST].actor, end_the_holders, p);
    if (!play_await(p, is_ending, play_in_time_ms(p), "the holder's mark"))
        return false;
    play_frames_end(p);
    const zkl_err said = play_result(p, PROTAGONIST, LIMIT_MS);
    if (said != ZKL_OK)
        return play_fail(p, "the end of a hold says %s",
                         said == ACTOR_BUSY ? "nothing" : zkl_errname(said));
    if (play_is_valid(p, HOLDER) || raw_child_count(p->crew->raw, p->dir) != 0)
        return play_fail(p, "the end of a hold says OK, and it goes on");
    const zkl_err released = actor_release(p->parts[HOLDER].actor, p->parts[HOLDER].lock);
    if (released != ZKL_LOST)
        return play_fail(p, "the holder's release says %s", zkl_errname(released));
    return play_await_fault(p) && step_comes_again(p);
}

static zkl_err end_the_protagonists(void *arg) {
    const play *p = arg;
    return end_hold_by(p->crew->session, p);
}

/* It may be lost before, by the fault; the node may go with its session. */
bool run_broken(play *p) {
    if (!step_takes(p))
        return false;
    actor_begin(p->parts[HOLDER].actor, end_the_protagonists, p);
    const zkl_err said = play_result(p, HOLDER, LIMIT_MS);
    if (said != ZKL_OK && (said != ZKL_NOT_HELD || play_is_gentle(p)))
        return play_fail(p, "the end of a hold says %s",
                         said == ACTOR_BUSY ? "nothing" : zkl_errname(said));
    if (play_is_valid(p, PROTAGONIST))
        return play_fail(p, "it holds, and its hold has been ended");
    play_frames_end(p);
    const zkl_err released = play_release(p);
    if (released != ZKL_LOST)
        return play_fail(p, "the release says %s", zkl_errname(released));
    return play_await_fault(p) && step_comes_again(p);
}
