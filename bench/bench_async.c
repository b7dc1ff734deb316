/*
 * bench_async - how many free locks a second one thread of a program takes and gives up, 256 at a
 * time, without waiting for any.
 *
 * zkl_acquire_async and zkl_release_async, against create2 and getChildren in one flight and then a
 * delete, by the client library alone. Each of the 256 has a directory of its own, and begins anew
 * when its delete is answered. The two kinds of round alternate, on one server, and each is
 * compared with the one beside it.
 *
 * A report, not a test: it fails only when something cannot be measured.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <zookeeper/zookeeper.h>

#include <zklock.h>

#define AT_ONCE 256
#define ROUNDS_DEFAULT 15
#define ROUNDS_MAX 1000
#define CYCLES_DEFAULT 5000 /* of a round */
#define SESSION_TIMEOUT_MS 10000
#define RATIO_ASKED 0.7
#define RAW_DATA                                                                                   \
    "zklock1 t=10000 owner=0123456789ABCDEF.1 pid=12345 tid=12345 host=bench prog=bench_async"

static void die(const char *what, const char *why) {
    (void)fprintf(stderr, "bench_async: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void must(zkl_err err, const char *what) {
    if (err != ZKL_OK)
        die(what, zkl_strerror(err));
}

static void must_zk(int code, const char *what) {
    if (code != ZOK)
        die(what, zerror(code));
}

static double now_s(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- A round: so many cycles, of which each ends with a call of round_next ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t done;
    unsigned left, under_way;
} Round = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

/* One more is under way. False: there are enough. */
static bool round_begin(void) {
    (void)pthread_mutex_lock(&Round.mutex);
    bool goes_on = Round.left > 0;
    Round.left -= goes_on;
    Round.under_way += goes_on;
    (void)pthread_mutex_unlock(&Round.mutex);
    return goes_on;
}

static void round_end(void) {
    (void)pthread_mutex_lock(&Round.mutex);
    if (--Round.under_way == 0 && Round.left == 0)
        (void)pthread_cond_signal(&Round.done);
    (void)pthread_mutex_unlock(&Round.mutex);
}

/* Cycles a second, begun by so many calls of begin. */
static double round_rate(unsigned cycles, void (*begin)(unsigned i)) {
    double begun_s = now_s();
    Round.left = cycles;
    for (unsigned i = 0; i < AT_ONCE; i++)
        begin(i);
    (void)pthread_mutex_lock(&Round.mutex);
    while (Round.left > 0 || Round.under_way > 0)
        (void)pthread_cond_wait(&Round.done, &Round.mutex);
    (void)pthread_mutex_unlock(&Round.mutex);
    return cycles / (now_s() - begun_s);
}

/* ---- This library ---- */

static zkl_lock *Locks[AT_ONCE];

static void begin_lock(unsigned i);

static unsigned index_of(void *arg) {
    return (unsigned)(uintptr_t)arg;
}

static void on_released(zkl_err err, zkl_hold hold, void *arg) {
    (void)hold;
    must(err, "release");
    begin_lock(index_of(arg));
    round_end();
}

static void on_held(zkl_err err, zkl_hold hold, void *arg) {
    must(err, "acquire");
    must(zkl_release_async(Locks[index_of(arg)], hold, ZKL_FOREVER, on_released, arg), "release");
}

static void begin_lock(unsigned i) {
    if (round_begin())
        must(zkl_acquire_async(Locks[i], ZKL_FOREVER, on_held, (void *)(uintptr_t)i), "acquire");
}

/* ---- The client library alone ---- */

static struct raw {
    unsigned replies; /* to the create and the list */
    char path[128];
} Raws[AT_ONCE];
static zhandle_t *Handle;
static pthread_mutex_t Connecting = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t Connected = PTHREAD_COND_INITIALIZER;
static bool IsConnected;

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context) {
    (void)handle;
    (void)path;
    (void)context;
    (void)pthread_mutex_lock(&Connecting);
    IsConnected = IsConnected || (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE);
    (void)pthread_cond_signal(&Connected);
    (void)pthread_mutex_unlock(&Connecting);
}

static void directory_of(unsigned i, char ret_path[64]) {
    (void)snprintf(ret_path, 64, "/locks/bench/plain%u", i);
}

static void begin_raw(unsigned i);

static void on_deleted(int code, const void *context) {
    must_zk(code, "delete");
    begin_raw((unsigned)((const struct raw *)context - Raws));
    round_end();
}

static void on_reply(struct raw *raw) {
    if (++raw->replies == 2)
        must_zk(zoo_adelete(Handle, raw->path, -1, on_deleted, raw), "delete");
}

static void on_created(int code, const char *path, const struct Stat *stat, const void *context) {
    struct raw *raw = (struct raw *)context;
    (void)stat;
    must_zk(code, "create");
    (void)snprintf(raw->path, sizeof(raw->path), "%s", path);
    on_reply(raw);
}

