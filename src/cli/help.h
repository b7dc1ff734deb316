/* The texts of --help and --version, on standard output. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/options.h"

void cli_help_print(cli_subcommand subcommand);
void cli_version_print(void);

#endif
