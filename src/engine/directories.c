/*
 * directories - where the members stand: one record for each lock's directory, with its listings,
 * and the nodes of ours in it that no member knows.
 */
#include "engine/engine_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

/* ---- Directories ---- */

static struct zkli_dir *find_dir(struct zkli_engine *e, const char *path, size_t length) {
    struct zkli_list *bucket = &e->dirs[zkli_bucket_of(path, length)];
    for (struct zkli_list *link = bucket->next; link != bucket; link = link->next) {
        struct zkli_dir *dir = ZKLI_CONTAINER(link, struct zkli_dir, link);
        if (dir->length == length && memcmp(dir->path, path, length) == 0)
            return dir;
    }
    return NULL;
}

static void visit(void *arg);

static void lock_path(char ret_path[ZKLI_PATH_MAX], const struct zkli_engine *e, const char *name) {
    bool fits = zkli_path_join(ret_path, ZKLI_PATH_MAX, e->root, name);
    assert(fits); /* both are checked where they come in */
    (void)fits;   /* in a build without assertions */
}

/* The directory of a lock's name; made if no member stands in it. NULL: out of memory. */
struct zkli_dir *zkli_dir_get(struct zkli_engine *e, const char *name) {
    char path[ZKLI_PATH_MAX];
    lock_path(path, e, name);
    size_t length = strlen(path);
    struct zkli_dir *dir = find_dir(e, path, length);
    if (dir != NULL || (dir = calloc(1, sizeof(*dir) + length + 1)) == NULL)
        return dir;
    memcpy(dir->path, path, length + 1);
    dir->engine = e;
    zkli_timer_init(&dir->visit, visit, dir);
    dir->length = length;
    dir->depth = zkli_path_depth(path);
    dir->work.kind = ZKLI_WORK_DIR;
    zkli_list_init(&dir->askers);
    zkli_list_init(&dir->members);
    zkli_list_append(&e->dirs[zkli_bucket_of(path, length)], &dir->link);
    return dir;
}

void zkli_dir_release(struct zkli_dir *dir) {
    if (dir->member_count > 0 || dir->visit.is_set)
        return;
    zkli_list_remove(&dir->link);
    zkli_list_remove(&dir->work.link);
    free(dir);
}

size_t zkli_dir_node_bytes(const struct zkli_dir *dir) {
    return zkli_path_bytes(dir->engine, dir->length + 1 + ZKLI_PREFIX_LENGTH + 10);
}

/* ---- Whose node it is ---- */

struct zkli_member *zkli_member_at(struct zkli_engine *e, const char *path) {
    const char *child = zkli_path_last(path);
    if (!zkli_node_name_has_tag(child, e->tag))
        return NULL;
    const struct zkli_dir *dir = find_dir(e, path, (size_t)(child - path) - 1);
    const struct zkli_list *head = dir == NULL ? NULL : &dir->members;
    for (const struct zkli_list *link = head == NULL ? NULL : head->next; link != head;
         link = link->next) {
        struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, dir_link);
        if (strcmp(m->core.node, child) == 0)
            return m;
    }
    return NULL;
}

static bool is_listed(const struct zkli_listing *listing, const char *child) {
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
        if (m->core.state != ZKLI_LEAVING)
            continue;
        for (size_t i = 0; i < count; i++)
            if (strcmp(siblings[i].name, m->core.node) == 0)
                siblings[i].is_leaving = true;
    }
}

/* NULL: no member holds. */
static struct zkli_member *holder_in(const struct zkli_dir *dir) {
    if (zkli_list_is_empty(&dir->members))
        return NULL;
    struct zkli_member *first = ZKLI_CONTAINER(dir->members.next, struct zkli_member, dir_link);
    return first->core.state == ZKLI_HELD ? first : NULL;
}

void zkli_dir_end_hold(struct zkli_dir *dir, const struct zkli_listing *listing) {
    struct zkli_member *holder = holder_in(dir);
    if (holder != NULL && !is_listed(listing, holder->core.node))
        zkli_member_node_gone(holder);
}

bool zkli_engine_is_held_by(struct zkli_engine *e, const char *name, uint64_t thread_number) {
    char path[ZKLI_PATH_MAX];
    lock_path(path, e, name);
    const struct zkli_dir *dir = find_dir(e, path, strlen(path));
    const struct zkli_member *holder = dir == NULL ? NULL : holder_in(dir);
    return holder != NULL && holder->thread.number == thread_number;
}

/* ---- Orphans ---- */

static bool is_known(const struct zkli_dir *dir, const char *child) {
    const struct zkli_list *head = &dir->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next)
        if (zkli_contender_may_own(&ZKLI_CONTAINER(link, struct zkli_member, dir_link)->core,
                                   child))
            return true;
    return false;
}

