/*
 * bench_floor - what the library adds to the round trips it cannot do without.
 *
 * Uncontended: zkl_acquire + zkl_release_wait, against create2 and getChildren in one flight and
 * then a delete, by the client library alone. Hand-off: from zkl_release in one session to the
 * return of zkl_acquire in another, against a delete sent on one handle that wakes a thread waiting
 * for the watch event of another. The two kinds of round alternate, so that whatever else the
 * machine does falls on both, and each round is compared with the one beside it. In an ensemble the
 * sessions may be on different servers, a leader's and a follower's, and the ratio says that, too.
 *
 * A report, not a test: it fails only when something cannot be measured.
 */
#include <errno.h>
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

#define ROUNDS_DEFAULT 2000
#define ROUNDS_MAX 1000000
/* Until the server's and our code is warm. */
#define WARM_UP_ROUNDS 300
#define SESSION_TIMEOUT_MS 10000
#define PATH_BYTES 512
/* Names and data are as long as the library's own. */
#define LOCK_NAME "bench/floor"
#define RAW_DIRECTORY "/locks/bench/plain"
#define RAW_PREFIX RAW_DIRECTORY "/_c_00000000-0000-4000-8000-000000000000-lock-"
#define RAW_DATA                                                                                   \
    "zklock1 t=10000 owner=0123456789ABCDEF.1 pid=12345 tid=12345 host=bench prog=bench_floor"

/* What the project asks of itself, for the report. */
#define UNCONTENDED_RATIO_ASKED 1.05
#define HAND_OFF_RATIO_ASKED 1.3
/* Where the waiter lists when it is woken. */
#define LISTING_RATIO_ASKED 2.3

static void die(const char *what, const char *why) {
    (void)fprintf(stderr, "bench_floor: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void must_zk(int code, const char *what) {
    if (code != ZOK)
        die(what, zerror(code));
}

static void must(zkl_err err, const char *what) {
    if (err != ZKL_OK)
        die(what, zkl_strerror(err));
}

static int64_t now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- A counter that threads wait for ---- */

struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned count;
};

#define GATE_INIT                                                                                  \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

static void gate_open(struct gate *gate) {
    (void)pthread_mutex_lock(&gate->mutex);
    gate->count++;
    (void)pthread_cond_signal(&gate->changed);
    (void)pthread_mutex_unlock(&gate->mutex);
}

/* Waits until it was opened so many times, and closes it. */
static void gate_pass(struct gate *gate, unsigned count) {
    (void)pthread_mutex_lock(&gate->mutex);
    while (gate->count < count)
        (void)pthread_cond_wait(&gate->changed, &gate->mutex);
    gate->count = 0;
    (void)pthread_mutex_unlock(&gate->mutex);
}

/* ---- The client library alone ---- */

struct raw {
    zhandle_t *handle;
    struct gate connected, answered, fired;
    int code;
    char path[PATH_BYTES]; /* of the node created last */
};

static void ignore_log(const char *message) {
    (void)message;
}

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context) {
    struct raw *raw = context;
    (void)handle;
    (void)path;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
        gate_open(&raw->connected);
}

static void on_fired(zhandle_t *handle, int type, int state, const char *path, void *context) {
    struct raw *raw = context;
    (void)handle;
    (void)state;
    (void)path;
    if (type != ZOO_SESSION_EVENT)
        gate_open(&raw->fired);
}

static void on_created(int code, const char *path, const struct Stat *stat, const void *context) {
    struct raw *raw = (struct raw *)context;
    (void)stat;
    raw->code = code;
    if (code == ZOK)
        (void)snprintf(raw->path, sizeof(raw->path), "%s", path);
    gate_open(&raw->answered);
}

static void on_directory(int code, const char *path, const void *context) {
    struct raw *raw = (struct raw *)context;
    (void)path;
    raw->code = code == ZNODEEXISTS ? ZOK : code;
    gate_open(&raw->answered);
}

