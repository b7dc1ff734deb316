/*
 * Parses the command line: common options before the subcommand, all options after it, and for
 * run everything after the first "--" is CMD, untouched.
 */
#include "cli/options.h"

#include "cli/exit_status.h"
#include "cli/message.h"
#include "cli/number.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zklock.h>

/* The library's own limits on a session timeout. */
#define SESSION_TIMEOUT_MIN_MS 100
#define SESSION_TIMEOUT_MAX_MS 3600000
#define STATUS_MAX 255
#define LETTERS ":hVvnqsxyc:w:E:"

enum {
    OPT_HOSTS = 256,
    OPT_ROOT,
    OPT_TIMEOUT,
    OPT_AUTH_FILE,
    OPT_LABEL,
    OPT_JSON,
    OPT_GRACE,
    OPT_PERMITS,
    OPT_SHOW_COMMAND,
    OPT_TICKET,
    OPT_ALL
};

/* -c: its text is the third. */
static char *Shell[] = {"/bin/sh", "-c", NULL, NULL};

static const struct option Long[] = {
    {"hosts", required_argument, NULL, OPT_HOSTS},
    {"root", required_argument, NULL, OPT_ROOT},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"auth-file", required_argument, NULL, OPT_AUTH_FILE},
    {"label", required_argument, NULL, OPT_LABEL},
    {"json", no_argument, NULL, OPT_JSON},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {"nonblock", no_argument, NULL, 'n'},
    {"wait", required_argument, NULL, 'w'},
    {"shared", no_argument, NULL, 's'},
    {"exclusive", no_argument, NULL, 'x'},
    {"command", required_argument, NULL, 'c'},
    {"quiet", no_argument, NULL, 'q'},
    {"yes", no_argument, NULL, 'y'},
    {"permits", required_argument, NULL, OPT_PERMITS},
    {"all", no_argument, NULL, OPT_ALL},
    {"show-command", no_argument, NULL, OPT_SHOW_COMMAND},
    {"ticket", required_argument, NULL, OPT_TICKET},
    {"conflict-exit-code", required_argument, NULL, 'E'},
    {"grace", required_argument, NULL, OPT_GRACE},
    {NULL, 0, NULL, 0},
};

const char *cli_subcommand_name(cli_subcommand subcommand) {
    switch (subcommand) {
    case CLI_RUN:
        return "run";
    case CLI_LS:
        return "ls";
    case CLI_SHOW:
        return "show";
    case CLI_HELD:
        return "held";
    case CLI_ASK:
        return "ask";
    case CLI_BREAK:
        return "break";
    case CLI_END:
        return "end";
    case CLI_DEADLOCKS:
        return "deadlocks";
    case CLI_NONE:
        break;
    }
    return "";
}

zkl_kind cli_options_kind(const cli_options *options) {
    return options->permits > 0 ? ZKL_SEMAPHORE : options->is_shared ? ZKL_READ : ZKL_MUTEX;
}

static cli_subcommand subcommand_of(const char *word) {
    static const cli_subcommand all[] = {CLI_RUN, CLI_LS,    CLI_SHOW, CLI_HELD,
                                         CLI_ASK, CLI_BREAK, CLI_END,  CLI_DEADLOCKS};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(word, cli_subcommand_name(all[i])) == 0)
            return all[i];
    return CLI_NONE;
}

/* Says what is wrong with which argument; always false, for the caller to return. */
static bool refuse(const cli_options *o, const char *what, const char *argument) {
    const char *space = o->subcommand == CLI_NONE ? "" : " ";
    cli_message("%s%s%s%s (see 'zklock%s%s --help')", what, *argument == '\0' ? "" : " '", argument,
                *argument == '\0' ? "" : "'", space, cli_subcommand_name(o->subcommand));
    return false;
}

/* Common options are known everywhere; --json before the subcommand is looked at again after it. */
static bool is_known_here(cli_subcommand subcommand, int code) {
    switch (code) {
    case 'w':
        return subcommand == CLI_RUN || subcommand == CLI_BREAK;
    case 'y':
        return subcommand == CLI_BREAK;
    case 'n':
    case 's':
    case 'x':
    case 'c':
    case 'q':
    case 'E':
    case OPT_GRACE:
    case OPT_PERMITS:
    case OPT_SHOW_COMMAND:
    case OPT_TICKET:
    case OPT_ALL:
        return subcommand == CLI_RUN;
    case OPT_JSON:
        return subcommand == CLI_NONE || subcommand == CLI_LS || subcommand == CLI_SHOW ||
               subcommand == CLI_DEADLOCKS;
    default:
        return true;
    }
}

