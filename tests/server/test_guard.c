/*
 * Guarded writes: the servers accept them while the node of the hold is there, and never after.
 * The proxy holds writes up, a plain client plays the operator and looks at what was written.
 */
#include "support/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LATE_WRITES = 200,
    WRITERS = 100,
    SESSIONS = 5,
    WRITES_EACH = 3,
    CUTS = 6 /* the client library waits half a second before it comes back */
};

static void a_write_under_a_hold_arrives(void) {
    client *c = holder_new("arrives", T_LONG);
    const char *path = target_new();

    CHECK_INT(guarded_set(c, path, "one", -1), ZKL_OK);
    target_check(path, "one", 1);
    CHECK_INT(guarded_set(c, path, "two", 1), ZKL_OK);
    target_check(path, "two", 2);
    CHECK_INT(guarded_set(c, path, "three", 1), ZKL_BAD_VERSION);
    CHECK_INT(guarded_set(c, path, "three", 3), ZKL_BAD_VERSION);
    target_check(path, "two", 2);
    CHECK_INT(guarded_set(c, path, "", 2), ZKL_OK);
    target_check(path, "", 3);
    CHECK_INT(guarded_set(c, lock_dir("nothing"), "x", -1), ZKL_NO_NODE);
    holder_check(c);
    client_close(c);
}

static void a_recursive_hold_guards_on_every_level(void) {
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    zkl_lock *l = lock_open_recursive(s, fresh_name("levels"));
    const char *path = target_new();

    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_guarded_set(l, path, "inner", 5, 0), ZKL_OK);
    REQUIRE_INT(zkl_release(l), ZKL_OK);
    CHECK_INT(zkl_guarded_set(l, path, "outer", 5, 1), ZKL_OK);
    REQUIRE_INT(zkl_release(l), ZKL_OK);
    CHECK_INT(zkl_guarded_set(l, path, "after", 5, 2), ZKL_NOT_HELD);
    target_check(path, "outer", 2);
    lock_close(l);
    session_close(s);
}

/* Requests other than heartbeats. */
static size_t requests(proxy *p) {
    return proxy_count(p, PROXY_WORK, NULL);
}

static void a_write_is_one_request(void) {
    client *c = holder_new("cost", T_LONG);
    const char *path = target_new();

    proxy_forget(c->proxy);
    for (int i = 0; i < 20; i++)
        CHECK_INT(guarded_set(c, path, "x", i % 2 ? i : -1), ZKL_OK);
    CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), 20);
    /* The first heartbeat in a hold arms the watch on its node: one read. */
    CHECK_RANGE(requests(c->proxy), 20, 20 + (proxy_count(c->proxy, PROXY_BARRIER, NULL) > 0));
    CHECK_INT(target_version(path), 20);
    client_close(c);
}

static void only_the_holding_thread_writes(void) {
    client *c = holder_new("others", T_LONG), *other = client_open_on(c, c->name);
    const char *path = target_new();
    guarded_call call = guarded_text(c, path, "x", -1);

    actor_begin(other->actor, guarded_run, &call);
    CHECK_INT(actor_result(other->actor, SOON_MS), ZKL_NOT_HELD);
    CHECK_INT(guarded_set(other, path, "x", -1), ZKL_NOT_HELD);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(guarded_set(c, path, "x", -1), ZKL_NOT_HELD);
    target_check(path, "zero", 0);
    client_close(other);
    client_close(c);
}

/* ---- After the hold ---- */

