/*
 * A thread that writes reads inside, by handles of its own session: without a packet, with the
 * writer's token, and, when the writer's hold is given up first, on as a reader.
 */
#include <string.h>

#include "support/target.h"

#define INNER 2 /* handles for reading */

struct nest {
    client *outer;
    zkl_lock *inner[INNER];
    events *events[INNER];
    int64_t token;
};

static zkl_lock *open_reader(client *c, events *e, bool is_recursive) {
    zkl_lock *l = NULL;
    REQUIRE_INT(
        zkl_lock_open(&l, c->session, c->name,
                      &ZKL_LOCK_OPTIONS(.kind = ZKL_READ, .recursive = is_recursive,
                                        .on_event = e == NULL ? NULL : events_on, .arg = e)),
        ZKL_OK);
    return l;
}

static client *open_kind(const char *name, zkl_kind kind) {
    client *c = client_open_proxied(name, T_NORMAL);
    client_be(c, kind);
    return c;
}

/* In the thread of the client. */
static zkl_err acquire(client *c, zkl_lock *l, int64_t timeout_ms) {
    actor_acquire(c->actor, l, timeout_ms);
    return actor_result(c->actor, 3 * SOON_MS);
}

static void begin(struct nest *n, const char *name) {
    n->outer = open_kind(name, ZKL_WRITE);
    REQUIRE_INT(client_acquire(n->outer, SOON_MS), ZKL_OK);
    n->token = client_token(n->outer);
    for (size_t i = 0; i < INNER; i++) {
        n->events[i] = events_new();
        n->inner[i] = open_reader(n->outer, n->events[i], false);
    }
    proxy_forget(n->outer->proxy);
    for (size_t i = 0; i < INNER; i++) {
        CHECK_INT(acquire(n->outer, n->inner[i], i == 0 ? 0 : ZKL_FOREVER), ZKL_OK);
        CHECK_INT(actor_token(n->outer->actor, n->inner[i]), n->token);
        CHECK(actor_held(n->outer->actor, n->inner[i]));
        CHECK_INT(acquire(n->outer, n->inner[i], 0), ZKL_DEADLOCK); /* not recursive */
    }
    CHECK_INT(proxy_count(n->outer->proxy, PROXY_WORK, name), 0);
    CHECK_INT(queue_length(name), 1);
}

static void end(struct nest *n) {
    for (size_t i = 0; i < INNER; i++)
        lock_close(n->inner[i]);
    client_close(n->outer);
    for (size_t i = 0; i < INNER; i++)
        events_free(n->events[i]);
}

static void check_kind_of_node(client *c, const char *part) {
    char node[RAW_PATH_MAX];

    WAIT_UNTIL(client_nodes(c) == 1, SOON_MS);
    client_node(c, node);
    CHECK(strstr(node, part) != NULL);
}

static zkl_err downgrade(void *lock) {
    return zkl_downgrade(lock);
}

/* The writer's handle is number 2. */
static zkl_lock *handle(const struct nest *n, size_t number) {
    return number < INNER ? n->inner[number] : n->outer->lock;
}

