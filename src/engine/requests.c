/*
 * requests - the flights of members and the listings of directories: what is sent, in which order.
 *
 * Members that ask for a listing while one is not yet sent share it. A member that has another
 * request in line before its listing is not served by that one: it is served by the next. (If the
 * listing were moved behind it, it would never be sent while members ask again and again.)
 *
 * Not here: what a reply means (engine.c). A request that cannot be sent is reported to the caller,
 * who delivers the answer.
 */
#include "engine/engine_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Orderings ---- */

/* Copies the listing that is being delivered, to have every sibling's czxid read. */
static struct zkli_ordering *ordering_new(const struct zkli_listing *listing) {
    size_t bytes = 0;
    for (size_t i = 0; i < listing->count; i++)
        bytes += strlen(listing->siblings[i].name) + 1;
    struct zkli_ordering *ordering = calloc(1, sizeof(*ordering) + bytes);
    if (ordering == NULL)
        return NULL;
    ordering->siblings = calloc(listing->count, sizeof(*ordering->siblings));
    if (ordering->siblings == NULL) {
        free(ordering);
        return NULL;
    }
    char *name = ordering->names;
    for (size_t i = 0; i < listing->count; i++) {
        size_t size = strlen(listing->siblings[i].name) + 1;
        memcpy(name, listing->siblings[i].name, size);
        ordering->siblings[i] = listing->siblings[i];
        ordering->siblings[i].name = name;
        name += size;
    }
    ordering->count = listing->count;
    ordering->czxid = listing->czxid;
    ordering->version = listing->version;
    return ordering;
}

void zkli_ordering_free(struct zkli_ordering *ordering) {
    free(ordering->siblings);
    free(ordering);
}

static void ordering_drop(struct zkli_member *m) {
    if (m->ordering == NULL)
        return;
    zkli_slots_void(m->dir->engine, ZKLI_USE_ORDER, m);
    zkli_ordering_free(m->ordering);
    m->ordering = NULL;
}

bool zkli_ordering_note(struct zkli_ordering *ordering, size_t index, enum zkli_result result,
                        int64_t czxid) {
    struct zkli_sibling *sibling = &ordering->siblings[index];
    if (result == ZKLI_RESULT_OK)
        sibling->order = czxid;
    else if (result == ZKLI_RESULT_NO_NODE)
        sibling->name = NULL;
    else
        ordering->is_lost = true;
    ordering->answered++;
    return ordering->answered == ordering->count;
}

struct zkli_listing zkli_ordering_listing(struct zkli_ordering *ordering) {
    struct zkli_listing listing = {.siblings = ordering->siblings,
                                   .is_by_czxid = true,
                                   .czxid = ordering->czxid,
                                   .version = ordering->version};
    for (size_t i = 0; i < ordering->count; i++)
        if (ordering->siblings[i].name != NULL)
            ordering->siblings[listing.count++] = ordering->siblings[i];
    return listing;
}

/* ---- Asking ---- */

static void ask_for_listing(struct zkli_member *m) {
    zkli_list_remove(&m->asker);
    zkli_list_append(&m->dir->askers, &m->asker);
    zkli_line_join(m->dir->engine, &m->dir->work);
}

void zkli_requests_ask(struct zkli_member *m, const struct zkli_actions *actions) {
    struct zkli_engine *e = m->dir->engine;
    for (size_t i = 0; i < actions->flight_count; i++) {
        unsigned ask = actions->flight[i];
        if (ask == ZKLI_ASK_LIST) {
            ask_for_listing(m);
            continue;
        }
        if (ask == ZKLI_ASK_ORDER) {
            ordering_drop(m);
            m->ordering = ordering_new(e->listing);
        }
        assert(m->unsent_count < ZKLI_FLIGHT_MAX);
        m->unsent[m->unsent_count++] = (uint16_t)ask;
        zkli_owner_line_up(m, ask);
    }
}

unsigned zkli_requests_withdraw(struct zkli_member *m) {
    if (m->core.state == ZKLI_SEARCHING)
        return 0; /* to leave, it needs the search */
    unsigned taken = 0;
    for (size_t i = 0; i < m->unsent_count; i++)
        taken |= m->unsent[i];
    if (zkli_list_is_linked(&m->asker))
        taken |= ZKLI_ASK_LIST; /* sent or not, its reply will not reach us */
    m->unsent_count = 0;
    zkli_list_remove(&m->work.link);
    zkli_list_remove(&m->asker);
    ordering_drop(m);
    return taken;
}

