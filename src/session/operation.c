/* operation - see operation.h. Of this layer it calls monitor.c and callbacks.c. */
#include "session/operation.h"

#include <assert.h>

#include "session/session_internal.h"

void zkli_operation_init(struct zkli_operation *o, struct zkl_session *s,
                         void (*on_deadline)(struct zkli_timer *deadline)) {
    o->session = s;
    o->state = ZKLI_OPERATION_NEW;
    o->result = ZKL_OK;
    o->completion = NULL;
    o->woken = NULL;
    zkli_timer_init(&o->deadline, on_deadline);
}

void zkli_operation_fini(struct zkli_operation *o) {
    assert(o->state != ZKLI_OPERATION_RUNNING);
    (void)o; /* without assertions */
}

static void run_until(struct zkli_operation *o, int64_t until_ns) {
    o->state = ZKLI_OPERATION_RUNNING;
    zkli_engine_set_timer(o->session->engine, &o->deadline, until_ns);
}

static void clear_deadline(struct zkli_operation *o) {
    zkli_engine_clear_timer(o->session->engine, &o->deadline);
}

void zkli_operation_begin(struct zkli_operation *o, int64_t until_ns) {
    assert(o->state == ZKLI_OPERATION_NEW);
    run_until(o, until_ns);
}

void zkli_operation_wake(struct zkli_operation *o) {
    if (o->woken != NULL)
        pthread_cond_signal(o->woken);
}

void zkli_operation_finish(struct zkli_operation *o, zkl_err result) {
    assert(o->state == ZKLI_OPERATION_RUNNING);
    if (o->completion == NULL || result != ZKL_OK)
        clear_deadline(o);
    o->state = ZKLI_OPERATION_FINISHED;
    o->result = result;
    if (o->completion != NULL)
        zkli_completion_post(o->session, o->completion);
    else
        zkli_operation_wake(o);
}

void zkli_operation_take(struct zkli_operation *o) {
    assert(o->state == ZKLI_OPERATION_FINISHED);
    clear_deadline(o);
}

bool zkli_operation_is_running(const struct zkli_operation *o) {
    return o->state == ZKLI_OPERATION_RUNNING;
}

/* A condition for a wait without a limit, for which any clock will do, needs nothing that could
 * fail. */
void zkli_operation_pause(struct zkli_operation *o) {
    pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
    o->woken = &woken;
    zkli_session_wait(o->session, &woken);
    o->woken = NULL;
    (void)pthread_cond_destroy(&woken);
}

zkl_err zkli_operation_wait(struct zkli_operation *o) {
    while (zkli_operation_is_running(o))
        zkli_operation_pause(o);
    return o->result;
}

void zkli_operation_revise(struct zkli_operation *o, zkl_err result) {
    assert(o->state == ZKLI_OPERATION_FINISHED);
    o->result = result;
    if (result != ZKL_OK)
        clear_deadline(o);
}

void zkli_operation_resume(struct zkli_operation *o, int64_t until_ns) {
    assert(o->state == ZKLI_OPERATION_FINISHED);
    if (o->completion != NULL)
        zkli_completion_withdraw(o->completion);
    run_until(o, until_ns);
}

int64_t zkli_operation_until_ns(const struct zkl_session *s, int64_t timeout_ms) {
    int64_t now_ns = zkli_engine_now_ns(s->engine);
    if (timeout_ms == ZKL_FOREVER || timeout_ms > (ZKLI_NEVER - now_ns) / ZKLI_NS_PER_MS)
        return ZKLI_NEVER;
    return now_ns + timeout_ms * ZKLI_NS_PER_MS;
}
