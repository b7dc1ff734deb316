/* result - what a request came to, in the few words the core distinguishes. */
#ifndef ZKLI_CORE_RESULT_H
#define ZKLI_CORE_RESULT_H

enum zkli_result {
    ZKLI_RESULT_OK,
    ZKLI_RESULT_NO_NODE,
    ZKLI_RESULT_EXISTS,
    ZKLI_RESULT_DENIED,      /* permissions */
    ZKLI_RESULT_LOST,        /* no reply: it is not known whether it was done */
    ZKLI_RESULT_AGAIN,       /* the server has not done it and may do so later */
    ZKLI_RESULT_NOMEM,       /* we ran out of memory with the reply in hand; a write was done */
    ZKLI_RESULT_ERROR,       /* the server has not done it and will not */
    ZKLI_RESULT_BAD_VERSION, /* of a set or a check: the node is there, and has another version */
    ZKLI_RESULT_UNDONE       /* in a transaction: another part of it was refused */
};

#endif
