/* break - see break.h; and the call for it. */
#include "lock/break.h"

#include <string.h>

#include "base/path.h"
#include "core/admission.h"
#include "lock/lock.h"

#define FIRST_WAIT_NS (5 * ZKLI_NS_PER_MS)
/* Looks, in the holder's T, at the least. */
#define LOOKS 16

static struct zkli_breaking *breaking_of(struct zkli_change *change) {
    return ZKLI_CONTAINER(change, struct zkli_breaking, change);
}

static int64_t now_ns(const struct zkli_breaking *b) {
    return zkli_engine_now_ns(b->operation.session->engine);
}

static void expect_node(struct zkli_breaking *b, int64_t czxid) {
    b->czxid = czxid;
    b->due_ns = ZKLI_NEVER;
    b->wait_ns = FIRST_WAIT_NS;
}

static void finish(struct zkli_breaking *b, zkl_err result) {
    struct zkli_engine *e = b->operation.session->engine;
    zkli_query_forget(e, &b->barrier);
    zkli_change_forget(&b->change);
    zkli_engine_clear_timer(e, &b->next_look);
    zkli_operation_finish(&b->operation, result);
}

static void on_deadline(struct zkli_timer *timer) {
    finish(ZKLI_CONTAINER(timer, struct zkli_breaking, operation.deadline), ZKL_TIMEOUT);
}

/* ---- What is to be done with what is there ---- */

/* A line of another format says who holds, too, and cannot be marked. */
static bool is_of_zklock(const struct zkli_reply *reply) {
    static const char word[] = "zklock";
    return reply->data_length >= sizeof(word) - 1 &&
           memcmp(reply->data, word, sizeof(word) - 1) == 0;
}

static bool mark(struct zkli_breaking *b, const struct zkli_reply *reply) {
    b->change.length = zkli_node_data_set(b->change.data, reply->data, reply->data_length,
                                          ZKLI_NODE_BREAK, 1);
    b->change.result = ZKL_UNSUPPORTED; /* the line has no room left */
    return b->change.length > 0;
}

static void note_marked(struct zkli_breaking *b) {
    b->due_ns = now_ns(b) + b->timeout_ns;
}

static bool compute(struct zkli_change *change, const struct zkli_reply *reply) {
    struct zkli_breaking *b = breaking_of(change);
    struct zkli_node_data data;
    bool has_timeout = zkli_node_data_parse(&data, reply->data, reply->data_length) &&
                       data.timeout_ms > 0 && data.timeout_ms <= INT32_MAX;
    b->was_there = true;
    if (reply->stat.czxid != b->czxid)
        expect_node(b, reply->stat.czxid);
    change->is_removal = !is_of_zklock(reply); /* another library's: nothing is known of its hold */
    change->result = ZKL_UNSUPPORTED;
    if (change->is_removal)
        return true;
    /* Servers do not tell of a mark who may not read the node any more. */
    if (!has_timeout || reply->stat.acl_version != 0)
        return false;
    b->timeout_ns = data.timeout_ms * ZKLI_NS_PER_MS;
    if (!data.is_broken)
        return mark(b, reply);
    if (b->due_ns == ZKLI_NEVER)
        note_marked(b);
    change->is_removal = now_ns(b) >= b->due_ns;
    change->result = ZKL_OK;
    return change->is_removal;
}

/* ---- One look after the other ---- */

static void look(struct zkli_breaking *b) {
    zkli_change_begin(&b->change);
}

static void on_time_to_look(struct zkli_timer *timer) {
    look(ZKLI_CONTAINER(timer, struct zkli_breaking, next_look));
}

/* Whoever has named the node may have seen it by another server. What is read behind the barrier is
 * as new. (Behind one that was refused it may be older.) */
static void on_barrier(struct zkli_query *query, const struct zkli_reply *reply) {
    struct zkli_breaking *b = ZKLI_CONTAINER(query, struct zkli_breaking, barrier);
    struct zkli_engine *e = b->operation.session->engine;
    zkl_err err = zkli_engine_end_error(e);
    bool is_lost = reply == NULL && query->is_sent;
    if (reply != NULL && reply->result != ZKLI_RESULT_AGAIN) {
        b->session_id = zkli_engine_session_id(e);
        look(b);
    } else if (err != ZKL_OK) {
        finish(b, err);
    } else if (is_lost) {
        zkli_query_ask(e, query);
    } else {
        zkli_query_ask_later(e, query);
    }
}

