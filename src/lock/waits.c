/* waits - see waits.h. */
#include "lock/waits.h"

#include <assert.h>
#include <stdlib.h>

#define NONE SIZE_MAX

/* Owners are numbered; waits go between numbers. */
struct graph {
    struct zkli_owner *owners; /* sorted, without doubles */
    size_t owner_count, wait_count;
    /* By waits: the numbers of the two; the next one that begins, or ends, with the same. */
    size_t *from, *to, *next_out, *next_in;
    /* By owners: the first such wait; how many there are; the wait by which a search came here. */
    size_t *first_out, *first_in, *outs, *ins, *reached_by;
    size_t *queue; /* of owners */
};

/* ---- Owners ---- */

static int compare_owners(const void *a, const void *b) {
    const struct zkli_owner *x = a, *y = b;
    if (x->nonce != y->nonce)
        return x->nonce < y->nonce ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

bool zkli_owner_is(const struct zkli_owner *a, const struct zkli_owner *b) {
    return compare_owners(a, b) == 0;
}

static size_t number_of(const struct graph *g, const struct zkli_owner *owner) {
    const struct zkli_owner *found = bsearch(owner, g->owners, g->owner_count, sizeof(*g->owners),
                                             compare_owners);
    assert(found != NULL);
    return (size_t)(found - g->owners);
}

static void collect_owners(struct graph *g, const struct zkli_wait *waits) {
    const size_t named = 2 * g->wait_count;
    for (size_t i = 0; i < g->wait_count; i++) {
        g->owners[2 * i] = waits[i].waiter;
        g->owners[2 * i + 1] = waits[i].blocker;
    }
    qsort(g->owners, named, sizeof(*g->owners), compare_owners);
    g->owner_count = 1;
    for (size_t i = 1; i < named; i++)
        if (!zkli_owner_is(&g->owners[g->owner_count - 1], &g->owners[i]))
            g->owners[g->owner_count++] = g->owners[i];
}

/* ---- The graph ---- */

static void graph_free(struct graph *g) {
    free(g->owners);
    free(g->from);
}

/* False: out of memory. */
static bool graph_alloc(struct graph *g, size_t wait_count) {
    enum {
        BY_WAITS = 4,
        BY_OWNERS = 6
    };
    const size_t owners_max = 2 * wait_count;
    *g = (struct graph){.wait_count = wait_count};
    g->owners = malloc(owners_max * sizeof(*g->owners));
    g->from = malloc((BY_WAITS * wait_count + BY_OWNERS * owners_max) * sizeof(*g->from));
    if (g->owners == NULL || g->from == NULL) {
        graph_free(g);
        return false;
    }
    g->to = g->from + wait_count;
    g->next_out = g->to + wait_count;
    g->next_in = g->next_out + wait_count;
    g->first_out = g->next_in + wait_count;
    g->first_in = g->first_out + owners_max;
    g->outs = g->first_in + owners_max;
    g->ins = g->outs + owners_max;
    g->reached_by = g->ins + owners_max;
    g->queue = g->reached_by + owners_max;
    return true;
}

static void add_wait(struct graph *g, size_t wait, size_t from, size_t to) {
    g->from[wait] = from;
    g->to[wait] = to;
    g->next_out[wait] = g->first_out[from];
    g->next_in[wait] = g->first_in[to];
    g->first_out[from] = g->first_in[to] = wait;
    g->outs[from]++;
    g->ins[to]++;
}

/* Of at least one wait. False: out of memory. */
static bool graph_make(struct graph *g, const struct zkli_wait *waits, size_t count) {
    if (!graph_alloc(g, count))
        return false;
    collect_owners(g, waits);
    for (size_t i = 0; i < g->owner_count; i++) {
        g->first_out[i] = g->first_in[i] = NONE;
        g->outs[i] = g->ins[i] = 0;
    }
    for (size_t i = 0; i < count; i++)
        add_wait(g, i, number_of(g, &waits[i].waiter), number_of(g, &waits[i].blocker));
    return true;
}

/* ---- What no circle can have ---- */

static bool is_in_no_circle(const struct graph *g, size_t owner) {
    return g->outs[owner] == 0 || g->ins[owner] == 0;
}

/* One wait less at an owner, who is queued when that is what shows it to be in no circle. */
static void take_off(struct graph *g, size_t owner, size_t *counts, size_t *end) {
    bool was_in_none = is_in_no_circle(g, owner);
    counts[owner]--;
    if (!was_in_none && is_in_no_circle(g, owner))
        g->queue[(*end)++] = owner;
}

/* Both ends, once. */
static void remove_wait(struct graph *g, size_t wait, size_t *end) {
    if (g->from[wait] == NONE)
        return;
    take_off(g, g->from[wait], g->outs, end);
    take_off(g, g->to[wait], g->ins, end);
    g->from[wait] = NONE;
}

static void remove_who_is_in_none(struct graph *g) {
    size_t end = 0;
    for (size_t i = 0; i < g->owner_count; i++)
        if (is_in_no_circle(g, i))
            g->queue[end++] = i;
    for (size_t begin = 0; begin < end; begin++) {
        size_t owner = g->queue[begin];
        for (size_t wait = g->first_out[owner]; wait != NONE; wait = g->next_out[wait])
            remove_wait(g, wait, &end);
        for (size_t wait = g->first_in[owner]; wait != NONE; wait = g->next_in[wait])
            remove_wait(g, wait, &end);
    }
}

size_t zkli_waits_trim(struct zkli_wait *waits, size_t count) {
    struct graph g;
    size_t kept = 0;
    if (count == 0)
        return 0;
    if (!graph_make(&g, waits, count))
        return SIZE_MAX;
    remove_who_is_in_none(&g);
    for (size_t i = 0; i < count; i++)
        if (g.from[i] != NONE)
            waits[kept++] = waits[i];
    graph_free(&g);
    return kept;
}

/* ---- Circles ---- */

/* The wait by which the shortest way from this owner leads back to it; NONE: none does. */
static size_t search(struct graph *g, size_t start) {
    size_t end = 0;
    for (size_t i = 0; i < g->owner_count; i++)
        g->reached_by[i] = NONE;
    g->queue[end++] = start;
    for (size_t begin = 0; begin < end; begin++) {
        size_t owner = g->queue[begin];
        for (size_t wait = g->first_out[owner]; wait != NONE; wait = g->next_out[wait]) {
            size_t to = g->to[wait];
            if (to == start)
                return wait;
            if (g->reached_by[to] != NONE)
                continue;
            g->reached_by[to] = wait;
            g->queue[end++] = to;
        }
    }
    return NONE;
}

/* The way of the last search. */
static size_t length_of(const struct graph *g, size_t last) {
    size_t length = 1;
    for (size_t wait = last; g->reached_by[g->from[wait]] != NONE;
         wait = g->reached_by[g->from[wait]])
        length++;
    return length;
}

static void copy_circle(const struct graph *g, const struct zkli_wait *waits, size_t last,
                        size_t length, struct zkli_wait *ret_circle) {
    for (size_t wait = last; length-- > 0; wait = g->reached_by[g->from[wait]])
        ret_circle[length] = waits[wait];
}

size_t zkli_waits_find(const struct zkli_wait *waits, size_t count, struct zkli_wait *ret_circle) {
    struct graph g;
    size_t best = 0;
    if (count == 0)
        return 0;
    if (!graph_make(&g, waits, count))
        return SIZE_MAX;
    for (size_t owner = 0; owner < g.owner_count; owner++) {
        size_t last = search(&g, owner);
        size_t length = last == NONE ? 0 : length_of(&g, last);
        if (length == 0 || (best > 0 && length >= best))
            continue;
        best = length;
        copy_circle(&g, waits, last, length, ret_circle);
    }
    graph_free(&g);
    return best;
}

static bool is_in_circle(const struct zkli_wait *circle, size_t length,
                         const struct zkli_owner *owner) {
    for (size_t i = 0; i < length; i++)
        if (zkli_owner_is(&circle[i].waiter, owner))
            return true;
    return false;
}

size_t zkli_waits_drop(struct zkli_wait *waits, size_t count, const struct zkli_wait *circle,
                       size_t length) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_in_circle(circle, length, &waits[i].waiter) &&
            !is_in_circle(circle, length, &waits[i].blocker))
            waits[kept++] = waits[i];
    return kept;
}
