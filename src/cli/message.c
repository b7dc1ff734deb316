/* Lines for standard error, written by a thread of their own once there is something to guard. */
#include "cli/message.h"

#include "cli/clock.h"
#include "cli/escape.h"
#include "cli/repeats.h"
#include "cli/status_line.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A path of a lock, its node and an explanation fit; what is longer is cut. */
#define LINE_MAX_BYTES 1536
/* The client library logs a dozen lines a connection; with hundreds unread, the reader is gone. */
#define LINES_MAX 128
#define FINISH_LIMIT_S 1

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int verbosity;
    bool has_writer;
    bool is_writing;
    size_t first;
    size_t count;
    size_t dropped;
    char lines[LINES_MAX][LINE_MAX_BYTES];
    char live[LINE_MAX_BYTES]; /* "": none */
    bool is_live_due;
    bool is_live_shown;
    bool is_live_drawn; /* at this moment */
    char last_error[LINE_MAX_BYTES];
} Log = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* One write a line, so that lines of several processes do not mix. Failures have no other place. */
static void write_line(const char *line) {
    size_t length = strlen(line);
    while (length > 0) {
        ssize_t n = write(STDERR_FILENO, line, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        line += n;
        length -= (size_t)n;
    }
}

/* The line as it will be written, escaped: names, paths and log lines hold what others wrote. */
__attribute__((format(printf, 2, 0))) static void format_line(char *line, const char *format,
                                                              va_list args) {
    char text[LINE_MAX_BYTES];
    (void)vsnprintf(text, sizeof(text), format, args); /* what does not fit is cut */
    FILE *out = fmemopen(line, LINE_MAX_BYTES - 1, "w");
    if (out == NULL) {
        line[0] = '\0';
        return;
    }
    fputs("zklock: ", out);
    (void)cli_escape(out, text, strlen(text), cli_locale_is_utf8());
    (void)fclose(out); /* a full buffer is a cut line */
    line[LINE_MAX_BYTES - 2] = '\0';
    size_t length = strlen(line);
    line[length] = '\n';
    line[length + 1] = '\0';
}

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list args) {
    char line[LINE_MAX_BYTES];
    format_line(line, format, args);
    pthread_mutex_lock(&Log.mutex);
    bool queued = Log.has_writer;
    if (queued && Log.count == LINES_MAX) {
        Log.dropped++;
    } else if (queued) {
        memcpy(Log.lines[(Log.first + Log.count) % LINES_MAX], line, sizeof(line));
        Log.count++;
        pthread_cond_broadcast(&Log.changed);
    }
    pthread_mutex_unlock(&Log.mutex);
    if (!queued)
        write_line(line);
}

void cli_message(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

void cli_message_detail(const char *format, ...) {
    va_list args;
    if (Log.verbosity == 0)
        return;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

void cli_message_verbosity(int verbosity) {
    Log.verbosity = verbosity;
}

void cli_message_live(const char *before, const char *middle, const char *after) {
    const char *const texts[3] = {before, middle, after};
    char line[LINE_MAX_BYTES];
    if (!cli_status_line_make(line, sizeof(line), texts, cli_status_line_columns()))
        return;
    pthread_mutex_lock(&Log.mutex);
    Log.is_live_due = Log.is_live_due || strcmp(line, Log.live) != 0;
    memcpy(Log.live, line, sizeof(line));
    pthread_cond_broadcast(&Log.changed);
    pthread_mutex_unlock(&Log.mutex);
}

/* The mutex is held on entry and on return. */
static void draw_live(void) {
    char line[LINE_MAX_BYTES];
    memcpy(line, Log.live, sizeof(line));
    Log.is_live_due = false;
    Log.is_live_shown = line[0] != '\0';
    Log.is_writing = Log.is_live_drawn = true;
    pthread_mutex_unlock(&Log.mutex);
    cli_status_line_draw(line);
    pthread_mutex_lock(&Log.mutex);
    Log.is_writing = Log.is_live_drawn = false;
    pthread_cond_broadcast(&Log.changed);
}

/* Takes the next line out of the queue; the mutex is held on entry and on return. */
static void write_next(void) {
    char line[LINE_MAX_BYTES];
    const bool is_live_shown = Log.is_live_shown;
    size_t dropped = Log.dropped;
    memcpy(line, Log.lines[Log.first], sizeof(line));
    Log.first = (Log.first + 1) % LINES_MAX;
    Log.count--;
    Log.dropped = 0;
    Log.is_live_due = Log.is_live_due || is_live_shown;
    Log.is_live_shown = false;
    Log.is_writing = true;
    pthread_mutex_unlock(&Log.mutex);
    if (is_live_shown)
        cli_status_line_draw("");
    write_line(line);
    if (dropped > 0) {
        (void)snprintf(line, sizeof(line), "zklock: (%zu lines were dropped here)\n", dropped);
        write_line(line);
    }
    pthread_mutex_lock(&Log.mutex);
    Log.is_writing = false;
    pthread_cond_broadcast(&Log.changed);
}

static void *writer_main(void *arg) {
    (void)arg;
    pthread_mutex_lock(&Log.mutex);
    for (;;) {
        while (Log.count == 0 && !Log.is_live_due)
            pthread_cond_wait(&Log.changed, &Log.mutex);
        if (Log.count > 0)
            write_next();
        else
            draw_live();
    }
    return NULL;
}

bool cli_message_start(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, writer_main, NULL) != 0)
        return false;
    (void)pthread_detach(thread); /* it may be stuck in a write when the process ends */
    pthread_mutex_lock(&Log.mutex);
    Log.has_writer = true;
    pthread_mutex_unlock(&Log.mutex);
    return true;
}

