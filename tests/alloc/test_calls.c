/*
 * Every call of the library with each of its own allocations failing in turn: nothing crashes,
 * hangs or leaks, the error is clear, and afterwards the same call succeeds.
 */
#include "alloc/fail_each.h"

#include "support/target.h"

#include <zklock_zookeeper.h>
#include <zookeeper/zookeeper.h>

/* ---- Session and handle ---- */

static zkl_session_options all_options(events *e) {
    return (zkl_session_options){
        .size = sizeof(zkl_session_options),
        .root = fixture_root(),
        .label = "label",
        .auth_scheme = "digest",
        .auth = "user:password",
        .acl = ZKL_ACL_CREATOR,
        .on_event = events_on,
        .log = events_log,
        .arg = e,
    };
}

static void open_a_session(void) {
    events *e = events_new();
    const zkl_session_options options = all_options(e);
    zkl_session *s = NULL;

    arm();
    zkl_err err = zkl_session_open(&s, server_hosts(), &options);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK((err == ZKL_OK) == (s != NULL));
    if (err != ZKL_OK)
        REQUIRE_INT(zkl_session_open(&s, server_hosts(), &options), ZKL_OK);
    CHECK_INT(zkl_session_state(s), ZKL_STATE_CONNECTED);
    session_close(s);
    events_free(e);
}

static void a_session_opens_or_has_no_memory(void) {
    fail_each(open_a_session);
}

static void open_a(zkl_kind kind, int permits) {
    events *e = events_new();
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    const zkl_lock_options options = ZKL_LOCK_OPTIONS(.on_event = events_on, .arg = e,
                                                      .label = "label", .kind = kind,
                                                      .permits = permits);
    zkl_lock *l = NULL;

    arm();
    zkl_err err = zkl_lock_open(&l, s, "open", &options);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK((err == ZKL_OK) == (l != NULL));
    if (err != ZKL_OK)
        REQUIRE_INT(zkl_lock_open(&l, s, "open", &options), ZKL_OK);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    lock_close(l);
    session_close(s);
    events_free(e);
}

static void open_a_mutex(void) {
    open_a(ZKL_MUTEX, 0);
}

static void open_a_semaphore(void) {
    open_a(ZKL_SEMAPHORE, 1);
}

static void a_handle_opens_or_has_no_memory(void) {
    fail_each(open_a_mutex);
    fail_each(open_a_semaphore);
}

/* A list that was taken is used: the session comes back at the new place. */
static void set_hosts(void) {
    client *c = client_open_proxied("hosts", T_NORMAL);
    proxy *other = proxy_open(server_hosts(), "127.0.0.2");

    REQUIRE(other != NULL);
    arm();
    zkl_err err = zkl_session_set_hosts(c->session, proxy_hosts(other));
    check_nomem_or(err, ZKL_OK);
    if (err == ZKL_OK)
        WAIT_UNTIL(IsLasting || proxy_links(other) == 1, SOON_MS);
    failing_disarm();
    if (err != ZKL_OK)
        REQUIRE_INT(zkl_session_set_hosts(c->session, proxy_hosts(other)), ZKL_OK);
    WAIT_UNTIL(proxy_links(other) == 1, SOON_MS);
    WAIT_UNTIL(client_is_connected(c), SOON_MS);
    client_close(c);
    proxy_close(other);
}

static void a_list_of_servers_is_taken_and_used_or_there_is_no_memory(void) {
    fail_each(set_hosts);
}

