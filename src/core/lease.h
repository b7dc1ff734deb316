/*
 * lease - until when the server cannot have ended our session, from what was committed when.
 *
 * A heartbeat is a write that is committed and changes nothing. The leader sends each follower a
 * ping every half tick. In its answer the follower says which sessions it has heard from. The
 * channel between the two is ordered, each way. So three heartbeats prove the first of them:
 *   j is acknowledged; our server has heard of us;
 *   m, the witness, is sent so long after that that the leader has sent a ping meanwhile. Its
 *     commit comes to our server behind that ping; so when m is acknowledged, our server has
 *     answered the ping, and told of j;
 *   k is sent after m was acknowledged. It comes to the leader behind that answer; so when k is
 *     acknowledged, the leader has heard of us, later than j was sent, and keeps the session for T:
 *     certain_until = sent(j) + T - margin.
 * Two would not do: a link that stalls towards our server and then the other way lets k pass while
 * the ping, or its answer, is still under way. All three are of one connection. (If the port did
 * not report a new connection between them, what they prove is still true. The new connection by
 * itself has proved more, see zkli_lease_reconnect. But its timeout must be known.)
 *
 * How long after j the witness has to be sent: half a tick is at most T/4, for T is at least two
 * ticks. A ping may be late by T/24. The leader's clock may differ by 1 %. T/4 + T/22 is more.
 *
 * A follower may lose what it heard while it answers a ping: LearnerSessionTracker.touchSession may
 * put it into the map that snapshot has just taken away. It is assumed that of two heartbeats in a
 * row it loses one at most. So one more is needed: j', the next after j. Say the follower loses j,
 * and p is the last ping that it answers before that. If this answer tells of us at all, the leader
 * has heard of us later than j was sent. If not, an earlier answer, to a ping o, has told of the
 * heartbeat before j. The leader sent o and p
 *   - half a tick apart or more;
 *   - after h was sent, the last heartbeat but one before j, for o came behind h's commit;
 *   - before j was acknowledged.
 * The first ping after j' was acknowledged tells of j'. If the ping before it left before j was
 * acknowledged, it is in time for m, as above. If not, three pings left from sent(h) to acked(j'),
 * two of them before acked(j). So half a tick is at most acked(j) - sent(h), and at most half of
 * acked(j') - sent(h). The first ping after acked(j') leaves half a tick and T/24 later at most. So
 * m is sent that long after j' was acknowledged: the least of T/4 and these two, and T/22. In good
 * order that is so anyway, with round trips of up to T/11.
 * (Nor may a follower lose the first heartbeat of a connection of which the client library told
 * neither the beginning nor the end of the one before.)
 *
 * Heartbeats are of two kinds. A sync goes the same way as a barrier, by the channels between
 * leader and follower. It costs less, for nothing is logged. But a leader that was deposed, and
 * does not know it, answers syncs, too. So j, j' and m may be syncs. What they prove holds on the
 * condition that the leader is in office: heard_until. A barrier that is acknowledged on the same
 * connection shows that the leader was in office all that time. So it makes certain what was proved
 * before.
 *
 * A leader takes the sessions that are due, and then ends them one by one (SessionTrackerImpl.run).
 * What it hears of a session in between does not help: the session ends all the same. So once a
 * lease has lapsed, what heartbeats prove counts on one more condition: that the session was not
 * among those that were taken. It was due before the leader heard of it again, or never. It is
 * assumed that the leader ends all the sessions that it takes within 0.9 T. So a barrier that is
 * sent T later, and committed, shows that the session was not among them.
 *
 * Not here: any clock. Times are nanoseconds of one clock that counts suspended time.
 */
#ifndef ZKLI_CORE_LEASE_H
#define ZKLI_CORE_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Heartbeats remembered: seven at one each T/16, from the one that is proven to the witness; with
 * room for those of a connection that is in a hurry. When full the oldest is forgotten, which costs
 * certainty and never adds any. */
#define ZKLI_LEASE_HEARTBEATS 16

enum zkli_heartbeat {
    ZKLI_HEARTBEAT_SYNC,
    ZKLI_HEARTBEAT_BARRIER
};

struct zkli_lease {
    int64_t timeout_ns; /* T, as negotiated; 0: no session */
    int64_t certain_until_ns;
    int64_t heard_until_ns; /* the same, if this connection's leader is in office */
    int64_t counts_from_ns; /* after a lapse: a barrier sent before makes nothing certain */
    int64_t touched_ns;     /* when the last barrier acknowledged, or the connect, was sent */
    int64_t quickest_ns;    /* round trip of late on earlier connections; INT64_MAX: not known */
    int64_t slowest_ns;     /* the same; 0: not known */
    int64_t resumed_ns;     /* when this connection began, or may have; long ago, if it is the
                               session's first */
    bool has_proved;        /* this connection, something */
    size_t heartbeat_count;
    struct {
        int64_t before_ns; /* when the last but one before it was sent; long ago, if none was */
        int64_t sent_ns;
        int64_t acked_ns;
        enum zkli_heartbeat kind;
    } heartbeats[ZKLI_LEASE_HEARTBEATS]; /* oldest first */
};

