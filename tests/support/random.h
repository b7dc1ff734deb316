/* Numbers that look random and come again with the same beginning. */
#ifndef SUPPORT_RANDOM_H
#define SUPPORT_RANDOM_H

#include <stdint.h>

/* 0 to below - 1. *state is never 0. */
static inline uint64_t random_draw(uint64_t *state, uint64_t below) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % below;
}

#endif
