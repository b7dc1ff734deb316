/*
 * The ZooKeeper client with each of its allocations failing in turn. It does not survive each of
 * them; so every run is a child of its own, and where the client crashes in its own code, that is
 * told from a crash of ours and compared with the list below. Where it survives, we do, too.
 */
#include "alloc/fail_each.h"

#include "support/victim.h"

/* So many children at a time: mostly they wait. */
#define CHILDREN 24
#define CHILD_LIMIT_MS 60000
#define SITES_MAX 128
/* More than any scenario has allocations. */
#define NTH_MAX 1000
/* After so many children that had nothing fail, a scenario has no more to fail. */
#define SPARED_MAX 4

/* ---- Scenarios, in the child ---- */

/* What a call may say that had no memory, besides what it says otherwise: if that was once, it must
 * not wait in vain. */
static void check_outcome(zkl_err actual, zkl_err expected) {
    const bool is_other = actual == ZKL_TIMEOUT || actual == ZKL_UNREACHABLE;

    if ((failing_failed() > 0 && actual == ZKL_NOMEM) || (IsLasting && is_other))
        return;
    CHECK_INT(actual, expected);
}

/* Not sent is not answered, nor is what a try waits for longer than 2T/3. */
static void check_reads(zkl_err actual, zkl_err expected) {
    if (actual != ZKL_UNREACHABLE)
        check_outcome(actual, expected);
}

/* A lost frame is noticed after two thirds of the session timeout. */
static int64_t patience_ms(void) {
    return IsLasting ? T_NORMAL : SOON_MS;
}

/* Who holds at the end of this did so all the time, and then by the first node of the queue. The
 * silence of a client that has lost a frame may have cost most of the lease. */
static void check_exclusion(client *c) {
    char own[RAW_PATH_MAX] = "", first[RAW_PATH_MAX] = "";

    actor_node_path(c->actor, c->lock, own, sizeof(own));
    (void)raw_child_path(fixture_raw(), lock_dir(c->name), 0, first);
    if (client_held(c))
        CHECK_STRING(own, first);
}

static void check_release(zkl_err err) {
    if (failing_failed() == 0 || err != ZKL_LOST)
        check_outcome(err, ZKL_OK);
}

/* Nothing is left of what went before, and the next acquire succeeds; ends with all closed. */
static void finish_client(client *c) {
    failing_disarm();
    WAIT_UNTIL(client_nodes(c) == client_held(c), SOON_MS);
    if (!client_held(c)) {
        const zkl_err err = client_release(c);

        CHECK(err == ZKL_NOT_HELD || err == ZKL_LOST);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    }
    check_exclusion(c);
    check_release(client_release_wait(c));
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    client_close(c);
}

static void open_session(void) {
    events *e = events_new();
    const zkl_session_options options = {.size = sizeof(options),
                                         .root = fixture_root(),
                                         .session_timeout_ms = T_NORMAL,
                                         .connect_timeout_ms = IsLasting ? 1000 : SOON_MS,
                                         .auth_scheme = "digest",
                                         .auth = "user:password",
                                         .on_event = events_on,
                                         .log = events_log,
                                         .arg = e};
    zkl_session *s = NULL;

    arm();
    zkl_err err = zkl_session_open(&s, server_hosts(), &options);
    failing_disarm();
    if (failing_failed() == 0 || err != ZKL_AUTH_FAILED) /* see Silent */
        check_outcome(err, ZKL_OK);
    if (err != ZKL_OK)
        s = session_open(server_hosts(), T_NORMAL, NULL);
    zkl_lock *l = lock_open(s, "open", NULL);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    lock_close(l);
    session_close(s);
    events_free(e);
}