/* A holder that hears of the mark deletes the node itself. */
static void look_later(struct zkli_breaking *b) {
    int64_t at_ns = now_ns(b) + b->wait_ns, longest_ns = b->timeout_ns / LOOKS;
    b->wait_ns = 2 * b->wait_ns < longest_ns ? 2 * b->wait_ns : longest_ns;
    zkli_change_rest(&b->change);
    zkli_engine_set_timer(b->operation.session->engine, &b->next_look,
                          at_ns < b->due_ns ? at_ns : b->due_ns);
}

/* A writer's node may have gone because it has become a reader's, which has no mark. */
static void look_for_reader(struct zkli_breaking *b) {
    memcpy(b->path, b->reader, sizeof(b->path));
    b->reader[0] = '\0';
    expect_node(b, 0);
    look(b);
}

static void done(struct zkli_change *change, zkl_err result, bool is_there) {
    struct zkli_breaking *b = breaking_of(change);
    struct zkli_engine *e = b->operation.session->engine;
    bool was_set = change->query.kind == ZKLI_QUERY_MULTI && change->op.type == ZKLI_OP_SET;
    bool was_deleted = change->query.kind == ZKLI_QUERY_MULTI && change->op.type == ZKLI_OP_DELETE;
    if (result != ZKL_OK) {
        finish(b, result);
    } else if (!is_there && zkli_engine_session_id(e) != b->session_id) {
        zkli_query_ask(e, &b->barrier);
    } else if (!is_there && b->reader[0] != '\0') {
        look_for_reader(b);
    } else if (!is_there) {
        finish(b, b->was_there ? ZKL_OK : ZKL_NOT_HELD);
    } else if (was_deleted) {
        finish(b, ZKL_OK);
    } else {
        if (was_set)
            note_marked(b);
        look_later(b);
    }
}

void zkli_breaking_init(struct zkli_breaking *b, struct zkl_session *s, const char *name,
                        const char *node) {
    char directory[ZKLI_PATH_MAX], reader[ZKLI_CHILD_MAX + 1];
    *b = (struct zkli_breaking){
        .barrier = {.kind = ZKLI_QUERY_BARRIER, .done = on_barrier},
        .change = {
            .session = s, .path = b->path, .what = "the mark", .compute = compute, .done = done}};
    /* They fit: see ZKLI_PATH_MAX. */
    (void)zkli_path_join(directory, sizeof(directory), s->root, name);
    (void)zkli_path_join(b->path, sizeof(b->path), directory, node);
    if (zkli_node_name_may_turn(node)) {
        zkli_node_name_turn(reader, node);
        (void)zkli_path_join(b->reader, sizeof(b->reader), directory, reader);
    }
    expect_node(b, 0);
    zkli_timer_init(&b->next_look, on_time_to_look);
    zkli_operation_init(&b->operation, s, on_deadline);
}

void zkli_breaking_fini(struct zkli_breaking *b) {
    zkli_operation_fini(&b->operation);
}

void zkli_breaking_begin(struct zkli_breaking *b, int64_t timeout_ms) {
    struct zkl_session *s = b->operation.session;
    zkli_operation_begin(&b->operation, zkli_operation_until_ns(s, timeout_ms));
    zkli_query_ask(s->engine, &b->barrier);
}

/* ---- The call ---- */

static zkl_err run(zkl_session *s, const char *name, const char *node, int64_t timeout_ms) {
    struct zkli_breaking breaking;
    zkli_breaking_init(&breaking, s, name, node);
    zkli_session_lock(s);
    zkl_err err = zkli_engine_end_error(s->engine);
    if (err == ZKL_OK) {
        zkli_breaking_begin(&breaking, timeout_ms);
        err = zkli_operation_wait(&breaking.operation);
    }
    zkli_session_unlock(s);
    zkli_breaking_fini(&breaking);
    return err;
}

zkl_err zkl_break(zkl_session *s, const char *name, const char *contender, int64_t timeout_ms) {
    struct zkli_sibling sibling;
    if (s == NULL || name == NULL || contender == NULL || !zkli_lock_name_is_valid(name) ||
        !zkli_timeout_is_valid(timeout_ms) || strlen(contender) > ZKLI_CHILD_MAX ||
        strchr(contender, '/') != NULL || !zkli_sibling_parse(&sibling, contender))
        return ZKL_INVALID;
    if (!zkli_session_begin(s))
        return ZKL_FORKED;
    zkl_err err = zkli_in_callback() ? ZKL_IN_CALLBACK : run(s, name, contender, timeout_ms);
    zkli_session_lock(s);
    zkli_session_unlock_and_release(s);
    return err;
}
