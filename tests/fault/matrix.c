/*
 * See matrix.h. Nearly all the time of a case is waiting, so many run at once, each with a session,
 * a proxy and a lock of its own, on one server.
 */
#include "matrix.h"

#include "scenario.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS 40
#define CASES_MAX 2048
/* A case whose frame never came is repeated: on a busy machine a heartbeat may be late. */
#define ATTEMPTS 3
/* Several times what the slowest may take; a call that hangs takes longer. */
#define HANG_MS 120000

typedef struct one_case {
    const scenario *scenario;
    fault_mode mode;
    frame_point point;
    int timeout_ms, outage_ms;
    bool is_run;
    char failure[700];
} one_case;

typedef struct worker {
    pthread_t thread;
    crew crew;
    _Atomic(play *) play; /* what it is at */
    _Atomic int64_t since_ms;
} worker;

static struct {
    one_case cases[CASES_MAX];
    size_t count;
    atomic_size_t next, left;    /* cases */
    size_t frames[SCENARIOS][2]; /* to the server, to the client */
    frame_point middles[SCENARIOS];
    int short_ms; /* what the server grants for T_SHORT */
    atomic_bool server_is_back;
    proxy *backstage; /* the crews' way to a server that dies; else NULL */
    raw *raw;
    worker workers[WORKERS];
    pthread_mutex_t plays; /* a play does not end while somebody looks at it */
} Matrix = {.plays = PTHREAD_MUTEX_INITIALIZER};

static void describe(const one_case *c, char *ret, size_t size) {
    if (c->mode == FAULT_NONE)
        (void)snprintf(ret, size, "%s", c->scenario->name);
    else
        (void)snprintf(ret, size, "%s; %s %zu to the %s; %s", c->scenario->name,
                       proxy_kind_name(c->point.kind), c->point.nth,
                       c->point.direction == PROXY_TO_SERVER ? "server" : "client",
                       fault_mode_name(c->mode));
}

/* Long where nothing may be lost, short where the timeout has to pass. */
static int timeout_of(const one_case *c) {
    switch (c->mode) {
    case FAULT_NONE:
        return c->scenario->beats > 3 || c->scenario->pings > 0 ? Matrix.short_ms : T_LONG;
    case FAULT_CUT_BEFORE:
    case FAULT_CUT_AFTER:
        return T_NORMAL;
    case FAULT_STALL_SHORT:
        return 2 * T_NORMAL;
    case FAULT_STALL_LONG:
    case FAULT_HALF_OPEN:
    case FAULT_BLACKOUT:
        return Matrix.short_ms;
    case FAULT_SERVER_SHORT:
    case FAULT_SERVER_LONG:
    case FAULT_MODES:
        break;
    }
    return c->timeout_ms;
}

static int stall_of(const one_case *c, int timeout_ms) {
    switch (c->mode) {
    case FAULT_STALL_SHORT:
        return timeout_ms / 3;
    case FAULT_STALL_LONG:
        return timeout_ms * 5 / 6;
    case FAULT_BLACKOUT:
        return timeout_ms * 2;
    case FAULT_SERVER_SHORT:
    case FAULT_SERVER_LONG:
        return c->outage_ms;
    case FAULT_NONE:
    case FAULT_CUT_BEFORE:
    case FAULT_CUT_AFTER:
    case FAULT_HALF_OPEN:
    case FAULT_MODES:
        break;
    }
    return 0;
}

static play *play_new(const one_case *c, crew *people) {
    static atomic_size_t number;
    play *p = calloc(1, sizeof(*p));

    if (!p)
        abort();
    p->scenario = c->scenario;
    p->mode = c->mode;
    p->point = c->point;
    p->crew = people;
    p->timeout_ms = timeout_of(c);
    p->stall_ms = stall_of(c, p->timeout_ms);
    p->server_is_back = &Matrix.server_is_back;
    describe(c, p->title, sizeof(p->title));
    (void)snprintf(p->name, sizeof(p->name), "case-%zu-", atomic_fetch_add(&number, 1));
    play_init(p);
    return p;
}

static void play_free(play *p) {
    play_fini(p);
    free(p);
}

static void set_play(worker *w, play *p) {
    (void)pthread_mutex_lock(&Matrix.plays);
    atomic_store(&w->since_ms, clock_ms());
    atomic_store(&w->play, p);
    (void)pthread_mutex_unlock(&Matrix.plays);
}

static void run_case(one_case *c, worker *w) {
    for (int attempt = 1; attempt <= ATTEMPTS && !c->is_run; attempt++) {
        play *p = play_new(c, &w->crew);

        set_play(w, p);
        play_run(p);
        set_play(w, NULL);
        c->is_run = !p->is_missed;
        if (p->failure[0])
            (void)snprintf(c->failure, sizeof(c->failure), "%s: %s", p->title, p->failure);
        else if (p->is_missed && attempt == ATTEMPTS)
            (void)snprintf(c->failure, sizeof(c->failure), "%s: no such frame came", p->title);
        play_free(p);
    }
}

