/* settings - see settings.h. */
#include "cli/settings.h"

#include "cli/exit_status.h"
#include "cli/message.h"
#include "cli/nearest.h"
#include "cli/number.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "zklock.conf"
#define LINE_BYTES 4096

static const char SystemFile[] = "/etc/" FILE_NAME;

typedef enum key {
    KEY_HOSTS,
    KEY_ROOT,
    KEY_TIMEOUT,
    KEY_AUTH,
    KEY_AUTH_FILE,
    KEY_TLS,
    KEYS
} key;

static const char *const Keys[KEYS] = {
    [KEY_HOSTS] = "hosts", [KEY_ROOT] = "root",           [KEY_TIMEOUT] = "timeout",
    [KEY_AUTH] = "auth",   [KEY_AUTH_FILE] = "auth-file", [KEY_TLS] = "tls"};

/* What the process has read, for its whole life. */
static struct {
    char user_file[PATH_MAX]; /* "": there is none to look for */
    const char *file;         /* that was read, or NULL */
    char values[KEYS][LINE_BYTES];
    int lines[KEYS]; /* 0: the file has no such key */
} Read;

/* ---- Which file ---- */

/* A relative $XDG_CONFIG_HOME is to be ignored, says its specification. */
static void find_user_file(void) {
    const char *directory = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME"), *below = "";
    if (directory == NULL || *directory != '/') {
        directory = home;
        below = "/.config";
    }
    if (directory == NULL || *directory != '/')
        return;
    int length = snprintf(Read.user_file, sizeof(Read.user_file), "%s%s/" FILE_NAME, directory,
                          below);
    if (length < 0 || (size_t)length >= sizeof(Read.user_file))
        Read.user_file[0] = '\0';
}

/* What the open of a FIFO, and a read, would wait for may never come. */
static bool is_pipe(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

/* False: it exists, and cannot be opened. */
static bool open_file(const char *path, FILE **ret_file) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    *ret_file = NULL;
    if (fd >= 0 && is_pipe(fd)) {
        cli_message("'%s': is a FIFO, not a file", path);
        close(fd);
        return false;
    }
    if (fd >= 0 && (*ret_file = fdopen(fd, "r")) != NULL) {
        Read.file = path;
        return true;
    }
    const int error = errno;
    if (fd >= 0)
        close(fd);
    else if (error == ENOENT || error == ENOTDIR)
        return true;
    cli_message("'%s': %s", path, strerror(error));
    return false;
}

/* ---- Its lines ---- */

/* Without the blanks around it. */
static char *trim(char *text) {
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    size_t length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]) != NULL)
        length--;
    text[length] = '\0';
    return text;
}

static bool refuse(int line, const char *what, const char *word) {
    cli_message("%s:%d: %s%s%s%s", Read.file, line, what, *word == '\0' ? "" : " '", word,
                *word == '\0' ? "" : "'");
    return false;
}

static bool refuse_key(int line, const char *name) {
    cli_nearest nearest = cli_nearest_to(name);
    for (size_t i = 0; i < KEYS; i++)
        cli_nearest_offer(&nearest, Keys[i]);
    if (nearest.word == NULL)
        return refuse(line, "unknown setting", name);
    cli_message("%s:%d: unknown setting '%s': did you mean %s?", Read.file, line, name,
                nearest.word);
    return false;
}

static bool keep(int line, key k, const char *value) {
    if (k == KEY_TLS)
        return refuse(line, "tls is not supported yet: take the line out", "");
    if (Read.lines[k] != 0)
        return refuse(line, "set a second time is", Keys[k]);
    if (*value == '\0')
        return refuse(line, "there is no value for", Keys[k]);
    (void)snprintf(Read.values[k], LINE_BYTES, "%s", value); /* shorter than its line */
    Read.lines[k] = line;
    return true;
}

/* What such a line holds is not shown: it may be credentials. */
static bool refuse_line(int line) {
    return refuse(line, "a line is SETTING = VALUE, a comment or empty", "");
}

static bool take_line(int line, char *text) {
    text = trim(text);
    if (*text == '\0' || *text == '#')
        return true;
    char *equals = strchr(text, '=');
    if (equals == NULL)
        return refuse_line(line);
    *equals = '\0';
    const char *name = trim(text);
    if (strpbrk(name, ": \t") != NULL) /* "auth: digest:..." */
        return refuse_line(line);
    int k = 0;
    while (k < KEYS && strcmp(name, Keys[k]) != 0)
        k++;
    return k < KEYS ? keep(line, (key)k, trim(equals + 1)) : refuse_key(line, name);
}

