/*
 * The port over a handle that the program has: by which watch it hears of the session, what it does
 * while that does not stand, and what reaches it when it is closed.
 */
#include "unit/port_seen.h"

#include "zk/zk_client.h"

#define SESSION_PATH "/zklock-barrier-of-no-node/session"

/* The watch on that path, as the client library has it. */
static struct session_watch {
    watcher_fn fn;
    void *context;
    bool stands;
} Watch;
/* What was taken out of the client library's tables. */
static struct removed {
    size_t count;
    char path[ZKLI_PATH_MAX];
    ZooWatcherType type;
    watcher_fn fn;
    void *context;
} Removed;
static size_t Asked;
static int Refusal;
static struct call Arming;

int zoo_awexists(zhandle_t *zh, const char *path, watcher_fn watcher, void *watcherCtx,
                 stat_completion_t completion, const void *data) {
    (void)zh;
    Asked++;
    if (Refusal != ZOK)
        return Refusal;
    CHECK_STRING(path, SESSION_PATH);
    Arming = (struct call){
        .kind = EXISTS, .watcher = watcher, .context = watcherCtx, .done.stat = completion};
    Arming.data = data;
    return ZOK;
}

int zoo_remove_watches(zhandle_t *zh, const char *path, ZooWatcherType wtype, watcher_fn watcher,
                       void *watcherCtx, int local) {
    (void)zh;
    CHECK_INT(local, 1); /* nothing is sent */
    Removed = (struct removed){
        .count = Removed.count + 1, .type = wtype, .fn = watcher, .context = watcherCtx};
    (void)snprintf(Removed.path, sizeof(Removed.path), "%s", path);
    return ZOK;
}

static void on_global(zhandle_t *zh, int type, int state, const char *path, void *context) {
    (void)zh;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

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
    (void)slot;
    (void)reply;
    Seen.replies++;
}

static void on_watch(void *arg, struct zkli_port *port, const char *path,
                     enum zkli_watch_type type) {
    (void)arg;
    (void)port;
    (void)path;
    (void)type;
    Seen.watches++;
}

static void on_line(void *arg, zkl_log_level level, const char *text) {
    (void)arg;
    (void)level;
    (void)snprintf(Seen.line, sizeof(Seen.line), "%s", text);
    Seen.lines++;
}

static zhandle_t *Handle;

/* A handle in this state, and a port that has come to it. */
static struct zkli_port *attach(int state) {
    static const struct zkli_port_receiver receiver = {on_state, on_reply, on_watch};
    const struct zkli_client_config config = {.receiver = &receiver, .log = on_line};
    fake_reset();
    Fake.is_by_hand = true;
    Fake.first_state = state;
    Seen = (struct seen){.state = NO_STATE};
    Watch = (struct session_watch){0};
    Removed = (struct removed){0};
    Asked = 0;
    Refusal = ZOK;
    Handle = zookeeper_init2("h:1", on_global, 10000, NULL, NULL, 0, NULL);
    struct zkli_port *port = zkli_client_attach(&config, Handle);
    REQUIRE(port != NULL);
    REQUIRE(port->ops->open(port));
    return port;
}

/* The read that sets the watch is answered. */
static void answer_arming(int code) {
    const struct call call = Arming;
    Arming = (struct call){.kind = KINDS};
    if (code == ZOK || code == ZNONODE)
        Watch = (struct session_watch){call.watcher, call.context, true};
    call.done.stat(code, NULL, call.data);
}

static void tell_watch(int type, int state, const char *path) {
    Watch.fn(Handle, type, state, path, Watch.context);
}

static void end(struct zkli_port *port) {
    port->ops->close(port);
    CHECK_INT(fake_closes(), 0);
    (void)zookeeper_close(Handle);
}

static void it_hears_of_the_session_by_a_watch(void) {
    struct zkli_port *port = attach(ZOO_CONNECTED_STATE);
    CHECK_INT(Seen.states, 0);
    CHECK_INT(port->ops->look(port), ZKLI_PORT_CONNECTING); /* nobody would tell of its end */
    CHECK_INT(Asked, 1);
    answer_arming(ZNONODE);
    CHECK_INT(Seen.state, ZKLI_PORT_HEARD);
    CHECK_INT(port->ops->look(port), ZKLI_PORT_HEARD);
    CHECK_INT(port->ops->session_id(port), Handle->id.client_id);
    CHECK_INT(port->ops->timeout_ms(port), 10000);
    tell_watch(ZOO_SESSION_EVENT, ZOO_CONNECTING_STATE, "");
    CHECK_INT(Seen.state, ZKLI_PORT_CONNECTING);
    tell_watch(ZOO_SESSION_EVENT, ZOO_CONNECTED_STATE, "");
    CHECK_INT(Seen.state, ZKLI_PORT_CONNECTED);
    tell_watch(ZOO_SESSION_EVENT, ZOO_EXPIRED_SESSION_STATE, "");
    CHECK_INT(Seen.state, ZKLI_PORT_EXPIRED);
    CHECK_INT(Seen.states, 4);
    end(port);
}