/* The own node is watched from the first heartbeat on, so mostly it is the server who tells. */
static void no_write_passes_when_the_node_was_deleted(void) {
    client *c = client_open_proxied(fresh_name("broken"), T_LONG);
    const char *path = target_new();

    for (size_t i = 0; i < LATE_WRITES; i++) {
        char node[RAW_PATH_MAX];

        REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
        client_node(c, node);
        uproot(node);
        REQUIRE_INT(guarded_set(c, path, "late", i % 2 ? -1 : 0), ZKL_LOST);
        REQUIRE(!client_held(c)); /* at once, not when the watch tells */
        WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == i + 1, SOON_MS);
        CHECK_INT(guarded_set(c, path, "later", -1), ZKL_LOST);
        CHECK_INT(client_release(c), ZKL_LOST);
    }
    target_check(path, "zero", 0);
    size_t refused = proxy_count(c->proxy, PROXY_MULTI, NULL);
    CHECK_RANGE(refused, LATE_WRITES / 2, LATE_WRITES);
    test_note("%zu of %d were refused by the server, the others before", refused, LATE_WRITES);
    client_close(c);
}

/* However late: another has held and written since. */
static void a_write_that_arrives_after_the_hold_changes_nothing(void) {
    client *c = client_open_proxied(fresh_name("late"), T_LONG);
    client *other = client_open(c->name, T_LONG);
    const char *path = target_new();

    for (int i = 0; i < 10; i++) {
        guarded_call call = guarded_text(c, path, "late", i % 2 ? -1 : i);
        char node[RAW_PATH_MAX];

        REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
        client_node(c, node);
        guarded_begin_broken(c, &call, PROXY_HOLD_REQUEST, false);
        uproot(node);
        REQUIRE_INT(client_acquire(other, SOON_MS), ZKL_OK);
        if (i % 4 < 2)
            CHECK_INT(guarded_set(other, path, "next", i), ZKL_OK);
        else
            CHECK_INT(guarded_set(other, path, "next", -1), ZKL_OK);
        proxy_hold(c->proxy, PROXY_TO_SERVER, false);
        CHECK_INT(client_result(c), ZKL_LOST);
        target_check(path, "next", i + 1);
        CHECK_INT(client_release(c), ZKL_LOST);
        CHECK_INT(client_release_wait(other), ZKL_OK);
    }
    client_close(other);
    client_close(c);
}

/* We know already what the server is about to say. */
static void a_write_under_a_hold_known_lost_since_is_refused(void) {
    client *c = holder_new("known", T_NORMAL);
    const char *path = target_new();
    guarded_call call = guarded_text(c, path, "late", -1);
    char node[RAW_PATH_MAX];

    client_node(c, node);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, node) == 1, SOON_MS); /* watched */
    guarded_begin_broken(c, &call, PROXY_HOLD_REQUEST, false);
    uproot(node);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) == 1, SOON_MS);
    proxy_hold(c->proxy, PROXY_TO_SERVER, false);
    CHECK_INT(client_result(c), ZKL_LOST);
    target_check(path, "zero", 0);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 1);
    client_close(c);
}

/* The connection breaks with the session, so the write may be known lost or not. */
static void no_write_passes_when_the_session_has_expired(void) {
    client *c = client_open_proxied(fresh_name("expired"), T_NORMAL);
    const char *path = target_new();

    for (int i = 0; i < 4; i++) {
        REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
        session_expire(c->session);
        zkl_err err = guarded_set(c, path, "late", i % 2 ? -1 : 0);
        CHECK(err == ZKL_LOST || err == ZKL_UNSURE);
        CHECK(!client_held(c));
        CHECK_INT(guarded_set(c, path, "later", -1), ZKL_LOST);
        CHECK_INT(client_release(c), ZKL_LOST);
    }
    target_check(path, "zero", 0);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 4);
    client_close(c);
}

/* Nothing gets through, heartbeats neither. */
static void without_heartbeats_a_write_ends_with_the_hold(void) {
    const char *path = target_new();

    for (int sent = 0; sent < 2; sent++) {
        client *c = holder_new("silent", T_SHORT);

        client_silence(c, true);
        if (!sent)
            WAIT_UNTIL(!client_held(c), SOON_MS);
        CHECK_INT(guarded_set(c, path, "late", -1), sent ? ZKL_UNSURE : ZKL_LOST);
        CHECK(!client_held(c));
        client_silence(c, false);
        WAIT_UNTIL(queue_length(c->name) == 0, SOON_MS);
        target_check(path, "zero", 0);
        client_close(c);
    }
}

