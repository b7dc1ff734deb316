/* The subcommands, and what stands behind each on the command line. */
#ifndef CLI_SUBCOMMANDS_H
#define CLI_SUBCOMMANDS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum cli_subcommand {
    CLI_NONE = 0, /* only with --help or --version */
    CLI_RUN,
    CLI_LS,
    CLI_SHOW,
    CLI_HELD,
    CLI_ASK,
    CLI_BREAK,
    CLI_END,
    CLI_DEADLOCKS,
    CLI_CONFIG,
    CLI_SET,
    CLI_GET,
    CLI_FENCE,
    CLI_DOCTOR,
    CLI_BENCH,
    CLI_SUBCOMMANDS /* how many there are */
} cli_subcommand;

typedef struct cli_operands {
    const char *name;    /* of the subcommand, as it is typed */
    int least, most;     /* operands; run: the NAMEs */
    const char *missing; /* what to say of too few */
    bool has_command; /* CMD follows, after "--" or instead of the second operand; of fence it may
                            be missing */
    bool needs_servers;
    bool has_no_settings; /* which are not looked for */
} cli_operands;

/* Never NULL. Of CLI_NONE the name is "". */
const cli_operands *cli_subcommand_operands(cli_subcommand subcommand);

/* As it is typed; "" for CLI_NONE. */
const char *cli_subcommand_name(cli_subcommand subcommand);

/* CLI_NONE: there is none of that name. */
cli_subcommand cli_subcommand_find(const char *word);

#endif
