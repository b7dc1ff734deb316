/*
 * The search for circles of waits, with each allocation of the library failing in turn: it finds
 * what is there, or says that there is no memory and calls nobody.
 */
#include "alloc/fail_each.h"

#include <sys/wait.h>

static size_t Circles;

static void on_circle(const zkl_wait *waits, size_t count, void *arg) {
    (void)arg;
    CHECK_INT(count, 2);
    CHECK(strcmp(waits[0].name, waits[1].name) != 0);
    Circles++;
}

static void look(void) {
    Circles = 0;
    client *c = client_open("looks", T_NORMAL);
    arm();
    const zkl_err err = zkl_find_deadlocks(c->session, NULL, on_circle, NULL);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK_INT(Circles, err == ZKL_OK);
    client_close(c);
}

static void on_done(zkl_err err, zkl_hold hold, void *arg) {
    (void)err;
    (void)hold;
    (void)arg;
}

/* Two jobs, each of which has one lock and wants the other's. In a process of its own, so that
 * nothing but the search allocates here. */
static void wait_in_a_circle(void) {
    static const char *const names[] = {"first", "second", "second", "first"};
    zkl_session *s = NULL;
    zkl_lock *l = NULL;
    bool is_good = zkl_session_open(&s, server_hosts(),
                                    &ZKL_SESSION_OPTIONS(.root = fixture_root())) == ZKL_OK;
    for (unsigned i = 0; i < COUNT(names) && is_good; i++)
        is_good = zkl_lock_open(&l, s, names[i], &ZKL_LOCK_OPTIONS(.owner = 1 + i % 2)) == ZKL_OK &&
                  zkl_acquire_async(l, ZKL_FOREVER, on_done, NULL) == ZKL_OK;
    while (is_good)
        (void)pause();
    _exit(1);
}

static void a_circle_is_found_or_there_is_no_memory(void) {
    int status;
    const pid_t pid = fork();
    if (pid == 0)
        wait_in_a_circle();
    REQUIRE(pid > 0);
    WAIT_UNTIL(queue_length("first") == 2 && queue_length("second") == 2, SOON_MS);
    fail_each(look);
    REQUIRE(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a circle is found, or there is no memory", a_circle_is_found_or_there_is_no_memory},
    };
    return fail_each_main(argc, argv, "deadlocks", cases, COUNT(cases));
}
