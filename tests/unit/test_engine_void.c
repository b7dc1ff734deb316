/*
 * What means nothing, or does not mean what it seems to: late answers, watches of nodes that were
 * ours, failures that carry something, and the same thing told again.
 */
#include "unit/engine_bench.h"

/* ---- Answers ---- */

/* A wait that was given up while its predecessor is read: the answer ends no hold. */
static void a_missing_predecessor_of_a_wait_that_ended_ends_no_hold(void) {
    bench_begin();
    struct owner *holder = hold("a"), *waiter = begin("a");
    const char *predecessor = path_of(holder);
    struct request read = serve_until(GET);
    while (strcmp(read.path, predecessor) != 0) {
        serve_request(&read);
        read = serve_until(GET);
    }
    abandon(waiter);
    answer(&read, ZKLI_RESULT_NO_NODE);
    CHECK(zkli_member_is_held(holder->member));
    come_to_rest();
    CHECK(waiter->member == NULL);
    bench_end();
}

/* Whatever stands in it: children, a path. */
static void a_failure_tells_of_no_children(void) {
    static char *children[] = {"x-lock-0000000000"};
    bench_begin();
    struct owner *holder = hold("a"), *waiter = begin("a");
    for (size_t i = 0; i < 2; i++) {
        struct request list = serve_until(LIST);
        struct zkli_reply reply = {.result = i == 0 ? ZKLI_RESULT_AGAIN : ZKLI_RESULT_LOST,
                                   .child_count = 1000000,
                                   .children = children};
        tell_reply(list.slot, &reply);
        CHECK(zkli_member_is_held(holder->member));
        CHECK_INT(waiter->grants, 0);
        serve_all();
        advance(ZKLI_RETRY_LAST_NS);
    }
    serve_all();
    CHECK(zkli_member_is_held(holder->member));
    abandon(waiter);
    come_to_rest();
    bench_end();
}

static void a_lost_reply_to_anything_but_a_create_leaves_no_orphan(void) {
    static const enum kind kinds[] = {LIST, GET, REMOVE};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        bench_begin();
        struct owner *owner = hold("a");
        if (kinds[i] != REMOVE)
            owner = begin("a");
        struct zkli_dir *dir = owner->member->dir;
        if (kinds[i] == REMOVE)
            release(owner);
        answer_next(kinds[i], ZKLI_RESULT_LOST);
        CHECK(!zkli_timer_is_set(&dir->visit.timer));
        come_to_rest();
        bench_end();
    }
}

/* The servers' word, not its loss, says that a node may not be asked for. */
static void a_lost_heartbeat_is_no_refusal(void) {
    bench_begin();
    struct owner *holder = hold("a");
    while (Bench.request_count == 0)
        advance(10 * MS);
    answer_next(BARRIER, ZKLI_RESULT_LOST);
    CHECK_INT(Bench.lines[ZKL_LOG_WARN], 0);
    CHECK(zkli_members_witness(Bench.engine) == holder->member);
    come_to_rest();
    bench_end();
}

/* ---- Watches ---- */

static void a_hold_s_node_that_changes_is_not_gone(void) {
    bench_begin();
    struct owner *holder = hold("a");
    tell_watch(path_of(holder), ZKLI_WATCH_CHANGED);
    serve_all();
    CHECK(zkli_member_is_held(holder->member));
    CHECK_INT(holder->notices & TOLD(LOST), 0);
    bench_end();
}

/* Its directory is forgotten already. */
static void the_watch_of_a_released_node_may_fire_last(void) {
    bench_begin();
    struct owner *holder = hold("a");
    const char *path = path_of(holder);
    release(holder);
    struct request removal = serve_until(REMOVE);
    struct tiny_answer served = serve(&removal);
    tell_reply(removal.slot, &served.reply);
    CHECK(holder->member == NULL);
    tell_watch(path, ZKLI_WATCH_DELETED);
    tell_watch("/locks/b/_c_x-lock-0000000000", ZKLI_WATCH_DELETED);
    bench_end();
}

