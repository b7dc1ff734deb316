/* See port_seen.h. */
#include "unit/port_seen.h"

#include "zk/zk_client.h"

struct seen Seen;

static void on_state(void *arg, struct zkli_port *port, enum zkli_port_state state) {
    (void)arg;
    (void)port;
    Seen.state = (int)state;
    Seen.states++;
}

static void on_reply(void *arg, struct zkli_port *port, unsigned slot,
                     const struct zkli_reply *reply) {
    (void)arg;
    (void)port;
    Seen.slot = slot;
    Seen.reply = *reply;
    if (Seen.look_at != NULL)
        Seen.look_at(reply);
    Seen.state_at_reply = Seen.state;
    Seen.replies++;
}

static void on_watch(void *arg, struct zkli_port *port, const char *path,
                     enum zkli_watch_type type) {
    (void)arg;
    (void)port;
    Seen.watch = type;
    (void)snprintf(Seen.path, sizeof(Seen.path), "%s", path);
    Seen.watches++;
}

static void log_line(void *arg, zkl_log_level level, const char *text) {
    (void)arg;
    Seen.level = level;
    (void)snprintf(Seen.line, sizeof(Seen.line), "%s", text);
    Seen.lines++;
}

static struct zkli_port *port_to(const char *hosts, const char *auth_scheme, bool is_creator_acl) {
    static const struct zkli_port_receiver receiver = {on_state, on_reply, on_watch};
    struct zkli_client_config config = {
        .hosts = hosts,
        .timeout_ms = 10000,
        .auth_scheme = auth_scheme,
        .auth = auth_scheme == NULL ? NULL : "u:p",
        .is_creator_acl = is_creator_acl,
        .receiver = &receiver,
        .log = log_line,
    };
    fake_reset();
    Fake.is_by_hand = true;
    Seen = (struct seen){.state = NO_STATE, .state_at_reply = NO_STATE};
    struct zkli_port *port = zkli_client_new(&config);
    REQUIRE(port != NULL);
    return port;
}

struct zkli_port *new_port(const char *auth_scheme, bool is_creator_acl) {
    return port_to("h:1", auth_scheme, is_creator_acl);
}

struct zkli_port *open_port_to(const char *hosts) {
    struct zkli_port *port = port_to(hosts, NULL, false);
    REQUIRE(port->ops->open(port));
    return port;
}

struct zkli_port *open_port(const char *auth_scheme) {
    struct zkli_port *port = new_port(auth_scheme, false);
    REQUIRE(port->ops->open(port));
    return port;
}

void check_reply(unsigned slot, int code, enum zkli_result result) {
    bool is_over = code == ZSESSIONEXPIRED || code == -12;
    CHECK_INT(Seen.slot, slot);
    CHECK_INT(Seen.reply.result, result);
    CHECK_INT(Seen.reply.code, code);
    CHECK_INT(Seen.reply.is_unimplemented, code == ZUNIMPLEMENTED);
    CHECK_INT(Seen.state_at_reply, is_over ? (int)ZKLI_PORT_EXPIRED : NO_STATE);
    Seen.state = NO_STATE;
}