/* T/24: clock rates that differ by 1 %, and scheduling. */
int64_t zkli_lease_margin_ns(int64_t timeout_ns);
/* T/16: then more than half of T is left at any moment, and a first proof takes 0.46 T at most, as
 * long as a round trip is T/60 or less. With T/15 less than half would be left. */
int64_t zkli_lease_period_ns(int64_t timeout_ns);

/* From the answer of what is proven to its witness, at the least. */
int64_t zkli_lease_pause_ns(int64_t timeout_ns);

/* A new session, whose connect was begun at that time: its creation starts the leader's clock. */
void zkli_lease_begin(struct zkli_lease *lease, int64_t timeout_ns, int64_t begun_ns);
/* The present connection may have begun just now, and be a later one of the session. */
void zkli_lease_join(struct zkli_lease *lease, int64_t now_ns);
/*
 * A new connection of the same session: the last heartbeat acknowledged before is known where it
 * matters. For the server that resumed the session has seen its transaction, or it would have
 * refused us; so its leader is the one that committed it, or a later one. Either that leader is
 * still in office, and has been told of the session since; or the next one has started every
 * session's clock after that transaction. (A follower keeps the connections that wait for the
 * leader's word by session, so an older word may open a newer connection:
 * Learner.pendingRevalidations. But words and commits share a channel. A word that is older than
 * the transaction has come, and opened nothing, before the follower has seen that.) Heartbeats are
 * counted anew. What syncs have proved is void, for their leader may have been deposed before they
 * were sent.
 * The server may grant another timeout than before. A shorter one holds from now on; a longer one
 * does not, for it is known to this server alone, while the ensemble goes by the first.
 */
void zkli_lease_reconnect(struct zkli_lease *lease, int64_t timeout_ns, int64_t now_ns);
/* There may be a new connection of the same session, or it is the one of before. So its resumption
 * proves nothing; heartbeats are counted anew. A shorter timeout holds from now on. */
void zkli_lease_rejoin(struct zkli_lease *lease, int64_t timeout_ns, int64_t now_ns);
/* There was a new connection, and this is all that is known of it. No heartbeat that it answered
 * has been counted; so the last one that was counted is older, and the session lasts at least so
 * long after it. A longer timeout changes nothing. */
void zkli_lease_shorten(struct zkli_lease *lease, int64_t timeout_ns);
/* An answer was lost, or the timeout is another one, which may be the only sign of a new
 * connection. If there was one, its leader may be another, and what syncs have proved is void. So
 * it is taken for one that begins now. What barriers alone have proved is not in doubt. */
void zkli_lease_doubt(struct zkli_lease *lease, int64_t now_ns);
/* The session is over, or it is not known any more when it will be. */
void zkli_lease_end(struct zkli_lease *lease);
/* A heartbeat sent and acknowledged on the present connection; in the order they were sent. */
void zkli_lease_heartbeat(struct zkli_lease *lease, enum zkli_heartbeat kind, int64_t sent_ns,
                          int64_t acked_ns);
/*
 * When to send the next heartbeat, at the latest. INT64_MAX: the usual pace will do.
 * A connection that follows another one proves a lease as soon as it can: with its second heartbeat
 * as soon as the first is answered, the witness as early as it counts, and the last one as soon as
 * that is answered. That takes 0.3 T and four round trips, where the usual pace takes 0.46 T. In
 * its first T it goes on like that while less than half of T is left of what is proved; and any
 * connection does while less than two fifths are left, where servers are slow.
 */
int64_t zkli_lease_hurry_ns(const struct zkli_lease *lease);
/* The longest that one of the last heartbeats has taken, and the shortest: of barriers if there is
 * one among them, for syncs may be quicker. 0: none was acknowledged yet. */
int64_t zkli_lease_slowest_ns(const struct zkli_lease *lease);
int64_t zkli_lease_quickest_ns(const struct zkli_lease *lease);
bool zkli_lease_is_certain(const struct zkli_lease *lease, int64_t now_ns);
/*
 * Until when a hold may begin, if no heartbeat is acknowledged before; no hold may begin if that is
 * not later than now_ns. Certainty is not enough: a hold that is lost, with nothing amiss, before
 * heartbeats could extend it is worth nothing. So the lease is run ahead: a heartbeat each period
 * from now on, answered as quickly as the quickest of late. On the way there must be left nine
 * twentieths of what they leave in the long run; what there is beyond that is how late the next one
 * may be.
 * (If that is sent in time and answered so late, proofs come up to a period later, and less is
 * left.)
 * In good order that is always so; and, where a round trip is T/16 or less, if a connection comes
 * back within T/8. Later, or after a stall or a pause of heartbeats, it takes a first proof. Where
 * round trips are so long that hardly a hold can be kept, any T/40 will do: better than to be first
 * for ever. (Not before three heartbeats are answered. One may have been held up.)
 */
int64_t zkli_lease_ample_until(const struct zkli_lease *lease, int64_t now_ns);

#endif
