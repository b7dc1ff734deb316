/*
 * A server in a few lines: nodes, their numbers, and what it answers. Who asks and what is watched
 * is the caller's.
 */
#ifndef UNIT_TINY_SERVER_H
#define UNIT_TINY_SERVER_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "support/wait.h"

#define NODES_MAX 1024
#define CHILDREN_MAX 512
/* A path as asked for, and a number. */
#define NODE_PATH_MAX (ZKLI_PATH_MAX + 24)

struct node {
    char path[NODE_PATH_MAX]; /* "": a hole */
    int64_t czxid, owner;
    bool is_watched;
};

struct tiny_server {
    struct node nodes[NODES_MAX];
    size_t node_count;
    int64_t zxid, number;
};

static inline struct node *find_node(struct tiny_server *s, const char *path) {
    for (size_t i = 0; i < s->node_count; i++)
        if (path[0] != '\0' && strcmp(s->nodes[i].path, path) == 0)
            return &s->nodes[i];
    return NULL;
}

static inline struct node *add_node(struct tiny_server *s, const char *path, int64_t owner) {
    size_t at = 0;
    while (at < s->node_count && s->nodes[at].path[0] != '\0')
        at++;
    REQUIRE(at < NODES_MAX);
    if (at == s->node_count)
        s->node_count++;
    struct node *node = &s->nodes[at];
    *node = (struct node){.czxid = ++s->zxid, .owner = owner};
    (void)snprintf(node->path, sizeof(node->path), "%s", path);
    return node;
}

static inline bool is_child(const char *path, const char *directory) {
    size_t length = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
    return strncmp(path, directory, length) == 0 && path[length] == '/' &&
           path[length + 1] != '\0' && strchr(path + length + 1, '/') == NULL;
}

static inline size_t count_children(struct tiny_server *s, const char *directory) {
    size_t count = 0;
    for (size_t i = 0; i < s->node_count; i++)
        count += is_child(s->nodes[i].path, directory);
    return count;
}

static inline bool has_parent(struct tiny_server *s, const char *path) {
    char parent[NODE_PATH_MAX];
    (void)snprintf(parent, sizeof(parent), "%s", path);
    *strrchr(parent, '/') = '\0';
    return parent[0] == '\0' || find_node(s, parent) != NULL;
}

/* owner: the session; 0: a directory, without a number. *ret_node: where the result is OK. */
static inline enum zkli_result make_node(struct tiny_server *s, const char *path, int64_t owner,
                                         struct node **ret_node) {
    char numbered[NODE_PATH_MAX];
    if (!has_parent(s, path))
        return ZKLI_RESULT_NO_NODE;
    if (owner == 0 && find_node(s, path) != NULL)
        return ZKLI_RESULT_EXISTS;
    (void)snprintf(numbered, sizeof(numbered), "%s%010" PRId64, path, s->number);
    s->number += owner != 0;
    *ret_node = add_node(s, owner == 0 ? path : numbered, owner);
    return ZKLI_RESULT_OK;
}

static inline enum zkli_result list_children(struct tiny_server *s, const char *path,
                                             char *ret_children[CHILDREN_MAX], size_t *ret_count) {
    *ret_count = 0;
    for (size_t i = 0; i < s->node_count; i++)
        if (is_child(s->nodes[i].path, path)) {
            REQUIRE(*ret_count < CHILDREN_MAX);
            ret_children[(*ret_count)++] = strrchr(s->nodes[i].path, '/') + 1;
        }
    return strcmp(path, "/") == 0 || find_node(s, path) != NULL ? ZKLI_RESULT_OK
                                                                : ZKLI_RESULT_NO_NODE;
}

/* The end of a session. */
static inline void remove_nodes_of(struct tiny_server *s, int64_t owner) {
    for (size_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].owner == owner)
            s->nodes[i].path[0] = '\0';
        else
            s->nodes[i].is_watched = false;
}

#endif
