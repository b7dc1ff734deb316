/*
 * directories - one record for each lock's directory: its path, the members whose nodes are in it,
 * and its listings. Not here: nodes of ours that no member knows (orphans.c).
 */
#include "engine/engine_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

/* ---- Life ---- */

static struct zkli_dir *find_dir(struct zkli_engine *e, const char *path, size_t length) {
    struct zkli_list *bucket = &e->dirs[zkli_bucket_of(path, length)];
    for (struct zkli_list *link = bucket->next; link != bucket; link = link->next) {
        struct zkli_dir *dir = ZKLI_CONTAINER(link, struct zkli_dir, link);
        if (dir->length == length && memcmp(dir->path, path, length) == 0)
            return dir;
    }
    return NULL;
}

static void lock_path(char ret_path[ZKLI_PATH_MAX], const struct zkli_engine *e, const char *name) {
    bool has_fitted = zkli_path_join(ret_path, ZKLI_PATH_MAX, e->root, name);
    assert(has_fitted); /* both are checked where they come in */
    (void)has_fitted;   /* in a build without assertions */
}

struct zkli_dir *zkli_dir_get(struct zkli_engine *e, const char *name) {
    char path[ZKLI_PATH_MAX];
    lock_path(path, e, name);
    size_t length = strlen(path);
    struct zkli_dir *dir = find_dir(e, path, length);
    if (dir != NULL || (dir = calloc(1, sizeof(*dir) + length + 1)) == NULL)
        return dir;
    memcpy(dir->path, path, length + 1);
    dir->engine = e;
    dir->length = length;
    dir->depth = zkli_path_depth(path);
    dir->work.kind = ZKLI_WORK_DIR;
    zkli_list_init(&dir->askers);
    zkli_list_init(&dir->members);
    zkli_list_append(&e->dirs[zkli_bucket_of(path, length)], &dir->link);
    return dir;
}

void zkli_dir_release(struct zkli_dir *dir) {
    const struct zkli_visit *visit = &dir->visit;
    if (dir->member_count > 0)
        return;
    if (dir->made_level > 0 && dir->engine->session_id != 0) {
        zkli_line_join(dir->engine, &dir->work); /* what was made for nothing goes first */
        return;
    }
    if (zkli_timer_is_set(&visit->timer) || zkli_list_is_linked(&visit->link))
        return;
    zkli_list_remove(&dir->link);
    zkli_list_remove(&dir->work.link);
    free(dir);
}

void zkli_dirs_forget_permits(struct zkli_engine *e) {
    for (size_t i = 0; i < ZKLI_BUCKETS; i++)
        for (struct zkli_list *link = e->dirs[i].next; link != &e->dirs[i]; link = link->next)
            ZKLI_CONTAINER(link, struct zkli_dir, link)->permits.state = ZKLI_PERMITS_UNKNOWN;
}

size_t zkli_dir_node_bytes(const struct zkli_dir *dir, size_t length) {
    return zkli_path_bytes(dir->engine, dir->length + 1 + length);
}

void zkli_dir_child_path(char ret_path[ZKLI_PATH_MAX], const struct zkli_dir *dir,
                         const char *child) {
    bool has_fitted = zkli_path_join(ret_path, ZKLI_PATH_MAX, dir->path, child);
    assert(has_fitted); /* root, name and child have limits */
    (void)has_fitted;   /* in a build without assertions */
}

void zkli_dir_ancestor_path(char ret_path[ZKLI_PATH_MAX], const struct zkli_dir *dir,
                            unsigned level) {
    memcpy(ret_path, dir->path, dir->length + 1);
    for (; level > 1; level--)
        *strrchr(ret_path, '/') = '\0';
}

/* ---- Members by their nodes ---- */

struct zkli_member *zkli_dir_next_holder(const struct zkli_dir *dir, const struct zkli_member *m) {
    const struct zkli_list *link = m == NULL ? dir->members.next : m->dir_link.next;
    if (link == &dir->members)
        return NULL;
    struct zkli_member *next = ZKLI_CONTAINER(link, struct zkli_member, dir_link);
    return zkli_contender_holds(&next->core) ? next : NULL;
}

/* While a writer becomes a reader, the end of the writer's node may be its own doing; but where the
 * reader's has ended, both have. */
static bool ends_with(const struct zkli_member *holder, const char *child) {
    return holder->core.state == ZKLI_TURNING ? zkli_contender_has_reader(&holder->core, child)
                                              : strcmp(holder->core.node, child) == 0;
}

struct zkli_member *zkli_dir_holder_by(struct zkli_engine *e, const char *path) {
    const char *child = zkli_path_last(path);
    if (!zkli_node_name_has_tag(child, e->tag))
        return NULL;
    const struct zkli_dir *dir = find_dir(e, path, (size_t)(child - path) - 1);
    struct zkli_member *holder = NULL;
    while (dir != NULL && (holder = zkli_dir_next_holder(dir, holder)) != NULL)
        if (ends_with(holder, child))
            return holder;
    return NULL;
}

struct zkli_member *zkli_engine_held_by(struct zkli_engine *e, const char *name,
                                        uint64_t thread_number) {
    char path[ZKLI_PATH_MAX];
    lock_path(path, e, name);
    const struct zkli_dir *dir = find_dir(e, path, strlen(path));
    struct zkli_member *holder = NULL;
    while (dir != NULL && (holder = zkli_dir_next_holder(dir, holder)) != NULL)
        if (holder->thread.number == thread_number)
            return holder;
    return NULL;
}

/* ---- Listings ---- */

bool zkli_listing_parse(struct zkli_listing *ret_listing, struct zkli_engine *e,
                        const struct zkli_reply *reply) {
    if (reply->child_count > e->siblings_max) {
        struct zkli_sibling *more = realloc(e->siblings, reply->child_count * sizeof(*e->siblings));
        if (more == NULL)
            return false;
        e->siblings = more;
        e->siblings_max = reply->child_count;
    }
    size_t count = 0;
    for (size_t i = 0; i < reply->child_count; i++)
        if (zkli_sibling_parse(&e->siblings[count], reply->children[i]))
            count++;
    *ret_listing = (struct zkli_listing){.siblings = e->siblings,
                                         .count = count,
                                         .czxid = reply->stat.czxid,
                                         .version = reply->stat.version};
    return true;
}

bool zkli_listing_has(const struct zkli_listing *listing, const char *child) {
    for (size_t i = 0; i < listing->count; i++)
        if (strcmp(listing->siblings[i].name, child) == 0)
            return true;
    return false;
}

void zkli_dir_mark_leaving(const struct zkli_dir *dir, struct zkli_sibling *siblings,
                           size_t count) {
    const struct zkli_list *head = &dir->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next) {
        const struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, dir_link);
        if (m->core.state != ZKLI_LEAVING && m->core.state != ZKLI_CLEARING)
            continue;
        for (size_t i = 0; i < count; i++)
            if (strcmp(siblings[i].name, m->core.node) == 0)
                siblings[i].is_leaving = true;
    }
}
