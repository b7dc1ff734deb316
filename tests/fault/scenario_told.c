/* See scenario_told.h. */
#include "scenario_told.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "steps.h"

enum {
    WRITES = 3
};

typedef struct told_call {
    atomic_uint times;
    zkl_err said;
} told_call;

static void on_told(zkl_err err, zkl_hold hold, void *arg) {
    told_call *w = arg;
    (void)hold;
    w->said = err;
    atomic_fetch_add(&w->times, 1);
}

/* What is there is the last that says OK, or a later one that is UNSURE. */
static bool check_written(play *p, const char *path, const told_call writes[WRITES]) {
    char data[8] = "";
    size_t size = sizeof(data) - 1;
    if (raw_get(p->crew->raw, path, data, &size, NULL) != RAW_OK)
        return play_fail(p, "what was written cannot be read");
    const size_t there = (size_t)(data[0] - '0'); /* 0: none was */
    for (size_t i = 0; i < WRITES; i++) {
        const zkl_err said = writes[i].said;
        if (said != ZKL_OK && said != ZKL_LOST && said != ZKL_UNSURE && said != ZKL_NOT_HELD)
            return play_fail(p, "write %zu says %s", i + 1, zkl_errname(said));
        /* One that the next connection's has overtaken is not made again. */
        bool may_be_unsure = said == ZKL_UNSURE && i + 1 < WRITES;
        if (said != ZKL_OK && !may_be_unsure && play_is_gentle(p))
            return play_fail(p, "write %zu says %s", i + 1, zkl_errname(said));
        if (said == ZKL_OK && there < i + 1)
            return play_fail(p, "write %zu says OK, and %s is there", i + 1, data);
        if (said != ZKL_OK && said != ZKL_UNSURE && there == i + 1)
            return play_fail(p, "write %zu says %s, and is there", i + 1, zkl_errname(said));
    }
    return true;
}

static bool are_all_told(const told_call *calls, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (atomic_load(&calls[i].times) == 0)
            return false;
    return true;
}

/* The handle goes with the play, and tells of what has not been told by then: our variables are
 * good until it has. */
static bool are_told_in_time(play *p, const told_call *calls, size_t count) {
    const int64_t end_ms = clock_ms() + play_in_time_ms(p);
    while (!are_all_told(calls, count) && clock_ms() < end_ms)
        (void)poll(NULL, 0, 1);
    if (are_all_told(calls, count))
        return true;
    while (!are_all_told(calls, count))
        (void)poll(NULL, 0, 10);
    return play_fail(p, "the news took too long");
}

bool run_told_writes(play *p) {
    static const char *const texts[WRITES] = {"1", "2", "3"};
    const part *me = &p->parts[PROTAGONIST];
    told_call writes[WRITES] = {{0}};
    char path[RAW_PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/data-of-%s", fixture_root(), p->name);
    if (raw_create(p->crew->raw, path, "0", 1, RAW_PERSISTENT, NULL) != RAW_OK)
        return play_fail(p, "no node to write to");
    if (!step_takes(p))
        return false;
    for (size_t i = 0; i < WRITES; i++) {
        const zkl_err err = zkl_guarded_set_async(me->lock, atomic_load(&me->hold), path, texts[i],
                                                  1, -1, on_told, &writes[i]);
        if (err == ZKL_OK)
            continue;
        writes[i].said = err;
        atomic_store(&writes[i].times, 1);
    }
    if (!are_told_in_time(p, writes, WRITES))
        return false;
    play_frames_end(p);
    return play_await_fault(p) && check_written(p, path, writes) && step_end_held(p);
}

/* The node is gone when it says so; else the hold was lost before. */
static bool check_release(play *p, const told_call *told) {
    const zkl_err said = told->said;
    if (atomic_load(&told->times) != 1)
        return play_fail(p, "the release is told %u times", atomic_load(&told->times));
    if (said != ZKL_OK && said != ZKL_LOST)
        return play_fail(p, "the release says %s", zkl_errname(said));
    if (said == ZKL_LOST && play_is_gentle(p))
        return play_fail(p, "the hold is lost");
    return said != ZKL_OK || step_has_no_node(p) || play_fail(p, "released, and the node is there");
}

bool run_told_release(play *p) {
    const part *me = &p->parts[PROTAGONIST];
    told_call told = {0};
    if (!step_takes(p))
        return false;
    const zkl_err err = zkl_release_async(me->lock, atomic_load(&me->hold), ZKL_FOREVER, on_told,
                                          &told);
    if (err != ZKL_OK)
        on_told(err, 0, &told);
    if (play_is_valid(p, PROTAGONIST))
        return play_fail(p, "held after its release");
    if (!are_told_in_time(p, &told, 1) || !check_release(p, &told))
        return false;
    play_frames_end(p);
    return play_await_fault(p) && step_comes_again(p);
}
