/*
 * callbacks - the user's event functions, called one at a time on a thread of their own, which is
 * started when the first event is posted: a callback that sleeps stops no heartbeat.
 */
#include <stdlib.h>

#include "session/session.h"

struct callback {
    struct zkli_list link;
    zkl_event_fn fn;
    void *arg;
    const void *owner;
    zkl_event event;
};

static _Thread_local bool is_in_callback;

bool zkli_in_callback(void) {
    return is_in_callback;
}

static void call(struct zkl_session *s, struct callback *callback) {
    s->callback_owner = callback->owner;
    zkli_session_unlock(s);
    is_in_callback = true;
    callback->fn(&callback->event, callback->arg);
    is_in_callback = false;
    free(callback);
    zkli_session_lock(s);
    s->callback_owner = NULL;
    pthread_cond_broadcast(&s->changed);
}

static void *run(void *arg) {
    struct zkl_session *s = arg;
    zkli_session_lock(s);
    while (!s->callbacks_stop) {
        struct zkli_list *link = zkli_list_take_first(&s->callbacks);
        if (link != NULL)
            call(s, ZKLI_CONTAINER(link, struct callback, link));
        else
            zkli_session_wait(s, &s->callbacks_changed);
    }
    zkli_session_unlock(s);
    return NULL;
}

void zkli_callback_post(struct zkl_session *s, zkl_event_fn fn, void *arg, const void *owner,
                        const zkl_event *event) {
    if (fn == NULL || s->callbacks_stop)
        return;
    struct callback *callback = malloc(sizeof(*callback));
    if (callback != NULL && !s->callbacks_run)
        s->callbacks_run = zkli_thread_start(&s->callback_thread, run, s) == 0;
    if (callback == NULL || !s->callbacks_run) {
        zkli_engine_log(&s->engine, ZKL_LOG_ERROR, "an event is not delivered: out of memory");
        free(callback);
        return;
    }
    *callback = (struct callback){.fn = fn, .arg = arg, .owner = owner, .event = *event};
    zkli_list_append(&s->callbacks, &callback->link);
    s->engine.news++;
    pthread_cond_signal(&s->callbacks_changed);
}

void zkli_callbacks_drop(struct zkl_session *s, const void *owner) {
    struct zkli_list *link = s->callbacks.next;
    while (link != &s->callbacks) {
        struct callback *callback = ZKLI_CONTAINER(link, struct callback, link);
        link = link->next;
        if (callback->owner != owner)
            continue;
        zkli_list_remove(&callback->link);
        free(callback);
    }
    /* Not from a callback, be it another session's: two of them could wait for each other. */
    while (s->callback_owner == owner && !is_in_callback)
        zkli_session_wait(s, &s->changed);
}

void zkli_callbacks_stop(struct zkl_session *s) {
    zkli_session_lock(s);
    s->callbacks_stop = true;
    pthread_cond_broadcast(&s->callbacks_changed);
    bool runs = s->callbacks_run;
    zkli_session_unlock(s);
    if (runs)
        (void)pthread_join(s->callback_thread, NULL);
    zkli_session_lock(s);
    struct zkli_list *link;
    while ((link = zkli_list_take_first(&s->callbacks)) != NULL)
        free(ZKLI_CONTAINER(link, struct callback, link));
    zkli_session_unlock(s);
}
