/* See scenario_attached.h. */
#include "scenario_attached.h"

#include <zklock_zookeeper.h>
#include <zookeeper/zookeeper.h>

#include "steps.h"

static void on_global(zhandle_t *zh, int type, int state, const char *path, void *context) {
    (void)zh;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

static void on_log(const char *text) {
    (void)text;
}

static bool attach(play *p) {
    const zkl_err err = zkl_session_attach(
        &p->session, p->handle,
        &ZKL_SESSION_OPTIONS(.root = fixture_root(), .chroot = "", .on_event = events_on,
                             .arg = p->events, .made_ms = p->handle_ms));
    return err == ZKL_OK || play_fail(p, "the session is %s", zkl_errname(err));
}

bool enter_attached(play *p) {
    p->handle_ms = clock_ms();
    p->handle = zookeeper_init2(proxy_hosts(p->proxy), on_global, p->timeout_ms, NULL, NULL,
                                ZOO_NO_LOG_CLIENTENV, on_log);
    return p->handle == NULL ? play_fail(p, "no handle") : attach(p);
}

void leave_attached(play *p) {
    if (p->handle != NULL)
        (void)zookeeper_close(p->handle);
    p->handle = NULL;
}

static bool is_over(const play *p) {
    const int state = zoo_state(p->handle);
    return state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE;
}

/* The close leaves nothing, if it says so. */
static bool leaves(play *p) {
    const int64_t id = zkl_session_id(p->session), began_ms = clock_ms();
    const zkl_err err = zkl_session_close(p->session);
    const int64_t took_ms = clock_ms() - began_ms;

    p->session = NULL;
    if (took_ms > 2000 + SLACK_MS)
        return play_fail(p, "the close took %lld ms", (long long)took_ms);
    if (err != ZKL_OK && (err != ZKL_UNREACHABLE || p->mode == FAULT_NONE))
        return play_fail(p, "the close says %s", zkl_errname(err));
    if (err == ZKL_OK && id != 0 && raw_owned_count(p->crew->raw, p->dir, id) != 0)
        return play_fail(p, "the close says OK, and a node is left");
    if (err != ZKL_OK) /* what is left goes with the handle */
        leave_attached(p);
    return true;
}

/* To the same handle, if it is still of use. */
static bool comes_back(play *p) {
    if (p->handle != NULL && is_over(p))
        leave_attached(p);
    return (p->handle == NULL ? enter_attached(p) : attach(p)) && play_open_lock(p);
}

/* A session that is over is for the program to replace. */
static bool takes(play *p) {
    for (int tries = 0;; tries++) {
        play_bid(p, PROTAGONIST, LIMIT_MS);
        const zkl_err err = play_result(p, PROTAGONIST, LIMIT_MS + SLACK_MS);
        if (err == ZKL_OK)
            return true;
        if (err != ZKL_EXPIRED || play_is_gentle(p) || tries > 0)
            return play_fail(p, "an acquire says %s",
                             err == ACTOR_BUSY ? "nothing" : zkl_errname(err));
        play_close_lock(p);
        if (!leaves(p) || !comes_back(p))
            return false;
    }
}

static bool gives_up(play *p) {
    const zkl_err err = play_release_wait(p);
    return err == ZKL_OK || (!play_is_gentle(p) && (err == ZKL_LOST || err == ZKL_TIMEOUT)) ||
           play_fail(p, "the release says %s", zkl_errname(err));
}

/* The second session begins when the fault is over. */
bool run_attached(play *p) {
    if (!takes(p))
        return false;
    play_frames_end(p);
    if (!play_await_fault(p))
        return false;
    if (play_is_gentle(p) && !play_is_valid(p, PROTAGONIST))
        return play_fail(p, "the hold is lost");
    play_close_lock(p);
    return leaves(p) && comes_back(p) && takes(p) && gives_up(p);
}
