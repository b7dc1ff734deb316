/*
 * Time. Deadlines and giving up: a wait ends when its caller says, and leaves nothing behind. The
 * rests of sessions. And the time of day, which may be set back or forth while a client
 * waits or holds: this program's own clock functions stand before the C library's, which is how the
 * day is changed without rights.
 */
#include "support/client.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

/* What a wait may take beyond its deadline, on a busy machine and under a sanitizer. */
#define SLACK_MS 400

static void a_timed_wait_ends_on_time(void) {
    static const int64_t timeouts[] = {1, 10, 50, 100, 300, 1000};
    const char *name = fresh_name("on-time");
    client *c = client_open(name, T_LONG);
    char holder[RAW_PATH_MAX];
    int64_t late = 0;

    plant_contender(name, CURATOR, holder);
    for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
        CHECK_INT(client_acquire(c, timeouts[i]), ZKL_TIMEOUT);
        CHECK_RANGE(actor_took_ms(c->actor), timeouts[i] - 1, timeouts[i] + SLACK_MS);
        if (actor_took_ms(c->actor) - timeouts[i] > late)
            late = actor_took_ms(c->actor) - timeouts[i];
    }
    test_note("latest by %lld ms", (long long)late);
    uproot(holder);
    client_close(c);
}

/* T27: elsewhere the timeout starts again whenever a predecessor leaves. */
static void leaving_predecessors_do_not_extend_a_deadline(void) {
    enum {
        COUNT = 20,
        EVERY_MS = 100,
        TIMEOUT_MS = 1050
    };
    const char *name = fresh_name("churn");
    client *c = client_open(name, T_LONG);
    char paths[COUNT][RAW_PATH_MAX];
    size_t left = COUNT;

    for (size_t i = 0; i < COUNT; i++)
        plant_contender(name, CURATOR, paths[i]);
    client_begin(c, TIMEOUT_MS);
    int64_t next = clock_ms() + EVERY_MS;
    /* The nearest leaves each time, so each time the waiter is woken. */
    while (!client_is_done(c) && left > 1) {
        if (clock_ms() >= next) {
            uproot(paths[--left]);
            next += EVERY_MS;
        }
        wait_pause();
    }
    CHECK_INT(client_result(c), ZKL_TIMEOUT);
    CHECK_RANGE(actor_took_ms(c->actor), TIMEOUT_MS - 1, TIMEOUT_MS + SLACK_MS);
    CHECK_RANGE(COUNT - left, 8, 12); /* it was woken that often */
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    while (left > 0)
        uproot(paths[--left]);
    client_close(c);
}

static void the_longest_timeout_is_a_timeout(void) {
    const char *name = fresh_name("longest");
    client *c = client_open(name, T_LONG);
    char holder[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    client_begin(c, INT64_MAX);
    WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
    CHECK_STAYS(!client_is_done(c), 100);
    uproot(holder);
    CHECK_INT(client_result(c), ZKL_OK);
    client_close(c);
}

/* T29: elsewhere a cancel with nothing to cancel spoils the next acquire. */
static void a_cancel_ends_the_waits_there_are_and_no_others(void) {
    const char *name = fresh_name("cancel");
    client *c = client_open(name, T_LONG), *second = client_open(name, T_LONG);
    actor *thread = actor_new();
    char holder[RAW_PATH_MAX];

    CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
    CHECK(client_held(c));
    CHECK_INT(client_release_wait(c), ZKL_OK);

    plant_contender(name, CURATOR, holder);
    client_queue_up(second, 2);
    client_queue_up(c, 3);
    actor_acquire(thread, c->lock, ZKL_FOREVER); /* waits in the process, behind the other */
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) > 0, SOON_MS);
    WAIT_UNTIL(actor_is_blocked(thread), SOON_MS);
    CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_CANCELED);
    CHECK_INT(actor_result(thread, SOON_MS), ZKL_CANCELED);
    WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
    CHECK(!client_is_done(second));
    CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
    uproot(holder);
    CHECK_INT(client_result(second), ZKL_OK);
    CHECK_INT(client_release(second), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    actor_free(thread);
    client_close(second);
    client_close(c);
}

static zkl_err call_cancel(void *lock) {
    return zkl_cancel(lock);
}

