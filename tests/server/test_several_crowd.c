/* Several locks at once, by many clients that want some of few: nobody holds what another holds,
 * and no circle closes. */
#include "support/party.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    CLIENTS = 8,
    NAMES = 10,
    AT_ONCE_MAX = 4,
    ROUNDS = 60 /* of each client */
};

/* Within so much each has had its turn, but for a deadlock: a round takes some milliseconds. */
#define TURN_MS SOON_MS

typedef struct claim {
    zkl_lock *lock;
    zkl_hold hold; /* 0: none */
    bool is_reader;
} claim;

typedef struct crowd crowd;

typedef struct member {
    crowd *crowd;
    size_t number;
    party *party;   /* a handle of each name */
    uint64_t state; /* of the random numbers */
    size_t chosen[NAMES];
    zkl_lock *locks[AT_ONCE_MAX];
    all_call call;
} member;

struct crowd {
    member members[CLIENTS];
    pthread_mutex_t mutex; /* for what follows */
    claim claims[NAMES][CLIENTS];
    size_t conflicts, grants, given_up, lost, together_max;
    int64_t longest_ms;
    size_t finished;
};

static unsigned draw(member *m, unsigned below) {
    m->state = m->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(m->state >> 33) % below;
}

/* Readers on every third, so that each name has both. */
static bool is_reader(size_t client, size_t name) {
    return (client + name) % 3 == 0;
}

/* ---- Who holds what ---- */

static bool is_valid(const claim *c) {
    return c->hold != 0 && zkl_hold_valid(c->lock, c->hold);
}

/* A hold that is valid in the second look was so at the end of the first. */
static bool excludes(const claim *one, const claim *other) {
    return !(one->is_reader && other->is_reader) && is_valid(one) && is_valid(other) &&
           is_valid(one);
}

/* In the member's thread, which has just been granted them. */
static void note_claims(member *m, int64_t took_ms) {
    crowd *c = m->crowd;

    (void)pthread_mutex_lock(&c->mutex);
    c->grants++;
    c->longest_ms = took_ms > c->longest_ms ? took_ms : c->longest_ms;
    for (size_t i = 0; i < m->call.count; i++) {
        const size_t name = m->chosen[i];
        claim *mine = &c->claims[name][m->number];

        *mine = (claim){m->locks[i], zkl_hold_of(m->locks[i]), is_reader(m->number, name)};
        for (size_t k = 0; k < CLIENTS; k++)
            c->conflicts += k != m->number && excludes(mine, &c->claims[name][k]);
    }
    size_t together = 0;
    for (size_t k = 0; k < CLIENTS; k++)
        for (size_t name = 0, has_any = 0; name < NAMES && !has_any; name++)
            together += has_any = c->claims[name][k].hold != 0;
    c->together_max = together > c->together_max ? together : c->together_max;
    (void)pthread_mutex_unlock(&c->mutex);
}

static void drop_claims(member *m) {
    (void)pthread_mutex_lock(&m->crowd->mutex);
    for (size_t name = 0; name < NAMES; name++)
        m->crowd->claims[name][m->number].hold = 0;
    (void)pthread_mutex_unlock(&m->crowd->mutex);
}

static void count(crowd *c, size_t *what) {
    (void)pthread_mutex_lock(&c->mutex);
    ++*what;
    (void)pthread_mutex_unlock(&c->mutex);
}

static size_t look(crowd *c, const size_t *what) {
    (void)pthread_mutex_lock(&c->mutex);
    const size_t seen = *what;
    (void)pthread_mutex_unlock(&c->mutex);
    return seen;
}

/* ---- What each does ---- */

/* Some of the names, in any order: the first of a shuffled deck. */
static void choose(member *m) {
    m->call.count = 2 + draw(m, AT_ONCE_MAX - 1);
    for (size_t i = 0; i < NAMES; i++)
        m->chosen[i] = i;
    for (size_t i = 0; i < m->call.count; i++) {
        const size_t k = i + draw(m, (unsigned)(NAMES - i)), name = m->chosen[k];

        m->chosen[k] = m->chosen[i];
        m->chosen[i] = name;
        m->locks[i] = m->party->locks[name];
    }
}

/* Most wait for their turn; some try, give up soon, or want one alone. */
static zkl_err bid(member *m) {
    const unsigned dice = draw(m, 10);

    choose(m);
    m->call.locks = m->locks;
    m->call.timeout_ms = dice == 0 ? 0 : dice == 1 ? 10 : TURN_MS;
    if (dice != 2)
        return all_acquire(&m->call);
    m->call.count = 1;
    return zkl_acquire(m->locks[0], TURN_MS);
}

