/*
 * groups - members that are granted in one step, or not at all: several locks of one caller.
 *
 * Their nodes are made in one transaction, so all queues have them in the same order among other
 * callers' nodes: who waits waits for older ones only, and no circle can close. A member that asks
 * for its create waits here until all do. Once admitted it stays so, watching its node, until all
 * are.
 *
 * If one has lost its node, or if after a lost reply not every directory shows the attempt, all
 * begin anew: a node alone, made anew behind others, could close a circle. If one fails, all do.
 *
 * Not here: what a member does in its own queue (core/contender.c).
 */
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- Life ---- */

struct zkli_group *zkli_group_new(struct zkli_engine *e, size_t count) {
    struct zkli_group *group = calloc(1, sizeof(*group) + count * sizeof(struct zkli_member *));
    if (group == NULL)
        return NULL;
    group->engine = e;
    return group;
}

void zkli_group_begin(struct zkli_group *group) {
    for (size_t i = 0; i < group->count; i++)
        zkli_member_connect(group->members[i]);
}

static void abandon_all(struct zkli_group *group, zkl_err error) {
    for (size_t i = 0; i < group->count; i++)
        if (group->members[i] != NULL)
            zkli_member_abandon(group->members[i], error);
}

void zkli_group_drop(struct zkli_group *group) {
    for (size_t i = 0; i < group->count; i++)
        zkli_member_attach(group->members[i], NULL, NULL);
    abandon_all(group, ZKL_CANCELED);
    zkli_group_note_change(group); /* it goes when they have */
}

/* ---- The transaction ---- */

bool zkli_group_is_gathered(const struct zkli_group *group) {
    for (size_t i = 0; i < group->count; i++)
        if (group->members[i] == NULL || !zkli_requests_await_group(group->members[i]))
            return false;
    return true;
}

/* False: not sent. */
static bool send_creates(struct zkli_group *group, unsigned slot, struct zkli_op *ops,
                         struct zkli_create *creates) {
    struct zkli_engine *e = group->engine;
    for (size_t i = 0; i < group->count; i++) {
        zkli_requests_format_create(&creates[i], group->members[i]);
        ops[i] = (struct zkli_op){.type = ZKLI_OP_CREATE,
                                  .path = creates[i].path,
                                  .data = creates[i].data,
                                  .length = (int32_t)creates[i].length,
                                  .flags = ZKLI_CREATE_EPHEMERAL | ZKLI_CREATE_SEQUENTIAL,
                                  .has_our_acl = true};
    }
    return e->port->ops->multi(e->port, slot, ops, group->count);
}

/* The attempt's own uuid, in every directory. */
static void name_attempt(struct zkli_group *group) {
    for (size_t i = 0; i < group->count; i++)
        zkli_contender_share_uuid(&group->members[i]->core, group->engine->fresh_uuid);
    zkli_engine_refresh_uuid(group->engine);
}

static bool has_to_wait(const struct zkli_group *group) {
    for (size_t i = 0; i < group->count; i++)
        if (zkli_owner_holds_back(group->members[i]))
            return true;
    return false;
}

bool zkli_group_send(struct zkli_group *group, enum zkli_result *ret_result) {
    struct zkli_engine *e = group->engine;
    struct zkli_op *ops = calloc(group->count, sizeof(*ops));
    struct zkli_create *creates = calloc(group->count, sizeof(*creates));
    bool waits = has_to_wait(group);
    *ret_result = waits ? ZKLI_RESULT_AGAIN : ZKLI_RESULT_NOMEM;
    name_attempt(group);
    if (!waits && ops != NULL && creates != NULL) {
        unsigned number = zkli_slot_reserve(e, ZKLI_USE_GROUP);
        e->slots[number].group = group;
        *ret_result = ZKLI_RESULT_LOST;
        group->is_sent = send_creates(group, number, ops, creates);
        if (!group->is_sent)
            zkli_slot_release(e, number);
    }
    for (size_t i = 0; i < group->count; i++)
        zkli_requests_skip_create(group->members[i]);
    free(creates);
    free(ops);
    return group->is_sent;
}

struct zkli_reply zkli_group_reply_for(const struct zkli_group *group, size_t place,
                                       const struct zkli_reply *reply) {
    struct zkli_reply its = *reply;
    bool is_another_s = reply->refused < group->count && reply->refused != place;
    its.stat.owner = group->engine->session_id;
    if (reply->result == ZKLI_RESULT_OK) {
        its.path = reply->op_results[place].path;
        if (its.path == NULL)
            its.result = ZKLI_RESULT_LOST; /* the client library had no memory for it */
        return its;
    }
    if (is_another_s && reply->result != ZKLI_RESULT_LOST && reply->result != ZKLI_RESULT_NOMEM &&
        reply->result != ZKLI_RESULT_AGAIN)
        its.result = ZKLI_RESULT_UNDONE;
    return its;
}

