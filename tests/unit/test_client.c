/* What the client library says, in the words of the port; and what it is asked for. */
#include "unit/port_seen.h"

#include "zk/zk_client.h"

/* ---- Replies ---- */

static const struct {
    int code;
    enum zkli_result result;
} Codes[] = {
    {ZOK, ZKLI_RESULT_OK},
    {ZNONODE, ZKLI_RESULT_NO_NODE},
    {ZNODEEXISTS, ZKLI_RESULT_EXISTS},
    {ZNOAUTH, ZKLI_RESULT_DENIED},
    {ZCONNECTIONLOSS, ZKLI_RESULT_LOST},
    {ZOPERATIONTIMEOUT, ZKLI_RESULT_LOST},
    {ZRUNTIMEINCONSISTENCY, ZKLI_RESULT_LOST},
    {ZDATAINCONSISTENCY, ZKLI_RESULT_LOST},
    {ZMARSHALLINGERROR, ZKLI_RESULT_LOST},
    {ZSYSTEMERROR, ZKLI_RESULT_LOST},
    {ZSESSIONEXPIRED, ZKLI_RESULT_LOST},
    {-12, ZKLI_RESULT_LOST}, /* the server's unknown session */
    {ZAUTHFAILED, ZKLI_RESULT_LOST},
    {ZCLOSING, ZKLI_RESULT_LOST},
    {ZINVALIDSTATE, ZKLI_RESULT_LOST},
    {ZSESSIONMOVED, ZKLI_RESULT_AGAIN},
    {ZTHROTTLEDOP, ZKLI_RESULT_AGAIN},
    {ZNOTREADONLY, ZKLI_RESULT_AGAIN},
    {ZBADARGUMENTS, ZKLI_RESULT_ERROR},
    {ZNOCHILDRENFOREPHEMERALS, ZKLI_RESULT_ERROR},
    {ZUNIMPLEMENTED, ZKLI_RESULT_ERROR},
};

static void every_code_is_one_of_the_results(void) {
    struct zkli_port *port = open_port(NULL);
    struct Stat stat = {.czxid = 5, .ephemeralOwner = 6, .ctime = 7};
    struct String_vector nothing = {0};
    for (size_t i = 0; i < COUNT(Codes); i++) {
        int code = Codes[i].code;
        unsigned slot = (unsigned)i;
        CHECK(port->ops->create(port, slot, "/a", "", 0, ZKLI_EPHEMERAL_SEQUENTIAL));
        struct call call = fake_take();
        call.done.create(code, "/a1", &stat, call.data);
        check_reply(slot, code, Codes[i].result);
        CHECK(Seen.reply.stat.czxid == 5 && Seen.reply.stat.owner == 6);
        CHECK(port->ops->create(port, slot, "/a", "", 0, ZKLI_CONTAINER));
        call = fake_take();
        call.done.parent(code, "/a", call.data);
        check_reply(slot, code, Codes[i].result);
        CHECK(port->ops->list(port, slot, "/a", false));
        call = fake_take();
        call.done.list(code, code == ZOK ? &nothing : NULL, NULL, call.data);
        check_reply(slot, code, Codes[i].result);
        CHECK_INT(Seen.reply.child_count, 0);
        CHECK(port->ops->get(port, slot, "/a", true));
        call = fake_take();
        call.done.get(code, NULL, -1, NULL, call.data);
        check_reply(slot, code, Codes[i].result);
        CHECK(Seen.reply.data_length == 0 && Seen.reply.stat.czxid == 0);
        CHECK(port->ops->remove(port, slot, "/a"));
        call = fake_take();
        call.done.plain(code, call.data);
        check_reply(slot, code, Codes[i].result);
    }
    port->ops->close(port);
}

