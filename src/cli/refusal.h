/* Why run did not get its locks, as a message and an exit status. */
#ifndef CLI_REFUSAL_H
#define CLI_REFUSAL_H

#include "cli/holds.h"
#include "cli/options.h"
#include "cli/waiting.h"

#include <zklock.h>

/* err is what cli_holds_acquire returned. May read queues on the servers, to name the lock that err
 * is about. Returns the exit status. */
int cli_refusal_explain(const cli_options *options, const cli_holds *holds, zkl_session *session,
                        cli_waiting *waiting, zkl_err err);

#endif
