/* Fences: what they let in, in memory and in a file, to threads and to processes. */
#include "support/actor.h"
#include "support/main.h"
#include "support/scratch.h"
#include "support/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fence/fence.h"
#include "support/fence.h"

#define BYTES_MAX (1 << 18)

/* ---- What is let in ---- */

static void check_the_rule(const char *file) {
    zkl_fence *f = fence_open(file);

    CHECK_INT(zkl_fence_check(f, "a", 5), ZKL_OK);
    CHECK_INT(zkl_fence_check(f, "a", 5), ZKL_OK);
    CHECK_INT(zkl_fence_check(f, "a", 4), ZKL_STALE);
    CHECK_INT(zkl_fence_check(f, "a", INT64_MAX - 1), ZKL_OK);
    CHECK_INT(zkl_fence_check(f, "a", 5), ZKL_STALE);
    CHECK_INT(zkl_fence_check(f, "a", INT64_MAX), ZKL_OK);
    CHECK_INT(zkl_fence_check(f, "a", INT64_MAX - 1), ZKL_STALE);
    CHECK_INT(zkl_fence_check(f, "a", INT64_MAX), ZKL_OK);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
}

static void a_lower_token_is_refused_and_the_same_let_in(void) {
    check_the_rule(NULL);
    check_the_rule(scratch_fresh("rule"));
}

static void check_names(const char *file) {
    zkl_fence *f = fence_open(file);
    char longest[256];

    memset(longest, 'x', 255);
    longest[255] = '\0';
    CHECK_INT(zkl_fence_check(f, "b", 7), ZKL_OK);
    CHECK_INT(zkl_fence_check(f, "a/b c ", 3), ZKL_OK);
    CHECK_INT(zkl_fence_check(f, "a/b c", 2), ZKL_OK);
    CHECK_INT(zkl_fence_check(f, longest, 1), ZKL_OK);
    CHECK_INT(zkl_fence_check(f, "b", 6), ZKL_STALE);
    CHECK_INT(zkl_fence_check(f, "a/b c ", 2), ZKL_STALE);
    CHECK_INT(zkl_fence_check(f, "a/b c", 1), ZKL_STALE);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    if (file) {
        CHECK_INT(check_anew(file, "a/b c ", 2), ZKL_STALE);
        CHECK_INT(check_anew(file, "a/b c", 1), ZKL_STALE);
        CHECK_INT(check_anew(file, "a/b c", 2), ZKL_OK);
        CHECK_INT(check_anew(file, longest, 1), ZKL_OK);
    }
}

static void each_name_has_tokens_of_its_own(void) {
    check_names(NULL);
    check_names(scratch_fresh("names"));
}

static void check_is_refused(const char *file, const zkl_fence_options *options) {
    zkl_fence *f = (zkl_fence *)(void *)&f;

    CHECK_INT(zkl_fence_open(&f, file, options), ZKL_INVALID);
    CHECK(f == NULL);
}

/* A program that was compiled with another release of the header. */
static void options_may_be_shorter_and_longer(void) {
    struct {
        zkl_fence_options known;
        int64_t unknown;
    } later = {.known = {.size = sizeof(later)}};
    const zkl_fence_options earlier = {.size = sizeof(earlier.size), .must_exist = true};
    const char *file = scratch_fresh("sizes");
    zkl_fence *f = NULL;

    CHECK_INT(zkl_fence_open(&f, file, &earlier), ZKL_OK); /* .must_exist is not read */
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    CHECK_INT(zkl_fence_open(&f, file, &later.known), ZKL_OK);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    later.unknown = 1;
    check_is_refused(file, &later.known);
}

