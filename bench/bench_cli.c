/*
 * bench_cli - how long the command takes as a process, beside flock(1) and its own round trips.
 *
 * ZKLOCK_HOSTS names the server. The first argument says what to do:
 *
 * - start ROUNDS ZKLOCK. Each round runs "true", "flock FILE true", this program as "raw", and
 *   "ZKLOCK run bench/cli true". Other work on the machine falls on all of them.
 * - raw. The client library alone opens a session, creates a node and lists its directory, runs
 *   true, deletes the node, and ends the session. It prints how many ns these calls took with their
 *   answers.
 * - queue CONTENDERS. They queue for bench/queue until the end of the input.
 * - time ROUNDS LABEL COMMAND... The output of the command is thrown away.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <zookeeper/zookeeper.h>

#include <zklock.h>

#define ROUNDS_MAX 10000
#define CONTENDERS_MAX 2000
#define WARM_UP_ROUNDS 5
#define NS_PER_MS 1e6
#define SESSION_TIMEOUT_MS 10000
#define QUEUE_TIMEOUT_MS 60000
#define LOCK_NAME "bench/cli"
#define QUEUE_NAME "bench/queue"
#define RAW_DIRECTORY "/zklock-bench-cli"
#define RAW_PREFIX RAW_DIRECTORY "/_c_00000000-0000-4000-8000-000000000000-lock-"
#define RAW_DATA                                                                                   \
    "zklock1 t=10000 owner=0123456789ABCDEF.1 pid=12345 tid=12345 host=bench prog=zklock"

extern char **environ;

static void die(const char *what, const char *why) {
    (void)fprintf(stderr, "bench_cli: %s: %s\n", what, why);
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

/* ---- Processes ---- */

