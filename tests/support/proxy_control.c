/*
 * See proxy.h: what a test asks of a proxy that runs. The loop itself is in proxy.c.
 */
#include "support/clock.h"
#include "support/proxy_impl.h"

#include <stdio.h>
#include <string.h>

const char *proxy_hosts(const proxy *p) {
    return p->hosts;
}

static void open_gates(stream *s) {
    for (frame *f = s->first; f; f = f->next)
        f->gate = false;
}

void proxy_hold(proxy *p, proxy_direction direction, bool on) {
    (void)pthread_mutex_lock(&p->mutex);
    if (on)
        p->held |= direction;
    else
        p->held &= ~(unsigned)direction;
    for (route *l = p->routes; l && !on; l = l->next) {
        if (direction & PROXY_TO_SERVER)
            open_gates(&l->up);
        if (direction & PROXY_TO_CLIENT)
            open_gates(&l->down);
    }
    (void)pthread_mutex_unlock(&p->mutex);
    proxy_wake(p);
}

void proxy_refuse(proxy *p, bool on) {
    (void)pthread_mutex_lock(&p->mutex);
    p->refuse = on;
    (void)pthread_mutex_unlock(&p->mutex);
}

void proxy_delay(proxy *p, int ms) {
    (void)pthread_mutex_lock(&p->mutex);
    p->delay_ns = ms * NS_PER_MS;
    (void)pthread_mutex_unlock(&p->mutex);
}

static void set_rule(proxy *p, proxy_action action, proxy_kind kind, const char *part, size_t nth) {
    p->rule.armed = true;
    p->rule.fired = p->rule.refuse = false;
    p->rule.action = action;
    p->rule.kind = kind;
    (void)snprintf(p->rule.part, sizeof(p->rule.part), "%s", part ? part : "");
    p->rule.left = nth;
    for (route *l = p->routes; l; l = l->next)
        l->rule_waits = false;
}

void proxy_rule(proxy *p, proxy_action action, proxy_kind kind, const char *part, size_t nth,
                bool refuse) {
    (void)pthread_mutex_lock(&p->mutex);
    set_rule(p, action, kind, part, nth);
    p->rule.refuse = refuse;
    (void)pthread_mutex_unlock(&p->mutex);
}

void proxy_fail(proxy *p, proxy_kind kind, const char *part, size_t nth, int error) {
    (void)pthread_mutex_lock(&p->mutex);
    set_rule(p, PROXY_FAIL, kind, part, nth);
    p->rule.error = error;
    (void)pthread_mutex_unlock(&p->mutex);
}

bool proxy_fired(proxy *p) {
    (void)pthread_mutex_lock(&p->mutex);
    bool fired = p->rule.fired;
    (void)pthread_mutex_unlock(&p->mutex);
    return fired;
}

void proxy_set_fault(proxy *p, const proxy_fault *fault) {
    (void)pthread_mutex_lock(&p->mutex);
    p->fault.armed = true;
    p->fault.what = *fault;
    (void)snprintf(p->fault.part, sizeof(p->fault.part), "%s", fault->part ? fault->part : "");
    p->fault.left = fault->nth;
    p->fault.struck_ns = 0;
    (void)pthread_mutex_unlock(&p->mutex);
}

int64_t proxy_struck_ns(proxy *p) {
    (void)pthread_mutex_lock(&p->mutex);
    int64_t struck_ns = p->fault.struck_ns;
    (void)pthread_mutex_unlock(&p->mutex);
    return struck_ns;
}

bool proxy_has_silence(proxy *p) {
    bool found = false;

    (void)pthread_mutex_lock(&p->mutex);
    for (route *l = p->routes; l; l = l->next)
        found = found || (l->is_silent && !l->up.ended);
    (void)pthread_mutex_unlock(&p->mutex);
    return found;
}

size_t proxy_trace(proxy *p, proxy_frame *ret_frames, size_t max) {
    (void)pthread_mutex_lock(&p->mutex);
    size_t count = frame_log_trace(&p->log, ret_frames, max);
    (void)pthread_mutex_unlock(&p->mutex);
    return count;
}

static size_t count_frames(proxy *p, const frame_filter *filter) {
    (void)pthread_mutex_lock(&p->mutex);
    size_t count = frame_log_count(&p->log, filter);
    (void)pthread_mutex_unlock(&p->mutex);
    return count;
}

size_t proxy_count(proxy *p, proxy_kind kind, const char *part) {
    return count_frames(p, &(frame_filter){.kind = kind, .part = part});
}

size_t proxy_count_tail(proxy *p, proxy_kind kind, const char *tail) {
    return count_frames(p, &(frame_filter){.kind = kind, .part = tail, .is_tail = true});
}

size_t proxy_answered(proxy *p, proxy_kind kind, const char *part) {
    return count_frames(p, &(frame_filter){.kind = kind, .part = part, .is_answered = true});
}

size_t proxy_connects(proxy *p) {
    (void)pthread_mutex_lock(&p->mutex);
    size_t count = p->connects;
    (void)pthread_mutex_unlock(&p->mutex);
    return count;
}

size_t proxy_links(proxy *p) {
    (void)pthread_mutex_lock(&p->mutex);
    size_t count = p->route_count;
    (void)pthread_mutex_unlock(&p->mutex);
    return count;
}

void proxy_forget(proxy *p) {
    (void)pthread_mutex_lock(&p->mutex);
    p->log.count = p->connects = 0;
    (void)pthread_mutex_unlock(&p->mutex);
}

void proxy_print(proxy *p) {
    (void)pthread_mutex_lock(&p->mutex);
    frame_log_print(&p->log);
    (void)pthread_mutex_unlock(&p->mutex);
}
