/* Who is before whom: every order and subset of small sets, against a plain sort. */
#include "core/admission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define POOL_MAX 6
#define HEX32 "0a1b2c3d4e5f406182738495a6b7c8d9"
#define UUID(digit) "_c_0000000" digit "-4e5f-4061-8273-8495a6b7c8d9"

/* ---- The oracle ---- */

static int compare(const void *a, const void *b) {
    const struct zkli_sibling *left = a, *right = b;
    if (left->order != right->order)
        return left->order < right->order ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* A reader lets readers pass, and a lease leases; whatever else is before somebody keeps it out. */
static bool keeps_out(const struct zkli_sibling *other, enum zkli_kind kind) {
    return (kind != ZKLI_KIND_READ && kind != ZKLI_KIND_LEASE) || other->kind != kind;
}

/* Of a lease: with only leases before it. */
static bool is_right_among_leases(const struct zkli_permits *permits,
                                  const struct zkli_sibling *sorted, size_t position,
                                  const struct zkli_admission *place) {
    const size_t n = (size_t)permits->count, max = (size_t)permits->max;
    if (place->staying != (position < n ? 0 : position - n + 1))
        return false;
    if (position < n)
        return place->verdict == ZKLI_VERDICT_ADMITTED && place->predecessor == NULL;
    if (position <= max)
        return place->verdict == ZKLI_VERDICT_FRONT && place->predecessor == NULL;
    return place->verdict == ZKLI_VERDICT_WATCH_NODE &&
           strcmp(place->predecessor->name, sorted[position - 1].name) == 0;
}

/* Whether the place is what sorting says. permits: of a lease; else NULL. */
static bool is_right(const struct zkli_listing *listing, enum zkli_kind kind, const char *own,
                     const struct zkli_permits *permits, const struct zkli_admission *place) {
    struct zkli_sibling sorted[POOL_MAX];
    memcpy(sorted, listing->siblings, listing->count * sizeof(sorted[0]));
    qsort(sorted, listing->count, sizeof(sorted[0]), compare);
    size_t position = 0;
    while (position < listing->count && strcmp(sorted[position].name, own) != 0)
        position++;
    if (position == listing->count)
        return place->verdict == ZKLI_VERDICT_ABSENT;
    size_t nearest = position, count = 0;
    for (size_t i = 0; i < position; i++)
        if (keeps_out(&sorted[i], kind)) {
            nearest = i;
            count++;
        }
    if (place->position != position ||
        place->may_have_followers != (position + 1 < listing->count || listing->is_by_czxid))
        return false;
    if (count == 0 && permits != NULL)
        return is_right_among_leases(permits, sorted, position, place) && !place->is_hand_off;
    if (place->staying != count) /* none is leaving */
        return false;
    if (count == 0)
        return place->verdict == ZKLI_VERDICT_ADMITTED && place->predecessor == NULL &&
               !place->is_hand_off;
    /* A writer may leave a reader in its place, which keeps out all but readers. */
    bool may_turn = kind != ZKLI_KIND_READ && sorted[nearest].kind == ZKLI_KIND_WRITE;
    bool is_hand_off = count == 1 && !may_turn && !listing->is_by_czxid && permits == NULL;
    return place->verdict == ZKLI_VERDICT_WATCH_NODE && place->is_hand_off == is_hand_off &&
           place->predecessor >= listing->siblings &&
           place->predecessor < listing->siblings + listing->count &&
           strcmp(place->predecessor->name, sorted[nearest].name) == 0;
}

/* ---- All subsets in all orders ---- */

struct pool {
    const struct zkli_sibling *siblings;
    size_t count;
    bool is_by_czxid;
    size_t listings, wrong, not_one_first; /* what was seen */
};

/* Each of the listing as own, and one that is not in it. */
static void look_at(struct pool *pool, const struct zkli_sibling *siblings, size_t count) {
    struct zkli_listing listing = {
        .siblings = siblings, .count = count, .is_by_czxid = pool->is_by_czxid};
    static const enum zkli_kind kinds[] = {ZKLI_KIND_MUTEX, ZKLI_KIND_WRITE, ZKLI_KIND_READ};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        size_t firsts = 0;
        for (size_t own = 0; own < count; own++) {
            struct zkli_admission place = zkli_admit(kinds[i], &listing, siblings[own].name, NULL);
            firsts += place.verdict == ZKLI_VERDICT_ADMITTED;
            pool->wrong += !is_right(&listing, kinds[i], siblings[own].name, NULL, &place);
        }
        struct zkli_admission absent = zkli_admit(kinds[i], &listing, UUID("9") "-lock-0000000000",
                                                  NULL);
        pool->wrong += absent.verdict != ZKLI_VERDICT_ABSENT;
        pool->not_one_first += kinds[i] != ZKLI_KIND_READ && firsts != (count > 0);
    }
    for (int n = 1; n <= POOL_MAX; n++)
        for (int max = n; max <= POOL_MAX; max++)
            for (size_t own = 0; own < count; own++) {
                const struct zkli_permits permits = {
                    .state = ZKLI_PERMITS_RECORDED, .count = n, .max = max};
                const char *name = siblings[own].name;
                struct zkli_admission place = zkli_admit(ZKLI_KIND_LEASE, &listing, name, &permits);
                pool->wrong += !is_right(&listing, ZKLI_KIND_LEASE, name, &permits, &place);
            }
    pool->listings++;
}

