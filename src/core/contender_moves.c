/*
 * contender_moves - the steps that the contender's decisions are made of; see contender_moves.h.
 */
#include "core/contender_moves.h"

#include <assert.h>
#include <string.h>

#include "zklock.h"

#define BIT(state) (1u << (state))
#define FROM_ANY_WAIT (BIT(ZKLI_LEAVING) | BIT(ZKLI_GONE) | BIT(ZKLI_IDLE))
#define ANEW (BIT(ZKLI_PROBING) | BIT(ZKLI_ENQUEUING))
/* What a listing may come to. */
#define PLACED                                                                                     \
    (BIT(ZKLI_RECORDING) | BIT(ZKLI_ORDERING) | BIT(ZKLI_ARMING) | BIT(ZKLI_FRONTING) |            \
     BIT(ZKLI_ADMITTED))
/* From where our node is known. */
#define WITH_NODE (FROM_ANY_WAIT | ANEW | BIT(ZKLI_CLEARING))

/* Whether a contender in the state has requests in flight, between two events. */
enum flight {
    SOMETIMES,
    NEVER,
    ALWAYS
};

static const struct {
    const char *name;
    enum flight flight;
    unsigned next; /* states it may move to */
} states[ZKLI_CONTENDER_STATES] = {
    [ZKLI_IDLE] = {"idle", NEVER, FROM_ANY_WAIT | ANEW},
    [ZKLI_PROBING] = {"probing", SOMETIMES, FROM_ANY_WAIT | BIT(ZKLI_ENQUEUING) | BIT(ZKLI_ASKING)},
    [ZKLI_PARENTING] = {"parenting", SOMETIMES, FROM_ANY_WAIT | BIT(ZKLI_ENQUEUING)},
    [ZKLI_ENQUEUING] = {"enqueuing", ALWAYS,
                        WITH_NODE | BIT(ZKLI_PARENTING) | BIT(ZKLI_UNSURE) | BIT(ZKLI_SEARCHING) |
                            BIT(ZKLI_LISTING) | PLACED},
    [ZKLI_UNSURE] = {"unsure", NEVER, FROM_ANY_WAIT | BIT(ZKLI_SEARCHING)},
    [ZKLI_SEARCHING] = {"searching", ALWAYS,
                        FROM_ANY_WAIT | ANEW | BIT(ZKLI_UNSURE) | BIT(ZKLI_SEARCHED) |
                            BIT(ZKLI_ADOPTING)},
    [ZKLI_SEARCHED] = {"searched", NEVER, WITH_NODE | BIT(ZKLI_ADOPTING)},
    [ZKLI_ADOPTING] = {"adopting", ALWAYS,
                       WITH_NODE | BIT(ZKLI_UNSURE) | BIT(ZKLI_LISTING) | PLACED},
    [ZKLI_LISTING] = {"listing", SOMETIMES, WITH_NODE | PLACED | BIT(ZKLI_WAITING)},
    [ZKLI_ORDERING] = {"ordering", ALWAYS,
                       WITH_NODE | BIT(ZKLI_LISTING) | PLACED | BIT(ZKLI_WAITING) |
                           BIT(ZKLI_FRONT)},
    [ZKLI_ARMING] = {"arming", ALWAYS,
                     WITH_NODE | BIT(ZKLI_LISTING) | BIT(ZKLI_WAITING) | BIT(ZKLI_ADMITTED)},
    [ZKLI_WAITING] = {"waiting", NEVER,
                      WITH_NODE | BIT(ZKLI_LISTING) | BIT(ZKLI_ARMING) | BIT(ZKLI_ADMITTED)},
    [ZKLI_RECORDING] = {"recording", ALWAYS, WITH_NODE | BIT(ZKLI_LISTING)},
    [ZKLI_FRONTING] = {"fronting", ALWAYS,
                       WITH_NODE | PLACED | BIT(ZKLI_LISTING) | BIT(ZKLI_FRONT)},
    [ZKLI_FRONT] = {"front", NEVER, WITH_NODE | BIT(ZKLI_LISTING) | BIT(ZKLI_FRONTING)},
    [ZKLI_ASKING] = {"asking", ALWAYS, FROM_ANY_WAIT},
    [ZKLI_ADMITTED] = {"admitted", SOMETIMES, WITH_NODE | BIT(ZKLI_LISTING) | BIT(ZKLI_HELD)},
    [ZKLI_CLEARING] = {"clearing", SOMETIMES, FROM_ANY_WAIT | ANEW},
    [ZKLI_HELD] = {"held", SOMETIMES, BIT(ZKLI_TURNING) | BIT(ZKLI_LEAVING) | BIT(ZKLI_GONE)},
    [ZKLI_TURNING] = {"turning", SOMETIMES, BIT(ZKLI_HELD) | BIT(ZKLI_LEAVING) | BIT(ZKLI_GONE)},
    [ZKLI_CLAIMING] = {"claiming", SOMETIMES, BIT(ZKLI_LEAVING) | BIT(ZKLI_GONE)},
    [ZKLI_LEAVING] = {"leaving", SOMETIMES, BIT(ZKLI_GONE)},
    [ZKLI_GONE] = {"gone", SOMETIMES, 0},
};