static void on_listed(int code, const struct String_vector *names, const void *context) {
    struct raw *raw = (struct raw *)context;
    (void)names;
    raw->code = raw->code == ZOK ? code : raw->code;
    gate_open(&raw->answered);
}

static void on_read(int code, const char *data, int length, const struct Stat *stat,
                    const void *context) {
    struct raw *raw = (struct raw *)context;
    (void)data;
    (void)length;
    (void)stat;
    raw->code = code;
    gate_open(&raw->answered);
}

static void on_deleted(int code, const void *context) {
    struct raw *raw = (struct raw *)context;
    raw->code = code;
    gate_open(&raw->answered);
}

static void raw_await(struct raw *raw, unsigned answers, const char *what) {
    gate_pass(&raw->answered, answers);
    must_zk(raw->code, what);
}

/* As it comes, the client library looks up the servers' names on every turn of its loop, which a
 * floor need not do. It can be told not to since 3.7.0; weak, to link with older ones too. */
extern __attribute__((weak)) int zoo_set_servers_resolution_delay(zhandle_t *handle, int delay_ms);

static void stop_resolving(zhandle_t *handle) {
    if (zoo_set_servers_resolution_delay != NULL)
        must_zk(zoo_set_servers_resolution_delay(handle, -1), "resolution delay");
}

static void raw_open(struct raw *raw, const char *hosts, bool is_as_it_comes) {
    raw->handle = zookeeper_init2(hosts, on_session, SESSION_TIMEOUT_MS, NULL, raw, 0, ignore_log);
    if (raw->handle == NULL)
        die(hosts, strerror(errno));
    if (!is_as_it_comes)
        stop_resolving(raw->handle);
    gate_pass(&raw->connected, 1);
}

/* The last one is not a container, which the server would remove between two rounds. */
static void raw_make_directory(struct raw *raw) {
    char path[] = RAW_DIRECTORY;
    for (char *end = strchr(path + 1, '/');; end = strchr(end + 1, '/')) {
        if (end != NULL)
            *end = '\0';
        must_zk(zoo_acreate(raw->handle, path, "", 0, &ZOO_OPEN_ACL_UNSAFE,
                            end != NULL ? ZOO_CONTAINER : ZOO_PERSISTENT, on_directory, raw),
                "create");
        raw_await(raw, 1, path);
        if (end == NULL)
            return;
        *end = '/';
    }
}

static void raw_create_and_list(struct raw *raw) {
    must_zk(zoo_acreate2(raw->handle, RAW_PREFIX, RAW_DATA, sizeof(RAW_DATA) - 1,
                         &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, on_created, raw),
            "create");
    must_zk(zoo_aget_children(raw->handle, RAW_DIRECTORY, 0, on_listed, raw), "list");
    raw_await(raw, 2, "create and list");
}

static void raw_delete(struct raw *raw) {
    must_zk(zoo_adelete(raw->handle, raw->path, -1, on_deleted, raw), "delete");
}

/* Another server of an ensemble may not have heard of the node yet. */
static void raw_watch(struct raw *raw, const char *path) {
    do {
        must_zk(zoo_awget(raw->handle, path, on_fired, raw, on_read, raw), "watch");
        gate_pass(&raw->answered, 1);
    } while (raw->code == ZNONODE);
    must_zk(raw->code, path);
}

static void raw_remove_directory(struct raw *raw) {
    must_zk(zoo_adelete(raw->handle, RAW_DIRECTORY, -1, on_deleted, raw), "delete");
    raw_await(raw, 1, RAW_DIRECTORY);
}

/* ---- Both sides ---- */

struct side {
    struct raw raw;
    zkl_session *session;
    zkl_lock *lock;
    struct gate queued;
};

enum order {
    WAIT_FOR_LOCK,
    WAIT_FOR_WATCH,
    END
};

