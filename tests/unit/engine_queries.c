/* Of engine_bench.h: queries, and a node that no contender has made. */
#include "unit/engine_bench.h"

static void on_done(struct zkli_query *query, const struct zkli_reply *reply) {
    struct asked *asked = ZKLI_CONTAINER(query, struct asked, query);
    asked->done++;
    asked->replies += reply != NULL;
}

static void ask_query(struct zkli_query *query) {
    zkli_engine_enter(Bench.engine);
    zkli_query_ask(Bench.engine, query);
    settle();
}

static void prepare(struct asked *asked, enum zkli_query_kind kind) {
    *asked = (struct asked){.query = {.kind = kind, .path = "/locks/a", .done = on_done}};
}

void ask(struct asked *asked, enum zkli_query_kind kind) {
    prepare(asked, kind);
    ask_query(&asked->query);
}

void ask_later(struct asked *asked, enum zkli_query_kind kind) {
    prepare(asked, kind);
    asked->query.is_sent = true; /* before, and refused */
    zkli_engine_enter(Bench.engine);
    zkli_query_ask_later(Bench.engine, &asked->query);
    settle();
}

static void ask_op(struct asked *asked, const struct zkli_op *op, const char *path, size_t bytes) {
    *asked = (struct asked){.op = *op};
    (void)snprintf(asked->path, sizeof(asked->path), "%s", path);
    asked->op.path = asked->path;
    asked->query = (struct zkli_query){.kind = ZKLI_QUERY_MULTI,
                                       .ops = &asked->op,
                                       .op_count = 1,
                                       .bytes = bytes,
                                       .done = on_done};
    ask_query(&asked->query);
}

void ask_write(struct asked *asked, const char *path, size_t bytes) {
    ask_op(asked, &(struct zkli_op){.type = ZKLI_OP_SET, .version = -1}, path, bytes);
}

void ask_create(struct asked *asked, const char *path, int32_t flags) {
    ask_op(asked, &(struct zkli_op){.type = ZKLI_OP_CREATE, .flags = flags}, path, 0);
}

void check_asked(const struct asked *asked, size_t done, size_t replies) {
    CHECK_INT(asked->done, done);
    CHECK_INT(asked->replies, replies);
}

const char *plant_with_our_tag(int64_t owner) {
    static char path[ZKLI_PATH_MAX];
    (void)snprintf(path, sizeof(path), "/locks/a/_c_%.13s-0000-0000-000000000000-lock-0000000900",
                   Bench.engine->tag);
    (void)tiny_add(&Bench.server, path, owner);
    return path;
}
