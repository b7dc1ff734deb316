/*
 * The reads of a call that looks at queues or locks: which thread does what, with which lock, and
 * what ends them.
 */
#include "unit/fake_zoo.h"

#include <time.h>

#include "lock/reads.h"
#include "support/actor.h"

#define NODES 300 /* more than are read at once */

static zkl_session *open_session(void) {
    zkl_session *s = NULL;
    REQUIRE_INT(zkl_session_open(&s, "h:1", &ZKL_SESSION_OPTIONS(.connect_timeout_ms = SOON_MS)),
                ZKL_OK);
    return s;
}

static void plant_queue(void) {
    char path[64];
    fake_plant("/locks");
    fake_plant("/locks/a");
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(path, sizeof(path), "/locks/a/lock-%010d", i);
        fake_plant(path);
    }
}

static struct {
    struct zkli_reads reads;
    zkl_session *session;
    pthread_t caller;
    bool is_listed;
    size_t children, asked, got;
} Walk;

/* This is the calling thread, and the session's lock is free. */
static void check_thread(void) {
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    CHECK(pthread_equal(pthread_self(), Walk.caller));
    REQUIRE_INT(pthread_mutex_timedlock(&Walk.session->mutex, &until), 0);
    (void)pthread_mutex_unlock(&Walk.session->mutex);
}

static char *next_read(struct zkli_reads *reads, struct zkli_read *ret_read, zkl_err *ret_err) {
    char path[64] = "/locks/a";
    (void)ret_err;
    CHECK(reads == &Walk.reads);
    check_thread();
    if (Walk.asked > 0 && (!Walk.is_listed || Walk.asked > Walk.children))
        return NULL;
    ret_read->query.kind = Walk.asked == 0 ? ZKLI_QUERY_LIST : ZKLI_QUERY_GET;
    if (Walk.asked > 0)
        (void)snprintf(path, sizeof(path), "/locks/a/lock-%010zu", Walk.asked - 1);
    ret_read->index = Walk.asked++;
    return strdup(path);
}

static zkl_err got(struct zkli_reads *reads, const struct zkli_read *read,
                   const struct zkli_reply *reply) {
    char name[32];
    (void)reads;
    check_thread();
    CHECK_INT(reply->result, ZKLI_RESULT_OK);
    Walk.got++;
    if (read->index > 0) {
        CHECK_INT(reply->stat.owner, 99);
        return ZKL_OK;
    }
    Walk.is_listed = true;
    Walk.children = reply->child_count;
    for (size_t i = 0; i < reply->child_count; i++) {
        (void)snprintf(name, sizeof(name), "lock-%010zu", i);
        CHECK_STRING(reply->children[i], name);
    }
    return ZKL_OK;
}

static void replies_are_looked_at_by_the_calling_thread_without_the_lock(void) {
    fake_reset();
    memset(&Walk, 0, sizeof(Walk));
    plant_queue();
    Walk.session = open_session();
    Walk.caller = pthread_self();
    Walk.reads.next = next_read;
    Walk.reads.got = got;
    CHECK_INT(zkli_reads_run(&Walk.reads, Walk.session), ZKL_OK);
    CHECK_INT(Walk.children, NODES);
    CHECK_INT(Walk.got, 1 + NODES);
    CHECK_INT(zkl_session_close(Walk.session), ZKL_OK);
}

static zkl_err inspect(void *session) {
    zkl_queue *queue = NULL;
    zkl_err err = zkl_inspect(session, "a", &queue);
    CHECK((queue != NULL) == (err == ZKL_OK));
    zkl_queue_free(queue);
    return err;
}

static size_t under_way(void) {
    (void)pthread_mutex_lock(&Fake.mutex);
    size_t count = Fake.handle->call_count;
    (void)pthread_mutex_unlock(&Fake.mutex);
    return count;
}

/* So a queue of a thousand takes five flights: a list, and four times 250 reads. */
static void a_queue_is_read_by_as_many_reads_as_the_session_has_room_for(void) {
    for (int holds = 0; holds < 2; holds++) {
        const size_t at_once = holds == 0 ? 250 : 64;
        fake_reset();
        zkl_session *s = open_session();
        zkl_lock *l = fake_lock(s, "b");
        if (holds == 1)
            REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
        plant_queue();
        actor *a = actor_new();
        WAIT_UNTIL(under_way() == 0, SOON_MS);
        fake_keep(GET, true);
        actor_begin(a, inspect, s);
        WAIT_UNTIL(under_way() == at_once, SOON_MS);
        CHECK_STAYS(under_way() == at_once, 50);
        fake_keep(GET, false);
        CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
        actor_free(a);
        fake_end(s, l);
    }
}

static void on_found(const char *name, size_t contenders, void *arg) {
    (void)name;
    (void)contenders;
    (void)arg;
    CHECK(false);
}

static zkl_err list(void *session) {
    return zkl_list(session, NULL, on_found, NULL);
}

/* Under way, and begun when it is known. None waits for its time, which is longer. */
static void a_look_with_rejected_credentials_ends_at_once(void) {
    zkl_err (*const calls[])(void *) = {inspect, list};
    for (size_t i = 0; i < COUNT(calls); i++) {
        fake_reset();
        zkl_session *s = open_session();
        actor *a = actor_new();
        s->connect_timeout_ms = 10 * SOON_MS;
        fake_keep(LIST, true);
        actor_begin(a, calls[i], s);
        WAIT_UNTIL(fake_has(LIST), SOON_MS);
        fake_state(ZOO_AUTH_FAILED_STATE);
        CHECK_INT(actor_result(a, SOON_MS), ZKL_AUTH_FAILED);
        actor_begin(a, calls[i], s);
        CHECK_INT(actor_result(a, SOON_MS), ZKL_AUTH_FAILED);
        fake_keep(LIST, false);
        actor_free(a);
        CHECK_INT(zkl_session_close(s), ZKL_OK);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"replies are looked at by the calling thread, without the lock",
         replies_are_looked_at_by_the_calling_thread_without_the_lock},
        {"a queue is read by as many reads as the session has room for",
         a_queue_is_read_by_as_many_reads_as_the_session_has_room_for},
        {"a look with rejected credentials ends at once",
         a_look_with_rejected_credentials_ends_at_once},
    };
    return TEST_MAIN(argc, argv, "reads", cases);
}
