/*
 * The test equipment itself, against a real server and a plain client: a proxy that cut in the
 * wrong place or counted wrongly would make other tests pass for no reason.
 */
#include "support/fixture.h"
#include "support/scratch.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void rules_strike_the_named_request_only(void) {
    proxy *p = proxy_new();
    raw *r = raw_open(proxy_hosts(p), T_NORMAL);
    char path[RAW_PATH_MAX];

    REQUIRE(r != NULL);
    (void)snprintf(path, sizeof(path), "%s-rule", fixture_root());

    /* The server does it, the reply is lost. */
    proxy_rule(p, PROXY_CUT_REPLY, PROXY_CREATE, "-rule", 2, false);
    CHECK_INT(raw_create(r, path, "", 0, RAW_PERSISTENT, NULL), RAW_OK);
    CHECK(!proxy_fired(p));
    (void)strncat(path, "2", sizeof(path) - strlen(path) - 1);
    CHECK_INT(raw_create(r, path, "", 0, RAW_PERSISTENT, NULL), RAW_CONNECTION_LOSS);
    CHECK(proxy_fired(p));
    CHECK(raw_exists(fixture_raw(), path));

    /* The server does not do it. */
    CHECK(!raw_is_over(r));
    proxy_rule(p, PROXY_CUT_REQUEST, PROXY_DELETE, "-rule", 1, false);
    CHECK_INT(raw_delete(r, path), RAW_CONNECTION_LOSS);
    CHECK(proxy_fired(p));
    CHECK(raw_exists(fixture_raw(), path));
    CHECK(!raw_is_over(r));
    CHECK_INT(raw_delete(r, path), RAW_OK);
    CHECK_INT(proxy_count(p, PROXY_DELETE, "-rule2"), 2);
    CHECK_INT(proxy_count(p, PROXY_CREATE, NULL), 2);
    CHECK_INT(proxy_count_tail(p, PROXY_CREATE, "-rule"), 1);
    CHECK_INT(proxy_connects(p), 3);

    path[strlen(path) - 1] = '\0';
    CHECK_INT(raw_delete(r, path), RAW_OK);
    raw_close(r);
    proxy_close(p);
}

static void a_failed_request_is_not_done(void) {
    enum {
        THROTTLED = -127
    };
    proxy *p = proxy_new();
    raw *r = raw_open(proxy_hosts(p), T_NORMAL);
    char path[RAW_PATH_MAX];

    REQUIRE(r != NULL);
    (void)snprintf(path, sizeof(path), "%s-failed", fixture_root());
    proxy_fail(p, PROXY_CREATE, "-failed", 1, THROTTLED);
    CHECK_INT(raw_create(r, path, "data", 4, RAW_PERSISTENT, NULL), THROTTLED);
    CHECK(!raw_exists(fixture_raw(), path));
    CHECK_INT(raw_create(r, path, "data", 4, RAW_PERSISTENT, NULL), RAW_OK);
    proxy_fail(p, PROXY_DELETE, "-failed", 1, THROTTLED);
    CHECK_INT(raw_delete(r, path), THROTTLED);
    CHECK(raw_exists(fixture_raw(), path));
    CHECK_INT(proxy_answered(p, PROXY_DELETE, "-failed"), 1);
    CHECK_INT(raw_delete(r, path), RAW_OK);
    CHECK_INT(proxy_connects(p), 1); /* the client saw nothing odd */
    raw_close(r);
    proxy_close(p);
}

static zkl_err delete_there(void *path) {
    return raw_delete(fixture_raw(), path) == RAW_OK ? ZKL_OK : ZKL_SERVER;
}

static zkl_err look(void *r) {
    return raw_exists(r, "/") ? ZKL_OK : ZKL_SERVER;
}

