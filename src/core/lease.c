/* lease - see lease.h. */
#include "core/lease.h"

#include <string.h>

int64_t zkli_lease_margin_ns(int64_t timeout_ns) {
    return timeout_ns / 24;
}

int64_t zkli_lease_period_ns(int64_t timeout_ns) {
    return timeout_ns / 15;
}

static int64_t end_of(const struct zkli_lease *lease, int64_t proven_ns) {
    return proven_ns + lease->timeout_ns - zkli_lease_margin_ns(lease->timeout_ns);
}

void zkli_lease_begin(struct zkli_lease *lease, int64_t timeout_ns, int64_t begun_ns) {
    memset(lease, 0, sizeof(*lease));
    lease->timeout_ns = timeout_ns;
    lease->touched_ns = begun_ns;
    lease->certain_until_ns = end_of(lease, begun_ns);
}

void zkli_lease_reconnect(struct zkli_lease *lease, int64_t timeout_ns) {
    if (timeout_ns < lease->timeout_ns)
        lease->timeout_ns = timeout_ns;
    lease->certain_until_ns = end_of(lease, lease->touched_ns);
    lease->beat_count = 0;
}

void zkli_lease_shorten(struct zkli_lease *lease, int64_t timeout_ns) {
    if (timeout_ns >= lease->timeout_ns)
        return;
    lease->timeout_ns = timeout_ns;
    int64_t until_ns = end_of(lease, lease->touched_ns);
    if (until_ns < lease->certain_until_ns)
        lease->certain_until_ns = until_ns;
    lease->beat_count = 0;
}

void zkli_lease_end(struct zkli_lease *lease) {
    memset(lease, 0, sizeof(*lease));
}

static void forget_oldest(struct zkli_lease *lease, size_t count) {
    lease->beat_count -= count;
    memmove(lease->beats, lease->beats + count, lease->beat_count * sizeof(lease->beats[0]));
}

void zkli_lease_beat(struct zkli_lease *lease, int64_t sent_ns, int64_t acked_ns) {
    int64_t gap_ns = lease->timeout_ns / 4;
    lease->touched_ns = sent_ns;
    size_t proven = lease->beat_count; /* index of the newest that the leader must know, plus one */
    int64_t witness_ns = proven > 0 ? lease->beats[proven - 1].sent_ns : 0;
    while (proven > 0 && witness_ns - lease->beats[proven - 1].acked_ns < gap_ns)
        proven--;
    if (proven > 0) {
        int64_t until_ns = end_of(lease, lease->beats[proven - 1].sent_ns);
        if (until_ns > lease->certain_until_ns)
            lease->certain_until_ns = until_ns;
        forget_oldest(lease, proven - 1);
    }
    if (lease->beat_count == ZKLI_LEASE_BEATS)
        forget_oldest(lease, 1);
    lease->beats[lease->beat_count].sent_ns = sent_ns;
    lease->beats[lease->beat_count].acked_ns = acked_ns;
    lease->beat_count++;
}

bool zkli_lease_is_certain(const struct zkli_lease *lease, int64_t now_ns) {
    return lease->timeout_ns > 0 && now_ns < lease->certain_until_ns;
}

/* Whether enough is left of what ends then, when a heartbeat that is acknowledged now is proved. */
static bool outlasts_proof(const struct zkli_lease *lease, int64_t until_ns, int64_t acked_ns) {
    int64_t timeout_ns = lease->timeout_ns;
    int64_t proof_ns = timeout_ns / 4 + 2 * zkli_lease_period_ns(timeout_ns);
    return until_ns - acked_ns - proof_ns >= timeout_ns / 10 * 3;
}

bool zkli_lease_is_ample(const struct zkli_lease *lease, int64_t now_ns) {
    int64_t until_ns = lease->certain_until_ns;
    if (!zkli_lease_is_certain(lease, now_ns) ||
        until_ns - now_ns < 2 * zkli_lease_period_ns(lease->timeout_ns))
        return false;
    for (size_t i = 0; i < lease->beat_count; i++) {
        int64_t then_ns = end_of(lease, lease->beats[i].sent_ns);
        if (then_ns <= until_ns)
            continue; /* proved */
        if (!outlasts_proof(lease, until_ns, lease->beats[i].acked_ns))
            return false;
        until_ns = then_ns;
    }
    return outlasts_proof(lease, until_ns, now_ns);
}
