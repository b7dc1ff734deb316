/*
 * Which waiters part those that share the lock, from others like them: a place of theirs is not
 * kept. Who keeps whom out: test_admission.c.
 */
#include "unit/contender_bench.h"

static void begin_as(struct bench *b, enum zkli_kind kind) {
    if (kind == ZKLI_KIND_LEASE)
        bench_semaphore(b, 1, false);
    else
        bench_init(b, false);
    b->permits = b->directory;
    b->c.kind = b->kind = kind;
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
    reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
}

/* Two of that kind before ours: of leases, the second keeps out who wants one permit. */
static void listed_behind(struct bench *b, enum zkli_kind before) {
    struct zkli_sibling siblings[3];
    char names[2][ZKLI_CHILD_MAX + 1];
    for (size_t i = 0; i < COUNT(names); i++) {
        char prefix[ZKLI_PREFIX_MAX + 1];
        zkli_node_prefix_format(prefix, before, "ffffffff-4e5f-4061-8273-8495a6b7c8d9");
        (void)snprintf(names[i], sizeof(names[i]), "%s%010zu", prefix, i + 1);
        REQUIRE(zkli_sibling_parse(&siblings[i], names[i]));
    }
    REQUIRE(zkli_sibling_parse(&siblings[2], b->c.node));
    struct zkli_listing listing = {.siblings = siblings,
                                   .count = COUNT(siblings),
                                   .czxid = b->directory.czxid,
                                   .version = b->directory.version};
    say(b, (struct zkli_contender_event){.type = ZKLI_EV_LISTED, .listing = &listing});
}

static void who_waits_behind_sharers_and_does_not_share_parts_them(void) {
    static const struct {
        enum zkli_kind own, before;
        bool parts;
    } cases[] = {
        {ZKLI_KIND_MUTEX, ZKLI_KIND_MUTEX, false}, {ZKLI_KIND_MUTEX, ZKLI_KIND_WRITE, false},
        {ZKLI_KIND_MUTEX, ZKLI_KIND_READ, true},   {ZKLI_KIND_MUTEX, ZKLI_KIND_LEASE, true},
        {ZKLI_KIND_WRITE, ZKLI_KIND_MUTEX, false}, {ZKLI_KIND_WRITE, ZKLI_KIND_WRITE, false},
        {ZKLI_KIND_WRITE, ZKLI_KIND_READ, true},   {ZKLI_KIND_WRITE, ZKLI_KIND_LEASE, true},
        {ZKLI_KIND_READ, ZKLI_KIND_MUTEX, false},  {ZKLI_KIND_READ, ZKLI_KIND_WRITE, false},
        {ZKLI_KIND_READ, ZKLI_KIND_READ, false},   {ZKLI_KIND_READ, ZKLI_KIND_LEASE, true},
        {ZKLI_KIND_LEASE, ZKLI_KIND_MUTEX, false}, {ZKLI_KIND_LEASE, ZKLI_KIND_WRITE, false},
        {ZKLI_KIND_LEASE, ZKLI_KIND_READ, true},   {ZKLI_KIND_LEASE, ZKLI_KIND_LEASE, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        begin_as(&b, cases[i].own);
        listed_behind(&b, cases[i].before);
        CHECK(zkli_contender_parts_sharers(&b.c) == cases[i].parts);
        if (zkli_contender_parts_sharers(&b.c) != cases[i].parts)
            test_note("case %zu", i);
    }
}

static void who_has_lost_its_place_parts_none(void) {
    struct bench b;
    begin_as(&b, ZKLI_KIND_MUTEX);
    CHECK(!zkli_contender_parts_sharers(&b.c)); /* it is not listed yet */
    listed_behind(&b, ZKLI_KIND_READ);
    answer_all(&b, ZKLI_RESULT_OK);
    CHECK_STATE(&b, "waiting");
    CHECK(zkli_contender_parts_sharers(&b.c));
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, true), ZKLI_TELL_REQUEUED | CREATE_AND_LIST);
    CHECK(!zkli_contender_parts_sharers(&b.c));
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"who waits behind sharers, and does not share, parts them",
         who_waits_behind_sharers_and_does_not_share_parts_them},
        {"who has lost its place parts none", who_has_lost_its_place_parts_none},
    };
    return TEST_MAIN(argc, argv, "contender_sharers", cases);
}
