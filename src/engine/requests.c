/*
 * requests - what is sent in which order, what is in flight, and whom a reply concerns.
 *
 * Nothing is allocated to send: whoever has requests to make stands in one line, and takes a slot
 * for each when its turn comes. Listings of a directory that are asked for while one is not yet
 * sent are one request, but for those whose askers have something in line behind it: they are the
 * next one. (Were it moved, it would never be sent while somebody asks again and again.)
 */
#include "engine/engine_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

void zkli_requests_init(struct zkli_engine *e) {
    zkli_list_init(&e->work);
    zkli_list_init(&e->aside);
    zkli_requests_reset(e);
}

void zkli_requests_stand_in_line(struct zkli_engine *e, struct zkli_work *work) {
    if (!zkli_list_is_linked(&work->link))
        zkli_list_append(&e->work, &work->link);
}

/* ---- Asking ---- */

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
    return ordering;
}

static void ordering_drop(struct zkli_member *m) {
    if (m->ordering == NULL)
        return;
    for (unsigned i = 0; i < ZKLI_WINDOW; i++) {
        struct zkli_slot *slot = &m->engine->slots[i];
        if (slot->use == ZKLI_SLOT_ORDER && slot->member == m)
            slot->use = ZKLI_SLOT_VOID;
    }
    free(m->ordering->siblings);
    free(m->ordering);
    m->ordering = NULL;
}

static void ask_for_listing(struct zkli_member *m) {
    zkli_list_remove(&m->asker);
    zkli_list_append(&m->dir->askers, &m->asker);
    zkli_requests_stand_in_line(m->engine, &m->dir->work);
}

void zkli_requests_ask(struct zkli_member *m, const struct zkli_actions *actions) {
    struct zkli_engine *e = m->engine;
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
        m->unsent[m->unsent_count++] = ask;
        zkli_requests_stand_in_line(e, &m->work);
    }
}

unsigned zkli_requests_take_back(struct zkli_member *m) {
    if (m->core.state == ZKLI_SEARCHING)
        return 0; /* to leave, it needs just that */
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
    m->unsent_count = 0;
    zkli_list_remove(&m->work.link);
    zkli_list_remove(&m->asker);
    ordering_drop(m);
    for (unsigned i = 0; i < ZKLI_WINDOW; i++) {
        struct zkli_slot *slot = &m->engine->slots[i];
        if (slot->use == ZKLI_SLOT_MEMBER && slot->member == m)
            slot->use = ZKLI_SLOT_VOID;
    }
    if (m->engine->slots[ZKLI_SLOT_HEARTBEAT].member == m)
        m->engine->slots[ZKLI_SLOT_HEARTBEAT].member = NULL;
}

/* ---- Slots ---- */

unsigned zkli_slot_take(struct zkli_engine *e, enum zkli_slot_use use) {
    unsigned number = e->free_slot;
    struct zkli_slot *slot = &e->slots[number];
    e->free_slot = slot->next_free;
    e->in_flight++;
    *slot = (struct zkli_slot){.use = use};
    zkli_list_init(&slot->askers);
    return number;
}

void zkli_slot_give_back(struct zkli_engine *e, unsigned number) {
    e->slots[number].use = ZKLI_SLOT_FREE;
    e->data_in_flight -= e->slots[number].bytes;
    e->in_flight--;
    if (number == ZKLI_SLOT_HEARTBEAT)
        return;
    e->slots[number].next_free = e->free_slot;
    e->free_slot = number;
}

void zkli_requests_reset(struct zkli_engine *e) {
    struct zkli_list orphaned, *first;
    zkli_list_init(&orphaned); /* a query that is done may forget others of them */
    for (unsigned i = 0; i < ZKLI_SLOTS; i++) {
        struct zkli_slot *slot = &e->slots[i];
        if (slot->use == ZKLI_SLOT_QUERY)
            zkli_list_append(&orphaned, &slot->query->work.link);
        while (slot->use == ZKLI_SLOT_LIST && zkli_list_take_first(&slot->askers) != NULL)
            ;
        slot->use = ZKLI_SLOT_FREE;
        slot->next_free = i + 1;
    }
    e->slots[ZKLI_WINDOW - 1].next_free = ZKLI_SLOTS;
    e->free_slot = 0;
    e->in_flight = 0;
    e->data_in_flight = 0;
    struct zkli_list *link = e->work.next;
    while (link != &e->work) {
        struct zkli_work *work = ZKLI_CONTAINER(link, struct zkli_work, link);
        link = link->next;
        if (work->kind == ZKLI_WORK_QUERY)
            continue; /* asks the next session */
        zkli_list_remove(&work->link);
        if (work->kind == ZKLI_WORK_MEMBER)
            ZKLI_CONTAINER(work, struct zkli_member, work)->unsent_count = 0;
    }
    while ((first = zkli_list_take_first(&orphaned)) != NULL)
        zkli_query_done(e, ZKLI_CONTAINER(first, struct zkli_query, work.link), NULL);
}