/* T29: exactly one of granted and canceled, and the next acquire knows nothing of it. */
static void a_cancel_that_races_a_grant_wins_or_loses(void) {
    enum {
        ROUNDS = 200
    };
    const char *name = fresh_name("race");
    client *holder = client_open(name, T_LONG), *c = client_open_on(holder, name);
    actor *canceler = actor_new();
    size_t canceled = 0;

    for (int i = 0; i < ROUNDS; i++) {
        REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
        client_queue_up(c, 2);
        if (i % 2) {
            actor_begin(canceler, call_cancel, c->lock);
            CHECK_INT(client_release(holder), ZKL_OK);
        } else {
            CHECK_INT(client_release(holder), ZKL_OK);
            actor_begin(canceler, call_cancel, c->lock);
        }
        CHECK_INT(actor_result(canceler, SOON_MS), ZKL_OK);
        zkl_err result = client_result(c);
        canceled += result == ZKL_CANCELED;
        REQUIRE(result == ZKL_CANCELED || result == ZKL_OK);
        CHECK(client_held(c) == (result == ZKL_OK));
        CHECK_INT(client_release(c), result == ZKL_OK ? ZKL_OK : ZKL_NOT_HELD);
        WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK_INT(client_release_wait(c), ZKL_OK);
    }
    test_note("%zu of %d canceled", canceled, ROUNDS);
    actor_free(canceler);
    client_close(c);
    client_close(holder);
}

/* T15: the caller is not kept waiting by a reply that does not come, and no node is left. */
static void a_cancel_works_at_every_step(void) {
    static const struct {
        proxy_action action;
        proxy_kind kind;
        size_t nth;
    } steps[] = {
        {PROXY_HOLD_REQUEST, PROXY_CREATE, 1}, {PROXY_HOLD_REPLY, PROXY_CREATE, 1},
        {PROXY_HOLD_REQUEST, PROXY_LIST, 1},   {PROXY_HOLD_REPLY, PROXY_LIST, 1},
        {PROXY_HOLD_REQUEST, PROXY_GET, 1},    {PROXY_HOLD_REPLY, PROXY_GET, 1},
        {PROXY_HOLD_REQUEST, PROXY_GET, 2},    {PROXY_HOLD_REPLY, PROXY_GET, 2},
    };
    const char *name = fresh_name("steps");
    client *c = client_open_proxied(name, T_LONG);
    char holder[RAW_PATH_MAX];

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        plant_contender(name, CURATOR, holder);
        proxy_rule(c->proxy, steps[i].action, steps[i].kind, name, steps[i].nth, false);
        client_begin(c, ZKL_FOREVER);
        WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
        CHECK(!client_is_done(c));
        CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
        CHECK_INT(actor_result(c->actor, 1000), ZKL_CANCELED);
        proxy_hold(c->proxy, PROXY_BOTH, false);
        WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
        uproot(holder);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK_INT(client_nodes(c), 1);
        CHECK_INT(client_release_wait(c), ZKL_OK);
        CHECK_INT(queue_length(name), 0);
    }
    client_close(c);
}

/* T15: as above, when the deletion that grants is under way to the waiter. */
static void a_cancel_works_while_the_grant_is_under_way(void) {
    const char *name = fresh_name("under-way");
    client *c = client_open_proxied(name, T_LONG);
    char holder[RAW_PATH_MAX];

    for (int i = 0; i < 20; i++) {
        plant_contender(name, CURATOR, holder);
        proxy_forget(c->proxy);
        client_queue_up(c, 2);
        WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, holder) == 1, SOON_MS);
        proxy_hold(c->proxy, PROXY_TO_CLIENT, true);
        uproot(holder);
        WAIT_UNTIL(proxy_count(c->proxy, PROXY_EVENT, holder) == 1, SOON_MS);
        CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
        CHECK_INT(actor_result(c->actor, 1000), ZKL_CANCELED);
        proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
        WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
        CHECK(!client_held(c));
    }
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(c);
}

