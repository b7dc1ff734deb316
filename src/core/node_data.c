/* node_data - see node_data.h. */
#include "core/node_data.h"

#include <string.h>

#define WORD "zklock1"
#define WORD_LENGTH (sizeof(WORD) - 1)

static const char digits[] = "0123456789ABCDEF";

static const char *const later[] = {
    [ZKLI_NODE_TOUCHED] = " touched=",
    [ZKLI_NODE_SINCE] = " since=",
    [ZKLI_NODE_ASK] = " ask=",
    [ZKLI_NODE_BREAK] = " break=",
};

void zkli_node_data_cut(char ret_value[ZKLI_NODE_DATA_VALUE_MAX + 1], const char *text) {
    const char *end = memchr(text, '\0', ZKLI_NODE_DATA_VALUE_MAX);
    size_t length = end == NULL ? ZKLI_NODE_DATA_VALUE_MAX : (size_t)(end - text);
    memcpy(ret_value, text, length);
    ret_value[length] = '\0';
}

struct text {
    char *bytes;
    size_t length, max;
};

static bool put(struct text *text, const char *bytes, size_t length) {
    if (length > text->max - text->length)
        return false;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return true;
}

static void put_value(struct text *text, const char *key, const char *value) {
    if (value[0] == '\0' || !put(text, key, strlen(key)))
        return;
    for (const unsigned char *p = (const unsigned char *)value; *p != '\0'; p++) {
        bool is_plain = *p > 0x20 && *p < 0x7f && *p != '%';
        char escaped[3] = {is_plain ? (char)*p : '%', digits[*p >> 4], digits[*p & 15]};
        if (!put(text, escaped, is_plain ? 1 : 3))
            return; /* cut */
    }
}

static void put_digits(struct text *text, uint64_t number, unsigned base) {
    char written[20];
    size_t at = sizeof(written);
    for (; number > 0 || at == sizeof(written); number /= base)
        written[--at] = digits[number % base];
    (void)put(text, written + at, sizeof(written) - at);
}

/* There is room: numbers come first. */
static void put_number(struct text *text, const char *key, int64_t number) {
    if (number <= 0)
        return;
    (void)put(text, key, strlen(key));
    put_digits(text, (uint64_t)number, 10);
}

static void put_owner(struct text *text, uint64_t nonce, uint64_t thread) {
    if (nonce == 0)
        return;
    (void)put(text, " owner=", strlen(" owner="));
    put_digits(text, nonce, 16);
    (void)put(text, ".", 1);
    put_digits(text, thread, 10);
}

size_t zkli_node_data_format(char ret_line[ZKLI_NODE_DATA_MAX], const struct zkli_node_data *data) {
    struct text text = {ret_line, 0, ZKLI_NODE_DATA_MAX - ZKLI_NODE_DATA_LATER_MAX};
    (void)put(&text, WORD, WORD_LENGTH);
    put_number(&text, " t=", data->timeout_ms);
    put_owner(&text, data->owner_nonce, data->owner_thread);
    put_number(&text, " pid=", data->pid);
    put_number(&text, " tid=", data->thread);
    put_number(&text, " token=", data->token);
    put_value(&text, " attempt=", data->attempt);
    put_value(&text, " host=", data->host);
    put_value(&text, " prog=", data->program);
    put_value(&text, " label=", data->label);
    return text.length;
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* ret_value has room for max bytes and a NUL. */
static void parse_value(char *ret_value, size_t max, const char *from, size_t length) {
    size_t out = 0;
    for (size_t i = 0; i < length && out < max; i++) {
        char byte = from[i];
        if (byte == '%' && i + 2 < length) {
            int high = hex_value(from[i + 1]);
            int low = hex_value(from[i + 2]);
            if (high >= 0 && low >= 0) {
                byte = (char)(high * 16 + low);
                i += 2;
            }
        }
        if (byte != '\0')
            ret_value[out++] = byte;
    }
    ret_value[out] = '\0';
}

/* False: there is no digit, or not only digits, or the number is above max. */
static bool parse_digits(uint64_t *ret_number, const char *from, size_t length, unsigned base,
                         uint64_t max) {
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)hex_value(from[i]); /* -1 is above any base */
        if (digit >= base || number > (max - digit) / base)
            return false;
        number = number * base + digit;
    }
    *ret_number = number;
    return length > 0;
}

static int64_t parse_number(const char *from, size_t length) {
    uint64_t number;
    return parse_digits(&number, from, length, 10, INT64_MAX) ? (int64_t)number : 0;
}

