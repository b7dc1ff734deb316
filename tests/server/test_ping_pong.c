/*
 * T18: elsewhere a release wakes the next one before what the last one had is cleared away, and
 * the lease of the one is overwritten by the end of the other's. Threads that share a handle
 * acquire and release as fast as they can, with every way of releasing there is, while somebody
 * else gives up their old holds again and again. ThreadSanitizer has something to look at here,
 * too.
 */
#include "support/client.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
    THREADS = 4,
    ROUNDS = 200
};

typedef struct table {
    zkl_lock *lock;
    atomic_int inside, mistakes;
    atomic_int_fast64_t last_token;
    atomic_uint_fast64_t last_hold; /* given up by its holder */
    atomic_bool over;
    _Atomic(const char *) first_mistake;
} table;

typedef struct player {
    table *table;
    unsigned number;
} player;

static void expect(table *t, bool condition, const char *claim) {
    const char *none = NULL;

    if (condition)
        return;
    (void)atomic_fetch_add(&t->mistakes, 1);
    (void)atomic_compare_exchange_strong(&t->first_mistake, &none, claim);
}
#define EXPECT(t, condition) expect(t, condition, #condition)

static zkl_err give_up(zkl_lock *l, zkl_hold hold, unsigned way) {
    switch (way % 3) {
    case 0:
        return zkl_release(l);
    case 1:
        return zkl_release_hold(l, hold);
    default:
        return zkl_release_wait(l, SOON_MS);
    }
}

static zkl_err play(void *arg) {
    const player *p = arg;
    table *t = p->table;

    for (unsigned i = 0; i < ROUNDS; i++) {
        const zkl_err err = zkl_acquire(t->lock, 3 * SOON_MS);

        if (err != ZKL_OK)
            return err;
        zkl_hold hold = zkl_hold_of(t->lock);
        EXPECT(t, atomic_fetch_add(&t->inside, 1) == 0);
        EXPECT(t, hold != 0 && hold != atomic_load(&t->last_hold));
        EXPECT(t, !zkl_hold_valid(t->lock, atomic_load(&t->last_hold)));
        EXPECT(t, zkl_token(t->lock) > atomic_exchange(&t->last_token, zkl_token(t->lock)));
        EXPECT(t, zkl_held(t->lock) && zkl_hold_valid(t->lock, hold));
        atomic_store(&t->last_hold, hold);
        (void)atomic_fetch_sub(&t->inside, 1);
        EXPECT(t, give_up(t->lock, hold, i + p->number) == ZKL_OK);
        /* By now it may be anybody's. */
        EXPECT(t, !zkl_held(t->lock) && !zkl_hold_valid(t->lock, hold));
        EXPECT(t, zkl_hold_of(t->lock) == 0 && zkl_token(t->lock) == 0);
        EXPECT(t, zkl_release(t->lock) == ZKL_NOT_HELD);
        EXPECT(t, zkl_release_hold(t->lock, hold) == ZKL_NOT_HELD);
    }
    return ZKL_OK;
}

/* Gives up holds that are over. The one that is not is never older than the last but one. */
static zkl_err meddle(void *arg) {
    table *t = arg;
    zkl_hold before = 0;

    while (!atomic_load(&t->over)) {
        const zkl_hold last = atomic_load(&t->last_hold);

        if (last != before && before != 0) {
            EXPECT(t, zkl_release_hold(t->lock, before) == ZKL_NOT_HELD);
            EXPECT(t, !zkl_hold_valid(t->lock, before));
        }
        before = last;
        wait_pause();
    }
    return ZKL_OK;
}

static void ping_pong(const char *name, bool with_another_process) {
    client *c = client_open(name, T_LONG), *other = client_open(name, T_LONG);
    table t = {.lock = c->lock}, other_table = {.lock = other->lock};
    player players[THREADS + 1];
    actor *actors[THREADS + 1], *meddler = actor_new();
    const size_t count = THREADS + (with_another_process ? 1 : 0);

    actor_begin(meddler, meddle, &t);
    for (size_t i = 0; i < count; i++) {
        players[i] = (player){i < THREADS ? &t : &other_table, (unsigned)i};
        actors[i] = actor_new();
        actor_begin(actors[i], play, &players[i]);
    }
    for (size_t i = 0; i < count; i++) {
        CHECK_INT(actor_result(actors[i], 6 * SOON_MS), ZKL_OK);
        actor_free(actors[i]);
    }
    atomic_store(&t.over, true);
    CHECK_INT(actor_result(meddler, SOON_MS), ZKL_OK);
    actor_free(meddler);
    CHECK_INT(atomic_load(&t.mistakes), 0);
    CHECK_INT(atomic_load(&other_table.mistakes), 0);
    if (atomic_load(&t.first_mistake))
        test_note("the first mistake: %s", atomic_load(&t.first_mistake));
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    client_close(other);
    client_close(c);
}

static void threads_of_one_handle(void) {
    ping_pong(fresh_name("threads"), false);
}

static void threads_of_one_handle_and_another_session(void) {
    ping_pong(fresh_name("sessions"), true);
}

static const test_case Cases[] = {
    {"a release is over before the next hold begins (T18)", threads_of_one_handle},
    {"also with another session in the queue (T18)", threads_of_one_handle_and_another_session},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "ping_pong", Cases);
}
