/* Internal to the proxy: what ZooKeeper's frames say, and the list of those that passed. */
#ifndef SUPPORT_FRAMES_H
#define SUPPORT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/proxy.h"

#define FRAME_PATH_MAX PROXY_PATH_MAX

/* What a frame says. Frames carry their length, 4 bytes, in front. */
typedef struct frame_view {
    proxy_kind kind; /* of a request; or PROXY_EVENT; PROXY_OTHER for a reply, until it is logged */
    int32_t xid;     /* pairs a reply with its request */
    char path[FRAME_PATH_MAX];
} frame_view;

/* The size of the whole frame that starts here, 0: not all there yet, -1: this is no frame. */
long frame_size(const unsigned char *bytes, size_t size);
/* Not for handshakes, which have no header. */
void frame_read(frame_view *ret, const unsigned char *bytes, size_t size, bool from_client);

/* Turns a request whose body begins with a path into an "exists" of that path, without a watch. */
void frame_defuse(unsigned char *bytes, size_t size);
/* Turns a reply into a bare one with this error; its new size. */
size_t frame_make_error(unsigned char *bytes, size_t size, int32_t error);

typedef struct frame_record {
    proxy_kind kind; /* a reply's is that of its request */
    proxy_direction direction;
    bool is_reply;
    bool is_answered;
    bool is_swallowed; /* by a rule: nobody gets to see it */
    int32_t xid;
    uint64_t connection;
    char path[FRAME_PATH_MAX];
} frame_record;

/* Needs the caller's lock. All-zero is empty. */
typedef struct frame_log {
    frame_record *records;
    size_t count, max;
} frame_log;

void frame_log_fini(frame_log *log);
/* A reply, PROXY_OTHER to the client, gets the kind and path of its request, which is answered
 * then. */
void frame_log_add(frame_log *log, frame_view *view, proxy_direction direction,
                   uint64_t connection);
/* The last one is not passed on. */
void frame_log_swallow(frame_log *log);
/* As proxy_trace. */
size_t frame_log_trace(const frame_log *log, proxy_frame *ret_frames, size_t max);

/* What to count. */
typedef struct frame_filter {
    proxy_kind kind;
    const char *part; /* NULL: any path */
    bool is_tail;     /* the path ends in part; else it contains it */
    bool is_answered; /* only requests whose reply has come */
} frame_filter;

size_t frame_log_count(const frame_log *log, const frame_filter *filter);
void frame_log_print(const frame_log *log);

#endif
