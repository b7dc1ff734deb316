/*
 * callbacks - the user's functions, called one at a time on a thread of their own, or on the
 * program's: a callback that sleeps stops no heartbeat.
 *
 * No event that still matters is lost for want of memory. Each source of events keeps a record for
 * each kind, which is used when it is free. It may still wait in the line, for a callback that
 * takes long. Then further events of the kind get records of their own. Without memory for that, a
 * record in the line stands for another event, too.
 *
 * Completions have their places in the same line.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/process.h"
#include "session/session_internal.h"

/* What one acquire may have to tell, until the last of it is told. */
struct zkli_events {
    const struct zkli_events_owner *of;
    unsigned references;
    struct zkli_event_callback queued, requeued, held, lost, wanted;
};

/* Whose callback the thread is inside; NULL: none's. It stays while that runs. */
static _Thread_local const struct zkl_session *inside;
static _Thread_local uint64_t delivers; /* in this process; 0: it does not */

/* A child that was forked in a callback is in none: it has no session of its parent's. */
static bool is_in_callback(void) {
    return inside != NULL && !zkli_session_is_forked(inside);
}

bool zkli_in_callback(void) {
    return is_in_callback() || (delivers != 0 && delivers == zkli_process_number());
}

void zkli_thread_delivers(void) {
    delivers = zkli_process_number();
}

/* ---- Records ---- */

static struct zkli_callback *callback_of(struct zkli_list *link) {
    return ZKLI_CONTAINER(link, struct zkli_callback, link);
}

/* Of one that is no completion's. */
static struct zkli_event_callback *event_of(struct zkli_callback *c) {
    return ZKLI_CONTAINER(c, struct zkli_event_callback, place);
}

static void remove_event(struct zkli_event_callback *c) {
    struct zkli_events *events = c->events;
    zkli_list_remove(&c->place.link);
    if (c != c->kept)
        free(c);
    zkli_events_release(events);
}

static void append_to_line(struct zkl_session *s, struct zkli_callback *c) {
    const uint64_t one = 1;
    bool is_first = zkli_list_is_empty(&s->callbacks);
    zkli_list_append(&s->callbacks, &c->link);
    s->posted++;
    if (s->callbacks_fd < 0)
        pthread_cond_signal(&s->callbacks_changed);
    else if (is_first) /* else it is readable already */
        (void)!write(s->callbacks_fd, &one, sizeof(one));
}

/* Of all those of one acquire, the last in the line that tells of this. NULL: none does. */
static struct zkli_event_callback *find_last(struct zkl_session *s,
                                             const struct zkli_events *events,
                                             zkl_event_type type) {
    for (struct zkli_list *link = s->callbacks.previous; link != &s->callbacks;
         link = link->previous) {
        struct zkli_callback *c = callback_of(link);
        if (c->completion == NULL && event_of(c)->events == events &&
            event_of(c)->event.type == type)
            return event_of(c);
    }
    return NULL;
}

static void use_again(struct zkl_session *s, struct zkli_event_callback *c,
                      const zkl_event *event) {
    c->event = *event;
    c->times = 1;
    zkli_list_remove(&c->place.link);
    zkli_list_append(&s->callbacks, &c->place.link);
}

/* What else is told of its grant goes, too. */
static void remove_others_of(struct zkl_session *s, const struct zkli_event_callback *held) {
    struct zkli_list *link = s->callbacks.next;
    while (link != &s->callbacks) {
        struct zkli_callback *c = callback_of(link);
        link = link->next;
        if (c->completion == NULL && event_of(c) != held && event_of(c)->events == held->events &&
            event_of(c)->event.hold == held->event.hold)
            remove_event(event_of(c));
    }
}

/* The acquire was granted before, and nothing of that is told yet. It was lost before the acquire's
 * caller knew of it, and is not told at all. */
static void add_held(struct zkl_session *s, struct zkli_events *events, const zkl_event *event) {
    struct zkli_event_callback *before = find_last(s, events, ZKL_EVENT_HELD);
    if (before != NULL) {
        remove_others_of(s, before);
        use_again(s, before, event);
        return;
    }
    /* That of grants tells of a loss, see take. So that of losses is free: see add_lost. */
    events->references++;
    append_to_line(s, &events->lost.place);
    use_again(s, &events->lost, event);
}

/* An earlier loss of the acquire is in the line, and so the grant behind it: its record stands for
 * both. (That the hold is wanted does not matter any more.) */
static void add_lost(struct zkl_session *s, struct zkli_events *events) {
    struct zkli_event_callback *held = find_last(s, events, ZKL_EVENT_HELD);
    remove_others_of(s, held);
    held->times++;
}

/* Of places in the queue the newest will do. Of other kinds the last in the line stands for one
 * more; what was to be told between the two is over since: a place, or a grant of which the caller
 * never knew. */