static void a_reply_carries_what_was_listed_or_read(void) {
    struct zkli_port *port = open_port(NULL);
    char *children[] = {(char *)"x", (char *)"y"};
    struct String_vector list = {2, children};
    struct Stat stat = {.czxid = 5};
    CHECK(port->ops->list(port, 1, "/a", false));
    struct call call = fake_take();
    call.done.list(ZOK, &list, &stat, call.data);
    CHECK(call.watcher == NULL);
    CHECK(Seen.reply.child_count == 2 && Seen.reply.children == children);
    CHECK_INT(Seen.reply.stat.czxid, 5);
    CHECK(port->ops->list(port, 1, "/a", false));
    call = fake_take();
    call.done.list(ZNONODE, &list, NULL, call.data);
    CHECK_INT(Seen.reply.child_count, 0);
    CHECK(port->ops->get(port, 1, "/a", false));
    call = fake_take();
    CHECK(call.watcher == NULL);
    call.done.get(ZOK, "text", 4, &stat, call.data);
    CHECK(Seen.reply.data_length == 4 && strcmp(Seen.reply.data, "text") == 0);
    CHECK(port->ops->get(port, 1, "/a", false));
    call = fake_take();
    call.done.get(ZOK, "text", -1, &stat, call.data); /* a node without data */
    CHECK(Seen.reply.data_length == 0 && Seen.reply.data[0] == '\0');
    port->ops->close(port);
}

/* Where the client library has no memory for a part of a reply, it says ZOK and hands out NULL. */
static void a_reply_that_is_not_whole_counts_as_none(void) {
    struct zkli_port *port = open_port(NULL);
    char *children[] = {(char *)"x", NULL};
    struct String_vector half = {2, children}, none = {2, NULL};
    const struct String_vector *lists[] = {&half, &none, NULL};
    for (size_t i = 0; i < COUNT(lists); i++) {
        CHECK(port->ops->list(port, 1, "/a", false));
        struct call call = fake_take();
        call.done.list(ZOK, lists[i], NULL, call.data);
        CHECK(Seen.reply.result == ZKLI_RESULT_NOMEM && Seen.reply.child_count == 0);
    }
    CHECK(port->ops->get(port, 1, "/a", false));
    struct call call = fake_take();
    call.done.get(ZOK, NULL, 4, NULL, call.data);
    CHECK_INT(Seen.reply.result, ZKLI_RESULT_NOMEM);
    CHECK(port->ops->create(port, 1, "/a", "", 0, ZKLI_EPHEMERAL_SEQUENTIAL));
    call = fake_take();
    call.done.create(ZOK, NULL, NULL, call.data);
    CHECK_INT(Seen.reply.result, ZKLI_RESULT_LOST);
    port->ops->close(port);
}

/* What a server may say by itself, a refusal above all, says nothing of a write. */
static void a_barrier_has_passed_when_the_quorum_must_have_answered_it(void) {
    static const int more[] = {ZBADVERSION, ZNOTEMPTY, ZINVALIDACL};
    struct zkli_port *port = open_port(NULL);
    for (size_t i = 0; i < COUNT(Codes) + COUNT(more); i++) {
        int code = i < COUNT(Codes) ? Codes[i].code : more[i - COUNT(Codes)];
        enum zkli_result other = i < COUNT(Codes) ? Codes[i].result : ZKLI_RESULT_ERROR;
        bool is_passed = code == ZNONODE || code == ZOK;
        CHECK(port->ops->barrier(port, 3, NULL));
        struct call call = fake_take();
        CHECK_INT(call.kind, BARRIER);
        CHECK(strchr(call.path + 1, '/') != NULL); /* its parent is not one that has an ACL */
        call.done.plain(code, call.data);
        check_reply(3, code, is_passed ? ZKLI_RESULT_OK : other);
    }
    port->ops->close(port);
}

static void a_barrier_that_names_a_node_has_passed_when_it_was_found(void) {
    struct zkli_port *port = open_port(NULL);
    for (size_t i = 0; i < COUNT(Codes); i++) {
        CHECK(port->ops->barrier(port, 3, "/locks/a/node"));
        struct call call = fake_take();
        CHECK_INT(call.kind, BARRIER);
        CHECK_STRING(call.path, "/locks/a/node");
        call.done.plain(Codes[i].code, call.data);
        check_reply(3, Codes[i].code, Codes[i].result);
    }
    Fake.first_state = ZOO_CONNECTING_STATE; /* not connected: it could not be sent whole */
    CHECK(!port->ops->barrier(port, 3, "/locks/a/node"));
    port->ops->close(port);
}

