/* A holder that is told when somebody waits for its end, or has asked for it. */
#include "unit/contender_bench.h"

#define OTHER "ffffffff-4e5f-4061-8273-8495a6b7c8d9"

static void to_held_and_tells(struct bench *b) {
    to_held(b);
    zkli_contender_tell_awaited(&b->c);
}

/* The children as they are when it looks: ours, and perhaps one of this kind behind it. */
static unsigned followed_by(struct bench *b, enum zkli_kind kind) {
    static const char *const infixes[] = {
        [ZKLI_KIND_MUTEX] = "-lock-",
        [ZKLI_KIND_READ] = "-__READ__",
        [ZKLI_KIND_WRITE] = "-__WRIT__",
        [ZKLI_KIND_LEASE] = "-lease-",
    };
    char behind[ZKLI_CHILD_MAX + 1];
    struct zkli_sibling siblings[2];
    struct zkli_listing listing = {.siblings = siblings, .count = 1};
    REQUIRE(zkli_sibling_parse(&siblings[0], b->c.node));
    if (kind != ZKLI_KIND_NONE) {
        (void)snprintf(behind, sizeof(behind), "_c_" OTHER "%s%010d", infixes[kind],
                       OWN_NUMBER + 1);
        REQUIRE(zkli_sibling_parse(&siblings[1], behind) && siblings[1].kind == kind);
        listing.count = 2;
    }
    return say(b, (struct zkli_contender_event){.type = ZKLI_EV_FOLLOWERS, .listing = &listing});
}

static void it_looks_at_the_first_heartbeat_and_then_watches(void) {
    struct bench b;
    to_held_and_tells(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN | ZKLI_ASK_FOLLOWERS);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    CHECK_ACTIONS(followed_by(&b, ZKLI_KIND_NONE), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CHILDREN_EVENT), ZKLI_ASK_FOLLOWERS);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CHILDREN_EVENT), 0);
    CHECK_ACTIONS(followed_by(&b, ZKLI_KIND_MUTEX), ZKLI_TELL_AWAITED);
    CHECK(b.c.is_awaited);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CHILDREN_EVENT), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), 0);
    CHECK_STATE(&b, "held");
}

static void who_does_not_want_to_know_does_not_look(void) {
    struct bench b;
    to_held(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CHILDREN_EVENT), 0);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), ZKLI_ASK_OWN);
    CHECK_ACTIONS(say(&b, (struct zkli_contender_event){.type = ZKLI_EV_OWN_READ,
                                                        .owner = SESSION,
                                                        .is_asked = true}),
                  0);
    CHECK(b.c.is_awaited); /* for a hold that begins inside, and wants to be told */
}

static void without_an_answer_it_looks_again(void) {
    static const enum zkli_result results[] = {ZKLI_RESULT_LOST, ZKLI_RESULT_AGAIN,
                                               ZKLI_RESULT_NOMEM, ZKLI_RESULT_DENIED,
                                               ZKLI_RESULT_NO_NODE};
    struct bench b;
    to_held_and_tells(&b);
    news(&b, ZKLI_EV_HEARTBEAT);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    for (size_t i = 0; i < COUNT(results); i++) {
        CHECK_ACTIONS(reply(&b, ZKLI_EV_FOLLOWERS, results[i]), 0);
        CHECK_STATE(&b, "held");
        CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_FOLLOWERS);
    }
    CHECK_ACTIONS(followed_by(&b, ZKLI_KIND_MUTEX), ZKLI_TELL_AWAITED);
}

/* What the watch would have told may have been lost with the connection. */
static void on_a_new_connection_it_looks_again(void) {
    struct bench b;
    to_held_and_tells(&b);
    news(&b, ZKLI_EV_HEARTBEAT);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    followed_by(&b, ZKLI_KIND_NONE);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_FOLLOWERS);
    CHECK_ACTIONS(followed_by(&b, ZKLI_KIND_MUTEX), ZKLI_TELL_AWAITED);
    b.world.is_connected = false;
    struct bench parted;
    to_held_and_tells(&parted);
    parted.world.is_connected = false;
    CHECK_ACTIONS(news(&parted, ZKLI_EV_CHILDREN_EVENT), 0);
}

static unsigned read_own_asked(struct bench *b) {
    return say(b, (struct zkli_contender_event){
                      .type = ZKLI_EV_OWN_READ, .owner = SESSION, .is_asked = true});
}

static void it_can_be_asked(void) {
    struct bench b;
    to_held_and_tells(&b);
    news(&b, ZKLI_EV_HEARTBEAT);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    followed_by(&b, ZKLI_KIND_NONE);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), ZKLI_ASK_OWN); /* not at a heartbeat */
    CHECK_ACTIONS(read_own_asked(&b), ZKLI_TELL_AWAITED);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), ZKLI_ASK_OWN);
    CHECK_ACTIONS(read_own_asked(&b), 0); /* told once */
}

