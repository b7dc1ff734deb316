/* The session of a command: credentials, options, and what to say when no server will have us. */
#include "cli/session.h"

#include "cli/exit_status.h"
#include "cli/message.h"
#include "cli/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A digest's user and password, or a token of some other scheme. */
#define AUTH_MAX_BYTES 4096
#define COMMAND_MAX_BYTES 256

/* The first line of the file, without how it ends; false when it cannot be had. */
static bool read_first_line(FILE *file, char *line, int size) {
    if (fgets(line, size, file) == NULL)
        return false;
    size_t length = strcspn(line, "\n");
    if (line[length] != '\n' && !feof(file))
        return false;
    if (length > 0 && line[length - 1] == '\r')
        length--;
    line[length] = '\0';
    return true;
}

static void warn_if_others_can_read(FILE *file, const char *path) {
    struct stat status;
    if (fstat(fileno(file), &status) == 0 && (status.st_mode & S_IROTH) != 0)
        cli_message("warning: every user can read the credentials in '%s'", path);
}

const char *cli_auth_file_shown(const cli_options *o) {
    bool is_secret = strchr(o->auth_file, ':') != NULL && access(o->auth_file, F_OK) != 0;
    return is_secret ? "(hidden)" : o->auth_file;
}

static void say_of_auth_file(const cli_options *o, const char *what) {
    const char *shown = cli_auth_file_shown(o);
    if (shown != o->auth_file)
        what = "this is no file: write the credentials into one, and name that";
    if (o->auth_from.line > 0)
        cli_message("%s:%d: auth-file '%s': %s", o->auth_from.where, o->auth_from.line, shown,
                    what);
    else
        cli_message("--auth-file '%s': %s", shown, what);
}

/* Into line, of AUTH_MAX_BYTES; false, with a message, when the file is of no use. */
static bool read_auth_file(const cli_options *o, char *line) {
    const char *path = o->auth_file;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        say_of_auth_file(o, strerror(errno));
        return false;
    }
    if (!read_first_line(file, line, AUTH_MAX_BYTES))
        line[0] = '\0';
    bool is_read = ferror(file) == 0;
    if (is_read)
        warn_if_others_can_read(file, path);
    else
        say_of_auth_file(o, strerror(errno));
    (void)fclose(file); /* nothing was written */
    return is_read;
}

/* Splits "scheme:credentials" in line, where they are copied to. */
static bool find_auth(const cli_options *o, char *line, const char **ret_scheme,
                      const char **ret_auth) {
    if (o->auth_file != NULL && !read_auth_file(o, line))
        return false;
    if (o->auth_file == NULL)
        (void)snprintf(line, AUTH_MAX_BYTES, "%s", o->auth); /* no longer than a line */
    char *colon = strchr(line, ':');
    if (colon != NULL && colon != line && colon[1] != '\0') {
        *colon = '\0';
        *ret_scheme = line;
        *ret_auth = colon + 1;
        return true;
    }
    if (o->auth_file != NULL)
        say_of_auth_file(o, "its first line must be SCHEME:CREDENTIALS");
    else
        cli_message("%s:%d: auth must be SCHEME:CREDENTIALS", o->auth_from.where,
                    o->auth_from.line);
    return false;
}

/* or_root: " or the root '...'", or "". */
static int refuse_hosts(const cli_options *o, const char *or_root) {
    const char *what = *or_root == '\0' ? "is not a list of servers" : "is not valid";
    if (o->hosts_from.line > 0) {
        cli_message("%s:%d: hosts '%s'%s %s", o->hosts_from.where, o->hosts_from.line, o->hosts,
                    or_root, what);
        return CLI_EXIT_CONFIG;
    }
    cli_message("%s '%s'%s %s (see 'zklock --help')", o->hosts_from.where, o->hosts, or_root, what);
    return CLI_EXIT_USAGE;
}

int cli_session_refuse_hosts(const cli_options *options) {
    return refuse_hosts(options, "");
}

/* Of the options that we give, the library may refuse only these two. */
static int explain_invalid(const cli_options *o) {
    char or_root[CLI_ROOT_MAX + 32] = "";
    if (o->root != NULL && !cli_settings_is_root(o->root)) {
        cli_message("--root '%s' is not a path such as /locks, of 255 bytes at most "
                    "(see 'zklock --help')",
                    o->root);
        return CLI_EXIT_USAGE;
    }
    if (o->root != NULL)
        (void)snprintf(or_root, sizeof(or_root), " or the root '%s'", o->root);
    return refuse_hosts(o, or_root);
}

static int explain(zkl_err err, const cli_options *o, int connect_timeout_ms) {
    if (err == ZKL_INVALID)
        return explain_invalid(o);
    if (err == ZKL_UNREACHABLE) {
        char last[256];
        cli_message_last_error(last, sizeof(last));
        const char *why = strncmp(last, "no session", strlen("no session")) == 0 ? strchr(last, ':')
                                                                                 : NULL;
        cli_message("no session at %s within %g s%s", o->hosts, (double)connect_timeout_ms / 1000,
                    why == NULL ? "" : why);
    } else {
        cli_message_error("cannot open a session", err);
    }
    return cli_exit_status_of(err);
}

/* As much as there is room for; the library cuts a label at its own limit. */
static const char *join_command(char *text, size_t size, char *const *command) {
    size_t length = 0;
    for (size_t i = 0; command[i] != NULL && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%s", i == 0 ? "" : " ",
                                   command[i]);
    return text;
}

int cli_session_open(zkl_session **ret_session, const cli_options *options,
                     const cli_session_request *request) {
    char line[AUTH_MAX_BYTES], command[COMMAND_MAX_BYTES];
    const char *label = options->label;
    if (label == NULL && options->shows_command)
        label = join_command(command, sizeof(command), options->command);
    zkl_session_options session =
        ZKL_SESSION_OPTIONS(.session_timeout_ms = options->session_timeout_ms,
                            .connect_timeout_ms = request->connect_timeout_ms,
                            .root = options->root, .label = label, .on_event = request->on_event,
                            .arg = request->arg, .log = cli_message_log);
    bool has_auth = options->auth_file != NULL || options->auth != NULL;
    if (has_auth && !find_auth(options, line, &session.auth_scheme, &session.auth))
        return options->auth_from.line > 0 ? CLI_EXIT_CONFIG : CLI_EXIT_USAGE;
    zkl_err err = zkl_session_open(ret_session, options->hosts, &session);
    explicit_bzero(line, sizeof(line));
    return err == ZKL_OK ? CLI_EXIT_OK : explain(err, options, request->connect_timeout_ms);
}

int cli_session_open_to_look(zkl_session **ret_session, const cli_options *options) {
    const cli_session_request request = {.connect_timeout_ms = CLI_CONNECT_TIMEOUT_MS};
    return cli_session_open(ret_session, options, &request);
}

int cli_session_explain(const cli_options *options, zkl_err err) {
    const char *subcommand = cli_subcommand_name(options->subcommand);
    if (err == ZKL_INVALID && options->name != NULL)
        cli_message_bad_name(subcommand, options->name);
    else if (err != ZKL_OK)
        cli_message_error(options->name == NULL ? subcommand : options->name, err);
    return cli_exit_status_of(err);
}