/* A member whose create was lost and that has not found out yet what became of it. */
static bool has_unsure_member(const struct zkli_dir *dir) {
    const struct zkli_list *head = &dir->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next)
        if (zkli_contender_is_unsure(&ZKLI_CONTAINER(link, struct zkli_member, dir_link)->core))
            return true;
    return false;
}

/*
 * A server that has read a create and is slow to queue it (one of its threads may stand still) may
 * carry it out after all that the session asks for over its next connection, a barrier and a search
 * among that: then the node appears when nobody expects it any more. The next listing of ours shows
 * it; without one, a visitor looks for it when the connection is as old as the session timeout, and
 * at that interval before, where connections do not last so long.
 */
void zkli_members_lost_create(struct zkli_dir *dir) {
    struct zkli_engine *e = dir->engine;
    dir->may_have_orphans = true;
    zkli_timer_set(&e->timers, &dir->visit, e->now_ns + e->timeout_ms * ZKLI_NS_PER_MS);
}

static void visit(void *arg) {
    struct zkli_dir *dir = arg;
    struct zkli_engine *e = dir->engine;
    int64_t timeout_ns = e->timeout_ms * ZKLI_NS_PER_MS;
    if (!e->is_connected) {
        zkli_timer_set(&e->timers, &dir->visit, e->now_ns + timeout_ns / 4);
        return;
    }
    struct zkli_member *m = zkli_member_init(malloc(sizeof(*m)), e, dir);
    if (m == NULL) {
        zkli_timer_set(&e->timers, &dir->visit, e->now_ns + ZKLI_RETRY_LAST_NS);
        return;
    }
    if (e->now_ns < e->connected_ns + timeout_ns)
        zkli_timer_set(&e->timers, &dir->visit, e->connected_ns + timeout_ns);
    dir->may_have_orphans = true;
    zkli_contender_init_visitor(&m->core, e->fresh_uuid, dir->depth);
    zkli_engine_refresh_uuid(e);
    zkli_member_connect(m);
    zkli_engine_want_beat(e);
}

void zkli_members_forget_orphans(struct zkli_engine *e) {
    for (size_t i = 0; i < ZKLI_BUCKETS; i++) {
        struct zkli_list *link = e->dirs[i].next;
        while (link != &e->dirs[i]) {
            struct zkli_dir *dir = ZKLI_CONTAINER(link, struct zkli_dir, link);
            link = link->next;
            dir->may_have_orphans = false;
            zkli_timer_clear(&e->timers, &dir->visit);
            zkli_dir_release(dir);
        }
    }
}

void zkli_members_were_listed(struct zkli_dir *dir, const struct zkli_listing *listing) {
    size_t ours = 0, known = 0;
    for (size_t i = 0; i < listing->count; i++)
        ours += zkli_node_name_has_tag(listing->siblings[i].name, dir->engine->tag);
    const struct zkli_list *head = &dir->members;
    for (const struct zkli_list *link = head->next; link != head && known < ours; link = link->next)
        known += ZKLI_CONTAINER(link, struct zkli_member, dir_link)->core.node[0] != '\0';
    if (ours > known)
        dir->may_have_orphans = true;
}

/*
 * A node that bears our tag and is another's is not remembered: it costs a read at each listing
 * that shows it. An acquire lists once or twice, and then waits behind the node, if that is before
 * its own. To remember the node would take memory for as many as any client makes, keep the
 * directory, and take care to forget when the node goes.
 */
void zkli_members_find_orphans(struct zkli_engine *e, struct zkli_dir *dir,
                               const struct zkli_listing *listing) {
    if (!dir->may_have_orphans)
        return;
    dir->may_have_orphans = has_unsure_member(dir);
    for (size_t i = 0; i < listing->count; i++) {
        const char *child = listing->siblings[i].name;
        if (!zkli_node_name_has_tag(child, e->tag) || is_known(dir, child))
            continue;
        struct zkli_member *m = zkli_member_init(malloc(sizeof(*m)), e, dir);
        if (m == NULL) {
            m = zkli_member_init(e->spare, e, dir);
            e->spare = NULL;
        }
        if (m == NULL) {
            dir->may_have_orphans = true; /* the next listing shows it again */
            zkli_timer_set(&e->timers, &dir->visit, e->now_ns + ZKLI_RETRY_LAST_NS);
            return;
        }
        zkli_contender_init_orphan(&m->core, child, dir->depth);
        zkli_member_set_budget(m, zkli_dir_node_bytes(dir), 0);
        zkli_member_connect(m);
    }
}
