/*
 * Several contenders at once, on random walks: answers, refusals, cuts, ends of sessions and of
 * nodes, in any order. A second group wants the same locks, named backwards. At each step all of
 * one are granted, or none is; in the end all hold in turn, or were told the same error, and no
 * other node is left.
 */
#include "unit/engine_several.h"

#define WALKS 1000
#define STEPS 60
#define DONE_MAX 3

static uint32_t State; /* of the walk's random numbers */

static unsigned draw(unsigned below) {
    State = State * UINT32_C(1664525) + UINT32_C(1013904223);
    return (State >> 8) % below;
}

static struct owner *Others; /* of the second group; NULL: not begun yet */

static void begin_others(void) {
    static const char *const backwards[SEVERAL] = {"c", "b", "a"};
    REQUIRE_INT(enter_all(backwards, SEVERAL, false, &Others), ZKL_OK);
}

static size_t grants_of(const struct owner *owners) {
    size_t count = 0;
    for (size_t i = 0; owners != NULL && i < SEVERAL; i++)
        count += owners[i].grants;
    return count;
}

static bool is_all_or_none(void) {
    return grants_of(Owners) % SEVERAL == 0 && grants_of(Others) % SEVERAL == 0;
}

/* All hold, or have gone. */
static bool are_at_end(const struct owner *owners) {
    for (size_t i = 0; i < SEVERAL; i++)
        if (owners[i].member != NULL && !zkli_member_is_held(owners[i].member))
            return false;
    return true;
}

static void release_those(struct owner *owners) {
    for (size_t i = 0; i < SEVERAL; i++)
        if (owners[i].member != NULL && zkli_member_is_held(owners[i].member))
            release(&owners[i]);
}

static void delete_one(void) {
    struct owner *owners = Others != NULL && draw(2) == 0 ? Others : Owners;
    struct zkli_member *m = owners[draw(SEVERAL)].member;
    char path[ZKLI_PATH_MAX];
    if (m == NULL || m->core.node[0] == '\0' || zkli_member_is_held(m))
        return;
    zkli_dir_child_path(path, m->dir, m->core.node);
    if (tiny_find(&Bench.server, path) != NULL)
        delete_node(path);
}

static void refuse_next(void) {
    struct request request = take(0);
    answer(&request, ZKLI_RESULT_AGAIN);
}

/* Deletes that were done, and their replies lost with the connection: behind the next one their
 * watches fire. */
static struct {
    size_t count;
    char paths[DONE_MAX][ZKLI_PATH_MAX];
} Missed;

static void cut_some(void) {
    const size_t done = draw(DONE_MAX + 1);
    for (size_t i = 0; i < done && i < Bench.request_count; i++) {
        const struct request *request = &Bench.requests[i];
        const struct node *node = tiny_find(&Bench.server, request->path);
        if (request->kind == REMOVE && node != NULL && node->is_watched && Missed.count < DONE_MAX)
            (void)snprintf(Missed.paths[Missed.count++], ZKLI_PATH_MAX, "%s", request->path);
    }
    cut(done);
}

static void end_session(void) {
    Missed.count = 0;
    expire();
}

static void reconnect(void) {
    if (Bench.engine->succession.count > 0)
        connect_successor();
    if (zkli_is_connected(Bench.engine) || Bench.engine->port == NULL)
        return;
    bench_connect();
    while (Missed.count > 0)
        tell_watch(Missed.paths[--Missed.count], ZKLI_WATCH_DELETED);
}

static void step(bool has_abandon) {
    unsigned what = draw(40);
    if (what == 0 && Missed.count == 0)
        cut_some();
    else if (what == 1 && zkli_is_connected(Bench.engine))
        end_session();
    else if (what == 2)
        delete_one();
    else if (what == 3 && Bench.request_count > 0)
        refuse_next();
    else if (what == 4)
        Bench.refused = draw(3) == 0 ? 1u << draw(KINDS) : 0;
    else if (what == 5 && has_abandon && Owners[0].member != NULL)
        abandon(&Owners[0]);
    else if (what < 10)
        advance((1 + draw(30)) * MS);
    else if (what < 13)
        reconnect();
    else if (Bench.request_count > 0)
        serve_next();
}

static void come_to_the_end(void) {
    Bench.refused = 0;
    for (int i = 0; i < 300 && !are_at_end(Owners); i++) {
        reconnect();
        serve_all();
        release_those(Others); /* if they were first */
        advance(100 * MS);
    }
    serve_all();
}

static bool is_granted(void) {
    for (size_t i = 0; i < SEVERAL; i++)
        if (Owners[i].grants != 1 || Owners[i].member == NULL ||
            !zkli_uuid_is_same(Owners[i].member->core.uuid, Owners[0].member->core.uuid) ||
            zkli_member_token(Owners[i].member) != zkli_member_token(Owners[0].member))
            return false;
    return true;
}

static bool is_failed(void) {
    for (size_t i = 0; i < SEVERAL; i++)
        if (Owners[i].member != NULL || Owners[i].error == ZKL_OK ||
            Owners[i].error != Owners[0].error)
            return false;
    return grants() == 0;
}

static struct { size_t granted, failed, transactions; } Ends;

/* The others' turn has come, or had. */
static bool do_others_end(void) {
    release_those(Owners);
    for (int i = 0; i < 300 && grants_of(Others) == 0; i++) {
        reconnect();
        serve_all();
        advance(100 * MS);
    }
    return grants_of(Others) == SEVERAL;
}

/* False: it broke a rule. */
static bool walk(unsigned number, bool is_try, bool has_abandon) {
    bool is_good = true;
    State = number;
    Others = NULL;
    Missed.count = 0;
    bench_begin();
    if (draw(3) != 0)
        plant_directories();
    begin_several(is_try);
    for (unsigned i = 0, others_at = draw(STEPS); i < STEPS && grants() == 0; i++) {
        if (i == others_at)
            begin_others();
        step(has_abandon);
        is_good = is_good && is_all_or_none();
    }
    if (Others == NULL)
        begin_others();
    come_to_the_end();
    is_good = is_good && (grants() == 0 ? is_failed() : is_granted());
    is_good = is_good && (grants() != 0 || has_abandon || is_try);
    Ends.granted += grants() == SEVERAL;
    Ends.failed += grants() == 0;
    Ends.transactions += Bench.sent[MULTI];
    is_good = do_others_end() && is_good && is_all_or_none();
    release_those(Others);
    reconnect();
    pass(2 * T_MS * MS); /* what nobody knows of is deleted */
    is_good = is_good && nodes() == 0;
    end_all();
    return is_good;
}

static void a_walk_ends_with_all_or_none(void) {
    for (unsigned number = 0; number < WALKS; number++)
        if (!walk(number, number / 2 % 2 == 1, number % 2 == 1)) {
            test_note("walk %u", number);
            CHECK(false);
        }
    test_note("%zu granted, %zu failed, %zu transactions", Ends.granted, Ends.failed,
              Ends.transactions);
    CHECK(Ends.granted > WALKS / 2 && Ends.failed > 0);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a walk ends with all or none", a_walk_ends_with_all_or_none},
    };
    return TEST_MAIN(argc, argv, "engine_groups_walks", cases);
}
