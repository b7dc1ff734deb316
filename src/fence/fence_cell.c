/*
 * One cell of the file: two copies of a line of text, filled up with blanks.
 *
 *     <checksum, 16 hex digits> <index, 10 digits> <token, 19 digits> <name>\n      \n
 */
#include "fence/fence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    SUM_DIGITS = 16,
    INDEX_DIGITS = 10,
    TOKEN_DIGITS = 19,
    INDEX_AT = SUM_DIGITS + 1,
    TOKEN_AT = INDEX_AT + INDEX_DIGITS + 1,
    NAME_AT = TOKEN_AT + TOKEN_DIGITS + 1
};

/* FNV-1a. It tells a write that came through from one that did not. It is no defence against a
 * program that may write to the file. */
static uint64_t checksum(const char *text, size_t length) {
    uint64_t sum = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return sum;
}

static void format_copy(char *copy, uint32_t index, int64_t token, const char *name) {
    char sum[SUM_DIGITS + 1];
    const int length = snprintf(copy + INDEX_AT, ZKLI_FENCE_COPY - INDEX_AT,
                                "%0*" PRIu32 " %0*" PRId64 " %s\n", INDEX_DIGITS, index,
                                TOKEN_DIGITS, token, name);
    const size_t end = INDEX_AT + (size_t)length;

    memset(copy + end, ' ', ZKLI_FENCE_COPY - end);
    copy[ZKLI_FENCE_COPY - 1] = '\n';
    (void)snprintf(sum, sizeof(sum), "%0*" PRIx64, SUM_DIGITS,
                   checksum(copy + INDEX_AT, ZKLI_FENCE_COPY - INDEX_AT));
    memcpy(copy, sum, SUM_DIGITS);
    copy[SUM_DIGITS] = ' ';
}

/* Without a check: what was written otherwise differs from the copy that is made of it. */
static uint64_t number(const char *digits, size_t count) {
    uint64_t value = 0;

    for (size_t i = 0; i < count; i++)
        value = value * 10 + (uint64_t)(unsigned char)(digits[i] - '0') % 10;
    return value;
}

static bool parse_copy(const char *copy, struct zkli_fence_record *ret_record) {
    const char *end = memchr(copy + NAME_AT, '\n', ZKLI_FENCE_COPY - NAME_AT);
    const uint64_t index = number(copy + INDEX_AT, INDEX_DIGITS);
    const uint64_t token = number(copy + TOKEN_AT, TOKEN_DIGITS);
    struct zkli_fence_record record = {0};
    char same[ZKLI_FENCE_COPY];

    if (!end || index > UINT32_MAX || token > INT64_MAX)
        return false;
    size_t length = (size_t)(end - copy) - NAME_AT;
    if (length >= sizeof(record.name))
        return false;
    record.index = (uint32_t)index;
    record.token = (int64_t)token;
    memcpy(record.name, copy + NAME_AT, length);
    format_copy(same, record.index, record.token, record.name);
    if (memcmp(same, copy, sizeof(same)) != 0)
        return false;
    *ret_record = record;
    return true;
}

void zkli_fence_cell_format(char ret_cell[ZKLI_FENCE_CELL], uint32_t index, int64_t token,
                            const char *name) {
    format_copy(ret_cell, index, token, name);
    memcpy(ret_cell + ZKLI_FENCE_COPY, ret_cell, ZKLI_FENCE_COPY);
}

enum zkli_fence_cell zkli_fence_cell_parse(const char cell[ZKLI_FENCE_CELL],
                                           struct zkli_fence_record *ret_record) {
    const char *second = cell + ZKLI_FENCE_COPY;
    struct zkli_fence_record records[2];
    const bool first_is_good = parse_copy(cell, &records[0]);
    const bool second_is_good = parse_copy(second, &records[1]);

    if (first_is_good && second_is_good && memcmp(cell, second, ZKLI_FENCE_COPY) != 0)
        return ZKLI_FENCE_DAMAGED;
    if (first_is_good || second_is_good) {
        *ret_record = records[first_is_good ? 0 : 1];
        return ZKLI_FENCE_RECORD;
    }
    if (cell[0] == '\0' && memcmp(cell, cell + 1, ZKLI_FENCE_CELL - 1) == 0)
        return ZKLI_FENCE_EMPTY;
    /* What has not been written yet is zero, and a copy's last byte is written last. */
    return cell[ZKLI_FENCE_COPY - 1] && second[ZKLI_FENCE_COPY - 1] ? ZKLI_FENCE_DAMAGED
                                                                    : ZKLI_FENCE_TORN;
}
