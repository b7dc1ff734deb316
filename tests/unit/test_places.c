/*
 * A place in the queue that is kept when a wait ends in vain: for the next thread in line, or for
 * the next call, if that comes soon.
 */
#include "unit/fake_zoo.h"

#include "engine/engine_internal.h"
#include "lock/lock.h"
#include "support/actor.h"

/* Another client's, which holds: no uuid comes before its own, should their numbers be equal. */
#define UUID "_c_00000000-0000-0000-0000-000000000000"
#define HOLDER "/locks/a/" UUID "-lock-0000000000"
#define READER "/locks/a/" UUID "-__READ__0000000000"
#define PERMIT "/locks/a/" UUID "-lease-0000000000"
#define SHORT_MS 5

static zkl_session *session_behind(const char *holder) {
    zkl_session *s = fake_session(HOSTS, NULL);
    fake_plant("/locks");
    fake_plant("/locks/a");
    fake_set("/locks/a", "permits=1 max=1"); /* a semaphore waits at once, and records nothing */
    fake_plant(holder);
    return s;
}

static zkl_session *session_behind_a_holder(void) {
    return session_behind(HOLDER);
}

static bool has_member(zkl_lock *l) {
    zkli_session_lock(l->session);
    bool has = l->member != NULL;
    zkli_session_unlock(l->session);
    return has;
}

/* A call that ends in vain, and makes no node. */
static bool waits_without_a_node(zkl_lock *l) {
    size_t creates = fake_served(CREATE);
    return zkl_acquire(l, SHORT_MS) == ZKL_TIMEOUT && creates > 0 && fake_served(CREATE) == creates;
}

static void who_comes_back_soon_goes_on_from_there(void) {
    static const zkl_kind kinds[] = {ZKL_MUTEX, ZKL_READ, ZKL_WRITE, ZKL_SEMAPHORE};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        zkl_session *s = session_behind_a_holder();
        zkl_lock *l = NULL;
        const int permits = kinds[i] == ZKL_SEMAPHORE ? 1 : 0;
        CHECK_INT(
            zkl_lock_open(&l, s, "a", &ZKL_LOCK_OPTIONS(.kind = kinds[i], .permits = permits)),
            ZKL_OK);
        WAIT_UNTIL(waits_without_a_node(l), SOON_MS); /* the machine may be slow */
        CHECK_INT(fake_served(CREATE), fake_served(REMOVE) + 1);
        WAIT_UNTIL(fake_children("/locks/a") == 1, SOON_MS); /* nobody does any more */
        CHECK(!has_member(l));
        fake_end(s, l);
    }
}

static bool waits(zkl_lock *l) {
    zkli_session_lock(l->session);
    bool waits = l->member != NULL && zkli_contender_rests(&l->member->core);
    zkli_session_unlock(l->session);
    return waits;
}

/* One thread waits, and another behind it; the first gives up. */
static void check_next_in_line(uint64_t owner, size_t creates) {
    zkl_session *s = session_behind_a_holder();
    zkl_lock *l = NULL;
    CHECK_INT(zkl_lock_open(&l, s, "a", &ZKL_LOCK_OPTIONS(.kind = ZKL_WRITE, .owner = owner)),
              ZKL_OK);
    actor *first = actor_new(), *second = actor_new();
    actor_acquire(first, l, 300);
    WAIT_UNTIL(waits(l), SOON_MS);
    actor_acquire(second, l, ZKL_FOREVER);
    WAIT_UNTIL(actor_is_blocked(second), SOON_MS);
    zkli_session_lock(s);
    const uint64_t thread = l->member->thread.number;
    zkli_session_unlock(s);
    CHECK_INT(actor_result(first, SOON_MS), ZKL_TIMEOUT);
    zkli_session_lock(s);
    CHECK(l->member != NULL && l->member->thread.number != thread);
    zkli_session_unlock(s);
    WAIT_UNTIL(waits(l), SOON_MS);
    CHECK_INT(fake_served(CREATE), creates);
    CHECK_INT(fake_served(REMOVE), creates - 1);
    CHECK_INT(zkl_cancel(l), ZKL_OK); /* it is not kept after that */
    CHECK_INT(actor_result(second, SOON_MS), ZKL_CANCELED);
    CHECK(!has_member(l));
    WAIT_UNTIL(fake_children("/locks/a") == 1, SOON_MS);
    actor_free(first);
    actor_free(second);
    fake_end(s, l);
}

/* That of any kind; if the program says that it is the same owner. */
static void the_next_in_line_goes_on_from_there(void) {
    check_next_in_line(1, 1);
}

/* The node would name the thread that has left (zkl_find_deadlocks). */
static void the_next_in_line_does_not_go_on_as_another_thread(void) {
    check_next_in_line(0, 2);
}

/* Whether the last wait's place is kept for long enough to try what follows; its end is put off. */
static bool keeps_place(zkl_lock *l) {
    CHECK_INT(zkl_acquire(l, SHORT_MS), ZKL_TIMEOUT);
    struct zkli_engine *e = l->session->engine;
    zkli_session_lock(l->session);
    bool is_kept = l->member != NULL;
    if (is_kept)
        zkli_engine_set_timer(e, &l->stay_end, zkli_engine_now_ns(e) + 3600 * ZKLI_NS_PER_S);
    zkli_session_unlock(l->session);
    return is_kept;
}

