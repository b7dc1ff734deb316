/* What the library does to the process it lives in: threads, descriptors, signals, output, fork. */
#include "support/client.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- fork (T46) ---- */

/* In the child. The number of the first call that did not answer as it should; 0: none. */
static int call_everything(zkl_session *s, zkl_lock *l, zkl_hold hold) {
    char path[1024];
    zkl_queue *queue = NULL;
    zkl_lock *fresh = NULL;
    int n = 0;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        n++;                                                                                       \
        if (!(condition))                                                                          \
            return n;                                                                              \
    } while (0)
    EXPECT(zkl_acquire(l, 0) == ZKL_FORKED);
    EXPECT(zkl_acquire(l, ZKL_FOREVER) == ZKL_FORKED);
    EXPECT(zkl_release(l) == ZKL_FORKED);
    EXPECT(zkl_release_wait(l, ZKL_FOREVER) == ZKL_FORKED);
    EXPECT(zkl_downgrade(l) == ZKL_FORKED);
    EXPECT(zkl_set_permits(l, 1) == ZKL_FORKED);
    EXPECT(zkl_release_hold(l, hold) == ZKL_FORKED);
    EXPECT(zkl_cancel(l) == ZKL_FORKED);
    EXPECT(!zkl_held(l));
    EXPECT(!zkl_hold_valid(l, hold));
    EXPECT(zkl_lock_name(l) == NULL);
    EXPECT(zkl_remaining_ms(l) == 0);
    EXPECT(zkl_node_path(l, path, sizeof(path)) == ZKL_FORKED);
    EXPECT(zkl_inspect(s, "x", &queue) == ZKL_FORKED);
    EXPECT(zkl_lock_open(&fresh, s, "x", NULL) == ZKL_FORKED);
    EXPECT(zkl_session_set_hosts(s, "127.0.0.1:1") == ZKL_FORKED);
    EXPECT(zkl_lock_close(l) == ZKL_FORKED);
    EXPECT(zkl_session_close(s) == ZKL_FORKED);
#undef EXPECT
    return 0;
}

static void a_forked_child_has_nothing(void) {
    client *c = client_open(fresh_name("fork"), T_NORMAL);
    int status = -1;

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    zkl_hold hold = actor_hold(c->actor, c->lock);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(20); /* a hang ends the child */
        _exit(call_everything(c->session, c->lock, hold));
    }
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    /* The parent has what it had. */
    CHECK(client_held(c) && zkl_hold_valid(c->lock, hold));
    CHECK_STAYS(zkl_hold_valid(c->lock, hold), 500);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    client_close(c);
}

/* ---- threads and descriptors (T6) ---- */

static void a_session_has_four_lasting_threads(void) {
    enum {
        LOCKS = 50
    };
    const size_t before = process_threads();
    client *all[LOCKS], *c = client_open_proxied(fresh_name("four"), T_NORMAL);
    const size_t helpers = 2; /* the client's actor and the proxy are ours */

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_HELD) == 1, SOON_MS);
    for (size_t i = 0; i < LOCKS; i++) {
        all[i] = client_open_on(c, fresh_name("four"));
        REQUIRE_INT(client_acquire(all[i], SOON_MS), ZKL_OK);
    }
    client_flap(c);
    session_expire(c->session);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    WAIT_UNTIL(process_threads() <= before + 4 + helpers + LOCKS, SOON_MS);
    size_t most = process_threads() - before - helpers - LOCKS;
    test_note("%zu threads a session", most);
    for (size_t i = 0; i < LOCKS; i++)
        client_close(all[i]);
    client_close(c);
    WAIT_UNTIL(process_threads() <= before, SOON_MS);
}

/* T6 */
static void closing_gives_everything_back(void) {
    (void)fixture_raw();
    size_t threads = process_threads();
    size_t descriptors = process_descriptors();
    for (int i = 0; i < 10; i++) {
        client *c = client_open_proxied(fresh_name("given-back"), T_NORMAL);

        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        if (i % 3 == 1)
            client_flap(c);
        if (i % 3 == 2) {
            session_expire(c->session);
            WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
            CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        }
        client_close(c);
        WAIT_UNTIL(process_threads() <= threads, SOON_MS);
        WAIT_UNTIL(process_descriptors() <= descriptors, SOON_MS);
    }
}

/* ---- output ---- */

struct capture {
    int saved[2];
    char path[64];
};

static void capture_begin(struct capture *c) {
    (void)fflush(NULL);
    (void)snprintf(c->path, sizeof(c->path), "/tmp/zklock-output-XXXXXX");
    int fd = mkstemp(c->path);
    REQUIRE(fd >= 0);
    for (int i = 0; i < 2; i++) {
        c->saved[i] = fcntl(i + 1, F_DUPFD_CLOEXEC, 3);
        (void)dup2(fd, i + 1);
    }
    (void)close(fd);
}

