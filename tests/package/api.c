/* A C program that uses all of the public header, with an installed library; see api.h. */
#include <stdio.h>

#include "api.h"

static void on_event(const zkl_event *event, void *arg) {
    (void)event;
    (void)arg;
}

static void on_log(zkl_log_level level, const char *text, void *arg) {
    (void)level;
    (void)text;
    (void)arg;
}

/* No server is needed for what is refused. */
static bool all_is_refused(void) {
    zkl_session *session = (zkl_session *)(void *)&session;
    zkl_lock *lock = (zkl_lock *)(void *)&lock;
    zkl_fence *fence = (zkl_fence *)(void *)&fence;
    const zkl_session_options *s =
        &ZKL_SESSION_OPTIONS(.session_timeout_ms = 1, .connect_timeout_ms = 0,
                             .lazy_heartbeat = true, .manual_dispatch = false, .root = NULL,
                             .label = NULL, .auth_scheme = NULL, .auth = NULL, .acl = ZKL_ACL_OPEN,
                             .tls = NULL, .on_event = on_event, .log = on_log, .arg = NULL,
                             .keep_session = false);
    const zkl_lock_options *l = &ZKL_LOCK_OPTIONS(.kind = ZKL_MUTEX, .permits = 0,
                                                  .recursive = true, .linger_ms = 0,
                                                  .local_handoffs = 0, .want_wanted = false,
                                                  .on_event = on_event, .arg = NULL, .label = NULL);
    const zkl_fence_options *f = &ZKL_FENCE_OPTIONS(.must_exist = true);
    return zkl_session_open(&session, "localhost:2181", s) == ZKL_INVALID && session == NULL &&
           zkl_lock_open(&lock, session, "a", l) == ZKL_INVALID && lock == NULL &&
           zkl_fence_open(&fence, "", f) == ZKL_INVALID && fence == NULL;
}

int main(void) {
    const zkl_event event = {.size = sizeof(event), .type = ZKL_EVENT_HELD};
    const zkl_contender contender = {.size = sizeof(contender)};
    if (!api_reads(&event, &contender) || !all_is_refused())
        return 1;
    return printf("%d\n", api_count()) < 0;
}
