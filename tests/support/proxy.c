/*
 * See proxy.h. One thread with a poll loop; the lock is free while it polls. A connection ("route")
 * has two streams. Bytes that came in are cut into frames, each frame is looked at once, queued,
 * and sent when it is due and its direction is not held.
 *
 * The first frame each way is the handshake. frames.c knows what the others say.
 */
#include "support/proxy.h"
#include "support/clock.h"
#include "support/net.h"
#include "support/proxy_impl.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUTES_MAX 128 /* more are refused: a test has a hundred sessions behind it at most */
#define READ_SIZE 65536

/* ---- routes ---- */

static void stream_fini(stream *s) {
    while (s->first) {
        frame *next = s->first->next;

        free(s->first);
        s->first = next;
    }
    free(s->part);
}

/* With a reset, so that the peer learns of it even if it never writes. */
static void reset(int fd) {
    const struct linger now = {.l_onoff = 1};

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)); /* else it is a mere close */
    (void)close(fd);
}

static void reap_routes(proxy *p) {
    for (route **at = &p->routes; *at;) {
        route *l = *at;

        if (!l->dead) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        if (l->ends_after)
            (void)close(l->up.from); /* what has been sent to the client is to be read by it */
        else
            reset(l->up.from);
        (void)close(l->up.to); /* what has been sent to the server is to be done by it */
        stream_fini(&l->up);
        stream_fini(&l->down);
        free(l);
        p->route_count--;
    }
}

static void kill_routes(proxy *p) {
    for (route *l = p->routes; l; l = l->next)
        l->dead = true;
}

static void accept_route(proxy *p) {
    const int client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    int server = -1;

    if (client < 0)
        return;
    p->connects++;
    route *l = calloc(1, sizeof(*l));
    if (l && !p->refuse && p->route_count < ROUTES_MAX)
        server = net_connect(p->target, 0);
    if (server < 0 || !net_make_quick(client) || !net_make_quick(server)) {
        reset(client);
        if (server >= 0)
            (void)close(server);
        free(l);
        return;
    }
    l->up = (stream){.from = client, .to = server};
    l->down = (stream){.from = server, .to = client};
    l->serial = ++p->serials;
    l->next = p->routes;
    p->routes = l;
    p->route_count++;
}

/* ---- frames ---- */

static unsigned direction_of(const route *l, const stream *s) {
    return s == &l->up ? PROXY_TO_SERVER : PROXY_TO_CLIENT;
}

/* *ret_due: when it is over, if that is known and earlier. */
static bool is_held(const proxy *p, const route *l, const stream *s, int64_t now,
                    int64_t *ret_due) {
    if (p->stalled & direction_of(l, s) && now < p->stall_until_ns) {
        *ret_due = p->stall_until_ns < *ret_due ? p->stall_until_ns : *ret_due;
        return true;
    }
    return s->first->gate || (p->held & direction_of(l, s)) != 0;
}

/* Sends what is due. *ret_due: when the next is, if earlier; *ret_full: the socket is full. */
static void transmit(proxy *p, route *l, stream *s, int64_t now, int64_t *ret_due, bool *ret_full) {
    while (s->first && !is_held(p, l, s, now, ret_due)) {
        frame *f = s->first;

        if (f->due_ns > now) {
            *ret_due = f->due_ns < *ret_due ? f->due_ns : *ret_due;
            return;
        }
        ssize_t put = send(s->to, f->bytes + f->sent, f->size - f->sent, MSG_NOSIGNAL);
        if (put < 0) {
            *ret_full = errno == EAGAIN || errno == EINTR;
            l->dead = l->dead || !*ret_full;
            return;
        }
        f->sent += (size_t)put;
        if (f->sent < f->size)
            continue;
        s->first = f->next;
        free(f);
    }
}

static void pass_on(proxy *p, route *l) {
    int64_t due = INT64_MAX;
    bool full;

    transmit(p, l, &l->up, clock_ns(), &due, &full);
    transmit(p, l, &l->down, clock_ns(), &due, &full);
}

/* Ends a route, with what came before still passed on. */
static void cut(proxy *p, route *l) {
    pass_on(p, l);
    l->dead = true;
}

static void fire(proxy *p) {
    p->rule.armed = false;
    p->rule.fired = true;
    if (p->rule.refuse)
        p->refuse = true;
}

