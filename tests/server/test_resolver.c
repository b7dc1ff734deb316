/*
 * Name resolution that fails or hangs. The client library calls getaddrinfo on the thread that also
 * sends its pings, and unless told otherwise on every turn of its loop; this program's own
 * getaddrinfo stands before the C library's, which is how the outage is made.
 */
#include "support/client.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <string.h>

enum resolver {
    WORKS,
    FAILS,
    HANGS
};

/* Short, so that an outage lasts for longer than a session, and not so short that half a second in
 * which the machine or the servers stand still costs a hold: that is not what is tested. */
#define TIMEOUT_MS 2000

static _Atomic(enum resolver) Resolver;
static atomic_uint Lookups;

typedef int (*lookup_fn)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

__attribute__((visibility("default"))) int getaddrinfo(const char *restrict node,
                                                       const char *restrict service,
                                                       const struct addrinfo *restrict hints,
                                                       struct addrinfo **restrict ret) {
    lookup_fn next;
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");

    atomic_fetch_add(&Lookups, 1);
    while (atomic_load(&Resolver) == HANGS)
        wait_pause();
    if (atomic_load(&Resolver) == FAILS)
        return EAI_AGAIN;
    memcpy(&next, &symbol, sizeof(next));
    return next(node, service, hints, ret);
}

static void resolver_recover(void) {
    atomic_store(&Resolver, WORKS);
    fixture_recover();
}

static void hold_through(enum resolver outage) {
    client *c = client_open(fresh_name("names"), TIMEOUT_MS);
    zkl_hold hold;

    CHECK(atomic_load(&Lookups) > 0); /* ours is the one that is called */
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    hold = actor_hold(c->actor, c->lock);
    atomic_store(&Resolver, outage);
    CHECK_STAYS(zkl_hold_valid(c->lock, hold), 3 * TIMEOUT_MS);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    atomic_store(&Resolver, WORKS);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    CHECK_INT(client_told(c, ZKL_EVENT_SUSPENDED), 0);
    client_close(c);
}

static void a_resolver_that_fails_costs_no_hold(void) {
    hold_through(FAILS);
}

static void a_resolver_that_hangs_costs_no_hold(void) {
    hold_through(HANGS);
}

/* It hangs before there is any session: the client's own thread is never there to be asked. */
static void opening_does_not_wait_for_a_resolver(void) {
    zkl_session *s = NULL;
    const int64_t begun_ms = clock_ms();

    atomic_store(&Resolver, HANGS);
    CHECK_INT(zkl_session_open(&s, server_hosts(), &ZKL_SESSION_OPTIONS(.connect_timeout_ms = 300)),
              ZKL_UNREACHABLE);
    CHECK_RANGE(clock_ms() - begun_ms, 300, 2000);
    atomic_store(&Resolver, WORKS);
}

/* T23: it is asked for the new list without a lock of the library's, and not by the thread that
 * sends the heartbeats; nothing else has to wait. */
static void a_new_list_does_not_wait_for_a_resolver(void) {
    client *c = client_open(fresh_name("list"), TIMEOUT_MS);
    const unsigned lookups = atomic_load(&Lookups);
    int64_t begun_ms;
    zkl_hold hold;

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    hold = actor_hold(c->actor, c->lock);
    atomic_store(&Resolver, HANGS);
    begun_ms = clock_ms();
    REQUIRE_INT(zkl_session_set_hosts(c->session, server_hosts()), ZKL_OK);
    CHECK_RANGE(clock_ms() - begun_ms, 0, 500);
    WAIT_UNTIL(atomic_load(&Lookups) > lookups, SOON_MS);
    CHECK_STAYS(zkl_hold_valid(c->lock, hold), 2 * TIMEOUT_MS);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    atomic_store(&Resolver, WORKS);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(c);
}

static const test_case Cases[] = {
    {"a resolver that fails costs no hold", a_resolver_that_fails_costs_no_hold},
    {"a resolver that hangs costs no hold", a_resolver_that_hangs_costs_no_hold},
    {"a new list of servers whose names hang holds up nothing (T23)",
     a_new_list_does_not_wait_for_a_resolver},
    {"opening does not wait for a resolver", opening_does_not_wait_for_a_resolver},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    test_after_each(resolver_recover);
    return TEST_MAIN(argc, argv, "resolver", Cases);
}
