/* The later fields of the line in a node: one is set, and the rest stays as it is. */
#include "core/node_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define NEW_MAX (ZKLI_NODE_DATA_MAX - ZKLI_NODE_DATA_LATER_MAX)
#define FIELDS (ZKLI_NODE_BREAK + 1)

static const char *const Names[FIELDS] = {"touched", "since", "ask", "break"};

static uint64_t Random;

static uint64_t next_random(void) {
    Random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = Random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 27);
}

static char *copy_of(const void *bytes, size_t length) {
    char *copy = malloc(length == 0 ? 1 : length);
    if (copy == NULL)
        abort();
    memcpy(copy, bytes, length);
    return copy;
}

/* From the heap and to the heap, without a byte to spare. */
static size_t set(char ret_line[ZKLI_NODE_DATA_MAX], const char *line, size_t length,
                  enum zkli_node_field field, int64_t value) {
    char *from = copy_of(line, length), *to = malloc(ZKLI_NODE_DATA_MAX);
    if (to == NULL)
        abort();
    size_t result = zkli_node_data_set(to, from, length, field, value);
    CHECK(result <= ZKLI_NODE_DATA_MAX);
    CHECK(memcmp(from, line, length) == 0);
    memcpy(ret_line, to, result);
    free(from);
    free(to);
    return result;
}

#define TOUCHED ZKLI_NODE_TOUCHED
#define SINCE ZKLI_NODE_SINCE
#define ASK ZKLI_NODE_ASK
#define BREAK ZKLI_NODE_BREAK

static const struct {
    const char *line;
    enum zkli_node_field field;
    int64_t value;
    const char *expected;
} edits[] = {
    {"zklock1", TOUCHED, 1, "zklock1 touched=1"},
    {"zklock1", SINCE, 17, "zklock1 since=17"},
    {"zklock1", ASK, 1, "zklock1 ask=1"},
    {"zklock1", BREAK, 1, "zklock1 break=1"},
    {"zklock1 pid=1 host=h", SINCE, INT64_MAX, "zklock1 since=9223372036854775807 pid=1 host=h"},
    {"zklock1 pid=1 since=2 host=h", SINCE, 33, "zklock1 pid=1 since=33 host=h"},
    {"zklock1 pid=1 since=22 host=h", SINCE, 3, "zklock1 pid=1 since=3 host=h"},
    {"zklock1 pid=1 since=2", SINCE, 3, "zklock1 pid=1 since=3"},
    {"zklock1 since=2 pid=1", ASK, 1, "zklock1 ask=1 since=2 pid=1"},
    {"zklock1 ask=1", ASK, 1, "zklock1 ask=1"},
    {"zklock1 ask=1", ASK, INT64_MAX, "zklock1 ask=1"},
    /* away */
    {"zklock1 pid=1 touched=1 host=h", TOUCHED, 0, "zklock1 pid=1 host=h"},
    {"zklock1 pid=1 since=5 host=h", SINCE, 0, "zklock1 pid=1 host=h"},
    {"zklock1 pid=1 since=5 host=h", SINCE, INT64_MIN, "zklock1 pid=1 host=h"},
    {"zklock1 ask=1", ASK, 0, "zklock1"},
    {"zklock1 ask=1", ASK, -1, "zklock1"},
    {"zklock1 pid=1", ASK, 0, "zklock1 pid=1"},
    {"zklock1", TOUCHED, 0, "zklock1"},
    /* a break is never taken back */
    {"zklock1 pid=1 break=1 host=h", BREAK, 0, "zklock1 pid=1 break=1 host=h"},
    {"zklock1 pid=1 break=1 host=h", BREAK, -1, "zklock1 pid=1 break=1 host=h"},
    {"zklock1 break=x break=1", BREAK, 0, "zklock1 break=x break=1"},
    {"zklock1 pid=1", BREAK, 0, "zklock1 pid=1"},
    {"zklock1 break=x pid=1 break=1", BREAK, 1, "zklock1 break=1 pid=1"},
    /* unknown fields, blanks, values that nobody writes */
    {"zklock1 future=7 ask=1 x label=%zz", TOUCHED, 1,
     "zklock1 touched=1 future=7 ask=1 x label=%zz"},
    {"zklock1   future  ", ASK, 1, "zklock1 ask=1   future  "},
    {"zklock1   ask=0  host=h ", ASK, 1, "zklock1   ask=1  host=h "},
    {"zklock1   ask=0  host=h ", ASK, 0, "zklock1    host=h "},
    {"zklock1 ", BREAK, 1, "zklock1 break=1 "},
    {"zklock1 since= x", SINCE, 4, "zklock1 since=4 x"},
    {"zklock1 since=a=b x", SINCE, 4, "zklock1 since=4 x"},
    {"zklock1 host=since=4", SINCE, 5, "zklock1 since=5 host=since=4"},
    {"zklock1 since", SINCE, 5, "zklock1 since=5 since"},
    {"zklock1 sinces=1 xsince=2", SINCE, 5, "zklock1 since=5 sinces=1 xsince=2"},
    {"zklock1 since =1", SINCE, 5, "zklock1 since=5 since =1"},
    {"zklock1 sinc", SINCE, 5, "zklock1 since=5 sinc"},
    /* several */
    {"zklock1 a since=1 b since=2 c since=3", SINCE, 9, "zklock1 a since=9 b c"},
    {"zklock1 since=1 since=2", SINCE, 9, "zklock1 since=9"},
    {"zklock1 since=1 since=2 b", SINCE, 0, "zklock1 b"},
    {"zklock1 a since=1 since=2", ASK, 1, "zklock1 ask=1 a since=1 since=2"},
};

