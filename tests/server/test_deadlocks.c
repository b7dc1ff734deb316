/*
 * Owners that wait for each other in a circle: found, in one process and over several, whatever the
 * kinds of their locks; and nobody is named who does not wait in one.
 */
#include "support/client.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/random.h"
#include "support/told.h"

#define RING_MAX 10

/* ---- What is told ---- */

static struct {
    size_t circles, length;
    zkl_wait waits[RING_MAX];
    char names[RING_MAX][256];
    zkl_contender waiters[RING_MAX], blockers[RING_MAX];
} Found;

static void on_circle(const zkl_wait *waits, size_t count, void *arg) {
    CHECK(arg == &Found);
    CHECK(count <= RING_MAX);
    Found.circles++;
    Found.length = count;
    for (size_t i = 0; i < count && i < RING_MAX; i++) {
        CHECK_INT(waits[i].size, sizeof(zkl_wait));
        (void)snprintf(Found.names[i], sizeof(Found.names[i]), "%s", waits[i].name);
        Found.waiters[i] = *waits[i].waiter;
        Found.blockers[i] = *waits[i].blocker;
        CHECK(strcmp(waits[i].waiter->host, waits[i].blocker->host) == 0);
        CHECK(waits[i].waiter->token > waits[i].blocker->token);
    }
}

static zkl_session *Looking;

static zkl_err look(const char *prefix) {
    if (Looking == NULL)
        Looking = session_open(server_hosts(), T_LONG, NULL);
    Found.circles = Found.length = 0;
    return zkl_find_deadlocks(Looking, prefix, on_circle, &Found);
}

static size_t circles(const char *prefix) {
    CHECK_INT(look(prefix), ZKL_OK);
    return Found.circles;
}

/* ---- Rings of threads ---- */

typedef struct member {
    actor *actor;
    zkl_session *session;
    zkl_lock *has, *wants;
    int64_t token;
} member;

static struct {
    char prefix[200];
    size_t count;
    member members[RING_MAX];
} Ring;

/* Until the same thread's next call. */
static const char *ring_name(size_t number) {
    static _Thread_local char name[256];
    (void)snprintf(name, sizeof(name), "%s/%zu", Ring.prefix, number);
    return name;
}

static zkl_lock *lock_of(zkl_session *s, size_t number, const zkl_lock_options *options) {
    zkl_lock *l = NULL;
    REQUIRE_INT(zkl_lock_open(&l, s, ring_name(number), options), ZKL_OK);
    return l;
}

static size_t contenders(void) {
    size_t count = 0;
    for (size_t i = 0; i < Ring.count; i++)
        count += queue_length(ring_name(i));
    return count;
}

/* Each holds one. */
static void ring_open(size_t count, const zkl_lock_options *has, const zkl_lock_options *wants) {
    (void)snprintf(Ring.prefix, sizeof(Ring.prefix), "%s", fresh_name("ring"));
    Ring.count = count;
    for (size_t i = 0; i < count; i++) {
        member *m = &Ring.members[i];
        m->session = session_open(server_hosts(), T_LONG, NULL);
        m->has = lock_of(m->session, i, has);
        m->wants = lock_of(m->session, (i + 1) % count, wants);
        m->actor = actor_new();
        actor_acquire(m->actor, m->has, ZKL_FOREVER);
        CHECK_INT(actor_result(m->actor, SOON_MS), ZKL_OK);
        m->token = actor_token(m->actor, m->has);
    }
}

/* These ask for the next one's. */
static void ring_wait(size_t first, size_t end, int64_t timeout_ms) {
    const size_t before = contenders();
    for (size_t i = first; i < end; i++)
        actor_acquire(Ring.members[i].actor, Ring.members[i].wants, timeout_ms);
    WAIT_UNTIL(contenders() == before + end - first, SOON_MS);
}

static void ring_close(void) {
    for (size_t i = 0; i < Ring.count; i++) {
        CHECK_INT(zkl_lock_close(Ring.members[i].wants), ZKL_OK);
        CHECK_INT(zkl_lock_close(Ring.members[i].has), ZKL_OK);
    }
    for (size_t i = 0; i < Ring.count; i++) {
        (void)actor_result(Ring.members[i].actor, SOON_MS);
        actor_free(Ring.members[i].actor);
        session_close(Ring.members[i].session);
    }
}