/* ---- Requests ---- */

static void a_request_that_is_refused_is_not_sent(void) {
    const struct zkli_op op = {ZKLI_OP_DELETE, .path = "/a"};
    struct zkli_port *port = open_port(NULL);
    for (enum kind kind = 0; kind < KINDS; kind++)
        fake_refuse(kind, ZINVALIDSTATE);
    CHECK(!port->ops->create(port, 0, "/a", "", 0, ZKLI_EPHEMERAL_SEQUENTIAL));
    CHECK(!port->ops->create(port, 0, "/a", "", 0, ZKLI_PERSISTENT));
    CHECK(!port->ops->list(port, 0, "/a", false));
    CHECK(!port->ops->get(port, 0, "/a", true));
    CHECK(!port->ops->remove(port, 0, "/a"));
    CHECK(!port->ops->barrier(port, 0, NULL));
    CHECK(!port->ops->barrier(port, 0, "/a"));
    CHECK(!port->ops->multi(port, 0, &op, 1));
    CHECK_INT(Seen.replies, 0);
    port->ops->close(port);
}

static void nodes_are_created_as_asked_for(void) {
    static const struct {
        enum zkli_create_mode mode;
        enum kind kind;
        const int *flags;
    } modes[] = {{ZKLI_EPHEMERAL_SEQUENTIAL, CREATE, &ZOO_EPHEMERAL_SEQUENTIAL},
                 {ZKLI_CONTAINER, PARENT, &ZOO_CONTAINER},
                 {ZKLI_PERSISTENT, PARENT, &ZOO_PERSISTENT}};
    for (int is_creator_acl = 0; is_creator_acl < 2; is_creator_acl++) {
        struct zkli_port *port = new_port(is_creator_acl ? "digest" : NULL, is_creator_acl != 0);
        REQUIRE(port->ops->open(port));
        for (size_t i = 0; i < COUNT(modes); i++) {
            CHECK(port->ops->create(port, 0, "/a", "", 0, modes[i].mode));
            struct call call = fake_take();
            CHECK(call.kind == modes[i].kind && call.mode == *modes[i].flags);
            CHECK(call.acl == (is_creator_acl ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE));
        }
        port->ops->close(port);
    }
}

/* ---- The session ---- */

static void states_of_the_client_are_states_of_the_port(void) {
    const struct {
        int state, port_state;
    } states[] = {{ZOO_CONNECTED_STATE, ZKLI_PORT_CONNECTED},
                  {ZOO_CONNECTING_STATE, ZKLI_PORT_CONNECTING},
                  {ZOO_ASSOCIATING_STATE, ZKLI_PORT_CONNECTING},
                  {ZOO_EXPIRED_SESSION_STATE, ZKLI_PORT_EXPIRED},
                  {ZOO_AUTH_FAILED_STATE, ZKLI_PORT_AUTH_FAILED}};
    struct zkli_port *port = open_port(NULL);
    for (size_t i = 0; i < COUNT(states); i++) {
        fake_state(states[i].state);
        CHECK_INT(Seen.state, states[i].port_state);
    }
    size_t before = Seen.states;
    Fake.handle->watcher(Fake.handle, ZOO_CHANGED_EVENT, ZOO_CONNECTED_STATE, "/a",
                         Fake.handle->context);
    CHECK_INT(Seen.states, before); /* what is not of the session is not of the session */
    CHECK_INT(port->ops->session_id(port), Fake.handle->id.client_id);
    CHECK_INT(port->ops->timeout_ms(port), 10000);
    int64_t id;
    char password[16];
    zkli_client_credentials(port, &id, password);
    CHECK(id == Fake.handle->id.client_id && memcmp(password, "0123456789abcdef", 16) == 0);
    port->ops->close(port);
}

