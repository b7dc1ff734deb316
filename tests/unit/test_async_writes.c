/*
 * Guarded writes whose callers go on, over a client library whose answers the tests give: several
 * are under way under one hold, in the order of their calls, whatever is lost in between.
 */
#include "unit/fake_zoo.h"

#include "engine/engine_internal.h"
#include "lock/lock.h"
#include "session/session_internal.h"
#include "support/actor.h"
#include "support/told.h"
#include "zklock_zookeeper.h"

static struct {
    zkl_session *session;
    zkl_lock *lock;
    zkl_hold hold;
} World;

/* A hold, and a client library that answers no transaction by itself. */
static void begin(void) {
    told t;
    World.session = fake_session(HOSTS, NULL);
    World.lock = fake_lock(World.session, "a");
    told_begin(&t, World.lock, ZKL_FOREVER);
    told_check(&t, ZKL_OK);
    World.hold = t.hold;
    fake_keep(MULTI, true);
}

static void end(void) {
    fake_keep(MULTI, false);
    fake_refuse(MULTI, ZOK);
    fake_end(World.session, World.lock);
}

/* Writes this text into the node of the tests. */
static void begin_write(told *t, const char *text, int version) {
    *t = (told){.lock = World.lock};
    REQUIRE_INT(zkl_guarded_set_async(World.lock, World.hold, "/data", text, strlen(text), version,
                                      told_on_done, t),
                ZKL_OK);
}

/* Two operations, of which the last checks. */
static void begin_multi(told *t) {
    static zoo_op_t ops[2];
    static zoo_op_result_t results[2];
    *t = (told){.lock = World.lock};
    zoo_set_op_init(&ops[0], "/data", "m", 1, -1, NULL);
    zoo_check_op_init(&ops[1], "/other", -1);
    REQUIRE_INT(zkl_guarded_multi_async(World.lock, World.hold, 2, ops, results, told_on_done, t),
                ZKL_OK);
}

static size_t under_way(void) {
    size_t count = 0;
    (void)pthread_mutex_lock(&Fake.mutex);
    for (size_t i = 0; i < Fake.handle->call_count; i++)
        count += Fake.handle->calls[i].kind == MULTI;
    (void)pthread_mutex_unlock(&Fake.mutex);
    return count;
}

/* The oldest, which is a write of this text. */
static struct call take_write(const char *text) {
    WAIT_UNTIL(under_way() > 0, SOON_MS);
    struct call call = fake_take();
    const bool is_write = call.kind == MULTI && call.op_count >= 2 &&
                          call.ops[0].type == ZOO_CHECK_OP && call.ops[1].type == ZOO_SETDATA_OP;
    REQUIRE(is_write);
    CHECK_INT(call.ops[1].set_op.datalen, strlen(text));
    CHECK(memcmp(call.ops[1].set_op.data, text, strlen(text)) == 0);
    return call;
}

static void answer(const char *text) {
    const struct call call = take_write(text);
    fake_answer_multi(&call, -1, ZOK);
}

static void lose(const char *text) {
    const struct call call = take_write(text);
    call.done.plain(ZCONNECTIONLOSS, call.data);
}

/* As when the connection is there, and a server refuses the operation of this number. */
static void refuse(const char *text, int number, int code) {
    const struct call call = take_write(text);
    fake_answer_multi(&call, number, code);
}

/* ---- All well ---- */

static void a_write_is_told_and_what_it_was_given_may_go(void) {
    told t = {.lock = NULL};
    char path[] = "/data", text[] = "new";
    begin();
    t.lock = World.lock;
    REQUIRE_INT(zkl_guarded_set_async(World.lock, World.hold, path, text, 3, 7, told_on_done, &t),
                ZKL_OK);
    memset(path, 'x', strlen(path));
    memset(text, 'x', strlen(text));
    const struct call call = take_write("new");
    CHECK(strcmp(call.ops[1].set_op.path, "/data") == 0);
    CHECK_INT(call.ops[1].set_op.version, 7);
    CHECK(!told_is(&t));
    fake_answer_multi(&call, -1, ZOK);
    told_check_done(&t, ZKL_OK, World.hold);
    CHECK(!pthread_equal(t.thread, pthread_self()));
    end();
    told_check_once(&t);
}

