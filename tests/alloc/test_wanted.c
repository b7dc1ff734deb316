/* As test_calls.c, for holders that are told when others wait, and for asking them. */
#include "alloc/fail_each.h"

#define CURATOR "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-lock-"
/* What has failed at one heartbeat is tried at the next. */
#define SOME 3

static client *open_wanting(const char *name) {
    client *c = client_open_proxied(name, 1500); /* two heartbeats in 0.2 s */
    client_be_wanting(c, ZKL_MUTEX, 0);
    return c;
}

static void hold_while_others_come(void) {
    client *c = open_wanting("told");
    char other[RAW_PATH_MAX];

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    plant_contender(c->name, CURATOR, other);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_WANTED) == 1 || failing_failed() >= SOME, SOON_MS);
    failing_disarm();
    WAIT_UNTIL(client_told(c, ZKL_EVENT_WANTED) == 1, SOON_MS);
    uproot(other);
    finish(c, ZKL_OK);
}

static void a_holder_is_told_when_there_is_memory(void) {
    fail_each(hold_while_others_come);
}

static zkl_err call_ask(void *arg) {
    const client *c = arg;
    return zkl_ask(c->session, c->name);
}

/* A transaction for which there is no memory is tried again. */
static void ask_a_holder(void) {
    client *c = open_wanting("asked"), *other = client_open("asked", T_LONG);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    proxy_forget(c->proxy);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_LIST, NULL) > 0, SOON_MS);
    arm();
    actor_begin(other->actor, call_ask, other);
    WAIT_UNTIL(client_is_done(other) || failing_failed() >= SOME, SOON_MS);
    failing_disarm();
    const zkl_err err = client_result(other);
    check_nomem_or(err, ZKL_OK);
    if (err == ZKL_OK)
        WAIT_UNTIL(client_told(c, ZKL_EVENT_WANTED) == 1, SOON_MS);
    client_close(other);
    finish(c, ZKL_OK);
}

static void a_holder_is_asked_or_there_is_no_memory(void) {
    fail_each(ask_a_holder);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a holder is told when there is memory", a_holder_is_told_when_there_is_memory},
        {"a holder is asked, or there is no memory", a_holder_is_asked_or_there_is_no_memory},
    };
    return fail_each_main(argc, argv, "wanted", cases, COUNT(cases));
}
