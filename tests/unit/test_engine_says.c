/*
 * What the engine says of itself when it is asked, what it logs, and how often.
 */
#include "unit/engine_bench.h"

static void check_line(zkl_log_level level, size_t count, const char *part) {
    CHECK_INT(Bench.lines[level], count);
    CHECK(strstr(Bench.last_line, part) != NULL);
}

/* ---- When it is asked ---- */

static void it_says_which_session_it_has(void) {
    bench_start("/locks", false);
    CHECK_INT(zkli_engine_state(Bench.engine), ZKL_STATE_CONNECTING);
    CHECK(zkli_engine_session_id(Bench.engine) == 0 && !zkli_engine_is_connected(Bench.engine));
    bench_connect();
    serve_all();
    CHECK_INT(zkli_engine_state(Bench.engine), ZKL_STATE_CONNECTED);
    CHECK_INT(zkli_engine_session_id(Bench.engine), Bench.last_session);
    CHECK_INT(zkli_engine_timeout_ms(Bench.engine), T_MS);
    CHECK(zkli_engine_port(Bench.engine) == &Bench.ports[0].port);
    CHECK(Bench.engine->lease.certain_until_ns > Bench.now_ns);
    CHECK(Bench.next_ns > Bench.now_ns);
    CHECK(!zkli_engine_is_draining(Bench.engine));
    drain();
    CHECK(zkli_engine_is_draining(Bench.engine));
    bench_end();
}

/* To hand out a notice is news, and so is the end of a query. */
static void it_counts_what_it_tells(void) {
    bench_begin();
    uint64_t news = zkli_engine_news(Bench.engine);
    hold("a");
    CHECK(zkli_engine_news(Bench.engine) > news);
    news = zkli_engine_news(Bench.engine);
    struct asked asked;
    ask(&asked, ZKLI_QUERY_LIST);
    CHECK(zkli_engine_news(Bench.engine) == news);
    serve_all();
    CHECK(zkli_engine_news(Bench.engine) > news);
    bench_end();
}

static void it_says_which_thread_holds_by_any_member(void) {
    bench_begin();
    struct owner *holder = hold("a");
    struct owner *waiter = begin("a");
    (void)tiny_add(&Bench.server, "/locks/b", 0);
    (void)tiny_add(&Bench.server, "/locks/b/x-lock-0000000000", 0x2002);
    begin("b");
    serve_all();
    CHECK(zkli_engine_held_by(Bench.engine, "a", 7) != NULL); /* the thread of all owners */
    CHECK(zkli_engine_held_by(Bench.engine, "a", 8) == NULL);
    CHECK(zkli_engine_held_by(Bench.engine, "b", 7) == NULL); /* waits */
    CHECK(zkli_engine_held_by(Bench.engine, "c", 7) == NULL); /* no such directory */
    abandon(waiter);
    release(holder);
    CHECK(zkli_engine_held_by(Bench.engine, "a", 7) == NULL);
    come_to_rest();
    bench_end();
}

struct alarm {
    struct zkli_timer timer;
    bool has_fired;
};

static void note_time(struct zkli_timer *timer) {
    ZKLI_CONTAINER(timer, struct alarm, timer)->has_fired = true;
}

static void a_timer_of_the_host_s_fires_when_its_time_has_come(void) {
    struct alarm alarm = {.has_fired = false};
    bench_begin();
    zkli_timer_init(&alarm.timer, note_time);
    zkli_engine_set_timer(Bench.engine, &alarm.timer, Bench.now_ns + MS);
    advance(MS - 1);
    CHECK(!alarm.has_fired);
    advance(1);
    CHECK(alarm.has_fired);
    zkli_engine_set_timer(Bench.engine, &alarm.timer, Bench.now_ns + MS);
    zkli_engine_clear_timer(Bench.engine, &alarm.timer);
    alarm.has_fired = false;
    advance(2 * MS);
    CHECK(!alarm.has_fired);
    bench_end();
}

/* ---- Options, and a start without memory ---- */

static void it_keeps_what_it_is_given(void) {
    bench_begin();
    struct zkli_engine_options options = {.host = Bench.engine->host,
                                          .host_arg = &Bench,
                                          .root = "/r",
                                          .chroot_length = 9,
                                          .asked_timeout_ms = 4321,
                                          .who = {.host = "h", .program = "p", .pid = 77}};
    struct zkli_engine *e = zkli_engine_new(&options);
    REQUIRE(e != NULL);
    CHECK_INT(zkli_engine_chroot_length(e), 9);
    CHECK_INT(e->asked_timeout_ms, 4321);
    CHECK(memcmp(&e->who, &options.who, sizeof(e->who)) == 0);
    zkli_engine_free(e);
    bench_end();
}

