/*
 * Several locks at once, by sixteen processes that want two to four of ten: nobody holds beside
 * another, no circle closes, and nothing is left of those that are killed.
 *
 * More of it: ZKLOCK_CROWD_ROUNDS=10000 server_several_processes "in any order"
 */
#include "server/crowd.h"

#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/random.h"
#include "support/scratch.h"

#define ROUNDS 625 /* of each process */
#define KILLS 24   /* at least */
#define STOPS 16
/* So many of these strike a process that holds for sure. */
#define KILLS_IN_A_HOLD 8
#define STOPS_IN_A_HOLD 8
/* So many are struck in a row; then so many are granted their locks. */
#define STROKE 3
#define GRANTS_BETWEEN 20
/* A machine that has other things to do may take several times as long. */
#define FAULTS_MAX_MS 120000
#define HOLD_MAX_MS 20 /* where processes are killed in it */
#define DEAD_MAX 16    /* whose sessions may still live */

struct player {
    pid_t pid;        /* 0: none */
    int64_t until_ms; /* it is stopped; 0: it runs */
};

struct dead {
    int64_t session, since_ms;
};

static struct {
    struct crowd *crowd;
    const char *prefix;
    char path[200];
    struct player players[CROWD_PROCESSES];
    struct dead dead[DEAD_MAX];
    size_t dead_count;
    uint64_t random;
    size_t strokes, kills, stops, killed_holders, stopped_holders, buried;
    size_t unexpected;
} Play;

/* ---- Processes ---- */

static void spawn(size_t number) {
    char text[24], parent[24];
    char *argv[] = {"/proc/self/exe",
                    "--worker",
                    text,
                    (char *)server_hosts(),
                    (char *)fixture_root(),
                    (char *)Play.prefix,
                    Play.path,
                    parent,
                    NULL};

    atomic_store(&Play.crowd->processes[number].session, 0);
    (void)snprintf(text, sizeof(text), "%zu", number);
    (void)snprintf(parent, sizeof(parent), "%ld", (long)getpid());
    Play.players[number] = (struct player){0};
    REQUIRE_INT(posix_spawn(&Play.players[number].pid, argv[0], NULL, NULL, argv, environ), 0);
}

static void begin(size_t rounds, int session_ms, int hold_max_ms) {
    static const struct crowd none;

    memset(&Play, 0, sizeof(Play));
    Play.prefix = fresh_name("crowd");
    Play.random = (uint64_t)clock_ns() | 1;
    (void)snprintf(Play.path, sizeof(Play.path), "%s", scratch_fresh("crowd"));
    scratch_write(Play.path, (const char *)&none, sizeof(none));
    Play.crowd = crowd_map(Play.path);
    REQUIRE(Play.crowd != NULL);
    Play.crowd->rounds = rounds;
    Play.crowd->session_ms = session_ms;
    Play.crowd->hold_max_ms = hold_max_ms;
    for (size_t i = 0; i < CROWD_PROCESSES; i++)
        spawn(i);
}

/* After each test, also one that failed. */
static void kill_all(void) {
    for (size_t i = 0; i < CROWD_PROCESSES; i++) {
        if (Play.players[i].pid == 0)
            continue;
        (void)kill(Play.players[i].pid, SIGKILL);
        (void)waitpid(Play.players[i].pid, NULL, 0);
        Play.players[i].pid = 0;
    }
    fixture_recover();
}

/* How many there are still. */
static size_t look_after_all(void) {
    size_t left = 0;

    for (size_t i = 0; i < CROWD_PROCESSES; i++) {
        struct player *p = &Play.players[i];
        int status;

        if (p->pid != 0 && waitpid(p->pid, &status, WNOHANG) == p->pid) {
            Play.unexpected += status != 0;
            p->pid = 0;
        }
        left += p->pid != 0;
    }
    return left;
}

static size_t grants(void) {
    size_t sum = 0;

    for (size_t i = 0; i < CROWD_PROCESSES; i++)
        sum += atomic_load(&Play.crowd->processes[i].grants);
    return sum;
}

/* ---- The end ---- */

static void check_deserted(void) {
    for (size_t i = 0; i < SUBSET_LOCKS; i++)
        WAIT_UNTIL(queue_length(crowd_lock(Play.prefix, i)) == 0, SOON_MS);
}