static void of_a_node_that_is_there_the_watch_stands_too(void) {
    struct zkli_port *port = attach(ZOO_CONNECTED_STATE);
    answer_arming(ZOK);
    CHECK_INT(Seen.state, ZKLI_PORT_HEARD);
    end(port);
}

/* Meanwhile the port is not connected, and then perhaps by the connection of before: that is never
 * called a new one, which would prove something. */
static void it_is_set_again_when_somebody_makes_the_node(void) {
    struct zkli_port *port = attach(ZOO_CONNECTED_STATE);
    answer_arming(ZNONODE);
    tell_watch(ZOO_CREATED_EVENT, ZOO_CONNECTED_STATE, SESSION_PATH);
    CHECK_INT(Seen.state, ZKLI_PORT_CONNECTING);
    CHECK_INT(port->ops->look(port), ZKLI_PORT_CONNECTING);
    CHECK_INT(Asked, 2);
    answer_arming(ZOK);
    CHECK_INT(Seen.state, ZKLI_PORT_HEARD);
    CHECK_INT(Seen.states, 3);
    end(port);
}

/* At the next look: at once, a request would have the client library try to connect at once. */
static void a_reply_that_is_lost_is_asked_for_again(void) {
    struct zkli_port *port = attach(ZOO_CONNECTING_STATE);
    answer_arming(ZCONNECTIONLOSS);
    CHECK_INT(Asked, 1);
    CHECK_INT(Seen.states, 0);
    CHECK_INT(port->ops->look(port), ZKLI_PORT_CONNECTING);
    CHECK_INT(Asked, 2);
    answer_arming(ZNONODE);
    CHECK_INT(Seen.state, ZKLI_PORT_CONNECTING); /* the handle's state is what counts */
    Fake.first_state = ZOO_CONNECTED_STATE;
    CHECK_INT(port->ops->look(port), ZKLI_PORT_HEARD);
    end(port);
}

/* By the server; the client library hears of it when it connects. */
static void the_end_of_the_session_may_be_the_reply(void) {
    struct zkli_port *port = attach(ZOO_CONNECTED_STATE);
    answer_arming(ZSESSIONEXPIRED);
    CHECK_INT(Seen.state, ZKLI_PORT_EXPIRED);
    CHECK_INT(Asked, 1);
    end(port);
}

/* Then its watch stands when the port has gone. */
static void a_watch_that_comes_too_late_is_taken_back(void) {
    struct zkli_port *port = attach(ZOO_CONNECTED_STATE);
    port->ops->close(port);
    CHECK_INT(Removed.count, 1);
    answer_arming(ZNONODE);
    CHECK_INT(Removed.count, 2);
    CHECK_STRING(Removed.path, SESSION_PATH);
    CHECK(Removed.fn == Watch.fn && Removed.context == Watch.context);
    CHECK_INT(Seen.states, 0);
    (void)zookeeper_close(Handle);
}

static void a_refusal_is_logged_once_and_tried_again(void) {
    struct zkli_port *port = attach(ZOO_CONNECTED_STATE);
    answer_arming(ZNOAUTH);
    CHECK_INT(Seen.states, 0);
    CHECK_INT(Seen.lines, 1);
    CHECK(strstr(Seen.line, SESSION_PATH) != NULL);
    CHECK_INT(Asked, 1);
    CHECK_INT(port->ops->look(port), ZKLI_PORT_CONNECTING);
    CHECK_INT(Asked, 2);
    answer_arming(ZNOAUTH);
    CHECK_INT(Seen.lines, 1);
    Refusal = ZMARSHALLINGERROR;
    (void)port->ops->look(port);
    (void)port->ops->look(port);
    CHECK_INT(Asked, 4);
    Refusal = ZOK;
    (void)port->ops->look(port);
    answer_arming(ZNONODE);
    CHECK_INT(Seen.state, ZKLI_PORT_HEARD);
    end(port);
}

