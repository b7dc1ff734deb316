/* Inside of the judge of a history (history.h): history.c reads it and judges the register's past,
 * history_holds.c the holders. */
#ifndef SUPPORT_HISTORY_IMPL_H
#define SUPPORT_HISTORY_IMPL_H

#include "support/history.h"

enum outcome {
    OUTCOME_NONE, /* nobody was told: the process died before */
    OUTCOME_OK,
    OUTCOME_REFUSED,
    OUTCOME_UNSURE
};

struct op {
    int64_t id, token, read, again, written;
    int64_t begun_ns, held_ns, until_ns, after_ns;
    size_t begun, ended; /* lines */
    enum outcome outcome;
    char reg;
    bool is_reader, has_read, has_written, held_after;
    bool in_chain, was_read;
};

struct event {
    int64_t process, ns;
    char kind;
};

struct history {
    struct op *ops; /* as they came, until they are sorted by what they wrote */
    size_t op_count, op_room;
    struct event *events;
    size_t event_count, event_room;
    size_t lines;
};

/* Writes why something is objected to; false. */
__attribute__((format(printf, 3, 4))) bool history_tell(char *why, size_t size, const char *format,
                                                        ...);
/* The operations of a register that were, in the order of their tokens. To be freed. */
struct op **history_by_token(const history *h, char reg, size_t *ret_count);

#endif
