/*
 * Sessions over a client library that does as it is told: what a server, which means well, cannot
 * be made to do.
 */
#include "unit/fake_zoo.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine_internal.h"
#include "lock/lock.h"
#include "session/session_internal.h"
#include "support/actor.h"
#include "zk/hosts.h"
#include "zklock_zookeeper.h"

/* ---- Opening ---- */

static void a_list_of_servers_has_one_form(void) {
    static const struct {
        const char *hosts;
        bool is_valid;
    } lists[] = {
        {"h:1", true},          {"h:65535,[::1]:2181", true},
        {"h:1,i:2/a/b", true},  {"", false},
        {"h", false},           {"h:", false},
        {":1", false},          {"h:0", false},
        {"h:65536", false},     {"h:123456", false},
        {"h:1a", false},        {"h:-1", false},
        {"h :1", false},        {"h\x7f:1", false},
        {"h\xc3\xa4:1", false}, {"h:1,", false},
        {",h:1", false},        {"h:1//a", false},
        {"h:1/", true},         {"h:1/a/", false},
        {"h:1/../a", false},
    };
    char longest[9000];
    for (size_t i = 0; i < COUNT(lists); i++)
        if (zkli_hosts_are_valid(lists[i].hosts) != lists[i].is_valid) {
            test_note("%s", lists[i].hosts);
            CHECK(false);
        }
    size_t length = 0;
    while (length + 4 < sizeof(longest))
        length += (size_t)snprintf(longest + length, sizeof(longest) - length, "h:1,");
    longest[length - 1] = '\0';
    CHECK(!zkli_hosts_are_valid(longest));
    longest[8191] = '\0';
    CHECK(zkli_hosts_are_valid(longest));
}

static void a_chroot_has_at_most_255_bytes(void) {
    char hosts[] = "h:1/", longest[sizeof(hosts) + 256];
    zkl_session *s = NULL;
    fake_reset();
    memset(longest, 'c', sizeof(longest));
    memcpy(longest, hosts, strlen(hosts));
    longest[3 + 256] = '\0';
    s = STALE(zkl_session);
    CHECK_INT(zkl_session_open(&s, longest, NULL), ZKL_INVALID);
    CHECK(s == NULL);
    longest[3 + 255] = '\0';
    REQUIRE_INT(zkl_session_open(&s, longest, NULL), ZKL_OK);
    CHECK_INT(s->engine->chroot_length, 255);
    CHECK_INT(zkl_session_set_hosts(s, "i:2/c"), ZKL_OK);
    CHECK_INT(s->engine->chroot_length, 255); /* the first one stays */
    CHECK_INT(zkl_session_close(s), ZKL_OK);
}

static void options_that_make_no_sense_are_refused(void) {
    static const struct {
        zkl_session_options options;
        zkl_err err;
    } cases[] = {
        {{.size = 1}, ZKL_INVALID},
        {{.session_timeout_ms = 99}, ZKL_INVALID},
        {{.session_timeout_ms = 3600001}, ZKL_INVALID},
        {{.connect_timeout_ms = -1}, ZKL_INVALID},
        {{.connect_timeout_ms = 3600001}, ZKL_INVALID},
        {{.root = "locks"}, ZKL_INVALID},
        {{.auth_scheme = "digest"}, ZKL_INVALID},
        {{.auth = "u:p"}, ZKL_INVALID},
        {{.auth_scheme = "", .auth = "u:p"}, ZKL_INVALID},
        {{.acl = ZKL_ACL_CREATOR}, ZKL_INVALID},
        {{.acl = (zkl_acl)7, .auth_scheme = "digest", .auth = "u:p"}, ZKL_INVALID},
        {{.tls = "cert"}, ZKL_UNSUPPORTED},
        {{.reserved = {1}}, ZKL_INVALID},
        {{.reserved = {0, 0, 0, 0, 0, 0, 1}}, ZKL_INVALID},
    };
    fake_reset();
    for (size_t i = 0; i < COUNT(cases); i++) {
        zkl_session *s = STALE(zkl_session);
        zkl_session_options options = cases[i].options;
        if (options.size == 0)
            options.size = sizeof(options);
        CHECK_INT(zkl_session_open(&s, HOSTS, &options), cases[i].err);
        CHECK(s == NULL);
    }
    CHECK_INT(zkl_session_open(NULL, HOSTS, NULL), ZKL_INVALID);
    CHECK_INT(fake_inits(), 0);
}