/* How many bytes were written meanwhile; prints them. */
static size_t capture_end(struct capture *c) {
    char text[2000] = "";
    size_t size = 0;

    (void)fflush(NULL);
    for (int i = 0; i < 2; i++) {
        (void)dup2(c->saved[i], i + 1);
        (void)close(c->saved[i]);
    }
    FILE *file = fopen(c->path, "re");
    if (file) {
        size = fread(text, 1, sizeof(text) - 1, file);
        (void)fclose(file);
    }
    (void)unlink(c->path);
    if (size > 0)
        test_note("output: %s", text);
    return size;
}

/* A session through everything that makes the client library talk. */
static void live_through_much(const char *name) {
    client *c = client_open_proxied(name, T_NORMAL);
    zkl_session *none = NULL;

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_flap(c);
    client_outage_begin(c);
    client_outage_end(c);
    session_expire(c->session);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(c);
    CHECK_INT(
        zkl_session_open(&none, server_nowhere(), &ZKL_SESSION_OPTIONS(.connect_timeout_ms = 300)),
        ZKL_UNREACHABLE);
    CHECK_INT(
        zkl_session_open(&none, NO_SUCH_HOST, &ZKL_SESSION_OPTIONS(.connect_timeout_ms = 300)),
        ZKL_UNREACHABLE);
    CHECK_INT(zkl_session_open(&none, server_hosts(),
                               &ZKL_SESSION_OPTIONS(.auth_scheme = "none-such", .auth = "x")),
              ZKL_AUTH_FAILED);
}

static void nothing_is_written_to_standard_streams(void) {
    events *e = events_new();
    struct capture capture;

    (void)fixture_raw();
    capture_begin(&capture);
    live_through_much(fresh_name("quiet"));
    CHECK_INT(capture_end(&capture), 0);
    /* What the client library has to say comes to the log. */
    zkl_session *s = session_open(server_hosts(), T_NORMAL, e);
    CHECK(events_log_lines(e) > 0);
    session_close(s);
    events_free(e);
}

/* ---- signals ---- */

/* T46: a write to a closed connection raises SIGPIPE; it would end this program. */
static void broken_connections_raise_no_sigpipe(void) {
    struct sigaction action;

    REQUIRE(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    client *c = client_open_proxied(fresh_name("sigpipe"), T_NORMAL);
    for (int i = 0; i < 30; i++) {
        client_begin(c, SOON_MS);
        client_flap(c);
        CHECK_INT(client_result(c), ZKL_OK);
        CHECK_INT(client_release(c), ZKL_OK);
    }
    CHECK(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    client_close(c);
}

static void no_signal_handler_is_installed(void) {
    enum {
        SIGNALS = 65
    };
    struct sigaction before[SIGNALS], after;

    for (int i = 1; i < SIGNALS; i++)
        if (sigaction(i, NULL, &before[i]) != 0)
            before[i].sa_handler = SIG_IGN;
    client *c = client_open_proxied(fresh_name("handlers"), T_NORMAL);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_flap(c);
    for (int i = 1; i < SIGNALS; i++)
        CHECK(sigaction(i, NULL, &after) != 0 || after.sa_handler == before[i].sa_handler);
    client_close(c);
}

static atomic_int Interrupts;

static void on_signal(int signal_) {
    (void)signal_;
    atomic_fetch_add(&Interrupts, 1);
}

struct sleeper {
    zkl_lock *lock;
    _Atomic pthread_t thread;
    atomic_bool is_there;
};

static zkl_err wait_interrupted(void *arg) {
    struct sleeper *s = arg;

    atomic_store(&s->thread, pthread_self());
    atomic_store(&s->is_there, true);
    return zkl_acquire(s->lock, 1000);
}

/* EINTR: a wait is neither ended nor made longer by signals. */
static void signals_do_not_disturb_a_wait(void) {
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction old;
    const char *name = fresh_name("interrupted");
    client *holder = client_open(name, T_LONG), *c = client_open(name, T_LONG);
    struct sleeper sleeper = {.lock = c->lock};

    REQUIRE(sigaction(SIGUSR1, &action, &old) == 0);
    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    actor_begin(c->actor, wait_interrupted, &sleeper);
    WAIT_UNTIL(atomic_load(&sleeper.is_there), SOON_MS);
    while (!client_is_done(c)) {
        (void)pthread_kill(atomic_load(&sleeper.thread), SIGUSR1);
        wait_pause();
    }
    CHECK_INT(client_result(c), ZKL_TIMEOUT);
    CHECK_RANGE(actor_took_ms(c->actor), 999, 1500);
    CHECK(atomic_load(&Interrupts) > 50);
    CHECK(sigaction(SIGUSR1, &old, NULL) == 0);
    client_close(c);
    client_close(holder);
}

static const test_case Cases[] = {
    {"a forked child has nothing, and takes nothing from its parent (T46)",
     a_forked_child_has_nothing},
    {"a session has at most four lasting threads, whatever it goes through",
     a_session_has_four_lasting_threads},
    {"closing gives threads and descriptors back (T6)", closing_gives_everything_back},
    {"nothing is written to standard streams", nothing_is_written_to_standard_streams},
    {"broken connections raise no SIGPIPE (T46)", broken_connections_raise_no_sigpipe},
    {"no signal handler is installed", no_signal_handler_is_installed},
    {"signals neither end nor lengthen a wait", signals_do_not_disturb_a_wait},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "process", Cases);
}
