/* zklock bench: how long acquires, releases and hand-offs take here, beside plain requests. */
#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/message.h"
#include "cli/samples.h"
#include "cli/session.h"
#include "cli/settings.h"
#include "cli/signals.h"
#include "cli/znodes.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS 5000 /* of one request, and of a lock that another client has */
#define LOOK_MS 50    /* how soon a signal is seen */
#define TIDY_LIMIT_MS 2000
#define PATH_BYTES 1024

typedef struct bench {
    const cli_options *options;
    char name[256], path[PATH_BYTES]; /* of the lock, of its directory */
    size_t kept;                      /* so much of the path is not ours */
    cli_interrupt *interrupt;
    zkl_session *first, *second;
    zkl_lock *lock, *other;
    cli_znodes *znodes; /* of the first session */
    cli_samples *samples;
    pthread_mutex_t mutex; /* for what follows: how the other lock's acquire goes */
    pthread_cond_t changed;
    bool is_queued, is_told;
    zkl_err err;
    zkl_hold hold;
    double at_ms;
} bench;

/* ---- The other session, which waits for the lock ---- */

static void on_event(const zkl_event *event, void *arg) {
    bench *b = (bench *)arg;
    pthread_mutex_lock(&b->mutex);
    b->is_queued = b->is_queued || event->type == ZKL_EVENT_QUEUED;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->mutex);
}

static void on_acquired(zkl_err err, zkl_hold hold, void *arg) {
    bench *b = (bench *)arg;
    const double at_ms = cli_samples_now_ms();
    pthread_mutex_lock(&b->mutex);
    b->err = err;
    b->hold = hold;
    b->at_ms = at_ms;
    b->is_told = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->mutex);
}

/* Until it is queued, or, if to_end, until it is told what came of it. */
static zkl_err wait_for_other(bench *b, bool to_end) {
    const int64_t deadline_ms = cli_clock_ms() + LIMIT_MS;
    zkl_err err = ZKL_OK;
    pthread_mutex_lock(&b->mutex);
    while (!b->is_told && (to_end || !b->is_queued) && err == ZKL_OK) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&b->changed, &b->mutex, &until); /* the loop looks again */
        if (cli_interrupt_came(b->interrupt))
            err = ZKL_CANCELED;
        else if (cli_clock_ms() > deadline_ms)
            err = ZKL_TIMEOUT;
    }
    if (b->is_told && err == ZKL_OK)
        err = to_end || b->err != ZKL_OK ? b->err : ZKL_SERVER; /* both cannot hold */
    pthread_mutex_unlock(&b->mutex);
    return err;
}

/* A read behind its watches: when that is answered, they are set. */
static zkl_err wait_for_watches(bench *b) {
    zkl_queue *queue = NULL;
    zkl_err err = wait_for_other(b, false);
    if (err == ZKL_OK)
        err = zkl_inspect_first(b->second, b->name, 1, &queue);
    zkl_queue_free(queue);
    return err;
}

/* ---- Rounds ---- */

static zkl_err hand_off(bench *b) {
    zkl_err err = zkl_acquire(b->lock, LIMIT_MS);
    if (err != ZKL_OK)
        return err;
    pthread_mutex_lock(&b->mutex);
    b->is_queued = b->is_told = false;
    pthread_mutex_unlock(&b->mutex);
    err = zkl_acquire_async(b->other, LIMIT_MS, on_acquired, b);
    if (err == ZKL_OK)
        err = wait_for_watches(b);
    const double begun_ms = cli_samples_now_ms();
    if (err == ZKL_OK)
        err = zkl_release(b->lock);
    if (err == ZKL_OK)
        err = wait_for_other(b, true);
    if (err != ZKL_OK)
        return err;
    cli_samples_add(b->samples, CLI_SAMPLE_HAND_OFF, b->at_ms - begun_ms);
    return zkl_release_hold(b->other, b->hold);
}

static zkl_err error_of(cli_znode_result result) {
    return result == CLI_ZNODE_OK        ? ZKL_OK
           : result == CLI_ZNODE_DENIED  ? ZKL_DENIED
           : result == CLI_ZNODE_SILENT  ? ZKL_UNREACHABLE
           : result == CLI_ZNODE_STOPPED ? ZKL_CANCELED
                                         : ZKL_SERVER;
}

