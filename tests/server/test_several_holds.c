/* Several locks at once: what their holds are good for, and what becomes of a grant that is given
 * up before its caller has heard of it. */
#include "support/client.h"
#include "support/party.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEVERAL 3

static party *open_kind(zkl_kind kind) {
    party *p = party_open_proxied(T_NORMAL);

    for (size_t i = 0; i < SEVERAL; i++)
        party_add(p, fresh_name("holds"), kind, 0);
    return p;
}

static void check_again(party *p) {
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    (void)party_check_holds(p);
    CHECK_INT(party_release(p), ZKL_OK);
    party_check_deserted(p);
}

/* ---- A hold is as good as any ---- */

typedef struct write_call {
    zkl_lock *lock;
    const char *path;
} write_call;

static zkl_err write_guarded(void *arg) {
    const write_call *w = arg;

    return zkl_guarded_set(w->lock, w->path, "x", 1, -1);
}

static zkl_err downgrade(void *lock) {
    return zkl_downgrade(lock);
}

static void writes_are_guarded_by_each(void) {
    party *p = open_kind(ZKL_MUTEX);
    const char *path = lock_dir(fresh_name("data"));
    char own[RAW_PATH_MAX];
    raw_stat stat = {0};

    REQUIRE_INT(raw_make_path(fixture_raw(), path), RAW_OK);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    for (size_t i = 0; i < SEVERAL; i++) {
        write_call w = {p->locks[i], path};

        actor_begin(p->actor, write_guarded, &w);
        CHECK_INT(actor_result(p->actor, SOON_MS), ZKL_OK);
    }
    actor_node_path(p->actor, p->locks[1], own, sizeof(own));
    uproot(own);
    WAIT_UNTIL(party_held(p) == SEVERAL - 1, SOON_MS);
    for (size_t i = 0; i < SEVERAL; i++) {
        write_call w = {p->locks[i], path};

        actor_begin(p->actor, write_guarded, &w);
        CHECK_INT(actor_result(p->actor, SOON_MS), i == 1 ? ZKL_LOST : ZKL_OK);
    }
    CHECK(raw_stat_of(fixture_raw(), path, &stat));
    CHECK_INT(stat.version, 2 * SEVERAL - 1);
    CHECK_INT(party_release(p), ZKL_LOST);
    check_again(p);
    party_close(p);
}

static void a_writer_s_may_become_a_reader_s(void) {
    party *p = open_kind(ZKL_WRITE);

    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    const int64_t token = party_check_holds(p);
    for (size_t i = 0; i < SEVERAL; i++) {
        client *reader = client_open(p->names[i], T_NORMAL);

        client_be(reader, ZKL_READ);
        CHECK_INT(client_acquire(reader, 0), ZKL_BUSY);
        actor_begin(p->actor, downgrade, p->locks[i]);
        CHECK_INT(actor_result(p->actor, SOON_MS), ZKL_OK);
        CHECK_INT(client_acquire(reader, SOON_MS), ZKL_OK);
        CHECK_INT(party_held(p), SEVERAL);
        CHECK_INT(actor_token(p->actor, p->locks[i]), token);
        client_close(reader);
    }
    CHECK_INT(party_release(p), ZKL_OK);
    party_check_deserted(p);
    check_again(p);
    party_close(p);
}

static void recursive_ones_are_counted(void) {
    party *p = open_kind(ZKL_MUTEX);
    zkl_lock *inner = p->locks[1];

    lock_close(p->locks[1]);
    inner = p->locks[1] = lock_open_recursive(p->session, p->names[1]);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    actor_acquire(p->actor, inner, 0);
    CHECK_INT(actor_result(p->actor, SOON_MS), ZKL_OK);
    CHECK_INT(party_release(p), ZKL_OK); /* one level of that one */
    CHECK_INT(party_held(p), 1);
    CHECK_INT(party_acquire(p, 0), ZKL_DEADLOCK);
    CHECK_INT(actor_release(p->actor, inner), ZKL_OK);
    party_check_deserted(p);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    session_expire(p->session);
    WAIT_UNTIL(party_held(p) == 0, SOON_MS);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_LOST); /* it remembers */
    CHECK_INT(party_nodes(p), 0);
    CHECK_INT(party_release(p), ZKL_LOST);
    check_again(p);
    party_close(p);
}