/* The heartbeat found it missing first. By then there is a new node, whose watch is not set yet. */
static void the_watch_of_an_earlier_node_says_nothing_of_the_new_one(void) {
    bench_begin();
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    (void)tiny_add(&Bench.server, "/locks/a/x-lock-0000000000", 0x2002);
    Bench.server.number = 1;
    struct owner *waiter = begin("a");
    serve_all();
    char earlier[ZKLI_PATH_MAX];
    (void)snprintf(earlier, sizeof(earlier), "%s", path_of(waiter));
    while (Bench.request_count == 0)
        advance(10 * MS);
    (void)tiny_remove(&Bench.server, earlier);
    answer_next(BARRIER, ZKLI_RESULT_NO_NODE);
    CHECK(waiter->member->watchers[ZKLI_WATCHED_OWN].watch == NULL);
    struct request create = serve_until(CREATE);
    serve_request(&create);
    const size_t creates = Bench.sent[CREATE];
    tell_watch(earlier, ZKLI_WATCH_DELETED);
    come_to_rest();
    CHECK_INT(Bench.sent[CREATE], creates);
    delete_node("/locks/a/x-lock-0000000000");
    come_to_rest();
    CHECK_INT(waiter->grants, 1);
    bench_end();
}

static void a_holder_watches_no_predecessor(void) {
    bench_begin();
    struct owner *holder = hold("a"), *waiter = begin("a");
    serve_all();
    CHECK(waiter->member->watchers[ZKLI_WATCHED_PREDECESSOR].watch != NULL);
    release(holder);
    serve_all();
    CHECK_INT(waiter->grants, 1);
    CHECK(waiter->member->watchers[ZKLI_WATCHED_PREDECESSOR].watch == NULL);
    bench_end();
}

/* ---- Listings ---- */

/* Wherever in it the holder's node stands. */
static void a_holder_that_is_listed_later_goes_on(void) {
    bench_begin();
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    (void)tiny_add(&Bench.server, "/locks/a/x-lock-0000000800", 0x2002);
    (void)tiny_add(&Bench.server, "/locks/a/x-lock-0000000801", 0x2002);
    struct owner *holder = hold("a"), *waiter = begin("a");
    serve_all();
    CHECK(zkli_member_is_held(holder->member));
    abandon(waiter);
    come_to_rest();
    bench_end();
}

/* A try behind it is not told that the lock is busy, wherever in the listing it stands. */
static void a_leaving_node_that_is_listed_later_is_leaving(void) {
    bench_begin();
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    (void)tiny_add(&Bench.server, "/locks/a/other", 0x2002);
    (void)tiny_add(&Bench.server, "/locks/a/x-lock-0000000800", 0x2002);
    struct owner *holder = hold("a");
    delete_node("/locks/a/x-lock-0000000800");
    struct owner *second = begin("a"), *third = begin("a");
    serve_all();
    release(holder);
    abandon(second);
    abandon(third);
    struct owner *try = NULL;
    REQUIRE(enter_queue("a", true, &try) == ZKL_OK);
    size_t at = 0;
    while (Bench.requests[at].kind != LIST)
        at++;
    struct request list = take(at);
    serve_request(&list);
    come_to_rest();
    CHECK_INT(try->grants, 1);
    bench_end();
}

/* ---- Refusals ---- */

/* Whose node it is may be a secret: it is not ours, then, and not worth a line. */
static void an_owner_that_may_not_be_read_is_no_refusal(void) {
    bench_begin();
    hold("a");
    const char *orphan = plant_with_our_tag(0x2002);
    struct owner *waiter = begin("a");
    struct request read = serve_until(GET);
    while (strcmp(read.path, orphan) != 0) {
        serve_request(&read);
        read = serve_until(GET);
    }
    answer(&read, ZKLI_RESULT_DENIED);
    serve_all();
    CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 0);
    abandon(waiter);
    come_to_rest();
    bench_end();
}

