/* See worker.h. */
#include "register/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <zklock.h>

#include "session/session.h"
#include "support/clock.h"
#include "support/history.h"
#include "support/subset.h"

#define ACQUIRE_MS 2000
#define THINK_MS 2
#define THINK_LONG_MS 50
/* Operations under one hold. The dead and the stopped keep the others waiting for most of the time,
 * so it is used well when there is a hold. */
#define OPS_A_HOLD 5
/* One hold of so many, or about so, is a reader's; and one becomes a reader's. */
#define READS_OF 4
#define DOWNGRADES_OF 3

struct worker {
    char kind;
    int64_t process, next;
    const char *hosts, *server, *root, *directory;
    int session_ms;
    int history, file;
    zkl_session *session;
    int64_t session_id;
    zkl_lock *lock, *reading; /* reading: of the znode */
    subset group;
    int files[SUBSET_LOCKS]; /* of the group's registers */
    uint64_t random;
    zkl_fence *fence;
    raw *reader; /* of the znode */
};

enum outcome {
    OK,
    REFUSED,
    UNSURE
};

/* One operation on one register. */
struct op {
    char reg;
    zkl_lock *lock;
    int file;
    bool is_reader;
    int64_t id, token;
    int64_t value; /* that was read; -1: none */
    enum outcome outcome;
};

static atomic_bool StopAtWrite, Finish;

__attribute__((noreturn)) static void die(const struct worker *w, const char *what,
                                          const char *why) {
    fprintf(stderr, "worker %" PRId64 " (%c): %s: %s\n", w->process, w->kind, what, why);
    _exit(3);
}

/* ---- Values and paths ---- */

const char *worker_history_path(const char *directory) {
    static char path[300];

    (void)snprintf(path, sizeof(path), "%s/history", directory);
    return path;
}

const char *worker_register_path(const char *directory, char kind) {
    static char path[300];

    (void)snprintf(path, sizeof(path), "%s/register-%c", directory, kind);
    return path;
}

const char *worker_session_path(const char *directory, int64_t process) {
    static char path[300];

    (void)snprintf(path, sizeof(path), "%s/session-%" PRId64, directory, process);
    return path;
}

