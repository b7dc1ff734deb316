/*
 * Every public function with its type, for C and C++ alike: a program that includes this does not
 * compile where a function has another type, and does not start where the library lacks one.
 */
#ifndef PACKAGE_API_H
#define PACKAGE_API_H

#include <zklock.h>
#include <zklock_zookeeper.h>

/* clang-format off */
/* X(result, name, parameters) */
#define API(X) \
    X(const char *, zkl_strerror, (zkl_err)) \
    X(const char *, zkl_errname, (zkl_err)) \
    X(zkl_class, zkl_errclass, (zkl_err)) \
    X(const char *, zkl_version, (void)) \
    X(const char *, zkl_event_name, (zkl_event_type)) \
    X(zkl_err, zkl_session_open, (zkl_session **, const char *, const zkl_session_options *)) \
    X(zkl_err, zkl_session_close, (zkl_session *)) \
    X(zkl_state, zkl_session_state, (zkl_session *)) \
    X(int64_t, zkl_session_id, (zkl_session *)) \
    X(int, zkl_session_timeout_ms, (zkl_session *)) \
    X(zkl_err, zkl_session_set_hosts, (zkl_session *, const char *)) \
    X(int, zkl_session_fd, (zkl_session *)) \
    X(int, zkl_session_dispatch, (zkl_session *, int)) \
    X(zkl_err, zkl_session_ticket, (zkl_session *, char *, size_t)) \
    X(zkl_err, zkl_session_end, (const char *, const char *, int)) \
    X(zkl_err, zkl_lock_open, \
      (zkl_lock **, zkl_session *, const char *, const zkl_lock_options *)) \
    X(zkl_err, zkl_lock_close, (zkl_lock *)) \
    X(const char *, zkl_lock_name, (const zkl_lock *)) \
    X(zkl_err, zkl_acquire, (zkl_lock *, int64_t)) \
    X(zkl_err, zkl_release, (zkl_lock *)) \
    X(zkl_err, zkl_release_wait, (zkl_lock *, int64_t)) \
    X(zkl_err, zkl_acquire_all, (zkl_lock *const *, size_t, int64_t)) \
    X(zkl_err, zkl_release_all, (zkl_lock *const *, size_t)) \
    X(zkl_err, zkl_downgrade, (zkl_lock *)) \
    X(zkl_err, zkl_set_permits, (zkl_lock *, int)) \
    X(zkl_err, zkl_cancel, (zkl_lock *)) \
    X(bool, zkl_held, (zkl_lock *)) \
    X(int64_t, zkl_remaining_ms, (zkl_lock *)) \
    X(int64_t, zkl_token, (zkl_lock *)) \
    X(zkl_hold, zkl_hold_of, (zkl_lock *)) \
    X(zkl_err, zkl_release_hold, (zkl_lock *, zkl_hold)) \
    X(bool, zkl_hold_valid, (zkl_lock *, zkl_hold)) \
    X(zkl_err, zkl_node_path, (zkl_lock *, char *, size_t)) \
    X(zkl_err, zkl_acquire_async, (zkl_lock *, int64_t, zkl_done_fn, void *)) \
    X(zkl_err, zkl_release_async, (zkl_lock *, zkl_hold, int64_t, zkl_done_fn, void *)) \
    X(zkl_err, zkl_guarded_set_async, \
      (zkl_lock *, zkl_hold, const char *, const void *, size_t, int, zkl_done_fn, void *)) \
    X(int64_t, zkl_hold_remaining_ms, (zkl_lock *, zkl_hold)) \
    X(int64_t, zkl_hold_token, (zkl_lock *, zkl_hold)) \
    X(zkl_err, zkl_hold_path, (zkl_lock *, zkl_hold, char *, size_t)) \
    X(zkl_err, zkl_guarded_set_hold, \
      (zkl_lock *, zkl_hold, const char *, const void *, size_t, int)) \
    X(zkl_err, zkl_guarded_set, (zkl_lock *, const char *, const void *, size_t, int)) \
    X(zkl_err, zkl_guarded_set_by_node, \
      (zkl_session *, const zkl_guard *, const char *, const void *, size_t, int, int64_t, int *)) \
    X(zkl_err, zkl_read_node, \
      (zkl_session *, const char *, void *, size_t, size_t *, int *, int64_t)) \
    X(zkl_err, zkl_guarded_multi, \
      (zkl_lock *, int, const struct zoo_op *, struct zoo_op_result *)) \
    X(zkl_err, zkl_guarded_multi_hold, \
      (zkl_lock *, zkl_hold, int, const struct zoo_op *, struct zoo_op_result *)) \
    X(zkl_err, zkl_guarded_multi_async, \
      (zkl_lock *, zkl_hold, int, const struct zoo_op *, struct zoo_op_result *, zkl_done_fn, \
       void *)) \
    X(zkl_err, zkl_session_attach, \
      (zkl_session **, struct _zhandle *, const zkl_session_options *)) \
    X(struct _zhandle *, zkl_session_zhandle, (zkl_session *)) \
    X(zkl_err, zkl_session_zhandle_return, (zkl_session *, struct _zhandle *)) \
    X(zkl_err, zkl_inspect, (zkl_session *, const char *, zkl_queue **)) \
    X(zkl_err, zkl_inspect_first, (zkl_session *, const char *, size_t, zkl_queue **)) \
    X(size_t, zkl_queue_length, (const zkl_queue *)) \
    X(size_t, zkl_queue_count, (const zkl_queue *)) \
    X(int, zkl_queue_permits, (const zkl_queue *)) \
    X(const zkl_contender *, zkl_queue_at, (const zkl_queue *, size_t)) \
    X(void, zkl_queue_free, (zkl_queue *)) \
    X(zkl_err, zkl_list, (zkl_session *, const char *, zkl_list_fn, void *)) \
    X(zkl_err, zkl_lock_stats, (zkl_lock *, zkl_lock_statistics *)) \
    X(zkl_err, zkl_session_stats, \
      (zkl_session *, zkl_session_statistics *, zkl_lock_statistics *)) \
    X(zkl_err, zkl_ask, (zkl_session *, const char *)) \
    X(zkl_err, zkl_break, (zkl_session *, const char *, const char *, int64_t)) \
    X(zkl_err, zkl_find_deadlocks, (zkl_session *, const char *, zkl_deadlock_fn, void *)) \
    X(zkl_err, zkl_fence_open, (zkl_fence **, const char *, const zkl_fence_options *)) \
    X(zkl_err, zkl_fence_close, (zkl_fence *)) \
    X(zkl_err, zkl_fence_check, (zkl_fence *, const char *, int64_t)) \
    X(zkl_err, zkl_fence_begin, (zkl_fence *, const char *, int64_t)) \
    X(zkl_err, zkl_fence_end, (zkl_fence *))
