/* zk_log - see zk_log.h. */
#include "zk/zk_log.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The client's log callback carries no context, so each session has a function of its own. Lines of
 * sessions beyond these are dropped. */
#define LOG_SLOTS 32
/* Longest line of the client's that is handed on whole. */
#define LOG_LINE_MAX 1024

static _Atomic(struct zkli_log *) logs[LOG_SLOTS];

static zkl_log_level level_of(const char *message) {
    if (strstr(message, ":ZOO_ERROR@") != NULL)
        return ZKL_LOG_ERROR;
    if (strstr(message, ":ZOO_WARN@") != NULL)
        return ZKL_LOG_WARN;
    return strstr(message, ":ZOO_INFO@") != NULL ? ZKL_LOG_INFO : ZKL_LOG_DEBUG;
}

/* "errno=111(Connection refused)" */
static void note_errno(const struct zkli_log *log, const char *text) {
    static const char key[] = "errno=";
    const char *found = strstr(text, key);
    if (found != NULL)
        atomic_store(log->last_errno, (int)strtol(found + sizeof(key) - 1, NULL, 10));
}

static void log_to_slot(int slot, const char *message) {
    const struct zkli_log *log = slot < LOG_SLOTS ? atomic_load(&logs[slot]) : NULL;
    if (log == NULL)
        return;
    char text[LOG_LINE_MAX]; /* without the newline at its end */
    size_t length = strnlen(message, sizeof(text) - 1);
    while (length > 0 && message[length - 1] == '\n')
        length--;
    memcpy(text, message, length);
    text[length] = '\0';
    if (level_of(text) == ZKL_LOG_ERROR)
        note_errno(log, text);
    log->line(log->arg, level_of(text), text);
}

#define LOG_FUNCTION(n)                                                                            \
    static void log_##n(const char *message) {                                                     \
        log_to_slot(n, message);                                                                   \
    }
/* clang-format off */
#define FOR_LOG_SLOTS(X)                                                                           \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)    \
    X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
/* clang-format on */
FOR_LOG_SLOTS(LOG_FUNCTION)

#define LOG_ENTRY(n) log_##n,
static void (*const functions[LOG_SLOTS + 1])(const char *) = {FOR_LOG_SLOTS(LOG_ENTRY)};

void zkli_log_take(struct zkli_log *log) {
    for (log->slot = 0; log->slot < LOG_SLOTS; log->slot++) {
        struct zkli_log *expected = NULL;
        if (atomic_compare_exchange_strong(&logs[log->slot], &expected, log))
            break;
    }
    log->callback = functions[log->slot];
}

void zkli_log_give_back(const struct zkli_log *log) {
    if (log->slot < LOG_SLOTS)
        atomic_store(&logs[log->slot], NULL);
}
