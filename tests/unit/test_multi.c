/* What a transaction may consist of, and how many bytes it has on the wire. */
#include "core/multi.h"

#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define UNTOUCHED ((size_t)4711)
/* Length, xid, type; type, end and error of the end. */
#define FRAME 21
/* Type, end, error; version or flags; the path's length. */
#define OP 17

static char Big[ZKLI_TRANSACTION_MAX + 2];

static zkl_err check(const struct zkli_op *ops, size_t count, size_t *ret_bytes) {
    *ret_bytes = UNTOUCHED;
    return zkli_multi_check(ops, count, 0, ret_bytes);
}

static void check_one(struct zkli_op op, zkl_err expected, size_t bytes) {
    size_t got;
    CHECK_INT(check(&op, 1, &got), expected);
    CHECK_INT(got, expected == ZKL_OK ? FRAME + OP + bytes : UNTOUCHED);
}

static void each_operation_has_the_bytes_that_are_sent(void) {
    static const struct zkli_acl acl[] = {{31, "world", "anyone"}, {1, NULL, NULL}};
    check_one((struct zkli_op){ZKLI_OP_CHECK, .path = "/a"}, ZKL_OK, 2);
    check_one((struct zkli_op){ZKLI_OP_DELETE, .path = "/a/b"}, ZKL_OK, 4);
    check_one((struct zkli_op){ZKLI_OP_SET, .path = "/", .data = "xyz", .length = 3}, ZKL_OK,
              1 + 4 + 3);
    check_one((struct zkli_op){ZKLI_OP_CREATE, .path = "/a", .data = "xyz", .length = 3}, ZKL_OK,
              2 + 4 + 3 + 4);
    check_one((struct zkli_op){ZKLI_OP_CREATE, .path = "/a", .acl = acl, .acl_count = 2}, ZKL_OK,
              2 + 4 + 4 + (4 + 4 + 5 + 4 + 6) + (4 + 4 + 4));
}

static void none_at_all_is_data_and_less_is_not(void) {
    const enum zkli_op_type types[] = {ZKLI_OP_SET, ZKLI_OP_CREATE};
    for (size_t i = 0; i < COUNT(types); i++) {
        size_t acl = types[i] == ZKLI_OP_CREATE ? 4 : 0;
        struct zkli_op op = {types[i], .path = "/a"};
        check_one(op, ZKL_OK, 2 + 4 + acl);
        op.length = -1;
        check_one(op, ZKL_OK, 2 + 4 + acl);
        op.length = -2;
        check_one(op, ZKL_INVALID, 0);
        op.length = 1;
        check_one(op, ZKL_INVALID, 0);
        op.data = "x";
        check_one(op, ZKL_OK, 2 + 4 + 1 + acl);
        op.length = 0;
        check_one(op, ZKL_OK, 2 + 4 + acl);
        op.length = -1;
        check_one(op, ZKL_INVALID, 0);
    }
    /* Of an operation without data, nothing of it is looked at. */
    check_one((struct zkli_op){ZKLI_OP_CHECK, .path = "/a", .length = 1}, ZKL_OK, 2);
    check_one((struct zkli_op){ZKLI_OP_DELETE, .path = "/a", .length = -2}, ZKL_OK, 2);
}

/* With a sequence number behind it, a path may end in '/'. */
static void paths_are_what_the_servers_take(void) {
    for (enum zkli_op_type type = ZKLI_OP_CHECK; type <= ZKLI_OP_DELETE; type++) {
        struct zkli_op op = {type, .path = "a"};
        check_one(op, ZKL_INVALID, 0);
        op.path = NULL;
        check_one(op, ZKL_INVALID, 0);
        op.path = "/a/";
        check_one(op, ZKL_INVALID, 0);
        op.flags = ZKLI_CREATE_SEQUENTIAL | ZKLI_CREATE_EPHEMERAL;
        check_one(op, type == ZKLI_OP_CREATE ? ZKL_OK : ZKL_INVALID, 3 + 4 + 4);
        op.flags = ZKLI_CREATE_EPHEMERAL;
        check_one(op, ZKL_INVALID, 0);
    }
}

