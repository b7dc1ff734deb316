/*
 * A thousand readers behind three writers: the end of the last writer wakes each of them once, and
 * what happens before wakes none. The readers of a session list once, all together: when they
 * listed last, the other writers were there. ZKLOCK_READERS=n makes it so many.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "support/client.h"

#define READERS 1000
#define SESSIONS 10
#define WRITERS 3
#define STACK_BYTES (64 * 1024)

static struct {
    zkl_session *sessions[SESSIONS];
    proxy *proxies[SESSIONS];
    size_t count;
    pthread_t *threads;
    zkl_lock **locks;
    atomic_size_t held, failed;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool may_release;
} Readers = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

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
    for (size_t i = 0; i < SESSIONS; i++) {
        Readers.proxies[i] = proxy_new();
        Readers.sessions[i] = session_open(proxy_hosts(Readers.proxies[i]), T_LONG, NULL);
    }
    for (size_t i = 0; i < Readers.count; i++)
        REQUIRE_INT(zkl_lock_open(&Readers.locks[i], Readers.sessions[i % SESSIONS], name,
                                  &ZKL_LOCK_OPTIONS(.kind = ZKL_READ)),
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
    for (size_t i = 0; i < SESSIONS; i++) {
        session_close(Readers.sessions[i]);
        proxy_close(Readers.proxies[i]);
    }
}

static size_t count(proxy_kind kind, const char *part) {
    size_t sum = 0;
    for (size_t i = 0; i < SESSIONS; i++)
        sum += proxy_count(Readers.proxies[i], kind, part);
    return sum;
}

static size_t answered(proxy_kind kind, const char *part) {
    size_t sum = 0;
    for (size_t i = 0; i < SESSIONS; i++)
        sum += proxy_answered(Readers.proxies[i], kind, part);
    return sum;
}

static void forget(void) {
    for (size_t i = 0; i < SESSIONS; i++)
        proxy_forget(Readers.proxies[i]);
}

static void each_of_a_thousand_readers_wakes_once(void) {
    const char *name = fresh_name("herd"), *text = getenv("ZKLOCK_READERS");
    client *writers[WRITERS];

    Readers.count = text == NULL ? READERS : strtoul(text, NULL, 10);
    Readers.threads = calloc(Readers.count, sizeof(*Readers.threads));
    Readers.locks = calloc(Readers.count, sizeof(*Readers.locks));
    REQUIRE(Readers.threads != NULL && Readers.locks != NULL);
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
    WAIT_UNTIL(answered(PROXY_GET, "-__WRIT__") >= SESSIONS, 3 * SOON_MS);
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
    test_note("%zu readers on %d sessions: held together after %lld ms; %zu watch events, %zu "
              "lists",
              Readers.count, SESSIONS, (long long)took_ms, wakes, lists);
    CHECK_INT(wakes, SESSIONS);
    CHECK_INT(lists, SESSIONS);
    CHECK_INT(queue_length(name), Readers.count);
    (void)pthread_mutex_lock(&Readers.mutex);
    Readers.may_release = true;
    (void)pthread_cond_broadcast(&Readers.changed);
    (void)pthread_mutex_unlock(&Readers.mutex);
    for (size_t i = 0; i < Readers.count; i++)
        (void)pthread_join(Readers.threads[i], NULL);
    CHECK_INT(atomic_load(&Readers.failed), 0);
    close_readers();
    for (size_t i = 0; i < WRITERS; i++)
        client_close(writers[i]);
    free(Readers.locks);
    free(Readers.threads);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"each of a thousand readers wakes once", each_of_a_thousand_readers_wakes_once},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "readers", cases);
}
