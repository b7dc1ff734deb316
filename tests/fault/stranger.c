/* See stranger.h. */
#include "stranger.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK "--stranger"
#define ANSWER_MS 30000
#define LOOK_MS 2
#define LINGER_MS 600000

/* ---- the other process ---- */

static zkl_session *Session;
static zkl_lock *Lock;
static const char *Name;
static int TimeoutMs;
static resource Resource;

static void say_acquired(void) {
    const zkl_err err = zkl_acquire(Lock, ANSWER_MS / 2);

    printf("%s %lld\n", zkl_errname(err), (long long)zkl_token(Lock));
}

/* A stop shows as time that is missing since the last call. */
static bool was_stopped(int64_t *last_ms) {
    const int64_t now_ms = clock_ms(), missing_ms = now_ms - *last_ms;

    *last_ms = now_ms;
    return missing_ms > TimeoutMs + TimeoutMs / 2;
}

static void write_late(bool held, int64_t token) {
    zkl_fence *fence = NULL;
    zkl_err at_fence = zkl_fence_open(&fence, Resource.fence, NULL), at_guard;

    if (at_fence == ZKL_OK)
        at_fence = zkl_fence_check(fence, Name, token);
    (void)zkl_fence_close(fence); /* NULL is accepted */
    at_guard = zkl_guarded_set(Lock, Resource.node, "late", 4, -1);
    printf("first %d %lld, fence %s, guard %s\n", held, (long long)token, zkl_errname(at_fence),
           zkl_errname(at_guard));
}

/* If the stop came in the middle of a look, that one had begun before: the first is the next. */
static void watch(void) {
    const int64_t token = zkl_token(Lock);
    int64_t last_ms = clock_ms();

    printf("watching\n");
    while (!was_stopped(&last_ms)) {
        (void)zkl_held(Lock);
        if (was_stopped(&last_ms))
            break;
        (void)poll(NULL, 0, LOOK_MS);
    }
    write_late(zkl_held(Lock), token);
}

static void idle(void) {
    int64_t last_ms = clock_ms();

    (void)zkl_lock_close(Lock);
    if (zkl_lock_open(&Lock, Session, Name, &ZKL_LOCK_OPTIONS(.linger_ms = LINGER_MS)) != ZKL_OK ||
        zkl_acquire(Lock, ANSWER_MS / 2) != ZKL_OK)
        exit(EXIT_FAILURE);
    const int64_t token = zkl_token(Lock);
    (void)zkl_release(Lock); /* OK or LOST: then it is not idle */
    printf("idle %lld\n", (long long)token);
    while (!was_stopped(&last_ms))
        (void)poll(NULL, 0, LOOK_MS);
    printf("%s\n", zkl_errname(zkl_acquire(Lock, 0)));
}

static void churn(void) {
    for (size_t i = 1; zkl_acquire(Lock, ANSWER_MS) == ZKL_OK; i++) {
        (void)zkl_release(Lock); /* OK or LOST: it is killed somewhere in here */
        if (i == 10)
            printf("churning\n");
    }
}

static void obey(const char *word) {
    if (strcmp(word, "acquire\n") == 0)
        say_acquired();
    else if (strcmp(word, "release\n") == 0)
        printf("%s\n", zkl_errname(zkl_release(Lock)));
    else if (strcmp(word, "watch\n") == 0)
        watch();
    else if (strcmp(word, "idle\n") == 0)
        idle();
    else if (strcmp(word, "churn\n") == 0)
        churn();
}

void stranger_main(int argc, char **argv) {
    char word[64];

    if (argc != 8 || strcmp(argv[1], MARK) != 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* else a stopped one would stay */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    Name = argv[4];
    TimeoutMs = (int)strtol(argv[5], NULL, 10);
    Resource = (resource){argv[6], argv[7]};
    if (zkl_session_open(&Session, argv[2],
                         &ZKL_SESSION_OPTIONS(.root = argv[3], .session_timeout_ms = TimeoutMs,
                                              .connect_timeout_ms = ANSWER_MS)) != ZKL_OK ||
        zkl_lock_open(&Lock, Session, Name, NULL) != ZKL_OK)
        exit(EXIT_FAILURE);
    printf("ready\n");
    while (fgets(word, sizeof(word), stdin))
        obey(word);
    (void)zkl_lock_close(Lock);
    (void)zkl_session_close(Session);
    exit(EXIT_SUCCESS);
}

/* ---- ours ---- */

void stranger_start(stranger *s, const char *name, int timeout_ms, const resource *r) {
    posix_spawn_file_actions_t actions;
    char timeout[16], line[STRANGER_LINE_MAX];
    char *const argv[] = {"stranger", MARK,    (char *)server_hosts(), (char *)fixture_root(),
                          s->name,    timeout, (char *)r->fence,       (char *)r->node,
                          NULL};
    int to[2], from[2];

    *s = (stranger){0};
    (void)snprintf(s->name, sizeof(s->name), "%s", name);
    (void)snprintf(timeout, sizeof(timeout), "%d", timeout_ms);
    REQUIRE(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    REQUIRE(posix_spawn_file_actions_init(&actions) == 0);
    REQUIRE(posix_spawn_file_actions_adddup2(&actions, to[0], 0) == 0);
    REQUIRE(posix_spawn_file_actions_adddup2(&actions, from[1], 1) == 0);
    REQUIRE_INT(posix_spawn(&s->pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(to[0]);
    (void)close(from[1]);
    s->to = to[1];
    s->from = from[0];
    stranger_hear(s, line);
    CHECK_STRING(line, "ready");
}

void stranger_tell(stranger *s, const char *word) {
    char line[64];
    const int size = snprintf(line, sizeof(line), "%s\n", word);

    REQUIRE(write(s->to, line, (size_t)size) == size);
}

void stranger_hear(stranger *s, char ret_line[STRANGER_LINE_MAX]) {
    const int64_t end_ms = clock_ms() + ANSWER_MS;
    char *end;

    while (!(end = memchr(s->line, '\n', s->used))) {
        struct pollfd fd = {.fd = s->from, .events = POLLIN};

        REQUIRE(poll(&fd, 1, (int)(end_ms - clock_ms())) == 1);
        ssize_t got = read(s->from, s->line + s->used, sizeof(s->line) - s->used);
        REQUIRE(got > 0);
        s->used += (size_t)got;
    }
    *end++ = '\0';
    (void)snprintf(ret_line, STRANGER_LINE_MAX, "%s", s->line);
    s->used -= (size_t)(end - s->line);
    memmove(s->line, end, s->used);
}

void stranger_signal(const stranger *s, int number) {
    REQUIRE(s->pid > 0 && kill(s->pid, number) == 0);
}

void stranger_end(stranger *s) {
    if (s->pid <= 0)
        return;
    (void)kill(s->pid, SIGKILL);
    (void)waitpid(s->pid, NULL, 0);
    (void)close(s->to);
    (void)close(s->from);
    s->pid = 0;
}
