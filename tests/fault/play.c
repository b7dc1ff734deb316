/* See play.h. */
#include "play.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define POLL_MS 4
/* How long a try that asked the owner of an idle node waits before the next one. */
#define ASKED_MS 1000

const char *fault_mode_name(fault_mode mode) {
    static const char *const names[FAULT_MODES] = {"none",      "cut before",    "cut after",
                                                   "stall T/3", "stall 5T/6",    "half-open",
                                                   "blackout",  "server, short", "server, long"};

    return names[mode];
}

bool play_is_gentle(const play *p) {
    return p->mode <= FAULT_STALL_SHORT || p->mode == FAULT_SERVER_SHORT;
}

static bool is_servers(const play *p) {
    return p->mode == FAULT_SERVER_SHORT || p->mode == FAULT_SERVER_LONG;
}

bool play_fail(play *p, const char *format, ...) {
    va_list args;

    if (p->failure[0] != '\0' || p->is_missed)
        return false;
    va_start(args, format);
    (void)vsnprintf(p->failure, sizeof(p->failure), format, args);
    va_end(args);
    return false;
}

/* A hold that is valid in the second look was so at the end of the first. */
static void look_for_too_many(play *p) {
    zkl_hold holds[ROLES];
    size_t count = 0;

    for (role i = 0; i < ROLES; i++) {
        holds[i] = atomic_load(&p->parts[i].hold);
        if (holds[i] != 0 && !zkl_hold_valid(p->parts[i].lock, holds[i]))
            holds[i] = 0;
    }
    for (role i = 0; i < ROLES; i++)
        count += holds[i] != 0 && zkl_hold_valid(p->parts[i].lock, holds[i]);
    if (count > atomic_load(&p->holders_max))
        atomic_store(&p->had_too_many, true);
}

bool play_has_struck(play *p) {
    return proxy_struck_ns(p->proxy) != 0;
}

static bool never(play *p) {
    (void)p;
    return false;
}

/* Not wait_pause: a hundred threads that look each millisecond are a load of their own. */
static bool await(play *p, bool (*is_met)(play *), bool (*or_met)(play *), int64_t ms) {
    const int64_t end_ms = clock_ms() + ms;
    bool met = is_met(p) || or_met(p);

    while (!met && clock_ms() < end_ms) {
        (void)poll(NULL, 0, POLL_MS);
        look_for_too_many(p);
        met = is_met(p) || or_met(p);
    }
    return met;
}

bool play_await(play *p, bool (*is_met)(play *), int64_t ms, const char *what) {
    return await(p, is_met, never, ms) ||
           play_fail(p, "not within %lld ms: %s", (long long)ms, what);
}

bool play_await_frame(play *p, bool (*is_met)(play *), const char *what) {
    if (p->mode == FAULT_NONE)
        return play_await(p, is_met, LIMIT_MS, what);
    p->is_missed = !await(p, is_met, play_has_struck, LIMIT_MS);
    return !p->is_missed;
}

void play_frames_end(play *p) {
    if (p->mode == FAULT_NONE && p->trace_count == 0)
        p->trace_count = proxy_trace(p->proxy, p->trace, TRACE_MAX);
}

/* A session that has to end does so up to two ticks after its timeout. Before a server stands
 * still for a short time, the frame that it strikes at is held until all scenarios are there. In
 * so long a silence a lease may lapse, and then a first proof counts a timeout later. */
int64_t play_in_time_ms(const play *p) {
    if (p->mode == FAULT_SERVER_SHORT && !p->scenario->is_close)
        return p->stall_ms + p->timeout_ms * 8 / 5 + SLACK_MS;
    if (p->mode == FAULT_NONE || (play_is_gentle(p) && !p->scenario->is_close))
        return p->stall_ms + SLACK_MS;
    return p->timeout_ms + p->stall_ms + SLACK_MS;
}

/* ---- the fault ---- */

static bool has_view(play *p) {
    return raw_exists(p->crew->raw, fixture_root());
}