/* A program that was compiled with another release of the header. */
static void options_may_be_shorter_and_longer(void) {
    struct {
        zkl_session_options known;
        int64_t unknown;
    } later = {.known = {.size = sizeof(later), .session_timeout_ms = 5000}};
    zkl_session_options earlier = {.size = offsetof(zkl_session_options, root),
                                   .session_timeout_ms = 5000,
                                   .root = "not read",
                                   .tls = "not read"};
    zkl_session *s = NULL;
    fake_reset();
    REQUIRE_INT(zkl_session_open(&s, HOSTS, &earlier), ZKL_OK);
    CHECK_INT(s->session_timeout_ms, 5000);
    CHECK_STRING(s->root, "/locks");
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    REQUIRE_INT(zkl_session_open(&s, HOSTS, &later.known), ZKL_OK);
    CHECK_INT(s->session_timeout_ms, 5000);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    later.unknown = 1;
    CHECK_INT(zkl_session_open(&s, HOSTS, &later.known), ZKL_INVALID);
    CHECK(s == NULL);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
}

/* What the process lacks is said at once; what the servers lack may come. */
static void a_client_that_cannot_start_is_out_of_memory_or_unreachable(void) {
    static const int exhausted[] = {EMFILE, ENFILE, ENOMEM};
    zkl_session *s = NULL;
    for (size_t i = 0; i < COUNT(exhausted); i++) {
        fake_reset();
        fake_fail_init(exhausted[i]);
        s = STALE(zkl_session);
        CHECK_INT(zkl_session_open(&s, HOSTS, NULL), ZKL_NOMEM);
        CHECK(s == NULL);
    }
    fake_reset();
    fake_fail_init(EHOSTUNREACH);
    CHECK_INT(zkl_session_open(&s, HOSTS, &ZKL_SESSION_OPTIONS(.connect_timeout_ms = 50)),
              ZKL_UNREACHABLE);
    CHECK_INT(fake_inits(), 1);
}

static void a_server_that_says_nothing_is_unreachable_and_one_that_says_no_is_believed(void) {
    zkl_session *s = STALE(zkl_session);
    fake_reset();
    Fake.first_state = 0;
    CHECK_INT(zkl_session_open(&s, HOSTS, &ZKL_SESSION_OPTIONS(.connect_timeout_ms = 50)),
              ZKL_UNREACHABLE);
    CHECK(s == NULL);
    fake_reset();
    Fake.first_state = ZOO_AUTH_FAILED_STATE;
    s = STALE(zkl_session);
    CHECK_INT(zkl_session_open(&s, HOSTS, NULL), ZKL_AUTH_FAILED);
    CHECK(s == NULL);
}

/* The client library may have no memory to tell of it. */
static void a_first_connection_of_which_nothing_was_told_is_found(void) {
    zkl_session *s = NULL;
    fake_reset();
    Fake.is_untold = true;
    int64_t before_ns = zkli_monotonic_ns();
    CHECK_INT(zkl_session_open(&s, HOSTS, &ZKL_SESSION_OPTIONS(.connect_timeout_ms = 60000)),
              ZKL_OK);
    CHECK(zkli_monotonic_ns() - before_ns < INT64_C(30000000000)); /* woken, not timed out */
    CHECK_INT(zkl_session_close(s), ZKL_OK);
}

static void without_descriptors_there_is_no_session(void) {
    struct rlimit before;
    zkl_session *s = NULL;
    fake_reset();
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    struct rlimit none = before;
    none.rlim_cur = 3;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    zkl_err err = zkl_session_open(&s, HOSTS, NULL);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK_INT(err, ZKL_NOMEM);
    CHECK_INT(fake_inits(), 0);
}

/* ---- The next session ---- */

static void a_session_that_cannot_be_replaced_at_once_is_replaced_later(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    int64_t id = zkl_session_id(s);
    fake_fail_init(EHOSTUNREACH);
    fake_state(ZOO_EXPIRED_SESSION_STATE);
    CHECK(!zkl_held(l));
    WAIT_UNTIL(fake_inits() == 2, SOON_MS);
    CHECK_INT(zkl_session_state(s), ZKL_STATE_CONNECTING);
    CHECK_INT(zkl_acquire(l, 0), ZKL_UNREACHABLE);
    fake_fail_init(0);
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    CHECK(zkl_session_id(s) != id && zkl_session_id(s) != 0);
    fake_end(s, l);
}

/* Jobs for the helper gather while it closes another: an opening that is not wanted any more is
 * left out, and every client that was begun is closed. */
