/* The command's entry: what must come before anything else, then the subcommand. */
#include "cli/commands.h"
#include "cli/descriptors.h"
#include "cli/exit_status.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/options.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

static int dispatch(const cli_options *options, const cli_descriptors *inherited) {
    switch (options->subcommand) {
    case CLI_RUN:
        return cli_run(options, inherited);
    case CLI_LS:
        return cli_ls(options);
    case CLI_SHOW:
        return cli_show(options);
    case CLI_HELD:
        return cli_held(options);
    case CLI_ASK:
        return cli_ask(options);
    case CLI_BREAK:
        return cli_break(options);
    case CLI_END:
        return cli_end(options);
    case CLI_DEADLOCKS:
        return cli_deadlocks(options);
    case CLI_NONE:
        break;
    }
    return CLI_EXIT_INTERNAL;
}

/* Output that did not arrive is a failure, whatever else went well; but run has its command's
 * status. */
static int close_output(int status, cli_subcommand subcommand) {
    bool may_change = status == CLI_EXIT_OK || subcommand != CLI_RUN;
    if ((fflush(stdout) != 0 || ferror(stdout)) && may_change) {
        cli_message("cannot write to standard output: %s", strerror(errno));
        return CLI_EXIT_INTERNAL;
    }
    return status;
}

int main(int argc, char **argv) {
    cli_descriptors inherited;
    cli_options options;
    if (!cli_descriptors_record(&inherited)) {
        cli_message("cannot find out which descriptors are open: %s", strerror(errno));
        return CLI_EXIT_INTERNAL;
    }
    (void)setlocale(LC_CTYPE, ""); /* what cannot be set leaves ASCII, which is safe */
    int status = CLI_EXIT_USAGE;
    cli_subcommand subcommand = CLI_NONE;
    if (cli_options_parse(&options, argc, argv)) {
        cli_message_verbose(options.is_verbose);
        status = CLI_EXIT_OK;
        subcommand = options.subcommand;
        if (options.is_help)
            cli_help_print(options.subcommand);
        else if (options.is_version)
            cli_version_print();
        else
            status = dispatch(&options, &inherited);
    }
    status = close_output(status, subcommand);
    cli_message_finish();
    cli_descriptors_free(&inherited);
    return status;
}
