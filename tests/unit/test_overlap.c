/*
 * Calls that are running when another thread closes their lock or session. Each is held up in the
 * library's look for a fork, until the close has returned.
 * On code that counts a caller in later than that these crash, or AddressSanitizer says why.
 */
#include "unit/fake_zoo.h"

#include <malloc.h>

#include "base/process.h"
#include "support/actor.h"
#include "zklock_zookeeper.h"

/* ---- The place where a call is held up ---- */

static _Thread_local bool stops_inside;

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_inside, may_go;
} Gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void stop_here(void) {
    stops_inside = false;
    (void)pthread_mutex_lock(&Gate.mutex);
    Gate.is_inside = true;
    while (!Gate.may_go)
        (void)pthread_cond_wait(&Gate.changed, &Gate.mutex);
    (void)pthread_mutex_unlock(&Gate.mutex);
}

/* In place of the library's. */
uint64_t zkli_process_number(void) {
    if (stops_inside)
        stop_here();
    return 1;
}

static bool is_inside(void) {
    (void)pthread_mutex_lock(&Gate.mutex);
    bool is = Gate.is_inside;
    (void)pthread_mutex_unlock(&Gate.mutex);
    return is;
}

static void set_gate(bool may_go) {
    (void)pthread_mutex_lock(&Gate.mutex);
    Gate.is_inside = false;
    Gate.may_go = may_go;
    (void)pthread_cond_broadcast(&Gate.changed);
    (void)pthread_mutex_unlock(&Gate.mutex);
}

/* ---- Calls, and what they say of what has been closed meanwhile ---- */

typedef zkl_err call_fn(zkl_session *s, zkl_lock *l);

static zkl_err closed_if(bool is_as_closed) {
    return is_as_closed ? ZKL_CLOSED : ZKL_OK;
}

static zkl_err call_state(zkl_session *s, zkl_lock *l) {
    (void)l;
    return closed_if(zkl_session_state(s) == ZKL_STATE_CLOSED);
}

static zkl_err call_id(zkl_session *s, zkl_lock *l) {
    (void)l;
    return closed_if(zkl_session_id(s) == 0);
}

static zkl_err call_timeout_ms(zkl_session *s, zkl_lock *l) {
    (void)l;
    (void)zkl_session_timeout_ms(s); /* stays what it was */
    return ZKL_CLOSED;
}

static zkl_err call_set_hosts(zkl_session *s, zkl_lock *l) {
    (void)l;
    return zkl_session_set_hosts(s, "i:2");
}

static zkl_err call_lock_open(zkl_session *s, zkl_lock *l) {
    return zkl_lock_open(&l, s, "b", NULL);
}

static zkl_err call_inspect(zkl_session *s, zkl_lock *l) {
    zkl_queue *queue = NULL;
    (void)l;
    return zkl_inspect(s, "a", &queue);
}

static void on_found(const char *name, size_t contenders, void *arg) {
    (void)name;
    (void)contenders;
    (void)arg;
}

static zkl_err call_list(zkl_session *s, zkl_lock *l) {
    (void)l;
    return zkl_list(s, NULL, on_found, NULL);
}

static zkl_err call_name(zkl_session *s, zkl_lock *l) {
    (void)s;
    return closed_if(zkl_lock_name(l) == NULL);
}

static zkl_err call_acquire(zkl_session *s, zkl_lock *l) {
    (void)s;
    return zkl_acquire(l, ZKL_FOREVER);
}

static zkl_err call_try(zkl_session *s, zkl_lock *l) {
    (void)s;
    return zkl_acquire(l, 0);
}

static zkl_err call_acquire_wrongly(zkl_session *s, zkl_lock *l) {
    (void)s;
    return zkl_acquire(l, -7) == ZKL_INVALID ? ZKL_CLOSED : ZKL_OK; /* counted out all the same */
}

static zkl_err call_release(zkl_session *s, zkl_lock *l) {
    (void)s;
    return zkl_release(l);
}

static zkl_err call_release_wait(zkl_session *s, zkl_lock *l) {
    (void)s;
    return zkl_release_wait(l, ZKL_FOREVER);
}

static zkl_err call_downgrade(zkl_session *s, zkl_lock *l) {
    (void)s;
    return zkl_downgrade(l);
}

static zkl_err call_set_permits(zkl_session *s, zkl_lock *l) {
    (void)s;
    return zkl_set_permits(l, 1);
}

static zkl_err call_release_hold(zkl_session *s, zkl_lock *l) {
    (void)s;
    return zkl_release_hold(l, 1);
}

static zkl_err call_cancel(zkl_session *s, zkl_lock *l) {
    (void)s;
    return zkl_cancel(l);
}

