/*
 * guard_node - guarded writes of a process that does not hold: it names the nodes of another
 * process's hold.
 *
 * Each of these nodes is read first. By its czxid it has to be the one that is meant. And it must
 * not be marked by zkl_break, for that ends the hold while the node is still there. Then one
 * transaction checks that each has the version that was read, and writes. A mark raises the
 * version, so a write cannot pass it. Other fields of a node's data raise it, too: then the node
 * is read again.
 *
 * The server that is read from may not have heard of a new node yet. So a node that is missing
 * there is looked for by a transaction, which the leader answers. Behind that answer the server
 * has it.
 *
 * What has been sent is not sent again. Other processes may write under the same hold, and no order
 * is known among them: a second attempt could undo what one of them has written in between.
 */
#include "lock/lock.h"

#include <stdint.h>
#include <string.h>

#include "base/options.h"
#include "core/admission.h"
#include "core/node_data.h"

_Static_assert(ZKL_ALL_MAX + 1 <= ZKLI_TRANSACTION_OPS_MAX, "a check for each node, and the write");

/* So often all of it may begin anew, because a node of the hold has changed. A holder's library
 * changes it a few times in a hold. */
#define LOOKS_MAX 64

struct node_write {
    struct zkli_operation operation;
    struct zkli_query query;
    zkl_guard guard;
    struct zkli_op ops[ZKL_ALL_MAX + 1]; /* the checks, and the write */
    size_t bytes;                        /* of the whole, as sent */
    size_t at;                           /* the node that is read, or looked for */
    unsigned looks;
    int version; /* OK: that it has now */
};

static struct zkli_op *write_of(struct node_write *w) {
    return &w->ops[w->guard.count];
}

static bool is_write(const struct zkli_query *query, const struct node_write *w) {
    return query->kind == ZKLI_QUERY_MULTI && query->op_count == w->guard.count + 1;
}

static void finish(struct node_write *w, zkl_err result) {
    zkli_query_forget(w->operation.session->engine, &w->query);
    zkli_operation_finish(&w->operation, result);
}

static void on_deadline(struct zkli_timer *timer) {
    struct node_write *w = ZKLI_CONTAINER(timer, struct node_write, operation.deadline);
    bool may_be_done = is_write(&w->query, w) && w->query.is_sent;
    finish(w, may_be_done ? ZKL_UNSURE : ZKL_UNREACHABLE);
}

static void refuse(struct node_write *w, const char *path, const struct zkli_reply *reply) {
    zkli_engine_log(w->operation.session->engine, ZKL_LOG_ERROR,
                    "the server refuses a guarded write to %s because of %s (code %d)",
                    write_of(w)->path, path, reply->code);
    finish(w, reply->result == ZKLI_RESULT_DENIED ? ZKL_DENIED : ZKL_SERVER);
}

/* ---- What is asked ---- */

static void ask_to_write(struct node_write *w) {
    w->query.kind = ZKLI_QUERY_MULTI;
    w->query.ops = w->ops;
    w->query.op_count = w->guard.count + 1;
    w->query.bytes = w->bytes;
    zkli_query_ask(w->operation.session->engine, &w->query);
}

static void ask_to_read(struct node_write *w) {
    w->query.kind = ZKLI_QUERY_GET;
    w->query.path = w->guard.nodes[w->at];
    w->query.bytes = 0;
    zkli_query_ask(w->operation.session->engine, &w->query);
}

/* Whatever its version is: the leader says whether it is there. */
static void ask_for_node(struct node_write *w) {
    w->ops[w->at].version = -1;
    w->query.kind = ZKLI_QUERY_MULTI;
    w->query.ops = &w->ops[w->at];
    w->query.op_count = 1;
    w->query.bytes = 0;
    zkli_query_ask(w->operation.session->engine, &w->query);
}

static void go_on(struct node_write *w) {
    if (w->at < w->guard.count)
        ask_to_read(w);
    else
        ask_to_write(w);
}

static void look_again(struct node_write *w, const struct zkli_reply *reply) {
    if (++w->looks > LOOKS_MAX)
        refuse(w, w->guard.nodes[w->at], reply);
    else
        ask_to_read(w);
}

/* It was not done. */
static void try_later(struct node_write *w) {
    struct zkli_engine *e = w->operation.session->engine;
    zkl_err err = zkli_engine_end_error(e);
    if (err == ZKL_OK)
        zkli_query_ask_later(e, &w->query);
    else
        finish(w, err);
}

/* ---- Answers ---- */

/* A reader that was a writer has the writer's token. */
static bool is_meant(const zkl_guard *guard, const struct zkli_reply *reply,
                     const struct zkli_node_data *data) {
    return guard->token == 0 || guard->token == reply->stat.czxid || guard->token == data->token;
}

static void on_read(struct node_write *w, const struct zkli_reply *reply) {
    struct zkli_node_data data;
    (void)zkli_node_data_parse(&data, reply->data, reply->data_length); /* another's has no mark */
    if (data.is_broken || !is_meant(&w->guard, reply, &data)) {
        finish(w, ZKL_LOST);
        return;
    }
    w->ops[w->at].version = reply->stat.version;
    w->at++;
    go_on(w);
}

static void on_written(struct node_write *w, const struct zkli_reply *reply) {
    const struct zkli_stat *stat = reply->op_results[w->guard.count].stat;
    w->version = stat == NULL ? 0 : stat->version; /* a create has none */
    finish(w, ZKL_OK);
}

