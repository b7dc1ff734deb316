/* What becomes of CMD when its hold cannot be kept: --on-lost. */
#ifndef CLI_ON_LOST_H
#define CLI_ON_LOST_H

#include <stdbool.h>

typedef enum cli_on_lost {
    CLI_ON_LOST_KILL,  /* SIGTERM, and SIGKILL before the hold stops being certain */
    CLI_ON_LOST_TERM,  /* SIGTERM only: CMD may run on beside the next holder */
    CLI_ON_LOST_IGNORE /* CMD runs on */
} cli_on_lost;

/* False: there is no such word. */
bool cli_on_lost_find(const char *word, cli_on_lost *ret_on_lost);

/* The signal that ends CMD when no process is there to watch it; 0: none. */
int cli_on_lost_signal(cli_on_lost on_lost);

#endif
