/*
 * Transactions by the client library, and the answers that come when their port is closed.
 */
#include "unit/port_seen.h"

#include "support/actor.h"
#include "support/wait.h"
#include "zk/zk_client.h"

static const struct zkli_acl Acl[] = {{31, "world", "anyone"}, {1, "digest", NULL}};
static const struct zkli_op Ops[] = {
    {ZKLI_OP_CHECK, .path = "/guard", .version = -1},
    {ZKLI_OP_CREATE, .path = "/made-", .data = "abc", .length = 3, .flags = ZKLI_CREATE_SEQUENTIAL,
     .acl = Acl, .acl_count = COUNT(Acl)},
    {ZKLI_OP_SET, .path = "/set", .length = -1, .version = 4},
    {ZKLI_OP_DELETE, .path = "/deleted", .version = 3},
};

static struct call send_multi(struct zkli_port *port, unsigned slot) {
    CHECK(port->ops->multi(port, slot, Ops, COUNT(Ops)));
    struct call call = fake_take();
    REQUIRE(call.kind == MULTI && call.op_count == COUNT(Ops));
    return call;
}

static void operations_are_handed_on_as_they_are(void) {
    struct zkli_port *port = open_port(NULL);
    struct call call = send_multi(port, 3);
    const zoo_op_t *ops = call.ops;
    CHECK(ops[0].type == ZOO_CHECK_OP && ops[1].type == ZOO_CREATE_OP);
    CHECK(ops[2].type == ZOO_SETDATA_OP && ops[3].type == ZOO_DELETE_OP);
    CHECK_STRING(ops[0].check_op.path, "/guard");
    CHECK_INT(ops[0].check_op.version, -1);
    CHECK_STRING(ops[1].create_op.path, "/made-");
    CHECK(ops[1].create_op.datalen == 3 && strcmp(ops[1].create_op.data, "abc") == 0);
    CHECK_INT(ops[1].create_op.flags, ZOO_SEQUENCE);
    CHECK_INT(ZOO_EPHEMERAL, ZKLI_CREATE_EPHEMERAL);
    CHECK_INT(ops[1].create_op.buflen, strlen("/made-") + 12); /* also if the number is negative */
    CHECK_STRING(ops[2].set_op.path, "/set");
    CHECK(ops[2].set_op.data == NULL && ops[2].set_op.datalen == -1);
    CHECK_INT(ops[2].set_op.version, 4);
    CHECK_STRING(ops[3].delete_op.path, "/deleted");
    CHECK_INT(ops[3].delete_op.version, 3);
    const struct ACL_vector *acl = ops[1].create_op.acl;
    REQUIRE(acl->count == COUNT(Acl));
    CHECK(acl->data[0].perms == 31 && acl->data[1].perms == 1 && acl->data[1].id.id == NULL);
    CHECK_STRING(acl->data[0].id.scheme, "world");
    CHECK_STRING(acl->data[0].id.id, "anyone");
    /* A container asked for in a create: the server's to refuse. The library's own operation for it
     * would bring the library down. */
    const struct zkli_op container = {ZKLI_OP_CREATE, .path = "/a", .flags = ZOO_CONTAINER};
    CHECK(port->ops->multi(port, 4, &container, 1));
    CHECK_INT(fake_take().ops[0].type, ZOO_CREATE_OP);
    port->ops->close(port); /* unanswered */
}

static struct zkli_op_result Results[COUNT(Ops)];
static struct zkli_stat SetStat;
static char Made[64];

/* What is valid while it is delivered. */
static void keep_results(const struct zkli_reply *reply) {
    memcpy(Results, reply->op_results, sizeof(Results));
    if (Results[1].path != NULL)
        (void)snprintf(Made, sizeof(Made), "%s", Results[1].path);
    if (Results[2].stat != NULL)
        SetStat = *Results[2].stat;
}