/* Runs a command to its end; its standard output is output, or /dev/null if that is -1. */
static void run(char *const *command, int output) {
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    (void)posix_spawn_file_actions_init(&actions);
    if (output < 0)
        (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    else
        (void)posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    int error = posix_spawnp(&pid, command[0], &actions, NULL, command, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        die(command[0], strerror(error));
    if (waitpid(pid, &status, 0) != pid || status != 0)
        die(command[0], "failed");
}

static int64_t time_of(char *const *command) {
    int64_t begun = now_ns();
    run(command, -1);
    return now_ns() - begun;
}

/* ---- The client library alone ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int answers;
    int code;
    char path[256];
} Raw = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void answered(int code) {
    (void)pthread_mutex_lock(&Raw.mutex);
    Raw.answers++;
    Raw.code = Raw.code == ZOK ? code : Raw.code;
    (void)pthread_cond_signal(&Raw.changed);
    (void)pthread_mutex_unlock(&Raw.mutex);
}

static void await_answers(int count, const char *what) {
    (void)pthread_mutex_lock(&Raw.mutex);
    while (Raw.answers < count)
        (void)pthread_cond_wait(&Raw.changed, &Raw.mutex);
    Raw.answers = 0;
    (void)pthread_mutex_unlock(&Raw.mutex);
    must_zk(Raw.code, what);
}

static void ignore_log(const char *message) {
    (void)message;
}

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context) {
    (void)handle;
    (void)path;
    (void)context;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
        answered(ZOK);
}

static void on_created(int code, const char *path, const struct Stat *stat, const void *context) {
    (void)stat;
    (void)context;
    (void)snprintf(Raw.path, sizeof(Raw.path), "%s", code == ZOK ? path : "");
    answered(code);
}

static void on_listed(int code, const struct String_vector *names, const void *context) {
    (void)names;
    (void)context;
    answered(code);
}

static void on_deleted(int code, const void *context) {
    (void)context;
    answered(code);
}

static zhandle_t *open_raw(void) {
    zhandle_t *handle = zookeeper_init2(getenv("ZKLOCK_HOSTS"), on_session, SESSION_TIMEOUT_MS,
                                        NULL, NULL, 0, ignore_log);
    if (handle == NULL)
        die("zookeeper_init2", strerror(errno));
    await_answers(1, "connect");
    return handle;
}

/* As zklock run: two requests in one flight, CMD, a delete. */
static int raw(void) {
    char *const command[] = {"true", NULL};
    int64_t begun = now_ns();
    zhandle_t *handle = open_raw();
    must_zk(zoo_acreate2(handle, RAW_PREFIX, RAW_DATA, sizeof(RAW_DATA) - 1, &ZOO_OPEN_ACL_UNSAFE,
                         ZOO_EPHEMERAL_SEQUENTIAL, on_created, NULL),
            "create");
    must_zk(zoo_aget_children(handle, RAW_DIRECTORY, 0, on_listed, NULL), "list");
    await_answers(2, "create and list");
    int64_t waited_ns = now_ns() - begun;
    run(command, -1);
    begun = now_ns();
    must_zk(zoo_adelete(handle, Raw.path, -1, on_deleted, NULL), "delete");
    await_answers(1, "delete");
    must_zk(zookeeper_close(handle), "close");
    (void)printf("%" PRId64 "\n", waited_ns + now_ns() - begun);
    return EXIT_SUCCESS;
}

static void make_raw_directory(void) {
    zhandle_t *handle = open_raw();
    int code = zoo_create(handle, RAW_DIRECTORY, "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
    must_zk(code == ZNODEEXISTS ? ZOK : code, RAW_DIRECTORY);
    must_zk(zookeeper_close(handle), "close");
}

static void remove_raw_directory(void) {
    zhandle_t *handle = open_raw();
    must_zk(zoo_delete(handle, RAW_DIRECTORY, -1), RAW_DIRECTORY);
    must_zk(zookeeper_close(handle), "close");
}

/* ---- start ---- */

enum {
    TRUE_ALONE,
    FLOCK,
    RAW,
    RAW_CALLS,
    RUN,
    BEYOND_RAW,   /* RUN beyond RAW of the same round */
    BEYOND_CALLS, /* RUN beyond RAW_CALLS and TRUE_ALONE of the same round */
    FIGURES
};

static const char *const Names[FIGURES] = {
    [TRUE_ALONE] = "true",
    [FLOCK] = "flock FILE true",
    [RAW] = "the client library alone with the same round trips, and true",
    [RAW_CALLS] = "of these, in calls of the client library",
    [RUN] = "zklock run NAME true",
    [BEYOND_RAW] = "zklock run beyond the client library alone",
    [BEYOND_CALLS] = "zklock run beyond these calls and true",
};

static int64_t Figures[FIGURES][ROUNDS_MAX];

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_row(const char *name, int64_t *figures, size_t count) {
    qsort(figures, count, sizeof(*figures), compare);
    (void)printf("%s | %.1f | %.1f | %.1f\n", name, (double)figures[0] / NS_PER_MS,
                 (double)figures[count / 2] / NS_PER_MS,
                 (double)figures[count * 9 / 10] / NS_PER_MS);
}

static void print_heading(void) {
    (void)printf("whole process, ms | least | median | nine of ten within\n");
}

/* Leaves what it says of its calls, too. */
static int64_t time_raw(int64_t *ret_calls_ns) {
    char *const command[] = {"/proc/self/exe", "raw", NULL};
    char text[64] = "";
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        die("pipe", strerror(errno));
    int64_t begun = now_ns();
    run(command, ends[1]);
    int64_t took_ns = now_ns() - begun;
    if (read(ends[0], text, sizeof(text) - 1) <= 0)
        die("raw", "said nothing");
    *ret_calls_ns = strtoll(text, NULL, 10);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return took_ns;
}

static void round_of(size_t i, char *zklock, char *file) {
    char *const alone[] = {"true", NULL};
    char *const flock[] = {"flock", file, "true", NULL};
    char *const locked[] = {zklock, "run", LOCK_NAME, "true", NULL};
    Figures[TRUE_ALONE][i] = time_of(alone);
    Figures[FLOCK][i] = time_of(flock);
    Figures[RAW][i] = time_raw(&Figures[RAW_CALLS][i]);
    Figures[RUN][i] = time_of(locked);
    Figures[BEYOND_RAW][i] = Figures[RUN][i] - Figures[RAW][i];
    Figures[BEYOND_CALLS][i] = Figures[RUN][i] - Figures[RAW_CALLS][i] - Figures[TRUE_ALONE][i];
}

static int start(size_t rounds, char *zklock) {
    char file[] = "/tmp/bench_cli.XXXXXX";
    int fd = mkstemp(file);
    if (fd < 0)
        die(file, strerror(errno));
    make_raw_directory();
    for (size_t i = 0; i < WARM_UP_ROUNDS; i++)
        round_of(0, zklock, file);
    for (size_t i = 0; i < rounds; i++)
        round_of(i, zklock, file);
    remove_raw_directory();
    (void)close(fd);
    (void)unlink(file);
    print_heading();
    for (size_t i = 0; i < FIGURES; i++)
        print_row(Names[i], Figures[i], rounds);
    return EXIT_SUCCESS;
}

/* ---- queue and time ---- */

static void ignore_done(zkl_err err, zkl_hold hold, void *arg) {
    (void)err;
    (void)hold;
    (void)arg;
}

static int queue(size_t contenders) {
    static zkl_lock *locks[CONTENDERS_MAX];
    zkl_session *session;
    must(zkl_session_open(&session, getenv("ZKLOCK_HOSTS"),
                          &ZKL_SESSION_OPTIONS(.session_timeout_ms = QUEUE_TIMEOUT_MS,
                                               .label = "as long as a job's name")),
         "open a session");
    for (size_t i = 0; i < contenders; i++) {
        must(zkl_lock_open(&locks[i], session, QUEUE_NAME, NULL), "open a lock");
        must(zkl_acquire_async(locks[i], ZKL_FOREVER, ignore_done, NULL), "acquire");
    }
    while (getchar() != EOF)
        continue;
    for (size_t i = contenders; i > 0; i--)
        (void)zkl_lock_close(locks[i - 1]);
    must(zkl_session_close(session), "close the session");
    return EXIT_SUCCESS;
}

static int time_command(size_t rounds, const char *label, char *const *command) {
    run(command, -1);
    for (size_t i = 0; i < rounds; i++)
        Figures[0][i] = time_of(command);
    print_row(label, Figures[0], rounds);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    const size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    const bool is_count = count > 0 && count <= ROUNDS_MAX;
    if (getenv("ZKLOCK_HOSTS") == NULL)
        die("usage", "ZKLOCK_HOSTS is not set");
    if (strcmp(what, "raw") == 0 && argc == 2)
        return raw();
    if (strcmp(what, "start") == 0 && argc == 4 && is_count)
        return start(count, argv[3]);
    if (strcmp(what, "queue") == 0 && argc == 3 && is_count && count <= CONTENDERS_MAX)
        return queue(count);
    if (strcmp(what, "time") == 0 && argc > 4 && is_count)
        return time_command(count, argv[3], argv + 4);
    die("usage", "start ROUNDS ZKLOCK, raw, queue CONTENDERS, or time ROUNDS LABEL COMMAND...");
}
