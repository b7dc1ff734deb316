/* option_list - see option_list.h. */
#include "cli/option_list.h"

#include "cli/message.h"
#include "cli/nearest.h"
#include "cli/number.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STATUS_MAX 255
/* A day of an ensemble that is slow. */
#define COUNT_MAX 1000000
/* What --watch may cost the servers at most. */
#define INTERVAL_MIN_MS 100
#define LETTERS "+:hVvlnqsxyc:w:E:"

#define IN(subcommand) (1U << (subcommand))
#define EVERYWHERE (~0U)

enum {
    OPT_HOSTS = 256,
    OPT_ROOT,
    OPT_TIMEOUT,
    OPT_AUTH_FILE,
    OPT_LABEL,
    OPT_JSON,
    OPT_NAMES,
    OPT_PROMETHEUS,
    OPT_WATCH,
    OPT_INTERVAL,
    OPT_SORT,
    OPT_GRACE,
    OPT_PERMITS,
    OPT_SHOW_COMMAND,
    OPT_TICKET,
    OPT_ALL,
    OPT_IF_VERSION,
    OPT_CREATE,
    OPT_UNGUARDED,
    OPT_PRINT_VERSION,
    OPT_NAME,
    OPT_COUNT,
    OPT_METRICS_FILE,
    OPT_ON_LOST,
    OPT_CGROUP
};

typedef struct known {
    const char *name;
    int argument;
    int code;
    unsigned where; /* the subcommands that have it */
} known;

/* Those of CLI_NONE may stand before the subcommand. */
static const known List[] = {
    {"hosts", required_argument, OPT_HOSTS, EVERYWHERE},
    {"root", required_argument, OPT_ROOT, EVERYWHERE},
    {"timeout", required_argument, OPT_TIMEOUT, EVERYWHERE},
    {"auth-file", required_argument, OPT_AUTH_FILE, EVERYWHERE},
    {"label", required_argument, OPT_LABEL, EVERYWHERE},
    {"verbose", no_argument, 'v', EVERYWHERE},
    {"help", no_argument, 'h', EVERYWHERE},
    {"version", no_argument, 'V', EVERYWHERE},
    {"json", no_argument, OPT_JSON,
     IN(CLI_NONE) | IN(CLI_LS) | IN(CLI_SHOW) | IN(CLI_DEADLOCKS) | IN(CLI_DOCTOR) | IN(CLI_BENCH)},
    {"count", required_argument, OPT_COUNT, IN(CLI_BENCH)},
    {"names", no_argument, OPT_NAMES, IN(CLI_LS)},
    {"prometheus", no_argument, OPT_PROMETHEUS, IN(CLI_LS)},
    {"watch", no_argument, OPT_WATCH, IN(CLI_LS) | IN(CLI_SHOW)},
    {"interval", required_argument, OPT_INTERVAL, IN(CLI_LS) | IN(CLI_SHOW)},
    {"sort", required_argument, OPT_SORT, IN(CLI_LS)},
    {"long", no_argument, 'l', IN(CLI_SHOW)},
    {"wait", required_argument, 'w', IN(CLI_RUN) | IN(CLI_BREAK)},
    {"yes", no_argument, 'y', IN(CLI_BREAK)},
    {"nonblock", no_argument, 'n', IN(CLI_RUN)},
    {"shared", no_argument, 's', IN(CLI_RUN)},
    {"exclusive", no_argument, 'x', IN(CLI_RUN)},
    {"command", required_argument, 'c', IN(CLI_RUN)},
    {"quiet", no_argument, 'q', IN(CLI_RUN)},
    {"permits", required_argument, OPT_PERMITS, IN(CLI_RUN)},
    {"all", no_argument, OPT_ALL, IN(CLI_RUN)},
    {"show-command", no_argument, OPT_SHOW_COMMAND, IN(CLI_RUN)},
    {"ticket", required_argument, OPT_TICKET, IN(CLI_RUN)},
    {"metrics-file", required_argument, OPT_METRICS_FILE, IN(CLI_RUN)},
    {"conflict-exit-code", required_argument, 'E', IN(CLI_RUN)},
    {"grace", required_argument, OPT_GRACE, IN(CLI_RUN)},
    {"if-version", required_argument, OPT_IF_VERSION, IN(CLI_SET)},
    {"create", no_argument, OPT_CREATE, IN(CLI_SET)},
    {"unguarded", no_argument, OPT_UNGUARDED, IN(CLI_SET)},
    {"print-version", no_argument, OPT_PRINT_VERSION, IN(CLI_GET)},
    {"name", required_argument, OPT_NAME, IN(CLI_FENCE)},
    {"cgroup", no_argument, OPT_CGROUP, IN(CLI_RUN)},
    {"on-lost", required_argument, OPT_ON_LOST, IN(CLI_RUN)},
};

#define COUNT (sizeof(List) / sizeof(List[0]))