static void on_listed(int code, const struct String_vector *children, const struct Stat *stat,
                      const void *context) {
    (void)children;
    (void)stat;
    must_zk(code, "list");
    on_reply((struct raw *)context);
}

static void begin_raw(unsigned i) {
    char directory[64], prefix[128];
    if (!round_begin())
        return;
    directory_of(i, directory);
    (void)snprintf(prefix, sizeof(prefix), "%s/_c_00000000-0000-4000-8000-000000000000-lock-",
                   directory);
    Raws[i].replies = 0;
    must_zk(zoo_acreate2(Handle, prefix, RAW_DATA, (int)strlen(RAW_DATA), &ZOO_OPEN_ACL_UNSAFE,
                         ZOO_EPHEMERAL_SEQUENTIAL, on_created, &Raws[i]),
            "create");
    must_zk(zoo_aget_children2(Handle, directory, 0, on_listed, &Raws[i]), "list");
}

static void ignore_log(const char *message) {
    (void)message;
}

static void raw_open(const char *hosts) {
    char path[64];
    zoo_set_log_stream(NULL);
    Handle = zookeeper_init2(hosts, on_session, SESSION_TIMEOUT_MS, NULL, NULL, 0, ignore_log);
    if (Handle == NULL)
        die("zookeeper_init2", "no handle");
    (void)pthread_mutex_lock(&Connecting);
    while (!IsConnected)
        (void)pthread_cond_wait(&Connected, &Connecting);
    (void)pthread_mutex_unlock(&Connecting);
    for (unsigned i = 0; i < AT_ONCE; i++) {
        directory_of(i, path);
        int code = zoo_create(Handle, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
        must_zk(code == ZNODEEXISTS ? ZOK : code, path);
    }
}

static void raw_close(void) {
    char path[64];
    for (unsigned i = 0; i < AT_ONCE; i++) {
        directory_of(i, path);
        (void)zoo_delete(Handle, path, -1);
    }
    (void)zookeeper_close(Handle);
}

/* ---- Both ---- */

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned count) {
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

static void measure(unsigned rounds, unsigned cycles) {
    static double ours[ROUNDS_MAX], raw[ROUNDS_MAX], ratios[ROUNDS_MAX];
    (void)round_rate(cycles, begin_lock); /* until the server's and our code is warm */
    (void)round_rate(cycles, begin_raw);
    for (unsigned i = 0; i < rounds; i++) {
        ours[i] = round_rate(cycles, begin_lock);
        raw[i] = round_rate(cycles, begin_raw);
        ratios[i] = ours[i] / raw[i];
    }
    const double ratio = median(ratios, rounds);
    printf("%u rounds of %u locks each, %d under way\n", rounds, cycles, AT_ONCE);
    printf("zkl_acquire_async and zkl_release_async: %.0f /s\n", median(ours, rounds));
    printf("create2, getChildren, delete: %.0f /s\n", median(raw, rounds));
    printf("ratio of paired rounds: %.2f (asked: at least %.1f, %s)\n", ratio, RATIO_ASKED,
           ratio >= RATIO_ASKED ? "met" : "NOT MET");
}

static unsigned number_of(const char *text, unsigned max) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*end != '\0' || value == 0 || value > max)
        die(text, "not a number in range");
    return (unsigned)value;
}

int main(int argc, char **argv) {
    unsigned rounds = ROUNDS_DEFAULT, cycles = CYCLES_DEFAULT;
    const char *hosts = getenv("ZKLOCK_HOSTS");
    zkl_session *session = NULL;
    int option;
    while ((option = getopt(argc, argv, "n:c:")) != -1)
        if (option == 'n')
            rounds = number_of(optarg, ROUNDS_MAX);
        else if (option == 'c')
            cycles = number_of(optarg, 1000000);
        else
            return EXIT_FAILURE;
    if (hosts == NULL)
        die("ZKLOCK_HOSTS", "not set");
    must(zkl_session_open(&session, hosts,
                          &ZKL_SESSION_OPTIONS(.session_timeout_ms = SESSION_TIMEOUT_MS)),
         hosts);
    for (unsigned i = 0; i < AT_ONCE; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "bench/async%u", i);
        must(zkl_lock_open(&Locks[i], session, name, NULL), name);
    }
    must(zkl_acquire(Locks[0], ZKL_FOREVER), "acquire"); /* makes /locks/bench */
    must(zkl_release_wait(Locks[0], ZKL_FOREVER), "release");
    raw_open(hosts);
    measure(rounds, cycles);
    raw_close();
    for (unsigned i = 0; i < AT_ONCE; i++)
        must(zkl_lock_close(Locks[i]), "close");
    return zkl_session_close(session) == ZKL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