static void what_is_closed_before_it_was_opened_is_never_opened(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    fake_keep_close(true);
    fake_state(ZOO_EXPIRED_SESSION_STATE); /* opens the second, then the helper hangs in close */
    WAIT_UNTIL(zkl_session_state(s) == ZKL_STATE_CONNECTED, SOON_MS);
    fake_state(ZOO_EXPIRED_SESSION_STATE); /* the third is to be opened when it comes back */
    CHECK_INT(zkl_session_set_hosts(s, "i:2"), ZKL_OK);
    CHECK_INT(fake_inits(), 2);
    CHECK_INT(zkl_session_close(s), ZKL_OK); /* goes on in the background */
    fake_keep_close(false);
    WAIT_UNTIL(fake_closes() == 2, SOON_MS);
    CHECK_INT(fake_inits(), 2);
    CHECK(fake_hosts_are(""));
}

static bool has_no_port(zkl_session *s) {
    zkli_session_lock(s);
    bool has_none = s->engine->port == NULL;
    zkli_session_unlock(s);
    return has_none;
}

static void the_servers_can_be_changed_at_any_time_but_the_end(void) {
    zkl_session *s = fake_session("h:1/chroot", NULL);
    zkl_lock *l = fake_lock(s, "a");
    CHECK_INT(zkl_session_set_hosts(NULL, "i:2"), ZKL_INVALID);
    CHECK_INT(zkl_session_set_hosts(s, NULL), ZKL_INVALID);
    CHECK_INT(zkl_session_set_hosts(s, "i:"), ZKL_INVALID);
    CHECK_INT(zkl_session_set_hosts(s, "i:2/other"), ZKL_OK);
    WAIT_UNTIL(fake_hosts_are("i:2"), SOON_MS);
    CHECK_STRING(s->hosts, "i:2/chroot");
    fake_fail_init(EHOSTUNREACH);
    fake_state(ZOO_EXPIRED_SESSION_STATE);
    WAIT_UNTIL(has_no_port(s), SOON_MS); /* for a while, until the next try */
    CHECK_INT(zkl_session_set_hosts(s, "j:3"), ZKL_OK);
    CHECK_STRING(s->hosts, "j:3/chroot");
    fake_fail_init(0);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK_INT(zkl_session_set_hosts(s, "k:4"), ZKL_CLOSED);
    CHECK_INT(zkl_lock_close(l), ZKL_OK); /* the last reference */
}

static void a_rejected_session_takes_no_servers_and_no_locks(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a");
    fake_state(ZOO_AUTH_FAILED_STATE);
    CHECK_INT(zkl_session_state(s), ZKL_STATE_AUTH_FAILED);
    CHECK_INT(zkl_session_set_hosts(s, "i:2"), ZKL_CLOSED);
    CHECK_INT(zkl_acquire(l, 0), ZKL_AUTH_FAILED);
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_AUTH_FAILED);
    int64_t id = 1;
    char password[16];
    zkli_session_credentials(s, &id, password);
    CHECK_INT(id, 0);
    fake_end(s, l);
}

/* ---- In the child of a fork ---- */

static void on_found(const char *name, size_t contenders, void *arg) {
    (void)name;
    (void)contenders;
    (void)arg;
}

static void in_a_child_every_call_says_forked(void) {
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = fake_lock(s, "a"), *other = STALE(zkl_lock);
    zkl_queue *queue = STALE(zkl_queue);
    uint64_t process = s->process;
    s->process++; /* as it looks there */
    CHECK_INT(zkl_session_state(s), ZKL_STATE_CLOSED);
    CHECK_INT(zkl_session_id(s), 0);
    CHECK_INT(zkl_session_timeout_ms(s), 0);
    CHECK_INT(zkl_session_set_hosts(s, "i:2"), ZKL_FORKED);
    CHECK_INT(zkl_session_close(s), ZKL_FORKED);
    CHECK_INT(zkl_lock_open(&other, s, "b", NULL), ZKL_FORKED);
    CHECK_INT(zkl_acquire(l, 0), ZKL_FORKED);
    CHECK_INT(zkl_release(l), ZKL_FORKED);
    CHECK_INT(zkl_release_wait(l, 0), ZKL_FORKED);
    CHECK_INT(zkl_release_hold(l, 1), ZKL_FORKED);
    CHECK_INT(zkl_cancel(l), ZKL_FORKED);
    CHECK_INT(zkl_lock_close(l), ZKL_FORKED);
    CHECK_INT(zkl_inspect(s, "a", &queue), ZKL_FORKED);
    CHECK(other == NULL && queue == NULL);
    CHECK_INT(zkl_list(s, NULL, on_found, NULL), ZKL_FORKED);
    CHECK(!zkl_held(l));
    CHECK(zkl_lock_name(l) == NULL);
    s->process = process;
    fake_end(s, l);
}

