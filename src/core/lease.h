/*
 * lease - until when the server cannot have ended our session, from what was committed when.
 *
 * A heartbeat is a write that is committed and changes nothing. When heartbeat k is acknowledged,
 * the leader has it, and with it, on the same ordered channel, the session touches that the
 * follower reported up to then; a follower reports them every tickTime/2. So an earlier heartbeat j
 * of the same connection that was acknowledged at least tickTime/2 before k was sent is known to
 * the leader, which keeps the session for T after it heard of it, and j was sent before that:
 *     certain_until = sent(j) + T - margin.
 * A client does not know tickTime, but T is at least two ticks, so T/4 stands for tickTime/2.
 *
 * Not here: any clock. Times are nanoseconds of one clock that counts suspended time.
 */
#ifndef ZKLI_CORE_LEASE_H
#define ZKLI_CORE_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Heartbeats remembered: those younger than T/4 at one each T/10, and one older; with room for a
 * few extra. When full the oldest is forgotten, which costs certainty and never adds any. */
#define ZKLI_LEASE_BEATS 8

struct zkli_lease {
    int64_t timeout_ns; /* T, as negotiated; 0: no session */
    int64_t certain_until_ns;
    int64_t touched_ns; /* when the last heartbeat acknowledged, or the connect, was sent */
    size_t beat_count;
    struct {
        int64_t sent_ns;
        int64_t acked_ns;
    } beats[ZKLI_LEASE_BEATS]; /* oldest first */
};

/* T/24: clock rates that differ by 1 %, and scheduling. */
int64_t zkli_lease_margin_ns(int64_t timeout_ns);
/* T/10: so that three in a row may be late and the hold still stays certain. */
int64_t zkli_lease_period_ns(int64_t timeout_ns);

/* A new session, whose connect was begun at that time: its creation starts the leader's clock. */
void zkli_lease_begin(struct zkli_lease *lease, int64_t timeout_ns, int64_t begun_ns);
/*
 * A new connection of the same session: the last heartbeat acknowledged before is known where it
 * matters. For the server that resumed the session has seen its transaction, or it would have
 * refused us; so its leader is the one that committed it, or a later one. Either that leader is
 * still in office, and has been told of the session just now; or the next one has started every
 * session's clock after that transaction. The heartbeats before that one were sent earlier and have
 * no more to prove, so it is as if the counting began anew.
 * The server may grant another timeout than before. A shorter one holds from now on; a longer one
 * does not, for it is known to this server alone, while the ensemble goes by the first.
 */
void zkli_lease_reconnect(struct zkli_lease *lease, int64_t timeout_ns);
/* The session is over, or it is not known any more when it will be. */
void zkli_lease_end(struct zkli_lease *lease);
/* A heartbeat sent and acknowledged on the present connection; in the order they were sent. */
void zkli_lease_beat(struct zkli_lease *lease, int64_t sent_ns, int64_t acked_ns);
bool zkli_lease_is_certain(const struct zkli_lease *lease, int64_t now_ns);

#endif
