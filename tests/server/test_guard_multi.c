/*
 * Several operations under a guard, as zoo_multi does them: by a program that uses ZooKeeper's own
 * header, which no other test does.
 */
#include "support/target.h"

#include "zk/zk_client.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zklock_zookeeper.h>
#include <zookeeper/zookeeper.h>

typedef struct multi_call {
    zkl_lock *lock;
    int count;
    const zoo_op_t *ops;
    zoo_op_result_t *results;
} multi_call;

static zkl_err multi_run(void *arg) {
    const multi_call *call = arg;

    return zkl_guarded_multi(call->lock, call->count, call->ops, call->results);
}

static zkl_err multi(client *c, int count, const zoo_op_t *ops, zoo_op_result_t *results) {
    multi_call call = {c->lock, count, ops, results};

    actor_begin(c->actor, multi_run, &call);
    return actor_result(c->actor, 3 * SOON_MS);
}

/* Results that nobody has written. */
static void results_clear(zoo_op_result_t *results, size_t count) {
    for (size_t i = 0; i < count; i++)
        results[i] = (zoo_op_result_t){.err = 4711};
}

static void several_operations_are_one(void) {
    client *c = holder_new("several", T_LONG);
    const char *set = target_new(), *gone = target_new(), *kept = target_new();
    char prefix[RAW_PATH_MAX], made[RAW_PATH_MAX] = "", tiny[8] = "";
    struct Stat stat = {0};
    zoo_op_t ops[5];
    zoo_op_result_t results[5];

    (void)snprintf(prefix, sizeof(prefix), "%s/made-", set);
    zoo_set_op_init(&ops[0], set, "one", 3, 0, &stat);
    zoo_create_op_init(&ops[1], prefix, "new", 3, &ZOO_OPEN_ACL_UNSAFE, ZOO_SEQUENCE, made,
                       sizeof(made));
    zoo_create_op_init(&ops[2], prefix, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_SEQUENCE, tiny,
                       sizeof(tiny));
    zoo_delete_op_init(&ops[3], gone, 0);
    zoo_check_op_init(&ops[4], kept, 0);
    results_clear(results, 5);
    proxy_forget(c->proxy);
    REQUIRE_INT(multi(c, 5, ops, results), ZKL_OK);
    CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), 1);
    for (size_t i = 0; i < 5; i++)
        CHECK_INT(results[i].err, ZOK);
    target_check(set, "one", 1);
    CHECK(results[0].stat == &stat);
    CHECK_INT(stat.version, 1);
    CHECK(results[1].value == made);
    CHECK(strncmp(made, prefix, strlen(prefix)) == 0 && strlen(made) == strlen(prefix) + 10);
    target_check(made, "new", 0);
    CHECK(results[2].value == tiny);
    CHECK(strlen(tiny) == sizeof(tiny) - 1 && strncmp(tiny, prefix, sizeof(tiny) - 1) == 0);
    CHECK_INT(raw_child_count(fixture_raw(), set), 2);
    CHECK(!raw_exists(fixture_raw(), gone));
    CHECK(client_held(c));
    client_close(c);
}

/* Another session would take the place of one that has rested. */
static void an_ephemeral_node_outlives_a_rest(void) {
    enum {
        TIMEOUT_MS = 2000
    };
    client *c = holder_new("ephemeral", TIMEOUT_MS);
    char path[RAW_PATH_MAX];
    zoo_op_t op;
    zoo_op_result_t result;

    (void)snprintf(path, sizeof(path), "%s-node", target_new());
    zoo_create_op_init(&op, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, NULL, 0);
    REQUIRE_INT(multi(c, 1, &op, &result), ZKL_OK);
    const int64_t session = zkl_session_id(c->session);
    REQUIRE_INT(client_release_wait(c), ZKL_OK);
    wait_out(3 * TIMEOUT_MS);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK(zkl_session_id(c->session) == session);
    CHECK(raw_exists(fixture_raw(), path));
    client_close(c);
    CHECK(!raw_exists(fixture_raw(), path));
}

