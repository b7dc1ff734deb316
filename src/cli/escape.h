/*
 * Text that others wrote, made safe to show. Any client of the servers can write node data and
 * names, and a terminal acts on what it is sent.
 */
#ifndef CLI_ESCAPE_H
#define CLI_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Decodes one character of UTF-8 from the n > 0 bytes at s: its length, and the code point in
 * *ret_point. 0: the bytes begin no valid character (overlong forms and surrogates are not).
 */
size_t cli_utf8_decode(const char *s, size_t n, uint32_t *ret_point);

/* Whether the locale's terminal takes UTF-8. Needs setlocale(LC_CTYPE, "") before. */
bool cli_locale_is_utf8(void);

/*
 * Writes n bytes with every byte that a terminal could act on as \xHH, and a backslash as \\, so
 * that the form is unambiguous. Characters beyond ASCII pass if utf8 is set and they occupy
 * columns: no C1 controls, no invisible or direction-changing ones. Returns the columns written.
 */
size_t cli_escape(FILE *out, const char *s, size_t n, bool utf8);

/* How many columns the form of s has. */
size_t cli_escaped_columns(const char *s, bool utf8);

/*
 * Writes the form of s in `most` columns or fewer, and returns how many. What does not fit is left
 * out at the end, in whole characters with their escapes, and an ellipsis stands for it: one
 * character with utf8, three dots without.
 */
size_t cli_escape_cut(FILE *out, const char *s, bool utf8, size_t most);

#endif