static void acquire_and_release(void) {
    client *c = client_open(fresh_name("use/it"), T_NORMAL);

    arm();
    zkl_err err = client_acquire(c, patience_ms());
    check_outcome(err, ZKL_OK);
    if (err == ZKL_OK) {
        check_exclusion(c);
        check_release(actor_release_wait(c->actor, c->lock, patience_ms()));
    }
    CHECK(!client_held(c));
    finish_client(c);
}

/* Plants a holder and arms. */
static client *behind_a_holder(const char *name, char *ret_holder) {
    client *c = client_open_proxied(name, T_NORMAL);

    plant_contender(c->name, CURATOR, ret_holder);
    arm();
    return c;
}

static void wait_and_be_granted(void) {
    char holder[RAW_PATH_MAX];
    client *c = behind_a_holder("wait", holder);

    queue_up(c);
    if (client_is_done(c))
        CHECK(client_result(c) != ZKL_OK);
    uproot(holder);
    check_outcome(client_result(c), ZKL_OK);
    finish_client(c);
}

static void try_and_time_out(void) {
    char holder[RAW_PATH_MAX];
    client *c = behind_a_holder("time-out", holder);

    check_reads(client_acquire(c, 0), ZKL_BUSY);
    check_outcome(client_acquire(c, 50), ZKL_TIMEOUT);
    uproot(holder);
    finish_client(c);
}

static void wait_and_cancel(void) {
    char holder[RAW_PATH_MAX];
    client *c = behind_a_holder("cancel", holder);

    queue_up(c);
    CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
    check_outcome(client_result(c), ZKL_CANCELED);
    uproot(holder);
    finish_client(c);
}

static void count_lock(const char *name, size_t contenders, void *arg) {
    size_t *count = arg;

    (void)name;
    *count += contenders;
}

static void look(void) {
    client *c = client_open("look", T_NORMAL);
    zkl_queue *queue = NULL;
    size_t count = 0;

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    zkl_err err = zkl_inspect(c->session, c->name, &queue);
    check_reads(err, ZKL_OK);
    if (err == ZKL_OK && failing_failed() == 0)
        CHECK_INT(zkl_queue_count(queue), 1);
    zkl_queue_free(queue);
    err = zkl_list(c->session, c->name, count_lock, &count);
    check_reads(err, ZKL_OK);
    if (failing_failed() == 0) /* else the answer may have taken longer than the hold lasted */
        CHECK_INT(count, err == ZKL_OK);
    finish_client(c);
}

static void move_to_other_servers(void) {
    client *c = client_open_proxied("move", T_NORMAL);
    proxy *other = proxy_open(server_hosts(), "127.0.0.2");

    REQUIRE(other != NULL);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    CHECK_INT(zkl_session_set_hosts(c->session, proxy_hosts(other)), ZKL_OK);
    WAIT_UNTIL(proxy_links(other) == 1 || failing_failed() > 0, SOON_MS);
    finish_client(c);
    proxy_close(other);
}

static void hold_and_reconnect(void) {
    client *c = client_open_proxied("reconnect", T_NORMAL);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    proxy_drop(c->proxy);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_SUSPENDED) > 0, SOON_MS);
    WAIT_UNTIL(client_is_connected(c) || (IsLasting && failing_failed() > 0), SOON_MS);
    finish_client(c);
}

static void wait_and_reconnect(void) {
    client *c = client_open_proxied("wait-reconnect", T_NORMAL);
    char holder[RAW_PATH_MAX];

    plant_contender(c->name, CURATOR, holder);
    client_begin(c, SOON_MS / 2);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) > 0, SOON_MS);
    arm();
    proxy_drop(c->proxy);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_SUSPENDED) > 0, SOON_MS);
    WAIT_UNTIL(client_is_connected(c) || (IsLasting && failing_failed() > 0), SOON_MS);
    if (client_is_done(c))
        CHECK(client_result(c) != ZKL_OK);
    uproot(holder);
    zkl_err err = client_result(c);
    if (failing_failed() == 0 || err != ZKL_TIMEOUT) /* see Silent */
        check_outcome(err, ZKL_OK);
    finish_client(c);
}

