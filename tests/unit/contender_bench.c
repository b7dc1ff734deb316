/* See contender_bench.h. */
#include "unit/contender_bench.h"

#include <inttypes.h>

unsigned step_as_set(struct zkli_contender *c, struct zkli_contender_event *e,
                     char predecessor[ZKLI_CHILD_MAX + 1]) {
    e->predecessor = predecessor[0] == '\0' ? NULL : predecessor;
    struct zkli_actions actions = zkli_contender_step(c, e);
    if (actions.predecessor != NULL)
        memcpy(predecessor, actions.predecessor, strlen(actions.predecessor) + 1);
    /* As the engine drops the watch: see adjust in members.c. Watches go with their session. */
    if (c->state == ZKLI_FRONTING || c->state == ZKLI_HELD || c->state == ZKLI_CLEARING ||
        c->state == ZKLI_LEAVING || e->type == ZKLI_EV_EXPIRED)
        predecessor[0] = '\0';
    unsigned asks = 0, notices = 0;
    for (size_t i = 0; i < actions.flight_count; i++) {
        CHECK((asks & ZKLI_ASK_LIST) == 0);
        CHECK(actions.flight[i] == ZKLI_ASK_LIST || actions.flight[i] > asks);
        asks |= actions.flight[i];
    }
    for (size_t i = 0; i < actions.notice_count; i++) {
        unsigned notice = (unsigned)ZKLI_TELL_REQUEUED << actions.notices[i];
        CHECK(notice > notices);
        notices |= notice;
    }
    return asks | notices | (actions.is_retried ? (unsigned)ZKLI_DO_RETRY : 0u);
}

/* ---- Rules ---- */

/* The end of the predecessor admits: it was the only one that kept the contender out, and no reader
 * may have taken the place of a writer that has gone. */
static bool is_end_of_queue(const struct zkli_contender *was) {
    if (was->kind == ZKLI_KIND_READ)
        return was->staying == 1; /* whatever readers are there */
    return was->position == 1 && was->predecessor_kind != ZKLI_KIND_WRITE;
}

/* What may be the reason of a grant. */
static bool may_grant(const struct zkli_contender *was, const struct zkli_contender *is,
                      const struct zkli_contender_event *e) {
    if (!e->is_ample || is->node[0] == '\0' || is->owner != e->session_id)
        return false;
    if (e->type == ZKLI_EV_PREDECESSOR_EVENT)
        return was->state == ZKLI_WAITING && e->is_deleted && is_end_of_queue(was) &&
               was->listed_on == e->connection;
    if (was->state == ZKLI_ARMING) /* it is gone, as if its watch had fired */
        return zkli_contender_result_of(is, ZKLI_ASK_PREDECESSOR) == ZKLI_RESULT_NO_NODE &&
               e->is_connected && is_end_of_queue(was) && was->listed_on == e->connection;
    if (was->state == ZKLI_ADMITTED)
        return e->is_connected && is->own_watch == ZKLI_WATCHED && was->listed_on == e->connection;
    bool is_listed = e->type == ZKLI_EV_LISTED || e->type == ZKLI_EV_CREATED ||
                     e->type == ZKLI_EV_BARRIER || e->type == ZKLI_EV_OWN_READ ||
                     e->type == ZKLI_EV_DIRECTORY_READ || e->type == ZKLI_EV_TOUCHED;
    bool has_permits = is->kind != ZKLI_KIND_LEASE || is->recorded.state == ZKLI_PERMITS_RECORDED;
    return is_listed && has_permits && is->verdict == ZKLI_VERDICT_ADMITTED;
}

static const char *grant_broken(const struct zkli_contender *was, const struct zkli_contender *is,
                                const struct zkli_contender_event *e, unsigned actions) {
    bool is_granted = (actions & ZKLI_DO_GRANT) != 0, is_lost = (actions & ZKLI_DO_LOSE) != 0;
    if (is_granted != (zkli_contender_holds(is) && !zkli_contender_holds(was)))
        return "to be granted is to be held";
    if (is_granted && was->is_grouped && e->type != ZKLI_EV_GRANT)
        return "one of several is granted alone";
    if (is_granted && !may_grant(was, is, e))
        return "granted without a reason, a node of the session, or an ample lease";
    bool is_goodbye = e->type == ZKLI_EV_RELEASE || e->type == ZKLI_EV_ABANDON;
    if (is_lost != (zkli_contender_holds(was) && !zkli_contender_holds(is) && !is_goodbye))
        return "a hold that ends unasked is lost, and nothing else is";
    return NULL;
}

