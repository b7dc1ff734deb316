/* --watch: one view after the other, for as long as it is wanted. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/view.h"

/*
 * On a terminal the views take the screen, else they follow each other. Without servers it goes on
 * when they are back. The exit status; as a rule a signal ends it. To be called before any thread
 * is started.
 */
int cli_watch(const cli_options *options, cli_view_fn look);

#endif