static void obey_at_request(proxy *p, route *l, frame *f, const frame_view *view) {
    if (!p->rule.armed || view->kind != p->rule.kind || p->rule.left == 0 ||
        !strstr(view->path, p->rule.part) || --p->rule.left > 0)
        return;
    switch (p->rule.action) {
    case PROXY_CUT_REQUEST:
        fire(p);
        cut(p, l);
        break;
    case PROXY_HOLD_REQUEST:
        fire(p);
        f->gate = true;
        break;
    case PROXY_FAIL:
        frame_defuse(f->bytes, f->size);
        l->rule_waits = true;
        l->rule_xid = view->xid;
        break;
    case PROXY_CUT_REPLY:
    case PROXY_HOLD_REPLY:
        l->rule_waits = true;
        l->rule_xid = view->xid;
        break;
    }
}

static void obey_at_reply(proxy *p, route *l, frame *f, const frame_view *view) {
    if (!l->rule_waits || view->kind == PROXY_EVENT || view->xid != l->rule_xid)
        return;
    l->rule_waits = false;
    fire(p);
    if (p->rule.action == PROXY_HOLD_REPLY)
        f->gate = true;
    else if (p->rule.action == PROXY_FAIL)
        f->size = frame_make_error(f->bytes, f->size, p->rule.error);
    else
        cut(p, l);
}

static void strike(proxy *p, route *l) {
    p->fault.armed = false;
    p->fault.struck_ns = clock_ns();
    switch (p->fault.what.action) {
    case PROXY_CUT_BEFORE:
        cut(p, l);
        break;
    case PROXY_CUT_AFTER:
        l->ends_after = true;
        break;
    case PROXY_STALL:
    case PROXY_STALL_BOTH:
        pass_on(p, l);
        p->stalled = p->fault.what.action == PROXY_STALL ? p->fault.what.direction : PROXY_BOTH;
        p->stall_until_ns = p->fault.struck_ns + p->fault.what.stall_ms * NS_PER_MS;
        break;
    case PROXY_HOLD_FRAME:
        pass_on(p, l);
        p->held |= p->fault.what.direction;
        break;
    case PROXY_SILENCE:
        pass_on(p, l);
        l->is_silent = true;
        break;
    }
}

static void obey_fault(proxy *p, route *l, const frame_view *view, proxy_direction direction) {
    if (!p->fault.armed || p->fault.what.direction != direction ||
        p->fault.what.kind != view->kind || !strstr(view->path, p->fault.part) ||
        --p->fault.left > 0)
        return;
    strike(p, l);
}

/* Looks at a frame that came in, before it is queued. */
static void inspect_frame(proxy *p, route *l, stream *s, frame *f) {
    const proxy_direction direction = s == &l->up ? PROXY_TO_SERVER : PROXY_TO_CLIENT;
    frame_view view = {.kind = PROXY_CONNECT};

    if (s->greeted)
        frame_read(&view, f->bytes, f->size, direction == PROXY_TO_SERVER);
    frame_log_add(&p->log, &view, direction, l->serial);
    if (s->greeted && direction == PROXY_TO_SERVER)
        obey_at_request(p, l, f, &view);
    else if (s->greeted)
        obey_at_reply(p, l, f, &view);
    s->greeted = true;
    if (l->dead)
        frame_log_swallow(&p->log);
    else
        obey_fault(p, l, &view, direction);
}

static void queue_frame(proxy *p, route *l, stream *s, const unsigned char *bytes, size_t size) {
    frame *f = malloc(sizeof(*f) + size);

    if (!f)
        abort();
    *f = (frame){.due_ns = clock_ns() + p->delay_ns, .size = size};
    memcpy(f->bytes, bytes, size);
    inspect_frame(p, l, s, f);
    if (l->is_silent) {
        free(f);
        return;
    }
    if (s->first)
        s->last->next = f;
    else
        s->first = f;
    s->last = f;
    if (l->ends_after)
        cut(p, l);
}

/* Cuts what has come in into frames. */
static void take_frames(proxy *p, route *l, stream *s) {
    size_t at = 0;

    while (!l->dead && !l->is_silent) {
        const long size = frame_size(s->part + at, s->part_size - at);

        if (size == 0)
            break;
        if (size < 0) {
            l->dead = true;
            break;
        }
        queue_frame(p, l, s, s->part + at, (size_t)size);
        at += (size_t)size;
    }
    s->part_size -= at;
    memmove(s->part, s->part + at, s->part_size);
}

/* As a network that is gone: bytes vanish, and so does the news that a peer has closed. */
static void swallow(route *l, stream *s) {
    char bytes[4096];
    ssize_t got;

    do
        got = recv(s->from, bytes, sizeof(bytes), 0);
    while (got > 0);
    s->ended = got == 0 || (errno != EAGAIN && errno != EINTR);
    l->dead = l->up.ended && l->down.ended;
}