/* A reader is woken by a writer, so the side that hands off has a lock of either kind. */
struct kind {
    const char *name;
    zkl_kind giver, waiter;
    double hand_off_ratio_asked;
};

static const struct kind Kinds[] = {
    {"mutex", ZKL_MUTEX, ZKL_MUTEX, HAND_OFF_RATIO_ASKED},
    {"write", ZKL_WRITE, ZKL_WRITE, LISTING_RATIO_ASKED},
    {"read", ZKL_WRITE, ZKL_READ, HAND_OFF_RATIO_ASKED},
    {"semaphore", ZKL_SEMAPHORE, ZKL_SEMAPHORE, LISTING_RATIO_ASKED},
};

/* The side that hands off is the main thread's; the one that waits has a thread of its own. */
struct bench {
    struct side giver, waiter;
    zkl_lock *free_lock; /* on the giver's session, of the waiter's kind */
    struct gate ordered, armed, done;
    enum order order;
    int64_t woken_ns;
    int64_t acquire_timeout_ms;
};

static void on_lock_event(const zkl_event *event, void *arg) {
    struct side *side = arg;
    if (event->type == ZKL_EVENT_QUEUED)
        gate_open(&side->queued);
}

/* With on_event another thread is woken for each grant. */
static zkl_lock *open_lock(struct side *side, zkl_kind kind, zkl_event_fn on_event) {
    zkl_lock *l = NULL;
    must(zkl_lock_open(&l, side->session, LOCK_NAME,
                       &ZKL_LOCK_OPTIONS(.kind = kind, .permits = kind == ZKL_SEMAPHORE,
                                         .on_event = on_event, .arg = side)),
         LOCK_NAME);
    return l;
}

static void side_open(struct side *side, const char *hosts, zkl_kind kind, bool is_as_it_comes) {
    const struct gate closed = GATE_INIT;
    side->queued = side->raw.connected = side->raw.answered = side->raw.fired = closed;
    raw_open(&side->raw, hosts, is_as_it_comes);
    must(zkl_session_open(&side->session, hosts,
                          &ZKL_SESSION_OPTIONS(.session_timeout_ms = SESSION_TIMEOUT_MS)),
         hosts);
    side->lock = open_lock(side, kind, on_lock_event);
}

static void side_close(struct side *side) {
    must(zkl_lock_close(side->lock), "close the lock");
    must(zkl_session_close(side->session), "close the session");
    must_zk(zookeeper_close(side->raw.handle), "close");
}

/* ---- Uncontended ---- */

static int64_t lock_round(struct bench *b) {
    int64_t begun = now_ns();
    must(zkl_acquire(b->free_lock, b->acquire_timeout_ms), "acquire");
    must(zkl_release_wait(b->free_lock, b->acquire_timeout_ms), "release");
    return now_ns() - begun;
}

static int64_t raw_round(struct bench *b) {
    struct raw *raw = &b->giver.raw;
    int64_t begun = now_ns();
    raw_create_and_list(raw);
    raw_delete(raw);
    raw_await(raw, 1, "delete");
    return now_ns() - begun;
}

/* ---- Hand-off ---- */

static void *wait_as_ordered(void *arg) {
    struct bench *b = arg;
    struct side *side = &b->waiter;
    for (;;) {
        gate_pass(&b->ordered, 1);
        switch (b->order) {
        case WAIT_FOR_LOCK:
            must(zkl_acquire(side->lock, b->acquire_timeout_ms), "acquire");
            b->woken_ns = now_ns();
            must(zkl_release_wait(side->lock, b->acquire_timeout_ms), "release");
            break;
        case WAIT_FOR_WATCH:
            raw_watch(&side->raw, b->giver.raw.path);
            gate_open(&b->armed);
            gate_pass(&side->raw.fired, 1);
            b->woken_ns = now_ns();
            break;
        case END:
            return NULL;
        }
        gate_open(&b->done);
    }
}

