/* prometheus - see prometheus.h. */
#include "cli/prometheus.h"

#include "cli/escape.h"

#include <inttypes.h>
#include <string.h>

static bool is_harmless(uint32_t point) {
    static const struct {
        uint32_t first, last;
    } harmful[] = {{0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                   {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
                   {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < sizeof(harmful) / sizeof(harmful[0]); i++)
        if (point >= harmful[i].first && point <= harmful[i].last)
            return false;
    return true;
}

void cli_prometheus_string(FILE *out, const char *s) {
    fputc('"', out);
    for (size_t n = strlen(s); n > 0;) {
        uint32_t point;
        size_t length = cli_utf8_decode(s, n, &point);
        bool is_valid = length > 0;
        length = is_valid ? length : 1;
        if (is_valid && (point == '"' || point == '\\'))
            fprintf(out, "\\%c", (char)point);
        else if (is_valid && point == '\n')
            fputs("\\n", out);
        else if (is_valid && is_harmless(point))
            fwrite(s, 1, length, out);
        else
            for (size_t i = 0; i < length; i++)
                fprintf(out, "\\\\x%02X", (unsigned)(unsigned char)s[i]);
        s += length;
        n -= length;
    }
    fputc('"', out);
}

static void begin(FILE *out, const char *metric, const char *help) {
    fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", metric, help, metric);
}

static void begin_sample(FILE *out, const char *metric, const char *name) {
    fprintf(out, "%s{name=", metric);
    cli_prometheus_string(out, name);
    fputs("} ", out);
}

void cli_prometheus_print(FILE *out, const cli_survey *survey) {
    static const char contenders[] = "zklock_lock_contenders";
    static const char wait[] = "zklock_lock_oldest_wait_seconds";
    begin(out, contenders, "Holders of the lock and clients that wait for it.");
    for (size_t i = 0; i < survey->count; i++) {
        const cli_surveyed *lock = &survey->locks[i];
        if (lock->contenders == ZKL_UNREADABLE)
            continue;
        begin_sample(out, contenders, lock->name);
        fprintf(out, "%zu\n", lock->contenders);
    }
    begin(out, wait, "How long the first waiter of the lock has waited; 0: no client waits.");
    for (size_t i = 0; i < survey->count; i++) {
        const int64_t wait_ms = cli_survey_wait_ms(&survey->locks[i]);
        if (wait_ms < 0)
            continue;
        begin_sample(out, wait, survey->locks[i].name);
        fprintf(out, "%" PRId64 ".%03" PRId64 "\n", wait_ms / 1000, wait_ms % 1000);
    }
}
