/* zk_end - ends a session that another process has opened, by its id and password. */
#ifndef ZKLI_ZK_ZK_END_H
#define ZKLI_ZK_ZK_END_H

#include <stdint.h>

#include "zklock.h"

struct zkli_credentials {
    int64_t id;
    char password[16];
    int timeout_ms; /* as the servers granted it: they are not to be asked for another */
};

/*
 * Until it is over, or until this time on CLOCK_MONOTONIC. hosts is complete and valid. Blocks: it
 * looks names up, and closes connections. A close takes up to 4.5 s where a server stands still: 3
 * to send what is left, 1.5 for the threads (zookeeper_close of the client library).
 *
 * OK: it is over, by this call. CLOSED: there was no such session. UNREACHABLE: nothing has been
 * asked for. UNSURE: its end has been asked for, or may have been. NOMEM.
 */
zkl_err zkli_end_session(const char *hosts, const struct zkli_credentials *session,
                         int64_t until_ns);

#endif
