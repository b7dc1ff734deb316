/*
 * ask - the mark that asks the owner of one node to let go; it hears of it by its own watch.
 */
#ifndef ZKLI_LOCK_ASK_H
#define ZKLI_LOCK_ASK_H

#include "lock/change.h"

struct zkli_asking {
    struct zkli_change change; /* .operation runs until it is marked, or is not to be */
    bool is_there;             /* its node, and it may be asked */
};

/* With the lock. path: the node's; it lives as long. */
void zkli_asking_begin(struct zkli_asking *asking, struct zkl_session *s, const char *path,
                       int64_t until_ns);

#endif
