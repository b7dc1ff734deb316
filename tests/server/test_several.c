/* Several locks at once: all of them or none, of whatever kinds, in whatever directories. What goes
 * wrong meanwhile is in test_several_faults.c, and how they wait in test_several_waits.c. */
#include "support/party.h"
#include "support/permits.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SEVERAL 3
#define TOO_MANY (ZKL_ALL_MAX + 1)

/* Names that no other test uses; static. */
static const char *const *fresh_names(void) {
    static const char *names[SEVERAL];

    for (size_t i = 0; i < SEVERAL; i++)
        names[i] = fresh_name("several");
    return names;
}

static party *open_mutexes(const char *const *names) {
    party *p = party_open_proxied(T_NORMAL);

    party_add_mutexes(p, names, SEVERAL);
    return p;
}

static size_t count_all(party *p, proxy_kind kind) {
    size_t count = 0;

    for (size_t i = 0; i < p->count; i++)
        count += proxy_count(p->proxy, kind, p->names[i]);
    return count;
}

static size_t count_writes(party *p) {
    static const proxy_kind kinds[] = {PROXY_CREATE, PROXY_CONTAINER, PROXY_DELETE, PROXY_SET,
                                       PROXY_MULTI};
    size_t count = 0;

    for (size_t i = 0; i < COUNT(kinds); i++)
        count += proxy_count(p->proxy, kinds[i], NULL);
    return count;
}

/* ---- Arguments ---- */

/* In the party's thread, without a write. */
static void check_refused(party *p, zkl_lock *const *locks, size_t count, int64_t timeout_ms,
                          zkl_err expected) {
    all_call call = {locks, count, timeout_ms};

    proxy_forget(p->proxy);
    actor_begin(p->actor, all_acquire, &call);
    CHECK_INT(actor_result(p->actor, SOON_MS), expected);
    CHECK_INT(count_writes(p), 0);
}

static void check_refused_both(party *p, zkl_lock *const *locks, size_t count, zkl_err expected) {
    all_call call = {locks, count, 0};

    check_refused(p, locks, count, 0, expected);
    check_refused(p, locks, count, SOON_MS, expected);
    check_refused(p, locks, count, ZKL_FOREVER, expected);
    actor_begin(p->actor, all_release, &call);
    CHECK_INT(actor_result(p->actor, SOON_MS), expected);
    CHECK_INT(count_writes(p), 0);
}

/* The party's locks are as good as before. */
static void check_unharmed(party *p) {
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    (void)party_check_holds(p);
    CHECK_INT(party_release(p), ZKL_OK);
    party_check_deserted(p);
}

static void bad_arguments_do_nothing(void) {
    const char *const *names = fresh_names();
    party *p = open_mutexes(names), *stranger = party_open(T_NORMAL);
    zkl_lock *twin = lock_open(p->session, names[1], NULL);

    party_add(stranger, fresh_name("stranger"), ZKL_MUTEX, 0);
    check_refused_both(p, NULL, SEVERAL, ZKL_INVALID);
    check_refused_both(p, p->locks, 0, ZKL_INVALID);
    check_refused_both(p, NULL, 0, ZKL_INVALID);
    for (size_t i = 0; i < SEVERAL; i++) {
        zkl_lock *locks[SEVERAL + 1] = {p->locks[0], p->locks[1], p->locks[2], p->locks[i]};

        check_refused_both(p, locks, SEVERAL + 1, ZKL_INVALID); /* the same twice */
        locks[i] = NULL;
        check_refused_both(p, locks, SEVERAL, ZKL_INVALID);
        locks[i] = stranger->locks[0];
        check_refused_both(p, locks, SEVERAL, ZKL_INVALID);
    }
    zkl_lock *const twins[] = {p->locks[0], p->locks[1], twin};
    check_refused_both(p, twins, COUNT(twins), ZKL_INVALID);
    check_refused(p, p->locks, SEVERAL, -2, ZKL_INVALID);
    check_refused(p, p->locks, SEVERAL, INT64_MIN, ZKL_INVALID);
    check_unharmed(p);
    lock_close(twin);
    party_close(stranger);
    party_close(p);
}

