/* zk_log - whose log lines those of ZooKeeper's client library are. */
#ifndef ZKLI_ZK_LOG_H
#define ZKLI_ZK_LOG_H

#include <stdatomic.h>

#include "zklock.h"

/* One session's. */
struct zkli_log {
    void (*line)(void *arg, zkl_log_level level, const char *text); /* any thread */
    void *arg;
    atomic_int *last_errno;                /* of the last line at ERROR that names one */
    void (*callback)(const char *message); /* from take: for the client library */
    int slot;
};

void zkli_log_take(struct zkli_log *log);
/* When the client library has ended. */
void zkli_log_give_back(const struct zkli_log *log);

#endif
