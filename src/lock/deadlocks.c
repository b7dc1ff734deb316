/*
 * deadlocks - owners that wait for each other in a circle, over many locks.
 *
 * A queue is read while others move, so what is read of two queues may never have been true
 * together. But nodes do not come back. A wait whose two nodes are read in one pass, and read again
 * in a later one, has been there all the time between. So the waits that are read in both passes
 * were all there when the first pass ended. They are compared by nodes: an owner may have left a
 * queue and come again.
 *
 * What an owner has given up may be on the servers for a while: a deletion is under way, a place is
 * kept, or a create whose reply was lost is looked for. The pause is longer than most of that
 * takes. An owner with two nodes in one queue has such a one: then all is read a third time.
 */
#include <stdlib.h>
#include <string.h>

#include "lock/queue_copy.h"
#include "lock/waits.h"

/* A place is kept for 50 ms (stay.c). */
#define PAUSE_NS (150 * ZKLI_NS_PER_MS)

struct watched {
    char *name;
    zkl_queue *queue; /* as it was read first */
    bool is_wanted;   /* in the next pass */
};

/* Of a wait: the lock, and the two contenders by their places in the queue that was read first. */
struct place {
    size_t lock, waiter, blocker;
};

struct search {
    struct zkl_session *session;
    struct watched *locks;
    size_t lock_count, locks_max;
    struct zkli_wait *waits; /* .what is the index of its place */
    size_t count, max;
    struct place *places; /* of all waits that were found first */
    zkl_err err;          /* of what was refused in between */
};

/* ---- Memory ---- */

/* Room for one more; NULL: out of memory. */
static void *grow(void *list, size_t count, size_t *max, size_t size) {
    if (count < *max)
        return list;
    const size_t more = *max == 0 ? 64 : 2 * *max;
    void *grown = realloc(list, more * size);
    if (grown != NULL)
        *max = more;
    return grown;
}

static void search_fini(struct search *search) {
    for (size_t i = 0; i < search->lock_count; i++) {
        free(search->locks[i].name);
        zkl_queue_free(search->locks[i].queue);
    }
    free(search->locks);
    free(search->waits);
    free(search->places);
}

/* ---- The first pass ---- */

static void on_lock(const char *name, size_t contenders, void *arg) {
    struct search *search = arg;
    if (contenders < 2 || contenders == ZKL_UNREADABLE || search->err != ZKL_OK)
        return;
    struct watched *locks = grow(search->locks, search->lock_count, &search->locks_max,
                                 sizeof(*locks));
    char *copy = strdup(name);
    if (locks != NULL)
        search->locks = locks;
    if (locks == NULL || copy == NULL) {
        free(copy);
        search->err = ZKL_NOMEM;
        return;
    }
    search->locks[search->lock_count++] = (struct watched){.name = copy};
}

static struct zkli_owner owner_of(const struct zkl_queue *queue, size_t index) {
    const struct zkli_node_data *data = &queue->entries[index].data;
    return (struct zkli_owner){data->owner_nonce, data->owner_thread};
}

static bool is_known(const struct zkl_queue *queue, size_t index) {
    return queue->entries[index].data.owner_thread != 0;
}

static bool add_wait(struct search *search, size_t lock, size_t waiter, size_t blocker) {
    const struct zkl_queue *queue = search->locks[lock].queue;
    if (!is_known(queue, waiter) || !is_known(queue, blocker))
        return true;
    size_t max = search->max;
    struct zkli_wait *waits = grow(search->waits, search->count, &max, sizeof(*waits));
    if (waits != NULL)
        search->waits = waits;
    max = search->max;
    struct place *places = grow(search->places, search->count, &max, sizeof(*places));
    if (places != NULL)
        search->places = places;
    if (waits == NULL || places == NULL)
        return false;
    search->max = max;
    search->places[search->count] = (struct place){lock, waiter, blocker};
    search->waits[search->count] = (struct zkli_wait){
        owner_of(queue, waiter), owner_of(queue, blocker), .what = search->count};
    search->count++;
    return true;
}