static void so_many_are_too_many(void) {
    party *p = party_open_proxied(T_NORMAL);

    for (size_t i = 0; i < TOO_MANY; i++)
        party_add(p, fresh_name("many"), ZKL_MUTEX, 0);
    check_refused_both(p, p->locks, TOO_MANY, ZKL_LIMIT);
    check_refused_both(p, p->locks, SIZE_MAX, ZKL_LIMIT);
    for (size_t i = 0; i < TOO_MANY; i++)
        CHECK(!raw_exists(fixture_raw(), lock_dir(p->names[i])));
    party_close(p);
}

static void sixty_four_are_one_write(void) {
    party *p = party_open_proxied(T_NORMAL);

    for (size_t i = 0; i < ZKL_ALL_MAX; i++) {
        party_add(p, fresh_name("64"), ZKL_MUTEX, 0);
        dir_make(p->names[i]);
    }
    for (int turn = 0; turn < 2; turn++) {
        proxy_forget(p->proxy);
        CHECK_INT(party_acquire(p, turn == 0 ? SOON_MS : 0), ZKL_OK);
        CHECK_INT(proxy_count(p->proxy, PROXY_MULTI, NULL), 1);
        CHECK_INT(proxy_count(p->proxy, PROXY_CREATE, NULL), 0);
        (void)party_check_holds(p);
        CHECK_INT(party_told(p, ZKL_EVENT_HELD), (turn + 1) * ZKL_ALL_MAX);
        CHECK_INT(party_release(p), ZKL_OK);
        party_check_deserted(p);
    }
    CHECK_INT(party_told(p, ZKL_EVENT_LOST) + party_told(p, ZKL_EVENT_REQUEUED), 0);
    party_close(p);
}

static atomic_bool Has_called;

static void in_a_callback(const zkl_event *event, void *arg) {
    zkl_err *said = arg;

    if (event->type != ZKL_EVENT_HELD)
        return;
    said[1] = zkl_release_all(&event->lock, 1);
    said[0] = zkl_acquire_all(&event->lock, 1, 0);
    Has_called = true;
}

static void a_callback_may_not_wait_for_them(void) {
    party *p = party_open_proxied(T_NORMAL);
    zkl_err said[2] = {ZKL_OK, ZKL_OK};

    p->count = 1;
    p->events[0] = events_new();
    REQUIRE_INT(zkl_lock_open(&p->locks[0], p->session, fresh_name("callback"),
                              &ZKL_LOCK_OPTIONS(.on_event = in_a_callback, .arg = said)),
                ZKL_OK);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    CHECK_INT(party_held(p), 1);
    WAIT_UNTIL(Has_called, SOON_MS); /* a close drops an event that is not told yet */
    lock_close(p->locks[0]);
    p->locks[0] = NULL;
    CHECK_INT(said[0], ZKL_IN_CALLBACK);
    CHECK_INT(said[1], ZKL_NOT_HELD);
    party_close(p);
}

/* ---- A thread that holds one already ---- */

static void acquire_alone(party *p, zkl_lock *l) {
    actor_acquire(p->actor, l, SOON_MS);
    REQUIRE_INT(actor_result(p->actor, SOON_MS), ZKL_OK);
}

static void check_deadlock(party *p) {
    check_refused(p, p->locks, SEVERAL, 0, ZKL_DEADLOCK);
    check_refused(p, p->locks, SEVERAL, ZKL_FOREVER, ZKL_DEADLOCK);
}

static void who_holds_one_is_refused(void) {
    static const zkl_kind kinds[] = {ZKL_MUTEX, ZKL_READ, ZKL_WRITE, ZKL_SEMAPHORE};
    const char *const *names = fresh_names();
    party *p = open_mutexes(names);
    zkl_lock *others[COUNT(kinds) + 1] = {lock_open(p->session, names[1], NULL)};

    for (size_t i = 0; i < COUNT(kinds); i++)
        REQUIRE_INT(zkl_lock_open(&others[i + 1], p->session, fresh_name("other"),
                                  &ZKL_LOCK_OPTIONS(.kind = kinds[i],
                                                    .permits = 2 * (kinds[i] == ZKL_SEMAPHORE))),
                    ZKL_OK);
    for (size_t i = 0; i < SEVERAL; i++) {
        acquire_alone(p, p->locks[i]);
        check_deadlock(p);
        CHECK(actor_held(p->actor, p->locks[i]));
        CHECK_INT(actor_release(p->actor, p->locks[i]), ZKL_OK);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        acquire_alone(p, others[i]);
        check_deadlock(p);
        CHECK(actor_held(p->actor, others[i]));
        CHECK_INT(actor_release(p->actor, others[i]), ZKL_OK);
    }
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    check_deadlock(p);
    CHECK_INT(party_held(p), SEVERAL);
    CHECK_INT(party_release(p), ZKL_OK);
    check_unharmed(p);
    for (size_t i = 0; i < COUNT(others); i++)
        lock_close(others[i]);
    party_close(p);
}

