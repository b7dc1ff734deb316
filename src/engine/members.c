/*
 * members - the contenders of a session, each with its requests, watches and timer; see engine.h.
 * Not here: which reply is whose (engine.c), nodes that no member knows (orphans.c).
 */
#include "engine/engine_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

/* ---- Life ---- */

static void retry(struct zkli_timer *timer) {
    struct zkli_contender_event event = {.type = ZKLI_EV_RETRY};
    zkli_member_step(ZKLI_CONTAINER(timer, struct zkli_member, retry), &event);
}

/* It is certain no longer. */
static void end_blind(struct zkli_timer *timer) {
    struct zkli_contender_event event = {.type = ZKLI_EV_LEASE};
    zkli_member_step(ZKLI_CONTAINER(timer, struct zkli_member, blind_end), &event);
}

struct zkli_member *zkli_member_init(struct zkli_member *m, struct zkli_engine *e,
                                     struct zkli_dir *dir) {
    if (m == NULL)
        return NULL;
    memset(m, 0, sizeof(*m));
    m->dir = dir;
    m->work.kind = ZKLI_WORK_MEMBER;
    for (enum zkli_watched what = 0; what < ZKLI_WATCHED_COUNT; what++)
        m->watchers[what] = (struct zkli_watcher){.what = what};
    m->asked_ns = e->now_ns;
    zkli_timer_init(&m->retry, retry);
    m->blind_until_ns = ZKLI_NEVER;
    zkli_timer_init(&m->blind_end, end_blind);
    dir->member_count++;
    zkli_list_append(&dir->members, &m->dir_link);
    zkli_list_append(&e->members, &m->link);
    return m;
}

void zkli_member_set_budget(struct zkli_member *m, size_t node_bytes, size_t watches) {
    struct zkli_engine *e = m->dir->engine;
    e->node_bytes += node_bytes - m->node_bytes;
    e->watch_bytes += watches * node_bytes - m->watches * (size_t)m->node_bytes;
    m->node_bytes = (unsigned)node_bytes; /* of one path */
    m->watches = (uint8_t)watches;
}

static bool is_within_limits(struct zkli_engine *e, size_t bytes, size_t watches) {
    size_t watched = e->watch_bytes + e->stale_watch_bytes + watches * bytes;
    if (e->node_bytes + bytes <= ZKLI_NODE_BYTES_MAX && watched <= ZKLI_WATCH_BYTES_MAX)
        return true;
    zkli_engine_log(e, ZKL_LOG_WARN,
                    "this session's limit is reached: %zu bytes of node paths (at most %d), %zu "
                    "bytes of watched paths (at most %d); use more sessions",
                    e->node_bytes, ZKLI_NODE_BYTES_MAX, e->watch_bytes + e->stale_watch_bytes,
                    ZKLI_WATCH_BYTES_MAX);
    return false;
}

/* How many paths a contender watches while it waits, none longer than its node's. */
static size_t watches_of(enum zkli_kind kind) {
    return kind == ZKLI_KIND_LEASE ? 3 : 2;
}

void zkli_member_connect(struct zkli_member *m) {
    struct zkli_contender_event event = {.type = ZKLI_EV_CONNECTED}; /* nothing, if it is not so */
    zkli_member_step(m, &event);
}

static void join(struct zkli_member *m, struct zkli_group *group) {
    if (group == NULL)
        return;
    m->group = group;
    m->place = (uint8_t)group->count++;
    group->members[m->place] = m;
    zkli_contender_join(&m->core);
}

