/*
 * stats - see stats.h. Each thing is counted twice, for the handle and for all handles of its
 * session. A handle has memory for it from when its first acquire is over, so that waiting costs
 * none; where there is no memory, only the session counts.
 */
#include "lock/stats.h"

#include <stdlib.h>
#include <string.h>

#define STATISTICS_SIZE_MAX 65536

static int place_of(uint64_t us) {
    int bits = us == 0 ? 0 : 64 - __builtin_clzll(us);
    return bits < ZKL_HISTOGRAM_SIZE ? bits : ZKL_HISTOGRAM_SIZE - 1;
}

static void add(zkl_histogram *histogram, int64_t ns) {
    uint64_t us = ns < 0 ? 0 : (uint64_t)ns / ZKLI_NS_PER_US;
    histogram->at[place_of(us)]++;
    histogram->total_us += us;
}

static void acquired(zkl_lock_statistics *counts, const struct zkli_acquire *acquire,
                     zkl_err result, int64_t waited_ns) {
    counts->acquires[result]++;
    if (result != ZKL_OK)
        return;
    counts->handed_on += acquire->is_handed_on;
    add(&counts->waited, waited_ns);
}

void zkli_stats_acquired(const struct zkli_acquire *acquire, zkl_err result) {
    struct zkl_lock *l = acquire->lock;
    int64_t waited_ns = zkli_engine_now_ns(l->session->engine) - acquire->begun_ns;
    if (l->counts == NULL)
        l->counts = calloc(1, sizeof(*l->counts));
    if (l->counts != NULL)
        acquired(l->counts, acquire, result, waited_ns);
    acquired(&l->session->counts, acquire, result, waited_ns);
}

static void held(zkl_lock_statistics *counts, int64_t held_ns, const zkl_loss *loss) {
    add(&counts->held, held_ns);
    if (loss != NULL)
        counts->lost[*loss]++;
}

void zkli_stats_held(struct zkl_lock *l, int64_t held_ns, const zkl_loss *loss) {
    if (l->counts != NULL)
        held(l->counts, held_ns, loss);
    held(&l->session->counts, held_ns, loss);
}

/* ---- The calls ---- */

static bool size_is_valid(const void *stats) {
    size_t size;
    memcpy(&size, stats, sizeof(size)); /* the first member of each */
    return size >= sizeof(size) && size <= STATISTICS_SIZE_MAX;
}

/* As much as the program has room for. known: with a size of its own. */
static void fill(void *ret_stats, const void *known, size_t known_size) {
    size_t room;
    memcpy(&room, ret_stats, sizeof(room));
    memset((char *)ret_stats + sizeof(room), 0, room - sizeof(room));
    size_t common = room < known_size ? room : known_size;
    memcpy((char *)ret_stats + sizeof(room), (const char *)known + sizeof(room),
           common - sizeof(room));
}

static void fill_counts(zkl_lock_statistics *ret_stats, const zkl_lock_statistics *counts) {
    static const zkl_lock_statistics nothing;
    fill(ret_stats, counts == NULL ? &nothing : counts, sizeof(*counts));
}

zkl_err zkl_lock_stats(zkl_lock *l, zkl_lock_statistics *ret_stats) {
    if (ret_stats == NULL || !size_is_valid(ret_stats))
        return ZKL_INVALID;
    zkl_err err = zkli_lock_begin(l);
    if (err != ZKL_OK)
        return err;
    zkli_lock_enter(l);
    if (zkli_lock_is_closed(l))
        err = ZKL_CLOSED;
    else
        fill_counts(ret_stats, l->counts);
    zkli_lock_leave(l);
    return err;
}

static void fill_session(zkl_session_statistics *ret_stats, const struct zkli_engine *e) {
    const struct zkli_engine_counts *counts = zkli_engine_counts(e);
    const struct zkli_engine_load load = zkli_engine_load(e);
    int64_t least_ns = counts->least_certain_ns;
    bool is_small = least_ns > 0 && least_ns < ZKLI_NS_PER_MS; /* 0 says that it ran out */
    const zkl_session_statistics known = {
        .sessions = counts->sessions,
        .connections = counts->connections,
        .heartbeats = counts->heartbeats,
        .late_heartbeats = counts->late_heartbeats,
        .least_certain_ms = least_ns == INT64_MAX ? INT64_MAX
                            : is_small            ? 1
                                                  : least_ns / ZKLI_NS_PER_MS,
        .requests_in_flight = load.requests,
        .bytes_in_flight = load.bytes,
        .holding = load.holding,
        .waiting = load.waiting,
    };
    fill(ret_stats, &known, sizeof(known));
}

zkl_err zkl_session_stats(zkl_session *s, zkl_session_statistics *ret_stats,
                          zkl_lock_statistics *ret_locks) {
    if (s == NULL || ret_stats == NULL || !size_is_valid(ret_stats) ||
        (ret_locks != NULL && !size_is_valid(ret_locks)))
        return ZKL_INVALID;
    if (!zkli_session_begin(s))
        return ZKL_FORKED;
    zkl_err err = ZKL_OK;
    zkli_session_lock(s);
    if (zkli_engine_state(s->engine) == ZKL_STATE_CLOSED)
        err = ZKL_CLOSED;
    else
        fill_session(ret_stats, s->engine);
    if (err == ZKL_OK && ret_locks != NULL)
        fill_counts(ret_locks, &s->counts);
    zkli_session_unlock_and_release(s);
    return err;
}
