/*
 * Guarded writes whose request or reply is lost with the connection: what the call finds out by
 * itself, what it must leave open; and writes that a close or a release overtakes.
 */
#include "support/target.h"

#include "session/session.h"

#include <stdatomic.h>
#include <string.h>

/* From then on requests are counted. */
static void begin_broken(client *c, guarded_call *call, proxy_action action, bool refuse) {
    proxy_forget(c->proxy);
    guarded_begin_broken(c, call, action, refuse);
}

/* Begins a write whose frame the rule is for; or one in an outage, which waits for its end. */
static void begin_sent_or_not(client *c, guarded_call *call, proxy_action action, bool is_sent) {
    if (is_sent) {
        begin_broken(c, call, action, false);
    } else {
        client_outage_begin(c);
        actor_begin(c->actor, guarded_run, call);
        WAIT_UNTIL(actor_is_blocked(c->actor), SOON_MS);
    }
}

/* ---- The hold lasts ---- */

static void a_lost_request_is_written_once(void) {
    client *c = holder_new("request", T_LONG);
    const char *path = target_new();

    for (int i = 0; i < 4; i++) {
        guarded_call call = guarded_text(c, path, "once", i % 2 ? i : -1);

        begin_broken(c, &call, PROXY_CUT_REQUEST, false);
        CHECK_INT(client_result(c), ZKL_OK);
        target_check(path, "once", i + 1);
        CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), 2);
        CHECK_INT(proxy_count(c->proxy, PROXY_GET, path), 0);
    }
    holder_check(c);
    client_close(c);
}

static void a_lost_reply_with_a_version_is_one_step(void) {
    client *c = holder_new("versioned", T_LONG);
    const char *path = target_new();

    for (int i = 0; i < 4; i++) {
        guarded_call call = guarded_text(c, path, i % 2 ? "once" : "", i);

        begin_broken(c, &call, PROXY_CUT_REPLY, false);
        CHECK_INT(client_result(c), ZKL_OK);
        target_check(path, i % 2 ? "once" : "", i + 1);
        CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), 2);
        CHECK_INT(proxy_count(c->proxy, PROXY_GET, path), 1);
    }
    holder_check(c);
    client_close(c);
}

/* The header says so: the same data, and perhaps a step of the version more. */
static void a_lost_reply_without_a_version_is_written_again(void) {
    client *c = holder_new("unversioned", T_LONG);
    const char *path = target_new();

    for (int i = 0; i < 4; i++) {
        guarded_call call = guarded_text(c, path, "again", -1);

        begin_broken(c, &call, PROXY_CUT_REPLY, false);
        CHECK_INT(client_result(c), ZKL_OK);
        target_check(path, "again", 2 * (i + 1));
        CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), 2);
    }
    holder_check(c);
    client_close(c);
}

static void a_lost_read_is_made_again(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};
    client *c = holder_new("read", T_LONG);
    const char *path = target_new();

    for (int i = 0; i < 2; i++) {
        guarded_call call = guarded_text(c, path, "once", i);

        begin_broken(c, &call, PROXY_CUT_REPLY, true);
        proxy_rule(c->proxy, actions[i], PROXY_GET, path, 1, false);
        proxy_refuse(c->proxy, false);
        CHECK_INT(client_result(c), ZKL_OK);
        CHECK(proxy_fired(c->proxy));
        target_check(path, "once", i + 1);
    }
    holder_check(c);
    client_close(c);
}

/* Not under this guard, so with other tools. The first attempt has not arrived: version and data
 * are somebody else's, whatever their length. */
