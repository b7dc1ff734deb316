/*
 * Guarded writes: what the servers accept only while the node of the hold is there. The proxy loses
 * requests and replies, a plain client plays the operator and looks at what was written.
 */
#include "support/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zklock_zookeeper.h>

/* A guarded write for an actor's thread. */
struct call {
    zkl_lock *lock;
    const char *path, *text;
    int version;
};

static zkl_err do_call(void *arg) {
    const struct call *call = arg;

    return zkl_guarded_set(call->lock, call->path, call->text, strlen(call->text), call->version);
}

static zkl_err set(client *c, const char *path, const char *text, int version) {
    struct call call = {c->lock, path, text, version};

    actor_begin(c->actor, do_call, &call);
    return actor_result(c->actor, 3 * SOON_MS);
}

/* A node to write to, with the version 0 and "zero" in it. */
static const char *target_new(void) {
    const char *path = lock_dir(fresh_name("target"));

    REQUIRE_INT(raw_make_path(fixture_raw(), fixture_root()), RAW_OK);
    REQUIRE_INT(raw_create(fixture_raw(), path, "zero", 4, RAW_PERSISTENT, NULL), RAW_OK);
    return path;
}

static void check_target(const char *path, const char *text, int version) {
    char data[64] = "";
    size_t len = sizeof(data) - 1;
    raw_stat stat = {0};

    CHECK_INT(raw_get(fixture_raw(), path, data, &len, &stat), RAW_OK);
    CHECK_STRING(data, text);
    CHECK_INT(stat.version, version);
}

static client *holder_new(const char *name, int timeout_ms) {
    client *c = client_open_proxied(fresh_name(name), timeout_ms);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    return c;
}

static void a_write_under_a_hold_arrives(void) {
    client *c = holder_new("arrives", T_LONG);
    const char *path = target_new();

    CHECK_INT(set(c, path, "one", -1), ZKL_OK);
    check_target(path, "one", 1);
    CHECK_INT(set(c, path, "two", 1), ZKL_OK);
    check_target(path, "two", 2);
    CHECK_INT(set(c, path, "three", 1), ZKL_BAD_VERSION);
    CHECK_INT(set(c, path, "", 2), ZKL_OK);
    check_target(path, "", 3);
    CHECK_INT(set(c, lock_dir("nothing"), "x", -1), ZKL_NO_NODE);
    CHECK_INT(set(c, path, "x", -1), ZKL_OK);
    CHECK(client_held(c));
    client_close(c);
}

static const test_case Cases[] = {
    {"a write under a hold arrives", a_write_under_a_hold_arrives},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "guard", Cases);
}
