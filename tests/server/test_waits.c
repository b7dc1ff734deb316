/*
 * A wait of each kind, and what may become of it: it goes on or ends as documented, whoever is next
 * in the queue is granted the lock, and nothing is left.
 */
#include "support/client.h"

#include <stdio.h>

typedef struct row {
    const char *waiter_name;
    zkl_kind holder, waiter, next;
    bool joins; /* without the waiter between them the next one holds beside the holder */
} row;

static const row Rows[] = {
    {"a mutex's", ZKL_MUTEX, ZKL_MUTEX, ZKL_MUTEX, false},
    {"a reader's", ZKL_WRITE, ZKL_READ, ZKL_WRITE, false},
    {"a writer's behind a writer", ZKL_WRITE, ZKL_WRITE, ZKL_READ, false},
    {"a writer's behind a reader", ZKL_READ, ZKL_WRITE, ZKL_READ, true},
    {"a permit's", ZKL_SEMAPHORE, ZKL_SEMAPHORE, ZKL_SEMAPHORE, false},
};

typedef struct stage {
    const row *row;
    char top[128], name[160]; /* the lock's directory is below another one */
    client *holder, *waiter, *next;
} stage;

/* The holder holds, nobody waits yet. */
static void stage_open(stage *s, const row *r) {
    *s = (stage){.row = r};
    (void)snprintf(s->top, sizeof(s->top), "%s", fresh_name("waits"));
    (void)snprintf(s->name, sizeof(s->name), "%s/of/a kind", s->top);
    s->holder = client_open_as(s->name, r->holder);
    s->waiter = client_open_as(s->name, r->waiter);
    s->next = client_open_as(s->name, r->next);
    REQUIRE_INT(client_acquire(s->holder, SOON_MS), ZKL_OK);
}

static void await_queued(client *c, size_t count) {
    WAIT_UNTIL(queue_length(c->name) == count, SOON_MS);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) > 0, SOON_MS);
    CHECK(!client_is_done(c));
}

static void queue_up_next(stage *s) {
    await_queued(s->waiter, 2);
    client_begin(s->next, ZKL_FOREVER);
    await_queued(s->next, 3);
}

static void queue_up(stage *s, int64_t timeout_ms) {
    client_begin(s->waiter, timeout_ms);
    queue_up_next(s);
}

static void stage_close(stage *s) {
    client_close(s->next);
    client_close(s->waiter);
    CHECK_INT(client_told(s->holder, ZKL_EVENT_REQUEUED), 0);
    client_close(s->holder);
    WAIT_UNTIL(queue_length(s->name) == 0, SOON_MS);
    if (server_is_ours())
        WAIT_UNTIL(server_number("wchs", "Total watches") == 0, SOON_MS);
}

/* The waiter has its place no more. */
static void check_next_is_granted(stage *s) {
    if (!s->row->joins) {
        CHECK(!client_is_done(s->next));
        CHECK_INT(client_release(s->holder), ZKL_OK);
    }
    CHECK_INT(client_result(s->next), ZKL_OK);
    CHECK(client_held(s->next));
    if (s->row->joins) {
        CHECK(client_held(s->holder));
        CHECK_INT(client_release_wait(s->holder), ZKL_OK);
    }
    CHECK_INT(client_told(s->next, ZKL_EVENT_REQUEUED), 0);
}

/* ---- It goes on ---- */

