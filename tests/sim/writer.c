/*
 * writer - a thread that holds a lock writes the znode that the lock protects, under the guard of
 * its hold: with the version that it has read, or whatever the version. Or it does several things
 * at once: besides, it makes or deletes a mark below that znode, and checks the version that its
 * write has made. It waits for the end, or goes on, and writes more. See sim.h.
 */
#include "sim/sim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What threads write that wait, behind the number of the write: so long that one write may have to
 * wait for another. */
static char data[CLIENTS_MAX * THREADS_MAX][ZKL_GUARDED_SET_MAX];
static const char *const paths[LOCKS_MAX] = {"/a", "/b", "/c"};

static struct actor *actor_of(struct world *w, unsigned number) {
    return &w->list[number / THREADS_MAX].actors[number % THREADS_MAX];
}

/* What a read would have said, perhaps some time ago. */
static const struct znode *node_read(struct world *w, const struct client *c, int name) {
    int server = c->port == NONE ? 0 : w->ports[c->port].server;
    return tree_find(&w->servers[server].tree, name);
}

static int version_read(struct world *w, const struct client *c, int name) {
    const struct znode *node = node_read(w, c, name);
    return node == NULL ? 0 : node->version;
}

static void finish(struct world *w, unsigned number, zkl_err result) {
    struct actor *a = actor_of(w, number);
    checks_written(w, &a->writing, result);
    /* A handle that was closed meanwhile must not be used any more. */
    bool is_open = w->list[number / THREADS_MAX].handles[a->handle].lock == a->lock;
    zkli_lock_leave(a->lock);
    a->state = ACTOR_HOLDING;
    if (is_open)
        actor_look_again(w, number);
    else
        actor_rest(w, number);
}

/* ---- Several operations ---- */

static void on_answer(struct zkli_write *write, const struct zkli_reply *reply) {
    struct writing *writing = ZKLI_CONTAINER(write, struct writing, write);
    writing->is_answered = true;
    if (reply->result == ZKLI_RESULT_OK)
        writing->answer = ZKL_OK;
    else if (reply->result == ZKLI_RESULT_NO_NODE)
        writing->answer = reply->refused == 0 ? ZKL_LOST : ZKL_NO_NODE;
    else
        writing->answer = reply->result == ZKLI_RESULT_BAD_VERSION ? ZKL_BAD_VERSION : ZKL_SERVER;
}

/* Behind the set. The last check sees what was set. Of the mark, a caller may know nothing. */
static void add_more(struct world *w, const struct client *c, int lock, struct writing *writing) {
    const struct zkli_op *set = &writing->ops[1];
    int mark = w->marks[lock];
    bool is_there = node_read(w, c, mark) != NULL;
    if (is_there != world_chance(w, 10))
        writing->ops[2] = (struct zkli_op){
            .type = ZKLI_OP_DELETE, .path = w->names[mark].text, .version = -1};
    else
        writing->ops[2] = (struct zkli_op){.type = ZKLI_OP_CREATE,
                                           .path = w->names[mark].text,
                                           .data = set->data,
                                           .length = sizeof(writing->number),
                                           .flags = world_chance(w, 30) ? ZKLI_CREATE_EPHEMERAL
                                                                        : 0};
    writing->ops[3] = (struct zkli_op){.type = ZKLI_OP_CHECK,
                                       .path = set->path,
                                       .version = set->version < 0 ? -1 : set->version + 1};
    writing->write.op_count = 4;
    writing->write.is_set = false;
    writing->write.on_answer = on_answer;
}

/* ---- Writes ---- */

