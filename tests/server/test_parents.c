/*
 * Lock directories: made on demand, gone whenever they are empty. The server's own reaper looks
 * ten times a second here; a second, merciless one deletes in a loop.
 */
#include "support/client.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void nested_directories_are_made_on_demand(void) {
    const char *name = fresh_name("a/b b/c-c/d.d/e");
    client *c = client_open(name, T_NORMAL);
    char path[RAW_PATH_MAX];

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, path);
    CHECK(strncmp(path, lock_dir(name), strlen(lock_dir(name))) == 0);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    client_close(c);
}

/* A lock and one whose directory is inside the first one's are two locks. */
static void a_lock_may_have_locks_below_it(void) {
    char below[128];
    const char *name = fresh_name("above");
    client *above = client_open(name, T_NORMAL), *inside;

    (void)snprintf(below, sizeof(below), "%s/below", name);
    inside = client_open(below, T_NORMAL);
    CHECK_INT(client_acquire(inside, 0), ZKL_OK);
    CHECK_INT(client_acquire(above, 0), ZKL_OK);
    CHECK(client_held(inside) && client_held(above));
    client_close(inside);
    client_close(above);
}

static void a_persistent_directory_stays(void) {
    const char *name = fresh_name("persistent");
    raw_stat stat = {0};

    dir_make(name);
    client *c = client_open(name, T_NORMAL);
    CHECK_INT(client_acquire(c, 0), ZKL_OK);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_STAYS(raw_stat_of(fixture_raw(), lock_dir(name), &stat), 500);
    CHECK(stat.owner == 0);
    client_close(c);
}

/* ---- T30 ---- */

enum {
    USERS = 4,
    ROUNDS = 60
};

struct user {
    zkl_lock *lock;
    atomic_int *counter;
};

/* A read and a write, on purpose not one operation: only the lock makes an increment of it. */
static zkl_err use_lock(void *arg) {
    const struct user *u = arg;

    for (int i = 0; i < ROUNDS; i++) {
        const zkl_err err = zkl_acquire(u->lock, ZKL_FOREVER);

        if (err != ZKL_OK)
            return err;
        int value = atomic_load(u->counter);
        wait_pause();
        atomic_store(u->counter, value + 1);
        if (zkl_release(u->lock) != ZKL_OK)
            return ZKL_SERVER;
    }
    return ZKL_OK;
}

struct reaper {
    raw *client;
    const char *path;
    atomic_bool stop;
    size_t reaped;
};

static zkl_err reap(void *arg) {
    struct reaper *r = arg;

    while (!atomic_load(&r->stop))
        r->reaped += raw_delete(r->client, r->path) == RAW_OK;
    return ZKL_OK;
}

/* T30: everywhere else the directory's end is an error to the user, sooner or later. */
static void a_directory_may_vanish_at_any_moment(void) {
    const char *name = fresh_name("vanishing");
    struct reaper reaper = {.client = raw_open(server_hosts(), T_LONG), .path = lock_dir(name)};
    atomic_int counter = 0;
    client *clients[USERS];
    struct user users[USERS];
    actor *thread = actor_new();

    REQUIRE(reaper.client != NULL);
    for (size_t i = 0; i < USERS; i++) {
        clients[i] = client_open(name, T_LONG);
        users[i] = (struct user){.lock = clients[i]->lock, .counter = &counter};
    }
    actor_begin(thread, reap, &reaper);
    for (size_t i = 0; i < USERS; i++)
        actor_begin(clients[i]->actor, use_lock, &users[i]);
    for (size_t i = 0; i < USERS; i++)
        CHECK_INT(actor_result(clients[i]->actor, 3 * SOON_MS), ZKL_OK);
    /* With no competition the queue empties after each release: the reaper's best time. */
    CHECK_INT(use_lock(&users[0]), ZKL_OK);
    atomic_store(&reaper.stop, true);
    CHECK_INT(actor_result(thread, SOON_MS), ZKL_OK);
    CHECK_INT(atomic_load(&counter), (USERS + 1) * ROUNDS);
    CHECK(reaper.reaped > 0);
    test_note("%d holds, directory deleted %zu times", (USERS + 1) * ROUNDS, reaper.reaped);
    actor_free(thread);
    for (size_t i = 0; i < USERS; i++)
        client_close(clients[i]);
    raw_close(reaper.client);
}

/* Tokens grow although the numbers in the names start again with each directory. */
static void tokens_grow_across_new_directories(void) {
    const char *name = fresh_name("renewed");
    client *c = client_open(name, T_NORMAL);
    int64_t token = 0;

    for (int i = 0; i < 10; i++) {
        char path[RAW_PATH_MAX];

        REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
        client_node(c, path);
        CHECK_STRING(path + strlen(path) - 10, "0000000000");
        CHECK(client_token(c) > token);
        token = client_token(c);
        REQUIRE_INT(client_release_wait(c), ZKL_OK);
        CHECK(raw_delete_tree(fixture_raw(), lock_dir(name)) == RAW_OK);
    }
    client_close(c);
}

/* T31: a lock name used once leaves nothing for ever. */
static void one_shot_locks_leave_no_directories(void) {
    enum {
        NAMES = 1000,
        THREADS = 8
    };
    const char *top = fresh_name("once");
    zkl_lock *locks[THREADS];
    actor *actors[THREADS];

    if (!server_is_ours()) {
        test_skip("not our server: its reaper looks once a minute");
        return;
    }
    zkl_session *s = session_open(server_hosts(), T_LONG, NULL);
    for (size_t i = 0; i < THREADS; i++)
        actors[i] = actor_new();
    for (int n = 0; n < NAMES; n += THREADS) {
        for (int i = 0; i < THREADS; i++) {
            char name[128];

            (void)snprintf(name, sizeof(name), "%s/%d", top, n + i);
            locks[i] = lock_open(s, name, NULL);
            actor_acquire(actors[i], locks[i], ZKL_FOREVER);
        }
        for (size_t i = 0; i < THREADS; i++) {
            REQUIRE_INT(actor_result(actors[i], SOON_MS), ZKL_OK);
            lock_close(locks[i]);
        }
    }
    WAIT_UNTIL(!raw_exists(fixture_raw(), lock_dir(top)), 2 * SOON_MS);
    for (size_t i = 0; i < THREADS; i++)
        actor_free(actors[i]);
    session_close(s);
}

static const test_case Cases[] = {
    {"nested directories are made on demand (T5)", nested_directories_are_made_on_demand},
    {"a lock may have locks below it", a_lock_may_have_locks_below_it},
    {"a directory that somebody made persistent stays", a_persistent_directory_stays},
    {"a directory may vanish at any moment: no error, no increment lost (T30)",
     a_directory_may_vanish_at_any_moment},
    {"tokens grow across new directories", tokens_grow_across_new_directories},
    {"1,000 one-shot locks leave no directories (T31)", one_shot_locks_leave_no_directories},
};

int main(int argc, char **argv) {
    static const char *const options[] = {
        "--prop", "znode.container.checkIntervalMs=100",
        "--prop", "znode.container.maxPerMinute=600000",
        NULL,
    };

    fixture_start(options);
    return TEST_MAIN(argc, argv, "parents", Cases);
}