void zkli_requests_forget(struct zkli_member *m) {
    struct zkli_engine *e = m->dir->engine;
    m->unsent_count = 0;
    zkli_list_remove(&m->work.link);
    zkli_list_remove(&m->asker);
    ordering_drop(m);
    zkli_slots_void(e, ZKLI_USE_MEMBER, m);
    if (e->slots[ZKLI_SLOT_HEARTBEAT].member == m)
        e->slots[ZKLI_SLOT_HEARTBEAT].member = NULL;
}

void zkli_requests_reset(struct zkli_engine *e, struct zkli_list *ret_queries) {
    zkli_slots_reset(e, ret_queries);
    struct zkli_list *link = e->work.next;
    while (link != &e->work) {
        struct zkli_work *work = ZKLI_CONTAINER(link, struct zkli_work, link);
        link = link->next;
        if (work->kind == ZKLI_WORK_QUERY)
            continue; /* asks the next session */
        zkli_list_remove(&work->link);
    }
    for (link = e->members.next; link != &e->members; link = link->next)
        ZKLI_CONTAINER(link, struct zkli_member, link)->unsent_count = 0;
}

/* ---- Sending for members ---- */

static size_t format_permits(char ret_text[ZKLI_PERMITS_TEXT_MAX], const struct zkli_member *m) {
    return zkli_permits_format(ret_text, m->core.permits, m->core.permits);
}

static bool send_parent(struct zkli_member *m, unsigned slot) {
    struct zkli_engine *e = m->dir->engine;
    char path[ZKLI_PATH_MAX], permits[ZKLI_PERMITS_TEXT_MAX];
    size_t length = 0;
    zkli_dir_ancestor_path(path, m->dir, m->core.parent_level);
    if (m->core.parent_level == 1 && m->core.kind == ZKLI_KIND_LEASE)
        length = format_permits(permits, m);
    return e->port->ops->create(e->port, slot, path, permits, length,
                                e->has_no_containers ? ZKLI_PERSISTENT : ZKLI_CONTAINER);
}

/* While our node is in it, the directory is the one whose data were read. */
static bool send_record(struct zkli_member *m, unsigned slot) {
    const struct zkli_port_ops *port = m->dir->engine->port->ops;
    char own[ZKLI_PATH_MAX], permits[ZKLI_PERMITS_TEXT_MAX];
    int32_t length = (int32_t)format_permits(permits, m);
    zkli_dir_child_path(own, m->dir, m->core.node);
    const struct zkli_op ops[] = {
        {.type = ZKLI_OP_CHECK, .path = own, .version = -1},
        {.type = ZKLI_OP_SET,
         .path = m->dir->path,
         .data = permits,
         .length = length,
         .version = m->core.recorded.version},
    };
    return port->multi(m->dir->engine->port, slot, ops, sizeof(ops) / sizeof(ops[0]));
}

static size_t format_data(char ret_data[ZKLI_NODE_DATA_MAX], const struct zkli_member *m,
                          int64_t token) {
    struct zkli_node_data who = m->dir->engine->who;
    who.timeout_ms = m->dir->engine->longest_timeout_ms;
    who.owner_thread = m->owner;
    if (m->owner == 0)
        who.owner_nonce = 0;
    who.thread = m->thread.id;
    who.token = token;
    if (m->label != NULL)
        zkli_node_data_cut(who.label, m->label);
    if (m->core.is_grouped)
        memcpy(who.attempt, m->core.uuid, sizeof(m->core.uuid));
    return zkli_node_data_format(ret_data, &who);
}

void zkli_requests_format_create(struct zkli_create *ret_create, const struct zkli_member *m) {
    char prefix[ZKLI_PREFIX_MAX + 1];
    zkli_node_prefix_format(prefix, m->core.kind, m->core.uuid);
    zkli_dir_child_path(ret_create->path, m->dir, prefix);
    ret_create->length = format_data(ret_create->data, m, 0);
}

static bool send_create(struct zkli_member *m, unsigned slot) {
    struct zkli_engine *e = m->dir->engine;
    struct zkli_create create;
    zkli_requests_format_create(&create, m);
    return e->port->ops->create(e->port, slot, create.path, create.data, create.length,
                                ZKLI_EPHEMERAL_SEQUENTIAL);
}

