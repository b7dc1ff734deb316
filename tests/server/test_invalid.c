/* Bad input: refused, nothing made on the server, nothing leaked, and no result. */
#include "support/client.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* What a program may have left in a variable. */
static zkl_session *const Stale_session = (zkl_session *)(uintptr_t)0x51;
static zkl_lock *const Stale_lock = (zkl_lock *)(uintptr_t)0x52;
static zkl_queue *const Stale_queue = (zkl_queue *)(uintptr_t)0x53;

#define OPTIONS(...) ((zkl_session_options){.size = sizeof(zkl_session_options), __VA_ARGS__})

static void check_session_refused(const char *hosts, const zkl_session_options *options,
                                  zkl_err expected) {
    zkl_session *s = Stale_session;
    const zkl_err err = zkl_session_open(&s, hosts, options);

    if (err != expected)
        test_note("hosts \"%s\"", hosts ? hosts : "(null)");
    CHECK_INT(err, expected);
    CHECK(s == NULL);
    if (err == ZKL_OK)
        session_close(s);
}

static void bad_hosts_are_refused(void) {
    static const char *const bad[] = {
        NULL,
        "",
        ",",
        "/",
        "/chroot",
        "localhost:",
        ":2181",
        "localhost:0",
        "localhost:65536",
        "localhost:-1",
        "localhost:port",
        "localhost:2181,",
        ",localhost:2181",
        "localhost:2181,,localhost:2182",
        "localhost:2181/a//b",
        "local host:2181",
        "localhost:2181\n",
    };
    zkl_session *s = NULL;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_session_refused(bad[i], &OPTIONS(.connect_timeout_ms = 300), ZKL_INVALID);
    CHECK_INT(zkl_session_open(NULL, server_hosts(), NULL), ZKL_INVALID);
    CHECK(s == NULL);
}

static void bad_session_options_are_refused(void) {
    const char *hosts = server_hosts();
    char root[300];
    const zkl_session_options bad[] = {
        {.size = 0},
        {.size = 1},
        {.size = SIZE_MAX},
        OPTIONS(.session_timeout_ms = -1),
        OPTIONS(.session_timeout_ms = 99),
        OPTIONS(.session_timeout_ms = 3600001),
        OPTIONS(.session_timeout_ms = INT32_MIN),
        OPTIONS(.connect_timeout_ms = -1),
        OPTIONS(.connect_timeout_ms = 3600001),
        OPTIONS(.root = ""),
        OPTIONS(.root = "locks"),
        OPTIONS(.root = "//locks"),
        OPTIONS(.root = "/a//b"),
        OPTIONS(.root = "/a/./b"),
        OPTIONS(.root = "/a/../b"),
        OPTIONS(.root = "/a\nb"),
        OPTIONS(.root = root),
        OPTIONS(.acl = (zkl_acl)7),
        OPTIONS(.acl = ZKL_ACL_CREATOR),
        OPTIONS(.auth_scheme = "digest"),
        OPTIONS(.auth = "user:password"),
    };

    memset(root, 'r', sizeof(root) - 1);
    root[0] = '/';
    root[sizeof(root) - 1] = '\0';
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        zkl_session *s = Stale_session;
        const zkl_err err = zkl_session_open(&s, hosts, &bad[i]);

        if (err != ZKL_INVALID)
            test_note("entry %zu", i);
        CHECK_INT(err, ZKL_INVALID);
        CHECK(s == NULL);
        if (err == ZKL_OK)
            session_close(s);
    }
    check_session_refused(hosts, &OPTIONS(.tls = "cert"), ZKL_UNSUPPORTED);
}