static void what_makes_no_sense_is_invalid(void) {
    static const char *const bad[] = {"", "/", "a//b", "..", "a\nb", "a/", "/zklock fence 1/"};
    zkl_fence *f = fence_open(NULL);
    char long_path[6000], name[257];

    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    memset(name, 'x', 256);
    name[256] = '\0';
    CHECK_INT(zkl_fence_open(NULL, NULL, NULL), ZKL_INVALID);
    check_is_refused("", NULL);
    check_is_refused("/tmp/", NULL);
    check_is_refused("/tmp/..", NULL);
    /* By way of this one the file is replaced: tokens in it would be forgotten. */
    check_is_refused(scratch_path("other.new"), NULL);
    check_is_refused(long_path, NULL);
    long_path[5000] = '/';
    long_path[5002] = '\0';
    check_is_refused(long_path, NULL);
    check_is_refused(NULL, &(zkl_fence_options){.size = 1});
    for (size_t i = 0; i < sizeof(((zkl_fence_options *)NULL)->reserved); i++) {
        zkl_fence_options options = ZKL_FENCE_OPTIONS(.must_exist = false);
        options.reserved[i] = 1;
        check_is_refused(NULL, &options);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_INT(zkl_fence_check(f, bad[i], 1), ZKL_INVALID);
    CHECK_INT(zkl_fence_check(f, name, 1), ZKL_INVALID);
    CHECK_INT(zkl_fence_check(f, NULL, 1), ZKL_INVALID);
    CHECK_INT(zkl_fence_check(NULL, "a", 1), ZKL_INVALID);
    CHECK_INT(zkl_fence_check(f, "a", 0), ZKL_INVALID);
    CHECK_INT(zkl_fence_check(f, "a", -1), ZKL_INVALID);
    CHECK_INT(zkl_fence_begin(NULL, "a", 1), ZKL_INVALID);
    CHECK_INT(zkl_fence_end(NULL), ZKL_INVALID);
    CHECK_INT(zkl_fence_close(NULL), ZKL_OK);
    CHECK_INT(zkl_fence_check(f, "a", 1), ZKL_OK);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
}

static void the_number_of_names_is_limited(void) {
    zkl_fence *f = fence_open(NULL);
    char name[32];

    for (int i = 0; i <= ZKLI_FENCE_NAMES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "name-%08d", i);
        if (zkl_fence_check(f, name, 2) != (i < ZKLI_FENCE_NAMES_MAX ? ZKL_OK : ZKL_LIMIT))
            CU_FAIL("the limit is elsewhere");
    }
    CHECK_INT(zkl_fence_check(f, "name-00000000", 1), ZKL_STALE);
    CHECK_INT(zkl_fence_check(f, "name-00000000", 3), ZKL_OK);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
}

/* ---- One at a time ---- */

struct crowd {
    zkl_fence *fence;
    pthread_t threads[4];
    int64_t next, seen[4000];
    size_t count;
};

/* The token is drawn before the fence is entered, so that many come too late. */
static void *push(void *arg) {
    struct crowd *c = arg;

    for (int i = 0; i < 1000; i++) {
        const int64_t token = __atomic_add_fetch(&c->next, 1, __ATOMIC_RELAXED);

        if (zkl_fence_begin(c->fence, "crowd", token) != ZKL_OK)
            continue;
        c->seen[c->count++] = token;
        (void)zkl_fence_end(c->fence);
    }
    return NULL;
}

static void threads_write_between_begin_and_end_in_the_order_of_their_tokens(void) {
    static struct crowd c;

    c = (struct crowd){.fence = fence_open(NULL)};
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&c.threads[i], NULL, push, &c) == 0);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(c.threads[i], NULL);
    CHECK(c.count > 0);
    for (size_t i = 1; i < c.count; i++)
        CHECK(c.seen[i] > c.seen[i - 1]);
    CHECK_INT(zkl_fence_close(c.fence), ZKL_OK);
}

struct passer {
    zkl_fence *fence;
    int64_t token;
};

static zkl_err pass(void *arg) {
    const struct passer *p = arg;

    return zkl_fence_check(p->fence, "x", p->token);
}

static zkl_err end(void *arg) {
    return zkl_fence_end(arg);
}

static void check_begin(zkl_fence *mine, zkl_fence *other) {
    struct passer p = {other, 2};
    actor *a = actor_new();

    CHECK_INT(zkl_fence_end(mine), ZKL_NOT_HELD);
    REQUIRE_INT(zkl_fence_begin(mine, "x", 1), ZKL_OK);
    CHECK_INT(zkl_fence_begin(mine, "y", 1), ZKL_DEADLOCK);
    CHECK_INT(zkl_fence_check(mine, "x", 1), ZKL_DEADLOCK);
    actor_begin(a, end, mine);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_NOT_HELD);
    actor_begin(a, pass, &p);
    WAIT_UNTIL(actor_sleeps(a), SOON_MS);
    CHECK(!actor_is_done(a));
    CHECK_INT(zkl_fence_end(mine), ZKL_OK);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_fence_begin(mine, "x", 1), ZKL_STALE);
    CHECK_INT(zkl_fence_end(mine), ZKL_NOT_HELD);
    p.token = 3;
    actor_begin(a, pass, &p);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    actor_free(a);
}