/* T26: no watch per attempt, on the server or in the client. */
static void timed_out_waits_leave_no_watches_and_no_memory(void) {
    enum {
        ROUNDS = 500,
        CLIENTS = 4,
        WARM_UP = 50
    };
    const char *name = fresh_name("patience");
    client *clients[CLIENTS];
    char holder[RAW_PATH_MAX];
    size_t resident = 0;
    int64_t most = 0;

    plant_contender(name, CURATOR, holder);
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = i % 2 ? client_open_on(clients[i - 1], name) : client_open(name, T_LONG);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < CLIENTS; i++)
            client_begin(clients[i], 1 + (round + (int)i) % 6);
        for (size_t i = 0; i < CLIENTS; i++)
            REQUIRE_INT(client_result(clients[i]), ZKL_TIMEOUT);
        if (round % 25 == 0 && server_number("wchs", "Total watches") > most)
            most = server_number("wchs", "Total watches");
        if (round == WARM_UP)
            resident = process_resident_kib();
    }
    WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    test_note("%d waits: at most %lld watches seen, %lld KiB more resident", ROUNDS * CLIENTS,
              (long long)most, (long long)process_resident_kib() - (long long)resident);
    if (server_is_ours()) { /* else others may watch as well */
        CHECK_RANGE(server_number("wchs", "Total watches"), 0, 2); /* the holder's */
        CHECK_RANGE(most, 0, 3 * CLIENTS);
    }
    if (MEMORY_IS_MEASURABLE)
        CHECK_RANGE((long long)process_resident_kib() - (long long)resident, -100000, 4096);
    uproot(holder);
    for (size_t i = CLIENTS; i > 0; i--)
        client_close(clients[i - 1]);
}

/* ---- Sessions that beat only while a client holds or waits ---- */

enum {
    SILENCES = 12
};

/* A session that comes back with somebody who waits. */
static void begin_in_outage(client *c) {
    client_outage_begin(c);
    client_begin(c, SOON_MS);
    client_outage_end(c);
}

/* After a silence of 0, 1/8, ... of the timeout each, counted from from_ms. */
static void acquire_after_silences(client *const *clients, const int64_t *from_ms, bool in_outage) {
    bool begun[SILENCES] = {false};
    size_t count = 0;

    while (count < SILENCES) {
        for (size_t i = 0; i < SILENCES; i++) {
            if (begun[i] || clock_ms() < from_ms[i] + (int64_t)i * T_NORMAL / 8)
                continue;
            if (in_outage)
                begin_in_outage(clients[i]);
            else
                client_begin(clients[i], SOON_MS);
            begun[i] = true;
            count++;
        }
        wait_pause();
    }
    for (size_t i = 0; i < SILENCES; i++)
        CHECK_INT(client_result(clients[i]), ZKL_OK);
}

static bool all_are_held(client *const *clients) {
    for (size_t i = 0; i < SILENCES; i++)
        if (client_told(clients[i], ZKL_EVENT_LOST) > 0)
            return false;
    return true;
}

/* What is left of a silent session's lease may be less than heartbeats need to prove more. */
static void check_that_holds_last(int rounds, bool in_outage) {
    client *clients[SILENCES];
    int64_t from_ms[SILENCES];

    for (size_t i = 0; i < SILENCES; i++) {
        clients[i] = client_open_proxied(fresh_name("silent"), T_NORMAL);
        from_ms[i] = clock_ms();
    }
    for (int round = 0; round < rounds; round++) {
        acquire_after_silences(clients, from_ms, in_outage);
        CHECK_STAYS(all_are_held(clients), T_NORMAL * 5 / 4);
        for (size_t i = 0; i < SILENCES; i++) {
            CHECK(client_held(clients[i]));
            CHECK_INT(client_release_wait(clients[i]), ZKL_OK);
            from_ms[i] = clock_ms();
        }
    }
    for (size_t i = 0; i < SILENCES; i++)
        client_close(clients[i]);
}

static void a_hold_lasts_whatever_silence_was_before(void) {
    check_that_holds_last(2, false);
}

static void a_hold_lasts_after_a_silence_and_an_outage(void) {
    check_that_holds_last(1, true);
}

/* ---- The time of day (T27) ---- */

#define DAY_S INT64_C(86400)
#define WAIT_MS 1000

static atomic_int_fast64_t Shift_s; /* of the time of day */

