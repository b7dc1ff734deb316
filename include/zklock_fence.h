/*
 * zklock_fence.h - fences, for what a lock protects: zklock.h includes it.
 *
 * A fence stands before what a lock protects. It remembers, for each lock's name, the highest token
 * that it has been shown. A client that comes with a lower token held the lock once, and does not
 * know yet that its hold is over. The fence refuses it. A fence needs no session and talks to no
 * server.
 *
 * Two rules make it tight. It is not tight without them:
 *
 * 1. A holder shows its token before it READS what it is going to change, not only before it
 *    writes. Otherwise an earlier holder may wake up in between and still write. Then what the
 *    later holder has read is out of date.
 *
 * 2. The check and the write must not come apart. After a plain zkl_fence_check the writer can be
 *    stopped before it writes, while a later holder comes and goes. So write between
 *    zkl_fence_begin and zkl_fence_end. Or call zkl_fence_check where the resource lets in one
 *    thread at a time for check and write together. That is the server thread that owns it, under
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
 * A fence in memory serves the threads of one process and forgets with it. A fence in a file serves
 * all processes of one user on one machine that open the file. It survives the death of a process
 * and a power failure at any moment: a higher token is on the disk before it is let in. The fence
 * lets in nothing that it cannot prove. With a full disk or a damaged file it answers ZKL_IO or
 * ZKL_CORRUPT, never ZKL_OK. Putting back an old copy of the file, or deleting it, forgets tokens.
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
 * Opens a fence. file is copied; NULL means in memory. opts may be NULL. The fence is the caller's:
 * free it with zkl_fence_close.
 *
 * The file must be on a local file system. It must be no symbolic link, have this name only, and
 * not be mounted by itself. A full file is replaced, by way of <file>.new, by one without outdated
 * tokens, and another name would keep the old one. Its directory must exist and be writable. Only
 * this user can read and write a file that is made here. A process should open a file once. Two
 * fences of one file wait for each other, and in one thread they wait for ever.
 * **Returns:**
 * ZKL_OK.
 * ZKL_INVALID: a NULL, an empty or too long file, one that ends in .new, an unknown option.
 * ZKL_IO: the file or its directory cannot be opened, read, written or locked. Or the file has
 * another name.
 * ZKL_CORRUPT: the file is not a fence's, or is damaged.
 * ZKL_NOMEM.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_fence_open(zkl_fence **ret_fence, const char *file,
                                            const zkl_fence_options *opts);
/* Closes the fence and frees it. No thread may be between begin and end. NULL is accepted.
 * **Returns:** ZKL_OK; ZKL_FORKED. */
ZKL_API zkl_err zkl_fence_close(zkl_fence *f);

/*
 * Lets the token in, and remembers it, if no higher one has been shown for that name. The token is
 * the holder's zkl_token, however it came here. The same token may come any number of times. In
 * memory this makes no system call. In a file it writes only if the token is new. It waits while
 * another thread or process is between begin and end.
 *
 * Any name is valid that zkl_lock_open would accept. The fence keeps one token for each name. Pass
 * the lock's name, so that tokens of different locks do not mix.
 * **Returns:**
 * ZKL_OK: no higher token has been let in, and this one will not be forgotten.
 * ZKL_STALE: a higher one has been shown. The caller's hold is over: stop the guarded work.
 * ZKL_IO: the file cannot be read or written, or it has been deleted. The token may have been
 * remembered, but has not been let in. A later call may succeed.
 * ZKL_CORRUPT: the file is damaged, or an old copy has been put in its place.
 * ZKL_INVALID: a NULL, a bad name, or a token that is not positive.
 * ZKL_DEADLOCK: the calling thread is between begin and end.
 * ZKL_LIMIT: more than 65536 names in one fence.
 * ZKL_NOMEM; ZKL_FORKED.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_fence_check(zkl_fence *f, const char *name, int64_t token);

/*
 * Checks as zkl_fence_check does. After ZKL_OK no other thread passes this fence, in any process,
 * until the calling thread calls zkl_fence_end. So what is written in between is written before any
 * later holder is let in. Keep it short: while the process is stopped, the others wait.
 *
 * If the process dies, the others go on. There is one exception: a child that was forked in between
 * and has not called exec. Then they go on when that child ends.
 * **Returns:** as zkl_fence_check.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_fence_begin(zkl_fence *f, const char *name, int64_t token);
/* Ends what zkl_fence_begin began.
 * **Returns:** ZKL_OK; ZKL_INVALID; ZKL_FORKED.
 * ZKL_NOT_HELD: the calling thread is not between begin and end. */
ZKL_API zkl_err zkl_fence_end(zkl_fence *f);

#ifdef __cplusplus
}
#endif

#endif /* ZKLOCK_FENCE_H */