static void a_transaction_s_reply_carries_the_results(void) {
    struct zkli_port *port = open_port(NULL);
    Seen.look_at = keep_results;
    struct call call = send_multi(port, 3);
    fake_answer_multi(&call, -1, ZOK);
    check_reply(3, ZOK, ZKLI_RESULT_OK);
    CHECK_INT(Seen.reply.refused, COUNT(Ops));
    for (size_t i = 0; i < COUNT(Ops); i++) {
        CHECK_INT(Results[i].code, 0);
        CHECK_INT(Results[i].path != NULL, i == 1);
        CHECK_INT(Results[i].stat != NULL, i == 2);
    }
    CHECK_STRING(Made, "/made-0000000007");
    CHECK(SetStat.czxid == 1 && SetStat.mzxid == 2 && SetStat.ctime_ms == 3);
    CHECK(SetStat.mtime_ms == 4 && SetStat.version == 5 && SetStat.children_version == 6);
    CHECK(SetStat.acl_version == 7 && SetStat.owner == 8 && SetStat.data_length == 9);
    CHECK(SetStat.child_count == 10 && SetStat.pzxid == 11);
    port->ops->close(port);
}

/* The first that was refused, whatever those behind it say. */
static void a_refused_transaction_says_which_operation_it_was(void) {
    static const struct {
        int code;
        enum zkli_result result;
    } codes[] = {{ZNONODE, ZKLI_RESULT_NO_NODE},
                 {ZBADVERSION, ZKLI_RESULT_BAD_VERSION},
                 {ZNOAUTH, ZKLI_RESULT_DENIED},
                 {ZNODEEXISTS, ZKLI_RESULT_EXISTS},
                 {ZNOTEMPTY, ZKLI_RESULT_ERROR}};
    struct zkli_port *port = open_port(NULL);
    Seen.look_at = keep_results;
    for (size_t i = 0; i < COUNT(codes); i++) {
        for (int refused = 0; refused < (int)COUNT(Ops); refused++) {
            struct call call = send_multi(port, 3);
            fake_answer_multi(&call, refused, codes[i].code);
            check_reply(3, codes[i].code, codes[i].result);
            CHECK_INT(Seen.reply.refused, refused);
            for (int k = 0; k < (int)COUNT(Ops); k++) {
                CHECK_INT(Results[k].code, k < refused    ? 0
                                           : k == refused ? codes[i].code
                                                          : ZRUNTIMEINCONSISTENCY);
                CHECK(Results[k].path == NULL && Results[k].stat == NULL);
            }
        }
    }
    struct call call = send_multi(port, 3); /* it was none of them */
    call.done.plain(ZCONNECTIONLOSS, call.data);
    check_reply(3, ZCONNECTIONLOSS, ZKLI_RESULT_LOST);
    CHECK_INT(Seen.reply.refused, COUNT(Ops));
    port->ops->close(port);
}

/* ---- What comes when the port is closed ---- */

#define LATE_MAX 8

/* Whatever a port may have asked for, and not been told. */
static size_t ask_for_all(struct zkli_port *port, struct call ret_calls[LATE_MAX]) {
    size_t count = 0;
    fake_state(ZOO_CONNECTED_STATE); /* asks for authentication */
    CHECK(port->ops->create(port, 0, "/a", "", 0, ZKLI_EPHEMERAL_SEQUENTIAL));
    CHECK(port->ops->create(port, 1, "/a", "", 0, ZKLI_CONTAINER));
    CHECK(port->ops->list(port, 2, "/a", false));
    CHECK(port->ops->get(port, 3, "/a", true));
    CHECK(port->ops->remove(port, 4, "/a"));
    CHECK(port->ops->barrier(port, 5, NULL));
    CHECK(port->ops->barrier(port, 6, "/a"));
    while (Fake.handle->call_count > 0) {
        REQUIRE(count < LATE_MAX);
        ret_calls[count++] = fake_take();
    }
    CHECK_INT(count, LATE_MAX);
    return count;
}