static void hold_and_expire(void) {
    client *c = client_open("expire", T_NORMAL);
    const credentials its = session_credentials(c->session);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    credentials_expire(&its);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) > 0, SOON_MS);
    WAIT_UNTIL(client_is_connected(c) || (IsLasting && failing_failed() > 0), SOON_MS);
    CHECK(!client_held(c));
    finish_client(c);
}

static void wait_and_expire(void) {
    client *c = client_open("wait-expire", T_NORMAL);
    const credentials its = session_credentials(c->session);
    char holder[RAW_PATH_MAX];

    plant_contender(c->name, CURATOR, holder);
    queue_up(c);
    arm();
    credentials_expire(&its);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_REQUEUED) > 0 || client_is_done(c), SOON_MS);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) > 1 || client_is_done(c) ||
                   (IsLasting && failing_failed() > 0),
               SOON_MS);
    if (client_is_done(c))
        CHECK(client_result(c) != ZKL_OK);
    uproot(holder);
    check_outcome(client_result(c), ZKL_OK);
    finish_client(c);
}

static void close_in_use(void) {
    client *c = client_open("close", T_NORMAL), *waiter = client_open_on(c, "close");

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_queue_up(waiter, 2);
    arm();
    client_close_lock(c);
    session_close(c->session);
    c->session = NULL;
    zkl_err err = client_result(waiter);
    if (err != ZKL_OK) /* the lock may have been its own before the session was closed */
        check_outcome(err, ZKL_CLOSED);
    failing_disarm();
    client_close(waiter);
    client_close(c);
    WAIT_UNTIL(queue_length("close") == 0, SOON_MS);
}

static const test_case Scenarios[] = {
    {"open", open_session},
    {"use", acquire_and_release},
    {"grant", wait_and_be_granted},
    {"time out", try_and_time_out},
    {"cancel", wait_and_cancel},
    {"look", look},
    {"move", move_to_other_servers},
    {"reconnect holding", hold_and_reconnect},
    {"reconnect waiting", wait_and_reconnect},
    {"expire holding", hold_and_expire},
    {"expire waiting", wait_and_expire},
    {"close", close_in_use},
};

/* ---- Where the client does not survive ---- */

/* Functions in which the client of Debian 12 (3.8.0) ends the process. */
static const struct {
    const char *function, *what;
} Crashes[] = {
    {"zookeeper_init_internal", "zookeeper.c: the socket of a new handle"},
    {"log_message", "zk_log.c: each thread's buffer for lines of log"},
    {"create_zk_hashtable", "zk_hashtable.c: the tables of watchers"},
    {"clone_watcher_object", "zk_hashtable.c: asserts a copy of a watcher that fires"},
    {"create_watcher_object_list", "zk_hashtable.c: asserts that there is a list"},
    {"hash", "hashtable.c: a table that is not there"},
    {"copy_table", "zk_hashtable.c: its iterator over the watchers"},
    {"collect_keys", "zk_hashtable.c: the list of watched paths, for a new connection"},
    {"destroy_zk_hashtable", "zk_hashtable.c: the tables of a handle that was not made"},
    {"activateWatcher", "zk_hashtable.c: asserts that a watcher could be added"},
    {"start_threads", "mt_adaptor.c: asserts that its two threads can be started"},
    {"serialize_RequestHeader", "zookeeper.jute.c: a request without a buffer"},
    {"serialize_ReplyHeader", "zookeeper.jute.c: the reply made for a request that has failed"},
    {"deserialize_ReplyHeader", "zookeeper.jute.c: a reply's archive"},
    {"oa_serialize_int", "recordio.c: the first 128 bytes of a request"},
    {"ia_deserialize_string", "recordio.c: into a list of children that is not there"},
    {"get_buffer_len", "recordio.c: of an archive that is not there"},
    {"queue_session_event", "zookeeper.c: a completion for the event"},
    {"queue_completion", "zookeeper.c: the completion of a transaction's part"},
    {"zookeeper_process", "zookeeper.c: the buffer of a frame, the completion of a watch event"},
    {"free_completions", "zookeeper.c: asserts a buffer for a failed request"},
    {"zoo_add_auth", "zookeeper.c: the credentials"},
    {"zoo_awget", "zookeeper.c: the registration of a watch"},
};

