/* See raw.h. */

#include "support/raw.h"
#include "support/wait.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

struct raw {
    zhandle_t *handle;
    atomic_bool connected;
};

_Static_assert((int)ZOK == RAW_OK && (int)ZNONODE == RAW_NO_NODE && (int)ZNOAUTH == RAW_NO_AUTH &&
                   (int)ZNODEEXISTS == RAW_NODE_EXISTS && (int)ZNOTEMPTY == RAW_NOT_EMPTY &&
                   (int)ZCONNECTIONLOSS == RAW_CONNECTION_LOSS,
               "raw.h has ZooKeeper's codes");

/* The tests watch what the library under test says; this client is to say nothing. */
static void ignore_log(const char *message) {
    (void)message;
}

static void on_event(zhandle_t *handle, int type, int state, const char *path, void *context) {
    raw *r = context;

    (void)handle;
    (void)path;
    if (type == ZOO_SESSION_EVENT)
        atomic_store(&r->connected, state == ZOO_CONNECTED_STATE);
}

raw *raw_open(const char *hosts, int session_timeout_ms) {
    const int64_t end = clock_ms() + SOON_MS;
    raw *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->handle = zookeeper_init2(hosts, on_event, session_timeout_ms, NULL, r, 0, ignore_log);
    while (r->handle && !atomic_load(&r->connected) && clock_ms() < end)
        wait_pause();
    if (!r->handle || clock_ms() >= end) {
        raw_close(r);
        return NULL;
    }
    return r;
}

void raw_close(raw *r) {
    if (!r)
        return;
    if (r->handle)
        (void)zookeeper_close(r->handle); /* an error means that it is closed already */
    free(r);
}

int64_t raw_session(raw *r) {
    return zoo_client_id(r->handle)->client_id;
}

bool raw_is_over(raw *r) {
    const int64_t end = clock_ms() + SOON_MS;

    while (!atomic_load(&r->connected) && !is_unrecoverable(r->handle) && clock_ms() < end)
        wait_pause();
    return !atomic_load(&r->connected);
}

static atomic_int Authenticated; /* not on a stack: a completion may come late */

static void on_authenticated(int result, const void *data) {
    (void)data;
    atomic_store(&Authenticated, result);
}

int raw_authenticate(raw *r, const char *scheme, const char *credentials) {
    const int64_t end = clock_ms() + SOON_MS;

    atomic_store(&Authenticated, 1);
    (void)zoo_add_auth(r->handle, scheme, credentials, (int)strlen(credentials), on_authenticated,
                       NULL);
    while (atomic_load(&Authenticated) == 1 && clock_ms() < end)
        wait_pause();
    return atomic_load(&Authenticated);
}

int raw_create(raw *r, const char *path, const void *data, size_t len, int flags, char *ret_path) {
    char created[RAW_PATH_MAX];
    const int result = zoo_create(r->handle, path, data, data ? (int)len : -1, &ZOO_OPEN_ACL_UNSAFE,
                                  flags, created, sizeof(created) - 1);

    if (result == ZOK && ret_path)
        (void)snprintf(ret_path, RAW_PATH_MAX, "%s", created);
    return result;
}

int raw_make_path(raw *r, const char *path) {
    char part[RAW_PATH_MAX];
    int result = ZOK;

    for (const char *end = path; *end && (result == ZOK || result == ZNODEEXISTS);) {
        end += 1 + strcspn(end + 1, "/");
        (void)snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
        result = raw_create(r, part, "", 0, RAW_PERSISTENT, NULL);
    }
    return result == ZNODEEXISTS ? ZOK : result;
}

/*
 * Whether the leader goes by these permissions, told by writes that change nothing. A follower says
 * that they are set when it has done that itself. The leader may do it a moment later, and until
 * then it judges writes by those of before.
 */
static bool leader_knows(raw *r, const char *path, int perms) {
    char child[RAW_PATH_MAX];
    zoo_op_t check;
    zoo_op_result_t result;

    (void)snprintf(child, sizeof(child), "%s/no-such-node", path[1] == '\0' ? "" : path);
    zoo_check_op_init(&check, path, INT_MAX);
    const bool may_write = zoo_set(r->handle, path, "", 0, INT_MAX) == ZBADVERSION;
    const bool may_delete = zoo_delete(r->handle, child, -1) == ZNONODE;
    const bool may_read = zoo_multi(r->handle, 1, &check, &result) == ZBADVERSION;

    return may_write == ((perms & ZOO_PERM_WRITE) != 0) &&
           may_delete == ((perms & ZOO_PERM_DELETE) != 0) &&
           may_read == ((perms & ZOO_PERM_READ) != 0);
}

int raw_restrict(raw *r, const char *path, int perms) {
    struct ACL entry = {.perms = perms, .id = ZOO_ANYONE_ID_UNSAFE};
    const struct ACL_vector acl = {.count = 1, .data = &entry};
    const int64_t end = clock_ms() + SOON_MS;
    const int result = zoo_set_acl(r->handle, path, -1, &acl);

    while (result == ZOK && !leader_knows(r, path, perms))
        if (clock_ms() > end)
            return ZOPERATIONTIMEOUT;
    return result;
}