/* T17: the hold of one thread is over, another's on the same handle is not. */
static void a_lost_hold_does_not_write_under_the_next_one(void) {
    client *c = holder_new("successor", T_LONG);
    const char *path = target_new();
    actor *other = actor_new();
    char node[RAW_PATH_MAX];

    client_node(c, node);
    uproot(node);
    CHECK_INT(guarded_set(c, path, "late", -1), ZKL_LOST);
    actor_acquire(other, c->lock, SOON_MS);
    REQUIRE_INT(actor_result(other, SOON_MS), ZKL_OK);
    CHECK_INT(guarded_set(c, path, "late", -1), ZKL_LOST);
    target_check(path, "zero", 0);
    CHECK(actor_held(other, c->lock));
    CHECK_INT(actor_release(other, c->lock), ZKL_OK);
    actor_free(other);
    client_close(c);
}

/* ---- What is refused before it is sent, or by the server ---- */

static void paths_and_lengths_are_checked(void) {
    static const char *const paths[] = {
        "",     "x",    "x/y", "/x/",    "//",       "//x",     "/x//y",   "/.",         "/..",
        "/x/.", "/./x", "/\n", "/x\x7f", "/x\x1f/y", "/a/..b/", "/x/../y", "/x\xc2\x80", "/x\xff"};
    static char big[ZKL_GUARDED_SET_MAX + 1];
    client *c = holder_new("invalid", T_LONG);
    const char *path = target_new();
    guarded_call call = {c->lock, path, big, ZKL_GUARDED_SET_MAX, 0};
    raw_stat stat = {0};

    proxy_forget(c->proxy);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        CHECK_INT(guarded_set(c, paths[i], "x", -1), ZKL_INVALID);
    CHECK_INT(guarded_set(c, NULL, "x", -1), ZKL_INVALID);
    CHECK_INT(guarded_set(c, path, "x", -2), ZKL_INVALID);
    CHECK_INT(zkl_guarded_set(NULL, path, "x", 1, -1), ZKL_INVALID);
    call.data = NULL;
    actor_begin(c->actor, guarded_run, &call);
    CHECK_INT(actor_result(c->actor, SOON_MS), ZKL_INVALID);
    call.data = big;
    call.len++;
    actor_begin(c->actor, guarded_run, &call);
    CHECK_INT(actor_result(c->actor, SOON_MS), ZKL_INVALID);
    CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), 0);
    call.len--; /* as much as the header promises */
    actor_begin(c->actor, guarded_run, &call);
    CHECK_INT(actor_result(c->actor, SOON_MS), ZKL_OK);
    CHECK(raw_stat_of(fixture_raw(), path, &stat));
    CHECK_INT(stat.data_len, ZKL_GUARDED_SET_MAX);
    CHECK_INT(guarded_set(c, "/", "x", 77), ZKL_BAD_VERSION); /* a node like any other */
    CHECK_INT(guarded_set(c, "/...", "x", -1), ZKL_NO_NODE);
    CHECK(client_held(c));
    client_close(c);
}

static void a_path_too_long_for_one_packet_is_a_limit(void) {
    static char big[ZKL_GUARDED_SET_MAX], path[64 * 1024];
    client *c = holder_new("long", T_LONG);
    guarded_call call = {c->lock, path, big, sizeof(big), -1};

    memset(path, 'x', sizeof(path) - 1);
    path[0] = '/';
    actor_begin(c->actor, guarded_run, &call);
    CHECK_INT(actor_result(c->actor, SOON_MS), ZKL_LIMIT);
    CHECK(client_held(c));
    client_close(c);
}

