/* zklock deadlocks: clients that wait for each other in a circle. */
#include "cli/commands.h"
#include "cli/contender.h"
#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/table.h"

#include <stdio.h>

static const char *const Titles[] = {"CIRCLE", "HOST",  "PID",       "THREAD", "PROGRAM", "LABEL",
                                     "BLOCKS", "TOKEN", "WAITS FOR", "AGE",    "NODE"};

/* Exactly one of the two is written. */
typedef struct search {
    const cli_options *options;
    cli_table *table;
    FILE *json;
    size_t count; /* of circles */
} search;

/* The waiter is whom the wait before it, or the last one, has as its blocker. */
static void add_row(search *s, const zkl_wait *before, const zkl_wait *wait) {
    const zkl_contender *c = wait->waiter;
    cli_table_addf(s->table, "%zu", s->count + 1);
    cli_table_add(s->table, c->host);
    cli_table_add_decimal(s->table, c->pid);
    cli_table_add_decimal(s->table, c->thread);
    cli_table_add(s->table, c->program);
    cli_table_add(s->table, c->label);
    cli_table_add(s->table, before->name);
    cli_table_add_decimal(s->table, before->blocker->token);
    cli_table_add(s->table, wait->name);
    cli_table_add_age(s->table, c->since_ms);
    cli_table_add(s->table, c->node);
}

static void print_contender(FILE *out, const char *key, const zkl_contender *c) {
    fprintf(out, ",\"%s\":{", key);
    cli_contender_json_node(out, c);
    fputc(',', out);
    cli_contender_json_client(out, c);
    fputc('}', out);
}

static void print_waits(FILE *out, const zkl_wait *waits, size_t count) {
    fputs("{\"waits\":[", out);
    for (size_t i = 0; i < count; i++) {
        fputs(i == 0 ? "{\"name\":" : ",{\"name\":", out);
        cli_json_string(out, waits[i].name);
        print_contender(out, "waiter", waits[i].waiter);
        print_contender(out, "blocker", waits[i].blocker);
        fputc('}', out);
    }
    fputs("]}", out);
}

static void on_circle(const zkl_wait *waits, size_t count, void *arg) {
    search *s = (search *)arg;
    if (s->table != NULL) {
        for (size_t i = 0; i < count; i++)
            add_row(s, &waits[i == 0 ? count - 1 : i - 1], &waits[i]);
    } else {
        fputs(s->count == 0 ? "" : ",", s->json);
        print_waits(s->json, waits, count);
    }
    s->count++;
}

static int find(search *s) {
    zkl_session *session;
    const cli_session_request request = {.connect_timeout_ms = CLI_CONNECT_TIMEOUT_MS};
    int status = cli_session_open(&session, s->options, &request);
    if (status != CLI_EXIT_OK)
        return status;
    zkl_err err = zkl_find_deadlocks(session, s->options->name, on_circle, s);
    (void)zkl_session_close(session); /* nothing was held */
    if (err == ZKL_INVALID && s->options->name != NULL)
        cli_message_bad_name("deadlocks", s->options->name);
    else if (err == ZKL_DENIED)
        cli_message("some queues may not be read: what is found is in the others");
    else if (err != ZKL_OK)
        cli_message_error("deadlocks", err);
    return cli_exit_status_of(err);
}

static int find_table(search *s) {
    s->table = cli_table_new(Titles, sizeof(Titles) / sizeof(Titles[0]));
    if (s->table == NULL) {
        cli_message_error("deadlocks", ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    int status = find(s);
    if (cli_exit_has_output(status) && !cli_table_print(s->table, stdout)) {
        cli_message_error("deadlocks", ZKL_NOMEM);
        status = CLI_EXIT_INTERNAL;
    }
    cli_table_free(s->table);
    return status;
}

static int fill_json(FILE *json, void *arg) {
    search *s = (search *)arg;
    s->json = json;
    return find(s);
}

int cli_deadlocks(const cli_options *options) {
    search s = {.options = options};
    int status = options->is_json ? cli_json_print_list("deadlocks", "deadlocks", fill_json, &s)
                                  : find_table(&s);
    return status == CLI_EXIT_OK && s.count > 0 ? CLI_EXIT_DEADLOCK : status;
}
