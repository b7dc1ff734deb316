/*
 * zkl_set_permits over a client library that does as it is told: what ends it, and what is tried
 * again. And what zkl_inspect says of the number.
 */
#include "unit/fake_zoo.h"

#include <limits.h>
#include <zklock_inspect.h>

#include "lock/lock.h"
#include "support/actor.h"

#define DIRECTORY "/locks/a"

static char Line[512]; /* the last that was logged as an error */

static void on_log(zkl_log_level level, const char *line, void *arg) {
    (void)arg;
    if (level == ZKL_LOG_ERROR)
        (void)snprintf(Line, sizeof(Line), "%s", line);
}

static zkl_lock *open_semaphore(zkl_session *s, int permits) {
    zkl_lock *l = NULL;
    REQUIRE(zkl_lock_open(&l, s, "a",
                          &ZKL_LOCK_OPTIONS(.kind = ZKL_SEMAPHORE, .permits = permits)) == ZKL_OK);
    return l;
}

/* NULL: there is no directory. */
static zkl_session *session_with(const char *data, int timeout_ms) {
    Line[0] = '\0';
    zkl_session *s = fake_session(
        HOSTS, &ZKL_SESSION_OPTIONS(.connect_timeout_ms = timeout_ms, .log = on_log));
    fake_plant("/locks");
    if (data == NULL)
        return s;
    fake_plant(DIRECTORY);
    fake_set(DIRECTORY, data);
    return s;
}

/* ---- What it writes ---- */

static void the_largest_number_is_kept(void) {
    static const struct {
        int permits;
        const char *data;
        size_t writes;
    } steps[] = {
        {3, "permits=3 max=3", 1},
        {2, "permits=2 max=3", 2},
        {2, "permits=2 max=3", 2}, /* it is so already */
        {INT_MAX, "permits=2147483647 max=2147483647", 3},
        {1, "permits=1 max=2147483647", 4},
    };
    zkl_session *s = session_with("permits=1 max=1", SOON_MS);
    zkl_lock *l = open_semaphore(s, 0);
    for (size_t i = 0; i < COUNT(steps); i++) {
        CHECK_INT(zkl_set_permits(l, steps[i].permits), ZKL_OK);
        CHECK(fake_has_data(DIRECTORY, steps[i].data));
        CHECK_INT(fake_served(MULTI), steps[i].writes);
    }
    fake_end(s, l);
}

static void a_directory_without_data_gets_the_number(void) {
    zkl_session *s = session_with("", SOON_MS);
    zkl_lock *l = open_semaphore(s, 0);
    CHECK_INT(zkl_set_permits(l, 3), ZKL_OK);
    CHECK(fake_has_data(DIRECTORY, "permits=3 max=3"));
    fake_end(s, l);
}

static void other_data_are_left_alone(void) {
    zkl_session *s = session_with("192.0.2.7", SOON_MS);
    zkl_lock *l = open_semaphore(s, 1);
    CHECK_INT(zkl_set_permits(l, 3), ZKL_MISMATCH);
    CHECK(fake_has_data(DIRECTORY, "192.0.2.7"));
    CHECK_INT(fake_served(MULTI), 0);
    CHECK_INT(l->permits, 1);
    fake_end(s, l);
}