static void end_a_session(void) {
    client *c = client_open("ticket", T_NORMAL);
    char ticket[ZKL_TICKET_SIZE];

    REQUIRE_INT(zkl_session_ticket(c->session, ticket, sizeof(ticket)), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    const zkl_err err = zkl_session_end(server_hosts(), ticket, SOON_MS);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK(err == ZKL_OK ? queue_length(c->name) == 0 : client_held(c));
    client_close(c);
}

static void a_session_is_ended_from_outside_or_there_is_no_memory(void) {
    fail_each(end_a_session);
}

/* ---- Acquire ---- */

static void acquire_a_free_lock(void) {
    client *c = client_open("free", T_NORMAL);

    arm();
    finish(c, client_acquire(c, SOON_MS));
}

static void a_free_lock_is_acquired_or_there_is_no_memory(void) {
    fail_each(acquire_a_free_lock);
}

static void a_nested_acquire_allocates_nothing_for_a_grant(void) {
    events *e = events_new();
    zkl_session *s = session_open(server_hosts(), T_NORMAL, NULL);
    const zkl_lock_options options = ZKL_LOCK_OPTIONS(.on_event = events_on, .arg = e,
                                                      .recursive = true);
    zkl_lock *l = NULL;

    REQUIRE_INT(zkl_lock_open(&l, s, fresh_name("nested"), &options), ZKL_OK);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    const size_t live = failing_live(FAILING_OWN);
    failing_arm(FAILING_OWN, 0, false);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    CHECK_INT(failing_asked(), 0);
    failing_disarm();
    CHECK_INT(failing_live(FAILING_OWN), live);
    CHECK_INT(zkl_release(l), ZKL_OK);
    CHECK_INT(zkl_release(l), ZKL_OK);
    lock_close(l);
    session_close(s);
    events_free(e);
}

static void acquire_in_a_new_directory(void) {
    client *c = client_open(fresh_name("new/directory"), T_NORMAL);

    arm();
    finish(c, client_acquire(c, SOON_MS));
}

static void a_lock_without_a_directory_is_acquired_or_there_is_no_memory(void) {
    fail_each(acquire_in_a_new_directory);
}

static void wait_for_a_predecessor(void) {
    client *c = client_open("wait", T_NORMAL);
    char holder[RAW_PATH_MAX];

    plant_contender(c->name, CURATOR, holder);
    wait_behind(c, holder);
}

static void a_predecessor_is_waited_for_or_there_is_no_memory(void) {
    fail_each(wait_for_a_predecessor);
}

/* The numbers are near their end, so that each sibling is read. */
static void wait_by_zxid(void) {
    client *c = client_open(fresh_name("order"), T_NORMAL);
    char holder[RAW_PATH_MAX];

    plant(c->name, CURATOR "2147483647", RAW_EPHEMERAL, holder);
    wait_behind(c, holder);
}

static void an_order_by_zxid_is_found_or_there_is_no_memory(void) {
    fail_each(wait_by_zxid);
}

static void try_a_free_lock(void) {
    client *c = client_open("try", T_NORMAL);

    arm();
    finish(c, client_acquire(c, 0));
}

static void a_try_succeeds_or_there_is_no_memory(void) {
    fail_each(try_a_free_lock);
}

static void try_a_taken_lock(void) {
    client *c = client_open("try-taken", T_NORMAL);
    char holder[RAW_PATH_MAX];

    plant_contender(c->name, CURATOR, holder);
    arm();
    check_nomem_or(client_acquire(c, 0), ZKL_BUSY);
    failing_disarm();
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
    uproot(holder);
    finish(c, client_acquire(c, 0));
}

static void a_try_of_a_taken_lock_is_busy_or_there_is_no_memory(void) {
    fail_each(try_a_taken_lock);
}

static void run_out_of_time(void) {
    client *c = client_open("timeout", T_NORMAL);
    char holder[RAW_PATH_MAX];

    plant_contender(c->name, CURATOR, holder);
    arm();
    check_nomem_or(client_acquire(c, 30), ZKL_TIMEOUT);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS); /* cleared away without memory */
    uproot(holder);
    failing_disarm();
    finish(c, client_acquire(c, SOON_MS));
}

static void a_timeout_leaves_nothing_or_there_is_no_memory(void) {
    fail_each(run_out_of_time);
}

static void cancel_a_wait(void) {
    client *c = client_open("cancel", T_NORMAL);
    char holder[RAW_PATH_MAX];

    plant_contender(c->name, CURATOR, holder);
    arm();
    queue_up(c);
    CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
    check_nomem_or(client_result(c), ZKL_CANCELED);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    uproot(holder);
    failing_disarm();
    finish(c, client_acquire(c, SOON_MS));
}

static void a_cancel_leaves_nothing_or_there_is_no_memory(void) {
    fail_each(cancel_a_wait);
}

