/*
 * What a session that has rested does where another in its place is hard to get: a server is
 * silent, or lets no further connection in, or is slow (unit.engine_succession, unit.engine_kept).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/client.h"
#include "support/ensemble.h"

#define T_MS 2000
#define REST_MS (2 * T_MS) /* the lease has lapsed then */
#define CLIENTS 6
#define ROUNDS 4

static int64_t time_to_acquire(client *c) {
    const int64_t begun_ms = clock_ms();
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    const int64_t took_ms = clock_ms() - begun_ms;
    CHECK_INT(client_release_wait(c), ZKL_OK);
    return took_ms;
}

static int by_time(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* One of three: of nine connects three go to it. The client library by itself needs two thirds of
 * T to leave it. */
static void a_silent_server_costs_a_moment(void) {
    client *clients[CLIENTS];
    int64_t took_ms[CLIENTS * ROUNDS];
    const unsigned leader = ensemble_leader(), silent = (leader + 1) % ENSEMBLE_SERVERS;
    const unsigned other = (leader + 2) % ENSEMBLE_SERVERS;
    size_t count = 0;

    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = client_open_at(ensemble_hosts(other), fresh_name("rest"), T_MS);
        REQUIRE_INT(zkl_session_set_hosts(clients[i]->session, server_hosts()), ZKL_OK);
        (void)time_to_acquire(clients[i]);
    }
    REQUIRE_INT(kill(server_process(silent), SIGSTOP), 0);
    for (size_t round = 0; round < ROUNDS; round++) {
        wait_out(REST_MS);
        for (size_t i = 0; i < CLIENTS; i++)
            took_ms[count++] = time_to_acquire(clients[i]);
    }
    REQUIRE_INT(kill(server_process(silent), SIGCONT), 0);
    qsort(took_ms, count, sizeof(took_ms[0]), by_time);
    printf("\n        %zu acquires after a rest: median %lld ms, longest %lld ms; ", count,
           (long long)took_ms[count / 2], (long long)took_ms[count - 1]);
    CHECK(took_ms[count / 2] < T_MS / 8);
    CHECK(took_ms[count * 9 / 10] < T_MS / 2);
    CHECK(took_ms[count - 1] < 2 * T_MS);
    for (size_t i = 0; i < CLIENTS; i++)
        client_close(clients[i]);
}

/* As beyond maxClientCnxns: it has rested, and no further connection is let in. */
static client *open_and_refuse(proxy *p) {
    client *c = client_open_at(proxy_hosts(p), fresh_name("rest"), T_MS);

    (void)time_to_acquire(c);
    wait_out(REST_MS);
    proxy_refuse(p, true);
    return c;
}

static void check_tries(client *c) {
    for (int i = 0; i < 2; i++) {
        wait_out(REST_MS);
        CHECK_INT(client_acquire(c, 0), ZKL_OK);
        CHECK_INT(client_release_wait(c), ZKL_OK);
    }
    CHECK(events_logged(c->events, "it is kept"));
    CHECK_INT(client_told(c, ZKL_EVENT_SUSPENDED), 0);
}

static void where_no_other_session_is_let_in_only_the_first_acquire_waits(void) {
    proxy *p = proxy_open(ensemble_hosts(0), "127.0.0.1");
    REQUIRE(p != NULL);
    client *c = open_and_refuse(p);

    const int64_t took_ms = time_to_acquire(c);
    printf("\n        the first took %lld ms; ", (long long)took_ms);
    CHECK_RANGE(took_ms, T_MS, 2 * T_MS);
    check_tries(c);
    client_close(c);
    proxy_close(p);
}

/* A try lasts for less than that takes. */
static void nor_does_any_try_but_the_first_fail(void) {
    proxy *p = proxy_open(ensemble_hosts(0), "127.0.0.1");
    REQUIRE(p != NULL);
    client *c = open_and_refuse(p);

    CHECK_INT(client_acquire(c, 0), ZKL_UNREACHABLE);
    check_tries(c);
    client_close(c);
    proxy_close(p);
}

static const test_case Cases[] = {
    {"a silent server costs a moment", a_silent_server_costs_a_moment},
    {"where no other session is let in only the first acquire waits",
     where_no_other_session_is_let_in_only_the_first_acquire_waits},
    {"nor does any try but the first fail", nor_does_any_try_but_the_first_fail},
};

int main(int argc, char **argv) {
    static const char *const options[] = {"--servers", "3", "--tick", "500", NULL};

    fixture_start(options);
    if (!server_is_ours()) {
        printf("rest: somebody else's servers cannot be stopped\n");
        return 77;
    }
    return TEST_MAIN(argc, argv, "rest", Cases);
}