static void *work(void *context) {
    worker *w = context;
    size_t i;

    while ((i = atomic_fetch_add(&Matrix.next, 1)) < Matrix.count) {
        run_case(&Matrix.cases[i], w);
        atomic_fetch_sub(&Matrix.left, 1);
    }
    return NULL;
}

/* Calls see for each play that is on; how often that was true. */
static size_t count_plays(bool (*see)(play *)) {
    size_t count = 0;

    (void)pthread_mutex_lock(&Matrix.plays);
    for (size_t i = 0; i < WORKERS; i++) {
        play *p = atomic_load(&Matrix.workers[i].play);

        count += p && see(p);
    }
    (void)pthread_mutex_unlock(&Matrix.plays);
    return count;
}

/* Ends the program with the case's name; the thread that hangs cannot be ended. */
static void end_if_one_hangs(void) {
    for (size_t i = 0; i < WORKERS; i++) {
        worker *w = &Matrix.workers[i];

        (void)pthread_mutex_lock(&Matrix.plays);
        play *p = atomic_load(&w->play);
        if (p && clock_ms() - atomic_load(&w->since_ms) > HANG_MS) {
            printf("\n      HANGS: %s\n", p->title);
            (void)fflush(stdout);
            abort();
        }
        (void)pthread_mutex_unlock(&Matrix.plays);
    }
}

static void start_all(void) {
    atomic_store(&Matrix.next, 0);
    atomic_store(&Matrix.left, Matrix.count);
    for (size_t i = 0; i < WORKERS; i++)
        REQUIRE(pthread_create(&Matrix.workers[i].thread, NULL, work, &Matrix.workers[i]) == 0);
}

static void finish_all(void) {
    while (atomic_load(&Matrix.left) > 0) {
        (void)poll(NULL, 0, 50);
        end_if_one_hangs();
    }
    for (size_t i = 0; i < WORKERS; i++)
        (void)pthread_join(Matrix.workers[i].thread, NULL);
}

/* ---- the frames of a scenario ---- */

static size_t nth_of_its_kind(const play *p, size_t index) {
    const proxy_frame *frame = &p->trace[index];
    size_t nth = 0;

    for (size_t i = 0; i <= index; i++)
        nth += p->trace[i].kind == frame->kind && p->trace[i].direction == frame->direction;
    return nth;
}

static void add_cases(const play *p, const frame_point *point, const fault_mode *modes,
                      size_t mode_count) {
    for (size_t i = 0; i < mode_count; i++) {
        REQUIRE(Matrix.count < CASES_MAX);
        Matrix.cases[Matrix.count++] = (one_case){
            .scenario = p->scenario, .mode = modes[i], .point = *point};
    }
}

/* All scenarios are held at their middles until the last has come to its own. So one that waits for
 * pings is held at the first, and one that holds by its heartbeats at its last frame: else it would
 * lose its hold by waiting. */
static size_t middle_of(const play *p) {
    for (size_t i = 0; p->scenario->pings > 0 && i < p->trace_count; i++)
        if (p->trace[i].kind == PROXY_PING)
            return i;
    return p->scenario->beats > 3 ? p->trace_count - 1 : p->trace_count / 2;
}

static void take_frames(const play *p, const fault_mode *modes, size_t mode_count) {
    const size_t number = (size_t)(p->scenario - Scenarios);
    size_t *frames = Matrix.frames[number];
    char names[2][400] = {"", ""};

    REQUIRE(p->trace_count > 0 && p->trace_count <= TRACE_MAX);
    for (size_t i = 0; i < p->trace_count; i++) {
        const proxy_frame *frame = &p->trace[i];
        const frame_point point = {
            .direction = frame->direction, .kind = frame->kind, .nth = nth_of_its_kind(p, i)};
        const size_t way = frame->direction == PROXY_TO_CLIENT;
        const size_t used = strlen(names[way]);

        CHECK(frame->kind != PROXY_OTHER);
        if (i == middle_of(p))
            Matrix.middles[number] = point;
        if ((point.kind == PROXY_BARRIER && point.nth > p->scenario->beats) ||
            (point.kind == PROXY_PING && point.nth > p->scenario->pings))
            continue;
        frames[way]++;
        (void)snprintf(names[way] + used, sizeof(names[way]) - used, " %s",
                       proxy_kind_name(frame->kind));
        add_cases(p, &point, modes, mode_count);
    }
    if (mode_count == 0)
        return;
    test_note("%s, to the server:%s", p->scenario->name, names[0]);
    test_note("%*s  to the client:%s", (int)strlen(p->scenario->name), "", names[1]);
}

static void see_frames(const fault_mode *modes, size_t mode_count) {
    Matrix.count = 0;
    memset(Matrix.frames, 0, sizeof(Matrix.frames));
    for (size_t i = 0; i < SCENARIOS; i++) {
        const one_case c = {.scenario = &Scenarios[i], .mode = FAULT_NONE};
        play *p = play_new(&c, &Matrix.workers[0].crew);

        play_run(p);
        CHECK(p->failure[0] == '\0');
        take_frames(p, modes, mode_count);
        play_free(p);
    }
}

/* ---- the people ---- */

