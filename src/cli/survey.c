/* survey - see survey.h. */
#include "cli/survey.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A read of a queue is two round trips. A session has 256 requests under way at most. */
#define THREADS_MAX 16

typedef struct work {
    zkl_session *session;
    cli_survey_describe_fn describe;
    cli_survey *survey;
    size_t room;
    pthread_mutex_t mutex;
    size_t next; /* under mutex, as is err */
    zkl_err err; /* that ends it all */
} work;

/* ---- The list ---- */

static void on_lock(const char *name, size_t contenders, void *arg) {
    work *w = (work *)arg;
    cli_survey *survey = w->survey;
    if (survey->count == w->room) {
        size_t room = w->room == 0 ? 64 : w->room * 2;
        cli_surveyed *more = reallocarray(survey->locks, room, sizeof(*more));
        if (more == NULL) {
            w->err = ZKL_NOMEM;
            return;
        }
        survey->locks = more;
        w->room = room;
    }
    cli_surveyed lock = {.name = strdup(name), .contenders = contenders};
    lock.err = contenders == ZKL_UNREADABLE ? ZKL_DENIED : ZKL_OK;
    if (lock.name == NULL)
        w->err = ZKL_NOMEM;
    else
        survey->locks[survey->count++] = lock;
}

/* ---- The queues ---- */

/* Who holds stands before all who wait, whatever their kinds. */
static zkl_err take_queue(const work *w, cli_surveyed *lock, const zkl_queue *queue) {
    const size_t seen = zkl_queue_count(queue);
    size_t i = 0;
    while (i < seen && zkl_queue_at(queue, i)->is_holder)
        i++;
    lock->contenders = zkl_queue_length(queue);
    lock->holders = i;
    lock->are_more = i == seen && seen < lock->contenders;
    if (i < seen)
        lock->waiting_since_ms = zkl_queue_at(queue, i)->since_ms;
    if (i > 0)
        lock->holder = w->describe(zkl_queue_at(queue, 0));
    return i > 0 && lock->holder == NULL ? ZKL_NOMEM : ZKL_OK;
}

static bool has_more_to_see(const zkl_queue *queue) {
    const size_t seen = zkl_queue_count(queue);
    return seen > 0 && seen < zkl_queue_length(queue) && zkl_queue_at(queue, seen - 1)->is_holder;
}

static zkl_err look(const work *w, cli_surveyed *lock) {
    zkl_queue *queue = NULL;
    zkl_err err = zkl_inspect_first(w->session, lock->name, CLI_SURVEY_HEAD, &queue);
    if (err == ZKL_OK && has_more_to_see(queue)) {
        zkl_queue_free(queue);
        err = zkl_inspect_first(w->session, lock->name, CLI_SURVEY_HEAD_MAX, &queue);
    }
    if (err == ZKL_OK)
        err = take_queue(w, lock, queue);
    zkl_queue_free(queue);
    return err;
}

/* Errors of one queue. INVALID: another program's directory, whose name is none of a lock. */
static bool is_of_one(zkl_err err) {
    return err == ZKL_DENIED || err == ZKL_SERVER || err == ZKL_INVALID;
}

static cli_surveyed *take_next(work *w) {
    cli_surveyed *lock = NULL;
    pthread_mutex_lock(&w->mutex);
    if (w->err == ZKL_OK && w->next < w->survey->count)
        lock = &w->survey->locks[w->next++];
    pthread_mutex_unlock(&w->mutex);
    return lock;
}

static void *work_main(void *arg) {
    work *w = (work *)arg;
    for (cli_surveyed *lock; (lock = take_next(w)) != NULL;) {
        if (lock->err != ZKL_OK)
            continue;
        lock->err = look(w, lock);
        if (lock->err == ZKL_OK || is_of_one(lock->err))
            continue;
        pthread_mutex_lock(&w->mutex);
        w->err = lock->err;
        pthread_mutex_unlock(&w->mutex);
    }
    return NULL;
}

