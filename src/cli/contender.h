/* What is said of a contender, to people and to programs. */
#ifndef CLI_CONTENDER_H
#define CLI_CONTENDER_H

#include "cli/table.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zklock.h>

#define CLI_TIME_BYTES 40
#define CLI_AGE_BYTES 32

/* "2026-01-31T12:00:00Z", or "" for what is no time, as a hostile server could send. */
void cli_time_format(char *text, size_t size, int64_t since_ms);
/* The two largest units, "" for no time. The server's clock and ours may differ; the past begins
 * now. */
void cli_age_format(char *text, size_t size, int64_t since_ms);
void cli_table_add_age(cli_table *table, int64_t since_ms);
/* Numbers of which 0 means that the contender does not say. */
void cli_table_add_decimal(cli_table *table, int64_t value);

/* Members of a JSON object, without its braces: of the node's place, and of whose it is. */
void cli_contender_json_node(FILE *out, const zkl_contender *c);
void cli_contender_json_client(FILE *out, const zkl_contender *c);

#endif
