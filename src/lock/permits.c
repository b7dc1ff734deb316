/* permits - the call that changes the number of a semaphore's permits, in the directory's data. */
#include "lock/lock.h"

#include "base/path.h"
#include "lock/change.h"

struct resize {
    struct zkli_change change;
    struct zkl_lock *lock;
    int permits;
};

static struct resize *resize_of(struct zkli_change *change) {
    return ZKLI_CONTAINER(change, struct resize, change);
}

static bool compute(struct zkli_change *change, const struct zkli_reply *reply) {
    int permits = resize_of(change)->permits;
    struct zkli_permits recorded = zkli_permits_parse(reply->data, reply->data_length,
                                                      reply->stat.czxid, reply->stat.version);
    change->result = recorded.state == ZKLI_PERMITS_OTHER ? ZKL_MISMATCH : ZKL_OK;
    if (recorded.state == ZKLI_PERMITS_OTHER ||
        (recorded.state == ZKLI_PERMITS_RECORDED && recorded.count == permits))
        return false;
    change->length = zkli_permits_format(change->data, permits,
                                         recorded.max > permits ? recorded.max : permits);
    return true;
}

static void take_number(struct zkl_lock *l, int permits) {
    l->permits = permits;
    if (l->member != NULL)
        zkli_member_expect(l->member, permits);
}

/* A handle that follows what is recorded goes on to do so; where nothing is, its next acquire
 * records this number. */
static void done(struct zkli_change *change, zkl_err result, bool is_there) {
    const struct resize *r = resize_of(change);
    if (result == ZKL_OK && (!is_there || r->lock->permits != 0))
        take_number(r->lock, r->permits);
}

static zkl_err check(const struct zkl_lock *l) {
    if (zkli_lock_is_closed(l))
        return ZKL_CLOSED;
    return l->kind == ZKLI_KIND_LEASE ? zkli_engine_end_error(l->session->engine) : ZKL_UNSUPPORTED;
}

static zkl_err run(struct zkl_lock *l, int permits) {
    struct zkl_session *s = l->session;
    char path[ZKLI_PATH_MAX];
    struct resize r = {.lock = l,
                       .permits = permits,
                       .change = {.session = s,
                                  .path = path,
                                  .what = "the number of permits",
                                  .compute = compute,
                                  .done = done}};
    (void)zkli_path_join(path, sizeof(path), s->root, l->name); /* it fits: see zkli_dir_get */
    return zkli_change_run(&r.change, zkli_operation_until_ns(s, s->connect_timeout_ms));
}

zkl_err zkl_set_permits(zkl_lock *l, int permits) {
    if (permits < 1)
        return ZKL_INVALID;
    zkl_err err = zkli_lock_begin_blocking(l);
    if (err != ZKL_OK)
        return err;
    zkli_lock_enter(l);
    err = check(l);
    if (err == ZKL_OK)
        err = run(l, permits);
    zkli_lock_leave(l);
    return err;
}