static void bad_lock_names_are_refused(void) {
    static const char *const bad[] = {
        NULL,
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/.",
        "a/../b",
        "./a",
        "a\nb",
        "a\tb",
        "\x01",
        "a\x7f",
        "x-0123456789abcdef-0000000001",
        "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-lock-0000000001",
        "a/0123456789abcdef0123456789abcdef__lock__0000000001/b",
        "lock-0000000001",
    };
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    char longest[257];
    zkl_lock *l = Stale_lock;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        l = Stale_lock;
        zkl_err err = zkl_lock_open(&l, s, bad[i], NULL);

        if (err != ZKL_INVALID)
            test_note("name \"%s\"", bad[i] ? bad[i] : "(null)");
        CHECK_INT(err, ZKL_INVALID);
        CHECK(l == NULL);
        if (err == ZKL_OK)
            lock_close(l);
    }
    memset(longest, 'n', sizeof(longest) - 1);
    longest[256] = '\0';
    l = Stale_lock;
    CHECK_INT(zkl_lock_open(&l, s, longest, NULL), ZKL_INVALID);
    CHECK(l == NULL);
    CHECK_INT(zkl_lock_open(NULL, s, "name", NULL), ZKL_INVALID);
    CHECK_INT(zkl_lock_open(&l, NULL, "name", NULL), ZKL_INVALID);
    longest[255] = '\0';
    CHECK_INT(zkl_lock_open(&l, s, longest, NULL), ZKL_OK);
    lock_close(l);
    session_close(s);
}

static void bad_lock_options_are_refused(void) {
    static const struct {
        zkl_lock_options options;
        zkl_err err;
    } bad[] = {
        {{.size = 0}, ZKL_INVALID},
        {{.size = 3}, ZKL_INVALID},
        {{.size = SIZE_MAX}, ZKL_INVALID},
        {{.size = sizeof(zkl_lock_options), .kind = (zkl_kind)99}, ZKL_INVALID},
        {{.size = sizeof(zkl_lock_options), .kind = ZKL_SEMAPHORE, .permits = -1}, ZKL_INVALID},
        {{.size = sizeof(zkl_lock_options), .permits = 1}, ZKL_INVALID},
        {{.size = sizeof(zkl_lock_options), .linger_ms = -1}, ZKL_INVALID},
        {{.size = sizeof(zkl_lock_options), .local_handoffs = -1}, ZKL_INVALID},
    };
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        zkl_lock *l = Stale_lock;
        const zkl_err err = zkl_lock_open(&l, s, "options", &bad[i].options);

        if (err != bad[i].err)
            test_note("entry %zu", i);
        CHECK_INT(err, bad[i].err);
        CHECK(l == NULL);
    }
    session_close(s);
}