/* Returns how many holds were lost. */
static size_t check_all(int64_t began_ms) {
    size_t given_up = 0, lost = 0;
    int64_t longest_ms = 0;

    REQUIRE_INT(Play.unexpected, 0);
    check_deserted();
    for (size_t i = 0; i < CROWD_PROCESSES; i++) {
        const struct crowd_process *p = &Play.crowd->processes[i];

        given_up += atomic_load(&p->given_up);
        lost += atomic_load(&p->lost);
        if (atomic_load(&p->longest_ms) > longest_ms)
            longest_ms = atomic_load(&p->longest_ms);
    }
    test_note("%zu grants and %zu given up in %.1f s; at most %zu of %d processes held together, "
              "the longest wait took %" PRId64 " ms; %zu lost; %zu overlaps, %zu torn",
              grants(), given_up, (double)(clock_ms() - began_ms) / 1000,
              atomic_load(&Play.crowd->together_max), CROWD_PROCESSES, longest_ms, lost,
              atomic_load(&Play.crowd->overlaps), atomic_load(&Play.crowd->torn));
    CHECK_INT(atomic_load(&Play.crowd->overlaps), 0);
    CHECK_INT(atomic_load(&Play.crowd->torn), 0);
    CHECK(atomic_load(&Play.crowd->together_max) > 1); /* else there was nothing to be seen */
    CHECK(longest_ms < CROWD_TURN_MS);
    return lost;
}

/* ---- Rounds ---- */

static size_t rounds(void) {
    const char *wanted = getenv("ZKLOCK_CROWD_ROUNDS");
    const long number = wanted ? strtol(wanted, NULL, 10) : ROUNDS;

    return number > 0 ? (size_t)number : 1;
}

static void all_have_their_turns_and_none_beside_another_in_any_order(void) {
    const int64_t began_ms = clock_ms();
    size_t seen;

    begin(rounds(), T_LONG, 1);
    /* One that has had no turn in time says so, and ends; one that hangs ends the test here. */
    do {
        seen = grants();
        WAIT_UNTIL(look_after_all() == 0 || grants() > seen || Play.unexpected > 0, CROWD_TURN_MS);
    } while (look_after_all() > 0 && Play.unexpected == 0);
    CHECK_INT(check_all(began_ms), 0);
    CHECK(grants() > CROWD_PROCESSES * rounds() / 2);
}

/* ---- Faults ---- */

static bool runs(size_t number) {
    return Play.players[number].until_ms == 0;
}

static bool find_holder(size_t *ret_number) {
    const size_t first = random_draw(&Play.random, CROWD_PROCESSES);
    bool is_found = false;

    for (size_t i = 0; i < CROWD_PROCESSES && !is_found; i++) {
        *ret_number = (first + i) % CROWD_PROCESSES;
        is_found = runs(*ret_number) && crowd_has_claim(Play.crowd, *ret_number);
    }
    return is_found;
}

/* Its session goes on without it. So it is another's turn only when its claims are dropped. */
static void kill_player(size_t number) {
    int status;

    REQUIRE_INT(kill(Play.players[number].pid, SIGKILL), 0);
    REQUIRE_INT(waitpid(Play.players[number].pid, &status, 0), Play.players[number].pid);
    Play.players[number].pid = 0;
    CHECK(WIFSIGNALED(status));
    Play.kills++;
    Play.killed_holders += crowd_has_claim(Play.crowd, number);
    crowd_drop_claims(Play.crowd, number);
    const int64_t session = atomic_load(&Play.crowd->processes[number].session);
    if (session != 0)
        Play.dead[Play.dead_count++] = (struct dead){session, clock_ms()};
    spawn(number);
}

static void stop_player(size_t number) {
    struct player *p = &Play.players[number];
    int status;

    REQUIRE_INT(kill(p->pid, SIGSTOP), 0);
    REQUIRE_INT(waitpid(p->pid, &status, WUNTRACED), p->pid);
    CHECK(WIFSTOPPED(status));
    p->until_ms = clock_ms() + T_SHORT + T_SHORT / 5 + (int64_t)random_draw(&Play.random, T_SHORT);
    Play.stops++;
    Play.stopped_holders += crowd_has_claim(Play.crowd, number);
}

static void wake_those_due(int64_t now_ms) {
    for (size_t i = 0; i < CROWD_PROCESSES; i++) {
        struct player *p = &Play.players[i];

        if (p->until_ms == 0 || now_ms < p->until_ms)
            continue;
        p->until_ms = 0;
        REQUIRE_INT(kill(p->pid, SIGCONT), 0);
    }
}