static void data_may_be_none(void) {
    told t = {.lock = NULL};
    begin();
    REQUIRE_INT(
        zkl_guarded_set_async(World.lock, World.hold, "/data", NULL, 0, -1, told_on_done, &t),
        ZKL_OK);
    answer("");
    told_check_done(&t, ZKL_OK, World.hold);
    end();
}

static void several_are_under_way_in_order(void) {
    told t[3];
    static const char *const texts[] = {"1", "2", "3"};
    begin();
    for (size_t i = 0; i < COUNT(t); i++)
        begin_write(&t[i], texts[i], -1);
    WAIT_UNTIL(under_way() == COUNT(t), SOON_MS);
    for (size_t i = 0; i < COUNT(t); i++) {
        answer(texts[i]);
        told_check_done(&t[i], ZKL_OK, World.hold);
    }
    end();
}

static void operations_are_told_with_their_results(void) {
    told t = {.lock = NULL};
    struct Stat stat;
    zoo_op_t ops[2];
    zoo_op_result_t results[2] = {{0}};
    begin();
    zoo_set_op_init(&ops[0], "/data", "m", 1, -1, &stat);
    zoo_check_op_init(&ops[1], "/other", 5);
    REQUIRE_INT(zkl_guarded_multi_async(World.lock, World.hold, 2, ops, results, told_on_done, &t),
                ZKL_OK);
    refuse("m", 2, ZBADVERSION);
    told_check_done(&t, ZKL_BAD_VERSION, World.hold);
    CHECK_INT(results[1].err, ZBADVERSION);
    REQUIRE_INT(zkl_guarded_multi_async(World.lock, World.hold, 2, ops, results, told_on_done, &t),
                ZKL_OK);
    answer("m");
    WAIT_UNTIL(atomic_load(&t.times) == 2, SOON_MS);
    CHECK_INT(t.err, ZKL_OK);
    CHECK(results[0].stat == &stat);
    end();
}

/* ---- Errors at once ---- */

static zkl_err set(zkl_hold hold, const char *path, const char *data, size_t length, int version,
                   zkl_done_fn done, void *arg) {
    return zkl_guarded_set_async(World.lock, hold, path, data, length, version, done, arg);
}

static void what_is_not_begun_is_not_told(void) {
    told t = {.err = ZKL_OK};
    zoo_op_t op;
    begin();
    CHECK_INT(set(World.hold, NULL, "x", 1, -1, told_on_done, &t), ZKL_INVALID);
    CHECK_INT(set(World.hold, "relative", "x", 1, -1, told_on_done, &t), ZKL_INVALID);
    CHECK_INT(set(World.hold, "/data", NULL, 1, -1, told_on_done, &t), ZKL_INVALID);
    CHECK_INT(set(World.hold, "/data", "x", ZKL_GUARDED_SET_MAX + 1, -1, told_on_done, &t),
              ZKL_INVALID);
    CHECK_INT(set(World.hold, "/data", "x", 1, -2, told_on_done, &t), ZKL_INVALID);
    CHECK_INT(set(World.hold, "/data", "x", 1, -1, NULL, &t), ZKL_INVALID);
    CHECK_INT(set(World.hold + 1, "/data", "x", 1, -1, told_on_done, &t), ZKL_NOT_HELD);
    zoo_check_op_init(&op, "/other", -1);
    CHECK_INT(zkl_guarded_multi_async(World.lock, World.hold, 0, &op, NULL, told_on_done, &t),
              ZKL_INVALID);
    CHECK_INT(zkl_guarded_multi_async(World.lock, World.hold, 1, NULL, NULL, told_on_done, &t),
              ZKL_INVALID);
    CHECK_INT(zkl_guarded_multi_async(World.lock, World.hold, 1, &op, NULL, NULL, &t), ZKL_INVALID);
    op.type = 99;
    CHECK_INT(zkl_guarded_multi_async(World.lock, World.hold, 1, &op, NULL, told_on_done, &t),
              ZKL_UNSUPPORTED);
    World.session->process++; /* as in a child */
    CHECK_INT(set(World.hold, "/data", "x", 1, -1, told_on_done, &t), ZKL_FORKED);
    World.session->process--;
    CHECK_INT(under_way(), 0);
    CHECK_INT(zkl_session_close(World.session), ZKL_OK);
    CHECK_INT(set(World.hold, "/data", "x", 1, -1, told_on_done, &t), ZKL_CLOSED);
    CHECK_INT(zkl_lock_close(World.lock), ZKL_OK);
    CHECK_INT(atomic_load(&t.times), 0);
}

