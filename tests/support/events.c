/* See events.h. */
#include "support/events.h"
#include "support/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Later ones are counted by type and otherwise lost; no test has that many. */
#define EVENTS_MAX 4096
#define LOG_SIZE (1 << 18)
#define TYPES 8

struct events {
    pthread_mutex_t mutex;
    size_t count, counts[TYPES], log_lines, log_used;
    zkl_event list[EVENTS_MAX];
    int64_t times[EVENTS_MAX];
    char log[LOG_SIZE]; /* lines, each ended by a newline, all by a NUL */
};

events *events_new(void) {
    events *e = calloc(1, sizeof(*e));

    if (!e || pthread_mutex_init(&e->mutex, NULL) != 0)
        abort();
    return e;
}

void events_free(events *e) {
    if (!e)
        return;
    (void)pthread_mutex_destroy(&e->mutex);
    free(e);
}

void events_on(const zkl_event *event, void *recorder) {
    events *e = recorder;
    const int64_t now = clock_ns();

    (void)pthread_mutex_lock(&e->mutex);
    if ((size_t)event->type < TYPES)
        e->counts[event->type]++;
    if (e->count < EVENTS_MAX) {
        e->list[e->count] = *event;
        e->times[e->count++] = now;
    }
    (void)pthread_mutex_unlock(&e->mutex);
}

void events_log(zkl_log_level level, const char *text, void *recorder) {
    events *e = recorder;
    const size_t len = strlen(text);

    (void)level;
    (void)pthread_mutex_lock(&e->mutex);
    e->log_lines++;
    if (e->log_used + len + 2 <= LOG_SIZE) {
        memcpy(e->log + e->log_used, text, len);
        e->log_used += len;
        e->log[e->log_used++] = '\n';
    }
    (void)pthread_mutex_unlock(&e->mutex);
}

size_t events_count(events *e, zkl_event_type type) {
    (void)pthread_mutex_lock(&e->mutex);
    size_t count = e->counts[type];
    (void)pthread_mutex_unlock(&e->mutex);
    return count;
}

bool events_get(events *e, zkl_event_type type, size_t nth, zkl_event *ret, int64_t *ret_ns) {
    bool found = false;

    (void)pthread_mutex_lock(&e->mutex);
    for (size_t i = 0; i < e->count && !found; i++) {
        if (e->list[i].type != type || nth-- > 0)
            continue;
        found = true;
        if (ret)
            *ret = e->list[i];
        if (ret_ns)
            *ret_ns = e->times[i];
    }
    (void)pthread_mutex_unlock(&e->mutex);
    return found;
}

void events_order(events *e, char *buf, size_t size) {
    size_t used = 0;

    (void)pthread_mutex_lock(&e->mutex);
    for (; used < e->count && used + 1 < size; used++)
        buf[used] = (char)('0' + e->list[used].type);
    buf[used] = '\0';
    (void)pthread_mutex_unlock(&e->mutex);
}

bool events_logged(events *e, const char *text) {
    (void)pthread_mutex_lock(&e->mutex);
    bool found = strstr(e->log, text) != NULL;
    (void)pthread_mutex_unlock(&e->mutex);
    return found;
}

size_t events_log_lines(events *e) {
    (void)pthread_mutex_lock(&e->mutex);
    size_t count = e->log_lines;
    (void)pthread_mutex_unlock(&e->mutex);
    return count;
}

void events_print_log(events *e) {
    enum {
        PRINTED = 6000
    };

    (void)pthread_mutex_lock(&e->mutex);
    size_t from = e->log_used > PRINTED ? e->log_used - PRINTED : 0;
    printf("\n%.*s", (int)(e->log_used - from), e->log + from);
    (void)pthread_mutex_unlock(&e->mutex);
}

void events_forget(events *e) {
    (void)pthread_mutex_lock(&e->mutex);
    e->count = e->log_lines = e->log_used = 0;
    memset(e->counts, 0, sizeof(e->counts));
    memset(e->log, 0, sizeof(e->log));
    (void)pthread_mutex_unlock(&e->mutex);
}
