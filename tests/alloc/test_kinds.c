/* As test_calls.c, for what only some kinds of lock can do. */
#include "alloc/fail_each.h"

static zkl_err call_downgrade(void *lock) {
    return zkl_downgrade(lock);
}

/* The transaction is sent when there is memory for it; without any for the call itself, nothing is
 * done. */
static void downgrade(void) {
    client *c = client_open(fresh_name("downgrade"), T_NORMAL);

    client_be(c, ZKL_WRITE);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    const int64_t token = client_token(c);
    arm();
    actor_begin(c->actor, call_downgrade, c->lock);
    zkl_err err = ACTOR_BUSY;
    if (!IsLasting) {
        err = client_result(c);
    } else {
        WAIT_UNTIL(client_is_done(c) || actor_is_blocked(c->actor), SOON_MS);
        failing_disarm(); /* it goes on trying */
        err = client_result(c);
    }
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK(client_held(c));
    CHECK_INT(client_token(c), token);
    WAIT_UNTIL(client_nodes(c) == 1, SOON_MS);
    if (err != ZKL_OK) {
        actor_begin(c->actor, call_downgrade, c->lock);
        CHECK_INT(client_result(c), ZKL_OK);
    }
    CHECK_INT(client_release_wait(c), ZKL_OK);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    client_close(c);
}

static void a_writer_becomes_a_reader_or_there_is_no_memory(void) {
    fail_each(downgrade);
}

/* It needs no server, so nothing is waited for. */
static void read_inside(void) {
    client *c = client_open(fresh_name("inside"), T_NORMAL);
    zkl_lock *inner = NULL;

    client_be(c, ZKL_WRITE);
    REQUIRE_INT(zkl_lock_open(&inner, c->session, c->name, &ZKL_LOCK_OPTIONS(.kind = ZKL_READ)),
                ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    actor_acquire(c->actor, inner, ZKL_FOREVER);
    zkl_err err = client_result(c);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK(actor_held(c->actor, inner) == (err == ZKL_OK));
    if (err != ZKL_OK)
        CHECK_INT((actor_acquire(c->actor, inner, 0), client_result(c)), ZKL_OK);
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK(actor_held(c->actor, inner));
    CHECK_INT(actor_release_wait(c->actor, inner, SOON_MS), ZKL_OK);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    lock_close(inner);
    client_close(c);
}

static void a_writer_reads_inside_or_there_is_no_memory(void) {
    fail_each(read_inside);
}

/* The reader inside goes on. Another is let in as soon as there is memory for the transaction. */
static void leave_reader(void) {
    client *c = client_open(fresh_name("outer"), T_NORMAL);
    client *other = client_open(c->name, T_NORMAL);
    zkl_lock *inner = NULL;

    client_be(c, ZKL_WRITE);
    client_be(other, ZKL_READ);
    REQUIRE_INT(zkl_lock_open(&inner, c->session, c->name, &ZKL_LOCK_OPTIONS(.kind = ZKL_READ)),
                ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT((actor_acquire(c->actor, inner, 0), client_result(c)), ZKL_OK);
    arm();
    CHECK_INT(client_release(c), ZKL_OK);
    CHECK(actor_held(c->actor, inner));
    client_begin(other, SOON_MS);
    WAIT_UNTIL(client_is_done(other) || failing_failed() > 0, SOON_MS);
    failing_disarm();
    check_nomem_or(client_result(other), ZKL_OK);
    if (!client_held(other))
        CHECK_INT(client_acquire(other, SOON_MS), ZKL_OK);
    CHECK(actor_held(c->actor, inner));
    CHECK_INT(client_release(other), ZKL_OK);
    CHECK_INT(actor_release_wait(c->actor, inner, SOON_MS), ZKL_OK);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    lock_close(inner);
    client_close(other);
    client_close(c);
}

static void a_writer_that_leaves_its_reader_lets_others_in(void) {
    fail_each(leave_reader);
}

static const test_case Cases[] = {
    {"a writer becomes a reader, or there is no memory",
     a_writer_becomes_a_reader_or_there_is_no_memory},
    {"a writer reads inside, or there is no memory", a_writer_reads_inside_or_there_is_no_memory},
    {"a writer that leaves its reader lets others in",
     a_writer_that_leaves_its_reader_lets_others_in},
};

int main(int argc, char **argv) {
    return fail_each_main(argc, argv, "kinds", Cases, sizeof(Cases) / sizeof(Cases[0]));
}
