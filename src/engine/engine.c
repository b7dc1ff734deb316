/*
 * engine - the parent of the engine's other files: it hands each reply and each watch event to the
 * part that it concerns, and settles.
 *
 * The parts call downwards only, in this order: life, succession, orphans, heartbeat, silence,
 * groups, members, requests, owners, directories, queries, watches, slots, host. What a part has to
 * say upwards it returns, or leaves in a list of the engine: members with notices, watches that
 * fired, groups that have changed, members that were held back, requests that could not be sent.
 */
#include "engine/engine_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

/* ---- Replies to members ---- */

static enum zkli_contender_event_type event_of(unsigned ask) {
    switch (ask) {
    case ZKLI_ASK_PARENT:
        return ZKLI_EV_PARENT;
    case ZKLI_ASK_CREATE:
        return ZKLI_EV_CREATED;
    case ZKLI_ASK_BARRIER:
        return ZKLI_EV_BARRIER;
    case ZKLI_ASK_OWN:
        return ZKLI_EV_OWN_READ;
    case ZKLI_ASK_PREDECESSOR:
        return ZKLI_EV_PREDECESSOR_READ;
    case ZKLI_ASK_DELETE:
        return ZKLI_EV_DELETED;
    case ZKLI_ASK_OWNER:
        return ZKLI_EV_OWNER_READ;
    case ZKLI_ASK_TURN:
        return ZKLI_EV_TURNED;
    case ZKLI_ASK_DIRECTORY:
        return ZKLI_EV_DIRECTORY_READ;
    case ZKLI_ASK_RECORD:
        return ZKLI_EV_RECORDED;
    case ZKLI_ASK_TOUCH:
        return ZKLI_EV_TOUCHED;
    case ZKLI_ASK_LET_GO:
        return ZKLI_EV_ASKED_TO_LET_GO;
    case ZKLI_ASK_FOLLOWERS:
        return ZKLI_EV_FOLLOWERS;
    case ZKLI_ASK_SINCE:
        return ZKLI_EV_SINCE_TOLD;
    }
    return ZKLI_EV_LISTED;
}

/* For the log: the node that was read, or the directory. */
static const char *path_asked(const struct zkli_member *m, unsigned ask) {
    const struct zkli_watch *watch = ask == ZKLI_ASK_PREDECESSOR
                                         ? m->watchers[ZKLI_WATCHED_PREDECESSOR].watch
                                     : ask == ZKLI_ASK_OWN ? m->watchers[ZKLI_WATCHED_OWN].watch
                                                           : NULL;
    return watch == NULL ? m->dir->path : watch->path;
}

/* A server before 3.5 does not know create2, says so, and closes the connection. */
static void log_refusal(const struct zkli_member *m, unsigned ask, const struct zkli_reply *reply) {
    bool is_too_old = ask == ZKLI_ASK_CREATE && reply->is_unimplemented;
    zkli_engine_log(m->dir->engine, ZKL_LOG_ERROR, "the server refuses a request at %s (code %d)%s",
                    path_asked(m, ask), reply->code,
                    is_too_old ? ": it does not know create2, so it is older than ZooKeeper "
                                 "3.5.3, which zklock needs"
                               : "");
}

/* The set says which version it has replaced. What the owner of that node had not read was a mark,
 * and it went with the node. (Who breaks a hold marks the reader's node, too.) */
static bool has_buried_a_mark(const struct zkli_member *m, const struct zkli_reply *turned) {
    const struct zkli_stat *set = turned->op_results == NULL ? NULL : turned->op_results[0].stat;
    return set != NULL && set->version > m->own_version + 1;
}

static void note_own_version(struct zkli_member *m, unsigned ask, const struct zkli_reply *reply) {
    if (ask == ZKLI_ASK_CREATE)
        m->own_version = 0;
    else if (ask == ZKLI_ASK_OWN && m->core.state != ZKLI_TURNING) /* there it is not looked at */
        m->own_version = reply->stat.version;
}

