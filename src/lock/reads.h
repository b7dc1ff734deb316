/*
 * reads - the reads of one call on a session: pipelined, and all of them within one deadline.
 *
 * The thread that delivers a reply copies it in one piece, with the session's lock. Everything else
 * is done by the calling thread without the lock, so that a queue of thousands delays no heartbeat.
 */
#ifndef ZKLI_LOCK_READS_H
#define ZKLI_LOCK_READS_H

#include "session/operation.h"

/* Under way at a time: nearly the whole window; in a session that holds something or waits, a
 * quarter of it, so that acquires pass. */
#define ZKLI_READS_AT_ONCE 250
#define ZKLI_READS_BESIDE_LOCKS (ZKLI_WINDOW / 4)

struct zkli_reads;
struct zkli_answer;

struct zkli_read {
    struct zkli_query query;
    struct zkli_list link; /* in .answered, or in a list of the calling thread */
    struct zkli_reads *reads;
    size_t index; /* the caller's, of what is read */
    bool is_of_chroot;
    bool has_no_memory;         /* for the copy of its reply */
    struct zkli_answer *answer; /* that copy; NULL: no reply will come */
    char *path;                 /* NULL: a free slot */
};

struct zkli_reads {
    struct zkli_operation operation;
    struct zkli_list answered; /* with the lock: what the calling thread has not looked at */
    zkl_err lost_error;        /* of a read without a reply */
    struct zkli_read *slots;
    size_t in_use, limit; /* of them */
    bool has_looked_at_chroot;
    bool takes_denials; /* else the first denial ends the call */
    /* The caller's functions, called on the calling thread without the lock. next returns the path
     * of a further read, in new memory that goes over, and sets .index and .query.kind. NULL: there
     * is none as yet, or no memory, which *ret_err says. got takes a reply that is OK or NO_NODE,
     * or DENIED with .takes_denials. An error from it ends the call. Of data too long for a
     * contender's, got sees the beginning. */
    char *(*next)(struct zkli_reads *reads, struct zkli_read *ret_read, zkl_err *ret_err);
    zkl_err (*got)(struct zkli_reads *reads, const struct zkli_read *read,
                   const struct zkli_reply *reply);
};

/* Reads until there is nothing more to read, on a public call's behalf: within the session's
 * connect_timeout_ms. ZKL_OK, FORKED, IN_CALLBACK, CLOSED, UNREACHABLE, AUTH_FAILED, DENIED,
 * SERVER, NOMEM, NO_CHROOT, or what .got said. */
zkl_err zkli_reads_run(struct zkli_reads *reads, struct zkl_session *s);

#endif
