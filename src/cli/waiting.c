/* waiting - see waiting.h. */
#include "cli/waiting.h"

#include "cli/message.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Between two looks when something was said: each costs the servers a listing, for each that waits.
 * Before that, who holds may have gone just now, or cannot be read. */
#define PAUSE_S 60
#define FIRST_PAUSE_S 1
#define ANSWER_LIMIT_S 1

typedef struct wanted {
    bool is_queued;
    size_t position;
    unsigned told; /* how often it was told its position, and which of these was said */
    unsigned said;
    char node[sizeof(((cli_holder *)NULL)->node)]; /* the holder's that was said last */
} wanted;

struct cli_waiting {
    pthread_t thread;
    zkl_session *session;
    int64_t session_id;
    char *const *names;
    size_t count;
    bool says;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Under the mutex: */
    bool is_stopped, is_over, has_said, is_asked, is_answered, is_held;
    size_t asked; /* an index */
    cli_holder answer;
    wanted list[ZKL_ALL_MAX];
};

/* ---- The thread. With the mutex, which it leaves to look. ---- */

static bool find(cli_waiting *w, size_t index, cli_holder *ret_holder) {
    pthread_mutex_unlock(&w->mutex);
    bool is_held = cli_holder_find(ret_holder, w->session, w->session_id, w->names[index]);
    pthread_mutex_lock(&w->mutex);
    return is_held;
}

static void say(cli_waiting *w, size_t index, const cli_holder *holder, unsigned told) {
    wanted *one = &w->list[index];
    bool is_news = one->said != told && one->told == told;
    w->has_said = true;
    if (!is_news && strcmp(holder->node, one->node) == 0)
        return;
    one->said = told;
    memcpy(one->node, holder->node, sizeof(one->node));
    if (is_news)
        cli_message("%s: %s; %zu before us", w->names[index], holder->text, one->position);
    else
        cli_message("%s: %s", w->names[index], holder->text);
}

/* The first that somebody else holds: for that it waits, whatever it has of the others. */
static void look(cli_waiting *w) {
    for (size_t i = 0; i < w->count && !w->is_stopped; i++) {
        cli_holder holder;
        const unsigned told = w->list[i].told;
        if (!w->list[i].is_queued || !find(w, i, &holder))
            continue;
        if (!w->is_stopped)
            say(w, i, &holder, told);
        return;
    }
}

static void answer(cli_waiting *w) {
    w->is_held = find(w, w->asked, &w->answer);
    w->is_answered = true;
    w->is_asked = false;
    pthread_cond_broadcast(&w->changed);
}

static bool is_to_look(const cli_waiting *w) {
    bool is_queued = false;
    for (size_t i = 0; i < w->count; i++)
        is_queued = is_queued || w->list[i].is_queued;
    return is_queued && w->says && !w->is_stopped;
}

static struct timespec after(int seconds) {
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* the condition's clock; cannot fail */
    until.tv_sec += seconds;
    return until;
}

static void rest(cli_waiting *w, int seconds) {
    const struct timespec until = after(seconds);
    int rc = 0;
    while (!w->is_stopped && rc == 0)
        rc = pthread_cond_timedwait(&w->changed, &w->mutex, &until);
}

static void *waiting_main(void *arg) {
    cli_waiting *w = arg;
    int pause_s = FIRST_PAUSE_S;
    pthread_mutex_lock(&w->mutex);
    while (!w->is_over) {
        if (w->is_asked) {
            answer(w);
        } else if (is_to_look(w)) {
            look(w);
            rest(w, w->has_said ? PAUSE_S : pause_s);
            pause_s = 2 * pause_s < PAUSE_S ? 2 * pause_s : PAUSE_S;
        } else {
            pthread_cond_wait(&w->changed, &w->mutex);
        }
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* ---- Beginning and end ---- */

static bool init_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool is_made = pthread_cond_init(condition, &attributes) == 0;
    (void)pthread_condattr_destroy(&attributes);
    return is_made;
}

cli_waiting *cli_waiting_start(zkl_session *session, char *const *names, size_t count, bool says) {
    cli_waiting *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return NULL;
    w->session = session;
    w->session_id = zkl_session_id(session);
    w->names = names;
    w->count = count;
    w->says = says;
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

bool cli_waiting_end(cli_waiting *w) {
    struct timespec until;
    if (w == NULL)
        return true;
    pthread_mutex_lock(&w->mutex);
    w->is_stopped = w->is_over = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
    (void)clock_gettime(CLOCK_REALTIME, &until); /* the clock of the call; cannot fail */
    until.tv_sec += ANSWER_LIMIT_S;
    if (pthread_timedjoin_np(w->thread, NULL, &until) != 0)
        return false;
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->mutex);
    free(w);
    return true;
}

/* ---- Other threads ---- */

void cli_waiting_queued(cli_waiting *w, size_t index, size_t position) {
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->mutex);
    w->list[index].is_queued = true;
    w->list[index].position = position;
    w->list[index].told++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
}

void cli_waiting_stop(cli_waiting *w) {
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->mutex);
    w->is_stopped = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mutex);
}

bool cli_waiting_ask(cli_waiting *w, size_t index, cli_holder *ret_holder) {
    const struct timespec until = after(ANSWER_LIMIT_S);
    int rc = 0;
    if (w == NULL)
        return false;
    pthread_mutex_lock(&w->mutex);
    w->asked = index;
    w->is_asked = true;
    w->is_answered = false;
    pthread_cond_broadcast(&w->changed);
    while (!w->is_answered && rc == 0)
        rc = pthread_cond_timedwait(&w->changed, &w->mutex, &until);
    bool is_held = w->is_answered && w->is_held;
    if (is_held)
        *ret_holder = w->answer;
    pthread_mutex_unlock(&w->mutex);
    return is_held;
}
