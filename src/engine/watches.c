/*
 * watches - which paths the client library watches for us, and who of our members cares.
 *
 * A watch stands in the client's table until it fires, whether or not anybody still cares, so it
 * stays here, too: counted against the limit, and one for a path however many waits it served.
 */
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

void zkli_watches_init(struct zkli_engine *e) {
    for (size_t i = 0; i < ZKLI_BUCKETS; i++)
        zkli_list_init(&e->watches[i]);
}

/* What it counts against the limit while it is stale. */
static size_t bytes_of(const struct zkli_engine *e, const struct zkli_watch *watch) {
    return zkli_path_bytes(e, watch->length);
}

static struct zkli_watch *find(struct zkli_engine *e, const char *path, size_t length) {
    struct zkli_list *bucket = &e->watches[zkli_bucket_of(path, length)];
    for (struct zkli_list *link = bucket->next; link != bucket; link = link->next) {
        struct zkli_watch *watch = ZKLI_CONTAINER(link, struct zkli_watch, link);
        if (watch->length == length && memcmp(watch->path, path, length) == 0)
            return watch;
    }
    return NULL;
}

static struct zkli_watch *add(struct zkli_engine *e, const char *path, size_t length) {
    struct zkli_watch *watch = calloc(1, sizeof(*watch) + length + 1);
    if (watch == NULL)
        return NULL;
    memcpy(watch->path, path, length + 1);
    watch->length = length;
    zkli_list_init(&watch->watchers);
    zkli_list_append(&e->watches[zkli_bucket_of(path, length)], &watch->link);
    e->stale_watch_bytes += bytes_of(e, watch);
    return watch;
}

/* Nobody cares any more: stale if it stands, else gone. */
static void leave_alone(struct zkli_engine *e, struct zkli_watch *watch) {
    if (!zkli_list_is_empty(&watch->watchers) || watch->is_set || watch->in_flight > 0)
        return;
    e->stale_watch_bytes -= bytes_of(e, watch);
    zkli_list_remove(&watch->link);
    free(watch);
}

bool zkli_watcher_point_to(struct zkli_watcher *watcher, const char *path) {
    struct zkli_engine *e = watcher->member->engine;
    size_t length = strlen(path);
    struct zkli_watch *watch = find(e, path, length);
    if (watch != NULL && watch == watcher->watch)
        return true;
    zkli_watcher_drop(watcher);
    if (watch == NULL && (watch = add(e, path, length)) == NULL)
        return false;
    if (zkli_list_is_empty(&watch->watchers))
        e->stale_watch_bytes -= bytes_of(e, watch);
    zkli_list_append(&watch->watchers, &watcher->link);
    watcher->watch = watch;
    return true;
}

void zkli_watcher_drop(struct zkli_watcher *watcher) {
    struct zkli_engine *e = watcher->member->engine;
    struct zkli_watch *watch = watcher->watch;
    if (watch == NULL)
        return;
    watcher->watch = NULL;
    zkli_list_remove(&watcher->link);
    if (!zkli_list_is_empty(&watch->watchers))
        return;
    e->stale_watch_bytes += bytes_of(e, watch);
    leave_alone(e, watch);
}

void zkli_watch_asked(struct zkli_watch *watch) {
    watch->in_flight++;
}

void zkli_watch_answered(struct zkli_engine *e, struct zkli_watch *watch, bool is_set) {
    watch->in_flight--;
    watch->is_set = watch->is_set || is_set;
    leave_alone(e, watch);
}

void zkli_watches_reset(struct zkli_engine *e) {
    for (size_t i = 0; i < ZKLI_BUCKETS; i++) {
        struct zkli_list *link;
        while ((link = zkli_list_take_first(&e->watches[i])) != NULL) {
            struct zkli_watch *watch = ZKLI_CONTAINER(link, struct zkli_watch, link);
            struct zkli_list *watcher;
            while ((watcher = zkli_list_take_first(&watch->watchers)) != NULL)
                ZKLI_CONTAINER(watcher, struct zkli_watcher, link)->watch = NULL;
            free(watch);
        }
    }
    e->stale_watch_bytes = 0;
}

static void fire(struct zkli_engine *e, struct zkli_watch *watch, enum zkli_watch_type type) {
    bool was_wanted = !zkli_list_is_empty(&watch->watchers);
    struct zkli_list guard = {NULL, NULL}; /* while it is there, no drop finds the list empty */
    watch->is_set = false;
    watch->in_flight++; /* it stays while we walk */
    struct zkli_list told;
    zkli_list_init(&told);
    zkli_list_move_all(&told, &watch->watchers);
    zkli_list_append(&watch->watchers, &guard);
    struct zkli_list *link;
    while ((link = zkli_list_take_first(&told)) != NULL) {
        struct zkli_watcher *watcher = ZKLI_CONTAINER(link, struct zkli_watcher, link);
        zkli_list_append(&watch->watchers, link);
        struct zkli_contender_event event = {
            .type = watcher->is_own ? ZKLI_EV_OWN_EVENT : ZKLI_EV_PREDECESSOR_EVENT,
            .is_deleted = type == ZKLI_WATCH_DELETED,
        };
        zkli_member_step(watcher->member, &event);
    }
    zkli_list_remove(&guard);
    if (was_wanted && zkli_list_is_empty(&watch->watchers))
        e->stale_watch_bytes += bytes_of(e, watch);
    zkli_watch_answered(e, watch, false);
}

/* Which one it was is not known: all are read again. */
static void fire_all(struct zkli_engine *e) {
    for (size_t i = 0; i < ZKLI_BUCKETS; i++) {
        struct zkli_list *link = e->watches[i].next;
        while (link != &e->watches[i]) {
            struct zkli_watch *watch = ZKLI_CONTAINER(link, struct zkli_watch, link);
            link = link->next;
            fire(e, watch, ZKLI_WATCH_CHANGED);
        }
    }
}

void zkli_engine_on_watch(struct zkli_engine *e, struct zkli_port *port, const char *path,
                          enum zkli_watch_type type) {
    if (port != e->port)
        return;
    /* First its own member, though the watch may be for the one behind it, whose grant this is. */
    struct zkli_member *owner = path == NULL || type != ZKLI_WATCH_DELETED
                                    ? NULL
                                    : zkli_member_at(e, path);
    if (owner != NULL)
        zkli_member_node_gone(owner);
    struct zkli_watch *watch = path == NULL ? NULL : find(e, path, strlen(path));
    if (path == NULL)
        fire_all(e);
    else if (watch != NULL)
        fire(e, watch, type);
}
