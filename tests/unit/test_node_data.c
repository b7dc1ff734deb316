/* The line in a node: what is written is read back, and what others write there does no harm. */
#include "core/node_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define NEW_MAX (ZKLI_NODE_DATA_MAX - ZKLI_NODE_DATA_LATER_MAX)

static uint64_t Random;

static uint64_t next_random(void) {
    Random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = Random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 27);
}

/* Formats into a string; the line itself has no NUL, and nothing behind it is touched. */
static size_t format(char ret_text[ZKLI_NODE_DATA_MAX + 1], const struct zkli_node_data *data) {
    char *line = malloc(ZKLI_NODE_DATA_MAX);
    if (line == NULL)
        abort();
    size_t length = zkli_node_data_format(line, data);
    CHECK(length <= NEW_MAX);
    memcpy(ret_text, line, length);
    ret_text[length] = '\0';
    free(line);
    return length;
}

/* Parses from the heap, without a byte to spare; and again with digits behind the end, which must
 * make no difference. */
static bool parse(struct zkli_node_data *ret_data, const char *line, size_t length) {
    struct zkli_node_data again;
    char *copy = malloc(length + 8);
    if (copy == NULL)
        abort();
    memcpy(copy, line, length);
    memset(copy + length, '1', 8);
    bool is_ours = zkli_node_data_parse(&again, copy, length);
    free(copy);
    copy = malloc(length == 0 ? 1 : length);
    if (copy == NULL)
        abort();
    memcpy(copy, line, length);
    CHECK(zkli_node_data_parse(ret_data, copy, length) == is_ours);
    CHECK(memcmp(ret_data, &again, sizeof(again)) == 0);
    free(copy);
    return is_ours;
}

static bool parse_text(struct zkli_node_data *ret_data, const char *line) {
    return parse(ret_data, line, strlen(line));
}

static void put(char ret_value[ZKLI_NODE_DATA_VALUE_MAX + 1], const char *value) {
    memcpy(ret_value, value, strlen(value) + 1);
}

static void the_line_says_who_it_is(void) {
    struct zkli_node_data data = {.pid = 4711, .thread = 42}, back;
    char line[ZKLI_NODE_DATA_MAX + 1];
    put(data.host, "db-3");
    put(data.program, "/usr/bin/job");
    put(data.label, "night shift");
    (void)format(line, &data);
    CHECK_STRING(line, "zklock1 pid=4711 tid=42 host=db-3 prog=/usr/bin/job label=night%20shift");
    CHECK(parse_text(&back, line) && back.token == 0);
    data.token = INT64_C(4294967296);
    data.timeout_ms = 10000;
    data.owner_nonce = UINT64_C(0xa0b1c2d3e4f50617);
    data.owner_thread = 12;
    memcpy(data.attempt, "00112233-4455-6677-8899-aabbccddeeff", sizeof(data.attempt));
    (void)format(line, &data);
    CHECK_STRING(line, "zklock1 t=10000 owner=A0B1C2D3E4F50617.12 pid=4711 tid=42 token=4294967296 "
                       "attempt=00112233-4455-6677-8899-aabbccddeeff host=db-3 prog=/usr/bin/job "
                       "label=night%20shift");
    CHECK(parse_text(&back, line) && back.token == data.token);
}

static void what_is_not_known_is_left_out(void) {
    struct zkli_node_data data = {.pid = 0, .thread = -1};
    char line[ZKLI_NODE_DATA_MAX + 1];
    CHECK_INT(format(line, &data), 7);
    CHECK_STRING(line, "zklock1");
    put(data.label, "x");
    (void)format(line, &data);
    CHECK_STRING(line, "zklock1 label=x");
    data = (struct zkli_node_data){.timeout_ms = -1, .owner_thread = 7, .token = INT64_MIN};
    CHECK_INT(format(line, &data), 7);
}

/* A new node has none of them. */
static void the_later_fields_are_not_written(void) {
    struct zkli_node_data data = {
        .is_touched = true, .since_ms = 4, .is_asked = true, .is_broken = true};
    char line[ZKLI_NODE_DATA_MAX + 1];
    CHECK_INT(format(line, &data), 7);
}

static void check_round_trip(const struct zkli_node_data *data) {
    char line[ZKLI_NODE_DATA_MAX + 1];
    struct zkli_node_data back;
    size_t length = format(line, data);
    REQUIRE(parse(&back, line, length));
    CHECK_STRING(back.host, data->host);
    CHECK_STRING(back.program, data->program);
    CHECK_STRING(back.label, data->label);
    CHECK_STRING(back.attempt, data->attempt);
    CHECK(back.pid == data->pid);
    CHECK(back.thread == data->thread);
    CHECK(back.token == data->token);
    CHECK(back.timeout_ms == data->timeout_ms);
    CHECK(back.owner_nonce == data->owner_nonce);
    CHECK(back.owner_thread == data->owner_thread);
    CHECK(!back.is_touched && back.since_ms == 0 && !back.is_asked && !back.is_broken);
}