static zkl_err play_round(member *m) {
    const int64_t began_ms = clock_ms();
    zkl_err err = bid(m);

    if (m->call.timeout_ms != TURN_MS &&
        (err == ZKL_BUSY || err == ZKL_TIMEOUT || err == ZKL_UNREACHABLE)) {
        count(m->crowd, &m->crowd->given_up);
        return ZKL_OK;
    }
    if (err != ZKL_OK)
        return err;
    note_claims(m, clock_ms() - began_ms);
    wait_pause();
    drop_claims(m);
    err = all_release(&m->call);
    if (err != ZKL_LOST)
        return err;
    count(m->crowd, &m->crowd->lost);
    return ZKL_OK;
}

static zkl_err play(void *arg) {
    member *m = arg;
    zkl_err err = ZKL_OK;

    for (int i = 0; i < ROUNDS && err == ZKL_OK; i++)
        err = play_round(m);
    count(m->crowd, &m->crowd->finished);
    return err;
}

/* ---- All of it ---- */

static void crowd_open(crowd *c, uint64_t seed) {
    const char *names[NAMES];

    *c = (crowd){.mutex = PTHREAD_MUTEX_INITIALIZER};
    for (size_t i = 0; i < NAMES; i++)
        names[i] = fresh_name("crowd");
    for (size_t k = 0; k < CLIENTS; k++) {
        c->members[k] = (member){
            .crowd = c, .number = k, .party = party_open_proxied(T_NORMAL), .state = seed + k};
        for (size_t i = 0; i < NAMES; i++)
            party_add(c->members[k].party, names[i], is_reader(k, i) ? ZKL_READ : ZKL_MUTEX, 0);
    }
    for (size_t k = 0; k < CLIENTS; k++)
        actor_begin(c->members[k].party->actor, play, &c->members[k]);
}

/* How many nodes were made anew. */
static size_t crowd_close(crowd *c) {
    size_t requeued = 0;

    for (size_t k = 0; k < CLIENTS; k++)
        CHECK_INT(actor_result(c->members[k].party->actor, 3 * TURN_MS), ZKL_OK);
    party_check_deserted(c->members[0].party);
    for (size_t k = 0; k < CLIENTS; k++) {
        requeued += party_told(c->members[k].party, ZKL_EVENT_REQUEUED);
        party_close(c->members[k].party);
    }
    test_note("%zu grants and %zu given up; %zu held together, the longest wait took %lld ms; "
              "%zu lost, %zu nodes made anew",
              c->grants, c->given_up, c->together_max, (long long)c->longest_ms, c->lost, requeued);
    CHECK_INT(c->grants + c->given_up, CLIENTS * ROUNDS);
    CHECK(c->grants > CLIENTS * ROUNDS / 2);
    CHECK(c->together_max > 1); /* else there was nothing to be seen */
    CHECK(c->longest_ms < TURN_MS);
    return requeued;
}

static void check_nothing_lost(crowd *c) {
    CHECK_INT(crowd_close(c), 0);
    CHECK_INT(c->conflicts, 0);
    CHECK_INT(c->lost, 0);
}

static void nobody_holds_what_another_holds_and_all_have_their_turns(void) {
    static crowd c;

    crowd_open(&c, 1);
    check_nothing_lost(&c);
}

/* So many more grants, or the end. */
static bool await_grants(crowd *c, size_t more) {
    const size_t grants = look(c, &c->grants);

    WAIT_UNTIL(look(c, &c->grants) >= grants + more || look(c, &c->finished) == CLIENTS,
               3 * TURN_MS);
    return look(c, &c->finished) < CLIENTS;
}

static void so_it_is_while_connections_break(void) {
    static crowd c;
    size_t cuts = 0;

    crowd_open(&c, 2);
    while (await_grants(&c, 10))
        proxy_drop(c.members[cuts++ % CLIENTS].party->proxy);
    test_note("%zu connections cut", cuts);
    CHECK(cuts >= CLIENTS);
    check_nothing_lost(&c);
}

/* The last of those that stand in a queue, if any waits there. */
static bool delete_one(const char *name) {
    const size_t length = queue_length(name);
    char path[RAW_PATH_MAX];

    return length > 1 && raw_child_path(fixture_raw(), lock_dir(name), length - 1, path) &&
           raw_delete(fixture_raw(), path) == RAW_OK;
}

/* Were one made anew alone, two clients would soon wait for each other. (A node may be a holder's
 * by the time it is deleted. So who holds together with whom is no claim here.) */
static void all_have_their_turns_though_nodes_are_deleted(void) {
    static crowd c;
    size_t deleted = 0;

    crowd_open(&c, 3);
    for (size_t i = 0; await_grants(&c, 1); i++)
        deleted += delete_one(c.members[0].party->names[i % NAMES]);
    const size_t requeued = crowd_close(&c);
    test_note("%zu nodes deleted", deleted);
    CHECK(deleted > 10);
    CHECK(requeued > deleted);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"nobody holds what another holds, and all have their turns",
         nobody_holds_what_another_holds_and_all_have_their_turns},
        {"so it is while connections break", so_it_is_while_connections_break},
        {"all have their turns though nodes are deleted",
         all_have_their_turns_though_nodes_are_deleted},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "several_crowd", cases);
}
