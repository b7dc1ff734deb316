/* The ZooKeeper client's lines of late, and when each was printed. */
#include "cli/repeats.h"

#include <stdio.h>
#include <string.h>

/* The client has about six lines for each server that it cannot reach. */
#define LINES_MAX 64
/* A place in the client's source and a reason fit. Lines that differ behind that are the same. */
#define LINE_MAX_BYTES 200

typedef struct repeat {
    char text[LINE_MAX_BYTES]; /* "": free */
    int64_t printed_ms;
    size_t held_back;
} repeat;

static repeat Repeats[LINES_MAX];

/* "2026-01-31 12:00:00,000:123(0x7f):ZOO_ERROR@function@1234: text": from ZOO_ on. NULL: it is no
 * line of the ZooKeeper client. */
static const char *text_of(const char *line) {
    const char *found = strstr(line, ":ZOO_");
    return found == NULL ? NULL : found + 1;
}

bool cli_repeats_is_client_line(const char *line) {
    return text_of(line) != NULL;
}

/* That of the text, or the one that was printed before all others. */
static repeat *entry_for(const char *text) {
    repeat *oldest = &Repeats[0];
    for (size_t i = 0; i < LINES_MAX; i++) {
        if (strncmp(Repeats[i].text, text, LINE_MAX_BYTES - 1) == 0)
            return &Repeats[i];
        if (Repeats[i].text[0] == '\0' ||
            (oldest->text[0] != '\0' && Repeats[i].printed_ms < oldest->printed_ms))
            oldest = &Repeats[i];
    }
    *oldest = (repeat){0};
    return oldest;
}

bool cli_repeats_allow(const char *line, int64_t now_ms, size_t *ret_held_back) {
    const char *text = text_of(line);
    *ret_held_back = 0;
    if (text == NULL)
        return true;
    repeat *entry = entry_for(text);
    bool is_new = entry->text[0] == '\0';
    if (!is_new && now_ms - entry->printed_ms < CLI_REPEATS_PAUSE_MS) {
        entry->held_back++;
        return false;
    }
    *ret_held_back = entry->held_back;
    (void)snprintf(entry->text, sizeof(entry->text), "%s", text); /* a longer one is cut */
    entry->printed_ms = now_ms;
    entry->held_back = 0;
    return true;
}