static void one_field_is_set_and_the_rest_stays(void) {
    for (size_t i = 0; i < COUNT(edits); i++) {
        char line[ZKLI_NODE_DATA_MAX + 1];
        size_t length = set(line, edits[i].line, strlen(edits[i].line), edits[i].field,
                            edits[i].value);
        line[length] = '\0';
        CHECK_STRING(line, edits[i].expected);
    }
}

static void what_is_set_is_read_back(void) {
    char line[ZKLI_NODE_DATA_MAX] = "zklock1 pid=7 label=l";
    size_t length = strlen(line);
    struct zkli_node_data data;
    for (enum zkli_node_field field = 0; field < FIELDS; field++) {
        length = set(line, line, length, field, INT64_C(1793000000123));
        REQUIRE(zkli_node_data_parse(&data, line, length));
        CHECK(data.is_touched);
        CHECK_INT(data.since_ms, field >= SINCE ? INT64_C(1793000000123) : 0);
        CHECK(data.is_asked == (field >= ASK));
        CHECK(data.is_broken == (field >= BREAK));
        CHECK_INT(data.pid, 7);
        CHECK_STRING(data.label, "l");
    }
}

static void other_data_is_left_alone(void) {
    static const char *const others[] = {
        "",        "z",        "zklock",   "zklock2 pid=1", "zklock10 pid=1",
        "zklock1", "zklock1=", "zklock1,", "192.0.2.1",     "{\"ask\":1}",
    };
    for (size_t i = 0; i < COUNT(others); i++)
        for (enum zkli_node_field field = 0; field < FIELDS; field++)
            for (int value = 0; value < 2; value++) {
                char line[ZKLI_NODE_DATA_MAX];
                bool is_ours = strcmp(others[i], "zklock1") == 0;
                size_t length = set(line, others[i], strlen(others[i]), field, value);
                CHECK(is_ours == (length > 0));
            }
}

/* ---- Length ---- */

static void a_new_line_has_room_for_all_of_them_in_any_order(void) {
    for (unsigned order = 0; order < FIELDS * FIELDS * FIELDS * FIELDS; order++) {
        struct zkli_node_data data = {.pid = INT64_MAX}, back;
        char line[ZKLI_NODE_DATA_MAX];
        memset(data.host, 'h', ZKLI_NODE_DATA_VALUE_MAX);
        memset(data.program, 'p', ZKLI_NODE_DATA_VALUE_MAX);
        memset(data.label, 'l', ZKLI_NODE_DATA_VALUE_MAX);
        memset(data.attempt, 'a', ZKLI_NODE_DATA_ATTEMPT_MAX);
        size_t length = zkli_node_data_format(line, &data);
        CHECK_INT(length, NEW_MAX);
        unsigned seen = 0;
        for (unsigned i = 0, left = order; i < FIELDS; i++, left /= FIELDS) {
            length = set(line, line, length, left % FIELDS, INT64_MAX);
            CHECK(length > 0);
            seen |= 1u << left % FIELDS;
        }
        CHECK((length == ZKLI_NODE_DATA_MAX) == (seen == (1u << FIELDS) - 1));
        REQUIRE(zkli_node_data_parse(&back, line, length));
        CHECK(back.pid == data.pid);
        CHECK(back.since_ms == (seen & 1u << SINCE ? INT64_MAX : 0));
        CHECK(back.is_broken == ((seen & 1u << BREAK) != 0));
    }
}