static void a_wait_goes_on_at_the_end_after_an_expiry(void) {
    for (size_t i = 0; i < COUNT(Rows); i++) {
        stage s;
        stage_open(&s, &Rows[i]);
        queue_up(&s, ZKL_FOREVER);

        session_expire(s.waiter->session);
        WAIT_UNTIL(client_told(s.waiter, ZKL_EVENT_REQUEUED) == 1, SOON_MS);
        WAIT_UNTIL(client_is_connected(s.waiter) && client_nodes(s.waiter) == 1, SOON_MS);
        CHECK_INT(queue_length(s.name), 3);
        check_next_is_granted(&s);
        CHECK(!client_is_done(s.waiter));
        CHECK_INT(client_release(s.next), ZKL_OK);
        CHECK_INT(client_result(s.waiter), ZKL_OK);
        CHECK(client_held(s.waiter) && client_nodes(s.waiter) == 1);
        CHECK_INT(client_told(s.waiter, ZKL_EVENT_LOST), 0);
        stage_close(&s);
    }
}

/* The request is lost, or the reply to what the server has done. */
static void a_wait_goes_on_though_its_create_was_lost(void) {
    static const proxy_action actions[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};
    char node[RAW_PATH_MAX], now[RAW_PATH_MAX];

    for (size_t i = 0; i < COUNT(actions) * COUNT(Rows); i++) {
        stage s;
        stage_open(&s, &Rows[i / COUNT(actions)]);
        proxy_rule(s.waiter->proxy, actions[i % COUNT(actions)], PROXY_CREATE, s.name, 1, false);
        client_begin(s.waiter, ZKL_FOREVER);
        WAIT_UNTIL(proxy_fired(s.waiter->proxy) && client_nodes(s.waiter) == 1, SOON_MS);
        client_node(s.waiter, node);
        queue_up_next(&s);

        CHECK_INT(client_release(s.holder), ZKL_OK);
        CHECK_INT(client_result(s.waiter), ZKL_OK);
        CHECK(client_held(s.waiter) && !client_is_done(s.next));
        actor_node_path(s.waiter->actor, s.waiter->lock, now, sizeof(now));
        CHECK_STRING(now, node); /* the one whose reply was lost, and its place */
        CHECK_INT(client_told(s.waiter, ZKL_EVENT_REQUEUED), 0);
        CHECK_INT(client_release(s.waiter), ZKL_OK);
        CHECK_INT(client_result(s.next), ZKL_OK);
        stage_close(&s);
    }
}

/* The nodes go from the last one on: else the first to wait would be granted the lock, and lose it.
 * All hear of it when everything is gone: what they made before that would be deleted, too. */
static void delete_all(stage *s) {
    client *const all[] = {s->next, s->waiter, s->holder};
    char node[RAW_PATH_MAX];

    for (size_t i = 0; i < COUNT(all); i++)
        proxy_hold(all[i]->proxy, PROXY_TO_CLIENT, true);
    for (size_t i = 0; i < COUNT(all); i++) {
        client_node(all[i], node);
        uproot(node);
    }
    REQUIRE_INT(raw_delete_tree(fixture_raw(), lock_dir(s->top)), RAW_OK);
    CHECK(!raw_exists(fixture_raw(), lock_dir(s->top)));
    for (size_t i = 0; i < COUNT(all); i++)
        proxy_hold(all[i]->proxy, PROXY_TO_CLIENT, false);
}

/* The holder is told. Those that wait come again, in any order. */
static void waits_go_on_without_the_directory_and_its_parents(void) {
    for (size_t i = 0; i < COUNT(Rows); i++) {
        stage s;
        stage_open(&s, &Rows[i]);
        queue_up(&s, ZKL_FOREVER);
        client *const waiters[] = {s.waiter, s.next};

        delete_all(&s);
        WAIT_UNTIL(client_told(s.holder, ZKL_EVENT_LOST) == 1, SOON_MS);
        CHECK_INT(client_release(s.holder), ZKL_LOST);
        WAIT_UNTIL(client_is_done(s.waiter) || client_is_done(s.next), SOON_MS);
        const size_t first = client_is_done(s.waiter) ? 0 : 1;
        for (size_t k = 0; k < COUNT(waiters); k++) {
            client *c = waiters[k == 0 ? first : 1 - first];
            CHECK_INT(client_result(c), ZKL_OK);
            WAIT_UNTIL(client_nodes(c) == 1 && queue_length(s.name) == 2 - k, SOON_MS);
            CHECK(k == 1 || !client_is_done(waiters[1 - first]));
            CHECK(client_held(c));
            CHECK_INT(client_told(c, ZKL_EVENT_REQUEUED), 1);
            CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
            CHECK_INT(client_release_wait(c), ZKL_OK);
        }
        stage_close(&s);
    }
}

