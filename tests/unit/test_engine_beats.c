/* What a heartbeat looks for, and what an answer to it is worth. */
#include "unit/engine_bench.h"

/* The heartbeat that is due, taken from what is in flight; everything before it is served. */
static struct request next_beat(struct bench *b) {
    for (int i = 0; i < 10; i++) {
        serve_all(b);
        advance(b, T_MS / 50 * MS);
        if (b->request_count > 0 && b->requests[0].kind == BARRIER)
            break;
    }
    return serve_until(b, BARRIER);
}

static void serve_beat(struct bench *b, const struct request *beat) {
    struct zkli_reply reply = serve(b, beat);
    tell_reply(b, beat->slot, &reply);
}

/* Only a transaction that succeeds is surely in the servers' logs, and it needs a node of ours. */
static void a_heartbeat_looks_for_a_node_of_ours(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct request beat = next_beat(b);
    CHECK_STRING(beat.path, "");
    serve_beat(b, &beat);
    struct owner *first = hold(b, "a"), *second = begin(b, "a");
    serve_all(b);
    char first_path[ZKLI_PATH_MAX], second_path[ZKLI_PATH_MAX];
    (void)snprintf(first_path, sizeof(first_path), "%s", path_of(first));
    (void)snprintf(second_path, sizeof(second_path), "%s", path_of(second));
    beat = next_beat(b);
    CHECK_STRING(beat.path, first_path);
    serve_beat(b, &beat);
    b->refused = 1u << REMOVE; /* it is leaving for a while */
    release(b, first);
    beat = next_beat(b);
    CHECK_STRING(beat.path, second_path);
    b->refused = 0;
    serve_beat(b, &beat);
    bench_end(b);
}

static void refuse_beats(struct bench *b, enum zkli_result result, int code, int times) {
    for (int i = 0; i < times; i++) {
        struct request beat = next_beat(b);
        struct zkli_reply reply = {.result = result, .code = code, .data = ""};
        tell_reply(b, beat.slot, &reply);
    }
}

static void a_refused_heartbeat_proves_nothing_and_is_told_once(void) {
    static const enum zkli_result results[] = {ZKLI_RESULT_DENIED, ZKLI_RESULT_ERROR,
                                               ZKLI_RESULT_AGAIN, ZKLI_RESULT_EXISTS};
    struct bench *b = &Bench;
    for (size_t i = 0; i < COUNT(results); i++) {
        bench_begin(b);
        struct owner *owner = hold(b, "a");
        int64_t end_ns = b->engine->lease.certain_until_ns;
        refuse_beats(b, results[i], -102, 3);
        CHECK_INT(b->engine->lease.certain_until_ns, end_ns);
        CHECK_INT(b->lines[ZKL_LOG_WARN], 1);
        CHECK(strstr(b->last_line, "-102") != NULL);
        refuse_beats(b, results[i], -6, 1);
        CHECK_INT(b->lines[ZKL_LOG_WARN], 2);
        struct request beat = next_beat(b);
        serve_beat(b, &beat);
        refuse_beats(b, results[i], -6, 1); /* again, after one that was not */
        CHECK_INT(b->lines[ZKL_LOG_WARN], 3);
        advance(b, end_ns - b->now_ns);
        CHECK((owner->notices & TOLD(LOST)) != 0);
        bench_end(b);
    }
}

/* The permission may have gone, and others may have it still. */
static void a_node_that_may_not_be_looked_at_is_not_asked_for_again(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *first = hold(b, "a"), *second = hold(b, "b");
    refuse_beats(b, ZKLI_RESULT_DENIED, -102, 1);
    struct request beat = next_beat(b);
    CHECK_STRING(beat.path, path_of(second));
    struct zkli_reply refusal = {.result = ZKLI_RESULT_DENIED, .code = -102, .data = ""};
    tell_reply(b, beat.slot, &refusal);
    beat = next_beat(b);
    CHECK_STRING(beat.path, "");
    serve_beat(b, &beat);
    for (int i = 0; i < 30; i++) {
        beat = next_beat(b);
        CHECK_STRING(beat.path, "");
        serve_beat(b, &beat);
    }
    CHECK(zkli_member_is_held(first->member) && zkli_member_is_held(second->member));
    struct owner *third = hold(b, "c"); /* a node that nobody has refused */
    beat = next_beat(b);
    CHECK_STRING(beat.path, path_of(third));
    serve_beat(b, &beat);
    bench_end(b);
}

