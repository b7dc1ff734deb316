/* reads - see reads.h. */
#include "lock/reads.h"

#include <stdlib.h>
#include <string.h>

/* ---- Replies: on the thread that delivers them, with the lock ---- */

/* The copy of a reply, in one allocation with the text that it points to. */
struct zkli_answer {
    struct zkli_reply reply;
    char *children[];
};

static size_t data_length_of(const struct zkli_reply *reply) {
    const size_t max = ZKLI_NODE_DATA_MAX + 1;
    return reply->data_length < max ? reply->data_length : max;
}

/* NULL: out of memory. */
static struct zkli_answer *answer_new(const struct zkli_reply *reply) {
    size_t data_length = data_length_of(reply), bytes = data_length;
    for (size_t i = 0; i < reply->child_count; i++)
        bytes += strlen(reply->children[i]) + 1;
    struct zkli_answer *answer = malloc(sizeof(*answer) +
                                        reply->child_count * sizeof(answer->children[0]) + bytes);
    if (answer == NULL)
        return NULL;
    answer->reply = (struct zkli_reply){
        .result = reply->result,
        .code = reply->code,
        .stat = reply->stat,
        .children = answer->children,
        .child_count = reply->child_count,
        .data_length = data_length,
    };
    char *text = (char *)(answer->children + reply->child_count);
    for (size_t i = 0; i < reply->child_count; i++) {
        size_t size = strlen(reply->children[i]) + 1;
        answer->children[i] = memcpy(text, reply->children[i], size);
        text += size;
    }
    answer->reply.data = data_length == 0 ? "" : memcpy(text, reply->data, data_length);
    return answer;
}

static void on_reply(struct zkli_query *query, const struct zkli_reply *reply) {
    struct zkli_read *read = ZKLI_CONTAINER(query, struct zkli_read, query);
    read->answer = reply == NULL ? NULL : answer_new(reply);
    read->has_no_memory = reply != NULL && read->answer == NULL;
    zkli_list_append(&read->reads->answered, &read->link);
    zkli_operation_wake(&read->reads->operation);
}

static void on_deadline(struct zkli_timer *timer) {
    struct zkli_reads *reads = ZKLI_CONTAINER(timer, struct zkli_reads, operation.deadline);
    zkli_operation_finish(&reads->operation, ZKL_UNREACHABLE);
}

/* ---- Slots: the calling thread's ---- */

static struct zkli_read *find_free_slot(struct zkli_reads *reads) {
    for (size_t i = 0; i < ZKLI_READS_AT_ONCE && reads->in_use < reads->limit; i++)
        if (reads->slots[i].path == NULL)
            return &reads->slots[i];
    return NULL;
}

static void free_slot(struct zkli_reads *reads, struct zkli_read *read) {
    free(read->answer);
    free(read->path);
    read->answer = NULL;
    read->path = NULL;
    reads->in_use--;
}

/* Adds what there is to read to the reads that are wanted. */
static zkl_err add_wanted(struct zkli_reads *reads, struct zkli_list *wanted) {
    struct zkli_read *read;
    while ((read = find_free_slot(reads)) != NULL) {
        zkl_err err = ZKL_OK;
        *read = (struct zkli_read){.reads = reads, .query = {.done = on_reply}};
        read->path = reads->next(reads, read, &err);
        if (read->path == NULL)
            return err;
        reads->in_use++;
        zkli_list_append(wanted, &read->link);
    }
    return ZKL_OK;
}

/* A node that is missing may be missing with the chroot, whose own node is looked for, once. */
static zkl_err add_chroot(struct zkli_reads *reads, struct zkli_list *wanted) {
    if (reads->has_looked_at_chroot ||
        zkli_engine_chroot_length(reads->operation.session->engine) == 0)
        return ZKL_OK;
    struct zkli_read *read = find_free_slot(reads); /* that of the missing node, at least */
    *read = (struct zkli_read){
        .reads = reads, .is_of_chroot = true, .query = {.done = on_reply}, .path = strdup("/")};
    if (read->path == NULL)
        return ZKL_NOMEM;
    reads->has_looked_at_chroot = true;
    reads->in_use++;
    zkli_list_append(wanted, &read->link);
    return ZKL_OK;
}

/* ---- What the replies say: on the calling thread, without the lock ---- */

static zkl_err error_of(const struct zkli_read *read) {
    if (read->has_no_memory)
        return ZKL_NOMEM;
    if (read->answer == NULL)
        return read->reads->lost_error;
    switch (read->answer->reply.result) {
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
    case ZKLI_RESULT_UNDONE:
        break;
    }
    return ZKL_SERVER;
}

static void log_refusal(const struct zkli_read *read, const struct zkli_reply *reply) {
    struct zkl_session *s = read->reads->operation.session;
    zkli_session_lock(s);
    zkli_engine_log(s->engine, ZKL_LOG_ERROR, "the server refuses to let us read %s (code %d)",
                    read->path, reply->code);
    zkli_session_unlock(s);
}

