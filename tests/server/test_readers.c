/*
 * A thousand readers behind three writers: the end of the last writer wakes each of them once, and
 * what happens before wakes none. ZKLOCK_READERS=n makes it so many.
 *
 * Each has a session of its own first: so many watch events are so many wakes. Readers that share a
 * session wait for the same node, and the servers keep one watch for a session and a path
 * (WatchManager). So one event wakes all of them, and one list serves them: when they listed last,
 * the other writers were there.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "support/client.h"

#define READERS 1000
#define PROXIES 10
#define SHARED_SESSIONS 10
#define DESCRIPTORS 8 /* of a session and its way through the proxy, and some to spare */
#define WRITERS 3
#define STACK_BYTES (64 * 1024)

static struct {
    zkl_session **sessions;
    size_t session_count;
    proxy *proxies[PROXIES];
    size_t count;
    pthread_t *threads;
    zkl_lock **locks;
    atomic_uint *told_held; /* of each */
    atomic_size_t held, failed;
    atomic_size_t lost; /* holds or places, as told */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool may_release;
} Readers = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void note(const zkl_event *event, void *told_held) {
    if (event->type == ZKL_EVENT_HELD)
        atomic_fetch_add((atomic_uint *)told_held, 1);
    else if (event->type != ZKL_EVENT_QUEUED)
        atomic_fetch_add(&Readers.lost, 1);
}

static void *read_once(void *arg) {
    zkl_lock *l = arg;
    if (zkl_acquire(l, ZKL_FOREVER) != ZKL_OK || !zkl_held(l))
        atomic_fetch_add(&Readers.failed, 1);
    atomic_fetch_add(&Readers.held, 1);
    (void)pthread_mutex_lock(&Readers.mutex); /* so many that poll would keep the machine busy */
    while (!Readers.may_release)
        (void)pthread_cond_wait(&Readers.changed, &Readers.mutex);
    (void)pthread_mutex_unlock(&Readers.mutex);
    if (zkl_release(l) != ZKL_OK)
        atomic_fetch_add(&Readers.failed, 1);
    return NULL;
}

static void open_readers(const char *name) {
    for (size_t i = 0; i < PROXIES; i++)
        Readers.proxies[i] = proxy_new();
    for (size_t i = 0; i < Readers.session_count; i++)
        Readers.sessions[i] = session_open(proxy_hosts(Readers.proxies[i % PROXIES]), T_LONG, NULL);
    for (size_t i = 0; i < Readers.count; i++)
        REQUIRE_INT(zkl_lock_open(&Readers.locks[i], Readers.sessions[i % Readers.session_count],
                                  name,
                                  &ZKL_LOCK_OPTIONS(.kind = ZKL_READ, .on_event = note,
                                                    .arg = &Readers.told_held[i])),
                    ZKL_OK);
}

static void start_readers(void) {
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0);
    for (size_t i = 0; i < Readers.count; i++)
        REQUIRE(pthread_create(&Readers.threads[i], &attributes, read_once, Readers.locks[i]) == 0);
    (void)pthread_attr_destroy(&attributes);
}

static void close_readers(void) {
    for (size_t i = 0; i < Readers.count; i++)
        lock_close(Readers.locks[i]);
    for (size_t i = 0; i < Readers.session_count; i++)
        session_close(Readers.sessions[i]);
    for (size_t i = 0; i < PROXIES; i++)
        proxy_close(Readers.proxies[i]);
}

static size_t count(proxy_kind kind, const char *part) {
    size_t sum = 0;
    for (size_t i = 0; i < PROXIES; i++)
        sum += proxy_count(Readers.proxies[i], kind, part);
    return sum;
}

static size_t answered(proxy_kind kind, const char *part) {
    size_t sum = 0;
    for (size_t i = 0; i < PROXIES; i++)
        sum += proxy_answered(Readers.proxies[i], kind, part);
    return sum;
}

static void forget(void) {
    for (size_t i = 0; i < PROXIES; i++)
        proxy_forget(Readers.proxies[i]);
}

