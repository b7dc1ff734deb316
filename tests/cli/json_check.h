/* Says whether a text is one JSON value (RFC 8259), in UTF-8 that is not looked into. */
#ifndef CLI_JSON_CHECK_H
#define CLI_JSON_CHECK_H

#include <stdbool.h>
#include <string.h>

/* Deeper than any document of ours. */
#define JSON_DEPTH_MAX 16

static bool json_value(const char **p, int depth);

static void json_space(const char **p) {
    *p += strspn(*p, " \t\r\n");
}

static bool json_take(const char **p, const char *word) {
    size_t length = strlen(word);
    if (strncmp(*p, word, length) != 0)
        return false;
    *p += length;
    return true;
}

static bool json_string(const char **p) {
    if (!json_take(p, "\""))
        return false;
    while (**p != '"') {
        if ((unsigned char)**p < 0x20)
            return false;
        if (json_take(p, "\\u")) {
            if (strspn(*p, "0123456789abcdefABCDEF") < 4)
                return false;
            *p += 4;
        } else if (json_take(p, "\\")) {
            if (**p == '\0' || strchr("\"\\/bfnrt", **p) == NULL)
                return false;
            (*p)++;
        } else {
            (*p)++;
        }
    }
    return json_take(p, "\"");
}

static bool json_digits(const char **p) {
    size_t n = strspn(*p, "0123456789");
    *p += n;
    return n > 0;
}

static bool json_number(const char **p) {
    (void)json_take(p, "-");
    if (!json_take(p, "0") && !json_digits(p))
        return false;
    if (json_take(p, ".") && !json_digits(p))
        return false;
    if (json_take(p, "e") || json_take(p, "E")) {
        if (!json_take(p, "+"))
            (void)json_take(p, "-");
        return json_digits(p);
    }
    return true;
}

/* A list of values, or of names with values, up to the closing bracket. */
static bool json_members(const char **p, const char *close, bool named, int depth) {
    json_space(p);
    if (json_take(p, close))
        return true;
    do {
        json_space(p);
        if (named) {
            if (!json_string(p))
                return false;
            json_space(p);
            if (!json_take(p, ":"))
                return false;
        }
        if (!json_value(p, depth))
            return false;
    } while (json_take(p, ","));
    return json_take(p, close);
}

static bool json_value(const char **p, int depth) {
    bool valid;
    if (depth == JSON_DEPTH_MAX)
        return false;
    json_space(p);
    if (json_take(p, "{"))
        valid = json_members(p, "}", true, depth + 1);
    else if (json_take(p, "["))
        valid = json_members(p, "]", false, depth + 1);
    else if (**p == '"')
        valid = json_string(p);
    else
        valid = json_take(p, "true") || json_take(p, "false") || json_take(p, "null") ||
                json_number(p);
    json_space(p);
    return valid;
}

static bool json_is_valid(const char *text) {
    return json_value(&text, 0) && *text == '\0';
}

#endif