/* The first one that is wrong says how. */
static void all_operations_count(void) {
    struct zkli_op ops[ZKLI_TRANSACTION_OPS_MAX + 1];
    size_t bytes;
    for (size_t i = 0; i < COUNT(ops); i++)
        ops[i] = (struct zkli_op){ZKLI_OP_CHECK, .path = "/abc"};
    CHECK_INT(check(ops, 0, &bytes), ZKL_OK);
    CHECK_INT(bytes, FRAME);
    CHECK_INT(check(ops, ZKLI_TRANSACTION_OPS_MAX, &bytes), ZKL_OK);
    CHECK_INT(bytes, FRAME + ZKLI_TRANSACTION_OPS_MAX * (OP + 4));
    CHECK_INT(zkli_multi_check(ops, 3, 100, &bytes), ZKL_OK);
    CHECK_INT(bytes, FRAME + 3 * (OP + 4 + 100));
    CHECK_INT(check(ops, ZKLI_TRANSACTION_OPS_MAX + 1, &bytes), ZKL_LIMIT);
    ops[2].path = "abc";
    CHECK_INT(check(ops, 2, &bytes), ZKL_OK);
    CHECK_INT(check(ops, 3, &bytes), ZKL_INVALID);
    ops[1] = (struct zkli_op){ZKLI_OP_SET, .path = "/", .data = Big, .length = INT32_MAX};
    CHECK_INT(check(ops, 3, &bytes), ZKL_LIMIT);
    CHECK_INT(bytes, UNTOUCHED);
}

static void the_longest_transaction_is_the_limit(void) {
    struct zkli_op op = {ZKLI_OP_SET, .path = "/a", .data = Big};
    const int32_t longest = ZKLI_TRANSACTION_MAX - FRAME - OP - 2 - 4;
    size_t bytes;
    op.length = longest;
    CHECK_INT(check(&op, 1, &bytes), ZKL_OK);
    CHECK_INT(bytes, ZKLI_TRANSACTION_MAX);
    op.length = longest + 1;
    CHECK_INT(check(&op, 1, &bytes), ZKL_LIMIT);
    struct zkli_op ops[] = {op, {ZKLI_OP_CHECK, .path = "invalid"}};
    CHECK_INT(check(ops, 2, &bytes), ZKL_LIMIT); /* the first one that is wrong says how */
    op.length = longest - 100;
    CHECK_INT(zkli_multi_check(&op, 1, 100, &bytes), ZKL_OK);
    CHECK_INT(bytes, ZKLI_TRANSACTION_MAX);
    CHECK_INT(zkli_multi_check(&op, 1, 101, &bytes), ZKL_LIMIT);
}

/* However long they are, or however many: the sum does not overflow. */
static void names_and_access_lists_count(void) {
    const size_t many = 1000000;
    struct zkli_acl *acl = calloc(many, sizeof(*acl));
    struct zkli_op op = {ZKLI_OP_CREATE, .path = "/a", .acl = acl, .acl_count = 1};
    REQUIRE(acl != NULL);
    memset(Big, 'x', sizeof(Big) - 1);
    acl[0].scheme = Big;
    check_one(op, ZKL_LIMIT, 0);
    acl[0] = (struct zkli_acl){31, "x", Big};
    check_one(op, ZKL_LIMIT, 0);
    acl[0].id = "x";
    check_one(op, ZKL_OK, 2 + 4 + 4 + 4 + 5 + 5);
    op.acl_count = many;
    check_one(op, ZKL_LIMIT, 0);
    free(acl);
    Big[0] = '/';
    op = (struct zkli_op){ZKLI_OP_DELETE, .path = Big};
    check_one(op, ZKL_LIMIT, 0);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"each operation has the bytes that are sent", each_operation_has_the_bytes_that_are_sent},
        {"none at all is data, and less is not", none_at_all_is_data_and_less_is_not},
        {"paths are what the servers take", paths_are_what_the_servers_take},
        {"all operations count", all_operations_count},
        {"the longest transaction is the limit", the_longest_transaction_is_the_limit},
        {"names and access lists count", names_and_access_lists_count},
    };
    return TEST_MAIN(argc, argv, "multi", cases);
}
