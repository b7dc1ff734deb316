/*
 * A writer that becomes a reader near the end of the directory's counter (T34; see test_counter.c).
 * From 2^20 before the end on, the order is that of the creation, and the reader's node would be a
 * new one, behind all others. So the writer's node stays, and only its owner takes it for a
 * reader's.
 */
#include "support/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END 2147483647
#define MARGIN (1 << 20)

/* Directories forged for the tests, and the number of the first contender in each. */
static const struct place {
    const char *name;
    int32_t number;
    bool turns; /* its number says its place */
} Places[] = {
    {"before", END - MARGIN, true},
    {"within", END - MARGIN + 1, false},
    {"last-but-one", END - 1, false},
    {"last", END, false}, /* it is repeated for all that come */
    {"inside", END - MARGIN + 1, false},
};

enum {
    WITHIN = 1,
    INSIDE = 4
};

static client *open_kind(const char *name, zkl_kind kind) {
    client *c = client_open_proxied(name, T_NORMAL);

    client_be(c, kind);
    return c;
}

static client *open_writing(const struct place *place) {
    client *c = open_kind(place->name, ZKL_WRITE);
    char node[RAW_PATH_MAX], number[16];

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, node);
    (void)snprintf(number, sizeof(number), "%010d", (int)place->number);
    CHECK_STRING(node + strlen(node) - 10, number);
    CHECK(strstr(node, "-__WRIT__") != NULL);
    return c;
}

static void wait_behind(client *c, size_t count) {
    client_queue_up(c, count);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == 1, SOON_MS);
}

static zkl_err run(void *lock) {
    return zkl_downgrade(lock);
}

static zkl_err downgrade(client *c) {
    actor_begin(c->actor, run, c->lock);
    return client_result(c);
}

/* It holds by this node, which is the only one of its session; its token is the node's. */
static void check_holds_by(client *c, const char *node, int64_t token) {
    char own[RAW_PATH_MAX] = "", only[RAW_PATH_MAX] = "";

    CHECK(client_held(c));
    CHECK_INT(client_token(c), token);
    actor_node_path(c->actor, c->lock, own, sizeof(own));
    CHECK_STRING(own, node);
    client_node(c, only);
    CHECK_STRING(only, node);
}

/* Those behind it, as they came: a reader, a writer, a reader. */
static void check_served(client *const waiters[3]) {
    for (size_t i = 0; i < 3; i++) {
        CHECK_INT(client_result(waiters[i]), ZKL_OK);
        CHECK(i == 2 || !client_is_done(waiters[i + 1]));
        CHECK_INT(client_release_wait(waiters[i]), ZKL_OK);
        CHECK_INT(client_told(waiters[i], ZKL_EVENT_REQUEUED), 0);
    }
}

static void check_downgrade(const struct place *place) {
    client *c = open_writing(place);
    client *const waiters[] = {open_kind(place->name, ZKL_READ), open_kind(place->name, ZKL_WRITE),
                               open_kind(place->name, ZKL_READ)};
    const char *path = target_new();
    const int64_t token = client_token(c);
    char node[RAW_PATH_MAX];
    raw_stat before = {0}, after = {0};

    for (size_t i = 0; i < COUNT(waiters); i++)
        wait_behind(waiters[i], i + 2);
    client_node(c, node);
    CHECK(raw_stat_of(fixture_raw(), lock_dir(place->name), &before));
    CHECK_INT(downgrade(c), ZKL_OK);
    CHECK_INT(downgrade(c), ZKL_OK); /* it is done */
    CHECK_INT(client_acquire(c, ZKL_FOREVER), ZKL_DEADLOCK);
    if (place->turns) {
        CHECK_INT(client_result(waiters[0]), ZKL_OK);
        WAIT_UNTIL(client_nodes(c) == 1, SOON_MS);
        client_node(c, node);
        CHECK(strstr(node, "-__READ__") != NULL);
    } else {
        CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), 0);
        CHECK_STAYS(!client_is_done(waiters[0]), 200);
        CHECK(raw_stat_of(fixture_raw(), lock_dir(place->name), &after));
        CHECK_INT(after.cversion, before.cversion); /* nothing has come or gone */
    }
    check_holds_by(c, node, token);
    CHECK_INT(guarded_set(c, path, "on it goes", 0), ZKL_OK);
    CHECK(!client_is_done(waiters[1]) && !client_is_done(waiters[2]));
    CHECK_INT(client_release(c), ZKL_OK);
    check_served(waiters);
    WAIT_UNTIL(queue_length(place->name) == 0, SOON_MS);
    for (size_t i = 0; i < COUNT(waiters); i++)
        client_close(waiters[i]);
    client_close(c);
}

static void near_the_end_it_is_one_for_its_owner_only(void) {
    for (size_t i = WITHIN; i < INSIDE; i++)
        check_downgrade(&Places[i]);
}

static void just_before_it_is_one_for_all(void) {
    check_downgrade(&Places[0]);
}

/* The writer's hold is given up first: that is a downgrade, too. */
static void who_reads_inside_reads_on_by_the_writer_s_node(void) {
    const struct place *place = &Places[INSIDE];
    client *c = open_writing(place), *inner = client_open_on(c, place->name);
    client *reader = open_kind(place->name, ZKL_READ);
    const int64_t token = client_token(c);
    char node[RAW_PATH_MAX], now[RAW_PATH_MAX] = "";

    client_node(c, node);
    client_be(inner, ZKL_READ);
    wait_behind(reader, 2);
    actor_acquire(c->actor, inner->lock, 0);
    CHECK_INT(client_result(c), ZKL_OK);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_STAYS(!client_is_done(reader), 200);
    CHECK(actor_held(c->actor, inner->lock));
    CHECK_INT(actor_token(c->actor, inner->lock), token);
    actor_node_path(c->actor, inner->lock, now, sizeof(now));
    CHECK_STRING(now, node);
    CHECK_INT(client_acquire(c, ZKL_FOREVER), ZKL_DEADLOCK);
    CHECK_INT(actor_release(c->actor, inner->lock), ZKL_OK);
    CHECK_INT(client_result(reader), ZKL_OK);
    CHECK_INT(queue_length(place->name), 1);
    client_close(reader);
    client_close(inner);
    client_close(c);
}

/* The root, and the directories under it. */
static void forge(void) {
    snapshot_node nodes[COUNT(Places) + 1] = {{fixture_root(), 0}};

    for (size_t i = 0; i < COUNT(Places); i++)
        nodes[i + 1] = (snapshot_node){lock_dir(Places[i].name), Places[i].number};
    server_forge(nodes, COUNT(nodes));
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"near the end a writer becomes a reader for its owner only (T34)",
         near_the_end_it_is_one_for_its_owner_only},
        {"just before that it becomes one for all", just_before_it_is_one_for_all},
        {"who reads inside reads on by the writer's node (T34)",
         who_reads_inside_reads_on_by_the_writer_s_node},
    };
    /* Nobody forges the database of somebody else's server. */
    (void)unsetenv("ZKLOCK_HOSTS");
    fixture_start(NULL);
    forge();
    return TEST_MAIN(argc, argv, "counter_downgrade", cases);
}
