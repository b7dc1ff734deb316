/* The everyday calls on a lock: acquire, release, and what a hold says of itself. */
#include "support/client.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void a_free_lock_is_acquired_held_and_released(void) {
    const char *name = fresh_name("free");
    events *e = events_new();
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    zkl_lock *l = lock_open(s, name, e);
    char path[1024] = "";
    zkl_event told = {0};
    raw_stat stat = {0};

    CHECK(!zkl_held(l));
    REQUIRE_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    CHECK(zkl_held(l));
    CHECK_RANGE(zkl_remaining_ms(l), 1, zkl_session_timeout_ms(s));
    zkl_hold hold = zkl_hold_of(l);
    CHECK(hold != 0);
    CHECK(zkl_hold_valid(l, hold));
    REQUIRE_INT(zkl_node_path(l, path, sizeof(path)), ZKL_OK);
    CHECK(strncmp(path, lock_dir(name), strlen(lock_dir(name))) == 0);
    CHECK(raw_stat_of(fixture_raw(), path, &stat));
    CHECK(stat.owner == zkl_session_id(s));
    CHECK_INT(zkl_token(l), stat.czxid);
    WAIT_UNTIL(events_get(e, ZKL_EVENT_HELD, 0, &told, NULL), SOON_MS);
    CHECK(told.hold == hold && told.token == stat.czxid && told.lock == l && told.session == s);

    CHECK_INT(zkl_release_wait(l, SOON_MS), ZKL_OK);
    CHECK(!raw_exists(fixture_raw(), path));
    CHECK(!zkl_held(l));
    CHECK(!zkl_hold_valid(l, hold));
    CHECK_INT(zkl_token(l), 0);
    CHECK_INT(zkl_remaining_ms(l), 0);
    CHECK(zkl_hold_of(l) == 0);
    CHECK_INT(zkl_node_path(l, path, sizeof(path)), ZKL_NOT_HELD);
    lock_close(l);
    session_close(s);
    CHECK_INT(events_count(e, ZKL_EVENT_LOST), 0);
    events_free(e);
}

/* Whether the name is "_c_<8-4-4-4-12 hex digits>-lock-<ten digits>". */
static bool is_curators(const char *name) {
    static const char pattern[] = "_c_hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh-lock-dddddddddd";

    if (strlen(name) != sizeof(pattern) - 1)
        return false;
    for (size_t i = 0; name[i]; i++) {
        const char *digits = pattern[i] == 'h'                                ? "0123456789abcdef"
                             : pattern[i] == 'd' && i >= sizeof(pattern) - 11 ? "0123456789"
                                                                              : NULL;

        if (digits ? !strchr(digits, name[i]) : name[i] != pattern[i])
            return false;
    }
    return true;
}

/* Names are a contract with other libraries, the data with whoever lists a queue. */
static void a_node_is_named_as_curator_names_it(void) {
    const char *name = fresh_name("named");
    zkl_session *s = session_open_with(
        server_hosts(),
        (zkl_session_options){.session_timeout_ms = T_NORMAL, .label = "night shift"});
    zkl_lock *l = lock_open(s, name, NULL);
    char path[1024] = "", data[600] = "", expected[64];
    size_t len = sizeof(data) - 1;

    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_node_path(l, path, sizeof(path)), ZKL_OK);
    CHECK(is_curators(strrchr(path, '/') + 1));
    CHECK_INT(raw_get(fixture_raw(), path, data, &len, NULL), RAW_OK);
    CHECK(len <= 512);
    CHECK(strncmp(data, "zklock1 ", 8) == 0);
    (void)snprintf(expected, sizeof(expected), " pid=%ld ", (long)getpid());
    CHECK(strstr(data, expected) != NULL);
    CHECK(strstr(data, "night") != NULL);
    (void)snprintf(expected, sizeof(expected), " t=%d ", zkl_session_timeout_ms(s));
    CHECK(strstr(data, expected) != NULL);
    CHECK(strstr(data, " owner=") != NULL);
    lock_close(l);
    session_close(s);
}

