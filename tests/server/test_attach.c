/*
 * Locks in the session of a handle that the program has: what both leave alone of the other, how
 * it begins and ends, and what is left behind. And a handle of the library's, lent to the program.
 */
#include "support/client.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zklock_inspect.h>
#include <zklock_ticket.h>
#include <zklock_zookeeper.h>

#include "support/program.h"
#include "support/told.h"

static void both_use_the_handle(void) {
    program p = program_new(T_NORMAL);
    const char *name = fresh_name("both");

    program_connect(&p);
    const int heard = atomic_load(&p.events);
    zkl_session *s = program_attach(&p, true, NULL);
    zkl_lock *l = lock_open(s, name, NULL);
    client *other = client_open(name, T_NORMAL);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_session_id(s), zoo_client_id(p.zh)->client_id);
    CHECK_INT(zkl_session_timeout_ms(s), zoo_recv_timeout(p.zh));
    CHECK_INT(queue_owned(name, zoo_client_id(p.zh)->client_id), 1);
    CHECK_INT(client_acquire(other, 0), ZKL_BUSY);
    client_queue_up(other, 2);
    CHECK(program_is_answered(&p));
    CHECK(zkl_held(l));
    CHECK_INT(zkl_release(l), ZKL_OK);
    CHECK_INT(client_result(other), ZKL_OK);
    CHECK_INT(zkl_acquire(l, 0), ZKL_BUSY);
    CHECK_INT(client_release_wait(other), ZKL_OK);
    CHECK_INT(zkl_acquire(l, 0), ZKL_OK);
    CHECK(zoo_get_context(p.zh) == &p);
    CHECK_INT(atomic_load(&p.events), heard);
    lock_close(l);
    client_close(other);
    session_close(s);
    program_end(&p);
}

/* Also on a handle that is not connected yet. */
static void attach_waits_for_nothing(void) {
    program p = program_new(T_NORMAL);

    program_begin(&p, server_nowhere());
    const int64_t begun_ms = clock_ms();
    zkl_session *s = program_attach(&p, true, NULL);
    CHECK(clock_ms() - begun_ms < 1000);
    CHECK_INT(zkl_session_state(s), ZKL_STATE_CONNECTING);
    zkl_lock *l = lock_open(s, fresh_name("nowhere"), NULL);
    CHECK_INT(zkl_acquire(l, 0), ZKL_UNREACHABLE);
    CHECK_INT(zkl_acquire(l, 50), ZKL_TIMEOUT);
    lock_close(l);
    session_close(s);
    program_end(&p);
}

/* For T and more, if a hold waits for a proof. A stall may make one wait for it once. */
static bool begins_at_once_after_a_rest(zkl_lock *l, int timeout_ms) {
    for (int tries = 5; tries > 0; --tries) {
        wait_out(2 * timeout_ms);
        const int64_t begun_ms = clock_ms();
        CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
        const int64_t took_ms = clock_ms() - begun_ms;
        CHECK_INT(zkl_release(l), ZKL_OK);
        if (took_ms < timeout_ms)
            return true;
        test_note("after a rest a hold began after %lld ms", (long long)took_ms);
    }
    return false;
}

/* Of a session that may be of any age the servers may have been about to end it. */
static void without_that_time_a_hold_waits_for_a_proof(void) {
    program p = program_new(2 * T_SHORT);

    program_connect(&p);
    const int64_t begun_ms = clock_ms();
    zkl_session *s = program_attach(&p, false, NULL);
    const int timeout_ms = zoo_recv_timeout(p.zh);
    zkl_lock *l = lock_open(s, fresh_name("age"), NULL);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    const int64_t first_ms = clock_ms() - begun_ms;
    CHECK_INT(zkl_release(l), ZKL_OK);
    CHECK_RANGE(first_ms, timeout_ms, 4 * timeout_ms);
    test_note("T is %d ms, the first hold began after %lld ms", timeout_ms, (long long)first_ms);
    CHECK(begins_at_once_after_a_rest(l, timeout_ms));
    lock_close(l);
    session_close(s);
    program_end(&p);
}