/* Threads that cannot be had only make it slower. */
static void look_at_all(work *w) {
    pthread_t threads[THREADS_MAX - 1];
    size_t count = 0;
    pthread_mutex_init(&w->mutex, NULL);
    while (count < THREADS_MAX - 1 && count + 1 < w->survey->count &&
           pthread_create(&threads[count], NULL, work_main, w) == 0)
        count++;
    (void)work_main(w);
    while (count > 0)
        pthread_join(threads[--count], NULL);
    pthread_mutex_destroy(&w->mutex);
}

/* ---- The whole ---- */

/* Without those that have become free since they were listed. */
static void drop_free(cli_survey *survey) {
    size_t kept = 0;
    for (size_t i = 0; i < survey->count; i++)
        if (survey->locks[i].contenders > 0)
            survey->locks[kept++] = survey->locks[i];
        else
            free(survey->locks[i].name);
    survey->count = kept;
}

zkl_err cli_survey_make(cli_survey *ret_survey, zkl_session *session, const char *prefix,
                        cli_survey_describe_fn describe) {
    *ret_survey = (cli_survey){0};
    work w = {.session = session, .describe = describe, .survey = ret_survey};
    zkl_err err = zkl_list(session, prefix, on_lock, &w);
    if (w.err == ZKL_OK && (err == ZKL_OK || err == ZKL_DENIED)) {
        ret_survey->err = err;
        if (describe != NULL)
            look_at_all(&w);
        err = ZKL_OK;
    }
    err = err == ZKL_OK ? w.err : err;
    if (err != ZKL_OK) {
        cli_survey_free(ret_survey);
        return err;
    }
    for (size_t i = 0; i < ret_survey->count; i++)
        if (ret_survey->err == ZKL_OK && ret_survey->locks[i].err != ZKL_INVALID)
            ret_survey->err = ret_survey->locks[i].err;
    drop_free(ret_survey);
    return ZKL_OK;
}

void cli_survey_free(cli_survey *survey) {
    for (size_t i = 0; i < survey->count; i++) {
        free(survey->locks[i].name);
        free(survey->locks[i].holder);
    }
    free(survey->locks);
    *survey = (cli_survey){0};
}

/* ---- Order ---- */

static int compare_names(const void *a, const void *b) {
    return strcmp(((const cli_surveyed *)a)->name, ((const cli_surveyed *)b)->name);
}

static int compare_depths(const void *a, const void *b) {
    const cli_surveyed *first = (const cli_surveyed *)a, *second = (const cli_surveyed *)b;
    if (first->contenders != second->contenders)
        return first->contenders > second->contenders ? -1 : 1;
    return compare_names(a, b);
}

/* Those that nobody is known to wait for come last. */
static int compare_waits(const void *a, const void *b) {
    const int64_t first = ((const cli_surveyed *)a)->waiting_since_ms;
    const int64_t second = ((const cli_surveyed *)b)->waiting_since_ms;
    if (first == second)
        return compare_names(a, b);
    if (first <= 0 || second <= 0)
        return first > 0 ? -1 : 1;
    return first < second ? -1 : 1;
}

void cli_survey_sort(cli_survey *survey, cli_sort sort) {
    static int (*const compare[])(const void *, const void *) = {[CLI_SORT_NAME] = compare_names,
                                                                 [CLI_SORT_DEPTH] = compare_depths,
                                                                 [CLI_SORT_WAIT] = compare_waits};
    if (survey->count > 0)
        qsort(survey->locks, survey->count, sizeof(*survey->locks), compare[sort]);
}

int64_t cli_survey_wait_ms(const cli_surveyed *lock) {
    struct timespec now;
    if (lock->err != ZKL_OK || lock->are_more)
        return -1;
    if (lock->waiting_since_ms <= 0)
        return 0;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
    int64_t wait_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - lock->waiting_since_ms;
    return wait_ms < 0 ? 0 : wait_ms; /* the servers' clock and ours may differ */
}
