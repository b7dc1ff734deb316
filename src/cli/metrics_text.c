/* metrics_text - see metrics_text.h. */
#include "cli/metrics_text.h"

#include "cli/escape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ACTIVE "zklock_run_active"
#define STARTED "zklock_run_start_timestamp_seconds"
#define STATUS "zklock_run_last_exit_status"
#define ENDED "zklock_run_last_end_timestamp_seconds"
#define SUCCEEDED "zklock_run_last_success_timestamp_seconds"

/* Of the histograms: every second bound from 1.024 ms on. Each bound is a series to keep for each
 * lock, and no wait for a server takes less. */
#define FIRST_BOUND 10
#define BOUND_STEP 2

/* ---- One sample ---- */

static void head(FILE *out, const char *metric, const char *type, const char *help) {
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);
}

/* Prometheus takes UTF-8 only, and a reader refuses the whole file for one wrong byte. */
static void put_label(FILE *out, const char *label, const char *value) {
    const size_t n = strlen(value);
    fprintf(out, "%s=\"", label);
    for (size_t i = 0; i < n;) {
        uint32_t point;
        size_t length = cli_utf8_decode(value + i, n - i, &point);
        if (length == 0)
            fputs("\xef\xbf\xbd", out); /* U+FFFD */
        else if (value[i] == '\n')
            fputs("\\n", out);
        else if (value[i] == '"' || value[i] == '\\')
            fprintf(out, "\\%c", value[i]);
        else
            fwrite(value + i, 1, length, out);
        i += length == 0 ? 1 : length;
    }
    fputc('"', out);
}

/* Up to the brace. lock is NULL for a sample of the whole run, and label for one without a third
 * label. */
static void begin(FILE *out, const cli_metrics_values *v, const cli_metrics_lock *lock,
                  const char *metric, const char *label, const char *value) {
    fprintf(out, "%s{", metric);
    put_label(out, "run", v->run);
    if (lock != NULL) {
        fputc(',', out);
        put_label(out, "name", lock->name);
    }
    if (label != NULL) {
        fputc(',', out);
        put_label(out, label, value);
    }
    fputs("} ", out);
}

static void put_count(FILE *out, const cli_metrics_values *v, const cli_metrics_lock *lock,
                      const char *metric, uint64_t count) {
    begin(out, v, lock, metric, NULL, NULL);
    fprintf(out, "%" PRIu64 "\n", count);
}

static void put_seconds(FILE *out, const cli_metrics_values *v, const char *metric, int64_t ms) {
    begin(out, v, NULL, metric, NULL, NULL);
    fprintf(out, "%" PRId64 ".%03d\n", ms / 1000, (int)(ms % 1000));
}

/* ---- The run ---- */

static void print_run(FILE *out, const cli_metrics_values *v) {
    head(out, ACTIVE, "gauge", "Whether the run waits for its locks or its command runs.");
    put_count(out, v, NULL, ACTIVE, v->is_active);
    head(out, STARTED, "gauge", "When the present or last run started.");
    put_seconds(out, v, STARTED, v->started_ms);
    if (v->last.ended_ms != 0) {
        head(out, STATUS, "gauge", "Exit status of the last run that is over.");
        put_count(out, v, NULL, STATUS, (uint64_t)v->last.exit_status);
        head(out, ENDED, "gauge", "When the last run that is over ended.");
        put_seconds(out, v, ENDED, v->last.ended_ms);
    }
    if (v->last.succeeded_ms != 0) {
        head(out, SUCCEEDED, "gauge", "When the last run with exit status 0 ended.");
        put_seconds(out, v, SUCCEEDED, v->last.succeeded_ms);
    }
}

/* ---- Its session ---- */

static void print_session(FILE *out, const cli_metrics_values *v) {
    const zkl_session_statistics *s = &v->session;
    const struct {
        const char *metric, *type, *help;
        uint64_t value;
    } all[] = {
        {"zklock_sessions_total", "counter", "Sessions opened, one after the other.", s->sessions},
        {"zklock_connections_total", "counter", "Connections to servers.", s->connections},
        {"zklock_heartbeats_total", "counter", "Heartbeats sent.", s->heartbeats},
        {"zklock_late_heartbeats_total", "counter",
         "Heartbeats not answered within a sixteenth of the session timeout.", s->late_heartbeats},
        {"zklock_requests_in_flight", "gauge", "Requests without an answer.",
         s->requests_in_flight},
        {"zklock_nodes_holding", "gauge", "Nodes by which a lock is held.", s->holding},
        {"zklock_nodes_waiting", "gauge", "Nodes that wait in queues.", s->waiting},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        head(out, all[i].metric, all[i].type, all[i].help);
        put_count(out, v, NULL, all[i].metric, all[i].value);
    }
    if (s->least_certain_ms != INT64_MAX) {
        static const char least[] = "zklock_least_certain_seconds";
        head(out, least, "gauge", "As little was once left of a hold's certainty; 0: it ran out.");
        put_seconds(out, v, least, s->least_certain_ms);
    }
}

/* ---- Its locks ---- */

static void print_held(FILE *out, const cli_metrics_values *v) {
    static const char metric[] = "zklock_held";
    head(out, metric, "gauge", "Whether the run holds the lock.");
    for (size_t i = 0; i < v->count; i++)
        put_count(out, v, &v->locks[i], metric, v->locks[i].is_held);
}