/* ---- Lost replies ---- */

/* They are sent again one at a time, and one that comes meanwhile is the last. */
static void what_is_lost_is_sent_again_in_order(void) {
    told t[4];
    static const char *const texts[] = {"1", "2", "3", "4"};
    begin();
    for (size_t i = 0; i < 3; i++)
        begin_write(&t[i], texts[i], -1);
    WAIT_UNTIL(under_way() == 3, SOON_MS);
    for (size_t i = 0; i < 3; i++)
        lose(texts[i]);
    begin_write(&t[3], texts[3], -1);
    for (size_t i = 0; i < 3; i++) {
        WAIT_UNTIL(under_way() == 1, SOON_MS);
        answer(texts[i]);
        told_check_done(&t[i], ZKL_OK, World.hold);
        for (size_t k = i + 1; k < COUNT(t); k++)
            CHECK(!told_is(&t[k]));
    }
    answer(texts[3]);
    told_check_done(&t[3], ZKL_OK, World.hold);
    end();
}

/* However often it was lost. */
static void after_that_several_are_under_way_again(void) {
    told t[3];
    begin();
    begin_write(&t[0], "1", -1);
    lose("1");
    lose("1");
    begin_write(&t[1], "2", -1);
    begin_write(&t[2], "3", -1);
    WAIT_UNTIL(under_way() == 1, SOON_MS);
    answer("1");
    WAIT_UNTIL(under_way() == 2, SOON_MS);
    answer("2");
    answer("3");
    for (size_t i = 0; i < COUNT(t); i++)
        told_check_done(&t[i], ZKL_OK, World.hold);
    end();
}

/* The set could undo one of the operations, and not the others. */
static void a_set_before_several_operations_is_not_sent_again(void) {
    told first, several, last;
    begin();
    begin_write(&first, "1", -1);
    begin_multi(&several);
    begin_write(&last, "3", -1);
    WAIT_UNTIL(under_way() == 3, SOON_MS);
    lose("1");
    lose("m");
    lose("3");
    told_check_done(&first, ZKL_UNSURE, World.hold);
    told_check_done(&several, ZKL_UNSURE, World.hold);
    answer("3");
    told_check_done(&last, ZKL_OK, World.hold);
    CHECK_INT(under_way(), 0);
    end();
}

/* Another connection carried the second one before the end of the first was told. */
static void what_a_later_write_has_overtaken_is_not_sent_again(void) {
    told t[2];
    begin();
    begin_write(&t[0], "1", -1);
    begin_write(&t[1], "2", -1);
    WAIT_UNTIL(under_way() == 2, SOON_MS);
    lose("1");
    answer("2");
    told_check_done(&t[1], ZKL_OK, World.hold);
    told_check_done(&t[0], ZKL_UNSURE, World.hold);
    CHECK_INT(under_way(), 0);
    end();
}