const char *worker_znode(const char *root) {
    static char path[RAW_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s-value", root);
    return path;
}

const char *worker_barrier(const char *root) {
    static char path[RAW_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s-barrier", root);
    return path;
}

bool worker_is_long(char kind) {
    return kind == KIND_LONG || kind == KIND_LONG_2 || kind == KIND_LONG_3;
}

char worker_group_register(size_t lock) {
    return (char)('0' + lock);
}

const char *worker_lock(char kind) {
    static char name[] = "register-?";

    name[sizeof(name) - 2] = kind;
    return name;
}

void worker_value_format(char ret_text[WORKER_VALUE_SIZE + 1], int64_t value) {
    (void)snprintf(ret_text, WORKER_VALUE_SIZE + 1, "%0*" PRId64 "\n", WORKER_VALUE_SIZE - 1,
                   value);
}

int64_t worker_value_parse(const char text[WORKER_VALUE_SIZE]) {
    char digits[WORKER_VALUE_SIZE + 1] = "", *end;

    memcpy(digits, text, WORKER_VALUE_SIZE);
    long long value = strtoll(digits, &end, 10);
    return end == digits + WORKER_VALUE_SIZE - 1 && *end == '\n' ? value : -1;
}

int64_t worker_file_read(int fd) {
    char text[WORKER_VALUE_SIZE];

    return pread(fd, text, sizeof(text), 0) == sizeof(text) ? worker_value_parse(text) : -1;
}

/* Another session is not shown what this one's server has not heard of yet: a follower that lags, a
 * leader that was deposed and stood still meanwhile. */
static int64_t read_behind_write(raw *r, const char *root) {
    char text[WORKER_VALUE_SIZE];
    size_t length = sizeof(text);
    raw_stat stat;

    return raw_set(r, worker_barrier(root), "", 0) == RAW_OK &&
                   raw_get(r, worker_znode(root), text, &length, &stat) == RAW_OK &&
                   length == WORKER_VALUE_SIZE
               ? worker_value_parse(text)
               : -1;
}

int64_t worker_znode_read(raw **reader, const char *hosts, const char *root) {
    const int64_t value = *reader ? read_behind_write(*reader, root) : -1;

    if (value < 0 && (!*reader || raw_is_over(*reader))) {
        raw_close(*reader);
        *reader = raw_open(hosts, WORKER_READER_MS);
    }
    return value;
}

/* One write within a page: a signal comes before it or after it. */
bool worker_file_write(int fd, int64_t value) {
    char text[WORKER_VALUE_SIZE + 1];

    worker_value_format(text, value);
    return pwrite(fd, text, WORKER_VALUE_SIZE, 0) == WORKER_VALUE_SIZE;
}

/* ---- The history ---- */

__attribute__((format(printf, 2, 3))) static void note(const struct worker *w, const char *format,
                                                       ...) {
    char line[200];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (write(w->history, line, (size_t)length) != length)
        die(w, "the history", strerror(errno));
}

/* ---- One operation ---- */

static bool has_fence(const struct worker *w) {
    return w->kind == KIND_FENCE || w->kind == KIND_GROUP;
}

/* Shows the token before anything is read. False: a later holder has been here. */
static bool show(struct worker *w, const struct op *op) {
    if (!has_fence(w))
        return true;
    zkl_err err = zkl_fence_check(w->fence, worker_lock(op->reg), op->token);
    if (err != ZKL_OK && err != ZKL_STALE)
        die(w, "the fence", zkl_strerror(err));
    return err == ZKL_OK;
}

static enum outcome write_fenced(struct worker *w, const struct op *op) {
    const zkl_err err = zkl_fence_begin(w->fence, worker_lock(op->reg), op->token);

    if (err == ZKL_STALE)
        return REFUSED;
    if (err != ZKL_OK)
        die(w, "the fence", zkl_strerror(err));
    if (!worker_file_write(op->file, op->id))
        die(w, "the register", strerror(errno));
    if (zkl_fence_end(w->fence) != ZKL_OK)
        die(w, "the fence", "cannot be left");
    return OK;
}

static enum outcome write_guarded(struct worker *w, int64_t value) {
    char text[WORKER_VALUE_SIZE + 1];

    worker_value_format(text, value);
    zkl_err err = zkl_guarded_set(w->lock, worker_znode(w->root), text, WORKER_VALUE_SIZE, -1);
    if (err == ZKL_OK)
        return OK;
    if (err == ZKL_UNSURE)
        return UNSURE;
    if (err != ZKL_LOST && err != ZKL_NOT_HELD)
        die(w, "the guarded write", zkl_strerror(err));
    return REFUSED;
}

/* What it writes is its own number. */
static enum outcome write_value(struct worker *w, const struct op *op) {
    if (has_fence(w))
        return write_fenced(w, op);
    if (w->kind == KIND_GUARD)
        return write_guarded(w, op->id);
    if (!worker_file_write(op->file, op->id))
        die(w, "the register", strerror(errno));
    return OK;
}

/* -1: it could not be read, because the process was stopped for longer than its reader's session
 * lasts, or its servers do not serve. */
static int64_t read_value(struct worker *w, const struct op *op) {
    if (w->kind == KIND_SLOT)
        return 0; /* there is none; the hold is what counts */
    if (w->kind == KIND_GUARD)
        return worker_znode_read(&w->reader, w->server, w->root);
    int64_t value = worker_file_read(op->file);
    if (value < 0)
        die(w, "the register", "has no value");
    return value;
}

static void op_begin(struct worker *w, struct op *op) {
    op->id = w->process * HISTORY_OPS + ++w->next;
    op->token = zkl_token(op->lock);
    op->value = -1;
    op->outcome = REFUSED;
    note(w, "%c %" PRId64 " %c %" PRId64 " %" PRId64 "\n", op->is_reader ? 'j' : 'i', op->id,
         op->reg, op->token, clock_ns());
    if (op->token > 0 && show(w, op))
        op->value = read_value(w, op);
}

static void op_write(struct worker *w, struct op *op) {
    const int64_t now = clock_ns();

    if (!zkl_held(op->lock))
        return;
    const int64_t left_ms = zkl_remaining_ms(op->lock);
    /* A stop between these lines makes the end of the lease look later than it is, which excuses
     * less. */
    note(w, "w %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", op->id,
         op->token, op->value, op->id, now, clock_ns() + left_ms * NS_PER_MS);
    if (atomic_exchange(&StopAtWrite, false))
        (void)raise(SIGSTOP);
    op->outcome = write_value(w, op);
}

/* By a reader's hold: nobody writes between the two. */
static void op_read_again(struct worker *w, struct op *op) {
    const int64_t again = read_value(w, op);

    if (again < 0 || !zkl_held(op->lock))
        return;
    note(w, "q %" PRId64 " %" PRId64 " %" PRId64 "\n", op->id, op->value, again);
    op->outcome = OK;
}

static void op_end(struct worker *w, const struct op *op) {
    static const char *const outcomes[] = {"ok", "refused", "unsure"};
    const int64_t now = clock_ns();

    note(w, "r %" PRId64 " %s %" PRId64 " %d\n", op->id, outcomes[op->outcome], now,
         zkl_held(op->lock));
}

/* All at a time. False: a hold is over, or may be. */
static bool perform(struct worker *w, struct op *ops, size_t count, int think_ms) {
    bool is_good = true;

    for (size_t i = 0; i < count; i++)
        op_begin(w, &ops[i]);
    (void)poll(NULL, 0, think_ms);
    for (size_t i = 0; i < count; i++)
        if (ops[i].value >= 0 && ops[i].is_reader)
            op_read_again(w, &ops[i]);
        else if (ops[i].value >= 0)
            op_write(w, &ops[i]);
    for (size_t i = 0; i < count; i++) {
        op_end(w, &ops[i]);
        is_good = is_good && ops[i].outcome == OK;
    }
    return is_good;
}

static bool read_and_write(struct worker *w, int think_ms) {
    struct op op = {.reg = w->kind, .lock = w->lock, .file = w->file};

    return perform(w, &op, 1, think_ms);
}

static void read_twice(struct worker *w, zkl_lock *l, int think_ms) {
    struct op op = {.reg = w->kind, .lock = l, .file = w->file, .is_reader = true};

    (void)perform(w, &op, 1, think_ms);
}

/* In the library's thread for callbacks. */
static void on_lock_event(const zkl_event *event, void *arg) {
    const struct worker *w = arg;

    if (event->type == ZKL_EVENT_LOST)
        note(w, "l %" PRId64 " %" PRId64 "\n", w->process, clock_ns());
}

static void tell_session(struct worker *w) {
    struct worker_session told = {0};
    const int64_t id = zkl_session_id(w->session);

    if (id == w->session_id)
        return;
    zkli_session_credentials(w->session, &told.id, told.password);
    if (told.id != id || id == 0)
        return; /* it is changing; the next time will do */
    w->session_id = id;
    int fd = open(worker_session_path(w->directory, w->process), O_WRONLY | O_CREAT | O_CLOEXEC,
                  0600);
    if (fd < 0 || pwrite(fd, &told, sizeof(told), 0) != sizeof(told))
        die(w, "the session's file", strerror(errno));
    (void)close(fd);
}

/* What has been written is read again, beside other readers. */
static void go_on_reading(struct worker *w) {
    const zkl_err err = zkl_downgrade(w->lock);

    if (err == ZKL_OK)
        read_twice(w, w->lock, THINK_MS);
    else if (err != ZKL_LOST && err != ZKL_NOT_HELD)
        die(w, "downgrade", zkl_strerror(err));
}

static void hold_for_long(struct worker *w) {
    const int64_t end = clock_ms() + 2 * w->session_ms;

    while (read_and_write(w, THINK_LONG_MS) && clock_ms() < end && !atomic_load(&Finish))
        continue;
}

/* What an acquire came to. False: not in time. */
static bool is_granted(const struct worker *w, zkl_err err) {
    switch (zkl_errclass(err)) {
    case ZKL_CLASS_OK:
        return true;
    case ZKL_CLASS_RETRY:
        return false;
    case ZKL_CLASS_LOST:
    case ZKL_CLASS_USAGE:
    case ZKL_CLASS_DENIED:
    case ZKL_CLASS_LOCAL:
    case ZKL_CLASS_UNSURE:
        break;
    }
    die(w, "acquire", zkl_strerror(err));
}

static void operate_on_group(struct worker *w) {
    const subset *group = &w->group;
    struct op ops[SUBSET_MAX];

    subset_choose(&w->group, &w->random);
    if (!is_granted(w, zkl_acquire_all(group->locks, group->count, ACQUIRE_MS)))
        return;
    tell_session(w);
    for (size_t i = 0; i < group->count; i++)
        ops[i] = (struct op){.reg = worker_group_register(group->chosen[i]),
                             .lock = group->locks[i],
                             .file = w->files[group->chosen[i]],
                             .is_reader = group->is_reader[i]};
    if (perform(w, ops, group->count, THINK_LONG_MS))
        for (int i = 1; i < OPS_A_HOLD && perform(w, ops, group->count, THINK_MS); i++)
            continue;
    (void)zkl_release_all(group->locks, group->count); /* they may have been lost */
}

static void operate(struct worker *w) {
    const bool reads = w->reading != NULL && w->next % READS_OF == 0;

    if (!is_granted(w, zkl_acquire(reads ? w->reading : w->lock, ACQUIRE_MS)))
        return;
    tell_session(w);
    if (reads) {
        read_twice(w, w->reading, THINK_MS);
        (void)zkl_release(w->reading);
        return;
    }
    if (w->kind == KIND_SLOT)
        read_twice(w, w->lock, THINK_LONG_MS);
    else if (worker_is_long(w->kind))
        hold_for_long(w);
    else if (read_and_write(w, THINK_LONG_MS))
        for (int i = 1; i < OPS_A_HOLD && read_and_write(w, THINK_MS); i++)
            continue;
    if (w->reading != NULL && w->next % DOWNGRADES_OF == 0)
        go_on_reading(w);
    (void)zkl_release(w->lock); /* it may have been lost */
}

/* ---- Beginning and end ---- */

static void on_signal(int number) {
    atomic_store(number == SIGTERM ? &Finish : &StopAtWrite, true);
}

static void set_signals(const struct worker *w) {
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigset_t none;

    (void)sigemptyset(&none);
    if (sigaction(SIGUSR1, &action, NULL) != 0 || sigaction(SIGTERM, &action, NULL) != 0 ||
        sigprocmask(SIG_SETMASK, &none, NULL) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        die(w, "signals", strerror(errno));
}

static int open_register(const struct worker *w, char reg) {
    const int file = open(worker_register_path(w->directory, reg), O_RDWR | O_CLOEXEC);

    if (file < 0)
        die(w, w->directory, strerror(errno));
    return file;
}

static void open_files(struct worker *w) {
    char path[300];

    w->history = open(worker_history_path(w->directory), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (w->history < 0)
        die(w, w->directory, strerror(errno));
    if (w->kind == KIND_GUARD)
        w->reader = raw_open(w->server, WORKER_READER_MS);
    else if (w->kind != KIND_SLOT && w->kind != KIND_GROUP)
        w->file = open_register(w, w->kind);
    for (size_t i = 0; w->kind == KIND_GROUP && i < SUBSET_LOCKS; i++)
        w->files[i] = open_register(w, worker_group_register(i));
    (void)snprintf(path, sizeof(path), "%s/fence-%c", w->directory, w->kind);
    if (has_fence(w)) {
        const zkl_err err = zkl_fence_open(&w->fence, path, NULL);
        if (err != ZKL_OK)
            die(w, path, zkl_strerror(err));
    }
}

static void open_session(struct worker *w) {
    zkl_err err;

    do
        err = zkl_session_open(
            &w->session, w->hosts,
            &ZKL_SESSION_OPTIONS(.session_timeout_ms = w->session_ms, .root = w->root));
    while (err == ZKL_UNREACHABLE && !atomic_load(&Finish));
    if (err == ZKL_UNREACHABLE)
        _exit(0);
    if (err != ZKL_OK)
        die(w, "session", zkl_strerror(err));
    if (zkl_session_timeout_ms(w->session) != w->session_ms)
        die(w, "session", "another timeout was granted");
}

static zkl_err open_lock(struct worker *w, zkl_lock **ret_lock, zkl_kind kind) {
    return zkl_lock_open(ret_lock, w->session, worker_lock(w->kind),
                         &ZKL_LOCK_OPTIONS(.kind = kind,
                                           .permits = kind == ZKL_SEMAPHORE ? WORKER_SLOTS : 0,
                                           .on_event = on_lock_event, .arg = w));
}

static const char *group_lock(size_t lock, void *arg) {
    (void)arg;
    return worker_lock(worker_group_register(lock));
}

static void open_locks(struct worker *w) {
    zkl_err err;

    if (w->kind == KIND_GROUP)
        err = subset_open(&w->group, w->session, group_lock, on_lock_event, w);
    else if (w->kind == KIND_SLOT)
        err = open_lock(w, &w->lock, ZKL_SEMAPHORE);
    else
        err = open_lock(w, &w->lock, w->kind == KIND_GUARD ? ZKL_WRITE : ZKL_MUTEX);
    if (err == ZKL_OK && w->kind == KIND_GUARD)
        err = open_lock(w, &w->reading, ZKL_READ);
    if (err != ZKL_OK)
        die(w, "lock", zkl_strerror(err));
}

int worker_main(int argc, char **argv) {
    struct worker w = {.kind = '?'};

    if (argc != 10)
        die(&w, "--worker", "wrong arguments");
    w.kind = argv[2][0];
    w.process = strtoll(argv[3], NULL, 10);
    w.hosts = argv[4];
    w.server = argv[5];
    w.root = argv[6];
    w.directory = argv[7];
    w.session_ms = (int)strtol(argv[8], NULL, 10);
    set_signals(&w);
    if (getppid() != strtol(argv[9], NULL, 10))
        return EXIT_FAILURE; /* it died before we asked to be told */
    w.random = (uint64_t)clock_ns() | 1;
    open_files(&w);
    open_session(&w);
    open_locks(&w);
    while (!atomic_load(&Finish))
        if (w.kind == KIND_GROUP)
            operate_on_group(&w);
        else
            operate(&w);
    subset_close(&w.group);
    (void)zkl_lock_close(w.reading);
    (void)zkl_lock_close(w.lock);
    (void)zkl_session_close(w.session);
    (void)zkl_fence_close(w.fence);
    raw_close(w.reader);
    return 0;
}
