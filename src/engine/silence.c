/*
 * silence - a server that answers nothing while a lock is held.
 *
 * The client library breaks a silent connection after two thirds of T. The lease is over then. So
 * here the connection is dropped sooner, and the client goes to another server, where there is time
 * left to prove a longer lease. Not here: which socket that is (src/zk).
 *
 * Servers that commit slowly, all of them, must not look like a silent one: a connection that is
 * dropped costs a first proof. So it is waited for longer where heartbeats take long, and one in
 * T/2 is dropped at the most: a first proof takes 0.46 T.
 */
#include "engine/engine_internal.h"

/* Bytes of data in a millisecond: a link this slow is none that is silent. */
#define SLOW_LINK_PER_MS 2000

/* How long nothing may be answered: four times what the slowest heartbeat of late took, T/6 at
 * least, and longer where there is much data before a heartbeat; T/3 at most. With a silence of T/6
 * there is 0.73 T of the lease left: the last heartbeat that was answered was sent T/16 before. */
static int64_t patience_ns(const struct zkli_engine *e) {
    int64_t slowest_ns = zkli_lease_slowest_ns(&e->lease);
    int64_t least_ns = e->lease.timeout_ns / 6, most_ns = e->lease.timeout_ns / 3;
    int64_t data_ns = (int64_t)(e->data_in_flight / SLOW_LINK_PER_MS) * ZKLI_NS_PER_MS;
    int64_t ns = (4 * slowest_ns > least_ns ? 4 * slowest_ns : least_ns) + data_ns;
    return ns < most_ns ? ns : most_ns;
}

/* Answers come in the order of the requests. One that comes while the heartbeat has none is that of
 * a request before it: the server goes on. */
static int64_t silent_since_ns(const struct zkli_engine *e) {
    return e->answered_ns > e->heartbeat_sent_ns ? e->answered_ns : e->heartbeat_sent_ns;
}

static bool may_drop(const struct zkli_engine *e) {
    return e->port->ops->drop != NULL && !e->is_draining && e->now_ns >= e->no_drop_until_ns &&
           zkli_members_hold(e);
}

static void on_silence(struct zkli_timer *timer) {
    struct zkli_engine *e = ZKLI_CONTAINER(timer, struct zkli_engine, silence);
    int64_t until_ns = silent_since_ns(e) + patience_ns(e);
    if (e->now_ns < until_ns) {
        zkli_timer_set(&e->timers, &e->silence, until_ns);
        return;
    }
    if (may_drop(e) && e->port->ops->drop(e->port)) {
        e->no_drop_until_ns = e->now_ns + e->lease.timeout_ns / 2;
        zkli_engine_log(e, ZKL_LOG_WARN,
                        "the server has not answered for %lld ms, and a lock is held: going to "
                        "another server",
                        (long long)((e->now_ns - silent_since_ns(e)) / ZKLI_NS_PER_MS));
        return;
    }
    /* Later there may be a hold, or the socket may be known. */
    zkli_timer_set(&e->timers, &e->silence, e->now_ns + zkli_lease_period_ns(e->lease.timeout_ns));
}

void zkli_silence_init(struct zkli_engine *e) {
    zkli_timer_init(&e->silence, on_silence);
}

void zkli_silence_listen(struct zkli_engine *e) {
    zkli_timer_set(&e->timers, &e->silence, e->heartbeat_sent_ns + patience_ns(e));
}

void zkli_silence_broken(struct zkli_engine *e, bool is_answered) {
    const struct zkli_port_ops *ops = e->port->ops;
    zkli_timer_clear(&e->timers, &e->silence);
    if (is_answered && zkli_is_connected(e) && e->pace == ZKLI_PACE_BARRIERS &&
        ops->wants_preparing != NULL && ops->wants_preparing(e->port))
        e->host->prepare_port(e->host_arg, e->port);
}

void zkli_silence_end(struct zkli_engine *e) {
    zkli_timer_clear(&e->timers, &e->silence);
}