/* Ends the call. */
static zkl_err time_call(bench *b, cli_znode_call *call, cli_sample what, double begun_ms,
                         char *ret_path) {
    const cli_znode *answer = cli_znode_wait(b->znodes, call);
    const zkl_err err = error_of(answer->result);
    if (err == ZKL_OK)
        cli_samples_add(b->samples, what, cli_samples_now_ms() - begun_ms);
    if (err == ZKL_OK && ret_path != NULL)
        (void)snprintf(ret_path, PATH_BYTES, "%s", answer->path == NULL ? "" : answer->path);
    cli_znode_end(b->znodes, call);
    return err;
}

/* A listing, and the create and the delete of a node that is no contender. */
static zkl_err ask_plainly(bench *b) {
    char prefix[PATH_BYTES + 8], path[PATH_BYTES];
    (void)snprintf(prefix, sizeof(prefix), "%s/bench-", b->path);
    cli_znodes_limit(b->znodes, cli_clock_ms() + LIMIT_MS, false); /* so that it is deleted */
    double begun_ms = cli_samples_now_ms();
    zkl_err err = time_call(b, cli_znode_list(b->znodes, b->path), CLI_SAMPLE_READ, begun_ms, NULL);
    begun_ms = cli_samples_now_ms();
    if (err == ZKL_OK)
        err = time_call(b, cli_znode_create(b->znodes, prefix, CLI_ZNODE_SEQUENTIAL),
                        CLI_SAMPLE_WRITE, begun_ms, path);
    begun_ms = cli_samples_now_ms();
    return err != ZKL_OK
               ? err
               : time_call(b, cli_znode_delete(b->znodes, path), CLI_SAMPLE_WRITE, begun_ms, NULL);
}

/* The plain requests come inside the hold: an empty directory may be removed at any time. */
static zkl_err lock_and_unlock(bench *b) {
    double begun_ms = cli_samples_now_ms();
    zkl_err err = zkl_acquire(b->lock, LIMIT_MS);
    if (err != ZKL_OK)
        return err;
    cli_samples_add(b->samples, CLI_SAMPLE_ACQUIRE, cli_samples_now_ms() - begun_ms);
    err = ask_plainly(b);
    begun_ms = cli_samples_now_ms();
    const zkl_err released = zkl_release_wait(b->lock, LIMIT_MS);
    if (released == ZKL_OK)
        cli_samples_add(b->samples, CLI_SAMPLE_RELEASE, cli_samples_now_ms() - begun_ms);
    return err == ZKL_OK ? released : err;
}

static zkl_err repeat(bench *b, zkl_err (*round)(bench *b)) {
    zkl_err err = ZKL_OK;
    for (int i = 0; i < b->options->count && err == ZKL_OK; i++)
        err = cli_interrupt_came(b->interrupt) ? ZKL_CANCELED : round(b);
    return err;
}

/* ---- What is there before, and goes again ---- */

/* Leaves in b->kept how much of the path exists. */
static zkl_err look_what_exists(bench *b) {
    const size_t length = strlen(b->path);
    zkl_err err = ZKL_OK;
    for (size_t at = 0; at < length && err == ZKL_OK;) {
        char path[PATH_BYTES];
        at += 1 + strcspn(b->path + at + 1, "/");
        (void)snprintf(path, sizeof(path), "%.*s", (int)at, b->path);
        cli_znodes_limit(b->znodes, cli_clock_ms() + LIMIT_MS, true);
        cli_znode_call *call = cli_znode_list(b->znodes, path);
        const cli_znode_result result = cli_znode_wait(b->znodes, call)->result;
        cli_znode_end(b->znodes, call);
        if (result == CLI_ZNODE_NONE)
            return ZKL_OK;
        b->kept = at;
        err = result == CLI_ZNODE_DENIED ? ZKL_OK : error_of(result);
    }
    return err;
}

static cli_znode_result delete_path(bench *b) {
    cli_znode_call *call = cli_znode_delete(b->znodes, b->path);
    const cli_znode_result result = cli_znode_wait(b->znodes, call)->result;
    cli_znode_end(b->znodes, call);
    return result;
}

/* The library may still be deleting its last node. What another client uses is not deleted, and
 * what cannot be deleted the servers remove. */
static void tidy_up(bench *b) {
    const int64_t deadline_ms = cli_clock_ms() + TIDY_LIMIT_MS;
    cli_znodes_limit(b->znodes, deadline_ms, false);
    for (size_t length = strlen(b->path); length > b->kept; length--)
        if (b->path[length] == '/' || b->path[length] == '\0') {
            b->path[length] = '\0';
            while (delete_path(b) == CLI_ZNODE_NOT_EMPTY && cli_clock_ms() < deadline_ms)
                (void)poll(NULL, 0, LOOK_MS); /* the loop looks at the clock */
        }
}