static void a_node_of_a_busy_server_is_asked_for_again(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *owner = hold(b, "a");
    refuse_beats(b, ZKLI_RESULT_AGAIN, -127, 1);
    struct request beat = next_beat(b);
    CHECK_STRING(beat.path, path_of(owner));
    serve_beat(b, &beat);
    bench_end(b);
}

/* Whatever has become of the watch: the server has looked. */
static void a_node_that_a_heartbeat_misses_is_gone(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *holder = hold(b, "a"), *waiter = begin(b, "a");
    serve_all(b);
    find_node(&b->server, path_of(holder))->path[0] = '\0'; /* and no watch tells */
    struct request beat = next_beat(b);
    serve_beat(b, &beat);
    CHECK((holder->notices & TOLD(LOST)) != 0);
    find_node(&b->server, path_of(waiter))->path[0] = '\0';
    beat = next_beat(b);
    serve_beat(b, &beat);
    CHECK((waiter->notices & TOLD(REQUEUED)) != 0);
    come_to_rest(b);
    CHECK_INT(waiter->grants, 1);
    beat = next_beat(b); /* it has another node since */
    CHECK_STRING(beat.path, path_of(waiter));
    serve_beat(b, &beat);
    bench_end(b);
}

static void answer_missed(struct bench *b, const struct request *beat) {
    struct zkli_reply missed = {.result = ZKLI_RESULT_NO_NODE, .code = -101, .data = ""};
    tell_reply(b, beat->slot, &missed);
}

/* It has taken another place, is granted, and its node is what the next heartbeat looks for. */
static void check_is_asked_for(struct bench *b, const struct owner *owner) {
    come_to_rest(b);
    CHECK_INT(owner->grants, 1);
    struct request beat = next_beat(b);
    CHECK_STRING(beat.path, path_of(owner));
    serve_beat(b, &beat);
}

/* The watch has told of the end, and a new place is being taken. */
static void a_miss_that_is_told_late_is_not_the_next_nodes(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *holder = hold(b, "a"), *waiter = begin(b, "a");
    serve_all(b);
    refuse_beats(b, ZKLI_RESULT_DENIED, -102, 1); /* the holder's node */
    struct request beat = next_beat(b);
    CHECK_STRING(beat.path, path_of(waiter));
    delete_node(b, beat.path);
    answer_missed(b, &beat);
    release(b, holder);
    check_is_asked_for(b, waiter);
    bench_end(b);
}

/* The listing that is under way will not show the node. */
static void nor_is_one_that_is_told_in_a_flight(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    struct owner *first = hold(b, "a"); /* makes the directory */
    release(b, first);
    serve_all(b);
    struct owner *owner = begin(b, "a");
    serve_next(b); /* its create */
    struct request list = take(b, 0), beat = next_beat(b);
    CHECK_STRING(beat.path, path_of(owner));
    find_node(&b->server, beat.path)->path[0] = '\0';
    answer_missed(b, &beat);
    struct zkli_reply listed = serve(b, &list);
    tell_reply(b, list.slot, &listed);
    check_is_asked_for(b, owner);
    bench_end(b);
}

static void an_answer_finds_its_member_gone(void) {
    static const enum zkli_result results[] = {ZKLI_RESULT_OK, ZKLI_RESULT_DENIED,
                                               ZKLI_RESULT_NO_NODE, ZKLI_RESULT_LOST};
    struct bench *b = &Bench;
    for (size_t i = 0; i < COUNT(results); i++) {
        bench_begin(b);
        struct owner *owner = hold(b, "a");
        struct request beat = next_beat(b);
        release(b, owner);
        serve_all(b);
        CHECK(owner->member == NULL);
        CHECK(b->engine->slots[beat.slot].member == NULL);
        answer(b, &beat, results[i]);
        come_to_rest(b);
        bench_end(b);
    }
}