static void give_order(struct bench *b, enum order order) {
    b->order = order;
    gate_open(&b->ordered);
}

/* A reply comes after those of everything its session asked before: when the queue has been read,
 * the watches of the waiter are set. */
static void await_watches(struct side *side) {
    zkl_queue *queue;
    gate_pass(&side->queued, 1);
    must(zkl_inspect(side->session, LOCK_NAME, &queue), "inspect");
    if (zkl_queue_count(queue) != 2)
        die("inspect", "somebody else uses the lock " LOCK_NAME);
    zkl_queue_free(queue);
}

static int64_t lock_hand_off(struct bench *b) {
    must(zkl_acquire(b->giver.lock, b->acquire_timeout_ms), "acquire");
    give_order(b, WAIT_FOR_LOCK);
    await_watches(&b->waiter);
    int64_t begun = now_ns();
    must(zkl_release(b->giver.lock), "release");
    gate_pass(&b->done, 1);
    return b->woken_ns - begun;
}

static int64_t raw_hand_off(struct bench *b) {
    struct raw *raw = &b->giver.raw;
    raw_create_and_list(raw);
    give_order(b, WAIT_FOR_WATCH);
    gate_pass(&b->armed, 1);
    int64_t begun = now_ns();
    raw_delete(raw);
    gate_pass(&b->done, 1);
    raw_await(raw, 1, "delete");
    return b->woken_ns - begun;
}

/* ---- Statistics ---- */

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value that so many per cent are not above; sorts. */
static double percentile(double *values, size_t count, unsigned percent) {
    qsort(values, count, sizeof(*values), compare);
    size_t rank = (count * percent + 99) / 100;
    return values[rank > 0 ? rank - 1 : 0];
}

struct measurement {
    const char *name, *lock_name, *raw_name;
    double ratio_asked; /* 0: the kind's */
    int64_t (*lock_round)(struct bench *b);
    int64_t (*raw_round)(struct bench *b);
};

static void report(const struct measurement *m, double ratio_asked, size_t rounds, double *lock_us,
                   double *raw_us, double *ratios) {
    (void)printf("%s, %zu rounds of each\n", m->name, rounds);
    (void)printf("    %-48s %9s %9s\n", "", "median", "p99");
    double median = percentile(lock_us, rounds, 50);
    (void)printf("    %-48s %6.0f us %6.0f us\n", m->lock_name, median,
                 percentile(lock_us, rounds, 99));
    median = percentile(raw_us, rounds, 50);
    (void)printf("    %-48s %6.0f us %6.0f us\n", m->raw_name, median,
                 percentile(raw_us, rounds, 99));
    median = percentile(ratios, rounds, 50);
    (void)printf("    %-48s %9.3f %9.3f    asked: at most %.2f, %s\n\n", "ratio of paired rounds",
                 median, percentile(ratios, rounds, 99), ratio_asked,
                 median <= ratio_asked ? "met" : "NOT MET");
}

/* Which of the two comes first alternates too. */
static void measure(struct bench *b, const struct measurement *m, const struct kind *kind,
                    size_t rounds) {
    double *lock_us = calloc(rounds, sizeof(*lock_us));
    double *raw_us = calloc(rounds, sizeof(*raw_us));
    double *ratios = calloc(rounds, sizeof(*ratios));
    if (lock_us == NULL || raw_us == NULL || ratios == NULL)
        die(m->name, strerror(ENOMEM));
    for (size_t i = 0; i < WARM_UP_ROUNDS + rounds; i++) {
        size_t at = i < WARM_UP_ROUNDS ? 0 : i - WARM_UP_ROUNDS;
        double first = (double)(i % 2 == 0 ? m->lock_round : m->raw_round)(b) / 1000;
        double second = (double)(i % 2 == 0 ? m->raw_round : m->lock_round)(b) / 1000;
        lock_us[at] = i % 2 == 0 ? first : second;
        raw_us[at] = i % 2 == 0 ? second : first;
        ratios[at] = lock_us[at] / raw_us[at];
    }
    report(m, m->ratio_asked > 0 ? m->ratio_asked : kind->hand_off_ratio_asked, rounds, lock_us,
           raw_us, ratios);
    free(lock_us);
    free(raw_us);
    free(ratios);
}