/* Extends the listing by each sibling that is not in it; taken: bits of the pool. */
static void permute(struct pool *pool, struct zkli_sibling *siblings, size_t count,
                    unsigned taken) {
    look_at(pool, siblings, count);
    for (size_t i = 0; i < pool->count; i++)
        if ((taken & (1u << i)) == 0) {
            siblings[count] = pool->siblings[i];
            permute(pool, siblings, count + 1, taken | 1u << i);
        }
}

static void check_pool(const struct zkli_sibling *siblings, size_t count, bool is_by_czxid) {
    struct pool pool = {siblings, count, is_by_czxid, 0, 0, 0};
    struct zkli_sibling room[POOL_MAX];
    permute(&pool, room, 0, 0);
    CHECK_INT(pool.listings, 1957); /* the subsets of six, in every order */
    CHECK_INT(pool.wrong, 0);
    CHECK_INT(pool.not_one_first, 0);
}

static void check_names(const char *const *names, size_t count) {
    struct zkli_sibling siblings[POOL_MAX];
    for (size_t i = 0; i < count; i++)
        REQUIRE(zkli_sibling_parse(&siblings[i], names[i]));
    check_pool(siblings, count, false);
}

/* T33, T37: the text of the names says another order than their numbers. */
static void one_of_any_kinds_is_first_and_the_others_follow_by_number(void) {
    static const char *const names[] = {
        "x-72057594037927936-0000000000", UUID("9") "-lock-0000000002",
        HEX32 "__rlock__0000000009",      UUID("5") "-__READ__0000000010",
        UUID("1") "-__WRIT__0000000099",  UUID("0") "-lease-2146435071",
    };
    check_names(names, COUNT(names));
}

static void permits_are_counted_among_leases_alone(void) {
    static const char *const names[] = {
        UUID("9") "-lease-0000000002", UUID("8") "-lease-0000000005",
        UUID("7") "-lease-0000000006", UUID("5") "-__READ__0000000007",
        UUID("1") "-lease-0000000009", UUID("0") "-lease-0000000011",
    };
    static const char *const leases[] = {
        UUID("9") "-lease-0000000002", UUID("8") "-lease-0000000005", UUID("7") "-lease-0000000006",
        UUID("5") "-lease-0000000007", UUID("1") "-lease-0000000009", UUID("0") "-lease-0000000011",
    };
    check_names(names, COUNT(names));
    check_names(leases, COUNT(leases));
}

