/* nearest - see nearest.h. */
#include "cli/nearest.h"

#include <string.h>

/* A longer word is none of ours. */
#define WORD_MAX 40

static size_t least(size_t a, size_t b, size_t c) {
    const size_t two = a < b ? a : b;
    return two < c ? two : c;
}

/* How many characters have to be put in, left out, changed or swapped with the next one to make a
 * of b, both of WORD_MAX at most. */
static size_t distance_of(const char *a, const char *b) {
    size_t d[WORD_MAX + 1][WORD_MAX + 1];
    const size_t rows = strlen(a), columns = strlen(b);
    for (size_t i = 0; i <= rows; i++)
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = least(d[i - 1][j] + 1, d[i][j - 1] + 1,
                            d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1, d[i][j]);
        }
    return d[rows][columns];
}

/* More than a third of its letters wrong: it was another word. */
cli_nearest cli_nearest_to(const char *typed) {
    return (cli_nearest){.typed = typed, .distance = strlen(typed) / 3 + 1};
}

void cli_nearest_offer(cli_nearest *nearest, const char *word) {
    if (strlen(nearest->typed) > WORD_MAX || strlen(word) > WORD_MAX)
        return;
    const size_t distance = distance_of(nearest->typed, word);
    if (distance >= nearest->distance)
        return;
    nearest->word = word;
    nearest->distance = distance;
}
