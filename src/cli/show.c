/* zklock show: one lock's queue, who holds it, and who waits for whom. */
#include "cli/commands.h"
#include "cli/contender.h"
#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const Titles[] = {"POS", "HOST", "PID",   "PROGRAM", "LABEL", "SINCE",
                                     "AGE", "HELD", "TOKEN", "SESSION", "NODE",  "STATE"};

/* The node that a waiter waits for: the one before it; for a reader, the nearest that is no reader.
 * So it is for a semaphore's; if all before it are of its kind, it waits for the end of any, and
 * the node is NULL, as for a holder. */
static const char *waits_on(const zkl_queue *queue, size_t i) {
    const zkl_contender *own = zkl_queue_at(queue, i);
    bool shares = own->kind == ZKL_READ || own->kind == ZKL_SEMAPHORE;
    while (!own->is_holder && i > 0) {
        const zkl_contender *other = zkl_queue_at(queue, --i);
        if (!shares || other->kind != own->kind)
            return other->node;
    }
    return NULL;
}

static void add_session(cli_table *table, int64_t session_id) {
    if (session_id == 0)
        cli_table_add(table, "");
    else
        cli_table_addf(table, "0x%" PRIx64, (uint64_t)session_id);
}

static void add_contender(cli_table *table, const zkl_queue *queue, size_t i) {
    const zkl_contender *c = zkl_queue_at(queue, i);
    const char *before = waits_on(queue, i);
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
    if (c->is_broken)
        cli_table_add(table, "broken");
    else if (before != NULL)
        cli_table_addf(table, "waits on %s", before);
    else if (!c->is_holder)
        cli_table_add(table, "waits");
    else /* which of the two, the servers do not know */
        cli_table_add(table, c->may_be_idle ? "holds or lingers" : "holds");
}

static bool print_table(const zkl_queue *queue) {
    int permits = zkl_queue_permits(queue);
    cli_table *table = cli_table_new(Titles, sizeof(Titles) / sizeof(Titles[0]));
    if (table == NULL)
        return false;
    if (permits > 0)
        printf("permits: %d\n", permits);
    for (size_t i = 0; i < zkl_queue_count(queue); i++)
        add_contender(table, queue, i);
    bool printed = cli_table_print(table, stdout);
    cli_table_free(table);
    return printed;
}

static void print_json_contender(const zkl_queue *queue, size_t i) {
    const zkl_contender *c = zkl_queue_at(queue, i);
    const char *before = waits_on(queue, i);
    printf("{\"position\":%zu,", i + 1);
    cli_contender_json_node(stdout, c);
    fputs(",\"waits_on\":", stdout);
    cli_json_string_or_null(stdout, before == NULL ? "" : before);
    putchar(',');
    cli_contender_json_client(stdout, c);
    putchar('}');
}

static void print_json(const char *name, const zkl_queue *queue) {
    fputs("{\"name\":", stdout);
    cli_json_string(stdout, name);
    fputs(",\"permits\":", stdout);
    cli_json_number_or_null(stdout, zkl_queue_permits(queue));
    fputs(",\"contenders\":[", stdout);
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        fputs(i == 0 ? "" : ",", stdout);
        print_json_contender(queue, i);
    }
    fputs("]}\n", stdout);
}

static int print_queue(const cli_options *options, const zkl_queue *queue) {
    if (options->is_json) {
        print_json(options->name, queue);
    } else if (zkl_queue_count(queue) == 0) {
        cli_message("%s: no client holds this lock or waits for it", options->name);
    } else if (!print_table(queue)) {
        cli_message_error(options->name, ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    return CLI_EXIT_OK;
}

int cli_show(const cli_options *options) {
    zkl_session *session;
    zkl_queue *queue = NULL;
    int status = cli_session_open_to_look(&session, options);
    if (status != CLI_EXIT_OK)
        return status;
    zkl_err err = zkl_inspect(session, options->name, &queue);
    (void)zkl_session_close(session); /* nothing was held */
    if (err != ZKL_OK)
        return cli_session_explain(options, err);
    status = print_queue(options, queue);
    zkl_queue_free(queue);
    return status;
}