/* What was read counts for a listing of that very data, in that very directory. */
static void permits_are_those_of_the_listing(void) {
    static const char name[] = UUID("1") "-lease-0000000001";
    struct zkli_sibling sibling;
    REQUIRE(zkli_sibling_parse(&sibling, name));
    struct zkli_listing listing = {.siblings = &sibling, .count = 1, .czxid = 7, .version = 3};
    for (enum zkli_permits_state state = 0; state <= ZKLI_PERMITS_RECORDED; state++)
        for (int64_t czxid = 6; czxid <= 8; czxid++)
            for (int32_t version = 2; version <= 4; version++) {
                const struct zkli_permits read = {
                    .czxid = czxid, .version = version, .state = state, .count = 1, .max = 2};
                bool are_its = czxid == 7 && version == 3;
                struct zkli_permits its = zkli_listing_permits(&listing, &read);
                CHECK_INT(its.state, are_its ? state : ZKLI_PERMITS_UNKNOWN);
                CHECK(its.count == 1 && its.max == 2);
                CHECK_INT(zkli_admit(ZKLI_KIND_LEASE, &listing, name, &its).verdict,
                          its.state == ZKLI_PERMITS_RECORDED ? ZKLI_VERDICT_ADMITTED
                                                             : ZKLI_VERDICT_NEEDS_PERMITS);
            }
}

/* Numbers that repeat far from the counter's end were made by hand: any order that all agree on. */
static void equal_numbers_are_ordered_by_name(void) {
    static const char *const names[] = {
        UUID("1") "-lock-0000000005",
        UUID("2") "-lock-0000000005",
        UUID("1") "-__WRIT__0000000005",
        UUID("1") "-__READ__0000000005",
        "x-1-0000000005",
        "lock-0000000004",
    };
    check_names(names, COUNT(names));
}

static void by_czxid_numbers_do_not_count(void) {
    static const struct zkli_sibling siblings[] = {
        {UUID("1") "-lock-2147483647", ZKLI_KIND_MUTEX, INT64_C(0x100000007), false},
        {UUID("2") "-lock-2147483647", ZKLI_KIND_MUTEX, INT64_C(0x0ffffffff), false},
        {UUID("3") "-lock--2147483648", ZKLI_KIND_MUTEX, INT64_C(0x100000008), false},
        {UUID("4") "-lock--000000001", ZKLI_KIND_MUTEX, INT64_C(0x200000000), false},
        {HEX32 "__lock__0000000003", ZKLI_KIND_FOREIGN, 3, false},
        {"x-1-0000000002", ZKLI_KIND_FOREIGN, 3, false}, /* of one transaction */
    };
    check_pool(siblings, COUNT(siblings), true);
}

/* ---- The counter's end (T34) ---- */

/* T37: a reader that was a writer has the writer's number, and the czxid of the change. */
static void by_czxid_a_reader_in_an_old_place_is_before_us(void) {
    static const struct {
        const char *reader, *own;
        bool is_before;
    } pairs[] = {
        {UUID("1") "-__READ__2147483640", UUID("2") "-lock-2147483641", true},
        {UUID("1") "-__READ__0000000000", UUID("2") "-lock-2147483647", true},
        {UUID("1") "-__READ__2147483646", UUID("2") "-lock--2147483648", true},
        {UUID("1") "-__READ__2147483642", UUID("2") "-lock-2147483641", false},
        {UUID("1") "-__READ__2147483647", UUID("2") "-lock--2147483648", false}, /* may repeat */
        {UUID("1") "-__READ__-2147483648", UUID("2") "-lock-2147483647", false},
        {UUID("1") "-__READ__0000000005", UUID("2") "-lock-0000000005", false},
        {UUID("1") "-__READ__0000000005", UUID("2") "-lock-0000000000", false},
        {UUID("1") "-__WRIT__2147483640", UUID("2") "-lock-2147483641", false}, /* is no reader */
        {UUID("1") "-lock-2147483640", UUID("2") "-lock-2147483641", false},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct zkli_sibling siblings[2];
        REQUIRE(zkli_sibling_parse(&siblings[0], pairs[i].reader));
        REQUIRE(zkli_sibling_parse(&siblings[1], pairs[i].own));
        siblings[0].order = 8;
        siblings[1].order = 7;
        struct zkli_listing listing = {.siblings = siblings, .count = 2, .is_by_czxid = true};
        struct zkli_admission place = zkli_admit(ZKLI_KIND_MUTEX, &listing, pairs[i].own, NULL);
        CHECK(place.verdict ==
              (pairs[i].is_before ? ZKLI_VERDICT_WATCH_NODE : ZKLI_VERDICT_ADMITTED));
        CHECK_INT(place.position, pairs[i].is_before);
        siblings[0].order = 6;
        CHECK(zkli_admit(ZKLI_KIND_MUTEX, &listing, pairs[i].own, NULL).verdict ==
              ZKLI_VERDICT_WATCH_NODE);
    }
}

