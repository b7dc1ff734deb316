/*
 * Where the servers are and how to go there, when the command line does not say: from the
 * environment, then from one file, $XDG_CONFIG_HOME/zklock.conf or /etc/zklock.conf.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "cli/options.h"

/* The library's, see zklock.h. */
#define CLI_ROOT_DEFAULT "/locks"
#define CLI_ROOT_MAX 255
#define CLI_TIMEOUT_DEFAULT_MS 10000

/*
 * Fills in what the command line left open, and from where each comes. CLI_EXIT_CONFIG: the file is
 * wrong, and one line on standard error says where. To be called once.
 */
int cli_settings_complete(cli_options *options);

/* Whether it has the form of a root. The library looks closer, at the names in it. */
bool cli_settings_is_root(const char *path);

/* The files that were looked for: the first one that exists is read, and is *ret_read; NULL: none
 * does. A text is NULL if there is no such file to look for. */
void cli_settings_files(const char **ret_user, const char **ret_system, const char **ret_read);

#endif
