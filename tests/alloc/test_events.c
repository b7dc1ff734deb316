/*
 * What happens to a session while memory is short: nothing of it goes untold, a hold is lost only
 * for a reason, and a wait goes on or ends with a clear error.
 */
#include "alloc/fail_each.h"

#include <limits.h>
#include <stdatomic.h>

#include "session/session_internal.h"

/* ---- Broken connections and ended sessions ---- */

static void break_a_holders_connection(void) {
    client *c = client_open_proxied("break", T_NORMAL);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    client_flap(c);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_SUSPENDED) == 1, SOON_MS);
    failing_disarm();
    check_holds(c);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    CHECK_INT(client_told(c, ZKL_EVENT_RESUMED), 1);
    client_close(c);
}

static void a_hold_outlasts_a_broken_connection_without_memory(void) {
    fail_each(break_a_holders_connection);
}

/* It was told, once. */
static void check_lost(client *c) {
    CHECK_INT(client_told(c, ZKL_EVENT_HELD), 1);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 1);
    CHECK(!client_held(c));
    CHECK_INT(client_release(c), ZKL_LOST);
}

/* The handle can be used again. */
static void finish_lost(client *c) {
    check_lost(c);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    check_holds(c);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_HELD) == 2, SOON_MS);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 1);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(queue_length(c->name), 0);
    client_close(c);
}

static void end_a_holders_session(void) {
    client *c = client_open("end", T_NORMAL);
    const credentials its = session_credentials(c->session);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    credentials_expire(&its);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) > 0, SOON_MS);
    WAIT_UNTIL(IsLasting || client_is_connected(c), SOON_MS);
    failing_disarm();
    finish_lost(c);
}

static void the_loss_of_a_hold_with_its_session_is_told_without_memory(void) {
    fail_each(end_a_holders_session);
}

static void silence_a_holder(void) {
    client *c = client_open_proxied("silence", T_SHORT);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    client_silence(c, true);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) > 0, SOON_MS);
    CHECK(!client_held(c));
    client_silence(c, false);
    failing_disarm();
    check_lost(c);
    client_close(c);
}

static void the_loss_of_a_hold_with_its_lease_is_told_without_memory(void) {
    fail_each(silence_a_holder);
}

/* Who is granted at once watches its node from the next heartbeat on, or from the first for which
 * there is memory. */
static void delete_a_holders_node(void) {
    client *c = client_open_proxied("delete", T_NORMAL);
    char own[RAW_PATH_MAX];

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, own);
    arm();
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, c->name) > 0 ||
                   (IsLasting && failing_failed() > 0),
               SOON_MS);
    if (proxy_answered(c->proxy, PROXY_GET, c->name) == 0)
        failing_disarm();
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, c->name) > 0, SOON_MS);
    uproot(own);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_LOST) > 0, SOON_MS);
    failing_disarm();
    finish_lost(c);
}

static void the_loss_of_a_hold_with_its_node_is_told_without_memory(void) {
    fail_each(delete_a_holders_node);
}

/* Ends a wait that something has happened to, behind a holder who leaves now. */
static void finish_wait(client *c, const char *holder) {
    if (client_is_done(c))
        CHECK_INT(client_result(c), ZKL_NOMEM); /* not OK: there is a holder */
    failing_disarm();
    uproot(holder);
    zkl_err err = client_result(c);
    check_nomem_or(err, ZKL_OK);
    WAIT_UNTIL(client_nodes(c) == (err == ZKL_OK), SOON_MS);
    if (err != ZKL_OK)
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    check_holds(c);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_HELD) == 1, SOON_MS);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(c);
}

static void break_a_waiters_connection(void) {
    client *c = client_open_proxied("break-wait", T_NORMAL);
    char holder[RAW_PATH_MAX];

    plant_contender(c->name, CURATOR, holder);
    queue_up(c);
    arm();
    client_flap(c);
    CHECK_INT(client_told(c, ZKL_EVENT_REQUEUED), 0);
    finish_wait(c, holder);
}

static void end_a_waiters_session(void) {
    client *c = client_open("end-wait", T_NORMAL);
    const credentials its = session_credentials(c->session);
    char holder[RAW_PATH_MAX];

    plant_contender(c->name, CURATOR, holder);
    queue_up(c);
    arm();
    credentials_expire(&its);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_REQUEUED) == 1, SOON_MS);
    WAIT_UNTIL((IsLasting && failing_failed() > 0) || client_is_done(c) ||
                   client_told(c, ZKL_EVENT_QUEUED) == 2,
               SOON_MS);
    finish_wait(c, holder);
}

