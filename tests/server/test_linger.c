/* A node that stays when its hold is given up: of use to its process, and in nobody's way. */
#include <sys/wait.h>
#include <unistd.h>

#include "support/target.h"

#define LINGER_MS 60000
#define DENIED_MS 2000 /* longer than a few tries take */
#define SHORT_MS 20    /* longer than an acquire takes that needs no request */

enum {
    PERM_READ = 1,
    PERM_WRITE = 2,
    PERM_ALL = 31
};

static client *open_lingering(const char *name, zkl_kind kind) {
    client *c = client_open_proxied(name, T_NORMAL);
    client_be_lingering(c, kind, LINGER_MS);
    return c;
}

static void it_is_acquired_again_without_a_request(void) {
    static const zkl_kind kinds[] = {ZKL_MUTEX, ZKL_WRITE, ZKL_READ, ZKL_SEMAPHORE};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const char *name = fresh_name("again");
        client *c = open_lingering(name, kinds[i]);

        (void)client_become_idle(c);
        CHECK(!client_held(c));
        CHECK_INT(client_release(c), ZKL_NOT_HELD);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        const int64_t token = client_token(c);
        const zkl_hold hold = zkl_hold_of(c->lock);
        CHECK_INT(client_release(c), ZKL_OK);
        proxy_forget(c->proxy);
        for (int k = 0; k < 100; k++) {
            CHECK_INT(client_acquire(c, k % 2 == 0 ? SOON_MS : 0), ZKL_OK);
            CHECK(client_held(c) && client_token(c) == token);
            CHECK(zkl_hold_of(c->lock) == 0 && hold == 0); /* of this thread */
            CHECK_INT(k % 3 == 0 ? client_release_wait(c) : client_release(c), ZKL_OK);
        }
        CHECK_INT(proxy_count(c->proxy, PROXY_WORK, NULL), 0);
        client_close(c);
        CHECK_INT(queue_length(name), 0);
    }
}

/* Its node is the guard of each hold, and its czxid their token. While it is idle nobody writes. */
static void each_hold_by_it_writes_under_it(void) {
    static const zkl_kind kinds[] = {ZKL_MUTEX, ZKL_WRITE, ZKL_READ, ZKL_SEMAPHORE};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const char *name = fresh_name("guarded"), *path = target_new();
        client *c = open_lingering(name, kinds[i]);
        char node[RAW_PATH_MAX];
        raw_stat stat = {0};

        (void)client_become_idle(c);
        client_node(c, node);
        CHECK(raw_stat_of(fixture_raw(), node, &stat));
        for (int k = 0; k < 3; k++) {
            CHECK_INT(guarded_set(c, path, "idle", -1), ZKL_NOT_HELD);
            CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
            CHECK_INT(client_token(c), stat.czxid);
            CHECK_INT(guarded_set(c, path, "again", k), ZKL_OK);
            target_check(path, "again", k + 1);
            CHECK_INT(client_release(c), ZKL_OK);
        }
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        guarded_call late = guarded_text(c, path, "late", -1);
        guarded_begin_broken(c, &late, PROXY_HOLD_REQUEST, false);
        uproot(node);
        proxy_hold(c->proxy, PROXY_TO_SERVER, false);
        CHECK_INT(client_result(c), ZKL_LOST);
        target_check(path, "again", 3);
        client_close(c);
    }
}

/* Such a write could come after one of the next hold. */
static void after_a_write_left_under_way_it_goes(void) {
    const char *name = fresh_name("late"), *path = target_new();
    client *c = open_lingering(name, ZKL_MUTEX);
    guarded_call late = guarded_text(c, path, "late", -1);
    const int64_t token = client_become_idle(c);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    const zkl_hold hold = actor_hold(c->actor, c->lock);
    guarded_begin_broken(c, &late, PROXY_HOLD_REQUEST, false);
    CHECK_INT(zkl_release_hold(c->lock, hold), ZKL_OK);
    proxy_hold(c->proxy, PROXY_TO_SERVER, false);
    CHECK_INT(client_result(c), ZKL_OK); /* it was made before the node's end */
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK(client_token(c) > token);
    target_check(path, "late", 1);
    client_close(c);
}