const char *zkli_contender_state_name(enum zkli_contender_state state) {
    return states[state].name;
}

void zkli_contender_check(const contender *c) {
    bool has_node = c->node[0] != '\0';
    (void)has_node; /* a build without assertions */
    assert(c->state != ZKLI_HELD ||
           (has_node && !c->has_reader && (c->in_flight & ~ZKLI_ASKS_ASIDE) == 0));
    assert(c->state != ZKLI_TURNING || (has_node && c->has_reader));
    assert(c->state != ZKLI_WAITING ||
           (has_node && c->own_watch == ZKLI_WATCHED && c->predecessor_watch == ZKLI_WATCHED));
    assert(c->state != ZKLI_ADMITTED || (has_node && (c->in_flight & ~ZKLI_ASKS_ASIDE) == 0));
    assert(c->state != ZKLI_FRONT ||
           (has_node && c->own_watch == ZKLI_WATCHED && c->directory_watch == ZKLI_WATCHED &&
            c->children_watch == ZKLI_WATCHED));
    assert((c->in_flight & ZKLI_ASK_TOUCH) == 0 || c->state == ZKLI_ADMITTED ||
           c->state == ZKLI_HELD || c->state == ZKLI_GONE);
    assert((c->in_flight & ZKLI_ASK_SINCE) == 0 || c->state == ZKLI_HELD || c->state == ZKLI_GONE);
    assert((c->state != ZKLI_UNSURE && c->state != ZKLI_SEARCHED) || !has_node);
    assert(c->state != ZKLI_CLEARING || (has_node && (c->is_grouped || c->is_broken)));
    assert(states[c->state].flight != NEVER || c->in_flight == 0);
    assert(states[c->state].flight != ALWAYS || c->in_flight != 0);
}

void zkli_contender_move(contender *c, enum zkli_contender_state to) {
    assert((states[c->state].next & BIT(to)) != 0);
    c->state = to;
}

void zkli_contender_set_results(contender *c, unsigned ops, enum zkli_result result) {
    for (unsigned i = 0; i < ZKLI_ASK_COUNT; i++)
        if ((ops & (1u << i)) != 0)
            c->results[i] = (uint8_t)result;
}

unsigned zkli_contender_send(contender *c, unsigned ops) {
    assert((c->in_flight & ops) == 0);
    c->in_flight |= ops;
    return ops;
}

bool zkli_contender_is_parked(const contender *c) {
    const unsigned parking = BIT(ZKLI_IDLE) | BIT(ZKLI_PROBING) | BIT(ZKLI_PARENTING) |
                             BIT(ZKLI_UNSURE) | BIT(ZKLI_LISTING) | BIT(ZKLI_CLEARING) |
                             BIT(ZKLI_CLAIMING) | BIT(ZKLI_LEAVING);
    return c->in_flight == 0 && (parking & BIT(c->state)) != 0;
}

unsigned zkli_contender_park(contender *c, const event *e) {
    (void)c;                                                 /* a build without assertions */
    assert((c->in_flight & ~(unsigned)ZKLI_ASK_TOUCH) == 0); /* that goes on by itself */
    return e->is_connected ? ZKLI_DO_RETRY : 0;
}

