// A C++ program that uses all of the public header, with an installed library; see api.h.
#include <cstdio>

#include "api.h"

// No server is needed for what is refused.
static bool all_is_refused() {
    zkl_session_options s = {};
    zkl_lock_options l = {};
    zkl_fence_options f = {};
    zkl_session *session = reinterpret_cast<zkl_session *>(&s);
    zkl_lock *lock = reinterpret_cast<zkl_lock *>(&l);
    zkl_fence *fence = reinterpret_cast<zkl_fence *>(&f);
    s.size = sizeof(s);
    s.session_timeout_ms = 1;
    s.acl = ZKL_ACL_CREATOR;
    l.size = sizeof(l);
    l.kind = ZKL_MUTEX;
    f.size = sizeof(f);
    return zkl_session_open(&session, "localhost:2181", &s) == ZKL_INVALID && session == nullptr &&
           zkl_lock_open(&lock, session, "a", &l) == ZKL_INVALID && lock == nullptr &&
           zkl_fence_open(&fence, "", &f) == ZKL_INVALID && fence == nullptr;
}

int main() {
    zkl_event event = {};
    zkl_contender contender = {};
    event.size = sizeof(event);
    event.type = ZKL_EVENT_HELD;
    contender.size = sizeof(contender);
    if (!api_reads(&event, &contender) || !all_is_refused())
        return 1;
    return std::printf("%d\n", api_count()) < 0;
}