zkl_err zkli_members_add(struct zkli_member **ret_member, struct zkli_engine *e,
                         const struct zkli_wish *wish, struct zkli_group *group) {
    struct zkli_dir *dir = zkli_dir_get(e, wish->name);
    if (dir == NULL)
        return ZKL_NOMEM;
    size_t bytes = zkli_dir_node_bytes(dir, zkli_node_name_length(wish->kind));
    size_t watches = watches_of(wish->kind);
    bool is_allowed = is_within_limits(e, bytes, watches);
    if (is_allowed && e->spare == NULL)
        e->spare = malloc(sizeof(*e->spare));
    struct zkli_member *m = NULL;
    if (is_allowed && e->spare != NULL)
        m = zkli_member_init(malloc(sizeof(*m)), e, dir);
    if (m == NULL) {
        zkli_dir_release(dir);
        return is_allowed ? ZKL_NOMEM : ZKL_LIMIT;
    }
    zkli_contender_init(&m->core, wish->kind, e->fresh_uuid, wish->is_try, dir->depth);
    m->core.permits = wish->permits;
    if (wish->may_be_kept)
        zkli_contender_keep(&m->core);
    if (wish->tells_awaited)
        zkli_contender_tell_awaited(&m->core);
    if (dir->permits.state == ZKLI_PERMITS_UNKNOWN && wish->session_id == e->session_id)
        dir->permits = wish->recorded;
    m->begun_ns = e->now_ns;
    zkli_engine_refresh_uuid(e);
    m->thread = wish->thread;
    m->owner = wish->owner;
    m->label = wish->label;
    zkli_member_set_budget(m, bytes, watches);
    join(m, group);
    *ret_member = m;
    if (group == NULL)
        zkli_member_connect(m);
    return ZKL_OK;
}

static void member_free(struct zkli_member *m) {
    struct zkli_engine *e = m->dir->engine;
    struct zkli_dir *dir = m->dir;
    if (e->spare == NULL)
        e->spare = m;
    else
        free(m);
    /* The analyzer takes it that the directory went with an earlier one; it goes with the last. */
    dir->member_count--; /* NOLINT(clang-analyzer-unix.Malloc) */
    zkli_dir_release(dir);
}

/* From this one on. */
static void drop_watchers(struct zkli_member *m, enum zkli_watched first) {
    for (enum zkli_watched what = first; what < ZKLI_WATCHED_COUNT; what++)
        zkli_watcher_drop(m->dir->engine, &m->watchers[what]);
}

void zkli_group_note_change(struct zkli_group *group) {
    if (!zkli_list_is_linked(&group->changed))
        zkli_list_append(&group->engine->changed_groups, &group->changed);
}

static void leave_group(struct zkli_member *m) {
    if (m->group == NULL)
        return;
    m->group->members[m->place] = NULL;
    if (m->group->error == 0)
        m->group->error = m->core.error;
    m->group = NULL;
}

/* No node of the member is left on the servers. Its last notices are still to be handed out. */
static void detach(struct zkli_member *m) {
    leave_group(m);
    zkli_requests_forget(m);
    drop_watchers(m, ZKLI_WATCHED_OWN);
    zkli_timer_clear(&m->dir->engine->timers, &m->retry);
    zkli_timer_clear(&m->dir->engine->blind, &m->blind_end);
    zkli_list_remove(&m->link);
    zkli_list_remove(&m->dir_link);
    zkli_member_set_budget(m, 0, 0);
}

/* ---- Driving ---- */

static void retry_later(struct zkli_member *m) {
    struct zkli_engine *e = m->dir->engine;
    if (m->retry_wait_ns == 0)
        m->retry_wait_ns = ZKLI_RETRY_FIRST_NS;
    else if (m->retry_wait_ns < ZKLI_RETRY_LAST_NS / 2)
        m->retry_wait_ns *= 2;
    else
        m->retry_wait_ns = ZKLI_RETRY_LAST_NS;
    zkli_timer_set(&e->timers, &m->retry, e->now_ns + m->retry_wait_ns);
}

static void drop_unless(struct zkli_member *m, enum zkli_watched what, bool is_kept) {
    if (!is_kept)
        zkli_watcher_drop(m->dir->engine, &m->watchers[what]);
}

