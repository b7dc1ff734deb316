/* lease - see lease.h. */
#include "core/lease.h"

#include <string.h>

int64_t zkli_lease_margin_ns(int64_t timeout_ns) {
    return timeout_ns / 24;
}

int64_t zkli_lease_period_ns(int64_t timeout_ns) {
    return timeout_ns / 16;
}

int64_t zkli_lease_pause_ns(int64_t timeout_ns) {
    return timeout_ns / 4 + timeout_ns / 22;
}

/* Heartbeats until what they leave repeats itself: the third, the first that may have two before it
 * of its connection, proves itself with the tenth; what that leaves is seen with the next. */
#define AHEAD 11

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t end_of(const struct zkli_lease *lease, int64_t proven_ns) {
    return proven_ns + lease->timeout_ns - zkli_lease_margin_ns(lease->timeout_ns);
}

void zkli_lease_begin(struct zkli_lease *lease, int64_t timeout_ns, int64_t begun_ns) {
    memset(lease, 0, sizeof(*lease));
    lease->timeout_ns = timeout_ns;
    lease->touched_ns = begun_ns;
    lease->heard_until_ns = lease->certain_until_ns = end_of(lease, begun_ns);
    lease->counts_from_ns = INT64_MIN;
    lease->resumed_ns = INT64_MIN / 2;
    lease->quickest_ns = INT64_MAX;
}

void zkli_lease_join(struct zkli_lease *lease, int64_t now_ns) {
    lease->resumed_ns = now_ns;
}

/* So many of a connection, and those of earlier ones do not matter. Its first ones may have been
 * held up by what broke the last. */
#define FEW 3

static int64_t took_ns(const struct zkli_lease *lease, size_t i) {
    return lease->heartbeats[i].acked_ns - lease->heartbeats[i].sent_ns;
}

static int64_t quickest_of(const struct zkli_lease *lease, enum zkli_heartbeat kind) {
    int64_t quickest_ns = INT64_MAX;
    for (size_t i = 0; i < lease->heartbeat_count; i++)
        if (lease->heartbeats[i].kind == kind)
            quickest_ns = least(quickest_ns, took_ns(lease, i));
    return quickest_ns;
}

/* One that was held up is no measure. */
static bool knows_quickest(const struct zkli_lease *lease) {
    return lease->heartbeat_count >= FEW || lease->quickest_ns < INT64_MAX;
}

int64_t zkli_lease_quickest_ns(const struct zkli_lease *lease) {
    int64_t quickest_ns = quickest_of(lease, ZKLI_HEARTBEAT_BARRIER);
    if (quickest_ns == INT64_MAX)
        quickest_ns = quickest_of(lease, ZKLI_HEARTBEAT_SYNC);
    if (lease->heartbeat_count < FEW)
        quickest_ns = least(quickest_ns, lease->quickest_ns);
    return quickest_ns < INT64_MAX ? quickest_ns : 0;
}

int64_t zkli_lease_slowest_ns(const struct zkli_lease *lease) {
    int64_t slowest_ns = lease->heartbeat_count < FEW ? lease->slowest_ns : 0;
    for (size_t i = 0; i < lease->heartbeat_count; i++)
        slowest_ns = later(slowest_ns, took_ns(lease, i));
    return slowest_ns;
}

static void forget_heartbeats(struct zkli_lease *lease) {
    lease->has_proved = false;
    lease->slowest_ns = zkli_lease_slowest_ns(lease);
    bool is_known = lease->quickest_ns < INT64_MAX;
    if (lease->heartbeat_count >= FEW || (lease->heartbeat_count > 0 && !is_known))
        lease->quickest_ns = zkli_lease_quickest_ns(lease);
    lease->heartbeat_count = 0;
}

/* Heard of before that moment, after it may have been due. */
static void note_lapse(struct zkli_lease *lease, int64_t heard_ns) {
    lease->counts_from_ns = heard_ns + lease->timeout_ns;
}

