/* A holder that is told when another client waits for its hold, or asks for it. */
#include "support/client.h"

#include <stdatomic.h>
#include <stdio.h>

#define LINGER_MS 60000

static size_t wanted(client *c) {
    return client_told(c, ZKL_EVENT_WANTED);
}

/* The directory is there: an acquire lists once. */
static client *open_wanting_for(const char *name, zkl_kind kind, int timeout_ms) {
    client *c = client_open_proxied(name, timeout_ms);
    client_be_wanting(c, kind, 0);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    proxy_forget(c->proxy);
    return c;
}

static client *open_wanting(const char *name, zkl_kind kind) {
    return open_wanting_for(name, kind, T_NORMAL);
}

/* It has looked, and will be told of who comes. */
static void hold_and_watch(client *c) {
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_LIST, c->name) >= 2, SOON_MS);
}

static void check_event(client *c, size_t nth) {
    zkl_event event = {0};

    WAIT_UNTIL(wanted(c) == nth + 1, SOON_MS);
    CHECK(events_get(c->events, ZKL_EVENT_WANTED, nth, &event, NULL));
    CHECK(event.lock == c->lock && event.hold != 0);
    CHECK_INT(event.token, client_token(c));
}

static void who_queues_wants_it(void) {
    static const struct {
        zkl_kind own, other;
    } cases[] = {{ZKL_MUTEX, ZKL_MUTEX},
                 {ZKL_WRITE, ZKL_READ},
                 {ZKL_READ, ZKL_WRITE},
                 {ZKL_SEMAPHORE, ZKL_SEMAPHORE}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *name = fresh_name("queue");
        client *c = open_wanting(name, cases[i].own);
        client *second = client_open(name, T_NORMAL), *third = client_open(name, T_LONG);

        client_be_wanting(second, cases[i].other, 0);
        client_be_wanting(third, cases[i].other, 0);
        hold_and_watch(c);
        CHECK_INT(wanted(c), 0);
        client_queue_up(second, 2);
        check_event(c, 0);
        client_queue_up(third, 3);
        CHECK_INT(client_release(c), ZKL_OK);
        CHECK_INT(wanted(c), 1);
        CHECK_INT(client_result(second), ZKL_OK);
        if (cases[i].other != ZKL_READ)
            check_event(second, 0); /* of who was there before it held */
        CHECK_INT(client_release(second), ZKL_OK);
        CHECK_INT(client_result(third), ZKL_OK);
        CHECK_INT(client_release(third), ZKL_OK);
        CHECK_INT(wanted(third), 0);
        client_close(third);
        client_close(second);
        client_close(c);
    }
}

static void readers_do_not_want_it_from_readers(void) {
    const char *name = fresh_name("readers");
    client *c = open_wanting(name, ZKL_READ), *other = client_open(name, T_LONG);
    client *writer = client_open(name, T_LONG);

    client_be(other, ZKL_READ);
    client_be(writer, ZKL_WRITE);
    hold_and_watch(c);
    CHECK_INT(client_acquire(other, SOON_MS), ZKL_OK);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_LIST, name) >= 3, SOON_MS);
    CHECK_INT(wanted(c), 0);
    client_queue_up(writer, 3);
    check_event(c, 0);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(client_release(other), ZKL_OK);
    CHECK_INT(client_result(writer), ZKL_OK);
    CHECK_INT(client_release(writer), ZKL_OK);
    client_close(writer);
    client_close(other);
    client_close(c);
}

/* And one that nobody waits for costs one list, and then none. */
static void a_short_hold_costs_no_request(void) {
    const char *name = fresh_name("short");
    dir_make(name);
    client *c = open_wanting_for(name, ZKL_MUTEX, T_LONG);

    for (int i = 0; i < 10; i++) {
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK_INT(client_release_wait(c), ZKL_OK);
    }
    /* A heartbeat may come in one of them. */
    CHECK_RANGE(proxy_count(c->proxy, PROXY_LIST, NULL), 10,
                10 + proxy_count(c->proxy, PROXY_BARRIER, NULL));
    client_close(c);
    c = open_wanting(fresh_name("long"), ZKL_MUTEX);
    hold_and_watch(c);
    const size_t beats = proxy_count(c->proxy, PROXY_BARRIER, NULL);
    WAIT_UNTIL(proxy_count(c->proxy, PROXY_BARRIER, NULL) > beats + 4, SOON_MS);
    CHECK_INT(proxy_count(c->proxy, PROXY_LIST, NULL), 2);
    client_close(c);
}

