/*
 * ask - the call that asks those who hold a lock to let go: it marks their nodes. Each of them has
 * a watch on its own node, and hears of the mark.
 */
#include "lock/ask.h"

#include "base/path.h"
#include "lock/lock.h"

static void done(struct zkli_change *change, zkl_err result, bool is_there) {
    (void)result;
    ZKLI_CONTAINER(change, struct zkli_asking, change)->is_there = is_there;
}

static bool compute(struct zkli_change *change, const struct zkli_reply *reply) {
    struct zkli_node_data data;
    bool is_ours = zkli_node_data_parse(&data, reply->data, reply->data_length);
    change->result = is_ours ? ZKL_OK : ZKL_UNSUPPORTED;
    if (!is_ours || data.is_asked)
        return false;
    change->length = zkli_node_data_set(change->data, reply->data, reply->data_length,
                                        ZKLI_NODE_ASK, 1);
    change->result = ZKL_UNSUPPORTED; /* the line has no room left */
    return change->length > 0;
}

void zkli_asking_begin(struct zkli_asking *asking, struct zkl_session *s, const char *path,
                       int64_t until_ns) {
    *asking = (struct zkli_asking){
        .change = {
            .session = s, .path = path, .what = "the mark", .compute = compute, .done = done}};
    zkli_change_start(&asking->change, until_ns);
}

static zkl_err ask(zkl_session *s, const char *path, int64_t until_ns, bool *ret_is_there) {
    struct zkli_asking asking = {.is_there = false};
    zkli_session_lock(s);
    zkl_err err = zkli_engine_end_error(s->engine);
    if (err == ZKL_OK) {
        zkli_asking_begin(&asking, s, path, until_ns);
        err = zkli_change_wait(&asking.change);
    }
    zkli_session_unlock(s);
    *ret_is_there = asking.is_there;
    return err;
}

/* By its node; by the reader's, if it was a writer's that has become one. */
static zkl_err ask_holder(zkl_session *s, const char *directory, const zkl_contender *holder,
                          int64_t until_ns) {
    char path[ZKLI_PATH_MAX], reader[ZKLI_CHILD_MAX + 1];
    bool is_there = false;
    if (!zkli_path_join(path, sizeof(path), directory, holder->node))
        return ZKL_UNSUPPORTED; /* no node of ours has such a name */
    zkl_err err = ask(s, path, until_ns, &is_there);
    if (err != ZKL_OK || is_there || !zkli_node_name_may_turn(holder->node))
        return err;
    zkli_node_name_turn(reader, holder->node);
    (void)zkli_path_join(path, sizeof(path), directory, reader); /* it is as long */
    return ask(s, path, until_ns, &is_there);
}

/* One after the other: there is one holder, or they are few. */
static zkl_err ask_holders(zkl_session *s, const char *name, const zkl_queue *queue,
                           int64_t until_ns) {
    char directory[ZKLI_PATH_MAX];
    zkl_err result = ZKL_NOT_HELD;
    (void)zkli_path_join(directory, sizeof(directory), s->root, name); /* it was listed */
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        const zkl_contender *contender = zkl_queue_at(queue, i);
        if (!contender->is_holder)
            continue;
        zkl_err err = ask_holder(s, directory, contender, until_ns);
        if (err != ZKL_OK && err != ZKL_UNSUPPORTED)
            return err;
        if (result != ZKL_OK)
            result = err;
    }
    return result;
}

/* The session stays until the call is through, though it may be closed. */
static zkl_err look_and_ask(zkl_session *s, const char *name) {
    zkl_queue *queue;
    zkl_err err = zkl_inspect(s, name, &queue);
    if (err != ZKL_OK)
        return err;
    zkli_session_lock(s);
    int64_t until_ns = zkli_operation_until_ns(s, s->connect_timeout_ms);
    zkli_session_unlock(s);
    err = ask_holders(s, name, queue, until_ns);
    zkl_queue_free(queue);
    return err;
}

zkl_err zkl_ask(zkl_session *s, const char *name) {
    if (s == NULL)
        return ZKL_INVALID;
    if (!zkli_session_begin(s))
        return ZKL_FORKED;
    zkl_err err = look_and_ask(s, name);
    zkli_session_lock(s);
    zkli_session_unlock_and_release(s);
    return err;
}
