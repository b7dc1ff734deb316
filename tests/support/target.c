/* See target.h. */
#include "support/target.h"

#include <stdio.h>
#include <string.h>

/* After a flood of large writes a server was seen to leave a create unanswered for 40 s, as long as
 * our plain client waits; it may have been done then. */
static bool is_made(const char *path) {
    const int result = raw_create(fixture_raw(), path, "zero", 4, RAW_PERSISTENT, NULL);

    return result == RAW_OK || result == RAW_NODE_EXISTS;
}

const char *target_new(void) {
    static char buffers[256][RAW_PATH_MAX];
    static size_t next;
    char *path = buffers[next++ % 256];

    (void)snprintf(path, RAW_PATH_MAX, "%s", lock_dir(fresh_name("target")));
    REQUIRE_INT(raw_make_path(fixture_raw(), fixture_root()), RAW_OK);
    WAIT_UNTIL(is_made(path), 6 * SOON_MS);
    return path;
}

void target_check(const char *path, const char *text, int version) {
    char data[64] = "";
    size_t len = sizeof(data) - 1;
    raw_stat stat = {0};

    CHECK_INT(raw_get(fixture_raw(), path, data, &len, &stat), RAW_OK);
    CHECK_STRING(data, text);
    CHECK_INT(stat.version, version);
}

int target_version(const char *path) {
    raw_stat stat = {0};

    REQUIRE(raw_stat_of(fixture_raw(), path, &stat));
    return stat.version;
}

client *holder_new(const char *name, int timeout_ms) {
    client *c = client_open_proxied(fresh_name(name), timeout_ms);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    return c;
}

void holder_check(client *c) {
    CHECK(client_held(c));
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
}

zkl_err guarded_run(void *arg) {
    const guarded_call *call = arg;

    return zkl_guarded_set(call->lock, call->path, call->data, call->len, call->version);
}

guarded_call guarded_text(client *c, const char *path, const char *text, int version) {
    return (guarded_call){c->lock, path, text, strlen(text), version};
}

zkl_err guarded_set(client *c, const char *path, const char *text, int version) {
    guarded_call call = guarded_text(c, path, text, version);

    actor_begin(c->actor, guarded_run, &call);
    return actor_result(c->actor, 3 * SOON_MS);
}

void guarded_begin_broken(client *c, guarded_call *call, proxy_action action, bool refuse) {
    proxy_rule(c->proxy, action, PROXY_MULTI, NULL, 1, refuse);
    actor_begin(c->actor, guarded_run, call);
    WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
}