static void allow_descriptors(size_t count) {
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    REQUIRE(limit.rlim_max >= count); /* ulimit -Hn */
    if (limit.rlim_cur < count)
        limit.rlim_cur = count;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void allocate(size_t sessions_max) {
    const char *text = getenv("ZKLOCK_READERS");

    Readers.count = text == NULL ? READERS : strtoul(text, NULL, 10);
    Readers.session_count = sessions_max < Readers.count ? sessions_max : Readers.count;
    Readers.sessions = calloc(Readers.session_count, sizeof(*Readers.sessions));
    Readers.threads = calloc(Readers.count, sizeof(*Readers.threads));
    Readers.locks = calloc(Readers.count, sizeof(*Readers.locks));
    Readers.told_held = calloc(Readers.count, sizeof(*Readers.told_held));
    REQUIRE(Readers.sessions != NULL && Readers.threads != NULL && Readers.locks != NULL &&
            Readers.told_held != NULL);
    atomic_store(&Readers.held, 0);
    atomic_store(&Readers.lost, 0);
    Readers.may_release = false;
    allow_descriptors(DESCRIPTORS * Readers.session_count + 500);
}

static void release_all(void) {
    (void)pthread_mutex_lock(&Readers.mutex);
    Readers.may_release = true;
    (void)pthread_cond_broadcast(&Readers.changed);
    (void)pthread_mutex_unlock(&Readers.mutex);
    for (size_t i = 0; i < Readers.count; i++)
        (void)pthread_join(Readers.threads[i], NULL);
    CHECK_INT(atomic_load(&Readers.failed), 0);
}

static void each_wakes_once(size_t sessions_max) {
    const char *name = fresh_name("herd");
    client *writers[WRITERS];

    allocate(sessions_max);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = client_open(name, T_LONG);
        client_be(writers[i], ZKL_WRITE);
        client_begin(writers[i], ZKL_FOREVER);
        WAIT_UNTIL(queue_length(name) == i + 1, SOON_MS);
    }
    open_readers(name);
    start_readers();
    WAIT_UNTIL(queue_length(name) == WRITERS + Readers.count, 6 * SOON_MS);
    /* Each has read its own node, and all of a session the last writer's, once. */
    WAIT_UNTIL(answered(PROXY_GET, "-__READ__") == Readers.count, 3 * SOON_MS);
    WAIT_UNTIL(answered(PROXY_GET, "-__WRIT__") >= Readers.session_count, 3 * SOON_MS);
    forget();
    for (size_t i = 0; i < WRITERS; i++) {
        CHECK_INT(client_result(writers[i]), ZKL_OK);
        CHECK_INT(atomic_load(&Readers.held), 0);
        CHECK_INT(count(PROXY_EVENT, NULL), 0);
        CHECK_INT(client_release(writers[i]), ZKL_OK);
    }
    const int64_t begun_ms = clock_ms();
    WAIT_UNTIL(atomic_load(&Readers.held) == Readers.count, 3 * SOON_MS);
    const int64_t took_ms = clock_ms() - begun_ms;
    const size_t wakes = count(PROXY_EVENT, NULL), lists = count(PROXY_LIST, NULL);
    test_note("%zu readers on %zu sessions: held together after %lld ms; %zu watch events, %zu "
              "lists",
              Readers.count, Readers.session_count, (long long)took_ms, wakes, lists);
    CHECK_INT(wakes, Readers.session_count);
    CHECK_INT(lists, Readers.session_count);
    for (size_t i = 0; i < Readers.count; i++) {
        WAIT_UNTIL(atomic_load(&Readers.told_held[i]) > 0, SOON_MS);
        CHECK_INT(atomic_load(&Readers.told_held[i]), 1);
    }
    CHECK_INT(atomic_load(&Readers.lost), 0);
    CHECK_INT(queue_length(name), Readers.count);
    release_all();
    close_readers();
    for (size_t i = 0; i < WRITERS; i++)
        client_close(writers[i]);
    free(Readers.told_held);
    free(Readers.locks);
    free(Readers.threads);
    free(Readers.sessions);
}

static void each_of_a_thousand_readers_wakes_once(void) {
    each_wakes_once(SIZE_MAX);
}

static void the_readers_of_a_session_wake_together(void) {
    each_wakes_once(SHARED_SESSIONS);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"each of a thousand readers wakes once", each_of_a_thousand_readers_wakes_once},
        {"the readers of a session wake together, once", the_readers_of_a_session_wake_together},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "readers", cases);
}