static void receive(proxy *p, route *l, stream *s) {
    if (l->is_silent) {
        swallow(l, s);
        return;
    }
    unsigned char *grown = realloc(s->part, s->part_size + READ_SIZE);

    if (!grown)
        abort();
    s->part = grown;
    ssize_t got = recv(s->from, s->part + s->part_size, READ_SIZE, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        l->dead = true;
        return;
    }
    s->part_size += got > 0 ? (size_t)got : 0;
    take_frames(p, l, s);
}

/* ---- the loop ---- */

typedef struct poll_set {
    struct pollfd fds[2 + 2 * ROUTES_MAX];
    stream *streams[2 + 2 * ROUTES_MAX];
    route *routes[2 + 2 * ROUTES_MAX];
    nfds_t count;
} poll_set;

static void poll_add(poll_set *set, route *l, stream *s, int fd, bool full) {
    const short events = (short)(POLLIN | (full ? POLLOUT : 0));

    set->fds[set->count] = (struct pollfd){.fd = fd, .events = events};
    set->routes[set->count] = l;
    set->streams[set->count++] = s;
}

/* Sends what can be sent and says what to wait for and how long (ms). */
static int prepare(proxy *p, poll_set *set) {
    const int64_t now = clock_ns();
    int64_t due = INT64_MAX;

    set->count = 0;
    poll_add(set, NULL, NULL, p->wake, false);
    poll_add(set, NULL, NULL, p->listener, false);
    for (route *l = p->routes; l; l = l->next) {
        bool up_full = false, down_full = false;

        transmit(p, l, &l->up, now, &due, &up_full);
        transmit(p, l, &l->down, now, &due, &down_full);
        if (!l->up.ended)
            poll_add(set, l, &l->up, l->up.from, down_full);
        if (!l->down.ended)
            poll_add(set, l, &l->down, l->down.from, up_full);
    }
    reap_routes(p); /* such a route stays in the set; is_alive tells it after the poll */
    return due == INT64_MAX ? -1 : (int)((due - now) / NS_PER_MS + 1);
}

static bool is_alive(const proxy *p, const route *wanted) {
    for (const route *l = p->routes; l; l = l->next)
        if (l == wanted)
            return !l->dead;
    return false;
}

static void *run(void *context) {
    proxy *p = context;
    poll_set set;

    (void)pthread_mutex_lock(&p->mutex);
    while (!p->stop) {
        const int timeout_ms = prepare(p, &set);
        uint64_t woken;

        (void)pthread_mutex_unlock(&p->mutex);
        (void)poll(set.fds, set.count, timeout_ms);
        (void)pthread_mutex_lock(&p->mutex);
        if (set.fds[0].revents)
            (void)!read(p->wake, &woken, sizeof(woken));
        for (nfds_t i = 2; i < set.count; i++)
            if (set.fds[i].revents & (POLLIN | POLLHUP | POLLERR) && is_alive(p, set.routes[i]))
                receive(p, set.routes[i], set.streams[i]);
        if (set.fds[1].revents)
            accept_route(p);
        reap_routes(p);
    }
    kill_routes(p);
    reap_routes(p);
    (void)pthread_mutex_unlock(&p->mutex);
    return NULL;
}

void proxy_wake(proxy *p) {
    const uint64_t one = 1;

    (void)!write(p->wake, &one, sizeof(one)); /* fails only if it is awake already */
}

proxy *proxy_open(const char *hosts, const char *address) {
    proxy *p = calloc(1, sizeof(*p));
    uint16_t port;

    if (!p)
        return NULL;
    (void)snprintf(p->target, sizeof(p->target), "%s", hosts);
    p->listener = net_listen(address, &port);
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->listener < 0 || p->wake < 0 || pthread_mutex_init(&p->mutex, NULL) != 0)
        abort();
    (void)snprintf(p->hosts, sizeof(p->hosts), "%s:%u", address, (unsigned)port);
    if (pthread_create(&p->thread, NULL, run, p) != 0)
        abort();
    return p;
}

void proxy_close(proxy *p) {
    if (!p)
        return;
    (void)pthread_mutex_lock(&p->mutex);
    p->stop = true;
    (void)pthread_mutex_unlock(&p->mutex);
    proxy_wake(p);
    (void)pthread_join(p->thread, NULL);
    (void)close(p->listener);
    (void)close(p->wake);
    (void)pthread_mutex_destroy(&p->mutex);
    frame_log_fini(&p->log);
    free(p);
}

void proxy_drop(proxy *p) {
    (void)pthread_mutex_lock(&p->mutex);
    kill_routes(p);
    reap_routes(p);
    (void)pthread_mutex_unlock(&p->mutex);
    proxy_wake(p);
}