/* Any length, the field in front, in the middle, at the end, and in none of them. */
static void what_would_be_too_long_is_refused(void) {
    static const char *const starts[] = {"zklock1 since=1 ", "zklock1 ", "zklock1 a "};
    for (size_t start = 0; start < COUNT(starts); start++)
        for (size_t length = 480; length <= ZKLI_NODE_DATA_MAX + 1; length++)
            for (int is_at_end = 0; is_at_end < 2; is_at_end++) {
                char line[ZKLI_NODE_DATA_MAX + 1], result[ZKLI_NODE_DATA_MAX];
                memset(line, 'x', sizeof(line));
                memcpy(line, starts[start], strlen(starts[start]));
                if (is_at_end)
                    memcpy(line + length - 8, " since=2", 8);
                size_t expected = length + strlen(" since=9223372036854775807");
                expected -= start == 0 || is_at_end ? 8 : 0;
                expected -= start == 0 && is_at_end ? 8 : 0;
                if (length > ZKLI_NODE_DATA_MAX || expected > ZKLI_NODE_DATA_MAX)
                    expected = 0;
                CHECK_INT(set(result, line, length, SINCE, INT64_MAX), expected);
            }
}

/* ---- Any line ---- */

static size_t random_line(char ret_line[ZKLI_NODE_DATA_MAX + 8]) {
    static const char *const parts[] = {
        "touched=1", "touched=", "touched", "since=17",  "since=x",  "since=9223372036854775807",
        "ask=1",     "ask=0",    "break=1", "break=0",   "breaks",   "break",
        "pid=7",     "host=a",   "label=b", "future=%z", "\xff\x1b", "=",
        "",          "t=5",      "x",       "owner=A.1", "since==",  "attempt=u",
    };
    const size_t least = next_random() % 2 * 480; /* half of the lines have hardly any room left */
    const size_t most = least + next_random() % (ZKLI_NODE_DATA_MAX + 8 - least);
    size_t length = 7;
    memcpy(ret_line, "zklock1", 7);
    while (length < most) {
        const char *part = parts[next_random() % COUNT(parts)];
        ret_line[length++] = ' ';
        for (size_t i = 0; length < most && part[i] != '\0'; i++)
            ret_line[length++] = part[i];
        if (length < most && next_random() % 8 == 0)
            ret_line[length++] = (char)next_random();
    }
    return length;
}

/* What the edit comes to, by another way: the fields one by one, and the new one in its place. */
static size_t expect(char ret_line[1024], const char *line, size_t length,
                     enum zkli_node_field field, int64_t value) {
    char key[16], fresh[64] = "";
    size_t out = 7, place = 0;
    (void)snprintf(key, sizeof(key), "%s=", Names[field]);
    if (value > 0)
        (void)snprintf(fresh, sizeof(fresh), " %s%lld", key, field == SINCE ? (long long)value : 1);
    memcpy(ret_line, line, 7);
    for (size_t begin = 8, end; begin <= length; begin = end + 1) {
        for (end = begin; end < length && line[end] != ' '; end++)
            ;
        if (end - begin >= strlen(key) && memcmp(line + begin, key, strlen(key)) == 0) {
            place = place == 0 ? out : place;
            continue;
        }
        ret_line[out++] = ' ';
        memcpy(ret_line + out, line + begin, end - begin);
        out += end - begin;
    }
    place = place == 0 ? 7 : place;
    memmove(ret_line + place + strlen(fresh), ret_line + place, out - place);
    memcpy(ret_line + place, fresh, strlen(fresh));
    return out + strlen(fresh);
}