/* -c: its text is the third. */
static char *Shell[] = {"/bin/sh", "-c", NULL, NULL};

/* ---- What is said of a wrong one ---- */

bool cli_option_list_refuse(const cli_options *o, const char *what, const char *argument) {
    const char *space = o->subcommand == CLI_NONE ? "" : " ";
    cli_message("%s%s%s%s (see 'zklock%s%s --help')", what, *argument == '\0' ? "" : " '", argument,
                *argument == '\0' ? "" : "'", space, cli_subcommand_name(o->subcommand));
    return false;
}

bool cli_option_list_refuse_unknown(const cli_options *o, const char *what, const char *word,
                                    const char *nearest) {
    if (nearest == NULL)
        return cli_option_list_refuse(o, what, word);
    const char *space = o->subcommand == CLI_NONE ? "" : " ";
    cli_message("%s '%s': did you mean %s? (see 'zklock%s%s --help')", what, word, nearest, space,
                cli_subcommand_name(o->subcommand));
    return false;
}

static bool is_known_here(cli_subcommand subcommand, const known *option) {
    return (option->where & IN(subcommand)) != 0;
}

static bool refuse_long(const cli_options *o, const char *typed) {
    char word[64], meant[64];
    const int length = (int)strcspn(typed, "=");
    (void)snprintf(word, sizeof(word), "%.*s", length - 2, typed + 2); /* a longer one is cut */
    cli_nearest nearest = cli_nearest_to(word);
    for (size_t i = 0; i < COUNT; i++)
        if (is_known_here(o->subcommand, &List[i]))
            cli_nearest_offer(&nearest, List[i].name);
    (void)snprintf(meant, sizeof(meant), "--%s", nearest.word == NULL ? "" : nearest.word);
    return cli_option_list_refuse_unknown(o, "unknown option", typed,
                                          nearest.word == NULL ? NULL : meant);
}

/* getopt says '?' for an unknown option and for one with a value too many, ':' for one too few. */
static bool refuse_option(const cli_options *o, int code, char **argv) {
    const char *typed = argv[optind - 1];
    if (code == ':')
        return cli_option_list_refuse(o, "a value is missing after", typed);
    if (optopt >= OPT_HOSTS)
        return cli_option_list_refuse(o, "an option that takes no value:", typed);
    if (optopt == 0)
        return refuse_long(o, typed);
    char letter[] = {'-', (char)optopt, '\0'};
    return cli_option_list_refuse(o, "unknown option", letter);
}

static bool refuse_place(const cli_options *o, const known *option) {
    if (o->subcommand != CLI_NONE) {
        const char *subcommand = cli_subcommand_name(o->subcommand);
        cli_message("%s has no option --%s (see 'zklock %s --help')", subcommand, option->name,
                    subcommand);
        return false;
    }
    int place = CLI_NONE + 1;
    while (!is_known_here((cli_subcommand)place, option))
        place++;
    const char *subcommand = cli_subcommand_name((cli_subcommand)place);
    cli_message("--%s belongs after '%s' (see 'zklock %s --help')", option->name, subcommand,
                subcommand);
    return false;
}

/* ---- Values ---- */

static bool take_seconds(const cli_options *o, const char *option, int64_t *ret_ms) {
    if (!cli_number_seconds(optarg, ret_ms)) {
        cli_message("%s takes seconds, up to 1000000000, not '%s' (see 'zklock %s --help')", option,
                    optarg, cli_subcommand_name(o->subcommand));
        return false;
    }
    return true;
}

static bool take_session_timeout(cli_options *o) {
    return cli_number_session_timeout(optarg, &o->session_timeout_ms) ||
           cli_option_list_refuse(o, "--timeout must be from 0.1 to 3600 seconds, not", optarg);
}

static bool take_permits(cli_options *o) {
    int permits;
    if (!cli_number_whole(optarg, INT_MAX, &permits) || permits == 0)
        return cli_option_list_refuse(o, "--permits takes a whole number from 1, not", optarg);
    o->permits = permits;
    return true;
}

static bool take_count(cli_options *o) {
    int count;
    if (!cli_number_whole(optarg, COUNT_MAX, &count) || count == 0)
        return cli_option_list_refuse(o, "--count takes a whole number from 1 to 1000000, not",
                                      optarg);
    o->count = count;
    return true;
}

static bool take_interval(cli_options *o) {
    if (cli_number_seconds(optarg, &o->interval_ms) && o->interval_ms >= INTERVAL_MIN_MS)
        return true;
    return cli_option_list_refuse(o, "--interval takes seconds, from 0.1, not", optarg);
}

static bool take_sort(cli_options *o) {
    static const char *const names[] = {
        [CLI_SORT_NAME] = "name", [CLI_SORT_DEPTH] = "depth", [CLI_SORT_WAIT] = "wait"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(optarg, names[i]) == 0) {
            o->sort = (cli_sort)i;
            return true;
        }
    }
    return cli_option_list_refuse(o, "--sort takes name, depth or wait, not", optarg);
}