static zkl_err call_in_a_child(party *p) {
    const zkl_err errs[] = {zkl_acquire_all(p->locks, p->count, 0),
                            zkl_acquire_all(p->locks, p->count, ZKL_FOREVER),
                            zkl_release_all(p->locks, p->count)};

    for (size_t i = 0; i < COUNT(errs); i++)
        if (errs[i] != ZKL_FORKED)
            return 1;
    return 0;
}

static void a_forked_child_has_none(void) {
    party *p = open_kind(ZKL_MUTEX);
    int status = -1;

    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(20); /* a hang ends the child */
        _exit((int)call_in_a_child(p));
    }
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    (void)party_check_holds(p);
    CHECK_INT(party_release(p), ZKL_OK);
    party_close(p);
}

static void without_a_connection_a_try_says_so_and_a_wait_goes_on(void) {
    party *p = open_kind(ZKL_MUTEX);

    check_again(p);
    proxy_refuse(p->proxy, true);
    proxy_drop(p->proxy);
    WAIT_UNTIL(zkl_session_state(p->session) != ZKL_STATE_CONNECTED, SOON_MS);
    CHECK_INT(party_acquire(p, 0), ZKL_UNREACHABLE);
    CHECK_RANGE(actor_took_ms(p->actor), 0, 1000);
    CHECK_INT(party_acquire(p, 100), ZKL_TIMEOUT);
    party_begin(p, ZKL_FOREVER);
    CHECK_STAYS(!actor_is_done(p->actor), 50);
    proxy_refuse(p->proxy, false);
    CHECK_INT(party_result(p), ZKL_OK);
    (void)party_check_holds(p);
    CHECK_INT(party_release(p), ZKL_OK);
    party_check_deserted(p);
    party_close(p);
}

/* ---- A grant that is given up at once ---- */

enum {
    ROUNDS = 60
};

typedef struct giver {
    zkl_err (*give_up)(const zkl_event *event);
    atomic_size_t heard; /* of HELD, by the one handle */
} giver;

static zkl_err release_it(const zkl_event *event) {
    return zkl_release_hold(event->lock, event->hold);
}

static zkl_err close_it(const zkl_event *event) {
    return zkl_lock_close(event->lock);
}

static void give_up_when_held(const zkl_event *event, void *arg) {
    giver *g = arg;

    if (event->type != ZKL_EVENT_HELD)
        return;
    (void)g->give_up(event); /* lost, or released by its thread, meanwhile */
    atomic_fetch_add(&g->heard, 1);
}

/* The handle in that place gives up each grant as soon as it hears of it. */
static void open_giver(party *p, size_t i, giver *g) {
    if (p->locks[i] != NULL && g->give_up == release_it)
        lock_close(p->locks[i]);
    REQUIRE_INT(zkl_lock_open(&p->locks[i], p->session, p->names[i],
                              &ZKL_LOCK_OPTIONS(.on_event = give_up_when_held, .arg = g)),
                ZKL_OK);
}

/* Its caller has had all of them, or none. */
static zkl_err check_all_or_none(party *p, giver *g, size_t i, zkl_err given_up) {
    const zkl_err err = party_acquire(p, SOON_MS);

    CHECK(err == ZKL_OK || err == given_up);
    WAIT_UNTIL(atomic_load(&g->heard) == 1, SOON_MS);
    for (size_t k = 0; k < SEVERAL && err == ZKL_OK; k++)
        if (k != i)
            CHECK_INT(actor_release(p->actor, p->locks[k]), ZKL_OK);
    for (size_t k = 0; k < SEVERAL; k++)
        if (k != i || given_up != ZKL_CLOSED)
            CHECK(!actor_held(p->actor, p->locks[k]));
    party_check_deserted(p);
    return err;
}

