/*
 * Parses the command line: common options before the subcommand, all options after it, and for
 * run and fence everything after the first "--" is CMD, untouched.
 */
#include "cli/options.h"

#include "cli/exit_status.h"
#include "cli/message.h"
#include "cli/nearest.h"
#include "cli/option_list.h"

#include <getopt.h>
#include <string.h>
#include <zklock.h>

zkl_kind cli_options_kind(const cli_options *options) {
    return options->permits > 0 ? ZKL_SEMAPHORE : options->is_shared ? ZKL_READ : ZKL_MUTEX;
}

/* The second of two equal strings in argv[0..count), or NULL. */
static const char *find_repeated(size_t count, char **argv) {
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(argv[i], argv[j]) == 0)
                return argv[i];
    return NULL;
}

/* The locks of run, argv[0..count). */
static bool take_names(cli_options *o, size_t count, char **argv) {
    if (count > 1 && !o->is_all)
        return cli_option_list_refuse(
            o, "more than one NAME before -- needs --all: unexpected argument", argv[1]);
    if (count > ZKL_ALL_MAX) {
        cli_message("--all takes at most %d NAMEs, not %zu (see 'zklock run --help')", ZKL_ALL_MAX,
                    count);
        return false;
    }
    const char *repeated = find_repeated(count, argv);
    if (repeated != NULL)
        return cli_option_list_refuse(o, "--all takes each NAME once: given twice is", repeated);
    o->names = argv;
    o->name_count = count;
    return true;
}

/* Operands of the subcommand, argv[0..count). */
static bool take_operands(cli_options *o, int count, char **argv) {
    const cli_operands *operands = cli_subcommand_operands(o->subcommand);
    if (count < operands->least)
        return cli_option_list_refuse(o, operands->missing, "");
    if (o->subcommand == CLI_RUN)
        return take_names(o, (size_t)count, argv);
    if (count > operands->most)
        return cli_option_list_refuse(o, "unexpected argument", argv[operands->most]);
    o->node = count > 1 ? argv[1] : NULL;
    o->name = count == 0 ? NULL : argv[0];
    return true;
}

/* Index of the first "--" from argv[1] on, or argc. */
static int find_separator(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return i;
    return argc;
}

/* CMD, which begins at argv[0]; not beside that of -c. */
static bool take_command(cli_options *o, char **argv) {
    if (o->command != NULL && argv[0] != NULL)
        return cli_option_list_refuse(o, "-c is the command already: unexpected argument", argv[0]);
    if (o->command == NULL && argv[0] == NULL)
        return cli_option_list_refuse(o,
                                      o->subcommand == CLI_RUN
                                          ? "the command to run is missing: after the NAME and"
                                          : "the command to run is missing: after the FILE and",
                                      "--");
    o->command = o->command == NULL ? argv : o->command;
    return true;
}

/* All that is no option is a NAME. The command is that of -c, which has to come before them: behind
 * them it may be a shell's, whose name would be taken for a NAME. */
static bool parse_names(cli_options *o, int argc, char **argv) {
    if (o->command == NULL)
        return cli_option_list_refuse(o, "with --all, '--' before the command to run is missing",
                                      "");
    return cli_option_list_take(o, argc, argv, false) &&
           (o->is_help || o->is_version || take_operands(o, argc - optind, argv + optind));
}

/* NAME, or FILE, is the first operand and CMD begins with the second. */
static bool parse_without_separator(cli_options *o, int argc, char **argv) {
    if (!cli_option_list_take(o, argc, argv, true))
        return false;
    const int name = optind;
    if (o->is_help || o->is_version)
        return true;
    if (name == argc)
        return take_operands(o, 0, argv);
    if (o->is_all)
        return parse_names(o, argc, argv);
    if (!cli_option_list_take(o, argc - name, argv + name, true))
        return false;
    const int command = name + optind;
    return o->is_help || o->is_version ||
           (take_operands(o, 1, argv + name) &&
            ((o->subcommand == CLI_FENCE && command == argc) || take_command(o, argv + command)));
}