enum zkli_result zkli_contender_result_of(const contender *c, unsigned op) {
    unsigned i = 0;
    while ((1u << i) != op)
        i++;
    return (enum zkli_result)c->results[i];
}

void zkli_contender_forget_node(contender *c) {
    c->node[0] = '\0';
    c->czxid = 0;
    c->owner = 0;
    c->own_watch = ZKLI_UNWATCHED;
    c->listed_on = 0;
    c->verdict = ZKLI_VERDICT_ABSENT;
    c->parent_level = 0;
    c->owes_touch = false;
    c->is_last_look = false;
    c->is_wanted = false;
    c->is_awaited = false;
    c->owes_since = false;
    c->is_broken = false;
    c->directory_watch = c->children_watch = ZKLI_UNWATCHED;
}

/* A semaphore's directory is read if nobody has read it yet, or if it is known to have changed.
 * Else the listing will tell. */
static unsigned directory_too(contender *c, const event *e) {
    zkli_contender_set_results(c, ZKLI_ASK_DIRECTORY, ZKLI_RESULT_OK); /* if it is not asked for */
    bool is_read = c->kind == ZKLI_KIND_LEASE &&
                   (c->needs_permits || e->permits->state == ZKLI_PERMITS_UNKNOWN);
    return is_read ? ZKLI_ASK_DIRECTORY : 0;
}

/* The directory goes with the first node in it, or the server would keep it if we ended now. */
unsigned zkli_contender_enqueue(contender *c, const event *e) {
    bool makes_directory = c->parent_level == 1;
    c->needs_permits = makes_directory;
    zkli_contender_move(c, ZKLI_ENQUEUING);
    return zkli_contender_send(c, ZKLI_ASK_CREATE | ZKLI_ASK_LIST | directory_too(c, e) |
                                      (makes_directory ? ZKLI_ASK_PARENT : 0));
}

unsigned zkli_contender_probe(contender *c, const event *e) {
    return zkli_contender_send(c, ZKLI_ASK_LIST | directory_too(c, e));
}

unsigned zkli_contender_adopt(contender *c, const event *e) {
    zkli_contender_move(c, ZKLI_ADOPTING);
    memcpy(c->node, c->found, sizeof(c->node));
    return zkli_contender_send(c, ZKLI_ASK_OWN | ZKLI_ASK_LIST | directory_too(c, e));
}

unsigned zkli_contender_begin(contender *c, const event *e) {
    if (c->is_try && !c->has_probed) {
        zkli_contender_move(c, ZKLI_PROBING);
        return zkli_contender_probe(c, e);
    }
    if (!e->is_to_be_replaced && !e->is_held_back)
        return zkli_contender_enqueue(c, e);
    if (c->state != ZKLI_IDLE)
        zkli_contender_move(c, ZKLI_IDLE);
    return e->is_to_be_replaced ? ZKLI_DO_AWAIT_SESSION : 0;
}

void zkli_contender_take_uuid(contender *c, const event *e) {
    memcpy(c->uuid, e->fresh_uuid, sizeof(c->uuid));
    if (c->may_be_kept)
        zkli_uuid_mark_kept(c->uuid);
}

void zkli_contender_join(contender *c) {
    c->is_grouped = true;
}

void zkli_contender_share_uuid(contender *c, const char *uuid) {
    memcpy(c->uuid, uuid, sizeof(c->uuid));
}

void zkli_contender_keep(contender *c) {
    c->may_be_kept = true;
    zkli_uuid_mark_kept(c->uuid);
}

void zkli_contender_reader(char ret_child[ZKLI_OWN_CHILD_MAX + 1], const contender *c) {
    zkli_node_name_turn(ret_child, c->node);
}

bool zkli_contender_has_reader(const contender *c, const char *child) {
    char reader[ZKLI_OWN_CHILD_MAX + 1];
    if (!c->has_reader)
        return false;
    zkli_contender_reader(reader, c);
    return strcmp(reader, child) == 0;
}

bool zkli_contender_parts_sharers(const contender *c) {
    enum zkli_kind before = c->predecessor_kind;
    return c->verdict == ZKLI_VERDICT_WATCH_NODE && before != c->kind &&
           (before == ZKLI_KIND_READ || before == ZKLI_KIND_LEASE);
}

