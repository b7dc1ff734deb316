/* UTF-8 decoding and escaping for terminals. */
#include "cli/escape.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* By the first byte: how many bytes, and the smallest code point that needs so many. */
static size_t sequence_length(unsigned char first, uint32_t *ret_bits, uint32_t *ret_least) {
    if ((first & 0xe0) == 0xc0) {
        *ret_bits = first & 0x1f;
        *ret_least = 0x80;
        return 2;
    }
    if ((first & 0xf0) == 0xe0) {
        *ret_bits = first & 0x0f;
        *ret_least = 0x800;
        return 3;
    }
    if ((first & 0xf8) == 0xf0) {
        *ret_bits = first & 0x07;
        *ret_least = 0x10000;
        return 4;
    }
    return 0;
}

size_t cli_utf8_decode(const char *s, size_t n, uint32_t *ret_point) {
    const unsigned char *bytes = (const unsigned char *)s;
    uint32_t point;
    uint32_t least;
    if (bytes[0] < 0x80) {
        *ret_point = bytes[0];
        return 1;
    }
    size_t length = sequence_length(bytes[0], &point, &least);
    if (length == 0 || length > n)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (bytes[i] & 0x3f);
    }
    if (point < least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    *ret_point = point;
    return length;
}

bool cli_locale_is_utf8(void) {
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* The columns a character occupies if it may pass, else 0. */
static size_t columns_of(uint32_t point, bool utf8) {
    if (point < 0x80)
        return point >= 0x20 && point != 0x7f ? 1 : 0;
    /* A terminal that reads bytes would take the second half of U+06DB for CSI. */
    if (!utf8)
        return 0;
    int columns = wcwidth((wchar_t)point);
    return columns > 0 ? (size_t)columns : 0;
}

size_t cli_escape(FILE *out, const char *s, size_t n, bool utf8) {
    size_t columns = 0;
    for (size_t i = 0; i < n;) {
        uint32_t point = 0;
        size_t length = cli_utf8_decode(s + i, n - i, &point);
        size_t width = length == 0 ? 0 : columns_of(point, utf8);
        if (point == '\\') {
            fputs("\\\\", out);
            columns += 2;
        } else if (width > 0) {
            fwrite(s + i, 1, length, out);
            columns += width;
        } else {
            length = length == 0 ? 1 : length;
            for (size_t j = 0; j < length; j++)
                columns += (size_t)fprintf(out, "\\x%02X", (unsigned)(unsigned char)s[i + j]);
        }
        i += length;
    }
    return columns;
}

char *cli_escaped(const char *s, bool utf8, size_t *ret_columns) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    size_t columns = cli_escape(out, s, strlen(s), utf8);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    *ret_columns = columns;
    return text;
}
