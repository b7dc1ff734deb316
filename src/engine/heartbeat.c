/*
 * heartbeat - the heartbeats of a session, the lease that they extend, and the looks at a port that
 * does not answer. Not here: what three heartbeats prove (core/lease.h).
 *
 * Their pace is that of what there is to lose. While nothing is held or waited for, none is sent,
 * and the lease runs out. Where all wait, and have waited for T, syncs keep it on a condition; the
 * barrier that is sent when one of them is admitted, or all of a group, makes it certain. Before
 * that there are a few barriers on a connection that follows another one. Else each is a barrier.
 */
#include "base/probe.h"
#include "engine/engine_internal.h"

#include <assert.h>

/* T by this is long for a sync (unit.engine_latency). */
#define SLOW_SYNC 400

/* ---- The lease ---- */

void zkli_lease_check(struct zkli_engine *e) {
    enum zkli_lease_grade grade = ZKLI_LEASE_UNCERTAIN;
    if (zkli_engine_is_certain(e))
        grade = e->now_ns < e->ample_until_ns ? ZKLI_LEASE_AMPLE : ZKLI_LEASE_CERTAIN;
    if (grade == e->lease_grade)
        return;
    e->lease_grade = grade;
    zkli_members_step_all(e, ZKLI_EV_LEASE);
}

/* It is ample with a barrier each period from now on, not at another pace. */
static void lease_changed(struct zkli_engine *e) {
    bool goes_on = e->pace == ZKLI_PACE_BARRIERS;
    e->ample_until_ns = goes_on ? zkli_lease_ample_until(&e->lease, e->now_ns) : e->now_ns;
    zkli_lease_check(e);
}

static void set_pace(struct zkli_engine *e, enum zkli_pace pace) {
    if (pace == e->pace)
        return;
    e->pace = pace;
    lease_changed(e);
}

void zkli_heartbeat_note_timeout(struct zkli_engine *e) {
    if (e->session_id == 0)
        return;
    int timeout_ms = e->port->ops->timeout_ms(e->port);
    if (timeout_ms == e->timeout_ms)
        return;
    e->timeout_ms = timeout_ms;
    if (timeout_ms > e->longest_timeout_ms)
        e->longest_timeout_ms = timeout_ms;
    zkli_lease_doubt(&e->lease, e->now_ns);
    zkli_lease_shorten(&e->lease, timeout_ms * ZKLI_NS_PER_MS);
    lease_changed(e);
}

void zkli_heartbeat_doubt(struct zkli_engine *e) {
    if (!zkli_is_connected(e))
        return; /* the next connection is told */
    zkli_lease_doubt(&e->lease, e->now_ns);
    lease_changed(e);
}

/* ---- Heartbeats ---- */

void zkli_look_later(struct zkli_engine *e) {
    if (zkli_timer_is_set(&e->look))
        return;
    e->has_looked = false;
    zkli_timer_set(&e->timers, &e->look, e->now_ns + ZKLI_LOOK_NS);
}

/* It waits for another one of its group. */
static bool waits_for_others(const struct zkli_member *m) {
    return m->core.state == ZKLI_ADMITTED && m->group != NULL && !zkli_group_is_admitted(m->group);
}

/* A member that has waited for T is likely to wait on: syncs keep the lease until then. (In quick
 * succession hand-offs do not wait for a barrier.) */
static bool is_patient(const struct zkli_member *m) {
    const struct zkli_engine *e = m->dir->engine;
    bool rests = zkli_contender_rests(&m->core) || waits_for_others(m);
    return rests && e->now_ns - m->begun_ns >= e->lease.timeout_ns;
}

static enum zkli_pace pace_of(const struct zkli_engine *e) {
    if (!zkli_list_is_empty(&e->visits) || e->succession.count > 0)
        return ZKLI_PACE_BARRIERS;
    const struct zkli_list *head = &e->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next)
        if (!is_patient(ZKLI_CONTAINER(link, struct zkli_member, link)))
            return ZKLI_PACE_BARRIERS;
    return zkli_list_is_empty(head) && !zkli_session_is_kept(e) ? ZKLI_PACE_REST : ZKLI_PACE_SYNCS;
}

static bool send_sync(struct zkli_engine *e) {
    e->heartbeat_kind = ZKLI_HEARTBEAT_SYNC;
    e->heartbeat_sent_ns = e->host->now_ns(e->host_arg);
    return e->port->ops->sync(e->port, ZKLI_SLOT_HEARTBEAT);
}

