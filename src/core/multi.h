/*
 * multi - the operations of a transaction in our own words: what one may consist of, and how long
 * it is on the wire.
 *
 * The servers carry out all of its operations or none. Not here: how the client library wants them
 * (zk_transaction.h), how a program with that library's own header hands them in (zk_ops.h).
 */
#ifndef ZKLI_CORE_MULTI_H
#define ZKLI_CORE_MULTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zklock.h"

/* The longest transaction, as sent. The servers cut the connection at a packet of more than 1048575
 * bytes (jute.maxbuffer, unless it is set otherwise). What they add when they pass it on among
 * themselves must fit, too. */
#define ZKLI_TRANSACTION_MAX 1024000
/* Operations of one transaction: 64 of a caller's behind a guard's check. The leader's only thread
 * for writes is held up for all of them, and no other write passes meanwhile. */
#define ZKLI_TRANSACTION_OPS_MAX 65

enum zkli_op_type {
    ZKLI_OP_CHECK,
    ZKLI_OP_CREATE,
    ZKLI_OP_SET,
    ZKLI_OP_DELETE
};

/* Flags of a create, with the protocol's values. The servers refuse any others. */
#define ZKLI_CREATE_EPHEMERAL 1
#define ZKLI_CREATE_SEQUENTIAL 2

struct zkli_acl {
    int32_t permissions;
    const char *scheme, *id; /* NULL: sent as no string at all */
};

struct zkli_op {
    enum zkli_op_type type;
    const char *path;
    const void *data;           /* create, set */
    int32_t length;             /* of the data; -1 with data NULL: none, which is not empty */
    int32_t version;            /* check, set, delete; -1: any */
    int32_t flags;              /* create */
    const struct zkli_acl *acl; /* create */
    size_t acl_count;
    bool has_our_acl; /* create: the ACL of contenders' nodes instead */
};

struct zkli_stat {
    int64_t czxid;
    int64_t owner; /* ephemeralOwner */
    int64_t ctime_ms;
    int32_t version; /* of the data */
    int32_t children_version, acl_version;
    int32_t data_length, child_count;
    int64_t mzxid, pzxid;
    int64_t mtime_ms;
};

/* What an operation came to. Where one is refused, those before it say 0, and those behind it have
 * a code that says so. */
struct zkli_op_result {
    int code;                     /* the client library's; 0: done, unless another was refused */
    const char *path;             /* create: the path made; NULL: none was */
    const struct zkli_stat *stat; /* set: as it is afterwards; NULL: not done */
};

/*
 * Whether the servers can be asked for this, with a chroot of so many bytes before each path.
 * ZKL_OK: and *ret_bytes is its length as sent. ZKL_INVALID: a path, or data. ZKL_LIMIT: too many
 * operations or bytes.
 */
zkl_err zkli_multi_check(const struct zkli_op *ops, size_t count, size_t chroot_length,
                         size_t *ret_bytes);

#endif