/* The set is for those who watch the writer's node: see contender_moves.h. */
static bool send_turn(struct zkli_member *m, unsigned slot) {
    const struct zkli_port_ops *port = m->dir->engine->port->ops;
    char writer[ZKLI_PATH_MAX], reader[ZKLI_PATH_MAX], data[ZKLI_NODE_DATA_MAX];
    char child[ZKLI_OWN_CHILD_MAX + 1];
    int32_t length = (int32_t)format_data(data, m, m->core.czxid);
    zkli_dir_child_path(writer, m->dir, m->core.node);
    zkli_contender_reader(child, &m->core);
    zkli_dir_child_path(reader, m->dir, child);
    const struct zkli_op ops[] = {
        {.type = ZKLI_OP_SET, .path = writer, .data = data, .length = length, .version = -1},
        {.type = ZKLI_OP_CREATE,
         .path = reader,
         .data = data,
         .length = length,
         .flags = ZKLI_CREATE_EPHEMERAL,
         .has_our_acl = true},
        {.type = ZKLI_OP_DELETE, .path = writer, .version = -1},
    };
    return port->multi(m->dir->engine->port, slot, ops, sizeof(ops) / sizeof(ops[0]));
}

/* ---- Marks ---- */

/* Of our own node, or of another's that is asked to let go. */
static void path_to_mark(char ret_path[ZKLI_PATH_MAX], const struct zkli_member *m, unsigned ask) {
    zkli_dir_child_path(ret_path, m->dir, ask == ZKLI_ASK_LET_GO ? m->core.found : m->core.node);
}

static bool has_two_slots(const struct zkli_engine *e) {
    return e->free_slot != ZKLI_SLOTS && e->slots[e->free_slot].next_free != ZKLI_SLOTS;
}

static bool send_set(struct zkli_member *m, unsigned ask, unsigned slot, const char *line,
                     size_t length, int32_t version) {
    char path[ZKLI_PATH_MAX];
    path_to_mark(path, m, ask);
    const struct zkli_op set = {.type = ZKLI_OP_SET,
                                .path = path,
                                .data = line,
                                .length = (int32_t)length,
                                .version = version};
    return m->dir->engine->port->ops->multi(m->dir->engine->port, slot, &set, 1);
}

static size_t mark_fresh(char ret_line[ZKLI_NODE_DATA_MAX], const struct zkli_member *m) {
    char fresh[ZKLI_NODE_DATA_MAX];
    size_t length = format_data(fresh, m, 0);
    return zkli_node_data_set(ret_line, fresh, length, ZKLI_NODE_TOUCHED, 1);
}

/* By the servers' clock, as its node was made by it. */
static int64_t since_ms(const struct zkli_member *m, const struct zkli_stat *stat) {
    return stat->ctime_ms + m->waited_ns / ZKLI_NS_PER_MS;
}

/* Of the line that was read. 0: it is left alone. What is none of ours is replaced by the mark for
 * those who wait only. */
static size_t mark(char ret_line[ZKLI_NODE_DATA_MAX], const struct zkli_member *m, unsigned ask,
                   const struct zkli_reply *reply) {
    struct zkli_node_data data;
    const char *line = reply->data;
    size_t length = reply->data_length;
    if (ask == ZKLI_ASK_TOUCH) {
        size_t marked = zkli_node_data_set(ret_line, line, length, ZKLI_NODE_TOUCHED, 1);
        return marked > 0 ? marked : mark_fresh(ret_line, m);
    }
    bool is_to_let_go = ask == ZKLI_ASK_LET_GO;
    int64_t granted_ms = since_ms(m, &reply->stat);
    bool is_due = zkli_node_data_parse(&data, line, length) &&
                  (is_to_let_go ? !data.is_asked : !data.is_broken && data.since_ms != granted_ms);
    if (!is_due)
        return 0;
    return is_to_let_go ? zkli_node_data_set(ret_line, line, length, ZKLI_NODE_ASK, 1)
                        : zkli_node_data_set(ret_line, line, length, ZKLI_NODE_SINCE, granted_ms);
}

/* There is no hurry to say since when it is held by: it is put off while there is much to send.
 * Else who is granted thousands of locks at once would keep all else waiting. */
static bool is_time_for_since(const struct zkli_engine *e) {
    return e->in_flight <= ZKLI_WINDOW / 4;
}

/* A node that is as we made it has version 0. */
static bool send_mark(struct zkli_member *m, unsigned ask, unsigned slot) {
    struct zkli_engine *e = m->dir->engine;
    char path[ZKLI_PATH_MAX], marked[ZKLI_NODE_DATA_MAX];
    if (m->mark == ZKLI_MARK_FRESH && ask == ZKLI_ASK_TOUCH)
        return send_set(m, ask, slot, marked, mark_fresh(marked, m), 0);
    m->mark = ZKLI_MARK_READ;
    path_to_mark(path, m, ask);
    return e->port->ops->get(e->port, slot, path, false);
}

