/* Since when a lock is held, for who looks at its queue; and what it costs to say so. */
#include "support/client.h"
#include "support/clock.h"

#include <time.h>

/* A wait that is no short one, and what its time may be off by on a machine that is busy. */
#define LONG_WAIT_MS 1300
#define SLACK_MS 400
#define UUID "_c_f47ac10b-58cc-4372-a567-0e02b2c3d479"

static int64_t wall_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Of the contender in this place. */
static zkl_contender contender_at(client *c, size_t index) {
    zkl_queue *queue = NULL;
    REQUIRE_INT(zkl_inspect(c->session, c->name, &queue), ZKL_OK);
    REQUIRE(zkl_queue_count(queue) > index);
    zkl_contender contender = *zkl_queue_at(queue, index);
    zkl_queue_free(queue);
    return contender;
}

/* It has said so; what is shown before that is when it queued. */
static bool says_since(client *c, size_t index) {
    zkl_contender contender = contender_at(c, index);
    return contender.held_since_ms > contender.since_ms;
}

/* The second waits so long behind the first, and holds. When that was. */
static int64_t hold_after(client *first, client *second, int64_t wait_ms) {
    CHECK_INT(client_acquire(first, SOON_MS), ZKL_OK);
    client_queue_up(second, 2);
    wait_out(wait_ms);
    CHECK_INT(client_release(first), ZKL_OK);
    CHECK_INT(client_result(second), ZKL_OK);
    return wall_ms();
}

static void who_has_waited_says_when_it_was_granted(void) {
    static const zkl_kind kinds[] = {ZKL_MUTEX, ZKL_SEMAPHORE};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *name = fresh_name("since");
        client *first = client_open_as(name, kinds[i]), *second = client_open_as(name, kinds[i]);
        const int64_t granted_ms = hold_after(first, second, LONG_WAIT_MS);
        WAIT_UNTIL(says_since(first, 0), SOON_MS);
        const zkl_contender holder = contender_at(first, 0);
        CHECK_RANGE(holder.held_since_ms - holder.since_ms, LONG_WAIT_MS - SLACK_MS, SOON_MS);
        if (server_is_ours()) /* its clock is ours */
            CHECK_RANGE(holder.held_since_ms, granted_ms - SLACK_MS, granted_ms + SLACK_MS);
        client_close(second);
        client_close(first);
    }
}

static void who_has_not_waited_says_nothing(void) {
    client *first = client_open_as(fresh_name("at_once"), ZKL_MUTEX),
           *second = client_open_as(first->name, ZKL_MUTEX);
    CHECK_INT(client_acquire(first, SOON_MS), ZKL_OK);
    client_queue_up(second, 2);
    zkl_contender holder = contender_at(second, 0), waiter = contender_at(second, 1);
    CHECK(holder.is_holder && holder.held_since_ms == holder.since_ms);
    CHECK(!waiter.is_holder && waiter.held_since_ms == 0);
    proxy_forget(first->proxy);
    WAIT_UNTIL(proxy_answered(first->proxy, PROXY_BARRIER, NULL) >= 4, SOON_MS);
    CHECK_INT(proxy_count(first->proxy, PROXY_MULTI, NULL), 0);
    client_close(second);
    client_close(first);
}

/* The readers behind a writer would all read it. */
static void of_readers_and_writers_it_is_not_known(void) {
    static const zkl_kind kinds[] = {ZKL_READ, ZKL_WRITE};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *name = fresh_name("shared");
        client *first = client_open_as(name, ZKL_WRITE), *second = client_open_as(name, kinds[i]);
        (void)hold_after(first, second, LONG_WAIT_MS);
        proxy_forget(second->proxy);
        WAIT_UNTIL(proxy_answered(second->proxy, PROXY_BARRIER, NULL) >= 4, SOON_MS);
        CHECK_INT(proxy_count(second->proxy, PROXY_MULTI, NULL), 0);
        const zkl_contender holder = contender_at(first, 0);
        CHECK(holder.is_holder && holder.held_since_ms == 0);
        client_close(second);
        client_close(first);
    }
}