/* What each refused operation is for the call, and what the results say, as after a zoo_multi. */
static void one_refused_operation_refuses_all(void) {
    static const struct {
        const char *what;
        zkl_err err;
        int code;
    } cases[] = {
        {"missing", ZKL_NO_NODE, ZNONODE},
        {"version", ZKL_BAD_VERSION, ZBADVERSION},
        {"denied", ZKL_DENIED, ZNOAUTH},
        {"exists", ZKL_SERVER, ZNODEEXISTS},
    };
    client *c = holder_new("refused", T_LONG);
    const char *first = target_new(), *last = target_new(), *denied = target_new();

    REQUIRE_INT(raw_restrict(fixture_raw(), denied, 1 | 16), RAW_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[RAW_PATH_MAX] = "untouched";
        struct Stat stat = {.version = 4711};
        zoo_op_t ops[3];
        zoo_op_result_t results[3];

        zoo_set_op_init(&ops[0], first, "x", 1, -1, &stat);
        zoo_set_op_init(&ops[2], last, "x", 1, -1, NULL);
        if (strcmp(cases[i].what, "missing") == 0)
            zoo_delete_op_init(&ops[1], lock_dir("nothing"), -1);
        else if (strcmp(cases[i].what, "version") == 0)
            zoo_check_op_init(&ops[1], first, 7);
        else if (strcmp(cases[i].what, "denied") == 0)
            zoo_set_op_init(&ops[1], denied, "x", 1, -1, NULL);
        else
            zoo_create_op_init(&ops[1], first, "x", 1, &ZOO_OPEN_ACL_UNSAFE, 0, path, sizeof(path));
        results_clear(results, 3);
        CHECK_INT(multi(c, 3, ops, results), cases[i].err);
        CHECK_INT(results[0].err, ZOK);
        CHECK_INT(results[1].err, cases[i].code);
        CHECK_INT(results[2].err, ZRUNTIMEINCONSISTENCY);
        CHECK(results[1].value == NULL);
        CHECK_STRING(path, "untouched");
        CHECK_INT(stat.version, 4711);
    }
    target_check(first, "zero", 0);
    target_check(last, "zero", 0);
    CHECK(client_held(c));
    client_close(c);
}

static void without_the_hold_nothing_is_done(void) {
    client *c = client_open_proxied(fresh_name("no-hold"), T_LONG);
    const char *path = target_new();
    zoo_op_t op;
    zoo_op_result_t result;

    zoo_set_op_init(&op, path, "x", 1, -1, NULL);
    results_clear(&result, 1);
    CHECK_INT(multi(c, 1, &op, &result), ZKL_NOT_HELD);
    CHECK_INT(result.err, 4711);
    for (size_t i = 0; i < 20; i++) {
        char node[RAW_PATH_MAX];

        REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
        client_node(c, node);
        uproot(node);
        CHECK_INT(multi(c, 1, &op, i % 2 ? &result : NULL), ZKL_LOST);
        CHECK(!client_held(c));
        CHECK_INT(client_release(c), ZKL_LOST);
    }
    CHECK_INT(result.err, ZRUNTIMEINCONSISTENCY);
    target_check(path, "zero", 0);
    client_close(c);
}

/* Nothing is done a second time: what the operations mean is for their author to know. */
static void a_lost_transaction_is_unsure(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};
    client *c = holder_new("lost", T_LONG);

    for (int i = 0; i < 2; i++) {
        const char *path = target_new();
        char made[RAW_PATH_MAX] = "untouched", prefix[RAW_PATH_MAX];
        zoo_op_t ops[2];
        zoo_op_result_t results[2];

        (void)snprintf(prefix, sizeof(prefix), "%s/made-", path);
        zoo_set_op_init(&ops[0], path, "x", 1, -1, NULL);
        zoo_create_op_init(&ops[1], prefix, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_SEQUENCE, made,
                           sizeof(made));
        results_clear(results, 2);
        proxy_forget(c->proxy);
        proxy_rule(c->proxy, actions[i], PROXY_MULTI, NULL, 1, false);
        CHECK_INT(multi(c, 2, ops, results), ZKL_UNSURE);
        CHECK_INT(results[0].err, 4711);
        CHECK_STRING(made, "untouched");
        WAIT_UNTIL(client_is_connected(c), SOON_MS);
        CHECK_INT(target_version(path), i);
        CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), 1);
    }
    CHECK(client_held(c));
    client_close(c);
}