static size_t nodes_of(int64_t session) {
    size_t count = 0;

    for (size_t i = 0; i < SUBSET_LOCKS; i++)
        count += queue_owned(crowd_lock(Play.prefix, i), session);
    return count;
}

/* The oldest, if its session is over by now. The server looks once a tick. */
static void bury_one(void) {
    const struct dead *d = &Play.dead[0];

    if (Play.dead_count == 0 ||
        (Play.dead_count < DEAD_MAX && clock_ms() < d->since_ms + 2 * T_SHORT))
        return;
    WAIT_UNTIL(nodes_of(d->session) == 0, 2 * T_SHORT + SOON_MS);
    memmove(&Play.dead[0], &Play.dead[1], --Play.dead_count * sizeof(Play.dead[0]));
    Play.buried++;
}

static bool has_enough(void) {
    return Play.kills >= KILLS && Play.stops >= STOPS && Play.killed_holders >= KILLS_IN_A_HOLD &&
           Play.stopped_holders >= STOPS_IN_A_HOLD;
}

/* What is due, other than faults. */
static void go_on(void) {
    wait_pause();
    REQUIRE_INT(look_after_all(), CROWD_PROCESSES);
    wake_those_due(clock_ms());
    bury_one();
}

/* One that holds, and others, which mostly wait: in turns two are killed and one is stopped, or the
 * other way round. */
static void strike(void) {
    size_t number;

    WAIT_UNTIL((go_on(), find_holder(&number)), CROWD_TURN_MS);
    for (size_t i = 0; i < STROKE; i++) {
        if (runs(number) && (Play.strokes + i) % 2 == 0)
            kill_player(number);
        else if (runs(number))
            stop_player(number);
        number = random_draw(&Play.random, CROWD_PROCESSES);
    }
    Play.strokes++;
}

/* The others have their turns, as soon as the dead have lost theirs. */
static void await_grants(size_t more) {
    const size_t seen = grants();

    WAIT_UNTIL((go_on(), grants() >= seen + more), 2 * CROWD_TURN_MS);
}

/* Each that lives has a turn again. */
static bool all_go_on(const size_t seen[CROWD_PROCESSES]) {
    size_t count = 0;

    for (size_t i = 0; i < CROWD_PROCESSES; i++)
        count += atomic_load(&Play.crowd->processes[i].grants) > seen[i];
    return count == CROWD_PROCESSES || look_after_all() < CROWD_PROCESSES;
}

static void finish(void) {
    size_t seen[CROWD_PROCESSES];

    wake_those_due(INT64_MAX);
    for (size_t i = 0; i < CROWD_PROCESSES; i++)
        seen[i] = atomic_load(&Play.crowd->processes[i].grants);
    WAIT_UNTIL(all_go_on(seen), 2 * CROWD_TURN_MS);
    while (Play.dead_count > 0)
        bury_one();
    atomic_store(&Play.crowd->is_end, true);
    WAIT_UNTIL(look_after_all() == 0, CROWD_TURN_MS + SOON_MS);
}

static void nothing_is_left_of_a_killed_or_stopped_one(void) {
    const int64_t began_ms = clock_ms();

    begin(0, T_SHORT, HOLD_MAX_MS);
    while (!has_enough() && Play.unexpected == 0 && clock_ms() < began_ms + FAULTS_MAX_MS) {
        await_grants(GRANTS_BETWEEN);
        strike();
    }
    CHECK(has_enough());
    finish();
    test_note("%zu killed, %zu of them in a hold; %zu stopped for more than T, %zu of them in a "
              "hold; of %zu that were killed the nodes have gone",
              Play.kills, Play.killed_holders, Play.stops, Play.stopped_holders, Play.buried);
    CHECK(check_all(began_ms) > 0); /* those that were stopped know it */
    CHECK(Play.buried > Play.kills / 2);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"all have their turns, and none beside another, in any order",
         all_have_their_turns_and_none_beside_another_in_any_order},
        {"nothing is left of a killed or stopped one, and the others go on",
         nothing_is_left_of_a_killed_or_stopped_one},
    };

    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return crowd_worker_main(argc, argv);
    fixture_start(NULL);
    test_after_each(kill_all);
    return TEST_MAIN(argc, argv, "several_processes", cases);
}
