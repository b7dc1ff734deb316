/* Errors and events: every value has its name, errors a sentence and a class; unknown ones are no
 * trap. */
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"
#include "zklock.h"

/* Written out once more: a value, a name or a class that changes breaks programs. */
static const struct {
    zkl_err err;
    int value;
    const char *name;
    zkl_class class_;
} errors[] = {
    {ZKL_OK, 0, "OK", ZKL_CLASS_OK},
    {ZKL_TIMEOUT, 1, "TIMEOUT", ZKL_CLASS_RETRY},
    {ZKL_BUSY, 2, "BUSY", ZKL_CLASS_RETRY},
    {ZKL_CANCELED, 3, "CANCELED", ZKL_CLASS_RETRY},
    {ZKL_LOST, 4, "LOST", ZKL_CLASS_LOST},
    {ZKL_CLOSED, 5, "CLOSED", ZKL_CLASS_LOCAL},
    {ZKL_UNREACHABLE, 6, "UNREACHABLE", ZKL_CLASS_RETRY},
    {ZKL_DENIED, 7, "DENIED", ZKL_CLASS_DENIED},
    {ZKL_AUTH_FAILED, 8, "AUTH_FAILED", ZKL_CLASS_DENIED},
    {ZKL_INVALID, 9, "INVALID", ZKL_CLASS_USAGE},
    {ZKL_NOT_HELD, 10, "NOT_HELD", ZKL_CLASS_USAGE},
    {ZKL_DEADLOCK, 11, "DEADLOCK", ZKL_CLASS_USAGE},
    {ZKL_MISMATCH, 12, "MISMATCH", ZKL_CLASS_USAGE},
    {ZKL_LIMIT, 13, "LIMIT", ZKL_CLASS_LOCAL},
    {ZKL_UNSUPPORTED, 14, "UNSUPPORTED", ZKL_CLASS_USAGE},
    {ZKL_IN_CALLBACK, 15, "IN_CALLBACK", ZKL_CLASS_USAGE},
    {ZKL_NOMEM, 16, "NOMEM", ZKL_CLASS_LOCAL},
    {ZKL_FORKED, 17, "FORKED", ZKL_CLASS_USAGE},
    {ZKL_SERVER, 18, "SERVER", ZKL_CLASS_RETRY},
    {ZKL_NO_NODE, 19, "NO_NODE", ZKL_CLASS_USAGE},
    {ZKL_BAD_VERSION, 20, "BAD_VERSION", ZKL_CLASS_RETRY},
    {ZKL_UNSURE, 21, "UNSURE", ZKL_CLASS_UNSURE},
    {ZKL_STALE, 22, "STALE", ZKL_CLASS_LOST},
    {ZKL_IO, 23, "IO", ZKL_CLASS_LOCAL},
    {ZKL_CORRUPT, 24, "CORRUPT", ZKL_CLASS_LOCAL},
    {ZKL_NO_CHROOT, 25, "NO_CHROOT", ZKL_CLASS_USAGE},
    {ZKL_EXPIRED, 26, "EXPIRED", ZKL_CLASS_LOCAL},
};

#define ONE(name, value, class_, text) +1
enum {
    DECLARED = 0 ZKL_ERRORS(ONE)
};

static void every_error_has_the_value_name_and_class_it_was_given(void) {
    CHECK_INT(COUNT(errors), DECLARED);
    for (size_t i = 0; i < COUNT(errors); i++) {
        CHECK_INT(errors[i].err, errors[i].value);
        CHECK_STRING(zkl_errname(errors[i].err), errors[i].name);
        CHECK_INT(zkl_errclass(errors[i].err), errors[i].class_);
    }
}

static void no_two_errors_share_a_value_a_name_or_a_text(void) {
    for (size_t i = 0; i < COUNT(errors); i++)
        for (size_t k = 0; k < i; k++) {
            CHECK(errors[i].err != errors[k].err);
            CHECK(strcmp(zkl_errname(errors[i].err), zkl_errname(errors[k].err)) != 0);
            CHECK(strcmp(zkl_strerror(errors[i].err), zkl_strerror(errors[k].err)) != 0);
        }
}