static void another_s_step_of_the_version_is_not_taken_for_ours(void) {
    static const char *const theirs[] = {"hers", "his", ""};
    client *c = holder_new("theirs", T_LONG);

    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
        const char *path = target_new();
        guarded_call call = guarded_text(c, path, "ours", 0);

        begin_broken(c, &call, PROXY_CUT_REQUEST, true);
        REQUIRE_INT(raw_set(fixture_raw(), path, theirs[i], strlen(theirs[i])), RAW_OK);
        proxy_refuse(c->proxy, false);
        CHECK_INT(client_result(c), ZKL_BAD_VERSION);
        target_check(path, theirs[i], 1);
    }
    holder_check(c);
    client_close(c);
}

/* Ours may be below what somebody else has written. */
static void what_others_have_written_over_is_unsure(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};
    client *c = holder_new("over", T_LONG);

    for (int i = 0; i < 2; i++) {
        const char *path = target_new();
        guarded_call call = guarded_text(c, path, "ours", 0);

        begin_broken(c, &call, actions[i], true);
        WAIT_UNTIL(i == 0 || target_version(path) == 1, SOON_MS);
        REQUIRE_INT(raw_set(fixture_raw(), path, "ours", 4), RAW_OK);
        REQUIRE_INT(raw_set(fixture_raw(), path, "ours", 4), RAW_OK);
        proxy_refuse(c->proxy, false);
        CHECK_INT(client_result(c), ZKL_UNSURE);
        CHECK_INT(target_version(path), 2 + i);
    }
    holder_check(c);
    client_close(c);
}

static void a_node_that_went_meanwhile_is_no_node(void) {
    client *c = holder_new("gone", T_LONG);

    for (int version = -1; version < 1; version++) {
        const char *path = target_new();
        guarded_call call = guarded_text(c, path, "x", version);

        begin_broken(c, &call, PROXY_CUT_REPLY, true);
        WAIT_UNTIL(target_version(path) == 1, SOON_MS);
        uproot(path);
        proxy_refuse(c->proxy, false);
        CHECK_INT(client_result(c), ZKL_NO_NODE);
    }
    holder_check(c);
    client_close(c);
}

/* Nobody knows what came of the first attempt when the second is refused for another reason. */
static void a_refusal_after_a_lost_reply_is_unsure(void) {
    client *c = holder_new("refused", T_LONG);
    const char *path = target_new();
    guarded_call call = guarded_text(c, path, "x", -1);

    begin_broken(c, &call, PROXY_CUT_REPLY, true);
    WAIT_UNTIL(target_version(path) == 1, SOON_MS);
    REQUIRE_INT(raw_restrict(fixture_raw(), path, 1 | 16), RAW_OK);
    proxy_refuse(c->proxy, false);
    CHECK_INT(client_result(c), ZKL_UNSURE);
    holder_check(c);
    client_close(c);
}

static void a_step_that_cannot_be_read_is_unsure(void) {
    client *c = holder_new("unread", T_LONG);
    const char *path = target_new();
    guarded_call call = guarded_text(c, path, "x", 0);

    REQUIRE_INT(raw_restrict(fixture_raw(), path, 2 | 16), RAW_OK);
    begin_broken(c, &call, PROXY_CUT_REPLY, false);
    CHECK_INT(client_result(c), ZKL_UNSURE);
    REQUIRE_INT(raw_restrict(fixture_raw(), path, 31), RAW_OK);
    CHECK_INT(target_version(path), 1);
    holder_check(c);
    client_close(c);
}

/* A server that does not take a packet of this size cuts the connection at each attempt. */
static void a_write_that_always_breaks_the_line_is_given_up(void) {
    client *c = holder_new("each-time", T_LONG);
    const char *path = target_new();
    guarded_call call = guarded_text(c, path, "x", -1);
    size_t attempts = 0;

    begin_broken(c, &call, PROXY_CUT_REQUEST, true);
    for (attempts = 1; !client_is_done(c) && attempts < 20; attempts++) {
        proxy_rule(c->proxy, PROXY_CUT_REQUEST, PROXY_MULTI, NULL, 1, true);
        proxy_refuse(c->proxy, false);
        WAIT_UNTIL(proxy_fired(c->proxy) || client_is_done(c), SOON_MS);
    }
    CHECK_INT(client_result(c), ZKL_UNSURE);
    CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), 4);
    proxy_rule(c->proxy, PROXY_CUT_REQUEST, PROXY_CONTAINER, "none", 1, false); /* disarms */
    proxy_refuse(c->proxy, false);
    target_check(path, "zero", 0);
    CHECK_INT(guarded_set(c, path, "y", -1), ZKL_OK);
    holder_check(c);
    client_close(c);
}

