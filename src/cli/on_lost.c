/* on_lost - see on_lost.h. */
#include "cli/on_lost.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *word;
    int signal;
} Table[] = {[CLI_ON_LOST_KILL] = {"kill", SIGKILL},
             [CLI_ON_LOST_TERM] = {"term", SIGTERM},
             [CLI_ON_LOST_IGNORE] = {"ignore", 0}};

bool cli_on_lost_find(const char *word, cli_on_lost *ret_on_lost) {
    for (size_t i = 0; i < sizeof(Table) / sizeof(Table[0]); i++)
        if (strcmp(word, Table[i].word) == 0) {
            *ret_on_lost = (cli_on_lost)i;
            return true;
        }
    return false;
}

int cli_on_lost_signal(cli_on_lost on_lost) {
    return Table[on_lost].signal;
}
