/* Prometheus' text format, for the textfile collector of node_exporter. */
#ifndef CLI_PROMETHEUS_H
#define CLI_PROMETHEUS_H

#include "cli/survey.h"

#include <stdio.h>

/*
 * A label's value with its quotes. What the format would take for its own is escaped by its rules:
 * backslash, quote, newline. Control characters, those that change the direction of text or have no
 * width, and bytes that are not UTF-8 are written as \xHH, with the backslash escaped. So the
 * output is valid UTF-8, harmless on a terminal, and does not depend on the locale.
 */
void cli_prometheus_string(FILE *out, const char *s);

/* The contenders and the oldest wait of each lock. What is not known has no line. */
void cli_prometheus_print(FILE *out, const cli_survey *survey);

#endif
