/* Several locks at once: how they wait, in the queues on the server and in the lines of this
 * process, and how a wait ends that is given up. */
#include "support/client.h"
#include "support/party.h"

#define SEVERAL 3

static const char *const *fresh_names(void) {
    static const char *names[SEVERAL];

    for (size_t i = 0; i < SEVERAL; i++)
        names[i] = fresh_name("waits");
    return names;
}

static party *open_mutexes(const char *const *names) {
    party *p = party_open_proxied(T_NORMAL);

    party_add_mutexes(p, names, SEVERAL);
    return p;
}

/* Somebody holds the lock in this place, and the party's nodes stand in the queues. */
static client *begin_behind(party *p, size_t i) {
    client *holder = client_open(p->names[i], T_NORMAL);

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    party_queue_up_behind(p, i);
    return holder;
}

/* All have their nodes, and those that can be are admitted: they watch their own. */
static client *begin_admitted_behind(party *p, size_t i) {
    client *holder = begin_behind(p, i);

    for (size_t k = 0; k < SEVERAL; k++) {
        char path[RAW_PATH_MAX];

        party_node(p, k, path);
        WAIT_UNTIL(proxy_answered(p->proxy, PROXY_GET, path) >= 1, SOON_MS);
    }
    return holder;
}

/* ---- An operator ---- */

/*
 * Others stand behind the party in each queue. A node of the party's is deleted, the one that waits
 * or one that is admitted. Then the party stands behind the others, everywhere.
 */
static void check_made_anew(size_t deleted, size_t waited_for) {
    party *p = open_mutexes(fresh_names());
    client *holder = begin_admitted_behind(p, waited_for), *others[SEVERAL];
    char old[SEVERAL][RAW_PATH_MAX];
    int64_t newest = 0;

    for (size_t i = 0; i < SEVERAL; i++) {
        others[i] = client_open(p->names[i], T_NORMAL);
        client_queue_up(others[i], i == waited_for ? 3 : 2);
        WAIT_UNTIL(client_told(others[i], ZKL_EVENT_QUEUED) == 1, SOON_MS);
        party_node(p, i, old[i]);
    }
    CHECK_INT(party_told(p, ZKL_EVENT_REQUEUED), 0);
    uproot(old[deleted]);
    WAIT_UNTIL(party_told(p, ZKL_EVENT_REQUEUED) == SEVERAL, SOON_MS);
    CHECK_INT(client_release(holder), ZKL_OK);
    for (size_t i = 0; i < SEVERAL; i++) {
        CHECK_INT(client_result(others[i]), ZKL_OK);
        newest = client_token(others[i]) > newest ? client_token(others[i]) : newest;
    }
    WAIT_UNTIL(party_nodes(p) == SEVERAL, SOON_MS);
    for (size_t i = 0; i < SEVERAL; i++) {
        CHECK(!raw_exists(fixture_raw(), old[i]));
        CHECK(!actor_is_done(p->actor));
        CHECK_INT(client_release(others[i]), ZKL_OK);
    }
    CHECK_INT(party_result(p), ZKL_OK);
    CHECK(party_check_holds(p) > newest);
    CHECK_INT(party_told(p, ZKL_EVENT_REQUEUED), SEVERAL);
    CHECK_INT(party_told(p, ZKL_EVENT_LOST), 0);
    CHECK_INT(party_release(p), ZKL_OK);
    party_check_deserted(p);
    for (size_t i = 0; i < SEVERAL; i++)
        client_close(others[i]);
    client_close(holder);
    party_close(p);
}

static void if_the_node_that_waits_is_deleted_all_are_made_anew(void) {
    for (size_t i = 0; i < SEVERAL; i++)
        check_made_anew(i, i);
}

static void if_one_that_is_admitted_is_deleted_all_are_made_anew(void) {
    for (size_t i = 0; i < SEVERAL; i++)
        check_made_anew((i + 1) % SEVERAL, i);
}

/* Two parties that wait for each other's place: whose node is deleted stands behind the other, in
 * every queue, however often that happens. */