/* T45 */
static void a_refusal_of_the_server_is_told_with_the_log(void) {
    client *c = holder_new("denied", T_LONG);
    const char *path = target_new();

    REQUIRE_INT(raw_restrict(fixture_raw(), path, 1 | 16), RAW_OK);
    CHECK_INT(guarded_set(c, path, "x", -1), ZKL_DENIED);
    CHECK(events_logged(c->events, path));
    proxy_fail(c->proxy, PROXY_MULTI, NULL, 1, -6); /* ZUNIMPLEMENTED */
    CHECK_INT(guarded_set(c, path, "x", -1), ZKL_SERVER);
    CHECK(client_held(c));
    REQUIRE_INT(raw_restrict(fixture_raw(), path, 31), RAW_OK);
    CHECK_INT(guarded_set(c, path, "x", -1), ZKL_OK);
    target_check(path, "x", 1);
    client_close(c);
}

/* T45 */
static void a_chroot_stands_before_both_paths(void) {
    char hosts[256], chroot[64], target[128];

    (void)snprintf(chroot, sizeof(chroot), "%s-guard", fixture_root());
    (void)snprintf(hosts, sizeof(hosts), "%s%s", server_hosts(), chroot);
    (void)snprintf(target, sizeof(target), "%s/target", chroot);
    REQUIRE_INT(raw_make_path(fixture_raw(), target), RAW_OK);
    zkl_session *s = session_open_with(hosts, (zkl_session_options){.root = "/locks"});
    zkl_lock *l = lock_open(s, "in-chroot", NULL);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_guarded_set(l, "/target", "x", 1, 0), ZKL_OK);
    target_check(target, "x", 1);
    CHECK_INT(zkl_guarded_set(l, target, "x", 1, -1), ZKL_NO_NODE);
    lock_close(l);
    session_close(s);
    CHECK_INT(raw_delete_tree(fixture_raw(), chroot), RAW_OK);
}

struct inside {
    zkl_lock *lock;
    events *events;
    _Atomic(zkl_err) result;
};

static void write_inside(const zkl_event *event, void *arg) {
    struct inside *inside = arg;

    if (event->type == ZKL_EVENT_HELD)
        inside->result = zkl_guarded_set(event->lock, "/x", "x", 1, -1);
}

static void callbacks_and_children_do_not_write(void) {
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    struct inside inside = {.result = ACTOR_BUSY};
    zkl_lock *l = NULL;
    int status = 0;

    REQUIRE_INT(zkl_lock_open(&l, s, fresh_name("inside"),
                              &ZKL_LOCK_OPTIONS(.on_event = write_inside, .arg = &inside)),
                ZKL_OK);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    WAIT_UNTIL(inside.result != ACTOR_BUSY, SOON_MS);
    CHECK_INT(inside.result, ZKL_IN_CALLBACK);
    pid_t pid = fork();
    if (pid == 0)
        _exit((int)zkl_guarded_set(l, "/x", "x", 1, -1));
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == ZKL_FORKED);
    lock_close(l);
    session_close(s);
}

/* ---- Many ---- */

struct writer {
    zkl_lock *lock;
    zkl_session *session;
    const char *path;
    raw *reader;
    int done, unsure;
};

static zkl_err count_on(struct writer *w) {
    char text[32] = "";
    size_t len = sizeof(text) - 1;
    raw_stat stat = {0};
    zkl_err err = zkl_acquire(w->lock, 6 * SOON_MS);

    if (err != ZKL_OK)
        return err;
    if (raw_get(w->reader, w->path, text, &len, &stat) != RAW_OK)
        return ZKL_SERVER;
    (void)snprintf(text, sizeof(text), "%ld", strtol(text, NULL, 10) + 1);
    err = zkl_guarded_set(w->lock, w->path, text, strlen(text), w->done % 2 ? stat.version : -1);
    (void)zkl_release(w->lock); /* lost or not */
    return err;
}

