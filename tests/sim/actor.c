/*
 * actor - a thread of a client that takes a lock, holds it, looks whether it still does, and gives
 * it up: by the library's own calls, whose waiting is the simulation's turn; see sim.h.
 */
#include "sim/sim.h"

#include <assert.h>
#include <stdlib.h>

#define MICROSECOND INT64_C(1000)
/* How late a thread may come to run, and a timer to go off, on a machine that is not stopped. */
#define LATE (100 * MS)
/* So deep does a hold nest, or one deeper. */
#define LEVELS_MAX 3

uint64_t sim_thread;

static struct actor *actor_of(struct world *w, unsigned number) {
    return &w->list[number / THREADS_MAX].actors[number % THREADS_MAX];
}

/* The calls that follow are this thread's. */
static void speak_as(unsigned number) {
    sim_thread = number + 1;
}

static void act_at(struct world *w, unsigned number, int64_t at) {
    world_at(w, at, EVENT_ACTOR, number, ++actor_of(w, number)->stamp);
}

/* Its client sends nothing but heartbeats, to servers that are slow: see client.c. */
static bool is_quiet(const struct world *w, unsigned number) {
    return w->log_takes_ns > 0 && (int)(number / THREADS_MAX) == w->keeper;
}

/* Of its acquire. */
static const struct zkli_operation *operation_of(const struct actor *a) {
    return a->all == NULL ? &a->acquire.operation : &a->all->operation;
}

static bool is_finished(const struct zkli_operation *operation) {
    return operation->state == ZKLI_OPERATION_FINISHED;
}

void actor_rest(struct world *w, unsigned number) {
    together_release(w, number);
    actor_of(w, number)->state = ACTOR_IDLE;
    act_at(w, number, w->now_ns + world_between(w, 1, w->rest_ns));
}

void actors_start(struct world *w, int client) {
    struct client *c = &w->list[client];
    for (int i = 0; i < w->handles; i++)
        if (!handle_open(c, i))
            abort();
    for (int i = 0; i < w->threads; i++) {
        unsigned number = (unsigned)(client * THREADS_MAX + i);
        c->actors[i].state = ACTOR_IDLE;
        act_at(w, number, w->now_ns + world_between(w, 1, w->rest_ns));
    }
}

/* ---- Acquiring ---- */

static void count_outcome(struct world *w, zkl_err err) {
    struct figures *f = w->figures;
    f->grants += err == ZKL_OK;
    f->timeouts += err == ZKL_TIMEOUT;
    f->busy += err == ZKL_BUSY;
    f->cancels += err == ZKL_CANCELED;
    f->closes += err == ZKL_CLOSED;
    f->unreachable += err == ZKL_UNREACHABLE;
    f->mismatches += err == ZKL_MISMATCH;
}

void actor_look_again(struct world *w, unsigned number) {
    int64_t left = actor_of(w, number)->until_ns - w->now_ns;
    int64_t step = world_between(w, 1, w->hold_ns / 2 + 1);
    act_at(w, number, w->now_ns + (left < step ? left : step));
}

void actor_check_outcome(struct world *w, unsigned number, zkl_err err) {
    const struct actor *a = actor_of(w, number);
    const struct zkli_hold *now = a->lock->current;
    int lock = w->list[number / THREADS_MAX].handles[a->handle].name;
    if (err == ZKL_MISMATCH && !permits_ever_differed(w, lock, a->lock->permits))
        world_violate(w, CHECK_PERMITS, "%d permits are said to be another number",
                      a->lock->permits);
    if (err == ZKL_OK && (now == NULL || now->thread != (a->is_told ? 0 : number + 1) ||
                          now->id != a->hold || !zkli_member_is_held(now->member)))
        world_violate(w, CHECK_LOSS, "an acquire says OK without a hold");
}

/* With the session's lock; releases it. */
static zkl_err finish_one(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    a->hold = a->acquire.hold_id;
    zkl_err err = zkli_acquire_end(&a->acquire);
    checks_tried(w, (int)(number / THREADS_MAX), a, err);
    actor_check_outcome(w, number, err);
    zkli_lock_leave(a->lock);
    return err;
}