static void add_as_last(struct zkl_session *s, struct zkli_event_callback *kept,
                        const zkl_event *event) {
    bool is_place = event->type == ZKL_EVENT_QUEUED;
    struct zkli_event_callback *found = NULL;
    for (struct zkli_list *link = s->callbacks.previous; found == NULL;) {
        struct zkli_callback *c = callback_of(link);
        link = link->previous;
        if (c->completion != NULL)
            continue;
        if (event_of(c)->kept == kept)
            found = event_of(c);
        else if (!is_place && event_of(c)->events == kept->events)
            remove_event(event_of(c));
    }
    if (is_place) {
        use_again(s, found, event);
    } else {
        found->times++;
        found->event.is_new_session = found->event.is_new_session || event->is_new_session;
    }
}

/* Has an event told without a record of its own, while the kept one is in the line. */
static void add_to_line(struct zkl_session *s, struct zkli_event_callback *kept,
                        const zkl_event *event) {
    if (event->type == ZKL_EVENT_HELD)
        add_held(s, kept->events, event);
    else if (event->type == ZKL_EVENT_LOST)
        add_lost(s, kept->events);
    else if (event->type != ZKL_EVENT_WANTED) /* there is one in the line, of an earlier hold */
        add_as_last(s, kept, event);
}

void zkli_callback_init(struct zkli_event_callback *c, zkl_event_fn fn, void *arg,
                        const void *owner) {
    *c = (struct zkli_event_callback){.place.owner = owner, .fn = fn, .arg = arg, .kept = c};
}

void zkli_callback_post(struct zkl_session *s, struct zkli_event_callback *kept,
                        const zkl_event *event) {
    if (kept->fn == NULL || s->callbacks_stop)
        return;
    bool is_free = !zkli_list_is_linked(&kept->place.link);
    struct zkli_event_callback *c = is_free ? kept : malloc(sizeof(*c));
    if (c == NULL) {
        add_to_line(s, kept, event);
        return;
    }
    if (!is_free)
        *c = *kept;
    c->place.link = (struct zkli_list){NULL, NULL};
    c->event = *event;
    c->times = 1;
    if (c->events != NULL)
        c->events->references++;
    append_to_line(s, &c->place);
}

struct zkli_events *zkli_events_new(zkl_event_fn fn, void *arg, const void *owner,
                                    const struct zkli_events_owner *of) {
    struct zkli_events *events = malloc(sizeof(*events));
    if (events == NULL)
        return NULL;
    events->of = of;
    events->references = 1;
    struct zkli_event_callback *all[] = {&events->queued, &events->requeued, &events->held,
                                         &events->lost, &events->wanted};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        zkli_callback_init(all[i], fn, arg, owner);
        all[i]->events = events;
    }
    return events;
}

void zkli_events_release(struct zkli_events *events) {
    if (events != NULL && --events->references == 0)
        free(events);
}

void zkli_events_post(struct zkl_session *s, struct zkli_events *events, const zkl_event *event) {
    switch (event->type) {
    case ZKL_EVENT_QUEUED:
        zkli_callback_post(s, &events->queued, event);
        break;
    case ZKL_EVENT_REQUEUED:
        zkli_callback_post(s, &events->requeued, event);
        break;
    case ZKL_EVENT_HELD:
        zkli_callback_post(s, &events->held, event);
        break;
    case ZKL_EVENT_LOST:
        zkli_callback_post(s, &events->lost, event);
        break;
    case ZKL_EVENT_WANTED:
        zkli_callback_post(s, &events->wanted, event);
        break;
    case ZKL_EVENT_SUSPENDED:
    case ZKL_EVENT_RESUMED:
        break; /* no events of an acquire */
    }
}

/* ---- Completions ---- */

void zkli_completion_init(struct zkli_completion *c, const void *owner,
                          void (*take)(struct zkli_completion *c),
                          void (*tell)(struct zkli_completion *c)) {
    *c = (struct zkli_completion){
        .place = {.completion = c, .owner = owner}, .take = take, .tell = tell};
}

void zkli_completion_post(struct zkl_session *s, struct zkli_completion *c) {
    if (!zkli_list_is_linked(&c->place.link))
        append_to_line(s, &c->place);
}

void zkli_completion_withdraw(struct zkli_completion *c) {
    zkli_list_remove(&c->place.link);
}

/* ---- The thread ---- */

/* Takes the event that is next. A record that stands for several stays first in the line until the
 * last of them. A grant is followed by its loss. Connections break and resume in turn. Which of
 * several resumed with a new session is not kept: if one did, each says so. */
static struct zkli_event_callback take(struct zkli_event_callback *c) {
    struct zkli_event_callback taken = *c;
    taken.event.is_new_session &= taken.event.type == ZKL_EVENT_RESUMED;
    if (--c->times == 0)
        remove_event(c);
    else if (taken.event.type == ZKL_EVENT_HELD)
        c->event.type = ZKL_EVENT_LOST;
    else if (taken.event.type == ZKL_EVENT_SUSPENDED)
        c->event.type = ZKL_EVENT_RESUMED;
    else if (taken.event.type == ZKL_EVENT_RESUMED)
        c->event.type = ZKL_EVENT_SUSPENDED;
    return taken;
}

/* What the event is about, if that may be freed: not while it is told. */
static const struct zkli_events_owner *keep_owner(const struct zkli_event_callback *c) {
    const struct zkli_events_owner *of = c->events == NULL ? NULL : c->events->of;
    if (of != NULL)
        of->keep(c->event.lock);
    return of;
}