static void numbers_survive_up_to_the_largest(void) {
    static const uint64_t owners[] = {0, 1, 9, 10, 15, 16, UINT64_MAX - 1, UINT64_MAX};
    static const int64_t numbers[] = {0, 1, 9, 10, INT64_MAX - 1, INT64_MAX};
    for (size_t i = 0; i < COUNT(owners); i++)
        for (size_t j = 1; j < COUNT(owners); j++) {
            struct zkli_node_data data = {.owner_thread = owners[i], .owner_nonce = owners[j]};
            check_round_trip(&data);
        }
    for (size_t i = 0; i < COUNT(numbers); i++) {
        struct zkli_node_data data = {
            .timeout_ms = numbers[i], .pid = numbers[i], .thread = numbers[i], .token = numbers[i]};
        check_round_trip(&data);
    }
}

static void every_byte_but_nul_survives_the_way_there_and_back(void) {
    for (unsigned byte = 1; byte < 256; byte++) {
        struct zkli_node_data data = {.pid = byte, .thread = INT64_C(999999999999999999)};
        char value[] = {'a', (char)byte, (char)byte, 'z', (char)byte, '\0'};
        put(data.host, value);
        put(data.program, value + 1);
        put(data.label, value + 4);
        memcpy(data.attempt, value, sizeof(value));
        check_round_trip(&data);
    }
}

static void any_values_that_fit_survive(void) {
    Random = 2;
    for (int round = 0; round < 2000; round++) {
        struct zkli_node_data data = {.pid = (int64_t)(next_random() % 4194304),
                                      .thread = (int64_t)(next_random() >> 1),
                                      .token = (int64_t)(next_random() >> 1),
                                      .timeout_ms = (int64_t)(next_random() >> 40),
                                      .owner_nonce = next_random(),
                                      .owner_thread = next_random() >> next_random() % 64};
        char *values[] = {data.host, data.program, data.label, data.attempt};
        for (size_t i = 0; i < COUNT(values); i++)
            for (size_t n = next_random() % 25, at = 0; at < n; at++)
                values[i][at] = (char)(1 + next_random() % 255);
        check_round_trip(&data);
    }
}

static void a_line_is_printable_ascii_whatever_the_values(void) {
    Random = 3;
    for (int round = 0; round < 2000; round++) {
        struct zkli_node_data data = {
            .pid = INT64_MAX, .thread = INT64_MAX, .owner_nonce = next_random()};
        char *values[] = {data.host, data.program, data.label};
        for (size_t i = 0; i < COUNT(values); i++)
            for (size_t n = next_random() % (ZKLI_NODE_DATA_VALUE_MAX + 1), at = 0; at < n; at++)
                values[i][at] = (char)(1 + next_random() % 255);
        for (size_t n = next_random() % sizeof(data.attempt), at = 0; at < n; at++)
            data.attempt[at] = (char)(1 + next_random() % 255);
        char line[ZKLI_NODE_DATA_MAX + 1];
        size_t length = format(line, &data), blanks = 0;
        bool is_printable = true;
        for (size_t i = 0; i < length; i++) {
            is_printable = is_printable && line[i] >= ' ' && line[i] < 0x7f;
            blanks += line[i] == ' ';
        }
        CHECK(is_printable);
        CHECK(blanks <= 7);
    }
}

/* For each length of the host, the longest cut: a value of escapes only. The later fields take the
 * rest of the 512 bytes. */
static void a_line_is_cut_between_characters_and_leaves_room(void) {
    for (size_t n = 0; n <= ZKLI_NODE_DATA_VALUE_MAX; n++) {
        struct zkli_node_data data = {.pid = INT64_MAX, .thread = INT64_MAX}, back;
        memset(data.host, 'h', n);
        memset(data.program, '\x01', ZKLI_NODE_DATA_VALUE_MAX);
        memset(data.label, '\xff', ZKLI_NODE_DATA_VALUE_MAX);
        char line[ZKLI_NODE_DATA_MAX + 1];
        size_t length = format(line, &data);
        CHECK(length > NEW_MAX - 7 && length <= NEW_MAX);
        REQUIRE(parse(&back, line, length));
        CHECK_STRING(back.host, data.host);
        size_t program = strlen(back.program), label = strlen(back.label);
        CHECK(memcmp(back.program, data.program, program) == 0);
        CHECK(memcmp(back.label, data.label, label) == 0);
        CHECK(program == ZKLI_NODE_DATA_VALUE_MAX || label == 0);
    }
    CHECK_INT(ZKLI_NODE_DATA_LATER_MAX, strlen(" touched=1") +
                                            strlen(" since=9223372036854775807") +
                                            strlen(" ask=1") + strlen(" break=1"));
}