static bool is_over(play *p) {
    switch (p->mode) {
    case FAULT_STALL_SHORT:
    case FAULT_STALL_LONG:
    case FAULT_BLACKOUT:
        if (clock_ns() < proxy_struck_ns(p->proxy) + p->stall_ms * NS_PER_MS)
            return false;
        break;
    case FAULT_HALF_OPEN:
        if (proxy_has_silence(p->proxy)) /* the client has not found out */
            return false;
        break;
    case FAULT_SERVER_SHORT:
    case FAULT_SERVER_LONG:
        if (!atomic_load(p->server_is_back) || !has_view(p))
            return false;
        break;
    case FAULT_NONE:
    case FAULT_CUT_BEFORE:
    case FAULT_CUT_AFTER:
    case FAULT_MODES:
        break;
    }
    const zkl_state state = zkl_session_state(p->session);
    return state == ZKL_STATE_CONNECTED || state == ZKL_STATE_EXPIRED;
}

bool play_await_strike(play *p) {
    p->is_missed = p->mode != FAULT_NONE && !await(p, play_has_struck, never, LIMIT_MS);
    return !p->is_missed;
}

bool play_await_fault(play *p) {
    return play_await_strike(p) &&
           play_await(p, is_over, play_in_time_ms(p), "connected again after the fault");
}

/* ---- the cast ---- */

static bool takes_several(const part *who) {
    return who->play->more_count > 0 && who == &who->play->parts[PROTAGONIST];
}

/* Runs in the actor's thread, at the instant at which one too many would show first. */
static zkl_err acquire(void *arg) {
    part *me = arg;
    play *p = me->play;
    const zkl_err err = takes_several(me)
                            ? zkl_acquire_all(p->several, 1 + p->more_count, me->timeout_ms)
                            : zkl_acquire(me->lock, me->timeout_ms);

    if (err == ZKL_OK) {
        const int64_t token = zkl_token(me->lock);

        atomic_store(&me->hold, zkl_hold_of(me->lock));
        if (atomic_exchange(&me->token, token) != token)
            atomic_store(&me->granted_ns, clock_ns());
        look_for_too_many(me->play);
    }
    return err;
}

void play_bid(play *p, role who, int64_t timeout_ms) {
    p->parts[who].timeout_ms = timeout_ms;
    actor_begin(p->parts[who].actor, acquire, &p->parts[who]);
}

/* As actor_result, at a lower rate. */
zkl_err play_result(play *p, role who, int64_t wait_ms) {
    const int64_t end_ms = clock_ms() + wait_ms;

    while (!actor_is_done(p->parts[who].actor) && clock_ms() < end_ms)
        (void)poll(NULL, 0, POLL_MS);
    return actor_result(p->parts[who].actor, 0);
}

bool play_is_valid(play *p, role who) {
    return zkl_hold_valid(p->parts[who].lock, atomic_load(&p->parts[who].hold));
}

/* In the actor's thread: a hold is its own. */
static zkl_err release(void *arg) {
    play *p = arg;

    return p->more_count > 0 ? zkl_release_all(p->several, 1 + p->more_count)
                             : zkl_release(p->several[0]);
}

static zkl_err release_wait(void *arg) {
    play *p = arg;
    zkl_err err = zkl_release_wait(p->several[0], LIMIT_MS / 2);

    for (size_t i = 1; i <= p->more_count; i++) {
        const zkl_err its = zkl_release_wait(p->several[i], LIMIT_MS / 2);

        err = err == ZKL_OK ? its : err;
    }
    return err;
}

zkl_err play_release(play *p) {
    actor_begin(p->parts[PROTAGONIST].actor, release, p);
    return play_result(p, PROTAGONIST, LIMIT_MS);
}

zkl_err play_release_wait(play *p) {
    actor_begin(p->parts[PROTAGONIST].actor, release_wait, p);
    return play_result(p, PROTAGONIST, 2 * LIMIT_MS);
}