/* Where the thread was before, and whether it may be canceled. */
struct call {
    const struct zkl_session *inside;
    int cancel_state;
};

/* A thread of the program's that is canceled in a callback would leave it running for ever, for all
 * who wait for its end. */
static struct call enter_call(const struct zkl_session *s) {
    struct call call = {.inside = inside};
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &call.cancel_state);
    inside = s;
    return call;
}

static void leave_call(struct call call) {
    inside = call.inside;
    (void)pthread_setcancelstate(call.cancel_state, NULL);
}

/* These two without the lock. What they call may close what it is about, in which others are
 * told. So may another thread's callback, which waits for none. */
static void tell_event(const struct zkl_session *s, const struct zkli_event_callback *c,
                       const struct zkli_events_owner *of) {
    struct call call = enter_call(s);
    c->fn(&c->event, c->arg);
    leave_call(call);
    if (of != NULL)
        of->let_go(c->event.lock);
}

static void tell_completion(const struct zkl_session *s, struct zkli_completion *c) {
    struct call call = enter_call(s);
    c->tell(c);
    leave_call(call);
}

static void take_completion(struct zkli_completion *c) {
    zkli_completion_withdraw(c);
    c->take(c);
}

/* The first in the line. */
static void tell_next(struct zkl_session *s) {
    struct zkli_callback *next = callback_of(s->callbacks.next);
    struct zkli_completion *completion = next->completion;
    const struct zkli_events_owner *of = NULL;
    struct zkli_event_callback taken;
    s->callback_owner = next->owner;
    if (completion == NULL) {
        of = keep_owner(event_of(next));
        taken = take(event_of(next));
    } else {
        take_completion(completion);
    }
    zkli_session_unlock(s);
    if (completion == NULL)
        tell_event(s, &taken, of);
    else
        tell_completion(s, completion);
    zkli_session_lock(s);
    s->callback_owner = NULL;
    pthread_cond_broadcast(&s->changed);
}

static void *run(void *arg) {
    struct zkl_session *s = arg;
    zkli_session_lock(s);
    while (!s->callbacks_stop || !zkli_list_is_empty(&s->callbacks))
        if (zkli_list_is_empty(&s->callbacks))
            zkli_session_wait(s, &s->callbacks_changed);
        else
            tell_next(s);
    zkli_session_unlock(s);
    return NULL;
}

int zkli_callbacks_dispatch(struct zkl_session *s, int max) {
    uint64_t count;
    int told = 0;
    if (is_in_callback()) /* perhaps in what the close of a handle tells */
        return 0;
    /* One at a time: another thread may be here. */
    while (told < max && s->callback_owner == NULL && !zkli_list_is_empty(&s->callbacks)) {
        tell_next(s);
        told++;
    }
    if (zkli_list_is_empty(&s->callbacks))
        (void)!read(s->callbacks_fd, &count, sizeof(count));
    return told;
}

bool zkli_callbacks_start(struct zkl_session *s) {
    if (s->callbacks_fd >= 0)
        return true;
    if (!s->callbacks_run)
        s->callbacks_run = zkli_thread_start(&s->callback_thread, run, s) == 0;
    return s->callbacks_run;
}

static void drop_events(struct zkl_session *s, const void *owner) {
    struct zkli_list *link = s->callbacks.next;
    while (link != &s->callbacks) {
        struct zkli_callback *c = callback_of(link);
        link = link->next;
        if (c->owner == owner && c->completion == NULL)
            remove_event(event_of(c));
    }
}

/* NULL: there is none. */
static struct zkli_completion *first_of(struct zkl_session *s, const void *owner) {
    for (struct zkli_list *link = s->callbacks.next; link != &s->callbacks; link = link->next) {
        struct zkli_callback *c = callback_of(link);
        if (c->owner == owner)
            return c->completion;
    }
    return NULL;
}

/* Here, and not in its turn: that may be far, or be this very callback's. */
static void tell_now(struct zkl_session *s, struct zkli_completion *c) {
    take_completion(c);
    s->told_now++;
    zkli_session_unlock(s);
    tell_completion(s, c);
    zkli_session_lock(s);
    s->told_now--;
    pthread_cond_broadcast(&s->changed);
}

void zkli_callbacks_drop(struct zkl_session *s, const void *owner) {
    struct zkli_completion *c;
    drop_events(s, owner);
    do {
        /* Not from a callback, be it another session's: two of them could wait for each other. */
        while (s->callback_owner == owner && !is_in_callback())
            zkli_session_wait(s, &s->changed);
        c = first_of(s, owner);
        if (c != NULL) /* meanwhile the next may be called on the thread of callbacks */
            tell_now(s, c);
    } while (c != NULL);
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
    for (;;) {
        bool is_empty = zkli_list_is_empty(&s->callbacks);
        if (s->callback_owner == NULL && !is_empty)
            tell_next(s);
        else if (s->callback_owner != NULL || s->told_now > 0) /* on threads of the program's */
            zkli_session_wait(s, &s->changed);
        else
            break;
    }
    zkli_session_unlock(s);
}