/* ---- Replies to members ---- */

static enum zkli_contender_event_type event_of(unsigned op) {
    switch (op) {
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
    }
    return ZKLI_EV_LISTED;
}

/* For the log: the node that was read, or the directory. */
static const char *path_asked(const struct zkli_member *m, unsigned op) {
    if (op == ZKLI_ASK_PREDECESSOR && m->predecessor.watch != NULL)
        return m->predecessor.watch->path;
    if (op == ZKLI_ASK_OWN && m->own.watch != NULL)
        return m->own.watch->path;
    return m->dir->path;
}

/* A node was not there: perhaps it is a member's of ours, who does not know. */
static void end_hold_at(struct zkli_engine *e, const char *path) {
    struct zkli_member *owner = zkli_member_at(e, path);
    if (owner != NULL && owner->core.state == ZKLI_HELD)
        zkli_member_node_gone(owner);
}

/* A server before 3.5 does not know create2, says so, and closes the connection. */
static void log_refusal(const struct zkli_member *m, unsigned op, const struct zkli_reply *reply) {
    if (op == ZKLI_ASK_CREATE && reply->is_unimplemented)
        zkli_engine_log(m->engine, ZKL_LOG_ERROR,
                        "the servers are older than ZooKeeper 3.5.3, which zklock needs: they do "
                        "not know create2 (code %d)",
                        reply->code);
    else
        zkli_engine_log(m->engine, ZKL_LOG_ERROR, "the server refuses a request at %s (code %d)",
                        path_asked(m, op), reply->code);
}

static void answer(struct zkli_member *m, unsigned op, const struct zkli_reply *reply) {
    struct zkli_engine *e = m->engine;
    struct zkli_contender_event event = {
        .type = event_of(op),
        .result = reply->result,
        .czxid = reply->stat.czxid,
        .owner = reply->stat.owner,
    };
    if (op == ZKLI_ASK_CREATE && reply->result == ZKLI_RESULT_OK)
        event.node = zkli_path_last(reply->path);
    if (op == ZKLI_ASK_CREATE && reply->result == ZKLI_RESULT_LOST)
        zkli_members_lost_create(m->dir);
    bool is_missed = op == ZKLI_ASK_PREDECESSOR && reply->result == ZKLI_RESULT_NO_NODE;
    if (is_missed && m->predecessor.watch != NULL)
        end_hold_at(e, m->predecessor.watch->path);
    if (op == ZKLI_ASK_PARENT && reply->is_unimplemented) {
        e->has_no_containers = true; /* a server before 3.5.1: plain directories from now on */
        event.result = ZKLI_RESULT_AGAIN;
    }
    bool is_denied = event.result == ZKLI_RESULT_DENIED &&
                     op != ZKLI_ASK_OWNER; /* not ours, then */
    bool is_refused = is_denied || event.result == ZKLI_RESULT_ERROR;
    if (is_refused && !m->was_refused) /* not again at each retry */
        log_refusal(m, op, reply);
    m->was_refused = m->was_refused || is_refused;
    zkli_member_step(m, &event);
}

/* No reply will come: as if it had been lost. */
static void answer_lost(struct zkli_member *m, unsigned op) {
    struct zkli_reply lost = {.result = ZKLI_RESULT_LOST};
    answer(m, op, &lost);
}

static void answer_nomem(struct zkli_member *m, unsigned op) {
    struct zkli_reply nomem = {.result = ZKLI_RESULT_NOMEM};
    answer(m, op, &nomem);
}

/* ---- Sending ---- */

static void child_path(char ret_path[ZKLI_PATH_MAX], const struct zkli_dir *dir,
                       const char *child) {
    bool fits = zkli_path_join(ret_path, ZKLI_PATH_MAX, dir->path, child);
    assert(fits); /* root, name and child have limits */
    (void)fits;   /* in a build without assertions */
}