static void delete_a_waiters_node(void) {
    client *c = client_open("delete-wait", T_LONG);
    char holder[RAW_PATH_MAX], own[RAW_PATH_MAX];

    plant_contender(c->name, CURATOR, holder);
    queue_up(c);
    client_node(c, own);
    arm();
    uproot(own);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_REQUEUED) == 1, SOON_MS);
    WAIT_UNTIL(client_is_done(c) || client_told(c, ZKL_EVENT_QUEUED) == 2, SOON_MS);
    finish_wait(c, holder);
}

/* The one before ours leaves, but not the one before that. */
static void change_the_predecessor(void) {
    client *c = client_open("change", T_NORMAL);
    char holder[RAW_PATH_MAX], middle[RAW_PATH_MAX];

    plant_contender(c->name, CURATOR, holder);
    plant_contender(c->name, CURATOR, middle);
    queue_up(c);
    arm();
    uproot(middle);
    WAIT_UNTIL(client_is_done(c) || client_told(c, ZKL_EVENT_QUEUED) == 2, SOON_MS);
    finish_wait(c, holder);
}

static void a_wait_goes_on_or_ends_clearly(void) {
    fail_each(break_a_waiters_connection);
    fail_each(end_a_waiters_session);
    fail_each(delete_a_waiters_node);
    fail_each(change_the_predecessor);
}

/* The reply to the create is lost, and what then stands there under our name twice goes: one node
 * is ours, the other is nobody's. */
static void find_a_twin(void) {
    const char *name = fresh_name("twin");
    dir_make(name);
    client *c = client_open_proxied(name, T_LONG);
    const credentials its = session_credentials(c->session);
    char own[RAW_PATH_MAX], twin[RAW_PATH_MAX];

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    events_forget(c->events);
    proxy_rule(c->proxy, PROXY_CUT_REPLY, PROXY_CREATE, c->name, 1, true);
    client_begin(c, SOON_MS);
    WAIT_UNTIL(proxy_fired(c->proxy) && queue_length(c->name) == 1, SOON_MS);
    client_node(c, own);
    (void)snprintf(twin, sizeof(twin), "%.*s0000000077", (int)(strlen(own) - 10), own);
    REQUIRE(raw_create_in(server_hosts(), its.id, its.password, twin));
    arm();
    client_outage_end(c);
    /* Without any memory at all there is no listing, and both nodes stay for now. */
    WAIT_UNTIL(client_is_done(c) || (IsLasting && failing_failed() > 0), SOON_MS);
    if (IsLasting)
        failing_disarm();
    WAIT_UNTIL(client_is_done(c) && !raw_exists(fixture_raw(), twin), SOON_MS);
    check_nomem_or(client_result(c), ZKL_OK);
    WAIT_UNTIL(queue_length(c->name) == (client_result(c) == ZKL_OK), SOON_MS);
    failing_disarm();
    client_close(c);
}

static void a_node_of_ours_that_nobody_knows_is_deleted_without_memory(void) {
    fail_each(find_a_twin);
}

/* ---- The line of callbacks ---- */

/* What was told by a callback that can be held up. */
static struct line {
    atomic_bool is_entered, may_go_on;
    atomic_size_t count;
    zkl_event told[4096];
} Line;

static void on_line(const zkl_event *event, void *arg) {
    (void)arg;
    atomic_store(&Line.is_entered, true);
    while (!atomic_load(&Line.may_go_on))
        wait_pause();
    if (atomic_load(&Line.count) < sizeof(Line.told) / sizeof(Line.told[0])) {
        Line.told[atomic_load(&Line.count)] = *event;
        atomic_fetch_add(&Line.count, 1);
    }
}

/* What was posted, in order. */
struct posted {
    zkl_event_type type;
    int64_t of; /* the acquire; 0: the session's */
    zkl_hold hold;
    size_t position;
    bool is_new_session;
};

enum {
    ACQUIRES = 3,
    POSTS = 60,
    ROUNDS = 200
};

static uint32_t Seed = 1;

static uint32_t draw(uint32_t below) {
    Seed = Seed * 1664525u + 1013904223u;
    return (Seed >> 8) % below;
}

/* The next event in the life of an acquire: 0, it waits; 1, it holds; then it is over, or waits
 * again, if the grant was lost before its caller knew of it. */
static zkl_event_type next_of(unsigned *stage) {
    const uint32_t chance = draw(8);

    if (*stage == 0 && chance < 3)
        return ZKL_EVENT_QUEUED;
    if (*stage == 0 && chance < 5)
        return ZKL_EVENT_REQUEUED;
    if (*stage == 0) {
        *stage = 1;
        return ZKL_EVENT_HELD;
    }
    *stage = chance < 7 ? 0 : 2;
    return ZKL_EVENT_LOST;
}