/* With a server that dies, a node is missing only if others are seen before and after. */
static size_t count_nodes(play *p, size_t (*count)(play *)) {
    const int64_t end_ms = clock_ms() + LIMIT_MS;
    bool is_sure = false;
    size_t found = 0;

    while (!is_sure && clock_ms() < end_ms) {
        const bool had_view = !is_servers(p) || has_view(p);

        found = count(p);
        is_sure = found > 0 || !is_servers(p) || (had_view && has_view(p));
        if (!is_sure)
            (void)poll(NULL, 0, POLL_MS);
    }
    return found;
}

static size_t count_all(play *p) {
    size_t count = raw_child_count(p->crew->raw, p->dir);

    for (size_t i = 0; i < p->more_count; i++)
        count += raw_child_count(p->crew->raw, p->more_dirs[i]);
    return count;
}

static size_t count_ours(play *p) {
    const int64_t id = zkl_session_id(p->session);
    const size_t count = raw_owned_count(p->crew->raw, p->dir, id);

    for (size_t i = 0; i < p->more_count; i++)
        if (raw_owned_count(p->crew->raw, p->more_dirs[i], id) != count)
            return PLAY_TORN;
    return count;
}

size_t play_nodes(play *p) {
    return count_nodes(p, count_all);
}

size_t play_ours(play *p) {
    return count_nodes(p, count_ours);
}

static bool is_deserted(play *p) {
    return play_nodes(p) == 0;
}

static bool has_waiter_queued(play *p) {
    const size_t theirs = raw_owned_count(p->crew->raw, p->dir, zkl_session_id(p->crew->session));

    return actor_is_done(p->parts[WAITER].actor) ||
           theirs >= 1 + (size_t)play_is_valid(p, HOLDER) + play_is_valid(p, FORERUNNER);
}

bool play_waiter_joins(play *p) {
    p->has_waiter = true;
    play_bid(p, WAITER, ZKL_FOREVER);
    return play_await(p, has_waiter_queued, LIMIT_MS, "the waiter in the queue");
}

static bool gives_up(play *p, role who) {
    p->given_up_ns = clock_ns();
    zkl_err err = actor_release(p->parts[who].actor, p->parts[who].lock);
    return err == ZKL_OK || play_fail(p, "a bystander's release says %s", zkl_errname(err));
}

bool play_holder_leaves(play *p) {
    return gives_up(p, HOLDER);
}

bool play_forerunner_leaves(play *p) {
    const zkl_err err = play_result(p, FORERUNNER, LIMIT_MS);

    if (err != ZKL_OK)
        return play_fail(p, "the one in front: %s", zkl_errname(err));
    return gives_up(p, FORERUNNER);
}

bool play_holder_comes(play *p, int64_t timeout_ms) {
    const int64_t end_ms = clock_ms() + play_in_time_ms(p);
    zkl_err err = ZKL_BUSY;

    while ((err == ZKL_BUSY || err == ZKL_UNREACHABLE) && clock_ms() < end_ms) {
        play_bid(p, HOLDER, timeout_ms);
        err = play_result(p, HOLDER, play_in_time_ms(p));
        if (err == ZKL_BUSY) /* the owner has been asked */
            (void)await(p, is_deserted, never, ASKED_MS);
    }
    return err == ZKL_OK || play_fail(p, "another, who wants it: %s",
                                      err == ACTOR_BUSY ? "waits for ever" : zkl_errname(err));
}

bool play_waiter_is_served(play *p) {
    const zkl_err err = play_result(p, WAITER, play_in_time_ms(p));

    p->has_waiter = false;
    if (err != ZKL_OK)
        return play_fail(p, "the waiter behind: %s",
                         err == ACTOR_BUSY ? "waits for ever" : zkl_errname(err));
    int64_t took_ms = (atomic_load(&p->parts[WAITER].granted_ns) - p->given_up_ns) / NS_PER_MS;
    if (took_ms > play_in_time_ms(p))
        return play_fail(p, "the waiter behind waited %lld ms", (long long)took_ms);
    return gives_up(p, WAITER);
}