static bool refuse_place(const cli_options *o, int code) {
    const char *name = "";
    for (const struct option *l = Long; l->name != NULL; l++)
        name = l->val == code ? l->name : name;
    if (o->subcommand == CLI_NONE) {
        const char *place = code == 'y' ? "break" : "run";
        cli_message("--%s belongs after '%s' (see 'zklock %s --help')", name, place, place);
    } else {
        const char *subcommand = cli_subcommand_name(o->subcommand);
        cli_message("%s has no option --%s (see 'zklock %s --help')", subcommand, name, subcommand);
    }
    return false;
}

static bool take_seconds(const cli_options *o, const char *option, int64_t *ret_ms) {
    if (!cli_number_seconds(optarg, ret_ms)) {
        cli_message("%s takes a number of seconds, not '%s' (see 'zklock %s --help')", option,
                    optarg, cli_subcommand_name(o->subcommand));
        return false;
    }
    return true;
}

static bool take_session_timeout(cli_options *o) {
    int64_t ms;
    if (!take_seconds(o, "--timeout", &ms))
        return false;
    if (ms < SESSION_TIMEOUT_MIN_MS || ms > SESSION_TIMEOUT_MAX_MS)
        return refuse(o, "--timeout must be from 0.1 to 3600 seconds, not", optarg);
    o->session_timeout_ms = (int)ms;
    return true;
}

static bool take_permits(cli_options *o) {
    int permits;
    if (!cli_number_whole(optarg, INT_MAX, &permits) || permits == 0)
        return refuse(o, "--permits takes a whole number from 1, not", optarg);
    o->permits = permits;
    return true;
}

/* -n and -w say the same thing, and so do -s and -x; of several the last one counts, as with
 * flock(1). */
static bool take_run_option(cli_options *o, int code) {
    switch (code) {
    case 'n':
        o->wait_ms = 0;
        return true;
    case 'w':
        return take_seconds(o, "-w", &o->wait_ms);
    case 's':
    case 'x':
        o->is_shared = code == 's';
        return true;
    case 'c':
        Shell[2] = optarg;
        o->command = Shell;
        return true;
    case 'q':
        o->is_quiet = true;
        return true;
    case 'y':
        o->is_yes = true;
        return true;
    case OPT_ALL:
        o->is_all = true;
        return true;
    case OPT_SHOW_COMMAND:
        o->shows_command = true;
        return true;
    case OPT_TICKET:
        o->ticket = optarg;
        return true;
    case OPT_GRACE:
        return take_seconds(o, "--grace", &o->grace_ms);
    case OPT_PERMITS:
        return take_permits(o);
    default:
        return cli_number_whole(optarg, STATUS_MAX, &o->conflict_status) ||
               refuse(o, "-E takes an exit status from 0 to 255, not", optarg);
    }
}

static bool take_option(cli_options *o, int code) {
    switch (code) {
    case OPT_HOSTS:
        o->hosts = optarg;
        return true;
    case OPT_ROOT:
        o->root = optarg;
        return true;
    case OPT_TIMEOUT:
        return take_session_timeout(o);
    case OPT_AUTH_FILE:
        o->auth_file = optarg;
        return true;
    case OPT_LABEL:
        o->label = optarg;
        return true;
    case OPT_JSON:
        o->is_json = true;
        return true;
    case 'v':
        o->is_verbose = true;
        return true;
    case 'h':
        o->is_help = true;
        return true;
    case 'V':
        o->is_version = true;
        return true;
    default:
        return take_run_option(o, code);
    }
}

/* getopt says '?' for an unknown option and for one with a value too many, ':' for one too few. */
static bool refuse_option(const cli_options *o, int code, char **argv) {
    const char *typed = argv[optind - 1];
    if (code == ':')
        return refuse(o, "a value is missing after", typed);
    if (optopt >= 256)
        return refuse(o, "an option that takes no value:", typed);
    char letter[] = {'-', (char)optopt, '\0'};
    return refuse(o, "unknown option", optopt == 0 ? typed : letter);
}

/* Takes the options of argv[1..argc), leaves optind at the first operand. */
static bool parse_part(cli_options *o, int argc, char **argv, const char *letters) {
    int code;
    optind = 0; /* glibc's way to begin anew with another argv */
    opterr = 0;
    while ((code = getopt_long(argc, argv, letters, Long, NULL)) != -1) {
        if (code == '?' || code == ':')
            return refuse_option(o, code, argv);
        if (!is_known_here(o->subcommand, code))
            return refuse_place(o, code);
        if (!take_option(o, code))
            return false;
    }
    return true;
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
        return refuse(o, "more than one NAME needs --all: unexpected argument", argv[1]);
    if (count > ZKL_ALL_MAX) {
        cli_message("--all takes at most %d NAMEs, not %zu (see 'zklock run --help')", ZKL_ALL_MAX,
                    count);
        return false;
    }
    const char *repeated = find_repeated(count, argv);
    if (repeated != NULL)
        return refuse(o, "--all takes each NAME once: given twice is", repeated);
    o->names = argv;
    o->name_count = count;
    return true;
}

