/* Which word a mistyped one stands for. */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

typedef struct cli_nearest {
    const char *typed;
    const char *word; /* the best of those offered; NULL: none is near enough */
    size_t distance;
} cli_nearest;

cli_nearest cli_nearest_to(const char *typed);

/* Keeps the word, borrowed, if it is nearer than those before. */
void cli_nearest_offer(cli_nearest *nearest, const char *word);

#endif