/* clang-format on */

typedef void (*api_function)(void);

static inline int api_count(void) {
#define API_TYPED(result, name, parameters) result(*const name##_) parameters = name;
    API(API_TYPED)
#define API_UNTYPED(result, name, parameters) (api_function) name##_,
    const api_function all[] = {API(API_UNTYPED)};
    int count = 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        count += all[i] != NULL;
    return count;
}

/* The members of the structs that the library hands out, which a program reads by name. */
static inline bool api_reads(const zkl_event *e, const zkl_contender *c) {
    zkl_event event = *e;
    zkl_contender contender = *c;
    event.type = e->type;
    event.session = e->session;
    event.lock = e->lock;
    event.hold = e->hold;
    event.token = e->token;
    event.position = e->position;
    event.is_new_session = e->is_new_session;
    contender.is_holder = c->is_holder;
    contender.node = c->node;
    contender.host = c->host;
    contender.program = c->program;
    contender.label = c->label;
    contender.pid = c->pid;
    contender.thread = c->thread;
    contender.session_id = c->session_id;
    contender.token = c->token;
    contender.since_ms = c->since_ms;
    contender.held_since_ms = c->held_since_ms;
    bool has = ZKL_HAS(e, size) && ZKL_HAS(&event, reserved) && ZKL_HAS(&contender, since_ms);
    event.size = sizeof(event) - 1;
    contender.size = 0;
    return has && ZKL_HAS(&event, token) && !ZKL_HAS(&event, reserved) &&
           !ZKL_HAS(&contender, is_holder);
}

#endif
