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

static bool is_marked(play *p) {
    char path[RAW_PATH_MAX], data[1024] = "";
    size_t size = sizeof(data) - 1;
    return raw_child_path(p->crew->raw, p->dir, 0, path) &&
           raw_get(p->crew->raw, path, data, &size, NULL) == RAW_OK &&
           strstr(data, " ask=1") != NULL;
}

bool run_ask(play *p) {
    actor_begin(p->parts[PROTAGONIST].actor, ask, p);
    const zkl_err said = play_result(p, PROTAGONIST, LIMIT_MS);
    const bool is_cut_short = play_has_struck(p) && said == ZKL_UNREACHABLE; /* while it looked */
    if (said != ZKL_OK && !is_cut_short && (play_is_gentle(p) || said != ZKL_NOT_HELD))
        return play_fail(p, "asking says %s", said == ACTOR_BUSY ? "nothing" : zkl_errname(said));
    if (said == ZKL_OK && !is_marked(p))
        return play_fail(p, "asking says OK, and the holder's node has no mark");
    play_frames_end(p);
    return play_await_fault(p) && play_holder_leaves(p) && step_comes_again(p);
}
