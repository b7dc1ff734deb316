/* As test_calls.c, for a node that stays when its hold is given up, idle or with another thread. */
#include "alloc/fail_each.h"

#define LINGER_MS 60000
/* What another process that lingers has in its node's name. */
#define KEPT "_c_f47ac10b-58cc-8372-a567-0e02b2c3d479-lock-"

static client *open_lingering(const char *name) {
    client *c = client_open_proxied(fresh_name(name), T_NORMAL);

    client_be_lingering(c, ZKL_MUTEX, LINGER_MS);
    return c;
}

static client *open_idle(const char *name) {
    client *c = open_lingering(name);

    (void)client_become_idle(c);
    return c;
}

/* Whatever there was no memory for, the next hold is a good one, its node stays after it, and goes
 * when another contender comes. Ends with the client closed. */
static void finish_idle(client *c) {
    char other[RAW_PATH_MAX];

    failing_disarm();
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    check_holds(c);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK_INT(client_nodes(c), 1);
    plant_contender(c->name, CURATOR, other);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
    uproot(other);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(c);
}

/* As a try of another client does. */
static void ask(client *c) {
    char own[RAW_PATH_MAX];

    client_node(c, own);
    REQUIRE_INT(raw_set(fixture_raw(), own, "zklock1 ask=1", 13), RAW_OK);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
}

/* ---- By its owner ---- */

/* If there was no memory to watch the node, a heartbeat does that later. */
static void hold_and_release(void) {
    client *c = open_lingering("hold");

    arm();
    zkl_err err = client_acquire(c, SOON_MS);
    if (err == ZKL_OK) {
        check_holds(c);
        CHECK_INT(client_release(c), ZKL_OK);
    }
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    WAIT_UNTIL(client_nodes(c) == (err == ZKL_OK), SOON_MS);
    if (err == ZKL_OK)
        ask(c);
    finish_idle(c);
}

static void a_node_stays_or_there_is_no_memory(void) {
    fail_each(hold_and_release);
}

static int64_t Timeout; /* of the next acquire */

static void hold_again(void) {
    client *c = open_lingering("again");
    const int64_t token = client_become_idle(c);

    arm();
    const zkl_err err = client_acquire(c, Timeout);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK_INT(client_token(c), err == ZKL_OK ? token : 0);
    CHECK_INT(client_nodes(c), 1); /* without memory nothing was done */
    if (err == ZKL_OK)
        CHECK_INT(client_release(c), ZKL_OK);
    finish_idle(c);
}

static void it_is_held_again_or_there_is_no_memory(void) {
    Timeout = SOON_MS;
    fail_each(hold_again);
    Timeout = 0;
    fail_each(hold_again);
}

static bool Hands; /* the node is handed on, or idle in between */

static void let_a_thread_have_it(void) {
    client *c = client_open(fresh_name("thread"), T_NORMAL);
    actor *second = actor_new();
    char behind[RAW_PATH_MAX];

    if (Hands)
        client_be_handing_on(c, 1);
    else
        client_be_lingering(c, ZKL_MUTEX, LINGER_MS);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    const int64_t token = client_token(c);
    arm();
    actor_acquire(second, c->lock, SOON_MS);
    WAIT_UNTIL(actor_is_blocked(second), SOON_MS);
    CHECK_INT(client_release(c), ZKL_OK);
    const zkl_err err = actor_result(second, SOON_MS);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK_INT(actor_token(second, c->lock), err == ZKL_OK ? token : 0);
    plant_contender(c->name, CURATOR, behind);
    if (err == ZKL_OK)
        CHECK_INT(actor_release(second, c->lock), ZKL_OK);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    uproot(behind);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    check_holds(c);
    CHECK_INT(client_told(c, ZKL_EVENT_LOST), 0);
    client_close(c);
    actor_free(second);
}

