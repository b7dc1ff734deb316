/*
 * Where CMD's file is: the paths that execvp would try, and what to say when none of them can be
 * executed.
 */
#ifndef CLI_SEARCH_H
#define CLI_SEARCH_H

#include <stdbool.h>

/*
 * The paths to try for CMD, each ended by NUL, the last by two; the caller's to free. NULL when out
 * of memory.
 */
char *cli_search_paths(const char *command);

/*
 * Whether one of them can be executed, without doing it: 0, or the errno that a shell would report.
 * The exec itself can still fail: the file may change, or its interpreter be missing.
 */
int cli_search_check(const char *paths);

/*
 * A file could not be executed, with this errno, after others that gave before (ENOENT at first).
 * Returns the errno to report if no file can be: a file that is missing does not replace EACCES.
 * *ret_is_last: execvp would try no other file. Async-signal-safe.
 */
int cli_search_error(int before, int error, bool *ret_is_last);

/* Says why CMD cannot be executed, and returns the exit status: 127 not found, else 126. */
int cli_search_explain(const char *command, int error);

#endif