static zkl_err take_answer(struct zkli_reads *reads, struct zkli_read *read,
                           struct zkli_list *wanted) {
    zkl_err err = error_of(read);
    if (read->answer == NULL) {
        free_slot(reads, read);
        return err;
    }
    const struct zkli_reply *reply = &read->answer->reply;
    if (err == ZKL_DENIED || err == ZKL_SERVER)
        log_refusal(read, reply);
    bool is_taken = read->is_of_chroot || reads->takes_denials;
    if (err == ZKL_DENIED && is_taken) /* the node exists */
        err = ZKL_OK;
    bool is_missing = err == ZKL_OK && reply->result == ZKLI_RESULT_NO_NODE;
    if (err == ZKL_OK && !read->is_of_chroot)
        err = reads->got(reads, read, reply);
    else if (is_missing)
        err = ZKL_NO_CHROOT;
    free_slot(reads, read);
    return err == ZKL_OK && is_missing ? add_chroot(reads, wanted) : err;
}

static zkl_err take_answers(struct zkli_reads *reads, struct zkli_list *answered,
                            struct zkli_list *wanted) {
    struct zkli_list *link;
    zkl_err err = ZKL_OK;
    while (err == ZKL_OK && (link = zkli_list_take_first(answered)) != NULL)
        err = take_answer(reads, ZKLI_CONTAINER(link, struct zkli_read, link), wanted);
    return err == ZKL_OK ? add_wanted(reads, wanted) : err;
}

/* ---- The calling thread, with the lock ---- */

/* Asks for what is wanted, and waits until something was answered, which it moves. */
static zkl_err exchange(struct zkli_reads *reads, struct zkli_list *wanted,
                        struct zkli_list *ret_answered) {
    struct zkli_operation *operation = &reads->operation;
    struct zkli_engine *e = operation->session->engine;
    struct zkli_list *link;
    zkl_err err = zkli_engine_end_error(e);
    if (err != ZKL_OK)
        return err;
    while (zkli_operation_is_running(operation) && (link = zkli_list_take_first(wanted)) != NULL) {
        struct zkli_read *read = ZKLI_CONTAINER(link, struct zkli_read, link);
        read->query.path = read->path;
        zkli_query_ask(e, &read->query);
    }
    while (zkli_operation_is_running(operation) && zkli_list_is_empty(&reads->answered))
        zkli_operation_pause(operation);
    if (!zkli_operation_is_running(operation))
        return operation->result;
    err = zkli_engine_end_error(e);
    reads->lost_error = err == ZKL_OK ? ZKL_UNREACHABLE : err;
    zkli_list_move_all(ret_answered, &reads->answered);
    return ZKL_OK;
}

static void end(struct zkli_reads *reads, zkl_err err) {
    for (size_t i = 0; i < ZKLI_READS_AT_ONCE; i++) {
        if (reads->slots[i].path == NULL)
            continue;
        zkli_query_forget(reads->operation.session->engine, &reads->slots[i].query);
        free_slot(reads, &reads->slots[i]);
    }
    if (zkli_operation_is_running(&reads->operation))
        zkli_operation_finish(&reads->operation, err);
}

/* ---- The call ---- */

/* With the lock. */
static void set_limit(struct zkli_reads *reads, struct zkl_session *s) {
    reads->limit = zkli_engine_has_contenders(s->engine) ? ZKLI_READS_BESIDE_LOCKS
                                                         : ZKLI_READS_AT_ONCE;
}

/* With its slots. The session stays until the call is through, though it may be closed. */
static zkl_err exchange_all(struct zkli_reads *reads, struct zkl_session *s) {
    struct zkli_list wanted, answered;
    zkli_operation_init(&reads->operation, s, on_deadline);
    zkli_list_init(&wanted);
    zkli_list_init(&answered);
    zkli_list_init(&reads->answered);
    reads->limit = ZKLI_READS_BESIDE_LOCKS; /* until the session has been looked at */
    zkl_err err = add_wanted(reads, &wanted);
    zkli_session_lock(s);
    zkli_operation_begin(&reads->operation, zkli_operation_until_ns(s, s->connect_timeout_ms));
    while (err == ZKL_OK && reads->in_use > 0) {
        err = exchange(reads, &wanted, &answered);
        set_limit(reads, s);
        zkli_session_unlock(s);
        if (err == ZKL_OK)
            err = take_answers(reads, &answered, &wanted);
        zkli_session_lock(s);
    }
    end(reads, err);
    zkli_session_unlock(s);
    zkli_operation_fini(&reads->operation);
    return err;
}

static zkl_err run(struct zkli_reads *reads, struct zkl_session *s) {
    reads->slots = calloc(ZKLI_READS_AT_ONCE, sizeof(*reads->slots));
    zkl_err err = reads->slots == NULL ? ZKL_NOMEM : exchange_all(reads, s);
    free(reads->slots);
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