static bool send_parent(struct zkli_member *m, unsigned slot) {
    struct zkli_engine *e = m->engine;
    char path[ZKLI_PATH_MAX];
    memcpy(path, m->dir->path, m->dir->length + 1);
    for (unsigned level = 1; level < m->core.parent_level; level++)
        *strrchr(path, '/') = '\0';
    return e->port->ops->create(e->port, slot, path, "", 0,
                                e->has_no_containers ? ZKLI_PERSISTENT : ZKLI_CONTAINER);
}

static bool send_create(struct zkli_member *m, unsigned slot) {
    struct zkli_engine *e = m->engine;
    char prefix[ZKLI_PREFIX_LENGTH + 1], path[ZKLI_PATH_MAX], data[ZKLI_NODE_DATA_MAX];
    zkli_node_prefix_format(prefix, m->core.uuid);
    struct zkli_node_data who = e->who;
    who.thread = m->thread.id;
    memcpy(who.label, m->label, sizeof(who.label));
    size_t length = zkli_node_data_format(data, &who);
    child_path(path, m->dir, prefix);
    return e->port->ops->create(e->port, slot, path, data, length, ZKLI_EPHEMERAL_SEQUENTIAL);
}

static bool send_watching_read(struct zkli_engine *e, unsigned slot, struct zkli_watcher *watcher) {
    if (!e->port->ops->get(e->port, slot, watcher->watch->path, true))
        return false;
    e->slots[slot].watch = watcher->watch;
    zkli_watch_asked(watcher->watch);
    return true;
}

static bool send_op(struct zkli_member *m, unsigned op, unsigned slot) {
    struct zkli_engine *e = m->engine;
    char path[ZKLI_PATH_MAX];
    switch (op) {
    case ZKLI_ASK_PARENT:
        return send_parent(m, slot);
    case ZKLI_ASK_CREATE:
        return send_create(m, slot);
    case ZKLI_ASK_BARRIER:
        return e->port->ops->barrier(e->port, slot, NULL);
    case ZKLI_ASK_OWN:
        return send_watching_read(e, slot, &m->own);
    case ZKLI_ASK_PREDECESSOR:
        return send_watching_read(e, slot, &m->predecessor);
    }
    child_path(path, m->dir, m->core.node);
    if (op == ZKLI_ASK_OWNER)
        return e->port->ops->get(e->port, slot, path, false);
    assert(op == ZKLI_ASK_DELETE);
    return e->port->ops->remove(e->port, slot, path);
}

/* Points the watcher that a read is about to set. False: out of memory. */
static bool point_watcher(struct zkli_member *m, unsigned op) {
    char path[ZKLI_PATH_MAX];
    if (op != ZKLI_ASK_OWN && op != ZKLI_ASK_PREDECESSOR)
        return true;
    child_path(path, m->dir, op == ZKLI_ASK_OWN ? m->core.node : m->core.predecessor);
    return zkli_watcher_point_to(op == ZKLI_ASK_OWN ? &m->own : &m->predecessor, path);
}

static void ordering_answer(struct zkli_member *m, enum zkli_result result) {
    struct zkli_ordering *ordering = m->ordering;
    struct zkli_listing listing = {ordering->siblings, 0, true};
    for (size_t i = 0; i < ordering->count; i++)
        if (ordering->siblings[i].name != NULL)
            ordering->siblings[listing.count++] = ordering->siblings[i];
    struct zkli_contender_event event = {
        .type = ZKLI_EV_LISTED, .result = result, .listing = &listing};
    m->ordering = NULL; /* the step may ask for a new one */
    zkli_member_step(m, &event);
    free(ordering->siblings);
    free(ordering);
}

/* Sends the next read of an ordering. */
static void send_order(struct zkli_member *m) {
    struct zkli_engine *e = m->engine;
    struct zkli_ordering *ordering = m->ordering;
    char path[ZKLI_PATH_MAX];
    unsigned number = zkli_slot_take(e, ZKLI_SLOT_ORDER);
    struct zkli_slot *slot = &e->slots[number];
    slot->member = m;
    slot->index = ordering->sent;
    child_path(path, m->dir, ordering->siblings[ordering->sent].name);
    if (!e->port->ops->get(e->port, number, path, false)) {
        zkli_slot_give_back(e, number);
        ordering->answered++;
        ordering->is_lost = true;
    }
    ordering->sent++;
    if (ordering->answered == ordering->count)
        ordering_answer(m, ZKLI_RESULT_LOST);
}

static void drop_first_unsent(struct zkli_member *m) {
    m->unsent_count--;
    memmove(m->unsent, m->unsent + 1, m->unsent_count * sizeof(m->unsent[0]));
    if (m->unsent_count == 0)
        zkli_list_remove(&m->work.link);
}

