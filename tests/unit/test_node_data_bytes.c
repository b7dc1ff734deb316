/* The line in a node, byte by byte: which are escaped, which escapes are read, where it is cut. */
#include "core/node_data.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define NEW_MAX (ZKLI_NODE_DATA_MAX - ZKLI_NODE_DATA_LATER_MAX)

static const char *format(const struct zkli_node_data *data) {
    static char text[ZKLI_NODE_DATA_MAX + 1];
    text[zkli_node_data_format(text, data)] = '\0';
    return text;
}

static void set(char ret_value[ZKLI_NODE_DATA_VALUE_MAX + 1], const char *value) {
    (void)snprintf(ret_value, ZKLI_NODE_DATA_VALUE_MAX + 1, "%s", value);
}

static void printable_bytes_are_written_as_they_are(void) {
    for (int byte = 1; byte < 256; byte++) {
        bool is_plain = byte > ' ' && byte <= '~' && byte != '%';
        struct zkli_node_data data = {.label = {(char)byte}};
        char expected[32];
        (void)snprintf(expected, sizeof(expected),
                       is_plain ? "zklock1 label=%c" : "zklock1 label=%%%02X", (unsigned)byte);
        CHECK_STRING(format(&data), expected);
    }
}

static void an_escape_is_read_if_two_hex_digits_follow(void) {
    for (int high = 1; high < 256; high++)
        for (int low = 1; low < 256; low++) {
            char line[] = {'z', 'k', 'l', 'o', 'c', 'k', '1',        ' ',       'h',
                           'o', 's', 't', '=', 'a', '%', (char)high, (char)low, '\0'};
            struct zkli_node_data data;
            char expected[8] = {'a', '%', (char)high, (char)low, '\0'};
            if (high == ' ' || low == ' ')
                continue;
            if (isxdigit(high) && isxdigit(low)) {
                expected[1] = (char)strtol(line + 15, NULL, 16);
                expected[2] = '\0';
            }
            REQUIRE(zkli_node_data_parse(&data, line, strlen(line)));
            if (strcmp(data.host, expected) != 0)
                test_note("%%%c%c", high, low);
            CHECK(strcmp(data.host, expected) == 0);
        }
}

static void a_number_has_digits_only(void) {
    for (int byte = 1; byte < 256; byte++) {
        char line[32];
        struct zkli_node_data data;
        (void)snprintf(line, sizeof(line), "zklock1 pid=4%c tid=7", byte);
        REQUIRE(zkli_node_data_parse(&data, line, strlen(line)));
        int64_t expected = isdigit(byte) ? 40 + byte - '0' : byte == ' ' ? 4 : 0;
        CHECK_INT(data.pid, expected);
        CHECK_INT(data.thread, 7);
    }
}

static void of_a_key_that_comes_twice_the_last_value_counts(void) {
    static const char *const lines[][2] = {
        {"zklock1 host=longer host=x", "x"},
        {"zklock1 host=longer host=", ""},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct zkli_node_data data;
        REQUIRE(zkli_node_data_parse(&data, lines[i][0], strlen(lines[i][0])));
        CHECK_STRING(data.host, lines[i][1]);
    }
}

static void a_key_begins_behind_a_blank(void) {
    static const char line[] = "zklock1 host=apid=7 xtid=8";
    struct zkli_node_data data;
    REQUIRE(zkli_node_data_parse(&data, line, strlen(line)));
    CHECK_STRING(data.host, "apid=7");
    CHECK(data.pid == 0 && data.thread == 0);
}

/* Leaves so many bytes of the line free for the label. */
static void fill_all_but(struct zkli_node_data *data, size_t room) {
    char host[ZKLI_NODE_DATA_VALUE_MAX + 1];
    memset(data, 0, sizeof(*data));
    memset(host, ' ', ZKLI_NODE_DATA_VALUE_MAX);
    host[ZKLI_NODE_DATA_VALUE_MAX] = '\0'; /* three bytes each, as it is written */
    set(data->host, host);
    size_t left = NEW_MAX - strlen(format(data)) - strlen(" prog=");
    REQUIRE(left >= room && left - room <= ZKLI_NODE_DATA_VALUE_MAX);
    memset(data->program, 'p', left - room);
    CHECK_INT(strlen(format(data)), NEW_MAX - room);
}

static void a_key_that_does_not_fit_takes_its_value_along(void) {
    for (size_t room = 0; room <= strlen(" label=") + 1; room++) {
        struct zkli_node_data data;
        fill_all_but(&data, room);
        size_t length = strlen(format(&data));
        set(data.label, "x");
        const char *line = format(&data);
        if (room < strlen(" label="))
            CHECK_INT(strlen(line), length);
        else
            CHECK_STRING(line + length, room == strlen(" label=") ? " label=" : " label=x");
    }
}

static void nothing_follows_the_byte_that_did_not_fit(void) {
    for (size_t room = 0; room < 4; room++) {
        struct zkli_node_data data;
        fill_all_but(&data, strlen(" label=") + room);
        size_t length = strlen(format(&data));
        set(data.label, " x");
        CHECK_STRING(format(&data) + length, room < 3 ? " label=" : " label=%20");
    }
}

/* From the heap without a byte to spare, so that a sanitizer sees a look behind the end. */
static void a_value_is_what_its_text_is_up_to_128_bytes(void) {
    char text[ZKLI_NODE_DATA_VALUE_MAX + 3];
    for (size_t length = 0; length < COUNT(text); length++) {
        char value[ZKLI_NODE_DATA_VALUE_MAX + 1];
        memset(text, '\1', length);
        text[length] = '\0';
        char *copy = strdup(text);
        REQUIRE(copy != NULL);
        memset(value, 'x', sizeof(value));
        zkli_node_data_cut(value, copy);
        free(copy);
        text[length < ZKLI_NODE_DATA_VALUE_MAX ? length : ZKLI_NODE_DATA_VALUE_MAX] = '\0';
        CHECK(memchr(value, '\0', sizeof(value)) != NULL && strcmp(value, text) == 0);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"printable bytes are written as they are", printable_bytes_are_written_as_they_are},
        {"an escape is read if two hex digits follow", an_escape_is_read_if_two_hex_digits_follow},
        {"a number has digits only", a_number_has_digits_only},
        {"of a key that comes twice the last value counts",
         of_a_key_that_comes_twice_the_last_value_counts},
        {"a key begins behind a blank", a_key_begins_behind_a_blank},
        {"a key that does not fit takes its value along",
         a_key_that_does_not_fit_takes_its_value_along},
        {"nothing follows the byte that did not fit", nothing_follows_the_byte_that_did_not_fit},
        {"a value is what its text is, up to 128 bytes",
         a_value_is_what_its_text_is_up_to_128_bytes},
    };
    return TEST_MAIN(argc, argv, "node_data_bytes", cases);
}
