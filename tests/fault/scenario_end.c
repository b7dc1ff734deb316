/* See scenario_end.h. */
#include "scenario_end.h"

#include <zklock_ticket.h>

#include "steps.h"

/* Who is to be ended goes straight to the server. */
typedef struct victim {
    zkl_session *session;
    zkl_lock *lock;
    char ticket[ZKL_TICKET_SIZE];
} victim;

static bool victim_holds(victim *v, play *p) {
    return zkl_session_open(&v->session, server_hosts(),
                            &ZKL_SESSION_OPTIONS(.session_timeout_ms = T_LONG,
                                                 .root = fixture_root())) == ZKL_OK &&
           zkl_lock_open(&v->lock, v->session, p->name, NULL) == ZKL_OK &&
           zkl_acquire(v->lock, LIMIT_MS) == ZKL_OK &&
           zkl_session_ticket(v->session, v->ticket, sizeof(v->ticket)) == ZKL_OK;
}

static void victim_leaves(victim *v) {
    (void)zkl_lock_close(v->lock);
    (void)zkl_session_close(v->session);
}

/* What is not known for certain the next call tells. */
static bool ends(victim *v, play *p) {
    const zkl_err said = zkl_session_end(proxy_hosts(p->proxy), v->ticket, LIMIT_MS);
    const bool is_known = said == ZKL_OK ||
                          (said == ZKL_CLOSED && p->mode != FAULT_NONE); /* asked twice */

    if (!is_known && (p->mode == FAULT_NONE || (said != ZKL_UNSURE && said != ZKL_UNREACHABLE)))
        return play_fail(p, "the end says %s", zkl_errname(said));
    play_frames_end(p);
    if (!play_await_fault(p))
        return false;
    const zkl_err again = zkl_session_end(server_hosts(), v->ticket, LIMIT_MS);
    if (again != ZKL_CLOSED && (is_known || again != ZKL_OK))
        return play_fail(p, "it says %s, and then %s", zkl_errname(said), zkl_errname(again));
    return true;
}

static bool is_deserted(play *p) {
    return play_nodes(p) == 0;
}

/* Its library hears of it, and the next has the lock, long before the session's timeout. */
bool run_end(play *p) {
    victim v = {NULL};
    bool is_right = victim_holds(&v, p) || play_fail(p, "the one to be ended does not hold");

    is_right = is_right && ends(&v, p) &&
               play_await(p, is_deserted, play_in_time_ms(p), "no node of the session") &&
               step_comes_again(p);
    if (is_right && zkl_release(v.lock) != ZKL_LOST)
        is_right = play_fail(p, "it holds, and its session has been ended");
    victim_leaves(&v);
    return is_right;
}
