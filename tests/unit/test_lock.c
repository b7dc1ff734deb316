/*
 * The calls on locks over a client library that does as it is told: replies that come too late,
 * refusals, and calls at moments that a real server does not hold still for.
 */
#include "unit/fake_zoo.h"

#include <limits.h>

#include "engine/engine_internal.h"
#include "lock/lock.h"
#include "session/session_internal.h"
#include "support/actor.h"

#define T_MS 400 /* so that a lease can be waited out */

/* ---- Handles ---- */

static void options_that_make_no_sense_are_refused(void) {
    static const struct {
        zkl_lock_options options;
        zkl_err err;
    } cases[] = {
        {{.size = 1}, ZKL_INVALID},
        {{.permits = -1}, ZKL_INVALID},
        {{.linger_ms = -1}, ZKL_INVALID},
        {{.local_handoffs = -1}, ZKL_INVALID},
        {{.kind = (zkl_kind)-1}, ZKL_INVALID},
        {{.kind = (zkl_kind)(ZKL_SEMAPHORE + 1)}, ZKL_INVALID},
        {{.kind = ZKL_SEMAPHORE, .permits = -1}, ZKL_INVALID},
        {{.permits = 1}, ZKL_INVALID},
    };
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = NULL;
    for (size_t i = 0; i < COUNT(cases); i++) {
        zkl_lock_options options = cases[i].options;
        if (options.size == 0)
            options.size = sizeof(options);
        l = STALE(zkl_lock);
        CHECK_INT(zkl_lock_open(&l, s, "a", &options), cases[i].err);
        CHECK(l == NULL);
    }
    CHECK_INT(zkl_lock_open(NULL, s, "a", NULL), ZKL_INVALID);
    l = STALE(zkl_lock);
    CHECK_INT(zkl_lock_open(&l, NULL, "a", NULL), ZKL_INVALID);
    CHECK(l == NULL);
    l = STALE(zkl_lock);
    CHECK_INT(zkl_lock_open(&l, s, NULL, NULL), ZKL_INVALID);
    CHECK(l == NULL);
    l = STALE(zkl_lock);
    CHECK_INT(zkl_lock_open(&l, s, "", NULL), ZKL_INVALID);
    CHECK(l == NULL);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
}

/* A program that was compiled with another release of the header. */
static void options_may_be_shorter_and_longer(void) {
    struct {
        zkl_lock_options known;
        int64_t unknown;
    } later = {.known = {.size = sizeof(later), .recursive = true}};
    zkl_lock_options earlier = {.size = offsetof(zkl_lock_options, linger_ms),
                                .recursive = true,
                                .local_handoffs = 7, /* not read */
                                .want_wanted = true};
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = NULL;
    REQUIRE_INT(zkl_lock_open(&l, s, "a", &earlier), ZKL_OK);
    CHECK(l->is_recursive);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    REQUIRE_INT(zkl_lock_open(&l, s, "a", &later.known), ZKL_OK);
    CHECK(l->is_recursive);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    later.unknown = 1;
    CHECK_INT(zkl_lock_open(&l, s, "a", &later.known), ZKL_INVALID);
    CHECK(l == NULL);
    fake_end(s, l);
}

static void a_handle_knows_its_name_until_it_is_closed(void) {
    char name[] = "a/b c";
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, name);
    memset(name, 'x', sizeof(name) - 1);
    const char *said = zkl_lock_name(l);
    CHECK_STRING(said, "a/b c");
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK(zkl_lock_name(l) == said);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
}

static void on_found(const char *name, size_t contenders, void *arg) {
    (void)name;
    *(size_t *)arg += contenders == ZKL_UNREADABLE ? 0 : contenders;
}

/* A handle keeps its session's memory, and nothing else of it. */
static void on_a_closed_session_every_call_says_closed(void) {
    zkl_queue *queue = STALE(zkl_queue);
    size_t found = 0;
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a"), *other = STALE(zkl_lock);
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK_INT(zkl_lock_open(&other, s, "b", NULL), ZKL_CLOSED);
    CHECK(!zkl_held(l));
    CHECK_INT(zkl_acquire(l, 0), ZKL_CLOSED);
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_CLOSED);
    CHECK_INT(zkl_release(l), ZKL_CLOSED);
    CHECK_INT(zkl_release_wait(l, 0), ZKL_CLOSED);
    CHECK_INT(zkl_downgrade(l), ZKL_CLOSED);
    CHECK_INT(zkl_set_permits(l, 1), ZKL_CLOSED);
    CHECK_INT(zkl_cancel(l), ZKL_CLOSED);
    CHECK_INT(zkl_inspect(s, "a", &queue), ZKL_CLOSED);
    CHECK(other == NULL && queue == NULL);
    CHECK_INT(zkl_list(s, "", on_found, &found), ZKL_CLOSED);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
}

