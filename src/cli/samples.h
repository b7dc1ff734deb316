/* What bench has measured: times of a few kinds, and what is printed of them. */
#ifndef CLI_SAMPLES_H
#define CLI_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum cli_sample {
    CLI_SAMPLE_READ,
    CLI_SAMPLE_WRITE,
    CLI_SAMPLE_ACQUIRE,
    CLI_SAMPLE_RELEASE,
    CLI_SAMPLE_HAND_OFF,
    CLI_SAMPLE_KINDS
} cli_sample;

typedef struct cli_samples cli_samples;

/* With room for so many of each kind. NULL: out of memory. */
cli_samples *cli_samples_new(size_t most);
void cli_samples_free(cli_samples *samples);

/* A clock for differences. */
double cli_samples_now_ms(void);

void cli_samples_add(cli_samples *samples, cli_sample kind, double ms);

/* Sorts them, and prints median and 99th percentile of each kind; the lock's name in JSON only.
 * False: out of memory. */
bool cli_samples_print(cli_samples *samples, const char *name, bool is_json);

#endif