/* The longest of each: values are cut, nothing before them. */
static void what_is_short_is_never_cut(void) {
    struct zkli_node_data data = {.timeout_ms = INT64_MAX,
                                  .owner_nonce = UINT64_MAX,
                                  .owner_thread = UINT64_MAX,
                                  .pid = INT64_MAX,
                                  .thread = INT64_MAX,
                                  .token = INT64_MAX},
                          back;
    char line[ZKLI_NODE_DATA_MAX + 1];
    memset(data.attempt, ' ', ZKLI_NODE_DATA_ATTEMPT_MAX); /* three bytes each */
    CHECK(format(line, &data) < NEW_MAX);
    check_round_trip(&data);
    memset(data.host, '\xff', ZKLI_NODE_DATA_VALUE_MAX);
    REQUIRE(parse(&back, line, format(line, &data)));
    CHECK_STRING(back.attempt, data.attempt);
    CHECK(back.token == INT64_MAX && back.owner_thread == UINT64_MAX);
    size_t host = strlen(back.host);
    CHECK(host > 32 && host < ZKLI_NODE_DATA_VALUE_MAX);
}

static void a_value_is_read_up_to_128_bytes(void) {
    struct zkli_node_data data;
    const struct {
        const char *key, *value;
        size_t max;
    } values[] = {
        {"host", data.host, ZKLI_NODE_DATA_VALUE_MAX},
        {"prog", data.program, ZKLI_NODE_DATA_VALUE_MAX},
        {"label", data.label, ZKLI_NODE_DATA_VALUE_MAX},
        {"attempt", data.attempt, ZKLI_NODE_DATA_ATTEMPT_MAX},
    };
    for (size_t i = 0; i < COUNT(values); i++) {
        char line[300] = {0};
        (void)snprintf(line, sizeof(line), "zklock1 %s=", values[i].key);
        memset(line + strlen(line), 'l', 200);
        REQUIRE(parse_text(&data, line));
        for (size_t j = 0; j < COUNT(values); j++)
            CHECK_INT(strlen(values[j].value), i == j ? values[j].max : 0);
    }
}

static const struct {
    const char *line, *host, *program, *label;
    int64_t pid, thread;
} lines[] = {
    {"zklock1", "", "", "", 0, 0},
    {"zklock1 ", "", "", "", 0, 0},
    {"zklock1      ", "", "", "", 0, 0},
    {"zklock1 label=b host=a", "a", "", "b", 0, 0},    /* any order */
    {"zklock1  host=a   prog=b ", "a", "b", "", 0, 0}, /* blanks */
    {"zklock1 host=a host=b", "b", "", "", 0, 0},      /* the last one counts */
    {"zklock1 future=1 host=a x", "a", "", "", 0, 0},  /* a later version's */
    {"zklock1 host", "", "", "", 0, 0},
    {"zklock1 host=", "", "", "", 0, 0},
    {"zklock1 host== prog=a=b", "=", "a=b", "", 0, 0},
    {"zklock1 hosts=a", "", "", "", 0, 0},
    {"zklock1 =a", "", "", "", 0, 0},
    {"zklock1 host=%41%6a%6A", "Ajj", "", "", 0, 0},
    {"zklock1 host=% prog=%4 label=%4", "%", "%4", "%4", 0, 0},
    {"zklock1 host=%zz prog=%4z label=%z4", "%zz", "%4z", "%z4", 0, 0},
    {"zklock1 host=%%41 prog=%25 label=%G0", "%A", "%", "%G0", 0, 0},
    {"zklock1 host=a%00b prog=%00 label=%0a", "ab", "", "\n", 0, 0},
    {"zklock1 host=\x1b[31m\xff", "\x1b[31m\xff", "", "", 0, 0}, /* not for terminals */
    {"zklock1 pid=1 tid=2", "", "", "", 1, 2},
    {"zklock1 pid=999999999999999999", "", "", "", INT64_C(999999999999999999), 0},
    {"zklock1 pid=9223372036854775807 tid=9223372036854775808", "", "", "", INT64_MAX, 0},
    {"zklock1 pid=0000000000000000000000000001", "", "", "", 1, 0},
    {"zklock1 pid=9999999999999999999 tid=99999999999999999999999", "", "", "", 0, 0},
    {"zklock1 pid= tid=-1", "", "", "", 0, 0},
    {"zklock1 pid=1a tid=a1", "", "", "", 0, 0},
    {"zklock1 pid=1x tid=x1", "", "", "", 0, 0},
    {"zklock1 pid=+1 tid=1.0", "", "", "", 0, 0},
    {"zklock1 pid=7 pid=x", "", "", "", 0, 0},
};

