/*
 * node_data - the line in a contender's node that says who it is, made and read.
 *
 *     zklock1 pid=1 tid=2 token=3 host=h prog=p label=l
 *
 * Values are percent-escaped, so the line is printable ASCII. Its readers treat it as hostile all
 * the same. Not here: what a terminal may see of it (cli/escape).
 */
#ifndef ZKLI_CORE_NODE_DATA_H
#define ZKLI_CORE_NODE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest line; each reader of a queue reads one per contender. */
#define ZKLI_NODE_DATA_MAX 512
/* Longest value, unescaped; a longer one is cut, and so is what makes the line too long. */
#define ZKLI_NODE_DATA_VALUE_MAX 128

struct zkli_node_data {
    char host[ZKLI_NODE_DATA_VALUE_MAX + 1];
    char program[ZKLI_NODE_DATA_VALUE_MAX + 1];
    char label[ZKLI_NODE_DATA_VALUE_MAX + 1];
    int64_t pid;
    int64_t thread;
    int64_t token; /* of a reader that was a writer: the writer's; else 0 */
};

/* A value of this text, cut to what fits. */
void zkli_node_data_cut(char ret_value[ZKLI_NODE_DATA_VALUE_MAX + 1], const char *text);
/* Writes the line, without a NUL, and returns its length. */
size_t zkli_node_data_format(char ret_line[ZKLI_NODE_DATA_MAX], const struct zkli_node_data *data);
/* Whether it is such a line. */
bool zkli_node_data_is_ours(const char *line, size_t length);
/* Reads any bytes; what is missing or malformed is left "" or 0. False if it is no such line. */
bool zkli_node_data_parse(struct zkli_node_data *ret_data, const char *line, size_t length);

#endif
