/* T45: chroots, credentials, permissions and the longest paths. */
#include "support/client.h"

#include <stdio.h>
#include <string.h>

enum {
    PERM_READ = 1,
    PERM_WRITE = 2,
    PERM_CREATE = 4,
    PERM_DELETE = 8,
    PERM_ALL = 31
};

static void a_chroot_is_where_the_locks_are(void) {
    char hosts[256], chroot[64], seen[RAW_PATH_MAX + 64], path[RAW_PATH_MAX];

    (void)snprintf(chroot, sizeof(chroot), "%s-chroot", fixture_root());
    (void)snprintf(hosts, sizeof(hosts), "%s%s", server_hosts(), chroot);
    REQUIRE_INT(raw_make_path(fixture_raw(), chroot), RAW_OK);
    zkl_session *s = session_open_with(hosts, (zkl_session_options){.root = "/locks"});
    zkl_lock *l = lock_open(s, "in-chroot", NULL);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_node_path(l, path, sizeof(path)), ZKL_OK);
    CHECK(strncmp(path, "/locks/in-chroot/", 17) == 0);
    (void)snprintf(seen, sizeof(seen), "%s%s", chroot, path);
    CHECK(raw_exists(fixture_raw(), seen));
    CHECK_INT(zkl_release_wait(l, SOON_MS), ZKL_OK);
    CHECK(!raw_exists(fixture_raw(), seen));
    lock_close(l);
    session_close(s);
    CHECK_INT(raw_delete_tree(fixture_raw(), chroot), RAW_OK);
}

static void on_nothing(const char *name, size_t contenders, void *arg) {
    (void)contenders;
    (void)arg;
    test_note("told of %s", name);
    CHECK(false);
}

static void a_chroot_that_is_not_there_is_an_error(void) {
    char hosts[256];
    zkl_queue *queue = NULL;

    (void)snprintf(hosts, sizeof(hosts), "%s%s-missing", server_hosts(), fixture_root());
    zkl_session *s = session_open_with(hosts, (zkl_session_options){.root = "/locks"});
    zkl_lock *l = lock_open(s, "nowhere", NULL);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_NO_CHROOT);
    CHECK_INT(zkl_acquire(l, 0), ZKL_NO_CHROOT);
    CHECK(!zkl_held(l));
    CHECK_INT(zkl_inspect(s, "nowhere", &queue), ZKL_NO_CHROOT);
    CHECK_INT(zkl_list(s, "", on_nothing, NULL), ZKL_NO_CHROOT);
    lock_close(l);
    session_close(s);
}

/* There is not even a root for locks. */
static void a_chroot_that_is_empty_has_no_locks(void) {
    char hosts[256], chroot[64];
    zkl_queue *queue = NULL;

    (void)snprintf(chroot, sizeof(chroot), "%s-empty", fixture_root());
    (void)snprintf(hosts, sizeof(hosts), "%s%s", server_hosts(), chroot);
    REQUIRE_INT(raw_make_path(fixture_raw(), chroot), RAW_OK);
    zkl_session *s = session_open_with(hosts, (zkl_session_options){.root = "/locks"});
    REQUIRE_INT(zkl_inspect(s, "nowhere", &queue), ZKL_OK);
    CHECK_INT(zkl_queue_count(queue), 0);
    zkl_queue_free(queue);
    CHECK_INT(zkl_list(s, "", on_nothing, NULL), ZKL_OK);
    session_close(s);
    CHECK_INT(raw_delete_tree(fixture_raw(), chroot), RAW_OK);
}

static void trailing_slashes_change_nothing(void) {
    const char *name = fresh_name("slash");
    char hosts[256], root[128];
    client *holder = client_open(name, T_NORMAL);
    zkl_session *s = NULL;
    zkl_lock *l;

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    (void)snprintf(hosts, sizeof(hosts), "%s/", server_hosts());
    zkl_err err = zkl_session_open(&s, hosts, &ZKL_SESSION_OPTIONS(.root = fixture_root()));
    CHECK(err == ZKL_OK || err == ZKL_INVALID);
    if (err == ZKL_OK) {
        l = lock_open(s, name, NULL);
        CHECK_INT(zkl_acquire(l, 0), ZKL_BUSY);
        lock_close(l);
        session_close(s);
    }
    (void)snprintf(root, sizeof(root), "%s/", fixture_root());
    s = NULL;
    err = zkl_session_open(&s, server_hosts(), &ZKL_SESSION_OPTIONS(.root = root));
    CHECK(err == ZKL_OK || err == ZKL_INVALID);
    if (err == ZKL_OK) {
        l = lock_open(s, name, NULL);
        CHECK_INT(zkl_acquire(l, 0), ZKL_BUSY);
        lock_close(l);
        session_close(s);
    }
    client_close(holder);
}

