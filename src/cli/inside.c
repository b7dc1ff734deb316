/* inside - see inside.h. */
#include "cli/inside.h"

#include <stdlib.h>
#include <string.h>

/* The library's, see zklock.h. */
#define ROOT_DEFAULT "/locks"

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
    const char *root = o->root == NULL ? ROOT_DEFAULT : o->root;
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