/* The node was read; the slot of that reply is free. */
static bool set_mark(struct zkli_member *m, unsigned ask, const struct zkli_reply *reply,
                     size_t length, const char *marked) {
    struct zkli_engine *e = m->dir->engine;
    unsigned number = zkli_slot_reserve(e, ZKLI_USE_MEMBER);
    e->slots[number].member = m;
    e->slots[number].ask = ask;
    m->mark = ZKLI_MARK_SET;
    if (send_set(m, ask, number, marked, length, reply->stat.version))
        return true;
    zkli_slot_release(e, number);
    return false;
}

/* What says since when it is held by, and the read that sets the watch again, are sent together. */
static bool may_set(const struct zkli_engine *e, unsigned ask) {
    bool has_room = ask != ZKLI_ASK_SINCE || has_two_slots(e);
    return has_room && zkli_is_connected(e) && !e->is_draining;
}

bool zkli_requests_note_mark(struct zkli_member *m, unsigned ask, const struct zkli_reply *reply,
                             enum zkli_result *result) {
    char marked[ZKLI_NODE_DATA_MAX];
    if ((m->core.in_flight & ask) == 0)
        return true; /* void */
    if (m->mark == ZKLI_MARK_READ && reply->result == ZKLI_RESULT_OK) {
        size_t length = mark(marked, m, ask, reply);
        if (length == 0)
            return true;
        if (may_set(m->dir->engine, ask) && set_mark(m, ask, reply, length, marked))
            return false;
        *result = ZKLI_RESULT_LOST;
    }
    m->mark = ZKLI_MARK_READ;
    if (*result != ZKLI_RESULT_BAD_VERSION)
        return true;
    assert(m->unsent_count < ZKLI_FLIGHT_MAX);
    m->unsent[m->unsent_count++] = (uint16_t)ask;
    zkli_line_join(m->dir->engine, &m->work);
    return false;
}

/* ---- Requests of a member ---- */

static bool send_watching_read(struct zkli_engine *e, unsigned slot, struct zkli_watcher *watcher) {
    if (!e->port->ops->get(e->port, slot, watcher->watch->path, true))
        return false;
    e->slots[slot].watch = watcher->watch;
    zkli_watch_asked(watcher->watch);
    return true;
}

static bool send_watching_list(struct zkli_engine *e, unsigned slot, struct zkli_watch *watch) {
    if (!e->port->ops->list(e->port, slot, watch->path, true))
        return false;
    e->slots[slot].watch = watch;
    zkli_watch_asked(watch);
    return true;
}

static bool send_request(struct zkli_member *m, unsigned ask, unsigned slot) {
    struct zkli_engine *e = m->dir->engine;
    char path[ZKLI_PATH_MAX];
    switch (ask) {
    case ZKLI_ASK_PARENT:
        return send_parent(m, slot);
    case ZKLI_ASK_CREATE:
        return send_create(m, slot);
    case ZKLI_ASK_BARRIER:
        return e->port->ops->barrier(e->port, slot, NULL);
    case ZKLI_ASK_OWN:
        return send_watching_read(e, slot, &m->watchers[ZKLI_WATCHED_OWN]);
    case ZKLI_ASK_PREDECESSOR:
        return send_watching_read(e, slot, &m->watchers[ZKLI_WATCHED_PREDECESSOR]);
    case ZKLI_ASK_DIRECTORY:
        if (zkli_contender_watches_directory(&m->core))
            return send_watching_read(e, slot, &m->watchers[ZKLI_WATCHED_DIRECTORY]);
        return e->port->ops->get(e->port, slot, m->dir->path, false);
    case ZKLI_ASK_RECORD:
        return send_record(m, slot);
    case ZKLI_ASK_TOUCH:
    case ZKLI_ASK_LET_GO:
        return send_mark(m, ask, slot);
    case ZKLI_ASK_SINCE:
        return is_time_for_since(e) && send_mark(m, ask, slot);
    case ZKLI_ASK_TURN:
        return send_turn(m, slot);
    case ZKLI_ASK_FOLLOWERS:
        return send_watching_list(e, slot, m->watchers[ZKLI_WATCHED_CHILDREN].watch);
    }
    zkli_dir_child_path(path, m->dir, m->core.node);
    if (ask == ZKLI_ASK_OWNER)
        return e->port->ops->get(e->port, slot, path, false);
    assert(ask == ZKLI_ASK_DELETE);
    return e->port->ops->remove(e->port, slot, path);
}