static void complete_all(zhandle_t *handle, const struct call *calls, size_t count, int code) {
    const struct zkli_reply reply = {.path = "/a1"};
    for (size_t i = 0; i < count; i++) {
        const struct call *call = &calls[i];
        fake_complete(call, code, &reply);
        if (call->kind == GET)
            call->watcher(handle, ZOO_DELETED_EVENT, ZOO_CONNECTED_STATE, "/a", call->context);
    }
}

static void check_nothing_seen(void) {
    CHECK_INT(Seen.states, 0);
    CHECK_INT(Seen.replies, 0);
    CHECK_INT(Seen.watches, 0);
}

/* Where the handle lives on, for it is not the port's. */
static void a_completion_that_comes_after_close_is_ignored(void) {
    static const int codes[] = {ZOK, ZNONODE, ZSESSIONEXPIRED, ZCLOSING, ZAUTHFAILED};
    for (size_t i = 0; i < COUNT(codes); i++) {
        struct call late[LATE_MAX];
        struct zkli_port *port = open_port("digest");
        watcher_fn watcher = Fake.handle->watcher;
        void *context = Fake.handle->context;
        size_t count = ask_for_all(port, late);
        struct call multi = send_multi(port, 7);
        port->ops->close(port);
        complete_all(NULL, late, count, codes[i]);
        multi.done.plain(codes[i], multi.data);
        watcher(NULL, ZOO_SESSION_EVENT, ZOO_EXPIRED_SESSION_STATE, "", context);
        check_nothing_seen();
        /* Nor is it taken for another port's, of the same memory perhaps. */
        port = open_port(NULL);
        complete_all(NULL, late, count, codes[i]);
        multi.done.plain(codes[i], multi.data);
        watcher(NULL, ZOO_SESSION_EVENT, ZOO_EXPIRED_SESSION_STATE, "", context);
        check_nothing_seen();
        port->ops->close(port);
    }
}

/* The client library may refuse a request for want of memory, and complete it all the same. By then
 * the slot may have another one. */
static void a_completion_of_what_was_refused_is_nobody_s(void) {
    struct zkli_port *port = open_port(NULL);
    for (int i = 0; i < 3; i++) {
        fake_refuse(MULTI, ZMARSHALLINGERROR);
        CHECK(!port->ops->multi(port, 3, Ops, COUNT(Ops)));
        fake_refuse(MULTI, ZOK);
        struct call refused = fake_take();
        REQUIRE_INT(refused.kind, MULTI);
        if (i > 0) {
            CHECK(i == 1 ? port->ops->list(port, 3, "/a", false)
                         : port->ops->barrier(port, 3, "/a"));
            CHECK(fake_take().kind == (i == 1 ? LIST : BARRIER));
        }
        struct call call = send_multi(port, 3);
        Seen.replies = 0;
        fake_answer_multi(&refused, 0, ZCONNECTIONLOSS); /* it writes where it was told to */
        CHECK_INT(Seen.replies, 0);
        fake_answer_multi(&call, -1, ZOK);
        CHECK_INT(Seen.replies, 1);
        CHECK(Seen.reply.result == ZKLI_RESULT_OK && Seen.reply.op_results != NULL);
    }
    fake_refuse(LIST, ZMARSHALLINGERROR);
    CHECK(!port->ops->list(port, 3, "/a", false));
    struct call refused = fake_take();
    CHECK(port->ops->remove(port, 3, "/a"));
    struct call call = fake_take();
    refused.done.list(ZCONNECTIONLOSS, NULL, NULL, refused.data);
    CHECK_INT(Seen.replies, 1);
    call.done.plain(ZNONODE, call.data);
    CHECK_INT(Seen.replies, 2);
    CHECK(Seen.slot == 3 && Seen.reply.result == ZKLI_RESULT_NO_NODE);
    port->ops->close(port);
}

static struct call Refused;

static void complete_what_was_refused(void) {
    Fake.at_state = NULL;
    Refused.done.plain(ZCONNECTIONLOSS, Refused.data);
}

