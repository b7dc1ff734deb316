/* Numbers on the command line: plain decimal digits, no sign, no blanks, no locale. */
#ifndef CLI_NUMBER_H
#define CLI_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* "2", "0.5", "1.25", ".5": seconds, into milliseconds, rounded up. At most 10^9 seconds. */
bool cli_number_seconds(const char *text, int64_t *ret_ms);

/* A whole number from 0 to max. */
bool cli_number_whole(const char *text, int max, int *ret_value);

#endif