/* Perhaps in the place where it stood, or later. */
static void try_again_soon(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    struct handle *h = &w->list[number / THREADS_MAX].handles[a->handle];
    const struct zkl_lock *l = h->lock; /* the acquire's may have gone */
    w->figures->places_left += l != NULL && l->member != NULL && zkli_list_is_empty(&l->acquires);
    h->waited_ns = w->now_ns;
    a->is_impatient = world_chance(w, 60);
    if (a->is_impatient)
        act_at(w, number, w->now_ns + world_between(w, 0, world_chance(w, 70) ? 5 : 70) * MS);
}

void actor_come_to(struct world *w, unsigned number, zkl_err err) {
    struct actor *a = actor_of(w, number);
    count_outcome(w, err);
    TRACE(w, "client %u thread %u: acquire says %s", number / THREADS_MAX, number % THREADS_MAX,
          zkl_errname(err));
    if (err != ZKL_OK) {
        actor_rest(w, number);
        if (err == ZKL_TIMEOUT)
            try_again_soon(w, number);
        return;
    }
    a->state = ACTOR_HOLDING;
    a->has_turned = false;
    a->levels = 1;
    a->until_ns = w->now_ns + world_between(w, 0, w->hold_ns);
    actor_look_again(w, number);
}

/* With the session's lock; releases it. */
static void finish(struct world *w, unsigned number) {
    zkl_err err = actor_of(w, number)->all == NULL ? finish_one(w, number)
                                                   : together_finish(w, number);
    actor_come_to(w, number, err);
}

static int64_t choose_timeout_ms(struct world *w, const struct actor *a) {
    unsigned kind = world_below(w, 10);
    if (kind < 2)
        return 0;
    if (a->is_impatient && kind < 8)
        return world_between(w, 1, 50);
    return kind < 5 ? ZKL_FOREVER : world_between(w, 1, 2 * w->timeout_ns / MS);
}

/* The number of the hold that this thread has through the handle, or is about to be told of. */
static zkl_hold hold_of(const struct actor *a, const struct zkl_lock *lock, unsigned number) {
    if (a->lock != lock || a->state == ACTOR_IDLE)
        return 0;
    if (a->state != ACTOR_WAITING)
        return a->hold;
    bool is_granted = lock->current != NULL && (a->is_told ? lock->current->acquire == &a->acquire
                                                           : lock->current->thread == number + 1);
    return is_granted ? lock->current->id : 0;
}

/* Gives up one level of what a thread holds, without it. */
static void give_up(struct world *w, unsigned number, zkl_hold hold) {
    struct actor *a = actor_of(w, number);
    struct zkl_lock *lock = a->lock;
    bool is_early = a->state == ACTOR_WAITING, is_held = zkl_hold_valid(lock, hold);
    zkl_err err = zkl_release_hold(lock, hold);
    TRACE(w, "client %u: release of thread %u's hold says %s", number / THREADS_MAX,
          number % THREADS_MAX, zkl_errname(err));
    /* A hold that is lost before its thread has been told of it has never been one. */
    zkl_err expected = is_held ? ZKL_OK : a->levels > 0 ? ZKL_LOST : ZKL_NOT_HELD;
    if (err != expected)
        world_violate(w, CHECK_LOSS, "release of another thread's hold says %s instead of %s",
                      zkl_errname(err), zkl_errname(expected));
    if (err == ZKL_OK && !zkl_hold_valid(lock, hold))
        checks_released(&w->list[number / THREADS_MAX].handles[a->handle], hold);
    w->figures->given_up += err == ZKL_OK;
    w->figures->given_up_early += is_early;
    if (a->levels > 0)
        a->levels--;
    if (!is_early && zkl_hold_valid(lock, hold) != (is_held && a->levels > 0))
        world_violate(w, CHECK_LOSS, "a hold with %u levels left, %s before, is the other way now",
                      a->levels, is_held ? "good" : "lost");
}

/* What another thread of the client holds by the handle. False: there is none. */
static bool give_up_anothers(struct world *w, unsigned number) {
    unsigned other = number - number % THREADS_MAX + world_below(w, (unsigned)w->threads);
    if (other != number && together_give_up(w, other, actor_of(w, number)->lock))
        return true;
    zkl_hold hold = other == number ? 0
                                    : hold_of(actor_of(w, other), actor_of(w, number)->lock, other);
    if (hold != 0)
        give_up(w, other, hold);
    return hold != 0;
}

