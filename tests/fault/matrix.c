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

#define WORKERS 24
#define CASES_MAX 2048
/* A case whose frame never came is repeated: on a busy machine a heartbeat may be late. */
#define ATTEMPTS 3
/* Several times what the slowest may take; a call that hangs takes longer. */
#define HANG_MS 90000

typedef struct one_case {
    const scenario *scenario;
    fault_mode mode;
    frame_point point;
    bool is_run;
    char failure[700];
} one_case;

typedef struct worker {
    pthread_t thread;
    crew crew;
    _Atomic(const char *) title;
    _Atomic int64_t since_ms;
} worker;

static struct {
    one_case cases[CASES_MAX];
    size_t count;
    atomic_size_t next, left;
    size_t frames[SCENARIOS][2]; /* to the server, to the client */
    worker workers[WORKERS];
} Matrix;

static void describe(const one_case *c, char *ret, size_t size) {
    (void)snprintf(ret, size, "%s; %s%s %zu to the %s; %s", c->scenario->name,
                   c->point.is_beat ? "heartbeat " : "", proxy_kind_name(c->point.kind),
                   c->point.nth, c->point.direction == PROXY_TO_SERVER ? "server" : "client",
                   fault_mode_name(c->mode));
}

/* Long where nothing may be lost, short where the timeout has to pass. */
static int timeout_of(const one_case *c) {
    switch (c->mode) {
    case FAULT_NONE:
        return c->scenario->seen_with_ms > 0 ? c->scenario->seen_with_ms : T_LONG;
    case FAULT_CUT_BEFORE:
    case FAULT_CUT_AFTER:
    case FAULT_STALL_SHORT:
        return T_NORMAL;
    case FAULT_STALL_LONG:
    case FAULT_HALF_OPEN:
    case FAULT_MODES:
        break;
    }
    return T_SHORT;
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
    describe(c, p->title, sizeof(p->title));
    (void)snprintf(p->name, sizeof(p->name), "case-%zu-", atomic_fetch_add(&number, 1));
    return p;
}

static void run_case(one_case *c, worker *w) {
    for (int attempt = 1; attempt <= ATTEMPTS && !c->is_run; attempt++) {
        play *p = play_new(c, &w->crew);

        atomic_store(&w->since_ms, clock_ms());
        atomic_store(&w->title, p->title);
        play_run(p);
        atomic_store(&w->title, NULL);
        c->is_run = !p->is_missed;
        if (p->failure[0])
            (void)snprintf(c->failure, sizeof(c->failure), "%s: %s", p->title, p->failure);
        else if (p->is_missed && attempt == ATTEMPTS)
            (void)snprintf(c->failure, sizeof(c->failure), "%s: no such frame came", p->title);
        free(p);
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

/* Ends the program with the case's name; the thread that hangs cannot be ended. */
static void watch_for_hangs(void) {
    while (atomic_load(&Matrix.left) > 0) {
        (void)poll(NULL, 0, 50);
        for (size_t i = 0; i < WORKERS; i++) {
            const char *title = atomic_load(&Matrix.workers[i].title);

            if (!title || clock_ms() - atomic_load(&Matrix.workers[i].since_ms) < HANG_MS)
                continue;
            printf("\n      HANGS: %s\n", title);
            (void)fflush(stdout);
            abort();
        }
    }
}

static void run_all(void) {
    atomic_store(&Matrix.next, 0);
    atomic_store(&Matrix.left, Matrix.count);
    for (size_t i = 0; i < WORKERS; i++)
        REQUIRE(pthread_create(&Matrix.workers[i].thread, NULL, work, &Matrix.workers[i]) == 0);
    watch_for_hangs();
    for (size_t i = 0; i < WORKERS; i++)
        (void)pthread_join(Matrix.workers[i].thread, NULL);
}

/* ---- the frames of a scenario ---- */

static size_t nth_of_its_kind(const play *p, size_t index) {
    const proxy_frame *frame = &p->trace[index];
    size_t nth = 0;

    for (size_t i = 0; i <= index; i++)
        nth += p->trace[i].kind == frame->kind && p->trace[i].direction == frame->direction &&
               play_is_beat(&p->trace[i]) == play_is_beat(frame);
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

static void take_frames(const play *p, const fault_mode *modes, size_t mode_count) {
    size_t *frames = Matrix.frames[p->scenario - Scenarios];
    char names[2][400] = {"", ""};

    REQUIRE(p->trace_count > 0 && p->trace_count <= TRACE_MAX);
    for (size_t i = 0; i < p->trace_count; i++) {
        const proxy_frame *frame = &p->trace[i];
        const frame_point point = {.direction = frame->direction,
                                   .kind = frame->kind,
                                   .is_beat = play_is_beat(frame),
                                   .nth = nth_of_its_kind(p, i)};
        const size_t way = frame->direction == PROXY_TO_CLIENT;
        const size_t used = strlen(names[way]);

        CHECK(frame->kind != PROXY_PING && frame->kind != PROXY_OTHER);
        if (point.is_beat && point.nth > p->scenario->beats)
            continue;
        frames[way]++;
        (void)snprintf(names[way] + used, sizeof(names[way]) - used, " %s",
                       point.is_beat ? "beat" : proxy_kind_name(frame->kind));
        add_cases(p, &point, modes, mode_count);
    }
    test_note("%s, to the server:%s", p->scenario->name, names[0]);
    test_note("%*s  to the client:%s", (int)strlen(p->scenario->name), "", names[1]);
}

static void see_frames(const fault_mode *modes, size_t mode_count) {
    for (size_t i = 0; i < SCENARIOS; i++) {
        const one_case c = {.scenario = &Scenarios[i], .mode = FAULT_NONE};
        play *p = play_new(&c, &Matrix.workers[0].crew);

        play_run(p);
        if (p->failure[0])
            test_note("%s without a fault: %s", p->scenario->name, p->failure);
        CHECK(p->failure[0] == '\0');
        take_frames(p, modes, mode_count);
        free(p);
    }
}

/* ---- the table ---- */

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
    test_note("%-18s %9zu %9zu %6zu %7zu", Scenarios[scenario_number].name, up, down, run, failed);
    CHECK_INT(run, (up + down) * mode_count);
    CHECK_INT(failed, 0);
    return run;
}

static void matrix_begin(void) {
    REQUIRE_INT(raw_make_path(fixture_raw(), fixture_root()), RAW_OK);
    for (size_t i = 0; i < WORKERS; i++) {
        crew *c = &Matrix.workers[i].crew;

        c->raw = fixture_raw();
        c->session = session_open(server_hosts(), T_LONG, NULL);
        for (size_t r = 0; r < ROLES; r++)
            c->actors[r] = actor_new();
    }
}

static void matrix_end(void) {
    for (size_t i = 0; i < WORKERS; i++) {
        crew *c = &Matrix.workers[i].crew;

        for (size_t r = 0; r < ROLES; r++)
            actor_free(c->actors[r]);
        session_close(c->session);
    }
}

void matrix_run(const fault_mode *modes, size_t mode_count) {
    size_t run = 0;
    int64_t began_ms;

    matrix_begin();
    see_frames(modes, mode_count);
    began_ms = clock_ms();
    run_all();
    test_note("%-18s %9s %9s %6s %7s", "scenario", "to server", "to client", "cases", "failed");
    for (size_t i = 0; i < SCENARIOS; i++)
        run += print_row(i, mode_count);
    test_note("%zu cases of %zu in %.1f s", run, Matrix.count,
              (double)(clock_ms() - began_ms) / 1000);
    CHECK_INT(run, Matrix.count);
    matrix_end();
}