static void what_comes_without_a_connection_is_told_later(void) {
    const char *name = fresh_name("outage");
    client *c = open_wanting_for(name, ZKL_MUTEX, 2 * T_NORMAL);
    client *other = client_open(name, T_LONG);

    hold_and_watch(c);
    client_outage_begin(c);
    client_queue_up(other, 2);
    CHECK_INT(wanted(c), 0);
    client_outage_end(c);
    check_event(c, 0);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(client_result(other), ZKL_OK);
    client_close(other);
    client_close(c);
}

static void it_can_be_asked_for(void) {
    const char *name = fresh_name("asked");
    client *c = open_wanting(name, ZKL_MUTEX), *other = client_open(name, T_LONG);
    zkl_session *s = other->session;

    CHECK_INT(zkl_ask(s, name), ZKL_NOT_HELD);
    hold_and_watch(c);
    CHECK_INT(zkl_ask(s, name), ZKL_OK);
    check_event(c, 0);
    CHECK_INT(zkl_ask(s, name), ZKL_OK);
    CHECK(client_held(c));
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(zkl_ask(s, name), ZKL_NOT_HELD);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_ask(s, name), ZKL_OK); /* another hold, perhaps not watched yet */
    check_event(c, 1);
    client_close(other);
    client_close(c);
}

/* What lingers goes. Who does not want to be told goes on. */
static void others_can_be_asked_too(void) {
    const char *name = fresh_name("others");
    client *c = client_open_proxied(name, T_NORMAL), *other = client_open(name, T_LONG);

    client_be_lingering(c, ZKL_MUTEX, LINGER_MS);
    (void)client_become_idle(c);
    CHECK_INT(zkl_ask(other->session, name), ZKL_OK);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_ask(other->session, name), ZKL_OK);
    CHECK_INT(client_release(c), ZKL_OK);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    CHECK_INT(wanted(c), 0);
    client_close(other);
    client_close(c);
}

static void all_readers_are_asked(void) {
    const char *name = fresh_name("all");
    client *readers[3], *other = client_open(name, T_LONG);

    for (size_t i = 0; i < 3; i++) {
        readers[i] = open_wanting(name, ZKL_READ);
        hold_and_watch(readers[i]);
    }
    CHECK_INT(zkl_ask(other->session, name), ZKL_OK);
    for (size_t i = 0; i < 3; i++) {
        check_event(readers[i], 0);
        client_close(readers[i]);
    }
    client_close(other);
}

static zkl_err downgrade(void *lock) {
    return zkl_downgrade(lock);
}

/* The mark comes before the transaction, is not heard of, and goes with the writer's node. */
static void a_writer_that_becomes_a_reader_is_told(void) {
    const char *name = fresh_name("turning");
    client *c = open_wanting(name, ZKL_WRITE), *other = client_open(name, T_LONG);
    char writer[RAW_PATH_MAX];

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, writer);
    proxy_hold(c->proxy, PROXY_TO_CLIENT, true);
    CHECK_INT(zkl_ask(other->session, name), ZKL_OK);
    actor_begin(c->actor, downgrade, c->lock);
    WAIT_UNTIL(!raw_exists(fixture_raw(), writer), SOON_MS);
    proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
    CHECK_INT(client_result(c), ZKL_OK);
    check_event(c, 0);
    client_close(other);
    client_close(c);
}

