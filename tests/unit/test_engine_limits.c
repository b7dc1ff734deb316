/*
 * The limits of an engine's nodes and watches: what counts, and that no more than that is let in.
 */
#include "unit/engine_bench.h"

static void a_session_s_nodes_and_watches_have_a_limit(void) {
    char name[256];
    zkl_err err = ZKL_OK;
    size_t count = 0;
    char root[256] = "/";
    memset(root + 1, 'r', 200);
    bench_start(root, false);
    bench_connect();
    memset(name, 'n', sizeof(name));
    for (; err == ZKL_OK && count < OWNERS_MAX - 1; count++) {
        struct owner *owner;
        (void)snprintf(name + 240, sizeof(name) - 240, "%05zu", count);
        err = enter_queue(name, false, &owner);
    }
    CHECK_INT(err, ZKL_LIMIT);
    CHECK_RANGE(Bench.engine->watch_bytes, ZKLI_WATCH_BYTES_MAX * 9 / 10, ZKLI_WATCH_BYTES_MAX);
    CHECK(strstr(Bench.last_line, "bytes of node paths (at most 409600)") != NULL);
    CHECK(strstr(Bench.last_line, "bytes of watched paths (at most 409600)") != NULL);
    come_to_rest(); /* holders need less */
    struct owner *owner;
    CHECK_INT(enter_queue("a", false, &owner), ZKL_OK);
    come_to_rest();
    for (size_t i = 0; i < Bench.owner_count; i++)
        CHECK_INT(Bench.owners[i].grants, 1);
    bench_end();
}

static void the_limit_of_nodes_holds_for_holders_too(void) {
    char name[256];
    zkl_err err = ZKL_OK;
    struct owner *owner;
    bench_begin();
    memset(name, 'n', sizeof(name));
    Bench.engine->node_bytes += ZKLI_NODE_BYTES_MAX -
                                100 * ZKLI_PATH_MAX / 4; /* as if there were some */
    for (size_t count = 0; err == ZKL_OK && count < 400; count++) {
        (void)snprintf(name + 240, sizeof(name) - 240, "%05zu", count);
        err = enter_queue(name, false, &owner);
        serve_all();
    }
    CHECK_INT(err, ZKL_LIMIT);
    CHECK_INT(enter_queue(name, false, &owner), ZKL_LIMIT);
    CHECK(Bench.engine->node_bytes <= ZKLI_NODE_BYTES_MAX);
    Bench.engine->node_bytes -= ZKLI_NODE_BYTES_MAX - 100 * ZKLI_PATH_MAX / 4;
    bench_end();
}

/* The servers' paths are longer than ours by the chroot, and each has its length in front. */
static void a_path_counts_with_its_chroot_and_its_length(void) {
    bench_begin();
    struct zkli_engine *e = Bench.engine;
    e->chroot_length = 100;
    struct owner *holder = hold("a");
    size_t each = 4 + 100 + strlen(path_of(holder));
    CHECK_INT(e->node_bytes, each);
    CHECK_INT(e->watch_bytes, each);
    struct owner *waiter = begin("a");
    serve_all();
    CHECK_INT(e->node_bytes, 2 * each);
    CHECK_INT(e->watch_bytes, 3 * each);
    CHECK_INT(e->stale_watch_bytes, 0);
    abandon(waiter);
    serve_all(); /* the own node's watch has fired, the predecessor's stands on */
    CHECK_INT(e->node_bytes, each);
    CHECK_INT(e->watch_bytes, each);
    CHECK_INT(e->stale_watch_bytes, each);
    waiter = begin("a"); /* which it serves again */
    serve_all();
    CHECK_INT(e->stale_watch_bytes, 0);
    abandon(waiter);
    release(holder);
    serve_all();
    CHECK_INT(e->node_bytes + e->watch_bytes + e->stale_watch_bytes, 0);
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a session's nodes and watches have a limit", a_session_s_nodes_and_watches_have_a_limit},
        {"the limit of nodes holds for holders, too", the_limit_of_nodes_holds_for_holders_too},
        {"a path counts with its chroot and its length",
         a_path_counts_with_its_chroot_and_its_length},
    };
    return TEST_MAIN(argc, argv, "engine_limits", cases);
}
