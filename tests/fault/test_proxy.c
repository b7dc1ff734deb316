/*
 * The faults that the proxy strikes with, seen by a plain client: one that struck in the wrong
 * place would make the other tests of this tier pass for no reason.
 */
#include "support/fixture.h"

#include <stdio.h>

/* The nth create's request or reply. */
static void arm(proxy *p, proxy_direction direction, proxy_fault_action action, size_t nth) {
    proxy_set_fault(p, &(proxy_fault){.direction = direction,
                                      .kind = PROXY_CREATE,
                                      .part = "/struck",
                                      .nth = nth,
                                      .action = action,
                                      .stall_ms = 300});
    CHECK(proxy_struck_ns(p) == 0);
}

static int create(raw *r, const char *name) {
    char path[RAW_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/struck-%s", fixture_root(), name);
    return raw_create(r, path, "", 0, RAW_PERSISTENT, NULL);
}

static bool is_there(const char *name) {
    char path[RAW_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/struck-%s", fixture_root(), name);
    return raw_exists(fixture_raw(), path);
}

static raw *open_through(proxy *p, int timeout_ms) {
    REQUIRE_INT(raw_make_path(fixture_raw(), fixture_root()), RAW_OK);
    raw *r = raw_open(proxy_hosts(p), timeout_ms);
    REQUIRE(r != NULL);
    return r;
}

static void a_cut_is_before_or_after_its_frame(void) {
    static const struct {
        const char *name;
        proxy_direction direction;
        proxy_fault_action action;
        int result;
        bool is_done;
    } cuts[] = {
        {"request-before", PROXY_TO_SERVER, PROXY_CUT_BEFORE, RAW_CONNECTION_LOSS, false},
        {"request-after", PROXY_TO_SERVER, PROXY_CUT_AFTER, RAW_CONNECTION_LOSS, true},
        {"reply-before", PROXY_TO_CLIENT, PROXY_CUT_BEFORE, RAW_CONNECTION_LOSS, true},
        {"reply-after", PROXY_TO_CLIENT, PROXY_CUT_AFTER, RAW_OK, true},
    };
    proxy *p = proxy_new();
    raw *r = open_through(p, T_NORMAL);

    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        char other[64];

        (void)snprintf(other, sizeof(other), "not-%s", cuts[i].name);
        arm(p, cuts[i].direction, cuts[i].action, 2);
        CHECK_INT(create(r, other), RAW_OK);
        CHECK(proxy_struck_ns(p) == 0);
        CHECK_INT(create(r, cuts[i].name), cuts[i].result);
        CHECK(proxy_struck_ns(p) != 0);
        WAIT_UNTIL(proxy_connects(p) == i + 2, SOON_MS);
        CHECK(!raw_is_over(r));
        if (cuts[i].is_done)
            WAIT_UNTIL(is_there(cuts[i].name), SOON_MS);
        else
            CHECK(!is_there(cuts[i].name));
    }
    raw_close(r);
    proxy_close(p);
}

static void a_handshake_is_a_frame_like_others(void) {
    static const proxy_direction ways[] = {PROXY_TO_SERVER, PROXY_TO_CLIENT};

    for (size_t i = 0; i < 2; i++) {
        proxy *p = proxy_new();

        proxy_set_fault(p, &(proxy_fault){.direction = ways[i],
                                          .kind = PROXY_CONNECT,
                                          .nth = 1,
                                          .action = PROXY_CUT_BEFORE});
        raw *r = open_through(p, T_NORMAL);
        CHECK(proxy_struck_ns(p) != 0);
        CHECK_INT(proxy_connects(p), 2);
        CHECK_INT(proxy_count(p, PROXY_ANY, NULL), 0);
        raw_close(r);
        proxy_close(p);
    }
}

static void a_stall_holds_one_direction_for_its_time(void) {
    static const proxy_direction ways[] = {PROXY_TO_SERVER, PROXY_TO_CLIENT};
    static const char *const names[] = {"late-request", "late-reply"};
    proxy *p = proxy_new();
    raw *r = open_through(p, T_LONG);

    for (size_t i = 0; i < 2; i++) {
        arm(p, ways[i], PROXY_STALL, 1);
        CHECK_INT(create(r, names[i]), RAW_OK);
        int64_t done_ms = clock_ms();
        int64_t struck_ms = proxy_struck_ns(p) / NS_PER_MS;
        CHECK_RANGE(done_ms - struck_ms, 299, 2000);
        CHECK(is_there(names[i]));
    }
    CHECK_INT(proxy_connects(p), 1);
    arm(p, PROXY_TO_CLIENT, PROXY_HOLD_FRAME, 1);
    CHECK_INT(create(fixture_raw(), "elsewhere"), RAW_OK); /* not through the proxy */
    CHECK(proxy_struck_ns(p) == 0);
    raw_close(r);
    proxy_close(p);
}

static zkl_err create_silently(void *r) {
    return create(r, "silent") == RAW_OK ? ZKL_OK : ZKL_SERVER;
}

static void a_silent_connection_is_not_closed(void) {
    proxy *p = proxy_new();
    raw *r = open_through(p, T_NORMAL);
    actor *a = actor_new();

    arm(p, PROXY_TO_SERVER, PROXY_SILENCE, 1);
    actor_begin(a, create_silently, r);
    WAIT_UNTIL(proxy_struck_ns(p) != 0, SOON_MS);
    CHECK(proxy_has_silence(p));
    CHECK_STAYS(!actor_is_done(a) && proxy_links(p) == 1, T_NORMAL / 2);
    /* The client gives up after 2/3 of its timeout; the server is not told. */
    CHECK_INT(actor_result(a, SOON_MS), ZKL_SERVER);
    WAIT_UNTIL(!proxy_has_silence(p), SOON_MS);
    WAIT_UNTIL(proxy_connects(p) == 2, SOON_MS);
    CHECK(!raw_is_over(r));
    CHECK(!is_there("silent"));
    CHECK_INT(create(r, "silent"), RAW_OK);
    actor_free(a);
    raw_close(r);
    proxy_close(p);
}

static void a_trace_tells_replies_by_their_requests(void) {
    enum {
        FRAMES = 8
    };
    static const struct {
        proxy_direction direction;
        proxy_kind kind;
    } expected[] = {{PROXY_TO_SERVER, PROXY_CONNECT}, {PROXY_TO_CLIENT, PROXY_CONNECT},
                    {PROXY_TO_SERVER, PROXY_CREATE},  {PROXY_TO_CLIENT, PROXY_CREATE},
                    {PROXY_TO_SERVER, PROXY_EXISTS},  {PROXY_TO_CLIENT, PROXY_EXISTS}};
    proxy *p = proxy_new();
    raw *r = open_through(p, T_LONG);
    proxy_frame frames[FRAMES];

    CHECK_INT(create(r, "traced"), RAW_OK);
    CHECK(raw_exists(r, "/"));
    REQUIRE_INT(proxy_trace(p, frames, FRAMES), 6);
    for (size_t i = 0; i < 6; i++) {
        CHECK_INT(frames[i].direction, expected[i].direction);
        CHECK_STRING(proxy_kind_name(frames[i].kind), proxy_kind_name(expected[i].kind));
    }
    CHECK_STRING(frames[3].path, frames[2].path);
    raw_close(r);
    proxy_close(p);
}

static const test_case Cases[] = {
    {"a cut is before or after the named frame and no other", a_cut_is_before_or_after_its_frame},
    {"a handshake is a frame like others", a_handshake_is_a_frame_like_others},
    {"a stall holds one direction for its time", a_stall_holds_one_direction_for_its_time},
    {"a connection that goes silent is not closed", a_silent_connection_is_not_closed},
    {"a trace tells replies by their requests", a_trace_tells_replies_by_their_requests},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "proxy", Cases);
}