/* One that follows goes on to do so; but where nothing is recorded, its next acquire records. */
static void the_handle_asks_for_the_number_from_then_on(void) {
    static const struct {
        int before;
        const char *data;
        int after;
    } cases[] = {
        {1, "permits=1 max=1", 3}, {1, "permits=3 max=3", 3}, {1, NULL, 3},
        {0, "permits=1 max=1", 0}, {0, "permits=3 max=3", 0}, {0, NULL, 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        zkl_session *s = session_with(cases[i].data, SOON_MS);
        zkl_lock *l = open_semaphore(s, cases[i].before);
        CHECK_INT(zkl_set_permits(l, 3), ZKL_OK);
        CHECK_INT(l->permits, cases[i].after);
        CHECK_INT(fake_children("/locks"), cases[i].data == NULL ? 0 : 1);
        fake_end(s, l);
    }
}

/* ---- Wrong calls ---- */

static void wrong_calls_are_refused(void) {
    zkl_session *s = session_with("permits=1 max=1", SOON_MS);
    zkl_lock *l = open_semaphore(s, 1), *mutex = fake_lock(s, "b");
    CHECK_INT(zkl_set_permits(NULL, 1), ZKL_INVALID);
    CHECK_INT(zkl_set_permits(l, 0), ZKL_INVALID);
    CHECK_INT(zkl_set_permits(l, -1), ZKL_INVALID);
    CHECK_INT(zkl_set_permits(mutex, 1), ZKL_UNSUPPORTED);
    CHECK_INT(fake_served(GET) + fake_served(MULTI), 0);
    CHECK_INT(zkl_lock_close(mutex), ZKL_OK);
    fake_end(s, l);
}

/* ---- What the server says ---- */

/* A set that failed in whatever way is made again behind another read. */
static void it_is_tried_until_it_succeeds(void) {
    static const struct {
        enum kind kind;
        int code;
        size_t reads, writes;
    } cases[] = {
        {GET, ZCONNECTIONLOSS, 2, 1},     {GET, ZTHROTTLEDOP, 2, 1},
        {MULTI, ZCONNECTIONLOSS, 2, 2},   {MULTI, ZBADVERSION, 2, 2},
        {MULTI, ZTHROTTLEDOP, 2, 2},      {MULTI, ZNONODE, 2, 2},
        {MULTI, ZMARSHALLINGERROR, 2, 2},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        zkl_session *s = session_with("permits=1 max=1", SOON_MS);
        zkl_lock *l = open_semaphore(s, 1);
        fake_answer(cases[i].kind, cases[i].code, 1);
        CHECK_INT(zkl_set_permits(l, 2), ZKL_OK);
        CHECK(fake_has_data(DIRECTORY, "permits=2 max=2"));
        CHECK_INT(fake_served(GET), cases[i].reads);
        CHECK_INT(fake_served(MULTI), cases[i].writes);
        CHECK_STRING(Line, "");
        fake_end(s, l);
    }
}

static zkl_err set_three(void *l) {
    return zkl_set_permits(l, 3);
}

/* Else a smaller largest number could be left, and waiters with it that nobody tells. */
static void what_another_has_set_meanwhile_is_read_first(void) {
    zkl_session *s = session_with("permits=1 max=1", SOON_MS);
    zkl_lock *l = open_semaphore(s, 1);
    actor *a = actor_new();
    fake_keep(MULTI, true);
    actor_begin(a, set_three, l);
    WAIT_UNTIL(fake_has(MULTI), SOON_MS);
    fake_set(DIRECTORY, "permits=5 max=9");
    fake_keep(MULTI, false);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    CHECK(fake_has_data(DIRECTORY, "permits=3 max=9"));
    actor_free(a);
    fake_end(s, l);
}

static void a_refusal_ends_it_and_is_logged(void) {
    static const struct {
        enum kind kind;
        int code;
        zkl_err err;
        const char *what;
    } cases[] = {
        {GET, ZNOAUTH, ZKL_DENIED, "read"},
        {GET, ZAPIERROR, ZKL_SERVER, "read"},
        {MULTI, ZNOAUTH, ZKL_DENIED, "set"},
        {MULTI, ZAPIERROR, ZKL_SERVER, "set"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        zkl_session *s = session_with("permits=1 max=1", SOON_MS);
        zkl_lock *l = open_semaphore(s, 1);
        fake_answer(cases[i].kind, cases[i].code, 1);
        CHECK_INT(zkl_set_permits(l, 2), cases[i].err);
        CHECK(strstr(Line, cases[i].what) != NULL && strstr(Line, DIRECTORY) != NULL);
        CHECK(fake_has_data(DIRECTORY, "permits=1 max=1"));
        CHECK_INT(l->permits, 1);
        fake_end(s, l);
    }
}

/* ---- What ends it meanwhile ---- */

static void without_an_answer_it_ends_in_time(void) {
    static const enum kind kinds[] = {GET, MULTI};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        zkl_session *s = session_with("permits=1 max=1", 50);
        zkl_lock *l = open_semaphore(s, 1);
        fake_keep(kinds[i], true);
        CHECK_INT(zkl_set_permits(l, 3), ZKL_UNREACHABLE);
        CHECK_INT(l->permits, 1);
        fake_keep(kinds[i], false); /* nobody waits for it */
        WAIT_UNTIL(!fake_has(kinds[i]), SOON_MS);
        CHECK_INT(zkl_set_permits(l, 2), ZKL_OK);
        fake_end(s, l);
    }
}

/* And is sent as soon as it can be. */
static void what_cannot_be_sent_is_tried_again(void) {
    static const enum kind kinds[] = {GET, MULTI};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        zkl_session *s = session_with("permits=1 max=1", 100);
        zkl_lock *l = open_semaphore(s, 1);
        fake_refuse(kinds[i], ZSYSTEMERROR);
        CHECK_INT(zkl_set_permits(l, 3), ZKL_UNREACHABLE);
        actor *a = actor_new();
        s->connect_timeout_ms = SOON_MS;
        actor_begin(a, set_three, l);
        const size_t refused = fake_refused(kinds[i]);
        WAIT_UNTIL(fake_refused(kinds[i]) > refused + 1, SOON_MS);
        fake_refuse(kinds[i], ZOK);
        CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
        CHECK(fake_has_data(DIRECTORY, "permits=3 max=3"));
        actor_free(a);
        fake_end(s, l);
    }
}