/* The one behind in the same process gets its contender when the first has released. */
static void hand_on_in_the_process(void) {
    client *c = client_open("local", T_NORMAL);
    actor *second = actor_new();

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    actor_acquire(second, c->lock, SOON_MS);
    WAIT_UNTIL(actor_is_blocked(second), SOON_MS);
    CHECK_INT(client_release(c), ZKL_OK);
    zkl_err err = actor_result(second, SOON_MS);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    WAIT_UNTIL(client_nodes(c) == (err == ZKL_OK), SOON_MS);
    CHECK(actor_held(second, c->lock) == (err == ZKL_OK));
    if (err == ZKL_OK)
        CHECK_INT(actor_release_wait(second, c->lock, SOON_MS), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    check_holds(c);
    client_close(c);
    actor_free(second);
}

static void a_thread_behind_another_acquires_or_has_no_memory(void) {
    fail_each(hand_on_in_the_process);
}

/* ---- The hold, and giving it up ---- */

static void look_at_a_hold(void) {
    client *c = client_open("hold", T_LONG);
    char path[RAW_PATH_MAX];

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_HELD) == 1, SOON_MS);
    arm();
    CHECK(client_held(c));
    CHECK(client_token(c) != 0);
    CHECK(zkl_hold_valid(c->lock, actor_hold(c->actor, c->lock)));
    CHECK(!zkl_held(c->lock));
    CHECK_INT(zkl_remaining_ms(c->lock), 0);
    CHECK_INT(zkl_node_path(c->lock, path, sizeof(path)), ZKL_NOT_HELD);
    CHECK_INT(zkl_session_state(c->session), ZKL_STATE_CONNECTED);
    CHECK(zkl_session_id(c->session) != 0);
    CHECK(zkl_session_timeout_ms(c->session) > 0);
    CHECK_INT(failing_asked(), 0);
    failing_disarm();
    client_close(c);
}

static void questions_about_a_hold_allocate_nothing(void) {
    fail_each(look_at_a_hold);
}

static void release_by(zkl_err (*release)(client *c)) {
    client *c = client_open("release", T_NORMAL);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    CHECK_INT(release(c), ZKL_OK);
    CHECK(!client_held(c));
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    failing_disarm();
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    check_holds(c);
    client_close(c);
}

static zkl_err release_hold(client *c) {
    return zkl_release_hold(c->lock, actor_hold(c->actor, c->lock));
}

static void release(void) {
    release_by(client_release);
}

static void release_by_number(void) {
    release_by(release_hold);
}

static void release_and_wait(void) {
    release_by(client_release_wait);
}

static void a_release_is_done_without_memory_too(void) {
    fail_each(release);
    fail_each(release_by_number);
    fail_each(release_and_wait);
}

static void close_a_holder_and_a_waiter(void) {
    client *c = client_open("close", T_NORMAL), *waiter = client_open_on(c, "close");

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_queue_up(waiter, 2);
    arm();
    client_close_lock(waiter);
    check_nomem_or(client_result(waiter), ZKL_CLOSED); /* it may just be setting its watches */
    WAIT_UNTIL(queue_length("close") == 1, SOON_MS);
    client_close_lock(c);
    WAIT_UNTIL(queue_length("close") == 0, SOON_MS);
    session_close(c->session);
    c->session = NULL;
    failing_disarm();
    client_close(waiter);
    client_close(c);
}

static void close_a_session_in_use(void) {
    client *c = client_open("close-session", T_NORMAL);
    client *waiter = client_open_on(c, "close-session");

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_queue_up(waiter, 2);
    arm();
    session_close(c->session);
    c->session = NULL;
    check_nomem_or(client_result(waiter), ZKL_CLOSED); /* it may just be setting its watches */
    WAIT_UNTIL(queue_length("close-session") == 0, SOON_MS);
    CHECK_INT(client_release(c), ZKL_CLOSED);
    failing_disarm();
    client_close(waiter);
    client_close(c);
}

/* The end of the session cannot be said, and the client library takes its time to give up; without
 * memory there is no thread to leave that to. */
static void close_a_session_that_nobody_answers(void) {
    client *c = client_open_proxied("close-silent", T_SHORT);

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_silence(c, true);
    arm();
    session_close(c->session);
    c->session = NULL;
    failing_disarm();
    client_close(c);
}

static void a_close_ends_everything_without_memory(void) {
    fail_each(close_a_holder_and_a_waiter);
    fail_each(close_a_session_in_use);
    fail_each(close_a_session_that_nobody_answers);
}

/* ---- Looking at queues ---- */

static void inspect(void) {
    client *c = client_open("inspect", T_NORMAL);
    zkl_queue *queue = NULL;
    char behind[RAW_PATH_MAX];

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    plant_contender(c->name, CURATOR, behind);
    arm();
    zkl_err err = zkl_inspect(c->session, c->name, &queue);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK((err == ZKL_OK) == (queue != NULL));
    if (err != ZKL_OK)
        REQUIRE_INT(zkl_inspect(c->session, c->name, &queue), ZKL_OK);
    CHECK_INT(zkl_queue_count(queue), 2);
    CHECK_INT(zkl_queue_at(queue, 0)->token, client_token(c));
    zkl_queue_free(queue);
    uproot(behind);
    client_close(c);
}

static void count_lock(const char *name, size_t contenders, void *arg) {
    size_t *count = arg;

    CHECK_STRING(name, "list/a/b");
    CHECK_INT(contenders, 1);
    ++*count;
}

