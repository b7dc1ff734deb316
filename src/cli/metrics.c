/* metrics - see metrics.h. */
#include "cli/metrics.h"

#include "cli/message.h"
#include "cli/metrics_text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_S 15
#define DISK_LIMIT_S 1
#define SUFFIX ".prom"

struct cli_metrics {
    const char *file;
    char *run;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Under the mutex: */
    bool is_written; /* or tried: the first time */
    bool is_awaited; /* that time is waited for */
    bool is_due, is_over, is_done, has_complained;
    int error;
    int64_t ended_ms;
    int exit_status;
    zkl_session *session;
    const cli_holds *holds;
    zkl_hold hold[ZKL_ALL_MAX];
    cli_metrics_last before; /* of the runs before this one */
    cli_metrics_values values;
};

static int64_t now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct timespec after(int seconds) {
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail */
    until.tv_sec += seconds;
    return until;
}

/* ---- The file. All of it may block. ---- */

static bool write_all(int fd, const char *text, size_t length) {
    while (length > 0) {
        ssize_t n = write(fd, text, length);
        if (n < 0 && errno != EINTR)
            return false;
        text += n < 0 ? 0 : n;
        length -= n < 0 ? 0 : (size_t)n;
    }
    return true;
}

/* False with errno. Another user's exporter reads it. */
static bool write_new(const char *path, int fd, const char *text, size_t length, const char *file) {
    bool is_written = fchmod(fd, 0644) == 0 && write_all(fd, text, length);
    int error = errno;
    if (close(fd) != 0 && is_written) { /* NFS may say here that the disk is full */
        is_written = false;
        error = errno;
    }
    if (is_written && rename(path, file) == 0)
        return true;
    error = is_written ? errno : error;
    (void)unlink(path);
    errno = error;
    return false;
}

/* 0 or an errno. Concurrent runs may have the same file, so each writes a new one of its own. */
static int write_file(const char *file, const char *text, size_t length) {
    struct stat status;
    char *path = NULL;
    if (stat(file, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return ENOTSUP; /* a device would be replaced */
    if (asprintf(&path, "%s.XXXXXX", file) < 0)
        return ENOMEM;
    int fd = mkostemp(path, O_CLOEXEC);
    bool is_written = fd >= 0 && write_new(path, fd, text, length, file);
    int error = is_written ? 0 : errno;
    free(path);
    return error;
}

/* A device may have no end. */
static cli_metrics_last read_file(const char *file) {
    cli_metrics_last last = {0};
    struct stat status;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_regular = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    FILE *in = is_regular ? fdopen(fd, "r") : NULL;
    if (in != NULL)
        cli_metrics_scan(in, &last);
    if (in != NULL)
        (void)fclose(in); /* nothing was written */
    else if (fd >= 0)
        close(fd);
    return last;
}

/* ---- With the mutex ---- */

static void take_figures(cli_metrics *m) {
    cli_metrics_values *v = &m->values;
    if (m->session == NULL)
        return;
    v->session.size = sizeof(v->session);
    v->has_session = zkl_session_stats(m->session, &v->session, NULL) == ZKL_OK;
    for (size_t i = 0; i < v->count; i++) {
        zkl_lock *lock = m->holds->locks[i];
        v->locks[i].stats.size = sizeof(v->locks[i].stats);
        v->has_session = v->has_session && zkl_lock_stats(lock, &v->locks[i].stats) == ZKL_OK;
        v->locks[i].is_held = m->hold[i] != 0 && zkl_hold_valid(lock, m->hold[i]);
    }
}

static cli_metrics_last last_of(const cli_metrics *m) {
    if (!m->is_over)
        return m->before;
    return (cli_metrics_last){.ended_ms = m->ended_ms,
                              .exit_status = m->exit_status,
                              .succeeded_ms = m->exit_status == 0 ? m->ended_ms
                                                                  : m->before.succeeded_ms};
}

/* NULL: out of memory. */
static char *print(cli_metrics *m, size_t *ret_length) {
    char *text = NULL;
    take_figures(m);
    m->values.is_active = !m->is_over;
    m->values.last = last_of(m);
    FILE *out = open_memstream(&text, ret_length);
    if (out == NULL)
        return NULL;
    cli_metrics_print(out, &m->values);
    bool is_printed = !ferror(out);
    if (fclose(out) == 0 && is_printed)
        return text;
    free(text);
    return NULL;
}

static void complain(const cli_metrics *m, const char *why) {
    cli_message("--metrics-file '%s': %s", m->file, why);
}

/* One line tells of the first failure; the run goes on. */
static void note_result(cli_metrics *m, int error) {
    bool is_first = !m->is_written;
    m->is_written = true;
    m->error = error;
    pthread_cond_broadcast(&m->changed);
    if (error == 0 || m->has_complained || (is_first && m->is_awaited))
        return;
    m->has_complained = true;
    complain(m, strerror(error));
}

/* ---- The thread ---- */

static void rest(cli_metrics *m) {
    const struct timespec until = after(PAUSE_S);
    int rc = 0;
    while (!m->is_due && !m->is_over && rc == 0)
        rc = pthread_cond_clockwait(&m->changed, &m->mutex, CLOCK_MONOTONIC, &until);
    m->is_due = false;
}

/* Returns whether the run was over before. */
static bool write_once(cli_metrics *m) {
    size_t length = 0;
    bool is_last = m->is_over;
    char *text = print(m, &length);
    pthread_mutex_unlock(&m->mutex);
    int error = text == NULL ? ENOMEM : write_file(m->file, text, length);
    free(text);
    pthread_mutex_lock(&m->mutex);
    note_result(m, error);
    return is_last;
}

static void *metrics_main(void *arg) {
    cli_metrics *m = arg;
    cli_metrics_last before = read_file(m->file);
    pthread_mutex_lock(&m->mutex);
    m->before = before;
    while (!write_once(m))
        rest(m);
    m->is_done = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->mutex);
    return NULL;
}

/* ---- Other threads ---- */

/* Until *condition, at most DISK_LIMIT_S. */
static bool await(cli_metrics *m, const bool *condition) {
    const struct timespec until = after(DISK_LIMIT_S);
    int rc = 0;
    while (!*condition && rc == 0)
        rc = pthread_cond_clockwait(&m->changed, &m->mutex, CLOCK_MONOTONIC, &until);
    return *condition;
}

/* The file's name without its directory and SUFFIX; NULL: out of memory. */
static char *name_of_run(const char *file) {
    const char *slash = strrchr(file, '/');
    char *run = strdup(slash == NULL ? file : slash + 1);
    size_t length = run == NULL ? 0 : strlen(run);
    const size_t suffix = strlen(SUFFIX);
    if (length > suffix && strcmp(run + length - suffix, SUFFIX) == 0)
        run[length - suffix] = '\0';
    return run;
}

static void destroy(cli_metrics *m) {
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->mutex);
    free(m->run);
    free(m);
}

