/* permits - see permits.h. */
#include "core/permits.h"

#include <limits.h>
#include <string.h>

static size_t put(char *to, const char *key, int number) {
    char digits[10]; /* of INT_MAX */
    size_t length = strlen(key), at = sizeof(digits);
    for (; number > 0; number /= 10)
        digits[--at] = (char)('0' + number % 10);
    memcpy(to, key, length);
    memcpy(to + length, digits + at, sizeof(digits) - at);
    return length + sizeof(digits) - at;
}

size_t zkli_permits_format(char ret_text[ZKLI_PERMITS_TEXT_MAX], int count, int max) {
    size_t length = put(ret_text, "permits=", count);
    return length + put(ret_text + length, " max=", max);
}

struct text {
    const char *at;
    size_t left;
};

static bool skip(struct text *text, const char *key) {
    size_t length = strlen(key);
    if (text->left < length || memcmp(text->at, key, length) != 0)
        return false;
    text->at += length;
    text->left -= length;
    return true;
}

/* A number from 1 to INT_MAX; 0: there is none. */
static int take_number(struct text *text) {
    int64_t number = 0;
    while (text->left > 0 && *text->at >= '0' && *text->at <= '9' && number <= INT_MAX) {
        number = number * 10 + (*text->at - '0');
        text->at++;
        text->left--;
    }
    return number <= INT_MAX ? (int)number : 0;
}

struct zkli_permits zkli_permits_parse(const char *bytes, size_t length, int64_t czxid,
                                       int32_t version) {
    struct zkli_permits permits = {.state = length == 0 ? ZKLI_PERMITS_NONE : ZKLI_PERMITS_OTHER,
                                   .czxid = czxid,
                                   .version = version};
    struct text text = {bytes, length};
    if (!skip(&text, "permits="))
        return permits;
    int count = take_number(&text);
    int max = skip(&text, " max=") ? take_number(&text) : 0;
    if (count == 0 || max < count || text.left > 0)
        return permits;
    permits.state = ZKLI_PERMITS_RECORDED;
    permits.count = count;
    permits.max = max;
    return permits;
}