/* The member's next request. */
static void send_member(struct zkli_member *m) {
    struct zkli_engine *e = m->engine;
    unsigned op = m->unsent[0];
    bool is_order = op == ZKLI_ASK_ORDER;
    if (!is_order || m->ordering == NULL || m->ordering->sent + 1 == m->ordering->count)
        drop_first_unsent(m);
    if (is_order && m->ordering != NULL) {
        send_order(m);
        return;
    }
    if (is_order || !point_watcher(m, op)) {
        answer_nomem(m, op);
        return;
    }
    unsigned number = zkli_slot_take(e, ZKLI_SLOT_MEMBER);
    e->slots[number].member = m;
    e->slots[number].op = op;
    if (!send_op(m, op, number)) {
        zkli_slot_give_back(e, number);
        answer_lost(m, op);
    }
}

static void answer_list(struct zkli_engine *e, struct zkli_list *askers,
                        const struct zkli_reply *reply);

/* Moves those who have nothing left to be sent before it. */
static void take_askers(struct zkli_list *ret_askers, struct zkli_dir *dir) {
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

static void send_list(struct zkli_engine *e, struct zkli_dir *dir) {
    struct zkli_list askers;
    zkli_list_init(&askers);
    take_askers(&askers, dir);
    zkli_list_remove(&dir->work.link);
    if (!zkli_list_is_empty(&dir->askers))
        zkli_requests_stand_in_line(e, &dir->work); /* behind what they have in line */
    if (zkli_list_is_empty(&askers))
        return; /* all have left, or are in line */
    unsigned number = zkli_slot_take(e, ZKLI_SLOT_LIST);
    struct zkli_slot *slot = &e->slots[number];
    zkli_list_move_all(&slot->askers, &askers);
    if (!e->port->ops->list(e->port, number, dir->path)) {
        struct zkli_reply lost = {.result = ZKLI_RESULT_LOST};
        answer_list(e, &slot->askers, &lost);
        zkli_slot_give_back(e, number);
    }
}

/* Whether there are slots: two for a directory and the node in it, which are sent together or not
 * at all. Else a wait that ends between them would leave a directory that nobody has stood in. */
static bool has_slots(const struct zkli_engine *e, struct zkli_work *work) {
    if (e->free_slot == ZKLI_SLOTS || work->kind != ZKLI_WORK_MEMBER)
        return e->free_slot != ZKLI_SLOTS;
    const struct zkli_member *m = ZKLI_CONTAINER(work, struct zkli_member, work);
    bool is_pair = m->unsent[0] == ZKLI_ASK_PARENT && m->unsent_count > 1;
    return !is_pair || e->slots[e->free_slot].next_free != ZKLI_SLOTS;
}

void zkli_requests_pump(struct zkli_engine *e) {
    while (e->is_connected && !e->is_draining && e->free_slot != ZKLI_SLOTS) {
        if (zkli_queries_send_aside(e))
            continue; /* the ones whose turn came before */
        if (zkli_list_is_empty(&e->work))
            return;
        struct zkli_work *work = ZKLI_CONTAINER(e->work.next, struct zkli_work, link);
        if (!has_slots(e, work))
            return;
        switch (work->kind) {
        case ZKLI_WORK_MEMBER:
            send_member(ZKLI_CONTAINER(work, struct zkli_member, work));
            break;
        case ZKLI_WORK_DIR:
            send_list(e, ZKLI_CONTAINER(work, struct zkli_dir, work));
            break;
        case ZKLI_WORK_QUERY:
            zkli_query_send(e, ZKLI_CONTAINER(work, struct zkli_query, work));
            break;
        }
    }
}

/* ---- Replies ---- */

/* Finds the contenders among the children. False: out of memory. */
static bool parse_children(struct zkli_engine *e, const struct zkli_reply *reply,
                           struct zkli_listing *ret_listing) {
    if (reply->child_count > e->siblings_max) {
        struct zkli_sibling *more = realloc(e->siblings, reply->child_count * sizeof(*e->siblings));
        if (more == NULL)
            return false;
        e->siblings = more;
        e->siblings_max = reply->child_count;
    }
    size_t count = 0;
    for (size_t i = 0; i < reply->child_count; i++)
        if (zkli_sibling_parse(&e->siblings[count], reply->children[i]))
            count++;
    *ret_listing = (struct zkli_listing){e->siblings, count, false};
    return true;
}

static bool has_try(const struct zkli_list *askers) {
    for (const struct zkli_list *link = askers->next; link != askers; link = link->next)
        if (ZKLI_CONTAINER(link, struct zkli_member, asker)->core.is_try)
            return true;
    return false;
}

static void answer_list(struct zkli_engine *e, struct zkli_list *askers,
                        const struct zkli_reply *reply) {
    struct zkli_listing listing = {NULL, 0, false};
    enum zkli_result result = reply->result;
    struct zkli_dir *dir = NULL;
    if (result == ZKLI_RESULT_OK && !parse_children(e, reply, &listing))
        result = ZKLI_RESULT_NOMEM;
    if (!zkli_list_is_empty(askers)) /* the members, and so the directory, live until settle */
        dir = ZKLI_CONTAINER(askers->next, struct zkli_member, asker)->dir;
    if (dir != NULL && result == ZKLI_RESULT_OK)
        zkli_dir_end_hold(dir, &listing);
    if (dir != NULL && result == ZKLI_RESULT_OK && has_try(askers))
        zkli_dir_mark_leaving(dir, e->siblings, listing.count);
    e->listing = &listing;
    struct zkli_list *link;
    while ((link = zkli_list_take_first(askers)) != NULL) {
        struct zkli_member *m = ZKLI_CONTAINER(link, struct zkli_member, asker);
        bool is_refused = result == ZKLI_RESULT_DENIED || result == ZKLI_RESULT_ERROR;
        if (is_refused && !m->was_refused)
            zkli_engine_log(e, ZKL_LOG_ERROR, "the server refuses to list %s (code %d)", dir->path,
                            reply->code);
        m->was_refused = m->was_refused || is_refused;
        struct zkli_contender_event event = {
            .type = ZKLI_EV_LISTED, .result = result, .listing = &listing};
        zkli_member_step(m, &event);
    }
    if (dir != NULL && result == ZKLI_RESULT_OK) {
        zkli_members_were_listed(dir, &listing);
        zkli_members_find_orphans(e, dir, &listing);
    }
    e->listing = NULL;
}

static void answer_order(struct zkli_member *m, size_t index, const struct zkli_reply *reply) {
    struct zkli_ordering *ordering = m->ordering;
    struct zkli_sibling *sibling = &ordering->siblings[index];
    if (reply->result == ZKLI_RESULT_OK) {
        sibling->order = reply->stat.czxid;
    } else if (reply->result == ZKLI_RESULT_NO_NODE) {
        char path[ZKLI_PATH_MAX];
        child_path(path, m->dir, sibling->name);
        end_hold_at(m->engine, path);
        sibling->name = NULL;
    } else {
        ordering->is_lost = true;
    }
    ordering->answered++;
    if (ordering->answered == ordering->count)
        ordering_answer(m, ordering->is_lost ? ZKLI_RESULT_LOST : ZKLI_RESULT_OK);
}

void zkli_engine_on_reply(struct zkli_engine *e, struct zkli_port *port, unsigned number,
                          const struct zkli_reply *reply) {
    struct zkli_slot slot = e->slots[number];
    if (port != e->port || slot.use == ZKLI_SLOT_FREE)
        return;
    struct zkli_list askers;
    zkli_list_init(&askers);
    if (slot.use == ZKLI_SLOT_LIST)
        zkli_list_move_all(&askers, &e->slots[number].askers);
    zkli_slot_give_back(e, number);
    /* Lost without news of the connection: perhaps there were none for want of memory, and by the
     * next one watches are sent again. What was listed before is not relied on behind it. */
    if (reply->result == ZKLI_RESULT_LOST && e->is_connected)
        e->connection++;
    if (slot.watch != NULL)
        zkli_watch_answered(e, slot.watch, reply->result == ZKLI_RESULT_OK);
    switch (slot.use) {
    case ZKLI_SLOT_MEMBER:
        answer(slot.member, slot.op, reply);
        break;
    case ZKLI_SLOT_ORDER:
        answer_order(slot.member, slot.index, reply);
        break;
    case ZKLI_SLOT_LIST:
        answer_list(e, &askers, reply);
        break;
    case ZKLI_SLOT_QUERY:
        zkli_query_done(e, slot.query, reply->result == ZKLI_RESULT_LOST ? NULL : reply);
        break;
    case ZKLI_SLOT_BEAT:
        zkli_engine_on_beat(e, slot.member, reply);
        break;
    case ZKLI_SLOT_FREE:
    case ZKLI_SLOT_VOID:
        break;
    }
}
