/* See callers.h. */
#include "unit/callers.h"

static const char *const names[SEVERAL] = {"a", "b", "c"};

zkl_session *Session;
struct caller First, Second;

static zkl_err acquire_all(void *arg) {
    const struct caller *c = arg;
    return zkl_acquire_all(c->locks, SEVERAL, c->timeout_ms);
}

static zkl_err release_all(void *arg) {
    const struct caller *c = arg;
    return zkl_release_all(c->locks, SEVERAL);
}

void caller_begin(struct caller *c, int64_t timeout_ms) {
    c->timeout_ms = timeout_ms;
    actor_begin(c->thread, acquire_all, c);
}

zkl_err caller_acquire(struct caller *c, int64_t timeout_ms) {
    caller_begin(c, timeout_ms);
    return actor_result(c->thread, SOON_MS);
}

zkl_err caller_release(struct caller *c) {
    actor_begin(c->thread, release_all, c);
    return actor_result(c->thread, SOON_MS);
}

size_t caller_held(const struct caller *c) {
    size_t count = 0;
    for (size_t i = 0; i < SEVERAL; i++)
        count += actor_held(c->thread, c->locks[i]);
    return count;
}

size_t fake_nodes(void) {
    return fake_children("/locks/a") + fake_children("/locks/b") + fake_children("/locks/c");
}

void begin_callers(const zkl_lock_options *options) {
    Session = fake_session(HOSTS, NULL);
    fake_plant("/locks");
    fake_plant("/locks/a");
    fake_plant("/locks/b");
    fake_plant("/locks/c");
    for (size_t i = 0; i < SEVERAL; i++) {
        REQUIRE_INT(zkl_lock_open(&First.locks[i], Session, names[i], options), ZKL_OK);
        Second.locks[SEVERAL - 1 - i] = First.locks[i];
    }
    First.thread = actor_new();
    Second.thread = actor_new();
}

void close_callers(void) {
    for (size_t i = 0; i < SEVERAL; i++) {
        if (First.locks[i] != NULL)
            CHECK_INT(First.locks[i]->users, 1);
        CHECK_INT(zkl_lock_close(First.locks[i]), ZKL_OK);
    }
    actor_free(First.thread);
    actor_free(Second.thread);
}

void end_callers(void) {
    close_callers();
    CHECK_INT(zkl_session_close(Session), ZKL_OK);
}

void end_released(void) {
    CHECK_INT(caller_release(&First), ZKL_OK);
    WAIT_UNTIL(fake_nodes() == 0, SOON_MS);
    end_callers();
}

#define OTHER_NODE "/locks/b/_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-lock-0000000000"

void plant_in_b(void) {
    fake_plant(OTHER_NODE);
    (void)pthread_mutex_lock(&Fake.mutex);
    Fake.server.number = 1;
    (void)pthread_mutex_unlock(&Fake.mutex);
}

bool has_started(zkl_lock *l) {
    zkli_session_lock(l->session);
    bool has = l->member != NULL;
    zkli_session_unlock(l->session);
    return has;
}