static void the_order_is_the_same_in_all_queues(void) {
    const char *const *names = fresh_names();
    party *parties[] = {open_mutexes(names), party_open_proxied(T_NORMAL)};

    for (size_t i = SEVERAL; i-- > 0;)
        party_add(parties[1], names[i], ZKL_MUTEX, 0);
    client *holder = begin_admitted_behind(parties[0], 1);
    party_begin(parties[1], ZKL_FOREVER);
    WAIT_UNTIL(party_nodes(parties[1]) == SEVERAL, SOON_MS);
    for (size_t turn = 0; turn < 6; turn++) {
        party *p = parties[turn % 2], *other = parties[(turn + 1) % 2];
        char path[RAW_PATH_MAX];

        party_node(p, turn % SEVERAL, path);
        uproot(path);
        WAIT_UNTIL(party_told(p, ZKL_EVENT_REQUEUED) >= (turn / 2 + 1) * SEVERAL, SOON_MS);
        WAIT_UNTIL(party_nodes(p) == SEVERAL, SOON_MS);
        for (size_t i = 0; i < SEVERAL; i++) {
            const bool is_held = i == 1;
            char last[RAW_PATH_MAX], own[RAW_PATH_MAX];

            party_node(p, p == parties[1] ? SEVERAL - 1 - i : i, own);
            CHECK(raw_child_path(fixture_raw(), lock_dir(names[i]), is_held ? 2 : 1, last));
            CHECK_STRING(last, own);
        }
        CHECK(!actor_is_done(p->actor) && !actor_is_done(other->actor));
    }
    CHECK_INT(client_release(holder), ZKL_OK);
    for (size_t i = 0; i < 2; i++) {
        CHECK_INT(party_result(parties[i]), ZKL_OK);
        (void)party_check_holds(parties[i]);
        CHECK_INT(party_release(parties[i]), ZKL_OK);
    }
    client_close(holder);
    party_close(parties[0]);
    party_close(parties[1]);
}

/* ---- Waits that are given up ---- */

static zkl_err timed_out(party *p) {
    (void)p;
    return ZKL_TIMEOUT;
}

static zkl_err canceled(party *p) {
    CHECK_INT(zkl_cancel(p->locks[1]), ZKL_OK);
    return ZKL_CANCELED;
}

static zkl_err handle_closed(party *p) {
    lock_close(p->locks[1]);
    p->locks[1] = NULL;
    return ZKL_CLOSED;
}

static zkl_err session_closed(party *p) {
    session_close(p->session);
    p->session = NULL;
    return ZKL_CLOSED;
}

/* In the queues, behind a holder in one of them; the handles that are left can be used again. */
static void check_given_up(zkl_err (*give_up)(party *p), size_t waited_for) {
    party *p = open_mutexes(fresh_names());
    client *holder = client_open(p->names[waited_for], T_NORMAL);

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    party_begin(p, give_up == timed_out ? 300 : ZKL_FOREVER);
    if (give_up != timed_out) {
        WAIT_UNTIL(events_count(p->events[waited_for], ZKL_EVENT_QUEUED) == 1, SOON_MS);
        CHECK_INT(party_nodes(p), SEVERAL);
    }
    const zkl_err expected = give_up(p);
    CHECK_INT(party_result(p), expected);
    for (size_t i = 0; i < SEVERAL; i++)
        WAIT_UNTIL(queue_length(p->names[i]) == (i == waited_for), SOON_MS);
    CHECK_INT(client_release(holder), ZKL_OK);
    if (p->session != NULL && p->locks[1] != NULL) {
        CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
        (void)party_check_holds(p);
        CHECK_INT(party_release(p), ZKL_OK);
    } else {
        CHECK_INT(party_acquire(p, 0), p->session == NULL ? ZKL_CLOSED : ZKL_INVALID);
        CHECK_INT(party_release(p), p->session == NULL ? ZKL_CLOSED : ZKL_INVALID);
    }
    client_close(holder);
    if (p->session == NULL)
        for (size_t i = 0; i < SEVERAL; i++)
            CHECK_INT(zkl_lock_close(p->locks[i]), ZKL_OK);
    for (size_t i = 0; i < SEVERAL && p->session == NULL; i++)
        p->locks[i] = NULL;
    party_close(p);
}

