/* node_data - see node_data.h. */
#include "core/node_data.h"

#include <string.h>

void zkli_node_data_cut(char ret_value[ZKLI_NODE_DATA_VALUE_MAX + 1], const char *text) {
    const char *end = memchr(text, '\0', ZKLI_NODE_DATA_VALUE_MAX);
    size_t length = end == NULL ? ZKLI_NODE_DATA_VALUE_MAX : (size_t)(end - text);
    memcpy(ret_value, text, length);
    ret_value[length] = '\0';
}

struct text {
    char *bytes;
    size_t length;
};

static bool put(struct text *text, const char *bytes, size_t length) {
    if (length > ZKLI_NODE_DATA_MAX - text->length)
        return false;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return true;
}

static void put_value(struct text *text, const char *key, const char *value) {
    static const char digits[] = "0123456789ABCDEF";
    if (value[0] == '\0' || !put(text, key, strlen(key)))
        return;
    for (const unsigned char *p = (const unsigned char *)value; *p != '\0'; p++) {
        bool is_plain = *p > 0x20 && *p < 0x7f && *p != '%';
        char escaped[3] = {is_plain ? (char)*p : '%', digits[*p >> 4], digits[*p & 15]};
        if (!put(text, escaped, is_plain ? 1 : 3))
            return; /* cut */
    }
}

static void put_number(struct text *text, const char *key, int64_t number) {
    char digits[20];
    size_t at = sizeof(digits);
    if (number <= 0)
        return;
    for (; number > 0; number /= 10)
        digits[--at] = (char)('0' + number % 10);
    /* There is room: numbers come first. */
    (void)put(text, key, strlen(key));
    (void)put(text, digits + at, sizeof(digits) - at);
}

size_t zkli_node_data_format(char ret_line[ZKLI_NODE_DATA_MAX], const struct zkli_node_data *data) {
    struct text text = {ret_line, 0};
    (void)put(&text, "zklock1", 7);
    put_number(&text, " pid=", data->pid);
    put_number(&text, " tid=", data->thread);
    put_number(&text, " token=", data->token);
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

static void parse_value(char ret_value[ZKLI_NODE_DATA_VALUE_MAX + 1], const char *from,
                        size_t length) {
    size_t out = 0;
    for (size_t i = 0; i < length && out < ZKLI_NODE_DATA_VALUE_MAX; i++) {
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

static int64_t parse_number(const char *from, size_t length) {
    int64_t number = 0;
    if (length == 0 || length > 18)
        return 0;
    for (size_t i = 0; i < length; i++) {
        if (from[i] < '0' || from[i] > '9')
            return 0;
        number = number * 10 + (from[i] - '0');
    }
    return number;
}

static bool has_key(const char *field, size_t length, const char *key) {
    return length >= strlen(key) && memcmp(field, key, strlen(key)) == 0;
}

static void parse_field(struct zkli_node_data *data, const char *field, size_t length) {
    if (has_key(field, length, "pid="))
        data->pid = parse_number(field + 4, length - 4);
    else if (has_key(field, length, "tid="))
        data->thread = parse_number(field + 4, length - 4);
    else if (has_key(field, length, "token="))
        data->token = parse_number(field + 6, length - 6);
    else if (has_key(field, length, "host="))
        parse_value(data->host, field + 5, length - 5);
    else if (has_key(field, length, "prog="))
        parse_value(data->program, field + 5, length - 5);
    else if (has_key(field, length, "label="))
        parse_value(data->label, field + 6, length - 6);
}

bool zkli_node_data_is_ours(const char *line, size_t length) {
    return length >= 7 && length <= ZKLI_NODE_DATA_MAX && memcmp(line, "zklock1", 7) == 0 &&
           (length == 7 || line[7] == ' ');
}

bool zkli_node_data_parse(struct zkli_node_data *ret_data, const char *line, size_t length) {
    memset(ret_data, 0, sizeof(*ret_data));
    if (!zkli_node_data_is_ours(line, length))
        return false;
    size_t at = 7;
    while (at < length) {
        at++; /* the blank */
        const char *blank = memchr(line + at, ' ', length - at);
        size_t end = blank == NULL ? length : (size_t)(blank - line);
        parse_field(ret_data, line + at, end - at);
        at = end;
    }
    return true;
}
