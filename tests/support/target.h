/* A znode that guarded writes are made to, and such writes on a client's thread. */
#ifndef SUPPORT_TARGET_H
#define SUPPORT_TARGET_H

#include "support/client.h"

/* A new node with "zero" in it, of version 0; its path is good for the next 255 calls. */
const char *target_new(void);
/* The node has this text and this version. */
void target_check(const char *path, const char *text, int version);
int target_version(const char *path);

/* A client with a proxy that holds a lock of its own. */
client *holder_new(const char *name, int timeout_ms);

/* It holds, and was told nothing else. */
void holder_check(client *c);

typedef struct guarded_call {
    zkl_lock *lock;
    const char *path;
    const void *data;
    size_t len;
    int version;
} guarded_call;

/* zkl_guarded_set for an actor; a text as its data. */
zkl_err guarded_run(void *call);
guarded_call guarded_text(client *c, const char *path, const char *text, int version);
/* The same begun and waited for on the client's thread. */
zkl_err guarded_set(client *c, const char *path, const char *text, int version);
/* Begins a write whose frame the rule is for, and waits until that has happened. */
void guarded_begin_broken(client *c, guarded_call *call, proxy_action action, bool refuse);

#endif