/* The clock is read before the request can leave. */
static bool send_barrier(struct zkli_engine *e, struct zkli_member *witness) {
    char node[ZKLI_PATH_MAX];
    if (witness != NULL)
        zkli_dir_child_path(node, witness->dir, witness->core.node);
    e->heartbeat_kind = ZKLI_HEARTBEAT_BARRIER;
    e->heartbeat_sent_ns = e->barrier_sent_ns = e->host->now_ns(e->host_arg);
    return e->port->ops->barrier(e->port, ZKLI_SLOT_HEARTBEAT, witness != NULL ? node : NULL);
}

/*
 * A connect that was given up may reach the leader late, through another server. Then the leader
 * takes the session to be there (LearnerHandler: REVALIDATE), and refuses the writes of this
 * connection. It still answers syncs. Who is admitted then would have to begin again elsewhere,
 * after a lapse. So among the syncs of a connection that follows another one there is a barrier
 * when it is T old, and whenever the last one has become half as old as the connection.
 */
static bool is_barrier_due(const struct zkli_engine *e) {
    int64_t age_ns = e->now_ns - e->lease.resumed_ns;
    int64_t told_ns = e->barrier_sent_ns - e->lease.resumed_ns;
    return age_ns >= e->lease.timeout_ns && told_ns <= age_ns / 2;
}

static void beat_after(struct zkli_engine *e, int64_t ns) {
    zkli_timer_set(&e->timers, &e->heartbeat, e->now_ns + ns);
}

static void send_heartbeat(struct zkli_engine *e) {
    bool is_in_flight = zkli_heartbeat_is_in_flight(e);
    if (is_in_flight)
        zkli_look_later(e);       /* no answer since it was sent: is the port awake? */
    assert(zkli_is_connected(e)); /* else the timer is not set */
    if (e->is_draining || is_in_flight)
        return;
    e->is_heartbeat_wanted = false;
    set_pace(e, pace_of(e));
    if (e->pace == ZKLI_PACE_REST) {
        zkli_timer_clear(&e->timers, &e->stall);
        return;
    }
    beat_after(e, zkli_lease_period_ns(e->lease.timeout_ns));
    struct zkli_member *witness = zkli_members_witness(e);
    bool is_sync = e->pace == ZKLI_PACE_SYNCS && !is_barrier_due(e);
    if (is_sync ? send_sync(e) : send_barrier(e, witness)) {
        e->slots[ZKLI_SLOT_HEARTBEAT] = (struct zkli_slot){.use = ZKLI_USE_HEARTBEAT,
                                                           .member = is_sync ? NULL : witness};
        e->in_flight++;
        e->counts.heartbeats++;
        if (!is_sync && witness != NULL)
            witness->asked_ns = e->now_ns;
        zkli_silence_listen(e);
    } else {
        zkli_look_later(e); /* perhaps the session is over, and the port has not said so */
    }
    zkli_members_step_all(e, ZKLI_EV_HEARTBEAT);
}

/* A server that answers pings and commits nothing looks like a good one. */
static void log_stall(struct zkli_timer *timer) {
    struct zkli_engine *e = ZKLI_CONTAINER(timer, struct zkli_engine, stall);
    if (!zkli_is_connected(e)) { /* that is told by its own event */
        zkli_timer_set(&e->timers, &e->stall, e->now_ns + e->timeout_ms * ZKLI_NS_PER_MS / 4);
        return;
    }
    zkli_engine_log(e, ZKL_LOG_WARN,
                    "connected, but no heartbeat has been committed for %d ms: holds are lost and "
                    "none is granted until the servers commit again",
                    e->timeout_ms);
}

/* From now on, unless a heartbeat is committed before. */
static void expect_heartbeats(struct zkli_engine *e) {
    zkli_timer_set(&e->timers, &e->stall, e->now_ns + e->timeout_ms * ZKLI_NS_PER_MS);
}

/* On a new connection: what was not committed before it is not this one's fault. */
static void expect_heartbeats_again(struct zkli_engine *e, bool is_new) {
    int64_t soon_ns = e->now_ns + e->timeout_ms * ZKLI_NS_PER_MS / 4;
    if (is_new)
        expect_heartbeats(e);
    else if (zkli_timer_is_set(&e->stall) && e->stall.at_ns < soon_ns)
        zkli_timer_set(&e->timers, &e->stall, soon_ns);
}

