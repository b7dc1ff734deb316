/* waiting - see waiting.h. */
#include "cli/waiting.h"

#include "cli/clock.h"
#include "cli/message.h"
#include "cli/status_line.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Between two looks when something was said: each costs the servers a listing, for each that waits.
 * Before that, who holds may have gone just now, or cannot be read. */
#define PAUSE_S 60
#define FIRST_PAUSE_S 1
#define ANSWER_LIMIT_S 1
/* On a terminal: from look to look if nothing is told; from line to line, as its time goes on. */
#define LIVE_LOOK_MS 5000
#define LIVE_PAUSE_S 1
/* Of so many before us it is seen when one has gone. */
#define LIVE_LOOK_MANY 16

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
    bool says, is_live;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Under the mutex: */
    bool is_stopped, is_over, has_said, is_asked, is_answered, is_held;
    size_t asked; /* an index */
    cli_holder answer;
    size_t live_index; /* on a terminal: what was seen last, and when to look again */
    bool is_live_held;
    cli_holder live;
    int64_t live_due_ms;
    wanted list[ZKL_ALL_MAX];
};

/* ---- The thread. With the mutex, which it leaves to look. ---- */

static bool find(cli_waiting *w, size_t index, cli_holder *ret_holder) {
    const size_t position = w->list[index].position;
    const bool is_near = w->is_live && position >= CLI_HOLDER_LOOK && position < LIVE_LOOK_MANY;
    const size_t many = is_near ? position + 1 : CLI_HOLDER_LOOK;
    pthread_mutex_unlock(&w->mutex);
    bool is_held = cli_holder_find(ret_holder, w->session, w->session_id, w->names[index], many);
    pthread_mutex_lock(&w->mutex);
    return is_held;
}

/* The first that somebody else holds: for that it waits, whatever it has of the others. Its index,
 * or the count. */
static size_t find_first(cli_waiting *w, cli_holder *ret_holder, unsigned *ret_told) {
    for (size_t i = 0; i < w->count && !w->is_stopped; i++) {
        *ret_told = w->list[i].told;
        if (w->list[i].is_queued && find(w, i, ret_holder))
            return i;
    }
    return w->count;
}

static void say(cli_waiting *w, size_t index, const cli_holder *holder, unsigned told) {
    char text[CLI_HOLDER_TEXT_BYTES];
    wanted *one = &w->list[index];
    bool is_news = one->said != told && one->told == told;
    w->has_said = true;
    if (!is_news && strcmp(holder->node, one->node) == 0)
        return;
    one->said = told;
    memcpy(one->node, holder->node, sizeof(one->node));
    cli_holder_says(text, sizeof(text), holder);
    if (is_news)
        cli_message("%s: %s; %zu before us", w->names[index], text, one->position);
    else
        cli_message("%s: %s", w->names[index], text);
}

static void look(cli_waiting *w) {
    cli_holder holder;
    unsigned told = 0;
    const size_t i = find_first(w, &holder, &told);
    if (i < w->count && !w->is_stopped)
        say(w, i, &holder, told);
}

/* ---- The line on a terminal ---- */

static void look_live(cli_waiting *w) {
    cli_holder holder;
    unsigned told = 0;
    w->live_due_ms = cli_clock_ms() + LIVE_LOOK_MS;
    const size_t i = find_first(w, &holder, &told);
    w->is_live_held = i < w->count;
    if (w->is_live_held) {
        w->live_index = i;
        w->live = holder;
        if (holder.before != CLI_HOLDER_UNKNOWN && w->list[i].told == told)
            w->list[i].position = holder.before;
    }
}

static void draw_live(const cli_waiting *w) {
    char before[300], text[CLI_HOLDER_TEXT_BYTES] = "waiting", after[64];
    const wanted *one = &w->list[w->live_index];
    if (w->is_live_held)
        cli_holder_says(text, sizeof(text), &w->live);
    (void)snprintf(before, sizeof(before), "zklock: %s: ", w->names[w->live_index]);
    (void)snprintf(after, sizeof(after), "; %zu before us", one->position);
    cli_message_live(before, text, one->is_queued ? after : "");
}

static void show_live(cli_waiting *w) {
    if (cli_clock_ms() >= w->live_due_ms)
        look_live(w);
    if (!w->is_stopped)
        draw_live(w);
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
        } else if (is_to_look(w) && w->is_live) {
            show_live(w);
            rest(w, LIVE_PAUSE_S);
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
    w->is_live = says && cli_status_line_is_possible() && cli_status_line_has_terminal();
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
    w->live_due_ms = 0;
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
    if (w->is_live)
        cli_message_live_end(); /* it is drawn with the mutex only, and no more */
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