/* It is another thread's, or this one's no more, or by another session. */
static void who_holds_none_is_not(void) {
    const char *const *names = fresh_names();
    party *p = open_mutexes(names);
    actor *second = actor_new();
    zkl_lock *other = lock_open(p->session, fresh_name("other"), NULL), *lingering = NULL;
    client *elsewhere = client_open(fresh_name("elsewhere"), T_NORMAL);

    REQUIRE_INT(zkl_lock_open(&lingering, p->session, fresh_name("lingering"),
                              &ZKL_LOCK_OPTIONS(.linger_ms = 60000)),
                ZKL_OK);
    actor_acquire(second, other, SOON_MS);
    CHECK_INT(actor_result(second, SOON_MS), ZKL_OK);
    acquire_alone(p, lingering);
    CHECK_INT(actor_release(p->actor, lingering), ZKL_OK); /* its node stays */
    acquire_alone(p, elsewhere->lock);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    (void)party_check_holds(p);
    CHECK_INT(party_release(p), ZKL_OK);
    CHECK_INT(actor_release(p->actor, elsewhere->lock), ZKL_OK);
    CHECK_INT(actor_release(second, other), ZKL_OK);
    acquire_alone(p, other);
    const zkl_hold hold = actor_hold(p->actor, other);
    CHECK_INT(zkl_release_hold(other, hold), ZKL_OK); /* in its place */
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    CHECK_INT(party_release(p), ZKL_OK);
    client_close(elsewhere);
    lock_close(lingering);
    lock_close(other);
    actor_free(second);
    party_close(p);
}

/* ---- Free ones, and one that is taken ---- */

static void free_ones_are_one_write(void) {
    const char *const *names = fresh_names();
    party *p = open_mutexes(names), *keeper = party_open(T_NORMAL);

    for (size_t i = 0; i < SEVERAL; i++) /* their directories stay */
        party_add(keeper, names[i], ZKL_READ, 0);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    CHECK_INT(party_nodes(p), SEVERAL);
    (void)party_check_holds(p);
    CHECK_INT(party_release(p), ZKL_OK);
    CHECK_INT(party_held(p), 0);
    party_check_deserted(p);
    proxy_forget(p->proxy);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    CHECK_INT(proxy_count(p->proxy, PROXY_MULTI, NULL), 1);
    CHECK_INT(count_all(p, PROXY_CREATE), 0);
    CHECK_INT(count_all(p, PROXY_LIST), SEVERAL);
    CHECK_INT(count_all(p, PROXY_GET), SEVERAL);
    (void)party_check_holds(p);
    CHECK_INT(party_release(p), ZKL_OK);
    party_check_deserted(p);
    party_close(keeper);
    party_close(p);
}

static void one_that_is_taken_keeps_all(void) {
    const char *const *names = fresh_names();
    party *p = open_mutexes(names);

    for (size_t i = 0; i < SEVERAL; i++) {
        client *other = client_open(names[i], T_NORMAL);
        CHECK_INT(client_acquire(other, SOON_MS), ZKL_OK);
        CHECK_INT(party_acquire(p, 0), ZKL_BUSY);
        CHECK_INT(party_acquire(p, 200), ZKL_TIMEOUT);
        WAIT_UNTIL(party_nodes(p) == 0, SOON_MS);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(party_nodes(p) == SEVERAL, SOON_MS);
        CHECK_STAYS(!actor_is_done(p->actor), 100);
        CHECK_INT(client_release(other), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_OK);
        (void)party_check_holds(p);
        CHECK_INT(client_acquire(other, 0), ZKL_BUSY);
        CHECK_INT(party_release(p), ZKL_OK);
        client_close(other);
    }
    party_check_deserted(p);
    party_close(p);
}

