/* The command's entry: what must come before anything else, then the subcommand. */
#include "cli/commands.h"
#include "cli/descriptors.h"
#include "cli/exit_status.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "cli/signals.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int call(const cli_options *options, const cli_descriptors *inherited) {
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
    case CLI_CONFIG:
        return cli_config(options);
    case CLI_SET:
        return cli_set(options);
    case CLI_GET:
        return cli_get(options);
    case CLI_FENCE:
        return cli_fence(options);
    case CLI_DOCTOR:
        return cli_doctor(options);
    case CLI_BENCH:
        return cli_bench(options);
    case CLI_NONE:
    case CLI_SUBCOMMANDS:
        break;
    }
    return CLI_EXIT_INTERNAL;
}

static int obey(cli_options *options, const cli_descriptors *inherited) {
    cli_message_verbosity(options->verbosity);
    if (options->is_help) {
        cli_help_print(options->subcommand);
        return CLI_EXIT_OK;
    }
    if (options->is_version) {
        cli_version_print();
        return CLI_EXIT_OK;
    }
    bool has_settings = !cli_subcommand_operands(options->subcommand)->has_no_settings;
    int status = has_settings ? cli_settings_complete(options) : CLI_EXIT_OK;
    if (status == CLI_EXIT_OK && !cli_options_have_servers(options))
        status = CLI_EXIT_USAGE;
    return status == CLI_EXIT_OK ? call(options, inherited) : status;
}

/* Of a pipe. errno may be that of something else by now. */
static bool has_no_reader(void) {
    struct pollfd output = {.fd = STDOUT_FILENO};
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

/* Output that did not arrive is a failure, whatever else went well; but run and fence have their
 * command's status. */
static int close_output(int status, cli_subcommand subcommand) {
    bool may_change = status == CLI_EXIT_OK || !cli_subcommand_operands(subcommand)->has_command;
    if ((fflush(stdout) != 0 || ferror(stdout)) && may_change) {
        if (has_no_reader())
            cli_signals_end_by_pipe();
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
        subcommand = options.subcommand;
        status = obey(&options, &inherited);
    }
    status = close_output(status, subcommand);
    cli_message_finish();
    cli_descriptors_free(&inherited);
    return status;
}