static void begin(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    if (!a->is_impatient)
        a->handle = (int)world_below(w, (unsigned)w->handles);
    a->lock = c->handles[a->handle].lock;
    if (w->phase != PHASE_RUN || !c->is_open || c->is_closing || a->lock == NULL) {
        if (w->phase == PHASE_RUN)
            actor_rest(w, number);
        return;
    }
    if (world_chance(w, 25) && give_up_anothers(w, number)) {
        actor_rest(w, number);
        return;
    }
    schedule_operation(w);
    int64_t timeout_ms = choose_timeout_ms(w, a);
    a->is_impatient = false;
    w->figures->places_taken += a->lock->member != NULL && zkli_list_is_empty(&a->lock->acquires);
    a->state = ACTOR_WAITING;
    a->stamp++;
    a->attempt++;
    a->levels = 0;
    a->is_waking = false;
    a->tried = (struct tried){0};
    TRACE(w, "client %u thread %u: acquire %c, %lld ms", number / THREADS_MAX, number % THREADS_MAX,
          'a' + c->handles[a->handle].name, (long long)timeout_ms);
    checks_given_up(w, number);
    a->is_told = world_chance(w, 15);
    if (a->is_told) {
        told_begin(a, timeout_ms);
    } else if (!together_begin(w, number, timeout_ms)) {
        if (zkli_lock_begin(a->lock) != ZKL_OK)
            abort();
        zkli_acquire_init(&a->acquire, a->lock, zkli_thread_self());
        zkli_lock_enter(a->lock);
        zkli_acquire_begin(&a->acquire, timeout_ms);
    }
    a->deadline_ns = timeout_ms == 0             ? client_clock(c) + w->timeout_ns * 2 / 3
                     : timeout_ms == ZKL_FOREVER ? 0
                                                 : client_clock(c) + timeout_ms * MS;
    if (is_finished(operation_of(a)) && !a->is_told) {
        finish(w, number);
        return;
    }
    if (timeout_ms == 0)
        checks_try(w, (int)(number / THREADS_MAX), a);
    if (a->deadline_ns != 0)
        world_at(w, clock_real(a->deadline_ns, c->ppm, c->offset_ns) + LATE, EVENT_DEADLINE, number,
                 a->attempt);
    zkli_session_unlock(&c->session);
}

/* Somebody has woken the thread, perhaps for nothing. */
static void look(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    a->is_waking = false;
    zkli_session_lock(&c->session);
    if (is_finished(operation_of(a)) && !a->is_told)
        finish(w, number);
    else
        zkli_session_unlock(&c->session);
}

void actors_look(struct world *w, int client) {
    struct client *c = &w->list[client];
    /* Woken by its own completion; and by anything else that is told, as a condition may be. */
    bool is_news = c->session.engine->news + c->session.posted != c->seen_news;
    c->seen_news = c->session.engine->news + c->session.posted;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        struct actor *a = &c->actors[i];
        bool is_done = a->state == ACTOR_WAITING   ? is_finished(operation_of(a))
                       : a->state == ACTOR_WRITING ? is_finished(&a->writing.write.operation)
                       : a->state == ACTOR_TURNING ? is_finished(&a->downgrade.operation)
                                                   : false;
        bool waits = (a->state == ACTOR_WAITING && !a->is_told) || a->state == ACTOR_WRITING ||
                     a->state == ACTOR_TURNING;
        if (!waits || a->is_waking || (!is_news && !is_done))
            continue;
        a->is_waking = true;
        int64_t delay = world_chance(w, 5) ? world_between(w, 1, 30) * MS
                                           : world_between(w, 5, 100) * MICROSECOND;
        act_at(w, (unsigned)client * THREADS_MAX + i, w->now_ns + delay);
    }
}

void actor_deadline(struct world *w, unsigned number, unsigned attempt) {
    const struct actor *a = actor_of(w, number);
    const struct client *c = &w->list[number / THREADS_MAX];
    if (a->attempt != attempt || a->state != ACTOR_WAITING)
        return;
    /* It is told when its turn comes, and has no hold until then. */
    if (a->is_told && is_finished(operation_of(a)) && operation_of(a)->result != ZKL_OK)
        return;
    if (c->is_paused || w->now_ns - c->woke_ns < LATE)
        world_at(w, (c->is_paused ? c->wakes_ns : w->now_ns) + LATE, EVENT_DEADLINE, number,
                 attempt);
    else
        world_violate(w, CHECK_DEADLINES, "client %u thread %u was not told by its deadline",
                      number / THREADS_MAX, number % THREADS_MAX);
}