/*
 * Who must go before this one: for a reader the nearest exclusive contender; for an exclusive one
 * all behind the nearest exclusive one, and that. Those before that one it must wait for in its
 * turn. One of a semaphore's waits for any of several, which is no wait for one of them.
 */
static bool add_waits_of(struct search *search, size_t lock, size_t waiter) {
    const struct zkli_entry *entries = search->locks[lock].queue->entries;
    enum zkli_kind kind = entries[waiter].place.kind;
    bool is_exclusive = kind != ZKLI_KIND_READ && kind != ZKLI_KIND_LEASE;
    if (kind == ZKLI_KIND_LEASE)
        return true;
    for (size_t i = waiter; i-- > 0;) {
        enum zkli_kind other = entries[i].place.kind;
        bool is_end = other != ZKLI_KIND_READ && other != ZKLI_KIND_LEASE;
        bool is_blocker = is_end || is_exclusive || other == ZKLI_KIND_LEASE;
        if (is_blocker && !add_wait(search, lock, waiter, i))
            return false;
        if (is_end)
            break;
    }
    return true;
}

/* Of some locks there is nothing to be had, and the others count all the same. */
static zkl_err read_queue(struct search *search, size_t lock, zkl_queue **ret_queue) {
    zkl_err err = zkl_inspect(search->session, search->locks[lock].name, ret_queue);
    if (err != ZKL_DENIED)
        return err;
    search->err = ZKL_DENIED;
    return ZKL_OK;
}

static zkl_err read_first(struct search *search) {
    for (size_t lock = 0; lock < search->lock_count; lock++) {
        zkl_err err = read_queue(search, lock, &search->locks[lock].queue);
        if (err != ZKL_OK)
            return err;
        const size_t contenders = zkl_queue_count(search->locks[lock].queue);
        for (size_t i = 1; i < contenders; i++)
            if (!add_waits_of(search, lock, i))
                return ZKL_NOMEM;
    }
    return ZKL_OK;
}

static zkl_err trim(struct search *search) {
    size_t kept = zkli_waits_trim(search->waits, search->count);
    if (kept == SIZE_MAX)
        return ZKL_NOMEM;
    search->count = kept;
    return ZKL_OK;
}

/* ---- Later passes ---- */

static const struct place *place_of(const struct search *search, size_t wait) {
    return &search->places[search->waits[wait].what];
}

static bool has_node(const zkl_queue *queue, const char *node) {
    for (size_t i = 0; i < zkl_queue_count(queue); i++)
        if (strcmp(queue->entries[i].node, node) == 0)
            return true;
    return false;
}

/* Whether both nodes are there again, by what is read now. */
static bool is_there_again(const struct search *search, const struct place *place,
                           const zkl_queue *now) {
    const struct zkli_entry *first = search->locks[place->lock].queue->entries;
    return has_node(now, first[place->waiter].node) && has_node(now, first[place->blocker].node);
}

/* Drops those of this lock that are not. */
static zkl_err read_again(struct search *search, size_t lock) {
    zkl_queue *now;
    size_t kept = 0;
    zkl_err err = read_queue(search, lock, &now);
    if (err != ZKL_OK)
        return err;
    for (size_t i = 0; i < search->count; i++)
        if (place_of(search, i)->lock != lock || is_there_again(search, place_of(search, i), now))
            search->waits[kept++] = search->waits[i];
    search->count = kept;
    zkl_queue_free(now);
    return ZKL_OK;
}

static void pause_reading(struct zkl_session *s) {
    zkli_session_lock(s);
    zkli_session_rest(s, PAUSE_NS);
    zkli_session_unlock(s);
}

static zkl_err confirm(struct search *search) {
    zkl_err err = ZKL_OK;
    pause_reading(search->session);
    for (size_t i = 0; i < search->lock_count; i++)
        search->locks[i].is_wanted = false;
    for (size_t i = 0; i < search->count; i++)
        search->locks[place_of(search, i)->lock].is_wanted = true;
    for (size_t i = 0; i < search->lock_count && err == ZKL_OK; i++)
        if (search->locks[i].is_wanted)
            err = read_again(search, i);
    return err == ZKL_OK ? trim(search) : err;
}