/* What a change of state means for watches and budgets. */
static void adjust(struct zkli_member *m) {
    const struct zkli_contender *core = &m->core;
    drop_unless(m, ZKLI_WATCHED_OWN, core->node[0] != '\0'); /* else it was another node's */
    drop_unless(m, ZKLI_WATCHED_PREDECESSOR, core->state != ZKLI_FRONTING);
    drop_unless(m, ZKLI_WATCHED_DIRECTORY, core->directory_watch == ZKLI_WATCHED);
    drop_unless(m, ZKLI_WATCHED_CHILDREN,
                core->children_watch == ZKLI_WATCHED ||
                    (core->in_flight & ZKLI_ASK_FOLLOWERS) != 0);
    if (zkli_contender_holds(core) || zkli_contender_rests(core))
        m->retry_wait_ns = 0; /* the servers answer */
    if (core->state == ZKLI_HELD) {
        zkli_list_remove(&m->dir_link);
        zkli_list_prepend(&m->dir->members, &m->dir_link);
        zkli_watcher_drop(m->dir->engine, &m->watchers[ZKLI_WATCHED_PREDECESSOR]);
        size_t watches = core->may_be_kept || core->tells_awaited ? 2 : 1;
        zkli_member_set_budget(m, m->node_bytes, watches);
    } else if (core->state == ZKLI_CLEARING) {
        drop_watchers(m, ZKLI_WATCHED_OWN);
    } else if (core->state == ZKLI_LEAVING) {
        zkli_list_remove(&m->dir_link);
        zkli_list_append(&m->dir->members, &m->dir_link);
        drop_watchers(m, ZKLI_WATCHED_OWN);
        zkli_member_set_budget(m, m->node_bytes, 0);
    }
}

/* It has a node that it wants, or has asked for one. */
static bool stands(enum zkli_contender_state state) {
    return state != ZKLI_IDLE && state != ZKLI_PROBING && state != ZKLI_ASKING &&
           state != ZKLI_CLAIMING && state != ZKLI_LEAVING && state != ZKLI_GONE;
}

static void remove_notice(struct zkli_member *m, enum zkli_notice notice) {
    size_t kept = 0;
    for (size_t i = 0; i < m->notice_count; i++)
        if (m->notices[i] != notice)
            m->notices[kept++] = m->notices[i];
    m->notice_count = (uint8_t)kept;
}

/* The last place is told only, and that it was lost once. So each kind is there once at most. */
static void add_notice(struct zkli_member *m, enum zkli_notice notice) {
    if (notice == ZKLI_NOTICE_REQUEUED)
        remove_notice(m, ZKLI_NOTICE_QUEUED);
    remove_notice(m, notice);
    m->notices[m->notice_count++] = (uint8_t)notice;
}

static void carry_out(struct zkli_member *m, const struct zkli_actions *actions) {
    if (actions->is_retried)
        retry_later(m);
    zkli_requests_ask(m, actions);
    for (size_t i = 0; i < actions->notice_count; i++) {
        if (actions->notices[i] == ZKLI_NOTICE_GONE)
            detach(m);
        add_notice(m, actions->notices[i]);
    }
    if (m->notice_count > 0 && !zkli_list_is_linked(&m->noticed))
        zkli_list_append(&m->dir->engine->noticed, &m->noticed);
}

bool zkli_lease_is_ample(const struct zkli_engine *e) {
    return zkli_engine_is_certain(e) && e->now_ns < e->ample_until_ns;
}

/* Of a hold; if it is lost, this is why. */
static void note_end(struct zkli_member *m, const struct zkli_contender_event *event) {
    bool is_closing = m->dir->engine->is_draining;
    m->loss = event->type == ZKLI_EV_EXPIRED || is_closing ? ZKL_LOSS_SESSION
              : event->type == ZKLI_EV_LEASE               ? ZKL_LOSS_UNCERTAIN
              : event->is_broken                           ? ZKL_LOSS_BROKEN
                                                           : ZKL_LOSS_NODE;
    if (event->type == ZKLI_EV_LEASE && !is_closing)
        m->dir->engine->counts.least_certain_ns = 0;
    if (event->is_broken)
        zkli_engine_log(m->dir->engine, ZKL_LOG_WARN,
                        "the hold of %s is over: zkl_break was called", m->dir->path);
    if (event->type == ZKLI_EV_LEASE && zkli_engine_is_certain(m->dir->engine))
        zkli_engine_log(m->dir->engine, ZKL_LOG_WARN,
                        "the hold of %s is over: its node could not be read in time", m->dir->path);
}

static void look_at_once(struct zkli_member *m) {
    struct zkli_contender_event event = {.type = ZKLI_EV_HEARTBEAT};
    zkli_member_step(m, &event);
}

