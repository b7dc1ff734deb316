/* samples - see samples.h. */
#include "cli/samples.h"

#include "cli/json.h"
#include "cli/table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *const Names[] = {"read", "write", "acquire", "release", "hand-off"};
static const char *const Titles[] = {"WHAT", "COUNT", "MEDIAN", "99 %"};

struct cli_samples {
    size_t most, counts[CLI_SAMPLE_KINDS];
    double *ms; /* most of each kind */
};

cli_samples *cli_samples_new(size_t most) {
    cli_samples *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->most = most;
    s->ms = calloc(most * CLI_SAMPLE_KINDS, sizeof(*s->ms));
    if (s->ms == NULL) {
        free(s);
        return NULL;
    }
    return s;
}

void cli_samples_free(cli_samples *samples) {
    if (samples != NULL)
        free(samples->ms);
    free(samples);
}

double cli_samples_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void cli_samples_add(cli_samples *samples, cli_sample kind, double ms) {
    assert(samples->counts[kind] < samples->most);
    samples->ms[kind * samples->most + samples->counts[kind]++] = ms;
}

static int compare(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The smallest of those that so many in a hundred do not exceed; 0: there are none. */
static double percentile(const cli_samples *s, cli_sample kind, size_t percent) {
    const size_t count = s->counts[kind];
    return count == 0 ? 0 : s->ms[kind * s->most + (count * percent + 99) / 100 - 1];
}

static void print_json(const cli_samples *s, const char *name) {
    fputs("{\"name\":", stdout);
    cli_json_string(stdout, name);
    fputs(",\"times\":[", stdout);
    for (cli_sample i = 0; i < CLI_SAMPLE_KINDS; i++)
        printf("%s{\"what\":\"%s\",\"count\":%zu,\"median_ms\":%.3f,\"p99_ms\":%.3f}",
               i == 0 ? "" : ",", Names[i], s->counts[i], percentile(s, i, 50),
               percentile(s, i, 99));
    fputs("]}\n", stdout);
}

static bool print_table(const cli_samples *s) {
    cli_table *table = cli_table_new(Titles, sizeof(Titles) / sizeof(Titles[0]));
    if (table == NULL)
        return false;
    for (cli_sample i = 0; i < CLI_SAMPLE_KINDS; i++) {
        cli_table_add(table, Names[i]);
        cli_table_addf(table, "%zu", s->counts[i]);
        cli_table_addf(table, "%.2f ms", percentile(s, i, 50));
        cli_table_addf(table, "%.2f ms", percentile(s, i, 99));
    }
    const bool is_printed = cli_table_print(table, stdout);
    cli_table_free(table);
    return is_printed;
}

bool cli_samples_print(cli_samples *samples, const char *name, bool is_json) {
    for (cli_sample i = 0; i < CLI_SAMPLE_KINDS; i++)
        qsort(samples->ms + i * samples->most, samples->counts[i], sizeof(*samples->ms), compare);
    if (is_json)
        print_json(samples, name);
    return is_json || print_table(samples);
}
