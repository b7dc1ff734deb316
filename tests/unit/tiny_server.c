/* See tiny_server.h. */
#include "unit/tiny_server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/wait.h"

#define CHILDREN_MAX 512

struct node *tiny_find(struct tiny_server *s, const char *path) {
    for (size_t i = 0; i < s->node_count; i++)
        if (path[0] != '\0' && strcmp(s->nodes[i].path, path) == 0)
            return &s->nodes[i];
    return NULL;
}

struct node *tiny_add(struct tiny_server *s, const char *path, int64_t owner) {
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

bool tiny_remove(struct tiny_server *s, const char *path) {
    struct node *node = tiny_find(s, path);
    REQUIRE(node != NULL);
    node->path[0] = '\0';
    return node->is_watched || node->is_list_watched;
}

void tiny_set(struct node *node, const char *data, size_t length) {
    REQUIRE(length <= sizeof(node->data));
    memcpy(node->data, data, length);
    node->length = length;
    node->version++;
}

bool tiny_takes_list_watch(struct tiny_server *s, const char *path) {
    char parent[NODE_PATH_MAX];
    (void)snprintf(parent, sizeof(parent), "%s", path);
    *strrchr(parent, '/') = '\0';
    struct node *directory = tiny_find(s, parent);
    bool is_watched = directory != NULL && directory->is_list_watched;
    if (is_watched)
        directory->is_list_watched = false;
    return is_watched;
}

static bool is_child(const char *path, const char *directory) {
    size_t length = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
    return strncmp(path, directory, length) == 0 && path[length] == '/' &&
           path[length + 1] != '\0' && strchr(path + length + 1, '/') == NULL;
}

size_t tiny_children(const struct tiny_server *s, const char *directory) {
    size_t count = 0;
    for (size_t i = 0; i < s->node_count; i++)
        count += is_child(s->nodes[i].path, directory);
    return count;
}

bool tiny_has_parent(struct tiny_server *s, const char *path) {
    char parent[NODE_PATH_MAX];
    (void)snprintf(parent, sizeof(parent), "%s", path);
    *strrchr(parent, '/') = '\0';
    return parent[0] == '\0' || tiny_find(s, parent) != NULL;
}

/* A directory has no owner, and no number. */
static enum zkli_result create(struct tiny_server *s, const char *path, int64_t owner,
                               struct node **ret_node) {
    char numbered[NODE_PATH_MAX];
    if (!tiny_has_parent(s, path))
        return ZKLI_RESULT_NO_NODE;
    if (owner == 0 && *ret_node != NULL)
        return ZKLI_RESULT_EXISTS;
    (void)snprintf(numbered, sizeof(numbered), "%s%010" PRId64, path, s->number);
    s->number += owner != 0;
    *ret_node = tiny_add(s, owner == 0 ? path : numbered, owner);
    return ZKLI_RESULT_OK;
}

static void list(const struct tiny_server *s, const char *path, struct zkli_reply *reply) {
    static char *children[CHILDREN_MAX];
    for (size_t i = 0; i < s->node_count; i++)
        if (is_child(s->nodes[i].path, path)) {
            REQUIRE(reply->child_count < CHILDREN_MAX);
            children[reply->child_count++] = strrchr(s->nodes[i].path, '/') + 1;
        }
    reply->children = children;
}

struct tiny_answer tiny_serve(struct tiny_server *s, enum kind kind, const char *path,
                              int64_t session, bool is_watched) {
    struct tiny_answer answer = {.reply = {.path = "", .data = ""}};
    struct zkli_reply *reply = &answer.reply;
    struct node *node = tiny_find(s, path);
    if (kind == CREATE || kind == PARENT)
        reply->result = create(s, path, kind == CREATE ? session : 0, &node);
    else if (node == NULL && path[0] != '\0' && strcmp(path, "/") != 0 && kind != AUTH)
        reply->result = ZKLI_RESULT_NO_NODE;
    else if (kind == LIST)
        list(s, path, reply);
    if (node != NULL) {
        reply->path = node->path;
        reply->stat = (struct zkli_stat){.czxid = node->czxid,
                                         .ctime_ms = TINY_CTIME_MS,
                                         .owner = node->owner,
                                         .version = node->version,
                                         .data_length = (int32_t)node->length};
        node->is_watched = node->is_watched || (is_watched && kind != LIST);
        node->is_list_watched = node->is_list_watched || (is_watched && kind == LIST);
    }
    if (node != NULL && kind == GET) {
        reply->data = node->data;
        reply->data_length = node->length;
    }
    if (node != NULL && kind == REMOVE)
        answer.fires = tiny_remove(s, path);
    return answer;
}

void tiny_end_session(struct tiny_server *s, int64_t session) {
    for (size_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].owner == session)
            s->nodes[i].path[0] = '\0';
        else
            s->nodes[i].is_watched = s->nodes[i].is_list_watched = false;
}
