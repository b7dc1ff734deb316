/* See breaker.h. */
#include "support/breaker.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/clock.h"
#include "support/ensemble.h"
#include "support/main.h"
#include "support/wait.h"

#define LOOK_EVERY_MS 100
#define ANSWER_MS 200
/* A script that does nothing else takes a second or two. */
#define SCRIPT_MS (6 * SOON_MS)
#define RECOVER_MS (6 * SOON_MS)

static struct {
    const breaker_plan *plan;
    uint64_t random;
    enum {
        RESTING,
        BREAKING, /* the script is at work */
        BROKEN,
        MENDING, /* the script is at work */
        RECOVERING
    } state;
    int64_t due_ms; /* when to go on */
    pid_t script;
    int64_t script_until_ms;
    unsigned server; /* from 0 */
    size_t order[BREAKER_FAULTS_MAX], at, round;
    breaker_stroke *strokes; /* the last is under way unless RESTING */
    size_t count, room;
} Breaker;

static uint64_t draw(uint64_t below) {
    Breaker.random = Breaker.random * 6364136223846793005U + 1442695040888963407U;
    return (Breaker.random >> 33) % below;
}

/* The first round has only those that come first. */
static void begin_round(void) {
    Breaker.round = Breaker.count < Breaker.plan->first ? Breaker.plan->first : Breaker.plan->count;
    Breaker.at = 0;
    for (size_t i = 0; i < Breaker.round; i++)
        Breaker.order[i] = i;
    for (size_t i = Breaker.round; i-- > 1;) {
        const size_t other = draw(i + 1), kept = Breaker.order[i];

        Breaker.order[i] = Breaker.order[other];
        Breaker.order[other] = kept;
    }
}

static const breaker_fault *fault(void) {
    return &Breaker.plan->faults[Breaker.order[Breaker.at]];
}

static breaker_stroke *stroke(void) {
    return &Breaker.strokes[Breaker.count - 1];
}

static void start_script(const char *command, const char *kind) {
    const breaker_plan *p = Breaker.plan;
    char server[12];
    const char *argv[] = {
        p->script, command, "--dir", p->directory, kind ? kind : server, kind ? server : NULL,
        NULL};

    (void)snprintf(server, sizeof(server), "%u", Breaker.server + 1);
    REQUIRE_INT(posix_spawn(&Breaker.script, p->script, NULL, NULL, (char *const *)argv, environ),
                0);
    Breaker.script_until_ms = clock_ms() + SCRIPT_MS;
}

static bool script_has_ended(void) {
    int status = 0;
    const pid_t ended = waitpid(Breaker.script, &status, WNOHANG);

    if (ended == 0 && clock_ms() > Breaker.script_until_ms) {
        (void)kill(Breaker.script, SIGTERM);
        test_note("%s %s has not ended after %d ms: %s, server %u", Breaker.plan->script,
                  Breaker.state == BREAKING ? "fault" : "heal", SCRIPT_MS, fault()->what,
                  Breaker.server + 1);
        REQUIRE(false);
    }
    if (ended == 0)
        return false;
    REQUIRE_INT(ended, Breaker.script);
    REQUIRE_INT(status, 0);
    return true;
}

static void go_on_in(int64_t ms) {
    Breaker.due_ms = clock_ms() + ms;
}

static unsigned choose_server(const ensemble_view *view) {
    switch (fault()->role) {
    case BREAKER_LEADER:
        return view->leader;
    case BREAKER_FOLLOWER:
        return (view->leader + 1 + (unsigned)draw(2)) % ENSEMBLE_SERVERS;
    case BREAKER_BUSIEST:
        return view->busiest;
    case BREAKER_ANY:
        return (unsigned)draw(ENSEMBLE_SERVERS);
    }
    abort();
}

static void break_one(void) {
    ensemble_view view = {0};

    if (!ensemble_serves(&view, ANSWER_MS)) {
        go_on_in(LOOK_EVERY_MS);
        return;
    }
    if (Breaker.count == Breaker.room) {
        Breaker.room = 2 * Breaker.room + 16;
        Breaker.strokes = realloc(Breaker.strokes, Breaker.room * sizeof(*Breaker.strokes));
        REQUIRE(Breaker.strokes != NULL);
    }
    Breaker.count++;
    *stroke() = (breaker_stroke){.fault = Breaker.order[Breaker.at], .from_ns = clock_ns()};
    Breaker.server = choose_server(&view);
    start_script("fault", fault()->kind);
    Breaker.state = BREAKING;
}

static void look_for_recovery(void) {
    const int64_t now_ns = clock_ns();
    ensemble_view view = {0};

    if (!ensemble_serves(&view, ANSWER_MS)) {
        REQUIRE(now_ns - stroke()->healed_ns < RECOVER_MS * NS_PER_MS);
        go_on_in(LOOK_EVERY_MS);
        return;
    }
    stroke()->until_ns = now_ns;
    if (++Breaker.at == Breaker.round)
        begin_round();
    Breaker.state = RESTING;
    go_on_in(Breaker.plan->rest_ms);
}

void breaker_begin(const breaker_plan *plan, uint64_t seed) {
    REQUIRE(plan->count <= BREAKER_FAULTS_MAX && plan->first <= plan->count);
    Breaker.plan = plan;
    Breaker.random = seed;
    begin_round();
    Breaker.state = RESTING;
    go_on_in(Breaker.plan->rest_ms);
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
            go_on_in(fault()->min_ms +
                     (int64_t)draw((uint64_t)(fault()->max_ms - fault()->min_ms) + 1));
        }
        break;
    case BROKEN:
        start_script("heal", NULL);
        Breaker.state = MENDING;
        break;
    case MENDING:
        if (script_has_ended()) {
            Breaker.state = RECOVERING;
            stroke()->healed_ns = clock_ns();
        }
        break;
    case RECOVERING:
        look_for_recovery();
        break;
    }
}

void breaker_hurry(void) {
    if (!breaker_rests())
        return;
    go_on_in(0);
    breaker_step();
}

bool breaker_rests(void) {
    return Breaker.state == RESTING;
}

void breaker_end(void) {
    if (breaker_rests())
        return;
    WAIT_UNTIL((breaker_step(), breaker_rests()), 2 * SCRIPT_MS + fault()->max_ms + RECOVER_MS);
}

const breaker_stroke *breaker_strokes(size_t *ret_count) {
    *ret_count = Breaker.count - (Breaker.count > 0 && !breaker_rests());
    return Breaker.strokes;
}
