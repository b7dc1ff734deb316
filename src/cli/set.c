/*
 * zklock set: writes a node on condition that the run around us still holds. The data are read
 * before the session is opened: who writes them may take its time.
 */
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/inside.h"
#include "cli/message.h"
#include "cli/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node that is missing may be made by another, and that one deleted, so often in a row. */
#define CREATES_MAX 8

typedef struct set {
    const cli_options *options;
    cli_inside_guard by;
    char *data; /* with room for one byte too many */
    size_t length;
} set;

/* ---- What is to be written ---- */

static bool read_all(set *s, FILE *file, const char *name) {
    s->length = fread(s->data, 1, ZKL_GUARDED_SET_MAX + 1, file);
    if (ferror(file)) {
        cli_message("%s: %s", name, strerror(errno));
        return false;
    }
    if (s->length > ZKL_GUARDED_SET_MAX) {
        cli_message("%s: too large for a node: at most %d bytes", name, ZKL_GUARDED_SET_MAX);
        return false;
    }
    return true;
}

static bool read_data(set *s) {
    const char *name = s->options->node;
    bool is_input = name == NULL || strcmp(name, "-") == 0;
    FILE *file = is_input ? stdin : fopen(name, "re");
    if (file == NULL) {
        cli_message("%s: %s", name, strerror(errno));
        return false;
    }
    bool is_read = read_all(s, file, is_input ? "standard input" : name);
    if (!is_input)
        (void)fclose(file); /* nothing was written */
    return is_read;
}

/* ---- Writing ---- */

static zkl_err write_node(const set *s, zkl_session *session, int version, int *ret_version) {
    return zkl_guarded_set_by_node(session, &s->by.guard, s->options->name, s->data, s->length,
                                   version, CLI_CONNECT_TIMEOUT_MS, ret_version);
}

/* It is set, or made, or what keeps it from either is told. */
static zkl_err write_or_create(const set *s, zkl_session *session, int *ret_version) {
    zkl_err err = write_node(s, session, s->options->if_version, ret_version);
    for (int i = 0; i < CREATES_MAX && s->options->creates && err == ZKL_NO_NODE; i++) {
        err = write_node(s, session, ZKL_ABSENT, ret_version);
        if (err == ZKL_BAD_VERSION) /* it is there now */
            err = write_node(s, session, -1, ret_version);
        else if (err == ZKL_NO_NODE)
            break; /* its parent is not */
    }
    return err;
}

static int explain(const set *s, zkl_err err) {
    const cli_options *o = s->options;
    const char *lock = getenv("ZKLOCK_NAME");
    if (err == ZKL_LOST)
        cli_message("%s: not written: the hold of %s is over", o->name,
                    lock == NULL ? "the run around it" : lock);
    else if (err == ZKL_BAD_VERSION)
        cli_message("%s: not written: it has another version than %d", o->name, o->if_version);
    else if (err == ZKL_NO_NODE && o->creates)
        cli_message("%s: not written: the node above it does not exist", o->name);
    else if (err == ZKL_NO_NODE)
        cli_message("%s: there is no such node (--create makes it)", o->name);
    else if (err == ZKL_UNSURE)
        cli_message("%s: written or not: no answer came. Read it before you go on", o->name);
    else if (err == ZKL_INVALID)
        cli_message("'%s' is not the absolute path of a node, or a line of ZKLOCK_NODE is none of "
                    "a contender's",
                    o->name);
    else
        cli_message_error(o->name, err);
    return cli_exit_status_of(err);
}

static int open_and_write(const set *s) {
    zkl_session *session;
    int version = -1;
    int status = cli_session_open_to_look(&session, s->options);
    if (status != CLI_EXIT_OK)
        return status;
    zkl_err err = write_or_create(s, session, &version);
    (void)zkl_session_close(session); /* nothing was held */
    if (err != ZKL_OK)
        return explain(s, err);
    cli_message_detail("%s: written, version %d", s->options->name, version);
    return CLI_EXIT_OK;
}

/* False: it is said why there is none. */
static bool find_guard(set *s) {
    if (s->options->is_unguarded) {
        s->by.guard = ZKL_GUARD(.unguarded = true);
        return true;
    }
    if (getenv("ZKLOCK_NODE") == NULL) {
        cli_message("not inside a 'zklock run': no hold guards the write (--unguarded writes all "
                    "the same)");
        return false;
    }
    return cli_inside_guard_by(&s->by);
}

int cli_set(const cli_options *options) {
    set s = {.options = options, .data = malloc(ZKL_GUARDED_SET_MAX + 1)};
    int status = CLI_EXIT_USAGE;
    if (s.data == NULL) {
        cli_message_error("set", ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    if (find_guard(&s) && read_data(&s))
        status = open_and_write(&s);
    free(s.by.lines);
    free(s.data);
    return status;
}
