/* zklock ls: the locks that clients hold or wait for. */
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/table.h"

#include <stdio.h>

static const char *const Titles[] = {"NAME", "CONTENDERS"};

/* Exactly one of the two is written; a failure half way must not leave half a document. */
typedef struct listing {
    cli_table *table;
    FILE *json;
    size_t count;
} listing;

static void add_lock(const char *name, size_t contenders, void *arg) {
    listing *l = (listing *)arg;
    if (contenders == ZKL_UNREADABLE) {
        cli_message("%s: no permission to read it; left out", name[0] == '\0' ? "the root" : name);
        return;
    }
    if (l->table != NULL) {
        cli_table_add(l->table, name);
        cli_table_addf(l->table, "%zu", contenders);
    } else {
        fputs(l->count == 0 ? "" : ",", l->json);
        fputs("{\"name\":", l->json);
        cli_json_string(l->json, name);
        fprintf(l->json, ",\"contenders\":%zu}", contenders);
    }
    l->count++;
}

static int list(const cli_options *options, listing *l) {
    zkl_session *session;
    const cli_session_request request = {.connect_timeout_ms = CLI_CONNECT_TIMEOUT_MS};
    int status = cli_session_open(&session, options, &request);
    if (status != CLI_EXIT_OK)
        return status;
    zkl_err err = zkl_list(session, options->name, add_lock, l);
    (void)zkl_session_close(session); /* nothing was held */
    if (err == ZKL_INVALID && options->name != NULL)
        cli_message_bad_name("ls", options->name);
    else if (err != ZKL_OK && err != ZKL_DENIED) /* of what is denied it was told */
        cli_message_error(options->name == NULL ? "ls" : options->name, err);
    return cli_exit_status_of(err);
}

static int list_table(const cli_options *options) {
    listing l = {.table = cli_table_new(Titles, sizeof(Titles) / sizeof(Titles[0]))};
    if (l.table == NULL) {
        cli_message_error("ls", ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    int status = list(options, &l);
    if (cli_exit_has_output(status) && !cli_table_print(l.table, stdout)) {
        cli_message_error("ls", ZKL_NOMEM);
        status = CLI_EXIT_INTERNAL;
    }
    cli_table_free(l.table);
    return status;
}

typedef struct request {
    const cli_options *options;
    listing listing;
} request;

static int fill_json(FILE *json, void *arg) {
    request *r = (request *)arg;
    r->listing.json = json;
    return list(r->options, &r->listing);
}

static int list_json(const cli_options *options) {
    request r = {.options = options};
    return cli_json_print_list("ls", "locks", fill_json, &r);
}

int cli_ls(const cli_options *options) {
    return options->is_json ? list_json(options) : list_table(options);
}
