/*
 * The queue on the server: its order, what counts as a contender, and every way in which a node in
 * front of a waiter, or its own, can come and go.
 */
#include "support/client.h"

#include <stdio.h>
#include <string.h>

static void grants_follow_the_queue_with_growing_tokens(void) {
    enum {
        COUNT = 12
    };
    const char *name = fresh_name("fifo");
    client *clients[COUNT];
    int64_t token = 0;

    for (size_t i = 0; i < COUNT; i++) {
        clients[i] = i % 3 ? client_open_on(clients[i - i % 3], name) : client_open(name, T_NORMAL);
        client_queue_up(clients[i], i + 1);
    }
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_INT(client_result(clients[i]), ZKL_OK);
        CHECK(i + 1 == COUNT || !client_is_done(clients[i + 1]));
        CHECK(client_token(clients[i]) > token);
        token = client_token(clients[i]);
        CHECK_INT(client_release(clients[i]), ZKL_OK);
    }
    for (size_t i = COUNT; i > 0; i--)
        client_close(clients[i - 1]);
}

/* T3, T32: other libraries crash, hang or fail on these. */
static void foreign_children_are_ignored(void) {
    static const char *const names[] = {
        "a",
        "-",
        "config",
        "lock",
        "lock-",
        "lock-1",
        "0000000001",
        "readme-0000000001",
        "_c_",
        "_c_-lock-x",
        "x-y-0000000001",
        "__lock__",
        "..lock..",
        "\xc3\xa9t\xc3\xa9",
        "%s%n",
        "lease-12",
        "node 0000000003",
    };
    const char *name = fresh_name("foreign");
    client *one = client_open(name, T_NORMAL), *two = client_open(name, T_NORMAL);
    char longest[201], path[RAW_PATH_MAX];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        plant(name, names[i], i % 2 ? RAW_EPHEMERAL : RAW_PERSISTENT, path);
    memset(longest, 'z', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    plant(name, longest, RAW_PERSISTENT, NULL);

    CHECK_INT(client_acquire(one, 0), ZKL_OK);
    client_begin(two, ZKL_FOREVER);
    WAIT_UNTIL(client_told(two, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    plant(name, "newcomer", RAW_EPHEMERAL, path);
    uproot(path);
    CHECK(!client_is_done(two));
    CHECK_INT(client_release(one), ZKL_OK);
    CHECK_INT(client_result(two), ZKL_OK);
    CHECK_INT(client_release_wait(two), ZKL_OK);
    CHECK_INT(queue_length(name), sizeof(names) / sizeof(names[0]) + 1);
    client_close(two);
    client_close(one);
}

static const char *const Others[] = {
    CURATOR,                                     /* Curator's InterProcessMutex */
    "_c_0123456789abcdef0123456789abcdef-lock-", /* go-zookeeper */
    "0123456789abcdef0123456789abcdef__lock__",  /* kazoo */
    "0123456789abcdef0123456789abcdef__rlock__", /* kazoo's reader: exclusive for a mutex */
    "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-__WRIT__",
    "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-__READ__",
    "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-lease-", /* a semaphore's, on the mutex's path */
    "anybody-lock-",           /* to Curator and go-zookeeper whatever ends so is a contender */
    "x-72057594037927936-",    /* ZooKeeper's own recipe in Java */
    "x-0100000000000000-",     /* and in C */
    "x--5764607523034234880-", /* a session id may be negative */
};

/* T3, T33, T37: every library's contender, of any kind, in front of us, excludes us. */
static void other_libraries_contenders_exclude_us(void) {
    for (size_t i = 0; i < sizeof(Others) / sizeof(Others[0]); i++) {
        const char *name = fresh_name("others");
        client *c = client_open(name, T_NORMAL);
        char path[RAW_PATH_MAX];

        plant_contender(name, Others[i], path);
        CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
        client_queue_up(c, 2);
        WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) > 0, SOON_MS);
        CHECK(!client_is_done(c));
        uproot(path);
        CHECK_INT(client_result(c), ZKL_OK);
        client_close(c);
    }
}

/* What Curator's sorter compares: the text behind the last "lock-", else the whole name. */
static const char *curators_key(const char *name) {
    const char *key = name;

    for (const char *at = strstr(name, "lock-"); at; at = strstr(at, "lock-"))
        key = at += 5;
    return key;
}

static bool curator_would_hold(const char *name, const char *path) {
    raw_list list = raw_children(fixture_raw(), lock_dir(name));
    const char *own = curators_key(strrchr(path, '/') + 1);
    bool first = true;

    for (size_t i = 0; i < list.count; i++)
        first = first && strcmp(curators_key(list.names[i]), own) >= 0;
    raw_list_free(&list);
    return first;
}

static void curator_and_we_exclude_each_other(void) {
    const char *name = fresh_name("curator");
    client *c = client_open(name, T_NORMAL);
    char curator[RAW_PATH_MAX];

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    plant_contender(name, CURATOR, curator);
    CHECK(!curator_would_hold(name, curator));
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK(curator_would_hold(name, curator));
    client_queue_up(c, 2);
    CHECK(curator_would_hold(name, curator));
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) > 0, SOON_MS);
    CHECK(!client_is_done(c));
    uproot(curator);
    CHECK_INT(client_result(c), ZKL_OK);
    client_close(c);
}

