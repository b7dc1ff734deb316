/* zklock show: one lock's queue, who holds it, and who waits for whom. */
#include "cli/commands.h"
#include "cli/contender.h"
#include "cli/json.h"
#include "cli/table.h"
#include "cli/view.h"
#include "cli/watch.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const Titles[] = {"POS", "AGE", "HELD", "WHO", "WHAT", "STATE"};
static const cli_fit Fits[] = {{0},          {.may_go = true}, {.may_go = true},
                               {.least = 8}, {.least = 8},     {0}};
static const char *const LongTitles[] = {"POS", "HOST", "PID",   "PROGRAM", "LABEL", "SINCE",
                                         "AGE", "HELD", "TOKEN", "SESSION", "NODE",  "STATE"};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define NONE SIZE_MAX /* in place of an index */

/* The contender that a waiter waits for: the one before it; for a reader, the nearest that is no
 * reader. So it is for a semaphore's. If all before it are of its kind, it waits for the end of
 * any, and this is NONE, as for a holder. */
static size_t blocker_of(const zkl_queue *queue, size_t i) {
    const zkl_contender *own = zkl_queue_at(queue, i);
    bool shares = own->kind == ZKL_READ || own->kind == ZKL_SEMAPHORE;
    for (size_t before = i; !own->is_holder && before-- > 0;)
        if (!shares || zkl_queue_at(queue, before)->kind != own->kind)
            return before;
    return NONE;
}

/* ---- The table ---- */

static void add_session(cli_table *table, int64_t session_id) {
    if (session_id == 0)
        cli_table_add(table, "");
    else
        cli_table_addf(table, "0x%" PRIx64, (uint64_t)session_id);
}

/* What it is and does, when it waits for none in particular. */
static const char *state_of(const zkl_contender *c) {
    if (c->is_broken)
        return "broken";
    if (!c->is_holder)
        return "waits for any";
    /* which of the two, the servers do not know */
    return c->may_be_idle ? "holds or lingers" : "holds";
}

static void add_contender(cli_table *table, const zkl_queue *queue, size_t i) {
    const zkl_contender *c = zkl_queue_at(queue, i);
    size_t blocker = blocker_of(queue, i);
    cli_table_addf(table, "%zu", i + 1);
    cli_table_add_age(table, c->since_ms);
    cli_table_add_age(table, c->held_since_ms);
    if (c->pid != 0)
        cli_table_addf(table, "%s pid %" PRId64, c->host, c->pid);
    else
        cli_table_add(table, c->host);
    cli_table_add(table, c->label[0] == '\0' ? c->program : c->label);
    if (!c->is_broken && blocker != NONE)
        cli_table_addf(table, "waits on %zu", blocker + 1);
    else
        cli_table_add(table, state_of(c));
}

static void add_long(cli_table *table, const zkl_queue *queue, size_t i) {
    const zkl_contender *c = zkl_queue_at(queue, i);
    size_t blocker = blocker_of(queue, i);
    char since[CLI_TIME_BYTES];
    cli_time_format(since, sizeof(since), c->since_ms);
    cli_table_addf(table, "%zu", i + 1);
    cli_table_add(table, c->host);
    cli_table_add_decimal(table, c->pid);
    cli_table_add(table, c->program);
    cli_table_add(table, c->label);
    cli_table_add(table, since);
    cli_table_add_age(table, c->since_ms);
    cli_table_add_age(table, c->held_since_ms);
    cli_table_add_decimal(table, c->token);
    add_session(table, c->session_id);
    cli_table_add(table, c->node);
    if (!c->is_broken && blocker != NONE)
        cli_table_addf(table, "waits on %s", zkl_queue_at(queue, blocker)->node);
    else
        cli_table_add(table, state_of(c));
}

static zkl_err fill_table(cli_view *view, const zkl_queue *queue, bool is_long) {
    int permits = zkl_queue_permits(queue);
    view->table = is_long ? cli_table_new(LongTitles, LENGTH(LongTitles))
                          : cli_table_new(Titles, LENGTH(Titles));
    if (view->table == NULL)
        return ZKL_NOMEM;
    if (!is_long)
        cli_table_fit(view->table, Fits);
    if (permits > 0)
        (void)snprintf(view->heading, sizeof(view->heading), "permits: %d", permits);
    for (size_t i = 0; i < zkl_queue_count(queue); i++)
        (is_long ? add_long : add_contender)(view->table, queue, i);
    return ZKL_OK;
}

/* ---- JSON ---- */

static void print_json_contender(FILE *out, const zkl_queue *queue, size_t i) {
    const zkl_contender *c = zkl_queue_at(queue, i);
    size_t blocker = blocker_of(queue, i);
    fprintf(out, "{\"position\":%zu,", i + 1);
    cli_contender_json_node(out, c);
    fputs(",\"waits_on\":", out);
    cli_json_string_or_null(out, blocker == NONE ? "" : zkl_queue_at(queue, blocker)->node);
    fputc(',', out);
    cli_contender_json_client(out, c);
    fputc('}', out);
}

static void print_json(FILE *out, const char *name, const zkl_queue *queue) {
    fputs("{\"name\":", out);
    cli_json_string(out, name);
    fputs(",\"permits\":", out);
    cli_json_number_or_null(out, zkl_queue_permits(queue));
    fputs(",\"contenders\":[", out);
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        fputs(i == 0 ? "" : ",", out);
        print_json_contender(out, queue, i);
    }
    fputs("]}\n", out);
}

static zkl_err fill_json(cli_view *view, const char *name, const zkl_queue *queue) {
    size_t size = 0;
    FILE *out = open_memstream(&view->text, &size);
    if (out == NULL)
        return ZKL_NOMEM;
    print_json(out, name, queue);
    bool has_failed = ferror(out) != 0;
    return fclose(out) != 0 || has_failed ? ZKL_NOMEM : ZKL_OK;
}

/* ---- The call ---- */

static zkl_err look(cli_view *view, zkl_session *session, const cli_options *options,
                    bool is_told) {
    zkl_queue *queue = NULL;
    (void)is_told; /* all is read, or nothing */
    zkl_err err = zkl_inspect(session, options->name, &queue);
    if (err != ZKL_OK)
        return err;
    if (options->is_json)
        err = fill_json(view, options->name, queue);
    else if (zkl_queue_count(queue) > 0)
        err = fill_table(view, queue, options->is_long);
    else
        view->note = "no client holds this lock or waits for it";
    zkl_queue_free(queue);
    return err;
}

int cli_show(const cli_options *options) {
    return options->is_watch ? cli_watch(options, look) : cli_view_once(options, look);
}
