/* subcommands - see subcommands.h. */
#include "cli/subcommands.h"

#include <string.h>
#include <zklock.h>

static const char NoName[] = "the lock's NAME is missing";
static const char NoPath[] = "the node's PATH is missing";

static const cli_operands All[CLI_SUBCOMMANDS] = {
    [CLI_NONE] = {.name = ""},
    [CLI_RUN] = {"run", 1, ZKL_ALL_MAX, NoName, .has_command = true, .needs_servers = true},
    [CLI_LS] = {"ls", 0, 1, NULL, .needs_servers = true},
    [CLI_SHOW] = {"show", 1, 1, NoName, .needs_servers = true},
    [CLI_HELD] = {"held", 1, 1, NoName, .needs_servers = true},
    [CLI_ASK] = {"ask", 1, 1, NoName, .needs_servers = true},
    [CLI_BREAK] = {"break", 1, 2, NoName, .needs_servers = true},
    [CLI_END] = {"end", 1, 1, "the ticket's FILE is missing", .needs_servers = true},
    [CLI_DEADLOCKS] = {"deadlocks", 0, 1, NULL, .needs_servers = true},
    [CLI_CONFIG] = {.name = "config"},
    [CLI_SET] = {"set", 1, 2, NoPath, .needs_servers = true},
    [CLI_GET] = {"get", 1, 1, NoPath, .needs_servers = true},
    [CLI_FENCE] = {"fence", 1, 1, "the fence's FILE is missing", .has_command = true,
                   .has_no_settings = true},
    [CLI_DOCTOR] = {"doctor", 0, 0, NULL, .needs_servers = true},
    [CLI_BENCH] = {"bench", 0, 1, NULL, .needs_servers = true},
};

const cli_operands *cli_subcommand_operands(cli_subcommand subcommand) {
    return &All[subcommand];
}

const char *cli_subcommand_name(cli_subcommand subcommand) {
    return All[subcommand].name;
}

cli_subcommand cli_subcommand_find(const char *word) {
    for (int i = CLI_NONE + 1; i < CLI_SUBCOMMANDS; i++)
        if (strcmp(word, All[i].name) == 0)
            return (cli_subcommand)i;
    return CLI_NONE;
}