static void nobody_passes_between_begin_and_end(void) {
    const char *file = scratch_fresh("begin");
    zkl_fence *memory = fence_open(NULL), *f = fence_open(file), *g = fence_open(file);

    check_begin(memory, memory);
    check_begin(f, g);
    CHECK_INT(zkl_fence_close(memory), ZKL_OK);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    CHECK_INT(zkl_fence_close(g), ZKL_OK);
}

/* ---- Processes ---- */

static void two_that_share_a_file_see_each_other_also_when_it_is_replaced(void) {
    const char *file = scratch_fresh("shared");
    zkl_fence *f = fence_open(file), *g = fence_open(file);

    for (int64_t token = 1; token <= 300; token += 2) {
        CHECK_INT(zkl_fence_check(f, "x", token), ZKL_OK);
        CHECK_INT(zkl_fence_check(g, "x", token - 1), token == 1 ? ZKL_INVALID : ZKL_STALE);
        CHECK_INT(zkl_fence_check(g, "x", token), ZKL_OK);
        CHECK_INT(zkl_fence_check(g, "x", token + 1), ZKL_OK);
        CHECK_INT(zkl_fence_check(f, "x", token), ZKL_STALE);
    }
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
    CHECK_INT(check_anew(file, "x", 299), ZKL_STALE);
    CHECK_INT(zkl_fence_close(g), ZKL_OK);
}

/* In a child. Each of the four has every fourth token. */
static int crowd_in(const char *file, const char *log, int64_t first) {
    zkl_fence *f = NULL;
    FILE *out = fopen(log, "ae");

    if (!out || zkl_fence_open(&f, file, NULL) != ZKL_OK)
        return 1;
    for (int64_t token = first; token <= 400; token += 4) {
        const zkl_err err = zkl_fence_begin(f, "x", token);

        if (err == ZKL_STALE)
            continue;
        if (err != ZKL_OK || fprintf(out, "%lld\n", (long long)token) < 0 || fflush(out) != 0 ||
            zkl_fence_end(f) != ZKL_OK)
            return 2;
    }
    (void)fclose(out);
    return zkl_fence_close(f) == ZKL_OK ? 0 : 3;
}

static void processes_write_in_the_order_of_their_tokens(void) {
    const char *file = scratch_fresh("crowd"), *log = scratch_fresh("crowd-log");
    char text[BYTES_MAX], *at = text;
    pid_t pids[4];
    size_t lines = 0;
    long last = 0;

    scratch_write(log, "", 0);
    for (int64_t i = 0; i < 4; i++) {
        pids[i] = fork();
        REQUIRE(pids[i] >= 0);
        if (pids[i] == 0)
            _exit(crowd_in(file, log, i + 1));
    }
    for (int i = 0; i < 4; i++) {
        int status = -1;

        CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
        CHECK_INT(status, 0);
    }
    text[scratch_read(log, text, sizeof(text))] = '\0';
    for (char *rest; *at; at = rest + 1, lines++) {
        const long token = strtol(at, &rest, 10);

        REQUIRE(rest > at);
        CHECK(token > last);
        last = token;
    }
    CHECK(lines > 0 && last == 400);
    test_note("%zu of 400 tokens came in time", lines);
}

/* In a child, as soon as the other end of the pipe is closed. */
static int open_with_the_others(const char *file, int gate, int64_t token) {
    zkl_fence *f = NULL;
    char byte;

    if (read(gate, &byte, 1) != 0 || zkl_fence_open(&f, file, NULL) != ZKL_OK)
        return 1;
    zkl_err err = zkl_fence_check(f, "x", token);
    return err == ZKL_OK || err == ZKL_STALE ? 0 : 2;
}

static void those_that_make_a_file_at_once_share_it(void) {
    enum {
        ROUNDS = 40,
        CHILDREN = 4
    };

    for (int round = 0; round < ROUNDS; round++) {
        const char *file = scratch_fresh("made");
        pid_t pids[CHILDREN];
        int gate[2];

        REQUIRE(pipe2(gate, O_CLOEXEC) == 0);
        for (int i = 0; i < CHILDREN; i++) {
            pids[i] = fork();
            REQUIRE(pids[i] >= 0);
            if (pids[i] == 0) {
                (void)close(gate[1]);
                _exit(open_with_the_others(file, gate[0], 10 * (i + 1)));
            }
        }
        (void)close(gate[1]);
        (void)close(gate[0]);
        for (int i = 0; i < CHILDREN; i++) {
            int status = -1;

            CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
            CHECK_INT(status, 0);
        }
        CHECK_INT(check_anew(file, "x", 10 * CHILDREN - 1), ZKL_STALE);
    }
}