/* ---- Holding ---- */

/* By its thread, or by its number. */
static bool is_held(const struct actor *a) {
    return a->is_told ? zkl_hold_valid(a->lock, a->hold) : zkl_held(a->lock);
}

static bool has_hold(const struct actor *a) {
    return a->is_told ? zkli_lock_find_hold(a->lock, a->hold) != NULL : zkl_hold_of(a->lock) != 0;
}

/* One level; the next some time later. */
static void release(struct world *w, unsigned number, bool was_lost) {
    struct actor *a = actor_of(w, number);
    schedule_operation(w);
    bool was_held = is_held(a);
    zkl_err err = a->is_told ? zkl_release_hold(a->lock, a->hold) : zkl_release(a->lock);
    TRACE(w, "client %u thread %u: release says %s", number / THREADS_MAX, number % THREADS_MAX,
          zkl_errname(err));
    zkl_err expected = a->levels == 0 ? ZKL_NOT_HELD : was_held && !was_lost ? ZKL_OK : ZKL_LOST;
    if (err != expected)
        world_violate(w, CHECK_LOSS, "release of a %s hold of %u levels says %s",
                      was_held ? "good" : "lost", a->levels, zkl_errname(err));
    if (a->levels > 0)
        a->levels--;
    if (is_held(a) != (err == ZKL_OK && a->levels > 0) || has_hold(a) != (a->levels > 0))
        world_violate(w, CHECK_LOSS, "with %u levels left it is %s", a->levels,
                      is_held(a) ? "held" : "not held");
    if (a->levels == 0) {
        if (err == ZKL_OK)
            checks_released(&w->list[number / THREADS_MAX].handles[a->handle], a->hold);
        actor_rest(w, number);
        return;
    }
    a->until_ns = w->now_ns + (w->phase == PHASE_RUN ? world_between(w, 0, w->hold_ns / 4) : 0);
    act_at(w, number, a->until_ns);
}

/* Acquires what it holds; that never waits. (Without nesting, a lost hold would be forgotten.) */
static void acquire_again(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    bool is_recursive = w->list[number / THREADS_MAX].handles[a->handle].is_recursive;
    bool is_held = zkl_held(a->lock);
    if (a->levels == 0 || a->levels > LEVELS_MAX || (!is_held && !is_recursive))
        return;
    zkl_err err = zkl_acquire(a->lock, choose_timeout_ms(w, a));
    TRACE(w, "client %u thread %u: acquire of what it holds says %s", number / THREADS_MAX,
          number % THREADS_MAX, zkl_errname(err));
    zkl_err expected = !is_recursive || (is_held && a->has_turned) ? ZKL_DEADLOCK
                       : is_held                                   ? ZKL_OK
                                                                   : ZKL_LOST;
    if (err != expected)
        world_violate(w, CHECK_LOSS, "an acquire inside a %s hold says %s",
                      is_held ? "good" : "lost", zkl_errname(err));
    a->levels += err == ZKL_OK;
    w->figures->again += err == ZKL_OK;
    w->figures->again_lost += err == ZKL_LOST;
    w->figures->again_refused += err == ZKL_DEADLOCK;
}

/* With the session's lock; releases it. */
static void finish_downgrade(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    zkl_err err = a->downgrade.operation.result;
    zkli_operation_fini(&a->downgrade.operation);
    zkli_lock_leave(a->lock);
    TRACE(w, "client %u thread %u: downgrade says %s", number / THREADS_MAX, number % THREADS_MAX,
          zkl_errname(err));
    if (w->list[number / THREADS_MAX].handles[a->handle].lock != a->lock) {
        actor_rest(w, number); /* it was closed, and is gone */
        return;
    }
    bool is_held = zkl_hold_valid(a->lock, a->hold);
    if (is_held && (err == ZKL_LOST || err == ZKL_NOT_HELD))
        world_violate(w, CHECK_LOSS, "a downgrade says %s, and the hold is good", zkl_errname(err));
    a->has_turned = err == ZKL_OK;
    a->state = ACTOR_HOLDING;
    actor_look_again(w, number);
}

