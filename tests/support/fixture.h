/*
 * What nearly every test against a server begins with: sessions and locks under a root of the
 * program's own, their paths on the server, and what the process has open.
 */
#ifndef SUPPORT_FIXTURE_H
#define SUPPORT_FIXTURE_H

#include <zklock.h>

#include "support/actor.h"
#include "support/events.h"
#include "support/main.h"
#include "support/proxy.h"
#include "support/raw.h"
#include "support/server.h"
#include "support/wait.h"

/* Has no address, and no server for names is asked: a label has 63 characters at most. */
#define NO_SUCH_HOST "no-such-host-no-such-host-no-such-host-no-such-host-no-such-host-no-such:2181"

/* Session timeouts. The throw-away server grants from 1 s, two of its ticks. */
#define T_SHORT 1000  /* where the test waits for it to pass */
#define T_NORMAL 4000 /* where it must not pass, on a machine that is busy */
#define T_LONG 30000  /* so that heartbeats, one each T/16, stay out of the way */

/* As server_start, and a root no other program uses; removed in the end. */
void fixture_start(const char *const *options);
/*
 * The same with three servers in namespaces of support/netns.h, whatever ZKLOCK_HOSTS says, for
 * somebody else's are in no network that a test could break. To be called first thing in main.
 */
void fixture_start_in_netns(const char *const *options);
/* Runs after each test: the server runs and is not frozen. */
void fixture_recover(void);
const char *fixture_root(void);
/* The raw client of the program, a session of its own straight to the server. */
raw *fixture_raw(void);

/* "<root>/<name>"; static, and good for the next 63 calls; for the thread of the tests. */
const char *lock_dir(const char *name);
/* "<name>-<number>": a lock name that no other test uses; good for the next 2047 calls. */
const char *fresh_name(const char *name);

/* A lock name of 255 bytes, so that a session's budget is spent soon. */
void long_name(char ret_name[256], const char *prefix, int number);

/* These leave the test if they fail. e may be NULL. */
zkl_session *session_open(const char *hosts, int timeout_ms, events *e);
zkl_session *session_open_with(const char *hosts, zkl_session_options options);
zkl_lock *lock_open(zkl_session *s, const char *name, events *e);
zkl_lock *lock_open_recursive(zkl_session *s, const char *name);
/* Closes and checks that it took less than 2 s. */
void session_close(zkl_session *s);
void lock_close(zkl_lock *l);
proxy *proxy_new(void);

/* What it takes to end a session in its owner's place; to be had while it is connected. */
typedef struct credentials {
    int64_t id;
    char password[16];
} credentials;

credentials session_credentials(zkl_session *s);
/* Ends the session on the server, as its timeout would, over a connection of its own. */
void credentials_expire(const credentials *c);
/* Both at once. */
void session_expire(zkl_session *s);

/*
 * Makes the lock's directory, to stay. One that a client has made is removed when it is empty, in
 * each minute at an instant of the servers' choice, and that costs the next acquire requests.
 * Leaves the test if it fails.
 */
void dir_make(const char *name);
/* How many children the lock's directory has. */
size_t queue_length(const char *name);
/* How many nodes under the lock belong to that session. */
size_t queue_owned(const char *name, int64_t session_id);

/* What Curator's clients put before the number; any uuid will do. */
#define CURATOR "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-lock-"

/*
 * Creates a child of the lock's directory as another program would, with its directory. The
 * contender is ephemeral and gets its number from the server. ret_path, of RAW_PATH_MAX bytes, may
 * be NULL. These leave the test if they fail.
 */
void plant(const char *name, const char *child, int flags, char *ret_path);
void plant_contender(const char *name, const char *prefix, char *ret_path);
void uproot(const char *path);
/* The same where something was broken: asks again, for 90 s at most. The servers may still elect a
 * leader. One that was cut off may commit nothing for a while (ZOOKEEPER-4685). */
void uproot_at_last(const char *path);

/* Of this process. */
size_t process_threads(void);
size_t process_descriptors(void);
/* Without what comes from files, of which more is read as more code is run. */
size_t process_resident_kib(void);
/* A sanitizer keeps what is freed for a while, and keeps books. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_IS_MEASURABLE false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MEMORY_IS_MEASURABLE false
#endif
#endif
#ifndef MEMORY_IS_MEASURABLE
#define MEMORY_IS_MEASURABLE true
#endif

#endif
