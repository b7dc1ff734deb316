/* What doctor tries below the root: in a directory of its own, which it removes again. */
#include "cli/doctor.h"

#include "cli/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define PATH_BYTES 1024 /* root, name and node fit, see docs/limits.md */
#define LEVELS_MAX 128  /* of a root of 255 bytes */
/* What is left after that goes by itself: nodes with the session, an empty container later. */
#define TIDY_LIMIT_MS 3000
#define BARRIER "/zklock-barrier-of-no-node"

typedef struct trial {
    cli_doctor_place *place;
    char path[PATH_BYTES];   /* of our directory */
    bool is_persistent;      /* containers are not supported */
    size_t made[LEVELS_MAX]; /* ancestors that we have created: the lengths of their paths */
    size_t made_count;
    bool is_begun; /* the directory may exist */
} trial;

/* ---- One request ---- */

static cli_znode_result list(cli_doctor_place *p, const char *path, size_t *ret_count) {
    cli_znode_call *call = cli_znode_list(p->znodes, path);
    const cli_znode *answer = cli_znode_wait(p->znodes, call);
    const cli_znode_result result = answer->result;
    *ret_count = result == CLI_ZNODE_OK ? answer->count : 0;
    cli_znode_end(p->znodes, call);
    return result;
}

static cli_znode_result create(cli_doctor_place *p, const char *path, cli_znode_kind kind) {
    cli_znode_call *call = cli_znode_create(p->znodes, path, kind);
    const cli_znode_result result = cli_znode_wait(p->znodes, call)->result;
    cli_znode_end(p->znodes, call);
    return result;
}

static cli_znode_result delete (cli_doctor_place *p, const char *path) {
    cli_znode_call *call = cli_znode_delete(p->znodes, path);
    const cli_znode_result result = cli_znode_wait(p->znodes, call)->result;
    cli_znode_end(p->znodes, call);
    return result;
}

/* Deletes what a list has told; what came of the last delete that did not go well. */
static cli_znode_result delete_children(cli_doctor_place *p, const char *path, size_t *ret_count) {
    char child[PATH_BYTES];
    cli_znode_call *call = cli_znode_list(p->znodes, path);
    const cli_znode *answer = cli_znode_wait(p->znodes, call);
    cli_znode_result result = answer->result;
    *ret_count = result == CLI_ZNODE_OK ? answer->count : 0;
    for (size_t i = 0; i < *ret_count; i++) {
        (void)snprintf(child, sizeof(child), "%s/%s", path, answer->names[i]);
        const cli_znode_result deleted = delete (p, child);
        result = deleted == CLI_ZNODE_OK ? result : deleted;
    }
    cli_znode_end(p->znodes, call);
    return result;
}

/* ---- What is said ---- */

/* A request that came to nothing, whatever it was. */
static void add_failure(cli_doctor_place *p, cli_znode_result result, const char *path,
                        const char *what) {
    if (result == CLI_ZNODE_STOPPED) {
        p->has_gone = true;
    } else if (result == CLI_ZNODE_DENIED) {
        p->is_denied = true;
        cli_findings_add(p->findings, CLI_FINDING_WRONG, "rights", path,
                         "change its ACL, or give credentials with --auth-file",
                         "the servers do not let us %s here", what);
    } else if (result == CLI_ZNODE_SILENT) {
        p->has_gone = true;
        cli_findings_add(p->findings, CLI_FINDING_WRONG, "session", path,
                         "see whether the ensemble commits anything: docs/operations.md",
                         "no answer in time to what was to %s here", what);
    } else {
        cli_findings_add(p->findings, CLI_FINDING_WRONG, "rights", path,
                         "see the servers' logs; or another program was at work here",
                         "it was not possible to %s here", what);
    }
}

static bool chroot_exists(cli_doctor_place *p) {
    size_t count;
    const cli_znode_result result = list(p, "/", &count);
    if (result == CLI_ZNODE_NONE) {
        p->has_gone = true;
        cli_findings_add(p->findings, CLI_FINDING_WRONG, "chroot", p->chroot,
                         "create it with zkCli.sh, or correct --hosts",
                         "the chroot does not exist");
    } else if (result != CLI_ZNODE_OK && result != CLI_ZNODE_DENIED) {
        add_failure(p, result, p->chroot[0] == '\0' ? "/" : p->chroot, "list");
    } else if (strlen(p->chroot) > 1) {
        cli_findings_add(p->findings, CLI_FINDING_OK, "chroot", p->chroot, NULL,
                         "the chroot exists");
    }
    return !p->has_gone;
}

static bool look_at_root(cli_doctor_place *p) {
    size_t count;
    const cli_znode_result result = list(p, p->root, &count);
    if (result == CLI_ZNODE_OK)
        cli_findings_add(p->findings, CLI_FINDING_OK, "root", p->root, NULL,
                         "the root exists, with %zu node%s in it", count, count == 1 ? "" : "s");
    else if (result == CLI_ZNODE_NONE)
        cli_findings_add(p->findings, CLI_FINDING_OK, "root", p->root, NULL,
                         "the root does not exist yet: the first lock creates it");
    else if (result == CLI_ZNODE_DENIED)
        cli_findings_add(p->findings, CLI_FINDING_WARNING, "root", p->root,
                         "change its ACL, or give credentials with --auth-file",
                         "the root may not be listed: ls and deadlocks need that, locks do not");
    else
        add_failure(p, result, p->root, "list");
    return !p->has_gone;
}

