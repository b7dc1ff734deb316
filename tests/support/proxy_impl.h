/* Internal to the proxy: what its loop (proxy.c) and its calls (proxy_control.c) share. */
#ifndef SUPPORT_PROXY_IMPL_H
#define SUPPORT_PROXY_IMPL_H

#include <pthread.h>

#include "support/frames.h"

typedef struct frame {
    struct frame *next;
    int64_t due_ns;
    size_t size, sent;
    bool gate; /* it and those behind it wait until the hold is lifted */
    unsigned char bytes[];
} frame;

typedef struct stream {
    int from, to;        /* descriptors, owned by the route */
    bool greeted;        /* the handshake has passed */
    bool ended;          /* a silent route's: the peer has closed, nothing more comes */
    frame *first, *last; /* to be sent */
    unsigned char *part; /* came in, not yet a whole frame */
    size_t part_size;
} stream;

typedef struct route route;

struct route {
    route *next;
    stream up, down; /* to the server, to the client */
    uint64_t serial; /* no two connections have the same */
    bool rule_waits; /* for the reply with this xid */
    int32_t rule_xid;
    bool is_silent;  /* what comes in vanishes */
    bool ends_after; /* to be cut as soon as what has come in is passed on */
    bool dead;
};

struct proxy {
    pthread_mutex_t mutex; /* of all that follows */
    pthread_t thread;
    int listener, wake;
    char target[128], hosts[64];
    route *routes;
    size_t route_count;
    bool stop, refuse;
    unsigned held;    /* proxy_direction bits */
    unsigned stalled; /* the same, until: */
    int64_t stall_until_ns;
    int64_t delay_ns;
    struct {
        bool armed, fired, refuse;
        proxy_action action;
        proxy_kind kind;
        char part[FRAME_PATH_MAX];
        int error;   /* FAIL */
        size_t left; /* matching requests until it fires */
    } rule;
    struct {
        bool armed;
        proxy_fault what;
        char part[FRAME_PATH_MAX];
        size_t left;
        int64_t struck_ns; /* 0: not yet */
    } fault;
    frame_log log;
    size_t connects;
    uint64_t serials;
};

/* Makes the loop look again at what it is to do. */
void proxy_wake(proxy *p);

#endif