static void check_given_up_each(zkl_err (*give_up)(party *p)) {
    for (size_t i = 0; i < SEVERAL; i++)
        check_given_up(give_up, i);
}

static void one_that_times_out_leaves_no_node(void) {
    check_given_up_each(timed_out);
}

static void one_that_is_canceled_by_one_handle_leaves_no_node(void) {
    check_given_up_each(canceled);
}

static void one_whose_handle_is_closed_leaves_no_node(void) {
    check_given_up_each(handle_closed);
}

static void one_whose_session_is_closed_leaves_no_node(void) {
    check_given_up_each(session_closed);
}

/* It waits for a thread of this process, and has no node yet. */
static void one_in_line_is_given_up_likewise(void) {
    party *p = open_mutexes(fresh_names());
    actor *second = actor_new();

    for (size_t i = 0; i < SEVERAL; i++) {
        actor_acquire(second, p->locks[i], SOON_MS);
        REQUIRE_INT(actor_result(second, SOON_MS), ZKL_OK);
        CHECK_INT(party_acquire(p, 0), ZKL_BUSY);
        CHECK_INT(party_acquire(p, 50), ZKL_TIMEOUT);
        for (size_t k = 0; k < SEVERAL; k++) {
            party_begin(p, ZKL_FOREVER);
            WAIT_UNTIL(actor_is_blocked(p->actor), SOON_MS);
            CHECK_INT(zkl_cancel(p->locks[k]), ZKL_OK);
            CHECK_INT(party_result(p), ZKL_CANCELED);
        }
        CHECK_INT(party_nodes(p), 1);
        CHECK(actor_held(second, p->locks[i]));
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(actor_is_blocked(p->actor), SOON_MS);
        CHECK_INT(actor_release(second, p->locks[i]), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_OK);
        (void)party_check_holds(p);
        CHECK_INT(party_release(p), ZKL_OK);
        party_check_deserted(p);
    }
    actor_free(second);
    party_close(p);
}

/* ---- Threads of one process ---- */

enum {
    THREADS = 8,
    ROUNDS = 60
};

typedef struct user {
    all_call call;
    zkl_lock *locks[SEVERAL];
    int *counters; /* of each lock, in the order of the party's; only the locks guard them */
    zkl_lock *const *all;
} user;

static void count_up(const user *u) {
    for (size_t i = 0; i < u->call.count; i++)
        for (size_t k = 0; k < SEVERAL; k++)
            if (u->locks[i] == u->all[k])
                u->counters[k]++;
}

static zkl_err use(void *arg) {
    user *u = arg;

    for (int i = 0; i < ROUNDS; i++) {
        zkl_err err = all_acquire(&u->call);
        if (err != ZKL_OK)
            return err;
        count_up(u);
        err = all_release(&u->call);
        if (err != ZKL_OK)
            return err;
    }
    return ZKL_OK;
}

static user user_of(party *p, int *counters, size_t count, size_t first, bool is_backwards) {
    user u = {.counters = counters, .all = p->locks};

    for (size_t i = 0; i < count; i++)
        u.locks[i] = p->locks[(first + (is_backwards ? SEVERAL - i : i)) % SEVERAL];
    u.call = (all_call){.count = count, .timeout_ms = 3 * SOON_MS};
    return u;
}

/* All three forwards and backwards, two of them, one of them. So one that stands first in a line
 * may have to wait in another, while locks behind it are free. */
