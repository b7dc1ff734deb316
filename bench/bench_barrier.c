/*
 * bench_barrier - what the servers pay for a write that changes nothing, of several kinds.
 *
 * usage: bench_barrier KIND RATE SECONDS, with ZKLOCK_HOSTS. Sessions with a node each send so many
 * requests a second between them, evenly, and wait for the answers. Prints how many were answered,
 * how many of these refused, and the median and longest answer in microseconds. bench/barrier.sh
 * puts the servers' CPU and log beside it.
 *
 * A report, not a test: it fails only when something cannot be measured.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <zookeeper/zookeeper.h>

#define SESSIONS 15 /* five a server */
#define SESSION_TIMEOUT_MS 10000
#define CONNECT_LIMIT_S 20
#define ANSWER_LIMIT_S 30
#define PATH_BYTES 128
#define DIRECTORY "/bench-barrier"
#define NS_PER_S INT64_C(1000000000)
#define NS_PER_US INT64_C(1000)

struct session {
    zhandle_t *handle;
    char path[PATH_BYTES]; /* of its node */
    atomic_bool is_connected;
};

struct request {
    int64_t sent_ns;
    struct session *session;
    zoo_op_result_t result; /* the client library writes into it */
};

static struct session Sessions[SESSIONS];
static struct request *Requests;
static atomic_int_fast64_t *Took; /* of the answered */
static atomic_size_t Answered, Refused;