static enum zkli_verdict verdict_of(const char *const *names, size_t count, const char *own) {
    struct zkli_sibling siblings[POOL_MAX];
    for (size_t i = 0; i < count; i++)
        REQUIRE(zkli_sibling_parse(&siblings[i], names[i]));
    struct zkli_listing listing = {.siblings = siblings, .count = count};
    return zkli_admit(ZKLI_KIND_MUTEX, &listing, own, NULL).verdict;
}

static void numbers_near_the_counter_s_end_are_not_trusted(void) {
    static const struct {
        const char *number;
        bool is_trusted;
    } samples[] = {
        {"0000000000", true},   {"2146435071", true}, /* 2^31 - 1 - 2^20 */
        {"2146435072", false},  {"2147483646", false},  {"2147483647", false},
        {"2147483648", false},  {"9999999999", false},  {"-000000001", false},
        {"-2147483648", false}, {"-9999999999", false},
    };
    for (size_t i = 0; i < COUNT(samples); i++)
        for (size_t at = 0; at < 3; at++) {
            char odd[80];
            (void)snprintf(odd, sizeof(odd), "x-1-%s", samples[i].number);
            const char *names[] = {UUID("1") "-lock-0000000001", UUID("2") "-lock-0000000002",
                                   "x-2-0000000003"};
            names[at] = odd;
            for (size_t own = 0; own < 3; own++) {
                enum zkli_verdict verdict = verdict_of(names, 3, names[own]);
                CHECK((verdict == ZKLI_VERDICT_NEEDS_CZXID) == !samples[i].is_trusted);
            }
            CHECK(verdict_of(names, 3, "lock-0000000009") == ZKLI_VERDICT_ABSENT);
        }
}

/* What a real server gave, serially and to a burst: numbers repeat, then jump. */
static void where_numbers_repeat_or_jump_everybody_asks_for_czxids(void) {
    static const char *const names[] = {
        UUID("1") "-lock-2147483646",  UUID("2") "-lock-2147483647",  UUID("3") "-lock-2147483647",
        UUID("4") "-lock--2147483648", UUID("5") "-lock--2147483647", UUID("6") "-lock-2147483647",
    };
    struct zkli_sibling siblings[POOL_MAX];
    for (size_t own = 0; own < COUNT(names); own++) {
        CHECK(verdict_of(names, COUNT(names), names[own]) == ZKLI_VERDICT_NEEDS_CZXID);
        CHECK(verdict_of(names + own, 1, names[own]) == ZKLI_VERDICT_NEEDS_CZXID);
        REQUIRE(zkli_sibling_parse(&siblings[own], names[own]));
        siblings[own].order = 1000 + (int64_t)own;
    }
    struct zkli_listing listing = {
        .siblings = siblings, .count = COUNT(names), .is_by_czxid = true};
    CHECK(!zkli_listing_needs_czxid(&listing));
    for (size_t own = 0; own < COUNT(names); own++) {
        struct zkli_admission place = zkli_admit(ZKLI_KIND_MUTEX, &listing, names[own], NULL);
        CHECK_INT(place.position, own);
        CHECK(!place.is_hand_off);
    }
}

/* ---- Nodes that are being deleted ---- */