static void another_library_s_node_keeps_all(void) {
    party *p = open_mutexes(fresh_names());

    for (size_t i = 0; i < SEVERAL; i++) {
        char foreign[RAW_PATH_MAX];

        plant_contender(p->names[i], CURATOR, foreign);
        CHECK_INT(party_acquire(p, 0), ZKL_BUSY);
        CHECK_INT(party_nodes(p), 0);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(party_nodes(p) == SEVERAL, SOON_MS);
        CHECK_STAYS(!actor_is_done(p->actor), 100);
        uproot(foreign);
        CHECK_INT(party_result(p), ZKL_OK);
        (void)party_check_holds(p);
        CHECK_INT(party_release(p), ZKL_OK);
        party_check_deserted(p);
    }
    party_close(p);
}

static void tokens_grow(void) {
    const char *const *names = fresh_names();
    party *parties[] = {open_mutexes(names), party_open(T_NORMAL)};
    int64_t token = 0;

    for (size_t i = SEVERAL; i-- > 0;) /* in another order */
        party_add(parties[1], names[i], ZKL_MUTEX, 0);
    for (int i = 0; i < 10; i++) {
        party *p = parties[i % 2];

        REQUIRE_INT(party_acquire(p, SOON_MS), ZKL_OK);
        const int64_t next = party_check_holds(p);
        CHECK(next > token);
        token = next;
        CHECK_INT(party_release(p), ZKL_OK);
        party_check_deserted(p);
        for (size_t k = 0; i % 4 == 3 && k < SEVERAL; k++)
            (void)raw_delete_tree(fixture_raw(), lock_dir(names[k])); /* or the reaper has */
    }
    party_close(parties[0]);
    party_close(parties[1]);
}

/* ---- Kinds ---- */

enum {
    MUTEX,
    READER,
    WRITER,
    PERMIT,
    KINDS
};

static party *open_kinds(void) {
    static const zkl_kind kinds[KINDS] = {ZKL_MUTEX, ZKL_READ, ZKL_WRITE, ZKL_SEMAPHORE};
    party *p = party_open_proxied(T_NORMAL);

    for (size_t i = 0; i < KINDS; i++)
        party_add(p, fresh_name("kind"), kinds[i], 2 * (kinds[i] == ZKL_SEMAPHORE));
    return p;
}

static client *open_like(party *p, size_t i) {
    static const zkl_kind kinds[KINDS] = {ZKL_MUTEX, ZKL_READ, ZKL_WRITE, ZKL_SEMAPHORE};
    client *c = client_open(p->names[i], T_NORMAL);

    if (i == PERMIT)
        client_be_permit(c, 2);
    else
        client_be(c, kinds[i]);
    return c;
}

static void kinds_may_be_mixed(void) {
    party *p = open_kinds();

    for (int turn = 0; turn < 3; turn++) {
        CHECK_INT(party_acquire(p, turn == 1 ? 0 : SOON_MS), ZKL_OK);
        (void)party_check_holds(p);
        permits_check(p->names[PERMIT], "permits=2 max=2");
        for (size_t i = 0; i < KINDS; i++) {
            client *c = open_like(p, i);
            const bool is_shared = i == READER || i == PERMIT;

            CHECK_INT(client_acquire(c, 0), is_shared ? ZKL_OK : ZKL_BUSY);
            client_be(c, ZKL_MUTEX);
            CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
            client_close(c);
        }
        CHECK_INT(party_release(p), ZKL_OK);
        party_check_deserted(p);
    }
    party_close(p);
}

