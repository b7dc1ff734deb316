/* What the engine counts: sessions, connections, heartbeats, the least certainty, and the load. */
#include "unit/engine_bench.h"

#include "engine/engine_internal.h"

static const struct zkli_engine_counts *counts(void) {
    return zkli_engine_counts(Bench.engine);
}

static void connections_and_sessions_are_counted(void) {
    bench_begin();
    CHECK_INT(counts()->sessions, 1);
    CHECK_INT(counts()->connections, 1);
    struct owner *holder = hold("a");
    cut_and_connect(0);
    serve_all();
    CHECK_INT(counts()->sessions, 1);
    CHECK_INT(counts()->connections, 2);
    release(holder);
    serve_all();
    expire();
    bench_connect();
    serve_all();
    CHECK_INT(counts()->sessions, 2);
    CHECK_INT(counts()->connections, 3);
    end_all();
}

static void a_heartbeat_is_late_when_its_answer_takes_a_period(void) {
    bench_begin();
    (void)hold("a");
    const int64_t period_ns = zkli_lease_period_ns(T_MS * MS);
    serve_all();
    const struct zkli_engine_counts before = *counts();
    CHECK_INT(before.late_heartbeats, 0);
    CHECK(before.heartbeats >= 1);
    while (Bench.request_count == 0)
        advance(MS);
    CHECK_INT(counts()->heartbeats, before.heartbeats + 1);
    advance(period_ns);
    serve_all(); /* just in time */
    advance(0);  /* the next one was due */
    CHECK_INT(counts()->late_heartbeats, 0);
    CHECK_INT(counts()->heartbeats, before.heartbeats + 2);
    advance(period_ns + 1);
    serve_all();
    advance(0);
    CHECK_INT(counts()->late_heartbeats, 1);
    CHECK_INT(counts()->heartbeats, before.heartbeats + 3);
    cut_and_connect(0); /* with one in flight */
    CHECK_INT(counts()->late_heartbeats, 2);
    end_all();
}

static void the_least_certainty_is_what_was_left_of_a_hold(void) {
    bench_begin();
    serve_all();
    CHECK_INT(counts()->least_certain_ns, INT64_MAX); /* nothing is held */
    struct owner *holder = hold("a");
    pass(T_MS * MS);
    const int64_t usual_ns = counts()->least_certain_ns;
    CHECK(usual_ns > 0 && usual_ns < T_MS * MS);
    while (Bench.request_count == 0)
        advance(MS);
    const int64_t until_ns = Bench.engine->lease.certain_until_ns;
    advance(T_MS * MS / 4);
    serve_next();
    CHECK_INT(counts()->least_certain_ns, until_ns - Bench.now_ns);
    const int64_t least_ns = counts()->least_certain_ns;
    CHECK(least_ns < usual_ns);
    pass(T_MS * MS);
    CHECK_INT(counts()->least_certain_ns, least_ns); /* never more again */
    release(holder);
    serve_all();
    end_all();
}

/* ---- Why a hold was lost ---- */

static struct owner *loser(void) {
    bench_begin();
    struct owner *holder = hold("a");
    advance(T_MS / 10 * MS); /* its watch is set */
    serve_all();
    return holder;
}

static zkl_loss Seen;

static void see_loss(void *arg, struct zkli_member *member, enum zkli_notice notice) {
    if (notice == ZKLI_NOTICE_LOST)
        Seen = zkli_member_loss(member);
    on_notice(arg, member, notice);
}

static void look_at(struct owner *holder) {
    Seen = (zkl_loss)-1;
    zkli_member_attach(holder->member, see_loss, holder);
}

static void a_hold_without_heartbeats_is_uncertain(void) {
    struct owner *holder = loser();
    look_at(holder);
    advance(T_MS * MS);
    CHECK_INT(Seen, ZKL_LOSS_UNCERTAIN);
    CHECK_INT(counts()->least_certain_ns, 0);
    end_all();
}

static void a_hold_goes_with_its_session(void) {
    struct owner *holder = loser();
    look_at(holder);
    const int64_t least_ns = counts()->least_certain_ns;
    expire();
    CHECK_INT(Seen, ZKL_LOSS_SESSION);
    CHECK_INT(counts()->least_certain_ns, least_ns);
    end_all();
}

static void a_hold_goes_with_its_node(void) {
    struct owner *holder = loser();
    look_at(holder);
    delete_node(path_of(holder));
    CHECK_INT(Seen, ZKL_LOSS_NODE);
    end_all();
}

/* ---- The load ---- */

static void holders_waiters_and_requests_are_counted(void) {
    bench_begin();
    serve_all();
    struct zkli_engine_load load = zkli_engine_load(Bench.engine);
    CHECK_INT(load.holding, 0);
    CHECK_INT(load.waiting, 0);
    CHECK_INT(load.requests, 0);
    CHECK_INT(load.bytes, 0);
    struct owner *first = hold("a");
    (void)hold("b");
    struct owner *waiter = begin("a");
    load = zkli_engine_load(Bench.engine);
    CHECK_INT(load.holding, 2);
    CHECK_INT(load.waiting, 1);
    CHECK_INT(load.requests, Bench.request_count);
    CHECK(load.requests > 0);
    serve_all();
    static struct asked write;
    ask_write(&write, "/locks/a", 1000);
    load = zkli_engine_load(Bench.engine);
    CHECK_INT(load.requests, 1);
    CHECK_INT(load.bytes, 1000);
    serve_all();
    abandon(waiter);
    release(first);
    load = zkli_engine_load(Bench.engine);
    CHECK_INT(load.holding, 1);
    CHECK_INT(load.waiting, 0);
    serve_all();
    CHECK_INT(zkli_engine_load(Bench.engine).bytes, 0);
    end_all();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"connections and sessions are counted", connections_and_sessions_are_counted},
        {"a heartbeat is late when its answer takes a period",
         a_heartbeat_is_late_when_its_answer_takes_a_period},
        {"the least certainty is what was left of a hold",
         the_least_certainty_is_what_was_left_of_a_hold},
        {"a hold without heartbeats is uncertain", a_hold_without_heartbeats_is_uncertain},
        {"a hold goes with its session", a_hold_goes_with_its_session},
        {"a hold goes with its node", a_hold_goes_with_its_node},
        {"holders waiters and requests are counted", holders_waiters_and_requests_are_counted},
    };
    return TEST_MAIN(argc, argv, "engine_stats", cases);
}