static bool is_twice(const zkl_queue *queue, const struct zkli_owner *owner) {
    size_t times = 0;
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        const struct zkli_owner other = owner_of(queue, i);
        times += zkli_owner_is(owner, &other);
    }
    return times > 1;
}

static bool has_doubles(const struct search *search) {
    for (size_t i = 0; i < search->count; i++) {
        const zkl_queue *queue = search->locks[place_of(search, i)->lock].queue;
        if (is_twice(queue, &search->waits[i].waiter) || is_twice(queue, &search->waits[i].blocker))
            return true;
    }
    return false;
}

/* ---- What was found ---- */

static zkl_wait wait_shown(const struct search *search, const struct zkli_wait *wait) {
    const struct place *place = &search->places[wait->what];
    const struct watched *lock = &search->locks[place->lock];
    return (zkl_wait){.size = sizeof(zkl_wait),
                      .name = lock->name,
                      .waiter = zkl_queue_at(lock->queue, place->waiter),
                      .blocker = zkl_queue_at(lock->queue, place->blocker)};
}

/* Circles, one after the other, with their lengths: all of them before the first is told, so that
 * none is told where memory is short. */
struct found {
    struct zkli_wait *waits;
    size_t *lengths;
    size_t count;
    zkl_wait *shown;
};

static zkl_err find_all(struct search *search, struct found *ret) {
    size_t used = 0;
    while (search->count > 0) {
        size_t length = zkli_waits_find(search->waits, search->count, ret->waits + used);
        if (length == SIZE_MAX)
            return ZKL_NOMEM;
        if (length == 0)
            break;
        ret->lengths[ret->count++] = length;
        search->count = zkli_waits_drop(search->waits, search->count, ret->waits + used, length);
        used += length;
    }
    return ZKL_OK;
}

static void tell_all(const struct search *search, const struct found *found, zkl_deadlock_fn fn,
                     void *arg) {
    const struct zkli_wait *at = found->waits;
    for (size_t i = 0; i < found->count; i++) {
        for (size_t k = 0; k < found->lengths[i]; k++)
            found->shown[k] = wait_shown(search, &at[k]);
        fn(found->shown, found->lengths[i], arg);
        at += found->lengths[i];
    }
}

static zkl_err report(struct search *search, zkl_deadlock_fn fn, void *arg) {
    struct found found = {.waits = malloc(search->count * sizeof(*found.waits)),
                          .lengths = malloc(search->count * sizeof(*found.lengths)),
                          .shown = malloc(search->count * sizeof(*found.shown))};
    zkl_err err = ZKL_NOMEM;
    if (found.waits != NULL && found.lengths != NULL && found.shown != NULL)
        err = find_all(search, &found);
    if (err == ZKL_OK)
        tell_all(search, &found, fn, arg);
    free(found.waits);
    free(found.lengths);
    free(found.shown);
    return err;
}

static zkl_err run(struct search *search, const char *prefix, zkl_deadlock_fn fn, void *arg) {
    zkl_err err = zkl_list(search->session, prefix, on_lock, search);
    if (search->err == ZKL_NOMEM || (err != ZKL_OK && err != ZKL_DENIED))
        return err == ZKL_OK || err == ZKL_DENIED ? ZKL_NOMEM : err;
    search->err = err;
    err = read_first(search);
    if (err == ZKL_OK)
        err = trim(search);
    if (err == ZKL_OK && search->count > 0)
        err = confirm(search);
    if (err == ZKL_OK && has_doubles(search))
        err = confirm(search);
    if (err == ZKL_OK && search->count > 0)
        err = report(search, fn, arg);
    return err == ZKL_OK ? search->err : err;
}

zkl_err zkl_find_deadlocks(zkl_session *s, const char *prefix, zkl_deadlock_fn fn, void *arg) {
    struct search search = {.session = s};
    if (s == NULL || fn == NULL)
        return ZKL_INVALID;
    if (!zkli_session_begin(s))
        return ZKL_FORKED;
    zkl_err err = run(&search, prefix, fn, arg);
    search_fini(&search);
    zkli_session_lock(s);
    zkli_session_unlock_and_release(s);
    return err;
}
