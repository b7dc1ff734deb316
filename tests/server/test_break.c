/* A contender whose hold, or place in the queue, is ended from outside. */
#include "support/client.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define LINGER_MS 60000
/* A line of ours, by a contender that never answers. */
#define DEAF_MS 1500
#define DEAF "zklock1 t=1500 owner=A.1 label=deaf"

enum {
    PERM_READ = 1,
    PERM_DELETE = 8,
    PERM_ALL = 31
};

static const char *node_of(client *c) {
    static char path[RAW_PATH_MAX];

    client_node(c, path);
    return strrchr(path, '/') + 1;
}

static zkl_err break_hold(client *other, const char *node, int64_t timeout_ms) {
    return zkl_break(other->session, other->name, node, timeout_ms);
}

static void check_lost(client *c) {
    zkl_lock_statistics stats = {.size = sizeof(stats)};

    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK(!client_held(c));
    CHECK_INT(client_release(c), ZKL_LOST);
    CHECK_INT(zkl_lock_stats(c->lock, &stats), ZKL_OK);
    CHECK_INT(stats.lost[ZKL_LOSS_BROKEN], 1);
}

static void a_holder_goes_at_once(void) {
    static const zkl_kind kinds[] = {ZKL_MUTEX, ZKL_WRITE, ZKL_READ, ZKL_SEMAPHORE};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *name = fresh_name("held");
        client *c = client_open(name, T_NORMAL), *next = client_open(name, T_LONG);

        client_be_wanting(c, kinds[i], 0);
        client_be_wanting(next, kinds[i] == ZKL_READ ? ZKL_WRITE : kinds[i], 0);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        client_queue_up(next, 2);
        const int64_t begun_ms = clock_ms();
        CHECK_INT(break_hold(next, node_of(c), SOON_MS), ZKL_OK);
        CHECK_RANGE(clock_ms() - begun_ms, 0, T_NORMAL - 1);
        check_lost(c);
        CHECK_INT(client_result(next), ZKL_OK);
        CHECK(client_held(next));
        CHECK_INT(client_release(next), ZKL_OK);
        client_close(next);
        client_close(c);
    }
}

/* Its first heartbeat is to come. */
static void a_hold_may_be_young(void) {
    const char *name = fresh_name("young");
    client *c = client_open(name, 2 * T_NORMAL), *other = client_open(name, T_LONG);

    for (uint64_t i = 1; i <= 5; i++) {
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK_INT(break_hold(other, node_of(c), T_NORMAL), ZKL_OK);
        WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == i, SOON_MS);
        CHECK_INT(client_release(c), ZKL_LOST);
    }
    client_close(other);
    client_close(c);
}

static void who_waits_begins_anew(void) {
    const char *name = fresh_name("waiting");
    client *c = client_open(name, T_LONG), *first = client_open(name, T_NORMAL);
    client *second = client_open(name, T_LONG);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_queue_up(first, 2);
    client_queue_up(second, 3);
    CHECK_INT(break_hold(c, node_of(first), SOON_MS), ZKL_OK);
    WAIT_UNTIL(client_told(first, ZKL_EVENT_REQUEUED) == 1, SOON_MS);
    WAIT_UNTIL(queue_length(name) == 3, SOON_MS);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(client_result(second), ZKL_OK);
    CHECK(!client_is_done(first));
    CHECK_INT(client_release(second), ZKL_OK);
    CHECK_INT(client_result(first), ZKL_OK);
    CHECK_INT(client_told(first, ZKL_EVENT_LOST), 0);
    client_close(second);
    client_close(first);
    client_close(c);
}

static void what_lingers_goes(void) {
    const char *name = fresh_name("lingers");
    client *c = client_open_proxied(name, T_NORMAL), *other = client_open(name, T_LONG);

    client_be_lingering(c, ZKL_MUTEX, LINGER_MS);
    (void)client_become_idle(c);
    CHECK_INT(break_hold(other, node_of(c), SOON_MS), ZKL_OK);
    CHECK_INT(queue_length(name), 0);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(other);
    client_close(c);
}

/* A hold that was handed on within the process. */
static void who_took_over_goes(void) {
    const char *name = fresh_name("handed");
    client *c = client_open(name, T_NORMAL), *other = client_open(name, T_LONG);
    actor *second = actor_new();

    client_be_handing_on(c, 1);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    actor_acquire(second, c->lock, SOON_MS);
    WAIT_UNTIL(actor_is_blocked(second), SOON_MS);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(actor_result(second, SOON_MS), ZKL_OK);
    CHECK_INT(break_hold(other, node_of(c), SOON_MS), ZKL_OK);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK_INT(actor_release(second, c->lock), ZKL_LOST);
    actor_free(second);
    client_close(other);
    client_close(c);
}

static zkl_err downgrade(void *arg) {
    return zkl_downgrade(arg);
}

static zkl_err take_both(void *arg) {
    return zkl_acquire_all(arg, 2, SOON_MS);
}