/* The waits follow each other, and each is by the right nodes. */
static void check_ring(void) {
    CHECK_INT(Found.circles, 1);
    CHECK_INT(Found.length, Ring.count);
    for (size_t i = 0; i < Found.length; i++) {
        const size_t number = strtoul(Found.names[i] + strlen(Ring.prefix) + 1, NULL, 10);
        const member *owner = &Ring.members[number];
        CHECK_INT(Found.blockers[i].token, owner->token);
        CHECK_INT(Found.blockers[i].session_id, zkl_session_id(owner->session));
        CHECK_INT(Found.waiters[i].pid, getpid());
        CHECK_INT(Found.blockers[i].thread, Found.waiters[(i + 1) % Found.length].thread);
        CHECK(Found.blockers[i].is_holder);
        CHECK(!Found.waiters[i].is_holder);
    }
}

static void rings_of_mutexes_are_found(void) {
    static const size_t lengths[] = {2, 3, RING_MAX};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        ring_open(lengths[i], NULL, NULL);
        ring_wait(0, lengths[i] - 1, ZKL_FOREVER);
        CHECK_INT(circles(Ring.prefix), 0); /* the last can go on */
        ring_wait(lengths[i] - 1, lengths[i], ZKL_FOREVER);
        CHECK_INT(circles(Ring.prefix), 1);
        check_ring();
        CHECK_INT(circles(NULL), 1);
        CHECK_INT(circles("elsewhere"), 0);
        ring_close();
        CHECK_INT(circles(Ring.prefix), 0);
    }
}

/* The timeout of one ends it. */
static void a_ring_that_has_ended_is_not_found(void) {
    ring_open(3, NULL, NULL);
    ring_wait(0, 2, ZKL_FOREVER);
    ring_wait(2, 3, 1000);
    CHECK_INT(circles(Ring.prefix), 1);
    CHECK_INT(actor_result(Ring.members[2].actor, SOON_MS), ZKL_TIMEOUT);
    CHECK_INT(circles(Ring.prefix), 0);
    ring_close();
}

/* Each reads one, and wants to write the next. */
static void readers_that_want_to_write_are_found(void) {
    ring_open(3, &ZKL_LOCK_OPTIONS(.kind = ZKL_READ), &ZKL_LOCK_OPTIONS(.kind = ZKL_WRITE));
    ring_wait(0, 3, ZKL_FOREVER);
    CHECK_INT(circles(Ring.prefix), 1);
    check_ring();
    ring_close();
}

static void readers_that_want_to_read_wait_for_nobody(void) {
    ring_open(3, &ZKL_LOCK_OPTIONS(.kind = ZKL_READ), &ZKL_LOCK_OPTIONS(.kind = ZKL_READ));
    for (size_t i = 0; i < 3; i++) {
        actor_acquire(Ring.members[i].actor, Ring.members[i].wants, ZKL_FOREVER);
        CHECK_INT(actor_result(Ring.members[i].actor, SOON_MS), ZKL_OK);
    }
    CHECK_INT(circles(Ring.prefix), 0);
    ring_close();
}

/* One has a permit, and waits for a mutex whose holder waits for a permit: any of two would do. */
static void who_waits_for_any_of_several_is_not_named(void) {
    const zkl_lock_options permit = ZKL_LOCK_OPTIONS(.kind = ZKL_SEMAPHORE, .permits = 1);
    ring_open(2, NULL, NULL);
    zkl_lock *other = lock_of(Ring.members[0].session, 7, &permit);
    zkl_lock *wanted = lock_of(Ring.members[1].session, 7, &permit);
    actor_acquire(Ring.members[0].actor, other, ZKL_FOREVER);
    CHECK_INT(actor_result(Ring.members[0].actor, SOON_MS), ZKL_OK);
    actor_acquire(Ring.members[0].actor, Ring.members[0].wants, ZKL_FOREVER);
    actor_acquire(Ring.members[1].actor, wanted, ZKL_FOREVER);
    WAIT_UNTIL(queue_length(ring_name(7)) == 2, SOON_MS);
    CHECK_INT(circles(Ring.prefix), 0);
    CHECK_INT(zkl_lock_close(wanted), ZKL_OK);
    CHECK_INT(zkl_lock_close(other), ZKL_OK);
    ring_close();
}

/* Who holds by these, or by an acquire that is told, is not known. */
static void an_owner_that_may_be_another_is_not_named(void) {
    ring_open(2, &ZKL_LOCK_OPTIONS(.linger_ms = 1000), NULL);
    ring_wait(0, 2, ZKL_FOREVER);
    CHECK_INT(circles(Ring.prefix), 0);
    ring_close();
    ring_open(2, &ZKL_LOCK_OPTIONS(.local_handoffs = 1), NULL);
    ring_wait(0, 2, ZKL_FOREVER);
    CHECK_INT(circles(Ring.prefix), 0);
    ring_close();
}