static void list(void) {
    client *c = client_open("list/a/b", T_NORMAL);
    size_t count = 0;

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    zkl_err err = zkl_list(c->session, "list", count_lock, &count);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK_INT(count, err == ZKL_OK);
    CHECK_INT(zkl_list(c->session, "list", count_lock, &count), ZKL_OK);
    client_close(c);
}

static void queues_are_shown_whole_or_there_is_no_memory(void) {
    fail_each(inspect);
    fail_each(list);
}

/* ---- Guarded writes ---- */

static void set_under_a_guard(void) {
    client *c = client_open("set", T_NORMAL);
    const char *path = target_new();

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    zkl_err err = guarded_set(c, path, "one", 0);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    target_check(path, err == ZKL_OK ? "one" : "zero", err == ZKL_OK);
    check_holds(c);
    client_close(c);
}

struct several {
    zkl_lock *lock;
    zoo_op_t ops[3];
    zoo_op_result_t results[3];
};

static zkl_err run_several(void *arg) {
    struct several *call = arg;

    return zkl_guarded_multi(call->lock, 3, call->ops, call->results);
}

static void do_several_under_a_guard(void) {
    client *c = client_open("several", T_NORMAL);
    const char *path = target_new(), *gone = target_new();
    char prefix[RAW_PATH_MAX], made[RAW_PATH_MAX] = "";
    struct several call = {.lock = c->lock};

    (void)snprintf(prefix, sizeof(prefix), "%s/made-", path);
    zoo_set_op_init(&call.ops[0], path, "one", 3, 0, NULL);
    zoo_create_op_init(&call.ops[1], prefix, "new", 3, &ZOO_OPEN_ACL_UNSAFE, ZOO_SEQUENCE, made,
                       sizeof(made));
    zoo_delete_op_init(&call.ops[2], gone, 0);
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    actor_begin(c->actor, run_several, &call);
    zkl_err err = client_result(c);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    target_check(path, err == ZKL_OK ? "one" : "zero", err == ZKL_OK);
    CHECK_INT(raw_exists(fixture_raw(), gone), err != ZKL_OK);
    CHECK_INT(made[0] != '\0', err == ZKL_OK);
    check_holds(c);
    client_close(c);
}

static void a_guarded_write_is_made_or_there_is_no_memory(void) {
    fail_each(set_under_a_guard);
    fail_each(do_several_under_a_guard);
}

static const test_case Cases[] = {
    {"a session opens, or there is no memory", a_session_opens_or_has_no_memory},
    {"a handle opens, or there is no memory", a_handle_opens_or_has_no_memory},
    {"a list of servers is taken and used, or there is no memory",
     a_list_of_servers_is_taken_and_used_or_there_is_no_memory},
    {"a nested acquire allocates nothing for a grant",
     a_nested_acquire_allocates_nothing_for_a_grant},
    {"a session is ended from outside, or there is no memory",
     a_session_is_ended_from_outside_or_there_is_no_memory},
    {"a free lock is acquired, or there is no memory",
     a_free_lock_is_acquired_or_there_is_no_memory},
    {"a lock without a directory is acquired, or there is no memory",
     a_lock_without_a_directory_is_acquired_or_there_is_no_memory},
    {"a predecessor is waited for, or there is no memory",
     a_predecessor_is_waited_for_or_there_is_no_memory},
    {"an order by zxid is found, or there is no memory",
     an_order_by_zxid_is_found_or_there_is_no_memory},
    {"a try succeeds, or there is no memory", a_try_succeeds_or_there_is_no_memory},
    {"a try of a taken lock is busy, or there is no memory",
     a_try_of_a_taken_lock_is_busy_or_there_is_no_memory},
    {"a timeout leaves nothing behind, without memory, too",
     a_timeout_leaves_nothing_or_there_is_no_memory},
    {"a cancel leaves nothing behind, without memory, too",
     a_cancel_leaves_nothing_or_there_is_no_memory},
    {"a thread behind another one acquires, or has no memory",
     a_thread_behind_another_acquires_or_has_no_memory},
    {"questions about a hold allocate nothing", questions_about_a_hold_allocate_nothing},
    {"a release is done, without memory, too", a_release_is_done_without_memory_too},
    {"a close ends everything, without memory, too", a_close_ends_everything_without_memory},
    {"queues are shown whole, or there is no memory", queues_are_shown_whole_or_there_is_no_memory},
    {"a guarded write is made, or there is no memory",
     a_guarded_write_is_made_or_there_is_no_memory},
};

int main(int argc, char **argv) {
    return fail_each_main(argc, argv, "calls", Cases, sizeof(Cases) / sizeof(Cases[0]));
}