static void with_that_time_it_begins_at_once(void) {
    program p = program_new(T_LONG);

    program_connect(&p);
    const int64_t begun_ms = clock_ms();
    zkl_session *s = program_attach(&p, true, NULL);
    zkl_lock *l = lock_open(s, fresh_name("young"), NULL);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    CHECK(clock_ms() - begun_ms < T_LONG / 10);
    lock_close(l);
    session_close(s);
    program_end(&p);
}

/* ---- The end of its session ---- */

static void its_end_is_told_and_is_for_good(void) {
    program p = program_new(T_NORMAL), next = program_new(T_NORMAL);
    events *e = events_new();
    const char *name = fresh_name("expired");

    program_connect(&p);
    zkl_session *s = program_attach(&p, true, e);
    zkl_lock *held = lock_open(s, name, e), *waits = lock_open(s, name, NULL);
    told wait = {0};
    REQUIRE_INT(zkl_acquire(held, SOON_MS), ZKL_OK);
    told_begin(&wait, waits, ZKL_FOREVER);
    program_expire(&p);
    WAIT_UNTIL(events_count(e, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK(!zkl_held(held));
    WAIT_UNTIL(zkl_session_state(s) == ZKL_STATE_EXPIRED, SOON_MS);
    told_check(&wait, ZKL_EXPIRED);
    CHECK_INT(zkl_release(held), ZKL_LOST);
    CHECK_INT(zkl_acquire(held, SOON_MS), ZKL_EXPIRED);
    CHECK_INT(zkl_acquire(held, 0), ZKL_EXPIRED);
    CHECK_INT(zkl_session_id(s), 0);
    zkl_queue *queue = NULL;
    CHECK_INT(zkl_inspect(s, name, &queue), ZKL_EXPIRED);
    char ticket[ZKL_TICKET_SIZE];
    CHECK_INT(zkl_session_ticket(s, ticket, sizeof(ticket)), ZKL_EXPIRED);
    program_connect(&next);
    zkl_session *other = program_attach(&next, true, NULL);
    zkl_lock *l = lock_open(other, name, NULL);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    lock_close(l);
    lock_close(held);
    lock_close(waits);
    session_close(s);
    session_close(other);
    program_end(&p);
    program_end(&next);
    events_free(e);
}

/* The handle was over before it was attached. */
static void a_session_that_is_over_is_seen(void) {
    program p = program_new(T_NORMAL);

    program_connect(&p);
    program_expire(&p);
    WAIT_UNTIL(atomic_load(&p.state) == ZOO_EXPIRED_SESSION_STATE, SOON_MS);
    zkl_session *s = program_attach(&p, true, NULL);
    WAIT_UNTIL(zkl_session_state(s) == ZKL_STATE_EXPIRED, 1000);
    zkl_lock *l = lock_open(s, fresh_name("over"), NULL);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_EXPIRED);
    lock_close(l);
    session_close(s);
    program_end(&p);
}

/* ---- What is left behind ---- */

static void a_close_takes_back_what_is_ours_alone(void) {
    program p = program_new(T_NORMAL);
    const char *name = fresh_name("close"), *queue = fresh_name("queue");
    struct Stat stat;

    program_connect(&p);
    zkl_session *s = program_attach(&p, true, NULL);
    zkl_lock *held = lock_open(s, name, NULL), *waits = lock_open(s, queue, NULL);
    client *before = client_open(queue, T_NORMAL);
    told wait = {0};
    REQUIRE_INT(client_acquire(before, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_acquire(held, SOON_MS), ZKL_OK);
    told_begin(&wait, waits, ZKL_FOREVER);
    WAIT_UNTIL(queue_length(queue) == 2, SOON_MS);
    /* The program watches the same nodes. */
    char node[RAW_PATH_MAX];
    client_node(before, node);
    REQUIRE_INT(zoo_wexists(p.zh, node, program_on_node, &p, &stat), ZOK);
    struct String_vector children;
    REQUIRE_INT(zoo_wget_children(p.zh, lock_dir(name), program_on_node, &p, &children), ZOK);
    (void)deallocate_String_vector(&children);

    lock_close(held);
    lock_close(waits);
    session_close(s);
    told_check(&wait, ZKL_CLOSED);
    CHECK_INT(queue_owned(name, zoo_client_id(p.zh)->client_id), 0);
    CHECK_INT(queue_owned(queue, zoo_client_id(p.zh)->client_id), 0);
    CHECK_INT(zoo_state(p.zh), ZOO_CONNECTED_STATE);
    WAIT_UNTIL(atomic_load(&p.changes) == 1, SOON_MS); /* the node of held has gone */
    CHECK_INT(client_release_wait(before), ZKL_OK);
    WAIT_UNTIL(atomic_load(&p.changes) == 2, SOON_MS);
    CHECK(program_is_answered(&p));
    client_close(before);
    program_end(&p);
}

/* Without a close of the locks, and of a hold. */
static void a_close_ends_the_holds(void) {
    program p = program_new(T_NORMAL);
    const char *name = fresh_name("holds");
    events *e = events_new();

    program_connect(&p);
    zkl_session *s = program_attach(&p, true, NULL);
    zkl_lock *l = lock_open(s, name, e);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    session_close(s);
    CHECK_INT(events_count(e, ZKL_EVENT_LOST), 1);
    CHECK(!zkl_held(l));
    CHECK_INT(zkl_acquire(l, 0), ZKL_CLOSED);
    CHECK_INT(queue_owned(name, zoo_client_id(p.zh)->client_id), 0);
    lock_close(l);
    CHECK(program_is_answered(&p));
    program_end(&p);
    events_free(e);
}

static void a_close_that_reaches_no_server_says_so(void) {
    if (!server_is_ours()) {
        test_skip("the server is not ours to freeze");
        return;
    }
    program p = program_new(T_LONG);
    const char *name = fresh_name("frozen");

    program_connect(&p);
    zkl_session *s = program_attach(&p, true, NULL);
    zkl_lock *l = lock_open(s, name, NULL);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    server_freeze();
    const int64_t begun_ms = clock_ms();
    CHECK_INT(zkl_session_close(s), ZKL_UNREACHABLE);
    CHECK(clock_ms() - begun_ms < 2000);
    server_thaw();
    lock_close(l);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS); /* the request had been sent */
    CHECK(program_is_answered(&p));
    program_end(&p);
}

/* Two sessions of zklock on one handle are two contenders. */
static void a_handle_may_be_attached_twice(void) {
    program p = program_new(T_NORMAL);
    const char *name = fresh_name("twice");

    program_connect(&p);
    zkl_session *one = program_attach(&p, true, NULL), *two = program_attach(&p, true, NULL);
    zkl_lock *a = lock_open(one, name, NULL), *b = lock_open(two, name, NULL);
    REQUIRE_INT(zkl_acquire(a, SOON_MS), ZKL_OK);
    told wait = {0};
    told_begin(&wait, b, ZKL_FOREVER);
    WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
    lock_close(a);
    session_close(one);
    told_check(&wait, ZKL_OK);
    CHECK_INT(queue_length(name), 1);
    lock_close(b);
    session_close(two);
    CHECK_INT(queue_length(name), 0);
    program_end(&p);
}

/* ZKLOCK_ATTACH_TIMES: so often. */
static int times(void) {
    const char *text = getenv("ZKLOCK_ATTACH_TIMES");

    return text == NULL ? 1000 : (int)strtol(text, NULL, 10);
}

/* Beside a session of the library's own, which is there all the while. */
static void nothing_grows(void) {
    enum {
        WARM = 100
    };
    program p = program_new(T_LONG);
    client *own = client_open(fresh_name("own"), T_LONG);
    size_t descriptors = 0, threads = 0, resident_kib = 0;
    int64_t watches = 0;

    program_connect(&p);
    for (int i = 0; i < WARM + times(); i++) {
        if (i == WARM) {
            descriptors = process_descriptors();
            threads = process_threads();
            resident_kib = process_resident_kib();
            watches = server_number("wchs", "Total watches");
        }
        if (clock_ms() - p.made_ms > T_LONG / 4) {
            program_end(&p); /* else it were too old for a hold at once */
            program_connect(&p);
        }
        zkl_session *s = program_attach(&p, true, NULL);
        zkl_lock *l = lock_open(s, own->name, NULL);
        REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
        REQUIRE_INT(zkl_release(l), ZKL_OK);
        lock_close(l);
        REQUIRE_INT(zkl_session_close(s), ZKL_OK);
    }
    WAIT_UNTIL(process_descriptors() <= descriptors, SOON_MS);
    WAIT_UNTIL(process_threads() <= threads, SOON_MS);
    const int64_t more_kib = (int64_t)process_resident_kib() - (int64_t)resident_kib;
    test_note("%d times attached: %lld KiB more, %lld watches more", times(), (long long)more_kib,
              (long long)(server_number("wchs", "Total watches") - watches));
    CHECK(!MEMORY_IS_MEASURABLE || more_kib < 400);
    if (server_is_ours() && watches >= 0) /* else others set watches, too */
        CHECK_RANGE(server_number("wchs", "Total watches") - watches, -2, 2);
    client_close(own);
    program_end(&p);
}

/* ---- Where calls are made ---- */

typedef struct inside {
    zkl_lock *lock;
    zkl_session *session;
    atomic_int acquired, closed;
} inside;

static void on_looked(int code, const struct Stat *stat, const void *data) {
    inside *in = (inside *)(uintptr_t)data;
    (void)code;
    (void)stat;
    atomic_store(&in->acquired, (int)zkl_acquire(in->lock, SOON_MS));
    atomic_store(&in->closed, (int)zkl_session_close(in->session));
}

static void the_thread_of_the_handle_never_blocks(void) {
    program p = program_new(T_NORMAL);

    program_connect(&p);
    zkl_session *s = program_attach(&p, true, NULL);
    inside in = {.lock = lock_open(s, fresh_name("inside"), NULL), .session = s};
    atomic_init(&in.acquired, -1);
    atomic_init(&in.closed, -1);
    WAIT_UNTIL(zkl_session_state(s) == ZKL_STATE_CONNECTED, SOON_MS);
    REQUIRE_INT(zoo_aexists(p.zh, "/", 0, on_looked, &in), ZOK);
    WAIT_UNTIL(atomic_load(&in.closed) != -1, SOON_MS);
    CHECK_INT(atomic_load(&in.acquired), ZKL_IN_CALLBACK);
    CHECK_INT(atomic_load(&in.closed), ZKL_IN_CALLBACK);
    CHECK_INT(zkl_acquire(in.lock, SOON_MS), ZKL_OK);
    lock_close(in.lock);
    session_close(s);
    program_end(&p);
}

static void what_cannot_be_attached_is_refused(void) {
    program p = program_new(T_NORMAL);
    zkl_session *s = NULL;
    char chroot[300];
    const zkl_session_options wrong[] = {
        ZKL_SESSION_OPTIONS(.made_ms = -1),
        ZKL_SESSION_OPTIONS(.made_ms = clock_ms() + 60000),
        ZKL_SESSION_OPTIONS(.chroot = "no-slash"),
        ZKL_SESSION_OPTIONS(.chroot = chroot),
        ZKL_SESSION_OPTIONS(.session_timeout_ms = 4000),
        ZKL_SESSION_OPTIONS(.auth_scheme = "digest", .auth = "a:b"),
    };
    const zkl_session_options tls = ZKL_SESSION_OPTIONS(.tls = "x");
    const zkl_session_options aged = ZKL_SESSION_OPTIONS(.made_ms = 1);
    const zkl_session_options rooted = ZKL_SESSION_OPTIONS(.chroot = "");

    memset(chroot, 'x', sizeof(chroot));
    chroot[0] = '/';
    chroot[sizeof(chroot) - 1] = '\0';
    program_connect(&p);
    CHECK_INT(zkl_session_attach(NULL, p.zh, NULL), ZKL_INVALID);
    CHECK_INT(zkl_session_attach(&s, NULL, NULL), ZKL_INVALID);
    for (size_t i = 0; i < COUNT(wrong); i++)
        CHECK_INT(zkl_session_attach(&s, p.zh, &wrong[i]), ZKL_INVALID);
    CHECK_INT(zkl_session_attach(&s, p.zh, &tls), ZKL_UNSUPPORTED);
    CHECK_INT(zkl_session_open(&s, server_hosts(), &aged), ZKL_INVALID);
    CHECK_INT(zkl_session_open(&s, server_hosts(), &rooted), ZKL_INVALID);
    CHECK(s == NULL);
    REQUIRE_INT(zkl_session_attach(&s, p.zh, NULL), ZKL_OK);
    CHECK_INT(zkl_session_set_hosts(s, server_hosts()), ZKL_UNSUPPORTED);
    session_close(s);
    program_end(&p);
}

/* ---- Lent ---- */

static void a_lent_handle_stays(void) {
    client *c = client_open(fresh_name("lent"), T_NORMAL);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    zhandle_t *zh = zkl_session_zhandle(c->session), *again = zkl_session_zhandle(c->session);
    REQUIRE(zh != NULL);
    CHECK(zh == again);
    CHECK_INT(zoo_client_id(zh)->client_id, zkl_session_id(c->session));
    CHECK_INT(zkl_session_zhandle_return(c->session, zh), ZKL_OK);
    const credentials old = session_credentials(c->session);
    credentials_expire(&old);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    WAIT_UNTIL(zkl_session_id(c->session) != 0, SOON_MS);
    CHECK(zkl_session_id(c->session) != old.id);
    CHECK_INT(zoo_client_id(zh)->client_id, old.id); /* it is over, and still there */
    CHECK_INT(zoo_state(zh), ZOO_EXPIRED_SESSION_STATE);
    CHECK_INT(zkl_session_close(c->session), ZKL_INVALID);
    CHECK_INT(zkl_session_zhandle_return(c->session, zh), ZKL_OK);
    CHECK_INT(zkl_session_zhandle_return(c->session, zh), ZKL_INVALID);
    CHECK_INT(client_release(c), ZKL_LOST);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(c);
}

/* As one with .keep_session, and one that was not lent is replaced. */
static void a_lent_session_is_not_replaced(void) {
    client *c = client_open(fresh_name("rest"), T_SHORT);
    zhandle_t *zh = zkl_session_zhandle(c->session);

    REQUIRE(zh != NULL);
    const int64_t id = zkl_session_id(c->session);
    wait_out(3 * T_SHORT);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_session_id(c->session), id);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(zkl_session_zhandle_return(c->session, zh), ZKL_OK);
    wait_out(3 * T_SHORT);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK(zkl_session_id(c->session) != id);
    client_close(c);
}