static const char *end_broken(const struct zkli_contender *was, const struct zkli_contender *is,
                              const struct zkli_contender_event *e, unsigned actions) {
    bool is_failed = (actions & ZKLI_DO_FAIL) != 0, is_lost = (actions & ZKLI_DO_LOSE) != 0;
    if (zkli_contender_has_left(was) && (!zkli_contender_has_left(is) || is_failed))
        return "who has left comes back";
    if (is_failed && (!zkli_contender_has_left(is) || is->error == ZKL_OK))
        return "failed without leaving, or without an error";
    if (zkli_contender_has_left(is) && !zkli_contender_has_left(was) && !is_failed && !is_lost &&
        e->type != ZKLI_EV_RELEASE)
        return "left without a word";
    if (((actions & ZKLI_DO_FORGET) != 0) != (is->state == ZKLI_GONE))
        return "to be gone is to be forgotten";
    if (is->state == ZKLI_GONE && (actions & (ZKLI_ASKS | ZKLI_DO_RETRY)) != 0)
        return "gone, and asks for something";
    if (is->state == ZKLI_LEAVING && is->node[0] != '\0' && !zkli_contender_is_parked(is) &&
        is->in_flight != (unsigned)ZKLI_ASK_DELETE)
        return "leaving, and its node is not being deleted";
    if (is->state == ZKLI_CLAIMING && (actions & ZKLI_ASKS & ~(unsigned)ZKLI_ASK_OWNER) != 0)
        return "does more than read a node that may be another's";
    if (was->state == ZKLI_CLAIMING && is->state == ZKLI_LEAVING && is->owner != e->session_id)
        return "deletes a node that is another's";
    if (is->state == ZKLI_LEAVING && (actions & ZKLI_ASK_CREATE) != 0)
        return "creates while leaving";
    return NULL;
}

static const char *turn_broken(const struct zkli_contender *was, const struct zkli_contender *is,
                               unsigned actions) {
    bool is_reader_now = is->kind != was->kind;
    if ((actions & ZKLI_ASK_TURN) != 0 && (is->state != ZKLI_TURNING || !is->has_reader))
        return "a transaction to become a reader, and what for";
    if (is_reader_now && (was->state != ZKLI_TURNING || is->state != ZKLI_HELD ||
                          !zkli_contender_has_reader(was, is->node) || is->czxid != was->czxid))
        return "a reader without its node, or without the writer's token";
    if (is_reader_now && (actions & ZKLI_TELL_TURNED) == 0)
        return "a reader without a word";
    if (was->state == ZKLI_TURNING && is->state == ZKLI_HELD && (actions & ZKLI_TELL_TURNED) == 0)
        return "the end of a turn without a word";
    if (zkli_contender_holds(is) && is->state == ZKLI_HELD && is->own_watch == ZKLI_WATCHED &&
        was->state == ZKLI_TURNING)
        return "a watch that may have fired counts";
    return NULL;
}

static const char *memory_broken(const struct zkli_contender *is) {
    if (is->node[0] == '\0' && (is->czxid != 0 || is->owner != 0))
        return "a token or an owner without a node";
    if (is->node[0] == '\0' && is->verdict != ZKLI_VERDICT_ABSENT)
        return "a verdict on a node that is forgotten";
    return NULL;
}

