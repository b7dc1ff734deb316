/* waiting - see waiting.h. */
#include "cli/waiting.h"

#include "cli/holder.h"
#include "cli/message.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Between two looks: each costs the servers a listing, for each that waits. */
#define PAUSE_S 60

struct cli_waiting {
    pthread_t thread;
    zkl_session *session;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Under the mutex: */
    bool is_over;
    const char *name; /* NULL: it does not stand in a queue yet */
    size_t position;
    bool is_news; /* the position is, since the last look */
    /* The thread's: */
    cli_holder holder; /* that was last said */
};

/* With the mutex, which it leaves meanwhile. */
static void look(cli_waiting *w) {
    cli_holder holder;
    const char *name = w->name;
    size_t position = w->position;
    bool is_news = w->is_news;
    w->is_news = false;
    pthread_mutex_unlock(&w->mutex);
    bool is_held = cli_holder_find(&holder, w->session, name);
    pthread_mutex_lock(&w->mutex);
    if (w->is_over || !is_held || (!is_news && strcmp(holder.node, w->holder.node) == 0))
        return;
    w->holder = holder;
    if (is_news)
        cli_message("%s: %s; %zu before us", name, holder.text, position);
    else
        cli_message("%s: %s", name, holder.text);
}

/* With the mutex. */
static void rest(cli_waiting *w) {
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* the condition's clock; cannot fail */
    until.tv_sec += PAUSE_S;
    int rc = 0;
    while (!w->is_over && rc == 0)
        rc = pthread_cond_timedwait(&w->changed, &w->mutex, &until);
}

static void *waiting_main(void *arg) {
    cli_waiting *w = arg;
    pthread_mutex_lock(&w->mutex);
    while (!w->is_over && w->name == NULL)
        pthread_cond_wait(&w->changed, &w->mutex);
    while (!w->is_over) {
        look(w);
        rest(w);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

static bool init_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool is_made = pthread_cond_init(condition, &attributes) == 0;
    (void)pthread_condattr_destroy(&attributes);
    return is_made;
}

cli_waiting *cli_waiting_start(zkl_session *session) {
    cli_waiting *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return NULL;
    w->session = session;
    pthread_mutex_init(&w->mutex, NULL);
    bool has_condition = init_condition(&w->changed);
    if (has_condition && pthread_create(&w->thread, NULL, waiting_main, w) == 0)
        return w;
    if (has_condition)
        pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->mutex);
    free(w);
    return NULL;
}

void cli_waiting_queued(cli_waiting *waiting, const char *name, size_t position) {
    if (waiting == NULL)
        return;
    pthread_mutex_lock(&waiting->mutex);
    waiting->name = name;
    waiting->position = position;
    waiting->is_news = true;
    pthread_cond_signal(&waiting->changed);
    pthread_mutex_unlock(&waiting->mutex);
}

void cli_waiting_stop(cli_waiting *waiting) {
    if (waiting == NULL)
        return;
    pthread_mutex_lock(&waiting->mutex);
    waiting->is_over = true;
    pthread_cond_signal(&waiting->changed);
    pthread_mutex_unlock(&waiting->mutex);
}

void cli_waiting_free(cli_waiting *waiting) {
    if (waiting == NULL)
        return;
    pthread_join(waiting->thread, NULL);
    pthread_cond_destroy(&waiting->changed);
    pthread_mutex_destroy(&waiting->mutex);
    free(waiting);
}
