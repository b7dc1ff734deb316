/*
 * See frames.h. A request has xid and opcode in front, then, for whatever concerns us, a path; a
 * reply has xid, zxid and error; a watch event is a reply with xid -1, then type, state and path.
 */
#include "support/frames.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LENGTH = 4,
    REQUEST_HEADER = 12,
    REPLY_HEADER = 20,
    XID_EVENT = -1,
    OP_EXISTS = 3,
    OP_CHECK = 13,
    MULTI_HEADER = 9 /* of each part: type, whether that was the last, error */
};

/* Deleted below whatever chroot there is, in order to be ordered among the writes. */
#define NO_NODE "/zklock-barrier-of-no-node/below"

/* Above ZooKeeper's own limit; a larger length is no length. */
#define FRAME_MAX (8 << 20)

static int32_t number_at(const unsigned char *bytes) {
    uint32_t raw;

    memcpy(&raw, bytes, sizeof(raw));
    return (int32_t)ntohl(raw);
}

static void put_number(unsigned char *bytes, int32_t number) {
    const uint32_t raw = htonl((uint32_t)number);

    memcpy(bytes, &raw, sizeof(raw));
}

long frame_size(const unsigned char *bytes, size_t size) {
    if (size < LENGTH)
        return 0;
    int32_t len = number_at(bytes);
    if (len < 0 || len > FRAME_MAX)
        return -1;
    return size < LENGTH + (size_t)len ? 0 : LENGTH + (long)len;
}

static proxy_kind kind_of(int32_t opcode) {
    static const struct {
        int32_t opcode;
        proxy_kind kind;
    } table[] = {
        {1, PROXY_CREATE},    {15, PROXY_CREATE},   {19, PROXY_CONTAINER}, {2, PROXY_DELETE},
        {3, PROXY_EXISTS},    {4, PROXY_GET},       {5, PROXY_SET},        {8, PROXY_LIST},
        {12, PROXY_LIST},     {9, PROXY_SYNC},      {11, PROXY_PING},      {14, PROXY_MULTI},
        {101, PROXY_WATCHES}, {105, PROXY_WATCHES}, {100, PROXY_AUTH},     {-11, PROXY_END}};

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].opcode == opcode)
            return table[i].kind;
    return PROXY_OTHER;
}

/* The string at an offset of a frame, or "" where there is none. */
static void string_at(const unsigned char *bytes, size_t size, size_t offset, char *ret) {
    ret[0] = '\0';
    if (size < offset + LENGTH)
        return;
    int32_t len = number_at(bytes + offset);
    offset += LENGTH;
    if (len <= 0 || size < offset + (size_t)len)
        return;
    if (len >= FRAME_PATH_MAX) {
        offset += (size_t)len - (FRAME_PATH_MAX - 1);
        len = FRAME_PATH_MAX - 1;
    }
    memcpy(ret, bytes + offset, (size_t)len);
    ret[len] = '\0';
}

/* A transaction that does nothing but look for a node, whose path is written. */
static bool is_lone_check(const unsigned char *bytes, size_t size, char *ret) {
    const size_t path = REQUEST_HEADER + MULTI_HEADER;

    if (size < path + LENGTH || number_at(bytes + REQUEST_HEADER) != OP_CHECK)
        return false;
    size_t end = path + LENGTH + (size_t)number_at(bytes + path) + LENGTH; /* behind the version */
    if (size < end + MULTI_HEADER || bytes[end + LENGTH] == 0)
        return false;
    string_at(bytes, size, path, ret);
    return true;
}

static bool has_tail(const char *text, const char *tail) {
    const size_t len = strlen(text), tail_len = strlen(tail);

    return len >= tail_len && strcmp(text + len - tail_len, tail) == 0;
}

void frame_read(frame_view *ret, const unsigned char *bytes, size_t size, bool from_client) {
    *ret = (frame_view){.kind = PROXY_OTHER};
    if (size < REQUEST_HEADER)
        return;
    ret->xid = number_at(bytes + LENGTH);
    if (from_client) {
        ret->kind = kind_of(number_at(bytes + LENGTH + 4));
        /* The path of a setWatches is a number, of a multi the first of its operations. */
        if (ret->kind != PROXY_WATCHES && ret->kind != PROXY_MULTI && ret->kind != PROXY_AUTH)
            string_at(bytes, size, REQUEST_HEADER, ret->path);
        if ((ret->kind == PROXY_DELETE && has_tail(ret->path, NO_NODE)) ||
            (ret->kind == PROXY_MULTI && is_lone_check(bytes, size, ret->path)))
            ret->kind = PROXY_BARRIER;
    } else if (ret->xid == XID_EVENT) {
        ret->kind = PROXY_EVENT;
        string_at(bytes, size, REPLY_HEADER + 8, ret->path);
    }
}

