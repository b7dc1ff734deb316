/* --watch on a terminal: the whole screen, drawn anew as often as something is read. */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include "cli/view.h"

/* Returns the exit status, or ends by the signal that ends it. To be called before any thread is
 * started. */
int cli_live(const cli_options *options, cli_view_fn look);

#endif