/* One more, of so many bytes, which begin with its number. */
static void prepare(struct world *w, unsigned number, struct writing *writing, char *bytes,
                    size_t size) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    assert(w->write_count + 1 < WRITES_MAX);
    int lock = c->handles[a->handle].name;
    int version = world_chance(w, 50) ? -1 : version_read(w, c, w->registers[lock]);
    bool is_several = world_chance(w, 30);
    *writing = (struct writing){.number = ++w->write_count};
    w->writes[writing->number] = (struct written){.lock = lock,
                                                  .node = checks_node_of(w, a),
                                                  .size = size,
                                                  .hold = a->hold,
                                                  .is_several = is_several,
                                                  .is_versioned = version >= 0};
    TRACE(w, "client %u thread %u: write %d of %s, version %d%s", number / THREADS_MAX,
          number % THREADS_MAX, writing->number, paths[lock], version,
          is_several ? ", and more" : "");
    memcpy(bytes, &writing->number, sizeof(writing->number));
    writing->ops[1] = (struct zkli_op){.type = ZKLI_OP_SET,
                                       .path = paths[lock],
                                       .data = bytes,
                                       .length = (int32_t)size,
                                       .version = version};
    writing->write = (struct zkli_write){.ops = writing->ops, .op_count = 2, .is_set = true};
    if (is_several)
        add_more(w, c, lock, writing);
}

void actor_write(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    prepare(w, number, &a->writing, data[number], sizeof(data[number]));
    a->state = ACTOR_WRITING;
    a->stamp++;
    a->is_waking = false;
    zkl_err err = zkli_lock_begin(a->lock);
    assert(err == ZKL_OK);
    zkli_lock_enter(a->lock);
    if (a->is_told) {
        a->writing.write.is_by_hold = true;
        a->writing.write.hold = a->hold;
    }
    err = zkli_write_begin(a->lock, &a->writing.write);
    if (err == ZKL_OK) {
        zkli_session_unlock(&c->session);
        return;
    }
    finish(w, number, err);
}

bool actor_has_written(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    zkli_session_lock(&c->session);
    if (a->writing.write.operation.state != ZKLI_OPERATION_FINISHED) {
        zkli_session_unlock(&c->session);
        return false;
    }
    zkli_operation_fini(&a->writing.write.operation);
    finish(w, number, a->writing.write.operation.result);
    return true;
}

/* ---- Writes whose callers go on ---- */

struct untold {
    struct zkli_async async;
    struct writing writing;
    struct world *world;
    struct handle *handle;
    char data[];
};

static zkl_err begin(struct zkli_async *async) {
    struct untold *untold = ZKLI_CONTAINER(async, struct untold, async);
    return zkli_write_begin_async(async, &untold->writing.write);
}

static void on_told(zkl_err err, zkl_hold hold, void *arg) {
    struct untold *untold = arg;
    struct world *w = untold->world;
    (void)hold;
    if (w->writes[untold->writing.number].is_answered)
        world_violate(w, CHECK_DEADLINES, "write %d is told of twice", untold->writing.number);
    checks_written(w, &untold->writing, err);
    untold->handle->writes--;
    w->figures->told_writes++;
}

void actor_write_on(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    unsigned kind = world_below(w, 10);
    size_t size = kind < 7   ? sizeof(int)
                  : kind < 9 ? (size_t)world_between(w, 1000, 100000)
                             : ZKL_GUARDED_SET_MAX;
    for (unsigned i = 1 + world_below(w, 3); i > 0; i--) {
        zkl_err err;
        struct untold *untold = zkli_async_new(sizeof(*untold) + size, a->lock, on_told, NULL,
                                               &err);
        if (untold == NULL)
            abort();
        untold->async.arg = untold;
        untold->async.hold = a->hold;
        untold->world = w;
        untold->handle = &w->list[number / THREADS_MAX].handles[a->handle];
        prepare(w, number, &untold->writing, untold->data, size);
        untold->handle->writes++;
        struct handle *handle = untold->handle;
        struct writing writing = untold->writing;
        err = zkli_async_start(&untold->async, begin);
        if (err == ZKL_OK)
            continue;
        checks_written(w, &writing, err);
        handle->writes--;
    }
}

void actors_write_on(struct world *w, int client) {
    for (unsigned i = 0; i < (unsigned)w->threads; i++) {
        const struct actor *a = &w->list[client].actors[i];
        bool holds = a->state == ACTOR_HOLDING || a->state == ACTOR_WRITING;
        if (holds && w->phase == PHASE_RUN && client != w->keeper)
            actor_write_on(w, (unsigned)client * THREADS_MAX + i);
    }
}