static void the_holder_cannot_acquire_twice(void) {
    const char *name = fresh_name("deadlock");
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    zkl_lock *l = lock_open(s, name, NULL);

    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    zkl_hold hold = zkl_hold_of(l);
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_DEADLOCK);
    CHECK_INT(zkl_acquire(l, 100), ZKL_DEADLOCK);
    CHECK_INT(zkl_acquire(l, 0), ZKL_DEADLOCK);
    CHECK(zkl_held(l) && zkl_hold_of(l) == hold);
    CHECK_INT(queue_length(name), 1);
    CHECK_INT(zkl_release(l), ZKL_OK);
    CHECK(!zkl_held(l));
    lock_close(l);
    session_close(s);
}

static void a_recursive_lock_counts_its_levels(void) {
    const char *name = fresh_name("recursive");
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    zkl_lock *l = lock_open_recursive(s, name);
    client *other = client_open(name, T_NORMAL);
    actor *here = actor_new();

    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    zkl_hold hold = zkl_hold_of(l);
    int64_t token = zkl_token(l);
    CHECK_INT(zkl_acquire(l, 0), ZKL_OK);
    CHECK_INT(zkl_acquire(l, ZKL_FOREVER), ZKL_OK);
    CHECK(zkl_hold_of(l) == hold && zkl_token(l) == token);
    CHECK_INT(queue_length(name), 1);
    /* Re-entrant for the thread, not for the process. */
    actor_acquire(here, l, 0);
    CHECK_INT(actor_result(here, SOON_MS), ZKL_BUSY);
    client_queue_up(other, 2);
    CHECK_INT(zkl_release(l), ZKL_OK);
    CHECK_INT(zkl_release(l), ZKL_OK);
    CHECK(zkl_held(l) && zkl_hold_valid(l, hold));
    CHECK_STAYS(!client_is_done(other), 100);
    CHECK_INT(zkl_release(l), ZKL_OK);
    CHECK(!zkl_held(l));
    CHECK_INT(client_result(other), ZKL_OK);
    CHECK_INT(zkl_release(l), ZKL_NOT_HELD);
    actor_free(here);
    client_close(other);
    lock_close(l);
    session_close(s);
}

/* T19: release without acquire, twice, by another thread, of an old hold. */
static void a_release_of_nothing_is_refused(void) {
    const char *name = fresh_name("nothing");
    client *c = client_open(name, T_NORMAL);

    CHECK_INT(zkl_release(c->lock), ZKL_NOT_HELD);
    CHECK_INT(zkl_release_wait(c->lock, 100), ZKL_NOT_HELD);
    CHECK_INT(zkl_release_hold(c->lock, 0), ZKL_NOT_HELD);
    CHECK_INT(zkl_release_hold(c->lock, 1234567), ZKL_NOT_HELD);
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    zkl_hold first = actor_hold(c->actor, c->lock);
    /* Not this thread's. */
    CHECK_INT(zkl_release(c->lock), ZKL_NOT_HELD);
    CHECK(!zkl_held(c->lock) && zkl_token(c->lock) == 0 && zkl_hold_of(c->lock) == 0);
    CHECK(client_held(c));
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(client_release(c), ZKL_NOT_HELD);
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    zkl_hold second = actor_hold(c->actor, c->lock);
    CHECK(second != 0 && second != first);
    /* Late clean-up of the first hold does not end the second. */
    CHECK_INT(zkl_release_hold(c->lock, first), ZKL_NOT_HELD);
    CHECK(client_held(c) && zkl_hold_valid(c->lock, second) && !zkl_hold_valid(c->lock, first));
    client_close(c);
}

