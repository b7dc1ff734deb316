/* inside - see inside.h. */
#include "cli/inside.h"

#include <stdbool.h>
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

const char *cli_inside_node(const char *name) {
    const char *names = getenv("ZKLOCK_NAME"), *line;
    size_t number = 0;
    while ((line = line_at(names, number)) != NULL && !is_line(line, name))
        number++;
    return line == NULL ? NULL : line_at(getenv("ZKLOCK_NODE"), number);
}

/* Of a path that ends with its line. */
static bool has_last(const char *path, const char *child) {
    size_t length = strcspn(path, "\n"), last = strlen(child);
    return length > last && path[length - last - 1] == '/' &&
           memcmp(path + length - last, child, last) == 0;
}

const zkl_contender *cli_inside_find(const zkl_queue *queue, const char *path) {
    for (size_t i = 0; i < zkl_queue_count(queue); i++)
        if (has_last(path, zkl_queue_at(queue, i)->node))
            return zkl_queue_at(queue, i);
    return NULL;
}