static void *next_symbol(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret) {
    static int (*_Atomic next)(clockid_t, struct timespec *);
    int (*fn)(clockid_t, struct timespec *) = atomic_load(&next);

    if (!fn) {
        void *symbol = next_symbol("clock_gettime");

        memcpy(&fn, &symbol, sizeof(fn));
        atomic_store(&next, fn);
    }
    int result = fn(clock, ret);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        ret->tv_sec += atomic_load(&Shift_s);
    return result;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict ret,
                                                        void *restrict zone) {
    struct timespec now;

    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *ret = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *ret) {
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}

static void set_day(int64_t days) {
    atomic_store(&Shift_s, days * DAY_S);
}

static void ours_are_the_clocks_that_are_asked(void) {
    const time_t before = time(NULL);

    set_day(2);
    CHECK_RANGE(time(NULL) - before, 2 * DAY_S, 2 * DAY_S + 10);
    set_day(0);
}

static void a_deadline_is_where_it_was(void) {
    static const int64_t days[] = {1, -1, 365, -365};
    const char *name = fresh_name("deadline");
    client *c = client_open(name, T_LONG);
    char holder[RAW_PATH_MAX];

    plant_contender(name, CURATOR, holder);
    for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++) {
        client_begin(c, WAIT_MS);
        WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
        set_day(days[i]);
        CHECK_INT(client_result(c), ZKL_TIMEOUT);
        CHECK_RANGE(actor_took_ms(c->actor), WAIT_MS - 1, WAIT_MS + SLACK_MS);
        set_day(0);
        WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    }
    client_close(c);
    uproot(holder);
}

/* Nor is one that has already passed by the new time. */
static void a_hold_is_neither_lost_nor_longer(void) {
    static const int64_t days[] = {1, -2, 3, -4};
    client *c = client_open_proxied(fresh_name("hold"), T_NORMAL);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    zkl_hold hold = actor_hold(c->actor, c->lock);
    for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++) {
        set_day(days[i]);
        CHECK_STAYS(zkl_hold_valid(c->lock, hold), T_NORMAL / 4);
    }
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    if (server_is_ours()) /* others stall for T/3 now and then, while their disks are slow */
        CHECK_INT(client_told(c, ZKL_EVENT_SUSPENDED), 0);
    client_silence(c, true);
    int64_t silent_ns = clock_ns();
    set_day(-5);
    WAIT_UNTIL(!zkl_hold_valid(c->lock, hold), SOON_MS);
    CHECK_RANGE((clock_ns() - silent_ns) / NS_PER_MS, 0, T_NORMAL);
    set_day(0);
    client_silence(c, false);
    client_close(c);
}

static void reset_day(void) {
    set_day(0);
    fixture_recover();
}

static const test_case Cases[] = {
    {"a timed wait ends on time", a_timed_wait_ends_on_time},
    {"leaving predecessors do not extend a deadline (T27)",
     leaving_predecessors_do_not_extend_a_deadline},
    {"the longest timeout is a timeout, not an overflow", the_longest_timeout_is_a_timeout},
    {"a cancel ends the waits there are and no others (T29)",
     a_cancel_ends_the_waits_there_are_and_no_others},
    {"a cancel that races a grant wins or loses, never both (T29)",
     a_cancel_that_races_a_grant_wins_or_loses},
    {"a cancel works at every step and leaves no node (T15)", a_cancel_works_at_every_step},
    {"a cancel works while the grant is under way (T15)",
     a_cancel_works_while_the_grant_is_under_way},
    {"2,000 timed-out waits leave no watches and no memory (T26)",
     timed_out_waits_leave_no_watches_and_no_memory},
    {"a hold lasts whatever silence was before", a_hold_lasts_whatever_silence_was_before},
    {"a hold lasts that was asked for in an outage, after a silence",
     a_hold_lasts_after_a_silence_and_an_outage},
    {"the time of day is what this program says", ours_are_the_clocks_that_are_asked},
    {"a new time of day moves no deadline (T27)", a_deadline_is_where_it_was},
    {"a new time of day ends no hold and extends none (T27)", a_hold_is_neither_lost_nor_longer},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    test_after_each(reset_day);
    return TEST_MAIN(argc, argv, "timing", Cases);
}
