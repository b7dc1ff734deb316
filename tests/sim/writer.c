/*
 * writer - a thread that holds a lock writes the znode that the lock protects, under the guard of
 * its hold: with the version that it has read, or whatever the version. Or it does several things
 * at once: besides, it makes or deletes a mark below that znode, and checks the version that its
 * write has made. See sim.h.
 */
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

/* What each thread writes, behind the number of the write: so long that one write may have to wait
 * for another. */
static char data[CLIENTS_MAX * THREADS_MAX][ZKL_GUARDED_SET_MAX];

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
    TRACE(w, "client %u thread %u: write %d says %s", number / THREADS_MAX, number % THREADS_MAX,
          a->writing, zkl_errname(result));
    checks_written(w, a->writing, a->is_answered ? &a->answer : NULL, result);
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
    struct actor *a = ZKLI_CONTAINER(write, struct actor, write);
    a->is_answered = true;
    if (reply->result == ZKLI_RESULT_OK)
        a->answer = ZKL_OK;
    else if (reply->result == ZKLI_RESULT_NO_NODE)
        a->answer = reply->refused == 0 ? ZKL_LOST : ZKL_NO_NODE;
    else
        a->answer = reply->result == ZKLI_RESULT_BAD_VERSION ? ZKL_BAD_VERSION : ZKL_SERVER;
}

/* Behind the set. The last check sees what was set. Of the mark, a caller may know nothing. */
static void add_more(struct world *w, const struct client *c, struct actor *a, const char *path) {
    const struct zkli_op *set = &a->ops[1];
    int mark = w->marks[c->handles[a->handle].name];
    bool is_there = node_read(w, c, mark) != NULL;
    if (is_there != world_chance(w, 10))
        a->ops[2] = (struct zkli_op){
            .type = ZKLI_OP_DELETE, .path = w->names[mark].text, .version = -1};
    else
        a->ops[2] = (struct zkli_op){.type = ZKLI_OP_CREATE,
                                     .path = w->names[mark].text,
                                     .data = set->data,
                                     .length = sizeof(a->writing),
                                     .flags = world_chance(w, 30) ? ZKLI_CREATE_EPHEMERAL : 0};
    a->ops[3] = (struct zkli_op){
        .type = ZKLI_OP_CHECK, .path = path, .version = set->version < 0 ? -1 : set->version + 1};
    a->write.op_count = 4;
    a->write.is_set = false;
    a->write.on_answer = on_answer;
}

/* ---- Writes ---- */

void actor_write(struct world *w, unsigned number) {
    struct actor *a = actor_of(w, number);
    struct client *c = &w->list[number / THREADS_MAX];
    static const char *const paths[LOCKS_MAX] = {"/a", "/b", "/c"};
    assert(w->write_count + 1 < WRITES_MAX);
    a->writing = ++w->write_count;
    int lock = c->handles[a->handle].name;
    int version = world_chance(w, 50) ? -1 : version_read(w, c, w->registers[lock]);
    bool is_several = world_chance(w, 30);
    w->writes[a->writing] = (struct written){.lock = lock,
                                             .node = checks_node_of(w, a),
                                             .is_several = is_several,
                                             .is_versioned = version >= 0};
    TRACE(w, "client %u thread %u: write %d of %s, version %d%s", number / THREADS_MAX,
          number % THREADS_MAX, a->writing, paths[lock], version, is_several ? ", and more" : "");
    a->state = ACTOR_WRITING;
    a->stamp++;
    a->is_waking = a->is_answered = false;
    zkl_err err = zkli_lock_begin(a->lock);
    assert(err == ZKL_OK);
    zkli_lock_enter(a->lock);
    memcpy(data[number], &a->writing, sizeof(a->writing));
    a->ops[1] = (struct zkli_op){.type = ZKLI_OP_SET,
                                 .path = paths[lock],
                                 .data = data[number],
                                 .length = sizeof(data[number]),
                                 .version = version};
    a->write = (struct zkli_write){.ops = a->ops, .op_count = 2, .is_set = true};
    if (a->is_told) {
        a->write.is_by_hold = true;
        a->write.hold = a->hold;
    }
    if (is_several)
        add_more(w, c, a, paths[lock]);
    err = zkli_write_begin(a->lock, &a->write);
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
    if (a->write.operation.state != ZKLI_OPERATION_FINISHED) {
        zkli_session_unlock(&c->session);
        return false;
    }
    zkli_operation_fini(&a->write.operation);
    finish(w, number, a->write.operation.result);
    return true;
}