/* As above, behind several operations, which are not sent again. */
static void nor_behind_one_that_is_unsure(void) {
    told several, set, last;
    begin();
    begin_multi(&several);
    begin_write(&set, "2", -1);
    WAIT_UNTIL(under_way() == 2, SOON_MS);
    lose("m");
    told_check_done(&several, ZKL_UNSURE, World.hold);
    begin_write(&last, "3", -1);
    WAIT_UNTIL(under_way() == 2, SOON_MS);
    lose("2");
    answer("3");
    told_check_done(&last, ZKL_OK, World.hold);
    told_check_done(&set, ZKL_UNSURE, World.hold);
    CHECK_INT(under_way(), 0);
    end();
}

/* It has changed nothing. */
static void what_a_refused_write_has_overtaken_is_sent_again(void) {
    told t[2];
    begin();
    begin_write(&t[0], "1", -1);
    begin_write(&t[1], "2", 7);
    WAIT_UNTIL(under_way() == 2, SOON_MS);
    lose("1");
    CHECK_INT(under_way(), 1);
    refuse("2", 1, ZBADVERSION);
    told_check_done(&t[1], ZKL_BAD_VERSION, World.hold);
    answer("1");
    told_check_done(&t[0], ZKL_OK, World.hold);
    end();
}

static void a_write_of_another_handle_does_not_wait(void) {
    told mine, hold;
    begin();
    zkl_lock *l = fake_lock(World.session, "b");
    told_begin(&hold, l, ZKL_FOREVER);
    told_check(&hold, ZKL_OK);
    begin_write(&mine, "1", -1);
    lose("1");
    WAIT_UNTIL(under_way() == 1, SOON_MS);
    told other = {.lock = l};
    REQUIRE_INT(zkl_guarded_set_async(l, hold.hold, "/b", "o", 1, -1, told_on_done, &other),
                ZKL_OK);
    WAIT_UNTIL(under_way() == 2, SOON_MS);
    answer("1");
    answer("o");
    told_check_done(&mine, ZKL_OK, World.hold);
    told_check_done(&other, ZKL_OK, hold.hold);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    end();
}

/* The client library has no memory for the first. */
static void one_that_cannot_be_sent_is_not_overtaken(void) {
    told t[2];
    begin();
    fake_refuse(MULTI, ZSYSTEMERROR);
    begin_write(&t[0], "1", -1);
    WAIT_UNTIL(fake_refused(MULTI) > 0, SOON_MS);
    begin_write(&t[1], "2", -1);
    fake_refuse(MULTI, ZOK);
    WAIT_UNTIL(under_way() > 0, SOON_MS);
    answer("1");
    answer("2");
    for (size_t i = 0; i < COUNT(t); i++)
        told_check_done(&t[i], ZKL_OK, World.hold);
    end();
}

/* ---- The hold's end ---- */

static void without_the_node_of_the_hold_all_say_lost(void) {
    told t[2];
    begin();
    begin_write(&t[0], "1", -1);
    begin_write(&t[1], "2", -1);
    WAIT_UNTIL(under_way() == 2, SOON_MS);
    refuse("1", 0, ZNONODE);
    refuse("2", 0, ZNONODE);
    for (size_t i = 0; i < COUNT(t); i++)
        told_check_done(&t[i], ZKL_LOST, World.hold);
    CHECK(!zkl_hold_valid(World.lock, World.hold));
    end();
}

static void a_release_ends_those_that_are_not_sent(void) {
    told t[2];
    begin();
    begin_write(&t[0], "1", -1);
    lose("1");
    WAIT_UNTIL(under_way() == 1, SOON_MS);
    begin_write(&t[1], "2", -1);
    CHECK_INT(zkl_release_hold(World.lock, World.hold), ZKL_OK);
    told_check_done(&t[1], ZKL_NOT_HELD, World.hold);
    CHECK(!told_is(&t[0]));
    answer("1");
    told_check_done(&t[0], ZKL_OK, World.hold);
    end();
}