void zkli_member_step(struct zkli_member *m, struct zkli_contender_event *event) {
    struct zkli_engine *e = m->dir->engine;
    if (m->core.state == ZKLI_GONE)
        return;
    event->is_connected = zkli_is_connected(e);
    event->is_certain = e->now_ns < zkli_member_certain_until_ns(m);
    event->is_ample = zkli_lease_is_ample(e);
    bool is_read = event->type == ZKLI_EV_OWN_READ && event->result == ZKLI_RESULT_OK;
    event->must_look_first = zkli_sight_is_needed(m) && !is_read;
    event->is_to_be_replaced = zkli_is_to_be_replaced(e);
    event->is_held_back = zkli_owner_holds_back(m);
    event->has_waited = e->now_ns - m->known_ns > ZKLI_SHORT_WAIT_NS;
    event->connection = e->connection;
    event->session_id = e->session_id;
    event->fresh_uuid = e->fresh_uuid;
    event->permits = &m->dir->permits;
    const struct zkli_watch *watched = m->watchers[ZKLI_WATCHED_PREDECESSOR].watch;
    event->predecessor = watched == NULL ? NULL : zkli_path_last(watched->path);
    enum zkli_contender_state before = m->core.state;
    bool held = zkli_contender_holds(&m->core), had_node = m->core.node[0] != '\0';
    struct zkli_actions actions = zkli_contender_step(&m->core, event);
    if (zkli_uuid_is_same(m->core.uuid, e->fresh_uuid))
        zkli_engine_refresh_uuid(e);
    if (before == ZKLI_CLAIMING && m->core.state == ZKLI_LEAVING)
        zkli_engine_log(e, ZKL_LOG_INFO, "deleting a node of ours that was left in %s",
                        m->dir->path);
    if (held && !zkli_contender_holds(&m->core))
        note_end(m, event);
    if (actions.predecessor != NULL)
        zkli_requests_note_predecessor(m, actions.predecessor);
    if (is_read)
        m->is_stale = false;
    zkli_sight_note(m);
    zkli_owner_note(m, event->is_held_back);
    if (m->core.node[0] != '\0') {
        m->known_ns = had_node ? m->known_ns : e->now_ns;
        m->dir->made_level = 0; /* it has been used: the servers remove it when it is empty */
    }
    e->standing += (size_t)stands(m->core.state) - (size_t)stands(before);
    if (m->core.state != before)
        adjust(m);
    if (m->core.state == ZKLI_ADMITTED && e->pace == ZKLI_PACE_SYNCS && m->group == NULL)
        e->is_heartbeat_wanted = true; /* a barrier may be all it takes */
    if (actions.awaits_session)
        e->is_successor_wanted = true;
    if (m->group != NULL)
        zkli_group_note_change(m->group);
    carry_out(m, &actions);
    bool begins = m->core.state == ZKLI_HELD && before != ZKLI_HELD; /* or has become a reader's */
    if (begins)
        m->waited_ns = e->now_ns - m->known_ns;
    if (begins && zkli_sight_is_short(m))
        look_at_once(m);
}

void zkli_member_begin_anew(struct zkli_member *m) {
    struct zkli_contender_event event = {.type = ZKLI_EV_ANEW};
    zkli_requests_forget(m);
    m->mark = ZKLI_MARK_FRESH;
    zkli_member_step(m, &event);
}

void zkli_members_step_all(struct zkli_engine *e, enum zkli_contender_event_type type) {
    struct zkli_list *link = e->members.next;
    while (link != &e->members) {
        struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, link);
        link = link->next;
        if (type == ZKLI_EV_CONNECTED)
            m->retry_wait_ns = 0;
        struct zkli_contender_event event = {.type = type};
        zkli_member_step(m, &event);
    }
}

/* ---- What the servers say of its node ---- */

static void end_hold(struct zkli_member *m) {
    struct zkli_contender_event event = {.type = ZKLI_EV_OWN_EVENT, .is_deleted = true};
    zkli_member_step(m, &event);
}

void zkli_member_node_gone(struct zkli_member *m) {
    if (m->core.state != ZKLI_TURNING) /* there its own transaction may have been it */
        end_hold(m);
}

/* Servers since 3.8.4 and 3.9.2 do not tell who may not read a node of its end. So the watch counts
 * as fired: a waiter is refused, and a holder asks at each heartbeat. (A turn ends with reads.) */
void zkli_member_unwatch(struct zkli_member *m) {
    struct zkli_contender_event event = {.type = ZKLI_EV_OWN_EVENT};
    bool saw = zkli_sight_is_clear(m);
    if (m->core.state == ZKLI_TURNING)
        return;
    zkli_member_step(m, &event);
    if (!saw || !zkli_contender_holds(&m->core))
        return;
    zkli_sight_close(m);
}

