/* See steps.h. */
#include "steps.h"

bool step_has_one_node(play *p) {
    return play_ours(p) == 1;
}

bool step_has_no_node(play *p) {
    return play_ours(p) == 0;
}

static bool has_its_node(play *p) {
    const bool is_valid = play_is_valid(p, PROTAGONIST);

    return play_ours(p) == (is_valid ? 1 : 0) && is_valid == play_is_valid(p, PROTAGONIST);
}

bool step_is_told_of_the_loss(play *p) {
    return events_count(p->events, ZKL_EVENT_LOST) >= 1;
}

static bool has_timeout_passed(play *p) {
    return clock_ns() >= proxy_struck_ns(p->proxy) + p->timeout_ms * NS_PER_MS;
}

bool step_comes_again(play *p) {
    play_bid(p, PROTAGONIST, LIMIT_MS);
    if (!play_await_grant(p) ||
        !play_await(p, has_its_node, play_in_time_ms(p), "one node when it has come again"))
        return false;
    zkl_err err = play_release_wait(p);
    return err == ZKL_OK || (err == ZKL_LOST && !play_is_gentle(p)) ||
           play_fail(p, "the last release says %s", zkl_errname(err));
}

/* Without a word from the server for T, what was held before is not held any more. */
static bool is_lost_in_time(play *p) {
    if (p->mode != FAULT_STALL_LONG && p->mode != FAULT_BLACKOUT)
        return true;
    if (!play_await_strike(p))
        return false;
    if (atomic_load(&p->parts[PROTAGONIST].granted_ns) > proxy_struck_ns(p->proxy))
        return true;
    return play_await(p, has_timeout_passed, 2 * p->timeout_ms, "the timeout") &&
           (!play_is_valid(p, PROTAGONIST) ||
            play_fail(p, "held for longer than T after the stall began"));
}

/* The fault is over. Kept if gentle; told of, if lost. */
static bool check_hold(play *p) {
    if (play_is_gentle(p) && !play_is_valid(p, PROTAGONIST))
        return play_fail(p, "the hold is lost");
    if (!play_is_valid(p, PROTAGONIST) &&
        !play_await(p, step_is_told_of_the_loss, SLACK_MS, "the news of the loss"))
        return false;
    return play_await(p, has_its_node, play_in_time_ms(p), "just the node of the hold");
}

bool step_releases(play *p, bool waits) {
    const int64_t began_ms = clock_ms();

    p->given_up_ns = clock_ns();
    zkl_err err = waits ? play_release_wait(p) : play_release(p);
    if (err != ZKL_OK && (err != ZKL_LOST || play_is_gentle(p)))
        return play_fail(p, "the release says %s", zkl_errname(err));
    if (!waits && clock_ms() - began_ms > SLACK_MS)
        return play_fail(p, "the release took %lld ms", (long long)(clock_ms() - began_ms));
    if (play_is_valid(p, PROTAGONIST))
        return play_fail(p, "held after its release");
    return true;
}

bool step_end_held(play *p) {
    return (p->has_waiter || play_waiter_joins(p)) && is_lost_in_time(p) && play_await_fault(p) &&
           check_hold(p) && step_releases(p, false) && play_waiter_is_served(p) &&
           step_comes_again(p);
}

bool step_end_waiting(play *p) {
    return (p->has_waiter || play_waiter_joins(p)) && play_await_fault(p) &&
           play_await(p, step_has_no_node, play_in_time_ms(p), "no node of a wait given up") &&
           play_holder_leaves(p) && play_waiter_is_served(p) && step_comes_again(p);
}

bool step_takes(play *p) {
    play_bid(p, PROTAGONIST, LIMIT_MS);
    return play_await_grant(p);
}
