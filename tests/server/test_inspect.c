/* Looking at queues: who holds, who waits, in what order; and what strangers put there. */
#include "support/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static zkl_queue *look(zkl_session *s, const char *name) {
    zkl_queue *queue = NULL;

    REQUIRE_INT(zkl_inspect(s, name, &queue), ZKL_OK);
    REQUIRE(queue != NULL);
    return queue;
}

static void a_queue_nobody_stands_in_is_empty(void) {
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    const char *name = fresh_name("empty");
    zkl_queue *queue = look(s, name);

    CHECK_INT(zkl_queue_count(queue), 0);
    zkl_queue_free(queue);
    CHECK(!raw_exists(fixture_raw(), lock_dir(name)));
    plant(name, "stranger", RAW_PERSISTENT, NULL);
    queue = look(s, name);
    CHECK_INT(zkl_queue_count(queue), 0);
    zkl_queue_free(queue);
    session_close(s);
}

static void check_is_ours(const zkl_contender *c, zkl_session *s, const char *label) {
    char host[256] = "";
    const int64_t now_ms = (int64_t)time(NULL) * 1000;

    CHECK(gethostname(host, sizeof(host) - 1) == 0);
    CHECK_STRING(c->host, host);
    CHECK(strstr(program_invocation_short_name, c->program) != NULL && c->program[0]);
    CHECK_STRING(c->label, label);
    CHECK_INT(c->pid, getpid());
    CHECK(c->session_id == zkl_session_id(s));
    if (server_is_ours()) /* its clock is ours */
        CHECK_RANGE(c->since_ms, now_ms - 60000, now_ms + 2000);
}

static zkl_lock *lock_open_labelled(zkl_session *s, const char *name, char *label) {
    zkl_lock *l = NULL;

    REQUIRE_INT(zkl_lock_open(&l, s, name, &ZKL_LOCK_OPTIONS(.label = label)), ZKL_OK);
    if (label != NULL)
        label[0] = '!'; /* it was copied */
    return l;
}

static void check_label(zkl_session *s, const char *name, const char *label) {
    zkl_queue *queue = look(s, name);

    REQUIRE_INT(zkl_queue_count(queue), 1);
    check_is_ours(zkl_queue_at(queue, 0), s, label);
    zkl_queue_free(queue);
}

static void a_lock_s_label_stands_instead_of_the_session_s(void) {
    zkl_session *s = session_open_with(
        server_hosts(),
        (zkl_session_options){.session_timeout_ms = T_NORMAL, .label = "session's"});
    char own[] = "lock's", empty[] = "", longer[200], cut[128 + 1];
    char *labels[] = {own, NULL, empty, longer};
    const char *shown[] = {"lock's", "session's", "", cut};

    memset(longer, 'l', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    memset(cut, 'l', sizeof(cut));
    cut[sizeof(cut) - 1] = '\0';
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        const char *name = fresh_name("labelled");
        zkl_lock *l = lock_open_labelled(s, name, labels[i]);

        REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
        check_label(s, name, shown[i]);
        REQUIRE_INT(zkl_release_wait(l, SOON_MS), ZKL_OK);
        REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
        check_label(s, name, shown[i]);
        REQUIRE_INT(zkl_lock_close(l), ZKL_OK);
    }
    session_close(s);
}

