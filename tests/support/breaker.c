/* See breaker.h. */
#include "register/breaker.h"

#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/ensemble.h"
#include "support/main.h"
#include "support/net.h"
#include "support/wait.h"

#define KINDS 3
#define ROLES 2
#define SORTS (KINDS * ROLES)
/* Followers give a silent leader up after 2.5 s; some faults are over before, some long after. */
#define BROKEN_MIN_MS 1000
#define BROKEN_MAX_MS 6000
#define REST_MS 2000
#define LOOK_EVERY_MS 100
#define ANSWER_MS 200
#define RECOVER_MS (6 * SOON_MS)

static const char Script[] = ZKLOCK_SOURCE_DIR "/scripts/docker.sh";
static const char *const Kinds[KINDS] = {"pause", "kill", "cut"};

enum role {
    LEADER,
    FOLLOWER
};
static const char *const Roles[ROLES] = {"leader", "follower"};

static struct {
    const char *directory;
    uint64_t random;
    enum {
        RESTING,
        BREAKING, /* the script is at work */
        BROKEN,
        MENDING, /* the script is at work */
        RECOVERING
    } state;
    int64_t due_ms;   /* when to go on */
    int64_t since_ms; /* of RECOVERING */
    pid_t script;
    unsigned server; /* from 0 */
    unsigned order[SORTS], at;
    size_t done[KINDS][ROLES];
    int64_t recovery_ms_max[KINDS][ROLES];
} Breaker;

static uint64_t draw(uint64_t below) {
    Breaker.random = Breaker.random * 6364136223846793005U + 1442695040888963407U;
    return (Breaker.random >> 33) % below;
}

static void shuffle(void) {
    for (unsigned i = SORTS; i-- > 1;) {
        const unsigned other = (unsigned)draw(i + 1), kept = Breaker.order[i];

        Breaker.order[i] = Breaker.order[other];
        Breaker.order[other] = kept;
    }
}

static unsigned kind(void) {
    return Breaker.order[Breaker.at] / ROLES;
}

static unsigned role(void) {
    return Breaker.order[Breaker.at] % ROLES;
}

/* Whether all three serve under one leader. Asks no further than the first that does not. */
static bool find_leader(unsigned *ret_leader) {
    unsigned leaders = 0;

    for (unsigned i = 0; i < ENSEMBLE_SERVERS; i++) {
        char answer[4096];

        if (!net_ask(ensemble_hosts(i), "srvr", answer, sizeof(answer), ANSWER_MS))
            return false;
        if (strstr(answer, "Mode: leader")) {
            *ret_leader = i;
            leaders++;
        } else if (!strstr(answer, "Mode: follower")) {
            return false;
        }
    }
    return leaders == 1;
}

/* docker.sh COMMAND --dir DIRECTORY [KIND] SERVER */
static void start_script(const char *command, const char *what) {
    char server[12];
    const char *argv[] = {
        Script, command, "--dir", Breaker.directory, what ? what : server, what ? server : NULL,
        NULL};

    (void)snprintf(server, sizeof(server), "%u", Breaker.server + 1);
    REQUIRE_INT(posix_spawn(&Breaker.script, Script, NULL, NULL, (char *const *)argv, environ), 0);
}

static bool script_has_ended(void) {
    int status = 0;
    const pid_t ended = waitpid(Breaker.script, &status, WNOHANG);

    if (ended == 0)
        return false;
    REQUIRE_INT(ended, Breaker.script);
    REQUIRE_INT(status, 0);
    return true;
}

static void go_on_in(int64_t ms) {
    Breaker.due_ms = clock_ms() + ms;
}

static void break_one(void) {
    unsigned leader = 0;

    if (!find_leader(&leader)) {
        go_on_in(LOOK_EVERY_MS);
        return;
    }
    Breaker.server = leader;
    if (role() == FOLLOWER)
        Breaker.server = (leader + 1 + (unsigned)draw(2)) % ENSEMBLE_SERVERS;
    start_script("fault", Kinds[kind()]);
    Breaker.state = BREAKING;
}

static void look_for_recovery(void) {
    const int64_t took_ms = clock_ms() - Breaker.since_ms;
    unsigned leader = 0;

    if (!find_leader(&leader)) {
        REQUIRE(took_ms < RECOVER_MS);
        go_on_in(LOOK_EVERY_MS);
        return;
    }
    Breaker.done[kind()][role()]++;
    if (took_ms > Breaker.recovery_ms_max[kind()][role()])
        Breaker.recovery_ms_max[kind()][role()] = took_ms;
    if (++Breaker.at == SORTS) {
        Breaker.at = 0;
        shuffle();
    }
    Breaker.state = RESTING;
    go_on_in(REST_MS);
}

void breaker_begin(const char *directory, uint64_t seed) {
    Breaker.directory = directory;
    Breaker.random = seed;
    for (unsigned i = 0; i < SORTS; i++)
        Breaker.order[i] = i;
    shuffle();
    Breaker.state = RESTING;
    go_on_in(REST_MS);
}

void breaker_step(void) {
    if (clock_ms() < Breaker.due_ms)
        return;
    switch (Breaker.state) {
    case RESTING:
        break_one();
        break;
    case BREAKING:
        if (script_has_ended()) {
            Breaker.state = BROKEN;
            go_on_in(BROKEN_MIN_MS + (int64_t)draw(BROKEN_MAX_MS - BROKEN_MIN_MS));
        }
        break;
    case BROKEN:
        start_script("heal", NULL);
        Breaker.state = MENDING;
        break;
    case MENDING:
        if (script_has_ended()) {
            Breaker.state = RECOVERING;
            Breaker.since_ms = clock_ms();
        }
        break;
    case RECOVERING:
        look_for_recovery();
        break;
    }
}

bool breaker_rests(void) {
    return Breaker.state == RESTING;
}

bool breaker_has_done_all(void) {
    bool has_all = true;

    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned r = 0; r < ROLES; r++)
            has_all = has_all && Breaker.done[k][r] > 0;
    return has_all;
}

void breaker_end(void) {
    if (breaker_rests())
        return;
    WAIT_UNTIL((breaker_step(), breaker_rests()), BROKEN_MAX_MS + 2 * RECOVER_MS);
}

void breaker_report(void) {
    for (unsigned r = 0; r < ROLES; r++)
        for (unsigned k = 0; k < KINDS; k++)
            test_note("%s, %s: %zu times; all three served again %lld ms after its end at most",
                      Kinds[k], Roles[r], Breaker.done[k][r],
                      (long long)Breaker.recovery_ms_max[k][r]);
}