/* To the nanosecond: ZKLI_RETRY_LAST_NS later there is another try. */
static void without_memory_for_a_port_it_tries_again_later(void) {
    bench_begin();
    Bench.has_no_ports = true;
    struct zkli_engine *e = zkli_engine_new(&(struct zkli_engine_options){
        .host = Bench.engine->host, .host_arg = &Bench, .root = "/locks"});
    REQUIRE(e != NULL);
    zkli_engine_enter(e);
    CHECK(!zkli_engine_start(e));
    CHECK(zkli_engine_settle(e) == Bench.now_ns + ZKLI_RETRY_LAST_NS);
    Bench.has_no_ports = false;
    Bench.now_ns += ZKLI_RETRY_LAST_NS;
    zkli_engine_enter(e);
    zkli_engine_tick(e);
    (void)zkli_engine_settle(e);
    CHECK(zkli_engine_port(e) == &Bench.ports[1].port && Bench.ports[1].is_opened);
    zkli_engine_enter(e);
    zkli_engine_shut(e);
    (void)zkli_engine_settle(e);
    zkli_engine_free(e);
    bench_end();
}

/* ---- What it logs of sessions ---- */

static void it_tells_new_sessions_from_resumed_ones(void) {
    bench_begin();
    check_line(ZKL_LOG_INFO, 1, "opened session 0x1, timeout 10000 ms");
    cut_and_connect(0);
    check_line(ZKL_LOG_INFO, 2, "resumed session 0x1, timeout 10000 ms");
    serve_all();
    expire();
    check_line(ZKL_LOG_WARN, 1, "session 0x1 has expired; opening another");
    CHECK_INT(zkli_engine_state(Bench.engine), ZKL_STATE_CONNECTING);
    CHECK(zkli_engine_session_id(Bench.engine) == 0);
    CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], 2);
    bench_connect();
    check_line(ZKL_LOG_INFO, 3, "opened session 0x2, timeout 10000 ms");
    serve_all();
    bench_end();
}

static void another_timeout_is_said_when_it_changes(void) {
    static const struct {
        int asked_ms, granted_ms;
        size_t lines;
    } cases[] = {{0, T_MS, 0}, {T_MS, T_MS, 0}, {2 * T_MS, T_MS, 1}, {1, T_MS, 1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        bench_start("/locks", false);
        Bench.engine->asked_timeout_ms = cases[i].asked_ms;
        bench_connect();
        CHECK_INT(Bench.lines[ZKL_LOG_INFO], 1 + cases[i].lines);
        serve_all();
        Bench.timeout_ms = T_MS / 2;
        cut_and_connect(0);
        CHECK_INT(Bench.lines[ZKL_LOG_INFO], 2 + cases[i].lines + (cases[i].asked_ms == 0 ? 0 : 1));
        serve_all();
        bench_end();
    }
}

static void a_session_that_cannot_be_made_ready_is_opened_again_later(void) {
    bench_start("/locks", false);
    tell_state(ZKLI_PORT_FAILED);
    check_line(ZKL_LOG_WARN, 1, "a session could not be made ready: out of memory");
    CHECK(zkli_engine_port(Bench.engine) == NULL && Bench.ports[0].is_closed);
    advance(ZKLI_RETRY_LAST_NS - 1);
    CHECK_INT(Bench.port_count, 1);
    advance(1);
    CHECK_INT(Bench.port_count, 2);
    bench_connect();
    serve_all();
    bench_end();
}

static void refused_credentials_end_all_of_it(void) {
    bench_begin();
    struct owner *holder = hold("a"), *waiter = begin("a");
    serve_all();
    struct asked asked;
    ask(&asked, ZKLI_QUERY_LIST);
    tell_state(ZKLI_PORT_AUTH_FAILED);
    check_line(ZKL_LOG_ERROR, 1, "the server rejects the credentials");
    CHECK_INT(zkli_engine_state(Bench.engine), ZKL_STATE_AUTH_FAILED);
    CHECK_INT(Bench.events[ZKL_EVENT_SUSPENDED], 1);
    CHECK((holder->notices & TOLD(LOST)) != 0);
    CHECK_INT(waiter->error, ZKL_AUTH_FAILED);
    check_asked(&asked, 1, 0);
    CHECK(Bench.ports[0].is_closed);
    struct owner *late = NULL;
    CHECK_INT(enter_queue("a", false, &late), ZKL_AUTH_FAILED);
    shut();
    zkli_engine_free(Bench.engine);
}

/* ---- What it logs of refusals ---- */

/* The first of this kind is refused by the server with that. */
static void refuse(enum kind kind, enum zkli_result result, bool is_unimplemented) {
    struct request request = serve_until(kind);
    struct zkli_reply reply = {
        .result = result, .code = -6, .is_unimplemented = is_unimplemented, .data = ""};
    tell_reply(request.slot, &reply);
}

static void only_a_create_that_is_unknown_shows_an_old_server(void) {
    static const struct {
        enum kind kind;
        bool is_unimplemented, is_old;
    } cases[] = {{CREATE, true, true}, {CREATE, false, false}, {GET, true, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        bench_begin();
        hold("a");
        struct owner *owner = begin("a");
        refuse(cases[i].kind, ZKLI_RESULT_ERROR, cases[i].is_unimplemented);
        CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1);
        CHECK((strstr(Bench.last_line, "older than") != NULL) == cases[i].is_old);
        CHECK(strstr(Bench.last_line, "(code -6)") != NULL);
        come_to_rest();
        CHECK_INT(owner->error, ZKL_SERVER);
        bench_end();
    }
}

static void check_refused_at(const char *path) {
    char expected[ZKLI_PATH_MAX + 8];
    (void)snprintf(expected, sizeof(expected), " at %s (", path);
    CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1);
    CHECK(strstr(Bench.last_line, expected) != NULL);
    come_to_rest();
    bench_end();
}

