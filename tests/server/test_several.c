/* Several locks at once: all of them or none, and nobody waits in a circle. */
#include "support/client.h"
#include "support/party.h"

#include <stdio.h>

#define SEVERAL 3

/* Names that no other test uses; static. */
static const char *const *fresh_names(void) {
    static const char *names[SEVERAL];

    for (size_t i = 0; i < SEVERAL; i++)
        names[i] = fresh_name("several");
    return names;
}

static party *open_mutexes(const char *const *names) {
    party *p = party_open_proxied(T_NORMAL);

    party_add_mutexes(p, names, SEVERAL);
    return p;
}

static size_t count_all(party *p, proxy_kind kind) {
    size_t count = 0;

    for (size_t i = 0; i < p->count; i++)
        count += proxy_count(p->proxy, kind, p->names[i]);
    return count;
}

static void check_deserted(party *p) {
    for (size_t i = 0; i < p->count; i++)
        WAIT_UNTIL(queue_length(p->names[i]) == 0, SOON_MS);
}

static void free_ones_are_one_write(void) {
    const char *const *names = fresh_names();
    party *p = open_mutexes(names), *keeper = party_open(T_NORMAL);

    for (size_t i = 0; i < SEVERAL; i++) /* their directories stay */
        party_add(keeper, names[i], ZKL_READ, 0);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    CHECK_INT(party_held(p), SEVERAL);
    CHECK_INT(party_nodes(p), SEVERAL);
    CHECK_INT(party_release(p), ZKL_OK);
    CHECK_INT(party_held(p), 0);
    check_deserted(p);
    proxy_forget(p->proxy);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    CHECK_INT(proxy_count(p->proxy, PROXY_MULTI, NULL), 1);
    CHECK_INT(count_all(p, PROXY_CREATE), 0);
    CHECK_INT(count_all(p, PROXY_LIST), SEVERAL);
    CHECK_INT(count_all(p, PROXY_GET), SEVERAL);
    for (size_t i = 1; i < SEVERAL; i++)
        CHECK_INT(actor_token(p->actor, p->locks[i]), actor_token(p->actor, p->locks[0]));
    CHECK(actor_token(p->actor, p->locks[0]) > 0);
    CHECK_INT(party_release(p), ZKL_OK);
    check_deserted(p);
    party_close(keeper);
    party_close(p);
}

static void one_that_is_taken_keeps_all(void) {
    const char *const *names = fresh_names();
    party *p = open_mutexes(names);

    for (size_t i = 0; i < SEVERAL; i++) {
        client *other = client_open(names[i], T_NORMAL);
        CHECK_INT(client_acquire(other, SOON_MS), ZKL_OK);
        CHECK_INT(party_acquire(p, 0), ZKL_BUSY);
        CHECK_INT(party_acquire(p, 200), ZKL_TIMEOUT);
        WAIT_UNTIL(party_nodes(p) == 0, SOON_MS);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(party_nodes(p) == SEVERAL, SOON_MS);
        CHECK_STAYS(!actor_is_done(p->actor), 100);
        CHECK_INT(client_release(other), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_OK);
        CHECK_INT(party_held(p), SEVERAL);
        CHECK_INT(client_acquire(other, 0), ZKL_BUSY);
        CHECK_INT(party_release(p), ZKL_OK);
        client_close(other);
    }
    check_deserted(p);
    party_close(p);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"free ones are one write", free_ones_are_one_write},
        {"one that is taken keeps all", one_that_is_taken_keeps_all},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "several", cases);
}