/* These are there from the start, so that their increase is seen; the others when they occur. */
static bool is_usual(size_t err) {
    return err == ZKL_OK || err == ZKL_BUSY || err == ZKL_TIMEOUT;
}

static void print_acquires(FILE *out, const cli_metrics_values *v) {
    static const char metric[] = "zklock_acquires_total";
    head(out, metric, "counter", "Acquires that are over, by what they came to.");
    for (size_t i = 0; i < v->count; i++)
        for (size_t err = 0; err < ZKL_ERRORS_MAX; err++) {
            const uint64_t count = v->locks[i].stats.acquires[err];
            if (count == 0 && !is_usual(err))
                continue;
            begin(out, v, &v->locks[i], metric, "result", zkl_errname((zkl_err)err));
            fprintf(out, "%" PRIu64 "\n", count);
        }
}

static void print_losses(FILE *out, const cli_metrics_values *v) {
    static const char metric[] = "zklock_losses_total";
    static const char *const reasons[ZKL_LOSSES_MAX] = {[ZKL_LOSS_UNCERTAIN] = "UNCERTAIN",
                                                        [ZKL_LOSS_SESSION] = "SESSION",
                                                        [ZKL_LOSS_NODE] = "NODE",
                                                        [ZKL_LOSS_BROKEN] = "BROKEN"};
    head(out, metric, "counter", "Holds that were lost, by the reason.");
    for (size_t i = 0; i < v->count; i++)
        for (size_t loss = 0; loss < ZKL_LOSSES_MAX && reasons[loss] != NULL; loss++) {
            begin(out, v, &v->locks[i], metric, "reason", reasons[loss]);
            fprintf(out, "%" PRIu64 "\n", v->locks[i].stats.lost[loss]);
        }
}

static void put_bucket(FILE *out, const cli_metrics_values *v, const cli_metrics_lock *lock,
                       const char *metric, const char *bound, uint64_t count) {
    begin(out, v, lock, metric, "le", bound);
    fprintf(out, "%" PRIu64 "\n", count);
}

/* The library counts what took less than 2^i us below at[i + 1]. So a bucket lacks what took its
 * bound to the microsecond. */
static void print_histogram(FILE *out, const cli_metrics_values *v, const cli_metrics_lock *lock,
                            const char *metric, const zkl_histogram *histogram) {
    char name[64], bound[32];
    uint64_t count = 0;
    (void)snprintf(name, sizeof(name), "%s_bucket", metric);
    for (int i = 0; i < ZKL_HISTOGRAM_SIZE - 1; i++) {
        const uint64_t us = UINT64_C(1) << i;
        count += histogram->at[i];
        if (i < FIRST_BOUND || (i - FIRST_BOUND) % BOUND_STEP != 0)
            continue;
        (void)snprintf(bound, sizeof(bound), "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
        put_bucket(out, v, lock, name, bound, count);
    }
    count += histogram->at[ZKL_HISTOGRAM_SIZE - 1];
    put_bucket(out, v, lock, name, "+Inf", count);
    (void)snprintf(name, sizeof(name), "%s_sum", metric);
    begin(out, v, lock, name, NULL, NULL);
    fprintf(out, "%" PRIu64 ".%06" PRIu64 "\n", histogram->total_us / 1000000,
            histogram->total_us % 1000000);
    (void)snprintf(name, sizeof(name), "%s_count", metric);
    put_count(out, v, lock, name, count);
}

static void print_histograms(FILE *out, const cli_metrics_values *v) {
    static const char waited[] = "zklock_wait_seconds", held[] = "zklock_hold_seconds";
    head(out, waited, "histogram", "How long the acquires that are OK took.");
    for (size_t i = 0; i < v->count; i++)
        print_histogram(out, v, &v->locks[i], waited, &v->locks[i].stats.waited);
    head(out, held, "histogram", "How long the holds that are over lasted.");
    for (size_t i = 0; i < v->count; i++)
        print_histogram(out, v, &v->locks[i], held, &v->locks[i].stats.held);
}

void cli_metrics_print(FILE *out, const cli_metrics_values *values) {
    print_run(out, values);
    print_held(out, values);
    if (!values->has_session)
        return;
    print_session(out, values);
    print_acquires(out, values);
    print_losses(out, values);
    print_histograms(out, values);
}

/* ---- An earlier text ---- */

/* NULL: the line is of another metric. */
static const char *value_of(const char *line, const char *metric) {
    const size_t length = strlen(metric);
    const char *space = strrchr(line, ' ');
    return strncmp(line, metric, length) == 0 && line[length] == '{' ? space : NULL;
}

static int64_t to_ms(const char *seconds) {
    const double value = strtod(seconds, NULL);
    return value > 0 && value < 1e12 ? (int64_t)(value * 1000 + 0.5) : 0;
}

void cli_metrics_scan(FILE *in, cli_metrics_last *ret_last) {
    char *line = NULL;
    size_t size = 0;
    *ret_last = (cli_metrics_last){0};
    while (getline(&line, &size, in) >= 0) {
        const char *value;
        if ((value = value_of(line, STATUS)) != NULL)
            ret_last->exit_status = (int)(strtoul(value, NULL, 10) & 0xff);
        else if ((value = value_of(line, ENDED)) != NULL)
            ret_last->ended_ms = to_ms(value);
        else if ((value = value_of(line, SUCCEEDED)) != NULL)
            ret_last->succeeded_ms = to_ms(value);
    }
    free(line);
}