static void die(const char *what, const char *why) {
    (void)fprintf(stderr, "bench_barrier: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static int64_t now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void pause_ms(long ms) {
    (void)nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void answered(int code, const void *data) {
    const struct request *request = data;
    atomic_store(&Took[request - Requests], now_ns() - request->sent_ns);
    if (code != ZOK && code != ZNONODE)
        atomic_fetch_add(&Refused, 1);
    atomic_fetch_add(&Answered, 1);
}

static void answered_with_path(int code, const char *path, const void *data) {
    (void)path;
    answered(code, data);
}

static void answered_with_stat(int code, const struct Stat *stat, const void *data) {
    (void)stat;
    answered(code, data);
}

/* ---- The kinds ---- */

static int send_delete(struct request *r) {
    return zoo_adelete(r->session->handle, DIRECTORY "/no-node/below", -1, answered, r);
}

static int send_check(struct request *r) {
    zoo_op_t op;
    zoo_check_op_init(&op, r->session->path, -1);
    return zoo_amulti(r->session->handle, 1, &op, &r->result, answered, r);
}

static int send_acl(struct request *r) {
    struct ACL_vector acl = ZOO_OPEN_ACL_UNSAFE;
    return zoo_aset_acl(r->session->handle, r->session->path, -1, &acl, answered, r);
}

static int send_sync(struct request *r) {
    return zoo_async(r->session->handle, r->session->path, answered_with_path, r);
}

static int send_exists(struct request *r) {
    return zoo_aexists(r->session->handle, r->session->path, 0, answered_with_stat, r);
}

static const struct kind {
    const char *name;
    int (*send)(struct request *request);
} Kinds[] = {
    {"delete", send_delete}, /* of a node that is not there */
    {"check", send_check},   /* a transaction that looks at the session's node */
    {"acl", send_acl},       /* that node's ACL is set to what it is */
    {"sync", send_sync},     {"exists", send_exists},
};

static const struct kind *find_kind(const char *name) {
    for (size_t i = 0; i < sizeof(Kinds) / sizeof(Kinds[0]); i++)
        if (strcmp(Kinds[i].name, name) == 0)
            return &Kinds[i];
    die(name, "no such kind");
    return NULL;
}

/* ---- Sessions ---- */

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context) {
    struct session *session = context;
    (void)handle;
    (void)path;
    if (type == ZOO_SESSION_EVENT)
        atomic_store(&session->is_connected, state == ZOO_CONNECTED_STATE);
}

static void ignore_log(const char *message) {
    (void)message;
}

/* A host of the list for each in its turn, so that each server has as many. */
static void open_session(struct session *session, const char *hosts, size_t number) {
    char copy[1024], *rest = copy, *host = NULL;
    size_t count = 1;
    for (const char *p = hosts; *p != '\0'; p++)
        count += *p == ',';
    (void)snprintf(copy, sizeof(copy), "%s", hosts);
    for (size_t i = 0; i <= number % count; i++)
        host = strsep(&rest, ",");
    session->handle = zookeeper_init2(host, on_session, SESSION_TIMEOUT_MS, NULL, session, 0,
                                      ignore_log);
    if (session->handle == NULL)
        die("zookeeper_init2", host);
    for (int64_t end = now_ns() + CONNECT_LIMIT_S * NS_PER_S; !session->is_connected;) {
        if (now_ns() > end)
            die("no connection", host);
        pause_ms(10);
    }
    int code = zoo_create(session->handle, DIRECTORY, "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
    if (code != ZOK && code != ZNODEEXISTS)
        die("create " DIRECTORY, zerror(code));
    code = zoo_create(session->handle, DIRECTORY "/_c_00000000-0000-4000-8000-000000000000-lock-",
                      "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, session->path,
                      PATH_BYTES);
    if (code != ZOK)
        die("create a node", zerror(code));
}

/* ---- The run ---- */

static void send_all(const struct kind *kind, size_t count, int64_t rate) {
    const int64_t begun_ns = now_ns();
    for (size_t i = 0; i < count; i++) {
        while (now_ns() < begun_ns + (int64_t)i * NS_PER_S / rate)
            pause_ms(2);
        Requests[i].session = &Sessions[i % SESSIONS];
        Requests[i].sent_ns = now_ns();
        int code = kind->send(&Requests[i]);
        if (code != ZOK)
            die(kind->name, zerror(code));
    }
    for (int64_t end = now_ns() + ANSWER_LIMIT_S * NS_PER_S; Answered < count;) {
        if (now_ns() > end)
            die(kind->name, "not all are answered");
        pause_ms(10);
    }
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void report(size_t count) {
    int64_t *took_ns = calloc(count, sizeof(*took_ns));
    if (took_ns == NULL)
        die("report", "out of memory");
    for (size_t i = 0; i < count; i++)
        took_ns[i] = Took[i];
    qsort(took_ns, count, sizeof(*took_ns), by_value);
    (void)printf("%zu %zu %" PRId64 " %" PRId64 "\n", (size_t)Answered, (size_t)Refused,
                 took_ns[count / 2] / NS_PER_US, took_ns[count - 1] / NS_PER_US);
    free(took_ns);
}

int main(int argc, char **argv) {
    const char *hosts = getenv("ZKLOCK_HOSTS");
    if (argc != 4 || hosts == NULL)
        die("usage", "ZKLOCK_HOSTS=... bench_barrier KIND RATE SECONDS");
    const struct kind *kind = find_kind(argv[1]);
    const int64_t rate = strtol(argv[2], NULL, 10), seconds = strtol(argv[3], NULL, 10);
    if (rate < 1 || rate > 10000 || seconds < 1 || seconds > 600)
        die("usage", "a rate from 1 to 10000, and 1 to 600 seconds");
    const size_t count = (size_t)(rate * seconds);
    Requests = calloc(count, sizeof(*Requests));
    Took = calloc(count, sizeof(*Took));
    if (Requests == NULL || Took == NULL)
        die("requests", "out of memory");
    for (size_t i = 0; i < SESSIONS; i++)
        open_session(&Sessions[i], hosts, i);
    send_all(kind, count, rate);
    report(count);
    for (size_t i = 0; i < SESSIONS; i++)
        (void)zookeeper_close(Sessions[i].handle);
    free(Requests);
    free(Took);
    return EXIT_SUCCESS;
}