static void bad_arguments_of_the_other_calls_are_refused(void) {
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    zkl_lock *l = lock_open(s, fresh_name("calls"), NULL);
    zkl_queue *queue = Stale_queue;
    char path[16];

    CHECK_INT(zkl_acquire(NULL, 0), ZKL_INVALID);
    CHECK_INT(zkl_acquire(l, -2), ZKL_INVALID);
    CHECK_INT(zkl_acquire(l, INT64_MIN), ZKL_INVALID);
    CHECK_INT(zkl_release(NULL), ZKL_INVALID);
    CHECK_INT(zkl_release_wait(NULL, 0), ZKL_INVALID);
    CHECK_INT(zkl_downgrade(NULL), ZKL_INVALID);
    CHECK_INT(zkl_set_permits(NULL, 1), ZKL_INVALID);
    CHECK_INT(zkl_set_permits(l, 0), ZKL_INVALID);
    CHECK_INT(zkl_set_permits(l, INT_MIN), ZKL_INVALID);
    CHECK_INT(zkl_set_permits(l, 1), ZKL_UNSUPPORTED);
    CHECK_INT(zkl_cancel(NULL), ZKL_INVALID);
    CHECK_INT(zkl_release_hold(NULL, 1), ZKL_INVALID);
    CHECK(!zkl_held(NULL));
    CHECK(!zkl_hold_valid(NULL, 1));
    CHECK(zkl_hold_of(NULL) == 0);
    CHECK_INT(zkl_token(NULL), 0);
    CHECK_INT(zkl_remaining_ms(NULL), 0);
    CHECK_INT(zkl_node_path(NULL, path, sizeof(path)), ZKL_INVALID);
    CHECK_INT(zkl_session_id(NULL), 0);
    CHECK_INT(zkl_session_timeout_ms(NULL), 0);
    (void)zkl_session_state(NULL); /* whatever it says, it returns */
    CHECK_INT(zkl_session_set_hosts(NULL, "localhost:2181"), ZKL_INVALID);
    CHECK_INT(zkl_session_set_hosts(s, "localhost:"), ZKL_INVALID);
    CHECK_INT(zkl_inspect(NULL, "x", &queue), ZKL_INVALID);
    CHECK(queue == NULL);
    queue = Stale_queue;
    CHECK_INT(zkl_inspect(s, NULL, &queue), ZKL_INVALID);
    CHECK(queue == NULL);
    queue = Stale_queue;
    CHECK_INT(zkl_inspect(s, "a//b", &queue), ZKL_INVALID);
    CHECK(queue == NULL);
    CHECK_INT(zkl_inspect(s, "x", NULL), ZKL_INVALID);
    CHECK_INT(zkl_list(s, NULL, NULL, NULL), ZKL_INVALID);
    CHECK(zkl_session_state(s) == ZKL_STATE_CONNECTED);
    CHECK_INT(zkl_acquire(l, 0), ZKL_OK); /* none of it did any harm */
    CHECK_INT(zkl_release_wait(l, SOON_MS), ZKL_OK);
    lock_close(l);
    session_close(s);
}

/* All of the above once more, looked at from outside. */
static void refusals_leave_nothing_behind(void) {
    static void (*const all[])(void) = {bad_hosts_are_refused, bad_session_options_are_refused,
                                        bad_lock_names_are_refused, bad_lock_options_are_refused};

    REQUIRE_INT(raw_make_path(fixture_raw(), fixture_root()), RAW_OK);
    size_t threads = process_threads();
    size_t descriptors = process_descriptors();
    size_t children = raw_child_count(fixture_raw(), fixture_root());
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        all[i]();
    CHECK_INT(raw_child_count(fixture_raw(), fixture_root()), children);
    WAIT_UNTIL(process_threads() <= threads, SOON_MS);
    WAIT_UNTIL(process_descriptors() <= descriptors, SOON_MS);
}

/* The time is the caller's, also where each attempt fails at once, and where none ever does. */
static void without_a_server_opening_ends_at_its_timeout(void) {
    zkl_session *s = Stale_session;
    const size_t threads = process_threads();
    int64_t began = clock_ms();

    CHECK_INT(
        zkl_session_open(&s, server_nowhere(), &ZKL_SESSION_OPTIONS(.connect_timeout_ms = 700)),
        ZKL_UNREACHABLE);
    CHECK_RANGE(clock_ms() - began, 699, 1700);
    CHECK(s == NULL);
    s = Stale_session;
    began = clock_ms();
    CHECK_INT(zkl_session_open(&s, NO_SUCH_HOST, &ZKL_SESSION_OPTIONS(.connect_timeout_ms = 700)),
              ZKL_UNREACHABLE);
    CHECK_RANGE(clock_ms() - began, 0, 2700);
    CHECK(s == NULL);
    WAIT_UNTIL(process_threads() <= threads, SOON_MS);
}

static const test_case Cases[] = {
    {"bad hosts are refused", bad_hosts_are_refused},
    {"bad session options are refused", bad_session_options_are_refused},
    {"bad lock names are refused", bad_lock_names_are_refused},
    {"bad lock options are refused", bad_lock_options_are_refused},
    {"bad arguments of the other calls are refused", bad_arguments_of_the_other_calls_are_refused},
    {"refusals leave nothing on the server or in the process", refusals_leave_nothing_behind},
    {"without a server, opening ends at its timeout", without_a_server_opening_ends_at_its_timeout},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "invalid", Cases);
}