static zkl_err set_permits(void *lock) {
    return zkl_set_permits(lock, 2);
}

/* Nothing of it is in line or in flight meanwhile. */
static void a_call_that_tries_again_ends_with_the_session(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = NULL;
    actor *a = actor_new();
    REQUIRE(zkl_lock_open(&l, s, "a", &ZKL_LOCK_OPTIONS(.kind = ZKL_SEMAPHORE)) == ZKL_OK);
    fake_refuse(GET, ZINVALIDSTATE);
    actor_begin(a, set_permits, l);
    WAIT_UNTIL(actor_is_blocked(a), SOON_MS);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_CLOSED);
    CHECK_INT(zkl_set_permits(l, 2), ZKL_CLOSED);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    actor_free(a);
}

/* ---- Acquiring ---- */

static void a_try_behind_a_thread_of_the_same_handle_is_busy(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    actor *first = actor_new();
    fake_keep(CREATE, true);
    actor_acquire(first, l, ZKL_FOREVER);
    WAIT_UNTIL(fake_has(CREATE), SOON_MS);
    CHECK_INT(zkl_acquire(l, 0), ZKL_BUSY); /* it waits */
    fake_keep(CREATE, false);
    CHECK_INT(actor_result(first, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_acquire(l, 0), ZKL_BUSY); /* it holds */
    CHECK_INT(actor_release(first, l), ZKL_OK);
    CHECK_INT(zkl_acquire(l, 0), ZKL_OK);
    actor_free(first);
    fake_end(s, l);
}

/* It would wait for itself, whatever the timeout. */
static void a_thread_that_holds_by_one_handle_is_told_so_by_another(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a"), *same = fake_lock(s, "a"), *other = fake_lock(s, "b");
    actor *second = actor_new();
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(zkl_acquire(same, ZKL_FOREVER), ZKL_DEADLOCK);
    CHECK_INT(zkl_acquire(same, 100), ZKL_DEADLOCK);
    CHECK_INT(zkl_acquire(same, 0), ZKL_DEADLOCK);
    CHECK_INT(zkl_acquire(other, ZKL_FOREVER), ZKL_OK);
    actor_acquire(second, same, 0);
    CHECK_INT(actor_result(second, SOON_MS), ZKL_BUSY); /* another thread */
    fake_state(ZOO_EXPIRED_SESSION_STATE);              /* lost, and not released */
    WAIT_UNTIL(!zkl_held(l) && !zkl_held(other), SOON_MS);
    CHECK_INT(zkl_acquire(same, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_DEADLOCK);
    CHECK_INT(zkl_release(same), ZKL_OK);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    actor_free(second);
    CHECK_INT(zkl_lock_close(same), ZKL_OK);
    CHECK_INT(zkl_lock_close(other), ZKL_OK);
    fake_end(s, l);
}

static void without_a_connection_a_try_is_unreachable_and_a_wait_waits(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    fake_state(ZOO_CONNECTING_STATE);
    CHECK_INT(zkl_acquire(l, 0), ZKL_UNREACHABLE);
    CHECK_INT(zkl_acquire(l, 1), ZKL_TIMEOUT);
    fake_state(ZOO_CONNECTED_STATE);
    actor *a = actor_new();
    fake_keep(CREATE, true);
    actor_acquire(a, l, INT64_MAX); /* a deadline that cannot be said is none */
    WAIT_UNTIL(fake_has(CREATE), SOON_MS);
    CHECK_STAYS(!actor_is_done(a), 50);
    fake_keep(CREATE, false);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    actor_free(a);
    fake_end(s, l);
}

static void a_recursive_hold_has_a_deepest_level(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = NULL;
    REQUIRE(zkl_lock_open(&l, s, "a", &ZKL_LOCK_OPTIONS(.recursive = true)) == ZKL_OK);
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(zkl_acquire(l, 0), ZKL_OK);
    l->current->depth = INT_MAX;
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_LIMIT);
    l->current->depth = 1;
    CHECK_INT(zkl_release(l), ZKL_OK);
    fake_end(s, l);
}

/* Waits, and knows its node. */
static bool has_node(zkl_lock *l) {
    zkli_session_lock(l->session);
    bool has = l->member != NULL && l->member->core.node[0] != '\0';
    zkli_session_unlock(l->session);
    return has;
}

/*
 * The grant comes while its thread sleeps, and the lease ends before the thread has run: as on a
 * machine that was suspended. Nobody was told that it held, so the wait goes on.
 */
static void check_late_grant(int64_t timeout_ms, zkl_err expected) {
    zkl_session *s = fake_session(HOSTS, &ZKL_SESSION_OPTIONS(.session_timeout_ms = T_MS));
    zkl_lock *l = fake_lock(s, "a");
    size_t inits = fake_inits();
    actor *a = actor_new();
    fake_plant("/locks");
    fake_plant("/locks/a");
    fake_keep(LIST, true);
    actor_acquire(a, l, timeout_ms);
    WAIT_UNTIL(has_node(l), SOON_MS);
    WAIT_UNTIL(actor_is_blocked(a), SOON_MS);
    zkli_session_lock(s);
    while (s->engine->lease_grade != ZKLI_LEASE_AMPLE) { /* on a slow machine */
        zkli_session_unlock(s);
        wait_pause();
        zkli_session_lock(s);
    }
    fake_keep(BARRIER, true); /* nothing is proved any more */
    struct zkli_member *m = l->member;
    struct zkli_sibling self;
    CHECK(zkli_sibling_parse(&self, m->core.node));
    struct zkli_listing listing = {.siblings = &self, .count = 1};
    struct zkli_contender_event event = {.type = ZKLI_EV_LISTED, .listing = &listing};
    zkli_list_remove(&m->asker); /* the listing that is on its way will find nobody */
    zkli_member_step(m, &event);
    zkli_session_settle(s); /* granted */
    CHECK(l->current != NULL);
    WAIT_UNTIL(zkli_boottime_ns() > s->engine->lease.certain_until_ns, SOON_MS);
    zkli_session_unlock(s);
    if (expected == ZKL_OK)
        WAIT_UNTIL(fake_inits() > inits, SOON_MS); /* it goes on in another session */
    else
        CHECK_INT(actor_result(a, SOON_MS), expected);
    fake_keep(BARRIER, false);
    fake_keep(LIST, false);
    if (expected == ZKL_OK) {
        CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
        zkl_err err = actor_release(a, l);
        CHECK(err == ZKL_OK || err == ZKL_LOST); /* so short a lease may be over again */
    }
    WAIT_UNTIL(fake_children("/locks/a") == 0, SOON_MS);
    actor_free(a);
    fake_end(s, l);
}

static void a_grant_that_its_thread_hears_of_too_late_is_none(void) {
    check_late_grant(ZKL_FOREVER, ZKL_OK);
    check_late_grant(T_MS / 2, ZKL_TIMEOUT);
}

static void a_cancel_ends_all_waits_of_the_handle(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    actor *first = actor_new(), *second = actor_new();
    fake_keep(CREATE, true);
    actor_acquire(first, l, ZKL_FOREVER);
    WAIT_UNTIL(fake_has(CREATE), SOON_MS);
    actor_acquire(second, l, ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(second), SOON_MS);
    CHECK_INT(zkl_cancel(l), ZKL_OK);
    CHECK_INT(actor_result(first, SOON_MS), ZKL_CANCELED);
    CHECK_INT(actor_result(second, SOON_MS), ZKL_CANCELED);
    fake_keep(CREATE, false);
    WAIT_UNTIL(!fake_has(REMOVE) && fake_children("/locks/a") == 0, SOON_MS);
    actor_free(first);
    actor_free(second);
    fake_end(s, l);
}

/* ---- Releasing ---- */

static zkl_err release_and_wait(void *arg) {
    return zkl_release_wait(arg, ZKL_FOREVER);
}

static void a_release_that_is_waited_for_ends_with_the_word_the_time_or_the_handle(void) {
    static const struct {
        int64_t timeout_ms;
        zkl_err expected;
        enum {
            ANSWERED,
            LOCK_CLOSED,
            SESSION_CLOSED,
            NOTHING
        } what;
    } cases[] = {{ZKL_FOREVER, ZKL_OK, ANSWERED},
                 {1, ZKL_TIMEOUT, NOTHING},
                 {0, ZKL_TIMEOUT, NOTHING},
                 {ZKL_FOREVER, ZKL_CLOSED, LOCK_CLOSED},
                 {ZKL_FOREVER, ZKL_CLOSED, SESSION_CLOSED}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        zkl_session *s = fake_session(HOSTS, NULL);
        zkl_lock *l = fake_lock(s, "a");
        actor *a = actor_new();
        CHECK_INT(zkl_release_wait(l, 0), ZKL_NOT_HELD);
        CHECK_INT(zkl_release_wait(l, -2), ZKL_INVALID);
        fake_keep(REMOVE, true);
        actor_acquire(a, l, ZKL_FOREVER);
        CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
        if (cases[i].what == NOTHING) {
            CHECK_INT(actor_release_wait(a, l, cases[i].timeout_ms), cases[i].expected);
        } else {
            actor_begin(a, release_and_wait, l);
            WAIT_UNTIL(fake_has(REMOVE), SOON_MS);
            WAIT_UNTIL(actor_is_blocked(a), SOON_MS);
        }
        if (cases[i].what == ANSWERED)
            fake_keep(REMOVE, false);
        if (cases[i].what == LOCK_CLOSED)
            CHECK_INT(zkl_lock_close(l), ZKL_OK);
        if (cases[i].what == SESSION_CLOSED)
            CHECK_INT(zkl_session_close(s), ZKL_OK);
        if (cases[i].what != NOTHING)
            CHECK_INT(actor_result(a, SOON_MS), cases[i].expected);
        fake_keep(REMOVE, false);
        actor_free(a);
        if (cases[i].what != LOCK_CLOSED)
            CHECK_INT(zkl_lock_close(l), ZKL_OK);
        if (cases[i].what != SESSION_CLOSED)
            CHECK_INT(zkl_session_close(s), ZKL_OK);
    }
}

static zkl_err downgrade(void *lock) {
    return zkl_downgrade(lock);
}

static zkl_lock *fake_writer(zkl_session *s) {
    zkl_lock *l = NULL;
    REQUIRE_INT(zkl_lock_open(&l, s, "a", &ZKL_LOCK_OPTIONS(.kind = ZKL_WRITE)), ZKL_OK);
    return l;
}

/* It has no time of its own, so whatever ends the hold ends it. */
static void a_downgrade_ends_with_the_answer_or_with_the_hold(void) {
    static const struct {
        zkl_err expected;
        enum {
            IS_ANSWERED,
            IS_DENIED,
            LOSES_SESSION,
            IS_RELEASED, /* by another thread */
            CLOSES_LOCK,
            CLOSES_SESSION
        } what;
    } cases[] = {{ZKL_OK, IS_ANSWERED},     {ZKL_DENIED, IS_DENIED},
                 {ZKL_LOST, LOSES_SESSION}, {ZKL_NOT_HELD, IS_RELEASED},
                 {ZKL_CLOSED, CLOSES_LOCK}, {ZKL_CLOSED, CLOSES_SESSION}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        zkl_session *s = fake_session(HOSTS, NULL);
        zkl_lock *l = fake_writer(s);
        actor *a = actor_new();
        actor_acquire(a, l, ZKL_FOREVER);
        CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
        const zkl_hold hold = actor_hold(a, l);
        if (cases[i].what == IS_DENIED)
            fake_answer(MULTI, ZNOAUTH, 1);
        fake_keep(MULTI, true);
        actor_begin(a, downgrade, l);
        WAIT_UNTIL(fake_has(MULTI), SOON_MS);
        WAIT_UNTIL(actor_is_blocked(a), SOON_MS);
        CHECK(!actor_is_done(a));
        if (cases[i].what == LOSES_SESSION)
            fake_state(ZOO_EXPIRED_SESSION_STATE);
        if (cases[i].what == IS_RELEASED)
            CHECK_INT(zkl_release_hold(l, hold), ZKL_OK);
        if (cases[i].what == CLOSES_LOCK)
            CHECK_INT(zkl_lock_close(l), ZKL_OK);
        if (cases[i].what == CLOSES_SESSION)
            CHECK_INT(zkl_session_close(s), ZKL_OK);
        if (cases[i].what > IS_DENIED)
            CHECK_INT(actor_result(a, SOON_MS), cases[i].expected);
        fake_keep(MULTI, false);
        CHECK_INT(actor_result(a, SOON_MS), cases[i].expected);
        actor_free(a);
        if (cases[i].what != CLOSES_LOCK)
            CHECK_INT(zkl_lock_close(l), ZKL_OK);
        if (cases[i].what != CLOSES_SESSION)
            CHECK_INT(zkl_session_close(s), ZKL_OK);
    }
}

/* ---- Looking ---- */

static void what_a_look_cannot_see_it_says(void) {
    static const struct {
        int code;
        zkl_err err;
    } cases[] = {{ZNOAUTH, ZKL_DENIED},
                 {ZBADARGUMENTS, ZKL_SERVER},
                 {ZCONNECTIONLOSS, ZKL_UNREACHABLE},
                 {ZOK, ZKL_OK}};
    size_t found = 0;
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    for (enum kind kind = LIST; kind <= GET; kind++)
        for (size_t i = 0; i < COUNT(cases); i++) {
            zkl_queue *queue = STALE(zkl_queue);
            fake_answer(kind, cases[i].code, FOREVER_AND_EVER);
            CHECK_INT(zkl_inspect(s, "a", &queue), cases[i].err);
            CHECK((queue != NULL) == (cases[i].err == ZKL_OK));
            zkl_queue_free(queue);
            if (kind == LIST)
                CHECK_INT(zkl_list(s, NULL, on_found, &found), cases[i].err);
        }
    CHECK_INT(found, 1);
    fake_answer(GET, ZNONODE, FOREVER_AND_EVER); /* whoever leaves in between is left out */
    zkl_queue *queue = NULL;
    CHECK_INT(zkl_inspect(s, "a", &queue), ZKL_OK);
    CHECK_INT(zkl_queue_count(queue), 0);
    zkl_queue_free(queue);
    CHECK_INT(zkl_inspect(s, "nobody", &queue), ZKL_OK);
    CHECK_INT(zkl_queue_count(queue), 0);
    zkl_queue_free(queue);
    fake_answer(GET, ZOK, 0);
    fake_end(s, l);
}

struct look {
    zkl_session *session;
    zkl_queue *queue;
};

static zkl_err look(void *arg) {
    struct look *look = arg;
    return zkl_inspect(look->session, "a", &look->queue);
}

static zkl_err inspect_a(void *arg) {
    zkl_queue *queue = NULL;
    const zkl_err err = zkl_inspect(arg, "a", &queue);
    zkl_queue_free(queue);
    return err;
}

/* Several of its reads are under way. */
static void a_look_ends_with_its_session_once(void) {
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        char path[64];
        zkl_session *s = fake_session(HOSTS, NULL);
        actor *a = actor_new();
        fake_plant("/locks");
        fake_plant("/locks/a");
        for (int i = 0; i < 3; i++) {
            (void)snprintf(path, sizeof(path), "/locks/a/lock-000000000%d", i);
            fake_plant(path);
        }
        fake_keep(GET, true);
        actor_begin(a, inspect_a, s);
        WAIT_UNTIL(fake_has(GET), SOON_MS);
        if (is_closed)
            CHECK_INT(zkl_session_close(s), ZKL_OK);
        else
            fake_state(ZOO_EXPIRED_SESSION_STATE);
        CHECK_INT(actor_result(a, SOON_MS), is_closed ? ZKL_CLOSED : ZKL_UNREACHABLE);
        fake_keep(GET, false);
        if (!is_closed)
            CHECK_INT(zkl_session_close(s), ZKL_OK);
        actor_free(a);
    }
}