/* By an operation of the transaction that writes. */
static void on_write_refused(struct node_write *w, const struct zkli_reply *reply) {
    bool is_by_guard = reply->refused < w->guard.count;
    if (is_by_guard && reply->result == ZKLI_RESULT_NO_NODE) {
        finish(w, ZKL_LOST);
    } else if (is_by_guard && reply->result == ZKLI_RESULT_BAD_VERSION) {
        w->at = reply->refused;
        look_again(w, reply);
    } else if (is_by_guard) {
        refuse(w, w->guard.nodes[reply->refused], reply);
    } else if (reply->result == ZKLI_RESULT_NO_NODE) {
        finish(w, ZKL_NO_NODE);
    } else if (reply->result == ZKLI_RESULT_BAD_VERSION || reply->result == ZKLI_RESULT_EXISTS) {
        finish(w, ZKL_BAD_VERSION);
    } else {
        refuse(w, write_of(w)->path, reply);
    }
}

static void on_refused(struct node_write *w, const struct zkli_reply *reply) {
    if (is_write(&w->query, w))
        on_write_refused(w, reply);
    else if (reply->result != ZKLI_RESULT_NO_NODE)
        refuse(w, w->guard.nodes[w->at], reply);
    else if (w->query.kind == ZKLI_QUERY_GET)
        ask_for_node(w);
    else
        finish(w, ZKL_LOST);
}

static void on_answer(struct zkli_query *query, const struct zkli_reply *reply) {
    struct node_write *w = ZKLI_CONTAINER(query, struct node_write, query);
    bool is_lost = reply == NULL || reply->result == ZKLI_RESULT_LOST;
    if (is_lost && query->is_sent && is_write(query, w))
        finish(w, ZKL_UNSURE);
    else if (is_lost || reply->result == ZKLI_RESULT_AGAIN || reply->result == ZKLI_RESULT_NOMEM)
        try_later(w); /* NOMEM is a read's */
    else if (reply->result != ZKLI_RESULT_OK)
        on_refused(w, reply);
    else if (is_write(query, w))
        on_written(w, reply);
    else if (query->kind == ZKLI_QUERY_GET)
        on_read(w, reply);
    else
        look_again(w, reply);
}

/* ---- The call ---- */

/* Else a node that stays for good would guard for good. */
static bool is_contenders(const char *path) {
    struct zkli_sibling sibling;
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    return slash != NULL && strlen(slash + 1) <= ZKLI_CHILD_MAX &&
           zkli_sibling_parse(&sibling, slash + 1);
}

static bool guard_is_valid(const zkl_guard *guard) {
    static const uint8_t zeros[sizeof(guard->reserved)];
    if (memcmp(guard->reserved, zeros, sizeof(zeros)) != 0 || guard->token < 0)
        return false;
    if (guard->unguarded)
        return guard->count == 0 && guard->nodes == NULL && guard->token == 0;
    if (guard->nodes == NULL || guard->count == 0 || guard->count > ZKL_ALL_MAX)
        return false;
    for (size_t i = 0; i < guard->count; i++)
        if (!is_contenders(guard->nodes[i]))
            return false;
    return true;
}

static struct zkli_op op_of(const char *path, const void *data, size_t len, int version) {
    bool is_create = version == ZKL_ABSENT;
    return (struct zkli_op){.type = is_create ? ZKLI_OP_CREATE : ZKLI_OP_SET,
                            .path = path,
                            .data = len > 0 ? data : "",
                            .length = (int32_t)len,
                            .version = is_create ? 0 : version,
                            .has_our_acl = is_create};
}

static zkl_err run(struct node_write *w, zkl_session *s, int64_t timeout_ms) {
    zkl_err err = zkli_multi_check(w->ops, w->guard.count + 1, zkli_engine_chroot_length(s->engine),
                                   &w->bytes);
    if (err != ZKL_OK)
        return err;
    zkli_operation_init(&w->operation, s, on_deadline);
    zkli_session_lock(s);
    err = zkli_engine_end_error(s->engine);
    if (err == ZKL_OK) {
        zkli_operation_begin(&w->operation, zkli_operation_until_ns(s, timeout_ms));
        go_on(w);
        err = zkli_operation_wait(&w->operation);
    }
    zkli_session_unlock(s);
    zkli_operation_fini(&w->operation);
    return err;
}

zkl_err zkl_guarded_set_by_node(zkl_session *s, const zkl_guard *guard, const char *path,
                                const void *data, size_t len, int version, int64_t timeout_ms,
                                int *ret_version) {
    struct node_write w = {.query = {.done = on_answer}};
    if (s == NULL || guard == NULL || !zkli_options_copy(&w.guard, sizeof(w.guard), guard) ||
        !guard_is_valid(&w.guard) || path == NULL || (data == NULL && len > 0) ||
        len > ZKL_GUARDED_SET_MAX || version < ZKL_ABSENT || !zkli_timeout_is_valid(timeout_ms))
        return ZKL_INVALID;
    for (size_t i = 0; i < w.guard.count; i++)
        w.ops[i] = (struct zkli_op){.type = ZKLI_OP_CHECK, .path = w.guard.nodes[i], .version = -1};
    *write_of(&w) = op_of(path, data, len, version);
    if (!zkli_session_begin(s))
        return ZKL_FORKED;
    zkl_err err = zkli_in_callback() ? ZKL_IN_CALLBACK : run(&w, s, timeout_ms);
    zkli_session_lock(s);
    zkli_session_unlock_and_release(s);
    if (err == ZKL_OK && ret_version != NULL)
        *ret_version = w.version;
    return err;
}
