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
};

bool zkli_kind_waits_for(enum zkli_kind kind, enum zkli_kind other) {
    return (waits_for[kind] & BIT(other)) != 0;
}

size_t zkli_listing_staying(const struct zkli_listing *listing, enum zkli_kind kind) {
    size_t staying = 0;
    for (size_t i = 0; i < listing->count; i++)
        staying += !listing->siblings[i].is_leaving &&
                   zkli_kind_waits_for(kind, listing->siblings[i].kind);
    return staying;
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

/* One pass instead of a sort: a place needs only counts of those before us, and the nearest. */
struct zkli_admission zkli_admit(enum zkli_kind kind, const struct zkli_listing *listing,
                                 const char *own_name) {
    struct zkli_admission place = {.verdict = ZKLI_VERDICT_ABSENT};
    const struct zkli_sibling *own = find(listing, own_name);
    if (own == NULL)
        return place;
    if (zkli_listing_needs_czxid(listing)) {
        place.verdict = ZKLI_VERDICT_NEEDS_CZXID;
        return place;
    }
    size_t kept_out_by = 0;
    for (size_t i = 0; i < listing->count; i++) {
        const struct zkli_sibling *other = &listing->siblings[i];
        if (other == own || !is_before_us(listing, other, own))
            continue;
        place.position++;
        if (!zkli_kind_waits_for(kind, other->kind))
            continue;
        kept_out_by++;
        place.staying += !other->is_leaving;
        if (place.predecessor == NULL || zkli_sibling_is_before(place.predecessor, other))
            place.predecessor = other;
    }
    place.verdict = kept_out_by == 0 ? ZKLI_VERDICT_ADMITTED : ZKLI_VERDICT_WATCH_NODE;
    place.is_hand_off = kept_out_by == 1 && !listing->is_by_czxid;
    place.may_turn = kept_out_by > 0 && place.predecessor->kind == ZKLI_KIND_WRITE &&
                     zkli_kind_waits_for(kind, ZKLI_KIND_READ);
    return place;
}