static void a_queue_shows_holder_and_waiters_in_order(void) {
    const char *name = fresh_name("shown");
    zkl_session *s = session_open_with(
        server_hosts(),
        (zkl_session_options){.session_timeout_ms = T_NORMAL, .label = "night % shift = \xc3\xa9"});
    zkl_lock *l = lock_open(s, name, NULL);
    client *second = client_open(name, T_NORMAL), *fourth = client_open(name, T_NORMAL);
    char path[1024] = "", kazoo[RAW_PATH_MAX];

    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_node_path(l, path, sizeof(path)), ZKL_OK);
    client_queue_up(second, 2);
    plant_contender(name, "0123456789abcdef0123456789abcdef__lock__", kazoo);
    client_queue_up(fourth, 4);
    plant(name, "stranger", RAW_EPHEMERAL, NULL);

    zkl_queue *queue = look(second->session, name);
    REQUIRE_INT(zkl_queue_count(queue), 4);
    for (size_t i = 0; i < 4; i++) {
        CHECK(zkl_queue_at(queue, i)->is_holder == (i == 0));
        CHECK(i == 0 || zkl_queue_at(queue, i)->token > zkl_queue_at(queue, i - 1)->token);
    }
    check_is_ours(zkl_queue_at(queue, 0), s, "night % shift = \xc3\xa9");
    CHECK_STRING(zkl_queue_at(queue, 0)->node, strrchr(path, '/') + 1);
    CHECK_INT(zkl_queue_at(queue, 0)->token, zkl_token(l));
    CHECK_INT(zkl_queue_at(queue, 0)->thread, syscall(SYS_gettid));
    check_is_ours(zkl_queue_at(queue, 1), second->session, "");
    CHECK_STRING(zkl_queue_at(queue, 2)->node, strrchr(kazoo, '/') + 1);
    CHECK_STRING(zkl_queue_at(queue, 2)->host, "");
    CHECK_INT(zkl_queue_at(queue, 2)->pid, 0);
    CHECK(zkl_queue_at(queue, 2)->session_id == raw_session(fixture_raw()));
    check_is_ours(zkl_queue_at(queue, 3), fourth->session, "");
    zkl_queue_free(queue);
    client_close(fourth);
    client_close(second);
    lock_close(l);
    session_close(s);
}

#define LEASE "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-lease-"
#define READER "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-__READ__"
#define WRITER "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-__WRIT__"

/* One letter for each contender of a queue. */
static const char *name_of(char kind) {
    return kind == 'l' ? LEASE : kind == 'r' ? READER : kind == 'w' ? WRITER : CURATOR;
}

static void check_holders(zkl_session *s, const char *name, const char *kinds, const char *marks,
                          int permits) {
    zkl_queue *queue = look(s, name);

    test_note("%s: %s", kinds, marks);
    CHECK_INT(zkl_queue_permits(queue), permits);
    REQUIRE_INT(zkl_queue_count(queue), strlen(kinds));
    for (size_t i = 0; i < strlen(kinds); i++) {
        CHECK(zkl_queue_at(queue, i)->is_holder == (marks[i] == 'h'));
        CHECK((zkl_queue_at(queue, i)->kind == ZKL_SEMAPHORE) == (kinds[i] == 'l'));
    }
    zkl_queue_free(queue);
}

/* Whoever waits is a dot. Without a number only the first holds for certain. */
static void of_any_queue_the_holders_are_told_from_the_waiters(void) {
    static const struct {
        const char *kinds, *data, *marks;
        int permits;
    } queues[] = {
        {"llll", "permits=2 max=5", "hh..", 2},
        {"llll", "permits=4 max=4", "hhhh", 4},
        {"llll", "permits=1 max=1", "h...", 1},
        {"lll", "permits=2147483647 max=2147483647", "hhh", 2147483647},
        {"ll", "", "h.", 0},
        {"ll", "permits=2", "h.", 0},
        {"ll", "permits=0 max=2", "h.", 0},
        {"ll", "192.168.100.7", "h.", 0}, /* Curator's default */
        {"mll", "permits=3 max=3", "h..", 3},
        {"rll", "permits=3 max=3", "h..", 3},
        {"lml", "permits=3 max=3", "h..", 3},
        {"llwl", "permits=3 max=3", "hh..", 3},
        {"llrr", "permits=3 max=3", "hh..", 3},
        {"rrl", "permits=3 max=3", "hh.", 3},
        {"rrwr", "permits=3 max=3", "hh..", 3},
        {"rrw", "", "hh.", 0},
        {"", "permits=3 max=3", "", 3},
    };
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);

    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
        const char *name = fresh_name("kinds"), *data = queues[i].data;

        plant(name, "stranger", RAW_PERSISTENT, NULL); /* makes the directory */
        REQUIRE_INT(raw_set(fixture_raw(), lock_dir(name), data, strlen(data)), RAW_OK);
        for (const char *kind = queues[i].kinds; *kind != '\0'; kind++)
            plant_contender(name, name_of(*kind), NULL);
        check_holders(s, name, queues[i].kinds, queues[i].marks, queues[i].permits);
        CHECK_INT(raw_delete_tree(fixture_raw(), lock_dir(name)), RAW_OK);
    }
    session_close(s);
}