static void a_look_ends_with_its_time_or_its_session(void) {
    zkl_queue *queue = STALE(zkl_queue);
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a"); /* keeps the session's memory */
    fake_keep(LIST, true);
    s->connect_timeout_ms = 100;
    CHECK_INT(zkl_inspect(s, "a", &queue), ZKL_UNREACHABLE);
    s->connect_timeout_ms = SOON_MS; /* the others do not end by it */
    actor *a = actor_new();
    struct look looking = {s, NULL};
    actor_begin(a, look, &looking);
    WAIT_UNTIL(actor_is_blocked(a), SOON_MS);
    fake_state(ZOO_CONNECTING_STATE);
    fake_state(ZOO_EXPIRED_SESSION_STATE);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_UNREACHABLE);
    actor_begin(a, look, &looking);
    WAIT_UNTIL(fake_has(LIST), SOON_MS);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_CLOSED);
    CHECK(queue == NULL && looking.queue == NULL);
    fake_keep(LIST, false);
    actor_free(a);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
}

/* Numbers say one order, names another, and near the counter's end creation says a third. */
static void a_queue_is_shown_in_its_order(void) {
    static const char *const nodes[] = {"/a", "/a/_c_1-lock-0000000007", "/a/_c_3-lock-0000000003",
                                        "/a/_c_2-lock-0000000003", "/a/other"};
    static const int orders[2][4] = {{2, 1, 0, -1}, {0, 1, 2, 3}};
    static const char *const last = "/a/_c_0-lock-2147483647";
    for (int is_near = 0; is_near < 2; is_near++) {
        zkl_queue *queue = NULL;
        size_t found = 0;
        zkl_session *s = fake_session(HOSTS, &ZKL_SESSION_OPTIONS(.root = "/"));
        for (size_t i = 0; i < COUNT(nodes); i++)
            fake_plant(nodes[i]);
        if (is_near)
            fake_plant(last);
        CHECK_INT(zkl_inspect(s, "a", &queue), ZKL_OK);
        REQUIRE(queue != NULL && zkl_queue_count(queue) == (is_near ? 4u : 3u));
        for (size_t i = 0; i < zkl_queue_count(queue); i++) {
            int at = orders[is_near][i];
            CHECK_STRING(zkl_queue_at(queue, i)->node, (at == 3 ? last : nodes[1 + at]) + 3);
            CHECK_INT(zkl_queue_at(queue, i)->is_holder, i == 0);
            CHECK_INT(zkl_queue_at(queue, i)->size, sizeof(zkl_contender));
        }
        CHECK(zkl_queue_at(queue, zkl_queue_count(queue)) == NULL);
        CHECK(zkl_queue_at(queue, SIZE_MAX) == NULL);
        zkl_queue_free(queue);
        CHECK_INT(zkl_list(s, "", on_found, &found), ZKL_OK);
        CHECK_INT(found, is_near ? 4 : 3);
        CHECK_INT(zkl_list(s, "a", on_found, &found), ZKL_OK);
        CHECK_INT(found, is_near ? 8 : 6);
        CHECK_INT(zkl_session_close(s), ZKL_OK);
    }
}

