/* Operations of a program with ZooKeeper's own header: taken over, and given their results. */
#include "zk/zk_ops.h"

#include <stdlib.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#include "support/main.h"
#include "support/wait.h"

#define ACL_MANY 200000

static void operations_come_in_behind_a_place_for_the_guard(void) {
    struct ACL entries[] = {{31, {(char *)"world", (char *)"anyone"}}, {1, {(char *)"ip", NULL}}};
    const struct ACL_vector two = {2, entries}, one = {1, &entries[1]};
    zoo_op_t ops[6];
    zoo_create_op_init(&ops[0], "/a", "xy", 2, &two, ZOO_SEQUENCE, NULL, 0);
    zoo_create_op_init(&ops[1], "/b", NULL, -1, &one, ZOO_EPHEMERAL, NULL, 0);
    zoo_create_op_init(&ops[2], "/c", "", 0, NULL, 0, NULL, 0);
    zoo_set_op_init(&ops[3], "/d", "z", 1, 5, NULL);
    zoo_delete_op_init(&ops[4], "/e", 6);
    zoo_check_op_init(&ops[5], "/f", 7);
    struct zkli_ops *imported = zkli_ops_import(ops, COUNT(ops));
    REQUIRE(imported != NULL);
    CHECK_INT(imported->error, ZKL_OK);
    CHECK_INT(imported->count, 1 + COUNT(ops));
    const struct zkli_op *op = &imported->ops[1];
    CHECK(op->type == ZKLI_OP_CREATE && op->flags == ZKLI_CREATE_SEQUENTIAL && op->length == 2);
    CHECK(strcmp(op->path, "/a") == 0 && memcmp(op->data, "xy", 2) == 0);
    REQUIRE(op->acl_count == 2);
    CHECK(op->acl[0].permissions == 31 && strcmp(op->acl[0].id, "anyone") == 0);
    CHECK(op->acl[1].permissions == 1 && strcmp(op->acl[1].scheme, "ip") == 0);
    CHECK(op->acl[1].id == NULL);
    op++;
    CHECK(op->type == ZKLI_OP_CREATE && op->flags == ZKLI_CREATE_EPHEMERAL);
    CHECK(op->data == NULL && op->length == -1 && op->acl_count == 1);
    CHECK_STRING(op->acl[0].scheme, "ip");
    op++;
    CHECK(op->type == ZKLI_OP_CREATE && op->flags == 0 && op->acl_count == 0);
    op++;
    CHECK(op->type == ZKLI_OP_SET && op->version == 5 && op->length == 1);
    CHECK(strcmp(op->path, "/d") == 0 && memcmp(op->data, "z", 1) == 0);
    op++;
    CHECK(op->type == ZKLI_OP_DELETE && op->version == 6 && strcmp(op->path, "/e") == 0);
    op++;
    CHECK(op->type == ZKLI_OP_CHECK && op->version == 7 && strcmp(op->path, "/f") == 0);
    free(imported);
}

/* The operations before it are there: what is wrong with them comes first. */
static void check_import(const zoo_op_t *ops, size_t count, size_t good, zkl_err error) {
    struct zkli_ops *imported = zkli_ops_import(ops, count);
    REQUIRE(imported != NULL);
    CHECK_INT(imported->error, error);
    CHECK_INT(imported->count, 1 + good);
    free(imported);
}

static void what_has_no_words_ends_the_list(void) {
    zoo_op_t ops[ZKLI_TRANSACTION_OPS_MAX];
    char buffer[8];
    for (size_t i = 0; i < COUNT(ops); i++)
        zoo_check_op_init(&ops[i], "/a", -1);
    check_import(ops, COUNT(ops) - 1, COUNT(ops) - 1, ZKL_OK);
    check_import(ops, COUNT(ops), 0, ZKL_LIMIT);
    zoo_create_op_init(&ops[2], "/x", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_CONTAINER, NULL, 0);
    check_import(ops, 4, 2, ZKL_UNSUPPORTED);
    ops[2].type = 4711;
    check_import(ops, 4, 2, ZKL_UNSUPPORTED);
    zoo_create_op_init(&ops[1], "/x", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 1);
    check_import(ops, 4, 1, ZKL_INVALID);
    zoo_create_op_init(&ops[1], "/x", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, buffer, -1);
    check_import(ops, 4, 1, ZKL_INVALID);
}

