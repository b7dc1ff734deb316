/*
 * orphans - nodes of our session that no member knows: how they come about, how they are found.
 *
 * A server that has read a create may be slow to queue it, because one of its threads stands still.
 * It may then carry out the create after everything that the session asks for over its next
 * connection, a barrier and a search included. Or the client comes back to that server, whose
 * connection to the leader stalls, gives up and goes elsewhere: when the leader hears of that
 * connect, it takes the session to be there (LearnerHandler: REVALIDATE), and then carries out the
 * create. The node appears when no member expects it any more.
 *
 * The next listing of the directory shows it. For a directory that no member lists again there is a
 * visit: a barrier and a listing, when the connection is as old as the session timeout. Where
 * connections do not last so long, there are visits at that interval before. Others follow, each
 * after as long again as has passed since the reply was lost. A member deletes each orphan that was
 * found, once the server has said that our session owns it.
 */
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

/* A leader waits for a follower for the sync limit, by default five ticks; and T is two ticks at
 * least. In session timeouts. */
#define LAST_VISIT 8

/* ---- In a listing ---- */

static bool is_known(const struct zkli_dir *dir, const char *child) {
    const struct zkli_list *head = &dir->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next)
        if (zkli_contender_may_own(&ZKLI_CONTAINER(link, struct zkli_member, dir_link)->core,
                                   child))
            return true;
    return false;
}

static bool has_node(const struct zkli_contender *c) {
    return c->node[0] != '\0' && c->state != ZKLI_LEAVING && c->state != ZKLI_CLEARING;
}

/* Replies come in order. So a member whose node is in the listing knows its name, or has lost the
 * reply to its create. Nodes that are leaving may be gone already, and do not count. The count
 * overlooks an orphan as long as some other member's node is gone and the member has not been told:
 * a third party has deleted it. */
static bool has_more_than_members(const struct zkli_dir *dir, const struct zkli_listing *listing) {
    size_t ours = 0, known = 0;
    for (size_t i = 0; i < listing->count; i++)
        ours += !listing->siblings[i].is_leaving &&
                zkli_node_name_has_tag(listing->siblings[i].name, dir->engine->tag);
    const struct zkli_list *head = &dir->members;
    for (const struct zkli_list *link = head->next; link != head; link = link->next)
        known += has_node(&ZKLI_CONTAINER(link, struct zkli_member, dir_link)->core);
    return ours > known;
}

static void visit_at(struct zkli_dir *dir, int64_t at_ns);

/* False: out of memory. */
static bool add_orphan(struct zkli_dir *dir, const char *child) {
    struct zkli_engine *e = dir->engine;
    struct zkli_member *m = zkli_member_init(malloc(sizeof(*m)), e, dir);
    if (m == NULL) {
        m = zkli_member_init(e->spare, e, dir);
        e->spare = NULL;
    }
    if (m == NULL)
        return false;
    zkli_contender_init_orphan(&m->core, child);
    zkli_member_set_budget(m, zkli_dir_node_bytes(dir, strlen(child)), 0);
    zkli_member_connect(m);
    return true;
}

/*
 * A node that bears our tag and is another session's is not remembered: it costs a read at each
 * listing that shows it. An acquire lists once or twice, and then waits behind the node, if that is
 * before its own. To remember such nodes would take memory for as many as any client makes, and the
 * engine would have to learn of their end.
 */
static void look_through(struct zkli_dir *dir, const struct zkli_listing *listing) {
    struct zkli_engine *e = dir->engine;
    for (size_t i = 0; i < listing->count; i++) {
        const char *child = listing->siblings[i].name;
        if (!zkli_node_name_has_tag(child, e->tag) || is_known(dir, child))
            continue;
        if (!add_orphan(dir, child))
            visit_at(dir, e->now_ns + ZKLI_RETRY_LAST_NS);
    }
}

void zkli_orphans_find(struct zkli_dir *dir, const struct zkli_listing *listing) {
    if (has_more_than_members(dir, listing))
        look_through(dir, listing);
}

/* ---- Visits ---- */

static void end_visit(struct zkli_dir *dir) {
    zkli_list_remove(&dir->visit.link);
    zkli_dir_release(dir);
}

static int64_t retry_ns(const struct zkli_engine *e) {
    int64_t quarter_ns = e->timeout_ms * ZKLI_NS_PER_MS / 4;
    return e->now_ns + (quarter_ns < ZKLI_RETRY_LAST_NS ? quarter_ns : ZKLI_RETRY_LAST_NS);
}

/* One visit is over, and another follows. */
static void go_on_at(struct zkli_dir *dir, int64_t at_ns) {
    if (!zkli_timer_is_set(&dir->visit.timer) || dir->visit.timer.at_ns > at_ns)
        visit_at(dir, at_ns);
    end_visit(dir);
}

