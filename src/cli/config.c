/* zklock config: what is in force, and where each comes from. */
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/settings.h"
#include "cli/table.h"

#include <stdio.h>
#include <string.h>

static const char *const Titles[] = {"SETTING", "VALUE", "FROM"};

/* value: NULL where nothing is set. */
static void add(cli_table *table, const char *setting, const char *value, cli_origin from) {
    const char *otherwise = value == NULL ? "" : "default";
    cli_table_add(table, setting);
    cli_table_add(table, value == NULL ? "" : value);
    if (from.line > 0)
        cli_table_addf(table, "%s:%d", from.where, from.line);
    else
        cli_table_add(table, from.where == NULL ? otherwise : from.where);
}

/* The scheme is no secret; without one, all of it may be. */
static void add_auth(cli_table *table, const cli_options *o) {
    char shown[64] = "(hidden)";
    if (o->auth == NULL) {
        add(table, "auth-file", o->auth_file == NULL ? NULL : cli_auth_file_shown(o), o->auth_from);
        return;
    }
    if (strchr(o->auth, ':') != NULL)
        (void)snprintf(shown, sizeof(shown), "%.*s:(hidden)", (int)strcspn(o->auth, ":"), o->auth);
    add(table, "auth", shown, o->auth_from);
}

static void say_that_there_is_no_file(void) {
    const char *user, *system, *file;
    cli_settings_files(&user, &system, &file);
    if (file == NULL && user != NULL)
        cli_message("no configuration file: there is neither '%s' nor '%s'", user, system);
    else if (file == NULL)
        cli_message("no configuration file: there is no '%s'", system);
}

int cli_config(const cli_options *options) {
    const cli_options *o = options;
    char timeout[32];
    int timeout_ms = o->session_timeout_ms == 0 ? CLI_TIMEOUT_DEFAULT_MS : o->session_timeout_ms;
    cli_table *table = cli_table_new(Titles, sizeof(Titles) / sizeof(Titles[0]));
    bool is_printed = false;
    if (table != NULL) {
        (void)snprintf(timeout, sizeof(timeout), "%g", (double)timeout_ms / 1000);
        add(table, "hosts", o->hosts, o->hosts_from);
        add(table, "root", o->root == NULL ? CLI_ROOT_DEFAULT : o->root, o->root_from);
        add(table, "timeout", timeout, o->timeout_from);
        add_auth(table, o);
        is_printed = cli_table_print(table, stdout);
    }
    cli_table_free(table);
    if (!is_printed) {
        cli_message_error("config", ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    say_that_there_is_no_file();
    return CLI_EXIT_OK;
}
