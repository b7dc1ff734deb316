/* list - looking at all locks: one list a directory. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "lock/lock.h"
#include "lock/reads.h"

/* Directories visited by one zkl_list: a tree that size is no tree of locks. */
#define DIRS_MAX 65536

struct found {
    char *name;
    size_t contenders;
};

/* Directories in the order they are found; those before `next` are read, or being read. */
struct walk {
    struct zkli_reads reads;
    struct found *dirs;
    size_t count, max, next;
    bool was_denied;
};

/* The name goes over. */
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

static char *next_read(struct zkli_reads *reads, struct zkli_read *ret_read, zkl_err *ret_err) {
    struct walk *walk = ZKLI_CONTAINER(reads, struct walk, reads);
    if (walk->next == walk->count)
        return NULL;
    ret_read->index = walk->next++;
    ret_read->query.kind = ZKLI_QUERY_LIST;
    char *path = zkli_path_join_new(reads->operation.session->root,
                                    walk->dirs[ret_read->index].name);
    if (path == NULL)
        *ret_err = ZKL_NOMEM;
    return path;
}

static zkl_err got(struct zkli_reads *reads, const struct zkli_read *read,
                   const struct zkli_reply *reply) {
    struct walk *walk = ZKLI_CONTAINER(reads, struct walk, reads);
    zkl_err err = ZKL_OK;
    if (reply->result == ZKLI_RESULT_DENIED) {
        walk->dirs[read->index].contenders = ZKL_UNREADABLE;
        walk->was_denied = true;
        return ZKL_OK;
    }
    for (size_t i = 0; err == ZKL_OK && i < reply->child_count; i++) {
        if (zkli_node_name_parse(reply->children[i]).kind != ZKLI_KIND_NONE)
            walk->dirs[read->index].contenders++;
        else
            err = walk_add(walk,
                           zkli_path_join_new(walk->dirs[read->index].name, reply->children[i]));
    }
    return err;
}

static int compare_found(const void *a, const void *b) {
    return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

zkl_err zkl_list(zkl_session *s, const char *prefix, zkl_list_fn fn, void *arg) {
    bool is_all = prefix == NULL || prefix[0] == '\0';
    if (s == NULL || fn == NULL || (!is_all && !zkli_lock_name_is_valid(prefix)))
        return ZKL_INVALID;
    struct walk walk = {.reads = {.takes_denials = true, .next = next_read, .got = got}};
    zkl_err err = walk_add(&walk, strdup(is_all ? "" : prefix));
    if (err == ZKL_OK)
        err = zkli_reads_run(&walk.reads, s);
    if (err == ZKL_OK)
        qsort(walk.dirs, walk.count, sizeof(*walk.dirs), compare_found);
    for (size_t i = 0; i < walk.count; i++) {
        if (err == ZKL_OK && walk.dirs[i].contenders > 0)
            fn(walk.dirs[i].name, walk.dirs[i].contenders, arg);
        free(walk.dirs[i].name);
    }
    free(walk.dirs);
    return err == ZKL_OK && walk.was_denied ? ZKL_DENIED : err;
}
