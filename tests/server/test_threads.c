/* Many threads, handles and sessions of one process: the lock is what keeps a counter exact. */
#include "support/client.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
    THREADS = 8,
    ROUNDS = 40
};

struct user {
    zkl_lock *lock;
    atomic_int *counter;
    atomic_int *inside;
    int rounds;
};

/* A read and a write, on purpose not one operation: only the lock makes an increment of it. */
static zkl_err count(void *arg) {
    const struct user *u = arg;

    for (int i = 0; i < u->rounds; i++) {
        zkl_err err = zkl_acquire(u->lock, i % 2 ? 3 * SOON_MS : ZKL_FOREVER);

        if (err != ZKL_OK)
            return err;
        if (atomic_fetch_add(u->inside, 1) != 0)
            return ZKL_SERVER; /* two inside */
        int value = atomic_load(u->counter);
        if (i % 8 == 0)
            wait_pause();
        atomic_store(u->counter, value + 1);
        (void)atomic_fetch_sub(u->inside, 1);
        err = i % 3 ? zkl_release(u->lock) : zkl_release_wait(u->lock, 3 * SOON_MS);
        if (err != ZKL_OK)
            return err;
    }
    return ZKL_OK;
}

/* Each thread i counts with locks[i]; all for one lock name. */
static void check_counter_is_exact(zkl_lock *const *locks) {
    atomic_int counter = 0, inside = 0;
    actor *actors[THREADS];
    struct user users[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        users[i] = (struct user){locks[i], &counter, &inside, ROUNDS};
        actors[i] = actor_new();
        actor_begin(actors[i], count, &users[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        CHECK_INT(actor_result(actors[i], 6 * SOON_MS), ZKL_OK);
        actor_free(actors[i]);
    }
    CHECK_INT(atomic_load(&counter), THREADS * ROUNDS);
}

/* T18: elsewhere a release wakes the next before the state of the last is cleared. */
static void threads_on_one_handle_count_right(void) {
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    zkl_lock *l = lock_open(s, fresh_name("one-handle"), NULL), *locks[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        locks[i] = l;
    check_counter_is_exact(locks);
    lock_close(l);
    session_close(s);
}

/* T2 */
static void handles_of_one_session_count_right(void) {
    const char *name = fresh_name("one-session");
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    zkl_lock *locks[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        locks[i] = lock_open(s, name, NULL);
    check_counter_is_exact(locks);
    for (size_t i = 0; i < THREADS; i++)
        lock_close(locks[i]);
    session_close(s);
}

static void sessions_of_one_process_count_right(void) {
    const char *name = fresh_name("sessions");
    zkl_session *sessions[THREADS];
    zkl_lock *locks[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        sessions[i] = session_open(server_hosts(), T_LONG, NULL);
        locks[i] = lock_open(sessions[i], name, NULL);
    }
    check_counter_is_exact(locks);
    for (size_t i = 0; i < THREADS; i++) {
        lock_close(locks[i]);
        session_close(sessions[i]);
    }
}

/*
 * Not for long, because connections that each live shorter than T/4 cannot make a hold certain
 * beyond what it was.
 */
static void a_breaking_connection_loses_no_count(void) {
    enum {
        BREAKS = 30,
        TIMEOUT_MS = 15000
    };
    const char *name = fresh_name("breaking");
    client *one = client_open_proxied(name, TIMEOUT_MS),
           *two = client_open_proxied(name, TIMEOUT_MS);
    static atomic_int counter, inside;
    static struct user users[THREADS];
    actor *actors[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        users[i] = (struct user){i % 2 ? one->lock : two->lock, &counter, &inside, 2 * ROUNDS};
        actors[i] = actor_new();
        actor_begin(actors[i], count, &users[i]);
    }
    WAIT_UNTIL(atomic_load(&counter) > 0, SOON_MS);
    int before = atomic_load(&counter);
    for (int i = 0; i < BREAKS; i++)
        client_flap(i % 2 ? one : two);
    test_note("%d of %d increments in %d breaks", atomic_load(&counter) - before,
              THREADS * 2 * ROUNDS, BREAKS);
    for (size_t i = 0; i < THREADS; i++) {
        CHECK_INT(actor_result(actors[i], 3 * SOON_MS), ZKL_OK);
        actor_free(actors[i]);
    }
    CHECK_INT(atomic_load(&counter), THREADS * 2 * ROUNDS);
    CHECK_INT(client_told(one, ZKL_EVENT_LOST) + client_told(two, ZKL_EVENT_LOST), 0);
    client_close(two);
    client_close(one);
}

/* T18: the hold changes hands as fast as it can; nobody's release ends another's hold. */
static void a_ping_pong_on_one_handle_never_ends_anothers_hold(void) {
    enum {
        PINGS = 300
    };
    client *c = client_open(fresh_name("ping-pong"), T_LONG);
    actor *players[2] = {actor_new(), actor_new()};

    actor_acquire(players[0], c->lock, ZKL_FOREVER);
    REQUIRE_INT(actor_result(players[0], SOON_MS), ZKL_OK);
    zkl_hold hold = actor_hold(players[0], c->lock);
    for (int i = 0; i < PINGS; i++) {
        actor *holder = players[i % 2], *next = players[1 - i % 2];
        const zkl_hold old = hold;

        actor_acquire(next, c->lock, ZKL_FOREVER);
        if (i % 2)
            WAIT_UNTIL(actor_is_blocked(next), SOON_MS);
        CHECK(actor_held(holder, c->lock) && zkl_hold_valid(c->lock, old));
        CHECK_INT(actor_release(holder, c->lock), ZKL_OK);
        CHECK_INT(zkl_release_hold(c->lock, old), ZKL_NOT_HELD);
        REQUIRE_INT(actor_result(next, SOON_MS), ZKL_OK);
        hold = actor_hold(next, c->lock);
        CHECK(hold != 0 && hold != old);
        CHECK_INT(zkl_release_hold(c->lock, old), ZKL_NOT_HELD);
        CHECK_INT(actor_release(holder, c->lock), ZKL_NOT_HELD);
        CHECK(actor_held(next, c->lock));
    }
    actor_free(players[0]);
    actor_free(players[1]);
    client_close(c);
}

static void threads_of_a_handle_are_served_in_order(void) {
    enum {
        COUNT = 20
    };
    client *c = client_open(fresh_name("in-order"), T_LONG);
    actor *actors[COUNT];

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    for (size_t i = 0; i < COUNT; i++) {
        actors[i] = actor_new();
        actor_acquire(actors[i], c->lock, ZKL_FOREVER);
        WAIT_UNTIL(actor_is_blocked(actors[i]), SOON_MS); /* before the next one comes */
        CHECK(!actor_is_done(actors[i]));
    }
    CHECK_INT(client_release(c), ZKL_OK);
    for (size_t i = 0; i < COUNT; i++) {
        REQUIRE_INT(actor_result(actors[i], SOON_MS), ZKL_OK);
        for (size_t j = i + 1; j < COUNT; j++)
            CHECK(!actor_is_done(actors[j]));
        CHECK_INT(actor_release(actors[i], c->lock), ZKL_OK);
        actor_free(actors[i]);
    }
    client_close(c);
}

static const test_case Cases[] = {
    {"threads on one handle count right (T18)", threads_on_one_handle_count_right},
    {"handles of one session count right (T2)", handles_of_one_session_count_right},
    {"sessions of one process count right", sessions_of_one_process_count_right},
    {"breaking connections lose no count", a_breaking_connection_loses_no_count},
    {"a ping-pong on one handle never ends another's hold (T18)",
     a_ping_pong_on_one_handle_never_ends_anothers_hold},
    {"threads of a handle are served in order", threads_of_a_handle_are_served_in_order},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "threads", Cases);
}