/* Two jobs of this thread's, each by two sessions. */
static void an_owner_that_the_program_says_is_named(void) {
    const zkl_lock_options jobs[] = {ZKL_LOCK_OPTIONS(.owner = 1, .linger_ms = 1000),
                                     ZKL_LOCK_OPTIONS(.owner = ZKL_OWNER_MAX)};
    zkl_session *sessions[4];
    zkl_lock *locks[4];
    told t[4];
    (void)snprintf(Ring.prefix, sizeof(Ring.prefix), "%s", fresh_name("jobs"));
    for (size_t i = 0; i < COUNT(locks); i++) {
        sessions[i] = session_open(server_hosts(), T_LONG, NULL);
        locks[i] = lock_of(sessions[i], i < 2 ? i : 3 - i, &jobs[i % 2]);
        told_begin(&t[i], locks[i], ZKL_FOREVER);
        WAIT_UNTIL(queue_length(ring_name(i < 2 ? i : 3 - i)) == (i < 2 ? 1 : 2), SOON_MS);
    }
    told_check(&t[0], ZKL_OK);
    told_check(&t[1], ZKL_OK);
    CHECK_INT(circles(Ring.prefix), 1);
    CHECK_INT(Found.length, 2);
    for (size_t i = 0; i < COUNT(locks); i++)
        lock_close(locks[i]);
    for (size_t i = 0; i < COUNT(locks); i++)
        session_close(sessions[i]);
    zkl_lock *l = NULL;
    CHECK_INT(zkl_lock_open(&l, Looking, "owner", &ZKL_LOCK_OPTIONS(.owner = ZKL_OWNER_MAX + 1)),
              ZKL_INVALID);
}

/* A thread that waits where another of its process, by the same handle, waited before: its node
 * would name the other. */
static void a_place_is_not_left_to_another_owner(void) {
    ring_open(2, NULL, NULL);
    actor *third = actor_new();
    ring_wait(0, 1, 300);
    actor_acquire(third, Ring.members[0].wants, ZKL_FOREVER);
    CHECK_INT(actor_result(Ring.members[0].actor, SOON_MS), ZKL_TIMEOUT);
    WAIT_UNTIL(queue_length(ring_name(1)) == 2, SOON_MS);
    ring_wait(1, 2, ZKL_FOREVER); /* for who holds, and no longer waits */
    CHECK_INT(circles(Ring.prefix), 0);
    ring_close();
    CHECK_INT(actor_result(third, SOON_MS), ZKL_CLOSED);
    actor_free(third);
}

/* ---- Over several processes ---- */

/* This program again, as one of them: HOSTS ROOT HAS WANTS. Holds one, and waits for the other when
 * it is told to. (A fork alone would be none of the thread sanitizer's programs.) */
static int be_one_of_the_ring(char **arguments) {
    zkl_session *s = NULL;
    zkl_lock *has = NULL, *wants = NULL;
    char byte = 0;
    const zkl_session_options options = ZKL_SESSION_OPTIONS(.root = arguments[1]);
    if (zkl_session_open(&s, arguments[0], &options) == ZKL_OK &&
        zkl_lock_open(&has, s, arguments[2], NULL) == ZKL_OK &&
        zkl_lock_open(&wants, s, arguments[3], NULL) == ZKL_OK &&
        zkl_acquire(has, ZKL_FOREVER) == ZKL_OK && write(STDOUT_FILENO, &byte, 1) == 1 &&
        read(STDIN_FILENO, &byte, 1) == 1 && zkl_acquire(wants, ZKL_FOREVER) == ZKL_OK)
        return 0;
    return 1;
}

static pid_t start_one_of_the_ring(size_t number, size_t count, int input, int output) {
    char has[256], wants[256];
    (void)snprintf(has, sizeof(has), "%s", ring_name(number));
    (void)snprintf(wants, sizeof(wants), "%s", ring_name((number + 1) % count));
    const pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(input, STDIN_FILENO);
        (void)dup2(output, STDOUT_FILENO);
        (void)execl("/proc/self/exe", "ring", "--ring", server_hosts(), fixture_root(), has, wants,
                    (char *)NULL);
        _exit(127);
    }
    REQUIRE(pid > 0);
    return pid;
}

