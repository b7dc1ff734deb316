/* admission - see admission.h. */
#include "core/admission.h"

#include <string.h>

bool zkli_sibling_parse(struct zkli_sibling *ret_sibling, const char *child) {
    struct zkli_node_name parsed = zkli_node_name_parse(child);
    if (parsed.kind == ZKLI_KIND_NONE)
        return false;
    *ret_sibling = (struct zkli_sibling){child, parsed.kind, parsed.sequence, false};
    return true;
}

#define BIT(kind) (1u << (kind))
#define EVERY_KIND (~0u)

/* By the kind of contender, the kinds before it that keep it out. */
static const unsigned waits_for[] = {
    [ZKLI_KIND_MUTEX] = EVERY_KIND,
    [ZKLI_KIND_WRITE] = EVERY_KIND,
    [ZKLI_KIND_READ] = EVERY_KIND & ~BIT(ZKLI_KIND_READ),
    [ZKLI_KIND_LEASE] = EVERY_KIND & ~BIT(ZKLI_KIND_LEASE),
    [ZKLI_KIND_FOREIGN] = EVERY_KIND,
};

bool zkli_kind_waits_for(enum zkli_kind kind, enum zkli_kind other) {
    return (waits_for[kind] & BIT(other)) != 0;
}

struct zkli_permits zkli_listing_permits(const struct zkli_listing *listing,
                                         const struct zkli_permits *permits) {
    struct zkli_permits its = *permits;
    if (its.czxid != listing->czxid || its.version != listing->version)
        its.state = ZKLI_PERMITS_UNKNOWN;
    return its;
}

/* Of contenders that are not leaving: those that keep us out one by one, and all. Before a
 * semaphore's contender, all that do not keep it out one by one are leases. */
static size_t staying_of(enum zkli_kind kind, size_t exclusive, size_t all, int permits) {
    if (kind != ZKLI_KIND_LEASE || exclusive > 0)
        return exclusive;
    return all >= (size_t)permits ? all - (size_t)permits + 1 : 0;
}

size_t zkli_listing_staying(const struct zkli_listing *listing, enum zkli_kind kind, int permits) {
    size_t exclusive = 0, all = 0;
    for (size_t i = 0; i < listing->count; i++) {
        const struct zkli_sibling *other = &listing->siblings[i];
        exclusive += !other->is_leaving && zkli_kind_waits_for(kind, other->kind);
        all += !other->is_leaving;
    }
    return staying_of(kind, exclusive, all, permits);
}

const struct zkli_sibling *zkli_listing_kept(const struct zkli_listing *listing,
                                             enum zkli_kind kind) {
    const struct zkli_sibling *first = NULL;
    for (size_t i = 0; i < listing->count; i++) {
        const struct zkli_sibling *other = &listing->siblings[i];
        bool keeps_out = zkli_kind_waits_for(kind, other->kind) || other->kind == ZKLI_KIND_LEASE;
        if (keeps_out && !other->is_leaving &&
            (first == NULL || zkli_sibling_is_before(other, first)))
            first = other;
    }
    return first != NULL && zkli_node_name_may_be_kept(first->name) ? first : NULL;
}

bool zkli_listing_needs_czxid(const struct zkli_listing *listing) {
    if (listing->is_by_czxid)
        return false;
    for (size_t i = 0; i < listing->count; i++) {
        int64_t sequence = listing->siblings[i].order;
        if (sequence < 0 || sequence > ZKLI_COUNTER_END - ZKLI_COUNTER_MARGIN)
            return true;
    }
    return false;
}

bool zkli_sibling_is_before(const struct zkli_sibling *a, const struct zkli_sibling *b) {
    if (a->order != b->order)
        return a->order < b->order;
    return strcmp(a->name, b->name) < 0;
}

static const struct zkli_sibling *find(const struct zkli_listing *listing, const char *name) {
    for (size_t i = 0; i < listing->count; i++)
        if (strcmp(listing->siblings[i].name, name) == 0)
            return &listing->siblings[i];
    return NULL;
}

/* Of a semaphore's, beside none but its like: one behind it, and more than may hold. */
static bool is_awaited_by_lease(const struct zkli_listing *listing, const struct zkli_sibling *own,
                                int permits) {
    size_t leases = 0;
    bool is_last = true;
    for (size_t i = 0; i < listing->count; i++) {
        const struct zkli_sibling *other = &listing->siblings[i];
        bool counts = !other->is_leaving;
        leases += counts;
        is_last = is_last && !(counts && zkli_sibling_is_before(own, other));
    }
    return !is_last && leases > (size_t)permits && !zkli_listing_needs_czxid(listing);
}

