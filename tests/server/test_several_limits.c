/*
 * Several locks at once in a session whose limit for paths is reached: at the first of them, in the
 * middle, at the last. Nothing is made, and nothing stays counted.
 *
 * All names have 255 bytes, so all paths of nodes have one length, b. A holder has b of watched
 * paths, and whoever comes 2 b. So a session is full when there is room for less than 2 b. When it
 * is full and r holds are released, there is room for the first (r + 1) / 2 of several.
 */
#include "support/party.h"

#define SEVERAL 3
#define HOLDS_MAX 1600
#define ROOM_FOR_ALL (2 * SEVERAL - 1)

/* A full session, and a party that is to acquire in it. */
typedef struct scene {
    party *party;
    zkl_lock *locks[HOLDS_MAX]; /* held by the tests' thread */
    size_t held;
} scene;

static zkl_err hold_one_more(scene *s) {
    zkl_err err = zkl_acquire(s->locks[s->held], SOON_MS);

    s->held += err == ZKL_OK;
    return err;
}

static scene *scene_open(void) {
    static scene s;
    char name[256];
    zkl_err err = ZKL_OK;

    s = (scene){.party = party_open(T_LONG)};
    for (int i = 0; i < SEVERAL; i++) {
        long_name(name, fresh_name("several"), i);
        party_add(s.party, name, ZKL_MUTEX, 0);
    }
    while (err == ZKL_OK && s.held < HOLDS_MAX) {
        long_name(name, "hold", (int)s.held);
        s.locks[s.held] = lock_open(s.party->session, name, NULL);
        err = hold_one_more(&s);
    }
    REQUIRE_INT(err, ZKL_LIMIT);
    return &s;
}

static void scene_close(scene *s) {
    party_close(s->party);
    for (size_t i = 0; i < HOLDS_MAX && s->locks[i] != NULL; i++)
        CHECK_INT(zkl_lock_close(s->locks[i]), ZKL_OK);
}

static void let_go(scene *s, size_t count) {
    for (size_t i = 0; i < count; i++)
        CHECK_INT(zkl_release_wait(s->locks[--s->held], SOON_MS), ZKL_OK);
}

static void check_refused(scene *s, int64_t timeout_ms) {
    party *p = s->party;

    CHECK_INT(party_acquire(p, timeout_ms), ZKL_LIMIT);
    CHECK_INT(party_held(p), 0);
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK(!raw_exists(fixture_raw(), lock_dir(p->names[i])));
}

static void check_acquired(scene *s) {
    CHECK_INT(party_acquire(s->party, SOON_MS), ZKL_OK);
    (void)party_check_holds(s->party);
    CHECK_INT(party_release(s->party), ZKL_OK);
    party_check_deserted(s->party);
}

/* As often as it is refused, nothing of those before the limit is counted the next time. */
static void at_any_of_them_nothing_is_made_and_nothing_counted(void) {
    scene *s = scene_open();

    for (size_t place = 0; place < SEVERAL; place++) {
        for (int turn = 0; turn < 10; turn++) {
            check_refused(s, SOON_MS);
            check_refused(s, 0);
            check_refused(s, ZKL_FOREVER);
        }
        let_go(s, place == 0 ? 1 : 2);
    }
    check_acquired(s);
    for (int i = 0; i < 2; i++) {
        WAIT_UNTIL(hold_one_more(s) == ZKL_OK, SOON_MS); /* when their nodes are gone */
        CHECK_INT(hold_one_more(s), ZKL_OK);
        CHECK_INT(party_acquire(s->party, 0), ZKL_LIMIT);
        let_go(s, 2);
        check_acquired(s);
    }
    for (size_t i = 0; i < s->held; i++)
        CHECK(zkl_held(s->locks[i]));
    scene_close(s);
}

/* One of the handles is held by another thread; whoever came to another handle after the call is
 * not kept waiting. */
static void reached_when_their_turn_comes_it_keeps_nobody_waiting(void) {
    scene *s = scene_open();
    party *p = s->party;
    actor *holder = actor_new(), *waiter = actor_new();

    let_go(s, ROOM_FOR_ALL - 2); /* for two of them */
    for (int fits = 0; fits < 2; fits++) {
        actor_acquire(holder, p->locks[0], SOON_MS);
        CHECK_INT(actor_result(holder, SOON_MS), ZKL_OK);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(actor_is_blocked(p->actor), SOON_MS);
        actor_acquire(waiter, p->locks[1], ZKL_FOREVER);
        WAIT_UNTIL(actor_is_blocked(waiter), SOON_MS);
        CHECK_INT(actor_release(holder, p->locks[0]), ZKL_OK);
        CHECK_INT(party_result(p), fits ? ZKL_OK : ZKL_LIMIT);
        if (fits)
            CHECK_INT(party_release(p), ZKL_OK);
        CHECK_INT(actor_result(waiter, SOON_MS), ZKL_OK);
        CHECK_INT(actor_release(waiter, p->locks[1]), ZKL_OK);
        party_check_deserted(p);
        let_go(s, 3); /* the holder's watch may be counted for a moment */
    }
    actor_free(waiter);
    actor_free(holder);
    scene_close(s);
}

/* The node that one of the handles has left lingering is counted, and goes. */
static void a_node_that_lingers_is_given_up_for_it(void) {
    scene *s = scene_open();
    party *p = s->party;

    let_go(s, ROOM_FOR_ALL + 4);
    for (size_t i = 0; i < SEVERAL; i++) {
        lock_close(p->locks[i]);
        REQUIRE_INT(zkl_lock_open(&p->locks[i], p->session, p->names[i],
                                  &ZKL_LOCK_OPTIONS(.linger_ms = 60000)),
                    ZKL_OK);
        for (int fits = 0; fits < 2; fits++) {
            actor_acquire(p->actor, p->locks[i], SOON_MS);
            CHECK_INT(actor_result(p->actor, SOON_MS), ZKL_OK);
            CHECK_INT(actor_release(p->actor, p->locks[i]), ZKL_OK);
            CHECK_INT(queue_length(p->names[i]), 1); /* it lingers */
            for (int k = 0; k < 7 && !fits; k++)
                CHECK_INT(hold_one_more(s), ZKL_OK);
            CHECK_INT(party_acquire(p, SOON_MS), fits ? ZKL_OK : ZKL_LIMIT);
            if (fits) {
                CHECK_INT(party_release(p), ZKL_OK);
                party_check_deserted(p);
            } else {
                let_go(s, 7); /* its node may linger on: the call may have come to none of it */
            }
        }
    }
    scene_close(s);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"at any of them nothing is made, and nothing stays counted",
         at_any_of_them_nothing_is_made_and_nothing_counted},
        {"reached when their turn comes, it keeps nobody waiting",
         reached_when_their_turn_comes_it_keeps_nobody_waiting},
        {"a node that lingers is given up for it", a_node_that_lingers_is_given_up_for_it},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "several_limits", cases);
}