static void learn_short_timeout(void) {
    zkl_session *s = session_open(server_hosts(), T_SHORT, NULL);

    Matrix.short_ms = zkl_session_timeout_ms(s);
    session_close(s);
}

/* A session that rests may have a lease that is too short for a grant at the end of its first wait:
 * it would take up to T/2 of T_LONG then, and be taken for a waiter that was forgotten. */
static void hire(void) {
    const char *hosts = Matrix.backstage ? proxy_hosts(Matrix.backstage) : server_hosts();

    REQUIRE_INT(raw_make_path(fixture_raw(), fixture_root()), RAW_OK);
    learn_short_timeout();
    Matrix.raw = raw_open(hosts, 2 * T_LONG);
    REQUIRE(Matrix.raw != NULL);
    for (size_t i = 0; i < WORKERS; i++) {
        crew *c = &Matrix.workers[i].crew;

        c->raw = Matrix.raw;
        c->session = session_open(hosts, T_LONG, NULL);
        c->kept = lock_open(c->session, fresh_name("crew"), NULL);
        REQUIRE_INT(zkl_acquire(c->kept, SOON_MS), ZKL_OK);
        for (size_t r = 0; r < ROLES; r++)
            c->actors[r] = actor_new();
    }
}

static void dismiss(void) {
    for (size_t i = 0; i < WORKERS; i++) {
        crew *c = &Matrix.workers[i].crew;

        for (size_t r = 0; r < ROLES; r++)
            actor_free(c->actors[r]);
        lock_close(c->kept);
        session_close(c->session);
    }
    raw_close(Matrix.raw);
    proxy_close(Matrix.backstage);
    Matrix.backstage = NULL;
}

/* ---- every frame ---- */

static size_t print_row(size_t scenario_number, size_t mode_count) {
    const size_t up = Matrix.frames[scenario_number][0], down = Matrix.frames[scenario_number][1];
    size_t run = 0, failed = 0;

    for (size_t i = 0; i < Matrix.count; i++) {
        const one_case *c = &Matrix.cases[i];

        if (c->scenario != &Scenarios[scenario_number])
            continue;
        run += c->is_run;
        failed += c->failure[0] != '\0';
        if (c->failure[0])
            test_note("%s", c->failure);
    }
    test_note("%-21s %9zu %9zu %6zu %7zu", Scenarios[scenario_number].name, up, down, run, failed);
    CHECK_INT(run, (up + down) * mode_count);
    CHECK_INT(failed, 0);
    return run;
}

void matrix_run(const fault_mode *modes, size_t mode_count) {
    size_t run = 0;

    hire();
    see_frames(modes, mode_count);
    int64_t began_ms = clock_ms();
    start_all();
    finish_all();
    test_note("%-21s %9s %9s %6s %7s", "scenario", "to server", "to client", "cases", "failed");
    for (size_t i = 0; i < SCENARIOS; i++)
        run += print_row(i, mode_count);
    test_note("%zu cases of %zu in %.1f s", run, Matrix.count,
              (double)(clock_ms() - began_ms) / 1000);
    CHECK_INT(run, Matrix.count);
    dismiss();
}

/* ---- the server ---- */

static bool let_go(play *p) {
    play_let_go(p);
    return true;
}

void matrix_let_go(void) {
    (void)count_plays(let_go);
}

/*
 * The crews are kept out while it starts. A client that comes too early is accepted and not
 * answered, and waits for 2/3 of its timeout, which is long for theirs.
 */
void matrix_restart_server(void) {
    proxy_refuse(Matrix.backstage, true);
    server_kill();
    server_revive();
    proxy_refuse(Matrix.backstage, false);
}

static void await_middles(void) {
    const int64_t end_ms = clock_ms() + SOON_MS;

    while (count_plays(play_has_struck) < SCENARIOS && clock_ms() < end_ms)
        wait_pause();
    CHECK_INT(count_plays(play_has_struck), SCENARIOS);
}

static void print_middles(void) {
    for (size_t i = 0; i < SCENARIOS; i++) {
        const one_case *c = &Matrix.cases[i];
        char text[160];

        describe(c, text, sizeof(text));
        test_note("%s: %s", text, c->failure[0] ? c->failure : "right");
        CHECK(c->is_run && c->failure[0] == '\0');
    }
}

void matrix_strike_server(fault_mode mode, int timeout_ms, int outage_ms, void (*strike)(void)) {
    _Static_assert(SCENARIOS <= WORKERS, "all at the same time");
    Matrix.backstage = proxy_new();
    hire();
    see_frames(NULL, 0);
    for (size_t i = 0; i < SCENARIOS; i++)
        Matrix.cases[i] = (one_case){.scenario = &Scenarios[i],
                                     .mode = mode,
                                     .point = Matrix.middles[i],
                                     .timeout_ms = timeout_ms,
                                     .outage_ms = outage_ms};
    Matrix.count = SCENARIOS;
    atomic_store(&Matrix.server_is_back, false);
    start_all();
    await_middles();
    strike();
    matrix_let_go();
    atomic_store(&Matrix.server_is_back, true);
    finish_all();
    print_middles();
    dismiss();
}