/* Where it goes on, and something is missing without a word. What can be done about it, we do. */
static const struct {
    const char *function, *what;
} Silent[] = {
    {"send_set_watches",
     "a new connection comes without the watches of the old one: a waiter hears "
     "of its turn with the next connection, or not before its deadline"},
    {"zoo_add_auth", "authenticates under no scheme, and the server refuses: ZKL_AUTH_FAILED"},
    {"queue_session_event", "a connection made or ended is not told: we look every second"},
    {"zookeeper_interest", "its thread sleeps for a time nobody has set: we wake it every second"},
    {"zoo_set_servers", "no list of servers is left: we set it again"},
    {"deserialize_response", "what was not read is NULL or garbage: we take it for no reply"},
};

struct site {
    uintptr_t caller, place;
    size_t count;
};

static struct site Sites[SITES_MAX];
static size_t SiteCount;

static void note_site(const victim_report *report) {
    for (size_t i = 0; i < SiteCount; i++)
        if (Sites[i].place == report->place) {
            Sites[i].count++;
            return;
        }
    REQUIRE(SiteCount < SITES_MAX);
    Sites[SiteCount++] = (struct site){report->caller, report->place, 1};
}

/* Every crash was in a function of the list. */
static void check_sites(void) {
    size_t counts[sizeof(Crashes) / sizeof(Crashes[0])] = {0};

    for (size_t i = 0; i < SiteCount; i++) {
        char place[128];
        size_t known = 0;

        victim_name(Sites[i].place, place, sizeof(place));
        while (known < sizeof(Crashes) / sizeof(Crashes[0]) &&
               strcmp(Crashes[known].function, place) != 0)
            known++;
        if (known == sizeof(Crashes) / sizeof(Crashes[0])) {
            test_note("the client crashes in %s, too: not in the list", place);
            CU_FAIL("a crash of the client's that the list does not have");
        } else {
            counts[known] += Sites[i].count;
        }
    }
    for (size_t i = 0; i < sizeof(Crashes) / sizeof(Crashes[0]); i++)
        test_note("%4zu crashes in %s (%s)", counts[i], Crashes[i].function, Crashes[i].what);
    for (size_t i = 0; i < sizeof(Silent) / sizeof(Silent[0]); i++)
        test_note("no crash in %s: %s", Silent[i].function, Silent[i].what);
}

/* ---- The parent ---- */

/* One scenario in one of its two ways. */
struct tally {
    const char *scenario;
    bool is_lasting;
    size_t started, failed, survived, crashed;
    size_t spared; /* got by with fewer allocations, or were too slow for more */
};

static void blame_us(const char *scenario, size_t nth, int status, const victim_report *report,
                     const char *output) {
    char caller[128], place[128];

    victim_name(report->caller, caller, sizeof(caller));
    victim_name(report->place, place, sizeof(place));
    test_note("%s, allocation %zu, in %s: status %d, signal %d in %s\n%s", scenario, nth, caller,
              status, report->signal, place, output);
    CU_FAIL("not the client's own crash");
}

static void collect(victim *v, size_t nth, struct tally *tally) {
    victim_report report;
    char output[6000];
    const int status = victim_end(v, &report, output, sizeof(output));

    if (status >= 0 && report.failed == 0)
        tally->spared++;
    else
        tally->failed++;
    if (status == 0) {
        tally->survived += report.failed > 0;
    } else if (status == -1 && report.part == FAILING_CLIENT) {
        tally->crashed++;
        note_site(&report);
    } else {
        blame_us(tally->scenario, nth, status, &report, output);
    }
}

