/* The heap of deadlines, against an array that is searched. */
#include "base/list.h"
#include "base/timers.h"

#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define TIMERS 24

struct probe {
    struct zkli_timer timer;
    int64_t expected_ns; /* ZKLI_NEVER: not set */
    unsigned fired;
};

static struct zkli_timers Timers;
static struct probe Probes[TIMERS];
static int64_t NowNs, LastNs; /* of the run; of the timer that fired last in it */
static unsigned Surprises;
static uint64_t Random;

static uint64_t next_random(void) {
    Random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = Random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 27);
}

static int64_t earliest(void) {
    int64_t at_ns = ZKLI_NEVER;
    for (size_t i = 0; i < TIMERS; i++)
        if (Probes[i].expected_ns < at_ns)
            at_ns = Probes[i].expected_ns;
    return at_ns;
}

/* Fires in time, in order, once, and when it is out of the heap already. */
static void note(struct zkli_timer *timer) {
    struct probe *probe = ZKLI_CONTAINER(timer, struct probe, timer);
    Surprises += probe->expected_ns > NowNs || probe->expected_ns != earliest() ||
                 probe->expected_ns < LastNs || zkli_timer_is_set(&probe->timer);
    LastNs = probe->expected_ns;
    probe->expected_ns = ZKLI_NEVER;
    probe->fired++;
}

static void set_up(void) {
    Timers.root = NULL;
    Surprises = 0;
    for (size_t i = 0; i < TIMERS; i++) {
        zkli_timer_init(&Probes[i].timer, note);
        Probes[i].expected_ns = ZKLI_NEVER;
        Probes[i].fired = 0;
    }
}

static void set(size_t i, int64_t at_ns) {
    zkli_timer_set(&Timers, &Probes[i].timer, at_ns);
    Probes[i].expected_ns = at_ns;
}

static void clear(size_t i) {
    zkli_timer_clear(&Timers, &Probes[i].timer);
    Probes[i].expected_ns = ZKLI_NEVER;
}

static void run(int64_t now_ns) {
    NowNs = now_ns;
    LastNs = INT64_MIN;
    zkli_timers_run(&Timers, now_ns);
}

static bool is_as_expected(void) {
    for (size_t i = 0; i < TIMERS; i++)
        if (zkli_timer_is_set(&Probes[i].timer) != (Probes[i].expected_ns != ZKLI_NEVER))
            return false;
    return Surprises == 0 && zkli_timers_next(&Timers) == earliest();
}

static void without_timers_the_next_is_never(void) {
    set_up();
    CHECK(zkli_timers_next(&Timers) == ZKLI_NEVER);
    run(INT64_MAX);
    CHECK(is_as_expected());
    set(0, ZKLI_NEVER);
    clear(1);
    CHECK(is_as_expected());
}

static void a_timer_fires_at_its_time_not_before_and_once(void) {
    set_up();
    set(0, 100);
    run(99);
    CHECK_INT(Probes[0].fired, 0);
    run(100);
    CHECK_INT(Probes[0].fired, 1);
    run(200);
    CHECK_INT(Probes[0].fired, 1);
    CHECK(is_as_expected());
}

static void a_timer_can_be_moved_to_and_fro_and_cleared(void) {
    set_up();
    set(0, 100);
    set(1, 50);
    set(0, 10);
    CHECK(zkli_timers_next(&Timers) == 10);
    set(0, 10);
    CHECK(zkli_timers_next(&Timers) == 10);
    set(0, 70);
    CHECK(zkli_timers_next(&Timers) == 50);
    set(1, ZKLI_NEVER);
    CHECK(zkli_timers_next(&Timers) == 70);
    clear(0);
    CHECK(zkli_timers_next(&Timers) == ZKLI_NEVER);
    run(1000);
    CHECK_INT(Probes[0].fired + Probes[1].fired, 0);
}

static void all_that_are_due_fire_in_order(void) {
    Random = 1;
    set_up();
    for (size_t i = 0; i < TIMERS; i++)
        set(i, (int64_t)(next_random() % 10) - 5); /* many at the same time */
    run(10);
    for (size_t i = 0; i < TIMERS; i++)
        CHECK_INT(Probes[i].fired, 1);
    CHECK(is_as_expected());
}

