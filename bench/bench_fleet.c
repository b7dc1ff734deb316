/*
 * bench_fleet - many sessions that do the same for a while: rest, are kept, wait, or hold.
 *
 * usage: bench_fleet STATE SESSIONS TIMEOUT_MS, with ZKLOCK_HOSTS. Opens the sessions, a lock and a
 * thread each, and brings them into the state. Prints "ready"; then, for each line that it reads,
 * how many writes and syncs the library has sent so far. Ends at the end of its input.
 * bench/fleet.sh puts the servers' figures beside it.
 *
 * This program's zoo_async, zoo_amulti and zoo_adelete stand before the client library's, to count.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zookeeper/zookeeper.h>

#include <zklock.h>

#define SESSIONS_MAX 2000
#define PATH_BYTES 256
#define NAME "fleet-%zu"
#define DIRECTORY "/locks/" NAME
#define CONTENDER "/_c_00000000-0000-4000-8000-000000000000-lock-"
#define CONNECT_LIMIT_MS 60000
#define STACK_BYTES (64 * 1024)

struct member {
    zkl_session *session;
    zkl_lock *lock;
    pthread_t thread;
    bool has_thread;
};

static struct member Members[SESSIONS_MAX];
static atomic_size_t Syncs, Writes;

static void die(const char *what, const char *why) {
    (void)fprintf(stderr, "bench_fleet: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void must(zkl_err err, const char *what) {
    if (err != ZKL_OK)
        die(what, zkl_strerror(err));
}

/* ---- Counting ---- */

#define NEXT(fn, symbol)                                                                           \
    do {                                                                                           \
        void *next_ = dlsym(RTLD_NEXT, symbol);                                                    \
        memcpy(&(fn), &next_, sizeof(fn));                                                         \
    } while (0)

__attribute__((visibility("default"))) int zoo_async(zhandle_t *zh, const char *path,
                                                     string_completion_t completion,
                                                     const void *data) {
    int (*next)(zhandle_t *, const char *, string_completion_t, const void *);
    NEXT(next, "zoo_async");
    (void)atomic_fetch_add(&Syncs, 1);
    return next(zh, path, completion, data);
}

__attribute__((visibility("default"))) int zoo_amulti(zhandle_t *zh, int count, const zoo_op_t *ops,
                                                      zoo_op_result_t *results,
                                                      void_completion_t completion,
                                                      const void *data) {
    int (*next)(zhandle_t *, int, const zoo_op_t *, zoo_op_result_t *, void_completion_t,
                const void *);
    NEXT(next, "zoo_amulti");
    (void)atomic_fetch_add(&Writes, 1);
    return next(zh, count, ops, results, completion, data);
}

__attribute__((visibility("default"))) int zoo_adelete(zhandle_t *zh, const char *path, int version,
                                                       void_completion_t completion,
                                                       const void *data) {
    int (*next)(zhandle_t *, const char *, int, void_completion_t, const void *);
    NEXT(next, "zoo_adelete");
    (void)atomic_fetch_add(&Writes, 1);
    return next(zh, path, version, completion, data);
}

/* ---- The fleet ---- */

static void *wait_for_lock(void *arg) {
    struct member *m = arg;
    zkl_err err = zkl_acquire(m->lock, ZKL_FOREVER);
    die("a wait has ended", zkl_strerror(err)); /* the program does, first */
    return NULL;
}

/* A node of another program's, which holds. */
static void hold_by_another(zhandle_t *holder, size_t number) {
    char path[PATH_BYTES];
    int code = zoo_create(holder, "/locks", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
    if (code != ZOK && code != ZNODEEXISTS)
        die("create /locks", zerror(code));
    (void)snprintf(path, sizeof(path), DIRECTORY, number);
    code = zoo_create(holder, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
    if (code != ZOK && code != ZNODEEXISTS)
        die(path, zerror(code));
    (void)snprintf(path, sizeof(path), DIRECTORY CONTENDER, number);
    code = zoo_create(holder, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, NULL, 0);
    if (code != ZOK)
        die(path, zerror(code));
}

static void begin_waiting(struct member *m) {
    pthread_attr_t attributes;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&m->thread, &attributes, wait_for_lock, m) != 0)
        die("a thread", "cannot be started");
    m->has_thread = true;
    (void)pthread_attr_destroy(&attributes);
}

static void open_member(const char *hosts, const char *state, int timeout_ms, zhandle_t *holder,
                        size_t number) {
    struct member *m = &Members[number];
    char name[64];
    must(zkl_session_open(&m->session, hosts,
                          &ZKL_SESSION_OPTIONS(.session_timeout_ms = timeout_ms,
                                               .connect_timeout_ms = CONNECT_LIMIT_MS,
                                               .keep_session = strcmp(state, "kept") == 0)),
         "open a session");
    (void)snprintf(name, sizeof(name), NAME, number);
    must(zkl_lock_open(&m->lock, m->session, name, NULL), "open a lock");
    if (strcmp(state, "waiting") == 0) {
        hold_by_another(holder, number);
        begin_waiting(m);
    } else {
        must(zkl_acquire(m->lock, ZKL_FOREVER), "acquire");
        if (strcmp(state, "holding") != 0)
            must(zkl_release_wait(m->lock, ZKL_FOREVER), "release");
    }
}

static void close_members(size_t count) {
    for (size_t i = 0; i < count; i++) {
        (void)zkl_lock_close(Members[i].lock);
        if (Members[i].has_thread)
            (void)pthread_join(Members[i].thread, NULL);
        (void)zkl_session_close(Members[i].session);
    }
}

static void ignore_event(zhandle_t *handle, int type, int state, const char *path, void *context) {
    (void)handle;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

static void ignore_log(const char *message) {
    (void)message;
}

int main(int argc, char **argv) {
    static const char *const states[] = {"resting", "kept", "waiting", "holding"};
    const char *hosts = getenv("ZKLOCK_HOSTS");
    bool is_known = false;
    if (argc != 4 || hosts == NULL)
        die("usage", "ZKLOCK_HOSTS=... bench_fleet STATE SESSIONS TIMEOUT_MS");
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        is_known = is_known || strcmp(argv[1], states[i]) == 0;
    const size_t count = strtoul(argv[2], NULL, 10);
    const int timeout_ms = (int)strtol(argv[3], NULL, 10);
    if (!is_known || count < 1 || count > SESSIONS_MAX || timeout_ms < 1000)
        die("usage", "resting, kept, waiting or holding; 1 to 2000 sessions; a second or more");
    zhandle_t *holder = zookeeper_init2(hosts, ignore_event, 60000, NULL, NULL, 0, ignore_log);
    if (holder == NULL)
        die("zookeeper_init2", hosts);
    for (size_t i = 0; i < count; i++)
        open_member(hosts, argv[1], timeout_ms, holder, i);
    (void)printf("ready\n");
    (void)fflush(stdout);
    char line[64];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        (void)printf("%zu %zu\n", (size_t)Writes, (size_t)Syncs);
        (void)fflush(stdout);
    }
    close_members(count);
    (void)zookeeper_close(holder);
    return EXIT_SUCCESS;
}