/* ---- What goes on ---- */

enum part {
    PART_WANTS,   /* a node; it has none, or its last one goes before */
    PART_UNSURE,  /* whether it has one */
    PART_MISSING, /* it was looked for, and is not there */
    PART_FOUND,
    PART_STANDS, /* its node does */
    PART_READY,
    PART_LEFT, /* for good; perhaps not all of it is gone */
    PART_GONE,
    PARTS
};

static enum part part_of(const struct zkli_member *m) {
    if (m == NULL)
        return PART_GONE;
    if (zkli_contender_has_left(&m->core))
        return PART_LEFT;
    if (m->core.state == ZKLI_CLEARING)
        return PART_WANTS;
    if (m->core.state == ZKLI_SEARCHED)
        return m->core.found[0] == '\0' ? PART_MISSING : PART_FOUND;
    if (zkli_contender_is_ready(&m->core, m->dir->engine->connection) && !zkli_sight_is_needed(m))
        return PART_READY;
    if (m->core.node[0] != '\0')
        return PART_STANDS;
    return zkli_contender_is_unsure(&m->core) ? PART_UNSURE : PART_WANTS;
}

static void fail(struct zkli_group *group) {
    for (size_t i = 0; i < group->count && group->error == 0; i++)
        if (part_of(group->members[i]) == PART_LEFT)
            group->error = group->members[i]->core.error;
    abandon_all(group, (zkl_err)group->error);
}

static void grant(struct zkli_group *group) {
    for (size_t i = 0; i < group->count; i++) {
        struct zkli_member *m = group->members[i];
        struct zkli_contender_event event = {.type = ZKLI_EV_GRANT};
        m->group = NULL;
        zkli_member_step(m, &event);
    }
    free(group);
}

static void begin_anew(struct zkli_group *group) {
    for (size_t i = 0; i < group->count; i++) {
        enum part part = part_of(group->members[i]);
        bool is_settled = part == PART_MISSING || part == PART_FOUND || part == PART_STANDS ||
                          part == PART_READY;
        if (is_settled)
            zkli_member_begin_anew(group->members[i]);
    }
}

static void adopt(struct zkli_group *group) {
    for (size_t i = 0; i < group->count; i++) {
        struct zkli_contender_event event = {.type = ZKLI_EV_ADOPT};
        if (part_of(group->members[i]) == PART_FOUND)
            zkli_member_step(group->members[i], &event);
    }
}

/* A reply that was lost, without a word of the connection, makes old what was listed before. Those
 * that are admitted hear of it by nothing else. */
static void look_again(struct zkli_group *group) {
    for (size_t i = 0; i < group->count; i++) {
        struct zkli_member *m = group->members[i];
        struct zkli_contender_event event = {.type = ZKLI_EV_LEASE};
        bool is_old = m->core.listed_on != m->dir->engine->connection ||
                      (zkli_sight_is_needed(m) && !zkli_timer_is_set(&m->retry));
        if (m->core.state == ZKLI_ADMITTED && m->core.in_flight == 0 && is_old)
            zkli_member_step(m, &event);
    }
}

static void go_on(struct zkli_group *group) {
    const struct zkli_engine *e = group->engine;
    size_t parts[PARTS] = {0};
    for (size_t i = 0; i < group->count; i++)
        parts[part_of(group->members[i])]++;
    bool is_torn = parts[PART_WANTS] > 0 || parts[PART_MISSING] > 0;
    if (parts[PART_GONE] == group->count && !group->is_sent)
        free(group);
    else if (parts[PART_LEFT] + parts[PART_GONE] > 0)
        fail(group);
    else if (group->is_sent || parts[PART_UNSURE] > 0)
        return;
    else if (is_torn)
        begin_anew(group);
    else if (parts[PART_FOUND] > 0)
        adopt(group);
    else if (parts[PART_READY] < group->count && zkli_is_connected(e))
        look_again(group);
    else if (zkli_is_connected(e) && zkli_lease_is_ample(e))
        grant(group);
    else if (e->pace == ZKLI_PACE_SYNCS)
        group->engine->is_heartbeat_wanted = true; /* a barrier may be all it takes */
}

bool zkli_group_is_admitted(const struct zkli_group *group) {
    for (size_t i = 0; i < group->count; i++)
        if (group->members[i] == NULL || group->members[i]->core.state != ZKLI_ADMITTED)
            return false;
    return true;
}

void zkli_groups_go_on(struct zkli_engine *e) {
    struct zkli_list *link;
    while ((link = zkli_list_take_first(&e->changed_groups)) != NULL)
        go_on(ZKLI_CONTAINER(link, struct zkli_group, changed));
}