/* Whoever looks may find it answered; with the session's lock. */
static bool has_turned(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    a->is_waking = false;
    zkli_session_lock(&c->session);
    if (is_finished(&a->downgrade.operation)) {
        finish_downgrade(w, number);
        return true;
    }
    zkli_session_unlock(&c->session);
    return false;
}

static void downgrade(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    a->state = ACTOR_TURNING;
    a->stamp++;
    a->is_waking = false;
    TRACE(w, "client %u thread %u: downgrade", number / THREADS_MAX, number % THREADS_MAX);
    if (zkli_lock_begin(a->lock) != ZKL_OK)
        abort();
    zkli_downgrade_init(&a->downgrade, a->lock);
    zkli_lock_enter(a->lock);
    zkli_downgrade_begin(&a->downgrade);
    if (is_finished(&a->downgrade.operation)) {
        finish_downgrade(w, number);
        return;
    }
    zkli_session_unlock(&c->session);
    if (world_chance(w, 20)) { /* another thread gives it up meanwhile */
        int64_t longest_ns = world_chance(w, 50) ? 15 * MS : w->timeout_ns / 4;
        act_at(w, number, w->now_ns + world_between(w, 0, longest_ns));
        bool is_late = c->doom == DOOM_NONE && w->phase == PHASE_RUN && fault_may_be(w);
        if (is_late) {
            c->doom = DOOM_CREATE;
            fault_count(w);
        }
    }
}

/* A handle for reading the same lock, by which the thread has nothing; NONE: there is none. */
static int a_reader_of(const struct client *c, const struct actor *a, unsigned number) {
    for (int i = 0; i < HANDLES_MAX; i++) {
        const struct handle *h = &c->handles[i];
        if (h->lock != NULL && h->kind == ZKLI_KIND_READ && h->name == c->handles[a->handle].name &&
            zkli_lock_hold_of(h->lock, number + 1) == NULL)
            return i;
    }
    return NONE;
}

static void expect(struct world *w, zkl_err err, const char *what) {
    if (err != ZKL_OK)
        world_violate(w, CHECK_LOSS, "%s says %s", what, zkl_errname(err));
}

/* A writer reads inside, and gives up the one or the other. */
static void read_inside(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    int reader = a_reader_of(c, a, number);
    if (reader == NONE || a->levels != 1)
        return;
    zkl_lock *inner = c->handles[reader].lock;
    TRACE(w, "client %u thread %u: reads inside", number / THREADS_MAX, number % THREADS_MAX);
    expect(w, zkl_acquire(inner, choose_timeout_ms(w, a)), "an acquire inside a writer's hold");
    if (!zkl_held(inner) || zkl_token(inner) != zkl_token(a->lock))
        world_violate(w, CHECK_TOKENS, "a hold inside a writer's has another token");
    w->figures->nested++;
    if (world_chance(w, 30)) {
        expect(w, zkl_release(inner), "the release of a hold inside a writer's");
        return;
    }
    expect(w, zkl_release(a->lock), "the release of a hold around a reader's");
    checks_released(&c->handles[a->handle], a->hold);
    a->handle = reader;
    a->lock = inner;
    a->hold = zkl_hold_of(inner);
    a->has_turned = false;
}

static void hold(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    if (w->phase == PHASE_FREEZE) {
        act_at(w, number, w->phase_until_ns + world_between(w, 1, 10) * MS);
        return;
    }
    if (a->levels > 0) /* else another thread has given it up */
        checks_hold(w, (int)(number / THREADS_MAX), a->handle, a->hold);
    together_look(w, number);
    if (w->phase == PHASE_RUN && !a->is_told && world_chance(w, 10))
        acquire_again(w, number);
    bool is_thread_s = !a->is_told && !is_quiet(w, number);
    if (a->lock->kind == ZKLI_KIND_WRITE && is_thread_s && zkl_held(a->lock) && world_chance(w, 15))
        read_inside(w, number);
    bool is_writer = a->lock->kind == ZKLI_KIND_WRITE && a->levels > 0;
    if (is_writer && is_thread_s && zkl_held(a->lock) && world_chance(w, 15)) {
        downgrade(w, number);
        return;
    }
    if (!is_quiet(w, number) && world_chance(w, 8))
        actor_write_on(w, number);
    if (!is_quiet(w, number) && world_chance(w, 30)) {
        actor_write(w, number);
        return;
    }
    if (!is_held(a)) {
        a->state = ACTOR_LATE;
        act_at(w, number, w->now_ns + world_between(w, 0, w->timeout_ns / 2));
    } else if (w->now_ns >= a->until_ns) {
        release(w, number, false);
    } else {
        actor_look_again(w, number);
    }
}

