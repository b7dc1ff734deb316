/*
 * What doctor has found: one line each, printed as it comes, or JSON at the end. All text is
 * escaped here.
 */
#ifndef CLI_FINDINGS_H
#define CLI_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum cli_level {
    CLI_FINDING_OK,
    CLI_FINDING_NOTE, /* what could not be found out, or is only good to know */
    CLI_FINDING_WARNING,
    CLI_FINDING_WRONG
} cli_level;

typedef struct cli_findings cli_findings;

/* NULL: out of memory. */
cli_findings *cli_findings_new(bool is_json);
void cli_findings_free(cli_findings *findings);

/*
 * Adds one. check is one of the words that zklock(1) lists. about is a server, a path or a setting.
 * advice says what to do. If all is well, it may be NULL.
 */
__attribute__((format(printf, 6, 7))) void cli_findings_add(cli_findings *findings, cli_level level,
                                                            const char *check, const char *about,
                                                            const char *advice, const char *format,
                                                            ...);

size_t cli_findings_count(const cli_findings *findings, cli_level level);

/* Prints what is left to print. False: out of memory, and something is missing. */
bool cli_findings_print(cli_findings *findings);

#endif
