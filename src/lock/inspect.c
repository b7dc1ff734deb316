/*
 * inspect - looking at one queue: who holds, who waits. One list, then the directory's data, if
 * that can be a number of permits, and the contenders' nodes.
 *
 * A queue is read node by node while it moves; a contender that leaves in between is left out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "lock/queue_copy.h"
#include "lock/reads.h"

struct inspection {
    struct zkli_reads reads;
    const char *name;
    char *directory; /* NULL: not listed yet */
    struct zkl_queue *queue;
    size_t limit; /* of the contenders to be read */
    size_t next;  /* entry to be read */
    bool needs_permits;
};

#define OF_DIRECTORY SIZE_MAX /* in place of an entry's index */

static struct zkl_queue *queue_new(size_t count) {
    struct zkl_queue *queue = calloc(1, sizeof(*queue));
    if (queue == NULL)
        return NULL;
    queue->contenders = calloc(count + 1, sizeof(*queue->contenders));
    queue->entries = calloc(count + 1, sizeof(*queue->entries));
    if (queue->contenders != NULL && queue->entries != NULL)
        return queue;
    zkl_queue_free(queue);
    return NULL;
}

size_t zkl_queue_count(const zkl_queue *queue) {
    return queue == NULL ? 0 : queue->count;
}

size_t zkl_queue_length(const zkl_queue *queue) {
    return queue == NULL ? 0 : queue->entry_count;
}

int zkl_queue_permits(const zkl_queue *queue) {
    return queue == NULL ? 0 : queue->permits;
}

const zkl_contender *zkl_queue_at(const zkl_queue *queue, size_t index) {
    return index < zkl_queue_count(queue) ? &queue->contenders[index] : NULL;
}

void zkl_queue_free(zkl_queue *queue) {
    if (queue == NULL)
        return;
    free(queue->contenders);
    free(queue->entries);
    free(queue);
}

/* ---- Order ---- */

static int compare_entries(const void *a, const void *b) {
    const struct zkli_entry *first = a, *second = b;
    if (first->is_there != second->is_there)
        return first->is_there ? -1 : 1;
    if (first->place.order != second->place.order)
        return first->place.order < second->place.order ? -1 : 1;
    return strcmp(first->node, second->node);
}

static bool needs_czxid(struct zkli_entry *entry) {
    const struct zkli_listing one = {.siblings = &entry->place, .count = 1};
    return zkli_listing_needs_czxid(&one);
}

/* By their numbers, which do not tell near their end. */
static void choose_first(struct zkl_queue *queue, size_t limit) {
    queue->read_count = queue->entry_count;
    for (size_t i = 0; i < queue->entry_count; i++)
        if (needs_czxid(&queue->entries[i]))
            return;
    if (limit >= queue->entry_count)
        return;
    qsort(queue->entries, queue->entry_count, sizeof(*queue->entries), compare_entries);
    queue->read_count = limit;
}

/* ---- Reading ---- */

static char *next_read(struct zkli_reads *reads, struct zkli_read *ret_read, zkl_err *ret_err) {
    struct inspection *inspection = ZKLI_CONTAINER(reads, struct inspection, reads);
    char *path = NULL;
    if (inspection->directory == NULL) {
        inspection->directory = zkli_path_join_new(reads->operation.session->root,
                                                   inspection->name);
        ret_read->query.kind = ZKLI_QUERY_LIST;
        path = inspection->directory == NULL ? NULL : strdup(inspection->directory);
    } else if (inspection->needs_permits) {
        inspection->needs_permits = false;
        ret_read->index = OF_DIRECTORY;
        ret_read->query.kind = ZKLI_QUERY_GET;
        path = strdup(inspection->directory);
    } else if (inspection->queue == NULL || inspection->next == inspection->queue->read_count) {
        return NULL;
    } else {
        ret_read->index = inspection->next++;
        ret_read->query.kind = ZKLI_QUERY_GET;
        path = zkli_path_join_new(inspection->directory,
                                  inspection->queue->entries[ret_read->index].node);
    }
    if (path == NULL)
        *ret_err = ZKL_NOMEM;
    return path;
}

/* A directory that is missing is an empty queue. */
static zkl_err take_listing(struct inspection *inspection, const struct zkli_reply *reply) {
    struct zkl_queue *queue = queue_new(reply->child_count);
    inspection->queue = queue;
    if (queue == NULL)
        return ZKL_NOMEM;
    int32_t length = reply->stat.data_length;
    inspection->needs_permits = length > 0 && length < ZKLI_PERMITS_TEXT_MAX;
    for (size_t i = 0; i < reply->child_count; i++) {
        struct zkli_entry *entry = &queue->entries[queue->entry_count];
        if (!zkli_sibling_parse(&entry->place, reply->children[i]))
            continue;
        memcpy(entry->node, reply->children[i], strlen(reply->children[i]) + 1);
        queue->entry_count++;
    }
    choose_first(queue, inspection->limit);
    return ZKL_OK;
}

static void take_permits(struct zkl_queue *queue, const struct zkli_reply *reply) {
    queue->permits = zkli_permits_parse(reply->data, reply->data_length, reply->stat.czxid,
                                        reply->stat.version)
                         .count;
}

