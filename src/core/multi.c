/* multi - see multi.h. */
#include "core/multi.h"

#include <stdbool.h>
#include <string.h>

#include "core/znode_path.h"

/* Bytes on the wire: a header (type, end, error) before each operation and at the end; length, xid
 * and type of the whole; a string, a buffer or a list has its length in front. */
#define HEADER_BYTES 9
#define LENGTH_BYTES 4
#define FRAME_BYTES (3 * LENGTH_BYTES + HEADER_BYTES)
/* Longer than anything that may be sent, and so short that a sum of a few does not overflow. */
#define TOO_LONG ((size_t)ZKLI_TRANSACTION_MAX + 1)

static size_t string_bytes(const char *text) {
    size_t length = text == NULL ? 0 : strlen(text);
    return LENGTH_BYTES + (length < TOO_LONG ? length : TOO_LONG);
}

static size_t acl_bytes(const struct zkli_op *op) {
    size_t bytes = LENGTH_BYTES;
    for (size_t i = 0; i < op->acl_count && bytes < TOO_LONG; i++)
        bytes += LENGTH_BYTES + string_bytes(op->acl[i].scheme) + string_bytes(op->acl[i].id);
    return bytes;
}

static size_t data_bytes(const struct zkli_op *op) {
    return LENGTH_BYTES + (op->length > 0 ? (size_t)op->length : 0);
}

static bool data_is_valid(const struct zkli_op *op) {
    return op->length >= 0 ? op->data != NULL || op->length == 0
                           : op->data == NULL && op->length == -1;
}

static bool op_is_valid(const struct zkli_op *op) {
    bool is_create = op->type == ZKLI_OP_CREATE;
    bool has_data = is_create || op->type == ZKLI_OP_SET;
    bool is_sequence = is_create && (op->flags & ZKLI_CREATE_SEQUENTIAL) != 0;
    return zkli_path_is_valid(op->path, is_sequence) && (!has_data || data_is_valid(op));
}

/* Of a valid one. Each has a number of 4 bytes: the version, or the flags. */
static size_t op_bytes(const struct zkli_op *op) {
    size_t bytes = HEADER_BYTES + LENGTH_BYTES + string_bytes(op->path);
    if (op->type == ZKLI_OP_CREATE)
        return bytes + data_bytes(op) + acl_bytes(op);
    return op->type == ZKLI_OP_SET ? bytes + data_bytes(op) : bytes;
}

zkl_err zkli_multi_check(const struct zkli_op *ops, size_t count, size_t chroot_length,
                         size_t *ret_bytes) {
    if (count > ZKLI_TRANSACTION_OPS_MAX)
        return ZKL_LIMIT;
    size_t bytes = FRAME_BYTES;
    for (size_t i = 0; i < count; i++) {
        if (!op_is_valid(&ops[i]))
            return ZKL_INVALID;
        bytes += op_bytes(&ops[i]);
        if (bytes > ZKLI_TRANSACTION_MAX)
            return ZKL_LIMIT;
    }
    bytes += count * chroot_length;
    if (bytes > ZKLI_TRANSACTION_MAX)
        return ZKL_LIMIT;
    *ret_bytes = bytes;
    return ZKL_OK;
}