/* T40: the client library writes its results where nobody of ours waits any more. */
static void a_session_may_close_under_transactions(void) {
    for (int i = 0; i < 4; i++) {
        client *c = holder_new("close", T_LONG);
        const char *path = target_new();
        char made[RAW_PATH_MAX] = "untouched", prefix[RAW_PATH_MAX];
        struct Stat stat;
        zoo_op_t ops[2];
        zoo_op_result_t results[2];
        multi_call call = {c->lock, 2, ops, results};
        const bool is_held_up = i % 2;

        (void)snprintf(prefix, sizeof(prefix), "%s/made-", path);
        zoo_set_op_init(&ops[0], path, "x", 1, -1, &stat);
        zoo_create_op_init(&ops[1], prefix, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_SEQUENCE, made,
                           sizeof(made));
        if (is_held_up)
            proxy_rule(c->proxy, PROXY_HOLD_REPLY, PROXY_MULTI, NULL, 1, false);
        actor_begin(c->actor, multi_run, &call);
        if (is_held_up)
            WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
        session_close(c->session);
        c->owns_session = false;
        if (is_held_up) {
            CHECK_INT(client_result(c), ZKL_UNSURE);
            CHECK_STRING(made, "untouched");
        } else {
            const zkl_err err = client_result(c);

            CHECK(err == ZKL_OK || err == ZKL_CLOSED);
            CHECK_INT(target_version(path), err == ZKL_OK);
        }
        client_close(c);
    }
}

/* ---- The port alone ---- */

struct reception {
    atomic_bool is_connected, is_answered;
    enum zkli_result result;
};

static void on_state(void *arg, struct zkli_port *port, enum zkli_port_state state) {
    struct reception *r = arg;

    (void)port;
    atomic_store(&r->is_connected, state == ZKLI_PORT_CONNECTED);
}

static void on_reply(void *arg, struct zkli_port *port, unsigned slot,
                     const struct zkli_reply *reply) {
    struct reception *r = arg;

    (void)port;
    (void)slot;
    r->result = reply->result;
    atomic_store(&r->is_answered, true);
}

static void on_watch(void *arg, struct zkli_port *port, const char *path,
                     enum zkli_watch_type type) {
    (void)arg;
    (void)port;
    (void)path;
    (void)type;
}

static void ignore_log(void *arg, zkl_log_level level, const char *text) {
    (void)arg;
    (void)level;
    (void)text;
}

/* T40, T43: answered or not, the client library writes to nothing that the caller has. */
static void a_transaction_is_borrowed_for_the_call_that_sends_it(void) {
    static const struct zkli_port_receiver receiver = {on_state, on_reply, on_watch};
    proxy *p = proxy_new();
    const char *guard = target_new(), *path = target_new();

    for (int is_answered = 1; is_answered >= 0; is_answered--) {
        struct reception r = {.result = ZKLI_RESULT_LOST};
        const struct zkli_client_config config = {.hosts = proxy_hosts(p),
                                                  .timeout_ms = T_LONG,
                                                  .receiver = &receiver,
                                                  .log = ignore_log,
                                                  .arg = &r};
        struct zkli_port *port = zkli_client_new(&config);
        struct {
            struct zkli_op ops[3];
            struct zkli_acl acl;
            char prefix[RAW_PATH_MAX], data[8];
        } lent, after;

        REQUIRE(port != NULL && port->ops->open(port));
        WAIT_UNTIL(atomic_load(&r.is_connected), SOON_MS);
        (void)snprintf(lent.prefix, sizeof(lent.prefix), "%s/made-", path);
        lent.acl = (struct zkli_acl){ZOO_PERM_ALL, "world", "anyone"};
        (void)snprintf(lent.data, sizeof(lent.data), "x");
        lent.ops[0] = (struct zkli_op){ZKLI_OP_CHECK, .path = guard, .version = -1};
        lent.ops[1] = (struct zkli_op){ZKLI_OP_SET, .path = path, .data = lent.data, .length = 1,
                                       .version = -1};
        lent.ops[2] = (struct zkli_op){ZKLI_OP_CREATE,   .path = lent.prefix,
                                       .length = -1,     .flags = ZKLI_CREATE_SEQUENTIAL,
                                       .acl = &lent.acl, .acl_count = 1};
        proxy_rule(p, PROXY_HOLD_REPLY, PROXY_MULTI, NULL, 1, false);
        REQUIRE(port->ops->multi(port, 0, lent.ops, 3));
        memset(&lent, 0x5a, sizeof(lent));
        memset(&after, 0x5a, sizeof(after));
        WAIT_UNTIL(proxy_fired(p), SOON_MS);
        if (is_answered) {
            proxy_hold(p, PROXY_TO_CLIENT, false);
            WAIT_UNTIL(atomic_load(&r.is_answered), SOON_MS);
            CHECK_INT(r.result, ZKLI_RESULT_OK);
        }
        port->ops->close(port);
        CHECK(memcmp(&lent, &after, sizeof(lent)) == 0);
        CHECK_INT(raw_child_count(fixture_raw(), path), 2 - is_answered);
    }
    proxy_close(p);
}