/* Nothing tells an idle lease that there are fewer permits than when it was admitted. The first
 * contender is admitted by any number. */
bool zkli_contender_may_idle(const contender *c) {
    bool is_admitted_yet = c->kind != ZKLI_KIND_LEASE || c->position == 0;
    return c->may_be_kept && is_admitted_yet && c->state == ZKLI_HELD &&
           c->children_watch == ZKLI_WATCHED && !c->may_have_followers && !c->is_wanted;
}

unsigned zkli_contender_wanted(contender *c) {
    bool is_news = c->may_be_kept && !c->is_wanted;
    c->is_wanted = c->is_wanted || is_news;
    return is_news ? ZKLI_TELL_WANTED : 0;
}

unsigned zkli_contender_awaited(contender *c) {
    bool is_news = c->tells_awaited && !c->is_awaited;
    c->is_awaited = true; /* a hold that begins inside this one may have to tell */
    return zkli_contender_wanted(c) | (is_news ? ZKLI_TELL_AWAITED : 0);
}

unsigned zkli_contender_begin_anew(contender *c, const event *e) {
    zkli_contender_forget_node(c);
    zkli_contender_take_uuid(c, e);
    c->told_position = 0;
    c->has_probed = false;
    if (!e->is_connected) {
        zkli_contender_move(c, ZKLI_IDLE);
        return 0;
    }
    return zkli_contender_begin(c, e);
}

unsigned zkli_contender_requeue(contender *c, const event *e) {
    if (c->is_broken)
        return zkli_contender_clear(c, e);
    return ZKLI_TELL_REQUEUED | zkli_contender_begin_anew(c, e);
}

unsigned zkli_contender_clear(contender *c, const event *e) {
    unsigned tell = c->state == ZKLI_SEARCHED ? 0 : ZKLI_TELL_REQUEUED; /* there was no place yet */
    if (c->state == ZKLI_SEARCHED)
        memcpy(c->node, c->found, sizeof(c->node));
    if (c->node[0] == '\0')
        return zkli_contender_begin_anew(c, e);
    c->in_flight = 0;
    zkli_contender_move(c, ZKLI_CLEARING);
    return tell | (e->is_connected ? zkli_contender_send(c, ZKLI_ASK_DELETE) : 0);
}

unsigned zkli_contender_forget(contender *c) {
    zkli_contender_move(c, ZKLI_GONE);
    return ZKLI_DO_FORGET;
}

unsigned zkli_contender_search(contender *c) {
    c->found[0] = '\0';
    return zkli_contender_send(c, ZKLI_ASK_BARRIER | ZKLI_ASK_LIST);
}

unsigned zkli_contender_remove_node(contender *c) {
    if (c->node[0] == '\0')
        return zkli_contender_search(c);
    return zkli_contender_send(c, ZKLI_ASK_DELETE);
}

bool zkli_contender_rests(const contender *c) {
    return c->state == ZKLI_WAITING || c->state == ZKLI_FRONT;
}

bool zkli_contender_holds(const contender *c) {
    return c->state == ZKLI_HELD || c->state == ZKLI_TURNING;
}

bool zkli_contender_has_left(const contender *c) {
    return c->state == ZKLI_CLAIMING || c->state == ZKLI_LEAVING || c->state == ZKLI_GONE;
}

/* In a flight, the create's reply may be in while the listing's is not. */
static bool may_have_created(const contender *c) {
    enum zkli_result result = zkli_contender_result_of(c, ZKLI_ASK_CREATE);
    return result == ZKLI_RESULT_LOST || result == ZKLI_RESULT_EXISTS ||
           result == ZKLI_RESULT_NOMEM;
}

bool zkli_contender_is_unsure(const contender *c) {
    if (c->node[0] != '\0')
        return false;
    if (c->state == ZKLI_ENQUEUING)
        return (c->in_flight & ZKLI_ASK_CREATE) == 0 && may_have_created(c);
    return c->state == ZKLI_UNSURE || c->state == ZKLI_SEARCHING || c->state == ZKLI_SEARCHED ||
           c->state == ZKLI_LEAVING;
}