/* T41: the server is silent, and the client takes that for a loss after two thirds of its timeout.
 * The first attempt has arrived all the same, and is looked at before the second. */
static void a_write_to_a_frozen_server_is_one_step(void) {
    if (!server_is_ours()) {
        test_skip("not our server");
        return;
    }
    client *c = holder_new("frozen", T_NORMAL);
    const char *path = target_new();
    guarded_call call = guarded_text(c, path, "thawed", 0);
    server_freeze();
    actor_begin(c->actor, guarded_run, &call);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) > 0 ||
                   zkl_session_state(c->session) == ZKL_STATE_SUSPENDED,
               SOON_MS);
    server_thaw();
    zkl_err err = client_result(c);
    CHECK(err == ZKL_OK || (err == ZKL_UNSURE && !client_held(c)));
    WAIT_UNTIL(err == ZKL_UNSURE || target_version(path) == 1, SOON_MS);
    CHECK_RANGE(target_version(path), err == ZKL_OK, 1);
    client_close(c);
}

/* ---- The hold does not last ---- */

static void a_hold_lost_meanwhile_leaves_the_write_unsure(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};

    for (int i = 0; i < 4; i++) {
        client *c = holder_new("unsure", T_LONG);
        const char *path = target_new();
        guarded_call call = guarded_text(c, path, "x", i / 2 - 1);
        char node[RAW_PATH_MAX];

        client_node(c, node);
        begin_broken(c, &call, actions[i % 2], true);
        WAIT_UNTIL(i % 2 == 0 || target_version(path) == 1, SOON_MS);
        uproot(node);
        proxy_refuse(c->proxy, false);
        CHECK_INT(client_result(c), ZKL_UNSURE);
        CHECK(!client_held(c));
        CHECK_INT(target_version(path), i % 2); /* not a second time, whatever the first did */
        client_close(c);
    }
}

static void an_outage_longer_than_the_lease_ends_the_write(void) {
    const char *path = target_new();

    for (int was_sent = 0; was_sent < 2; was_sent++) {
        client *c = holder_new("outage", T_SHORT);
        guarded_call call = guarded_text(c, path, "x", -1);

        if (was_sent) {
            begin_broken(c, &call, PROXY_CUT_REQUEST, true);
        } else {
            client_outage_begin(c);
            actor_begin(c->actor, guarded_run, &call);
        }
        CHECK_INT(client_result(c), was_sent ? ZKL_UNSURE : ZKL_LOST); /* the outage goes on */
        CHECK(!client_held(c));
        target_check(path, "zero", 0);
        client_close(c);
    }
}

static void a_write_begun_in_an_outage_arrives_after_it(void) {
    client *c = holder_new("begun", T_LONG);
    const char *path = target_new();
    guarded_call call = guarded_text(c, path, "x", 0);

    client_outage_begin(c);
    actor_begin(c->actor, guarded_run, &call);
    CHECK_STAYS(!client_is_done(c), 100);
    client_outage_end(c);
    CHECK_INT(client_result(c), ZKL_OK);
    target_check(path, "x", 1);
    holder_check(c);
    client_close(c);
}

/* The servers had seen the hold when they committed, whatever we know by now. */
static void an_answer_counts_though_the_hold_was_lost_since(void) {
    client *c = holder_new("answer", T_NORMAL);
    const char *path = target_new();
    guarded_call call = guarded_text(c, path, "x", -1);
    char node[RAW_PATH_MAX];

    client_node(c, node);
    begin_broken(c, &call, PROXY_HOLD_REPLY, false);
    uproot(node);
    proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
    CHECK_INT(client_result(c), ZKL_OK);
    target_check(path, "x", 1);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    client_close(c);
}

