/* Numbers in options and in the configuration file: plain decimal digits, no sign, no blanks, no
 * locale. */
#ifndef CLI_NUMBER_H
#define CLI_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* "2", "0.5", "1.25", ".5": seconds, into milliseconds, rounded up. At most 10^9 seconds. */
bool cli_number_seconds(const char *text, int64_t *ret_ms);

/* A session timeout in seconds, within the library's limits of 0.1 and 3600. */
bool cli_number_session_timeout(const char *text, int *ret_ms);

/* A whole number from 0 to max. */
bool cli_number_whole(const char *text, int max, int *ret_value);

#endif