/* The node has another version than that of the first attempt, or the read that tells comes to
 * nothing: after the hold nobody else would end the write. */
static void a_read_that_cannot_be_sent_after_the_hold_ends_the_write(void) {
    told t;
    begin();
    begin_write(&t, "1", 4);
    lose("1");
    const struct call again = take_write("1");
    fake_refuse(GET, ZSYSTEMERROR);
    CHECK_INT(zkl_release_hold(World.lock, World.hold), ZKL_OK);
    fake_answer_multi(&again, 1, ZBADVERSION);
    told_check_done(&t, ZKL_UNSURE, World.hold);
    fake_refuse(GET, ZOK);
    end();
}

/* ---- Closing ---- */

/* What the servers answer later is nobody's. */
static void a_close_of_the_handle_tells_of_those_under_way(void) {
    told t[2];
    begin();
    begin_write(&t[0], "1", -1);
    begin_multi(&t[1]);
    const struct call first = take_write("1"), second = take_write("m");
    CHECK_INT(zkl_lock_close(World.lock), ZKL_OK);
    for (size_t i = 0; i < COUNT(t); i++) {
        told_check_once(&t[i]);
        CHECK_INT(t[i].err, ZKL_UNSURE);
    }
    fake_answer_multi(&first, -1, ZOK);
    fake_answer_multi(&second, -1, ZOK);
    fake_keep(MULTI, false);
    CHECK_INT(zkl_session_close(World.session), ZKL_OK);
    for (size_t i = 0; i < COUNT(t); i++)
        told_check_once(&t[i]);
}

static void a_close_of_the_session_tells_of_all(void) {
    told t[3];
    begin();
    begin_write(&t[0], "1", -1);
    begin_write(&t[1], "2", -1);
    lose("1");
    lose("2");
    begin_write(&t[2], "3", -1);
    CHECK_INT(zkl_session_close(World.session), ZKL_OK);
    for (size_t i = 0; i < COUNT(t); i++)
        told_check_once(&t[i]);
    CHECK_INT(t[0].err, ZKL_UNSURE);
    CHECK_INT(t[1].err, ZKL_UNSURE);
    CHECK_INT(t[2].err, ZKL_CLOSED);
    CHECK_INT(zkl_lock_close(World.lock), ZKL_OK);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a write is told, and what it was given may go",
         a_write_is_told_and_what_it_was_given_may_go},
        {"data may be none", data_may_be_none},
        {"several are under way, in order", several_are_under_way_in_order},
        {"operations are told with their results", operations_are_told_with_their_results},
        {"what is not begun is not told", what_is_not_begun_is_not_told},
        {"what is lost is sent again in order", what_is_lost_is_sent_again_in_order},
        {"after that several are under way again", after_that_several_are_under_way_again},
        {"a set before several operations is not sent again",
         a_set_before_several_operations_is_not_sent_again},
        {"what a later write has overtaken is not sent again",
         what_a_later_write_has_overtaken_is_not_sent_again},
        {"nor behind one that is unsure", nor_behind_one_that_is_unsure},
        {"what a refused write has overtaken is sent again",
         what_a_refused_write_has_overtaken_is_sent_again},
        {"a write of another handle does not wait", a_write_of_another_handle_does_not_wait},
        {"one that cannot be sent is not overtaken", one_that_cannot_be_sent_is_not_overtaken},
        {"without the node of the hold all say LOST", without_the_node_of_the_hold_all_say_lost},
        {"a release ends those that are not sent", a_release_ends_those_that_are_not_sent},
        {"a read that cannot be sent after the hold ends the write",
         a_read_that_cannot_be_sent_after_the_hold_ends_the_write},
        {"a close of the handle tells of those under way",
         a_close_of_the_handle_tells_of_those_under_way},
        {"a close of the session tells of all", a_close_of_the_session_tells_of_all},
    };
    return TEST_MAIN(argc, argv, "async_writes", cases);
}