static bool read_lines(FILE *file) {
    char text[LINE_BYTES];
    for (int line = 1; fgets(text, sizeof(text), file) != NULL; line++) {
        if (strchr(text, '\n') == NULL && !feof(file))
            return refuse(line, "the line is too long, or has a NUL", "");
        if (!take_line(line, text))
            return false;
    }
    if (ferror(file)) {
        cli_message("'%s': %s", Read.file, strerror(errno));
        return false;
    }
    return true;
}

/* Whoever may read the file may use the credentials. */
static bool is_private_enough(FILE *file) {
    struct stat status;
    if (Read.lines[KEY_AUTH] == 0 || fstat(fileno(file), &status) != 0 ||
        (status.st_mode & S_IROTH) == 0)
        return true;
    return refuse(Read.lines[KEY_AUTH],
                  "every user can read these credentials: chmod o-r, or keep them in an auth-file",
                  "");
}

static bool read_file(void) {
    FILE *file = NULL;
    find_user_file();
    if (Read.user_file[0] != '\0' && !open_file(Read.user_file, &file))
        return false;
    if (file == NULL && !open_file(SystemFile, &file))
        return false;
    if (file == NULL)
        return true;
    bool is_right = read_lines(file) && is_private_enough(file);
    (void)fclose(file); /* nothing was written */
    if (is_right && Read.lines[KEY_AUTH] != 0 && Read.lines[KEY_AUTH_FILE] != 0)
        return refuse(Read.lines[KEY_AUTH_FILE], "auth is set already: not also", "auth-file");
    return is_right;
}

/* ---- Into the options ---- */

static cli_origin from_file(key k) {
    return (cli_origin){.where = Read.file, .line = Read.lines[k]};
}

static void complete_hosts(cli_options *o) {
    if (o->hosts != NULL) {
        o->hosts_from.where = "--hosts";
    } else if ((o->hosts = getenv("ZKLOCK_HOSTS")) != NULL) {
        o->hosts_from.where = "ZKLOCK_HOSTS";
    } else if (Read.lines[KEY_HOSTS] != 0) {
        o->hosts = Read.values[KEY_HOSTS];
        o->hosts_from = from_file(KEY_HOSTS);
    }
}

static bool complete_root(cli_options *o) {
    if (o->root != NULL) {
        o->root_from.where = "--root";
        return true;
    }
    if (Read.lines[KEY_ROOT] == 0)
        return true;
    o->root = Read.values[KEY_ROOT];
    o->root_from = from_file(KEY_ROOT);
    return cli_settings_is_root(o->root) ||
           refuse(Read.lines[KEY_ROOT], "root must be a path such as /locks, not", o->root);
}

static bool complete_timeout(cli_options *o) {
    const char *value = Read.values[KEY_TIMEOUT];
    if (o->session_timeout_ms != 0) {
        o->timeout_from.where = "--timeout";
        return true;
    }
    if (Read.lines[KEY_TIMEOUT] == 0)
        return true;
    if (!cli_number_session_timeout(value, &o->session_timeout_ms))
        return refuse(Read.lines[KEY_TIMEOUT], "timeout must be from 0.1 to 3600 seconds, not",
                      value);
    o->timeout_from = from_file(KEY_TIMEOUT);
    return true;
}

static void complete_auth(cli_options *o) {
    if (o->auth_file != NULL) {
        o->auth_from.where = "--auth-file";
    } else if (Read.lines[KEY_AUTH_FILE] != 0) {
        o->auth_file = Read.values[KEY_AUTH_FILE];
        o->auth_from = from_file(KEY_AUTH_FILE);
    } else if (Read.lines[KEY_AUTH] != 0) {
        o->auth = Read.values[KEY_AUTH];
        o->auth_from = from_file(KEY_AUTH);
    }
}

int cli_settings_complete(cli_options *options) {
    if (!read_file())
        return CLI_EXIT_CONFIG;
    complete_hosts(options);
    complete_auth(options);
    return complete_root(options) && complete_timeout(options) ? CLI_EXIT_OK : CLI_EXIT_CONFIG;
}

bool cli_settings_is_root(const char *path) {
    const size_t length = strlen(path);
    if (path[0] != '/' || length > CLI_ROOT_MAX)
        return false;
    return length == 1 || (path[length - 1] != '/' && strstr(path, "//") == NULL);
}

void cli_settings_files(const char **ret_user, const char **ret_system, const char **ret_read) {
    *ret_user = Read.user_file[0] == '\0' ? NULL : Read.user_file;
    *ret_system = SystemFile;
    *ret_read = Read.file;
}