void actor_act(struct world *w, unsigned number, unsigned stamp) {
    struct actor *a = actor_of(w, number);
    const struct client *c = &w->list[number / THREADS_MAX];
    if (a->stamp != stamp || !c->is_open)
        return;
    if (c->is_paused) {
        world_at(w, c->wakes_ns + world_between(w, 0, 2000) * MICROSECOND, EVENT_ACTOR, number,
                 stamp);
        return;
    }
    speak_as(number);
    switch (a->state) {
    case ACTOR_IDLE:
        if (is_quiet(w, number))
            actor_rest(w, number);
        else
            begin(w, number);
        break;
    case ACTOR_WAITING:
        look(w, number);
        break;
    case ACTOR_HOLDING:
        hold(w, number);
        break;
    case ACTOR_WRITING:
        a->is_waking = false;
        (void)actor_has_written(w, number);
        break;
    case ACTOR_TURNING:
        if (!has_turned(w, number) && w->phase == PHASE_RUN)
            give_up(w, number, a->hold);
        break;
    case ACTOR_LATE:
        w->figures->late += a->levels > 0;
        if (!a->is_told && !w->list[number / THREADS_MAX].handles[a->handle].is_recursive &&
            world_chance(w, 20)) {
            w->figures->unreleased++; /* until it acquires again */
            actor_rest(w, number);
        } else {
            release(w, number, true);
        }
        break;
    }
}

/* ---- What others do to it ---- */

void actors_end(struct world *w, int client) {
    struct client *c = &w->list[client];
    for (int i = 0; i < w->threads; i++) {
        unsigned number = (unsigned)(client * THREADS_MAX + i);
        speak_as(number);
        if (c->actors[i].state == ACTOR_WAITING)
            look(w, number);
        if (c->actors[i].state == ACTOR_WRITING && !actor_has_written(w, number))
            world_violate(w, CHECK_LIVENESS, "a write goes on after its session's end");
        if (c->actors[i].state == ACTOR_TURNING && !has_turned(w, number))
            world_violate(w, CHECK_LIVENESS, "a downgrade goes on after its session's end");
        if (c->actors[i].state == ACTOR_WAITING)
            world_violate(w, CHECK_LIVENESS, "an acquire goes on after its session's end");
        c->actors[i].state = ACTOR_IDLE;
        c->actors[i].stamp++;
    }
    for (int i = 0; i < w->threads; i++)
        together_forget(&c->actors[i], NULL);
    for (int i = 0; i < HANDLES_MAX; i++)
        handle_close(c, i);
}

bool actors_are_idle(const struct world *w, int client) {
    for (int i = 0; i < w->threads; i++)
        if (w->list[client].actors[i].state != ACTOR_IDLE)
            return false;
    return handles_are_told(&w->list[client]);
}

/* Whoever waits is told; whoever holds must not use the handle any more. */
void actor_close_lock(struct world *w, int client) {
    struct client *c = &w->list[client];
    int number = (int)world_below(w, (unsigned)w->handles);
    struct zkl_lock *lock = c->handles[number].lock;
    if (!c->is_open || c->is_paused || lock == NULL)
        return;
    TRACE(w, "client %d closes its handle of %c", client, 'a' + c->handles[number].name);
    for (unsigned i = 0; i < THREADS_MAX; i++)
        if (c->actors[i].state != ACTOR_WAITING)
            together_forget(&c->actors[i], lock);
    for (unsigned i = 0; i < THREADS_MAX; i++)
        if (c->actors[i].lock == lock &&
            (c->actors[i].state == ACTOR_HOLDING || c->actors[i].state == ACTOR_LATE))
            actor_rest(w, (unsigned)client * THREADS_MAX + i);
    handle_close(c, number);
    if (!handle_open(c, number))
        c->handles[number].lock = NULL; /* the session is closing */
}