static void a_session_that_is_over_is_told_at_once(void) {
    const struct {
        int state;
        enum zkli_port_state told;
    } ends[] = {{ZOO_EXPIRED_SESSION_STATE, ZKLI_PORT_EXPIRED},
                {ZOO_AUTH_FAILED_STATE, ZKLI_PORT_AUTH_FAILED}};
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct zkli_port *port = attach(ends[i].state);
        CHECK_INT(Seen.state, ends[i].told);
        CHECK_INT(Asked, 0);
        CHECK_INT(port->ops->look(port), ends[i].told);
        end(port);

        port = attach(ZOO_CONNECTING_STATE);
        Fake.first_state = ends[i].state; /* while the watch is being set */
        answer_arming(ZSESSIONEXPIRED);
        CHECK_INT(Seen.state, ends[i].told);
        CHECK_INT(Asked, 1);
        end(port);
    }
}

static void watches_are_taken_back_by_what_they_were_set_with(void) {
    struct zkli_port *port = attach(ZOO_CONNECTED_STATE);
    answer_arming(ZNONODE);
    REQUIRE(port->ops->get(port, 3, "/locks/a", true));
    const struct call get = fake_take();
    REQUIRE(port->ops->list(port, 4, "/locks", true));
    const struct call list = fake_take();
    port->ops->unwatch(port, "/locks/a", false);
    CHECK_STRING(Removed.path, "/locks/a");
    CHECK_INT(Removed.type, ZWATCHTYPE_DATA);
    CHECK(Removed.fn == get.watcher && Removed.context == get.context);
    port->ops->unwatch(port, "/locks", true);
    CHECK_STRING(Removed.path, "/locks");
    CHECK_INT(Removed.type, ZWATCHTYPE_CHILD);
    CHECK(Removed.fn == list.watcher && Removed.context == list.context);
    port->ops->close(port);
    CHECK_INT(Removed.count, 3);
    CHECK_STRING(Removed.path, SESSION_PATH);
    CHECK_INT(Removed.type, ZWATCHTYPE_DATA);
    CHECK(Removed.fn == Watch.fn && Removed.context == Watch.context);
    (void)zookeeper_close(Handle);
}

/* The handle goes on: what completes, and what fires, is for nobody. A transaction's results are
 * written into memory that is there until then. */
static void what_comes_after_the_close_is_ignored(void) {
    struct zkli_port *port = attach(ZOO_CONNECTED_STATE);
    answer_arming(ZNONODE);
    const struct zkli_op op = {.type = ZKLI_OP_CHECK, .path = "/locks/a", .version = -1};
    REQUIRE(port->ops->get(port, 3, "/locks/a", true));
    REQUIRE(port->ops->multi(port, 5, &op, 1));
    const struct call get = fake_take(), multi = fake_take();
    port->ops->close(port);
    const struct seen before = Seen;
    const struct zkli_reply reply = {.result = ZKLI_RESULT_OK};
    fake_complete(&get, ZOK, &reply);
    fake_answer_multi(&multi, -1, ZOK);
    get.watcher(Handle, ZOO_DELETED_EVENT, ZOO_CONNECTED_STATE, "/locks/a", get.context);
    tell_watch(ZOO_SESSION_EVENT, ZOO_CONNECTING_STATE, "");
    tell_watch(ZOO_CREATED_EVENT, ZOO_CONNECTED_STATE, SESSION_PATH);
    CHECK_INT(Seen.states, before.states);
    CHECK_INT(Seen.replies, before.replies);
    CHECK_INT(Seen.watches, before.watches);
    CHECK_INT(Asked, 1);
    (void)zookeeper_close(Handle);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"it hears of the session by a watch", it_hears_of_the_session_by_a_watch},
        {"of a node that is there the watch stands, too",
         of_a_node_that_is_there_the_watch_stands_too},
        {"it is set again when somebody makes the node",
         it_is_set_again_when_somebody_makes_the_node},
        {"a reply that is lost is asked for again", a_reply_that_is_lost_is_asked_for_again},
        {"the end of the session may be the reply", the_end_of_the_session_may_be_the_reply},
        {"a watch that comes too late is taken back", a_watch_that_comes_too_late_is_taken_back},
        {"a refusal is logged once and tried again", a_refusal_is_logged_once_and_tried_again},
        {"a session that is over is told at once", a_session_that_is_over_is_told_at_once},
        {"watches are taken back by what they were set with",
         watches_are_taken_back_by_what_they_were_set_with},
        {"what comes after the close is ignored", what_comes_after_the_close_is_ignored},
    };
    return TEST_MAIN(argc, argv, "client_attached", cases);
}
