/*
 * A writer becomes a reader and keeps its place: readers behind it are let in, the writers are not,
 * whatever happens to the transaction on its way.
 */
#include <string.h>

#include "support/target.h"

static client *open_kind(const char *name, zkl_kind kind) {
    client *c = client_open_proxied(name, T_NORMAL);
    client_be(c, kind);
    return c;
}

static client *open_writing(const char *name) {
    client *c = open_kind(name, ZKL_WRITE);
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    return c;
}

static zkl_err run(void *lock) {
    return zkl_downgrade(lock);
}

static zkl_err downgrade(client *c) {
    actor_begin(c->actor, run, c->lock);
    return client_result(c);
}

static void wait_behind(client *c, size_t count) {
    client_queue_up(c, count);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    CHECK(!client_is_done(c));
}

/* The holder's node is a reader's, of its session, and the only one of the two. */
static void check_reads(client *c, int64_t token) {
    char own[RAW_PATH_MAX] = "", node[RAW_PATH_MAX] = "", data[400] = "", expected[40];
    size_t len = sizeof(data) - 1;
    raw_stat stat = {0};

    CHECK(client_held(c));
    CHECK_INT(client_token(c), token);
    WAIT_UNTIL(client_nodes(c) == 1, SOON_MS);
    client_node(c, node);
    actor_node_path(c->actor, c->lock, own, sizeof(own));
    CHECK_STRING(own, node);
    CHECK(strstr(node, "-__READ__") != NULL);
    CHECK_INT(raw_get(fixture_raw(), node, data, &len, &stat), RAW_OK);
    (void)snprintf(expected, sizeof(expected), " token=%lld ", (long long)token);
    CHECK(strstr(data, expected) != NULL);
    CHECK(stat.czxid > token);
}

/* ---- Its place ---- */

static void readers_behind_it_are_let_in_and_no_writer_is(void) {
    const char *name = fresh_name("place");
    client *writer = open_writing(name), *near = open_kind(name, ZKL_READ);
    client *other = open_kind(name, ZKL_WRITE), *far = open_kind(name, ZKL_READ);
    const int64_t token = client_token(writer);
    const zkl_hold hold = actor_hold(writer->actor, writer->lock);

    wait_behind(near, 2);
    wait_behind(other, 3);
    wait_behind(far, 4);
    CHECK_INT(downgrade(writer), ZKL_OK);
    CHECK_INT(client_result(near), ZKL_OK);
    check_reads(writer, token);
    CHECK(zkl_hold_valid(writer->lock, hold));
    CHECK_INT(downgrade(writer), ZKL_OK); /* it is done */
    CHECK_INT(client_acquire(writer, 0), ZKL_DEADLOCK);
    CHECK_INT(client_release_wait(writer), ZKL_OK);
    CHECK(!client_is_done(other));
    CHECK_INT(client_release_wait(near), ZKL_OK);
    CHECK_INT(client_result(other), ZKL_OK);
    CHECK(!client_is_done(far));
    CHECK(client_token(other) > token);
    CHECK_INT(client_release(other), ZKL_OK);
    CHECK_INT(client_result(far), ZKL_OK);
    client_close(far);
    client_close(other);
    client_close(near);
    client_close(writer);
}

/* It stands first behind the writer, whose node's end would be its grant: it is told that the node
 * has changed, and lists. */
static void who_waits_for_the_writer_s_end_waits_for_the_reader_s(void) {
    static const zkl_kind kinds[] = {ZKL_WRITE, ZKL_MUTEX};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const char *name = fresh_name("next");
        client *writer = open_writing(name), *next = open_kind(name, kinds[i]);

        wait_behind(next, 2);
        WAIT_UNTIL(proxy_answered(next->proxy, PROXY_GET, name) == 2, SOON_MS);
        proxy_forget(next->proxy);
        CHECK_INT(downgrade(writer), ZKL_OK);
        /* What it sees of it, and what it reads then. */
        WAIT_UNTIL(proxy_count(next->proxy, PROXY_EVENT, "-__WRIT__") >= 1, SOON_MS);
        WAIT_UNTIL(proxy_answered(next->proxy, PROXY_GET, "-__READ__") == 1, SOON_MS);
        CHECK(!client_is_done(next));
        CHECK(client_held(writer));
        CHECK_INT(client_release(writer), ZKL_OK);
        CHECK_INT(client_result(next), ZKL_OK);
        client_close(next);
        client_close(writer);
    }
}

static void its_writes_go_on_under_the_reader_s_node(void) {
    client *c = open_writing(fresh_name("writes"));
    const int64_t token = client_token(c);
    const char *path = target_new();
    char node[RAW_PATH_MAX];

    CHECK_INT(guarded_set(c, path, "as a writer", 0), ZKL_OK);
    CHECK_INT(downgrade(c), ZKL_OK);
    check_reads(c, token);
    CHECK_INT(guarded_set(c, path, "as a reader", 1), ZKL_OK);
    client_node(c, node);
    uproot(node); /* its watch is set by the next heartbeat, and tells of this */
    CHECK_INT(guarded_set(c, path, "as nobody", 2), ZKL_LOST);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK(!client_held(c));
    target_check(path, "as a reader", 2);
    client_close(c);
}

static void the_end_of_the_reader_s_node_is_told(void) {
    client *c = open_writing(fresh_name("told"));
    char node[RAW_PATH_MAX];

    CHECK_INT(downgrade(c), ZKL_OK);
    client_node(c, node);
    proxy_forget(c->proxy);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, "-__READ__") == 1, SOON_MS);
    uproot(node);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    client_close(c);
}

/* ---- What may go wrong ---- */

