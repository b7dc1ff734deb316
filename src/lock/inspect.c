/*
 * inspect - looking at queues: who holds, who waits, which locks there are. Reads only.
 *
 * A queue is read node by node while it moves; whoever leaves in between is left out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "lock/lock.h"

/* Directories visited by one zkl_list: a tree that size is no tree of locks. */
#define DIRS_MAX 65536

/* One call, which is over at that time however many reads it takes. */
struct look {
    struct zkl_session *session;
    int64_t until_ns;
};

/* A read whose caller waits for it; the reply is copied while it is valid. */
struct read {
    struct zkli_query query;
    pthread_cond_t changed;
    bool is_done;
    bool has_reply;
    bool is_nomem;
    enum zkli_result result;
    struct zkli_stat stat;
    struct zkli_node_data data;
    char **children; /* one allocation */
    size_t child_count;
};

static char **copy_children(const struct zkli_reply *reply) {
    size_t bytes = reply->child_count * sizeof(char *);
    for (size_t i = 0; i < reply->child_count; i++)
        bytes += strlen(reply->children[i]) + 1;
    char **copy = malloc(bytes > 0 ? bytes : 1);
    if (copy == NULL)
        return NULL;
    char *text = (char *)(copy + reply->child_count);
    for (size_t i = 0; i < reply->child_count; i++) {
        size_t size = strlen(reply->children[i]) + 1;
        memcpy(text, reply->children[i], size);
        copy[i] = text;
        text += size;
    }
    return copy;
}

static void on_read(struct zkli_query *query, const struct zkli_reply *reply) {
    struct read *read = ZKLI_CONTAINER(query, struct read, query);
    read->is_done = true;
    pthread_cond_signal(&read->changed);
    if (reply == NULL)
        return;
    read->has_reply = true;
    read->result = reply->result;
    read->stat = reply->stat;
    if (reply->result != ZKLI_RESULT_OK)
        return;
    if (query->is_list) {
        read->children = copy_children(reply);
        read->child_count = reply->child_count;
        read->is_nomem = read->children == NULL;
    } else {
        (void)zkli_node_data_parse(&read->data, reply->data, reply->data_length);
    }
}

static zkl_err error_of(const struct zkl_session *s, const struct read *read) {
    if (zkli_engine_state(s->engine) == ZKL_STATE_CLOSED)
        return ZKL_CLOSED;
    if (!read->has_reply)
        return ZKL_UNREACHABLE;
    if (read->is_nomem || read->result == ZKLI_RESULT_NOMEM)
        return ZKL_NOMEM;
    if (read->result == ZKLI_RESULT_OK || read->result == ZKLI_RESULT_NO_NODE)
        return ZKL_OK;
    return read->result == ZKLI_RESULT_DENIED ? ZKL_DENIED : ZKL_SERVER;
}

/* Asks, and waits for the answer until the call's time is over. The caller frees children. A
 * missing node is no error: see result. */
static zkl_err read_path(const struct look *look, const char *path, bool is_list,
                         struct read *read) {
    struct zkl_session *s = look->session;
    memset(read, 0, sizeof(*read));
    read->query.path = path;
    read->query.is_list = is_list;
    read->query.done = on_read;
    if (!zkli_condition_init(&read->changed))
        return ZKL_NOMEM;
    zkli_session_lock(s);
    bool in_time = zkli_engine_state(s->engine) != ZKL_STATE_CLOSED &&
                   zkli_monotonic_ns() < look->until_ns;
    if (in_time)
        zkli_query_ask(s->engine, &read->query);
    while (in_time && !read->is_done)
        in_time = zkli_session_wait_until(s, &read->changed, look->until_ns);
    if (!read->is_done)
        zkli_query_forget(s->engine, &read->query);
    zkl_err err = error_of(s, read);
    zkli_session_unlock(s);
    (void)pthread_cond_destroy(&read->changed);
    return err;
}