/* ---- What is refused before it is sent ---- */

static void operations_are_checked(void) {
    client *c = holder_new("invalid", T_LONG);
    const char *path = target_new();
    zoo_op_t ops[ZKL_GUARDED_OPS_MAX + 1];
    zoo_op_result_t results[ZKL_GUARDED_OPS_MAX + 1];
    char buf[16];

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        zoo_set_op_init(&ops[i], path, "x", 1, -1, NULL);
    proxy_forget(c->proxy);
    CHECK_INT(zkl_guarded_multi(NULL, 1, ops, results), ZKL_INVALID);
    CHECK_INT(multi(c, 0, ops, results), ZKL_INVALID);
    CHECK_INT(multi(c, -1, ops, results), ZKL_INVALID);
    CHECK_INT(multi(c, 1, NULL, results), ZKL_INVALID);
    CHECK_INT(multi(c, ZKL_GUARDED_OPS_MAX + 1, ops, results), ZKL_LIMIT);
#define CHECK_OP(expected, ...)                                                                    \
    do {                                                                                           \
        __VA_ARGS__;                                                                               \
        CHECK_INT(multi(c, 2, ops, results), expected);                                            \
    } while (0)
    CHECK_OP(ZKL_INVALID, zoo_set_op_init(&ops[1], "x", "x", 1, -1, NULL));
    CHECK_OP(ZKL_INVALID, zoo_set_op_init(&ops[1], NULL, "x", 1, -1, NULL));
    CHECK_OP(ZKL_INVALID, zoo_set_op_init(&ops[1], path, NULL, 1, -1, NULL));
    CHECK_OP(ZKL_INVALID, zoo_set_op_init(&ops[1], path, "x", -1, -1, NULL));
    CHECK_OP(ZKL_INVALID, zoo_delete_op_init(&ops[1], "/x/", -1));
    CHECK_OP(ZKL_INVALID, zoo_check_op_init(&ops[1], "//x", -1));
    CHECK_OP(ZKL_INVALID,
             zoo_create_op_init(&ops[1], "/x/", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0));
    CHECK_OP(ZKL_INVALID,
             zoo_create_op_init(&ops[1], "/x", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 1));
    CHECK_OP(ZKL_INVALID,
             zoo_create_op_init(&ops[1], "/x", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, buf, -1));
    CHECK_OP(ZKL_UNSUPPORTED, zoo_create_op_init(&ops[1], "/x", "", 0, &ZOO_OPEN_ACL_UNSAFE,
                                                 ZOO_CONTAINER, NULL, 0));
    CHECK_OP(ZKL_UNSUPPORTED, zoo_create_op_init(&ops[1], "/x", "", 0, &ZOO_OPEN_ACL_UNSAFE,
                                                 ZOO_PERSISTENT_WITH_TTL, NULL, 0));
    CHECK_OP(ZKL_UNSUPPORTED, ops[1].type = 4711);
    CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), 0);
    target_check(path, "zero", 0);
    for (size_t i = 0; i < ZKL_GUARDED_OPS_MAX; i++)
        zoo_set_op_init(&ops[i], path, "x", 1, (int)i, NULL);
    CHECK_INT(multi(c, ZKL_GUARDED_OPS_MAX, ops, results), ZKL_OK); /* each sees those before it */
    target_check(path, "x", ZKL_GUARDED_OPS_MAX);
    CHECK_OP(ZKL_OK, zoo_set_op_init(&ops[0], path, NULL, -1, -1, NULL),
             zoo_check_op_init(&ops[1], path, ZKL_GUARDED_OPS_MAX + 1));
    CHECK(client_held(c));
    client_close(c);
}

