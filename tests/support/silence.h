/*
 * A follower falls silent while clients hold locks by it and two other servers serve: its process is
 * stopped, or its packets vanish. Each hold has to last. Needs the namespaces of support/netns.h.
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
/* So many rounds. In each, two holders of each of these session timeouts, which the servers grant as
 * asked, lose the same follower. Fails the test for each hold that is lost; prints the figures. */
void silence_play(silence_kind kind, size_t rounds, const int *timeouts_ms, size_t count);

#endif
