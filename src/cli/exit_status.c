/* Which exit status each error of the library becomes. */
#include "cli/exit_status.h"

int cli_exit_status_of(zkl_err err) {
    switch (err) {
    case ZKL_OK:
        return CLI_EXIT_OK;
    case ZKL_TIMEOUT:
    case ZKL_BUSY:
        return CLI_EXIT_NOT_ACQUIRED;
    case ZKL_LOST:
    case ZKL_STALE:
        return CLI_EXIT_LOST;
    case ZKL_NO_NODE:
    case ZKL_BAD_VERSION:
        return CLI_EXIT_OTHER_NODE;
    case ZKL_UNSURE:
        return CLI_EXIT_UNSURE;
    case ZKL_UNREACHABLE:
        return CLI_EXIT_NO_SERVER;
    case ZKL_DENIED:
    case ZKL_AUTH_FAILED:
        return CLI_EXIT_DENIED;
    case ZKL_INVALID:
    case ZKL_MISMATCH:
    case ZKL_UNSUPPORTED:
    case ZKL_NO_CHROOT:
        return CLI_EXIT_USAGE;
    case ZKL_CANCELED:
    case ZKL_CLOSED:
    case ZKL_NOT_HELD:
    case ZKL_DEADLOCK:
    case ZKL_LIMIT:
    case ZKL_IN_CALLBACK:
    case ZKL_NOMEM:
    case ZKL_FORKED:
    case ZKL_SERVER:
    case ZKL_IO:
    case ZKL_CORRUPT:
    case ZKL_EXPIRED:
    case ZKL_ERR_MAX_:
        break;
    }
    return CLI_EXIT_INTERNAL;
}

bool cli_exit_has_output(int status) {
    return status == CLI_EXIT_OK || status == CLI_EXIT_DENIED;
}
