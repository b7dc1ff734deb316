/*
 * watches - which paths the client library watches for us, and which members wait for these
 * watches.
 *
 * A watch stands in the client library's table until it fires, whether or not a member still waits
 * for it. So it stays here, too. It counts against the limit, once for a path, however many waits
 * it served. Not here: what a watch that fired means to a member (engine.c asks for these).
 */
#include "engine/engine_internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void zkli_watches_init(struct zkli_engine *e) {
    zkli_list_init(&e->fired);
    for (size_t i = 0; i < ZKLI_BUCKETS; i++)
        zkli_list_init(&e->watches[i]);
}

/* What a stale watch counts against the limit. */
static size_t bytes_of(const struct zkli_engine *e, const struct zkli_watch *watch) {
    return zkli_path_bytes(e, watch->length);
}

static struct zkli_watch *find(struct zkli_engine *e, const char *path, size_t length,
                               bool is_of_children) {
    struct zkli_list *bucket = &e->watches[zkli_bucket_of(path, length)];
    for (struct zkli_list *link = bucket->next; link != bucket; link = link->next) {
        struct zkli_watch *watch = ZKLI_CONTAINER(link, struct zkli_watch, link);
        if (watch->is_of_children == is_of_children && watch->length == length &&
            memcmp(watch->path, path, length) == 0)
            return watch;
    }
    return NULL;
}

static struct zkli_watch *add(struct zkli_engine *e, const char *path, size_t length,
                              bool is_of_children) {
    struct zkli_watch *watch = calloc(1, offsetof(struct zkli_watch, path) + length + 1);
    if (watch == NULL)
        return NULL;
    memcpy(watch->path, path, length + 1);
    watch->length = (uint16_t)length;
    watch->is_of_children = is_of_children;
    zkli_list_init(&watch->watchers);
    zkli_list_append(&e->watches[zkli_bucket_of(path, length)], &watch->link);
    e->stale_watch_bytes += bytes_of(e, watch);
    return watch;
}

/* A watch without watchers is stale while the client library has it, or may get it. */
static void free_unless_stale(struct zkli_engine *e, struct zkli_watch *watch) {
    if (watch->count > 0 || watch->is_set || watch->in_flight > 0)
        return;
    e->stale_watch_bytes -= bytes_of(e, watch);
    zkli_list_remove(&watch->link);
    free(watch);
}

bool zkli_watcher_point_to(struct zkli_engine *e, struct zkli_watcher *watcher, const char *path) {
    size_t length = strlen(path);
    bool is_of_children = watcher->what == ZKLI_WATCHED_CHILDREN;
    struct zkli_watch *watch = find(e, path, length, is_of_children);
    if (watch != NULL && watch == watcher->watch)
        return true;
    zkli_watcher_drop(e, watcher);
    if (watch == NULL && (watch = add(e, path, length, is_of_children)) == NULL)
        return false;
    if (watch->count++ == 0)
        e->stale_watch_bytes -= bytes_of(e, watch);
    zkli_list_append(&watch->watchers, &watcher->link);
    watcher->watch = watch;
    return true;
}

void zkli_watcher_drop(struct zkli_engine *e, struct zkli_watcher *watcher) {
    struct zkli_watch *watch = watcher->watch;
    if (watch == NULL)
        return;
    watcher->watch = NULL;
    zkli_list_remove(&watcher->link);
    if (--watch->count > 0)
        return;
    e->stale_watch_bytes += bytes_of(e, watch);
    free_unless_stale(e, watch);
}

void zkli_watch_asked(struct zkli_watch *watch) {
    watch->in_flight++;
}

void zkli_watch_answered(struct zkli_engine *e, struct zkli_watch *watch, bool is_set) {
    watch->in_flight--;
    watch->is_set = watch->is_set || is_set;
    free_unless_stale(e, watch);
}

void zkli_watches_leave(struct zkli_port *port, struct zkli_engine *e) {
    for (size_t i = 0; i < ZKLI_BUCKETS; i++)
        for (struct zkli_list *link = e->watches[i].next; link != &e->watches[i];
             link = link->next) {
            const struct zkli_watch *watch = ZKLI_CONTAINER(link, struct zkli_watch, link);
            if (watch->is_set)
                port->ops->unwatch(port, watch->path, watch->is_of_children);
        }
}

static void forget_watchers(struct zkli_list *watchers) {
    struct zkli_list *link;
    while ((link = zkli_list_take_first(watchers)) != NULL)
        ZKLI_CONTAINER(link, struct zkli_watcher, link)->watch = NULL;
}

void zkli_watches_reset(struct zkli_engine *e) {
    forget_watchers(&e->fired);
    for (size_t i = 0; i < ZKLI_BUCKETS; i++) {
        struct zkli_list *link;
        while ((link = zkli_list_take_first(&e->watches[i])) != NULL) {
            struct zkli_watch *watch = ZKLI_CONTAINER(link, struct zkli_watch, link);
            forget_watchers(&watch->watchers);
            free(watch);
        }
    }
    e->stale_watch_bytes = 0;
}

static void fire(struct zkli_engine *e, struct zkli_watch *watch, enum zkli_watch_type type) {
    struct zkli_list *link;
    while ((link = zkli_list_take_first(&watch->watchers)) != NULL) {
        ZKLI_CONTAINER(link, struct zkli_watcher, link)->fired_type = type;
        zkli_list_append(&e->fired, link);
    }
    watch->is_set = false;
    free_unless_stale(e, watch);
}

void zkli_watches_fire(struct zkli_engine *e, const char *path, enum zkli_watch_type type) {
    for (int is_of_children = 0; is_of_children <= 1; is_of_children++) {
        struct zkli_watch *watch = find(e, path, strlen(path), is_of_children != 0);
        bool is_its = type == ZKLI_WATCH_DELETED ||
                      (type == ZKLI_WATCH_CHILDREN) == (is_of_children != 0);
        if (watch != NULL && is_its)
            fire(e, watch, type);
    }
}

void zkli_watches_fire_all(struct zkli_engine *e) {
    for (size_t i = 0; i < ZKLI_BUCKETS; i++) {
        struct zkli_list *link = e->watches[i].next;
        while (link != &e->watches[i]) {
            struct zkli_watch *watch = ZKLI_CONTAINER(link, struct zkli_watch, link);
            link = link->next;
            fire(e, watch, ZKLI_WATCH_CHANGED);
        }
    }
}

struct zkli_watcher *zkli_watches_next_fired(struct zkli_engine *e) {
    struct zkli_list *link = zkli_list_take_first(&e->fired);
    if (link == NULL)
        return NULL;
    struct zkli_watcher *watcher = ZKLI_CONTAINER(link, struct zkli_watcher, link);
    zkli_list_append(&watcher->watch->watchers, link);
    return watcher;
}
