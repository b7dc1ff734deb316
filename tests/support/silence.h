/*
 * A server falls silent while clients hold locks by it and two other servers are well: its process
 * is stopped, or its packets vanish. Needs the namespaces of support/netns.h.
 */
#ifndef SUPPORT_SILENCE_H
#define SUPPORT_SILENCE_H

#include <stddef.h>

#include "support/netns.h"

typedef enum silence_kind {
    SILENCE_FROZEN, /* the process is stopped; the kernel goes on accepting connections */
    SILENCE_DARK    /* no packet passes between it and anything */
} silence_kind;

/* ZKLOCK_SILENT_ROUNDS, or 2. */
size_t silence_rounds(void);
typedef enum silence_role {
    SILENCE_FOLLOWER,
    SILENCE_LEADER /* the others have to elect another first */
} silence_role;

/* So many rounds. In each, two holders of each of these session timeouts, which the servers grant
 * as asked, lose the server that they are connected to. Where a follower falls silent, a round that
 * loses a hold is played again if a write by the third server took longer than T/24, for as many
 * rounds as were asked for and one. Prints the figures, and returns how many holds were lost. */
size_t silence_play(silence_role role, silence_kind kind, size_t rounds, const int *timeouts_ms,
                    size_t count);

#endif