/* Idle, or held: then it goes with the hold. */
static void who_wants_it_gets_it(void) {
    static const zkl_kind kinds[] = {ZKL_MUTEX, ZKL_WRITE, ZKL_READ, ZKL_SEMAPHORE};
    for (size_t i = 0; i < 2 * COUNT(kinds); i++) {
        const char *name = fresh_name("wanted");
        client *c = open_lingering(name, kinds[i / 2]), *other = client_open(name, T_NORMAL);

        (void)client_become_idle(c);
        if (i % 2 != 0)
            CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        client_begin(other, SOON_MS);
        if (i % 2 != 0) {
            WAIT_UNTIL(client_told(other, ZKL_EVENT_QUEUED) == 1, SOON_MS);
            CHECK_INT(client_release(c), ZKL_OK);
        }
        CHECK_INT(client_result(other), ZKL_OK);
        WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
        CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
        CHECK_INT(client_release(other), ZKL_OK);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        client_close(other);
        client_close(c);
    }
}

/* A try writes nothing that a holder would see, but for this. */
static void a_try_makes_it_go(void) {
    const char *name = fresh_name("try");
    client *c = open_lingering(name, ZKL_MUTEX), *other = client_open_proxied(name, T_NORMAL);

    (void)client_become_idle(c);
    CHECK_INT(client_acquire(other, 0), ZKL_BUSY);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    CHECK_INT(client_acquire(other, 0), ZKL_OK);
    CHECK_INT(client_acquire(c, 0), ZKL_BUSY); /* this node is not one that may be idle */
    CHECK_INT(proxy_count(c->proxy, PROXY_SET, name), 0);
    CHECK_INT(client_release_wait(other), ZKL_OK);
    /* While it is held, the try is noted. */
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_acquire(other, 0), ZKL_BUSY);
    CHECK(client_held(c));
    CHECK_INT(client_release(c), ZKL_OK);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    client_close(other);
    client_close(c);
}

/* It reads the node, and writes to it. Where either is denied, the node stays for its time. */
static void a_try_that_may_not_ask_is_busy_for_that_time(void) {
    static const int denied[] = {PERM_WRITE, PERM_READ};
    for (size_t i = 0; i < COUNT(denied); i++) {
        const char *name = fresh_name("may-not");
        client *c = client_open_proxied(name, T_NORMAL), *other = client_open_proxied(name, T_LONG);
        char node[RAW_PATH_MAX];
        raw_stat stat = {0};

        client_be_lingering(c, ZKL_MUTEX, DENIED_MS);
        const int64_t token = client_become_idle(c);
        client_node(c, node);
        REQUIRE_INT(raw_restrict(fixture_raw(), node, PERM_ALL & ~denied[i]), RAW_OK);
        CHECK_INT(client_acquire(c, 0), ZKL_OK); /* its time begins anew */
        CHECK_INT(client_token(c), token);
        const int64_t begun_ms = clock_ms();
        CHECK_INT(client_release(c), ZKL_OK);
        for (size_t k = 1; k <= 3; k++) {
            CHECK_INT(client_acquire(other, 0), ZKL_BUSY);
            CHECK_INT(proxy_answered(other->proxy, PROXY_GET, node), k);
            CHECK_INT(proxy_count(other->proxy, PROXY_MULTI, NULL),
                      denied[i] == PERM_WRITE ? k : 0);
        }
        WAIT_UNTIL(client_acquire(other, 0) == ZKL_OK, SOON_MS);
        CHECK_RANGE(clock_ms() - begun_ms, DENIED_MS - 1, SOON_MS); /* both are rounded */
        CHECK(!raw_stat_of(fixture_raw(), node, &stat));
        CHECK_INT(client_told(other, ZKL_EVENT_SUSPENDED) + client_told(c, ZKL_EVENT_LOST), 0);
        CHECK_INT(client_release_wait(other), ZKL_OK);
        CHECK_INT(client_acquire(c, 0), ZKL_OK);
        CHECK(client_token(c) > token);
        client_close(other);
        client_close(c);
        CHECK_INT(queue_length(name), 0);
    }
}

/* The servers tell its owner of a node behind it, whatever that client may do. */
static void who_queues_need_not_ask(void) {
    const char *name = fresh_name("queues");
    client *c = open_lingering(name, ZKL_MUTEX), *other = client_open(name, T_NORMAL);
    char node[RAW_PATH_MAX];

    (void)client_become_idle(c);
    client_node(c, node);
    REQUIRE_INT(raw_restrict(fixture_raw(), node, PERM_ALL & ~PERM_WRITE), RAW_OK);
    CHECK_INT(client_acquire(other, 0), ZKL_BUSY);
    CHECK_INT(queue_length(name), 1);
    CHECK_INT(client_acquire(other, SOON_MS), ZKL_OK);
    client_close(other);
    client_close(c);
}