void frame_defuse(unsigned char *bytes, size_t size) {
    const size_t watch = REQUEST_HEADER + LENGTH + (size_t)number_at(bytes + REQUEST_HEADER);

    put_number(bytes + LENGTH + 4, OP_EXISTS);
    if (watch < size)
        bytes[watch] = 0; /* what follows it is ignored */
}

size_t frame_make_error(unsigned char *bytes, size_t size, int32_t error) {
    if (size < REPLY_HEADER)
        return size;
    put_number(bytes, REPLY_HEADER - LENGTH);
    put_number(bytes + REPLY_HEADER - 4, error);
    return REPLY_HEADER;
}

void frame_log_fini(frame_log *log) {
    free(log->records);
    *log = (frame_log){0};
}

static frame_record *new_record(frame_log *log) {
    if (log->count == log->max) {
        const size_t max = log->max ? 2 * log->max : 256;
        frame_record *grown = realloc(log->records, max * sizeof(*grown));

        if (!grown)
            abort(); /* a count that is too low could make a test pass */
        log->records = grown;
        log->max = max;
    }
    return &log->records[log->count++];
}

/* The request of that connection; the newest are the ones not answered yet. NULL: forgotten. */
static frame_record *find_request(frame_log *log, int32_t xid, uint64_t connection) {
    for (size_t i = log->count; i > 0; i--) {
        frame_record *r = &log->records[i - 1];

        if (r->xid == xid && r->connection == connection && r->direction == PROXY_TO_SERVER &&
            r->kind != PROXY_CONNECT)
            return r;
    }
    return NULL;
}

void frame_log_add(frame_log *log, frame_view *view, proxy_direction direction,
                   uint64_t connection) {
    const bool is_reply = direction == PROXY_TO_CLIENT && view->kind == PROXY_OTHER;
    frame_record *r = is_reply ? find_request(log, view->xid, connection) : NULL;

    if (r) {
        r->is_answered = true;
        view->kind = r->kind;
        memcpy(view->path, r->path, sizeof(view->path));
    }
    r = new_record(log);
    *r = (frame_record){.kind = view->kind,
                        .direction = direction,
                        .is_reply = is_reply,
                        .xid = view->xid,
                        .connection = connection};
    memcpy(r->path, view->path, sizeof(r->path));
}

void frame_log_swallow(frame_log *log) {
    log->records[log->count - 1].is_swallowed = true;
}

size_t frame_log_trace(const frame_log *log, proxy_frame *ret_frames, size_t max) {
    size_t count = 0;

    for (size_t i = 0; i < log->count; i++) {
        const frame_record *r = &log->records[i];

        if (r->is_swallowed)
            continue;
        if (count < max) {
            ret_frames[count].kind = r->kind;
            ret_frames[count].direction = r->direction;
            memcpy(ret_frames[count].path, r->path, sizeof(r->path));
        }
        count++;
    }
    return count;
}

static bool has_kind(const frame_record *r, proxy_kind kind) {
    if (r->is_reply)
        return false;
    if (kind == PROXY_WORK && r->kind == PROXY_BARRIER)
        return false;
    if (kind == PROXY_ANY || kind == PROXY_WORK)
        return r->kind != PROXY_PING && r->kind != PROXY_EVENT && r->kind != PROXY_CONNECT;
    return r->kind == kind;
}

static bool has_path(const frame_record *r, const frame_filter *filter) {
    if (!filter->part)
        return true;
    return filter->is_tail ? has_tail(r->path, filter->part)
                           : strstr(r->path, filter->part) != NULL;
}

size_t frame_log_count(const frame_log *log, const frame_filter *filter) {
    size_t count = 0;

    for (size_t i = 0; i < log->count; i++) {
        const frame_record *r = &log->records[i];

        count += has_kind(r, filter->kind) && has_path(r, filter) &&
                 (r->is_answered || !filter->is_answered);
    }
    return count;
}

const char *proxy_kind_name(proxy_kind kind) {
    static const char *const names[] = {"other", "create",  "container", "delete", "exists",
                                        "get",   "set",     "list",      "sync",   "ping",
                                        "multi", "watches", "auth",      "end",    "event",
                                        "any",   "connect", "barrier",   "work"};

    return names[kind];
}

void frame_log_print(const frame_log *log) {
    for (size_t i = 0; i < log->count; i++) {
        const frame_record *r = &log->records[i];

        if (r->kind != PROXY_PING && r->kind != PROXY_CONNECT && !r->is_reply)
            printf("\n      %s %s", proxy_kind_name(r->kind), r->path);
    }
}