/* Stopped, or on a machine that was: then it is no server's fault that nothing was committed. */
void zkli_engine_late(struct zkli_engine *e, int64_t late_ns) {
    int64_t quarter_ns = e->timeout_ms * ZKLI_NS_PER_MS / 4;
    if (late_ns < quarter_ns || late_ns < ZKLI_NS_PER_S)
        return;
    zkli_engine_log(e, ZKL_LOG_WARN, "this process stood still for %lld ms",
                    (long long)(late_ns / ZKLI_NS_PER_MS));
    expect_heartbeats_again(e, false);
}

void zkli_heartbeat_want(struct zkli_engine *e) {
    if (zkli_is_connected(e) && !zkli_timer_is_set(&e->stall))
        expect_heartbeats(e);
    if (e->pace == ZKLI_PACE_BARRIERS && zkli_timer_is_set(&e->heartbeat))
        return;
    set_pace(e, ZKLI_PACE_BARRIERS);
    e->is_heartbeat_wanted = true;
}

static void on_heartbeat_due(struct zkli_timer *timer) {
    send_heartbeat(ZKLI_CONTAINER(timer, struct zkli_engine, heartbeat));
}

void zkli_heartbeat_hasten(struct zkli_engine *e) {
    if (!e->is_heartbeat_wanted || !zkli_is_connected(e) || zkli_heartbeat_is_in_flight(e))
        return;
    send_heartbeat(e);
}

/* ---- Answers ---- */

/* It proves nothing, whatever the reason. An overloaded server says so, and is asked again. A node
 * that the heartbeat did not find, or may not look at, is not asked for again. */
static void on_refused(struct zkli_engine *e, struct zkli_member *m,
                       const struct zkli_reply *reply) {
    if (reply->code != e->heartbeat_refusal)
        zkli_engine_log(e, ZKL_LOG_WARN,
                        "a heartbeat proves nothing: the server's answer is code %d", reply->code);
    e->heartbeat_refusal = reply->code;
    if (m == NULL || reply->result == ZKLI_RESULT_AGAIN)
        return;
    m->refused_czxid = m->core.czxid;
    if (reply->result == ZKLI_RESULT_DENIED)
        zkli_member_unwatch(m);
    if (reply->result == ZKLI_RESULT_NO_NODE)
        zkli_member_node_gone(m);
}

/* Where little is left of the lease, and on a connection that follows another one, more is proved
 * as soon as it can be: there may be a hold that has not much time left. */
static void hurry(struct zkli_engine *e) {
    int64_t at_ns = zkli_lease_hurry_ns(&e->lease);
    if (e->pace == ZKLI_PACE_BARRIERS && zkli_timer_is_set(&e->heartbeat) &&
        at_ns < e->heartbeat.at_ns)
        beat_after(e, at_ns > e->now_ns ? at_ns - e->now_ns : 0);
}

/* Syncs come in pairs: of two heartbeats in a row a follower loses one at most. The second goes out
 * when the first is answered, the next pair a pause after that. Where a sync takes long, what the
 * last pairs have proved would at times be too old for a hold to begin. So the next one is sent
 * like any heartbeat. */
static void go_on(struct zkli_engine *e, bool is_answered) {
    if (!zkli_is_connected(e))
        return;
    bool is_slow = e->now_ns - e->heartbeat_sent_ns > e->lease.timeout_ns / SLOW_SYNC;
    bool is_pair = e->pace == ZKLI_PACE_SYNCS && is_answered && !is_slow;
    e->is_second_due = is_pair && !e->is_second_due;
    if (e->is_second_due)
        send_heartbeat(e);
    else if (is_pair)
        beat_after(e, zkli_lease_pause_ns(e->lease.timeout_ns));
    else if (!zkli_timer_is_set(&e->heartbeat)) /* it was due while this one was in flight */
        beat_after(e, 0);
    if (is_answered)
        hurry(e);
}

static void count_answer(struct zkli_engine *e, enum zkli_result result) {
    int64_t took_ns = e->now_ns - e->heartbeat_sent_ns;
    int64_t left_ns = e->lease.certain_until_ns - e->now_ns;
    bool is_late = result == ZKLI_RESULT_LOST ||
                   took_ns > zkli_lease_period_ns(e->lease.timeout_ns);
    if (is_late) {
        e->counts.late_heartbeats++;
        ZKLI_PROBE3(late_heartbeat, e->session_id, took_ns / ZKLI_NS_PER_US,
                    left_ns / ZKLI_NS_PER_US);
    }
    if (result == ZKLI_RESULT_OK && left_ns < e->counts.least_certain_ns && zkli_members_hold(e))
        e->counts.least_certain_ns = left_ns;
}