static const char *flow_broken(const struct zkli_contender *was, const struct zkli_contender *is,
                               const struct zkli_contender_event *e, unsigned actions) {
    unsigned ops = actions & ZKLI_ASKS;
    if ((ops & ~is->in_flight) != 0)
        return "asked for, and not noted as in flight";
    bool is_parked = zkli_contender_is_parked(is), is_first = is->state == ZKLI_ADMITTED;
    bool rests = zkli_contender_rests(is) || is->state == ZKLI_HELD || is->state == ZKLI_GONE;
    bool is_turning = is->state == ZKLI_TURNING, awaits_others = is->state == ZKLI_SEARCHED;
    if (!is_parked && is->in_flight == 0 && !rests && !is_first && !is_turning && !awaits_others)
        return "waits for nothing";
    bool owes = is->owes_touch && (is->in_flight & ZKLI_ASK_TOUCH) == 0;
    bool may_retry = (is_parked && is->in_flight == 0) || owes ||
                     (is_first && (is->in_flight & ~(unsigned)ZKLI_ASK_TOUCH) == 0) ||
                     (is_turning && (is->in_flight & ~(unsigned)ZKLI_ASK_OWN) == 0);
    if ((actions & ZKLI_DO_RETRY) != 0 && (!may_retry || !e->is_connected))
        return "a retry for nothing";
    if (is_turning && was->in_flight != 0 && (is->in_flight & ~(unsigned)ZKLI_ASK_OWN) == 0 &&
        (was->in_flight & ~(unsigned)ZKLI_ASK_OWN) != 0 && e->is_connected &&
        (actions & ZKLI_DO_RETRY) == 0)
        return "turns, and waits for nothing";
    bool is_awake = e->type == ZKLI_EV_CONNECTED || e->type == ZKLI_EV_RETRY;
    bool stays_parked = zkli_contender_is_parked(was) && was->state == is->state && !is_awake;
    if (is_parked && !stays_parked && e->is_connected && (actions & ZKLI_DO_RETRY) == 0 &&
        e->type != ZKLI_EV_EXPIRED)
        return "parked while connected, without a retry";
    if ((ops & ZKLI_ASK_CREATE) != 0 && (is->node[0] != '\0' || is->state != ZKLI_ENQUEUING))
        return "creates a second node";
    bool is_new_place = (actions & ZKLI_TELL_REQUEUED) != 0 || was->state == ZKLI_CLEARING;
    if (is_new_place && is->state != ZKLI_CLEARING && !zkli_contender_has_left(is) &&
        (is->node[0] != '\0' || !zkli_uuid_is_same(is->uuid, e->fresh_uuid)))
        return "a new place under the old name";
    if (is->state == ZKLI_CLEARING && (ops & ~(unsigned)ZKLI_ASK_DELETE) != 0)
        return "asks for more before its last node has gone";
    if (is->state == ZKLI_FRONT && is->recorded.state != ZKLI_PERMITS_RECORDED)
        return "waits for permits of which it does not know how many there are";
    if (is->state == ZKLI_WAITING && (is->own_watch != ZKLI_WATCHED || is->position == 0))
        return "waits without its watches";
    bool is_resumed = e->type == ZKLI_EV_CONNECTED || e->type == ZKLI_EV_RETRY ||
                      e->type == ZKLI_EV_LEASE;
    bool is_retried = (actions & ZKLI_DO_RETRY) != 0 ||
                      (was->state == ZKLI_ADMITTED && was->in_flight == 0 && !is_resumed &&
                       (was->own_watch != ZKLI_WATCHED || was->listed_on != e->connection));
    if (is_first && !is_retried && is->in_flight == 0 && e->is_connected &&
        (is->own_watch != ZKLI_WATCHED || is->listed_on != e->connection))
        return "first, and nobody watches its node";
    return NULL;
}

const char *rule_broken(const struct zkli_contender *was, const struct zkli_contender *is,
                        const struct zkli_contender_event *e, unsigned actions) {
    const char *broken = grant_broken(was, is, e, actions);
    if (broken == NULL)
        broken = end_broken(was, is, e, actions);
    if (broken == NULL)
        broken = memory_broken(is);
    if (broken == NULL)
        broken = turn_broken(was, is, actions);
    return broken == NULL ? flow_broken(was, is, e, actions) : broken;
}

/* ---- The bench ---- */

