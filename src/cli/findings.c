/* findings - see findings.h. */
#include "cli/findings.h"

#include "cli/escape.h"
#include "cli/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX_BYTES 1024 /* what is longer is cut */

struct cli_findings {
    FILE *json; /* NULL: lines */
    char *text; /* of json */
    size_t size;
    size_t counts[CLI_FINDING_WRONG + 1];
};

static const char *const Levels[] = {"ok", "note", "warning", "wrong"};

cli_findings *cli_findings_new(bool is_json) {
    cli_findings *f = calloc(1, sizeof(*f));
    if (f != NULL && is_json) {
        f->json = open_memstream(&f->text, &f->size);
        if (f->json == NULL) {
            free(f);
            return NULL;
        }
    }
    return f;
}

void cli_findings_free(cli_findings *findings) {
    if (findings == NULL)
        return;
    if (findings->json != NULL)
        (void)fclose(findings->json); /* what it holds is not wanted any more */
    free(findings->text);
    free(findings);
}

static void print_line(cli_level level, const char *about, const char *text, const char *advice) {
    const bool utf8 = cli_locale_is_utf8();
    printf("%-9s", Levels[level]);
    (void)cli_escape(stdout, about, strlen(about), utf8);
    fputs(": ", stdout);
    (void)cli_escape(stdout, text, strlen(text), utf8);
    if (advice != NULL) {
        fputs("\n         -> ", stdout);
        (void)cli_escape(stdout, advice, strlen(advice), utf8);
    }
    putchar('\n');
    (void)fflush(stdout); /* a failure shows at the end */
}

static void print_json(FILE *json, cli_level level, const char *check, const char *about,
                       const char *text, const char *advice) {
    fprintf(json, "{\"level\":\"%s\",\"check\":\"%s\",\"about\":", Levels[level], check);
    cli_json_string(json, about);
    fputs(",\"text\":", json);
    cli_json_string(json, text);
    fputs(",\"advice\":", json);
    cli_json_string_or_null(json, advice == NULL ? "" : advice);
    fputc('}', json);
}

void cli_findings_add(cli_findings *findings, cli_level level, const char *check, const char *about,
                      const char *advice, const char *format, ...) {
    cli_findings *f = findings;
    char text[TEXT_MAX_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (f->json == NULL) {
        print_line(level, about, text, advice);
    } else {
        fputs(f->counts[0] + f->counts[1] + f->counts[2] + f->counts[3] == 0 ? "" : ",", f->json);
        print_json(f->json, level, check, about, text, advice);
    }
    f->counts[level]++;
}

size_t cli_findings_count(const cli_findings *findings, cli_level level) {
    return findings->counts[level];
}

bool cli_findings_print(cli_findings *findings) {
    cli_findings *f = findings;
    if (f->json == NULL)
        return true;
    bool failed = ferror(f->json) != 0;
    failed = fclose(f->json) != 0 || failed;
    f->json = NULL;
    if (!failed)
        printf("{\"wrong\":%zu,\"warnings\":%zu,\"findings\":[%s]}\n", f->counts[CLI_FINDING_WRONG],
               f->counts[CLI_FINDING_WARNING], f->text);
    return !failed;
}