/*
 * The port reports the end of a connection before it fails the requests in flight. It reports a new
 * connection before it delivers the answers that came over it. So an answer that comes while the
 * engine knows of no connection is of a connection that was not reported. What that answer proves
 * cannot be known, and it is left out.
 *
 * A heartbeat that is lost while the engine knows of a connection says that the end was not
 * reported; or it is a server's own answer. So the port is looked at.
 *
 * One new connection cannot be seen: neither its beginning was reported nor the end of the one
 * before it. It shows only by another timeout, or by an answer that is lost. With the same timeout
 * it does not matter to what barriers have proved (lease.h).
 */
void zkli_heartbeat_answered(struct zkli_engine *e, struct zkli_member *m,
                             const struct zkli_reply *reply) {
    zkli_heartbeat_note_timeout(e);
    zkli_silence_broken(e, reply->result != ZKLI_RESULT_LOST);
    count_answer(e, reply->result);
    if (reply->result != ZKLI_RESULT_OK && reply->result != ZKLI_RESULT_LOST)
        on_refused(e, m, reply);
    if (reply->result == ZKLI_RESULT_LOST)
        zkli_look_later(e);
    else if (zkli_is_connected(e))
        zkli_timer_clear(&e->timers, &e->look);
    if (reply->result == ZKLI_RESULT_OK && zkli_is_connected(e)) {
        e->heartbeat_refusal = 0;
        zkli_lease_heartbeat(&e->lease, e->heartbeat_kind, e->heartbeat_sent_ns, e->now_ns);
        expect_heartbeats(e);
        lease_changed(e);
    }
    go_on(e, reply->result == ZKLI_RESULT_OK);
}

/* ---- Life ---- */

void zkli_heartbeat_init(struct zkli_engine *e) {
    zkli_timer_init(&e->heartbeat, on_heartbeat_due);
    zkli_timer_init(&e->stall, log_stall);
    zkli_silence_init(e);
}

/* Waiters do not all ask at once when many sessions lose their server together. */
static void begin_later(struct zkli_engine *e) {
    uint32_t random;
    e->host->random(e->host_arg, &random, sizeof(random));
    int64_t part_ns = (e->lease.timeout_ns / 8) >> 16;
    beat_after(e, part_ns * (random & 0xffff));
}

static void begin_lease(struct zkli_engine *e, enum zkli_beginning beginning) {
    int64_t timeout_ns = e->timeout_ms * ZKLI_NS_PER_MS;
    if (beginning == ZKLI_BEGINS_SESSION)
        zkli_lease_begin(&e->lease, timeout_ns, e->begun_ns);
    else if (beginning == ZKLI_BEGINS_CONNECTION)
        zkli_lease_reconnect(&e->lease, timeout_ns, e->now_ns);
    else
        zkli_lease_rejoin(&e->lease, timeout_ns, e->now_ns);
    if (beginning == ZKLI_BEGINS_SESSION && e->is_attached)
        zkli_lease_join(&e->lease, e->now_ns);
}

void zkli_heartbeat_begin(struct zkli_engine *e, enum zkli_beginning beginning) {
    bool is_new_session = beginning == ZKLI_BEGINS_SESSION;
    begin_lease(e, beginning);
    e->pace = ZKLI_PACE_BARRIERS; /* as it can be */
    lease_changed(e);
    zkli_sights_doubt(e);
    expect_heartbeats_again(e, is_new_session);
    e->is_second_due = false;
    if (is_new_session || pace_of(e) != ZKLI_PACE_SYNCS) {
        send_heartbeat(e);
        return;
    }
    set_pace(e, ZKLI_PACE_SYNCS); /* so that who comes does not wait for it */
    begin_later(e);
}

void zkli_heartbeat_suspend(struct zkli_engine *e) {
    zkli_timer_clear(&e->timers, &e->heartbeat);
    zkli_silence_end(e);
}

void zkli_heartbeat_end(struct zkli_engine *e) {
    zkli_heartbeat_suspend(e);
    zkli_timer_clear(&e->timers, &e->stall);
    zkli_lease_end(&e->lease);
    e->lease_grade = ZKLI_LEASE_UNCERTAIN;
}