static void bench_new_uuid(struct bench *b) {
    uint8_t random[10] = {0};
    random[9] = ++b->uuids;
    zkli_uuid_format(b->fresh_uuid, "12345678-9abc", random);
}

static void name_as(enum zkli_kind kind, const char *uuid, int64_t number,
                    char ret_name[ZKLI_CHILD_MAX + 1]) {
    char prefix[ZKLI_PREFIX_MAX + 1];
    zkli_node_prefix_format(prefix, kind, uuid);
    (void)snprintf(ret_name, ZKLI_CHILD_MAX + 1, "%s%010" PRId64, prefix, number);
}

void bench_name(const char *uuid, int64_t number, char ret_name[ZKLI_CHILD_MAX + 1]) {
    name_as(ZKLI_KIND_MUTEX, uuid, number, ret_name);
}

void bench_lease(struct bench *b, enum lease lease) {
    b->world.is_certain = lease != UNCERTAIN;
    b->world.is_ample = lease == AMPLE;
}

void bench_init_as(struct bench *b, enum zkli_kind kind, bool is_try) {
    memset(b, 0, sizeof(*b));
    b->kind = kind;
    b->others = ZKLI_KIND_MUTEX;
    bench_new_uuid(b);
    memset(&b->c, 0xff, sizeof(b->c));
    zkli_contender_init(&b->c, kind, b->fresh_uuid, is_try, DEPTH);
    bench_new_uuid(b);
    b->world = (struct zkli_contender_event){
        .is_connected = true, .connection = 1, .session_id = SESSION};
    bench_lease(b, AMPLE);
}

void bench_init(struct bench *b, bool is_try) {
    bench_init_as(b, ZKLI_KIND_MUTEX, is_try);
}

void bench_semaphore(struct bench *b, int permits, bool is_try) {
    bench_init(b, is_try);
    b->c.kind = b->kind = b->others = ZKLI_KIND_LEASE;
    b->c.permits = permits;
    bench_record(b, 1, 1);
}

void bench_record(struct bench *b, int count, int max) {
    b->directory = (struct zkli_permits){.state = ZKLI_PERMITS_RECORDED,
                                         .count = count,
                                         .max = max,
                                         .czxid = 77,
                                         .version = b->directory.version + 1};
}

void bench_orphan(struct bench *b) {
    char node[ZKLI_CHILD_MAX + 1];
    bench_name(b->c.uuid, OWN_NUMBER, node);
    memset(&b->c, 0xff, sizeof(b->c));
    zkli_contender_init_orphan(&b->c, node);
}

void bench_reconnect(struct bench *b) {
    b->world.is_connected = true;
    b->world.connection++;
}

unsigned say(struct bench *b, struct zkli_contender_event e) {
    struct zkli_contender was = b->c;
    e.is_connected = b->world.is_connected;
    e.is_certain = b->world.is_certain;
    e.is_ample = b->world.is_ample;
    e.must_look_first = b->world.must_look_first;
    e.has_waited = b->world.has_waited;
    e.connection = b->world.connection;
    e.session_id = b->world.session_id;
    e.fresh_uuid = b->fresh_uuid;
    e.permits = &b->permits;
    b->actions = step_as_set(&b->c, &e, b->predecessor);
    const char *broken = rule_broken(&was, &b->c, &e, b->actions);
    if (broken != NULL)
        test_note("%s: event %d with result %d, from %s to %s, actions 0x%x", broken, e.type,
                  e.result, zkli_contender_state_name(was.state),
                  zkli_contender_state_name(b->c.state), b->actions);
    CHECK(broken == NULL);
    if (zkli_uuid_is_same(b->c.uuid, b->fresh_uuid))
        bench_new_uuid(b);
    return b->actions;
}

unsigned news(struct bench *b, enum zkli_contender_event_type type) {
    return say(b, (struct zkli_contender_event){.type = type});
}

unsigned fired(struct bench *b, enum zkli_contender_event_type type, bool is_deleted) {
    return say(b, (struct zkli_contender_event){.type = type, .is_deleted = is_deleted});
}

unsigned give_up(struct bench *b) {
    return say(b, (struct zkli_contender_event){.type = ZKLI_EV_ABANDON, .error = ZKL_CANCELED});
}

