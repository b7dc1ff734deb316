/*
 * What an owner gives up, and what it wants next: no node of its own is made while one that it has
 * given up may be there, and is not being deleted yet. Else who looks would take it that the owner
 * waits in two queues at once (server.deadlocks).
 */
#include "unit/engine_several.h"

#define OWNER 7
#define LINE_LENGTH 30
/* Heartbeats of the time that passes. */
#define BARRIERS_MAX 4

static struct owner *begin_for(const char *name, uint64_t owner) {
    return begin_by(&(struct zkli_wish){
        .name = name, .kind = ZKLI_KIND_MUTEX, .thread = {7, 70}, .owner = owner});
}

static struct owner *begin_several_for(uint64_t owner) {
    const struct zkli_wish wishes[] = {
        {.name = "b", .kind = ZKLI_KIND_MUTEX, .thread = {7, 70}, .owner = owner},
        {.name = "c", .kind = ZKLI_KIND_MUTEX, .thread = {7, 70}, .owner = owner},
    };
    struct owner *all = NULL;
    CHECK_INT(enter_all_by(wishes, COUNT(wishes), &all), ZKL_OK);
    return all;
}

/* Where among the requests in flight; so many if it is not there. */
static size_t place_of(enum kind kind, const char *part) {
    size_t i = 0;
    while (i < Bench.request_count &&
           (Bench.requests[i].kind != kind || strstr(Bench.requests[i].path, part) == NULL))
        i++;
    return i;
}

static bool is_in_flight(enum kind kind, const char *part) {
    return place_of(kind, part) < Bench.request_count;
}

/* Serves what came before, and that. */
static void serve_this(enum kind kind, const char *part) {
    REQUIRE(is_in_flight(kind, part));
    for (size_t left = place_of(kind, part) + 1; left > 0; left--)
        serve_next();
}

/* It has begun, behind the other's deletion. */
static void check_begun_behind(const struct owner *owner, const char *deleted) {
    CHECK_INT(owner->member->core.state, ZKLI_ENQUEUING);
    CHECK(is_in_flight(REMOVE, deleted) && is_in_flight(CREATE, "/b/"));
    CHECK(place_of(REMOVE, deleted) < place_of(CREATE, "/b/"));
}

static void check_waits(const struct owner *owner) {
    CHECK_INT(owner->member->core.state, ZKLI_IDLE);
    CHECK(!is_in_flight(CREATE, "/b/") && !is_in_flight(LIST, "/b"));
}

/* What held it back is over. */
static void end_granted(const struct owner *next) {
    serve_all();
    CHECK_INT(next->grants, 1);
    end_all();
}

/* One that was given up before its create was answered, and the same owner's next. */
static struct owner *begin_after_giving_up(void) {
    bench_begin();
    plant_directories();
    abandon(begin_for("a", OWNER));
    struct owner *next = begin_for("b", OWNER);
    check_waits(next);
    return next;
}

static void the_next_waits_until_the_node_is_known(void) {
    struct owner *next = begin_after_giving_up();
    struct owner *another_s = begin_for("c", OWNER + 1), *nobody_s = begin_for("d", 0);
    CHECK_INT(another_s->member->core.state, ZKLI_ENQUEUING);
    CHECK_INT(nobody_s->member->core.state, ZKLI_ENQUEUING);
    serve_this(CREATE, "/a/");
    check_begun_behind(next, "/a/");
    end_granted(next);
}

/* Whatever else it hears of: it stays where it is. */
static void it_goes_on_by_nothing_else(void) {
    static const enum zkli_contender_event_type types[] = {ZKLI_EV_CONNECTED, ZKLI_EV_RETRY,
                                                           ZKLI_EV_LEASE};
    struct owner *next = begin_after_giving_up();
    for (size_t i = 0; i < COUNT(types); i++) {
        struct zkli_contender_event event = {.type = types[i]};
        zkli_engine_enter(Bench.engine);
        zkli_member_step(next->member, &event);
        settle();
        check_waits(next);
    }
    end_granted(next);
}