/* While it waits for an answer, and while it waits to send. */
static void the_end_of_the_session_ends_it(void) {
    for (int is_refused = 0; is_refused < 2; is_refused++) {
        zkl_session *s = session_with("permits=1 max=1", 10 * SOON_MS);
        zkl_lock *l = open_semaphore(s, 1);
        actor *a = actor_new();
        if (is_refused == 1)
            fake_refuse(GET, ZSYSTEMERROR);
        else
            fake_keep(GET, true);
        actor_begin(a, set_three, l);
        WAIT_UNTIL(is_refused == 1 ? fake_refused(GET) > 0 : fake_has(GET), SOON_MS);
        CHECK_INT(zkl_session_close(s), ZKL_OK);
        CHECK_INT(actor_result(a, SOON_MS), ZKL_CLOSED);
        CHECK_INT(zkl_set_permits(l, 3), ZKL_CLOSED);
        CHECK_INT(zkl_lock_close(l), ZKL_OK);
        actor_free(a);
    }
}

static void rejected_credentials_end_it_at_once(void) {
    zkl_session *s = session_with("permits=1 max=1", 10 * SOON_MS);
    zkl_lock *l = open_semaphore(s, 1);
    actor *a = actor_new();
    fake_keep(GET, true);
    actor_begin(a, set_three, l);
    WAIT_UNTIL(fake_has(GET), SOON_MS);
    fake_state(ZOO_AUTH_FAILED_STATE);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_AUTH_FAILED);
    CHECK_INT(zkl_set_permits(l, 3), ZKL_AUTH_FAILED);
    fake_keep(GET, false);
    actor_free(a);
    fake_end(s, l);
}

/* The set is the same in the next one. */
static void it_goes_on_in_another_session(void) {
    zkl_session *s = session_with("permits=1 max=1", 10 * SOON_MS);
    zkl_lock *l = open_semaphore(s, 1);
    actor *a = actor_new();
    fake_keep(MULTI, true);
    actor_begin(a, set_three, l);
    WAIT_UNTIL(fake_has(MULTI), SOON_MS);
    fake_state(ZOO_EXPIRED_SESSION_STATE);
    fake_keep(MULTI, false);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    CHECK(fake_has_data(DIRECTORY, "permits=3 max=3"));
    actor_free(a);
    fake_end(s, l);
}

/* ---- Looking at it ---- */

