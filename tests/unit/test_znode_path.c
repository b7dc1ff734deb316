/* Which paths the servers take. */
#include "core/znode_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"

/* On the heap without a byte to spare, so that a sanitizer sees a look behind the end. */
static bool path_is_valid(const char *path, bool is_sequence) {
    char *copy = strdup(path);
    REQUIRE(copy != NULL);
    bool is_valid = zkli_path_is_valid(copy, is_sequence);
    CHECK_INT(zkli_names_are_valid(copy + 1), path[1] != '\0' && zkli_path_is_valid(copy, false));
    free(copy);
    return is_valid;
}

static void check_path(const char *path, bool is_valid, bool is_valid_as_sequence) {
    if (path_is_valid(path, false) != is_valid || path_is_valid(path, true) != is_valid_as_sequence)
        test_note("\"%s\"", path);
    CHECK_INT(path_is_valid(path, false), is_valid);
    CHECK_INT(path_is_valid(path, true), is_valid_as_sequence);
}

static void a_path_is_a_slash_alone_or_names_behind_slashes(void) {
    static const char *const good[] = {
        "/", "/a", "/a/b", "/a/b/c", "/.a", "/a.", "/...", "/.../b", "/..a/b..", "/a b", "/ ", "/~",
    };
    static const char *const bad[] = {
        "//",   "//a",   "/a//b",  "/a//",    "/.",   "/..",
        "/./a", "/../a", "/a/./b", "/a/../b", "/a/.", "/a/..",
    };
    for (size_t i = 0; i < COUNT(good); i++)
        check_path(good[i], true, true);
    for (size_t i = 0; i < COUNT(bad); i++)
        check_path(bad[i], false, false);
}

static void what_does_not_begin_with_a_slash_is_none(void) {
    CHECK(!zkli_path_is_valid(NULL, false) && !zkli_path_is_valid(NULL, true));
    CHECK(!zkli_path_is_valid("", false) && !zkli_path_is_valid("", true));
    CHECK(!zkli_path_is_valid("a", false) && !zkli_path_is_valid("a/b", true));
    CHECK(!zkli_names_are_valid("") && !zkli_names_are_valid("/"));
}

static void a_number_may_be_all_there_is_of_the_last_name(void) {
    check_path("/a/", false, true);
    check_path("/a/b/", false, true);
    check_path("/a/./", false, false);
    check_path("/a\x01/", false, false);
}

/* ---- Characters ---- */

static size_t encode(char *out, unsigned code, size_t length) {
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (length == 1) {
        out[0] = (char)code;
        return 1;
    }
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 63));
    out[0] = (char)(first[length] | code);
    return length;
}

/* In the servers' words, which see characters of 16 bits. */
static bool server_takes(unsigned code) {
    if (code >= 0x1 && code <= 0x1f)
        return false;
    if (code >= 0x7f && code <= 0x9f)
        return false;
    if (code >= 0xd800 && code <= 0xf8ff)
        return false;
    return code < 0xfff0;
}

static void every_character_is_taken_that_the_servers_take(void) {
    for (unsigned code = 1; code <= 0x10ffff; code += code < 0x11000 ? 1 : 0x101) {
        char path[8] = "/";
        size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        bool is_taken = server_takes(code) && code != '/' && code != '.';
        path[1 + encode(path + 1, code, length)] = '\0';
        bool is_valid = zkli_path_is_valid(path, false);
        if (is_valid != is_taken)
            test_note("U+%04X", code);
        CHECK(is_valid == is_taken);
    }
}

/* The servers read U+FFFD for them, which they refuse. */
static void what_is_not_utf_8_is_refused(void) {
    static const char *const bad[] = {
        "\x80", /* a continuation of nothing */
        "a\xbf",
        "\xc3", /* cut short */
        "\xc3(",
        "\xc3/a",
        "\xe2\x82",
        "\xe2(\xac",
        "\xe2\x82(",
        "\xe2\x82/a",
        "\xe2\x82\xc0",
        "\x81\x80\x80",
        "\xf1\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf8\x88\x80\x80\x80",
        "\xfe",
        "\xff",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        char path[16];
        (void)snprintf(path, sizeof(path), "/%s", bad[i]);
        check_path(path, false, false);
        (void)snprintf(path, sizeof(path), "/b/%s/c", bad[i]);
        check_path(path, false, false);
    }
    for (unsigned code = 1; code < 0x800; code++) /* longer than it need be */
        for (size_t length = code < 0x80 ? 2 : 3; length <= 4; length++) {
            char path[8] = "/";
            path[1 + encode(path + 1, code, length)] = '\0';
            check_path(path, false, false);
        }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a path is a slash alone, or names behind slashes",
         a_path_is_a_slash_alone_or_names_behind_slashes},
        {"what does not begin with a slash is none", what_does_not_begin_with_a_slash_is_none},
        {"a number may be all there is of the last name",
         a_number_may_be_all_there_is_of_the_last_name},
        {"every character is taken that the servers take",
         every_character_is_taken_that_the_servers_take},
        {"what is not UTF-8 is refused", what_is_not_utf_8_is_refused},
    };
    return TEST_MAIN(argc, argv, "znode_path", cases);
}