static void rings_over_processes_are_found(void) {
    enum {
        PROCESSES = 10
    };
    pid_t pids[PROCESSES];
    int to[2], from[2], status;
    char bytes[PROCESSES] = {0};
    (void)snprintf(Ring.prefix, sizeof(Ring.prefix), "%s", fresh_name("processes"));
    Ring.count = PROCESSES;
    REQUIRE(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    for (size_t i = 0; i < PROCESSES; i++)
        pids[i] = start_one_of_the_ring(i, PROCESSES, to[0], from[1]);
    (void)close(to[0]);
    (void)close(from[1]);
    for (size_t i = 0; i < PROCESSES; i++)
        REQUIRE(read(from[0], bytes, 1) == 1);
    CHECK_INT(circles(Ring.prefix), 0);
    CHECK_INT(write(to[1], bytes, PROCESSES), PROCESSES);
    WAIT_UNTIL(contenders() == 2 * PROCESSES, SOON_MS);
    CHECK_INT(circles(Ring.prefix), 1);
    CHECK_INT(Found.length, PROCESSES);
    for (size_t i = 0; i < Found.length; i++) {
        const size_t number = strtoul(Found.names[i] + strlen(Ring.prefix) + 1, NULL, 10);
        CHECK_INT(Found.blockers[i].pid, pids[number]);
        CHECK_INT(Found.blockers[i].pid, Found.waiters[(i + 1) % Found.length].pid);
    }
    for (size_t i = 0; i < PROCESSES; i++)
        REQUIRE(kill(pids[i], SIGKILL) == 0 && waitpid(pids[i], &status, 0) == pids[i]);
    (void)close(to[1]);
    (void)close(from[0]);
}

/* ---- No false alarm ---- */

/* One takes the locks in their order, gives up waiting for the second before its node is known, and
 * begins anew. The other has the second lock, and wants the first. */
static struct {
    proxy *proxy;
    zkl_session *session, *other_session;
    zkl_lock *first, *second, *other_first, *other_second;
    actor *one, *other;
} Late;

static void late_open(proxy_action action) {
    (void)snprintf(Ring.prefix, sizeof(Ring.prefix), "%s", fresh_name("late"));
    Late.proxy = proxy_new();
    Late.session = session_open(proxy_hosts(Late.proxy), T_LONG, NULL);
    Late.other_session = session_open(server_hosts(), T_LONG, NULL);
    Late.first = lock_of(Late.session, 0, NULL);
    Late.second = lock_of(Late.session, 1, NULL);
    Late.other_first = lock_of(Late.other_session, 0, NULL);
    Late.other_second = lock_of(Late.other_session, 1, NULL);
    Late.one = actor_new();
    Late.other = actor_new();
    actor_acquire(Late.other, Late.other_second, SOON_MS);
    CHECK_INT(actor_result(Late.other, SOON_MS), ZKL_OK);
    actor_acquire(Late.one, Late.first, SOON_MS);
    CHECK_INT(actor_result(Late.one, SOON_MS), ZKL_OK);
    proxy_rule(Late.proxy, action, PROXY_CREATE, ring_name(1), 1, action == PROXY_CUT_REPLY);
    actor_acquire(Late.one, Late.second, 100);
    CHECK_INT(actor_result(Late.one, SOON_MS), ZKL_TIMEOUT);
    WAIT_UNTIL(queue_length(ring_name(1)) == 2, SOON_MS);
    CHECK_INT(actor_release(Late.one, Late.first), ZKL_OK);
    actor_acquire(Late.one, Late.first, ZKL_FOREVER);
}

/* What held the one up is over: it waits, and then holds. */
static void late_close(void) {
    WAIT_UNTIL(queue_length(ring_name(1)) == 1, SOON_MS);
    WAIT_UNTIL(queue_length(ring_name(0)) == 2, SOON_MS);
    CHECK_INT(circles(Ring.prefix), 0);
    CHECK_INT(actor_release(Late.other, Late.other_first), ZKL_OK);
    CHECK_INT(actor_release(Late.other, Late.other_second), ZKL_OK);
    CHECK_INT(actor_result(Late.one, SOON_MS), ZKL_OK);
    CHECK_INT(actor_release(Late.one, Late.first), ZKL_OK);
    lock_close(Late.first);
    lock_close(Late.second);
    lock_close(Late.other_first);
    lock_close(Late.other_second);
    session_close(Late.session);
    session_close(Late.other_session);
    actor_free(Late.one);
    actor_free(Late.other);
    proxy_close(Late.proxy);
}

static void late_other_wants_the_first(void) {
    WAIT_UNTIL(queue_length(ring_name(0)) == 0, SOON_MS);
    CHECK_STAYS(queue_length(ring_name(0)) == 0, 100);
    actor_acquire(Late.other, Late.other_first, SOON_MS);
    WAIT_UNTIL(actor_is_done(Late.other) || queue_length(ring_name(0)) == 2, SOON_MS);
    CHECK_INT(circles(Ring.prefix), 0);
    REQUIRE_INT(actor_result(Late.other, 0), ZKL_OK); /* the one wants it now, and has no node */
}

/* The reply to its create is on its way. */
static void a_node_that_is_known_late_is_no_wait(void) {
    late_open(PROXY_HOLD_REPLY);
    late_other_wants_the_first();
    proxy_hold(Late.proxy, PROXY_TO_CLIENT, false);
    late_close();
}

/* The reply is lost. The node is deleted when it has been found, over the next connection. */
static void a_node_that_is_looked_for_is_no_wait(void) {
    late_open(PROXY_CUT_REPLY);
    proxy_rule(Late.proxy, PROXY_HOLD_REQUEST, PROXY_DELETE, ring_name(1), 1, false);
    proxy_refuse(Late.proxy, false);
    WAIT_UNTIL(proxy_count(Late.proxy, PROXY_DELETE, ring_name(1)) == 1, SOON_MS);
    late_other_wants_the_first();
    proxy_hold(Late.proxy, PROXY_TO_SERVER, false);
    late_close();
}

enum {
    CHURN_LOCKS = 4,
    CHURN_THREADS = 8,
    CHURN_LOOKS = 600
};

static struct {
    proxy *proxy;
    atomic_bool is_over;
    atomic_uint rounds;
} Churn;

/* Locks are acquired in their order, some of them in vain. So nobody can wait in a circle. */
static void churn_once(zkl_lock *const *locks, uint64_t *state) {
    bool has[CHURN_LOCKS] = {false};
    for (size_t i = 0; i < CHURN_LOCKS; i++) {
        const uint64_t kind = random_draw(state, 10);
        if (kind < 3)
            continue;
        has[i] = zkl_acquire(locks[i], kind < 4   ? 0
                                       : kind < 7 ? (int64_t)random_draw(state, 40)
                                                  : ZKL_FOREVER) == ZKL_OK;
    }
    for (size_t i = CHURN_LOCKS; i-- > 0;)
        if (has[i])
            (void)zkl_release(locks[i]);
    (void)atomic_fetch_add(&Churn.rounds, 1);
}

static zkl_err churn(void *arg) {
    zkl_session *s = NULL;
    zkl_lock *locks[CHURN_LOCKS] = {NULL};
    uint64_t state = 1 + (uint64_t)(uintptr_t)arg;
    const bool is_proxied = random_draw(&state, 2) == 0;
    zkl_err err = zkl_session_open(
        &s, is_proxied ? proxy_hosts(Churn.proxy) : server_hosts(),
        &ZKL_SESSION_OPTIONS(.session_timeout_ms = T_LONG, .root = fixture_root()));
    for (size_t i = 0; i < CHURN_LOCKS && err == ZKL_OK; i++)
        err = zkl_lock_open(&locks[i], s, ring_name(i),
                            &ZKL_LOCK_OPTIONS(.kind = (zkl_kind)random_draw(&state, 3)));
    while (err == ZKL_OK && !atomic_load(&Churn.is_over))
        churn_once(locks, &state);
    for (size_t i = 0; i < CHURN_LOCKS; i++)
        (void)zkl_lock_close(locks[i]);
    (void)zkl_session_close(s);
    return err;
}

/* ZKLOCK_DEADLOCK_LOOKS: so many. */
static size_t looks(void) {
    const char *text = getenv("ZKLOCK_DEADLOCK_LOOKS");
    return text == NULL ? CHURN_LOOKS : strtoul(text, NULL, 10);
}

/* For who has to find out how it came about. */
static void note_circle(void) {
    for (size_t i = 0; i < Found.length; i++) {
        const zkl_contender *waiter = &Found.waiters[i], *blocker = &Found.blockers[i];
        test_note("%s: thread %" PRId64 " (%#" PRIx64 ", since %" PRId64 ", kind %d) waits for "
                  "%" PRId64 " (%#" PRIx64 ", since %" PRId64 ", kind %d)",
                  Found.names[i], waiter->thread, waiter->token, waiter->since_ms, waiter->kind,
                  blocker->thread, blocker->token, blocker->since_ms, blocker->kind);
    }
}

static void nobody_is_named_who_takes_locks_in_their_order(void) {
    actor *actors[CHURN_THREADS];
    size_t found = 0, done = 0;
    (void)snprintf(Ring.prefix, sizeof(Ring.prefix), "%s", fresh_name("churn"));
    atomic_store(&Churn.is_over, false);
    Churn.proxy = proxy_new();
    for (size_t i = 0; i < CHURN_THREADS; i++) {
        actors[i] = actor_new();
        actor_begin(actors[i], churn, (void *)(uintptr_t)(i + 1));
    }
    WAIT_UNTIL(atomic_load(&Churn.rounds) >= CHURN_THREADS, SOON_MS); /* they have begun */
    for (; done < looks(); done++) {
        found += circles(Ring.prefix);
        note_circle();
        if (done % 200 == 100)
            proxy_drop(Churn.proxy);
    }
    atomic_store(&Churn.is_over, true);
    for (size_t i = 0; i < CHURN_THREADS; i++) {
        CHECK_INT(actor_result(actors[i], 3 * SOON_MS), ZKL_OK);
        actor_free(actors[i]);
    }
    proxy_close(Churn.proxy);
    printf("\n        %zu looks in %u rounds: ", done, atomic_load(&Churn.rounds));
    CHECK_INT(found, 0);
    CHECK(atomic_load(&Churn.rounds) > done / 20);
}

/* ---- Closing ---- */

static zkl_err look_there(void *arg) {
    return zkl_find_deadlocks(arg, Ring.prefix, on_circle, &Found);
}

/* Most likely between two reads, where it rests. */
static void a_close_of_the_session_ends_a_look(void) {
    ring_open(2, NULL, NULL);
    ring_wait(0, 2, ZKL_FOREVER);
    for (int64_t after_ms = 20; after_ms < 120; after_ms += 20) {
        zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
        actor *a = actor_new();
        Found.circles = 0;
        actor_begin(a, look_there, s);
        wait_out(after_ms);
        session_close(s);
        const zkl_err err = actor_result(a, SOON_MS);
        CHECK(err == ZKL_CLOSED || err == ZKL_OK);
        CHECK_INT(Found.circles, err == ZKL_OK);
        actor_free(a);
    }
    ring_close();
}

/* ---- Wrong calls ---- */

static void wrong_calls_are_refused(void) {
    CHECK_INT(circles("nothing-here"), 0);
    CHECK_INT(zkl_find_deadlocks(NULL, NULL, on_circle, NULL), ZKL_INVALID);
    CHECK_INT(zkl_find_deadlocks(Looking, NULL, NULL, NULL), ZKL_INVALID);
    CHECK_INT(zkl_find_deadlocks(Looking, "/wrong", on_circle, NULL), ZKL_INVALID);
    session_close(Looking);
    Looking = NULL;
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"rings of mutexes are found", rings_of_mutexes_are_found},
        {"a ring that has ended is not found", a_ring_that_has_ended_is_not_found},
        {"readers that want to write are found", readers_that_want_to_write_are_found},
        {"readers that want to read wait for nobody", readers_that_want_to_read_wait_for_nobody},
        {"who waits for any of several is not named", who_waits_for_any_of_several_is_not_named},
        {"an owner that may be another is not named", an_owner_that_may_be_another_is_not_named},
        {"an owner that the program says is named", an_owner_that_the_program_says_is_named},
        {"a place is not left to another owner", a_place_is_not_left_to_another_owner},
        {"rings over processes are found", rings_over_processes_are_found},
        {"a node that is known late is no wait", a_node_that_is_known_late_is_no_wait},
        {"a node that is looked for is no wait", a_node_that_is_looked_for_is_no_wait},
        {"nobody is named who takes locks in their order",
         nobody_is_named_who_takes_locks_in_their_order},
        {"a close of the session ends a look", a_close_of_the_session_ends_a_look},
        {"wrong calls are refused", wrong_calls_are_refused},
    };
    if (argc == 6 && strcmp(argv[1], "--ring") == 0)
        return be_one_of_the_ring(argv + 2);
    fixture_start(NULL);
    test_after_each(fixture_recover);
    return TEST_MAIN(argc, argv, "deadlocks", cases);
}
