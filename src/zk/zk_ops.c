/* zk_ops - see zk_ops.h. */
#include "zk/zk_ops.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

/* So many entries are too long for a transaction, whatever is in them. So what is left out of a
 * longer access list changes nothing. */
#define ACL_MAX (ZKLI_TRANSACTION_MAX / 12 + 1)

/* ---- In ---- */

/* Containers and nodes with a time to live are not for transactions: the client library expects
 * another answer to the one than the server gives, and breaks off, leaking, at the other. */
static zkl_err check_op(const zoo_op_t *op) {
    switch (op->type) {
    case ZOO_CREATE_OP:
        return op->create_op.buflen < 0 || (op->create_op.buf == NULL && op->create_op.buflen > 0)
                   ? ZKL_INVALID
                   : ZKL_OK;
    case ZOO_DELETE_OP:
    case ZOO_SETDATA_OP:
    case ZOO_CHECK_OP:
        return ZKL_OK;
    default:
        return ZKL_UNSUPPORTED;
    }
}

static size_t acl_length(const zoo_op_t *op) {
    const struct ACL_vector *acl = op->type == ZOO_CREATE_OP ? op->create_op.acl : NULL;
    return acl == NULL || acl->count < 0 ? 0 : (size_t)acl->count;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static struct zkli_op create_of(const zoo_op_t *op, struct zkli_acl *acl, size_t acl_count) {
    for (size_t i = 0; i < acl_count; i++) {
        const struct ACL *entry = &op->create_op.acl->data[i];
        acl[i] = (struct zkli_acl){entry->perms, entry->id.scheme, entry->id.id};
    }
    return (struct zkli_op){.type = ZKLI_OP_CREATE,
                            .path = op->create_op.path,
                            .data = op->create_op.data,
                            .length = op->create_op.datalen,
                            .flags = op->create_op.flags,
                            .acl = acl,
                            .acl_count = acl_count};
}

static struct zkli_op op_of(const zoo_op_t *op, struct zkli_acl *acl, size_t acl_count) {
    switch (op->type) {
    case ZOO_CREATE_OP:
        return create_of(op, acl, acl_count);
    case ZOO_DELETE_OP:
        return (struct zkli_op){
            .type = ZKLI_OP_DELETE, .path = op->delete_op.path, .version = op->delete_op.version};
    case ZOO_SETDATA_OP:
        return (struct zkli_op){.type = ZKLI_OP_SET,
                                .path = op->set_op.path,
                                .data = op->set_op.data,
                                .length = op->set_op.datalen,
                                .version = op->set_op.version};
    default:
        assert(op->type == ZOO_CHECK_OP);
        return (struct zkli_op){
            .type = ZKLI_OP_CHECK, .path = op->check_op.path, .version = op->check_op.version};
    }
}

struct zkli_ops *zkli_ops_import(const zoo_op_t *ops, size_t count) {
    zkl_err error = count < ZKLI_TRANSACTION_OPS_MAX ? ZKL_OK : ZKL_LIMIT;
    size_t good = 0, acl_left = 0;
    while (good < count && error == ZKL_OK) {
        error = check_op(&ops[good]);
        if (error != ZKL_OK)
            break;
        acl_left = smaller(acl_left + acl_length(&ops[good]), ACL_MAX);
        good++;
    }
    struct zkli_ops *imported = calloc(1, sizeof(*imported) + (1 + good) * sizeof(struct zkli_op) +
                                              acl_left * sizeof(struct zkli_acl));
    if (imported == NULL)
        return NULL;
    imported->count = 1 + good;
    imported->error = error;
    struct zkli_acl *acl = (struct zkli_acl *)(void *)(imported->ops + imported->count);
    for (size_t i = 0; i < good; i++) {
        size_t acl_count = smaller(acl_length(&ops[i]), acl_left);
        imported->ops[i + 1] = op_of(&ops[i], acl, acl_count);
        acl += acl_count;
        acl_left -= acl_count;
    }
    return imported;
}

/* ---- Out ---- */

static void export_stat(const struct zkli_stat *stat, struct Stat *ret_stat) {
    *ret_stat = (struct Stat){.czxid = stat->czxid,
                              .mzxid = stat->mzxid,
                              .ctime = stat->ctime_ms,
                              .mtime = stat->mtime_ms,
                              .version = stat->version,
                              .cversion = stat->children_version,
                              .aversion = stat->acl_version,
                              .ephemeralOwner = stat->owner,
                              .dataLength = stat->data_length,
                              .numChildren = stat->child_count,
                              .pzxid = stat->pzxid};
}

/* Cut off where it is longer than the buffer. */
static void export_path(const char *path, char *buffer, int length) {
    if (length == 0)
        return;
    size_t copied = smaller(strlen(path), (size_t)length - 1);
    memcpy(buffer, path, copied);
    buffer[copied] = '\0';
}

void zkli_ops_export(const struct zkli_op_result *results, size_t count, const zoo_op_t *ops,
                     zoo_op_result_t *ret_results) {
    for (size_t i = 0; i < count; i++) {
        const zoo_op_t *op = &ops[i];
        ret_results[i] = (zoo_op_result_t){.err = results[i].code};
        if (op->type == ZOO_SETDATA_OP && op->set_op.stat != NULL && results[i].stat != NULL) {
            export_stat(results[i].stat, op->set_op.stat);
            ret_results[i].stat = op->set_op.stat;
        } else if (op->type == ZOO_CREATE_OP && op->create_op.buf != NULL &&
                   results[i].path != NULL) {
            export_path(results[i].path, op->create_op.buf, op->create_op.buflen);
            ret_results[i].value = op->create_op.buf;
            ret_results[i].valuelen = op->create_op.buflen;
        }
    }
}