static void note_marks(struct zkli_contender_event *event, const struct zkli_member *m,
                       unsigned ask, const struct zkli_reply *reply) {
    struct zkli_node_data data;
    bool is_own = ask == ZKLI_ASK_OWN || ask == ZKLI_ASK_SINCE; /* that begins with a read */
    bool is_lease_before = ask == ZKLI_ASK_PREDECESSOR && m->core.kind == ZKLI_KIND_LEASE;
    event->is_asked = ask == ZKLI_ASK_TURN && has_buried_a_mark(m, reply);
    if ((!is_own && !is_lease_before) ||
        !zkli_node_data_parse(&data, reply->data, reply->data_length))
        return;
    event->is_touched = data.is_touched;
    event->is_asked = is_own && data.is_asked;
    event->is_broken = is_own && data.is_broken;
}

static enum zkli_result take_listing(struct zkli_listing *ret_listing, struct zkli_dir *dir,
                                     const struct zkli_reply *reply) {
    struct zkli_engine *e = dir->engine;
    if (reply->result != ZKLI_RESULT_OK)
        return reply->result;
    if (!zkli_listing_parse(ret_listing, e, reply))
        return ZKLI_RESULT_NOMEM;
    zkli_members_were_listed(dir, ret_listing);
    zkli_dir_mark_leaving(dir, e->siblings, ret_listing->count);
    zkli_orphans_find(dir, ret_listing);
    return ZKLI_RESULT_OK;
}

/* Of the node that was made. No server makes a longer one of the prefix that it was given. */
static void take_name(struct zkli_contender_event *event, const struct zkli_reply *reply) {
    event->node = zkli_path_last(reply->path);
    if (strlen(event->node) > ZKLI_OWN_CHILD_MAX)
        event->result = ZKLI_RESULT_ERROR;
}

/* What says since when it is held by is being set. The read that sets the watch again does not wait
 * in line: until it is answered the hold is blind. */
static void send_behind(struct zkli_member *m) {
    struct zkli_contender_event sent = {.type = ZKLI_EV_SINCE_SENT};
    zkli_member_step(m, &sent);
    unsigned ask = 0;
    struct zkli_contender_event unsent = {.type = ZKLI_EV_OWN_READ};
    bool is_first = m->unsent_count > 0 && m->unsent[0] == ZKLI_ASK_OWN;
    if (is_first && !zkli_requests_send_next(m, &ask, &unsent.result))
        zkli_member_step(m, &unsent);
}

/* ask: a ZKLI_ASK_ other than LIST. */
static void answer(struct zkli_member *m, unsigned ask, const struct zkli_reply *reply) {
    struct zkli_engine *e = m->dir->engine;
    struct zkli_contender_event event = {
        .type = event_of(ask),
        .result = reply->result,
        .czxid = reply->stat.czxid,
        .owner = reply->stat.owner,
    };
    struct zkli_listing listing = {.count = 0};
    if (ask == ZKLI_ASK_CREATE && reply->result == ZKLI_RESULT_OK)
        take_name(&event, reply);
    if (ask == ZKLI_ASK_FOLLOWERS) {
        event.result = take_listing(&listing, m->dir, reply);
        event.listing = &listing;
    }
    bool makes_node = ask == ZKLI_ASK_CREATE || ask == ZKLI_ASK_TURN;
    if (makes_node && reply->result == ZKLI_RESULT_LOST)
        zkli_orphans_expect(m->dir); /* it may be done late */
    bool is_mark = ask == ZKLI_ASK_TOUCH || ask == ZKLI_ASK_LET_GO || ask == ZKLI_ASK_SINCE;
    if (is_mark && !zkli_requests_note_mark(m, ask, reply, &event.result)) {
        if (ask == ZKLI_ASK_SINCE && m->mark == ZKLI_MARK_SET)
            send_behind(m);
        return;
    }
    if (reply->result == ZKLI_RESULT_OK) {
        note_own_version(m, ask, reply);
        note_marks(&event, m, ask, reply);
    }
    if (ask == ZKLI_ASK_DIRECTORY && reply->result == ZKLI_RESULT_OK)
        m->dir->permits = zkli_permits_parse(reply->data, reply->data_length, reply->stat.czxid,
                                             reply->stat.version);
    const struct zkli_watch *watch = m->watchers[ZKLI_WATCHED_PREDECESSOR].watch;
    if (ask == ZKLI_ASK_PREDECESSOR && reply->result == ZKLI_RESULT_NO_NODE && watch != NULL)
        zkli_members_end_hold(e, watch->path);
    if (ask == ZKLI_ASK_PARENT && reply->result == ZKLI_RESULT_OK)
        m->dir->made_level = m->core.parent_level;
    if (ask == ZKLI_ASK_PARENT && reply->is_unimplemented) {
        e->has_no_containers = true; /* a server before 3.5.1: plain directories from now on */
        event.result = ZKLI_RESULT_AGAIN;
    }
    bool is_denied = event.result == ZKLI_RESULT_DENIED &&
                     ask != ZKLI_ASK_OWNER; /* not ours, then */
    bool is_refused = (is_denied || event.result == ZKLI_RESULT_ERROR) &&
                      ask != ZKLI_ASK_SINCE; /* it can do without */
    if (is_refused && !m->was_refused)       /* not again at each retry */
        log_refusal(m, ask, reply);
    m->was_refused = m->was_refused || is_refused;
    zkli_member_step(m, &event);
}