static victim *start(struct tally *tally) {
    char number[24];
    const char *arguments[] = {"--victim", tally->scenario, number,
                               tally->is_lasting ? "lasting" : "once", NULL};

    (void)snprintf(number, sizeof(number), "%zu", ++tally->started);
    return victim_start(arguments);
}

static bool is_over(const struct tally *tally) {
    return tally->spared >= SPARED_MAX;
}

/* The first that is not over yet. */
static struct tally *next_of(struct tally *tallies, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!is_over(&tallies[i]) && tallies[i].started < NTH_MAX)
            return &tallies[i];
    return NULL;
}

static void run_all(struct tally *tallies, size_t count) {
    struct {
        victim *v;
        struct tally *tally;
        size_t nth;
    } running[CHILDREN] = {{NULL, NULL, 0}};
    size_t at_work = 0;

    do {
        for (size_t i = 0; i < CHILDREN; i++) {
            struct tally *next;

            if (running[i].v && victim_has_ended(running[i].v, CHILD_LIMIT_MS)) {
                collect(running[i].v, running[i].nth, running[i].tally);
                running[i].v = NULL;
                at_work--;
            }
            if (running[i].v || !(next = next_of(tallies, count)))
                continue;
            running[i].v = start(next);
            running[i].tally = next;
            running[i].nth = next->started;
            at_work++;
        }
        wait_pause();
    } while (at_work > 0);
}

static void where_the_client_survives_so_do_we(void) {
    enum {
        SCENARIOS = sizeof(Scenarios) / sizeof(Scenarios[0])
    };
    struct tally tallies[2 * SCENARIOS] = {{0}};

    for (size_t i = 0; i < 2 * SCENARIOS; i++) {
        tallies[i].scenario = Scenarios[i / 2].claim;
        tallies[i].is_lasting = i % 2 == 1;
    }
    run_all(tallies, 2 * SCENARIOS);
    for (size_t i = 0; i < 2 * SCENARIOS; i++) {
        test_note("%-18s %s: %3zu failed, %3zu survived, %3zu crashed in the client",
                  tallies[i].scenario, tallies[i].is_lasting ? "with all after" : "alone         ",
                  tallies[i].failed, tallies[i].survived, tallies[i].crashed);
        CHECK(is_over(&tallies[i]));
    }
    check_sites();
}

/* A connection may still be being closed in the background. */
static bool frees_all(void) {
    const int64_t end = clock_ms() + SOON_MS;

    while (failing_live(FAILING_OWN) > 0 && clock_ms() < end)
        wait_pause();
    return failing_live(FAILING_OWN) == 0;
}

static int run_victim(char **argv) {
    char *arguments[] = {argv[0], argv[2], NULL};

    victim_begin();
    Part = FAILING_CLIENT;
    Nth = strtoul(argv[3], NULL, 10);
    IsLasting = strcmp(argv[4], "lasting") == 0;
    fixture_start(NULL);
    int result = TEST_MAIN(2, arguments, "client", Scenarios);
    if (result == EXIT_SUCCESS && !frees_all()) {
        printf("%zu blocks of ours are left\n", failing_live(FAILING_OWN));
        result = EXIT_FAILURE;
    }
    victim_report_failures();
    return result;
}

static const test_case Cases[] = {
    {"where the client survives, so do we", where_the_client_survives_so_do_we},
};

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "--victim") == 0)
        return run_victim(argv);
    fixture_start(NULL);
    /* What the client leaks without memory is its own affair; that we leak nothing is checked. */
    if (setenv("ZKLOCK_HOSTS", server_hosts(), 1) != 0 ||
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1) != 0)
        return EXIT_FAILURE;
    return TEST_MAIN(argc, argv, "client", Cases);
}
