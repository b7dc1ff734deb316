/* Loops over the locks, so that the rest of the command need not know how many they are. */
#include "cli/holds.h"

#include "cli/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* zkl_node_path's promise. */
#define NODE_PATH_BYTES 1024

static void set_title(cli_holds *holds) {
    const char *first = holds->names[0];
    if (holds->count == 1)
        (void)snprintf(holds->title, sizeof(holds->title), "%s", first);
    else
        (void)snprintf(holds->title, sizeof(holds->title), "%s and %zu more", first,
                       holds->count - 1);
}

zkl_err cli_holds_open(cli_holds *holds, zkl_session *session, char *const *names, size_t count,
                       const zkl_lock_options *options, const char **ret_name) {
    zkl_err err = ZKL_OK;
    *holds = (cli_holds){.count = count, .names = names};
    set_title(holds);
    for (size_t i = 0; i < count && err == ZKL_OK; i++) {
        *ret_name = names[i];
        err = zkl_lock_open(&holds->locks[i], session, names[i], options);
    }
    return err;
}

void cli_holds_close(const cli_holds *holds) {
    for (size_t i = 0; i < holds->count; i++)
        (void)zkl_lock_close(holds->locks[i]); /* NULL when it did not come to that */
}

/* One needs no transaction. */
zkl_err cli_holds_acquire(const cli_holds *holds, int64_t timeout_ms) {
    return holds->count == 1 ? zkl_acquire(holds->locks[0], timeout_ms)
                             : zkl_acquire_all(holds->locks, holds->count, timeout_ms);
}

void cli_holds_give_up(const cli_holds *holds) {
    (void)zkl_release_all(holds->locks, holds->count); /* what is lost or not held is released */
}

/* The servers take a session's requests in order: the confirmation of the last is that of all. */
zkl_err cli_holds_release(const cli_holds *holds, int64_t timeout_ms) {
    size_t last = 0;
    for (size_t i = 1; i < holds->count; i++)
        last = zkl_held(holds->locks[i]) ? i : last;
    for (size_t i = 0; i < holds->count; i++)
        if (i != last)
            (void)zkl_release(holds->locks[i]); /* says LOST or NOT_HELD, for which this is right */
    return zkl_release_wait(holds->locks[last], timeout_ms);
}

bool cli_holds_are_held(const cli_holds *holds) {
    for (size_t i = 0; i < holds->count; i++)
        if (!zkl_held(holds->locks[i]))
            return false;
    return true;
}

int64_t cli_holds_remaining_ms(const cli_holds *holds) {
    int64_t least_ms = zkl_remaining_ms(holds->locks[0]);
    for (size_t i = 1; i < holds->count; i++) {
        int64_t remaining_ms = zkl_remaining_ms(holds->locks[i]);
        least_ms = remaining_ms < least_ms ? remaining_ms : least_ms;
    }
    return least_ms;
}

const char *cli_holds_lost_one(const cli_holds *holds) {
    const char *lost = NULL;
    bool is_any_held = false;
    for (size_t i = 0; i < holds->count; i++)
        if (zkl_held(holds->locks[i]))
            is_any_held = true;
        else if (lost == NULL)
            lost = holds->names[i];
    return is_any_held ? lost : NULL;
}

/* ---- For CMD ---- */

/* False: out of memory, and the list is gone. */
static bool append_line(char **list, const char *line) {
    char *shorter = *list;
    bool is_first = shorter == NULL;
    if (asprintf(list, "%s%s%s", is_first ? "" : shorter, is_first ? "" : "\n", line) < 0)
        *list = NULL;
    free(shorter);
    return *list != NULL;
}

char *cli_holds_names(const cli_holds *holds) {
    char *list = NULL;
    for (size_t i = 0; i < holds->count; i++)
        if (!append_line(&list, holds->names[i]))
            return NULL;
    return list;
}

zkl_err cli_holds_nodes(const cli_holds *holds, char **ret_paths, const char **ret_name) {
    char path[NODE_PATH_BYTES];
    char *list = NULL;
    zkl_err err = ZKL_OK;
    for (size_t i = 0; i < holds->count && err == ZKL_OK; i++) {
        *ret_name = holds->names[i];
        err = zkl_node_path(holds->locks[i], path, sizeof(path));
        if (err != ZKL_OK)
            continue;
        cli_message_detail("acquired %s, token %" PRId64 ", node %s", *ret_name,
                           zkl_token(holds->locks[i]), path);
        err = append_line(&list, path) ? ZKL_OK : ZKL_NOMEM;
    }
    if (err == ZKL_OK)
        *ret_paths = list;
    else
        free(list);
    return err;
}
