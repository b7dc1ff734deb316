/* The options that are on the command line: their names, where each belongs, their values. */
#ifndef CLI_OPTION_LIST_H
#define CLI_OPTION_LIST_H

#include "cli/options.h"

#include <stdbool.h>

/*
 * Takes the options of argv[1..argc) into *o and leaves optind at the first operand. Options behind
 * operands are moved before them, unless to_operand: then the first operand ends it. False: one
 * line on standard error says what is wrong.
 */
bool cli_option_list_take(cli_options *o, int argc, char **argv, bool to_operand);

/* Whether all that was given before the subcommand belongs to it. False as above. */
bool cli_option_list_fits(const cli_options *o);

/* Says what is wrong with which argument, "" for none; always false, for the caller to return. */
bool cli_option_list_refuse(const cli_options *o, const char *what, const char *argument);

/* That a word is none of ours, and which is meant: nearest, or NULL. Always false. */
bool cli_option_list_refuse_unknown(const cli_options *o, const char *what, const char *word,
                                    const char *nearest);

#endif