/*
 * A long fault may cost the protagonist its place, and the waiter comes first. Then it comes again,
 * so that there is a waiter in any case.
 */
static bool await_turn(play *p) {
    const int64_t end_ms = clock_ms() + 2 * play_in_time_ms(p);

    while (!actor_is_done(p->parts[PROTAGONIST].actor) && clock_ms() < end_ms) {
        (void)poll(NULL, 0, POLL_MS);
        if (play_is_gentle(p) || !p->has_waiter || !actor_is_done(p->parts[WAITER].actor))
            continue;
        if (!play_waiter_is_served(p))
            return false;
    }
    return true;
}

bool play_await_grant(play *p) {
    if (!await_turn(p))
        return false;
    zkl_err err = actor_result(p->parts[PROTAGONIST].actor, 0);
    if (err != ZKL_OK)
        return play_fail(p, "the acquire %s",
                         err == ACTOR_BUSY ? "waits for ever" : zkl_errname(err));
    return play_check_ours(p);
}

typedef struct view {
    char path[RAW_PATH_MAX], first[RAW_PATH_MAX];
    bool is_in_front; /* as far as it has to be */
    bool has_more;    /* and it has the other locks, too, by nodes of the same transaction */
    int64_t session_id;
    raw_stat stat;
} view;

static bool has_more(play *p, int64_t czxid) {
    bool has_all = true;

    for (size_t i = 0; i < p->more_count; i++) {
        char path[RAW_PATH_MAX];
        raw_stat stat;

        has_all = has_all && raw_child_path(p->crew->raw, p->more_dirs[i], 0, path) &&
                  raw_stat_of(p->crew->raw, path, &stat) && stat.czxid == czxid &&
                  actor_held(p->parts[PROTAGONIST].actor, p->several[1 + i]);
    }
    return has_all;
}

static void look_at_ours(play *p, view *v) {
    part *me = &p->parts[PROTAGONIST];

    *v = (view){.session_id = zkl_session_id(p->session)};
    actor_node_path(me->actor, me->lock, v->path, sizeof(v->path));
    (void)raw_stat_of(p->crew->raw, v->path[0] ? v->path : "/", &v->stat); /* that has no owner */
    for (size_t i = atomic_load(&p->holders_max); i-- > 0;) {
        (void)raw_child_path(p->crew->raw, p->dir, i, v->first);
        v->is_in_front = v->is_in_front || strcmp(v->path, v->first) == 0;
    }
    v->has_more = has_more(p, v->stat.czxid);
}

static bool is_ours(const view *v) {
    return v->stat.owner != 0 && v->stat.owner == v->session_id && v->is_in_front && v->has_more;
}

/* It said OK: then the node is there, is first, and is our session's, if the hold still lasts. */
bool play_check_ours(play *p) {
    const int64_t end_ms = clock_ms() + LIMIT_MS;
    view v;

    look_at_ours(p, &v);
    while (!is_ours(&v) && is_servers(p) && play_is_valid(p, PROTAGONIST) && clock_ms() < end_ms) {
        (void)poll(NULL, 0, POLL_MS); /* nobody may have answered */
        look_at_ours(p, &v);
    }
    if (!play_is_valid(p, PROTAGONIST))
        return !play_is_gentle(p) || play_fail(p, "the hold did not last");
    return is_ours(&v) ||
           play_fail(p, "holds by \"%s\" of session 0x%llx, its own is 0x%llx, first is \"%s\"%s",
                     v.path, (unsigned long long)v.stat.owner, (unsigned long long)v.session_id,
                     v.first, v.has_more ? "" : ", without the others");
}

/* ---- from the beginning to the end ---- */

/* Of the requests that a scenario makes, these say no path, or one that the proxy does not read. */
static bool has_path(proxy_kind kind) {
    return kind != PROXY_CONNECT && kind != PROXY_PING && kind != PROXY_WATCHES &&
           kind != PROXY_MULTI && kind != PROXY_END && kind != PROXY_BARRIER &&
           kind != PROXY_EXISTS;
}