static void a_text_is_a_sentence_without_a_full_stop(void) {
    for (size_t i = 0; i < COUNT(errors); i++) {
        const char *text = zkl_strerror(errors[i].err);
        size_t length = strlen(text);
        REQUIRE(length > 4 && length < 80);
        CHECK(text[length - 1] != '.' && text[length - 1] != '\n');
        for (const char *p = text; *p != '\0'; p++)
            CHECK(*p >= ' ' && *p < 0x7f);
    }
}

static void only_success_is_of_the_class_of_success(void) {
    for (size_t i = 0; i < COUNT(errors); i++)
        CHECK((zkl_errclass(errors[i].err) == ZKL_CLASS_OK) == (errors[i].err == ZKL_OK));
}

static void an_unknown_value_is_named_so_and_local(void) {
    static const int unknown[] = {-1, -2147483647 - 1, ZKL_EXPIRED + 1, 1000, 0x7fffffff};
    for (size_t i = 0; i < COUNT(unknown); i++) {
        zkl_err err = (zkl_err)unknown[i];
        CHECK_STRING(zkl_errname(err), "UNKNOWN");
        CHECK_STRING(zkl_strerror(err), "unknown error");
        CHECK_INT(zkl_errclass(err), ZKL_CLASS_LOCAL);
    }
}

static void every_event_has_the_value_and_name_it_was_given(void) {
    static const struct {
        zkl_event_type type;
        int value;
        const char *name;
    } events[] = {
        {ZKL_EVENT_QUEUED, 1, "QUEUED"},     {ZKL_EVENT_HELD, 2, "HELD"},
        {ZKL_EVENT_LOST, 3, "LOST"},         {ZKL_EVENT_SUSPENDED, 4, "SUSPENDED"},
        {ZKL_EVENT_RESUMED, 5, "RESUMED"},   {ZKL_EVENT_WANTED, 6, "WANTED"},
        {ZKL_EVENT_REQUEUED, 7, "REQUEUED"},
    };
    static const int unknown[] = {0, -1, ZKL_EVENT_REQUEUED + 1, 0x7fffffff};
    for (size_t i = 0; i < COUNT(events); i++) {
        CHECK_INT(events[i].type, events[i].value);
        CHECK_STRING(zkl_event_name(events[i].type), events[i].name);
    }
    for (size_t i = 0; i < COUNT(unknown); i++)
        CHECK_STRING(zkl_event_name((zkl_event_type)unknown[i]), "UNKNOWN");
}

static void the_version_is_the_header_s(void) {
    char *end = NULL;
    CHECK_INT(strtol(zkl_version(), &end, 10), ZKL_VERSION_MAJOR);
    REQUIRE(*end == '.');
    CHECK_INT(strtol(end + 1, &end, 10), ZKL_VERSION_MINOR);
    REQUIRE(*end == '.');
    CHECK_INT(strtol(end + 1, &end, 10), ZKL_VERSION_PATCH);
    CHECK(*end == '\0');
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"every error has the value, name and class it was given",
         every_error_has_the_value_name_and_class_it_was_given},
        {"no two errors share a value, a name or a text",
         no_two_errors_share_a_value_a_name_or_a_text},
        {"a text is a sentence without a full stop", a_text_is_a_sentence_without_a_full_stop},
        {"only success is of the class of success", only_success_is_of_the_class_of_success},
        {"an unknown value is named so, and local", an_unknown_value_is_named_so_and_local},
        {"every event has the value and name it was given",
         every_event_has_the_value_and_name_it_was_given},
        {"the version is the header's", the_version_is_the_header_s},
    };
    return TEST_MAIN(argc, argv, "error", cases);
}
