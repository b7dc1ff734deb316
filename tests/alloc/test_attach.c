/* As test_calls.c, for a session by a handle that the program has. */
#include "alloc/fail_each.h"

#include "support/program.h"

static program Program;

static zkl_err attach(zkl_session **ret_session, events *e) {
    return zkl_session_attach(ret_session, Program.zh,
                              &ZKL_SESSION_OPTIONS(.root = fixture_root(), .chroot = "",
                                                   .on_event = events_on, .arg = e,
                                                   .made_ms = Program.made_ms));
}

/* Whatever failed, the close leaves nothing in the handle's session. */
static void end(zkl_session *s, zkl_lock *l, events *e) {
    lock_close(l);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK_INT(queue_owned("attached", zoo_client_id(Program.zh)->client_id), 0);
    CHECK_INT(zoo_state(Program.zh), ZOO_CONNECTED_STATE);
    program_end(&Program);
    events_free(e);
}

static void attach_a_session(void) {
    events *e = events_new();
    zkl_session *s = NULL;

    Program = program_new(T_NORMAL);
    program_connect(&Program);
    arm();
    const zkl_err err = attach(&s, e);
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK((err == ZKL_OK) == (s != NULL));
    if (err != ZKL_OK)
        REQUIRE_INT(attach(&s, e), ZKL_OK);
    zkl_lock *l = lock_open(s, "attached", NULL);
    CHECK_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    end(s, l, e);
}

static void a_session_is_attached_or_there_is_no_memory(void) {
    fail_each(attach_a_session);
}

static void close_with_a_hold(void) {
    events *e = events_new();
    zkl_session *s = NULL;

    Program = program_new(T_NORMAL);
    program_connect(&Program);
    REQUIRE_INT(attach(&s, e), ZKL_OK);
    zkl_lock *l = lock_open(s, "attached", NULL);
    arm();
    zkl_err err = zkl_acquire(l, SOON_MS);
    check_nomem_or(err, ZKL_OK);
    if (err == ZKL_OK)
        CHECK(zkl_held(l));
    end(s, l, e);
    failing_disarm();
}

static void a_close_takes_back_a_hold_without_memory(void) {
    fail_each(close_with_a_hold);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a session is attached, or there is no memory",
         a_session_is_attached_or_there_is_no_memory},
        {"a close takes back a hold without memory", a_close_takes_back_a_hold_without_memory},
    };
    return fail_each_main(argc, argv, "attach", cases, COUNT(cases));
}
