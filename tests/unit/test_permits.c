/* The number of permits as a directory has it: what is written is read, and nothing else. */
#include "core/permits.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"

static struct zkli_permits parse(const char *text) {
    return zkli_permits_parse(text, strlen(text), 7, 3);
}

static void what_is_written_is_read(void) {
    static const int numbers[] = {1, 2, 9, 10, 4096, INT_MAX - 1, INT_MAX};
    for (size_t i = 0; i < COUNT(numbers); i++)
        for (size_t k = i; k < COUNT(numbers); k++) {
            char text[ZKLI_PERMITS_TEXT_MAX];
            size_t length = zkli_permits_format(text, numbers[i], numbers[k]);
            REQUIRE(length < sizeof(text));
            struct zkli_permits permits = zkli_permits_parse(text, length, -1, INT32_MAX);
            CHECK_INT(permits.state, ZKLI_PERMITS_RECORDED);
            CHECK_INT(permits.count, numbers[i]);
            CHECK_INT(permits.max, numbers[k]);
            CHECK(permits.czxid == -1 && permits.version == INT32_MAX);
        }
}

static void no_data_are_no_number(void) {
    struct zkli_permits permits = parse("");
    CHECK_INT(permits.state, ZKLI_PERMITS_NONE);
    CHECK(permits.czxid == 7 && permits.version == 3);
}

static void other_data_are_left_alone(void) {
    static const char *const others[] = {
        "permits=3",
        "permits=3 max=",
        "permits= max=3",
        "permits=0 max=0",
        "permits=0 max=3",
        "permits=4 max=3",
        "permits=3 max=3 ",
        "permits=3 max=3 more=1",
        "permits=3  max=3",
        "3 max=3",
        "permits=1/ max=99",
        "permits=1: max=99",
        "permits=1a max=99",
        " permits=3 max=3",
        "permits=+3 max=3",
        "permits=-3 max=3",
        "permits=3max=3",
        "permits=3 max=2147483648",
        "permits=2147483648 max=2147483648",
        "permits=3 max=3\n",
        "PERMITS=3 MAX=3",
        "permits=18446744073709551619 max=9",
        "permits=1 max=99999999999999999999999999999999",
        "x",
    };
    for (size_t i = 0; i < COUNT(others); i++) {
        struct zkli_permits permits = parse(others[i]);
        if (permits.state != ZKLI_PERMITS_OTHER)
            test_note("%s", others[i]);
        CHECK_INT(permits.state, ZKLI_PERMITS_OTHER);
        CHECK(permits.count == 0 && permits.max == 0);
    }
}

/* Each cut is a copy of its own, so that a byte read beyond it is found. */
static void a_text_that_is_cut_is_another(void) {
    static const char text[] = "permits=12 max=34";
    for (size_t length = 1; length < sizeof(text) - 1; length++) {
        char *cut = malloc(length);
        REQUIRE(cut != NULL);
        memcpy(cut, text, length);
        struct zkli_permits permits = zkli_permits_parse(cut, length, 0, 0);
        free(cut);
        CHECK_INT(permits.state, ZKLI_PERMITS_OTHER); /* permits=12 max=3 has fewer than 12 */
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"what is written is read", what_is_written_is_read},
        {"no data are no number", no_data_are_no_number},
        {"other data are left alone", other_data_are_left_alone},
        {"a text that is cut is another", a_text_that_is_cut_is_another},
    };
    return TEST_MAIN(argc, argv, "permits", cases);
}
