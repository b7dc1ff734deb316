/* Names of contenders, byte by byte: what is a digit, what is hex, where a name of ours ends. */
#include "core/node_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"

static void a_sequence_has_ten_decimal_digits(void) {
    for (size_t at = 0; at < 10; at++)
        for (int byte = 1; byte < 256; byte++) {
            char name[] = "lock-1111111111";
            name[5 + at] = (char)byte;
            struct zkli_node_name parsed = zkli_node_name_parse(name);
            bool is_number = isdigit(byte) || (at == 0 && byte == '-');
            if ((parsed.kind == ZKLI_KIND_FOREIGN) != is_number)
                test_note("%s", name);
            CHECK((parsed.kind == ZKLI_KIND_FOREIGN) == is_number);
        }
}

static void a_recipe_s_session_id_is_hex_or_has_dashes(void) {
    for (size_t at = 2; at < 5; at++)
        for (int byte = 1; byte < 256; byte++) {
            char name[] = "x-111-0000000001";
            name[at] = (char)byte;
            bool is_id = isxdigit(byte) || byte == '-';
            struct zkli_node_name parsed = zkli_node_name_parse(name);
            if ((parsed.kind == ZKLI_KIND_FOREIGN) != is_id)
                test_note("%s", name);
            CHECK((parsed.kind == ZKLI_KIND_FOREIGN) == is_id);
        }
}

/* Whatever was in the memory before. */
static void names_of_ours_end(void) {
    static const uint8_t random[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    char tag[ZKLI_TAG_LENGTH + 2], uuid[ZKLI_UUID_LENGTH + 2], prefix[ZKLI_PREFIX_MAX + 2];
    memset(tag, '#', sizeof(tag));
    memset(uuid, '#', sizeof(uuid));
    memset(prefix, '#', sizeof(prefix));
    zkli_tag_format(tag, random);
    zkli_uuid_format(uuid, tag, random);
    zkli_node_prefix_format(prefix, ZKLI_KIND_WRITE, uuid);
    CHECK(tag[ZKLI_TAG_LENGTH] == '\0' && tag[ZKLI_TAG_LENGTH + 1] == '#');
    CHECK(uuid[ZKLI_UUID_LENGTH] == '\0' && uuid[ZKLI_UUID_LENGTH + 1] == '#');
    CHECK(prefix[ZKLI_PREFIX_MAX] == '\0' && prefix[ZKLI_PREFIX_MAX + 1] == '#');
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a sequence has ten decimal digits", a_sequence_has_ten_decimal_digits},
        {"a recipe's session id is hex or has dashes", a_recipe_s_session_id_is_hex_or_has_dashes},
        {"names of ours end", names_of_ours_end},
    };
    return TEST_MAIN(argc, argv, "node_name_bytes", cases);
}