/* What the library has made itself; the number stays when nobody is there. */
static void a_semaphore_shows_its_number_and_its_holders(void) {
    const char *name = fresh_name("permits");
    client *c = client_open_proxied(name, T_LONG), *d = client_open(name, T_LONG);
    client *e = client_open(name, T_LONG);

    client_be_permit(c, 2);
    client_be_permit(d, 2);
    client_be_permit(e, 2);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_acquire(d, SOON_MS), ZKL_OK);
    client_queue_up(e, 3);
    check_holders(c->session, name, "lll", "hh.", 2);
    CHECK_INT(zkl_set_permits(c->lock, 3), ZKL_OK);
    CHECK_INT(client_result(e), ZKL_OK);
    proxy_forget(c->proxy);
    check_holders(c->session, name, "lll", "hhh", 3);
    CHECK_INT(proxy_count_tail(c->proxy, PROXY_GET, name), 1); /* the number, beside the nodes */
    CHECK_INT(proxy_count(c->proxy, PROXY_GET, name), 4);
    client_close(e);
    client_close(d);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    check_holders(c->session, name, "", "", 3);
    client_close(c);
}

static void looking_costs_a_list_and_a_read_each(void) {
    const char *name = fresh_name("price");
    client *c = client_open_proxied(name, T_LONG);

    for (int i = 0; i < 5; i++)
        plant_contender(name, CURATOR, NULL);
    plant(name, "stranger", RAW_PERSISTENT, NULL);
    proxy_forget(c->proxy);
    zkl_queue *queue = look(c->session, name);
    CHECK_INT(zkl_queue_count(queue), 5);
    CHECK_INT(proxy_count_tail(c->proxy, PROXY_LIST, name), 1);
    CHECK_INT(proxy_count(c->proxy, PROXY_GET, name), 5);
    CHECK_INT(proxy_count(c->proxy, PROXY_CREATE, NULL) + proxy_count(c->proxy, PROXY_SET, NULL) +
                  proxy_count(c->proxy, PROXY_DELETE, name),
              0);
    zkl_queue_free(queue);
    if (server_is_ours())
        CHECK_INT(server_number("wchs", "Total watches"), 0);
    client_close(c);
}

static zkl_queue *look_first(client *c, size_t limit, size_t reads) {
    zkl_queue *queue = NULL;

    proxy_forget(c->proxy);
    REQUIRE_INT(zkl_inspect_first(c->session, c->name, limit, &queue), ZKL_OK);
    CHECK_INT(proxy_count_tail(c->proxy, PROXY_LIST, c->name), 1);
    CHECK_INT(proxy_count(c->proxy, PROXY_GET, c->name), reads);
    return queue;
}

/* The listing's own order is none. */
static void the_first_alone_cost_a_read_each(void) {
    client *c = client_open_proxied(fresh_name("first"), T_LONG);
    char paths[12][RAW_PATH_MAX];
    zkl_queue *queue = NULL;

    for (size_t i = 0; i < COUNT(paths); i++)
        plant_contender(c->name, i % 2 == 0 ? CURATOR : LEASE, paths[i]);
    for (size_t limit = 1; limit <= COUNT(paths) + 1; limit += 3) {
        const size_t shown = limit < COUNT(paths) ? limit : COUNT(paths);

        queue = look_first(c, limit, shown);
        CHECK_INT(zkl_queue_count(queue), shown);
        CHECK_INT(zkl_queue_length(queue), COUNT(paths));
        for (size_t i = 0; i < shown; i++)
            CHECK_STRING(zkl_queue_at(queue, i)->node, strrchr(paths[i], '/') + 1);
        CHECK(zkl_queue_at(queue, 0)->is_holder);
        CHECK(zkl_queue_at(queue, shown) == NULL);
        zkl_queue_free(queue);
    }
    CHECK_INT(zkl_inspect_first(c->session, c->name, 0, &queue), ZKL_INVALID);
    CHECK(queue == NULL);
    CHECK_INT(zkl_queue_length(NULL), 0);
    for (size_t i = 0; i < COUNT(paths); i++)
        uproot(paths[i]);
    client_close(c);
}

