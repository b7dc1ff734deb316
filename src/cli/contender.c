/* contender - see contender.h. */
#include "cli/contender.h"

#include "cli/json.h"

#include <inttypes.h>
#include <time.h>

/* ---- For a terminal ---- */

void cli_time_format(char *text, size_t size, int64_t since_ms) {
    time_t seconds = (time_t)(since_ms / 1000);
    struct tm parts;
    if (since_ms <= 0 || gmtime_r(&seconds, &parts) == NULL ||
        strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        text[0] = '\0';
}

void cli_age_format(char *text, size_t size, int64_t since_ms) {
    int64_t age = (int64_t)time(NULL) - since_ms / 1000;
    age = age < 0 ? 0 : age;
    if (since_ms <= 0)
        text[0] = '\0';
    else if (age < 60)
        (void)snprintf(text, size, "%" PRId64 "s", age);
    else if (age < 3600)
        (void)snprintf(text, size, "%" PRId64 "m%02" PRId64 "s", age / 60, age % 60);
    else if (age < 86400)
        (void)snprintf(text, size, "%" PRId64 "h%02" PRId64 "m", age / 3600, age / 60 % 60);
    else
        (void)snprintf(text, size, "%" PRId64 "d%02" PRId64 "h", age / 86400, age / 3600 % 24);
}

void cli_table_add_age(cli_table *table, int64_t since_ms) {
    char age[CLI_AGE_BYTES];
    cli_age_format(age, sizeof(age), since_ms);
    cli_table_add(table, age);
}

void cli_table_add_decimal(cli_table *table, int64_t value) {
    if (value == 0)
        cli_table_add(table, "");
    else
        cli_table_addf(table, "%" PRId64, value);
}

/* ---- As JSON ---- */

static const char *kind_name(zkl_kind kind) {
    static const char *const names[] = {[ZKL_MUTEX] = "mutex",
                                        [ZKL_READ] = "read",
                                        [ZKL_WRITE] = "write",
                                        [ZKL_SEMAPHORE] = "permit"};
    bool is_known = (size_t)kind < sizeof(names) / sizeof(names[0]); /* later libraries add some */
    return is_known ? names[kind] : "other";
}

void cli_contender_json_node(FILE *out, const zkl_contender *c) {
    fprintf(out, "\"holder\":%s,\"kind\":\"%s\",\"may_linger\":%s,\"broken\":%s,\"node\":",
            c->is_holder ? "true" : "false", kind_name(c->kind), c->may_be_idle ? "true" : "false",
            c->is_broken ? "true" : "false");
    cli_json_string_or_null(out, c->node);
}

static void print_string(FILE *out, const char *key, const char *value) {
    fprintf(out, ",\"%s\":", key);
    cli_json_string_or_null(out, value);
}

static void print_number(FILE *out, const char *key, int64_t value) {
    fprintf(out, ",\"%s\":", key);
    cli_json_number_or_null(out, value);
}

/* In words and in milliseconds. */
static void print_time(FILE *out, const char *words, const char *ms, int64_t since_ms) {
    char since[CLI_TIME_BYTES];
    cli_time_format(since, sizeof(since), since_ms);
    print_string(out, words, since);
    print_number(out, ms, since_ms);
}

void cli_contender_json_client(FILE *out, const zkl_contender *c) {
    fputs("\"host\":", out);
    cli_json_string_or_null(out, c->host);
    print_number(out, "pid", c->pid);
    print_number(out, "thread", c->thread);
    print_string(out, "program", c->program);
    print_string(out, "label", c->label);
    print_time(out, "since", "since_ms", c->since_ms);
    print_time(out, "held_since", "held_since_ms", c->held_since_ms);
    print_number(out, "token", c->token);
    if (c->session_id == 0)
        fputs(",\"session\":null", out);
    else /* a string: half of all session ids are beyond what most readers of JSON keep exactly */
        fprintf(out, ",\"session\":\"0x%" PRIx64 "\"", (uint64_t)c->session_id);
}