/* A reader beside readers, a permit beside a permit; each waits where single ones would. */
static void each_waits_as_its_kind_does(void) {
    party *p = open_kinds();
    client *reader = open_like(p, READER), *permit = open_like(p, PERMIT);

    CHECK_INT(client_acquire(reader, SOON_MS), ZKL_OK);
    CHECK_INT(client_acquire(permit, SOON_MS), ZKL_OK);
    CHECK_INT(party_acquire(p, 0), ZKL_OK);
    CHECK_INT(party_held(p), KINDS);
    CHECK_INT(party_release(p), ZKL_OK);
    for (size_t i = 0; i < KINDS; i++) {
        client *other = open_like(p, i);

        if (i == READER)
            client_be(other, ZKL_WRITE);
        if (i == READER)
            CHECK_INT(client_release_wait(reader), ZKL_OK);
        CHECK_INT(client_acquire(other, SOON_MS), ZKL_OK);
        CHECK_INT(party_acquire(p, 0), ZKL_BUSY);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(party_nodes(p) == KINDS, SOON_MS);
        WAIT_UNTIL(events_count(p->events[i], ZKL_EVENT_QUEUED) > 0, SOON_MS);
        CHECK_STAYS(!actor_is_done(p->actor), 50);
        CHECK_INT(client_release(other), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_OK);
        CHECK_INT(party_held(p), KINDS);
        if (i == READER)
            CHECK_INT(client_acquire(reader, SOON_MS), ZKL_OK);
        CHECK_INT(party_release(p), ZKL_OK);
        client_close(other);
        WAIT_UNTIL(party_nodes(p) == 0, SOON_MS);
    }
    client_close(permit);
    client_close(reader);
    party_close(p);
}

static void another_number_of_permits_fails_all(void) {
    party *p = open_kinds();
    client *other = client_open(p->names[PERMIT], T_NORMAL);

    client_be_permit(other, 3);
    CHECK_INT(client_acquire(other, SOON_MS), ZKL_OK);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_MISMATCH);
    CHECK_INT(party_held(p), 0);
    WAIT_UNTIL(party_nodes(p) == 0, SOON_MS);
    CHECK_INT(party_acquire(p, 0), ZKL_MISMATCH);
    WAIT_UNTIL(party_nodes(p) == 0, SOON_MS);
    CHECK_INT(zkl_set_permits(other->lock, 2), ZKL_OK);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    CHECK_INT(party_held(p), KINDS);
    CHECK_INT(party_release(p), ZKL_OK);
    client_close(other);
    party_close(p);
}

/* ---- Directories ---- */

/* Each has to be made, and some of those above; one lock's directory is in another's. */
static void directories_are_made_at_any_depth(void) {
    for (int turn = 0; turn < 3; turn++) {
        const char *top = fresh_name("deep");
        static const char *const below[] = {"/a/b/c", "", "/a/b/d", "/a/b", "/x/y", "/a/b/c/d/e"};
        party *p = party_open_proxied(T_NORMAL);

        for (size_t i = 0; i < COUNT(below); i++) {
            char name[64];

            (void)snprintf(name, sizeof(name), "%s%s", top, below[i]);
            party_add(p, name, ZKL_MUTEX, 0);
        }
        if (turn == 1) /* some are there */
            dir_make(p->names[3]);
        CHECK_INT(party_acquire(p, turn == 2 ? 0 : SOON_MS), ZKL_OK);
        CHECK_INT(party_held(p), p->count);
        CHECK_INT(party_nodes(p), p->count);
        for (size_t i = 1; i < p->count; i++)
            CHECK_INT(actor_token(p->actor, p->locks[i]), actor_token(p->actor, p->locks[0]));
        CHECK_INT(party_release(p), ZKL_OK);
        WAIT_UNTIL(party_nodes(p) == 0, SOON_MS);
        party_close(p);
    }
}

static void only_those_that_are_missing_are_made(void) {
    party *p = open_mutexes(fresh_names());

    dir_make(p->names[0]);
    dir_make(p->names[2]);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    CHECK_INT(proxy_count(p->proxy, PROXY_MULTI, NULL), 2);
    CHECK_INT(proxy_count(p->proxy, PROXY_CONTAINER, NULL), 1);
    CHECK_INT(proxy_count(p->proxy, PROXY_CONTAINER, p->names[1]), 1);
    CHECK_INT(party_release(p), ZKL_OK);
    party_check_deserted(p);
    party_close(p);
}

enum {
    READ_ONLY = 1 + 16, /* and to change that */
    NO_READ = 2 + 4 + 8 + 16,
    ALL = 31
};