/* ---- News ---- */

static void a_step_without_a_notice_is_no_news(void) {
    bench_begin();
    struct owner *holder = hold("a");
    const uint64_t news = zkli_engine_news(Bench.engine);
    tell_watch(path_of(holder), ZKLI_WATCH_CHANGED);
    CHECK(zkli_engine_news(Bench.engine) == news);
    serve_all();
    CHECK(zkli_engine_news(Bench.engine) == news);
    bench_end();
}

/* A call that comes after the lease has ended finds no hold, before anything else is done. */
static void what_time_has_ended_is_told_first(void) {
    bench_begin();
    struct owner *holder = hold("a");
    Bench.now_ns = zkli_member_certain_until_ns(holder->member);
    zkli_engine_enter(Bench.engine);
    CHECK((holder->notices & TOLD(LOST)) != 0);
    settle();
    come_to_rest();
    bench_end();
}

/* The first connection resumes nothing. */
static void only_a_later_connection_resumes(void) {
    bench_begin();
    CHECK_INT(Bench.events[ZKL_EVENT_RESUMED], 0);
    for (size_t i = 1; i < 4; i++) {
        cut_and_connect(0);
        CHECK_INT(Bench.events[ZKL_EVENT_RESUMED], i);
        CHECK(!Bench.is_new_session);
    }
    serve_all();
    bench_end();
}

static void without_a_connection_a_place_is_not_asked_for(void) {
    bench_begin();
    cut(0);
    struct owner *owner = begin("a");
    CHECK_STRING(zkli_contender_state_name(owner->member->core.state), "idle");
    CHECK_INT(owner->member->unsent_count, 0);
    bench_connect();
    come_to_rest();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* Who has no node yet vouches for no heartbeat: the next one does. */
static void a_witness_has_a_node(void) {
    bench_begin();
    struct owner *first = begin("a");
    answer_next(CREATE, ZKLI_RESULT_AGAIN);
    answer_next(LIST, ZKLI_RESULT_AGAIN);
    struct owner *second = hold("b");
    CHECK(first->member->core.node[0] == '\0');
    CHECK(zkli_members_witness(Bench.engine) == second->member);
    come_to_rest();
    CHECK(zkli_members_witness(Bench.engine) == first->member);
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a missing predecessor of a wait that ended ends no hold",
         a_missing_predecessor_of_a_wait_that_ended_ends_no_hold},
        {"a failure tells of no children", a_failure_tells_of_no_children},
        {"a lost reply to anything but a create leaves no orphan",
         a_lost_reply_to_anything_but_a_create_leaves_no_orphan},
        {"a lost heartbeat is no refusal", a_lost_heartbeat_is_no_refusal},
        {"a hold's node that changes is not gone", a_hold_s_node_that_changes_is_not_gone},
        {"the watch of a released node may fire last", the_watch_of_a_released_node_may_fire_last},
        {"the watch of an earlier node says nothing of the new one",
         the_watch_of_an_earlier_node_says_nothing_of_the_new_one},
        {"a holder watches no predecessor", a_holder_watches_no_predecessor},
        {"a holder that is listed later goes on", a_holder_that_is_listed_later_goes_on},
        {"a leaving node that is listed later is leaving",
         a_leaving_node_that_is_listed_later_is_leaving},
        {"an owner that may not be read is no refusal",
         an_owner_that_may_not_be_read_is_no_refusal},
        {"a step without a notice is no news", a_step_without_a_notice_is_no_news},
        {"what time has ended is told first", what_time_has_ended_is_told_first},
        {"only a later connection resumes", only_a_later_connection_resumes},
        {"without a connection a place is not asked for",
         without_a_connection_a_place_is_not_asked_for},
        {"a witness has a node", a_witness_has_a_node},
    };
    return TEST_MAIN(argc, argv, "engine_void", cases);
}