static void a_held_direction_holds_and_lets_go(void) {
    proxy *p = proxy_new();
    raw *r = raw_open(proxy_hosts(p), T_LONG);
    actor *a = actor_new();

    REQUIRE(r != NULL);
    proxy_hold(p, PROXY_TO_CLIENT, true);
    actor_begin(a, look, r);
    WAIT_UNTIL(proxy_count(p, PROXY_EXISTS, NULL) == 1, SOON_MS);
    CHECK_STAYS(!actor_is_done(a), 100);
    proxy_hold(p, PROXY_TO_CLIENT, false);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);

    proxy_rule(p, PROXY_HOLD_REQUEST, PROXY_EXISTS, NULL, 1, false);
    actor_begin(a, look, r);
    WAIT_UNTIL(proxy_fired(p), SOON_MS);
    CHECK_STAYS(!actor_is_done(a), 100);
    proxy_hold(p, PROXY_TO_SERVER, false);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);

    proxy_delay(p, 100);
    actor_begin(a, look, r);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    CHECK_RANGE(actor_took_ms(a), 200, 2000);
    actor_free(a);
    raw_close(r);
    proxy_close(p);
}

static void a_refusing_proxy_lets_nobody_in(void) {
    proxy *p = proxy_new();
    raw *r = raw_open(proxy_hosts(p), T_LONG);

    REQUIRE(r != NULL);
    CHECK_INT(proxy_links(p), 1);
    proxy_refuse(p, true);
    proxy_drop(p);
    WAIT_UNTIL(proxy_connects(p) >= 2, SOON_MS);
    CHECK_INT(proxy_links(p), 0);
    proxy_refuse(p, false);
    WAIT_UNTIL(proxy_links(p) == 1, SOON_MS);
    CHECK(!raw_is_over(r));
    raw_close(r);
    proxy_close(p);
}

static void a_session_can_be_expired_and_loses_its_nodes(void) {
    const char *path = lock_dir("expired");
    events *e = events_new();

    CHECK_INT(raw_make_path(fixture_raw(), fixture_root()), RAW_OK);
    zkl_session *s = session_open(server_hosts(), T_LONG, e);
    int64_t id = zkl_session_id(s);
    session_expire(s);
    WAIT_UNTIL(zkl_session_id(s) != id && zkl_session_state(s) == ZKL_STATE_CONNECTED, SOON_MS);
    session_close(s);
    events_free(e);
    CHECK(!raw_exists(fixture_raw(), path));
}

static void the_server_freezes_dies_and_revives(void) {
    char answer[4096];
    const char *path = lock_dir("survivor");
    actor *a = actor_new();

    if (!server_is_ours()) {
        test_skip("not our server");
        actor_free(a);
        return;
    }
    CHECK_INT(raw_make_path(fixture_raw(), fixture_root()), RAW_OK);
    CHECK_INT(raw_create(fixture_raw(), path, "", 0, RAW_PERSISTENT, NULL), RAW_OK);
    CHECK(server_word("ruok", answer, sizeof(answer)) && strcmp(answer, "imok") == 0);
    int64_t received = server_number("srvr", "Received");
    CHECK(received > 0);
    CHECK(raw_exists(fixture_raw(), path));
    CHECK_RANGE(server_number("srvr", "Received") - received, 1, 10);
    CHECK_INT(server_number("wchs", "Total watches"), 0);
    CHECK_INT(server_number("mntr", "no such key"), -1);

    server_freeze();
    actor_begin(a, delete_there, (void *)path);
    CHECK_STAYS(!actor_is_done(a), 200);
    server_thaw();
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);

    CHECK_INT(raw_create(fixture_raw(), path, "", 0, RAW_PERSISTENT, NULL), RAW_OK);
    server_kill();
    CHECK(!server_word("ruok", answer, sizeof(answer)));
    server_revive();
    CHECK(raw_exists(fixture_raw(), path));
    actor_free(a);
}

static pthread_mutex_t Mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t Permit;

/* For the mutex, and then for the permit. */
static zkl_err sleep_twice(void *arg) {
    (void)arg;
    (void)pthread_mutex_lock(&Mutex);
    (void)pthread_mutex_unlock(&Mutex);
    return sem_wait(&Permit) == 0 ? ZKL_OK : ZKL_SERVER;
}

