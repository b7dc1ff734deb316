/*
 * See proxy.h. One thread with a poll loop; the lock is free while it polls. A connection ("route")
 * has two streams. Bytes that came in are cut into frames, each frame is looked at once, queued,
 * and sent when it is due and its direction is not held.
 *
 * The first frame each way is the handshake. frames.c knows what the others say.
 */
#include "support/proxy.h"
#include "support/clock.h"
#include "support/frames.h"
#include "support/net.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUTES_MAX 64 /* more are refused: a test has a handful of sessions */
#define READ_SIZE 65536

typedef struct frame {
    struct frame *next;
    int64_t due_ns;
    size_t size, sent;
    bool gate; /* it and those behind it wait until the hold is lifted */
    unsigned char bytes[];
} frame;

typedef struct stream {
    int from, to;        /* descriptors, owned by the route */
    bool greeted;        /* the handshake has passed */
    frame *first, *last; /* to be sent */
    unsigned char *part; /* came in, not yet a whole frame */
    size_t part_size;
} stream;

typedef struct route route;

struct route {
    route *next;
    stream up, down; /* to the server, to the client */
    uint64_t serial; /* no two connections have the same */
    bool rule_waits; /* for the reply with this xid */
    int32_t rule_xid;
    bool dead;
};

struct proxy {
    pthread_mutex_t mutex;
    pthread_t thread;
    int listener, wake;
    char target[128], hosts[64];
    route *routes;
    size_t route_count;
    bool stop, refuse;
    unsigned held; /* proxy_direction bits */
    int64_t delay_ns;
    struct {
        bool armed, fired, refuse;
        proxy_action action;
        proxy_kind kind;
        char part[FRAME_PATH_MAX];
        int error;   /* FAIL */
        size_t left; /* matching requests until it fires */
    } rule;
    frame_log log;
    size_t connects;
    uint64_t serials;
};

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
    route *l;

    if (client < 0)
        return;
    p->connects++;
    l = calloc(1, sizeof(*l));
    if (l && !p->refuse && p->route_count < ROUTES_MAX)
        server = net_connect(p->target);
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

static bool is_held(const proxy *p, const route *l, const stream *s) {
    return s->first->gate || (p->held & (s == &l->up ? PROXY_TO_SERVER : PROXY_TO_CLIENT)) != 0;
}

/* Sends what is due. *ret_due: when the next is, if earlier; *ret_full: the socket is full. */
static void transmit(proxy *p, route *l, stream *s, int64_t now, int64_t *ret_due, bool *ret_full) {
    while (s->first && !is_held(p, l, s)) {
        frame *f = s->first;
        ssize_t put;

        if (f->due_ns > now) {
            *ret_due = f->due_ns < *ret_due ? f->due_ns : *ret_due;
            return;
        }
        put = send(s->to, f->bytes + f->sent, f->size - f->sent, MSG_NOSIGNAL);
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

/* Ends a route, with what came before still passed on. */
static void cut(proxy *p, route *l) {
    int64_t due = INT64_MAX;
    bool full;

    transmit(p, l, &l->up, clock_ns(), &due, &full);
    transmit(p, l, &l->down, clock_ns(), &due, &full);
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

/* Looks at a frame that came in, before it is queued. */
static void inspect_frame(proxy *p, route *l, stream *s, frame *f) {
    const bool from_client = s == &l->up;
    frame_view view;

    if (!s->greeted) {
        s->greeted = true;
        return;
    }
    frame_read(&view, f->bytes, f->size, from_client);
    if (from_client || view.kind == PROXY_EVENT)
        frame_log_add(&p->log, &view, l->serial);
    else
        frame_log_answer(&p->log, view.xid, l->serial);
    if (from_client)
        obey_at_request(p, l, f, &view);
    else
        obey_at_reply(p, l, f, &view);
}

static void queue_frame(proxy *p, route *l, stream *s, const unsigned char *bytes, size_t size) {
    frame *f = malloc(sizeof(*f) + size);

    if (!f)
        abort();
    *f = (frame){.due_ns = clock_ns() + p->delay_ns, .size = size};
    memcpy(f->bytes, bytes, size);
    inspect_frame(p, l, s, f);
    if (s->first)
        s->last->next = f;
    else
        s->first = f;
    s->last = f;
}

/* Cuts what has come in into frames. */
static void take_frames(proxy *p, route *l, stream *s) {
    size_t at = 0;

    while (!l->dead) {
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

static void receive(proxy *p, route *l, stream *s) {
    unsigned char *grown = realloc(s->part, s->part_size + READ_SIZE);
    ssize_t got;

    if (!grown)
        abort();
    s->part = grown;
    got = recv(s->from, s->part + s->part_size, READ_SIZE, 0);
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
        poll_add(set, l, &l->up, l->up.from, down_full);
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

static void wake_up(proxy *p) {
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
    wake_up(p);
    (void)pthread_join(p->thread, NULL);
    (void)close(p->listener);
    (void)close(p->wake);
    (void)pthread_mutex_destroy(&p->mutex);
    frame_log_fini(&p->log);
    free(p);
}

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
    wake_up(p);
}

void proxy_drop(proxy *p) {
    (void)pthread_mutex_lock(&p->mutex);
    kill_routes(p);
    reap_routes(p);
    (void)pthread_mutex_unlock(&p->mutex);
    wake_up(p);
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
    bool fired;

    (void)pthread_mutex_lock(&p->mutex);
    fired = p->rule.fired;
    (void)pthread_mutex_unlock(&p->mutex);
    return fired;
}

static size_t count_frames(proxy *p, const frame_filter *filter) {
    size_t count;

    (void)pthread_mutex_lock(&p->mutex);
    count = frame_log_count(&p->log, filter);
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
    size_t count;

    (void)pthread_mutex_lock(&p->mutex);
    count = p->connects;
    (void)pthread_mutex_unlock(&p->mutex);
    return count;
}

size_t proxy_links(proxy *p) {
    size_t count;

    (void)pthread_mutex_lock(&p->mutex);
    count = p->route_count;
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