/* More than a first allocation has room for. */
static void all_locks_are_listed_however_many(void) {
    char path[64];
    size_t found = 0;
    zkl_session *s = fake_session(HOSTS, NULL);
    fake_plant("/locks");
    for (int i = 0; i < 150; i++) {
        (void)snprintf(path, sizeof(path), "/locks/n%d", i);
        fake_plant(path);
        (void)snprintf(path, sizeof(path), "/locks/n%d/_c_1-lock-0000000001", i);
        fake_plant(path);
    }
    CHECK_INT(zkl_list(s, NULL, on_found, &found), ZKL_OK);
    CHECK_INT(found, 150);
    CHECK_INT(zkl_list(NULL, NULL, on_found, &found), ZKL_INVALID);
    CHECK_INT(zkl_list(s, NULL, NULL, &found), ZKL_INVALID);
    CHECK_INT(zkl_list(s, "..", on_found, &found), ZKL_INVALID);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a call that tries again ends with the session",
         a_call_that_tries_again_ends_with_the_session},
        {"options that make no sense are refused", options_that_make_no_sense_are_refused},
        {"options may be shorter and longer", options_may_be_shorter_and_longer},
        {"a handle knows its name until it is closed", a_handle_knows_its_name_until_it_is_closed},
        {"on a closed session every call says closed", on_a_closed_session_every_call_says_closed},
        {"a try behind a thread of the same handle is busy",
         a_try_behind_a_thread_of_the_same_handle_is_busy},
        {"a thread that holds by one handle is told so by another",
         a_thread_that_holds_by_one_handle_is_told_so_by_another},
        {"without a connection a try is unreachable, and a wait waits",
         without_a_connection_a_try_is_unreachable_and_a_wait_waits},
        {"a recursive hold has a deepest level", a_recursive_hold_has_a_deepest_level},
        {"a grant that its thread hears of too late is none",
         a_grant_that_its_thread_hears_of_too_late_is_none},
        {"a cancel ends all waits of the handle", a_cancel_ends_all_waits_of_the_handle},
        {"a release that is waited for ends with the word, the time or the handle",
         a_release_that_is_waited_for_ends_with_the_word_the_time_or_the_handle},
        {"a downgrade ends with the answer, or with the hold",
         a_downgrade_ends_with_the_answer_or_with_the_hold},
        {"what a look cannot see, it says", what_a_look_cannot_see_it_says},
        {"a look ends with its session once", a_look_ends_with_its_session_once},
        {"a look ends with its time or its session", a_look_ends_with_its_time_or_its_session},
        {"a queue is shown in its order", a_queue_is_shown_in_its_order},
        {"all locks are listed, however many", all_locks_are_listed_however_many},
    };
    return TEST_MAIN(argc, argv, "lock", cases);
}