static void go_on(struct zkli_dir *dir) {
    const struct zkli_engine *e = dir->engine;
    int64_t age_ns = e->now_ns - dir->visit.lost_ns;
    if (age_ns < LAST_VISIT * ZKLI_NS_PER_MS * e->timeout_ms)
        go_on_at(dir, e->now_ns + age_ns);
    else
        end_visit(dir);
}

static void on_barrier(struct zkli_query *query, const struct zkli_reply *reply) {
    struct zkli_dir *dir = ZKLI_CONTAINER(query, struct zkli_dir, visit.barrier);
    dir->visit.is_behind_barrier = reply != NULL && reply->result == ZKLI_RESULT_OK;
}

static void log_refusal(struct zkli_dir *dir, const struct zkli_reply *reply) {
    if (!dir->visit.was_refused)
        zkli_engine_log(dir->engine, ZKL_LOG_ERROR, "the server refuses to list %s (code %d)",
                        dir->path, reply->code);
    dir->visit.was_refused = true;
}

/* A client that may not list the directory never can: its visit ends. */
static void on_listing(struct zkli_query *query, const struct zkli_reply *reply) {
    struct zkli_dir *dir = ZKLI_CONTAINER(query, struct zkli_dir, visit.listing);
    /* A listing that was not sent is over before the barrier in front of it. */
    zkli_query_forget(dir->engine, &dir->visit.barrier);
    enum zkli_result result = reply == NULL ? ZKLI_RESULT_LOST : reply->result;
    struct zkli_listing listing = {.count = 0};
    if (result == ZKLI_RESULT_OK && !zkli_listing_parse(&listing, dir->engine, reply))
        result = ZKLI_RESULT_NOMEM;
    if (result == ZKLI_RESULT_DENIED || result == ZKLI_RESULT_ERROR)
        log_refusal(dir, reply);
    bool has_looked = dir->visit.is_behind_barrier &&
                      (result == ZKLI_RESULT_OK || result == ZKLI_RESULT_NO_NODE);
    if (result == ZKLI_RESULT_OK) {
        zkli_members_were_listed(dir, &listing);
        look_through(dir, &listing);
    }
    if (has_looked)
        go_on(dir);
    else if (result == ZKLI_RESULT_DENIED)
        end_visit(dir);
    else
        go_on_at(dir, retry_ns(dir->engine));
}

static void visit(struct zkli_timer *timer) {
    struct zkli_dir *dir = ZKLI_CONTAINER(timer, struct zkli_dir, visit.timer);
    struct zkli_engine *e = dir->engine;
    int64_t timeout_ns = e->timeout_ms * ZKLI_NS_PER_MS;
    if (!zkli_is_connected(e) || zkli_list_is_linked(&dir->visit.link)) {
        visit_at(dir, retry_ns(e));
        return;
    }
    if (e->now_ns < e->connected_ns + timeout_ns)
        visit_at(dir, e->connected_ns + timeout_ns);
    dir->visit.is_behind_barrier = false;
    dir->visit.barrier = (struct zkli_query){.kind = ZKLI_QUERY_BARRIER, .done = on_barrier};
    dir->visit.listing = (struct zkli_query){
        .kind = ZKLI_QUERY_LIST, .path = dir->path, .done = on_listing};
    zkli_list_append(&e->visits, &dir->visit.link);
    zkli_query_ask(e, &dir->visit.barrier);
    zkli_query_ask(e, &dir->visit.listing);
    zkli_heartbeat_want(e);
}

static void visit_at(struct zkli_dir *dir, int64_t at_ns) {
    struct zkli_visit *visit_of_dir = &dir->visit;
    if (!zkli_timer_is_set(&visit_of_dir->timer))
        zkli_timer_init(&visit_of_dir->timer, visit);
    zkli_timer_set(&dir->engine->timers, &visit_of_dir->timer, at_ns);
}

void zkli_orphans_expect(struct zkli_dir *dir) {
    struct zkli_engine *e = dir->engine;
    dir->visit.lost_ns = e->now_ns;
    visit_at(dir, e->now_ns + e->timeout_ms * ZKLI_NS_PER_MS);
}

void zkli_orphans_forget(struct zkli_engine *e) {
    for (size_t i = 0; i < ZKLI_BUCKETS; i++) {
        struct zkli_list *link = e->dirs[i].next;
        while (link != &e->dirs[i]) {
            struct zkli_dir *dir = ZKLI_CONTAINER(link, struct zkli_dir, link);
            link = link->next;
            zkli_timer_clear(&e->timers, &dir->visit.timer);
            if (zkli_list_is_linked(&dir->visit.link)) {
                zkli_query_forget(e, &dir->visit.barrier);
                zkli_query_forget(e, &dir->visit.listing);
            }
            end_visit(dir);
        }
    }
}