/*
 * T33: near the end of its range the counter repeats and then jumps to negative numbers, so numbers
 * say nothing any more; the order of creation does.
 */
static void near_the_counters_end_the_order_of_creation_rules(void) {
    const char *name = fresh_name("overflow");
    client *one = client_open(name, T_NORMAL), *two = client_open(name, T_NORMAL);
    char top[RAW_PATH_MAX], again[RAW_PATH_MAX], negative[RAW_PATH_MAX];

    plant(name, CURATOR "2147483647", RAW_EPHEMERAL, top);
    CHECK_INT(client_acquire(one, 0), ZKL_BUSY);
    client_queue_up(one, 2);
    plant(name, "_c_7ba7b810-9dad-11d1-80b4-00c04fd430c8-lock-2147483647", RAW_EPHEMERAL, again);
    plant(name, "_c_8ba7b810-9dad-11d1-80b4-00c04fd430c8-lock--2147483648", RAW_EPHEMERAL,
          negative);
    client_queue_up(two, 5);
    WAIT_UNTIL(client_told(one, ZKL_EVENT_QUEUED) > 0, SOON_MS);
    WAIT_UNTIL(client_told(two, ZKL_EVENT_QUEUED) > 0, SOON_MS);
    CHECK(!client_is_done(one));
    uproot(top);
    CHECK_INT(client_result(one), ZKL_OK);
    uproot(again);
    CHECK_STAYS(!client_is_done(two), 100);
    CHECK(client_held(one));
    CHECK_INT(client_release(one), ZKL_OK);
    CHECK_STAYS(!client_is_done(two), 100);
    uproot(negative);
    CHECK_INT(client_result(two), ZKL_OK);
    client_close(two);
    client_close(one);
}

/* T25: not an exists, which would leave a watch that never fires. */
static void a_predecessor_may_vanish_between_list_and_watch(void) {
    const char *name = fresh_name("vanish");
    client *c = client_open_proxied(name, T_NORMAL);
    char head[RAW_PATH_MAX], predecessor[RAW_PATH_MAX];

    for (int with_head = 0; with_head < 2; with_head++) {
        if (with_head)
            plant_contender(name, CURATOR, head);
        plant_contender(name, "_c_7ba7b810-9dad-11d1-80b4-00c04fd430c8-lock-", predecessor);
        proxy_rule(c->proxy, PROXY_HOLD_REQUEST, PROXY_GET, strrchr(predecessor, '/'), 1, false);
        client_begin(c, ZKL_FOREVER);
        WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
        uproot(predecessor);
        events_forget(c->events);
        proxy_hold(c->proxy, PROXY_TO_SERVER, false);
        if (with_head) {
            WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, strrchr(head, '/')) == 1, SOON_MS);
            CHECK_STAYS(!client_is_done(c), 100);
            uproot(head);
        }
        CHECK_INT(client_result(c), ZKL_OK);
        CHECK_INT(client_nodes(c), 1);
        CHECK_INT(proxy_count(c->proxy, PROXY_EXISTS, NULL), 0);
        CHECK_INT(client_release_wait(c), ZKL_OK);
        if (server_is_ours())
            WAIT_UNTIL(server_number("wchs", "Total watches") == 0, SOON_MS);
    }
    client_close(c);
}

static void a_changed_predecessor_is_not_a_gone_one(void) {
    const char *name = fresh_name("changed");
    client *c = client_open_proxied(name, T_NORMAL);
    char predecessor[RAW_PATH_MAX];

    plant_contender(name, CURATOR, predecessor);
    client_queue_up(c, 2);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, predecessor) == 1, SOON_MS);
    size_t lists = proxy_count(c->proxy, PROXY_LIST, name);
    for (size_t i = 1; i <= 20; i++) {
        CHECK_INT(raw_set(fixture_raw(), predecessor, "x", 1), RAW_OK);
        /* The watch is set again each time, or the deletion below would go unseen. */
        WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, predecessor) == i + 1, SOON_MS);
    }
    CHECK(!client_is_done(c));
    CHECK_RANGE(proxy_count(c->proxy, PROXY_LIST, name) - lists, 0, 20);
    uproot(predecessor);
    CHECK_INT(client_result(c), ZKL_OK);
    client_close(c);
}