static void parse_owner(struct zkli_node_data *data, const char *from, size_t length) {
    const char *dot = memchr(from, '.', length);
    size_t nonce_length = dot == NULL ? 0 : (size_t)(dot - from);
    uint64_t nonce, thread;
    bool is_owner = parse_digits(&nonce, from, nonce_length, 16, UINT64_MAX) && nonce != 0 &&
                    parse_digits(&thread, from + nonce_length + 1, length - nonce_length - 1, 10,
                                 UINT64_MAX);
    data->owner_nonce = is_owner ? nonce : 0;
    data->owner_thread = is_owner ? thread : 0;
}

static bool has_key(const char *field, size_t length, const char *key) {
    return length >= strlen(key) && memcmp(field, key, strlen(key)) == 0;
}

/* Takes the key off, so that the value is left. */
static bool take_key(const char **field, size_t *length, const char *key) {
    if (!has_key(*field, *length, key))
        return false;
    *field += strlen(key);
    *length -= strlen(key);
    return true;
}

static void parse_field(struct zkli_node_data *data, const char *field, size_t length) {
    if (take_key(&field, &length, " t="))
        data->timeout_ms = parse_number(field, length);
    else if (take_key(&field, &length, " owner="))
        parse_owner(data, field, length);
    else if (take_key(&field, &length, " pid="))
        data->pid = parse_number(field, length);
    else if (take_key(&field, &length, " tid="))
        data->thread = parse_number(field, length);
    else if (take_key(&field, &length, " token="))
        data->token = parse_number(field, length);
    else if (take_key(&field, &length, " attempt="))
        parse_value(data->attempt, ZKLI_NODE_DATA_ATTEMPT_MAX, field, length);
    else if (take_key(&field, &length, " host="))
        parse_value(data->host, ZKLI_NODE_DATA_VALUE_MAX, field, length);
    else if (take_key(&field, &length, " prog="))
        parse_value(data->program, ZKLI_NODE_DATA_VALUE_MAX, field, length);
    else if (take_key(&field, &length, " label="))
        parse_value(data->label, ZKLI_NODE_DATA_VALUE_MAX, field, length);
    else if (take_key(&field, &length, later[ZKLI_NODE_TOUCHED]))
        data->is_touched = parse_number(field, length) != 0;
    else if (take_key(&field, &length, later[ZKLI_NODE_SINCE]))
        data->since_ms = parse_number(field, length);
    else if (take_key(&field, &length, later[ZKLI_NODE_ASK]))
        data->is_asked = parse_number(field, length) != 0;
    else if (take_key(&field, &length, later[ZKLI_NODE_BREAK]))
        data->is_broken = parse_number(field, length) != 0;
}

bool zkli_node_data_is_ours(const char *line, size_t length) {
    return length >= WORD_LENGTH && length <= ZKLI_NODE_DATA_MAX &&
           memcmp(line, WORD, WORD_LENGTH) == 0 &&
           (length == WORD_LENGTH || line[WORD_LENGTH] == ' ');
}

/* Where the field ends whose blank is at this place. */
static size_t field_end(const char *line, size_t length, size_t at) {
    const char *blank = memchr(line + at + 1, ' ', length - at - 1);
    return blank == NULL ? length : (size_t)(blank - line);
}

bool zkli_node_data_parse(struct zkli_node_data *ret_data, const char *line, size_t length) {
    memset(ret_data, 0, sizeof(*ret_data));
    if (!zkli_node_data_is_ours(line, length))
        return false;
    for (size_t at = WORD_LENGTH, end; at < length; at = end) {
        end = field_end(line, length, at);
        parse_field(ret_data, line + at, end - at);
    }
    return true;
}

size_t zkli_node_data_set(char ret_line[ZKLI_NODE_DATA_MAX], const char *line, size_t length,
                          enum zkli_node_field field, int64_t value) {
    char bytes[ZKLI_NODE_DATA_LATER_MAX];
    struct text text = {ret_line, 0, ZKLI_NODE_DATA_MAX}, changed = {bytes, 0, sizeof(bytes)};
    const char *key = later[field];
    if (!zkli_node_data_is_ours(line, length))
        return 0;
    if (field == ZKLI_NODE_BREAK && value <= 0) {
        (void)put(&text, line, length);
        return length;
    }
    put_number(&changed, key, field == ZKLI_NODE_SINCE ? value : value > 0);
    size_t first = WORD_LENGTH;
    while (first < length && !has_key(line + first, length - first, key))
        first = field_end(line, length, first);
    if (first == length)
        first = WORD_LENGTH;
    (void)put(&text, line, first);
    bool fits = put(&text, changed.bytes, changed.length);
    for (size_t at = first, end; at < length; at = end) {
        end = field_end(line, length, at);
        if (!has_key(line + at, end - at, key))
            fits = fits && put(&text, line + at, end - at);
    }
    return fits ? text.length : 0;
}