static void take_node(struct zkli_entry *entry, const struct zkli_reply *reply) {
    entry->is_ours = zkli_node_data_parse(&entry->data, reply->data, reply->data_length);
    entry->is_there = true;
    entry->contender = (zkl_contender){
        .size = sizeof(entry->contender),
        .pid = entry->data.pid,
        .thread = entry->data.thread,
        .session_id = reply->stat.owner,
        .token = reply->stat.czxid,
        .since_ms = reply->stat.ctime_ms,
    };
}

static zkl_err got(struct zkli_reads *reads, const struct zkli_read *read,
                   const struct zkli_reply *reply) {
    struct inspection *inspection = ZKLI_CONTAINER(reads, struct inspection, reads);
    if (read->query.kind == ZKLI_QUERY_LIST)
        return take_listing(inspection, reply);
    if (reply->result != ZKLI_RESULT_OK)
        return ZKL_OK;
    if (read->index == OF_DIRECTORY)
        take_permits(inspection->queue, reply);
    else
        take_node(&inspection->queue->entries[read->index], reply);
    return ZKL_OK;
}

/* ---- What is shown ---- */

static zkl_kind kind_shown(enum zkli_kind kind) {
    static const zkl_kind kinds[] = {
        [ZKLI_KIND_MUTEX] = ZKL_MUTEX,   [ZKLI_KIND_READ] = ZKL_READ,
        [ZKLI_KIND_WRITE] = ZKL_WRITE,   [ZKLI_KIND_LEASE] = ZKL_SEMAPHORE,
        [ZKLI_KIND_FOREIGN] = ZKL_MUTEX,
    };
    return kinds[kind];
}

/* Contenders so far, of which only all together matter. */
struct before {
    size_t count;
    bool are_readers, are_leases;
};

/* A semaphore's hold that is beyond a number made smaller cannot be told from a wait. */
static bool is_holder(const struct zkli_entry *entry, const struct before *before, int permits) {
    if (before->count == 0)
        return true;
    if (entry->place.kind == ZKLI_KIND_LEASE)
        return before->are_leases && before->count < (size_t)permits;
    return entry->place.kind == ZKLI_KIND_READ && before->are_readers;
}

/* Of a holder. What it says later than that it queued counts. */
static int64_t held_since_ms(const struct zkli_entry *entry) {
    bool is_known = entry->is_ours && !entry->data.is_broken &&
                    (entry->place.kind == ZKLI_KIND_MUTEX || entry->place.kind == ZKLI_KIND_LEASE);
    int64_t queued_ms = entry->contender.since_ms;
    if (!is_known)
        return 0;
    return entry->data.since_ms > queued_ms ? entry->data.since_ms : queued_ms;
}

/* Sorts, by czxid where numbers cannot be trusted, and points what is shown at its text. */
static void arrange(struct zkl_queue *queue) {
    size_t count = queue->entry_count;
    bool is_by_czxid = false;
    for (size_t i = 0; i < count; i++)
        is_by_czxid = is_by_czxid ||
                      (queue->entries[i].is_there && needs_czxid(&queue->entries[i]));
    for (size_t i = 0; is_by_czxid && i < count; i++)
        queue->entries[i].place.order = queue->entries[i].contender.token;
    qsort(queue->entries, count, sizeof(*queue->entries), compare_entries);
    struct before before = {.are_readers = true, .are_leases = true};
    for (size_t i = 0; i < count && queue->entries[i].is_there; i++) {
        struct zkli_entry *entry = &queue->entries[i];
        queue->contenders[i] = entry->contender;
        queue->contenders[i].node = entry->node;
        queue->contenders[i].host = entry->data.host;
        queue->contenders[i].program = entry->data.program;
        queue->contenders[i].label = entry->data.label;
        queue->contenders[i].kind = kind_shown(entry->place.kind);
        queue->contenders[i].may_be_idle = zkli_node_name_may_be_kept(entry->node);
        queue->contenders[i].is_broken = entry->data.is_broken;
        queue->contenders[i].is_holder = is_holder(entry, &before, queue->permits);
        if (queue->contenders[i].is_holder)
            queue->contenders[i].held_since_ms = held_since_ms(entry);
        before.count = ++queue->count;
        before.are_readers = before.are_readers && entry->place.kind == ZKLI_KIND_READ;
        before.are_leases = before.are_leases && entry->place.kind == ZKLI_KIND_LEASE;
    }
}

zkl_err zkl_inspect_first(zkl_session *s, const char *name, size_t limit, zkl_queue **ret_queue) {
    if (ret_queue == NULL)
        return ZKL_INVALID;
    *ret_queue = NULL;
    if (s == NULL || limit == 0 || name == NULL || !zkli_lock_name_is_valid(name))
        return ZKL_INVALID;
    struct inspection inspection = {
        .name = name, .limit = limit, .reads = {.next = next_read, .got = got}};
    zkl_err err = zkli_reads_run(&inspection.reads, s);
    free(inspection.directory);
    if (err != ZKL_OK) {
        zkl_queue_free(inspection.queue);
        return err;
    }
    arrange(inspection.queue);
    *ret_queue = inspection.queue;
    return ZKL_OK;
}

zkl_err zkl_inspect(zkl_session *s, const char *name, zkl_queue **ret_queue) {
    return zkl_inspect_first(s, name, SIZE_MAX, ret_queue);
}
