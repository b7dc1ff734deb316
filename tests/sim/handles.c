/* handles - what a client opens its locks as; see sim.h. */
#include "sim/sim.h"

static void on_event(const zkl_event *event, void *arg) {
    struct handle *handle = arg;
    checks_event(handle->client->world, handle, event);
}

static zkl_kind choose_kind(struct world *w, int lock) {
    unsigned percent = world_below(w, 100);
    if (w->handles == w->locks)
        return ZKL_MUTEX;
    if (w->permits[lock] > 0 && world_chance(w, 85))
        return ZKL_SEMAPHORE;
    return percent < 50 ? ZKL_READ : percent < 85 ? ZKL_WRITE : ZKL_MUTEX;
}

bool handle_open(struct client *c, int i) {
    static const char *const names[LOCKS_MAX] = {"a", "b", "c"};
    struct world *w = c->world;
    struct handle *h = &c->handles[i];
    int name = i % w->locks;
    zkl_kind kind = choose_kind(w, name);
    int linger_ms = (int)world_between(w, 1, 2 * w->timeout_ns / MS);
    bool follows = kind != ZKL_SEMAPHORE || world_chance(w, 20);
    *h = (struct handle){.client = c,
                         .name = name,
                         .is_recursive = world_chance(w, 50),
                         .lingers = w->handles > w->locks && world_chance(w, 45),
                         .turns_max = world_chance(w, 40) ? (int)world_below(w, 4) : 0};
    zkl_err err = zkl_lock_open(
        &h->lock, &c->session, names[h->name],
        &ZKL_LOCK_OPTIONS(.kind = kind, .permits = follows ? 0 : w->permits[name],
                          .recursive = h->is_recursive, .local_handoffs = h->turns_max,
                          .linger_ms = h->lingers ? linger_ms : 0,
                          .want_wanted = linger_ms % 2 == 0, .on_event = on_event, .arg = h));
    if (err == ZKL_OK)
        h->kind = h->lock->kind;
    return err == ZKL_OK;
}

void handle_close(struct client *c, int i) {
    struct handle *h = &c->handles[i];
    if (h->lock == NULL)
        return;
    (void)zkl_lock_close(h->lock);
    h->lock = NULL;
    if (h->writes > 0)
        world_violate(c->world, CHECK_LIVENESS, "a handle is closed, and %u writes are untold",
                      h->writes);
    h->writes = 0;
}

void handle_cancel(struct world *w, int client) {
    const struct client *c = &w->list[client];
    const struct handle *h = &c->handles[world_below(w, (unsigned)w->handles)];
    if (!c->is_open || c->is_paused || h->lock == NULL)
        return;
    TRACE(w, "client %d cancels %c", client, 'a' + h->name);
    (void)zkl_cancel(h->lock);
}

bool handles_are_told(const struct client *c) {
    for (int i = 0; i < HANDLES_MAX; i++)
        if (c->handles[i].writes > 0)
            return false;
    return true;
}
