/* The session of a command: credentials, options, and what to say when no server will have us. */
#include "cli/session.h"

#include "cli/exit_status.h"
#include "cli/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A digest's user and password, or a token of some other scheme. */
#define AUTH_MAX_BYTES 4096
#define COMMAND_MAX_BYTES 256

/* The first line of the file, without its newline; false when it cannot be had. */
static bool read_first_line(FILE *file, char *line, int size) {
    if (fgets(line, size, file) == NULL)
        return false;
    size_t length = strcspn(line, "\n");
    if (line[length] != '\n' && !feof(file))
        return false;
    line[length] = '\0';
    return true;
}

static void warn_if_others_can_read(FILE *file, const char *path) {
    struct stat status;
    if (fstat(fileno(file), &status) == 0 && (status.st_mode & S_IROTH) != 0)
        cli_message("warning: every user can read the credentials in '%s'", path);
}

/* Splits "scheme:credentials" in line; false, with a message, when the file is of no use. */
static bool read_auth_file(const char *path, char *line, int size, const char **ret_scheme,
                           const char **ret_auth) {
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        cli_message("--auth-file '%s': %s", path, strerror(errno));
        return false;
    }
    bool read = read_first_line(file, line, size);
    warn_if_others_can_read(file, path);
    (void)fclose(file); /* nothing was written */
    char *colon = read ? strchr(line, ':') : NULL;
    if (colon == NULL || colon == line || colon[1] == '\0') {
        cli_message("--auth-file '%s': its first line must be SCHEME:CREDENTIALS", path);
        return false;
    }
    *colon = '\0';
    *ret_scheme = line;
    *ret_auth = colon + 1;
    return true;
}

static int explain(zkl_err err, const cli_options *o, int connect_timeout_ms) {
    bool has_others = o->label != NULL || o->auth_file != NULL;
    if (err == ZKL_UNREACHABLE) {
        char last[256];
        cli_message_last_error(last, sizeof(last));
        const char *why = strncmp(last, "no session", strlen("no session")) == 0 ? strchr(last, ':')
                                                                                 : NULL;
        cli_message("no session at %s within %g s%s", o->hosts, (double)connect_timeout_ms / 1000,
                    why == NULL ? "" : why);
    } else if (err == ZKL_INVALID && has_others) {
        cli_message("--hosts '%s' or another option of the session is not valid (see 'zklock "
                    "--help')",
                    o->hosts);
    } else if (err == ZKL_INVALID && o->root != NULL) {
        cli_message("--hosts '%s' or --root '%s' is not valid (see 'zklock --help')", o->hosts,
                    o->root);
    } else if (err == ZKL_INVALID) {
        cli_message("--hosts '%s' is not a list of servers (see 'zklock --help')", o->hosts);
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
    if (options->auth_file != NULL && !read_auth_file(options->auth_file, line, sizeof(line),
                                                      &session.auth_scheme, &session.auth))
        return CLI_EXIT_USAGE;
    zkl_err err = zkl_session_open(ret_session, options->hosts, &session);
    explicit_bzero(line, sizeof(line));
    return err == ZKL_OK ? CLI_EXIT_OK : explain(err, options, request->connect_timeout_ms);
}

int cli_session_open_to_look(zkl_session **ret_session, const cli_options *options) {
    const cli_session_request request = {.connect_timeout_ms = CLI_CONNECT_TIMEOUT_MS};
    return cli_session_open(ret_session, options, &request);
}

int cli_session_explain(const cli_options *options, zkl_err err) {
    if (err == ZKL_INVALID)
        cli_message_bad_name(cli_subcommand_name(options->subcommand), options->name);
    else if (err != ZKL_OK)
        cli_message_error(options->name, err);
    return cli_exit_status_of(err);
}
