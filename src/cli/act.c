/*
 * zklock ask and break: what an operator does about a holder. A break shows first whom it would cut
 * off, and does nothing without a yes.
 */
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/holder.h"
#include "cli/message.h"
#include "cli/session.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define ANSWER_BYTES 64

/* ---- ask ---- */

int cli_ask(const cli_options *options) {
    zkl_session *session;
    int status = cli_session_open_to_look(&session, options);
    if (status != CLI_EXIT_OK)
        return status;
    zkl_err err = zkl_ask(session, options->name);
    (void)zkl_session_close(session); /* nothing was held */
    if (err == ZKL_NOT_HELD) {
        cli_message("%s: no client holds this lock", options->name);
        return CLI_EXIT_NOT_HELD;
    }
    if (err == ZKL_UNSUPPORTED) {
        cli_message("%s: only contenders of other libraries hold this lock: they cannot be asked",
                    options->name);
        return CLI_EXIT_NOT_HELD;
    }
    return cli_session_explain(options, err);
}

/* ---- break ---- */

/* The contender to break: the one that is named, or the only holder. NULL: it is said why there is
 * none. */
static const zkl_contender *choose(const cli_options *o, const zkl_queue *queue) {
    const zkl_contender *chosen = NULL;
    size_t holders = 0;
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        const zkl_contender *c = zkl_queue_at(queue, i);
        holders += c->is_holder;
        if (o->node == NULL ? c->is_holder && chosen == NULL : strcmp(c->node, o->node) == 0)
            chosen = c;
    }
    if (o->node == NULL && holders > 1) {
        cli_message("%s: %zu clients hold this lock: name the NODE of one ('zklock show -l')",
                    o->name, holders);
        return NULL;
    }
    if (chosen == NULL && o->node != NULL)
        cli_message("%s: no contender has the node '%s'", o->name, o->node);
    else if (chosen == NULL)
        cli_message("%s: no client holds this lock", o->name);
    return chosen;
}

static void show(const char *name, const zkl_queue *queue, const zkl_contender *c) {
    char who[CLI_HOLDER_NAME_BYTES], age[CLI_HOLDER_AGE_BYTES];
    size_t before = 0;
    while (zkl_queue_at(queue, before) != c)
        before++;
    cli_holder_name(who, sizeof(who), c);
    cli_holder_age(age, sizeof(age), c);
    cli_message("%s: %s %s%s; %zu behind it", name, who,
                c->is_broken   ? "is broken already"
                : c->is_holder ? "holds"
                               : "waits",
                age, zkl_queue_count(queue) - before - 1);
    if (c->is_holder && c->host[0] == '\0')
        cli_message("%s: its node has no data of zklock: that client is not told, and may go on as "
                    "if it held the lock, beside the next holder",
                    name);
}

/* A yes from who sits there; --yes stands for it. */
static bool is_wanted(const cli_options *o) {
    char answer[ANSWER_BYTES] = "";
    if (o->is_yes)
        return true;
    if (!isatty(STDIN_FILENO)) {
        cli_message("there is no terminal to ask on: --yes says that it is wanted (see 'zklock "
                    "break --help')");
        return false;
    }
    fputs("zklock: end its hold, or its place? [y/N] ", stderr);
    if (fgets(answer, sizeof(answer), stdin) != NULL &&
        (strcasecmp(answer, "y\n") == 0 || strcasecmp(answer, "yes\n") == 0))
        return true;
    cli_message("nothing was done");
    return false;
}

/* The mark is a write, which may not have been sent in a short time, or be without an answer. */
static bool is_marked(const cli_options *o, zkl_session *session, const char *node) {
    zkl_queue *queue = NULL;
    bool is_broken = false;
    if (zkl_session_state(session) != ZKL_STATE_CONNECTED ||
        zkl_inspect(session, o->name, &queue) != ZKL_OK)
        return false;
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        const zkl_contender *c = zkl_queue_at(queue, i);
        is_broken = is_broken || (c->is_broken && strcmp(c->node, node) == 0);
    }
    zkl_queue_free(queue);
    return is_broken;
}

static int end_contender(const cli_options *o, zkl_session *session, const char *node) {
    zkl_err err = zkl_break(session, o->name, node, o->wait_ms);
    if (err == ZKL_NOT_HELD) /* it has gone by itself meanwhile */
        return CLI_EXIT_OK;
    if (err == ZKL_TIMEOUT) {
        cli_message(is_marked(o, session, node)
                        ? "%s: not gone yet; the mark stays, and another break goes on from there"
                        : "%s: not gone yet, and not known to be marked: try again, with a longer "
                          "--wait",
                    o->name);
        return CLI_EXIT_NOT_ACQUIRED;
    }
    if (err == ZKL_UNSUPPORTED) {
        cli_message("%s: the node's ACL was changed, or its data are none of zklock's: its owner "
                    "cannot be told",
                    o->name);
        return CLI_EXIT_DENIED;
    }
    return cli_session_explain(o, err);
}

static int choose_and_end(const cli_options *o, zkl_session *session) {
    zkl_queue *queue = NULL;
    zkl_err err = zkl_inspect(session, o->name, &queue);
    if (err != ZKL_OK)
        return cli_session_explain(o, err);
    int status = CLI_EXIT_NOT_HELD;
    const zkl_contender *c = choose(o, queue);
    if (c != NULL) {
        show(o->name, queue, c);
        status = is_wanted(o) ? end_contender(o, session, c->node) : CLI_EXIT_USAGE;
    }
    zkl_queue_free(queue);
    return status;
}

int cli_break(const cli_options *options) {
    zkl_session *session;
    int status = cli_session_open_to_look(&session, options);
    if (status != CLI_EXIT_OK)
        return status;
    status = choose_and_end(options, session);
    (void)zkl_session_close(session); /* nothing was held */
    return status;
}