/* Few timers make every shape of the heap, many make deep ones. */
static void random_sets_moves_clears_and_runs_keep_the_order(void) {
    Random = 2;
    for (size_t count = 1; count <= TIMERS; count += count < 6 ? 1 : 6) {
        set_up();
        int64_t now_ns = 0;
        bool is_right = true;
        for (int step = 0; step < 3000; step++) {
            size_t i = next_random() % count;
            uint64_t dice = next_random() % 16;
            if (dice < 10)
                set(i, now_ns + (int64_t)(next_random() % 64));
            else if (dice < 13)
                clear(i);
            else
                run(now_ns += (int64_t)(next_random() % (dice == 15 ? 40 : 4)));
            is_right = is_right && is_as_expected();
        }
        if (!is_right)
            test_note("with %zu timers", count);
        CHECK(is_right);
    }
}

/* ---- Timers that act on timers ---- */

static struct zkli_timer First, Second, Third;
static char Trace[16];

static void trace(char c) {
    size_t length = strlen(Trace);
    REQUIRE(length + 1 < sizeof(Trace));
    Trace[length] = c;
    Trace[length + 1] = '\0';
}

static void again_in_10(struct zkli_timer *timer) {
    trace('1');
    zkli_timer_set(&Timers, timer, timer->at_ns + 10);
}

static void take_out_the_third(struct zkli_timer *timer) {
    (void)timer;
    trace('2');
    zkli_timer_clear(&Timers, &Third);
}

static void put_in_the_third(struct zkli_timer *timer) {
    (void)timer;
    trace('2');
    zkli_timer_set(&Timers, &Third, 1);
}

static void third(struct zkli_timer *timer) {
    (void)timer;
    trace('3');
}

static void begin_trace(void) {
    Timers.root = NULL;
    Trace[0] = '\0';
}

static void a_timer_that_sets_itself_fires_again_when_due(void) {
    begin_trace();
    zkli_timer_init(&First, again_in_10);
    zkli_timer_set(&Timers, &First, 10);
    zkli_timers_run(&Timers, 35);
    CHECK_STRING(Trace, "111");
    CHECK(zkli_timers_next(&Timers) == 40);
}

static void a_timer_that_another_clears_does_not_fire(void) {
    begin_trace();
    zkli_timer_init(&Second, take_out_the_third);
    zkli_timer_init(&Third, third);
    zkli_timer_set(&Timers, &Third, 20);
    zkli_timer_set(&Timers, &Second, 10);
    zkli_timers_run(&Timers, 30);
    CHECK_STRING(Trace, "2");
    CHECK(zkli_timers_next(&Timers) == ZKLI_NEVER);
}

static void a_timer_set_into_the_past_fires_in_the_same_run(void) {
    begin_trace();
    zkli_timer_init(&Second, put_in_the_third);
    zkli_timer_init(&Third, third);
    zkli_timer_set(&Timers, &Second, 10);
    zkli_timers_run(&Timers, 10);
    CHECK_STRING(Trace, "23");
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"without timers the next is never", without_timers_the_next_is_never},
        {"a timer fires at its time, not before, and once",
         a_timer_fires_at_its_time_not_before_and_once},
        {"a timer can be moved to and fro, and cleared",
         a_timer_can_be_moved_to_and_fro_and_cleared},
        {"all that are due fire in order", all_that_are_due_fire_in_order},
        {"random sets, moves, clears and runs keep the order",
         random_sets_moves_clears_and_runs_keep_the_order},
        {"a timer that sets itself fires again when due",
         a_timer_that_sets_itself_fires_again_when_due},
        {"a timer that another clears does not fire", a_timer_that_another_clears_does_not_fire},
        {"a timer set into the past fires in the same run",
         a_timer_set_into_the_past_fires_in_the_same_run},
    };
    return TEST_MAIN(argc, argv, "timers", cases);
}
