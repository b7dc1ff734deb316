/* A thread that looks when it is asked to, so that nothing else waits for servers. */
#ifndef CLI_READER_H
#define CLI_READER_H

#include "cli/view.h"

#include <stdbool.h>
#include <zklock.h>

typedef struct cli_reader cli_reader;

/* Borrows all of these. wake_fd, an eventfd, can be read when a look has ended. NULL when there can
 * be no thread. */
cli_reader *cli_reader_start(zkl_session *session, const cli_options *options, cli_view_fn look,
                             int wake_fd);

/* Asks for a look; not while there is one under way, or one that was not taken. */
void cli_reader_ask(cli_reader *reader);

/* Takes the look that has ended: its view is the caller's to free. False: there is none. */
bool cli_reader_take(cli_reader *reader, cli_view *ret_view, zkl_err *ret_err);

/* Waits for the look that is under way. NULL is accepted. */
void cli_reader_end(cli_reader *reader);

#endif