static void arm_fault(play *p) {
    static const proxy_fault_action actions[FAULT_MODES] = {
        [FAULT_CUT_BEFORE] = PROXY_CUT_BEFORE,   [FAULT_CUT_AFTER] = PROXY_CUT_AFTER,
        [FAULT_STALL_SHORT] = PROXY_STALL,       [FAULT_STALL_LONG] = PROXY_STALL,
        [FAULT_HALF_OPEN] = PROXY_SILENCE,       [FAULT_BLACKOUT] = PROXY_STALL_BOTH,
        [FAULT_SERVER_SHORT] = PROXY_HOLD_FRAME, [FAULT_SERVER_LONG] = PROXY_HOLD_FRAME,
    };
    const char *in_path = has_path(p->point.kind) ? p->name : NULL;

    if (p->mode == FAULT_NONE)
        return;
    proxy_set_fault(p->proxy, &(proxy_fault){.direction = p->point.direction,
                                             .kind = p->point.kind,
                                             .part = in_path,
                                             .nth = p->point.nth,
                                             .action = actions[p->mode],
                                             .stall_ms = p->stall_ms});
}

/* The waiter follows whatever number of permits is recorded. */
static bool open_lock(play *p, role who, zkl_session *s) {
    const bool is_watched = who == PROTAGONIST;
    const bool follows = who == WAITER || (is_watched && p->scenario->is_resized);
    const int permits = follows ? 0 : p->scenario->permits;

    p->parts[who].play = p;
    p->parts[who].actor = p->crew->actors[who];
    return zkl_lock_open(
               &p->parts[who].lock, s, p->name,
               &ZKL_LOCK_OPTIONS(.kind = p->scenario->permits > 0 ? ZKL_SEMAPHORE
                                                                  : p->scenario->kinds[who],
                                 .permits = permits,
                                 .linger_ms = is_watched ? p->scenario->linger_ms : 0,
                                 .want_wanted = is_watched && p->scenario->wants_to_know,
                                 .on_event = is_watched ? events_on : NULL, .arg = p->events)) ==
               ZKL_OK ||
           play_fail(p, "no lock");
}

/* Those that the protagonist acquires with the first, which all are about. */
static bool open_more(play *p) {
    p->several[0] = p->parts[PROTAGONIST].lock;
    for (size_t i = 0; i < p->more_count; i++) {
        const char *name = p->more_dirs[i] + strlen(fixture_root()) + 1;

        if (zkl_lock_open(&p->several[1 + i], p->session, name, NULL) != ZKL_OK)
            return play_fail(p, "no other lock");
    }
    return true;
}

static bool make_directories(play *p) {
    bool are_there = raw_make_path(p->crew->raw, p->dir) == RAW_OK;

    for (size_t i = 0; i < p->more_count; i++)
        are_there = are_there && raw_make_path(p->crew->raw, p->more_dirs[i]) == RAW_OK;
    return are_there || play_fail(p, "no directory");
}

static bool has_two_nodes(play *p) {
    return play_nodes(p) == 2 &&
           (p->scenario->permits == 1 || actor_is_done(p->parts[FORERUNNER].actor));
}

static bool set_stage(play *p) {
    if (!p->scenario->has_no_directory && !make_directories(p))
        return false;
    for (role who = HOLDER; who < ROLES; who++)
        if (!open_lock(p, who, p->crew->session))
            return false;
    if (p->scenario->is_taken) {
        play_bid(p, HOLDER, LIMIT_MS);
        if (play_result(p, HOLDER, LIMIT_MS) != ZKL_OK)
            return play_fail(p, "the holder did not get the lock");
    }
    if (!p->scenario->has_forerunner)
        return true;
    play_bid(p, FORERUNNER, ZKL_FOREVER);
    return play_await(p, has_two_nodes, LIMIT_MS, "the one in front in the queue");
}

bool play_open_lock(play *p) {
    return open_lock(p, PROTAGONIST, p->session) && open_more(p);
}