/* Its nodes name nobody. */
static void who_has_no_owner_waits_for_nothing(void) {
    bench_begin();
    plant_directories();
    abandon(begin_for("a", 0));
    CHECK_INT(begin_for("b", 0)->member->core.state, ZKLI_ENQUEUING);
    end_all();
}

static void it_waits_for_each_of_them(void) {
    bench_begin();
    plant_directories();
    struct owner *first = begin_for("a", OWNER), *second = begin_for("c", OWNER);
    abandon(first);
    abandon(second);
    struct owner *next = begin_for("b", OWNER);
    serve_this(CREATE, "/a/");
    check_waits(next);
    serve_this(CREATE, "/c/");
    check_begun_behind(next, "/c/");
    end_granted(next);
}

/* It was made, and its reply is lost. */
static void it_waits_until_the_node_is_found(void) {
    struct owner *next = begin_after_giving_up();
    const size_t done = place_of(CREATE, "/a/") + 1;
    cut(done);
    check_waits(next);
    bench_connect();
    check_waits(next);
    serve_this(LIST, "/a");
    check_begun_behind(next, "/a/");
    end_granted(next);
}

/* The directory is closed to us by then. */
static void a_search_that_is_refused_holds_nobody_up(void) {
    static const struct {
        enum zkli_result result;
        bool is_refusal;
    } cases[] = {
        {ZKLI_RESULT_DENIED, true},
        {ZKLI_RESULT_ERROR, true},
        {ZKLI_RESULT_AGAIN, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct owner *next = begin_after_giving_up();
        cut_and_connect(place_of(CREATE, "/a/") + 1);
        answer_next(LIST, cases[i].result);
        if (cases[i].is_refusal) {
            CHECK_INT(next->member->core.state, ZKLI_ENQUEUING);
        } else {
            check_waits(next);
            come_to_rest();
        }
        end_granted(next);
    }
}

/* It may be allowed by then. */
static void one_that_is_tried_again_does_as_long_as_it_takes(void) {
    struct owner *next = begin_after_giving_up();
    cut_and_connect(place_of(CREATE, "/a/") + 1);
    answer_next(LIST, ZKLI_RESULT_DENIED);
    serve_all();
    CHECK_INT(next->grants, 1);
    release(next);
    serve_all();
    for (int i = 0; i < 100 && !is_in_flight(LIST, "/a"); i++)
        advance(ZKLI_RETRY_FIRST_NS);
    next = begin_for("b", OWNER);
    check_waits(next);
    serve_this(LIST, "/a");
    check_begun_behind(next, "/a/");
    end_granted(next);
}

/* Two deletions: the second is in line when the first is done. */
static struct owner *begin_after_a_turn(void) {
    bench_begin();
    plant_directories();
    struct owner *writer = begin_by(&(struct zkli_wish){
        .name = "a", .kind = ZKLI_KIND_WRITE, .thread = {7, 70}, .owner = OWNER});
    serve_all();
    zkli_engine_enter(Bench.engine);
    zkli_member_turn(writer->member);
    settle();
    release(writer);
    struct owner *next = begin_for("b", OWNER);
    check_waits(next);
    return next;
}

static void it_waits_for_a_reader_that_a_writer_has_become(void) {
    struct owner *next = begin_after_a_turn();
    struct request turn = serve_until(MULTI), writer = serve_until(REMOVE);
    answer(&turn, ZKLI_RESULT_OK);
    check_waits(next);
    serve_request(&writer);
    check_begun_behind(next, "/a/");
    CHECK(strstr(Bench.requests[place_of(REMOVE, "/a/")].path, "__READ__") != NULL);
    end_granted(next);
}

/* Its delete was answered like that, and is not in line any more. */
static struct owner *begin_after_a_delete(enum zkli_result result) {
    bench_begin();
    plant_directories();
    struct owner *last = begin_for("a", OWNER);
    serve_all();
    release(last);
    answer_next(REMOVE, result);
    struct owner *next = begin_for("b", OWNER);
    check_waits(next);
    return next;
}

static void a_deletion_that_is_to_be_repeated_goes_first(void) {
    static const enum zkli_result results[] = {ZKLI_RESULT_LOST, ZKLI_RESULT_AGAIN};
    for (size_t i = 0; i < COUNT(results); i++) {
        struct owner *next = begin_after_a_delete(results[i]);
        advance(ZKLI_RETRY_LAST_NS);
        check_begun_behind(next, "/a/");
        end_granted(next);
    }
}

/* The client library has no memory for it: what is in line behind it is not sent. The mutex alone,
 * and beside another. */
static void a_deletion_that_is_not_sent_goes_first(void) {
    for (int is_several = 0; is_several < 2; is_several++) {
        bench_begin();
        plant_directories();
        struct owner *last = begin_for("a", OWNER);
        serve_all();
        Bench.refused = 1u << REMOVE;
        release(last);
        struct owner *next = is_several ? begin_several_for(OWNER) : begin_for("b", OWNER);
        for (int i = 0; i < 3; i++) {
            advance(ZKLI_RETRY_LAST_NS);
            serve_all();
            CHECK_INT(nodes(), 1);
        }
        Bench.refused = 0;
        advance(ZKLI_RETRY_LAST_NS);
        serve_all();
        advance(ZKLI_RETRY_LAST_NS);
        serve_all();
        CHECK_INT(next->grants, 1);
        CHECK_INT(nodes(), is_several ? 2 : 1);
        end_all();
    }
}

/* Nothing has overtaken it yet. Else who releases many would keep all others waiting. */
static void a_first_deletion_takes_its_turn(void) {
    bench_begin();
    plant_directories();
    struct owner *last = begin_for("a", OWNER);
    serve_all();
    fill_window();
    struct owner *another_s = begin_for("b", OWNER + 1);
    release(last);
    while (!is_in_flight(REMOVE, "/a/"))
        serve_next();
    CHECK(place_of(CREATE, "/b/") < place_of(REMOVE, "/a/"));
    end_granted(another_s);
}

/* Of a node; and of one that may be a reader's by now. */
static void a_deletion_that_is_refused_holds_nobody_up(void) {
    for (int is_turn = 0; is_turn < 2; is_turn++) {
        struct owner *next = is_turn ? begin_after_a_turn()
                                     : begin_after_a_delete(ZKLI_RESULT_AGAIN);
        if (is_turn)
            answer_next(REMOVE, ZKLI_RESULT_AGAIN);
        check_waits(next);
        advance(ZKLI_RETRY_LAST_NS);
        answer_next(REMOVE, ZKLI_RESULT_DENIED);
        CHECK_INT(next->member->core.state, ZKLI_ENQUEUING);
        end_granted(next);
    }
}

/* It was refused when it listed, and made a node anew. */
static void what_was_refused_before_counts_for_nothing(void) {
    char own[ZKLI_PATH_MAX];
    bench_begin();
    plant_directories();
    struct owner *first = begin_for("a", OWNER + 1), *last = begin_for("a", OWNER);
    serve_all();
    cut_and_connect(0);
    serve_all();
    (void)snprintf(own, sizeof(own), "%s", path_of(last));
    delete_node(path_of(first));
    while (in_flight(BARRIER) > 0)
        answer_next(BARRIER, ZKLI_RESULT_DENIED);
    delete_node(own);
    struct request create = serve_until(CREATE);
    abandon(last);
    (void)serve(&create);
    answer(&create, ZKLI_RESULT_LOST);
    CHECK_INT(last->member->core.state, ZKLI_LEAVING);
    struct owner *next = begin_for("b", OWNER);
    check_waits(next);
    advance(ZKLI_RETRY_LAST_NS);
    serve_all();
    CHECK_INT(next->grants, 1);
    CHECK_INT(nodes(), 1);
    end_all();
}

/* They were wanted before that was given up. Nobody has to look for what was never sent. */
static void what_is_in_line_is_put_off(void) {
    struct owner *others[LINE_LENGTH];
    char name[8];
    bench_begin();
    plant_directories();
    fill_window();
    struct owner *last = begin_for("a", OWNER);
    for (int i = 0; i < LINE_LENGTH; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        others[i] = begin_for(name, OWNER);
    }
    while (!is_in_flight(CREATE, "/a/"))
        serve_next();
    abandon(last);
    const size_t barriers = Bench.sent[BARRIER];
    serve_all();
    advance(ZKLI_RETRY_LAST_NS);
    serve_all();
    for (int i = 0; i < LINE_LENGTH; i++)
        CHECK_INT(others[i]->grants, 1);
    CHECK_RANGE(Bench.sent[BARRIER] - barriers, 0, BARRIERS_MAX);
    end_all();
}

/* The servers list, and refuse the barrier in front: somebody has made its path, and closed it. */
static void a_barrier_that_is_refused_holds_nobody_up(void) {
    static const enum zkli_result results[] = {ZKLI_RESULT_DENIED, ZKLI_RESULT_ERROR};
    for (size_t i = 0; i < COUNT(results); i++) {
        struct owner *next = begin_after_giving_up();
        cut_and_connect(place_of(CREATE, "/a/") + 1);
        while (in_flight(BARRIER) > 0)
            answer_next(BARRIER, results[i]);
        serve_this(LIST, "/a");
        CHECK_INT(next->member->core.state, ZKLI_ENQUEUING);
        end_all();
    }
}

/* The directories above are made, one by one, and it has asked for no node. */
static void who_has_asked_for_no_node_holds_nobody_up(void) {
    bench_begin();
    struct owner *first = begin_for("a", OWNER);
    while (first->member->core.state != ZKLI_PARENTING)
        serve_next();
    abandon(first);
    struct owner *next = begin_for("b", OWNER);
    CHECK_INT(next->member->core.state, ZKLI_ENQUEUING);
    end_granted(next);
}

/* It looks before it makes a node. */
static void a_try_that_has_looked_waits_too(void) {
    bench_begin();
    plant_directories();
    struct owner *last = begin_for("a", OWNER);
    serve_all();
    release(last);
    struct owner *next = begin_by(&(struct zkli_wish){
        .name = "b", .kind = ZKLI_KIND_MUTEX, .is_try = true, .thread = {7, 70}, .owner = OWNER});
    CHECK_INT(next->member->core.state, ZKLI_PROBING);
    answer_next(REMOVE, ZKLI_RESULT_AGAIN);
    serve_this(LIST, "/b");
    check_waits(next);
    advance(ZKLI_RETRY_LAST_NS);
    check_begun_behind(next, "/a/");
    end_granted(next);
}

/* The create is not sent yet when the connection ends, for the window is full. */
static void a_deletion_goes_first_on_the_next_connection(void) {
    bench_begin();
    plant_directories();
    struct owner *last = begin_for("a", OWNER);
    serve_all();
    fill_window();
    release(last);
    struct owner *next = begin_for("b", OWNER);
    while (!is_in_flight(REMOVE, "/a/"))
        serve_next();
    CHECK_INT(next->member->core.state, ZKLI_ENQUEUING);
    CHECK(!is_in_flight(CREATE, "/b/"));
    cut_and_connect(0);
    check_begun_behind(next, "/a/");
    end_granted(next);
}

/* Of two waits of one owner one is given up, and the other one's node is deleted. */
static void who_begins_anew_waits_too(void) {
    bench_begin();
    plant_directories();
    (void)begin_for("b", OWNER + 1);
    struct owner *waiter = begin_for("b", OWNER);
    serve_all();
    abandon(begin_for("a", OWNER));
    delete_node(path_of(waiter));
    CHECK((waiter->notices & TOLD(REQUEUED)) != 0);
    check_waits(waiter);
    serve_this(CREATE, "/a/");
    check_begun_behind(waiter, "/a/");
    end_all();
}

static void who_waits_like_that_may_give_up(void) {
    struct owner *next = begin_after_giving_up();
    abandon(next);
    CHECK_INT(next->notices, TOLD(FAILED) | TOLD(GONE));
    CHECK(next->member == NULL);
    serve_all();
    CHECK_INT(Bench.sent[CREATE], 1);
    end_all();
}

/* The node has gone with the session. */
static void it_begins_in_the_next_session(void) {
    struct owner *next = begin_after_giving_up();
    expire();
    bench_connect();
    CHECK_INT(next->member->core.state, ZKLI_ENQUEUING);
    end_granted(next);
}

/* A server that does not answer. Nothing is made in this session then. */
static void it_does_not_keep_another_session_from_being_begun(void) {
    bench_begin();
    plant_directories();
    abandon(begin_for("a", OWNER));
    const size_t ports = Bench.port_count;
    advance(T_MS / 2 * MS);
    struct owner *next = begin_for("b", OWNER);
    CHECK_INT(Bench.port_count, ports + 1);
    connect_successor();
    end_granted(next);
}

static void several_at_once_wait_too(void) {
    bench_begin();
    plant_directories();
    abandon(begin_for("a", OWNER));
    struct owner *all = begin_several_for(OWNER);
    CHECK_INT(in_flight(MULTI), 0);
    serve_this(CREATE, "/a/");
    CHECK_INT(in_flight(MULTI), 1);
    CHECK(place_of(REMOVE, "/a/") < place_of(MULTI, ""));
    serve_all();
    CHECK_INT(all[0].grants + all[1].grants, 2);
    end_all();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the next waits until the node is known", the_next_waits_until_the_node_is_known},
        {"it goes on by nothing else", it_goes_on_by_nothing_else},
        {"who has no owner waits for nothing", who_has_no_owner_waits_for_nothing},
        {"it waits for each of them", it_waits_for_each_of_them},
        {"it waits until the node is found", it_waits_until_the_node_is_found},
        {"a search that is refused holds nobody up", a_search_that_is_refused_holds_nobody_up},
        {"one that is tried again does as long as it takes",
         one_that_is_tried_again_does_as_long_as_it_takes},
        {"it waits for a reader that a writer has become",
         it_waits_for_a_reader_that_a_writer_has_become},
        {"a deletion that is refused holds nobody up", a_deletion_that_is_refused_holds_nobody_up},
        {"a first deletion takes its turn", a_first_deletion_takes_its_turn},
        {"a deletion that is not sent goes first", a_deletion_that_is_not_sent_goes_first},
        {"a deletion that is to be repeated goes first",
         a_deletion_that_is_to_be_repeated_goes_first},
        {"what was refused before counts for nothing", what_was_refused_before_counts_for_nothing},
        {"what is in line is put off", what_is_in_line_is_put_off},
        {"a barrier that is refused holds nobody up", a_barrier_that_is_refused_holds_nobody_up},
        {"who has asked for no node holds nobody up", who_has_asked_for_no_node_holds_nobody_up},
        {"a try that has looked waits, too", a_try_that_has_looked_waits_too},
        {"a deletion goes first on the next connection",
         a_deletion_goes_first_on_the_next_connection},
        {"who begins anew waits, too", who_begins_anew_waits_too},
        {"who waits like that may give up", who_waits_like_that_may_give_up},
        {"it begins in the next session", it_begins_in_the_next_session},
        {"it does not keep another session from being begun",
         it_does_not_keep_another_session_from_being_begun},
        {"several at once wait, too", several_at_once_wait_too},
    };
    return TEST_MAIN(argc, argv, "engine_owners", cases);
}