/* Without a thread: one of a closed session's may still be ending, and a child of several can have
 * none under their sanitizer. */
static uint64_t nonce_of_a_session(void) {
    const zkl_session_options options = {.size = sizeof(options)};
    struct zkl_session *s = zkli_session_new(HOSTS, NULL, &options);
    const uint64_t nonce = s == NULL ? 0 : s->engine->who.owner_nonce;
    if (s != NULL) {
        zkli_engine_shut(s->engine);
        zkli_session_free(s);
    }
    return nonce;
}

/* Threads of two processes have the same numbers. */
static void a_process_has_a_nonce_and_its_child_another(void) {
    int status = -1;
    uint64_t nonce = nonce_of_a_session();
    CHECK(nonce != 0);
    CHECK(nonce_of_a_session() == nonce);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(20);
        uint64_t other = nonce_of_a_session();
        _exit(other != 0 && other != nonce && nonce_of_a_session() == other ? 0 : 1);
    }
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    CHECK(nonce_of_a_session() == nonce);
}

static zkl_lock *Wanted;
static atomic_int Came;

static void acquire_there(int code, const struct Stat *stat, const void *data) {
    (void)code;
    (void)stat;
    (void)data;
    atomic_store(&Came, (int)zkl_acquire(Wanted, 1000));
}

/* The thread of a lent handle may not wait in what the program has asked for by it. */
static void a_completion_by_a_lent_handle_may_not_wait(void) {
    for (int holds = 0; holds < 2; holds++) {
        zkl_session *s = fake_session(HOSTS, NULL);
        zkl_lock *l = fake_lock(s, "a");
        Wanted = fake_lock(s, "b");
        atomic_store(&Came, -1);
        if (holds)
            REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
        zhandle_t *zh = zkl_session_zhandle(s);
        REQUIRE(zh != NULL);
        REQUIRE_INT(zoo_aexists(zh, "/x", 0, acquire_there, NULL), ZOK);
        WAIT_UNTIL(atomic_load(&Came) != -1, SOON_MS);
        CHECK_INT(atomic_load(&Came), ZKL_IN_CALLBACK);
        CHECK_INT(zkl_session_zhandle_return(s, zh), ZKL_OK);
        CHECK_INT(zkl_lock_close(Wanted), ZKL_OK);
        fake_end(s, l);
    }
}

static void nothing_and_nobody_are_told_apart_from_something(void) {
    CHECK_INT(zkl_session_state(NULL), ZKL_STATE_CLOSED);
    CHECK_INT(zkl_session_id(NULL), 0);
    CHECK_INT(zkl_session_timeout_ms(NULL), 0);
    CHECK_INT(zkl_session_close(NULL), ZKL_OK);
    CHECK_INT(zkl_lock_close(NULL), ZKL_OK);
    CHECK_INT(zkl_acquire(NULL, 0), ZKL_INVALID);
    CHECK(zkl_lock_name(NULL) == NULL);
    CHECK_INT(zkl_queue_count(NULL), 0);
    CHECK(zkl_queue_at(NULL, 0) == NULL);
    zkl_queue_free(NULL);
}