/* ---- Overtaken by others ---- */

static void a_cancel_is_not_for_writes(void) {
    client *c = holder_new("cancel", T_LONG);
    const char *path = target_new();
    guarded_call call = guarded_text(c, path, "x", -1);

    begin_broken(c, &call, PROXY_HOLD_REQUEST, false);
    CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
    proxy_hold(c->proxy, PROXY_TO_SERVER, false);
    CHECK_INT(client_result(c), ZKL_OK);
    target_check(path, "x", 1);
    holder_check(c);
    client_close(c);
}

/* The node is deleted behind a write that is under way, and before one that is not sent. */
static void a_release_by_another_thread_lets_a_sent_write_pass(void) {
    for (int is_sent = 0; is_sent < 2; is_sent++) {
        client *c = holder_new("release", T_LONG);
        const char *path = target_new();
        guarded_call call = guarded_text(c, path, "x", -1);
        const zkl_hold hold = actor_hold(c->actor, c->lock);

        begin_sent_or_not(c, &call, PROXY_HOLD_REQUEST, is_sent);
        CHECK_INT(zkl_release_hold(c->lock, hold), ZKL_OK);
        if (is_sent)
            proxy_hold(c->proxy, PROXY_TO_SERVER, false);
        CHECK_INT(client_result(c), is_sent ? ZKL_OK : ZKL_NOT_HELD);
        proxy_refuse(c->proxy, false);
        CHECK_INT(target_version(path), is_sent);
        WAIT_UNTIL(queue_length(c->name) == 0, SOON_MS);
        client_close(c);
    }
}

/* There is nothing left to send again under, and no reason to wait for the end of the outage. */
static void a_write_under_a_hold_that_was_given_up_ends_with_its_line(void) {
    client *c = holder_new("given-up", T_LONG);
    const char *path = target_new();
    guarded_call call = guarded_text(c, path, "x", -1);
    const zkl_hold hold = actor_hold(c->actor, c->lock);

    begin_broken(c, &call, PROXY_HOLD_REQUEST, false);
    CHECK_INT(zkl_release_hold(c->lock, hold), ZKL_OK);
    CHECK_STAYS(!client_is_done(c), 50);
    client_outage_begin(c);
    CHECK_INT(client_result(c), ZKL_UNSURE);
    client_outage_end(c);
    WAIT_UNTIL(queue_length(c->name) == 0, SOON_MS);
    target_check(path, "zero", 0);
    client_close(c);
}

/* Behind another's data, which is as much as may be in flight. */
static void a_write_that_waits_for_room_ends_with_its_lock(void) {
    static char data[ZKL_GUARDED_SET_MAX];
    client *c = holder_new("room", T_NORMAL), *other = client_open_on(c, fresh_name("room"));
    const char *path = target_new(), *late = target_new();
    guarded_call first = {c->lock, path, data, sizeof(data), -1};
    guarded_call second = {other->lock, late, data, sizeof(data), -1};

    REQUIRE_INT(client_acquire(other, SOON_MS), ZKL_OK);
    begin_broken(c, &first, PROXY_HOLD_REPLY, false);
    actor_begin(other->actor, guarded_run, &second);
    WAIT_UNTIL(actor_is_blocked(other->actor), SOON_MS);
    CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), 1);
    client_close_lock(other);
    CHECK_INT(client_result(other), ZKL_CLOSED);
    proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
    CHECK_INT(client_result(c), ZKL_OK);
    CHECK_INT(target_version(path), 1);
    target_check(late, "zero", 0);
    client_close(other);
    client_close(c);
}