static bool is_all_written(void) {
    return Log.count == 0 && !Log.is_live_due && !Log.is_writing;
}

static bool is_live_gone(void) {
    return !Log.is_live_due && !Log.is_live_shown && !Log.is_live_drawn;
}

static void await(bool (*condition)(void)) {
    struct timespec deadline;
    (void)clock_gettime(CLOCK_REALTIME, &deadline); /* the condition's clock; cannot fail */
    deadline.tv_sec += FINISH_LIMIT_S;
    int rc = 0;
    pthread_mutex_lock(&Log.mutex);
    while (rc == 0 && !condition())
        rc = pthread_cond_timedwait(&Log.changed, &Log.mutex, &deadline);
    pthread_mutex_unlock(&Log.mutex);
}

void cli_message_live_end(void) {
    cli_message_live("", "", "");
    await(is_live_gone);
}

void cli_message_finish(void) {
    await(is_all_written);
}

/* ---- The library's log ---- */

static const char *level_name(zkl_log_level level) {
    switch (level) {
    case ZKL_LOG_ERROR:
        return "error";
    case ZKL_LOG_WARN:
        return "warning";
    case ZKL_LOG_INFO:
        return "info";
    case ZKL_LOG_DEBUG:
        return "debug";
    }
    return "log";
}

/* The ZooKeeper client goes on with its lines while the library's own is on its way, which says
 * more. */
static void keep_error(const char *text) {
    pthread_mutex_lock(&Log.mutex);
    if (Log.last_error[0] == '\0' || !cli_repeats_is_client_line(text) ||
        cli_repeats_is_client_line(Log.last_error))
        (void)snprintf(Log.last_error, sizeof(Log.last_error), "%s", text);
    pthread_mutex_unlock(&Log.mutex);
}

/* What went wrong before there was a session is over. */
static void forget_error(const char *text) {
    static const char *const begins[] = {"opened session", "resumed session"};
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        if (strncmp(text, begins[i], strlen(begins[i])) != 0)
            continue;
        pthread_mutex_lock(&Log.mutex);
        Log.last_error[0] = '\0';
        pthread_mutex_unlock(&Log.mutex);
    }
}

/* Of nothing else does an operator hear that the servers answer, and commit nothing; or that a hold
 * was lost because nothing ran here. */
static bool is_for_everyone(zkl_log_level level, const char *text) {
    static const char stall[] = "connected, but no heartbeat", pause[] = "this process stood still";
    return level == ZKL_LOG_WARN &&
           (strncmp(text, stall, strlen(stall)) == 0 || strncmp(text, pause, strlen(pause)) == 0);
}

static void log_detail(zkl_log_level level, const char *text) {
    size_t held_back = 0;
    pthread_mutex_lock(&Log.mutex);
    bool is_allowed = cli_repeats_allow(text, cli_clock_ms(), &held_back);
    pthread_mutex_unlock(&Log.mutex);
    if (is_allowed && held_back > 0) {
        cli_message_detail("%s: %s (and %zu times since it was shown last)", level_name(level),
                           text, held_back);
    } else if (is_allowed) {
        cli_message_detail("%s: %s", level_name(level), text);
    }
}

void cli_message_log(zkl_log_level level, const char *text, void *arg) {
    (void)arg;
    if (level == ZKL_LOG_ERROR)
        keep_error(text);
    else if (level == ZKL_LOG_INFO)
        forget_error(text);
    if (is_for_everyone(level, text))
        cli_message("%s: %s", level_name(level), text);
    else if (Log.verbosity > 1 || !cli_repeats_is_client_line(text))
        log_detail(level, text);
}

void cli_message_last_error(char *ret_text, size_t size) {
    pthread_mutex_lock(&Log.mutex);
    (void)snprintf(ret_text, size, "%s", Log.last_error);
    pthread_mutex_unlock(&Log.mutex);
}

void cli_message_bad_name(const char *subcommand, const char *name) {
    cli_message("'%s' is not a valid lock name (see 'zklock %s --help')", name, subcommand);
}

void cli_message_error(const char *what, zkl_err err) {
    char last[LINE_MAX_BYTES] = "";
    pthread_mutex_lock(&Log.mutex);
    if (Log.verbosity == 0)
        memcpy(last, Log.last_error, sizeof(last));
    pthread_mutex_unlock(&Log.mutex);
    if (last[0] == '\0' || strcmp(last, zkl_strerror(err)) == 0)
        cli_message("%s: %s", what, zkl_strerror(err));
    else
        cli_message("%s: %s (%s)", what, zkl_strerror(err), last);
}