void zkli_lease_reconnect(struct zkli_lease *lease, int64_t timeout_ns, int64_t now_ns) {
    lease->resumed_ns = now_ns;
    if (now_ns >= lease->certain_until_ns)
        note_lapse(lease, now_ns);
    if (timeout_ns < lease->timeout_ns)
        lease->timeout_ns = timeout_ns;
    lease->heard_until_ns = end_of(lease, lease->touched_ns);
    if (now_ns < lease->certain_until_ns)
        lease->certain_until_ns = lease->heard_until_ns;
    forget_heartbeats(lease);
}

void zkli_lease_shorten(struct zkli_lease *lease, int64_t timeout_ns) {
    if (timeout_ns >= lease->timeout_ns)
        return;
    lease->timeout_ns = timeout_ns;
    int64_t until_ns = end_of(lease, lease->touched_ns);
    lease->certain_until_ns = least(lease->certain_until_ns, until_ns);
    lease->heard_until_ns = least(lease->heard_until_ns, until_ns);
    forget_heartbeats(lease);
}

static bool has_syncs(const struct zkli_lease *lease) {
    return quickest_of(lease, ZKLI_HEARTBEAT_SYNC) < INT64_MAX;
}

static void begin_anew(struct zkli_lease *lease, int64_t now_ns) {
    lease->resumed_ns = now_ns;
    if (now_ns >= lease->certain_until_ns)
        note_lapse(lease, now_ns);
    lease->heard_until_ns = least(lease->heard_until_ns, end_of(lease, lease->touched_ns));
    forget_heartbeats(lease);
}

void zkli_lease_doubt(struct zkli_lease *lease, int64_t now_ns) {
    if (has_syncs(lease))
        begin_anew(lease, now_ns);
}

void zkli_lease_rejoin(struct zkli_lease *lease, int64_t timeout_ns, int64_t now_ns) {
    zkli_lease_shorten(lease, timeout_ns);
    begin_anew(lease, now_ns);
}

void zkli_lease_end(struct zkli_lease *lease) {
    memset(lease, 0, sizeof(*lease));
}

static void forget_oldest(struct zkli_lease *lease, size_t count) {
    lease->heartbeat_count -= count;
    memmove(lease->heartbeats, lease->heartbeats + count,
            lease->heartbeat_count * sizeof(lease->heartbeats[0]));
}

/* The longest time between two pings of a leader that has sent two of them within so long. */
static int64_t pings_apart_ns(const struct zkli_lease *lease, int64_t within_ns) {
    int64_t by_any_clock_ns = within_ns + within_ns / 50;
    return least(lease->timeout_ns / 4, by_any_clock_ns) + lease->timeout_ns / 22;
}

/* When a witness may be sent by which the leader must know of a heartbeat. There is another one
 * between the two. */
static int64_t witness_from_ns(const struct zkli_lease *lease, size_t i) {
    int64_t acked_ns = lease->heartbeats[i].acked_ns, next_ns = lease->heartbeats[i + 1].acked_ns;
    int64_t before_ns = lease->heartbeats[i].before_ns;
    int64_t within_ns = least(acked_ns - before_ns, (next_ns - before_ns) / 2);
    return later(acked_ns + pings_apart_ns(lease, lease->timeout_ns),
                 next_ns + pings_apart_ns(lease, within_ns));
}

/* The leader that answers has heard of the session, so that it lasts until then. */
static void note_heard(struct zkli_lease *lease, int64_t until_ns, int64_t heard_ns) {
    if (until_ns <= lease->heard_until_ns)
        return;
    if (heard_ns >= lease->heard_until_ns)
        note_lapse(lease, heard_ns);
    lease->heard_until_ns = until_ns;
}

static void remember(struct zkli_lease *lease, enum zkli_heartbeat kind, int64_t sent_ns,
                     int64_t acked_ns) {
    if (lease->heartbeat_count == ZKLI_LEASE_HEARTBEATS)
        forget_oldest(lease, 1);
    size_t count = lease->heartbeat_count++;
    lease->heartbeats[count].before_ns = count < 2 ? sent_ns - lease->timeout_ns
                                                   : lease->heartbeats[count - 2].sent_ns;
    lease->heartbeats[count].sent_ns = sent_ns;
    lease->heartbeats[count].acked_ns = acked_ns;
    lease->heartbeats[count].kind = kind;
}