/* A heartbeat without a node that may be read deletes below it, and it must not exist. */
static void look_at_barrier(cli_doctor_place *p) {
    size_t count;
    if (list(p, BARRIER, &count) != CLI_ZNODE_NONE && !p->has_gone)
        cli_findings_add(p->findings, CLI_FINDING_WARNING, "barrier", BARRIER, "delete that node",
                         "this node must not exist: it can cost holds their heartbeats");
}

/* ---- The trial ---- */

static cli_znode_result create_directory(trial *t, const char *path) {
    cli_znode_result result = CLI_ZNODE_UNSUPPORTED;
    if (!t->is_persistent)
        result = create(t->place, path, CLI_ZNODE_CONTAINER);
    if (result == CLI_ZNODE_UNSUPPORTED) {
        t->is_persistent = true;
        result = create(t->place, path, CLI_ZNODE_PERSISTENT);
    }
    return result;
}

/* The root and its parents, as an acquire makes them. */
static cli_znode_result create_ancestors(trial *t) {
    const char *root = t->place->root;
    const size_t length = strlen(root);
    for (size_t at = 1; at < length; at++) {
        char path[PATH_BYTES];
        at += strcspn(root + at, "/");
        (void)snprintf(path, sizeof(path), "%.*s", (int)at, root);
        if (t->made_count == LEVELS_MAX)
            return CLI_ZNODE_FAILED;
        const cli_znode_result result = create_directory(t, path);
        if (result == CLI_ZNODE_OK)
            t->made[t->made_count++] = at;
        else if (result != CLI_ZNODE_EXISTS) /* one that we may not make may be there */
            return result;
    }
    return CLI_ZNODE_OK;
}

static cli_znode_result begin(trial *t) {
    t->is_begun = true;
    cli_znode_result result = create_directory(t, t->path);
    if (result != CLI_ZNODE_NONE)
        return result;
    result = create_ancestors(t);
    return result == CLI_ZNODE_OK ? create_directory(t, t->path) : result;
}

/* In the directory that is there; says what went wrong. */
static bool try_node(trial *t) {
    char prefix[PATH_BYTES + 8];
    size_t count = 0;
    (void)snprintf(prefix, sizeof(prefix), "%s/trial-", t->path);
    cli_znode_result result = create(t->place, prefix, CLI_ZNODE_SEQUENTIAL);
    if (result != CLI_ZNODE_OK) {
        add_failure(t->place, result, t->path, "create a node");
        return false;
    }
    result = delete_children(t->place, t->path, &count);
    if (result != CLI_ZNODE_OK || count != 1) {
        add_failure(t->place, count == 1 ? result : CLI_ZNODE_FAILED, t->path,
                    "list and delete nodes");
        return false;
    }
    return true;
}

static void say_denied_delete(trial *t) {
    cli_findings_add(t->place->findings, CLI_FINDING_WARNING, "rights", t->place->root,
                     "allow it, if other programs' directories are to be removed by hand",
                     t->is_persistent ? "directories may not be deleted here: %s is left"
                                      : "directories may not be deleted here: the servers "
                                        "remove %s in a minute or so",
                     t->path);
}

/* Whatever was made, and may have been made. */
static void tidy_up(trial *t) {
    size_t count;
    cli_znode_result result = CLI_ZNODE_OK;
    cli_znodes_limit(t->place->znodes, cli_clock_ms() + TIDY_LIMIT_MS, false);
    (void)delete_children(t->place, t->path, &count); /* the next delete tells */
    result = delete (t->place, t->path);
    if (result == CLI_ZNODE_DENIED)
        say_denied_delete(t);
    else if (result != CLI_ZNODE_OK && result != CLI_ZNODE_NONE)
        cli_findings_add(t->place->findings, CLI_FINDING_WARNING, "rights", t->path,
                         "look for it later, and delete it", "it may be left over");
    while (t->made_count > 0) {
        t->path[t->made[--t->made_count]] = '\0';
        (void)delete (t->place, t->path); /* not empty: another client has come */
    }
}

static void say_containers(const trial *t) {
    if (t->is_persistent)
        cli_findings_add(t->place->findings, CLI_FINDING_WARNING, "containers", t->place->root,
                         "upgrade the servers, or delete empty directories now and then",
                         "the servers know no containers: empty directories of locks stay");
    else
        cli_findings_add(t->place->findings, CLI_FINDING_OK, "containers", t->place->root, NULL,
                         "the servers remove empty directories of locks");
}

static void try_rights(cli_doctor_place *p, const char *root) {
    uint32_t number = 0;
    trial t = {.place = p};
    (void)getrandom(&number, sizeof(number), 0); /* if not, the node may exist, and that is said */
    (void)snprintf(t.path, sizeof(t.path), "%s/zklock-doctor-%08x", root, (unsigned)number);
    const cli_znode_result result = begin(&t);
    if (result == CLI_ZNODE_OK) {
        if (try_node(&t)) {
            cli_findings_add(p->findings, CLI_FINDING_OK, "rights", p->root, NULL,
                             "we may create, read and delete here");
            say_containers(&t);
        }
    } else {
        add_failure(p, result, p->root, "create a directory");
    }
    if (result != CLI_ZNODE_DENIED && result != CLI_ZNODE_EXISTS)
        tidy_up(&t);
}

void cli_doctor_rights(cli_doctor_place *place) {
    if (!chroot_exists(place) || !look_at_root(place))
        return;
    look_at_barrier(place);
    try_rights(place, strcmp(place->root, "/") == 0 ? "" : place->root);
}