void zkli_members_end_hold(struct zkli_engine *e, const char *path) {
    struct zkli_member *m = zkli_dir_holder_by(e, path);
    if (m != NULL)
        end_hold(m);
}

static bool has_node_of(const struct zkli_listing *listing, const struct zkli_contender *holder) {
    char reader[ZKLI_OWN_CHILD_MAX + 1];
    if (zkli_listing_has(listing, holder->node))
        return true;
    if (!holder->has_reader)
        return false;
    zkli_contender_reader(reader, holder);
    return zkli_listing_has(listing, reader);
}

void zkli_members_were_listed(struct zkli_dir *dir, const struct zkli_listing *listing) {
    struct zkli_member *holder = zkli_dir_next_holder(dir, NULL);
    while (holder != NULL) {
        struct zkli_member *next = zkli_dir_next_holder(dir, holder);
        if (!has_node_of(listing, &holder->core))
            end_hold(holder);
        holder = next;
    }
}

/* ---- Notices ---- */

static void hand_out(struct zkli_member *m) {
    uint8_t notices[ZKLI_NOTICES];
    size_t count = m->notice_count;
    memcpy(notices, m->notices, sizeof(notices));
    m->notice_count = 0;
    for (size_t i = 0; i < count; i++)
        if (m->notify != NULL)
            m->notify(m->notify_arg, m, (enum zkli_notice)notices[i]);
}

void zkli_members_hand_out(struct zkli_engine *e) {
    struct zkli_list *link;
    while ((link = zkli_list_take_first(&e->noticed)) != NULL) {
        struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, noticed);
        e->news++;
        hand_out(m);
        if (m->core.state == ZKLI_GONE && !zkli_list_is_linked(&m->noticed))
            member_free(m);
    }
}

bool zkli_engine_thread_holds(const struct zkli_engine *e, uint64_t thread_number) {
    const struct zkli_list *head = &e->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next) {
        const struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, link);
        if (zkli_contender_holds(&m->core) && m->thread.number == thread_number)
            return true;
    }
    return false;
}

bool zkli_members_hold(const struct zkli_engine *e) {
    const struct zkli_list *head = &e->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next)
        if (zkli_contender_holds(&ZKLI_CONTAINER(link, struct zkli_member, link)->core))
            return true;
    return false;
}

static bool may_be_witness(const struct zkli_member *m) {
    return m->core.node[0] != '\0' && !zkli_contender_has_left(&m->core) &&
           m->core.state != ZKLI_TURNING && m->core.state != ZKLI_CLEARING &&
           m->core.czxid != m->refused_czxid;
}

/* In turn: a server does not tell of the end of a node that a third party has closed to us. */
struct zkli_member *zkli_members_witness(struct zkli_engine *e) {
    struct zkli_member *witness = NULL;
    for (struct zkli_list *link = e->members.next; link != &e->members; link = link->next) {
        struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, link);
        if (may_be_witness(m) && (witness == NULL || m->asked_ns < witness->asked_ns))
            witness = m;
    }
    return witness;
}

/* ---- What the owner says ---- */

void zkli_member_abandon(struct zkli_member *m, zkl_err error) {
    if (zkli_contender_holds(&m->core) || zkli_contender_has_left(&m->core))
        return; /* given up before, or granted: exactly one of the two */
    struct zkli_contender_event event = {
        .type = ZKLI_EV_ABANDON, .error = (int)error, .unsent = zkli_requests_withdraw(m)};
    zkli_member_step(m, &event);
}

void zkli_members_abandon_all(struct zkli_engine *e, zkl_err error) {
    struct zkli_list *link = e->members.next;
    while (link != &e->members) {
        struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, link);
        link = link->next;
        zkli_member_abandon(m, error);
    }
}

void zkli_member_release(struct zkli_member *m) {
    if (!zkli_contender_holds(&m->core))
        return;
    struct zkli_contender_event event = {.type = ZKLI_EV_RELEASE,
                                         .unsent = zkli_requests_withdraw(m)};
    zkli_member_step(m, &event);
}