bool zkli_listing_awaits(const struct zkli_listing *listing, enum zkli_kind kind,
                         const char *own_name, int permits) {
    const struct zkli_sibling *own = find(listing, own_name);
    bool has_order = own != NULL && !zkli_listing_needs_czxid(listing);
    size_t kept_out = 0;
    for (size_t i = 0; i < listing->count; i++) {
        const struct zkli_sibling *other = &listing->siblings[i];
        bool is_before = has_order && zkli_sibling_is_before(other, own);
        kept_out += other != own && !is_before && !other->is_leaving &&
                    zkli_kind_waits_for(other->kind, kind);
    }
    return kept_out > 0 ||
           (kind == ZKLI_KIND_LEASE && own != NULL && is_awaited_by_lease(listing, own, permits));
}

/*
 * Whether, by its number, it comes before us, though by its czxid it may not. Curator turns a
 * writer into a reader by a new node, with a new czxid, which keeps the old number and place.
 * Numbers below the counter's end are given once each, in the order of the creates, and before any
 * that repeat.
 */
static bool has_old_place(const struct zkli_sibling *other, const struct zkli_sibling *own) {
    if (other->kind != ZKLI_KIND_READ)
        return false;
    int64_t number = zkli_node_name_parse(other->name).sequence;
    int64_t own_number = zkli_node_name_parse(own->name).sequence;
    return number >= 0 && number < ZKLI_COUNTER_END && (number < own_number || own_number < 0);
}

static bool is_before_us(const struct zkli_listing *listing, const struct zkli_sibling *other,
                         const struct zkli_sibling *own) {
    return zkli_sibling_is_before(other, own) ||
           (listing->is_by_czxid && has_old_place(other, own));
}

static const struct zkli_sibling *later(const struct zkli_sibling *a,
                                        const struct zkli_sibling *b) {
    return a == NULL || zkli_sibling_is_before(a, b) ? b : a;
}

/* Only leases are before us. */
static enum zkli_verdict verdict_among_leases(size_t position, const struct zkli_permits *permits) {
    if (position < (size_t)permits->count)
        return ZKLI_VERDICT_ADMITTED;
    return position <= (size_t)permits->max ? ZKLI_VERDICT_FRONT : ZKLI_VERDICT_WATCH_NODE;
}

/* One pass instead of a sort: a place needs only counts of those before us, and the nearest. */
struct zkli_admission zkli_admit(enum zkli_kind kind, const struct zkli_listing *listing,
                                 const char *own_name, const struct zkli_permits *permits) {
    struct zkli_admission place = {.verdict = ZKLI_VERDICT_ABSENT};
    const struct zkli_sibling *own = find(listing, own_name);
    bool is_lease = kind == ZKLI_KIND_LEASE;
    if (own == NULL)
        return place;
    bool needs_permits = is_lease && permits->state != ZKLI_PERMITS_RECORDED;
    place.verdict = needs_permits                       ? ZKLI_VERDICT_NEEDS_PERMITS
                    : zkli_listing_needs_czxid(listing) ? ZKLI_VERDICT_NEEDS_CZXID
                                                        : ZKLI_VERDICT_ADMITTED;
    if (place.verdict != ZKLI_VERDICT_ADMITTED)
        return place;
    const struct zkli_sibling *nearest = NULL;
    size_t kept_out_by = 0, exclusive = 0, all = 0;
    for (size_t i = 0; i < listing->count; i++) {
        const struct zkli_sibling *other = &listing->siblings[i];
        if (other == own || !is_before_us(listing, other, own))
            continue;
        place.position++;
        nearest = later(nearest, other);
        all += !other->is_leaving;
        if (!zkli_kind_waits_for(kind, other->kind))
            continue;
        kept_out_by++;
        exclusive += !other->is_leaving;
        place.predecessor = later(place.predecessor, other);
    }
    place.may_have_followers = place.position + 1 < listing->count || listing->is_by_czxid;
    place.staying = staying_of(kind, exclusive, all, is_lease ? permits->count : 0);
    if (kept_out_by > 0)
        place.verdict = ZKLI_VERDICT_WATCH_NODE;
    else if (is_lease)
        place.verdict = verdict_among_leases(place.position, permits);
    if (place.verdict == ZKLI_VERDICT_WATCH_NODE && kept_out_by == 0)
        place.predecessor = nearest;
    bool may_turn = kept_out_by > 0 && place.predecessor->kind == ZKLI_KIND_WRITE &&
                    zkli_kind_waits_for(kind, ZKLI_KIND_READ);
    place.is_hand_off = kept_out_by == 1 && !may_turn && !listing->is_by_czxid && !is_lease;
    return place;
}