/* root may be NULL: that of the program. */
static zkl_session *open_as_at(const char *root, const char *auth, events *e) {
    return session_open_with(server_hosts(), (zkl_session_options){.root = root,
                                                                   .session_timeout_ms = T_NORMAL,
                                                                   .auth_scheme = "digest",
                                                                   .auth = auth,
                                                                   .acl = ZKL_ACL_CREATOR,
                                                                   .log = e ? events_log : NULL,
                                                                   .arg = e});
}

static zkl_session *open_as(const char *auth, events *e) {
    return open_as_at(NULL, auth, e);
}

static void only_the_creators_credentials_open_its_locks(void) {
    /* Not so the root: it would be closed to the tests after this one. */
    REQUIRE_INT(raw_make_path(fixture_raw(), fixture_root()), RAW_OK);
    const char *name = fresh_name("secret");
    events *log = events_new();
    zkl_session *ours = open_as("ann:secret", NULL), *again = open_as("ann:secret", NULL),
                *theirs = open_as("ann:guessed", log);
    zkl_lock *l = lock_open(ours, name, NULL), *second = lock_open(again, name, NULL),
             *third = lock_open(theirs, name, NULL);
    char path[RAW_PATH_MAX] = "", scheme[64];

    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_node_path(l, path, sizeof(path)), ZKL_OK);
    CHECK_INT(zkl_acquire(second, 0), ZKL_BUSY);
    CHECK_INT(zkl_acquire(third, 0), ZKL_DENIED);
    CHECK_INT(zkl_acquire(third, SOON_MS), ZKL_DENIED);
    CHECK(events_logged(log, name));
    CHECK(zkl_held(l));
    CHECK_INT(zkl_release_wait(l, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_acquire(second, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_node_path(second, path, sizeof(path)), ZKL_OK);
    REQUIRE_INT(raw_authenticate(fixture_raw(), "digest", "ann:secret"), RAW_OK);
    raw_acl_scheme(fixture_raw(), path, scheme, sizeof(scheme));
    CHECK_STRING(scheme, "digest");
    CHECK_INT(raw_owned_count(fixture_raw(), lock_dir(name), zkl_session_id(theirs)), 0);
    lock_close(l);
    lock_close(second);
    lock_close(third);
    session_close(theirs);
    session_close(again);
    session_close(ours);
    CHECK_INT(raw_delete_tree(fixture_raw(), lock_dir(name)), RAW_OK);
    events_free(log);
}

/* Who makes the root decides for all. */
static void a_root_that_a_creator_has_made_is_closed(void) {
    const char *root = lock_dir(fresh_name("root"));
    zkl_session *ours = open_as_at(root, "ann:secret", NULL);
    zkl_session *theirs = session_open_with(server_hosts(), (zkl_session_options){.root = root});
    zkl_lock *l = lock_open(ours, "ours", NULL), *other = lock_open(theirs, "other", NULL);

    REQUIRE_INT(raw_make_path(fixture_raw(), fixture_root()), RAW_OK);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_acquire(other, SOON_MS), ZKL_DENIED);
    lock_close(l);
    lock_close(other);
    session_close(theirs);
    session_close(ours);
    REQUIRE_INT(raw_authenticate(fixture_raw(), "digest", "ann:secret"), RAW_OK);
    CHECK_INT(raw_delete_tree(fixture_raw(), root), RAW_OK);
}

