/* See fixture.h. */
#include "support/fixture.h"

#include "session/session.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/netns.h"

#define CLOSE_LIMIT_MS 2000 /* what the library promises */

static char Root[64];
static raw *Raw;
static pid_t Owner;

static void clean_up(void) {
    if (getpid() != Owner)
        return;
    if (!server_is_ours())
        (void)raw_delete_tree(fixture_raw(), Root); /* best effort: it is not our server */
    raw_close(Raw);
}

void fixture_start(const char *const *options) {
    server_start(options);
    test_after_each(fixture_recover);
    Owner = getpid();
    (void)snprintf(Root, sizeof(Root), "/zklock-test-%ld-%lld", (long)Owner,
                   (long long)(clock_ns() % 1000000));
    if (atexit(clean_up) != 0)
        abort();
}

void fixture_start_in_netns(const char *const *options) {
    (void)unsetenv("ZKLOCK_HOSTS");
    netns_enter();
    fixture_start(options);
}

void fixture_recover(void) {
    if (server_is_ours()) {
        server_thaw();
        server_revive();
    }
}

const char *fixture_root(void) {
    return Root;
}

raw *fixture_raw(void) {
    /* A test that froze or killed the server may have cost us the session. */
    if (Raw && raw_is_over(Raw)) {
        raw_close(Raw);
        Raw = NULL;
    }
    if (!Raw)
        Raw = raw_open(server_hosts(), 60000);
    if (!Raw) {
        fprintf(stderr, "test fixture: no session with %s\n", server_hosts());
        exit(EXIT_FAILURE);
    }
    return Raw;
}

const char *lock_dir(const char *name) {
    static char buffers[64][RAW_PATH_MAX];
    static size_t next;
    char *buf = buffers[next++ % 64];

    (void)snprintf(buf, RAW_PATH_MAX, "%s/%s", Root, name);
    return buf;
}

const char *fresh_name(const char *name) {
    static char buffers[2048][64];
    static size_t next;
    char *buf = buffers[next % 2048];

    (void)snprintf(buf, sizeof(buffers[0]), "%s-%zu", name, next++);
    return buf;
}

void long_name(char ret_name[256], const char *prefix, int number) {
    const int len = snprintf(ret_name, 256, "%s-%d-", prefix, number);

    memset(ret_name + len, 'l', (size_t)(255 - len));
    ret_name[255] = '\0';
}

zkl_session *session_open_with(const char *hosts, zkl_session_options options) {
    zkl_session *s = NULL;

    options.size = sizeof(options);
    if (!options.root)
        options.root = Root;
    REQUIRE_INT(zkl_session_open(&s, hosts, &options), ZKL_OK);
    return s;
}

zkl_session *session_open(const char *hosts, int timeout_ms, events *e) {
    return session_open_with(hosts, (zkl_session_options){
                                        .session_timeout_ms = timeout_ms,
                                        .on_event = e ? events_on : NULL,
                                        .log = e ? events_log : NULL,
                                        .arg = e,
                                    });
}

zkl_lock *lock_open(zkl_session *s, const char *name, events *e) {
    zkl_lock *l = NULL;

    REQUIRE_INT(
        zkl_lock_open(&l, s, name, &ZKL_LOCK_OPTIONS(.on_event = e ? events_on : NULL, .arg = e)),
        ZKL_OK);
    return l;
}

zkl_lock *lock_open_recursive(zkl_session *s, const char *name) {
    zkl_lock *l = NULL;

    REQUIRE_INT(zkl_lock_open(&l, s, name, &ZKL_LOCK_OPTIONS(.recursive = true)), ZKL_OK);
    return l;
}

void session_close(zkl_session *s) {
    const int64_t began = clock_ms();

    CHECK_INT(zkl_session_close(s), ZKL_OK);
    CHECK_RANGE(clock_ms() - began, 0, CLOSE_LIMIT_MS);
}

void lock_close(zkl_lock *l) {
    const int64_t began = clock_ms();

    CHECK_INT(zkl_lock_close(l), ZKL_OK);
    CHECK_RANGE(clock_ms() - began, 0, CLOSE_LIMIT_MS);
}

proxy *proxy_new(void) {
    proxy *p = proxy_open(server_hosts(), "127.0.0.1");

    REQUIRE(p != NULL);
    return p;
}

credentials session_credentials(zkl_session *s) {
    credentials c = {0};

    WAIT_UNTIL((zkli_session_credentials(s, &c.id, c.password), c.id != 0), SOON_MS);
    return c;
}

void credentials_expire(const credentials *c) {
    REQUIRE(raw_expire(server_hosts(), c->id, c->password));
}

void session_expire(zkl_session *s) {
    const credentials c = session_credentials(s);

    credentials_expire(&c);
}

size_t queue_length(const char *name) {
    return raw_child_count(fixture_raw(), lock_dir(name));
}

size_t queue_owned(const char *name, int64_t session_id) {
    return raw_owned_count(fixture_raw(), lock_dir(name), session_id);
}

void dir_make(const char *name) {
    REQUIRE_INT(raw_make_path(fixture_raw(), lock_dir(name)), RAW_OK);
}

void plant(const char *name, const char *child, int flags, char *ret_path) {
    char path[RAW_PATH_MAX];
    int code;

    (void)snprintf(path, sizeof(path), "%s/%s", lock_dir(name), child);
    do { /* the servers may remove a client's directory in between */
        dir_make(name);
        code = raw_create(fixture_raw(), path, "", 0, flags, ret_path);
    } while (code == RAW_NO_NODE);
    REQUIRE_INT(code, RAW_OK);
}

void plant_contender(const char *name, const char *prefix, char *ret_path) {
    plant(name, prefix, RAW_EPHEMERAL | RAW_SEQUENTIAL, ret_path);
}

void uproot(const char *path) {
    REQUIRE_INT(raw_delete(fixture_raw(), path), RAW_OK);
}

/* A delete whose reply was lost may have been made. */
static bool is_deleted(const char *path) {
    const int code = raw_delete(fixture_raw(), path);

    return code == RAW_OK || code == RAW_NO_NODE;
}

void uproot_at_last(const char *path) {
    WAIT_UNTIL(is_deleted(path), 90000);
}

static size_t count_entries(const char *path) {
    DIR *dir = opendir(path);
    size_t count = 0;

    while (dir && readdir(dir))
        count++;
    if (dir)
        (void)closedir(dir);
    return count;
}

size_t process_threads(void) {
    return count_entries("/proc/self/task") - 2; /* . and .. */
}

size_t process_descriptors(void) {
    return count_entries("/proc/self/fd") - 3; /* and the one that reads the directory */
}

size_t process_resident_kib(void) {
    static const char key[] = "RssAnon:";
    FILE *file = fopen("/proc/self/status", "re");
    unsigned long kib = 0;
    char line[128];

    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtoul(line + strlen(key), NULL, 10);
    (void)fclose(file);
    return kib;
}