static void what_is_malformed_is_left_empty(void) {
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct zkli_node_data data;
        memset(&data, '#', sizeof(data));
        REQUIRE(parse_text(&data, lines[i].line));
        CHECK_STRING(data.host, lines[i].host);
        CHECK_STRING(data.program, lines[i].program);
        CHECK_STRING(data.label, lines[i].label);
        CHECK_INT(data.pid, lines[i].pid);
        CHECK_INT(data.thread, lines[i].thread);
    }
}

static const struct {
    const char *line;
    struct zkli_node_data data;
} fields[] = {
    {"zklock1 t=1", {.timeout_ms = 1}},
    {"zklock1 t= t", {.pid = 0}},
    {"zklock1 t=1 t=x", {.pid = 0}},
    {"zklock1 owner=A.1", {.owner_nonce = 10, .owner_thread = 1}},
    {"zklock1 owner=0fF.10", {.owner_nonce = 255, .owner_thread = 10}},
    {"zklock1 owner=FFFFFFFFFFFFFFFF.18446744073709551615",
     {.owner_nonce = UINT64_MAX, .owner_thread = UINT64_MAX}},
    {"zklock1 owner=10000000000000000.1", {.pid = 0}},
    {"zklock1 owner=1.18446744073709551616", {.pid = 0}},
    {"zklock1 owner=A.0", {.owner_nonce = 10}},
    {"zklock1 owner=0.7", {.pid = 0}},
    {"zklock1 owner=", {.pid = 0}},
    {"zklock1 owner=.", {.pid = 0}},
    {"zklock1 owner=A", {.pid = 0}},
    {"zklock1 owner=A. 1", {.pid = 0}},
    {"zklock1 owner=.1", {.pid = 0}},
    {"zklock1 owner=A.B", {.pid = 0}},
    {"zklock1 owner=G.1", {.pid = 0}},
    {"zklock1 owner=A.1.2", {.pid = 0}},
    {"zklock1 owner=A.1 owner=B", {.pid = 0}},
    {"zklock1 attempt=a%20b", {.attempt = "a b"}},
    {"zklock1 attempt=", {.attempt = ""}},
    {"zklock1 touched=1", {.is_touched = true}},
    {"zklock1 ask=1", {.is_asked = true}},
    {"zklock1 break=1", {.is_broken = true}},
    {"zklock1 touched=0 ask=x break=", {.pid = 0}},
    {"zklock1 touched ask break since", {.pid = 0}},
    {"zklock1 touched=2 ask=12345 break=01",
     {.is_touched = true, .is_asked = true, .is_broken = true}},
    {"zklock1 break=1 break=0", {.pid = 0}},
    {"zklock1 since=1793000000123", {.since_ms = INT64_C(1793000000123)}},
    {"zklock1 since=-1", {.pid = 0}},
    {"zklock1 token=5 touched=1 t=6", {.token = 5, .is_touched = true, .timeout_ms = 6}},
};

static void each_field_is_read_where_it_is_well_formed(void) {
    for (size_t i = 0; i < COUNT(fields); i++) {
        const struct zkli_node_data *expected = &fields[i].data;
        struct zkli_node_data data;
        memset(&data, '#', sizeof(data));
        REQUIRE(parse_text(&data, fields[i].line));
        CHECK_INT(data.timeout_ms, expected->timeout_ms);
        CHECK(data.owner_nonce == expected->owner_nonce);
        CHECK(data.owner_thread == expected->owner_thread);
        CHECK_INT(data.token, expected->token);
        CHECK_STRING(data.attempt, expected->attempt);
        CHECK(data.is_touched == expected->is_touched);
        CHECK_INT(data.since_ms, expected->since_ms);
        CHECK(data.is_asked == expected->is_asked);
        CHECK(data.is_broken == expected->is_broken);
    }
}

