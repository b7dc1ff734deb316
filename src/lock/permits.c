/*
 * permits - the call that changes the number of a semaphore's permits: it reads the data of the
 * directory, and sets them by their version, until that succeeds.
 *
 * The set is the same however often it is made. So a reply that was lost costs another round.
 */
#include "lock/lock.h"

#include "base/path.h"

/* On its caller's stack. */
struct resize {
    struct zkli_operation operation;
    struct zkli_query query;
    struct zkl_lock *lock;
    int permits;
    struct zkli_op set;
    char text[ZKLI_PERMITS_TEXT_MAX];
    char path[ZKLI_PATH_MAX];
};

static void finish(struct resize *r, zkl_err result) {
    zkli_query_forget(r->lock->session->engine, &r->query);
    zkli_operation_finish(&r->operation, result);
}

static void on_deadline(void *arg) {
    finish(arg, ZKL_UNREACHABLE);
}

static void prepare_read(struct resize *r) {
    r->query.kind = ZKLI_QUERY_GET;
    r->query.path = r->path;
}

static void ask_to_read(struct resize *r) {
    prepare_read(r);
    zkli_query_ask(r->lock->session->engine, &r->query);
}

static void ask_to_set(struct resize *r, const struct zkli_permits *recorded) {
    int max = recorded->max > r->permits ? recorded->max : r->permits;
    size_t length = zkli_permits_format(r->text, r->permits, max);
    r->set = (struct zkli_op){.type = ZKLI_OP_SET,
                              .path = r->path,
                              .data = r->text,
                              .length = (int32_t)length,
                              .version = recorded->version};
    r->query.kind = ZKLI_QUERY_MULTI;
    r->query.ops = &r->set;
    r->query.op_count = 1;
    zkli_query_ask(r->lock->session->engine, &r->query);
}

static void take_number(struct zkl_lock *l, int permits) {
    l->permits = permits;
    if (l->member != NULL)
        zkli_member_expect(l->member, permits);
}

/* A handle that follows what is recorded goes on to do so; where nothing is, its next acquire
 * records this number. */
static void finish_changed(struct resize *r, bool is_recorded) {
    if (!is_recorded || r->lock->permits != 0)
        take_number(r->lock, r->permits);
    finish(r, ZKL_OK);
}

static void on_read(struct resize *r, const struct zkli_reply *reply) {
    struct zkli_permits recorded = zkli_permits_parse(reply->data, reply->data_length,
                                                      reply->stat.czxid, reply->stat.version);
    if (recorded.state == ZKLI_PERMITS_OTHER)
        finish(r, ZKL_MISMATCH);
    else if (recorded.state == ZKLI_PERMITS_RECORDED && recorded.count == r->permits)
        finish_changed(r, true);
    else
        ask_to_set(r, &recorded);
}

static void on_refused(struct resize *r, const struct zkli_reply *reply) {
    zkli_engine_log(r->lock->session->engine, ZKL_LOG_ERROR,
                    "the server refuses to %s the number of permits at %s (code %d)",
                    r->query.kind == ZKLI_QUERY_GET ? "read" : "set", r->path, reply->code);
    finish(r, reply->result == ZKLI_RESULT_DENIED ? ZKL_DENIED : ZKL_SERVER);
}

/* ZKL_OK: there is a session, or another will come. */
static zkl_err end_of_session(const struct zkli_engine *e) {
    zkl_state state = zkli_engine_state(e);
    if (state == ZKL_STATE_CLOSED || zkli_engine_is_draining(e))
        return ZKL_CLOSED;
    return state == ZKL_STATE_AUTH_FAILED ? ZKL_AUTH_FAILED : ZKL_OK;
}

/* Not sent, or refused for the moment. The query stays the engine's: the end of all sessions ends
 * it. */
static void try_later(struct resize *r) {
    struct zkli_engine *e = r->lock->session->engine;
    zkl_err err = end_of_session(e);
    prepare_read(r);
    if (err == ZKL_OK)
        zkli_query_ask_later(e, &r->query);
    else
        finish(r, err);
}

static void on_answer(struct zkli_query *query, const struct zkli_reply *reply) {
    struct resize *r = ZKLI_CONTAINER(query, struct resize, query);
    bool is_read = query->kind == ZKLI_QUERY_GET;
    if (reply == NULL && !query->is_sent) {
        try_later(r);
        return;
    }
    switch (reply == NULL ? ZKLI_RESULT_LOST : reply->result) {
    case ZKLI_RESULT_OK:
        if (is_read)
            on_read(r, reply);
        else
            finish_changed(r, true);
        break;
    case ZKLI_RESULT_NO_NODE:
        if (is_read)
            finish_changed(r, false);
        else
            ask_to_read(r);
        break;
    case ZKLI_RESULT_LOST:
    case ZKLI_RESULT_BAD_VERSION:
        ask_to_read(r);
        break;
    case ZKLI_RESULT_AGAIN:
    case ZKLI_RESULT_NOMEM:
        try_later(r);
        break;
    case ZKLI_RESULT_EXISTS:
    case ZKLI_RESULT_UNDONE:
    case ZKLI_RESULT_DENIED:
    case ZKLI_RESULT_ERROR:
        on_refused(r, reply);
        break;
    }
}

static zkl_err check(const struct zkl_lock *l) {
    if (zkli_lock_is_closed(l))
        return ZKL_CLOSED;
    return l->kind == ZKLI_KIND_LEASE ? end_of_session(l->session->engine) : ZKL_UNSUPPORTED;
}

static zkl_err run(struct zkl_lock *l, int permits) {
    struct zkl_session *s = l->session;
    struct resize r = {.lock = l, .permits = permits, .query = {.done = on_answer}};
    if (!zkli_operation_init(&r.operation, s, on_deadline, &r))
        return ZKL_NOMEM;
    (void)zkli_path_join(r.path, sizeof(r.path), s->root, l->name); /* it fits: see zkli_dir_get */
    zkli_operation_begin(&r.operation, zkli_operation_until_ns(s, s->connect_timeout_ms));
    ask_to_read(&r);
    zkl_err err = zkli_operation_wait(&r.operation);
    zkli_operation_fini(&r.operation);
    return err;
}

zkl_err zkl_set_permits(zkl_lock *l, int permits) {
    if (permits < 1)
        return ZKL_INVALID;
    zkl_err err = zkli_lock_begin_blocking(l);
    if (err != ZKL_OK)
        return err;
    zkli_lock_enter(l);
    err = check(l);
    if (err == ZKL_OK)
        err = run(l, permits);
    zkli_lock_leave(l);
    return err;
}