/* It comes when the slot has its next transaction, which has not been sent yet. */
static void a_stale_completion_does_not_take_the_next_transaction(void) {
    struct zkli_port *port = open_port(NULL);
    fake_refuse(MULTI, ZMARSHALLINGERROR);
    CHECK(!port->ops->multi(port, 3, Ops, COUNT(Ops)));
    fake_refuse(MULTI, ZOK);
    Refused = fake_take();
    REQUIRE_INT(Refused.kind, MULTI);
    Fake.at_state = complete_what_was_refused;
    struct call call = send_multi(port, 3);
    CHECK(Fake.at_state == NULL);
    CHECK_INT(Seen.replies, 0);
    Seen.look_at = keep_results;
    fake_answer_multi(&call, -1, ZOK);
    CHECK_INT(Seen.replies, 1);
    CHECK_STRING(Made, "/made-0000000007");
    port->ops->close(port);
}

static struct zkli_port *Port;

/* What another thread may do while this one is about to take the receiver's lock. */
static void have_a_request_refused(const struct zkli_reply *reply) {
    Seen.look_at = NULL;
    CHECK(zkli_client_awaits(Port, 3, reply));
    fake_refuse(LIST, ZMARSHALLINGERROR);
    CHECK(!Port->ops->list(Port, 3, "/a", false));
    fake_refuse(LIST, ZOK);
    CHECK(!zkli_client_awaits(Port, 3, reply));
    Refused = fake_take();
}

static void no_reply_is_awaited_for_a_request_that_was_refused(void) {
    Port = open_port(NULL);
    CHECK(Port->ops->list(Port, 3, "/a", false));
    struct call call = fake_take();
    Seen.look_at = have_a_request_refused;
    call.done.list(ZNONODE, NULL, NULL, call.data);
    CHECK(Seen.look_at == NULL);
    CHECK_INT(Seen.replies, 1);
    Refused.done.list(ZCONNECTIONLOSS, NULL, NULL,
                      Refused.data); /* before the slot's next request */
    CHECK_INT(Seen.replies, 1);
    Port->ops->close(Port);
}

static zkl_err close_port(void *arg) {
    struct zkli_port *port = arg;
    port->ops->close(port);
    return ZKL_OK;
}

/* While the client library is being closed it may still write, and deliver. */
static void results_that_come_during_close_find_their_memory(void) {
    struct call late[LATE_MAX];
    struct zkli_port *port = open_port("digest");
    zhandle_t *handle = Fake.handle;
    size_t count = ask_for_all(port, late);
    struct call answered = send_multi(port, 7), unanswered = send_multi(port, 8);
    actor *closer = actor_new();
    fake_keep_close(true);
    actor_begin(closer, close_port, port);
    WAIT_UNTIL(actor_is_blocked(closer), SOON_MS);
    complete_all(handle, late, count, ZOK);
    fake_answer_multi(&answered, -1, ZOK);
    fake_state(ZOO_EXPIRED_SESSION_STATE);
    check_nothing_seen();
    unanswered.results[0].err = ZCLOSING;
    fake_keep_close(false);
    CHECK_INT(actor_result(closer, SOON_MS), ZKL_OK);
    actor_free(closer);
    CHECK_INT(Fake.closes, 1);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"operations are handed on as they are", operations_are_handed_on_as_they_are},
        {"a transaction's reply carries the results", a_transaction_s_reply_carries_the_results},
        {"a refused transaction says which operation it was",
         a_refused_transaction_says_which_operation_it_was},
        {"a completion that comes after close is ignored",
         a_completion_that_comes_after_close_is_ignored},
        {"a completion of what was refused is nobody's",
         a_completion_of_what_was_refused_is_nobody_s},
        {"a stale completion does not take the next transaction",
         a_stale_completion_does_not_take_the_next_transaction},
        {"no reply is awaited for a request that was refused",
         no_reply_is_awaited_for_a_request_that_was_refused},
        {"results that come during close find their memory",
         results_that_come_during_close_find_their_memory},
    };
    return TEST_MAIN(argc, argv, "client_multi", cases);
}
