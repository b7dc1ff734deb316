/*
 * name - what the simulation knows of a path of the servers, and data that nodes have had: see
 * state.h.
 */
#ifndef SIM_NAME_H
#define SIM_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/node_data.h"
#include "core/node_name.h"

struct name {
    char text[112];
    int parent; /* of the root: NONE */
    int lock;   /* a child of which lock's directory; NONE */
    enum zkli_kind kind;
    int client;          /* who created it; NONE: a stranger */
    int64_t czxid;       /* of the node, when it was committed */
    int64_t made_ns;     /* when that was */
    int64_t place;       /* the same; of a reader that was a writer, the writer's */
    int turned_into;     /* a writer: the reader's in its place; 0: none */
    int64_t gone_zxid;   /* 0: not deleted */
    int64_t asked_zxid;  /* its owner was first asked to let go; 0: it was not */
    int64_t buried_zxid; /* so was the writer's that it was */
    bool is_turn_told;   /* its client has had the answer to the transaction that made it so */
    int64_t broken_zxid; /* it was marked as broken; 0: it was not */
    bool is_to_end;      /* an operator wants that; if it is a stranger's, without a mark */
    bool was_uprooted;   /* by an operator */
    unsigned wakes;      /* waiting contenders that were told of its end */
    int woken;           /* the node of the last of them */
    bool is_end_told;    /* by its watch, to who created it */
    int64_t known_ns;    /* when its client was told of it */
    bool is_known;       /* by the answer to its create */
    int64_t held_ns;     /* when its client was first certain to hold by it; 0: it was not */
    int64_t since_ms;    /* what it says of that; 0: nothing */
    bool is_late;   /* of a name without its number: a server that stood still has made one such */
    bool is_let_be; /* a server has refused something meanwhile, or its client */
    int64_t since_beat_ns; /* at this heartbeat, and on this connection, it did not say so, */
    uint64_t since_connection;
    unsigned since_beats; /* and at so many in a row */
};

/* Data of a node, by its number in w->texts. The number 0 is the empty one. */
struct text {
    int length;
    char bytes[ZKLI_NODE_DATA_MAX + 1]; /* ends with a NUL */
};

#endif