static zkl_err measure(bench *b) {
    zkl_err err = look_what_exists(b);
    if (err == ZKL_OK)
        err = zkl_lock_open(&b->lock, b->first, b->name, NULL);
    if (err != ZKL_OK)
        return err;
    cli_interrupt_watch(b->interrupt, b->lock);
    err = zkl_acquire(b->lock, 0); /* makes the directory; one that is held is not waited for */
    if (err == ZKL_OK)
        err = zkl_release_wait(b->lock, LIMIT_MS);
    if (err == ZKL_OK)
        err = repeat(b, lock_and_unlock);
    if (err == ZKL_OK)
        err = zkl_lock_open(&b->other, b->second, b->name,
                            &ZKL_LOCK_OPTIONS(.on_event = on_event, .arg = b));
    return err == ZKL_OK ? repeat(b, hand_off) : err;
}

/* Returns an exit status; *ret_came: the signal that ended it, or 0. */
static int run(bench *b, int *ret_came) {
    int status = cli_session_open_to_look(&b->first, b->options);
    if (status == CLI_EXIT_OK)
        status = cli_session_open_to_look(&b->second, b->options);
    if (status != CLI_EXIT_OK)
        return status;
    cli_interrupt_keep(b->interrupt);
    cli_message_detail("bench: measures the lock %s", b->name);
    b->znodes = cli_znodes_open(b->first, b->interrupt);
    const zkl_err err = b->znodes == NULL ? ZKL_UNREACHABLE : measure(b);
    *ret_came = cli_interrupt_stop(b->interrupt);
    b->interrupt = NULL;
    zkl_lock_close(b->other);
    zkl_lock_close(b->lock);
    (void)zkl_session_close(b->second); /* its node is gone now */
    b->second = NULL;
    if (b->znodes != NULL) {
        tidy_up(b);
        cli_znodes_return(b->znodes);
    }
    if (*ret_came != 0)
        return CLI_EXIT_SIGNAL_BASE + *ret_came;
    if (err == ZKL_INVALID)
        cli_message_bad_name("bench", b->name);
    else if (err != ZKL_OK)
        cli_message_error(b->name, err);
    return cli_exit_status_of(err);
}

static bool name_it(bench *b) {
    const char *root = b->options->root == NULL ? CLI_ROOT_DEFAULT : b->options->root;
    uint32_t number = 0;
    int length;
    (void)getrandom(&number, sizeof(number), 0); /* if not, the name may be in use, which shows */
    if (b->options->name != NULL)
        length = snprintf(b->name, sizeof(b->name), "%s", b->options->name);
    else
        length = snprintf(b->name, sizeof(b->name), "zklock-bench-%08x", (unsigned)number);
    if (length >= (int)sizeof(b->name)) {
        cli_message_bad_name("bench", b->options->name);
        return false;
    }
    length = snprintf(b->path, sizeof(b->path), "%s/%s", strcmp(root, "/") == 0 ? "" : root,
                      b->name);
    return length < (int)sizeof(b->path); /* root and name have limits */
}

static int bench_all(bench *b) {
    cli_signals signals;
    int came = 0;
    if (!name_it(b))
        return CLI_EXIT_USAGE;
    cli_signals_take(&signals);
    cli_signals_allow_stop(&signals, true);
    b->samples = cli_samples_new(2 * (size_t)b->options->count);
    b->interrupt = cli_interrupt_start(&signals);
    int status = CLI_EXIT_INTERNAL;
    if (b->samples == NULL || b->interrupt == NULL)
        cli_message_error("bench", ZKL_NOMEM);
    else
        status = run(b, &came);
    (void)cli_interrupt_stop(b->interrupt);
    (void)zkl_session_close(b->second); /* nothing is held */
    (void)zkl_session_close(b->first);
    cli_znodes_free(b->znodes);
    if (came == SIGINT) {
        cli_signals_allow_interrupt();
        (void)kill(getpid(), SIGINT);
    }
    if (status == CLI_EXIT_OK && !cli_samples_print(b->samples, b->name, b->options->is_json)) {
        cli_message_error("bench", ZKL_NOMEM);
        status = CLI_EXIT_INTERNAL;
    }
    return status;
}

int cli_bench(const cli_options *options) {
    bench b = {.options = options,
               .mutex = PTHREAD_MUTEX_INITIALIZER,
               .changed = PTHREAD_COND_INITIALIZER};
    const int status = bench_all(&b);
    cli_samples_free(b.samples);
    return status;
}