static void answer_group(struct zkli_group *group, const struct zkli_reply *reply) {
    group->is_sent = false;
    for (size_t i = 0; i < group->count; i++) {
        struct zkli_reply its = zkli_group_reply_for(group, i, reply);
        if (group->members[i] != NULL)
            answer(group->members[i], ZKLI_ASK_CREATE, &its);
    }
}

/* All reads of the member's ordering are answered. */
static void answer_ordering(struct zkli_member *m) {
    struct zkli_ordering *ordering = m->ordering;
    struct zkli_listing listing = zkli_ordering_listing(ordering);
    struct zkli_contender_event event = {
        .type = ZKLI_EV_LISTED,
        .result = ordering->is_lost ? ZKLI_RESULT_LOST : ZKLI_RESULT_OK,
        .listing = &listing,
    };
    m->ordering = NULL; /* the step may ask for a new one */
    zkli_member_step(m, &event);
    zkli_ordering_free(ordering);
}

static void answer_order(struct zkli_member *m, size_t index, const struct zkli_reply *reply) {
    if (reply->result == ZKLI_RESULT_NO_NODE) {
        char path[ZKLI_PATH_MAX];
        zkli_dir_child_path(path, m->dir, m->ordering->siblings[index].name);
        zkli_members_end_hold(m->dir->engine, path);
    }
    if (zkli_ordering_note(m->ordering, index, reply->result, reply->stat.czxid))
        answer_ordering(m);
}

/* ---- Listings ---- */

static void answer_asker(struct zkli_member *m, const struct zkli_listing *listing,
                         enum zkli_result result, int code) {
    bool is_refused = result == ZKLI_RESULT_DENIED || result == ZKLI_RESULT_ERROR;
    if (is_refused && !m->was_refused)
        zkli_engine_log(m->dir->engine, ZKL_LOG_ERROR, "the server refuses to list %s (code %d)",
                        m->dir->path, code);
    m->was_refused = m->was_refused || is_refused;
    struct zkli_contender_event event = {
        .type = ZKLI_EV_LISTED, .result = result, .listing = listing};
    zkli_member_step(m, &event);
}

static void answer_list(struct zkli_engine *e, struct zkli_list *askers,
                        const struct zkli_reply *reply) {
    if (zkli_list_is_empty(askers))
        return; /* all have left */
    /* The members, and so the directory, live until settle. */
    struct zkli_dir *dir = ZKLI_CONTAINER(askers->next, struct zkli_member, asker)->dir;
    struct zkli_listing listing = {.count = 0};
    enum zkli_result result = take_listing(&listing, dir, reply);
    e->listing = &listing;
    struct zkli_list *link;
    while ((link = zkli_list_take_first(askers)) != NULL)
        answer_asker(ZKLI_CONTAINER(link, struct zkli_member, asker), &listing, result,
                     reply->code);
    e->listing = NULL;
}