/* The first two are readers. */
static void a_node_stays_unless_it_is_leaving(void) {
    struct zkli_sibling siblings[4];
    for (unsigned leaving = 0; leaving < 1u << COUNT(siblings); leaving++) {
        size_t all = 0, others = 0;
        for (size_t i = 0; i < COUNT(siblings); i++) {
            bool is_leaving = (leaving >> i & 1) != 0;
            siblings[i] = (struct zkli_sibling){
                "x-1-0000000002", i < 2 ? ZKLI_KIND_READ : ZKLI_KIND_FOREIGN, 2, is_leaving};
            all += !is_leaving;
            others += !is_leaving && i >= 2;
        }
        struct zkli_listing listing = {.siblings = siblings, .count = COUNT(siblings)};
        CHECK_INT(zkli_listing_staying(&listing, ZKLI_KIND_MUTEX, 0), all);
        CHECK_INT(zkli_listing_staying(&listing, ZKLI_KIND_WRITE, 0), all);
        CHECK_INT(zkli_listing_staying(&listing, ZKLI_KIND_READ, 0), others);
        listing.count = 0;
        CHECK_INT(zkli_listing_staying(&listing, ZKLI_KIND_MUTEX, 0), 0);
    }
}

/* With so many permits, fewer leases keep nobody out; any other contender does. */
static void a_newcomer_s_permit_is_free_or_not(void) {
    struct zkli_sibling siblings[4];
    for (unsigned leaving = 0; leaving < 1u << COUNT(siblings); leaving++)
        for (int permits = 1; permits <= 5; permits++) {
            size_t leases = 0;
            for (size_t i = 0; i < COUNT(siblings); i++) {
                bool is_leaving = (leaving >> i & 1) != 0;
                siblings[i] = (struct zkli_sibling){"", ZKLI_KIND_LEASE, 2, is_leaving};
                leases += !is_leaving;
            }
            const size_t n = (size_t)permits;
            struct zkli_listing listing = {.siblings = siblings, .count = COUNT(siblings)};
            CHECK_INT(zkli_listing_staying(&listing, ZKLI_KIND_LEASE, permits),
                      leases < n ? 0 : leases - n + 1);
            siblings[0].kind = ZKLI_KIND_MUTEX;
            CHECK((zkli_listing_staying(&listing, ZKLI_KIND_LEASE, permits) > 0) ==
                  (!siblings[0].is_leaving || leases >= n));
        }
}

/* Of the first that keeps it out, and of no other. */
static void a_newcomer_may_ask_a_node_that_is_kept(void) {
    static const char *const names[] = {UUID("1") "-__READ__0000000001",
                                        "_c_00000002-4e5f-8061-8273-8495a6b7c8d9-lease-0000000002",
                                        "_c_00000003-4e5f-8061-8273-8495a6b7c8d9-lock-0000000003"};
    struct zkli_sibling siblings[COUNT(names)];
    for (size_t i = 0; i < COUNT(names); i++)
        REQUIRE(zkli_sibling_parse(&siblings[COUNT(names) - 1 - i], names[i]));
    struct zkli_listing listing = {.siblings = siblings, .count = COUNT(names)};
    CHECK(zkli_listing_kept(&listing, ZKLI_KIND_MUTEX) == NULL); /* behind the reader */
    CHECK(zkli_listing_kept(&listing, ZKLI_KIND_LEASE) == NULL);
    CHECK(zkli_listing_kept(&listing, ZKLI_KIND_READ) == &siblings[1]);
    siblings[2].is_leaving = true;
    CHECK(zkli_listing_kept(&listing, ZKLI_KIND_MUTEX) == &siblings[1]);
    CHECK(zkli_listing_kept(&listing, ZKLI_KIND_LEASE) == &siblings[1]);
    siblings[1].is_leaving = true;
    CHECK(zkli_listing_kept(&listing, ZKLI_KIND_READ) == &siblings[0]);
    listing.count = 0;
    CHECK(zkli_listing_kept(&listing, ZKLI_KIND_MUTEX) == NULL);
}

/* ---- The order itself ---- */