/* Else the first requests would be refused. */
static void with_credentials_connected_is_said_when_the_server_has_taken_them(void) {
    struct zkli_port *port = open_port("digest");
    fake_state(ZOO_CONNECTED_STATE);
    CHECK_INT(Seen.states, 0);
    struct call call = fake_take();
    CHECK_INT(call.kind, AUTH);
    call.done.plain(ZCONNECTIONLOSS, call.data); /* asked again over the next connection */
    CHECK_INT(Seen.states, 0);
    fake_state(ZOO_CONNECTED_STATE);
    call = fake_take();
    call.done.plain(ZOK, call.data);
    CHECK_INT(Seen.state, ZKLI_PORT_CONNECTED);
    fake_state(ZOO_CONNECTING_STATE);
    fake_state(ZOO_CONNECTED_STATE); /* from then on the client sends them by itself */
    CHECK_INT(Seen.state, ZKLI_PORT_CONNECTED);
    CHECK_INT(Fake.handle->call_count, 0);
    port->ops->close(port);
}

static void credentials_that_are_rejected_are_the_end(void) {
    struct zkli_port *port = open_port("digest");
    fake_state(ZOO_CONNECTED_STATE);
    struct call call = fake_take();
    call.done.plain(ZAUTHFAILED, call.data);
    CHECK_INT(Seen.state, ZKLI_PORT_AUTH_FAILED);
    port->ops->close(port);
    port = open_port("digest");
    fake_refuse(AUTH, ZINVALIDSTATE); /* it has broken again, another connection follows */
    fake_state(ZOO_CONNECTED_STATE);
    CHECK_INT(Seen.states, 0);
    fake_refuse(AUTH, ZSYSTEMERROR); /* out of memory: another session may do better */
    fake_state(ZOO_CONNECTED_STATE);
    CHECK_INT(Seen.state, ZKLI_PORT_FAILED);
    port->ops->close(port);
}

static void a_watch_tells_of_the_node_and_its_children_only(void) {
    const int others[] = {ZOO_SESSION_EVENT, ZOO_CREATED_EVENT, ZOO_NOTWATCHING_EVENT};
    struct zkli_port *port = open_port(NULL);
    CHECK(port->ops->get(port, 0, "/a", true));
    struct call call = fake_take();
    for (size_t i = 0; i < COUNT(others); i++)
        call.watcher(Fake.handle, others[i], ZOO_CONNECTED_STATE, "/a", Fake.handle->context);
    CHECK_INT(Seen.watches, 0);
    call.watcher(Fake.handle, ZOO_CHANGED_EVENT, ZOO_CONNECTED_STATE, "/a", Fake.handle->context);
    CHECK(Seen.watches == 1 && Seen.watch == ZKLI_WATCH_CHANGED);
    call.watcher(Fake.handle, ZOO_DELETED_EVENT, ZOO_CONNECTED_STATE, "/b", Fake.handle->context);
    CHECK(Seen.watches == 2 && Seen.watch == ZKLI_WATCH_DELETED);
    CHECK_STRING(Seen.path, "/b");
    CHECK(port->ops->list(port, 0, "/a", true));
    struct call list = fake_take();
    CHECK(list.watcher == call.watcher && list.context == call.context);
    call.watcher(Fake.handle, ZOO_CHILD_EVENT, ZOO_CONNECTED_STATE, "/a", Fake.handle->context);
    CHECK(Seen.watches == 3 && Seen.watch == ZKLI_WATCH_CHILDREN);
    port->ops->close(port);
}

static void servers_can_be_changed_once_there_is_a_client(void) {
    struct zkli_port *port = new_port(NULL, false);
    CHECK(port->ops->set_hosts(port, "early:1"));
    CHECK_STRING(Fake.hosts, "");
    REQUIRE(port->ops->open(port));
    CHECK(port->ops->set_hosts(port, "other:1"));
    CHECK_STRING(Fake.hosts, "other:1");
    Fake.set_hosts_code = ZBADARGUMENTS;
    CHECK(!port->ops->set_hosts(port, "bad:1"));
    port->ops->close(port);
}

