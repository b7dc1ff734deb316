/* The two things of JSON that printf cannot do. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdio.h>

/*
 * A JSON string with its quotes. The output is ASCII, whatever comes in, so that it is valid and
 * harmless on any terminal: characters beyond ASCII are \uXXXX, bytes that are not UTF-8 \ufffd.
 */
void cli_json_string(FILE *out, const char *s);

/* The same, or null for "". */
void cli_json_string_or_null(FILE *out, const char *s);

#endif