/* Where the numbers begin anew, or are all the same, only czxids tell. */
static void at_the_end_of_the_numbers_all_are_read(void) {
    client *c = client_open_proxied(fresh_name("end"), T_LONG);

    plant(c->name, "_c_0b9a3de1-52bd-4be6-8dbb-5b0ea1f0ff2a-lock-2147483646", RAW_PERSISTENT, NULL);
    plant(c->name, "_c_1b9a3de1-52bd-4be6-8dbb-5b0ea1f0ff2a-lock--2147483648", RAW_PERSISTENT,
          NULL);
    plant(c->name, "_c_2b9a3de1-52bd-4be6-8dbb-5b0ea1f0ff2a-lock--2147483647", RAW_PERSISTENT,
          NULL);
    zkl_queue *queue = look_first(c, 1, 3);
    REQUIRE_INT(zkl_queue_count(queue), 3);
    CHECK(strstr(zkl_queue_at(queue, 0)->node, "-lock-2147483646") != NULL);
    zkl_queue_free(queue);
    client_close(c);
}

#define BYTES(text)                                                                                \
    { text, sizeof(text) - 1 }

/* T45: the data of a node is whatever anybody wrote there. */
static void hostile_data_is_shown_or_left_out_and_harms_nobody(void) {
    static const struct {
        const char *data;
        size_t len;
    } evil[] = {
        BYTES(""),
        BYTES("\0\0\0\0"),
        BYTES("zklock1"),
        BYTES("zklock1 "),
        BYTES("zklock1 pid"),
        BYTES("zklock1 pid="),
        BYTES("zklock1 pid=99999999999999999999999999 tid=-5 host=%"),
        BYTES("zklock1 pid=-1 host=%0"),
        BYTES("zklock1 host=%00%1b%5b2J label=%zz prog=\x1b[31m"),
        BYTES("zklock1 host=a host=b host=c pid=1 pid=2"),
        BYTES("zklock1 t=-1 owner=. attempt=%00 touched= since=99999999999999999999 ask break=%"),
        BYTES("zklock1 owner=FFFFFFFFFFFFFFFFF.1 touched=1 touched=0 break=1 break break=\0"),
        BYTES("zklock9 pid=1"),
        BYTES("\xff\xfe\x80"),
    };
    enum {
        COUNT = sizeof(evil) / sizeof(evil[0])
    };
    const char *name = fresh_name("evil");
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    char *large = calloc(1, 900000), path[RAW_PATH_MAX];

    REQUIRE(large != NULL);
    for (size_t i = 0; i < COUNT; i++) {
        plant_contender(name, CURATOR, path);
        CHECK_INT(raw_set(fixture_raw(), path, evil[i].data, evil[i].len), RAW_OK);
    }
    memset(large, 'h', 900000);
    memcpy(large, "zklock1 pid=7 host=", 19);
    plant_contender(name, CURATOR, path);
    CHECK_INT(raw_set(fixture_raw(), path, large, 900000), RAW_OK);
    zkl_queue *queue = look(s, name);
    REQUIRE_INT(zkl_queue_count(queue), COUNT + 1);
    for (size_t i = 0; i <= COUNT; i++) {
        const zkl_contender *c = zkl_queue_at(queue, i);

        CHECK(c->host && c->program && c->label && c->node);
        CHECK(strlen(c->host) <= 512 && strlen(c->program) <= 512 && strlen(c->label) <= 512);
        CHECK(c->pid >= 0 && c->thread >= 0);
        CHECK(c->session_id == raw_session(fixture_raw()));
        CHECK(c->is_holder == (i == 0));
    }
    zkl_queue_free(queue);
    CHECK_INT(raw_delete_tree(fixture_raw(), lock_dir(name)), RAW_OK);
    free(large);
    session_close(s);
}

struct listing {
    size_t count;
    char names[64][64];
    size_t contenders[64];
};

static void on_listed(const char *name, size_t contenders, void *arg) {
    struct listing *l = arg;

    if (l->count < 64) {
        (void)snprintf(l->names[l->count], sizeof(l->names[0]), "%s", name);
        l->contenders[l->count] = contenders;
    }
    l->count++;
}

static void check_listed(zkl_session *s, const char *prefix, const char *const *names,
                         const size_t *contenders, size_t count) {
    struct listing found = {0};

    CHECK_INT(zkl_list(s, prefix, on_listed, &found), ZKL_OK);
    REQUIRE_INT(found.count, count);
    for (size_t i = 0; i < count; i++) {
        CHECK_STRING(found.names[i], names[i]);
        CHECK_INT(found.contenders[i], contenders[i]);
    }
}