static bool point_to_child(struct zkli_member *m, enum zkli_watched what, const char *child) {
    char path[ZKLI_PATH_MAX];
    zkli_dir_child_path(path, m->dir, child);
    return zkli_watcher_point_to(m->dir->engine, &m->watchers[what], path);
}

void zkli_requests_note_predecessor(struct zkli_member *m, const char *child) {
    (void)point_to_child(m, ZKLI_WATCHED_PREDECESSOR, child);
}

/* Points the watchers that a read is about to set, and those of the listing behind it. False: out
 * of memory. */
static bool point_watchers(struct zkli_member *m, unsigned ask) {
    if (ask == ZKLI_ASK_OWN)
        return point_to_child(m, ZKLI_WATCHED_OWN, m->core.node);
    if (ask == ZKLI_ASK_PREDECESSOR)
        return m->watchers[ZKLI_WATCHED_PREDECESSOR].watch !=
               NULL; /* as listed, if there was memory */
    if (ask == ZKLI_ASK_FOLLOWERS)
        return zkli_watcher_point_to(m->dir->engine, &m->watchers[ZKLI_WATCHED_CHILDREN],
                                     m->dir->path);
    return (!zkli_contender_watches_directory(&m->core) ||
            zkli_watcher_point_to(m->dir->engine, &m->watchers[ZKLI_WATCHED_DIRECTORY],
                                  m->dir->path)) &&
           (!zkli_contender_watches_children(&m->core) ||
            zkli_watcher_point_to(m->dir->engine, &m->watchers[ZKLI_WATCHED_CHILDREN],
                                  m->dir->path));
}

static void drop_first_unsent(struct zkli_member *m) {
    m->unsent_count--;
    memmove(m->unsent, m->unsent + 1, m->unsent_count * sizeof(m->unsent[0]));
    if (m->unsent_count == 0)
        zkli_list_remove(&m->work.link);
}

bool zkli_requests_await_group(const struct zkli_member *m) {
    size_t at = m->unsent[0] == ZKLI_ASK_PARENT ? 1 : 0;
    return m->group != NULL && m->unsent_count > at && m->unsent[at] == ZKLI_ASK_CREATE;
}

void zkli_requests_skip_create(struct zkli_member *m) {
    drop_first_unsent(m);
    if (m->unsent_count > 0)
        zkli_line_join(m->dir->engine, &m->work);
    zkli_line_join(m->dir->engine, &m->dir->work); /* its listing, if it still wants that */
}

/* Sends the next read of the member's ordering. False: there was no memory for an ordering, or it
 * was not sent, and all the others are answered. */
static bool send_order(struct zkli_member *m, enum zkli_result *ret_result) {
    struct zkli_engine *e = m->dir->engine;
    struct zkli_ordering *ordering = m->ordering;
    char path[ZKLI_PATH_MAX];
    if (ordering == NULL || ordering->sent + 1 == ordering->count)
        drop_first_unsent(m);
    *ret_result = ZKLI_RESULT_NOMEM;
    if (ordering == NULL)
        return false;
    unsigned number = zkli_slot_reserve(e, ZKLI_USE_ORDER);
    size_t index = ordering->sent++;
    e->slots[number].member = m;
    e->slots[number].index = index;
    zkli_dir_child_path(path, m->dir, ordering->siblings[index].name);
    if (e->port->ops->get(e->port, number, path, false))
        return true;
    zkli_slot_release(e, number);
    if (!zkli_ordering_note(ordering, index, ZKLI_RESULT_LOST, 0))
        return true;
    ordering_drop(m);
    *ret_result = ZKLI_RESULT_LOST;
    return false;
}

bool zkli_requests_send_next(struct zkli_member *m, unsigned *ret_ask,
                             enum zkli_result *ret_result) {
    struct zkli_engine *e = m->dir->engine;
    unsigned ask = m->unsent[0];
    *ret_ask = ask;
    if (ask == ZKLI_ASK_ORDER)
        return send_order(m, ret_result);
    drop_first_unsent(m);
    bool has_to_wait = ask == ZKLI_ASK_CREATE && zkli_owner_holds_back(m);
    *ret_result = has_to_wait ? ZKLI_RESULT_AGAIN : ZKLI_RESULT_NOMEM;
    if (has_to_wait || !point_watchers(m, ask))
        return false;
    unsigned number = zkli_slot_reserve(e, ZKLI_USE_MEMBER);
    e->slots[number].member = m;
    e->slots[number].ask = ask;
    if (send_request(m, ask, number))
        return true;
    zkli_slot_release(e, number);
    *ret_result = ZKLI_RESULT_LOST;
    return false;
}

