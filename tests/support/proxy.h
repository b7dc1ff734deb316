/*
 * A TCP proxy between client and server that knows where ZooKeeper's frames begin: it counts
 * requests and watch events, and breaks or holds up the traffic at an exact frame.
 *
 * Every function may be called from any thread. What is asked for holds when the call returns,
 * except that bytes already handed to the kernel cannot be held back.
 */
#ifndef SUPPORT_PROXY_H
#define SUPPORT_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct proxy proxy;

/* Kinds of frames. The numbers in brackets are the protocol's. */
typedef enum proxy_kind {
    PROXY_OTHER = 0,
    PROXY_CREATE = 1,    /* create (1), create2 (15) */
    PROXY_CONTAINER = 2, /* createContainer (19) */
    PROXY_DELETE = 3,    /* (2) */
    PROXY_EXISTS = 4,    /* (3) */
    PROXY_GET = 5,       /* getData (4) */
    PROXY_SET = 6,       /* setData (5) */
    PROXY_LIST = 7,      /* getChildren (8, 12) */
    PROXY_SYNC = 8,      /* (9) */
    PROXY_PING = 9,      /* (11) */
    PROXY_MULTI = 10,    /* (14) */
    PROXY_WATCHES = 11,  /* setWatches (101, 105): the client comes back with its watches */
    PROXY_AUTH = 12,     /* (100) */
    PROXY_END = 13,      /* closeSession (-11) */
    PROXY_EVENT = 14,    /* from the server: a watch fires */
    PROXY_ANY = 15,      /* for counting: every request of a client except pings */
    PROXY_CONNECT = 16,  /* the first frame each way, which has no header; not in PROXY_ANY */
    PROXY_BARRIER = 17,  /* a heartbeat, or what goes before a search: a delete of what is never
                            there, or a transaction that only checks; no PROXY_DELETE or _MULTI */
    PROXY_WORK = 18      /* for counting: PROXY_ANY without the barriers, which come whenever they
                            are due */
} proxy_kind;

typedef enum proxy_direction {
    PROXY_TO_SERVER = 1,
    PROXY_TO_CLIENT = 2,
    PROXY_BOTH = 3
} proxy_direction;

/* What to do at a request that a rule is for. */
typedef enum proxy_action {
    PROXY_CUT_REQUEST = 1,  /* the server never sees it; the connection is cut */
    PROXY_CUT_REPLY = 2,    /* the server does it; the connection is cut instead of its reply */
    PROXY_HOLD_REQUEST = 3, /* it and all after it on its connection stay here, until
                               proxy_hold(..., PROXY_TO_SERVER, false) */
    PROXY_HOLD_REPLY = 4,   /* the server does it; the reply and all after it stay here, until
                               proxy_hold(..., PROXY_TO_CLIENT, false) */
    PROXY_FAIL = 5          /* see proxy_fail */
} proxy_action;

/* NULL: no memory. hosts: the server's "host:port"; address: the proxy's, such as "127.0.0.1". */
proxy *proxy_open(const char *hosts, const char *address);
void proxy_close(proxy *p);
/* The proxy's own "host:port". */
const char *proxy_hosts(const proxy *p);

/* on: what comes in that direction stays here, in order, until it is switched off. */
void proxy_hold(proxy *p, proxy_direction direction, bool on);
/* Cuts every connection now, with a reset. */
void proxy_drop(proxy *p);
/* on: cuts every new connection at once. */
void proxy_refuse(proxy *p, bool on);
/* Each frame is passed on this much later than it came, in both directions. */
void proxy_delay(proxy *p, int ms);

/*
 * Arms the one rule: the nth (from 1) request from now of this kind whose path contains part (NULL:
 * any). refuse: new connections are refused once it has fired, as by proxy_refuse. A rule fires
 * once.
 */
void proxy_rule(proxy *p, proxy_action action, proxy_kind kind, const char *part, size_t nth,
                bool refuse);
/* The same; the server does nothing, and its reply is this error code of ZooKeeper's. */
void proxy_fail(proxy *p, proxy_kind kind, const char *part, size_t nth, int error);
/* Whether the rule has done its work; for CUT_REPLY that is when the reply has been swallowed. */
bool proxy_fired(proxy *p);

/* What to do at any frame, whichever way it goes. */
typedef enum proxy_fault_action {
    PROXY_CUT_BEFORE, /* the connection is cut; what came before the frame has been passed on */
    PROXY_CUT_AFTER,  /* the connection is cut; the frame has been passed on, too */
    PROXY_STALL,      /* it and all that goes its way, on whatever connection, stays here for
                         stall_ms, and then goes on in order */
    PROXY_STALL_BOTH, /* the same, and what goes the other way, too */
    PROXY_HOLD_FRAME, /* the same as PROXY_STALL, until proxy_hold(..., false) */
    PROXY_SILENCE     /* half-open: nothing comes through any more on this connection, either way,
                         not even the news that a peer has closed; others are not concerned */
} proxy_fault_action;

typedef struct proxy_fault {
    proxy_direction direction; /* of the frame; not PROXY_BOTH */
    proxy_kind kind;           /* a reply's is that of its request */
    const char *part;          /* of its path, or of its request's; copied; NULL: any */
    size_t nth;                /* from 1, from now on, all connections together */
    proxy_fault_action action;
    int stall_ms;
} proxy_fault;

/* Arms the one fault, beside the rule. It strikes once. */
void proxy_set_fault(proxy *p, const proxy_fault *fault);
/* When it struck (CLOCK_BOOTTIME); 0: not yet. */
int64_t proxy_struck_ns(proxy *p);
/* Whether there is a silent connection that the client has not given up. */
bool proxy_has_silence(proxy *p);

enum {
    PROXY_PATH_MAX = 200
}; /* of a longer path the end is kept: the node's name is there */

typedef struct proxy_frame {
    proxy_direction direction;
    proxy_kind kind;
    char path[PROXY_PATH_MAX];
} proxy_frame;

/*
 * Writes the first max of the frames that came since proxy_forget, without those that a rule has
 * swallowed; returns how many there were.
 */
size_t proxy_trace(proxy *p, proxy_frame *ret_frames, size_t max);
/* "create", "list", ...; static. */
const char *proxy_kind_name(proxy_kind kind);

/* Requests (or events) of this kind since proxy_forget whose path contains part (NULL: any). */
size_t proxy_count(proxy *p, proxy_kind kind, const char *part);
/* The same, with paths that end in tail: the lists of one directory, not of those below. */
size_t proxy_count_tail(proxy *p, proxy_kind kind, const char *tail);
/* As proxy_count, only requests that the server has answered: a watch is set then, not before. */
size_t proxy_answered(proxy *p, proxy_kind kind, const char *part);
/* Connections accepted since proxy_forget, refused ones included. */
size_t proxy_connects(proxy *p);
/* Connections there are. */
size_t proxy_links(proxy *p);
void proxy_forget(proxy *p);
/* Prints what was counted, a line a frame; for a test that failed. */
void proxy_print(proxy *p);

#endif