/* A call that waits for the session's mutex has done nothing yet: what a test does then would come
 * before it. */
static void a_thread_that_sleeps_for_a_mutex_is_not_blocked(void) {
    actor *a = actor_new();

    REQUIRE(sem_init(&Permit, 0, 0) == 0);
    (void)pthread_mutex_lock(&Mutex);
    actor_begin(a, sleep_twice, NULL);
    WAIT_UNTIL(actor_sleeps(a), SOON_MS);
    CHECK_STAYS(!actor_is_blocked(a), 20);
    (void)pthread_mutex_unlock(&Mutex);
    WAIT_UNTIL(actor_is_blocked(a), SOON_MS);
    CHECK(!actor_is_done(a));
    CHECK(sem_post(&Permit) == 0);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    CHECK(actor_is_blocked(a));
    actor_free(a);
    (void)sem_destroy(&Permit);
}

/* Ends itself by the signal, when it has told of its directory. */
static void end_with_a_directory(int pipe_end, int signal_number) {
    const char *path = scratch_path("file");

    scratch_write(path, "text", 4);
    (void)!write(pipe_end, scratch_directory(), strlen(scratch_directory()));
    (void)signal(signal_number, SIG_DFL); /* a sanitizer would say something, and exit */
    (void)kill(getpid(), signal_number);
    _exit(0);
}

static void a_program_that_a_signal_ends_leaves_no_directory(void) {
    static const int signals[] = {SIGTERM, SIGINT, SIGSEGV, SIGKILL};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        char directory[300] = "";
        int ends[2], status = 0;

        REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
        pid_t pid = fork();
        if (pid == 0)
            end_with_a_directory(ends[1], signals[i]);
        (void)close(ends[1]);
        CHECK(read(ends[0], directory, sizeof(directory) - 1) > 0);
        (void)close(ends[0]);
        CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        CHECK_INT(WTERMSIG(status), signals[i]);
        WAIT_UNTIL(access(directory, F_OK) != 0, SOON_MS);
    }
}

static void a_script_that_is_killed_leaves_no_directory(void) {
    char directory[300] = "";

    CHECK_INT(setenv("ZKLOCK_SOURCE_DIR", ZKLOCK_SOURCE_DIR, 1), 0);
    CHECK_INT(setenv("ZKLOCK_BUILD_DIR", ZKLOCK_BUILD_DIR, 1), 0);
    FILE *script = popen("exec bash -c '. \"$ZKLOCK_SOURCE_DIR/tests/cli/common.sh\"\n"
                         "echo \"$Work\"; touch \"$Work/file\"; kill -KILL $$'",
                         "re");
    REQUIRE(script != NULL);
    CHECK(fgets(directory, sizeof(directory), script) != NULL);
    CHECK(pclose(script) != 0);
    directory[strcspn(directory, "\n")] = '\0';
    CHECK(strlen(directory) > 0);
    WAIT_UNTIL(access(directory, F_OK) != 0, SOON_MS);
}

static const test_case Cases[] = {
    {"a proxy's rule strikes the named request and no other", rules_strike_the_named_request_only},
    {"a request that the proxy fails is not done", a_failed_request_is_not_done},
    {"a held direction holds traffic and lets it go in order", a_held_direction_holds_and_lets_go},
    {"a refusing proxy lets nobody in until it stops refusing", a_refusing_proxy_lets_nobody_in},
    {"a session can be expired with its own credentials",
     a_session_can_be_expired_and_loses_its_nodes},
    {"a thread that sleeps for a mutex is not blocked",
     a_thread_that_sleeps_for_a_mutex_is_not_blocked},
    {"a program that a signal ends leaves no directory",
     a_program_that_a_signal_ends_leaves_no_directory},
    {"a script that is killed leaves no directory", a_script_that_is_killed_leaves_no_directory},
    {"the server can be frozen, killed and revived with its data",
     the_server_freezes_dies_and_revives},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "support", Cases);
}