/* Data that are too long for a number are not read. */
static void a_look_reads_what_can_be_a_number(void) {
    static const struct {
        const char *data;
        size_t reads;
        int permits;
    } cases[] = {
        {"", 0, 0},
        {"permits=2 max=3", 1, 2},
        {"192.0.2.7", 1, 0},
        {"permits=1000000000 max=2000000000      ", 1, 0},
        {"permits=1000000000 max=2000000000       ", 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        zkl_session *s = session_with(cases[i].data, SOON_MS);
        zkl_queue *queue = NULL;
        REQUIRE_INT(zkl_inspect(s, "a", &queue), ZKL_OK);
        CHECK_INT(zkl_queue_permits(queue), cases[i].permits);
        CHECK_INT(fake_served(GET), cases[i].reads);
        zkl_queue_free(queue);
        CHECK_INT(zkl_session_close(s), ZKL_OK);
    }
    CHECK_INT(zkl_queue_permits(NULL), 0);
}

/* As many leases as there are permits, if nobody else stands before them. */
static void the_first_leases_are_shown_as_holders(void) {
    static const struct {
        const char *data;
        bool has_mutex; /* third of four */
        bool holds[4];
    } cases[] = {
        {"permits=2 max=2", false, {true, true, false, false}},
        {"permits=4 max=4", false, {true, true, true, true}},
        {"permits=4 max=4", true, {true, true, false, false}},
        {"", false, {true, false, false, false}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        zkl_session *s = session_with(cases[i].data, SOON_MS);
        zkl_queue *queue = NULL;
        for (int n = 0; n < 4; n++) {
            char path[128];
            bool is_mutex = n == 2 && cases[i].has_mutex;
            (void)snprintf(path, sizeof(path),
                           DIRECTORY "/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-%s-%010d",
                           is_mutex ? "lock" : "lease", n);
            fake_plant(path);
        }
        REQUIRE_INT(zkl_inspect(s, "a", &queue), ZKL_OK);
        REQUIRE_INT(zkl_queue_count(queue), 4);
        for (size_t n = 0; n < 4; n++)
            CHECK(zkl_queue_at(queue, n)->is_holder == cases[i].holds[n]);
        CHECK_INT(zkl_queue_at(queue, 0)->kind, ZKL_SEMAPHORE);
        zkl_queue_free(queue);
        CHECK_INT(zkl_session_close(s), ZKL_OK);
    }
}

/* Gone since the listing: there is no number. */
static void a_number_that_cannot_be_read_is_not_shown(void) {
    static const int codes[] = {ZNONODE, ZNOAUTH};
    for (size_t i = 0; i < COUNT(codes); i++) {
        zkl_session *s = session_with("permits=2 max=2", SOON_MS);
        zkl_queue *queue = NULL;
        fake_answer(GET, codes[i], 1);
        CHECK_INT(zkl_inspect(s, "a", &queue), codes[i] == ZNOAUTH ? ZKL_DENIED : ZKL_OK);
        CHECK_INT(zkl_queue_permits(queue), 0);
        zkl_queue_free(queue);
        CHECK_INT(zkl_session_close(s), ZKL_OK);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the largest number is kept", the_largest_number_is_kept},
        {"a directory without data gets the number", a_directory_without_data_gets_the_number},
        {"other data are left alone", other_data_are_left_alone},
        {"the handle asks for the number from then on",
         the_handle_asks_for_the_number_from_then_on},
        {"wrong calls are refused", wrong_calls_are_refused},
        {"it is tried until it succeeds", it_is_tried_until_it_succeeds},
        {"what another has set meanwhile is read first",
         what_another_has_set_meanwhile_is_read_first},
        {"a refusal ends it and is logged", a_refusal_ends_it_and_is_logged},
        {"without an answer it ends in time", without_an_answer_it_ends_in_time},
        {"what cannot be sent is tried again", what_cannot_be_sent_is_tried_again},
        {"the end of the session ends it", the_end_of_the_session_ends_it},
        {"rejected credentials end it at once", rejected_credentials_end_it_at_once},
        {"it goes on in another session", it_goes_on_in_another_session},
        {"a look reads what can be a number", a_look_reads_what_can_be_a_number},
        {"the first leases are shown as holders", the_first_leases_are_shown_as_holders},
        {"a number that cannot be read is not shown", a_number_that_cannot_be_read_is_not_shown},
    };
    return TEST_MAIN(argc, argv, "set_permits", cases);
}
