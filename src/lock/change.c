/* change - see change.h. */
#include "lock/change.h"

void zkli_change_forget(struct zkli_change *c) {
    zkli_query_forget(c->session->engine, &c->query);
}

/* If nobody waits for it, it may be begun again by what is told. */
static void finish(struct zkli_change *c, zkl_err result, bool is_there) {
    bool is_waited_for = c->is_waited_for;
    zkli_change_forget(c);
    if (c->done != NULL)
        c->done(c, result, is_there);
    if (is_waited_for)
        zkli_operation_finish(&c->operation, result);
}

static void on_deadline(struct zkli_timer *timer) {
    finish(ZKLI_CONTAINER(timer, struct zkli_change, operation.deadline), ZKL_UNREACHABLE, true);
}

static void prepare_read(struct zkli_change *c) {
    c->query.kind = ZKLI_QUERY_GET;
    c->query.path = c->path;
}

static void ask_to_read(struct zkli_change *c) {
    prepare_read(c);
    zkli_query_ask(c->session->engine, &c->query);
}

static void on_read(struct zkli_change *c, const struct zkli_reply *reply) {
    if (!c->compute(c, reply)) {
        finish(c, c->result, true);
        return;
    }
    c->op = (struct zkli_op){.type = c->is_removal ? ZKLI_OP_DELETE : ZKLI_OP_SET,
                             .path = c->path,
                             .data = c->data,
                             .length = (int32_t)c->length,
                             .version = reply->stat.version};
    c->query.kind = ZKLI_QUERY_MULTI;
    c->query.ops = &c->op;
    c->query.op_count = 1;
    zkli_query_ask(c->session->engine, &c->query);
}

static void on_refused(struct zkli_change *c, const struct zkli_reply *reply) {
    const char *verb = c->query.kind == ZKLI_QUERY_GET ? "read"
                       : c->is_removal                 ? "delete the node with"
                                                       : "set";
    zkli_engine_log(c->session->engine, ZKL_LOG_ERROR,
                    "the server refuses to %s %s at %s (code %d)", verb, c->what, c->path,
                    reply->code);
    finish(c, reply->result == ZKLI_RESULT_DENIED ? ZKL_DENIED : ZKL_SERVER, true);
}

/* Not sent, or refused for the moment. The query stays the engine's: the end of all sessions ends
 * it. */
static void try_later(struct zkli_change *c) {
    struct zkli_engine *e = c->session->engine;
    zkl_err err = zkli_engine_end_error(e);
    prepare_read(c);
    if (err == ZKL_OK)
        zkli_query_ask_later(e, &c->query);
    else
        finish(c, err, true);
}

static void on_answer(struct zkli_query *query, const struct zkli_reply *reply) {
    struct zkli_change *c = ZKLI_CONTAINER(query, struct zkli_change, query);
    bool is_read = query->kind == ZKLI_QUERY_GET;
    if (reply == NULL && !query->is_sent) {
        try_later(c);
        return;
    }
    switch (reply == NULL ? ZKLI_RESULT_LOST : reply->result) {
    case ZKLI_RESULT_OK:
        if (is_read)
            on_read(c, reply);
        else
            finish(c, ZKL_OK, true);
        break;
    case ZKLI_RESULT_NO_NODE:
        if (is_read)
            finish(c, ZKL_OK, false);
        else
            ask_to_read(c);
        break;
    case ZKLI_RESULT_LOST:
    case ZKLI_RESULT_BAD_VERSION:
        ask_to_read(c);
        break;
    case ZKLI_RESULT_AGAIN:
    case ZKLI_RESULT_NOMEM:
        try_later(c);
        break;
    case ZKLI_RESULT_EXISTS:
    case ZKLI_RESULT_UNDONE:
    case ZKLI_RESULT_DENIED:
    case ZKLI_RESULT_ERROR:
        on_refused(c, reply);
        break;
    }
}

void zkli_change_rest(struct zkli_change *c) {
    zkli_query_rest(c->session->engine, &c->query);
}

void zkli_change_begin(struct zkli_change *c) {
    zkli_change_forget(c);
    c->query = (struct zkli_query){.done = on_answer};
    ask_to_read(c);
}

void zkli_change_start(struct zkli_change *c, int64_t until_ns) {
    c->is_waited_for = true;
    zkli_operation_init(&c->operation, c->session, on_deadline);
    zkli_operation_begin(&c->operation, until_ns);
    zkli_change_begin(c);
}

zkl_err zkli_change_wait(struct zkli_change *c) {
    zkl_err err = zkli_operation_wait(&c->operation);
    zkli_operation_fini(&c->operation);
    return err;
}

zkl_err zkli_change_run(struct zkli_change *c, int64_t until_ns) {
    zkli_change_start(c, until_ns);
    return zkli_change_wait(c);
}