static void of_several_only_that_one_goes(void) {
    client *c = client_open(fresh_name("first"), T_NORMAL);
    client *second = client_open_on(c, fresh_name("second"));
    client *other = client_open(c->name, T_LONG);
    zkl_lock *locks[] = {c->lock, second->lock};

    actor_begin(c->actor, take_both, locks);
    CHECK_INT(actor_result(c->actor, SOON_MS), ZKL_OK);
    zkl_queue *queue = NULL;
    REQUIRE_INT(zkl_inspect(other->session, c->name, &queue), ZKL_OK);
    CHECK_INT(break_hold(other, zkl_queue_at(queue, 0)->node, SOON_MS), ZKL_OK);
    zkl_queue_free(queue);
    check_lost(c);
    CHECK_INT(client_told(second, ZKL_EVENT_LOST), 0);
    CHECK_INT(queue_length(second->name), 1);
    CHECK_INT(actor_release(c->actor, second->lock), ZKL_OK);
    client_close(other);
    client_close(second);
    client_close(c);
}

/* By the writer's name. */
static void a_writer_may_have_become_a_reader(void) {
    const char *name = fresh_name("turned");
    client *c = client_open(name, T_NORMAL), *other = client_open(name, T_LONG);
    char writer[RAW_PATH_MAX];

    client_be(c, ZKL_WRITE);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    (void)snprintf(writer, sizeof(writer), "%s", node_of(c));
    actor_begin(c->actor, downgrade, c->lock);
    CHECK_INT(actor_result(c->actor, SOON_MS), ZKL_OK);
    CHECK(strcmp(writer, node_of(c)) != 0);
    CHECK_INT(break_hold(other, writer, SOON_MS), ZKL_OK);
    check_lost(c);
    CHECK_INT(queue_length(name), 0);
    client_close(other);
    client_close(c);
}

/* ---- A contender that never answers ---- */