static void a_client_that_cannot_start_is_closed_all_the_same(void) {
    struct zkli_port *port = new_port(NULL, false);
    Fake.init_error = EMFILE;
    CHECK(!port->ops->open(port));
    port->ops->close(port);
    CHECK_INT(Fake.closes, 0);
}

/* ---- Log ---- */

static void lines_of_the_client_go_to_their_session_s_log(void) {
    static const struct {
        const char *line, *logged;
        zkl_log_level level;
    } lines[] = {
        {"1:ZOO_ERROR@f@1: e\n", "1:ZOO_ERROR@f@1: e", ZKL_LOG_ERROR},
        {"1:ZOO_WARN@f@1: w\n\n", "1:ZOO_WARN@f@1: w", ZKL_LOG_WARN},
        {"1:ZOO_INFO@f@1: i", "1:ZOO_INFO@f@1: i", ZKL_LOG_INFO},
        {"1:ZOO_DEBUG@f@1: d", "1:ZOO_DEBUG@f@1: d", ZKL_LOG_DEBUG},
        {"\n", "", ZKL_LOG_DEBUG},
    };
    struct zkli_port *port = open_port(NULL);
    for (size_t i = 0; i < COUNT(lines); i++) {
        Fake.handle->log(lines[i].line);
        CHECK_STRING(Seen.line, lines[i].logged);
        CHECK_INT(Seen.level, lines[i].level);
    }
    char longest[3000];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    Fake.handle->log(longest);
    CHECK_INT(strlen(Seen.line), 1023);
    log_callback_fn log = Fake.handle->log;
    port->ops->close(port);
    size_t before = Seen.lines;
    log("too late");
    CHECK_INT(Seen.lines, before);
}

static void sessions_beyond_those_with_a_log_work_without(void) {
    struct zkli_port *ports[34];
    for (size_t i = 0; i < COUNT(ports); i++)
        ports[i] = open_port(NULL);
    size_t before = Seen.lines;
    Fake.handle->log("nobody's");
    CHECK_INT(Seen.lines, before);
    for (size_t i = 0; i < COUNT(ports); i++)
        ports[i]->ops->close(ports[i]);
    struct zkli_port *port = open_port(NULL);
    Fake.handle->log("somebody's");
    CHECK_STRING(Seen.line, "somebody's");
    port->ops->close(port);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"every code is one of the results", every_code_is_one_of_the_results},
        {"a reply carries what was listed or read", a_reply_carries_what_was_listed_or_read},
        {"a reply that is not whole counts as none", a_reply_that_is_not_whole_counts_as_none},
        {"a barrier has passed when the quorum must have answered it",
         a_barrier_has_passed_when_the_quorum_must_have_answered_it},
        {"a barrier that names a node has passed when it was found",
         a_barrier_that_names_a_node_has_passed_when_it_was_found},
        {"a request that is refused is not sent", a_request_that_is_refused_is_not_sent},
        {"nodes are created as asked for", nodes_are_created_as_asked_for},
        {"states of the client are states of the port",
         states_of_the_client_are_states_of_the_port},
        {"with credentials, connected is said when the server has taken them",
         with_credentials_connected_is_said_when_the_server_has_taken_them},
        {"credentials that are rejected are the end", credentials_that_are_rejected_are_the_end},
        {"a watch tells of the node and its children only",
         a_watch_tells_of_the_node_and_its_children_only},
        {"servers can be changed once there is a client",
         servers_can_be_changed_once_there_is_a_client},
        {"a client that cannot start is closed all the same",
         a_client_that_cannot_start_is_closed_all_the_same},
        {"lines of the client go to their session's log",
         lines_of_the_client_go_to_their_session_s_log},
        {"sessions beyond those with a log work without",
         sessions_beyond_those_with_a_log_work_without},
    };
    return TEST_MAIN(argc, argv, "client", cases);
}
