/* A semaphore: at most so many hold, in the queue's order, and none waits that may hold. */
#include "support/client.h"

#define LEASE "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-lease-"
#define CROWD 6

static client *open_permit(const char *name, int permits) {
    client *c = client_open_proxied(name, T_NORMAL);
    client_be_permit(c, permits);
    return c;
}

static void open_crowd(client *crowd[], size_t count, const char *name, int permits) {
    for (size_t i = 0; i < count; i++)
        crowd[i] = open_permit(name, permits);
}

/* Its place is known to it: the number of permits has been looked at. */
static void queue_up(client *c, size_t count) {
    const size_t told = client_told(c, ZKL_EVENT_QUEUED);
    client_queue_up(c, count);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) > told, SOON_MS);
}

static void close_crowd(client *crowd[], size_t count) {
    while (count > 0)
        client_close(crowd[--count]);
}

static void check_recorded(const char *name, const char *expected) {
    char data[256] = "";
    size_t length = sizeof(data) - 1;
    REQUIRE_INT(raw_get(fixture_raw(), lock_dir(name), data, &length, NULL), RAW_OK);
    data[length] = '\0';
    CHECK_STRING(data, expected);
}

static void record(const char *name, const char *text) {
    REQUIRE_INT(raw_set(fixture_raw(), lock_dir(name), text, strlen(text)), RAW_OK);
}

static void as_many_hold_as_there_are_permits(void) {
    const char *name = fresh_name("permits");
    client *crowd[CROWD];

    open_crowd(crowd, CROWD, name, 3);
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(client_acquire(crowd[i], SOON_MS), ZKL_OK);
    check_recorded(name, "permits=3 max=3");
    CHECK_INT(client_acquire(crowd[3], 0), ZKL_BUSY);
    CHECK_INT(client_acquire(crowd[3], 100), ZKL_TIMEOUT);
    CHECK_INT(client_release(crowd[1]), ZKL_OK);
    CHECK_INT(client_acquire(crowd[3], SOON_MS), ZKL_OK);
    CHECK_INT(client_acquire(crowd[1], 0), ZKL_BUSY);
    close_crowd(crowd, CROWD);
}

/* Whoever leaves, the first in line is next. */
static void who_waits_is_admitted_in_order(void) {
    const char *name = fresh_name("order");
    client *crowd[CROWD];

    for (size_t n = 1; n <= 3; n++) {
        open_crowd(crowd, CROWD, name, (int)n);
        for (size_t i = 0; i < n; i++)
            CHECK_INT(client_acquire(crowd[i], SOON_MS), ZKL_OK);
        for (size_t i = n; i < CROWD; i++)
            client_queue_up(crowd[i], i + 1);
        for (size_t i = n; i < CROWD; i++) {
            /* The first holder, or the last. */
            CHECK(!client_is_done(crowd[i]));
            CHECK_INT(client_release(crowd[i % 2 == 0 ? i - 1 : i - n]), ZKL_OK);
            CHECK_INT(client_result(crowd[i]), ZKL_OK);
            if (i % 2 == 0 && n > 1) { /* back to where the other way would be */
                client *swapped = crowd[i - 1];
                crowd[i - 1] = crowd[i - n];
                crowd[i - n] = swapped;
            }
        }
        close_crowd(crowd, CROWD);
        name = fresh_name("order");
    }
}

/* What it has sent is answered: answers come in the order of the requests. */
static void wait_for_answers(client *c) {
    zkl_queue *queue = NULL;
    CHECK_INT(zkl_inspect(c->session, "nothing", &queue), ZKL_OK);
    zkl_queue_free(queue);
}