static void any_other_data_is_no_such_line(void) {
    static const char *const others[] = {
        "",
        "z",
        "zklock",
        "zklock2",
        "zklock10",
        "zklock1\n",
        "zklock1=",
        "ZKLOCK1 pid=1",
        " zklock1 pid=1",
        "192.0.2.1",
        "{\"pid\":1}",
    };
    for (size_t i = 0; i < COUNT(others); i++) {
        struct zkli_node_data data;
        memset(&data, '#', sizeof(data));
        CHECK(!parse_text(&data, others[i]));
        CHECK(data.host[0] == '\0' && data.pid == 0); /* also then it is safe to look */
    }
}

static void more_than_512_bytes_are_no_such_line(void) {
    struct zkli_node_data data;
    char line[ZKLI_NODE_DATA_MAX + 2];
    memset(line, 'x', sizeof(line));
    memcpy(line, "zklock1 host=a ", 15);
    CHECK(parse(&data, line, ZKLI_NODE_DATA_MAX));
    CHECK_STRING(data.host, "a");
    CHECK(!parse(&data, line, ZKLI_NODE_DATA_MAX + 1));
    CHECK_STRING(data.host, "");
}

/* Also with NULs in the middle: lengths count, not ends of strings. */
static void no_bytes_at_all_can_overrun_the_reader(void) {
    static const char alphabet[] = "  ==%%%%0123456789abcdefghilnoprst\0\xff\n";
    Random = 4;
    for (int round = 0; round < 5000; round++) {
        char line[600] = "zklock1 ";
        size_t length = next_random() % sizeof(line);
        for (size_t i = 8; i < length; i++)
            line[i] = alphabet[next_random() % (sizeof(alphabet) - 1)];
        for (size_t i = 8; i + 8 < length; i += 8 + next_random() % 64)
            memcpy(line + i,
                   &" host= prog= label=  pid= tid= t= owner=attem pt= token= since= ask= brea"
                       [6 * (next_random() % 12)],
                   6);
        struct zkli_node_data data;
        memset(&data, '#', sizeof(data));
        bool is_ours = parse(&data, line, length);
        CHECK(is_ours == (length >= 7 && length <= ZKLI_NODE_DATA_MAX));
        CHECK(memchr(data.host, '\0', sizeof(data.host)) != NULL);
        CHECK(memchr(data.program, '\0', sizeof(data.program)) != NULL);
        CHECK(memchr(data.label, '\0', sizeof(data.label)) != NULL);
        CHECK(memchr(data.attempt, '\0', sizeof(data.attempt)) != NULL);
        CHECK(data.pid >= 0 && data.thread >= 0 && data.token >= 0);
        CHECK(data.timeout_ms >= 0 && data.since_ms >= 0);
        CHECK((data.owner_nonce == 0 && data.owner_thread == 0) || data.owner_nonce != 0);
    }
}

static void a_value_is_cut_to_its_length(void) {
    char text[2 * ZKLI_NODE_DATA_VALUE_MAX], cut[ZKLI_NODE_DATA_VALUE_MAX + 1];
    for (size_t length = 0; length < sizeof(text); length++) {
        memset(text, 'x', length);
        text[length] = '\0';
        zkli_node_data_cut(cut, text);
        CHECK_INT(strlen(cut),
                  length < ZKLI_NODE_DATA_VALUE_MAX ? length : ZKLI_NODE_DATA_VALUE_MAX);
        CHECK(strncmp(cut, text, strlen(cut)) == 0);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a value is cut to its length", a_value_is_cut_to_its_length},
        {"the line says who it is", the_line_says_who_it_is},
        {"what is not known is left out", what_is_not_known_is_left_out},
        {"the later fields are not written", the_later_fields_are_not_written},
        {"numbers survive up to the largest", numbers_survive_up_to_the_largest},
        {"every byte but NUL survives the way there and back",
         every_byte_but_nul_survives_the_way_there_and_back},
        {"any values that fit survive", any_values_that_fit_survive},
        {"a line is printable ASCII whatever the values",
         a_line_is_printable_ascii_whatever_the_values},
        {"a line is cut between characters, and leaves room",
         a_line_is_cut_between_characters_and_leaves_room},
        {"what is short is never cut", what_is_short_is_never_cut},
        {"a value is read up to 128 bytes", a_value_is_read_up_to_128_bytes},
        {"what is malformed is left empty", what_is_malformed_is_left_empty},
        {"each field is read where it is well-formed", each_field_is_read_where_it_is_well_formed},
        {"any other data is no such line", any_other_data_is_no_such_line},
        {"more than 512 bytes are no such line", more_than_512_bytes_are_no_such_line},
        {"no bytes at all can overrun the reader", no_bytes_at_all_can_overrun_the_reader},
    };
    return TEST_MAIN(argc, argv, "node_data", cases);
}