static _Atomic unsigned CompletionsTaken, CompletionsTold;

static void take_completion(struct zkli_completion *c) {
    (void)c;
    atomic_fetch_add(&CompletionsTaken, 1);
}

static void tell_completion(struct zkli_completion *c) {
    (void)c;
    atomic_fetch_add(&CompletionsTold, 1);
}

/* Posts what a session with a few acquires may come to tell, and one completion among these; of 8
 * allocations so many fail. */
static void post_all(zkl_session *s, struct zkli_event_callback *of_session,
                     struct zkli_events *const *acquires, struct zkli_completion *completion,
                     struct posted *posted, uint32_t failing_of_8) {
    unsigned stages[ACQUIRES] = {0};
    zkl_hold holds[ACQUIRES] = {0};
    bool is_connected = true;

    for (size_t i = 0; i < POSTS; i++) {
        const size_t of = draw(ACQUIRES + 1);
        zkl_event event = {.size = sizeof(event), .position = i};

        failing_arm(FAILING_OWN, draw(8) < failing_of_8, true);
        if (of == ACQUIRES || stages[of] == 2) {
            event.type = is_connected ? ZKL_EVENT_SUSPENDED : ZKL_EVENT_RESUMED;
            event.is_new_session = !is_connected && i % 3 == 0;
            is_connected = !is_connected;
            zkli_callback_post(s, of_session, &event);
        } else {
            event.type = next_of(&stages[of]);
            event.token = (int64_t)of + 1;
            if (event.type == ZKL_EVENT_HELD)
                holds[of]++;
            if (event.type == ZKL_EVENT_HELD || event.type == ZKL_EVENT_LOST)
                event.hold = holds[of];
            zkli_events_post(s, acquires[of], &event);
        }
        failing_disarm();
        posted[i] = (struct posted){event.type, event.token, event.hold, event.position,
                                    event.is_new_session};
        if (i == POSTS / 2)
            zkli_completion_post(s, completion);
        if (s->callbacks_fd >= 0)
            (void)zkli_callbacks_dispatch(s, (int)draw(3));
    }
}

static size_t next_of_its(const struct posted *posted, size_t from, int64_t of) {
    while (from < POSTS && posted[from].of != of)
        from++;
    return from;
}

/* Whether the acquire went on after this grant, so that its caller never knew of that. */
static bool was_taken_back(const struct posted *posted, size_t at) {
    for (size_t i = at + 1; i < POSTS; i++)
        if (posted[i].of == posted[at].of && posted[i].hold != posted[at].hold)
            return true;
    return false;
}

static bool was_told(const struct posted *one) {
    for (size_t i = 1; i < atomic_load(&Line.count); i++)
        if (Line.told[i].token == one->of && Line.told[i].type == one->type &&
            Line.told[i].hold == one->hold)
            return true;
    return false;
}

/* Whether a grant was not told, though it and its loss might have been. */
static bool may_be_left_out(const struct posted *posted, size_t at) {
    struct posted other = posted[at];

    if (other.hold == 0 || other.of == 0 || !was_taken_back(posted, at))
        return false;
    other.type = other.type == ZKL_EVENT_HELD ? ZKL_EVENT_LOST : ZKL_EVENT_HELD;
    return !was_told(&posted[at]) && !was_told(&other);
}

/* It was given up, or a newer one was told. */
static bool is_older_place(const struct posted *posted, size_t at, const zkl_event *told) {
    size_t next = at;

    if (posted[at].type != ZKL_EVENT_QUEUED ||
        (told->type == ZKL_EVENT_QUEUED && told->position == posted[at].position))
        return false;
    do
        next = next_of_its(posted, next + 1, posted[at].of);
    while (next < POSTS && posted[next].hold != 0);
    return next < POSTS;
}

/* What was told of one acquire, or of the session, is what was posted of it, in that order, but for
 * places in the queue that were given up or followed by newer ones, and for grants that no caller
 * has known. */
static bool is_whole(const struct posted *posted, int64_t of) {
    size_t at = next_of_its(posted, 0, of);

    for (size_t i = 1; i < atomic_load(&Line.count); i++) {
        const zkl_event *told = &Line.told[i];

        if (told->token != of)
            continue;
        while (at < POSTS && (is_older_place(posted, at, told) || may_be_left_out(posted, at)))
            at = next_of_its(posted, at + 1, of);
        if (at == POSTS || told->type != posted[at].type || told->hold != posted[at].hold)
            return false;
        if (posted[at].is_new_session && !told->is_new_session)
            return false; /* the other way round is allowed */
        if (told->is_new_session && told->type != ZKL_EVENT_RESUMED)
            return false;
        at = next_of_its(posted, at + 1, of);
    }
    while (at < POSTS && may_be_left_out(posted, at))
        at = next_of_its(posted, at + 1, of);
    return at == POSTS;
}