/* A read, a write, and the read that sets its watch again; of the next one, one read. */
static void it_costs_three_requests_and_one(void) {
    const char *name = fresh_name("cost");
    client *first = client_open_as(name, ZKL_MUTEX), *second = client_open_as(name, ZKL_MUTEX),
           *third = client_open_as(name, ZKL_MUTEX);
    CHECK_INT(client_acquire(first, SOON_MS), ZKL_OK);
    client_queue_up(second, 2);
    client_queue_up(third, 3);
    WAIT_UNTIL(proxy_answered(third->proxy, PROXY_GET, name) == 2, SOON_MS);
    wait_out(LONG_WAIT_MS);
    proxy_forget(second->proxy);
    proxy_forget(third->proxy);
    CHECK_INT(client_release(first), ZKL_OK);
    CHECK_INT(client_result(second), ZKL_OK);
    WAIT_UNTIL(proxy_answered(second->proxy, PROXY_GET, name) == 2, SOON_MS);
    WAIT_UNTIL(proxy_answered(third->proxy, PROXY_GET, name) == 1, SOON_MS);
    CHECK_INT(proxy_count(second->proxy, PROXY_MULTI, NULL), 1);
    proxy_forget(second->proxy);
    proxy_forget(third->proxy);
    WAIT_UNTIL(proxy_answered(second->proxy, PROXY_BARRIER, NULL) >= 4, SOON_MS);
    CHECK_INT(proxy_count(second->proxy, PROXY_GET, NULL), 0);
    CHECK_INT(proxy_count(second->proxy, PROXY_MULTI, NULL), 0);
    CHECK_INT(proxy_count(third->proxy, PROXY_GET, NULL), 0);
    client_close(third);
    client_close(second);
    client_close(first);
}

/* Of a first contender by what its data say; D: that it queued then, N: nothing. */
static void what_is_said_counts_if_it_can_be_so(void) {
    static const struct {
        const char *node, *line;
        bool is_late; /* the time that is said is a second after the node was made */
        char expected;
    } cases[] = {
        {UUID "-lock-", "zklock1 since=%lld t=4000", true, 'S'},
        {UUID "-lease-", "zklock1 since=%lld t=4000", true, 'S'},
        {UUID "-lock-", "zklock1 since=%lld t=4000", false, 'D'},
        {UUID "-lock-", "zklock1 t=4000", false, 'D'},
        {UUID "-lock-", "zklock1 since=%lld t=4000 break=1", true, 'N'},
        {UUID "-lock-", "192.0.2.7", false, 'N'},
        {UUID "-lock-", "", false, 'N'},
        {UUID "-__READ__", "zklock1 since=%lld t=4000", true, 'N'},
        {UUID "-__WRIT__", "zklock1 since=%lld t=4000", true, 'N'},
        {UUID "__lock__", "zklock1 since=%lld t=4000", true, 'N'}, /* kazoo's */
    };
    client *c = client_open(fresh_name("said"), T_NORMAL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[RAW_PATH_MAX], line[128], number[32];
        plant_contender(c->name, cases[i].node, path);
        const int64_t made_ms = contender_at(c, 0).since_ms;
        const int64_t said_ms = made_ms + (cases[i].is_late ? 1000 : -1000);
        const char *at = strstr(cases[i].line, "%lld");
        (void)snprintf(number, sizeof(number), "%lld", (long long)said_ms);
        (void)snprintf(line, sizeof(line), "%.*s%s%s", (int)(at == NULL ? 0 : at - cases[i].line),
                       cases[i].line, at == NULL ? "" : number,
                       at == NULL ? cases[i].line : at + strlen("%lld"));
        REQUIRE_INT(raw_set(fixture_raw(), path, line, strlen(line)), RAW_OK);
        const int64_t shown_ms = contender_at(c, 0).held_since_ms;
        CHECK_INT(shown_ms, cases[i].expected == 'S'   ? said_ms
                            : cases[i].expected == 'D' ? made_ms
                                                       : 0);
        REQUIRE_INT(raw_delete(fixture_raw(), path), RAW_OK);
    }
    client_close(c);
}

