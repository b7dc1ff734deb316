/*
 * Option structs of programs that were compiled with another release: what the program's struct
 * lacks is zero, and what ours lacks must be.
 */
#include "base/options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"
#include "zklock.h"

#define LONGER_MAX 64

/* Padding at the end is beyond what a program has to zero, and a later member would lie in it. */
#define ENDS_WITH(type, member)                                                                    \
    (offsetof(type, member) + sizeof(((type *)NULL)->member) == sizeof(type))
_Static_assert(ENDS_WITH(zkl_session_options, made_ms), "no padding at the end");
_Static_assert(ENDS_WITH(zkl_lock_options, owner), "no padding at the end");
_Static_assert(ENDS_WITH(zkl_fence_options, reserved), "no padding at the end");
_Static_assert(ENDS_WITH(zkl_event, reserved), "no padding at the end");
_Static_assert(ENDS_WITH(zkl_contender, held_since_ms), "no padding at the end");
_Static_assert(ENDS_WITH(zkl_wait, blocker), "no padding at the end");

static const size_t sizes[] = {sizeof(zkl_session_options), sizeof(zkl_lock_options),
                               sizeof(zkl_fence_options)};

/* A program's struct of this size, in memory that ends with it. Every byte that a struct of `known`
 * bytes has is set, the others are zero. */
static unsigned char *program_s(size_t given, size_t known) {
    unsigned char *bytes = calloc(1, given < sizeof(given) ? sizeof(given) : given);
    REQUIRE(bytes != NULL);
    for (size_t i = sizeof(given); i < given && i < known; i++)
        bytes[i] = (unsigned char)(i % 255 + 1);
    memcpy(bytes, &given, sizeof(given));
    return bytes;
}

static void check_length(size_t given, size_t size) {
    unsigned char copy[sizeof(zkl_session_options)], *bytes = program_s(given, size);
    size_t said = 0;
    memset(copy, 0xee, sizeof(copy));
    bool is_copied = zkli_options_copy(copy, size, bytes);
    CHECK_INT(is_copied, given >= sizeof(given));
    memcpy(&said, copy, sizeof(said));
    for (size_t i = sizeof(said); is_copied && i < size; i++)
        CHECK_INT(copy[i], i < given ? bytes[i] : 0);
    CHECK(!is_copied || said == size);
    for (size_t i = size; i < sizeof(copy); i++)
        CHECK_INT(copy[i], 0xee);
    free(bytes);
}

static void a_struct_of_any_length_is_copied_and_filled_with_zeros(void) {
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t given = 0; given <= sizes[i] + LONGER_MAX; given++)
            check_length(given, sizes[i]);
}

static void a_member_that_we_do_not_have_is_refused_wherever_it_is(void) {
    unsigned char copy[sizeof(zkl_session_options)];
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t given = sizes[i] + 1; given <= sizes[i] + LONGER_MAX; given++)
            for (size_t at = sizes[i]; at < given; at++) {
                unsigned char *bytes = program_s(given, sizes[i]);
                bytes[at] = at % 2 == 0 ? 1 : 0x80;
                CHECK(!zkli_options_copy(copy, sizes[i], bytes));
                free(bytes);
            }
}

static void no_options_are_all_zero(void) {
    zkl_session_options copy;
    memset(&copy, 0xee, sizeof(copy));
    CHECK(zkli_options_copy(&copy, sizeof(copy), NULL));
    CHECK_INT(copy.size, sizeof(copy));
    for (size_t i = sizeof(copy.size); i < sizeof(copy); i++)
        CHECK_INT(((unsigned char *)&copy)[i], 0);
}

/* What lies behind such a struct is not looked at: there is nothing. */
static void a_size_that_no_struct_has_is_refused_unread(void) {
    static const size_t unset[] = {ZKLI_OPTIONS_SIZE_MAX + 1, SIZE_MAX / 2, SIZE_MAX};
    zkl_lock_options copy;
    unsigned char *longest = program_s(ZKLI_OPTIONS_SIZE_MAX, sizeof(copy));
    CHECK(zkli_options_copy(&copy, sizeof(copy), longest));
    free(longest);
    for (size_t i = 0; i < COUNT(unset); i++) {
        unsigned char *bytes = program_s(sizeof(copy), 0);
        memcpy(bytes, &unset[i], sizeof(unset[i]));
        CHECK(!zkli_options_copy(&copy, sizeof(copy), bytes));
        free(bytes);
    }
}

static void a_member_is_there_if_the_size_reaches_its_end(void) {
    zkl_event event = {.size = sizeof(event)};
    zkl_contender contender = {.size = sizeof(contender)};
    CHECK(ZKL_HAS(&event, size) && ZKL_HAS(&event, type) && ZKL_HAS(&event, position));
    CHECK(ZKL_HAS(&contender, is_holder) && ZKL_HAS(&contender, since_ms));
    event.size = offsetof(zkl_event, position) + sizeof(event.position) - 1;
    CHECK(ZKL_HAS(&event, token) && !ZKL_HAS(&event, position));
    event.size = offsetof(zkl_event, position);
    CHECK(ZKL_HAS(&event, token) && !ZKL_HAS(&event, position));
    contender.size = offsetof(zkl_contender, since_ms);
    CHECK(ZKL_HAS(&contender, token) && !ZKL_HAS(&contender, since_ms));
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a struct of any length is copied, and filled with zeros",
         a_struct_of_any_length_is_copied_and_filled_with_zeros},
        {"a member that we do not have is refused, wherever it is",
         a_member_that_we_do_not_have_is_refused_wherever_it_is},
        {"no options are all zero", no_options_are_all_zero},
        {"a size that no struct has is refused unread",
         a_size_that_no_struct_has_is_refused_unread},
        {"a member is there if the size reaches its end",
         a_member_is_there_if_the_size_reaches_its_end},
    };
    return TEST_MAIN(argc, argv, "options", cases);
}