static void threads_share_handles_in_any_order(void) {
    party *p = open_mutexes(fresh_names());
    int counters[SEVERAL] = {0};
    user users[THREADS] = {
        user_of(p, counters, SEVERAL, 0, false), user_of(p, counters, SEVERAL, 2, true),
        user_of(p, counters, 2, 0, false),       user_of(p, counters, 2, 1, false),
        user_of(p, counters, 2, 2, false),       user_of(p, counters, 1, 0, false),
        user_of(p, counters, 1, 1, false),       user_of(p, counters, 1, 2, false),
    };
    actor *actors[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        users[i].call.locks = users[i].locks;
        actors[i] = actor_new();
        actor_begin(actors[i], use, &users[i]);
    }
    for (size_t i = 0; i < THREADS; i++)
        CHECK_INT(actor_result(actors[i], 3 * SOON_MS), ZKL_OK);
    for (size_t i = 0; i < SEVERAL; i++)
        CHECK_INT(counters[i], 5 * ROUNDS);
    party_check_deserted(p);
    CHECK_INT(party_told(p, ZKL_EVENT_LOST) + party_told(p, ZKL_EVENT_REQUEUED), 0);
    for (size_t i = 0; i < THREADS; i++)
        actor_free(actors[i]);
    party_close(p);
}

/* Who comes to one handle later waits behind it, though that lock is free. */
static void they_keep_their_places_in_line(void) {
    party *p = open_mutexes(fresh_names());
    actor *second = actor_new(), *third = actor_new();

    actor_acquire(second, p->locks[2], SOON_MS);
    REQUIRE_INT(actor_result(second, SOON_MS), ZKL_OK);
    party_begin(p, ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(p->actor), SOON_MS);
    actor_acquire(third, p->locks[0], ZKL_FOREVER);
    CHECK_STAYS(!actor_is_done(third), 100);
    CHECK_INT(queue_length(p->names[0]), 0);
    CHECK_INT(actor_release(second, p->locks[2]), ZKL_OK);
    CHECK_INT(party_result(p), ZKL_OK);
    (void)party_check_holds(p);
    CHECK(!actor_is_done(third));
    CHECK_INT(party_release(p), ZKL_OK);
    CHECK_INT(actor_result(third, SOON_MS), ZKL_OK);
    CHECK_INT(actor_release(third, p->locks[0]), ZKL_OK);
    actor_free(third);
    actor_free(second);
    party_close(p);
}

/* Who stood behind them is served when they go. */
static void those_behind_go_on_without_them(void) {
    party *p = open_mutexes(fresh_names());
    actor *second = actor_new(), *third = actor_new();

    for (size_t i = 0; i < SEVERAL; i++) {
        zkl_lock *behind = p->locks[(i + 1) % SEVERAL];

        actor_acquire(second, p->locks[i], SOON_MS);
        REQUIRE_INT(actor_result(second, SOON_MS), ZKL_OK);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(actor_is_blocked(p->actor), SOON_MS);
        actor_acquire(third, behind, ZKL_FOREVER);
        WAIT_UNTIL(actor_is_blocked(third), SOON_MS);
        CHECK_INT(queue_length(p->names[(i + 1) % SEVERAL]), 0);
        CHECK_INT(zkl_cancel(p->locks[i]), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_CANCELED);
        CHECK_INT(actor_result(third, SOON_MS), ZKL_OK);
        CHECK_INT(actor_release(third, behind), ZKL_OK);
        CHECK_INT(actor_release(second, p->locks[i]), ZKL_OK);
        party_check_deserted(p);
    }
    actor_free(third);
    actor_free(second);
    party_close(p);
}

/* ---- A handle whose node may stay, or may be handed on ---- */

/* The one in this place. */
static party *open_with(size_t i, zkl_lock_options options) {
    party *p = party_open_proxied(T_NORMAL);

    options.size = sizeof(options);
    party_add_mutexes(p, fresh_names(), SEVERAL);
    lock_close(p->locks[i]);
    options.on_event = events_on;
    options.arg = p->events[i];
    REQUIRE_INT(zkl_lock_open(&p->locks[i], p->session, p->names[i], &options), ZKL_OK);
    return p;
}

/* The path of the node that stays. */
static void become_idle(party *p, size_t i, char *ret_path) {
    actor_acquire(p->actor, p->locks[i], SOON_MS);
    CHECK_INT(actor_result(p->actor, SOON_MS), ZKL_OK);
    CHECK_INT(actor_release(p->actor, p->locks[i]), ZKL_OK);
    party_node(p, i, ret_path);
}