static void a_hold_can_be_released_by_another_thread(void) {
    const char *name = fresh_name("handed");
    client *c = client_open(name, T_NORMAL);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    zkl_hold hold = actor_hold(c->actor, c->lock);
    CHECK(zkl_hold_valid(c->lock, hold));
    CHECK_INT(zkl_release_hold(c->lock, hold), ZKL_OK);
    CHECK(!client_held(c));
    CHECK_INT(client_release(c), ZKL_NOT_HELD);
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_close(c);
}

static void a_try_says_busy_and_a_timed_wait_times_out(void) {
    const char *name = fresh_name("taken");
    client *holder = client_open(name, T_NORMAL), *other = client_open(name, T_NORMAL);

    REQUIRE_INT(client_acquire(holder, 0), ZKL_OK);
    CHECK_INT(client_acquire(other, 0), ZKL_BUSY);
    CHECK_INT(client_acquire(other, 200), ZKL_TIMEOUT);
    CHECK_RANGE(actor_took_ms(other->actor), 200, 1200);
    WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    CHECK(client_held(holder));
    CHECK_INT(client_release_wait(holder), ZKL_OK);
    CHECK_INT(client_acquire(other, 0), ZKL_OK);
    client_close(other);
    client_close(holder);
}

static void a_waiter_is_told_its_place_and_then_granted(void) {
    const char *name = fresh_name("told");
    client *holder = client_open(name, T_NORMAL), *other = client_open(name, T_NORMAL);
    zkl_event event = {0};

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    client_queue_up(other, 2);
    WAIT_UNTIL(events_get(other->events, ZKL_EVENT_QUEUED, 0, &event, NULL), SOON_MS);
    CHECK_INT(event.position, 1);
    CHECK(event.hold == 0 && event.token == 0 && event.lock == other->lock);
    CHECK_INT(client_told(other, ZKL_EVENT_HELD), 0);
    CHECK_INT(client_release(holder), ZKL_OK);
    CHECK_INT(client_result(other), ZKL_OK);
    WAIT_UNTIL(events_get(other->events, ZKL_EVENT_HELD, 0, &event, NULL), SOON_MS);
    CHECK_INT(event.token, client_token(other));
    client_close(other);
    client_close(holder);
}

/* T2: a node belongs to an acquisition, not to a session. */
static void two_handles_of_one_session_exclude_each_other(void) {
    const char *name = fresh_name("handles");
    client *one = client_open(name, T_NORMAL), *two = client_open_on(one, name);

    REQUIRE_INT(client_acquire(one, SOON_MS), ZKL_OK);
    CHECK_INT(client_acquire(two, 0), ZKL_BUSY);
    client_queue_up(two, 2);
    CHECK_STAYS(!client_is_done(two), 100);
    CHECK_INT(client_release(one), ZKL_OK);
    CHECK_INT(client_result(two), ZKL_OK);
    CHECK(client_held(two) && !client_held(one));
    CHECK_INT(client_acquire(one, 0), ZKL_BUSY);
    client_close(two);
    client_close(one);
}

/* The one of them whose acquire has returned and who holds. */
static actor *find_holder(actor **actors, size_t count, zkl_lock *l) {
    for (size_t i = 0; i < count; i++)
        if (actor_is_done(actors[i]) && actor_held(actors[i], l))
            return actors[i];
    return NULL;
}

static void threads_of_one_handle_stand_in_the_queue_one_at_a_time(void) {
    const char *name = fresh_name("shared");
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    zkl_lock *l = lock_open(s, name, NULL);
    actor *actors[5];

    for (size_t i = 0; i < 5; i++) {
        actors[i] = actor_new();
        actor_acquire(actors[i], l, ZKL_FOREVER);
        if (i == 0)
            REQUIRE_INT(actor_result(actors[i], SOON_MS), ZKL_OK);
    }
    CHECK_STAYS(queue_length(name) == 1, 100);
    for (size_t granted = 0; granted < 5; granted++) {
        actor *who = NULL;

        WAIT_UNTIL((who = find_holder(actors, 5, l)) != NULL, SOON_MS);
        CHECK_INT(queue_length(name), 1);
        CHECK_INT(actor_release_wait(who, l, SOON_MS), ZKL_OK);
    }
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    for (size_t i = 0; i < 5; i++)
        actor_free(actors[i]);
    lock_close(l);
    session_close(s);
}

