/* As test_calls.c, for holds that are ended from outside. */
#include "alloc/fail_each.h"

#include <string.h>

/* Heartbeats that come to nothing, for there is no memory to read the node again. */
#define SOME 6

static client *Holder, *Operator;
static char Node[RAW_PATH_MAX];

static void open_both(const char *name) {
    Holder = client_open(name, 1500);
    Operator = client_open(name, T_LONG);
    REQUIRE_INT(client_acquire(Holder, SOON_MS), ZKL_OK);
    client_node(Holder, Node);
}

static zkl_err call_break(void *arg) {
    const client *c = arg;
    return zkl_break(c->session, c->name, strrchr(Node, '/') + 1, SOON_MS);
}

/* Its hold has ended, whether by the mark or, blind, with its lease. */
static void check_ended(void) {
    WAIT_UNTIL(client_told(Holder, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK_INT(client_release(Holder), ZKL_LOST);
    WAIT_UNTIL(client_nodes(Holder) == 0, SOON_MS);
    CHECK_INT(client_acquire(Holder, SOON_MS), ZKL_OK);
    check_holds(Holder);
    CHECK_INT(client_release_wait(Holder), ZKL_OK);
    client_close(Operator);
    client_close(Holder);
}

static void end_a_hold(void) {
    open_both("ended");
    arm();
    actor_begin(Operator->actor, call_break, Operator);
    WAIT_UNTIL(client_is_done(Operator) || failing_failed() >= SOME, SOON_MS);
    failing_disarm();
    const zkl_err err = client_result(Operator);
    check_nomem_or(err, ZKL_OK);
    if (err != ZKL_OK)
        CHECK_INT(call_break(Operator), ZKL_OK);
    check_ended();
}

static void a_hold_is_ended_or_there_is_no_memory(void) {
    fail_each(end_a_hold);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a hold is ended, or there is no memory", a_hold_is_ended_or_there_is_no_memory},
    };
    return fail_each_main(argc, argv, "break", cases, COUNT(cases));
}