static void the_node_stays_until_the_last_is_given_up(void) {
    static const size_t orders[][INNER + 1] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                               {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t i = 0; i < COUNT(orders); i++) {
        const char *name = fresh_name("orders");
        struct nest n;
        client *reader = open_kind(name, ZKL_READ), *writer = open_kind(name, ZKL_WRITE);
        bool is_writing = true;

        begin(&n, name);
        client_queue_up(reader, 2);
        client_queue_up(writer, 3);
        WAIT_UNTIL(client_told(writer, ZKL_EVENT_QUEUED) == 1, SOON_MS);
        for (size_t k = 0; k < INNER + 1; k++) {
            CHECK(!client_is_done(writer));
            CHECK(client_is_done(reader) == !is_writing);
            CHECK_INT(actor_release(n.outer->actor, handle(&n, orders[i][k])), ZKL_OK);
            CHECK(!actor_held(n.outer->actor, handle(&n, orders[i][k])));
            for (size_t j = k + 1; j < INNER + 1; j++) {
                CHECK(actor_held(n.outer->actor, handle(&n, orders[i][j])));
                CHECK_INT(actor_token(n.outer->actor, handle(&n, orders[i][j])), n.token);
            }
            if (orders[i][k] == INNER && k < INNER) {
                CHECK_INT(client_result(reader), ZKL_OK);
                check_kind_of_node(n.outer, "-__READ__");
                CHECK_INT(acquire(n.outer, n.outer->lock, 0), ZKL_DEADLOCK); /* read, then write */
                is_writing = false;
            }
        }
        CHECK_INT(client_result(reader), ZKL_OK);
        WAIT_UNTIL(client_nodes(n.outer) == 0, SOON_MS);
        CHECK(!client_is_done(writer));
        CHECK_INT(client_release(reader), ZKL_OK);
        CHECK_INT(client_result(writer), ZKL_OK);
        client_close(writer);
        client_close(reader);
        end(&n);
    }
}

/* ---- A writer's handle that is recursive ---- */

#define DEPTH 3

/* The writer's handle anew: held DEPTH times, with a reader's handle inside. */
static void begin_recursive(struct nest *n, const char *name) {
    client *c = client_open_proxied(name, T_NORMAL);

    client_close_lock(c);
    REQUIRE_INT(zkl_lock_open(&c->lock, c->session, name,
                              &ZKL_LOCK_OPTIONS(.kind = ZKL_WRITE, .recursive = true,
                                                .on_event = events_on, .arg = c->events)),
                ZKL_OK);
    *n = (struct nest){.outer = c};
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    n->token = client_token(c);
    for (size_t i = 0; i < INNER; i++) {
        n->events[i] = events_new();
        n->inner[i] = open_reader(c, n->events[i], false);
    }
    proxy_forget(c->proxy);
    for (int depth = 1; depth < DEPTH; depth++)
        CHECK_INT(client_acquire(c, depth == 1 ? 0 : ZKL_FOREVER), ZKL_OK);
    CHECK_INT(acquire(c, n->inner[0], 0), ZKL_OK);
    CHECK_INT(acquire(c, n->inner[0], 0), ZKL_DEADLOCK); /* this one is not */
    CHECK_INT(proxy_count(c->proxy, PROXY_WORK, name), 0);
    CHECK_INT(queue_length(name), 1);
}

