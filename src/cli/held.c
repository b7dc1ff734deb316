/*
 * zklock held: whether a lock is held, for scripts. Under a run of that lock: whether by that run.
 */
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/holder.h"
#include "cli/inside.h"
#include "cli/message.h"
#include "cli/session.h"

/* path: by that node; NULL: by any. One that was broken holds no more, though it may be first. */
static const zkl_contender *find_holder(const zkl_queue *queue, const char *path) {
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        const zkl_contender *c = zkl_queue_at(queue, i);
        if (c->is_holder && !c->is_broken && (path == NULL || cli_inside_is(path, c->node)))
            return c;
    }
    return NULL;
}

static int look(zkl_session *session, const cli_options *options) {
    const char *name = options->name, *path = cli_inside_node(options, name);
    zkl_queue *queue = NULL;
    char who[CLI_HOLDER_NAME_BYTES];
    zkl_err err = zkl_inspect(session, name, &queue);
    if (err != ZKL_OK)
        return cli_session_explain(options, err);
    const zkl_contender *holder = find_holder(queue, path);
    if (holder != NULL) {
        cli_holder_name(who, sizeof(who), holder);
        cli_message_detail("%s: held by %s", name, who);
    }
    int status = holder == NULL ? CLI_EXIT_NOT_HELD : CLI_EXIT_OK;
    zkl_queue_free(queue);
    return status;
}

int cli_held(const cli_options *options) {
    zkl_session *session;
    int status = cli_session_open_to_look(&session, options);
    if (status != CLI_EXIT_OK)
        return status;
    status = look(session, options);
    (void)zkl_session_close(session); /* nothing was held */
    return status;
}