/* Of run and fence. */
static bool parse_with_command(cli_options *o, int argc, char **argv) {
    const int end = find_separator(argc, argv);
    if (end == argc)
        return parse_without_separator(o, argc, argv);
    return cli_option_list_take(o, end, argv, false) &&
           (o->is_help || o->is_version ||
            (take_operands(o, end - optind, argv + optind) && take_command(o, argv + end + 1)));
}

static bool go_together(const cli_options *o) {
    if (o->permits > 0 && (o->is_shared || o->is_exclusive))
        return cli_option_list_refuse(o, "--permits does not go with",
                                      o->is_shared ? "--shared" : "--exclusive");
    if (o->grace_ms >= 0 && o->on_lost == CLI_ON_LOST_IGNORE)
        return cli_option_list_refuse(o, "--grace does not go with", "--on-lost=ignore");
    if (o->creates && o->if_version >= 0)
        return cli_option_list_refuse(o, "--if-version does not go with", "--create");
    if (o->is_names && o->is_json)
        return cli_option_list_refuse(o, "--names does not go with", "--json");
    if (o->is_names && o->sort == CLI_SORT_WAIT)
        return cli_option_list_refuse(o, "--names does not go with", "--sort wait");
    if (o->is_prometheus && (o->is_json || o->is_names || o->is_watch))
        return cli_option_list_refuse(o, "--prometheus does not go with",
                                      o->is_json    ? "--json"
                                      : o->is_names ? "--names"
                                                    : "--watch");
    if (o->interval_ms > 0 && !o->is_watch)
        return cli_option_list_refuse(o, "--interval is of no use without", "--watch");
    return true;
}

/* argv[0] is the subcommand's name. */
static bool parse_subcommand(cli_options *o, int argc, char **argv) {
    const bool has_command = cli_subcommand_operands(o->subcommand)->has_command;
    const bool is_parsed = has_command ? parse_with_command(o, argc, argv)
                                       : cli_option_list_take(o, argc, argv, false);
    if (!is_parsed || o->is_help || o->is_version)
        return is_parsed;
    if (!cli_option_list_fits(o))
        return false;
    if (!go_together(o))
        return false;
    return has_command || take_operands(o, argc - optind, argv + optind);
}

bool cli_options_have_servers(const cli_options *options) {
    const cli_options *o = options;
    if (!cli_subcommand_operands(o->subcommand)->needs_servers)
        return true;
    if (o->hosts == NULL)
        return cli_option_list_refuse(o, "no servers: give --hosts HOST,... or set ZKLOCK_HOSTS",
                                      "");
    return *o->hosts != '\0' ||
           cli_option_list_refuse(o, "no servers: --hosts or ZKLOCK_HOSTS is empty", "");
}

static bool refuse_subcommand(const cli_options *o, const char *word) {
    cli_nearest nearest = cli_nearest_to(word);
    for (int i = CLI_NONE + 1; i < CLI_SUBCOMMANDS; i++)
        cli_nearest_offer(&nearest, cli_subcommand_name((cli_subcommand)i));
    return cli_option_list_refuse_unknown(o, "unknown subcommand", word, nearest.word);
}

bool cli_options_parse(cli_options *ret_options, int argc, char **argv) {
    cli_options o = {.wait_ms = ZKL_FOREVER,
                     .grace_ms = -1,
                     .if_version = -1,
                     .conflict_status = CLI_EXIT_NOT_ACQUIRED,
                     .count = CLI_COUNT_DEFAULT};
    if (!cli_option_list_take(&o, argc, argv, true))
        return false;
    if (!o.is_help && !o.is_version) {
        if (optind >= argc)
            return cli_option_list_refuse(&o, "a subcommand is missing, such as run, ls or show",
                                          "");
        const int first = optind;
        o.subcommand = cli_subcommand_find(argv[first]);
        if (o.subcommand == CLI_NONE)
            return refuse_subcommand(&o, argv[first]);
        if (!parse_subcommand(&o, argc - first, argv + first))
            return false;
    }
    *ret_options = o;
    return true;
}