/* All of it counts: data, paths, the names in access lists, and the chroot before each path. */
static void too_many_bytes_are_a_limit(void) {
    static char big[1024 * 1024], long_path[RAW_PATH_MAX], scheme[512 * 1024];
    client *c = holder_new("bytes", T_LONG);
    const char *path = target_new();
    struct ACL acl = {31, {scheme, scheme}};
    const struct ACL_vector acls = {1, &acl};
    zoo_op_t ops[2];

    memset(long_path, 'x', sizeof(long_path) - 1);
    memset(scheme, 's', sizeof(scheme) - 1);
    long_path[0] = '/';
    zoo_check_op_init(&ops[0], path, 0);
    for (int length = 1024 * 1024; length > 1000 * 1024; length -= 16 * 1024) {
        zoo_set_op_init(&ops[1], path, big, length, -1, NULL);
        CHECK_INT(multi(c, 2, ops, NULL), ZKL_LIMIT);
    }
    zoo_set_op_init(&ops[1], path, big, 2147483647, -1, NULL);
    CHECK_INT(multi(c, 2, ops, NULL), ZKL_LIMIT);
    zoo_create_op_init(&ops[1], "/x", "", 0, &acls, 0, NULL, 0);
    CHECK_INT(multi(c, 2, ops, NULL), ZKL_LIMIT);
    zoo_set_op_init(&ops[1], path, big, ZKL_GUARDED_SET_MAX, -1, NULL);
    CHECK_INT(multi(c, 2, ops, NULL), ZKL_OK);
    CHECK_INT(target_version(path), 1);
    CHECK(client_held(c));
    client_close(c);
}

/* Paths are given back to the caller below the chroot, as they came. */
static void a_chroot_stands_before_every_path(void) {
    static char big[ZKLI_TRANSACTION_MAX];
    char hosts[256], chroot[64], made[64] = "", seen[192], guard[RAW_PATH_MAX];
    zoo_op_t ops[3];
    zoo_op_result_t results[3];
    struct zkli_op sent[] = {{ZKLI_OP_CHECK, .path = guard},
                             {ZKLI_OP_SET, .path = "/made", .data = big}};
    size_t bytes;

    (void)snprintf(chroot, sizeof(chroot), "%s-multi", fixture_root());
    (void)snprintf(hosts, sizeof(hosts), "%s%s", server_hosts(), chroot);
    REQUIRE_INT(raw_make_path(fixture_raw(), chroot), RAW_OK);
    zkl_session *s = session_open_with(hosts, (zkl_session_options){.root = "/locks"});
    zkl_lock *l = lock_open(s, "in-chroot", NULL);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    zoo_create_op_init(&ops[0], "/made", "new", 3, &ZOO_OPEN_ACL_UNSAFE, 0, made, sizeof(made));
    zoo_check_op_init(&ops[1], "/made", 0);
    zoo_set_op_init(&ops[2], "/", "root", 4, -1, NULL);
    CHECK_INT(zkl_guarded_multi(l, 3, ops, results), ZKL_OK);
    CHECK_STRING(made, "/made");
    (void)snprintf(seen, sizeof(seen), "%s/made", chroot);
    target_check(seen, "new", 0);
    target_check(chroot, "root", 1);

    /* As large as may be without it, then with it. */
    REQUIRE_INT(zkl_node_path(l, guard, sizeof(guard)), ZKL_OK);
    sent[1].length = ZKLI_TRANSACTION_MAX;
    while (zkli_multi_check(sent, 2, 0, &bytes) != ZKL_OK && sent[1].length > 0)
        sent[1].length--;
    zoo_set_op_init(&ops[0], "/made", big, sent[1].length, -1, NULL);
    CHECK_RANGE(ops[0].set_op.datalen, ZKL_GUARDED_SET_MAX, ZKLI_TRANSACTION_MAX);
    CHECK_INT(zkl_guarded_multi(l, 1, ops, NULL), ZKL_LIMIT);
    ops[0].set_op.datalen -= 2 * (int)strlen(chroot);
    CHECK_INT(zkl_guarded_multi(l, 1, ops, NULL), ZKL_OK);
    ops[0].set_op.datalen++;
    CHECK_INT(zkl_guarded_multi(l, 1, ops, NULL), ZKL_LIMIT);
    lock_close(l);
    session_close(s);
    CHECK_INT(raw_delete_tree(fixture_raw(), chroot), RAW_OK);
}

static const test_case Cases[] = {
    {"several operations are one", several_operations_are_one},
    {"an ephemeral node outlives a rest", an_ephemeral_node_outlives_a_rest},
    {"one refused operation refuses all", one_refused_operation_refuses_all},
    {"without the hold nothing is done", without_the_hold_nothing_is_done},
    {"a lost transaction is unsure, and not done twice", a_lost_transaction_is_unsure},
    {"a session may close under transactions (T40)", a_session_may_close_under_transactions},
    {"a transaction is borrowed for the call that sends it (T40, T43)",
     a_transaction_is_borrowed_for_the_call_that_sends_it},
    {"operations are checked before they are sent", operations_are_checked},
    {"too many bytes are a limit", too_many_bytes_are_a_limit},
    {"a chroot stands before every path (T45)", a_chroot_stands_before_every_path},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "guard_multi", Cases);
}
