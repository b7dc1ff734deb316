/* UTF-8 decoding and escaping for terminals. */
#include "cli/escape.h"

#include <langinfo.h>
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

/* One character, or a byte that begins none. */
typedef struct piece {
    size_t length;  /* in bytes */
    size_t columns; /* of what is shown for it */
    bool is_shown_as_is;
} piece;

static piece piece_at(const char *s, size_t n, bool utf8) {
    uint32_t point = 0;
    size_t length = cli_utf8_decode(s, n, &point);
    size_t columns = length == 0 ? 0 : columns_of(point, utf8);
    length = length == 0 ? 1 : length;
    if (s[0] == '\\')
        return (piece){length, 2, false};
    return columns > 0 ? (piece){length, columns, true}
                       : (piece){length, 4 * length, false}; /* \xHH for each byte */
}

static void put_piece(FILE *out, const char *s, const piece *one) {
    if (one->is_shown_as_is)
        fwrite(s, 1, one->length, out);
    else if (s[0] == '\\')
        fputs("\\\\", out);
    else
        for (size_t i = 0; i < one->length; i++)
            fprintf(out, "\\x%02X", (unsigned)(unsigned char)s[i]);
}

size_t cli_escape(FILE *out, const char *s, size_t n, bool utf8) {
    size_t columns = 0;
    for (size_t i = 0; i < n;) {
        const piece next = piece_at(s + i, n - i, utf8);
        put_piece(out, s + i, &next);
        columns += next.columns;
        i += next.length;
    }
    return columns;
}

size_t cli_escaped_columns(const char *s, bool utf8) {
    size_t columns = 0;
    for (size_t n = strlen(s); n > 0;) {
        const piece next = piece_at(s, n, utf8);
        columns += next.columns;
        s += next.length;
        n -= next.length;
    }
    return columns;
}

size_t cli_escape_cut(FILE *out, const char *s, bool utf8, size_t most) {
    const char *ellipsis = utf8 ? "\xe2\x80\xa6" : "...";
    const size_t ellipsis_columns = utf8 ? 1 : 3;
    size_t columns = 0;
    if (cli_escaped_columns(s, utf8) <= most)
        return cli_escape(out, s, strlen(s), utf8);
    if (most < ellipsis_columns)
        return (size_t)fprintf(out, "%.*s", (int)most, "...");
    for (size_t n = strlen(s);;) {
        const piece next = piece_at(s, n, utf8);
        if (columns + next.columns + ellipsis_columns > most)
            break; /* at the latest at the piece that does not fit into most */
        put_piece(out, s, &next);
        columns += next.columns;
        s += next.length;
        n -= next.length;
    }
    fputs(ellipsis, out);
    return columns + ellipsis_columns;
}
