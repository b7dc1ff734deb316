/* inside - see inside.h. */
#include "cli/inside.h"

#include "cli/message.h"
#include "cli/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The line with this number, from 0; NULL: there are fewer. It ends with '\n' or '\0'. */
static const char *line_at(const char *lines, size_t number) {
    while (lines != NULL && number-- > 0) {
        lines = strchr(lines, '\n');
        lines = lines == NULL ? NULL : lines + 1;
    }
    return lines;
}

static bool is_line(const char *line, const char *text) {
    size_t length = strcspn(line, "\n");
    return strlen(text) == length && memcmp(line, text, length) == 0;
}

/* The directory of the node is that of the lock: that run has the same root. (Of other servers
 * nothing is known here.) */
static bool is_in_directory(const char *path, const cli_options *o, const char *name) {
    const char *root = o->root == NULL ? CLI_ROOT_DEFAULT : o->root;
    size_t length = strlen(root);
    if (length == 1) /* "/" */
        length = 0;
    return strncmp(path, root, length) == 0 && path[length] == '/' &&
           strncmp(path + length + 1, name, strlen(name)) == 0 &&
           path[length + 1 + strlen(name)] == '/' &&
           memchr(path + length + strlen(name) + 2, '/',
                  strcspn(path + length + strlen(name) + 2, "\n")) == NULL;
}

const char *cli_inside_node(const cli_options *options, const char *name) {
    const char *names = getenv("ZKLOCK_NAME"), *line;
    size_t number = 0;
    while ((line = line_at(names, number)) != NULL && !is_line(line, name))
        number++;
    const char *path = line == NULL ? NULL : line_at(getenv("ZKLOCK_NODE"), number);
    return path != NULL && is_in_directory(path, options, name) ? path : NULL;
}

/* A path ends with its line. */
bool cli_inside_is(const char *path, const char *child) {
    size_t length = strcspn(path, "\n"), last = strlen(child);
    return length > last && path[length - last - 1] == '/' &&
           memcmp(path + length - last, child, last) == 0;
}

/* ---- All of it ---- */

/* The value; NULL, and one line says that it is not there. */
static const char *ask_environment(const char *variable) {
    const char *value = getenv(variable);
    if (value != NULL && *value != '\0')
        return value;
    cli_message("there is no %s: this is for a command that 'zklock run' has started", variable);
    return NULL;
}

bool cli_inside_token(int64_t *ret_token) {
    const char *text = ask_environment("ZKLOCK_TOKEN");
    if (text == NULL)
        return false;
    errno = 0;
    char *end;
    long long token = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || *text < '0' || *text > '9' || token <= 0) {
        cli_message("ZKLOCK_TOKEN is no token: '%s'", text);
        return false;
    }
    *ret_token = token;
    return true;
}

/* Cuts the lines apart. False: there are too many. */
static bool take_nodes(cli_inside_guard *g) {
    char *rest = g->lines;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (g->guard.count == ZKL_ALL_MAX)
            return false;
        g->nodes[g->guard.count++] = line;
    }
    return true;
}

bool cli_inside_guard_by(cli_inside_guard *ret_guard) {
    const char *lines = ask_environment("ZKLOCK_NODE");
    int64_t token;
    ret_guard->lines = NULL;
    if (lines == NULL || !cli_inside_token(&token))
        return false;
    *ret_guard = (cli_inside_guard){.guard = ZKL_GUARD(.token = token), .lines = strdup(lines)};
    if (ret_guard->lines == NULL) {
        cli_message_error("ZKLOCK_NODE", ZKL_NOMEM);
        return false;
    }
    ret_guard->guard.nodes = ret_guard->nodes;
    if (take_nodes(ret_guard))
        return true;
    cli_message("ZKLOCK_NODE has more than %d lines", ZKL_ALL_MAX);
    return false;
}

char *cli_inside_lock(const char *of_lock) {
    const char *names = ask_environment("ZKLOCK_NAME"), *line;
    if (names == NULL)
        return NULL;
    size_t number = 0;
    while (of_lock != NULL && (line = line_at(names, number)) != NULL && !is_line(line, of_lock))
        number++;
    line = line_at(names, number);
    if (line == NULL) {
        cli_message("--name '%s' is no lock of the 'zklock run' around this one", of_lock);
        return NULL;
    }
    if (of_lock == NULL && strchr(names, '\n') != NULL) {
        cli_message("the 'zklock run' around this one has several locks: --name says of which the "
                    "fence is (see 'zklock fence --help')");
        return NULL;
    }
    char *name = strndup(line, strcspn(line, "\n"));
    if (name == NULL)
        cli_message_error("ZKLOCK_NAME", ZKL_NOMEM);
    return name;
}