static void an_idle_node_goes_first(void) {
    for (size_t i = 0; i < SEVERAL; i++) {
        party *p = open_with(i, (zkl_lock_options){.linger_ms = 60000});

        for (int turn = 0; turn < 4; turn++) {
            char idle[RAW_PATH_MAX];

            become_idle(p, i, idle);
            CHECK_INT(party_acquire(p, turn % 2 == 0 ? SOON_MS : 0), ZKL_OK);
            (void)party_check_holds(p);
            CHECK(!raw_exists(fixture_raw(), idle));
            CHECK_INT(party_release(p), ZKL_OK);
            party_check_deserted(p); /* these do not linger */
        }
        party_close(p);
    }
}

/* It goes although they have to wait elsewhere. */
static void an_idle_node_is_in_nobody_s_way(void) {
    for (size_t i = 0; i < SEVERAL; i++) {
        party *p = open_with(i, (zkl_lock_options){.linger_ms = 60000});
        client *holder = client_open(p->names[(i + 1) % SEVERAL], T_NORMAL);
        client *other = client_open(p->names[i], T_NORMAL);
        char idle[RAW_PATH_MAX];

        become_idle(p, i, idle);
        CHECK_INT(client_acquire(holder, SOON_MS), ZKL_OK);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(!raw_exists(fixture_raw(), idle) && party_nodes(p) == SEVERAL, SOON_MS);
        client_queue_up(other, 2);
        CHECK_INT(client_release(holder), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_OK);
        (void)party_check_holds(p);
        CHECK_INT(party_release(p), ZKL_OK);
        CHECK_INT(client_result(other), ZKL_OK);
        client_close(other);
        client_close(holder);
        party_close(p);
    }
}

/* To a single one behind them, but not to them: their nodes are made together. */
static void a_node_is_not_handed_on_to_them(void) {
    party *p = open_with(1, (zkl_lock_options){.local_handoffs = 5});
    actor *second = actor_new();

    for (int turn = 0; turn < 3; turn++) {
        actor_acquire(second, p->locks[1], SOON_MS);
        CHECK_INT(actor_result(second, SOON_MS), ZKL_OK);
        const int64_t before = actor_token(second, p->locks[1]);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(actor_is_blocked(p->actor), SOON_MS);
        CHECK_INT(actor_release(second, p->locks[1]), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_OK);
        const int64_t token = party_check_holds(p);
        CHECK(token > before);
        actor_acquire(second, p->locks[1], SOON_MS);
        WAIT_UNTIL(actor_is_blocked(second), SOON_MS);
        CHECK_INT(party_release(p), ZKL_OK);
        CHECK_INT(actor_result(second, SOON_MS), ZKL_OK);
        CHECK_INT(actor_token(second, p->locks[1]), token);
        CHECK_INT(actor_release(second, p->locks[1]), ZKL_OK);
        party_check_deserted(p);
    }
    actor_free(second);
    party_close(p);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"if the node that waits is deleted, all are made anew",
         if_the_node_that_waits_is_deleted_all_are_made_anew},
        {"if one that is admitted is deleted, all are made anew",
         if_one_that_is_admitted_is_deleted_all_are_made_anew},
        {"the order is the same in all queues", the_order_is_the_same_in_all_queues},
        {"one that times out leaves no node", one_that_times_out_leaves_no_node},
        {"one that is canceled by one handle leaves no node",
         one_that_is_canceled_by_one_handle_leaves_no_node},
        {"one whose handle is closed leaves no node", one_whose_handle_is_closed_leaves_no_node},
        {"one whose session is closed leaves no node", one_whose_session_is_closed_leaves_no_node},
        {"one in line is given up likewise", one_in_line_is_given_up_likewise},
        {"threads share handles in any order", threads_share_handles_in_any_order},
        {"they keep their places in line", they_keep_their_places_in_line},
        {"those behind go on without them", those_behind_go_on_without_them},
        {"an idle node goes first", an_idle_node_goes_first},
        {"an idle node is in nobody's way", an_idle_node_is_in_nobody_s_way},
        {"a node is not handed on to them, but by them", a_node_is_not_handed_on_to_them},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "several_waits", cases);
}