static void locks_in_use_are_listed_with_their_queues(void) {
    static const char *const names[] = {"list/a", "list/a/inner", "list/b", "list/z/y/x"};
    static const size_t contenders[] = {2, 1, 1, 3};
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);

    check_listed(s, "list", NULL, NULL, 0);
    for (size_t i = 4; i > 0; i--)
        for (size_t j = 0; j < contenders[i - 1]; j++)
            plant_contender(names[i - 1], CURATOR, NULL);
    plant("list/idle", "stranger", RAW_PERSISTENT, NULL);
    check_listed(s, "list", names, contenders, 4);
    check_listed(s, "list/a", names, contenders, 2);
    check_listed(s, "list/z", names + 3, contenders + 3, 1);
    check_listed(s, "list/z/y/x", names + 3, contenders + 3, 1);
    check_listed(s, "list/idle", NULL, NULL, 0);
    check_listed(s, "list/none", NULL, NULL, 0);
    check_listed(s, "lis", NULL, NULL, 0); /* at or below, by components */
    CHECK_INT(raw_delete_tree(fixture_raw(), lock_dir("list")), RAW_OK);
    session_close(s);
}

static void everything_is_listed_without_a_prefix(void) {
    char root[128];
    const char *const names[] = {"one", "two"};
    const size_t contenders[] = {1, 1};

    (void)snprintf(root, sizeof(root), "%s/all", fixture_root());
    zkl_session *s = session_open_with(server_hosts(), (zkl_session_options){.root = root});
    check_listed(s, NULL, NULL, NULL, 0);
    zkl_lock *two = lock_open(s, "two", NULL);
    zkl_lock *one = lock_open(s, "one", NULL);
    REQUIRE_INT(zkl_acquire(two, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_acquire(one, SOON_MS), ZKL_OK);
    check_listed(s, NULL, names, contenders, 2);
    check_listed(s, "", names, contenders, 2);
    lock_close(one);
    lock_close(two);
    session_close(s);
}

static zkl_err churn(void *arg) {
    zkl_lock *l = arg;

    for (int i = 0; i < 200; i++) {
        const zkl_err err = zkl_acquire(l, ZKL_FOREVER);

        if (err != ZKL_OK)
            return err;
        (void)zkl_release(l); /* OK: it was held */
    }
    return ZKL_OK;
}

/* Nodes and directories come and go between the list and the reads. */
static void looking_at_a_busy_queue_is_never_an_error(void) {
    const char *name = fresh_name("busy");
    client *one = client_open(name, T_LONG), *two = client_open(name, T_LONG);
    struct listing found = {0};
    size_t looks = 0;

    actor_begin(one->actor, churn, one->lock);
    actor_begin(two->actor, churn, two->lock);
    while (!client_is_done(one) || !client_is_done(two)) {
        zkl_queue *queue = look(one->session, name);

        CHECK_RANGE(zkl_queue_count(queue), 0, 2);
        for (size_t i = 0; i < zkl_queue_count(queue); i++)
            CHECK(zkl_queue_at(queue, i)->is_holder == (i == 0));
        zkl_queue_free(queue);
        CHECK_INT(zkl_list(two->session, name, on_listed, &found), ZKL_OK);
        looks++;
    }
    test_note("%zu looks", looks);
    CHECK_INT(client_result(one), ZKL_OK);
    CHECK_INT(client_result(two), ZKL_OK);
    client_close(two);
    client_close(one);
}

static void on_anything(const char *name, size_t contenders, void *arg) {
    (void)name;
    (void)contenders;
    (*(size_t *)arg)++;
}

/* connect_timeout_ms is for the call, not for each of its reads. */
static void a_slow_server_holds_up_no_look_for_longer_than_the_timeout(void) {
    enum {
        COUNT = 30,
        DELAY_MS = 350, /* each way: more for two round trips than there is */
        TIMEOUT_MS = 1000
    };
    const char *name = fresh_name("slow");
    proxy *p = proxy_new();
    zkl_session *s = session_open_with(
        proxy_hosts(p),
        (zkl_session_options){.session_timeout_ms = T_LONG, .connect_timeout_ms = TIMEOUT_MS});
    zkl_queue *queue = NULL;
    size_t told = 0;
    char below[96];

    for (int i = 0; i < COUNT; i++) {
        plant_contender(name, CURATOR, NULL);
        (void)snprintf(below, sizeof(below), "%s/%d", name, i);
        plant_contender(below, CURATOR, NULL);
    }
    for (int is_slow = 1; is_slow >= 0; is_slow--) {
        const zkl_err expected = is_slow ? ZKL_UNREACHABLE : ZKL_OK;
        int64_t began = clock_ms(), took;

        proxy_delay(p, is_slow ? DELAY_MS : 0);
        CHECK_INT(zkl_inspect(s, name, &queue), expected);
        took = clock_ms() - began;
        began = clock_ms();
        CHECK_INT(zkl_list(s, name, on_anything, &told), expected);
        test_note("%s: %lld and %lld ms", is_slow ? "slow" : "fast", (long long)took,
                  (long long)(clock_ms() - began));
        CHECK_RANGE(took, is_slow ? TIMEOUT_MS : 0, 2 * TIMEOUT_MS);
        CHECK_RANGE(clock_ms() - began, is_slow ? TIMEOUT_MS : 0, 2 * TIMEOUT_MS);
        CHECK(is_slow == (queue == NULL));
        CHECK_INT(told, is_slow ? 0 : COUNT + 1);
    }
    REQUIRE(queue != NULL);
    CHECK_INT(zkl_queue_count(queue), COUNT);
    zkl_queue_free(queue);
    session_close(s);
    proxy_close(p);
    CHECK_INT(raw_delete_tree(fixture_raw(), lock_dir(name)), RAW_OK);
}

/* Permissions as bits. */
enum {
    PERM_READ = 1,
    PERM_ALL = 31
};

static void what_may_not_be_read_is_told_beside_the_rest(void) {
    static const char *const names[] = {"beside", "beside/b", "beside/c"};
    static const size_t contenders[] = {1, ZKL_UNREADABLE, 1};
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    struct listing found = {0};

    plant_contender("beside", CURATOR, NULL);
    plant_contender("beside/b", CURATOR, NULL);
    plant_contender("beside/c", CURATOR, NULL);
    REQUIRE_INT(raw_restrict(fixture_raw(), lock_dir("beside/b"), PERM_ALL & ~PERM_READ), RAW_OK);
    CHECK_INT(zkl_list(s, "beside", on_listed, &found), ZKL_DENIED);
    REQUIRE_INT(found.count, 3);
    for (size_t i = 0; i < found.count; i++) {
        CHECK_STRING(found.names[i], names[i]);
        CHECK_INT(found.contenders[i], contenders[i]);
    }
    session_close(s);
    CHECK_INT(raw_restrict(fixture_raw(), lock_dir("beside/b"), PERM_ALL), RAW_OK);
}

static const test_case Cases[] = {
    {"what may not be read is told beside the rest", what_may_not_be_read_is_told_beside_the_rest},
    {"a queue nobody stands in is empty, and is not made by looking",
     a_queue_nobody_stands_in_is_empty},
    {"a queue shows holder and waiters in order, and who they are",
     a_queue_shows_holder_and_waiters_in_order},
    {"a lock's label stands instead of the session's",
     a_lock_s_label_stands_instead_of_the_session_s},
    {"looking costs one list and one read each, and leaves no watch",
     looking_costs_a_list_and_a_read_each},
    {"the first alone cost a read each", the_first_alone_cost_a_read_each},
    {"at the end of the numbers all are read", at_the_end_of_the_numbers_all_are_read},
    {"of any queue the holders are told from the waiters",
     of_any_queue_the_holders_are_told_from_the_waiters},
    {"a semaphore shows its number and its holders", a_semaphore_shows_its_number_and_its_holders},
    {"hostile data harms nobody (T45)", hostile_data_is_shown_or_left_out_and_harms_nobody},
    {"locks in use are listed with their queues, sorted",
     locks_in_use_are_listed_with_their_queues},
    {"everything is listed without a prefix", everything_is_listed_without_a_prefix},
    {"a slow server holds up no look for longer than the timeout",
     a_slow_server_holds_up_no_look_for_longer_than_the_timeout},
    {"looking at a busy queue is never an error", looking_at_a_busy_queue_is_never_an_error},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "inspect", Cases);
}
