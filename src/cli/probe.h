/*
 * What one address of a server says of itself, to four-letter words and to a client that asks for a
 * session. The sockets are our own, and every wait has a limit, whatever the server does or sends.
 */
#ifndef CLI_PROBE_H
#define CLI_PROBE_H

#include "cli/servers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_PROBE_LIMIT_MS 8000  /* of all of it */
#define CLI_ANSWER_LIMIT_MS 3000 /* of a connection and one answer */

typedef enum cli_answer {
    CLI_ANSWER_NONE,        /* not asked */
    CLI_ANSWER_UNREACHABLE, /* no connection; error says why, 0: not in time */
    CLI_ANSWER_SILENT,      /* a connection, and nothing in time */
    CLI_ANSWER_CLOSED,      /* it closed the connection */
    CLI_ANSWER_REFUSED,     /* a word that is not in its whitelist */
    CLI_ANSWER_IDLE,        /* it says that it does not serve */
    CLI_ANSWER_STRANGE,     /* none of ZooKeeper's */
    CLI_ANSWER_GIVEN
} cli_answer;

/* -1 or 0 or "": not known. */
typedef struct cli_probe {
    const cli_address *address; /* borrowed */
    int64_t deadline_ms;
    cli_answer srvr, conf, cons, session;
    int error; /* the errno of a connection that failed */
    char version[64];
    char mode[32];
    int64_t zxid; /* -1: not known */
    int tick_ms;
    int connections_max; /* maxClientCnxns; 0: no limit, -1: not known */
    size_t members;      /* servers of its configuration, without observers */
    size_t connections;  /* of our address, without the one that asked; of cons */
    int session_min_ms;  /* what it grants who asks for 1 ms, and for as much as can be */
    int session_max_ms;
} cli_probe;

/* Asks all addresses beside each other. probes has room for them. False: no thread. */
bool cli_probe_all(cli_probe *probes, const cli_servers *servers);

/* Asks for the zxid once more; -1: not known. */
int64_t cli_probe_zxid(const cli_address *address, int64_t deadline_ms);

#endif