static void the_order_is_total(void) {
    static const int64_t orders[] = {INT64_MIN, -1, 0, 1, 2147483647, INT64_MAX};
    static const char *const names[] = {"a", "ab", "b"};
    struct zkli_sibling all[COUNT(orders) * COUNT(names)];
    for (size_t i = 0; i < COUNT(all); i++)
        all[i] = (struct zkli_sibling){names[i % COUNT(names)], ZKLI_KIND_FOREIGN,
                                       orders[i / COUNT(names)], false};
    for (size_t i = 0; i < COUNT(all); i++)
        for (size_t k = 0; k < COUNT(all); k++) {
            bool is_before = zkli_sibling_is_before(&all[i], &all[k]);
            CHECK(is_before == (i < k)); /* they were listed in order */
        }
}

static void a_sibling_borrows_its_name(void) {
    static const char name[] = HEX32 "__rlock__0000000009";
    struct zkli_sibling sibling;
    REQUIRE(zkli_sibling_parse(&sibling, name));
    CHECK(sibling.name == name);
    CHECK(sibling.kind == ZKLI_KIND_FOREIGN);
    CHECK(sibling.order == 9);
}

/* T32 */
static void a_child_that_is_no_contender_is_no_sibling(void) {
    struct zkli_sibling sibling = {"untouched", ZKLI_KIND_LEASE, 7, false};
    CHECK(!zkli_sibling_parse(&sibling, "readme"));
    CHECK(!zkli_sibling_parse(&sibling, ""));
    CHECK_STRING(sibling.name, "untouched");
    CHECK(sibling.kind == ZKLI_KIND_LEASE && sibling.order == 7);
}

static void in_an_empty_directory_everybody_is_absent(void) {
    struct zkli_listing listing = {.count = 0};
    struct zkli_admission place = zkli_admit(ZKLI_KIND_MUTEX, &listing, "lock-0000000001", NULL);
    CHECK(place.verdict == ZKLI_VERDICT_ABSENT);
    CHECK(place.predecessor == NULL && place.position == 0);
    CHECK(!zkli_listing_needs_czxid(&listing));
}

/* Names are compared whole: a node of another kind with our number is not ours. */
static void own_is_the_very_name(void) {
    static const char *const names[] = {UUID("1") "-lock-0000000001", UUID("2") "-lock-0000000002"};
    CHECK(verdict_of(names, 2, UUID("1") "-lock-0000000002") == ZKLI_VERDICT_ABSENT);
    CHECK(verdict_of(names, 2, UUID("1") "-lock-000000000") == ZKLI_VERDICT_ABSENT);
    CHECK(verdict_of(names, 2, UUID("1") "-lock-0000000001") == ZKLI_VERDICT_ADMITTED);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"one of any kinds is first and the others follow by number",
         one_of_any_kinds_is_first_and_the_others_follow_by_number},
        {"permits are counted among leases alone", permits_are_counted_among_leases_alone},
        {"permits are those of the listing", permits_are_those_of_the_listing},
        {"equal numbers are ordered by name", equal_numbers_are_ordered_by_name},
        {"by czxid, numbers do not count", by_czxid_numbers_do_not_count},
        {"by czxid, a reader in an old place is before us",
         by_czxid_a_reader_in_an_old_place_is_before_us},
        {"numbers near the counter's end are not trusted",
         numbers_near_the_counter_s_end_are_not_trusted},
        {"where numbers repeat or jump everybody asks for czxids",
         where_numbers_repeat_or_jump_everybody_asks_for_czxids},
        {"a node stays unless it is leaving", a_node_stays_unless_it_is_leaving},
        {"a newcomer's permit is free or not", a_newcomer_s_permit_is_free_or_not},
        {"a newcomer may ask a node that is kept", a_newcomer_may_ask_a_node_that_is_kept},
        {"the order is total", the_order_is_total},
        {"a sibling borrows its name", a_sibling_borrows_its_name},
        {"a child that is no contender is no sibling", a_child_that_is_no_contender_is_no_sibling},
        {"in an empty directory everybody is absent", in_an_empty_directory_everybody_is_absent},
        {"own is the very name", own_is_the_very_name},
    };
    return TEST_MAIN(argc, argv, "admission", cases);
}