static void a_transaction_that_is_lost_is_made_once(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};
    for (size_t i = 0; i < 2 * COUNT(actions); i++) {
        const char *name = fresh_name("lost");
        client *writer = open_writing(name), *next = open_kind(name, ZKL_WRITE);
        const int64_t token = client_token(writer);

        wait_behind(next, 2);
        proxy_rule(writer->proxy, actions[i % 2], PROXY_MULTI, NULL, 1, false);
        CHECK_INT(downgrade(writer), ZKL_OK);
        CHECK(proxy_fired(writer->proxy));
        check_reads(writer, token);
        CHECK_INT(client_told(writer, ZKL_EVENT_LOST), 0);
        CHECK(!client_is_done(next));
        CHECK_INT(client_release(writer), ZKL_OK);
        CHECK_INT(client_result(next), ZKL_OK);
        client_close(next);
        client_close(writer);
    }
}

/* The server says that it failed: the hold stays what it was. */
static void a_refusal_leaves_a_writer(void) {
    const char *name = fresh_name("refused");
    client *c = open_writing(name), *reader = open_kind(name, ZKL_READ);
    char node[RAW_PATH_MAX];

    wait_behind(reader, 2);
    proxy_fail(c->proxy, PROXY_MULTI, NULL, 1, RAW_NO_AUTH);
    CHECK_INT(downgrade(c), ZKL_DENIED);
    CHECK(client_held(c));
    client_node(c, node);
    CHECK(strstr(node, "-__WRIT__") != NULL);
    CHECK(!client_is_done(reader));
    CHECK_INT(downgrade(c), ZKL_OK);
    CHECK_INT(client_result(reader), ZKL_OK);
    client_close(reader);
    client_close(c);
}

static void a_node_that_is_gone_is_no_reader_s(void) {
    client *c = open_writing(fresh_name("gone"));
    char node[RAW_PATH_MAX];

    proxy_hold(c->proxy, PROXY_TO_CLIENT, true); /* the news comes behind the answer, if any */
    client_node(c, node);
    uproot(node);
    actor_begin(c->actor, run, c->lock);
    WAIT_UNTIL(proxy_count(c->proxy, PROXY_MULTI, NULL) == 1, SOON_MS);
    proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
    CHECK_INT(client_result(c), ZKL_LOST);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    client_close(c);
}

/* Whatever the servers have made of it, nothing is left. */
static void a_close_meanwhile_leaves_no_node(void) {
    static const proxy_action actions[] = {PROXY_HOLD_REQUEST, PROXY_HOLD_REPLY};
    for (size_t i = 0; i < COUNT(actions); i++) {
        const char *name = fresh_name("closed");
        client *c = open_writing(name);

        proxy_rule(c->proxy, actions[i], PROXY_MULTI, NULL, 1, false);
        actor_begin(c->actor, run, c->lock);
        WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
        CHECK(!client_is_done(c));
        client_close_lock(c);
        CHECK_INT(client_result(c), ZKL_CLOSED);
        proxy_hold(c->proxy, PROXY_BOTH, false);
        WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
        CHECK_STAYS(queue_length(name) == 0, 100);
        client_close(c);
    }
}

static void the_end_of_the_session_ends_it(void) {
    client *c = open_writing(fresh_name("expired"));

    proxy_rule(c->proxy, PROXY_CUT_REQUEST, PROXY_MULTI, NULL, 1, true);
    actor_begin(c->actor, run, c->lock);
    WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
    CHECK_INT(client_result(c), ZKL_LOST); /* when the lease is over */
    CHECK(!client_held(c));
    client_outage_end(c);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(c);
}

static void only_a_writer_that_holds_can(void) {
    const char *name = fresh_name("only");
    client *writer = open_kind(name, ZKL_WRITE), *reader = open_kind(name, ZKL_READ);
    client *mutex = open_kind(name, ZKL_MUTEX);

    CHECK_INT(zkl_downgrade(NULL), ZKL_INVALID);
    CHECK_INT(downgrade(writer), ZKL_NOT_HELD);
    CHECK_INT(client_acquire(writer, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_downgrade(writer->lock), ZKL_NOT_HELD); /* another thread's hold */
    CHECK_INT(client_release_wait(writer), ZKL_OK);
    CHECK_INT(client_acquire(reader, SOON_MS), ZKL_OK);
    CHECK_INT(downgrade(reader), ZKL_UNSUPPORTED);
    CHECK_INT(client_release_wait(reader), ZKL_OK);
    CHECK_INT(client_acquire(mutex, SOON_MS), ZKL_OK);
    CHECK_INT(downgrade(mutex), ZKL_UNSUPPORTED);
    CHECK_INT(client_release_wait(mutex), ZKL_OK);
    CHECK_INT(client_acquire(writer, SOON_MS), ZKL_OK); /* the next hold is a writer's */
    CHECK_INT(client_acquire(reader, 0), ZKL_BUSY);
    client_close(mutex);
    client_close(reader);
    client_close(writer);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"readers behind it are let in, and no writer is",
         readers_behind_it_are_let_in_and_no_writer_is},
        {"who waits for the writer's end waits for the reader's",
         who_waits_for_the_writer_s_end_waits_for_the_reader_s},
        {"its writes go on under the reader's node", its_writes_go_on_under_the_reader_s_node},
        {"the end of the reader's node is told", the_end_of_the_reader_s_node_is_told},
        {"a transaction that is lost is made once", a_transaction_that_is_lost_is_made_once},
        {"a refusal leaves a writer", a_refusal_leaves_a_writer},
        {"a node that is gone is no reader's", a_node_that_is_gone_is_no_reader_s},
        {"a close meanwhile leaves no node", a_close_meanwhile_leaves_no_node},
        {"the end of the session ends it", the_end_of_the_session_ends_it},
        {"only a writer that holds can", only_a_writer_that_holds_can},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "downgrade", cases);
}