void raw_acl_scheme(raw *r, const char *path, char *ret_scheme, size_t size) {
    struct ACL_vector acl = {0};
    struct Stat stat;

    (void)snprintf(ret_scheme, size, "%s", "");
    if (zoo_get_acl(r->handle, path, &acl, &stat) != ZOK)
        return;
    if (acl.count > 0)
        (void)snprintf(ret_scheme, size, "%s", acl.data[0].id.scheme);
    (void)deallocate_ACL_vector(&acl);
}

int raw_delete(raw *r, const char *path) {
    return zoo_delete(r->handle, path, -1);
}

int raw_delete_tree(raw *r, const char *path) {
    int result = raw_delete(r, path);

    for (bool goes_on = true; goes_on && result == ZNOTEMPTY;) {
        raw_list list = raw_children(r, path);

        goes_on = list.code == ZOK && list.count == 0; /* just then there was none */
        for (size_t i = 0; i < list.count; i++) {
            char child[RAW_PATH_MAX];

            (void)snprintf(child, sizeof(child), "%s/%s", path, list.names[i]);
            goes_on = raw_delete_tree(r, child) == ZOK || goes_on;
        }
        raw_list_free(&list);
        result = raw_delete(r, path);
    }
    return result == ZNONODE ? ZOK : result;
}

int raw_set(raw *r, const char *path, const void *data, size_t len) {
    return zoo_set(r->handle, path, data, (int)len, -1);
}

static void take_stat(raw_stat *ret, const struct Stat *stat) {
    if (ret)
        *ret = (raw_stat){.czxid = stat->czxid,
                          .owner = stat->ephemeralOwner,
                          .version = stat->version,
                          .cversion = stat->cversion,
                          .children = stat->numChildren,
                          .data_len = stat->dataLength};
}

int raw_get(raw *r, const char *path, void *data, size_t *len, raw_stat *ret_stat) {
    int size = (int)*len;
    struct Stat stat;
    const int result = zoo_get(r->handle, path, 0, data, &size, &stat);

    if (result == ZOK) {
        *len = size > 0 ? (size_t)size : 0;
        take_stat(ret_stat, &stat);
    }
    return result;
}

bool raw_stat_of(raw *r, const char *path, raw_stat *ret_stat) {
    struct Stat stat;
    const bool found = zoo_exists(r->handle, path, 0, &stat) == ZOK;

    if (found)
        take_stat(ret_stat, &stat);
    return found;
}

bool raw_exists(raw *r, const char *path) {
    return raw_stat_of(r, path, NULL);
}

/* The number at the end of a name; -1 without one. */
static long long number_of(const char *name) {
    size_t len = strlen(name), digits = 0;

    while (digits < len && digits < 10 && name[len - digits - 1] >= '0' &&
           name[len - digits - 1] <= '9')
        digits++;
    return digits == 10 ? strtoll(name + len - digits, NULL, 10) : -1;
}

static int compare_names(const void *left, const void *right) {
    const char *a = *(char *const *)left, *b = *(char *const *)right;
    const long long x = number_of(a), y = number_of(b);

    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

raw_list raw_children(raw *r, const char *path) {
    struct String_vector found = {0};
    raw_list list = {0};

    list.code = zoo_get_children(r->handle, path, 0, &found);
    if (list.code != ZOK)
        return list;
    if (found.count > 0)
        list.names = calloc((size_t)found.count, sizeof(*list.names));
    for (; list.names && list.count < (size_t)found.count; list.count++)
        list.names[list.count] = strdup(found.data[list.count]);
    (void)deallocate_String_vector(&found);
    if (list.count > 1)
        qsort(list.names, list.count, sizeof(*list.names), compare_names);
    return list;
}

void raw_list_free(raw_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    *list = (raw_list){0};
}

size_t raw_child_count(raw *r, const char *path) {
    raw_stat stat;

    return raw_stat_of(r, path, &stat) ? (size_t)stat.children : 0;
}

size_t raw_owned_count(raw *r, const char *path, int64_t session) {
    raw_list list = raw_children(r, path);
    size_t count = 0;

    for (size_t i = 0; i < list.count; i++) {
        char child[RAW_PATH_MAX];
        raw_stat stat;

        (void)snprintf(child, sizeof(child), "%s/%s", path, list.names[i]);
        count += raw_stat_of(r, child, &stat) && stat.owner == session;
    }
    raw_list_free(&list);
    return count;
}

bool raw_child_path(raw *r, const char *path, size_t index, char *ret_path) {
    raw_list list = raw_children(r, path);
    const bool found = index < list.count;

    if (found)
        (void)snprintf(ret_path, RAW_PATH_MAX, "%s/%s", path, list.names[index]);
    raw_list_free(&list);
    return found;
}
