/* zklock get: the data of a node, byte for byte, as of the call or later. */
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/message.h"
#include "cli/session.h"

#include <stdio.h>
#include <stdlib.h>

/* The servers' own limit on a node, unless it is set otherwise. A longer node is read again. */
#define FIRST_BYTES ((size_t)1 << 20)

static zkl_err read_whole(zkl_session *session, const char *path, char **ret_data,
                          size_t *ret_length, int *ret_version) {
    size_t size = 0, length = FIRST_BYTES;
    zkl_err err = ZKL_OK;
    *ret_data = NULL;
    while (err == ZKL_OK && length > size) {
        size = length;
        free(*ret_data);
        *ret_data = malloc(size);
        err = *ret_data == NULL ? ZKL_NOMEM
                                : zkl_read_node(session, path, *ret_data, size, &length,
                                                ret_version, CLI_CONNECT_TIMEOUT_MS);
    }
    *ret_length = length;
    return err;
}

static int explain(const cli_options *o, zkl_err err) {
    if (err == ZKL_NO_NODE)
        cli_message("%s: there is no such node", o->name);
    else if (err == ZKL_INVALID)
        cli_message("'%s' is not the absolute path of a node", o->name);
    else
        cli_message_error(o->name, err);
    return cli_exit_status_of(err);
}

/* Output that does not arrive is seen when it is closed. */
static int print(const cli_options *o, zkl_session *session) {
    char *data;
    size_t length;
    int version;
    zkl_err err = read_whole(session, o->name, &data, &length, &version);
    if (err == ZKL_OK && o->prints_version)
        printf("%d\n", version);
    else if (err == ZKL_OK)
        (void)fwrite(data, 1, length, stdout);
    free(data);
    return err == ZKL_OK ? CLI_EXIT_OK : explain(o, err);
}

int cli_get(const cli_options *options) {
    zkl_session *session;
    int status = cli_session_open_to_look(&session, options);
    if (status != CLI_EXIT_OK)
        return status;
    status = print(options, session);
    (void)zkl_session_close(session); /* nothing was held */
    return status;
}