/* ---- Events of the port ---- */

void zkli_engine_on_reply(struct zkli_engine *e, struct zkli_port *port, unsigned number,
                          const struct zkli_reply *reply) {
    struct zkli_slot slot = e->slots[number];
    if (port != e->port || slot.use == ZKLI_USE_FREE)
        return;
    struct zkli_list askers;
    zkli_list_init(&askers);
    if (slot.use == ZKLI_USE_LIST)
        zkli_list_move_all(&askers, &e->slots[number].askers);
    zkli_slot_release(e, number);
    /* Lost without a word about the connection: the port may have had no memory to report its end.
     * Watches are set again on the next connection. What was listed before is not relied on then,
     * nor what syncs have proved. */
    if (reply->result == ZKLI_RESULT_LOST) {
        e->connection++;
        e->connected_ns = e->now_ns;
        zkli_heartbeat_doubt(e);
        if (zkli_is_connected(e)) /* else the next connection is told */
            zkli_sights_doubt(e);
    } else {
        e->answered_ns = e->now_ns;
        if (e->pace == ZKLI_PACE_REST && zkli_is_connected(e))
            zkli_timer_clear(&e->timers, &e->look);
    }
    if (slot.watch != NULL)
        zkli_watch_answered(e, slot.watch,
                            reply->result == ZKLI_RESULT_OK ||
                                reply->result == ZKLI_RESULT_NOMEM); /* to tell what it read */
    switch (slot.use) {
    case ZKLI_USE_MEMBER:
        answer(slot.member, slot.ask, reply);
        break;
    case ZKLI_USE_ORDER:
        answer_order(slot.member, slot.index, reply);
        break;
    case ZKLI_USE_LIST:
        answer_list(e, &askers, reply);
        break;
    case ZKLI_USE_GROUP:
        answer_group(slot.group, reply);
        break;
    case ZKLI_USE_QUERY:
        zkli_query_done(e, slot.query, reply->result == ZKLI_RESULT_LOST ? NULL : reply);
        break;
    case ZKLI_USE_HEARTBEAT:
        zkli_heartbeat_answered(e, slot.member, reply);
        break;
    case ZKLI_USE_FREE:
    case ZKLI_USE_VOID:
        break;
    }
}

static const enum zkli_contender_event_type event_of_watch[ZKLI_WATCHED_COUNT] = {
    [ZKLI_WATCHED_OWN] = ZKLI_EV_OWN_EVENT,
    [ZKLI_WATCHED_PREDECESSOR] = ZKLI_EV_PREDECESSOR_EVENT,
    [ZKLI_WATCHED_DIRECTORY] = ZKLI_EV_DIRECTORY_EVENT,
    [ZKLI_WATCHED_CHILDREN] = ZKLI_EV_CHILDREN_EVENT,
};

void zkli_engine_on_watch(struct zkli_engine *e, struct zkli_port *port, const char *path,
                          enum zkli_watch_type type) {
    if (port != e->port)
        return;
    /* First the hold: the watch may be that of the waiter behind it, whose grant this is. */
    if (path != NULL && type == ZKLI_WATCH_DELETED)
        zkli_members_end_hold(e, path);
    if (path != NULL)
        zkli_watches_fire(e, path, type);
    else
        zkli_watches_fire_all(e); /* which one it was is not known: all are read again */
    struct zkli_watcher *watcher;
    while ((watcher = zkli_watches_next_fired(e)) != NULL) {
        struct zkli_member *m = zkli_watcher_member(watcher);
        if (watcher->what == ZKLI_WATCHED_OWN && m->core.state == ZKLI_TURNING)
            continue; /* perhaps by its own transaction */
        struct zkli_contender_event event = {
            .type = event_of_watch[watcher->what],
            .is_deleted = watcher->fired_type == ZKLI_WATCH_DELETED,
        };
        zkli_member_step(m, &event);
    }
}

/* ---- Sending ---- */