/* Another hold by the same node is told, too. */
static void who_takes_over_is_told(void) {
    const char *name = fresh_name("handed");
    client *c = client_open(name, T_NORMAL), *other = client_open(name, T_LONG);
    actor *second = actor_new();
    const zkl_lock_options options = ZKL_LOCK_OPTIONS(.local_handoffs = 1, .want_wanted = true,
                                                      .on_event = events_on, .arg = c->events);

    client_close_lock(c);
    REQUIRE_INT(zkl_lock_open(&c->lock, c->session, name, &options), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_queue_up(other, 2);
    WAIT_UNTIL(wanted(c) == 1, SOON_MS);
    actor_acquire(second, c->lock, SOON_MS);
    WAIT_UNTIL(actor_is_blocked(second), SOON_MS);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(actor_result(second, SOON_MS), ZKL_OK);
    WAIT_UNTIL(wanted(c) == 2, SOON_MS);
    CHECK_INT(actor_release(second, c->lock), ZKL_OK);
    CHECK_INT(client_result(other), ZKL_OK);
    actor_free(second);
    client_close(other);
    client_close(c);
}

static zkl_err hold_inside(void *arg) {
    zkl_lock *const *locks = arg;
    const zkl_err err = zkl_acquire(locks[0], SOON_MS);
    return err == ZKL_OK ? zkl_acquire(locks[1], SOON_MS) : err;
}

static zkl_err give_up_writing(void *arg) {
    zkl_lock *const *locks = arg;
    return zkl_release(locks[0]);
}

static zkl_err give_up_reading(void *arg) {
    zkl_lock *const *locks = arg;
    return zkl_release(locks[1]);
}

/* Only the reader's handle, inside, wants to be told. */
static void who_holds_inside_is_told(void) {
    const char *name = fresh_name("inside");
    client *c = client_open(name, T_NORMAL), *other = client_open(name, T_LONG);
    zkl_lock *locks[2] = {NULL, NULL};
    const zkl_lock_options reading = ZKL_LOCK_OPTIONS(.kind = ZKL_READ, .want_wanted = true,
                                                      .on_event = events_on, .arg = c->events);

    client_be(c, ZKL_WRITE);
    client_be(other, ZKL_WRITE);
    locks[0] = c->lock;
    REQUIRE_INT(zkl_lock_open(&locks[1], c->session, name, &reading), ZKL_OK);
    actor_begin(c->actor, hold_inside, locks);
    CHECK_INT(actor_result(c->actor, SOON_MS), ZKL_OK);
    client_queue_up(other, 2);
    WAIT_UNTIL(wanted(c) == 1, SOON_MS);
    actor_begin(c->actor, give_up_writing, locks);
    CHECK_INT(actor_result(c->actor, SOON_MS), ZKL_OK);
    actor_begin(c->actor, give_up_reading, locks);
    CHECK_INT(actor_result(c->actor, SOON_MS), ZKL_OK);
    CHECK_INT(client_result(other), ZKL_OK);
    CHECK_INT(wanted(c), 1);
    CHECK_INT(zkl_lock_close(locks[1]), ZKL_OK);
    client_close(other);
    client_close(c);
}

static void other_libraries_are_not_asked(void) {
    const char *name = fresh_name("foreign");
    client *c = client_open(name, T_LONG);
    char path[RAW_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s", fixture_root(), name);
    REQUIRE_INT(raw_make_path(fixture_raw(), path), RAW_OK);
    (void)snprintf(path, sizeof(path), "%s/%s/_c_0123-lock-", fixture_root(), name);
    REQUIRE_INT(
        raw_create(fixture_raw(), path, "10.0.0.1", 8, RAW_EPHEMERAL | RAW_SEQUENTIAL, path),
        RAW_OK);
    CHECK_INT(zkl_ask(c->session, name), ZKL_UNSUPPORTED);
    REQUIRE_INT(raw_delete(fixture_raw(), path), RAW_OK);
    client_close(c);
}

static zkl_session *Asking;
static atomic_int Answer = -1;

static void ask_in_callback(const zkl_event *event, void *arg) {
    if (event->type == ZKL_EVENT_HELD)
        atomic_store(&Answer, zkl_ask(Asking, arg));
}

static void wrong_calls_are_refused(void) {
    client *c = client_open(fresh_name("wrong"), T_LONG);
    zkl_lock *l = NULL;
    const zkl_lock_options options = ZKL_LOCK_OPTIONS(.on_event = ask_in_callback, .arg = "x");

    CHECK_INT(zkl_ask(NULL, "a"), ZKL_INVALID);
    CHECK_INT(zkl_ask(c->session, NULL), ZKL_INVALID);
    CHECK_INT(zkl_ask(c->session, "/a"), ZKL_INVALID);
    Asking = c->session;
    REQUIRE_INT(zkl_lock_open(&l, c->session, c->name, &options), ZKL_OK);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    WAIT_UNTIL(atomic_load(&Answer) == ZKL_IN_CALLBACK, SOON_MS);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    client_close(c);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"who queues wants it", who_queues_wants_it},
        {"readers do not want it from readers", readers_do_not_want_it_from_readers},
        {"a short hold costs no request", a_short_hold_costs_no_request},
        {"what comes without a connection is told later",
         what_comes_without_a_connection_is_told_later},
        {"it can be asked for", it_can_be_asked_for},
        {"others can be asked, too", others_can_be_asked_too},
        {"all readers are asked", all_readers_are_asked},
        {"a writer that becomes a reader is told", a_writer_that_becomes_a_reader_is_told},
        {"who takes over is told", who_takes_over_is_told},
        {"who holds inside is told", who_holds_inside_is_told},
        {"other libraries are not asked", other_libraries_are_not_asked},
        {"wrong calls are refused", wrong_calls_are_refused},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "wanted", cases);
}