static bool take_status(cli_options *o) {
    return cli_number_whole(optarg, STATUS_MAX, &o->conflict_status) ||
           cli_option_list_refuse(o, "-E takes an exit status from 0 to 255, not", optarg);
}

static bool take_version(cli_options *o) {
    return cli_number_whole(optarg, INT_MAX, &o->if_version) ||
           cli_option_list_refuse(o, "--if-version takes a whole number from 0, not", optarg);
}

static bool take_on_lost(cli_options *o) {
    return cli_on_lost_find(optarg, &o->on_lost) ||
           cli_option_list_refuse(o, "--on-lost takes kill, term or ignore, not", optarg);
}

/* Options that are only there or not. -s and -x say the same thing, and so do -n and -w; of several
 * the last one counts, as with flock(1). */
static void take_flag(cli_options *o, int code) {
    switch (code) {
    case 'n':
        o->wait_ms = 0;
        break;
    case 's':
    case 'x':
        o->is_shared = code == 's';
        o->is_exclusive = code == 'x';
        break;
    case 'q':
        o->is_quiet = true;
        break;
    case 'y':
        o->is_yes = true;
        break;
    case 'v':
        o->verbosity++;
        break;
    case 'h':
        o->is_help = true;
        break;
    case 'V':
        o->is_version = true;
        break;
    case 'l':
        o->is_long = true;
        break;
    case OPT_JSON:
        o->is_json = true;
        break;
    case OPT_WATCH:
        o->is_watch = true;
        break;
    case OPT_PROMETHEUS:
        o->is_prometheus = true;
        break;
    case OPT_NAMES:
        o->is_names = true;
        break;
    case OPT_ALL:
        o->is_all = true;
        break;
    case OPT_CGROUP:
        o->has_cgroup = true;
        break;
    case OPT_SHOW_COMMAND:
        o->shows_command = true;
        break;
    case OPT_CREATE:
        o->creates = true;
        break;
    case OPT_UNGUARDED:
        o->is_unguarded = true;
        break;
    case OPT_PRINT_VERSION:
        o->prints_version = true;
        break;
    default:
        break; /* none is left: cli.usage has them all */
    }
}

static void take_text(cli_options *o, int code) {
    switch (code) {
    case OPT_HOSTS:
        o->hosts = optarg;
        break;
    case OPT_ROOT:
        o->root = optarg;
        break;
    case OPT_AUTH_FILE:
        o->auth_file = optarg;
        break;
    case OPT_LABEL:
        o->label = optarg;
        break;
    case OPT_TICKET:
        o->ticket = optarg;
        break;
    case OPT_NAME:
        o->of_lock = optarg;
        break;
    case OPT_METRICS_FILE:
        o->metrics = optarg;
        break;
    case 'c':
        Shell[2] = optarg;
        o->command = Shell;
        break;
    default:
        break; /* as above */
    }
}

static bool take(cli_options *o, const known *option) {
    switch (option->code) {
    case OPT_TIMEOUT:
        return take_session_timeout(o);
    case 'w':
        return take_seconds(o, "-w", &o->wait_ms);
    case OPT_GRACE:
        return take_seconds(o, "--grace", &o->grace_ms);
    case OPT_PERMITS:
        return take_permits(o);
    case OPT_IF_VERSION:
        return take_version(o);
    case 'E':
        return take_status(o);
    case OPT_COUNT:
        return take_count(o);
    case OPT_INTERVAL:
        return take_interval(o);
    case OPT_SORT:
        return take_sort(o);
    case OPT_ON_LOST:
        return take_on_lost(o);
    default:
        if (option->argument == required_argument)
            take_text(o, option->code);
        else
            take_flag(o, option->code);
        return true;
    }
}

/* ---- The list ---- */

static const known *find(int code) {
    size_t i = 0;
    while (List[i].code != code)
        i++;
    return &List[i];
}

bool cli_option_list_take(cli_options *o, int argc, char **argv, bool to_operand) {
    struct option names[COUNT + 1] = {{0}};
    const char *letters = &LETTERS[to_operand ? 0 : 1]; /* without the '+' */
    for (size_t i = 0; i < COUNT; i++)
        names[i] = (struct option){List[i].name, List[i].argument, NULL, List[i].code};
    optind = 0; /* glibc's way to begin anew with another argv */
    opterr = 0;
    for (int code; (code = getopt_long(argc, argv, letters, names, NULL)) != -1;) {
        if (code == '?' || code == ':')
            return refuse_option(o, code, argv);
        if (!is_known_here(o->subcommand, find(code)))
            return refuse_place(o, find(code));
        if (!take(o, find(code)))
            return false;
    }
    return true;
}

bool cli_option_list_fits(const cli_options *o) {
    return !o->is_json || is_known_here(o->subcommand, find(OPT_JSON)) ||
           refuse_place(o, find(OPT_JSON));
}
