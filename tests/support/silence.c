/* See silence.h. */
#include "support/silence.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/client.h"
#include "support/ensemble.h"
#include "support/net.h"

#define HOLDERS_MAX 8
#define EACH 2 /* holders of a session timeout */
#define ATTEMPTS_MAX 200
#define WRITE_EACH_MS 10
#define ANSWER_MS 5000
/* A silence is over for a client when it has proved a lease by another server. */
#define LASTS(timeout_ms) ((timeout_ms)*3 / 2)

/* Holds survive where servers commit in time (docs/operations.md, "A silent server"). Whether they
 * do, a witness tells, which writes by the server that neither leads nor falls silent. */
#define IN_TIME_MS(timeout_ms) ((timeout_ms) / 24)

struct witness {
    pthread_t thread;
    raw *client; /* NULL: there is none */
    char path[RAW_PATH_MAX];
    atomic_bool stops;
    int64_t slowest_ms;
};

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

static void *write_on(void *arg) {
    struct witness *w = arg;

    while (!atomic_load(&w->stops)) {
        const int64_t begun_ms = clock_ms();
        const int result = raw_set(w->client, w->path, "", 0);
        const int64_t took_ms = result == RAW_OK ? clock_ms() - begun_ms : INT64_MAX;

        if (took_ms > w->slowest_ms)
            w->slowest_ms = took_ms;
        (void)poll(NULL, 0, WRITE_EACH_MS);
    }
    return NULL;
}

static void witness_begin(struct witness *w, unsigned server) {
    w->client = raw_open(netns_hosts(server), 4 * ANSWER_MS);
    REQUIRE(w->client != NULL);
    (void)snprintf(w->path, sizeof(w->path), "%s", lock_dir(fresh_name("witness")));
    REQUIRE_INT(raw_make_path(w->client, w->path), RAW_OK);
    REQUIRE_INT(pthread_create(&w->thread, NULL, write_on, w), 0);
}

static void witness_end(struct witness *w) {
    if (w->client == NULL)
        return;
    atomic_store(&w->stops, true);
    (void)pthread_join(w->thread, NULL);
    raw_close(w->client);
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

struct roles {
    unsigned leader, silent;
};

struct timeouts {
    const int *ms;
    size_t count;
    int shortest_ms, longest_ms;
};

struct outcome {
    int64_t longest_of_1000; /* of all rounds */
    int64_t slowest_ms;      /* write of the round's witness */
};

static bool is_valid(const struct holder *h) {
    return zkl_hold_valid(h->client->lock, h->hold);
}

/* Two heartbeats after the grant each knows the socket of its connection. */
static void hold_for_a_while(const struct holder *holders, size_t count, int longest_ms) {
    wait_out(longest_ms / 4);
    for (size_t i = 0; i < count; i++)
        REQUIRE(is_valid(&holders[i]));
}

/* Opens the holders, plays, and closes them. */
static size_t play_round(silence_kind kind, const struct roles *roles, const struct timeouts *t,
                         struct outcome *outcome) {
    struct holder holders[HOLDERS_MAX];
    struct witness witness = {.slowest_ms = 0};
    const size_t count = EACH * t->count;

    for (size_t i = 0; i < count; i++)
        open_holder(&holders[i], roles->silent, t->ms[i / EACH]);
    if (roles->silent != roles->leader)
        witness_begin(&witness, ENSEMBLE_SERVERS - roles->silent - roles->leader);
    hold_for_a_while(holders, count, t->longest_ms);
    begin(kind, roles->silent);
    const int64_t begun_ns = clock_ns();
    wait_out(LASTS(t->longest_ms));
    const size_t lost = count_lost(holders, count, begun_ns, &outcome->longest_of_1000);
    witness_end(&witness);
    end(kind, roles->silent);
    for (size_t i = 0; i < count; i++)
        client_close(holders[i].client);
    outcome->slowest_ms = witness.slowest_ms;
    return lost;
}

static struct roles cast(silence_role role, size_t round) {
    const unsigned leader = ensemble_leader(), step = 1 + (unsigned)(round % 2);

    return (struct roles){.leader = leader,
                          .silent = role == SILENCE_LEADER ? leader
                                                           : (leader + step) % ENSEMBLE_SERVERS};
}

size_t silence_play(silence_role role, silence_kind kind, size_t rounds, const int *timeouts_ms,
                    size_t count) {
    const char *what = kind == SILENCE_DARK ? "dark" : "frozen";
    const char *whom = role == SILENCE_LEADER ? "leader" : "follower";
    struct timeouts t = {.ms = timeouts_ms, .count = count, .shortest_ms = timeouts_ms[0]};
    struct outcome outcome = {0};
    int64_t slowest_ms = 0;
    size_t lost = 0, again = 0;

    REQUIRE(EACH * count <= HOLDERS_MAX);
    for (size_t i = 0; i < count; i++) {
        t.longest_ms = timeouts_ms[i] > t.longest_ms ? timeouts_ms[i] : t.longest_ms;
        t.shortest_ms = timeouts_ms[i] < t.shortest_ms ? timeouts_ms[i] : t.shortest_ms;
    }
    for (size_t round = 0; round < rounds;) {
        const struct roles roles = cast(role, round);
        const size_t now_lost = play_round(kind, &roles, &t, &outcome);

        if (now_lost > 0 && outcome.slowest_ms > IN_TIME_MS(t.shortest_ms) && again <= rounds) {
            test_note("%zu lost where a write took %lld ms: again", now_lost,
                      (long long)outcome.slowest_ms);
            again++;
            continue;
        }
        lost += now_lost;
        round++;
        if (outcome.slowest_ms > slowest_ms)
            slowest_ms = outcome.slowest_ms;
    }
    if (role == SILENCE_FOLLOWER)
        test_note("writes by the other one took %lld ms at the longest", (long long)slowest_ms);
    for (size_t i = 0; i < count; i++)
        test_note("%s %s, T = %d ms: %zu rounds", what, whom, timeouts_ms[i], rounds);
    test_note("%s %s: %zu holds, %zu lost; resumed after %lld thousandths of T at the longest",
              what, whom, rounds * EACH * count, lost, (long long)outcome.longest_of_1000);
    return lost;
}