static void asked_before_the_grant_it_is_told_with_it(void) {
    struct bench b;
    to_placed(&b, BEHIND_HEAD);
    zkli_contender_tell_awaited(&b.c);
    CHECK_ACTIONS(read_own_asked(&b), 0);
    reply(&b, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_OK);
    CHECK_STATE(&b, "waiting");
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), ZKLI_DO_GRANT | ZKLI_TELL_AWAITED);
}

/* An idle node that somebody waits for goes. */
static void one_that_may_be_kept_is_wanted_then(void) {
    struct bench b;
    to_held_and_tells(&b);
    b.c.may_be_kept = true;
    news(&b, ZKLI_EV_HEARTBEAT);
    CHECK_ACTIONS(followed_by(&b, ZKLI_KIND_MUTEX), ZKLI_TELL_AWAITED | ZKLI_TELL_WANTED);
    CHECK(!zkli_contender_may_idle(&b.c));
}

static void to_kept_and_tells(struct bench *b, enum crowd crowd) {
    bench_init(b, false);
    zkli_contender_keep(&b->c);
    zkli_contender_tell_awaited(&b->c);
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
    reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(b, crowd), ZKLI_DO_GRANT);
}

/* The watch of the listing that granted it does not tell of those who were there. */
static void one_that_may_be_kept_looks_for_who_was_there(void) {
    struct bench b;
    to_kept_and_tells(&b, FIRST);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN | ZKLI_ASK_FOLLOWERS);
    CHECK_ACTIONS(followed_by(&b, ZKLI_KIND_MUTEX), ZKLI_TELL_AWAITED | ZKLI_TELL_WANTED);
}

/* It stands since a listing that showed nobody. */
static void one_that_may_be_kept_has_its_watch(void) {
    struct bench b;
    to_kept_and_tells(&b, ALONE);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CHILDREN_EVENT), ZKLI_TELL_WANTED | ZKLI_ASK_FOLLOWERS);
    CHECK_ACTIONS(followed_by(&b, ZKLI_KIND_MUTEX), ZKLI_TELL_AWAITED);
}

static void who_shares_looks_at_heartbeats_only(void) {
    struct bench b;
    to_held_and_tells(&b);
    b.c.kind = ZKLI_KIND_READ;
    news(&b, ZKLI_EV_HEARTBEAT);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    CHECK_ACTIONS(followed_by(&b, ZKLI_KIND_READ), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CHILDREN_EVENT), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_FOLLOWERS);
    CHECK_ACTIONS(followed_by(&b, ZKLI_KIND_WRITE), ZKLI_TELL_AWAITED);
}

static void it_may_become_a_reader_while_it_looks(void) {
    struct bench b;
    to_writing(&b);
    zkli_contender_tell_awaited(&b.c);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN | ZKLI_ASK_FOLLOWERS);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    CHECK_ACTIONS(news(&b, ZKLI_EV_TURN), ZKLI_ASK_TURN);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CHILDREN_EVENT), 0); /* its own doing, perhaps */
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TURNED, ZKLI_RESULT_OK), ZKLI_TELL_TURNED);
    CHECK_STATE(&b, "held");
    CHECK_ACTIONS(followed_by(&b, ZKLI_KIND_READ), 0);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN);
    to_writing(&b);
    zkli_contender_tell_awaited(&b.c);
    news(&b, ZKLI_EV_HEARTBEAT);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    news(&b, ZKLI_EV_TURN);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TURNED, ZKLI_RESULT_NO_NODE), BARRIER_AND_LIST);
    CHECK_ACTIONS(followed_by(&b, ZKLI_KIND_WRITE), 0); /* of the node that may have gone */
    CHECK_STATE(&b, "turning");
}

static void an_answer_that_comes_late_is_void(void) {
    struct bench b;
    to_held_and_tells(&b);
    news(&b, ZKLI_EV_HEARTBEAT);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RELEASE), ZKLI_ASK_DELETE);
    CHECK_ACTIONS(followed_by(&b, ZKLI_KIND_MUTEX), 0);
    CHECK_STATE(&b, "leaving");
}

/* By the number of permits that the listing is of. */
static void more_leases_than_permits_are_told(void) {
    for (int permits = 1; permits <= 2; permits++) {
        struct bench b;
        to_held_and_tells(&b);
        b.c.kind = ZKLI_KIND_LEASE;
        bench_record(&b, permits, 2);
        b.permits = b.directory;
        struct zkli_sibling siblings[] = {{b.c.node, ZKLI_KIND_LEASE, 1, false},
                                          {"behind", ZKLI_KIND_LEASE, 2, false}};
        const struct zkli_listing listing = {.siblings = siblings,
                                             .count = 2,
                                             .czxid = b.directory.czxid,
                                             .version = b.directory.version};
        news(&b, ZKLI_EV_HEARTBEAT);
        CHECK_ACTIONS(
            say(&b, (struct zkli_contender_event){.type = ZKLI_EV_FOLLOWERS, .listing = &listing}),
            permits == 1 ? ZKLI_TELL_AWAITED : 0);
    }
}

