/*
 * A session that the server has made long before the client hears of it. The servers' clock for the
 * session runs from when it was made; a lease that ran from the reply would outlive the session.
 */
#include "support/client.h"

#define T_MS 9000
/* Below T/3, at which a lease would not be ample, and 2/3 of T, at which the client gives up. */
#define LATE_MS (T_MS / 4)

struct opening {
    const char *hosts, *name;
    zkl_session *session;
    zkl_lock *lock;
    int64_t looked_ms, remaining_ms;
};

/* On one thread, to which the hold belongs. It looks before heartbeats can have proved anything,
 * which takes 3/8 of T. */
static zkl_err open_and_hold(void *arg) {
    struct opening *o = arg;
    const zkl_session_options options = ZKL_SESSION_OPTIONS(.session_timeout_ms = T_MS,
                                                            .connect_timeout_ms = 3 * SOON_MS,
                                                            .root = fixture_root(),
                                                            .keep_session = true);
    zkl_err err = zkl_session_open(&o->session, o->hosts, &options);

    if (err == ZKL_OK)
        err = zkl_lock_open(&o->lock, o->session, o->name, NULL);
    if (err == ZKL_OK)
        err = zkl_acquire(o->lock, SOON_MS);
    o->looked_ms = clock_ms();
    o->remaining_ms = zkl_remaining_ms(o->lock);
    return err;
}

static void the_lease_of_a_new_session_counts_from_before_it_was_made(void) {
    const proxy_fault late = {
        .direction = PROXY_TO_CLIENT, .kind = PROXY_CONNECT, .nth = 1, .action = PROXY_HOLD_FRAME};
    proxy *p = proxy_new();
    struct opening o = {.hosts = proxy_hosts(p), .name = fresh_name("late")};
    actor *a = actor_new();

    proxy_set_fault(p, &late);
    actor_begin(a, open_and_hold, &o);
    WAIT_UNTIL(proxy_struck_ns(p) != 0, SOON_MS);
    int64_t made_ms = clock_ms(); /* or before */
    WAIT_UNTIL(clock_ms() >= made_ms + LATE_MS, SOON_MS);
    int64_t released_ms = clock_ms();
    proxy_hold(p, PROXY_TO_CLIENT, false);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    CHECK_INT(proxy_connects(p), 1);
    CHECK_INT(zkl_session_timeout_ms(o.session), T_MS);
    CHECK_RANGE(o.looked_ms, released_ms, released_ms + T_MS / 4);
    test_note("%lld ms after the session was made, %lld of %d ms are certain",
              (long long)(o.looked_ms - made_ms), (long long)o.remaining_ms, T_MS);
    CHECK(o.remaining_ms > 0);
    CHECK(o.looked_ms + o.remaining_ms <= made_ms + T_MS);
    actor_free(a);
    lock_close(o.lock);
    session_close(o.session);
    proxy_close(p);
}

static const test_case Cases[] = {
    {"the lease of a new session counts from before it was made",
     the_lease_of_a_new_session_counts_from_before_it_was_made},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "late_reply", Cases);
}