static void a_forked_child_has_no_fence(void) {
    zkl_fence *f = fence_open(NULL);
    int status = -1;
    const pid_t pid = fork();

    if (pid == 0)
        _exit(zkl_fence_check(f, "x", 1) != ZKL_FORKED ||
              zkl_fence_begin(f, "x", 1) != ZKL_FORKED || zkl_fence_end(f) != ZKL_FORKED ||
              zkl_fence_close(f) != ZKL_FORKED);
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    CHECK_INT(zkl_fence_check(f, "x", 1), ZKL_OK);
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
}

/* In a child that may read and write and is killed at any other system call. It waits for its end,
 * since with a sanitizer it has another thread, which has to end, too. */
static void check_without_the_kernel(int answer, int never) {
    zkl_fence *f = NULL;
    char bad = zkl_fence_open(&f, NULL, NULL) != ZKL_OK || zkl_fence_check(f, "x", 1) != ZKL_OK;

    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        _exit(1);
    for (int64_t token = 2; token < 1000; token++) {
        bad |= zkl_fence_check(f, "x", token) != ZKL_OK;
        bad |= zkl_fence_check(f, "x", token - 1) != ZKL_STALE;
    }
    (void)!write(answer, &bad, 1);
    (void)!read(never, &bad, 1);
}

static void in_memory_a_check_makes_no_system_call(void) {
    struct pollfd answer = {.events = POLLIN};
    int answers[2], never[2];
    char bad = 1;

    REQUIRE(pipe2(answers, O_CLOEXEC) == 0 && pipe2(never, O_CLOEXEC) == 0);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        check_without_the_kernel(answers[1], never[0]);
    (void)close(answers[1]);
    answer.fd = answers[0];
    CHECK_INT(poll(&answer, 1, SOON_MS), 1);
    if (answer.revents & POLLIN)
        CHECK_INT(read(answers[0], &bad, 1), 1);
    CHECK_INT(bad, 0);
    (void)kill(pid, SIGKILL); /* it may have ended */
    REQUIRE(waitpid(pid, NULL, 0) == pid);
    (void)close(answers[0]);
    (void)close(never[0]);
    (void)close(never[1]);
}

static void *check_for_ever(void *fence) {
    for (int64_t token = 1;; token++) {
        if (zkl_fence_check(fence, "x", token) != ZKL_OK)
            return NULL;
        pthread_testcancel();
    }
}

static void a_thread_that_is_canceled_leaves_the_fence_to_others(void) {
    for (int round = 0; round < 20; round++) {
        zkl_fence *f = fence_open(scratch_fresh("canceled"));
        pthread_t thread;

        REQUIRE(pthread_create(&thread, NULL, check_for_ever, f) == 0);
        WAIT_UNTIL(zkl_fence_check(f, "x", 1) == ZKL_STALE, SOON_MS);
        REQUIRE(pthread_cancel(thread) == 0);
        (void)pthread_join(thread, NULL);
        CHECK_INT(zkl_fence_check(f, "x", INT64_MAX), ZKL_OK);
        CHECK_INT(zkl_fence_close(f), ZKL_OK);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a lower token is refused, and the same let in",
         a_lower_token_is_refused_and_the_same_let_in},
        {"each name has tokens of its own", each_name_has_tokens_of_its_own},
        {"what makes no sense is invalid", what_makes_no_sense_is_invalid},
        {"options may be shorter and longer", options_may_be_shorter_and_longer},
        {"the number of names is limited", the_number_of_names_is_limited},
        {"threads write between begin and end in the order of their tokens",
         threads_write_between_begin_and_end_in_the_order_of_their_tokens},
        {"nobody passes between begin and end", nobody_passes_between_begin_and_end},
        {"two that share a file see each other, also when it is replaced",
         two_that_share_a_file_see_each_other_also_when_it_is_replaced},
        {"processes write in the order of their tokens",
         processes_write_in_the_order_of_their_tokens},
        {"those that make a file at once share it", those_that_make_a_file_at_once_share_it},
        {"a thread that is canceled leaves the fence to others",
         a_thread_that_is_canceled_leaves_the_fence_to_others},
        {"a forked child has no fence", a_forked_child_has_no_fence},
        {"in memory a check makes no system call", in_memory_a_check_makes_no_system_call},
    };
    return TEST_MAIN(argc, argv, "fence", cases);
}