static void leave(struct zkl_session *s) {
    zkli_session_lock(s);
    zkli_session_unlock_and_release(s);
}

/* The session stays until the call is through, though it may be closed meanwhile. */
static zkl_err enter(struct zkl_session *s, struct look *ret_look) {
    if (!zkli_session_begin(s))
        return ZKL_FORKED;
    if (zkli_in_callback()) {
        leave(s);
        return ZKL_IN_CALLBACK;
    }
    *ret_look = (struct look){s, zkli_monotonic_ns() + s->connect_timeout_ms * ZKLI_NS_PER_MS};
    return ZKL_OK;
}

/* ---- One queue ---- */

struct entry {
    zkl_contender contender;
    struct zkli_sibling place;
    struct zkli_node_data data;
    char node[ZKLI_CHILD_MAX + 1];
};

/* A queue as handed out, with its storage behind it. */
struct queue {
    zkl_queue shown; /* first: zkl_queue_free gets its address */
    zkl_contender *contenders;
    struct entry *entries;
};

static int compare_entries(const void *a, const void *b) {
    const struct entry *first = a, *second = b;
    if (first->place.order != second->place.order)
        return first->place.order < second->place.order ? -1 : 1;
    return strcmp(first->node, second->node);
}

static zkl_err read_entry(const struct look *look, const char *directory, const char *child,
                          struct queue *queue) {
    struct entry *entry = &queue->entries[queue->shown.count];
    struct read read;
    if (!zkli_sibling_parse(&entry->place, child))
        return ZKL_OK;
    char *path = zkli_path_join_new(directory, child);
    if (path == NULL)
        return ZKL_NOMEM;
    zkl_err err = read_path(look, path, false, &read);
    free(path);
    if (err != ZKL_OK || read.result == ZKLI_RESULT_NO_NODE)
        return err;
    memcpy(entry->node, child, strlen(child) + 1);
    entry->data = read.data;
    entry->contender = (zkl_contender){
        .pid = read.data.pid,
        .thread = read.data.thread,
        .session_id = read.stat.owner,
        .token = read.stat.czxid,
        .since_ms = read.stat.ctime_ms,
    };
    queue->shown.count++;
    return ZKL_OK;
}

/* Sorts, by czxid where numbers cannot be trusted, and points what is shown at its text. */
static void arrange(struct queue *queue) {
    size_t count = queue->shown.count;
    bool needs_czxid = false;
    for (size_t i = 0; i < count; i++) {
        struct zkli_listing one = {&queue->entries[i].place, 1, false};
        needs_czxid = needs_czxid || zkli_listing_needs_czxid(&one);
    }
    for (size_t i = 0; needs_czxid && i < count; i++)
        queue->entries[i].place.order = queue->entries[i].contender.token;
    qsort(queue->entries, count, sizeof(*queue->entries), compare_entries);
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = &queue->entries[i];
        queue->contenders[i] = entry->contender;
        queue->contenders[i].node = entry->node;
        queue->contenders[i].host = entry->data.host;
        queue->contenders[i].program = entry->data.program;
        queue->contenders[i].label = entry->data.label;
        queue->contenders[i].is_holder = i == 0;
    }
    queue->shown.contenders = queue->contenders;
}

static struct queue *queue_new(size_t count) {
    struct queue *queue = calloc(1, sizeof(*queue));
    if (queue == NULL)
        return NULL;
    queue->contenders = calloc(count + 1, sizeof(*queue->contenders));
    queue->entries = calloc(count + 1, sizeof(*queue->entries));
    if (queue->contenders != NULL && queue->entries != NULL)
        return queue;
    zkl_queue_free(&queue->shown);
    return NULL;
}

void zkl_queue_free(zkl_queue *shown) {
    if (shown == NULL)
        return;
    struct queue *queue = (struct queue *)(void *)shown;
    free(queue->contenders);
    free(queue->entries);
    free(queue);
}