/* The front one lists, and is admitted; the one behind is told, and comes to the front. */
static void a_release_makes_two_waiters_look_and_no_other(void) {
    const char *name = fresh_name("looks");
    client *crowd[CROWD];

    open_crowd(crowd, CROWD, name, 2);
    for (size_t i = 0; i < 2; i++)
        CHECK_INT(client_acquire(crowd[i], SOON_MS), ZKL_OK);
    for (size_t i = 2; i < CROWD; i++) {
        client_queue_up(crowd[i], i + 1);
        /* The front one lists again below its watch; who is behind watches its predecessor. */
        WAIT_UNTIL(i == 2 ? proxy_answered(crowd[i]->proxy, PROXY_LIST, name) >= 2
                          : proxy_answered(crowd[i]->proxy, PROXY_GET, name) >= 3,
                   SOON_MS);
    }
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 2; k < CROWD; k++)
            proxy_forget(crowd[k]->proxy);
        CHECK_INT(client_release_wait(crowd[i]), ZKL_OK);
        CHECK_INT(client_result(crowd[i + 2]), ZKL_OK);
        WAIT_UNTIL(proxy_count(crowd[i + 3]->proxy, PROXY_LIST, name) >= 2, SOON_MS);
        wait_for_answers(crowd[i + 3]);
        /* One is enough; it may also look for one that had come before. */
        CHECK_RANGE(proxy_count(crowd[i + 2]->proxy, PROXY_LIST, name), 0, 2);
        CHECK_RANGE(proxy_count(crowd[i + 3]->proxy, PROXY_LIST, name), 2, 3);
        for (size_t k = i + 4; k < CROWD; k++)
            CHECK_INT(proxy_count(crowd[k]->proxy, PROXY_WORK, name), 0);
    }
    close_crowd(crowd, CROWD);
}

static void a_free_one_is_one_create_and_one_list(void) {
    const char *name = fresh_name("free");
    client *keeper = open_permit(name, 3), *c = open_permit(name, 3);

    CHECK_INT(client_acquire(keeper, SOON_MS), ZKL_OK); /* the directory stays */
    for (size_t i = 0; i < 3; i++) {
        proxy_forget(c->proxy);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK_INT(client_release_wait(c), ZKL_OK);
        CHECK_INT(proxy_count(c->proxy, PROXY_CREATE, name), 1);
        CHECK_INT(proxy_count(c->proxy, PROXY_LIST, name), 1);
        CHECK_INT(proxy_count(c->proxy, PROXY_DELETE, name), 1);
        CHECK_INT(proxy_count(c->proxy, PROXY_GET, name), i == 0 ? 1 : 0);
        CHECK_INT(proxy_count(c->proxy, PROXY_WORK, name), i == 0 ? 4 : 3);
    }
    client_close(c);
    client_close(keeper);
}

static void check_mismatch(const char *name, int permits) {
    client *c = open_permit(name, permits);
    const size_t before = queue_length(name);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_MISMATCH);
    CHECK_INT(client_acquire(c, 0), ZKL_MISMATCH);
    WAIT_UNTIL(queue_length(name) == before, SOON_MS);
    client_close(c);
}

/* By any client; each handle but the caller's goes on with the number that it has. */
static void the_number_can_be_changed(void) {
    const char *name = fresh_name("set");
    client *crowd[CROWD], *follower = open_permit(name, 0);

    open_crowd(crowd, CROWD, name, 1);
    CHECK_INT(zkl_set_permits(follower->lock, 1),
              ZKL_OK); /* nothing is there: it is the handle's */
    CHECK_INT(queue_length(name), 0);
    CHECK_INT(client_acquire(follower, SOON_MS), ZKL_OK);
    check_recorded(name, "permits=1 max=1");
    for (size_t i = 1; i < 4; i++)
        queue_up(crowd[i], i + 1);
    CHECK_INT(zkl_set_permits(crowd[0]->lock, 3), ZKL_OK);
    check_recorded(name, "permits=3 max=3");
    CHECK_INT(client_result(crowd[1]), ZKL_OK);
    CHECK_INT(client_result(crowd[2]), ZKL_OK);
    CHECK(!client_is_done(crowd[3]));
    CHECK_INT(client_acquire(crowd[4], SOON_MS), ZKL_MISMATCH);
    CHECK_INT(client_acquire(crowd[0], 0), ZKL_BUSY); /* it is this handle's, too */
    CHECK_INT(zkl_set_permits(crowd[0]->lock, 2), ZKL_OK);
    check_recorded(name, "permits=2 max=3");
    CHECK_INT(client_release_wait(crowd[1]), ZKL_OK);
    CHECK(!client_is_done(crowd[3]));
    CHECK_INT(client_release_wait(crowd[2]), ZKL_OK);
    CHECK_INT(client_result(crowd[3]), ZKL_OK);
    proxy_forget(crowd[0]->proxy);
    CHECK_INT(zkl_set_permits(crowd[0]->lock, 2), ZKL_OK); /* as it is: nothing is written */
    CHECK_INT(proxy_count(crowd[0]->proxy, PROXY_WORK, name), 1);
    record(name, "of another program");
    CHECK_INT(zkl_set_permits(crowd[0]->lock, 2), ZKL_MISMATCH);
    record(name, "");
    CHECK_INT(zkl_set_permits(crowd[0]->lock, 4), ZKL_OK);
    check_recorded(name, "permits=4 max=4");
    close_crowd(crowd, CROWD);
    client_close(follower);
}