static void a_lock_may_close_under_a_write(void) {
    for (int is_sent = 0; is_sent < 2; is_sent++) {
        client *c = holder_new("close-lock", T_LONG);
        const char *path = target_new();
        guarded_call call = guarded_text(c, path, "x", -1);

        begin_sent_or_not(c, &call, PROXY_HOLD_REPLY, is_sent);
        client_close_lock(c);
        if (is_sent)
            proxy_hold(c->proxy, PROXY_TO_CLIENT, false);
        CHECK_INT(client_result(c), is_sent ? ZKL_OK : ZKL_CLOSED);
        CHECK_INT(target_version(path), is_sent);
        client_close(c);
    }
}

/* T40: the reply never comes. */
static void a_session_may_close_under_a_write(void) {
    for (int is_sent = 0; is_sent < 2; is_sent++) {
        client *c = holder_new("close-session", T_LONG);
        const char *path = target_new();
        guarded_call call = guarded_text(c, path, "x", -1);

        begin_sent_or_not(c, &call, PROXY_HOLD_REPLY, is_sent);
        session_close(c->session);
        c->owns_session = false;
        CHECK_INT(client_result(c), is_sent ? ZKL_UNSURE : ZKL_CLOSED);
        CHECK_INT(target_version(path), is_sent);
        CHECK_INT(guarded_set(c, path, "x", -1), ZKL_CLOSED);
        client_close(c);
    }
}

/* T40: from nothing answered to everything answered. */
static void a_session_may_close_under_many_writes(void) {
    enum {
        COUNT = 16,
        ROUNDS = 20
    };
    const char *path = target_new();

    for (int round = 0; round < ROUNDS; round++) {
        zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
        actor *actors[COUNT];
        guarded_call calls[COUNT];
        const int before = target_version(path);
        int written = 0, unsure = 0;

        for (size_t i = 0; i < COUNT; i++) {
            zkl_lock *l = lock_open(s, fresh_name("many"), NULL);

            calls[i] = (guarded_call){l, path, "x", 1, -1};
            actors[i] = actor_new();
            actor_acquire(actors[i], l, SOON_MS);
        }
        for (size_t i = 0; i < COUNT; i++)
            REQUIRE_INT(actor_result(actors[i], SOON_MS), ZKL_OK);
        for (size_t i = 0; i < COUNT; i++)
            actor_begin(actors[i], guarded_run, &calls[i]);
        WAIT_UNTIL(target_version(path) >= before + round * COUNT / ROUNDS, SOON_MS);
        session_close(s);
        for (size_t i = 0; i < COUNT; i++) {
            const zkl_err result = actor_result(actors[i], SOON_MS);

            written += result == ZKL_OK;
            unsure += result == ZKL_UNSURE;
            CHECK(result == ZKL_OK || result == ZKL_CLOSED || result == ZKL_UNSURE);
            lock_close(calls[i].lock);
            actor_free(actors[i]);
        }
        CHECK_RANGE(target_version(path), before + written, before + written + unsure);
    }
}

/* ---- A port that cannot send: memory is short, or the connection went a moment ago ---- */

static atomic_int Refusals;
static const struct zkli_port_ops *Real_ops;
static struct zkli_port_ops Short_ops;

static bool multi_or_refused(struct zkli_port *port, unsigned slot, const struct zkli_op *ops,
                             size_t count) {
    return atomic_fetch_sub(&Refusals, 1) <= 0 && Real_ops->multi(port, slot, ops, count);
}

/* From now on the first so many writes are refused. */
static void refuse_writes(client *c, int count) {
    atomic_store(&Refusals, count);
    zkli_session_lock(c->session);
    struct zkli_port *port = zkli_engine_port(c->session->engine);
    REQUIRE(port != NULL);
    Real_ops = port->ops == &Short_ops ? Real_ops : port->ops;
    Short_ops = *Real_ops;
    Short_ops.multi = multi_or_refused;
    port->ops = &Short_ops;
    zkli_session_unlock(c->session);
}