/* Nobody can tell from outside whether somebody holds by it at the moment. */
static void the_queue_shows_that_it_may_be_idle(void) {
    const char *name = fresh_name("shown");
    client *c = open_lingering(name, ZKL_MUTEX), *other = client_open(name, T_NORMAL);
    zkl_queue *queue = NULL;

    (void)client_become_idle(c);
    CHECK_INT(zkl_inspect(c->session, name, &queue), ZKL_OK);
    CHECK_INT(zkl_queue_count(queue), 1);
    CHECK(zkl_queue_at(queue, 0)->may_be_idle && zkl_queue_at(queue, 0)->is_holder);
    zkl_queue_free(queue);
    CHECK_INT(client_acquire(other, SOON_MS), ZKL_OK);
    WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    CHECK_INT(zkl_inspect(c->session, name, &queue), ZKL_OK);
    CHECK(!zkl_queue_at(queue, 0)->may_be_idle);
    zkl_queue_free(queue);
    client_close(other);
    client_close(c);
}

/* By a thread of its own, or another: it waits for no request either. */
static void threads_take_turns_by_it(void) {
    const char *name = fresh_name("turns");
    client *c = open_lingering(name, ZKL_MUTEX);
    actor *second = actor_new();

    (void)client_become_idle(c);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    const int64_t token = client_token(c);
    actor_acquire(second, c->lock, SOON_MS);
    WAIT_UNTIL(actor_is_blocked(second), SOON_MS);
    proxy_forget(c->proxy);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(actor_result(second, SOON_MS), ZKL_OK);
    CHECK_INT(actor_token(second, c->lock), token);
    CHECK_INT(proxy_count(c->proxy, PROXY_CREATE, name), 0);
    CHECK_INT(actor_release(second, c->lock), ZKL_OK);
    actor_free(second);
    client_close(c);
}

static void it_goes_in_time_and_with_the_handle(void) {
    const char *name = fresh_name("time");
    client *c = client_open_proxied(name, T_NORMAL);

    client_be_lingering(c, ZKL_MUTEX, 50);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(queue_length(name), 1);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    client_be_lingering(c, ZKL_MUTEX, LINGER_MS);
    (void)client_become_idle(c);
    client_close_lock(c);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    client_close(c);
}

static void a_reconnect_makes_it_go(void) {
    const char *name = fresh_name("reconnect");
    client *c = open_lingering(name, ZKL_MUTEX);

    (void)client_become_idle(c);
    client_flap(c);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    (void)client_become_idle(c);
    client_outage_begin(c);
    CHECK_INT(client_acquire(c, 0), ZKL_UNREACHABLE);
    client_outage_end(c);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_release(c), ZKL_OK);
    client_close(c);
}

/* Acquired by the node of this token, and idle again. */
static void check_again(client *c, int64_t token) {
    CHECK_INT(client_acquire(c, 0), ZKL_OK);
    CHECK_INT(client_token(c), token);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(queue_length(c->name), 1);
}

/* Nothing tells the client that its session has ended. The clock does. */
static void by_a_lease_that_is_over_it_is_not_acquired(void) {
    const char *name = fresh_name("silence");
    client *c = client_open_proxied(name, T_SHORT), *other = client_open(name, T_NORMAL);

    client_be_lingering(c, ZKL_MUTEX, LINGER_MS);
    (void)client_become_idle(c);
    client_silence(c, true);
    CHECK_INT(client_acquire(other, SOON_MS), ZKL_OK);
    const int64_t token = client_token(other);
    CHECK_INT(client_acquire(c, SHORT_MS), ZKL_TIMEOUT);
    CHECK_INT(client_acquire(c, 0), ZKL_UNREACHABLE);
    CHECK(client_held(other));
    client_silence(c, false);
    CHECK_INT(client_release(other), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK(client_token(c) > token);
    client_close(other);
    client_close(c);
}

/* Of those that the threads of the handle wait for, and of none. */
static void a_cancel_or_a_timeout_leaves_it_as_it_is(void) {
    const char *name = fresh_name("cancel");
    client *c = open_lingering(name, ZKL_MUTEX);
    actor *second = actor_new();
    const int64_t token = client_become_idle(c);

    CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
    check_again(c, token);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        actor_acquire(second, c->lock, i == 0 ? ZKL_FOREVER : 20);
        WAIT_UNTIL(actor_is_blocked(second), SOON_MS);
        if (i == 0)
            CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
        CHECK_INT(actor_result(second, SOON_MS), i == 0 ? ZKL_CANCELED : ZKL_TIMEOUT);
        CHECK_INT(client_release(c), ZKL_OK);
        check_again(c, token);
    }
    actor_free(second);
    client_close(c);
}

