/* What printf cannot do of JSON. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdint.h>
#include <stdio.h>

/*
 * A JSON string with its quotes. The output is ASCII, whatever comes in, so that it is valid and
 * harmless on any terminal: characters beyond ASCII are \uXXXX, bytes that are not UTF-8 \ufffd.
 */
void cli_json_string(FILE *out, const char *s);

/* The same, or null for "". */
void cli_json_string_or_null(FILE *out, const char *s);

/* A number, or null for 0. */
void cli_json_number_or_null(FILE *out, int64_t value);

/*
 * Prints {"key":[...]} with what fill writes between the brackets, if its exit status says that
 * there is output: a failure half way must not leave half a document. Returns that status.
 */
int cli_json_print_list(const char *command, const char *key, int (*fill)(FILE *json, void *arg),
                        void *arg);

#endif
