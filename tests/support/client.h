/*
 * A client of one lock, as most tests need several: a session with one handle, one thread that
 * uses it, and a recorder of what both tell; perhaps a proxy between it and the server.
 */
#ifndef SUPPORT_CLIENT_H
#define SUPPORT_CLIENT_H

#include "support/fixture.h"

typedef struct client {
    zkl_session *session;
    bool owns_session;
    zkl_lock *lock;
    actor *actor;
    events *events;
    proxy *proxy; /* NULL: straight to the server */
    char name[256];
} client;

/* These leave the test if they fail. */
client *client_open(const char *name, int timeout_ms);
client *client_open_at(const char *hosts, const char *name, int timeout_ms);
client *client_open_proxied(const char *name, int timeout_ms);
/* Another handle, thread and recorder on the session of c; to be closed before c. */
client *client_open_on(client *c, const char *name);
/* Opens the lock anew, as one of this kind. */
void client_be(client *c, zkl_kind kind);
/* A proxied one of this kind; a semaphore's has one permit. */
client *client_open_as(const char *name, zkl_kind kind);
/* As one whose node stays for so long when it is idle. */
void client_be_lingering(client *c, zkl_kind kind, int linger_ms);
/* As one whose node is handed on between threads, so often in a row. */
void client_be_handing_on(client *c, int turns);
/* As one that is told by WANTED. */
void client_be_wanting(client *c, zkl_kind kind, int linger_ms);
/* As one of a semaphore's, with so many permits. */
void client_be_permit(client *c, int permits);
/* Acquires and releases. The node of a proxied client that lingers stays then, and is watched. Its
 * token. */
int64_t client_become_idle(client *c);
/* Closes the lock alone; client_close does the rest. */
void client_close_lock(client *c);
/* Closes lock and session, checking that neither takes 2 s; then the thread must be idle. */
void client_close(client *c);

/* Begins an acquire in the client's thread; waits for what was begun; or both. */
void client_begin(client *c, int64_t timeout_ms);
zkl_err client_result(client *c);
zkl_err client_acquire(client *c, int64_t timeout_ms);
/* Begins an acquire without end and waits until its node stands in the queue, as number count. */
void client_queue_up(client *c, size_t count);
bool client_is_done(client *c);
zkl_err client_release(client *c);
zkl_err client_release_wait(client *c);
bool client_held(client *c);
int64_t client_token(client *c);
size_t client_told(client *c, zkl_event_type type);
/* How many nodes of its present session stand in the queue. */
size_t client_nodes(client *c);

/* The path of the only such node, in RAW_PATH_MAX bytes; leaves the test if there are 0 or 2. */
void client_node(client *c, char *ret_path);

bool client_is_connected(client *c);
/* Cuts the proxied connection and waits until the session is connected again. */
void client_flap(client *c);
/* Cuts it, lets nobody in, and waits until the session knows; then ends that. */
void client_outage_begin(client *c);
void client_outage_end(client *c);
/* The proxied connection stays, and nothing comes through any more; then ends that. */
void client_silence(client *c, bool on);

#endif
