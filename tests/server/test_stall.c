/*
 * The disks of all servers stand still for a while: nothing is committed, and no server is silent.
 * A client that knows several servers takes that for silence, and drops its connection. What a hold
 * survives without that, which is how it is with one server in the list, it survives with it.
 */
#include <stdio.h>

#include "support/client.h"
#include "support/ensemble.h"
#include "support/silence.h"

#define T_MS 2000
#define EACH 4          /* holders of a kind */
#define TENTHS_MAX 6    /* of T */
#define KEPT_TENTHS 4   /* so long a stall costs no hold at all */
#define CALM_TENTHS 5   /* and the client library drops nothing: for that it takes two thirds */
#define SETTLES_MS T_MS /* after a stall */

struct kind {
    client *clients[EACH];
    zkl_hold holds[EACH];
    size_t kept, dropped;
};

static void open_kind(struct kind *kind, const char *hosts) {
    for (size_t i = 0; i < EACH; i++) {
        client *c = client_open_at(hosts, fresh_name("stall"), T_MS);
        REQUIRE_INT(zkl_session_timeout_ms(c->session), T_MS);
        REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
        kind->clients[i] = c;
        kind->holds[i] = actor_hold(c->actor, c->lock);
    }
}

static void close_kind(struct kind *kind) {
    for (size_t i = 0; i < EACH; i++) {
        kind->kept += zkl_hold_valid(kind->clients[i]->lock, kind->holds[i]);
        kind->dropped += client_told(kind->clients[i], ZKL_EVENT_SUSPENDED) > 0;
        client_close(kind->clients[i]);
    }
}

static void stall_all(bool on) {
    for (unsigned i = 0; i < ENSEMBLE_SERVERS; i++)
        ensemble_stall(i, on);
}

static void play(struct kind kinds[2], int tenths) {
    const unsigned leader = ensemble_leader();

    open_kind(&kinds[0], ensemble_hosts((leader + 1) % ENSEMBLE_SERVERS));
    open_kind(&kinds[1], server_hosts());
    wait_out(T_MS / 2); /* they beat steadily, and know their sockets */
    stall_all(true);
    wait_out(T_MS * tenths / 10);
    stall_all(false);
    wait_out(SETTLES_MS);
    close_kind(&kinds[0]);
    close_kind(&kinds[1]);
}

static void a_stall_costs_no_more_than_without_drops(void) {
    const size_t rounds = silence_rounds();

    printf("\n\n  stall in T | holds | kept, one server in the list | kept, three | dropped\n");
    for (int tenths = 1; tenths <= TENTHS_MAX; tenths++) {
        struct kind kinds[2] = {{.kept = 0}, {.kept = 0}};

        for (size_t round = 0; round < rounds; round++)
            play(kinds, tenths);
        printf("  0.%d | %zu | %zu | %zu | %zu\n", tenths, rounds * EACH, kinds[0].kept,
               kinds[1].kept, kinds[1].dropped);
        if (tenths <= CALM_TENTHS)
            CHECK_INT(kinds[0].dropped, 0); /* or it would not be what it is compared with */
        CHECK(kinds[1].kept >= kinds[0].kept);
        if (tenths <= KEPT_TENTHS)
            CHECK_INT(kinds[1].kept, rounds * EACH);
        if (tenths >= KEPT_TENTHS)
            CHECK_INT(kinds[1].dropped, rounds * EACH); /* or nothing was compared */
    }
    printf("\n");
}

static const test_case Cases[] = {
    {"disks that stall cost no hold that is kept without drops",
     a_stall_costs_no_more_than_without_drops},
};

int main(int argc, char **argv) {
    static const char *const options[] = {"--servers", "3", "--tick", "1000", NULL};

    fixture_start(options);
    if (!server_is_ours()) {
        printf("stall: somebody else's servers cannot be stopped\n");
        return 77;
    }
    return TEST_MAIN(argc, argv, "stall", Cases);
}