/* Cut off, they still are too long. */
static void access_lists_without_end_are_a_limit(void) {
    struct ACL *entries = calloc(ACL_MANY, sizeof(*entries));
    const struct ACL_vector many = {ACL_MANY, entries}, none = {-1, NULL};
    zoo_op_t ops[3];
    size_t bytes;
    REQUIRE(entries != NULL);
    zoo_create_op_init(&ops[0], "/x", "", 0, &none, 0, NULL, 0);
    zoo_create_op_init(&ops[1], "/x", "", 0, &many, 0, NULL, 0);
    zoo_create_op_init(&ops[2], "/x", "", 0, &many, 0, NULL, 0);
    struct zkli_ops *imported = zkli_ops_import(ops, COUNT(ops));
    REQUIRE(imported != NULL);
    CHECK_INT(imported->ops[1].acl_count, 0);
    CHECK_INT(zkli_multi_check(imported->ops + 1, 1, 0, &bytes), ZKL_OK);
    CHECK_INT(zkli_multi_check(imported->ops + 1, 2, 0, &bytes), ZKL_LIMIT);
    free(imported);
    free(entries);
}

/* ---- Out ---- */

static void results_go_where_the_caller_wants_them(void) {
    const struct zkli_stat stat = {.czxid = 1,
                                   .mzxid = 2,
                                   .ctime_ms = 3,
                                   .mtime_ms = 4,
                                   .version = 5,
                                   .children_version = 6,
                                   .acl_version = 7,
                                   .owner = 8,
                                   .data_length = 9,
                                   .child_count = 10,
                                   .pzxid = 11};
    const struct zkli_op_result results[] = {
        {.path = "/made7"}, {.path = "/made7"}, {.path = "/made7"}, {.path = "/made7"},
        {.stat = &stat},    {.stat = &stat},    {.code = ZNONODE},
    };
    zoo_op_t ops[COUNT(results)];
    zoo_op_result_t got[COUNT(results)];
    char whole[7], tiny[4], nothing[] = "untouched";
    struct Stat set;
    zoo_create_op_init(&ops[0], "/made", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, whole, sizeof(whole));
    zoo_create_op_init(&ops[1], "/made", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, tiny, sizeof(tiny));
    zoo_create_op_init(&ops[2], "/made", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, nothing, 0);
    zoo_create_op_init(&ops[3], "/made", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
    zoo_set_op_init(&ops[4], "/set", "", 0, -1, &set);
    zoo_set_op_init(&ops[5], "/set", "", 0, -1, NULL);
    zoo_delete_op_init(&ops[6], "/gone", -1);
    zkli_ops_export(results, COUNT(results), ops, got);
    CHECK_STRING(whole, "/made7");
    CHECK(got[0].value == whole && got[0].valuelen == sizeof(whole));
    CHECK_STRING(tiny, "/ma");
    CHECK_STRING(nothing, "untouched");
    CHECK(got[2].value == nothing && got[3].value == NULL);
    CHECK(got[4].stat == &set && got[5].stat == NULL);
    CHECK(set.czxid == 1 && set.mzxid == 2 && set.ctime == 3 && set.mtime == 4);
    CHECK(set.version == 5 && set.cversion == 6 && set.aversion == 7);
    CHECK(set.ephemeralOwner == 8 && set.dataLength == 9);
    CHECK(set.numChildren == 10 && set.pzxid == 11);
    for (size_t i = 0; i < COUNT(results); i++)
        CHECK_INT(got[i].err, results[i].code);
}

static void of_what_was_not_done_only_the_code_is_told(void) {
    const struct zkli_op_result results[] = {{0}, {.code = ZBADVERSION}};
    zoo_op_t ops[2];
    zoo_op_result_t got[2];
    char made[] = "untouched";
    struct Stat set = {.version = 4711};
    zoo_create_op_init(&ops[0], "/made", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, made, sizeof(made));
    zoo_set_op_init(&ops[1], "/set", "", 0, 3, &set);
    zkli_ops_export(results, 2, ops, got);
    CHECK(got[0].err == ZOK && got[0].value == NULL);
    CHECK(got[1].err == ZBADVERSION && got[1].stat == NULL);
    CHECK_STRING(made, "untouched");
    CHECK_INT(set.version, 4711);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"operations come in behind a place for the guard",
         operations_come_in_behind_a_place_for_the_guard},
        {"what has no words ends the list", what_has_no_words_ends_the_list},
        {"access lists without end are a limit", access_lists_without_end_are_a_limit},
        {"results go where the caller wants them", results_go_where_the_caller_wants_them},
        {"of what was not done, only the code is told", of_what_was_not_done_only_the_code_is_told},
    };
    return TEST_MAIN(argc, argv, "zk_ops", cases);
}
