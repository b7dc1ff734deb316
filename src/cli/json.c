/* JSON strings out of arbitrary bytes. */
#include "cli/json.h"

#include "cli/escape.h"

#include <string.h>

#define REPLACEMENT 0xfffdU

static void put_point(FILE *out, uint32_t point) {
    if (point == '"' || point == '\\') {
        fprintf(out, "\\%c", (char)point);
    } else if (point >= 0x20 && point < 0x7f) {
        fputc((int)point, out);
    } else if (point < 0x10000) {
        fprintf(out, "\\u%04x", (unsigned)point);
    } else {
        point -= 0x10000;
        fprintf(out, "\\u%04x\\u%04x", (unsigned)(0xd800 + (point >> 10)),
                (unsigned)(0xdc00 + (point & 0x3ff)));
    }
}

void cli_json_string(FILE *out, const char *s) {
    size_t n = strlen(s);
    fputc('"', out);
    for (size_t i = 0; i < n;) {
        uint32_t point;
        size_t length = cli_utf8_decode(s + i, n - i, &point);
        put_point(out, length == 0 ? REPLACEMENT : point);
        i += length == 0 ? 1 : length;
    }
    fputc('"', out);
}

void cli_json_string_or_null(FILE *out, const char *s) {
    if (*s == '\0')
        fputs("null", out);
    else
        cli_json_string(out, s);
}