/* It writes on every level, also on one that began inside the reader's hold. */
static void a_recursive_writer_reads_on_after_its_last_level(void) {
    const char *name = fresh_name("levels"), *path = target_new();
    struct nest n;
    client *reader = open_kind(name, ZKL_READ), *writer = open_kind(name, ZKL_WRITE);

    begin_recursive(&n, name);
    client_queue_up(reader, 2);
    client_queue_up(writer, 3);
    WAIT_UNTIL(client_told(writer, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    CHECK_INT(client_acquire(n.outer, 0), ZKL_OK);
    for (int level = DEPTH; level > 0; level--) {
        CHECK_INT(client_release(n.outer), ZKL_OK);
        CHECK_INT(guarded_set(n.outer, path, "a writer's", DEPTH - level), ZKL_OK);
        CHECK(client_held(n.outer) && client_token(n.outer) == n.token);
        CHECK(!client_is_done(reader));
        check_kind_of_node(n.outer, "-__WRIT__");
    }
    CHECK_INT(client_release(n.outer), ZKL_OK);
    CHECK_INT(client_release(n.outer), ZKL_NOT_HELD);
    CHECK_INT(client_result(reader), ZKL_OK);
    check_kind_of_node(n.outer, "-__READ__");
    CHECK(actor_held(n.outer->actor, n.inner[0]));
    CHECK_INT(actor_token(n.outer->actor, n.inner[0]), n.token);
    CHECK_INT(client_acquire(n.outer, ZKL_FOREVER), ZKL_DEADLOCK); /* read, then write */
    CHECK_INT(client_release(reader), ZKL_OK);
    CHECK(!client_is_done(writer));
    CHECK_INT(actor_release(n.outer->actor, n.inner[0]), ZKL_OK);
    CHECK_INT(client_result(writer), ZKL_OK);
    CHECK_INT(queue_length(name), 1);
    target_check(path, "a writer's", DEPTH);
    client_close(writer);
    client_close(reader);
    end(&n);
}

/* All levels are a reader's then, and no further one begins. */
static void a_recursive_writer_becomes_a_reader_on_all_levels(void) {
    const char *name = fresh_name("turned");
    struct nest n;
    client *reader = open_kind(name, ZKL_READ), *writer = open_kind(name, ZKL_WRITE);

    begin_recursive(&n, name);
    client_queue_up(reader, 2);
    client_queue_up(writer, 3);
    actor_begin(n.outer->actor, downgrade, n.outer->lock);
    CHECK_INT(client_result(n.outer), ZKL_OK);
    CHECK_INT(client_result(reader), ZKL_OK);
    CHECK_INT(client_release(reader), ZKL_OK);
    CHECK_INT(client_acquire(n.outer, 0), ZKL_DEADLOCK);
    CHECK_INT(client_acquire(n.outer, ZKL_FOREVER), ZKL_DEADLOCK);
    CHECK_INT(acquire(n.outer, n.inner[1], 0), ZKL_OK); /* this needs no place of its own */
    for (size_t i = 0; i < INNER; i++)
        CHECK_INT(actor_release(n.outer->actor, n.inner[i]), ZKL_OK);
    for (int level = DEPTH; level > 0; level--) {
        CHECK(client_held(n.outer) && client_token(n.outer) == n.token);
        CHECK(!client_is_done(writer));
        check_kind_of_node(n.outer, "-__READ__");
        CHECK_INT(client_release(n.outer), ZKL_OK);
    }
    CHECK_INT(client_release(n.outer), ZKL_NOT_HELD);
    CHECK_INT(client_result(writer), ZKL_OK);
    CHECK_INT(client_release_wait(writer), ZKL_OK);
    CHECK_INT(client_acquire(n.outer, 0), ZKL_OK); /* and again it writes */
    check_kind_of_node(n.outer, "-__WRIT__");
    client_close(writer);
    client_close(reader);
    end(&n);
}

/* Until each level is given up, an acquire says so, too. */
static void a_recursive_writer_s_loss_is_one_of_all_levels(void) {
    const char *name = fresh_name("levels-lost");
    struct nest n;

    begin_recursive(&n, name);
    session_expire(n.outer->session);
    WAIT_UNTIL(client_told(n.outer, ZKL_EVENT_LOST) == 1, SOON_MS);
    WAIT_UNTIL(events_count(n.events[0], ZKL_EVENT_LOST) == 1, SOON_MS);
    for (int level = DEPTH; level > 0; level--) {
        CHECK(!client_held(n.outer));
        CHECK_INT(client_acquire(n.outer, 0), ZKL_LOST);
        CHECK_INT(client_release(n.outer), ZKL_LOST);
    }
    CHECK_INT(client_release(n.outer), ZKL_NOT_HELD);
    CHECK_INT(actor_release(n.outer->actor, n.inner[0]), ZKL_LOST);
    CHECK_INT(client_told(n.outer, ZKL_EVENT_LOST), 1);
    CHECK_INT(client_acquire(n.outer, SOON_MS), ZKL_OK);
    CHECK_INT(client_acquire(n.outer, 0), ZKL_OK);
    CHECK(client_token(n.outer) > n.token);
    end(&n);
}

/* ---- What ends it ---- */

static void a_loss_is_told_to_each_handle_once(void) {
    const char *name = fresh_name("lost");
    struct nest n;

    begin(&n, name);
    session_expire(n.outer->session);
    WAIT_UNTIL(client_told(n.outer, ZKL_EVENT_LOST) == 1, SOON_MS);
    for (size_t i = 0; i < INNER; i++) {
        WAIT_UNTIL(events_count(n.events[i], ZKL_EVENT_LOST) == 1, SOON_MS);
        CHECK_INT(events_count(n.events[i], ZKL_EVENT_HELD), 1);
        CHECK(!actor_held(n.outer->actor, n.inner[i]));
        CHECK_INT(actor_release(n.outer->actor, n.inner[i]), ZKL_LOST);
    }
    CHECK_INT(client_release(n.outer), ZKL_LOST);
    CHECK_INT(client_told(n.outer, ZKL_EVENT_LOST), 1);
    CHECK_INT(client_acquire(n.outer, SOON_MS), ZKL_OK); /* and all begins anew */
    CHECK_INT(acquire(n.outer, n.inner[1], 0), ZKL_OK);
    end(&n);
}

/* After a hold that its thread has inherited, too. */
static void a_loss_after_the_writer_s_release_is_told(void) {
    const char *name = fresh_name("inherited");
    struct nest n;

    begin(&n, name);
    CHECK_INT(client_release(n.outer), ZKL_OK);
    CHECK_INT(actor_release(n.outer->actor, n.inner[0]), ZKL_OK);
    WAIT_UNTIL(proxy_answered(n.outer->proxy, PROXY_MULTI, NULL) == 1, SOON_MS);
    session_expire(n.outer->session);
    WAIT_UNTIL(events_count(n.events[1], ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK_INT(events_count(n.events[0], ZKL_EVENT_LOST), 0);
    CHECK_INT(client_told(n.outer, ZKL_EVENT_LOST), 0);
    CHECK_INT(actor_release(n.outer->actor, n.inner[1]), ZKL_LOST);
    end(&n);
}

static void a_close_is_a_release(void) {
    const char *name = fresh_name("closed");
    struct nest n;
    client *reader = open_kind(name, ZKL_READ);

    begin(&n, name);
    client_queue_up(reader, 2);
    lock_close(n.inner[0]);
    CHECK(client_held(n.outer));
    CHECK(!client_is_done(reader));
    client_close_lock(n.outer);
    CHECK_INT(client_result(reader), ZKL_OK);
    CHECK(actor_held(n.outer->actor, n.inner[1]));
    lock_close(n.inner[1]);
    WAIT_UNTIL(client_nodes(n.outer) == 0, SOON_MS);
    client_close(reader);
    n.inner[0] = n.inner[1] = NULL;
    end(&n);
}

/* A handle that is waited on by another thread: who waits there waits for the writer. */
static void a_handle_s_queue_does_not_keep_the_writer_out(void) {
    const char *name = fresh_name("shared");
    client *outer = open_kind(name, ZKL_WRITE);
    zkl_lock *inner = open_reader(outer, NULL, true);
    actor *other = actor_new();

    CHECK_INT(client_acquire(outer, SOON_MS), ZKL_OK);
    actor_acquire(other, inner, ZKL_FOREVER);
    WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
    for (int depth = 0; depth < 3; depth++) /* it is recursive */
        CHECK_INT(acquire(outer, inner, 0), ZKL_OK);
    CHECK(!actor_is_done(other));
    CHECK_INT(client_release_wait(outer), ZKL_OK);
    CHECK_INT(actor_result(other, SOON_MS), ZKL_OK);
    for (int depth = 0; depth < 3; depth++) {
        CHECK(actor_held(outer->actor, inner));
        CHECK(actor_held(other, inner));
        CHECK_INT(actor_release(outer->actor, inner), ZKL_OK);
    }
    CHECK(!actor_held(outer->actor, inner));
    CHECK(actor_held(other, inner));
    CHECK_INT(actor_release_wait(other, inner, SOON_MS), ZKL_OK);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    actor_free(other);
    lock_close(inner);
    client_close(outer);
}

static void who_reads_first_cannot_write(void) {
    const char *name = fresh_name("upgrade");
    client *writer = open_kind(name, ZKL_WRITE);
    zkl_lock *reader = open_reader(writer, NULL, true), *other = open_reader(writer, NULL, false);

    CHECK_INT(acquire(writer, reader, SOON_MS), ZKL_OK);
    CHECK_INT(client_acquire(writer, 0), ZKL_DEADLOCK);
    CHECK_INT(client_acquire(writer, ZKL_FOREVER), ZKL_DEADLOCK);
    CHECK_INT(acquire(writer, other, ZKL_FOREVER), ZKL_DEADLOCK); /* a writer may have come */
    CHECK_INT(acquire(writer, reader, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(queue_length(name), 1);
    lock_close(other);
    lock_close(reader);
    client_close(writer);
}

/* All in one thread, and one call right behind the other. */
struct course {
    struct nest *nest;
    const char *path;
    zkl_err released, written;
    bool is_held;
};

static zkl_err release_and_write(void *arg) {
    struct course *c = arg;
    zkl_lock *inner = c->nest->inner[0];

    c->released = zkl_release(c->nest->outer->lock);
    c->written = zkl_guarded_set(inner, c->path, "inside", 6, 0);
    c->is_held = zkl_held(inner);
    return ZKL_OK;
}

/* The node changes behind the release: a write goes under the next one, and is made once. */
static void a_write_right_behind_the_writer_s_release_is_made(void) {
    enum {
        PLAIN,
        LOST_REPLY,
        LOST_REQUEST,
        WAYS
    };
    for (int way = PLAIN; way < WAYS; way++) {
        const char *name = fresh_name("behind");
        struct nest n;
        client *other = open_kind(name, ZKL_WRITE);

        begin(&n, name);
        struct course course = {.nest = &n, .path = target_new()};
        if (way != PLAIN)
            proxy_rule(n.outer->proxy, way == LOST_REPLY ? PROXY_CUT_REPLY : PROXY_CUT_REQUEST,
                       PROXY_MULTI, NULL, 1, false);
        actor_begin(n.outer->actor, release_and_write, &course);
        CHECK_INT(client_result(n.outer), ZKL_OK);
        CHECK(way == PLAIN || proxy_fired(n.outer->proxy));
        CHECK_INT(course.released, ZKL_OK);
        CHECK_INT(course.written, ZKL_OK);
        CHECK(course.is_held);
        target_check(course.path, "inside", 1);
        CHECK_INT(events_count(n.events[0], ZKL_EVENT_LOST), 0);
        check_kind_of_node(n.outer, "-__READ__");
        for (size_t i = 0; i < INNER; i++)
            CHECK_INT(actor_release(n.outer->actor, n.inner[i]), ZKL_OK);
        CHECK_INT(client_acquire(other, SOON_MS), ZKL_OK);
        client_close(other);
        end(&n);
    }
}

/* Another thread gives the writer's hold up while a write waits behind the data of others. */
static void a_write_in_line_goes_under_the_reader_s_node(void) {
    static char large[1000000];
    const char *name = fresh_name("line");
    struct nest n;
    client *others[3];
    guarded_call calls[COUNT(others)];

    begin(&n, name);
    const zkl_hold hold = actor_hold(n.outer->actor, n.outer->lock);
    guarded_call mine = {n.inner[0], target_new(), large, sizeof(large), -1};
    for (size_t i = 0; i < COUNT(others); i++) {
        others[i] = client_open_on(n.outer, fresh_name("data"));
        REQUIRE_INT(client_acquire(others[i], SOON_MS), ZKL_OK);
        calls[i] = (guarded_call){others[i]->lock, target_new(), large, sizeof(large), -1};
    }
    proxy_hold(n.outer->proxy, PROXY_TO_SERVER, true);
    for (size_t i = 0; i < COUNT(others); i++) {
        actor_begin(others[i]->actor, guarded_run, &calls[i]);
        WAIT_UNTIL(actor_is_blocked(others[i]->actor), SOON_MS);
    }
    actor_begin(n.outer->actor, guarded_run, &mine);
    WAIT_UNTIL(actor_is_blocked(n.outer->actor), SOON_MS);
    CHECK_INT(zkl_release_hold(n.outer->lock, hold), ZKL_OK);
    proxy_hold(n.outer->proxy, PROXY_TO_SERVER, false);
    for (size_t i = 0; i < COUNT(others); i++)
        CHECK_INT(client_result(others[i]), ZKL_OK);
    CHECK_INT(client_result(n.outer), ZKL_OK);
    CHECK(actor_held(n.outer->actor, n.inner[0]));
    CHECK_INT(target_version(mine.path), 1);
    for (size_t i = 0; i < INNER; i++)
        CHECK_INT(actor_release(n.outer->actor, n.inner[i]), ZKL_OK);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    for (size_t i = 0; i < COUNT(others); i++)
        client_close(others[i]);
    end(&n);
}

/* It waits to know under which node; then there is none. */
static void a_write_that_waits_for_the_node_ends_with_the_hold(void) {
    const char *name = fresh_name("ends");
    struct nest n;

    begin(&n, name);
    struct course course = {.nest = &n, .path = target_new()};
    proxy_rule(n.outer->proxy, PROXY_CUT_REQUEST, PROXY_MULTI, NULL, 1, true);
    actor_begin(n.outer->actor, release_and_write, &course);
    WAIT_UNTIL(proxy_fired(n.outer->proxy), SOON_MS);
    CHECK_INT(client_result(n.outer), ZKL_OK); /* when the lease is over */
    CHECK_INT(course.written, ZKL_LOST);
    CHECK(!course.is_held);
    client_outage_end(n.outer);
    target_check(course.path, "zero", 0);
    end(&n);
}

static void guarded_writes_go_on_by_the_inner_handle(void) {
    const char *name = fresh_name("writes"), *path = target_new();
    struct nest n;

    begin(&n, name);
    for (int version = 0; version < 3; version++) {
        guarded_call call = {n.inner[0], path, "inside", 6, version};
        actor_begin(n.outer->actor, guarded_run, &call);
        CHECK_INT(client_result(n.outer), ZKL_OK);
        if (version == 0) {
            actor_begin(n.outer->actor, downgrade, n.outer->lock);
            CHECK_INT(client_result(n.outer), ZKL_OK);
            check_kind_of_node(n.outer, "-__READ__");
        }
        if (version == 1)
            CHECK_INT(client_release(n.outer), ZKL_OK);
    }
    WAIT_UNTIL(client_nodes(n.outer) == 1, SOON_MS);
    CHECK_INT(actor_release(n.outer->actor, n.inner[0]), ZKL_OK);
    CHECK_INT(actor_release_wait(n.outer->actor, n.inner[1], SOON_MS), ZKL_OK);
    WAIT_UNTIL(client_nodes(n.outer) == 0, SOON_MS);
    end(&n);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the node stays until the last is given up", the_node_stays_until_the_last_is_given_up},
        {"a recursive writer reads on after its last level",
         a_recursive_writer_reads_on_after_its_last_level},
        {"a recursive writer becomes a reader on all levels",
         a_recursive_writer_becomes_a_reader_on_all_levels},
        {"a recursive writer's loss is one of all levels",
         a_recursive_writer_s_loss_is_one_of_all_levels},
        {"a loss is told to each handle, once", a_loss_is_told_to_each_handle_once},
        {"a loss after the writer's release is told", a_loss_after_the_writer_s_release_is_told},
        {"a close is a release", a_close_is_a_release},
        {"a handle's queue does not keep the writer out",
         a_handle_s_queue_does_not_keep_the_writer_out},
        {"who reads first cannot write", who_reads_first_cannot_write},
        {"a write right behind the writer's release is made",
         a_write_right_behind_the_writer_s_release_is_made},
        {"a write in line goes under the reader's node",
         a_write_in_line_goes_under_the_reader_s_node},
        {"a write that waits for the node ends with the hold",
         a_write_that_waits_for_the_node_ends_with_the_hold},
        {"guarded writes go on by the inner handle", guarded_writes_go_on_by_the_inner_handle},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "nested", cases);
}