static void another_number_is_a_mismatch(void) {
    const char *name = fresh_name("mismatch");
    client *c = open_permit(name, 3), *follower = open_permit(name, 0);

    check_mismatch(name, 0); /* there is none to follow */
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    check_mismatch(name, 2);
    check_mismatch(name, 4);
    CHECK_INT(client_acquire(follower, SOON_MS), ZKL_OK);
    record(name, "of another program");
    check_mismatch(name, 3);
    check_mismatch(name, 0);
    check_recorded(name, "of another program");
    record(name, "");
    check_mismatch(name, 0);
    CHECK_INT(client_release(follower), ZKL_OK);
    client *fresh = open_permit(name, 3);
    CHECK_INT(client_acquire(fresh, SOON_MS), ZKL_OK); /* a directory without a number gets one */
    check_recorded(name, "permits=3 max=3");
    client_close(fresh);
    client_close(follower);
    client_close(c);
}

static void a_number_that_grows_admits_at_once(void) {
    const char *name = fresh_name("more");
    client *crowd[CROWD];

    open_crowd(crowd, CROWD, name, 1);
    CHECK_INT(client_acquire(crowd[0], SOON_MS), ZKL_OK);
    for (size_t i = 1; i < CROWD; i++)
        queue_up(crowd[i], i + 1);
    record(name, "permits=4 max=4");
    for (size_t i = 1; i < 4; i++)
        CHECK_INT(client_result(crowd[i]), ZKL_OK);
    CHECK(!client_is_done(crowd[4]) && !client_is_done(crowd[5]));
    record(name, "permits=6 max=6");
    CHECK_INT(client_result(crowd[4]), ZKL_OK);
    CHECK_INT(client_result(crowd[5]), ZKL_OK);
    close_crowd(crowd, CROWD);
}

static void a_number_that_shrinks_ends_no_hold(void) {
    const char *name = fresh_name("fewer");
    client *crowd[CROWD];

    open_crowd(crowd, CROWD, name, 3);
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(client_acquire(crowd[i], SOON_MS), ZKL_OK);
    for (size_t i = 3; i < CROWD; i++)
        queue_up(crowd[i], i + 1);
    record(name, "permits=1 max=3");
    CHECK_INT(client_release_wait(crowd[0]), ZKL_OK);
    CHECK_INT(client_release_wait(crowd[1]), ZKL_OK);
    CHECK(client_held(crowd[2]));
    CHECK(!client_is_done(crowd[3]));
    for (size_t i = 3; i < CROWD; i++) { /* one after the other, from the holder that is left */
        CHECK_INT(client_release(crowd[i - 1]), ZKL_OK);
        CHECK_INT(client_result(crowd[i]), ZKL_OK);
        CHECK(i + 1 == CROWD || !client_is_done(crowd[i + 1]));
    }
    close_crowd(crowd, CROWD);
}