/* ---- Callbacks ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_inside, may_go;
    const zkl_lock *last;
    size_t of_locks;
} Told = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void stay_inside(const zkl_event *event, void *arg) {
    (void)arg;
    (void)pthread_mutex_lock(&Told.mutex);
    Told.of_locks += event->lock != NULL;
    Told.last = event->lock;
    Told.is_inside = true;
    while (!Told.may_go)
        (void)pthread_cond_wait(&Told.changed, &Told.mutex);
    (void)pthread_mutex_unlock(&Told.mutex);
}

static bool is_inside(void) {
    (void)pthread_mutex_lock(&Told.mutex);
    bool is = Told.is_inside;
    (void)pthread_mutex_unlock(&Told.mutex);
    return is;
}

static size_t told_of_locks(void) {
    (void)pthread_mutex_lock(&Told.mutex);
    size_t count = Told.of_locks;
    (void)pthread_mutex_unlock(&Told.mutex);
    return count;
}

static void let_go(void) {
    (void)pthread_mutex_lock(&Told.mutex);
    Told.may_go = true;
    (void)pthread_cond_broadcast(&Told.changed);
    (void)pthread_mutex_unlock(&Told.mutex);
}

/* One callback is running, and events of two locks wait behind it. */
static void a_closed_lock_s_events_are_dropped_and_no_others(void) {
    zkl_session *s = fake_session(HOSTS, &ZKL_SESSION_OPTIONS(.on_event = stay_inside));
    zkl_lock *one, *two;
    zkl_lock_options options = {.size = sizeof(options), .on_event = stay_inside};
    REQUIRE(zkl_lock_open(&one, s, "a", &options) == ZKL_OK);
    REQUIRE(zkl_lock_open(&two, s, "b", &options) == ZKL_OK);
    fake_state(ZOO_CONNECTING_STATE);
    WAIT_UNTIL(is_inside(), SOON_MS);
    fake_state(ZOO_CONNECTED_STATE);
    CHECK_INT(zkl_acquire(one, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(zkl_acquire(two, ZKL_FOREVER), ZKL_OK);
    CHECK_INT(zkl_lock_close(one), ZKL_OK);
    CHECK_INT(told_of_locks(), 0);
    let_go();
    WAIT_UNTIL(told_of_locks() == 1, SOON_MS);
    CHECK(Told.last == two);
    CHECK_INT(zkl_lock_close(two), ZKL_OK);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
}

static void say_name_late(const zkl_event *event, void *arg) {
    stay_inside(event, NULL);
    const char *name = zkl_lock_name(event->lock);
    (void)snprintf(arg, 8, "%s", name == NULL ? "NULL" : name);
}

static zkl_err close_lock(void *arg) {
    return zkl_lock_close(arg);
}

static bool is_closing(zkl_lock *l) {
    zkli_session_lock(l->session);
    bool is_closed = l->is_closed;
    zkli_session_unlock(l->session);
    return is_closed;
}

static void a_callback_that_close_waits_for_knows_the_lock_s_name(void) {
    char said[8] = "";
    (void)pthread_mutex_lock(&Told.mutex);
    Told.is_inside = Told.may_go = false;
    (void)pthread_mutex_unlock(&Told.mutex);
    zkl_session *s = fake_session(HOSTS, NULL);
    zkl_lock *l = NULL;
    REQUIRE_INT(
        zkl_lock_open(&l, s, "a", &ZKL_LOCK_OPTIONS(.on_event = say_name_late, .arg = said)),
        ZKL_OK);
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    WAIT_UNTIL(is_inside(), SOON_MS);
    actor *a = actor_new();
    actor_begin(a, close_lock, l);
    WAIT_UNTIL(actor_is_blocked(a), SOON_MS);
    CHECK(is_closing(l));
    let_go();
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    CHECK_STRING(said, "a");
    actor_free(a);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a list of servers has one form", a_list_of_servers_has_one_form},
        {"a chroot has at most 255 bytes", a_chroot_has_at_most_255_bytes},
        {"options that make no sense are refused", options_that_make_no_sense_are_refused},
        {"options may be shorter and longer", options_may_be_shorter_and_longer},
        {"a client that cannot start is out of memory, or unreachable",
         a_client_that_cannot_start_is_out_of_memory_or_unreachable},
        {"a server that says nothing is unreachable, and one that says no is believed",
         a_server_that_says_nothing_is_unreachable_and_one_that_says_no_is_believed},
        {"a first connection of which nothing was told is found",
         a_first_connection_of_which_nothing_was_told_is_found},
        {"without descriptors there is no session", without_descriptors_there_is_no_session},
        {"a session that cannot be replaced at once is replaced later",
         a_session_that_cannot_be_replaced_at_once_is_replaced_later},
        {"what is closed before it was opened is never opened",
         what_is_closed_before_it_was_opened_is_never_opened},
        {"the servers can be changed at any time but the end",
         the_servers_can_be_changed_at_any_time_but_the_end},
        {"a rejected session takes no servers and no locks",
         a_rejected_session_takes_no_servers_and_no_locks},
        {"in a child every call says forked", in_a_child_every_call_says_forked},
        {"a process has a nonce, and its child another",
         a_process_has_a_nonce_and_its_child_another},
        {"a completion by a lent handle may not wait", a_completion_by_a_lent_handle_may_not_wait},
        {"nothing and nobody are told apart from something",
         nothing_and_nobody_are_told_apart_from_something},
        {"a closed lock's events are dropped, and no others",
         a_closed_lock_s_events_are_dropped_and_no_others},
        {"a callback that close waits for knows the lock's name",
         a_callback_that_close_waits_for_knows_the_lock_s_name},
    };
    return TEST_MAIN(argc, argv, "session", cases);
}