static void an_attached_session_lends_its_handle(void) {
    program p = program_new(T_NORMAL);

    program_connect(&p);
    zkl_session *s = program_attach(&p, true, NULL);
    WAIT_UNTIL(zkl_session_state(s) == ZKL_STATE_CONNECTED, SOON_MS);
    CHECK(zkl_session_zhandle(s) == p.zh);
    CHECK_INT(zkl_session_zhandle_return(s, p.zh), ZKL_OK);
    session_close(s);
    CHECK(zkl_session_zhandle(NULL) == NULL);
    CHECK_INT(zkl_session_zhandle_return(NULL, p.zh), ZKL_INVALID);
    program_end(&p);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"both use the handle", both_use_the_handle},
        {"attach waits for nothing", attach_waits_for_nothing},
        {"without the time that it was made a hold waits for a proof",
         without_that_time_a_hold_waits_for_a_proof},
        {"with the time that it was made it begins at once", with_that_time_it_begins_at_once},
        {"its end is told and is for good", its_end_is_told_and_is_for_good},
        {"a session that is over is seen", a_session_that_is_over_is_seen},
        {"a close takes back what is ours alone", a_close_takes_back_what_is_ours_alone},
        {"a close ends the holds", a_close_ends_the_holds},
        {"a close that reaches no server says so", a_close_that_reaches_no_server_says_so},
        {"a handle may be attached twice", a_handle_may_be_attached_twice},
        {"nothing grows", nothing_grows},
        {"the thread of the handle never blocks", the_thread_of_the_handle_never_blocks},
        {"what cannot be attached is refused", what_cannot_be_attached_is_refused},
        {"a lent handle stays", a_lent_handle_stays},
        {"a lent session is not replaced", a_lent_session_is_not_replaced},
        {"an attached session lends its handle", an_attached_session_lends_its_handle},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "attach", cases);
}
