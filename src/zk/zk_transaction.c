/* zk_transaction - see zk_transaction.h. */
#include "zk/zk_transaction.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/znode_path.h"
#include "zk/zk_client.h"

/* Bytes on the wire: a header (type, end, error); a string or buffer has its length in front. */
#define OP_HEADER_BYTES 9
#define LENGTH_BYTES 4
/* Longer than anything that may be sent, and so short that a sum of a few does not overflow. */
#define TOO_LONG ((size_t)ZKLI_TRANSACTION_MAX + 1)

static size_t string_bytes(const char *text) {
    size_t length = text == NULL ? 0 : strlen(text);
    return LENGTH_BYTES + (length < TOO_LONG ? length : TOO_LONG);
}

static size_t acl_bytes(const struct ACL_vector *acl) {
    size_t bytes = LENGTH_BYTES;
    for (int32_t i = 0; acl != NULL && i < acl->count && bytes < TOO_LONG; i++)
        bytes += LENGTH_BYTES + string_bytes(acl->data[i].id.scheme) +
                 string_bytes(acl->data[i].id.id);
    return bytes;
}

/* No data at all, which is -1 bytes at NULL, is data. */
static bool data_is_valid(const char *data, int length) {
    return length >= 0 ? data != NULL || length == 0 : data == NULL && length == -1;
}

static size_t data_bytes(int length) {
    return LENGTH_BYTES + (length > 0 ? (size_t)length : 0);
}

static bool create_is_valid(const zoo_op_t *op) {
    return zkli_path_is_valid(op->create_op.path, (op->create_op.flags & ZOO_SEQUENCE) != 0) &&
           data_is_valid(op->create_op.data, op->create_op.datalen) &&
           (op->create_op.buf != NULL || op->create_op.buflen == 0) && op->create_op.buflen >= 0;
}

/* Adds an operation's bytes. Containers and nodes with a time to live are not for transactions: the
 * client library expects another answer to the one than the server gives, and breaks off, leaking,
 * at the other. */
static zkl_err check_op(const zoo_op_t *op, size_t *bytes) {
    bool is_valid = false;
    *bytes += OP_HEADER_BYTES + LENGTH_BYTES; /* the version, or the flags */
    switch (op->type) {
    case ZOO_CREATE_OP:
        is_valid = create_is_valid(op);
        if (is_valid)
            *bytes += string_bytes(op->create_op.path) + data_bytes(op->create_op.datalen) +
                      acl_bytes(op->create_op.acl);
        break;
    case ZOO_DELETE_OP:
        is_valid = zkli_path_is_valid(op->delete_op.path, false);
        if (is_valid)
            *bytes += string_bytes(op->delete_op.path);
        break;
    case ZOO_SETDATA_OP:
        is_valid = zkli_path_is_valid(op->set_op.path, false) &&
                   data_is_valid(op->set_op.data, op->set_op.datalen);
        if (is_valid)
            *bytes += string_bytes(op->set_op.path) + data_bytes(op->set_op.datalen);
        break;
    case ZOO_CHECK_OP:
        is_valid = zkli_path_is_valid(op->check_op.path, false);
        if (is_valid)
            *bytes += string_bytes(op->check_op.path);
        break;
    default:
        return ZKL_UNSUPPORTED;
    }
    return is_valid ? ZKL_OK : ZKL_INVALID;
}