static zkl_err count_all(void *arg) {
    struct writer *w = arg;

    while (w->done < WRITES_EACH) {
        const zkl_err err = count_on(w);

        if (err == ZKL_OK)
            w->done++;
        else if (err == ZKL_UNSURE)
            w->unsure++;
        else if (zkl_errclass(err) != ZKL_CLASS_RETRY && err != ZKL_LOST)
            return err;
    }
    return ZKL_OK;
}

/* Every increment that was OK is there once; one that was UNSURE may be. */
static void a_hundred_threads_lose_nothing_on_a_bad_line(void) {
    static struct writer writers[WRITERS];
    const char *name = fresh_name("crowd"), *path = target_new();
    proxy *p = proxy_new();
    zkl_session *sessions[SESSIONS];
    actor *actors[WRITERS];
    char text[32] = "";
    size_t len = sizeof(text) - 1, busy = WRITERS;
    int unsure = 0;

    REQUIRE_INT(raw_set(fixture_raw(), path, "0", 1), RAW_OK);
    for (size_t i = 0; i < SESSIONS; i++)
        sessions[i] = session_open(proxy_hosts(p), T_LONG, NULL);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.lock = lock_open(sessions[i % SESSIONS], name, NULL),
                                     .path = path,
                                     .reader = fixture_raw()};
        actors[i] = actor_new();
        actor_begin(actors[i], count_all, &writers[i]);
    }
    for (size_t ticks = 0; busy > 0; ticks++) {
        busy = 0;
        for (size_t i = 0; i < WRITERS; i++)
            busy += !actor_is_done(actors[i]);
        if (ticks % 64 == 63 && ticks / 64 < CUTS)
            proxy_drop(p);
        wait_pause();
    }
    for (size_t i = 0; i < WRITERS; i++) {
        CHECK_INT(actor_result(actors[i], 0), ZKL_OK);
        actor_free(actors[i]);
        lock_close(writers[i].lock);
        unsure += writers[i].unsure;
    }
    CHECK_INT(raw_get(fixture_raw(), path, text, &len, NULL), RAW_OK);
    long count = strtol(text, NULL, 10);
    CHECK_RANGE(count, WRITERS * WRITES_EACH, WRITERS * WRITES_EACH + unsure);
    test_note("%d writes, %ld counted, %d unsure, %zu connections", WRITERS * WRITES_EACH, count,
              unsure, proxy_connects(p));
    for (size_t i = 0; i < SESSIONS; i++)
        session_close(sessions[i]);
    proxy_close(p);
}

static const test_case Cases[] = {
    {"a write under a hold arrives", a_write_under_a_hold_arrives},
    {"a recursive hold guards on every level", a_recursive_hold_guards_on_every_level},
    {"a write is one request", a_write_is_one_request},
    {"only the thread that holds can write", only_the_holding_thread_writes},
    {"no write passes when the node of the hold was deleted",
     no_write_passes_when_the_node_was_deleted},
    {"a write that arrives after the hold changes nothing",
     a_write_that_arrives_after_the_hold_changes_nothing},
    {"a write under a hold known to be lost since is refused",
     a_write_under_a_hold_known_lost_since_is_refused},
    {"no write passes when the session has expired", no_write_passes_when_the_session_has_expired},
    {"without heartbeats a write ends with the hold",
     without_heartbeats_a_write_ends_with_the_hold},
    {"a lost hold does not write under the next one (T17)",
     a_lost_hold_does_not_write_under_the_next_one},
    {"paths and lengths are checked before anything is sent", paths_and_lengths_are_checked},
    {"a path too long for one packet is a limit", a_path_too_long_for_one_packet_is_a_limit},
    {"a refusal of the server is told, with a line of log (T45)",
     a_refusal_of_the_server_is_told_with_the_log},
    {"a chroot stands before both paths (T45)", a_chroot_stands_before_both_paths},
    {"callbacks and forked children do not write", callbacks_and_children_do_not_write},
    {"a hundred threads lose nothing on a bad line", a_hundred_threads_lose_nothing_on_a_bad_line},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "guard", Cases);
}