static bool was_refused(const contender *c, unsigned op) {
    enum zkli_result result = zkli_contender_result_of(c, op);
    return result == ZKLI_RESULT_DENIED || result == ZKLI_RESULT_ERROR;
}

bool zkli_contender_is_unsettled(const contender *c) {
    bool has_node = c->node[0] != '\0';
    if (c->state != ZKLI_LEAVING || c->in_flight == ZKLI_ASK_PARENT) /* it has asked for no node */
        return false;
    if (c->in_flight != 0)
        return !has_node || c->has_reader; /* else the delete is under way */
    return has_node ? !was_refused(c, ZKLI_ASK_DELETE)
                    : !was_refused(c, ZKLI_ASK_BARRIER) && !was_refused(c, ZKLI_ASK_LIST);
}

unsigned zkli_contender_leave(contender *c, const event *e) {
    bool may_exist = (c->in_flight & ZKLI_ASK_CREATE) != 0 || zkli_contender_is_unsure(c);
    bool may_make = c->state == ZKLI_PARENTING && c->in_flight != 0;
    if (c->node[0] == '\0' && !may_exist && !may_make)
        return zkli_contender_forget(c);
    /* Replies to anything else are void from here on. */
    c->in_flight &= ZKLI_ASK_CREATE | (may_make ? ZKLI_ASK_PARENT : 0u) |
                    (c->state == ZKLI_SEARCHING ? ZKLI_ASK_BARRIER | ZKLI_ASK_LIST : 0u);
    zkli_contender_move(c, ZKLI_LEAVING);
    if (c->node[0] != '\0')
        return zkli_contender_send(c, ZKLI_ASK_DELETE);
    if (c->in_flight != 0)
        return 0; /* decided when the replies are in */
    return e->is_connected ? zkli_contender_remove_node(c) : 0;
}

/* Where numbers repeat or jump, the order is that of the czxids, and the reader's is a new one. So
 * the hold becomes a reader's for its owner only. */
static bool has_place_by_number(const contender *c) {
    struct zkli_sibling own;
    const struct zkli_listing one = {.siblings = &own, .count = 1};
    bool is_contender = zkli_sibling_parse(&own, c->node);
    assert(is_contender);
    (void)is_contender; /* a build without assertions */
    return !zkli_listing_needs_czxid(&one);
}

unsigned zkli_contender_turn(contender *c, const event *e) {
    if (!has_place_by_number(c))
        return ZKLI_TELL_TURNED;
    c->is_awaited = false; /* others may wait for a reader, or nobody */
    if (c->tells_awaited)
        c->children_watch = ZKLI_UNWATCHED;
    c->has_reader = true;
    zkli_contender_move(c, ZKLI_TURNING);
    return e->is_connected ? zkli_contender_send(c, ZKLI_ASK_TURN) : 0;
}

unsigned zkli_contender_turn_again(contender *c, const event *e) {
    if (!e->is_connected || (c->in_flight & ~ZKLI_ASKS_ASIDE) != 0)
        return 0;
    return zkli_contender_search(c);
}

unsigned zkli_contender_fail(contender *c, const event *e, int error) {
    c->error = error;
    return ZKLI_DO_FAIL | zkli_contender_leave(c, e);
}

unsigned zkli_contender_fail_or_retry(contender *c, const event *e, enum zkli_result result) {
    if (result == ZKLI_RESULT_LOST || result == ZKLI_RESULT_AGAIN)
        return zkli_contender_park(c, e);
    if (result == ZKLI_RESULT_DENIED)
        return zkli_contender_fail(c, e, ZKL_DENIED);
    return zkli_contender_fail(c, e, result == ZKLI_RESULT_NOMEM ? ZKL_NOMEM : ZKL_SERVER);
}

/* Readers mostly stand behind writers, many of them, and all who watch the node would read it. */
static unsigned grant(contender *c, const event *e) {
    zkli_contender_move(c, ZKLI_HELD);
    c->owes_since = e->has_waited && (c->kind == ZKLI_KIND_MUTEX || c->kind == ZKLI_KIND_LEASE);
    return ZKLI_DO_GRANT | (c->is_wanted ? zkli_contender_awaited(c) : 0);
}