zkl_err zkli_client_check(struct zkli_guarded *write, size_t chroot_length) {
    /* Length, xid and type, the guard's check, the end. */
    size_t bytes = 3 * LENGTH_BYTES + OP_HEADER_BYTES + LENGTH_BYTES + string_bytes(write->guard) +
                   OP_HEADER_BYTES;
    if (write->path != NULL) {
        if (!zkli_path_is_valid(write->path, false) || (write->data == NULL && write->length > 0))
            return ZKL_INVALID;
        assert(write->length <= ZKLI_TRANSACTION_MAX);
        bytes += OP_HEADER_BYTES + LENGTH_BYTES + string_bytes(write->path) +
                 data_bytes((int)write->length);
    }
    if (write->op_count >= ZKLI_TRANSACTION_OPS_MAX)
        return ZKL_LIMIT;
    for (size_t i = 0; i < write->op_count; i++) {
        zkl_err err = check_op(&write->ops[i], &bytes);
        if (err != ZKL_OK)
            return err;
        if (bytes > ZKLI_TRANSACTION_MAX)
            return ZKL_LIMIT;
    }
    size_t paths = write->op_count + (write->path != NULL ? 2 : 1);
    write->bytes = bytes + paths * chroot_length;
    return write->bytes > ZKLI_TRANSACTION_MAX ? ZKL_LIMIT : ZKL_OK;
}

/* So much of a create's path buffer can be filled: the server adds a number of 11 characters. */
static size_t path_buffer_size(const zoo_op_t *op) {
    size_t size = strlen(op->create_op.path) + 12;
    return (size_t)op->create_op.buflen < size ? (size_t)op->create_op.buflen : size;
}

/* Room for so many operations and their path buffers. NULL: out of memory. */
static struct zkli_transaction *make_room(const struct zkli_guarded *write, char **ret_text) {
    size_t count = write->path != NULL ? 2 : write->op_count + 1, text = 0;
    for (size_t i = 0; i < write->op_count; i++)
        if (write->ops[i].type == ZOO_CREATE_OP)
            text += path_buffer_size(&write->ops[i]);
    struct zkli_transaction *t = calloc(
        1, sizeof(*t) + count * (sizeof(*t->ops) + sizeof(*t->results) + sizeof(*t->stats)) + text);
    if (t == NULL)
        return NULL;
    t->count = count;
    t->ops = (zoo_op_t *)(void *)(t + 1);
    t->results = (zoo_op_result_t *)(void *)(t->ops + count);
    t->stats = (struct Stat *)(void *)(t->results + count);
    *ret_text = (char *)(t->stats + count);
    return t;
}

/* The caller's operation, with our own places for what comes back. */
static void copy_op(struct zkli_transaction *t, size_t index, const zoo_op_t *op, char **text) {
    t->ops[index] = *op;
    if (op->type == ZOO_SETDATA_OP) {
        t->ops[index].set_op.stat = &t->stats[index];
    } else if (op->type == ZOO_CREATE_OP && op->create_op.buf != NULL) {
        size_t size = path_buffer_size(op);
        t->ops[index].create_op.buf = *text;
        t->ops[index].create_op.buflen = (int)size;
        *text += size;
    }
}

struct zkli_transaction *zkli_transaction_new(const struct zkli_guarded *write) {
    char *text;
    struct zkli_transaction *t = make_room(write, &text);
    if (t == NULL)
        return NULL;
    zoo_check_op_init(&t->ops[0], write->guard, -1);
    if (write->path != NULL)
        zoo_set_op_init(&t->ops[1], write->path, write->length > 0 ? write->data : "",
                        (int)write->length, write->version, NULL);
    for (size_t i = 0; i < write->op_count; i++)
        copy_op(t, i + 1, &write->ops[i], &text);
    return t;
}

void zkli_transaction_copy_results(const struct zkli_transaction *t,
                                   const struct zkli_guarded *write) {
    for (size_t i = 0; i < write->op_count && write->results != NULL; i++) {
        const zoo_op_t *op = &write->ops[i];
        const zoo_op_result_t *got = &t->results[i + 1];
        zoo_op_result_t *result = &write->results[i];
        *result = (zoo_op_result_t){.err = got->err};
        if (op->type == ZOO_SETDATA_OP && op->set_op.stat != NULL && got->stat != NULL) {
            *op->set_op.stat = *got->stat;
            result->stat = op->set_op.stat;
        } else if (op->type == ZOO_CREATE_OP && op->create_op.buf != NULL && got->value != NULL) {
            memcpy(op->create_op.buf, got->value, (size_t)got->valuelen);
            result->value = op->create_op.buf;
            result->valuelen = op->create_op.buflen;
        }
    }
}
