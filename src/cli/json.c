/* json - see json.h. */
#include "cli/json.h"

#include "cli/escape.h"
#include "cli/exit_status.h"
#include "cli/message.h"

#include <inttypes.h>
#include <stdlib.h>
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

void cli_json_number_or_null(FILE *out, int64_t value) {
    if (value == 0)
        fputs("null", out);
    else
        fprintf(out, "%" PRId64, value);
}

int cli_json_print_list(const char *command, const char *key, int (*fill)(FILE *json, void *arg),
                        void *arg) {
    char *text = NULL;
    size_t size = 0;
    FILE *json = open_memstream(&text, &size);
    if (json == NULL) {
        cli_message_error(command, ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    int status = fill(json, arg);
    bool failed = ferror(json) != 0;
    failed = fclose(json) != 0 || failed;
    if (cli_exit_has_output(status) && failed) {
        cli_message_error(command, ZKL_NOMEM);
        status = CLI_EXIT_INTERNAL;
    } else if (cli_exit_has_output(status)) {
        printf("{\"%s\":[%s]}\n", key, text);
    }
    free(text);
    return status;
}