/* NULL with errno. */
static cli_metrics *make(const char *file, char *const *names, size_t count) {
    cli_metrics *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return NULL;
    m->file = file;
    m->run = name_of_run(file);
    m->is_awaited = true;
    m->values.run = m->run;
    m->values.started_ms = now_ms();
    m->values.count = count;
    for (size_t i = 0; i < count; i++)
        m->values.locks[i].name = names[i];
    pthread_mutex_init(&m->mutex, NULL); /* neither can fail on Linux */
    pthread_cond_init(&m->changed, NULL);
    int error = m->run == NULL ? ENOMEM : pthread_create(&m->thread, NULL, metrics_main, m);
    if (error == 0)
        return m;
    destroy(m);
    errno = error;
    return NULL;
}

bool cli_metrics_start(cli_metrics **ret_metrics, const char *file, char *const *names,
                       size_t count) {
    *ret_metrics = NULL;
    if (file == NULL)
        return true;
    cli_metrics *m = make(file, names, count);
    if (m == NULL) {
        cli_message("--metrics-file '%s': %s", file, strerror(errno));
        return false;
    }
    *ret_metrics = m;
    pthread_mutex_lock(&m->mutex);
    bool is_refused = await(m, &m->is_written) && m->error != 0;
    m->is_awaited = false;
    m->has_complained = is_refused;
    if (is_refused)
        complain(m, strerror(m->error));
    pthread_mutex_unlock(&m->mutex);
    return !is_refused;
}

void cli_metrics_connected(cli_metrics *m, zkl_session *session, const cli_holds *holds) {
    if (m == NULL)
        return;
    pthread_mutex_lock(&m->mutex);
    m->session = session;
    m->holds = holds;
    pthread_mutex_unlock(&m->mutex);
}

void cli_metrics_running(cli_metrics *m) {
    if (m == NULL)
        return;
    pthread_mutex_lock(&m->mutex);
    for (size_t i = 0; i < m->holds->count; i++)
        m->hold[i] = zkl_hold_of(m->holds->locks[i]);
    m->is_due = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->mutex);
}

void cli_metrics_end(cli_metrics *m, int exit_status) {
    if (m == NULL)
        return;
    pthread_mutex_lock(&m->mutex);
    take_figures(m);
    m->session = NULL;
    m->ended_ms = now_ms();
    m->exit_status = exit_status;
    m->is_over = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->mutex);
}

bool cli_metrics_settle(cli_metrics *m) {
    if (m == NULL)
        return true;
    pthread_mutex_lock(&m->mutex);
    bool is_done = await(m, &m->is_done);
    if (!is_done && !m->has_complained)
        complain(m, "not written within a second");
    pthread_mutex_unlock(&m->mutex);
    return is_done;
}

void cli_metrics_finish(cli_metrics *m) {
    if (!cli_metrics_settle(m) || m == NULL)
        return;                          /* the thread may need all of it still */
    (void)pthread_join(m->thread, NULL); /* it has nothing left to do */
    destroy(m);
}
