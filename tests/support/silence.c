/* See silence.h. */
#include "support/silence.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/client.h"
#include "support/ensemble.h"
#include "support/net.h"

#define HOLDERS_MAX 8
#define EACH 2 /* holders of a session timeout */
#define ATTEMPTS_MAX 200
#define ANSWER_MS 5000
/* A silence is over for a client when it has proved a lease by another server. */
#define LASTS(timeout_ms) ((timeout_ms)*3 / 2)

struct holder {
    client *client;
    int timeout_ms;
    zkl_hold hold;
};

size_t silence_rounds(void) {
    const char *text = getenv("ZKLOCK_SILENT_ROUNDS");
    const size_t rounds = text == NULL ? 0 : strtoul(text, NULL, 10);
    return rounds == 0 ? 2 : rounds;
}

/* Whether the session's connection goes to this server. */
static bool is_at(unsigned server, zkl_session *s) {
    static char answer[1 << 16];
    char id[32];

    (void)snprintf(id, sizeof(id), "sid=0x%llx,", (unsigned long long)zkl_session_id(s));
    REQUIRE(net_ask(netns_hosts(server), "cons", answer, sizeof(answer), ANSWER_MS));
    return strstr(answer, id) != NULL;
}

/* The client library takes the servers in an order of its own. */
static void open_holder(struct holder *h, unsigned server, int timeout_ms) {
    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        client *c = client_open_at(server_hosts(), fresh_name("silent"), timeout_ms);

        if (is_at(server, c->session)) {
            *h = (struct holder){.client = c, .timeout_ms = timeout_ms};
            REQUIRE_INT(zkl_session_timeout_ms(c->session), timeout_ms);
            REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
            h->hold = actor_hold(c->actor, c->lock);
            return;
        }
        client_close(c);
    }
    REQUIRE(false);
}

static void begin(silence_kind kind, unsigned server) {
    if (kind == SILENCE_DARK)
        netns_darken(server);
    else
        REQUIRE(kill(server_process(server), SIGSTOP) == 0);
}

static void end(silence_kind kind, unsigned server) {
    if (kind == SILENCE_DARK)
        netns_heal();
    else
        REQUIRE(kill(server_process(server), SIGCONT) == 0);
}

/* How many of them are lost, and how long the connections of those that are not were broken. */
static size_t count_lost(const struct holder *holders, size_t count, int64_t begun_ns,
                         int64_t *longest_ms) {
    size_t lost = 0;

    for (size_t i = 0; i < count; i++) {
        const struct holder *h = &holders[i];
        int64_t resumed_ns = 0;

        if (!zkl_hold_valid(h->client->lock, h->hold)) {
            lost++;
            continue;
        }
        CHECK(client_told(h->client, ZKL_EVENT_SUSPENDED) >= 1);
        CHECK(events_get(h->client->events, ZKL_EVENT_RESUMED, 0, NULL, &resumed_ns));
        const int64_t took_ms = (resumed_ns - begun_ns) / NS_PER_MS * 1000 / h->timeout_ms;
        if (took_ms > *longest_ms)
            *longest_ms = took_ms;
    }
    return lost;
}

static bool is_valid(const struct holder *h) {
    return zkl_hold_valid(h->client->lock, h->hold);
}

/* Two heartbeats after the grant each knows the socket of its connection. */
static void hold_for_a_while(const struct holder *holders, size_t count, int longest_ms) {
    wait_out(longest_ms / 4);
    for (size_t i = 0; i < count; i++)
        REQUIRE(is_valid(&holders[i]));
}

static size_t play_round(silence_kind kind, unsigned server, struct holder *holders, size_t count,
                         int longest_ms, int64_t *longest_of_1000) {
    hold_for_a_while(holders, count, longest_ms);
    begin(kind, server);
    const int64_t begun_ns = clock_ns();
    wait_out(LASTS(longest_ms));
    const size_t lost = count_lost(holders, count, begun_ns, longest_of_1000);
    end(kind, server);
    return lost;
}

size_t silence_play(silence_role role, silence_kind kind, size_t rounds, const int *timeouts_ms,
                    size_t count) {
    const char *what = kind == SILENCE_DARK ? "dark" : "frozen";
    const char *whom = role == SILENCE_LEADER ? "leader" : "follower";
    size_t held = 0, lost = 0;
    int64_t longest_of_1000 = 0;
    int longest_ms = 0;

    REQUIRE(EACH * count <= HOLDERS_MAX);
    for (size_t i = 0; i < count; i++)
        longest_ms = timeouts_ms[i] > longest_ms ? timeouts_ms[i] : longest_ms;
    for (size_t round = 0; round < rounds; round++) {
        struct holder holders[HOLDERS_MAX];
        const unsigned leader = ensemble_leader(), step = 1 + (unsigned)(round % 2);
        const unsigned server = role == SILENCE_LEADER ? leader
                                                       : (leader + step) % ENSEMBLE_SERVERS;

        for (size_t i = 0; i < EACH * count; i++)
            open_holder(&holders[i], server, timeouts_ms[i / EACH]);
        lost += play_round(kind, server, holders, EACH * count, longest_ms, &longest_of_1000);
        held += EACH * count;
        for (size_t i = 0; i < EACH * count; i++)
            client_close(holders[i].client);
    }
    for (size_t i = 0; i < count; i++)
        test_note("%s %s, T = %d ms: %zu rounds", what, whom, timeouts_ms[i], rounds);
    test_note("%s %s: %zu holds, %zu lost; resumed after %lld thousandths of T at the longest",
              what, whom, held, lost, (long long)longest_of_1000);
    return lost;
}
