/* view - see view.h. */
#include "cli/view.h"

#include "cli/exit_status.h"
#include "cli/message.h"
#include "cli/screen.h"
#include "cli/session.h"

#include <stdlib.h>

#define INTERVAL_USUAL_MS 1000

void cli_view_free(cli_view *view) {
    cli_table_free(view->table);
    free(view->text);
    *view = (cli_view){0};
}

bool cli_view_print(const cli_view *view, FILE *out, size_t columns) {
    if (view->heading[0] != '\0')
        fprintf(out, "%s\n", view->heading);
    if (view->text != NULL)
        fputs(view->text, out);
    return view->table == NULL || cli_table_print_within(view->table, out, columns);
}

bool cli_view_print_watched(const cli_view *view, FILE *out, size_t columns) {
    if (view->note != NULL)
        fprintf(out, "%s\n", view->note);
    return cli_view_print(view, out, columns);
}

int64_t cli_watch_interval_ms(const cli_options *options) {
    return options->interval_ms == 0 ? INTERVAL_USUAL_MS : options->interval_ms;
}

int cli_view_once(const cli_options *options, cli_view_fn look) {
    zkl_session *session;
    cli_view view = {0};
    int status = cli_session_open_to_look(&session, options);
    if (status != CLI_EXIT_OK)
        return status;
    zkl_err err = look(&view, session, options, true);
    (void)zkl_session_close(session); /* nothing was held */
    if (err == ZKL_OK && !cli_view_print(&view, stdout, cli_screen_columns()))
        err = ZKL_NOMEM;
    if (err == ZKL_OK && view.note != NULL && options->subcommand == CLI_SHOW)
        cli_message("%s: %s", options->name, view.note);
    status = err == ZKL_OK ? cli_exit_status_of(view.err) : cli_session_explain(options, err);
    cli_view_free(&view);
    return status;
}