unsigned reply(struct bench *b, enum zkli_contender_event_type type, enum zkli_result result) {
    char node[ZKLI_CHILD_MAX + 1];
    name_as(b->kind, b->c.uuid, OWN_NUMBER, node);
    if (type == ZKLI_EV_DIRECTORY_READ && result == ZKLI_RESULT_OK)
        b->permits = b->directory;
    return say(b, (struct zkli_contender_event){.type = type,
                                                .result = result,
                                                .node = node,
                                                .is_touched = b->are_touched,
                                                .czxid = 1000 + OWN_NUMBER,
                                                .owner = SESSION});
}

static void bench_add(struct bench *b, enum zkli_kind kind, const char *uuid, int64_t number) {
    size_t n = b->listing.count++;
    name_as(kind, uuid, number, b->names[n]);
    b->siblings[n] = (struct zkli_sibling){b->names[n], kind,
                                           number + (b->listing.is_by_czxid ? 1000 : 0), false};
}

static void add_own(struct bench *b, int64_t number) {
    bench_add(b, b->kind, b->c.uuid, number);
}

#define OTHERS_UUID "ffffffff-4e5f-4061-8273-8495a6b7c8d9"

static void add_other(struct bench *b, int64_t number) {
    struct zkli_sibling *other = &b->siblings[b->listing.count];
    bench_add(b, ZKLI_KIND_MUTEX, OTHERS_UUID, number);
    other->kind = b->others; /* foreign ones have many names */
    other->is_leaving = b->others_leave;
}

/* Readers and writers before ours. */
static void add_sharers(struct bench *b, enum crowd crowd) {
    static const enum zkli_kind kinds[CROWDS][2] = {
        [BEHIND_READER] = {ZKLI_KIND_NONE, ZKLI_KIND_READ},
        [BEHIND_READERS] = {ZKLI_KIND_READ, ZKLI_KIND_READ},
        [BEHIND_WRITER] = {ZKLI_KIND_NONE, ZKLI_KIND_WRITE},
        [BEHIND_WRITERS] = {ZKLI_KIND_WRITE, ZKLI_KIND_WRITE},
        [BEHIND_READER_AND_WRITER] = {ZKLI_KIND_READ, ZKLI_KIND_WRITE},
        [BEHIND_WRITER_AND_READER] = {ZKLI_KIND_WRITE, ZKLI_KIND_READ},
        [BEHIND_TURNED] = {ZKLI_KIND_NONE, ZKLI_KIND_READ},
    };
    for (int i = 0; i < 2; i++)
        if (kinds[crowd][i] != ZKLI_KIND_NONE)
            bench_add(b, kinds[crowd][i], OTHERS_UUID, 1 + 2 * i);
    if (crowd == BEHIND_TURNED && b->listing.is_by_czxid)
        b->siblings[b->listing.count - 1].order = 1000 + 2 * OWN_NUMBER;
}

static const struct zkli_listing *bench_listing(struct bench *b, enum crowd crowd) {
    bool is_by_czxid = (b->c.in_flight & ZKLI_ASK_ORDER) != 0;
    b->listing = (struct zkli_listing){.siblings = b->siblings,
                                       .is_by_czxid = is_by_czxid,
                                       .czxid = b->directory.czxid,
                                       .version = b->directory.version};
    if (crowd == TWICE && !b->is_twin_last)
        add_own(b, OWN_NUMBER + 2);
    if (crowd == TURNED)
        bench_add(b, ZKLI_KIND_READ, b->c.uuid, OWN_NUMBER);
    else if (crowd != NOBODY && crowd != OTHERS)
        add_own(b, OWN_NUMBER);
    if (crowd == TWICE && b->is_twin_last)
        add_own(b, OWN_NUMBER + 2);
    if (crowd == BEHIND_TWO || crowd == BEHIND_OTHERS)
        add_other(b, 1);
    if (crowd == BEHIND_HEAD || crowd == BEHIND_TWO || crowd == OTHERS)
        add_other(b, 3);
    if (crowd == BEHIND_OTHERS)
        add_other(b, 4);
    if (crowd == FIRST || crowd == TURNED)
        add_other(b, 9);
    if (crowd == AT_THE_END)
        add_other(b, ZKLI_COUNTER_END);
    add_sharers(b, crowd);
    return &b->listing;
}

