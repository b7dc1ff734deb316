/* path - see path.h. */
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

static bool needs_slash(const char *directory, size_t length, const char *child) {
    return length > 0 && child[0] != '\0' && directory[length - 1] != '/';
}

bool zkli_path_join(char *ret_path, size_t size, const char *directory, const char *child) {
    size_t length = strlen(directory), child_size = strlen(child) + 1;
    bool has_slash = needs_slash(directory, length, child);
    if (length + has_slash + child_size > size)
        return false;
    memcpy(ret_path, directory, length);
    if (has_slash)
        ret_path[length++] = '/';
    memcpy(ret_path + length, child, child_size);
    return true;
}

char *zkli_path_join_new(const char *directory, const char *child) {
    size_t size = strlen(directory) + strlen(child) + 2;
    char *path = malloc(size);
    if (path != NULL)
        (void)zkli_path_join(path, size, directory, child); /* it fits */
    return path;
}

const char *zkli_path_last(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

unsigned zkli_path_depth(const char *path) {
    unsigned depth = 0;
    for (const char *p = path; *p != '\0'; p++)
        depth += *p == '/' && p[1] != '\0';
    return depth;
}

/* FNV-1a. */
uint64_t zkli_path_hash(const char *path, size_t length) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * UINT64_C(1099511628211);
    return hash ^ (hash >> 32);
}