/* Who shares the lock with the holder would wait for nobody else. */
static void it_is_not_kept_where_others_could_go(void) {
    static const struct {
        const char *before;
        zkl_kind kind;
    } cases[] = {
        {READER, ZKL_MUTEX}, {READER, ZKL_WRITE}, {READER, ZKL_SEMAPHORE},
        {PERMIT, ZKL_MUTEX}, {PERMIT, ZKL_READ},
    };
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        bool is_listed = i < COUNT(cases);
        zkl_session *s = session_behind(cases[i % COUNT(cases)].before);
        zkl_kind kind = cases[i % COUNT(cases)].kind;
        zkl_lock *l = NULL;
        CHECK_INT(zkl_lock_open(
                      &l, s, "a",
                      &ZKL_LOCK_OPTIONS(.kind = kind, .permits = kind == ZKL_SEMAPHORE ? 1 : 0)),
                  ZKL_OK);
        fake_keep(LIST, !is_listed);
        (void)keeps_place(l);
        fake_keep(LIST, false);
        WAIT_UNTIL(!has_member(l), SOON_MS); /* as soon as it knows where it stands */
        WAIT_UNTIL(fake_children("/locks/a") == 1, SOON_MS);
        fake_end(s, l);
    }
}

/* Else a few threads with many handles would come to its limit by places that nobody waits by. */
static void it_is_not_kept_where_the_session_is_half_full(void) {
    zkl_session *s = session_behind_a_holder();
    zkl_lock *l = fake_lock(s, "a");
    size_t *const bytes[] = {&s->engine->node_bytes, &s->engine->watch_bytes,
                             &s->engine->stale_watch_bytes};
    for (size_t i = 0; i < COUNT(bytes); i++) {
        WAIT_UNTIL(keeps_place(l), SOON_MS);
        zkli_session_lock(s);
        *bytes[i] += ZKLI_WATCH_BYTES_MAX / 2;
        zkli_session_unlock(s);
        CHECK(!keeps_place(l));
        zkli_session_lock(s);
        *bytes[i] -= ZKLI_WATCH_BYTES_MAX / 2;
        zkli_session_unlock(s);
    }
    fake_end(s, l);
}

/* The node of the wait that has ended goes before that of the next. A place that somebody else
 * keeps stays. */
static void it_goes_when_its_owner_waits_elsewhere(void) {
    for (int is_mine = 0; is_mine < 2; is_mine++) {
        zkl_session *s = session_behind_a_holder();
        zkl_lock *l = NULL, *other = fake_lock(s, "other");
        const uint64_t owner = is_mine ? 0 : 1;
        CHECK_INT(zkl_lock_open(&l, s, "a", &ZKL_LOCK_OPTIONS(.owner = owner)), ZKL_OK);
        WAIT_UNTIL(keeps_place(l), SOON_MS);
        CHECK_INT(zkl_acquire(other, ZKL_FOREVER), ZKL_OK);
        CHECK_INT(has_member(l), !is_mine);
        CHECK_INT(fake_children("/locks/a"), is_mine ? 1 : 2);
        CHECK_INT(zkl_lock_close(other), ZKL_OK);
        fake_end(s, l);
    }
}

static void a_try_asks_the_servers(void) {
    zkl_session *s = session_behind_a_holder();
    zkl_lock *l = fake_lock(s, "a");
    WAIT_UNTIL(keeps_place(l), SOON_MS);
    WAIT_UNTIL(waits(l), SOON_MS); /* its own listing may be under way yet */
    size_t lists = fake_served(LIST);
    CHECK_INT(zkl_acquire(l, 0), ZKL_BUSY);
    CHECK_INT(fake_served(LIST), lists + 1);
    CHECK(!has_member(l));
    WAIT_UNTIL(fake_children("/locks/a") == 1, SOON_MS);
    fake_end(s, l);
}

static void several_at_once_begin_anew(void) {
    zkl_session *s = session_behind_a_holder();
    zkl_lock *l = fake_lock(s, "a"), *other = fake_lock(s, "b");
    WAIT_UNTIL(keeps_place(l), SOON_MS);
    size_t removals = fake_served(REMOVE);
    CHECK_INT(zkl_acquire_all((zkl_lock *[]){other, l}, 2, SHORT_MS), ZKL_TIMEOUT);
    WAIT_UNTIL(fake_children("/locks/a") == 1, SOON_MS);
    CHECK(fake_served(REMOVE) > removals);
    CHECK(!has_member(l) && !has_member(other));
    CHECK_INT(zkl_lock_close(other), ZKL_OK);
    fake_end(s, l);
}

/* And its session. */
static void it_goes_with_the_handle(void) {
    zkl_session *s = session_behind_a_holder();
    zkl_lock *l = fake_lock(s, "a"), *other = fake_lock(s, "a");
    WAIT_UNTIL(keeps_place(l), SOON_MS);
    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    WAIT_UNTIL(fake_children("/locks/a") == 1, SOON_MS);
    WAIT_UNTIL(keeps_place(other), SOON_MS);
    WAIT_UNTIL(waits(other), SOON_MS); /* while its node is being made it has no place to lose */
    fake_state(ZOO_EXPIRED_SESSION_STATE);
    WAIT_UNTIL(!has_member(other), SOON_MS);
    WAIT_UNTIL(keeps_place(other), SOON_MS);
    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK_INT(zkl_lock_close(other), ZKL_OK);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"who comes back soon goes on from there", who_comes_back_soon_goes_on_from_there},
        {"the next in line goes on from there", the_next_in_line_goes_on_from_there},
        {"the next in line does not go on as another thread",
         the_next_in_line_does_not_go_on_as_another_thread},
        {"it is not kept where others could go", it_is_not_kept_where_others_could_go},
        {"it is not kept where the session is half full",
         it_is_not_kept_where_the_session_is_half_full},
        {"a try asks the servers", a_try_asks_the_servers},
        {"it goes when its owner waits elsewhere", it_goes_when_its_owner_waits_elsewhere},
        {"several at once begin anew", several_at_once_begin_anew},
        {"it goes with the handle", it_goes_with_the_handle},
    };
    return TEST_MAIN(argc, argv, "places", cases);
}
