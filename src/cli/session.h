/* Opens the session that the options ask for, and says in one line why it could not. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/options.h"

#include <zklock.h>

#define CLI_CONNECT_TIMEOUT_MS 10000

/*
 * Options beyond the command line's: how long to wait for a server, and who hears of
 * events. Returns an exit status; CLI_EXIT_OK: *ret_session
 * is the caller's to close.
 */
typedef struct cli_session_request {
    int connect_timeout_ms;
    zkl_event_fn on_event;
    void *arg; /* handed to on_event */
} cli_session_request;

int cli_session_open(zkl_session **ret_session, const cli_options *options,
                     const cli_session_request *request);

/* For a few calls that hold nothing. */
int cli_session_open_to_look(zkl_session **ret_session, const cli_options *options);

/* Says that the list of servers is none, and where it stands; the exit status. */
int cli_session_refuse_hosts(const cli_options *options);

/* Says what came of a call about the lock, or the prefix, of the options; the exit status. */
int cli_session_explain(const cli_options *options, zkl_err err);

/* The name of the file of credentials, for a message. Where there is no such file and the name may
 * be the credentials themselves, they are not shown. */
const char *cli_auth_file_shown(const cli_options *o);

#endif