/* Operands of the subcommand, argv[0..count). */
static bool take_operands(cli_options *o, int count, char **argv) {
    bool may_be_all = o->subcommand == CLI_LS || o->subcommand == CLI_DEADLOCKS;
    if (count == 0 && !may_be_all)
        return refuse(o,
                      o->subcommand == CLI_END ? "the ticket's FILE is missing"
                                               : "the lock's NAME is missing",
                      "");
    if (o->subcommand == CLI_RUN)
        return take_names(o, (size_t)count, argv);
    int most = o->subcommand == CLI_BREAK ? 2 : 1;
    if (count > most)
        return refuse(o, "unexpected argument", argv[most]);
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
        return refuse(o, "-c is the command already: unexpected argument", argv[0]);
    if (o->command == NULL && argv[0] == NULL)
        return refuse(o, "the command to run is missing: after the NAME and", "--");
    o->command = o->command == NULL ? argv : o->command;
    return true;
}

/* All that is no option is a NAME. The command is that of -c, which has to come before them: behind
 * them it may be a shell's, whose name would be taken for a NAME. */
static bool parse_names(cli_options *o, int argc, char **argv) {
    if (o->command == NULL)
        return refuse(o, "with --all, '--' before the command to run is missing", "");
    return parse_part(o, argc, argv, LETTERS) &&
           (o->is_help || o->is_version || take_operands(o, argc - optind, argv + optind));
}

/* NAME is the first operand and CMD begins with the second. */
static bool parse_without_separator(cli_options *o, int argc, char **argv) {
    if (!parse_part(o, argc, argv, "+" LETTERS))
        return false;
    const int name = optind;
    if (o->is_help || o->is_version)
        return true;
    if (name == argc)
        return take_operands(o, 0, argv);
    if (o->is_all)
        return parse_names(o, argc, argv);
    if (!parse_part(o, argc - name, argv + name, "+" LETTERS))
        return false;
    const int command = name + optind;
    return o->is_help || o->is_version ||
           (take_operands(o, 1, argv + name) && take_command(o, argv + command));
}

static bool parse_run(cli_options *o, int argc, char **argv) {
    const int end = find_separator(argc, argv);
    if (end == argc)
        return parse_without_separator(o, argc, argv);
    return parse_part(o, end, argv, LETTERS) &&
           (o->is_help || o->is_version ||
            (take_operands(o, end - optind, argv + optind) && take_command(o, argv + end + 1)));
}

/* argv[0] is the subcommand's name. */
static bool parse_subcommand(cli_options *o, int argc, char **argv) {
    const bool is_parsed = o->subcommand == CLI_RUN ? parse_run(o, argc, argv)
                                                    : parse_part(o, argc, argv, LETTERS);
    if (!is_parsed || o->is_help || o->is_version)
        return is_parsed;
    if (o->is_json && !is_known_here(o->subcommand, OPT_JSON))
        return refuse_place(o, OPT_JSON);
    if (o->permits > 0 && o->is_shared)
        return refuse(o, "--permits does not go with", "--shared");
    return o->subcommand == CLI_RUN || take_operands(o, argc - optind, argv + optind);
}

static bool find_hosts(cli_options *o) {
    if (o->hosts == NULL)
        o->hosts = getenv("ZKLOCK_HOSTS");
    if (o->hosts != NULL && *o->hosts == '\0')
        return refuse(o, "no servers: --hosts or ZKLOCK_HOSTS is empty", "");
    if (o->hosts == NULL)
        return refuse(o, "no servers: give --hosts HOST,... or set ZKLOCK_HOSTS", "");
    return true;
}

bool cli_options_parse(cli_options *ret_options, int argc, char **argv) {
    cli_options o = {
        .wait_ms = ZKL_FOREVER, .grace_ms = -1, .conflict_status = CLI_EXIT_NOT_ACQUIRED};
    if (!parse_part(&o, argc, argv, "+" LETTERS))
        return false;
    if (!o.is_help && !o.is_version) {
        if (optind >= argc)
            return refuse(&o, "a subcommand is missing, such as run, ls or show", "");
        int first = optind;
        o.subcommand = subcommand_of(argv[first]);
        if (o.subcommand == CLI_NONE)
            return refuse(&o, "unknown subcommand", argv[first]);
        if (!parse_subcommand(&o, argc - first, argv + first))
            return false;
    }
    if (!o.is_help && !o.is_version && !find_hosts(&o))
        return false;
    *ret_options = o;
    return true;
}
