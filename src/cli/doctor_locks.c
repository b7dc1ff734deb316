/* What doctor reads in the directories of locks: numbers near their end, and nodes of others. */
#include "cli/doctor.h"

#include "core/node_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is beyond is not read: it is a look, and each directory costs the servers a read. */
#define DIRECTORIES_MAX 10000
#define CALLS_MAX 64
#define FINDINGS_MAX 20 /* of one kind */
#define PATH_BYTES 1024
#define COUNTER_END INT64_C(2147483647)
/* Three days at a thousand acquisitions a second. */
#define COUNTER_LEFT_MIN (INT64_C(1) << 28)

typedef struct directory {
    char *path;
    cli_znode_call *call;
} directory;

typedef struct look {
    cli_doctor_place *place;
    directory *directories;
    size_t count, room, sent;
    bool is_cut;
    size_t in_use, unreadable, strangers, ends;
} look;

static bool add_directory(look *l, const char *parent, const char *child) {
    char path[PATH_BYTES];
    const int length = snprintf(path, sizeof(path), "%s/%s", strcmp(parent, "/") == 0 ? "" : parent,
                                child);
    if (length >= (int)sizeof(path))
        return true; /* no lock is there: its name would be too long */
    if (l->count == DIRECTORIES_MAX) {
        l->is_cut = true;
        return true;
    }
    if (l->count == l->room) {
        const size_t room = l->room == 0 ? CALLS_MAX : l->room * 2;
        directory *more = reallocarray(l->directories, room, sizeof(*more));
        if (more == NULL)
            return false;
        l->directories = more;
        l->room = room;
    }
    directory *d = &l->directories[l->count];
    *d = (directory){.path = strdup(child[0] == '\0' ? parent : path)};
    l->count += d->path != NULL;
    return d->path != NULL;
}

static void judge_counter(look *l, const char *path, int64_t created) {
    if (created <= COUNTER_END - COUNTER_LEFT_MIN || l->ends++ >= FINDINGS_MAX)
        return;
    cli_findings_add(l->place->findings, CLI_FINDING_WARNING, "counter", path,
                     "let the lock rest until the servers have removed its directory; delete one "
                     "that was made by hand",
                     "the numbers of its nodes are near their end: %" PRId64 " are left. There "
                     "other libraries admit several holders, and zklock reads each node",
                     COUNTER_END - created);
}

static void say_stranger(look *l, const char *path, const char *node, const char *what) {
    if (l->strangers++ < FINDINGS_MAX)
        cli_findings_add(l->place->findings, CLI_FINDING_WARNING, "strangers", path,
                         "see docs/interoperability.md: its library may not see our nodes",
                         "%s: %s", node, what);
}

/* One of a kind is said for each directory. */
static bool judge_children(look *l, const char *path, const cli_znode *answer) {
    size_t contenders = 0;
    const char *foreign = NULL;
    for (size_t i = 0; i < answer->count; i++) {
        const char *name = answer->names[i];
        const enum zkli_kind kind = zkli_node_name_parse(name).kind;
        contenders += kind != ZKLI_KIND_NONE;
        if (kind == ZKLI_KIND_FOREIGN && foreign == NULL)
            foreign = name;
        if (kind == ZKLI_KIND_NONE && !add_directory(l, path, name))
            return false;
    }
    if (foreign != NULL)
        say_stranger(l, path, foreign, "a contender of another library; it counts as exclusive");
    if (contenders > 0) {
        l->in_use++;
        judge_counter(l, path, answer->created);
    }
    return true;
}

/* Takes the answer about a directory; false: it is over. Its children are added, which may move
 * the array: no pointer into it is kept. */
static bool take(look *l, size_t i) {
    const char *path = l->directories[i].path;
    cli_znode_call *call = l->directories[i].call;
    const cli_znode *answer = cli_znode_wait(l->place->znodes, call);
    bool goes_on = true;
    if (answer->result == CLI_ZNODE_OK && answer->is_ephemeral)
        say_stranger(l, path, "it", "a client's node that is no contender; locks ignore it");
    else if (answer->result == CLI_ZNODE_OK)
        goes_on = judge_children(l, path, answer);
    else if (answer->result == CLI_ZNODE_DENIED)
        l->unreadable++;
    else
        goes_on = answer->result == CLI_ZNODE_NONE; /* it is gone by now */
    l->is_cut = l->is_cut || !goes_on;
    cli_znode_end(l->place->znodes, call);
    l->directories[i].call = NULL;
    return goes_on;
}

static void say_all(const look *l, size_t read) {
    cli_findings *f = l->place->findings;
    if (l->unreadable > 0)
        cli_findings_add(
            f, CLI_FINDING_NOTE, "locks", l->place->root, "give credentials with --auth-file",
            "%zu director%s may not be read; of the others %zu lock%s in use", l->unreadable,
            l->unreadable == 1 ? "y" : "ies", l->in_use, l->in_use == 1 ? " is" : "s are");
    if (l->is_cut)
        cli_findings_add(f, CLI_FINDING_NOTE, "locks", l->place->root,
                         "call it with a --root further below", "only %zu directories were read",
                         read);
    if (l->strangers > FINDINGS_MAX || l->ends > FINDINGS_MAX)
        cli_findings_add(f, CLI_FINDING_NOTE, "locks", l->place->root, "mend the others first",
                         "more is left out: %zu directories with nodes of others, %zu with "
                         "numbers near their end",
                         l->strangers, l->ends);
    if (l->strangers == 0 && l->ends == 0 && l->unreadable == 0 && !l->is_cut)
        cli_findings_add(f, CLI_FINDING_OK, "locks", l->place->root, NULL,
                         "%zu lock%s in use; no numbers near their end, no nodes of others",
                         l->in_use, l->in_use == 1 ? " is" : "s are");
}

void cli_doctor_locks(cli_doctor_place *place) {
    look l = {.place = place};
    size_t read = 0;
    bool goes_on = add_directory(&l, place->root, "");
    while (goes_on && read < l.count) {
        for (; l.sent < l.count && l.sent < read + CALLS_MAX; l.sent++)
            l.directories[l.sent].call = cli_znode_list(place->znodes, l.directories[l.sent].path);
        goes_on = take(&l, read++);
    }
    l.is_cut = l.is_cut || !goes_on;
    if (!place->has_gone)
        say_all(&l, read);
    for (size_t i = 0; i < l.count; i++) {
        cli_znode_end(place->znodes, l.directories[i].call);
        free(l.directories[i].path);
    }
    free(l.directories);
}