unsigned zkli_contender_touch(contender *c, const event *e) {
    bool is_due = c->owes_touch && e->is_connected && (c->in_flight & ZKLI_ASK_TOUCH) == 0;
    return is_due ? zkli_contender_send(c, ZKLI_ASK_TOUCH) : 0;
}

unsigned zkli_contender_admit(contender *c, const event *e) {
    zkli_contender_move(c, ZKLI_ADMITTED);
    c->directory_watch = ZKLI_UNWATCHED;
    /* It does not tell of those who were there before it. */
    if (!c->may_be_kept || (c->tells_awaited && c->may_have_followers))
        c->children_watch = ZKLI_UNWATCHED;
    c->owes_touch = c->kind == ZKLI_KIND_LEASE && c->may_have_followers;
    unsigned touch = zkli_contender_touch(c, e);
    bool is_grant = e->is_ample && !e->must_look_first && !c->is_grouped;
    return touch | (is_grant ? grant(c, e) : zkli_contender_try_to_hold(c, e));
}

unsigned zkli_contender_follow(contender *c, const event *e) {
    bool is_hand_off = c->is_hand_off && e->is_connected && c->listed_on == e->connection;
    return is_hand_off ? zkli_contender_admit(c, e) : zkli_contender_list_again(c, e);
}

/* Once first, a contender stays first while its node exists, and the watch reports the end of that
 * node. So it is granted without another listing. Where answers are slow, the lease would not stay
 * ample for as long as a listing takes. */
unsigned zkli_contender_try_to_hold(contender *c, const event *e) {
    if (!e->is_connected || (c->in_flight & ~(unsigned)ZKLI_ASK_TOUCH) != 0)
        return 0;
    if (c->listed_on != e->connection) {
        if (c->in_flight != 0)
            return 0;          /* a mark goes with the place that it was made for */
        c->owes_touch = false; /* who is admitted anew does */
        return zkli_contender_list_again(c, e);
    }
    if (c->own_watch == ZKLI_NODE_DELETED)
        return 0; /* decided when its mark is in */
    if (c->own_watch != ZKLI_WATCHED || e->must_look_first)
        return zkli_contender_send(c, ZKLI_ASK_OWN);
    return e->is_ample && !c->is_grouped ? grant(c, e) : 0;
}

bool zkli_contender_is_ready(const contender *c, uint64_t connection) {
    return c->state == ZKLI_ADMITTED && c->own_watch == ZKLI_WATCHED && c->listed_on == connection;
}

unsigned zkli_contender_grant(contender *c, const event *e) {
    assert(c->state == ZKLI_ADMITTED);
    return grant(c, e);
}

unsigned zkli_contender_list_again(contender *c, const event *e) {
    if (c->state != ZKLI_LISTING)
        zkli_contender_move(c, ZKLI_LISTING);
    bool is_fresh = e->is_connected && c->listed_on == e->connection;
    if (!is_fresh)
        c->children_watch = ZKLI_UNWATCHED; /* not relied on behind a reconnect */
    zkli_contender_set_results(c, ZKLI_ASK_BARRIER, ZKLI_RESULT_OK); /* if none is asked for */
    return zkli_contender_send(c, ZKLI_ASK_LIST | directory_too(c, e) |
                                      (is_fresh ? 0 : ZKLI_ASK_BARRIER));
}

unsigned zkli_contender_arm_once(contender *c) {
    if (!c->is_last_look || c->own_watch != ZKLI_WATCHED) /* the predecessor's watch stands */
        return zkli_contender_arm(c);
    zkli_contender_move(c, ZKLI_WAITING);
    return 0;
}

unsigned zkli_contender_arm(contender *c) {
    zkli_contender_move(c, ZKLI_ARMING);
    c->directory_watch = c->children_watch = ZKLI_UNWATCHED;
    c->predecessor_watch = ZKLI_UNWATCHED;
    bool is_watched = c->own_watch == ZKLI_WATCHED;
    return zkli_contender_send(c, ZKLI_ASK_PREDECESSOR | (is_watched ? 0 : ZKLI_ASK_OWN));
}