/* The other handles were told of each grant, and of the end of each that their caller never had. */
static void check_told(party *p, size_t i, size_t canceled) {
    for (size_t k = 0; k < SEVERAL; k++) {
        if (k == i)
            continue;
        WAIT_UNTIL(events_count(p->events[k], ZKL_EVENT_LOST) == canceled, SOON_MS);
        CHECK_INT(events_count(p->events[k], ZKL_EVENT_HELD), ROUNDS);
        events_forget(p->events[k]);
    }
}

static void a_grant_given_up_at_once_is_none(void) {
    size_t all_canceled = 0;
    party *p = open_kind(ZKL_MUTEX);

    for (size_t i = 0; i < SEVERAL; i++) {
        giver g = {.give_up = release_it};
        size_t canceled = 0;

        open_giver(p, i, &g);
        for (int round = 0; round < ROUNDS; round++) {
            atomic_store(&g.heard, 0);
            canceled += check_all_or_none(p, &g, i, ZKL_CANCELED) == ZKL_CANCELED;
        }
        check_told(p, i, canceled);
        all_canceled += canceled;
        lock_close(p->locks[i]);
        p->locks[i] = lock_open(p->session, p->names[i], p->events[i]);
    }
    check_again(p);
    test_note("%zu of %d before their callers woke up", all_canceled, SEVERAL * ROUNDS);
    party_close(p);
}

static void a_handle_closed_at_once_is_none(void) {
    size_t closed = 0;
    party *p = open_kind(ZKL_MUTEX);

    for (size_t i = 0; i < SEVERAL; i++) {
        giver g = {.give_up = close_it};

        lock_close(p->locks[i]);
        for (int round = 0; round < ROUNDS / 2; round++) {
            atomic_store(&g.heard, 0);
            open_giver(p, i, &g);
            closed += check_all_or_none(p, &g, i, ZKL_CLOSED) == ZKL_CLOSED;
        }
        p->locks[i] = lock_open(p->session, p->names[i], p->events[i]);
    }
    check_again(p);
    test_note("%zu of %d before their callers woke up", closed, SEVERAL * ROUNDS / 2);
    party_close(p);
}

/* The operator deletes nodes while they are being granted: the caller has had them, or waits for
 * others; it is told of each loss. */
static void a_grant_lost_at_once_is_told_or_none(void) {
    party *p = open_kind(ZKL_MUTEX);
    size_t lost = 0;

    for (size_t round = 0; round < 2 * ROUNDS; round++) {
        char path[RAW_PATH_MAX];

        party_begin(p, SOON_MS);
        WAIT_UNTIL(raw_child_path(fixture_raw(), lock_dir(p->names[round % SEVERAL]), 0, path),
                   SOON_MS);
        uproot(path);
        REQUIRE_INT(party_result(p), ZKL_OK);
        const zkl_err err = party_release(p);
        CHECK(err == ZKL_OK || err == ZKL_LOST);
        lost += err == ZKL_LOST;
        party_check_deserted(p);
    }
    check_again(p);
    test_note("%zu of %d lost when released; %zu nodes made anew; %zu grants, %zu losses told",
              lost, 2 * ROUNDS, party_told(p, ZKL_EVENT_REQUEUED), party_told(p, ZKL_EVENT_HELD),
              party_told(p, ZKL_EVENT_LOST));
    CHECK(party_told(p, ZKL_EVENT_HELD) >= SEVERAL * (2 * ROUNDS + 1));
    party_close(p);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"writes are guarded by each", writes_are_guarded_by_each},
        {"a writer's may become a reader's", a_writer_s_may_become_a_reader_s},
        {"recursive ones are counted", recursive_ones_are_counted},
        {"a forked child has none", a_forked_child_has_none},
        {"without a connection a try says so, and a wait goes on",
         without_a_connection_a_try_says_so_and_a_wait_goes_on},
        {"a grant given up at once is none", a_grant_given_up_at_once_is_none},
        {"a handle closed at once is none", a_handle_closed_at_once_is_none},
        {"a grant lost at once is told, or none", a_grant_lost_at_once_is_told_or_none},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "several_holds", cases);
}
