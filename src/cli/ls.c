/* zklock ls: the locks that clients hold or wait for. */
#include "cli/commands.h"
#include "cli/contender.h"
#include "cli/escape.h"
#include "cli/holder.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/prometheus.h"
#include "cli/survey.h"
#include "cli/view.h"
#include "cli/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const Titles[] = {"NAME", "HOLDER", "DEPTH", "OLDEST WAIT"};
static const cli_fit Fits[] = {{.least = 12}, {.least = 12, .may_go = true}, {0}, {.may_go = true}};

/* ---- The holder, while the queue is there ---- */

static char *describe_in_words(const zkl_contender *c) {
    char name[CLI_HOLDER_NAME_BYTES];
    cli_holder_name(name, sizeof(name), c);
    return strdup(name);
}

static char *describe_in_json(const zkl_contender *c) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    fputc('{', out);
    cli_contender_json_node(out, c);
    fputc(',', out);
    cli_contender_json_client(out, c);
    fputc('}', out);
    bool has_failed = ferror(out) != 0;
    if (fclose(out) == 0 && !has_failed)
        return text;
    free(text);
    return NULL;
}

/* ---- What could not be read ---- */

static void tell(const cli_surveyed *lock) {
    if (lock->contenders == ZKL_UNREADABLE)
        cli_message("%s: no permission to read it; left out",
                    lock->name[0] == '\0' ? "the root" : lock->name);
    else if (lock->err == ZKL_DENIED)
        cli_message("%s: no permission to read its queue", lock->name);
    else if (lock->err == ZKL_SERVER)
        cli_message("%s: a server could not read its queue", lock->name);
}

/* ---- The table ---- */

static void add_holder(cli_table *table, const cli_surveyed *lock) {
    if (lock->err != ZKL_OK)
        cli_table_add(table, "?");
    else if (lock->holder == NULL)
        cli_table_add(table, "");
    else if (lock->holders == 1)
        cli_table_add(table, lock->holder);
    else
        cli_table_addf(table, "%s and %zu%s more", lock->holder, lock->holders - 1,
                       lock->are_more ? " or" : "");
}

static void add_lock(cli_table *table, const cli_surveyed *lock) {
    cli_table_add(table, lock->name);
    add_holder(table, lock);
    cli_table_addf(table, "%zu", lock->contenders);
    if (lock->err != ZKL_OK || lock->are_more)
        cli_table_add(table, "?");
    else
        cli_table_add_age(table, lock->waiting_since_ms);
}

static zkl_err fill_table(cli_view *view, const cli_survey *survey) {
    view->table = cli_table_new(Titles, sizeof(Titles) / sizeof(Titles[0]));
    if (view->table == NULL)
        return ZKL_NOMEM;
    cli_table_fit(view->table, Fits);
    for (size_t i = 0; i < survey->count; i++)
        if (survey->locks[i].contenders != ZKL_UNREADABLE)
            add_lock(view->table, &survey->locks[i]);
    if (survey->count == 0)
        view->note = "no lock is held or waited for";
    return ZKL_OK;
}

/* ---- Text ---- */

static void print_names(FILE *out, const cli_survey *survey) {
    for (size_t i = 0; i < survey->count; i++) {
        const char *name = survey->locks[i].name;
        if (survey->locks[i].contenders == ZKL_UNREADABLE)
            continue;
        (void)cli_escape(out, name, strlen(name), cli_locale_is_utf8());
        fputc('\n', out);
    }
}

static void print_json_lock(FILE *out, const cli_surveyed *lock) {
    char since[CLI_TIME_BYTES];
    const bool is_known = lock->err == ZKL_OK && !lock->are_more;
    cli_time_format(since, sizeof(since), lock->waiting_since_ms);
    fputs("{\"name\":", out);
    cli_json_string(out, lock->name);
    fprintf(out, ",\"contenders\":%zu,\"holders\":", lock->contenders);
    cli_json_number_or_null(out, is_known ? (int64_t)lock->holders : 0);
    fprintf(out,
            ",\"holder\":%s,\"oldest_wait_since\":", lock->holder == NULL ? "null" : lock->holder);
    cli_json_string_or_null(out, since);
    fputs(",\"oldest_wait_since_ms\":", out);
    cli_json_number_or_null(out, lock->waiting_since_ms);
    if (is_known)
        fprintf(out, ",\"oldest_wait_ms\":%" PRId64 "}", cli_survey_wait_ms(lock));
    else
        fputs(",\"oldest_wait_ms\":null}", out);
}

static void print_json(FILE *out, const cli_survey *survey) {
    const char *comma = "";
    fputs("{\"locks\":[", out);
    for (size_t i = 0; i < survey->count; i++) {
        if (survey->locks[i].contenders == ZKL_UNREADABLE)
            continue;
        fputs(comma, out);
        print_json_lock(out, &survey->locks[i]);
        comma = ",";
    }
    fputs("]}\n", out);
}

static zkl_err fill_text(cli_view *view, const cli_survey *survey,
                         void (*print)(FILE *out, const cli_survey *survey)) {
    size_t size = 0;
    FILE *out = open_memstream(&view->text, &size);
    if (out == NULL)
        return ZKL_NOMEM;
    print(out, survey);
    bool has_failed = ferror(out) != 0;
    return fclose(out) != 0 || has_failed ? ZKL_NOMEM : ZKL_OK;
}

/* ---- The call ---- */

static zkl_err fill(cli_view *view, const cli_survey *survey, const cli_options *options) {
    if (options->is_json)
        return fill_text(view, survey, print_json);
    if (options->is_names)
        return fill_text(view, survey, print_names);
    if (options->is_prometheus)
        return fill_text(view, survey, cli_prometheus_print);
    return fill_table(view, survey);
}

static zkl_err look(cli_view *view, zkl_session *session, const cli_options *options,
                    bool is_told) {
    cli_survey survey;
    cli_survey_describe_fn describe = options->is_json    ? describe_in_json
                                      : options->is_names ? NULL
                                                          : describe_in_words;
    zkl_err err = cli_survey_make(&survey, session, options->name, describe);
    if (err != ZKL_OK)
        return err;
    for (size_t i = 0; i < survey.count && is_told; i++)
        tell(&survey.locks[i]);
    cli_survey_sort(&survey, options->sort);
    err = fill(view, &survey, options);
    view->err = survey.err;
    cli_survey_free(&survey);
    return err;
}

int cli_ls(const cli_options *options) {
    return options->is_watch ? cli_watch(options, look) : cli_view_once(options, look);
}