void zkli_member_turn(struct zkli_member *m) {
    m->was_refused = false; /* it was another request */
    struct zkli_contender_event event = {.type = ZKLI_EV_TURN};
    zkli_member_step(m, &event);
}

bool zkli_member_is_held(const struct zkli_member *m) {
    return zkli_contender_holds(&m->core);
}

bool zkli_member_is_turning(const struct zkli_member *m) {
    return m->core.state == ZKLI_TURNING;
}

enum zkli_kind zkli_member_kind(const struct zkli_member *m) {
    return m->core.kind;
}

bool zkli_member_is_or_was_writer(const struct zkli_member *m) {
    return m->core.kind == ZKLI_KIND_WRITE || m->core.has_turned;
}

void zkli_member_bind(struct zkli_member *m) {
    m->is_bound = true;
}

bool zkli_member_may_be_handed_on(const struct zkli_member *m) {
    const struct zkli_engine *e = m->dir->engine;
    return m->core.state == ZKLI_HELD && !m->core.has_turned && !m->is_bound &&
           zkli_lease_is_ample(e) && !zkli_sight_is_needed(m) && zkli_is_connected(e);
}

struct zkli_permits zkli_member_permits(const struct zkli_member *m) {
    return m->dir->permits;
}

bool zkli_member_may_idle(const struct zkli_member *m) {
    return zkli_contender_may_idle(&m->core) && zkli_member_may_be_handed_on(m);
}

void zkli_member_tell_awaited(struct zkli_member *m) {
    zkli_contender_tell_awaited(&m->core);
}

bool zkli_member_is_awaited(const struct zkli_member *m) {
    return m->core.is_awaited;
}

void zkli_member_idle(struct zkli_member *m) {
    struct zkli_contender_event event = {.type = ZKLI_EV_IDLE};
    m->thread = (struct zkli_thread){0}; /* nobody's */
    zkli_member_step(m, &event);
}

bool zkli_member_is_waiting(const struct zkli_member *m) {
    return !zkli_contender_holds(&m->core) && !zkli_contender_has_left(&m->core);
}

/* For those that somebody waits by. */
static bool has_room(const struct zkli_engine *e) {
    return e->node_bytes <= ZKLI_NODE_BYTES_MAX / 2 &&
           e->watch_bytes + e->stale_watch_bytes <= ZKLI_WATCH_BYTES_MAX / 2;
}

bool zkli_member_may_be_left(const struct zkli_member *m) {
    enum zkli_contender_state state = m->core.state;
    return zkli_is_connected(m->dir->engine) && has_room(m->dir->engine) &&
           (m->core.node[0] != '\0' || state == ZKLI_ENQUEUING) && zkli_member_is_waiting(m) &&
           state != ZKLI_ADMITTED && !zkli_contender_parts_sharers(&m->core);
}

void zkli_member_expect(struct zkli_member *m, int permits) {
    m->core.permits = permits;
}

bool zkli_member_agrees(const struct zkli_member *m, int permits) {
    const struct zkli_permits *recorded = &m->dir->permits;
    bool is_another = recorded->state == ZKLI_PERMITS_RECORDED && recorded->count != permits;
    return m->core.permits == permits && (permits == 0 || !is_another);
}

bool zkli_member_has_position(const struct zkli_member *m) {
    return m->core.told_position != 0;
}

void zkli_member_hand_on(struct zkli_member *m, struct zkli_thread thread) {
    m->thread = thread;
}

void *zkli_member_owner(const struct zkli_member *m) {
    return m->notify_arg;
}

void zkli_member_attach(struct zkli_member *m, zkli_notify_fn notify, void *arg) {
    m->notify = notify;
    m->notify_arg = arg;
    if (notify == NULL)
        m->label = NULL;
}

bool zkli_member_path(const struct zkli_member *m, char *ret_path, size_t size) {
    return zkli_path_join(ret_path, size, m->dir->path, m->core.node);
}

int64_t zkli_member_token(const struct zkli_member *m) {
    return m->core.czxid;
}

size_t zkli_member_position(const struct zkli_member *m) {
    return m->core.position;
}

zkl_err zkli_member_error(const struct zkli_member *m) {
    return (zkl_err)m->core.error;
}

zkl_loss zkli_member_loss(const struct zkli_member *m) {
    return m->loss;
}