static zkl_err inspect(const struct look *look, const char *name, zkl_queue **ret_queue) {
    char *directory = zkli_path_join_new(look->session->root, name);
    if (directory == NULL)
        return ZKL_NOMEM;
    struct read listing;
    zkl_err err = read_path(look, directory, true, &listing);
    struct queue *queue = err == ZKL_OK ? queue_new(listing.child_count) : NULL;
    if (err == ZKL_OK && queue == NULL)
        err = ZKL_NOMEM;
    for (size_t i = 0; err == ZKL_OK && i < listing.child_count; i++)
        err = read_entry(look, directory, listing.children[i], queue);
    free(listing.children);
    free(directory);
    if (err != ZKL_OK) {
        zkl_queue_free(queue == NULL ? NULL : &queue->shown);
        return err;
    }
    arrange(queue);
    *ret_queue = &queue->shown;
    return ZKL_OK;
}

zkl_err zkl_inspect(zkl_session *s, const char *name, zkl_queue **ret_queue) {
    if (s == NULL || name == NULL || ret_queue == NULL || !zkli_lock_name_is_valid(name))
        return ZKL_INVALID;
    struct look look;
    zkl_err err = enter(s, &look);
    if (err != ZKL_OK)
        return err;
    err = inspect(&look, name, ret_queue);
    leave(s);
    return err;
}

/* ---- All locks ---- */

struct found {
    char *name;
    size_t contenders;
};

/* Directories in the order they are found; those before `next` have been visited. */
struct walk {
    struct found *dirs;
    size_t count, max, next;
};

static zkl_err walk_add(struct walk *walk, char *name) {
    if (name == NULL)
        return ZKL_NOMEM;
    if (walk->count == walk->max) {
        size_t max = walk->max == 0 ? 64 : walk->max * 2;
        struct found *more = max > DIRS_MAX ? NULL : realloc(walk->dirs, max * sizeof(*more));
        if (more == NULL) {
            free(name);
            return max > DIRS_MAX ? ZKL_LIMIT : ZKL_NOMEM;
        }
        walk->dirs = more;
        walk->max = max;
    }
    walk->dirs[walk->count++] = (struct found){name, 0};
    return ZKL_OK;
}

static zkl_err visit(const struct look *look, struct walk *walk, size_t index) {
    char *path = zkli_path_join_new(look->session->root, walk->dirs[index].name);
    if (path == NULL)
        return ZKL_NOMEM;
    struct read read;
    zkl_err err = read_path(look, path, true, &read);
    free(path);
    for (size_t i = 0; err == ZKL_OK && i < read.child_count; i++) {
        if (zkli_node_name_parse(read.children[i]).kind != ZKLI_KIND_NONE)
            walk->dirs[index].contenders++;
        else
            err = walk_add(walk, zkli_path_join_new(walk->dirs[index].name, read.children[i]));
    }
    free(read.children);
    return err;
}

static int compare_found(const void *a, const void *b) {
    return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

zkl_err zkl_list(zkl_session *s, const char *prefix, zkl_list_fn fn, void *arg) {
    bool is_all = prefix == NULL || prefix[0] == '\0';
    if (s == NULL || fn == NULL || (!is_all && !zkli_lock_name_is_valid(prefix)))
        return ZKL_INVALID;
    struct look look;
    zkl_err err = enter(s, &look);
    if (err != ZKL_OK)
        return err;
    struct walk walk = {0};
    err = walk_add(&walk, strdup(is_all ? "" : prefix));
    while (err == ZKL_OK && walk.next < walk.count)
        err = visit(&look, &walk, walk.next++);
    leave(s);
    if (err == ZKL_OK)
        qsort(walk.dirs, walk.count, sizeof(*walk.dirs), compare_found);
    for (size_t i = 0; i < walk.count; i++) {
        if (err == ZKL_OK && walk.dirs[i].contenders > 0)
            fn(walk.dirs[i].name, walk.dirs[i].contenders, arg);
        free(walk.dirs[i].name);
    }
    free(walk.dirs);
    return err;
}
