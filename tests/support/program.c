/* See program.h. */
#include "support/program.h"

#include <string.h>

program program_new(int timeout_ms) {
    return (program){.timeout_ms = timeout_ms};
}

static void on_global(zhandle_t *zh, int type, int state, const char *path, void *context) {
    program *p = context;

    (void)zh;
    (void)type;
    (void)path;
    atomic_store(&p->state, state);
    (void)atomic_fetch_add(&p->events, 1);
}

void program_on_node(zhandle_t *zh, int type, int state, const char *path, void *context) {
    program *p = context;

    (void)zh;
    (void)state;
    (void)path;
    if (type == ZOO_CHANGED_EVENT || type == ZOO_DELETED_EVENT || type == ZOO_CHILD_EVENT)
        (void)atomic_fetch_add(&p->changes, 1);
}

static void on_log(const char *text) {
    (void)text;
}

void program_begin(program *p, const char *hosts) {
    const int timeout_ms = p->timeout_ms;

    *p = (program){.timeout_ms = timeout_ms, .made_ms = clock_ms()};
    p->zh = zookeeper_init2(hosts, on_global, timeout_ms, NULL, p, ZOO_NO_LOG_CLIENTENV, on_log);
    REQUIRE(p->zh != NULL);
}

bool program_is_connected(program *p) {
    return atomic_load(&p->state) == ZOO_CONNECTED_STATE;
}

void program_connect(program *p) {
    program_begin(p, server_hosts());
    WAIT_UNTIL(program_is_connected(p), SOON_MS);
}

void program_end(program *p) {
    (void)zookeeper_close(p->zh);
}

bool program_is_answered(program *p) {
    struct Stat stat;

    return zoo_exists(p->zh, "/", 0, &stat) == ZOK;
}

void program_expire(program *p) {
    credentials c = {.id = zoo_client_id(p->zh)->client_id};

    memcpy(c.password, zoo_client_id(p->zh)->passwd, sizeof(c.password));
    credentials_expire(&c);
}

zkl_session *program_attach(const program *p, bool knows_when, events *e) {
    zkl_session_options o = ZKL_SESSION_OPTIONS(.root = fixture_root(), .chroot = "");
    zkl_session *s = NULL;

    if (knows_when)
        o.made_ms = p->made_ms;
    if (e != NULL) {
        o.on_event = events_on;
        o.log = events_log;
        o.arg = e;
    }
    REQUIRE_INT(zkl_session_attach(&s, p->zh, &o), ZKL_OK);
    return s;
}
