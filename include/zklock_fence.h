/*
 * zklock_fence.h - fences, for what a lock protects: zklock.h includes it.
 *
 * A fence stands before what a lock protects and remembers, for each lock's name, the highest token
 * it has been shown. Whoever comes with a lower one held the lock once and does not know yet that
 * it is over: it is refused. A fence needs no session and talks to no server.
 *
 * Two rules make it tight, and it is not without them:
 *
 * 1. A holder shows its token before it READS what it is going to change, not only before it
 *    writes. Otherwise an earlier holder that wakes up in between may still write, and what the
 *    later one has read is old.
 * 2. The check and the write must not come apart. Between a plain zkl_fence_check and the write
 *    there is a moment in which the writer can be stopped while a later holder comes and goes. So
 *    write between zkl_fence_begin and zkl_fence_end, or call zkl_fence_check where the resource
 *    lets in one at a time for check and write together: in the server thread that owns it, under
 *    its own mutex.
 *
 *     if (zkl_acquire(l, 5000) == ZKL_OK) {
 *         int64_t token = zkl_token(l);
 *         if (zkl_fence_check(f, "billing", token) == ZKL_OK) {
 *             read_and_think();
 *             if (zkl_fence_begin(f, "billing", token) == ZKL_OK) {
 *                 write_result();
 *                 zkl_fence_end(f);
 *             }
 *         }
 *         zkl_release(l);
 *     }
 *
 * In memory a fence serves the threads of one process and forgets with it. In a file it serves all
 * processes of one user on one machine that open the file, and survives the death of a process and
 * a power failure at any moment: a higher token is on the disk before it is let in. What it cannot
 * prove it does not let in: with a full disk or a damaged file it answers ZKL_IO or ZKL_CORRUPT,
 * never ZKL_OK. Putting back an old copy of the file, or deleting it, forgets tokens.
 */
#ifndef ZKLOCK_FENCE_H
#define ZKLOCK_FENCE_H

#include "zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zkl_fence zkl_fence;

/* All-zero means the defaults. */
typedef struct zkl_fence_options {
    size_t size;         /* sizeof(zkl_fence_options); ZKL_FENCE_OPTIONS sets it */
    bool must_exist;     /* a missing file is ZKL_IO; else it is made, and remembers nothing yet */
    uint8_t reserved[7]; /* must be zero */
} zkl_fence_options;

#define ZKL_FENCE_OPTIONS(...) ((zkl_fence_options){.size = sizeof(zkl_fence_options), __VA_ARGS__})

/*
 * Opens a fence. file: on a local file system, not a symbolic link, with this name only and not
 * mounted by itself, since a full file is replaced by one without outdated tokens, by way of
 * <file>.new, and another name would keep the old one; copied. Its directory must be there and be
 * writable. A file that is made can be read and written by this user only. NULL: in memory. opts
 * may be NULL. The fence is the caller's: zkl_fence_close. A process should open a file once: two
 * fences of one file wait for each other, in one thread for ever.
 * **Returns:**
 * ZKL_OK
 * ZKL_INVALID: a NULL, an empty or too long file, an unknown option.
 * ZKL_IO: the file or its directory cannot be opened, read, written or locked; or the file has
 * another name.
 * ZKL_CORRUPT: the file is not a fence's, or is damaged.
 * ZKL_NOMEM.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_fence_open(zkl_fence **ret_fence, const char *file,
                                            const zkl_fence_options *opts);
/* Closes and frees. No thread may be between begin and end. NULL is accepted.
 * **Returns:** ZKL_OK; ZKL_FORKED. */
ZKL_API zkl_err zkl_fence_close(zkl_fence *f);

/*
 * Lets the token in, and remembers it, if no higher one has been shown for that name. name: as for
 * zkl_lock_open. token: zkl_token of the holder, handed here in whatever way. The same token may
 * come as often as it likes. In memory this makes no system call; in a file it writes only if the
 * token is new. It waits while another thread or process is between begin and end.
 * **Returns:**
 * ZKL_OK: no higher token has been let in, and this one will not be forgotten.
 * ZKL_STALE: a higher one has been shown. The caller's hold is over: stop the guarded work.
 * ZKL_IO: the file cannot be read or written; or it has been deleted. The token may have been
 * remembered, but has not been let in; a later call may succeed.
 * ZKL_CORRUPT: the file is damaged, or an old copy has been put in its place.
 * ZKL_INVALID: a NULL, a bad name, or a token that is not positive.
 * ZKL_DEADLOCK: the calling thread is between begin and end.
 * ZKL_LIMIT: more than 65536 names in one fence.
 * ZKL_NOMEM; ZKL_FORKED.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_fence_check(zkl_fence *f, const char *name, int64_t token);

/*
 * The same, and with ZKL_OK nobody else passes this fence, in any process, until the calling thread
 * calls zkl_fence_end: what is written in between is written before any later holder is let in.
 * While the process is stopped, the others wait. If it dies, they go on; unless it has a child,
 * forked in between, that has not called exec: then they go on when that ends. Keep it short.
 * **Returns:** as zkl_fence_check.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_fence_begin(zkl_fence *f, const char *name, int64_t token);
/* **Returns:** ZKL_OK; ZKL_NOT_HELD: the calling thread is not between begin and end; ZKL_INVALID;
 * ZKL_FORKED. */
ZKL_API zkl_err zkl_fence_end(zkl_fence *f);

#ifdef __cplusplus
}
#endif

#endif /* ZKLOCK_FENCE_H */