void play_close_lock(play *p) {
    (void)zkl_lock_close(p->parts[PROTAGONIST].lock);
    p->parts[PROTAGONIST].lock = NULL;
}

static bool open_session(play *p) {
    const zkl_err err = zkl_session_open(
        &p->session, proxy_hosts(p->proxy),
        &ZKL_SESSION_OPTIONS(.session_timeout_ms = p->timeout_ms, .connect_timeout_ms = LIMIT_MS,
                             .root = fixture_root(), .on_event = events_on, .arg = p->events));
    return err == ZKL_OK || play_fail(p, "the session is %s", zkl_errname(err));
}

/* The frames of the handshake are among those that the fault may be meant for. */
static bool enter_protagonist(play *p) {
    arm_fault(p);
    const bool is_in = p->scenario->enter != NULL ? p->scenario->enter(p) : open_session(p);
    return is_in && play_open_lock(p);
}

static bool check_news(play *p) {
    const size_t lost = events_count(p->events, ZKL_EVENT_LOST);
    const size_t requeued = events_count(p->events, ZKL_EVENT_REQUEUED);

    if (!play_is_gentle(p) || !p->session) /* who closes its session loses what it held */
        return true;
    if (lost != p->scenario->loses_its_hold || (requeued > 0 && !p->scenario->loses_its_place))
        return play_fail(p, "%zu LOST, %zu REQUEUED", lost, requeued);
    return true;
}

/* Whatever the case has come to, every call returns, soon. */
static void clear_stage(play *p) {
    for (size_t i = 0; i < ROLES; i++)
        (void)zkl_lock_close(p->parts[i].lock); /* NULL is accepted, as by the others */
    for (size_t i = 0; i < p->more_count; i++)
        (void)zkl_lock_close(p->several[1 + i]);
    int64_t began_ms = clock_ms();
    (void)zkl_session_close(p->session);
    if (p->scenario->leave != NULL)
        p->scenario->leave(p);
    if (clock_ms() - began_ms > 2000 + SLACK_MS)
        (void)play_fail(p, "the session took %lld ms to close", (long long)(clock_ms() - began_ms));
    for (size_t i = 0; i < ROLES; i++)
        if (play_result(p, (role)i, LIMIT_MS) == ACTOR_BUSY)
            (void)play_fail(p, "a call does not return"); /* and the matrix will be aborted */
}

void play_let_go(play *p) {
    proxy_hold(p->proxy, PROXY_BOTH, false);
}

static size_t holders_max(const scenario *s) {
    const bool are_readers = s->has_forerunner && s->permits == 0;

    return s->permits > 0 ? (size_t)s->permits : 1 + (size_t)are_readers;
}

void play_init(play *p) {
    (void)snprintf(p->dir, sizeof(p->dir), "%s/%s", fixture_root(), p->name);
    p->more_count = p->scenario->takes_several ? MORE : 0;
    for (size_t i = 0; i < p->more_count; i++) /* in their frames' paths is the name, too */
        (void)snprintf(p->more_dirs[i], sizeof(p->more_dirs[i]), "%s/%s%zu", fixture_root(),
                       p->name, i);
    atomic_store(&p->holders_max, holders_max(p->scenario));
    p->events = events_new();
    p->proxy = proxy_open(server_hosts(), "127.0.0.1");
    for (size_t i = 0; i < ROLES; i++)
        p->parts[i].actor = p->crew->actors[i];
}

void play_fini(play *p) {
    proxy_close(p->proxy);
    events_free(p->events);
}

void play_run(play *p) {
    if (set_stage(p) && enter_protagonist(p) && p->scenario->run(p) &&
        play_await(p, is_deserted, play_in_time_ms(p), "no node left"))
        (void)check_news(p);
    if (atomic_load(&p->had_too_many))
        (void)snprintf(p->failure, sizeof(p->failure), "TOO MANY HOLDERS");
    if (p->failure[0] != '\0') {
        printf("\n      %s: %s; what went to the server:", p->title, p->failure);
        proxy_print(p->proxy);
    }
    clear_stage(p);
}