static bool is_idle(zkl_session *s) {
    zkli_session_lock(s);
    bool idle = zkli_list_is_empty(&s->callbacks) && s->callback_owner == NULL;
    zkli_session_unlock(s);
    return idle;
}

/* One round: what is posted while a callback takes long, or a few are called by hand, and memory
 * comes and goes. */
static void check_line(zkl_session *s, uint32_t failing_of_8) {
    const bool is_by_hand = s->callbacks_fd >= 0;
    struct zkli_event_callback of_session;
    struct zkli_events *acquires[ACQUIRES];
    struct zkli_completion completion;
    struct posted posted[POSTS];
    const zkl_event first = {.type = ZKL_EVENT_RESUMED};

    atomic_store(&Line.count, 0);
    atomic_store(&Line.is_entered, is_by_hand);
    atomic_store(&Line.may_go_on, is_by_hand);
    atomic_store(&CompletionsTaken, 0);
    atomic_store(&CompletionsTold, 0);
    zkli_callback_init(&of_session, on_line, NULL, s);
    zkli_completion_init(&completion, s, take_completion, tell_completion);
    for (size_t i = 0; i < ACQUIRES; i++)
        REQUIRE((acquires[i] = zkli_events_new(on_line, NULL, s, NULL)) != NULL);
    zkli_session_lock(s);
    zkli_callback_post(s, &of_session, &first);
    zkli_session_unlock(s);
    WAIT_UNTIL(atomic_load(&Line.is_entered), SOON_MS);
    zkli_session_lock(s);
    post_all(s, &of_session, acquires, &completion, posted, failing_of_8);
    for (size_t i = 0; i < ACQUIRES; i++)
        zkli_events_release(acquires[i]); /* an acquire may be over before its events are told */
    zkli_session_unlock(s);
    atomic_store(&Line.may_go_on, true);
    (void)zkl_session_dispatch(s, INT_MAX); /* nothing, if there is a thread */
    WAIT_UNTIL(is_idle(s), SOON_MS);
    CHECK_INT(atomic_load(&CompletionsTaken), 1);
    CHECK_INT(atomic_load(&CompletionsTold), 1);
    for (int64_t of = 0; of <= ACQUIRES; of++)
        CHECK(is_whole(posted, of));
    for (size_t i = 0; failing_of_8 == 0 && i < POSTS; i++) {
        CHECK_INT(Line.told[i + 1].position, posted[i].position);
        CHECK(Line.told[i + 1].is_new_session == posted[i].is_new_session);
    }
}

static void check_lines(bool is_by_hand) {
    const size_t live = failing_live(FAILING_OWN);
    zkl_session *s = session_open_with(
        server_hosts(),
        ZKL_SESSION_OPTIONS(.session_timeout_ms = T_LONG, .manual_dispatch = is_by_hand));

    zkli_session_lock(s);
    CHECK(zkli_callbacks_start(s));
    zkli_session_unlock(s);
    for (uint32_t round = 0; round < ROUNDS; round++)
        check_line(s, round % 9);
    session_close(s);
    WAIT_UNTIL(failing_live(FAILING_OWN) <= live, SOON_MS);
}

static void no_event_is_lost_for_want_of_memory(void) {
    check_lines(false);
}

static void nor_where_some_are_called_meanwhile(void) {
    check_lines(true);
}

static const test_case Cases[] = {
    {"a hold outlasts a broken connection, without memory, too",
     a_hold_outlasts_a_broken_connection_without_memory},
    {"the loss of a hold with its session is told, without memory, too",
     the_loss_of_a_hold_with_its_session_is_told_without_memory},
    {"the loss of a hold with its lease is told, without memory, too",
     the_loss_of_a_hold_with_its_lease_is_told_without_memory},
    {"the loss of a hold with its node is told, without memory, too",
     the_loss_of_a_hold_with_its_node_is_told_without_memory},
    {"a wait goes on or ends for want of memory, and what befell it is told",
     a_wait_goes_on_or_ends_clearly},
    {"a node of ours that nobody knows is deleted, without memory, too",
     a_node_of_ours_that_nobody_knows_is_deleted_without_memory},
    {"no event is lost for want of memory", no_event_is_lost_for_want_of_memory},
    {"nor where some are called meanwhile", nor_where_some_are_called_meanwhile},
};

int main(int argc, char **argv) {
    return fail_each_main(argc, argv, "events", Cases, sizeof(Cases) / sizeof(Cases[0]));
}
