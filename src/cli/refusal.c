/*
 * An error of several locks does not say which one it is about. The queues do, unless they have
 * changed since.
 */
#include "cli/refusal.h"

#include "cli/exit_status.h"
#include "cli/message.h"

typedef struct refusal {
    const cli_options *options;
    const cli_holds *holds;
    zkl_session *session;
    cli_waiting *waiting;
} refusal;

/* Whether the queue is the reason. */
typedef bool (*is_reason_fn)(const refusal *r, const zkl_queue *queue);

/* The first lock whose queue is; NULL: none, or a queue that cannot be read. */
static const char *find_reason(const refusal *r, is_reason_fn is_reason, zkl_queue **ret_queue) {
    for (size_t i = 0; i < r->holds->count; i++) {
        const char *name = r->holds->names[i];
        if (zkl_inspect(r->session, name, ret_queue) != ZKL_OK)
            return NULL;
        if (is_reason(r, *ret_queue))
            return name;
        zkl_queue_free(*ret_queue);
        *ret_queue = NULL;
    }
    return NULL;
}

/* ---- Another number of permits ---- */

static bool has_other_number(const refusal *r, const zkl_queue *queue) {
    int permits = zkl_queue_permits(queue);
    return permits != 0 && permits != r->options->permits;
}

static void explain_mismatch(const refusal *r) {
    zkl_queue *queue = NULL;
    const char *name = find_reason(r, has_other_number, &queue);
    if (name == NULL) { /* the number has been changed again since, or there is none */
        cli_message_error(r->holds->title, ZKL_MISMATCH);
        return;
    }
    cli_message("%s: the number of permits is %d, not %d", name, zkl_queue_permits(queue),
                r->options->permits);
    zkl_queue_free(queue);
}

/* ---- Locks that are taken ---- */

/* One contender of another kind is enough. Of our own kind it takes one for a mutex, and as many as
 * there are permits for a semaphore. For a reader no number is too many. */
static bool is_taken(const refusal *r, const zkl_queue *queue) {
    const zkl_kind ours = cli_options_kind(r->options);
    const size_t permits = ours == ZKL_SEMAPHORE ? (size_t)r->options->permits : 1;
    size_t like = 0;
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        const zkl_contender *c = zkl_queue_at(queue, i);
        if (c->session_id == zkl_session_id(r->session))
            continue; /* of a wait that is over, and about to go */
        if (c->kind != ours)
            return true;
        like++;
    }
    return ours != ZKL_READ && like >= permits;
}

/* Whoever was in the way may have gone since. */
static void explain_conflict_of_one(const refusal *r, const char *state) {
    const char *name = r->holds->names[0];
    char text[CLI_HOLDER_TEXT_BYTES] = "";
    cli_holder holder;
    bool is_held = cli_waiting_ask(r->waiting, 0, &holder);
    if (is_held)
        cli_holder_says(text, sizeof(text), &holder);
    if (r->options->wait_ms == 0)
        cli_message("%s: %s%s%s", name, state, is_held ? ", " : "", text);
    else
        cli_message("%s: the lock was not acquired within %g s%s%s", name,
                    (double)r->options->wait_ms / 1000, is_held ? ": " : "", text);
}

static void explain_conflict(const refusal *r) {
    const cli_options *o = r->options;
    const char *state = o->permits > 0 ? "no permit is free" : "another client holds the lock";
    double wait_s = (double)o->wait_ms / 1000;
    if (r->holds->count == 1) {
        explain_conflict_of_one(r, state);
        return;
    }
    zkl_queue *queue = NULL;
    const char *taken = find_reason(r, is_taken, &queue);
    zkl_queue_free(queue);
    if (o->wait_ms == 0 && taken != NULL)
        cli_message("%s: %s", taken, state);
    else if (o->wait_ms == 0)
        cli_message("%s: one of the locks was taken", r->holds->title);
    else if (taken == NULL)
        cli_message("%s: the locks were not acquired within %g s", r->holds->title, wait_s);
    else
        cli_message("%s: the locks were not acquired within %g s (%s: %s)", r->holds->title, wait_s,
                    taken, state);
}

int cli_refusal_explain(const cli_options *options, const cli_holds *holds, zkl_session *session,
                        cli_waiting *waiting, zkl_err err) {
    const refusal r = {.options = options, .holds = holds, .session = session, .waiting = waiting};
    if (err == ZKL_TIMEOUT && zkl_session_state(session) != ZKL_STATE_CONNECTED) {
        cli_message("%s: the %s not acquired within %g s: no server answers", holds->title,
                    holds->count == 1 ? "lock was" : "locks were", (double)options->wait_ms / 1000);
        return CLI_EXIT_NO_SERVER;
    }
    if (err == ZKL_BUSY || err == ZKL_TIMEOUT) {
        explain_conflict(&r);
        return options->conflict_status;
    }
    if (err == ZKL_MISMATCH)
        explain_mismatch(&r);
    else
        cli_message_error(holds->title, err);
    return cli_exit_status_of(err);
}
