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

size_t zkli_listing_staying(const struct zkli_listing *listing) {
    size_t staying = 0;
    for (size_t i = 0; i < listing->count; i++)
        staying += !listing->siblings[i].is_leaving;
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

#define BIT(kind) (1u << (kind))
#define EVERY_KIND (~0u)

/* By the kind of contender: behind which kinds a deletion is a hand-off. */
static const struct {
    unsigned hand_off;
} rules[] = {
    /* The owner of a read or write name may create a node with an old number. */
    [ZKLI_KIND_MUTEX] = {EVERY_KIND & ~(BIT(ZKLI_KIND_READ) | BIT(ZKLI_KIND_WRITE))},
};

static bool is_hand_off(const struct zkli_terms *terms, const struct zkli_listing *listing,
                        const struct zkli_admission *place) {
    return place->verdict == ZKLI_VERDICT_WATCH_NODE && place->position == 1 &&
           !listing->is_by_czxid &&
           (rules[terms->kind].hand_off & BIT(place->predecessor->kind)) != 0;
}

/* One pass instead of a sort: a place needs only the count before us and the nearest of them. */
struct zkli_admission zkli_admit(const struct zkli_terms *terms, const struct zkli_listing *listing,
                                 const char *own_name) {
    struct zkli_admission place = {.verdict = ZKLI_VERDICT_ABSENT};
    const struct zkli_sibling *own = find(listing, own_name);
    if (own == NULL)
        return place;
    if (zkli_listing_needs_czxid(listing)) {
        place.verdict = ZKLI_VERDICT_NEEDS_CZXID;
        return place;
    }
    for (size_t i = 0; i < listing->count; i++) {
        const struct zkli_sibling *other = &listing->siblings[i];
        if (other == own || !is_before_us(listing, other, own))
            continue;
        place.position++;
        place.staying += !other->is_leaving;
        if (place.predecessor == NULL || zkli_sibling_is_before(place.predecessor, other))
            place.predecessor = other;
    }
    if (place.position < terms->permits)
        place.verdict = ZKLI_VERDICT_ADMITTED;
    else
        place.verdict = terms->permits == 1 ? ZKLI_VERDICT_WATCH_NODE : ZKLI_VERDICT_WATCH_CHILDREN;
    place.is_hand_off = is_hand_off(terms, listing, &place);
    return place;
}