/* All who watch the node read it once more: behind a mutex they may be many, if they read. */
static void readers_behind_a_mutex_read_it_once(void) {
    enum {
        READERS = 5
    };
    const char *name = fresh_name("readers");
    client *first = client_open_as(name, ZKL_MUTEX), *second = client_open_as(name, ZKL_MUTEX);
    client *readers[READERS];
    CHECK_INT(client_acquire(first, SOON_MS), ZKL_OK);
    client_queue_up(second, 2);
    for (size_t i = 0; i < READERS; i++) {
        readers[i] = client_open_as(name, ZKL_READ);
        client_queue_up(readers[i], i + 3);
        WAIT_UNTIL(proxy_answered(readers[i]->proxy, PROXY_GET, name) == 2, SOON_MS);
    }
    wait_out(LONG_WAIT_MS);
    for (size_t i = 0; i < READERS; i++)
        proxy_forget(readers[i]->proxy);
    CHECK_INT(client_release(first), ZKL_OK);
    CHECK_INT(client_result(second), ZKL_OK);
    for (size_t i = 0; i < READERS; i++)
        WAIT_UNTIL(proxy_answered(readers[i]->proxy, PROXY_GET, name) == 1, SOON_MS);
    proxy_forget(second->proxy);
    WAIT_UNTIL(proxy_answered(second->proxy, PROXY_BARRIER, NULL) >= 4, SOON_MS);
    for (size_t i = 0; i < READERS; i++) {
        CHECK_INT(proxy_count(readers[i]->proxy, PROXY_GET, name), 1);
        CHECK_INT(proxy_count(readers[i]->proxy, PROXY_LIST, name), 0);
        client_close(readers[i]);
    }
    client_close(second);
    client_close(first);
}

/* Its watch stands again: it is told of what comes after. */
static void what_is_said_of_the_node_after_that_is_heard(void) {
    const char *name = fresh_name("after");
    client *first = client_open_as(name, ZKL_MUTEX), *second = client_open_as(name, ZKL_MUTEX);
    client_be_wanting(second, ZKL_MUTEX, 0);
    (void)hold_after(first, second, LONG_WAIT_MS);
    WAIT_UNTIL(says_since(first, 0), SOON_MS);
    CHECK_INT(zkl_ask(first->session, name), ZKL_OK);
    WAIT_UNTIL(client_told(second, ZKL_EVENT_WANTED) == 1, SOON_MS);
    CHECK(says_since(first, 0));
    char path[RAW_PATH_MAX];
    client_node(second, path);
    CHECK_INT(zkl_break(first->session, name, strrchr(path, '/') + 1, SOON_MS), ZKL_OK);
    WAIT_UNTIL(client_told(second, ZKL_EVENT_LOST) == 1, SOON_MS);
    CHECK_INT(client_release(second), ZKL_LOST);
    client_close(second);
    client_close(first);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"who has waited says when it was granted", who_has_waited_says_when_it_was_granted},
        {"who has not waited says nothing", who_has_not_waited_says_nothing},
        {"of readers and writers it is not known", of_readers_and_writers_it_is_not_known},
        {"it costs three requests, and one", it_costs_three_requests_and_one},
        {"what is said counts if it can be so", what_is_said_counts_if_it_can_be_so},
        {"readers behind a mutex read it once", readers_behind_a_mutex_read_it_once},
        {"what is said of the node after that is heard",
         what_is_said_of_the_node_after_that_is_heard},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "since", cases);
}