/* A node in the middle goes: whoever is behind it must not take that for its turn. */
static void a_waiter_that_leaves_hands_its_predecessor_on(void) {
    const char *name = fresh_name("middle");
    client *holder = client_open(name, T_NORMAL), *middle = client_open(name, T_NORMAL),
           *last = client_open(name, T_NORMAL);

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    client_queue_up(middle, 2);
    client_queue_up(last, 3);
    WAIT_UNTIL(client_told(last, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    CHECK_INT(zkl_cancel(middle->lock), ZKL_OK);
    CHECK_INT(client_result(middle), ZKL_CANCELED);
    WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
    CHECK_STAYS(!client_is_done(last), 200);
    CHECK(client_held(holder));
    CHECK_INT(client_release(holder), ZKL_OK);
    CHECK_INT(client_result(last), ZKL_OK);
    client_close(last);
    client_close(middle);
    client_close(holder);
}

static void a_waiter_whose_node_is_deleted_queues_again(void) {
    const char *name = fresh_name("broken");
    client *holder = client_open(name, T_NORMAL), *c = client_open(name, T_NORMAL);
    char first[RAW_PATH_MAX], second[RAW_PATH_MAX];

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    client_queue_up(c, 2);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    client_node(c, first);
    uproot(first);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_REQUEUED) == 1, SOON_MS);
    WAIT_UNTIL(client_nodes(c) == 1, SOON_MS);
    client_node(c, second);
    CHECK(strcmp(first, second) != 0);
    CHECK_STAYS(!client_is_done(c), 100);
    CHECK_INT(client_release(holder), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_OK);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(c);
    client_close(holder);
}

/* Granted at once, a holder watches its node from the next heartbeat on; a former waiter always. */
static void a_holder_whose_node_is_deleted_is_told(void) {
    const char *name = fresh_name("robbed");
    client *c = client_open(name, T_NORMAL);
    char path[RAW_PATH_MAX];

    for (int waited = 0; waited < 2; waited++) {
        zkl_event told = {0};

        if (waited) {
            plant_contender(name, CURATOR, path);
            client_queue_up(c, 2);
            WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) > 0, SOON_MS);
            uproot(path);
            REQUIRE_INT(client_result(c), ZKL_OK);
        } else {
            REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
        }
        zkl_hold hold = actor_hold(c->actor, c->lock);
        int64_t token = client_token(c);
        client_node(c, path);
        uproot(path);
        WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, T_NORMAL);
        CHECK(events_get(c->events, ZKL_EVENT_LOST, 0, &told, NULL));
        CHECK(told.hold == hold && told.token == token && told.lock == c->lock);
        CHECK(!client_held(c) && !zkl_hold_valid(c->lock, hold));
        CHECK_INT(client_release(c), ZKL_LOST);
        CHECK_INT(client_release(c), ZKL_NOT_HELD);
        events_forget(c->events);
    }
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(c);
}

/* T1: a wait that was given up is over, watch or no watch. */
static void a_canceled_waiter_never_comes_back(void) {
    const char *name = fresh_name("zombie");
    client *c = client_open_proxied(name, T_NORMAL);
    char predecessor[RAW_PATH_MAX];

    plant_contender(name, CURATOR, predecessor);
    client_queue_up(c, 2);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, predecessor) == 1, SOON_MS);
    CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_CANCELED);
    WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    proxy_forget(c->proxy);
    uproot(predecessor);
    CHECK_STAYS(queue_length(name) == 0 && proxy_count(c->proxy, PROXY_CREATE, NULL) == 0, 300);
    CHECK_INT(client_told(c, ZKL_EVENT_HELD), 0);
    CHECK(!client_held(c));
    CHECK_INT(client_acquire(c, 0), ZKL_OK);
    client_close(c);
}

static void the_end_of_the_holders_session_is_a_release(void) {
    const char *name = fresh_name("crash");
    raw *r = raw_open(server_hosts(), T_LONG);
    client *c = client_open(name, T_NORMAL);
    char path[RAW_PATH_MAX];

    REQUIRE(r != NULL);
    dir_make(name);
    (void)snprintf(path, sizeof(path), "%s/%s", lock_dir(name), CURATOR);
    REQUIRE_INT(raw_create(r, path, "", 0, RAW_EPHEMERAL | RAW_SEQUENTIAL, path), RAW_OK);
    client_queue_up(c, 2);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    CHECK(!client_is_done(c));
    raw_close(r);
    CHECK_INT(client_result(c), ZKL_OK);
    client_close(c);
}

static const test_case Cases[] = {
    {"grants follow the queue, with growing tokens (T33)",
     grants_follow_the_queue_with_growing_tokens},
    {"foreign children are ignored and never fatal (T3, T32)", foreign_children_are_ignored},
    {"other libraries' contenders exclude us (T3, T33, T37)",
     other_libraries_contenders_exclude_us},
    {"a contender of Curator's and ours exclude each other", curator_and_we_exclude_each_other},
    {"near the counter's end the order of creation rules (T33)",
     near_the_counters_end_the_order_of_creation_rules},
    {"a predecessor may vanish between list and watch, and leaves no watch (T25)",
     a_predecessor_may_vanish_between_list_and_watch},
    {"a changed predecessor is not a gone one", a_changed_predecessor_is_not_a_gone_one},
    {"a waiter that leaves hands its predecessor on",
     a_waiter_that_leaves_hands_its_predecessor_on},
    {"a waiter whose node is deleted queues again and says so",
     a_waiter_whose_node_is_deleted_queues_again},
    {"a holder whose node is deleted is told and can acquire again",
     a_holder_whose_node_is_deleted_is_told},
    {"a canceled waiter never comes back (T1)", a_canceled_waiter_never_comes_back},
    {"the end of the holder's session is a release", the_end_of_the_holders_session_is_a_release},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "queue", Cases);
}
