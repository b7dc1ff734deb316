/* The subcommands. Each returns the exit status. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/descriptors.h"
#include "cli/options.h"

/* inherited: the descriptors that were open before any of ours; borrowed. */
int cli_run(const cli_options *options, const cli_descriptors *inherited);
int cli_ls(const cli_options *options);
int cli_show(const cli_options *options);
int cli_held(const cli_options *options);
int cli_ask(const cli_options *options);
int cli_break(const cli_options *options);
int cli_end(const cli_options *options);
int cli_deadlocks(const cli_options *options);
int cli_config(const cli_options *options);
int cli_set(const cli_options *options);
int cli_get(const cli_options *options);
int cli_fence(const cli_options *options);
int cli_doctor(const cli_options *options);
int cli_bench(const cli_options *options);

#endif