static void a_thread_that_waits_has_it_or_no_memory(void) {
    Hands = true;
    fail_each(let_a_thread_have_it);
    Hands = false;
    fail_each(let_a_thread_have_it);
}

/* ---- Its end, which takes no memory ---- */

static void let_its_time_pass(void) {
    client *c = client_open(fresh_name("time"), T_NORMAL);

    client_be_lingering(c, ZKL_MUTEX, 20);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    CHECK_INT(client_release(c), ZKL_OK);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    failing_disarm();
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    check_holds(c);
    client_close(c);
}

static void it_goes_in_time_without_memory(void) {
    fail_each(let_its_time_pass);
}

static void want_it(void) {
    client *c = open_idle("wanted");
    char other[RAW_PATH_MAX];

    arm();
    plant_contender(c->name, CURATOR, other);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    uproot(other);
    finish_idle(c);
}

static void ask_for_it(void) {
    client *c = open_idle("asked");

    arm();
    ask(c);
    finish_idle(c);
}

static void lose_its_connection(void) {
    client *c = open_idle("flap");

    arm();
    client_flap(c);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    finish_idle(c);
}

static void it_goes_when_it_is_wanted_without_memory(void) {
    fail_each(want_it);
    fail_each(ask_for_it);
    fail_each(lose_its_connection);
}

static void close_its_handle(void) {
    client *c = open_idle("handle");

    arm();
    client_close_lock(c);
    WAIT_UNTIL(queue_length(c->name) == 0, SOON_MS);
    failing_disarm();
    client_close(c);
}

static void close_its_session(void) {
    client *c = open_idle("session");

    arm();
    session_close(c->session);
    c->session = NULL;
    failing_disarm();
    WAIT_UNTIL(queue_length(c->name) == 0, SOON_MS);
    CHECK_INT(client_acquire(c, 0), ZKL_CLOSED);
    client_close(c);
}

static void a_close_ends_it_without_memory(void) {
    fail_each(close_its_handle);
    fail_each(close_its_session);
}

/* ---- Another's ---- */

static bool is_asked(const char *path) {
    char text[64];
    size_t length = sizeof(text) - 1;

    REQUIRE_INT(raw_get(fixture_raw(), path, text, &length, NULL), RAW_OK);
    text[length] = '\0';
    return strcmp(text, "zklock1 ask=1 pid=1") == 0;
}

/* It is busy whether it has asked or not, and then the next one asks. */
static void try_to_have_it(void) {
    client *c = client_open(fresh_name("ask"), T_NORMAL);
    char holder[RAW_PATH_MAX];

    plant_contender(c->name, KEPT, holder);
    REQUIRE_INT(raw_set(fixture_raw(), holder, "zklock1 pid=1", 13), RAW_OK);
    arm();
    check_nomem_or(client_acquire(c, 0), ZKL_BUSY);
    failing_disarm();
    CHECK(is_asked(holder) || failing_failed() > 0);
    CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
    CHECK(is_asked(holder));
    uproot(holder);
    finish(c, client_acquire(c, 0));
}

static void a_try_asks_or_there_is_no_memory(void) {
    fail_each(try_to_have_it);
}

static const test_case Cases[] = {
    {"a node stays, or there is no memory", a_node_stays_or_there_is_no_memory},
    {"it is held again, or there is no memory", it_is_held_again_or_there_is_no_memory},
    {"a thread that waits has it, or no memory", a_thread_that_waits_has_it_or_no_memory},
    {"it goes in time, without memory, too", it_goes_in_time_without_memory},
    {"it goes when it is wanted, without memory, too", it_goes_when_it_is_wanted_without_memory},
    {"a close ends it, without memory, too", a_close_ends_it_without_memory},
    {"a try asks for another's, or there is no memory", a_try_asks_or_there_is_no_memory},
};

int main(int argc, char **argv) {
    return fail_each_main(argc, argv, "linger", Cases, sizeof(Cases) / sizeof(Cases[0]));
}
