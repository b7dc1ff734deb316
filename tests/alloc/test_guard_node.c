/* As test_calls.c, for writes under another process's hold, and for reads. */
#include "alloc/fail_each.h"
#include "support/target.h"

/* Without memory there is nothing to do but to try again until this is over. */
#define SOME_MS 300

static void set_by_node(void) {
    client *c = client_open("set", T_NORMAL), *worker = client_open("worker", T_NORMAL);
    const char *path = target_new();
    char node[RAW_PATH_MAX];
    const char *const nodes[] = {node};
    const zkl_guard guard = ZKL_GUARD(.nodes = nodes, .count = 1);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, node);
    arm();
    zkl_err err = zkl_guarded_set_by_node(worker->session, &guard, path, "one", 3, 0, SOME_MS,
                                          NULL);
    failing_disarm();
    CHECK(err == ZKL_OK || err == ZKL_UNREACHABLE || err == ZKL_UNSURE);
    if (err != ZKL_UNSURE)
        target_check(path, err == ZKL_OK ? "one" : "zero", err == ZKL_OK);
    CHECK_INT(zkl_guarded_set_by_node(worker->session, &guard, path, "two", 3, -1, SOON_MS, NULL),
              ZKL_OK);
    client_close(worker);
    client_close(c);
}

static void a_write_is_made_or_not_in_time(void) {
    fail_each(set_by_node);
}

static void read_node(void) {
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    const char *path = target_new();
    char data[8] = "";
    size_t len = 0;

    arm();
    zkl_err err = zkl_read_node(s, path, data, sizeof(data), &len, NULL, SOME_MS);
    failing_disarm();
    CHECK(err == ZKL_OK || err == ZKL_UNREACHABLE || err == ZKL_NOMEM);
    CHECK_STRING(data, err == ZKL_OK ? "zero" : "");
    CHECK_INT(zkl_read_node(s, path, data, sizeof(data), &len, NULL, SOON_MS), ZKL_OK);
    CHECK_STRING(data, "zero");
    session_close(s);
}

static void a_read_is_whole_or_not_in_time(void) {
    fail_each(read_node);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a write is made, or not in time", a_write_is_made_or_not_in_time},
        {"a read is whole, or not in time", a_read_is_whole_or_not_in_time},
    };
    return fail_each_main(argc, argv, "guard_node", cases, COUNT(cases));
}