static void check_differs_in(const struct zkli_node_data *before, const struct zkli_node_data *now,
                             enum zkli_node_field field, int64_t value) {
    bool is_set = value > 0;
    CHECK_STRING(now->host, before->host);
    CHECK_STRING(now->program, before->program);
    CHECK_STRING(now->label, before->label);
    CHECK_STRING(now->attempt, before->attempt);
    CHECK(now->timeout_ms == before->timeout_ms && now->token == before->token);
    CHECK(now->owner_nonce == before->owner_nonce && now->owner_thread == before->owner_thread);
    CHECK(now->pid == before->pid && now->thread == before->thread);
    CHECK(now->is_touched == (field == TOUCHED ? is_set : before->is_touched));
    CHECK(now->is_asked == (field == ASK ? is_set : before->is_asked));
    CHECK(now->is_broken == (field == BREAK && is_set ? true : before->is_broken));
    CHECK(now->since_ms == (field != SINCE ? before->since_ms : is_set ? value : 0));
}

static void of_any_line_only_the_field_changes(void) {
    size_t fitting = 0, refused = 0;
    Random = 5;
    for (int round = 0; round < 20000; round++) {
        static const int64_t values[] = {0, 1, -1, 1793000000123, INT64_MAX, INT64_MIN};
        char line[ZKLI_NODE_DATA_MAX + 8], result[ZKLI_NODE_DATA_MAX], expected[1024];
        size_t length = random_line(line);
        enum zkli_node_field field = next_random() % FIELDS;
        int64_t value = values[next_random() % COUNT(values)];
        size_t got = set(result, line, length, field, value);
        size_t wanted = length;
        memcpy(expected, line, length);
        if (field != BREAK || value > 0)
            wanted = expect(expected, line, length, field, value);
        if (length > ZKLI_NODE_DATA_MAX || wanted > ZKLI_NODE_DATA_MAX)
            wanted = 0;
        REQUIRE_INT(got, wanted);
        CHECK(memcmp(result, expected, got) == 0);
        struct zkli_node_data before, now;
        if (got > 0) {
            CHECK(zkli_node_data_parse(&before, line, length));
            CHECK(zkli_node_data_parse(&now, result, got));
            check_differs_in(&before, &now, field, value);
        }
        fitting += got > 0;
        refused += got == 0;
    }
    test_note("%zu fit, %zu do not", fitting, refused);
    CHECK(fitting > 15000 && refused > 1000);
}

/* NULs too: lengths count, not ends of strings. */
static void no_bytes_at_all_do_harm(void) {
    Random = 6;
    for (int round = 0; round < 20000; round++) {
        char line[600], result[ZKLI_NODE_DATA_MAX];
        size_t length = next_random() % sizeof(line);
        for (size_t i = 0; i < length; i++)
            line[i] = next_random() % 4 == 0 ? " =\0\xff"[next_random() % 4] : (char)next_random();
        if (length >= 7 && round % 8 != 0)
            memcpy(line, "zklock1 ", length == 7 ? 7 : 8);
        for (size_t i = 8; i + 8 < length; i += 1 + next_random() % 99)
            memcpy(line + i, &" touched= since=   ask=    break= "[8 * (next_random() % 4)], 8);
        enum zkli_node_field field = next_random() % FIELDS;
        size_t got = set(result, line, length, field, (int64_t)next_random());
        CHECK(got == 0 || zkli_node_data_is_ours(line, length));
        CHECK(got == 0 || zkli_node_data_is_ours(result, got));
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"one field is set, and the rest stays", one_field_is_set_and_the_rest_stays},
        {"what is set is read back", what_is_set_is_read_back},
        {"other data is left alone", other_data_is_left_alone},
        {"a new line has room for all of them, in any order",
         a_new_line_has_room_for_all_of_them_in_any_order},
        {"what would be too long is refused", what_would_be_too_long_is_refused},
        {"of any line only the field changes", of_any_line_only_the_field_changes},
        {"no bytes at all do harm", no_bytes_at_all_do_harm},
    };
    return TEST_MAIN(argc, argv, "node_data_set", cases);
}
