/*
 * Whether the leader has heard of us when the lease says so. A leader, a link and a follower in a
 * few lines do their worst. Pings are late by T/24, the link delays what it carries, the follower
 * loses what it heard, and clocks differ by 1 %. After each heartbeat everything is cut.
 */
#include "core/lease.h"

#include <inttypes.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define T INT64_C(960000000)
#define PERIOD (T / 16)
#define BEATS 24
#define PINGS_MAX 512
#define HISTORIES 200000

struct beat {
    int64_t sent, acked;
    int64_t got, put;  /* the follower looks for its map, and puts us into it */
    int64_t committed; /* when the commit leaves the leader */
    bool may_be_lost;
};

struct ping {
    int64_t left, answered;
};

struct history {
    uint64_t random;
    size_t pings;
    struct beat beats[BEATS];
    struct ping ping[PINGS_MAX];
};

/* xorshift */
static uint64_t draw(struct history *h) {
    h->random ^= h->random << 13;
    h->random ^= h->random >> 7;
    h->random ^= h->random << 17;
    return h->random;
}

static int64_t up_to(struct history *h, int64_t most) {
    return (int64_t)(draw(h) % (uint64_t)(most + 1));
}

static bool one_in(struct history *h, unsigned n) {
    return draw(h) % n == 0;
}

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* One at a time, each period; some clients are late, and some answers take long. */
static void send_beats(struct history *h) {
    int64_t quick = one_in(h, 2) ? T / 500 : up_to(h, T / 7);
    int64_t sent = up_to(h, T / 2);
    for (size_t i = 0; i < BEATS; i++) {
        struct beat *b = &h->beats[i];
        b->sent = sent;
        b->acked = sent + (one_in(h, 8) ? up_to(h, T / 3) : quick);
        b->committed = b->sent + up_to(h, b->acked - b->sent);
        b->may_be_lost = one_in(h, 2) && (i == 0 || !h->beats[i - 1].may_be_lost);
        sent = later(sent + PERIOD + (one_in(h, 6) ? up_to(h, T / 3) : 0), b->acked);
        /* Just so late that an earlier one may count. */
        int64_t due = h->beats[i - (size_t)up_to(h, i < 5 ? (int64_t)i : 5)].acked + T / 4 + T / 22;
        if (one_in(h, 4) && due > sent)
            sent = due;
    }
}

/* Half a tick apart by the leader's clock, or a little more; often as much as may be. */
static void send_pings(struct history *h) {
    bool is_worst = one_in(h, 3), is_steady = one_in(h, 2);
    int64_t half_tick = is_worst || one_in(h, 3) ? T / 4 : T / 40 + up_to(h, T / 4 - T / 40);
    int64_t hundredths = is_worst ? 101 : 99 + up_to(h, 2);
    unsigned late = is_worst ? 1 : 1 + (unsigned)up_to(h, 3);
    int64_t left = up_to(h, half_tick);
    for (h->pings = 0; h->pings < PINGS_MAX && left < h->beats[BEATS - 1].acked; h->pings++) {
        h->ping[h->pings].left = left;
        int64_t by = one_in(h, late) ? T / 24 : one_in(h, 2) ? up_to(h, T / 24) : 0;
        left += (half_tick + by) * hundredths / 100;
        if (!is_steady && !is_worst)
            hundredths = 99 + up_to(h, 2);
    }
}

/* The link to the follower: in order, and a commit comes before it is acknowledged to us. */
static void carry(struct history *h) {
    bool is_slow = one_in(h, 2);
    int64_t at = 0;
    for (size_t n = 0; n < h->pings; n++) {
        int64_t latest = INT64_MAX;
        for (size_t i = 0; i < BEATS; i++)
            if (h->beats[i].committed >= h->ping[n].left && h->beats[i].acked < latest)
                latest = h->beats[i].acked;
        at = later(at, h->ping[n].left);
        if (is_slow && one_in(h, 2))
            at += up_to(h, T / 3);
        if (at > latest)
            at = latest;
        h->ping[n].answered = at;
    }
}

/* In the middle of an answer, if there is one while the heartbeat is under way. */
static void touch(struct history *h) {
    for (size_t i = 0; i < BEATS; i++) {
        struct beat *b = &h->beats[i];
        b->got = b->sent;
        b->put = b->sent + up_to(h, b->acked - b->sent);
        if (one_in(h, 3))
            b->put = b->acked;
        for (size_t n = 0; n < h->pings && b->may_be_lost; n++)
            if (h->ping[n].answered >= b->sent && h->ping[n].answered <= b->acked)
                b->put = h->ping[n].answered;
    }
}

static bool is_lost(const struct history *h, const struct beat *b) {
    for (size_t n = 0; n < h->pings && b->may_be_lost; n++)
        if (h->ping[n].answered >= b->got && h->ping[n].answered <= b->put)
            return true;
    return false;
}

/* Of the answers that have left the follower before the heartbeat k does: when the newest came that
 * told of us. */
static int64_t heard(const struct history *h, size_t k) {
    int64_t newest = 0;
    for (size_t i = 0; i < k; i++) {
        if (is_lost(h, &h->beats[i]))
            continue;
        size_t n = 0;
        while (n < h->pings && h->ping[n].answered <= h->beats[i].put)
            n++;
        if (n < h->pings && h->ping[n].answered <= h->beats[k].sent)
            newest = later(newest, h->ping[n].answered);
    }
    return newest;
}

static void the_leader_has_heard_of_us_when_the_lease_says_so(void) {
    struct history h = {.random = 1};
    size_t wrong = 0, proofs = 0, lost = 0;
    for (size_t round = 0; round < HISTORIES; round++) {
        struct zkli_lease lease;
        send_beats(&h);
        send_pings(&h);
        carry(&h);
        touch(&h);
        zkli_lease_begin(&lease, T, 0);
        for (size_t k = 0; k < BEATS; k++) {
            zkli_lease_heartbeat(&lease, ZKLI_HEARTBEAT_BARRIER, h.beats[k].sent, h.beats[k].acked);
            int64_t proven = lease.certain_until_ns - T + zkli_lease_margin_ns(T);
            proofs += proven > 0;
            lost += is_lost(&h, &h.beats[k]);
            wrong += proven > heard(&h, k);
        }
    }
    CHECK_INT(wrong, 0);
    CHECK(proofs > HISTORIES);
    CHECK(lost > HISTORIES);
    test_note("%zu proofs, %zu heartbeats lost by the follower", proofs, lost);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the leader has heard of us when the lease says so",
         the_leader_has_heard_of_us_when_the_lease_says_so},
    };
    return TEST_MAIN(argc, argv, "lease_leader", cases);
}
