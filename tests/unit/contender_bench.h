/*
 * contender_bench - a contender on a bench: events as a session hands them over, listings made to
 * measure, and the rules that no step of any contender may break, whatever the event.
 */
#ifndef UNIT_CONTENDER_BENCH_H
#define UNIT_CONTENDER_BENCH_H

#include <stdio.h>
#include <string.h>

#include "core/contender_moves.h" /* for the names of actions in a set */
#include "support/main.h"
#include "support/wait.h"
#include "zklock.h"

#define BIT(n) (1u << (n))
#define SESSION INT64_C(0x1001)
#define OTHER_SESSION INT64_C(0x2002)
#define DEPTH 3 /* of the directory: the root and a name of two components */
#define OWN_NUMBER 5
#define RESULTS (ZKLI_RESULT_ERROR + 1)

/* Requests that contenders make together. */
#define CREATE_AND_LIST ((unsigned)ZKLI_ASK_CREATE | ZKLI_ASK_LIST)
#define PARENT_CREATE_AND_LIST (CREATE_AND_LIST | ZKLI_ASK_PARENT)
#define BARRIER_AND_LIST ((unsigned)ZKLI_ASK_BARRIER | ZKLI_ASK_LIST)
#define OWN_AND_LIST ((unsigned)ZKLI_ASK_OWN | ZKLI_ASK_LIST)
#define OWN_AND_PREDECESSOR ((unsigned)ZKLI_ASK_OWN | ZKLI_ASK_PREDECESSOR)
#define DIRECTORY_AND_LIST ((unsigned)ZKLI_ASK_DIRECTORY | ZKLI_ASK_LIST)

#define CHECK_STATE(b, name) CHECK_STRING(zkli_contender_state_name((b)->c.state), name)
#define CHECK_ACTIONS(call, expected) CHECK_INT((call), (unsigned)(expected))

/* ---- Steps ---- */

/* A step, and its actions as a set. They must be in order: the listing is sent last, and before it
 * what is lower; a place is told before what becomes of it. predecessor: the one that it watches,
 * as the actions have named it; "": none. */
unsigned step_as_set(struct zkli_contender *c, struct zkli_contender_event *e,
                     char predecessor[ZKLI_CHILD_MAX + 1]);
/* The rule that a step broke, or NULL. */
const char *rule_broken(const struct zkli_contender *was, const struct zkli_contender *is,
                        const struct zkli_contender_event *e, unsigned actions);
/* What a reply to any one of these requests is called. */
enum zkli_contender_event_type reply_to(unsigned op);

/* ---- The bench ---- */

/* The contenders in a listing, besides ours. */
enum crowd {
    NOBODY,        /* not even ours */
    FIRST,         /* ours, and one behind it */
    BEHIND_HEAD,   /* ours, and one before it */
    BEHIND_TWO,    /* ours, and two before it */
    OTHERS,        /* without ours */
    AT_THE_END,    /* ours, and one with a number near the counter's end */
    TWICE,         /* two nodes with our uuid */
    TURNED,        /* a reader's node in the place of ours, which was a writer's; one behind it */
    ALONE,         /* only ours */
    BEHIND_OTHERS, /* ours, and two before it, the second of which is not that of BEHIND_TWO */
    /* Ours, and before it, in this order: */
    BEHIND_READER,
    BEHIND_READERS,
    BEHIND_WRITER,
    BEHIND_WRITERS,
    BEHIND_READER_AND_WRITER,
    BEHIND_WRITER_AND_READER,
    BEHIND_TURNED, /* a reader that was a writer: by czxid it came after ours */
    CROWDS
};

enum lease {
    UNCERTAIN,
    SHORT, /* certain, and not ample */
    AMPLE
};

struct bench {
    struct zkli_contender c;
    struct zkli_contender_event world; /* what every event carries */
    enum zkli_kind kind, others;       /* ours, as it began; the others' */
    bool is_twin_last;                 /* TWICE: the higher number is listed last, not first */
    bool others_leave;                 /* our session is deleting the others' nodes */
    bool are_touched;                  /* they are marked */
    char fresh_uuid[ZKLI_UUID_LENGTH + 1];
    uint8_t uuids; /* made so far */
    char names[3][ZKLI_CHILD_MAX + 1];
    struct zkli_sibling siblings[3];
    struct zkli_listing listing;
    struct zkli_permits directory; /* a semaphore's: what the server has, and its number */
    struct zkli_permits permits;   /* as last read */
    unsigned actions;              /* of the last step */
    char predecessor[ZKLI_CHILD_MAX + 1];
};

void bench_init(struct bench *b, bool is_try);
/* Not a semaphore's. */
void bench_init_as(struct bench *b, enum zkli_kind kind, bool is_try);
/* A semaphore's, which asks for so many permits; there is one, and nobody has read that. */
void bench_semaphore(struct bench *b, int permits, bool is_try);
/* Another number is written into the directory; the contender is not told by this. */
void bench_record(struct bench *b, int count, int max);
/* In place of the contender, a node that would be its own. */
void bench_orphan(struct bench *b);
/* Of a mutex. */
void bench_name(const char *uuid, int64_t number, char ret_name[ZKLI_CHILD_MAX + 1]);
void bench_lease(struct bench *b, enum lease lease);
/* A new connection of the same session; the contender is not told by this. */
void bench_reconnect(struct bench *b);

/* ---- Events: one step each. A broken rule fails the test ---- */

unsigned say(struct bench *b, struct zkli_contender_event e);
unsigned news(struct bench *b, enum zkli_contender_event_type type);
unsigned fired(struct bench *b, enum zkli_contender_event_type type, bool is_deleted);
unsigned give_up(struct bench *b);
/* A reply that is not a listing. */
unsigned reply(struct bench *b, enum zkli_contender_event_type type, enum zkli_result result);
unsigned read_directory(struct bench *b);
unsigned listed(struct bench *b, enum crowd crowd);
/* A reply to a list: a result, or OK and a crowd. */
#define LIST_REPLIES (RESULTS + TWICE)
unsigned reply_list(struct bench *b, unsigned list);
/* Answers all that is in flight, in the order in which the server would, alike. */
void answer_all(struct bench *b, enum zkli_result result);

/* ---- Ways to a state; each begins anew ---- */

void to_enqueuing(struct bench *b);
/* The directory was missing, and is created with the node. */
void to_housing(struct bench *b);
void to_placed(struct bench *b, enum crowd crowd);
void to_waiting(struct bench *b, enum crowd crowd);
void to_held(struct bench *b);
/* By a writer. */
void to_writing(struct bench *b);
void to_unsure(struct bench *b);
void to_searching(struct bench *b);
void to_adopting(struct bench *b, enum crowd crowd);
/* By a semaphore's, as bench_semaphore makes it: the read of the directory is out, and the listing;
 * and the latter alone. */
void to_created(struct bench *b, int permits);
void to_read(struct bench *b);

#endif