/* Refused where the node is to be made, where its directory is, or where it is listed. */
static void a_denial_in_one_directory_fails_all(void) {
    static const int perms[] = {READ_ONLY, NO_READ};

    for (size_t k = 0; k < COUNT(perms); k++) {
        party *p = open_mutexes(fresh_names());

        for (size_t i = 0; i < SEVERAL; i++)
            dir_make(p->names[i]);
        for (size_t i = 0; i < SEVERAL; i++) {
            const char *dir = lock_dir(p->names[i]);

            REQUIRE_INT(raw_restrict(fixture_raw(), dir, perms[k]), RAW_OK);
            CHECK_INT(party_acquire(p, SOON_MS), ZKL_DENIED);
            CHECK_INT(party_held(p), 0);
            CHECK_INT(party_acquire(p, 0), ZKL_DENIED);
            REQUIRE_INT(raw_restrict(fixture_raw(), dir, ALL), RAW_OK);
            party_check_deserted(p);
        }
        check_unharmed(p);
        party_close(p);
    }
}

static void a_denial_above_a_directory_fails_all(void) {
    const char *top = fresh_name("denied");
    party *p = party_open_proxied(T_NORMAL);
    char name[64];

    (void)snprintf(name, sizeof(name), "%s/a/b", top);
    dir_make(top);
    party_add(p, fresh_name("allowed"), ZKL_MUTEX, 0);
    party_add(p, name, ZKL_MUTEX, 0);
    party_add(p, fresh_name("allowed"), ZKL_MUTEX, 0);
    REQUIRE_INT(raw_restrict(fixture_raw(), lock_dir(top), READ_ONLY), RAW_OK);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_DENIED);
    CHECK_INT(party_acquire(p, 0), ZKL_DENIED);
    REQUIRE_INT(raw_restrict(fixture_raw(), lock_dir(top), ALL), RAW_OK);
    party_check_deserted(p);
    check_unharmed(p);
    party_close(p);
}

/* ---- Release ---- */

static void each_is_given_up_whatever_the_others_are(void) {
    const char *const *names = fresh_names();
    party *p = open_mutexes(names);

    CHECK_INT(party_release(p), ZKL_NOT_HELD);
    for (size_t i = 0; i < SEVERAL; i++) {
        CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
        CHECK_INT(actor_release(p->actor, p->locks[i]), ZKL_OK);
        CHECK_INT(party_held(p), SEVERAL - 1);
        CHECK_INT(party_release(p), ZKL_NOT_HELD);
        CHECK_INT(party_held(p), 0);
        party_check_deserted(p);
    }
    for (size_t i = 0; i < SEVERAL; i++) {
        char path[RAW_PATH_MAX];

        CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
        actor_node_path(p->actor, p->locks[i], path, sizeof(path));
        uproot(path);
        WAIT_UNTIL(party_told(p, ZKL_EVENT_LOST) == i + 1, SOON_MS);
        CHECK_INT(party_held(p), SEVERAL - 1);
        CHECK_INT(actor_release(p->actor, p->locks[(i + 1) % SEVERAL]), ZKL_OK);
        CHECK_INT(party_release(p), ZKL_LOST); /* also of one that is not held */
        CHECK_INT(party_held(p), 0);
        CHECK_INT(party_release(p), ZKL_NOT_HELD);
        party_check_deserted(p);
    }
    check_unharmed(p);
    party_close(p);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"bad arguments do nothing", bad_arguments_do_nothing},
        {"65 are too many", so_many_are_too_many},
        {"64 are one write", sixty_four_are_one_write},
        {"a callback may not wait for them", a_callback_may_not_wait_for_them},
        {"who holds one is refused", who_holds_one_is_refused},
        {"who holds none is not", who_holds_none_is_not},
        {"free ones are one write", free_ones_are_one_write},
        {"one that is taken keeps all", one_that_is_taken_keeps_all},
        {"another library's node keeps all", another_library_s_node_keeps_all},
        {"tokens are equal, and grow", tokens_grow},
        {"kinds may be mixed", kinds_may_be_mixed},
        {"each waits as its kind does", each_waits_as_its_kind_does},
        {"another number of permits fails all", another_number_of_permits_fails_all},
        {"directories are made at any depth", directories_are_made_at_any_depth},
        {"only those that are missing are made", only_those_that_are_missing_are_made},
        {"a denial in one directory fails all", a_denial_in_one_directory_fails_all},
        {"a denial above a directory fails all", a_denial_above_a_directory_fails_all},
        {"each is given up, whatever the others are", each_is_given_up_whatever_the_others_are},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "several", cases);
}