/* Soon, not when the session's time is over. */
static void it_goes_with_the_session(void) {
    const char *name = fresh_name("session");
    client *c = open_lingering(name, ZKL_MUTEX), *other = client_open(name, T_NORMAL);

    (void)client_become_idle(c);
    session_close(c->session);
    c->session = NULL;
    CHECK_INT(queue_length(name), 0);
    CHECK_INT(client_acquire(c, 0), ZKL_CLOSED);
    CHECK_INT(client_acquire(other, 0), ZKL_OK);
    client_close(other);
    client_close(c);
}

static void a_forked_child_has_none(void) {
    client *c = open_lingering(fresh_name("fork"), ZKL_MUTEX);
    const int64_t token = client_become_idle(c);
    int status = -1;

    const pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(20); /* a hang ends the child */
        const bool has_none = zkl_acquire(c->lock, 0) == ZKL_FORKED &&
                              zkl_acquire(c->lock, ZKL_FOREVER) == ZKL_FORKED &&
                              zkl_lock_close(c->lock) == ZKL_FORKED;
        _exit(has_none ? 0 : 1);
    }
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    check_again(c, token);
    client_close(c);
}

/* The number of permits may be made smaller while it is idle. */
static void a_permit_stays_only_if_it_comes_first(void) {
    const char *name = fresh_name("fewer");
    client *first = client_open(name, T_NORMAL), *c = client_open(name, T_NORMAL);

    client_be_permit(first, 2);
    CHECK_INT(client_acquire(first, SOON_MS), ZKL_OK);
    client_close_lock(c);
    REQUIRE_INT(zkl_lock_open(&c->lock, c->session, name,
                              &ZKL_LOCK_OPTIONS(.kind = ZKL_SEMAPHORE, .linger_ms = LINGER_MS)),
                ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(zkl_set_permits(first->lock, 1), ZKL_OK);
    CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
    WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    CHECK_INT(client_release_wait(first), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(queue_length(name), 1);
    client_close(c);
    client_close(first);
}

/* Not by the node of this token. What others have deleted is held until the client is told. */
static bool is_held_anew(client *c, int64_t token) {
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    const bool is_new = client_token(c) > token;
    const zkl_err err = client_release(c);
    CHECK(err == ZKL_OK || err == ZKL_LOST);
    return is_new;
}

/* Somebody with other tools deletes it, alone or with its directory, or ends its session. */
static void another_takes_the_place_of_one_that_has_gone(void) {
    const char *name = fresh_name("end");
    client *c = open_lingering(name, ZKL_MUTEX);
    char path[RAW_PATH_MAX];

    for (int i = 0; i < 3; i++) {
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        const int64_t token = client_token(c);
        CHECK_INT(client_release(c), ZKL_OK);
        client_node(c, path);
        if (i == 0)
            session_expire(c->session);
        else
            uproot(path);
        if (i == 2) /* it may have a new one already */
            (void)raw_delete_tree(fixture_raw(), lock_dir(name));
        WAIT_UNTIL(is_held_anew(c, token), SOON_MS);
    }
    client_close(c);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"it is acquired again without a request", it_is_acquired_again_without_a_request},
        {"each hold by it writes under it", each_hold_by_it_writes_under_it},
        {"after a write left under way it goes", after_a_write_left_under_way_it_goes},
        {"who wants it gets it", who_wants_it_gets_it},
        {"a try makes it go", a_try_makes_it_go},
        {"a try that may not ask is busy for that time",
         a_try_that_may_not_ask_is_busy_for_that_time},
        {"who queues need not ask", who_queues_need_not_ask},
        {"the queue shows that it may be idle", the_queue_shows_that_it_may_be_idle},
        {"threads take turns by it", threads_take_turns_by_it},
        {"it goes in time, and with the handle", it_goes_in_time_and_with_the_handle},
        {"a reconnect makes it go", a_reconnect_makes_it_go},
        {"another takes the place of one that has gone",
         another_takes_the_place_of_one_that_has_gone},
        {"by a lease that is over it is not acquired", by_a_lease_that_is_over_it_is_not_acquired},
        {"a cancel or a timeout leaves it as it is", a_cancel_or_a_timeout_leaves_it_as_it_is},
        {"it goes with the session", it_goes_with_the_session},
        {"a forked child has none", a_forked_child_has_none},
        {"a permit stays only if it comes first", a_permit_stays_only_if_it_comes_first},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "linger", cases);
}