static void send_next(struct zkli_member *m) {
    struct zkli_reply unsent = {.result = ZKLI_RESULT_OK};
    unsigned ask = 0;
    if (!zkli_requests_send_next(m, &ask, &unsent.result))
        answer(m, ask, &unsent);
}

/* The directories go with the nodes in them, as they do for one: see requests_have_slots. */
static void send_group(struct zkli_group *group) {
    struct zkli_reply unsent = {.result = ZKLI_RESULT_OK};
    if (!zkli_group_is_gathered(group))
        return;
    for (size_t i = 0; i < group->count; i++)
        if (group->members[i]->unsent[0] == ZKLI_ASK_PARENT)
            send_next(group->members[i]);
    if (!zkli_group_send(group, &unsent.result))
        answer_group(group, &unsent);
}

static void send_member(struct zkli_member *m) {
    if (!zkli_requests_await_group(m)) {
        send_next(m);
        return;
    }
    zkli_list_remove(&m->work.link);
    send_group(m->group);
}

static void send_listing(struct zkli_dir *dir) {
    if (zkli_requests_may_tidy(dir)) {
        zkli_requests_tidy(dir);
        return;
    }
    struct zkli_reply unsent = {.result = ZKLI_RESULT_LOST};
    struct zkli_list askers;
    if (!zkli_requests_send_listing(dir, &askers))
        answer_list(dir->engine, &askers, &unsent);
}

static void send_all(struct zkli_engine *e) {
    bool is_over = e->is_draining && !e->is_attached; /* else nodes are to be deleted */
    while (zkli_is_connected(e) && !is_over && e->free_slot != ZKLI_SLOTS) {
        if (zkli_queries_send_deferred(e))
            continue; /* the ones whose turn came before */
        if (zkli_list_is_empty(&e->work))
            return;
        struct zkli_work *work = ZKLI_CONTAINER(e->work.next, struct zkli_work, link);
        if (!zkli_requests_have_slots(e, work))
            return;
        switch (work->kind) {
        case ZKLI_WORK_MEMBER:
            send_member(ZKLI_CONTAINER(work, struct zkli_member, work));
            break;
        case ZKLI_WORK_DIR:
            send_listing(ZKLI_CONTAINER(work, struct zkli_dir, work));
            break;
        case ZKLI_WORK_QUERY:
            zkli_query_send(e, ZKLI_CONTAINER(work, struct zkli_query, work));
            break;
        }
    }
}

void zkli_engine_enter(struct zkli_engine *e) {
    e->now_ns = e->host->now_ns(e->host_arg);
    zkli_lease_check(e);
    zkli_timers_run(&e->blind, e->now_ns);
    zkli_members_hand_out(e); /* so that no call finds a hold that is over */
}

/* When the next hold ends, if nothing happens before. */
static int64_t next_end_ns(const struct zkli_engine *e) {
    int64_t blind_ns = zkli_timers_next(&e->blind), certain_ns = e->lease.certain_until_ns;
    bool is_certain = e->lease_grade != ZKLI_LEASE_UNCERTAIN;
    return is_certain && certain_ns < blind_ns ? certain_ns : blind_ns;
}

/* Who has to wait still goes back into the list. */
static void go_on_with_held_back(struct zkli_engine *e) {
    struct zkli_list list, *link;
    zkli_list_init(&list);
    if (e->has_settled)
        zkli_list_move_all(&list, &e->held_back);
    e->has_settled = false;
    while ((link = zkli_list_take_first(&list)) != NULL)
        zkli_member_connect(ZKLI_CONTAINER(link, struct zkli_member, owner_link));
}

int64_t zkli_engine_settle(struct zkli_engine *e) {
    do {
        go_on_with_held_back(e);
        zkli_groups_go_on(e);
        zkli_members_hand_out(e);
        zkli_life_go_on(e);
        zkli_heartbeat_hasten(e);
        send_all(e);
    } while (!zkli_list_is_empty(&e->noticed) || !zkli_list_is_empty(&e->changed_groups) ||
             e->has_settled);
    if (e->pace == ZKLI_PACE_REST && e->in_flight > 0)
        zkli_look_later(e); /* there is no heartbeat that would find it asleep */
    int64_t next_ns = zkli_timers_next(&e->timers), end_ns = next_end_ns(e);
    return end_ns < next_ns ? end_ns : next_ns;
}

