/* Parses numbers by hand: strtod would take "inf", "0x1p3", blanks and the locale's comma. */
#include "cli/number.h"

#include <stddef.h>

/* 31 years; far from any overflow when it is in milliseconds. */
#define SECONDS_MAX INT64_C(1000000000)
#define SESSION_TIMEOUT_MIN_MS 100
#define SESSION_TIMEOUT_MAX_MS 3600000

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Reads digits while there are some; false when the value exceeds max. */
static bool read_digits(const char **text, int64_t max, int64_t *ret_value) {
    int64_t value = 0;
    for (; is_digit(**text); (*text)++) {
        value = value * 10 + (**text - '0');
        if (value > max)
            return false;
    }
    *ret_value = value;
    return true;
}

/* The digits after the point, in milliseconds, rounded up. */
static int64_t read_fraction_ms(const char **text) {
    int64_t ms = 0;
    int scale = 100;
    bool rest = false;
    for (; is_digit(**text); (*text)++) {
        ms += (**text - '0') * scale;
        rest = rest || (scale == 0 && **text != '0');
        scale /= 10;
    }
    return ms + (rest ? 1 : 0);
}

bool cli_number_seconds(const char *text, int64_t *ret_ms) {
    int64_t seconds;
    int64_t ms = 0;
    bool any = is_digit(*text);
    if (!read_digits(&text, SECONDS_MAX, &seconds))
        return false;
    if (*text == '.') {
        text++;
        any = any || is_digit(*text);
        ms = read_fraction_ms(&text);
    }
    if (!any || *text != '\0')
        return false;
    *ret_ms = seconds * 1000 + ms;
    return true;
}

bool cli_number_session_timeout(const char *text, int *ret_ms) {
    int64_t ms;
    if (!cli_number_seconds(text, &ms) || ms < SESSION_TIMEOUT_MIN_MS ||
        ms > SESSION_TIMEOUT_MAX_MS)
        return false;
    *ret_ms = (int)ms;
    return true;
}

bool cli_number_whole(const char *text, int max, int *ret_value) {
    int64_t value;
    if (!is_digit(*text) || !read_digits(&text, max, &value) || *text != '\0')
        return false;
    *ret_value = (int)value;
    return true;
}