/* Permission to come and to go is all that a reopened session has to bring along, too. */
static void credentials_survive_an_expiry(void) {
    const char *name = fresh_name("again");
    zkl_session *s = open_as("bob:secret", NULL);
    zkl_lock *l = lock_open(s, name, NULL);
    const int64_t id = zkl_session_id(s);
    char path[RAW_PATH_MAX] = "", scheme[64];

    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    session_expire(s);
    WAIT_UNTIL(zkl_session_id(s) != id && zkl_session_state(s) == ZKL_STATE_CONNECTED, SOON_MS);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_node_path(l, path, sizeof(path)), ZKL_OK);
    REQUIRE_INT(raw_authenticate(fixture_raw(), "digest", "bob:secret"), RAW_OK);
    raw_acl_scheme(fixture_raw(), path, scheme, sizeof(scheme));
    CHECK_STRING(scheme, "digest");
    lock_close(l);
    session_close(s);
}

static void an_unknown_scheme_fails_to_authenticate(void) {
    zkl_session *s = NULL;
    const int64_t began = clock_ms();

    CHECK_INT(
        zkl_session_open(&s, server_hosts(),
                         &ZKL_SESSION_OPTIONS(.auth_scheme = "no-such-scheme", .auth = "x:y")),
        ZKL_AUTH_FAILED);
    CHECK(s == NULL);
    CHECK_RANGE(clock_ms() - began, 0, 5000);
}

/* A contender that nobody may read cannot be watched. */
static void an_unreadable_predecessor_is_denied_and_leaves_nothing(void) {
    const char *name = fresh_name("unreadable");
    client *c = client_open(name, T_NORMAL);
    char path[RAW_PATH_MAX];

    plant_contender(name, CURATOR, path);
    REQUIRE_INT(raw_restrict(fixture_raw(), path, PERM_ALL & ~PERM_READ), RAW_OK);
    CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_DENIED);
    CHECK(events_logged(c->events, path));
    WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    uproot(path);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(c);
}

static void a_directory_without_permissions_is_denied(void) {
    static const int perms[] = {PERM_ALL & ~PERM_READ, PERM_ALL & ~PERM_CREATE, 0};

    for (size_t i = 0; i < sizeof(perms) / sizeof(perms[0]); i++) {
        const char *name = fresh_name("forbidden");
        client *c = client_open(name, T_NORMAL);

        dir_make(name);
        REQUIRE_INT(raw_restrict(fixture_raw(), lock_dir(name), perms[i]), RAW_OK);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_DENIED);
        CHECK_INT(client_acquire(c, 0), ZKL_DENIED);
        CHECK(events_logged(c->events, lock_dir(name)));
        CHECK(!client_held(c));
        WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
        client_close(c);
    }
}

static void the_longest_root_and_name_work_together(void) {
    char root[256], name[256], path[1024] = "";

    (void)snprintf(root, sizeof(root), "%s/", fixture_root());
    memset(root + strlen(root), 'r', sizeof(root) - 1 - strlen(root));
    root[255] = '\0';
    memset(name, 'n', sizeof(name) - 1);
    name[255] = '\0';
    zkl_session *s = session_open_with(server_hosts(), (zkl_session_options){.root = root});
    zkl_lock *l = lock_open(s, name, NULL);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_node_path(l, path, sizeof(path)), ZKL_OK);
    CHECK(strlen(path) > 2 * 255);
    CHECK(raw_exists(fixture_raw(), path));
    CHECK_INT(zkl_release_wait(l, SOON_MS), ZKL_OK);
    lock_close(l);
    session_close(s);
}

static const test_case Cases[] = {
    {"a chroot is where the locks are", a_chroot_is_where_the_locks_are},
    {"a chroot that is not there is an error, not a hang", a_chroot_that_is_not_there_is_an_error},
    {"a chroot that is empty has no locks", a_chroot_that_is_empty_has_no_locks},
    {"trailing slashes are refused or change nothing", trailing_slashes_change_nothing},
    {"only the creator's credentials open its locks", only_the_creators_credentials_open_its_locks},
    {"a root that a creator has made is closed", a_root_that_a_creator_has_made_is_closed},
    {"credentials survive an expiry", credentials_survive_an_expiry},
    {"an unknown scheme fails to authenticate", an_unknown_scheme_fails_to_authenticate},
    {"an unreadable predecessor is denied and leaves nothing",
     an_unreadable_predecessor_is_denied_and_leaves_nothing},
    {"a directory without permissions is denied", a_directory_without_permissions_is_denied},
    {"the longest root and name work together", the_longest_root_and_name_work_together},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "access", Cases);
}
