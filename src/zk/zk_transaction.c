/* zk_transaction - see zk_transaction.h. */
#include "zk/zk_transaction.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The server adds a number of so many characters to the path of a create. */
#define NUMBER_LENGTH 11

struct zkli_stat zkli_stat_of(const struct Stat *stat) {
    static const struct Stat none;
    const struct Stat *s = stat == NULL ? &none : stat;
    return (struct zkli_stat){.czxid = s->czxid,
                              .owner = s->ephemeralOwner,
                              .ctime_ms = s->ctime,
                              .version = s->version,
                              .children_version = s->cversion,
                              .acl_version = s->aversion,
                              .data_length = s->dataLength,
                              .child_count = s->numChildren,
                              .mzxid = s->mzxid,
                              .pzxid = s->pzxid,
                              .mtime_ms = s->mtime};
}

/* ---- In flight ---- */

/* Of the places of all clients. A thread that compares a number needs the transaction to stay. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* A child of fork() finds it free. */
static void before_fork(void) {
    (void)pthread_mutex_lock(&mutex);
}

static void after_fork(void) {
    (void)pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void watch_forks(void) {
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

void zkli_transaction_put(struct zkli_transaction **place, struct zkli_transaction *t,
                          unsigned number) {
    (void)pthread_mutex_lock(&mutex);
    t->number = number;
    *place = t;
    (void)pthread_mutex_unlock(&mutex);
}

struct zkli_transaction *zkli_transaction_take(struct zkli_transaction **place, unsigned number) {
    (void)pthread_mutex_lock(&mutex);
    struct zkli_transaction *t = *place;
    if (t != NULL && t->number == number)
        *place = NULL;
    else
        t = NULL;
    (void)pthread_mutex_unlock(&mutex);
    return t;
}

/* ---- Memory ---- */

/* What is cut off the transaction's memory, piece by piece. */
struct room {
    struct Stat *stats;
    struct ACL_vector *acls;
    struct ACL *entries;
    char *text;
};

static size_t path_size(const struct zkli_op *op) {
    return strlen(op->path) + NUMBER_LENGTH + 1;
}

static struct zkli_transaction *make_room(const struct zkli_op *ops, size_t count,
                                          struct room *ret_room) {
    size_t entries = 0, text = 0;
    for (size_t i = 0; i < count; i++) {
        if (ops[i].type != ZKLI_OP_CREATE)
            continue;
        entries += ops[i].acl_count;
        text += path_size(&ops[i]);
    }
    struct zkli_transaction *t;
    struct room *room = ret_room;
    t = calloc(1,
               sizeof(*t) +
                   count * (sizeof(*t->ops) + sizeof(*t->results) + sizeof(*t->read_results) +
                            sizeof(*t->read_stats) + sizeof(*room->stats) + sizeof(*room->acls)) +
                   entries * sizeof(*room->entries) + text);
    if (t == NULL)
        return NULL;
    t->count = count;
    t->ops = (zoo_op_t *)(void *)(t + 1);
    t->results = (zoo_op_result_t *)(void *)(t->ops + count);
    t->read_results = (struct zkli_op_result *)(void *)(t->results + count);
    t->read_stats = (struct zkli_stat *)(void *)(t->read_results + count);
    room->stats = (struct Stat *)(void *)(t->read_stats + count);
    room->acls = (struct ACL_vector *)(void *)(room->stats + count);
    room->entries = (struct ACL *)(void *)(room->acls + count);
    room->text = (char *)(room->entries + entries);
    return t;
}

/* ---- There ---- */

/* The client library's names are not constant, but nothing is written to them. */
static char *name_of(const char *name) {
    return (char *)(uintptr_t)name;
}

static void create_init(zoo_op_t *ret_op, const struct zkli_op *op, const struct ACL_vector *ours,
                        struct room *room) {
    struct ACL_vector *acl = room->acls++;
    *acl = (struct ACL_vector){(int32_t)op->acl_count, room->entries};
    for (size_t i = 0; i < op->acl_count; i++)
        *room->entries++ = (struct ACL){op->acl[i].permissions,
                                        {name_of(op->acl[i].scheme), name_of(op->acl[i].id)}};
    zoo_create_op_init(ret_op, op->path, op->data, op->length, op->has_our_acl ? ours : acl,
                       op->flags, room->text, (int)path_size(op));
    ret_op->type = ZOO_CREATE_OP; /* whatever the flags are: see zk_ops.c */
    room->text += path_size(op);
}

static void op_init(zoo_op_t *ret_op, const struct zkli_op *op, const struct ACL_vector *ours,
                    struct room *room) {
    switch (op->type) {
    case ZKLI_OP_CHECK:
        zoo_check_op_init(ret_op, op->path, op->version);
        break;
    case ZKLI_OP_CREATE:
        create_init(ret_op, op, ours, room);
        break;
    case ZKLI_OP_SET:
        zoo_set_op_init(ret_op, op->path, op->data, op->length, op->version, room->stats++);
        break;
    case ZKLI_OP_DELETE:
        zoo_delete_op_init(ret_op, op->path, op->version);
        break;
    }
}

struct zkli_transaction *zkli_transaction_new(const struct zkli_op *ops, size_t count,
                                              const struct ACL_vector *ours) {
    struct room room;
    struct zkli_transaction *t = make_room(ops, count, &room);
    for (size_t i = 0; t != NULL && i < count; i++)
        op_init(&t->ops[i], &ops[i], ours, &room);
    return t;
}

/* ---- And back ---- */

/* The client library leaves value and stat of what was not done NULL. */
size_t zkli_transaction_read(struct zkli_transaction *t) {
    size_t refused = t->count;
    for (size_t i = 0; i < t->count; i++) {
        const zoo_op_result_t *got = &t->results[i];
        struct zkli_op_result *result = &t->read_results[i];
        if (got->err != ZOK && refused == t->count)
            refused = i;
        *result = (struct zkli_op_result){.code = got->err};
        if (t->ops[i].type == ZOO_CREATE_OP) {
            result->path = got->value;
        } else if (t->ops[i].type == ZOO_SETDATA_OP && got->stat != NULL) {
            t->read_stats[i] = zkli_stat_of(got->stat);
            result->stat = &t->read_stats[i];
        }
    }
    return refused;
}