static void a_write_that_cannot_be_sent_is_tried_for_a_while(void) {
    enum {
        EVER = 1000000
    };
    client *c = holder_new("short", T_LONG);
    const char *path = target_new();
    guarded_call call = guarded_text(c, path, "x", -1);

    refuse_writes(c, 3);
    CHECK_INT(guarded_set(c, path, "x", -1), ZKL_OK);
    target_check(path, "x", 1);
    refuse_writes(c, EVER);
    CHECK_INT(guarded_set(c, path, "x", -1), ZKL_NOMEM);
    CHECK_RANGE(EVER - atomic_load(&Refusals), 2, 100); /* not in a busy loop */
    holder_check(c);

    target_check(path, "x", 1);

    zkl_hold hold = actor_hold(c->actor, c->lock);
    refuse_writes(c, EVER);
    actor_begin(c->actor, guarded_run, &call);
    WAIT_UNTIL(atomic_load(&Refusals) < EVER, SOON_MS);
    CHECK_INT(zkl_release_hold(c->lock, hold), ZKL_OK);
    CHECK_INT(client_result(c), ZKL_NOT_HELD);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    refuse_writes(c, EVER);
    actor_begin(c->actor, guarded_run, &call);
    WAIT_UNTIL(atomic_load(&Refusals) < EVER, SOON_MS);
    session_close(c->session);
    c->owns_session = false;
    CHECK_INT(client_result(c), ZKL_CLOSED);
    target_check(path, "x", 1);
    client_close(c);
}

static const test_case Cases[] = {
    {"a lost request is written once", a_lost_request_is_written_once},
    {"a lost reply with a version is one step of it", a_lost_reply_with_a_version_is_one_step},
    {"a lost reply without a version is written again, the same",
     a_lost_reply_without_a_version_is_written_again},
    {"a lost read is made again", a_lost_read_is_made_again},
    {"another's step of the version is not taken for ours",
     another_s_step_of_the_version_is_not_taken_for_ours},
    {"what others have written over is unsure", what_others_have_written_over_is_unsure},
    {"a node that went meanwhile is no node", a_node_that_went_meanwhile_is_no_node},
    {"a refusal after a lost reply is unsure", a_refusal_after_a_lost_reply_is_unsure},
    {"a step that cannot be read is unsure", a_step_that_cannot_be_read_is_unsure},
    {"a write that breaks the connection each time is given up",
     a_write_that_always_breaks_the_line_is_given_up},
    {"a write to a frozen server is one step of the version (T41)",
     a_write_to_a_frozen_server_is_one_step},
    {"a hold lost meanwhile leaves the write unsure, and not done twice",
     a_hold_lost_meanwhile_leaves_the_write_unsure},
    {"an outage longer than the lease ends the write",
     an_outage_longer_than_the_lease_ends_the_write},
    {"a write begun in an outage arrives after it", a_write_begun_in_an_outage_arrives_after_it},
    {"an answer counts though the hold was lost since",
     an_answer_counts_though_the_hold_was_lost_since},
    {"a cancel is not for writes", a_cancel_is_not_for_writes},
    {"a release by another thread lets a sent write pass",
     a_release_by_another_thread_lets_a_sent_write_pass},
    {"a write under a hold that was given up ends with its line",
     a_write_under_a_hold_that_was_given_up_ends_with_its_line},
    {"a write that waits for room ends with its lock",
     a_write_that_waits_for_room_ends_with_its_lock},
    {"a lock may close under a write", a_lock_may_close_under_a_write},
    {"a session may close under a write (T40)", a_session_may_close_under_a_write},
    {"a session may close under many writes (T40)", a_session_may_close_under_many_writes},
    {"a write that cannot be sent is tried for a while, and ends with the hold or the session",
     a_write_that_cannot_be_sent_is_tried_for_a_while},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "guard_lost", Cases);
}
