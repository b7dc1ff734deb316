/*
 * Heartbeats on a server that answers by itself what an ACL denies (enableEagerACLCheck), while
 * permissions are taken away. A refusal proves nothing and is told; a hold goes on for as long as
 * something is left that may be asked for. (In server.partition_acl refusals keep no hold alive.)
 */
#include "support/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ZooKeeper's bits. */
enum {
    PERM_READ = 1,
    PERM_DELETE = 8,
    PERM_ADMIN = 16,
    PERM_ALL = 31
};

#define NO_PARENT "/zklock-barrier-of-no-node"
#define NO_AUTH "-102"
#define CHROOT_BYTES 255

static size_t beats(client *c) {
    return proxy_answered(c->proxy, PROXY_BARRIER, NULL);
}

/* That many heartbeats from now on are answered, and the hold goes on. */
static void check_beats(client *c, const char *in_path, size_t count) {
    proxy_forget(c->proxy);
    WAIT_UNTIL(beats(c) >= count || client_told(c, ZKL_EVENT_LOST) > 0, SOON_MS);
    if (client_told(c, ZKL_EVENT_LOST) > 0)
        events_print_log(c->events);
    REQUIRE_INT(client_told(c, ZKL_EVENT_LOST), 0);
    CHECK(proxy_answered(c->proxy, PROXY_BARRIER, in_path) >= count - 1); /* one under way */
    CHECK(client_held(c));
}

/* More heartbeats than a lease lasts for. */
#define MANY 20

static void a_holders_node_is_what_heartbeats_look_for(void) {
    client *c = client_open_proxied(fresh_name("looked-for"), T_NORMAL);
    char node[RAW_PATH_MAX];

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, node);
    check_beats(c, node, MANY);
    CHECK(!events_logged(c->events, "proves nothing"));
    client_close(c);
}

/* A hold whose node was never read would be blind. */
static void close_when_read(client *c, const char *node) {
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, node) > 0, SOON_MS);
    REQUIRE_INT(raw_restrict(fixture_raw(), node, PERM_ALL & ~PERM_READ), RAW_OK);
}

static void a_node_that_nobody_may_read_costs_no_hold(void) {
    client *c = client_open_proxied(fresh_name("unread"), T_NORMAL);
    char node[RAW_PATH_MAX];

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, node);
    close_when_read(c, node);
    WAIT_UNTIL(events_logged(c->events, "proves nothing"), SOON_MS);
    CHECK(events_logged(c->events, NO_AUTH));
    check_beats(c, NO_PARENT, MANY);
    client_close(c);
}

/* The server does not tell who may not read it: only the hold's own reads do. */
static void the_end_of_a_node_that_nobody_may_read_ends_its_hold(void) {
    client *other = client_open_proxied(fresh_name("first"), T_NORMAL);
    client *c = client_open_on(other, fresh_name("closed-and-deleted"));
    char node[RAW_PATH_MAX];

    REQUIRE_INT(client_acquire(other, SOON_MS), ZKL_OK);
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, node);
    close_when_read(other, node);
    WAIT_UNTIL(events_logged(other->events, "proves nothing"), SOON_MS);
    CHECK(client_held(c));
    REQUIRE_INT(raw_delete(fixture_raw(), node), RAW_OK);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK(client_held(other));
    client_close(c);
    client_close(other);
}

/* The directory above what heartbeats delete is somebody else's: nothing that they may ask for is
 * left, and what the server says to that is its own. */
static void refused_heartbeats_end_a_hold_in_time(void) {
    client *c = client_open_proxied(fresh_name("refused"), T_NORMAL);
    char node[RAW_PATH_MAX];

    REQUIRE_INT(raw_create(fixture_raw(), NO_PARENT, "", 0, RAW_PERSISTENT, NULL), RAW_OK);
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, node);
    close_when_read(c, node);
    check_beats(c, NO_PARENT, MANY); /* the server finds no node there */
    int64_t begun = clock_ms();
    REQUIRE_INT(raw_restrict(fixture_raw(), NO_PARENT, PERM_ALL & ~PERM_DELETE), RAW_OK);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK_RANGE(clock_ms() - begun, 0, T_NORMAL);
    CHECK(!client_held(c));
    CHECK_INT(client_release(c), ZKL_LOST);
    REQUIRE_INT(raw_delete(fixture_raw(), NO_PARENT), RAW_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(c);
}

static void a_closed_root_costs_nothing(void) {
    REQUIRE_INT(raw_restrict(fixture_raw(), "/", PERM_READ | PERM_ADMIN), RAW_OK);
    REQUIRE_INT(raw_delete(fixture_raw(), "/no-node"), RAW_NO_AUTH);
    client *c = client_open_proxied(fresh_name("closed"), T_NORMAL);
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    check_beats(c, NULL, MANY);
    CHECK(!events_logged(c->events, "proves nothing"));
    client_flap(c); /* what comes before a search, too */
    CHECK_INT(client_release_wait(c), ZKL_OK);
    client_close(c);
    REQUIRE_INT(raw_restrict(fixture_raw(), "/", PERM_ALL), RAW_OK);
}

/* The longest there may be, and the directories are not the client's. */
static void a_chroot_changes_nothing(void) {
    char hosts[64 + CHROOT_BYTES], chroot[CHROOT_BYTES + 1] = "/";
    proxy *p = proxy_new();

    memset(chroot + 1, 'c', CHROOT_BYTES - 1);
    REQUIRE_INT(raw_make_path(fixture_raw(), chroot), RAW_OK);
    REQUIRE_INT(raw_restrict(fixture_raw(), chroot, PERM_ALL & ~PERM_DELETE), RAW_OK);
    (void)snprintf(hosts, sizeof(hosts), "%s%s", proxy_hosts(p), chroot);
    zkl_session *s = session_open_with(hosts,
                                       (zkl_session_options){.session_timeout_ms = T_NORMAL});
    zkl_lock *l = lock_open(s, "in-chroot", NULL);
    REQUIRE_INT(zkl_acquire(l, 0), ZKL_OK);
    CHECK(proxy_answered(p, PROXY_BARRIER, NO_PARENT) >= 1); /* there was no node yet */
    proxy_forget(p);
    WAIT_UNTIL(proxy_answered(p, PROXY_BARRIER, "in-chroot") >= MANY, SOON_MS);
    CHECK(zkl_held(l));
    lock_close(l);
    session_close(s);
    proxy_close(p);
}

static const test_case Cases[] = {
    {"a holder's node is what heartbeats look for", a_holders_node_is_what_heartbeats_look_for},
    {"a node that nobody may read costs no hold", a_node_that_nobody_may_read_costs_no_hold},
    {"the end of a node that nobody may read ends its hold",
     the_end_of_a_node_that_nobody_may_read_ends_its_hold},
    {"refused heartbeats end a hold in time", refused_heartbeats_end_a_hold_in_time},
    {"a root that is closed but for reading costs nothing", a_closed_root_costs_nothing},
    {"a chroot changes nothing", a_chroot_changes_nothing},
};

int main(int argc, char **argv) {
    static const char *const options[] = {"--prop", "enableEagerACLCheck=true", NULL};

    (void)unsetenv(
        "ZKLOCK_HOSTS"); /* other servers may not check early, and are not ours to close */
    fixture_start(options);
    return TEST_MAIN(argc, argv, "barrier", Cases);
}