/* By kind: who waits for a holder of another. */
static void who_waits_is_told_by_kinds(void) {
    static const struct {
        enum zkli_kind own, other;
        bool awaits;
    } cases[] = {
        {ZKLI_KIND_MUTEX, ZKLI_KIND_MUTEX, true},   {ZKLI_KIND_MUTEX, ZKLI_KIND_READ, true},
        {ZKLI_KIND_MUTEX, ZKLI_KIND_LEASE, true},   {ZKLI_KIND_MUTEX, ZKLI_KIND_FOREIGN, true},
        {ZKLI_KIND_WRITE, ZKLI_KIND_READ, true},    {ZKLI_KIND_READ, ZKLI_KIND_READ, false},
        {ZKLI_KIND_READ, ZKLI_KIND_WRITE, true},    {ZKLI_KIND_READ, ZKLI_KIND_FOREIGN, true},
        {ZKLI_KIND_LEASE, ZKLI_KIND_WRITE, true},   {ZKLI_KIND_LEASE, ZKLI_KIND_LEASE, false},
        {ZKLI_KIND_LEASE, ZKLI_KIND_FOREIGN, true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct zkli_sibling siblings[] = {{"own", cases[i].own, 1, false},
                                          {"other", cases[i].other, 2, false}};
        const struct zkli_listing listing = {.siblings = siblings, .count = 2};
        CHECK_INT(zkli_listing_awaits(&listing, cases[i].own, "own", 2), cases[i].awaits);
        siblings[0].order = 3; /* the other has gone, and the server does not know that yet */
        CHECK(!zkli_listing_awaits(&listing, cases[i].own, "own", 2));
        siblings[0].order = ZKLI_COUNTER_END;
        CHECK_INT(zkli_listing_awaits(&listing, cases[i].own, "own", 2), cases[i].awaits);
        siblings[1].is_leaving = true;
        CHECK(!zkli_listing_awaits(&listing, cases[i].own, "own", 2));
    }
    struct zkli_sibling leases[] = {{"a", ZKLI_KIND_LEASE, 1, false},
                                    {"own", ZKLI_KIND_LEASE, 2, false},
                                    {"b", ZKLI_KIND_LEASE, 3, false}};
    const struct zkli_listing three = {.siblings = leases, .count = 3};
    CHECK(zkli_listing_awaits(&three, ZKLI_KIND_LEASE, "own", 2));
    CHECK(!zkli_listing_awaits(&three, ZKLI_KIND_LEASE, "own", 3));
    CHECK(!zkli_listing_awaits(&three, ZKLI_KIND_LEASE, "b", 1)); /* there were more permits */
    CHECK(zkli_listing_awaits(&three, ZKLI_KIND_LEASE, "a", 1));
    leases[0].is_leaving = true;
    CHECK(!zkli_listing_awaits(&three, ZKLI_KIND_LEASE, "own", 2));
    leases[0].is_leaving = false;
    CHECK(!zkli_listing_awaits(&three, ZKLI_KIND_LEASE, "gone", 1));
    leases[2].order = ZKLI_COUNTER_END;
    CHECK(!zkli_listing_awaits(&three, ZKLI_KIND_LEASE, "own", 2));
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"it looks at the first heartbeat, and then watches",
         it_looks_at_the_first_heartbeat_and_then_watches},
        {"who does not want to know does not look", who_does_not_want_to_know_does_not_look},
        {"without an answer it looks again", without_an_answer_it_looks_again},
        {"on a new connection it looks again", on_a_new_connection_it_looks_again},
        {"it can be asked", it_can_be_asked},
        {"asked before the grant it is told with it", asked_before_the_grant_it_is_told_with_it},
        {"one that may be kept is wanted then", one_that_may_be_kept_is_wanted_then},
        {"one that may be kept looks for who was there",
         one_that_may_be_kept_looks_for_who_was_there},
        {"one that may be kept has its watch", one_that_may_be_kept_has_its_watch},
        {"who shares looks at heartbeats only", who_shares_looks_at_heartbeats_only},
        {"it may become a reader while it looks", it_may_become_a_reader_while_it_looks},
        {"an answer that comes late is void", an_answer_that_comes_late_is_void},
        {"more leases than permits are told", more_leases_than_permits_are_told},
        {"who waits is told by kinds", who_waits_is_told_by_kinds},
    };
    return TEST_MAIN(argc, argv, "contender_awaited", cases);
}
