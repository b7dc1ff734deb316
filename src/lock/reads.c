/* reads - see reads.h. */
#include "lock/reads.h"

#include <stdlib.h>
#include <string.h>

static void free_slot(struct zkli_reads *reads, struct zkli_read *read) {
    free(read->path);
    read->path = NULL;
    reads->under_way--;
}

static void finish(struct zkli_reads *reads, zkl_err err) {
    for (size_t i = 0; i < ZKLI_READS_AT_ONCE; i++) {
        if (reads->slots[i].path == NULL)
            continue;
        zkli_query_forget(reads->operation.session->engine, &reads->slots[i].query);
        free_slot(reads, &reads->slots[i]);
    }
    zkli_operation_finish(&reads->operation, err);
}

static void on_reply(struct zkli_query *query, const struct zkli_reply *reply);

static struct zkli_read *slot_for(struct zkli_reads *reads) {
    for (size_t i = 0; i < ZKLI_READS_AT_ONCE; i++)
        if (reads->slots[i].path == NULL)
            return &reads->slots[i];
    return NULL;
}

static void ask_for(struct zkli_reads *reads, struct zkli_read *read) {
    read->query.path = read->path;
    reads->under_way++;
    zkli_query_ask(reads->operation.session->engine, &read->query);
}

/* Asks for what there is to read. */
static void ask(struct zkli_reads *reads) {
    struct zkli_read *read;
    while ((read = slot_for(reads)) != NULL) {
        zkl_err err = ZKL_OK;
        *read = (struct zkli_read){.reads = reads, .query = {.done = on_reply}};
        read->path = reads->next(reads, read, &err);
        if (err != ZKL_OK) {
            finish(reads, err);
            return;
        }
        if (read->path == NULL)
            break;
        ask_for(reads, read);
    }
    if (reads->under_way == 0)
        finish(reads, ZKL_OK);
}

static zkl_err error_of(const struct zkli_reads *reads, const struct zkli_reply *reply) {
    if (reply == NULL && zkli_engine_is_draining(reads->operation.session->engine))
        return ZKL_CLOSED;
    if (reply == NULL)
        return ZKL_UNREACHABLE;
    switch (reply->result) {
    case ZKLI_RESULT_OK:
    case ZKLI_RESULT_NO_NODE:
        return ZKL_OK;
    case ZKLI_RESULT_NOMEM:
        return ZKL_NOMEM;
    case ZKLI_RESULT_DENIED:
        return ZKL_DENIED;
    case ZKLI_RESULT_EXISTS:
    case ZKLI_RESULT_LOST:
    case ZKLI_RESULT_AGAIN:
    case ZKLI_RESULT_ERROR:
    case ZKLI_RESULT_BAD_VERSION:
        break;
    }
    return ZKL_SERVER;
}

/* What is missing may be missing with the chroot: the root of it is looked for, once. */
static zkl_err look_at_chroot(struct zkli_reads *reads) {
    if (reads->has_looked_at_chroot ||
        zkli_engine_chroot_length(reads->operation.session->engine) == 0)
        return ZKL_OK;
    struct zkli_read *read = slot_for(reads);
    *read = (struct zkli_read){
        .reads = reads, .is_of_chroot = true, .query = {.done = on_reply}, .path = strdup("/")};
    if (read->path == NULL)
        return ZKL_NOMEM;
    reads->has_looked_at_chroot = true;
    ask_for(reads, read);
    return ZKL_OK;
}

static void log_refusal(const struct zkli_reads *reads, const struct zkli_read *read,
                        const struct zkli_reply *reply) {
    zkli_engine_log(reads->operation.session->engine, ZKL_LOG_ERROR,
                    "the server refuses to let us read %s (code %d)", read->path, reply->code);
}

static void on_reply(struct zkli_query *query, const struct zkli_reply *reply) {
    struct zkli_read *read = ZKLI_CONTAINER(query, struct zkli_read, query);
    struct zkli_reads *reads = read->reads;
    zkl_err err = error_of(reads, reply);
    if (err == ZKL_DENIED || err == ZKL_SERVER)
        log_refusal(reads, read, reply);
    bool is_taken = read->is_of_chroot || reads->takes_denials;
    if (err == ZKL_DENIED && is_taken) /* it is there */
        err = ZKL_OK;
    bool is_missing = err == ZKL_OK && reply->result == ZKLI_RESULT_NO_NODE;
    if (err == ZKL_OK && !read->is_of_chroot)
        err = reads->got(reads, read, reply);
    else if (is_missing)
        err = ZKL_NO_CHROOT;
    free_slot(reads, read);
    if (err == ZKL_OK && is_missing)
        err = look_at_chroot(reads);
    if (err != ZKL_OK)
        finish(reads, err);
    else
        ask(reads);
}

static void on_deadline(void *arg) {
    finish(arg, ZKL_UNREACHABLE);
}

/* The session stays until the call is through, though it may be closed meanwhile. */
static zkl_err run(struct zkli_reads *reads, struct zkl_session *s) {
    if (!zkli_operation_init(&reads->operation, s, on_deadline, reads))
        return ZKL_NOMEM;
    zkli_session_lock(s);
    zkl_err err = ZKL_CLOSED;
    if (zkli_engine_state(s->engine) != ZKL_STATE_CLOSED) {
        zkli_operation_begin(&reads->operation, zkli_operation_until_ns(s, s->connect_timeout_ms));
        ask(reads);
        err = zkli_operation_wait(&reads->operation);
    }
    zkli_session_unlock(s);
    zkli_operation_fini(&reads->operation);
    return err;
}

zkl_err zkli_reads_run(struct zkli_reads *reads, struct zkl_session *s) {
    if (!zkli_session_begin(s))
        return ZKL_FORKED;
    zkl_err err = zkli_in_callback() ? ZKL_IN_CALLBACK : run(reads, s);
    zkli_session_lock(s);
    zkli_session_unlock_and_release(s);
    return err;
}
