/* Of engine_bench.h: the server's part of transactions. */
#include "unit/engine_bench.h"

bool has_only(const struct request *request, enum zkli_op_type type) {
    if (request->kind != MULTI || request->op_count > BENCH_OPS_MAX)
        return false;
    for (size_t i = 0; i < request->op_count; i++) {
        enum zkli_op_type its = request->ops[i].type;
        if (its != type && (type != ZKLI_OP_SET || its != ZKLI_OP_CHECK))
            return false;
    }
    return true;
}

/* With data at most in one of them. */
static enum zkli_result serve_sets(const struct request *request) {
    for (size_t i = 0; i < request->op_count; i++) {
        const struct bench_op *op = &request->ops[i];
        const struct node *node = tiny_find(&Bench.server, op->path);
        if (node == NULL)
            return ZKLI_RESULT_NO_NODE;
        if (op->version >= 0 && op->version != node->version)
            return ZKLI_RESULT_BAD_VERSION;
    }
    for (size_t i = 0; i < request->op_count; i++)
        if (request->ops[i].type == ZKLI_OP_SET)
            tiny_set(tiny_find(&Bench.server, request->ops[i].path), request->data,
                     request->length);
    return ZKLI_RESULT_OK;
}

/* All nodes have the transaction's number, which the reply does not say. */
static struct zkli_reply serve_creates(const struct request *request) {
    static struct zkli_op_result results[BENCH_OPS_MAX];
    struct zkli_reply reply = {.path = "", .data = "", .refused = request->op_count};
    for (size_t i = 0; i < request->op_count; i++)
        if (!tiny_has_parent(&Bench.server, request->ops[i].path)) {
            reply.result = ZKLI_RESULT_NO_NODE;
            reply.refused = i;
            return reply;
        }
    const int64_t zxid = Bench.server.zxid;
    for (size_t i = 0; i < request->op_count; i++) {
        const struct bench_op *op = &request->ops[i];
        Bench.server.zxid = zxid;
        struct tiny_answer made = tiny_serve(&Bench.server, CREATE, op->path, Bench.last_session,
                                             false);
        struct node *node = tiny_find(&Bench.server, made.reply.path);
        tiny_set(node, op->data, op->length);
        node->version = 0;
        results[i].path = node->path;
    }
    reply.op_results = results;
    return reply;
}

struct tiny_answer serve_transaction(const struct request *request) {
    struct tiny_answer served = {.reply = {.path = "", .data = ""}};
    if (request->ops[0].type == ZKLI_OP_CREATE)
        served.reply = serve_creates(request);
    else
        served.reply.result = serve_sets(request);
    return served;
}