unsigned listed(struct bench *b, enum crowd crowd) {
    return say(b, (struct zkli_contender_event){.type = ZKLI_EV_LISTED,
                                                .listing = bench_listing(b, crowd)});
}

unsigned reply_list(struct bench *b, unsigned list) {
    if (list == ZKLI_RESULT_OK)
        return listed(b, NOBODY);
    if (list >= RESULTS)
        return listed(b, (enum crowd)(FIRST + (list - RESULTS)));
    return reply(b, ZKLI_EV_LISTED, (enum zkli_result)list);
}

enum zkli_contender_event_type reply_to(unsigned op) {
    static const enum zkli_contender_event_type types[ZKLI_ASK_COUNT] = {
        ZKLI_EV_PARENT,     ZKLI_EV_CREATED,         ZKLI_EV_BARRIER,          ZKLI_EV_LISTED,
        ZKLI_EV_LISTED,     ZKLI_EV_OWN_READ,        ZKLI_EV_PREDECESSOR_READ, ZKLI_EV_DELETED,
        ZKLI_EV_OWNER_READ, ZKLI_EV_TURNED,          ZKLI_EV_DIRECTORY_READ,   ZKLI_EV_RECORDED,
        ZKLI_EV_TOUCHED,    ZKLI_EV_ASKED_TO_LET_GO, ZKLI_EV_FOLLOWERS,        ZKLI_EV_SINCE_TOLD,
    };
    return types[__builtin_ctz(op)];
}

void answer_all(struct bench *b, enum zkli_result result) {
    unsigned flight = b->c.in_flight;
    for (unsigned i = 0; i < ZKLI_ASK_COUNT; i++)
        if ((flight & BIT(i)) != 0)
            reply(b, reply_to(BIT(i)), result);
}

/* ---- Ways to a state; each begins anew ---- */

void to_enqueuing(struct bench *b) {
    bench_init(b, false);
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
}

void to_housing(struct bench *b) {
    to_enqueuing(b);
    reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_NO_NODE);
    CHECK_ACTIONS(reply(b, ZKLI_EV_LISTED, ZKLI_RESULT_NO_NODE), PARENT_CREATE_AND_LIST);
}

void to_placed(struct bench *b, enum crowd crowd) {
    to_enqueuing(b);
    reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    listed(b, crowd);
}

void to_waiting(struct bench *b, enum crowd crowd) {
    to_placed(b, crowd);
    answer_all(b, ZKLI_RESULT_OK);
    CHECK_STATE(b, "waiting");
}

void to_held(struct bench *b) {
    to_placed(b, FIRST);
    CHECK_STATE(b, "held");
}

void to_writing(struct bench *b) {
    bench_init_as(b, ZKLI_KIND_WRITE, false);
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
    reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    listed(b, FIRST);
    CHECK_STATE(b, "held");
}

void to_unsure(struct bench *b) {
    to_enqueuing(b);
    b->world.is_connected = false;
    answer_all(b, ZKLI_RESULT_LOST);
    CHECK_STATE(b, "unsure");
}

void to_searching(struct bench *b) {
    to_unsure(b);
    bench_reconnect(b);
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), BARRIER_AND_LIST);
}

void to_adopting(struct bench *b, enum crowd crowd) {
    to_searching(b);
    reply(b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(b, crowd), OWN_AND_LIST);
}

unsigned read_directory(struct bench *b) {
    return reply(b, ZKLI_EV_DIRECTORY_READ, ZKLI_RESULT_OK);
}

void to_created(struct bench *b, int permits) {
    bench_semaphore(b, permits, false);
    CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), CREATE_AND_LIST | ZKLI_ASK_DIRECTORY);
    reply(b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
}

void to_read(struct bench *b) {
    to_created(b, 0);
    read_directory(b);
}
