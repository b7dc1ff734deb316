/*
 * node_data - the line in a contender's node that says who it is: made, read, and changed.
 *
 *     zklock1 t=10000 owner=A0B1.1 pid=1 tid=2 token=3 attempt=u host=h prog=p label=l
 *
 * That is said when the node is created. What is said later is a field of its own: touched=1,
 * since=4, ask=1, break=1. Such a write is a set by the version of the line that it changes, read
 * just before, and is tried again on BADVERSION. It keeps all other fields, also unknown ones. What
 * a change means is seen by the fields that differ, not by the version. (A writer that becomes a
 * reader cannot read them any more: engine.c.)
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
/* What the later fields take together; a new node's line leaves so much room. */
#define ZKLI_NODE_DATA_LATER_MAX (sizeof(" touched=1 since=9223372036854775807 ask=1 break=1") - 1)
/* In an owner's number: the program has said it, and it is no thread's. */
#define ZKLI_OWNER_IS_SAID (UINT64_C(1) << 63)
/* A uuid. */
#define ZKLI_NODE_DATA_ATTEMPT_MAX 36

struct zkli_node_data {
    char host[ZKLI_NODE_DATA_VALUE_MAX + 1];
    char program[ZKLI_NODE_DATA_VALUE_MAX + 1];
    char label[ZKLI_NODE_DATA_VALUE_MAX + 1];
    int64_t timeout_ms;    /* the session's */
    uint64_t owner_nonce;  /* its process; 0: there is no owner */
    uint64_t owner_thread; /* its thread's number in that process, not the kernel's */
    int64_t pid;
    int64_t thread; /* the kernel's number */
    int64_t token;  /* of a reader that was a writer: the writer's; else 0 */
    /* Of several locks that are acquired at once: what their nodes have in common; else "". */
    char attempt[ZKLI_NODE_DATA_ATTEMPT_MAX + 1];
    /* Said later. */
    bool is_touched;  /* of a semaphore: was admitted with somebody behind */
    int64_t since_ms; /* since 1970: the grant of a long contended hold; else 0 */
    bool is_asked;    /* to let go */
    bool is_broken;   /* the hold is over; never taken back */
};

enum zkli_node_field {
    ZKLI_NODE_TOUCHED,
    ZKLI_NODE_SINCE,
    ZKLI_NODE_ASK,
    ZKLI_NODE_BREAK
};

/* A value of this text, cut to what fits. */
void zkli_node_data_cut(char ret_value[ZKLI_NODE_DATA_VALUE_MAX + 1], const char *text);
/* Writes a new node's line, without the later fields and a NUL, and returns its length. */
size_t zkli_node_data_format(char ret_line[ZKLI_NODE_DATA_MAX], const struct zkli_node_data *data);
/* Whether it is such a line. */
bool zkli_node_data_is_ours(const char *line, size_t length);
/* Reads any bytes; what is missing or malformed is left "" or 0. False if it is no such line. */
bool zkli_node_data_parse(struct zkli_node_data *ret_data, const char *line, size_t length);
/*
 * Copies a line and sets a later field of it: since to the value, another to 1. Without a value
 * above 0 the field is taken away, but never a break. Of several such fields the first is set, and
 * the others go; a new one goes behind the first word. Returns the length; 0: it is no such line,
 * or would be too long.
 */
size_t zkli_node_data_set(char ret_line[ZKLI_NODE_DATA_MAX], const char *line, size_t length,
                          enum zkli_node_field field, int64_t value);

#endif