void zkli_lease_heartbeat(struct zkli_lease *lease, enum zkli_heartbeat kind, int64_t sent_ns,
                          int64_t acked_ns) {
    /* The index of the newest that the leader must know, plus one. */
    size_t proven = lease->heartbeat_count > 0 ? lease->heartbeat_count - 1 : 0;
    int64_t witness_ns = lease->heartbeats[proven].sent_ns;
    while (proven > 0 && witness_ns < witness_from_ns(lease, proven - 1))
        proven--;
    if (proven > 0) {
        lease->has_proved = true;
        note_heard(lease, end_of(lease, lease->heartbeats[proven - 1].sent_ns), acked_ns);
        forget_oldest(lease, proven - 1);
    }
    remember(lease, kind, sent_ns, acked_ns);
    if (kind == ZKLI_HEARTBEAT_SYNC)
        return;
    lease->touched_ns = sent_ns;
    if (sent_ns >= lease->counts_from_ns)
        lease->certain_until_ns = later(lease->certain_until_ns, lease->heard_until_ns);
}

/* With as many heartbeats as are remembered, the one to be proved would be forgotten. */
static bool may_hurry(const struct zkli_lease *lease, int64_t now_ns) {
    bool is_new = now_ns - lease->resumed_ns < lease->timeout_ns;
    int64_t little_ns = is_new ? lease->timeout_ns / 2 : lease->timeout_ns * 2 / 5;
    bool has_little = lease->has_proved ? lease->heard_until_ns - now_ns < little_ns : is_new;
    return has_little && lease->heartbeat_count < ZKLI_LEASE_HEARTBEATS;
}

int64_t zkli_lease_hurry_ns(const struct zkli_lease *lease) {
    if (lease->heartbeat_count == 0)
        return INT64_MAX; /* the first one comes anyway */
    size_t last = lease->heartbeat_count - 1;
    if (!may_hurry(lease, lease->heartbeats[last].acked_ns))
        return INT64_MAX;
    size_t next = lease->has_proved ? 1 : 0; /* to be proved */
    if (last <= next)
        return INT64_MIN;
    int64_t from_ns = witness_from_ns(lease, next);
    return lease->heartbeats[last].sent_ns >= from_ns ? INT64_MIN : from_ns;
}

bool zkli_lease_is_certain(const struct zkli_lease *lease, int64_t now_ns) {
    return lease->timeout_ns > 0 && now_ns < lease->certain_until_ns;
}

int64_t zkli_lease_ample_until(const struct zkli_lease *lease, int64_t now_ns) {
    if (!zkli_lease_is_certain(lease, now_ns))
        return now_ns;
    struct zkli_lease ahead = *lease;
    int64_t period_ns = zkli_lease_period_ns(lease->timeout_ns);
    int64_t round_trip_ns = zkli_lease_quickest_ns(lease);
    int64_t sent_ns = now_ns, least_ns = INT64_MAX, left_ns = INT64_MAX;
    int64_t until_ns = lease->certain_until_ns; /* then what is heard, lapsed or not */
    if (lease->heartbeat_count > 0)
        sent_ns = later(now_ns, lease->heartbeats[lease->heartbeat_count - 1].sent_ns + period_ns);
    int64_t next_ns = sent_ns + round_trip_ns;
    for (int i = 0; i < AHEAD; i++) {
        int64_t acked_ns = sent_ns + round_trip_ns;
        left_ns = until_ns - acked_ns; /* at the least: this one adds to it */
        if (left_ns < least_ns)
            least_ns = left_ns;
        zkli_lease_heartbeat(&ahead, ZKLI_HEARTBEAT_BARRIER, sent_ns, acked_ns);
        until_ns = ahead.heard_until_ns;
        sent_ns = later(sent_ns + period_ns, acked_ns);
    }
    if (left_ns < lease->timeout_ns / 20) /* in the long run */
        return knows_quickest(lease) ? lease->certain_until_ns - lease->timeout_ns / 40 : now_ns;
    int64_t slack_ns = least_ns - left_ns * 9 / 20; /* by so much all may be late */
    return slack_ns > 0 ? next_ns + slack_ns : now_ns;
}