/* ---- It ends ---- */

/* Later the handle acquires again, behind whoever was next. */
static void check_comes_again(stage *s) {
    CHECK_INT(client_acquire(s->waiter, 0), ZKL_BUSY);
    CHECK_INT(client_release_wait(s->next), ZKL_OK);
    CHECK_INT(client_acquire(s->waiter, SOON_MS), ZKL_OK);
    CHECK_INT(queue_length(s->name), 1);
}

static void a_canceled_wait_hands_its_place_on(void) {
    for (size_t i = 0; i < COUNT(Rows); i++) {
        stage s;
        stage_open(&s, &Rows[i]);
        queue_up(&s, ZKL_FOREVER);

        CHECK_INT(zkl_cancel(s.waiter->lock), ZKL_OK);
        CHECK_INT(client_result(s.waiter), ZKL_CANCELED);
        WAIT_UNTIL(queue_length(s.name) == 2, SOON_MS);
        check_next_is_granted(&s);
        check_comes_again(&s);
        stage_close(&s);
    }
}

#define PATIENCE_MS 1000

static void a_wait_whose_time_is_over_hands_its_place_on(void) {
    for (size_t i = 0; i < COUNT(Rows); i++) {
        stage s;
        stage_open(&s, &Rows[i]);
        queue_up(&s, PATIENCE_MS);

        CHECK_INT(client_result(s.waiter), ZKL_TIMEOUT);
        CHECK_RANGE(actor_took_ms(s.waiter->actor), PATIENCE_MS - 1, 2 * PATIENCE_MS);
        WAIT_UNTIL(queue_length(s.name) == 2, SOON_MS);
        check_next_is_granted(&s);
        check_comes_again(&s);
        stage_close(&s);
    }
}

static void a_wait_ends_with_its_handle(void) {
    for (size_t i = 0; i < COUNT(Rows); i++) {
        stage s;
        stage_open(&s, &Rows[i]);
        queue_up(&s, ZKL_FOREVER);

        client_close_lock(s.waiter);
        CHECK_INT(client_result(s.waiter), ZKL_CLOSED);
        WAIT_UNTIL(queue_length(s.name) == 2, SOON_MS);
        check_next_is_granted(&s);
        stage_close(&s);
    }
}

/* The node has gone when close returns. */
static void a_wait_ends_with_its_session(void) {
    for (size_t i = 0; i < COUNT(Rows); i++) {
        stage s;
        stage_open(&s, &Rows[i]);
        queue_up(&s, ZKL_FOREVER);

        session_close(s.waiter->session);
        s.waiter->session = NULL;
        CHECK_INT(queue_length(s.name), 2);
        CHECK_INT(client_result(s.waiter), ZKL_CLOSED);
        check_next_is_granted(&s);
        stage_close(&s);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a wait goes on at the end of the queue after an expiry",
         a_wait_goes_on_at_the_end_after_an_expiry},
        {"a wait goes on though its create was lost", a_wait_goes_on_though_its_create_was_lost},
        {"waits go on without the directory and its parents",
         waits_go_on_without_the_directory_and_its_parents},
        {"a canceled wait hands its place on", a_canceled_wait_hands_its_place_on},
        {"a wait whose time is over hands its place on",
         a_wait_whose_time_is_over_hands_its_place_on},
        {"a wait ends with its handle", a_wait_ends_with_its_handle},
        {"a wait ends with its session", a_wait_ends_with_its_session},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "waits", cases);
}
