/* znode_path - see znode_path.h. */
#include "core/znode_path.h"

#include <stddef.h>
#include <string.h>

/* Control characters, surrogates, private use, and U+FFF0 to U+FFFF, among which is what a server
 * reads for bytes that are not UTF-8. */
static bool is_refused(unsigned code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code <= 0xf8ff) ||
           code >= 0xfff0;
}

static bool is_continued(const unsigned char *p) {
    return (*p & 0xc0) == 0x80;
}

/* The character at the start of UTF-8. Returns its length, or 0: it is none, or above the basic
 * plane, where the servers see two surrogates. */
static size_t decode(const unsigned char *p, unsigned *ret_code) {
    if (p[0] < 0x80) {
        *ret_code = p[0];
        return 1;
    }
    if (p[0] >= 0xc2 && p[0] <= 0xdf && is_continued(p + 1)) {
        *ret_code = ((p[0] & 31u) << 6) | (p[1] & 63u);
        return 2;
    }
    if ((p[0] & 0xf0) == 0xe0 && is_continued(p + 1) && is_continued(p + 2)) {
        *ret_code = ((p[0] & 15u) << 12) | ((p[1] & 63u) << 6) | (p[2] & 63u);
        return *ret_code < 0x800 ? 0 : 3;
    }
    return 0;
}

static bool characters_are_valid(const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    while (*p != '\0') {
        unsigned code;
        size_t length = decode(p, &code);
        if (length == 0 || is_refused(code))
            return false;
        p += length;
    }
    return true;
}

static bool is_dots(const char *name, size_t length) {
    return (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.');
}

static bool names_are_valid(const char *names, bool may_end_empty) {
    if (!characters_are_valid(names))
        return false;
    const char *name = names, *slash;
    for (; (slash = strchr(name, '/')) != NULL; name = slash + 1)
        if (slash == name || is_dots(name, (size_t)(slash - name)))
            return false;
    return name[0] == '\0' ? may_end_empty : !is_dots(name, strlen(name));
}

bool zkli_names_are_valid(const char *names) {
    return names_are_valid(names, false);
}

bool zkli_path_is_valid(const char *path, bool is_sequence) {
    if (path == NULL || path[0] != '/')
        return false;
    return path[1] == '\0' || names_are_valid(path + 1, is_sequence);
}