/* Our own first, then the predecessor. */
static void a_read_s_refusal_names_the_node(void) {
    for (int before = 0; before < 2; before++) {
        bench_begin();
        struct owner *holder = hold("a"), *waiter = begin("a");
        struct request read = serve_until(GET);
        if (before != 0) {
            serve_request(&read);
            read = serve_until(GET);
        }
        char path[ZKLI_PATH_MAX];
        memcpy(path, path_of(before != 0 ? holder : waiter), sizeof(path));
        CHECK_STRING(read.path, path);
        answer(&read, ZKLI_RESULT_DENIED);
        serve_all();
        check_refused_at(path);
    }
}

static void any_other_names_the_directory(void) {
    bench_begin();
    hold("a");
    (void)begin("a");
    refuse(CREATE, ZKLI_RESULT_DENIED, false);
    check_refused_at("/locks/a");

    bench_begin();
    struct owner *writer = begin_as("a", ZKLI_KIND_WRITE);
    pass(T_MS / 10 * MS); /* and its node is watched */
    CHECK_INT(writer->member->core.own_watch, ZKLI_WATCHED);
    zkli_member_turn(writer->member);
    settle();
    answer_next(MULTI, ZKLI_RESULT_DENIED);
    check_refused_at("/locks/a");
}

static void a_member_s_refusals_are_logged_once(void) {
    for (unsigned way = 0; way < 2; way++) {
        bench_begin();
        hold("a");
        struct owner *owner = begin("a");
        refuse(way == 0 ? LIST : GET, ZKLI_RESULT_ERROR, false);
        CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1);
        for (int i = 0; i < 3; i++) { /* the delete, again and again */
            refuse(REMOVE, ZKLI_RESULT_DENIED, false);
            advance(ZKLI_RETRY_LAST_NS);
        }
        CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1);
        come_to_rest();
        CHECK(owner->member == NULL);
        bench_end();
    }
}

/* It looks for a node that may be left, again and again, and then deletes it. */
static void so_are_those_of_one_that_leaves(void) {
    bench_begin();
    hold("a");
    struct owner *owner = begin("a");
    struct request create = serve_until(CREATE);
    abandon(owner);
    (void)serve(&create);
    answer(&create, ZKLI_RESULT_LOST);
    serve_all(); /* the listing, for nobody */
    for (int i = 0; i < 3; i++) {
        advance(ZKLI_RETRY_LAST_NS);
        refuse(LIST, ZKLI_RESULT_ERROR, false);
        CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1);
    }
    advance(ZKLI_RETRY_LAST_NS);
    refuse(REMOVE, ZKLI_RESULT_DENIED, false);
    CHECK_INT(Bench.lines[ZKL_LOG_ERROR], 1);
    come_to_rest();
    CHECK(owner->member == NULL);
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"it says which session it has", it_says_which_session_it_has},
        {"it counts what it tells", it_counts_what_it_tells},
        {"it says which thread holds, by any member", it_says_which_thread_holds_by_any_member},
        {"a timer of the host's fires when its time has come",
         a_timer_of_the_host_s_fires_when_its_time_has_come},
        {"it keeps what it is given", it_keeps_what_it_is_given},
        {"without memory for a port it tries again later",
         without_memory_for_a_port_it_tries_again_later},
        {"it tells new sessions from resumed ones", it_tells_new_sessions_from_resumed_ones},
        {"another timeout is said when it changes", another_timeout_is_said_when_it_changes},
        {"a session that cannot be made ready is opened again later",
         a_session_that_cannot_be_made_ready_is_opened_again_later},
        {"refused credentials end all of it", refused_credentials_end_all_of_it},
        {"only a create that is unknown shows an old server",
         only_a_create_that_is_unknown_shows_an_old_server},
        {"a read's refusal names the node", a_read_s_refusal_names_the_node},
        {"any other names the directory", any_other_names_the_directory},
        {"a member's refusals are logged once", a_member_s_refusals_are_logged_once},
        {"so are those of one that leaves", so_are_those_of_one_that_leaves},
    };
    return TEST_MAIN(argc, argv, "engine_says", cases);
}
