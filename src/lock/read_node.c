/*
 * read_node - the data of one znode, as of the call or later.
 *
 * A server may be behind: a read by another session need not see what a holder has just written. So
 * a barrier goes before the read, in the same session. On a later connection of that session a
 * server that has not seen the barrier does not let the client in (its last zxid).
 */
#include "lock/lock.h"

#include <string.h>

struct node_read {
    struct zkli_operation operation;
    struct zkli_query query;
    const char *path;
    void *buf;
    size_t size;
    int64_t session_id; /* in which the barrier was answered */
    size_t length;
    int version;
};

static void finish(struct node_read *r, zkl_err result) {
    zkli_query_forget(r->operation.session->engine, &r->query);
    zkli_operation_finish(&r->operation, result);
}

static void on_deadline(struct zkli_timer *timer) {
    finish(ZKLI_CONTAINER(timer, struct node_read, operation.deadline), ZKL_UNREACHABLE);
}

static void prepare_barrier(struct node_read *r) {
    r->query.kind = ZKLI_QUERY_BARRIER;
    r->query.bytes = 0;
}

static void ask_to_read(struct node_read *r) {
    r->session_id = zkli_engine_session_id(r->operation.session->engine);
    r->query.kind = ZKLI_QUERY_GET;
    r->query.path = r->path;
    r->query.bytes = ZKLI_TRANSACTION_MAX; /* heartbeats stand behind what comes */
    zkli_query_ask(r->operation.session->engine, &r->query);
}

/* Another session may be with a server that is further behind. */
static void begin_again(struct node_read *r) {
    struct zkli_engine *e = r->operation.session->engine;
    zkl_err err = zkli_engine_end_error(e);
    prepare_barrier(r);
    if (err == ZKL_OK)
        zkli_query_ask_later(e, &r->query);
    else
        finish(r, err);
}

static void on_read(struct node_read *r, const struct zkli_reply *reply) {
    r->length = reply->data_length;
    r->version = reply->stat.version;
    if (r->size > 0 && r->length > 0)
        memcpy(r->buf, reply->data, r->length < r->size ? r->length : r->size);
    finish(r, ZKL_OK);
}

static void on_refused(struct node_read *r, const struct zkli_reply *reply) {
    zkli_engine_log(r->operation.session->engine, ZKL_LOG_ERROR,
                    "the server refuses to let us read %s (code %d)", r->path, reply->code);
    finish(r, reply->result == ZKLI_RESULT_DENIED ? ZKL_DENIED : ZKL_SERVER);
}

static enum zkli_result result_of(const struct node_read *r, const struct zkli_reply *reply) {
    bool is_get = r->query.kind == ZKLI_QUERY_GET;
    int64_t session_id = zkli_engine_session_id(r->operation.session->engine);
    bool is_usable = reply != NULL && (!is_get || session_id == r->session_id);
    return is_usable ? reply->result : ZKLI_RESULT_LOST;
}

static void on_answer(struct zkli_query *query, const struct zkli_reply *reply) {
    struct node_read *r = ZKLI_CONTAINER(query, struct node_read, query);
    bool is_get = query->kind == ZKLI_QUERY_GET;
    switch (result_of(r, reply)) {
    case ZKLI_RESULT_OK:
        if (is_get)
            on_read(r, reply);
        else
            ask_to_read(r);
        break;
    case ZKLI_RESULT_NO_NODE:
        finish(r, ZKL_NO_NODE);
        break;
    case ZKLI_RESULT_LOST:
    case ZKLI_RESULT_AGAIN:
        begin_again(r);
        break;
    case ZKLI_RESULT_NOMEM:
        finish(r, ZKL_NOMEM);
        break;
    case ZKLI_RESULT_EXISTS:
    case ZKLI_RESULT_UNDONE:
    case ZKLI_RESULT_BAD_VERSION:
    case ZKLI_RESULT_DENIED:
    case ZKLI_RESULT_ERROR:
        on_refused(r, reply);
        break;
    }
}

static zkl_err run(struct node_read *r, zkl_session *s, int64_t timeout_ms) {
    zkli_operation_init(&r->operation, s, on_deadline);
    zkli_session_lock(s);
    zkl_err err = zkli_engine_end_error(s->engine);
    if (err == ZKL_OK) {
        zkli_operation_begin(&r->operation, zkli_operation_until_ns(s, timeout_ms));
        prepare_barrier(r);
        zkli_query_ask(s->engine, &r->query);
        err = zkli_operation_wait(&r->operation);
    }
    zkli_session_unlock(s);
    zkli_operation_fini(&r->operation);
    return err;
}

/* As a transaction's: so that no packet is too long for the servers. */
static zkl_err check_path(const zkl_session *s, const char *path) {
    const struct zkli_op op = {.type = ZKLI_OP_CHECK, .path = path, .version = -1};
    size_t bytes;
    return zkli_multi_check(&op, 1, zkli_engine_chroot_length(s->engine), &bytes);
}

zkl_err zkl_read_node(zkl_session *s, const char *path, void *buf, size_t size, size_t *ret_len,
                      int *ret_version, int64_t timeout_ms) {
    struct node_read r = {.query = {.done = on_answer}, .path = path, .buf = buf, .size = size};
    if (s == NULL || path == NULL || ret_len == NULL || (buf == NULL && size > 0) ||
        !zkli_timeout_is_valid(timeout_ms))
        return ZKL_INVALID;
    if (!zkli_session_begin(s))
        return ZKL_FORKED;
    zkl_err err = check_path(s, path);
    if (err == ZKL_OK)
        err = zkli_in_callback() ? ZKL_IN_CALLBACK : run(&r, s, timeout_ms);
    zkli_session_lock(s);
    zkli_session_unlock_and_release(s);
    if (err != ZKL_OK)
        return err;
    *ret_len = r.length;
    if (ret_version != NULL)
        *ret_version = r.version;
    return ZKL_OK;
}