static void a_handle_serves_again_and_again_with_growing_tokens(void) {
    const char *name = fresh_name("again");
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    zkl_lock *l = lock_open(s, name, NULL);
    int64_t before = 0;

    for (int i = 0; i < 100; i++) {
        REQUIRE_INT(zkl_acquire(l, i % 2 ? ZKL_FOREVER : SOON_MS), ZKL_OK);
        CHECK(zkl_token(l) > before);
        before = zkl_token(l);
        REQUIRE_INT(i % 3 ? zkl_release(l) : zkl_release_wait(l, SOON_MS), ZKL_OK);
    }
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
    lock_close(l);
    session_close(s);
}

static void a_node_path_needs_room(void) {
    const char *name = fresh_name("room");
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    zkl_lock *l = lock_open(s, name, NULL);
    char path[1024] = "", small[1024];

    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    REQUIRE_INT(zkl_node_path(l, path, sizeof(path)), ZKL_OK);
    size_t len = strlen(path);
    memset(small, 'x', sizeof(small));
    CHECK_INT(zkl_node_path(l, small, len), ZKL_INVALID);
    CHECK(small[0] == 'x' && small[len] == 'x');
    CHECK_INT(zkl_node_path(l, small, len + 1), ZKL_OK);
    CHECK(strcmp(small, path) == 0 && small[len + 1] == 'x');
    CHECK_INT(zkl_node_path(l, small, 0), ZKL_INVALID);
    CHECK_INT(zkl_node_path(l, NULL, 10), ZKL_INVALID);
    lock_close(l);
    session_close(s);
}

static void closing_frees_the_lock_at_once(void) {
    const char *name = fresh_name("closing");
    client *other = client_open(name, T_LONG);
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    zkl_lock *l = lock_open(s, name, NULL);

    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    client_queue_up(other, 2);
    lock_close(l);
    CHECK_INT(client_result(other), ZKL_OK);
    CHECK_INT(client_release_wait(other), ZKL_OK);

    l = lock_open(s, name, NULL);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    client_queue_up(other, 2);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK_INT(client_result(other), ZKL_OK);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    client_close(other);
}

static const test_case Cases[] = {
    {"a free lock is acquired, held and released", a_free_lock_is_acquired_held_and_released},
    {"a node is named as Curator names it, and says who it is",
     a_node_is_named_as_curator_names_it},
    {"the holding thread cannot acquire twice, and keeps its hold",
     the_holder_cannot_acquire_twice},
    {"a recursive lock counts its levels on one node", a_recursive_lock_counts_its_levels},
    {"a release of nothing is refused (T19)", a_release_of_nothing_is_refused},
    {"a hold can be released by another thread, by its number",
     a_hold_can_be_released_by_another_thread},
    {"a try says busy, a timed wait times out, and neither leaves a node",
     a_try_says_busy_and_a_timed_wait_times_out},
    {"a waiter is told its place and then that it holds",
     a_waiter_is_told_its_place_and_then_granted},
    {"two handles of one session exclude each other (T2)",
     two_handles_of_one_session_exclude_each_other},
    {"threads that share a handle stand in the queue one at a time",
     threads_of_one_handle_stand_in_the_queue_one_at_a_time},
    {"a handle serves again and again, with growing tokens",
     a_handle_serves_again_and_again_with_growing_tokens},
    {"a node path that does not fit is refused and nothing written", a_node_path_needs_room},
    {"closing a lock or its session frees what was held at once", closing_frees_the_lock_at_once},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "basic", Cases);
}
