/*
 * queries - single requests: reads, barriers and transactions. Their callers wait for the answer.
 *
 * A heartbeat waits for the data sent before it, so data in flight are bounded (ZKLI_DATA_PER_MS).
 * A query with more data than that is deferred when its turn comes. The line goes on without it,
 * and the next room for data is the query's. One query is always sent, however long.
 */
#include "engine/engine_internal.h"

#include <assert.h>

static void join_later(struct zkli_timer *timer) {
    struct zkli_engine *e = ZKLI_CONTAINER(timer, struct zkli_engine, later_end);
    zkli_list_move_all(&e->work, &e->later);
}

void zkli_queries_init(struct zkli_engine *e) {
    zkli_list_init(&e->deferred);
    zkli_list_init(&e->later);
    zkli_list_init(&e->resting);
    zkli_timer_init(&e->later_end, join_later);
}

void zkli_query_ask(struct zkli_engine *e, struct zkli_query *query) {
    query->work = (struct zkli_work){.kind = ZKLI_WORK_QUERY};
    query->is_sent = false;
    zkli_line_join(e, &query->work);
}

void zkli_query_ask_later(struct zkli_engine *e, struct zkli_query *query) {
    query->work = (struct zkli_work){.kind = ZKLI_WORK_QUERY};
    query->is_sent = false;
    zkli_list_append(&e->later, &query->work.link);
    if (!zkli_timer_is_set(&e->later_end))
        zkli_timer_set(&e->timers, &e->later_end, e->now_ns + ZKLI_RETRY_FIRST_NS);
}

void zkli_query_rest(struct zkli_engine *e, struct zkli_query *query) {
    query->work = (struct zkli_work){.kind = ZKLI_WORK_QUERY};
    query->is_sent = false;
    zkli_list_append(&e->resting, &query->work.link);
}

void zkli_query_forget(struct zkli_engine *e, struct zkli_query *query) {
    zkli_list_remove(&query->work.link);
    for (unsigned i = 0; i < ZKLI_WINDOW; i++)
        if (e->slots[i].use == ZKLI_USE_QUERY && e->slots[i].query == query)
            e->slots[i].use = ZKLI_USE_VOID;
}

bool zkli_query_withdraw(struct zkli_query *query) {
    bool was_in_line = zkli_list_is_linked(&query->work.link);
    zkli_list_remove(&query->work.link);
    return was_in_line;
}

void zkli_query_done(struct zkli_engine *e, struct zkli_query *query,
                     const struct zkli_reply *reply) {
    e->news++;
    query->done(query, reply);
}

void zkli_queries_lost(struct zkli_engine *e, struct zkli_list *queries) {
    struct zkli_list *link;
    while ((link = zkli_list_take_first(queries)) != NULL)
        zkli_query_done(e, ZKLI_CONTAINER(link, struct zkli_query, work.link), NULL);
}

void zkli_queries_end(struct zkli_engine *e) {
    struct zkli_list *link;
    zkli_list_move_all(&e->work, &e->deferred);
    zkli_list_move_all(&e->work, &e->later);
    zkli_list_move_all(&e->work, &e->resting);
    zkli_timer_clear(&e->timers, &e->later_end);
    while ((link = zkli_list_take_first(&e->work)) != NULL) {
        struct zkli_work *work = ZKLI_CONTAINER(link, struct zkli_work, link);
        assert(work->kind == ZKLI_WORK_QUERY); /* the others went with the session */
        zkli_query_done(e, ZKLI_CONTAINER(work, struct zkli_query, work), NULL);
    }
}

static bool send_request(struct zkli_port *port, unsigned number, const struct zkli_query *query) {
    switch (query->kind) {
    case ZKLI_QUERY_BARRIER:
        return port->ops->barrier(port, number, NULL);
    case ZKLI_QUERY_GET:
        return port->ops->get(port, number, query->path, false);
    case ZKLI_QUERY_LIST:
        return port->ops->list(port, number, query->path, false);
    case ZKLI_QUERY_MULTI:
        return port->ops->multi(port, number, query->ops, query->op_count);
    }
    assert(false);
    return false;
}

static bool creates_an_ephemeral(const struct zkli_query *query) {
    for (size_t i = 0; i < query->op_count; i++)
        if ((query->ops[i].flags & ZKLI_CREATE_EPHEMERAL) != 0)
            return true;
    return false;
}

static void send_query(struct zkli_engine *e, struct zkli_query *query) {
    if (creates_an_ephemeral(query))
        e->bears_nodes = true;
    zkli_list_remove(&query->work.link);
    unsigned number = zkli_slot_reserve(e, ZKLI_USE_QUERY);
    e->slots[number].query = query;
    e->slots[number].bytes = query->bytes;
    e->data_in_flight += query->bytes;
    query->is_sent = send_request(e->port, number, query);
    if (!query->is_sent) {
        zkli_slot_release(e, number);
        zkli_query_done(e, query, NULL);
    }
}

static bool has_room(const struct zkli_engine *e, const struct zkli_query *query) {
    int64_t bytes_max = e->lease.timeout_ns / ZKLI_NS_PER_MS * ZKLI_DATA_PER_MS;
    return e->data_in_flight == 0 || (int64_t)(e->data_in_flight + query->bytes) <= bytes_max;
}

void zkli_query_send(struct zkli_engine *e, struct zkli_query *query) {
    if (query->bytes == 0) {
        send_query(e, query);
        return;
    }
    zkli_list_remove(&query->work.link);
    zkli_list_append(&e->deferred, &query->work.link);
}

bool zkli_queries_send_deferred(struct zkli_engine *e) {
    if (zkli_list_is_empty(&e->deferred))
        return false;
    struct zkli_query *first = ZKLI_CONTAINER(e->deferred.next, struct zkli_query, work.link);
    if (!has_room(e, first))
        return false;
    send_query(e, first);
    return true;
}