static const struct measurement Measurements[] = {
    {"uncontended", "zkl_acquire + zkl_release_wait", "create2 | getChildren, then delete",
     UNCONTENDED_RATIO_ASKED, lock_round, raw_round},
    {"hand-off between two sessions", "zkl_release to zkl_acquire's return",
     "delete sent to the watch's waiter awake", 0, lock_hand_off, raw_hand_off},
};

/* ---- The command line ---- */

static const char Usage[] =
    "usage: bench_floor [-n ROUNDS] [-t MS] [-k KIND] [-r]\n"
    "\n"
    "  -n ROUNDS  of each kind [2000]\n"
    "  -t MS      acquire and release with this timeout instead of none\n"
    "  -k KIND    mutex, read, which is woken by a writer, write, or semaphore, of one\n"
    "             permit: the waiters of these two list once more than the floor [mutex]\n"
    "  -r         the client library alone resolves names all the time, as it does by default\n"
    "\n"
    "ZKLOCK_HOSTS names the servers. Nobody else may use the lock " LOCK_NAME ".\n";

static long long number_or_usage(const char *text, long long most) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < 1 || number > most) {
        (void)fputs(Usage, stderr);
        exit(64);
    }
    return number;
}

static const struct kind *kind_or_usage(const char *name) {
    for (size_t i = 0; i < sizeof(Kinds) / sizeof(Kinds[0]); i++)
        if (strcmp(Kinds[i].name, name) == 0)
            return &Kinds[i];
    (void)fputs(Usage, stderr);
    exit(64);
}

int main(int argc, char **argv) {
    static struct bench b = {
        .ordered = GATE_INIT,
        .armed = GATE_INIT,
        .done = GATE_INIT,
        .acquire_timeout_ms = ZKL_FOREVER,
    };
    size_t rounds = ROUNDS_DEFAULT;
    bool is_as_it_comes = false;
    const struct kind *kind = &Kinds[0];
    const char *hosts = getenv("ZKLOCK_HOSTS");
    int option;
    while ((option = getopt(argc, argv, "n:t:k:r")) != -1)
        if (option == 'n')
            rounds = (size_t)number_or_usage(optarg, ROUNDS_MAX);
        else if (option == 'k')
            kind = kind_or_usage(optarg);
        else if (option == 'r')
            is_as_it_comes = true;
        else
            b.acquire_timeout_ms = number_or_usage(option == 't' ? optarg : "", INT32_MAX);
    if (hosts == NULL || optind < argc) {
        (void)fputs(Usage, stderr);
        return 64;
    }
    pthread_t thread;
    side_open(&b.giver, hosts, kind->giver, is_as_it_comes);
    side_open(&b.waiter, hosts, kind->waiter, is_as_it_comes);
    b.free_lock = open_lock(&b.giver, kind->waiter, NULL);
    raw_make_directory(&b.giver.raw);
    if (pthread_create(&thread, NULL, wait_as_ordered, &b) != 0)
        die("thread", strerror(EAGAIN));
    for (size_t i = 0; i < sizeof(Measurements) / sizeof(Measurements[0]); i++)
        measure(&b, &Measurements[i], kind, rounds);
    give_order(&b, END);
    (void)pthread_join(thread, NULL);
    raw_remove_directory(&b.giver.raw);
    must(zkl_lock_close(b.free_lock), "close the lock");
    side_close(&b.waiter);
    side_close(&b.giver);
    return EXIT_SUCCESS;
}