static zkl_err call_held(zkl_session *s, zkl_lock *l) {
    (void)s;
    return closed_if(!zkl_held(l));
}

static zkl_err call_remaining_ms(zkl_session *s, zkl_lock *l) {
    (void)s;
    return closed_if(zkl_remaining_ms(l) == 0);
}

static zkl_err call_token(zkl_session *s, zkl_lock *l) {
    (void)s;
    return closed_if(zkl_token(l) == 0);
}

static zkl_err call_hold_of(zkl_session *s, zkl_lock *l) {
    (void)s;
    return closed_if(zkl_hold_of(l) == 0);
}

static zkl_err call_hold_valid(zkl_session *s, zkl_lock *l) {
    (void)s;
    return closed_if(!zkl_hold_valid(l, 1));
}

static zkl_err call_node_path(zkl_session *s, zkl_lock *l) {
    char path[1024];
    (void)s;
    return zkl_node_path(l, path, sizeof(path));
}

/* Two closes at a time: whoever is the last to leave frees the lock, once (LeakSanitizer looks). */
static zkl_err call_close(zkl_session *s, zkl_lock *l) {
    (void)s;
    return closed_if(zkl_lock_close(l) == ZKL_OK);
}

static zkl_err call_guarded_set(zkl_session *s, zkl_lock *l) {
    (void)s;
    return zkl_guarded_set(l, "/a", "", 0, -1);
}

static zkl_err call_guarded_multi(zkl_session *s, zkl_lock *l) {
    zoo_op_t op;
    (void)s;
    zoo_delete_op_init(&op, "/a", -1);
    return zkl_guarded_multi(l, 1, &op, NULL);
}

static const struct {
    const char *name;
    call_fn *call;
} session_calls[] =
    {
        {"state", call_state},
        {"id", call_id},
        {"timeout_ms", call_timeout_ms},
        {"set_hosts", call_set_hosts},
        {"lock_open", call_lock_open},
        {"inspect", call_inspect},
        {"list", call_list},
},
  lock_calls[] = {
      {"name", call_name},
      {"acquire", call_acquire},
      {"try", call_try},
      {"acquire, wrongly", call_acquire_wrongly},
      {"release", call_release},
      {"release_wait", call_release_wait},
      {"downgrade", call_downgrade},
      {"set_permits", call_set_permits},
      {"release_hold", call_release_hold},
      {"cancel", call_cancel},
      {"held", call_held},
      {"remaining_ms", call_remaining_ms},
      {"token", call_token},
      {"hold_of", call_hold_of},
      {"hold_valid", call_hold_valid},
      {"node_path", call_node_path},
      {"close", call_close},
      {"guarded_set", call_guarded_set},
      {"guarded_multi", call_guarded_multi},
};

struct running {
    call_fn *call;
    zkl_session *session;
    zkl_lock *lock;
};

static zkl_err run(void *arg) {
    const struct running *r = arg;
    stops_inside = true;
    return r->call(r->session, r->lock);
}

/* The lock, if there is one, and the session are closed while the call is inside. */
static void check_overlap(const char *name, call_fn *call, bool has_lock) {
    set_gate(false);
    struct running r = {.call = call, .session = fake_session(HOSTS, NULL)};
    if (has_lock)
        r.lock = fake_lock(r.session, "a");
    actor *a = actor_new();
    actor_begin(a, run, &r);
    WAIT_UNTIL(is_inside(), SOON_MS);
    CHECK_INT(zkl_lock_close(r.lock), ZKL_OK);
    CHECK_INT(zkl_session_close(r.session), ZKL_OK);
    set_gate(true);
    zkl_err err = actor_result(a, SOON_MS);
    if (err != ZKL_CLOSED)
        test_note("%s", name);
    CHECK_INT(err, ZKL_CLOSED);
    actor_free(a);
}

static void a_call_on_a_session_that_is_closed_meanwhile_says_closed(void) {
    for (size_t i = 0; i < COUNT(session_calls); i++)
        check_overlap(session_calls[i].name, session_calls[i].call, false);
}

static void a_call_on_a_lock_that_is_closed_meanwhile_says_closed(void) {
    for (size_t i = 0; i < COUNT(lock_calls); i++)
        check_overlap(lock_calls[i].name, lock_calls[i].call, true);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a call on a session that is closed meanwhile says closed",
         a_call_on_a_session_that_is_closed_meanwhile_says_closed},
        {"a call on a lock that is closed meanwhile says closed",
         a_call_on_a_lock_that_is_closed_meanwhile_says_closed},
    };
    (void)mallopt(M_PERTURB, 0x55); /* freed memory does not stay as it was */
    return TEST_MAIN(argc, argv, "overlap", cases);
}