static client *open_beside(const char *data, char ret_node[RAW_PATH_MAX]) {
    client *c = client_open(fresh_name("deaf"), T_SHORT); /* not as long as that of the other */
    char path[RAW_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s", fixture_root(), c->name);
    REQUIRE_INT(raw_make_path(fixture_raw(), path), RAW_OK);
    (void)snprintf(path, sizeof(path), "%s/%s/_c_0123-lock-", fixture_root(), c->name);
    REQUIRE_INT(raw_create(fixture_raw(), path, data, strlen(data), RAW_EPHEMERAL | RAW_SEQUENTIAL,
                           ret_node),
                RAW_OK);
    return c;
}

static zkl_err break_path(client *c, const char *path, int64_t timeout_ms) {
    return break_hold(c, strrchr(path, '/') + 1, timeout_ms);
}

static bool is_marked(const char *path) {
    char data[1024];
    size_t length = sizeof(data) - 1;

    REQUIRE_INT(raw_get(fixture_raw(), path, data, &length, NULL), RAW_OK);
    data[length] = '\0';
    return strstr(data, " break=1") != NULL && strstr(data, " owner=A.1 label=deaf") != NULL;
}

static bool is_shown_as_broken(client *c) {
    zkl_queue *queue = NULL;

    REQUIRE_INT(zkl_inspect(c->session, c->name, &queue), ZKL_OK);
    REQUIRE_INT(zkl_queue_count(queue), 1);
    const bool is_broken = zkl_queue_at(queue, 0)->is_broken;
    CHECK(zkl_queue_at(queue, 0)->is_holder);
    zkl_queue_free(queue);
    return is_broken;
}

static void it_goes_after_its_timeout(void) {
    char path[RAW_PATH_MAX];
    client *c = open_beside(DEAF, path);
    const int64_t begun_ms = clock_ms();

    client_begin(c, ZKL_FOREVER);
    WAIT_UNTIL(queue_length(c->name) == 2, SOON_MS);
    CHECK_INT(break_path(c, path, SOON_MS), ZKL_OK);
    CHECK(clock_ms() - begun_ms >= DEAF_MS);
    CHECK_INT(client_result(c), ZKL_OK);
    client_close(c);
}

static void a_call_that_ends_too_soon_leaves_the_mark(void) {
    char path[RAW_PATH_MAX];
    client *c = open_beside(DEAF, path);

    CHECK(!is_shown_as_broken(c));
    CHECK_INT(break_path(c, path, DEAF_MS / 3), ZKL_TIMEOUT);
    CHECK(is_marked(path));
    CHECK(is_shown_as_broken(c));
    CHECK_INT(break_path(c, path, DEAF_MS * 9 / 10), ZKL_TIMEOUT);
    const int64_t begun_ms = clock_ms(); /* counted anew */
    CHECK_INT(break_path(c, path, SOON_MS), ZKL_OK);
    CHECK(clock_ms() - begun_ms >= DEAF_MS);
    CHECK_INT(break_path(c, path, SOON_MS), ZKL_NOT_HELD);
    client_close(c);
}

/* What a server does not tell its owner of is not counted on. */
static void a_closed_node_is_left_alone(void) {
    char path[RAW_PATH_MAX];
    client *c = open_beside(DEAF, path);

    REQUIRE_INT(raw_restrict(fixture_raw(), path, PERM_ALL & ~PERM_DELETE), RAW_OK);
    CHECK_INT(break_path(c, path, SOON_MS), ZKL_UNSUPPORTED);
    CHECK(!is_marked(path));
    REQUIRE_INT(raw_restrict(fixture_raw(), path, PERM_ALL & ~PERM_READ), RAW_OK);
    CHECK_INT(break_path(c, path, SOON_MS), ZKL_DENIED);
    REQUIRE_INT(raw_delete(fixture_raw(), path), RAW_OK);
    client_close(c);
}

/* Whose names may end as a writer's, and have no uuid. */
static void a_writer_s_name_may_be_short(void) {
    client *c = client_open(fresh_name("short"), T_LONG);
    char path[RAW_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s", fixture_root(), c->name);
    REQUIRE_INT(raw_make_path(fixture_raw(), path), RAW_OK);
    for (int length = 0; length < 60; length++) {
        (void)snprintf(path, sizeof(path), "%s/%s/%.*s-__WRIT__0000000001", fixture_root(), c->name,
                       length, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        REQUIRE_INT(raw_create(fixture_raw(), path, "", 0, RAW_EPHEMERAL, NULL), RAW_OK);
        CHECK_INT(zkl_ask(c->session, c->name), ZKL_UNSUPPORTED);
        CHECK_INT(break_path(c, path, SOON_MS), ZKL_OK);
        CHECK_INT(break_path(c, path, SOON_MS), ZKL_NOT_HELD);
    }
    client_close(c);
}

static void other_libraries_go_at_once(void) {
    static const struct {
        const char *data;
        zkl_err result;
    } cases[] = {
        {"10.0.0.1", ZKL_OK},
        {"", ZKL_OK},
        {"zklock2 t=1500", ZKL_UNSUPPORTED}, /* of a later format */
        {"zklock1 label=no-timeout", ZKL_UNSUPPORTED},
        {"zklock1 t=9000000000000000000", ZKL_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[RAW_PATH_MAX];
        client *c = open_beside(cases[i].data, path);

        CHECK_INT(break_path(c, path, SOON_MS), cases[i].result);
        CHECK_INT(raw_exists(fixture_raw(), path), cases[i].result != ZKL_OK);
        if (cases[i].result != ZKL_OK)
            REQUIRE_INT(raw_delete(fixture_raw(), path), RAW_OK);
        client_close(c);
    }
}

/* ---- Wrong calls ---- */

static zkl_session *Operator;
static atomic_int Answer = -1;

static void break_in_callback(const zkl_event *event, void *arg) {
    if (event->type == ZKL_EVENT_HELD)
        atomic_store(&Answer, zkl_break(Operator, "x", arg, SOON_MS));
}

static void wrong_calls_are_refused(void) {
    static const char node[] = "_c_0123-lock-0000000001";
    client *c = client_open(fresh_name("wrong"), T_LONG);
    zkl_session *s = c->session;
    zkl_lock *l = NULL;
    const zkl_lock_options options = ZKL_LOCK_OPTIONS(.on_event = break_in_callback,
                                                      .arg = (void *)(uintptr_t)node);

    CHECK_INT(zkl_break(NULL, "a", node, 0), ZKL_INVALID);
    CHECK_INT(zkl_break(s, NULL, node, 0), ZKL_INVALID);
    CHECK_INT(zkl_break(s, "/a", node, 0), ZKL_INVALID);
    CHECK_INT(zkl_break(s, "a", NULL, 0), ZKL_INVALID);
    CHECK_INT(zkl_break(s, "a", "", 0), ZKL_INVALID);
    CHECK_INT(zkl_break(s, "a", "no-contender", 0), ZKL_INVALID);
    CHECK_INT(zkl_break(s, "a", "b/_c_0123-lock-0000000001", 0), ZKL_INVALID);
    CHECK_INT(zkl_break(s, "a", node, -2), ZKL_INVALID);
    CHECK_INT(zkl_break(s, c->name, node, SOON_MS), ZKL_NOT_HELD);
    Operator = s;
    REQUIRE_INT(zkl_lock_open(&l, s, c->name, &options), ZKL_OK);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    WAIT_UNTIL(atomic_load(&Answer) == ZKL_IN_CALLBACK, SOON_MS);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    client_close(c);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a holder goes at once", a_holder_goes_at_once},
        {"a hold may be young", a_hold_may_be_young},
        {"who waits begins anew", who_waits_begins_anew},
        {"what lingers goes", what_lingers_goes},
        {"who took over goes", who_took_over_goes},
        {"of several only that one goes", of_several_only_that_one_goes},
        {"a writer may have become a reader", a_writer_may_have_become_a_reader},
        {"it goes after its timeout", it_goes_after_its_timeout},
        {"a call that ends too soon leaves the mark", a_call_that_ends_too_soon_leaves_the_mark},
        {"a closed node is left alone", a_closed_node_is_left_alone},
        {"a writer's name may be short", a_writer_s_name_may_be_short},
        {"other libraries go at once", other_libraries_go_at_once},
        {"wrong calls are refused", wrong_calls_are_refused},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "break", cases);
}