void zkli_engine_tick(struct zkli_engine *e) {
    zkli_timers_run(&e->timers, e->now_ns);
}

/* ---- Members ---- */

static zkl_err add_member(struct zkli_member **ret_member, struct zkli_engine *e,
                          const struct zkli_wish *wish, struct zkli_group *group,
                          zkli_notify_fn notify, void *arg) {
    zkl_err err = zkli_engine_end_error(e);
    if (err != ZKL_OK)
        return err;
    zkli_heartbeat_want(e);
    err = zkli_members_add(ret_member, e, wish, group);
    if (err != ZKL_OK)
        return err;
    zkli_member_attach(*ret_member, notify, arg);
    return ZKL_OK;
}

zkl_err zkli_member_new(struct zkli_member **ret_member, struct zkli_engine *e,
                        const struct zkli_wish *wish, zkli_notify_fn notify, void *arg) {
    return add_member(ret_member, e, wish, NULL, notify, arg);
}

zkl_err zkli_group_add(struct zkli_group *group, struct zkli_member **ret_member,
                       const struct zkli_wish *wish, zkli_notify_fn notify, void *arg) {
    return add_member(ret_member, group->engine, wish, group, notify, arg);
}

/* ---- What it says of itself ---- */

zkl_state zkli_engine_state(const struct zkli_engine *e) {
    return e->state;
}

zkl_err zkli_engine_end_error(const struct zkli_engine *e) {
    if (e->state == ZKL_STATE_AUTH_FAILED)
        return ZKL_AUTH_FAILED;
    if (e->state == ZKL_STATE_EXPIRED)
        return ZKL_EXPIRED;
    return e->state == ZKL_STATE_CLOSED || e->is_draining ? ZKL_CLOSED : ZKL_OK;
}

bool zkli_engine_is_connected(const struct zkli_engine *e) {
    return zkli_is_connected(e);
}

void zkli_engine_keep_session(struct zkli_engine *e) {
    e->keeps_session = true;
}

void zkli_engine_lend(struct zkli_engine *e) {
    zkli_heartbeat_want(e);
    e->is_heartbeat_wanted = true; /* now, though the next one is due soon */
}

bool zkli_engine_is_draining(const struct zkli_engine *e) {
    return e->is_draining;
}

int64_t zkli_engine_session_id(const struct zkli_engine *e) {
    return e->session_id;
}

int zkli_engine_timeout_ms(const struct zkli_engine *e) {
    return e->timeout_ms;
}

size_t zkli_engine_chroot_length(const struct zkli_engine *e) {
    return e->chroot_length;
}

struct zkli_port *zkli_engine_port(const struct zkli_engine *e) {
    return e->port;
}

int64_t zkli_engine_now_ns(const struct zkli_engine *e) {
    return e->now_ns;
}

uint64_t zkli_engine_news(const struct zkli_engine *e) {
    return e->news;
}

const struct zkli_engine_counts *zkli_engine_counts(const struct zkli_engine *e) {
    return &e->counts;
}

void zkli_engine_set_timer(struct zkli_engine *e, struct zkli_timer *timer, int64_t at_ns) {
    zkli_timer_set(&e->timers, timer, at_ns);
}

void zkli_engine_clear_timer(struct zkli_engine *e, struct zkli_timer *timer) {
    zkli_timer_clear(&e->timers, timer);
}

struct zkli_engine_load zkli_engine_load(const struct zkli_engine *e) {
    struct zkli_engine_load load = {.requests = e->in_flight, .bytes = e->data_in_flight};
    for (const struct zkli_list *link = e->members.next; link != &e->members; link = link->next) {
        const struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, link);
        load.holding += zkli_contender_holds(&m->core);
        load.waiting += zkli_member_is_waiting(m);
    }
    return load;
}

bool zkli_engine_has_contenders(const struct zkli_engine *e) {
    return e->standing > 0;
}