/* ---- Sending listings ---- */

/* Moves the members that have nothing left to be sent before the listing. */
static void move_askers(struct zkli_list *ret_askers, struct zkli_dir *dir) {
    struct zkli_list *link = dir->askers.next;
    while (link != &dir->askers) {
        struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, asker);
        link = link->next;
        if (m->unsent_count != 0)
            continue;
        zkli_list_remove(&m->asker);
        zkli_list_append(ret_askers, &m->asker);
    }
}

/* That which one of these wants to be set. NULL: none does. */
static struct zkli_watch *watch_wanted(const struct zkli_list *askers) {
    for (const struct zkli_list *link = askers->next; link != askers; link = link->next) {
        const struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, asker);
        struct zkli_watch *watch = m->watchers[ZKLI_WATCHED_CHILDREN].watch;
        if (zkli_contender_watches_children(&m->core) && watch != NULL)
            return watch;
    }
    return NULL;
}

/* Else they wait for others of their groups, or there are none. */
static bool has_asker_in_line(const struct zkli_dir *dir) {
    const struct zkli_list *head = &dir->askers;
    for (const struct zkli_list *link = head->next; link != head; link = link->next)
        if (zkli_list_is_linked(&ZKLI_CONTAINER(link, struct zkli_member, asker)->work.link))
            return true;
    return false;
}

bool zkli_requests_send_listing(struct zkli_dir *dir, struct zkli_list *ret_askers) {
    struct zkli_engine *e = dir->engine;
    zkli_list_init(ret_askers);
    move_askers(ret_askers, dir);
    zkli_list_remove(&dir->work.link);
    if (has_asker_in_line(dir))
        zkli_line_join(e, &dir->work); /* behind what they have in line */
    if (zkli_list_is_empty(ret_askers))
        return true; /* all have left, or are in line */
    unsigned number = zkli_slot_reserve(e, ZKLI_USE_LIST);
    struct zkli_watch *watch = watch_wanted(ret_askers);
    if (!e->port->ops->list(e->port, number, dir->path, watch != NULL)) {
        zkli_slot_release(e, number);
        return false;
    }
    e->slots[number].watch = watch;
    if (watch != NULL)
        zkli_watch_asked(watch);
    zkli_list_move_all(&e->slots[number].askers, ret_askers);
    return true;
}

/* ---- Directories that were made for nothing ---- */

bool zkli_requests_may_tidy(const struct zkli_dir *dir) {
    return dir->made_level > 0 && dir->member_count == 0;
}

/* It goes if it is empty, and as it was made: permits may have been recorded in it since. */
void zkli_requests_tidy(struct zkli_dir *dir) {
    struct zkli_engine *e = dir->engine;
    char path[ZKLI_PATH_MAX];
    zkli_dir_ancestor_path(path, dir, dir->made_level);
    const struct zkli_op removal = {.type = ZKLI_OP_DELETE, .path = path, .version = 0};
    unsigned number = zkli_slot_reserve(e, ZKLI_USE_VOID);
    if (!e->port->ops->multi(e->port, number, &removal, 1))
        zkli_slot_release(e, number);
    dir->made_level = 0;
    zkli_list_remove(&dir->work.link);
    zkli_dir_release(dir);
}

/* ---- Room ---- */

/* Two for a directory and the node in it, which are sent together unless the node has to wait for
 * another of its owner's. Else a wait that ends between them would leave a directory that never had
 * a node. For those of a group, one for each directory, and one. */
bool zkli_requests_have_slots(const struct zkli_engine *e, struct zkli_work *work) {
    if (e->free_slot == ZKLI_SLOTS || work->kind != ZKLI_WORK_MEMBER)
        return e->free_slot != ZKLI_SLOTS;
    const struct zkli_member *m = ZKLI_CONTAINER(work, struct zkli_member, work);
    if (zkli_requests_await_group(m))
        return e->in_flight + m->group->count < ZKLI_WINDOW;
    bool is_pair = m->unsent[0] == ZKLI_ASK_PARENT && m->unsent_count > 1;
    return !is_pair || has_two_slots(e);
}