/* Its number goes with it, and what a client knows of the number does, too. */
static void a_directory_that_is_made_anew_may_have_another_number(void) {
    const char *name = fresh_name("anew");
    client *c = open_permit(name, 2), *d = open_permit(name, 2);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    const int code = raw_delete(fixture_raw(), lock_dir(name));
    REQUIRE(code == RAW_OK || code == RAW_NO_NODE); /* the servers may have done it */
    REQUIRE_INT(
        raw_create(fixture_raw(), lock_dir(name), "permits=1 max=1", 15, RAW_CONTAINER, NULL),
        RAW_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_MISMATCH);
    client_be_permit(d, 1);
    CHECK_INT(client_acquire(d, SOON_MS), ZKL_OK);
    client_be_permit(c, 0);
    CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
    client_close(d);
    client_close(c);
}

static void what_is_no_permit_keeps_all_out(void) {
    static const char *const others[] = {
        CURATOR, "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-__READ__",
        "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-__WRIT__",
        "0123456789abcdef0123456789abcdef__rlock__", "x-72057594037927936-"};
    for (size_t i = 0; i < COUNT(others); i++) {
        const char *name = fresh_name("mixed");
        client *c = open_permit(name, 5), *mutex = client_open(name, T_NORMAL);
        char path[RAW_PATH_MAX], lease[RAW_PATH_MAX];

        plant_contender(name, others[i], path);
        record(name, "permits=5 max=5");
        plant_contender(name, LEASE, lease);
        CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
        client_queue_up(c, 3);
        WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == 1, SOON_MS);
        CHECK(!client_is_done(c));
        uproot(path);
        CHECK_INT(client_result(c), ZKL_OK);
        client_queue_up(mutex, 3);
        CHECK_INT(client_release_wait(c), ZKL_OK);
        CHECK(!client_is_done(mutex)); /* the other permit is out */
        uproot(lease);
        CHECK_INT(client_result(mutex), ZKL_OK);
        client_close(mutex);
        client_close(c);
    }
}

/* By a handle each. */
static void a_thread_may_have_several(void) {
    const char *name = fresh_name("several");
    client *c = open_permit(name, 2);
    zkl_lock *more[2];

    for (size_t i = 0; i < COUNT(more); i++)
        REQUIRE_INT(zkl_lock_open(&more[i], c->session, name,
                                  &ZKL_LOCK_OPTIONS(.kind = ZKL_SEMAPHORE, .permits = 2)),
                    ZKL_OK);
    CHECK_INT(zkl_acquire(c->lock, SOON_MS), ZKL_OK);
    CHECK_INT(zkl_acquire(c->lock, SOON_MS), ZKL_DEADLOCK);
    CHECK_INT(zkl_acquire(more[0], SOON_MS), ZKL_OK);
    CHECK_INT(zkl_acquire(more[1], 0), ZKL_BUSY);
    CHECK(zkl_held(c->lock) && zkl_held(more[0]));
    CHECK(zkl_token(c->lock) < zkl_token(more[0]));
    CHECK_INT(zkl_release(c->lock), ZKL_OK);
    CHECK_INT(zkl_acquire(more[1], SOON_MS), ZKL_OK);
    for (size_t i = 0; i < COUNT(more); i++)
        CHECK_INT(zkl_lock_close(more[i]), ZKL_OK);
    client_close(c);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"as many hold as there are permits", as_many_hold_as_there_are_permits},
        {"who waits is admitted in order", who_waits_is_admitted_in_order},
        {"a release makes two waiters look, and no other",
         a_release_makes_two_waiters_look_and_no_other},
        {"a free one is one create and one list", a_free_one_is_one_create_and_one_list},
        {"the number can be changed", the_number_can_be_changed},
        {"another number is a mismatch", another_number_is_a_mismatch},
        {"a number that grows admits at once", a_number_that_grows_admits_at_once},
        {"a number that shrinks ends no hold", a_number_that_shrinks_ends_no_hold},
        {"a directory that is made anew may have another number",
         a_directory_that_is_made_anew_may_have_another_number},
        {"what is no permit keeps all out", what_is_no_permit_keeps_all_out},
        {"a thread may have several", a_thread_may_have_several},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "semaphore", cases);
}