/* ---- What is told ---- */

static void that_nothing_is_committed_is_told_once(void) {
    struct bench *b = &Bench;
    bench_begin(b);
    for (size_t told = 1; told <= 2; told++) {
        advance(b, T_MS * MS - 1);
        CHECK_INT(b->lines[ZKL_LOG_WARN], told - 1);
        advance(b, 1);
        CHECK_INT(b->lines[ZKL_LOG_WARN], told);
        CHECK(strstr(b->last_line, "no heartbeat has been committed for 10000 ms") != NULL);
        advance(b, 3 * T_MS * MS);
        CHECK_INT(b->lines[ZKL_LOG_WARN], told);
        serve_all(b);
    }
    bench_end(b);
}

static void without_a_connection_it_is_told_later(void) {
    struct bench *b = &Bench;
    for (int sixteenths = 15; sixteenths <= 32;
         sixteenths += 17) { /* before it was due, and after */
        bench_begin(b);
        cut(b, 0);
        advance(b, T_MS * MS / 16 * sixteenths);
        CHECK_INT(b->lines[ZKL_LOG_WARN], 0);
        connect(b);
        advance(b, T_MS * MS / 4 - 1);
        CHECK_INT(b->lines[ZKL_LOG_WARN], 0);
        advance(b, 1);
        CHECK_INT(b->lines[ZKL_LOG_WARN], 1);
        serve_all(b);
        bench_end(b);
    }
}

static void a_session_that_rests_does_not_miss_heartbeats(void) {
    struct bench *b = &Bench;
    bench_start(b, "/locks", true);
    connect(b);
    serve_all(b);
    advance(b, T_MS * MS / 16);
    advance(b, 3 * T_MS * MS);
    CHECK_INT(b->lines[ZKL_LOG_WARN], 0);
    struct owner *owner = begin(b, "a");
    advance(b, T_MS * MS);
    CHECK_INT(b->lines[ZKL_LOG_WARN], 1);
    abandon(b, owner);
    come_to_rest(b);
    bench_end(b);
}

static void another_timeout_than_asked_for_is_told_once(void) {
    struct bench *b = &Bench;
    bench_start(b, "/locks", false);
    b->engine->asked_timeout_ms = 3 * T_MS;
    connect(b);
    CHECK_INT(b->lines[ZKL_LOG_INFO], 2); /* and that it is open */
    CHECK(strstr(b->last_line, "10000 ms instead of 30000 ms") != NULL);
    serve_all(b);
    cut(b, 0);
    connect(b);
    serve_all(b);
    CHECK_INT(b->lines[ZKL_LOG_INFO], 3); /* that it is resumed */
    bench_end(b);
}

static const test_case Cases[] = {
    {"that nothing is committed is told once", that_nothing_is_committed_is_told_once},
    {"without a connection it is told later", without_a_connection_it_is_told_later},
    {"a session that rests does not miss heartbeats",
     a_session_that_rests_does_not_miss_heartbeats},
    {"another timeout than asked for is told once", another_timeout_than_asked_for_is_told_once},
    {"a heartbeat looks for a node of ours", a_heartbeat_looks_for_a_node_of_ours},
    {"a refused heartbeat proves nothing, and is told once",
     a_refused_heartbeat_proves_nothing_and_is_told_once},
    {"a node that may not be looked at is not asked for again",
     a_node_that_may_not_be_looked_at_is_not_asked_for_again},
    {"a node of a busy server is asked for again", a_node_of_a_busy_server_is_asked_for_again},
    {"a node that a heartbeat misses is gone", a_node_that_a_heartbeat_misses_is_gone},
    {"a miss that is told late is not the next node's",
     a_miss_that_is_told_late_is_not_the_next_nodes},
    {"nor is one that is told in a flight", nor_is_one_that_is_told_in_a_flight},
    {"an answer finds its member gone", an_answer_finds_its_member_gone},
};

int main(int argc, char **argv) {
    return TEST_MAIN(argc, argv, "engine_beats", Cases);
}
